/* src/data/schema_learn.h: the steps that turn a table into a matrix. */
#ifndef PV_SRC_DATA_ENCODE_H
#define PV_SRC_DATA_ENCODE_H

#include "base/reduce.h"
#include "data/data.h"

enum { PV__CLASSES_MAX = 300, PV__LEVELS_MAX = 200 }; /* limits for a column; PV__LABELS_MAX is that for a model */

/* ---- roles.c ----------------------------------------------------------------------------------------------------- */

/* Columns of a table by role. table->columns as an index means none. */
typedef struct pv__encoding {
    size_t target;
    size_t count[2]; /* an outcome of counts: columns of cases and controls; target is then none */
    size_t weights;
    size_t group;
    size_t offset; /* also the first feature */
    size_t *vote;  /* [votes], the columns of votes */
    size_t votes;
    size_t *feature; /* [features], in the order of the table or of the schema */
    size_t features;
    bool *category;      /* [features], encoded as categories */
    bool *chosen;        /* [features], as categories because the user chose so; NULL: nothing is learned */
    double **made;       /* [features], numbers computed by a term for the table's rows; NULL: the column itself */
    size_t *term_column; /* [term_columns], columns used by terms, two per term; table->columns: none */
    size_t term_columns;
    struct pv__glance *glance; /* [features], columns.h; NULL: nothing is learned */
    bool shared; /* ranks learn from the same table: each processes some columns and sends the results to the others */
} pv__encoding;

/* Whether this process handles the given item of the columns. */
static inline bool pv__encoding_makes(const pv_ctx *ctx, const pv__encoding *plan, size_t item) {
    return !plan->shared || pv__makes(ctx, item);
}

PV_MUST_USE pv_status pv__encoding_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles,
                                         const pv_schema *schema,
                                         pv__encoding *plan); /* schema supplies only the parsed terms */
PV_MUST_USE pv_status pv__encoding_apply(pv_ctx *ctx, const pv_table *table, const pv_roles *roles,
                                         const pv_schema *schema, pv__encoding *plan);
void pv__encoding_free(pv_ctx *ctx, pv__encoding *plan);
/* The column that keeps rows together; NULL: none. */
static inline const char *pv__roles_group(const pv_roles *roles) {
    return roles->matched ? roles->matched : roles->cluster ? roles->cluster : roles->group;
}

/* The name of the option that names it. */
static inline const char *pv__roles_grouping(const pv_roles *roles) {
    return roles->matched ? "`matched`" : roles->cluster ? "`cluster`" : "`group`";
}

/* Only the outcome and the weights. */
PV_MUST_USE pv_status pv__encoding_parts(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv__encoding *plan);
/* The column of clusters of a later table with labels, which may lack it unless the roles name it; NULL: none. */
static inline const char *pv__cluster_of(const pv_schema *schema, const pv_roles *roles) {
    bool own = (roles->target || roles->votes) && schema->cluster && *schema->cluster;
    return roles->cluster ? roles->cluster : own ? schema->cluster : NULL;
}

/* Also the group, for a training table. */
PV_MUST_USE pv_status pv__encoding_training(pv_ctx *ctx, const pv_table *table, const pv_roles *roles,
                                            pv__encoding *plan);

/* Fails, with rank and first differing line, if ranks are about to use a table differently. Compares the lines
 * NAME=VALUE `before`, the roles (NULL: none), and the lines `after`. */
PV_MUST_USE pv_status pv__roles_compare(pv_ctx *ctx, const pv_roles *roles, const char *before, const char *after);

/* ---- content.c --------------------------------------------------------------------------------------------------- */

/* Stores hashes of the data's content in data. shared: ranks compute them together for the same table. A table of
 * images, or a piece of a table, gets the hash of its source. */
PV_MUST_USE pv_status pv__content_hash(pv_ctx *ctx, const pv_schema *schema, const pv_table *table,
                                       const pv_roles *roles, bool shared, pv_dataset *data);

/* ---- row_keys.c -------------------------------------------------------------------------------------------------- */

