/* Figures of studies, built panel by panel. Data are copied and kept until the figure is written. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "prevail/prevail.h"
#include "lab/common/canvas.h"
#include "lab/common/study.h"
#include "tool/console.h"

static void *keep(study_canvas *c, size_t count, size_t size) {
    c->block = cli_resize(c->block, c->blocks + 1, sizeof *c->block);
    return c->block[c->blocks++] = cli_alloc(count, size);
}

static const double *copy(study_canvas *c, size_t n, const double *values) {
    if (!values)
        return NULL;
    double *kept = keep(c, n, sizeof *kept);
    memcpy(kept, values, n * sizeof *kept);
    return kept;
}

const char *study_text(study_canvas *c, const char *format, ...) {
    char *text = keep(c, 1, STUDY_TEXT);
    va_list values;
    va_start(values, format);
    vsnprintf(text, STUDY_TEXT, format, values);
    va_end(values);
    return text;
}

void study_series(study_canvas *c, const pv_series *series) {
    if (c->n_series == STUDY_SERIES)
        return;
    pv_series *s = &c->series[c->n_series++];
    *s = *series;
    s->x = copy(c, s->n, s->x);
    s->y = copy(c, s->n, s->y);
    s->lo = copy(c, s->n, s->lo);
    s->hi = copy(c, s->n, s->hi);
}

void study_line(study_canvas *c, pv_ink ink, const char *name, bool dashed, size_t n, const double *x,
                const double *y) {
    pv_series series = {.mark = PV_MARK_LINE, .ink = ink, .name = name, .dashed = dashed, .n = n, .x = x, .y = y};
    study_series(c, &series);
}

void study_segment(study_canvas *c, pv_ink ink, const char *name, bool dashed, double x0, double y0, double x1,
                   double y1) {
    const double x[] = {x0, x1}, y[] = {y0, y1};
    study_line(c, ink, name, dashed, 2, x, y);
}

void study_points(study_canvas *c, pv_ink ink, const char *name, size_t n, const double *x, const double *y,
                  double size) {
    pv_series series = {.mark = PV_MARK_POINTS, .ink = ink, .name = name, .n = n, .x = x, .y = y, .size = size};
    study_series(c, &series);
}

void study_panel(study_canvas *c, const pv_panel *panel) {
    pv_series *series = keep(c, c->n_series, sizeof *series);
    memcpy(series, c->series, c->n_series * sizeof *series);
    c->panel = cli_resize(c->panel, c->panels + 1, sizeof *c->panel);
    c->panel[c->panels] = *panel;
    c->panel[c->panels].series = series;
    c->panel[c->panels++].n_series = c->n_series;
    c->n_series = 0;
}

int study_figure(cli_call *call, study_canvas *c, const char *name, const char *title, const char *text,
                 size_t columns) {
    const study_options *options = call->options;
    pv_figure figure = {
        .name = name, .title = title, .text = text, .panel = c->panel, .panels = c->panels, .columns = columns};
    pv_status status = pv_report_put_figure(call->ctx, options->report, &figure);
    for (size_t i = 0; i < c->blocks; i++)
        free(c->block[i]);
    free(c->block);
    free(c->panel);
    *c = (study_canvas){0};
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}
