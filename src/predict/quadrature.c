/* The posterior of a two-class prevalence with the labels summed out, by quadrature.
 *
 *   density of z = logit pi_1:   g(z) = alpha_0 log pi_0 + alpha_1 log pi_1 + sum_n v_n log q_n(pi)
 *
 * (the Jacobian pi_0 pi_1 turns alpha - 1 into alpha). g is strictly concave as a function of pi, so it has one mode in
 * z and decreases on both sides for any alpha > 0: a boundary of pi is a tail of z. The density is analytic in the
 * strip |Im z| < pi, where the trapezoidal rule converges geometrically: the step is halved until the normaliser and
 * the mean no longer change, then once more. The distribution function is the integral of the sinc interpolant through
 * the same points (Stenger 1993), F(z) = sum_j w_j (1/2 + Si(pi (z - z_j)/h)/pi), which is as accurate as the rule
 * itself.
 *
 *   dg/dz = S_1 + alpha_1 - (N + A) pi_1,    d2g/dz2 = S_1 - S_11 - (N + A) pi_0 pi_1,    S_1 = sum v rho, S_11 = sum v
 * rho^2
 */
#include <math.h>
#include <string.h>

#include "predict/mixture.h"

enum { FIRST = 16, HALVINGS = 9, SIDE = 24 };
static const double DROP = 36; /* exp(-36) is about the rounding error of a double */
static const double Z_MAX = 690;

static void set_pi(double z, double *pi) {
    pi[0] = pv_sigmoid(-z);
    pi[1] = pv_sigmoid(z);
}

/* Newton's method, kept in a bracket by bisection. */
double pv__pair_mode(pv_ctx *ctx, pv__mixture *m, const double *alpha, double *scale, int64_t *passes) {
    double total = m->total + alpha[0] + alpha[1], low = -Z_MAX, high = Z_MAX, pi[2], sums[2], cross[4];
    double z = 0;
    *scale = 1;
    for (int i = 0; i < 200; i++) {
        set_pi(z, pi);
        pv__mixture_sums(ctx, m, pi, sums, cross);
        ++*passes;
        double slope = sums[1] + alpha[1] - total * pi[1], curve = cross[1] - total * pi[0] * pi[1];
        if (slope > 0)
            low = z;
        else
            high = z;
        if (curve < 0)
            *scale = 1 / sqrt(-curve);
        double next = curve < 0 ? z - slope / curve : slope > 0 ? z + 1 : z - 1;
        if (curve < 0 && fabs(next - z) < 1e-6 * *scale)
            return z; /* test before updating the bracket, whose end at the root would be a step away */
        z = next > low && next < high ? next : 0.5 * (low + high);
        if (high - low < 1e-12)
            break;
    }
    return z;
}

static void evaluate(pv_ctx *ctx, pv__mixture *m, const double *alpha, size_t count, const double *z, double *pi,
                     double *logs) {
    for (size_t j = 0; j < count; j++)
        set_pi(z[j], pi + 2 * j);
    pv__mixture_logs(ctx, m, count, pi, logs);
    for (size_t j = 0; j < count; j++)
        logs[j] += alpha[0] * pv_log_sigmoid(-z[j]) + alpha[1] * pv_log_sigmoid(z[j]);
}

/* Finds where the density has fallen by DROP on either side, to within a factor of sqrt(2) of the distance. */
static double find_support(pv_ctx *ctx, pv__mixture *m, const double *alpha, double mode, double scale, double *ends) {
    double z[2 * SIDE + 1], pi[2 * (2 * SIDE + 1)], logs[2 * SIDE + 1];
    z[2 * SIDE] = mode;
    for (int i = 0; i < SIDE; i++) {
        double away = 4 * scale * pow(2, 0.5 * i);
        z[i] = fmax(mode - away, -Z_MAX);
        z[SIDE + i] = fmin(mode + away, Z_MAX);
    }
    evaluate(ctx, m, alpha, 2 * SIDE + 1, z, pi, logs);
    for (int side = 0; side < 2; side++) {
        int i = 0;
        while (i < SIDE - 1 && !(logs[side * SIDE + i] < logs[2 * SIDE] - DROP))
            i++;
        ends[side] = z[side * SIDE + i];
    }
    return logs[2 * SIDE];
}

