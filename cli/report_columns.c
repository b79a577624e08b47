/* Risk along each column of a table, predicted and observed: the section of the report that shows where the linear
 * predictor is wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/report_sections.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/report.h"

enum { COLUMNS_DRAWN = 12, LEVELS_DRAWN = 12 };
static const double LEVEL = 0.95;

/* What a panel refers to. */
typedef struct drawing {
    pv_series series[2];
    char title[128]; /* the column's name, shortened */
    char axis[64];
    char names[LEVELS_DRAWN][64]; /* of the levels, from the bottom up */
    const char *name[LEVELS_DRAWN];
    double at[LEVELS_DRAWN]; /* the row of each level */
} drawing;

/* A row for each level, the first on top: along a horizontal axis names would overlap. */
static pv_panel panel_of_levels(const pv_source_column *source, const pv_column_risk *c, drawing *d) {
    size_t levels = c->bins < LEVELS_DRAWN ? c->bins : LEVELS_DRAWN;
    for (size_t b = 0; b < levels; b++) {
        size_t row = levels - 1 - b;
        d->at[b] = (double)row;
        pv_text_short(c->level[b] < 0 ? "(missing)" : source->level[c->level[b]], 24, d->names[row],
                      sizeof d->names[row]);
        d->name[row] = d->names[row];
    }
    d->series[0] = (pv_series){.mark = PV_MARK_POINTS,
                               .ink = PV_INK_EXPECTED,
                               .name = "predicted",
                               .n = levels,
                               .x = c->predicted,
                               .y = d->at,
                               .size = 5};
    d->series[1] = (pv_series){.mark = PV_MARK_SPANS,
                               .ink = PV_INK_EMPIRICAL,
                               .name = "observed, weighted",
                               .n = levels,
                               .x = c->observed,
                               .y = d->at,
                               .lo = c->lo,
                               .hi = c->hi,
                               .size = 3};
    snprintf(d->axis, sizeof d->axis, c->left_out ? "risk; %zu rarer levels are not drawn" : "risk", c->left_out);
    return (pv_panel){.title = d->title,
                      .x = {.label = d->axis, .log = true},
                      .y = {.name = d->name, .n_names = levels},
                      .series = d->series,
                      .n_series = 2,
                      .width = 320,
                      .height = levels > 7 ? 106 + 22 * (double)levels : 260};
}

static pv_panel panel_of(const pv_schema *schema, const pv_column_risk *c, drawing *d) {
    const pv_source_column *source = &schema->source[c->source];
    pv_text_short(source->name, 30, d->title, sizeof d->title);
    if (c->level)
        return panel_of_levels(source, c, d);
    d->series[0] = (pv_series){
        .mark = PV_MARK_LINE, .ink = PV_INK_EXPECTED, .name = "predicted", .n = c->bins, .x = c->x, .y = c->predicted};
    d->series[1] = (pv_series){.mark = PV_MARK_POINTS,
                               .ink = PV_INK_EMPIRICAL,
                               .name = "observed, weighted",
                               .n = c->bins,
                               .x = c->x,
                               .y = c->observed,
                               .lo = c->lo,
                               .hi = c->hi,
                               .size = 3};
    return (pv_panel){.title = d->title,
                      .x = {.label = "value"}, /* the title shows the column's name, at any length */
                      .y = {.label = "risk", .log = true},
                      .series = d->series,
                      .n_series = 2,
                      .width = 320,
                      .height = 260};
}

static pv_status put(cli_call *call, pv_report *report, const pv_schema *schema, const pv_column_risks *risks,
                     double prevalence) {
    size_t drawn = risks->count < COLUMNS_DRAWN ? risks->count : COLUMNS_DRAWN;
    char label[120], text[900];
    pv_panel panels[COLUMNS_DRAWN];
    if (drawn == 0)
        return PV_OK;
    drawing *drawings = cli_alloc(drawn, sizeof *drawings);
    for (size_t i = 0; i < drawn; i++)
        panels[i] = panel_of(schema, &risks->column[i], &drawings[i]);
    char outcome[120];
    pv_text_short(schema->target, 40, outcome, sizeof outcome);
    pv_text_short(schema->labels[risks->positive], 40, label, sizeof label);
    snprintf(
        text, sizeof text,
        "The risk of %s = %s in bins of each column, weighted to the population (prevalence %.4g). If the observed "
        "risks deviate from the predicted ones beyond their 95 %% intervals, the linear term is not adequate: add "
        "the square or the logarithm of the column. Columns with the largest deviations come first.%s",
        outcome, label, prevalence, drawn < risks->count ? " Only the first twelve are drawn." : "");
    pv_report_section(report, "columns", "Adequacy of the linear terms");
    pv_figure figure = {.name = "columns",
                        .title = "Risk along each column, predicted and observed.",
                        .text = text,
                        .panel = panels,
                        .panels = drawn};
    pv_status status = pv_report_put_figure(call->ctx, report, &figure);
    free(drawings);
    return status;
}

int report_put_columns(cli_call *call, pv_report *report, const pv_classifier *c, const pv_dataset *data,
                       const pv_prediction *said) {
    pv_column_risks *risks;
    if (!data->label || data->images || !said->prevalence)
        return CLI_OK;
    pv_status status = pv_column_risks_new(call->ctx, c->schema, data, said, LEVEL, &risks);
    if (status == PV_OK)
        status = put(call, report, c->schema, risks, said->prevalence[risks->positive]);
    pv_column_risks_free(call->ctx, risks);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}
