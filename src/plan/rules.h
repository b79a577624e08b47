/* src/plan/rules.h: what is so of a fit, as bits, and the rules that reject what does not go together.
 *
 * Options, data and what is made of them contribute facts. One ordered list says which facts rule each other out; it is
 * gone through for the options alone, before any work, and again when the data are known, and when the prevalence is.
 */
#ifndef PV_SRC_RULES_H
#define PV_SRC_RULES_H

#include "base/base.h"
#include "prevail/plan.h"

#define PV__FACT_LIST(X)                                                                                               \
    /* options */                                                                                                      \
    X(IMAGES)  /* the model takes views */                                                                             \
    X(ORDINAL) /* labels in order */                                                                                   \
    X(COEFFICIENTS)                                                                                                    \
    X(MINIBATCHES)                                                                                                     \
    X(FULL_BATCH)                                                                                                      \
    X(MARGINAL)  /* the loss has one */                                                                                \
    X(STATED)    /* the loss is told the prevalence */                                                                 \
    X(ABSOLUTE)  /* the loss is of absolute risks */                                                                   \
    X(OF_DESIGN) /* the loss learns the rows as they are */                                                            \
    X(TAKES_SAMPLE)                                                                                                    \
    X(IMPORTANCE)                                                                                                      \
    X(PROFILE) /* the option `marginal`, whatever the loss */                                                          \
    X(PLUGIN)                                                                                                          \
    X(AUXILIARY)                                                                                                       \
    X(LINEAR)    /* the auxiliary network is */                                                                        \
    X(ESTIMATE)  /* map or ml */                                                                                       \
    X(PRIOR)     /* all but ml */                                                                                      \
    X(SANDWICH)  /* errors of weighted estimates: a linear model by map, ml or robust */                               \
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
    X(NO_COHORT) /* no subcohort */                                                                                    \
    X(PHASE_ONE)                                                                                                       \
    X(BY_FILE) /* `prevalence-by` */                                                                                   \
    X(IW_TOTAL)                                                                                                        \
    X(PRETRAINED)                                                                                                      \
    X(FREEZE_LOW)                                                                                                      \
    X(PATIENCE)                                                                                                        \
    X(VALIDATION)                                                                                                      \
    X(JEFFREYS) /* the intercept's prior */                                                                            \
    X(MATCH)    /* a kind of `match` was chosen */                                                                     \
    X(MIXTURE)  /* `model=auto` */                                                                                     \
    X(ONE)      /* any other model */                                                                                  \
    X(DEVICE)   /* cuda */                                                                                             \
    /* the data */                                                                                                     \
    X(DATA)        /* they are known */                                                                                \
    X(ARRAYS)      /* their rows are images */                                                                         \
    X(SETS)        /* matched sets */                                                                                  \
    X(VOTES)       /* soft labels, and no others */                                                                    \
    X(SOFT)        /* soft labels */                                                                                   \
    X(NAMED)       /* strata of the population are named */                                                            \
    X(MANY_LABELS) /* more than two */                                                                                 \
    X(STRATA)      /* there are several */                                                                             \
    X(CLUSTERS)                                                                                                        \
    X(SAMPLING) /* sampling weights */                                                                                 \
    /* what is made of both */                                                                                         \
    X(READ)       /* it is known */                                                                                    \
    X(KNOWN)      /* the prevalence */                                                                                 \
    X(WEIGHTLESS) /* it rests on no observation */                                                                     \
    X(FREE)       /* the intercept has no prior */                                                                     \
    X(LAST_LAYER) /* the posterior is over it */

typedef enum pv__fact {
#define PV__FACT(name) PV_FACT_##name,
    PV__FACT_LIST(PV__FACT)
#undef PV__FACT
        PV_FACTS
} pv__fact;
_Static_assert(PV_FACTS <= 64, "facts are bits of one number");
typedef uint64_t pv__fact_set;

static inline pv__fact_set pv__fact_if(bool so, pv__fact fact) {
    return so ? UINT64_C(1) << fact : 0;
}

/* sample: a population sample will be given. */
pv__fact_set pv__facts_of_options(const pv_ctx *ctx, const pv_fit_options *options, bool images, bool sample);
pv__fact_set pv__facts_of_data(const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options);

/* Fails with the first rule that the facts break. */
PV_MUST_USE pv_status pv__rules_check(pv_ctx *ctx, const pv_fit_options *options, pv__fact_set facts);

/* What an option is for, where the facts say that it would do nothing; NULL: it does something. */
const char *pv__idle_for(pv__fact_set facts, const char *option);

#endif
