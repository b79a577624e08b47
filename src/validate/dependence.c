/* Partial dependence (Friedman 2001): the mean prediction over a population if all its people had the same value in a
 * column.
 *
 *   m_c(v, y)  =  sum_n a_n p(y | x_n with x_nc = v)
 *
 * The weights a_n are those of column importance, so that the people represent the stated population. The values v are
 * quantiles of the column among them, or all its values if there are few; for text columns their levels. At most ROWS
 * rows are used, evenly spread over those of the importance. If columns are correlated, some of the combinations of
 * values do not occur in any person.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "validate/dependence.h"

enum { ROWS = 1000, POINTS = 11, LEVELS = 20 };

typedef struct pv__dependence {
    const pv_classifier *classifier;
    const pv_roles *roles;
    const pv_population *population;
    pv_table *table; /* the rows */
    double *share;   /* [table->rows], a_n, with sum 1 */
} pv__dependence;

void pv__dependence_free(pv_ctx *ctx, pv__dependence *d) {
    if (!d)
        return;
    pv_table_free(ctx, d->table);
    pv__free(ctx, d->share);
    pv__free(ctx, d);
}

pv_status pv__dependence_new(pv_ctx *ctx, const pv_classifier *classifier, const pv_roles *roles,
                             const pv_population *population, const pv_table *table, const double *share,
                             pv__dependence **dependence) {
    size_t n = table->rows < ROWS ? table->rows : ROWS, *row = NULL;
    double total = 0;
    pv__dependence *d;
    PV_TRY(pv__alloc(ctx, 1, sizeof *d, &d));
    pv_status status;
    d->classifier = classifier;
    d->roles = roles;
    d->population = population;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *row, &row));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *d->share, &d->share));
    for (size_t i = 0; i < n; i++) {
        row[i] = (size_t)((double)i * ((double)table->rows / (double)n));
        d->share[i] = share[row[i]];
        total += d->share[i];
    }
    for (size_t i = 0; i < n; i++)
        d->share[i] /= total;
    PV_GOTO(done, pv_table_take(ctx, table, n, row, &d->table));
    *dependence = d;
    d = NULL;
done:
    pv__free(ctx, row);
    pv__dependence_free(ctx, d);
    return status;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

typedef struct valued {
    double value, share;
} valued;

static int by_value(const void *left, const void *right) {
    const valued *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

/* Quantiles from 0.05 to 0.95, without duplicates; all values if there are fewer. */
static pv_status choose_numbers(pv_ctx *ctx, const pv__dependence *d, size_t c, pv_column_importance *found) {
    valued *cell;
    size_t n = 0, distinct = 0;
    double total = 0, passed = 0;
    PV_TRY(pv__alloc(ctx, d->table->rows, sizeof *cell, &cell));
    for (size_t i = 0; i < d->table->rows; i++) {
        const valued own = {pv_table_number(d->table, c, i), d->share[i]};
        if (isnan(own.value) || !(own.share > 0))
            continue;
        cell[n++] = own;
        total += own.share;
    }
    qsort(cell, n, sizeof *cell, by_value);
    for (size_t i = 0; i < n; i++)
        distinct += i == 0 || cell[i].value > cell[i - 1].value;
    pv_status status = pv__alloc(ctx, POINTS, sizeof *found->x, &found->x);
    for (size_t i = 0; status == PV_OK && i < n; i++) {
        double next = 0.05 + 0.9 * (double)found->points / (POINTS - 1);
        bool last = i + 1 == n || cell[i + 1].value > cell[i].value;
        passed += cell[i].share;
        if (!last || found->points == POINTS || (distinct > POINTS && passed < next * total * (1 - 1e-12)))
            continue;
        found->x[found->points++] = cell[i].value;
    }
    pv__free(ctx, cell);
    return status;
}

/* Levels that occur in the rows, at most LEVELS, in the order of the table. */
static pv_status choose_levels(pv_ctx *ctx, const pv__dependence *d, size_t c, int32_t *code,
                               pv_column_importance *found) {
    const pv_column *column = &d->table->column[c];
    PV_TRY(pv__alloc(ctx, LEVELS, sizeof *found->level, &found->level));
    for (int32_t l = 0; l < column->levels && found->points < LEVELS; l++) {
        bool there = false;
        for (size_t i = 0; i < d->table->rows && !there; i++)
            there = column->code[i] == l;
        if (!there)
            continue;
        PV_TRY(pv__strdup(ctx, column->level[l], &found->level[found->points]));
        code[found->points++] = l;
    }
    return PV_OK;
}

/* ---- means ------------------------------------------------------------------------------------------------------- */

static pv_status mean_risks(pv_ctx *ctx, const pv__dependence *d, const pv_table *table, double *mean) {
    pv_dataset *data = NULL;
    pv_prediction *said = NULL;
    size_t k = (size_t)d->classifier->schema->classes;
    double total = 0;
    pv_status status;
    PV_GOTO(done, pv_schema_apply(ctx, d->classifier->schema, table, d->roles, &data));
    PV_GOTO(done, pv_predict(ctx, d->classifier, data, d->population, NULL, &said));
    for (size_t i = 0; i < data->rows; i++) {
        double share = d->share[data->table_row[i]];
        total += share;
        for (size_t y = 0; y < k; y++)
            mean[y] += share * exp(said->log_p[i * k + y]);
    }
    for (size_t y = 0; y < k; y++)
        mean[y] /= total;
done:
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, data);
    return status;
}

pv_status pv__dependence_find(pv_ctx *ctx, const pv__dependence *d, pv_column_importance *found) {
    size_t c, n = d->table->rows, k = (size_t)d->classifier->schema->classes;
    int32_t code[LEVELS] = {0};
    pv_table same = *d->table; /* with one column replaced by a constant */
    pv_column *columns = NULL;
    double *number = NULL;
    int32_t *level = NULL;
    pv_status status;
    PV_TRY(pv_table_find(ctx, d->table, "the model", found->name, &c));
    bool numbers = d->table->column[c].type == PV_COLUMN_NUMBER;
    PV_TRY(numbers ? choose_numbers(ctx, d, c, found) : choose_levels(ctx, d, c, code, found));
    PV_TRY(pv__alloc(ctx, found->points, k * sizeof *found->mean, &found->mean));
    PV_GOTO(done, pv__alloc(ctx, same.columns, sizeof *columns, &columns));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *number, &number));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *level, &level));
    memcpy(columns, d->table->column, same.columns * sizeof *columns);
    same.column = columns;
    columns[c].single = NULL;
    columns[c].number = numbers ? number : NULL;
    columns[c].code = numbers ? NULL : level;
    for (size_t p = 0; p < found->points; p++) {
        for (size_t i = 0; i < n; i++) {
            number[i] = numbers ? found->x[p] : 0;
            level[i] = numbers ? 0 : code[p];
        }
        PV_GOTO(done, mean_risks(ctx, d, &same, found->mean + p * k));
        if (pv__interrupted(ctx))
            PV_GOTO(done, pv__fail(ctx, PV_ERR_INTERRUPTED, "importance: stopped on request"));
    }
    status = PV_OK;
done:
    pv__free(ctx, columns);
    pv__free(ctx, number);
    pv__free(ctx, level);
    return status;
}

void pv__dependence_clear(pv_ctx *ctx, pv_column_importance *found) {
    for (size_t p = 0; found->level && p < found->points; p++)
        pv__free(ctx, found->level[p]);
    pv__free(ctx, found->level);
    pv__free(ctx, found->x);
    pv__free(ctx, found->mean);
}
