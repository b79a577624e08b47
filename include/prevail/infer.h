/* prevail/infer.h: from data to a trained classifier. */
#ifndef PREVAIL_INFER_H
#define PREVAIL_INFER_H

#include "prevail/plan.h"
#include "prevail/posterior.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- how minibatch training went --------------------------------------------------------------------------------- */

/* At the end of an epoch. */
typedef struct pv_trace_row {
    int64_t epoch, step; /* from 1 */
    double loss;         /* the batches' estimates of the full data's, prior left out, smoothed over about 100 steps */
    double rate;         /* learning rate of the last step */
    double validation;   /* negative log-likelihood of the validation rows; NaN: there are none */
    double speed;        /* rows a second, of the steps alone */
} pv_trace_row;

typedef struct pv_trace {
    size_t count;
    int classes;
    pv_trace_row *row; /* [count] */
    double *used;  /* [count][classes], p(y|w) as the loss took it: the auxiliary network's, or the stated prevalence
                      for profile and iw; NaN for plain */
    double *exact; /* [count][classes], its plug-in estimate from all rows, as predictions see them */
} pv_trace;

/* ---- two estimates and their combination ---------------------------------------------------------------------------
 * Of a linear model with a stated prevalence (docs/method.md, section 15). The weighted estimate is the best linear
 * predictor of the population whatever the shape of the risk; the efficient one is better where the linear model is
 * right. Parameters are those of pv_classifier's w.
 */
typedef struct pv_combination {
    int use;                      /* pv_estimate: which of them w is */
    double *weighted, *efficient; /* [params]; of a loss that has one estimate, weighted alone */
    double *covariance;           /* [params][params], of the weighted estimate: a sandwich, by unit */
    double *efficient_covariance; /* [params][params] */
    double *df;                   /* [params], Satterthwaite's, of a coefficient's interval on the scale of the table */
    double df_risk;               /* of a risk's */
    double units;                 /* that were sampled independently */
    int64_t controls;             /* control variates that the weighted estimate has of a population sample; 0: none */
    size_t terms, slopes;
    int32_t *term;             /* [slopes], which term each is of */
    double *share;             /* [terms], of the weighted estimate in that term: 0 to 1 */
    double statistic, p_value; /* Hausman's test that the slopes of the two agree: chi-square of so many */
    int64_t rank;              /* degrees of freedom; 0: not tested */
    double
        *tail; /* [slopes], the kurtosis of each column in the population: 3 of a normal one; negated for two values */
    double *strata; /* [3], the score test that strata have no intercepts of their own: chi-square, df (0: none), p */
} pv_combination;

/* Whether the test says, at 0.05, that the two estimates differ. */
bool pv_combination_differs(const pv_combination *combination);

/* ---- the trained classifier ----------------------------------------------------------------------------------------
 * Everything needed to use and to judge a fit. Read the fields; change nothing.
 */
/* What the log likelihood ratios log p(1|x)/p(1) - log p(0|x)/p(0) of a model with two labels are like among rows of
 * each label that it has not seen: for an unknown prevalence, whose interval then counts in what the model does not
 * know. Means and variances of its columns by label say whether other rows can be a mixture of the two at all. */
enum {
    PV_REFERENCE_POINTS = 1000,
    PV_REFERENCE_COLUMNS = 1000,
    PV_REFERENCE_FOLDS = 10,
    PV_REFERENCE_LABELS = 10 /* no cells with more */
};
#define PV_REFERENCE_SCORE 60.0 /* scores beyond are cut there */
/* Of three labels and more: people by the label that a row's ratios favour, each in two by their confidence. */
typedef struct pv_label_cells {
    int classes;
    double *cut; /* [classes], of the ratios r(y)/sum r: rows above are in the label's second cell; 1: there is none */
    double *units; /* [classes], as below */
    double *known; /* [classes][2 classes], people of each label */
} pv_label_cells;
typedef struct pv_reference {
    size_t count[2]; /* points of each label */
    double units[2]; /* rows of each that were sampled independently, as many as say as much */
    double *score;   /* [count[0] + count[1]], those of label 0 first; ascending in each */
    double *weight;  /* the same, > 0: how many rows a point stands for */
    size_t folds;    /* models that scored the points, each those of its fold; 0: the model itself did */
    size_t params;
    double *fold;   /* [folds][params]: score = intercept and slopes of each; with cells of each label but the first */
    size_t columns; /* 0: none */
    double *column; /* [4][columns], as the model sees them: means of label 0, of label 1, variances of 0, of 1 */
    pv_label_cells *cells; /* three labels and more: what there is beside folds; the rest is 0. NULL: two labels */
} pv_reference;

