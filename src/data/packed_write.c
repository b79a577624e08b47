/* Writes packed tables; packed.c has the format and reads them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/value.h"
#include "data/archive.h"
#include "data/packed.h"

/* Whole numbers that are not all exact in single precision might be identifiers. */
static bool needs_digits(const pv_table *table, const pv_column *column) {
    bool lost = false;
    for (size_t i = 0; i < table->rows; i++) {
        double x = pv__cell_number(column, i);
        if (isfinite(x) && x != floor(x))
            return false;
        lost = lost || (isfinite(x) && (double)(float)x != x);
    }
    return lost;
}

static pv__packed_kind kind_of(const pv_table *table, const pv_column *column, bool single) {
    if (column->type == PV_COLUMN_TEXT)
        return PV__PACKED_CODE;
    return single && !needs_digits(table, column) ? PV__PACKED_SINGLE : PV__PACKED_DOUBLE;
}

static pv_result *column_header(const pv_column *column, pv__packed_kind k) {
    pv_result *levels = pv__value_list(),
              *made = pv__value_pack("tt", "name", column->name, "kind", pv__packed_word(k));
    for (int32_t i = 0; column->code && i < column->levels; i++)
        pv__value_append(levels, pv__value_text(column->level[i]));
    if (k != PV__PACKED_CODE && column->code)
        pv__value_set(made, "spelled", pv__value_flag(true));
    if (column->respelled)
        pv__value_set(made, "respelled", pv__value_flag(true));
    pv__value_set(made, "levels", levels);
    return made;
}

/* The format options of the source, which become part of what is learned from the table. */
static pv_result *written_header(const pv_written *w) {
    const char *const text[] = {w->separator, w->decimal, w->na, w->names, w->quote};
    static const char *const key[] = {"separator", "decimal", "na", "names", "quote"};
    pv_result *made = pv__value_pack("b", "no_header", (int)w->no_header);
    for (size_t i = 0; i < sizeof key / sizeof *key; i++)
        if (text[i])
            pv__value_set(made, key[i], pv__value_text(text[i]));
    return made;
}

static pv_status make_header(pv_ctx *ctx, const pv_table *table, bool single, uint64_t hash, char **text) {
    char number[24];
    pv__format(number, sizeof number, "%016llx", (unsigned long long)hash);
    pv_result *columns = pv__value_list();
    for (size_t c = 0; c < table->columns; c++)
        pv__value_append(columns, column_header(&table->column[c], kind_of(table, &table->column[c], single)));
    pv_result *root =
        pv__value_pack("ttIbvv", "source", table->source, "hash", number, "rows", (int64_t)table->rows, "lines",
                       (int)(table->line != NULL), "written", written_header(&table->written), "columns", columns);
    pv_status status =
        pv__json_dump(ctx, root, "a name, or a level, of the table is not UTF-8;\nsave the data as UTF-8", text);
    pv_result_free(root);
    return status;
}

static const double *wide_cells(const pv_column *column, size_t at, size_t n, double *buffer) {
    if (column->number)
        return column->number + at;
    for (size_t i = 0; i < n; i++)
        buffer[i] = (double)column->single[at + i];
    return buffer;
}

/* Writes the column's cells in pieces. */
static void write_cells(FILE *stream, const pv_table *table, const pv_column *column, pv__packed_kind k) {
    enum { PIECE = 1024 }; /* stacks may be small */
    float numbers[PIECE];
    double wide[PIECE];
    uint64_t lines[PIECE], converted[PIECE];
    for (size_t at = 0; at < table->rows && !ferror(stream); at += PIECE) {
        size_t n = table->rows - at < PIECE ? table->rows - at : PIECE;
        const void *from = numbers;
        if (k == PV__PACKED_DOUBLE)
            from = wide_cells(column, at, n, wide);
        else if (k == PV__PACKED_CODE)
            from = column->code + at;
        for (size_t i = 0; k == PV__PACKED_SINGLE && i < n; i++)
            numbers[i] = (float)pv__cell_number(column, at + i);
        for (size_t i = 0; k == PV__PACKED_LINE && i < n; i++)
            lines[i] = table->line[at + i];
        if (k == PV__PACKED_LINE)
            from = lines;
        fwrite(pv__little_endian(from, pv__packed_cell(k), n, converted), pv__packed_cell(k), n, stream);
    }
}

static void pad(FILE *stream, uint64_t *at, uint64_t size) {
    static const char zeros[PV__PACKED_ALIGN];
    fwrite(zeros, 1, (size_t)(pv__packed_aligned(*at) - *at), stream);
    *at = pv__packed_aligned(*at) + size;
}

/* Rejects finite numbers that would overflow single precision. */
static pv_status check_single(pv_ctx *ctx, const pv_table *table) {
    for (size_t c = 0; c < table->columns; c++)
        for (size_t i = 0; table->column[c].type == PV_COLUMN_NUMBER && i < table->rows; i++) {
            double x = pv__cell_number(&table->column[c], i);
            if (x - x == 0 && !((float)x - (float)x == 0))
                return pv__fail_at(ctx, PV_ERR_INPUT, table->source, pv_table_line(table, i), c + 1,
                                   "%g is too large for single precision;\nleave `single` out, or scale the column", x);
        }
    return PV_OK;
}

/* A block of the file: a column's cells, the texts of its numbers, or the line numbers. */
typedef struct block {
    const pv_column *column; /* NULL: line numbers */
    pv__packed_kind kind;
} block;

enum { BLOCKS_EACH = 2 };

