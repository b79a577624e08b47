/* prevail/data.h: tables, CSV files, the schema that makes a matrix of a table, embedded data, simulators. */
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
bool pv_column_type_find(const char *name, pv_column_type *type);

typedef struct pv_column {
    char *name;
    pv_column_type type;
    double *number; /* [rows] of a NUMBER column; NaN where missing */
    int32_t *code;  /* [rows] of a TEXT column: index into level; -1 where missing. Of a NUMBER column: the same for
                       the texts of its cells, where they are not the shortest form of the number; else NULL */
    char **level;   /* [levels], in order of first appearance */
    int32_t levels;
    int32_t *rank;       /* [levels]: their places in the order in which they were given; NULL: in none */
    bool borrowed;       /* number is not the table's */
    bool respelled;      /* of numbers: their source wrote them in other forms, which were not kept */
    const float *single; /* [rows]: the numbers, where number is NULL: of a packed table in single precision that would
                            not fit the memory the context is allowed. pv_table_number has either */
} pv_column;

/* How a file was said to be written, where that was not as usual. A schema keeps it: later tables are read alike,
 * unless their reader says otherwise. */
typedef struct pv_written {
    char *separator, *decimal, *na; /* as in pv_csv_options; NULL: as usual */
    char *names, *quote;            /* the same */
    bool no_header;
} pv_written;

typedef struct pv_table {
    char *source; /* file name, or what made the table */
    size_t rows;
    size_t columns;
    pv_column *column;   /* [columns] */
    size_t *line;        /* [rows], the line each row starts at; NULL where that is row + 2. Read with pv_table_line */
    uint64_t hash;       /* XXH3-64 of the bytes read; of names and cells where nothing was read */
    bool arrays;         /* of a file of arrays: a row's line is its number from 1 */
    bool images;         /* rows have images there */
    pv_archive *archive; /* the arrays it was made of, kept open for the images; NULL: there are none */
    pv_written written;
    struct pv_packed *packed; /* the mapped file of a packed table; NULL: it is in memory */
    size_t before;            /* rows of the source before its first: it is a piece (pv_pieces_next) */
    bool piece;               /* the source has more rows than these */
    bool borrowed;            /* columns and lines are another table's */
    bool *told;               /* of a piece: an earlier one told of levels that training did not have */
} pv_table;

void pv_table_free(pv_ctx *ctx, pv_table *table); /* NULL is fine */

/* Its parts by function, for those that must not know the layout. Borrowed; NULL, or 0, outside. */
size_t pv_table_rows(const pv_table *table);
size_t pv_table_columns(const pv_table *table);
uint64_t pv_table_hash(const pv_table *table);
const char *pv_table_source(const pv_table *table);
const char *pv_table_name(const pv_table *table, size_t column, pv_column_type *type); /* type may be NULL */
double pv_table_number(const pv_table *table, size_t column, size_t row);              /* NaN: missing, or text */
const char *pv_table_text(const pv_table *table, size_t column, size_t row);           /* NULL: missing, or a number */

/* The given rows [n], each known by its line, as a table of its own; texts keep their levels. Not of images. The caller
 * frees *taken. */
PV_MUST_USE pv_status pv_table_take(pv_ctx *ctx, const pv_table *table, size_t n, const size_t *row, pv_table **taken);

/* Writes the table as a file of columns, which pv_table_read maps instead of reading it: what is learned from it has
 * the same bytes. single: numbers are rounded to single precision. Not of images. */
PV_MUST_USE pv_status pv_table_pack(pv_ctx *ctx, const pv_table *table, const char *path, bool single);

/* Whether the context's memory (pv_ctx_set_memory) has room for a matrix of the table beside the table itself. True of
 * one that is packed, which needs none; of images; and where memory is not limited. */
bool pv_table_fits(const pv_ctx *ctx, const pv_table *table);
/* The same into a file of that folder that has no name, and is gone with the table: *table is then read from there. */
PV_MUST_USE pv_status pv_table_put_away(pv_ctx *ctx, const char *folder, pv_table **table);

/* The line that a row (from 0) starts at, from 1; of a table that was not read from a file, as if written as CSV. */
size_t pv_table_line(const pv_table *table, size_t row);

/* The column's index. On failure the message has the nearest name. option is what asked for it, as messages are
 * to call it: "`outcome`". */
PV_MUST_USE pv_status pv_table_find(pv_ctx *ctx, const pv_table *table, const char *option, const char *name,
                                    size_t *column);

