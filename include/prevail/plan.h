/* prevail/plan.h: the options of a fit, and what a fit with them would do. */
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
bool pv_prior_kind_find(const char *name, pv_prior_kind *kind);

typedef struct pv_prior {
    pv_prior_kind kind;
    double scale;    /* normal, laplace: their scale; student: 1 */
    double df;       /* student */
    double constant; /* of the normalised density; set by pv_prior_parse */
} pv_prior;

/* "normal:2.5", "student:4", "laplace:1", "none". option names the option in messages. */
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
bool pv_inference_find(const char *name, pv_inference *inference);

typedef enum pv_start { PV_START_PREVALENCE, PV_START_ZERO } pv_start;
#define PV_START_LIST(X)                                                                                               \
    X(PREVALENCE, "prevalence")                                                                                        \
    X(ZERO, "zero")
const char *pv_start_name(pv_start start);
bool pv_start_find(const char *name, pv_start *start);

typedef enum pv_match { PV_MATCH_NONE, PV_MATCH_FULL } pv_match;
#define PV_MATCH_LIST(X)                                                                                               \
    X(NONE, "none")                                                                                                    \
    X(FULL, "full")
const char *pv_match_name(pv_match match);
bool pv_match_find(const char *name, pv_match *match);

/* Which estimate of a linear model is in use. */
typedef enum pv_estimate { PV_ESTIMATE_EFFICIENT, PV_ESTIMATE_WEIGHTED, PV_ESTIMATE_COMBINED } pv_estimate;
#define PV_ESTIMATE_LIST(X)                                                                                            \
    X(EFFICIENT, "efficient")                                                                                          \
    X(WEIGHTED, "weighted")                                                                                            \
    X(COMBINED, "combined")
const char *pv_estimate_name(pv_estimate estimate);
bool pv_estimate_find(const char *name, pv_estimate *estimate);

typedef enum pv_errors { PV_ERRORS_AUTO, PV_ERRORS_HC0 } pv_errors;
#define PV_ERRORS_LIST(X)                                                                                              \
    X(AUTO, "auto")                                                                                                    \
    X(HC0, "hc0")
const char *pv_errors_name(pv_errors errors);
bool pv_errors_find(const char *name, pv_errors *errors);

typedef struct pv_fit_options {
    const char *prevalence;   /* NULL only for plain */
    const char *prevalence_n; /* "rows", a number, or "known" */
    int loss;                 /* pv_loss */
    int marginal;             /* pv_marginal */
    int match;                /* pv_match */
    const char *weighting;    /* "auto", "0": the efficient estimate, "1": the weighted one */
    int errors;               /* pv_errors */
    const char *model;
    const char *candidates; /* `model=auto`: what is mixed, by name; "all" */
    int infer;              /* pv_inference */
    const char *prior; /* as for pv_prior_parse; "auto": the rows choose its scale; "usual": as networks need it, too */
    const char *intercept_prior;
    const char *pretrained; /* networks: NPZ with the low-level module's weights; NULL: none */
    bool freeze_low;        /* networks: the low-level module stays as it starts */
    const char *batch;      /* "auto", "full" or rows */
    const char *design;     /* "uniform", "balanced", "optimal", "counts:16,16" */
    int population_weight;  /* pv_weighting */
    int epoch_weight;       /* pv_weighting */
    bool direct;
    int implementation;    /* 0, 1, 2: the paper's 1, 2, 3 */
    int start;             /* pv_start */
    int64_t max_iter;      /* full batch */
    double tolerance;      /* full batch: largest entry of the gradient per row */
    int64_t epochs;        /* minibatch */
    double rate;           /* minibatch: Adam's learning rate; 0: 0.01, and 0.0002 for networks */
    const char *schedule;  /* minibatch: "cosine", "constant", "step:10:0.5", "warmup:2,cosine" */
    double validation;     /* minibatch: share of the rows held out to be scored each epoch; 0: none */
    int64_t patience;      /* epochs without a better score before training stops, the best kept; 0: it does not */
    double auxiliary_rate; /* of the auxiliary network's bias, as a multiple of rate; 0: it follows the rows */
    double auxiliary_sparsity;
    double iw_total;    /* iw: what the weights add up to, the paper's N_w; 0: the rows' own sum */
    int64_t draws;      /* posteriors: kept with the model (hmc: in all chains) */
    int64_t components; /* vi */
    int64_t samples;    /* vi: per component and step */
    int64_t steps;      /* vi */
    double vi_rate;     /* vi: Adam's rate in the scaled coordinates */
    int64_t chains;     /* hmc */
    int64_t warmup;     /* hmc: of each chain */
    int64_t seed;
    const char *prevalence_by; /* with strata: file of each one's prevalence and share; NULL: none */
    double subcohort;       /* a case-cohort sample: all cases and this share of the others are rows; 0: it is none */
    const char *phase_one;  /* with strata: file of the cohort's counts by stratum and label, or of its people; NULL:
                               none */
    double prevalence_odds; /* with prevalence_by: what the odds of every prevalence in that file are multiplied by,
                               those against the first label; 1 (and 0): nothing */
    /* Not in the table: */
    const pv_csv_options *csv; /* how these two files are written; NULL: as usual */
    const pv_table *known;     /* what is in the file of these two that is named, which is then not read; NULL: it is */
    bool trace;                /* minibatches: keep a pv_trace with the classifier */
    const pv_dataset *sample;  /* ig, full batch: rows of the true population by the same schema, labels not read; NULL:
                                  none. They stand for p(x), and prevalence may then be NULL: the classifier's is the
                                  model's estimate of it */
    const char *command;       /* what is kept in the classifier's record as the command; NULL: none */
    bool bare;                 /* without standard errors: a fit that is only to predict */
    bool prior_chosen;         /* of a fit that was made (pv_classifier_options): the rows chose the prior's scale */
} pv_fit_options;

