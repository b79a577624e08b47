/* lab/sets/sets.h: the study of sets of labels and refer regions: what sets.c runs, sets_sample.c draws and
 * sets_report.c prints. */
#ifndef PREVAIL_LAB_SETS_SETS_H
#define PREVAIL_LAB_SETS_SETS_H

#include "lab/common/study.h"
#include "prevail/prevail.h"
#include "tool/command.h"

/* X(NAME, "as it is written", "what it is") */
#define SETS_KIND_LIST(X)                                                                                              \
    X(RIGHT, "right",                                                                                                  \
      "two labels, a normal score, 2.2 standard deviations apart; the model is right at a prevalence of 0.01")         \
    X(WRONG, "wrong", "the same score; the model's probability goes up and down with it")                              \
    X(TIES, "ties", "the same score; the probability is rounded to one digit")                                         \
    X(UNITS, "units", "the same score; five rows a person, correlated 0.8; one row of each is used")                   \
    X(LABELS, "labels", "three labels, two normal scores; the model is right")
typedef enum sets_kind {
#define SETS_KIND_ENUM(name, word, text) SETS_##name,
    SETS_KIND_LIST(SETS_KIND_ENUM)
#undef SETS_KIND_ENUM
        SETS_KINDS
} sets_kind;
extern const char *const sets_kind_name[SETS_KINDS], *const sets_kind_text[SETS_KINDS];

enum {
    SETS_MOST = 8,
    SETS_LABEL_MOST = 3,
    SETS_SHIFTS = 3,
    SETS_PERSON = 5,
    SETS_POPULATION = 400000,
    SETS_SEEN = 20000
};
extern const double sets_shift[SETS_SHIFTS]; /* prevalences of the last label */

typedef struct sets_options {
    study_options shared;
    const char *kinds, *rows, *refer;
    int64_t replicates;
    double coverage, low, high;
} sets_options;

typedef struct sets_cell {
    sets_kind kind;
    double rows[2]; /* calibration rows, or persons, of each label but the last, and of the last */
} sets_cell;

/* A large sample of each label, in whose place the population stands. */
typedef struct sets_truth {
    int labels;
    double *own[SETS_LABEL_MOST];  /* [SETS_POPULATION], p(y) of label y, sorted */
    double *last[SETS_LABEL_MOST]; /* [SETS_POPULATION], p(last) of label y, sorted */
    double *seen[SETS_LABEL_MOST]; /* [SETS_SEEN][labels], p of label y */
} sets_truth;

/* One calibration sample. Kept as it is, so without padding. */
typedef struct sets_outcome {
    double done, cover[SETS_LABEL_MOST], at[SETS_SHIFTS], several, pooled[2], pooled_at;
    double wrong, called, plain; /* refer: a wrong share is above the wanted one; share called; wrong, by plug-in */
} sets_outcome;

typedef struct sets_study {
    const sets_options *options;
    uint64_t seed;
    size_t replicates, cells;
    sets_cell *cell;
    sets_outcome *outcome; /* [cells][replicates] */
    sets_truth truth[SETS_KINDS];
} sets_study;

/* (sets_sample.c) */
PV_MUST_USE pv_status sets_truth_of(pv_ctx *ctx, sets_study *s, sets_kind kind);
void sets_truth_free(sets_truth *truth);
PV_MUST_USE pv_status sets_replicate(pv_ctx *ctx, const sets_study *s, const sets_cell *cell, size_t index,
                                     sets_outcome *to);
/* (sets_report.c) */
int sets_report(cli_call *call, const sets_study *s);

#endif
