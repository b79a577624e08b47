/* The selection likelihood, -log p_{s=1}(y_n|x_n,w) with p_{s=1}(y|x,w) proportional to p(y|x,w) design(y)/marginal(y):
 * Eq. likelihood with selection applied to the training set, the per-sample counterpart of the profile marginal.
 * Because it is a sum over rows, minibatches and fused passes need nothing else.
 *
 * Domain: sum_y exp f_n(y) = 1; any magnitude.
 */
#include <math.h>
#include <string.h>

#include "base/reduce.h"
#include "core/core.h"

double pv__selection_rows(const pv_targets *targets, const double *row_factor, const double *log_ratio,
                          const double *loglik, double *dloglik, double *dlog_ratio, double *sums) {
    const pv__core_kernels *kernels = pv__core_kernels_get();
    size_t n = targets->n, k = (size_t)targets->classes;
    double value = 0;
    for (size_t i = 0; i < n; i++) {
        double top = -HUGE_VAL;
        const double *ratio = pv__ratio_of(targets, log_ratio, i);
        for (size_t y = 0; y < k; y++) {
            double g = loglik[i * k + y] + ratio[y];
            dloglik[i * k + y] = g;
            top = g > top ? g : top;
        }
        for (size_t y = 0; y < k; y++)
            dloglik[i * k + y] -= top;
        value += pv__weight(targets, i) * (row_factor ? row_factor[i] : 1) * top;
    }
    kernels->exp_all(n * k, dloglik);
    for (size_t i = 0; i < n; i++) {
        sums[i] = 0;
        for (size_t y = 0; y < k; y++)
            sums[i] += dloglik[i * k + y];
        for (size_t y = 0; y < k; y++)
            dloglik[i * k + y] /= sums[i];
    }
    kernels->log_all(n, sums);
    for (size_t i = 0; i < n; i++) {
        double weight = pv__weight(targets, i) * (row_factor ? row_factor[i] : 1);
        const double *f = loglik + i * k, *t = targets->frequency ? targets->frequency + i * k : NULL;
        const double *ratio = pv__ratio_of(targets, log_ratio, i);
        double *d = dloglik + i * k; /* holds p_s first, then the gradient */
        value += weight * sums[i];
        if (t) {
            for (size_t y = 0; y < k; y++) {
                value -= t[y] > 0 ? weight * t[y] * (f[y] + ratio[y]) : 0;
                d[y] -= t[y];
            }
        } else {
            size_t own = (size_t)targets->label[i];
            value -= weight * (f[own] + ratio[own]);
            d[own] -= 1;
        }
        for (size_t y = 0; y < k; y++)
            d[y] *= weight;
        for (size_t y = 0; dlog_ratio && y < k; y++)
            dlog_ratio[y] += d[y];
    }
    return value;
}

pv_status pv_selection_loss(pv_ctx *ctx, const pv_targets *targets, const double *log_ratio, const double *loglik,
                            double *value, double *dloglik, double *dlog_ratio) {
    size_t n = targets->n, k = (size_t)targets->classes, chunks = pv__chunks(n);
    double *scratch = NULL, *sums = NULL, *partial = NULL;
    pv_status status;
    if (targets->stratum && dlog_ratio)
        return pv__fail(ctx, PV_ERR_USAGE, "strata have prevalences that are not learned:\npass no gradient for them");
    if (!dloglik)
        PV_GOTO(done, pv__alloc(ctx, n, k * sizeof *scratch, &scratch));
    double *d = dloglik ? dloglik : scratch;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *sums, &sums));
    PV_GOTO(done, pv__alloc(ctx, chunks + 1, (k + 1) * sizeof *partial, &partial));
    PV__EACH_CHUNK(ctx, chunks, c, {
        size_t begin = c * PV_CHUNK;
        pv_targets slice = pv__targets_slice(targets, begin, pv__chunk_rows(n, c));
        double *out = partial + c * (k + 1);
        out[k] = pv__selection_rows(&slice, NULL, log_ratio, loglik + begin * k, d + begin * k,
                                    targets->stratum ? NULL : out, sums + begin);
    });
    double *total = partial + chunks * (k + 1);
    pv__part whole = pv__part_whole(chunks);
    pv__sum(ctx, &whole, k + 1, partial, total);
    PV_GOTO(done, pv__reduce_check(ctx));
    *value = total[k];
    if (dlog_ratio)
        memcpy(dlog_ratio, total, k * sizeof *dlog_ratio);
done:
    pv__free(ctx, scratch);
    pv__free(ctx, sums);
    pv__free(ctx, partial);
    return status;
}
