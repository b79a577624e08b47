/* prevail/infer.h: from data to a trained classifier. */
#ifndef PREVAIL_INFER_H
#define PREVAIL_INFER_H

#include "prevail/plan.h"
#include "prevail/posterior.h"
#include "prevail/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- course of minibatch training -------------------------------------------------------------------------------- */

/* State at the end of an epoch. */
typedef struct pv_trace_row {
    int64_t epoch, step; /* from 1 */
    double loss; /* estimate of the full-data loss from batches, without the prior, smoothed over about 100 steps */
    double rate; /* learning rate of the last step */
    double validation; /* negative log-likelihood of the validation rows; NaN: no validation rows */
    double speed;      /* rows per second during the steps only */
} pv_trace_row;

typedef struct pv_trace {
    size_t count;
    int classes;
    pv_trace_row *row; /* [count] */
    double *used; /* [count][classes], p(y|w) as used in the loss: the auxiliary network's, or the stated prevalence for
                    profile and iw; NaN for plain */
    double *exact; /* [count][classes], plug-in estimate of p(y|w) from all rows, as used for predictions */
} pv_trace;

/* What the weighted estimate estimates, in words. */
#define PV_WEIGHTED_ESTIMAND "the best linear predictor of the log odds in the population"

/* ---- two estimates and their combination ---------------------------------------------------------------------------
 * For linear models with a stated prevalence (docs/method.md, section 15). The weighted estimate is the best linear
 * predictor in the population whatever the shape of the risk; the efficient one is better if the linear model is
 * correct. Parameters are those of pv_classifier.w.
 */
typedef struct pv_combination {
    int use;                      /* pv_estimate: which of the estimates w is */
    double *weighted, *efficient; /* [params]; a loss with a single estimate sets weighted only */
    double *covariance;           /* [params][params], sandwich covariance of the weighted estimate, by unit */
    double *efficient_covariance; /* [params][params] */
    double *df; /* [params], Satterthwaite degrees of freedom of a coefficient's interval on the scale of the table */
    double df_risk;   /* of a risk's interval */
    double units;     /* number of independently sampled units */
    int64_t controls; /* number of control variates from a population sample used by the weighted estimate; 0: none */
    size_t terms, slopes;
    int32_t *term;             /* [slopes], term of each slope */
    double *share;             /* [terms], share of the weighted estimate in that term: 0 to 1 */
    double statistic, p_value; /* Hausman's test that the slopes of the two estimates agree; chi-square with rank
                                  degrees of freedom */
    int64_t rank;              /* degrees of freedom; 0: not tested */
    double *tail; /* [slopes], kurtosis of each column in the population: 3 for a normal column; negative for columns of
                        two values */
    double *strata; /* [3], score test that strata have no intercepts of their own: chi-square, df (0: not tested), p */
} pv_combination;

/* Whether the test finds a difference of the two estimates at level 0.05. */
bool pv_combination_differs(const pv_combination *combination);

/* ---- the trained classifier ----------------------------------------------------------------------------------------
 * All that is needed to use and assess a fit. Fields are read-only.
 */
/* Distribution of the log-likelihood ratios log p(1|x)/p(1) - log p(0|x)/p(0) of a model with two labels among rows of
 * each label that were not used to fit it. It is used to estimate an unknown prevalence with an interval that includes
 * the model's uncertainty. Means and variances of the columns by label show whether other rows can be a mixture of the
 * two labels at all. */
