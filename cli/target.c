/* An inferred prevalence as text and JSON. */
#include "cli/target.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int cli_check_method(cli_call *call, const pv_unknown_options *options) {
    int code = CLI_OK;
    for (const pv_option *row = pv_unknown_option_table; row->name && code == CLI_OK; row++)
        if (cli_value(call, row->name) ==
            (const char *)options + row->offset) /* a command may have a different option with this name */
            code = cli_check_use(call, row->name, pv_unknown_idle(options, row->name));
    return code;
}

void cli_json_target(pv_result *object, const pv_unknown_prevalence *t, char *const *labels) {
    pv_result *by_label = pv__value_object();
    for (int y = 0; y < t->classes; y++) {
        pv_result *entry = pv__value_object();
        pv__value_set(entry, "value", pv__value_real(t->value[y]));
        pv__value_set(entry, "lo", pv__value_real(t->lo[y]));
        pv__value_set(entry, "hi", pv__value_real(t->hi[y]));
        pv__value_set(entry, "sd", pv__value_real(t->sd[y]));
        pv__value_set(by_label, labels[y], entry);
    }
    pv__value_set(object, "target_prevalence", by_label);
    pv__value_set(object, "method", pv__value_text(pv_unknown_method_name(t->method)));
    pv__value_set(object, "iterations", pv__value_integer(t->iterations));
    pv__value_set(object, "stop", pv__value_text(pv_stop_name(t->stop)));
    pv__value_set(object, "interval", pv__value_real(t->level));
    pv__value_set(object, "effective_draws", pv__value_real(t->effective));
    pv__value_set(object, "error", pv__value_real(t->error));
    pv__value_set(object, "worth", pv__value_real(t->worth));
    pv__value_set(object, "movement", pv__value_real(t->movement));
    pv__value_set(object, "identified", pv__value_flag(!t->weak && !t->swayed));
}

/* Without an exponent: "0.01234", and what is close to 0 as "below 0.0001". */
static size_t print_share(char *to, size_t size, double share) {
    const double least = 1e-4;
    return (size_t)snprintf(to, size,
                            share > 0 && share < least ? "below %.4f"
                            : share < 0.1              ? "%.3g"
                                                       : "%.4g",
                            share > 0 && share < least ? least : share);
}

void cli_note_target(cli_call *call, const pv_unknown_prevalence *t, char *const *labels, size_t rows) {
    char line[900];
    size_t at = (size_t)snprintf(line, sizeof line,
                                 "prevalence in the population of these %s rows:", pv_group_digits((double)rows).text);
    for (int y = t->classes == 2 ? 1 : 0; y < t->classes && at < sizeof line - 200; y++) {
        at += (size_t)snprintf(line + at, sizeof line - at, "%s ", y > (t->classes == 2) ? "," : "");
        at += print_share(line + at, sizeof line - at, t->value[y]);
        at += (size_t)snprintf(line + at, sizeof line - at, " of label %.60s", labels[y]);
        if (!isnan(t->lo[y])) {
            at += (size_t)snprintf(line + at, sizeof line - at, " (%.4g %% interval ", 100 * t->level);
            at += print_share(line + at, sizeof line - at, t->lo[y]);
            at += (size_t)snprintf(line + at, sizeof line - at, " to ");
            at += print_share(line + at, sizeof line - at, t->hi[y]);
            at += (size_t)snprintf(line + at, sizeof line - at, ")");
        }
    }
    cli_note(call, "%s; method %s", line, pv_unknown_method_name(t->method));
    bool updates = t->method == PV_UNKNOWN_EM || t->method == PV_UNKNOWN_VB;
    if (t->stop != PV_STOP_CONVERGED && t->stop != PV_STOP_COMPLETED)
        cli_warn(call, "the prevalence did not converge after %lld %s (%s): %s", (long long)t->iterations,
                 updates ? "iterations" : "passes over the rows", pv_stop_name(t->stop),
                 updates ? "give more with --max-iter, or use --method exact"
                         : "the rows hardly determine it; give more rows, or a stronger prior (--dirichlet)");
    if (t->weak)
        cli_warn(call,
                 "the rows hardly identify the prevalence: they carry as much information as %.0f labelled row%s. Give "
                 "more rows, %sor the prevalence itself",
                 t->worth, t->worth >= 0.5 && t->worth < 1.5 ? "" : "s",
                 cli_value(call, "labels") ? "labels for some of them (--labels), " : "");
    if (t->swayed)
        cli_warn(
            call,
            "the prevalence depends on its prior: another prior would move it by %.2g standard deviations. Give more "
            "rows, or justify --dirichlet",
            t->movement);
}

/* ---- assumptions ------------------------------------------------------------------------------------------------- */

static const double TOO_SMALL = 0.05; /* a p-value */

