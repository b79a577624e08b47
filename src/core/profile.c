/* The marginal with p(x) profiled out (empirical likelihood; Qin and Lawless 1994, Scott and Wild 1997).
 *
 *   value = - max over theta in the simplex of [ sum_n v_n log(W theta_n/v_n) - sum_y c_y log lambda_y ],
 *   lambda_y = sum_n theta_n p_ny,   c_y = n_y - N_pr prevalence_y,   W = sum_n v_n ;
 *   N_pr infinite: lambda is fixed at the prevalence and c_y = n_y. A row of weight v counts as v equal rows.
 * Unlabelled rows count in W but not in n_y (Lancaster and Imbens 1996: a supplementary sample of x).
 *
 * For given lambda the best theta is v_n / (W q_n), q_n = 1 + sum_j m_j r_nj, r_nj = p_nj/lambda_j - 1, where m
 * maximises the concave G(m) = sum_n v_n log q_n, so that sum_n v_n r_nj / q_n = 0. j runs over all classes except a
 * reference, whose multiplier is 0. Because the equations use p/lambda rather than p - lambda, nothing depends on the
 * scale of lambda: a prevalence of 1e-9 is as accurate as 0.5.
 *
 * lambda is stationary where W m_j = c_j - c_ref lambda_j/lambda_ref. Substituting this above leaves K-1 equations in
 * log lambda, E_j(log lambda) = sum_n v_n r_nj / q_n = 0, which need one pass over the rows per Newton step and few
 * steps from the last solution. The equations have spurious roots; a root is accepted only if all q_n > 0 and the
 * second-order condition of a maximum holds. Otherwise the outer problem is maximised with the inner one solved exactly
 * (`climb`), which is slower but always reaches a maximum.
 *
 * Limits: if the signs of c differ, the outer problem need not be concave. The maximum found is then the one nearest to
 * the last solution, and at first nearest to the prevalence.
 */
#include <math.h>
#include <string.h>

#include "base/reduce.h"
#include "core/profile.h"

pv_status pv__profile_init(pv_ctx *ctx, pv__profile *profile, const pv_targets *targets, const double *mass,
                           const pv_prevalence *population) {
    *profile = (pv__profile){.n = targets->n,
                             .part = pv__part_whole(pv__chunks(targets->n)),
                             .classes = targets->classes,
                             .weight = targets->weight};
    size_t k = (size_t)targets->classes, J = k - 1;
    PV_TRY(pv__alloc(ctx, k, sizeof(double), &profile->counts));
    PV_TRY(pv__alloc(ctx, k, sizeof(double), &profile->log_lambda));
    PV_TRY(pv__alloc(ctx, k, sizeof(double), &profile->multiplier));
    PV_TRY(pv__alloc(ctx, targets->n, J * sizeof(double), &profile->a));
    PV_TRY(pv__alloc(ctx, targets->n, sizeof(double), &profile->theta));
    PV_TRY(pv__alloc(ctx, pv__chunks(targets->n) + 1, block_size(J) * sizeof(double), &profile->partial));
    PV_TRY(pv__alloc(ctx, 14 * J + 4 * J * J + k, sizeof(double), &profile->scratch));
    profile->known = isinf(population->prevalence_n);
    for (size_t y = 0; y < k; y++) {
        profile->total += mass[y];
        profile->counts[y] = profile->known ? mass[y] : mass[y] - population->prevalence_n * population->prevalence[y];
        profile->log_lambda[y] = log(population->prevalence[y]);
        if (population->prevalence[y] > population->prevalence[profile->reference])
            profile->reference = (int)y;
    }
    for (size_t n = 0; targets->label && n < targets->n; n++)
        profile->total += targets->label[n] == PV_UNLABELLED ? pv__weight(targets, n) : 0;
    return PV_OK;
}

void pv__profile_clear(pv_ctx *ctx, pv__profile *profile) {
    pv__free(ctx, profile->counts);
    pv__free(ctx, profile->log_lambda);
    pv__free(ctx, profile->multiplier);
    pv__free(ctx, profile->a);
    pv__free(ctx, profile->theta);
    pv__free(ctx, profile->partial);
    pv__free(ctx, profile->scratch);
}

/* ---- the current point: log lambda of all classes except the reference ------------------------------------------- */

