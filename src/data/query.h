/* src/data/query.h: tables read by other engines: Parquet files, many files at once, queries, databases. Each arrives
 * as a stream of Arrow batches. The engines' libraries are optional and loaded on demand. */
#ifndef PV_DATA_QUERY_H
#define PV_DATA_QUERY_H

#include "data/arrow.h"
#include "data/csv.h"

typedef enum pv__engine { PV__ENGINE_NONE, PV__ENGINE_DUCKDB, PV__ENGINE_SQLITE, PV__ENGINE_POSTGRES } pv__engine;

/* The parsed name of a source. Free its texts with pv__query_free. */
typedef struct pv__query {
    pv__engine engine;
    char *name;     /* name of the source in messages and models */
    char *database; /* a file, or the server's address; NULL: plain files */
    char *text;     /* SQL */
    char *files;    /* file names, perhaps with stars, if the source is not a query; else NULL */
    bool csv;       /* the files are CSV */
} pv__query;

/* engine is PV__ENGINE_NONE for a file that the library reads itself. */
PV_MUST_USE pv_status pv__query_parse(pv_ctx *ctx, const char *source, pv__query *query);
void pv__query_free(pv_ctx *ctx, pv__query *query);

/* Opens the engine's stream. Columns that options do not keep need not be read. The caller releases the stream. */
typedef pv_status pv__stream_open(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                                  struct ArrowArrayStream *stream);
PV_MUST_USE pv__stream_open pv__duckdb_stream, pv__sqlite_stream, pv__postgres_stream;

/* Writes text in quotes, doubling those within; needs up to twice its length plus three. Returns the end. */
char *pv__sql_quote(char *to, const char *text, size_t length, char quote);

/* Reads the whole table, with options as for pv_table_read. */
PV_MUST_USE pv_status pv__query_read(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                                     pv_table **table);

/* The two halves of pv__query_read: opening the stream and parsing `na`, and finishing each table made of it. The
 * caller releases the stream and frees form, also on failure. */
PV_MUST_USE pv_status pv__query_open(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                                     struct ArrowArrayStream *stream, pv__csv_form *form);
PV_MUST_USE pv_status pv__query_finish(pv_ctx *ctx, const pv_csv_options *options, const pv__csv_form *form,
                                       pv_table *table);

/* ---- engine.c: loading libraries -----------------------------------------------------------------------------------
 */

/* A function of a library, and where to store its address. */
typedef struct pv__symbol {
    const char *name;
    void **address;
} pv__symbol;

/* Loads the library named by an environment variable, or else the first of files [n] that exists, and looks up every
 * symbol (the last has no name). what: the engine's name for messages, and how to install it; writing: source is to be
 * written. */
PV_MUST_USE pv_status pv__engine_load(pv_ctx *ctx, const char *source, const char *variable, const char *const *files,
                                      size_t n, const char *what, bool writing, const pv__symbol *symbols);
/* Fails with the engine's own message on one line. what: that message; NULL or empty if there is none. */
PV_MUST_USE pv_status pv__engine_fail(pv_ctx *ctx, const char *source, const char *what);

#endif
