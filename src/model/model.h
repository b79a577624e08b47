/* src/model/model.h: an architecture is a const struct of functions and of what it can do, in a file of its own, and an
 * entry of PV_MODEL_LIST; the rest of the library asks for what it can do, never which one it is. Parameters are one
 * flat block.
 */
#ifndef PV_SRC_MODEL_H
#define PV_SRC_MODEL_H

#include "base/base.h"
#include "base/tree.h"
#include "compute/compute.h"
#include "prevail/model.h"

/* X(name, "as in `model`", "what `help` says of it") */
#define PV_MODEL_LIST(X)                                                                                               \
    X(linear, "linear", "linear: logistic or softmax regression.")                                                     \
    X(ordinal, "ordinal", " ordinal: labels in order, by cumulative logits with proportional odds.")                   \
    X(mlp, "mlp:64,32",                                                                                                \
      " mlp: hidden layers of these sizes with ReLU; mlp:64,32,ordinal has cumulative logits as its output.")          \
    X(convnet, "convnet",                                                                                              \
      " For images: convnet or inception, with sizes as in convnet:views=3,size=16; the defaults are views=9, "        \
      "size=32, low=64, channels=64-128-256, features=256, dropout=0.1, pool=max (over views; or min, mean), "         \
      "output=softmax (or ordinal).")                                                                                  \
    X(inception, "inception", "")                                                                                      \
    X(stack, "auto",                                                                                                   \
      " auto: a mixture of `candidates`, weighted by how well each predicts people whom it has not seen "              \
      "(cross-validation).")

enum { PV_LAYERS_MAX = 16 };

struct pv_model {
    const struct pv__architecture *architecture;
    char *spec;
    int inputs, classes;
    bool offset; /* the first input is added to the logit, or to an ordinal model's eta, as it stands */
    int layers;  /* mlp: dense layers, hidden ones and the output */
    size_t width[PV_LAYERS_MAX + 1]; /* mlp: inputs, hidden sizes, classes */
    bool ordinal;                    /* the output is one number, with thresholds for the labels (ordinal.c) */
    struct pv__network *network;     /* convnet, inception; NULL for the others */
    struct pv_model **member;        /* auto: [members]; NULL there: the prevalence alone */
    size_t members;
    size_t params;
};

struct pv_model_work {
    const struct pv__architecture *architecture;
    const pv__compute *compute;
    size_t rows;
    size_t at;                        /* which of the rows that went forward the next backward begins with */
    bool turned;                      /* mlp: the matrices lie there turned round, for backward */
    double *block;                    /* one allocation; each architecture lays it out */
    struct pv__network_work *network; /* convnet, inception */
    struct pv_model_work **member;    /* auto: [members] */
    size_t members;
};

