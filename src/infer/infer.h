/* src/infer/infer.h: declarations shared by the inference files. */
#ifndef PV_SRC_INFER_H
#define PV_SRC_INFER_H

#include <string.h>

#include "base/base.h"
#include "base/reduce.h"
#include "base/tree.h"
#include "core/loss.h"
#include "design/design.h"
#include "infer/row_source.h"
#include "model/model.h"
#include "plan/plan.h"
#include "prevail/infer.h"

/* Groups of slopes whose priors, normal:SCALE, have separate scales, for additive models (smoothing.c). */
typedef struct pv__smoothing {
    size_t groups, params;
    int32_t *of;                  /* [params], index of the group; -1: an intercept */
    double *unit;                 /* [params], the prior's standard deviation at a scale of 1 */
    pv_prior *prior;              /* [params] */
    double *w;                    /* [params], the maximum at the learned scales; NULL: unknown */
    double *scale, *spread, *edf; /* [groups]: spread, the variance of log scale, 0 if it was given; edf, effective
                                     degrees of freedom, NaN: unknown */
} pv__smoothing;

/* The parsed options and the data: everything that inference needs. */
typedef struct pv__problem {
    const pv__plan *plan;
    const pv__design *design;
    const pv_model *model;
    const pv__smoothing *smoothing; /* NULL: one prior for all slopes, that of the plan */
    pv__row_source rows;
    bool shared; /* passes over its rows are shared with the context's other ranks */
    pv_targets targets;
    double *mass;             /* [classes], label mass */
    double *label_share;      /* [classes], proportions */
    double *factor;           /* [classes], class factors of the loss */
    pv_prevalence population; /* that of the plan, or another one that an optimiser starts from */
    double *centre;           /* [params], centre of the prior: output biases at the log prevalence, else 0 */
    bool *is_bias;            /* [params] */
    size_t batch;             /* that of the plan, or 0: full */
    size_t unlabelled;        /* of the n rows, the last ones: a population sample */
    double *scaled;           /* [n], weights that sum to `iw-total`; NULL: the caller's are used */
    double *joined;           /* with a sample: x of all rows, then their weights; NULL: the caller's arrays are used */
    int32_t *joined_label;
    const double *counted; /* [n], the caller's weights, which may differ from those in targets. NULL: all 1 */
    char *const *feature;  /* [inputs], names for messages */
} pv__problem;

/* A number of groups, and those of this rank: its share if the problem's rows are shared, else all. */
static inline pv__part pv__problem_part(const pv_ctx *ctx, const pv__problem *problem, size_t groups) {
    pv__part part = {.blocks = groups, .units = groups, .last = groups, .own_last = groups};
    return problem->shared ? pv__part_own(ctx, groups, groups) : part;
}

/* What is known about the population's strata; NULL: a single stratum. */
static inline const pv_stratified *pv__strata_of(const pv__problem *problem) {
    return problem->design->strata > 1 ? problem->design->stated : NULL;
}

/* The number of sets of log ratios [classes]: one per stratum. */
static inline size_t pv__ratio_sets(const pv__problem *problem) {
    return (size_t)problem->design->strata;
}

static inline pv_loss pv__problem_loss(const pv__problem *problem) {
    return (pv_loss)problem->plan->options.loss;
}

/* Whether p(x) is profiled out. */
static inline bool pv__is_profile(const pv__problem *problem) {
    return pv__plan_is_profile(problem->plan);
}

/* How labels were recorded; NULL: without errors. */
static inline const pv_label_error *pv__problem_label_error(const pv__problem *problem) {
    return problem->plan->misread ? &problem->plan->label_error : NULL;
}

/* The form in which the fit's loss is computed. */
static inline pv__form pv__problem_form(const pv__problem *problem) {
    if (problem->plan->misread)
        return PV_FORM_SELECTION;
    return pv__loss_form(pv__problem_loss(problem), (pv_marginal)problem->plan->options.marginal, problem->batch > 0);
}

/* The inputs with slopes of row n of a table, pv__model_slopes of them: in the matrix, or assembled in room [inputs].
 */
static inline const double *pv__problem_row(const pv__problem *problem, size_t n, double *room) {
    return pv__rows_get(NULL, &problem->rows, n, 1, room) + problem->model->offset;
}

/* The problem without its unlabelled rows. Borrowed. */
static inline pv__problem pv__labelled(const pv__problem *problem) {
    pv__problem labelled = *problem;
    labelled.rows.n = labelled.targets.n = problem->rows.n - problem->unlabelled;
    labelled.unlabelled = 0;
    return labelled;
}

