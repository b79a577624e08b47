/* lab/calibration/calibration.h: results of the calibration study, computed by calibration.c and calibration_nodules.c
 * and reported by calibration_report.c and _pictures.c. */
#ifndef PREVAIL_LAB_CALIBRATION_CALIBRATION_H
#define PREVAIL_LAB_CALIBRATION_CALIBRATION_H

#include "prevail/prevail.h"
#include "lab/common/judge.h"
#include "lab/common/study.h"
#include "tool/command.h"

enum { CAL_FEATURES = 7, CAL_COEFFICIENTS = 8, CAL_PREVALENCES_MAX = 8 };
enum { CAL_PLUGIN, CAL_PROFILE, CAL_KNOWN, CAL_IW, CAL_PLAIN, CAL_FITTED, CAL_TRUTH = CAL_FITTED, CAL_METHODS };

extern const char *const cal_method[CAL_METHODS]; /* "ig, plug-in" */
extern const char *const cal_key[CAL_METHODS];    /* "ig_plugin" */
extern const pv_ink cal_ink[CAL_METHODS];

/* What is measured for each fit. Held-out: on rows sampled like the training rows. Population: on a large draw of the
 * true population, where each row has its true probability. */
#define CAL_QUANTITY_LIST(X)                                                                                           \
    X(ell, "expected log-likelihood in the true population, estimated on held-out rows")                               \
    X(accuracy, "held-out, predictions adapted to the label shares there")                                             \
    X(tnr, "true negative rate, held-out, adapted")                                                                    \
    X(tpr, "true positive rate, held-out, adapted")                                                                    \
    X(npv, "negative predictive value, held-out, adapted")                                                             \
    X(ppv, "positive predictive value, held-out, adapted")                                                             \
    X(auc, "area under the ROC curve, held-out")                                                                       \
    X(own_accuracy, "held-out, predictions as they hold in the true population")                                       \
    X(own_tnr, "true negative rate, held-out, not adapted")                                                            \
    X(own_tpr, "true positive rate, held-out, not adapted")                                                            \
    X(inferred, "share of positives that the held-out rows tell, variational, true:1")                                 \
    X(inferred_accuracy, "held-out, predictions adapted to that share")                                                \
    X(inferred_tnr, "true negative rate, held-out, adapted to that share")                                             \
    X(inferred_tpr, "true positive rate, held-out, adapted to that share")                                             \
    X(inferred_npv, "negative predictive value, held-out, adapted to that share")                                      \
    X(inferred_ppv, "positive predictive value, held-out, adapted to that share")                                      \
    X(nll, "log-loss, held-out, adapted")                                                                              \
    X(ece, "expected calibration error, held-out, adapted")                                                            \
    X(gap_fpr, "largest difference of expected and empirical FPR, held-out, adapted")                                  \
    X(gap_fnr, "largest difference of expected and empirical FNR, held-out, adapted")                                  \
    X(marginal, "p(Y=1|w) over the stated prevalence")                                                                 \
    X(in_the_large, "population: expected over actual share of positives")                                             \
    X(slope, "population: slope of the true log odds on the predicted; 1 is right")                                    \
    X(gap_fpr_population, "population: largest difference of expected and true FPR")                                   \
    X(gap_fnr_population, "population: largest difference of expected and true FNR")                                   \
    X(lost, "population: share of the information in the covariates that is lost")

enum {
#define ENTRY(name, text) CAL_##name,
    CAL_QUANTITY_LIST(ENTRY)
#undef ENTRY
        CAL_QUANTITIES
};
extern const char *const cal_quantity[CAL_QUANTITIES], *const cal_quantity_text[CAL_QUANTITIES];

/* Stored in checkpoints byte by byte, so without padding. */
typedef struct cal_outcome {
    int64_t done;
    double value[CAL_QUANTITIES];                        /* NaN if undefined */
    double mean[CAL_COEFFICIENTS], sd[CAL_COEFFICIENTS]; /* of the posterior; sd NaN without one */
    double covered[CAL_COEFFICIENTS];         /* 1: the 90 % interval covers the truth, 0: it does not, NaN */
    judge_bins training, heldout, population; /* log, linear, log scale */
} cal_outcome;

enum { CAL_CURVE = 101 };

