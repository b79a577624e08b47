/* src/model/model.h: an architecture is a const struct of functions; one flat parameter block. */
#ifndef PV_SRC_MODEL_H
#define PV_SRC_MODEL_H

#include "base/base.h"
#include "compute/compute.h"
#include "prevail/model.h"

enum { PV_LAYERS_MAX = 16 };

struct pv_model {
    const struct pv__architecture *architecture;
    char *spec;
    int inputs, classes;
    int layers;                      /* mlp: dense layers, hidden ones and the output */
    size_t width[PV_LAYERS_MAX + 1]; /* mlp: inputs, hidden sizes, classes */
    struct pv__network *network;     /* convnet, inception; NULL for the others */
    size_t params;
};

struct pv_model_work {
    const pv__compute *compute;
    size_t rows;
    double *block;                    /* one allocation; each architecture lays it out */
    struct pv__network_work *network; /* convnet, inception */
};

typedef struct pv__architecture {
    const char *name;
    size_t (*work_size)(const pv_model *model, size_t rows); /* doubles */
    bool (*is_bias)(const pv_model *model, size_t parameter);
    void (*start)(const pv_model *model, uint64_t seed, double *w);           /* all but the output biases */
    double *(*output_bias)(const pv_model *model, double *w, size_t *stride); /* of logit 0; first class is 0 if free */
    void (*forward)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                    double *loglik);
    void (*backward)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                     const double *loglik, const double *dloglik, double *dw);
    bool first_class_fixed;   /* logits are relative to the first class, whose own is 0 */
    bool backward_needs_work; /* what forward left in work; linear does not */
} pv__architecture;

extern const pv__architecture pv__linear, pv__mlp;

/* logits [n][classes] to log-probabilities, and the gradient back. In place is fine. */
void pv__log_softmax_rows(size_t n, size_t classes, const double *logits, double *loglik);
void pv__log_softmax_rows_backward(size_t n, size_t classes, const double *loglik, const double *dloglik,
                                   double *dlogits);

/* linear, two classes, hard labels: the log-loss of the logits moved by shift, forward and backward in one go. z [n]
 * receives the logits; the gradient is added to dw. Returns the loss. */
double pv__linear_loss(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                       const int32_t *label, const double *weight, const double *factor, double shift, double *z,
                       double *dw);

/* Networks: the next forward is training's step number `step` (dropout is on), its backward may leave the low-level
 * module out. Without this call a work predicts. Other models: nothing. */
void pv__model_work_train(pv_model_work *work, uint64_t seed, uint64_t step, bool freeze_low);
/* Whether the work's last forward, and the backward after it, could do what they were to do. */
PV_MUST_USE pv_status pv__model_work_check(pv_ctx *ctx, const pv_model_work *work);
/* Networks run their own threads over the rows of one work; other models are run by the caller's. */
bool pv__model_is_network(const pv_model *model);
/* Rows that one work should take, at most the given number: a network's stay below a gigabyte where one row does. */
size_t pv__model_rows(const pv_model *model, size_t most);
/* How many of the first parameters --freeze-low keeps; 0 but for networks. */
size_t pv__model_low_params(const pv_model *model);

#endif
