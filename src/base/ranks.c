/* Processes that share work: how they exchange data, and how they notice that one has failed or lost step.
 *
 * Every exchange begins with a header of fixed size, which says what the process is about to exchange, the sequence
 * number of the exchange, and whether the process was asked to stop: all then stop at the same point. A process that
 * fails also sends a header (pv_ranks_end), which the others receive wherever they are, followed by its error message.
 * The memory for this is allocated at the start, so that a process that is out of memory can still report it.
 */
#include <string.h>

#include "base/hash.h"
#include "base/mpi.h"
#include "base/reduce.h"

typedef enum kind { KIND_DATA = 1, KIND_END } kind;

typedef struct header {
    uint32_t kind, status; /* pv_status of a process that ends */
    uint64_t number, bytes;
    uint64_t interrupted;
} header;

enum { TEXT = PV_MESSAGE_SIZE };

/* Memory allocated in advance: headers [size], then messages [size + 1][TEXT], this rank's first. */
static header *headers_of(const pv_ctx *ctx) {
    return ctx->ranks.room;
}

static char *texts_of(const pv_ctx *ctx) {
    return (char *)(headers_of(ctx) + ctx->ranks.calls.size);
}

static pv_status set_room_aside(pv_ctx *ctx, size_t size) {
    return pv__alloc(ctx, size + 1, sizeof(header) + TEXT, &ctx->ranks.room);
}

static pv_status lost(pv_ctx *ctx) {
    ctx->ranks.lost = true;
    return pv__fail(ctx, PV_ERR_INTERNAL, "rank %d has lost its connection to the other processes;\nrun it again",
                    ctx->ranks.calls.rank);
}

static bool call(pv_ctx *ctx, const void *mine, size_t bytes, void *all) {
    const pv_ranks *ranks = &ctx->ranks.calls;
    return bytes == 0 || ranks->gather(ranks->state, mine, bytes, all);
}

/* Some processes have ended and others have not; collects the messages. Reports the first that failed, or else the
 * first that ended early. */
static pv_status tell_end(pv_ctx *ctx, const header *all, const char *own) {
    int size = ctx->ranks.calls.size, at = -1;
    char *text = texts_of(ctx);
    pv__format(text, TEXT, "%s", own);
    pv_status status = call(ctx, text, TEXT, text + TEXT) ? PV_OK : lost(ctx);
    for (int r = 0; r < size; r++) {
        bool failed = all[r].kind == KIND_END && all[r].status != PV_OK;
        if (at < 0 ? all[r].kind == KIND_END : failed && all[at].status == PV_OK)
            at = r;
    }
    char *message = text + (size_t)(at + 1) * TEXT;
    message[TEXT - 1] = '\0';
    pv_status told = at >= 0 && all[at].status != PV_OK ? (pv_status)all[at].status : PV_ERR_INTERNAL;
    if (status == PV_OK && at >= 0 && all[at].status == PV_OK)
        status =
            pv__fail(ctx, told, "rank %d ended while others were still working:\nrun all with the same options", at);
    else if (status == PV_OK)
        status = pv__fail(ctx, told, "rank %d: %s", at, message[0] ? message : pv_status_text(told));
    return status;
}

/* Exchanges headers. *ended: all processes have ended. own: the message of this process if it ends. */
static pv_status meet(pv_ctx *ctx, const header *mine, const char *own, bool *ended) {
    int size = ctx->ranks.calls.size, ends = 0, failed = 0;
    header *all = headers_of(ctx);
    pv_status status = call(ctx, mine, sizeof *mine, all) ? PV_OK : lost(ctx);
    for (int r = 0; status == PV_OK && r < size; r++) {
        ends += all[r].kind == KIND_END;
        failed += all[r].kind == KIND_END && all[r].status != PV_OK;
        ctx->ranks.stop |= all[r].interrupted != 0;
    }
    *ended = ends == size;
    ctx->ranks.told |= ends > 0;
    if (status == PV_OK && ends > 0 && (failed > 0 || ends < size))
        status = tell_end(ctx, all, own);
    for (int r = 1; status == PV_OK && ends == 0 && r < size; r++)
        if (all[r].number != all[0].number || all[r].bytes != all[0].bytes || all[r].kind != all[0].kind) {
            ctx->ranks.told = true;
            status = pv__fail(ctx, PV_ERR_INTERNAL,
                              "rank %d is not at the same step as rank 0;\ncheck that all have the same "
                              "data, options and program",
                              r);
        }
    return status;
}

pv_status pv__gather(pv_ctx *ctx, const void *mine, size_t bytes, void *all) {
    bool ended;
    header own = {
        .kind = KIND_DATA, .number = ctx->ranks.number++, .bytes = bytes, .interrupted = ctx->interrupted != 0};
    pv_status status = ctx->reduced;
    ctx->ranks.begun = true;
    if (status == PV_OK)
        status = meet(ctx, &own, "", &ended);
    if (status == PV_OK && !call(ctx, mine, bytes, all))
        status = lost(ctx);
    ctx->reduced = status; /* after a failure the only exchange left is the end */
    return status;
}

