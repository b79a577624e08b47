/* lab/robust/robust.h: the outcome of the study of wrong models, as robust.c and robust_table.c make and
 * robust_report.c prints it. */
#ifndef PREVAIL_LAB_ROBUST_ROBUST_H
#define PREVAIL_LAB_ROBUST_ROBUST_H

#include "prevail/prevail.h"
#include "lab/common/study.h"
#include "tool/command.h"

enum { ROBUST_FEATURES = 3, ROBUST_PARAMS = ROBUST_FEATURES + 1, ROBUST_SIZES = 4 };

/* X(NAME, "as it is written", "log odds, but for the intercept") */
#define ROBUST_TRUTH_LIST(X)                                                                                           \
    X(LINEAR, "linear", "0.8 x1 - 0.5 x2")                                                                             \
    X(SQUARE, "square", "0.8 x1 - 0.5 x2 + 0.4 x1^2")                                                                  \
    X(STEP, "step", "1.5 [x1 > 0.5] - 0.5 x2")                                                                         \
    X(INTERACTION, "interaction", "0.8 x1 - 0.5 x2 + 0.6 x1 x2")                                                       \
    X(HEAVY, "heavy", "1.2 log x1 - 0.5 x2, x1 log-normal")
typedef enum robust_truth {
#define ROBUST_TRUTH_ENUM(name, word, text) ROBUST_##name,
    ROBUST_TRUTH_LIST(ROBUST_TRUTH_ENUM)
#undef ROBUST_TRUTH_ENUM
        ROBUST_TRUTHS
} robust_truth;

/* X(NAME, "in tables", loss, exponent, match, inference): the lines that are compared, then the intervals. */
#define ROBUST_METHOD_LIST(X)                                                                                          \
    X(PROFILE, "profile", PV_LOSS_IG, "0", PV_MATCH_NONE, PV_INFER_MAP)                                                \
    X(SHRUNK, "profile, shrunk", PV_LOSS_IG, "0", PV_MATCH_SHRUNK, PV_INFER_MAP)                                       \
    X(FULL, "profile, full", PV_LOSS_IG, "0", PV_MATCH_FULL, PV_INFER_MAP)                                             \
    X(WEIGHTED, "exponent 1", PV_LOSS_IG, "1", PV_MATCH_NONE, PV_INFER_MAP)                                            \
    X(IW, "loss iw", PV_LOSS_IW, "auto", PV_MATCH_NONE, PV_INFER_MAP)                                                  \
    X(AUTO, "auto", PV_LOSS_IG, "auto", PV_MATCH_SHRUNK, PV_INFER_MAP)                                                 \
    X(LAPLACE, "laplace", PV_LOSS_IG, "0", PV_MATCH_NONE, PV_INFER_LAPLACE)                                            \
    X(MATCHED, "laplace, shrunk", PV_LOSS_IG, "0", PV_MATCH_SHRUNK, PV_INFER_LAPLACE)                                  \
    X(SANDWICH, "robust", PV_LOSS_IG, "1", PV_MATCH_NONE, PV_INFER_ROBUST)
typedef enum robust_method {
#define ROBUST_METHOD_ENUM(name, word, loss, exponent, match, infer) ROBUST_##name,
    ROBUST_METHOD_LIST(ROBUST_METHOD_ENUM)
#undef ROBUST_METHOD_ENUM
        ROBUST_METHODS
} robust_method;
enum { ROBUST_LINES = ROBUST_LAPLACE }; /* the first so many are compared by their predictions */

typedef struct robust_way {
    const char *name;
    int loss;
    const char *exponent;
    int match, infer;
} robust_way;
extern const robust_way robust_ways[ROBUST_METHODS];
extern const char *const robust_truth_name[ROBUST_TRUTHS], *const robust_truth_text[ROBUST_TRUTHS];

/* One fit. Kept as it is, so without padding. */
typedef struct robust_outcome {
    int64_t done;
    double ratio;                /* mean predicted over true risk */
    double loss;                 /* share of the information that is lost; of a table: kept */
    double exponent;             /* of the fit; NaN: it is not of the family */
    double z, p_value;           /* of its check; NaN: none */
    double place[ROBUST_PARAMS]; /* intervals: of the best line's coefficient among the draws */
} robust_outcome;

typedef struct robust_options {
    study_options shared;
    double prevalence;
    const char *truths, *rows;
    int64_t replicates;
    bool intervals;
    const char *data, *target, *positive, *weights;
} robust_options;

typedef struct robust_population robust_population;
typedef struct robust_table robust_table;

typedef struct robust_study {
    const robust_options *options;
    uint64_t seed;
    size_t replicates, sizes, cells;
    size_t rows[ROBUST_SIZES]; /* of each label */
    int truths, truth[ROBUST_TRUTHS];
    int first, last;               /* methods */
    robust_population *population; /* [truths] */
    robust_table *table;           /* NULL: simulated */
    robust_outcome *outcome;       /* [cells][replicates][ROBUST_METHODS] */
} robust_study;

robust_outcome *robust_at(const robust_study *s, size_t cell, size_t replicate, int method);
/* The options of a method's fit, all but the prevalence. */
pv_fit_options robust_fit_options(const robust_study *s, int method, uint64_t replicate);

robust_population *robust_populations_new(const robust_study *s); /* [truths] */
void robust_populations_free(robust_population *population, int truths);
pv_status robust_replicate(pv_ctx *ctx, const robust_study *s, size_t cell, size_t replicate);

/* robust_table.c: a table that is a population of its own. */
int robust_table_read(cli_call *call, robust_study *s);
const pv_table *robust_table_of(const robust_table *table);
void robust_table_free(cli_call *call, robust_table *table);
pv_status robust_table_replicate(pv_ctx *ctx, const robust_study *s, size_t cell, size_t replicate);

int robust_report(cli_call *call, const robust_study *s);

#endif
