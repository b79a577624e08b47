/* Libraries of other database engines, loaded when a source needs them. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "data/query.h"

pv_status pv_ctx_set_duckdb(pv_ctx *ctx, const char *path) {
    char *copy = NULL;
    pv_status status = path ? pv__strdup(ctx, path, &copy) : PV_OK;
    if (status != PV_OK)
        return status;
    pv__free(ctx, ctx->root->duckdb);
    ctx->root->duckdb = copy;
    return PV_OK;
}

pv_status pv__engine_load(pv_ctx *ctx, const char *source, const char *variable, const char *const *files, size_t n,
                          const char *what, bool writing, const pv__symbol *symbols) {
    const char *named = secure_getenv(variable), *done = writing ? "written" : "read";
    bool duckdb = strcmp(files[0], "libduckdb.so") == 0;
    const char *last = duckdb ? ctx->root->duckdb : NULL;
    void *library = pv__library_open(variable, files, n, last);
    if (!library && (named || last))
        return pv__fail_at(ctx, PV_ERR_PATH, source, 0, 0, "cannot be %s: %s%s cannot be loaded: %s", done,
                           named ? "the library named by " : "", named ? variable : last, pv__show(dlerror()).text);
    if (!library)
        return pv__fail_at(ctx, PV_ERR_PATH, source, 0, 0,
                           "cannot be %s without %s: %s was not found.\nInstall it%s, or name the file in %s", done,
                           what, files[0], duckdb ? " (prevail-duckdb does, and so does Python's package duckdb)" : "",
                           variable);
    for (; symbols->name; symbols++)
        if (!(*symbols->address = dlsym(library, symbols->name)))
            return pv__fail_at(ctx, PV_ERR_PATH, source, 0, 0,
                               "cannot be %s: this %s is too old or too new, it has no %s", done, files[0],
                               symbols->name);
    return PV_OK;
}

/* Asks a library for its version; each has its own function for that. */
static void ask(const char *variable, const char *const *files, const char *function, bool number, pv_library *to) {
    void *library = pv__library_open(variable, files, 2, NULL), *found = library ? dlsym(library, function) : NULL;
    const char *(*text)(void) = NULL;
    int (*version)(void) = NULL;
    if (!found)
        return;
    memcpy(number ? (void *)&version : (void *)&text, &found, sizeof found);
    if (number) /* libpq: 150018 */
        pv__format(to->version, sizeof to->version, "%d.%d", version() / 10000, version() % 10000);
    else
        pv__format(to->version, sizeof to->version, "%s", text() + (*text() == 'v'));
}

size_t pv_engines(pv_library *list, size_t room) {
    static const char *const duckdb[] = {"libduckdb.so", "libduckdb.so"},
                             *const sqlite[] = {"libsqlite3.so.0", "libsqlite3.so"},
                             *const postgres[] = {"libpq.so.5", "libpq.so"};
    pv_library found[] = {{.name = "DuckDB"}, {.name = "SQLite"}, {.name = "libpq"}};
    size_t count = sizeof found / sizeof *found;
    ask("PREVAIL_DUCKDB", duckdb, "duckdb_library_version", false, &found[0]);
    ask("PREVAIL_SQLITE", sqlite, "sqlite3_libversion", false, &found[1]);
    ask("PREVAIL_LIBPQ", postgres, "PQlibVersion", true, &found[2]);
    memcpy(list, found, (room < count ? room : count) * sizeof *found);
    return count;
}

/* Whether a line of an error message only repeats the query or points into it: the source's name already contains
 * it. */
static bool repeats(const char *line, size_t length) {
    return strncmp(line, "LINE ", length < 5 ? length : 5) == 0 || strspn(line, "^ ") >= length;
}

/* Newlines in the message become spaces. */
pv_status pv__engine_fail(pv_ctx *ctx, const char *source, const char *what) {
    char text[400];
    size_t used = 0;
    while (what && *what && used + 1 < sizeof text) {
        size_t length = strcspn(what, "\n"), begin = strspn(what, " \t");
        if (begin < length && !repeats(what + begin, length - begin))
            used += (size_t)pv__format(text + used, sizeof text - used, "%s%.*s", used ? " " : "",
                                       (int)(length - begin), what + begin);
        used = used < sizeof text ? used : sizeof text - 1;
        what += length + (what[length] == '\n');
    }
    return pv__fail_at(ctx, PV_ERR_INPUT, source, 0, 0, "%s", used > 0 ? text : "cannot be read: out of memory");
}
