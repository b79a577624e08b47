/* src/model/device_table.h: a table's rows in a device's memory, and a model's passes over them.
 *
 * The device has the rows in single precision and runs the model's dense layers; what makes log-likelihoods of their
 * outputs, and every loss but the logistic one, is the library's own code, on the processor.
 */
#ifndef PV_SRC_LOADED_H
#define PV_SRC_LOADED_H

#include "compute/device.h"
#include "model/model.h"

typedef struct pv__loaded {
    const pv__plugin *plugin;
    pv__matrix *matrix;
    const double *x; /* [n][inputs], what was loaded */
    size_t n;
    char why[PV_PLUGIN_TEXT];
} pv__loaded;

/* Whether rows may go to a device, if there is one: they are many, or it was asked for. */
bool pv__loaded_pays(const pv_ctx *ctx, size_t n, size_t inputs);
/* *loaded NULL: the processor has the rows; where no device was asked for, because they are few, or few the passes over
 * them. Refuses where the context asks for a device and this cannot run there. */
PV_MUST_USE pv_status pv__loaded_new(pv_ctx *ctx, const pv_model *model, size_t n, const double *x, bool many_passes,
                                     pv__loaded **loaded);
void pv__loaded_free(pv_ctx *ctx, pv__loaded *loaded);

/* The logistic loss of two classes with hard labels, as logistic_loss of an architecture has it. */
typedef struct pv__logistic {
    const int32_t *label;
    const double *weight; /* NULL: all 1 */
    const double *factor; /* [2] */
    double shift;
} pv__logistic;

/* Rows of two labels that the marginal ties together, as infer/density.h has them; [n] each. */
typedef struct pv__tied {
    const double *weight, *target;
    const double *rho; /* NULL: all 0 */
} pv__tied;

/* Whether the device failed for lack of memory where nobody asked for it: then the processor does the work, which the
 * log says. */
bool pv__loaded_forgone(pv_ctx *ctx, pv_status status);

typedef struct pv__loaded_passes pv__loaded_passes;
/* Over the first n rows; loss and tied NULL: not asked for; both are copied. Rows and model must outlive it. */
PV_MUST_USE pv_status pv__loaded_passes_new(pv_ctx *ctx, const pv__loaded *loaded, const pv_model *model, size_t n,
                                            const pv__logistic *loss, const pv__tied *tied, pv__loaded_passes **passes);
void pv__loaded_passes_free(pv_ctx *ctx, pv__loaded_passes *passes);
size_t pv__loaded_outputs(const pv__loaded_passes *passes); /* of a row */
/* At each of w [count][params]: value [count] and gradient dw [count][params] of the logistic loss. */
PV_MUST_USE pv_status pv__loaded_logistic(pv_ctx *ctx, pv__loaded_passes *passes, size_t count, const double *w,
                                          double *value, double *dw);
/* out [n][outputs]; and what slopes dout of them add to dw. */
PV_MUST_USE pv_status pv__loaded_forward(pv_ctx *ctx, pv__loaded_passes *passes, const double *w, double *out);
PV_MUST_USE pv_status pv__loaded_backward(pv_ctx *ctx, pv__loaded_passes *passes, const double *w, const double *dout,
                                          double *dw);

/* Tied rows, of a model with coefficients: their outputs at each of w [count][params] stay there, for as many vectors
 * as pv__loaded_most says, and the sums and gradients that compute/plugin.h has. */
size_t pv__loaded_most(const pv__loaded_passes *passes);
PV_MUST_USE pv_status pv__loaded_tied(pv_ctx *ctx, pv__loaded_passes *passes, size_t count, const double *w,
                                      double *sums);
PV_MUST_USE pv_status pv__loaded_tied_sums(pv_ctx *ctx, pv__loaded_passes *passes, size_t count, const size_t *which,
                                           const double *scale, const double *m, pv__tied_sums *sums);
PV_MUST_USE pv_status pv__loaded_tied_slopes(pv_ctx *ctx, pv__loaded_passes *passes, size_t count,
                                             const pv__tied_slope *slope, double *dw);

/* After pv__loaded_tied, of the first w: the mixture's sums, [count][3], count at most 64 (compute/plugin.h). */
PV_MUST_USE pv_status pv__loaded_mixed(pv_ctx *ctx, pv__loaded_passes *passes, size_t count, double shift,
                                       const double *pi, double *sums);
/* What the last call of it said, once more: for those who could not be told at once. */
PV_MUST_USE pv_status pv__loaded_mixed_check(pv_ctx *ctx, const pv__loaded_passes *passes);

/* What draws make of rows begin .., a multiple of 32, of such a model: of [outputs][rows][2]. */
PV_MUST_USE pv_status pv__loaded_spreads(pv_ctx *ctx, pv__loaded_passes *passes, const pv__spread_spec *spec,
                                         size_t begin, size_t rows, pv__spread_of_row *of);

#endif