enum {
    PV_REFERENCE_POINTS = 1000,
    PV_REFERENCE_COLUMNS = 1000,
    PV_REFERENCE_FOLDS = 10,
    PV_REFERENCE_LABELS = 10 /* cells are not used with more labels */
};
#define PV_REFERENCE_SCORE 60.0 /* scores are clipped to +- this value */
/* For three labels and more: people by the label that their row's ratios favour, each split in two by confidence. */
typedef struct pv_label_cells {
    int classes;
    double *cut;   /* [classes], thresholds of the ratios r(y)/sum r: rows above are in the label's second cell; 1: no
                        second cell */
    double *units; /* [classes], as in pv_reference */
    double *known; /* [classes][2 classes], number of people of each label in each cell */
} pv_label_cells;
typedef struct pv_reference {
    size_t count[2]; /* number of points of each label */
    double units[2]; /* effective number of independently sampled rows of each label */
    double *score;   /* [count[0] + count[1]], those of label 0 first; in increasing order within each */
    double *weight;  /* the same, > 0: number of rows at each point */
    size_t folds;    /* number of models that scored the points, each those of its fold; 0: the model itself did */
    size_t params;
    double *
        fold; /* [folds][params]: intercept and slopes of each model's score; with cells, of each label but the first */
    size_t columns; /* 0: none */
    double *column; /* [4][columns], as the model sees them: means of label 0 and label 1, variances of label 0 and
                       label 1 */
    pv_label_cells *cells; /* three labels and more: the cells; only the folds are set besides. NULL: two labels */
} pv_reference;

/* Makes a reference from labelled rows [n]; weight NULL: all 1 (weights are repeat counts). Equal scores are merged
 * into one point, and neighbouring ones if a label has more than PV_REFERENCE_POINTS. The caller frees *reference. */
PV_MUST_USE pv_status pv_reference_new(pv_ctx *ctx, size_t n, const double *score, const int32_t *label,
                                       const double *weight, pv_reference **reference);
void pv_reference_free(pv_ctx *ctx, pv_reference *reference); /* NULL is allowed */

/* The mixture of `model=auto` (docs/method.md, section 17). A gain is the mean log score for people of the population
 * whom the model was not fitted to (cross-validation), minus that of the prevalence alone, in nats; NaN: the fit found
 * no optimum.
 */
typedef struct pv_candidate {
    char *name;      /* "linear normal:0.3" */
    double weight;   /* in the mixture; 0: left out */
    double gain, se; /* se: standard error by unit */
    double lead,
        lead_se; /* gain of the mixture minus that of the candidate, and its standard error; NaN if read from a file */
} pv_candidate;
typedef struct pv_stacked {
    size_t count;
    pv_candidate *candidate; /* [count] */
    double gain, se;         /* of the mixture, with weights estimated without the predicted rows */
    double guess;            /* mean log score of the prevalence alone */
    double cap;              /* bound on the members' log-likelihood ratios */
    int64_t folds, repeats;  /* of the validation that gains come from; 1 fold: a hold-out sample */
} pv_stacked;

/* How `model=trees` was fitted. A loss is the weighted mean over rows not used for fitting; NaN: not computed.
 */
typedef struct pv_boosted {
    int64_t depth, rounds;
    double rate;
    bool chosen;   /* the number of rounds was chosen by the loss of held-out rows; else it was stated */
    int64_t most;  /* number of rounds tried */
    double loss;   /* with the chosen number of rounds */
    double guess;  /* of the label frequencies alone */
    int64_t folds; /* number of folds of the cross-validation; 1: a hold-out sample; 0: none */
} pv_boosted;

/* Shrinkage of the coefficients of an additive model towards 0 (docs/method.md, section 19). Group 0 contains the
 * slopes; the others are categories of three levels or more, and the nonlinear parts of numeric columns. */
typedef struct pv_smoothing {
    size_t count;
    int32_t *column; /* [count], source in the schema that the group belongs to; -1: group 0 */
    double *scale;   /* [count], standard deviation of the prior: of slopes of standardised columns, of levels, or of a
                        curve */
    double *edf;     /* [count], effective degrees of freedom, of a curve without its slope; NaN: unknown */
} pv_smoothing;

/* Contribution of a numeric column to the log odds of a label at several values over its training range, minus its
 * average contribution. lo and hi are pointwise intervals, NaN if the model has no standard errors. */
typedef struct pv_effect {
    const char *column; /* borrowed from the classifier */
    size_t points;
    double *x, *value, *lo, *hi; /* [points] */
} pv_effect;

