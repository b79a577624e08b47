/* Writes CSV such that reading it gives the same table. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "data/data.h"

static void write_cell(FILE *stream, const pv_column *column, size_t row) {
    if (pv__cell_missing(column, row)) {
        fwrite("NA", 1, 2, stream); /* an empty cell alone on its line would be a blank line */
    } else if (column->type == PV_COLUMN_TEXT) {
        pv_csv_field(stream, column->level[column->code[row]]);
    } else {
        char text[32];
        int length = pv_format_double(pv__cell_number(column, row), text, sizeof text);
        fwrite(text, 1, (size_t)length, stream);
    }
}

pv_status pv_table_write(pv_ctx *ctx, const pv_table *table, pv_output *output) {
    FILE *stream = output ? output->stream : stdout;
    const char *path = output ? output->path : "standard output";
    errno = 0;
    for (size_t c = 0; c < table->columns; c++) {
        if (c > 0)
            fputc(',', stream);
        pv_csv_field(stream, table->column[c].name);
    }
    fputc('\n', stream);
    for (size_t row = 0; row < table->rows; row++) {
        for (size_t c = 0; c < table->columns; c++) {
            if (c > 0)
                fputc(',', stream);
            write_cell(stream, &table->column[c], row);
        }
        fputc('\n', stream);
        if ((row % 65536 == 0 || ferror(stream)) && pv__interrupted(ctx))
            return pv__fail_at(ctx, PV_ERR_INTERRUPTED, path, 0, 0, "writing was interrupted");
        if (ferror(stream))
            break;
    }
    if (ferror(stream) || fflush(stream) != 0)
        return pv__fail_at(ctx, PV_ERR_WRITE, path, 0, 0, "could not be written: %s",
                           errno ? strerror(errno) : "unknown cause");
    return PV_OK;
}

/* Provides the table as a single piece. */
static pv_status next_piece(void *state, const pv_table **piece) {
    const pv_table **left = state;
    *piece = *left;
    *left = NULL;
    return PV_OK;
}

pv_status pv_table_save(pv_ctx *ctx, const pv_table *table, const char *path) {
    pv_output output = {0};
    if (!path)
        return pv_table_write(ctx, table, NULL);
    if (pv_output_is_parquet(path))
        return pv_parquet_write(ctx, path, next_piece, &table);
    pv_status status = pv_output_open(ctx, path, &output);
    if (status == PV_OK)
        status = pv_table_write(ctx, table, &output);
    if (status == PV_OK)
        status = pv_output_commit(ctx, &output);
    pv_output_discard(ctx, &output);
    return status;
}
