/* Queries of DuckDB as streams of Arrow batches. Results are streamed, so that only a few batches are in memory besides
 * our own columns. */
#include "data/duckdb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

pv_status pv__duckdb_load(pv_ctx *ctx, const char *source, bool writing, pv__duckdb_functions *f) {
    static const char *const files[] = {"libduckdb.so"};
#define SYMBOL(result, name, arguments) {"duckdb_" #name, (void **)&f->name},
    const pv__symbol symbols[] = {PV__DUCKDB_FUNCTIONS(SYMBOL){0}};
#undef SYMBOL
    return pv__engine_load(ctx, source, "PREVAIL_DUCKDB", files, 1, "DuckDB (https://duckdb.org)", writing, symbols);
}

void pv__duckdb_end(pv__duckdb *q) {
    if (!q->lost) {
        q->f.destroy_arrow_options(&q->options);
        q->f.destroy_result(&q->result);
        q->f.destroy_pending(&q->pending);
        q->f.destroy_prepare(&q->statement);
        q->f.disconnect(&q->connection);
        q->f.close(&q->database);
    }
    pv_string_list_free(q->ctx, q->spelled, q->n_spelled);
    pv_string_list_free(q->ctx, q->name, q->names);
    pv__free(q->ctx, q->read);
    pv__free(q->ctx, q->text);
    pv__free(q->ctx, q);
}

/* ---- calls that may never return --------------------------------------------------------------------------------- */

/* State of such a call. If the call is abandoned, the state is never freed. */
typedef struct call {
    pv__duckdb_functions f;
    pv__handle connection, statement, chunk;
    pv__duckdb_result result;
    char *text;
    int code;
} call;

static void run_prepare(void *state) {
    call *c = state;
    c->code = c->f.prepare(c->connection, c->text, &c->statement);
}

static void run_fetch(void *state) {
    call *c = state;
    c->chunk = c->f.fetch_chunk(c->result);
}

static void stop_call(void *state) {
    const call *c = state;
    c->f.interrupt(c->connection);
}

static void drop_call(void *state) {
    call *c = state;
    free(c->text);
    free(c);
}

/* Runs the call on another thread. done: its result; false: interrupted, or out of memory. */
static bool run_apart(pv__duckdb *q, void (*run)(void *), const char *text, call *done) {
    call *c = calloc(1, sizeof *c);
    char *copy = text ? strdup(text) : NULL;
    if (!c || (text && !copy)) {
        free(c);
        free(copy);
        return false;
    }
    *c = (call){.f = q->f, .connection = q->connection, .result = q->result, .text = copy};
    if (!pv__blocking_run(q->ctx, &(pv__blocking){run, stop_call, drop_call, c})) {
        q->lost = true;
        return false; /* c now belongs to that thread */
    }
    *done = *c;
    drop_call(c);
    return true;
}

/* ---- the stream -------------------------------------------------------------------------------------------------- */

/* Copies the text of an error for get_last_error and frees the error. */
static int note(pv__duckdb *q, pv__handle error) {
    if (!error)
        return 0;
    const char *text = q->f.error_data_message(error);
    pv__format(q->error, sizeof q->error, "%s", text ? text : "DuckDB failed");
    q->f.destroy_error_data(&error);
    return EIO;
}

/* Columns that are not read get an arbitrary type. */
static int make_schema(pv__duckdb *q, pv__idx n, pv__handle *types, const char **names, struct ArrowSchema *out) {
    pv__idx of = 0; /* the result */
    for (pv__idx c = 0; c < n; c++) {
        bool read = !q->read || q->read[c];
        types[c] = read ? q->f.column_logical_type(&q->result, of) : q->f.create_logical_type(PV__DUCKDB_TINYINT);
        names[c] = read ? q->f.column_name(&q->result, of) : q->name[c];
        of += read;
    }
    int code = note(q, q->f.to_arrow_schema(q->options, types, names, n, out));
    for (pv__idx c = 0; code == 0 && c < n; c++)
        if (pv__listed((const char *const *)q->spelled, q->n_spelled, names[c]))
            out->children[c]->flags |= PV__ARROW_NUMBERS;
    for (pv__idx c = 0; c < n; c++)
        q->f.destroy_logical_type(&types[c]);
    return code;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    pv__duckdb *q = stream->private_data;
    pv__idx n = q->read ? q->names : q->f.column_count(&q->result);
    pv__handle *types = NULL;
    const char **names = NULL;
    *out = (struct ArrowSchema){0};
    int code = ENOMEM;
    if (pv__alloc(q->ctx, (size_t)n, sizeof *types, &types) == PV_OK &&
        pv__alloc(q->ctx, (size_t)n, sizeof *names, &names) == PV_OK)
        code = make_schema(q, n, types, names, out);
    pv__free(q->ctx, types);
    pv__free(q->ctx, names);
    return code;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    pv__duckdb *q = stream->private_data;
    *out = (struct ArrowArray){0};
    call fetched = {0};
    bool done = run_apart(q, run_fetch, NULL, &fetched);
    if (!done && !q->lost)
        return ENOMEM;
    if (!fetched.chunk && pv__interrupted(q->ctx)) {
        pv__format(q->error, sizeof q->error, "stopped on request");
        return EINTR;
    }
    pv__handle chunk = fetched.chunk;
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
    return ((pv__duckdb *)stream->private_data)->error;
}