/* Of labelled rows [n]; weight NULL: all 1, repeated rows. Equal scores become one point, and neighbours where there
 * are more than PV_REFERENCE_POINTS of a label. The caller frees *reference. */
PV_MUST_USE pv_status pv_reference_new(pv_ctx *ctx, size_t n, const double *score, const int32_t *label,
                                       const double *weight, pv_reference **reference);
void pv_reference_free(pv_ctx *ctx, pv_reference *reference); /* NULL is fine */

/* What `model=auto` mixed (docs/method.md, section 17). A gain is the mean log score of people of the population whom
 * the model has not seen (cross-validation), less that of the prevalence alone, in nats; NaN: the fit found no optimum.
 */
typedef struct pv_candidate {
    char *name;      /* "linear normal:0.3" */
    double weight;   /* in the mixture; 0: left out */
    double gain, se; /* se: standard error, by unit */
} pv_candidate;
typedef struct pv_stacked {
    size_t count;
    pv_candidate *candidate; /* [count] */
    double gain, se;         /* of the mixture, its weights found without the rows that it predicts */
    double guess;            /* mean log score of the prevalence alone */
    double cap;              /* of the members' log-likelihood ratios */
    int64_t folds, repeats;  /* of which gains are; 1 fold: a hold-out sample */
} pv_stacked;

enum { PV_SEPARATED_NOT = 0, PV_SEPARATED_TOGETHER = -1 };
typedef struct pv_classifier {
    pv_schema *schema; /* what it takes: target, labels, columns */
    pv_model *model;
    double *w; /* [pv_model_params] */
    pv_loss loss;
    pv_marginal marginal;
    double *prevalence;   /* [classes], stated; NULL where none was (plain) */
    double prevalence_n;  /* INFINITY: known */
    bool half_counts;     /* Jeffreys' were added to it; not kept in model files, whose record has the options */
    double *design;       /* [classes], label shares of the training data */
    double *log_marginal; /* [classes], log p(y|w) of the likelihood the model outputs; for plain, log design */
    size_t rows;
    size_t dropped;         /* rows with missing cells, left out */
    size_t validation_rows; /* held out; not among rows. Not kept in model files */
    double validation;      /* their score at w; NaN: there are none. Not kept in model files */
    int64_t best_epoch;     /* with patience: the one whose parameters w are; else 0. Not kept in model files */
    uint64_t data_hash;
    char *source;        /* name of the data */
    char *sample_source; /* of the population sample; NULL: there was none */
    uint64_t sample_hash;
    size_t sample_rows;
    bool estimated;    /* no prevalence was stated: `prevalence` is the model's own, from the sample */
    int64_t separated; /* linear, ordinal: a column (from 1, of the encoded ones) that tells the labels apart without
                          fail; PV_SEPARATED_TOGETHER: all of them do; PV_SEPARATED_TOGETHER - column: that one tells
                          the labels of some rows (quasi-complete separation); else PV_SEPARATED_NOT */
    pv_stop stop;
    int64_t iterations;
    double passes;     /* full batch: how often the matrix was read */
    double loss_value; /* negative log posterior (map) or loss (ml) at w */
    double seconds;    /* of the fit; not kept in model files, which are the same bytes for the same seed */
    int64_t seed;
    pv_posterior *posterior;   /* of laplace, vi and hmc; NULL for map and ml. w is then the maximum it started from */
    double *draw_log_marginal; /* [posterior->count][classes]: log p(y|w) at each draw */
    pv_combination *combination; /* NULL: not a linear model, or no prevalence was stated */
    double *standard_error;      /* [pv_model_params], of the coefficients on the scale of the table; NaN: unknown. NULL
                                    where there are none */
    double *centre;              /* [pv_model_params]: the parameters that intervals are about; NULL: w */
    double *spread;            /* [pv_model_params][pv_model_params], the covariance of the parameters; NULL: unknown */
    double spread_df;          /* degrees of freedom of risks' intervals; INFINITY: normal */
    const char *no_errors;     /* why there are none, in words; NULL: bare, or a posterior. Not kept in model files */
    pv_trace *trace;           /* where it was asked for, of minibatches; not kept in model files */
    pv_stratified *stratified; /* NULL: no strata. prevalence, design and log_marginal are then of all together */
    char *record; /* JSON object: version, command line, every option with its value and whether it is default */
    pv_reference *reference; /* linear models: the training rows' ratios, each by a model without it; or NULL */
    double *covariance;  /* [pv_model_params][pv_model_params], of the coefficients: standard_error is the root of its
                            diagonal. NULL: not known. Not kept in model files */
    pv_stacked *stacked; /* `model=auto`; NULL for others */
    double pass_seconds; /* full batch: of the passes over the matrix; not kept in model files */
    double *averaging;   /* [classes - 1]: linear, few rows: pv_predict averages risks over what the parameters leave
                            uncertain, with these constants added to the logits. NULL: risks are those at w */
} pv_classifier;

