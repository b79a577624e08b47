/* src/plan/plan.h: the options of a fit, parsed, completed and checked.
 *
 * A plan is made in three steps. Each ends by applying the rules (plan/rules.h) to what is known at that point:
 *
 *   pv__plan_begin     the options alone: texts parsed, facts of model, loss, inference and batches
 *   pv__plan_data      the data: images or columns, matched sets, clusters, votes; defaults that depend on them
 *   pv__plan_settle    the population: its prevalence, the priors, the estimate to use
 *
 * All later code reads the plan. Nothing else parses an option's text or fills in a default.
 */
#ifndef PV_SRC_PLAN_H
#define PV_SRC_PLAN_H

#include "base/base.h"
#include "core/loss.h"
#include "design/design.h"
#include "model/model.h"
#include "plan/rules.h"
#include "prevail/plan.h"
#include "prevail/result.h"

/* ---- learning rates (schedule.c) --------------------------------------------------------------------------------- */

typedef enum pv__schedule_kind { PV_SCHEDULE_COSINE, PV_SCHEDULE_CONSTANT, PV_SCHEDULE_STEP } pv__schedule_kind;
typedef struct pv__schedule {
    pv__schedule_kind kind;
    double epochs, warmup; /* total; of the warm-up */
    double every, factor;  /* for PV_SCHEDULE_STEP */
} pv__schedule;
pv_status pv__schedule_parse(pv_ctx *ctx, const char *text, int64_t epochs, pv__schedule *schedule);
/* The factor of the rate for a step from `epoch` to `next`, which are real numbers counted from 0. */
double pv__schedule_at(const pv__schedule *schedule, double epoch, double next);

/* ---- candidates of a mixture (candidates.c) ---------------------------------------------------------------------- */

typedef struct pv__candidate {
    const char *name;          /* its name in `candidates`; several candidates may share it */
    const char *model, *prior; /* model NULL: the prevalence alone; prior NULL: none */
    pv_loss loss;
    bool alone;   /* scored next to the mixture but not part of it, where `candidates` names it */
    bool bounded; /* left out if rows times columns is large */
    bool library; /* left out if XGBoost is not available */
    size_t least; /* left out if there are fewer rows */
} pv__candidate;
enum { PV__CANDIDATES_MAX = 32 };
const pv__candidate *pv__candidates(size_t *count);
bool pv__candidate_fits(const pv_ctx *ctx, const pv__candidate *candidate, size_t rows, int features);
/* The largest rows times columns for which a candidate in `candidates` uses curved parts of columns; 0: none does. */
pv_status pv__candidates_smooth(pv_ctx *ctx, const char *text, double *cells);
/* Parses the names in `candidates` to chosen [PV__CANDIDATES_MAX]. */
pv_status pv__candidates_parse(pv_ctx *ctx, const char *text, bool *chosen);

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

typedef struct pv__plan {
    const pv_fit_options *given; /* as the caller gave them; borrowed */
    pv_fit_options options;      /* with defaults filled in */
    pv__fact_set facts;
    const pv_model *model; /* set by pv__plan_settle; borrowed */
    bool images;           /* the model's input consists of views */
    bool minibatches;
    bool map;            /* there is a prior */
    bool prior_is_open;  /* the prior's scale may be learned from the rows */
    size_t prior_folds;  /* learned by cross-validation with this many folds; 0: not by folds */
    bool prior_by_rows;  /* linear model: learned from the marginal likelihood */
    double prior_spread; /* variance of the logarithm of a learned scale; 0: the scale was given */
    bool few_rows;  /* linear model with few rows per slope: predictions average over the coefficients' uncertainty */
    pv_prior prior; /* normal:1 until the scale is learned */
    char prior_text[32]; /* the learned prior; options.prior then points here */
    pv_prior intercept_prior;
    size_t batch;    /* 0: full batch */
    double strength; /* `prevalence-n`; INFINITY: known, NaN: the number of rows */
    pv__schedule schedule;
    pv_match match;
    pv_estimate use; /* for a linear model with two estimates (infer/combined.h) */
    bool misread;    /* labels were recorded with errors: */
    pv_label_error label_error;
    /* the population */
    bool has_prevalence;
    bool whole;         /* given as an interval, which is then all that is known: no count of observations */
    bool estimated;     /* no prevalence was given: a sample of the population provides it */
    double *prevalence; /* [classes], as given, resting on stated_n observations */
    double stated_n;
    double *believed;         /* [classes], with the half counts of Jeffreys' prior added */
    pv_prevalence population; /* used by the losses: as given, or with half counts */
} pv__plan;

