/* src/data/data.h: declarations shared by the files of this part: dictionaries, tables under construction. */
#ifndef PV_SRC_DATA_H
#define PV_SRC_DATA_H

#include "base/text.h"
#include "prevail/data.h"

enum {
    PV__LABELS_MAX = 1000
}; /* of a model: grades, columns of probabilities. A column may have fewer (schema_learn.h) */

/* ---- dictionaries (dictionary.c) --------------------------------------------------------------------------------- */

/* Maps texts to codes 0, 1, ... in order of first appearance. The texts are stored in the column's level array; slots
 * hold codes only, so the dictionary costs at most 11 bytes per text. */
typedef struct pv__dictionary {
    int32_t *slot; /* [slots], a power of two; 0: empty, else code + 1 */
    size_t slots;
    size_t room;   /* allocated entries of level */
    uint64_t seed; /* of the hash; drawn when slots are first allocated */
} pv__dictionary;

/* The code of text [length], or -1. Pass *hash on to pv__dictionary_add. */
int32_t pv__dictionary_find(const pv__dictionary *dictionary, const pv_column *column, const char *text, size_t length,
                            uint64_t *hash);
/* Adds a text that pv__dictionary_find did not find. */
PV_MUST_USE pv_status pv__dictionary_add(pv_ctx *ctx, pv__dictionary *dictionary, pv_column *column, const char *text,
                                         size_t length, uint64_t hash);
void pv__dictionary_free(pv_ctx *ctx, pv__dictionary *dictionary);

void pv__strata_free(pv_ctx *ctx, pv_strata *strata); /* NULL is fine (strata.c) */

/* ---- tables (table.c) -------------------------------------------------------------------------------------------- */

/* A table with names only: its columns are number columns without an array until the caller sets one. The caller
 * frees. */
PV_MUST_USE pv_status pv__table_new(pv_ctx *ctx, const char *source, const char *const *names, size_t columns,
                                    size_t rows, pv_table **table);
/* The hash of a table that was not read from a file: of its names and cells. */
uint64_t pv__table_hash(const pv_table *table);
bool pv__listed(const char *const *list, size_t n, const char *name);
/* Whether a field of a CSV file means a missing value. */
bool pv__text_missing(const char *text, size_t length);
/* The index of the column, or table->columns. */
size_t pv__table_lookup(const pv_table *table, const char *name);
/* Suggests a name similar to `given`, as the end of a message: "; did you mean 'x'?", or the first few names. */
void pv__table_suggest(pv_ctx *ctx, const pv_table *table, const char *given, char *text, size_t size);
bool pv__cell_missing(const pv_column *column, size_t row);

/* The number of threads for columns of this many rows, one thread per column. Call it right before the parallel region,
 * as pv__threads_for. */
static inline int pv__columns_team(const pv_ctx *ctx, size_t columns, size_t rows) {
    enum { ENOUGH = 1 << 18 }; /* cells that justify another thread */
    size_t pieces = rows > 0 && columns > SIZE_MAX / rows ? columns : columns * rows / ENOUGH;
    return pv__threads_for(ctx, pieces < columns ? pieces : columns);
}

/* The numbers of a column, in double or single precision. Those of a file are mapped, for access to a few cells; passes
 * over whole columns read the file instead (columns.c, pv__numbers_read). */
typedef struct pv__numbers {
    const double *wide;
    const float *narrow; /* of a mapped file, when wide is NULL */
    struct pv_packed *file;
} pv__numbers;

pv__numbers pv__table_numbers(const pv_table *table, size_t c); /* (packed.c) */

static inline pv__numbers pv__column_numbers(const pv_column *column) {
    return (pv__numbers){column->number, column->single, NULL};
}

static inline double pv__number_at(pv__numbers numbers, size_t row) {
    return numbers.wide ? numbers.wide[row] : (double)numbers.narrow[row];
}