enum { PV_SEPARATED_NOT = 0, PV_SEPARATED_TOGETHER = -1 };
typedef struct pv_classifier {
    pv_schema *schema; /* of the data: target, labels, columns */
    pv_model *model;
    double *w; /* [pv_model_params] */
    pv_loss loss;
    pv_marginal marginal;
    double *prevalence;   /* [classes], stated; NULL if none was stated (plain) */
    double prevalence_n;  /* number of pseudo-observations; INFINITY: known exactly */
    bool half_counts;     /* Jeffreys' half counts were added to it; not in model files, whose record has the options */
    double *design;       /* [classes], label shares of the training data */
    double *log_marginal; /* [classes], log p(y|w) of the model's likelihood; for plain, log design */
    size_t rows;
    size_t dropped;         /* number of rows left out because of missing cells */
    size_t validation_rows; /* number of held-out rows, which are not in rows. Not in model files */
    double validation;      /* score of the validation rows at w; NaN: no validation rows. Not in model files */
    int64_t best_epoch;     /* with patience: the epoch that w was taken from; else 0. Not in model files */
    uint64_t data_hash;
    char *source;        /* name of the data */
    char *sample_source; /* name of the population sample; NULL: none */
    uint64_t sample_hash;
    size_t sample_rows;
    bool estimated;    /* no prevalence was stated: `prevalence` was estimated from the model and the sample */
    int64_t separated; /* linear, ordinal: whether columns separate the labels. A column (from 1, encoded): it does so
                          perfectly; PV_SEPARATED_TOGETHER: all columns together do; PV_SEPARATED_TOGETHER - column:
                          that column does for some rows (quasi-complete separation); PV_SEPARATED_NOT: none of these */
    pv_stop stop;
    int64_t iterations;
    double passes;     /* full batch: passes over the rows, including those for standard errors */
    double loss_value; /* negative log posterior (map) or loss (ml) at w */
    double seconds;    /* duration of the fit; not in model files, so that the same seed gives the same bytes */
    int64_t seed;
    pv_posterior *posterior;   /* for laplace, vi and hmc; NULL for map and ml. w is then the maximum it started from */
    double *draw_log_marginal; /* [posterior->count][classes]: log p(y|w) at each draw */
    pv_combination *combination; /* NULL: not a linear model, or no prevalence was stated */
    double *standard_error; /* [pv_model_params], of the coefficients on the scale of the table; NaN: unknown. NULL if
                          there are none */
    double *centre;         /* [pv_model_params]: centre of intervals; NULL: w */
    double *spread;         /* [pv_model_params][pv_model_params], covariance of the parameters; NULL: unknown */
    double spread_df;       /* degrees of freedom of intervals of risks; INFINITY: normal */
    const char *no_errors;  /* why there are no standard errors; NULL: not wanted, or a posterior. Not in model files */
    pv_trace *trace;        /* minibatch training, if requested; not in model files */
    pv_stratified
        *stratified; /* NULL: no strata. With strata, prevalence, design and log_marginal are those of the mixture */
    char *record; /* JSON object: version, command line, every option with its value and whether that is the default */
    pv_reference
        *reference; /* linear models: the training rows' ratios, each by a model fitted without the row; else NULL */
    double *covariance;      /* [pv_model_params][pv_model_params], of the coefficients; its diagonal is standard_error
                                    squared. NULL: unknown. Not in model files */
    pv_stacked *stacked;     /* `model=auto`; NULL for others */
    pv_boosted *boosted;     /* `model=trees`; NULL for others */
    pv_smoothing *smoothing; /* `model=additive`; NULL for others */
    double pass_seconds;     /* full batch: time of the passes over the matrix; not in model files */
    double *averaging; /* [classes - 1]: linear models with few rows: pv_predict averages risks over the uncertainty of
                          the parameters and adds these constants to the logits. NULL: risks are those at w */
    pv_label_error
        *label_error; /* errors of the labels in training; the model's labels are the true ones. NULL: none */
} pv_classifier;

/* Accessors, for callers that do not know the layout (docs/architecture.md). Results are borrowed. Texts and numbers of
 * a fit are found by a fact; the text of a numeric fact is NULL, the number of a text fact NaN. */