/* ---- tables of what is in memory -----------------------------------------------------------------------------------
 * A table without columns, to which they are added. It is used as one that was read from a CSV file of the same content
 * would be: codes of texts in order of first appearance, and the texts that mean missing there mean it here. What is
 * given is copied, unless a function says otherwise; a failure leaves the table as it was. source names the table in
 * messages and models. name: NULL for x and the column's number. Names are taken once, and not empty.
 * missing [rows] (NULL: none): nonzero where the cell is missing, whatever it holds. Strides are in bytes.
 */
PV_MUST_USE pv_status pv_table_new(pv_ctx *ctx, const char *source, size_t rows,
                                   pv_table **table); /* freed by caller */

/* A stride is the number of bytes from one cell to the next. It may be negative, or 0, which repeats the one cell for
 * every row; cells need not be aligned. PV_PACKED: each cell directly follows the one before. */
#define PV_PACKED PTRDIFF_MIN

/* Numbers of a type from PV_ARRAY_BOOL to _F64; NaN is missing. borrow: contiguous aligned doubles without a mask are
 * used in place and must outlive the table; everything else is copied. */
PV_MUST_USE pv_status pv_table_add_numbers(pv_ctx *ctx, pv_table *table, const char *name, pv_array_type type,
                                           const void *cells, ptrdiff_t stride, const uint8_t *missing, bool borrow);
/* The columns of a matrix [rows][columns]. names [columns], or NULL. Both strides PV_PACKED: row after row (C order).
 * row_stride the size of an element and column_stride PV_PACKED: column after column (the order of Fortran and R).
 * borrow: as above, where the cells of a column are contiguous. */
PV_MUST_USE pv_status pv_table_add_matrix(pv_ctx *ctx, pv_table *table, const char *const *names, size_t columns,
                                          pv_array_type type, const void *cells, ptrdiff_t row_stride,
                                          ptrdiff_t column_stride, bool borrow);
/* Texts [rows]; NULL is missing. They stay texts, also where all are numbers. */
PV_MUST_USE pv_status pv_table_add_texts(pv_ctx *ctx, pv_table *table, const char *name, const char *const *cells,
                                         const uint8_t *missing);
/* Texts as codes of any type of numbers: first is that of levels[0] (0, or 1 in R), what is below it or NaN is missing,
 * what has no level is rejected. Levels may be NULL (missing), be equal, and have no row. A feature keeps their order:
 * the first one that has rows is its reference. */
PV_MUST_USE pv_status pv_table_add_codes(pv_ctx *ctx, pv_table *table, const char *name, pv_array_type type,
                                         const void *codes, ptrdiff_t stride, int64_t first, const char *const *levels,
                                         size_t n_levels, const uint8_t *missing);

/* ---- CSV -----------------------------------------------------------------------------------------------------------
 * RFC 4180 and what real files do: a header row; quoted fields with "" inside, commas and line breaks; CRLF or LF; a
 * UTF-8 byte-order mark; blank lines skipped; spaces around unquoted fields dropped. Missing: empty, NA, NaN, nan,
 * null, NULL, '.', N/A, n/a, #N/A, <NA> and '?' (which is logged), unless na says otherwise. Compressed by gzip or
 * zstd: unpacked as it is read. A column is of numbers when all its fields that are not missing are; of text when none
 * is. A mixture is an error at the first field that does not fit, unless the column is named in text. A column of
 * missing fields only counts as numbers, unless named in text. One of dates becomes days since 1970-01-01. inf and
 * infinity are numbers; pv_schema_learn and _apply refuse them.
 */
typedef struct pv_csv_options {
    const struct pv_roles *roles;   /* the table is read as these need it: what they name as text. NULL: none */
    const struct pv_schema *schema; /* the table is for pv_schema_apply with it and roles: other columns are read over,
                                       but for those in keep. NULL: it is to be learned from */
    const char *separator; /* one character, "tab" or "auto" (as NULL): comma, or the one of tab, semicolon and bar
                              that the header has where it has no comma; the schema's where it has that */
    const char *decimal;   /* ".", ",", or "auto" (as NULL): the schema's, else "." */
    const char *na;        /* texts that mean missing beside the empty one, "a,b"; "auto" (as NULL): the schema's, else
                              the usual ones */
    bool no_header;        /* the first row is data; columns are x1, x2, ...; so it is where the schema's was, and the
                              first row does not name its columns */
    const char *names;     /* "a,b,c": the names of the columns of a file without a header; NULL: the schema's, else x1,
                              x2, ... */
    const char *quote;     /* "double", "single", "none", or "auto" (as NULL): the schema's, else double */
    const char *const *text; /* columns to read as text whatever they hold */
    size_t n_text;
    const char *const *keep; /* NULL: every column. Else the others are read over: text columns, all missing */
    size_t n_keep;
    const char *number_prefix; /* not NULL: columns whose name does not begin with it, and is not in number, are text */
    const char *const *number;
    size_t n_number;
    bool spelling; /* columns of numbers keep the texts of their cells where they are not the shortest form (00012) */
} pv_csv_options;

