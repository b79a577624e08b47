/* Sums over blocks of rows, in one process or several. */
#include "base/reduce.h"

#include <math.h>
#include <string.h>

/* Enough units for a thousand processes if there are enough rows, but few enough that gathering them costs little. Up
 * to 64 blocks are units of their own. */
size_t pv__reduce_units(size_t blocks) {
    enum { FEWEST = 64, MOST = 4096, BLOCKS_EACH = 64 };
    size_t units = blocks / BLOCKS_EACH;
    units = units < FEWEST ? FEWEST : units > MOST ? MOST : units;
    return blocks < units ? blocks : units;
}

size_t pv__share_of(size_t count, int rank, int size) {
    size_t whole = count / (size_t)size, rest = count % (size_t)size;
    return whole * (size_t)rank + rest * (size_t)rank / (size_t)size;
}

static size_t block_of(size_t blocks, size_t units, size_t unit) {
    return units ? unit * blocks / units : 0;
}

pv__part pv__part_whole(size_t blocks) {
    return (pv__part){.blocks = blocks, .units = pv__reduce_units(blocks), .last = blocks, .own_last = blocks};
}

pv__part pv__part_own(const pv_ctx *ctx, size_t blocks, size_t units) {
    pv__part part = {.blocks = blocks, .units = units, .last = blocks, .own_last = blocks};
    int rank = ctx->ranks.calls.rank, size = ctx->ranks.calls.size;
    if (!pv__shares(ctx))
        return part;
    part.shared = true;
    part.first = part.own_first = block_of(blocks, units, pv__share_of(units, rank, size));
    part.last = part.own_last = block_of(blocks, units, pv__share_of(units, rank + 1, size));
    return part;
}

pv__part pv__part_with(pv__part part, size_t first, size_t last) {
    if (first >= last)
        return part;
    bool none = part.first >= part.last;
    part.first = none || first < part.first ? first : part.first;
    part.last = none || last > part.last ? last : part.last;
    return part;
}

/* Adds the sums [width] of the blocks to total. Starts with 0 + x, so that -0 becomes 0. */
static void add_blocks(size_t first, size_t last, size_t width, const double *sums, double *total) {
    for (size_t i = 0; i < width; i++)
        total[i] = first < last ? 0 + sums[first * width + i] : 0;
    for (size_t b = first + 1; b < last; b++)
        for (size_t i = 0; i < width; i++)
            total[i] += sums[b * width + i];
}

/* made [units from .. to-1][width] */
static void add_units(const pv__part *part, size_t from, size_t to, size_t width, const double *sums, double *made) {
    size_t units = part->units;
    for (size_t u = from; u < to; u++)
        add_blocks(block_of(part->blocks, units, u), block_of(part->blocks, units, u + 1), width, sums,
                   made + (u - from) * width);
}

static pv_status sum_alone(pv_ctx *ctx, const pv__part *part, size_t width, const double *sums, double *total) {
    size_t units = part->units;
    if (units == part->blocks) {
        add_blocks(0, units, width, sums, total);
        return PV_OK;
    }
    double *made;
    PV_TRY(pv__alloc(ctx, units, width * sizeof *made, &made));
    add_units(part, 0, units, width, sums, made);
    add_blocks(0, units, width, made, total);
    pv__free(ctx, made);
    return PV_OK;
}

static pv_status sum_shared(pv_ctx *ctx, const pv__part *part, size_t width, const double *sums, double *total) {
    int rank = ctx->ranks.calls.rank, size = ctx->ranks.calls.size;
    size_t units = part->units, most = 0;
    for (int r = 0; r < size; r++) {
        size_t own = pv__share_of(units, r + 1, size) - pv__share_of(units, r, size);
        most = own > most ? own : most;
    }
    size_t room = most * width; /* numbers per rank */
    double *mine;
    PV_TRY(pv__alloc(ctx, room, ((size_t)size + 1) * sizeof *mine, &mine));
    double *all = mine + room;
    add_units(part, pv__share_of(units, rank, size), pv__share_of(units, rank + 1, size), width, sums, mine);
    pv_status status = pv__gather(ctx, mine, room * sizeof *mine, all);
    size_t packed = 0; /* copies the units next to each other, without padding */
    for (int r = 0; status == PV_OK && r < size; r++) {
        size_t own = pv__share_of(units, r + 1, size) - pv__share_of(units, r, size);
        memmove(all + packed * width, all + (size_t)r * room, own * width * sizeof *all);
        packed += own;
    }
    if (status == PV_OK)
        add_blocks(0, units, width, all, total);
    pv__free(ctx, mine);
    return status;
}

static void spoil(size_t n, double *value) {
    for (size_t i = 0; i < n; i++)
        value[i] = (double)NAN;
}

void pv__sum(pv_ctx *ctx, const pv__part *part, size_t width, const double *sums, double *total) {
    if (ctx->reduced == PV_OK)
        ctx->reduced = (part->shared ? sum_shared : sum_alone)(ctx, part, width, sums, total);
    if (ctx->reduced != PV_OK)
        spoil(width, total);
}

static pv_status least_shared(pv_ctx *ctx, size_t n, double *value) {
    double *all;
    PV_TRY(pv__alloc(ctx, n, (size_t)ctx->ranks.calls.size * sizeof *all, &all));
    pv_status status = pv__gather(ctx, value, n * sizeof *value, all);
    for (size_t r = 0; status == PV_OK && r < (size_t)ctx->ranks.calls.size; r++)
        for (size_t i = 0; i < n; i++)
            value[i] = r == 0 ? all[i] : fmin(value[i], all[r * n + i]);
    pv__free(ctx, all);
    return status;
}

void pv__least(pv_ctx *ctx, const pv__part *part, size_t n, double *value) {
    if (ctx->reduced == PV_OK && part->shared)
        ctx->reduced = least_shared(ctx, n, value);
    if (ctx->reduced != PV_OK)
        spoil(n, value);
}

void pv__most(pv_ctx *ctx, const pv__part *part, size_t n, double *value) {
    for (size_t i = 0; i < n; i++)
        value[i] = -value[i];
    pv__least(ctx, part, n, value);
    for (size_t i = 0; i < n; i++)
        value[i] = -value[i];
}

/* An out-of-memory error is cleared once reported; a lost connection is permanent. */
pv_status pv__reduce_check(pv_ctx *ctx) {
    pv_status status = ctx->reduced;
    if (!pv__shares(ctx))
        ctx->reduced = PV_OK;
    return status;
}