static inline double pv__cell_number(const pv_column *column, size_t row) {
    return pv__number_at(pv__column_numbers(column), row);
}

/* ---- text of numbers (spelling.c) -------------------------------------------------------------------------------- */

enum { PV__NUMBER_TEXT = 32 };                /* enough bytes for any number as text */
#define PV__EXACT_INTEGER ((uint64_t)1 << 53) /* integers up to this are exact as doubles */
/* The text of a cell that is not missing, for any column type: as in the source, else the shortest form of the number,
 * written to `number`. */
const char *pv__cell_text(const pv_column *column, size_t row, char number[PV__NUMBER_TEXT]);
/* Whether a reader with these options makes the column a text column, and whether it keeps the spelling of numbers. */
bool pv__wants_text(const pv_csv_options *options, const char *name);
bool pv__keeps_spelling(const pv_csv_options *options);
/* Stores the text of column->number[row] in a column under construction; room: capacity of its arrays, including code
 * if there is one. Call for rows in order; pv__spelling_finish handles missing ones. */
PV_MUST_USE pv_status pv__spell(pv_ctx *ctx, pv__dictionary *dictionary, pv_column *column, size_t row, size_t room,
                                const char *text, size_t length);
PV_MUST_USE pv_status pv__spell_integer(pv_ctx *ctx, pv__dictionary *dictionary, pv_column *column, size_t row,
                                        size_t room, bool negative, uint64_t magnitude);
void pv__spelling_finish(pv_column *column, size_t rows);

/* ---- columns from memory (memory_table.c) ------------------------------------------------------------------------ */

/* Begins a column that is not yet part of the table. name NULL: x and its number. */
PV_MUST_USE pv_status pv__table_begin(pv_ctx *ctx, const pv_table *table, const char *name, pv_column_type type,
                                      pv_column *column);
/* Transfers the column to the table; on failure the column is freed. */
PV_MUST_USE pv_status pv__table_append(pv_ctx *ctx, pv_table *table, pv_column *column);
/* Recomputes the hash as if the columns had been appended in their present form. */
void pv__table_rehash(pv_table *table);
void pv__column_drop(pv_ctx *ctx, pv_column *column); /* frees its contents */
/* Converts numbers of any type, `stride` bytes apart and possibly unaligned. */
void pv__numbers_convert(pv_array_type type, const unsigned char *from, ptrdiff_t stride, size_t n, double *to);
/* The code of a text in a column under construction; -1 if the text means missing. */
PV_MUST_USE pv_status pv__column_code(pv_ctx *ctx, pv__dictionary *dictionary, pv_column *column, const char *text,
                                      size_t length, int32_t *code);

/* The options of a reader, with roles and schema turned into lists of columns (schema.c). Borrows from them. */
typedef struct pv__reading {
    pv_csv_options options;
    const char **names;
    char **categorical, **excluded, **strata, **votes;
    size_t n_categorical, n_excluded, n_strata, n_votes;
    char *cases; /* the first column of an outcome of two columns; the second is after its slash */
} pv__reading;
PV_MUST_USE pv_status pv__reading_new(pv_ctx *ctx, const pv_csv_options *options, pv__reading *reading);
void pv__reading_free(pv_ctx *ctx, pv__reading *reading);

/* The format of files (csv_options.c): the options that differ from the default. A failed copy is freed with the struct
 * that holds it. */
PV_MUST_USE pv_status pv__written_of(pv_ctx *ctx, const pv_csv_options *options, pv_written *written);
PV_MUST_USE pv_status pv__written_copy(pv_ctx *ctx, const pv_written *from, pv_written *to);
void pv__written_free(pv_ctx *ctx, pv_written *written);

/* Reads a file of arrays as a table (image_table.c). */
PV_MUST_USE pv_status pv__image_table_read(pv_ctx *ctx, const char *path, const pv_csv_options *options,
                                           pv_table **table);