/* (fit.c) Prepares a fit of these rows up to its solution, and passes the problem on; the schema is that of learning.
 */
typedef pv_status (*pv__problem_use)(pv_ctx *ctx, const pv_schema *schema, const pv__problem *problem, void *state);
PV_MUST_USE pv_status pv__problem_lend(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                       const pv_fit_options *options, pv__problem_use use, void *state);
/* (learn.c) The schema and the dataset of a training table with a fit's settings; *roles [1] receives the roles used.
 * Not for images. The caller frees both, also on failure. */
PV_MUST_USE pv_status pv__training_new(pv_ctx *ctx, const pv_table *table, const pv_settings *settings, pv_roles *roles,
                                       pv_schema **schema, pv_dataset **data);

/* (scale.c) An open prior is fixed if there is nothing to choose; otherwise sets plan->prior_by_rows, or
 * plan->prior_folds. pv__prior_choose then makes the choice. */
enum { PV__PRIOR_TEXT = 32 };
PV_MUST_USE pv_status pv__prior_decide(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                       const pv__problem *problem, pv__plan *plan);
PV_MUST_USE pv_status pv__prior_choose(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                       const pv__problem *problem, pv__plan *plan);
/* (evidence.c) The scale of normal slopes of a linear model that maximises the marginal likelihood, and the variance of
 * its logarithm; and whether that is possible and cheap. */
PV_MUST_USE pv_status pv__evidence_scale(pv_ctx *ctx, const pv__problem *problem, double *scale, double *variance);
bool pv__evidence_serves(const pv__problem *problem);

/* ---- additive models (smoothing.c) ------------------------------------------------------------------------------- */

/* The group of each slope, [slopes]: 0 for linear columns; then each category with its reference level, and each curved
 * part. column [groups, at most slopes + 1]: the source of each group; -1: several. Returns the number of groups. */
size_t pv__smooth_groups(const pv_schema *schema, int32_t *group, int32_t *column);
/* For an additive model, with all scales 1; the caller frees *made with _free, also on failure. */
PV_MUST_USE pv_status pv__smoothing_new(pv_ctx *ctx, const pv_schema *schema, const pv_model *model,
                                        pv__smoothing **made);
void pv__smoothing_free(pv_ctx *ctx, pv__smoothing *smoothing); /* NULL is fine */
/* Sets one scale for all groups. */
void pv__smoothing_state(pv__smoothing *smoothing, double scale);
/* Chooses the scales by maximum marginal likelihood; or, if they were given, computes their effective degrees of
 * freedom. */
PV_MUST_USE pv_status pv__smoothing_choose(pv_ctx *ctx, const pv__problem *problem, bool stated, pv__smoothing *made);
/* Follows the plan: learned scales, or the prior's scale. NULL is fine. */
PV_MUST_USE pv_status pv__smoothing_find(pv_ctx *ctx, const pv__problem *problem, pv__smoothing *smoothing,
                                         pv__plan *plan);
/* Stores the scales in the classifier, if there are any. */
PV_MUST_USE pv_status pv__smoothing_keep(pv_ctx *ctx, const pv__smoothing *smoothing, pv_classifier *classifier);
PV_MUST_USE pv_status pv__smoothed_new(pv_ctx *ctx, const pv_schema *schema,
                                       pv_smoothing **made);  /* filled with zeros */
void pv__smoothed_free(pv_ctx *ctx, pv_smoothing *smoothing); /* NULL is fine */

/* ---- predictions averaged over parameter uncertainty (averaging.c) ----------------------------------------------- */

/* The logarithm of the mean of 1/(1 + exp(-l)) over l ~ N(m, s^2), for m <= 0; *slope (may be NULL): the mean's
 * derivative with respect to m, divided by the mean. */
double pv__log_logistic_mean(double m, double s, double *slope);
/* For a linear model at one row: the variance of the logit of each label, [classes], at log probabilities log_p; x: the
 * inputs with slopes. room [params + J J + J], J = classes - 1. */
void pv__logit_variances(const pv_classifier *classifier, const double *x, const double *log_p, double *room,
                         double *variance);
