/* The mixture in scaled coordinates: memory, derived quantities, normals for its points. */
#include <math.h>
#include <string.h>

#include "posterior/vi.h"

PV_KERNELS_GET(pv__vi_kernels, pv__vi_kernels_get, pv__vi_kernels)

pv_status pv__vi_mix_new(pv_ctx *ctx, size_t components, size_t dims, bool diagonal, bool lean, pv__vi_mix *mix) {
    *mix = (pv__vi_mix){.components = components, .dims = dims, .diagonal = diagonal, .lean = lean};
    mix->size = diagonal ? dims : dims * dims;
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, components, sizeof(double), &mix->log_weight));
    PV_GOTO(fail, pv__alloc(ctx, components, dims * sizeof(double), &mix->mean));
    PV_GOTO(fail, pv__alloc(ctx, components, mix->size * sizeof(double), &mix->factor));
    PV_GOTO(fail, pv__alloc(ctx, lean ? 0 : components, mix->size * sizeof(double), &mix->inverse));
    PV_GOTO(fail, pv__alloc(ctx, components, sizeof(double), &mix->log_det));
    return PV_OK;
fail:
    pv__vi_mix_free(ctx, mix);
    return status;
}

void pv__vi_mix_free(pv_ctx *ctx, pv__vi_mix *mix) {
    pv__free(ctx, mix->log_weight);
    pv__free(ctx, mix->mean);
    pv__free(ctx, mix->factor);
    pv__free(ctx, mix->inverse);
    pv__free(ctx, mix->log_det);
    *mix = (pv__vi_mix){0};
}

void pv__vi_mix_copy(const pv__vi_mix *from, pv__vi_mix *to) {
    size_t k = from->components;
    memcpy(to->log_weight, from->log_weight, k * sizeof(double));
    memcpy(to->mean, from->mean, k * from->dims * sizeof(double));
    memcpy(to->factor, from->factor, k * from->size * sizeof(double));
    if (!from->lean)
        memcpy(to->inverse, from->inverse, k * from->size * sizeof(double));
    memcpy(to->log_det, from->log_det, k * sizeof(double));
}

/* Inverts a lower triangle, column by column. */
static void invert(size_t d, const double *c, double *inverse) {
    for (size_t j = 0; j < d; j++) {
        inverse[j * d + j] = 1 / c[j * d + j];
        for (size_t i = j + 1; i < d; i++) {
            double sum = 0;
            for (size_t l = j; l < i; l++)
                sum += c[i * d + l] * inverse[l * d + j];
            inverse[i * d + j] = -sum / c[i * d + i];
        }
    }
}

void pv__vi_mix_refresh(pv__vi_mix *mix) {
    size_t d = mix->dims, step = mix->diagonal ? 1 : d + 1;
    double sum = pv_log_sum_exp(mix->components, mix->log_weight);
    for (size_t k = 0; k < mix->components; k++) {
        const double *c = mix->factor + k * mix->size;
        double *inverse = mix->inverse + k * mix->size;
        mix->log_weight[k] -= sum;
        mix->log_det[k] = 0;
        for (size_t i = 0; i < d; i++)
            mix->log_det[k] += log(c[i * step]);
        if (mix->lean)
            continue;
        if (!mix->diagonal)
            invert(d, c, inverse);
        for (size_t i = 0; mix->diagonal && i < d; i++)
            inverse[i] = 1 / c[i];
    }
}

void pv__vi_normals(const pv__vi_kernels *kernels, pv_rng *rng, size_t dims, size_t count, size_t stride,
                    double *buffer, double *eps) {
    size_t pairs = (count + 1) / 2, n = pv__vi_normals_buffer(dims, count);
    for (size_t i = 0; i < n; i++)
        buffer[i] = pv_rng_uniform(rng);
    kernels->normals(n, buffer);
    for (size_t i = 0; i < dims; i++)
        for (size_t p = 0; p < pairs; p++) {
            double value = buffer[i * pairs + p];
            eps[i * stride + p] = value;
            if (pairs + p < count)
                eps[i * stride + pairs + p] = -value;
        }
}
