/* Metrics of validations, as printed by cv and sweep. */
#include "cli/target.h"
#include "cli/validation.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *cli_metric_text(double value, char *text, size_t size) {
    if (isnan(value))
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%.4g", value);
    return text;
}

bool cli_metric_matters(const pv_metric_row *row, int classes) {
    static const char *const two[] = {"log_loss", "auc", "calibration_ratio", "calibration_slope", "information_gain"};
    static const char *const more[] = {"log_loss", "auc", "accuracy", "ece", "information_gain"};
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (strcmp(row->name, classes == 2 ? two[i] : more[i]) == 0)
            return true;
    return false;
}

void cli_print_verdict(const cli_call *call, const char *verdict) {
    char *typed = cli_syntax(call->command, verdict);
    if (*typed)
        printf("\n  %s\n", typed);
    free(typed);
}

pv_result *cli_json_validation(const pv_validation *validation) {
    pv_metrics mean, sd, defined, pooled, lo, hi;
    pv_validation_summary(validation, &mean, &sd, &defined, &pooled);
    pv_validation_interval(validation, &lo, &hi);
    pv_result *metrics = pv__value_object();
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        pv_result *entry = pv__value_object();
        pv__value_set(entry, "value", pv__value_real(pv_metric_get(&pooled, row)));
        pv__value_set(entry, "mean", pv__value_real(pv_metric_get(&mean, row)));
        pv__value_set(entry, "sd", pv__value_real(pv_metric_get(&sd, row)));
        pv__value_set(entry, "folds", pv__value_integer((int64_t)pv_metric_get(&defined, row)));
        if (validation->replicates > 0) {
            pv__value_set(entry, "lo", pv__value_real(pv_metric_get(&lo, row)));
            pv__value_set(entry, "hi", pv__value_real(pv_metric_get(&hi, row)));
        }
        pv__value_set(metrics, row->name, entry);
    }
    return metrics;
}

/* ---- populations ------------------------------------------------------------------------------------------------- */

int cli_validation_unknown(cli_call *call, const char *population, pv_unknown_options *unknown, double level,
                           int64_t seed) {
    if (strcmp(population, "unknown") != 0)
        return cli_check_idle(call, pv_unknown_option_table, "--population unknown", "give that");
    unknown->level = level;
    unknown->seed = seed;
    if (unknown->method == PV_UNKNOWN_BBSE)
        return cli_error(
            call, PV_ERR_USAGE, NULL,
            "--method bbse needs other labelled rows, which %s does not read: use predict --labelled-sample",
            call->command->name);
    return cli_check_method(call, unknown);
}

void cli_print_stated(size_t count, const pv_validation *const *validation) {
    const pv_validation *first = validation[0];
    int positive = first->data->classes - 1;
    const double *observed = first->observed;
    bool several = false;
    for (size_t i = 0; i < count; i++)
        several = several || (first->stated && validation[i]->stated[positive] != first->stated[positive]);
    if (several)
        printf("  *: depends on the prevalence, here that of each row's population (%.4g in the data)\n",
               observed[positive]);
    else if (first->stated)
        printf("  *: depends on the prevalence, here %.4g (%.4g in the rows)\n", first->stated[positive],
               observed[positive]);
    else
        printf("  *: depends on the prevalence, here that of the rows, %.4g\n", observed[positive]);
}

void cli_print_misleading(size_t count, const pv_validation *const *validation, char *const *labels) {
    const pv_validation *first = validation[0];
    int positive = first->data->classes - 1;
    bool several = false, misleading = false;
    for (size_t i = 0; i < count; i++) {
        several = several || validation[i]->population[positive] != first->population[positive];
        misleading = misleading || validation[i]->misleading;
    }
    if (misleading)
        cli_print_elsewhere(labels[positive], first->observed[positive],
                            several ? (double)NAN : first->population[positive]);
}

void cli_print_elsewhere(const char *label, double observed, double prevalence) {
    char population[40] = "differs";
    if (!isnan(prevalence))
        snprintf(population, sizeof population, "is %.4g", prevalence);
    printf("  Metrics with * are for the rows as they are, where a proportion of %.4g has label ", observed);
    cli_put_name(label, 0);
    printf(".\n  The predictions are for a population where it %s; to evaluate them there, add --stated-for "
           "population.\n\n",
           population);
}

/* ---- warnings ---------------------------------------------------------------------------------------------------- */

static void warn_of_targets(cli_call *call, const pv_validation *v, const char *what) {
    size_t weak = 0, swayed = 0, unsettled = 0, parts = v->folds * v->repeats;
    for (size_t i = 0; v->target && i < parts; i++) {
        const pv_unknown_prevalence *t = v->target[i];
        weak += t->weak ? 1 : 0;
        swayed += t->swayed ? 1 : 0;
        unsettled += t->stop != PV_STOP_CONVERGED && t->stop != PV_STOP_COMPLETED ? 1 : 0;
    }
    if (unsettled)
        cli_warn(call, "%s: in %zu of %zu folds the inferred prevalence did not converge: use --method exact", what,
                 unsettled, parts);
    if (weak)
        cli_warn(
            call,
            "%s: in %zu of %zu folds the rows hardly identify the prevalence: use fewer folds, more rows, or state "
            "it with --population known:P",
            what, weak, parts);
    if (swayed)
        cli_warn(call,
                 "%s: in %zu of %zu folds the prevalence depends noticeably on its prior: use fewer folds or more "
                 "rows, or justify --dirichlet",
                 what, swayed, parts);
}

bool cli_validation_warn(cli_call *call, const pv_validation *validation, const char *what) {
    bool trouble = false;
    size_t parts = validation->folds * validation->repeats;
    static const pv_stop bad[] = {PV_STOP_MAX_ITER, PV_STOP_DIVERGED, PV_STOP_NO_PROGRESS};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        size_t count = 0;
        for (size_t i = 0; i < parts; i++)
            count += validation->stop[i] == bad[b] ? 1 : 0;
        if (count)
            cli_warn(call, "%s: %zu of %zu fits ended with %s, not converged", what, count, parts,
                     pv_stop_name(bad[b]));
        trouble = trouble || count;
    }
    warn_of_targets(call, validation, what);
    return trouble;
}

pv_result *cli_json_assessment(pv_ctx *ctx, const pv_assessment *found) {
    pv_result *metrics;
    if (pv_assessment_result(ctx, found, &metrics) != PV_OK)
        cli_no_memory("for JSON");
    return metrics;
}
