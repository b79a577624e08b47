/* Results of the designs study: text, JSON, a Markdown table, a figure. */
#include "prevail/prevail.h"
#include "lab/common/canvas.h"
#include "lab/common/tables.h"
#include "lab/designs/designs.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct summary {
    size_t n;                 /* number of samples that count */
    double slopes, slopes_se; /* fractions, NaN: none */
    double risks, risks_se;
    double error; /* squared errors relative to the other estimator */
    double told, told_se;
} summary;

static summary summarise(const designs *d, size_t cell) {
    const designs_outcome *first = d->made + cell;
    size_t stride = sizeof *first / sizeof(double) * DESIGNS_CELLS;
    double sd, ours, other;
    summary s;
    size_t slopes = study_mean(&first->slopes, d->replicates, stride, &s.slopes, &sd);
    s.slopes_se = sd / sqrt((double)slopes);
    size_t risks = study_mean(&first->risks, d->replicates, stride, &s.risks, &sd);
    s.risks_se = sd / sqrt((double)risks);
    s.n = slopes > risks ? slopes : risks;
    study_mean(&first->error, d->replicates, stride, &ours, &sd);
    study_mean(&first->other, d->replicates, stride, &other, &sd);
    s.error = ours / other;
    size_t told = study_mean(&first->told, d->replicates, stride, &s.told, &sd);
    s.told_se = sd / sqrt((double)told);
    return s;
}

/* ---- text and Markdown ------------------------------------------------------------------------------------------- */

static void print_table(FILE *out, const designs *d, bool markdown) {
    static const char *const titles[] = {"slopes", "risks", "error", "told", "samples"};
    study_layout layout = {.markdown = markdown, .first = 26, .second = 18, .cell = 12};
    study_table_head(out, &layout, "design", "how", 5, titles);
    for (size_t c = 0; c < DESIGNS_CELLS; c++) {
        if (!designs_chosen(d->options, c))
            continue;
        summary s = summarise(d, c);
        char cell[5][STUDY_CELL];
        study_value_text(s.slopes, s.slopes_se, 3, cell[0], STUDY_CELL);
        study_value_text(s.risks, s.risks_se, 3, cell[1], STUDY_CELL);
        study_value_text(s.error, NAN, 2, cell[2], STUDY_CELL);
        study_value_text(s.told, s.told_se, 3, cell[3], STUDY_CELL);
        snprintf(cell[4], STUDY_CELL, "%zu", s.n);
        study_table_row(out, &layout, designs_cells[c].text, designs_cells[c].how, 5, cell);
    }
}

