/* Data sets built into the library.
 *
 * contingency: the table of the paper's first study. esoph: Ille-et-Vilaine case-control study of oesophageal cancer
 * (Breslow and Day 1980, Statistical Methods in Cancer Research, volume 1), as in R's data set esoph since the
 * correction of its controls (PR#17964): 200 cases, 775 controls. infert: secondary infertility after induced and
 * spontaneous abortions, 83 cases matched individually by age, parity and education to two controls each (Trichopoulos
 * et al. 1976), as in R's data set of this name.
 */
#include <string.h>

#include "data/data.h"

static const int contingency[4][3] = {{0, 0, 47}, {0, 1, 44}, {1, 0, 3}, {1, 1, 6}};

enum { AGE, ALCOHOL, TOBACCO, FACTORS, GROUPS = 88 };

/* Names of the groups as in R, in R's order. */
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

enum { WOMEN = 248, INFERT = 7 };
static const char *const education_name[6] = {"0-5yrs", "6-11yrs", "12+ yrs"};

/* education, age, parity, induced, spontaneous, case, stratum */
static const unsigned char infert[WOMEN][INFERT] = {
    {0, 26, 6, 1, 2, 1, 1},  {0, 42, 1, 1, 0, 1, 2},  {0, 39, 6, 2, 0, 1, 3},  {0, 34, 4, 2, 0, 1, 4},
    {1, 35, 3, 1, 1, 1, 5},  {1, 36, 4, 2, 1, 1, 6},  {1, 23, 1, 0, 0, 1, 7},  {1, 32, 2, 0, 0, 1, 8},
    {1, 21, 1, 0, 1, 1, 9},  {1, 28, 2, 0, 0, 1, 10}, {1, 29, 2, 1, 0, 1, 11}, {1, 37, 4, 2, 1, 1, 12},
    {1, 31, 1, 1, 0, 1, 13}, {1, 29, 3, 2, 0, 1, 14}, {1, 31, 2, 1, 1, 1, 15}, {1, 27, 2, 2, 0, 1, 16},
    {1, 30, 5, 2, 1, 1, 17}, {1, 26, 1, 0, 1, 1, 18}, {1, 25, 3, 2, 1, 1, 19}, {1, 44, 1, 0, 1, 1, 20},
    {1, 40, 1, 0, 1, 1, 21}, {1, 35, 2, 2, 0, 1, 22}, {1, 28, 2, 0, 2, 1, 23}, {1, 36, 1, 0, 1, 1, 24},
    {1, 27, 2, 1, 1, 1, 25}, {1, 40, 2, 0, 2, 1, 26}, {1, 38, 2, 0, 2, 1, 27}, {1, 34, 3, 0, 2, 1, 28},
    {1, 28, 4, 1, 2, 1, 29}, {1, 30, 4, 2, 0, 1, 30}, {1, 32, 1, 0, 1, 1, 31}, {1, 34, 2, 1, 0, 1, 32},
    {1, 42, 1, 1, 0, 1, 33}, {1, 32, 2, 0, 2, 1, 34}, {1, 39, 1, 1, 0, 1, 35}, {1, 35, 2, 0, 2, 1, 36},
    {1, 36, 1, 0, 1, 1, 37}, {1, 34, 3, 1, 2, 1, 38}, {1, 30, 3, 0, 0, 1, 39}, {1, 28, 1, 0, 1, 1, 40},
    {1, 39, 3, 0, 2, 1, 41}, {1, 35, 1, 0, 0, 1, 42}, {1, 41, 1, 0, 0, 1, 43}, {1, 37, 2, 1, 1, 1, 44},
    {2, 30, 1, 0, 0, 1, 45}, {2, 37, 1, 1, 0, 1, 46}, {2, 28, 2, 0, 2, 1, 47}, {2, 27, 4, 2, 0, 1, 48},
    {2, 26, 2, 2, 0, 1, 49}, {2, 38, 3, 0, 2, 1, 50}, {2, 24, 3, 1, 2, 1, 51}, {2, 36, 5, 1, 2, 1, 52},
    {2, 27, 3, 1, 1, 1, 53}, {2, 28, 1, 0, 1, 1, 54}, {2, 29, 2, 0, 2, 1, 55}, {2, 36, 2, 0, 2, 1, 56},
    {2, 28, 2, 1, 0, 1, 57}, {2, 28, 2, 0, 2, 1, 58}, {2, 28, 1, 0, 1, 1, 59}, {2, 27, 2, 0, 2, 1, 60},
    {2, 35, 2, 0, 2, 1, 61}, {2, 25, 1, 0, 1, 1, 62}, {2, 34, 1, 0, 1, 1, 63}, {2, 31, 2, 0, 2, 1, 64},
    {2, 26, 2, 1, 0, 1, 65}, {2, 32, 1, 0, 1, 1, 66}, {2, 21, 1, 0, 1, 1, 67}, {2, 28, 3, 1, 2, 1, 68},
    {2, 37, 3, 0, 2, 1, 69}, {2, 25, 1, 1, 0, 1, 70}, {2, 32, 1, 1, 0, 1, 71}, {2, 25, 1, 0, 1, 1, 72},
    {2, 31, 1, 0, 1, 1, 73}, {2, 38, 6, 0, 2, 1, 74}, {2, 26, 2, 0, 2, 1, 75}, {2, 31, 1, 0, 1, 1, 76},
    {2, 31, 2, 0, 1, 1, 77}, {2, 25, 1, 1, 0, 1, 78}, {2, 31, 1, 0, 1, 1, 79}, {2, 34, 1, 0, 1, 1, 80},
    {2, 35, 2, 2, 0, 1, 81}, {2, 29, 1, 0, 1, 1, 82}, {2, 23, 1, 0, 1, 1, 83}, {0, 26, 6, 2, 0, 0, 1},
    {0, 42, 1, 0, 0, 0, 2},  {0, 39, 6, 2, 0, 0, 3},  {0, 34, 4, 0, 1, 0, 4},  {1, 35, 3, 2, 0, 0, 5},
    {1, 36, 4, 1, 1, 0, 6},  {1, 23, 1, 0, 0, 0, 7},  {1, 32, 2, 2, 0, 0, 8},  {1, 21, 1, 0, 1, 0, 9},
    {1, 28, 2, 0, 1, 0, 10}, {1, 29, 2, 0, 0, 0, 11}, {1, 37, 4, 1, 1, 0, 12}, {1, 31, 1, 0, 0, 0, 13},
    {1, 29, 3, 0, 1, 0, 14}, {1, 31, 2, 1, 0, 0, 15}, {1, 27, 2, 1, 0, 0, 16}, {1, 30, 5, 0, 2, 0, 17},
    {1, 26, 1, 0, 0, 0, 18}, {1, 25, 3, 0, 1, 0, 19}, {1, 44, 1, 0, 0, 0, 20}, {1, 40, 1, 0, 0, 0, 21},
    {1, 35, 2, 0, 0, 0, 22}, {1, 28, 2, 0, 0, 0, 23}, {1, 36, 1, 0, 0, 0, 24}, {1, 27, 2, 0, 1, 0, 25},
    {1, 40, 2, 0, 0, 0, 26}, {1, 38, 2, 0, 0, 0, 27}, {1, 34, 3, 0, 0, 0, 28}, {1, 28, 4, 0, 2, 0, 29},
    {1, 30, 4, 1, 1, 0, 30}, {1, 32, 1, 0, 0, 0, 31}, {1, 34, 2, 1, 0, 0, 32}, {1, 42, 1, 1, 0, 0, 33},
    {1, 32, 2, 0, 0, 0, 34}, {1, 39, 1, 0, 0, 0, 35}, {1, 35, 2, 0, 0, 0, 36}, {1, 36, 1, 0, 0, 0, 37},
    {1, 34, 3, 2, 0, 0, 38}, {1, 30, 3, 0, 2, 0, 39}, {1, 28, 1, 1, 0, 0, 40}, {1, 39, 3, 1, 0, 0, 41},
    {1, 35, 1, 0, 0, 0, 42}, {1, 41, 1, 0, 0, 0, 43}, {1, 37, 2, 0, 0, 0, 44}, {2, 30, 1, 1, 0, 0, 45},
    {2, 37, 1, 0, 0, 0, 46}, {2, 28, 2, 1, 0, 0, 47}, {2, 27, 4, 2, 1, 0, 48}, {2, 26, 2, 1, 0, 0, 49},
    {2, 38, 3, 1, 0, 0, 50}, {2, 24, 3, 2, 1, 0, 51}, {2, 36, 5, 1, 1, 0, 52}, {2, 27, 3, 1, 1, 0, 53},
    {2, 28, 1, 1, 0, 0, 54}, {2, 29, 2, 1, 0, 0, 55}, {2, 36, 2, 1, 0, 0, 56}, {2, 28, 2, 1, 1, 0, 57},
    {2, 28, 2, 2, 0, 0, 58}, {2, 28, 1, 1, 0, 0, 59}, {2, 27, 2, 1, 0, 0, 60}, {2, 35, 2, 2, 0, 0, 61},
    {2, 25, 1, 1, 0, 0, 62}, {2, 34, 1, 0, 0, 0, 63}, {2, 31, 2, 0, 0, 0, 64}, {2, 26, 2, 0, 1, 0, 65},
    {2, 32, 1, 0, 0, 0, 66}, {2, 21, 1, 0, 1, 0, 67}, {2, 28, 3, 2, 0, 0, 68}, {2, 37, 3, 1, 1, 0, 69},
    {2, 25, 1, 0, 0, 0, 70}, {2, 32, 1, 1, 0, 0, 71}, {2, 25, 1, 0, 0, 0, 72}, {2, 31, 1, 0, 1, 0, 73},
    {2, 26, 2, 0, 2, 0, 75}, {2, 31, 1, 0, 0, 0, 76}, {2, 31, 2, 2, 0, 0, 77}, {2, 25, 1, 0, 0, 0, 78},
    {2, 31, 1, 0, 0, 0, 79}, {2, 34, 1, 0, 0, 0, 80}, {2, 35, 2, 0, 0, 0, 81}, {2, 29, 1, 0, 1, 0, 82},
    {2, 23, 1, 0, 1, 0, 83}, {0, 26, 6, 2, 0, 0, 1},  {0, 42, 1, 0, 0, 0, 2},  {0, 39, 6, 2, 0, 0, 3},
    {0, 34, 4, 0, 2, 0, 4},  {1, 35, 3, 0, 0, 0, 5},  {1, 36, 4, 0, 2, 0, 6},  {1, 23, 1, 0, 0, 0, 7},
    {1, 32, 2, 0, 1, 0, 8},  {1, 21, 1, 1, 0, 0, 9},  {1, 28, 2, 0, 1, 0, 10}, {1, 29, 2, 0, 1, 0, 11},
    {1, 37, 4, 0, 1, 0, 12}, {1, 31, 1, 0, 0, 0, 13}, {1, 29, 3, 0, 2, 0, 14}, {1, 31, 2, 1, 0, 0, 15},
    {1, 27, 2, 0, 0, 0, 16}, {1, 30, 5, 1, 2, 0, 17}, {1, 26, 1, 1, 0, 0, 18}, {1, 25, 3, 1, 1, 0, 19},
    {1, 44, 1, 1, 0, 0, 20}, {1, 40, 1, 0, 0, 0, 21}, {1, 35, 2, 0, 0, 0, 22}, {1, 28, 2, 2, 0, 0, 23},
    {1, 36, 1, 0, 1, 0, 24}, {1, 27, 2, 0, 2, 0, 25}, {1, 40, 2, 0, 0, 0, 26}, {1, 38, 2, 0, 0, 0, 27},
    {1, 34, 3, 0, 0, 0, 28}, {1, 28, 4, 2, 1, 0, 29}, {1, 30, 4, 1, 1, 0, 30}, {1, 32, 1, 0, 0, 0, 31},
    {1, 34, 2, 0, 0, 0, 32}, {1, 42, 1, 0, 0, 0, 33}, {1, 32, 2, 2, 0, 0, 34}, {1, 39, 1, 0, 0, 0, 35},
    {1, 35, 2, 0, 0, 0, 36}, {1, 36, 1, 0, 0, 0, 37}, {1, 34, 3, 2, 0, 0, 38}, {1, 30, 3, 0, 1, 0, 39},
    {1, 28, 1, 0, 0, 0, 40}, {1, 39, 3, 0, 0, 0, 41}, {1, 35, 1, 0, 0, 0, 42}, {1, 41, 1, 0, 0, 0, 43},
    {1, 37, 2, 0, 0, 0, 44}, {2, 30, 1, 0, 0, 0, 45}, {2, 37, 1, 0, 1, 0, 46}, {2, 28, 2, 1, 0, 0, 47},
    {2, 27, 4, 2, 0, 0, 48}, {2, 26, 2, 1, 0, 0, 49}, {2, 38, 3, 1, 0, 0, 50}, {2, 24, 3, 2, 0, 0, 51},
    {2, 36, 5, 2, 1, 0, 52}, {2, 27, 3, 2, 0, 0, 53}, {2, 28, 1, 0, 1, 0, 54}, {2, 29, 2, 1, 1, 0, 55},
    {2, 36, 2, 0, 1, 0, 56}, {2, 28, 2, 2, 0, 0, 57}, {2, 28, 2, 1, 0, 0, 58}, {2, 28, 1, 0, 0, 0, 59},
    {2, 27, 2, 1, 0, 0, 60}, {2, 35, 2, 1, 0, 0, 61}, {2, 25, 1, 1, 0, 0, 62}, {2, 34, 1, 0, 0, 0, 63},
    {2, 31, 2, 1, 0, 0, 64}, {2, 26, 2, 0, 2, 0, 65}, {2, 32, 1, 1, 0, 0, 66}, {2, 21, 1, 0, 0, 0, 67},
    {2, 28, 3, 2, 0, 0, 68}, {2, 37, 3, 0, 2, 0, 69}, {2, 25, 1, 1, 0, 0, 70}, {2, 32, 1, 0, 0, 0, 71},
    {2, 25, 1, 1, 0, 0, 72}, {2, 31, 1, 0, 0, 0, 73}, {2, 38, 6, 0, 2, 0, 74}, {2, 26, 2, 1, 1, 0, 75},
    {2, 31, 1, 1, 0, 0, 76}, {2, 31, 2, 0, 1, 0, 77}, {2, 25, 1, 0, 1, 0, 78}, {2, 31, 1, 0, 1, 0, 79},
    {2, 34, 1, 0, 0, 0, 80}, {2, 35, 2, 2, 0, 0, 81}, {2, 29, 1, 0, 1, 0, 82}, {2, 23, 1, 0, 1, 0, 83}};

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

