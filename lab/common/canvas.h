/* lab/common/canvas.h: figures built panel by panel. */
#ifndef PREVAIL_LAB_COMMON_CANVAS_H
#define PREVAIL_LAB_COMMON_CANVAS_H

#include "prevail/chart.h"
#include "prevail/prevail.h"
#include "tool/command.h"

enum { STUDY_SERIES = 24, STUDY_TEXT = 160 };

/* Initialise with zeros. Names and labels are borrowed until study_figure; numbers are copied. */
typedef struct study_canvas {
    pv_panel *panel;
    size_t panels;
    pv_series series[STUDY_SERIES]; /* of the panel under construction */
    size_t n_series;
    void **block; /* allocations to free at the end */
    size_t blocks;
} study_canvas;

const char *study_text(study_canvas *canvas, const char *format, ...) PV_PRINTF(2, 3); /* valid until study_figure */
void study_series(study_canvas *canvas, const pv_series *series);                      /* of stride 1 */
void study_line(study_canvas *canvas, pv_ink ink, const char *name, bool dashed, size_t n, const double *x,
                const double *y);
void study_segment(study_canvas *canvas, pv_ink ink, const char *name, bool dashed, double x0, double y0, double x1,
                   double y1);
void study_points(study_canvas *canvas, pv_ink ink, const char *name, size_t n, const double *x, const double *y,
                  double size);
/* Ends the panel, with the series added since the last one. */
void study_panel(study_canvas *canvas, const pv_panel *panel);
/* Writes the figure to the report and the folder, and empties the canvas. */
int study_figure(cli_call *call, study_canvas *canvas, const char *name, const char *title, const char *text,
                 size_t columns);

#endif
