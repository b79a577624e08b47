/* Summary of a classifier: coefficients and odds ratios on the scale of the table, p(y|w), the options of its fit. */
#include <math.h>
#include <string.h>

#include "base/value.h"
#include "data/schema_learn.h"
#include "infer/infer.h"

/* ---- coefficients ------------------------------------------------------------------------------------------------ */

static pv_spread estimate(double value) {
    return (pv_spread){value, NAN, NAN, NAN, NAN};
}

/* Intervals and tests use Student's distribution; with infinite df it is normal. */
static pv_spread around(double value, double centre, double error, double df, double level) {
    double half = pv_student_quantile(df, 0.5 + 0.5 * level) * error;
    return (pv_spread){value, error, fmin(value, centre - half), fmax(value, centre + half), NAN};
}

static double feature_scale(const pv_schema *schema, size_t feature) {
    size_t at = 0;
    for (size_t s = 0; s < schema->sources; s++) {
        const pv_source_column *source = &schema->source[s];
        if (feature == at && source->type == PV_COLUMN_NUMBER)
            return source->sd > 0 ? source->sd : 1;
        at += pv_source_width(source);
    }
    return 1;
}

/* Mean, standard deviation and interval of each column of draws [count][width] of the coefficients. */
static pv_status draw_spreads(pv_ctx *ctx, const pv_classifier *c, pv_summary *s) {
    size_t count = c->posterior->count, width = pv_model_params(c->model);
    double *draws = NULL, *values = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, count * width, sizeof *draws, &draws));
    PV_GOTO(done, pv__alloc(ctx, count, sizeof *values, &values));
    for (size_t i = 0; i < count; i++)
        PV_GOTO(done, pv_classifier_draw_coefficients(ctx, c, i, draws + i * width));
    for (size_t j = 0; j < width; j++) {
        for (size_t i = 0; i < count; i++)
            values[i] = draws[i * width + j];
        s->coefficient[j].value = pv_spread_of(count, values, s->level);
        s->coefficient[j].z = s->coefficient[j].p_value = s->coefficient[j].df = (double)NAN;
    }
done:
    pv__free(ctx, draws);
    pv__free(ctx, values);
    return status;
}

/* The estimate and its interval, which has a different centre if the estimate is a combination. */
static pv_status estimates(pv_ctx *ctx, const pv_classifier *c, pv_summary *s) {
    size_t P = pv_model_params(c->model);
    bool robust = c->combination && c->combination->use != PV_ESTIMATE_EFFICIENT;
    double *values = NULL, *centre;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, 2 * P, sizeof *values, &values));
    centre = values + P;
    PV_GOTO(done, pv_classifier_coefficients(ctx, c, values));
    PV_GOTO(done, pv__coefficients_of(ctx, c, c->centre ? c->centre : c->w, centre));
    for (size_t i = 0; i < P; i++) {
        pv_coefficient *k = &s->coefficient[i];
        k->df = robust ? c->combination->df[i] : HUGE_VAL;
        k->value =
            around(values[i], centre[i], c->standard_error ? c->standard_error[i] : (double)NAN, k->df, s->level);
        k->z = s->has_tests ? centre[i] / k->value.sd : (double)NAN;
        k->p_value = s->has_tests ? 2 * pv_student_cdf(k->df, -fabs(k->z)) : (double)NAN;
    }
done:
    pv__free(ctx, values);
    return status;
}

/* For Laplace's posterior of coefficients, a Gaussian around the maximum. */
static pv_status gaussian_spreads(pv_ctx *ctx, const pv_classifier *c, pv_summary *s) {
    PV_TRY(estimates(ctx, c, s));
    for (size_t i = 0; i < pv_model_params(c->model); i++) {
        pv_coefficient *k = &s->coefficient[i];
        k->value.sign = pv_student_cdf(HUGE_VAL, fabs(k->value.mean) / k->value.sd);
        k->z = k->p_value = k->df = (double)NAN;
    }
    return PV_OK;
}