#define PV_CLASSIFIER_FACT_LIST(X)                                                                                     \
    X(OUTCOME, "outcome")                                                                                              \
    X(WEIGHTS, "weights") /* empty: none */                                                                            \
    X(SOURCE, "source")                                                                                                \
    X(RECORD, "record") /* JSON */                                                                                     \
    X(LOSS, "loss")                                                                                                    \
    X(MARGINAL, "marginal")                                                                                            \
    X(MODEL, "model")                                                                                                  \
    X(STOP, "stop")                                                                                                    \
    X(POSTERIOR, "posterior") /* NULL: none */                                                                         \
    X(ROWS, "rows")                                                                                                    \
    X(DROPPED, "dropped")                                                                                              \
    X(ITERATIONS, "iterations")                                                                                        \
    X(SEED, "seed")                                                                                                    \
    X(LOSS_VALUE, "loss_value")                                                                                        \
    X(PREVALENCE_N, "prevalence_n") /* infinite: known exactly */                                                      \
    X(SECONDS, "seconds")
typedef enum pv_classifier_fact {
#define PV_CLASSIFIER_FACT_ENUM(name, word) PV_CLASSIFIER_##name,
    PV_CLASSIFIER_FACT_LIST(PV_CLASSIFIER_FACT_ENUM)
#undef PV_CLASSIFIER_FACT_ENUM
} pv_classifier_fact;

/* Whether it determines odds ratios only: fitted to matched sets, without a prevalence or a population sample. */
bool pv_classifier_is_relative(const pv_classifier *classifier);

const char *pv_classifier_text(const pv_classifier *classifier, pv_classifier_fact fact);
double pv_classifier_number(const pv_classifier *classifier, pv_classifier_fact fact);
int pv_classifier_classes(const pv_classifier *classifier);
const char *pv_classifier_label(const pv_classifier *classifier, int index); /* NULL if out of range */
char *const *pv_classifier_labels(const pv_classifier *classifier);          /* [classes] */
/* Number of columns of the encoded matrix, without an offset. */
int pv_classifier_features(const pv_classifier *classifier);
const char *pv_classifier_feature(const pv_classifier *classifier,
                                  int index);                      /* NULL if out of range, and for images */
const char *pv_classifier_offset(const pv_classifier *classifier); /* name of the offset column; NULL: none */
size_t pv_classifier_columns(const pv_classifier *classifier);     /* number of table columns; 0 for images */
const char *pv_classifier_column(const pv_classifier *classifier, size_t index,
                                 pv_column_type *type); /* NULL if out of range */
/* The reference level of the index-th categorical feature; column, unless NULL, gets its name. NULL if out of range. */
const char *pv_classifier_reference(const pv_classifier *classifier, size_t index, const char **column);
/* The index-th column that defines the strata; feature, unless NULL, gets whether it is also a feature. NULL if out of
 * range.
 */
const char *pv_classifier_stratum_column(const pv_classifier *classifier, size_t index, bool *feature);
/* Whether a group of pv_smoothing is the nonlinear part of a numeric column, and that column's effect on the log odds
 * of a label against the first; label is counted from 1. The caller frees *effect. */
bool pv_classifier_has_effect(const pv_classifier *classifier, size_t group);
PV_MUST_USE pv_status pv_classifier_effect(pv_ctx *ctx, const pv_classifier *classifier, size_t group, int label,
                                           double level, pv_effect **effect);
void pv_effect_free(pv_ctx *ctx, pv_effect *effect); /* NULL is allowed */
/* Whether a feature belongs to a nonlinear part, so that its coefficient cannot be interpreted alone. */
bool pv_classifier_is_curve(const pv_classifier *classifier, int feature);
/* For `model=auto`: name of the index-th candidate, with its weight, gain and standard error as in pv_candidate, each
 * of which may be NULL; the index after the last is the mixture itself. NULL if out of range, and for other models. */
const char *pv_classifier_candidate(const pv_classifier *classifier, size_t index, double *weight, double *gain,
                                    double *se);
