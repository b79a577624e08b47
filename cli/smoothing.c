/* The shrinkage of an additive model's slopes, categories and curves: as text, and as curves in a report.
 */
#include "cli/classifier.h"
#include "cli/report_sections.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/report.h"

#include <math.h>
#include <stdlib.h>

enum { EFFECTS_DRAWN = 24 };

/* Group 0 has nothing to show if no column has a slope of its own. */
static bool is_empty(const pv_classifier *c, size_t group) {
    return group == 0 && c->smoothing->edf[0] == 0;
}

static const char *name_of(const pv_classifier *c, size_t group) {
    return group == 0 ? "all slopes" : c->schema->source[c->smoothing->column[group]].name;
}

static const char *kind_of(const pv_classifier *c, size_t group) {
    return group == 0 ? "slopes" : pv_classifier_has_effect(c, group) ? "curve" : "levels";
}

void cli_print_smoothing(const pv_classifier *c) {
    const pv_smoothing *s = c->smoothing;
    int width = 10;
    if (!s)
        return;
    for (size_t g = 0; g < s->count; g++)
        width = cli_name_width(name_of(c, g)) > width ? cli_name_width(name_of(c, g)) : width;
    printf("\n  %-*s  %-6s  %10s  %10s\n", width, "", "", "scale", "edf");
    for (size_t g = 0; g < s->count; g++) {
        if (is_empty(c, g))
            continue;
        fputs("  ", stdout);
        cli_put_name(name_of(c, g), width);
        printf("  %-6s  %10.4g", kind_of(c, g), s->scale[g]);
        if (isnan(s->edf[g]))
            printf("  %10s\n", "-");
        else
            printf("  %10.2f\n", s->edf[g]);
    }
    printf("  scale: standard deviation of the prior, in log odds: of a slope per standard deviation, of a level, of "
           "a\n  curve about its slope; edf: effective degrees of freedom, of a curve without its slope\n");
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static void put_table(pv_report *report, const pv_classifier *c) {
    static const char *const heads[] = {"column", "what", "scale", "effective degrees of freedom"};
    report_cells cells = {0};
    for (size_t g = 0; g < c->smoothing->count; g++) {
        if (is_empty(c, g))
            continue;
        report_cell(&cells, name_of(c, g));
        report_cell(&cells, kind_of(c, g));
        report_cell_number(&cells, c->smoothing->scale[g]);
        report_cell_number(&cells, c->smoothing->edf[g]);
    }
    report_put_cells(report, &cells, "Shrinkage of slopes, levels and curves", "ttnn", heads, true);
}

/* The curves of one label, most curved columns first. */
static size_t choose(const pv_classifier *c, size_t *group) {
    size_t n = 0;
    for (size_t g = 1; g < c->smoothing->count; g++) {
        if (!pv_classifier_has_effect(c, g))
            continue;
        double own = c->smoothing->edf[g];
        size_t at = n < EFFECTS_DRAWN ? n++ : EFFECTS_DRAWN;
        for (; at > 0 && own > c->smoothing->edf[group[at - 1]]; at--)
            if (at < EFFECTS_DRAWN)
                group[at] = group[at - 1];
        if (at < EFFECTS_DRAWN)
            group[at] = g;
    }
    return n;
}

static void make_panel(const pv_effect *e, pv_series *series, pv_panel *panel) {
    size_t n = isnan(e->lo[0]) ? 0u : 1u;
    if (n > 0)
        series[0] = (pv_series){.mark = PV_MARK_BAND,
                                .ink = PV_INK_POSITIVE,
                                .name = "interval",
                                .n = e->points,
                                .x = e->x,
                                .lo = e->lo,
                                .hi = e->hi};
    series[n] = (pv_series){
        .mark = PV_MARK_LINE, .ink = PV_INK_POSITIVE, .name = "effect", .n = e->points, .x = e->x, .y = e->value};
    *panel = (pv_panel){.title = e->column,
                        .x = {.label = e->column},
                        .y = {.label = "log odds"},
                        .series = series,
                        .n_series = n + 1,
                        .width = 300,
                        .height = 240};
}

static pv_status put_curves(pv_ctx *ctx, pv_report *report, const pv_classifier *c, int label, double level,
                            const size_t *group, size_t n) {
    pv_effect *effect[EFFECTS_DRAWN] = {NULL};
    pv_series series[2 * EFFECTS_DRAWN];
    pv_panel panel[EFFECTS_DRAWN];
    pv_status status = PV_OK;
    for (size_t i = 0; i < n && status == PV_OK; i++) {
        status = pv_classifier_effect(ctx, c, group[i], label, level, &effect[i]);
        if (status == PV_OK)
            make_panel(effect[i], series + 2 * i, &panel[i]);
    }
    char name[40], title[160], shown[80];
    pv_text_short(c->schema->labels[label], 40, shown, sizeof shown);
    snprintf(name, sizeof name, "effects-%d", label);
    snprintf(title, sizeof title, "What each column adds to the log odds of %s.", shown);
    const pv_figure figure = {.name = name,
                              .title = title,
                              .text = "Effect of a column with the others fixed, relative to its average over the "
                                      "training rows; the band is the pointwise interval.",
                              .panel = panel,
                              .panels = n,
                              .columns = 3};
    if (status == PV_OK)
        status = pv_report_put_figure(ctx, report, &figure);
    for (size_t i = 0; i < n; i++)
        pv_effect_free(ctx, effect[i]);
    return status;
}

int report_put_effects(cli_call *call, pv_report *report, const pv_classifier *c, double level) {
    enum { LABELS_DRAWN = 6 };
    size_t group[EFFECTS_DRAWN], n = choose(c, group), curves = 0;
    pv_status status = PV_OK;
    for (size_t g = 1; g < c->smoothing->count; g++)
        curves += pv_classifier_has_effect(c, g);
    for (int y = 1; n > 0 && y < c->schema->classes && y <= LABELS_DRAWN && status == PV_OK; y++)
        status = put_curves(call->ctx, report, c, y, level > 0 ? level : CLI_LEVEL, group, n);
    if (status != PV_OK)
        return cli_fail(call, status);
    if (curves > n)
        report_note(report, PV_NOTE_MISSING, "%zu more columns, which are less curved.", curves - n);
    put_table(report, c);
    return CLI_OK;
}