/* Sets the classifier's averaging if its rows are few. */
PV_MUST_USE pv_status pv__averaging_find(pv_ctx *ctx, const pv__problem *problem, pv_classifier *classifier);
/* Replaces loglik [rows][classes] at w by logarithms of mean probabilities, if the classifier averages. */
PV_MUST_USE pv_status pv__average(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data, double *loglik);

/* (summary.c) p(y|w) [classes]; without a posterior the mean is that of the estimate and the rest is NaN. */
PV_MUST_USE pv_status pv__marginal_spreads(pv_ctx *ctx, const pv_classifier *classifier, double level,
                                           pv_spread *spreads);

/* ---- design (design/design.h) ------------------------------------------------------------------------------------ */

/* (weigh_strata.c) iw: rows weighted to the population, stratum by stratum. */
pv_status pv__stratify(pv_ctx *ctx, pv__problem *problem);

/* ---- validation rows (holdout.c) --------------------------------------------------------------------------------- */

typedef struct pv__aboard pv__aboard; /* training on a device, below */
typedef struct pv__holdout pv__holdout;
/* Splits data into training and held-out rows; the caller frees both, also on failure. */
pv_status pv__holdout_split(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                            pv_dataset **learn, pv_dataset **held);
/* Borrows problem and held. On failure *holdout is partial and must be freed. */
pv_status pv__holdout_new(pv_ctx *ctx, const pv__problem *problem, const pv_dataset *held, char *const *labels,
                          pv__holdout **holdout);
void pv__holdout_free(pv_ctx *ctx, pv__holdout *holdout);
/* Scores w, or the parameters on the device if aboard is not NULL. */
pv_status pv__holdout_score(pv_ctx *ctx, pv__holdout *holdout, pv__aboard *aboard, const double *w, double *score);

/* The result of inference. */
typedef struct pv__solution {
    double *w;            /* [params]; the starting point on entry */
    double *log_marginal; /* [classes] */
    double value;
    pv_stop stop;
    int64_t iterations;
    double passes, pass_seconds;
    double *information;  /* [params][params], of the rows at w, without the prior's part; NULL: not at hand */
    double *ahead;        /* [params]: close to the optimum of the loss that Newton's method minimised, by a step more
                             than w was then; NULL: not at hand */
    double *weighted;     /* [params]: so for the weighted estimate */
    pv_trace *trace;      /* filled by minibatches; NULL: not requested */
    pv__holdout *holdout; /* validation rows; NULL: none */
    double score;         /* score of the validation rows at w */
    int64_t best_epoch;   /* the epoch of w; 0: the last one run */
} pv__solution;

/* (posterior.c) With strata: separates each draw's marginals [count][width], of the mixture and of every stratum, into
 * the classifier's two arrays. */
pv_status pv__part_marginals(pv_ctx *ctx, size_t count, size_t classes, size_t width, pv_classifier *classifier);

/* (separation.c) Whether the labelled rows give a convex model no finite maximum likelihood estimate. */
typedef struct pv__separation {
    bool found;
    bool complete; /* every row gains; otherwise quasi-complete */
    int *sign;     /* [slopes] of the columns, sign of the infinite coefficient; 0: finite. All 0: unknown */
} pv__separation;
/* w: the estimate, or NULL if there is none yet. The caller frees *found with _free, also on failure. */
PV_MUST_USE pv_status pv__separation_find(pv_ctx *ctx, const pv__problem *problem, const double *w,
                                          pv__separation *found);
void pv__separation_free(pv_ctx *ctx, pv__separation *found);
/* The same in the form of pv_classifier's `separated`. */
PV_MUST_USE pv_status pv__separation_mark(pv_ctx *ctx, const pv__problem *problem, const double *w, int64_t *marked);
/* Without a proper prior: fails with the names of the columns. */
PV_MUST_USE pv_status pv__separation_refuse(pv_ctx *ctx, const pv__problem *problem, const double *w);
pv_status pv__fit_full(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution);
/* The posterior at the maximum: draws, and the marginal at each. */
pv_status pv__fit_posterior(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution,
                            pv_classifier *classifier);
/* (reference.c) The training rows' ratios under models fitted without them, if available. */
pv_status pv__reference_of_ratios(pv_ctx *ctx, const pv__problem *problem, const pv_dataset *data, size_t n,
                                  const size_t *row, const double *ratio, pv_reference **reference);
pv_status pv__reference_of_fit(pv_ctx *ctx, const pv__problem *problem, pv_classifier *classifier);
pv_status pv__fit_minibatch(pv_ctx *ctx, const pv__problem *problem, pv__solution *solution);

