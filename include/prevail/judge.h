/* prevail/judge.h: evaluates predictions of a classifier, of an ensemble or of another model, for cross-validation and
 * reports.
 *
 * Two populations are distinguished: the one the predictions are for (pv_population), and the one the metrics are
 * stated for (stated_for).
 */
#ifndef PREVAIL_JUDGE_H
#define PREVAIL_JUDGE_H

#include "prevail/assess.h"
#include "prevail/predict.h"
#include "prevail/report.h"
#include "prevail/result.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Warns of an evaluation of a model that was fitted with `label-error`. */
#define PV_RECORDED_WARNING                                                                                            \
    "the model predicts the true label, and was fitted to labels recorded with errors: metrics hold only if the "      \
    "labels of these rows are true; with recorded labels they are those of another outcome"

/* ---- ensembles -----------------------------------------------------------------------------------------------------
 * An ensemble predicts the mean of several classifiers' probabilities in one population. Checks whether `other` can
 * join `first`: they need the same labels and columns (or arrays), and for TRUE the same stated prevalence. name is
 * that of other, for messages. */
PV_MUST_USE pv_status pv_ensemble_check(pv_ctx *ctx, const pv_classifier *first, const pv_classifier *other,
                                        const char *name, const pv_population *population);
/* Updates mean, the mean of `members` predictions, with one more prediction of the same rows in the same population. */
PV_MUST_USE pv_status pv_ensemble_join(pv_ctx *ctx, pv_prediction *mean, size_t members, const pv_prediction *other,
                                       const char *name);

/* What an ensemble predicts. Borrowed. */
typedef struct pv_ensemble_rows {
    const pv_classifier *first;
    const pv_table *table;
    const pv_roles *roles; /* the roles with which the first classifier's rows were made from the table */
    const pv_population *population;
} pv_ensemble_rows;
/* Adds a classifier to an ensemble: checks it, predicts the rows with its own schema, and updates mean, which starts as
 * the first one's prediction. The classifier may be freed afterwards. */
PV_MUST_USE pv_status pv_ensemble_add(pv_ctx *ctx, const pv_ensemble_rows *rows, const pv_classifier *other,
                                      const char *name, size_t members, pv_prediction *mean);

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

typedef struct pv_judge_options {
    const char *stated_for; /* the population the metrics are stated for: "rows" (or NULL) as they are; "population",
                               that of the predictions; or a prevalence as for pv_prevalence_parse */
    const char
        *binarise; /* evaluate ordered labels as two classes, below and above this one (pv_binarise); NULL: do not */
    const char *positive; /* the positive label of rates and curves; NULL: the last */
    int64_t bootstrap;    /* as in pv_assess_options */
    double level;
    int64_t seed;
    bool keep; /* keep the replicates for pv_judgement_compare; not in the table */
} pv_judge_options;

pv_judge_options pv_judge_options_default(
    void); /* defaults: rows, no binarise, last label; the others as in pv_assess_options_default */
extern const pv_option pv_judge_option_table[]; /* ended by a NULL name */

/* The same table as settings. The caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_judge_settings_new(pv_ctx *ctx, pv_settings **settings);
/* The pv_judge_options inside settings, borrowed; NULL if settings were made without that table. */
const pv_judge_options *pv_judge_options_of(const pv_settings *settings);

/* Evaluation of one stratum's rows. Borrowed from the judgement. */
typedef struct pv_judged_stratum {
    char *name;
    size_t rows;      /* 0: no rows and no metrics */
    double share;     /* share in the population of the predictions */
    double *observed; /* [classes], label shares of its rows */
    double *stated;   /* [classes], label shares its metrics are stated for */
    pv_metrics value, lo, hi;
} pv_judged_stratum;

