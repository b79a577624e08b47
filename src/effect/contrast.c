/* Effects with intervals, and the result. Intervals are centred at the weighted estimate, and widened where they would
 * leave out the point estimate, as those of coefficients are (docs/method.md, section 15). */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "effect/effect.h"
#include "prevail/core.h"

static const char *const names[PV__MEASURES] = {"risk",  "risk_from",  "risk_to",     "difference",
                                                "ratio", "odds_ratio", "attributable"};

/* From the scale of the interval. */
static double shown(size_t measure, double value) {
    switch (measure) {
    case PV__RISK:
    case PV__RISK_FROM:
    case PV__RISK_TO:
        return 1 / (1 + exp(-value));
    case PV__RATIO:
    case PV__ODDS_RATIO:
        return exp(value);
    case PV__ATTRIBUTABLE:
        return -expm1(value);
    default:
        return value;
    }
}

typedef struct interval {
    double value, lo, hi, se, df;
} interval;

static double half_of(const pv__measured *found, size_t measure, double level) {
    return pv_student_quantile(found->df[measure], 0.5 + level / 2) * sqrt(found->variance[measure]);
}

/* The two risks of a difference: their logits are normal, b given a with mean at + slope (a - mean of a). */
typedef struct pair {
    double a, b, spread_a, slope, rest; /* rest: standard deviation of b given a */
} pair;

static double normal_below(double z) {
    return 0.5 * erfc(-z / sqrt(2));
}

/* The probability that the difference of the risks is below d, by the trapezoidal rule over a. */
static double difference_below(const pair *p, double d) {
    enum { POINTS = 400 };
    const double most = 8, step = 2 * most / POINTS;
    double sum = 0;
    for (int i = 0; i <= POINTS; i++) {
        double z = -most + step * i, risk = d + 1 / (1 + exp(-p->a - p->spread_a * z));
        double at = log(risk) - log1p(-risk) - p->b - p->slope * p->spread_a * z;
        double below = !(risk > 0) ? 0 : !(risk < 1) ? 1 : normal_below(at / p->rest);
        sum += exp(-0.5 * z * z) * below;
    }
    return sum * step / sqrt(2 * acos(-1));
}

/* The end of the interval of the difference: a quantile of it where the two logits are normal with their covariance,
 * enlarged as Student's t asks. The interval has 0 where that of the odds ratio has 1. */
static double difference_end(const pv__measured *found, double share) {
    const double *v = found->variance, *value = found->value;
    double t = pv_student_quantile(found->df[PV__ODDS_RATIO], share) / pv_normal_quantile(share);
    double both = (v[PV__RISK_FROM] + v[PV__RISK_TO] - v[PV__ODDS_RATIO]) / 2, low = -1, high = 1;
    pair p = {.a = value[PV__RISK_FROM], .b = value[PV__RISK_TO], .spread_a = t * sqrt(v[PV__RISK_FROM])};
    p.slope = v[PV__RISK_FROM] > 0 ? both / v[PV__RISK_FROM] : 0;
    p.rest = t * sqrt(fmax(v[PV__RISK_TO] - p.slope * both, 1e-6 * v[PV__RISK_TO]));
    if (!(p.rest > 0))
        return value[PV__DIFFERENCE];
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        *(difference_below(&p, middle) < share ? &low : &high) = middle;
    }
    return 0.5 * (low + high);
}

static interval interval_of(const pv__measured *found, size_t measure, double value, double level) {
    double half = half_of(found, measure, level);
    double lo = found->value[measure] - half, hi = found->value[measure] + half;
    const double none = (double)NAN;
    bool turned = measure == PV__ATTRIBUTABLE;
    if (!(isfinite(value) && isfinite(half)))
        return (interval){none, none, none, none, none};
    if (measure == PV__DIFFERENCE) {
        lo = difference_end(found, 0.5 - level / 2);
        hi = difference_end(found, 0.5 + level / 2);
    }
    lo = fmin(lo, value);
    hi = fmax(hi, value);
    return (interval){shown(measure, value), shown(measure, turned ? hi : lo), shown(measure, turned ? lo : hi),
                      sqrt(found->variance[measure]), found->df[measure]};
}

