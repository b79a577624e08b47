/* prevail/model.h: architectures. A model is shapes only; its parameters are one flat block that the caller holds, so
 * that optimisers, samplers and files need know nothing of layers.
 */
#ifndef PREVAIL_MODEL_H
#define PREVAIL_MODEL_H

#include "prevail/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pv_model pv_model;

/* spec "linear": logistic, or softmax with the first class as reference: (classes-1) x (1 + inputs) parameters, each
 * row the intercept and the slopes. spec "mlp:64,32": dense layers with ReLU between and classes outputs. The caller
 * frees *model. */
/* spec "ordinal": labels in order, P(y <= j|x) = 1/(1 + exp(eta - c_j)): classes-1 output biases, softmax of which is
 * p(y) at eta = 0 and which make the thresholds c, then the slopes of eta. "mlp:64,ordinal": eta by a network. */
/* spec "convnet" or "inception", with ":views=9,size=32,low=64,channels=64-128-256,features=256,dropout=0.1,pool=max,
 * output=softmax" or any of these: networks over views of an image (docs/method.md); inputs is views x size x size. */
PV_MUST_USE pv_status pv_model_new(pv_ctx *ctx, const char *spec, int inputs, int classes, pv_model **model);
void pv_model_free(pv_ctx *ctx, pv_model *model);

/* How many views of what size a spec takes; *views is 0 where it is none for images. */
PV_MUST_USE pv_status pv_model_views(pv_ctx *ctx, const char *spec, int64_t *views, int64_t *size);

const char *pv_model_spec(const pv_model *model); /* as given */
/* Whether the parameters are intercepts and slopes of the inputs, (classes-1) x (1 + inputs), as those of linear are.
 */
bool pv_model_has_coefficients(const pv_model *model);
/* Whether they are classes-1 output biases that make thresholds, and then slopes of the inputs, as those of ordinal. */
bool pv_model_has_thresholds(const pv_model *model);
bool pv_model_is_convex(const pv_model *model); /* -log p(y|x,w) is smooth in w, and fits have one optimum */
int pv_model_inputs(const pv_model *model);
int pv_model_classes(const pv_model *model);
size_t pv_model_params(const pv_model *model);
bool pv_model_is_bias(const pv_model *model, size_t parameter); /* intercepts and biases: not slopes */

/* Starting values: slopes 0 for linear, He's normal for mlp; output biases so that the model predicts
 * exp(log_p) [classes] for an average input, or zero where log_p is NULL. */
void pv_model_start(const pv_model *model, uint64_t seed, const double *log_p, double *w);

/* Adds a shift [classes] to the output logits through the output biases. */
void pv_model_shift(const pv_model *model, const double *shift, double *w);

/* Memory for one call of forward and backward on up to rows rows. The caller frees *work. */
typedef struct pv_model_work pv_model_work;
PV_MUST_USE pv_status pv_model_work_new(pv_ctx *ctx, const pv_model *model, size_t rows, pv_model_work **work);
void pv_model_work_free(pv_ctx *ctx, pv_model_work *work);

/* loglik [n][classes] = log p(y|x_n,w) of x [n][inputs]. */
void pv_model_forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                      double *loglik);
/* Adds to dw [params] the gradient of a loss with the given dloglik [n][classes]; to follow a forward of the same rows
 * with the same work. */
void pv_model_backward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                       const double *loglik, const double *dloglik, double *dw);

#ifdef __cplusplus
}
#endif
#endif
