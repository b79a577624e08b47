/* Loops over rows for the profile; profile.c explains their purpose. */
#include <math.h>
#include <string.h>

#include "base/reduce.h"
#include "core/profile.h"

static void row_block(const pv__profile *profile, size_t begin, size_t rows, const double *scale, const double *m,
                      bool want_log, double *block) {
    size_t J = dims(profile);
    const double *v = profile->weight ? profile->weight + begin : NULL;
    if (J == 1) {
        pv__profile_sums s = pv__core_kernels_get()->profile_sums(rows, profile->a + begin, v, scale[0], m[0]);
        block[0] = s.weight, block[1] = s.smallest, block[2] = 0;
        block[3] = s.r, block[4] = s.rq, block[5] = s.rr;
        for (size_t i = 0; want_log && s.smallest > 0 && i < rows; i++)
            block[2] += v && v[i] == 0 ? 0 : (v ? v[i] : 1) * log1p(m[0] * (scale[0] * profile->a[begin + i] - 1));
        return;
    }
    double *r = block + 3, *rq = r + J, *rr = rq + J;
    memset(block, 0, block_size(J) * sizeof *block);
    block[1] = HUGE_VAL;
    for (size_t i = 0; i < rows; i++) {
        const double *a = profile->a + (begin + i) * J;
        double rise = 0, weight = v ? v[i] : 1;
        for (size_t j = 0; j < J; j++)
            rise += m[j] * (scale[j] * a[j] - 1);
        double q = 1 + rise;
        if (weight == 0)
            continue;
        block[1] = q < block[1] ? q : block[1];
        if (!(q > 0))
            return;
        block[0] += weight / q;
        if (want_log)
            block[2] += weight * log1p(rise);
        for (size_t j = 0; j < J; j++) {
            double rj = scale[j] * a[j] - 1;
            r[j] += weight * rj / q;
            rq[j] += weight * rj / (q * q);
            for (size_t l = 0; l <= j; l++)
                rr[j * J + l] += weight * rj * (scale[l] * a[l] - 1) / (q * q);
        }
    }
}

bool pv__profile_moments(pv_ctx *ctx, const pv__profile *profile, const double *scale, const double *m, bool want_log,
                         pv__sums *out) {
    size_t J = dims(profile), chunks = pv__chunks(profile->n), size = block_size(J);
    PV__EACH_OF(ctx, &profile->part, c, {
        row_block(profile, c * PV_CHUNK, pv__chunk_rows(profile->n, c), scale, m, want_log,
                  profile->partial + c * size);
    });
    double *total = profile->partial + chunks * size;
    pv__sum(ctx, &profile->part, size, profile->partial, total);
    total[1] = HUGE_VAL;
    for (size_t c = profile->part.first; c < profile->part.last; c++)
        total[1] = fmin(total[1], profile->partial[c * size + 1]);
    pv__least(ctx, &profile->part, 1, &total[1]);
    *out = (pv__sums){total[0], total[1], total[2], total + 3, total + 3 + J, total + 3 + 2 * J};
    for (size_t j = 0; j < J; j++)
        for (size_t l = 0; l < j; l++)
            out->rr[l * J + j] = out->rr[j * J + l];
    return out->smallest > 0 && isfinite(out->weight);
}

void pv__profile_top(pv_ctx *ctx, const pv__profile *profile, const double *loglik, double *top) {
    size_t J = dims(profile), k = (size_t)profile->classes;
    PV__EACH_OF(ctx, &profile->part, c, {
        for (size_t j = 0; j < J; j++) {
            const double *f = loglik + c * PV_CHUNK * k + class_of(profile, j);
            double most = -HUGE_VAL;
            const double *v = profile->weight ? profile->weight + c * PV_CHUNK : NULL;
            for (size_t i = 0; i < pv__chunk_rows(profile->n, c); i++)
                most = f[i * k] > most && (!v || v[i] > 0) ? f[i * k] : most;
            profile->partial[c * J + j] = most;
        }
    });
    for (size_t j = 0; j < J; j++) {
        top[j] = -HUGE_VAL;
        for (size_t c = profile->part.first; c < profile->part.last; c++)
            top[j] = fmax(top[j], profile->partial[c * J + j]);
    }
    pv__most(ctx, &profile->part, J, top);
}

void pv__profile_mean(pv_ctx *ctx, const pv__profile *profile, const double *start, double *mean) {
    size_t J = dims(profile);
    PV__EACH_OF(ctx, &profile->part, c, {
        double *sum = profile->partial + c * J;
        memset(sum, 0, J * sizeof *sum);
        for (size_t n = c * PV_CHUNK; n < c * PV_CHUNK + pv__chunk_rows(profile->n, c); n++)
            for (size_t j = 0; j < J; j++)
                sum[j] += (profile->weight ? profile->weight[n] : 1) * profile->a[n * J + j];
    });
    pv__sum(ctx, &profile->part, J, profile->partial, mean);
    for (size_t j = 0; j < J; j++)
        mean[j] = start[j] + log(mean[j] / profile->total);
}

