/* src/model/model.h: an architecture is a const struct of functions and capabilities in a file of its own, and an entry
 * of PV_MODEL_LIST. The rest of the library asks for capabilities and never compares architectures. Parameters are one
 * flat block.
 */
#ifndef PV_SRC_MODEL_H
#define PV_SRC_MODEL_H

#include "base/base.h"
#include "base/tree.h"
#include "compute/compute.h"
#include "model/steps.h"
#include "prevail/model.h"

/* X(name, "value of `model`", "its help text") */
#define PV_MODEL_LIST(X)                                                                                               \
    X(linear, "linear", "linear: logistic or softmax regression.")                                                     \
    X(additive, "additive",                                                                                            \
      " additive: a smooth curve for each numeric column, and categories shrunk towards their mean; the amount of "    \
      "smoothing is estimated from the rows.")                                                                         \
    X(ordinal, "ordinal", " ordinal: ordered labels, by cumulative logits with proportional odds.")                    \
    X(mlp, "mlp:64,32",                                                                                                \
      " mlp: a neural network with hidden layers of these sizes (ReLU); mlp:64,32,ordinal has cumulative logits as "   \
      "its output.")                                                                                                   \
    X(trees, "trees:4,200",                                                                                            \
      " trees: gradient-boosted trees, here 200 of depth 4; without the number, cross-validation chooses it. "         \
      "Fitting needs XGBoost's library; predicting does not.")                                                         \
    X(convnet, "convnet",                                                                                              \
      " For images: convnet or inception, with sizes as in convnet:views=3,size=16; the defaults are views=9, "        \
      "size=32, low=64, channels=64-128-256, features=256, dropout=0.1, pool=max (over views; or min, mean), "         \
      "output=softmax (or ordinal).")                                                                                  \
    X(inception, "inception", "")                                                                                      \
    X(stack, "auto",                                                                                                   \
      " auto: a mixture of `candidates`, weighted by how well each predicts held-out rows (cross-validation).")

enum { PV_LAYERS_MAX = 16 };

/* How trees are fitted (trees.c). */
struct pv__trees {
    int depth;
    size_t rounds;
    bool stated;                /* `rounds` was given */
    double rate, leaf, penalty; /* shrinkage of each tree; minimum curvature of a leaf; ridge penalty on leaf values */
};

struct pv_model {
    const struct pv__architecture *architecture;
    char *spec;
    int inputs, classes;
    bool offset; /* the first input is added to the logit, or to an ordinal model's eta, with coefficient 1 */
    int layers;  /* mlp: number of dense layers, output included */
    size_t width[PV_LAYERS_MAX + 1]; /* mlp: inputs, hidden sizes, classes */
    bool ordinal;                    /* a single output with thresholds for the labels (ordinal.c) */
    struct pv__network *network;     /* convnet, inception; NULL for others */
    struct pv_model **member;        /* auto: [members]; NULL as a member: the prevalence alone */
    size_t members;
    int *member_from;       /* auto: [members], the first of the inputs that each takes */
    struct pv__trees trees; /* trees */
    size_t params;
};

struct pv_model_work {
    const struct pv__architecture *architecture;
    const pv__compute *compute;
    size_t rows;
    size_t at;                        /* index of the first row of the next backward among those of the last forward */
    bool turned;                      /* mlp: the transposed matrices in the work are valid */
    double *block;                    /* one allocation; its layout depends on the architecture */
    struct pv__network_work *network; /* convnet, inception */
    struct pv_model_work **member;    /* auto: [members] */
    size_t members;
};