typedef struct pv__architecture {
    /* Whether spec is one of its own; then sizes and number of parameters are set. */
    pv_status (*parse)(pv_ctx *ctx, pv_model *model, const char *spec, bool *mine);
    size_t (*work_size)(const pv_model *model, size_t rows); /* doubles of a work's block; not with work_new */
    bool (*is_bias)(const pv_model *model, size_t parameter);
    void (*start)(const pv_model *model, uint64_t seed, double *w);           /* all but the output biases */
    double *(*output_bias)(const pv_model *model, double *w, size_t *stride); /* of logit 0; first class is 0 if free */
    void (*forward)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                    double *loglik);
    void (*backward)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                     const double *loglik, const double *dloglik, double *dw);
    bool first_class_fixed;   /* logits are relative to the first class, whose own is 0 */
    bool backward_needs_work; /* what forward left in work; linear does not */

    /* What it can do. */
    bool convex; /* -log p(y|x,w) is smooth, and convex in w or in a function of w: one optimum, near that of a sample
                    of the rows */
    bool has_coefficients; /* w is [classes - 1][1 + inputs], the intercept first: slopes of the inputs */
    bool has_thresholds;   /* w is [classes - 1] output biases, which make thresholds, then slopes of the inputs */
    bool has_curvature;    /* its information in w is what precondition.c makes of rows and probabilities */
    bool takes_offset;     /* of two classes, or where labels are in order */
    bool of_members;       /* a mixture of models that are fitted one by one (stack.h) */
    bool own_threads;      /* runs its own threads over the rows of one work; others are run by the caller's */
    size_t chunk_rows;     /* rows that one work takes at a time; 0: as many as fit the cache */

    /* Left out by those that need none. */
    pv_status (*views)(pv_ctx *ctx, const char *spec, bool *mine, int64_t *views, int64_t *size); /* it takes images */
    pv_status (*work_new)(pv_ctx *ctx, const pv_model *model, size_t rows, pv_model_work **work);
    void (*work_free)(pv_ctx *ctx, pv_model_work *work); /* what work_new made beside the work itself */
    void (*train)(pv_model_work *work, uint64_t seed, uint64_t step, bool freeze_low);
    /* Those that cut a batch into groups of rows themselves: rows of a group; where the work's rows lie in a batch that
     * is shared; backward, up to the gradients of the groups; the sum of those below a node of their tree, added to dw.
     */
    size_t (*group_rows)(const pv_model *model, size_t batch);
    bool (*share)(const pv_model *model, pv_model_work *work, size_t batch, size_t first);
    void (*backward_groups)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *loglik,
                            const double *dloglik);
    void (*add_groups)(const pv_model *model, pv_model_work *work, size_t first, size_t last, double *dw);
    pv_status (*check)(pv_ctx *ctx, const pv_model_work *work);
    size_t (*rows)(const pv_model *model, size_t most);
    size_t (*low_params)(const pv_model *model);
    /* Those with hidden layers, whose last one is the end of the parameters, W [hidden][classes] and then biases: what
     * it took in the work's last forward, [n][hidden]. */
    const double *(*hidden)(const pv_model *model, const pv_model_work *work);
    /* Two classes, hard labels: the log-loss of the logits moved by shift, forward and backward in one go. z [n]
     * receives the logits; the gradient is added to dw. Returns the loss. */
    double (*logistic_loss)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                            const int32_t *label, const double *weight, const double *factor, double shift, double *z,
                            double *dw);
    /* Tables on a device (model/device_table.h), which runs dense layers, as compute/plugin.h has them: how many there
     * are and their widths, the inputs' first; their parameters out of w; their gradient, added to dw. */
    int (*dense)(const pv_model *model, size_t *width /* [PV_LAYERS_MAX + 1] */);
    void (*to_dense)(const pv_model *model, const double *w, double *dense);
    void (*from_dense)(const pv_model *model, const double *ddense, double *dw);
    /* Their outputs [n][outputs] to log-likelihoods; the gradient back, that of parameters beside them added to dw. */
    void (*link_forward)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *out,
                         double *loglik);
    void (*link_backward)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *out,
                          const double *loglik, const double *dloglik, double *dout, double *dw);
} pv__architecture;

#define PV__MODEL_EXTERN(name, usage, help) extern const pv__architecture pv__##name;
PV_MODEL_LIST(PV__MODEL_EXTERN)
#undef PV__MODEL_EXTERN

/* pv_model_new, where the first input may be an offset: it has no parameters. */
PV_MUST_USE pv_status pv__model_new(pv_ctx *ctx, const char *spec, int inputs, bool offset, int classes,
                                    pv_model **model);

/* Inputs that have slopes: all but an offset, which comes before them. */
static inline size_t pv__model_slopes(const pv_model *model) {
    return (size_t)model->inputs - model->offset;
}

/* What inputs are multiplied by, given their slopes: 1 for an offset. room [inputs]. */
static inline const double *pv__input_weights(const pv_model *model, const double *slope, double *room) {
    if (!model->offset)
        return slope;
    room[0] = 1;
    for (size_t j = 1; j < (size_t)model->inputs; j++)
        room[j] = slope[j - 1];
    return room;
}

/* Adds dz [n] times the inputs to dslope and returns the sum of dz. What an offset would get goes to the number before
 * the slopes, a bias, which is put back. */