/* Computes the quantities that depend on log_lambda. False if the lambdas leave no mass for the reference. */
static bool settle(const pv__profile *profile, const double *start, pv__point *at) {
    size_t J = dims(profile);
    double rest = 1;
    for (size_t j = 0; j < J; j++) {
        at->lambda[j] = exp(at->log_lambda[j]);
        at->scale[j] = exp(start[j] - at->log_lambda[j]);
        rest -= at->lambda[j];
    }
    if (!(rest > 0))
        return false;
    at->log_reference = log(rest);
    for (size_t j = 0; j < J; j++)
        at->ratio[j] = at->lambda[j] / rest;
    return true;
}

/* m at which lambda is stationary. */
static void stationary_m(const pv__profile *profile, pv__point *at) {
    for (size_t j = 0; j < dims(profile); j++)
        at->m[j] = (profile->counts[class_of(profile, j)] - profile->counts[profile->reference] * at->ratio[j]) /
                   profile->total;
}

/* d m_k / d log lambda_i of stationary_m. */
static double m_slope(const pv__profile *profile, const pv__point *at, size_t k, size_t i) {
    double c = profile->counts[profile->reference] / profile->total;
    return -c * ((k == i ? at->ratio[k] : 0) + at->ratio[k] * at->ratio[i]);
}

/* E_log_lambda at fixed m: d/d log lambda_i of sum v r_j/q. */
static double residual_slope(const pv__sums *s, const pv__point *at, size_t J, size_t j, size_t i) {
    return (i == j ? -(s->r[j] + s->weight) : 0) + at->m[i] * (s->rr[j * J + i] + s->rq[j]);
}

static double largest(size_t n, const double *x) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = !(fabs(x[i]) <= most) ? fabs(x[i]) : most;
    return most;
}

/* Second derivative of the outer problem divided by W: B^-1 D, into h [J][J], where B is made invertible; tmp
 * [J][J]. */
static bool outer_curvature(const pv__profile *profile, const pv__sums *s, const double *D, double *h, double *tmp,
                            double *column) {
    size_t J = dims(profile);
    for (size_t i = 0; i < J; i++) {
        memcpy(tmp, s->rr, J * J * sizeof *tmp);
        for (size_t j = 0; j < J; j++) {
            tmp[j * J + j] += 1e-14 * profile->total;
            column[j] = D[j * J + i];
        }
        if (!pv__solve_small((int)J, tmp, column))
            return false;
        for (size_t j = 0; j < J; j++)
            h[j * J + i] = column[j];
    }
    return true;
}

/* ---- fast method: Newton on the stationarity equations ----------------------------------------------------------- */

static void newton_matrix(const pv__profile *profile, const pv__sums *s, const pv__point *at, double *D) {
    size_t J = dims(profile);
    for (size_t j = 0; j < J; j++)
        for (size_t i = 0; i < J; i++) {
            double d = residual_slope(s, at, J, j, i);
            for (size_t k = 0; k < J; k++)
                d -= s->rr[j * J + k] * m_slope(profile, at, k, i);
            D[j * J + i] = d;
        }
}

static bool is_maximum(const pv__profile *profile, const pv__sums *s, const pv__point *at, double *matrices) {
    size_t J = dims(profile);
    double *D = matrices, *h = D + J * J, *tmp = h + J * J, *column = tmp + J * J;
    newton_matrix(profile, s, at, D);
    if (J == 1)
        return D[0] < 0;
    if (!outer_curvature(profile, s, D, h, tmp, column))
        return false;
    for (size_t i = 0; i < J * J; i++)
        h[i] = -h[i];
    return pv__positive_definite(J, h);
}

