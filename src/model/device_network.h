/* src/model/device_network.h: a network whose parameters stay on a device while it is trained. */
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

/* As predictions see them, without dropout: at most as many rows as a batch has. loglik [rows][classes]. */
PV_MUST_USE pv_status pv__resident_score(pv_ctx *ctx, pv__resident *resident, pv__rows *rows, double *loglik);
/* Begins training's step, of rates->number; rows' dropout, and what is frozen of the rates, are set here. */
PV_MUST_USE pv_status pv__resident_step(pv_ctx *ctx, pv__resident *resident, pv__rows *rows, uint64_t seed,
                                        const pv__step_terms *terms, pv__step_rates *rates, bool freeze_low);

#endif
