/* src/rate/rate.h: what the files of this part share. Tables become codes of rows (rate_rows.c), those become counts of
 * gold and sample by label and verdict (rate_counts.c), and these become estimates: by gold rows drawn by label
 * (predict/bins.c and label_cells.c), or by verdict or at random (double_sampling.c).
 */
#ifndef PV_SRC_RATE_H
#define PV_SRC_RATE_H

#include "base/value.h"
#include "predict/bins.h"
#include "predict/label_cells.h"
#include "prevail/rate.h"

enum { PV__RATE_LABELS = PV__LABELS_MOST, PV__RATE_CELLS = PV__BINS_MOST, PV__RATE_STRATA = 200 };

typedef enum pv__gold_by { PV__GOLD_BY_LABEL, PV__GOLD_BY_VERDICT, PV__GOLD_AT_RANDOM, PV__GOLD_KNOWN } pv__gold_by;

/* Names of labels, verdicts or strata, in order. */
typedef struct pv__rate_names {
    char **name;
    size_t count;
} pv__rate_names;

/* Rows of a table; codes are -1 where there is none. NULL: no row has one. */
typedef struct pv__rate_rows {
    size_t rows;
    int32_t *cell, *label, *stratum, *cluster;
    double *weight;
} pv__rate_rows;

typedef struct pv__rate_data {
    pv_ctx *ctx;
    const pv_rate_options *options;
    pv__gold_by gold_by;
    pv__rate_names labels, strata, system[2]; /* system: verdicts, of the second where two are compared */
    double edge[PV__RATE_CELLS];              /* of scores: cell k has those above edge[k - 1], up to edge[k] */
    size_t cells;            /* verdicts, bins, or pairs of verdicts: first x verdicts of the second + second */
    size_t positive;         /* label */
    int positive_verdict[2]; /* of each system; -1: none says so */
    bool sampling;
    bool one_table;
    pv__rate_rows sample, gold;
    size_t unlabelled; /* rows of the gold table without an outcome */
} pv__rate_data;

/* People, as many as sampled one by one would tell as much. */
typedef struct pv__rate_counts {
    pv__gold_by gold_by;
    size_t labels, cells;
    double gold[PV__RATE_LABELS][PV__RATE_CELLS], sample[PV__RATE_CELLS];
    double people[PV__RATE_LABELS][PV__RATE_CELLS]; /* gold rows as they are */
    double rows;                                    /* people of the sample as they are */
    double share;                                   /* of the stratum in the sample */
} pv__rate_counts;

typedef struct pv__rate_estimate {
    double value[PV__RATE_LABELS], lo[PV__RATE_LABELS], hi[PV__RATE_LABELS];
    double statistic, p; /* gold by label: of the test that the sample is a mixture; NaN: there is none */
} pv__rate_estimate;

/* ---- rate_rows.c ------------------------------------------------------------------------------------------------- */

PV_MUST_USE pv_status pv__rate_read(pv__rate_data *data, const pv_table *sample, const pv_table *gold);
void pv__rate_clear(pv__rate_data *data);

/* ---- rate_columns.c ---------------------------------------------------------------------------------------------- */

/* The levels of a column of one or two tables (the second may be NULL), sorted, and each row's; -1: missing. names that
 * are given already are all that may occur. most: levels. */
PV_MUST_USE pv_status pv__rate_levels(pv_ctx *ctx, const pv_table *const table[2], const char *option,
                                      const char *column, size_t most, pv__rate_names *names, int32_t *code[2]);
/* The same of ids, of which there may be any number and which need no names. */
PV_MUST_USE pv_status pv__rate_ids(pv_ctx *ctx, const pv_table *const table[2], const char *option, const char *column,
                                   int32_t *code[2]);
PV_MUST_USE pv_status pv__rate_numbers(pv_ctx *ctx, const pv_table *table, const char *option, const char *column,
                                       double **number);

/* ---- rate_counts.c ----------------------------------------------------------------------------------------------- */

/* Of a stratum; -1: of all rows. */
PV_MUST_USE pv_status pv__rate_count(const pv__rate_data *data, int32_t stratum, pv__rate_counts *counts);
/* Right verdicts of people, by text: "45/50", or "0.9" of `exact` people. */
PV_MUST_USE pv_status pv__rate_known(pv_ctx *ctx, const char *option, const char *text, double exact, double *right,
                                     double *people);

/* ---- double_sampling.c ------------------------------------------------------------------------------------------- */

/* The rate of a label where cells hold sample [cells] of the sample, and gold rows of which `yes` have the label and
 * `no` have not. */
typedef struct pv__double_counts {
    size_t cells;
    double sample[PV__RATE_CELLS], yes[PV__RATE_CELLS], no[PV__RATE_CELLS];
} pv__double_counts;
double pv__double_mode(const pv__double_counts *counts);
/* Twice the log-likelihood ratio of a rate; p and s [cells], the fit there, may be NULL. */
double pv__double_ratio(const pv__double_counts *counts, double rate, double *p, double *s);
PV_MUST_USE pv_status pv__double_interval(pv_ctx *ctx, const pv__double_counts *counts, double level, int64_t seed,
                                          double ends[2]);

/* ---- rate_estimate.c --------------------------------------------------------------------------------------------- */

PV_MUST_USE pv_status pv__rate_estimate_of(pv_ctx *ctx, const pv__rate_counts *counts, const pv_rate_options *options,
                                           pv__rate_estimate *estimate);
/* Strata together, by their shares in the sample. */
void pv__rate_combine(size_t strata, const pv__rate_counts *counts, const pv__rate_estimate *own, double level,
                      pv__rate_estimate *all);
/* Wilson's interval of a proportion of `people`; value, lo, hi as an object. */
pv_result *pv__rate_proportion(double count, double people, double level);
/* Tango's of the difference of two proportions of the same people: `first` of them in the first alone, `second` in the
 * second alone. */
void pv__rate_paired(double first, double second, double people, double level, double ends[2]);

/* ---- rate_width.c ------------------------------------------------------------------------------------------------ */

/* Gold rows to add: more[stratum][label or cell] (at random: [stratum][0]). */
typedef struct pv__rate_plan {
    size_t label;         /* that it is for */
    double now;           /* expected width with the gold rows that there are */
    double least;         /* with any number of them */
    double sample_needed; /* rows of the sample for the wanted width, gold rows being many; 0: there are enough */
    double (*more)[PV__RATE_CELLS];
} pv__rate_plan;
PV_MUST_USE pv_status pv__rate_plan_of(pv_ctx *ctx, size_t strata, const pv__rate_counts *counts,
                                       const pv__rate_estimate *own, const pv__rate_data *data, pv__rate_plan *plan);

/* ---- rate_compare.c, rate_result.c ------------------------------------------------------------------------------- */

pv_result *pv__rate_compare(const pv__rate_data *data, const pv__rate_counts *counts);
pv_result *pv__rate_result(const pv__rate_data *data, size_t strata, const pv__rate_counts *counts,
                           const pv__rate_estimate *own, const pv__rate_estimate *all, const pv__rate_counts *together,
                           const pv__rate_plan *plan);

#endif
