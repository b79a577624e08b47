/* CSV read by two ranks together, each parsing the lines that begin in its half: both must get the table, or the error,
 * of a single process. The first line of the input is the header; the others are repeated up to the size from which
 * files are divided, so that the boundary can be anywhere.
 */
#include <pthread.h>

#include "fuzz.h"

enum { RANKS = 2, BYTES = RANKS * (1 << 16) + 4096 };

typedef struct meeting {
    pthread_barrier_t barrier;
    const void *mine[RANKS];
} meeting;

typedef struct reader {
    meeting *all; /* NULL: a single process */
    int rank;
    const char *path;
    pv_ctx *ctx;
    pv_table *table;
    pv_status status;
} reader;

static bool gather(void *state, const void *mine, size_t bytes, void *all) {
    const reader *r = state;
    r->all->mine[r->rank] = mine;
    pthread_barrier_wait(&r->all->barrier);
    for (int i = 0; i < RANKS; i++)
        memcpy((char *)all + (size_t)i * bytes, r->all->mine[i], bytes);
    pthread_barrier_wait(&r->all->barrier);
    return true;
}

static void *read_file(void *state) {
    reader *r = state;
    const pv_ctx_options options = {.threads = 1};
    FUZZ_CHECK(pv_ctx_new(&options, &r->ctx) == PV_OK, "no context");
    const pv_ranks ranks = {.rank = r->rank, .size = RANKS, .state = r, .gather = gather};
    r->status = r->all ? pv_ctx_set_ranks(r->ctx, &ranks) : PV_OK;
    if (r->status == PV_OK)
        r->status = pv_table_read(r->ctx, r->path, NULL, &r->table);
    return NULL;
}

static void compare(const reader *alone, const reader *other) {
    const pv_error *error = pv_ctx_error(alone->ctx), *found = pv_ctx_error(other->ctx);
    FUZZ_CHECK(other->status == alone->status, "'%s' became '%s' (%s)", pv_status_name(alone->status),
               pv_status_name(other->status), found->message);
    if (alone->status != PV_OK) {
        FUZZ_CHECK(strcmp(error->message, found->message) == 0, "'%s' became '%s'", error->message, found->message);
        FUZZ_CHECK(error->line == found->line, "line %zu became %zu", error->line, found->line);
        return;
    }
    fuzz_same_table(alone->table, other->table);
    FUZZ_CHECK(alone->table->hash == other->table->hash, "another hash");
    for (size_t row = 0; row < alone->table->rows; row++)
        FUZZ_CHECK(pv_table_line(alone->table, row) == pv_table_line(other->table, row), "line %zu became %zu",
                   pv_table_line(alone->table, row), pv_table_line(other->table, row));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size > 1 && size <= 4096 ? memchr(data, '\n', size - 1) : NULL;
    if (!end || data[0] == 'P') /* no second line, or possibly a Parquet file */
        return 0;
    size_t head = (size_t)(end - data) + 1, body = size - head;
    fuzz_bytes file = {0};
    fuzz_append(&file, data, head);
    while (file.size < BYTES)
        fuzz_append(&file, data + head, body);
    meeting all;
    reader alone = {.path = fuzz_file(0, file.data, file.size)}, both[RANKS];
    pthread_t thread[RANKS];
    read_file(&alone);
    FUZZ_CHECK(pthread_barrier_init(&all.barrier, NULL, RANKS) == 0, "no barrier");
    for (int r = 0; r < RANKS; r++) {
        both[r] = (reader){.all = &all, .rank = r, .path = alone.path};
        FUZZ_CHECK(pthread_create(&thread[r], NULL, read_file, &both[r]) == 0, "no thread");
    }
    for (int r = 0; r < RANKS; r++)
        FUZZ_CHECK(pthread_join(thread[r], NULL) == 0, "no end");
    pthread_barrier_destroy(&all.barrier);
    for (int r = 0; r < RANKS; r++) {
        compare(&alone, &both[r]);
        pv_table_free(both[r].ctx, both[r].table);
        pv_ctx_free(both[r].ctx);
    }
    pv_table_free(alone.ctx, alone.table);
    pv_ctx_free(alone.ctx);
    free(file.data);
    return 0;
}
