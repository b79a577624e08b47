/* src/infer/infer.h: what the inference files share. */
#ifndef PV_SRC_INFER_H
#define PV_SRC_INFER_H

#include <string.h>

#include "base/base.h"
#include "base/reduce.h"
#include "base/tree.h"
#include "core/loss.h"
#include "design/design.h"
#include "model/model.h"
#include "plan/plan.h"
#include "prevail/infer.h"

/* The options with their texts understood, and the data: all that inference needs. */
typedef struct pv__problem {
    const pv__plan *plan;
    const pv_fit_options *options; /* the plan's */
    const pv_model *model;
    size_t n;
    bool shared;               /* the passes over its rows, with the context's other ranks */
    const double *x;           /* [n][inputs]; NULL for images, and with columns */
    const pv_dataset *data;    /* images: where rows come from; NULL for tables */
    const pv_dataset *columns; /* a table whose matrix does not fit: what rows are made of; NULL: there is x */
    const struct pv__loaded
        *loaded; /* rows on a device, among them x (model/device_table.h); NULL: the processor has them */
    pv_targets targets;
    double *mass;             /* [classes], label mass */
    double *design;           /* [classes], its shares */
    double *factor;           /* [classes], the loss's class factors */
    pv_prevalence population; /* the plan's, or another that an optimiser starts from */
    double *centre;           /* [params], of the prior: output biases at the log prevalence, else 0 */
    bool *is_bias;            /* [params] */
    size_t batch;             /* the plan's, or 0: full */
    size_t unlabelled;        /* of the n rows, the last: a sample of the population */
    double *scaled;           /* [n], weights that add up to `iw-total`; NULL: the caller's serve */
    double *joined;           /* with a sample: x of all rows, then their weights; NULL: the caller's arrays serve */
    int32_t *joined_label;
    const double *counted;           /* [n], the caller's weights; targets may have others. NULL: all 1 */
    char *const *feature;            /* [inputs], names for messages */
    const int32_t *cluster;          /* [n], rows that were sampled together; NULL: none */
    bool sampling;                   /* weights are sampling weights */
    const int32_t *survey;           /* [n], strata that clusters or rows of a survey were drawn in; NULL: none */
    const pv_stratified *stratified; /* NULL: the population has one stratum */
    const pv__design *sampled;       /* of which cluster, survey and stratified are */
    double *stratum_log_ratio;       /* [strata][classes] */
} pv__problem;

/* Some groups, and which of them are this rank's: its share where the problem's rows are shared, else all. */
static inline pv__part pv__problem_part(const pv_ctx *ctx, const pv__problem *problem, size_t groups) {
    pv__part part = {.blocks = groups, .units = groups, .last = groups, .own_last = groups};
    return problem->shared ? pv__part_own(ctx, groups, groups) : part;
}

/* Log ratios of a problem: one set [classes], or one for each stratum. */
static inline size_t pv__ratio_sets(const pv__problem *problem) {
    return problem->stratified ? (size_t)problem->stratified->strata : 1;
}

static inline pv_loss pv__problem_loss(const pv__problem *problem) {
    return (pv_loss)problem->options->loss;
}

/* Whether p(x) is profiled out. */
static inline bool pv__is_profile(const pv__problem *problem) {
    return pv__plan_is_profile(problem->plan);
}

/* How the fit's loss is worked out. */
static inline pv__form pv__problem_form(const pv__problem *problem) {
    return pv__loss_form(pv__problem_loss(problem), (pv_marginal)problem->options->marginal, problem->batch > 0);
}

/* x [n][inputs] of rows begin ..: in the matrix, or made in buffer [n][inputs]: of columns, or an image's fixed views.
 * Of columns any thread may ask; images have threads of their own. */
