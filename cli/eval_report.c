/* What prevail eval prints and writes. */
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
static json_t *json_curves(const eval_curves *curves) {
    json_t *all = cli_json_object();
    for (int kind = 0; kind < PV_CURVES; kind++) {
        const pv_curve *curve = &curves->curve[kind];
        json_t *one = cli_json_object();
        for (size_t c = 0; c < curve->columns; c++) {
            json_t *values = cli_json_array();
            for (size_t i = 0; i < curve->points; i++)
                cli_json_append(values, cli_json_real(curve->value[i * curve->columns + c]));
            cli_json_set(one, curve->column[c], values);
        }
        cli_json_set(all, curve->name, one);
    }
    return all;
}

static json_t *json_shares(const pv_judgement *j, const double *share) {
    return share ? cli_json_by_label(j->labels, j->classes, share) : json_null();
}

void eval_print_json(const cli_call *call, const eval_options *options, const eval_inputs *inputs,
                     const eval_curves *curves) {
    const pv_judgement *j = inputs->judged;
    json_t *object = cli_json_object();
    cli_json_set(object, "metrics", cli_json_assessment(&j->found));
    cli_json_set(object, "rows", json_integer((json_int_t)j->rows));
    cli_json_set(object, "dropped", json_integer((json_int_t)j->dropped));
    cli_json_set(object, "training_rows", json_boolean(eval_is_training(inputs)));
    cli_json_set(object, "uncertain", json_integer((json_int_t)j->uncertain));
    cli_json_set(object, "population", cli_json_text(options->population));
    cli_json_set(object, "prevalence", json_shares(j, j->prevalence));
    cli_json_set(object, "observed", json_shares(j, j->observed));
    cli_json_set(object, "stated_for", json_shares(j, j->stated));
    if (inputs->said->inferred)
        cli_json_target(object, inputs->said->inferred, eval_labels(inputs));
    cli_json_judged_strata(object, j);
    cli_json_set(object, "positive", cli_json_text(j->labels[j->positive]));
    cli_json_set(object, "interval", cli_json_real(options->interval));
    cli_json_set(object, "bootstrap", json_integer((json_int_t)j->found.replicates));
    cli_json_set(object, "seed", json_integer((json_int_t)options->seed));
    cli_json_set(object, "decision", eval_decision_json(inputs));
    if (curves)
        cli_json_set(object, "curves", json_curves(curves));
    cli_json_set(object, "compared", eval_compare_json(inputs));
    cli_json_set(object, "importance", eval_importance_json(inputs));
    cli_json_set(object, "model", options->probs ? json_null() : cli_json_text(call->argument[0]));
    cli_json_set(object, "ensemble", cli_json_ensemble(options->ensemble));
    cli_json_set(object, "data", cli_json_text(options->probs ? options->probs : call->argument[1]));
    cli_json_set(object, "version", cli_json_text(PV_VERSION));
    cli_json_set(object, "warnings", cli_json_warnings(call));
    cli_json_print(call, object);
}

/* ---- a table ----------------------------------------------------------------------------------------------------- */

static const char *shown(double value, char *text, size_t size) {
    if (isnan(value))
        return "-";
    snprintf(text, size, "%.5g", value);
    return text;
}

static void print_footer(const eval_options *options, const pv_judgement *j) {
    double observed = j->observed[j->positive];
    fputs("\n  positive: label ", stdout);
    cli_put_name(j->labels[j->positive], 0);
    puts("; -: undefined on these rows");
    if (options->probs && !options->from)
        printf("  holdout_nll and information_gain need --from P, the prevalence the probabilities were made for\n");
    if (j->found.replicates > 0)
        printf("  %.4g %% intervals from %lld bootstrap replicates within %s\n", 100 * options->interval,
               (long long)j->found.replicates, j->strata && !j->as_rows ? "strata and labels" : "labels");
    if (!j->as_rows)
        printf("  *: changes with the prevalence; stated for one of %.4g (in the rows %.4g)\n", j->stated[j->positive],
               observed);
    else
        printf("  *: changes with the prevalence; stated for that of the rows, %.4g\n", observed);
}

enum { TEXT_AT = 55, WIDTH = 100 };

/* The rest of a line whose first TEXT_AT characters are there, and more such. */
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
        printf("%s: %zu rows, population %s", options->probs, j->rows, options->population);
    else
        printf("%s%s%s on %s%s: %zu rows, population %s", call->argument[0], options->ensemble ? "," : "",
               options->ensemble ? options->ensemble : "", call->argument[1],
               eval_is_training(inputs) ? " (the training table)" : "", j->rows, options->population);
    if (options->binarise)
        printf(", labels below and above %s", options->binarise);
    printf("\n\n");
    if (j->misleading)
        cli_print_elsewhere(j->labels[j->positive], j->observed[j->positive], j->prevalence[j->positive]);
    printf("  %-18s %10s %10s %10s\n", "", "value", "lo", "hi");
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        if (j->classes < row->least)
            continue;
        eval_print_metric(row, j->classes, found);
        fputs("  ", stdout);
        print_wrapped(row->text);
    }
    print_footer(options, j);
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