/* Every rank sends as many bytes as the rank with the most, because all must send the same number. */
static pv_status join(pv_ctx *ctx, const void *mine, size_t bytes, char **all, size_t *size) {
    size_t n = (size_t)ctx->ranks.calls.size, most = 0;
    uint64_t own = bytes, *each = NULL;
    char *padded = NULL;
    pv_status status;
    *size = 0;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *each, &each));
    PV_GOTO(done, pv__gather(ctx, &own, sizeof own, each));
    for (size_t r = 0; r < n; r++)
        most = each[r] > most ? (size_t)each[r] : most;
    PV_GOTO(done, pv__alloc(ctx, most, 1, &padded));
    PV_GOTO(done, pv__alloc(ctx, n, most, all));
    if (bytes)
        memcpy(padded, mine, bytes);
    PV_GOTO(done, pv__gather(ctx, padded, most, *all));
    for (size_t r = 0; r < n; r++) {
        memmove(*all + *size, *all + r * most, (size_t)each[r]);
        *size += (size_t)each[r];
    }
done:
    pv__free(ctx, each);
    pv__free(ctx, padded);
    return status;
}

pv_status pv__collect(pv_ctx *ctx, bool shared, const void *mine, size_t bytes, void **all, size_t *size) {
    char *joined = NULL;
    pv_status status;
    if (shared && pv__shares(ctx)) {
        status = join(ctx, mine, bytes, &joined, size);
    } else {
        status = pv__alloc(ctx, bytes, 1, &joined);
        *size = bytes;
        if (status == PV_OK && bytes)
            memcpy(joined, mine, bytes);
    }
    if (status != PV_OK) {
        pv__free(ctx, joined);
        joined = NULL;
    }
    *all = joined;
    return status;
}

/* The items of one rank: copies them to or from bytes, and returns their size. */
static size_t copy_items(size_t items, size_t rank, size_t size, pv__item_fields fields, void *state, char *to,
                         const char *from) {
    size_t bytes = 0;
    for (size_t i = rank; i < items; i += size) {
        pv_field field[PV_ITEM_FIELDS];
        size_t n = fields(state, i, field);
        for (size_t f = 0; f < n; bytes += field[f++].size) {
            if (to && field[f].size)
                memcpy(to + bytes, field[f].data, field[f].size);
            if (from && field[f].size)
                memcpy(field[f].data, from + bytes, field[f].size);
        }
    }
    return bytes;
}

pv_status pv__share_items(pv_ctx *ctx, size_t items, pv__item_fields fields, void *state) {
    if (!pv__shares(ctx))
        return PV_OK;
    size_t rank = (size_t)ctx->ranks.calls.rank, size = (size_t)ctx->ranks.calls.size, whole;
    size_t bytes = copy_items(items, rank, size, fields, state, NULL, NULL), at = 0;
    char *mine;
    void *all = NULL;
    PV_TRY(pv__alloc(ctx, bytes, 1, &mine));
    copy_items(items, rank, size, fields, state, mine, NULL);
    pv_status status = pv__collect(ctx, true, mine, bytes, &all, &whole);
    for (size_t r = 0; r < size; r++)
        at += copy_items(items, r, size, fields, state, NULL, NULL);
    if (status == PV_OK && at != whole)
        status =
            pv__fail(ctx, PV_ERR_INTERNAL, "the ranks disagree about the work;\ncheck that all have the same data");
    at = 0;
    for (size_t r = 0; status == PV_OK && r < size; r++)
        at += copy_items(items, r, size, fields, state, NULL, (const char *)all + at);
    pv__free(ctx, mine);
    pv__free(ctx, all);
    return status;
}

typedef struct list {
    char *array;
    size_t size;
} list;

static size_t list_field(void *state, size_t item, pv_field *field) {
    const list *l = state;
    *field = (pv_field){l->array + item * l->size, l->size};
    return 1;
}

pv_status pv__share_array(pv_ctx *ctx, size_t items, void *array, size_t size) {
    list all = {array, size};
    return pv__share_items(ctx, items, list_field, &all);
}

static pv_status end(pv_ctx *ctx, pv_status status) {
    bool ended = false;
    if (status == PV_OK)
        status = ctx->reduced;
    if (ctx->ranks.told || ctx->ranks.lost) /* no other process is listening */
        return status;
    header own = {.kind = KIND_END, .status = (uint32_t)status, .number = ctx->ranks.number};
    char message[TEXT];
    pv__format(message, sizeof message, "%s", status == PV_OK ? "" : pv_ctx_message(ctx));
    pv__error_break(&ctx->error, message);
    pv_status met = meet(ctx, &own, message, &ended);
    ctx->reduced = met;
    return met;
}

