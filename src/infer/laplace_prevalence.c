/* Makes the posterior of the prevalence exact in Laplace's draws. With p(x) profiled out and no prior on the intercept,
 * the posterior is to second order around its maximum a product: that of the prevalence, a Dirichlet with N_pr pi
 * observations, times that of everything else, slopes and output biases minus log lambda (docs/method.md, 9). The
 * Gaussian approximates the former on the log-odds scale, where few observations of a rare label make it far from
 * normal. Therefore a draw's Gaussian log lambda is subtracted from its output biases and replaced by one from the
 * Dirichlet.
 *
 * A draw of w determines the most probable lambda given w. The remaining spread of the Gaussian, its covariance
 *   (diag(1/pi_j) + 1/pi_0)/N_pr   of log(lambda_j/lambda_0)
 * minus the covariance of these over the draws, is drawn first.
 */
#include <math.h>
#include <string.h>

#include "core/core.h"
#include "infer/density.h"

typedef struct work {
    size_t k, J, count;
    double *ratio; /* [count][J]: log(lambda_j/lambda_0) of each draw */
    double *mean;  /* [J] */
    double *rest;  /* [J][J]: factor of the covariance that draws of w do not contain */
    double *shift; /* [k] */
} work;

bool pv__states_prevalence(const pv__problem *problem) {
    double n = problem->population.prevalence_n;
    bool free_intercept = !problem->plan->map || problem->plan->intercept_prior.kind == PV_PRIOR_NONE;
    return pv__problem_form(problem) == PV_FORM_JOINT && problem->plan->options.marginal == PV_MARGINAL_PROFILE &&
           free_intercept && !pv__strata_of(problem) && problem->unlabelled == 0 && isfinite(n) && n > 0;
}

/* The factor of the remaining covariance; zero if the draws vary at least as much. */
static void find_rest(const work *t, const pv_prevalence *population) {
    size_t J = t->J;
    const double *pi = population->prevalence;
    memset(t->mean, 0, J * sizeof *t->mean);
    for (size_t i = 0; i < t->count * J; i++)
        t->mean[i % J] += t->ratio[i] / (double)t->count;
    for (size_t j = 0; j < J; j++)
        for (size_t l = 0; l <= j; l++) {
            double scatter = 0;
            for (size_t i = 0; i < t->count; i++)
                scatter += (t->ratio[i * J + j] - t->mean[j]) * (t->ratio[i * J + l] - t->mean[l]);
            double stated = ((j == l ? 1 / pi[j + 1] : 0) + 1 / pi[0]) / population->prevalence_n;
            t->rest[j * J + l] = t->rest[l * J + j] = stated - scatter / (double)t->count;
        }
    if (!pv__cholesky(J, t->rest, 0))
        memset(t->rest, 0, J * J * sizeof *t->rest);
}

/* log of a Gamma variate, which for a small shape may be below the smallest double. */
static double log_gamma_draw(pv_rng *rng, double shape) {
    double log_g = log(pv_rng_gamma(rng, shape + 1));
    return log_g + log(pv_rng_uniform(rng)) / shape;
}

static void state_one(const work *t, const pv__problem *problem, pv_rng *rng, const double *ratio, double *w,
                      double *log_marginal) {
    const pv_prevalence *population = &problem->population;
    for (size_t y = 0; y < t->k; y++)
        log_marginal[y] = log_gamma_draw(rng, population->prevalence_n * population->prevalence[y]);
    double norm = pv_log_sum_exp(t->k, log_marginal);
    for (size_t y = 0; y < t->k; y++)
        log_marginal[y] -= norm;
    double *e = t->mean; /* reused: no longer needed */
    for (size_t j = 0; j < t->J; j++)
        e[j] = pv_rng_normal(rng);
    t->shift[0] = 0;
    for (size_t j = 0; j < t->J; j++) {
        double gaussian = ratio[j];
        for (size_t l = 0; l <= j; l++)
            gaussian += t->rest[j * t->J + l] * e[l];
        t->shift[j + 1] = log_marginal[j + 1] - log_marginal[0] - gaussian;
    }
    pv_model_shift(problem->model, t->shift, w);
}

pv_status pv__state_prevalence(pv_ctx *ctx, const pv__problem *problem, pv_posterior *p, double *log_marginal) {
    size_t k = (size_t)problem->targets.classes, J = k - 1;
    work t = {.k = k, .J = J, .count = p->count};
    double *block;
    PV_TRY(pv__alloc(ctx, p->count * J + J + J * J + k, sizeof *block, &block));
    t.ratio = block;
    t.mean = t.ratio + p->count * J;
    t.rest = t.mean + J;
    t.shift = t.rest + J * J;
    for (size_t i = 0; i < p->count; i++)
        for (size_t j = 0; j < J; j++)
            t.ratio[i * J + j] = log_marginal[i * k + j + 1] - log_marginal[i * k];
    find_rest(&t, &problem->population);
    for (size_t i = 0; i < p->count; i++) {
        pv_rng rng = pv_rng_stream((uint64_t)problem->plan->options.seed, PV_STREAM_LAPLACE_PREVALENCE, i);
        state_one(&t, problem, &rng, t.ratio + i * J, p->draws + i * p->dims, log_marginal + i * k);
    }
    pv__free(ctx, block);
    return PV_OK;
}
