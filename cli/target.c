/* An inferred prevalence in words and as JSON. */
#include "cli/target.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
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
            at += (size_t)snprintf(line + at, sizeof line - at, " (%.4g to %.4g)", t->lo[y], t->hi[y]);
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
