/* The posterior of the prevalences of more than two classes with the labels summed out: its mode, and draws around it.
 *
 *   g(pi) = sum_y alpha_y log pi_y + sum_n v_n log q_n(pi)        (density of log(pi_y/pi_ref), see quadrature.c)
 *
 * Mode: g is concave in pi. In relative steps pi_y (1 + d_y) Newton's equations are (M + diag alpha) d = c - mu pi with
 * pi.d = 0, c = S + alpha, S = sum v rho and M = sum v rho rho'; steps are shortened until g increases. Draws:
 * importance sampling from a Student t around the mode with the curvature there, in the coordinates log(pi_y/pi_ref),
 * where the density's tails are exponential and the proposal's are heavier, so the weights are bounded. Pairs mirrored
 * at the mode cancel odd errors. If fewer than a tenth of the draws are effective, Hamiltonian Monte Carlo is used
 * instead. One draw for each of many w: Metropolis's rule with proposals from that t. Every proposal contributes to the
 * moments with its acceptance probability a_j: E f = mean of a_j f(x_j) + (1 - a_j) f(x_now) over the steps after the
 * first few. If fewer than two fifths of a chain's proposals are effective it hardly moves; weighted draws replace it.
 */
#include <math.h>
#include <string.h>

#include "predict/mixture.h"

static const double DF = 6;                     /* degrees of freedom of the proposal */
enum { CHAIN = 32, SETTLED = 8, RESCUE = 400 }; /* steps of a chain; steps discarded at its start; draws if it sticks */

pv_status pv__many_init(pv_ctx *ctx, int classes, pv__many *many) {
    size_t k = (size_t)classes;
    *many = (pv__many){.classes = classes};
    pv_status status;
    PV_GOTO(failed, pv__alloc(ctx, k, sizeof(double), &many->mode));
    PV_GOTO(failed, pv__alloc(ctx, k * k, sizeof(double), &many->factor));
    PV_GOTO(failed, pv__alloc(ctx, k, sizeof(double), &many->centre));
    PV_GOTO(failed, pv__alloc(ctx, 3 * k * k + 8 * k, sizeof(double), &many->work));
    return PV_OK;
failed:
    pv__many_clear(ctx, many);
    return status;
}

void pv__many_clear(pv_ctx *ctx, pv__many *many) {
    pv__free(ctx, many->mode);
    pv__free(ctx, many->factor);
    pv__free(ctx, many->centre);
    pv__free(ctx, many->work);
    *many = (pv__many){0};
}

static double log_prior(int k, const double *alpha, const double *pi) {
    double sum = 0;
    for (int y = 0; y < k; y++)
        sum += alpha[y] * log(pi[y]);
    return sum;
}

static double value_at(pv_ctx *ctx, pv__mixture *m, const double *alpha, const double *pi) {
    double log_q;
    pv__mixture_logs(ctx, m, 1, pi, &log_q);
    return log_q + log_prior(m->classes, alpha, pi);
}

/* Newton's relative step d [k] at pi; returns the decrement c.d, NaN if it cannot be computed. Overwrites cross. */
static double newton_step(int k, const double *alpha, const double *pi, const double *sums, double *cross, double *held,
                          double *d, double *along) {
    size_t n = (size_t)k;
    for (size_t y = 0; y < n; y++) {
        cross[y * n + y] += alpha[y];
        d[y] = sums[y] + alpha[y];
        along[y] = pi[y];
    }
    memcpy(held, cross, n * n * sizeof *held);
    if (!pv__solve_small(k, cross, d) || !pv__solve_small(k, held, along))
        return (double)NAN;
    double up = 0, down = 0, total = 0, decrement = 0;
    for (size_t y = 0; y < n; y++) {
        up += pi[y] * d[y];
        down += pi[y] * along[y];
        total += sums[y] + alpha[y];
    }
    for (size_t y = 0; y < n; y++) {
        d[y] -= up / down * along[y];
        decrement +=
            (sums[y] + alpha[y] - total * pi[y]) * d[y]; /* the subtracted term is rounding error, because pi.d = 0 */
    }
    return decrement;
}

