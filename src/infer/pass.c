/* Visits chunks of rows with threads and ranks. */
#include "infer/pass.h"

#include <string.h>

#include "base/openmp.h"
#include "core/vector.h"

enum { CHUNK_BYTES = 1 << 18 };

size_t pv__pass_chunk(const pv_model *model) {
    size_t row = ((size_t)pv_model_inputs(model) + 4 * (size_t)pv_model_classes(model) + 1) * sizeof(double);
    size_t rows = CHUNK_BYTES / row;
    if (model->architecture->chunk_rows)
        return model->architecture->chunk_rows;
    return rows < 64 ? 64 : rows > 4096 ? 4096 : rows;
}

/* As many groups as units, limited by the memory for their sums. */
static size_t groups_of(size_t chunks, size_t numbers) {
    enum { FEWEST = 64, NUMBERS = 1 << 22 };
    size_t groups = pv__reduce_units(chunks);
    while (groups > FEWEST && groups * numbers > NUMBERS)
        groups /= 2;
    return groups;
}

pv_status pv__pass_new(pv_ctx *ctx, const pv__row_source *rows, const pv_model *model, size_t width, int threads,
                       pv__pass *pass) {
    *pass = (pv__pass){.ctx = ctx, .rows = rows, .chunk = pv__pass_chunk(model), .width = width, .threads = threads};
    pass->chunks = pass->last = (rows->n + pass->chunk - 1) / pass->chunk;
    pass->groups = groups_of(pass->chunks, width > pv_model_params(model) + 1 ? width : pv_model_params(model));
    pass->part =
        (pv__part){.blocks = pass->groups, .units = pass->groups, .last = pass->groups, .own_last = pass->groups};
    PV_TRY(pv__alloc(ctx, pass->groups, width * sizeof *pass->partial, &pass->partial));
    return pv__alloc(ctx, (size_t)threads, pv__rows_room(rows, pass->chunk) * sizeof *pass->room, &pass->room);
}

void pv__pass_clear(pv__pass *pass) {
    pv__free(pass->ctx, pass->partial);
    pv__free(pass->ctx, pass->room);
}

static size_t group_at(const pv__pass *pass, size_t group) {
    return group * pass->chunks / pass->groups;
}

pv__part pv__pass_share(pv__pass *pass) {
    size_t n = pass->rows->n, pieces = pv__chunks(n);
    pv__part seen = pv__part_whole(pieces);
    pass->part = pv__part_own(pass->ctx, pass->groups, pass->groups);
    if (!pass->part.shared)
        return seen;
    size_t begin = group_at(pass, pass->part.first) * pass->chunk, end = group_at(pass, pass->part.last) * pass->chunk;
    end = end < n ? end : n;
    seen = pv__part_own(pass->ctx, pieces, seen.units);
    if (begin < end)
        seen = pv__part_with(seen, begin / PV_CHUNK, pv__chunks(end));
    end = seen.last * PV_CHUNK < n ? seen.last * PV_CHUNK : n;
    pass->first = seen.first * PV_CHUNK / pass->chunk;
    pass->last = (end + pass->chunk - 1) / pass->chunk;
    return seen;
}

typedef struct visitor {
    pv__visit visit;
    void *state;
} visitor;

static void visit_group(pv__pass *pass, bool own, const visitor *by, size_t thread, size_t group) {
    size_t first = group_at(pass, group), last = group_at(pass, group + 1);
    first = own || first > pass->first ? first : pass->first;
    last = own || last < pass->last ? last : pass->last;
    double *room = pass->room + thread * pv__rows_room(pass->rows, pass->chunk);
    for (size_t c = first; c < last; c++) {
        size_t begin = c * pass->chunk, left = pass->rows->n - begin, n = left < pass->chunk ? left : pass->chunk;
        pv__spill_breathe(pass->ctx);
        by->visit(by->state, thread, begin, n, pv__rows_get(pass->ctx, pass->rows, begin, n, room),
                  pass->partial + group * pass->width);
    }
}

/* Groups that a thread takes at once: adjacent ones if rows are read from a file. */
static size_t groups_at_once(const pv__pass *pass, size_t groups, int team) {
    enum { CHUNKS = 256, TURNS = 8 };
    if (!pv__rows_are_far(pass->rows))
        return 1;
    size_t some = CHUNKS * pass->groups / pass->chunks + 1, fair = groups / (TURNS * (size_t)team);
    return some < fair ? some : fair > 1 ? fair : 1;
}

void pv__pass_run(pv__pass *pass, bool own, pv__visit visit, void *state) {
    const visitor by = {visit, state};
    size_t first = own ? pass->part.first : 0, last = own ? pass->part.last : pass->groups, groups = last - first;
    int team = pv_threads_ready(groups < (size_t)pass->threads ? (int)groups : pass->threads);
    memset(pass->partial + first * pass->width, 0, groups * pass->width * sizeof *pass->partial);
    if (team <= 1) { /* avoids a team of one, which would cost a system call */
        for (size_t g = first; g < last; g++)
            visit_group(pass, own, &by, 0, g);
        return;
    }
    size_t at_once = groups_at_once(pass, groups, team);
    (void)at_once; /* unused without OpenMP */
#pragma omp parallel for num_threads(pv_threads_ready(team)) schedule(dynamic, at_once)
    for (size_t g = first; g < last; g++)
        visit_group(pass, own, &by, (size_t)omp_get_thread_num(), g);
}

pv_status pv__pass_sum(pv__pass *pass, double *total) {
    pv__sum(pass->ctx, &pass->part, pass->width, pass->partial, total);
    return pv__reduce_check(pass->ctx);
}
