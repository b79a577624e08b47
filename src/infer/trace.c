/* The trace of minibatch training: one row per epoch, in growing arrays. */
#include <math.h>

#include "infer/infer.h"

pv_status pv__trace_new(pv_ctx *ctx, int classes, pv_trace **trace) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **trace, trace));
    (*trace)->classes = classes;
    return PV_OK;
}

void pv__trace_free(pv_ctx *ctx, pv_trace *trace) {
    if (!trace)
        return;
    pv__free(ctx, trace->row);
    pv__free(ctx, trace->used);
    pv__free(ctx, trace->exact);
    pv__free(ctx, trace);
}

static pv_status set_room(pv_ctx *ctx, pv_trace *trace, size_t room) {
    size_t k = (size_t)trace->classes;
    PV_TRY(pv__resize(ctx, room, sizeof *trace->row, &trace->row));
    PV_TRY(pv__resize(ctx, room, k * sizeof *trace->used, &trace->used));
    return pv__resize(ctx, room, k * sizeof *trace->exact, &trace->exact);
}

/* Makes space for one more row. Capacities are powers of two and follow from the count. */
static pv_status grow(pv_ctx *ctx, pv_trace *trace) {
    size_t count = trace->count;
    return count & (count - 1) ? PV_OK : set_room(ctx, trace, count ? 2 * count : 1);
}

pv_status pv__trace_add(pv_ctx *ctx, pv_trace *trace, const pv_trace_row *row, const double *log_used,
                        const double *log_exact) {
    PV_TRY(grow(ctx, trace));
    size_t k = (size_t)trace->classes, at = trace->count++;
    trace->row[at] = *row;
    for (size_t y = 0; y < k; y++) {
        trace->used[at * k + y] = exp(log_used[y]);
        trace->exact[at * k + y] = exp(log_exact[y]);
    }
    return PV_OK;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

static void fields_of(pv_trace *trace, pv_field field[3]) {
    size_t cells = trace->count * (size_t)trace->classes;
    field[0] = (pv_field){trace->row, trace->count * sizeof *trace->row};
    field[1] = (pv_field){trace->used, cells * sizeof *trace->used};
    field[2] = (pv_field){trace->exact, cells * sizeof *trace->exact};
}

pv_status pv__trace_keep(pv_ctx *ctx, pv_trace *trace) {
    pv_field field[3];
    fields_of(trace, field);
    return pv_checkpoint_keep(ctx, "trace", field, 3);
}

pv_status pv__trace_recall(pv_ctx *ctx, pv_trace *trace, size_t most) {
    size_t each = sizeof *trace->row + 2 * (size_t)trace->classes * sizeof(double);
    size_t size = pv_checkpoint_size(ctx, "trace"), count = size / each, room = 1;
    if (count == 0)
        return PV_OK; /* the trace was not requested in that run */
    if (size % each)
        return pv__checkpoint_damaged(ctx, "its trace is not of these epochs");
    while (room < count)
        room *= 2;
    PV_TRY(set_room(ctx, trace, room));
    trace->count = count;
    pv_field field[3];
    bool found;
    fields_of(trace, field);
    PV_TRY(pv_checkpoint_recall(ctx, "trace", field, 3, &found));
    trace->count =
        count < most ? count : most; /* the trace may have been written before the state of its last epochs */
    return PV_OK;
}