/* The same by function, for those that must not know the layout (docs/architecture.md). What is returned is borrowed.
 * Words and numbers of a fit go by a name; a text that is a number's, and the other way round, is NULL, or NaN. */
#define PV_CLASSIFIER_FACT_LIST(X)                                                                                     \
    X(OUTCOME, "outcome")                                                                                              \
    X(WEIGHTS, "weights") /* empty: none */                                                                            \
    X(SOURCE, "source")                                                                                                \
    X(RECORD, "record") /* JSON */                                                                                     \
    X(LOSS, "loss")                                                                                                    \
    X(MARGINAL, "marginal")                                                                                            \
    X(MODEL, "model")                                                                                                  \
    X(STOP, "stop")                                                                                                    \
    X(POSTERIOR, "posterior") /* NULL: there is none */                                                                \
    X(ROWS, "rows")                                                                                                    \
    X(DROPPED, "dropped")                                                                                              \
    X(ITERATIONS, "iterations")                                                                                        \
    X(SEED, "seed")                                                                                                    \
    X(LOSS_VALUE, "loss_value")                                                                                        \
    X(PREVALENCE_N, "prevalence_n") /* infinite: known */                                                              \
    X(SECONDS, "seconds")
typedef enum pv_classifier_fact {
#define PV_CLASSIFIER_FACT_ENUM(name, word) PV_CLASSIFIER_##name,
    PV_CLASSIFIER_FACT_LIST(PV_CLASSIFIER_FACT_ENUM)
#undef PV_CLASSIFIER_FACT_ENUM
} pv_classifier_fact;
const char *pv_classifier_fact_name(pv_classifier_fact fact);
bool pv_classifier_fact_find(const char *name, pv_classifier_fact *fact);

/* Whether it knows odds ratios alone: fitted to matched sets, without a prevalence and a population sample. */
bool pv_classifier_is_relative(const pv_classifier *classifier);

const char *pv_classifier_text(const pv_classifier *classifier, pv_classifier_fact fact);
double pv_classifier_number(const pv_classifier *classifier, pv_classifier_fact fact);
int pv_classifier_classes(const pv_classifier *classifier);
const char *pv_classifier_label(const pv_classifier *classifier, int index); /* NULL outside */
char *const *pv_classifier_labels(const pv_classifier *classifier);          /* [classes] */
/* Columns of the encoded matrix, but for an offset. */
int pv_classifier_features(const pv_classifier *classifier);
const char *pv_classifier_feature(const pv_classifier *classifier, int index); /* NULL outside, and for images */
const char *pv_classifier_offset(const pv_classifier *classifier);             /* its column; NULL: there is none */
size_t pv_classifier_columns(const pv_classifier *classifier);                 /* of the table; 0 for images */
const char *pv_classifier_column(const pv_classifier *classifier, size_t index,
                                 pv_column_type *type); /* NULL outside */
