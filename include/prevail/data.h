/* prevail/data.h: tables, CSV files, the schema that turns a table into a matrix, embedded data, simulators. */
#ifndef PREVAIL_DATA_H
#define PREVAIL_DATA_H

#include "prevail/images.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef enum pv_column_type { PV_COLUMN_NUMBER, PV_COLUMN_TEXT } pv_column_type;
#define PV_COLUMN_TYPE_LIST(X)                                                                                         \
    X(NUMBER, "number")                                                                                                \
    X(TEXT, "text")
const char *pv_column_type_name(pv_column_type type);

typedef struct pv_column {
    char *name;
    pv_column_type type;
    double *number; /* [rows] of a NUMBER column; NaN where missing */
    int32_t *code;  /* [rows] of a TEXT column: index into level; -1 if missing. Of a NUMBER column: index of the cell's
                       text if some cells are not written as the shortest form of the number; else NULL */
    char **level;   /* [levels], in order of first appearance */
    int32_t levels;
    int32_t *rank;       /* [levels], position of each level in the order in which they were given; NULL: no order */
    bool borrowed;       /* number belongs to the caller */
    bool respelled;      /* NUMBER columns: the source wrote numbers in other forms, which were not kept */
    const float *single; /* [rows], the numbers in single precision, if number is NULL: a packed table whose doubles
                            would exceed the context's memory limit. pv_table_number reads either */
} pv_column;

/* The CSV syntax of a file if it was not the default. A schema stores it: later tables are read the same way unless
 * their options differ. */
typedef struct pv_written {
    char *separator, *decimal, *na; /* as in pv_csv_options; NULL: the default */
    char *names, *quote;            /* the same */
    bool no_header;
} pv_written;

typedef struct pv_table {
    char *source; /* file name, or a description of the origin */
    size_t rows;
    size_t columns;
    pv_column *column;   /* [columns] */
    size_t *line;        /* [rows], the line at which each row starts; NULL: row + 2. Use pv_table_line */
    uint64_t hash;       /* XXH3-64 of the bytes read; of names and cells if nothing was read */
    bool arrays;         /* read from an array file; the line of a row is its number from 1 */
    bool images;         /* its rows have images in that file */
    pv_archive *archive; /* the array file, kept open for the images; NULL: none */
    pv_written written;
    struct pv_packed *packed; /* the mapped file of a packed table; NULL: the table is in memory */
    size_t before;            /* number of source rows before the first row of this piece (pv_pieces_next) */
    bool piece;               /* the source has more rows than this table */
    bool borrowed;            /* columns and lines belong to another table */
    bool *told;               /* of a piece: whether levels unknown to training were already reported for a column */
} pv_table;

void pv_table_free(pv_ctx *ctx, pv_table *table); /* NULL is allowed */

/* A cell. NaN: missing, a text, or outside. */
double pv_table_number(const pv_table *table, size_t column, size_t row);

/* The same of texts, borrowed; NULL: missing, a number, or outside. */
const char *pv_table_text(const pv_table *table, size_t column, size_t row);

/* Copies the given rows [n] to a table of their own; rows keep their line numbers and texts their levels. Not for
 * images. The caller frees *taken. */
PV_MUST_USE pv_status pv_table_take(pv_ctx *ctx, const pv_table *table, size_t n, const size_t *row, pv_table **taken);

/* Writes the table as a columnar file, which pv_table_read maps into memory instead of parsing it. A model fitted to
 * either is the same. single: numbers are rounded to single precision. Not for images. */
PV_MUST_USE pv_status pv_table_pack(pv_ctx *ctx, const pv_table *table, const char *path, bool single);

/* Whether a matrix of the table fits into the context's memory limit (pv_ctx_set_memory) in addition to the table.
 * Always true for packed tables, which need no matrix, for images, and without a limit. */
bool pv_table_fits(const pv_ctx *ctx, const pv_table *table);
/* Packs the table to an unnamed file in that folder, which is removed with the table, and replaces *table by the packed
 * one. */
PV_MUST_USE pv_status pv_table_put_away(pv_ctx *ctx, const char *folder, pv_table **table);

/* The line at which a row (from 0) starts, from 1; for a table that was not read from a file, the line in a CSV file of
 * it. */
size_t pv_table_line(const pv_table *table, size_t row);

/* Finds the column's index. The error message suggests the most similar name. option is what asked for the column, as
 * it appears in messages: "`outcome`". */
PV_MUST_USE pv_status pv_table_find(pv_ctx *ctx, const pv_table *table, const char *option, const char *name,
                                    size_t *column);

