/* Basis functions of a number column, as R defines them.
 *
 * ns, a natural cubic spline (splines::ns): cubic B-splines over [a, b], the range of the training data, with interior
 * knots at equally spaced quantiles (R's type 7). The basis without its first function is transformed by the
 * Householder reflections of the two columns of second derivatives at a and b; dropping the first two of the result
 * leaves functions whose second derivatives at a and b are zero. Beyond a and b they continue as straight lines. All is
 * computed in u = (x - a) / (b - a), which changes only the units of derivatives.
 *
 * poly, orthogonal polynomials (stats::poly) of u = (x - centre) / scale by the recurrence
 *
 *   P_0 = 1,  P_{k+1} = (u - alpha_k) P_k - norm2_k / norm2_{k-1} P_{k-1},
 *
 * alpha_k = sum u P_k^2 / norm2_k, norm2_k = sum P_k^2 over the training rows; the features are P_k / sqrt(norm2_k).
 *
 * Row weights are ignored, as in R.
 */
#include <math.h>
#include <string.h>

#include "data/schema_learn.h"

size_t pv__basis_parameters(const pv_term *term) {
    size_t degree = (size_t)term->degree;
    return term->kind == PV_TERM_NS ? degree + 1 : term->kind == PV_TERM_POLY ? 2 * degree + 3 : 0;
}

/* ---- natural splines --------------------------------------------------------------------------------------------- */

enum { ORDER = 4, SPLINES_MAX = PV__DEGREES_MAX + 3 };

typedef struct spline {
    int splines;                       /* number of B-splines */
    double knot[SPLINES_MAX + ORDER];  /* in u, each end repeated ORDER times */
    double reflection[2][SPLINES_MAX]; /* u of I - u u' / u_l, for all B-splines except the first */
    double end[2][2][SPLINES_MAX];     /* values and slopes at both ends */
} spline;

/* The derivative of the i-th B-spline of that order; span: index of the interval that contains u. */
static double b_spline(const double *knot, int i, int order, int derivative, double u, int span) {
    if (i > span || i + order <= span)
        return 0;
    if (order == 1)
        return derivative == 0;
    double left = knot[i + order - 1] - knot[i], right = knot[i + order] - knot[i + 1];
    int lower = derivative > 0 ? derivative - 1 : 0;
    double a = left > 0 ? b_spline(knot, i, order - 1, lower, u, span) / left : 0;
    double b = right > 0 ? b_spline(knot, i + 1, order - 1, lower, u, span) / right : 0;
    return derivative > 0 ? (order - 1) * (a - b) : (u - knot[i]) * a + (knot[i + order] - u) * b;
}

/* All B-splines at a u in [0, 1]. */
static void b_splines(const spline *s, int derivative, double u, double *value) {
    int span = ORDER - 1;
    while (span + 1 < s->splines && s->knot[span + 1] <= u)
        span++;
    memset(value, 0, (size_t)s->splines * sizeof *value);
    for (int i = span - ORDER + 1; i <= span; i++)
        value[i] = b_spline(s->knot, i, ORDER, derivative, u, span);
}

/* Reflects value [n], from index l on. */
static void reflect(const double *reflection, int l, int n, double *value) {
    double along = 0;
    for (int i = l; i < n; i++)
        along += reflection[i] * value[i];
    for (int i = l; i < n; i++)
        value[i] -= along / reflection[l] * reflection[i];
}

static void spline_of(const pv_term *term, spline *s) {
    int interior = term->degree - 1;
    double low = term->parameter[0], high = term->parameter[interior + 1];
    *s = (spline){.splines = interior + ORDER};
    for (int i = 0; i < interior; i++)
        s->knot[ORDER + i] = (term->parameter[i + 1] - low) / (high - low);
    for (int i = 0; i < ORDER; i++)
        s->knot[s->splines + i] = 1;
    for (int e = 0; e < 2; e++) {
        double bend[SPLINES_MAX];
        b_splines(s, 0, e, s->end[e][0]);
        b_splines(s, 1, e, s->end[e][1]);
        b_splines(s, 2, e, bend);
        double *u = s->reflection[e], length = 0;
        memcpy(u, bend + 1, (size_t)(s->splines - 1) * sizeof *u);
        if (e == 1)
            reflect(s->reflection[0], 0, s->splines - 1, u);
        for (int i = e; i < s->splines - 1; i++)
            length = hypot(length, u[i]);
        length = copysign(length, u[e]);
        for (int i = e; i < s->splines - 1; i++)
            u[i] /= length;
        u[e] += 1;
    }
}

static void fill_spline(const pv_term *term, const double *x, size_t n, double *value) {
    size_t width = (size_t)term->degree;
    double low = term->parameter[0], high = term->parameter[width], b[SPLINES_MAX] = {0};
    spline s;
    spline_of(term, &s);
    for (size_t i = 0; i < n; i++) {
        double u = (x[i] - low) / (high - low);
        int e = u > 0.5;
        if (u >= 0 && u <= 1)
            b_splines(&s, 0, u, b);
        else
            for (int k = 0; k < s.splines; k++)
                b[k] = s.end[e][0][k] + (u - e) * s.end[e][1][k];
        reflect(s.reflection[0], 0, s.splines - 1, b + 1);
        reflect(s.reflection[1], 1, s.splines - 1, b + 1);
        memcpy(value + i * width, b + 3, width * sizeof *value);
    }
}

