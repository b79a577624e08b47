/* src/predict/predict.h: declarations shared by the prediction files. */
#ifndef PV_SRC_PREDICT_H
#define PV_SRC_PREDICT_H

#include "predict/bins.h"
#include "predict/label_counts.h"
#include "predict/target.h"
#include "prevail/predict.h"

/* Allocates the arrays that the options ask for, without filling them. The caller frees. */
PV_MUST_USE pv_status pv__prediction_new(pv_ctx *ctx, size_t rows, int classes, const pv_predict_options *options,
                                         pv_prediction **prediction);

/* The population to which rows are converted: the prevalence of each stratum (1: all rows), and the proportions of the
 * strata, which are used for rows that do not state their stratum. */
typedef struct pv__target {
    int strata;
    const double *prevalence; /* [strata][classes]; NULL: no conversion */
    const double *share;      /* [strata]; NULL for a single stratum */
} pv__target;

/* (adapt.c) Converts rows to that population: stratum [rows], log_marginal [strata][classes] is log p(y|w). loglik and
 * log_p may be the same array. scratch [2][classes] is used with several strata. */
void pv__adapt(const pv__target *to, int classes, size_t rows, const int32_t *stratum, const double *loglik,
               const double *log_marginal, double *scratch, double *log_p);

/* The wanted results over draws in one population, where draw s has prevalences at s x stride (0: the same for all).
 * Each output may be NULL: the mean over the draws, its logarithm without underflow, and the ends of the central
 * interval, which must be given together. */
typedef struct pv__draws_output {
    pv__target to;
    size_t stride;
    const double *given;         /* [draws][rows][classes], log p to use directly instead of `to`; NULL: none */
    double *p, *log_p, *lo, *hi; /* [rows][classes] */
} pv__draws_output;

/* (predicted_strata.c) Allocates the results for strata and sets their names; unknown: with the inferred prevalences.
 */
PV_MUST_USE pv_status pv__predicted_strata_room(pv_ctx *ctx, const pv_strata *strata, int classes, bool unknown,
                                                pv_predicted_strata **made);
/* The same for a model with strata; sets proportions, prevalences and marginals too. */
PV_MUST_USE pv_status pv__predicted_strata_new(pv_ctx *ctx, const pv_classifier *classifier,
                                               const pv_population *population, pv_predicted_strata **made);
void pv__predicted_strata_free(pv_ctx *ctx, pv_predicted_strata *strata); /* NULL is fine */
/* The rows of one stratum; and a prediction of one stratum, from which all are predicted. */
typedef struct pv__stratum_rows {
    int stratum; /* -1: all rows, as if there were no strata */
    size_t n;
    const size_t *row;    /* [n]; NULL: all rows in place */
    bool halved;          /* a single row, given twice with half its weight, because inference needs two */
    const int32_t *label; /* [n]; NULL: none */
} pv__stratum_rows;
typedef struct pv__by_stratum {
    const pv_dataset *data;                            /* rows, weights and strata */
    const int32_t *label;                              /* [rows]; NULL: none */
    const pv_unknown_options *how;                     /* for an unknown population, as the caller set it */
    const double *log_marginal, *stratum_log_marginal; /* [classes], for all rows; [strata][classes] */
    /* prior: replaces the one in `how`, unless NULL. The caller frees *made. */
    pv_status (*predict)(pv_ctx *ctx, void *state, const pv__stratum_rows *rows, const char *prior,
                         pv_prediction **made);
    void *state;
} pv__by_stratum;
/* (each_stratum.c) Fills made, whose strata must be allocated; infers prevalences if they have memory for these. */
PV_MUST_USE pv_status pv__each_stratum(pv_ctx *ctx, const pv__by_stratum *by, pv_prediction *made);
/* Computes the strata's proportions among the rows. */
void pv__strata_shares(const pv_dataset *data, pv_predicted_strata *strata);
/* (unknown_strata.c) Infers one unknown prevalence per stratum. made must be allocated, including its strata. */
PV_MUST_USE pv_status pv__predict_unknown_strata(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                                 const pv_population *population, const pv_predict_options *options,
                                                 pv_prediction *made);
/* (population.c) A population of strata with prevalence [strata][classes], mixed by share [strata]. */
PV_MUST_USE pv_status pv__population_strata(pv_ctx *ctx, pv_population_kind kind, int strata, int classes,
                                            const double *share, const double *prevalence, pv_population **population);