static inline const double *pv__problem_rows(const pv_ctx *ctx, const pv__problem *problem, size_t begin, size_t n,
                                             double *buffer) {
    if (problem->data || problem->columns)
        return pv_dataset_rows(ctx, problem->columns ? problem->columns : problem->data, begin, n, buffer);
    return problem->x + begin * (size_t)pv_model_inputs(problem->model);
}

/* The inputs of row n of a table that have slopes, pv__model_slopes of them: in the matrix, or made in room [inputs].
 */
static inline const double *pv__problem_row(const pv__problem *problem, size_t n, double *room) {
    return pv__problem_rows(NULL, problem, n, 1, room) + problem->model->offset;
}

/* All inputs of row n of a table, copied to x [inputs]. */
static inline void pv__problem_copy(const pv__problem *problem, size_t n, double *x) {
    size_t d = (size_t)pv_model_inputs(problem->model);
    const double *row = pv__problem_rows(NULL, problem, n, 1, x);
    if (row != x && d > 0)
        memcpy(x, row, d * sizeof *x);
}

/* Row i of a sample that is spread evenly over all rows, every of them for each of its own: in short runs, since rows
 * of columns in a file cost less to read in runs than one by one. All rows, where every is 1. */
enum { PV__RUN = 16 };
static inline size_t pv__spread_row(size_t i, double every) {
    return (size_t)((double)(i - i % PV__RUN) * every) + i % PV__RUN;
}

/* All inputs of rows first .. first+n-1 of such a sample, copied to x [n][inputs]. */
static inline void pv__problem_spread(const pv__problem *problem, size_t first, size_t n, double every, double *x) {
    size_t d = (size_t)pv_model_inputs(problem->model);
    for (size_t at = first, end; at < first + n; x += (end - at) * d, at = end) {
        end = at - at % PV__RUN + PV__RUN;
        end = end < first + n ? end : first + n;
        const double *rows = pv__problem_rows(NULL, problem, pv__spread_row(at, every), end - at, x);
        if (rows != x && d > 0)
            memcpy(x, rows, (end - at) * d * sizeof *x);
    }
}

/* Other rows in the place of its own. */
static inline void pv__problem_take(pv__problem *problem, size_t n, const double *x) {
    problem->n = n;
    problem->x = x;
    problem->columns = NULL;
}

/* The problem without its unlabelled rows. Borrowed. */
static inline pv__problem pv__labelled(const pv__problem *problem) {
    pv__problem labelled = *problem;
    labelled.n = labelled.targets.n = problem->n - problem->unlabelled;
    labelled.unlabelled = 0;
    return labelled;
}

/* (scale.c) An open prior: closed where nothing is to be chosen, else plan->prior_by_rows, or plan->prior_folds of rows
 * to choose by; and the choice. Whether rows are few. */
enum { PV__PRIOR_TEXT = 32 };
PV_MUST_USE pv_status pv__prior_decide(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                       const pv__problem *problem, pv__plan *plan);
PV_MUST_USE pv_status pv__prior_choose(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                       const pv__problem *problem, pv__plan *plan);
/* (evidence.c) The scale of normal slopes of a linear model by which the rows are most likely, and the variance of its
 * logarithm; whether that can be had, and costs little. */
PV_MUST_USE pv_status pv__evidence_scale(pv_ctx *ctx, const pv__problem *problem, double *scale, double *variance);
bool pv__evidence_serves(const pv__problem *problem);

/* ---- predictions over what is uncertain (averaging.c) ------------------------------------------------------------ */

/* The logarithm of the mean of 1/(1 + exp(-l)) over l ~ N(m, s^2), for m <= 0; *slope (may be NULL): the mean's
 * derivative by m, over the mean. */
double pv__log_logistic_mean(double m, double s, double *slope);
/* Of a linear model at one row: the variance of the logit of each label, [classes], at log probabilities log_p; x: the
 * inputs with slopes. room [params + J J + J], J = classes - 1. */
void pv__logit_variances(const pv_classifier *classifier, const double *x, const double *log_p, double *room,
                         double *variance);