/* One row for the cases and one for the controls of each group, if it has any. */
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

static pv_status make_infert(pv_ctx *ctx, pv_table **table) {
    static const char *const names[INFERT] = {"education",   "age",  "parity", "induced",
                                              "spontaneous", "case", "stratum"};
    PV_TRY(pv__table_new(ctx, "builtin:infert", names, INFERT, WOMEN, table));
    pv_column *column = (*table)->column;
    PV_TRY(group_levels(ctx, &column[0], education_name));
    PV_TRY(pv__alloc(ctx, WOMEN, sizeof *column->code, &column->code));
    PV_TRY(number_columns(ctx, *table, 1));
    for (size_t row = 0; row < WOMEN; row++) {
        column->code[row] = infert[row][0];
        for (size_t c = 1; c < INFERT; c++)
            column[c].number[row] = infert[row][c];
    }
    return PV_OK;
}

pv_status pv_table_builtin(pv_ctx *ctx, const char *name, pv_table **table) {
    static const char *const known[] = {"contingency", "esoph", "infert"};
    *table = NULL;
    pv_status status;
    if (strcmp(name, known[0]) == 0) {
        status = make_contingency(ctx, table);
    } else if (strcmp(name, known[1]) == 0) {
        status = make_esoph(ctx, table);
    } else if (strcmp(name, known[2]) == 0) {
        status = make_infert(ctx, table);
    } else {
        const char *near = pv_nearest(name, known, 3);
        return pv__fail(ctx, PV_ERR_USAGE, "builtin:%s does not exist; %s%s", pv__show(name).text,
                        near ? "did you mean builtin:" : "choose builtin:contingency, builtin:esoph or builtin:infert",
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
