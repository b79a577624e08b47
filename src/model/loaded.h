/* src/model/loaded.h: a table's rows in a device's memory, and a model's passes over them.
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

typedef struct pv__loaded_passes pv__loaded_passes;
/* Over the first n rows; loss NULL: not asked for. Rows and model must outlive it. */
PV_MUST_USE pv_status pv__loaded_passes_new(pv_ctx *ctx, const pv__loaded *loaded, const pv_model *model, size_t n,
                                            const pv__logistic *loss, pv__loaded_passes **passes);
void pv__loaded_passes_free(pv_ctx *ctx, pv__loaded_passes *passes);
size_t pv__loaded_outputs(const pv__loaded_passes *passes); /* of a row */
/* At each of w [count][params]: value [count] and gradient dw [count][params] of the logistic loss. */
PV_MUST_USE pv_status pv__loaded_logistic(pv_ctx *ctx, pv__loaded_passes *passes, size_t count, const double *w,
                                          double *value, double *dw);
/* out [n][outputs]; and what slopes dout of them add to dw. */
PV_MUST_USE pv_status pv__loaded_forward(pv_ctx *ctx, pv__loaded_passes *passes, const double *w, double *out);
PV_MUST_USE pv_status pv__loaded_backward(pv_ctx *ctx, pv__loaded_passes *passes, const double *w, const double *dout,
                                          double *dw);

#endif
