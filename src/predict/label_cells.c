/* An unknown prevalence of three or more labels without assuming a form for the density ratios (docs/method.md, 10.5).
 *
 * Reference and target rows are assigned to cells by the label with the largest ratio, and by how large it is. With
 * n_yc of the former and m_c of the latter in cell c, the log-likelihood is
 *
 *   l(pi, f) = sum_yc n_yc log f_yc + sum_c m_c log sum_y pi_y f_yc + sum_y t_y log pi_y,
 *
 * where f_y are label y's cell probabilities and t_y is the number of target rows with known label y. It is maximised
 * by expectation maximisation with the squared extrapolation of Varadhan and Roland (2008): given two steps r and r +
 * v, the start moves by 2 a r + a^2 v, a = |r|/|v|, where a is moved towards 1 if that leaves the simplex, and the
 * extrapolation is skipped if the likelihood would decrease.
 */
#include "predict/label_cells.h"

#include <math.h>
#include <string.h>

#include "infer/infer.h"
#include "predict/predict.h"

enum { CYCLES = 2000 };

/* ---- counts ------------------------------------------------------------------------------------------------------ */

/* The scores of a row under one model, log r(y)/r(0). */
static void scores_of(const pv_unknown_sample *sample, const pv_unknown_options *options, size_t fold, size_t i,
                      double *score) {
    size_t k = (size_t)sample->classes;
    const double *l = sample->loglik + i * k, *m = sample->log_marginal;
    for (size_t y = 1; y < k; y++)
        score[y - 1] = options->folds
                           ? options->fold_score[(fold * sample->n + i) * (k - 1) + y - 1]
                           : fmin(fmax(l[y] - m[y] - (l[0] - m[0]), -PV_REFERENCE_SCORE), PV_REFERENCE_SCORE);
}

static pv_status put_targets(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_unknown_options *options,
                             pv__label_cell_counts *c) {
    size_t folds = options->folds > 0 ? options->folds : 1, cells = c->cells;
    double *share, units, score[PV__LABELS_MOST], sum = 0;
    PV_TRY(pv__alloc(ctx, sample->n, cells * sizeof *share, &share));
    for (size_t i = 0; i < sample->n; i++) {
        double v = sample->label && sample->label[i] >= 0 ? 0 : sample->weight ? sample->weight[i] : 1;
        for (size_t k = 0; k < folds && v > 0; k++) {
            scores_of(sample, options, k, i, score);
            share[i * cells + pv__label_cell_of(options->reference->cells, score)] += v / (double)folds;
        }
        for (size_t k = 0; k < cells; k++)
            c->target[k] += share[i * cells + k];
    }
    const pv__sampled how = {
        .rows = sample->n, .cells = cells, .share = share, .cluster = sample->cluster, .sampling = sample->sampling};
    pv_status status = pv__effective_units(ctx, &how, &units);
    for (size_t k = 0; k < cells; k++)
        sum += c->target[k];
    for (size_t k = 0; k < cells && sum > 0; k++)
        c->target[k] *= units / sum;
    c->targets = sum > 0 ? units : 0;
    pv__free(ctx, share);
    return status;
}

pv_status pv__label_cell_counts_new(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_unknown_options *options,
                                    pv__label_cell_counts *c) {
    const pv_label_cells *from = options->reference->cells;
    *c = (pv__label_cell_counts){.labels = (size_t)from->classes, .cells = 2 * (size_t)from->classes};
    for (size_t y = 0; y < c->labels; y++) {
        memcpy(c->known[y], from->known + y * c->cells, c->cells * sizeof(double));
        c->mass[y] = from->units[y];
    }
    for (size_t i = 0; sample->label && i < sample->n; i++)
        if (sample->label[i] >= 0)
            c->told[sample->label[i]] += sample->weight ? sample->weight[i] : 1;
    return put_targets(ctx, sample, options, c);
}

/* ---- likelihood -------------------------------------------------------------------------------------------------- */

static double times_log(double count, double p) {
    return count > 0 ? count * log(p) : 0;
}

static double value_of(const pv__label_cell_counts *c, const pv__label_cell_fit *fit) {
    double sum = 0;
    for (size_t y = 0; y < c->labels; y++)
        sum += times_log(c->told[y], fit->pi[y]);
    for (size_t k = 0; k < c->cells; k++) {
        double q = 0;
        for (size_t y = 0; y < c->labels; y++) {
            q += fit->pi[y] * fit->f[y][k];
            sum += times_log(c->known[y][k], fit->f[y][k]);
        }
        sum += times_log(c->target[k], q);
    }
    return sum;
}