static size_t list_blocks(const pv_table *table, bool single, block *list) {
    size_t n = 0;
    for (size_t c = 0; c < table->columns; c++) {
        const pv_column *column = &table->column[c];
        list[n++] = (block){column, kind_of(table, column, single)};
        if (column->type == PV_COLUMN_NUMBER && column->code)
            list[n++] = (block){column, PV__PACKED_CODE};
    }
    if (table->line)
        list[n++] = (block){NULL, PV__PACKED_LINE};
    return n;
}

static pv_status write_blocks(pv_ctx *ctx, const pv_table *table, const block *list, size_t n, uint64_t at,
                              FILE *stream) {
    pv_status status = PV_OK;
    for (size_t b = 0; b < n && status == PV_OK; b++) {
        pad(stream, &at, table->rows * pv__packed_cell(list[b].kind));
        write_cells(stream, table, list[b].column, list[b].kind);
        status = pv__go_on(ctx);
    }
    return status;
}

/* A write error is kept in the stream and reported when it is closed. */
static pv_status write_table(pv_ctx *ctx, const pv_table *table, bool single, FILE *stream) {
    const char *const rounded = "in single precision";
    char *header = NULL, sizes[PV_SIZES_LINE];
    uint64_t hash = single ? pv__hash_seeded(rounded, strlen(rounded), table->hash) : table->hash;
    PV_TRY(make_header(ctx, table, single, hash, &header));
    block *list = NULL;
    pv_status status = pv__alloc(ctx, BLOCKS_EACH * table->columns + 1, sizeof *list, &list);
    if (status != PV_OK) {
        pv__free(ctx, header);
        return status;
    }
    size_t length = strlen(header), n = list_blocks(table, single, list);
    uint64_t rest = 0; /* avoids a cycle: the header's padding depends on the length of the line of sizes, which depends
                          on the sizes */
    for (size_t b = 0; b < n; b++)
        rest = pv__packed_aligned(rest) + table->rows * pv__packed_cell(list[b].kind);
    int line = pv__format(sizes, sizeof sizes, PV_SIZES_FORMAT, length, (size_t)rest,
                          (unsigned long long)pv__hash(header, length));
    fwrite(PV__PACKED_MAGIC, 1, sizeof PV__PACKED_MAGIC - 1, stream);
    fwrite(sizes, 1, (size_t)line, stream);
    fwrite(header, 1, length, stream);
    status = write_blocks(ctx, table, list, n, sizeof PV__PACKED_MAGIC - 1 + (size_t)line + length, stream);
    pv__free(ctx, list);
    pv__free(ctx, header);
    return status;
}

static pv_status check_images(pv_ctx *ctx, const pv_table *table) {
    return table->images
               ? pv__fail_at(ctx, PV_ERR_USAGE, table->source, 0, 0, "has images, which are mapped as they are")
               : PV_OK;
}

pv_status pv_table_pack(pv_ctx *ctx, const pv_table *table, const char *path, bool single) {
    PV_TRY(check_images(ctx, table));
    if (single)
        PV_TRY(check_single(ctx, table));
    pv_output output = {0};
    pv_status status;
    PV_GOTO(done, pv_output_open(ctx, path, &output));
    PV_GOTO(done, write_table(ctx, table, single, output.stream));
    status = pv_output_commit(ctx, &output);
done:
    pv_output_discard(ctx, &output);
    return status;
}

/* Takes ownership of the file and closes it. */
static pv_status write_whole(pv_ctx *ctx, const pv_table *table, const char *folder, int file) {
    FILE *stream = fdopen(file, "w");
    if (!stream) {
        close(file);
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory");
    }
    pv_status status = write_table(ctx, table, false, stream);
    bool good = !ferror(stream);
    good = fclose(stream) == 0 && good;
    if (status == PV_OK && !good)
        status = pv__fail_at(ctx, PV_ERR_WRITE, folder, 0, 0,
                             "the table does not fit `memory`, and could not be written there: %s", strerror(errno));
    return status;
}

pv_status pv_table_put_away(pv_ctx *ctx, const char *folder, pv_table **table) {
    PV_TRY(check_images(ctx, *table));
    int file = pv__file_without_name(folder), copy = file >= 0 ? dup(file) : -1;
    char path[40], *name = NULL;
    pv_table *read = NULL;
    pv_status status;
    if (copy < 0) {
        status = pv__fail_at(ctx, PV_ERR_PATH, folder, 0, 0,
                             "the table does not fit `memory`, and cannot be stored there: %s", strerror(errno));
        goto done;
    }
    PV_GOTO(done, write_whole(ctx, *table, folder, copy));
    pv__format(path, sizeof path, "/proc/self/fd/%d", file);
    PV_GOTO(done, pv__strdup(ctx, (*table)->source, &name));
    PV_GOTO(done, pv__packed_read(ctx, path, NULL, &read));
    pv__free(ctx, read->packed->path);
    read->packed->path = name; /* the name used in messages */
    read->packed->source.path = name;
    name = NULL;
    pv_table_free(ctx, *table);
    *table = read;
done:
    pv__free(ctx, name);
    if (file >= 0)
        close(file);
    return status;
}

bool pv_table_fits(const pv_ctx *ctx, const pv_table *table) {
    size_t bytes;
    if (table->packed || table->images || table->arrays)
        return true;
    if (__builtin_mul_overflow(table->rows * sizeof(double), table->columns, &bytes))
        return false;
    return !pv__spill_wanted(ctx, bytes);
}
