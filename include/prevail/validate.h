/* prevail/validate.h: models judged on rows that they did not learn from: cross-validation, a hold-out sample, and
 * mixtures of models.
 */
#ifndef PREVAIL_VALIDATE_H
#define PREVAIL_VALIDATE_H

#include "prevail/judge.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- validation -------------------------------------------------------------------------------------------------- */

typedef struct pv_validation_options {
    int64_t folds;                     /* 3 */
    int64_t repeats;                   /* 1: how often, with other folds */
    const char *population;            /* as for pv_population_new; "true" */
    const pv_unknown_options *unknown; /* how population "unknown" is inferred; NULL: by default */
    const char *stated_for;            /* as in pv_judge_options; "population", where unknown the rows' own */
    int64_t bootstrap;                 /* intervals of the pooled metrics, as in pv_assess_options; 0: none */
    double level;                      /* of these; 0.95 */
    /* Not in the table: what the data were learned from. With them each fold learns anew what the schema learned: knots
     * of splines, what fills missing cells, levels. Both NULL: only means, standard deviations and the rows of levels
     * are. Borrowed. */
    const pv_table *table;
    const pv_roles *roles;
} pv_validation_options;

pv_validation_options pv_validation_options_default(void);
extern const pv_option pv_validation_option_table[]; /* all but unknown, table and roles; ends with a NULL name */

/* That table by name. The caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_validation_settings_new(pv_ctx *ctx, pv_settings **settings);
/* The options in settings that have the table, borrowed from them; NULL: they have not. */
const pv_validation_options *pv_validation_options_of(const pv_settings *settings);

/* Predictions of rows by models that did not see them. A hold-out sample is one fold. */
typedef struct pv_validation {
    const pv_dataset *data; /* the rows judged; borrowed */
    size_t folds, repeats;
    int32_t *fold;        /* [repeats][rows] */
    double *loglik;       /* [repeats][rows][classes], in the true population */
    double *log_p;        /* [repeats][rows][classes], in the population asked for */
    double *log_marginal; /* [repeats][folds][classes] */
    double *prevalence;   /* [classes], stated; with a population sample alone, estimated, the mean of all fits'. NULL:
                             none */
    bool elsewhere;       /* the population asked for is not the true one */
    double
        *population; /* [classes], prevalence of the population asked for, the mean over folds where it is inferred */
    double *stated;  /* [classes], that the metrics are stated for; NULL: the rows as they are */
    pv_unknown_prevalence *
        *target; /* [repeats][folds], population unknown: what each fold's rows told of it; else NULL */
    pv_predicted_strata **strata; /* [repeats][folds], of models with strata; else NULL */
    double *stratum_mass;         /* [strata][classes], with them: the part of the population asked for that is of each
                                     stratum and label, the mean over folds */
    pv_stop *stop;                /* [repeats][folds], why the fit stopped */
    pv_metrics *metrics;          /* [repeats][folds] */
    pv_metrics *pooled;           /* [repeats], of all rows together, each predicted by its own fold's model */
    pv_metrics *lo, *hi;          /* [repeats], intervals of pooled; NaN where there are none */
    int64_t replicates;           /* of the bootstrap behind them */
    double seconds;
    double *observed; /* [classes], label shares of the rows judged */
    bool misleading;  /* stated for the rows as they are, whose shares are far from those of population */
    double level;     /* of the intervals that were asked for */
} pv_validation;

/* Fits on all folds but one and predicts that one, for each fold and repeat; several at a time, with results that do
 * not depend on how many. Means and standard deviations of number columns are learned in each fold anew, and, where how
 * has the table, all that the schema learned; the choice of features is the schema's. Without the table, with a
 * population sample and with a target of counts, levels, knots and the like are those of the schema. options->sample
 * goes to every fit; options->seed draws the folds as well. The caller frees *validation; data must outlive it. */
PV_MUST_USE pv_status pv_cross_validate(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                        const pv_fit_options *options, const pv_validation_options *how,
                                        pv_validation **validation);
/* Fits on data and judges on other rows by the same schema. Of how folds and repeats are not read. */
PV_MUST_USE pv_status pv_hold_out(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                  const pv_fit_options *options, const pv_validation_options *how,
                                  const pv_dataset *rows, pv_validation **validation);
/* The mixture of models judged on the same rows and folds: probabilities, marginals and prevalences averaged with the
 * given weights [count], which must not be negative and are normalised. */
PV_MUST_USE pv_status pv_validation_mix(pv_ctx *ctx, size_t count, const pv_validation *const *member,
                                        const double *weight, pv_validation **validation);
/* The rows of the first repeat, each by the model that did not see it, judged as one sample: with curves, and stated
 * for the population asked for where nothing else was stated (an unknown one is the rows' own). labels [classes].
 * Intervals of the validation's level, from as many replicates as pv_assess_options_default has. The caller frees
 * *judgement. */
PV_MUST_USE pv_status pv_validation_judge(pv_ctx *ctx, const pv_validation *validation, char *const *labels,
                                          int64_t seed, pv_judgement **judgement);
/* What the pooled metrics of other fits, judged on the same rows, have more than those of first, with paired intervals
 * of first's level: value and bounds averaged over repeats. *comparable is false, and nothing filled, where the metrics
 * are stated for different populations. bootstrap and seed as in pv_assess_options. */
PV_MUST_USE pv_status pv_validation_compare(pv_ctx *ctx, const pv_validation *first, const pv_validation *other,
                                            int64_t bootstrap, uint64_t seed, pv_assessment *difference,
                                            bool *comparable);
void pv_validation_free(pv_ctx *ctx, pv_validation *validation); /* NULL is fine */

/* Mean and standard deviation (n - 1) over all folds and repeats in which a metric is defined, the number of those, and
 * the mean over repeats of the pooled value. Each may be NULL. */
void pv_validation_summary(const pv_validation *validation, pv_metrics *mean, pv_metrics *sd, pv_metrics *defined,
                           pv_metrics *pooled);
/* The interval of the pooled value: bounds averaged over repeats, which draw from the same rows. */
void pv_validation_interval(const pv_validation *validation, pv_metrics *lo, pv_metrics *hi);

#ifdef __cplusplus
}
#endif
#endif
