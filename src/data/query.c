/* Parses the name of a source, and reads its table.
 *
 *   file.parquet                          a file that DuckDB reads; with stars in the name, several, also of CSV
 *   SELECT ..., FROM ..., WITH ...        a query of DuckDB over files
 *   duckdb:FILE?TABLE, sqlite:FILE?TABLE  a table of a database in a file, or ?SELECT ...
 *   postgresql://...#TABLE                a table of a server, or #SELECT ...
 *
 * Any other name is a file that the library reads itself. */
#include "data/query.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "data/csv.h"

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Whether text begins with a keyword of SQL queries followed by something else. */
static bool is_query(const char *text) {
    static const char *const words[] = {"select", "from", "with"};
    text += strspn(text, " \t\r\n(");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (pv__text_begins(text, words[i]) && text[strlen(words[i])] && strchr(" \t\r\n(*\"'", text[strlen(words[i])]))
            return true;
    return false;
}

static bool has_magic(const char *path) {
    char first[4] = {0};
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) /* bytes read from a pipe cannot be read again */
        return false;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return false;
    bool found = read(descriptor, first, sizeof first) == (ssize_t)sizeof first && memcmp(first, "PAR1", 4) == 0;
    close(descriptor);
    return found;
}

/* DuckDB's function that reads these files; NULL: the library reads them itself. */
static const char *reader_of(const char *path) {
    static const char *const tables[] = {".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst"};
    bool file = access(path, F_OK) == 0, many = !file && strchr(path, '*');
    if (pv__text_ends(path, ".parquet") || pv__text_ends(path, ".pq") || (file && has_magic(path)))
        return "read_parquet";
    for (size_t i = 0; many && i < sizeof tables / sizeof *tables; i++)
        if (pv__text_ends(path, tables[i]))
            return "read_csv";
    return NULL;
}

char *pv__sql_quote(char *to, const char *text, size_t length, char quote) {
    *to++ = quote;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == quote)
            *to++ = quote;
        *to++ = text[i];
    }
    *to++ = quote;
    *to = '\0';
    return to;
}

/* A query without a trailing semicolon, or the query for a whole table: NAME or SCHEMA.NAME. */
static pv_status query_of(pv_ctx *ctx, const char *what, char **text) {
    static const char all[] = "SELECT * FROM ";
    size_t length = strlen(what);
    if (is_query(what)) {
        PV_TRY(pv__strdup(ctx, what, text));
        while (length > 0 && strchr("; \t\r\n", (*text)[length - 1]))
            (*text)[--length] = '\0';
        return PV_OK;
    }
    PV_TRY(pv__alloc(ctx, sizeof all + 2 * length + 8, 1, text));
    memcpy(*text, all, sizeof all);
    const char *dot = strchr(what, '.');
    char *at = *text + sizeof all - 1;
    if (dot) {
        at = pv__sql_quote(at, what, (size_t)(dot - what), '"');
        *at++ = '.';
        what = dot + 1;
    }
    pv__sql_quote(at, what, strlen(what), '"');
    return PV_OK;
}

/* Splits FILE?WHAT or URL#WHAT at the mark. */
static pv_status split(pv_ctx *ctx, const char *rest, char mark, pv__query *query) {
    const char *at = strchr(rest, mark);
    if (!at || at == rest || !at[1])
        return pv__fail(ctx, PV_ERR_USAGE,
                        "'%s' does not name a table:\nwrite %c and its name after the database, or %cSELECT ...",
                        pv__show(query->name).text, mark, mark);
    size_t length = (size_t)(at - rest);
    PV_TRY(pv__alloc(ctx, length + 1, 1, &query->database));
    memcpy(query->database, rest, length);
    return query_of(ctx, at + 1, &query->text);
}

