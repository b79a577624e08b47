/* prevail/probs.h: another model's probabilities, and votes as soft labels, from a table. */
#ifndef PREVAIL_PROBS_H
#define PREVAIL_PROBS_H

#include "prevail/data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lists are comma-separated, quoted as in CSV. */
typedef struct pv_probs_options {
    const char *columns;  /* "LABEL=COLUMN,..."; NULL: the columns named p__LABEL. Two classes: one is enough, the other
                             label is then the target's other one, without a target the usual one (0 for 1, no for
                             yes) or "not LABEL" */
    const char *target;   /* observed labels; NULL: none */
    const char *weights;  /* NULL: none */
    const char *also;     /* further columns to keep in table, "A,B" or "LABEL=A,..."; NULL: none */
    const char *positive; /* two classes: the label to put last; NULL: as the columns stand */
    const char *strata;   /* columns that say which stratum a row is of, "A,B"; NULL: none */
    bool all;             /* keep every column in table; those that hold no probabilities are read as text */
    bool drop_missing;    /* drop rows with missing cells instead of refusing */
    const pv_csv_options *csv; /* how the file is written: separator, decimal, na, no_header; NULL: as usual */
} pv_probs_options;

typedef struct pv_probs {
    pv_table *table;  /* NULL: made of arrays */
    pv_dataset *data; /* label, weight, table_row, dropped; its x means nothing */
    int classes;
    char **labels;     /* [classes], in the order of the columns */
    size_t *column;    /* [classes], in the table; its number of columns where a label has none */
    double *p;         /* [data->rows][classes], each row adds up to 1 */
    pv_strata *strata; /* of the rows, data->stratum being each one's ; NULL: none */
    double *from;      /* [strata->count][classes], with them: the prevalence that their probabilities were made for
                        (pv_probs_from_read); NULL: nobody said */
} pv_probs;

/* Reads path as pv_table_read does. Probabilities outside [0,1], and rows that do not add up to 1 to 0.001, are refused
 * with their place; what is left of that tolerance is divided out. A label without a probability is refused. The caller
 * frees *probs. */
PV_MUST_USE pv_status pv_probs_read(pv_ctx *ctx, const char *path, const pv_probs_options *options, pv_probs **probs);
/* The same in pieces, with every column kept, as pv_pieces hands them out; *probs is NULL behind the last. options must
 * outlive them, and each piece be freed before. */
typedef struct pv_probs_pieces pv_probs_pieces;
PV_MUST_USE pv_status pv_probs_pieces_open(pv_ctx *ctx, const char *path, const pv_probs_options *options,
                                           pv_probs_pieces **pieces);
PV_MUST_USE pv_status pv_probs_pieces_next(pv_ctx *ctx, pv_probs_pieces *pieces, size_t rows, pv_probs **probs);
void pv_probs_pieces_free(pv_ctx *ctx, pv_probs_pieces *pieces); /* NULL is fine */
/* The same of arrays: p [n][width], width the number of classes, or 1: of two labels, that of the last. label [n], of
 * labels [classes]; NULL: none. weight [n]; NULL: all 1. Refused as above, by the number of the row from 1; rows of
 * weight 0 stay. All is copied; there is no table. The caller frees *probs. */
PV_MUST_USE pv_status pv_probs_new(pv_ctx *ctx, size_t n, const char *const *labels, int classes, int width,
                                   const double *p, const int32_t *label, const double *weight, pv_probs **probs);
void pv_probs_free(pv_ctx *ctx, pv_probs *probs); /* NULL is fine */

/* Votes (counts or shares, not negative) as label frequencies [rows][classes]. columns: "A,B,..." in label order, or
 * "LABEL=A,...". table_row [rows] names the rows of the table. A missing vote is refused, or with drop counts the row
 * as one without weight: weight [rows] becomes 0 there and *dropped grows. */
PV_MUST_USE pv_status pv_votes_read(pv_ctx *ctx, const pv_table *table, const char *columns, char *const *labels,
                                    int classes, const size_t *table_row, size_t rows, bool drop, double *frequency,
                                    double *weight, size_t *dropped);
/* The same as the target of a dataset, in the place of what it had. Rows with a missing vote stay, so that predictions
 * of the rows still fit; they are counted as voteless and among those dropped. */
PV_MUST_USE pv_status pv_dataset_votes(pv_ctx *ctx, const pv_table *table, const char *columns, char *const *labels,
                                       int classes, bool drop, pv_dataset *dataset);

#ifdef __cplusplus
}
#endif
#endif
