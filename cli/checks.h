/* cli/checks.h: is the fit to be trusted? */
#ifndef PREVAIL_CLI_CHECKS_H
#define PREVAIL_CLI_CHECKS_H

#include "prevail/prevail.h"
#include "tool/command.h"

typedef struct cli_check {
    const char *name;
    const char *title; /* what is checked: "Why the optimiser stopped" */
    bool ok;
    double value;     /* NaN where there is none */
    char text[512];   /* what was found */
    char remedy[512]; /* empty where ok */
} cli_check;

enum { CLI_CHECKS_MAX = 16 };

typedef struct cli_checks {
    cli_check check[CLI_CHECKS_MAX];
    size_t count, failed;
} cli_checks;

/* Appends a check that is fine so far. */
cli_check *cli_check_add(cli_checks *checks, const char *name, const char *title, double value);
/* Says that it is not, and what to do. */
void cli_check_fail(cli_checks *checks, cli_check *check, const char *format, ...) PV_PRINTF(3, 4);

void cli_check_posterior(cli_checks *checks, const pv_classifier *classifier); /* the engine's own reports */
void cli_check_marginal(cli_checks *checks, const pv_classifier *classifier);  /* the prevalence in the model */
/* All that need no data. options: those recorded with the model. */
int cli_check_model(cli_call *call, cli_checks *checks, const pv_classifier *classifier, const pv_fit_options *options);

#endif