void cli_json_shift(pv_result *object, const pv_unknown_prevalence *t, char *const *feature) {
    const pv_shift_check *check = &t->check;
    pv__value_set(object, "calibrated", pv__value_flag(t->calibrated));
    pv_result *entry = pv__value_object();
    bool column = feature && check->column >= 0;
    pv__value_set(entry, "p", pv__value_real(check->both));
    pv__value_set(entry, "distance", isnan(check->p) ? pv__value_null() : pv__value_real(check->distance));
    pv__value_set(entry, "distance_p", pv__value_real(check->p));
    pv__value_set(entry, "column", column ? pv__value_text(feature[check->column]) : pv__value_null());
    pv__value_set(entry, "column_z", column ? pv__value_real(check->column_z) : pv__value_null());
    pv__value_set(entry, "column_p", pv__value_real(check->column_p));
    pv__value_set(object, "shift", entry);
}

static void note_doubts(cli_call *call, const pv_unknown_prevalence *t) {
    if (t->calibrated || !(t->unlabelled > 0) || t->method != PV_UNKNOWN_EXACT || !(t->sd[0] > 0))
        return;
    if (!isnan(t->effective) && t->points == 0)
        cli_note(call, "the interval includes the uncertainty of the model's draws, but no other error of the model");
    else if (t->classes == 2 && cli_value(call, "labelled-sample"))
        cli_note(call, "the interval assumes that the model is right; with labelled rows that it has not seen "
                       "(--labelled-sample) it includes the model's errors");
    else
        cli_note(call, "the interval assumes that the model is right");
}

void cli_note_shift(cli_call *call, const pv_unknown_prevalence *t, char *const *feature) {
    const pv_shift_check *check = &t->check;
    note_doubts(call, t);
    if (!(check->both < TOO_SMALL))
        return;
    const double printed = 1e-16; /* smaller ones would be 0 */
    char why[200] = "", p[24] = "p < 1e-16";
    if (check->both >= printed)
        snprintf(p, sizeof p, "p = %.2g", check->both);
    if (feature && check->column >= 0 && check->column_p < TOO_SMALL)
        snprintf(why, sizeof why, ": the mean of '%.100s' is %.2g standard errors %s that of any mixture",
                 feature[check->column], fabs(check->column_z), check->column_z > 0 ? "above" : "below");
    cli_warn(call,
             "the rows are not a mixture of the labels as in training (%s)%s, so that neither the prevalence nor "
             "the probabilities can be trusted. Check that these rows were selected and measured like the training "
             "rows; leave out columns that were not, or fit with rows like these",
             p, why);
}

double cli_threshold(const pv_costs *costs) {
    size_t *action = cli_alloc(costs ? costs->actions : 1, sizeof *action);
    double *at = cli_alloc(costs ? costs->actions : 1, sizeof *at), threshold = 0.5;
    if (costs && costs->classes == 2 && pv_cost_thresholds(costs, action, at) == 2 && at[0] > 0 && at[0] < 1)
        threshold = at[0];
    free(action);
    free(at);
    return threshold;
}

/* "PPV 0.61 (0.52 to 0.70)", or "NPV -" if no row gets that decision. */
static const char *expected_text(const pv_expected *e, int which, const char *name, int digits, char text[64]) {
    if (isnan(e->value[which]))
        snprintf(text, 64, "%s -", name);
    else
        snprintf(text, 64, "%s %.*f (%.*f to %.*f)", name, digits, e->value[which], digits, e->lo[which], digits,
                 e->hi[which]);
    return text;
}

int cli_expected(cli_call *call, const pv_unknown_prevalence *t, const pv_reference *reference, double threshold,
                 pv_result *object) {
    pv_expected expected;
    if (!reference || !t || !t->calibrated || t->classes != 2)
        return CLI_OK;
    pv_status status = pv_unknown_performance(call->ctx, reference, t, threshold, 1, &expected);
    if (status != PV_OK)
        return cli_fail(call, status);
    char text[PV_EXPECTED_COUNT][64];
    if (expected.called)
        cli_note(call, "expected performance at a threshold of %.4g: %s, %s, %s, %s, %s", threshold,
                 expected_text(&expected, PV_EXPECTED_SENSITIVITY, "sensitivity", 2, text[0]),
                 expected_text(&expected, PV_EXPECTED_SPECIFICITY, "specificity", 2, text[1]),
                 expected_text(&expected, PV_EXPECTED_PPV, "PPV", 2, text[2]),
                 expected_text(&expected, PV_EXPECTED_NPV, "NPV", 2, text[3]),
                 expected_text(&expected, PV_EXPECTED_NET_BENEFIT, "net benefit", 3, text[4]));
    else
        cli_note(call, "expected performance: no one has a risk above %.4g", threshold);
    if (!object)
        return CLI_OK;
    pv_result *entry = pv__value_object();
    pv__value_set(entry, "threshold", pv__value_real(threshold));
    for (int m = 0; m < PV_EXPECTED_COUNT; m++) {
        pv_result *one = pv__value_object();
        pv__value_set(one, "value", pv__value_real(expected.value[m]));
        pv__value_set(one, "lo", pv__value_real(expected.lo[m]));
        pv__value_set(one, "hi", pv__value_real(expected.hi[m]));
        pv__value_set(entry, pv_expected_name(m), one);
    }
    pv__value_set(object, "expected", entry);
    return CLI_OK;
}
