/* The profile for counts c_y of one sign: a convex problem in K unknowns, which damped Newton solves for any rows.
 * profile.c uses it if its faster iteration does not converge.
 *
 *   all c < 0, a = -c:   minimise - sum_y a_y log s_y - sum_n v_n log(N_pr - sum_y s_y p_ny)  over s > 0; lambda = a/s
 *   all c > 0:           minimise - sum_y c_y b_y + sum_n v_n log(N_pr + sum_y e^{b_y} p_ny)  over b; lambda = c e^-b
 *
 * With N_pr = sum v - sum c, setting the derivative to zero gives theta_n = v_n / (N_pr + sum_y c_y p_ny/lambda_y) with
 * sum theta = 1 and sum theta p = lambda in both cases. If N_pr = 0, only the ratios of lambda are determined, and
 * lambda is scaled to sum to 1.
 */
#include <math.h>
#include <string.h>

#include "core/profile.h"

typedef struct convex {
    pv_ctx *ctx;
    const pv__profile *profile;
    size_t n, k;
    bool negative;                       /* all c < 0 */
    double strength;                     /* N_pr */
    double *p;                           /* [n][k], p / exp(shift) */
    double *x, *trial, *gradient, *step; /* [k]: log s + shift, or b + shift */
    double *scale;                       /* [k], exp of x or trial */
    double *matrix;                      /* [k][k] */
    double *partial;                     /* [chunks + 1][1 + k + k k]: value, gradient and matrix of rows */
} convex;

static size_t block(size_t k) {
    return 1 + k + k * k;
}

/* Sums over a chunk's rows; +inf if a row is outside the domain. */
static void add_rows(const convex *c, size_t chunk, bool derivatives, double *sums) {
    size_t k = c->k, begin = chunk * PV_CHUNK, end = begin + pv__chunk_rows(c->n, chunk);
    double sign = c->negative ? -1 : 1, *gradient = sums + 1, *matrix = gradient + k;
    memset(sums, 0, block(k) * sizeof *sums);
    for (size_t n = begin; n < end; n++) {
        double v = c->profile->weight ? c->profile->weight[n] : 1, sum = 0;
        const double *p = c->p + n * k;
        if (v == 0)
            continue;
        for (size_t y = 0; y < k; y++)
            sum += c->scale[y] * p[y];
        double d = c->strength + sign * sum;
        if (!(d > 0)) {
            sums[0] = HUGE_VAL;
            return;
        }
        sums[0] += sign * v * log(d);
        for (size_t y = 0; derivatives && y < k; y++) {
            double ey = c->scale[y] * p[y] / d;
            gradient[y] += v * ey;
            matrix[y * k + y] += c->negative ? 0 : v * ey;
            for (size_t z = 0; z < k; z++)
                matrix[y * k + z] -= sign * v * ey * c->scale[z] * p[z] / d;
        }
    }
}

/* Value at x, +inf outside the domain. Gradient and Hessian, if wanted, are with respect to b, or to log s scaled by s:
 * in s the problem is self-concordant, so Newton's method converges from any starting point. */
static double value_at(const convex *c, const double *x, bool derivatives) {
    size_t k = c->k, width = block(k);
    const pv__part *part = &c->profile->part;
    for (size_t y = 0; y < k; y++)
        c->scale[y] = exp(x[y]);
    PV__EACH_OF(c->ctx, part, at, add_rows(c, at, derivatives, c->partial + at * width););
    double *sums = c->partial + part->blocks * width, value = 0;
    pv__sum(c->ctx, part, width, c->partial, sums);
    for (size_t y = 0; y < k; y++)
        value -= fabs(c->profile->counts[y]) * x[y];
    if (derivatives) {
        memcpy(c->matrix, sums + 1 + k, k * k * sizeof *c->matrix);
        for (size_t y = 0; y < k; y++) {
            c->gradient[y] = sums[1 + y] - fabs(c->profile->counts[y]);
            c->matrix[y * k + y] += c->negative ? fabs(c->profile->counts[y]) : 0;
        }
    }
    return value + sums[0];
}

static bool minimise(convex *c) {
    size_t k = c->k;
    double value = value_at(c, c->x, true);
    for (int iteration = 0; iteration < 500; iteration++) {
        double worst = 0, slope = 0, shrink = 1, size = 0, next = HUGE_VAL;
        for (size_t y = 0; y < k; y++) {
            worst = fmax(worst, fabs(c->gradient[y]) / fabs(c->profile->counts[y]));
            /* With N_pr = 0 a common shift of x changes nothing. In addition, between rows whose probabilities are far
             * apart the objective in b is linear up to rounding; there the ridge keeps the step a descent
             * direction, however long it is. */
            c->matrix[y * k + y] += 1e-12 * (c->matrix[y * k + y] + fabs(c->profile->counts[y]));
        }
        if (!isfinite(value) || worst <= 1e-12)
            return isfinite(value);
        memcpy(c->step, c->gradient, k * sizeof *c->step);
        if (!pv__solve_small((int)k, c->matrix, c->step))
            return worst <= 1e-8;
        for (size_t y = 0; y < k; y++) {
            slope += c->gradient[y] * c->step[y];
            size = fmax(size, fabs(c->step[y]));
        }
        shrink = !c->negative && size > 2 ? 2 / size : 1;
        for (int halving = 0; halving < 60; halving++, shrink *= 0.5) {
            bool inside = true;
            for (size_t y = 0; y < k; y++) {
                double move = shrink * c->step[y];
                inside &= !c->negative || move < 1;
                c->trial[y] = c->x[y] + (c->negative ? log1p(-move) : -move);
            }
            next = inside ? value_at(c, c->trial, false) : HUGE_VAL;
            /* Demanding a large decrease keeps the step away from the edge of the domain, where the next steps would be
             * short.
             */
            if (next <= value - 0.25 * shrink * slope + 1e-14 * fabs(value))
                break;
        }
        if (!isfinite(next))
            return worst <= 1e-8;
        memcpy(c->x, c->trial, k * sizeof *c->x);
        value = value_at(c, c->x, true);
        if (size < 1e-13)
            break;
    }
    double worst = 0;
    for (size_t y = 0; y < k; y++)
        worst = fmax(worst, fabs(c->gradient[y]) / fabs(c->profile->counts[y]));
    return worst <= 1e-8;
}

