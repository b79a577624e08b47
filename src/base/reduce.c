/* Reductions of a process that has all rows, and the calls that go to the context's. */
#include "base/reduce.h"

#include <math.h>

/* 0 + x first, as in a loop that begins with zeros: -0 becomes 0. */
static pv_status sum_alone(pv_ctx *ctx, void *state, size_t groups, size_t width, const double *sums, double *total) {
    (void)ctx;
    (void)state;
    for (size_t i = 0; i < width; i++)
        total[i] = groups ? 0 + sums[i] : 0;
    for (size_t g = 1; g < groups; g++)
        for (size_t i = 0; i < width; i++)
            total[i] += sums[g * width + i];
    return PV_OK;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type of all that take its place */
static pv_status least_alone(pv_ctx *ctx, void *state, size_t n, double *value) {
    (void)ctx;
    (void)state;
    (void)n;
    (void)value;
    return PV_OK;
}

static pv_status broadcast_alone(pv_ctx *ctx, void *state, int from, void *bytes, size_t n) {
    (void)ctx;
    (void)state;
    (void)from;
    (void)bytes;
    (void)n;
    return PV_OK;
}

const pv__reduce pv__reduce_alone = {.size = 1, .sum = sum_alone, .least = least_alone, .broadcast = broadcast_alone};

static void spoil(size_t n, double *value) {
    for (size_t i = 0; i < n; i++)
        value[i] = (double)NAN;
}

void pv__sum(pv_ctx *ctx, size_t groups, size_t width, const double *sums, double *total) {
    const pv__reduce *r = ctx->reduce;
    if (ctx->reduced == PV_OK)
        ctx->reduced = r->sum(ctx, r->state, groups, width, sums, total);
    if (ctx->reduced != PV_OK)
        spoil(width, total);
}

void pv__least(pv_ctx *ctx, size_t n, double *value) {
    const pv__reduce *r = ctx->reduce;
    if (ctx->reduced == PV_OK)
        ctx->reduced = r->least(ctx, r->state, n, value);
    if (ctx->reduced != PV_OK)
        spoil(n, value);
}

void pv__most(pv_ctx *ctx, size_t n, double *value) {
    for (size_t i = 0; i < n; i++)
        value[i] = -value[i];
    pv__least(ctx, n, value);
    for (size_t i = 0; i < n; i++)
        value[i] = -value[i];
}

void pv__broadcast(pv_ctx *ctx, int from, void *bytes, size_t n) {
    const pv__reduce *r = ctx->reduce;
    if (ctx->reduced == PV_OK)
        ctx->reduced = r->broadcast(ctx, r->state, from, bytes, n);
}

pv_status pv__reduce_check(const pv_ctx *ctx) {
    return ctx->reduced;
}