/* Estimates the gain of `model=auto` over a linear model fitted with default options, `fitted` to these rows: the
 * difference of mean log scores in the population, in nats per person, by cross-validation, with its standard error.
 * NaN for other fits, and if rows times features are too many to compute it quickly. The mixture consists only of
 * candidates that are fitted in milliseconds: linear models and small networks. */
typedef struct pv_outlook {
    double lead, se;
} pv_outlook;
PV_MUST_USE pv_status pv_fit_outlook(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                     const pv_fit_options *options, const pv_classifier *fitted, pv_outlook *outlook);
const pv_schema *pv_classifier_schema(const pv_classifier *classifier); /* for pv_dataset_read, pv_schema_apply */
const pv_model *pv_classifier_model(const pv_classifier *classifier);
const double *pv_classifier_draws(const pv_classifier *classifier, size_t *count); /* [count][pv_model_params] */
const double *pv_classifier_prevalence(const pv_classifier *classifier);           /* [classes]; NULL: none */
const double *pv_classifier_design(const pv_classifier *classifier);               /* [classes] */

/* Does all of pv_fit that precedes the passes over the rows: completes the options, checks them against each other and
 * the data, and describes the fit. Fails as pv_fit would. The caller frees *plan with pv_plan_free. */
PV_MUST_USE pv_status pv_fit_plan(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                  const pv_fit_options *options, pv_plan **plan);

/* Fits a classifier. The schema is copied; name and hash of the data are stored. The caller frees *classifier. Stopping
 * before convergence is not an error: see classifier->stop. Groups of the data stay on one side of the validation
 * split. Refused with PV_ERR_USAGE or PV_ERR_INPUT before any work: inconsistent options; data that do not match the
 * schema; a class with a prevalence but no rows; ml on separable data. */
PV_MUST_USE pv_status pv_fit(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                             const pv_fit_options *options, pv_classifier **classifier);
void pv_classifier_free(pv_ctx *ctx, pv_classifier *classifier); /* NULL is allowed */
/* Fits the data of a file like the command prevail fit: pv_roles_complete, pv_table_read, pv_schema_learn, pv_fit.
 * settings from pv_fit_settings_new. The caller frees *classifier. */
PV_MUST_USE pv_status pv_learn(pv_ctx *ctx, const char *path, const pv_settings *settings, pv_classifier **classifier);
/* The same for a table that was made in memory, or read with the settings' pv_roles_of in its options. For images the
 * target or the votes must be named. */
PV_MUST_USE pv_status pv_learn_table(pv_ctx *ctx, const pv_table *table, const pv_settings *settings,
                                     pv_classifier **classifier);
/* The same with unlabelled rows of the true population, as pv_fit_options.sample. */
PV_MUST_USE pv_status pv_learn_sampled(pv_ctx *ctx, const pv_table *table, const pv_table *sample,
                                       const pv_settings *settings, pv_classifier **classifier);

/* Coefficients on the scale of the table. Linear models: [classes-1][1 + features], intercept first. Ordinal models:
 * the classes-1 thresholds, then a slope for each feature. */
PV_MUST_USE pv_status pv_classifier_coefficients(pv_ctx *ctx, const pv_classifier *classifier, double *coefficients);
/* The same for one of the posterior's draws, counted from 0. */
PV_MUST_USE pv_status pv_classifier_draw_coefficients(pv_ctx *ctx, const pv_classifier *classifier, size_t draw,
                                                      double *coefficients);

/* Covariance of these coefficients in the same order, [n][n]: of the estimates, or over the posterior's draws. Fails
 * with PV_ERR_USAGE and the reason if it is unknown, for example for a model without a posterior that was read from a
 * file. */
PV_MUST_USE pv_status pv_classifier_covariance(pv_ctx *ctx, const pv_classifier *classifier, double *covariance);

/* ---- summary of a classifier ----------------------------------------------------------------------------------------
 * Coefficients and odds ratios on the scale of the table, and p(y|w), each with mean, sd and interval over the
 * posterior draws. Without a posterior the mean is the estimate. With standard errors sd is the standard error, and the
 * interval is Student's t with df degrees of freedom; all else is NaN.
 */
