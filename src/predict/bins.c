/* An unknown prevalence of two labels without assuming a form for the density ratio (docs/method.md, 10.5).
 *
 * Reference rows, which have known labels and were not used to fit the model, and target rows are binned by their
 * scores. With n_yk of the former and m_k of the latter in bin k, the log-likelihood is
 *
 *   l(pi, f) = sum_k n_1k log f_1k + n_0k log f_0k + m_k log(pi f_1k + (1 - pi) f_0k) + sum_y t_y log pi_y,
 *
 * where f_y are label y's bin probabilities and t_y is the number of target rows with known label y. For given pi it is
 * concave in f. With multipliers lambda_y, where lambda_1 + lambda_0 is the number of all rows, a = lambda_1/pi, b =
 * lambda_0/(1 - pi) and d = a/b - 1, the fraction u_k of label 1 in q_k = pi f_1k + (1 - pi) f_0k is the root in [0, 1]
 * of
 *
 *   m_k d u^2 - (n_1k + n_0k + d (m_k + n_0k)) u + n_1k = 0,   q_k = (n_1k + n_0k + m_k)/(b (1 + d u_k)),
 *
 * and lambda_1 is the only root of sum_k q_k u_k = pi (with the labels exchanged if pi is above 1/2). At the most
 * likely pi, lambda_1 = n_1 + pi (m + t) - t_1, which leaves a single equation, whose sign is that of dl/dpi.
 *
 * Bin edges are quantiles of the reference scores, with half of the weight on each label and equal scores in one bin;
 * each bin has a tenth of the rows, or there are fewer bins if the smaller label has fewer than 160. The fold models
 * that score the reference also score every target row, with weights proportional to their folds, so the target rows
 * are exactly a mixture of the reference distributions.
 */
#include "predict/bins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/infer.h"

enum { FEWEST = 5, EACH = 16, ROUNDS = 60 };

