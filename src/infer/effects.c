/* Effects of an additive model's columns: what a number column contributes to the log odds at each of its values, minus
 * its average over the training rows.
 *
 *   e(x) = beta (x - mean)/sd + sum_k b_k (z_k(x) - mean_k)/sd_k
 *
 * with the functions z_k of the curved part (data/smooth.c). It is linear in the parameters, which gives its interval:
 * it is centred at the estimate used for intervals, and widened if it would not include the effect itself.
 */
#include <math.h>
#include <string.h>

#include "data/schema_learn.h"
#include "infer/infer.h"

enum { POINTS = 81 };

/* The position of a column: its source and slope; its term and the first of the term's slopes. */
typedef struct place {
    const pv_source_column *source;
    const pv_term *term;
    size_t slope, first, made; /* made: the first source of the term */
} place;

static place place_of(const pv_classifier *c, size_t group) {
    const pv_schema *schema = c->schema;
    size_t s0 = (size_t)c->smoothing->column[group], slope = 0, s = schema->offset;
    place at = {.source = &schema->source[s0]};
    for (; s < s0; s++)
        slope += pv_source_width(&schema->source[s]);
    at.slope = slope;
    for (; s < pv__schema_plain(schema); s++)
        slope += pv_source_width(&schema->source[s]);
    for (size_t t = 0; t < schema->terms; t++) {
        const pv_term *term = &schema->term[t];
        if (term->kind == PV_TERM_SMOOTH && strcmp(term->column[0], at.source->name) == 0) {
            at.term = term;
            at.first = slope;
            at.made = s;
        }
        for (size_t f = 0; f < term->features; f++)
            slope += pv_source_width(&schema->source[s++]);
    }
    return at;
}

/* The functions that the column's slopes multiply at x: phi [1 + features of the curved part]. */
static void features_at(const pv_schema *schema, const place *at, double x, double *phi) {
    phi[0] = (x - at->source->mean) / at->source->sd;
    pv__smooth_fill(at->term, &x, 1, phi + 1);
    for (size_t f = 0; f < at->term->features; f++)
        phi[1 + f] = (phi[1 + f] - schema->source[at->made + f].mean) / schema->source[at->made + f].sd;
}

static size_t param_of(const place *at, size_t base, size_t i) {
    return base + 1 + (i == 0 ? at->slope : at->first + i - 1);
}

static void fill(const pv_classifier *c, const place *at, size_t base, double level, pv_effect *e) {
    const pv_term *term = at->term;
    size_t P = pv_model_params(c->model), n = 1 + term->features, knots = (size_t)term->degree;
    const double *p = term->parameter, *knot = p + 2, *centre = c->centre ? c->centre : c->w;
    double phi[1 + PV__CURVES_MAX];
    double far = c->spread ? pv_student_quantile(c->spread_df, 0.5 + 0.5 * level) : (double)NAN;
    for (size_t i = 0; i < e->points; i++) {
        double u = knot[0] + (knot[knots - 1] - knot[0]) * (double)i / (double)(e->points - 1);
        double about = 0, variance = 0;
        e->x[i] = p[0] + p[1] * sinh(u);
        e->value[i] = 0;
        features_at(c->schema, at, e->x[i], phi);
        for (size_t a = 0; a < n; a++) {
            size_t own = param_of(at, base, a);
            e->value[i] += phi[a] * c->w[own];
            about += phi[a] * centre[own];
            for (size_t b = 0; c->spread && b < n; b++)
                variance += phi[a] * phi[b] * c->spread[own * P + param_of(at, base, b)];
        }
        double wide = far * sqrt(fmax(0, variance));
        e->lo[i] = fmin(about - wide, e->value[i]);
        e->hi[i] = fmax(about + wide, e->value[i]);
        if (!c->spread)
            e->lo[i] = e->hi[i] = (double)NAN;
    }
}

bool pv_classifier_has_effect(const pv_classifier *c, size_t group) {
    return c->smoothing && group > 0 && group < c->smoothing->count &&
           c->schema->source[c->smoothing->column[group]].type == PV_COLUMN_NUMBER;
}

pv_status pv_classifier_effect(pv_ctx *ctx, const pv_classifier *c, size_t group, int label, double level,
                               pv_effect **effect) {
    *effect = NULL;
    if (!pv_classifier_has_effect(c, group) || label < 1 || label >= c->schema->classes)
        return pv__fail(ctx, PV_ERR_USAGE, "the model has no effect %zu of label %d:\nask an additive model for one",
                        group, label);
    if (!(level > 0 && level < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "an interval has a level between 0 and 1, not %g", level);
    pv_effect *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    pv_status status = pv__alloc(ctx, POINTS, 4 * sizeof *made->x, &made->x);
    if (status != PV_OK) {
        pv__free(ctx, made);
        return status;
    }
    const place at = place_of(c, group);
    made->points = POINTS;
    made->column = at.source->name;
    made->value = made->x + POINTS;
    made->lo = made->value + POINTS;
    made->hi = made->lo + POINTS;
    fill(c, &at, (size_t)(label - 1) * (pv__model_slopes(c->model) + 1), level, made);
    *effect = made;
    return PV_OK;
}

void pv_effect_free(pv_ctx *ctx, pv_effect *effect) {
    if (!effect)
        return;
    pv__free(ctx, effect->x);
    pv__free(ctx, effect);
}

bool pv_classifier_is_curve(const pv_classifier *c, int feature) {
    const pv_schema *schema = c->schema;
    size_t at = 0, s = 0;
    if (feature < 0)
        return false;
    for (size_t wanted = (size_t)feature + schema->offset; s < schema->sources; s++) {
        at += pv_source_width(&schema->source[s]);
        if (wanted < at)
            break;
    }
    for (size_t t = 0, first = pv__schema_plain(schema); t < schema->terms; first += schema->term[t++].features)
        if (s >= first && s < first + schema->term[t].features)
            return schema->term[t].kind == PV_TERM_SMOOTH;
    return false;
}
