/* prevail/chart.h: charts as SVG, from a description. What is drawn, the table of its numbers and its CSV file come
 * from the same series. Nothing here keeps or changes what it is given.
 */
#ifndef PREVAIL_CHART_H
#define PREVAIL_CHART_H

#include "prevail/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- colours -------------------------------------------------------------------------------------------------------
 * A thing keeps its colour in every chart. The hues are those of Okabe and Ito, which colour-blind readers can tell
 * apart; each has a value for light and one for dark surroundings. */
#define PV_INK_LIST(X)                                                                                                 \
    X(TEXT, "text", "#1b1f24", "#e8eaed")                                                                              \
    X(MUTED, "muted", "#59616b", "#a9b1bb")                                                                            \
    X(GRID, "grid", "#e3e6ea", "#343a42")                                                                              \
    X(NEGATIVE, "negative", "#0072b2", "#56b4e9")                                                                      \
    X(POSITIVE, "positive", "#c25100", "#ff8a3d")                                                                      \
    X(EXPECTED, "expected", "#00795a", "#2fc596")                                                                      \
    X(EMPIRICAL, "empirical", "#30363d", "#d5dae0")                                                                    \
    X(IG, "ig", "#a8447f", "#e59ac4")                                                                                  \
    X(IW, "iw", "#a06a00", "#f0b429")                                                                                  \
    X(PLUGIN, "plugin", "#6f4fa0", "#b9a2e6")                                                                          \
    X(KNOWN, "known", "#00747f", "#4fc3d0")                                                                            \
    X(PLAIN, "plain", "#2b7fb8", "#7cc7f2")

typedef enum pv_ink {
#define PV_INK_ENUM(name, word, light, dark) PV_INK_##name,
    PV_INK_LIST(PV_INK_ENUM)
#undef PV_INK_ENUM
        PV_INKS
} pv_ink;
const char *pv_ink_name(pv_ink ink);
bool pv_ink_find(const char *name, pv_ink *ink);

pv_ink pv_ink_named(const char *word); /* PV_INK_TEXT where none has this name */

/* ---- what is drawn -----------------------------------------------------------------------------------------------
 * Points that are not finite (or not above 0, on a logarithmic axis) are left out and break a line. */
typedef enum pv_mark {
    PV_MARK_LINE,   /* through (x, y) */
    PV_MARK_BAND,   /* between (x, lo) and (x, hi) */
    PV_MARK_POINTS, /* at (x, y); bars from lo to hi where these are given */
    PV_MARK_BARS,   /* from 0 (logarithmic: the axis) to y, over lo .. hi on the x axis */
    PV_MARK_SPANS,  /* points with bars along x: at (x, y), from lo to hi */
    PV_MARK_RUG,    /* short strokes at x, on the lower edge where y is 0, on the upper one otherwise */
    PV_MARK_HEAT    /* y [n / columns][columns] over the whole panel, the lowest row first; darker is higher */
} pv_mark;
#define PV_MARK_LIST(X)                                                                                                \
    X(LINE, "line")                                                                                                    \
    X(BAND, "band")                                                                                                    \
    X(POINTS, "points")                                                                                                \
    X(BARS, "bars")                                                                                                    \
    X(SPANS, "spans")                                                                                                  \
    X(RUG, "rug")                                                                                                      \
    X(HEAT, "heat")
const char *pv_mark_name(pv_mark mark);
bool pv_mark_find(const char *name, pv_mark *mark);

typedef struct pv_series {
    pv_mark mark;
    pv_ink ink;
    const char *name; /* in the key and in tables; NULL: in neither */
    size_t n;
    const double *x, *y, *lo, *hi; /* [n]; NULL where the mark has none */
    size_t stride;                 /* from one number to the next in all of them; 0: 1 */
    size_t columns;                /* of HEAT */
    double size;                   /* of points, as a radius, or of lines, as a width; 0: the usual */
    bool dashed;
    const char *id; /* of the element, for scripts; NULL: none */
} pv_series;

typedef struct pv_axis {
    const char *label;
    double lo, hi; /* unless lo < hi, by more than rounding: from the series */
    bool log;
    const char *const *name; /* [n_names]: names at 0, 1, ... instead of numbers */
    size_t n_names;
} pv_axis;

typedef struct pv_panel {
    const char *title; /* may be NULL */
    pv_axis x, y;
    const pv_series *series;
    size_t n_series;
    double width, height; /* in pixels; 0: 380 x 330 */
    const char *id;       /* prefix for scripts; NULL: none */
} pv_panel;

typedef struct pv_figure {
    const char *name;  /* of its files, in the page an id: letters, digits, - and _ */
    const char *title; /* one line */
    const char *text;  /* what it shows, for readers who cannot see it and for those who can */
    const pv_panel *panel;
    size_t panels;
    size_t columns; /* of panels in a file; 0: up to three */
} pv_figure;

/* One SVG file, self-contained: its text is outlines, its colours the light ones. */
PV_MUST_USE pv_status pv_figure_write_svg(pv_ctx *ctx, const pv_figure *figure, const char *path);
/* panel, series, x, y, lo, hi: every number that is drawn. */
PV_MUST_USE pv_status pv_figure_write_csv(pv_ctx *ctx, const pv_figure *figure, const char *path);

#ifdef __cplusplus
}
#endif
#endif