/* (classifier.c) pv_classifier_coefficients at any w. */
pv_status pv__coefficients_of(pv_ctx *ctx, const pv_classifier *classifier, const double *w, double *coefficients);

/* ---- standard errors (errors.c) ---------------------------------------------------------------------------------- */

/* Fills the classifier's standard_error, or no_errors, at the optimum. */
pv_status pv__standard_errors(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution,
                              pv_classifier *classifier);
/* The same for Laplace's posterior of a linear model, a Gaussian: coefficients and errors then do not depend on draws.
 */
PV_MUST_USE pv_status pv__gaussian_errors(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution,
                                          pv_classifier *classifier);

/* Stores the covariance of the parameters, its centre (NULL: w), and the covariance of the coefficients. */
PV_MUST_USE pv_status pv__errors_keep(pv_ctx *ctx, const double *covariance, const double *centre, double df,
                                      pv_classifier *classifier);
double pv__prior_bend(const pv__problem *problem, size_t i, double w); /* curvature of a prior, which can be negative */
/* (label_error_scores.c) The same as pv__standard_errors, for labels with errors. */
PV_MUST_USE pv_status pv__label_error_errors(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution,
                                             pv_classifier *classifier);

/* Standard errors [params] of the coefficients from the covariance [params][params] of the parameters. */
PV_MUST_USE pv_status pv__errors_of(pv_ctx *ctx, const pv_classifier *classifier, const double *covariance,
                                    double *errors);
/* Sets standard_error and covariance of the coefficients from the covariance [params][params] of w. */
PV_MUST_USE pv_status pv__set_errors(pv_ctx *ctx, const double *covariance, pv_classifier *classifier);

/* ---- matched sets (matched.c) ------------------------------------------------------------------------------------ */

/* Sets the intercept of w such that the sample's mean risk equals the prevalence. */
pv_status pv__matched_intercept(pv_ctx *ctx, const pv__problem *problem, const pv_dataset *sample, double *w);

/* ---- trace (trace.c) --------------------------------------------------------------------------------------------- */

pv_status pv__trace_new(pv_ctx *ctx, int classes, pv_trace **trace);
void pv__trace_free(pv_ctx *ctx, pv_trace *trace);
/* Appends an epoch; log p(y|w) as used and exact, [classes]. */
pv_status pv__trace_add(pv_ctx *ctx, pv_trace *trace, const pv_trace_row *row, const double *log_used,
                        const double *log_exact);

/* Store the trace in the checkpoint, and restore at most `most` epochs. */
pv_status pv__trace_keep(pv_ctx *ctx, pv_trace *trace);
pv_status pv__trace_recall(pv_ctx *ctx, pv_trace *trace, size_t most);

pv_auxiliary_options pv__auxiliary_rates(const pv__problem *problem);

/* ---- full-batch objective ---------------------------------------------------------------------------------------- */

typedef struct pv__objective pv__objective;

pv_status pv__objective_new(pv_ctx *ctx, const pv__problem *problem, pv__form form, pv__objective **objective);
void pv__objective_free(pv_ctx *ctx, pv__objective *objective);
/* Negative log posterior (or loss) and its gradient at w (dw NULL: value only). skip_laplace leaves out the Laplace
 * prior's |w| for optimisers that add it themselves. */
pv_status pv__objective_eval(pv__objective *objective, const double *w, bool skip_laplace, double *value, double *dw);
/* Whether it has the information of the rows. */
bool pv__objective_curves(const pv__objective *objective);
/* What is asked of an objective at w: value and gradient and, curved, the information of the rows without the prior's
 * part, [params][params]. Two objectives of the same rows and model take one pass over these. */
typedef struct pv__look {
    pv__objective *objective;
    const double *w;
    bool curved;
    double value;
    double *dw, *information;
} pv__look;
PV_MUST_USE pv_status pv__objectives_look(size_t count, pv__look *look);
pv_full_loss *pv__objective_loss(pv__objective *objective); /* NULL except for JOINT */
/* Adds the passes over the matrix and the seconds of evaluations so far to those of the solution. NULL is fine. */
void pv__objective_count(const pv__objective *objective, pv__solution *solution);
/* Copies the log-likelihoods of the last evaluation of a SELECTION objective, so that a JOINT one can start at the same
 * w without a forward pass. */