typedef struct pv_coefficient {
    const char *name;  /* of the feature; "(Intercept)"; "1|2" for a threshold. Valid as long as the summary */
    const char *label; /* the label whose log odds against the first label it describes; ordinal: "higher", for any
                          label above the others */
    pv_spread value;   /* per unit of the column */
    double odds_ratio, odds_ratio_lo, odds_ratio_hi; /* NaN for an intercept or threshold */
    double scale;      /* one standard deviation of a numeric column; 1 for others and for intercepts */
    double z, p_value; /* of the test that it is 0, with standard errors and without a prior; else NaN */
    double df;         /* degrees of freedom of Student's t in the interval and the test; INFINITY: normal */
    double weighting;  /* share of the weighted estimate in it, 0 to 1; NaN: only one estimate */
    pv_spread
        linear; /* the efficient estimate, which assumes that the linear model is correct; NaN: only one estimate */
} pv_coefficient;

typedef struct pv_summary {
    double level; /* of the intervals */
    int classes;
    size_t equations;            /* classes-1; ordinal: 1, for all labels; 0: the model has no coefficients */
    size_t intercepts;           /* in each equation: 1; ordinal: classes-1 thresholds */
    size_t terms;                /* coefficients in each equation: intercepts + features */
    pv_coefficient *coefficient; /* [equations][terms], intercepts first; NULL: the model has no coefficients */
    char *threshold_names;       /* storage of the thresholds' names */
    pv_spread *marginal;         /* [classes], p(y|w) */
    bool has_errors;             /* the spread of coefficients is a standard error rather than that of draws */
    bool has_tests;              /* z and p_value are set */
} pv_summary;

/* The caller frees *summary, which must not outlive the classifier. */
PV_MUST_USE pv_status pv_classifier_summary(pv_ctx *ctx, const pv_classifier *classifier, double level,
                                            pv_summary **summary);
void pv_summary_free(pv_ctx *ctx, pv_summary *summary); /* NULL is allowed */

/* Everything that a classifier says of itself, as a tree: what it takes (outcome, classes, features, ...), how it was
 * fitted (model, loss_kind, stop, rows, ...), the population (design, prevalence, strata, ...), what it estimates
 * (coefficients, marginal, posterior, ...) and the record of its fit. `prevail summary --json` prints this tree;
 * docs/formats.md has its members. level: of the intervals. The caller frees *result with pv_result_free. */
PV_MUST_USE pv_status pv_classifier_result(pv_ctx *ctx, const pv_classifier *classifier, double level,
                                           pv_result **result);

/* The options of its fit from its record; those unknown to this version are left out. The caller frees *options, which
 * own their texts, with pv_fit_options_free. */
PV_MUST_USE pv_status pv_classifier_options(pv_ctx *ctx, const pv_classifier *classifier, pv_fit_options **options);
void pv_fit_options_free(pv_ctx *ctx, pv_fit_options *options); /* NULL is allowed */

/* ---- model files (docs/formats.md) ------------------------------------------------------------------------------- */

PV_MUST_USE pv_status pv_classifier_save(pv_ctx *ctx, const pv_classifier *classifier, const char *path);
PV_MUST_USE pv_status pv_classifier_load(pv_ctx *ctx, const char *path,
                                         pv_classifier **classifier); /* freed by caller */

/* The bytes that the file would have, in memory. The caller frees *bytes with pv_bytes_free. */
PV_MUST_USE pv_status pv_classifier_to_bytes(pv_ctx *ctx, const pv_classifier *classifier, unsigned char **bytes,
                                             size_t *size);
/* Reads a classifier from bytes, which are validated like a file and not needed afterwards. name is the file's name in
 * messages (NULL: "the model"). The caller frees *classifier. */
PV_MUST_USE pv_status pv_classifier_from_bytes(pv_ctx *ctx, const char *name, const unsigned char *bytes, size_t size,
                                               pv_classifier **classifier);
void pv_bytes_free(pv_ctx *ctx, unsigned char *bytes); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
