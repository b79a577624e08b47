/* Strata by which rows were sampled, in addition to their labels. A stratum is a combination of levels of the strata's
 * columns. The indices of the levels are the digits of its key, so sorted keys give the order of strata.
 */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "data/schema_learn.h"

static const int64_t KEYS_MAX = (int64_t)1 << 52;
enum { STRATA_MAX = 1000 };

void pv__strata_free(pv_ctx *ctx, pv_strata *strata) {
    if (!strata)
        return;
    for (size_t c = 0; strata->column && c < strata->columns; c++) {
        pv__free(ctx, strata->column[c].name);
        pv_string_list_free(ctx, strata->column[c].level, (size_t)strata->column[c].levels);
        pv__free(ctx, strata->column[c].rows);
    }
    pv__free(ctx, strata->column);
    pv__free(ctx, strata->key);
    pv_string_list_free(ctx, strata->name, strata->name ? (size_t)strata->count : 0);
    pv__free(ctx, strata);
}

pv_status pv__strata_copy(pv_ctx *ctx, const pv_strata *from, pv_strata **to) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **to, to));
    pv_strata *made = *to;
    PV_TRY(pv__alloc(ctx, from->columns, sizeof *made->column, &made->column));
    made->columns = from->columns;
    for (size_t c = 0; c < from->columns; c++)
        PV_TRY(pv__source_copy(ctx, &from->column[c], &made->column[c]));
    PV_TRY(pv__alloc(ctx, (size_t)from->count, sizeof *made->key, &made->key));
    memcpy(made->key, from->key, (size_t)from->count * sizeof *made->key);
    made->count = from->count; /* set before the names, so that a partial copy can be freed */
    return pv__names_copy(ctx, (const char *const *)from->name, (size_t)from->count, &made->name);
}

/* The number of combinations that the columns allow; 0: too many. */
static int64_t combinations(const pv_strata *strata) {
    int64_t all = 1;
    for (size_t c = 0; c < strata->columns; c++) {
        if (strata->column[c].levels < 1 || all > KEYS_MAX / strata->column[c].levels)
            return 0;
        all *= strata->column[c].levels;
    }
    return all;
}

static pv_status name_one(pv_ctx *ctx, const pv_strata *strata, int64_t key, char **name) {
    size_t size = 1, at = 0;
    int64_t unit = combinations(strata);
    for (int pass = 0; pass < 2; pass++) { /* first pass: the length, second pass: the text */
        int64_t rest = key, radix = unit;
        for (size_t c = 0; c < strata->columns; c++) {
            radix /= strata->column[c].levels;
            const char *level = strata->column[c].level[rest / radix];
            rest %= radix;
            if (pass == 0)
                size += strlen(level) + 3;
            else
                at += (size_t)pv__format(*name + at, size - at, "%s%s", c ? " / " : "", level);
        }
        if (pass == 0)
            PV_TRY(pv__alloc(ctx, size, 1, name));
    }
    return PV_OK;
}

pv_status pv__strata_name(pv_ctx *ctx, pv_strata *strata, bool *sound) {
    int64_t all = combinations(strata);
    *sound = all > 0 && strata->count >= 1 && strata->count <= STRATA_MAX;
    for (int32_t s = 0; s < strata->count && *sound; s++)
        *sound = strata->key[s] >= 0 && strata->key[s] < all && (s == 0 || strata->key[s] > strata->key[s - 1]);
    if (!*sound)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, (size_t)strata->count, sizeof *strata->name, &strata->name));
    for (int32_t s = 0; s < strata->count; s++)
        PV_TRY(name_one(ctx, strata, strata->key[s], &strata->name[s]));
    return PV_OK;
}

