/* Tests the assumption of label shift, and estimates a model's performance in the population found (docs/method.md,
 * 10.6).
 *
 * If the target rows are a mixture of the labels' rows, then so are their scores, which the bins' likelihood ratio
 * tests against an arbitrary distribution (bins_interval.c). In addition, the mean of every column must be between its
 * means under the labels, at the same pi for all columns. Each difference is measured in standard errors, and the
 * largest is tested with a correction for the number of columns (Sidak). Rows that shifted along the score look like a
 * different prevalence: neither test detects that.
 */
#include <math.h>
#include <string.h>

#include "predict/bins.h"
#include "predict/predict.h"

enum { DRAWS = 2000 };

/* ---- distribution of the scores ---------------------------------------------------------------------------------- */

/* Distribution functions up to each edge, and 1. */
static pv_status draw_curve(pv_ctx *ctx, const pv__bins *bins, pv_shift_curve *curve) {
    const pv__counts *c = &bins->counts;
    size_t n = c->bins;
    pv__bins_fit mode;
    double sum[3] = {0, 0, 0};
    pv__bins_mode(c, &mode);
    PV_TRY(pv__alloc(ctx, 5 * n, sizeof *curve->score, &curve->score));
    curve->rows = curve->score + n;
    curve->mixture = curve->rows + n;
    curve->label[0] = curve->mixture + n;
    curve->label[1] = curve->label[0] + n;
    curve->prevalence = mode.pi;
    curve->n = n;
    for (size_t k = 0; k < n; k++) {
        curve->score[k] = k + 1 < n ? bins->edge[k] : bins->top;
        curve->label[0][k] = sum[0] += c->known[0][k] / c->mass[0];
        curve->label[1][k] = sum[1] += c->known[1][k] / c->mass[1];
        curve->rows[k] = sum[2] += c->target[k] / c->targets;
        curve->mixture[k] = mode.pi * sum[1] + (1 - mode.pi) * sum[0];
    }
    return PV_OK;
}

pv_status pv__shift_test(pv_ctx *ctx, const pv__bins *bins, int64_t seed, pv_unknown_prevalence *out) {
    if (bins->counts.bins < 3) /* two bins always fit a mixture */
        return PV_OK;
    PV_TRY(draw_curve(ctx, bins, &out->curve));
    return pv__bins_test(ctx, &bins->counts, seed, &out->check.distance, &out->check.p);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* Difference between the rows' mean of a column and that of the mixture, in standard errors; 0 if it cannot be
 * tested. */
static double column_z(const pv_reference *r, size_t j, double mean, double rows, const pv_unknown_prevalence *t) {
    size_t d = r->columns;
    double m0 = r->column[j], m1 = r->column[d + j], v0 = r->column[2 * d + j], v1 = r->column[3 * d + j];
    double pi = t->value[1], apart = m1 - m0, mixed = pi * v1 + (1 - pi) * v0 + pi * (1 - pi) * apart * apart;
    double variance = mixed / rows + pi * pi * v1 / r->units[1] + (1 - pi) * (1 - pi) * v0 / r->units[0] +
                      apart * apart * t->sd[1] * t->sd[1];
    const double fewest = 5; /* rows of a rare level: with fewer, the normal approximation fails */
    if (!(mixed * rows >= fewest && (v0 + v1) * fmin(r->units[0], r->units[1]) >= fewest && variance > 0))
        return 0;
    return (mean - m0 - pi * apart) / sqrt(variance);
}

pv_status pv__shift_columns(pv_ctx *ctx, const pv_dataset *data, const int32_t *label, const pv_reference *r,
                            const pv_unknown_prevalence *t, pv_shift_check *check) {
    size_t d = r->columns, looked_at = 0;
    double *mean, rows = 0, squares = 0;
    if (d == 0 || data->images || (!data->x && !data->columns) || (size_t)data->features != d)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, 2 * d, sizeof *mean, &mean)); /* also a buffer for one row */
    for (size_t i = 0; i < data->rows; i++) {
        double v = label && label[i] >= 0 ? 0 : data->weight ? data->weight[i] : 1;
        if (!(v > 0))
            continue;
        rows += v;
        squares += v * v;
        const double *x = pv_dataset_rows(ctx, data, i, 1, mean + d);
        for (size_t j = 0; j < d; j++)
            mean[j] += (x[j] - mean[j]) * v / rows;
    }
    double most = 0, people = data->sampling && squares > 0 ? rows * rows / squares : rows;
    for (size_t j = 0; j < d && rows > 0; j++) {
        double z = column_z(r, j, mean[j], people, t);
        looked_at += z != 0;
        if (fabs(z) > fabs(most)) {
            most = z;
            check->column = (int)j;
        }
    }
    if (looked_at > 0) {
        check->column_z = most;
        check->column_p = -expm1((double)looked_at * log1p(-erfc(fabs(most) / sqrt(2))));
    }
    pv__free(ctx, mean);
    return PV_OK;
}

