/* Pictures as SVG. Heat maps are nested level sets, each one path of horizontal runs: a panel of 60 x 60 cells takes
 * about 10 kB, where a rectangle a cell would take 200. */
#include "svg.h"

#include <math.h>

static const char grey[] = "#555";

static double to_x(const svg_panel *p, double x) {
    return p->x + p->width * (x - p->x0) / (p->x1 - p->x0);
}

static double to_y(const svg_panel *p, double y) {
    return p->y + p->height * (p->y1 - y) / (p->y1 - p->y0);
}

static void escape(FILE *out, const char *text) {
    for (; *text; text++)
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else
            fputc(*text, out);
}

void svg_begin(FILE *out, double width, double height, const char *title) {
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\" "
            "font-family=\"Helvetica,Arial,sans-serif\">\n<title>",
            width, height, width, height);
    escape(out, title);
    fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", out);
}

void svg_end(FILE *out) {
    fputs("</svg>\n", out);
}

void svg_text(FILE *out, double x, double y, const char *anchor, double size, const char *colour, const char *text) {
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%g\" fill=\"%s\">", x, y, anchor, size,
            colour);
    escape(out, text);
    fputs("</text>\n", out);
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

/* A step of 1, 2 or 5 times a power of ten with three to six ticks in the range. */
static double tick_step(double range) {
    double step = pow(10, floor(log10(range / 3)));
    if (range / (5 * step) >= 2.5)
        return 5 * step;
    return range / (2 * step) >= 2.5 ? 2 * step : step;
}

static void tick_text(FILE *out, double x, double y, const char *anchor, double value, double step) {
    char text[32];
    snprintf(text, sizeof text, "%.4g", fabs(value) < 1e-9 * step ? 0.0 : value);
    svg_text(out, x, y, anchor, 10, grey, text);
}

void svg_axes(FILE *out, const svg_panel *p, const char *title, const char *x_label, const char *y_label) {
    double bottom = p->y + p->height, middle = p->y + p->height / 2;
    fprintf(out, "<path fill=\"none\" stroke=\"%s\" d=\"M%.1f %.1fh%.1fv%.1fh%.1fz", grey, p->x, p->y, p->width,
            p->height, -p->width);
    double step = tick_step(p->x1 - p->x0);
    for (double t = ceil(p->x0 / step - 1e-9) * step; t <= p->x1 + 1e-9 * step; t += step)
        fprintf(out, "M%.1f %.1fv4", to_x(p, t), bottom);
    double y_step = tick_step(p->y1 - p->y0);
    for (double t = ceil(p->y0 / y_step - 1e-9) * y_step; y_label && t <= p->y1 + 1e-9 * y_step; t += y_step)
        fprintf(out, "M%.1f %.1fh-4", p->x, to_y(p, t));
    fputs("\"/>\n", out);
    for (double t = ceil(p->x0 / step - 1e-9) * step; t <= p->x1 + 1e-9 * step; t += step)
        tick_text(out, to_x(p, t), bottom + 15, "middle", t, step);
    for (double t = ceil(p->y0 / y_step - 1e-9) * y_step; y_label && t <= p->y1 + 1e-9 * y_step; t += y_step)
        tick_text(out, p->x - 6, to_y(p, t) + 3.5, "end", t, y_step);
    if (title)
        svg_text(out, p->x + p->width / 2, p->y - 8, "middle", 12, "#000", title);
    if (x_label)
        svg_text(out, p->x + p->width / 2, bottom + 30, "middle", 11, "#000", x_label);
    if (y_label) {
        fprintf(out, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">", p->x - 38, middle);
        svg_text(out, 0, 0, "middle", 11, "#000", y_label);
        fputs("</g>\n", out);
    }
}

