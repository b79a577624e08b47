/* prevail fit --dry-run: shows what a fit would do. */
#include "cli/fit_plan.h"
#include "tool/console.h"
#include "tool/json.h"

#include <stdio.h>
#include <string.h>

static void print_json(const cli_call *call, const pv_plan *plan) {
    pv_result *object = pv__value_object(), *lines = pv__value_list();
    for (size_t i = 0; i < plan->count; i++) {
        const pv_plan_line *line = &plan->line[i];
        pv_result *entry = pv__value_object();
        pv__value_set(entry, "name", pv__value_text(line->name));
        pv__value_set(entry, "value", pv__value_text(line->value));
        pv__value_set(entry, "option", line->option ? pv__value_text(line->option) : pv__value_null());
        pv__value_set(entry, "why", line->why ? pv__value_text(line->why) : pv__value_null());
        pv__value_append(lines, entry);
    }
    pv__value_set(object, "plan", lines);
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    pv__value_set(object, "warnings", cli_json_warnings(call));
    cli_json_print(call, object);
}

static void print_text(const cli_call *call, const pv_plan *plan) {
    size_t widest = 0;
    for (size_t i = 0; i < plan->count; i++)
        widest = strlen(plan->line[i].name) > widest ? strlen(plan->line[i].name) : widest;
    printf("What this fit would do:\n\n");
    for (size_t i = 0; i < plan->count; i++) {
        const pv_plan_line *line = &plan->line[i];
        printf("  %-*s  ", (int)widest, line->name);
        cli_put_name(line->value, 0);
        if (line->option && line->why)
            printf("  (--%s: %s)", line->option, line->why);
        else if (line->option || line->why)
            printf("  (%s%s)", line->option ? "--" : "", line->option ? line->option : line->why);
        fputc('\n', stdout);
    }
    for (size_t i = 0; i < call->warnings; i++)
        printf("%swarning: %s\n", i ? "" : "\n", call->warning[i]);
    printf("\nnothing was fitted or saved\n");
}

int cli_fit_plan(cli_call *call, const cli_training *training, const pv_fit_options *options, bool json) {
    pv_plan *plan;
    pv_status status = pv_fit_plan(call->ctx, training->schema, training->data, options, &plan);
    if (status != PV_OK)
        return cli_fail(call, status);
    (json ? print_json : print_text)(call, plan);
    pv_plan_free(call->ctx, plan);
    return CLI_OK;
}
