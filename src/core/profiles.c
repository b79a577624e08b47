/* Profiles by stratum: the population is a mixture of strata, and rows were sampled by stratum and label. p(x) is
 * profiled out within each stratum, so the profile is a sum,
 *
 *   prof(w) = sum_s prof_s(w) ,
 *
 * where each term has its own rows, label masses, prevalence and N_pr (profile.c). Phase-one counts N_sy act as a
 * prevalence N_sy/N_s that rests on N_s people: c_sy = n_sy - N_sy. This is the semiparametric likelihood of Scott and
 * Wild (1997) and Breslow and Holubkov (1997), sum over rows of log p_ny theta_n plus sum_sy (N_sy - n_sy) log
 * lambda_sy.
 *
 * Rows may come in any order: log-likelihoods are gathered stratum by stratum, gradients scattered back.
 */
#include <math.h>
#include <string.h>

#include "core/core.h"

void pv__strata_mass(const pv_targets *targets, int strata, double *mass) {
    size_t k = (size_t)targets->classes;
    memset(mass, 0, (size_t)strata * k * sizeof *mass);
    for (size_t n = 0; n < targets->n; n++)
        for (size_t y = 0; y < k; y++)
            mass[(size_t)targets->stratum[n] * k + y] += pv__weight(targets, n) * pv__share(targets, n, (int)y);
}

pv_status pv__strata_check(pv_ctx *ctx, const pv_targets *targets, int strata) {
    size_t k = (size_t)targets->classes;
    double *mass;
    for (size_t n = 0; n < targets->n; n++)
        if (targets->stratum[n] < 0 || targets->stratum[n] >= strata)
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu is of stratum %d; there are %d, numbered from 0", n + 1,
                            (int)targets->stratum[n], strata);
    PV_TRY(pv__alloc(ctx, (size_t)strata * k, sizeof *mass, &mass));
    pv__strata_mass(targets, strata, mass);
    size_t at = 0;
    while (at < (size_t)strata * k && mass[at] > 0)
        at++;
    pv__free(ctx, mass);
    return at == (size_t)strata * k
               ? PV_OK
               : pv__fail(ctx, PV_ERR_INPUT, "stratum %zu has no row of class %zu", at / k, at % k);
}

/* Orders the rows by stratum. */
static void order_rows(const pv_targets *targets, pv__profiles *strata) {
    for (size_t n = 0; n < targets->n; n++)
        strata->first[targets->stratum[n] + 1]++;
    for (size_t s = 0; s < strata->count; s++)
        strata->first[s + 1] += strata->first[s];
    for (size_t n = 0; n < targets->n; n++) {
        size_t at = strata->first[targets->stratum[n]]++;
        strata->row[at] = n;
        strata->weight[at] = pv__weight(targets, n);
    }
    for (size_t s = strata->count; s > 0; s--) /* each entry has advanced to the start of the next stratum */
        strata->first[s] = strata->first[s - 1];
    strata->first[0] = 0;
}

static pv_status init_profiles(pv_ctx *ctx, pv__profiles *strata, const pv_targets *targets,
                               const pv_prevalence *population) {
    size_t k = strata->classes;
    double *mass;
    PV_TRY(pv__alloc(ctx, strata->count * k, sizeof *mass, &mass));
    pv__strata_mass(targets, population->strata, mass);
    pv_status status = PV_OK;
    for (size_t s = 0; s < strata->count && status == PV_OK; s++) {
        size_t begin = strata->first[s], n = strata->first[s + 1] - begin;
        pv_targets own = {.n = n, .classes = (int)k, .weight = targets->weight ? strata->weight + begin : NULL};
        pv_prevalence prevalence = {.classes = (int)k,
                                    .prevalence = population->stratum_prevalence + s * k,
                                    .prevalence_n = population->stratum_n[s]};
        status = pv__profile_init(ctx, &strata->profile[s], &own, mass + s * k, &prevalence);
        if (status == PV_OK)
            memcpy(strata->lambda + s * k, strata->profile[s].log_lambda, k * sizeof(double));
    }
    pv__free(ctx, mass);
    return status;
}

