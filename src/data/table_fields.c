/* Accessor functions of tables and data sets, for callers that must not depend on their layout. */
#include <math.h>

#include "data/data.h"

double pv_table_number(const pv_table *table, size_t column, size_t row) {
    if (column >= table->columns || row >= table->rows || table->column[column].type != PV_COLUMN_NUMBER)
        return (double)NAN;
    return pv__cell_number(&table->column[column], row);
}

const char *pv_table_text(const pv_table *table, size_t column, size_t row) {
    if (column >= table->columns || row >= table->rows || table->column[column].type != PV_COLUMN_TEXT)
        return NULL;
    const pv_column *c = &table->column[column];
    return c->code[row] < 0 ? NULL : c->level[c->code[row]];
}

const size_t *pv_dataset_sources(const pv_dataset *dataset) {
    return dataset->table_row;
}
