/* src/data/schema_learn.h: the steps from a table to a matrix. */
#ifndef PV_SRC_DATA_ENCODE_H
#define PV_SRC_DATA_ENCODE_H

#include "base/reduce.h"
#include "data/data.h"

enum { PV__CLASSES_MAX = 300, PV__LEVELS_MAX = 200 }; /* of a column; PV__LABELS_MAX: of anything */

/* ---- roles.c ----------------------------------------------------------------------------------------------------- */

/* Columns of a table by the part they play; an index of table->columns means none. */
typedef struct pv__encoding {
    size_t target;
    size_t count[2]; /* a target of counts: cases and controls; target is then none */
    size_t weights;
    size_t group;
    size_t offset; /* the first feature, too */
    size_t *vote;  /* [votes], the columns of votes */
    size_t votes;
    size_t *feature; /* [features], in the order of the table, or of the schema */
    size_t features;
    bool *category;      /* [features], encoded by levels */
    bool *chosen;        /* [features], because somebody said so; NULL: nothing is learned */
    double **made;       /* [features], numbers of the table's rows that a term made; NULL: the column itself */
    size_t *term_column; /* [term_columns], what terms are made of, two for each; table->columns: none */
    size_t term_columns;
    struct pv__glance *glance; /* [features], columns.h; NULL: nothing is learned */
    bool shared; /* ranks learn from the same table: each goes through columns of its own, and tells the others */
} pv__encoding;

/* Whether this process goes through the item-th of some columns. */
static inline bool pv__encoding_makes(const pv_ctx *ctx, const pv__encoding *plan, size_t item) {
    return !plan->shared || pv__makes(ctx, item);
}

PV_MUST_USE pv_status pv__encoding_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles,
                                         const pv_schema *schema,
                                         pv__encoding *plan); /* of schema the terms, as they were parsed */
PV_MUST_USE pv_status pv__encoding_apply(pv_ctx *ctx, const pv_table *table, const pv_roles *roles,
                                         const pv_schema *schema, pv__encoding *plan);
void pv__encoding_free(pv_ctx *ctx, pv__encoding *plan);
/* The column that keeps rows together; NULL: none. */
static inline const char *pv__roles_group(const pv_roles *roles) {
    return roles->matched ? roles->matched : roles->cluster ? roles->cluster : roles->group;
}

/* The option that names it. */
static inline const char *pv__roles_grouping(const pv_roles *roles) {
    return roles->matched ? "`matched`" : roles->cluster ? "`cluster`" : "`group`";
}

/* Target and weights alone. */
PV_MUST_USE pv_status pv__encoding_parts(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv__encoding *plan);
/* The same with the group, of a table to learn from. */
PV_MUST_USE pv_status pv__encoding_training(pv_ctx *ctx, const pv_table *table, const pv_roles *roles,
                                            pv__encoding *plan);

/* Refuses, with the rank and the first line that differs, ranks that are about to use a table in other ways: by the
 * lines NAME=VALUE before, the roles (NULL: none), and the lines after. */
PV_MUST_USE pv_status pv__roles_compare(pv_ctx *ctx, const pv_roles *roles, const char *before, const char *after);

/* ---- content.c --------------------------------------------------------------------------------------------------- */

/* Hashes of the data's content, into data. shared: ranks do so together, of the same table. A table of images, or a
 * piece of a table, has the hash of its source. */
PV_MUST_USE pv_status pv__content_hash(pv_ctx *ctx, const pv_schema *schema, const pv_table *table,
                                       const pv_roles *roles, bool shared, pv_dataset *data);

/* ---- row_keys.c -------------------------------------------------------------------------------------------------- */

typedef struct pv__key_rows {
    size_t n, features;
    const double *x;        /* [n][features]; NULL: the data's */
    const pv_dataset *data; /* NULL: there is x */
} pv__key_rows;
/* Random keys [n] of rows, by their features: rows that are alike have one key, whatever their place in the table. Of
 * images: by their place. */
PV_MUST_USE pv_status pv__row_keys(pv_ctx *ctx, const pv__key_rows *rows, uint64_t seed, uint64_t *key);
typedef struct pv__keyed {
    uint64_t key;
    size_t row;
} pv__keyed;
void pv__keyed_sort(size_t n, pv__keyed *rows); /* by key, then row */

/* ---- weights.c --------------------------------------------------------------------------------------------------- */

