/* lab/size/size.h: the study of sample sizes: what study of which design size.c runs, size_sample.c draws and fits, and
 * size_report.c prints. */
#ifndef PREVAIL_LAB_SIZE_SIZE_H
#define PREVAIL_LAB_SIZE_SIZE_H

#include "lab/common/study.h"
#include "prevail/prevail.h"
#include "tool/command.h"

/* X(NAME, "key", "title", how it is simulated: MEAN of the values, or their standard deviation SPREAD) */
#define SIZE_QUANTITY_LIST(X)                                                                                          \
    X(SLOPE, "slope", "calibration slope", MEAN)                                                                       \
    X(SHRINKAGE, "shrinkage", "the same, as shrinkage", MEAN)                                                          \
    X(DEFAULT_SLOPE, "default_slope", "slope, default fit", MEAN)                                                      \
    X(OPTIMISM, "optimism", "optimism of R2", MEAN)                                                                    \
    X(RISK, "risk_error", "SE of a risk's log odds", SPREAD)                                                           \
    X(RISK_HELD, "risk_held", "planned interval of the risk holds", MEAN)                                              \
    X(AUC, "auc_error", "SE of the AUC", SPREAD)                                                                       \
    X(PPV, "ppv_error", "SE of the PPV's log odds", SPREAD)                                                            \
    X(BENEFIT, "benefit_error", "SE of the net benefit", SPREAD)                                                       \
    X(ODDS, "odds_error", "SE of the log odds ratio", SPREAD)                                                          \
    X(POWER, "power", "power", MEAN)
typedef enum size_quantity {
#define SIZE_QUANTITY_ENUM(name, key, title, how) SIZE_##name,
    SIZE_QUANTITY_LIST(SIZE_QUANTITY_ENUM)
#undef SIZE_QUANTITY_ENUM
        SIZE_QUANTITIES
} size_quantity;

enum { SIZE_MOST = 8 };

typedef struct size_options {
    study_options shared;
    const char *aucs, *ratios;
    int64_t replicates, parameters;
    int by; /* criterion that the designs are for: 0: slope, 1: shrinkage */
    double prevalence, prevalence_n, slope, threshold, odds_ratio, exposure;
} size_options;

/* One cell of the study: a design as prevail size plans it. */
typedef struct size_cell {
    double auc, ratio, cases, controls;
    double predicted[SIZE_QUANTITIES]; /* NaN: it does not predict this one */
    double r2_most;                    /* of Cox and Snell's R2 at the design's proportions */
    double optimistic;                 /* Nagelkerke's R2 there */
} size_cell;

/* One sample. Kept as it is, so without padding. */
typedef struct size_outcome {
    double value[SIZE_QUANTITIES]; /* NaN: the fit failed because of its data */
} size_outcome;

typedef struct size_study {
    const size_options *options;
    uint64_t seed;
    size_t replicates, cells;
    size_cell *cell;
    size_outcome *outcome; /* [cells][replicates] */
} size_study;

/* (size_sample.c) */
PV_MUST_USE pv_status size_plan(pv_ctx *ctx, const size_study *s, size_cell *cell);
PV_MUST_USE pv_status size_replicate(pv_ctx *ctx, const size_study *s, const size_cell *cell, size_t index,
                                     size_outcome *to);
/* (size_report.c) */
int size_report(cli_call *call, const size_study *s);

#endif