static void release(struct ArrowArrayStream *stream) {
    pv__duckdb_end(stream->private_data);
    stream->release = NULL;
}

/* ---- the query --------------------------------------------------------------------------------------------------- */

/* Opens a database read-only, with network access disabled. */
static pv_status open_database(pv__duckdb *q, const pv__query *query, int threads) {
    char count[32], *error = NULL;
    pv__handle config;
    pv__format(count, sizeof count, "%d", threads);
    if (q->f.create_config(&config) != PV__DUCKDB_SUCCESS)
        return pv__fail(q->ctx, PV_ERR_MEMORY, "out of memory");
    bool set = q->f.set_config(config, "threads", count) == PV__DUCKDB_SUCCESS &&
               q->f.set_config(config, "autoinstall_known_extensions", "false") == PV__DUCKDB_SUCCESS &&
               q->f.set_config(config, "autoload_known_extensions", "false") == PV__DUCKDB_SUCCESS &&
               (!query->database || q->f.set_config(config, "access_mode", "READ_ONLY") == PV__DUCKDB_SUCCESS);
    pv_status status = PV_OK;
    if (!set || q->f.open_ext(query->database, &q->database, config, &error) != PV__DUCKDB_SUCCESS ||
        q->f.connect(q->database, &q->connection) != PV__DUCKDB_SUCCESS)
        status = pv__engine_fail(q->ctx, query->name, error);
    q->f.free(error);
    q->f.destroy_config(&config);
    return status;
}

pv_status pv__duckdb_begin(pv_ctx *ctx, const pv__query *query, int threads, pv__duckdb **begun) {
    pv__duckdb_functions f;
    pv__duckdb *q;
    PV_TRY(pv__duckdb_load(ctx, query->name, false, &f));
    PV_TRY(pv__alloc(ctx, 1, sizeof *q, &q));
    q->f = f;
    q->ctx = ctx;
    pv_status status = open_database(q, query, threads);
    if (status == PV_OK)
        *begun = q;
    else
        pv__duckdb_end(q);
    return status;
}

pv_status pv__duckdb_prepare(pv__duckdb *q, const pv__query *query, const char *text) {
    q->f.destroy_prepare(&q->statement);
    if (q->f.prepare(q->connection, text, &q->statement) != PV__DUCKDB_SUCCESS)
        return pv__engine_fail(q->ctx, query->name, q->f.prepare_error(q->statement));
    return PV_OK;
}

/* Prepares the user's query on another thread, because planning may take for ever. */
static pv_status prepare_apart(pv__duckdb *q, const pv__query *query) {
    call prepared = {0};
    bool done = run_apart(q, run_prepare, query->text, &prepared);
    q->statement = prepared.statement;
    if (pv__interrupted(q->ctx))
        return pv__fail(q->ctx, PV_ERR_INTERRUPTED, "stopped while reading %s", query->name);
    if (!done)
        return pv__fail(q->ctx, PV_ERR_MEMORY, "out of memory");
    return prepared.code == PV__DUCKDB_SUCCESS ? PV_OK
                                               : pv__engine_fail(q->ctx, query->name, q->f.prepare_error(q->statement));
}

static bool is_number(int type) {
    return (type >= PV__DUCKDB_TINYINT && type <= PV__DUCKDB_DOUBLE) || type == PV__DUCKDB_HUGEINT ||
           type == PV__DUCKDB_DECIMAL || type == PV__DUCKDB_UHUGEINT;
}

static pv_status list_numbers(pv__duckdb *q) {
    pv__idx columns = q->f.prepared_statement_column_count(q->statement);
    PV_TRY(pv__alloc(q->ctx, (size_t)columns, sizeof *q->spelled, &q->spelled));
    for (pv__idx c = 0; c < columns; c++) {
        if (!is_number(q->f.prepared_statement_column_type(q->statement, c)))
            continue;
        char *name = q->f.prepared_statement_column_name(q->statement, c);
        pv_status status = pv__strdup(q->ctx, name ? name : "", &q->spelled[q->n_spelled]);
        q->n_spelled += status == PV_OK;
        q->f.free(name);
        PV_TRY(status);
    }
    return PV_OK;
}

