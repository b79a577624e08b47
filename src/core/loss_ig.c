/* ig: the information gain, where each likelihood is divided by the model's own marginal,
 *
 *   L = - sum_n v_n sum_y t_ny f_n(y) + sum_y c_y log p(y|w),   c_y = n_y - N_pr prevalence(y)
 *
 * (Eq. batch loss function -- bias corrected, and Eq. loss -- prevalence term). The marginal in the full batch:
 *
 *   plugin      p(y|w) = sum_n rho_n exp f_n(y)                    (Eq. empirical marginal estimate, full batch)
 *   profile     p(x) profiled out: profile.c
 *
 * Unlabelled rows are a sample of the population and so represent p(x). With plugin, p(y|w) is their mean of p(y|x,w)
 * (section 10.2 of the paper). With profile, they get a theta like all other rows, but no label term.
 *
 * In minibatches:
 *
 *   profile     the selection likelihood (selection.c), a sum over rows, at log q = log lambda
 *   auxiliary   the value uses log q in place of log p(y|w); the gradient is estimated from the batch, never through q.
 *               c_y uses the known counts N_F(y) (Eq. bias-free minibatch estimate), or counts estimated from the batch
 *               (Eq. loss minibatch estimate) if `direct`
 */
#include <math.h>
#include <string.h>

#include "core/loss.h"

static pv__form form(pv_marginal marginal, bool batches) {
    return batches && marginal == PV_MARGINAL_PROFILE ? PV_FORM_SELECTION : PV_FORM_JOINT;
}

/* ---- the full batch ---------------------------------------------------------------------------------------------- */

static pv_status prepare(pv_ctx *ctx, pv_full_loss *full, const pv_prevalence *population, const double *mass) {
    const pv_targets *targets = &full->targets;
    size_t k = (size_t)targets->classes;
    if (!targets->stratum != (population->strata == 0))
        return pv__fail(ctx, PV_ERR_USAGE, "rows have strata and the population has none, or vice versa");
    if (targets->stratum && full->marginal != PV_MARGINAL_PROFILE)
        return pv__fail(ctx, PV_ERR_USAGE, "marginal %s does not support strata;\nchoose profile",
                        pv_marginal_name(full->marginal));
    if (targets->stratum)
        return pv__profiles_init(ctx, &full->strata, targets, population);
    if (full->marginal == PV_MARGINAL_PROFILE)
        return pv__profile_init(ctx, &full->profile, targets, mass, population);
    if (full->marginal != PV_MARGINAL_PLUGIN)
        return pv__fail(ctx, PV_ERR_USAGE, "marginal %s needs minibatches; for a full batch choose profile or plugin",
                        pv_marginal_name(full->marginal));
    for (size_t y = 0; y < k; y++)
        full->counts[y] =
            isinf(population->prevalence_n) ? mass[y] : mass[y] - population->prevalence_n * population->prevalence[y];
    PV_TRY(pv__alloc(ctx, targets->n, sizeof *full->rho, &full->rho));
    PV_TRY(pv__alloc(ctx, targets->n, k * sizeof *full->e, &full->e));
    pv__plugin_weights(targets, population->prevalence, mass, full->rho);
    return PV_OK;
}

static pv_status plugin_term(pv_ctx *ctx, pv_full_loss *full, const double *loglik, double *value, double *dloglik) {
    size_t n = full->targets.n, k = (size_t)full->targets.classes;
    PV_TRY(pv__log_mixture(ctx, &full->part, n, (int)k, full->rho, loglik, full->log_marginal, full->sum, full->e));
    for (size_t y = 0; y < k; y++)
        *value += full->counts[y] * full->log_marginal[y];
    if (!dloglik)
        return PV_OK;
    PV__EACH_OF(ctx, &full->part, c, {
        for (size_t i = c * PV_CHUNK; i < c * PV_CHUNK + pv__chunk_rows(n, c); i++)
            for (size_t y = 0; y < k; y++)
                dloglik[i * k + y] += full->counts[y] * full->rho[i] * full->e[i * k + y] / full->sum[y];
    });
    return PV_OK;
}