void pv__objective_take_over(pv__objective *joint, pv__objective *selection);
/* Whether the last evaluation was at exactly w. */
bool pv__objective_is_at(const pv__objective *objective, const double *w);
/* log-likelihoods of all rows at w, into loglik [n][classes]. */
pv_status pv__objective_loglik(pv_ctx *ctx, const pv__problem *problem, const double *w, double *loglik);
/* At least for rows begin .. end-1, at their positions. */
pv_status pv__objective_loglik_of(pv_ctx *ctx, const pv__problem *problem, const double *w, size_t begin, size_t end,
                                  double *loglik);
/* log p(y|w), [classes], in the sense of the loss: the label proportions if it describes the design, the given
 * prevalence for the selection likelihood, the objective's own if it is JOINT and was last evaluated at w, else the
 * plug-in estimate. loglik [n][classes]: log-likelihoods at w; NULL: computed if needed. With strata theirs follow,
 * [strata][classes]. */
pv_status pv__log_marginal(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective, const double *w,
                           const double *loglik, double *log_marginal);
/* The given prevalence. */
void pv__stated_marginal(const pv__problem *problem, double *log_marginal);
/* log(design/prevalence) as used by the objective, [pv__ratio_sets][classes]; zeros if there is no correction. */
void pv__log_ratio(const pv__problem *problem, double *log_ratio);

/* The prior of parameter i, if there is one (plan->map). */
static inline const pv_prior *pv__prior_of(const pv__problem *problem, size_t i) {
    if (problem->is_bias[i])
        return &problem->plan->intercept_prior;
    return problem->smoothing ? &problem->smoothing->prior[i] : &problem->plan->prior;
}
/* Loss of parameter i's prior at w; 0 without map. */
double pv__prior_at(const pv__problem *problem, size_t i, double w, double *dvalue);
/* Its derivative alone, for training steps. */
double pv__prior_slope(const pv__problem *problem, size_t i, double w);

/* ---- optimiser --------------------------------------------------------------------------------------------------- */

/* Cholesky factor of the (block-diagonal) information of a subsample of rows at w; see precondition.c. */
typedef struct pv__precondition {
    size_t blocks, size;
    bool diagonal;  /* with many columns: the diagonal alone */
    double *factor; /* [blocks][size][size], lower triangles; diagonal: [blocks][size] */
    bool whole;     /* while it is computed: with more rows, and a block for each pair of logits */
} pv__precondition;
pv_status pv__precondition_new(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__precondition *made);
/* The information of the rows at w without the prior, [params][params]: the conditional information of the labels given
 * the columns. With very many rows, evenly spaced ones are used. */
pv_status pv__information(pv_ctx *ctx, const pv__problem *problem, const double *w, double *information);
/* (matched.c) Matched sets: slopes of columns that are constant within every set with both labels are not estimable.
 * They are set to 0 in w and in draws; estimable [params] is filled, and a warning names the columns. */
PV_MUST_USE pv_status pv__estimable_find(pv_ctx *ctx, const pv__problem *problem, bool *estimable);
PV_MUST_USE pv_status pv__inestimable_clear(pv_ctx *ctx, const pv__problem *problem, double *w,
                                            pv_posterior *posterior);
/* For a classifier: false for those slopes, and for the intercept if there is none. */
bool pv__is_estimable(const pv_classifier *classifier, size_t param);
/* (errors.c) Writes the inverse of L L^T to inverse [n][n]. */
void pv__factor_invert(size_t n, const double *L, double *inverse);
/* (errors.c) Converts the inverse information [P][P] of a linear model to profile's covariance: label masses are fixed,
 * and the prevalence rests on `observed` observations (infinite: known). */
void pv__hold_labels(const pv__problem *problem, size_t P, double observed, double *covariance);
/* (errors.c) If the prior's scale was learned: adds its uncertainty to a covariance of w, given H^-1 [P][P], the
 * inverse curvature; for a sandwich also the effect of shrinkage. */
PV_MUST_USE pv_status pv__add_scale(pv_ctx *ctx, const pv__problem *problem, const double *w, const double *inverse,
                                    bool sandwich, double *covariance);
/* (last_layer.c) Whether draws of a model's posterior can have this many numbers. */
bool pv__posterior_dims_sound(const pv_model *model, size_t dims);
/* (last_layer.c) The posterior over the last layer alone. */
PV_MUST_USE pv_status pv__fit_last_layer(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution,
                                         pv_classifier *classifier);