/* Sets the classifier's averaging, where its rows are few. */
PV_MUST_USE pv_status pv__averaging_find(pv_ctx *ctx, const pv__problem *problem, pv_classifier *classifier);
/* loglik [rows][classes] at w become logarithms of mean probabilities, where the classifier averages. */
PV_MUST_USE pv_status pv__average(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data, double *loglik);

/* (summary.c) p(y|w) [classes]; without a posterior the mean is the estimate's and the rest NaN. */
PV_MUST_USE pv_status pv__marginal_spreads(pv_ctx *ctx, const pv_classifier *classifier, double level,
                                           pv_spread *spreads);

/* ---- the design (design/design.h) -------------------------------------------------------------------------------- */

/* (strata.c) iw: rows weighted to the population, stratum by stratum. */
pv_status pv__stratify(pv_ctx *ctx, pv__problem *problem);

/* ---- validation rows (holdout.c) --------------------------------------------------------------------------------- */

typedef struct pv__aboard pv__aboard; /* training on a device, below */
typedef struct pv__holdout pv__holdout;
/* The rows to learn from and those held out; the caller frees both, also on failure. */
pv_status pv__holdout_split(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                            pv_dataset **learn, pv_dataset **held);
/* Borrows problem and held. On failure *holdout holds what there is, to be freed. */
pv_status pv__holdout_new(pv_ctx *ctx, const pv__problem *problem, const pv_dataset *held, char *const *labels,
                          pv__holdout **holdout);
void pv__holdout_free(pv_ctx *ctx, pv__holdout *holdout);
/* w, or the parameters aboard where it is not NULL. */
pv_status pv__holdout_score(pv_ctx *ctx, pv__holdout *holdout, pv__aboard *aboard, const double *w, double *score);

/* What inference leaves in the caller's hands. */
typedef struct pv__solution {
    double *w;            /* [params]; holds the start on entry */
    double *log_marginal; /* [classes] */
    double value;
    pv_stop stop;
    int64_t iterations;
    double passes, pass_seconds;
    pv_trace *trace;      /* filled by minibatches; NULL: not asked for */
    pv__holdout *holdout; /* validation rows; NULL: none */
    double score;         /* theirs at w */
    int64_t best_epoch;   /* that w is of; 0: the last one run */
} pv__solution;

/* (posterior.c) Of strata: each draw's marginals [count][width], of the mixture and of every stratum, parted into the
 * classifier's two arrays. */
pv_status pv__part_marginals(pv_ctx *ctx, size_t count, size_t classes, size_t width, pv_classifier *classifier);

/* (separation.c) Whether the labelled rows leave a convex model without a finite maximum of the likelihood. */
typedef struct pv__separation {
    bool found;
    bool complete; /* every row gains; else quasi-complete */
    int *sign;     /* [slopes] of the columns, of the infinite coefficient; 0: it is finite. All 0: not known which */
} pv__separation;
/* w: the estimate, or NULL before there is one. The caller frees *found with _free, also on failure. */
PV_MUST_USE pv_status pv__separation_find(pv_ctx *ctx, const pv__problem *problem, const double *w,
                                          pv__separation *found);
void pv__separation_free(pv_ctx *ctx, pv__separation *found);
/* As pv_classifier's `separated` has it. */
PV_MUST_USE pv_status pv__separation_mark(pv_ctx *ctx, const pv__problem *problem, const double *w, int64_t *marked);
/* Without a proper prior: an error that names the columns. */
PV_MUST_USE pv_status pv__separation_refuse(pv_ctx *ctx, const pv__problem *problem, const double *w);
pv_status pv__fit_full(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution);
/* The posterior at the maximum found: draws, and the marginal at each. */
pv_status pv__fit_posterior(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution,
                            pv_classifier *classifier);
/* (reference.c) The training rows' ratios by models without them, where that can be had. */
pv_status pv__reference_of_fit(pv_ctx *ctx, const pv__problem *problem, pv_classifier *classifier);
pv_status pv__fit_minibatch(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution);