void pv__shift_together(pv_shift_check *check) {
    double p = isnan(check->column_p) ? check->p : fmin(check->p, check->column_p);
    check->both = isnan(check->column_p) || isnan(check->p) ? p : 1 - (1 - p) * (1 - p);
}

/* ---- expected performance ---------------------------------------------------------------------------------------- */

const char *pv_expected_name(int which) {
#define NAME(name, word) word,
    static const char *const names[] = {PV_EXPECTED_LIST(NAME)};
#undef NAME
    return which >= 0 && which < PV_EXPECTED_COUNT ? names[which] : "unknown";
}

static double beta_draw(pv_rng *rng, double yes, double no) {
    double a = pv_rng_gamma(rng, yes + 0.5), b = pv_rng_gamma(rng, no + 0.5);
    return a + b > 0 ? a / (a + b) : 0.5;
}

static void derive(double pi, double sensitivity, double specificity, double threshold, double *out) {
    double yes = pi * sensitivity, wrong = (1 - pi) * (1 - specificity);
    out[PV_EXPECTED_SENSITIVITY] = sensitivity;
    out[PV_EXPECTED_SPECIFICITY] = specificity;
    out[PV_EXPECTED_PPV] = yes + wrong > 0 ? yes / (yes + wrong) : (double)NAN;
    double rest = pi * (1 - sensitivity) + (1 - pi) * specificity;
    out[PV_EXPECTED_NPV] = rest > 0 ? (1 - pi) * specificity / rest : (double)NAN;
    out[PV_EXPECTED_NET_BENEFIT] = yes - wrong * threshold / (1 - threshold);
}

/* The probability for a given ratio under the inferred distribution of pi. */
static double probability(const pv_unknown_prevalence *t, double score) {
    double sum = 0;
    for (size_t j = 0; j < t->points; j++)
        sum += t->weight[j] * pv_sigmoid(pv_logit(t->pi[2 * j + 1]) +
                                         (t->reading ? t->reading->shift + t->reading->slope * score : score));
    return sum;
}

pv_status pv_unknown_performance(pv_ctx *ctx, const pv_reference *r, const pv_unknown_prevalence *t, double threshold,
                                 int64_t seed, pv_expected *expected) {
    if (t->classes != 2 || t->points == 0 || !(threshold > 0 && threshold < 1))
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "expected performance needs two labels, a distribution of the prevalence and a threshold between 0 and 1");
    double called[2] = {0, 0}, mass[2] = {0, 0}, one[PV_EXPECTED_COUNT], *column;
    for (size_t i = 0; i < r->count[0] + r->count[1]; i++) {
        int y = i >= r->count[0];
        mass[y] += r->weight[i];
        called[y] += probability(t, r->score[i]) >= threshold ? r->weight[i] : 0;
    }
    expected->threshold = threshold;
    expected->called = called[0] + called[1] > 0;
    for (int y = 0; y < 2; y++) { /* number of independently sampled units */
        called[y] *= r->units[y] / mass[y];
        mass[y] = r->units[y];
    }
    PV_TRY(pv__alloc(ctx, DRAWS, PV_EXPECTED_COUNT * sizeof *column, &column));
    size_t point = 0;
    double below = t->weight[0];
    for (size_t i = 0; i < DRAWS; i++) {
        pv_rng rng = pv_rng_stream((uint64_t)seed, PV_STREAM_TARGET_PERFORMANCE, i);
        double level = ((double)i + 0.5) / DRAWS;
        while (below < level && point + 1 < t->points)
            below += t->weight[++point];
        double sensitivity = beta_draw(&rng, called[1], mass[1] - called[1]);
        double specificity = beta_draw(&rng, mass[0] - called[0], called[0]);
        derive(t->pi[2 * point + 1], sensitivity, specificity, threshold, one);
        for (size_t m = 0; m < PV_EXPECTED_COUNT; m++)
            column[m * DRAWS + i] = one[m];
    }
    derive(t->value[1], called[1] / mass[1], 1 - called[0] / mass[0], threshold, expected->value);
    /* The estimate is the most likely value, which near a bound may lie outside a central interval. */
    for (size_t m = 0; m < PV_EXPECTED_COUNT; m++) {
        double value = expected->value[m], lo = pv_quantile(DRAWS, column + m * DRAWS, 0.5 - 0.5 * t->level);
        double hi = pv_quantile(DRAWS, column + m * DRAWS, 0.5 + 0.5 * t->level);
        expected->lo[m] = isnan(value) ? (double)NAN : fmin(lo, value);
        expected->hi[m] = isnan(value) ? (double)NAN : fmax(hi, value);
    }
    pv__free(ctx, column);
    return PV_OK;
}