/* Chooses a point inside the domain and computes the ratios in which the problem is written. */
static void prepare(convex *c, const double *loglik, double *shift) {
    size_t k = c->k;
    const pv__part *part = &c->profile->part;
    size_t begin = part->first * PV_CHUNK, end = part->last * PV_CHUNK < c->n ? part->last * PV_CHUNK : c->n;
    for (size_t y = 0; y < k; y++) {
        shift[y] = -HUGE_VAL;
        for (size_t n = begin; n < end; n++)
            shift[y] = fmax(shift[y], loglik[n * k + y]);
    }
    pv__most(c->ctx, part, k, shift);
    for (size_t i = begin * k; i < end * k; i++)
        c->p[i] = exp(loglik[i] - shift[i % k]);
    double total = 0;
    for (size_t y = 0; y < k; y++)
        total += fabs(c->profile->counts[y]);
    /* lambda at the largest p; for s, half way to where the denominators could reach 0. */
    for (size_t y = 0; y < k; y++) {
        double count = fabs(c->profile->counts[y]);
        c->x[y] = log(c->negative ? 0.5 * c->strength * count / total : count);
    }
}

/* Stores the solution as pv__profile_keep does, but computes q_n from the denominators directly: at large N_pr their
 * sums cancel less than those over multipliers. Returns sum v log q. */
static double keep(const convex *c, const double *loglik, const double *shift, pv__profile *profile) {
    size_t k = c->k, J = k - 1;
    double sign = c->negative ? -1 : 1;
    for (size_t y = 0; y < k; y++)
        profile->log_lambda[y] = log(fabs(profile->counts[y])) - c->x[y] + shift[y];
    /* If N_pr = 0, the scale of lambda, and with it that of q, is free. */
    double norm = pv_log_sum_exp(k, profile->log_lambda);
    profile->reference = 0;
    for (size_t y = 0; y < k; y++) {
        profile->log_lambda[y] -= norm;
        if (profile->log_lambda[y] > profile->log_lambda[profile->reference])
            profile->reference = (int)y;
    }
    size_t ref = (size_t)profile->reference;
    for (size_t y = 0; y < k; y++)
        profile->multiplier[y] =
            y == ref
                ? 0
                : (profile->counts[y] - profile->counts[ref] * exp(profile->log_lambda[y] - profile->log_lambda[ref])) /
                      profile->total;
    for (size_t y = 0; y < k; y++)
        c->scale[y] = exp(c->x[y]);
    PV__EACH_OF(c->ctx, &profile->part, at, {
        double *sums = c->partial + 2 * at;
        sums[0] = sums[1] = 0; /* sums of v log q and of theta */
        for (size_t n = at * PV_CHUNK; n < at * PV_CHUNK + pv__chunk_rows(c->n, at); n++) {
            double sum = 0, v = profile->weight ? profile->weight[n] : 1;
            for (size_t y = 0; y < k; y++)
                sum += c->scale[y] * c->p[n * k + y];
            double q = (c->strength + sign * exp(norm) * sum) / profile->total;
            sums[0] += v * log(q);
            profile->theta[n] = v / (profile->total * q);
            sums[1] += profile->theta[n];
            for (size_t j = 0; j < J; j++) {
                size_t y = class_of(profile, j);
                profile->a[n * J + j] = exp(loglik[n * k + y] - profile->log_lambda[y]);
            }
        }
    });
    double sums[2];
    pv__sum(c->ctx, &profile->part, 2, c->partial, sums);
    return fabs(sums[1] - 1) <= 1e-7 ? sums[0] : HUGE_VAL;
}

pv_status pv__profile_convex(pv_ctx *ctx, pv__profile *profile, const double *loglik, double *log_q, bool *solved) {
    size_t n = profile->n, k = (size_t)profile->classes;
    double *room, total = 0;
    *solved = false;
    bool negative = true, positive = true;
    for (size_t y = 0; y < k; y++) {
        negative &= profile->counts[y] < 0;
        positive &= profile->counts[y] > 0;
        total += profile->counts[y];
    }
    if (!negative && !positive)
        return PV_OK;
    size_t chunks = profile->part.blocks, sums = (chunks + 1) * block(k);
    PV_TRY(pv__alloc(ctx, n * k + 6 * k + k * k + sums, sizeof *room, &room));
    convex c = {.ctx = ctx, .profile = profile, .n = n, .k = k, .negative = negative, .p = room};
    c.strength = fmax(profile->total - total, 0);
    if (c.strength < 1e-12 * profile->total)
        c.strength = 0;
    c.x = room + n * k;
    c.trial = c.x + k;
    c.gradient = c.trial + k;
    c.step = c.gradient + k;
    c.scale = c.step + k;
    double *shift = c.scale + k;
    c.matrix = shift + k;
    c.partial = c.matrix + k * k;
    prepare(&c, loglik, shift);
    if (minimise(&c)) {
        *log_q = keep(&c, loglik, shift, profile);
        *solved = isfinite(*log_q);
    }
    pv__free(ctx, room);
    return pv__reduce_check(ctx);
}