/* For a combination: the efficient estimate, its interval, and the weight of the weighted estimate. */
static pv_status both_estimates(pv_ctx *ctx, const pv_classifier *c, pv_summary *s) {
    const pv_combination *m = c->combination;
    size_t P = pv_model_params(c->model), terms = s->terms;
    bool both = m && m->use == PV_ESTIMATE_COMBINED;
    for (size_t i = 0; i < P; i++) {
        s->coefficient[i].weighting = (double)NAN;
        s->coefficient[i].linear = estimate(NAN);
    }
    if (!both)
        return PV_OK;
    double *values = NULL, *errors = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, P, sizeof *values, &values));
    PV_GOTO(done, pv__alloc(ctx, P, sizeof *errors, &errors));
    PV_GOTO(done, pv__coefficients_of(ctx, c, m->efficient, values));
    PV_GOTO(done, pv__errors_of(ctx, c, m->efficient_covariance, errors));
    for (size_t i = 0; i < P; i++) {
        size_t term = i % terms;
        s->coefficient[i].linear = around(values[i], values[i], errors[i], HUGE_VAL, s->level);
        s->coefficient[i].weighting = term > 0 ? m->share[m->term[term - 1]] : (double)NAN;
    }
done:
    pv__free(ctx, values);
    pv__free(ctx, errors);
    return status;
}

/* Names "1|2" and so on, in order. */
static pv_status name_thresholds(pv_ctx *ctx, const pv_classifier *c, pv_summary *s) {
    size_t room = 0, used = 0;
    for (size_t j = 0; j < s->intercepts; j++)
        room += strlen(c->schema->labels[j]) + strlen(c->schema->labels[j + 1]) + 2;
    PV_TRY(pv__alloc(ctx, room, 1, &s->threshold_names));
    for (size_t j = 0; j < s->intercepts; j++) {
        s->coefficient[j].name = s->threshold_names + used;
        used += (size_t)pv__format(s->threshold_names + used, room - used, "%s|%s", c->schema->labels[j],
                                   c->schema->labels[j + 1]) +
                1;
    }
    return PV_OK;
}

static pv_status coefficients(pv_ctx *ctx, const pv_classifier *c, pv_summary *s) {
    bool ordinal = pv_model_has_thresholds(c->model);
    size_t others = (size_t)c->schema->classes - 1;
    if (!ordinal && !pv_model_has_coefficients(c->model))
        return PV_OK;
    s->equations = ordinal ? 1 : others;
    s->intercepts = ordinal ? others : 1;
    size_t terms = pv__model_slopes(c->model) + s->intercepts, skip = c->schema->offset;
    PV_TRY(pv__alloc(ctx, pv_model_params(c->model), sizeof *s->coefficient, &s->coefficient));
    s->terms = terms;
    PV_TRY(!c->posterior       ? estimates(ctx, c, s)
           : c->standard_error ? gaussian_spreads(ctx, c, s)
                               : draw_spreads(ctx, c, s));
    PV_TRY(both_estimates(ctx, c, s));
    for (size_t i = 0; i < pv_model_params(c->model); i++) {
        pv_coefficient *k = &s->coefficient[i];
        size_t term = i % terms;
        bool slope = term >= s->intercepts;
        if (!pv__is_estimable(c, i))
            k->value = (pv_spread){NAN, NAN, NAN, NAN, NAN};
        k->name = slope ? c->schema->feature[term - s->intercepts + skip] : "(Intercept)";
        k->label = ordinal ? "higher" : c->schema->labels[i / terms + 1];
        k->odds_ratio = slope ? exp(k->value.mean) : (double)NAN;
        k->odds_ratio_lo = slope ? exp(k->value.lo) : (double)NAN;
        k->odds_ratio_hi = slope ? exp(k->value.hi) : (double)NAN;
        k->scale = slope ? feature_scale(c->schema, term - s->intercepts + skip) : 1;
    }
    if (pv_classifier_is_relative(c)) { /* no intercept */
        s->intercepts = 0;
        s->terms--;
        memmove(s->coefficient, s->coefficient + 1, s->terms * sizeof *s->coefficient);
    }
    return ordinal ? name_thresholds(ctx, c, s) : PV_OK;
}

/* ---- the marginal ------------------------------------------------------------------------------------------------ */

