/* Writes figures to files: panels side by side as one SVG, and their numbers as CSV. */
#include <math.h>

#include "report/page.h"

typedef struct grid {
    size_t columns;
    double width, height; /* width of a cell, that of the widest panel; total height */
} grid;

/* The height of the row that begins with this panel: that of its tallest panel. */
static double row_height(const pv_figure *figure, size_t begin, size_t columns) {
    double height = 0;
    for (size_t i = begin; i < figure->panels && i < begin + columns; i++)
        height = fmax(height, pv__panel_size(&figure->panel[i]).height);
    return height;
}

static grid find_grid(const pv_figure *figure) {
    grid g = {.columns = figure->columns ? figure->columns : figure->panels < 3 ? figure->panels : 3};
    g.columns = g.columns ? g.columns : 1;
    for (size_t i = 0; i < figure->panels; i++)
        g.width = fmax(g.width, pv__panel_size(&figure->panel[i]).width);
    for (size_t i = 0; i < figure->panels; i += g.columns)
        g.height += row_height(figure, i, g.columns);
    return g;
}

static void write_svg(const pv_ctx *ctx, FILE *out, const pv_figure *figure) {
    enum { HEAD = 30 };
    grid g = find_grid(figure);
    double width = g.width * (double)g.columns, height = HEAD + g.height, top = HEAD;
    pv__print(out,
              PV_FIGURE_SVG_BEGINS " font-family=\"sans-serif\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\">\n"
                                   "<title id=\"title\">",
              width, height, width, height);
    pv__put_html(out, figure->title);
    fputs("</title>\n<desc id=\"desc\">", out);
    pv__put_html(out, figure->text);
    fputs("</desc>\n<style>\n", out);
    pv__put_classes(out, true);
    fputs("</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", out);
    pv__svg svg = {.out = out, .ctx = ctx, .outlines = true, .prefix = figure->name};
    pv__svg_fitted(&svg, 8, 20, 's', 14, PV_INK_TEXT, true, false, width - 16, figure->title);
    for (size_t i = 0; i < figure->panels && pv__drawing(&svg); i++) {
        size_t column = i % g.columns;
        if (i > 0 && column == 0)
            top += row_height(figure, i - g.columns, g.columns);
        pv__print(out, "<g transform=\"translate(%g %g)\">\n", g.width * (double)column, top);
        pv__panel_draw(&svg, &figure->panel[i]);
        fputs("</g>\n", out);
    }
    pv__put_glyphs(&svg);
    fputs("</svg>\n", out);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static void put_number(FILE *out, const double *values, const pv_series *s, size_t i) {
    char text[32];
    fputc(',', out);
    if (!values)
        return;
    double value = pv__at(values, s, i);
    if (isnan(value)) {
        fputs("NA", out);
    } else {
        pv_format_double(value, text, sizeof text);
        fputs(text, out);
    }
}

/* Cells of a heat map above its lowest value: x and y of their centres, the value as lo. Four digits are enough to
 * reproduce the picture. */
static void write_heat(const pv_ctx *ctx, FILE *out, const pv_panel *panel, const pv_series *s) {
    pv__scale x, y;
    pv__scale_set(panel, 0, &x);
    pv__scale_set(panel, 1, &y);
    size_t nx = s->columns, ny = nx ? s->n / nx : 0;
    double least = HUGE_VAL;
    for (size_t i = 0; i < s->n; i++)
        least = fmin(least, pv__at(s->y, s, i));
    for (size_t i = 0; i < nx * ny && !pv__interrupted(ctx); i++) {
        if (!(pv__at(s->y, s, i) > least))
            continue;
        size_t row = i / nx, column = i % nx;
        pv_csv_field(out, panel->title ? panel->title : "");
        fputc(',', out);
        pv_csv_field(out, s->name ? s->name : "");
        pv__print(out, ",%.4g,%.4g,%.4g,\n", x.lo + (x.hi - x.lo) * ((double)column + 0.5) / (double)nx,
                  y.lo + (y.hi - y.lo) * ((double)row + 0.5) / (double)ny, pv__at(s->y, s, i));
    }
}

static void write_series(const pv_ctx *ctx, FILE *out, const pv_panel *panel, const pv_series *s) {
    if (s->mark == PV_MARK_HEAT) {
        write_heat(ctx, out, panel, s);
        return;
    }
    for (size_t i = 0; i < s->n && !pv__interrupted(ctx); i++) {
        pv_csv_field(out, panel->title ? panel->title : "");
        fputc(',', out);
        pv_csv_field(out, s->name ? s->name : "");
        put_number(out, s->x, s, i);
        put_number(out, s->y, s, i);
        put_number(out, s->lo, s, i);
        put_number(out, s->hi, s, i);
        fputc('\n', out);
    }
}

static void write_csv(const pv_ctx *ctx, FILE *out, const pv_figure *figure) {
    fputs(PV_FIGURE_CSV_BEGINS, out);
    for (size_t p = 0; p < figure->panels; p++)
        for (size_t i = 0; i < figure->panel[p].n_series; i++)
            write_series(ctx, out, &figure->panel[p], &figure->panel[p].series[i]);
}

pv_status pv__check_stop(pv_ctx *ctx, const char *path) {
    return pv__interrupted(ctx) ? pv__fail_at(ctx, PV_ERR_INTERRUPTED, path, 0, 0, "writing was interrupted") : PV_OK;
}

typedef void (*writer)(const pv_ctx *ctx, FILE *out, const pv_figure *figure);

static pv_status write_file(pv_ctx *ctx, const pv_figure *figure, const char *path, writer write) {
    pv_output output = {0};
    pv_status status = pv_output_open(ctx, path, &output);
    if (status == PV_OK) {
        write(ctx, output.stream, figure);
        status = pv__check_stop(ctx, path);
        if (status == PV_OK)
            status = pv_output_commit(ctx, &output);
    }
    pv_output_discard(ctx, &output);
    return status;
}

pv_status pv_figure_write_svg(pv_ctx *ctx, const pv_figure *figure, const char *path) {
    return write_file(ctx, figure, path, write_svg);
}

pv_status pv_figure_write_csv(pv_ctx *ctx, const pv_figure *figure, const char *path) {
    return write_file(ctx, figure, path, write_csv);
}