/* (classifier.c) pv_classifier_coefficients at any w. */
pv_status pv__coefficients_of(pv_ctx *ctx, const pv_classifier *classifier, const double *w, double *coefficients);

/* ---- standard errors (errors.c) ---------------------------------------------------------------------------------- */

/* Fills the classifier's standard_error, or no_errors, at the optimum that was found. */
pv_status pv__standard_errors(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution,
                              pv_classifier *classifier);
/* The same of Laplace's posterior of a linear model, a Gaussian: coefficients and errors then do not depend on draws.
 */
PV_MUST_USE pv_status pv__gaussian_errors(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution,
                                          pv_classifier *classifier);

/* Standard errors [params] of the coefficients, from the covariance [params][params] of the parameters. */
PV_MUST_USE pv_status pv__errors_of(pv_ctx *ctx, const pv_classifier *classifier, const double *covariance,
                                    double *errors);
/* standard_error and covariance of the coefficients from the covariance [params][params] of w. */
PV_MUST_USE pv_status pv__set_errors(pv_ctx *ctx, const double *covariance, pv_classifier *classifier);

/* ---- matched sets (matched.c) ------------------------------------------------------------------------------------ */

/* Gives w the intercept by which the sample's mean risk is the prevalence. */
pv_status pv__matched_intercept(pv_ctx *ctx, const pv__problem *problem, const pv_dataset *sample, double *w);

/* ---- the trace (trace.c) ----------------------------------------------------------------------------------------- */

pv_status pv__trace_new(pv_ctx *ctx, int classes, pv_trace **trace);
void pv__trace_free(pv_ctx *ctx, pv_trace *trace);
/* Appends an epoch; log p(y|w) as used and exact, [classes]. */
pv_status pv__trace_add(pv_ctx *ctx, pv_trace *trace, const pv_trace_row *row, const double *log_used,
                        const double *log_exact);

/* In the checkpoint; back from it, with at most `most` epochs. */
pv_status pv__trace_keep(pv_ctx *ctx, pv_trace *trace);
pv_status pv__trace_recall(pv_ctx *ctx, pv_trace *trace, size_t most);

pv_auxiliary_options pv__auxiliary_rates(const pv__problem *problem);

/* ---- the full-batch objective ------------------------------------------------------------------------------------ */

typedef struct pv__objective pv__objective;

pv_status pv__objective_new(pv_ctx *ctx, const pv__problem *problem, pv__form form, pv__objective **objective);
void pv__objective_free(pv_ctx *ctx, pv__objective *objective);
/* Negative log posterior (or loss) and its gradient at w (dw NULL: the value alone). The Laplace prior's |w| is left
 * out where the optimiser adds it itself (skip_laplace). */
pv_status pv__objective_eval(pv__objective *objective, const double *w, bool skip_laplace, double *value, double *dw);
pv_full_loss *pv__objective_loss(pv__objective *objective); /* NULL but for JOINT */
/* Passes over the matrix and seconds of evaluations so far, added to those of the solution. NULL is fine. */
void pv__objective_count(const pv__objective *objective, pv__solution *solution);
/* Takes over the log-likelihoods of the last evaluation of a SELECTION objective: a JOINT one then starts at the same w
 * without a forward pass. */
void pv__objective_take_over(pv__objective *joint, pv__objective *selection);
/* Whether the last evaluation was at exactly w. */
bool pv__objective_is_at(const pv__objective *objective, const double *w);
/* log-likelihoods of all rows at w, into loglik [n][classes]. */
pv_status pv__objective_loglik(pv_ctx *ctx, const pv__problem *problem, const double *w, double *loglik);
/* Of rows begin .. end-1 at least, in their places. */
pv_status pv__objective_loglik_of(pv_ctx *ctx, const pv__problem *problem, const double *w, size_t begin, size_t end,
                                  double *loglik);
