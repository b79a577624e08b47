/* Calibration measures used by the studies. */
#include "prevail/prevail.h"
#include "lab/common/judge.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double weight_of(const judge_rows *rows, size_t i) {
    return rows->weight ? rows->weight[i] : 1;
}

bool judge_bins_sound(const judge_bins *bins) {
    for (int b = 0; b < JUDGE_BINS; b++) /* p and y are parts of the mass, up to rounding */
        if (!(bins->mass[b] >= 0 && bins->mass[b] < 1e15 && bins->p[b] >= 0 && bins->p[b] <= 1.001 * bins->mass[b] &&
              bins->y[b] >= 0 && bins->y[b] <= 1.001 * bins->mass[b]))
            return false;
    return true;
}

void judge_bins_add(judge_bins *bins, const judge_rows *rows, int log_scale) {
    for (size_t i = 0; i < rows->n; i++) {
        double at = log_scale ? JUDGE_BINS + 2 * log10(rows->p[i]) : 10 * rows->p[i];
        int last = log_scale ? JUDGE_BINS - 1 : 9;
        int bin = at < 0 || isnan(at) ? 0 : at > last ? last : (int)at;
        double v = weight_of(rows, i);
        bins->mass[bin] += v;
        bins->p[bin] += v * rows->p[i];
        bins->y[bin] += v * rows->y[i];
    }
}

void judge_bins_sum(judge_bins *sum, const judge_bins *more) {
    for (int i = 0; i < JUDGE_BINS; i++) {
        sum->mass[i] += more->mass[i];
        sum->p[i] += more->p[i];
        sum->y[i] += more->y[i];
    }
}

judge_rates judge_rates_at(const judge_rows *rows, double theta) {
    double above[4] = {0}, all[4] = {0}; /* 1-p, p, 1-y, y */
    for (size_t i = 0; i < rows->n; i++) {
        const double part[4] = {1 - rows->p[i], rows->p[i], 1 - rows->y[i], rows->y[i]};
        for (int k = 0; k < 4; k++) {
            double mass = weight_of(rows, i) * part[k];
            all[k] += mass;
            above[k] += rows->p[i] >= theta ? mass : 0;
        }
    }
    return (judge_rates){.expected_fpr = above[0] / all[0],
                         .expected_fnr = 1 - above[1] / all[1],
                         .fpr = above[2] / all[2],
                         .fnr = 1 - above[3] / all[3]};
}

typedef struct scored {
    double p;
    size_t row;
} scored;

static int by_score(const void *left, const void *right) {
    const scored *a = left, *b = right;
    if (a->p != b->p)
        return a->p < b->p ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

void judge_gaps(const judge_rows *rows, double *fpr, double *fnr) {
    scored *order = cli_alloc(rows->n, sizeof *order);
    double all[4] = {0}, below[4] = {0};
    for (size_t i = 0; i < rows->n; i++) {
        order[i] = (scored){rows->p[i], i};
        const double part[4] = {1 - rows->p[i], rows->p[i], 1 - rows->y[i], rows->y[i]};
        for (int k = 0; k < 4; k++)
            all[k] += weight_of(rows, i) * part[k];
    }
    qsort(order, rows->n, sizeof *order, by_score);
    *fpr = *fnr = 0;
    for (size_t i = 0; i < rows->n; i++) {
        size_t n = order[i].row;
        const double part[4] = {1 - rows->p[n], rows->p[n], 1 - rows->y[n], rows->y[n]};
        for (int k = 0; k < 4; k++)
            below[k] += weight_of(rows, n) * part[k];
        if (i + 1 < rows->n && order[i + 1].p == order[i].p)
            continue; /* rows of equal probability must be on the same side */
        *fpr = fmax(*fpr, fabs(below[0] / all[0] - below[2] / all[2]));
        *fnr = fmax(*fnr, fabs(below[1] / all[1] - below[3] / all[3]));
    }
    free(order);
}

double judge_in_the_large(const judge_rows *rows) {
    double expected = 0, observed = 0;
    for (size_t i = 0; i < rows->n; i++) {
        expected += weight_of(rows, i) * rows->p[i];
        observed += weight_of(rows, i) * rows->y[i];
    }
    return expected / observed;
}

/* Newton's method; the log-likelihood is concave in (a, b). */
void judge_recalibrate(const judge_rows *rows, double *intercept, double *slope) {
    double a = 0, b = 1;
    for (int step = 0; step < 50; step++) {
        double ga = 0, gb = 0, haa = 0, hab = 0, hbb = 0;
        for (size_t i = 0; i < rows->n; i++) {
            double x = fmax(fmin(pv_logit(rows->p[i]), 700), -700), q = pv_sigmoid(a + b * x), v = weight_of(rows, i);
            double d = v * (rows->y[i] - q), h = v * q * (1 - q);
            ga += d;
            gb += d * x;
            haa += h;
            hab += h * x;
            hbb += h * x * x;
        }
        double det = haa * hbb - hab * hab;
        if (!(det > 0)) {
            a = b = NAN;
            break;
        }
        double da = (hbb * ga - hab * gb) / det, db = (haa * gb - hab * ga) / det;
        double scale = fmin(1, 4 / (fabs(da) + 4 * fabs(db) + 1e-300));
        a += scale * da;
        b += scale * db;
        if (fabs(da) + fabs(db) < 1e-10)
            break;
    }
    *intercept = a;
    *slope = b;
}

double judge_excess(const judge_rows *rows) {
    double sum = 0, total = 0;
    for (size_t i = 0; i < rows->n; i++) {
        double y = rows->y[i], p = rows->p[i], loss = 0;
        if (y > 0)
            loss += y * log(y / p);
        if (y < 1)
            loss += (1 - y) * log((1 - y) / (1 - p));
        sum += weight_of(rows, i) * loss;
        total += weight_of(rows, i);
    }
    return sum / total;
}