static void print_all(FILE *out, const designs *d, bool markdown) {
    if (d->options->quick)
        fprintf(out, "A quick run, whose numbers say nothing.\n\n");
    fprintf(
        out,
        "%zu samples of %lld rows for each line, cohorts of %lld people; seed %lld.\nShare of 90 %% intervals that "
        "hold the truth, with its error in the last digits: of two slopes, and of\nthe risks of ten people "
        "(unknown: of the strata's prevalences). error: mean squared error of the\nslopes over that of the weighted "
        "estimator (--loss iw), for sets over that of regression without them. told: share of the\nsamples in which "
        "the check of the line says, at 0.05, that it does not hold; here it does.\n\n",
        d->replicates, (long long)d->options->rows, (long long)d->options->cohort, (long long)d->options->shared.seed);
    print_table(out, d, markdown);
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Designs: tables\n\n", out);
    print_all(out, what, true);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static pv_result *json_result(const cli_call *call, const designs *d) {
    pv_result *object = pv__value_object(), *cells = pv__value_object();
    for (size_t c = 0; c < DESIGNS_CELLS; c++) {
        if (!designs_chosen(d->options, c))
            continue;
        summary s = summarise(d, c);
        pv_result *entry = pv__value_object();
        pv__value_set(entry, "samples", pv__value_integer((int64_t)s.n));
        pv__value_set(entry, "slopes", pv__value_real(s.slopes));
        pv__value_set(entry, "slopes_se", pv__value_real(s.slopes_se));
        pv__value_set(entry, "risks", pv__value_real(s.risks));
        pv__value_set(entry, "risks_se", pv__value_real(s.risks_se));
        pv__value_set(entry, "error", pv__value_real(s.error));
        pv__value_set(entry, "told", pv__value_real(s.told));
        pv__value_set(entry, "told_se", pv__value_real(s.told_se));
        pv__value_set(cells, designs_cells[c].name, entry);
    }
    pv__value_set(object, "study", pv__value_text("designs"));
    pv__value_set(object, "replicates", pv__value_integer((int64_t)d->replicates));
    pv__value_set(object, "rows", pv__value_integer(d->options->rows));
    pv__value_set(object, "cohort", pv__value_integer(d->options->cohort));
    pv__value_set(object, "cells", cells);
    pv__value_set(object, "seed", pv__value_integer(d->options->shared.seed));
    pv__value_set(object, "command", pv__value_text(call->line));
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    return object;
}

/* ---- figure ------------------------------------------------------------------------------------------------------ */

static int draw(cli_call *call, const designs *d) {
    study_canvas canvas = {0};
    const char *names[DESIGNS_CELLS];
    const double band[] = {0.88, 0.92}, low[] = {-1, -1}, high[] = {DESIGNS_CELLS, DESIGNS_CELLS};
    for (size_t c = 0; c < DESIGNS_CELLS; c++)
        names[DESIGNS_CELLS - 1 - c] = study_text(&canvas, "%s, %s", designs_cells[c].text, designs_cells[c].how);
    for (int panel = 0; panel < 2; panel++) {
        double x[DESIGNS_CELLS], y[DESIGNS_CELLS], lo[DESIGNS_CELLS], hi[DESIGNS_CELLS];
        for (size_t c = 0; c < DESIGNS_CELLS; c++) {
            if (!designs_chosen(d->options, c)) {
                x[c] = y[c] = lo[c] = hi[c] = NAN;
                continue;
            }
            summary s = summarise(d, c);
            double error = 2 * (panel ? s.risks_se : s.slopes_se);
            x[c] = panel ? s.risks : s.slopes;
            y[c] = (double)(DESIGNS_CELLS - 1 - c);
            lo[c] = x[c] - error;
            hi[c] = x[c] + error;
        }
        pv_series close = {.mark = PV_MARK_BAND, .ink = PV_INK_EXPECTED, .n = 2, .x = band, .lo = low, .hi = high};
        pv_series spans = {.mark = PV_MARK_SPANS,
                           .ink = PV_INK_IG,
                           .name = panel ? "risks" : "slopes",
                           .n = DESIGNS_CELLS,
                           .x = x,
                           .y = y,
                           .lo = lo,
                           .hi = hi,
                           .size = 3};
        study_series(&canvas, &close);
        study_segment(&canvas, PV_INK_MUTED, NULL, true, 0.9, -1, 0.9, DESIGNS_CELLS);
        study_series(&canvas, &spans);
        pv_panel shown = {.title = panel ? "risks, prevalences" : "slopes",
                          .x = {.label = "coverage of 90 % intervals", .lo = 0.4, .hi = 1},
                          .y = {.name = names, .n_names = DESIGNS_CELLS},
                          .height = 560};
        study_panel(&canvas, &shown);
    }
    return study_figure(call, &canvas, "coverage", "How often intervals hold the truth, design by design.",
                        "Bars are two standard errors; the band is 0.88 to 0.92.", 2);
}

int designs_report(cli_call *call, const designs *d) {
    const char *folder = d->options->shared.output;
    pv_result *object = json_result(call, d);
    int code = CLI_OK;
    if (folder) {
        code = study_write_json(call, folder, "results.json", object);
        if (code == CLI_OK)
            code = study_write(call, folder, "tables.md", write_markdown, d);
        if (code == CLI_OK)
            code = draw(call, d);
    }
    if (code == CLI_OK && d->options->shared.running.json)
        cli_json_print(call, pv__value_share(object));
    else if (code == CLI_OK)
        print_all(stdout, d, false);
    pv_result_free(object);
    return code;
}
