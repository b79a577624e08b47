/* prevail/diagnose.h: is a fit to be trusted, and if not, what to do? */
#ifndef PREVAIL_DIAGNOSE_H
#define PREVAIL_DIAGNOSE_H

#include "prevail/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One thing that was looked at. Texts name options in backquotes, as errors and the log do. */
typedef struct pv_check {
    const char *name;  /* "rhat"; lives as long as the library */
    const char *title; /* what is checked: "Why the optimiser stopped" */
    bool ok;
    double value;       /* NaN where there is none */
    char text[512];     /* what was found */
    char remedy[512];   /* what to do; empty where ok */
    char warning[1032]; /* where it is worth saying as soon as the fit is done: both in a line; else empty */
} pv_check;

typedef struct pv_diagnosis {
    pv_check *check; /* [count] */
    size_t count;
    size_t failed; /* that are not ok */
    bool refitted; /* the check "seed" was made */
} pv_diagnosis;

typedef struct pv_diagnose_options {
    const pv_fit_options *fit; /* of the fit; NULL: those in the classifier's record */
    const pv_dataset *data;    /* the rows of the fit, by the classifier's schema, with which it is fitted twice more by
                                  other seeds; those of another table fail a check, and are not fitted to. NULL: that is
                                  not checked. Not read where the fit had a population sample, which those fits would
                                  need as well */
} pv_diagnose_options;

/* The checks by name, those that apply, in this order: optimiser; posterior, elbo_error, elbo_gap, rhat,
 * effective_size, divergences, tree_depth; prevalence, population, strata, few_decide, few_rows; separation,
 * prior_weight; data, seed. docs/formats.md has their limits. options may be NULL. What the fits by other seeds log is
 * about other models and is not told. Interrupted among them it fails with PV_ERR_INTERRUPTED. The caller frees
 * *diagnosis. */
PV_MUST_USE pv_status pv_diagnose(pv_ctx *ctx, const pv_classifier *classifier, const pv_diagnose_options *options,
                                  pv_diagnosis **diagnosis);
void pv_diagnosis_free(pv_ctx *ctx, pv_diagnosis *diagnosis); /* NULL is fine */

/* Risk along one column: rows in bins of its values, or by its levels. Rows weigh, label by label, what they stand for
 * in the population of the predictions. */
typedef struct pv_column_risk {
    size_t source;              /* of the schema */
    size_t bins;                /* at most 12; of a text column with more levels the heaviest */
    double *x;                  /* [bins], weighted means of a number; 0, 1, ... of a text column */
    int32_t *level;             /* [bins], TEXT: the level, -1 for rows that lack it; NULL: a number */
    double *predicted;          /* [bins], mean risk of the positive label */
    double *observed, *lo, *hi; /* [bins], its weighted share, NaN where no row has it, and the interval */
    double away;     /* mean square of the distance between the two in log odds, in half widths of the interval */
    size_t left_out; /* levels of a text column that have rows and no bin */
} pv_column_risk;

typedef struct pv_column_risks {
    int positive; /* the label */
    double level; /* of the intervals */
    size_t count;
    pv_column_risk *column; /* [count], those farthest off first; columns of one bin are left out */
} pv_column_risks;

/* Shows where a model's line is wrong. said: pv_predict's for these rows. Refused: rows without labels, and images.
 * Without rows of the positive label, or of any other, there is no column. The caller frees *risks. */
PV_MUST_USE pv_status pv_column_risks_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                          const pv_prediction *said, double level, pv_column_risks **risks);
void pv_column_risks_free(pv_ctx *ctx, pv_column_risks *risks); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
