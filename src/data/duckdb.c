/* Queries of DuckDB as streams of Arrow batches.
 *
 * Its C interface as of version 1.4: https://duckdb.org/docs/stable/clients/c/api. Only the functions used are
 * declared; handles are pointers, and indices 64-bit numbers. Results are streamed, so that beside our own columns
 * there are a few batches at a time. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "data/query.h"

typedef uint64_t idx_t;
typedef void *handle;
typedef struct duckdb_result {
    idx_t column_count, row_count, rows_changed;
    void *columns;
    char *error_message;
    void *internal;
} duckdb_result;

enum { SUCCESS = 0 };
typedef enum pending_state { PENDING_READY, PENDING_NOT_READY, PENDING_ERROR, PENDING_NO_TASKS } pending_state;

/* One row a function: what it returns, its name without duckdb_, its arguments. */
#define FUNCTIONS(F)                                                                                                   \
    F(int, open_ext, (const char *path, handle *database, handle config, char **error))                                \
    F(void, close, (handle *))                                                                                         \
    F(int, connect, (handle database, handle * connection))                                                            \
    F(void, disconnect, (handle *))                                                                                    \
    F(int, create_config, (handle *))                                                                                  \
    F(int, set_config, (handle, const char *name, const char *option))                                                 \
    F(void, destroy_config, (handle *))                                                                                \
    F(void, free, (void *))                                                                                            \
    F(int, prepare, (handle connection, const char *query, handle *statement))                                         \
    F(const char *, prepare_error, (handle statement))                                                                 \
    F(void, destroy_prepare, (handle *))                                                                               \
    F(idx_t, prepared_statement_column_count, (handle statement))                                                      \
    F(char *, prepared_statement_column_name, (handle statement, idx_t))                                               \
    F(int, pending_prepared_streaming, (handle statement, handle * pending))                                           \
    F(const char *, pending_error, (handle pending))                                                                   \
    F(pending_state, pending_execute_task, (handle pending))                                                           \
    F(int, execute_pending, (handle pending, duckdb_result *))                                                         \
    F(void, destroy_pending, (handle *))                                                                               \
    F(void, destroy_result, (duckdb_result *))                                                                         \
    F(const char *, result_error, (duckdb_result *))                                                                   \
    F(idx_t, column_count, (duckdb_result *))                                                                          \
    F(const char *, column_name, (duckdb_result *, idx_t))                                                             \
    F(handle, column_logical_type, (duckdb_result *, idx_t))                                                           \
    F(void, destroy_logical_type, (handle *))                                                                          \
    F(handle, result_get_arrow_options, (duckdb_result *))                                                             \
    F(void, destroy_arrow_options, (handle *))                                                                         \
    F(handle, to_arrow_schema,                                                                                         \
      (handle options, handle * types, const char **names, idx_t columns, struct ArrowSchema *schema))                 \
    F(handle, data_chunk_to_arrow, (handle options, handle chunk, struct ArrowArray * array))                          \
    F(handle, fetch_chunk, (duckdb_result))                                                                            \
    F(void, destroy_data_chunk, (handle *))                                                                            \
    F(const char *, error_data_message, (handle))                                                                      \
    F(void, destroy_error_data, (handle *))

typedef struct functions {
#define FIELD(result, name, arguments) result(*name) arguments;
    FUNCTIONS(FIELD)
#undef FIELD
} functions;

/* A query that runs. The texts of names are the result's. */
typedef struct running {
    functions f;
    pv_ctx *ctx;
    handle database, connection, statement, pending, options;
    duckdb_result result;
    char error[512];
} running;

static pv_status load(pv_ctx *ctx, const char *source, functions *f) {
    static const char *const files[] = {"libduckdb.so"};
#define SYMBOL(result, name, arguments) {"duckdb_" #name, (void **)&f->name},
    const pv__symbol symbols[] = {FUNCTIONS(SYMBOL){0}};
#undef SYMBOL
    return pv__engine_load(ctx, source, "PREVAIL_DUCKDB", files, 1, "DuckDB (https://duckdb.org)", symbols);
}

