/* Categories: the distinct values of a column. */
#include <string.h>

#include "data/schema_learn.h"

void pv__categories_free(pv_ctx *ctx, pv_column *categories) {
    pv__free(ctx, categories->code);
    pv__free(ctx, categories->rank);
    pv_string_list_free(ctx, categories->level, (size_t)categories->levels);
    *categories = (pv_column){0};
}

static pv_status add_level(pv_ctx *ctx, pv__dictionary *dictionary, pv_column *categories, const char *text,
                           int32_t *code) {
    uint64_t hash;
    size_t length = strlen(text);
    *code = pv__dictionary_find(dictionary, categories, text, length, &hash);
    if (*code >= 0)
        return PV_OK;
    *code = categories->levels;
    return pv__dictionary_add(ctx, dictionary, categories, text, length, hash);
}

pv_status pv__categories_make(pv_ctx *ctx, const pv_table *table, size_t c, const pv_dataset *data, int32_t limit,
                              pv_column *categories) {
    const pv_column *column = &table->column[c];
    pv__dictionary dictionary = {0};
    int32_t *known = NULL; /* for a text column: level to code + 1, so that each level is looked up once */
    pv_status status;
    *categories = (pv_column){.name = column->name, .type = PV_COLUMN_TEXT};
    PV_GOTO(done, pv__alloc(ctx, data->rows, sizeof *categories->code, &categories->code));
    PV_GOTO(done, pv__alloc(ctx, (size_t)column->levels, sizeof *known, &known));
    for (size_t i = 0; i < data->rows && categories->levels <= limit; i++) {
        size_t row = data->table_row[i];
        char text[PV__NUMBER_TEXT];
        if (pv__cell_missing(column, row)) {
            categories->code[i] = PV__MISSING;
            continue;
        }
        int32_t level = column->code ? column->code[row] : -1;
        if (level < 0) { /* a number, whose text is not stored */
            PV_GOTO(done,
                    add_level(ctx, &dictionary, categories, pv__cell_text(column, row, text), &categories->code[i]));
            continue;
        }
        if (known[level] == 0) {
            PV_GOTO(done, add_level(ctx, &dictionary, categories, column->level[level], &known[level]));
            known[level]++;
        }
        categories->code[i] = known[level] - 1;
    }
    if (column->rank) {
        PV_GOTO(done, pv__alloc(ctx, (size_t)categories->levels, sizeof *categories->rank, &categories->rank));
        for (int32_t l = 0; l < column->levels; l++)
            if (known[l] > 0)
                categories->rank[known[l] - 1] = column->rank[l];
    }
done:
    pv__dictionary_free(ctx, &dictionary);
    pv__free(ctx, known);
    if (status != PV_OK)
        pv__categories_free(ctx, categories);
    return status;
}

/* Orders categories as the user listed them; ranks are unique. */
static pv_status sort_by_rank(pv_ctx *ctx, pv_column *categories, int32_t *order) {
    char **sorted;
    PV_TRY(pv__alloc(ctx, (size_t)categories->levels, sizeof *sorted, &sorted));
    for (int32_t i = 0; i < categories->levels; i++) {
        int32_t place = 0;
        for (int32_t j = 0; j < categories->levels; j++)
            place += categories->rank[j] < categories->rank[i];
        order[place] = i;
        sorted[place] = categories->level[i];
    }
    memcpy(categories->level, sorted, (size_t)categories->levels * sizeof *sorted);
    pv__free(ctx, sorted);
    return PV_OK;
}

pv_status pv__categories_sort(pv_ctx *ctx, const pv_dataset *data, bool natural, pv_column *categories) {
    int32_t *order = NULL, *rank = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, (size_t)categories->levels, sizeof *order, &order));
    PV_GOTO(done, pv__alloc(ctx, (size_t)categories->levels, sizeof *rank, &rank));
    if (natural && categories->rank)
        PV_GOTO(done, sort_by_rank(ctx, categories, order));
    else
        PV_GOTO(done, (natural ? pv__levels_sort : pv__labels_sort)(ctx, categories->level, categories->levels, order));
    for (int32_t i = 0; i < categories->levels; i++)
        rank[order[i]] = i;
    for (size_t i = 0; i < data->rows; i++)
        if (categories->code[i] >= 0)
            categories->code[i] = rank[categories->code[i]];
done:
    pv__free(ctx, order);
    pv__free(ctx, rank);
    return status;
}

/* Lists the known levels instead of suggesting the nearest name, which could be a wrong one (east for west). */
static pv_status unknown_level(pv_ctx *ctx, const pv_table *table, size_t c, size_t row, const char *given,
                               char *const *labels, int32_t n, const char *what) {
    char joined[240];
    bool level = strcmp(what, "level") == 0;
    pv__join(labels, (size_t)n, 8, joined, sizeof joined);
    return PV__FAIL_CELL(ctx, table, row, c,
                         "'%s' in column '%s' is not a %s the model knows: %s;\ncorrect the cell%s leave the row out%s",
                         pv__show(given).text, pv__show(table->column[c].name).text, what, joined, level ? "," : ", or",
                         level ? ", or say with `unseen` how to predict it" : "");
}

pv_status pv__categories_match(pv_ctx *ctx, const pv_table *table, size_t c, const pv_dataset *data,
                               char *const *labels, int32_t n, const char *what, bool refuse, pv_column *categories) {
    int32_t *match;
    PV_TRY(pv__alloc(ctx, (size_t)categories->levels, sizeof *match, &match));
    pv_status status = PV_OK;
    for (int32_t i = 0; i < categories->levels; i++)
        match[i] = pv__label_find(labels, n, categories->level[i], strlen(categories->level[i]));
    for (size_t i = 0; i < data->rows && status == PV_OK; i++) {
        int32_t code = categories->code[i];
        if (code < 0)
            continue;
        if (match[code] < 0 && !refuse)
            categories->code[i] = PV__UNSEEN;
        else if (match[code] < 0)
            status = unknown_level(ctx, table, c, data->table_row[i], categories->level[code], labels, n, what);
        else
            categories->code[i] = match[code];
    }
    pv__free(ctx, match);
    return status;
}