static pv_result *object_of(interval i) {
    return pv__value_pack("rrrrr", "value", i.value, "lo", i.lo, "hi", i.hi, "se", i.se, "df", i.df);
}

/* 1/difference: the people who have to change for one outcome more (positive) or fewer (negative). If the difference
 * may be 0, they lie on two rays: beyond `more` and beyond `fewer`. */
static pv_result *number_needed(interval d) {
    pv_result *made = pv__value_pack("r", "value", 1 / d.value);
    bool both = d.lo <= 0 && d.hi >= 0;
    if (!both) {
        (void)pv__value_set(made, "lo", pv__value_real(1 / d.hi));
        (void)pv__value_set(made, "hi", pv__value_real(1 / d.lo));
    }
    (void)pv__value_set(made, "rays", pv__value_flag(both));
    if (both) {
        (void)pv__value_set(made, "fewer", pv__value_real(1 / d.lo)); /* null: the difference cannot be negative */
        (void)pv__value_set(made, "more", pv__value_real(1 / d.hi));
    }
    return made;
}

/* ---- one comparison ---------------------------------------------------------------------------------------------- */

static bool is_attributable(const pv__standard *s, size_t measure) {
    return s->exposure->options->at && (measure == PV__ATTRIBUTABLE || measure == PV__RISK);
}

static pv_status add_measures(pv__standard *s, int estimate, int32_t group, size_t level, pv_result *to) {
    double interval_level = s->exposure->options->interval, value[PV__MEASURES];
    pv__measured weighted, linear;
    bool efficient = s->has_linear && estimate == PV_ESTIMATE_EFFICIENT;
    if (!efficient)
        PV_TRY(pv__standard_measure(s, &s->weighted, group, level, &weighted));
    if (s->has_linear)
        PV_TRY(pv__standard_measure(s, &s->linear, group, level, &linear));
    if (efficient)
        memcpy(value, linear.value, sizeof value);
    else
        pv__standard_value(s, &s->weighted, &s->point, group, level, value);
    const pv__measured *used = efficient ? &linear : &weighted;
    for (size_t m = 0; m < PV__MEASURES; m++) {
        if (is_attributable(s, m))
            continue;
        interval own = interval_of(used, m, value[m], interval_level);
        pv_result *made = object_of(own);
        if (s->has_linear && !efficient)
            (void)pv__value_set(made, "linear", object_of(interval_of(&linear, m, linear.value[m], interval_level)));
        (void)pv__value_set(to, names[m], made);
        if (m == PV__DIFFERENCE)
            (void)pv__value_set(to, "number_needed", number_needed(own));
    }
    return PV_OK;
}

static pv_status add_effect(pv__standard *s, int estimate, int32_t group, size_t level, pv_result *list) {
    const pv__exposure *e = s->exposure;
    pv_result *made = pv__value_object();
    (void)pv__value_set(made, "group", group < 0 ? pv__value_null() : pv__value_text(e->group[group]));
    (void)pv__value_set(made, "to", pv__value_text(e->level[level]));
    (void)pv__value_set(made, "share", pv__value_real(pv__standard_share(s, group)));
    pv_status status = add_measures(s, estimate, group, level, made);
    (void)pv__value_append(list, made);
    return status;
}

/* ---- warnings ---------------------------------------------------------------------------------------------------- */

static void warn(pv_result *list, const char *text) {
    (void)pv__value_append(list, pv__value_text(text));
}

/* Values that the rows do not have are the model's extrapolation. */
static void warn_of_level(const pv__standard *s, int32_t group, size_t level, pv_result *list) {
    const pv__exposure *e = s->exposure;
    double rows = pv__exposure_rows(e, group, level);
    char text[400], where[120] = "";
    if (rows > 0 || (rows > -1.5 && rows < 0))
        return;
    if (group >= 0)
        pv__format(where, sizeof where, " of group '%s'", pv__show(e->group[group]).text);
    if (rows < 0)
        pv__format(text, sizeof text,
                   "the value %s is outside the range of column '%s' in the rows%s: its risk is an extrapolation",
                   pv__show(e->level[level]).text, pv__show(e->options->exposure).text, where);
    else
        pv__format(text, sizeof text, "no row%s has column '%s' at '%s': its risk there is an extrapolation", where,
                   pv__show(e->options->exposure).text, pv__show(e->level[level]).text);
    warn(list, text);
}

