/* The intervals of prevalences from cells (label_cells.c), and their posterior.
 *
 * A proportion p of label y is in its interval if 2 (l(pi^) - max l with pi_y = p) is at most the `level` quantile of
 * its distribution over resampled counts of all samples, drawn from the most likely fit with that p. The quantile is
 * computed at the end of the chi-square interval. The same random numbers are used everywhere.
 *
 * Posterior: with the cell probabilities profiled out. Importance draws from a Student t around the mode in
 * log(pi_y/pi_ref), with the curvature there, as in sampler.c; if the effective number is small, a Metropolis chain
 * from the mode.
 */
#include <math.h>
#include <string.h>

#include "core/core.h"
#include "predict/bins.h"
#include "predict/label_cells.h"

enum { REPLICATES = 200, HALVINGS = 24, DRAWS = 400, THINNED = 10 };
static const double CLOSE = 1e-6;

/* ---- the interval ------------------------------------------------------------------------------------------------ */

static void draw(const pv__label_cell_counts *of, const pv__label_cell_fit *fit, pv_rng *rng,
                 pv__label_cell_counts *to) {
    double mixed[PV__CELLS_MOST] = {0}, told = 0;
    to->labels = of->labels;
    to->cells = of->cells;
    for (size_t y = 0; y < of->labels; y++) {
        to->mass[y] = pv__multinomial(rng, of->cells, of->mass[y], fit->f[y], to->known[y]);
        for (size_t k = 0; k < of->cells; k++)
            mixed[k] += fit->pi[y] * fit->f[y][k];
        told += of->told[y];
    }
    to->targets = pv__multinomial(rng, of->cells, of->targets, mixed, to->target);
    (void)pv__multinomial(rng, of->labels, told, fit->pi, to->told);
}

static double ratio_at(const pv__label_cell_counts *c, const pv__label_cell_fit *mode, size_t y, double pi) {
    pv__label_cell_fit fit;
    pv__label_cells_profile(c, mode, y, pi, &fit);
    return fmax(0, 2 * (mode->value - fit.value));
}

/* The quantile of the ratio if label y has prevalence pi. */
static pv_status quantile_at(pv_ctx *ctx, const pv__label_cell_counts *c, const pv__label_cell_fit *mode, size_t y,
                             double pi, double level, int64_t seed, double *value) {
    double ratio[REPLICATES];
    pv__label_cell_fit fit, begun, free;
    pv__label_cell_counts drawn;
    pv__label_cells_profile(c, mode, y, pi, &fit);
    for (size_t i = 0; i < REPLICATES; i++) {
        pv_rng rng = pv_rng_stream((uint64_t)seed, PV_STREAM_TARGET_FIT, i);
        PV_TRY(pv__go_on(ctx));
        draw(c, &fit, &rng, &drawn);
        pv__label_cells_begin(&drawn, &begun);
        free = fit;
        for (size_t l = 0; l < c->labels; l++) {
            free.pi[l] = 0.9 * fit.pi[l] + 0.1 * begun.pi[l];
            for (size_t k = 0; k < c->cells; k++)
                free.f[l][k] = 0.9 * fit.f[l][k] + 0.1 * begun.f[l][k];
        }
        pv__label_cells_climb(&drawn, PV__PI_FREE, CLOSE, &free);
        ratio[i] = ratio_at(&drawn, &free, y, pi);
    }
    *value = pv_quantile(REPLICATES, ratio, level);
    return PV_OK;
}

/* Where the ratio reaches the limit, going from the mode towards `bound`; `bound` if it does not. */
static double reach(const pv__label_cell_counts *c, const pv__label_cell_fit *mode, size_t y, double bound,
                    double limit) {
    double in = mode->pi[y], out = bound;
    if (ratio_at(c, mode, y, bound) <= limit)
        return bound;
    for (int i = 0; i < HALVINGS; i++) {
        double pi = 0.5 * (in + out);
        *(ratio_at(c, mode, y, pi) <= limit ? &in : &out) = pi;
    }
    return in;
}

