/* src/size/size.h: what the files of this part share. Settings become a problem (size.c), whose scores are those of two
 * normal distributions (size_scores.c) or of a pilot (size_pilot.c). At a ratio of controls to cases the problem has
 * variances per row and an R2 (size_variances.c) and a calibration slope (size_slope.c), and these give the rows that
 * each criterion needs (size_criteria.c), the best ratio (size_ratio.c), and the result (size_result.c, size_text.c).
 */
#ifndef PV_SRC_SIZE_H
#define PV_SRC_SIZE_H

#include "base/value.h"
#include "prevail/size.h"

/* X(NAME, "key", "title"), in the order of the table. */
#define PV__SIZE_CRITERIA(X)                                                                                           \
    X(SHRINKAGE, "shrinkage", "shrinkage")                                                                             \
    X(OPTIMISM, "optimism", "optimism of Nagelkerke's R2")                                                             \
    X(SLOPE, "slope", "calibration slope")                                                                             \
    X(MARGIN, "margin", "margin of the prevalence")                                                                    \
    X(AUC, "auc_width", "width, AUC")                                                                                  \
    X(RISK, "risk_width", "width, risk at the threshold")                                                              \
    X(PPV, "ppv_width", "width, PPV")                                                                                  \
    X(BENEFIT, "benefit_width", "width, net benefit")                                                                  \
    X(POWER, "power", "power, odds ratio")
typedef enum pv__size_criterion {
#define PV__SIZE_ENUM(name, key, title) PV__SIZE_##name,
    PV__SIZE_CRITERIA(PV__SIZE_ENUM)
#undef PV__SIZE_ENUM
        PV__SIZE_COUNT
} pv__size_criterion;

/* FEWEST: parameters for which a limit of many tells the slope. */
enum { PV__SIZE_NODES = 200, PV__SIZE_EXPOSURES = 48, PV__SIZE_FEWEST = 4 };

/* Log-likelihood ratios of cases against controls: points in rising order, with their share of the controls, mass[0],
 * and of the cases, mass[1]. */
typedef struct pv__size_scores {
    size_t points;
    double *score, *mass[2];
    double distance; /* normal: the difference of the means in standard deviations; 0: a pilot's */
    double auc;
    double placement[2]; /* variance of the share of the other label that a control, a case is ranked above */
    double people[2];    /* of the pilot; 0: there is none */
} pv__size_scores;

/* An exposure: values, their log-likelihood ratios, their shares of controls and cases. */
typedef struct pv__size_exposure {
    size_t points;
    double value[PV__SIZE_EXPOSURES], ratio[PV__SIZE_EXPOSURES], mass[2][PV__SIZE_EXPOSURES];
} pv__size_exposure;

typedef struct pv__size_problem {
    pv_ctx *ctx;
    const pv_size_options *options;
    bool has_scores, cohort; /* the sample itself tells the prevalence */
    bool wanted[PV__SIZE_COUNT];
    double goal[PV__SIZE_COUNT];
    double prevalence, prevalence_n; /* infinite: known */
    double z;                        /* of the level */
    double parameters;
    pv__size_scores scores;
    pv__size_exposure exposure;
    double beta;    /* log odds ratio of the exposure */
    double at;      /* score of the threshold */
    double rate[2]; /* share of controls, of cases at or above it */
} pv__size_problem;

/* At a ratio. A variance of n rows is each/n + fixed. */
typedef struct pv__size_variance {
    double each, fixed;
} pv__size_variance;
typedef struct pv__size_design {
    bool cohort;
    double ratio, share[2]; /* of controls, of cases */
    double r2, r2_most;     /* Cox and Snell's, and its largest value */
    pv__size_variance auc, risk, ppv, benefit, odds;
} pv__size_design;

/* Rows of a design. */
typedef struct pv__size_rows {
    double ratio, total, cases, controls, cost;
    int binding; /* criterion; -1: none, the cases are given */
} pv__size_rows;