/* pi (1 + t d) with the largest t in (0,1] that stays inside and increases g. */
static bool line_search(pv_ctx *ctx, pv__mixture *m, const double *alpha, double decrement, const double *d, double *pi,
                        double *trial, double *value, int64_t *passes) {
    int k = m->classes;
    double t = 1;
    for (int y = 0; y < k; y++)
        if (1 + t * d[y] < 0.05)
            t = -0.95 / d[y];
    for (int tries = 0; tries < 40; tries++, t *= 0.5) {
        double sum = 0;
        for (int y = 0; y < k; y++)
            sum += trial[y] = pi[y] * (1 + t * d[y]);
        for (int y = 0; y < k; y++)
            trial[y] /= sum;
        double there = value_at(ctx, m, alpha, trial);
        ++*passes;
        if (there >= *value + 1e-4 * t * decrement) {
            *value = there;
            memcpy(pi, trial, (size_t)k * sizeof *pi);
            return true;
        }
    }
    return false;
}

/* -d2g/dzeta2 = (N + A)(diag pi - pi pi') - (diag S - M) without the reference, as a Cholesky factor. False if it is
 * not finite. */
static bool set_curvature(const pv__mixture *m, const double *alpha, const double *sums, const double *cross,
                          pv__many *many) {
    int k = m->classes, ref = 0;
    double total = m->total;
    for (int y = 0; y < k; y++) {
        total += alpha[y];
        if (many->mode[y] > many->mode[ref])
            ref = y;
    }
    many->reference = ref;
    size_t n = (size_t)k - 1, i = 0;
    for (int y = 0; y < k; y++) {
        if (y == ref)
            continue;
        size_t j = 0;
        for (int x = 0; x < k; x++) {
            if (x == ref)
                continue;
            double own = x == y ? total * many->mode[y] - sums[y] : 0;
            many->factor[i * n + j++] =
                own + cross[(size_t)y * (size_t)k + (size_t)x] - total * many->mode[y] * many->mode[x];
        }
        many->centre[i++] = log(many->mode[y] / many->mode[ref]);
    }
    return pv__cholesky(n, many->factor, 1e-10);
}

