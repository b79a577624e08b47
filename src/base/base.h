/* src/base/base.h: what every part uses and no user sees: memory, errors, the log, atomic files. */
#ifndef PV_SRC_BASE_H
#define PV_SRC_BASE_H

#include <signal.h>
#include <stdio.h>

#include "prevail/base.h"

typedef struct pv__temporary pv__temporary; /* file.c */

struct pv_ctx {
    pv_ctx_options options;
    pv_error error;
    pv__temporary *temporaries; /* of outputs that are open */
    volatile sig_atomic_t interrupted;
};

/* Memory through the context's allocator; count * size is checked for overflow. The new block is zeroed. On failure
 * *block is NULL and the status is PV_ERR_MEMORY. */
PV_MUST_USE pv_status pv__alloc(pv_ctx *ctx, size_t count, size_t size, void *block);
/* Grows or shrinks *block; on failure it is left as it was. New bytes are not zeroed. */
PV_MUST_USE pv_status pv__resize(pv_ctx *ctx, size_t count, size_t size, void *block);
void pv__free(pv_ctx *ctx, const void *block); /* NULL is fine */
PV_MUST_USE pv_status pv__strdup(pv_ctx *ctx, const char *text, char **copy);

/* Records an error without a place, or at a place in a file (0: unknown), and returns status. */
pv_status pv__fail(pv_ctx *ctx, pv_status status, const char *format, ...) PV_PRINTF(3, 4);
pv_status pv__fail_at(pv_ctx *ctx, pv_status status, const char *file, size_t line, size_t column, const char *format,
                      ...) PV_PRINTF(6, 7);

void pv__log(pv_ctx *ctx, pv_log_level level, const char *format, ...) PV_PRINTF(3, 4);
void pv__progress(pv_ctx *ctx, const pv_progress *progress);
/* The context's allocator for contexts of other threads, which must not outlive ctx: calls come one at a time. */
pv_allocator pv__allocator_shared(pv_ctx *ctx);
/* A context for a thread of its own: the parent's allocator, shared; one thread, no log and no progress. */
PV_MUST_USE pv_status pv__ctx_child(pv_ctx *ctx, pv_ctx **child);
/* The child's error, with its place, as the parent's; returns its status. */
pv_status pv__ctx_adopt(pv_ctx *ctx, const pv_ctx *child);
bool pv__interrupted(const pv_ctx *ctx);
double pv__seconds(void); /* monotonic clock */

/* Instruction sets that kernels are compiled for, and the best that this processor has. */
typedef enum pv__isa { PV_ISA_BASELINE, PV_ISA_AVX2, PV_ISA_AVX512 } pv__isa;
pv__isa pv__isa_best(void);

/* A finite number that is the whole of text, read as in the C locale whatever the process's is. */
bool pv__parse_real(const char *text, double *value);

/* Return from the enclosing function when a call fails; PV_GOTO jumps to a cleanup label instead (status in
 * `status`).*/
#define PV_TRY(call)                                                                                                   \
    do {                                                                                                               \
        pv_status pv_try_status = (call);                                                                              \
        if (pv_try_status != PV_OK)                                                                                    \
            return pv_try_status;                                                                                      \
    } while (0)
#define PV_GOTO(label, call)                                                                                           \
    do {                                                                                                               \
        status = (call);                                                                                               \
        if (status != PV_OK)                                                                                           \
            goto label;                                                                                                \
    } while (0)

/* Opens for reading; refuses directories and what cannot be read, with advice. */
PV_MUST_USE pv_status pv__file_open(pv_ctx *ctx, const char *path, FILE **stream);

#endif