/* ---- size_scores.c ----------------------------------------------------------------------------------------------- */

/* Normal scores. Room for PV__SIZE_NODES points must be there. */
void pv__size_normal(double auc, pv__size_scores *scores);
PV_MUST_USE pv_status pv__size_scores_new(pv_ctx *ctx, size_t points, pv__size_scores *scores);
void pv__size_scores_clear(pv_ctx *ctx, pv__size_scores *scores);
/* Share of the rows of each label at or above a score. */
void pv__size_rates(const pv__size_scores *scores, double at, double rate[2]);
/* Mean log-likelihood that the scores gain over the label's share, per row, where cases have that share. */
double pv__size_gain(const pv__size_scores *scores, double share);
/* Cox and Snell's R2 where cases have that share, and the largest one. */
double pv__size_r2(const pv__size_scores *scores, double share);
double pv__size_r2_most(double share);
/* The AUC of normal scores with this R2 at that share; NaN: none has. Uses scores as room. */
double pv__size_auc_of_r2(double r2, double share, pv__size_scores *scores);
void pv__size_expose(double odds_ratio, double exposure, pv__size_exposure *to);

/* ---- size_pilot.c ------------------------------------------------------------------------------------------------ */

PV_MUST_USE pv_status pv__size_pilot(pv_ctx *ctx, const pv_table *pilot, const pv_size_options *options,
                                     pv__size_scores *scores);

/* ---- size_variances.c -------------------------------------------------------------------------------------------- */

/* False: the information is singular. */
PV_MUST_USE bool pv__size_design_of(const pv__size_problem *p, double ratio, pv__size_design *design);

/* ---- size_criteria.c --------------------------------------------------------------------------------------------- */

/* Rows in all that a criterion needs; infinite: no number is enough; NaN: it is not wanted. */
double pv__size_needed(const pv__size_problem *p, const pv__size_design *d, pv__size_criterion criterion);
/* What a design of so many rows gives; NaN where it cannot be told. */
double pv__size_reached(const pv__size_problem *p, const pv__size_design *d, double rows, pv__size_criterion criterion);
/* Heuristic shrinkage that n rows give. */
double pv__size_shrinkage(double parameters, double r2, double rows);
/* ---- size_slope.c ------------------------------------------------------------------------------------------------ */

/* Expected calibration slope of a maximum-likelihood fit to normal scores a distance d apart; NaN: there is none. And
 * the rows in all for a slope. */
double pv__size_slope_of(double d, double share, double parameters, double rows);
double pv__size_rows_of_slope(double d, double share, double parameters, double slope);

/* A value and its interval by a normal interval, on the scale of log odds where logit is true. */
typedef struct pv__size_interval {
    double value, lo, hi, error;
} pv__size_interval;
pv__size_interval pv__size_interval_of(const pv__size_problem *p, double value, pv__size_variance v, double rows,
                                       bool logit);

/* ---- size_ratio.c ------------------------------------------------------------------------------------------------ */

/* The rows that all criteria need at a ratio; infinite totals where one cannot be met. */
PV_MUST_USE pv_status pv__size_rows_at(const pv__size_problem *p, double ratio, pv__size_rows *rows);
/* The ratio of least cost. */
PV_MUST_USE pv_status pv__size_best(const pv__size_problem *p, double *ratio);
/* By criterion: rows in all made whole, and split into cases and controls. */
void pv__size_split(const pv__size_problem *p, double ratio, double total, pv__size_rows *rows);
double pv__size_population_ratio(const pv__size_problem *p);

/* ---- size_result.c ----------------------------------------------------------------------------------------------- */

/* chosen: "best", "population" or "stated". margin: it is asked for. */
PV_MUST_USE pv_status pv__size_result(const pv__size_problem *p, const char *chosen, bool margin,
                                      const pv__size_rows *rows, pv_result **result);

#endif
