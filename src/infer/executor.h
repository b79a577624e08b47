/* src/infer/executor.h: makes forward and backward passes of the rows through a model.
 *
 * On the processor: forward, a term of the loss, and backward, chunk by chunk (infer/pass.h). With rows on a device,
 * the device computes the logistic loss completely; for other losses it returns the outputs of the model's dense layers
 * and accepts their derivatives, and everything in between runs here.
 */
#ifndef PV_SRC_EXECUTOR_H
#define PV_SRC_EXECUTOR_H

#include "base/reduce.h"
#include "infer/row_source.h"
#include "model/device_table.h"

typedef struct pv__executor pv__executor;

/* For rows begin .. begin+n-1 with log-likelihoods [n][classes]: returns the loss and writes its derivatives. room:
 * [n]. */
typedef double (*pv__term)(void *state, size_t begin, size_t n, const double *loglik, double *dloglik, double *room);

/* The weights v [n] of rows, and the probabilities q [n][classes] of their labels in the loss. */
typedef void (*pv__odds)(void *state, size_t begin, size_t n, const double *loglik, double *v, double *q);

typedef struct pv__executor_spec {
    const pv__row_source *rows; /* borrowed, as is the model */
    const pv_model *model;
    bool shared;            /* the rows are shared with the context's other ranks */
    const pv__logistic *of; /* the logistic loss, instead of a term; NULL: use term. Copied */
    pv__term term;          /* NULL: forward and backward passes are separate */
    pv__odds odds;          /* with a term: what the information is computed from */
    void *state;
    bool kept; /* log-likelihoods of all rows are kept, [n][classes] (for `of`, logits); otherwise of one chunk at a
                  time */
} pv__executor_spec;

/* CURVED: like FUSED, and also the information of the rows (model/model.h). */
typedef enum pv__stage { PV__FORWARD, PV__BACKWARD, PV__FUSED, PV__CURVED } pv__stage;

PV_MUST_USE pv_status pv__executor_new(pv_ctx *ctx, const pv__executor_spec *spec, pv__executor **executor);
void pv__executor_free(pv_ctx *ctx, pv__executor *executor); /* NULL is fine */
/* sums [params + 1], NULL for forward: the gradient, and for FUSED the value. */
PV_MUST_USE pv_status pv__executor_run(pv__executor *executor, pv__stage stage, const double *w, double *sums);
/* Value and gradient at w into sums [params + 1], and the information [params][params], NULL where it is not wanted. */
enum { PV__TOGETHER = 2 };
typedef struct pv__sought {
    pv__executor *executor;
    const double *w;
    double *sums, *information;
} pv__sought;
/* In one pass, for executors that curve and are of the same rows and model, PV__TOGETHER at most. */
PV_MUST_USE pv_status pv__executors_seek(size_t count, const pv__sought *sought);
bool pv__executor_curves(const pv__executor *executor); /* whether CURVED is supported */
/* Log-likelihoods [n][classes] of the last forward pass, if they are kept. And the derivatives for the backward pass,
 * which the caller fills in if there is no term. */
double *pv__executor_loglik(pv__executor *executor);
double *pv__executor_dloglik(pv__executor *executor);
/* The chunks of rows (core/vector.h) that this process visits. */
const pv__part *pv__executor_part(const pv__executor *executor);
/* Copies the log-likelihoods of the last run to the other executor; false if they are not available or a pass is
 * cheaper. */
bool pv__executor_hand_over(pv__executor *from, pv__executor *to);
int64_t pv__executor_passes(const pv__executor *executor);

#endif