/* log p(y|w), [classes], as the loss has it: the label shares where it is of the design, the stated prevalence for the
 * selection likelihood, the objective's own where it is JOINT and was last evaluated at w, else the plug-in estimate.
 * loglik [n][classes]: log-likelihoods at w; NULL: they are worked out where they are needed. With strata theirs
 * follow, [strata][classes]. */
pv_status pv__log_marginal(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective, const double *w,
                           const double *loglik, double *log_marginal);
/* The stated prevalence as such. */
void pv__stated_marginal(const pv__problem *problem, double *log_marginal);
/* log(design/prevalence) as the objective uses it, [pv__ratio_sets][classes]; zeros where no correction applies. */
void pv__log_ratio(const pv__problem *problem, double *log_ratio);

/* Prior of parameter i at w_i; 0 without map. */
double pv__prior_at(const pv__problem *problem, size_t i, double w, double *dvalue);
/* Its derivative alone, which training steps take. */
double pv__prior_slope(const pv__problem *problem, size_t i, double w);

/* ---- the optimiser ----------------------------------------------------------------------------------------------- */

/* Cholesky factor of the (block-diagonal) information of a subsample of rows at w; see precondition.c. */
typedef struct pv__precondition {
    size_t blocks, size;
    bool diagonal;  /* many columns: the diagonal alone */
    double *factor; /* [blocks][size][size], lower triangles; diagonal: [blocks][size] */
    bool whole;     /* while it is summed: of more rows, with a block for each pair of logits */
} pv__precondition;
pv_status pv__precondition_new(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__precondition *made);
/* The information of the rows at w, prior left out, [params][params]: that of the labels given the columns. Of very
 * many rows those that are evenly spaced stand for the others. */
pv_status pv__information(pv_ctx *ctx, const pv__problem *problem, const double *w, double *information);
/* (matched.c) Matched sets: slopes of columns that are constant within every set that has both labels are not
 * estimable. They become 0 in w, and in draws; estimable [params] is filled, and columns are named in a warning. */
PV_MUST_USE pv_status pv__estimable_find(pv_ctx *ctx, const pv__problem *problem, bool *estimable);
PV_MUST_USE pv_status pv__inestimable_clear(pv_ctx *ctx, const pv__problem *problem, double *w,
                                            pv_posterior *posterior);
/* Of a classifier: false for those, and for the intercept where there is none. */
bool pv__is_estimable(const pv_classifier *classifier, size_t param);
/* (errors.c) The inverse of L L^T into inverse [n][n]. */
void pv__factor_invert(size_t n, const double *L, double *inverse);
/* (errors.c) From the inverse information [P][P] of a linear model to profile's covariance: label masses are no chance,
 * and the prevalence rests on so many observations (infinite: it is known). */
void pv__hold_labels(const pv__problem *problem, size_t P, double observed, double *covariance);
/* (errors.c) Where the rows chose the prior's scale: what that leaves uncertain is added to a covariance of w, H^-1
 * [P][P] being the inverse curvature there; to a sandwich also what the prior may have drawn slopes to 0 by. */
PV_MUST_USE pv_status pv__add_scale(pv_ctx *ctx, const pv__problem *problem, const double *w, const double *inverse,
                                    bool sandwich, double *covariance);
/* (last_layer.c) Whether draws of a model's posterior may have so many numbers. */
bool pv__posterior_dims_sound(const pv_model *model, size_t dims);
/* (last_layer.c) The posterior over the last layer alone. */
PV_MUST_USE pv_status pv__fit_last_layer(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution,
                                         pv_classifier *classifier);
void pv__precondition_free(pv_ctx *ctx, pv__precondition *made);
void pv__precondition_backward(const pv__precondition *p, const double *u, double *w); /* w = L^-T u */
void pv__precondition_forward(const pv__precondition *p, const double *g, double *u);  /* u = L^-1 g */