/* ---- tables of data in memory -------------------------------------------------------------------------------------
 * pv_table_new makes a table without columns, to which they are added. It is used like one read from a CSV file with
 * the same content: codes of texts are in order of first appearance, and the texts that mean missing in a file mean it
 * here. Arguments are copied unless a function says otherwise; a failure leaves the table unchanged. source names the
 * table in messages and models. name: NULL for x and the column's number; names must be unique and not empty. missing
 * [rows] (NULL: none): nonzero if the cell is missing, whatever it holds. Strides are in bytes.
 */
PV_MUST_USE pv_status pv_table_new(pv_ctx *ctx, const char *source, size_t rows,
                                   pv_table **table); /* freed by caller */

/* A stride is the number of bytes from one cell to the next. It may be negative, or 0, which repeats one cell for every
 * row; cells need not be aligned. PV_PACKED: the cells are contiguous. */
#define PV_PACKED PTRDIFF_MIN

/* Adds numbers of a type from PV_ARRAY_BOOL to _F64; NaN is missing. borrow: contiguous aligned doubles without missing
 * are used in place and must outlive the table; all else is copied. */
PV_MUST_USE pv_status pv_table_add_numbers(pv_ctx *ctx, pv_table *table, const char *name, pv_array_type type,
                                           const void *cells, ptrdiff_t stride, const uint8_t *missing, bool borrow);
/* Adds the columns of a matrix [rows][columns]. names [columns], or NULL. Both strides PV_PACKED: row by row (C order).
 * row_stride the size of an element and column_stride PV_PACKED: column by column (Fortran and R order). borrow: as
 * above, if the cells of a column are contiguous. */
PV_MUST_USE pv_status pv_table_add_matrix(pv_ctx *ctx, pv_table *table, const char *const *names, size_t columns,
                                          pv_array_type type, const void *cells, ptrdiff_t row_stride,
                                          ptrdiff_t column_stride, bool borrow);
/* Adds texts [rows]; NULL is missing. They remain texts even if all are numbers. */
PV_MUST_USE pv_status pv_table_add_texts(pv_ctx *ctx, pv_table *table, const char *name, const char *const *cells,
                                         const uint8_t *missing);
/* Adds texts as codes of any numeric type. first is the code of levels[0] (0, or 1 in R); a smaller code or NaN is
 * missing, a code without a level is rejected. Levels may be NULL (missing), repeated, or unused. A feature keeps their
 * order: the first one that has rows is the reference level. */
PV_MUST_USE pv_status pv_table_add_codes(pv_ctx *ctx, pv_table *table, const char *name, pv_array_type type,
                                         const void *codes, ptrdiff_t stride, int64_t first, const char *const *levels,
                                         size_t n_levels, const uint8_t *missing);

/* ---- CSV -----------------------------------------------------------------------------------------------------------
 * RFC 4180, extended to files found in practice: a header row; quoted fields with "" inside, commas and line breaks;
 * CRLF or LF; a UTF-8 byte-order mark; blank lines are skipped; spaces around unquoted fields are removed. Missing:
 * empty, NA, NaN, nan, null, NULL, '.', N/A, n/a, #N/A, <NA> and '?' (which is logged), unless na says otherwise. Files
 * compressed by gzip or zstd are decompressed while they are read. A column is numeric if all its non-missing fields
 * are numbers, and text if none is. A mixture is an error at the first field that does not fit, unless the column is
 * listed in text. A column with missing fields only is numeric unless listed in text. A column of dates becomes days
 * since 1970-01-01. inf and infinity are numbers; pv_schema_learn and pv_schema_apply refuse them.
 */
typedef struct pv_csv_options {
    const struct pv_roles *roles;   /* columns that have to be text in these roles are read as text. NULL: none */
    const struct pv_schema *schema; /* the table is for pv_schema_apply with this schema and roles: other columns are
                                       skipped, except those in keep. NULL: the schema will be learned from the table */
    const char *separator; /* one character, "tab" or "auto" (or NULL): the schema's if it has one, else comma, or the
                              one of tab, semicolon and bar that occurs in a header without a comma */
    const char *decimal;   /* ".", ",", or "auto" (as NULL): the schema's, else "." */
    const char *na;    /* texts that mean missing besides the empty one, "a,b"; "auto" (or NULL): the schema's, else the
                          default list */
    bool no_header;    /* the first row is data; columns are named x1, x2, ...; also assumed if the schema's file had no
                          header and the first row does not contain its column names */
    const char *names; /* "a,b,c": column names of a file without a header; NULL: the schema's, else x1, x2, ... */
    const char *quote; /* "double", "single", "none", or "auto" (as NULL): the schema's, else double */
    const char *const *text; /* columns to read as text whatever they contain */
    size_t n_text;
    const char *const
        *keep; /* columns to read; the others become text columns with all cells missing. NULL: all columns */
    size_t n_keep;
    const char *number_prefix; /* not NULL: columns whose name neither begins with it nor is listed in number are read
                                  as text */
    const char *const *number;
    size_t n_number;
    bool spelling; /* numeric columns keep the texts of cells that are not in the shortest form (00012) */
} pv_csv_options;