typedef struct pv__architecture {
    /* *mine: whether spec belongs to this architecture; if so, sizes and number of parameters are set. */
    pv_status (*parse)(pv_ctx *ctx, pv_model *model, const char *spec, bool *mine);
    size_t (*work_size)(const pv_model *model,
                        size_t rows); /* doubles in a work's block; unused if there is work_new */
    bool (*is_bias)(const pv_model *model, size_t parameter);
    void (*start)(const pv_model *model, uint64_t seed, double *w); /* sets everything except the output biases */
    double *(*output_bias)(const pv_model *model, double *w,
                           size_t *stride); /* bias of logit 0; the first class's is 0 if it is free */
    void (*forward)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                    double *loglik);
    void (*backward)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                     const double *loglik, const double *dloglik, double *dw);
    bool first_class_fixed;   /* logits are relative to the first class, whose own is 0 */
    bool backward_needs_work; /* needs what forward stored in work; not so for linear */

    /* Capabilities. */
    bool convex; /* -log p(y|x,w) is smooth, and convex in w or in a function of w: one optimum, near that of a sample
                    of the rows */
    bool has_coefficients; /* w is [classes - 1][1 + inputs], the intercept first: slopes of the inputs */
    bool has_smooths;      /* has coefficients in groups, each with its own prior scale (infer/smoothing.c) */
    bool has_thresholds;   /* w is [classes - 1] output biases, which define thresholds, then slopes of the inputs */
    bool has_curvature;    /* its information matrix follows from rows and probabilities by precondition.c */
    bool takes_offset;     /* with two classes, or ordered labels */
    bool of_members;       /* a mixture of models that are fitted separately (stack.h) */
    bool of_trees;         /* fitted by a library rather than by descent in w (trees.h) */
    bool own_threads;  /* uses several threads for the rows of one work; others are called by the caller's threads */
    size_t chunk_rows; /* rows per work; 0: as many as fit the cache */

    /* The following may be NULL. */
    pv_status (*views)(pv_ctx *ctx, const char *spec, bool *mine, int64_t *views, int64_t *size); /* it takes images */
    pv_status (*work_new)(pv_ctx *ctx, const pv_model *model, size_t rows, pv_model_work **work);
    void (*work_free)(pv_ctx *ctx,
                      pv_model_work *work); /* frees what work_new allocated in addition to the work itself */
    void (*train)(pv_model_work *work, uint64_t seed, uint64_t step, bool freeze_low);
    /* For architectures that divide a batch into groups of rows themselves: rows per group; the position of the work's
     * rows in a shared batch; backward, up to the groups' gradients; the sum of those below a node of their tree, added
     * to dw.
     */
    size_t (*group_rows)(const pv_model *model, size_t batch);
    bool (*share)(const pv_model *model, pv_model_work *work, size_t batch, size_t first);
    void (*backward_groups)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *loglik,
                            const double *dloglik);
    void (*add_groups)(const pv_model *model, pv_model_work *work, size_t first, size_t last, double *dw);
    pv_status (*check)(pv_ctx *ctx, const pv_model_work *work);
    size_t (*rows)(const pv_model *model, size_t most);
    size_t (*low_params)(const pv_model *model);
    /* For architectures with hidden layers, whose last parameters are W [hidden][classes] and biases: the inputs of the
     * last layer in the work's last forward, [n][hidden]. */
    const double *(*hidden)(const pv_model *model, const pv_model_work *work);
    /* Two classes, hard labels: log-loss of the logits plus shift, forward and backward in one pass. Writes the logits
     * to z [n] and adds the gradient to dw. Returns the loss. */
    double (*logistic_loss)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                            const int32_t *label, const double *weight, const double *factor, double shift, double *z,
                            double *dw);
    /* For models with few parameters: sum_n v_n Cov_q(d log p(y|x_n, w) / dw) over labels y with probabilities q
     * [n][classes], the information of rows with weights v [n] (for a linear model, their curvature). It is accumulated
     * as information_size numbers, which information_of converts to a matrix [params][params]; size 0: not supported
     * for this many labels. Call after forward of the rows; room [n][inputs + classes]. */
    size_t (*information_size)(const pv_model *model);
    void (*add_information)(const pv_model *model, const pv_model_work *work, const double *w, size_t n,
                            const double *x, const double *v, const double *q, double *sums, double *room);
    void (*information_of)(const pv_model *model, const double *sums, double *information);
    /* Tables on a device (model/device_table.h), which runs dense layers as described in compute/plugin.h: the number
     * of layers and their widths, beginning with the inputs; their parameters from w; their gradient, added to dw. */
    int (*dense)(const pv_model *model, size_t *width /* [PV_LAYERS_MAX + 1] */);
    void (*to_dense)(const pv_model *model, const double *w, double *dense);
    void (*from_dense)(const pv_model *model, const double *ddense, double *dw);
    /* From their outputs [n][outputs] to log-likelihoods; and back, adding the gradient of other parameters to dw. */
    void (*link_forward)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *out,
                         double *loglik);
    void (*link_backward)(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *out,
                          const double *loglik, const double *dloglik, double *dout, double *dw);
    /* The forward pass as steps (steps.h): log-likelihoods for inputs in step x, with parameters p. */
    int (*describe)(const pv_model *model, pv__steps *steps, const pv__parameters *p, int x);
} pv__architecture;

#define PV__MODEL_EXTERN(name, usage, help) extern const pv__architecture pv__##name;
PV_MODEL_LIST(PV__MODEL_EXTERN)
#undef PV__MODEL_EXTERN

/* Like pv_model_new; `offset`: the first input is an offset, which has no parameters. */
PV_MUST_USE pv_status pv__model_new(pv_ctx *ctx, const char *spec, int inputs, bool offset, int classes,
                                    pv_model **model);

/* Number of inputs with slopes: all except an offset, which precedes them. */
static inline size_t pv__model_slopes(const pv_model *model) {
    return (size_t)model->inputs - model->offset;
}

/* The weights of all inputs, given the slopes: 1 for an offset. room [inputs]. */
static inline const double *pv__input_weights(const pv_model *model, const double *slope, double *room) {
    if (!model->offset)
        return slope;
    room[0] = 1;
    for (size_t j = 1; j < (size_t)model->inputs; j++)
        room[j] = slope[j - 1];
    return room;
}