typedef struct pv__key_rows {
    size_t n, features;
    const double *x;        /* [n][features]; NULL: rows of data */
    const pv_dataset *data; /* NULL: use x */
} pv__key_rows;
/* Random keys [n] of rows, from their features: equal rows have equal keys, wherever they are in the table. For images,
 * from their position. */
PV_MUST_USE pv_status pv__row_keys(pv_ctx *ctx, const pv__key_rows *rows, uint64_t seed, uint64_t *key);
typedef struct pv__keyed {
    uint64_t key;
    size_t row;
} pv__keyed;
void pv__keyed_sort(size_t n, pv__keyed *rows); /* by key, then row */

/* ---- weights.c --------------------------------------------------------------------------------------------------- */

/* Scales sampling weights of training rows to a mean of 1, because they are known only up to a factor. Counts stay
 * unchanged. */
void pv__weights_scale(pv_dataset *data);
/* Splits each row of counts into `most` rows, or as many as it counts, which share the count; other rows stay. The
 * caller frees *split; NULL: there was nothing to split. */
PV_MUST_USE pv_status pv__counts_split(pv_ctx *ctx, const pv_dataset *data, size_t most, pv_dataset **split);

/* ---- counts.c ---------------------------------------------------------------------------------------------------- */

/* If the outcome's text names two columns of counts, CASES/CONTROLS, a pointer to the slash; otherwise NULL. */
const char *pv__counts_slash(const char *target);
/* Whether the plan has an outcome of counts. */
static inline bool pv__encoding_counts(const pv__encoding *plan, const pv_table *table) {
    return plan->count[0] < table->columns;
}
/* Adds the columns to the plan, unless the table has a column with the outcome's whole name. */
PV_MUST_USE pv_status pv__counts_find(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv__encoding *plan);
/* Turns each selected row into one per label, with weight and label: 1 for cases, 0 for controls. */
PV_MUST_USE pv_status pv__counts_rows(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, pv_dataset *data);
/* Sets the labels to the columns' names, the cases last unless positive (which may be NULL) says otherwise. */
PV_MUST_USE pv_status pv__counts_learn(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan,
                                       const char *positive, pv_schema *schema, pv_dataset *data);
/* Converts the rows' labels to the schema's order. */
PV_MUST_USE pv_status pv__counts_apply(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan,
                                       const pv_schema *schema, pv_dataset *data);

/* ---- schema.c ---------------------------------------------------------------------------------------------------- */

/* Frees the contents of a source, not the struct. */
void pv__source_clear(pv_ctx *ctx, pv_source_column *source);
/* Copies the names of outcome, weights and group; on failure they are freed with the schema. */
PV_MUST_USE pv_status pv__schema_name(pv_ctx *ctx, const pv_roles *roles, pv_schema *schema);

/* ---- votes.c ----------------------------------------------------------------------------------------------------- */

/* Adds the columns that a list of votes names to the plan. */
PV_MUST_USE pv_status pv__encoding_votes(pv_ctx *ctx, const pv_table *table, const char *text, pv__encoding *plan);
/* Learns labels from the list, and fills the soft labels of the plan's rows. */
PV_MUST_USE pv_status pv__votes_learn(pv_ctx *ctx, const pv_table *table, const char *text, pv_schema *schema,
                                      pv_dataset *data);
/* Fills the soft labels of the data's rows for known labels; weights stay unchanged. */
PV_MUST_USE pv_status pv__votes_apply(pv_ctx *ctx, const pv_table *table, const char *text, char *const *labels,
                                      int classes, pv_dataset *data);

/* ---- sources.c --------------------------------------------------------------------------------------------------- */

enum { PV__MISSING = -1, PV__UNSEEN = -2 }; /* codes of cells without a known level */

/* Learns the features of the plan from the rows of data: fills the schema's sources and features, and for text columns
 * code [features], [data->rows] each, which the caller frees. */
PV_MUST_USE pv_status pv__sources_learn(pv_ctx *ctx, const pv_table *table, pv__encoding *plan, const pv_roles *roles,
                                        const pv_dataset *data, pv_schema *schema, int32_t **code);
/* Updates x, a row's features of a text column, for a learned source in which a level without rows counts as unseen. */
void pv__source_relearn(const pv_source_column *learned, double *x);
/* x [width]: the features of a text column for a cell whose code is PV__MISSING, or PV__UNSEEN under a rule
 * (pv_unseen).
 */
