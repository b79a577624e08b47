/* Full-batch losses: the data term that all losses share, plus each loss's own term (loss_*.c).
 *
 *   L = - sum_n v_n sum_y factor(y) t_ny f_n(y) + the loss's own term
 *
 * Domain: f_n(y) <= 0 with sum_y exp f_n(y) = 1; any magnitude. Computation is on the log scale, so that prevalences of
 * 1e-9 and logits of 1e4 stay finite.
 */
#include <math.h>
#include <string.h>

#include "base/reduce.h"
#include "core/loss.h"

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

double pv__data_term(const pv_targets *targets, const double *factor, const double *loglik, double *dloglik, bool add) {
    size_t classes = (size_t)targets->classes;
    double value = 0;
    if (dloglik && !add)
        memset(dloglik, 0, targets->n * classes * sizeof *dloglik);
    for (size_t n = 0; n < targets->n; n++) {
        double weight = pv__weight(targets, n);
        if (targets->label && targets->label[n] == PV_UNLABELLED)
            continue;
        if (targets->label) {
            size_t at = n * classes + (size_t)targets->label[n];
            double w = weight * factor[targets->label[n]];
            value -= w * loglik[at];
            if (dloglik)
                dloglik[at] -= w;
            continue;
        }
        for (size_t y = 0; y < classes; y++) {
            size_t at = n * classes + y;
            double w = weight * factor[y] * targets->frequency[at];
            if (w == 0) /* skip: a class without mass may have log-likelihood -INFINITY */
                continue;
            value -= w * loglik[at];
            if (dloglik)
                dloglik[at] -= w;
        }
    }
    return value;
}

void pv__plugin_weights(const pv_targets *targets, const double *prevalence, const double *mass, double *rho) {
    double sample = 0;
    for (size_t n = 0; targets->label && n < targets->n; n++)
        sample += targets->label[n] == PV_UNLABELLED ? pv__weight(targets, n) : 0;
    for (size_t n = 0; n < targets->n; n++) {
        double ratio = 0;
        bool unlabelled = targets->label && targets->label[n] == PV_UNLABELLED;
        if (sample > 0 || unlabelled)
            ratio = unlabelled && sample > 0 ? 1 / sample : 0;
        else if (targets->label)
            ratio = prevalence[targets->label[n]] / mass[targets->label[n]];
        else
            for (int y = 0; y < targets->classes; y++)
                ratio += pv__share(targets, n, y) * prevalence[y] / mass[y];
        rho[n] = pv__weight(targets, n) * ratio;
    }
}

/* Rows of weight 0 are ignored: their log-likelihoods may have any value. */
static void largest_by_class(size_t n, int classes, const double *rho, const double *loglik, double *top) {
    for (int y = 0; y < classes; y++)
        top[y] = -HUGE_VAL;
    for (size_t i = 0; i < n; i++)
        for (int y = 0; y < classes && rho[i] > 0; y++) {
            double f = loglik[i * (size_t)classes + (size_t)y];
            top[y] = f > top[y] ? f : top[y];
        }
}

pv_status pv__log_mixture(pv_ctx *ctx, const pv__part *part, size_t n, int classes, const double *rho,
                          const double *loglik, double *log_marginal, double *sum, double *e) {
    const pv__core_kernels *kernels = pv__core_kernels_get();
    size_t chunks = pv__chunks(n), k = (size_t)classes;
    double *partial;
    PV_TRY(pv__alloc(ctx, chunks, k * sizeof *partial, &partial));
    PV__EACH_OF(ctx, part, c, {
        largest_by_class(pv__chunk_rows(n, c), classes, rho + c * PV_CHUNK, loglik + c * PV_CHUNK * k, partial + c * k);
    });
    for (size_t y = 0; y < k; y++) {
        log_marginal[y] = -HUGE_VAL;
        for (size_t c = part->first; c < part->last; c++)
            log_marginal[y] = fmax(log_marginal[y], partial[c * k + y]);
    }
    pv__most(ctx, part, k, log_marginal);
    for (size_t y = 0; y < k; y++)
        if (isinf(log_marginal[y])) /* no row gives the class any probability: no shift */
            log_marginal[y] = 0;
    PV__EACH_OF(ctx, part, c, {
        size_t begin = c * PV_CHUNK, rows = pv__chunk_rows(n, c);
        kernels->exp_rows(rows, classes, loglik + begin * k, log_marginal, e + begin * k);
        memset(partial + c * k, 0, k * sizeof *partial);
        for (size_t i = begin; i < begin + rows; i++)
            for (size_t y = 0; y < k; y++) {
                e[i * k + y] = rho[i] > 0 ? e[i * k + y] : 0;
                partial[c * k + y] += rho[i] * e[i * k + y];
            }
    });
    pv__sum(ctx, part, k, partial, sum);
    for (size_t y = 0; y < k; y++)
        log_marginal[y] += log(sum[y]);
    pv__free(ctx, partial);
    return pv__reduce_check(ctx);
}

