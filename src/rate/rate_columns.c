/* Columns of one or two tables as codes that both share, and as numbers. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "data/data.h"
#include "rate/rate.h"

enum { NUMBERS = 64, NOT_YET = -2 };

/* Levels as they are met. */
typedef struct finder {
    pv_ctx *ctx;
    const char *option;
    size_t most;
    bool closed; /* there are no others */
    pv__rate_names *names;
    int32_t *level;         /* of the levels of a column of texts */
    double number[NUMBERS]; /* that were met in a column of numbers */
    int32_t number_is[NUMBERS];
    size_t numbers;
} finder;

static pv_status add_level(finder *f, const pv_table *table, size_t row, size_t c, const char *text, int32_t *code) {
    pv__rate_names *names = f->names;
    *code = pv__label_find(names->name, (int32_t)names->count, text, strlen(text));
    if (*code >= 0)
        return PV_OK;
    if (f->closed) {
        char joined[240];
        pv__join(names->name, names->count, 8, joined, sizeof joined);
        return PV__FAIL_CELL(f->ctx, table, row, c, "'%s' in column '%s' is not one of: %s", pv__show(text).text,
                             pv__show(table->column[c].name).text, joined);
    }
    if (names->count == f->most)
        return PV__FAIL_CELL(f->ctx, table, row, c,
                             "column '%s' (%s) has more than %zu values;\nname a column of categories, or merge some",
                             pv__show(table->column[c].name).text, f->option, f->most);
    PV_TRY(pv__resize(f->ctx, names->count + 1, sizeof *names->name, &names->name));
    PV_TRY(pv__strdup(f->ctx, text, &names->name[names->count]));
    *code = (int32_t)names->count++;
    return PV_OK;
}

static pv_status code_of(finder *f, const pv_table *table, size_t row, size_t c, int32_t *code) {
    const pv_column *column = &table->column[c];
    char number[PV__NUMBER_TEXT];
    double value = 0;
    *code = -1;
    if (pv__cell_missing(column, row))
        return PV_OK;
    if (column->type == PV_COLUMN_TEXT) {
        int32_t *known = &f->level[column->code[row]];
        if (*known == NOT_YET)
            PV_TRY(add_level(f, table, row, c, column->level[column->code[row]], known));
        *code = *known;
        return PV_OK;
    }
    value = pv__cell_number(column, row);
    for (size_t i = 0; i < f->numbers; i++)
        if (f->number[i] == value) {
            *code = f->number_is[i];
            return PV_OK;
        }
    PV_TRY(add_level(f, table, row, c, pv__cell_text(column, row, number), code));
    if (f->numbers < NUMBERS) {
        f->number[f->numbers] = value;
        f->number_is[f->numbers++] = *code;
    }
    return PV_OK;
}

static pv_status codes_of(finder *f, const pv_table *table, const char *name, int32_t **code) {
    size_t c;
    pv_status status = PV_OK;
    PV_TRY(pv_table_find(f->ctx, table, f->option, name, &c));
    const pv_column *column = &table->column[c];
    PV_TRY(pv__alloc(f->ctx, table->rows, sizeof **code, code));
    f->numbers = 0;
    PV_GOTO(done, pv__alloc(f->ctx, (size_t)column->levels, sizeof *f->level, &f->level));
    for (int32_t i = 0; i < column->levels; i++)
        f->level[i] = NOT_YET;
    for (size_t i = 0; i < table->rows; i++)
        PV_GOTO(done, code_of(f, table, i, c, &(*code)[i]));
done:
    pv__free(f->ctx, f->level);
    f->level = NULL;
    return status;
}

/* Sorts the names, and renumbers the rows. */
static pv_status put_in_order(pv_ctx *ctx, const pv_table *const table[2], pv__rate_names *names, int32_t *code[2]) {
    int32_t *order, *place = NULL, n = (int32_t)names->count;
    pv_status status;
    PV_TRY(pv__alloc(ctx, names->count, sizeof *order, &order));
    PV_GOTO(done, pv__alloc(ctx, names->count, sizeof *place, &place));
    PV_GOTO(done, pv__labels_sort(ctx, names->name, n, order));
    for (int32_t i = 0; i < n; i++)
        place[order[i]] = i;
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; table[t] && i < table[t]->rows; i++)
            code[t][i] = code[t][i] < 0 ? -1 : place[code[t][i]];
done:
    pv__free(ctx, place);
    pv__free(ctx, order);
    return status;
}

pv_status pv__rate_levels(pv_ctx *ctx, const pv_table *const table[2], const char *option, const char *column,
                          size_t most, pv__rate_names *names, int32_t *code[2]) {
    finder f = {.ctx = ctx, .option = option, .most = most, .closed = names->count > 0, .names = names};
    for (int t = 0; t < 2; t++)
        if (table[t])
            PV_TRY(codes_of(&f, table[t], column, &code[t]));
    return f.closed ? PV_OK : put_in_order(ctx, table, names, code);
}

/* ---- ids --------------------------------------------------------------------------------------------------------- */

static pv_status id_of(pv_ctx *ctx, pv__dictionary *known, pv_column *ids, const char *text, int32_t *code) {
    uint64_t hash;
    size_t length = strlen(text);
    *code = pv__dictionary_find(known, ids, text, length, &hash);
    if (*code >= 0)
        return PV_OK;
    PV_TRY(pv__dictionary_add(ctx, known, ids, text, length, hash));
    *code = ids->levels - 1;
    return PV_OK;
}

pv_status pv__rate_ids(pv_ctx *ctx, const pv_table *const table[2], const char *option, const char *column,
                       int32_t *code[2]) {
    pv__dictionary known = {0};
    pv_column ids = {.type = PV_COLUMN_TEXT};
    pv_status status = PV_OK;
    for (int t = 0; t < 2 && table[t]; t++) {
        size_t c;
        PV_GOTO(done, pv_table_find(ctx, table[t], option, column, &c));
        PV_GOTO(done, pv__alloc(ctx, table[t]->rows, sizeof *code[t], &code[t]));
        for (size_t i = 0; i < table[t]->rows; i++) {
            char number[PV__NUMBER_TEXT];
            if (pv__cell_missing(&table[t]->column[c], i)) {
                status =
                    PV__FAIL_CELL(ctx, table[t], i, c, "column '%s' (%s) is empty here;\ngive every row its cluster",
                                  pv__show(column).text, option);
                goto done;
            }
            PV_GOTO(done, id_of(ctx, &known, &ids, pv__cell_text(&table[t]->column[c], i, number), &code[t][i]));
        }
    }
done:
    pv__dictionary_free(ctx, &known);
    pv__column_drop(ctx, &ids);
    return status;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

pv_status pv__rate_numbers(pv_ctx *ctx, const pv_table *table, const char *option, const char *column,
                           double **number) {
    size_t c;
    PV_TRY(pv__number_column(ctx, table, option, column, &c));
    PV_TRY(pv__alloc(ctx, table->rows, sizeof **number, number));
    for (size_t i = 0; i < table->rows; i++) {
        (*number)[i] = pv__cell_number(&table->column[c], i);
        if (!isfinite((*number)[i]))
            return PV__FAIL_CELL(ctx, table, i, c, "column '%s' (%s) %s;\nfill it in, or leave the row out",
                                 pv__show(column).text, option,
                                 isnan((*number)[i]) ? "is empty here" : "is not finite here");
    }
    return PV_OK;
}
