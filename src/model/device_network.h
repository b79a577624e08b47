/* src/model/device_network.h: a network whose parameters stay on a device during training. */
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

/* For batches of this many rows. made->net NULL: the context's networks run on the processor. */
PV_MUST_USE pv_status pv__resident_new(pv_ctx *ctx, const pv_model *model, size_t rows, pv__resident *made);
void pv__resident_free(pv__resident *resident); /* one that was not created is fine */

/* The network's predictions, without dropout, for at most a batch of rows. loglik [rows][classes]. */
PV_MUST_USE pv_status pv__resident_score(pv_ctx *ctx, pv__resident *resident, pv__rows *rows, double *loglik);
/* Starts a training step, number rates->number. Sets the dropout in rows and the frozen parameters in rates. */
PV_MUST_USE pv_status pv__resident_step(pv_ctx *ctx, pv__resident *resident, pv__rows *rows, uint64_t seed,
                                        const pv__step_terms *terms, pv__step_rates *rates, bool freeze_low);

#endif