/* Sampling weights are known up to a factor: of rows to learn from they have a mean of 1. Counts stay as they are. */
void pv__weights_scale(pv_dataset *data);
/* Rows of counts as `most` rows, or as many as they count, that share the count; others as they are. The caller frees
 * *split; NULL: there are none to split. */
PV_MUST_USE pv_status pv__counts_split(pv_ctx *ctx, const pv_dataset *data, size_t most, pv_dataset **split);

/* ---- counts.c ---------------------------------------------------------------------------------------------------- */

/* Where the text of a target names two columns of counts, CASES/CONTROLS: the slash. NULL: it does not. */
const char *pv__counts_slash(const char *target);
/* Whether the plan has such a target. */
static inline bool pv__encoding_counts(const pv__encoding *plan, const pv_table *table) {
    return plan->count[0] < table->columns;
}
/* The columns, into the plan; none where the table has a column of the target's name. */
PV_MUST_USE pv_status pv__counts_find(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv__encoding *plan);
/* The rows selected become one for each label, with weight and label: 1 of cases, 0 of controls. */
PV_MUST_USE pv_status pv__counts_rows(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, pv_dataset *data);
/* The labels: the columns' names, the cases last unless positive, which may be NULL, says otherwise. */
PV_MUST_USE pv_status pv__counts_learn(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan,
                                       const char *positive, pv_schema *schema, pv_dataset *data);
/* The labels of the rows as the schema has them. */
PV_MUST_USE pv_status pv__counts_apply(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan,
                                       const pv_schema *schema, pv_dataset *data);

/* ---- schema.c ---------------------------------------------------------------------------------------------------- */

/* Frees what a column's source holds, not the source. */
void pv__source_clear(pv_ctx *ctx, pv_source_column *source);
/* Copies the names of target, weights and group; a failure is freed with the schema. */
PV_MUST_USE pv_status pv__schema_name(pv_ctx *ctx, const pv_roles *roles, pv_schema *schema);

/* ---- votes.c ----------------------------------------------------------------------------------------------------- */

/* The columns that a list of votes names, into the plan. */
PV_MUST_USE pv_status pv__encoding_votes(pv_ctx *ctx, const pv_table *table, const char *text, pv__encoding *plan);
/* Labels and soft labels of the plan's rows: what the list calls them. */
PV_MUST_USE pv_status pv__votes_learn(pv_ctx *ctx, const pv_table *table, const char *text, pv_schema *schema,
                                      pv_dataset *data);
/* The soft labels of the data's rows, for labels that are known; weights stay as they are. */
PV_MUST_USE pv_status pv__votes_apply(pv_ctx *ctx, const pv_table *table, const char *text, char *const *labels,
                                      int classes, pv_dataset *data);

/* ---- sources.c --------------------------------------------------------------------------------------------------- */

enum { PV__MISSING = -1, PV__UNSEEN = -2 }; /* codes of cells that have no level */

/* Learns the features of the plan from the rows of data: fills the schema's sources and features, and code [features]
 * of text columns, [data->rows] each, which the caller frees. */
PV_MUST_USE pv_status pv__sources_learn(pv_ctx *ctx, const pv_table *table, pv__encoding *plan, const pv_roles *roles,
                                        const pv_dataset *data, pv_schema *schema, int32_t **code);
/* x: a row's features of a text column. A level without rows in what was learned is one that was not seen. */
void pv__source_relearn(const pv_source_column *learned, double *x);

/* ---- matrix.c ---------------------------------------------------------------------------------------------------- */

/* The matrix, or what its rows are made of; takes over what it needs of code. unseen: the rule for cells of code
 * PV__UNSEEN. learned: the schema was, from these rows. */
PV_MUST_USE pv_status pv__sources_fill(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan,
                                       const pv_schema *schema, int32_t **code, int unseen, bool learned,
                                       pv_dataset *data);
void pv__columns_free(pv_ctx *ctx, struct pv_columns *columns); /* NULL is fine */
/* The same rows where they are held; NULL: they are not. */
const double *pv__columns_own(const pv_dataset *data, size_t begin, size_t n);
/* Rows begin .. begin+n-1 of data that have columns in the place of a matrix, into x [n][features]. */
void pv__columns_rows(const pv_dataset *data, size_t begin, size_t n, double *x);