static int by_size(const void *a, const void *b) {
    int64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

static int32_t find_key(const pv_strata *strata, int64_t key) {
    const int64_t *found = bsearch(&key, strata->key, (size_t)strata->count, sizeof key, by_size);
    return found ? (int32_t)(found - strata->key) : -1;
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

/* Learns the levels of one column and adds its digit to the rows' keys. */
static pv_status learn_column(pv_ctx *ctx, const pv_table *table, const char *name, const pv_dataset *data,
                              pv_source_column *column, int64_t *key) {
    size_t c;
    PV_TRY(pv_table_find(ctx, table, "`strata`", name, &c));
    for (size_t i = 0; i < data->rows; i++)
        if (pv__cell_missing(&table->column[c], data->table_row[i]))
            return PV__FAIL_CELL(ctx, table, data->table_row[i], c,
                                 "no stratum in column '%s'; every row needs one:\nfill the cell, or leave the row out",
                                 pv__show(name).text);
    pv_column found;
    PV_TRY(pv__categories_make(ctx, table, c, data, PV__LEVELS_MAX, &found));
    pv_status status;
    column->type = PV_COLUMN_TEXT;
    PV_GOTO(done, pv__strdup(ctx, table->column[c].name, &column->name));
    if (found.levels > PV__LEVELS_MAX) {
        status = pv__fail_at(
            ctx, PV_ERR_INPUT, table->source, 0, c + 1,
            "`strata`: column '%s' has more than %d different values;\nname the columns that rows were sampled by",
            pv__show(name).text, PV__LEVELS_MAX);
        goto done;
    }
    PV_GOTO(done, pv__categories_sort(ctx, data, true, &found));
    for (size_t i = 0; i < data->rows; i++)
        key[i] = key[i] * found.levels + found.code[i];
    column->level = found.level;
    column->levels = found.levels;
    found.level = NULL;
done:
    pv__categories_free(ctx, &found);
    return status;
}

/* Collects the keys that occur, and each row's index among them. */
static pv_status learn_keys(pv_ctx *ctx, const int64_t *key, pv_strata *strata, pv_dataset *data) {
    int64_t *sorted;
    size_t n = data->rows, count = 0;
    PV_TRY(pv__alloc(ctx, n, sizeof *sorted, &sorted));
    pv_status status;
    memcpy(sorted, key, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            sorted[count++] = sorted[i];
    if (count > STRATA_MAX) {
        status = pv__fail(ctx, PV_ERR_INPUT, "`strata`: the rows have %zu strata; at most %d are supported", count,
                          STRATA_MAX);
        goto done;
    }
    PV_GOTO(done, pv__alloc(ctx, count, sizeof *strata->key, &strata->key));
    memcpy(strata->key, sorted, count * sizeof *sorted);
    strata->count = (int32_t)count;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *data->stratum, &data->stratum));
    for (size_t i = 0; i < n; i++)
        data->stratum[i] = find_key(strata, key[i]);
done:
    pv__free(ctx, sorted);
    return status;
}

pv_status pv__strata_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema *schema,
                           pv_dataset *data) {
    char **names;
    size_t count;
    PV_TRY(pv__names_split(ctx, "`strata`", roles->strata, &names, &count));
    int64_t *key = NULL;
    pv_status status = PV_OK;
    if (count == 0)
        goto done;
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *schema->strata, &schema->strata));
    PV_GOTO(done, pv__alloc(ctx, count, sizeof *schema->strata->column, &schema->strata->column));
    schema->strata->columns = count;
    PV_GOTO(done, pv__alloc(ctx, data->rows, sizeof *key, &key));
    for (size_t c = 0; c < count; c++) {
        if (roles->target && strcmp(names[c], roles->target) == 0) {
            status = pv__fail(ctx, PV_ERR_USAGE, "`strata`: '%s' is the outcome", pv__show(names[c]).text);
            goto done;
        }
        PV_GOTO(done, learn_column(ctx, table, names[c], data, &schema->strata->column[c], key));
        pv_strata sofar = {.columns = c + 1, .column = schema->strata->column};
        if (combinations(&sofar) == 0) {
            status = pv__fail(ctx, PV_ERR_USAGE, "`strata`: these columns have too many combinations;\nname fewer");
            goto done;
        }
    }
    PV_GOTO(done, learn_keys(ctx, key, schema->strata, data));
    bool sound;
    status = pv__strata_name(ctx, schema->strata, &sound);
done:
    pv__free(ctx, key);
    pv_string_list_free(ctx, names, count);
    return status;
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

/* The index of a cell's level; -1: the cell is empty, -2: unknown level. Levels of a text column are looked up once;
 * known [levels] stores the result plus 3. */
