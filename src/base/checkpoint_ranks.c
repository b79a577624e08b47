/* The checkpoint of several ranks: rank 0 has the file, all have the entries.
 *
 * What a job stores is first kept in the memory of its own rank and reaches the others when its round is exchanged
 * (jobs_ranks.c). Work that all ranks do together stores the same entries on each.
 */
#include <string.h>

#include "base/checkpoint.h"
#include "base/reduce.h"

/* Entries whose names begin with prefix, each as length of the name, length of the data, name, data. */
static pv_status pack(pv_ctx *ctx, const pv_checkpoint *c, const char *prefix, char **packed, size_t *size) {
    size_t length = strlen(prefix);
    *size = 0;
    for (size_t i = 0; i < c->count; i++)
        if (strncmp(c->entries[i].name, prefix, length) == 0)
            *size += 2 * sizeof(uint64_t) + strlen(c->entries[i].name) + c->entries[i].size;
    PV_TRY(pv__alloc(ctx, *size, 1, packed));
    char *at = *packed;
    for (size_t i = 0; i < c->count; i++) {
        const pv__entry *e = &c->entries[i];
        uint64_t sizes[2] = {strlen(e->name), e->size};
        if (strncmp(e->name, prefix, length) != 0)
            continue;
        memcpy(at, sizes, sizeof sizes);
        memcpy(at + sizeof sizes, e->name, sizes[0]);
        if (sizes[1])
            memcpy(at + sizeof sizes + sizes[0], e->data, sizes[1]);
        at += sizeof sizes + sizes[0] + sizes[1];
    }
    return PV_OK;
}

static pv_status unpack(pv_ctx *ctx, pv_checkpoint *c, const char *packed, size_t size) {
    for (const char *at = packed; at < packed + size;) {
        uint64_t sizes[2];
        char name[PV_NAME_BYTES] = {0};
        memcpy(sizes, at, sizeof sizes);
        memcpy(name, at + sizeof sizes, sizes[0]);
        char *data;
        PV_TRY(pv__alloc(ctx, sizes[1], 1, &data));
        if (sizes[1])
            memcpy(data, at + sizeof sizes + sizes[0], sizes[1]);
        pv_status status = pv__checkpoint_put(ctx, c, name, &(pv_field){data, sizes[1]}, 1);
        pv__free(ctx, data);
        PV_TRY(status);
        at += sizeof sizes + sizes[0] + sizes[1];
    }
    return PV_OK;
}

pv_status pv__checkpoint_pack(pv_ctx *ctx, const char *what, size_t job, char **packed, size_t *size) {
    size_t entered = pv_checkpoint_enter(ctx, what, job);
    pv_status status;
#pragma omp critical(pv_checkpoint)
    status = pack(ctx, ctx->checkpoint, ctx->scope, packed, size);
    pv_checkpoint_leave(ctx, entered);
    return status;
}

pv_status pv__checkpoint_unpack(pv_ctx *ctx, const char *what, size_t job, const char *packed, size_t size) {
    size_t entered = pv_checkpoint_enter(ctx, what, job);
    pv_checkpoint_drop(ctx, "");
    pv_checkpoint_leave(ctx, entered);
    pv_status status;
#pragma omp critical(pv_checkpoint)
    status = unpack(ctx, ctx->checkpoint, packed, size);
    return status;
}

pv_status pv__checkpoint_spread(pv_ctx *ctx, pv_checkpoint *c) {
    char *mine = NULL, *all = NULL;
    size_t size = 0;
    bool begun = ctx->ranks.begun;
    if (!pv__shares(ctx))
        return PV_OK;
    pv_status status;
    if (!c->copy)
        PV_GOTO(done, pack(ctx, c, "", &mine, &size));
    PV_GOTO(done, pv__collect(ctx, true, mine, size, (void **)&all, &size));
    if (c->copy)
        status = unpack(ctx, c, all, size);
    double resumed = c->resumed;
    const pv__part part = {.shared = true};
    pv__most(ctx, &part, 1, &resumed);
    c->resumed = resumed > 0;
    if (status == PV_OK)
        status = pv__reduce_check(ctx);
    ctx->ranks.begun = begun; /* at this point each rank still reads its data alone */
done:
    pv__free(ctx, mine);
    pv__free(ctx, all);
    return status;
}
