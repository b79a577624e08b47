/* Chooses the scales of an additive model's priors by maximum marginal likelihood.
 *
 *   log m(rho) = - loss(w) - 1/2 log |H| + log h(rho),   rho_g = log s_g,
 *
 * where s_g is the scale of group g: all slopes of linear columns; the levels of a category; the curved part of a
 * column (data/smooth.c). w is the optimum under the priors w_i ~ N(0, (s_g u_i)^2), where u_i is the standard
 * deviation of a standardised feature's coefficient at scale 1, `loss` the negative log posterior there and H its
 * curvature: the Laplace approximation of the marginal likelihood, which mgcv calls REML (Wood 2011). Newton's method
 * uses the exact gradient
 *
 *   d log m / d rho_g = sum_{i in g} ( l_i w_i^2 - 1 + l_i C_ii - 2 l_i w_i (C t)_i ) + d log h / d rho_g,
 *
 * with l_i = 1/(s_g u_i)^2, C = H^-1, t the derivative of 1/2 log |H| with respect to w, and a curvature that treats H
 * as constant in w. Effective degrees of freedom of a group: sum_{i in g} (1 - l_i C_ii).
 *
 * h: slopes as in a linear model (evidence.c), log-normal around 0.5 with a standard deviation of a factor of two, at
 * most 2.5. Curves and categories have a common centre, log-normal around 0.2 with a factor of three, and each varies
 * around it with a factor of three: if most columns are straight, the others are likely to be.
 *
 * The prior of a category applies to each of its levels, including the reference, so levels are shrunk towards their
 * mean.
 */
#include <math.h>
#include <string.h>

#include "data/schema_learn.h"
#include "infer/side.h"

static const double USUAL_SLOPE = 0.5, SLOPE_FACTOR = 2, LARGEST_SLOPE = 2.5;
static const double USUAL_CURVE = 0.2, CENTRE_FACTOR = 3, CURVE_FACTOR = 3;
static const double LEAST = 1e-4, LARGEST = 20; /* for curves and categories */
static const double START_SLOPE = 1, START_CURVE = 0.5, LONGEST = 2, CLOSE = 2e-4;
enum { ITERATIONS = 40, HALVINGS = 12 };

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* Whether a categorical column has a term for its reference level. */
static bool has_level(const pv_schema *schema, const char *column) {
    bool found = false;
    for (size_t t = 0; t < schema->terms; t++)
        found |= schema->term[t].kind == PV_TERM_LEVEL && strcmp(schema->term[t].column[0], column) == 0;
    return found;
}

/* The group that belongs to the source, groups being created in order; 0: none except that of slopes. */
static int32_t group_of(size_t source, int32_t groups, const int32_t *column) {
    int32_t own = 0;
    for (int32_t g = 1; g < groups; g++)
        own = column[g] == (int32_t)source ? g : own;
    return own;
}

size_t pv__smooth_groups(const pv_schema *schema, int32_t *group, int32_t *column) {
    size_t plain = pv__schema_plain(schema), slope = 0;
    int32_t groups = 1;
    column[0] = -1;
    for (size_t s = schema->offset; s < plain; s++) {
        const pv_source_column *source = &schema->source[s];
        bool category = source->type == PV_COLUMN_TEXT && has_level(schema, source->name);
        if (category)
            column[groups] = (int32_t)s;
        for (size_t i = 0; i < pv_source_width(source); i++)
            group[slope++] = category ? groups : 0;
        groups += category;
    }
    for (size_t t = 0, s = plain; t < schema->terms; t++) {
        const pv_term *term = &schema->term[t];
        bool curve = term->kind == PV_TERM_SMOOTH;
        size_t of = pv__term_is_smooth(term) ? pv__schema_find(schema, term->column[0]) : plain;
        if (curve)
            column[groups] = (int32_t)of;
        int32_t own = curve ? groups++ : pv__term_is_smooth(term) ? group_of(of, groups, column) : 0;
        for (size_t f = 0; f < term->features; f++, s++)
            for (size_t i = 0; i < pv_source_width(&schema->source[s]); i++)
                group[slope++] = own;
    }
    return (size_t)groups;
}

