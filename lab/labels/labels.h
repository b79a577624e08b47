/* lab/labels/labels.h: the study of labels with errors: what labels.c runs, labels_sample.c draws and labels_report.c
 * prints. */
#ifndef PREVAIL_LAB_LABELS_LABELS_H
#define PREVAIL_LAB_LABELS_LABELS_H

#include "lab/common/study.h"
#include "prevail/prevail.h"
#include "tool/command.h"

enum { LABELS_MOST = 8 };
#define LABELS_SLOPE 0.8 /* of the column that is reported */

typedef struct labels_options {
    study_options shared;
    const char *prevalences, *validated;
    int64_t replicates, rows;
    double sensitivity, specificity;
} labels_options;

/* One cell of the study. */
typedef struct labels_cell {
    double random;     /* 1: rows are a random sample; 0: as many of each recorded label */
    double predictive; /* 1: the validated labels were drawn by recorded label */
    double prevalence;
    double validated; /* labels of each kind; INFINITY: the errors are known */
} labels_cell;

/* One sample: of the slope and the intercept. Kept as it is, so without padding. */
typedef struct labels_outcome {
    double done; /* 0: rejected, or no standard errors */
    double slope, held95, held90, width;
    double intercept, intercept95, intercept90;
    double naive, naive95; /* the slope of a fit that takes labels as true */
} labels_outcome;

typedef struct labels_study {
    const labels_options *options;
    uint64_t seed;
    size_t replicates, cells;
    labels_cell *cell;
    labels_outcome *outcome; /* [cells][replicates] */
} labels_study;

/* (labels_sample.c) */
PV_MUST_USE pv_status labels_replicate(pv_ctx *ctx, const labels_study *s, const labels_cell *cell, size_t index,
                                       labels_outcome *outcome);
/* (labels_report.c) */
int labels_report(cli_call *call, const labels_study *s);

#endif
