/* Queries of PostgreSQL servers, through libpq in single-row mode, so that the result is never in memory as a whole.
 * User, host and password are left to libpq and its variables (PGUSER, PGPASSFILE, ...). */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "data/query.h"
#include "data/row_stream.h"

enum { CONNECTION_OK = 0 };
enum { POLLING_FAILED = 0, POLLING_READING = 1, POLLING_WRITING = 2, POLLING_OK = 3 };
enum { COMMAND_OK = 1, TUPLES_OK = 2, SINGLE_TUPLE = 9 };

typedef struct option {
    const char *keyword, *variable, *compiled, *value, *label, *how;
    int size;
} option;

/* One row per function: its return type, its name without PQ, its arguments. */
#define FUNCTIONS(F)                                                                                                   \
    F(void *, connectStart, (const char *about))                                                                       \
    F(int, connectPoll, (void *connection))                                                                            \
    F(option *, conninfo, (void *connection))                                                                          \
    F(void, conninfoFree, (option * options))                                                                          \
    F(int, status, (const void *connection))                                                                           \
    F(const char *, errorMessage, (const void *connection))                                                            \
    F(void, finish, (void *connection))                                                                                \
    F(int, sendQuery, (void *connection, const char *text))                                                            \
    F(int, sendQueryParams,                                                                                            \
      (void *connection, const char *text, int n, const unsigned *types, const char *const *values,                    \
       const int *lengths, const int *formats, int format))                                                            \
    F(int, isBusy, (void *connection))                                                                                 \
    F(int, consumeInput, (void *connection))                                                                           \
    F(int, socket, (const void *connection))                                                                           \
    F(void *, getCancel, (void *connection))                                                                           \
    F(int, cancel, (void *cancel, char *error, int size))                                                              \
    F(void, freeCancel, (void *cancel))                                                                                \
    F(void *, setNoticeProcessor, (void *connection, void (*take)(void *, const char *), void *state))                 \
    F(int, setSingleRowMode, (void *connection))                                                                       \
    F(void *, getResult, (void *connection))                                                                           \
    F(int, resultStatus, (const void *result))                                                                         \
    F(const char *, resultErrorMessage, (const void *result))                                                          \
    F(void, clear, (void *result))                                                                                     \
    F(int, nfields, (const void *result))                                                                              \
    F(int, ntuples, (const void *result))                                                                              \
    F(const char *, fname, (const void *result, int column))                                                           \
    F(unsigned, ftype, (const void *result, int column))                                                               \
    F(int, getisnull, (const void *result, int row, int column))                                                       \
    F(const char *, getvalue, (const void *result, int row, int column))                                               \
    F(int, getlength, (const void *result, int row, int column))

typedef struct functions {
#define FIELD(result, name, arguments) result(*name) arguments;
    FUNCTIONS(FIELD)
#undef FIELD
} functions;

typedef struct server {
    pv_ctx *ctx;
    functions f;
    void *connection;
    void *row;   /* the current row, or the first one, fetched to learn the columns */
    bool looked; /* the first row has been fetched for that */
} server;

static pv_status load(pv_ctx *ctx, const char *source, functions *f) {
    static const char *const files[] = {"libpq.so.5", "libpq.so"};
#define SYMBOL(result, name, arguments) {"PQ" #name, (void **)&f->name},
    const pv__symbol symbols[] = {FUNCTIONS(SYMBOL){0}};
#undef SYMBOL
    return pv__engine_load(ctx, source, "PREVAIL_LIBPQ", files, 2, "PostgreSQL's libpq (Debian: libpq5)", false,
                           symbols);
}

/* By the type numbers of the server's catalogue, pg_type. */
static pv__cell_kind kind_of(unsigned type) {
    enum { FIRST_OF_USERS = 16384 }; /* enumerations and domains, written as texts */
    static const unsigned numbers[] = {20, 21, 23, 26, 700, 701, 1700},
                          texts[] = {16, 18, 19, 25, 705, 1042, 1043, 2950};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (type == numbers[i])
            return PV__CELL_NUMBER;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (type == texts[i])
            return PV__CELL_TEXT;
    return type >= FIRST_OF_USERS ? PV__CELL_TEXT : PV__CELL_OTHER;
}

enum { BOOLEAN = 16, SINGLE = 700, DOUBLE = 701 };

static const char *name(void *state, size_t c) {
    server *s = state;
    return s->f.fname(s->row, (int)c);
}

static pv__cell_kind declared(void *state, size_t c) {
    server *s = state;
    return kind_of(s->f.ftype(s->row, (int)c));
}

/* ---- waiting; a server may never answer -------------------------------------------------------------------------- */

enum { MILLISECONDS = 100 };

static bool wait_for_socket(const server *s, short events) {
    struct pollfd socket = {.fd = s->f.socket(s->connection), .events = events};
    return poll(&socket, 1, MILLISECONDS) > 0;
}

typedef struct cancelling {
    functions f;
    void *cancel;
} cancelling;

static void run_cancel(void *state) {
    cancelling *c = state;
    char error[256];
    c->f.cancel(c->cancel, error, (int)sizeof error);
}

static void drop_cancel(void *state) {
    cancelling *c = state;
    c->f.freeCancel(c->cancel);
    free(c);
}

/* Asks the server to cancel the query, and does not wait for an answer for ever. */
static void cancel_query(server *s) {
    cancelling *c = calloc(1, sizeof *c);
    if (!c)
        return;
    *c = (cancelling){s->f, s->f.getCancel(s->connection)};
    if (!c->cancel || pv__blocking_run(s->ctx, &(pv__blocking){run_cancel, NULL, drop_cancel, c}))
        drop_cancel(c);
}