typedef struct pv__descent_options {
    double tolerance; /* largest gradient entry per row */
    int64_t max_iter;
    bool fine;                      /* near the optimum: take small changes of the value from the gradients */
    const pv__precondition *metric; /* NULL: made at the start */
} pv__descent_options;

/* Minimises from w, in place. Preconditioned by the information of a subsample where the model is linear. */
pv_status pv__descend(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective,
                      const pv__descent_options *options, double *w, double *value, pv_stop *stop, int64_t *iterations);

/* ---- the prevalence held exactly: Newton on the output biases (match.c) ------------------------------------------ */

pv_status pv__match_prevalence(pv_ctx *ctx, const pv__problem *problem, bool selection, double *w);
/* The shift [k], its first entry 0, that makes sum_n a_n softmax(logits_n + shift) b [k], whose sum is that of a. Of
 * a shared problem logits [n][k] and a [n] are wanted of the rows *begin .. *end-1. */
pv_status pv__match_shift(pv_ctx *ctx, const pv__problem *problem, const double *logits, const double *a,
                          const double *b, double *shift);
void pv__match_rows(const pv_ctx *ctx, const pv__problem *problem, size_t *begin, size_t *end);

/* Moves output biases to a known prevalence, where the options say so: networks, and the losses that do not hold it. */
pv_status pv__match_population(pv_ctx *ctx, const pv__problem *problem, pv_classifier *classifier);
/* (precondition.c) A curvature of parameter i's prior that bounds its own from above; 0 without map. */
double pv__prior_curvature(const pv__problem *problem, size_t i, double w);
/* The pull towards a known prevalence in minibatches of the paper's marginal, before the biases are matched exactly. */
static inline double pv__known_strength(const pv__problem *problem) {
    double total = 0;
    for (int y = 0; y < problem->targets.classes; y++)
        total += problem->mass[y];
    return 10 * total;
}

/* ---- batches (batches.c) ----------------------------------------------------------------------------------------- */

typedef struct pv__batches pv__batches;

pv_status pv__batches_new(pv_ctx *ctx, const pv__problem *problem, pv__batches **batches);
void pv__batches_uncut(pv__batches *batches); /* somebody else cuts views: x of the batches means nothing */
void pv__batches_free(pv_ctx *ctx, pv__batches *batches);
/* One batch: targets, and x [n][inputs]. Lent until the next is taken. */
typedef struct pv__batch {
    pv_targets targets;
    const int32_t *stratum; /* [n], what each row was drawn from; NULL: its label */
    const double *x;
    const size_t *row; /* [n], of the data */
    uint64_t first;    /* rows that were drawn before, in all batches: the stream of the first one's views */
} pv__batch;
pv__batch pv__batches_next(pv__batches *batches);
/* Images: the batch that was taken last has not been: it comes next, also for a checkpoint. Once for each. */
void pv__batches_put_back(pv__batches *batches);
size_t pv__batches_size(const pv__batches *batches);
/* x of the batches is wanted of rows begin .. end-1 alone. */
void pv__batches_take(pv__batches *batches, size_t begin, size_t end);
/* The loss of a batch as an estimate of the full data's. It borrows from the problem and the batches. */
pv_batch_loss pv__batches_loss(const pv__batches *batches);
/* What a checkpoint keeps of them; after it was put back, checks it and takes it up. */
size_t pv__batches_fields(pv__batches *batches, pv_field *field /* [3] */);
pv_status pv__batches_recalled(pv_ctx *ctx, pv__batches *batches);
/* The counts of `optimal`, from the variance within classes of each row's own gradient. */
bool pv__batches_optimised(const pv__batches *batches); /* counts are estimated anew each epoch */
pv_status pv__batches_optimise(pv_ctx *ctx, pv__batches *batches, const pv__problem *problem, const double *w,
                               const double *log_q);

/* ---- the gradient of a batch, which ranks share (gradient.c) ----------------------------------------------------- */

