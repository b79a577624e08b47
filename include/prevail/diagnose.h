/* prevail/diagnose.h: checks whether a fit can be trusted, with advice. */
#ifndef PREVAIL_DIAGNOSE_H
#define PREVAIL_DIAGNOSE_H

#include "prevail/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One check. Texts name options in backquotes, like errors and log messages. */
typedef struct pv_check {
    const char *name;  /* "rhat"; valid as long as the library is loaded */
    const char *title; /* what is checked: "Why the optimiser stopped" */
    bool ok;
    double value;       /* NaN if there is none */
    char text[512];     /* the finding */
    char remedy[512];   /* what to do; empty if ok */
    char warning[1032]; /* finding and remedy in one line, if they should be shown right after the fit; else empty */
} pv_check;

typedef struct pv_diagnosis {
    pv_check *check; /* [count] */
    size_t count;
    size_t failed; /* number of checks that are not ok */
    bool refitted; /* whether the check "seed" was made */
} pv_diagnosis;

typedef struct pv_diagnose_options {
    const pv_fit_options *fit; /* options of the fit; NULL: those stored in the classifier */
    const pv_dataset
        *data; /* the training rows in the classifier's schema, which are fitted again with two other seeds. Rows of
                  another table fail a check and are not fitted. NULL: this check is skipped. Not used if the fit had a
                  population sample, which the new fits would need as well */
} pv_diagnose_options;

/* Makes the checks that apply, in this order: optimiser; posterior, elbo_error, elbo_gap, rhat, effective_size,
 * divergences, tree_depth; prevalence, population, strata, few_decide, few_rows; separation, prior_weight; data, seed.
 * docs/formats.md has their limits. options may be NULL. Log messages of the fits with other seeds are dropped, since
 * they concern other models. Fails with PV_ERR_INTERRUPTED if interrupted during them. The caller frees *diagnosis. */
PV_MUST_USE pv_status pv_diagnose(pv_ctx *ctx, const pv_classifier *classifier, const pv_diagnose_options *options,
                                  pv_diagnosis **diagnosis);
void pv_diagnosis_free(pv_ctx *ctx, pv_diagnosis *diagnosis); /* NULL is allowed */
/* The same as a tree: verdict ("ok", "problems") and checks, a list of name, ok, value, text, remedy, title, warning.
 * The caller frees *result with pv_result_free. */
PV_MUST_USE pv_status pv_diagnosis_result(pv_ctx *ctx, const pv_diagnosis *diagnosis, pv_result **result);

/* Risk along one column: rows in bins of its values, or by its levels. Rows of each label are weighted to the
 * population of the predictions. */
typedef struct pv_column_risk {
    size_t source;              /* index in the schema */
    size_t bins;                /* at most 12; for a text column with more levels those of largest weight */
    double *x;                  /* [bins], weighted mean of a numeric column; 0, 1, ... for a text column */
    int32_t *level;             /* [bins], TEXT: the level, -1 for missing cells; NULL: numeric */
    double *predicted;          /* [bins], mean predicted risk of the positive label */
    double *observed, *lo, *hi; /* [bins], its weighted share (NaN if no row has the label) and the interval */
    double away;     /* mean square of the difference of the two in log odds, in half widths of the interval */
    size_t left_out; /* levels of a text column that have rows but no bin */
} pv_column_risk;

typedef struct pv_column_risks {
    int positive; /* the label */
    double level; /* of the intervals */
    size_t count;
    pv_column_risk *column; /* [count], those of largest deviation first; columns with one bin are left out */
} pv_column_risks;

/* Compares predicted and observed risks along each column, to show where the model is wrong. said: predictions of
 * pv_predict for these rows. Refused: rows without labels, and images. Without rows of the positive label, or of any
 * other, there are no columns. The caller frees *risks. */
PV_MUST_USE pv_status pv_column_risks_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                          const pv_prediction *said, double level, pv_column_risks **risks);
void pv_column_risks_free(pv_ctx *ctx, pv_column_risks *risks); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
