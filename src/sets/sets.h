/* src/sets/sets.h: what the files of this part share. Calibration rows become sorted scores of each label
 * (sets_rows.c), from which come the thresholds of sets (sets.c) and of calls (regions.c), and the result
 * (sets_result.c).
 */
#ifndef PV_SRC_SETS_H
#define PV_SRC_SETS_H

#include "base/value.h"
#include "prevail/sets.h"

enum { PV__SETS_LABELS = 1000 };

/* Calibration rows of one label: distinct scores in ascending order, and how many people have at most each. */
typedef struct pv__sets_scores {
    size_t distinct;
    double *value; /* [distinct] */
    double *upto;  /* [distinct], cumulative counts */
    double people;
} pv__sets_scores;

typedef struct pv__sets_data {
    pv_ctx *ctx;
    const pv_sets_options *options;
    const pv_probs *probs;
    int classes;
    double *weight;         /* [rows], people; 0: another row of the unit is used */
    double *coverage;       /* [classes], wanted */
    double *error;          /* [classes], refer; NULL: no calls */
    double *prevalence[2];  /* [classes] each: of the population, at both ends of its interval; NULL: not stated */
    pv__sets_scores *own;   /* [classes], p(y) of the rows of label y */
    double *rank;           /* [classes], the threshold is that smallest of them */
    double *threshold;      /* [classes] */
    double (*size)[3];      /* [classes], people of the label whose set is empty, single, larger */
    double *labels_of_size; /* [classes], mean number of labels in the sets of the label's people */
} pv__sets_data;

/* ---- sets_rows.c ------------------------------------------------------------------------------------------------- */

/* Checks weights, keeps one row of each unit and label. */
PV_MUST_USE pv_status pv__sets_people(pv__sets_data *data, const int32_t *unit);
/* Scores sign * p[.][column] of the rows of label y, ascending. The caller frees with pv__sets_scores_free. */
PV_MUST_USE pv_status pv__sets_scores_of(const pv__sets_data *data, int y, int column, double sign,
                                         pv__sets_scores *scores);
void pv__sets_scores_free(pv_ctx *ctx, pv__sets_scores *scores);
/* People with a score of at most `value`. */
double pv__sets_upto(const pv__sets_scores *scores, double value);
/* Numbers by label, "0.9", "0.95,0.9" or "a=0.95,b=0.9", each from lo to hi. */
PV_MUST_USE pv_status pv__sets_by_label(const pv__sets_data *data, const char *option, const char *text, double lo,
                                        double hi, double *number);

/* ---- regions.c --------------------------------------------------------------------------------------------------- */

/* Which thresholds v keep the share of wrong ones among rows with a score <= v at most `error`, all of them at once,
 * with probability 1 - delta. right, wrong: scores of the rows of both labels; of_first: the right label is the first,
 * and scores are p of the second; else they are -p. odds: prevalence of the wrong label over that of the right one, at
 * its worst. */
typedef struct pv__sets_side {
    size_t candidates;
    double *at;       /* [candidates], ascending */
    bool *holds;      /* [candidates] */
    bool everyone;    /* the prevalence alone suffices for calling everyone */
    double tolerance; /* largest ratio of the wrong label's share below a threshold to the right one's */
} pv__sets_side;
PV_MUST_USE pv_status pv__sets_side_of(pv_ctx *ctx, const pv__sets_scores *right, const pv__sets_scores *wrong,
                                       bool of_first, double error, double odds, double delta, pv__sets_side *side);
void pv__sets_side_free(pv_ctx *ctx, pv__sets_side *side);
/* "refer" of the rule. */
PV_MUST_USE pv_status pv__sets_regions(const pv__sets_data *data, pv_result *warnings, pv_result **refer);

/* ---- sets_result.c ----------------------------------------------------------------------------------------------- */

pv_result *pv__sets_result(const pv__sets_data *data, pv_result *refer, pv_result *warnings);
void pv__sets_warn(pv_ctx *ctx, pv_result *list, const char *text);

#endif