pv_status pv__label_cells_interval(pv_ctx *ctx, const pv__label_cell_counts *c, double level, int64_t seed, double *lo,
                                   double *hi, double *scale) {
    double usual = pv_normal_quantile(0.5 + 0.5 * level), sum = 0;
    pv__label_cell_fit mode;
    usual *= usual;
    pv__label_cells_mode(c, &mode);
    for (size_t y = 0; y < c->labels; y++)
        for (int end = 0; end < 2; end++) {
            double limit, from = reach(c, &mode, y, end, usual);
            PV_TRY(quantile_at(ctx, c, &mode, y, from, level, seed, &limit));
            (end ? hi : lo)[y] = reach(c, &mode, y, end, limit);
            sum += fmax(limit, 0.25 * usual);
        }
    *scale = fmin(1, 2 * (double)c->labels * usual / sum);
    return PV_OK;
}

/* ---- the posterior ----------------------------------------------------------------------------------------------- */

typedef struct density {
    const pv__label_cell_counts *counts; /* without known labels, which alpha includes */
    const double *alpha;
    double scale;
    const pv__label_cell_fit *mode;
} density;

/* The density of log(pi_y/pi_ref), up to a constant; slope [labels], the derivative with respect to log pi_y, may be
 * NULL. */
static double log_density(const density *d, const double *pi, double *slope) {
    const pv__label_cell_counts *c = d->counts;
    pv__label_cell_fit fit;
    double value, all = 0;
    pv__label_cells_begin(c, &fit);
    memcpy(fit.pi, pi, c->labels * sizeof *pi);
    for (size_t y = 0; y < c->labels; y++)
        for (size_t k = 0; k < c->cells; k++)
            fit.f[y][k] = 0.9 * d->mode->f[y][k] + 0.1 * fit.f[y][k];
    pv__label_cells_climb(c, PV__PI_GIVEN, CLOSE, &fit);
    value = d->scale * fit.value;
    for (size_t y = 0; y < c->labels; y++) {
        value += d->alpha[y] * log(pi[y]);
        all += d->alpha[y];
    }
    for (size_t y = 0; slope && y < c->labels; y++) {
        double expected = 0;
        for (size_t k = 0; k < c->cells; k++) {
            double q = 0;
            for (size_t l = 0; l < c->labels; l++)
                q += pi[l] * fit.f[l][k];
            expected += q > 0 ? c->target[k] * pi[y] * fit.f[y][k] / q : 0;
        }
        slope[y] = d->scale * (expected - c->targets * pi[y]) + d->alpha[y] - all * pi[y];
    }
    return value;
}

/* Sets the proposal: its centre, and the Cholesky factor of the curvature there, by differences of the slope. */
static void set_proposal(const density *d, const double *pi, pv__many *many) {
    size_t k = d->counts->labels, n = k - 1, i = 0;
    const double apart = 0.02;
    double x[PV__LABELS_MOST], at[PV__LABELS_MOST], up[PV__LABELS_MOST], down[PV__LABELS_MOST];
    double own[PV__LABELS_MOST][PV__LABELS_MOST];
    many->reference = 0;
    for (size_t y = 1; y < k; y++)
        if (pi[y] > pi[many->reference])
            many->reference = (int)y;
    for (size_t y = 0; y < k; y++)
        if ((int)y != many->reference)
            many->centre[i++] = log(pi[y] / pi[many->reference]);
    for (size_t j = 0; j < n; j++) {
        memset(x, 0, sizeof x);
        x[j] = apart;
        pv__many_place(many, x, 1, at);
        (void)log_density(d, at, up);
        pv__many_place(many, x, -1, at);
        (void)log_density(d, at, down);
        i = 0;
        for (size_t y = 0; y < k; y++)
            if ((int)y != many->reference)
                own[i++][j] = (down[y] - up[y]) / (2 * apart);
    }
    for (size_t l = 0; l < n; l++)
        for (size_t j = 0; j < n; j++)
            many->factor[l * n + j] = 0.5 * (own[l][j] + own[j][l]);
    if (pv__cholesky(n, many->factor, 1e-6))
        return;
    for (size_t l = 0; l < n * n; l++)
        many->factor[l] = l % (n + 1) == 0 ? 1 : 0;
}