void pv__precondition_free(pv_ctx *ctx, pv__precondition *made);
void pv__precondition_backward(const pv__precondition *p, const double *u, double *w); /* w = L^-T u */
void pv__precondition_forward(const pv__precondition *p, const double *g, double *u);  /* u = L^-1 g */

typedef struct pv__descent_options {
    double tolerance; /* largest gradient entry, per row */
    int64_t max_iter;
    bool fine;                      /* near the optimum: computes small changes of the value from gradients */
    const pv__precondition *metric; /* NULL: computed at the start */
} pv__descent_options;

/* Minimises from w, in place. If the model is linear, preconditioned by the information of a subsample. */
pv_status pv__descend(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective,
                      const pv__descent_options *options, double *w, double *value, pv_stop *stop, int64_t *iterations);

/* (lbfgs.c) Distance from the optimum, in units of the tolerance: the larger of the largest entry of the gradient dw
 * [params] per row, and of the gradient u, in units of `unit`, in a metric's coordinates (NULL: none) per square root
 * of rows. The first alone would ignore a rare class with a small part of the loss; the second does not depend on
 * scales. */
double pv__steepness(const pv__problem *problem, size_t params, const double *dw, const double *u, double unit);

/* (newton.c) Minimises from solution->w, where solution->information may hold that of a sample of the rows: to the
 * tolerance, or as far as it comes (PV_STOP_NO_PROGRESS). Leaves the information where it has it, and in metric (NULL:
 * not wanted), which the caller frees, the last one. At most two losses at once, of the same rows and model, in the
 * same passes. */
typedef struct pv__newton_goal {
    const pv__problem *problem;
    pv__objective *objective;
    double tolerance;
    pv__precondition *metric;
    pv__solution *solution;
    bool informed; /* the information is wanted of the optimum */
} pv__newton_goal;
bool pv__newton_pays(const pv__problem *problem, const pv__objective *objective);
PV_MUST_USE pv_status pv__newton(pv_ctx *ctx, size_t count, const pv__newton_goal *goals);

/* ---- exact matching of a prevalence: Newton's method on the output biases (match.c) ------------------------------ */

pv_status pv__match_prevalence(pv_ctx *ctx, const pv__problem *problem, bool selection, double *w);
/* The shift [k], with first entry 0, for which sum_n a_n softmax(logits_n + shift) = b [k]; a and b have the same sum.
 * For a shared problem only rows *begin .. *end-1 of logits [n][k] and a [n] are needed. */
pv_status pv__match_shift(pv_ctx *ctx, const pv__problem *problem, const double *logits, const double *a,
                          const double *b, double *shift);
void pv__match_rows(const pv_ctx *ctx, const pv__problem *problem, size_t *begin, size_t *end);

/* Matches a known prevalence with the output biases if the options say so: for networks, and for losses that do not fix
 * it. */
pv_status pv__match_population(pv_ctx *ctx, const pv__problem *problem, pv_classifier *classifier);
/* (precondition.c) An upper bound of the curvature of parameter i's prior; 0 without map. */
double pv__prior_curvature(const pv__problem *problem, size_t i, double w);
/* The strength of the penalty towards a known prevalence in minibatches with the paper's marginals, before biases are
 * matched exactly. */
static inline double pv__known_strength(const pv__problem *problem) {
    double total = 0;
    for (int y = 0; y < problem->targets.classes; y++)
        total += problem->mass[y];
    return 10 * total;
}

/* ---- batches (batches.c) ----------------------------------------------------------------------------------------- */

typedef struct pv__batches pv__batches;

pv_status pv__batches_new(pv_ctx *ctx, const pv__problem *problem, pv__batches **batches);
void pv__batches_uncut(pv__batches *batches); /* views are cut elsewhere, so x of the batches is not filled */
void pv__batches_free(pv_ctx *ctx, pv__batches *batches);
/* One batch: targets, and x [n][inputs]. Valid until the next is taken. */
typedef struct pv__batch {
    pv_targets targets;
    const int32_t *stratum; /* [n], the class or stratum that each row was drawn from; NULL: its label */
    const double *x;
    const size_t *row; /* [n], index in the data */
    uint64_t first;    /* number of rows drawn before, over all batches, which determines the random streams of views */
} pv__batch;
pv__batch pv__batches_next(pv__batches *batches);
/* Images: puts back the last batch, which then comes next, also for a checkpoint. At most once per batch. */
void pv__batches_put_back(pv__batches *batches);
size_t pv__batches_size(const pv__batches *batches);
/* Only rows begin .. end-1 of the batches' x are needed. */
void pv__batches_take(pv__batches *batches, size_t begin, size_t end);
/* The loss of a batch as an estimate of the full data's. Borrows from the problem and the batches. */
pv_batch_loss pv__batches_loss(const pv__batches *batches);
/* The state for a checkpoint; pv__batches_recalled checks and applies a restored state. */
size_t pv__batches_fields(pv__batches *batches, pv_field *field /* [3] */);
pv_status pv__batches_recalled(pv_ctx *ctx, pv__batches *batches);
/* The counts of `optimal`, from the variance within classes of each row's gradient. */
bool pv__batches_optimised(const pv__batches *batches); /* counts are estimated again in each epoch */
pv_status pv__batches_optimise(pv_ctx *ctx, pv__batches *batches, const pv__problem *problem, const double *w,
                               const double *log_q);

