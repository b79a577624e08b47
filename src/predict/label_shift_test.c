/* Label shift itself, put to the test, and what a model is worth in the population found (docs/method.md, 10.6).
 *
 * If the target rows are a mixture of the labels' rows, their log ratios s have the distribution pi F_1 + (1 - pi) F_0.
 * The statistic is the largest distance of the rows' distribution function from that mixture of the reference rows',
 * least over pi: convex in pi. Its distribution, where the rows are such a mixture, is a bootstrap's: all three samples
 * drawn anew from f_0 and f_1 as fitted to them together, until ENOUGH of the distances were as large or REPLICATES
 * were drawn: p is ENOUGH over their number, or (1 + those as large)/(1 + REPLICATES) (Besag and Clifford 1991).
 *
 * The mean of every column must lie between its means among the labels, at the same pi for all. Each is held against
 * that, in standard errors; the largest counts, with the number of columns allowed for (Sidak).
 */
#include <math.h>
#include <string.h>

#include "predict/calibrated.h"
#include "predict/predict.h"

enum { REPLICATES = 199, ENOUGH = 10, DRAWS = 2000, DRAWN = 200 }; /* DRAWN: points of the picture */

/* ---- the distribution of the ratios ------------------------------------------------------------------------------ */

typedef struct steps {
    size_t n;
    const size_t *order; /* [n], by rising score */
    const double *score; /* [n] */
    double *F[3];        /* [n] distribution functions of label 0, label 1 and the target rows, in that order */
} steps;

/* mass [3][points] -> distribution functions. */
static void add_up(const steps *s, double *const *mass) {
    for (int k = 0; k < 3; k++) {
        double sum = 0, total = 0;
        for (size_t i = 0; i < s->n; i++)
            total += mass[k][i];
        for (size_t i = 0; i < s->n; i++)
            s->F[k][i] = (sum += mass[k][s->order[i]]) / total;
    }
}

static double distance_at(const steps *s, double pi) {
    double most = 0;
    for (size_t i = 0; i + 1 < s->n; i++)
        if (s->score[s->order[i]] < s->score[s->order[i + 1]])
            most = fmax(most, fabs(s->F[2][i] - pi * s->F[1][i] - (1 - pi) * s->F[0][i]));
    return most;
}

/* Golden sections: the distance is convex in pi. nearest: where it is least; may be NULL. */
static double distance(const steps *s, double *nearest) {
    const double golden = 0.6180339887498949;
    double low = 0, high = 1, x = 1 - golden, y = golden, at_x = distance_at(s, x), at_y = distance_at(s, y);
    for (int i = 0; i < 24; i++) {
        if (at_x < at_y) {
            high = y;
            y = x;
            at_y = at_x;
            x = high - golden * (high - low);
            at_x = distance_at(s, x);
        } else {
            low = x;
            x = y;
            at_x = at_y;
            y = low + golden * (high - low);
            at_y = distance_at(s, y);
        }
    }
    const double pi[4] = {x, y, 0, 1}, at[4] = {at_x, at_y, distance_at(s, 0), distance_at(s, 1)};
    int best = 0;
    for (int i = 1; i < 4; i++)
        best = at[i] < at[best] ? i : best;
    if (nearest)
        *nearest = pi[best];
    return at[best];
}

static double poisson(pv_rng *rng, double mean) {
    if (mean > 50)
        return fmax(0, floor(mean + sqrt(mean) * pv_rng_normal(rng) + 0.5));
    double left = exp(-mean), product = pv_rng_uniform(rng), count = 0;
    for (; product > left; count++)
        product *= pv_rng_uniform(rng);
    return count;
}

/* Evenly spaced points of the distribution functions, the last of equal scores. */
static pv_status draw_curve(pv_ctx *ctx, const steps *s, double pi, pv_shift_curve *curve) {
    PV_TRY(pv__alloc(ctx, 5 * DRAWN, sizeof *curve->score, &curve->score));
    curve->rows = curve->score + DRAWN;
    curve->mixture = curve->rows + DRAWN;
    curve->label[0] = curve->mixture + DRAWN;
    curve->label[1] = curve->label[0] + DRAWN;
    curve->prevalence = pi;
    for (size_t j = 0; j < DRAWN; j++) {
        size_t i = (j + 1) * s->n / DRAWN, at = curve->n;
        i = i > 0 ? i - 1 : 0;
        while (i + 1 < s->n && s->score[s->order[i]] == s->score[s->order[i + 1]])
            i++;
        double score = s->score[s->order[i]];
        if (at > 0 && score == curve->score[at - 1])
            continue;
        curve->score[at] = score;
        curve->rows[at] = s->F[2][i];
        curve->mixture[at] = pi * s->F[1][i] + (1 - pi) * s->F[0][i];
        for (int y = 0; y < 2; y++)
            curve->label[y][at] = s->F[y][i];
        curve->n++;
    }
    return PV_OK;
}