static bool newton(pv_ctx *ctx, pv__profile *profile, const double *start, pv__point *at, double *work) {
    size_t J = dims(profile);
    double *before = work, *step = before + J, *residual = step + J, *matrices = residual + J;
    double tolerance = 1e-13 * profile->total;
    pv__sums s;
    if (!settle(profile, start, at))
        return false;
    stationary_m(profile, at);
    if (!pv__profile_moments(ctx, profile, at->scale, at->m, false, &s))
        return false;
    for (int iteration = 0; iteration < 60; iteration++) {
        memcpy(residual, s.r, J * sizeof *residual);
        double error = largest(J, residual);
        if (error <= tolerance)
            return is_maximum(profile, &s, at, matrices);
        newton_matrix(profile, &s, at, matrices);
        for (size_t j = 0; j < J; j++)
            step[j] = -residual[j];
        if (!pv__solve_small((int)J, matrices, step))
            return false;
        double size = largest(J, step), shrink = size > 1 ? 1 / size : 1;
        memcpy(before, at->log_lambda, J * sizeof *before);
        bool better = false;
        for (int halving = 0; halving < 30 && !better; halving++, shrink *= 0.5) {
            for (size_t j = 0; j < J; j++)
                at->log_lambda[j] = before[j] + shrink * step[j];
            if (!settle(profile, start, at))
                continue;
            stationary_m(profile, at);
            better = pv__profile_moments(ctx, profile, at->scale, at->m, false, &s) &&
                     (largest(J, s.r) < error || (size < 1e-9 && largest(J, s.r) <= 1e-9 * profile->total));
        }
        if (!better)
            return false;
        if (size < 1e-9) /* converged to rounding: the next residual is noise */
            return largest(J, s.r) <= 1e-9 * profile->total && is_maximum(profile, &s, at, matrices);
    }
    return false;
}

/* ---- the inner problem for given lambda: m maximises sum v log q ------------------------------------------------- */

/* One dimension: finds the zero of the derivative, which decreases between the ends of the domain. */
static bool inner_line(pv_ctx *ctx, pv__profile *profile, pv__point *at, pv__sums *s) {
    double least = HUGE_VAL, most = -HUGE_VAL;
    const pv__part *part = &profile->part;
    for (size_t i = part->first * PV_CHUNK; i < profile->n && i < part->last * PV_CHUNK; i++) {
        if (profile->weight && profile->weight[i] == 0)
            continue;
        double r = at->scale[0] * profile->a[i] - 1;
        least = fmin(least, r);
        most = fmax(most, r);
    }
    pv__least(ctx, part, 1, &least);
    pv__most(ctx, part, 1, &most);
    if (fmax(fabs(least), fabs(most)) < 1e-12) {
        /* All rows are equal to lambda, so the value is the same for every m. Using the multiplier of the selection
         * likelihood keeps the gradient continuous with that of data whose rows differ. */
        at->m[0] = (profile->counts[class_of(profile, 0)] - profile->counts[profile->reference] * at->ratio[0]) /
                   profile->total;
        return pv__profile_moments(ctx, profile, at->scale, at->m, false, s);
    }
    if (!(least < 0 && most > 0))
        return false;
    double low = -1 / most, high = -1 / least; /* q > 0 strictly between */
    if (!(at->m[0] > low && at->m[0] < high))
        at->m[0] = 0;
    for (int iteration = 0; iteration < 200; iteration++) {
        bool inside = pv__profile_moments(ctx, profile, at->scale, at->m, false, s);
        if (inside && fabs(s->r[0]) <= 1e-14 * profile->total)
            return true;
        if (!inside) /* rounding at an end of the domain */
            return false;
        *(s->r[0] > 0 ? &low : &high) = at->m[0];
        double next = at->m[0] + s->r[0] / s->rr[0];
        if (!(next > low && next < high))
            next = 0.5 * (low + high);
        if (fabs(next - at->m[0]) <= 1e-15 * fabs(next))
            return true;
        at->m[0] = next;
    }
    return true;
}

static bool inner(pv_ctx *ctx, pv__profile *profile, pv__point *at, pv__sums *s, double *work) {
    size_t J = dims(profile);
    if (J == 1)
        return inner_line(ctx, profile, at, s);
    double *before = work, *step = before + J, *matrix = step + J;
    if (!pv__profile_moments(ctx, profile, at->scale, at->m, true, s)) {
        memset(at->m, 0, J * sizeof *at->m);
        if (!pv__profile_moments(ctx, profile, at->scale, at->m, true, s))
            return false;
    }
    for (int iteration = 0; iteration < 200; iteration++) {
        if (largest(J, s->r) <= 1e-13 * profile->total)
            return true;
        memcpy(step, s->r, J * sizeof *step);
        memcpy(matrix, s->rr, J * J * sizeof *matrix);
        for (size_t j = 0; j < J; j++)
            matrix[j * J + j] += 1e-14 * profile->total;
        double value = s->log_q, gain = 0, shrink = 1;
        if (!pv__solve_small((int)J, matrix, step))
            return false;
        for (size_t j = 0; j < J; j++)
            gain += s->r[j] * step[j];
        memcpy(before, at->m, J * sizeof *before);
        bool better = false;
        for (int halving = 0; halving < 60 && !better; halving++, shrink *= 0.5) {
            for (size_t j = 0; j < J; j++)
                at->m[j] = before[j] + shrink * step[j];
            better = pv__profile_moments(ctx, profile, at->scale, at->m, true, s) &&
                     s->log_q >= value + 1e-4 * shrink * gain - 1e-14 * fabs(value);
        }
        if (!better || largest(J, at->m) > 1e15)
            return false;
        if (gain <= 1e-20 * profile->total)
            break;
    }
    /* Outside the hull of the rows, sum v log q has no maximum: Newton's method diverges and sum theta is not 1. */
    return fabs(s->weight / profile->total - 1) <= 1e-7;
}

