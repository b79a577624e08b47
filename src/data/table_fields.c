/* Tables and datasets by function, for those that must not know their layout. */
#include <math.h>

#include "data/data.h"

size_t pv_table_rows(const pv_table *table) {
    return table->rows;
}

size_t pv_table_columns(const pv_table *table) {
    return table->columns;
}

uint64_t pv_table_hash(const pv_table *table) {
    return table->hash;
}

const char *pv_table_source(const pv_table *table) {
    return table->source;
}

const char *pv_table_name(const pv_table *table, size_t column, pv_column_type *type) {
    if (column >= table->columns)
        return NULL;
    if (type)
        *type = table->column[column].type;
    return table->column[column].name;
}

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

size_t pv_dataset_count(const pv_dataset *dataset) {
    return dataset->rows;
}

int pv_dataset_features(const pv_dataset *dataset) {
    return dataset->features;
}

int pv_dataset_classes(const pv_dataset *dataset) {
    return dataset->classes;
}

size_t pv_dataset_dropped(const pv_dataset *dataset) {
    return dataset->dropped;
}

const int32_t *pv_dataset_labels(const pv_dataset *dataset) {
    return dataset->label;
}

const size_t *pv_dataset_sources(const pv_dataset *dataset) {
    return dataset->table_row;
}
