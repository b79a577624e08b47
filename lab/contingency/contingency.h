/* lab/contingency/contingency.h: posteriors over (eta0, eta1): exact by quadrature, and those that the study computes
 * and draws.
 */
#ifndef PREVAIL_LAB_CONTINGENCY_CONTINGENCY_H
#define PREVAIL_LAB_CONTINGENCY_CONTINGENCY_H

#include "prevail/prevail.h"
#include "lab/common/study.h"
#include "tool/command.h"

typedef struct contingency_options {
    study_options shared;
    const char *table;
    double prevalence;
    const char *prevalence_n;
    int64_t draws;
    bool hmc;
    study_vi vi;
} contingency_options;

/* ---- summary of a posterior over (eta0, eta1) -------------------------------------------------------------------- */

enum { STUDY_QUANTILES = 5 };
extern const double study_quantile[STUDY_QUANTILES];
enum { STUDY_LOR, STUDY_ETA0, STUDY_ETA1, STUDY_MEASURES }; /* log odds ratio eta1 - eta0 */

typedef struct study_numbers {
    double mean[STUDY_MEASURES], sd[STUDY_MEASURES];
    double quantile[STUDY_QUANTILES]; /* of the log odds ratio */
    double marginal;                  /* posterior mean of p(Y=1|w) */
} study_numbers;

/* Exact by quadrature. */
enum { STUDY_POINTS = 301 };
typedef struct study_exact {
    study_numbers numbers;
    double log_evidence;
    double lor[STUDY_POINTS], density[STUDY_POINTS]; /* of the log odds ratio */
} study_exact;

/* ---- quadrature.c ------------------------------------------------------------------------------------------------ */

/* dims = 2. */
PV_MUST_USE pv_status study_integrate(pv_ctx *ctx, const pv_density *density, study_exact *exact);
/* Computed from the mixture itself, without Monte Carlo error (marginal stays 0). dims = 2. */
void study_mixture_numbers(const pv_mixture *mixture, study_numbers *numbers);
double study_mixture_lor_density(const pv_mixture *mixture, double lor);

/* ---- one posterior, computed by contingency.c and drawn by contingency_pictures.c -------------------------------- */

/* The log odds ratio by sampling; mcse: the Monte Carlo standard error of its mean. */
typedef struct study_sampled {
    double mean, sd, mcse, ess, rhat;
} study_sampled;

typedef struct study_posterior {
    char name[40];       /* "ig_npr_10" */
    const char *loss;    /* "ig" */
    double prevalence_n; /* NaN: not used (plain, iw) */
    study_numbers vi;
    double elbo, elbo_se;
    pv_stop stop;
    pv_mixture mixture;
    size_t count;
    double *draws; /* [count][2] */
    study_exact exact;
    study_sampled hmc; /* with --hmc */
} study_posterior;

typedef struct study_table {
    double count[2][2]; /* [x][y] */
    double prevalence[2];
    double lor, lor_sd; /* frequentist; infinite or NaN if a cell is empty */
    size_t draws;       /* number of draws to show */
    size_t posteriors;
    study_posterior *posterior;
} study_table;

int study_contingency_pictures(cli_call *call, const study_table *table);

#endif
