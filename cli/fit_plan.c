/* prevail fit --dry-run: what a fit would do. */
#include "cli/fit_plan.h"
#include "tool/console.h"
#include "tool/json.h"

#include <stdio.h>
#include <string.h>

static void print_json(const cli_call *call, const pv_plan *plan) {
    json_t *object = cli_json_object(), *lines = cli_json_array();
    for (size_t i = 0; i < plan->count; i++) {
        const pv_plan_line *line = &plan->line[i];
        json_t *entry = cli_json_object();
        cli_json_set(entry, "name", cli_json_text(line->name));
        cli_json_set(entry, "value", cli_json_text(line->value));
        cli_json_set(entry, "option", line->option ? cli_json_text(line->option) : json_null());
        cli_json_set(entry, "why", line->why ? cli_json_text(line->why) : json_null());
        cli_json_append(lines, entry);
    }
    cli_json_set(object, "plan", lines);
    cli_json_set(object, "version", cli_json_text(PV_VERSION));
    cli_json_set(object, "warnings", cli_json_warnings(call));
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
