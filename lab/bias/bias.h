/* lab/bias/bias.h: the results of the bias study, computed by bias.c and reported by bias_report.c. */
#ifndef PREVAIL_LAB_BIAS_BIAS_H
#define PREVAIL_LAB_BIAS_BIAS_H

#include "prevail/prevail.h"
#include "lab/common/study.h"
#include "tool/command.h"

/* A quantity: its key in files, its column title in printed tables, its description. */
typedef struct bias_column {
    const char *name, *title, *text;
} bias_column;

/* ---- section 2: one balanced sample, one prevalence -------------------------------------------------------------- */

enum { LEAD_PLAIN, LEAD_MOVED, LEAD_CORRECTED, LEAD_IW, LEAD_IG, LEAD_BENIGN, LEAD_RULES };
extern const char *const lead_rule[LEAD_RULES];
extern const char *const lead_key[LEAD_RULES];

#define LEAD_QUANTITY_LIST(X)                                                                                          \
    X(lab_accuracy, "lab acc", "accuracy in a balanced population")                                                    \
    X(accuracy, "acc", "accuracy in the true population")                                                              \
    X(tpr, "tpr", "true positive rate")                                                                                \
    X(tnr, "tnr", "true negative rate")                                                                                \
    X(ppv, "ppv", "positive predictive value in the true population")                                                  \
    X(npv, "npv", "negative predictive value in the true population")                                                  \
    X(called, "called", "share of the true population called malignant")                                               \
    X(in_the_large, "E/O", "malignant nodules expected from the probabilities, over those there are")

enum {
#define ENTRY(name, title, text) LEAD_##name,
    LEAD_QUANTITY_LIST(ENTRY)
#undef ENTRY
        LEAD_QUANTITIES
};
extern const bias_column lead_column[LEAD_QUANTITIES];

enum { LEAD_BINS = 25, LEAD_PREVALENCES = 5 };
extern const double lead_prevalence[LEAD_PREVALENCES];

/* ---- three kinds of selection ------------------------------------------------------------------------------------ */

enum { SELECT_NONE, SELECT_LABEL, SELECT_FEATURE, SELECT_BOTH, SELECTIONS };
extern const char *const bias_selection[SELECTIONS], *const bias_selection_text[SELECTIONS];
enum { BIAS_PLAIN, BIAS_CORRECTED, BIAS_IW, BIAS_PLUGIN, BIAS_PROFILE, BIAS_METHODS };
extern const char *const bias_method[BIAS_METHODS], *const bias_key[BIAS_METHODS];
extern const pv_ink bias_ink[BIAS_METHODS];

#define BIAS_QUANTITY_LIST(X)                                                                                          \
    X(share, "share", "share of positives in the sample")                                                              \
    X(intercept, "off", "intercept less the true one")                                                                 \
    X(x1, "x1", "slope of x1 over the true one")                                                                       \
    X(x2, "x2", "slope of x2 over the true one")                                                                       \
    X(in_the_large, "E/O", "positives expected in the population over those there are")                                \
    X(slope, "slope", "slope of the true log odds on the predicted; 1 is right")                                       \
    X(lost, "lost", "share of the information in the features that is lost")

enum {
#define ENTRY(name, title, text) BIAS_##name,
    BIAS_QUANTITY_LIST(ENTRY)
#undef ENTRY
        BIAS_QUANTITIES
};
extern const bias_column bias_quantity[BIAS_QUANTITIES];

/* ---- both -------------------------------------------------------------------------------------------------------- */

typedef struct bias_options {
    study_options shared;
    double prevalence;
    int64_t replicates;
} bias_options;

typedef struct bias {
    const bias_options *options;
    double prevalence;
    size_t replicates;
    double *lead;                             /* [replicates][LEAD_RULES][LEAD_QUANTITIES] */
    double histogram[2][2][LEAD_BINS];        /* for the first data set: plain, ig; benign, malignant; densities */
    double threshold;                         /* the shifted operating point of the first data set */
    double *selected;                         /* [replicates][SELECTIONS][BIAS_METHODS][BIAS_QUANTITIES] */
    pv_table *sample[SELECTIONS];             /* for the first data set */
    double line[SELECTIONS][BIAS_METHODS][3]; /* coefficients fitted to it */
    double truth[3];
} bias;

/* Mean over data sets and its standard error. */
size_t lead_mean(const bias *b, int rule, int quantity, double *mean, double *error);
size_t bias_mean(const bias *b, int selection, int method, int quantity, double *mean, double *error);
int bias_report(cli_call *call, const bias *b);

#endif
