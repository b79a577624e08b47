/* prevail eval --compare: other models on the same rows, and differences of their metrics. Bootstrap replicates draw
 * the same rows for all models, so intervals are those of paired differences, which are far narrower than those of two
 * separate runs.
 */
#include "cli/ensemble.h"
#include "cli/eval.h"
#include "cli/validation.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <stdlib.h>
#include <string.h>

int eval_compare_check(cli_call *call, const eval_options *options) {
    if (options->compare && !options->probs && strcmp(call->argument[1], "-") == 0)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--compare reads DATA once for each model, which standard input does not allow: name a file");
    return CLI_OK;
}

static int compare(cli_call *call, const eval_options *options, const eval_inputs *first, const char *name,
                   eval_compared *made) {
    eval_inputs other = {.name = name};
    eval_options alone = *options;
    alone.ensemble = NULL; /* applies to the first model only */
    if (alone.probs)
        alone.probs = name;
    made->name = cli_copy(name);
    int code = eval_judge(call, &alone, &other);
    if (code == CLI_OK && eval_is_training(&other))
        cli_warn(call, "%s was fitted on these rows: the comparison favours it", name);
    if (code == CLI_OK) {
        pv_status status =
            pv_judgement_compare(call->ctx, first->judged, other.judged, name, options->interval, &made->difference);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    if (code == CLI_OK) { /* ownership is transferred */
        made->found = other.judged->found;
        other.judged->found = (pv_assessment){0};
    }
    eval_clear(call, &other);
    return code;
}

int eval_compare_find(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    if (!options->compare)
        return CLI_OK;
    char **name = cli_names(options->compare, &inputs->others);
    int code = CLI_OK;
    inputs->compared = cli_alloc(inputs->others, sizeof *inputs->compared);
    for (size_t i = 0; i < inputs->others && code == CLI_OK; i++)
        code = *name[i]
                   ? compare(call, options, inputs, name[i], &inputs->compared[i])
                   : cli_error(call, PV_ERR_USAGE, NULL, "--compare %s: a name is empty; write A,B", options->compare);
    free(name);
    return code;
}

void eval_compare_print(const eval_options *options, const eval_inputs *inputs) {
    int classes = inputs->judged->classes;
    for (size_t i = 0; i < inputs->others; i++) {
        const eval_compared *other = &inputs->compared[i];
        printf("\n  %s minus %s, on the same rows; %.4g %% intervals of paired differences\n", other->name,
               inputs->name, 100 * options->interval);
        for (const pv_metric_row *row = pv_metric_table; row->name; row++)
            if (classes >= row->least) {
                eval_print_metric(row, classes, &other->difference);
                putchar('\n');
            }
    }
}

pv_result *eval_compare_json(pv_ctx *ctx, const eval_inputs *inputs) {
    pv_result *list = pv__value_list();
    for (size_t i = 0; i < inputs->others; i++) {
        pv_result *one = pv__value_object();
        pv__value_set(one, "name", pv__value_text(inputs->compared[i].name));
        pv__value_set(one, "metrics", cli_json_assessment(ctx, &inputs->compared[i].found));
        pv__value_set(one, "differences", cli_json_assessment(ctx, &inputs->compared[i].difference));
        pv__value_append(list, one);
    }
    return list;
}

void eval_compare_clear(cli_call *call, eval_inputs *inputs) {
    for (size_t i = 0; i < inputs->others; i++) {
        free(inputs->compared[i].name);
        pv_assessment_clear(call->ctx, &inputs->compared[i].found);
        pv_assessment_clear(call->ctx, &inputs->compared[i].difference);
    }
    free(inputs->compared);
}
