/* src/model/device_table.h: a table's rows in a device's memory, and a model's passes over them.
 *
 * The device stores the rows in single precision and runs the model's dense layers. The step from their outputs to
 * log-likelihoods, and all losses except the logistic one, run in the library on the processor.
 */
#ifndef PV_SRC_LOADED_H
#define PV_SRC_LOADED_H

#include "compute/device.h"
#include "model/model.h"

typedef struct pv__loaded {
    const pv__plugin *plugin;
    pv__matrix *matrix;
    const double *x; /* [n][inputs], the rows that were loaded */
    size_t n;
    char why[PV_PLUGIN_TEXT];
} pv__loaded;

/* Whether rows should go to a device, if there is one: they are many, or the user asked for it. */
bool pv__loaded_pays(const pv_ctx *ctx, size_t n, size_t inputs);
/* *loaded is NULL if the processor keeps the rows; unless a device was requested, that is also the case if rows or
 * passes over them are few. Fails if the context requests a device that cannot run this. */
PV_MUST_USE pv_status pv__loaded_new(pv_ctx *ctx, const pv_model *model, size_t n, const double *x, bool many_passes,
                                     pv__loaded **loaded);
void pv__loaded_free(pv_ctx *ctx, pv__loaded *loaded);

/* The logistic loss of two classes with hard labels, defined as logistic_loss of an architecture. */
typedef struct pv__logistic {
    const int32_t *label;
    const double *weight; /* NULL: all 1 */
    const double *factor; /* [2] */
    double shift;
} pv__logistic;

/* Rows of two labels coupled by the marginal, as in infer/density.h; [n] each. */
typedef struct pv__tied {
    const double *weight, *target;
    const double *rho; /* NULL: all 0 */
} pv__tied;

/* Whether the device ran out of memory without having been requested: then the processor does the work, which is
 * logged. */
bool pv__loaded_forgone(pv_ctx *ctx, pv_status status);

typedef struct pv__loaded_passes pv__loaded_passes;
/* For the first n rows; loss and tied are copied, NULL: not needed. Rows and model must outlive the passes. */
PV_MUST_USE pv_status pv__loaded_passes_new(pv_ctx *ctx, const pv__loaded *loaded, const pv_model *model, size_t n,
                                            const pv__logistic *loss, const pv__tied *tied, pv__loaded_passes **passes);
void pv__loaded_passes_free(pv_ctx *ctx, pv__loaded_passes *passes);
size_t pv__loaded_outputs(const pv__loaded_passes *passes); /* per row */
/* At each w [count][params]: value [count] and gradient dw [count][params] of the logistic loss. */
PV_MUST_USE pv_status pv__loaded_logistic(pv_ctx *ctx, pv__loaded_passes *passes, size_t count, const double *w,
                                          double *value, double *dw);
/* Outputs out [n][outputs]; and adds the gradient for dout, the derivatives with respect to them, to dw. */
PV_MUST_USE pv_status pv__loaded_forward(pv_ctx *ctx, pv__loaded_passes *passes, const double *w, double *out);
PV_MUST_USE pv_status pv__loaded_backward(pv_ctx *ctx, pv__loaded_passes *passes, const double *w, const double *dout,
                                          double *dw);

/* For coupled rows and a model with coefficients: the outputs at each w [count][params], up to pv__loaded_most vectors,
 * stay on the device, which computes the sums and gradients described in compute/plugin.h. */
size_t pv__loaded_most(const pv__loaded_passes *passes);
PV_MUST_USE pv_status pv__loaded_tied(pv_ctx *ctx, pv__loaded_passes *passes, size_t count, const double *w,
                                      double *sums);
PV_MUST_USE pv_status pv__loaded_tied_sums(pv_ctx *ctx, pv__loaded_passes *passes, size_t count, const size_t *which,
                                           const double *scale, const double *m, pv__tied_sums *sums);
PV_MUST_USE pv_status pv__loaded_tied_slopes(pv_ctx *ctx, pv__loaded_passes *passes, size_t count,
                                             const pv__tied_slope *slope, double *dw);

/* After pv__loaded_tied, for the first w: the mixture's sums, [count][3], count at most 64 (compute/plugin.h). */
PV_MUST_USE pv_status pv__loaded_mixed(pv_ctx *ctx, pv__loaded_passes *passes, size_t count, double shift,
                                       const double *pi, double *sums);
/* Returns the status of the last such call again, for callers that could not return it at once. */
PV_MUST_USE pv_status pv__loaded_mixed_check(pv_ctx *ctx, const pv__loaded_passes *passes);

/* Predictions over draws for rows from begin, a multiple of 32, with such a model: of [outputs][rows][2]. */
PV_MUST_USE pv_status pv__loaded_spreads(pv_ctx *ctx, pv__loaded_passes *passes, const pv__spread_spec *spec,
                                         size_t begin, size_t rows, pv__spread_of_row *of);

#endif
