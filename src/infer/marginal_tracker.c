/* Tracks the marginal during training: keeps the auxiliary network's bias near p(y|w) of all rows while w changes.
 *
 *   p-hat_B(y;w)  =  sum over the batch of population_n p(y|x_n,w)                                  (Appendix B)
 *   p-tilde(y;w)  =  p-hat_B(y;w)  -  sum over the batch of population_n T_n(y)  +  sum_n rho_n T_n(y)
 *
 * T_n(y) is p(y|x_n, .) from when row n was last in a batch, or from the start; rho_n are the plug-in weights of all
 * rows. The second and third sums have the same expectation, so p-tilde has that of p-hat. Its variance is that of
 * p(y|x_n,w) - T_n(y), the change since the row was last used: the variance reduction of SAGA, for a sum of
 * probabilities.
 *
 * The network moves from q to (1 - gain) q + gain p-tilde, gain = 1 / (1 + s^2/GOAL^2), where s is the relative
 * standard deviation of p-tilde, estimated from the batch. Precise estimates are followed at once, and noisy ones
 * averaged until the noise is about a hundredth of q. More noise is harmful: the loss divides by q, and 1/q of a noisy
 * q is too large on average, which pushes the label's probability down, and q after it.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

static const double GOAL = 0.02, LEAST_GAIN = 0.02, ERROR_MOST = 0.5;

struct pv__follower {
    const pv__problem *problem;
    size_t strata;
    double *last;             /* [n][classes], T */
    double *sum, *noise;      /* [classes]: sum_n rho_n T_n; s^2 */
    double *rho, *population; /* [n], [batch] */
    double *p, *estimate;     /* [batch][classes], [classes] */
    double *count, *added,
        *square; /* [strata], [strata][classes], [strata][classes]: rows, their sums, and sums of squares */
};

pv_status pv__follower_new(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__follower **follower) {
    size_t n = problem->rows.n, k = (size_t)problem->targets.classes, batch = problem->batch;
    PV_TRY(pv__alloc(ctx, 1, sizeof **follower, follower));
    pv__follower *f = *follower;
    f->problem = problem;
    f->strata = k;
    PV_TRY(pv__alloc(ctx, n + 2, k * sizeof *f->last, &f->last));
    f->sum = f->last + n * k;
    f->noise = f->sum + k;
    PV_TRY(pv__alloc(ctx, n + batch * (k + 1) + 2 * k + 2 * k * k, sizeof *f->rho, &f->rho));
    f->population = f->rho + n;
    f->p = f->population + batch;
    f->estimate = f->p + batch * k;
    f->count = f->estimate + k;
    f->added = f->count + k;
    f->square = f->added + k * k;
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

/* What the rows of each stratum contribute to p-tilde(y): sums and sums of squares, for all labels in one pass. The
 * moments are needed only for the gain, which does not need the digits that a difference of squares loses. */
static void add_rows(pv__follower *f, const pv__batch *batch) {
    size_t k = (size_t)f->problem->targets.classes;
    memset(f->count, 0, k * (2 * k + 1) * sizeof *f->count);
    for (size_t i = 0; i < batch->targets.n; i++) {
        size_t s = (size_t)(batch->stratum ? batch->stratum[i] : batch->targets.label[i]);
        const double *p = f->p + i * k, *last = f->last + batch->row[i] * k;
        double *sum = f->added + s * k, *square = f->square + s * k, weight = f->population[i];
        f->count[s]++;
        for (size_t y = 0; y < k; y++) {
            double more = weight * (p[y] - last[y]);
            sum[y] += more;
            square[y] += more * more;
        }
    }
}

/* p-tilde(y), and its variance: rows of a stratum are drawn with equal probability. */
static double estimate(const pv__follower *f, size_t y, double *variance) {
    size_t k = (size_t)f->problem->targets.classes;
    double all = f->sum[y];
    *variance = 0;
    for (size_t s = 0; s < f->strata; s++) {
        double sum = f->added[s * k + y], n = f->count[s];
        all += sum;
        *variance += n > 1 ? fmax(f->square[s * k + y] - sum * sum / n, 0) * n / (n - 1) : 0;
    }
    return all;
}

/* Stores the current probabilities of the batch's rows. A row that occurs twice is handled in turn. */
static void remember(pv__follower *f, const pv__batch *batch) {
    size_t k = (size_t)f->problem->targets.classes;
    for (size_t y = 0; y < k; y++) {
        double sum = f->sum[y];
        for (size_t i = 0; i < batch->targets.n; i++) {
            double *last = &f->last[batch->row[i] * k + y], now = f->p[i * k + y];
            sum += f->rho[batch->row[i]] * (now - *last);
            *last = now;
        }
        f->sum[y] = sum;
    }
}

pv_status pv__follower_step(pv_ctx *ctx, pv__follower *f, const pv_batch_design *design, const pv__batch *batch,
                            const double *loglik, const double *log_q, double *log_target, double *bias, pv__lag *lag) {
    size_t k = (size_t)f->problem->targets.classes;
    lag->least = 1;
    PV_TRY(pv_batch_weights(ctx, design, &batch->targets, batch->stratum, NULL, f->population));
    memcpy(f->p, loglik, batch->targets.n * k * sizeof *f->p);
    pv__core_kernels_get()->exp_all(batch->targets.n * k, f->p);
    add_rows(f, batch);
    for (size_t y = 0; y < k; y++) {
        double q = exp(log_q[y]), variance, found = estimate(f, y, &variance);
        double now = variance / (q * q);
        f->noise[y] = fmax(now, 0.95 * f->noise[y] + 0.05 * now);
        double gain = fmax(1 / (1 + f->noise[y] / (GOAL * GOAL)), LEAST_GAIN);
        double ratio = fmax(1 + gain * (found / q - 1), 0.5); /* the estimate may be negative */
        lag->error[y] = fmin(fmax(found / q - 1, -ERROR_MOST), ERROR_MOST);
        lag->gain[y] = gain;
        lag->least = fmin(lag->least, gain);
        log_target[y] = log_q[y] + log(ratio);
        bias[y] += log(ratio);
    }
    remember(f, batch);
    return PV_OK;
}

double *pv__follower_state(pv__follower *f, const double **rho) {
    *rho = f->rho;
    return f->last;
}

size_t pv__follower_fields(pv__follower *f, pv_field *field) {
    size_t k = (size_t)f->problem->targets.classes;
    field[0] = (pv_field){f->last, (f->problem->rows.n + 2) * k * sizeof *f->last}; /* includes sum and noise */
    return 1;
}
