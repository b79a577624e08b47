/* lab/designs/designs.h: declarations shared by the files of the study. */
#ifndef PREVAIL_LAB_DESIGNS_DESIGNS_H
#define PREVAIL_LAB_DESIGNS_DESIGNS_H

#include "lab/common/study.h"

/* How the rows of a cell are sampled and fitted. */
typedef enum designs_kind {
    DESIGNS_KNOWN,      /* sites with known prevalences */
    DESIGNS_COUNTS,     /* the second phase of a cohort */
    DESIGNS_CASES,      /* a case-cohort sample, the cohort's counts known */
    DESIGNS_FRACTION,   /* the same, with known sampling fraction of the subcohort */
    DESIGNS_MATCHED,    /* sets of a case and two controls */
    DESIGNS_SURVEY,     /* clusters in strata, with sampling weights */
    DESIGNS_AS_COUNTS,  /* the same, with weights treated as counts and rows as independent */
    DESIGNS_PREVALENCE, /* unknown prevalences of a population's strata */
    DESIGNS_CLUSTERS,   /* few clusters of thirty rows, with sampling weights */
    DESIGNS_KINDS
} designs_kind;

typedef struct designs_cell {
    designs_kind kind;
    int strata;       /* for CLUSTERS: number of clusters */
    bool uneven;      /* label proportions differ between strata */
    int64_t target;   /* for PREVALENCE: rows of each stratum of the population */
    const char *name; /* name in results */
    const char *text; /* description of the design, and of what is known or done */
    const char *how;
} designs_cell;

enum { DESIGNS_CELLS = 26, DESIGNS_PEOPLE = 10 };
extern const designs_cell designs_cells[DESIGNS_CELLS];

/* Coverage of intervals and squared errors of the slopes; NaN: not measured in the cell. */
typedef struct designs_outcome {
    double slopes, risks; /* fraction covered, of two slopes and of ten people's risks (PREVALENCE: of strata) */
    double error, other;  /* sums over slopes; other: for the estimator it is compared with */
    double told;          /* 1: the test of fit rejects the linear model at 0.05; 0: it does not */
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

/* Whether a cell was requested. */
bool designs_chosen(const designs_options *options, size_t place);
int designs_report(cli_call *call, const designs *d);

#endif