extern const pv_option
    pv_csv_option_table[]; /* separator, decimal, no_header, names, quote and na; ends with a NULL name */
/* Those of settings that have that table, borrowed from them; NULL: they have not. */
const pv_csv_options *pv_csv_options_of(const pv_settings *settings);

/* Reads path ("-": standard input; "builtin:NAME": embedded data; Parquet files, queries and databases as
 * docs/formats.md has them; NPZ, NPY and IDX files by their first bytes: arrays
 * [N] are columns, arrays [N][m] columns NAME.1 .. NAME.m, N the length of the images). options may be NULL. The caller
 * frees *table. */
PV_MUST_USE pv_status pv_table_read(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_table **table);

/* What reads such sources on this machine: DuckDB, SQLite and libpq, each loaded to be asked for its version, which is
 * empty where it is not here. Writes at most room entries and returns how many there are. */
size_t pv_engines(pv_library *list, size_t room);

/* A file that has DuckDB's library in it, the Python package duckdb's, say, for where PREVAIL_DUCKDB names none and
 * none is installed. NULL: there is none. Copied. To be called between the library's calls. */
PV_MUST_USE pv_status pv_ctx_set_duckdb(pv_ctx *ctx, const char *path);

/* The same in pieces, for what is done row by row with more rows than memory holds. Parquet files, queries and
 * databases are read as pieces are asked for; a packed table is mapped, and other files are read whole, and handed out
 * in parts. */
typedef struct pv_pieces pv_pieces;
PV_MUST_USE pv_status pv_pieces_open(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_pieces **pieces);
/* About so many rows, or all of images; NULL behind the last. The caller frees *table, before the pieces. */
PV_MUST_USE pv_status pv_pieces_next(pv_ctx *ctx, pv_pieces *pieces, size_t rows, pv_table **table);
void pv_pieces_free(pv_ctx *ctx, pv_pieces *pieces); /* NULL is fine */

/* The same of an open archive, or of one in memory. Its caller, the table and the images learned of it each free it;
 * the last of them closes it. */
PV_MUST_USE pv_status pv_table_of(pv_ctx *ctx, pv_archive *archive, const pv_csv_options *options, pv_table **table);

/* Writes numbers so that they read back exactly (the shortest such form). output: from pv_output_open, or NULL for
 * standard output. */
PV_MUST_USE pv_status pv_table_write(pv_ctx *ctx, const pv_table *table, pv_output *output);

/* Parquet files, by DuckDB's library where it is installed. check: whether it is; ask before any work. write: the rows
 * of all pieces as one file, which is there when all of it is. next hands out the pieces, NULL behind the last; each
 * has the first one's columns, and is let go when the next is asked for. A status other than PV_OK of it is handed on.
 */
typedef pv_status (*pv_pieces_source)(void *state, const pv_table **piece);
bool pv_output_is_parquet(const char *path);
PV_MUST_USE pv_status pv_parquet_check(pv_ctx *ctx, const char *path);
PV_MUST_USE pv_status pv_parquet_write(pv_ctx *ctx, const char *path, pv_pieces_source next, void *state);
/* The table as a file: CSV, or Parquet by its name. path: NULL for standard output. */
PV_MUST_USE pv_status pv_table_save(pv_ctx *ctx, const pv_table *table, const char *path);

/* ---- schemas -------------------------------------------------------------------------------------------------------
 * What the columns of a table mean: which one is the target and which are its labels, which are features and how they
 * become numbers. Number columns are standardised (mean 0, sd 1, weighted by row weights); text columns become
 * indicator columns, named COLUMN=LEVEL, against a reference level (the first in natural order that does not say that
 * it is missing) and are not standardised. Learned once from a table, kept in the model, applied as it stands to any
 * other table.
 */
typedef struct pv_source_column {
    char *name;
    pv_column_type type;
    double mean, sd; /* NUMBER */
    char **level;    /* TEXT: [levels], sorted; level[0] is the reference */
    int32_t levels;
    double *rows; /* TEXT: [levels], rows of the training table with each, by weight; NULL: not known */
    bool missing; /* it has one more feature, NAME (missing): whether the cell is */
    double auc;   /* how well it alone tells two labels apart, where that is hardly believable; else 0 */
} pv_source_column;

/* How many features it takes. The first source's come first, then the next one's. */
size_t pv_source_width(const pv_source_column *source);