/* Adds dz [n] times the inputs to dslope and returns the sum of dz. The offset's part is written to the number before
 * the slopes, a bias, whose value is restored. */
static inline double pv__add_inputs(const pv__compute *compute, const pv_model *model, size_t n, const double *x,
                                    const double *dz, double *dslope) {
    if (!model->offset)
        return compute->rows_add(n, (size_t)model->inputs, x, dz, dslope);
    double bias = dslope[-1], sum = compute->rows_add(n, (size_t)model->inputs, x, dz, dslope - 1);
    dslope[-1] = bias;
    return sum;
}

/* Whether the first label's output bias is fixed at 0, with the others relative to it. */
static inline bool pv__first_class_fixed(const pv_model *model) {
    return model->ordinal || model->architecture->first_class_fixed;
}

/* Whether output biases can multiply p(y|x) by any factor per label, before normalisation. If so, the labels of a
 * label-based sample follow the same kind of model as those of the population, with other biases. */
static inline bool pv__model_is_free(const pv_model *model) {
    return !model->ordinal || model->classes == 2;
}

/* (ordinal.c) Thresholds c [k-1] from biases b [k-1]; log-likelihoods [n][k] from eta [n]; the backward pass, which
 * adds the gradient of b to db. room [pv__ordinal_room] is scratch. */
size_t pv__ordinal_room(size_t k);
void pv__ordinal_thresholds(size_t k, const double *b, double *room, double *c);
void pv__ordinal_forward(size_t n, size_t k, const double *b, const double *eta, double *room, double *loglik);
void pv__ordinal_backward(size_t n, size_t k, const double *b, const double *eta, const double *dloglik, double *room,
                          double *deta, double *db);

/* The same as steps: with parameters p, whose biases begin at `first`, and eta from a step. */
int pv__ordinal_describe(pv__steps *steps, size_t k, const pv__parameters *p, size_t first, int eta);

/* Log-softmax of logits [n][classes], and its backward pass. In place is fine. */
void pv__log_softmax_rows(size_t n, size_t classes, const double *logits, double *loglik);
void pv__log_softmax_rows_backward(size_t n, size_t classes, const double *loglik, const double *dloglik,
                                   double *dlogits);

/* Makes the next forward training step number `step`, with dropout, and its backward skip the low-level module if
 * freeze_low. Without this call a work predicts. */
void pv__model_work_train(pv_model_work *work, uint64_t seed, uint64_t step, bool freeze_low);
/* (groups.c) Rows per group for a batch of this size. The gradients of groups are added as a binary tree. */
size_t pv__model_group_rows(const pv_model *model, size_t batch);
/* Declares that the work's rows are those from `first` on, where a group begins, in a batch of this size that is
 * shared. Because other processes wait for the result, a batch in progress is always completed. False: not supported,
 * the work takes whole batches only. */
PV_MUST_USE bool pv__model_work_share(const pv_model *model, pv_model_work *work, size_t batch, size_t first);
/* After forward of the n rows that belong to this process's part of the tree, in groups of this size: writes the
 * gradient of each of its limbs to dw [limbs][params]. spare: pv__model_spare numbers. */
size_t pv__model_spare(const pv_model *model, const pv__tree *tree);
void pv__model_backward_limbs(const pv_model *model, pv_model_work *work, const pv__tree *tree, size_t group,
                              const double *w, size_t n, const double *x, const double *loglik, const double *dloglik,
                              double *spare, double *dw);
/* Whether the work's last forward, and the backward after it, succeeded. */
PV_MUST_USE pv_status pv__model_work_check(pv_ctx *ctx, const pv_model_work *work);
size_t pv__network_features(const pv_model *model); /* number of inputs of a network's last layer */
bool pv__network_absent(const char *spec);          /* spec is a network, and the library was built without networks */
bool pv__model_takes_views(const pv_model *model);
bool pv__model_is_smooth(const char *spec); /* spec uses curved parts of columns */
/* The number of rows one work should take, up to `most`: for networks, as many as stay below a gigabyte, but at least
 * one. */
size_t pv__model_rows(const pv_model *model, size_t most);
/* Number of outputs of the last hidden layer; 0: none. */
size_t pv__model_hidden(const pv_model *model);
/* The last layer alone, as a model of its inputs. The caller frees *head. */
PV_MUST_USE pv_status pv__model_head(pv_ctx *ctx, const pv_model *model, pv_model **head);
/* pv_model_shift for a draw of `dims` parameters: all, or those of the last layer. */
void pv__model_shift_draw(const pv_model *model, const double *shift, size_t dims, double *draw);
/* The number of leading parameters that --freeze-low keeps fixed; 0 except for networks. */
size_t pv__model_low_params(const pv_model *model);

#endif
