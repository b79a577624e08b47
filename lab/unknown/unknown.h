/* lab/unknown/unknown.h: populations with known label distributions (unknown_sample.c), for unknown.c. */
#ifndef PREVAIL_LAB_UNKNOWN_UNKNOWN_H
#define PREVAIL_LAB_UNKNOWN_UNKNOWN_H

#include "prevail/prevail.h"

/* X(NAME, "name in options", labels, columns, "rows of each label"); label 0 and the column `other` are standard normal
 */
#define UNKNOWN_POPULATION_LIST(X)                                                                                     \
    X(GAUSSIAN, "gaussian", 2, 3, "1 is 1.2 higher in x1 and 0.9 in x2")                                               \
    X(HALF, "half", 2, 3, "half of 1 is 2.4 higher in x1 and 1.2 in x2, the other half is as 0")                       \
    X(VARIANCES, "variances", 2, 3, "1 is 1 higher in x1, with standard deviation 2, and 0.9 in x2")                   \
    X(TIES, "ties", 2, 6, "x1 to x4 are 1 with probability 0.3, of label 1 0.6; x5 is 0, 1 or 2, more often 2 of 1")   \
    X(WIDE, "wide", 2, 20, "1 is 0.75 higher in x1 to x4, the others are noise")                                       \
    X(THREE, "three", 3, 3, "1 is 2 higher in x1, 2 is 2 higher in x2")
typedef enum unknown_population {
#define UNKNOWN_POPULATION_ENUM(name, word, labels, columns, text) UNKNOWN_##name,
    UNKNOWN_POPULATION_LIST(UNKNOWN_POPULATION_ENUM)
#undef UNKNOWN_POPULATION_ENUM
        UNKNOWN_POPULATIONS
} unknown_population;
extern const char *const unknown_population_name[UNKNOWN_POPULATIONS],
    *const unknown_population_text[UNKNOWN_POPULATIONS];
extern const int unknown_labels[UNKNOWN_POPULATIONS];

/* Label proportions if that of the last label is prevalence. */
void unknown_shares(unknown_population which, double prevalence, double *share);

/* Rows drawn from a population. share NULL: `rows` rows of each label; otherwise rows with random labels. shift: added
 * to the last column, which does not depend on the label, in standard deviations. log_density [rows][labels] receives
 * log f_y of each row, up to terms common to all labels; NULL: not wanted. */
typedef struct unknown_rows {
    unknown_population which;
    size_t rows;
    const double *share;
    double shift;
    uint64_t seed, index;
    double *log_density;
} unknown_rows;
PV_MUST_USE pv_status unknown_table(pv_ctx *ctx, const unknown_rows *rows, pv_table **table);

#endif
