/* The calibration slope that a maximum-likelihood fit is expected to have, for normal predictors.
 *
 * K predictors are normal with unit variance in each label, and the labels' means are d apart along one direction u. In
 * the limit of n rows with K/n fixed the fit b is a known point alpha along u plus noise of squared length q, and a row
 * left out has the linear predictor r = b_0 + alpha x_u + sqrt(q) Z with Z standard normal. The fit moves it to f = r +
 * lambda (y - p(f)), and with psi = y - p(f) (El Karoui 2018; Sur and Candes 2019, here for two normal labels)
 *
 *   E psi = 0,                     E x_u psi = 0,
 *   q = (K - 1) n lambda^2 E psi^2/(K + 1)^2,     E lambda p'/(1 + lambda p') = (K + 1)/n .
 *
 * r is normal in each label, so that all means are integrals over one variable. Newton's method finds b_0, log alpha,
 * log q and log lambda, and log n too where the slope is given. The slope is that of b in any population, since the
 * labels stay normal: S = alpha d/(alpha^2 + q). Without a solution the labels can be separated, and a fit does not
 * exist.
 */
#include <math.h>

#include "core/core.h"
#include "data/data.h"
#include "size/size.h"

enum { NODES = 80, UNKNOWNS = 5, STEPS = 60, B = 0, ALPHA, NOISE, LAMBDA, ROWS };
static const double REACH = 7;

typedef struct limit {
    double d, share[2], parameters, rows;
    double goal; /* slope; 0: the number of rows is given */
    double node[NODES], weight[NODES];
} limit;

/* f = r + lambda (y - p(f)): the left side less the right one rises with f. */
static double moved(double r, double lambda, int y) {
    double low = r - (y ? 0 : lambda), high = r + (y ? lambda : 0), f = 0.5 * (low + high);
    for (int i = 0; i < 60; i++) {
        double p = pv_sigmoid(f), excess = f - r - lambda * (y - p), step = excess / (1 + lambda * p * (1 - p));
        *(excess > 0 ? &high : &low) = f;
        f -= step;
        if (!(f >= low && f <= high))
            f = 0.5 * (low + high);
        if (fabs(step) < 1e-13 * (1 + fabs(f)))
            break;
    }
    return f;
}

typedef struct means {
    double psi, x_psi, square, trace, curvature; /* curvature: E p' */
} means;

static means means_of(const limit *l, const double *u) {
    means m = {0};
    double alpha = exp(u[ALPHA]), spread = alpha * alpha + exp(u[NOISE]), lambda = exp(u[LAMBDA]);
    for (int y = 0; y < 2; y++)
        for (int i = 0; i < NODES; i++) {
            double r = u[B] + alpha * y * l->d + sqrt(spread) * l->node[i], f = moved(r, lambda, y), p = pv_sigmoid(f);
            double w = l->share[y] * l->weight[i], psi = y - p, bend = p * (1 - p);
            double x = y * l->d + alpha / sqrt(spread) * l->node[i];
            m.psi += w * psi;
            m.x_psi += w * x * psi;
            m.square += w * psi * psi;
            m.trace += w * lambda * bend / (1 + lambda * bend);
            m.curvature += w * bend;
        }
    return m;
}

static double slope_of(const limit *l, const double *u) {
    double alpha = exp(u[ALPHA]);
    return alpha * l->d / (alpha * alpha + exp(u[NOISE]));
}

static void residuals(const limit *l, const double *u, double *to) {
    double n = exp(u[ROWS]), all = l->parameters + 1, noise = fmax(l->parameters - 1, 1e-9);
    means m = means_of(l, u);
    to[B] = m.psi;
    to[ALPHA] = m.x_psi;
    to[NOISE] = u[NOISE] - log(noise * n * m.square / (all * all)) - 2 * u[LAMBDA];
    to[LAMBDA] = log(m.trace * n / all);
    to[ROWS] = l->goal > 0 ? slope_of(l, u) - l->goal : 0;
}

static double size_of(size_t n, const double *x) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

/* Newton's method with halved steps. */
static bool solve(const limit *l, double *u) {
    const size_t n = l->goal > 0 ? UNKNOWNS : UNKNOWNS - 1;
    double r[UNKNOWNS], next[UNKNOWNS];
    residuals(l, u, r);
    for (int step = 0; step < STEPS && size_of(n, r) > 1e-22; step++) {
        double a[UNKNOWNS * UNKNOWNS], scale = 2, was = size_of(n, r), to[UNKNOWNS], move[UNKNOWNS];
        for (size_t j = 0; j < n; j++) {
            double kept = u[j];
            u[j] = kept + 1e-6;
            residuals(l, u, to);
            u[j] = kept;
            for (size_t i = 0; i < n; i++)
                a[i * n + j] = (to[i] - r[i]) / 1e-6;
            move[j] = -r[j];
        }
        if (!pv__solve_small((int)n, a, move))
            return false;
        double longest = 0;
        for (size_t j = 0; j < n; j++)
            longest = fmax(longest, fabs(move[j]));
        do {
            scale *= 0.5;
            for (size_t j = 0; j < UNKNOWNS; j++)
                next[j] = j < n ? u[j] + fmin(1, 1.5 / longest) * scale * move[j] : u[j];
            residuals(l, next, to);
        } while (!(size_of(n, to) < was) && scale > 1e-6);
        for (size_t j = 0; j < n; j++) {
            u[j] = next[j];
            r[j] = to[j];
        }
    }
    return size_of(n, r) < 1e-16;
}

/* The fit of very many rows, and the noise of `rows`. */
static void begin(limit *l, double d, double share, double parameters, double rows, double *u) {
    *l = (limit){.d = d, .share = {1 - share, share}, .parameters = parameters, .rows = rows};
    pv__gauss_legendre(NODES, -REACH, REACH, l->node, l->weight);
    for (int i = 0; i < NODES; i++)
        l->weight[i] *= exp(-0.5 * l->node[i] * l->node[i]) / sqrt(2 * 3.14159265358979323846);
    u[B] = log(share / (1 - share)) - 0.5 * d * d;
    u[ALPHA] = log(d);
    u[NOISE] = u[LAMBDA] = -40;
    u[ROWS] = log(rows);
    means m = means_of(l, u);
    u[LAMBDA] = log((parameters + 1) / (rows * m.curvature));
    u[NOISE] = log(fmax(parameters - 1, 1e-9) / (rows * m.curvature));
}

/* From many rows to few, each from the last. */
double pv__size_slope_of(double d, double share, double parameters, double rows) {
    limit l;
    double u[UNKNOWNS], most = fmax(rows, 400 * (parameters + 1) / fmin(share, 1 - share));
    begin(&l, d, share, parameters, most, u);
    for (double n = most;; n = fmax(rows, 0.5 * n)) {
        double was = u[ROWS];
        u[ROWS] = log(n);
        u[NOISE] += was - u[ROWS];
        u[LAMBDA] += was - u[ROWS];
        if (!solve(&l, u))
            return NAN;
        if (n <= rows)
            return slope_of(&l, u);
    }
}

double pv__size_rows_of_slope(double d, double share, double parameters, double slope) {
    limit l;
    double u[UNKNOWNS], rows = 400 * (parameters + 1) / fmin(share, 1 - share) / (d * d);
    begin(&l, d, share, parameters, rows, u);
    if (!solve(&l, u))
        return NAN;
    l.goal = slope;
    return solve(&l, u) ? exp(u[ROWS]) : NAN;
}