/* A nested svg element clips at its edge, and needs no name that must be unique. */
void svg_clip(FILE *out, const svg_panel *p) {
    fprintf(out, "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" viewBox=\"%.1f %.1f %.1f %.1f\">\n", p->x,
            p->y, p->width, p->height, p->x, p->y, p->width, p->height);
}

void svg_unclip(FILE *out) {
    fputs("</svg>\n", out);
}

/* ---- inside a panel ---------------------------------------------------------------------------------------------- */

enum { LEVELS = 14 };

static void level_colour(int level, char colour[8]) {
    const double from[3] = {236, 242, 250}, to[3] = {44, 95, 158};
    double t = (double)level / (LEVELS - 1);
    int c[3];
    for (int i = 0; i < 3; i++)
        c[i] = (int)lround(from[i] + t * (to[i] - from[i])) & 255;
    snprintf(colour, 8, "#%02x%02x%02x", (unsigned)c[0], (unsigned)c[1], (unsigned)c[2]);
}

void svg_heat(FILE *out, const svg_panel *p, size_t nx, size_t ny, const double *value, double low, double high) {
    fprintf(out, "<g transform=\"translate(%.1f %.1f) scale(%.6g %.6g)\" shape-rendering=\"crispEdges\">\n", p->x, p->y,
            p->width / (double)nx, p->height / (double)ny);
    for (int level = 0; level < LEVELS; level++) {
        double threshold = low + (high - low) * level / LEVELS;
        char colour[8];
        level_colour(level, colour);
        fprintf(out, "<path fill=\"%s\" d=\"", colour);
        for (size_t j = 0; j < ny; j++)
            for (size_t i = 0; i < nx; i++) {
                size_t start = i;
                while (i < nx && value[j * nx + i] >= threshold)
                    i++;
                if (i > start)
                    fprintf(out, "M%zu %zuh%zuv1h-%zuz", start, ny - 1 - j, i - start, i - start);
            }
        fputs("\"/>\n", out);
    }
    fputs("</g>\n", out);
}

void svg_line(FILE *out, const svg_panel *p, size_t n, const double *x, const double *y, const char *colour,
              double width, const char *dash) {
    fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%g\"", colour, width);
    if (dash)
        fprintf(out, " stroke-dasharray=\"%s\"", dash);
    fputs(" d=\"", out);
    const char *pen = "M";
    for (size_t i = 0; i < n; i++) {
        double px = to_x(p, x[i]), py = to_y(p, y[i]);
        if (isfinite(px) && isfinite(py)) {
            fprintf(out, "%s%.1f %.1f", pen, px, py);
            pen = "L";
        } else
            pen = "M";
    }
    fputs("\"/>\n", out);
}

void svg_segment(FILE *out, const svg_panel *p, double x0, double y0, double x1, double y1, const char *colour,
                 double width, const char *dash) {
    const double x[] = {x0, x1}, y[] = {y0, y1};
    svg_line(out, p, 2, x, y, colour, width, dash);
}

/* One path of lines without length, whose round ends are the points. */
void svg_points(FILE *out, const svg_panel *p, size_t n, const double *x, const double *y, const char *colour,
                double size, double opacity) {
    fprintf(out, "<path stroke=\"%s\" stroke-width=\"%g\" stroke-opacity=\"%g\" stroke-linecap=\"round\" d=\"", colour,
            size, opacity);
    for (size_t i = 0; i < n; i++)
        if ((x[i] - p->x0) * (x[i] - p->x1) <= 0 && (y[i] - p->y0) * (y[i] - p->y1) <= 0) /* an axis may run down */
            fprintf(out, "M%.1f %.1fh0", to_x(p, x[i]), to_y(p, y[i]));
    fputs("\"/>\n", out);
}

void svg_box(FILE *out, const svg_panel *p, double x0, double y0, double x1, double y1, const char *colour) {
    fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", to_x(p, x0), to_y(p, y1),
            to_x(p, x1) - to_x(p, x0), to_y(p, y0) - to_y(p, y1), colour);
}
