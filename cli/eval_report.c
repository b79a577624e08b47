/* Output of prevail eval. */
#include "cli/ensemble.h"
#include "cli/eval.h"
#include "cli/strata.h"
#include "cli/validation.h"
#include "cli/target.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"
#include "tool/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* {name: {column: [values]}} */
static pv_result *json_curves(const eval_curves *curves) {
    pv_result *all = pv__value_object();
    for (int kind = 0; kind < PV_CURVES; kind++) {
        const pv_curve *curve = &curves->curve[kind];
        pv_result *one = pv__value_object();
        for (size_t c = 0; c < curve->columns; c++) {
            pv_result *values = pv__value_list();
            for (size_t i = 0; i < curve->points; i++)
                pv__value_append(values, pv__value_real(curve->value[i * curve->columns + c]));
            pv__value_set(one, curve->column[c], values);
        }
        pv__value_set(all, curve->name, one);
    }
    return all;
}

/* null if there is no verdict. */
static pv_result *verdict_of(const cli_call *call, const pv_judgement *j) {
    char verdict[PV_VERDICT_SIZE];
    pv_judgement_verdict(j, verdict, sizeof verdict);
    char *typed = cli_syntax(call->command, verdict);
    pv_result *value = pv__value_text(*typed ? typed : NULL);
    free(typed);
    return value;
}

void eval_print_json(const cli_call *call, const eval_options *options, const eval_inputs *inputs,
                     const eval_curves *curves) {
    const pv_judgement *j = inputs->judged;
    pv_result *object = pv__value_object(), *found;
    if (pv_judgement_result(call->ctx, j, &found) != PV_OK)
        cli_no_memory("for JSON");
    pv__value_take(object, "metrics", found);
    pv__value_set(object, "verdict", verdict_of(call, j));
    pv__value_take(object, "rows", found);
    pv__value_take(object, "dropped", found);
    pv__value_set(object, "training_rows", pv__value_flag(eval_is_training(inputs)));
    pv__value_take(object, "uncertain", found);
    pv__value_set(object, "population", pv__value_text(options->population));
    pv__value_take(object, "prevalence", found);
    pv__value_take(object, "observed", found);
    pv__value_take(object, "stated_for", found);
    if (inputs->said->inferred)
        cli_json_target(object, inputs->said->inferred, eval_labels(inputs));
    pv__value_take(object, "strata", found);
    pv__value_take(object, "positive", found);
    pv__value_set(object, "interval", pv__value_real(options->interval));
    pv__value_take(object, "bootstrap", found);
    pv__value_take(object, "drawn", found);
    pv__value_take(object, "units", found);
    pv_result_free(found);
    pv__value_set(object, "seed", pv__value_integer((int64_t)options->seed));
    pv__value_set(object, "decision", eval_decision_json(inputs));
    if (curves)
        pv__value_set(object, "curves", json_curves(curves));
    pv__value_set(object, "compared", eval_compare_json(call->ctx, inputs));
    pv__value_set(object, "importance", eval_importance_json(inputs));
    pv__value_set(object, "model", options->probs ? pv__value_null() : pv__value_text(call->argument[0]));
    pv__value_set(object, "ensemble", cli_json_ensemble(options->ensemble));
    pv__value_set(object, "data", pv__value_text(options->probs ? options->probs : call->argument[1]));
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    pv__value_set(object, "warnings", cli_json_warnings(call));
    cli_json_print(call, object);
}

/* ---- table ------------------------------------------------------------------------------------------------------- */

static const char *shown(double value, char *text, size_t size) {
    if (isnan(value))
        return "-";
    snprintf(text, size, "%.5g", value);
    return text;
}

static void print_footer(const cli_call *call, const eval_options *options, const pv_judgement *j) {
    double observed = j->observed[j->positive];
    char verdict[PV_VERDICT_SIZE];
    pv_judgement_verdict(j, verdict, sizeof verdict);
    cli_print_verdict(call, verdict);
    if (!j->as_rows)
        printf("\n  *: depends on the prevalence, here %.4g (%.4g in the rows)", j->stated[j->positive], observed);
    else
        printf("\n  *: depends on the prevalence, here that of the rows, %.4g", observed);
    fputs(" of label ", stdout);
    cli_put_name(j->labels[j->positive], 0);
    fputc('\n', stdout);
    if (j->found.replicates > 0)
        printf("  intervals: bootstrap %s, %lld replicates\n", j->found.drawn, (long long)j->found.replicates);
    if (options->probs && !options->from)
        printf("  information_gain%s --from P, the prevalence that the probabilities were made for\n",
               options->all ? " and holdout_nll need" : " needs");
    if (!options->all)
        puts("  --all shows every metric");
}