static pv_status reserve(pv_ctx *ctx, pv__pair *pair, size_t count) {
    if (count <= pair->room)
        return PV_OK;
    PV_TRY(pv__resize(ctx, count, sizeof(double), &pair->z));
    PV_TRY(pv__resize(ctx, count, sizeof(double), &pair->logs));
    PV_TRY(pv__resize(ctx, count, 2 * sizeof(double), &pair->pi));
    PV_TRY(pv__resize(ctx, count, sizeof(double), &pair->weight));
    pair->room = count;
    return PV_OK;
}

/* Adds points between the existing ones. */
static pv_status halve(pv_ctx *ctx, pv__mixture *m, const double *alpha, pv__pair *pair) {
    size_t old = pair->count, fresh = old - 1;
    PV_TRY(reserve(ctx, pair, old + fresh));
    for (size_t j = old; j-- > 0;) {
        pair->z[2 * j] = pair->z[j];
        pair->logs[2 * j] = pair->logs[j];
        memcpy(pair->pi + 4 * j, pair->pi + 2 * j, 2 * sizeof(double));
    }
    pair->step *= 0.5;
    /* Work space for the new points: z, then pi, then logs. */
    double *scratch;
    PV_TRY(pv__alloc(ctx, 4 * fresh, sizeof *scratch, &scratch));
    for (size_t j = 0; j < fresh; j++)
        scratch[j] = pair->z[2 * j] + pair->step;
    evaluate(ctx, m, alpha, fresh, scratch, scratch + fresh, scratch + 3 * fresh);
    for (size_t j = 0; j < fresh; j++) {
        pair->z[2 * j + 1] = scratch[j];
        memcpy(pair->pi + 4 * j + 2, scratch + fresh + 2 * j, 2 * sizeof(double));
        pair->logs[2 * j + 1] = scratch[3 * fresh + j];
    }
    pv__free(ctx, scratch);
    pair->count = old + fresh;
    pair->passes++;
    return PV_OK;
}

/* Computes weights with sum 1. Returns the integral of exp(logs - top); mean and sd are those of pi_1. */
static double weigh(pv__pair *pair, double top, double *mean, double *sd) {
    double sum = 0, first = 0, second = 0;
    for (size_t j = 0; j < pair->count; j++)
        sum += pair->weight[j] = exp(pair->logs[j] - top);
    for (size_t j = 0; j < pair->count; j++)
        first += (pair->weight[j] /= sum) * pair->pi[2 * j + 1];
    for (size_t j = 0; j < pair->count; j++)
        second += pair->weight[j] * (pair->pi[2 * j + 1] - first) * (pair->pi[2 * j + 1] - first);
    *mean = first;
    *sd = sqrt(second);
    return sum * pair->step;
}

pv_status pv__pair_solve(pv_ctx *ctx, pv__mixture *m, const double *alpha, pv__pair *pair) {
    double scale, ends[2], mean, sd, last_mean = 0, last = 0;
    pair->passes = 0;
    double mode = pv__pair_mode(ctx, m, alpha, &scale, &pair->passes);
    double top = find_support(ctx, m, alpha, mode, scale, ends);
    pair->passes++;
    pair->count = FIRST + 1;
    PV_TRY(reserve(ctx, pair, pair->count));
    pair->step = (ends[1] - ends[0]) / FIRST;
    for (size_t j = 0; j <= FIRST; j++)
        pair->z[j] = ends[0] + pair->step * (double)j;
    evaluate(ctx, m, alpha, pair->count, pair->z, pair->pi, pair->logs);
    pair->passes++;
    bool enough = false;
    for (int round = 0; round < HALVINGS; round++) {
        double integral = weigh(pair, top, &mean, &sd);
        if (enough)
            break;
        enough = round > 0 && fabs(integral - last) < 1e-6 * integral && fabs(mean - last_mean) < 1e-6 * sd;
        last = integral;
        last_mean = mean;
        PV_TRY(halve(ctx, m, alpha, pair));
        if (pv__interrupted(ctx))
            return pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request");
    }
    weigh(pair, top, &mean, &sd);
    pair->converged = enough;
    return PV_OK;
}