extern const pv_option
    pv_csv_option_table[]; /* separator, decimal, no_header, names, quote and na; ended by a NULL name */
/* The pv_csv_options inside settings, borrowed; NULL if settings were made without that table. */
const pv_csv_options *pv_csv_options_of(const pv_settings *settings);

/* Reads path: "-" is standard input, "builtin:NAME" embedded data; Parquet files, queries and databases as described in
 * docs/formats.md. NPZ, NPY and IDX files are recognised by their first bytes: arrays [N] become columns and arrays
 * [N][m] columns NAME.1 .. NAME.m, where N is the number of images. options may be NULL. The caller frees *table. */
PV_MUST_USE pv_status pv_table_read(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_table **table);

/* The libraries that read such sources on this machine: DuckDB, SQLite and libpq. Each is loaded to get its version,
 * which is empty if it is not installed. Writes at most room entries and returns the total number. */
size_t pv_engines(pv_library *list, size_t room);

/* A file that contains DuckDB's library, such as that of the Python package duckdb, used if PREVAIL_DUCKDB is not set
 * and the library is not installed. NULL: none. Copied. Call it between calls of the library. */
PV_MUST_USE pv_status pv_ctx_set_duckdb(pv_ctx *ctx, const char *path);

/* Reads a table in pieces, for work done row by row on more rows than fit into memory. Parquet files, queries and
 * databases are read piece by piece; a packed table is mapped; other files are read completely and returned in
 * parts. */
typedef struct pv_pieces pv_pieces;
PV_MUST_USE pv_status pv_pieces_open(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_pieces **pieces);
/* Returns the next piece of about `rows` rows (of images: all rows); *table is NULL after the last. The caller frees
 * *table before the pieces. */
PV_MUST_USE pv_status pv_pieces_next(pv_ctx *ctx, pv_pieces *pieces, size_t rows, pv_table **table);
void pv_pieces_free(pv_ctx *ctx, pv_pieces *pieces); /* NULL is allowed */

/* Makes the table of an open archive, on disk or in memory. The caller, the table and the images learned from it each
 * hold a reference and free it; the last one closes the archive. */
PV_MUST_USE pv_status pv_table_of(pv_ctx *ctx, pv_archive *archive, const pv_csv_options *options, pv_table **table);

/* Writes the table as CSV; numbers have the shortest form that reads back exactly. output: from pv_output_open; NULL:
 * standard output. */
PV_MUST_USE pv_status pv_table_write(pv_ctx *ctx, const pv_table *table, pv_output *output);

/* Parquet files, through DuckDB's library. pv_parquet_check: whether it is installed; call it before any work.
 * pv_parquet_write: writes the rows of all pieces to one file, which appears only when it is complete. next returns the
 * pieces, NULL after the last; all must have the columns of the first, and each is used only until the next call. A
 * status other than PV_OK from next is returned.
 */
typedef pv_status (*pv_pieces_source)(void *state, const pv_table **piece);
bool pv_output_is_parquet(const char *path);
PV_MUST_USE pv_status pv_parquet_check(pv_ctx *ctx, const char *path);
PV_MUST_USE pv_status pv_parquet_write(pv_ctx *ctx, const char *path, pv_pieces_source next, void *state);
/* Writes the table as CSV, or as Parquet if the file name ends so. path NULL: standard output. */
PV_MUST_USE pv_status pv_table_save(pv_ctx *ctx, const pv_table *table, const char *path);

/* ---- schemas -------------------------------------------------------------------------------------------------------
 * A schema describes the columns of a table: which is the target and what its labels are, which are features and how
 * they become numbers. Number columns are standardised (mean 0, sd 1, weighted by row weights). Text columns become
 * indicator columns named COLUMN=LEVEL, relative to a reference level (the first in natural order that does not itself
 * mean missing), and are not standardised. A schema is learned once from a table, stored in the model, and applied
 * unchanged to any other table.
 */
typedef struct pv_source_column {
    char *name;
    pv_column_type type;
    double mean, sd; /* NUMBER */
    char **level;    /* TEXT: [levels], sorted; level[0] is the reference */
    int32_t levels;
    double *rows; /* TEXT: [levels], weighted number of training rows with each; NULL: unknown */
    bool missing; /* it has one more feature, NAME (missing), which is 1 if the cell is missing */
    double auc;   /* AUC of this column alone, if implausibly high for two labels; else 0 */
} pv_source_column;