/* Runs a chain from the mode and keeps every THINNED-th state. */
static pv_status by_chain(pv_ctx *ctx, const density *d, const pv__many *many, int64_t seed, pv__points *points) {
    size_t k = points->classes, n = k - 1;
    pv_rng rng = pv_rng_stream((uint64_t)seed, PV_STREAM_TARGET_CHAIN, 0);
    double x[PV__LABELS_MOST] = {0}, trial[PV__LABELS_MOST], pi[PV__LABELS_MOST], at[PV__LABELS_MOST];
    pv__many_place(many, x, 1, at);
    double now = log_density(d, at, NULL);
    for (size_t j = 0; j < points->count; j++) {
        PV_TRY(pv__go_on(ctx));
        for (int t = 0; t < THINNED; t++) {
            (void)pv__many_propose(many, &rng, trial);
            for (size_t l = 0; l < n; l++)
                trial[l] = x[l] + trial[l] / sqrt((double)n);
            pv__many_place(many, trial, 1, pi);
            double there = log_density(d, pi, NULL);
            if (log(pv_rng_uniform(&rng)) >= there - now)
                continue;
            now = there;
            memcpy(x, trial, sizeof x);
            memcpy(at, pi, sizeof at);
        }
        memcpy(points->pi + j * k, at, k * sizeof *at);
        points->weight[j] = 1 / (double)points->count;
    }
    return PV_OK;
}

static pv_status by_importance(pv_ctx *ctx, const density *d, const pv__many *many, int64_t seed, pv__points *points,
                               double *effective) {
    size_t k = points->classes;
    double step[PV__LABELS_MOST], proposal[DRAWS], top = -HUGE_VAL, sum = 0, squares = 0;
    for (size_t j = 0; j < DRAWS; j++) {
        pv_rng rng = pv_rng_stream((uint64_t)seed, PV_STREAM_TARGET_PREVALENCE, j / 2);
        proposal[j] = pv__many_propose(many, &rng, step);
        pv__many_place(many, step, j % 2 ? -1 : 1, points->pi + j * k);
        PV_TRY(pv__go_on(ctx));
        points->weight[j] = log_density(d, points->pi + j * k, NULL) - proposal[j];
        top = fmax(top, points->weight[j]);
    }
    for (size_t j = 0; j < DRAWS; j++)
        sum += points->weight[j] = exp(points->weight[j] - top);
    for (size_t j = 0; j < DRAWS; j++) {
        points->weight[j] /= sum;
        squares += points->weight[j] * points->weight[j];
    }
    *effective = 1 / squares;
    return PV_OK;
}

pv_status pv__label_cells_posterior(pv_ctx *ctx, const pv__label_cell_counts *counts, const double *alpha, double scale,
                                    int64_t seed, pv__points *points, double *effective) {
    size_t k = counts->labels;
    pv__label_cell_counts c = *counts;
    pv__label_cell_fit mode;
    pv__many many;
    pv_status status;
    for (size_t y = 0; y < k; y++)
        c.told[y] = alpha[y];
    pv__label_cells_mode(&c, &mode);
    memset(c.told, 0, sizeof c.told);
    const density d = {&c, alpha, scale, &mode};
    *points = (pv__points){.count = DRAWS, .classes = k};
    PV_TRY(pv__many_init(ctx, (int)k, &many));
    set_proposal(&d, mode.pi, &many);
    PV_GOTO(done, pv__alloc(ctx, DRAWS * k, sizeof(double), &points->pi));
    PV_GOTO(done, pv__alloc(ctx, DRAWS, sizeof(double), &points->weight));
    PV_GOTO(done, by_importance(ctx, &d, &many, seed, points, effective));
    if (*effective < 0.1 * DRAWS)
        PV_GOTO(done, by_chain(ctx, &d, &many, seed, points));
done:
    pv__many_clear(ctx, &many);
    if (status != PV_OK)
        pv__points_clear(ctx, points);
    return status;
}
