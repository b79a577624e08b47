/* Tables that another engine reads for us: Parquet files, many files at once, queries, databases. Each arrives as a
 * stream of Arrow batches. The engines' libraries are loaded when they are asked for, and never needed. */
#ifndef PV_DATA_QUERY_H
#define PV_DATA_QUERY_H

#include "data/arrow.h"
#include "data/csv.h"

typedef enum pv__engine { PV__ENGINE_NONE, PV__ENGINE_DUCKDB, PV__ENGINE_SQLITE, PV__ENGINE_POSTGRES } pv__engine;

/* What a source's name means. Its texts are the caller's, freed by pv__query_free. */
typedef struct pv__query {
    pv__engine engine;
    char *name;     /* of the source, as messages and models have it */
    char *database; /* a file, or where the server is; NULL: files alone */
    char *text;     /* SQL */
    char *files;    /* names of files, perhaps with stars, where the source is no query; else NULL */
    bool csv;       /* the files are CSV */
} pv__query;

/* PV__ENGINE_NONE where the name is that of a file which we read ourselves. */
PV_MUST_USE pv_status pv__query_parse(pv_ctx *ctx, const char *source, pv__query *query);
void pv__query_free(pv_ctx *ctx, pv__query *query);

/* The engine's stream. What options do not keep need not be read. The caller releases the stream. */
typedef pv_status pv__stream_open(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                                  struct ArrowArrayStream *stream);
PV_MUST_USE pv__stream_open pv__duckdb_stream, pv__sqlite_stream, pv__postgres_stream;

/* text between quotes, those in it doubled; takes up to twice its length and three. Returns where it ends. */
char *pv__sql_quote(char *to, const char *text, size_t length, char quote);

/* The table of it, by options as pv_table_read has them. */
PV_MUST_USE pv_status pv__query_read(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                                     pv_table **table);

/* The two halves of it: the stream, with what `na` says, and what is to be done with each table made of it. The caller
 * releases the stream, and frees form, also where this fails. */
PV_MUST_USE pv_status pv__query_open(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                                     struct ArrowArrayStream *stream, pv__csv_form *form);
PV_MUST_USE pv_status pv__query_finish(pv_ctx *ctx, const pv_csv_options *options, const pv__csv_form *form,
                                       pv_table *table);

/* ---- engine.c: libraries that are loaded ---------------------------------------------------------------------------
 */

/* One function of a library, and where its address goes. */
typedef struct pv__symbol {
    const char *name;
    void **address;
} pv__symbol;

/* Loads the first of files [n] that is there, or the one that the variable of the environment names, and finds every
 * symbol (the last has no name). what: the engine, as messages call it, and how to come by it;
 * writing: source is to be written by it. */
PV_MUST_USE pv_status pv__engine_load(pv_ctx *ctx, const char *source, const char *variable, const char *const *files,
                                      size_t n, const char *what, bool writing, const pv__symbol *symbols);
/* A failure in the engine's own words, in one line. what: NULL or empty where it has none. */
PV_MUST_USE pv_status pv__engine_fail(pv_ctx *ctx, const char *source, const char *what);

#endif