void pv__source_unknown(const pv_source_column *source, int32_t code, int rule, double *x);

/* ---- matrix.c ---------------------------------------------------------------------------------------------------- */

/* Builds the matrix, or what its rows are assembled from; takes what it needs of code. unseen: the rule for cells of
 * code PV__UNSEEN. learned: the schema was learned from these rows. */
PV_MUST_USE pv_status pv__sources_fill(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan,
                                       const pv_schema *schema, int32_t **code, int unseen, bool learned,
                                       pv_dataset *data);
void pv__columns_free(pv_ctx *ctx, struct pv_columns *columns); /* NULL is fine */
/* The rows in memory, if they are stored; else NULL. */
const double *pv__columns_own(const pv_dataset *data, size_t begin, size_t n);
/* Writes rows begin .. begin+n-1 of data without a matrix to x [n][features]. */
void pv__columns_rows(const pv_dataset *data, size_t begin, size_t n, double *x);

/* The numbers of source s, indexed by row of the table. */
static inline pv__numbers pv__encoding_numbers(const pv__encoding *plan, const pv_table *table, size_t s) {
    if (plan->made && plan->made[s])
        return (pv__numbers){.wide = plan->made[s]};
    return pv__table_numbers(table, plan->feature[s]);
}

/* ---- terms.c ----------------------------------------------------------------------------------------------------- */

enum { PV__DEGREES_MAX = 20 };

/* Parses the text of the `terms` option into the schema; on failure terms are freed with the schema. */
PV_MUST_USE pv_status pv__terms_parse(pv_ctx *ctx, const char *text, pv_schema *schema);
/* Removes terms that name a single column, which are not needed once there is a plan. */
void pv__terms_drop_plain(pv_ctx *ctx, pv_schema *schema);
void pv__terms_free(pv_ctx *ctx, pv_schema *schema);
void pv__term_clear(pv_ctx *ctx, pv_term *term);
/* Whether a term uses the column. */
bool pv__terms_use(const pv_schema *schema, const char *name);
PV_MUST_USE pv_status pv__term_copy(pv_ctx *ctx, const pv_term *from, pv_term *to);
/* Number of sources that are columns of the table; they come first. */
size_t pv__schema_plain(const pv_schema *schema);
/* Index of the plain source of that name, or the number of plain sources. */
size_t pv__schema_find(const pv_schema *schema, const char *name);
/* Why a term that was read from a file cannot be used with the sources; NULL if it can. */
const char *pv__term_wrong(const pv_schema *schema, const pv_term *term);

/* ---- term_columns.c ---------------------------------------------------------------------------------------------- */

/* Learns the terms, and if smooth those of an additive model, and appends their sources and unscaled numbers to schema
 * and plan. code: codes of the existing sources. */
PV_MUST_USE pv_status pv__terms_learn(pv_ctx *ctx, const pv_table *table, const pv_dataset *data, int32_t *const *code,
                                      bool smooth, pv_schema *schema, pv__encoding *plan);
/* Computes the numbers of learned terms, for a plan with space for them. */
PV_MUST_USE pv_status pv__terms_apply(pv_ctx *ctx, const pv_table *table, const pv_dataset *data,
                                      const pv_schema *schema, int32_t *const *code, int unseen, pv__encoding *plan);
/* Whether missing cells of source s's column are reported at this source: the first of several that share the
 * column. */
bool pv__term_tells_missing(const pv_schema *schema, size_t s);

/* ---- bases.c ----------------------------------------------------------------------------------------------------- */

/* The number of parameters that a function learns. */
size_t pv__basis_parameters(const pv_term *term);
/* Logarithms, roots, natural cubic splines, orthogonal polynomials. sorted [n]: the values in ascending order. */
PV_MUST_USE pv_status pv__basis_learn(pv_ctx *ctx, const double *sorted, size_t n, pv_term *term);
/* The term's features [n][term->features] of x [n]. NaN gives NaN; overflow gives infinity. */
void pv__basis_fill(const pv_term *term, const double *x, size_t n, double *value);

