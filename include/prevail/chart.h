/* prevail/chart.h: draws charts as SVG from a description. The drawing, the table of its numbers and its CSV file are
 * made from the same series. The functions neither keep nor change their arguments.
 */
#ifndef PREVAIL_CHART_H
#define PREVAIL_CHART_H

#include "prevail/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- colours -------------------------------------------------------------------------------------------------------
 * Each quantity has the same colour in every chart. The hues are those of Okabe and Ito, which colour-blind readers can
 * distinguish; each has one value for a light and one for a dark background. */
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

pv_ink pv_ink_named(const char *word); /* PV_INK_TEXT if no colour has this name */

/* ---- series
 * ---------------------------------------------------------------------------------------------------------- Points
 * that are not finite (or, on a logarithmic axis, not positive) are left out and interrupt a line. */
typedef enum pv_mark {
    PV_MARK_LINE,   /* through (x, y) */
    PV_MARK_BAND,   /* between (x, lo) and (x, hi) */
    PV_MARK_POINTS, /* at (x, y), with error bars from lo to hi if given */
    PV_MARK_BARS,   /* from 0 (on a logarithmic axis: from the axis) to y, over lo .. hi on the x axis */
    PV_MARK_SPANS,  /* at (x, y), with horizontal error bars from lo to hi */
    PV_MARK_RUG,    /* short strokes at x, on the lower edge if y is 0, otherwise on the upper edge */
    PV_MARK_HEAT    /* y [n / columns][columns] fills the panel, lowest row first; darker is higher */
} pv_mark;

typedef struct pv_series {
    pv_mark mark;
    pv_ink ink;
    const char *name; /* in the legend and in tables; NULL: in neither */
    size_t n;
    const double *x, *y, *lo, *hi; /* [n]; NULL if the mark does not use it */
    size_t stride;                 /* distance between consecutive numbers of all arrays; 0: 1 */
    size_t columns;                /* for HEAT */
    double size;                   /* radius of points or width of lines; 0: the default */
    bool dashed;
    const char *id; /* id of the SVG element, for scripts; NULL: none */
} pv_series;

typedef struct pv_axis {
    const char *label;
    double lo, hi; /* determined from the series unless lo < hi by more than rounding */
    bool log;
    const char *const *name; /* [n_names], names at 0, 1, ... instead of numbers */
    size_t n_names;
} pv_axis;

typedef struct pv_panel {
    const char *title; /* may be NULL */
    pv_axis x, y;
    const pv_series *series;
    size_t n_series;
    double width, height; /* in pixels; 0: 380 x 330 */
    const char *id;       /* prefix of ids, for scripts; NULL: none */
} pv_panel;

typedef struct pv_figure {
    const char *name;  /* base name of its files and id in the page: letters, digits, - and _ */
    const char *title; /* one line */
    const char *text;  /* description of what the figure shows, also for readers who cannot see it */
    const pv_panel *panel;
    size_t panels;
    size_t columns; /* panels per row in a file; 0: up to three */
} pv_figure;

/* Writes one self-contained SVG file: text as outlines, in the colours for a light background. */
PV_MUST_USE pv_status pv_figure_write_svg(pv_ctx *ctx, const pv_figure *figure, const char *path);
/* Writes the columns panel, series, x, y, lo, hi with every number that is drawn. */
PV_MUST_USE pv_status pv_figure_write_csv(pv_ctx *ctx, const pv_figure *figure, const char *path);

#ifdef __cplusplus
}
#endif
#endif
