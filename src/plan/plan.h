/* src/plan/plan.h: the options of a fit, parsed, completed and checked.
 *
 * A plan is made in three steps, each of which ends with the rules (plan/rules.h) on what is known by then:
 *
 *   pv__plan_begin     the options alone: texts parsed, facts of model, loss, inference and batches
 *   pv__plan_data      the data: images or columns, matched sets, clusters, votes; defaults that depend on them
 *   pv__plan_settle    the population: its prevalence, the priors, the estimate in use
 *
 * What follows asks the plan. Nothing else parses an option's text or fills in a default.
 */
#ifndef PV_SRC_PLAN_H
#define PV_SRC_PLAN_H

#include "base/base.h"
#include "core/loss.h"
#include "design/design.h"
#include "model/model.h"
#include "plan/rules.h"
#include "prevail/plan.h"

/* ---- learning rates (schedule.c) --------------------------------------------------------------------------------- */

typedef enum pv__schedule_kind { PV_SCHEDULE_COSINE, PV_SCHEDULE_CONSTANT, PV_SCHEDULE_STEP } pv__schedule_kind;
typedef struct pv__schedule {
    pv__schedule_kind kind;
    double epochs, warmup; /* in all; of the warm-up */
    double every, factor;  /* step */
} pv__schedule;
pv_status pv__schedule_parse(pv_ctx *ctx, const char *text, int64_t epochs, pv__schedule *schedule);
/* The rate's share for a step that goes from epoch to next, counted as real numbers from 0. */
double pv__schedule_at(const pv__schedule *schedule, double epoch, double next);

/* ---- candidates of a mixture (candidates.c) ---------------------------------------------------------------------- */

typedef struct pv__candidate {
    const char *name;          /* in `candidates`; several may have it */
    const char *model, *prior; /* NULL: the prevalence alone */
    pv_loss loss;
    bool bounded; /* left out where rows times columns are many */
} pv__candidate;
enum { PV__CANDIDATES_MAX = 32 };
const pv__candidate *pv__candidates(size_t *count);
bool pv__candidate_fits(const pv__candidate *candidate, size_t rows, int features);
/* Which of them `candidates` names, chosen [PV__CANDIDATES_MAX]. */
pv_status pv__candidates_parse(pv_ctx *ctx, const char *text, bool *chosen);

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

typedef struct pv__plan {
    const pv_fit_options *given; /* as the caller has them; borrowed */
    pv_fit_options options;      /* completed */
    pv__fact_set facts;
    const pv_model *model; /* from pv__plan_settle on; borrowed */
    bool images;           /* the model takes views */
    bool minibatches;
    bool map;            /* there is a prior */
    bool prior_is_open;  /* the rows may choose it */
    size_t prior_folds;  /* by so many folds; 0: not so */
    bool prior_by_rows;  /* of a linear model: by their marginal likelihood */
    double prior_spread; /* the variance of the logarithm of a scale so chosen; 0: it was stated */
    bool few_rows;       /* of a linear model, for each of its slopes: predictions average over what is uncertain */
    pv_prior prior;      /* while it is open: normal:1 */
    char prior_text[32]; /* as chosen; options.prior points here then */
    pv_prior intercept_prior;
    size_t batch;    /* 0: full */
    double strength; /* of `prevalence-n`; INFINITY: known, NaN: as many as there are rows */
    pv__schedule schedule;
    pv_match match;
    pv_estimate use; /* of a linear model that has two (infer/combined.h) */
    /* the population */
    bool has_prevalence;
    bool whole;         /* stated as an interval: the whole of what is known, no count of observations */
    bool estimated;     /* no prevalence was stated: a sample of the population stands for it */
    double *prevalence; /* [classes], as stated, from stated_n observations */
    double stated_n;
    double *believed;         /* [classes], with the half counts of Jeffreys' prior */
    pv_prevalence population; /* what the losses take: as stated, or as believed */
} pv__plan;

/* What the population's part of a plan is made of. mass [classes]: label mass of the labelled rows. */
typedef struct pv__plan_rows {
    const pv_schema *schema;
    const pv__design *design;
    const pv_model *model;
    const double *mass;
    size_t n, labelled; /* rows; those with labels */
    bool sampling;      /* weights are sampling weights, the sample's included */
} pv__plan_rows;

/* The options are borrowed. sample: there is, or will be, a population sample. On failure *plan needs no clearing. */
pv_status pv__plan_begin(pv_ctx *ctx, const pv_fit_options *given, bool sample, pv__plan *plan);
pv_status pv__plan_data(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, pv__plan *plan);
/* The caller clears plan with pv__plan_clear, also on failure. */
pv_status pv__plan_settle(pv_ctx *ctx, const pv__plan_rows *rows, pv__plan *plan);
void pv__plan_clear(pv_ctx *ctx, pv__plan *plan);
/* Closes the prior: "normal:2.5", "none", ... */
pv_status pv__plan_set_prior(pv_ctx *ctx, pv__plan *plan, const char *text);

static inline pv_loss pv__plan_loss(const pv__plan *plan) {
    return (pv_loss)plan->options.loss;
}

/* Whether p(x) is profiled out. */
static inline bool pv__plan_is_profile(const pv__plan *plan) {
    return pv_loss_has_marginal(pv__plan_loss(plan)) && plan->options.marginal == PV_MARGINAL_PROFILE;
}

/* Whether a linear model has two estimates, the efficient and the weighted one. */
bool pv__plan_has_two(const pv__plan *plan, bool linear, bool sample);
/* Whether the posterior asked for is over the last layer alone. */
bool pv__plan_is_last_layer(const pv__plan *plan, const pv_model *model);

/* (plan_lines.c) The settled plan, for people. The caller frees *made with pv_plan_free. */
PV_MUST_USE pv_status pv__plan_tell(pv_ctx *ctx, const pv__plan *plan, const pv__plan_rows *rows,
                                    const pv_dataset *data, pv_plan **made);

/* (population.c) The prevalence and how well it is known; then the intercept's prior, which depends on it. */
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

/* Whether a fit to a table, or to images, goes by minibatches. */
bool pv__minibatches(const pv_fit_options *options, bool images);
/* Whether a fit mixes candidates: `model=auto`. */
bool pv__mixes(const pv_fit_options *options);
/* The prior is "usual" or "auto". */
bool pv__prior_is_open(const pv_fit_options *options);
/* Warns of values that are not the default and would do nothing. */
void pv__warn_of_idle(pv_ctx *ctx, const pv__plan *plan);

/* (options.c) JSON text of version, command and options, as given and, where that is another, as used; the caller frees
 * with pv__free. */
pv_status pv__record(pv_ctx *ctx, const pv_fit_options *given, const pv_fit_options *used, char **record);

#endif
