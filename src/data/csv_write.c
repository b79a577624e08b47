/* Writing CSV that reads back as it was. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "data/data.h"

/* Quotes where the reader would see something else: structure, blanks it would drop, a delimiter it might detect, a
 * byte-order mark it would skip, the beginning of an archive (NPY's byte 0x93; the others have control characters). */
static bool needs_quotes(const char *text, size_t n) {
    bool quotes = n > 0 && (text[0] == ' ' || text[n - 1] == ' ' || text[0] == '\xEF' || text[0] == '\x93');
    for (size_t i = 0; i < n && !quotes; i++)
        quotes = (unsigned char)text[i] < ' ' || text[i] == ',' || text[i] == ';' || text[i] == '"';
    return quotes;
}

size_t pv_csv_quote(const char *text, char *quoted) {
    size_t n = strlen(text), at = 0;
    if (!needs_quotes(text, n)) {
        return (size_t)(stpcpy(quoted, text) - quoted);
    }
    quoted[at++] = '"';
    for (; *text; text++) {
        if (*text == '"')
            quoted[at++] = '"';
        quoted[at++] = *text;
    }
    quoted[at++] = '"';
    return at;
}

void pv_csv_field(void *stream, const char *text) {
    size_t n = strlen(text);
    if (!needs_quotes(text, n)) {
        fwrite(text, 1, n, stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

static void write_cell(FILE *stream, const pv_column *column, size_t row) {
    if (pv__cell_missing(column, row)) {
        fwrite("NA", 1, 2, stream); /* an empty cell alone on its line would be a blank line */
    } else if (column->type == PV_COLUMN_TEXT) {
        pv_csv_field(stream, column->level[column->code[row]]);
    } else {
        char text[32];
        int length = pv_format_double(column->number[row], text, sizeof text);
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
        if (row % 65536 == 0 && pv__interrupted(ctx))
            return pv__fail_at(ctx, PV_ERR_INTERRUPTED, path, 0, 0, "writing was interrupted");
    }
    if (fflush(stream) != 0 || ferror(stream))
        return pv__fail_at(ctx, PV_ERR_WRITE, path, 0, 0, "could not be written: %s",
                           errno ? strerror(errno) : "unknown cause");
    return PV_OK;
}