/* One step of expectation maximisation, from -> to. */
static void step(const pv__label_cell_counts *c, int held, const pv__label_cell_fit *from, pv__label_cell_fit *to) {
    double expected[PV__LABELS_MOST] = {0}, per[PV__CELLS_MOST] = {0}, rest = 0;
    for (size_t k = 0; k < c->cells; k++) {
        double q = 0;
        for (size_t y = 0; y < c->labels; y++)
            q += from->pi[y] * from->f[y][k];
        per[k] = q > 0 ? c->target[k] / q : 0;
    }
    for (size_t y = 0; y < c->labels; y++) {
        expected[y] = 0;
        for (size_t k = 0; k < c->cells; k++) {
            double own = from->pi[y] * from->f[y][k] * per[k];
            expected[y] += own;
            to->f[y][k] = c->known[y][k] + own;
        }
        for (size_t k = 0; k < c->cells; k++)
            to->f[y][k] /= c->mass[y] + expected[y];
        expected[y] += c->told[y];
        rest += (int)y != held ? expected[y] : 0;
    }
    for (size_t y = 0; y < c->labels; y++)
        to->pi[y] = held == PV__PI_GIVEN || (int)y == held || !(rest > 0)
                        ? from->pi[y]
                        : (1 - (held >= 0 ? from->pi[held] : 0)) * expected[y] / rest;
}

/* Moves x [n] by 2 a r + a^2 v; false if that leaves the simplex. */
static bool leap_row(size_t n, const double *x, const double *one, const double *two, double a, double *to) {
    for (size_t i = 0; i < n; i++) {
        double r = one[i] - x[i], v = two[i] - one[i] - r;
        to[i] = x[i] + 2 * a * r + a * a * v;
        if (to[i] < 0 || (x[i] > 0 && !(to[i] > 0)))
            return false;
    }
    return true;
}

static bool leap(const pv__label_cell_counts *c, const pv__label_cell_fit *at, const pv__label_cell_fit *one,
                 const pv__label_cell_fit *two, double a, pv__label_cell_fit *to) {
    bool inside = leap_row(c->labels, at->pi, one->pi, two->pi, a, to->pi);
    for (size_t y = 0; y < c->labels && inside; y++)
        inside = leap_row(c->cells, at->f[y], one->f[y], two->f[y], a, to->f[y]);
    return inside;
}

/* For two steps: adds |r|^2 and |v|^2, and the largest entry of r. */
static void add_lengths(size_t n, const double *x, const double *one, const double *two, double length[3]) {
    for (size_t i = 0; i < n; i++) {
        double r = one[i] - x[i], v = two[i] - one[i] - r;
        length[0] += r * r;
        length[1] += v * v;
        length[2] = fmax(length[2], fabs(r));
    }
}

void pv__label_cells_climb(const pv__label_cell_counts *c, int held, double tolerance, pv__label_cell_fit *fit) {
    pv__label_cell_fit one = *fit, two = *fit, far = *fit;
    fit->value = value_of(c, fit);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        double length[3] = {0, 0, 0};
        step(c, held, fit, &one);
        step(c, held, &one, &two);
        add_lengths(c->labels, fit->pi, one.pi, two.pi, length);
        for (size_t y = 0; y < c->labels; y++)
            add_lengths(c->cells, fit->f[y], one.f[y], two.f[y], length);
        double a = length[1] > 0 ? fmax(1, sqrt(length[0] / length[1])) : 1;
        while (a > 1 && !leap(c, fit, &one, &two, a, &far))
            a = a > 1.01 ? 0.5 * (a + 1) : 1;
        if (a > 1) {
            step(c, held, &far, &one);
            one.value = value_of(c, &one);
        }
        if (!(a > 1 && one.value >= fit->value)) {
            one = two;
            one.value = value_of(c, &one);
        }
        *fit = one;
        if (length[2] < tolerance)
            return;
    }
}

void pv__label_cells_begin(const pv__label_cell_counts *c, pv__label_cell_fit *fit) {
    double all = c->targets;
    for (size_t y = 0; y < c->labels; y++) {
        fit->pi[y] = 1 / (double)c->labels;
        all += c->mass[y];
    }
    for (size_t k = 0; k < c->cells; k++) {
        double here = c->target[k];
        for (size_t y = 0; y < c->labels; y++)
            here += c->known[y][k];
        for (size_t y = 0; y < c->labels; y++)
            fit->f[y][k] = (c->known[y][k] + here / all) / (c->mass[y] + 1);
    }
}

void pv__label_cells_mode(const pv__label_cell_counts *c, pv__label_cell_fit *fit) {
    pv__label_cells_begin(c, fit);
    pv__label_cells_climb(c, PV__PI_FREE, 1e-11, fit);
}

void pv__label_cells_profile(const pv__label_cell_counts *c, const pv__label_cell_fit *mode, size_t y, double pi,
                             pv__label_cell_fit *fit) {
    double rest = 0;
    pv__label_cells_begin(c, fit);
    for (size_t l = 0; l < c->labels; l++) {
        for (size_t k = 0; k < c->cells; k++)
            fit->f[l][k] = 0.9 * mode->f[l][k] + 0.1 * fit->f[l][k];
        fit->pi[l] = 0.9 * mode->pi[l] + 0.1 * fit->pi[l];
        rest += l == y ? 0 : fit->pi[l];
    }
    for (size_t l = 0; l < c->labels; l++)
        fit->pi[l] = l == y ? pi : (1 - pi) * fit->pi[l] / rest;
    pv__label_cells_climb(c, (int)y, 1e-8, fit);
}
