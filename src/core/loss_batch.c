/* Minibatch losses: Appendix A (generalized minibatch estimates), Appendix B (estimates of the marginal and its
 * gradient, implementations 1, 2 and 3). The files loss_*.c use these pieces.
 *
 *   L ~ - sum_n u_n v_n sum_y factor(y) t_ny f_n(y) + the loss's own term
 *
 * u_n = N_s/n_B(s) or N_s/(n_B share_s) makes sums over the batch unbiased for sums over the full data: N/n_B omega(2)
 * or omega(1) of the paper. The paper's classes are here the strata that rows are drawn from, which are the classes
 * themselves unless labels are soft.
 */
#include <math.h>
#include <string.h>

#include "core/loss.h"

/* The exponent f - log q is capped here, so that an auxiliary network that is far off causes a large gradient rather
 * than an infinite one. */
static const double EXPONENT_MAX = 600;

static int stratum_of(const pv_targets *batch, const int32_t *stratum, size_t n) {
    return stratum ? stratum[n] : batch->label[n];
}

static pv_status count_strata(pv_ctx *ctx, const pv_sampling *sampling, const pv_targets *batch, const int32_t *stratum,
                              double *count) {
    if (!stratum && !batch->label)
        return pv__fail(ctx, PV_ERR_USAGE, "soft labels need the stratum each row was drawn from");
    memset(count, 0, (size_t)sampling->strata * sizeof *count);
    for (size_t n = 0; n < batch->n; n++) {
        int s = stratum_of(batch, stratum, n);
        if (s < 0 || s >= sampling->strata)
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu of the batch: stratum %d, outside 0 to %d", n + 1, s,
                            sampling->strata - 1);
        count[s] += 1;
    }
    return PV_OK;
}

static pv_status epoch_by_stratum(pv_ctx *ctx, const pv_sampling *sampling, pv_weighting weighting, size_t n,
                                  const double *count, double *by_stratum) {
    for (size_t s = 0; s < (size_t)sampling->strata; s++) {
        if (weighting == PV_WEIGHT_EXPECTED) {
            by_stratum[s] = sampling->full[s] / ((double)n * sampling->expected[s]);
            continue;
        }
        if (count[s] == 0 && sampling->full[s] > 0)
            return pv__fail(ctx, PV_ERR_INPUT,
                            "class %zu has no row in a batch of %zu; counted weights need one of each:\nuse larger or "
                            "balanced batches, or expected weights",
                            s, n);
        by_stratum[s] = sampling->full[s] / fmax(count[s], 1);
    }
    return PV_OK;
}

pv_status pv_batch_weights(pv_ctx *ctx, const pv_batch_design *design, const pv_targets *batch, const int32_t *stratum,
                           double *epoch, double *population) {
    const pv_sampling *sampling = &design->sampling;
    size_t strata = (size_t)sampling->strata;
    double *by_stratum, *count;
    PV_TRY(pv__alloc(ctx, 2 * strata, sizeof *by_stratum, &by_stratum));
    count = by_stratum + strata;
    pv_status status;
    PV_GOTO(done, count_strata(ctx, sampling, batch, stratum, count));
    if (epoch) {
        PV_GOTO(done, epoch_by_stratum(ctx, sampling, design->epoch_weight, batch->n, count, by_stratum));
        for (size_t n = 0; n < batch->n; n++)
            epoch[n] = by_stratum[stratum_of(batch, stratum, n)];
    }
    if (population) {
        PV_GOTO(done, epoch_by_stratum(ctx, sampling, design->population_weight, batch->n, count, by_stratum));
        pv__plugin_weights(batch, design->population.prevalence, design->mass, population);
        for (size_t n = 0; n < batch->n; n++)
            population[n] *= by_stratum[stratum_of(batch, stratum, n)];
    }
done:
    pv__free(ctx, by_stratum);
    return status;
}

/* exp(f - shift) is computed for blocks of rows, so that it vectorises without allocating memory. */
enum { BLOCK = 512 };

