/* The marginal as it moves: the auxiliary network's bias, kept near p(y|w) of all rows while w moves.
 *
 *   p-hat_B(y;w)  =  sum over the batch of population_n p(y|x_n,w)                                  (Appendix B)
 *   p-tilde(y;w)  =  p-hat_B(y;w)  -  sum over the batch of population_n T_n(y)  +  sum_n rho_n T_n(y)
 *
 * T_n(y) is p(y|x_n, .) when row n was last in a batch, or at the start; rho_n are the plug-in's weights of all rows.
 * The second and the third sum have the same expectation, so that p-tilde has p-hat's; its variance is that of
 * p(y|x_n,w) - T_n(y), what changed since the row was last seen: SAGA's variance reduction, of a sum of probabilities.
 *
 * The network moves from q to (1 - gain) q + gain p-tilde, gain = 1 / (1 + s^2/GOAL^2), s the relative standard
 * deviation of p-tilde, which the batch tells: precise estimates are followed at once, noisy ones averaged until about
 * a hundredth of q is left of the noise. More noise than that does harm: the loss divides by q, and 1/q of a noisy q is
 * too large on average, which pushes the label's probability down, and q after it.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

static const double GOAL = 0.02, LEAST_GAIN = 0.02, ERROR_MOST = 0.5;

struct pv__follower {
    const pv__problem *problem;
    size_t strata;
    double *last;                  /* [n][classes], T */
    double *sum, *noise;           /* [classes]: sum_n rho_n T_n; s^2 */
    double *rho, *population;      /* [n], [batch] */
    double *p, *estimate;          /* [batch][classes], [classes] */
    double *count, *mean, *square; /* [strata]: moments of what a batch's rows add */
};

pv_status pv__follower_new(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__follower **follower) {
    size_t n = problem->n, k = (size_t)problem->targets.classes, batch = problem->batch;
    PV_TRY(pv__alloc(ctx, 1, sizeof **follower, follower));
    pv__follower *f = *follower;
    f->problem = problem;
    f->strata = k;
    PV_TRY(pv__alloc(ctx, n + 2, k * sizeof *f->last, &f->last));
    f->sum = f->last + n * k;
    f->noise = f->sum + k;
    PV_TRY(pv__alloc(ctx, n + batch * (k + 1) + 4 * k, sizeof *f->rho, &f->rho));
    f->population = f->rho + n;
    f->p = f->population + batch;
    f->estimate = f->p + batch * k;
    f->count = f->estimate + k;
    f->mean = f->count + k;
    f->square = f->mean + k;
    pv__plugin_weights(&problem->targets, problem->population.prevalence, problem->mass, f->rho);
    PV_TRY(pv__objective_loglik(ctx, problem, w, f->last));
    for (size_t i = 0; i < n * k; i++) {
        f->last[i] = exp(f->last[i]);
        f->sum[i % k] += f->rho[i / k] * f->last[i];
    }
    return PV_OK;
}

void pv__follower_free(pv_ctx *ctx, pv__follower *follower) {
    if (!follower)
        return;
    pv__free(ctx, follower->last);
    pv__free(ctx, follower->rho);
    pv__free(ctx, follower);
}

/* p-tilde(y), and the variance of it: rows of a stratum are drawn alike. */
static double estimate(pv__follower *f, const pv__batch *batch, size_t y, double *variance) {
    size_t k = (size_t)f->problem->targets.classes;
    memset(f->count, 0, 3 * k * sizeof *f->count);
    double sum = f->sum[y];
    for (size_t i = 0; i < batch->targets.n; i++) {
        size_t s = (size_t)(batch->stratum ? batch->stratum[i] : batch->targets.label[i]);
        double more = f->population[i] * (f->p[i * k + y] - f->last[batch->row[i] * k + y]);
        sum += more;
        f->count[s]++;
        double off = more - f->mean[s];
        f->mean[s] += off / f->count[s];
        f->square[s] += off * (more - f->mean[s]);
    }
    *variance = 0;
    for (size_t s = 0; s < f->strata; s++)
        *variance += f->count[s] > 1 ? f->square[s] * f->count[s] / (f->count[s] - 1) : 0;
    return sum;
}

/* Rows of the batch are now known as they are. One that is in it twice is taken in turn. */
static void remember(pv__follower *f, const pv__batch *batch) {
    size_t k = (size_t)f->problem->targets.classes;
    for (size_t i = 0; i < batch->targets.n; i++)
        for (size_t y = 0; y < k; y++) {
            double *last = &f->last[batch->row[i] * k + y];
            f->sum[y] += f->rho[batch->row[i]] * (f->p[i * k + y] - *last);
            *last = f->p[i * k + y];
        }
}

pv_status pv__follower_step(pv_ctx *ctx, pv__follower *f, const pv_batch_design *design, const pv__batch *batch,
                            const double *loglik, const double *log_q, double *log_target, double *bias, pv__lag *lag) {
    size_t k = (size_t)f->problem->targets.classes;
    lag->least = 1;
    PV_TRY(pv_batch_weights(ctx, design, &batch->targets, batch->stratum, NULL, f->population));
    memcpy(f->p, loglik, batch->targets.n * k * sizeof *f->p);
    pv__core_kernels_get()->exp_all(batch->targets.n * k, f->p);
    for (size_t y = 0; y < k; y++) {
        double q = exp(log_q[y]), variance, found = estimate(f, batch, y, &variance);
        double now = variance / (q * q);
        f->noise[y] = fmax(now, 0.95 * f->noise[y] + 0.05 * now);
        double gain = fmax(1 / (1 + f->noise[y] / (GOAL * GOAL)), LEAST_GAIN);
        double ratio = fmax(1 + gain * (found / q - 1), 0.5); /* the estimate may be below zero */
        lag->error[y] = fmin(fmax(found / q - 1, -ERROR_MOST), ERROR_MOST);
        lag->gain[y] = gain;
        lag->least = fmin(lag->least, gain);
        log_target[y] = log_q[y] + log(ratio);
        bias[y] += log(ratio);
    }
    remember(f, batch);
    return PV_OK;
}

size_t pv__follower_fields(pv__follower *f, pv_field *field) {
    size_t k = (size_t)f->problem->targets.classes;
    field[0] = (pv_field){f->last, (f->problem->n + 2) * k * sizeof *f->last}; /* sum and noise with it */
    return 1;
}
