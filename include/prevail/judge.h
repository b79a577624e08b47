/* prevail/judge.h: the judgement: what predictions are worth, and where. One for a classifier, an ensemble or another
 * model's probabilities, for cross-validation and for reports.
 *
 * Two populations play a part: the one the predictions are for (pv_population), and the one the metrics are stated for
 * (stated_for).
 */
#ifndef PREVAIL_JUDGE_H
#define PREVAIL_JUDGE_H

#include "prevail/assess.h"
#include "prevail/predict.h"
#include "prevail/report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ensembles -----------------------------------------------------------------------------------------------------
 * The mean of several classifiers' probabilities in one population. Whether other may join first: the same labels and
 * columns (or arrays), and for TRUE the same stated prevalence. name is other's, for messages. */
PV_MUST_USE pv_status pv_ensemble_check(pv_ctx *ctx, const pv_classifier *first, const pv_classifier *other,
                                        const char *name, const pv_population *population);
/* mean, the mean of so many members' predictions, becomes that with other's, of the same rows in the same population,
 * as one more. */
PV_MUST_USE pv_status pv_ensemble_join(pv_ctx *ctx, pv_prediction *mean, size_t members, const pv_prediction *other,
                                       const char *name);

/* What an ensemble predicts for. Borrowed. */
typedef struct pv_ensemble_rows {
    const pv_classifier *first;
    const pv_table *table;
    const pv_roles *roles; /* as the first one's rows were taken from the table */
    const pv_population *population;
} pv_ensemble_rows;
/* Checks a further classifier, has it predict the rows, each member by its own schema, and joins it to mean, which
 * begins as the first one's prediction. One at a time: a classifier need not be kept once it has joined. */
PV_MUST_USE pv_status pv_ensemble_add(pv_ctx *ctx, const pv_ensemble_rows *rows, const pv_classifier *other,
                                      const char *name, size_t members, pv_prediction *mean);

/* ---- the judgement ----------------------------------------------------------------------------------------------- */

typedef struct pv_judge_options {
    const char *stated_for; /* the population that the metrics are stated for: "rows" as they are (NULL: the same);
                               "population", that of the predictions; or a prevalence as for pv_prevalence_parse */
    const char *binarise; /* ordered labels judged as two, below and above this one (pv_binarise); NULL: as they are */
    const char *positive; /* the label that rates and curves speak of; NULL: the last */
    int64_t bootstrap;    /* as in pv_assess_options */
    double level;
    int64_t seed;
    bool keep; /* for pv_judgement_compare; not in the table */
} pv_judge_options;

pv_judge_options pv_judge_options_default(void); /* rows, as they are, the last; as pv_assess_options_default */
extern const pv_option pv_judge_option_table[];  /* ends with a NULL name */

/* That table by name. The caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_judge_settings_new(pv_ctx *ctx, pv_settings **settings);
/* The options in settings that have the table, borrowed from them; NULL: they have not. */
const pv_judge_options *pv_judge_options_of(const pv_settings *settings);

/* One stratum's rows, judged on their own. Borrowed from the judgement. */
typedef struct pv_judged_stratum {
    char *name;
    size_t rows;      /* 0: none, and no metrics */
    double share;     /* of the population of the predictions */
    double *observed; /* [classes], label shares of its rows */
    double *stated;   /* [classes], that its metrics are stated for */
    pv_metrics value, lo, hi;
} pv_judged_stratum;

/* Read the fields; pv_judgement_free frees all. */
typedef struct pv_judgement {
    int classes;
    char **labels; /* [classes], those judged: with binarise "below" and "above" */
    int positive;
    size_t rows;         /* that count */
    size_t dropped;      /* of the data, rows with missing cells or votes */
    size_t uncertain;    /* with binarise: rows that stand apart */
    double *observed;    /* [classes], label shares of the rows */
    double *stated;      /* [classes], that the metrics are stated for */
    bool as_rows;        /* these are the rows' own */
    double *prevalence;  /* [classes], of the population that the predictions are for; NULL: nobody knows */
    bool misleading;     /* as_rows, and the rows' shares are far from that prevalence */
    double offset;       /* log odds of the positive label's prevalence that the probabilities have in them; NaN: nobody
                            knows */
    pv_assessment found; /* the metrics with intervals, and the ranking for pv_curve_make */
    int strata;          /* of the model, judged one by one; 0: it has none, or labels are soft or of two sides */
    pv_judged_stratum *stratum; /* [strata] */
    uint64_t hash;              /* of the rows' labels and weights */
} pv_judgement;

/* Judges what was predicted for the rows of data, whose labels are the target, soft ones as well. said: of pv_predict
 * or pv_predict_probs with likelihood asked for, or of an ensemble. labels [said->classes] are its own. options may be
 * NULL. The caller frees *judgement. Refused: a label or a population that there is not; uncertain rows only; what
 * pv_assess_intervals refuses. Predictions of a model with strata are stated for a population by stratum and label, and
 * judged stratum by stratum as well. */