static int32_t level_of(const pv_source_column *of, const pv_column *column, size_t row, int32_t *known) {
    char number[PV__NUMBER_TEXT];
    if (pv__cell_missing(column, row))
        return -1;
    int32_t code = column->code ? column->code[row] : -1;
    if (code < 0) { /* a number, whose text is not stored */
        const char *text = pv__cell_text(column, row, number);
        int32_t found = pv__label_find(of->level, of->levels, text, strlen(text));
        return found < 0 ? -2 : found;
    }
    if (known[code] == 0) {
        const char *level = column->level[code];
        int32_t found = pv__label_find(of->level, of->levels, level, strlen(level));
        known[code] = (found < 0 ? -2 : found) + 3;
    }
    return known[code] - 3;
}

static pv_status unknown_level(pv_ctx *ctx, const pv_table *table, size_t row, size_t c, const pv_source_column *of,
                               const char *what) {
    char text[PV__NUMBER_TEXT], joined[240];
    const pv_column *column = &table->column[c];
    pv__join(of->level, (size_t)of->levels, 8, joined, sizeof joined);
    return PV__FAIL_CELL(ctx, table, row, c,
                         "'%s' in column '%s' is not %s: %s;\ncorrect the cell, or leave the row out",
                         pv__show(pv__cell_text(column, row, text)).text, pv__show(column->name).text, what, joined);
}

/* Adds one column's digit to keys [rows]; -1 marks rows that do not state their stratum. row NULL: all rows of the
 * table. */
static pv_status apply_column(pv_ctx *ctx, const pv_table *table, const pv_source_column *of, size_t rows,
                              const size_t *row, const char *what, int64_t *key) {
    size_t c = pv__table_lookup(table, of->name);
    if (c == table->columns) {
        for (size_t i = 0; i < rows; i++)
            key[i] = -1;
        return PV_OK;
    }
    int32_t *known;
    PV_TRY(pv__alloc(ctx, (size_t)table->column[c].levels, sizeof *known, &known));
    pv_status status = PV_OK;
    for (size_t i = 0; i < rows && status == PV_OK; i++) {
        size_t at = row ? row[i] : i;
        int32_t level = level_of(of, &table->column[c], at, known);
        if (level == -2 && what)
            status = unknown_level(ctx, table, at, c, of, what);
        bool strange = level == -2 || key[i] == -2;
        key[i] = strange ? -2 : level < 0 || key[i] < 0 ? -1 : key[i] * of->levels + level;
    }
    pv__free(ctx, known);
    return status;
}

static pv_status apply(pv_ctx *ctx, const pv_strata *strata, const pv_table *table, size_t rows, const size_t *row,
                       const char *what, int32_t *stratum) {
    int64_t *key;
    PV_TRY(pv__alloc(ctx, rows, sizeof *key, &key));
    pv_status status = PV_OK;
    for (size_t c = 0; c < strata->columns && status == PV_OK; c++)
        status = apply_column(ctx, table, &strata->column[c], rows, row, what, key);
    for (size_t i = 0; i < rows && status == PV_OK; i++) {
        stratum[i] = key[i] < 0 ? (int32_t)key[i] : find_key(strata, key[i]);
        if (key[i] >= 0 && stratum[i] < 0 && !what)
            stratum[i] = -2;
        else if (key[i] >= 0 && stratum[i] < 0) {
            size_t c = pv__table_lookup(table, strata->column[0].name);
            status = PV__FAIL_CELL(ctx, table, row ? row[i] : i, c,
                                   "this combination of levels is not %s;\nleave the row out", what);
        }
    }
    pv__free(ctx, key);
    return status;
}

pv_status pv__strata_of_table(pv_ctx *ctx, const pv_strata *strata, const pv_table *table, const char *what,
                              int32_t *stratum) {
    return apply(ctx, strata, table, table->rows, NULL, what, stratum);
}

pv_status pv__strata_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, pv_dataset *data) {
    if (!schema->strata)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, data->rows, sizeof *data->stratum, &data->stratum));
    return apply(ctx, schema->strata, table, data->rows, data->table_row, "a stratum that the model knows",
                 data->stratum);
}