/* Number of features made from it. Features are in the order of their sources. */
size_t pv_source_width(const pv_source_column *source);

/* One or several features computed from columns: log(a), sqrt(a), a natural spline ns(a,DF), orthogonal polynomials
 * poly(a,DEGREE), and products a:b. Splines and polynomials are those of R. Their constants are computed from the
 * training rows and stored, so that later tables get the same functions. */
typedef enum pv_term_kind {
    PV_TERM_PLAIN, /* the column itself; only in a list of terms */
    PV_TERM_LOG,
    PV_TERM_SQRT,
    PV_TERM_NS,
    PV_TERM_POLY,
    PV_TERM_PRODUCT,
    PV_TERM_SMOOTH, /* nonlinear part of a numeric column, in additive models; never in a list of terms */
    PV_TERM_LEVEL,  /* reference level of a text column, in additive models; never in a list of terms */
    PV_TERM_SCORE /* score(a): another model's log-likelihood ratio, a candidate of `model=auto`; not a feature of other
                     models */
} pv_term_kind;
#define PV_TERM_KIND_LIST(X)                                                                                           \
    X(PLAIN, "plain")                                                                                                  \
    X(LOG, "log")                                                                                                      \
    X(SQRT, "sqrt")                                                                                                    \
    X(NS, "ns")                                                                                                        \
    X(POLY, "poly")                                                                                                    \
    X(PRODUCT, "product")                                                                                              \
    X(SMOOTH, "smooth")                                                                                                \
    X(LEVEL, "level")                                                                                                  \
    X(SCORE, "score")
const char *pv_term_kind_name(pv_term_kind kind);
bool pv_term_kind_find(const char *name, pv_term_kind *kind);

typedef struct pv_term {
    pv_term_kind kind;
    char *column[2];   /* the columns it is computed from; the second for PRODUCT only */
    int degree;        /* NS: degrees of freedom; POLY: degree; SMOOTH: knots */
    size_t parameters; /* number of stored constants */
    double *
        parameter;   /* NS: the knots, from the smallest to the largest training value. POLY: centre, scale, then R's
                        alpha [degree] and norm2 [degree + 1], of (x - centre) / scale. SMOOTH: as in src/data/smooth.c */
    size_t features; /* number of features it makes */
    int32_t *cell;   /* PRODUCT: [features][2], levels of text columns, 0 for numbers */
} pv_term;

/* Treatment of missing feature cells. A missing label or weight drops the row, or is rejected. */
typedef enum pv_missing {
    PV_MISSING_REFUSE,
    PV_MISSING_DROP,      /* drops the row */
    PV_MISSING_INDICATOR, /* like IMPUTE, with an indicator feature for columns with missing cells in the training table
                           */
    PV_MISSING_IMPUTE,    /* imputes the mean, or the most frequent level, of the training table */
    PV_MISSING_MODEL      /* when a schema is applied: as in training if that was INDICATOR or IMPUTE; else refuse */
} pv_missing;
#define PV_MISSING_LIST(X)                                                                                             \
    X(REFUSE, "refuse")                                                                                                \
    X(DROP, "drop")                                                                                                    \
    X(INDICATOR, "indicator")                                                                                          \
    X(IMPUTE, "impute")                                                                                                \
    X(MODEL, "model")
const char *pv_missing_name(pv_missing rule);
bool pv_missing_find(const char *name, pv_missing *rule);

/* Treatment of a level that did not occur in the training table, when a schema is applied. */
typedef enum pv_unseen {
    PV_UNSEEN_OTHER,     /* the mean of the levels that were rare in training; if there are none, as MISSING */
    PV_UNSEEN_MISSING,   /* like a missing cell: its indicator, or the most frequent level */
    PV_UNSEEN_REFERENCE, /* the reference level */
    PV_UNSEEN_REFUSE
} pv_unseen;

typedef enum pv_collinear {
    PV_COLLINEAR_WARN, /* warn and continue, which is possible with a prior */
    PV_COLLINEAR_REFUSE,
    PV_COLLINEAR_KEEP /* continue without a warning */
} pv_collinear;

/* Treatment of columns with the same value in all training rows. */
typedef enum pv_constant {
    PV_CONSTANT_DROP, /* they are not used as features */
    PV_CONSTANT_REFUSE
} pv_constant;

/* The strata of a design in which sampling depended on more than the label: each combination of levels in the training
 * rows is a stratum. Numbered from 0 in the order of the levels, with the last column varying fastest. */
typedef struct pv_strata {
    size_t columns;
    pv_source_column *column; /* [columns], TEXT: name and sorted levels */
    int32_t count;
    int64_t *key; /* [count], increasing: the level numbers as digits of one number */
    char **name;  /* [count], the levels joined by " / " */
} pv_strata;

