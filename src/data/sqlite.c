/* Queries of SQLite databases, which are never written to. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "data/query.h"
#include "data/row_stream.h"

enum { OK = 0, ROW = 100, DONE = 101, OPEN_READONLY = 1, OPEN_READWRITE = 2 };
enum { INTEGER = 1, FLOAT = 2, TEXT = 3, BLOB = 4, NONE = 5 };

/* One row per function: its return type, its name without sqlite3_, its arguments. */
#define FUNCTIONS(F)                                                                                                   \
    F(int, open_v2, (const char *path, void **database, int flags, const char *vfs))                                   \
    F(int, exec,                                                                                                       \
      (void *database, const char *text, int (*row)(void *, int, char **, char **), void *state, char **error))        \
    F(int, close, (void *database))                                                                                    \
    F(const char *, errmsg, (void *database))                                                                          \
    F(int, prepare_v2, (void *database, const char *text, int length, void **statement, const char **rest))            \
    F(void, interrupt, (void *database))                                                                               \
    F(int, finalize, (void *statement))                                                                                \
    F(int, step, (void *statement))                                                                                    \
    F(int, column_count, (void *statement))                                                                            \
    F(const char *, column_name, (void *statement, int column))                                                        \
    F(const char *, column_decltype, (void *statement, int column))                                                    \
    F(int, column_type, (void *statement, int column))                                                                 \
    F(double, column_double, (void *statement, int column))                                                            \
    F(int64_t, column_int64, (void *statement, int column))                                                            \
    F(const unsigned char *, column_text, (void *statement, int column))                                               \
    F(int, column_bytes, (void *statement, int column))                                                                \
    F(void, progress_handler, (void *database, int steps, int (*stop)(void *), void *state))

typedef struct functions {
#define FIELD(result, name, arguments) result(*name) arguments;
    FUNCTIONS(FIELD)
#undef FIELD
} functions;

typedef struct result {
    pv_ctx *ctx;
    functions f;
    void *database, *statement;
    char *digits; /* [columns][PV__NUMBER_TEXT] */
} result;

static pv_status load(pv_ctx *ctx, const char *source, functions *f) {
    static const char *const files[] = {"libsqlite3.so.0", "libsqlite3.so"};
#define SYMBOL(result, name, arguments) {"sqlite3_" #name, (void **)&f->name},
    const pv__symbol symbols[] = {FUNCTIONS(SYMBOL){0}};
#undef SYMBOL
    return pv__engine_load(ctx, source, "PREVAIL_SQLITE", files, 2, "SQLite (Debian: libsqlite3-0)", false, symbols);
}

static const char *name(void *state, size_t c) {
    result *r = state;
    return r->f.column_name(r->statement, (int)c);
}

/* SQLite's rule for the affinity of a declared type. */
static pv__cell_kind declared(void *state, size_t c) {
    result *r = state;
    const char *type = r->f.column_decltype(r->statement, (int)c);
    bool text =
        type && (pv__text_contains(type, "CHAR") || pv__text_contains(type, "CLOB") || pv__text_contains(type, "TEXT"));
    return text ? PV__CELL_TEXT : PV__CELL_NUMBER;
}

static int next(void *state) {
    result *r = state;
    int code = r->f.step(r->statement);
    return code == ROW ? 1 : code == DONE ? 0 : -1;
}

static pv__cell integer(const result *r, int64_t value, size_t column) {
    pv__cell made = {.kind = PV__CELL_NUMBER, .number = (double)value};
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (magnitude > PV__EXACT_INTEGER) {
        char *text = r->digits + column * PV__NUMBER_TEXT;
        made.length = (size_t)pv__format(text, PV__NUMBER_TEXT, "%lld", (long long)value);
        made.text = text;
    }
    return made;
}

static pv__cell cell(void *state, size_t column) {
    result *r = state;
    int c = (int)column;
    switch (r->f.column_type(r->statement, c)) {
    case INTEGER:
        return integer(r, r->f.column_int64(r->statement, c), column);
    case FLOAT:
        return (pv__cell){.kind = PV__CELL_NUMBER, .number = r->f.column_double(r->statement, c)};
    case TEXT: {
        const char *text = (const char *)r->f.column_text(r->statement, c);
        return (pv__cell){.kind = PV__CELL_TEXT,
                          .text = text ? text : "",
                          .length = text ? (size_t)r->f.column_bytes(r->statement, c) : 0};
    }
    case NONE:
        return (pv__cell){.kind = PV__CELL_MISSING};
    default:
        return (pv__cell){.kind = PV__CELL_OTHER};
    }
}