/* CSV files: lets DuckDB detect which columns are numbers, and then return them as they are written (00012). */
static pv_status spell(pv__duckdb *q, const pv__query *query) {
    static const char types[] = ", types = {", type[] = ": 'VARCHAR'";
    PV_TRY(list_numbers(q));
    if (q->n_spelled == 0)
        return PV_OK;
    size_t length = strlen(query->text) - 1, room = length + sizeof types + 3;
    for (size_t i = 0; i < q->n_spelled; i++)
        room += 2 * strlen(q->spelled[i]) + sizeof type + 4;
    PV_TRY(pv__alloc(q->ctx, room, 1, &q->text));
    memcpy(q->text, query->text, length); /* without the closing parenthesis */
    char *at = stpcpy(q->text + length, types);
    for (size_t i = 0; i < q->n_spelled; i++) {
        at = pv__sql_quote(i ? stpcpy(at, ", ") : at, q->spelled[i], strlen(q->spelled[i]), '\'');
        at = stpcpy(at, type);
    }
    at = stpcpy(at, "})");
    (void)at;
    return pv__duckdb_prepare(q, query, q->text);
}

/* Lists the query's columns and marks the requested ones; *wanted: their number. */
static pv_status list_columns(pv__duckdb *q, const pv_csv_options *options, size_t *wanted) {
    size_t columns = (size_t)q->f.prepared_statement_column_count(q->statement);
    *wanted = 0;
    PV_TRY(pv__alloc(q->ctx, columns, sizeof *q->name, &q->name));
    PV_TRY(pv__alloc(q->ctx, columns, sizeof *q->read, &q->read));
    for (; q->names < columns; q->names++) {
        char *name = q->f.prepared_statement_column_name(q->statement, q->names);
        pv_status status = pv__strdup(q->ctx, name ? name : "", &q->name[q->names]);
        q->read[q->names] = name && pv__listed(options->keep, options->n_keep, name);
        *wanted += q->read[q->names];
        q->f.free(name);
        PV_TRY(status);
    }
    return PV_OK;
}

/* Restricts the query to the requested columns, so that columnar files need not read the others. The schema keeps all,
 * for messages. */
static pv_status project(pv__duckdb *q, const pv__query *query, const pv_csv_options *options) {
    static const char head[] = "SELECT ", tail[] = " FROM (";
    size_t wanted;
    PV_TRY(list_columns(q, options, &wanted));
    if (wanted == 0 || wanted == q->names) {
        pv__free(q->ctx, q->read);
        q->read = NULL;
        return PV_OK;
    }
    const char *all = q->text ? q->text : query->text;
    size_t room = sizeof head + sizeof tail + strlen(all) + 3;
    for (size_t c = 0; c < q->names; c++)
        room += q->read[c] ? 2 * strlen(q->name[c]) + 4 : 0;
    char *text;
    PV_TRY(pv__alloc(q->ctx, room, 1, &text));
    char *at = stpcpy(text, head);
    for (size_t c = 0, found = 0; c < q->names; c++)
        if (q->read[c])
            at = pv__sql_quote(found++ ? stpcpy(at, ", ") : at, q->name[c], strlen(q->name[c]), '"');
    at = stpcpy(stpcpy(stpcpy(at, tail), all), "\n)"); /* the query may end with a comment */
    (void)at;
    pv_status status = pv__duckdb_prepare(q, query, text);
    pv__free(q->ctx, text);
    return status;
}

/* Executes task by task, so that it can be interrupted before the first row. */
pv_status pv__duckdb_execute(pv__duckdb *q, const pv__query *query) {
    if (q->f.pending_prepared_streaming(q->statement, &q->pending) != PV__DUCKDB_SUCCESS)
        return pv__engine_fail(q->ctx, query->name, q->f.pending_error(q->pending));
    for (;;) {
        pv__pending state = q->f.pending_execute_task(q->pending);
        if (state == PV__PENDING_ERROR)
            return pv__engine_fail(q->ctx, query->name, q->f.pending_error(q->pending));
        if (pv__interrupted(q->ctx))
            return pv__fail(q->ctx, PV_ERR_INTERRUPTED, "stopped while reading %s", query->name);
        if (state != PV__PENDING_NOT_READY)
            break;
    }
    if (q->f.execute_pending(q->pending, &q->result) != PV__DUCKDB_SUCCESS)
        return pv__engine_fail(q->ctx, query->name, q->f.result_error(&q->result));
    q->options = q->f.result_get_arrow_options(&q->result);
    return PV_OK;
}

pv_status pv__duckdb_stream(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                            struct ArrowArrayStream *stream) {
    pv__duckdb *q;
    PV_TRY(pv__duckdb_begin(ctx, query, pv_ctx_threads(ctx), &q));
    pv_status status;
    PV_GOTO(failed, prepare_apart(q, query));
    if (query->csv)
        PV_GOTO(failed, spell(q, query));
    if (options->keep)
        PV_GOTO(failed, project(q, query, options));
    PV_GOTO(failed, pv__duckdb_execute(q, query));
    *stream = (struct ArrowArrayStream){get_schema, get_next, last_error, release, q};
    return PV_OK;
failed:
    pv__duckdb_end(q);
    return status;
}
