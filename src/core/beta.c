/* Digamma, and the beta distribution's function and quantile.
 *
 * digamma   psi(x) = psi(x + m) - sum 1/(x + i), then the asymptotic series at x + m >= 10: relative error below 1e-14
 *           away from its zero near 1.46. Domain x > 0.
 * beta cdf  I_x(a,b) by the continued fraction of DLMF 8.17.22 (modified Lentz), on the side of the mean where it
 *           converges fast. Domain a, b > 0, 0 <= x <= 1.
 * quantile  Newton's method in the logit of x, kept in a bracket by bisection, until the bracket or the step is at
 *           rounding error. Quantiles below 1e-300 come out as 0.
 */
#include <math.h>

#include "prevail/core.h"

double pv_digamma(double x) {
    if (!(x > 0))
        return NAN;
    double sum = 0;
    while (x < 10) {
        sum -= 1 / x;
        x += 1;
    }
    double i = 1 / (x * x);
    double series =
        i * (1.0 / 12 - i * (1.0 / 120 - i * (1.0 / 252 - i * (1.0 / 240 - i * (1.0 / 132 - i * 691 / 32760)))));
    return sum + log(x) - 0.5 / x - series;
}

/* lgamma(x) - [(x - 1/2) log x - x + log(2 pi)/2], x >= 10. */
static double stirling(double x) {
    double i = 1 / (x * x);
    return (1.0 / 12 - i * (1.0 / 360 - i * (1.0 / 1260 - i * (1.0 / 1680 - i * (1.0 / 1188 - i * 691 / 360360))))) / x;
}

/* log of x^a (1-x)^b / B(a,b), with y = 1-x. Differences of large lgamma values are evaluated by Stirling's series,
 * term by term: subtracting them directly would lose eleven of sixteen digits at a = 1e6. Uses lgamma_r because lgamma
 * writes a global. */
static double log_front(double a, double b, double x, double y) {
    const double circle = 6.28318530717958647693;
    int sign;
    if (a >= 10 && b >= 10) {
        double away = x * b - y * a;
        return 0.5 * log(a / circle * (b / (a + b))) + stirling(a + b) - stirling(a) - stirling(b) +
               a * log1p(away / a) + b * log1p(-away / b);
    }
    if (a >= 10 || b >= 10) {
        double small = fmin(a, b), large = fmax(a, b), total = a + b;
        double ratio = (large - 0.5) * log1p(small / large) + small * log(total) - small + stirling(total) -
                       stirling(large); /* lgamma(total) - lgamma(large) */
        return a * log(x) + b * log(y) + ratio - lgamma_r(small, &sign);
    }
    return a * log(x) + b * log(y) + lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign);
}

/* I_x(a,b) a / (x^a (1-x)^b / B). Converges fast for x below (a+1)/(a+b+2). */
static double fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 100000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), change = 1;
        for (int part = 0; part < 2; part++) {
            double term = part ? odd : even;
            d = 1 + term * d;
            c = 1 + term / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = fabs(c) < tiny ? tiny : c;
            change = c * d;
            value *= change;
        }
        if (fabs(change - 1) < 1e-16)
            break;
    }
    return value;
}

/* y = 1 - x is passed separately so that neither loses digits. */
static double cdf(double a, double b, double x, double y) {
    if (!(x > 0))
        return 0;
    if (!(y > 0))
        return 1;
    double front = exp(log_front(a, b, x, y));
    return x < (a + 1) / (a + b + 2) ? front * fraction(a, b, x) / a : 1 - front * fraction(b, a, y) / b;
}

double pv_beta_cdf(double a, double b, double x) {
    if (!(a > 0 && b > 0) || isnan(x))
        return NAN;
    return cdf(a, b, x, 1 - x);
}

double pv_beta_quantile(double a, double b, double p) {
    if (!(a > 0 && b > 0 && p >= 0 && p <= 1))
        return NAN;
    if (p == 0 || p == 1)
        return p;
    double low = -690, high = 690, z = log(a) - log(b);
    for (int i = 0; i < 400 && high - low > 1e-15 * fmax(1, fabs(z)); i++) {
        double x = pv_sigmoid(z), y = pv_sigmoid(-z), error = cdf(a, b, x, y) - p;
        if (error > 0)
            high = z;
        else
            low = z;
        double next = z - error / exp(log_front(a, b, x, y)); /* dI/dz = x (1-x) density = exp(log_front) */
        if (fabs(next - z) < 1e-15 * fmax(1, fabs(z)))
            break;
        z = next > low && next < high ? next : 0.5 * (low + high);
    }
    return z <= -689 ? 0 : pv_sigmoid(z);
}

static const double NEARLY_NORMAL = 1e9; /* degrees of freedom */

double pv_student_cdf(double df, double x) {
    if (df > NEARLY_NORMAL)
        return pv_normal_cdf(x);
    double tail = 0.5 * cdf(0.5 * df, 0.5, df / (df + x * x), x * x / (df + x * x));
    return x < 0 ? tail : 1 - tail;
}

double pv_student_quantile(double df, double p) {
    if (df > NEARLY_NORMAL || !(p > 0 && p < 1))
        return pv_normal_quantile(p);
    double y = pv_beta_quantile(0.5, 0.5 * df, fabs(2 * p - 1)), t = sqrt(df * y / (1 - y));
    return p < 0.5 ? -t : t;
}