static const char *error(void *state) {
    result *r = state;
    return r->f.errmsg(r->database);
}

static void close_all(void *state) {
    result *r = state;
    r->f.finalize(r->statement);
    r->f.close(r->database);
    pv__free(r->ctx, r->digits);
    pv__free(r->ctx, r);
}

/* SQLite calls this regularly between steps of its virtual machine. */
static int stop(void *state) {
    return pv__interrupted(((result *)state)->ctx);
}

/* A read-only connection would leave behind the files of a write-ahead log that it created. Therefore the database is
 * opened for writing, so that closing it removes them, but with writes disabled. If a log already exists, it belongs to
 * another process. */
static int open_database(result *r, const char *path) {
    size_t size = strlen(path) + sizeof "-wal";
    char *log;
    if (pv__alloc(r->ctx, size, 1, &log) != PV_OK)
        return !OK;
    pv__format(log, size, "%s-wal", path);
    bool alone = access(log, F_OK) != 0;
    pv__free(r->ctx, log);
    int code = r->f.open_v2(path, &r->database, alone ? OPEN_READWRITE : OPEN_READONLY, NULL);
    if (code == OK && alone)
        code = r->f.exec(r->database, "PRAGMA query_only = 1", NULL, NULL, NULL);
    return code;
}

/* State of preparing a query, which can take for ever for nested views. */
typedef struct preparing {
    functions f;
    void *database, *statement;
    char *text;
    int code;
    bool more; /* there is text after the first statement */
} preparing;

static void prepare(void *state) {
    preparing *p = state;
    const char *rest = "";
    p->code = p->f.prepare_v2(p->database, p->text, -1, &p->statement, &rest);
    p->more = rest[strspn(rest, "; \t\r\n")] != 0;
}

static void stop_preparing(void *state) {
    const preparing *p = state;
    p->f.interrupt(p->database);
}

static void drop_preparing(void *state) {
    preparing *p = state;
    p->f.finalize(p->statement);
    p->f.close(p->database);
    free(p->text);
    free(p);
}

/* Prepares the statement. *more: there is more than one; *code: SQLite's result code. */
static pv_status prepare_apart(result *r, const pv__query *query, int *code, bool *more) {
    preparing *p = calloc(1, sizeof *p);
    char *text = strdup(query->text);
    if (!p || !text) {
        free(p);
        free(text);
        return pv__fail(r->ctx, PV_ERR_MEMORY, "out of memory");
    }
    *p = (preparing){.f = r->f, .database = r->database, .text = text};
    if (!pv__blocking_run(r->ctx, &(pv__blocking){prepare, stop_preparing, drop_preparing, p})) {
        r->database = NULL; /* now belongs to that thread, as does p */
        return pv__fail(r->ctx, PV_ERR_INTERRUPTED, "stopped while reading %s", query->name);
    }
    r->statement = p->statement;
    *code = p->code;
    *more = p->more;
    free(p->text);
    free(p);
    if (pv__interrupted(r->ctx))
        return pv__fail(r->ctx, PV_ERR_INTERRUPTED, "stopped while reading %s", query->name);
    return PV_OK;
}

pv_status pv__sqlite_stream(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                            struct ArrowArrayStream *stream) {
    result *r;
    int code = OK;
    bool more = false;
    functions f;
    PV_TRY(load(ctx, query->name, &f));
    PV_TRY(pv__alloc(ctx, 1, sizeof *r, &r));
    r->ctx = ctx;
    r->f = f;
    pv_status status;
    code = open_database(r, query->database);
    if (code == OK)
        PV_GOTO(fail, prepare_apart(r, query, &code, &more));
    if (code != OK)
        PV_GOTO(fail, pv__engine_fail(ctx, query->name, r->database ? error(r) : NULL));
    f.progress_handler(r->database, 100000, stop, r);
    int columns = r->statement ? f.column_count(r->statement) : 0;
    if (columns < 1 || more)
        PV_GOTO(fail, pv__fail_at(ctx, PV_ERR_INPUT, query->name, 0, 0, "give one query that has a result"));
    PV_GOTO(fail, pv__alloc(ctx, (size_t)columns, PV__NUMBER_TEXT, &r->digits));
    const pv__rows rows = {r, (size_t)columns, name, declared, next, cell, error, close_all};
    return pv__rows_stream(ctx, query->name, &rows, options, stream);
fail:
    close_all(r);
    return status;
}
