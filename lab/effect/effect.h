/* lab/effect/effect.h: the study of effects in the population: what effect.c runs, effect_sample.c draws and
 * effect_report.c prints. */
#ifndef PREVAIL_LAB_EFFECT_EFFECT_H
#define PREVAIL_LAB_EFFECT_EFFECT_H

#include "lab/common/study.h"
#include "prevail/prevail.h"
#include "tool/command.h"

/* X(NAME, "as it is written", "what it is") */
#define EFFECT_KIND_LIST(X)                                                                                            \
    X(RIGHT, "right", "the log odds are linear in exposure and covariate, as the model has them")                      \
    X(SQUARE, "square", "they have 0.3 x^2 as well, which the model leaves out")                                       \
    X(PRODUCT, "product", "the exposure's log odds ratio is 0.7 + 0.5 x, and the model has one for all")               \
    X(CLUSTERS, "clusters", "right, in clusters of four rows of one label that are alike (correlation 0.5)")           \
    X(STATED, "stated", "right, with a prevalence from 1000 observations, or 10 over the prevalence if that is more")
typedef enum effect_kind {
#define EFFECT_KIND_ENUM(name, word, text) EFFECT_##name,
    EFFECT_KIND_LIST(EFFECT_KIND_ENUM)
#undef EFFECT_KIND_ENUM
        EFFECT_KINDS
} effect_kind;
extern const char *const effect_kind_name[EFFECT_KINDS], *const effect_kind_text[EFFECT_KINDS];

enum { EFFECT_MOST = 8, EFFECT_MEASURES = 3, EFFECT_CLUSTER = 4 };
extern const char *const effect_measure[EFFECT_MEASURES]; /* of the result */

typedef struct effect_options {
    study_options shared;
    const char *kinds, *prevalences, *rows;
    int64_t replicates;
} effect_options;

/* The measures that hold in the population, and those of the linear model that is closest to it. */
typedef struct effect_cell {
    effect_kind kind;
    double prevalence;
    size_t rows; /* of each label */
    double truth[EFFECT_MEASURES], closest[EFFECT_MEASURES];
    double *mass; /* of the population's cells, shared by cells of a kind and a prevalence */
} effect_cell;

/* One sample. Kept as it is, so without padding. held: the interval has the closest model's value; linear: that of the
 * efficient estimate has the truth. width: of the difference's intervals over the true difference. */
typedef struct effect_outcome {
    double done, value[EFFECT_MEASURES], held[EFFECT_MEASURES], truly[EFFECT_MEASURES], linear[EFFECT_MEASURES], width,
        linear_width;
} effect_outcome;

typedef struct effect_study {
    const effect_options *options;
    uint64_t seed;
    size_t replicates, cells;
    effect_cell *cell;
    effect_outcome *outcome; /* [cells][replicates] */
} effect_study;

/* (effect_sample.c) Sets mass, truth and closest of a cell. */
void effect_population(effect_cell *cell);
PV_MUST_USE pv_status effect_replicate(pv_ctx *ctx, const effect_study *s, const effect_cell *cell, size_t index,
                                       effect_outcome *to);
/* (effect_report.c) */
int effect_report(cli_call *call, const effect_study *s);

#endif