pv_status pv__profiles_init(pv_ctx *ctx, pv__profiles *strata, const pv_targets *targets,
                            const pv_prevalence *population) {
    size_t n = targets->n, k = (size_t)targets->classes, count = (size_t)population->strata;
    *strata = (pv__profiles){.n = n, .classes = k, .share = population->share};
    PV_TRY(pv__strata_check(ctx, targets, population->strata));
    PV_TRY(pv__alloc(ctx, n, sizeof(size_t), &strata->row));
    PV_TRY(pv__alloc(ctx, count + 1, sizeof(size_t), &strata->first));
    PV_TRY(pv__alloc(ctx, n, sizeof(double), &strata->weight));
    PV_TRY(pv__alloc(ctx, n, k * sizeof(double), &strata->loglik));
    PV_TRY(pv__alloc(ctx, n, k * sizeof(double), &strata->dloglik));
    PV_TRY(pv__alloc(ctx, count + 1, k * sizeof(double), &strata->marginal));
    PV_TRY(pv__alloc(ctx, count, k * sizeof(double), &strata->lambda));
    PV_TRY(pv__alloc(ctx, count, k * sizeof(double), &strata->multiplier));
    PV_TRY(pv__alloc(ctx, count, sizeof *strata->profile, &strata->profile));
    strata->count = count;
    order_rows(targets, strata);
    return init_profiles(ctx, strata, targets, population);
}

void pv__profiles_clear(pv_ctx *ctx, pv__profiles *strata) {
    for (size_t s = 0; s < strata->count; s++)
        pv__profile_clear(ctx, &strata->profile[s]);
    pv__free(ctx, strata->profile);
    pv__free(ctx, strata->row);
    pv__free(ctx, strata->first);
    pv__free(ctx, strata->weight);
    pv__free(ctx, strata->loglik);
    pv__free(ctx, strata->dloglik);
    pv__free(ctx, strata->marginal);
    pv__free(ctx, strata->lambda);
    pv__free(ctx, strata->multiplier);
}

/* log p(y|w) of the mixture, computed from those of the strata. */
static void mix(pv__profiles *strata) {
    size_t k = strata->classes;
    for (size_t y = 0; y < k; y++) {
        double sum = 0;
        for (size_t s = 0; s < strata->count; s++)
            sum += strata->share[s] * exp(strata->marginal[(1 + s) * k + y]);
        strata->marginal[y] = log(sum);
    }
}

/* Solves one stratum. Its starting point is copied from the common arrays, which a checkpoint may have restored. */
static pv_status solve_one(pv_ctx *ctx, pv__profiles *strata, size_t s, bool gradient, double *value) {
    size_t k = strata->classes, size = k * sizeof(double), begin = strata->first[s];
    pv__profile *profile = &strata->profile[s];
    memcpy(profile->log_lambda, strata->lambda + s * k, size);
    memcpy(profile->multiplier, strata->multiplier + s * k, size);
    PV_TRY(pv__profile_solve(ctx, profile, strata->loglik + begin * k, value));
    memcpy(strata->lambda + s * k, profile->log_lambda, size);
    memcpy(strata->multiplier + s * k, profile->multiplier, size);
    memcpy(strata->marginal + (1 + s) * k, profile->log_lambda, size);
    if (gradient && isfinite(*value))
        pv__profile_backward(ctx, profile, strata->dloglik + begin * k);
    return PV_OK;
}

pv_status pv__profiles_solve(pv_ctx *ctx, pv__profiles *strata, const double *loglik, double *value, double *dloglik) {
    size_t k = strata->classes, n = strata->n;
    *value = 0;
    for (size_t i = 0; i < n; i++)
        memcpy(strata->loglik + i * k, loglik + strata->row[i] * k, k * sizeof *loglik);
    memset(strata->dloglik, 0, n * k * sizeof *dloglik);
    for (size_t s = 0; s < strata->count; s++) {
        double term;
        PV_TRY(solve_one(ctx, strata, s, dloglik != NULL, &term));
        *value += term;
    }
    mix(strata);
    if (dloglik && isinf(*value))
        memset(dloglik, 0, n * k * sizeof *dloglik);
    for (size_t i = 0; dloglik && isfinite(*value) && i < n; i++)
        for (size_t y = 0; y < k; y++)
            dloglik[strata->row[i] * k + y] += strata->dloglik[i * k + y];
    return PV_OK;
}
