/* cli/classifier.h: a classifier as text: coefficients and classes, posterior summaries, the course of
 * training.
 */
#ifndef PREVAIL_CLI_CLASSIFIER_H
#define PREVAIL_CLI_CLASSIFIER_H

#include "prevail/prevail.h"
#include "tool/command.h"
#include "tool/json.h"

/* ---- classifier.c ------------------------------------------------------------------------------------------------ */

/* details: also the probability of the sign. */
void cli_print_coefficients(const pv_classifier *classifier, const pv_summary *summary, bool details);
void cli_print_classes(const pv_classifier *classifier, const pv_summary *summary);
/* How many units of its column an odds ratio is shown for: 1, or a power of ten if one unit is tiny or huge. */
double cli_odds_unit(const pv_spread *log_odds);
void cli_unit_text(double unit, char *text, size_t size);
void cli_print_unit(double unit); /* prints nothing for 1 */
/* Prints `title` and the errors of the training labels; nothing if there are none. */
void cli_print_label_error(const pv_classifier *classifier, const char *title);
/* Whether the model has a single prior. The members of a mixture have their own, and trees have none. */
static inline bool cli_has_prior(const pv_classifier *classifier) {
    return !classifier->stacked && !classifier->boosted;
}
/* The prior on slopes that the fit used, from its record; empty: no single prior. The caller frees. */
char *cli_prior(pv_ctx *ctx, const pv_classifier *classifier, bool *chosen);

/* ---- estimates.c: the efficient and the weighted estimate of a linear model -------------------------------------- */

/* Prints `title` and the estimate in use; nothing if there is only one. */
void cli_print_estimate(const pv_classifier *classifier, const pv_summary *summary, const char *title);
/* These print nothing if there is only one. details: the weight of each. */
void cli_print_adequacy(
    const pv_classifier *classifier); /* which estimate is in use, and whether the linear model is adequate */
void cli_print_estimates(const pv_classifier *classifier, const pv_summary *summary, bool details);

/* ---- stacked.c: the mixture of `model=auto` ---------------------------------------------------------------------- */

void cli_print_stacked(const pv_classifier *classifier); /* prints a table, or nothing */

/* ---- boosted.c: the trees of `model=trees` -------------------------------------------------------------------------
 */

void cli_print_boosted(const pv_classifier *classifier); /* prints nothing for other models */

/* ---- smoothing.c: additive models -------------------------------------------------------------------------------- */

void cli_print_smoothing(const pv_classifier *classifier); /* prints a table, or nothing */

/* ---- posterior.c: diagnostics of the engine ---------------------------------------------------------------------- */

#define CLI_LEVEL 0.95 /* of intervals, unless the user chooses another */

/* The --interval option; if fallback is NULL, the level is 0, which means no intervals. */
#define CLI_OPTION_INTERVAL(type, field, fallback, what)                                                               \
    { "interval", PV_OPTION_REAL, offsetof(type, field), fallback, 0.001, 0.9999, NULL, "LEVEL", what }

void cli_print_posterior(const pv_classifier *classifier); /* prints a line, or nothing */

/* ---- trace.c: the course of minibatch training ------------------------------------------------------------------- */

/* Writes the classifier's trace as CSV; does nothing if path is NULL. */
int cli_trace_write(cli_call *call, const char *path, const pv_classifier *classifier);

#endif