/* The next result; NULL if interrupted, or at the end. */
static void *wait_for_result(server *s) {
    while (s->f.isBusy(s->connection)) {
        if (pv__interrupted(s->ctx)) {
            cancel_query(s);
            return NULL;
        }
        if (wait_for_socket(s, POLLIN) && !s->f.consumeInput(s->connection))
            break; /* a lost connection shows in the result */
    }
    return s->f.getResult(s->connection);
}

/* `connect_timeout` in seconds, which libpq itself applies only to blocking connections; 0: none. */
static double timeout_of(const server *s) {
    option *all = s->f.conninfo(s->connection);
    double seconds = 0;
    for (const option *o = all; o && o->keyword; o++)
        if (strcmp(o->keyword, "connect_timeout") == 0 && o->value)
            pv__number_parse(o->value, strlen(o->value), &seconds);
    s->f.conninfoFree(all);
    return seconds > 0 && seconds < 2 ? 2 : seconds; /* libpq's minimum */
}

/* If there is no connection, its status tells why, or *late is set. */
static void connect_server(server *s, bool *late) {
    double until = timeout_of(s);
    until = until > 0 ? pv__seconds() + until : 0;
    for (int state = POLLING_WRITING; state != POLLING_OK && state != POLLING_FAILED;) {
        *late = until > 0 && pv__seconds() > until;
        if (pv__interrupted(s->ctx) || *late)
            return;
        if (wait_for_socket(s, state == POLLING_READING ? POLLIN : POLLOUT))
            state = s->f.connectPoll(s->connection);
    }
}

/* Fetches the next result: one row, or the end, which has the columns but no row. */
static int next(void *state) {
    server *s = state;
    if (s->looked) {
        s->looked = false;
    } else {
        if (s->f.resultStatus(s->row) != SINGLE_TUPLE)
            return 0;
        s->f.clear(s->row);
        s->row = wait_for_result(s);
    }
    int status = s->f.resultStatus(s->row);
    return status == SINGLE_TUPLE ? 1 : status == TUPLES_OK ? 0 : -1;
}

static pv__cell cell(void *state, size_t column) {
    server *s = state;
    int c = (int)column;
    unsigned type = s->f.ftype(s->row, c);
    pv__cell made = {.kind = kind_of(type)};
    if (made.kind == PV__CELL_OTHER)
        return made;
    if (s->f.getisnull(s->row, 0, c))
        return (pv__cell){.kind = PV__CELL_MISSING};
    made.text = s->f.getvalue(s->row, 0, c);
    made.length = (size_t)s->f.getlength(s->row, 0, c);
    if (type == BOOLEAN) {
        made.text = *made.text == 't' ? "True" : "False";
        made.length = strlen(made.text);
    }
    if (made.kind == PV__CELL_NUMBER && !pv__number_parse(made.text, made.length, &made.number))
        made.kind = PV__CELL_MISSING;     /* NaN */
    if (type == SINGLE || type == DOUBLE) /* as its shortest form */
        made.text = NULL;
    return made;
}

static const char *error(void *state) {
    server *s = state;
    const char *text = s->row ? s->f.resultErrorMessage(s->row) : "";
    return *text ? text : s->f.errorMessage(s->connection);
}

static void close_all(void *state) {
    server *s = state;
    s->f.clear(s->row);
    s->f.finish(s->connection);
    pv__free(s->ctx, s);
}

static void take_notice(void *state, const char *text) {
    const server *s = state;
    pv__log(s->ctx, PV_LOG_INFO, "%.*s", (int)strcspn(text, "\n"), text);
}

/* Begins a read-only transaction. Queries with parameters can only be single statements. */
static bool begin(server *s, const char *text) {
    bool set = false;
    if (!s->f.sendQuery(s->connection, "SET default_transaction_read_only = on"))
        return false;
    for (void *only; (only = wait_for_result(s)); s->f.clear(only))
        set = s->f.resultStatus(only) == COMMAND_OK;
    if (!set || !s->f.sendQueryParams(s->connection, text, 0, NULL, NULL, NULL, NULL, 0) ||
        !s->f.setSingleRowMode(s->connection))
        return false;
    s->row = wait_for_result(s);
    s->looked = true;
    int status = s->f.resultStatus(s->row);
    return status == SINGLE_TUPLE || status == TUPLES_OK;
}

pv_status pv__postgres_stream(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                              struct ArrowArrayStream *stream) {
    server *s;
    functions f;
    PV_TRY(load(ctx, query->name, &f));
    PV_TRY(pv__alloc(ctx, 1, sizeof *s, &s));
    s->ctx = ctx;
    s->f = f;
    s->connection = f.connectStart(query->database);
    pv_status status;
    bool late = false;
    f.setNoticeProcessor(s->connection, take_notice, s);
    if (f.socket(s->connection) >= 0)
        connect_server(s, &late);
    if (late)
        PV_GOTO(fail, pv__engine_fail(ctx, query->name, "the server did not answer in time (connect_timeout)"));
    bool begun = f.status(s->connection) == CONNECTION_OK && begin(s, query->text);
    if (!begun && pv__interrupted(ctx))
        PV_GOTO(fail, pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped while reading %s", query->name));
    if (!begun)
        PV_GOTO(fail, pv__engine_fail(ctx, query->name, error(s)));
    int columns = f.nfields(s->row);
    if (columns < 1)
        PV_GOTO(fail, pv__fail_at(ctx, PV_ERR_INPUT, query->name, 0, 0, "give a query that has a result"));
    const pv__rows rows = {s, (size_t)columns, name, declared, next, cell, error, close_all};
    return pv__rows_stream(ctx, query->name, &rows, options, stream);
fail:
    close_all(s);
    return status;
}
