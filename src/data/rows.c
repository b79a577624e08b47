/* Selects the rows of a table to use. */
#include <math.h>
#include <string.h>

#include "data/columns.h"

enum { USED, NO_WEIGHT, MISSING };

/* The state of every row of the table while its columns are checked. */
typedef struct row_states {
    unsigned char *state; /* [rows] */
    size_t missing;       /* rows with a missing cell */
    size_t no_weight;
    size_t first_row; /* the first missing cell, in row order */
    size_t first_column;
} row_states;

static pv_status check_weights(pv_ctx *ctx, const pv_table *table, size_t column, row_states *states) {
    const pv_column *weights = &table->column[column];
    double total = 0;
    for (size_t row = 0; row < table->rows; row++) {
        double weight = pv__cell_number(weights, row);
        if (!isnan(weight) && !pv_weight_sound(weight)) /* a missing weight is handled like other missing cells */
            return PV__FAIL_CELL(ctx, table, row, column,
                                 "weight %g in column '%s': weights are 0, or from 1e-100 to 1e100;\ncorrect the cell, "
                                 "or leave the row out",
                                 weight, pv__show(weights->name).text);
        if (weight == 0) {
            states->state[row] = NO_WEIGHT;
            states->no_weight++;
        }
        total += isnan(weight) ? 0 : weight;
    }
    if (!(total > 0))
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, column + 1,
                           "all weights in column '%s' are 0;\ngive the rows to be used a weight above 0",
                           pv__show(weights->name).text);
    return PV_OK;
}

static pv_status check_counts(pv_ctx *ctx, const pv_table *table, size_t column) {
    const pv_column *counts = &table->column[column];
    for (size_t row = 0; row < table->rows; row++) {
        double count = pv__cell_number(counts, row);
        if (!isnan(count) && !pv_weight_sound(count))
            return PV__FAIL_CELL(
                ctx, table, row, column,
                "%g in column '%s' is not a count of people: 0, or from 1e-100 to 1e100;\ncorrect the cell", count,
                pv__show(counts->name).text);
    }
    return PV_OK;
}

/* filled: missing cells of the column are filled in and drop no row. */
static pv_status check_column(pv_ctx *ctx, const pv_table *table, size_t c, bool feature, bool filled,
                              row_states *states) {
    const pv_column *column = &table->column[c];
    for (size_t row = 0; row < table->rows; row++) {
        if (states->state[row] == NO_WEIGHT)
            continue;
        if (!pv__cell_missing(column, row)) {
            if (feature && column->type == PV_COLUMN_NUMBER && isinf(pv__cell_number(column, row)))
                return PV__FAIL_CELL(ctx, table, row, c,
                                     "'%s' is infinite here, or beyond the largest number;\ncorrect the cell",
                                     pv__show(column->name).text);
            continue;
        }
        if (filled)
            continue;
        if (states->state[row] == USED)
            states->missing++;
        states->state[row] = MISSING;
        if (row < states->first_row) {
            states->first_row = row;
            states->first_column = c;
        }
    }
    return PV_OK;
}

/* Most columns have no missing cell, which a quick pass shows; only the others are checked cell by cell. */
static pv_status check_features(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, int missing,
                                row_states *states) {
    bool *whole;
    PV_TRY(pv__alloc(ctx, plan->features, sizeof *whole, &whole));
    pv_status status = pv__columns_whole(ctx, table, plan, whole);
    for (size_t f = 0; status == PV_OK && f < plan->features; f++)
        if (!whole[f])
            status = check_column(ctx, table, plan->feature[f], true,
                                  missing >= PV_MISSING_INDICATOR && plan->feature[f] != plan->offset, states);
    pv__free(ctx, whole);
    return status;
}

/* Whether the column is a feature, whose missing cells can be filled in. */
static bool is_feature(const pv__encoding *plan, size_t column) {
    bool vote = false;
    for (size_t i = 0; i < plan->votes; i++)
        vote |= plan->vote[i] == column;
    return column != plan->target && column != plan->weights && column != plan->offset && column != plan->count[0] &&
           column != plan->count[1] && !vote;
}

static pv_status check_columns(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, int missing,
                               const char *advice, row_states *states) {
    states->first_row = table->rows;
    if (plan->weights < table->columns) {
        PV_TRY(check_weights(ctx, table, plan->weights, states));
        PV_TRY(check_column(ctx, table, plan->weights, false, false, states));
    }
    if (plan->target < table->columns)
        PV_TRY(check_column(ctx, table, plan->target, false, false, states));
    for (size_t i = 0; i < plan->votes; i++)
        PV_TRY(check_column(ctx, table, plan->vote[i], false, false, states));
    for (size_t i = 0; i < 2; i++)
        if (plan->count[i] < table->columns) {
            PV_TRY(check_counts(ctx, table, plan->count[i]));
            PV_TRY(check_column(ctx, table, plan->count[i], false, false, states));
        }
    PV_TRY(check_features(ctx, table, plan, missing, states));
    for (size_t c = 0; c < plan->term_columns; c++)
        if (plan->term_column[c] < table->columns)
            PV_TRY(check_column(ctx, table, plan->term_column[c], true, missing >= PV_MISSING_INDICATOR, states));
    size_t at = states->first_column;
    char among[48] = "";
    if (table->piece)
        pv__format(among, sizeof among, " from row %zu on", table->before + 1);
    if (states->missing > 0 && missing != PV_MISSING_DROP)
        return PV__FAIL_CELL(ctx, table, states->first_row, at,
                             "'%s' is missing here (rows with missing cells: %zu of %zu%s);\nfill it in, or leave such "
                             "rows out with `missing=drop`%s",
                             pv__show(table->column[at].name).text, states->missing, table->rows, among,
                             is_feature(plan, at) ? advice : "");
    if (states->missing + states->no_weight == table->rows && !table->piece)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                           "no row is left: %zu have missing cells, %zu have weight 0;\nfill the cells in, or leave "
                           "out columns with many missing cells (`exclude`)",
                           states->missing, states->no_weight);
    return PV_OK;
}

pv_status pv__rows_select(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, int missing, const char *advice,
                          pv_dataset *data) {
    row_states states = {0};
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, table->rows, 1, &states.state));
    PV_GOTO(done, check_columns(ctx, table, plan, missing, advice, &states));
    data->before = table->before;
    data->dropped = states.missing;
    data->zero_weight = states.no_weight;
    data->rows = table->rows - states.missing - states.no_weight;
    PV_GOTO(done, pv__resize(ctx, data->rows, sizeof *data->table_row, &data->table_row));
    size_t used = 0;
    for (size_t row = 0; row < table->rows; row++)
        if (states.state[row] == USED)
            data->table_row[used++] = row;
    if (plan->weights < table->columns) {
        PV_GOTO(done, pv__resize(ctx, data->rows, sizeof *data->weight, &data->weight));
        for (size_t i = 0; i < data->rows; i++)
            data->weight[i] = pv__cell_number(&table->column[plan->weights], data->table_row[i]);
    }
    if (pv__encoding_counts(plan, table))
        status = pv__counts_rows(ctx, table, plan, data);
done:
    pv__free(ctx, states.state);
    return status;
}