/* The divisors of the features of curves and reference levels; other features have their own scale. */
static void find_units(const pv_schema *schema, double *unit) {
    size_t own_scale = schema->sources - pv__schema_smooth(schema), slope = 0;
    for (size_t s = schema->offset; s < schema->sources; s++) {
        double own = s < own_scale ? 1 : schema->source[s].sd;
        for (size_t i = 0; i < pv_source_width(&schema->source[s]); i++)
            unit[slope++] = own;
    }
}

void pv__smoothing_free(pv_ctx *ctx, pv__smoothing *s) {
    if (!s)
        return;
    pv__free(ctx, s->of);
    pv__free(ctx, s->unit);
    pv__free(ctx, s->prior);
    pv__free(ctx, s->scale);
    pv__free(ctx, s->w);
    pv__free(ctx, s);
}

pv_status pv__smoothing_new(pv_ctx *ctx, const pv_schema *schema, const pv_model *model, pv__smoothing **made) {
    size_t P = pv_model_params(model), slopes = pv__model_slopes(model), size = slopes + 1;
    *made = NULL;
    if (!model->architecture->has_smooths)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    pv__smoothing *s = *made;
    int32_t *group;
    PV_TRY(pv__alloc(ctx, P, sizeof *s->of, &s->of));
    PV_TRY(pv__alloc(ctx, P, sizeof *s->unit, &s->unit));
    PV_TRY(pv__alloc(ctx, P, sizeof *s->prior, &s->prior));
    PV_TRY(pv__alloc(ctx, 2 * size, sizeof *group, &group));
    s->params = P;
    s->groups = pv__smooth_groups(schema, group, group + size);
    find_units(schema, s->unit + 1);
    s->unit[0] = 1;
    for (size_t i = 0; i < P; i++) {
        s->of[i] = i % size == 0 ? -1 : group[i % size - 1];
        s->unit[i] = s->unit[i % size];
    }
    pv__free(ctx, group);
    PV_TRY(pv__alloc(ctx, s->groups, 3 * sizeof *s->scale, &s->scale));
    s->spread = s->scale + s->groups;
    s->edf = s->spread + s->groups;
    for (size_t g = 0; g < s->groups; g++)
        s->edf[g] = (double)NAN;
    pv__smoothing_state(s, 1);
    return PV_OK;
}

/* Sets the parameters' priors from the groups' scales. */
static void spread_scales(pv__smoothing *s) {
    for (size_t i = 0; i < s->params; i++)
        s->prior[i] = pv__prior_normal(s->of[i] < 0 ? 1 : s->scale[s->of[i]] * s->unit[i]);
}

void pv__smoothing_state(pv__smoothing *s, double scale) {
    for (size_t g = 0; g < s->groups; g++) {
        s->scale[g] = scale;
        s->spread[g] = 0;
    }
    spread_scales(s);
}

/* ---- prior of the scales ----------------------------------------------------------------------------------------- */

/* -log h(rho) up to a constant; adds its gradient to slope [G] and its curvature to bend [G][G] (NULL: not wanted). */
static double expected(size_t G, const double *rho, double *slope, double *bend) {
    double each = log(SLOPE_FACTOR) * log(SLOPE_FACTOR), own = log(CURVE_FACTOR) * log(CURVE_FACTOR);
    double centre = log(CENTRE_FACTOR) * log(CENTRE_FACTOR), sum = 0, off = rho[0] - log(USUAL_SLOPE);
    double value = 0.5 * off * off / each, together = centre / (own * (own + (double)(G - 1) * centre));
    slope[0] -= off / each;
    for (size_t g = 1; g < G; g++)
        sum += rho[g] - log(USUAL_CURVE);
    for (size_t g = 1; g < G; g++) {
        off = rho[g] - log(USUAL_CURVE);
        value += 0.5 * off * (off / own - together * sum);
        slope[g] -= off / own - together * sum;
        for (size_t l = 1; bend && l < G; l++)
            bend[g * G + l] += (g == l) / own - together;
    }
    if (bend)
        bend[0] += 1 / each;
    return value;
}

/* ---- marginal likelihood ----------------------------------------------------------------------------------------- */

typedef struct evidence {
    pv_ctx *ctx;
    pv__smoothing *of;
    pv__problem problem;
    pv__side side;
    double *w;             /* [P], at the best scales so far */
    double *thirds, *pull; /* [P] */
    double *slope, *bend;  /* [G] and [G][G], gradient and curvature of -log m */
    double *factor, *step; /* [G][G]; [G] */
} evidence;