static pv_result *warnings(const pv__standard *s, const pv_classifier *c, const pv_result *effects) {
    pv_result *list = pv__value_list();
    const pv__exposure *e = s->exposure;
    double least = HUGE_VAL;
    char text[200];
    for (int32_t g = -1; g < (int32_t)e->groups; g++)
        for (size_t l = 0; l < e->levels; l++)
            warn_of_level(s, g, l, list);
    for (size_t i = 0; i < pv_result_count(effects); i++)
        least = fmin(least,
                     pv_result_number(pv_result_get(pv_result_get(pv_result_child(effects, i), "difference"), "df")));
    if (c->separated != 0)
        warn(
            list,
            "columns tell the labels apart without fail in some rows, so the size of their coefficients is that of the "
            "prior: join levels, or leave such columns out");
    if (least < 10) {
        pv__format(text, sizeof text,
                   "a few rows decide an interval (%.1f degrees of freedom): look for extreme values, or groups with "
                   "few rows",
                   least);
        warn(list, text);
    }
    return list;
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static const char *estimate_name(const pv__standard *s, int use) {
    if (!s->has_linear)
        return "weighted";
    return use == PV_ESTIMATE_EFFICIENT ? "efficient" : use == PV_ESTIMATE_WEIGHTED ? "weighted" : "combined";
}

static const char *const assumes =
    "The rows represent the cases and the controls of the population, and its prevalence is the stated one. The effect "
    "is causal only if the model has every cause that the exposure and the outcome have in common.";

/* The prior that shrinks the coefficients, and so the effects; null: none. */
static pv_status prior_of(const pv__standard *s, const pv_classifier *c, pv_result **prior) {
    pv_fit_options *fit = NULL;
    *prior = NULL;
    PV_TRY(pv_classifier_options(s->ctx, c, &fit));
    bool shrinks = s->problem->plan->map && fit->prior && strcmp(fit->prior, "none") != 0;
    *prior = shrinks ? pv__value_pack("tb", "text", fit->prior, "chosen", (int)fit->prior_chosen) : pv__value_null();
    pv_fit_options_free(s->ctx, fit);
    return PV_OK;
}

pv_status pv__effect_result(pv__standard *s, const pv_classifier *c, pv_result **result) {
    const pv__exposure *e = s->exposure;
    int use = c->combination->use;
    pv_result *list = pv__value_list(), *prior;
    pv_status status = prior_of(s, c, &prior);
    for (int32_t g = -1; g < (int32_t)e->groups; g++)
        for (size_t l = 1; l < e->levels && status == PV_OK; l++)
            status = add_effect(s, use, g, l, list);
    pv_result *made =
        pv__value_pack("ttttt", "outcome", c->schema->target, "positive", c->schema->labels[1], "exposure",
                       e->options->exposure, "from", e->level[0], "estimate", estimate_name(s, use));
    (void)pv__value_set(made, "by", e->options->by ? pv__value_text(e->options->by) : pv__value_null());
    (void)pv__value_set(made, "at", e->options->at ? pv__value_text(e->options->at) : pv__value_null());
    (void)pv__value_set(made, "prevalence", pv__value_real(pv__standard_prevalence(s)));
    (void)pv__value_set(made, "interval", pv__value_real(e->options->interval));
    (void)pv__value_set(made, "rows", pv__value_integer((int64_t)s->rows));
    (void)pv__value_set(made, "units", pv__value_real(s->both->units->units));
    (void)pv__value_set(made, "prior", prior);
    if (status == PV_OK)
        (void)pv__value_set(made, "warnings", warnings(s, c, list));
    (void)pv__value_set(made, "effects", list);
    (void)pv__value_set(made, "assumes", pv__value_text(assumes));
    if (status == PV_OK && !pv__value_whole(made))
        status = pv__fail(s->ctx, PV_ERR_MEMORY, "out of memory");
    if (status != PV_OK) {
        pv_result_free(made);
        return status;
    }
    *result = made;
    return PV_OK;
}
