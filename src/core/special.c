/* Special functions, each with its domain. They never fail: outside the domain the result is NaN. */
#include <math.h>

#include "prevail/core.h"

double pv_log_sum_exp(size_t n, const double *x) {
    double top = -INFINITY;
    for (size_t i = 0; i < n; i++)
        top = fmax(top, x[i]);
    if (isinf(top))
        return top;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i] - top);
    return top + log(sum);
}

void pv_log_softmax(int n, const double *logits, double *log_p) {
    double norm = pv_log_sum_exp((size_t)n, logits);
    for (int i = 0; i < n; i++)
        log_p[i] = logits[i] - norm;
}

double pv_sigmoid(double x) {
    if (x >= 0)
        return 1 / (1 + exp(-x));
    double e = exp(x);
    return e / (1 + e);
}

double pv_log_sigmoid(double x) {
    return fmin(x, 0) - log1p(exp(-fabs(x)));
}

double pv_logit(double p) {
    return log(p) - log1p(-p);
}

double pv_normal_cdf(double x) {
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

/* Acklam's rational approximation (relative error 1.2e-9), followed by one step of Halley's method on the distribution
 * function, which reduces the error to rounding. */
double pv_normal_quantile(double p) {
    static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                               1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
    static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                               6.680131188771972e+01, -1.328068155288572e+01};
    static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                               -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
    static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                               3.754408661907416e+00};
    if (!(p > 0 && p < 1))
        return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    double tail = fmin(p, 1 - p), x;
    if (tail < 0.02425) {
        double q = sqrt(-2 * log(tail));
        x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
            ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
        x = p < 0.5 ? x : -x;
    } else {
        double q = p - 0.5, r = q * q;
        x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
            (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
    }
    double error = pv_normal_cdf(x) - p;
    double u = error * 2.50662827463100050242 * exp(0.5 * x * x);
    return x - u / (1 + 0.5 * x * u);
}

/* The upper tail Q(a, x) of the gamma distribution at a = df/2, x = statistic/2. Below x = a + 1 it uses the series of
 * 1 - Q, above it Lentz's continued fraction. Relative error about 1e-13 for df up to 1e5. */
double pv_chi_square_tail(double df, double statistic) {
    if (!(df > 0 && statistic >= 0))
        return NAN;
    double a = 0.5 * df, x = 0.5 * statistic;
    if (x == 0 || isinf(x))
        return x == 0;
    int sign; /* lgamma would write it to a global */
    double front = exp(a * log(x) - x - lgamma_r(a, &sign));
    if (x < a + 1) {
        double term = 1 / a, sum = term;
        for (int i = 1; i < 100000 && term > 1e-17 * sum; i++) {
            term *= x / (a + i);
            sum += term;
        }
        return fmax(0, 1 - front * sum);
    }
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
    for (int i = 1; i < 100000; i++) {
        double an = -i * (i - a);
        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        h *= c * d;
        if (fabs(c * d - 1) < 1e-16)
            break;
    }
    return front * h;
}
