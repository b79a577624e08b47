/* lab/designs/designs.h: what the files of the study share. */
#ifndef PREVAIL_LAB_DESIGNS_DESIGNS_H
#define PREVAIL_LAB_DESIGNS_DESIGNS_H

#include "lab/common/study.h"

/* How a cell's rows are sampled, and how they are fitted. */
typedef enum designs_kind {
    DESIGNS_KNOWN,      /* sites, their prevalences known */
    DESIGNS_COUNTS,     /* the second phase of a cohort */
    DESIGNS_CASES,      /* a case-cohort sample, the cohort's counts known */
    DESIGNS_FRACTION,   /* the same, the subcohort's fraction known */
    DESIGNS_MATCHED,    /* sets of a case and two controls */
    DESIGNS_SURVEY,     /* clusters in strata, with sampling weights */
    DESIGNS_AS_COUNTS,  /* the same, weights taken as counts and rows as independent */
    DESIGNS_PREVALENCE, /* prevalences of an unknown population's strata */
    DESIGNS_CLUSTERS,   /* few clusters of thirty rows, with sampling weights */
    DESIGNS_KINDS
} designs_kind;

typedef struct designs_cell {
    designs_kind kind;
    int strata;       /* CLUSTERS: clusters */
    bool uneven;      /* label shares of the strata differ */
    int64_t target;   /* PREVALENCE: rows of each stratum of the population */
    const char *name; /* in results */
    const char *text; /* of the design, and what is known or done */
    const char *how;
} designs_cell;

enum { DESIGNS_CELLS = 26, DESIGNS_PEOPLE = 10 };
extern const designs_cell designs_cells[DESIGNS_CELLS];

/* Shares of intervals that hold the truth, and squared errors of the slopes; NaN: the cell has none. */
typedef struct designs_outcome {
    double slopes, risks; /* shares, of two slopes and of ten people's risks (PREVALENCE: strata) */
    double error, other;  /* sums over slopes; other: of the estimator it is compared with */
    double told;          /* 1: fit's check says at 0.05 that the line does not hold; 0: it does not */
} designs_outcome;

typedef struct designs_options {
    study_options shared;
    int64_t replicates, rows, cohort;
    bool quick;
    const char *only; /* NULL: all */
} designs_options;

typedef struct designs {
    const designs_options *options;
    size_t replicates;
    designs_outcome *made; /* [replicates][DESIGNS_CELLS] */
} designs;

/* Whether a cell is among those asked for. */
bool designs_chosen(const designs_options *options, size_t place);
int designs_report(cli_call *call, const designs *d);

#endif
