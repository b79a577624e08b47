/* Tables built from arrays in memory: numbers of any type, texts, codes with levels. The result is what the CSV reader
 * would make of the same content: levels in order of first appearance, without unused ones.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "data/archive.h"
#include "data/data.h"

pv_status pv_table_new(pv_ctx *ctx, const char *source, size_t rows, pv_table **table) {
    *table = NULL;
    if (rows == 0)
        return pv__fail_at(ctx, PV_ERR_INPUT, source, 0, 0, "a table in memory needs at least one row");
    return pv__table_new(ctx, source, NULL, 0, rows, table);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static pv_status check_name(pv_ctx *ctx, const pv_table *table, const char *name) {
    if (!*name)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, table->columns + 1, "column %zu has no name;\nname it",
                           table->columns + 1);
    size_t earlier = pv__table_lookup(table, name);
    if (earlier < table->columns)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, table->columns + 1,
                           "columns %zu and %zu are both named '%s';\nrename one", earlier + 1, table->columns + 1,
                           pv__show(name).text);
    return PV_OK;
}

pv_status pv__table_begin(pv_ctx *ctx, const pv_table *table, const char *name, pv_column_type type,
                          pv_column *column) {
    char number[32];
    *column = (pv_column){.type = type};
    pv__format(number, sizeof number, "x%zu", table->columns + 1);
    PV_TRY(check_name(ctx, table, name ? name : number));
    return pv__strdup(ctx, name ? name : number, &column->name);
}

void pv__column_drop(pv_ctx *ctx, pv_column *column) {
    pv__free(ctx, column->name);
    pv__free(ctx, column->borrowed ? NULL : column->number);
    pv__free(ctx, column->code);
    pv__free(ctx, column->rank);
    pv_string_list_free(ctx, column->level, (size_t)column->levels);
}

static uint64_t hash_of(const pv_table *table, pv_column *column) {
    const pv_table one = {.rows = table->rows, .columns = 1, .column = column};
    return pv__table_hash(&one);
}

/* The hash of the columns so far combined with the next, so that none is read twice. */
static uint64_t hash_with(const pv_table *table, uint64_t next) {
    uint64_t both[2] = {table->hash, next};
    return pv__hash(pv__little_endian(both, sizeof *both, 2, both), sizeof both);
}

void pv__table_rehash(pv_table *table) {
    table->hash = 0;
    for (size_t c = 0; c < table->columns; c++)
        table->hash = hash_with(table, hash_of(table, &table->column[c]));
}