double pv__score_of(const pv_unknown_sample *sample, size_t i) {
    double s = sample->loglik[2 * i + 1] - sample->loglik[2 * i] - sample->log_marginal[1] + sample->log_marginal[0];
    return fmin(fmax(s, -PV_REFERENCE_SCORE), PV_REFERENCE_SCORE);
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

static size_t bin_of(const pv__bins *b, double score) {
    size_t at = 0;
    while (at + 1 < b->counts.bins && score > b->edge[at])
        at++;
    return at;
}

typedef struct point {
    double score, weight;
} point;

static int by_score(const void *a, const void *b) {
    double x = ((const point *)a)->score, y = ((const point *)b)->score;
    return x < y ? -1 : x > y;
}

/* Chooses the bin edges, halfway between scores. */
static pv_status cut(pv_ctx *ctx, const pv_reference *r, pv__bins *b) {
    size_t n = r->count[0] + r->count[1], bin = 0;
    double wanted = floor(fmin(r->units[0], r->units[1]) / EACH), before = 0, mass[2] = {0, 0};
    point *all;
    wanted = fmin(fmax(wanted, FEWEST), PV__BINS_MOST);
    PV_TRY(pv__alloc(ctx, n, sizeof *all, &all));
    for (size_t i = 0; i < n; i++)
        mass[i >= r->count[0]] += r->weight[i];
    for (size_t i = 0; i < n; i++)
        all[i] = (point){r->score[i], 0.5 * r->weight[i] / mass[i >= r->count[0]]};
    qsort(all, n, sizeof *all, by_score);
    b->counts.bins = 1;
    for (size_t i = 0, end; i < n; i = end) {
        double here = 0;
        for (end = i; end < n && all[end].score == all[i].score; end++)
            here += all[end].weight;
        size_t at = (size_t)fmin(floor(wanted * (before + 0.5 * here)), wanted - 1);
        if (i > 0 && at > bin)
            b->edge[b->counts.bins++ - 1] = 0.5 * (all[i - 1].score + all[i].score);
        bin = at > bin ? at : bin;
        before += here;
    }
    b->top = all[n - 1].score;
    pv__free(ctx, all);
    return PV_OK;
}

/* Scales counts to sum to the number of independently sampled units. */
static double count_people(size_t bins, double units, double *count) {
    double sum = 0;
    for (size_t k = 0; k < bins; k++)
        sum += count[k];
    for (size_t k = 0; k < bins && sum > 0; k++)
        count[k] *= units / sum;
    return sum > 0 ? units : 0;
}

static double weight_of(const pv_unknown_sample *sample, size_t i) {
    if (sample->label && sample->label[i] >= 0)
        return 0;
    return sample->weight ? sample->weight[i] : 1;
}

static pv_status put_targets(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_unknown_options *options,
                             pv__bins *b) {
    size_t folds = options->folds > 0 ? options->folds : 1, bins = b->counts.bins;
    double *share, units;
    PV_TRY(pv__alloc(ctx, sample->n, bins * sizeof *share, &share));
    for (size_t i = 0; i < sample->n; i++) {
        double v = weight_of(sample, i) / (double)folds;
        for (size_t k = 0; k < folds; k++)
            share[i * bins +
                  bin_of(b, options->folds ? options->fold_score[k * sample->n + i] : pv__score_of(sample, i))] += v;
        for (size_t k = 0; k < bins; k++)
            b->counts.target[k] += share[i * bins + k];
    }
    const pv__sampled how = {
        .rows = sample->n, .cells = bins, .share = share, .cluster = sample->cluster, .sampling = sample->sampling};
    pv_status status = pv__effective_units(ctx, &how, &units);
    b->counts.targets = count_people(bins, units, b->counts.target);
    pv__free(ctx, share);
    return status;
}

pv_status pv__bins_new(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_unknown_options *options, pv__bins *b) {
    const pv_reference *r = options->reference;
    *b = (pv__bins){.counts = {.bins = 1}};
    PV_TRY(cut(ctx, r, b));
    for (size_t i = 0; i < r->count[0] + r->count[1]; i++)
        b->counts.known[i >= r->count[0]][bin_of(b, r->score[i])] += r->weight[i];
    for (int y = 0; y < 2; y++)
        b->counts.mass[y] = count_people(b->counts.bins, r->units[y], b->counts.known[y]);
    for (size_t i = 0; sample->label && i < sample->n; i++)
        if (sample->label[i] >= 0)
            b->counts.told[sample->label[i]] += sample->weight ? sample->weight[i] : 1;
    return put_targets(ctx, sample, options, b);
}

/* ---- likelihood -------------------------------------------------------------------------------------------------- */

/* sum_k f_yk, over all bins, at the multiplier lambda of label y, the rarer one, with prevalence pi. Decreases in
 * lambda. f may be NULL. */
static double shares_at(const pv__counts *c, int y, double pi, double lambda, double f[2][PV__BINS_MOST]) {
    double all = c->mass[0] + c->mass[1] + c->targets, b = (all - lambda) / (1 - pi), d = lambda / pi / b - 1, sum = 0;
    for (size_t k = 0; k < c->bins; k++) {
        double own = c->known[y][k], other = c->known[1 - y][k], m = c->target[k], half = own + other + d * (m + other);
        double root = sqrt(fmax(0, half * half - 4 * m * d * own)), u = 0;
        if (half > 0)
            u = 2 * own / (half + root);
        else if (m * d < 0)
            u = (half - root) / (2 * m * d);
        u = fmin(u, 1);
        double q = (own + other + m) / (b * (1 + d * u));
        sum += q * u / pi;
        if (f) {
            f[y][k] = q * u / pi;
            f[1 - y][k] = q * (1 - u) / (1 - pi);
        }
    }
    return sum;
}

static double times_log(double count, double p) {
    return count > 0 ? count * log(p) : 0;
}

static double value_of(const pv__counts *c, const pv__bins_fit *fit) {
    double sum = times_log(c->told[1], fit->pi) + times_log(c->told[0], 1 - fit->pi);
    for (size_t k = 0; k < c->bins; k++)
        sum += times_log(c->known[1][k], fit->f[1][k]) + times_log(c->known[0][k], fit->f[0][k]) +
               times_log(c->target[k], fit->pi * fit->f[1][k] + (1 - fit->pi) * fit->f[0][k]);
    return sum;
}

/* The profile at pi = 0 or 1: all target rows have the same label. */
static void profile_at_bound(const pv__counts *c, pv__bins_fit *fit) {
    int all = fit->pi > 0.5;
    for (size_t k = 0; k < c->bins; k++) {
        fit->f[all][k] = (c->known[all][k] + c->target[k]) / (c->mass[all] + c->targets);
        fit->f[1 - all][k] = c->known[1 - all][k] / c->mass[1 - all];
    }
}

/* Regula falsi (Illinois variant) with a bisection every fourth step: *low and *high enclose the root of a sum that
 * exceeds 1 by at_low at *low and is below 1 at *high. */
typedef struct bracket {
    double low, high, at_low, at_high;
    int side, round;
} bracket;

static double next_of(bracket *b) {
    return b->round++ % 4 == 3 ? 0.5 * (b->low + b->high)
                               : (b->low * b->at_high - b->high * b->at_low) / (b->at_high - b->at_low);
}

static bool narrow(bracket *b, double x, double at) {
    if (at > 0) {
        b->low = x;
        b->at_low = at;
        b->at_high *= b->side > 0 ? 0.5 : 1;
        b->side = 1;
    } else {
        b->high = x;
        b->at_high = at;
        b->at_low *= b->side < 0 ? 0.5 : 1;
        b->side = -1;
    }
    return fabs(at) > 1e-14 && b->round < ROUNDS && b->high - b->low > 1e-14 * (fabs(b->high) + fabs(b->low));
}

void pv__bins_profile(const pv__counts *c, double pi, pv__bins_fit *fit) {
    int y = pi <= 0.5;
    double own = y ? pi : 1 - pi, lambda = c->mass[y];
    fit->pi = pi;
    if (!(own > 0)) {
        profile_at_bound(c, fit);
    } else {
        bracket b = {.low = c->mass[y], .high = c->mass[y] + c->targets};
        b.at_low = shares_at(c, y, own, b.low, NULL) - 1;
        b.at_high = shares_at(c, y, own, b.high, NULL) - 1;
        if (b.at_low > 0 && b.at_high < 0)
            do
                lambda = next_of(&b);
            while (narrow(&b, lambda, shares_at(c, y, own, lambda, NULL) - 1));
        (void)shares_at(c, y, own, lambda, fit->f);
    }
    fit->value = value_of(c, fit);
}

/* Has the sign of dl/dpi. */
static double rise(const pv__counts *c, double pi) {
    int y = pi <= 0.5;
    double own = y ? pi : 1 - pi, lambda = c->mass[y] + own * (c->targets + c->told[0] + c->told[1]) - c->told[y];
    double more = lambda < c->mass[y]                ? 1
                  : lambda > c->mass[y] + c->targets ? -1
                                                     : shares_at(c, y, own, lambda, NULL) - 1;
    return y ? more : -more;
}

void pv__bins_mode(const pv__counts *c, pv__bins_fit *fit) {
    const double edge = 1e-9;
    bracket b = {.low = edge, .high = 1 - edge};
    double pi;
    b.at_low = rise(c, b.low);
    b.at_high = rise(c, b.high);
    if (!(b.at_low > 0))
        pi = c->told[1] > 0 ? b.low : 0;
    else if (!(b.at_high < 0))
        pi = c->told[0] > 0 ? b.high : 1;
    else
        do
            pi = next_of(&b);
        while (narrow(&b, pi, rise(c, pi)));
    pv__bins_profile(c, pi, fit);
}