static inline double pv__add_inputs(const pv__compute *compute, const pv_model *model, size_t n, const double *x,
                                    const double *dz, double *dslope) {
    if (!model->offset)
        return compute->rows_add(n, (size_t)model->inputs, x, dz, dslope);
    double bias = dslope[-1], sum = compute->rows_add(n, (size_t)model->inputs, x, dz, dslope - 1);
    dslope[-1] = bias;
    return sum;
}

/* Whether the first label's output bias is fixed at 0, and the others are relative to it. */
static inline bool pv__first_class_fixed(const pv_model *model) {
    return model->ordinal || model->architecture->first_class_fixed;
}

/* Whether output biases can multiply p(y|x) by any factor for each label (and normalise): a sample by label then has a
 * model of the same kind as the population. */
static inline bool pv__model_is_free(const pv_model *model) {
    return !model->ordinal || model->classes == 2;
}

/* (ordinal.c) Thresholds c [k-1] of biases b [k-1]; log-likelihoods [n][k] of eta [n]; the gradient back, that of b
 * added to db. room [pv__ordinal_room] is scratch. */
size_t pv__ordinal_room(size_t k);
void pv__ordinal_thresholds(size_t k, const double *b, double *room, double *c);
void pv__ordinal_forward(size_t n, size_t k, const double *b, const double *eta, double *room, double *loglik);
void pv__ordinal_backward(size_t n, size_t k, const double *b, const double *eta, const double *dloglik, double *room,
                          double *deta, double *db);

/* logits [n][classes] to log-probabilities, and the gradient back. In place is fine. */
void pv__log_softmax_rows(size_t n, size_t classes, const double *logits, double *loglik);
void pv__log_softmax_rows_backward(size_t n, size_t classes, const double *loglik, const double *dloglik,
                                   double *dlogits);

/* The next forward is training's step number `step` (dropout is on), its backward may leave the low-level module out.
 * Without this call a work predicts. */
void pv__model_work_train(pv_model_work *work, uint64_t seed, uint64_t step, bool freeze_low);
/* (groups.c) Rows of a batch of so many are worked on in groups, whose gradients are added as a tree has them. */
size_t pv__model_group_rows(const pv_model *model, size_t batch);
/* The work's rows are those of a batch of so many from row `first` on, where a group begins. Others have the rest, and
 * wait for these: what is begun of a batch is brought to its end. False: the work takes a batch whole. */
PV_MUST_USE bool pv__model_work_share(const pv_model *model, pv_model_work *work, size_t batch, size_t first);
/* After forward of the n rows that are the tree's own, in groups of so many: the gradient of each of its limbs into
 * dw [limbs][params]. spare: pv__model_spare numbers. */
size_t pv__model_spare(const pv_model *model, const pv__tree *tree);
void pv__model_backward_limbs(const pv_model *model, pv_model_work *work, const pv__tree *tree, size_t group,
                              const double *w, size_t n, const double *x, const double *loglik, const double *dloglik,
                              double *spare, double *dw);
/* Whether the work's last forward, and the backward after it, could do what they were to do. */
PV_MUST_USE pv_status pv__model_work_check(pv_ctx *ctx, const pv_model_work *work);
size_t pv__network_features(const pv_model *model); /* that a network's last layer takes */
bool pv__network_absent(const char *spec);          /* a network, which this library was built without */
bool pv__model_takes_views(const pv_model *model);
/* Rows that one work should take, at most the given number: a network's stay below a gigabyte where one row does. */
size_t pv__model_rows(const pv_model *model, size_t most);
/* Outputs of the last hidden layer; 0: there is none. */
size_t pv__model_hidden(const pv_model *model);
/* The last layer alone, as a model of what it takes. The caller frees *head. */
PV_MUST_USE pv_status pv__model_head(pv_ctx *ctx, const pv_model *model, pv_model **head);
/* pv_model_shift for a draw of `dims` parameters: all of them, or the last layer's. */
void pv__model_shift_draw(const pv_model *model, const double *shift, size_t dims, double *draw);
/* How many of the first parameters --freeze-low keeps; 0 but for networks. */
size_t pv__model_low_params(const pv_model *model);

#endif