/* A feature that is made of columns, or several: log(a), sqrt(a), a natural spline ns(a,DF), orthogonal polynomials
 * poly(a,DEGREE), and products a:b. Splines and polynomials are R's, and what they learned of the training rows is
 * kept: later tables get the same functions. */
typedef enum pv_term_kind {
    PV_TERM_PLAIN, /* the column as it is; in a list of terms only */
    PV_TERM_LOG,
    PV_TERM_SQRT,
    PV_TERM_NS,
    PV_TERM_POLY,
    PV_TERM_PRODUCT
} pv_term_kind;
#define PV_TERM_KIND_LIST(X)                                                                                           \
    X(PLAIN, "plain")                                                                                                  \
    X(LOG, "log")                                                                                                      \
    X(SQRT, "sqrt")                                                                                                    \
    X(NS, "ns")                                                                                                        \
    X(POLY, "poly")                                                                                                    \
    X(PRODUCT, "product")
const char *pv_term_kind_name(pv_term_kind kind);
bool pv_term_kind_find(const char *name, pv_term_kind *kind);

typedef struct pv_term {
    pv_term_kind kind;
    char *column[2];   /* what it is made of; the second of PRODUCT alone */
    int degree;        /* NS: degrees of freedom; POLY: degree */
    size_t parameters; /* learned numbers */
    double *parameter; /* NS: the knots, from the least to the largest value of training. POLY: centre, scale, then
                          R's alpha [degree] and norm2 [degree + 1], of (x - centre) / scale */
    size_t features;   /* that it makes */
    int32_t *cell;     /* PRODUCT: [features][2], the levels of text columns, 0 of numbers */
} pv_term;

/* What is done about missing cells of features. A label or weight that is missing drops the row, or is refused. */
typedef enum pv_missing {
    PV_MISSING_REFUSE,
    PV_MISSING_DROP,      /* the row */
    PV_MISSING_INDICATOR, /* as impute, with a feature that says so where the training table lacked cells */
    PV_MISSING_IMPUTE,    /* the mean, or the most frequent level, of the training table */
    PV_MISSING_MODEL      /* applying a schema: as it learned, where that is one of the two above; else refuse */
} pv_missing;
#define PV_MISSING_LIST(X)                                                                                             \
    X(REFUSE, "refuse")                                                                                                \
    X(DROP, "drop")                                                                                                    \
    X(INDICATOR, "indicator")                                                                                          \
    X(IMPUTE, "impute")                                                                                                \
    X(MODEL, "model")
const char *pv_missing_name(pv_missing rule);
bool pv_missing_find(const char *name, pv_missing *rule);

/* What is done, applying a schema, about a level that its training table did not have. */
typedef enum pv_unseen {
    PV_UNSEEN_OTHER,     /* the mean of the levels that were rare in training; where there are none, as missing */
    PV_UNSEEN_MISSING,   /* as a missing cell: its indicator, or the most frequent level */
    PV_UNSEEN_REFERENCE, /* the reference level */
    PV_UNSEEN_REFUSE
} pv_unseen;
#define PV_UNSEEN_LIST(X)                                                                                              \
    X(OTHER, "other")                                                                                                  \
    X(MISSING, "missing")                                                                                              \
    X(REFERENCE, "reference")                                                                                          \
    X(REFUSE, "refuse")
const char *pv_unseen_name(pv_unseen rule);
bool pv_unseen_find(const char *name, pv_unseen *rule);

typedef enum pv_collinear {
    PV_COLLINEAR_WARN, /* and go on, as a fit with a prior can */
    PV_COLLINEAR_REFUSE,
    PV_COLLINEAR_KEEP /* without a word */
} pv_collinear;
#define PV_COLLINEAR_LIST(X)                                                                                           \
    X(WARN, "warn")                                                                                                    \
    X(REFUSE, "refuse")                                                                                                \
    X(KEEP, "keep")
const char *pv_collinear_name(pv_collinear rule);
bool pv_collinear_find(const char *name, pv_collinear *rule);

/* Columns that hold one value in all rows that are learned from. */
typedef enum pv_constant {
    PV_CONSTANT_REFUSE,
    PV_CONSTANT_DROP /* they are no features */
} pv_constant;
#define PV_CONSTANT_LIST(X)                                                                                            \
    X(REFUSE, "refuse")                                                                                                \
    X(DROP, "drop")
const char *pv_constant_name(pv_constant rule);
bool pv_constant_find(const char *name, pv_constant *rule);

/* What rows were sampled by beside their labels: each combination of levels that the training rows have is a stratum.
 * Numbered from 0 in the order of the levels, the last column's going fastest. */