typedef struct pv__gradient pv__gradient;
/* Of batches of so many rows. early: slopes of a row depend on the log-likelihoods of others. */
pv_status pv__gradient_new(pv_ctx *ctx, const pv__problem *problem, size_t size, bool early, pv__gradient **gradient);
void pv__gradient_free(pv_ctx *ctx, pv__gradient *gradient);
void pv__gradient_rows(const pv__gradient *gradient, size_t *begin, size_t *end); /* those that are worked on here */
/* Whether log-likelihoods of other rows come with the gradient: before it they are those of the last step. */
bool pv__gradient_completes(const pv__gradient *gradient);
/* loglik [size][classes] of training's step number `step`, x [size][inputs]; then, for the slopes dloglik of the loss,
 * dw [params]. */
pv_status pv__gradient_forward(pv__gradient *gradient, const double *w, int64_t step, const double *x, double *loglik);
pv_status pv__gradient_backward(pv__gradient *gradient, const double *w, const double *x, double *loglik,
                                const double *dloglik, double *dw);

/* How far the marginal is ahead of the auxiliary network, as pv_auxiliary_follow takes it. */
typedef struct pv__lag {
    double *error, *gain; /* [classes] */
    double least;         /* of the gains */
} pv__lag;

/* ---- training on a device (train_device.c)
 * ----------------------------------------------------------------------------- */

/* *aboard NULL: the processor trains. */
pv_status pv__aboard_new(pv_ctx *ctx, const pv__problem *problem, size_t batch, pv__aboard **aboard);
void pv__aboard_free(pv_ctx *ctx, pv__aboard *aboard);
bool pv__aboard_cuts(const pv__aboard *aboard); /* views too */
/* Parameters, moments and the parameters that were marked, [params] each; get: NULL is not wanted. */
pv_status pv__aboard_put(pv_ctx *ctx, pv__aboard *aboard, const double *w, const double *mean, const double *square,
                         const double *marked);
pv_status pv__aboard_get(pv_ctx *ctx, pv__aboard *aboard, double *w, double *mean, double *square, double *marked);
pv_status pv__aboard_mark(pv_ctx *ctx, pv__aboard *aboard);
/* Log-likelihoods of rows as predictions see them, by the parameters as they are there. */
pv_status pv__aboard_loglik(pv_ctx *ctx, pv__aboard *aboard, const pv__problem *problem, double *loglik);
/* The loss of its steps. The auxiliary network and its follower, where there are any, are lent: their state goes there
 * now, and comes back with pv__aboard_loss_get. Until then log q, by the parameters as they are, is asked for. */
typedef struct pv__follower pv__follower;
pv_status pv__aboard_loss_put(pv_ctx *ctx, pv__aboard *aboard, const pv_batch_loss *loss, pv_auxiliary *auxiliary,
                              pv__follower *follower, double sparsity);
pv_status pv__aboard_loss_get(pv_ctx *ctx, pv__aboard *aboard);
pv_status pv__aboard_log_q(pv_ctx *ctx, pv__aboard *aboard, double *log_q);
/* Begins the step after `step` others: network, loss, prior and Adam, by rates of the parameters and of the auxiliary
 * network's bias. log_q is what the loss takes where there is no such network. */
pv_status pv__aboard_step(pv_ctx *ctx, pv__aboard *aboard, const pv__batch *batch, int64_t step, double rate,
                          double bias_rate, const double *log_q);
/* How many steps may be under way before the outcome of the first is asked for. */
int64_t pv__aboard_ahead(void);
/* Waits for the first step that was not asked about: the value of its loss, and log q [classes] where there is an
 * auxiliary network. */
pv_status pv__aboard_outcome(pv_ctx *ctx, pv__aboard *aboard, double *value, double *log_q);

/* ---- the marginal as it moves (marginal_tracker.c)
 * ------------------------------------------------------------------------- */