pv_status pv_plugin_log_marginal(pv_ctx *ctx, const pv_targets *targets, const double *prevalence, const double *loglik,
                                 double *log_marginal) {
    size_t k = (size_t)targets->classes;
    double *rho = NULL, *e = NULL, *small = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, targets->n, sizeof *rho, &rho));
    PV_GOTO(done, pv__alloc(ctx, targets->n, k * sizeof *e, &e));
    PV_GOTO(done, pv__alloc(ctx, 3 * k, sizeof *small, &small));
    double *mass = small, *sum = small + k, *share = small + 2 * k;
    pv_label_mass(targets, mass);
    double total = 0;
    for (size_t y = 0; y < k; y++)
        total += mass[y];
    for (size_t y = 0; y < k; y++)
        share[y] = prevalence ? prevalence[y] : mass[y] / total;
    pv__plugin_weights(targets, share, mass, rho);
    pv__part whole = pv__part_whole(pv__chunks(targets->n));
    status = pv__log_mixture(ctx, &whole, targets->n, targets->classes, rho, loglik, log_marginal, sum, e);
done:
    pv__free(ctx, rho);
    pv__free(ctx, e);
    pv__free(ctx, small);
    return status;
}

/* ---- construction ------------------------------------------------------------------------------------------------ */

static pv_status check_masses(pv_ctx *ctx, const pv_targets *targets, const double *mass) {
    for (int y = 0; y < targets->classes; y++)
        if (!(mass[y] > 0))
            return pv__fail(ctx, PV_ERR_INPUT,
                            "class %d has a prevalence but no row (or only weight 0); every class must be sampled", y);
    return PV_OK;
}

static pv_status prepare(pv_ctx *ctx, pv_full_loss *full, pv_loss loss, const pv_prevalence *population, double *mass) {
    pv_targets *targets = &full->targets;
    size_t k = (size_t)targets->classes;
    pv_label_mass(targets, mass);
    double total = 0;
    for (size_t y = 0; y < k; y++)
        total += mass[y];
    if (!full->kind->needs_prevalence) {
        pv__class_factors(loss, targets->classes, NULL, total, mass, full->factor);
        return full->kind->prepare ? full->kind->prepare(ctx, full, NULL, mass) : PV_OK;
    }
    if (!population)
        return pv__fail(ctx, PV_ERR_USAGE, "loss %s needs the prevalence", full->kind->name);
    PV_TRY(pv_prevalence_check(ctx, population));
    if (population->classes != targets->classes)
        return pv__fail(ctx, PV_ERR_USAGE, "the prevalence has %d classes, the data have %d", population->classes,
                        targets->classes);
    PV_TRY(check_masses(ctx, targets, mass));
    pv__class_factors(loss, targets->classes, population->prevalence, total, mass, full->factor);
    return full->kind->prepare ? full->kind->prepare(ctx, full, population, mass) : PV_OK;
}