extern const pv_option pv_fit_option_table[]; /* ends with a NULL name */
pv_fit_options pv_fit_options_default(void);

/* The loss of a fit: the options', or, where they have the default, that of matched sets. */
pv_loss pv_fit_loss(const pv_fit_options *options, bool matched);
/* What an option is for, by its name in the table, where it would do nothing in a fit with these options to a table or
 * to images: "minibatches (`batch` N)", say. NULL: it has its part. "trace" is known as well, and "interval". */
const char *pv_fit_idle(const pv_fit_options *options, bool images, const char *name);
/* The options with those that would do nothing at their defaults: for several fits with the same options, of which some
 * are for other losses. */
pv_fit_options pv_fit_options_used(const pv_fit_options *options, bool images);
/* Refuses before any work, and without the data, what cannot be: texts that are not understood, options that do not go
 * together, and given ones that would do nothing. given [n_given]: the names of those that were set on purpose,
 * whatever their value. sample: there is to be a population sample. pv_fit begins with this, with none given, and warns
 * of values that are not the default and do nothing. */
PV_MUST_USE pv_status pv_fit_check(pv_ctx *ctx, const pv_fit_options *options, bool sample, const char *const *given,
                                   size_t n_given);

/* All that prevail fit can be told of its data and model, by name: pv_role_option_table, pv_csv_option_table,
 * pv_image_option_table and pv_fit_option_table. The caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_fit_settings_new(pv_ctx *ctx, pv_settings **settings);
/* pv_fit_check by settings, which know what was set. pv_learn begins with this. */
PV_MUST_USE pv_status pv_fit_settings_check(pv_ctx *ctx, const pv_settings *settings, bool sample);
/* The options of a fit in settings that have that table, borrowed from them; NULL: they have not. */
const pv_fit_options *pv_fit_options_of(const pv_settings *settings);
/* What is in the file that prevalence_by or phase_one names, which is then not read. Borrowed. */
void pv_fit_settings_set_known(pv_settings *settings, const pv_table *known);

/* Completes roles for a fit of the file path: the label that the prevalence names is the positive one; for a model of
 * images, image gets the model's sizes and becomes the roles', and where no target is named it is labels, votes or
 * frequencies, whatever the file has. Refuses what cannot be learned, before any table is read. Borrows. */
PV_MUST_USE pv_status pv_roles_complete(pv_ctx *ctx, const char *path, const pv_fit_options *fit, pv_roles *roles,
                                        pv_image_options *image);

/* ---- the plan of a fit ------------------------------------------------------------------------------------------- */

/* One decision. `option` is the option that decides it, NULL where the data do; `why` says where the value comes from,
 * NULL where it was given. */
typedef struct pv_plan_line {
    const char *name, *option;
    char *value;
    const char *why;
} pv_plan_line;

/* What a fit would do: the plan, in the order in which a reader wants to know it. */
typedef struct pv_plan {
    size_t count;
    pv_plan_line *line; /* [count] */
} pv_plan;

void pv_plan_free(pv_ctx *ctx, pv_plan *plan); /* NULL is fine */

#ifdef __cplusplus
}
#endif

#endif