static pv_status add_term(pv_ctx *ctx, pv_full_loss *full, const double *loglik, double *value, double *dloglik) {
    if (full->marginal == PV_MARGINAL_PLUGIN)
        return plugin_term(ctx, full, loglik, value, dloglik);
    double term;
    if (full->strata.count) {
        PV_TRY(pv__profiles_solve(ctx, &full->strata, loglik, &term, dloglik));
        *value += term;
        return PV_OK;
    }
    PV_TRY(pv__profile_solve(ctx, &full->profile, loglik, &term));
    *value += term;
    if (!dloglik)
        return PV_OK;
    if (isinf(term))
        memset(dloglik, 0, full->targets.n * (size_t)full->targets.classes * sizeof *dloglik);
    else
        pv__profile_backward(ctx, &full->profile, dloglik);
    return PV_OK;
}

static const double *log_marginal(const pv_full_loss *full) {
    if (full->strata.count)
        return full->strata.marginal;
    return full->marginal == PV_MARGINAL_PROFILE ? full->profile.log_lambda : full->log_marginal;
}

/* ---- minibatch losses -------------------------------------------------------------------------------------------- */

/* Fills the log ratios of the selection likelihood; returns the part of the value that depends on q alone. */
static double selection_ratios(pv__batch_work *work) {
    const pv_batch_design *design = &work->loss->design;
    size_t k = (size_t)work->batch->classes;
    double total = 0, constant = 0, strength = design->population.prevalence_n;
    for (size_t y = 0; y < k; y++)
        total += design->mass[y];
    for (size_t y = 0; y < k; y++)
        work->log_ratio[y] = log(design->mass[y] / total) - work->log_q[y];
    for (size_t y = 0; isfinite(strength) && y < k; y++)
        constant -= strength * design->population.prevalence[y] * work->log_q[y];
    return constant;
}

static void marginal_counts(pv__batch_work *work) {
    const pv_batch_design *design = &work->loss->design;
    const pv_targets *batch = work->batch;
    size_t k = (size_t)batch->classes;
    for (size_t y = 0; y < k; y++)
        work->counts[y] = design->direct ? 0 : design->mass[y];
    for (size_t n = 0; design->direct && n < batch->n; n++)
        for (size_t y = 0; y < k; y++)
            work->counts[y] += work->epoch[n] * pv__weight(batch, n) * pv__share(batch, n, (int)y);
    double strength = design->population.prevalence_n;
    for (size_t y = 0; isfinite(strength) && y < k; y++)
        work->counts[y] -= strength * design->population.prevalence[y];
}

static double terms(pv__batch_work *work) {
    if (work->loss->marginal == PV_MARGINAL_PROFILE)
        return selection_ratios(work);
    marginal_counts(work);
    return 0;
}

static double batch(pv__batch_work *work) {
    size_t n = work->batch->n;
    int k = work->batch->classes;
    double constant = terms(work);
    if (work->loss->marginal == PV_MARGINAL_PROFILE) {
        const double *log_ratio = pv__batch_ratios(work);
        return pv__selection_rows(work->batch, work->epoch, log_ratio, work->loglik, work->dloglik, NULL, work->sums) +
               constant;
    }
    double value = pv__batch_data_term(work);
    double *log_p = work->log_batch_marginal ? work->log_batch_marginal : work->log_p;
    pv_batch_log_marginal(n, k, work->population, work->loglik, log_p);
    return value + pv_marginal_backward(work->loss->implementation, n, k, work->counts, work->population, work->loglik,
                                        log_p, work->log_q, work->dloglik);
}

const pv__loss_kind pv__loss_ig = {.name = "ig",
                                   .needs_prevalence = true,
                                   .has_marginal = true,
                                   .takes_sample = true,
                                   .form = form,
                                   .prepare = prepare,
                                   .add_term = add_term,
                                   .log_marginal = log_marginal,
                                   .batch = batch,
                                   .terms = terms};