static size_t block_rows(size_t n, size_t k) {
    size_t rows = k < BLOCK ? BLOCK / k : 1;
    return rows < n ? rows : n;
}

static void exp_block(size_t rows, size_t k, const double *f, const double *shift, double *e) {
    pv__core_kernels_get()->exp_rows(rows, (int)k, f, shift, e);
}

void pv_batch_log_marginal(size_t n, int classes, const double *population, const double *loglik,
                           double *log_marginal) {
    size_t k = (size_t)classes;
    double e[BLOCK], top[BLOCK], sum[BLOCK];
    for (size_t first = 0; first < k; first += BLOCK) { /* one iteration unless there are hundreds of classes */
        size_t width = k - first < BLOCK ? k - first : BLOCK;
        size_t step = width == k ? block_rows(n, k) : 1;
        for (size_t y = 0; y < width; y++)
            top[y] = -HUGE_VAL, sum[y] = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t y = 0; y < width && population[i] > 0; y++) { /* fmax would be a function call */
                double here = loglik[i * k + first + y];
                top[y] = here > top[y] ? here : top[y];
            }
        for (size_t y = 0; y < width; y++)
            top[y] = isinf(top[y]) ? 0 : top[y];
        for (size_t i = 0; i < n; i += step) {
            size_t rows = n - i < step ? n - i : step;
            exp_block(rows, width, loglik + i * k + first, top, e);
            for (size_t r = 0; r < rows; r++)
                for (size_t y = 0; y < width && population[i + r] > 0; y++)
                    sum[y] += population[i + r] * e[r * width + y];
        }
        for (size_t y = 0; y < width; y++)
            log_marginal[first + y] = top[y] + log(sum[y]);
    }
}

/* ---- three implementations of the marginal's gradient ------------------------------------------------------------ */

/* Implementations 1 and 2 multiply alpha = p-hat/q by grad F_n(y) = population_n exp(f_n(y) - log p-hat(y)): 1 as a
 * detached factor of the loss, 2 in a custom backward pass. The products are equal. Implementation 3 computes
 * population_n exp(f_n(y) - log q(y)) from f and log q, without log p-hat. */
double pv_marginal_backward(pv_implementation implementation, size_t n, int classes, const double *counts,
                            const double *population, const double *loglik, const double *log_batch_marginal,
                            const double *log_q, double *dloglik) {
    size_t k = (size_t)classes;
    bool third = implementation == PV_IMPLEMENTATION_3;
    double value = 0, e[BLOCK], shift[BLOCK], factor[BLOCK];
    for (size_t first = 0; first < k; first += BLOCK) {
        size_t width = k - first < BLOCK ? k - first : BLOCK;
        size_t step = width == k ? block_rows(n, k) : 1;
        for (size_t y = 0; y < width; y++) {
            double log_p = log_batch_marginal[first + y], log_qy = log_q[first + y];
            double alpha = exp(fmin(log_p - log_qy, EXPONENT_MAX)), c = counts[first + y];
            value += c * (implementation == PV_IMPLEMENTATION_1 ? alpha * log_p : log_qy);
            /* If every row gives a class probability 0, its p-hat is 0; its gradient is 0 in all three
             * implementations. */
            shift[y] = third ? fmax(log_qy, -EXPONENT_MAX) : isinf(log_p) ? 0 : log_p;
            factor[y] = third ? c : c * alpha;
        }
        for (size_t i = 0; i < n; i += step) {
            size_t rows = n - i < step ? n - i : step;
            exp_block(rows, width, loglik + i * k + first, shift, e);
            for (size_t r = 0; r < rows; r++)
                for (size_t y = 0; y < width && population[i + r] > 0; y++)
                    dloglik[(i + r) * k + first + y] += factor[y] * population[i + r] * e[r * width + y];
        }
    }
    return value;
}

/* ---- the losses -------------------------------------------------------------------------------------------------- */