/* Made by pv_schema_learn, pv_schema_new or pv_schema_copy, or part of a classifier. Fields are read-only. */
typedef struct pv_schema {
    char *target;  /* the outcome column, or the array or columns of votes; empty or NULL: none */
    bool votes;    /* target is a list of vote columns, one for each label; tables only */
    char *weights; /* column of weights; empty or NULL: none */
    char *group;   /* column of groups; empty or NULL: none. Not stored in model files */
    char **labels; /* [classes], sorted (as numbers if all are) or in the given order, the positive one last */
    int classes;
    bool positive_guessed; /* two classes: the positive label was chosen by spelling alone. Not stored in model files */
    size_t sources;
    pv_source_column *source; /* [sources], the columns that features are made from; none for images */
    int features;
    char **feature;           /* [features], names; NULL for images */
    pv_image_encoding *image; /* how views are cut out if rows are images; NULL: rows of a table */
    int missing;              /* pv_missing, as learned */
    size_t terms;
    pv_term *term;     /* [terms]; their sources follow all others */
    pv_strata *strata; /* NULL: none */
    pv_written written;
    bool offset;   /* the first source is an offset: a number added to the log odds with coefficient 1 */
    bool sampling; /* its weights are sampling weights, also in later tables */
    char *cluster; /* column of clusters, also in later tables that have labels and this column; empty or NULL: none */
} pv_schema;

/* Meaning of weights. */
typedef enum pv_weights_kind {
    PV_WEIGHTS_AUTO,    /* COUNTS if all are whole numbers, else SAMPLING */
    PV_WEIGHTS_COUNTS,  /* the row stands for that many identical rows */
    PV_WEIGHTS_SAMPLING /* the row represents that many members of the population */
} pv_weights_kind;

/* The roles of columns. NULL strings: none. Lists are comma-separated names ("a,b"; quoted as in CSV). */
typedef struct pv_roles {
    const char *target;
    const char
        *votes; /* tables, instead of a target: a column of votes for each label, in the labels' order, as "COL,..." or
                   "LABEL=COL,...". Soft labels: a row counts for each label by its share of the votes */
    const char *weights;  /* counts or weights, one number per row, >= 0 */
    const char *id;       /* copied to predictions, never a feature */
    const char *group;    /* rows with the same value stay together in folds and validation rows; never a feature */
    const char *cluster;  /* rows with the same value were sampled together: the group, and the unit of `robust` */
    int weights_are;      /* pv_weights_kind */
    const char *matched;  /* matched sets: the group, and the set that the matched loss conditions on */
    const char *strata;   /* columns that sampling depended on besides the label; categorical, and also features unless
                             excluded */
    const char *exclude;  /* never features */
    const char *features; /* only these are used as features */
    const char *categorical; /* numbers to treat as categories */
    const char
        *positive; /* two classes: the label that prevalence and rates refer to. NULL: the larger number, or the label
                      whose word means positive (case, yes, true, malignant, ...); else the last by spelling */
    const char
        *reference; /* "column=level,...": reference levels of text columns; default: the first in natural order */
    const char *prevalence;        /* "LABEL=P" also names the positive label, if positive is NULL; NULL: not used */
    int missing;                   /* pv_missing */
    int unseen;                    /* pv_unseen */
    int collinear;                 /* pv_collinear */
    int constant;                  /* pv_constant */
    const char *terms;             /* "log(a), ns(b,3), a:b": features computed from columns */
    const pv_image_options *image; /* for tables of arrays: rows are images. NULL: their columns are the features */
    const char *offset; /* a column of numbers added to the log odds of the second of two labels, or, in an ordinal
                           model, to the value compared with the thresholds; never a feature */
    const char *order;  /* "low,medium,high": all labels in order; NULL: numbers by size, texts by spelling */
    double smooth; /* for additive models: largest number of rows times columns of a table in which numeric columns also
                      get a nonlinear part and every level of a category its own column; 0: none, INFINITY: no limit.
                      Set by pv_roles_complete */
} pv_roles;

extern const pv_option pv_role_option_table[]; /* all but votes, prevalence and image; ended by a NULL name */
/* The pv_roles inside settings, borrowed; NULL if settings were made without that table. */
const pv_roles *pv_roles_of(const pv_settings *settings);
/* Fails if nothing can be learned with these roles, before any table is read. */
PV_MUST_USE pv_status pv_roles_check(pv_ctx *ctx, const pv_roles *roles);