/* Starts with a pass over all rows at w. On failure *follower holds what there is, to be freed. */
pv_status pv__follower_new(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__follower **follower);
void pv__follower_free(pv_ctx *ctx, pv__follower *follower);
size_t pv__follower_fields(pv__follower *follower, pv_field *field); /* of a checkpoint */
/* [n + 2][classes]: each row's probabilities when it was last seen, their weighted sum, the estimate's noise; and the
 * weights [n]. Borrowed. */
double *pv__follower_state(pv__follower *follower, const double **rho);
/* Moves the auxiliary network's bias by what a batch tells at the w of its log-likelihoods, and says how far off it
 * was; log_q [classes] is the network's output there, log_target [classes] what it should have been. */
pv_status pv__follower_step(pv_ctx *ctx, pv__follower *follower, const pv_batch_design *design, const pv__batch *batch,
                            const double *loglik, const double *log_q, double *log_target, double *bias, pv__lag *lag);

/* ---- reference rows (reference.c) -------------------------------------------------------------------------------- */

/* Rows whose masses fall into cells. */
typedef struct pv__sampled {
    size_t rows, cells;
    const double *share;    /* [rows][cells] */
    const int32_t *cluster; /* [rows], from 0; NULL: rows are units */
    bool sampling;          /* masses are sampling weights; else repeated rows */
} pv__sampled;
/* As many people sampled one by one would leave the shares of the cells with the same variance (Rao and Scott 1981). */
PV_MUST_USE pv_status pv__effective_units(pv_ctx *ctx, const pv__sampled *sampled, double *units);

/* (reference_cells.c) Scores log r(y)/r(0) of labelled rows, [n][classes - 1]. *cells NULL: some label has too few. */
typedef struct pv__scored_rows {
    size_t n;
    int classes;
    const double *score, *weight; /* weight [n] */
    const int32_t *label;
    const int32_t *cluster; /* [n], from 0; NULL: rows are units */
    bool sampling;
} pv__scored_rows;
PV_MUST_USE pv_status pv__label_cells_new(pv_ctx *ctx, const pv__scored_rows *rows, pv_label_cells **cells);
/* Room for them alone. */
PV_MUST_USE pv_status pv__label_cells_alloc(pv_ctx *ctx, int classes, pv_label_cells **cells);
void pv__label_cells_free(pv_ctx *ctx, pv_label_cells *cells);
static inline size_t pv__label_cells_numbers(int classes) {
    return (size_t)classes * (2 + 2 * (size_t)classes);
}
/* Of a row. */
size_t pv__label_cell_of(const pv_label_cells *cells, const double *score);

/* The low-level module's parameters from an NPZ of VGG-16's first two convolutions, into w. */
pv_status pv__pretrained_load(pv_ctx *ctx, const pv_model *model, const char *path, double *w);

/* Compares the checkpoint's work with this: first, lines of its own, then what the fits learn from and how. Nothing
 * without a checkpoint. */
pv_status pv__facts(pv_ctx *ctx, const char *first, const pv_dataset *data, const pv_dataset *held,
                    const pv_fit_options *options);
/* Ranks that share the fit, or fits (model and strata NULL), have the same options and data; else the first that
 * differs is named. */
pv_status pv__fit_alike(pv_ctx *ctx, const pv_dataset *data, const pv_model *model, const pv_stratified *strata,
                        const pv_fit_options *options);
/* Compares the checkpoint's fit with this one; nothing without a checkpoint. held: NULL, or the validation rows. */
pv_status pv__fit_facts(pv_ctx *ctx, const pv_dataset *data, const pv_dataset *held, const pv_model *model,
                        const pv_stratified *strata, const pv_fit_options *options);

/* A fit that is done: into the checkpoint, and back; nothing without one. */
pv_status pv__fitted_keep(pv_ctx *ctx, pv_classifier *classifier);
pv_status pv__fitted_recall(pv_ctx *ctx, pv_classifier *classifier, bool *found);

#endif