/* Of the index-th category among the features: its reference level and, where column is not NULL, its name. NULL
 * outside. */
const char *pv_classifier_reference(const pv_classifier *classifier, size_t index, const char **column);
/* The index-th column that defines the strata; feature, where not NULL: whether it is a feature as well. NULL outside.
 */
const char *pv_classifier_stratum_column(const pv_classifier *classifier, size_t index, bool *feature);
/* Which estimate is in use, "efficient", "weighted" or "combined"; NULL: there is one only. p_value, where not NULL:
 * that of Hausman's test of the two, NaN where it was not made. */
const char *pv_classifier_estimate(const pv_classifier *classifier, double *p_value);
/* Of `model=auto`: the index-th candidate, its weight, gain and standard error as pv_candidate has them, each of which
 * may be NULL; behind the last the mixture itself. NULL outside, and of another model. */
const char *pv_classifier_candidate(const pv_classifier *classifier, size_t index, double *weight, double *gain,
                                    double *se);
const pv_schema *pv_classifier_schema(const pv_classifier *classifier); /* for pv_dataset_read, pv_schema_apply */
const pv_model *pv_classifier_model(const pv_classifier *classifier);
const double *pv_classifier_parameters(const pv_classifier *classifier);           /* [pv_model_params] */
const double *pv_classifier_draws(const pv_classifier *classifier, size_t *count); /* [count][pv_model_params] */
const double *pv_classifier_prevalence(const pv_classifier *classifier);           /* [classes]; NULL: none */
const double *pv_classifier_design(const pv_classifier *classifier);               /* [classes] */
const double *pv_classifier_log_marginal(const pv_classifier *classifier);         /* [classes] */

/* Everything that pv_fit does before it visits the rows: reads and completes the options, checks them against each
 * other and against the data, and says what would be done. Fails as pv_fit would. The caller frees *plan with
 * pv_plan_free. */
PV_MUST_USE pv_status pv_fit_plan(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                  const pv_fit_options *options, pv_plan **plan);

/* Fits. The schema is copied, name and hash of the data are kept. The caller frees *classifier. A stop other than
 * convergence is no error: read classifier->stop. Groups of the data stay together on one side of validation. Refused
 * with PV_ERR_USAGE or PV_ERR_INPUT before any work: options that do not fit together; data that are not the schema's;
 * a class with prevalence but no rows; ml on separable data. */
PV_MUST_USE pv_status pv_fit(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                             const pv_fit_options *options, pv_classifier **classifier);
void pv_classifier_free(pv_ctx *ctx, pv_classifier *classifier); /* NULL is fine */
/* A file as prevail fit would fit it, in one call: pv_roles_complete, pv_table_read, pv_schema_learn, pv_fit. settings
 * are those of pv_fit_settings_new. The caller frees *classifier. */
PV_MUST_USE pv_status pv_learn(pv_ctx *ctx, const char *path, const pv_settings *settings, pv_classifier **classifier);
/* The same of a table that is there: made in memory, or read with the settings' pv_roles_of in its options. Of images
 * the target, or the votes, must be named. */
PV_MUST_USE pv_status pv_learn_table(pv_ctx *ctx, const pv_table *table, const pv_settings *settings,
                                     pv_classifier **classifier);
/* The same with rows of the true population, their labels unknown, as the sample of pv_fit_options. */
PV_MUST_USE pv_status pv_learn_sampled(pv_ctx *ctx, const pv_table *table, const pv_table *sample,
                                       const pv_settings *settings, pv_classifier **classifier);

/* Linear models: coefficients on the scale of the table, [classes-1][1 + features], intercept first. Ordinal models:
 * the classes-1 thresholds, then a slope for each feature. */
PV_MUST_USE pv_status pv_classifier_coefficients(pv_ctx *ctx, const pv_classifier *classifier, double *coefficients);
/* The same of one of the posterior's draws, from 0. */
PV_MUST_USE pv_status pv_classifier_draw_coefficients(pv_ctx *ctx, const pv_classifier *classifier, size_t draw,
                                                      double *coefficients);

