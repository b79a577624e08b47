/* tests/unit/learned.h: tables as text, schemas learned from them, and their application to other tables. */
#ifndef PV_TEST_LEARNED_H
#define PV_TEST_LEARNED_H

#include "fixture.h"

/* Everything learned from one table. */
typedef struct learned {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
} learned;

static inline pv_table *table_of(const char *text, const pv_roles *roles, const pv_schema *schema) {
    put(text, strlen(text));
    return must_read(&(pv_csv_options){.roles = roles, .schema = schema});
}

/* As in the command: the roles determine which columns are text. */
static inline pv_status learn(const char *text, pv_roles roles, learned *l) {
    memset(l, 0, sizeof *l);
    l->table = table_of(text, &roles, NULL);
    return pv_schema_learn(ctx, l->table, &roles, &l->schema, &l->data);
}

static inline void forget(learned *l) {
    pv_dataset_free(ctx, l->data);
    pv_schema_free(ctx, l->schema);
    pv_table_free(ctx, l->table);
    memset(l, 0, sizeof *l);
}

static inline void refused(const char *text, pv_roles roles, const char *part, const char *other) {
    learned l;
    pv_status status = learn(text, roles, &l);
    assert_true(status == PV_ERR_INPUT || status == PV_ERR_USAGE);
    assert_null(l.schema);
    assert_null(l.data);
    forget(&l);
    says(part);
    says(other);
}

static inline pv_status apply(const char *text, const learned *l, pv_roles roles, pv_table **table, pv_dataset **data) {
    *table = table_of(text, &roles, l->schema);
    return pv_schema_apply(ctx, l->schema, *table, &roles, data);
}

static inline void apply_refused(const char *text, const learned *l, pv_roles roles, const char *part,
                                 const char *other) {
    pv_table *table;
    pv_dataset *data;
    pv_status status = apply(text, l, roles, &table, &data);
    assert_true(status == PV_ERR_INPUT || status == PV_ERR_USAGE);
    assert_null(data);
    pv_table_free(ctx, table);
    says(part);
    says(other);
}

static inline double x(const pv_dataset *data, size_t row, int feature) {
    assert_true(row < data->rows && feature < data->features);
    return data->x[row * (size_t)data->features + (size_t)feature];
}

#define ROLES(...) ((pv_roles){.target = "y", __VA_ARGS__})
static const pv_roles plain = {.target = "y"}; /* only a target */

#endif