pv_status pv_ranks_end(pv_ctx *ctx, pv_status status) {
    if (ctx->ranks.calls.size == 0 && !ctx->ranks.mpi)
        return status;
    if (pv__shares(ctx) && !ctx->ranks.ended)
        status = end(ctx, status);
    if (ctx->ranks.mpi)
        ctx->ranks.mpi->stop(!ctx->ranks.lost);
    ctx->ranks.mpi = NULL;
    ctx->ranks.ended = true;
    return status;
}

/* ---- comparing ranks --------------------------------------------------------------------------------------------- */

/* The first line of `one` that `other` lacks, and its length. */
static size_t other_line(const char *one, const char *other, const char **at) {
    for (const char *line = one; *line;) {
        size_t length = strcspn(line, "\n");
        bool found = false;
        for (const char *there = other; *there && !found;) {
            size_t whole = strcspn(there, "\n");
            found = whole == length && memcmp(there, line, length) == 0;
            there += whole + (there[whole] == '\n');
        }
        *at = line;
        if (!found)
            return length;
        line += length + (line[length] == '\n');
    }
    return 0;
}

static pv_status refuse(pv_ctx *ctx, int rank, const char *theirs, const char *first) {
    const char *own = "", *there = "";
    size_t size = other_line(theirs, first, &own), before = other_line(first, theirs, &there);
    enum { SHOWN = 120 };
    return pv__fail(ctx, PV_ERR_USAGE,
                    "the work of rank %d differs from that of rank 0: %.*s%s%.*s;\ngive all ranks the same program, "
                    "data and options",
                    rank, (int)(size < SHOWN ? size : SHOWN), own, size && before ? ", there " : "",
                    (int)(before < SHOWN ? before : SHOWN), before ? there : "");
}

pv_status pv__ranks_compare(pv_ctx *ctx, const char *lines) {
    size_t n = (size_t)ctx->ranks.calls.size, length = strlen(lines) + 1, most = 0;
    if (!pv__shares(ctx))
        return PV_OK;
    uint64_t own[2] = {length, pv__hash(lines, length)}, *about = NULL;
    char *texts = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof own, &about));
    PV_GOTO(done, pv__gather(ctx, own, sizeof own, about));
    bool same = true;
    for (size_t r = 0; r < n; r++) {
        most = about[2 * r] > most ? (size_t)about[2 * r] : most;
        same = same && about[2 * r] == about[0] && about[2 * r + 1] == about[1];
    }
    if (same)
        goto done;
    PV_GOTO(done, pv__alloc(ctx, n + 1, most, &texts));
    memcpy(texts, lines, length);
    PV_GOTO(done, pv__gather(ctx, texts, most, texts + most));
    for (size_t r = 0; r < n; r++)
        texts[(r + 2) * most - 1] = '\0';
    for (size_t r = 1; r < n && status == PV_OK; r++)
        if (strcmp(texts + (r + 1) * most, texts + most) != 0)
            status = refuse(ctx, (int)r, texts + (r + 1) * most, texts + most);
    ctx->ranks.ended = true; /* all ranks know, and none sends anything more */
done:
    pv__free(ctx, about);
    pv__free(ctx, texts);
    return status;
}

/* ---- ranks of a context ------------------------------------------------------------------------------------------ */

static void leave(pv_ctx *ctx) {
    pv__ranks_free(ctx);
    memset(&ctx->ranks, 0, sizeof ctx->ranks);
    ctx->reduced = PV_OK;
}

void pv__ranks_free(pv_ctx *ctx) {
    pv__free(ctx, ctx->ranks.room);
    ctx->ranks.room = NULL;
}

pv_status pv_ctx_set_ranks(pv_ctx *ctx, const pv_ranks *ranks) {
    if (ctx->root != ctx)
        return pv__fail(ctx, PV_ERR_USAGE, "a context of a job cannot be one of several ranks");
    if (!ranks || ranks->size <= 1) {
        leave(ctx);
        return PV_OK;
    }
    if (ranks->rank < 0 || ranks->rank >= ranks->size || !ranks->gather)
        return pv__fail(ctx, PV_ERR_USAGE, "rank %d of %d: ranks are numbered from 0, and need a gather function",
                        ranks->rank, ranks->size);
    leave(ctx);
    ctx->ranks.lost = true; /* assumed until this succeeds, in case memory runs out */
    PV_TRY(set_room_aside(ctx, (size_t)ranks->size));
    ctx->ranks.lost = false;
    ctx->ranks.calls = *ranks;
    /* Instruction sets round differently, so ranks with different ones would diverge. */
    char lines[160];
    pv__format(lines, sizeof lines, "version=%s\nthe kernels of its processor=%s\n", PV_VERSION, pv_kernels());
    pv_status status = pv__ranks_compare(ctx, lines);
    ctx->ranks.begun = false; /* until work is shared, each rank reads its data alone and may be stopped alone */
    return status;
}

int pv_ctx_ranks(const pv_ctx *ctx, int *rank) {
    const pv_ranks *ranks = &ctx->root->ranks.calls;
    bool several = ranks->size > 1;
    if (rank)
        *rank = several ? ranks->rank : 0;
    return several ? ranks->size : 1;
}