static void finish(running *q) {
    q->f.destroy_arrow_options(&q->options);
    q->f.destroy_result(&q->result);
    q->f.destroy_pending(&q->pending);
    q->f.destroy_prepare(&q->statement);
    q->f.disconnect(&q->connection);
    q->f.close(&q->database);
    pv__free(q->ctx, q);
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

/* Keeps the text of an error for get_last_error, and lets it go. */
static int note(running *q, handle error) {
    if (!error)
        return 0;
    const char *text = q->f.error_data_message(error);
    pv__format(q->error, sizeof q->error, "%s", text ? text : "DuckDB failed");
    q->f.destroy_error_data(&error);
    return EIO;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    running *q = stream->private_data;
    idx_t n = q->f.column_count(&q->result);
    handle *types;
    const char **names;
    *out = (struct ArrowSchema){0};
    if (pv__alloc(q->ctx, (size_t)n, sizeof *types, &types) != PV_OK)
        return ENOMEM;
    if (pv__alloc(q->ctx, (size_t)n, sizeof *names, &names) != PV_OK) {
        pv__free(q->ctx, types);
        return ENOMEM;
    }
    for (idx_t c = 0; c < n; c++) {
        types[c] = q->f.column_logical_type(&q->result, c);
        names[c] = q->f.column_name(&q->result, c);
    }
    int code = note(q, q->f.to_arrow_schema(q->options, types, names, n, out));
    for (idx_t c = 0; c < n; c++)
        q->f.destroy_logical_type(&types[c]);
    pv__free(q->ctx, types);
    pv__free(q->ctx, names);
    return code;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    running *q = stream->private_data;
    *out = (struct ArrowArray){0};
    handle chunk = q->f.fetch_chunk(q->result);
    if (!chunk) {
        const char *error = q->f.result_error(&q->result);
        pv__format(q->error, sizeof q->error, "%s", error ? error : "");
        return error && *error ? EIO : 0;
    }
    int code = note(q, q->f.data_chunk_to_arrow(q->options, chunk, out));
    q->f.destroy_data_chunk(&chunk);
    return code;
}

static const char *last_error(struct ArrowArrayStream *stream) {
    return ((running *)stream->private_data)->error;
}

static void release(struct ArrowArrayStream *stream) {
    finish(stream->private_data);
    stream->release = NULL;
}

/* ---- the query --------------------------------------------------------------------------------------------------- */

/* Nothing is fetched from the network, and a database is only read. */
static pv_status open_database(running *q, const pv__query *query) {
    char threads[32], *error = NULL;
    handle config;
    pv__format(threads, sizeof threads, "%d", pv_ctx_threads(q->ctx));
    if (q->f.create_config(&config) != SUCCESS)
        return pv__fail(q->ctx, PV_ERR_MEMORY, "out of memory");
    bool set = q->f.set_config(config, "threads", threads) == SUCCESS &&
               q->f.set_config(config, "autoinstall_known_extensions", "false") == SUCCESS &&
               q->f.set_config(config, "autoload_known_extensions", "false") == SUCCESS &&
               (!query->database || q->f.set_config(config, "access_mode", "READ_ONLY") == SUCCESS);
    pv_status status = PV_OK;
    if (!set || q->f.open_ext(query->database, &q->database, config, &error) != SUCCESS ||
        q->f.connect(q->database, &q->connection) != SUCCESS)
        status = pv__engine_fail(q->ctx, query->name, error);
    q->f.free(error);
    q->f.destroy_config(&config);
    return status;
}

static pv_status prepare(running *q, const pv__query *query, const char *text) {
    q->f.destroy_prepare(&q->statement);
    if (q->f.prepare(q->connection, text, &q->statement) != SUCCESS)
        return pv__engine_fail(q->ctx, query->name, q->f.prepare_error(q->statement));
    return PV_OK;
}

/* Of the columns that the query has, those that are wanted: what is not, a file of columns need not read. */
static pv_status project(running *q, const pv__query *query, const pv_csv_options *options) {
    static const char head[] = "SELECT ", tail[] = " FROM (";
    idx_t columns = q->f.prepared_statement_column_count(q->statement);
    size_t room = sizeof head + sizeof tail + strlen(query->text) + 3, found = 0;
    for (idx_t c = 0; c < columns; c++) {
        char *name = q->f.prepared_statement_column_name(q->statement, c);
        room += name ? 2 * strlen(name) + 4 : 0;
        q->f.free(name);
    }
    char *text;
    PV_TRY(pv__alloc(q->ctx, room, 1, &text));
    char *at = stpcpy(text, head);
    for (idx_t c = 0; c < columns; c++) {
        char *name = q->f.prepared_statement_column_name(q->statement, c);
        if (name && pv__listed(options->keep, options->n_keep, name)) {
            if (found++)
                at = stpcpy(at, ", ");
            at = pv__sql_quote(at, name, strlen(name), '"');
        }
        q->f.free(name);
    }
    at = stpcpy(stpcpy(stpcpy(at, tail), query->text), "\n)"); /* it may end with a comment */
    (void)at;
    pv_status status = found > 0 && found < columns ? prepare(q, query, text) : PV_OK;
    pv__free(q->ctx, text);
    return status;
}

/* Task by task, so that it can be stopped before there is a first row. */
static pv_status execute(running *q, const pv__query *query) {
    if (q->f.pending_prepared_streaming(q->statement, &q->pending) != SUCCESS)
        return pv__engine_fail(q->ctx, query->name, q->f.pending_error(q->pending));
    for (;;) {
        pending_state state = q->f.pending_execute_task(q->pending);
        if (state == PENDING_ERROR)
            return pv__engine_fail(q->ctx, query->name, q->f.pending_error(q->pending));
        if (pv__interrupted(q->ctx))
            return pv__fail(q->ctx, PV_ERR_INTERRUPTED, "stopped while reading %s", query->name);
        if (state != PENDING_NOT_READY)
            break;
    }
    if (q->f.execute_pending(q->pending, &q->result) != SUCCESS)
        return pv__engine_fail(q->ctx, query->name, q->f.result_error(&q->result));
    q->options = q->f.result_get_arrow_options(&q->result);
    return PV_OK;
}

pv_status pv__duckdb_stream(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                            struct ArrowArrayStream *stream) {
    running *q;
    functions f;
    PV_TRY(load(ctx, query->name, &f));
    PV_TRY(pv__alloc(ctx, 1, sizeof *q, &q));
    q->f = f;
    q->ctx = ctx;
    pv_status status;
    PV_GOTO(failed, open_database(q, query));
    PV_GOTO(failed, prepare(q, query, query->text));
    if (options->keep)
        PV_GOTO(failed, project(q, query, options));
    PV_GOTO(failed, execute(q, query));
    *stream = (struct ArrowArrayStream){get_schema, get_next, last_error, release, q};
    return PV_OK;
failed:
    finish(q);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* COPY (SELECT * FROM read_csv('from', columns = {'name': 'TYPE', ...})) TO 'to'. NULL: no memory. */
static char *copy_text(pv_ctx *ctx, const char *from, const char *to, size_t columns, const pv_output_column *column) {
    size_t room = 400 + 2 * strlen(from) + 2 * strlen(to);
    for (size_t c = 0; c < columns; c++)
        room += 2 * strlen(column[c].name) + 24;
    char *text;
    if (pv__alloc(ctx, room, 1, &text) != PV_OK)
        return NULL;
    char *at = pv__sql_quote(stpcpy(text, "COPY (SELECT * FROM read_csv("), from, strlen(from), '\'');
    at = stpcpy(at, ", header = true, delim = ',', quote = '\"', escape = '\"', auto_detect = false, nullstr = ['', "
                    "'NA'], columns = {");
    for (size_t c = 0; c < columns; c++) {
        at = pv__sql_quote(c > 0 ? stpcpy(at, ", ") : at, column[c].name, strlen(column[c].name), '\'');
        at = stpcpy(at, column[c].type == PV_COLUMN_NUMBER ? ": 'DOUBLE'" : ": 'VARCHAR'");
    }
    at = pv__sql_quote(stpcpy(at, "})) TO "), to, strlen(to), '\'');
    stpcpy(at, " (FORMAT parquet, USE_TMP_FILE false)");
    return text;
}

static pv_status run(pv_ctx *ctx, char *name, char *text) {
    running *q;
    functions f;
    PV_TRY(load(ctx, name, &f));
    PV_TRY(pv__alloc(ctx, 1, sizeof *q, &q));
    q->f = f;
    q->ctx = ctx;
    pv__query query = {.name = name, .text = text};
    pv_status status = open_database(q, &query);
    if (status == PV_OK)
        status = prepare(q, &query, text);
    if (status == PV_OK)
        status = execute(q, &query);
    finish(q);
    return status;
}

bool pv_output_is_parquet(const char *path) {
    return pv__text_ends(path, ".parquet");
}

pv_status pv_output_check_parquet(pv_ctx *ctx, const char *path) {
    functions f;
    return load(ctx, path, &f);
}

pv_status pv_output_commit_parquet(pv_ctx *ctx, pv_output *output, size_t columns, const pv_output_column *column) {
    pv_output packed = {0};
    char *text = NULL;
    pv_status status;
    if (!output->temporary)
        PV_GOTO(done, pv__fail_at(ctx, PV_ERR_PATH, output->path, 0, 0,
                                  "is no regular file, as Parquet needs it; give another name"));
    if (fflush(output->stream) != 0 || ferror(output->stream))
        PV_GOTO(done, pv__fail_at(ctx, PV_ERR_WRITE, output->path, 0, 0,
                                  "could not be written completely: %s; what was there before is unchanged",
                                  errno ? strerror(errno) : "the disk may be full"));
    PV_GOTO(done, pv_output_open(ctx, output->path, &packed));
    text = copy_text(ctx, output->temporary, packed.temporary, columns, column);
    if (!text)
        PV_GOTO(done, pv__fail(ctx, PV_ERR_MEMORY, "out of memory"));
    PV_GOTO(done, run(ctx, output->path, text));
    status = pv_output_commit(ctx, &packed);
done:
    pv__free(ctx, text);
    pv_output_discard(ctx, &packed);
    pv_output_discard(ctx, output);
    return status;
}
