/* The curved part of a number column: what `model=additive` adds to its slope.
 *
 * With u = asinh((x - location)/scale), nearly linear over the bulk of a column and logarithmic in its tails, a prior
 * for smooth functions of the column is
 *
 *   f(x) = a u + g(u),    a ~ N(0, 1/var u),    g a natural cubic spline with  p(g) ~ exp(-1/2 int g''(u)^2 du / c),
 *
 * where g has no linear component in u (by least squares over the training rows), and c is such that g has a variance
 * of 1 over them, averaged over the prior. The linear component of f in x is removed by least squares over those rows,
 * because the column's own slope represents it; what remains vanishes as the prior's scale goes to 0. Its covariance
 * over the rows is diagonalised, and the directions with nearly all of the variance become the features: each has a
 * coefficient with prior N(0, 1), before the scale that is learned from the rows (infer/smoothing.c).
 *
 * At the spline's knots u_k, h_k = u_{k+1} - u_k, with second derivatives s (0 at both ends) and values v:
 *   (v_{k+1} - v_k)/h_k - (v_k - v_{k-1})/h_{k-1} = (B s)_k,   int g''^2 = s^T B s,
 *   B_kk = (h_{k-1} + h_k)/3,  B_k,k+1 = h_k/6.
 * With B = L L^T, s = L^-T b has int g''^2 = b^T b. Beyond the knots the spline continues as a straight line in u.
 *
 * Knots are quantiles of the distinct values, where no value counts for more than a tenth of the rows, so that a spike
 * leaves knots for the rest. Columns of two values have no curved part. Rows count by their weights.
 *
 * The parameters of a term are location, scale and the knots; then for each feature its values at the knots, its second
 * derivatives there, and the slope of (x - location)/scale that was removed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/schema_learn.h"

enum { KNOTS = PV__KNOTS_MAX, PARTS = KNOTS - 1, FEATURES = PV__CURVES_MAX, ROWS_PER_KNOT = 8 };
enum { VALUES = 20000 };                /* if there are more distinct values, they are thinned out evenly */
static const double LEAST_SHARE = 1e-3; /* of the variance: directions with less are left out */
static const double CLOSEST = 1e-4;     /* minimum distance of knots, relative to the range of u */

