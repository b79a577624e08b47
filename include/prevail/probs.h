/* prevail/probs.h: another model's probabilities, and votes as soft labels, from a table. */
#ifndef PREVAIL_PROBS_H
#define PREVAIL_PROBS_H

#include "prevail/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lists are comma-separated, with names quoted as in CSV. */
typedef struct pv_probs_options {
    const char *columns;  /* "LABEL=COLUMN,..."; NULL: the columns named p__LABEL. For two classes one is enough; the
                             other label is then the target's other label or, without a target, the usual counterpart (0
                             for 1, no for yes) or "not LABEL" */
    const char *target;   /* observed labels; NULL: none */
    const char *weights;  /* NULL: none */
    const char *cluster;  /* rows with the same value were sampled together; NULL: each by itself */
    const char *also;     /* further columns to keep in the table, "A,B" or "LABEL=A,..."; NULL: none */
    const char *positive; /* two classes: the label to put last; NULL: keep the order of the columns */
    const char *strata;   /* columns that determine the stratum of a row, "A,B"; NULL: none */
    bool all;             /* keep every column in the table; those without probabilities are read as text */
    bool drop_missing;    /* drop rows with missing cells instead of refusing them */
    const pv_csv_options *csv; /* syntax of the file: separator, decimal, na, no_header; NULL: defaults */
} pv_probs_options;

typedef struct pv_probs {
    pv_table *table;  /* NULL: made from arrays */
    pv_dataset *data; /* label, weight, table_row and dropped are set; x is unused */
    int classes;
    char **labels;     /* [classes], in the order of the columns */
    size_t *column;    /* [classes], column in the table; the table's number of columns if a label has none */
    double *p;         /* [data->rows][classes], each row sums to 1 */
    pv_strata *strata; /* strata of the rows, with data->stratum; NULL: none */
    double *from;      /* [strata->count][classes], with strata: the prevalence the probabilities were made for
                          (pv_probs_from_read); NULL: unknown */
} pv_probs;

/* Reads path like pv_table_read. Probabilities outside [0,1], and rows that do not sum to 1 within 0.001, are rejected
 * with their place; smaller deviations are normalised. A label without a probability is rejected. The caller frees
 * *probs. */
PV_MUST_USE pv_status pv_probs_read(pv_ctx *ctx, const char *path, const pv_probs_options *options, pv_probs **probs);
/* The same in pieces, like pv_pieces, with every column kept; *probs is NULL after the last. options must outlive them,
 * and each piece must be freed before they are. */
typedef struct pv_probs_pieces pv_probs_pieces;
PV_MUST_USE pv_status pv_probs_pieces_open(pv_ctx *ctx, const char *path, const pv_probs_options *options,
                                           pv_probs_pieces **pieces);
PV_MUST_USE pv_status pv_probs_pieces_next(pv_ctx *ctx, pv_probs_pieces *pieces, size_t rows, pv_probs **probs);
void pv_probs_pieces_free(pv_ctx *ctx, pv_probs_pieces *pieces); /* NULL is allowed */
/* The same from arrays: p [n][width], where width is the number of classes, or 1: the probability of the last of two
 * labels. label [n], indices into labels [classes]; NULL: none. weight [n]; NULL: all 1. Refused as above, with row
 * numbers from 1; rows of weight 0 are kept. Everything is copied; there is no table. The caller frees *probs. */
PV_MUST_USE pv_status pv_probs_new(pv_ctx *ctx, size_t n, const char *const *labels, int classes, int width,
                                   const double *p, const int32_t *label, const double *weight, pv_probs **probs);
void pv_probs_free(pv_ctx *ctx, pv_probs *probs); /* NULL is allowed */

/* Converts votes (counts or shares, not negative) to label frequencies [rows][classes]. columns: "A,B,..." in label
 * order, or "LABEL=A,...". table_row [rows] are the rows of the table. A missing vote is rejected; with drop, the row
 * gets weight 0 in weight [rows] and is counted in *dropped. */
PV_MUST_USE pv_status pv_votes_read(pv_ctx *ctx, const pv_table *table, const char *columns, char *const *labels,
                                    int classes, const size_t *table_row, size_t rows, bool drop, double *frequency,
                                    double *weight, size_t *dropped);
/* The same for a dataset, whose target is replaced. Rows with a missing vote are kept, so that predictions of the rows
 * still match; they are counted in voteless and dropped. */
PV_MUST_USE pv_status pv_dataset_votes(pv_ctx *ctx, const pv_table *table, const char *columns, char *const *labels,
                                       int classes, bool drop, pv_dataset *dataset);

#ifdef __cplusplus
}
#endif
#endif