/* A matrix with labels, weights and other data of its rows. */
typedef struct pv_dataset {
    size_t rows;
    int features;
    double *x;      /* [rows][features]; NULL for images, and if columns is set */
    int32_t *label; /* [rows]; NULL without a target. With frequencies: the label of the largest one, the first if tied,
                       used for folds */
    double
        *frequency; /* [rows][classes]: soft labels from votes, which are then the target; NULL: label is the target */
    double *weight; /* [rows]; NULL without weights */
    size_t *table_row;              /* [rows], table row of each */
    size_t dropped;                 /* number of rows dropped because of missing cells */
    size_t unseen;                  /* number of rows with a level that did not occur in training */
    size_t zero_weight;             /* number of rows left out because their weight is 0 */
    int classes;                    /* number of classes, with a target */
    int32_t *group;                 /* [rows], group numbers from 0; NULL: none */
    bool matched;                   /* the groups are matched sets */
    bool clustered;                 /* the groups are clusters */
    bool sampling;                  /* weights are sampling weights, scaled to a mean of 1 */
    int32_t *stratum;               /* [rows], stratum in the schema; -1: unknown for this row. NULL: no strata */
    pv_images *images;              /* rows are images; pv_dataset_rows cuts their views; NULL: they are not */
    bool images_borrowed;           /* images are freed by another dataset, which must live longer */
    size_t *image_row;              /* [rows], row of each in images */
    const pv_image_encoding *image; /* borrowed from the schema */
    char *source;                   /* name of the table, for messages and models; NULL: none */
    uint64_t hash; /* hash of what the model reads (content.c): features, labels, weights; for images, of the file; for
                      a piece of a table, the table's */
    size_t voteless;            /* number of rows without votes found by pv_dataset_votes, which do not count */
    struct pv_columns *columns; /* of a packed table whose matrix would exceed the context's memory limit: the columns
                                   from which pv_dataset_rows computes rows; NULL: x is set */
    size_t before;              /* number of table rows before this piece; 0 for a whole table */
    uint64_t features_hash;     /* of the features alone */
} pv_dataset;

void pv_dataset_free(pv_ctx *ctx, pv_dataset *dataset);
pv_targets pv_dataset_targets(const pv_dataset *dataset); /* the arrays are borrowed */
/* States which rows were sampled together: cluster [rows], numbered from 0. Replaces clusters or groups that it had. */
PV_MUST_USE pv_status pv_dataset_cluster(pv_ctx *ctx, pv_dataset *dataset, const int32_t *cluster);
const size_t *pv_dataset_sources(const pv_dataset *dataset); /* [rows], table row of each */

/* x [n][features] of rows begin .. begin+n-1: a pointer into the matrix, or to buffer [n][features], which is filled
 * with rows of mapped columns or the images' fixed views. buffer may be NULL for a matrix. */
const double *pv_dataset_rows(const pv_ctx *ctx, const pv_dataset *dataset, size_t begin, size_t n, double *buffer);

/* Learns a schema from a training table, and makes the dataset of the table with it. The caller frees both. Refused:
 * missing or infinite cells (with place and advice), a single class, constant and collinear columns (depending on
 * roles), text columns with more than 200 levels, negative weights. */
PV_MUST_USE pv_status pv_schema_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema **schema,
                                      pv_dataset **dataset);
/* Makes the dataset of another table with the schema, which must outlive a dataset of images. Of roles only target,
 * weights, cluster, missing and unseen are used; NULL: features only. Rows with labels have the clusters of training if
 * the table has that column. With a target (pv_schema_roles has that of training), a
 * label unknown to the schema is rejected with its place. Columns are found by name; extra columns are ignored. Labels
 * and levels match if their bytes are equal, or else as numbers ("1" and "1.0"). The caller frees *dataset. */
PV_MUST_USE pv_status pv_schema_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table,
                                      const pv_roles *roles, pv_dataset **dataset);
/* Rows to predict: features only; missing cells and unseen levels are treated as in training. */
PV_MUST_USE pv_status pv_dataset_of_table(pv_ctx *ctx, const pv_schema *schema, const pv_table *table,
                                          pv_dataset **dataset);
/* Target, weights and group of training, borrowed; missing cells as the model learned; all other fields 0. */
pv_roles pv_schema_roles(const pv_schema *schema);
/* The table columns that the features are made from, each once; 0 and NULL for images. type may be NULL. */
size_t pv_schema_columns(const pv_schema *schema);
const char *pv_schema_column(const pv_schema *schema, size_t index,
                             pv_column_type *type); /* NULL if index is out of range */
/* Reads a file for prediction or evaluation: pv_table_read with the schema and roles, then pv_schema_apply. csv: syntax
 * of the file; NULL: defaults. */
PV_MUST_USE pv_status pv_dataset_read(pv_ctx *ctx, const pv_schema *schema, const char *path, const pv_roles *roles,
                                      const pv_csv_options *csv, pv_dataset **dataset);