static pv_status evidence_new(pv_ctx *ctx, const pv__problem *problem, pv__smoothing *of, evidence *e) {
    size_t P = pv_model_params(problem->model), G = of->groups;
    *e = (evidence){.ctx = ctx, .of = of, .problem = pv__labelled(problem)};
    e->problem.smoothing = of;
    PV_TRY(pv__evidence_side(ctx, problem, &e->problem, &e->side));
    PV_TRY(pv__alloc(ctx, 3 * P + 2 * G * (G + 1), sizeof *e->w, &e->w));
    e->thirds = e->w + P;
    e->pull = e->thirds + P;
    e->slope = e->pull + P;
    e->step = e->slope + G;
    e->bend = e->step + G;
    e->factor = e->bend + G * G;
    return PV_OK;
}

static void evidence_free(evidence *e) {
    pv__side_free(e->ctx, &e->side);
    pv__free(e->ctx, e->w);
}

/* log m at rho, -INFINITY if there is no optimum. Moves the side to that optimum. */
static pv_status at(evidence *e, const double *rho, double *log_m) {
    size_t P = e->side.P, G = e->of->groups;
    *log_m = -HUGE_VAL;
    for (size_t g = 0; g < G; g++)
        e->of->scale[g] = exp(rho[g]);
    spread_scales(e->of);
    PV_TRY(pv__side_fit(e->ctx, &e->side, e->w));
    if (!e->side.converged)
        return PV_OK;
    memcpy(e->side.hc0, e->side.information, P * P * sizeof *e->side.hc0); /* hc0 is not needed otherwise here */
    if (!pv__cholesky(P, e->side.hc0, 0))
        return PV_OK;
    *log_m = -e->side.value - expected(G, rho, e->step, NULL);
    for (size_t i = 0; i < P; i++)
        *log_m -= log(e->side.hc0[i * (P + 1)]);
    return PV_OK;
}

/* 1/s^2 of a slope's prior; 0 for an intercept. */
static double strength(const pv__smoothing *of, size_t i) {
    return of->of[i] < 0 ? 0 : 1 / (of->prior[i].scale * of->prior[i].scale);
}

/* Effective degrees of freedom at the side's w. */
static void count_freedom(const evidence *e) {
    memset(e->of->edf, 0, e->of->groups * sizeof *e->of->edf);
    for (size_t i = 0; i < e->side.P; i++)
        if (e->of->of[i] >= 0)
            e->of->edf[e->of->of[i]] += 1 - strength(e->of, i) * e->side.inverse[i * (e->side.P + 1)];
}

/* Gradient and curvature of -log m there; w becomes that of the side. */
static pv_status differentiate(evidence *e, const double *rho) {
    size_t P = e->side.P, G = e->of->groups;
    const double *C = e->side.inverse, *w = e->side.w;
    memcpy(e->w, w, P * sizeof *w);
    memset(e->slope, 0, G * sizeof *e->slope);
    memset(e->bend, 0, G * G * sizeof *e->bend);
    expected(G, rho, e->slope, e->bend);
    PV_TRY(pv__side_thirds(e->ctx, &e->side, e->thirds));
    for (size_t i = 0; i < P; i++) {
        double own = strength(e->of, i), square = own * w[i] * w[i], left = own * C[i * (P + 1)], pull = 0;
        if (own == 0)
            continue;
        size_t g = (size_t)e->of->of[i];
        for (size_t j = 0; j < P; j++) {
            double other = strength(e->of, j), both = own * other * C[i * P + j];
            pull += C[i * P + j] * e->thirds[j];
            if (other > 0)
                e->bend[g * G + (size_t)e->of->of[j]] -= both * (4 * w[i] * w[j] + 2 * C[i * P + j]);
        }
        e->slope[g] += square - 1 + left - 2 * own * w[i] * pull;
        e->bend[g * (G + 1)] += 2 * (square + left);
    }
    return PV_OK;
}

/* Solves L L^T x = b for x [n], which holds b on entry. */
static void solve(size_t n, const double *L, double *x) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            x[i] -= L[i * n + j] * x[j];
        x[i] /= L[i * (n + 1)];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++)
            x[i] -= L[j * n + i] * x[j];
        x[i] /= L[i * (n + 1)];
    }
}

