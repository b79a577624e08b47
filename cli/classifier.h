/* cli/classifier.h: a classifier in words and as JSON: its coefficients and classes, what draws say, how training went.
 */
#ifndef PREVAIL_CLI_CLASSIFIER_H
#define PREVAIL_CLI_CLASSIFIER_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

/* ---- classifier.c ------------------------------------------------------------------------------------------------ */

/* Name and value of each coefficient, in the order of the output; with a posterior its mean, standard deviation and
 * central interval of the given level. details: odds ratios and the probability of the sign as well. */
int cli_json_coefficients(cli_call *call, const pv_classifier *classifier, double level, bool details,
                          json_t **object); /* NULL: not linear */
int cli_print_coefficients(cli_call *call, const pv_classifier *classifier, double level, bool details);
void cli_print_classes(const pv_classifier *classifier, double level);
json_t *cli_json_marginal(const pv_classifier *classifier);      /* {label: p(y|w)}, the posterior's mean of it */
json_t *cli_json_prevalence(const pv_classifier *classifier);    /* {label: p}; null where not stated */
json_t *cli_json_prevalence_n(const pv_classifier *classifier);  /* a number, "known", or null */
json_t *cli_json_marginal_kind(const pv_classifier *classifier); /* null but for ig */
json_t *cli_json_sample(const pv_classifier *classifier);        /* {source, rows, estimated}; null: none */

/* ---- posterior.c: what draws say --------------------------------------------------------------------------------- */

#define CLI_LEVEL 0.9 /* of the intervals shown where none is asked for */

/* The level of --interval; a fallback of NULL leaves 0, which is no level. */
#define CLI_OPTION_INTERVAL(type, field, fallback, what)                                                               \
    { "interval", PV_OPTION_REAL, offsetof(type, field), fallback, 0.001, 0.9999, NULL, "LEVEL", what }

typedef struct cli_spread {
    double mean, sd;
    double lo, hi; /* central interval */
    double sign;   /* share of the draws on the mean's side of zero */
} cli_spread;

/* Each coefficient's, [classes-1][1 + features] on the scale of the table; the caller frees. Linear, with a posterior.
 */
int cli_coefficient_spreads(cli_call *call, const pv_classifier *classifier, double level, cli_spread **spreads);
/* Each parameter's, [pv_model_params], as the model has them. The caller frees. */
cli_spread *cli_parameter_spreads(const pv_classifier *classifier, double level);
/* p(y|w), [classes]. Without a posterior the mean is the estimate's and the rest NaN. */
void cli_marginal_spreads(const pv_classifier *classifier, double level, cli_spread *spreads);
/* Sets posterior, posterior_stop, draws, elbo and so on; nothing without a posterior. */
void cli_json_posterior(json_t *object, const pv_classifier *classifier, double level);
void cli_print_posterior(const pv_classifier *classifier);       /* a line, or nothing */
const char *cli_posterior_name(const pv_classifier *classifier); /* "vi" */
double cli_rhat_max(const pv_posterior *posterior);              /* NaN where it has none */
double cli_ess_min(const pv_posterior *posterior);

/* ---- trace.c: how minibatch training went ------------------------------------------------------------------------ */

/* Writes the classifier's trace as CSV; a path of NULL: nothing. */
int cli_trace_write(cli_call *call, const char *path, const pv_classifier *classifier);

#endif