pv_status pv__table_append(pv_ctx *ctx, pv_table *table, pv_column *column) {
    pv_status status = pv__resize(ctx, table->columns + 1, sizeof *table->column, &table->column);
    if (status != PV_OK) {
        pv__column_drop(ctx, column);
        return status;
    }
    table->hash = hash_with(table, hash_of(table, column));
    table->column[table->columns++] = *column;
    return PV_OK;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* One pass over possibly unaligned cells that are `stride` bytes apart. */
#define CONVERT(type)                                                                                                  \
    do {                                                                                                               \
        for (size_t i = 0; i < n; i++) {                                                                               \
            type value;                                                                                                \
            memcpy(&value, from + (ptrdiff_t)i * stride, sizeof value);                                                \
            to[i] = (double)value;                                                                                     \
        }                                                                                                              \
    } while (0)

void pv__numbers_convert(pv_array_type type, const unsigned char *from, ptrdiff_t stride, size_t n, double *to) {
    switch (type) {
    case PV_ARRAY_BOOL:
        for (size_t i = 0; i < n; i++)
            to[i] = from[(ptrdiff_t)i * stride] != 0;
        return;
    case PV_ARRAY_U8:
        CONVERT(uint8_t);
        return;
    case PV_ARRAY_I8:
        CONVERT(int8_t);
        return;
    case PV_ARRAY_U16:
        CONVERT(uint16_t);
        return;
    case PV_ARRAY_I16:
        CONVERT(int16_t);
        return;
    case PV_ARRAY_U32:
        CONVERT(uint32_t);
        return;
    case PV_ARRAY_I32:
        CONVERT(int32_t);
        return;
    case PV_ARRAY_U64:
        CONVERT(uint64_t);
        return;
    case PV_ARRAY_I64:
        CONVERT(int64_t);
        return;
    case PV_ARRAY_F32:
        CONVERT(float);
        return;
    case PV_ARRAY_F64:
        CONVERT(double);
        return;
    case PV_ARRAY_UNICODE:
    case PV_ARRAY_BYTES:
        return; /* check_type has rejected other types */
    }
}

static pv_status check_type(pv_ctx *ctx, const pv_table *table, pv_array_type type) {
    if ((int)type >= PV_ARRAY_BOOL && type <= PV_ARRAY_F64)
        return PV_OK;
    return pv__fail_at(ctx, PV_ERR_USAGE, table->source, 0, table->columns + 1,
                       "column %zu: %s is not a type of number;\ngive texts with pv_table_add_texts",
                       table->columns + 1, pv_array_type_name(type));
}

static ptrdiff_t or_packed(pv_array_type type, ptrdiff_t stride) {
    return stride == PV_PACKED ? (ptrdiff_t)pv__array_element(type) : stride;
}

/* Contiguous, aligned doubles without a mask. */
static bool can_borrow(pv_array_type type, const void *cells, ptrdiff_t stride, const uint8_t *missing) {
    return type == PV_ARRAY_F64 && stride == (ptrdiff_t)sizeof(double) && !missing &&
           (uintptr_t)cells % _Alignof(double) == 0;
}

/* Sets the numbers of a column under construction: borrowed, or newly allocated for a copy. */
static pv_status place_numbers(pv_ctx *ctx, size_t rows, const void *borrowed, pv_column *column) {
    if (!borrowed)
        return pv__resize(ctx, rows, sizeof *column->number, &column->number);
    memcpy(&column->number, &borrowed, sizeof column->number); /* never written to: the column is marked as borrowed */
    column->borrowed = true;
    return PV_OK;
}

static void mask(const uint8_t *missing, size_t n, double *number) {
    for (size_t i = 0; missing && i < n; i++)
        if (missing[i])
            number[i] = (double)NAN;
}

/* Stores the digits of integers that are not exact as doubles: identifiers need them all. */
static pv_status keep_digits(pv_ctx *ctx, pv_array_type type, const unsigned char *cells, ptrdiff_t stride, size_t rows,
                             pv_column *column) {
    pv__dictionary dictionary = {0};
    pv_status status = PV_OK;
    bool wide = type == PV_ARRAY_I64 || type == PV_ARRAY_U64;
    for (size_t i = 0; wide && i < rows && status == PV_OK; i++) {
        uint64_t bits;
        memcpy(&bits, cells + (ptrdiff_t)i * stride, sizeof bits);
        bool negative = type == PV_ARRAY_I64 && bits > INT64_MAX;
        uint64_t magnitude = negative ? 0 - bits : bits;
        if (!isnan(column->number[i]) && (column->code || magnitude > PV__EXACT_INTEGER))
            status = pv__spell_integer(ctx, &dictionary, column, i, rows, negative, magnitude);
    }
    pv__spelling_finish(column, rows);
    pv__dictionary_free(ctx, &dictionary);
    return status;
}

pv_status pv_table_add_numbers(pv_ctx *ctx, pv_table *table, const char *name, pv_array_type type, const void *cells,
                               ptrdiff_t stride, const uint8_t *missing, bool borrow) {
    pv_column column;
    PV_TRY(check_type(ctx, table, type));
    PV_TRY(pv__table_begin(ctx, table, name, PV_COLUMN_NUMBER, &column));
    stride = or_packed(type, stride);
    borrow = borrow && can_borrow(type, cells, stride, missing);
    pv_status status = place_numbers(ctx, table->rows, borrow ? cells : NULL, &column);
    if (status != PV_OK) {
        pv__column_drop(ctx, &column);
        return status;
    }
    if (!borrow) {
        pv__numbers_convert(type, cells, stride, table->rows, column.number);
        mask(missing, table->rows, column.number);
        status = keep_digits(ctx, type, cells, stride, table->rows, &column);
    }
    if (status == PV_OK)
        return pv__table_append(ctx, table, &column);
    pv__column_drop(ctx, &column);
    return status;
}

/* Copies a row-major matrix into its columns by blocks of rows, so that each cache line is read once. */
static void copy_block(pv_ctx *ctx, const pv_table *table, size_t first, size_t columns, pv_array_type type,
                       const unsigned char *cells, ptrdiff_t row_stride, ptrdiff_t column_stride) {
    enum { BLOCK = 256, BLOCKS_EACH = 64 };
    size_t blocks = (table->rows + BLOCK - 1) / BLOCK;
#pragma omp parallel for num_threads(pv__threads_for(ctx, blocks / BLOCKS_EACH))
    for (size_t b = 0; b < blocks; b++) {
        size_t row = b * BLOCK, n = table->rows - row < BLOCK ? table->rows - row : BLOCK;
        for (size_t c = 0; c < columns; c++)
            pv__numbers_convert(type, cells + (ptrdiff_t)row * row_stride + (ptrdiff_t)c * column_stride, row_stride, n,
                                table->column[first + c].number + row);
    }
}

/* Hashes the columns from `first` on, one thread per column, then combines the hashes in order. */
static pv_status hash_columns(pv_ctx *ctx, pv_table *table, size_t first) {
    size_t columns = table->columns - first;
    uint64_t *hash;
    PV_TRY(pv__alloc(ctx, columns, sizeof *hash, &hash));
#pragma omp parallel for num_threads(pv__columns_team(ctx, columns, table->rows))
    for (size_t c = 0; c < columns; c++)
        hash[c] = hash_of(table, &table->column[first + c]);
    for (size_t c = 0; c < columns; c++)
        table->hash = hash_with(table, hash[c]);
    pv__free(ctx, hash);
    return PV_OK;
}

/* Removes the columns from `first` on. */
static void cut_back(pv_ctx *ctx, pv_table *table, size_t first) {
    while (table->columns > first)
        pv__column_drop(ctx, &table->column[--table->columns]);
}

pv_status pv_table_add_matrix(pv_ctx *ctx, pv_table *table, const char *const *names, size_t columns,
                              pv_array_type type, const void *cells, ptrdiff_t row_stride, ptrdiff_t column_stride,
                              bool borrow) {
    PV_TRY(check_type(ctx, table, type));
    size_t first = table->columns;
    if (row_stride == PV_PACKED) {
        column_stride = or_packed(type, column_stride);
        row_stride = (ptrdiff_t)columns * column_stride;
    } else if (column_stride == PV_PACKED) {
        column_stride = (ptrdiff_t)table->rows * row_stride;
    }
    borrow = borrow && column_stride % (ptrdiff_t)sizeof(double) == 0 && can_borrow(type, cells, row_stride, NULL);
    pv_status status;
    PV_GOTO(fail, pv__resize(ctx, first + columns, sizeof *table->column, &table->column));
    for (size_t c = 0; c < columns; c++) {
        pv_column *column = &table->column[first + c];
        status = pv__table_begin(ctx, table, names ? names[c] : NULL, PV_COLUMN_NUMBER, column);
        table->columns += status == PV_OK || column->name;
        if (status == PV_OK)
            status = place_numbers(ctx, table->rows,
                                   borrow ? (const unsigned char *)cells + (ptrdiff_t)c * column_stride : NULL, column);
        if (status != PV_OK)
            goto fail;
    }
    if (!borrow)
        copy_block(ctx, table, first, columns, type, cells, row_stride, column_stride);
    for (size_t c = 0; !borrow && c < columns; c++)
        PV_GOTO(fail, keep_digits(ctx, type, (const unsigned char *)cells + (ptrdiff_t)c * column_stride, row_stride,
                                  table->rows, &table->column[first + c]));
    PV_GOTO(fail, hash_columns(ctx, table, first));
    return PV_OK;
fail:
    cut_back(ctx, table, first);
    return status;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

pv_status pv__column_code(pv_ctx *ctx, pv__dictionary *dictionary, pv_column *column, const char *text, size_t length,
                          int32_t *code) {
    uint64_t hash;
    *code = -1;
    if (pv__text_missing(text, length))
        return PV_OK;
    *code = pv__dictionary_find(dictionary, column, text, length, &hash);
    if (*code >= 0)
        return PV_OK;
    *code = column->levels;
    return pv__dictionary_add(ctx, dictionary, column, text, length, hash);
}

pv_status pv_table_add_texts(pv_ctx *ctx, pv_table *table, const char *name, const char *const *cells,
                             const uint8_t *missing) {
    pv_column column;
    pv__dictionary dictionary = {0};
    PV_TRY(pv__table_begin(ctx, table, name, PV_COLUMN_TEXT, &column));
    pv_status status;
    PV_GOTO(done, pv__resize(ctx, table->rows, sizeof *column.code, &column.code));
    for (size_t i = 0; i < table->rows; i++) {
        column.code[i] = -1;
        if (cells[i] && !(missing && missing[i]))
            PV_GOTO(done, pv__column_code(ctx, &dictionary, &column, cells[i], strlen(cells[i]), &column.code[i]));
    }
done:
    pv__dictionary_free(ctx, &dictionary);
    if (status == PV_OK)
        return pv__table_append(ctx, table, &column);
    pv__column_drop(ctx, &column);
    return status;
}

/* The code of row i, from 0; -1: missing. False if there is no such level. */
static bool read_code(pv_array_type type, const unsigned char *codes, ptrdiff_t stride, int64_t first, size_t levels,
                      size_t i, int64_t *code) {
    double value;
    pv__numbers_convert(type, codes + (ptrdiff_t)i * stride, stride, 1, &value);
    *code = -1;
    if (isnan(value) || value < (double)first)
        return true;
    if (!(value - (double)first < (double)levels) || value != floor(value))
        return false;
    *code = (int64_t)(value - (double)first);
    return true;
}

pv_status pv_table_add_codes(pv_ctx *ctx, pv_table *table, const char *name, pv_array_type type, const void *codes,
                             ptrdiff_t stride, int64_t first, const char *const *levels, size_t n_levels,
                             const uint8_t *missing) {
    pv_column column;
    pv__dictionary dictionary = {0};
    int32_t *known = NULL; /* for each given level: its code here + 2; 0: not yet seen */
    PV_TRY(check_type(ctx, table, type));
    PV_TRY(pv__table_begin(ctx, table, name, PV_COLUMN_TEXT, &column));
    stride = or_packed(type, stride);
    pv_status status;
    PV_GOTO(done, pv__resize(ctx, table->rows, sizeof *column.code, &column.code));
    PV_GOTO(done, pv__alloc(ctx, n_levels, sizeof *known, &known));
    for (size_t i = 0; i < table->rows; i++) {
        int64_t code = -1;
        if (!(missing && missing[i]) && !read_code(type, codes, stride, first, n_levels, i, &code)) {
            status =
                PV__FAIL_CELL(ctx, table, i, table->columns, "column '%s' has a code that is not one of its %zu levels",
                              pv__show(column.name).text, n_levels);
            goto done;
        }
        column.code[i] = -1;
        if (code < 0)
            continue;
        if (known[code] == 0) {
            int32_t made = -1;
            if (levels[code])
                PV_GOTO(done, pv__column_code(ctx, &dictionary, &column, levels[code], strlen(levels[code]), &made));
            known[code] = made + 2;
        }
        column.code[i] = known[code] - 2;
    }
    PV_GOTO(done, pv__alloc(ctx, (size_t)column.levels, sizeof *column.rank, &column.rank));
    for (size_t l = n_levels; l-- > 0;) /* among equal levels the first one counts */
        if (known[l] > 1)
            column.rank[known[l] - 2] = (int32_t)l;
done:
    pv__dictionary_free(ctx, &dictionary);
    pv__free(ctx, known);
    if (status == PV_OK)
        return pv__table_append(ctx, table, &column);
    pv__column_drop(ctx, &column);
    return status;
}