static int hexadecimal(char c) {
    static const char digits[] = "0123456789abcdef";
    const char *found = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* The character at *at, with %70 decoded to p, and moves *at past it. */
static char decoded(const char **at) {
    const char *from = (*at)++;
    int high = *from == '%' ? hexadecimal(from[1]) : -1, low = high < 0 ? -1 : hexadecimal(from[2]);
    if (low < 0)
        return *from;
    *at += 2;
    return (char)(16 * high + low);
}

/* Whether word occurs in text .. end after percent-decoding, as libpq does it. */
static bool has_word(const char *text, const char *end, const char *word) {
    for (; text < end; text++) {
        const char *at = text, *w = word;
        while (*w && at < end && decoded(&at) == *w)
            w++;
        if (!*w)
            return true;
    }
    return false;
}

/* Detects user:password@host, also if the password contains characters that end the user part: a port has digits only.
 * Names of sources are stored in models, shown in reports, and visible in process lists, so passwords are rejected. */
static bool has_password(const char *name) {
    const char *host = strstr(name, "://");
    if (!host)
        return false;
    host += 3;
    const char *end = host + strcspn(host, "/?#"), *at = memrchr(host, '@', (size_t)(end - host));
    const char *colon = memchr(host, ':', (size_t)((at ? at : end) - host));
    bool given = has_word(end, end + strcspn(end, "#"), "password=");
    return (colon && (at || colon + 1 + strspn(colon + 1, "0123456789") < end)) || given;
}

static pv_status parse(pv_ctx *ctx, const char *source, pv__query *query) {
    static const struct {
        const char *prefix;
        pv__engine engine;
        size_t kept; /* length of the prefix kept in the database's name */
        char mark;
    } databases[] = {{"sqlite:", PV__ENGINE_SQLITE, 0, '?'},
                     {"duckdb:", PV__ENGINE_DUCKDB, 0, '?'},
                     {"postgresql://", PV__ENGINE_POSTGRES, 13, '#'},
                     {"postgres://", PV__ENGINE_POSTGRES, 11, '#'}};
    PV_TRY(pv__strdup(ctx, source, &query->name));
    for (size_t i = 0; i < sizeof databases / sizeof *databases; i++)
        if (pv__text_begins(source, databases[i].prefix)) {
            query->engine = databases[i].engine;
            if (has_password(source))
                return pv__fail(ctx, PV_ERR_USAGE,
                                "a source must not contain a password, because models and reports record its "
                                "name.\nPut the password in PGPASSWORD or the file ~/.pgpass");
            return split(ctx, source + strlen(databases[i].prefix) - databases[i].kept, databases[i].mark, query);
        }
    const char *reader = reader_of(source);
    if (reader) {
        size_t length = strlen(source);
        query->engine = PV__ENGINE_DUCKDB;
        query->csv = strcmp(reader, "read_csv") == 0;
        PV_TRY(pv__strdup(ctx, source, &query->files));
        PV_TRY(pv__alloc(ctx, 2 * length + 64, 1, &query->text));
        char *at = query->text + pv__format(query->text, 64, "SELECT * FROM %s(", reader);
        at = pv__sql_quote(at, source, length, '\'');
        at = stpcpy(at, query->csv ? ", header = true)" : ")");
        (void)at;
    } else if (is_query(source) && access(source, F_OK) != 0) {
        query->engine = PV__ENGINE_DUCKDB;
        return query_of(ctx, source, &query->text);
    }
    return PV_OK;
}

pv_status pv__query_parse(pv_ctx *ctx, const char *source, pv__query *query) {
    *query = (pv__query){0};
    pv_status status = parse(ctx, source, query);
    if (status != PV_OK)
        pv__query_free(ctx, query);
    return status;
}

void pv__query_free(pv_ctx *ctx, pv__query *query) {
    pv__free(ctx, query->name);
    pv__free(ctx, query->files);
    pv__free(ctx, query->database);
    pv__free(ctx, query->text);
    *query = (pv__query){0};
}

/* ---- files that a source reads ----------------------------------------------------------------------------------- */

/* Registers one file, or all that match the stars. */
static pv_status name_files(pv_ctx *ctx, const char *path) {
    glob_t found;
    if (!strchr(path, '*'))
        return access(path, F_OK) == 0 ? pv_files_read(ctx, "the source", path) : PV_OK;
    if (glob(path, 0, NULL, &found) != 0)
        return PV_OK;
    pv_status status = PV_OK;
    for (size_t i = 0; i < found.gl_pathc && status == PV_OK; i++)
        status = pv_files_read(ctx, "the source", found.gl_pathv[i]);
    globfree(&found);
    return status;
}

/* Registers the files that the source names. Those that a query reads are detected when it runs (watched_stream). */
static pv_status name_sources(pv_ctx *ctx, const pv__query *query) {
    if (query->files)
        PV_TRY(name_files(ctx, query->files));
    return query->database && query->engine != PV__ENGINE_POSTGRES ? name_files(ctx, query->database) : PV_OK;
}

/* ---- queries that open outputs ----------------------------------------------------------------------------------- */

/* A stream that fails at its end if an output was opened meanwhile, before any output is replaced. */
typedef struct watched_stream {
    pv_ctx *ctx;
    struct ArrowArrayStream inner;
    pv__watch *watch;
    char error[512];
} watched_stream;

static int watched_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    watched_stream *w = stream->private_data;
    return w->inner.get_schema(&w->inner, out);
}

static int watched_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    watched_stream *w = stream->private_data;
    int code = w->inner.get_next(&w->inner, out);
    if (code || out->release || pv__files_watched(w->ctx, w->watch) == PV_OK)
        return code;
    const pv_error *e = pv_ctx_error(w->ctx);
    pv__format(w->error, sizeof w->error, "%s %s", e->file, e->message);
    return EIO;
}

