/* Data that come with the library.
 *
 * contingency: the table of the paper's first study.
 * esoph: Ille-et-Vilaine case-control study of oesophageal cancer (Breslow and Day 1980, Statistical Methods in Cancer
 * Research, volume 1), as in R's data set esoph since the correction of its controls (PR#17964): 200 cases, 775
 * controls.
 */
#include <string.h>

#include "data/data.h"

static const int contingency[4][3] = {{0, 0, 47}, {0, 1, 44}, {1, 0, 3}, {1, 1, 6}};

enum { AGE, ALCOHOL, TOBACCO, FACTORS, GROUPS = 88 };

/* R's texts of the groups, in R's order. */
static const char *const group_name[FACTORS][6] = {{"25-34", "35-44", "45-54", "55-64", "65-74", "75+"},
                                                   {"0-39g/day", "40-79", "80-119", "120+"},
                                                   {"0-9g/day", "10-19", "20-29", "30+"}};

/* age, alcohol and tobacco group; cases; controls */
static const unsigned char esoph[GROUPS][FACTORS + 2] = {
    {0, 0, 0, 0, 40},  {0, 0, 1, 0, 10}, {0, 0, 2, 0, 6},  {0, 0, 3, 0, 5},  {0, 1, 0, 0, 27}, {0, 1, 1, 0, 7},
    {0, 1, 2, 0, 4},   {0, 1, 3, 0, 7},  {0, 2, 0, 0, 2},  {0, 2, 1, 0, 1},  {0, 2, 3, 0, 2},  {0, 3, 0, 0, 1},
    {0, 3, 1, 1, 0},   {0, 3, 2, 0, 1},  {0, 3, 3, 0, 2},  {1, 0, 0, 0, 60}, {1, 0, 1, 1, 13}, {1, 0, 2, 0, 7},
    {1, 0, 3, 0, 8},   {1, 1, 0, 0, 35}, {1, 1, 1, 3, 20}, {1, 1, 2, 1, 13}, {1, 1, 3, 0, 8},  {1, 2, 0, 0, 11},
    {1, 2, 1, 0, 6},   {1, 2, 2, 0, 2},  {1, 2, 3, 0, 1},  {1, 3, 0, 2, 1},  {1, 3, 1, 0, 3},  {1, 3, 2, 2, 2},
    {2, 0, 0, 1, 45},  {2, 0, 1, 0, 18}, {2, 0, 2, 0, 10}, {2, 0, 3, 0, 4},  {2, 1, 0, 6, 32}, {2, 1, 1, 4, 17},
    {2, 1, 2, 5, 10},  {2, 1, 3, 5, 2},  {2, 2, 0, 3, 13}, {2, 2, 1, 6, 8},  {2, 2, 2, 1, 4},  {2, 2, 3, 2, 2},
    {2, 3, 0, 4, 0},   {2, 3, 1, 3, 1},  {2, 3, 2, 2, 1},  {2, 3, 3, 4, 0},  {3, 0, 0, 2, 47}, {3, 0, 1, 3, 19},
    {3, 0, 2, 3, 9},   {3, 0, 3, 4, 2},  {3, 1, 0, 9, 31}, {3, 1, 1, 6, 15}, {3, 1, 2, 4, 13}, {3, 1, 3, 3, 3},
    {3, 2, 0, 9, 9},   {3, 2, 1, 8, 7},  {3, 2, 2, 3, 3},  {3, 2, 3, 4, 0},  {3, 3, 0, 5, 5},  {3, 3, 1, 6, 1},
    {3, 3, 2, 2, 1},   {3, 3, 3, 5, 1},  {4, 0, 0, 5, 43}, {4, 0, 1, 4, 10}, {4, 0, 2, 2, 5},  {4, 0, 3, 0, 2},
    {4, 1, 0, 17, 17}, {4, 1, 1, 3, 7},  {4, 1, 2, 5, 4},  {4, 2, 0, 6, 7},  {4, 2, 1, 4, 8},  {4, 2, 2, 2, 1},
    {4, 2, 3, 1, 0},   {4, 3, 0, 3, 1},  {4, 3, 1, 1, 1},  {4, 3, 2, 1, 0},  {4, 3, 3, 1, 0},  {5, 0, 0, 1, 17},
    {5, 0, 1, 2, 4},   {5, 0, 3, 1, 2},  {5, 1, 0, 2, 3},  {5, 1, 1, 1, 2},  {5, 1, 2, 0, 3},  {5, 1, 3, 1, 0},
    {5, 2, 0, 1, 0},   {5, 2, 1, 1, 0},  {5, 3, 0, 2, 0},  {5, 3, 1, 1, 0}};

