/* The interval of a prevalence that may lie at a bound (docs/method.md, 10.5).
 *
 * Quantiles of a posterior never hold 0 or 1, and hold a prevalence one or two standard deviations from there too
 * often. So a prevalence pi is in the interval where a test does not refuse it: by the likelihood ratio
 * l(pi^) - l(pi) <= c, with pi^ in [0, 1] (Feldman and Cousins 1998). Were the estimate normal with standard deviation
 * sigma, its unbounded mean z deviations away from pi, and the bounds t_0 = pi/sigma and t_1 = (1 - pi)/sigma away, it
 * would be refused for
 *
 *   z < -sqrt(2 c)  or, where that is past the bound (t_0 < sqrt(2 c)),  z < -t_0/2 - c/t_0 ,
 *
 * and likewise above. c(pi) is where that has probability 1 - level: between that of a two-sided test far from the
 * bounds and that of a one-sided test at one. sigma is that of the parabola through l where it has fallen by FALLEN or
 * less.
 *
 * Where the likelihood has longer tails than a normal one its integral says so: pi is also in the interval if the share
 * of the posterior beyond it, among what is on its side of pi^, is no smaller than a normal one's beyond sqrt(2 c).
 */
#include <math.h>

#include "predict/mixture.h"

enum { FITTED = 16, ROUNDS = 60 }; /* points of the parabola on either side of its middle; of a bisection */
static const double FALLEN = 2, FAR = 1e3;

typedef struct bounded {
    const pv__pair *pair;
    double level;
    double z, top, share; /* at pi^: its logit, l, and the posterior below it */
    double sigma;
} bounded;

/* l at z, up to a constant: the density of pi, by the cubic through the four nearest points of the grid. */
static double likelihood(const pv__pair *pair, double z) {
    size_t last = pair->count - 1;
    double at = fmin(fmax((z - pair->z[0]) / pair->step, 0), (double)last);
    size_t j = (size_t)at;
    j = j < 1 ? 1 : j > last - 2 ? last - 2 : j;
    double u = at - (double)j;
    const double *f = pair->logs + j - 1; /* a grid has 24 points at least */
    double value = -u * (u - 1) * (u - 2) / 6 * f[0] + (u + 1) * (u - 1) * (u - 2) / 2 * f[1] -
                   (u + 1) * u * (u - 2) / 2 * f[2] + (u + 1) * u * (u - 1) / 6 * f[3];
    double inside = pair->z[0] + at * pair->step;
    return value - pv_log_sigmoid(inside) - pv_log_sigmoid(-inside);
}

/* pi^, between the neighbours of the grid's best point. */
static void find_top(bounded *b) {
    const pv__pair *pair = b->pair;
    size_t best = 0;
    for (size_t j = 1; j < pair->count; j++)
        if (likelihood(pair, pair->z[j]) > likelihood(pair, pair->z[best]))
            best = j;
    double low = pair->z[best > 0 ? best - 1 : 0], high = pair->z[best + 1 < pair->count ? best + 1 : best];
    for (int i = 0; i < ROUNDS; i++) {
        double third = (high - low) / 3;
        if (likelihood(pair, low + third) < likelihood(pair, high - third))
            low += third;
        else
            high -= third;
    }
    b->z = 0.5 * (low + high);
    b->top = likelihood(pair, b->z);
    b->share = pv__pair_distribution(pair, b->z);
}

/* Where a test that holds at `inside` fails on the way to `outside`; `outside` where it does not. */
static double cross(const bounded *b, bool (*holds)(const bounded *, double), double inside, double outside) {
    if (holds(b, outside))
        return outside;
    for (int i = 0; i < ROUNDS; i++) {
        double middle = 0.5 * (inside + outside);
        *(holds(b, middle) ? &inside : &outside) = middle;
    }
    return inside;
}

static bool is_near(const bounded *b, double z) {
    return likelihood(b->pair, z) >= b->top - FALLEN;
}

/* By least squares on even points: x in [-1, 1], the coefficient of x^2 is that of its part orthogonal to 1 and x. */
static void fit_parabola(bounded *b) {
    const pv__pair *pair = b->pair;
    double low = pv_sigmoid(cross(b, is_near, b->z, pair->z[0]));
    double high = pv_sigmoid(cross(b, is_near, b->z, pair->z[pair->count - 1]));
    double half = 0.5 * (high - low), mean = (FITTED + 1.0) / (3.0 * FITTED), sum = 0, squares = 0;
    for (int i = -FITTED; i <= FITTED; i++) {
        double x = (double)i / FITTED, q = x * x - mean;
        sum += q * likelihood(pair, pv_logit(low + half * (1 + x)));
        squares += q * q;
    }
    b->sigma = sum < 0 ? half / sqrt(-2 * sum / squares) : FAR;
}

/* The probability that pi is not refused at c. */
static double accepted(double c, double t0, double t1) {
    double r = sqrt(2 * c), below = t0 < r ? 0.5 * t0 + c / t0 : r, above = t1 < r ? 0.5 * t1 + c / t1 : r;
    return pv_normal_cdf(above) - pv_normal_cdf(-below);
}

/* c(pi). With so little information that both bounds are near nothing is normal: that of the two-sided test. */
static double threshold(const bounded *b, double pi) {
    double t0 = pi / b->sigma, t1 = (1 - pi) / b->sigma, one = pv_normal_quantile(b->level),
           two = pv_normal_quantile(0.5 + 0.5 * b->level), low = one > 0 ? 0.5 * one * one : 0, high = 0.5 * two * two;
    for (int i = 0; i < ROUNDS && t0 + t1 > 2 * two; i++) {
        double c = 0.5 * (low + high);
        *(accepted(c, t0, t1) < b->level ? &low : &high) = c;
    }
    return high;
}

static bool is_inside(const bounded *b, double z) {
    double c = threshold(b, pv_sigmoid(z));
    if (b->top - likelihood(b->pair, z) <= c)
        return true;
    double below = pv__pair_distribution(b->pair, z);
    double share = z < b->z ? below / b->share : (1 - below) / (1 - b->share);
    return share >= erfc(sqrt(c));
}

void pv__pair_bounded(const pv__pair *pair, double level, double *ends) {
    bounded b = {.pair = pair, .level = level};
    find_top(&b);
    fit_parabola(&b);
    const double bound[2] = {pair->z[0], pair->z[pair->count - 1]};
    for (int end = 0; end < 2; end++) {
        ends[end] = cross(&b, is_inside, b.z, bound[end]);
        if (ends[end] == bound[end])
            ends[end] = end ? HUGE_VAL : -HUGE_VAL;
    }
}