/* (prediction_rules.c) Reject a population or options (NULL: not known yet) that a classifier, or probabilities, do not
 * support. home: the prevalence that the probabilities were made for is known. */
PV_MUST_USE pv_status pv__prediction_check(pv_ctx *ctx, const pv_classifier *classifier,
                                           const pv_population *population, const pv_predict_options *options);
PV_MUST_USE pv_status pv__adjustment_check(pv_ctx *ctx, const pv_probs *probs, bool home,
                                           const pv_population *population, const pv_predict_options *options);
/* The same for evaluations of predictions, with the facts known so far. */
typedef struct pv__evaluated {
    const pv_population *population; /* NULL: not known, or of no importance */
    bool ensemble, importance;       /* of an ensemble; of its columns */
    bool interval, images;           /* predictions have intervals; the model is of images */
    bool rows, hard, strata;         /* rows are known; each has one label; they, or predictions, have strata */
    bool stated, stated_for; /* metrics are not for the rows as they are; but for the predictions' population, */
    bool prevalence;         /* whose prevalence is known */
} pv__evaluated;
PV_MUST_USE pv_status pv__evaluation_check(pv_ctx *ctx, const pv__evaluated *evaluated);
/* (predict.c) Like pv_predict, but uses the classifier as given and never replaces it by its last layer. */
PV_MUST_USE pv_status pv__predict_plain(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                        const pv_population *population, const pv_predict_options *options,
                                        pv_prediction **prediction);

/* Fills the given outputs in one pass over the draws. level: of the intervals; weight [draws] sums to 1; NULL:
 * equal. */
PV_MUST_USE pv_status pv__predict_draws(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                        double level, const double *weight, const pv__draws_output *output,
                                        size_t outputs);

/* (draws_device.c) Whether a device has kernels for a classifier's draws and these rows, and is requested or pays.
 */
bool pv__draws_fit(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data);
/* The same on a device, if there is one that supports it; otherwise *done is false. */
PV_MUST_USE pv_status pv__predict_draws_aboard(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                               double level, const double *weight, const pv__draws_output *output,
                                               size_t outputs, bool *done);

/* (each_draw.c) What to do for each draw of w if that needs all rows: visit gets their log p(y|x,w), loglik
 * [rows][classes], and `own`, a zeroed struct of `size` bytes per thread, which open initialises and close clears even
 * if open failed. */
typedef struct pv__visitor {
    void *state;
    size_t size;
    pv_status (*open)(pv_ctx *ctx, void *state, void *own);
    pv_status (*visit)(pv_ctx *ctx, void *state, void *own, size_t draw, const double *loglik);
    void (*close)(pv_ctx *ctx, void *own);
    bool blind; /* visit does not need log-likelihoods: loglik is NULL */
} pv__visitor;
PV_MUST_USE pv_status pv__each_draw(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                    const pv__visitor *visitor);

/* One draw of pi for each draw of w. The caller frees pi and weight. */
typedef struct pv__drawn_pi {
    double *pi;           /* [draws][classes] */
    const double *plugin; /* [draws][classes], inside pi: replaces pi in predictions (vb); NULL: use pi */
    double *weight;       /* [draws], sum 1, with the joint update; NULL: equal */
    double effective;
} pv__drawn_pi;
/* Computes the draws and a summary of them. update: the rows also update w. */
PV_MUST_USE pv_status pv__unknown_draws(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                        const int32_t *label, const pv_unknown_options *options, bool update,
                                        pv__drawn_pi *drawn, pv_unknown_prevalence **inferred);

/* ---- the joint update of q(w) (joint.c) -------------------------------------------------------------------------- */

/* Sum over rows of the factors that the mixture leaves out of log q_n, and of log r_n(y_n) for known labels. */
double pv__row_factors(const pv_unknown_sample *sample);
/* log p(X*|w) minus that, with pi integrated out, from a solver that has run. */
double pv__solver_evidence(pv_ctx *ctx, const pv__solver *solver, pv__mixture *mixture);
/* Turns evidence [draws], log p(X*|w_s), into weights with sum 1. *effective: the effective number of draws. */
PV_MUST_USE pv_status pv__joint_weights(pv_ctx *ctx, size_t draws, double *evidence, double *effective);
/* Weights of the draws if the label proportions of the rows are known. The caller frees *weight. */
PV_MUST_USE pv_status pv__joint_shares(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                       const double *prevalence, double **weight, double *effective);
/* (predict.c) Predictions for known label counts, without draws: log_p [n][classes]. */
PV_MUST_USE pv_status pv__predict_counts(pv_ctx *ctx, const pv_population *population, char *const *labels,
                                         const pv_unknown_sample *sample, double *log_p);
