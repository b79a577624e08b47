#include "core/row_sums.h"

#include "base/openmp.h"
#include "core/vector.h"

/* The number of groups of blocks, whose sums are added in order. Fewer if each group's sums take many numbers. */
static size_t groups_of(size_t n, size_t width) {
    enum { NUMBERS = 1 << 22 };
    size_t groups = pv__reduce_units((n + PV__ROW_BLOCK - 1) / PV__ROW_BLOCK);
    while (groups > 1 && groups * width > NUMBERS)
        groups /= 2;
    return groups;
}

typedef struct rows {
    size_t n, groups, width;
    pv__row_add add;
    void *state;
} rows;

static size_t group_at(const rows *r, size_t group) {
    size_t blocks = (r->n + PV__ROW_BLOCK - 1) / PV__ROW_BLOCK, at = group * blocks / r->groups * PV__ROW_BLOCK;
    return at < r->n ? at : r->n;
}

static void add_group(const pv_ctx *ctx, const rows *r, size_t slot, size_t group, double *sums) {
    size_t end = group_at(r, group + 1);
    for (size_t at = group_at(r, group); at < end && !pv__interrupted(ctx); at += PV__ROW_BLOCK) {
        pv__spill_breathe(ctx);
        r->add(r->state, slot, at, end - at < PV__ROW_BLOCK ? end - at : PV__ROW_BLOCK, sums);
    }
}

pv_status pv__sum_rows(pv_ctx *ctx, size_t n, bool shared, size_t width, pv__row_add add, void *state, double *total) {
    return pv__sum_rows_like(ctx, n, shared, 0, width, add, state, total);
}

pv_status pv__sum_rows_like(pv_ctx *ctx, size_t n, bool shared, size_t like, size_t width, pv__row_add add, void *state,
                            double *total) {
    rows r = {.n = n, .groups = groups_of(n, like > width ? like : width), .width = width, .add = add, .state = state};
    pv__part part = {.blocks = r.groups, .units = r.groups, .last = r.groups, .own_last = r.groups};
    if (shared)
        part = pv__part_own(ctx, r.groups, r.groups);
    double *sums;
    PV_TRY(pv__alloc(ctx, r.groups, width * sizeof *sums, &sums));
    size_t own = part.last - part.first;
    int team = pv__threads_for(ctx, own < PV__ROW_SLOTS ? own : PV__ROW_SLOTS);
    PV__EACH_CHUNK_BY(team, own, i, {
        size_t group = part.first + i,
               slot = (size_t)omp_get_thread_num() %
                      PV__ROW_SLOTS; /* in a nested team of one, the thread number may exceed the slots */
        add_group(ctx, &r, slot, group, sums + group * width);
    });
    pv_status status = pv__go_on(ctx);
    if (status == PV_OK)
        pv__sum(ctx, &part, width, sums, total);
    pv__free(ctx, sums);
    return status == PV_OK ? pv__reduce_check(ctx) : status;
}