static pv_status batch_work_new(pv_ctx *ctx, size_t n, size_t k, pv__batch_work *work) {
    PV_TRY(pv__alloc(ctx, 3 * n + 4 * k, sizeof *work->block, &work->block));
    work->epoch = work->block;
    work->population = work->epoch + n;
    work->sums = work->population + n;
    work->factor = work->sums + n;
    work->counts = work->factor + k;
    work->log_p = work->counts + k;
    work->log_ratio = work->log_p + k;
    return PV_OK;
}

double pv__batch_data_term(pv__batch_work *work) {
    /* The row weights include the epoch weights during this call. */
    const pv_targets *batch = work->batch;
    for (size_t n = 0; n < batch->n; n++)
        work->sums[n] = work->epoch[n] * pv__weight(batch, n);
    pv_targets weighted = *batch;
    weighted.weight = work->sums;
    return pv__data_term(&weighted, work->factor, work->loglik, work->dloglik, false);
}

/* Allocates memory and fills weights and class factors. The caller frees work->block, on failure too. */
static pv_status work_prepare(pv_ctx *ctx, const int32_t *stratum, pv__batch_work *work) {
    const pv_batch_loss *loss = work->loss;
    const pv_batch_design *design = &loss->design;
    size_t k = (size_t)work->batch->classes;
    bool joint = pv__loss_form(loss->loss, loss->marginal, true) == PV_FORM_JOINT;
    PV_TRY(batch_work_new(ctx, work->batch->n, k, work));
    PV_TRY(pv_batch_weights(ctx, design, work->batch, stratum, work->epoch, joint ? work->population : NULL));
    double total = 0;
    for (size_t y = 0; y < k; y++)
        total += design->mass[y];
    pv__class_factors(loss->loss, work->batch->classes, design->population.prevalence, total, design->mass,
                      work->factor);
    return PV_OK;
}

pv_status pv_batch_loss_eval(pv_ctx *ctx, const pv_batch_loss *loss, const pv_targets *batch, const int32_t *stratum,
                             const double *loglik, const double *log_q, double *value, double *dloglik,
                             double *log_batch_marginal) {
    const pv__loss_kind *kind = pv__loss(loss->loss);
    pv__batch_work work = {.loss = loss, .batch = batch, .loglik = loglik, .log_q = log_q};
    work.dloglik = dloglik;
    work.log_batch_marginal = log_batch_marginal;
    pv_status status = work_prepare(ctx, stratum, &work);
    if (status == PV_OK)
        *value = kind->batch ? kind->batch(&work) : pv__batch_data_term(&work);
    pv__free(ctx, work.block);
    return status;
}

static void fill_terms(const pv__batch_work *work, pv__form form, pv__batch_terms *terms) {
    const pv_targets *batch = work->batch;
    size_t k = (size_t)batch->classes;
    for (size_t n = 0; n < batch->n; n++) {
        double weight = work->epoch[n] * pv__weight(batch, n);
        for (size_t y = 0; y < k; y++)
            terms->data[n * k + y] = weight * pv__share(batch, n, (int)y) * work->factor[y];
        if (form != PV_FORM_SELECTION)
            continue;
        terms->weight[n] = weight;
        memcpy(terms->ratio + n * k, pv__ratio_of(batch, pv__batch_ratios(work), n), k * sizeof *terms->ratio);
    }
    if (form == PV_FORM_JOINT) {
        memcpy(terms->population, work->population, batch->n * sizeof *terms->population);
        memcpy(terms->counts, work->counts, k * sizeof *terms->counts);
    }
}

pv_status pv__batch_terms_fill(pv_ctx *ctx, const pv_batch_loss *loss, const pv_targets *batch, const int32_t *stratum,
                               const double *log_q, pv__batch_terms *terms) {
    const pv__loss_kind *kind = pv__loss(loss->loss);
    pv__batch_work work = {.loss = loss, .batch = batch, .log_q = log_q};
    pv_status status = work_prepare(ctx, stratum, &work);
    if (status == PV_OK) {
        terms->constant = kind->terms ? kind->terms(&work) : 0;
        fill_terms(&work, pv__loss_form(loss->loss, loss->marginal, true), terms);
    }
    pv__free(ctx, work.block);
    return status;
}
