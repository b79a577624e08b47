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
 * effective_size, divergences, tree_depth; prevalence, population; separation, prior_weight; data, seed.
 * docs/formats.md has their limits. options may be NULL. What the fits by other seeds log is about other models and is
 * not told. Interrupted among them it fails with PV_ERR_INTERRUPTED. The caller frees *diagnosis. */
PV_MUST_USE pv_status pv_diagnose(pv_ctx *ctx, const pv_classifier *classifier, const pv_diagnose_options *options,
                                  pv_diagnosis **diagnosis);
void pv_diagnosis_free(pv_ctx *ctx, pv_diagnosis *diagnosis); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