/* The numbers of source s, by rows of the table. */
static inline pv__numbers pv__encoding_numbers(const pv__encoding *plan, const pv_table *table, size_t s) {
    if (plan->made && plan->made[s])
        return (pv__numbers){.wide = plan->made[s]};
    return pv__table_numbers(table, plan->feature[s]);
}

/* ---- terms.c ----------------------------------------------------------------------------------------------------- */

enum { PV__DEGREES_MAX = 20 };

/* Terms of the option's text, into the schema; a failure is freed with it. */
PV_MUST_USE pv_status pv__terms_parse(pv_ctx *ctx, const char *text, pv_schema *schema);
/* Those that name a column alone have done their work once there is a plan. */
void pv__terms_drop_plain(pv_ctx *ctx, pv_schema *schema);
void pv__terms_free(pv_ctx *ctx, pv_schema *schema);
void pv__term_clear(pv_ctx *ctx, pv_term *term);
/* Whether a term is made of the column. */
bool pv__terms_use(const pv_schema *schema, const char *name);
PV_MUST_USE pv_status pv__term_copy(pv_ctx *ctx, const pv_term *from, pv_term *to);
/* Sources that are columns of the table: the first so many. */
size_t pv__schema_plain(const pv_schema *schema);
/* The plain source of that name, or the number of plain ones. */
size_t pv__schema_find(const pv_schema *schema, const char *name);
/* Why the term cannot be used with the sources; NULL: it can. Of terms that were read from a file. */
const char *pv__term_wrong(const pv_schema *schema, const pv_term *term);

/* ---- term_columns.c ---------------------------------------------------------------------------------------------- */

/* Learns the terms and appends their sources and numbers, to be scaled, to schema and plan. code: of the sources that
 * there are. */
PV_MUST_USE pv_status pv__terms_learn(pv_ctx *ctx, const pv_table *table, const pv_dataset *data, int32_t *const *code,
                                      pv_schema *schema, pv__encoding *plan);
/* The numbers of what was learned, for a plan that has places for them. */
PV_MUST_USE pv_status pv__terms_apply(pv_ctx *ctx, const pv_table *table, const pv_dataset *data,
                                      const pv_schema *schema, int32_t *const *code, int unseen, pv__encoding *plan);
/* Whether source s is where missing cells of its column are told of: of several features the first. */
bool pv__term_tells_missing(const pv_schema *schema, size_t s);

/* ---- bases.c ----------------------------------------------------------------------------------------------------- */

/* How many numbers a function learns. */
size_t pv__basis_parameters(const pv_term *term);
/* Logarithms, roots, natural cubic splines, orthogonal polynomials. sorted [n]: the values, ascending. */
PV_MUST_USE pv_status pv__basis_learn(pv_ctx *ctx, const double *sorted, size_t n, pv_term *term);
/* The term's features [n][term->features] of x [n]; NaN makes NaN, what overflows an infinity. */
void pv__basis_fill(const pv_term *term, const double *x, size_t n, double *value);

/* ---- misread.c --------------------------------------------------------------------------------------------------- */

/* A hint, and a check. Refuses levels of a text column that are numbers in a form which was not read as such, where
 * that is certain; warns where it is likely. */
const char *pv__misread_hint(const char *text); /* for the end of a message about such a text; else empty */
PV_MUST_USE pv_status pv__misread_check(pv_ctx *ctx, const pv_table *table, size_t column, char *const *level,
                                        int32_t levels);

/* ---- leak_checks.c --------------------------------------------------------------------------------------------------
 */

/* Warns of a column of numbers that looks like names of rows. */
void pv__suspect_id(pv_ctx *ctx, pv__numbers numbers, const pv_dataset *data, const char *name);
/* Warns of columns, features or the group, that look like matched sets. */
PV_MUST_USE pv_status pv__suspect_sets(pv_ctx *ctx, const pv_table *table, const pv_dataset *data,
                                       const pv_schema *schema);
/* Warns of a column of numbers that is far from where it was in training (far_columns.c). */
void pv__suspect_unit(pv_ctx *ctx, const pv_table *table, size_t column, const pv_source_column *source,
                      const pv_dataset *data);
/* Sets auc of the sources that tell the labels apart by themselves. */
PV_MUST_USE pv_status pv__suspect_leaks(pv_ctx *ctx, const pv_dataset *data, pv_schema *schema);

/* ---- repeats.c --------------------------------------------------------------------------------------------------- */

/* Warns where rows of one label are copies of each other. */
PV_MUST_USE pv_status pv__suspect_repeats(pv_ctx *ctx, const pv_dataset *data, const pv_schema *schema);

