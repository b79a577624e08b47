/* prevail/model.h: model architectures. A pv_model describes shapes only; its parameters are one flat array owned by
 * the caller, so that optimisers, samplers and files do not depend on layers.
 */
#ifndef PREVAIL_MODEL_H
#define PREVAIL_MODEL_H

#include "prevail/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pv_model pv_model;

/* Makes a model from its spec. "linear": logistic, or softmax with the first class as reference: (classes-1) x (1 +
 * inputs) parameters, each row an intercept and the slopes. "mlp:64,32": dense layers with ReLU between them and
 * `classes` outputs. The caller frees *model. */
/* "ordinal": ordered labels, P(y <= j|x) = 1/(1 + exp(eta - c_j)). The parameters are classes-1 output biases, whose
 * softmax is p(y) at eta = 0 and which determine the thresholds c, followed by the slopes of eta. "mlp:64,ordinal": eta
 * is a network. */
/* "convnet" or "inception", optionally followed by
 * ":views=9,size=32,low=64,channels=64-128-256,features=256,dropout=0.1, pool=max,output=softmax" or some of these:
 * networks over the views of an image (docs/method.md); inputs is views x size x size. */
PV_MUST_USE pv_status pv_model_new(pv_ctx *ctx, const char *spec, int inputs, int classes, pv_model **model);
void pv_model_free(pv_ctx *ctx, pv_model *model);

/* Number and size of the views that a spec takes; *views is 0 if it is not for images. */
PV_MUST_USE pv_status pv_model_views(pv_ctx *ctx, const char *spec, int64_t *views, int64_t *size);

const char *pv_model_spec(const pv_model *model); /* as given */
/* Whether the parameters are intercepts and slopes of the inputs, (classes-1) x (1 + inputs), as for linear.
 */
bool pv_model_has_coefficients(const pv_model *model);
/* Whether the parameters are classes-1 output biases that determine thresholds, followed by slopes of the inputs, as
 * for ordinal. */
bool pv_model_has_thresholds(const pv_model *model);
bool pv_model_is_convex(
    const pv_model *model); /* -log p(y|x,w) is smooth and convex in w, so that fits have a single optimum */
int pv_model_inputs(const pv_model *model);
int pv_model_classes(const pv_model *model);
size_t pv_model_params(const pv_model *model);
bool pv_model_is_bias(const pv_model *model, size_t parameter); /* an intercept or bias rather than a slope */

/* Starting values: slopes are 0 for linear and He's normal for mlp. Output biases are such that the model predicts
 * exp(log_p) [classes] for an average input; 0 if log_p is NULL. */
void pv_model_start(const pv_model *model, uint64_t seed, const double *log_p, double *w);

/* Adds a shift [classes] to the output logits through the output biases. */
void pv_model_shift(const pv_model *model, const double *shift, double *w);

/* Working memory for forward and backward on at most `rows` rows, for one thread. The caller frees *work. */
typedef struct pv_model_work pv_model_work;
PV_MUST_USE pv_status pv_model_work_new(pv_ctx *ctx, const pv_model *model, size_t rows, pv_model_work **work);
void pv_model_work_free(pv_ctx *ctx, pv_model_work *work);

/* loglik [n][classes] = log p(y|x_n,w) of x [n][inputs]. */
void pv_model_forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                      double *loglik);
/* Adds to dw [params] the gradient of a loss with the given dloglik [n][classes]. Must follow a forward call for the
 * same rows with the same work. */
void pv_model_backward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                       const double *loglik, const double *dloglik, double *dw);

/* The library that grows trees on this machine: XGBoost. It is loaded to get its version, which is empty if it is not
 * installed. Writes at most room entries and returns the total number. */
size_t pv_learners(pv_library *list, size_t room);
/* A file that contains XGBoost's library, such as that of the Python package xgboost, used if PREVAIL_XGBOOST is not
 * set and the library is not installed. NULL: none. Copied. Call it between calls of the library. */
PV_MUST_USE pv_status pv_ctx_set_xgboost(pv_ctx *ctx, const char *path);

#ifdef __cplusplus
}
#endif
#endif