/* ---- the gradient of a batch, shared by ranks (gradient.c) ------------------------------------------------------- */

typedef struct pv__gradient pv__gradient;
/* For batches of `size` rows. early: derivatives of a row depend on the log-likelihoods of others. */
pv_status pv__gradient_new(pv_ctx *ctx, const pv__problem *problem, size_t size, bool early, pv__gradient **gradient);
void pv__gradient_free(pv_ctx *ctx, pv__gradient *gradient);
void pv__gradient_rows(const pv__gradient *gradient, size_t *begin, size_t *end); /* the rows that this rank computes */
/* Whether log-likelihoods of other rows arrive with the gradient: before it, they are those of the last step. */
bool pv__gradient_completes(const pv__gradient *gradient);
/* loglik [size][classes] in training step number `step`, from x [size][inputs]; then dw [params] from dloglik, the
 * loss's derivatives. */
pv_status pv__gradient_forward(pv__gradient *gradient, const double *w, int64_t step, const double *x, double *loglik);
pv_status pv__gradient_backward(pv__gradient *gradient, const double *w, const double *x, double *loglik,
                                const double *dloglik, double *dw);

/* The difference between the marginal and the auxiliary network, for pv_auxiliary_follow. */
typedef struct pv__lag {
    double *error, *gain; /* [classes] */
    double least;         /* the smallest gain */
} pv__lag;

/* ---- training on a device (train_device.c) ----------------------------------------------------------------------- */

/* *aboard is NULL if the processor trains. */
pv_status pv__aboard_new(pv_ctx *ctx, const pv__problem *problem, size_t batch, pv__aboard **aboard);
void pv__aboard_free(pv_ctx *ctx, pv__aboard *aboard);
bool pv__aboard_cuts(const pv__aboard *aboard); /* it also cuts views */
/* Upload and download parameters, moments and the marked parameters, [params] each; get: NULL if not wanted. */
pv_status pv__aboard_put(pv_ctx *ctx, pv__aboard *aboard, const double *w, const double *mean, const double *square,
                         const double *marked);
pv_status pv__aboard_get(pv_ctx *ctx, pv__aboard *aboard, double *w, double *mean, double *square, double *marked);
pv_status pv__aboard_mark(pv_ctx *ctx, pv__aboard *aboard);
/* Log-likelihoods of rows as in prediction, with the current parameters on the device. */
pv_status pv__aboard_loglik(pv_ctx *ctx, pv__aboard *aboard, const pv__problem *problem, double *loglik);
/* The loss of its steps. If there is an auxiliary network, its state and that of its follower are uploaded now, and
 * downloaded by pv__aboard_loss_get. pv__aboard_log_q computes log q with the current parameters. */
typedef struct pv__follower pv__follower;
pv_status pv__aboard_loss_put(pv_ctx *ctx, pv__aboard *aboard, const pv_batch_loss *loss, pv_auxiliary *auxiliary,
                              pv__follower *follower, double sparsity);
pv_status pv__aboard_loss_get(pv_ctx *ctx, pv__aboard *aboard);
pv_status pv__aboard_log_q(pv_ctx *ctx, pv__aboard *aboard, double *log_q);
/* Begins the step after `step` others: network, loss, prior and Adam, with learning rates for the parameters and for
 * the auxiliary network's bias. log_q is used by the loss if there is no such network. */
pv_status pv__aboard_step(pv_ctx *ctx, pv__aboard *aboard, const pv__batch *batch, int64_t step, double rate,
                          double bias_rate, const double *log_q);