/* Known label counts: log_p [draws][rows][classes] and log evidence [draws]. The caller frees both. */
PV_MUST_USE pv_status pv__label_counts_draws(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                             const size_t *count, double **log_p, double **evidence);

/* (predict_last_layer.c) Presents a classifier with a posterior over its last layer, and its rows, as a model of that
 * layer alone. The caller clears, also on failure. */
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
 * covariance of its parameters; widened to include the predicted risk if that differs. more: made already has intervals
 * from another source of error, which are combined with these. */
PV_MUST_USE pv_status pv__risk_intervals(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                         double level, bool more, const double *log_p, pv_prediction *made);

/* Final checks of probabilities (probability_check.c): the condition on a row of [n][classes]. */
typedef enum pv__gate {
    PV__GATE_LOG,    /* logarithms, normalised or not: below infinity, at least one finite */
    PV__GATE_SHARES, /* 0 to 1, with sum 1 */
    PV__GATE_BOUNDS  /* 0 to 1 */
} pv__gate;
/* The first row that violates the condition; n if there is none. */
size_t pv__gate_stops(pv__gate gate, size_t n, int classes, const double *value);
/* Fails if a row violates the condition; value NULL is fine. */
PV_MUST_USE pv_status pv__gate_pass(pv_ctx *ctx, pv__gate gate, size_t n, int classes, const double *value);
/* The same for a classifier's predictions of data->rows, with a message that explains the cause if possible. */
PV_MUST_USE pv_status pv__gate_predicted(pv_ctx *ctx, pv__gate gate, const pv_classifier *classifier,
                                         const pv_dataset *data, const double *value);

/* Checks everything of a sample except its log-likelihoods: size, labels, weights and options. */
PV_MUST_USE pv_status pv__unknown_check(pv_ctx *ctx, const pv_unknown_sample *sample,
                                        const pv_unknown_options *options);
PV_MUST_USE pv_status pv__unknown_new(pv_ctx *ctx, int classes, const pv_unknown_options *options,
                                      pv_unknown_prevalence **prevalence);
/* Whether reference rows are used: two labels, method bins, and a prior that does not fix the prevalence. */
PV_MUST_USE pv_status pv__unknown_is_calibrated(pv_ctx *ctx, char *const *labels, int classes,
                                                const pv_unknown_options *options, bool *calibrated);
/* Resolves the method: bins without reference rows becomes exact. */
pv_unknown_options pv__unknown_resolve(const pv_unknown_options *options, bool calibrated);
/* [classes], p(y|w) of the true population. */
void pv__marginal_of(int classes, const pv_unknown_sample *sample, double *marginal);

/* ---- test of label shift (label_shift_test.c) -------------------------------------------------------------------- */

PV_MUST_USE pv_status pv__shift_test(pv_ctx *ctx, const pv__bins *bins, int64_t seed,
                                     pv_unknown_prevalence *prevalence);
/* Tests the columns of rows whose label is unknown. */
PV_MUST_USE pv_status pv__shift_columns(pv_ctx *ctx, const pv_dataset *data, const int32_t *label,
                                        const pv_reference *reference, const pv_unknown_prevalence *prevalence,
                                        pv_shift_check *check);
void pv__shift_together(pv_shift_check *check);

/* ---- reading.c --------------------------------------------------------------------------------------------------- */

/* Estimates how reference rows calibrate the ratios; false if they cannot. And the error of log f_1/f_0 at a ratio. */
bool pv__reading_of(const pv_reference *reference, pv_reading *reading);
double pv__reading_error(const pv_reading *reading, double score);
/* For two labels, [n][2] each; prior: the log odds of the population's prevalence. level 0, and lo and hi NULL: no
 * intervals. */
void pv__reading_predict(const pv_reading *reading, const pv_unknown_sample *sample, double prior, double level,
                         double *log_p, double *p, double *lo, double *hi);

#endif