/* ---- smooth.c ---------------------------------------------------------------------------------------------------- */

enum { PV__KNOTS_MAX = 10, PV__CURVES_MAX = 8 };

/* Learns the curved part of a column from rows [n][2], values and their weights, which are sorted in place. At most
 * `most` features; none if the column has fewer than three values. */
PV_MUST_USE pv_status pv__smooth_learn(pv_ctx *ctx, double *rows, size_t n, size_t most, pv_term *term);
size_t pv__smooth_parameters(const pv_term *term); /* number of parameters, from its degree and features */
/* Like pv__basis_fill. */
void pv__smooth_fill(const pv_term *term, const double *x, size_t n, double *value);
/* Why parameters read from a file are invalid; NULL if they are valid. */
const char *pv__smooth_wrong(const pv_term *term);
/* Whether the term was added by an additive model. */
static inline bool pv__term_is_smooth(const pv_term *term) {
    return term->kind == PV_TERM_SMOOTH || term->kind == PV_TERM_LEVEL;
}
/* Number of features from such terms; they come last but for scores. */
size_t pv__schema_smooth(const pv_schema *schema);
/* Scores of other models, one feature each; they come last. */
size_t pv__schema_scores(const pv_schema *schema);
/* Removes the scores, and then the terms that only additive models take; and the last `features` features of data in
 * memory. */
void pv__schema_drop_scores(pv_ctx *ctx, pv_schema *schema);
void pv__schema_drop_smooth(pv_ctx *ctx, pv_schema *schema);
void pv__dataset_drop_last(pv_dataset *data, size_t features);

/* ---- misread.c --------------------------------------------------------------------------------------------------- */

/* Rejects levels of a text column that are certainly numbers in an unrecognised form, and warns if that is likely. */
const char *pv__misread_hint(const char *text); /* the end of a message about such a text; else empty */
PV_MUST_USE pv_status pv__misread_check(pv_ctx *ctx, const pv_table *table, size_t column, char *const *level,
                                        int32_t levels);

/* ---- leak_checks.c --------------------------------------------------------------------------------------------------
 */

/* Warns of a number column that looks like an identifier of rows. */
void pv__suspect_id(pv_ctx *ctx, pv__numbers numbers, const pv_dataset *data, const char *name);
/* Warns of columns, among features and the group, that look like matched sets. */
PV_MUST_USE pv_status pv__suspect_sets(pv_ctx *ctx, const pv_table *table, const pv_dataset *data,
                                       const pv_schema *schema);
/* Warns of a number column that is far from its training values (far_columns.c). */
void pv__suspect_unit(pv_ctx *ctx, const pv_table *table, size_t column, const pv_source_column *source,
                      const pv_dataset *data);
/* Sets auc of sources that separate the labels by themselves. */
PV_MUST_USE pv_status pv__suspect_leaks(pv_ctx *ctx, const pv_dataset *data, pv_schema *schema);

/* ---- repeats.c --------------------------------------------------------------------------------------------------- */

/* Warns if rows of one label are copies of each other. */
PV_MUST_USE pv_status pv__suspect_repeats(pv_ctx *ctx, const pv_dataset *data, const pv_schema *schema);

/* ---- schema_learn.c ---------------------------------------------------------------------------------------------- */

/* Fills feature and features from the sources: COLUMN, or COLUMN=LEVEL for all levels except the first. */
PV_MUST_USE pv_status pv__schema_name_features(pv_ctx *ctx, pv_schema *schema);
/* Rows, weights and labels of a data set, from the outcome's column. _learn learns the labels, _apply uses the
 * schema's. */
PV_MUST_USE pv_status pv__labels_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema *schema,
                                       pv_dataset *data);
PV_MUST_USE pv_status pv__labels_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table,
                                       const pv_roles *roles, pv_dataset *data);
/* The groups of the data set's rows, if the roles have any. */
PV_MUST_USE pv_status pv__groups_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_dataset *data);

/* ---- strata.c ---------------------------------------------------------------------------------------------------- */

/* The strata of the schema and of the data set's rows, if the roles have any. */
PV_MUST_USE pv_status pv__strata_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema *schema,
                                       pv_dataset *data);
