/* src/data/encode.h: the steps from a table to a matrix. */
#ifndef PV_SRC_DATA_ENCODE_H
#define PV_SRC_DATA_ENCODE_H

#include "data/data.h"

enum { PV__CLASSES_MAX = 300, PV__LEVELS_MAX = 200 }; /* of a column; PV__LABELS_MAX: of anything */

/* ---- roles.c ----------------------------------------------------------------------------------------------------- */

/* Columns of a table by the part they play; an index of table->columns means none. */
typedef struct pv__plan {
    size_t target;
    size_t weights;
    size_t group;
    size_t *feature; /* [features], in the order of the table, or of the schema */
    size_t features;
    bool *category; /* [features], encoded by levels */
} pv__plan;

PV_MUST_USE pv_status pv__plan_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv__plan *plan);
PV_MUST_USE pv_status pv__plan_apply(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, const pv_schema *schema,
                                     pv__plan *plan);
void pv__plan_free(pv_ctx *ctx, pv__plan *plan);
/* The column that keeps rows together; NULL: none. */
static inline const char *pv__roles_group(const pv_roles *roles) {
    return roles->matched ? roles->matched : roles->cluster ? roles->cluster : roles->group;
}

/* The option that names it. */
static inline const char *pv__roles_grouping(const pv_roles *roles) {
    return roles->matched ? "`matched`" : roles->cluster ? "`cluster`" : "`group`";
}

/* Target and weights alone. */
PV_MUST_USE pv_status pv__plan_parts(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv__plan *plan);
/* The same with the group, of a table to learn from. */
PV_MUST_USE pv_status pv__plan_training(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv__plan *plan);

/* ---- schema.c ---------------------------------------------------------------------------------------------------- */

/* Copies the names of target, weights and group; a failure is freed with the schema. */
PV_MUST_USE pv_status pv__schema_name(pv_ctx *ctx, const pv_roles *roles, pv_schema *schema);

/* ---- sources.c --------------------------------------------------------------------------------------------------- */

enum { PV__MISSING = -1, PV__UNSEEN = -2 }; /* codes of cells that have no level */

/* Features that a column takes. */
size_t pv__source_width(const pv_source_column *source);
/* Learns the features of the plan from the rows of data: fills the schema's sources and features, and code [features]
 * of text columns, [data->rows] each, which the caller frees. */
PV_MUST_USE pv_status pv__sources_learn(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, const pv_roles *roles,
                                        const pv_dataset *data, pv_schema *schema, int32_t **code);
/* The matrix. unseen: the rule for cells of code PV__UNSEEN. */
PV_MUST_USE pv_status pv__sources_fill(pv_ctx *ctx, const pv_table *table, const pv__plan *plan,
                                       const pv_schema *schema, int32_t *const *code, int unseen, pv_dataset *data);
/* x: a row's features of a text column. A level without rows in what was learned is one that was not seen. */
void pv__source_relearn(const pv_source_column *learned, double *x);

/* ---- suspects.c -------------------------------------------------------------------------------------------------- */

/* Warns of a column of numbers that looks like names of rows. */
void pv__suspect_id(pv_ctx *ctx, const double *number, const pv_dataset *data, const char *name);
/* Warns of columns, features or the group, that look like matched sets. */
PV_MUST_USE pv_status pv__suspect_sets(pv_ctx *ctx, const pv_table *table, const pv_dataset *data,
                                       const pv_schema *schema);
/* Sets auc of the sources that tell the labels apart by themselves. */
PV_MUST_USE pv_status pv__suspect_leaks(pv_ctx *ctx, const pv_dataset *data, pv_schema *schema);

/* ---- encode.c ---------------------------------------------------------------------------------------------------- */

/* Fills feature and features from the sources: COLUMN, or COLUMN=LEVEL for all levels but the first. */
PV_MUST_USE pv_status pv__schema_name_features(pv_ctx *ctx, pv_schema *schema);
/* Rows, weights and labels of a dataset, from the target's column: learned, or the schema's. */
PV_MUST_USE pv_status pv__labels_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema *schema,
                                       pv_dataset *data);
PV_MUST_USE pv_status pv__labels_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table,
                                       const pv_roles *roles, pv_dataset *data);
/* The groups of the dataset's rows, where roles have any. */
PV_MUST_USE pv_status pv__groups_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_dataset *data);

/* ---- image_dataset.c --------------------------------------------------------------------------------------------- */

/* As pv_schema_learn and pv_schema_apply, for tables whose rows are images. They fill what was made. */
PV_MUST_USE pv_status pv__images_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema *schema,
                                       pv_dataset *data);
PV_MUST_USE pv_status pv__images_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table,
                                       const pv_roles *roles, pv_dataset *data);

/* ---- rows.c ------------------------------------------------------------------------------------------------------ */

/* Which rows are used: fills rows, table_row, weight, dropped and zero_weight of data. Refuses missing cells where
 * missing (a pv_missing) says so (advice, for cells of features: what else there is), infinite ones, bad weights, and a
 * table of which nothing is left. */
PV_MUST_USE pv_status pv__rows_select(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, int missing,
                                      const char *advice, pv_dataset *data);

/* What the weights of rows to learn from are; sampling weights are scaled to a mean of 1. */
PV_MUST_USE pv_status pv__weights_learn(pv_ctx *ctx, const pv_roles *roles, pv_dataset *data);

/* ---- categories.c ------------------------------------------------------------------------------------------------ */

/* The column's values in the rows of data as a TEXT column of its own, code [data->rows], numbers in their shortest
 * form, PV__MISSING where there is none. Stops once there are more than limit levels: categories->levels is then limit
 * + 1. The caller frees with pv__categories_free. */
PV_MUST_USE pv_status pv__categories_make(pv_ctx *ctx, const pv_table *table, size_t column, const pv_dataset *data,
                                          int32_t limit, pv_column *categories);
void pv__categories_free(pv_ctx *ctx, pv_column *categories);
/* Sorts the levels, in natural order or by bytes, and recodes the rows of data. */
PV_MUST_USE pv_status pv__categories_sort(pv_ctx *ctx, const pv_dataset *data, bool natural, pv_column *categories);
/* Recodes by the given labels: by bytes, else as numbers. A level that none matches is refused at its place, or, where
 * refuse is not set, PV__UNSEEN; what says what the labels are. */
PV_MUST_USE pv_status pv__categories_match(pv_ctx *ctx, const pv_table *table, size_t column, const pv_dataset *data,
                                           char *const *labels, int32_t n, const char *what, bool refuse,
                                           pv_column *categories);

/* ---- collinear.c ------------------------------------------------------------------------------------------------- */

/* Finds features of which one is a linear combination of others and the intercept: refuses, or warns of them all. */
PV_MUST_USE pv_status pv__collinear_check(pv_ctx *ctx, const pv_table *table, const pv_dataset *data,
                                          const pv_schema *schema, bool refuse);

#endif
