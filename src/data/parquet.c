/* Writes Parquet files from tables that come in pieces. DuckDB's COPY calls a table function of ours for some thousand
 * rows at a time, which requests the next piece when one is used up. All of this happens on the caller's thread, so the
 * producer of pieces may use the context, and rows keep their order. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "data/duckdb.h"

typedef struct writing {
    pv_ctx *ctx;
    pv__duckdb *q;
    const char *path;
    pv_pieces_source next;
    void *state;
    const pv_table *piece; /* NULL after the last */
    size_t row;            /* first row that is not yet written */
    pv_status status;      /* why writing failed, if not PV_OK */
    pv_error error;
} writing;

/* ---- requirements of the format ---------------------------------------------------------------------------------- */

static bool is_utf8(const char *text) {
    for (size_t length; *text; text += length)
        if ((length = pv_utf8_next(text, NULL)) == 0)
            return false;
    return true;
}

/* Rejects names that differ only in case, which DuckDB considers equal. */
static pv_status check_names(pv_ctx *ctx, const char *path, const pv_table *piece) {
    for (size_t c = 0; c < piece->columns; c++) {
        const char *name = piece->column[c].name;
        if (!is_utf8(name))
            return pv__fail_at(ctx, PV_ERR_INPUT, path, 0, 0,
                               "the name of column %zu is not UTF-8, as Parquet requires;\nsave the data as UTF-8, or "
                               "write a CSV file",
                               c + 1);
        for (size_t d = 0; d < c; d++)
            if (strlen(piece->column[d].name) == strlen(name) && pv__text_begins(name, piece->column[d].name))
                return pv__fail_at(ctx, PV_ERR_INPUT, path, 0, 0,
                                   "columns '%s' and '%s' differ only in case, which Parquet does not distinguish "
                                   "here;\nrename one, or write a CSV file",
                                   pv__show(piece->column[d].name).text, pv__show(name).text);
    }
    return PV_OK;
}

static pv_status check_texts(pv_ctx *ctx, const char *path, const pv_table *piece) {
    for (size_t c = 0; c < piece->columns; c++)
        for (int32_t l = 0; l < piece->column[c].levels; l++)
            if (!is_utf8(piece->column[c].level[l]))
                return pv__fail_at(ctx, PV_ERR_INPUT, path, 0, 0,
                                   "'%s' in column '%s' is not UTF-8, as Parquet requires;\nsave the data as UTF-8, or "
                                   "write a CSV file",
                                   pv__show(piece->column[c].level[l]).text, pv__show(piece->column[c].name).text);
    return PV_OK;
}

/* Gets the next piece; its texts are checked once. */
static pv_status next_piece(writing *w) {
    w->row = 0;
    PV_TRY(w->next(w->state, &w->piece));
    return w->piece ? check_texts(w->ctx, w->path, w->piece) : PV_OK;
}

/* ---- callbacks for DuckDB ---------------------------------------------------------------------------------------- */

/* The state of the callbacks. DuckDB can pass it only through further library functions, so it is thread-local. */
static _Thread_local writing *current;

static void bind(pv__handle info) {
    const pv__duckdb_functions *f = &current->q->f;
    for (size_t c = 0; c < current->piece->columns; c++) {
        const pv_column *column = &current->piece->column[c];
        pv__handle type =
            f->create_logical_type(column->type == PV_COLUMN_NUMBER ? PV__DUCKDB_DOUBLE : PV__DUCKDB_VARCHAR);
        f->bind_add_result_column(info, column->name, type);
        f->destroy_logical_type(&type);
    }
}

static void begin(pv__handle info) {
    current->q->f.init_set_max_threads(info, 1);
}

static void put_column(const pv__duckdb_functions *f, const pv_column *column, size_t row, size_t n,
                       pv__handle vector) {
    double *number = column->type == PV_COLUMN_NUMBER ? f->vector_get_data(vector) : NULL;
    uint64_t *valid = NULL;
    for (size_t i = 0; number && i < n; i++)
        number[i] = pv__cell_number(column, row + i);
    for (size_t i = 0; i < n; i++) {
        if (pv__cell_missing(column, row + i)) {
            if (!valid) {
                f->vector_ensure_validity_writable(vector);
                valid = f->vector_get_validity(vector);
            }
            f->validity_set_row_invalid(valid, i);
        } else if (!number) {
            const char *text = column->level[column->code[row + i]];
            f->vector_assign_string_element_len(vector, i, text, strlen(text));
        }
    }
}