typedef struct pv_strata {
    size_t columns;
    pv_source_column *column; /* [columns], TEXT: name, and levels sorted */
    int32_t count;
    int64_t *key; /* [count], increasing: the levels' numbers as the digits of one */
    char **name;  /* [count], the levels, joined by " / " */
} pv_strata;

/* Made by pv_schema_learn, pv_schema_new or pv_schema_copy, or part of a classifier; read the fields. */
typedef struct pv_schema {
    char *target;  /* the column that is learned, or the array or columns of votes; empty or NULL: none */
    bool votes;    /* of a table: target is a list of columns of votes, one for each label */
    char *weights; /* column of weights; empty or NULL: none */
    char *group;   /* column of groups; empty or NULL: none. Not kept in model files */
    char **labels; /* [classes], sorted (as numbers where all are) or as they were ordered, the positive one last */
    int classes;
    bool positive_guessed; /* two classes: spelling alone decided which one is last. Not kept in model files */
    size_t sources;
    pv_source_column *source; /* [sources], the columns that features are made of; none for images */
    int features;
    char **feature;           /* [features], names; NULL for images */
    pv_image_encoding *image; /* rows are images, and how views are cut out of them; NULL: columns of a table */
    int missing;              /* pv_missing, as it was learned */
    size_t terms;
    pv_term *term;     /* [terms]; what they make are the last of the sources */
    pv_strata *strata; /* NULL: none */
    pv_written written;
    bool offset;   /* the first source is one: a number that is added to the log odds as it stands, without a slope */
    bool sampling; /* its weights are sampling weights, in later tables too */
} pv_schema;

/* What a weight says of its row. */
typedef enum pv_weights_kind {
    PV_WEIGHTS_AUTO,    /* counts where all are whole numbers, else sampling */
    PV_WEIGHTS_COUNTS,  /* so many rows are alike */
    PV_WEIGHTS_SAMPLING /* one row stands for so many of the population */
} pv_weights_kind;
#define PV_WEIGHTS_KIND_LIST(X)                                                                                        \
    X(AUTO, "auto")                                                                                                    \
    X(COUNTS, "counts")                                                                                                \
    X(SAMPLING, "sampling")
const char *pv_weights_kind_name(pv_weights_kind kind);
bool pv_weights_kind_find(const char *name, pv_weights_kind *kind);

/* Which columns play which part. NULL strings: none. Lists are comma-separated names ("a,b"; quote as in CSV). */
typedef struct pv_roles {
    const char *target;
    const char *votes;    /* tables, in the place of a target: a column of votes for each label, in the labels' order;
                             "COL,..." or "LABEL=COL,...". Soft labels: a row counts as its share of each */
    const char *weights;  /* counts or weights, one number a row, >= 0 */
    const char *id;       /* copied to predictions, never a feature */
    const char *group;    /* rows with one value here stay together in folds and validation rows; never a feature */
    const char *cluster;  /* rows with one value here were sampled together: the group, and the unit of `robust` */
    int weights_are;      /* pv_weights_kind */
    const char *matched;  /* matched sets: the group, and what is conditioned on (the loss is then matched) */
    const char *strata;   /* columns that rows were sampled by, beside their labels; categories, and features as well
                             unless they are excluded */
    const char *exclude;  /* never features */
    const char *features; /* only these are features */
    const char *categorical; /* numbers to treat as categories */
    const char *positive;    /* two classes: the label that prevalence and rates speak of. NULL: the larger number, or
                                the one that says so (case, yes, true, malignant, ...); else the last by spelling */
    const char
        *reference; /* "column=level,...": reference levels of text columns; default the first in natural order */
    const char *prevalence; /* "LABEL=P" names the positive label as well, where positive is NULL; NULL: nothing */
    int missing;            /* pv_missing */
    int unseen;             /* pv_unseen */
    int collinear;          /* pv_collinear */
    int constant;           /* pv_constant */
    const char *terms;      /* "log(a), ns(b,3), a:b": features made of columns */
    const pv_image_options *image; /* for tables of arrays: rows are images. NULL: their columns are the features */
    const char *offset; /* a column of numbers that are added to the log odds of the second of two labels, or to what
                           the thresholds of an ordinal model are compared with; never a feature */
    const char *order;  /* "low,medium,high": all labels, in their order; NULL: numbers by size, texts by spelling */
} pv_roles;

extern const pv_option pv_role_option_table[]; /* all but votes, prevalence and image; ends with a NULL name */
/* The roles of settings that have that table, borrowed from them; NULL: they have not. */
const pv_roles *pv_roles_of(const pv_settings *settings);
/* Why nothing can be learned by these roles, before any table is read. */
PV_MUST_USE pv_status pv_roles_check(pv_ctx *ctx, const pv_roles *roles);

