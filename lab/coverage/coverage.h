/* lab/coverage/coverage.h: results of the coverage study, computed by coverage.c and reported by coverage_report.c. */
#ifndef PREVAIL_LAB_COVERAGE_COVERAGE_H
#define PREVAIL_LAB_COVERAGE_COVERAGE_H

#include "prevail/prevail.h"
#include "lab/common/study.h"
#include "tool/command.h"

enum { FEATURES = 3, QUANTITIES = 7, LEVELS = 4 };
enum { PROFILE, PLUGIN, PLAIN, METHODS };

extern const char *const coverage_quantity[QUANTITIES];
extern const char *const coverage_method[METHODS];
extern const double coverage_level[LEVELS];

/* One fit. Stored in checkpoints byte by byte, so without padding. */
typedef struct outcome {
    int64_t done, troubled;      /* booleans; troubled: divergences, R-hat of 1.05 or more, a run that diverged */
    double place[QUANTITIES];    /* rank of the truth among the draws, scaled to (0,1) */
    double estimate[QUANTITIES]; /* posterior median */
} outcome;

typedef struct coverage_options {
    study_options shared;
    double prevalence;
    const char *prevalence_n;
    int64_t cases, controls, replicates, draws;
    const char *infer;
    int match; /* pv_match */
    study_vi vi;
    int64_t chains, warmup; /* hmc */
    bool sbc;
} coverage_options;

typedef struct coverage {
    const coverage_options *options;
    size_t cases, controls, replicates;
    double prevalence, prevalence_n; /* INFINITY: known */
    uint64_t seed;
    pv_inference infer[3];
    int infers;
    double truth[QUANTITIES];
    outcome *outcome; /* [replicates][infers][METHODS] */
} coverage;

outcome *coverage_at(const coverage *c, size_t replicate, int infer, int method);
/* Parses "laplace,vi" into list, which holds three. */
int coverage_read_infer(cli_call *call, const char *text, pv_inference *list, int *count);
int coverage_report(cli_call *call, const coverage *c);

const char *coverage_infer_name(pv_inference infer);

int coverage_ranks(cli_call *call); /* --sbc */

#endif