static pv_status number_columns(pv_ctx *ctx, pv_table *table, size_t first) {
    for (size_t c = first; c < table->columns; c++)
        PV_TRY(pv__alloc(ctx, table->rows, sizeof(double), &table->column[c].number));
    return PV_OK;
}

static pv_status make_contingency(pv_ctx *ctx, pv_table **table) {
    static const char *const names[] = {"x", "y", "count"};
    PV_TRY(pv__table_new(ctx, "builtin:contingency", names, 3, 4, table));
    PV_TRY(number_columns(ctx, *table, 0));
    for (size_t row = 0; row < 4; row++)
        for (size_t c = 0; c < 3; c++)
            (*table)->column[c].number[row] = contingency[row][c];
    return PV_OK;
}

static pv_status group_levels(pv_ctx *ctx, pv_column *column, const char *const *name) {
    column->type = PV_COLUMN_TEXT;
    PV_TRY(pv__alloc(ctx, 6, sizeof *column->level, &column->level));
    for (; column->levels < 6 && name[column->levels]; column->levels++)
        PV_TRY(pv__strdup(ctx, name[column->levels], &column->level[column->levels]));
    return PV_OK;
}

/* A row for the cases and one for the controls of each group that has any. */
static pv_status make_esoph(pv_ctx *ctx, pv_table **table) {
    static const char *const names[] = {"age", "alcohol", "tobacco", "cancer", "count"};
    size_t rows = 0;
    for (size_t g = 0; g < GROUPS; g++)
        rows += (size_t)(esoph[g][FACTORS] > 0) + (size_t)(esoph[g][FACTORS + 1] > 0);
    PV_TRY(pv__table_new(ctx, "builtin:esoph", names, 5, rows, table));
    pv_column *column = (*table)->column;
    for (size_t f = 0; f < FACTORS; f++) {
        PV_TRY(group_levels(ctx, &column[f], group_name[f]));
        PV_TRY(pv__alloc(ctx, rows, sizeof *column[f].code, &column[f].code));
    }
    PV_TRY(number_columns(ctx, *table, FACTORS));
    size_t row = 0;
    for (size_t g = 0; g < GROUPS; g++)
        for (size_t control = 0; control < 2; control++) {
            if (esoph[g][FACTORS + control] == 0)
                continue;
            for (size_t f = 0; f < FACTORS; f++)
                column[f].code[row] = esoph[g][f];
            column[FACTORS].number[row] = control ? 0 : 1;
            column[FACTORS + 1].number[row] = esoph[g][FACTORS + control];
            row++;
        }
    return PV_OK;
}

pv_status pv_table_builtin(pv_ctx *ctx, const char *name, pv_table **table) {
    static const char *const known[] = {"contingency", "esoph"};
    *table = NULL;
    pv_status status;
    if (strcmp(name, known[0]) == 0) {
        status = make_contingency(ctx, table);
    } else if (strcmp(name, known[1]) == 0) {
        status = make_esoph(ctx, table);
    } else {
        const char *near = pv_nearest(name, known, 2);
        return pv__fail(ctx, PV_ERR_USAGE, "there is no builtin:%s; %s%s", pv__show(name).text,
                        near ? "did you mean builtin:" : "there are builtin:contingency and builtin:esoph",
                        near ? near : "");
    }
    if (status == PV_OK) {
        (*table)->hash = pv__table_hash(*table);
    } else {
        pv_table_free(ctx, *table);
        *table = NULL;
    }
    return status;
}