/* Fields are read-only; pv_judgement_free frees all. */
typedef struct pv_judgement {
    int classes;
    char **labels; /* [classes], the evaluated labels: with binarise "below" and "above" */
    int positive;
    size_t rows;         /* number of rows used */
    size_t dropped;      /* rows of the data with missing cells or votes */
    size_t uncertain;    /* with binarise: rows without a side */
    double *observed;    /* [classes], label shares of the rows */
    double *stated;      /* [classes], label shares the metrics are stated for */
    bool as_rows;        /* these are the rows' own */
    double *prevalence;  /* [classes], of the population the predictions are for; NULL: unknown */
    bool misleading;     /* as_rows is set, and the rows' shares are far from that prevalence */
    double offset;       /* log odds of the positive label's prevalence contained in the probabilities; NaN: unknown */
    pv_assessment found; /* the metrics with intervals, and the ranking for pv_curve_make */
    int strata;          /* the model's strata, evaluated separately; 0: none, or labels are soft or binarised */
    pv_judged_stratum *stratum; /* [strata] */
    uint64_t hash;              /* of the rows' labels and weights */
} pv_judgement;

/* Evaluates predictions for the rows of data, whose labels (possibly soft) are the target. said: from pv_predict or
 * pv_predict_probs with likelihood requested, or from an ensemble. labels [said->classes] are those of the predictions.
 * options may be NULL. The caller frees *judgement. Refused: unknown labels or populations; data with uncertain rows
 * only; whatever pv_assess_intervals rejects. With strata, metrics are stated for a population by stratum and label,
 * and each stratum is also evaluated separately. */
PV_MUST_USE pv_status pv_judge(pv_ctx *ctx, const pv_dataset *data, char *const *labels, const pv_prediction *said,
                               const pv_judge_options *options, pv_judgement **judgement);
/* Predicts with a classifier in a population given as text, as in pv_population_new, and evaluates the predictions. */
PV_MUST_USE pv_status pv_judge_in(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                  const char *population, const pv_judge_options *options, pv_judgement **judgement);
void pv_judgement_free(pv_ctx *ctx, pv_judgement *judgement); /* NULL is allowed */

/* The same as a tree: metrics (name: value, lo, hi), rows, dropped, uncertain, prevalence, observed and stated_for by
 * label, misleading, strata (where there are any), positive, bootstrap. The caller frees *result, as below. */
PV_MUST_USE pv_status pv_judgement_result(pv_ctx *ctx, const pv_judgement *judgement, pv_result **result);
/* Metrics alone. */
PV_MUST_USE pv_status pv_assessment_result(pv_ctx *ctx, const pv_assessment *found, pv_result **result);
/* A curve by the name of its kind: columns, their names, and values, an array of [points][columns]. points to n are
 * those of pv_curve_options. */
PV_MUST_USE pv_status pv_judgement_curve(pv_ctx *ctx, const pv_judgement *judgement, const char *kind, size_t points,
                                         int bins, double level, double threshold, const double *prevalences, size_t n,
                                         pv_result **result);
/* The rates of pv_rates_at, name: value, lo, hi. */
PV_MUST_USE pv_status pv_judgement_rates(pv_ctx *ctx, const pv_judgement *judgement, double threshold, double level,
                                         pv_result **result);

/* Summarises the result in one to three sentences: whether predictions are better than the prevalence alone, whether
 * they are calibrated, and what to try. Empty if there are no intervals, or if the rows are not from the population of
 * the predictions. pv_verdict takes metrics from any source; share is that of the positive label in the rows if metrics
 * are for the rows as they are, 0 if they are stated for a population. */
enum { PV_VERDICT_SIZE = 512 };
void pv_verdict(const pv_assessment *found, int classes, size_t rows, double share, char *text, size_t size);
void pv_judgement_verdict(const pv_judgement *judgement, char *text, size_t size);
/* Difference of each metric of other predictions for the same rows, `other` minus `first`, with paired intervals of
 * this level. Both must be evaluated with keep and the same seed. The caller clears *difference. Refused, with name
 * standing for `other` in messages: different rows, labels, positive label or population of the metrics. */
PV_MUST_USE pv_status pv_judgement_compare(pv_ctx *ctx, const pv_judgement *first, const pv_judgement *other,
                                           const char *name, double level, pv_assessment *difference);

/* ---- evaluated predictions in a report -----------------------------------------------------------------------------
 * The sections from the three-sentence summary to the decision curve. Borrowed. */
