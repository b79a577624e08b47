/* src/effect/effect.h: what the files of this part share. A table becomes rows in which everyone has one value of the
 * exposure (exposure.c); a fit and those rows become standardised risks with their influence by row (standardise.c);
 * functions of the risks become estimates with intervals (contrast.c), which make the result.
 */
#ifndef PV_SRC_EFFECT_H
#define PV_SRC_EFFECT_H

#include "base/value.h"
#include "infer/both.h"
#include "infer/combined.h"
#include "prevail/effect.h"

enum { PV__EFFECT_LEVELS = 50, PV__EFFECT_GROUPS = 50 };

/* ---- exposure.c -------------------------------------------------------------------------------------------------- */

/* The rows of the fit as they are, and with everyone at each value of the exposure. */
typedef struct pv__exposure {
    pv_ctx *ctx;
    const pv_effect_options *options;
    const pv_schema *schema;
    const pv_roles *roles;
    const pv_dataset *data;
    pv_table *rows; /* the table's rows that the fit uses */
    size_t column;  /* of the exposure in it */
    size_t levels;  /* the first is what the others are compared with */
    char *level[PV__EFFECT_LEVELS];
    pv_dataset *set[PV__EFFECT_LEVELS];
    size_t groups; /* of `by`; 0: none */
    char **group;
    int32_t *of; /* [rows] */
} pv__exposure;
PV_MUST_USE pv_status pv__exposure_find(pv__exposure *e, const pv_table *table);
void pv__exposure_clear(pv__exposure *e);
/* The rows of a group (-1: all) that have a level; -1: the exposure is a number, and the level within its range; -2:
 * outside it. */
double pv__exposure_rows(const pv__exposure *e, int32_t group, size_t level);

/* ---- standardise.c ----------------------------------------------------------------------------------------------- */

/* Risks of each row at a parameter w. */
typedef struct pv__risks {
    const double *w; /* borrowed */
    double *own;     /* [rows], as the row is */
    double *set;     /* [levels][rows] */
} pv__risks;

/* An estimate: coefficients, and weights of the rows for p(x) of the population. */
typedef struct pv__way {
    const pv__side *side;
    pv__risks risks;
    double *theta; /* [rows], of one person; they sum to 1 over people */
    double *tilt;  /* [rows], the derivative of log theta by the row's log odds; NULL: weights of the labels alone */
    double *lift;  /* [2][rows], its derivatives by log pi of each label; with tilt */
} pv__way;

typedef struct pv__standard {
    pv_ctx *ctx;
    const pv__exposure *exposure;
    const pv__problem *problem;
    pv__both *both;
    size_t rows;
    bool has_linear; /* there is an efficient estimate */
    pv__way weighted, linear;
    pv__risks point; /* of the estimate that predictions use */
    double *extra;   /* [2][P][P], covariances of the two by the prior's scale */
    double *room;    /* [rows][PV__MEASURES] */
    double *ones;    /* [rows] */
} pv__standard;

/* risk: as it is; from, to: standardised; the rest are functions of these. */
enum {
    PV__RISK,
    PV__RISK_FROM,
    PV__RISK_TO,
    PV__DIFFERENCE,
    PV__RATIO,
    PV__ODDS_RATIO,
    PV__ATTRIBUTABLE,
    PV__MEASURES
};

/* Values on the scale of the interval (risks: logit; ratios: log; attributable: log(1 - fraction)), their variances and
 * degrees of freedom. */
typedef struct pv__measured {
    double value[PV__MEASURES], variance[PV__MEASURES], df[PV__MEASURES];
} pv__measured;

PV_MUST_USE pv_status pv__standard_new(pv_ctx *ctx, const pv__exposure *exposure, const pv__problem *problem,
                                       const pv_classifier *classifier, pv__standard *s);
void pv__standard_free(pv__standard *s); /* must be called also on failure */
/* Of group (-1: all) and level against the first. */
void pv__standard_value(const pv__standard *s, const pv__way *way, const pv__risks *risks, int32_t group, size_t level,
                        double value[PV__MEASURES]);
PV_MUST_USE pv_status pv__standard_measure(pv__standard *s, const pv__way *way, int32_t group, size_t level,
                                           pv__measured *found);
double pv__standard_prevalence(const pv__standard *s);
/* The share of the population in a group. */
double pv__standard_share(const pv__standard *s, int32_t group);

/* ---- contrast.c -------------------------------------------------------------------------------------------------- */

/* The effects as a result; use: the estimate that the fit uses. */
PV_MUST_USE pv_status pv__effect_result(pv__standard *s, const pv_classifier *classifier, pv_result **result);

#endif