/* The strata of another table's rows: -1 if a cell is empty or there is no such column. */
PV_MUST_USE pv_status pv__strata_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, pv_dataset *data);
/* The same for every row of a table, into stratum [table->rows]. what: the meaning of a level, for messages; NULL: a
 * row of an unknown stratum is not an error and gets -2. */
PV_MUST_USE pv_status pv__strata_of_table(pv_ctx *ctx, const pv_strata *strata, const pv_table *table, const char *what,
                                          int32_t *stratum);
/* A failed copy is freed with the struct that holds it. */
PV_MUST_USE pv_status pv__strata_copy(pv_ctx *ctx, const pv_strata *from, pv_strata **to);
/* Builds names from columns and keys; *sound is false if these do not define strata. */
PV_MUST_USE pv_status pv__strata_name(pv_ctx *ctx, pv_strata *strata, bool *sound);
PV_MUST_USE pv_status pv__source_copy(pv_ctx *ctx, const pv_source_column *from, pv_source_column *to); /* schema.c */

/* ---- image_dataset.c --------------------------------------------------------------------------------------------- */

/* Like pv_schema_learn and pv_schema_apply, for tables whose rows are images. They fill existing structs. */
PV_MUST_USE pv_status pv__images_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema *schema,
                                       pv_dataset *data);
PV_MUST_USE pv_status pv__images_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table,
                                       const pv_roles *roles, pv_dataset *data);

/* ---- rows.c ------------------------------------------------------------------------------------------------------ */

/* Selects the rows to use: fills rows, table_row, weight, dropped and zero_weight of data. Rejects missing cells if
 * `missing` (a pv_missing) says so (advice: alternatives, for cells of features), infinite cells, bad weights, and a
 * table without any row left. */
PV_MUST_USE pv_status pv__rows_select(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, int missing,
                                      const char *advice, pv_dataset *data);

/* (weights.c) Decides whether the weights of training rows are counts or sampling weights, which are scaled to a mean
 * of 1.
 */
PV_MUST_USE pv_status pv__weights_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles,
                                        const pv_schema *schema, pv_dataset *data);

/* ---- categories.c ------------------------------------------------------------------------------------------------ */

/* The column's values in the rows of data as a new TEXT column with code [data->rows], numbers in their shortest form,
 * PV__MISSING for missing cells. Stops after more than limit levels; categories->levels is then limit + 1. The caller
 * frees with pv__categories_free. */
PV_MUST_USE pv_status pv__categories_make(pv_ctx *ctx, const pv_table *table, size_t column, const pv_dataset *data,
                                          int32_t limit, pv_column *categories);
void pv__categories_free(pv_ctx *ctx, pv_column *categories);
/* Sorts the levels (in the order the user gave, else in natural order or by bytes) and recodes the rows of data. */
PV_MUST_USE pv_status pv__categories_sort(pv_ctx *ctx, const pv_dataset *data, bool natural, pv_column *categories);
/* Recodes by the given labels, matching bytes or else numbers. A level that matches none is an error at its place if
 * `refuse`, else becomes PV__UNSEEN; what: the meaning of the labels, for messages. */
PV_MUST_USE pv_status pv__categories_match(pv_ctx *ctx, const pv_table *table, size_t column, const pv_dataset *data,
                                           char *const *labels, int32_t n, const char *what, bool refuse,
                                           pv_column *categories);

/* (labels.c) label [n]: index among labels [classes] of each row of a column of texts or numbers; PV__MISSING or
 * PV__UNSEEN. row as in pv_table_labels. */
PV_MUST_USE pv_status pv__labels_match(pv_ctx *ctx, const pv_column *column, char *const *labels, int classes, size_t n,
                                       const size_t *row, int32_t *label);

/* ---- collinear.c ------------------------------------------------------------------------------------------------- */

/* Finds features that are linear combinations of others and the intercept: rejects them, or warns of all. */
PV_MUST_USE pv_status pv__collinear_check(pv_ctx *ctx, const pv_table *table, const pv_dataset *data,
                                          const pv_schema *schema, bool refuse);

#endif
