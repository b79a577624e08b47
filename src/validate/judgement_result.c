/* Evaluations as trees: the JSON of `eval`, and what the bindings read. */
#include "base/value.h"
#include "prevail/judge.h"

static pv_status done(pv_ctx *ctx, pv_result *object, pv_result **result) {
    *result = NULL;
    if (!pv__value_whole(object)) {
        pv_result_free(object);
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory for an evaluation's numbers");
    }
    *result = object;
    return PV_OK;
}

static pv_result *interval_of(double value, double lo, double hi) {
    return pv__value_pack("rrr", "value", value, "lo", lo, "hi", hi);
}

/* {metric: {value, lo, hi}} */
static pv_result *metrics_of(const pv_metrics *value, const pv_metrics *lo, const pv_metrics *hi) {
    pv_result *object = pv__value_object();
    for (const pv_metric_row *row = pv_metric_table; row->name; row++)
        pv__value_set(object, row->name,
                      interval_of(pv_metric_get(value, row), pv_metric_get(lo, row), pv_metric_get(hi, row)));
    return object;
}

pv_status pv_assessment_result(pv_ctx *ctx, const pv_assessment *found, pv_result **result) {
    return done(ctx, metrics_of(&found->value, &found->lo, &found->hi), result);
}

/* {label: share} */
static pv_result *shares_of(const pv_judgement *j, const double *share) {
    if (!share)
        return pv__value_null();
    pv_result *object = pv__value_object();
    for (int y = 0; y < j->classes; y++)
        pv__value_set(object, j->labels[y], pv__value_real(share[y]));
    return object;
}

static pv_result *strata_of(const pv_judgement *j) {
    pv_result *list = pv__value_list();
    for (int s = 0; s < j->strata; s++) {
        const pv_judged_stratum *of = &j->stratum[s];
        pv_result *one = pv__value_object();
        pv__value_set(one, "name", pv__value_text(of->name));
        pv__value_set(one, "rows", pv__value_integer((int64_t)of->rows));
        pv__value_set(one, "share", pv__value_real(of->share));
        pv__value_set(one, "observed", shares_of(j, of->rows ? of->observed : NULL));
        pv__value_set(one, "stated_for", shares_of(j, of->rows ? of->stated : NULL));
        pv__value_set(one, "metrics", metrics_of(&of->value, &of->lo, &of->hi));
        pv__value_append(list, one);
    }
    return list;
}

pv_status pv_judgement_result(pv_ctx *ctx, const pv_judgement *judgement, pv_result **result) {
    const pv_judgement *j = judgement;
    pv_result *object = pv__value_object();
    pv__value_set(object, "metrics", metrics_of(&j->found.value, &j->found.lo, &j->found.hi));
    pv__value_set(object, "rows", pv__value_integer((int64_t)j->rows));
    pv__value_set(object, "dropped", pv__value_integer((int64_t)j->dropped));
    pv__value_set(object, "uncertain", pv__value_integer((int64_t)j->uncertain));
    pv__value_set(object, "prevalence", shares_of(j, j->prevalence));
    pv__value_set(object, "observed", shares_of(j, j->observed));
    pv__value_set(object, "stated_for", shares_of(j, j->stated));
    pv__value_set(object, "misleading", pv__value_flag(j->misleading));
    if (j->strata)
        pv__value_set(object, "strata", strata_of(j));
    pv__value_set(object, "positive", pv__value_text(j->labels[j->positive]));
    pv__value_set(object, "bootstrap", pv__value_integer(j->found.replicates));
    pv__value_set(object, "drawn", j->found.drawn ? pv__value_text(j->found.drawn) : pv__value_null());
    if (j->found.units > 0)
        pv__value_set(object, "units", pv__value_integer((int64_t)j->found.units));
    return done(ctx, object, result);
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

static pv_result *curve_of(const pv_curve *curve) {
    pv_result *object = pv__value_object(), *names = pv__value_list();
    for (size_t c = 0; c < curve->columns; c++)
        pv__value_append(names, pv__value_text(curve->column[c]));
    pv__value_set(object, "name", pv__value_text(curve->name));
    pv__value_set(object, "columns", names);
    pv__value_set(object, "values", pv__value_array(curve->value, curve->points, curve->columns));
    return object;
}

pv_status pv_judgement_curve(pv_ctx *ctx, const pv_judgement *judgement, const char *kind, size_t points, int bins,
                             double level, double threshold, const double *prevalences, size_t n, pv_result **result) {
    const pv_curve_options options = {.points = points,
                                      .bins = bins,
                                      .level = level,
                                      .threshold = threshold,
                                      .prevalences = prevalences,
                                      .n_prevalences = n};
    pv_curve_kind which;
    pv_curve curve = {0};
    *result = NULL;
    if (!pv_curve_kind_find(kind, &which))
        return pv__fail(ctx, PV_ERR_USAGE, "there is no curve \"%s\"", kind);
    PV_TRY(pv_curve_make(ctx, judgement->found.ranking, which, &options, &curve));
    pv_status status = done(ctx, curve_of(&curve), result);
    pv_curve_clear(ctx, &curve);
    return status;
}

pv_status pv_judgement_rates(pv_ctx *ctx, const pv_judgement *judgement, double threshold, double level,
                             pv_result **result) {
    pv_rates rates;
    *result = NULL;
    PV_TRY(pv_rates_at(ctx, judgement->found.ranking, threshold, level, &rates));
    pv_result *object = pv__value_object();
#define RATE(name, text) pv__value_set(object, #name, interval_of(rates.name.value, rates.name.lo, rates.name.hi));
    PV_RATE_LIST(RATE)
#undef RATE
    return done(ctx, object, result);
}
