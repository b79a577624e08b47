/* tests/unit/looks.h: interruption at a given call of the poll callback. The library calls it on the context's own
 * thread: with one thread these are all calls, and the same work makes the same calls on any machine.
 */
#ifndef PV_TEST_LOOKS_H
#define PV_TEST_LOOKS_H

#include "base/base.h"
#include "check.h"

typedef struct looks {
    pv_ctx *ctx;
    int64_t seen, stop_at; /* stop_at, from 1: the call that requests a stop; 0: none */
} looks;

static inline bool looks_ask(void *state) {
    looks *l = state;
    l->ctx->polled = -HUGE_VAL; /* disables the minimum interval between calls */
    return ++l->seen == l->stop_at;
}

static inline void looks_begin(looks *l, pv_ctx *own, int64_t stop_at) {
    *l = (looks){.ctx = own, .stop_at = stop_at};
    pv_ctx_clear_interrupt(own);
    pv_ctx_set_threads(own, 1);
    own->polled = -HUGE_VAL;
    pv_ctx_set_poll(own, looks_ask, l);
}

static inline void looks_end(looks *l) {
    pv_ctx_set_poll(l->ctx, NULL, NULL);
    pv_ctx_clear_interrupt(l->ctx);
}

#endif
