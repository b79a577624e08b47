/* Warns of columns of a later table that are far from their training values, as if they were in another unit.
 *
 * Such a column has its median and its mean more than FAR of training's scales from the training mean. Populations
 * differ by less: three standard deviations between cases and controls would separate them almost without error. Both
 * are required because a single cell can move the mean, and in a column with a long tail the median alone is far from
 * it. Columns of two values are not checked.
 */
#include <math.h>
#include <string.h>

#include "data/columns.h"

enum { ENOUGH = 20 };
static const double FAR = 3;

static bool two_values(pv__numbers numbers, const pv_dataset *data) {
    double first = pv__number_at(numbers, data->table_row[0]), second = first;
    for (size_t i = 1; i < data->rows; i++) {
        double number = pv__number_at(numbers, data->table_row[i]);
        if (number != first && second != first && number != second)
            return false;
        if (second == first)
            second = number;
    }
    return true;
}

void pv__suspect_unit(pv_ctx *ctx, const pv_table *table, size_t column, const pv_source_column *source,
                      const pv_dataset *data) {
    bool term = strcmp(table->column[column].name, source->name) != 0; /* it is computed from columns */
    if (term || data->rows < ENOUGH || table->before > 0 || !(source->sd > 0))
        return;
    pv__numbers numbers = pv__table_numbers(table, column);
    size_t above = 0, below = 0;
    double sum = 0;
    for (size_t i = 0; i < data->rows; i++) {
        double z = (pv__number_at(numbers, data->table_row[i]) - source->mean) / source->sd;
        above += z > FAR;
        below += z < -FAR;
        sum += isnan(z) ? 0 : z;
    }
    double mean = sum / (double)data->rows;
    bool far = (2 * above > data->rows && mean > FAR) || (2 * below > data->rows && mean < -FAR);
    if (!far || two_values(numbers, data))
        return;
    pv__log(ctx, PV_LOG_WARNING,
            "%s: most numbers in column '%s' are far %s those of the training data, whose mean is %.4g: check its "
            "unit, and the training data for wrong cells",
            table->source, pv__show(source->name).text, above > below ? "above" : "below", source->mean);
}
