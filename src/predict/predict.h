/* src/predict/predict.h: what the prediction files share. */
#ifndef PV_SRC_PREDICT_H
#define PV_SRC_PREDICT_H

#include "predict/bins.h"
#include "predict/label_counts.h"
#include "predict/target.h"
#include "prevail/predict.h"

/* Room for what the options ask for; nothing is set. The caller frees. */
PV_MUST_USE pv_status pv__prediction_new(pv_ctx *ctx, size_t rows, int classes, const pv_predict_options *options,
                                         pv_prediction **prediction);

/* The population that rows are moved to: the prevalence of each of its strata (1: of all rows), and their shares, by
 * which a row that does not name its stratum is predicted. */
typedef struct pv__target {
    int strata;
    const double *prevalence; /* [strata][classes]; NULL: rows stay as they are */
    const double *share;      /* [strata]; of one stratum NULL */
} pv__target;

/* (adapt.c) Rows moved there: stratum [rows], log_marginal [strata][classes] is log p(y|w). In place is fine.
 * scratch [2][classes] is for several strata. */
void pv__adapt(const pv__target *to, int classes, size_t rows, const int32_t *stratum, const double *loglik,
               const double *log_marginal, double *scratch, double *log_p);

/* What is wanted of the draws in one population, that of draw s with prevalences at s x stride (0: one for all). Each
 * output may be NULL: the mean over the draws, its logarithm without underflow, and the ends of the central interval,
 * which come together. */
typedef struct pv__draws_output {
    pv__target to;
    size_t stride;
    const double *given;         /* [draws][rows][classes], log p as it is, instead of a target; NULL: no */
    double *p, *log_p, *lo, *hi; /* [rows][classes] */
} pv__draws_output;

/* (strata.c) Room for what a model with strata says of them; names, shares, prevalences and marginals are set. */
PV_MUST_USE pv_status pv__predicted_strata_new(pv_ctx *ctx, const pv_classifier *classifier,
                                               const pv_population *population, pv_predicted_strata **made);
void pv__predicted_strata_free(pv_ctx *ctx, pv_predicted_strata *strata); /* NULL is fine */
/* (unknown_strata.c) One unknown prevalence for each stratum. made has room, and its strata. */
PV_MUST_USE pv_status pv__predict_unknown_strata(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                                 const pv_population *population, const pv_predict_options *options,
                                                 pv_prediction *made);
/* Its parts: whether a stratum whose own rows told `found` borrows; the prior that it borrows, as `dirichlet` has it,
 * by the log marginal of the stratum and the shift of all strata alike, [classes] both; the strata's shares of the
 * rows; prevalences as inferred, and of all rows together the mean of the strata's, which know nothing of each other.
 */
bool pv__strata_may_borrow(const pv_unknown_options *how, const pv_unknown_prevalence *found);
PV_MUST_USE pv_status pv__strata_borrow(pv_ctx *ctx, size_t classes, const double *marginal, const double *shift,
                                        char **text);
void pv__strata_shares(const pv_dataset *data, pv_predicted_strata *strata);
void pv__strata_join(pv_predicted_strata *strata, pv_unknown_prevalence *all);
/* (population.c) Strata each at its own of prevalence [strata][classes], mixed by share [strata]. */
PV_MUST_USE pv_status pv__population_strata(pv_ctx *ctx, pv_population_kind kind, int strata, int classes,
                                            const double *share, const double *prevalence, pv_population **population);
/* (predict.c) As pv_predict, of a classifier taken as it is. */
PV_MUST_USE pv_status pv__predict_plain(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                        const pv_population *population, const pv_predict_options *options,
                                        pv_prediction **prediction);

/* Fills the outputs, those that want nothing left alone, in one pass over the draws. level: of the intervals; weight
 * [draws], sum 1: of the draws, NULL: all alike. */
PV_MUST_USE pv_status pv__predict_draws(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                        double level, const double *weight, const pv__draws_output *output,
                                        size_t outputs);

/* (draws_device.c) Whether a device has kernels for a classifier's draws at these rows, and that pays or was asked for.
 */
bool pv__draws_fit(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data);
/* The same on a device, where there is one for it; *done false: not so. */
PV_MUST_USE pv_status pv__predict_draws_aboard(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                               double level, const double *weight, const pv__draws_output *output,
                                               size_t outputs, bool *done);

/* (each_draw.c) What to do at each draw of w, where that takes all rows: visit has their log p(y|x,w), loglik
 * [rows][classes], and a struct of its thread, of so many bytes, that open makes of zeros and close clears, whatever
 * open returned. */
typedef struct pv__visitor {
    void *state;
    size_t size;
    pv_status (*open)(pv_ctx *ctx, void *state, void *own);
    pv_status (*visit)(pv_ctx *ctx, void *state, void *own, size_t draw, const double *loglik);
    void (*close)(pv_ctx *ctx, void *own);
    bool blind; /* visit needs no log-likelihoods: loglik is NULL */
} pv__visitor;
PV_MUST_USE pv_status pv__each_draw(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                    const pv__visitor *visitor);

/* One draw of pi for each draw of w. The caller frees pi and weight. */
typedef struct pv__drawn_pi {
    double *pi;           /* [draws][classes] */
    const double *plugin; /* [draws][classes], inside of pi: what stands for it in predictions (vb); NULL: itself */
    double *weight;       /* [draws], sum 1, with the joint update; NULL: all alike */
    double effective;
} pv__drawn_pi;
/* The draws and what they say together. update: the rows inform w too. */
PV_MUST_USE pv_status pv__unknown_draws(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                        const int32_t *label, const pv_unknown_options *options, bool update,
                                        pv__drawn_pi *drawn, pv_unknown_prevalence **inferred);