/* Reads rows of the population for pv_fit_options.sample: their features and, if the table has the weights column of
 * training, their weights. These are counts or sampling weights as the roles say; else as in the training data; else as
 * their values suggest. */
PV_MUST_USE pv_status pv_sample_apply(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *training,
                                      const pv_table *table, const pv_roles *roles, pv_dataset **sample);
PV_MUST_USE pv_status pv_sample_read(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *training, const char *path,
                                     const pv_roles *roles, const pv_csv_options *csv, pv_dataset **sample);

/* Makes a schema from labels [classes] and numeric features that are used unscaled. feature: their names; NULL: x1, x2,
 * ... Everything is copied; the caller frees *schema. */
PV_MUST_USE pv_status pv_schema_new(pv_ctx *ctx, const char *target, const char *const *labels, int classes,
                                    const char *const *feature, int features, pv_schema **schema);
PV_MUST_USE pv_status pv_schema_copy(pv_ctx *ctx, const pv_schema *schema, pv_schema **copy); /* freed by caller */
void pv_schema_free(pv_ctx *ctx, pv_schema *schema);                                          /* NULL is allowed */

/* ---- splits ----------------------------------------------------------------------------------------------------- */

/* Assigns folds 0 .. folds-1 to fold [data->rows], stratified by label; groups of the data are not split. The same seed
 * and repeat give the same folds. Refused: a label with fewer rows than folds (but not 0); fewer groups than folds; a
 * label whose rows all fall into one fold because of groups. schema has the labels for messages; NULL: label
 * numbers. */
PV_MUST_USE pv_status pv_folds_make(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, int64_t folds,
                                    uint64_t seed, uint64_t repeat, int32_t *fold);

/* Copies the given rows [n] to a dataset of their own. The caller frees *taken. */
PV_MUST_USE pv_status pv_dataset_take(pv_ctx *ctx, const pv_dataset *data, size_t n, const size_t *row,
                                      pv_dataset **taken);
/* Copies the schema with the means and standard deviations of these rows. A column with a single value is rejected. The
 * caller frees *scaled. */
PV_MUST_USE pv_status pv_schema_rescale(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                        pv_schema **scaled);
/* Rescales data in place from the means and standard deviations of one schema to those of another with the same
 * columns. */
void pv_dataset_rescale(const pv_schema *from, const pv_schema *to, pv_dataset *data);

/* ---- prevalences ------------------------------------------------------------------------------------------------- */

/* Parses "0.01", "0.99,0.01" in label order, or "label=p,..." in any order. Each must be in (0,1); the sum must be 1
 * within 1e-9 and is then normalised. For two classes one number is enough: without a label it is that of the positive
 * (last) one. An interval "0.005-0.02" is allowed for two classes only: it sets *low and *high (otherwise NaN) and
 * prevalence to its geometric mean. option is used in messages. */
PV_MUST_USE pv_status pv_prevalence_parse(pv_ctx *ctx, const char *option, const char *text, char *const *labels,
                                          int classes, double *prevalence, double *low, double *high);
/* The same, but an interval is rejected. */
PV_MUST_USE pv_status pv_prevalence_parse_one(pv_ctx *ctx, const char *option, const char *text, char *const *labels,
                                              int classes, double *prevalence);

/* Which of labels [2] is the positive one if it is not stated: the larger number, or the label whose word means
 * positive (case, yes, true, malignant, ...); -1 if neither decides, and the last by spelling is used. */
int pv_labels_positive(const char *const *labels);

/* Labels of n rows (row[i] of the table; row NULL: i), -1 for missing cells. A label that is not in labels [classes] is
 * rejected with its place. option is used in messages. */
PV_MUST_USE pv_status pv_table_labels(pv_ctx *ctx, const pv_table *table, const char *option, const char *column,
                                      char *const *labels, int classes, size_t n, const size_t *row, int32_t *label);

/* ---- embedded and simulated data -----------------------------------------------------------------------------------
 * builtin:contingency  the paper's table: x, y, count (4 rows) builtin:esoph        Ille-et-Vilaine case-control study
 * of oesophageal cancer: age, alcohol, tobacco (text groups),
 *                      cancer (0/1), count; 975 people: 200 cases and 775 controls
 * builtin:infert       matched sets of secondary infertility, one case and two controls each: education (text), age,
 *                      parity, induced, spontaneous, case (0/1), stratum; 248 women in 83 sets
 */
PV_MUST_USE pv_status pv_table_builtin(pv_ctx *ctx, const char *name, pv_table **table);