pv_status pv__shift_test(pv_ctx *ctx, pv__calibrated *c, int64_t seed, pv_unknown_prevalence *out) {
    pv_shift_check *check = &out->check;
    size_t n = c->points;
    double *block = NULL, *mass[3], pi = pv_sigmoid(c->mode), nearest;
    size_t *order = NULL, larger = 0, made = 0;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, 6 * n, sizeof *block, &block));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *order, &order));
    pv__sort_by(n, c->score, order);
    steps s = {.n = n, .order = order, .score = c->score};
    for (int k = 0; k < 3; k++) {
        s.F[k] = block + (size_t)k * n;
        mass[k] = block + (size_t)(3 + k) * n;
    }
    double *const own[3] = {c->known[0], c->known[1], c->target};
    add_up(&s, own);
    check->distance = distance(&s, &nearest);
    PV_GOTO(done, draw_curve(ctx, &s, nearest, &out->curve));
    pv__calibrated_densities(c);
    for (; made < REPLICATES && larger < ENOUGH; made++) {
        PV_GOTO(done, pv__go_on(ctx));
        pv_rng rng = pv_rng_stream((uint64_t)seed, PV_STREAM_TARGET_FIT, made);
        for (size_t i = 0; i < n; i++) {
            mass[0][i] = poisson(&rng, c->mass[0] * c->f[0][i]);
            mass[1][i] = poisson(&rng, c->mass[1] * c->f[1][i]);
            mass[2][i] = poisson(&rng, c->targets * (pi * c->f[1][i] + (1 - pi) * c->f[0][i]));
        }
        add_up(&s, mass);
        larger += distance(&s, NULL) < check->distance ? 0 : 1;
    }
    check->p = larger == ENOUGH ? ENOUGH / (double)made : (double)(1 + larger) / (1 + REPLICATES);
done:
    pv__free(ctx, block);
    pv__free(ctx, order);
    return status;
}

/* ---- the columns ------------------------------------------------------------------------------------------------- */

/* How far the rows' mean of a column is from the mixture's, in standard errors; 0 where it cannot be told. */
static double column_z(const pv_reference *r, const double *mass, size_t j, double mean, double rows,
                       const pv_unknown_prevalence *t) {
    size_t d = r->columns;
    double m0 = r->column[j], m1 = r->column[d + j], v0 = r->column[2 * d + j], v1 = r->column[3 * d + j];
    double pi = t->value[1], apart = m1 - m0, mixed = pi * v1 + (1 - pi) * v0 + pi * (1 - pi) * apart * apart;
    double variance = mixed / rows + pi * pi * v1 / mass[1] + (1 - pi) * (1 - pi) * v0 / mass[0] +
                      apart * apart * t->sd[1] * t->sd[1];
    const double fewest = 5; /* of a rare level: no normal distribution below */
    if (!(mixed * rows >= fewest && (v0 + v1) * fmin(mass[0], mass[1]) >= fewest && variance > 0))
        return 0;
    return (mean - m0 - pi * apart) / sqrt(variance);
}

pv_status pv__shift_columns(pv_ctx *ctx, const pv_dataset *data, const int32_t *label, const pv_reference *r,
                            const pv_unknown_prevalence *t, pv_shift_check *check) {
    size_t d = r->columns, looked_at = 0;
    double *mean, rows = 0, mass[2] = {0, 0};
    if (d == 0 || data->images || (!data->x && !data->columns) || (size_t)data->features != d)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, 2 * d, sizeof *mean, &mean)); /* and room for a row */
    for (size_t i = 0; i < r->count[0] + r->count[1]; i++)
        mass[i >= r->count[0]] += r->weight[i];
    for (size_t i = 0; i < data->rows; i++) {
        double v = label && label[i] >= 0 ? 0 : data->weight ? data->weight[i] : 1;
        if (!(v > 0))
            continue;
        rows += v;
        const double *x = pv_dataset_rows(ctx, data, i, 1, mean + d);
        for (size_t j = 0; j < d; j++)
            mean[j] += (x[j] - mean[j]) * v / rows;
    }
    double most = 0;
    for (size_t j = 0; j < d && rows > 0; j++) {
        double z = column_z(r, mass, j, mean[j], rows, t);
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

/* ---- performance to be expected ---------------------------------------------------------------------------------- */

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

/* The probability that the rows' own distribution of pi gives to a ratio. */
static double probability(const pv_unknown_prevalence *t, double score) {
    double sum = 0;
    for (size_t j = 0; j < t->points; j++)
        sum += t->weight[j] *
               pv_sigmoid(pv_logit(t->pi[2 * j + 1]) + (t->slope ? t->shift[j] + t->slope[j] * score : score));
    return sum;
}

pv_status pv_unknown_performance(pv_ctx *ctx, const pv_reference *r, const pv_unknown_prevalence *t, double threshold,
                                 int64_t seed, pv_expected *expected) {
    if (t->classes != 2 || t->points == 0 || !(threshold > 0 && threshold < 1))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "the performance to be expected needs two labels, a distribution of the prevalence and a "
                        "threshold between 0 and 1");
    double called[2] = {0, 0}, mass[2] = {0, 0}, one[PV_EXPECTED_COUNT], *column;
    for (size_t i = 0; i < r->count[0] + r->count[1]; i++) {
        int y = i >= r->count[0];
        mass[y] += r->weight[i];
        called[y] += probability(t, r->score[i]) >= threshold ? r->weight[i] : 0;
    }
    expected->threshold = threshold;
    expected->called = called[0] + called[1] > 0;
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
    for (size_t m = 0; m < PV_EXPECTED_COUNT; m++) {
        expected->lo[m] = pv_quantile(DRAWS, column + m * DRAWS, 0.5 - 0.5 * t->level);
        expected->hi[m] = pv_quantile(DRAWS, column + m * DRAWS, 0.5 + 0.5 * t->level);
    }
    pv__free(ctx, column);
    return PV_OK;
}
