/* An inferred prevalence in words and as JSON. */
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
        if (cli_value(call, row->name) == (const char *)options + row->offset) /* a command may have another so named */
            code = cli_check_use(call, row->name, pv_unknown_idle(options, row->name));
    return code;
}

int cli_check_level(cli_call *call, int64_t bootstrap, bool shown) {
    if (shown || !cli_given(call, "interval") || !cli_given(call, "bootstrap") || bootstrap > 0)
        return CLI_OK;
    return cli_error(call, PV_ERR_USAGE, NULL,
                     "--interval is the level of intervals, and --bootstrap 0 wants none: leave one of them out");
}

void cli_json_target(json_t *object, const pv_unknown_prevalence *t, char *const *labels) {
    json_t *by_label = cli_json_object();
    for (int y = 0; y < t->classes; y++) {
        json_t *entry = cli_json_object();
        cli_json_set(entry, "value", cli_json_real(t->value[y]));
        cli_json_set(entry, "lo", cli_json_real(t->lo[y]));
        cli_json_set(entry, "hi", cli_json_real(t->hi[y]));
        cli_json_set(entry, "sd", cli_json_real(t->sd[y]));
        cli_json_set(by_label, labels[y], entry);
    }
    cli_json_set(object, "target_prevalence", by_label);
    cli_json_set(object, "method", cli_json_text(pv_unknown_method_name(t->method)));
    cli_json_set(object, "iterations", json_integer(t->iterations));
    cli_json_set(object, "stop", cli_json_text(pv_stop_name(t->stop)));
    cli_json_set(object, "interval", cli_json_real(t->level));
    cli_json_set(object, "effective_draws", cli_json_real(t->effective));
    cli_json_set(object, "error", cli_json_real(t->error));
    cli_json_set(object, "worth", cli_json_real(t->worth));
    cli_json_set(object, "movement", cli_json_real(t->movement));
    cli_json_set(object, "identified", json_boolean(!t->weak && !t->swayed));
}

void cli_note_target(cli_call *call, const pv_unknown_prevalence *t, char *const *labels, size_t rows) {
    char line[900];
    size_t at = (size_t)snprintf(line, sizeof line, "prevalence inferred from %zu rows (%s):", rows,
                                 pv_unknown_method_name(t->method));
    for (int y = t->classes == 2 ? 1 : 0; y < t->classes && at < sizeof line - 200; y++) {
        at += (size_t)snprintf(line + at, sizeof line - at, "%s %.60s %.4g", y > (t->classes == 2) ? "," : "",
                               labels[y], t->value[y]);
        if (!isnan(t->lo[y]))
            at += (size_t)snprintf(line + at, sizeof line - at, " (%.4g %% interval %.4g to %.4g)", 100 * t->level,
                                   t->lo[y], t->hi[y]);
    }
    cli_note(call, "%s", line);
    bool updates = t->method == PV_UNKNOWN_EM || t->method == PV_UNKNOWN_VB;
    if (t->stop != PV_STOP_CONVERGED && t->stop != PV_STOP_COMPLETED)
        cli_warn(call, "the prevalence has not settled after %lld %s (%s): %s", (long long)t->iterations,
                 updates ? "iterations" : "passes over the rows", pv_stop_name(t->stop),
                 updates
                     ? "give more with --max-iter, or use --method exact"
                     : "the rows leave it all but open; give more of them, or a prior that says more (--dirichlet)");
    if (t->weak)
        cli_warn(call,
                 "the rows hardly identify the prevalence: %.0f labelled ones would say as much; give more rows, %sor "
                 "the prevalence itself",
                 t->worth, cli_value(call, "labels") ? "labels for some of them (--labels), " : "");
    if (t->swayed)
        cli_warn(
            call,
            "the prior decides much of the prevalence: another would move it by %.2g standard deviations; give more "
            "rows, or be sure of --dirichlet",
            t->movement);
}

/* ---- what it takes for granted ----------------------------------------------------------------------------------- */

static const double TOO_SMALL = 0.05; /* a p-value */