void pv__profile_ratios(pv_ctx *ctx, pv__profile *profile, const double *loglik, const double *start) {
    size_t J = dims(profile), k = (size_t)profile->classes;
    double *shift = profile->scratch + 14 * J + 4 * J * J;
    for (size_t j = 0; j < J; j++)
        shift[class_of(profile, j)] = start[j];
    shift[profile->reference] = 0;
    const pv__core_kernels *kernels = pv__core_kernels_get();
    size_t reference = (size_t)profile->reference;
    PV__EACH_OF(ctx, &profile->part, c, {
        enum { BLOCK = 256 };
        double p[BLOCK * 2];
        size_t begin = c * PV_CHUNK, end = begin + pv__chunk_rows(profile->n, c);
        if (k == 2) {
            for (size_t n = begin; n < end; n += BLOCK) {
                size_t rows = end - n < BLOCK ? end - n : BLOCK;
                kernels->exp_rows(rows, 2, loglik + 2 * n, shift, p);
                for (size_t i = 0; i < rows; i++)
                    profile->a[n + i] = p[2 * i + 1 - reference];
            }
            continue;
        }
        for (size_t n = begin; n < end; n++)
            for (size_t j = 0; j < J; j++) {
                size_t y = class_of(profile, j);
                profile->a[n * J + j] = exp(loglik[n * k + y] - shift[y]);
            }
    });
}

double pv__profile_keep(pv_ctx *ctx, pv__profile *profile, const pv__point *at) {
    size_t J = dims(profile);
    const pv__core_kernels *kernels = pv__core_kernels_get();
    for (size_t j = 0; j < J; j++) {
        size_t y = class_of(profile, j);
        profile->log_lambda[y] = at->log_lambda[j];
        profile->multiplier[y] = at->m[j];
    }
    profile->log_lambda[profile->reference] = at->log_reference;
    profile->multiplier[profile->reference] = 0;
    PV__EACH_OF(ctx, &profile->part, c, {
        size_t begin = c * PV_CHUNK, rows = pv__chunk_rows(profile->n, c);
        for (size_t n = begin; n < begin + rows; n++) {
            double q = 1;
            for (size_t j = 0; j < J; j++) {
                profile->a[n * J + j] *= at->scale[j];
                q += at->m[j] * (profile->a[n * J + j] - 1);
            }
            profile->theta[n] = !profile->weight || profile->weight[n] > 0 ? q : 1;
        }
        const double *v = profile->weight ? profile->weight + begin : NULL;
        profile->partial[c] = kernels->log_sum(rows, profile->theta + begin, v);
        for (size_t n = 0; n < rows; n++)
            profile->theta[begin + n] = (v ? v[n] : 1) / (profile->total * profile->theta[begin + n]);
    });
    double log_q;
    pv__sum(ctx, &profile->part, 1, profile->partial, &log_q);
    return log_q;
}

int pv__profile_commonest(pv_ctx *ctx, const pv__profile *profile, const double *loglik) {
    size_t k = (size_t)profile->classes, chunks = pv__chunks(profile->n);
    PV__EACH_OF(ctx, &profile->part, c, {
        double *sum = profile->partial + c * k;
        memset(sum, 0, k * sizeof *sum);
        for (size_t n = c * PV_CHUNK; n < c * PV_CHUNK + pv__chunk_rows(profile->n, c); n++)
            for (size_t y = 0; y < k; y++)
                sum[y] += (profile->weight ? profile->weight[n] : 1) * exp(loglik[n * k + y]);
    });
    double *total = profile->partial + chunks * k;
    pv__sum(ctx, &profile->part, k, profile->partial, total);
    int best = 0;
    for (size_t y = 1; y < k; y++)
        best = total[y] > total[best] ? (int)y : best;
    return best;
}

void pv__profile_backward(pv_ctx *ctx, const pv__profile *profile, double *dloglik) {
    size_t J = dims(profile), k = (size_t)profile->classes;
    PV__EACH_OF(ctx, &profile->part, c, {
        for (size_t n = c * PV_CHUNK; n < c * PV_CHUNK + pv__chunk_rows(profile->n, c); n++)
            for (size_t j = 0; j < J; j++) {
                size_t y = class_of(profile, j);
                dloglik[n * k + y] +=
                    profile->total * profile->theta[n] * profile->multiplier[y] * profile->a[n * J + j];
            }
    });
}