size_t pv__smooth_parameters(const pv_term *term) {
    size_t knots = (size_t)term->degree;
    return 2 + knots + term->features * (2 * knots + 1);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

/* A spline with values v and second derivatives s at the knots. */
static double spline_at(size_t knots, const double *knot, const double *v, const double *s, size_t k, double u) {
    double h = knot[k + 1] - knot[k], slope = (v[k + 1] - v[k]) / h, along = u - knot[k];
    if (u < knot[0])
        return v[0] + along * (slope - h * (2 * s[0] + s[1]) / 6);
    if (u > knot[knots - 1])
        return v[knots - 1] + (u - knot[knots - 1]) * (slope + h * (s[k] + 2 * s[k + 1]) / 6);
    double below = knot[k + 1] - u, share = along / h;
    return (1 - share) * v[k] + share * v[k + 1] - along * below * ((1 + share) * s[k + 1] + (2 - share) * s[k]) / 6;
}

void pv__smooth_fill(const pv_term *term, const double *x, size_t n, double *value) {
    size_t knots = (size_t)term->degree, width = term->features;
    const double *p = term->parameter, *knot = p + 2, *first = knot + knots;
    for (size_t i = 0; i < n; i++) {
        double t = (x[i] - p[0]) / p[1], u = asinh(t);
        size_t k = 0;
        while (k + 2 < knots && u >= knot[k + 1])
            k++;
        for (size_t f = 0; f < width; f++) {
            const double *own = first + f * (2 * knots + 1);
            value[i * width + f] = spline_at(knots, knot, own, own + knots, k, u) - own[2 * knots] * t;
        }
    }
}

/* ---- knots ------------------------------------------------------------------------------------------------------- */

/* Distinct values in ascending order, with the weights of their rows. */
typedef struct values {
    size_t n;
    double *x, *mass;
    double total;
} values;

static int compare(const void *a, const void *b) {
    const double *left = a, *right = b;
    for (int i = 0; i < 2; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* Merges runs of neighbours into their first value; the largest value stays. */
static void thin(values *v) {
    size_t every = v->n / VALUES + 1, made = 0;
    double largest = v->x[v->n - 1];
    if (every == 1)
        return;
    for (size_t i = 0; i < v->n; i++) {
        if (i % every == 0) {
            v->x[made] = v->x[i];
            v->mass[made++] = v->mass[i];
        } else {
            v->mass[made - 1] += v->mass[i];
        }
    }
    if (largest > v->x[made - 1]) {
        v->x[made] = largest;
        v->mass[made++] = 0;
    }
    v->n = made;
}

/* rows [n][2], a value and its weight; sorted and reduced to distinct values in place. */
static values values_of(double *rows, size_t n, double *mass) { // NOLINT(readability-non-const-parameter): it is filled
    values v = {.x = rows, .mass = mass};
    qsort(rows, n, 2 * sizeof *rows, compare);
    for (size_t i = 0; i < n; i++) {
        double x = rows[2 * i], weight = rows[2 * i + 1];
        if (v.n == 0 || x > v.x[v.n - 1]) {
            v.x[v.n] = x;
            v.mass[v.n++] = 0;
        }
        v.mass[v.n - 1] += weight;
        v.total += weight;
    }
    thin(&v);
    return v;
}

/* The value below which a given fraction of the rows lies, where no value counts for more than `cap`. */
static double quantile(const values *v, double cap, double share) {
    double all = 0, below = 0;
    for (size_t i = 0; i < v->n; i++)
        all += fmin(v->mass[i], cap);
    for (size_t i = 0; i < v->n; i++) {
        below += fmin(v->mass[i], cap);
        if (below >= share * all)
            return v->x[i];
    }
    return v->x[v->n - 1];
}

static double curve_of(const double *parameter, double x) {
    return asinh((x - parameter[0]) / parameter[1]);
}

/* Writes location, scale and knots to parameter; returns the number of knots. */
static size_t choose_knots(const values *v, double *parameter) {
    double cap = v->total / KNOTS, range = v->x[v->n - 1] - v->x[0];
    parameter[0] = quantile(v, cap, 0.5);
    parameter[1] = 2 * (quantile(v, cap, 0.75) - quantile(v, cap, 0.25));
    if (!(parameter[1] > 1e-12 * range))
        parameter[1] = range;
    double low = curve_of(parameter, v->x[0]), high = curve_of(parameter, v->x[v->n - 1]), *knot = parameter + 2;
    size_t most = KNOTS, made = 0;
    while (most > 3 && (most > v->n || (double)most * ROWS_PER_KNOT > v->total))
        most--;
    for (size_t k = 0; k < most; k++) {
        double u = curve_of(parameter, quantile(v, cap, (double)k / (double)(most - 1)));
        u = k == 0 ? low : k == most - 1 ? high : u;
        if (made > 0 && !(u - knot[made - 1] > CLOSEST * (high - low))) {
            if (k == most - 1 && made > 1) /* the last knot is the largest value */
                knot[made - 1] = high;
            continue;
        }
        knot[made++] = u;
    }
    return made;
}

/* ---- splines of unit curvature ----------------------------------------------------------------------------------- */

/* Components [knots - 1] of a term's prior: values [knots] and second derivatives [knots] of each at the knots. */
typedef struct parts {
    size_t knots, count;
    double v[PARTS][KNOTS], s[PARTS][KNOTS];
    double slope[PARTS]; /* of (x - location)/scale, removed */
} parts;

static void make_parts(const double *knot, parts *p) {
    size_t inner = p->knots - 2;
    double diagonal[KNOTS], below[KNOTS] = {0}, h[KNOTS] = {0}, range = knot[p->knots - 1] - knot[0];
    for (size_t k = 0; k + 1 < p->knots; k++)
        h[k] = (knot[k + 1] - knot[k]) / range;
    for (size_t i = 0; i < inner; i++) { /* Cholesky factor of B */
        double own = (h[i] + h[i + 1]) / 3 - (i > 0 ? below[i] * below[i] : 0);
        diagonal[i] = sqrt(own);
        below[i + 1] = h[i + 1] / 6 / diagonal[i];
    }
    memset(p->v, 0, sizeof p->v);
    memset(p->s, 0, sizeof p->s);
    for (size_t k = 0; k < p->knots; k++)
        p->v[0][k] = (knot[k] - knot[0]) / range;
    p->count = 1 + inner;
    for (size_t b = 0; b < inner; b++) {
        double *v = p->v[1 + b], *s = p->s[1 + b] + 1;
        for (size_t i = b + 1; i-- > 0;)
            s[i] = ((i == b) - (i + 1 < inner ? below[i + 1] * s[i + 1] : 0)) / diagonal[i];
        for (size_t i = 0; i < inner; i++) {
            double bend = (h[i] + h[i + 1]) / 3 * s[i] + (i > 0 ? h[i] / 6 * s[i - 1] : 0) +
                          (i + 1 < inner ? h[i + 1] / 6 * s[i + 1] : 0);
            v[i + 2] = v[i + 1] + h[i + 1] * ((v[i + 1] - v[i]) / h[i] + bend);
        }
    }
    for (size_t c = 0; c < p->count; c++) /* derivatives with respect to u */
        for (size_t k = 0; k < p->knots; k++)
            p->s[c][k] /= range * range;
}

/* ---- over the rows ----------------------------------------------------------------------------------------------- */

/* The components at a value. */
static void parts_at(const parts *p, const double *parameter, double x, double *to) {
    const double *knot = parameter + 2;
    double u = curve_of(parameter, x);
    size_t k = 0;
    while (k + 2 < p->knots && u >= knot[k + 1])
        k++;
    for (size_t c = 0; c < p->count; c++)
        to[c] = spline_at(p->knots, knot, p->v[c], p->s[c], k, u);
}

/* Covariances of the components and of t = (x - location)/scale, which comes last: C [count + 1][count + 1]. */
static void covariances(const values *v, const parts *p, const double *parameter, double *C) {
    size_t all = p->count + 1;
    double mean[PARTS + 1] = {0}, at[PARTS + 1];
    memset(C, 0, all * all * sizeof *C);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < v->n; i++) {
            double share = v->mass[i] / v->total;
            parts_at(p, parameter, v->x[i], at);
            at[p->count] = (v->x[i] - parameter[0]) / parameter[1];
            for (size_t a = 0; a < all; a++) {
                if (pass == 0)
                    mean[a] += share * at[a];
                for (size_t b = 0; pass == 1 && b < all; b++)
                    C[a * all + b] += share * (at[a] - mean[a]) * (at[b] - mean[b]);
            }
        }
}

static void scale_part(parts *p, size_t c, double by) {
    for (size_t k = 0; k < p->knots; k++) {
        p->v[c][k] *= by;
        p->s[c][k] *= by;
    }
}

/* Scales the components as the prior requires and removes the linear part; left [count][count]: their covariance. False
 * if nothing is left. */
static bool take_line_out(const values *v, const double *parameter, parts *p, double *left) {
    size_t n = p->count, all = n + 1;
    double C[(PARTS + 1) * (PARTS + 1)], bends = 0;
    covariances(v, p, parameter, C);
    const double *line = C + n * all;
    for (size_t c = 1; c < n; c++) { /* g has no linear component in u; that belongs to a u */
        bends += C[c * all + c] - C[c] * C[c] / C[0];
        for (size_t k = 0; k < p->knots; k++)
            p->v[c][k] -= C[c] / C[0] * p->v[0][k];
    }
    if (!(line[n] > 0) || !(C[0] > 0) || !(bends > 1e-12) || !isfinite(bends))
        return false;
    for (size_t c = 0; c < n; c++)
        scale_part(p, c, c == 0 ? 1 / sqrt(C[0]) : 1 / sqrt(bends));
    covariances(v, p, parameter, C);
    for (size_t a = 0; a < n; a++) {
        p->slope[a] = line[a] / line[n];
        for (size_t b = 0; b < n; b++)
            left[a * n + b] = C[a * all + b] - line[a] * line[b] / line[n];
    }
    return true;
}

/* ---- directions -------------------------------------------------------------------------------------------------- */

/* Eigenvectors of a symmetric A [n][n] by Jacobi rotations, into the columns of V [n][n]; the diagonal of A becomes the
 * eigenvalues. */
static void diagonalise(size_t n, double *A, double *V) {
    enum { SWEEPS = 60 };
    for (size_t i = 0; i < n * n; i++)
        V[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0, trace = 0;
        for (size_t i = 0; i < n; i++) {
            trace += fabs(A[i * (n + 1)]);
            for (size_t j = 0; j < i; j++)
                off += fabs(A[i * n + j]);
        }
        if (!(off > 1e-15 * trace))
            return;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < i; j++) {
                double a = A[i * n + j];
                if (a == 0)
                    continue;
                double theta = (A[j * (n + 1)] - A[i * (n + 1)]) / (2 * a);
                double t = copysign(1, theta) / (fabs(theta) + hypot(theta, 1)), c = 1 / hypot(t, 1), s = t * c;
                for (size_t k = 0; k < n; k++) {
                    double x = A[k * n + i], y = A[k * n + j];
                    A[k * n + i] = c * x - s * y;
                    A[k * n + j] = s * x + c * y;
                }
                for (size_t k = 0; k < n; k++) {
                    double x = A[i * n + k], y = A[j * n + k], v = V[k * n + i], w = V[k * n + j];
                    A[i * n + k] = c * x - s * y;
                    A[j * n + k] = s * x + c * y;
                    V[k * n + i] = c * v - s * w;
                    V[k * n + j] = s * v + c * w;
                }
            }
    }
}

/* Writes the directions of largest variance, at most `most`, to order. */
static size_t rank_directions(size_t n, const double *A, size_t most, size_t *order) {
    double total = 0;
    size_t made = 0;
    bool taken[PARTS] = {false};
    for (size_t i = 0; i < n; i++)
        total += fmax(0, A[i * (n + 1)]);
    while (made < most) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!taken[i] && (best == n || A[i * (n + 1)] > A[best * (n + 1)]))
                best = i;
        if (best == n || !(A[best * (n + 1)] > LEAST_SHARE * total))
            break;
        taken[best] = true;
        order[made++] = best;
    }
    return made;
}

