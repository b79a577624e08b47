/* lab/robust/robust.h: the study of misspecified models, run by robust.c and reported by robust_report.c. */
#ifndef PREVAIL_LAB_ROBUST_ROBUST_H
#define PREVAIL_LAB_ROBUST_ROBUST_H

#include "lab/common/study.h"
#include "prevail/prevail.h"
#include "tool/command.h"

/* X(NAME, "name in options", "log odds without the intercept") */
#define ROBUST_TRUTH_LIST(X)                                                                                           \
    X(RIGHT, "right", "0.8 x1 - 0.5 x2")                                                                               \
    X(SQUARE15, "square-0.15", "0.8 x1 - 0.5 x2 + 0.15 x1^2")                                                          \
    X(SQUARE30, "square-0.3", "0.8 x1 - 0.5 x2 + 0.3 x1^2")                                                            \
    X(LOGNORMAL, "log-normal", "0.8 log x1 - 0.5 x2, log x1 normal")                                                   \
    X(INTERACTION, "interaction", "0.8 x1 - 0.5 x2 + 0.6 x1 x2")                                                       \
    X(STRATUM, "stratum", "0.8 x1 - 0.5 x2 + s, s left out; x1 higher by 0.5 where s = 1, which 0.3 are")              \
    X(EXPLAINED, "explained", "0.8 x1 - 0.5 x2, the same strata, which differ by x1 alone")
typedef enum robust_truth {
#define ROBUST_TRUTH_ENUM(name, word, text) ROBUST_##name,
    ROBUST_TRUTH_LIST(ROBUST_TRUTH_ENUM)
#undef ROBUST_TRUTH_ENUM
        ROBUST_TRUTHS
} robust_truth;
extern const char *const robust_truth_name[ROBUST_TRUTHS], *const robust_truth_text[ROBUST_TRUTHS];

enum { ROBUST_COLUMNS = 40, ROBUST_SIZES = 4, ROBUST_PLACES = 3 }; /* intercept, x1, and the mean of the other slopes */
enum { ROBUST_EFFICIENT, ROBUST_WEIGHTED, ROBUST_COMBINED, ROBUST_ESTIMATES };

/* One sample. Stored in checkpoints byte by byte, so without padding. */
typedef struct robust_outcome {
    double done;
    double held[ROBUST_PLACES];      /* whether 90 % intervals cover the best linear predictor */
    double error[ROBUST_ESTIMATES];  /* of x1 */
    double square[ROBUST_ESTIMATES]; /* mean square error of all slopes */
    double p_value;
    double few;    /* fit warns that few rows dominate a coefficient */
    double names;  /* the coefficient is that of x1, and the warning suggests log(x1) */
    double strata; /* fit warns about strata */
} robust_outcome;

typedef struct robust_options {
    study_options shared;
    double prevalence;
    const char *truths, *rows, *columns;
    int64_t replicates, sample;
} robust_options;

typedef struct robust_population {
    robust_truth truth;
    int columns;
    size_t rows;                     /* per label */
    size_t people;                   /* in a population sample; 0: none */
    double prevalence, intercept;    /* intercept of the log odds */
    double stratum_prevalence[2];    /* for the truths with strata */
    double best[1 + ROBUST_COLUMNS]; /* the best linear predictor in the population */
} robust_population;

typedef struct robust_study {
    const robust_options *options;
    uint64_t seed;
    size_t replicates, cells;
    robust_population *population; /* [cells] */
    robust_outcome *outcome;       /* [cells][replicates] */
} robust_study;

static inline bool robust_has_strata(robust_truth truth) {
    return truth == ROBUST_STRATUM || truth == ROBUST_EXPLAINED;
}
void robust_population_find(robust_population *p);
pv_status robust_replicate(pv_ctx *ctx, const robust_population *p, uint64_t seed, size_t replicate,
                           robust_outcome *out);
int robust_report(cli_call *call, const robust_study *s);

#endif
