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
    char names[LEVELS_DRAWN][24];
    const char *name[LEVELS_DRAWN];
} drawing;

static pv_panel panel_of(const pv_schema *schema, const pv_column_risk *c, drawing *d) {
    const pv_source_column *source = &schema->source[c->source];
    bool text = c->level;
    d->series[0] = (pv_series){.mark = text ? PV_MARK_POINTS : PV_MARK_LINE,
                               .ink = PV_INK_EXPECTED,
                               .name = "predicted",
                               .n = c->bins,
                               .x = c->x,
                               .y = c->predicted,
                               .size = text ? 5 : 0};
    d->series[1] = (pv_series){.mark = PV_MARK_POINTS,
                               .ink = PV_INK_EMPIRICAL,
                               .name = "observed, weighted",
                               .n = c->bins,
                               .x = c->x,
                               .y = c->observed,
                               .lo = c->lo,
                               .hi = c->hi,
                               .size = 3};
    pv_text_short(source->name, 30, d->title, sizeof d->title);
    snprintf(d->axis, sizeof d->axis, c->left_out ? "value; %zu rarer levels are not drawn" : "value", c->left_out);
    pv_panel panel = {.title = d->title,
                      .x = {.label = d->axis}, /* the title shows the column's name, at any length */
                      .y = {.label = "risk", .log = true},
                      .series = d->series,
                      .n_series = 2,
                      .width = 320,
                      .height = 260};
    for (size_t b = 0; text && b < c->bins && b < LEVELS_DRAWN; b++) {
        const char *name = c->level[b] < 0 ? "(missing)" : source->level[c->level[b]];
        pv_text_short(name, 14, d->names[b], sizeof d->names[b]);
        d->name[b] = d->names[b];
    }
    if (text) {
        panel.x.name = d->name;
        panel.x.n_names = c->bins;
    }
    return panel;
}

static pv_status put(cli_call *call, pv_report *report, const pv_schema *schema, const pv_column_risks *risks,
                     double prevalence) {
    size_t drawn = risks->count < COLUMNS_DRAWN ? risks->count : COLUMNS_DRAWN;
    char label[120], text[700];
    pv_panel panels[COLUMNS_DRAWN];
    if (drawn == 0)
        return PV_OK;
    drawing *drawings = cli_alloc(drawn, sizeof *drawings);
    for (size_t i = 0; i < drawn; i++)
        panels[i] = panel_of(schema, &risks->column[i], &drawings[i]);
    pv_text_short(schema->labels[risks->positive], 40, label, sizeof label);
    snprintf(text, sizeof text,
             "The risk of %s in bins of each column, weighted to the population (prevalence %.4g). If the observed "
             "risks deviate from the predicted ones beyond their 95 %% intervals, the linear term is not adequate: add "
             "the square or the logarithm of the column. Columns with the largest deviations come first.%s",
             label, prevalence, drawn < risks->count ? " Only the first twelve are drawn." : "");
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