/* ---- schema_learn.c
 * ---------------------------------------------------------------------------------------------------- */

/* Fills feature and features from the sources: COLUMN, or COLUMN=LEVEL for all levels but the first. */
PV_MUST_USE pv_status pv__schema_name_features(pv_ctx *ctx, pv_schema *schema);
/* Rows, weights and labels of a dataset, from the target's column: learned, or the schema's. */
PV_MUST_USE pv_status pv__labels_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema *schema,
                                       pv_dataset *data);
PV_MUST_USE pv_status pv__labels_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table,
                                       const pv_roles *roles, pv_dataset *data);
/* The groups of the dataset's rows, where roles have any. */
PV_MUST_USE pv_status pv__groups_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_dataset *data);

/* ---- strata.c ---------------------------------------------------------------------------------------------------- */

/* The strata of the schema and of the dataset's rows, where roles have any. */
PV_MUST_USE pv_status pv__strata_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema *schema,
                                       pv_dataset *data);
/* Those of another table's rows: -1 where a cell is empty, or there is no such column. */
PV_MUST_USE pv_status pv__strata_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, pv_dataset *data);
/* The same of every row of a table, into stratum [table->rows]; what says in messages what a level should be. NULL:
 * a row of another stratum is none to refuse, and its number -2. */
PV_MUST_USE pv_status pv__strata_of_table(pv_ctx *ctx, const pv_strata *strata, const pv_table *table, const char *what,
                                          int32_t *stratum);
/* A failed copy is freed with the whole. */
PV_MUST_USE pv_status pv__strata_copy(pv_ctx *ctx, const pv_strata *from, pv_strata **to);
/* Names from columns and keys; false where these make no strata. */
PV_MUST_USE pv_status pv__strata_name(pv_ctx *ctx, pv_strata *strata, bool *sound);
PV_MUST_USE pv_status pv__source_copy(pv_ctx *ctx, const pv_source_column *from, pv_source_column *to); /* schema.c */

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
PV_MUST_USE pv_status pv__rows_select(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, int missing,
                                      const char *advice, pv_dataset *data);

/* (weights.c) Whether the weights of rows to learn from are counts or sampling weights, which are scaled to a mean
 * of 1.
 */
PV_MUST_USE pv_status pv__weights_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles,
                                        const pv_schema *schema, pv_dataset *data);

/* ---- categories.c ------------------------------------------------------------------------------------------------ */

/* The column's values in the rows of data as a TEXT column of its own, code [data->rows], numbers in their shortest
 * form, PV__MISSING where there is none. Stops once there are more than limit levels: categories->levels is then limit
 * + 1. The caller frees with pv__categories_free. */
PV_MUST_USE pv_status pv__categories_make(pv_ctx *ctx, const pv_table *table, size_t column, const pv_dataset *data,
                                          int32_t limit, pv_column *categories);
void pv__categories_free(pv_ctx *ctx, pv_column *categories);
/* Sorts the levels, in the order in which they were given or else in natural order, or by bytes, and recodes the rows
 * of data. */
PV_MUST_USE pv_status pv__categories_sort(pv_ctx *ctx, const pv_dataset *data, bool natural, pv_column *categories);
/* Recodes by the given labels: by bytes, else as numbers. A level that none matches is refused at its place, or, where
 * refuse is not set, PV__UNSEEN; what says what the labels are. */
PV_MUST_USE pv_status pv__categories_match(pv_ctx *ctx, const pv_table *table, size_t column, const pv_dataset *data,
                                           char *const *labels, int32_t n, const char *what, bool refuse,
                                           pv_column *categories);

/* (labels.c) label [n]: which of labels [classes] the rows have in a column of texts or numbers; PV__MISSING,
 * PV__UNSEEN. row as in pv_table_labels. */
PV_MUST_USE pv_status pv__labels_match(pv_ctx *ctx, const pv_column *column, char *const *labels, int classes, size_t n,
                                       const size_t *row, int32_t *label);

/* ---- collinear.c ------------------------------------------------------------------------------------------------- */

/* Finds features of which one is a linear combination of others and the intercept: refuses, or warns of them all. */
PV_MUST_USE pv_status pv__collinear_check(pv_ctx *ctx, const pv_table *table, const pv_dataset *data,
                                          const pv_schema *schema, bool refuse);

#endif