enum { TEXT_AT = 55, WIDTH = 100 };

/* Prints the rest of a line after its first TEXT_AT characters, with continuation lines. */
static void print_wrapped(const char *text) {
    for (size_t left = strlen(text), room = WIDTH - TEXT_AT; left > 0; left = strlen(text)) {
        size_t take = left;
        if (left > room)
            for (take = room; take > 1 && text[take] != ' ';)
                take--;
        printf("%.*s\n", (int)take, text);
        text += take;
        text += strspn(text, " ");
        if (*text)
            printf("%*s", TEXT_AT, "");
    }
}

void eval_print_metric(const pv_metric_row *row, int classes, const pv_assessment *found) {
    char value[32], lo[32], hi[32], name[32];
    snprintf(name, sizeof name, "%s%s", row->name, pv_metric_depends(row, classes) ? "*" : "");
    printf("  %-18s %10s %10s %10s", name, shown(pv_metric_get(&found->value, row), value, sizeof value),
           shown(pv_metric_get(&found->lo, row), lo, sizeof lo), shown(pv_metric_get(&found->hi, row), hi, sizeof hi));
}

void eval_print_table(const cli_call *call, const eval_options *options, const eval_inputs *inputs) {
    const pv_judgement *j = inputs->judged;
    const pv_assessment *found = &j->found;
    if (options->probs)
        printf("%s: %s rows; predictions for population %s", options->probs, pv_group_digits((double)j->rows).text,
               options->population);
    else
        printf("%s%s%s on %s%s: %s rows; predictions for population %s", call->argument[0],
               options->ensemble ? "," : "", options->ensemble ? options->ensemble : "", call->argument[1],
               eval_is_training(inputs) ? " (the training table)" : "", pv_group_digits((double)j->rows).text,
               options->population);
    if (j->prevalence && j->classes == 2)
        printf(" (prevalence %.4g)", j->prevalence[j->positive]);
    if (options->binarise)
        printf(", labels below and above %s", options->binarise);
    printf("\n\n");
    if (j->misleading && j->prevalence)
        cli_print_elsewhere(j->labels[j->positive], j->observed[j->positive], j->prevalence[j->positive]);
    printf("  %-18s %10s", "", "value");
    if (found->replicates > 0) {
        char lo[16], hi[16];
        snprintf(lo, sizeof lo, "%.4g %%", 50 - 50 * options->interval);
        snprintf(hi, sizeof hi, "%.4g %%", 50 + 50 * options->interval);
        printf(" %10s %10s", lo, hi);
    }
    fputc('\n', stdout);
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        if (j->classes < row->least || !(options->all || cli_metric_matters(row, j->classes)))
            continue;
        eval_print_metric(row, j->classes, found);
        fputs("  ", stdout);
        print_wrapped(row->text);
    }
    print_footer(call, options, j);
    eval_compare_print(options, inputs);
    eval_decision_print(inputs);
    cli_print_judged_strata(j);
    eval_importance_print(inputs);
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

static void write_rows(FILE *out, const pv_curve *curve) {
    for (size_t c = 0; c < curve->columns; c++)
        fprintf(out, "%s%s", c ? "," : "", curve->column[c]);
    fputc('\n', out);
    for (size_t i = 0; i < curve->points * curve->columns; i++) {
        char text[32];
        double value = curve->value[i];
        if (isnan(value)) {
            fputs("NA", out);
        } else {
            pv_format_double(value, text, sizeof text);
            fputs(text, out);
        }
        fputc((i + 1) % curve->columns ? ',' : '\n', out);
    }
}

int eval_write_curves(cli_call *call, const char *folder, const eval_curves *curves) {
    int code = cli_make_folder(call, folder);
    for (int kind = 0; code == CLI_OK && kind < PV_CURVES; kind++) {
        const pv_curve *curve = &curves->curve[kind];
        size_t size = strlen(folder) + strlen(curve->name) + 6;
        char *path = cli_alloc(size, 1);
        snprintf(path, size, "%s/%s.csv", folder, curve->name);
        pv_output output = {0};
        pv_status status = pv_output_open(call->ctx, path, &output);
        if (status == PV_OK) {
            write_rows(output.stream, curve);
            status = pv_output_commit(call->ctx, &output);
        }
        pv_output_discard(call->ctx, &output);
        free(path);
        if (status != PV_OK)
            code = cli_fail(call, status);
    }
    return code;
}