typedef struct pv_simulation {
    int64_t rows;  /* sample size of a random sample of the population; ignored if cases or controls are given */
    int64_t cases; /* >= 0, with controls: draw a case-control sample of that population; -1: do not */
    int64_t controls;
    double prevalence;  /* of the population */
    int64_t dimensions; /* gaussian: number of features */
    double strength;    /* nodules: factor of the log odds ratios; 0: 1, the published values */
    double separation;  /* gaussian: distance of the class means, in standard deviations */
    int64_t size;       /* ct-nodules: side of a patch in voxels of 1 mm */
    double absent;      /* ct-nodules: probability that a reader gave no vote */
    uint64_t seed;
    const char *within; /* a feature: rows with its value outside [low, high] are never observed (selection by feature);
                           NULL: none */
    double low, high;   /* bounds for `within` */
    int within_label;   /* -1: selection applies to all rows; 0 or 1: to rows of this label only (selection by both) */
} pv_simulation;

/* kind "nodules": age, sex, smoking, emphysema, lobe, diameter, solidity (numbers, binary ones as 0/1, named age,
 * female, smoker, emphysema, upper_lobe, diameter, part_solid) and malignant 0/1. A logistic model with log odds ratios
 * of published size and an intercept that gives exactly the population prevalence. kind "gaussian": x1..xd and y 0/1,
 * normal with unit covariance, hence logistic. Selection: cases and controls fix the label counts (by label); `within`
 * leaves out rows by a feature, of all rows or of one label, in either case. The population, its prevalence and truth
 * are those before selection. truth, unless NULL, gets [features+1] coefficients on the raw scale, the intercept
 * first. */
PV_MUST_USE pv_status pv_simulate(pv_ctx *ctx, const char *kind, const pv_simulation *simulation, pv_table **table,
                                  double *truth);

/* Samples from other designs. The population has strata (column site: s1, s2, ...) that differ in prevalence, share and
 * the mean of x1; the log odds are the stratum's intercept plus 0.8 x1 - 0.5 x2. */
typedef struct pv_design_simulation {
    int64_t rows;      /* all kinds but matched: sample size; cohort: maximum; survey: approximate */
    int64_t strata;    /* all kinds but matched: number of strata */
    bool uneven;       /* sites, cohort: a quarter to three quarters of a stratum's rows are cases; else half */
    double prevalence; /* of the population; 1e-4 to 0.5 */
    int64_t cohort;    /* cohort: number of people */
    double subcohort;  /* cohort: the sample is all cases and this share of the others; 0: equal numbers from each
                          stratum and label, as rows allow */
    int64_t sets;      /* matched: number of sets */
    int64_t per_case;  /* matched: controls per set */
    uint64_t seed;
} pv_design_simulation;
/* kind "sites": rows sampled by stratum and label; x1, x2, site, y. "cohort": the second phase of a cohort; the same
 * columns. "matched": sets of a case and its controls; set, x1, x2, y. "survey": clusters in strata, with sampling
 * weights; x1, x2, site, cluster, weight, y. *known (known may be NULL): for sites the prevalence and share of each,
 * for cohort its counts by stratum and label, in the formats of prevalence_by and phase_one; NULL for others. truth,
 * unless NULL, gets the strata's intercepts [strata] (matched: none) and the two slopes. The caller frees both
 * tables. */
PV_MUST_USE pv_status pv_simulate_design(pv_ctx *ctx, const char *kind, const pv_design_simulation *simulation,
                                         pv_table **table, pv_table **known, double *truth);

enum { PV_CT_COEFFICIENTS = 7 };
const char *pv_ct_coefficient(int index); /* its name, the intercept first; NULL if out of range */

/* CT patches of lung nodules (formulas in docs/method.md), as arrays: images [N][size][size][size] in Hounsfield units,
 * labels [N] (1: malignant), votes [N][4] of 1 to 5 (0: absent), group [N] (patients), spacing [N][3]; probability [N],
 * p(malignant | features) in the population; grade_probability [N][5], the expected frequencies of votes; and the
 * features diameter, density (0 solid, 1 part-solid, 2 ground glass), margin, spiculation, lobulation. Selection is by
 * label (cases and controls, in random order). The caller frees *archive; pv_table_of makes a table of it. truth,
 * unless NULL, gets [PV_CT_COEFFICIENTS]. */
PV_MUST_USE pv_status pv_simulate_ct(pv_ctx *ctx, const pv_simulation *simulation, pv_archive **archive, double *truth);
/* Writes the same as an NPZ file, with the bytes that pv_archive_write would write, using little memory at any size. */
PV_MUST_USE pv_status pv_simulate_ct_write(pv_ctx *ctx, const pv_simulation *simulation, const char *path,
                                           double *truth);

#ifdef __cplusplus
}
#endif
#endif