/* A matrix with what belongs to its rows. */
typedef struct pv_dataset {
    size_t rows;
    int features;
    double *x;            /* [rows][features]; NULL for images, and with columns */
    int32_t *label;       /* [rows]; NULL without a target. With frequencies: the label of the largest, the first of
                             equals; folds go by it */
    double *frequency;    /* [rows][classes]: votes as soft labels, the target then; NULL: label is */
    double *weight;       /* [rows]; NULL without weights */
    size_t *table_row;    /* [rows], the row of the table each came from */
    size_t dropped;       /* rows dropped for missing cells */
    size_t unseen;        /* rows with a level that training did not have */
    size_t zero_weight;   /* rows left out because their weight is 0 */
    int classes;          /* with a target */
    int32_t *group;       /* [rows], numbers of groups from 0; NULL: none */
    bool matched;         /* the groups are matched sets */
    bool clustered;       /* the groups are clusters */
    bool sampling;        /* weights are sampling weights, scaled to a mean of 1 */
    int32_t *stratum;     /* [rows], of the schema's strata; -1: the row does not say. NULL: there are none */
    pv_images *images;    /* rows are images; pv_dataset_rows cuts their views */
    bool images_borrowed; /* another dataset, which must live longer, frees them */
    size_t *image_row;    /* [rows], the row of images */
    const pv_image_encoding *image; /* borrowed from the schema */
    char *source;                   /* name of the table, for messages and models; NULL: none */
    uint64_t hash;                  /* of what the model reads (content.c): features, labels, weights; of images, of
                                       the file. Of a piece of a table, the table's */
    size_t voteless;            /* of rows, those that pv_dataset_votes found without votes: they count for nothing */
    struct pv_columns *columns; /* of a packed table: what pv_dataset_rows makes rows of, where their matrix would not
                                   fit the memory the context is allowed; NULL: there is x */
    size_t before;              /* rows of the table before this piece of it; 0 where it is whole */
    uint64_t features_hash;     /* of the features alone */
} pv_dataset;

void pv_dataset_free(pv_ctx *ctx, pv_dataset *dataset);
pv_targets pv_dataset_targets(const pv_dataset *dataset); /* borrows */
/* Its parts by function, as above. */
size_t pv_dataset_count(const pv_dataset *dataset); /* rows */
int pv_dataset_features(const pv_dataset *dataset);
int pv_dataset_classes(const pv_dataset *dataset);
size_t pv_dataset_dropped(const pv_dataset *dataset);
const int32_t *pv_dataset_labels(const pv_dataset *dataset); /* [rows]; NULL without a target */
const size_t *pv_dataset_sources(const pv_dataset *dataset); /* [rows], the row of the table each came from */

/* x [n][features] of rows begin .. begin+n-1: a pointer into the matrix, or, made in buffer [n][features], rows of
 * mapped columns or the images' fixed views (NULL is fine for a matrix). */
const double *pv_dataset_rows(const pv_ctx *ctx, const pv_dataset *dataset, size_t begin, size_t n, double *buffer);

/* Learns a schema from a training table, and the data set that the table is by it. The caller frees both. Refuses:
 * missing or infinite cells (place, advice), one class only, constant and collinear columns (by roles), text columns
 * with more than 200 levels, negative weights. */
PV_MUST_USE pv_status pv_schema_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema **schema,
                                      pv_dataset **dataset);
/* Another table by the schema, which must outlive the data set of images. Of roles target, weights, missing and unseen
 * are read (NULL: the features alone are wanted). With a target, which pv_schema_roles names as in training, a label
 * that the schema does not know is refused with its place. Columns are found by name; extra ones are ignored. Labels
 * and levels match by bytes, else as numbers ("1" and "1.0"). The caller frees *dataset. */
PV_MUST_USE pv_status pv_schema_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table,
                                      const pv_roles *roles, pv_dataset **dataset);
/* Rows to be predicted: the features alone, missing cells and unseen levels as the schema learned to treat them. */
PV_MUST_USE pv_status pv_dataset_of_table(pv_ctx *ctx, const pv_schema *schema, const pv_table *table,
                                          pv_dataset **dataset);
/* Target, weights and group as in training, borrowed; missing cells as the model learned; all else as 0. */
pv_roles pv_schema_roles(const pv_schema *schema);
/* The columns of a table that its features are made of, each once; 0 and NULL for images. type may be NULL. */
size_t pv_schema_columns(const pv_schema *schema);
const char *pv_schema_column(const pv_schema *schema, size_t index, pv_column_type *type); /* NULL outside */
/* A file to be predicted or judged in one call: pv_table_read as the schema and roles need it, then pv_schema_apply.
 * csv: how the file is written; NULL: as usual. */