/* ---- slow method: maximise the outer problem with the inner one solved exactly ----------------------------------- */

static double outer_value(pv_ctx *ctx, pv__profile *profile, const double *start, pv__point *at, pv__sums *s,
                          double *work) {
    if (!settle(profile, start, at) || !inner(ctx, profile, at, s, work))
        return -HUGE_VAL;
    if (!pv__profile_moments(ctx, profile, at->scale, at->m, true, s))
        return -HUGE_VAL;
    double value = -s->log_q - profile->counts[profile->reference] * at->log_reference;
    for (size_t j = 0; j < dims(profile); j++)
        value -= profile->counts[class_of(profile, j)] * at->log_lambda[j];
    return value;
}

static void outer_direction(const pv__profile *profile, const pv__sums *s, const pv__point *at, const double *gradient,
                            double *direction, double *matrices) {
    size_t J = dims(profile);
    double *D = matrices, *h = D + J * J, *copy = h + J * J, *column = copy + J * J;
    newton_matrix(profile, s, at, D);
    if (outer_curvature(profile, s, D, h, copy, column)) {
        for (size_t i = 0; i < J * J; i++)
            copy[i] = h[i] = -profile->total * h[i];
        if (pv__positive_definite(J, copy)) {
            memcpy(direction, gradient, J * sizeof *direction);
            if (pv__solve_small((int)J, h, direction))
                return;
        }
    }
    for (size_t j = 0; j < J; j++)
        direction[j] = gradient[j] / (profile->total * fabs(at->m[j]) + fabs(profile->counts[class_of(profile, j)]) +
                                      1e-3 * profile->total);
}

static bool climb(pv_ctx *ctx, pv__profile *profile, const double *start, pv__point *at, double *work) {
    size_t J = dims(profile);
    double *before = work, *direction = before + J, *gradient = direction + J, *matrices = gradient + J;
    pv__sums s;
    memset(at->m, 0, J * sizeof *at->m);
    double value = outer_value(ctx, profile, start, at, &s, matrices);
    if (isinf(value))
        return false;
    for (int iteration = 0; iteration < 500; iteration++) {
        for (size_t j = 0; j < J; j++)
            gradient[j] = profile->total * at->m[j] - profile->counts[class_of(profile, j)] +
                          profile->counts[profile->reference] * at->ratio[j];
        if (largest(J, gradient) <= 1e-11 * profile->total)
            return true;
        outer_direction(profile, &s, at, gradient, direction, matrices);
        double size = largest(J, direction), shrink = size > 1 ? 1 / size : 1, slope = 0, next = -HUGE_VAL;
        for (size_t j = 0; j < J; j++)
            slope += gradient[j] * direction[j];
        memcpy(before, at->log_lambda, J * sizeof *before);
        for (int halving = 0; halving < 60; halving++, shrink *= 0.5) {
            for (size_t j = 0; j < J; j++)
                at->log_lambda[j] = before[j] + shrink * direction[j];
            next = outer_value(ctx, profile, start, at, &s, matrices);
            if (next >= value + 1e-4 * shrink * slope - 1e-15 * fabs(value))
                break;
        }
        if (isinf(next))
            return false;
        value = next;
        if (size * shrink < 1e-13)
            break;
    }
    for (size_t j = 0; j < J; j++)
        gradient[j] = profile->total * at->m[j] - profile->counts[class_of(profile, j)] +
                      profile->counts[profile->reference] * at->ratio[j];
    return largest(J, gradient) <= 1e-8 * profile->total;
}

