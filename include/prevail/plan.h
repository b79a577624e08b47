/* prevail/plan.h: the options of a fit, and the plan of a fit with them. */
#ifndef PREVAIL_PLAN_H
#define PREVAIL_PLAN_H

#include "prevail/data.h"
#include "prevail/design.h"
#include "prevail/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- priors ------------------------------------------------------------------------------------------------------ */

typedef enum pv_prior_kind { PV_PRIOR_NONE, PV_PRIOR_NORMAL, PV_PRIOR_STUDENT, PV_PRIOR_LAPLACE } pv_prior_kind;
#define PV_PRIOR_KIND_LIST(X)                                                                                          \
    X(NONE, "none")                                                                                                    \
    X(NORMAL, "normal")                                                                                                \
    X(STUDENT, "student")                                                                                              \
    X(LAPLACE, "laplace")
const char *pv_prior_kind_name(pv_prior_kind kind);

typedef struct pv_prior {
    pv_prior_kind kind;
    double scale;    /* normal, laplace: their scale; student: 1 */
    double df;       /* student */
    double constant; /* log normalising constant of the density; set by pv_prior_parse */
} pv_prior;

/* Parses "normal:2.5", "student:4", "laplace:1" or "none". option is the option's name in messages. */
PV_MUST_USE pv_status pv_prior_parse(pv_ctx *ctx, const char *option, const char *text, pv_prior *prior);
/* -log p(w), normalised, and its derivative in *dvalue (may be NULL). */
double pv_prior_loss(const pv_prior *prior, double w, double *dvalue);

/* ---- options ----------------------------------------------------------------------------------------------------- */

typedef enum pv_inference {
    PV_INFER_MAP,
    PV_INFER_ML,
    PV_INFER_LAPLACE,
    PV_INFER_VI,
    PV_INFER_HMC,
    PV_INFER_ROBUST
} pv_inference;
#define PV_INFERENCE_LIST(X)                                                                                           \
    X(MAP, "map")                                                                                                      \
    X(ML, "ml")                                                                                                        \
    X(LAPLACE, "laplace")                                                                                              \
    X(VI, "vi")                                                                                                        \
    X(HMC, "hmc")                                                                                                      \
    X(ROBUST, "robust")
const char *pv_inference_name(pv_inference inference);

typedef enum pv_start { PV_START_PREVALENCE, PV_START_ZERO } pv_start;

typedef enum pv_match { PV_MATCH_NONE, PV_MATCH_FULL } pv_match;

/* The estimate of a linear model that is used. */
typedef enum pv_estimate { PV_ESTIMATE_EFFICIENT, PV_ESTIMATE_WEIGHTED, PV_ESTIMATE_COMBINED } pv_estimate;
#define PV_ESTIMATE_LIST(X)                                                                                            \
    X(EFFICIENT, "efficient")                                                                                          \
    X(WEIGHTED, "weighted")                                                                                            \
    X(COMBINED, "combined")
const char *pv_estimate_name(pv_estimate estimate);
bool pv_estimate_find(const char *name, pv_estimate *estimate);

typedef enum pv_errors { PV_ERRORS_AUTO, PV_ERRORS_HC0 } pv_errors;

typedef struct pv_fit_options {
    const char *prevalence;   /* may be NULL only for plain */
    const char *prevalence_n; /* "rows", a number, or "known" */
    int loss;                 /* pv_loss */
    int marginal;             /* pv_marginal */
    int match;                /* pv_match */
    const char *weighting;    /* "auto", "0": the efficient estimate, "1": the weighted estimate */
    int errors;               /* pv_errors */
    const char *model;
    const char *candidates; /* `model=auto`: names of the models to combine; "all" */
    int infer;              /* pv_inference */
    const char *prior; /* as for pv_prior_parse; "auto": its scale is estimated from the rows; "usual": the default of
                          networks too */
    const char *intercept_prior;
    const char *pretrained; /* networks: NPZ file with the low-level module's weights; NULL: none */
    bool freeze_low;        /* networks: the low-level module is not trained */
    const char *batch;      /* "auto", "full" or a number of rows */
    const char *design;     /* "uniform", "balanced", "optimal", "counts:16,16" */
    int population_weight;  /* pv_weighting */
    int epoch_weight;       /* pv_weighting */
    bool direct;
    int implementation;   /* 0, 1, 2: the paper's 1, 2, 3 */
    int start;            /* pv_start */
    int64_t max_iter;     /* full batch */
    double tolerance;     /* full batch: largest entry of the gradient per row */
    int64_t epochs;       /* minibatch */
    double rate;          /* minibatch: Adam's learning rate; 0: 0.01, and 0.0002 for networks */
    const char *schedule; /* minibatch: "cosine", "constant", "step:10:0.5", "warmup:2,cosine" */
    double validation;    /* minibatch: share of the rows held out and scored after each epoch; 0: none */
    int64_t patience; /* number of epochs without a better score after which training stops and the best parameters are
                    used; 0: no early stop */
    double auxiliary_rate; /* learning rate of the auxiliary network's bias as a multiple of rate; 0: chosen from the
                              rows */
    double auxiliary_sparsity;
    double iw_total;    /* iw: the sum of the weights, the paper's N_w; 0: the sum of the rows' own weights */
    int64_t draws;      /* posteriors: number of draws stored with the model (hmc: over all chains) */
    int64_t components; /* vi */
    int64_t samples;    /* vi: per component and step */
    int64_t steps;      /* vi */
    double vi_rate;     /* vi: Adam's rate in the scaled coordinates */
    int64_t chains;     /* hmc */
    int64_t warmup;     /* hmc: per chain */
    int64_t seed;
    const char *prevalence_by; /* with strata: file with each stratum's prevalence and share; NULL: none */
    double
        subcohort; /* case-cohort sample: the rows are all cases and this share of the others; 0: not such a sample */
    const char *
        phase_one; /* with strata: file with the cohort's counts by stratum and label, or with its people; NULL: none */
    double prevalence_odds; /* with prevalence_by: factor for the odds, against the first label, of every prevalence in
                               that file; 1 (or 0): none */
    const char
        *label_error; /* how often labels were recorded wrongly: "sensitivity=0.9,specificity=45/50"; NULL: never */
    /* Not in the table: */
    const pv_csv_options *csv; /* syntax of these two files; NULL: defaults */
    const pv_table
        *known; /* content of the one of these two files that is named, which is then not read; NULL: read the file */
    bool trace; /* minibatches: store a pv_trace in the classifier */
    const pv_dataset *sample; /* ig, full batch: rows of the true population in the same schema, labels ignored; NULL:
                   none. They determine p(x), and prevalence may then be NULL: it is estimated from the model */
    const char *command;      /* stored as the command in the classifier's record; NULL: none */
    bool bare;                /* no standard errors: the fit is used for predictions only */
    bool glance;              /* auto: one cross-validation in five folds (pv_fit_outlook) */
    bool prior_chosen; /* for a finished fit (pv_classifier_options): the prior's scale was estimated from the rows */
} pv_fit_options;

