/* Column importance in prevail eval: as text, JSON and a section of the report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/eval.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/report.h"

enum { DRAWN = 30 };

/* Reports have it unasked where it can be computed; the rules of eval reject a request for it elsewhere. */
static bool possible(const eval_options *options) {
    return !options->probs && !options->ensemble && !options->votes && !options->binarise &&
           strcmp(options->population, "unknown") != 0;
}

int eval_importance_find(cli_call *call, const eval_options *options, eval_inputs *inputs) {
    const pv_classifier *c = inputs->classifier;
    if (!possible(options) || !(options->importance || report_wanted(&options->report)))
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

/* The fraction of the model's information; NaN if the model has none. */
static double part_of(const pv_importance *found, size_t c) {
    return found->information > 0 ? found->column[c].loss / found->information : NAN;
}

void eval_importance_print(const eval_inputs *inputs) {
    const pv_importance *found = inputs->importance;
    const pv_judgement *j = inputs->judged;
    if (!found)
        return;
    printf("\n  Permutation importance at a prevalence of %.4g of label ", found->stated[j->positive]);
    cli_put_name(j->labels[j->positive], 0);
    puts(": increase of the log loss");
    printf("  when a column is permuted, in nats per person (information of the model: %.4g; %s rows, %lld "
           "permutations)\n\n",
           found->information, pv_group_digits((double)found->rows).text, (long long)found->permutations);
    int width = 6;
    for (size_t c = 0; c < found->columns; c++) {
        int own = cli_name_width(found->column[c].name);
        width = own > width ? own : width;
    }
    width = width < 40 ? width : 40;
    printf("  %-*s %10s %10s %8s\n", width, "column", "increase", "sd", "of total");
    for (size_t c = 0; c < found->columns; c++) {
        char part[32] = "-";
        if (!isnan(part_of(found, c)))
            snprintf(part, sizeof part, "%.3g %%", 100 * part_of(found, c));
        fputs("  ", stdout);
        cli_put_name(found->column[c].name, width);
        printf(" %10.4g %10.2g %8s\n", found->column[c].loss, found->column[c].sd, part);
    }
}

/* [{value, LABEL...}, ...] */
static pv_result *dependence_json(const pv_column_importance *column, int classes, char *const *labels) {
    pv_result *list = pv__value_list();
    for (size_t p = 0; p < column->points; p++) {
        pv_result *point = pv__value_object(), *risks = pv__value_object();
        pv__value_set(point, "value", column->level ? pv__value_text(column->level[p]) : pv__value_real(column->x[p]));
        for (int y = 0; y < classes; y++)
            pv__value_set(risks, labels[y], pv__value_real(column->mean[p * (size_t)classes + (size_t)y]));
        pv__value_set(point, "risk", risks);
        pv__value_append(list, point);
    }
    return list;
}

pv_result *eval_importance_json(const eval_inputs *inputs) {
    const pv_importance *found = inputs->importance;
    if (!found)
        return pv__value_null();
    pv_result *object = pv__value_object(), *columns = pv__value_list();
    for (size_t c = 0; c < found->columns; c++) {
        pv_result *entry = pv__value_object();
        pv__value_set(entry, "column", pv__value_text(found->column[c].name));
        pv__value_set(entry, "loss", pv__value_real(found->column[c].loss));
        pv__value_set(entry, "sd", pv__value_real(found->column[c].sd));
        pv__value_set(entry, "dependence",
                      dependence_json(&found->column[c], inputs->judged->classes, inputs->judged->labels));
        pv__value_append(columns, entry);
    }
    pv__value_set(object, "columns", columns);
    pv__value_set(object, "information", pv__value_real(found->information));
    pv__value_set(object, "rows", pv__value_integer((int64_t)found->rows));
    pv__value_set(object, "permutations", pv__value_integer((int64_t)found->permutations));
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
         .name = "increase, with two standard deviations",
         .n = shown,
         .x = x,
         .y = y,
         .lo = lo,
         .hi = hi}};
    pv_panel panel = {.series = series,
                      .n_series = 2,
                      .x = {.label = "increase of the log loss, nats per person"},
                      .y = {.name = names, .n_names = shown},
                      .width = 420,
                      .height = 100 + 30 * (double)shown};
    char text[300];
    snprintf(text, sizeof text,
             "Increase of the log loss when a column's cells are permuted. The model's information is %.4g nats per "
             "person. n = %s rows.%s",
             found->information, pv_group_digits((double)found->rows).text,
             found->columns > shown ? " Only the first columns are shown." : "");
    pv_figure figure = {.name = "importance",
                        .title = "Permutation importance in the population.",
                        .text = text,
                        .panel = &panel,
                        .panels = 1};
    pv_status status = pv_report_put_figure(call->ctx, report, &figure);
    free(x);
    free(texts);
    free(names);
    return status;
}

/* The mean risk of the positive label by each column of numbers, those that are worth most first. */
static pv_status draw_dependence(cli_call *call, pv_report *report, const pv_importance *found, size_t classes,
                                 size_t positive, const char *label) {
    enum { PANELS = 9, NAME = 160 };
    char name[PANELS][NAME]; /* short enough for a panel */
    pv_series series[PANELS];
    pv_panel panel[PANELS];
    double *risk[PANELS] = {NULL};
    size_t n = 0;
    for (size_t c = 0; c < found->columns && n < PANELS; c++) {
        const pv_column_importance *own = &found->column[c];
        if (!own->x || own->points < 2)
            continue;
        risk[n] = cli_alloc(own->points, sizeof **risk);
        for (size_t p = 0; p < own->points; p++)
            risk[n][p] = own->mean[p * classes + positive];
        series[n] = (pv_series){.mark = PV_MARK_LINE,
                                .ink = PV_INK_POSITIVE,
                                .name = "mean risk",
                                .n = own->points,
                                .x = own->x,
                                .y = risk[n]};
        pv_text_short(own->name, 30, name[n], NAME);
        panel[n] = (pv_panel){.title = name[n],
                              .x = {.label = name[n]},
                              .y = {.label = "mean risk"},
                              .series = &series[n],
                              .n_series = 1,
                              .width = 300,
                              .height = 240};
        n++;
    }
    char title[160], shown[80];
    pv_text_short(label, 40, shown, sizeof shown);
    snprintf(title, sizeof title, "Mean risk of %s by each column of numbers (partial dependence).", shown);
    const pv_figure figure = {.name = "dependence",
                              .title = title,
                              .text = "The model's mean prediction if everyone in the population had the same value in "
                                      "a column and were otherwise unchanged; from the 5th to the 95th percentile.",
                              .panel = panel,
                              .panels = n,
                              .columns = 3};
    pv_status status = n > 0 ? pv_report_put_figure(call->ctx, report, &figure) : PV_OK;
    for (size_t i = 0; i < n; i++)
        free(risk[i]);
    return status;
}

int eval_importance_report(cli_call *call, pv_report *report, const eval_inputs *inputs) {
    const pv_importance *found = inputs->importance;
    if (!found || found->columns == 0)
        return CLI_OK;
    pv_report_section(report, "importance", "Permutation importance");
    report_say(report,
               "Each column's cells were permuted %lld times among the people of the population, which removes the "
               "column's information. The increase of the log loss is the column's importance. Correlated columns "
               "share their importance: permuting one of them costs little while the other is intact.",
               (long long)found->permutations);
    const pv_judgement *j = inputs->judged;
    pv_status status = draw(call, report, found);
    if (status == PV_OK)
        status = draw_dependence(call, report, found, (size_t)j->classes, (size_t)j->positive, j->labels[j->positive]);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}