/* Their covariance, [n][n] for the n of them in that order: of the estimates, or of the posterior's draws. Refused
 * (PV_ERR_USAGE) with the reason where it is not known, as of a model without a posterior that was read from a file. */
PV_MUST_USE pv_status pv_classifier_covariance(pv_ctx *ctx, const pv_classifier *classifier, double *covariance);

/* ---- what a classifier says ----------------------------------------------------------------------------------------
 * Coefficients and odds ratios on the scale of the table, and p(y|w), each with its spread where there is a posterior.
 * Without one the mean is the estimate; where there are standard errors, sd is that and the interval normal; all else
 * is NaN.
 */
typedef struct pv_coefficient {
    const char *name;  /* of the feature; "(Intercept)"; "1|2", a threshold. Not to outlive the summary */
    const char *label; /* whose log odds against the first label it is of; ordinal: "higher", of any above the rest */
    pv_spread value;   /* per unit of the column */
    double odds_ratio, odds_ratio_lo, odds_ratio_hi; /* NaN of an intercept or threshold */
    double scale;      /* one standard deviation of a column of numbers; 1 for others, and for an intercept */
    double z, p_value; /* of the test that it is 0, where there are standard errors and no prior; else NaN */
    double df;         /* of Student's t, which the interval and the test take; INFINITY: normal */
    double weighting;  /* share of the weighted estimate in it, 0 to 1; NaN: there is one estimate */
    pv_spread linear;  /* the efficient estimate, for a linear model that is right; NaN: there is one estimate */
} pv_coefficient;

typedef struct pv_summary {
    double level; /* of the intervals */
    int classes;
    size_t equations;            /* classes-1; ordinal: 1, for all labels; 0: the model has no coefficients */
    size_t intercepts;           /* of each: 1; ordinal: classes-1 thresholds */
    size_t terms;                /* coefficients of each: intercepts + features */
    pv_coefficient *coefficient; /* [equations][terms], intercepts first; NULL: the model has none */
    char *threshold_names;       /* what their names are made of */
    pv_spread *marginal;         /* [classes], p(y|w) */
    bool has_errors;             /* the spread of the coefficients is a standard error, not that of draws */
    bool has_tests;              /* and there are z and p_value */
} pv_summary;

/* The caller frees *summary, which must not outlive the classifier. */
PV_MUST_USE pv_status pv_classifier_summary(pv_ctx *ctx, const pv_classifier *classifier, double level,
                                            pv_summary **summary);
void pv_summary_free(pv_ctx *ctx, pv_summary *summary); /* NULL is fine */

/* The options of its fit, from its record; those that this version does not know are left out. The caller frees, with
 * pv_fit_options_free; the texts are part of it. */
PV_MUST_USE pv_status pv_classifier_options(pv_ctx *ctx, const pv_classifier *classifier, pv_fit_options **options);
void pv_fit_options_free(pv_ctx *ctx, pv_fit_options *options); /* NULL is fine */

/* ---- model files (docs/formats.md) ------------------------------------------------------------------------------- */

PV_MUST_USE pv_status pv_classifier_save(pv_ctx *ctx, const pv_classifier *classifier, const char *path);
PV_MUST_USE pv_status pv_classifier_load(pv_ctx *ctx, const char *path,
                                         pv_classifier **classifier); /* freed by caller */

/* The same in memory: the bytes that the file would have, without one. The caller frees *bytes with pv_bytes_free. */
PV_MUST_USE pv_status pv_classifier_to_bytes(pv_ctx *ctx, const pv_classifier *classifier, unsigned char **bytes,
                                             size_t *size);
/* bytes are believed no more than a file's; they are not needed afterwards. name stands for the file's in messages
 * (NULL: "the model"). The caller frees *classifier. */
PV_MUST_USE pv_status pv_classifier_from_bytes(pv_ctx *ctx, const char *name, const unsigned char *bytes, size_t size,
                                               pv_classifier **classifier);
void pv_bytes_free(pv_ctx *ctx, unsigned char *bytes); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