extern const pv_option pv_fit_option_table[]; /* ended by a NULL name */
pv_fit_options pv_fit_options_default(void);

/* The loss of a fit: that of the options. If it is the default, ig: the matched loss for matched sets, and plain if
 * nothing states the population. sample: there is, or will be, a population sample. */
pv_loss pv_fit_loss(const pv_fit_options *options, bool sample, bool matched);
/* The purpose of an option, by its name in the table, if it would have no effect in a fit with these options to a table
 * or to images, for example "minibatches (`batch` N)". NULL: the option has an effect. Also accepts "trace" and
 * "interval". */
const char *pv_fit_idle(const pv_fit_options *options, bool images, const char *name);
/* The options with all that would have no effect set to their defaults, for several fits with the same options of which
 * some are for other losses. */
pv_fit_options pv_fit_options_used(const pv_fit_options *options, bool images);
/* Makes all checks that need no data: texts that cannot be parsed, options that contradict each other, and given
 * options without an effect. given [n_given]: names of the options that the user set, whatever their value. sample:
 * there will be a population sample. pv_fit begins with this check, with no option given, and warns of non-default
 * values without an effect. */
PV_MUST_USE pv_status pv_fit_check(pv_ctx *ctx, const pv_fit_options *options, bool sample, const char *const *given,
                                   size_t n_given);

/* All options of prevail fit for data and model by name: pv_role_option_table, pv_csv_option_table,
 * pv_image_option_table and pv_fit_option_table. The caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_fit_settings_new(pv_ctx *ctx, pv_settings **settings);
/* pv_fit_check for settings, which know which options were set. pv_learn begins with it. */
PV_MUST_USE pv_status pv_fit_settings_check(pv_ctx *ctx, const pv_settings *settings, bool sample);
/* The pv_fit_options inside settings, borrowed; NULL if settings were made without that table. */
const pv_fit_options *pv_fit_options_of(const pv_settings *settings);
/* Sets the content of the file named by prevalence_by or phase_one, which is then not read. Borrowed. */
void pv_fit_settings_set_known(pv_settings *settings, const pv_table *known);

/* Completes roles for a fit of the file path. The label named in the prevalence becomes the positive one. For an image
 * model, image gets the model's sizes and is set in roles; if no target is named, it is labels, votes or frequencies,
 * whichever the file has. Refuses what cannot be learned before any table is read. Borrows its arguments. */
PV_MUST_USE pv_status pv_roles_complete(pv_ctx *ctx, const char *path, const pv_fit_options *fit, pv_roles *roles,
                                        pv_image_options *image);

/* ---- the plan of a fit ------------------------------------------------------------------------------------------- */

/* One decision. option: the option that determines it, NULL if the data do. why: where the value comes from; NULL if
 * the user set it. */
typedef struct pv_plan_line {
    const char *name, *option;
    char *value;
    const char *why;
} pv_plan_line;

/* What a fit would do, with decisions in order of interest to the reader. */
typedef struct pv_plan {
    size_t count;
    pv_plan_line *line; /* [count] */
} pv_plan;

void pv_plan_free(pv_ctx *ctx, pv_plan *plan); /* NULL is allowed */

#ifdef __cplusplus
}
#endif

#endif
