/* What each column is worth, in prevail eval: as text, JSON and a section of the report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/eval.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/report.h"

enum { DRAWN = 30 };

/* Why there can be none; NULL: there can. */
static const char *obstacle(const eval_options *options) {
    if (options->probs)
        return "--probs, which has no columns";
    if (options->ensemble)
        return "--ensemble: ask for each model's own";
    if (options->votes || options->binarise)
        return "--votes and --binarise";
    return strcmp(options->population, "unknown") == 0
               ? "--population unknown, which every permutation would change: give known:P"
               : NULL;
}

int eval_importance_check(cli_call *call, const eval_options *options) {
    const char *with = obstacle(options);
    if (options->importance && with)
        return cli_error(call, PV_ERR_USAGE, NULL, "--importance does not go with %s", with);
    bool shown = options->importance || (report_wanted(&options->report) && !with);
    for (const pv_option *row = pv_importance_option_table; row->name && !shown; row++)
        if (strcmp(row->name, "seed") != 0 && cli_given(call, row->name))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s belongs to --importance; give that, or leave it out",
                             row->name);
    return CLI_OK;
}

int eval_importance_find(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    const pv_classifier *c = inputs->classifier;
    if (obstacle(options) || !(options->importance || report_wanted(&options->report)))
        return CLI_OK;
    if (!options->importance && (c->schema->image || pv_classifier_is_relative(c) || !inputs->data->label ||
                                 inputs->data->frequency || inputs->data->stratum))
        return CLI_OK;
    pv_importance_options how = options->permuted;
    how.seed = options->seed;
    const pv_judgement *j = inputs->judged;
    pv_status status = pv_importance_find(call->ctx, c, inputs->table, &inputs->roles, inputs->population,
                                          cli_given(call, "stated-for") || !j->prevalence ? j->stated : NULL, &how,
                                          &inputs->importance);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* The part of the model's information; NaN where it has none. */
static double part_of(const pv_importance *found, size_t c) {
    return found->information > 0 ? found->column[c].loss / found->information : NAN;
}

void eval_importance_print(const eval_inputs *inputs) {
    const pv_importance *found = inputs->importance;
    const pv_judgement *j = inputs->judged;
    if (!found)
        return;
    printf("\n  What each column is worth where a share of %.4g are ", found->stated[j->positive]);
    cli_put_name(j->labels[j->positive], 0);
    puts(": nats a person lost without it");
    printf("  (of %.4g that the model has; %zu rows, %lld permutations of each column)\n\n", found->information,
           found->rows, (long long)found->permutations);
    int width = 6;
    for (size_t c = 0; c < found->columns; c++) {
        int own = cli_name_width(found->column[c].name);
        width = own > width ? own : width;
    }
    width = width < 40 ? width : 40;
    printf("  %-*s %10s %10s %8s\n", width, "column", "lost", "sd", "of all");
    for (size_t c = 0; c < found->columns; c++) {
        char part[32] = "-";
        if (!isnan(part_of(found, c)))
            snprintf(part, sizeof part, "%.3g %%", 100 * part_of(found, c));
        fputs("  ", stdout);
        cli_put_name(found->column[c].name, width);
        printf(" %10.4g %10.2g %8s\n", found->column[c].loss, found->column[c].sd, part);
    }
}

json_t *eval_importance_json(const eval_inputs *inputs) {
    const pv_importance *found = inputs->importance;
    if (!found)
        return json_null();
    json_t *object = cli_json_object(), *columns = cli_json_array();
    for (size_t c = 0; c < found->columns; c++) {
        json_t *entry = cli_json_object();
        cli_json_set(entry, "column", cli_json_text(found->column[c].name));
        cli_json_set(entry, "loss", cli_json_real(found->column[c].loss));
        cli_json_set(entry, "sd", cli_json_real(found->column[c].sd));
        cli_json_append(columns, entry);
    }
    cli_json_set(object, "columns", columns);
    cli_json_set(object, "information", cli_json_real(found->information));
    cli_json_set(object, "rows", json_integer((json_int_t)found->rows));
    cli_json_set(object, "permutations", json_integer((json_int_t)found->permutations));
    return object;
}

static pv_status draw(cli_call *call, pv_report *report, const pv_importance *found) {
    size_t shown = found->columns < DRAWN ? found->columns : DRAWN;
    double *x = cli_alloc(4 * shown, sizeof *x), *y = x + shown, *lo = y + shown, *hi = lo + shown;
    char *texts = cli_alloc(shown, 128);
    const char **names = cli_alloc(shown, sizeof *names);
    for (size_t i = 0; i < shown; i++) {
        size_t row = shown - 1 - i; /* the first on top */
        double error = isnan(found->column[i].sd) ? 0 : found->column[i].sd;
        pv_text_short(found->column[i].name, 22, texts + 128 * row, 128);
        names[row] = texts + 128 * row;
        x[i] = found->column[i].loss;
        y[i] = (double)row;
        lo[i] = x[i] - 2 * error;
        hi[i] = x[i] + 2 * error;
    }
    double zero[] = {0, 0}, span[] = {-1, (double)shown};
    pv_series series[] = {
        {.mark = PV_MARK_LINE, .ink = PV_INK_MUTED, .n = 2, .x = zero, .y = span, .dashed = true, .size = 1.2},
        {.mark = PV_MARK_SPANS,
         .ink = PV_INK_POSITIVE,
         .name = "information lost, with two standard deviations",
         .n = shown,
         .x = x,
         .y = y,
         .lo = lo,
         .hi = hi}};
    pv_panel panel = {.series = series,
                      .n_series = 2,
                      .x = {.label = "information lost, nats a person"},
                      .y = {.name = names, .n_names = shown},
                      .width = 420,
                      .height = 100 + 30 * (double)shown};
    char text[300];
    snprintf(text, sizeof text,
             "How much worse predictions are once a column's cells are dealt out anew. The model has %.4g nats a "
             "person. n = %zu rows.%s",
             found->information, found->rows, found->columns > shown ? " The first columns only." : "");
    pv_figure figure = {.name = "importance",
                        .title = "What each column is worth in the population.",
                        .text = text,
                        .panel = &panel,
                        .panels = 1};
    pv_status status = pv_report_put_figure(call->ctx, report, &figure);
    free(x);
    free(texts);
    free(names);
    return status;
}

int eval_importance_report(cli_call *call, pv_report *report, const eval_inputs *inputs) {
    const pv_importance *found = inputs->importance;
    if (!found || found->columns == 0)
        return CLI_OK;
    pv_report_section(report, "importance", "What each column is worth");
    report_say(report,
               "Each column's cells were dealt out anew among the people of the population, %lld times, so that they "
               "say nothing of their own row. What the predictions lose by that is the column's own worth. Columns "
               "that say the same share theirs: neither loses much while the other is there.",
               (long long)found->permutations);
    pv_status status = draw(call, report, found);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}
