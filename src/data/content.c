/* The hash of a data set's content: of what the model reads, independent of the kind of source and of other columns.
 *
 * A column's hash covers its name and its cells: numbers as doubles, with one form of zero and of missing cells; texts
 * as the hashes of their levels, so that neither the order of levels nor their codes matter. The features' hash covers
 * the columns named in the schema, in its order; the data set's hash also covers labels and weights. Models keep them:
 * numbers are hashed as the bytes of a little-endian machine.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/openmp.h"
#include "data/columns.h"
#include "data/schema_learn.h"

static void hash_numbers(pv__hasher *state, pv__numbers numbers, size_t rows) {
    double cell[PV__BLOCK], buffer[PV__BLOCK];
    pv__cursor cursor;
    pv__cursor_begin(numbers, NULL, true, &cursor);
    for (size_t begin = 0; begin < rows; begin += PV__BLOCK) {
        size_t n = rows - begin < PV__BLOCK ? rows - begin : PV__BLOCK;
        const double *x = pv__cursor_block(&cursor, begin, n, rows, buffer);
        for (size_t i = 0; i < n; i++)
            cell[i] = isnan(x[i]) ? (double)NAN : x[i] + 0.0; /* -0 becomes 0 */
        pv__hasher_add_numbers(state, cell, sizeof *cell, n);
    }
}

/* of [levels]: the hash of each level of a text column. */
static void hash_texts(pv__hasher *state, const pv_column *column, const uint64_t *of, size_t rows) {
    uint64_t cell[PV__BLOCK];
    char number[PV__NUMBER_TEXT];
    for (size_t begin = 0; begin < rows; begin += PV__BLOCK) {
        size_t n = rows - begin < PV__BLOCK ? rows - begin : PV__BLOCK;
        for (size_t i = 0; i < n; i++) {
            bool missing = pv__cell_missing(column, begin + i);
            const char *text =
                missing || column->type == PV_COLUMN_TEXT ? NULL : pv__cell_text(column, begin + i, number);
            cell[i] = text ? pv__hash(text, strlen(text)) : missing || !of ? 0 : of[column->code[begin + i]];
        }
        pv__hasher_add_numbers(state, cell, sizeof *cell, n);
    }
}

/* of: the hashes of a text column's levels. texts: the numbers are categories of the model and are hashed as texts. */
static uint64_t hash_column(const pv_table *table, size_t c, const uint64_t *of, bool texts) {
    const pv_column *column = &table->column[c];
    pv__hasher state;
    pv__hasher_begin(&state);
    pv__hasher_add(&state, column->name, strlen(column->name) + 1);
    if (column->type == PV_COLUMN_TEXT || texts)
        hash_texts(&state, column, of, table->rows);
    else
        hash_numbers(&state, pv__table_numbers(table, c), table->rows);
    return pv__hasher_end(&state);
}

static size_t levels_of(const pv_column *column) {
    return column->type == PV_COLUMN_TEXT ? (size_t)column->levels : 0;
}

static void hash_levels(const pv_column *column, uint64_t *of) {
    for (size_t l = 0; l < levels_of(column); l++)
        of[l] = pv__hash(column->level[l], strlen(column->level[l]));
}

static uint64_t with(uint64_t hash, uint64_t next) {
    return pv__hash_seeded(pv__little_endian(&next, sizeof next, 1, &next), sizeof next, hash);
}

typedef struct feature {
    size_t column; /* index in the table */
    size_t levels; /* index of the hash of its first level */
    bool category;
    uint64_t hash;
} feature;

static pv_status hash_features(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, bool shared,
                               uint64_t *hash) {
    size_t count = pv_schema_columns(schema), levels = 0;
    feature *f = NULL;
    uint64_t *of = NULL; /* hashes of all levels of all columns */
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, count, sizeof *f, &f));
    for (size_t i = 0; i < count; i++) {
        pv_column_type type = PV_COLUMN_NUMBER;
        f[i].column = pv__table_lookup(table, pv_schema_column(schema, i, &type));
        f[i].category = type == PV_COLUMN_TEXT;
        f[i].levels = levels;
        levels += levels_of(&table->column[f[i].column]);
    }
    PV_GOTO(done, pv__alloc(ctx, levels, sizeof *of, &of));
    for (size_t i = 0; i < count; i++)
        hash_levels(&table->column[f[i].column], of + f[i].levels);
#pragma omp parallel for num_threads(pv__columns_team(ctx, count, table->rows)) schedule(dynamic)
    for (size_t i = 0; i < count; i++)
        if (!shared || pv__makes(ctx, i))
            f[i].hash = hash_column(table, f[i].column, of + f[i].levels, f[i].category);
    if (shared)
        PV_GOTO(done, pv__share_array(ctx, count, f, sizeof *f));
    *hash = table->rows;
    for (size_t i = 0; i < count; i++)
        *hash = with(*hash, f[i].hash);
done:
    pv__free(ctx, f);
    pv__free(ctx, of);
    return status;
}

/* Weights, counts and votes are numbers. */
static void hash_part(const pv_table *table, size_t c, uint64_t *hash) {
    if (c >= table->columns)
        return;
    *hash = with(*hash, hash_column(table, c, NULL, false));
}

static pv_status hash_labels(pv_ctx *ctx, const pv_dataset *data, uint64_t *hash) {
    int32_t *turned = NULL;
    if (PV_BIG_ENDIAN)
        PV_TRY(pv__alloc(ctx, data->rows, sizeof *turned, &turned));
    *hash = pv__hash_seeded(pv__little_endian(data->label, sizeof *turned, data->rows, turned),
                            data->rows * sizeof *turned, *hash);
    pv__free(ctx, turned);
    return PV_OK;
}

pv_status pv__content_hash(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, const pv_roles *roles,
                           bool shared, pv_dataset *data) {
    data->hash = data->features_hash = table->hash;
    if (schema->image || table->piece)
        return PV_OK;
    PV_TRY(hash_features(ctx, schema, table, shared, &data->features_hash));
    uint64_t hash = data->features_hash;
    if (data->label)
        PV_TRY(hash_labels(ctx, data, &hash));
    pv__encoding encoding = {0};
    pv_status status = pv__encoding_parts(ctx, table, roles, &encoding);
    if (status != PV_OK)
        goto done;
    hash_part(table, encoding.weights, &hash);
    hash_part(table, encoding.count[0], &hash);
    hash_part(table, encoding.count[1], &hash);
    for (size_t v = 0; v < encoding.votes; v++)
        hash_part(table, encoding.vote[v], &hash);
    data->hash = hash;
done:
    pv__encoding_free(ctx, &encoding);
    return status;
}