PV_MUST_USE pv_status pv_judge(pv_ctx *ctx, const pv_dataset *data, char *const *labels, const pv_prediction *said,
                               const pv_judge_options *options, pv_judgement **judgement);
/* A classifier's predictions in a population named by its text, as in pv_population_new, and what they are worth. */
PV_MUST_USE pv_status pv_judge_in(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                  const char *population, const pv_judge_options *options, pv_judgement **judgement);
void pv_judgement_free(pv_ctx *ctx, pv_judgement *judgement); /* NULL is fine */
/* By how much each metric of other predictions for the same rows differs, theirs minus the first's, with paired
 * intervals of this level. Both were judged with keep, of one seed. The caller clears *difference. Refused, where name
 * is theirs in messages: other rows, labels, positive label or population that metrics are stated for. */
PV_MUST_USE pv_status pv_judgement_compare(pv_ctx *ctx, const pv_judgement *first, const pv_judgement *other,
                                           const char *name, double level, pv_assessment *difference);

/* ---- judged predictions in a report --------------------------------------------------------------------------------
 * The sections from the answer in three sentences to the decision curve. Borrowed. */
typedef struct pv_report_judged {
    char *const *labels; /* [classes] */
    const char *target;  /* name of the column; NULL: unknown */
    int classes, positive;
    size_t rows;
    const double *observed;   /* [classes] */
    const double *stated;     /* [classes], that the metrics are for */
    const double *population; /* [classes], that the predictions are for; NULL: unknown */
    const pv_assessment *found;
    double level;                  /* of its intervals */
    double offset;                 /* of the explorer */
    double threshold;              /* where it starts; NaN: at the prevalence */
    int bins;                      /* of the calibration chart */
    const char *rows_title;        /* of the rows judged, in charts; NULL: "Evaluated rows" */
    const pv_ranking *training;    /* of the training rows, reweighted; NULL: none */
    const char *caveat;            /* of the explorer; NULL: none */
    const char *advice;            /* how the metrics would be stated for the population; NULL: they are */
    const pv_judgement *judgement; /* for its strata; NULL: none */
} pv_report_judged;

/* That of a judgement: the explorer starts at the prevalence, the chart has ten bins; the rest is left empty. */
pv_report_judged pv_report_judged_of(const pv_judgement *judgement, double level);
PV_MUST_USE pv_status pv_report_put_judged(pv_ctx *ctx, pv_report *report, const pv_report_judged *judged);
/* A label as sentences name it: itself, or TARGET = LABEL where it is a number. Returns to. */
const char *pv_report_label(const pv_report_judged *judged, int label, char *to, size_t size);
/* A page of a judgement alone. target: as above. */
PV_MUST_USE pv_status pv_judgement_report(pv_ctx *ctx, const pv_judgement *judgement, const char *target, double level,
                                          const pv_report_options *options);

/* ---- what each column is worth -------------------------------------------------------------------------------------
 * The information that predictions lose when a column's cells are dealt out anew among the people of a population, so
 * that the column says nothing of its own row: the mean of log p(y|x) less log p(y|x with that column dealt anew), in
 * nats. Text columns, and all terms that a column is in, change together. Where two columns say the same, neither loses
 * much. Both means, and the cells that are dealt, are weighted label by label to the population stated.
 */
typedef struct pv_importance_options {
    int64_t permutations; /* of each column; 5 */
    int64_t rows;         /* at most so many are looked at, evenly spaced; 0: 20000, or 2000 of a posterior */
    int64_t seed;         /* 1 */
} pv_importance_options;

pv_importance_options pv_importance_options_default(void);
extern const pv_option pv_importance_option_table[]; /* ends with a NULL name */

typedef struct pv_column_importance {
    char *name;
    double loss; /* the mean over permutations */
    double sd;   /* over permutations; NaN of one */
} pv_column_importance;

typedef struct pv_importance {
    size_t columns;
    pv_column_importance *column; /* [columns], the greatest loss first */
    double information;           /* what the model has: the entropy of the labels less its own mean -log p(y|x) */
    size_t rows;                  /* looked at */
    int64_t permutations;
    double *stated; /* [classes], the population that the losses are for */
} pv_importance;

/* table, and roles by which the rows judged were made of it, as for pv_schema_apply. population: of the predictions;
 * not an unknown one. stated [classes]: that the means are for; NULL: that of the predictions, since in any other the
 * model is wrong by design and what it loses says nothing. options may be NULL. The caller frees *importance.
 * Refused: models of images. */
PV_MUST_USE pv_status pv_importance_find(pv_ctx *ctx, const pv_classifier *classifier, const pv_table *table,
                                         const pv_roles *roles, const pv_population *population, const double *stated,
                                         const pv_importance_options *options, pv_importance **importance);
void pv_importance_free(pv_ctx *ctx, pv_importance *importance); /* NULL is fine */

/* Whether metrics of rows with the label shares observed mislead about a population with others. */
bool pv_shares_differ(int classes, const double *observed, const double *prevalence);

#ifdef __cplusplus
}
#endif
#endif