/* How many steps may be in progress before the first result must be read. */
int64_t pv__aboard_ahead(void);
/* Waits for the oldest step whose result has not been read: the value of its loss and, with an auxiliary network, log q
 * [classes]. */
pv_status pv__aboard_outcome(pv_ctx *ctx, pv__aboard *aboard, double *value, double *log_q);

/* ---- tracking the marginal (marginal_tracker.c) ------------------------------------------------------------------ */

/* Starts with a pass over all rows at w. On failure *follower is partial and must be freed. */
pv_status pv__follower_new(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__follower **follower);
void pv__follower_free(pv_ctx *ctx, pv__follower *follower);
size_t pv__follower_fields(pv__follower *follower, pv_field *field); /* for a checkpoint */
/* [n + 2][classes]: each row's probabilities when last used, their weighted sum, the estimate's noise; and the weights
 * [n]. Borrowed. */
double *pv__follower_state(pv__follower *follower, const double **rho);
/* Moves the auxiliary network's bias according to a batch, at the w of its log-likelihoods, and reports its error;
 * log_q [classes] is the network's output there, log_target [classes] the target. */
pv_status pv__follower_step(pv_ctx *ctx, pv__follower *follower, const pv_batch_design *design, const pv__batch *batch,
                            const double *loglik, const double *log_q, double *log_target, double *bias, pv__lag *lag);

/* ---- reference rows (reference.c) -------------------------------------------------------------------------------- */

/* Rows whose masses are divided among cells. */
typedef struct pv__sampled {
    size_t rows, cells;
    const double *share;    /* [rows][cells] */
    const int32_t *cluster; /* [rows], from 0; NULL: rows are units */
    bool sampling;          /* masses are sampling weights; else repeated rows */
} pv__sampled;
/* The number of independently sampled people for which the cells' proportions would have the same variance (Rao and
 * Scott 1981). */
PV_MUST_USE pv_status pv__effective_units(pv_ctx *ctx, const pv__sampled *sampled, double *units);

/* (reference_cells.c) Scores log r(y)/r(0) of labelled rows, [n][classes - 1]. *cells is NULL if a label has too few
 * rows. */
typedef struct pv__scored_rows {
    size_t n;
    int classes;
    const double *score, *weight; /* weight [n] */
    const int32_t *label;
    const int32_t *cluster; /* [n], from 0; NULL: rows are units */
    bool sampling;
} pv__scored_rows;
PV_MUST_USE pv_status pv__label_cells_new(pv_ctx *ctx, const pv__scored_rows *rows, pv_label_cells **cells);
/* Allocates cells only. */
PV_MUST_USE pv_status pv__label_cells_alloc(pv_ctx *ctx, int classes, pv_label_cells **cells);
void pv__label_cells_free(pv_ctx *ctx, pv_label_cells *cells);
static inline size_t pv__label_cells_numbers(int classes) {
    return (size_t)classes * (2 + 2 * (size_t)classes);
}
/* The cell of a row. */
size_t pv__label_cell_of(const pv_label_cells *cells, const double *score);

/* Loads the low-level module's parameters from an NPZ of VGG-16's first two convolutions into w. */
pv_status pv__pretrained_load(pv_ctx *ctx, const pv_model *model, const char *path, double *w);

/* Compares the checkpoint's facts with these: `first`, additional lines, then the training data and options. Does
 * nothing without a checkpoint. */
pv_status pv__facts(pv_ctx *ctx, const char *first, const pv_dataset *data, const pv_dataset *held,
                    const pv_fit_options *options);
/* Fails, naming the first difference, unless all ranks that share the fit, or fits (model and strata NULL), have the
 * same options and data. */
pv_status pv__fit_alike(pv_ctx *ctx, const pv_dataset *data, const pv_model *model, const pv_stratified *strata,
                        const pv_fit_options *options);
/* Compares the checkpoint's fit with this one; nothing without a checkpoint. held: NULL, or the validation rows. */
pv_status pv__fit_facts(pv_ctx *ctx, const pv_dataset *data, const pv_dataset *held, const pv_model *model,
                        const pv_stratified *strata, const pv_fit_options *options);

/* Store a finished fit in the checkpoint, and restore it; nothing without one. */
pv_status pv__fitted_keep(pv_ctx *ctx, pv_classifier *classifier);
pv_status pv__fitted_recall(pv_ctx *ctx, pv_classifier *classifier, bool *found);

#endif
