/* Weights of training rows: counts of identical people, or sampling weights.
 *
 * A count means that as many people share every value of the row. Survey weights rounded to whole numbers look the
 * same, and treating them as counts makes standard errors too small by the square root of their mean. Counts are
 * implausible if nearly every row has a distinct value in some number column, because few people have identical
 * measurements.
 */
#include <math.h>
#include <stdlib.h>

#include "data/columns.h"

enum { ROWS_LEAST = 20, ROWS_MOST = 2000 };
static const double MEAN_LEAST = 2, DISTINCT_LEAST = 0.9;

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Whether nearly all of some evenly spread rows have distinct values. room [ROWS_MOST] is work space. */
static bool is_distinct(const pv_column *column, const pv_dataset *data, double *room) {
    size_t n = data->rows < ROWS_MOST ? data->rows : ROWS_MOST, present = 0, distinct = 0;
    for (size_t i = 0; i < n; i++) {
        double x = pv__cell_number(column, data->table_row[i * data->rows / n]);
        if (!isnan(x))
            room[present++] = x;
    }
    qsort(room, present, sizeof *room, compare);
    for (size_t i = 0; i < present; i++)
        distinct += i == 0 || room[i] != room[i - 1];
    return present >= ROWS_LEAST && (double)distinct >= DISTINCT_LEAST * (double)present;
}

/* Finds a feature whose values make identical people implausible; NULL if there is none. */
static pv_status find_measurement(pv_ctx *ctx, const pv_table *table, const pv_schema *schema, const pv_dataset *data,
                                  const char **name) {
    double *room;
    *name = NULL;
    PV_TRY(pv__alloc(ctx, ROWS_MOST, sizeof *room, &room));
    for (size_t s = 0; s < schema->sources && !*name; s++) {
        const pv_source_column *source = &schema->source[s];
        size_t c = pv__table_lookup(table, source->name);
        bool numbers = source->type == PV_COLUMN_NUMBER && c < table->columns &&
                       table->column[c].type == PV_COLUMN_NUMBER && (s > 0 || !schema->offset);
        if (numbers && is_distinct(&table->column[c], data, room))
            *name = source->name;
    }
    pv__free(ctx, room);
    return PV_OK;
}

static pv_status tell_of_counts(pv_ctx *ctx, const pv_table *table, const pv_schema *schema, const pv_dataset *data,
                                double sum) {
    const char *measurement;
    if (data->rows < ROWS_LEAST || sum < MEAN_LEAST * (double)data->rows)
        measurement = NULL;
    else
        PV_TRY(find_measurement(ctx, table, schema, data, &measurement));
    if (measurement)
        pv__log(ctx, PV_LOG_WARNING,
                "weights are whole numbers and are treated as counts (%.10g people in %zu rows), but nearly every row "
                "has its own value of '%s', which identical people would share. If they are sampling weights, use "
                "`weights-are=sampling` (the standard errors are now too small); otherwise state `weights-are=counts`",
                sum, data->rows, pv__show(measurement).text);
    else
        pv__log(ctx, PV_LOG_INFO,
                "weights are whole numbers and are treated as counts (%.10g people in %zu rows); for sampling weights "
                "use `weights-are=sampling`",
                sum, data->rows);
    return PV_OK;
}

/* Sampling weights are known only up to a factor. A mean of 1 gives a prior the same influence as with unweighted
 * rows. */
pv_status pv__weights_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, const pv_schema *schema,
                            pv_dataset *data) {
    bool open = roles->weights_are == PV_WEIGHTS_AUTO, whole = true, alike = true;
    double sum = 0;
    if (!data->weight && !open)
        return pv__fail(ctx, PV_ERR_USAGE, "`weights-are` needs `weights`:\nname their column");
    for (size_t i = 0; data->weight && i < data->rows; i++) {
        whole &= data->weight[i] == floor(data->weight[i]);
        alike &= data->weight[i] == 1;
        sum += data->weight[i];
    }
    data->sampling = roles->weights_are == PV_WEIGHTS_SAMPLING || (open && !whole);
    if (open && !data->sampling)
        return alike || !roles->weights ? PV_OK : tell_of_counts(ctx, table, schema, data, sum);
    if (open)
        pv__log(
            ctx, PV_LOG_INFO,
            "weights are not whole numbers and are treated as sampling weights; for counts use `weights-are=counts`");
    if (data->sampling && data->zero_weight)
        pv__log(ctx, PV_LOG_WARNING,
                "%zu row%s of sampling weight 0 left out: a sampled row represents someone, so its weight is above 0; "
                "correct the weights, or state `weights-are=counts`",
                data->zero_weight, data->zero_weight == 1 ? "" : "s");
    pv__weights_scale(data);
    return PV_OK;
}

void pv__weights_scale(pv_dataset *data) {
    double sum = 0;
    for (size_t i = 0; data->sampling && i < data->rows; i++)
        sum += data->weight[i];
    for (size_t i = 0; data->sampling && i < data->rows; i++)
        data->weight[i] *= (double)data->rows / sum;
}

static size_t pieces_of(const pv_dataset *data, size_t row, size_t most) {
    double v = data->weight[row];
    return v != floor(v) || v <= 1 ? 1 : v < (double)most ? (size_t)v : most;
}

pv_status pv__counts_split(pv_ctx *ctx, const pv_dataset *data, size_t most, pv_dataset **split) {
    size_t total = 0, at = 0, *row;
    *split = NULL;
    if (!data->weight || data->sampling)
        return PV_OK;
    for (size_t i = 0; i < data->rows; i++)
        total += pieces_of(data, i, most);
    if (total == data->rows)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, total, sizeof *row, &row));
    for (size_t i = 0; i < data->rows; i++)
        for (size_t k = pieces_of(data, i, most); k > 0; k--)
            row[at++] = i;
    pv_status status = pv_dataset_take(ctx, data, total, row, split);
    for (size_t i = 0, from = 0; status == PV_OK && i < data->rows; i++) {
        size_t n = pieces_of(data, i, most);
        double each = floor(data->weight[i] / (double)n), rest = data->weight[i] - (double)n * each;
        for (size_t k = 0; n > 1 && k < n; k++)
            (*split)->weight[from + k] = each + ((double)k < rest);
        from += n;
    }
    pv__free(ctx, row);
    return status;
}