static const char *watched_error(struct ArrowArrayStream *stream) {
    watched_stream *w = stream->private_data;
    return w->error[0] ? w->error : w->inner.get_last_error(&w->inner);
}

static void watched_release(struct ArrowArrayStream *stream) {
    watched_stream *w = stream->private_data;
    w->inner.release(&w->inner);
    pv__files_unwatch(w->ctx, w->watch);
    pv__free(w->ctx, w);
    stream->release = NULL;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static pv_status check_options(pv_ctx *ctx, const pv_csv_options *options, const pv__csv_form *form) {
    const char *given = options->no_header                         ? "no-header"
                        : form->delimiter                          ? "separator"
                        : form->decimal != '.' && options->decimal ? "decimal"
                                                                   : NULL;
    return !given
               ? PV_OK
               : pv__fail(ctx, PV_ERR_USAGE, "`%s` is for CSV files, which this source is not:\nleave it out", given);
}

/* Sets cells that `na` lists to missing, for numbers and texts. The default ones are already missing. */
static void drop_cells(const pv__csv_form *form, pv_table *table) {
    for (size_t c = 0; c < table->columns; c++) {
        pv_column *column = &table->column[c];
        for (size_t k = 0; k < form->n_na; k++) {
            for (size_t i = 0; column->type == PV_COLUMN_NUMBER && i < table->rows; i++)
                if (column->number[i] == form->number[k])
                    column->number[i] = (double)NAN;
            for (int32_t l = 0; column->type == PV_COLUMN_TEXT && l < column->levels; l++)
                for (size_t i = 0; strcmp(column->level[l], form->na[k]) == 0 && i < table->rows; i++)
                    if (column->code[i] == l)
                        column->code[i] = -1;
        }
    }
}

static pv_status open_engine(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                             struct ArrowArrayStream *stream) {
    switch (query->engine) {
    case PV__ENGINE_SQLITE:
        return pv__sqlite_stream(ctx, query, options, stream);
    case PV__ENGINE_POSTGRES:
        return pv__postgres_stream(ctx, query, options, stream);
    case PV__ENGINE_DUCKDB:
    case PV__ENGINE_NONE:
        break;
    }
    return pv__duckdb_stream(ctx, query, options, stream);
}

static pv_status open_stream(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                             struct ArrowArrayStream *stream) {
    pv__waiting(ctx, true);
    pv_status status = open_engine(ctx, query, options, stream);
    pv__waiting(ctx, false);
    return status;
}

static pv_status open_watched(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                              struct ArrowArrayStream *stream) {
    watched_stream *w;
    pv__watch *watch;
    PV_TRY(pv__files_watch(ctx, &watch));
    if (!watch)
        return open_stream(ctx, query, options, stream);
    pv_status status = pv__alloc(ctx, 1, sizeof *w, &w);
    if (status != PV_OK) {
        pv__files_unwatch(ctx, watch);
        return status;
    }
    *w = (watched_stream){.ctx = ctx, .watch = watch};
    status = open_stream(ctx, query, options, &w->inner);
    if (status == PV_OK)
        status = pv__files_watched(ctx, watch); /* before any work is done */
    *stream = (struct ArrowArrayStream){watched_schema, watched_next, watched_error, watched_release, w};
    if (status == PV_OK)
        return PV_OK;
    if (w->inner.release)
        w->inner.release(&w->inner);
    *stream = (struct ArrowArrayStream){0};
    pv__files_unwatch(ctx, watch);
    pv__free(ctx, w);
    return status;
}

pv_status pv__query_open(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                         struct ArrowArrayStream *stream, pv__csv_form *form) {
    *form = (pv__csv_form){0};
    PV_TRY(pv__csv_form_parse(ctx, options, form));
    PV_TRY(check_options(ctx, options, form));
    PV_TRY(name_sources(ctx, query));
    return open_watched(ctx, query, options, stream);
}

pv_status pv__query_finish(pv_ctx *ctx, const pv_csv_options *options, const pv__csv_form *form, pv_table *table) {
    drop_cells(form, table);
    return pv__written_of(ctx, options, &table->written);
}

pv_status pv__query_read(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options, pv_table **table) {
    struct ArrowArrayStream stream = {0};
    pv__csv_form form;
    pv_status status = pv__query_open(ctx, query, options, &stream, &form);
    if (status == PV_OK)
        status = pv__table_of_stream(ctx, query->name, options, &stream, table);
    if (status == PV_OK)
        status = pv__query_finish(ctx, options, &form, *table);
    if (status != PV_OK) {
        pv_table_free(ctx, *table);
        *table = NULL;
    }
    pv__csv_form_free(ctx, &form);
    return status;
}
