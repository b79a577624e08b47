/* src/plan/rules.h: facts about a fit, as bits, and the rules that reject combinations.
 *
 * Options, data and what is derived from them contribute facts. One ordered list of rules says which facts exclude each
 * other. It is applied to the options alone before any work, again when the data are known, and again when the
 * prevalence is known.
 */
#ifndef PV_SRC_RULES_H
#define PV_SRC_RULES_H

#include "base/base.h"
#include "base/facts.h"
#include "prevail/plan.h"

#define PV__FACT_LIST(X)                                                                                               \
    /* options */                                                                                                      \
    X(IMAGES)  /* the model takes views */                                                                             \
    X(ORDINAL) /* ordered labels */                                                                                    \
    X(COEFFICIENTS)                                                                                                    \
    X(SMOOTH) /* columns have curved parts */                                                                          \
    X(NORMAL) /* the slopes' prior is normal, or still open */                                                         \
    X(MINIBATCHES)                                                                                                     \
    X(FULL_BATCH)                                                                                                      \
    X(MARGINAL)  /* the loss has a marginal */                                                                         \
    X(STATED)    /* the loss uses the prevalence */                                                                    \
    X(ABSOLUTE)  /* the loss estimates absolute risks */                                                               \
    X(OF_DESIGN) /* the loss describes the sampling design */                                                          \
    X(TAKES_SAMPLE)                                                                                                    \
    X(IMPORTANCE)                                                                                                      \
    X(PROFILE) /* the option `marginal`, for any loss */                                                               \
    X(PLUGIN)                                                                                                          \
    X(AUXILIARY)                                                                                                       \
    X(LINEAR)    /* the auxiliary network is linear */                                                                 \
    X(ESTIMATE)  /* map or ml */                                                                                       \
    X(PRIOR)     /* everything except ml */                                                                            \
    X(SANDWICH)  /* standard errors of weighted estimates: a linear model by map, ml or robust */                      \
    X(POSTERIOR) /* laplace, vi and hmc */                                                                             \
    X(LAPLACE)                                                                                                         \
    X(VI)                                                                                                              \
    X(HMC)                                                                                                             \
    X(ROBUST)                                                                                                          \
    X(SPREADS)                                                                                                         \
    X(SAMPLE) /* a population sample */                                                                                \
    X(PREVALENCE)                                                                                                      \
    X(STRENGTH) /* `prevalence-n` is not auto */                                                                       \
    X(SUBCOHORT)                                                                                                       \
    X(PHASE_ONE)                                                                                                       \
    X(BY_FILE) /* `prevalence-by` */                                                                                   \
    X(IW_TOTAL)                                                                                                        \
    X(PRETRAINED)                                                                                                      \
    X(FREEZE_LOW)                                                                                                      \
    X(PATIENCE)                                                                                                        \
    X(VALIDATION)                                                                                                      \
    X(JEFFREYS)  /* the intercept's prior */                                                                           \
    X(WEIGHTED)  /* `weighting=1` */                                                                                   \
    X(EFFICIENT) /* `weighting=0` */                                                                                   \
    X(MATCH)     /* the option `match` was given */                                                                    \
    X(MIXTURE)   /* `model=auto` */                                                                                    \
    X(TREES)     /* `model=trees` */                                                                                   \
    X(ITSELF)    /* one of these two */                                                                                \
    X(MISREAD)   /* `label-error` */                                                                                   \
    X(DEVICE)    /* cuda */                                                                                            \
    /* the data */                                                                                                     \
    X(DATA)        /* the data are known */                                                                            \
    X(ARRAYS)      /* their rows are images */                                                                         \
    X(SETS)        /* matched sets */                                                                                  \
    X(VOTES)       /* all labels are soft */                                                                           \
    X(SOFT)        /* some labels are soft */                                                                          \
    X(NAMED)       /* strata of the population have names */                                                           \
    X(MANY_LABELS) /* more than two */                                                                                 \
    X(STRATA)      /* there are several strata */                                                                      \
    X(CLUSTERS)                                                                                                        \
    X(SAMPLING) /* sampling weights */                                                                                 \
    /* derived from both */                                                                                            \
    X(READ)       /* the population is known */                                                                        \
    X(KNOWN)      /* the prevalence is known exactly */                                                                \
    X(RESTS)      /* it was stated, and rests on observations */                                                       \
    X(BOUNDS)     /* it was stated as an interval */                                                                   \
    X(TWO)        /* there are two estimates, the efficient and the weighted */                                        \
    X(WEIGHTLESS) /* the prevalence rests on no observations */                                                        \
    X(FREE)       /* the intercept has no prior */                                                                     \
    X(LAST_LAYER) /* the posterior covers only the last layer */

typedef enum pv__fact {
#define PV__FACT(name) PV_FACT_##name,
    PV__FACT_LIST(PV__FACT)
#undef PV__FACT
        PV_FACTS
} pv__fact;
_Static_assert(PV_FACTS <= 64, "facts are bits of one number");

/* sample: a population sample will be given. */
pv__fact_set pv__facts_of_options(const pv_ctx *ctx, const pv_fit_options *options, bool images, bool sample);
pv__fact_set pv__facts_of_data(const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options);

/* Fails with the first rule that the facts break. */
PV_MUST_USE pv_status pv__rules_check(pv_ctx *ctx, const pv_fit_options *options, pv__fact_set facts);

/* The purpose of an option that would have no effect under these facts; NULL if it has an effect. */
const char *pv__idle_for(pv__fact_set facts, const char *option);

#endif