void cli_json_shift(json_t *object, const pv_unknown_prevalence *t, char *const *feature) {
    const pv_shift_check *check = &t->check;
    cli_json_set(object, "calibrated", json_boolean(t->calibrated));
    json_t *entry = cli_json_object();
    bool column = feature && check->column >= 0;
    cli_json_set(entry, "p", cli_json_real(check->both));
    cli_json_set(entry, "distance", isnan(check->p) ? json_null() : cli_json_real(check->distance));
    cli_json_set(entry, "distance_p", cli_json_real(check->p));
    cli_json_set(entry, "column", column ? cli_json_text(feature[check->column]) : json_null());
    cli_json_set(entry, "column_z", column ? cli_json_real(check->column_z) : json_null());
    cli_json_set(entry, "column_p", cli_json_real(check->column_p));
    cli_json_set(object, "shift", entry);
}

static void note_doubts(cli_call *call, const pv_unknown_prevalence *t) {
    if (t->calibrated || !(t->unlabelled > 0) || t->method != PV_UNKNOWN_EXACT || !(t->sd[0] > 0))
        return;
    if (!isnan(t->effective) && t->points == 0)
        cli_note(call, "the interval counts in the draws of the model, and no other error of it");
    else if (t->classes == 2 && cli_value(call, "labelled-sample"))
        cli_note(
            call,
            "the interval takes the model as right; --labelled-sample with labelled rows that it has not seen counts "
            "its errors in");
    else
        cli_note(call, "the interval takes the model as right");
}

void cli_note_shift(cli_call *call, const pv_unknown_prevalence *t, char *const *feature) {
    const pv_shift_check *check = &t->check;
    note_doubts(call, t);
    if (!(check->both < TOO_SMALL))
        return;
    char why[200] = "";
    if (feature && check->column >= 0 && check->column_p < TOO_SMALL)
        snprintf(why, sizeof why, ": the mean of '%.100s' is %.2g standard errors %s that of any mixture",
                 feature[check->column], fabs(check->column_z), check->column_z > 0 ? "above" : "below");
    cli_warn(call,
             "the rows do not look like a mixture of the labels' rows (p %.2g)%s; neither the prevalence nor the "
             "probabilities can be trusted: see whether the rows were selected and measured as the training rows were, "
             "and fit without what was not, or with rows like these",
             check->both, why);
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

/* "PPV 0.61 (0.52 to 0.70)", and "NPV -" where nobody is called so. */
static const char *expected_text(const pv_expected *e, int which, const char *name, int digits, char text[64]) {
    if (isnan(e->value[which]))
        snprintf(text, 64, "%s -", name);
    else
        snprintf(text, 64, "%s %.*f (%.*f to %.*f)", name, digits, e->value[which], digits, e->lo[which], digits,
                 e->hi[which]);
    return text;
}

int cli_expected(cli_call *call, const pv_unknown_prevalence *t, const pv_reference *reference, double threshold,
                 json_t *object) {
    pv_expected expected;
    if (!reference || !t || !t->calibrated || t->classes != 2)
        return CLI_OK;
    pv_status status = pv_unknown_performance(call->ctx, reference, t, threshold, 1, &expected);
    if (status != PV_OK)
        return cli_fail(call, status);
    char text[PV_EXPECTED_COUNT][64];
    if (expected.called)
        cli_note(call, "to be expected there above %.4g: %s, %s, %s, %s, %s", threshold,
                 expected_text(&expected, PV_EXPECTED_SENSITIVITY, "sensitivity", 2, text[0]),
                 expected_text(&expected, PV_EXPECTED_SPECIFICITY, "specificity", 2, text[1]),
                 expected_text(&expected, PV_EXPECTED_PPV, "PPV", 2, text[2]),
                 expected_text(&expected, PV_EXPECTED_NPV, "NPV", 2, text[3]),
                 expected_text(&expected, PV_EXPECTED_NET_BENEFIT, "net benefit", 3, text[4]));
    else
        cli_note(call, "to be expected there: nobody above %.4g", threshold);
    if (!object)
        return CLI_OK;
    json_t *entry = cli_json_object();
    cli_json_set(entry, "threshold", cli_json_real(threshold));
    for (int m = 0; m < PV_EXPECTED_COUNT; m++) {
        json_t *one = cli_json_object();
        cli_json_set(one, "value", cli_json_real(expected.value[m]));
        cli_json_set(one, "lo", cli_json_real(expected.lo[m]));
        cli_json_set(one, "hi", cli_json_real(expected.hi[m]));
        cli_json_set(entry, pv_expected_name(m), one);
    }
    cli_json_set(object, "expected", entry);
    return CLI_OK;
}
