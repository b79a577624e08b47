/* lab/rate/rate.h: the study of rates by imperfect verdicts: what rate.c runs, rate_sample.c draws and rate_report.c
 * prints. */
#ifndef PREVAIL_LAB_RATE_RATE_H
#define PREVAIL_LAB_RATE_RATE_H

#include "lab/common/study.h"
#include "prevail/prevail.h"
#include "tool/command.h"

/* X(NAME, "as it is written", "what it is") */
#define RATE_KIND_LIST(X)                                                                                              \
    X(TEST, "test", "two labels, a verdict of sensitivity 0.85 and specificity 0.93")                                  \
    X(SHARP, "sharp", "the same, 0.97 and 0.995")                                                                      \
    X(SCORES, "scores", "two labels, a score that is normal, 1.5 standard deviations apart, in bins")                  \
    X(LABELS, "labels", "three labels, the other two in equal parts, a verdict that is right in 0.8")                  \
    X(STRATA, "strata", "two strata of rates 0.5 and 1.5 times the overall one, and error rates of their own")         \
    X(CLUSTERS, "clusters", "five rows a person, alike in label; gold rows are whole persons")
typedef enum rate_kind {
#define RATE_KIND_ENUM(name, word, text) RATE_##name,
    RATE_KIND_LIST(RATE_KIND_ENUM)
#undef RATE_KIND_ENUM
        RATE_KINDS
} rate_kind;
typedef enum rate_by { RATE_BY_LABEL, RATE_BY_VERDICT, RATE_AT_RANDOM, RATE_WAYS } rate_by;
extern const char *const rate_kind_name[RATE_KINDS], *const rate_kind_text[RATE_KINDS], *const rate_by_name[RATE_WAYS];

enum { RATE_MOST = 8, RATE_PERSON = 5 };

typedef struct rate_options {
    study_options shared;
    const char *kinds, *by, *rates, *gold;
    int64_t replicates, rows;
    double width;
} rate_options;

/* One cell of the study. */
typedef struct rate_cell {
    rate_kind kind;
    rate_by by;
    double rate;
    double gold[2]; /* rows of each label or verdict; at random: of both together */
} rate_cell;

/* One sample. Kept as it is, so without padding. */
typedef struct rate_outcome {
    double done, value, held, below, width; /* below: the interval lies below the truth */
    double peer_held, peer_width;           /* of the method that is compared with; NaN: there is none */
    double planned, reached;                /* gold rows that a width takes, and the width with them; NaN: not asked */
} rate_outcome;

typedef struct rate_study {
    const rate_options *options;
    uint64_t seed;
    size_t replicates, cells;
    rate_cell *cell;
    rate_outcome *outcome; /* [cells][replicates] */
} rate_study;

/* (rate_sample.c) */
PV_MUST_USE pv_status rate_replicate(pv_ctx *ctx, const rate_study *s, const rate_cell *cell, size_t index,
                                     rate_outcome *to);
/* (rate_report.c) */
int rate_report(cli_call *call, const rate_study *s);

#endif