/* What the population's part of a plan depends on. mass [classes]: label mass of the labelled rows. */
typedef struct pv__plan_rows {
    const pv_schema *schema;
    const pv__design *design;
    const pv_model *model;
    const double *mass;
    size_t n, labelled; /* number of rows, and of labelled ones */
    bool sampling;      /* weights are sampling weights, including those of the population sample */
} pv__plan_rows;

/* Borrows the options. sample: there is, or will be, a population sample. On failure *plan needs no clearing. */
pv_status pv__plan_begin(pv_ctx *ctx, const pv_fit_options *given, bool sample, pv__plan *plan);
pv_status pv__plan_data(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, pv__plan *plan);
/* The caller clears plan with pv__plan_clear, also on failure. */
pv_status pv__plan_settle(pv_ctx *ctx, const pv__plan_rows *rows, pv__plan *plan);
void pv__plan_clear(pv_ctx *ctx, pv__plan *plan);
pv_prior pv__prior_normal(double scale); /* (prior.c) */
/* Fixes the prior: "normal:2.5", "none", ... */
pv_status pv__plan_set_prior(pv_ctx *ctx, pv__plan *plan, const char *text);

static inline pv_loss pv__plan_loss(const pv__plan *plan) {
    return (pv_loss)plan->options.loss;
}

/* Whether p(x) is profiled out. */
static inline bool pv__plan_is_profile(const pv__plan *plan) {
    return pv_loss_has_marginal(pv__plan_loss(plan)) && plan->options.marginal == PV_MARGINAL_PROFILE;
}

/* Whether a fact holds (rules.h), once the plan is settled. */
static inline bool pv__plan_is(const pv__plan *plan, pv__fact fact) {
    return (plan->facts & pv__fact_if(true, fact)) != 0;
}
/* Whether the requested posterior covers only the last layer. */
bool pv__plan_is_last_layer(const pv__plan *plan, const pv_model *model);

/* (plan_lines.c) The settled plan as readable lines. The caller frees *made with pv_plan_free. */
PV_MUST_USE pv_status pv__plan_tell(pv_ctx *ctx, const pv__plan *plan, const pv__plan_rows *rows,
                                    const pv_dataset *data, pv_plan **made);

/* (label_errors.c) Parses `label-error`; completes it for the population, and checks it against the rows. */
PV_MUST_USE pv_status pv__label_error_parse(pv_ctx *ctx, const char *text, pv_label_error *error);
PV_MUST_USE pv_status pv__label_error_settle(pv_ctx *ctx, const pv__plan_rows *rows, pv__plan *plan);

/* (stated_prevalence.c) Determines the prevalence and how well it is known, then the intercept's prior, which depends
 * on it. */
pv_status pv__plan_population(pv_ctx *ctx, const pv__plan_rows *rows, pv__plan *plan);

static inline pv__design_options pv__design_options_of(const pv_fit_options *o) {
    return (pv__design_options){.prevalence = o->prevalence,
                                .prevalence_n = o->prevalence_n,
                                .prevalence_by = o->prevalence_by,
                                .phase_one = o->phase_one,
                                .known = o->known,
                                .csv = o->csv,
                                .prevalence_odds = o->prevalence_odds,
                                .subcohort = o->subcohort,
                                .sample = o->sample != NULL,
                                .variances = o->infer == PV_INFER_ROBUST && !o->bare};
}

/* Whether a fit to a table or to images uses minibatches. */
bool pv__minibatches(const pv_fit_options *options, bool images);
/* Whether a fit mixes candidates: `model=auto`. */
bool pv__mixes(const pv_fit_options *options);
/* Whether it grows trees; and whether it does either, and thus does not optimise parameters by descent. */
bool pv__grows(const pv_fit_options *options);
bool pv__fits_itself(const pv_fit_options *options);
/* Whether the prior is "usual" or "auto". */
bool pv__prior_is_open(const pv_fit_options *options);
/* Warns of values that differ from the default but have no effect. */
void pv__warn_of_idle(pv_ctx *ctx, const pv__plan *plan);

/* (options.c) JSON text with version, command, sample (a value, which it takes) and options: as given, and as used if
 * that differs. The caller frees it with pv__free. */
pv_status pv__record(pv_ctx *ctx, const pv_fit_options *given, const pv_fit_options *used, pv_result *sample,
                     char **record);

#endif