typedef struct calibration_options {
    study_options shared;
    const char *prevalences, *prevalence_n;
    double strength;
    int64_t draws, replicates, population_rows;
    const char *data, *target;
    int64_t splits;
    study_vi vi;
} calibration_options;

typedef struct calibration {
    const calibration_options *options;
    size_t replicates;
    double prevalence[CAL_PREVALENCES_MAX];
    size_t prevalences;
    const char *prevalence_n, *prior; /* as text */
    double truth[CAL_PREVALENCES_MAX][CAL_COEFFICIENTS];
    pv_table *population[CAL_PREVALENCES_MAX]; /* without labels: only its features are used */
    cal_outcome *outcome;                      /* [replicates][prevalences][CAL_METHODS] */
    judge_rates *curve; /* [prevalences][CAL_METHODS][CAL_CURVE], for the first data set, at thresholds 0, 0.01, .. */
} calibration;

cal_outcome *cal_at(const calibration *c, size_t replicate, size_t prevalence, int method);
/* Mean over data sets and its standard error; returns how many define it. And the median. */
size_t cal_mean(const calibration *c, size_t prevalence, int method, int quantity, double *mean, double *error);
double cal_median(const calibration *c, size_t prevalence, int method, int quantity);
/* The true coefficient and, over data sets, mean and standard deviation of its estimate, mean posterior standard
 * deviation and coverage. */
typedef struct cal_coefficient {
    double truth, mean, spread, sd, coverage;
} cal_coefficient;
cal_coefficient cal_coefficient_of(const calibration *c, size_t prevalence, int method, int index);
extern const char *const cal_feature[CAL_COEFFICIENTS];
/* Bins summed over data sets, without those for which a method failed. */
enum { CAL_TRAINING_ROWS, CAL_HELDOUT_ROWS, CAL_POPULATION_ROWS, CAL_PARTS };
extern const char *const cal_part[CAL_PARTS];
judge_bins cal_bins(const calibration *c, size_t prevalence, int method, int part);

/* Options of one method's fit. stated: "1=0.01". */
pv_fit_options cal_fit_options(const calibration_options *options, int method, const char *stated,
                               const char *prevalence_n, const char *prior, int64_t seed);

/* ---- real nodules: calibration_nodules.c ------------------------------------------------------------------------- */

enum { NOD_METHODS = CAL_FITTED + 1, NOD_UNCORRECTED = CAL_FITTED }; /* and plain without correction */
#define NOD_QUANTITY_LIST(X)                                                                                           \
    X(nll, "mean log-loss at the natural prevalence")                                                                  \
    X(brier, "mean squared error")                                                                                     \
    X(auc, "area under the ROC curve")                                                                                 \
    X(ece, "expected calibration error")                                                                               \
    X(in_the_large, "expected over actual number of positives")                                                        \
    X(slope, "slope of observed on predicted log odds; 1 is right")                                                    \
    X(gap_fpr, "largest difference of expected and empirical FPR")                                                     \
    X(gap_fnr, "largest difference of expected and empirical FNR")

enum {
#define ENTRY(name, text) NOD_##name,
    NOD_QUANTITY_LIST(ENTRY)
#undef ENTRY
        NOD_QUANTITIES
};
extern const char *const nod_quantity[NOD_QUANTITIES], *const nod_quantity_text[NOD_QUANTITIES];
const char *nod_method(int method);

typedef struct nodules {
    const char *path;
    size_t rows, positives, splits;
    size_t trained, judged; /* rows of each split */
    double prevalence;
    double *value;    /* [splits][NOD_METHODS][NOD_QUANTITIES] */
    judge_bins *bins; /* [splits][NOD_METHODS], linear scale */
} nodules;

int calibration_nodules(cli_call *call, const calibration_options *options, const char *prevalence_n, nodules *result);
void nodules_clear(nodules *result);
size_t nod_mean(const nodules *n, int method, int quantity, double *mean, double *sd);

/* ---- report and figures ------------------------------------------------------------------------------------------ */

int calibration_report(cli_call *call, const calibration *c, const nodules *real);
/* (calibration_ratios.c) The figure of log odds ratios for one data set, fitted at every prevalence. */
int calibration_ratios(cli_call *call, const calibration *c);
int calibration_pictures(cli_call *call, const calibration *c, const nodules *real);

#endif