pv_status pv__pair_fill(pv_ctx *ctx, pv__pair *pair, size_t count, const double *z, const double *logs) {
    double top = -HUGE_VAL, mean, sd;
    PV_TRY(reserve(ctx, pair, count));
    pair->count = count;
    pair->step = (z[count - 1] - z[0]) / (double)(count - 1);
    for (size_t j = 0; j < count; j++) {
        pair->z[j] = z[j];
        pair->logs[j] = logs[j];
        set_pi(z[j], pair->pi + 2 * j);
        top = fmax(top, logs[j]);
    }
    weigh(pair, top, &mean, &sd);
    pair->converged = true;
    return PV_OK;
}

void pv__pair_clear(pv_ctx *ctx, pv__pair *pair) {
    pv__free(ctx, pair->z);
    pv__free(ctx, pair->pi);
    pv__free(ctx, pair->weight);
    pv__free(ctx, pair->logs);
    *pair = (pv__pair){0};
}

/* ---- quantiles --------------------------------------------------------------------------------------------------- */

/* Si(x) for x > 4 is pi/2 minus the imaginary part of E1(ix), computed from its continued fraction by Lentz's method.
 * Complex arithmetic is written out because C's complex division guards against overflow that cannot occur here. */
static double sine_integral_far(double x) {
    double br = 1, bi = x, cr = 1e300, ci = 0, size = br * br + bi * bi;
    double dr = br / size, di = -bi / size, hr = dr, hi = di;
    for (int i = 1; i < 200; i++) {
        double a = -(double)i * i;
        br += 2;
        double r = a * dr + br, s = a * di + bi;
        size = r * r + s * s;
        dr = r / size;
        di = -s / size;
        size = cr * cr + ci * ci;
        double nr = br + a * cr / size, ni = bi - a * ci / size;
        cr = nr;
        ci = ni;
        double er = cr * dr - ci * di, ei = cr * di + ci * dr, held = hr * er - hi * ei;
        hi = hr * ei + hi * er;
        hr = held;
        if (fabs(er - 1) + fabs(ei) < 1e-15)
            break;
    }
    /* (cos x - i sin x) h has imaginary part cos x hi - sin x hr. */
    return 0.5 * 3.14159265358979323846 + cos(x) * hi - sin(x) * hr;
}

double pv__sine_integral(double x) {
    double far = fabs(x);
    if (far > 4)
        return x < 0 ? -sine_integral_far(far) : sine_integral_far(far);
    double term = x, sum = x;
    for (int i = 3; fabs(term) > 1e-17 * fabs(sum) && i < 80; i += 2) {
        term *= -x * x / ((double)i * (i - 1));
        sum += term / i;
    }
    return sum;
}

static double distribution(const pv__pair *pair, double z, double *density) {
    const double circle = 3.14159265358979323846;
    double sum = 0, slope = 0;
    for (size_t j = 0; j < pair->count; j++) {
        if (pair->weight[j] < 1e-18)
            continue; /* negligible: the distribution function is needed to 1e-12 */
        double x = circle * (z - pair->z[j]) / pair->step;
        sum += pair->weight[j] * (0.5 + pv__sine_integral(x) / circle);
        slope += pair->weight[j] * (fabs(x) < 1e-8 ? 1 : sin(x) / x);
    }
    *density = slope / pair->step;
    return sum;
}

double pv__pair_quantile(const pv__pair *pair, double p) {
    double low = pair->z[0], high = pair->z[pair->count - 1], sum = 0, density, z = low;
    for (size_t j = 0; j < pair->count && sum < p; j++) { /* a starting point from the sums of the weights */
        sum += pair->weight[j];
        z = pair->z[j];
    }
    for (int i = 0; i < 100; i++) {
        double error = distribution(pair, z, &density) - p;
        if (error > 0)
            high = z;
        else
            low = z;
        double next = density > 0 ? z - error / density : low - 1, least = 1e-14 * fmax(1, fabs(z));
        if (density > 0 && fabs(next - z) < least)
            break; /* test before updating the bracket, as above */
        z = next > low && next < high ? next : 0.5 * (low + high);
        if (high - low < least)
            break;
    }
    return z;
}
