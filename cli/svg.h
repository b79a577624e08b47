/* cli/svg.h: small pictures as SVG: panels with axes, heat maps, points, lines, bars. */
#ifndef PREVAIL_CLI_SVG_H
#define PREVAIL_CLI_SVG_H

#include <stddef.h>
#include <stdio.h>

/* A panel: its place on the page, in pixels, and the range of each axis. */
typedef struct svg_panel {
    double x, y, width, height;
    double x0, x1, y0, y1;
} svg_panel;

/* The page, white, with a title that viewers show. */
void svg_begin(FILE *out, double width, double height, const char *title);
void svg_end(FILE *out);

/* anchor: "start", "middle", "end". size in pixels. */
void svg_text(FILE *out, double x, double y, const char *anchor, double size, const char *colour, const char *text);

/* Frame, ticks and labels; to be drawn after what is inside. y_label NULL: no ticks at the left either. */
void svg_axes(FILE *out, const svg_panel *panel, const char *title, const char *x_label, const char *y_label);

/* What follows, up to svg_unclip, is cut at the panel's frame. */
void svg_clip(FILE *out, const svg_panel *panel);
void svg_unclip(FILE *out);

/* Levels of value [ny][nx] (cell centres, the lowest y first) between low and high, darker is higher. */
void svg_heat(FILE *out, const svg_panel *panel, size_t nx, size_t ny, const double *value, double low, double high);

/* Lines in the panel's coordinates; dash NULL: solid. Points that are not finite break the line. */
void svg_line(FILE *out, const svg_panel *panel, size_t n, const double *x, const double *y, const char *colour,
              double width, const char *dash);
void svg_segment(FILE *out, const svg_panel *panel, double x0, double y0, double x1, double y1, const char *colour,
                 double width, const char *dash);
void svg_points(FILE *out, const svg_panel *panel, size_t n, const double *x, const double *y, const char *colour,
                double size, double opacity);
/* A filled rectangle from corner to corner. */
void svg_box(FILE *out, const svg_panel *panel, double x0, double y0, double x1, double y1, const char *colour);

#endif
