/* plugins/cuda/adam.h: Adam's step for four parameters. */
#ifndef PV_PLUGIN_ADAM_H
#define PV_PLUGIN_ADAM_H

#include "kernels.h"

/* Four adjacent parameters. Arrays begin at multiples of eight, so the four belong to the same layer. */
enum { FOUR = 4 };
template <typename T> static __device__ Pack<T, FOUR> four_of(const T *array, size_t i) {
    return reinterpret_cast<const Pack<T, FOUR> *>(array)[i];
}
template <typename T> static __device__ void keep_four(T *array, size_t i, Pack<T, FOUR> four) {
    reinterpret_cast<Pack<T, FOUR> *>(array)[i] = four;
}

static __device__ float slope_of(const pv__slope &prior, float away) {
    float scale = (float)prior.scale, df = (float)prior.df;
    switch (prior.kind) {
    case 1:
        return away / (scale * scale);
    case 2:
        return (df + 1) * away / (df + away * away);
    case 3:
        return away > 0 ? 1 / scale : away < 0 ? -1 / scale : 0;
    default:
        return 0;
    }
}

/* The prior's gradient, and Adam as in src/core/vector_kernels.c. Returns the updated parameters. */
static __device__ inline Pack<float, FOUR> adam_four(size_t i, const Sent *sent, const Parameters &p,
                                                     Pack<float, FOUR> w) {
    const float keep_mean = 0.9f, keep_square = 0.999f, tiny = 1e-12f, new_mean = 0.1f, new_square = 0.001f;
    const float scale = sent->scale, unbias = sent->unbias;
    Pack<unsigned char, FOUR> kind = four_of(p.kind, i);
    Pack<float, FOUR> mean = four_of<float>(p.mean, i), square = four_of<float>(p.square, i), centre = {}, g;
    Pack<bf16, FOUR> rounded;
    if (kind.at[0] & PARAMETER_HALF) {
        Pack<bf16, FOUR> half = four_of(p.half_gradient, i);
#pragma unroll
        for (int j = 0; j < FOUR; j++)
            g.at[j] = (float)half.at[j];
    } else {
        g = four_of(p.gradient, i);
    }
    if (p.centre)
        centre = four_of(p.centre, i);
#pragma unroll
    for (int j = 0; j < FOUR; j++) {
        float slope = g.at[j];
        if (p.centre)
            slope += slope_of(kind.at[j] & PARAMETER_BIAS ? p.intercept : p.prior, w.at[j] - centre.at[j]);
        mean.at[j] = keep_mean * mean.at[j] + new_mean * slope;
        square.at[j] = keep_square * square.at[j] + new_square * slope * slope;
        w.at[j] -= scale * mean.at[j] / (sqrtf(square.at[j] * unbias) + tiny);
        rounded.at[j] = (bf16)w.at[j];
    }
    keep_four(p.mean, i, mean);
    keep_four(p.square, i, square);
    keep_four(p.w, i, w);
    if (p.half)
        keep_four(p.half, i, rounded);
    return w;
}

#endif