static pv_status learn_spline(pv_ctx *ctx, const double *sorted, size_t n, pv_term *term) {
    size_t intervals = (size_t)term->degree;
    for (size_t k = 0; k <= intervals; k++) {
        double at = (double)(n - 1) * ((double)k / (double)intervals);
        size_t below = (size_t)at < n - 1 ? (size_t)at : n - 1, above = below + 1 < n ? below + 1 : below;
        double share = at - (double)below;
        term->parameter[k] = (1 - share) * sorted[below] + share * sorted[above];
    }
    for (size_t k = 1; k <= intervals; k++)
        if (!(term->parameter[k] > term->parameter[k - 1]))
            return pv__fail(ctx, PV_ERR_USAGE,
                            "`terms`: ns(%s,%d): two of its knots, quantiles of the column, are both %g;\nchoose fewer "
                            "degrees of freedom, or poly",
                            pv__show(term->column[0]).text, term->degree, term->parameter[k]);
    return PV_OK;
}

/* ---- polynomials ------------------------------------------------------------------------------------------------- */

/* P_0 .. P_degree at x; needs alpha and norm2 of the lower degrees. */
static void polynomials(const pv_term *term, int degree, double x, double *value) {
    const double *alpha = term->parameter + 2, *norm2 = alpha + term->degree;
    double u = (x - term->parameter[0]) / term->parameter[1];
    value[0] = 1;
    for (int k = 0; k < degree; k++)
        value[k + 1] = (u - alpha[k]) * value[k] - (k > 0 ? norm2[k] / norm2[k - 1] * value[k - 1] : 0);
}

static void fill_polynomials(const pv_term *term, const double *x, size_t n, double *value) {
    size_t width = (size_t)term->degree;
    const double *norm2 = term->parameter + 2 + width;
    double all[PV__DEGREES_MAX + 1];
    for (size_t i = 0; i < n; i++) {
        polynomials(term, term->degree, x[i], all);
        for (size_t k = 0; k < width; k++)
            value[i * width + k] = all[k + 1] / sqrt(norm2[k + 1]);
    }
}

static pv_status learn_polynomials(pv_ctx *ctx, const double *sorted, size_t n, pv_term *term) {
    double *p = term->parameter, *alpha = p + 2, *norm2 = alpha + term->degree, all[PV__DEGREES_MAX + 1];
    size_t distinct = 1;
    for (size_t i = 1; i < n; i++)
        distinct += sorted[i] != sorted[i - 1];
    if (distinct <= (size_t)term->degree)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`terms`: poly(%s,%d): the column has %zu different values, and must have more than its degree;\nlower it",
            pv__show(term->column[0]).text, term->degree, distinct);
    for (size_t i = 0; i < n; i++)
        p[0] += sorted[i] / (double)n;
    p[1] = fmax(sorted[n - 1] - p[0], p[0] - sorted[0]);
    for (int k = 0; k <= term->degree; k++) {
        double moment = 0;
        for (size_t i = 0; i < n; i++) {
            polynomials(term, k, sorted[i], all);
            norm2[k] += all[k] * all[k];
            moment += (sorted[i] - p[0]) / p[1] * all[k] * all[k];
        }
        if (k < term->degree)
            alpha[k] = moment / norm2[k];
        if (!(norm2[k] > 0) || !isfinite(norm2[k]))
            return pv__fail(ctx, PV_ERR_USAGE,
                            "`terms`: poly(%s,%d) cannot be computed from this column;\nlower the degree",
                            pv__show(term->column[0]).text, term->degree);
    }
    return PV_OK;
}

/* ---- either basis ------------------------------------------------------------------------------------------------ */

pv_status pv__basis_learn(pv_ctx *ctx, const double *sorted, size_t n, pv_term *term) {
    term->parameters = pv__basis_parameters(term);
    term->features = term->degree > 0 ? (size_t)term->degree : 1;
    if (term->parameters == 0)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, term->parameters, sizeof *term->parameter, &term->parameter));
    if (n == 0 || !isfinite(sorted[n - 1] - sorted[0]))
        return pv__fail(ctx, PV_ERR_USAGE, "`terms`: column '%s' has %s", pv__show(term->column[0]).text,
                        n == 0 ? "no value;\nleave the term out"
                               : "values too far apart to compute with;\ncorrect them");
    return (term->kind == PV_TERM_NS ? learn_spline : learn_polynomials)(ctx, sorted, n, term);
}

void pv__basis_fill(const pv_term *term, const double *x, size_t n, double *value) {
    if (term->kind == PV_TERM_NS)
        fill_spline(term, x, n, value);
    else if (term->kind == PV_TERM_SMOOTH)
        pv__smooth_fill(term, x, n, value);
    else if (term->kind == PV_TERM_POLY)
        fill_polynomials(term, x, n, value);
    for (size_t i = 0; term->parameters == 0 && i < n; i++)
        value[i] = term->kind == PV_TERM_LOG ? log(x[i]) : term->kind == PV_TERM_SQRT ? sqrt(x[i]) : x[i];
    for (size_t i = 0; i < n * term->features; i++)
        if (!isfinite(value[i]))
            value[i] = isnan(x[i / term->features]) ? NAN : HUGE_VAL;
}