/* NULL is fine. A failed copy is freed with the struct that holds it. (image_dataset.c) */
void pv__image_encoding_free(pv_ctx *ctx, pv_image_encoding *image);
PV_MUST_USE pv_status pv__image_encoding_copy(pv_ctx *ctx, const pv_image_encoding *from, pv_image_encoding **to);

/* ---- views (views.c) --------------------------------------------------------------------------------------------- */

enum { PV_VIEWS_MAX = 256 };
/* Step along rows and columns of a view, and the shift of its centre; in the order z, y, x. */
typedef struct pv__view_plane {
    double a[3], b[3];
    double shift[3];
} pv__view_plane;
/* The planes [views] of an image that is not stored as views; rng NULL: the fixed ones. */
void pv__views_planes(const pv_image_encoding *e, pv_image_layout layout, pv_rng *rng, pv__view_plane *planes);

/* ---- populations (population_intercept.c) ------------------------------------------------------------------------ */

/* Nodes and weights of Gauss-Legendre quadrature on [low, high]. */
void pv__gauss_legendre(int nodes, double low, double high, double *node, double *weight);
/* The intercept b with sum_k mass_k sigmoid(b + score_k) = prevalence; the masses must sum to 1. */
double pv__solve_intercept(size_t points, const double *score, const double *mass, double prevalence);

/* Checks prevalence, rows, cases and controls (simulate.c). *by_design: the number of rows of each label is fixed. */
PV_MUST_USE pv_status pv__simulation_check(pv_ctx *ctx, const pv_simulation *simulation, bool *by_design, size_t *rows);

/* Fails because there is no label of this name (labels.c). */
PV_MUST_USE pv_status pv__no_label(pv_ctx *ctx, const char *option, const char *name, size_t length,
                                   char *const *labels, int classes);

/* pv__fail_at for a cell of the table. */
#define PV__FAIL_CELL(ctx, table, row, at_column, ...)                                                                 \
    pv__fail_at(ctx, PV_ERR_INPUT, (table)->source, pv_table_line(table, row), (at_column) + 1, __VA_ARGS__)

/* Finds the column of this name, which must hold numbers; option is for messages. */
pv_status pv__number_column(pv_ctx *ctx, const pv_table *table, const char *option, const char *name, size_t *column);

/* ---- packed.c ---------------------------------------------------------------------------------------------------- */

bool pv__packed_recognise(const char *path);
PV_MUST_USE pv_status pv__packed_read(pv_ctx *ctx, const char *path, const pv_csv_options *options,
                                      pv_table **table);      /* options: as for pv_table_read, NULL: none */
void pv__packed_close(pv_ctx *ctx, struct pv_packed *packed); /* NULL is fine */
PV_MUST_USE pv_status pv__packed_same(pv_ctx *ctx,
                                      const struct pv_packed *packed); /* fails if the file was written to meanwhile */
struct pv_packed *pv__packed_share(struct pv_packed *packed);          /* adds an owner, who also closes it */
/* Reads the n bytes at that place of the mapping from the file. Bytes that cannot be read, or that the file no longer
 * has, become 0, and pv__packed_same fails from then on. Thread-safe. */
void pv__packed_bytes(struct pv_packed *packed, const void *at, size_t n, void *to);
/* Asks the system to read these bytes ahead. */
void pv__packed_expect(const struct pv_packed *packed, const void *at, size_t n);
/* (matrix.c) Builds the matrix of data that have columns instead. The caller frees *x. */
PV_MUST_USE pv_status pv__matrix_make(pv_ctx *ctx, const pv_dataset *data, double **x);
/* (matrix.c) Fails if the file behind the columns has changed; does nothing for other data. */
PV_MUST_USE pv_status pv__columns_unchanged(pv_ctx *ctx, const pv_dataset *data);
/* Fails if the table's file was written to since it was opened. */
PV_MUST_USE pv_status pv__packed_unchanged(pv_ctx *ctx, const pv_table *table);

#endif