/* ---- the joint update of q(w) (joint.c) -------------------------------------------------------------------------- */

/* Sum over rows of what the mixture has left out of log q_n, and of log r_n(y_n) where labels are known. */
double pv__row_factors(const pv_unknown_sample *sample);
/* log p(X*|w) less that, with pi integrated out, of a solver that has run. */
double pv__solver_evidence(pv_ctx *ctx, const pv__solver *solver, pv__mixture *mixture);
/* evidence [draws], log p(X*|w_s), becomes weights of sum 1. *effective: how many draws count. */
PV_MUST_USE pv_status pv__joint_weights(pv_ctx *ctx, size_t draws, double *evidence, double *effective);
/* Weights of the draws where the rows' label shares are known. The caller frees *weight. */
PV_MUST_USE pv_status pv__joint_shares(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                       const double *prevalence, double **weight, double *effective);
/* (predict.c) Rows of known label counts, without draws: log_p [n][classes]. */
PV_MUST_USE pv_status pv__predict_counts(pv_ctx *ctx, const pv_population *population, char *const *labels,
                                         const pv_unknown_sample *sample, double *log_p);
/* Known label counts: log_p [draws][rows][classes] and log evidence [draws]. The caller frees both. */
PV_MUST_USE pv_status pv__label_counts_draws(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                             const size_t *count, double **log_p, double **evidence);

/* (predict_last_layer.c) A classifier with a posterior of its last layer, and rows, as that layer sees them. The caller
 * clears, whatever was returned. */
typedef struct pv__head_view {
    pv_classifier classifier;
    pv_dataset data;
    pv_model *model;
    double *hidden; /* [rows][features] */
} pv__head_view;
PV_MUST_USE pv_status pv__head_of(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                  pv__head_view *view);
void pv__head_clear(pv_ctx *ctx, pv__head_view *view);

/* (risks.c) The interval of each risk from log_p [rows][classes], the risks at the classifier's centre, and the
 * covariance of its parameters; widened to hold the risk predicted, where that is another. more: made has intervals,
 * of another error, and gets those of both. */
PV_MUST_USE pv_status pv__risk_intervals(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                         double level, bool more, const double *log_p, pv_prediction *made);

/* The gate (probability_check.c): what a row of [n][classes] must be. */
typedef enum pv__gate {
    PV__GATE_LOG,    /* logarithms, normalised or not: below infinity, one finite at least */
    PV__GATE_SHARES, /* 0 to 1, and they add up to 1 */
    PV__GATE_BOUNDS  /* 0 to 1 */
} pv__gate;
/* The first row that does not pass; n: all do. */
size_t pv__gate_stops(pv__gate gate, size_t n, int classes, const double *value);
/* Refuses the first that does not; value NULL is fine. */
PV_MUST_USE pv_status pv__gate_pass(pv_ctx *ctx, pv__gate gate, size_t n, int classes, const double *value);
/* The same of what a classifier predicts for data->rows, with what there is to say of why. */
PV_MUST_USE pv_status pv__gate_predicted(pv_ctx *ctx, pv__gate gate, const pv_classifier *classifier,
                                         const pv_dataset *data, const double *value);

/* Of a sample all but its log-likelihoods: size, labels, weights and the options. */
PV_MUST_USE pv_status pv__unknown_check(pv_ctx *ctx, const pv_unknown_sample *sample,
                                        const pv_unknown_options *options);
PV_MUST_USE pv_status pv__unknown_new(pv_ctx *ctx, int classes, const pv_unknown_options *options,
                                      pv_unknown_prevalence **prevalence);
/* Whether reference rows have a say: two labels, bins, and a prior that leaves something open. */
PV_MUST_USE pv_status pv__unknown_is_calibrated(pv_ctx *ctx, char *const *labels, int classes,
                                                const pv_unknown_options *options, bool *calibrated);
/* The method that they come to: bins needs reference rows that have a say, and is exact without. */
pv_unknown_options pv__unknown_resolve(const pv_unknown_options *options, bool calibrated);
/* [classes], p(y|w) of the true population. */
void pv__marginal_of(int classes, const pv_unknown_sample *sample, double *marginal);

/* ---- label shift itself (label_shift_test.c)
 * -------------------------------------------------------------------------------- */

PV_MUST_USE pv_status pv__shift_test(pv_ctx *ctx, const pv__bins *bins, int64_t seed,
                                     pv_unknown_prevalence *prevalence);
/* Of the columns of rows whose label is not known. */
PV_MUST_USE pv_status pv__shift_columns(pv_ctx *ctx, const pv_dataset *data, const int32_t *label,
                                        const pv_reference *reference, const pv_unknown_prevalence *prevalence,
                                        pv_shift_check *check);
void pv__shift_together(pv_shift_check *check);

/* ---- reading.c --------------------------------------------------------------------------------------------------- */

/* How reference rows read the ratios; false: they do not tell. And the error of log f_1/f_0 at a ratio. */
bool pv__reading_of(const pv_reference *reference, pv_reading *reading);
double pv__reading_error(const pv_reading *reading, double score);
/* Two labels, [n][2] each; prior: the log odds of the population's prevalence. level 0, and lo and hi NULL: none. */
void pv__reading_predict(const pv_reading *reading, const pv_unknown_sample *sample, double prior, double level,
                         double *log_p, double *p, double *lo, double *hi);

#endif