PV_MUST_USE pv_status pv_dataset_read(pv_ctx *ctx, const pv_schema *schema, const char *path, const pv_roles *roles,
                                      const pv_csv_options *csv, pv_dataset **dataset);
/* Rows of the population for pv_fit_options' sample: their features and, where the table has the column that the roles
 * of training name, their weights. These are counts or sampling weights as the roles say, or else as those of the
 * training data, or as they look. */
PV_MUST_USE pv_status pv_sample_apply(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *training,
                                      const pv_table *table, const pv_roles *roles, pv_dataset **sample);
PV_MUST_USE pv_status pv_sample_read(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *training, const char *path,
                                     const pv_roles *roles, const pv_csv_options *csv, pv_dataset **sample);

/* By hand: labels [classes], and features that are columns of numbers taken as they are. feature: their names, NULL for
 * x1, x2, ... All is copied; the caller frees *schema. */
PV_MUST_USE pv_status pv_schema_new(pv_ctx *ctx, const char *target, const char *const *labels, int classes,
                                    const char *const *feature, int features, pv_schema **schema);
PV_MUST_USE pv_status pv_schema_copy(pv_ctx *ctx, const pv_schema *schema, pv_schema **copy); /* freed by caller */
void pv_schema_free(pv_ctx *ctx, pv_schema *schema);                                          /* NULL is fine */

/* ---- splits ----------------------------------------------------------------------------------------------------- */

/* fold [data->rows] receives 0 .. folds-1, stratified by label; no fold splits a group of the data. The same seed and
 * repeat give the same folds. Refused: a label with rows, but fewer than folds; fewer groups than folds; a label that
 * groups hold together in one fold. schema has the labels for messages; NULL: by number. */
PV_MUST_USE pv_status pv_folds_make(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, int64_t folds,
                                    uint64_t seed, uint64_t repeat, int32_t *fold);

/* The given rows [n] as a dataset of their own. The caller frees *taken. */
PV_MUST_USE pv_status pv_dataset_take(pv_ctx *ctx, const pv_dataset *data, size_t n, const size_t *row,
                                      pv_dataset **taken);
/* The schema with the means and sds that these rows have. A column with one value only is refused. The caller frees
 * *scaled. */
PV_MUST_USE pv_status pv_schema_rescale(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                                        pv_schema **scaled);
/* From the means and sds of one schema to those of another of the same columns, in place. */
void pv_dataset_rescale(const pv_schema *from, const pv_schema *to, pv_dataset *data);

/* ---- prevalences ------------------------------------------------------------------------------------------------- */

/* "0.01", "0.99,0.01" in label order, or "label=p,..." in any; each in (0,1), the sum 1 to 1e-9 (then normalised). For
 * two classes one is enough: a number alone is for the positive (last) one. An interval "0.005-0.02" is two-class only:
 * *low and *high are then set (else to NaN) and prevalence to its geometric middle. option is for messages. */
PV_MUST_USE pv_status pv_prevalence_parse(pv_ctx *ctx, const char *option, const char *text, char *const *labels,
                                          int classes, double *prevalence, double *low, double *high);
/* The same where an interval makes no sense, and is refused. */
PV_MUST_USE pv_status pv_prevalence_parse_one(pv_ctx *ctx, const char *option, const char *text, char *const *labels,
                                              int classes, double *prevalence);

/* Which of labels [2] is the positive one where nobody says: the larger number, or the one that says so itself (case,
 * yes, true, malignant, ...); -1 where there is no telling, and the last by spelling counts. */
int pv_labels_positive(const char *const *labels);

/* The labels of rows (n of them; row[i] of the table, NULL: i), -1 where the cell is missing. A label
 * that is none of labels [classes] is rejected with its place. option is for messages. */
PV_MUST_USE pv_status pv_table_labels(pv_ctx *ctx, const pv_table *table, const char *option, const char *column,
                                      char *const *labels, int classes, size_t n, const size_t *row, int32_t *label);

/* ---- embedded and simulated data -----------------------------------------------------------------------------------
 * builtin:contingency  the paper's table: x, y, count (4 rows)
 * builtin:esoph        Ille-et-Vilaine case-control study of oesophageal cancer: age, alcohol, tobacco (text groups),
 *                      cancer (0/1), count; 975 people in 200 cases and 775 controls
 * builtin:infert       matched sets of secondary infertility, a case and two controls each: education (text), age,
 * parity, induced, spontaneous, case (0/1), stratum; 248 women in 83 sets
 */
PV_MUST_USE pv_status pv_table_builtin(pv_ctx *ctx, const char *name, pv_table **table);

