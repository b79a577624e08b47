/* The test of whether the rows are a mixture of the labels' rows: its chart in a report. */
#include "cli/report_sections.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/report.h"

#include <stdlib.h>

static pv_series line(pv_ink ink, const char *name, bool dashed, const pv_shift_curve *curve, const double *y) {
    return (pv_series){
        .mark = PV_MARK_LINE, .ink = ink, .name = name, .n = curve->n, .x = curve->score, .y = y, .dashed = dashed};
}

int report_put_shift(cli_call *call, pv_report *report, const pv_unknown_prevalence *t, char *const *labels) {
    const pv_shift_curve *curve = &t->curve;
    char label[2][160], text[900];
    if (curve->n == 0)
        return CLI_OK;
    for (int y = 0; y < 2; y++)
        pv_text_short(labels[y], 40, label[y], sizeof label[y]);
    const pv_series series[] = {line(PV_INK_NEGATIVE, label[0], true, curve, curve->label[0]),
                                line(PV_INK_POSITIVE, label[1], true, curve, curve->label[1]),
                                line(PV_INK_EXPECTED, "most likely mixture", false, curve, curve->mixture),
                                line(PV_INK_EMPIRICAL, "the rows", false, curve, curve->rows)};
    const pv_panel panel = {.x = {.label = "log likelihood ratio"},
                            .y = {.label = "proportion of rows up to it", .lo = 0, .hi = 1},
                            .series = series,
                            .n_series = 4,
                            .width = 460,
                            .height = 320};
    snprintf(text, sizeof text,
             "An unknown prevalence can be inferred if the rows are a mixture of the labels as in training. The chart "
             "shows the distribution of the rows' scores, in bins, with the most likely mixture (a proportion of %.4g "
             "with %s) and each label. The likelihood ratio statistic against any distribution is %.3g (p = %.2g); "
             "with the means of the columns the test has p = %.2g. If p is small, the rows are not such a mixture, and "
             "neither the prevalence nor the probabilities can be trusted. A shift along the score looks like another "
             "prevalence, and no test can detect it.",
             curve->prevalence, label[1], t->check.distance, t->check.p, t->check.both);
    pv_report_section(report, "shift", "Are the rows a mixture of the labels?");
    const pv_figure figure = {.name = "shift",
                              .title = "The rows and the nearest mixture of the labels.",
                              .text = text,
                              .panel = &panel,
                              .panels = 1};
    pv_status status = pv_report_put_figure(call->ctx, report, &figure);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}