pv_status pv_full_loss_new(pv_ctx *ctx, pv_loss loss, pv_marginal marginal, const pv_targets *targets,
                           const pv_prevalence *population, pv_full_loss **full) {
    *full = NULL;
    PV_TRY(pv__targets_check(ctx, targets, pv_loss_takes_sample(loss)));
    pv_full_loss *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    size_t k = (size_t)targets->classes;
    double *mass = NULL;
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, k, sizeof *mass, &mass));
    PV_GOTO(fail, pv__alloc(ctx, k, sizeof *made->factor, &made->factor));
    PV_GOTO(fail, pv__alloc(ctx, k, sizeof *made->counts, &made->counts));
    PV_GOTO(fail, pv__alloc(ctx, k, sizeof *made->log_marginal, &made->log_marginal));
    PV_GOTO(fail, pv__alloc(ctx, k, sizeof *made->sum, &made->sum));
    made->kind = pv__loss(loss);
    made->marginal = marginal;
    made->targets = *targets;
    made->part = pv__part_whole(pv__chunks(targets->n));
    PV_GOTO(fail, prepare(ctx, made, loss, population, mass));
    pv__free(ctx, mass);
    *full = made;
    return PV_OK;
fail:
    pv__free(ctx, mass);
    pv_full_loss_free(ctx, made);
    return status;
}

void pv_full_loss_free(pv_ctx *ctx, pv_full_loss *full) {
    if (!full)
        return;
    pv__free(ctx, full->factor);
    pv__free(ctx, full->counts);
    pv__free(ctx, full->rho);
    pv__free(ctx, full->e);
    pv__free(ctx, full->log_marginal);
    pv__free(ctx, full->sum);
    pv__profile_clear(ctx, &full->profile);
    pv__sets_clear(ctx, &full->sets);
    pv__profiles_clear(ctx, &full->strata);
    pv__free(ctx, full);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static pv_status data_term(pv_ctx *ctx, pv_full_loss *full, const double *loglik, double *value, double *dloglik) {
    const pv_targets *targets = &full->targets;
    size_t chunks = pv__chunks(targets->n), k = (size_t)targets->classes;
    double *partial;
    PV_TRY(pv__alloc(ctx, chunks, sizeof *partial, &partial));
    PV__EACH_OF(ctx, &full->part, c, {
        size_t begin = c * PV_CHUNK;
        pv_targets slice = pv__targets_slice(targets, begin, pv__chunk_rows(targets->n, c));
        partial[c] =
            pv__data_term(&slice, full->factor, loglik + begin * k, dloglik ? dloglik + begin * k : NULL, false);
    });
    pv__sum(ctx, &full->part, 1, partial, value);
    pv__free(ctx, partial);
    return pv__reduce_check(ctx);
}

pv_status pv_full_loss_eval(pv_ctx *ctx, pv_full_loss *full, const double *loglik, double *value, double *dloglik) {
    if (full->kind->eval)
        return full->kind->eval(ctx, full, loglik, value, dloglik);
    PV_TRY(data_term(ctx, full, loglik, value, dloglik));
    return full->kind->add_term ? full->kind->add_term(ctx, full, loglik, value, dloglik) : PV_OK;
}

bool pv__full_loss_parts(const pv_full_loss *full) {
    return !full->kind->eval && full->strata.count == 0;
}

void pv__full_loss_share(pv_full_loss *full, pv__part part) {
    full->part = full->profile.part = part;
}

const double *pv_full_loss_log_marginal(const pv_full_loss *full) {
    return full->kind->log_marginal ? full->kind->log_marginal(full) : NULL;
}

const double *pv_full_loss_theta(const pv_full_loss *full) {
    return full->profile.theta;
}

void pv_full_loss_set_counts(pv_full_loss *full, const double *counts) {
    memcpy(full->counts, counts, (size_t)full->targets.classes * sizeof *counts);
}

size_t pv_full_loss_memory(pv_full_loss *full, pv_field *field) {
    size_t size = (size_t)full->targets.classes * sizeof(double);
    if (full->strata.count) {
        field[0] = (pv_field){full->strata.lambda, full->strata.count * size};
        field[1] = (pv_field){full->strata.multiplier, full->strata.count * size};
        return 2;
    }
    if (!full->profile.log_lambda)
        return 0;
    field[0] = (pv_field){full->profile.log_lambda, size};
    field[1] = (pv_field){full->profile.multiplier, size};
    field[2] = (pv_field){&full->profile.reference, sizeof full->profile.reference};
    return 3;
}
