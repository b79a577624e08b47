/* src/model/resident.h: a network whose parameters stay on a device while it is trained. */
#ifndef PV_SRC_RESIDENT_H
#define PV_SRC_RESIDENT_H

#include "compute/device.h"
#include "model/model.h"

typedef struct pv__resident {
    const pv__plugin *plugin;
    pv__net *net;
    size_t rows, step_views;
    size_t low; /* parameters of the low-level module */
    char why[PV_PLUGIN_TEXT];
} pv__resident;

/* For batches of so many rows. made->net NULL: the context's networks run on the processor. */
PV_MUST_USE pv_status pv__resident_new(pv_ctx *ctx, const pv_model *model, size_t rows, pv__resident *made);
void pv__resident_free(pv__resident *resident); /* one that was not made is fine */

/* rows' dropout is set here, for training's step number `step`. loglik [rows][classes]. */
PV_MUST_USE pv_status pv__resident_forward(pv_ctx *ctx, pv__resident *resident, pv__rows *rows, uint64_t seed,
                                           uint64_t step, double *loglik);
/* As predictions see them, without dropout: at most as many rows as a batch has. */
PV_MUST_USE pv_status pv__resident_score(pv_ctx *ctx, pv__resident *resident, pv__rows *rows, double *loglik);
PV_MUST_USE pv_status pv__resident_backward(pv_ctx *ctx, pv__resident *resident, const double *dloglik,
                                            bool freeze_low);
/* The step of the parameters, of number `step`, from 1; before it that of the auxiliary network, if there is one. */
PV_MUST_USE pv_status pv__resident_learn(pv_ctx *ctx, pv__resident *resident, bool freeze_low, double rate,
                                         int64_t step, const pv__follow *follow);

#endif
