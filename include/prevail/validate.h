/* prevail/validate.h: evaluates models on rows they were not fitted to, by cross-validation or a hold-out sample;
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
    int64_t folds;                     /* default 3 */
    int64_t repeats;                   /* number of repeats with different folds; default 1 */
    const char *population;            /* as for pv_population_new; default "true" */
    const pv_unknown_options *unknown; /* options for population "unknown"; NULL: the defaults */
    const char *stated_for;            /* as in pv_judge_options; default "population"; if that is unknown, the rows */
    int64_t bootstrap;                 /* intervals of the pooled metrics, as in pv_assess_options; 0: none */
    double level;                      /* of these intervals; default 0.95 */
    /* Not in the table: what the data were made from. With these each fold learns again what the schema learned: knots
     * of splines, imputed values, levels. Both NULL: only means, standard deviations and the row counts of levels are
     * learned again. Borrowed. */
    const pv_table *table;
    const pv_roles *roles;
} pv_validation_options;

pv_validation_options pv_validation_options_default(void);
extern const pv_option pv_validation_option_table[]; /* all but unknown, table and roles; ended by a NULL name */

/* The same table as settings. The caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_validation_settings_new(pv_ctx *ctx, pv_settings **settings);
/* The pv_validation_options inside settings, borrowed; NULL if settings were made without that table. */
const pv_validation_options *pv_validation_options_of(const pv_settings *settings);

/* Predictions of rows by models that were not fitted to them. A hold-out sample is one fold. */
typedef struct pv_validation {
    const pv_dataset *data; /* the evaluated rows; borrowed */
    size_t folds, repeats;
    int32_t *fold;        /* [repeats][rows] */
    double *loglik;       /* [repeats][rows][classes], in the true population */
    double *log_p;        /* [repeats][rows][classes], in the requested population */
    double *log_marginal; /* [repeats][folds][classes] */
    double *prevalence;   /* [classes], stated; with only a population sample, estimated: the mean over all fits. NULL:
                             none */
    bool elsewhere;       /* the requested population differs from the true one */
    double *population;   /* [classes], prevalence in the requested population; if estimated, the mean over folds */
    double *stated;       /* [classes], prevalence the metrics are stated for; NULL: the rows as they are */
    pv_unknown_prevalence *
        *target; /* [repeats][folds], population unknown: the estimate from each fold's rows; else NULL */
    pv_predicted_strata **strata; /* [repeats][folds], for models with strata; else NULL */
    double *stratum_mass; /* [strata][classes], with strata: share of the requested population in each stratum and
                             label, the mean over folds */
    pv_stop *stop;        /* [repeats][folds], why the fit stopped */
    pv_metrics *metrics;  /* [repeats][folds] */
    pv_metrics *pooled;   /* [repeats], over all rows together, each predicted by the model of its own fold */
    pv_metrics *lo, *hi;  /* [repeats], intervals of pooled; NaN if there are none */
    int64_t replicates;   /* number of bootstrap replicates */
    const char *drawn;    /* how they were drawn, as in pv_assessment */
    double seconds;
    double *observed; /* [classes], label shares of the evaluated rows */
    bool misleading;  /* the metrics are stated for the rows as they are, but their shares are far from those of
                         population */
    double level;     /* requested level of the intervals */
} pv_validation;

/* For each fold and repeat fits on all other folds and predicts the fold. Fits run in parallel; results do not depend
 * on the number of threads. Each fold learns means and standard deviations of numeric columns again, and, if how has
 * the table, all that the schema learned; the choice of features is the schema's. Without the table, with a population
 * sample or with a target of counts, levels, knots and similar are those of the schema. options->sample is used in
 * every fit; options->seed also determines the folds. The caller frees *validation; data must outlive it. */
PV_MUST_USE pv_status pv_cross_validate(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                        const pv_fit_options *options, const pv_validation_options *how,
                                        pv_validation **validation);
/* Fits on data and evaluates on other rows in the same schema. folds and repeats of how are ignored. */
PV_MUST_USE pv_status pv_hold_out(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                  const pv_fit_options *options, const pv_validation_options *how,
                                  const pv_dataset *rows, pv_validation **validation);
/* The mixture of models evaluated on the same rows and folds: averages probabilities, marginals and prevalences with
 * the weights [count], which must not be negative and are normalised. */
PV_MUST_USE pv_status pv_validation_mix(pv_ctx *ctx, size_t count, const pv_validation *const *member,
                                        const double *weight, pv_validation **validation);
/* Evaluates the rows of the first repeat as one sample, each predicted by the model not fitted to it, with curves. The
 * metrics are stated for the requested population (if unknown, for the rows) unless another was stated. labels
 * [classes]. Intervals have the validation's level and as many replicates as in pv_assess_options_default. The caller
 * frees *judgement. */
PV_MUST_USE pv_status pv_validation_judge(pv_ctx *ctx, const pv_validation *validation, char *const *labels,
                                          int64_t seed, pv_judgement **judgement);
/* Difference of the pooled metrics of other fits on the same rows, `other` minus `first`, with paired intervals of
 * first's level; values and bounds are averaged over repeats. If the metrics are stated for different populations,
 * *comparable is false and nothing is written. bootstrap and seed as in pv_assess_options. */
PV_MUST_USE pv_status pv_validation_compare(pv_ctx *ctx, const pv_validation *first, const pv_validation *other,
                                            int64_t bootstrap, uint64_t seed, pv_assessment *difference,
                                            bool *comparable);
void pv_validation_free(pv_ctx *ctx, pv_validation *validation); /* NULL is allowed */

/* Mean and standard deviation (n - 1) over all folds and repeats in which a metric is defined, their number, and the
 * mean over repeats of the pooled value. Each may be NULL. */
void pv_validation_summary(const pv_validation *validation, pv_metrics *mean, pv_metrics *sd, pv_metrics *defined,
                           pv_metrics *pooled);
/* Interval of the pooled value: bounds averaged over repeats, which use the same rows. */
void pv_validation_interval(const pv_validation *validation, pv_metrics *lo, pv_metrics *hi);

#ifdef __cplusplus
}
#endif
#endif
