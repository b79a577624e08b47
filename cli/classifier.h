/* cli/classifier.h: a classifier in words and as JSON: its coefficients and classes, what draws say, how training went.
 */
#ifndef PREVAIL_CLI_CLASSIFIER_H
#define PREVAIL_CLI_CLASSIFIER_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

/* ---- classifier.c ------------------------------------------------------------------------------------------------ */

/* Name and value of each coefficient, in the order of the output; with a posterior its mean, standard deviation and
 * interval. details: odds ratios and the probability of the sign as well. */
json_t *cli_json_coefficients(const pv_classifier *classifier, const pv_summary *summary,
                              bool details); /* NULL: not linear */
void cli_print_coefficients(const pv_classifier *classifier, const pv_summary *summary, bool details);
void cli_print_classes(const pv_classifier *classifier, const pv_summary *summary);
json_t *cli_json_marginal(const pv_classifier *classifier, const pv_summary *summary); /* {label: p(y|w)}, its mean */
json_t *cli_json_prevalence(const pv_classifier *classifier);    /* {label: p}; null where not stated */
json_t *cli_json_prevalence_n(const pv_classifier *classifier);  /* a number, "known", or null */
json_t *cli_json_marginal_kind(const pv_classifier *classifier); /* null but for ig */
/* The prior on slopes that the fit used, from its record; empty: its members have their own. The caller frees. */
char *cli_prior(pv_ctx *ctx, const pv_classifier *classifier, bool *chosen);
json_t *cli_json_sample(const pv_classifier *classifier); /* {source, rows, estimated}; null: none */

/* ---- estimates.c: the efficient and the weighted estimate of a linear model -------------------------------------- */

/* A line with the estimate that the coefficients are, after title; nothing where there is one alone. */
void cli_print_estimate(const pv_classifier *classifier, const pv_summary *summary, const char *title);
/* Nothing where there is one alone. details: how much each counts. */
void cli_print_estimates(const pv_classifier *classifier, const pv_summary *summary, bool details);
json_t *cli_json_weighting(const pv_classifier *classifier); /* null there */

/* ---- stacked.c: what `model=auto` mixed -------------------------------------------------------------------------- */

void cli_print_stacked(const pv_classifier *classifier); /* a table, or nothing */
json_t *cli_json_stacked(const pv_classifier *classifier);

/* ---- posterior.c: how the engine fared --------------------------------------------------------------------------- */

#define CLI_LEVEL 0.95 /* of the intervals shown where none is asked for */

/* The level of --interval; a fallback of NULL leaves 0, which is no level. */
#define CLI_OPTION_INTERVAL(type, field, fallback, what)                                                               \
    { "interval", PV_OPTION_REAL, offsetof(type, field), fallback, 0.001, 0.9999, NULL, "LEVEL", what }

/* Sets posterior, posterior_stop, draws, elbo and so on; nothing without a posterior. */
void cli_json_posterior(json_t *object, const pv_classifier *classifier, const pv_summary *summary);
void cli_print_posterior(const pv_classifier *classifier); /* a line, or nothing */

/* ---- trace.c: how minibatch training went ------------------------------------------------------------------------ */

/* Writes the classifier's trace as CSV; a path of NULL: nothing. */
int cli_trace_write(cli_call *call, const char *path, const pv_classifier *classifier);

#endif