pv_status pv__marginal_spreads(pv_ctx *ctx, const pv_classifier *c, double level, pv_spread *spreads) {
    size_t classes = (size_t)c->schema->classes, count = c->posterior ? c->posterior->count : 0;
    double *values;
    PV_TRY(pv__alloc(ctx, count, sizeof *values, &values));
    for (size_t y = 0; y < classes; y++) {
        for (size_t i = 0; i < count; i++)
            values[i] = exp(c->draw_log_marginal[i * classes + y]);
        spreads[y] = count ? pv_spread_of(count, values, level) : estimate(exp(c->log_marginal[y]));
        if (pv_classifier_is_relative(c))
            spreads[y] = estimate(NAN);
    }
    pv__free(ctx, values);
    return PV_OK;
}

/* With a prior, a test that a coefficient is 0 has no defined size. */
static pv_status find_tests(pv_ctx *ctx, const pv_classifier *c, pv_summary *s) {
    pv_fit_options *options;
    if (!s->has_errors)
        return PV_OK;
    PV_TRY(pv_classifier_options(ctx, c, &options));
    s->has_tests = options->infer == PV_INFER_ML || strcmp(options->prior, "none") == 0;
    pv_fit_options_free(ctx, options);
    return PV_OK;
}

pv_status pv_classifier_summary(pv_ctx *ctx, const pv_classifier *classifier, double level, pv_summary **summary) {
    *summary = NULL;
    if (!(level > 0 && level < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "an interval has a level between 0 and 1, not %g", level);
    pv_summary *s;
    PV_TRY(pv__alloc(ctx, 1, sizeof *s, &s));
    s->level = level;
    s->classes = classifier->schema->classes;
    pv_status status;
    s->has_errors = classifier->standard_error != NULL && !classifier->posterior;
    PV_GOTO(fail, find_tests(ctx, classifier, s));
    PV_GOTO(fail, coefficients(ctx, classifier, s));
    PV_GOTO(fail, pv__alloc(ctx, (size_t)s->classes, sizeof *s->marginal, &s->marginal));
    PV_GOTO(fail, pv__marginal_spreads(ctx, classifier, level, s->marginal));
    *summary = s;
    return PV_OK;
fail:
    pv_summary_free(ctx, s);
    return status;
}

void pv_summary_free(pv_ctx *ctx, pv_summary *summary) {
    if (!summary)
        return;
    pv__free(ctx, summary->coefficient);
    pv__free(ctx, summary->threshold_names);
    pv__free(ctx, summary->marginal);
    pv__free(ctx, summary);
}

/* ---- options of the fit ------------------------------------------------------------------------------------------ */

/* The options, followed by their texts, which fit into the length of the record. */
typedef struct recorded {
    pv_fit_options options;
    char text[];
} recorded;

static pv_status read_options(pv_ctx *ctx, const pv_result *list, recorded *made) {
    char *at = made->text;
    for (size_t i = 0; i < pv_result_count(list); i++) {
        const char *name = pv_result_name(list, i);
        const pv_result *entry = pv_result_child(list, i);
        const char *text = pv_result_text(pv_result_get(entry, "used"));
        if (!text)
            text = pv_result_text(pv_result_get(entry, "value"));
        if (!text || !*text || !pv_option_find(pv_fit_option_table, name))
            continue; /* not given, or unknown to this version */
        made->options.prior_chosen |= pv__value_is_true(pv_result_get(entry, "chosen"));
        size_t size = strlen(text) + 1;
        memcpy(at, text, size);
        PV_TRY(pv_option_set(ctx, pv_fit_option_table, &made->options, name, at));
        at += size;
    }
    return PV_OK;
}

pv_status pv_classifier_options(pv_ctx *ctx, const pv_classifier *classifier, pv_fit_options **options) {
    const char *record = classifier->record ? classifier->record : "{}";
    pv_result *root = NULL;
    recorded *made = NULL;
    *options = NULL;
    pv_status status;
    PV_GOTO(done, pv__json_parse(ctx, record, strlen(record), &root));
    PV_GOTO(done, pv__alloc(ctx, sizeof *made + strlen(record) + 1, 1, &made));
    made->options = pv_fit_options_default();
    PV_GOTO(done, read_options(ctx, pv_result_get(root, "options"), made));
    *options = &made->options;
    made = NULL;
done:
    pv__free(ctx, made);
    pv_result_free(root);
    return status;
}

void pv_fit_options_free(pv_ctx *ctx, pv_fit_options *options) {
    pv__free(ctx, options);
}