typedef struct pv_simulation {
    int64_t rows;  /* of a population draw; ignored where cases or controls are given */
    int64_t cases; /* >= 0 with controls: a case-control sample of that population; -1: not */
    int64_t controls;
    double prevalence;  /* of the population */
    int64_t dimensions; /* gaussian: features */
    double strength;    /* nodules: what log odds ratios are multiplied by; 0: 1, those that were published */
    double separation;  /* gaussian: distance of the class means, in standard deviations */
    int64_t size;       /* ct-nodules: side of a patch in voxels of 1 mm */
    double absent;      /* ct-nodules: probability that a reader gave no vote */
    uint64_t seed;
    const char *within; /* a feature: rows outside [low, high] are never observed (selection by feature); NULL: none */
    double low, high;   /* of within */
    int within_label;   /* -1: of all rows, 0 or 1: of those with this label only (selection by both) */
} pv_simulation;

/* kind "nodules": age, sex, smoking, emphysema, lobe, diameter, solidity (numbers, binaries as 0/1 under the names
 * age, female, smoker, emphysema, upper_lobe, diameter, part_solid) and malignant 0/1. Logistic, with
 * log odds ratios of published size and an intercept that makes the population prevalence exact.
 * kind "gaussian": x1..xd and y 0/1, unit-covariance normals; logistic, by construction.
 * Selection: cases and controls fix the label counts (by label); within leaves out rows by a feature, of all rows or of
 * one label, whatever fixes the counts. The population, its prevalence and truth are those before selection.
 * truth, where not NULL, receives [features+1] coefficients on the raw scale, the intercept first. */
PV_MUST_USE pv_status pv_simulate(pv_ctx *ctx, const char *kind, const pv_simulation *simulation, pv_table **table,
                                  double *truth);

/* Samples by other designs. The population has strata (column site: s1, s2, ...) that differ in prevalence, share and
 * the mean of x1; log odds are an intercept of the stratum, plus 0.8 x1 - 0.5 x2. */
typedef struct pv_design_simulation {
    int64_t rows;      /* all but matched: of the sample; cohort: at most; survey: about */
    int64_t strata;    /* all but matched */
    bool uneven;       /* sites, cohort: a quarter to three quarters of a stratum's rows are cases; else half */
    double prevalence; /* of the population; 1e-4 to 0.5 */
    int64_t cohort;    /* cohort: its people */
    double subcohort;  /* cohort: all cases and this share of the others are the sample; 0: as many of each stratum and
                          label as rows allow */
    int64_t sets;      /* matched */
    int64_t per_case;  /* matched: controls of each set */
    uint64_t seed;
} pv_design_simulation;
/* kind "sites": rows by stratum and label; x1, x2, site, y. "cohort": the second phase of a cohort; the same columns.
 * "matched": sets of a case and its controls; set, x1, x2, y. "survey": clusters in strata, with sampling weights; x1,
 * x2, site, cluster, weight, y. *known (NULL: not wanted): of sites the prevalence and share of each, of cohort its
 * counts by stratum and label, as files of prevalence_by and phase_one have them; others have none. truth, where not
 * NULL, receives the strata's intercepts [strata] (matched: none) and the two slopes. The caller frees both tables. */
PV_MUST_USE pv_status pv_simulate_design(pv_ctx *ctx, const char *kind, const pv_design_simulation *simulation,
                                         pv_table **table, pv_table **known, double *truth);

enum { PV_CT_COEFFICIENTS = 7 };
const char *pv_ct_coefficient(int index); /* its name, the intercept first; NULL outside */

/* CT patches of lung nodules (docs/method.md has the formulas), as arrays: images [N][size][size][size] in Hounsfield
 * units, labels [N] (1: malignant), votes [N][4] of 1 to 5 (0: absent), group [N] (patients), spacing [N][3];
 * probability [N], p(malignant | features) in the population; grade_probability [N][5], the votes' expected
 * frequencies; and the features diameter, density (0 solid, 1 part-solid, 2 ground glass), margin, spiculation,
 * lobulation. Selection is by label (cases and controls, in random order). The caller frees *archive; pv_table_of makes
 * a table of it. truth, where not NULL, receives [PV_CT_COEFFICIENTS]. */
PV_MUST_USE pv_status pv_simulate_ct(pv_ctx *ctx, const pv_simulation *simulation, pv_archive **archive, double *truth);
/* The same as an NPZ file, whatever its size in little memory; the bytes that pv_archive_write would write. */
PV_MUST_USE pv_status pv_simulate_ct_write(pv_ctx *ctx, const pv_simulation *simulation, const char *path,
                                           double *truth);

#ifdef __cplusplus
}
#endif
#endif