/* ---- solve ------------------------------------------------------------------------------------------------------- */

static bool solve_known(pv_ctx *ctx, pv__profile *profile, const double *start, pv__point *at, double *work) {
    pv__sums s;
    for (size_t j = 0; j < dims(profile); j++)
        at->m[j] = profile->multiplier[class_of(profile, j)];
    return settle(profile, start, at) && inner(ctx, profile, at, &s, work);
}

static bool counts_of_one_sign(const pv__profile *profile) {
    bool negative = true, positive = true;
    for (int y = 0; y < profile->classes; y++) {
        negative &= profile->counts[y] < 0;
        positive &= profile->counts[y] > 0;
    }
    return negative || positive;
}

static bool solve_free(pv_ctx *ctx, pv__profile *profile, const double *start, pv__point *at, double *work) {
    size_t J = dims(profile);
    if (newton(ctx, profile, start, at, work))
        return true;
    /* The last lambda may lie outside the hull of the current rows; their mean cannot. */
    double *mean = work;
    work += J;
    pv__profile_mean(ctx, profile, start, mean);
    memcpy(at->log_lambda, mean, J * sizeof *mean);
    if (newton(ctx, profile, start, at, work))
        return true;
    if (counts_of_one_sign(profile)) /* profile_convex.c is faster than climb() and always converges */
        return false;
    memcpy(at->log_lambda, mean, J * sizeof *mean);
    return climb(ctx, profile, start, at, work);
}

/* One attempt with the current reference. False if it fails. */
static bool attempt(pv_ctx *ctx, pv__profile *profile, const double *loglik, double *log_q) {
    size_t J = dims(profile);
    double *start = profile->scratch, *top = start + J, *work = top + 6 * J;
    pv__point at = {
        .log_lambda = top + J, .ratio = top + 2 * J, .lambda = top + 3 * J, .scale = top + 4 * J, .m = top + 5 * J};
    pv__profile_top(ctx, profile, loglik, top);
    for (size_t j = 0; j < J; j++) {
        at.log_lambda[j] = profile->log_lambda[class_of(profile, j)];
        /* lambda is a mean of p, so it cannot exceed the largest p. Far below it the ratios would overflow. */
        start[j] = fmin(fmax(at.log_lambda[j], top[j] - 600), top[j]);
        if (!profile->known)
            at.log_lambda[j] = start[j];
    }
    pv__profile_ratios(ctx, profile, loglik, start);
    bool solved =
        profile->known ? solve_known(ctx, profile, start, &at, work) : solve_free(ctx, profile, start, &at, work);
    if (solved)
        *log_q = pv__profile_keep(ctx, profile, &at);
    return solved;
}

/* lambda of the reference is 1 minus the others, so it must not be small, or rounding would dominate the difference. */
static bool reference_is_common(const pv__profile *profile) {
    double most = -HUGE_VAL;
    for (int y = 0; y < profile->classes; y++)
        most = fmax(most, profile->log_lambda[y]);
    return profile->log_lambda[profile->reference] > most - 3;
}

pv_status pv__profile_solve(pv_ctx *ctx, pv__profile *profile, const double *loglik, double *value) {
    double log_q = 0;
    if (profile->reference < 0 || profile->reference >= profile->classes) /* checkpoints are not trusted */
        profile->reference = 0;
    bool solved = attempt(ctx, profile, loglik, &log_q);
    PV_TRY(pv__reduce_check(ctx));
    if (!profile->known && (!solved || !reference_is_common(profile))) {
        profile->reference = pv__profile_commonest(ctx, profile, loglik);
        solved = attempt(ctx, profile, loglik, &log_q);
    }
    PV_TRY(pv__reduce_check(ctx));
    if (!profile->known && !solved)
        PV_TRY(pv__profile_convex(ctx, profile, loglik, &log_q, &solved));
    if (!solved && profile->known) {
        *value = HUGE_VAL;
        return PV_OK;
    }
    if (!solved)
        return pv__fail(ctx, PV_ERR_NUMERIC,
                        "the profile's inner problem was not solved: are the log-likelihoods finite?");
    *value = log_q;
    for (int y = 0; y < profile->classes; y++)
        *value += profile->counts[y] * profile->log_lambda[y];
    return PV_OK;
}