/* An ascent step in which no scale changes by more than LONGEST; returns the largest change. */
static double find_step(evidence *e) {
    size_t G = e->of->groups;
    double longest = 0, ridge = 0;
    for (int i = 0; i<30; i++, ridge = ridge> 0 ? 4 * ridge : 0.01) {
        memcpy(e->factor, e->bend, G * G * sizeof *e->factor);
        for (size_t g = 0; g < G; g++)
            e->factor[g * (G + 1)] += ridge * fmax(1, fabs(e->bend[g * (G + 1)]));
        if (pv__cholesky(G, e->factor, 0))
            break;
    }
    memcpy(e->step, e->slope, G * sizeof *e->step);
    solve(G, e->factor, e->step);
    for (size_t g = 0; g < G; g++)
        longest = fmax(longest, fabs(e->step[g]));
    for (size_t g = 0; longest > LONGEST && g < G; g++)
        e->step[g] *= LONGEST / longest;
    return longest;
}

static double bounded(size_t g, double rho) {
    return fmax(log(LEAST), fmin(rho, log(g == 0 ? LARGEST_SLOPE : LARGEST)));
}

/* rho [2 G]: the starting point, then the maximum; the second half is work space. Leaves the side at the maximum, with
 * derivatives. */
static pv_status climb(evidence *e, double *rho) {
    size_t G = e->of->groups;
    double value, tried, *trial = rho + G, *step = e->pull; /* [P], which is at least the number of groups */
    PV_TRY(at(e, rho, &value));
    for (int i = 0; i < ITERATIONS && isfinite(value); i++) {
        PV_TRY(differentiate(e, rho));
        double longest = find_step(e);
        memcpy(step, e->step, G * sizeof *step);
        if (!(longest > CLOSE))
            break;
        tried = -HUGE_VAL;
        for (int h = 0; h < HALVINGS && !(tried > value - 1e-9); h++) {
            double share = pow(0.5, h);
            for (size_t g = 0; g < G; g++)
                trial[g] = bounded(g, rho[g] + share * step[g]);
            PV_TRY(at(e, trial, &tried));
        }
        bool better = tried > value + 1e-7;
        if (tried > value - 1e-9) {
            memcpy(rho, trial, G * sizeof *rho);
            value = tried;
        }
        if (!better)
            break;
    }
    return PV_OK;
}

/* Rounds scales to three digits, so that rounding errors do not matter; computes their variances from the curvature. */
static pv_status settle(evidence *e, double *rho) {
    size_t G = e->of->groups;
    double value;
    PV_TRY(at(e, rho, &value));
    if (!isfinite(value))
        return PV_OK;
    PV_TRY(differentiate(e, rho));
    count_freedom(e);
    find_step(e); /* for its Cholesky factor */
    for (size_t g = 0; g < G; g++) {
        char text[PV__PRIOR_TEXT];
        memset(e->step, 0, G * sizeof *e->step);
        e->step[g] = 1;
        solve(G, e->factor, e->step);
        e->of->spread[g] = e->step[g];
        pv__format(text, sizeof text, "%.3g", exp(rho[g]));
        if (!pv__parse_real(text, &e->of->scale[g]))
            e->of->scale[g] = exp(rho[g]);
    }
    spread_scales(e->of);
    PV_TRY(pv__alloc(e->ctx, e->side.P, sizeof *e->of->w, &e->of->w));
    memcpy(e->of->w, e->w, e->side.P * sizeof *e->w);
    return PV_OK;
}

pv_status pv__smoothing_choose(pv_ctx *ctx, const pv__problem *problem, bool stated, pv__smoothing *made) {
    evidence e;
    double *rho = NULL, value;
    size_t G = made->groups;
    pv_status status;
    PV_GOTO(done, evidence_new(ctx, problem, made, &e));
    PV_GOTO(done, pv__alloc(ctx, G, 2 * sizeof *rho, &rho));
    for (size_t g = 0; g < G; g++)
        rho[g] = stated ? log(made->scale[g]) : log(g == 0 ? START_SLOPE : START_CURVE);
    if (stated) {
        PV_GOTO(done, at(&e, rho, &value));
        if (isfinite(value))
            count_freedom(&e);
        goto done;
    }
    PV_GOTO(done, climb(&e, rho));
    status = settle(&e, rho);
done:
    evidence_free(&e);
    pv__free(ctx, rho);
    return status;
}
