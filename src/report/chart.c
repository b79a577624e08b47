/* Charts: the layout of a panel follows from the width of its own text, so that no label is cut; series are drawn
 * inside. */
#include <math.h>
#include <string.h>

#include "report/svg.h"

enum { CLOUD = 200 }; /* more points than this are drawn as a single path */
static const double TEXT = 11, TITLE = 13, ROW = 16, MARGIN = 14, NAMES_WIDTH = 250;

typedef struct layout {
    double width, height;
    double left, top, right, bottom; /* of the frame, in pixels */
    pv__scale x, y;
} layout;

pv__size pv__panel_size(const pv_panel *panel) {
    return (pv__size){panel->width > 0 ? panel->width : 380, panel->height > 0 ? panel->height : 330};
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* A path under construction, in tenths of a pixel. Points on a straight line between their neighbours are left out. */
typedef struct pen {
    FILE *out;
    bool down, held;
    long x, y, held_x, held_y;
} pen;

static void put_point(pen *p, char command, long x, long y) {
    pv__print(p->out, "%c%.1f %.1f", command, (double)x / 10, (double)y / 10);
    p->x = x;
    p->y = y;
}

static void pen_flush(pen *p) {
    if (p->held)
        put_point(p, 'L', p->held_x, p->held_y);
    p->held = false;
}

static void pen_to(pen *p, double px, double py) {
    if (!isfinite(px) || !isfinite(py)) {
        pen_flush(p);
        p->down = false;
        return;
    }
    long x = lround(10 * px), y = lround(10 * py);
    if (!p->down) {
        put_point(p, 'M', x, y);
        p->down = true;
        return;
    }
    if (p->held) {
        long ax = p->held_x - p->x, ay = p->held_y - p->y, bx = x - p->held_x, by = y - p->held_y;
        if (!(ax * by == ay * bx && ax * bx + ay * by >= 0))
            pen_flush(p);
    }
    p->held = x != p->x || y != p->y;
    p->held_x = x;
    p->held_y = y;
}

static void put_id(const pv__svg *svg, const pv_series *s) {
    if (s->id)
        pv__print(svg->out, " id=\"%s\"", s->id);
}

static void draw_line(const pv__svg *svg, const layout *l, const pv_series *s) {
    pv__print(svg->out, "<path class=\"l-%s\" stroke-width=\"%g\" stroke-linejoin=\"round\"%s", pv__ink_word(s->ink),
              s->size > 0 ? s->size : 1.8, s->dashed ? " stroke-dasharray=\"5 4\"" : "");
    put_id(svg, s);
    fputs(" d=\"", svg->out);
    pen p = {.out = svg->out};
    for (size_t i = 0; i < s->n && pv__drawing(svg); i++)
        pen_to(&p, pv__scale_at(&l->x, pv__at(s->x, s, i)), pv__scale_at(&l->y, pv__at(s->y, s, i)));
    pen_flush(&p);
    fputs("\"/>\n", svg->out);
}

static bool in_domain(const pv__scale *scale, double value) {
    return isfinite(value) && !(scale->log && value <= 0);
}

/* A bound beyond the axis is drawn at its edge. */
static double edge(const pv__scale *scale, double value) {
    double at = scale->log && value <= 0 ? scale->from : pv__scale_at(scale, value);
    if (isnan(at))
        return NAN;
    return fmin(fmax(at, fmin(scale->from, scale->to)), fmax(scale->from, scale->to));
}

static void draw_band(const pv__svg *svg, const layout *l, const pv_series *s) {
    pv__print(svg->out, "<path class=\"f-%s\" fill-opacity=\"0.18\"", pv__ink_word(s->ink));
    put_id(svg, s);
    fputs(" d=\"", svg->out);
    for (size_t first = 0; first < s->n && pv__drawing(svg);) { /* segments without missing values */
        size_t end = first;
        while (end < s->n && in_domain(&l->x, pv__at(s->x, s, end)) && isfinite(pv__at(s->lo, s, end)) &&
               isfinite(pv__at(s->hi, s, end)))
            end++;
        pen p = {.out = svg->out};
        for (size_t i = first; i < end && pv__drawing(svg); i++)
            pen_to(&p, pv__scale_at(&l->x, pv__at(s->x, s, i)), edge(&l->y, pv__at(s->lo, s, i)));
        for (size_t i = end; i-- > first && pv__drawing(svg);)
            pen_to(&p, pv__scale_at(&l->x, pv__at(s->x, s, i)), edge(&l->y, pv__at(s->hi, s, i)));
        pen_flush(&p);
        if (end > first)
            fputc('z', svg->out);
        first = end + 1;
    }
    fputs("\"/>\n", svg->out);
}

/* ---- points and bars --------------------------------------------------------------------------------------------- */

static void put_segments(const pv__svg *svg, const layout *l, const pv_series *s, bool across) {
    pv__print(svg->out, "<path class=\"l-%s\" stroke-width=\"1.4\" d=\"", pv__ink_word(s->ink));
    const pv__scale *along = across ? &l->x : &l->y;
    for (size_t i = 0; i < s->n && pv__drawing(svg); i++) {
        double x = pv__scale_at(&l->x, pv__at(s->x, s, i)), y = pv__scale_at(&l->y, pv__at(s->y, s, i));
        double lo = edge(along, pv__at(s->lo, s, i)), hi = edge(along, pv__at(s->hi, s, i));
        bool inside = across ? y >= l->top - 0.5 && y <= l->bottom + 0.5 : x >= l->left - 0.5 && x <= l->right + 0.5;
        if (!isfinite(lo) || !isfinite(hi) || !inside) /* marks of this kind are not clipped at the frame */
            continue;
        if (across)
            pv__print(svg->out, "M%.1f %.1fH%.1f", lo, y, hi);
        else
            pv__print(svg->out, "M%.1f %.1fV%.1f", x, lo, hi);
    }
    fputs("\"/>\n", svg->out);
}

/* Many or small points are drawn as one path of zero-length lines with round ends. */
static bool is_cloud(const pv_series *s) {
    return s->n > CLOUD || (s->size > 0 && s->size < 2);
}

static void draw_points(const pv__svg *svg, const layout *l, const pv_series *s) {
    double radius = s->size > 0 ? s->size : 3.4;
    if (s->lo && s->hi)
        put_segments(svg, l, s, s->mark == PV_MARK_SPANS);
    if (is_cloud(s)) {
        pv__print(svg->out,
                  "<path class=\"l-%s\" stroke-width=\"%g\" stroke-opacity=\"0.35\" stroke-linecap=\"round\" d=\"",
                  pv__ink_word(s->ink), s->size > 0 ? 2 * s->size : 2.4);
        for (size_t i = 0; i < s->n && pv__drawing(svg); i++) {
            double x = pv__scale_at(&l->x, pv__at(s->x, s, i)), y = pv__scale_at(&l->y, pv__at(s->y, s, i));
            if (isfinite(x) && isfinite(y))
                pv__print(svg->out, "M%.1f %.1fh0", x, y);
        }
        fputs("\"/>\n", svg->out);
        return;
    }
    for (size_t i = 0; i < s->n && pv__drawing(svg); i++) {
        double x = pv__scale_at(&l->x, pv__at(s->x, s, i)), y = pv__scale_at(&l->y, pv__at(s->y, s, i));
        bool inside = x >= l->left - 0.5 && x <= l->right + 0.5 && y >= l->top - 0.5 && y <= l->bottom + 0.5;
        if (!inside && !s->id) /* elements that a script moves must exist */
            continue;
        pv__print(svg->out, "<circle class=\"f-%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%g\"%s", pv__ink_word(s->ink),
                  inside ? x : 0, inside ? y : 0, radius, inside ? "" : " visibility=\"hidden\"");
        put_id(svg, s);
        fputs("/>\n", svg->out);
    }
}

static void draw_bars(const pv__svg *svg, const layout *l, const pv_series *s) {
    pv__print(svg->out, "<path class=\"f-%s s-%s\" fill-opacity=\"0.4\" stroke-width=\"1\" d=\"", pv__ink_word(s->ink),
              pv__ink_word(s->ink));
    for (size_t i = 0; i < s->n && pv__drawing(svg); i++) {
        double y = pv__scale_at(&l->y, pv__at(s->y, s, i)), x0 = edge(&l->x, pv__at(s->lo, s, i));
        double x1 = edge(&l->x, pv__at(s->hi, s, i)), base = l->y.log ? l->y.from : pv__scale_at(&l->y, 0);
        if (isfinite(y) && isfinite(x0) && isfinite(x1) && fabs(y - base) > 0.05)
            pv__print(svg->out, "M%.1f %.1fV%.1fH%.1fV%.1fz", x0, base, y, x1, base);
    }
    fputs("\"/>\n", svg->out);
}

static void draw_rug(const pv__svg *svg, const layout *l, const pv_series *s) {
    pv__print(svg->out, "<path class=\"l-%s\" stroke-width=\"1\" stroke-opacity=\"0.45\" d=\"", pv__ink_word(s->ink));
    for (size_t i = 0; i < s->n && pv__drawing(svg); i++) {
        double x = pv__scale_at(&l->x, pv__at(s->x, s, i));
        bool low = pv__at(s->y, s, i) == 0;
        if (isfinite(x))
            pv__print(svg->out, "M%.1f %.1fv%d", x, low ? l->bottom : l->top, low ? -7 : 7);
    }
    fputs("\"/>\n", svg->out);
}

/* Nested level sets, each drawn as one path of horizontal runs: 60 x 60 cells take about 10 kB. */
static void draw_heat(const pv__svg *svg, const layout *l, const pv_series *s) {
    enum { LEVELS = 12 };
    size_t nx = s->columns, ny = nx ? s->n / nx : 0;
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (size_t i = 0; i < s->n; i++) {
        double value = pv__at(s->y, s, i);
        if (isfinite(value)) {
            low = fmin(low, value);
            high = fmax(high, value);
        }
    }
    if (!(high > low) || ny == 0)
        return;
    pv__print(svg->out,
              "<g class=\"f-%s\" transform=\"translate(%.1f %.1f) scale(%.6g %.6g)\" shape-rendering=\"crispEdges\">\n",
              pv__ink_word(s->ink), l->left, l->top, (l->right - l->left) / (double)nx,
              (l->bottom - l->top) / (double)ny);
    for (int level = 1; level < LEVELS; level++) {
        double threshold = low + (high - low) * level / LEVELS;
        fputs("<path fill-opacity=\"0.09\" d=\"", svg->out);
        for (size_t j = 0; j < ny && pv__drawing(svg); j++)
            for (size_t i = 0; i < nx; i++) {
                size_t start = i;
                while (i < nx && pv__at(s->y, s, j * nx + i) >= threshold)
                    i++;
                if (i > start)
                    pv__print(svg->out, "M%zu %zuh%zuv1h-%zuz", start, ny - 1 - j, i - start, i - start);
            }
        fputs("\"/>\n", svg->out);
    }
    fputs("</g>\n", svg->out);
}

static void draw_series(const pv__svg *svg, const layout *l, const pv_series *s) {
    switch (s->mark) {
    case PV_MARK_LINE:
        draw_line(svg, l, s);
        break;
    case PV_MARK_BAND:
        draw_band(svg, l, s);
        break;
    case PV_MARK_POINTS:
    case PV_MARK_SPANS:
        draw_points(svg, l, s);
        break;
    case PV_MARK_BARS:
        draw_bars(svg, l, s);
        break;
    case PV_MARK_RUG:
        draw_rug(svg, l, s);
        break;
    case PV_MARK_HEAT:
        draw_heat(svg, l, s);
    }
}

/* ---- layout ------------------------------------------------------------------------------------------------------ */

static void tick_text(const pv_axis *axis, const pv__scale *scale, int i, char *text, size_t size) {
    if (axis->n_names)
        pv__shorten(axis->name[(size_t)scale->tick[i]], 40, text, size);
    else
        pv__tick_text(scale, i, text, size);
}

static double widest_tick(const pv_axis *axis, const pv__scale *scale) {
    double widest = 0;
    for (int i = 0; i < scale->ticks; i++) {
        char text[128];
        tick_text(axis, scale, i, text, sizeof text);
        if (scale->named[i])
            widest = fmax(widest, pv__text_width(text, TEXT));
    }
    return fmin(widest, NAMES_WIDTH);
}

/* Whether a series has its own entry in the key: a band shares that of an adjacent line of the same colour. */
static bool in_key(const pv_series *s) {
    return s->name && s->mark != PV_MARK_HEAT;
}

static double key_width(const pv_series *s) {
    char name[160];
    pv__shorten(s->name, 44, name, sizeof name);
    return 24 + pv__text_width(name, TEXT) + 14;
}

/* The number of rows of the key at a given width. */
static int key_rows(const pv_panel *panel, double width) {
    double at = 0;
    int rows = 0;
    for (size_t i = 0; i < panel->n_series; i++)
        if (in_key(&panel->series[i])) {
            double own = key_width(&panel->series[i]);
            if (rows == 0 || at + own > width) {
                rows++;
                at = 0;
            }
            at += own;
        }
    return rows;
}

static layout lay_out(const pv_panel *panel) {
    pv__size size = pv__panel_size(panel);
    layout l = {.width = size.width, .height = size.height};
    pv__scale_set(panel, 0, &l.x);
    pv__scale_set(panel, 1, &l.y);
    l.left = (panel->y.label ? 22 : 6) + widest_tick(&panel->y, &l.y) + 8;
    l.right = size.width - MARGIN;
    l.top = panel->title ? 32 : 14;
    l.bottom = size.height - 22 - (panel->x.label ? 18 : 0) - ROW * key_rows(panel, size.width - 16) -
               (key_rows(panel, size.width - 16) ? 8 : 0);
    l.x.from = l.left;
    l.x.to = l.right;
    l.y.from = l.bottom;
    l.y.to = l.top;
    return l;
}

/* ---- frame and key ----------------------------------------------------------------------------------------------- */

static void draw_grid(const pv__svg *svg, const layout *l) {
    fputs("<path class=\"l-grid\" stroke-width=\"1\" d=\"", svg->out);
    for (int i = 0; i < l->x.ticks; i++)
        pv__print(svg->out, "M%.1f %.1fV%.1f", pv__scale_at(&l->x, l->x.tick[i]), l->top, l->bottom);
    for (int i = 0; i < l->y.ticks; i++)
        pv__print(svg->out, "M%.1f %.1fH%.1f", l->left, pv__scale_at(&l->y, l->y.tick[i]), l->right);
    fputs("\"/>\n", svg->out);
}

static void draw_ticks(pv__svg *svg, const pv_panel *panel, const layout *l) {
    char text[128];
    double free_from = -HUGE_VAL;
    for (int i = 0; i < l->x.ticks; i++) {
        tick_text(&panel->x, &l->x, i, text, sizeof text);
        double at = pv__scale_at(&l->x, l->x.tick[i]), half = pv__text_width(text, TEXT) / 2;
        double middle = fmin(fmax(at, half), l->width - half - 1);
        if (!l->x.named[i] || middle - half < free_from)
            continue;
        pv__svg_text(svg, middle, l->bottom + 16, 'm', TEXT, PV_INK_MUTED, false, false, text);
        free_from = middle + half + 5;
    }
    for (int i = 0; i < l->y.ticks; i++)
        if (l->y.named[i]) {
            tick_text(&panel->y, &l->y, i, text, sizeof text);
            pv__svg_fitted(svg, l->left - 7, pv__scale_at(&l->y, l->y.tick[i]) + 4, 'e', TEXT, PV_INK_MUTED, false,
                           false, NAMES_WIDTH + 1, text);
        }
}

static void draw_sample(const pv__svg *svg, const pv_series *s, double x, double y) {
    const char *word = pv__ink_word(s->ink);
    if (s->mark == PV_MARK_LINE)
        pv__print(svg->out, "<path class=\"l-%s\" stroke-width=\"2\"%s d=\"M%.1f %.1fh18\"/>\n", word,
                  s->dashed ? " stroke-dasharray=\"5 4\"" : "", x, y);
    else if (s->mark == PV_MARK_POINTS || s->mark == PV_MARK_SPANS)
        pv__print(svg->out, "<circle class=\"f-%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%g\"/>\n", word, x + 9, y,
                  s->size > 0 ? fmin(fmax(s->size, 2.2), 5) : 3.4);
    else if (s->mark == PV_MARK_RUG)
        pv__print(svg->out, "<path class=\"l-%s\" d=\"M%.1f %.1fv8m5 -8v8m5 -8v8\"/>\n", word, x + 4, y - 4);
    else
        pv__print(svg->out,
                  "<rect class=\"f-%s\" fill-opacity=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"18\" height=\"10\"/>\n", word,
                  s->mark == PV_MARK_BAND ? "0.25" : "0.5", x, y - 5);
}

static void draw_key(pv__svg *svg, const pv_panel *panel, const layout *l) {
    double width = l->width - 16, at = 8, y = l->bottom + 22 + (panel->x.label ? 18 : 0) + 8;
    for (size_t i = 0; i < panel->n_series; i++) {
        const pv_series *s = &panel->series[i];
        if (!in_key(s))
            continue;
        double own = key_width(s);
        if (at > 8 && at - 8 + own > width) {
            at = 8;
            y += ROW;
        }
        draw_sample(svg, s, at, y);
        pv__svg_fitted(svg, at + 24, y + 4, 's', TEXT, PV_INK_TEXT, false, false, fmin(own - 36, width - 24), s->name);
        at += own;
    }
}

/* Writes scales for scripts that draw into the panel. */
static void put_scales(const pv__svg *svg, const pv_panel *panel, const layout *l) {
    fputs("<g", svg->out);
    if (panel->id)
        pv__print(svg->out, " id=\"%s\" data-x=\"%.10g %.10g %.1f %.1f\" data-y=\"%.10g %.10g %.1f %.1f\"", panel->id,
                  l->x.lo, l->x.hi, l->x.from, l->x.to, l->y.lo, l->y.hi, l->y.from, l->y.to);
    fputs(">\n", svg->out);
}

/* Points on the frame are shown whole, those beyond it not at all; other marks are clipped. */
static bool is_whole(const pv_series *s) {
    return (s->mark == PV_MARK_POINTS || s->mark == PV_MARK_SPANS) && !is_cloud(s);
}

void pv__panel_draw(pv__svg *svg, const pv_panel *panel) {
    layout l = lay_out(panel);
    int id = svg->ids++;
    if (panel->title)
        pv__svg_fitted(svg, 8, 18, 's', TITLE, PV_INK_TEXT, true, false, l.width - 16, panel->title);
    pv__print(svg->out,
              "<clipPath id=\"%s-clip%d\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></clipPath>\n",
              svg->prefix, id, l.left - 1, l.top - 1, l.right - l.left + 2, l.bottom - l.top + 2);
    draw_grid(svg, &l);
    pv__print(svg->out, "<g clip-path=\"url(#%s-clip%d)\">\n", svg->prefix, id);
    put_scales(svg, panel, &l);
    for (size_t i = 0; i < panel->n_series && pv__drawing(svg); i++)
        if (!is_whole(&panel->series[i]))
            draw_series(svg, &l, &panel->series[i]);
    fputs("</g></g>\n", svg->out);
    for (size_t i = 0; i < panel->n_series && pv__drawing(svg); i++)
        if (is_whole(&panel->series[i]))
            draw_series(svg, &l, &panel->series[i]);
    pv__print(svg->out, "<path class=\"l-muted\" stroke-width=\"1\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", l.left, l.top,
              l.bottom, l.right);
    draw_ticks(svg, panel, &l);
    if (panel->x.label) {
        double half = fmin(pv__text_width(panel->x.label, TEXT), l.width - 8) / 2 + 4;
        double middle = fmin(fmax((l.left + l.right) / 2, half), l.width - half);
        pv__svg_fitted(svg, middle, l.bottom + 34, 'm', TEXT, PV_INK_TEXT, false, false, l.width - 8, panel->x.label);
    }
    if (panel->y.label)
        pv__svg_fitted(svg, 13, (l.top + l.bottom) / 2, 'm', TEXT, PV_INK_TEXT, false, true, l.height - 12,
                       panel->y.label);
    draw_key(svg, panel, &l);
}
