/* src/data/duckdb.h: DuckDB's library, loaded on demand, for queries and for writing files.
 *
 * Its C interface as of version 1.4: https://duckdb.org/docs/stable/clients/c/api. Only the functions used here are
 * declared; handles are pointers, and indices 64-bit numbers. */
#ifndef PV_DATA_DUCKDB_H
#define PV_DATA_DUCKDB_H

#include "data/query.h"

typedef uint64_t pv__idx;
typedef void *pv__handle;
typedef struct pv__duckdb_result {
    pv__idx column_count, row_count, rows_changed;
    void *columns;
    char *error_message;
    void *internal;
} pv__duckdb_result;

enum { PV__DUCKDB_SUCCESS = 0 };
enum { /* types */
       PV__DUCKDB_TINYINT = 2,
       PV__DUCKDB_DOUBLE = 11, /* types in between are numbers, too */
       PV__DUCKDB_HUGEINT = 16,
       PV__DUCKDB_VARCHAR = 17,
       PV__DUCKDB_DECIMAL = 19,
       PV__DUCKDB_UHUGEINT = 32
};
typedef enum pv__pending {
    PV__PENDING_READY,
    PV__PENDING_NOT_READY,
    PV__PENDING_ERROR,
    PV__PENDING_NO_TASKS
} pv__pending;

/* One row per function: its return type, its name without duckdb_, its arguments. */
#define PV__DUCKDB_FUNCTIONS(F)                                                                                        \
    F(int, open_ext, (const char *path, pv__handle *database, pv__handle config, char **error))                        \
    F(void, close, (pv__handle *))                                                                                     \
    F(int, connect, (pv__handle database, pv__handle * connection))                                                    \
    F(void, interrupt, (pv__handle connection))                                                                        \
    F(void, disconnect, (pv__handle *))                                                                                \
    F(int, create_config, (pv__handle *))                                                                              \
    F(int, set_config, (pv__handle, const char *name, const char *option))                                             \
    F(void, destroy_config, (pv__handle *))                                                                            \
    F(void, free, (void *))                                                                                            \
    F(int, prepare, (pv__handle connection, const char *query, pv__handle *statement))                                 \
    F(const char *, prepare_error, (pv__handle statement))                                                             \
    F(void, destroy_prepare, (pv__handle *))                                                                           \
    F(pv__idx, prepared_statement_column_count, (pv__handle statement))                                                \
    F(char *, prepared_statement_column_name, (pv__handle statement, pv__idx))                                         \
    F(int, prepared_statement_column_type, (pv__handle statement, pv__idx))                                            \
    F(int, pending_prepared_streaming, (pv__handle statement, pv__handle * pending))                                   \
    F(const char *, pending_error, (pv__handle pending))                                                               \
    F(pv__pending, pending_execute_task, (pv__handle pending))                                                         \
    F(int, execute_pending, (pv__handle pending, pv__duckdb_result *))                                                 \
    F(void, destroy_pending, (pv__handle *))                                                                           \
    F(void, destroy_result, (pv__duckdb_result *))                                                                     \
    F(const char *, result_error, (pv__duckdb_result *))                                                               \
    F(pv__idx, column_count, (pv__duckdb_result *))                                                                    \
    F(const char *, column_name, (pv__duckdb_result *, pv__idx))                                                       \
    F(pv__handle, column_logical_type, (pv__duckdb_result *, pv__idx))                                                 \
    F(void, destroy_logical_type, (pv__handle *))                                                                      \
    F(pv__handle, result_get_arrow_options, (pv__duckdb_result *))                                                     \
    F(void, destroy_arrow_options, (pv__handle *))                                                                     \
    F(pv__handle, to_arrow_schema,                                                                                     \
      (pv__handle options, pv__handle * types, const char **names, pv__idx columns, struct ArrowSchema *schema))       \
    F(pv__handle, data_chunk_to_arrow, (pv__handle options, pv__handle chunk, struct ArrowArray * array))              \
    F(pv__handle, fetch_chunk, (pv__duckdb_result))                                                                    \
    F(void, destroy_data_chunk, (pv__handle *))                                                                        \
    F(const char *, error_data_message, (pv__handle))                                                                  \
    F(void, destroy_error_data, (pv__handle *))                                                                        \
    F(pv__handle, create_table_function, (void))                                                                       \
    F(void, destroy_table_function, (pv__handle *))                                                                    \
    F(void, table_function_set_name, (pv__handle function, const char *))                                              \
    F(void, table_function_set_bind, (pv__handle function, void (*)(pv__handle bind)))                                 \
    F(void, table_function_set_init, (pv__handle function, void (*)(pv__handle init)))                                 \
    F(void, table_function_set_function, (pv__handle function, void (*)(pv__handle info, pv__handle chunk)))           \
    F(int, register_table_function, (pv__handle connection, pv__handle function))                                      \
    F(void, bind_add_result_column, (pv__handle bind, const char *name, pv__handle type))                              \
    F(void, init_set_max_threads, (pv__handle init, pv__idx))                                                          \
    F(void, function_set_error, (pv__handle info, const char *))                                                       \
    F(pv__handle, create_logical_type, (int))                                                                          \
    F(pv__idx, vector_size, (void))                                                                                    \
    F(pv__handle, data_chunk_get_vector, (pv__handle chunk, pv__idx))                                                  \
    F(void, data_chunk_set_size, (pv__handle chunk, pv__idx))                                                          \
    F(void *, vector_get_data, (pv__handle vector))                                                                    \
    F(void, vector_ensure_validity_writable, (pv__handle vector))                                                      \
    F(uint64_t *, vector_get_validity, (pv__handle vector))                                                            \
    F(void, validity_set_row_invalid, (uint64_t * validity, pv__idx))                                                  \
    F(void, vector_assign_string_element_len, (pv__handle vector, pv__idx, const char *, pv__idx))

typedef struct pv__duckdb_functions {
#define FIELD(result, name, arguments) result(*name) arguments;
    PV__DUCKDB_FUNCTIONS(FIELD)
#undef FIELD
} pv__duckdb_functions;

/* A running query. The texts of names belong to the result. */
typedef struct pv__duckdb {
    pv__duckdb_functions f;
    pv_ctx *ctx;
    pv__handle database, connection, statement, pending, options;
    pv__duckdb_result result;
    char **spelled; /* [n_spelled] number columns that are read as text */
    size_t n_spelled;
    char *text;  /* the query with these types; NULL: the original query */
    char **name; /* [names] of all columns of the query, if not all are read */
    bool *read;  /* [names] */
    size_t names;
    bool lost; /* a call into the library never returned: what it uses must not be freed */
    char error[512];
} pv__duckdb;

/* Loads the library. source and writing (whether source is to be written) are for messages. */
PV_MUST_USE pv_status pv__duckdb_load(pv_ctx *ctx, const char *source, bool writing, pv__duckdb_functions *functions);
/* Opens an in-memory database, or that of the query, with this many threads. pv__duckdb_end closes it and frees
 * everything opened in it. */
PV_MUST_USE pv_status pv__duckdb_begin(pv_ctx *ctx, const pv__query *query, int threads, pv__duckdb **begun);
void pv__duckdb_end(pv__duckdb *q);
/* Prepare replaces the previous statement, execute runs it. Both can be interrupted. */
PV_MUST_USE pv_status pv__duckdb_prepare(pv__duckdb *q, const pv__query *query, const char *text);
PV_MUST_USE pv_status pv__duckdb_execute(pv__duckdb *q, const pv__query *query);

#endif
