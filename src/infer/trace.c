/* The trace of minibatch training: a row for each epoch, in arrays that grow. */
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

/* Room for one more: capacities are powers of two, so they need not be kept. */
static pv_status grow(pv_ctx *ctx, pv_trace *trace) {
    size_t count = trace->count, k = (size_t)trace->classes;
    if (count & (count - 1))
        return PV_OK;
    size_t room = count ? 2 * count : 1;
    PV_TRY(pv__resize(ctx, room, sizeof *trace->row, &trace->row));
    PV_TRY(pv__resize(ctx, room, k * sizeof *trace->used, &trace->used));
    return pv__resize(ctx, room, k * sizeof *trace->exact, &trace->exact);
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