/* Fills the next rows; zero rows mean the end. */
static void fill(pv__handle info, pv__handle chunk) {
    writing *w = current;
    const pv__duckdb_functions *f = &w->q->f;
    while (w->status == PV_OK && w->piece && w->row == w->piece->rows)
        w->status = next_piece(w);
    if (w->status != PV_OK) {
        w->error = *pv_ctx_error(w->ctx);
        f->function_set_error(info, "the rows could not be made");
        return;
    }
    size_t left = w->piece ? w->piece->rows - w->row : 0, most = (size_t)f->vector_size(),
           n = left < most ? left : most;
    for (size_t c = 0; n > 0 && c < w->piece->columns; c++)
        put_column(f, &w->piece->column[c], w->row, n, f->data_chunk_get_vector(chunk, c));
    w->row += n;
    f->data_chunk_set_size(chunk, n);
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static pv_status enlist(writing *w, const pv__query *query) {
    const pv__duckdb_functions *f = &w->q->f;
    pv__handle function = f->create_table_function();
    f->table_function_set_name(function, "rows_of_prevail");
    f->table_function_set_bind(function, bind);
    f->table_function_set_init(function, begin);
    f->table_function_set_function(function, fill);
    bool done = f->register_table_function(w->q->connection, function) == PV__DUCKDB_SUCCESS;
    f->destroy_table_function(&function);
    return done ? PV_OK : pv__engine_fail(w->ctx, query->name, NULL);
}

static pv_status copy(writing *w, const pv__query *query, const char *to) {
    char *text;
    PV_TRY(pv__alloc(w->ctx, 2 * strlen(to) + 120, 1, &text));
    char *at = pv__sql_quote(stpcpy(text, "COPY (FROM rows_of_prevail()) TO "), to, strlen(to), '\'');
    stpcpy(at, " (FORMAT parquet, USE_TMP_FILE false)");
    pv_status status = pv__duckdb_prepare(w->q, query, text);
    if (status == PV_OK)
        status = pv__duckdb_execute(w->q, query);
    pv__free(w->ctx, text);
    return status;
}

bool pv_output_is_parquet(const char *path) {
    return pv__text_ends(path, ".parquet");
}

pv_status pv_parquet_check(pv_ctx *ctx, const char *path) {
    pv__duckdb_functions f;
    return pv__duckdb_load(ctx, path, true, &f);
}

static pv_status write_file(writing *w, const pv_output *output) {
    pv__query query = {.name = output->path};
    if (!output->temporary)
        return pv__fail_at(w->ctx, PV_ERR_PATH, output->path, 0, 0,
                           "is not a regular file, and Parquet output needs one;\ngive the name of a regular file");
    PV_TRY(next_piece(w));
    if (!w->piece)
        return pv__fail_at(w->ctx, PV_ERR_INPUT, output->path, 0, 0, "there are no rows to write");
    PV_TRY(check_names(w->ctx, output->path, w->piece));
    PV_TRY(pv__duckdb_begin(w->ctx, &query, 1, &w->q));
    pv_status status = enlist(w, &query);
    if (status == PV_OK)
        status = copy(w, &query, output->temporary);
    pv__duckdb_end(w->q);
    if (w->status != PV_OK) { /* report the original error instead */
        w->ctx->error = w->error;
        return w->status;
    }
    if (status == PV_ERR_INTERRUPTED)
        return pv__fail_at(w->ctx, status, output->path, 0, 0,
                           "writing was interrupted; what was there before is unchanged");
    if (status == PV_ERR_INPUT || (status == PV_OK && w->piece)) {
        pv_error e = *pv_ctx_error(w->ctx);
        return pv__fail_at(w->ctx, PV_ERR_WRITE, output->path, 0, 0,
                           "could not be written completely: %s; what was there before is unchanged",
                           status == PV_OK ? "DuckDB did not return all rows" : e.message);
    }
    return status;
}

pv_status pv_parquet_write(pv_ctx *ctx, const char *path, pv_pieces_source next, void *state) {
    writing w = {.ctx = ctx, .path = path, .next = next, .state = state}, *outer = current;
    pv_output output = {0};
    pv_status status = pv_output_open(ctx, path, &output);
    current = &w;
    if (status == PV_OK)
        status = write_file(&w, &output);
    current = outer;
    if (status == PV_OK)
        status = pv_output_commit(ctx, &output);
    pv_output_discard(ctx, &output);
    return status;
}