typedef struct pv_report_judged {
    char *const *labels; /* [classes] */
    const char *target;  /* name of the column; NULL: unknown */
    int classes, positive;
    size_t rows;
    const double *observed;   /* [classes] */
    const double *stated;     /* [classes], of the population the metrics are for */
    const double *population; /* [classes], of the population the predictions are for; NULL: unknown */
    const pv_assessment *found;
    double level;                  /* of its intervals */
    double offset;                 /* of the threshold explorer */
    double threshold;              /* initial threshold of the explorer; NaN: the prevalence */
    int bins;                      /* of the calibration chart */
    const char *rows_title;        /* title of the evaluated rows in charts; NULL: "Evaluated rows" */
    const pv_ranking *training;    /* reweighted training rows; NULL: none */
    const char *caveat;            /* shown with the explorer; NULL: none */
    const char *advice;            /* how to state the metrics for the population; NULL: they are */
    const pv_judgement *judgement; /* for its strata; NULL: none */
} pv_report_judged;

/* The fields taken from a judgement: the explorer starts at the prevalence, the chart has ten bins; all else is
 * empty. */
pv_report_judged pv_report_judged_of(const pv_judgement *judgement, double level);
PV_MUST_USE pv_status pv_report_put_judged(pv_ctx *ctx, pv_report *report, const pv_report_judged *judged);
/* A label as written in sentences: the label itself, or TARGET = LABEL if it is a number. Returns to. */
const char *pv_report_label(const pv_report_judged *judged, int label, char *to, size_t size);
/* Writes a report of a judgement alone. target: as in pv_report_judged. */
PV_MUST_USE pv_status pv_judgement_report(pv_ctx *ctx, const pv_judgement *judgement, const char *target, double level,
                                          const pv_report_options *options);

/* ---- importance of columns -----------------------------------------------------------------------------------------
 * Permutation importance: the information that predictions lose when a column's cells are permuted among the people of
 * a population, so that they no longer describe their own row: the mean of log p(y|x) minus log p(y|x with that column
 * permuted), in nats. A text column, and all terms made from a column, change together. If two columns contain the same
 * information, neither loses much. Both means, and the permuted cells, are weighted label by label to the stated
 * population.
 */
typedef struct pv_importance_options {
    int64_t permutations; /* per column; default 5 */
    int64_t rows;         /* maximum number of rows used, evenly spaced; 0: 20000, or 2000 with a posterior */
    int64_t seed;         /* default 1 */
} pv_importance_options;

pv_importance_options pv_importance_options_default(void);
extern const pv_option pv_importance_option_table[]; /* ended by a NULL name */

typedef struct pv_column_importance {
    char *name;
    double loss;   /* mean over permutations */
    double sd;     /* standard deviation over permutations; NaN if there is only one */
    size_t points; /* of its partial dependence: mean risks in the population if all rows had the same value */
    double *x;     /* [points], increasing values of a numeric column; NULL: a text column */
    char **level;  /* [points], levels of a text column; NULL: a numeric column */
    double *mean;  /* [points][classes] */
} pv_column_importance;

typedef struct pv_importance {
    size_t columns;
    pv_column_importance *column; /* [columns], in order of decreasing loss */
    double information;           /* information of the model: entropy of the labels minus its mean -log p(y|x) */
    size_t rows;                  /* number of rows used */
    int64_t permutations;
    double *stated; /* [classes], prevalence in the population the losses are for */
} pv_importance;

/* Computes the importance of the columns. table, and roles with which the evaluated rows were made from it, as for
 * pv_schema_apply. population: of the predictions; must not be unknown. stated [classes]: prevalence in the population
 * the means are for; NULL: that of the predictions, since in any other population the probabilities are not calibrated
 * and their losses mean nothing. options may be NULL. The caller frees *importance. Refused: models of images. */
PV_MUST_USE pv_status pv_importance_find(pv_ctx *ctx, const pv_classifier *classifier, const pv_table *table,
                                         const pv_roles *roles, const pv_population *population, const double *stated,
                                         const pv_importance_options *options, pv_importance **importance);
void pv_importance_free(pv_ctx *ctx, pv_importance *importance); /* NULL is allowed */

/* Whether the label shares of the rows (observed) are so different from the prevalence that metrics of the rows
 * mislead. */
bool pv_shares_differ(int classes, const double *observed, const double *prevalence);

#ifdef __cplusplus
}
#endif
#endif