/* Appends the features' numbers after the knots. The sign of a direction is that of its value at the last knot. */
static void put_features(const parts *p, const double *V, const size_t *order, size_t features, double *to) {
    size_t knots = p->knots;
    for (size_t f = 0; f < features; f++, to += 2 * knots + 1) {
        for (size_t c = 0; c < p->count; c++) {
            double share = V[c * p->count + order[f]];
            for (size_t k = 0; k < knots; k++) {
                to[k] += share * p->v[c][k];
                to[knots + k] += share * p->s[c][k];
            }
            to[2 * knots] += share * p->slope[c];
        }
        const double sign = to[knots - 1] < 0 ? -1 : 1;
        for (size_t i = 0; i <= 2 * knots; i++)
            to[i] *= sign;
    }
}

pv_status pv__smooth_learn(pv_ctx *ctx, double *rows, size_t n, size_t most, pv_term *term) {
    double parameter[2 + KNOTS], left[PARTS * PARTS], V[PARTS * PARTS], *mass;
    size_t order[PARTS];
    parts p = {0};
    term->features = 0;
    if (n < 3)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, n, sizeof *mass, &mass));
    values v = values_of(rows, n, mass);
    bool varies = v.n >= 3 && v.total > 0 && isfinite(v.x[v.n - 1] - v.x[0]);
    p.knots = varies ? choose_knots(&v, parameter) : 0;
    bool curved = p.knots >= 3 && isfinite(parameter[0]) && isfinite(parameter[1]);
    if (curved) {
        make_parts(parameter + 2, &p);
        curved = take_line_out(&v, parameter, &p, left);
    }
    pv__free(ctx, mass);
    if (!curved)
        return PV_OK;
    diagonalise(p.count, left, V);
    size_t features = rank_directions(p.count, left, most < FEATURES ? most : FEATURES, order);
    if (features == 0)
        return PV_OK;
    term->degree = (int)p.knots;
    term->features = features;
    term->parameters = pv__smooth_parameters(term);
    PV_TRY(pv__alloc(ctx, term->parameters, sizeof *term->parameter, &term->parameter));
    memcpy(term->parameter, parameter, (2 + p.knots) * sizeof *parameter);
    put_features(&p, V, order, features, term->parameter + 2 + p.knots);
    return PV_OK;
}

const char *pv__smooth_wrong(const pv_term *term) {
    const double *p = term->parameter;
    size_t knots = (size_t)term->degree;
    for (size_t i = 0; i < term->parameters; i++)
        if (!isfinite(p[i]) || (i == 1 && !(p[i] > 0)) || (i > 2 && i < 2 + knots && !(p[i] > p[i - 1])))
            return "the numbers of a smooth are damaged";
    return NULL;
}