pv_status pv__many_mode(pv_ctx *ctx, pv__mixture *m, const double *alpha, pv__many *many) {
    int k = m->classes;
    size_t n = (size_t)k;
    double *pi = many->mode, *sums = many->work, *d = sums + n, *along = d + n, *trial = along + n;
    double *cross = trial + n, *held = cross + n * n, *used = held + n * n;
    for (size_t y = 0; y < n; y++)
        pi[y] = 1 / (double)k;
    double value = value_at(ctx, m, alpha, pi);
    many->passes = 1;
    many->converged = many->diverged = false;
    for (int i = 0;; i++) {
        PV_TRY(pv__go_on(ctx));
        pv__mixture_sums(ctx, m, pi, sums, cross);
        many->passes++;
        if (i == 200)
            break; /* sums and cross are already those at pi */
        memcpy(used, cross, n * n * sizeof *used);
        double decrement = newton_step(k, alpha, pi, sums, used, held, d, along);
        if (isnan(decrement) || isnan(value))
            return pv__fail(ctx, PV_ERR_NUMERIC, "the log-likelihoods of the target sample are not finite");
        many->converged = fabs(decrement) < 1e-12;
        if (many->converged)
            break;
        if (decrement < 0 || !line_search(ctx, m, alpha, decrement, d, pi, trial, &value, &many->passes)) {
            many->converged = fabs(decrement) < 1e-6; /* with many rows, any further gain is below rounding */
            break;
        }
    }
    return set_curvature(m, alpha, sums, cross, many)
               ? PV_OK
               : pv__fail(ctx, PV_ERR_NUMERIC, "the curvature of the prevalence's posterior is not finite");
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

/* x = factor'^-1 normal / sqrt(chi2/df). */
double pv__many_propose(const pv__many *many, pv_rng *rng, double *x) {
    size_t n = (size_t)many->classes - 1;
    double squares = 0, scale = sqrt(0.5 * DF / pv_rng_gamma(rng, 0.5 * DF));
    for (size_t i = 0; i < n; i++) {
        x[i] = scale * pv_rng_normal(rng);
        squares += x[i] * x[i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++)
            x[i] -= many->factor[j * n + i] * x[j];
        x[i] /= many->factor[i * n + i];
    }
    return -0.5 * (DF + (double)n) * log1p(squares / DF);
}

void pv__many_place(const pv__many *many, const double *x, double side, double *pi) {
    int k = many->classes;
    size_t i = 0;
    for (int y = 0; y < k; y++) {
        pi[y] = y == many->reference ? 0 : many->centre[i] + side * x[i];
        i += y != many->reference;
    }
    pv_log_softmax(k, pi, pi);
    for (int y = 0; y < k; y++)
        pi[y] = exp(fmax(pi[y], -700));
}

static pv_status by_importance(pv_ctx *ctx, pv__mixture *m, const double *alpha, pv__many *many, int64_t seed,
                               pv__points *points, double *effective) {
    size_t k = points->classes;
    double *step = many->work, top = -HUGE_VAL, sum = 0, squares = 0;
    double *proposal;
    pv_status status = PV_OK;
    PV_TRY(pv__alloc(ctx, points->count, sizeof *proposal, &proposal));
    for (size_t j = 0; j < points->count; j += 2) {
        pv_rng rng = pv_rng_stream((uint64_t)seed, PV_STREAM_TARGET_PREVALENCE, j / 2);
        proposal[j] = proposal[j + 1] = pv__many_propose(many, &rng, step);
        pv__many_place(many, step, 1, points->pi + j * k);
        pv__many_place(many, step, -1, points->pi + (j + 1) * k);
    }
    for (size_t j = 0; j < points->count && status == PV_OK; j += PV__POINTS) { /* one pass over the rows */
        size_t count = points->count - j < PV__POINTS ? points->count - j : PV__POINTS;
        pv__mixture_logs(ctx, m, count, points->pi + j * k, points->weight + j);
        status = pv__go_on(ctx);
    }
    for (size_t j = 0; j < points->count; j++) {
        points->weight[j] += log_prior(many->classes, alpha, points->pi + j * k) - proposal[j];
        top = fmax(top, points->weight[j]);
    }
    for (size_t j = 0; j < points->count; j++)
        sum += points->weight[j] = exp(points->weight[j] - top);
    for (size_t j = 0; j < points->count; j++) {
        points->weight[j] /= sum;
        squares += points->weight[j] * points->weight[j];
    }
    *effective = 1 / squares;
    pv__free(ctx, proposal);
    return status;
}

typedef struct hmc_state {
    pv__mixture *mixture;
    const double *alpha;
    const pv__many *many;
    double *pi, *sums;
    int64_t passes;
} hmc_state;

/* -g and its gradient (N + A) pi - S - alpha in the coordinates log(pi_y/pi_ref). */
static pv_status density_eval(pv_ctx *ctx, void *state, const double *w, double *value, double *gradient) {
    hmc_state *s = state;
    int k = s->mixture->classes;
    double total = s->mixture->total;
    size_t i = 0;
    for (int y = 0; y < k; y++) {
        s->pi[y] = y == s->many->reference ? 0 : w[i];
        i += y != s->many->reference;
        total += s->alpha[y];
    }
    pv_log_softmax(k, s->pi, s->pi);
    for (int y = 0; y < k; y++)
        s->pi[y] = exp(fmax(s->pi[y], -700));
    *value = -value_at(ctx, s->mixture, s->alpha, s->pi);
    pv__mixture_sums(ctx, s->mixture, s->pi, s->sums, NULL);
    s->passes += 2;
    i = 0;
    for (int y = 0; y < k; y++)
        if (y != s->many->reference)
            gradient[i++] = total * s->pi[y] - s->sums[y] - s->alpha[y];
    return PV_OK;
}

static pv_status by_hmc(pv_ctx *ctx, pv__mixture *m, const double *alpha, pv__many *many, int64_t seed,
                        pv__points *points, double *effective) {
    size_t k = points->classes, n = k - 1;
    hmc_state state = {m, alpha, many, many->work, many->work + k, 0};
    pv_density density = {.dims = n, .state = &state, .eval = density_eval};
    pv_hmc_options options = pv_hmc_options_default();
    options.draws = (int64_t)(points->count + (size_t)options.chains - 1) / options.chains;
    options.seed = (uint64_t)seed;
    pv_posterior *posterior;
    PV_TRY(pv_hmc(ctx, &density, many->centre, &options, &posterior));
    many->passes += state.passes;
    many->diverged = posterior->stop == PV_STOP_DIVERGED;
    if (posterior->stop == PV_STOP_INTERRUPTED) {
        pv_posterior_free(ctx, posterior);
        return pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request");
    }
    if (posterior->count < points->count)
        points->count = posterior->count;
    *effective = (double)points->count;
    for (size_t i = 0; i < n; i++)
        *effective = fmin(*effective, posterior->ess[i]);
    for (size_t j = 0; j < points->count; j++) {
        double *pi = points->pi + j * k;
        size_t i = 0;
        for (size_t y = 0; y < k; y++) {
            pi[y] = (int)y == many->reference ? 0 : posterior->draws[j * n + i];
            i += (int)y != many->reference;
        }
        pv_log_softmax((int)k, pi, pi);
        for (size_t y = 0; y < k; y++)
            pi[y] = exp(fmax(pi[y], -700));
        points->weight[j] = 1 / (double)points->count;
    }
    pv_posterior_free(ctx, posterior);
    return PV_OK;
}

pv_status pv__many_draws(pv_ctx *ctx, pv__mixture *m, const double *alpha, pv__many *many, int64_t draws, int64_t seed,
                         pv__points *points, double *effective) {
    size_t count = (size_t)draws + (size_t)(draws & 1);
    *points = (pv__points){.count = count, .classes = (size_t)m->classes};
    pv_status status;
    PV_GOTO(failed, pv__alloc(ctx, count * points->classes, sizeof(double), &points->pi));
    PV_GOTO(failed, pv__alloc(ctx, count, sizeof(double), &points->weight));
    PV_GOTO(failed, by_importance(ctx, m, alpha, many, seed, points, effective));
    many->passes += (int64_t)count;
    if (!(*effective >= 0.1 * (double)count))
        PV_GOTO(failed, by_hmc(ctx, m, alpha, many, seed, points, effective));
    return PV_OK;
failed:
    pv__points_clear(ctx, points);
    return status;
}

/* Runs the chain: points are its proposals, weighted by their expected number of visits. Returns the fraction of
 * proposals that is effective by their importance weights, which is small if the chain hardly moves. */
static double run_chain(pv_ctx *ctx, pv__mixture *m, const double *alpha, pv__many *many, pv_rng *rng,
                        pv__points *points, double *pi) {
    size_t k = points->classes, at = 0;
    double log_weight[CHAIN], proposal[CHAIN], top = -HUGE_VAL, sum = 0, squares = 0;
    for (size_t j = 0; j < CHAIN; j++) {
        proposal[j] = pv__many_propose(many, rng, many->work);
        pv__many_place(many, many->work, 1, points->pi + j * k);
    }
    pv__mixture_logs(ctx, m, CHAIN, points->pi, log_weight);
    many->passes += CHAIN;
    for (size_t j = 0; j < CHAIN; j++) {
        log_weight[j] += log_prior(many->classes, alpha, points->pi + j * k) - proposal[j];
        top = fmax(top, log_weight[j]);
        if (j == 0)
            continue;
        double chance = exp(fmin(log_weight[j] - log_weight[at], 0));
        if (j >= SETTLED) {
            points->weight[j] += chance / (CHAIN - SETTLED);
            points->weight[at] += (1 - chance) / (CHAIN - SETTLED);
        }
        if (pv_rng_uniform(rng) < chance)
            at = j;
    }
    memcpy(pi, points->pi + at * k, k * sizeof *pi);
    for (size_t j = 0; j < CHAIN; j++) {
        double weight = exp(log_weight[j] - top);
        sum += weight;
        squares += weight * weight;
    }
    return sum * sum / squares;
}

pv_status pv__many_draw(pv_ctx *ctx, pv__mixture *m, const double *alpha, pv__many *many, int64_t seed, uint64_t index,
                        double *pi, pv__points *points) {
    size_t k = (size_t)m->classes, j = 0;
    pv_rng rng = pv_rng_stream((uint64_t)seed, PV_STREAM_TARGET_CHAIN, index);
    *points = (pv__points){.count = CHAIN, .classes = k};
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, CHAIN * k, sizeof(double), &points->pi));
    PV_GOTO(done, pv__alloc(ctx, CHAIN, sizeof(double), &points->weight));
    if (run_chain(ctx, m, alpha, many, &rng, points, pi) >= 0.4 * CHAIN)
        return PV_OK;
    pv__points_clear(ctx, points);
    double effective, level;
    PV_GOTO(done, pv__many_draws(ctx, m, alpha, many, RESCUE, (int64_t)(pv_rng_bits(&rng) >> 11), points, &effective));
    level = pv_rng_uniform(&rng) - points->weight[0];
    while (level > 0 && j + 1 < points->count)
        level -= points->weight[++j];
    memcpy(pi, points->pi + j * k, k * sizeof *pi);
done:
    if (status != PV_OK)
        pv__points_clear(ctx, points);
    return status;
}
