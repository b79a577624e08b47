/* src/report/svg.h: SVG elements, and text that may contain anything. */
#ifndef PV_SRC_REPORT_SVG_H
#define PV_SRC_REPORT_SVG_H

#include <stdio.h>

#include "base/base.h"
#include "prevail/chart.h"

/* ---- text (escape.c) ---------------------------------------------------------------------------------------------
 * For untrusted text: invalid UTF-8 and control characters become U+FFFD. */

/* For the content of elements and of quoted attributes. */
void pv__put_html(FILE *out, const char *text);
/* A JSON string with its quotes, safe inside <script>. */
void pv__put_json(FILE *out, const char *text);
/* Copies at most `most` characters and at most size bytes including the NUL, without cutting a character. If text is
 * missing, returns false, and the last character is an ellipsis if there is space. */
bool pv__shorten(const char *text, size_t most, char *to, size_t size);
/* The fewest digits that identify the number: "0.05", "1e-6", "12,000". */
void pv__number_text(double value, char *to, size_t size);
void pv__number_digits(double value, int digits, char *to, size_t size); /* with that many digits, at most 17 */

/* ---- elements (svg.c) -------------------------------------------------------------------------------------------- */

enum { PV_GLYPHS_MAX = 512 };

typedef struct pv__svg {
    FILE *out;
    const pv_ctx *ctx;  /* if it is interrupted, drawing stops; NULL: never */
    bool outlines;      /* text as paths, for files that must look the same everywhere */
    const char *prefix; /* prefix of ids, so that several pictures can share a page */
    int ids;
    bool used[PV_GLYPHS_MAX]; /* outlines that text has referred to */
} pv__svg;

/* False after an interruption. A partial drawing must then be discarded (pv__check_stop). */
static inline bool pv__drawing(const pv__svg *svg) {
    return !svg->ctx || !pv__interrupted(svg->ctx);
}

void pv__put_glyphs(const pv__svg *svg); /* call at the end of a file with outlines */

const char *pv__ink_word(pv_ink ink);
/* Writes the colours of a page as variables, which follow the reader's light or dark setting. root: ":root". */
void pv__put_palette(FILE *out, const char *root, bool dark);
/* Writes CSS rules for the classes of elements: l- a line, f- a fill, s- the stroke of a fill. fixed: uses the light
 * colours directly, for files, because not every SVG renderer supports variables. */
void pv__put_classes(FILE *out, bool fixed);

double pv__text_width(const char *text, double size);
/* anchor: 's', 'm', 'e' for start, middle, end; turned: reads upwards. */
void pv__svg_text(pv__svg *svg, double x, double y, char anchor, double size, pv_ink ink, bool bold, bool turned,
                  const char *text);
/* Text shortened to a width, with the full text as a tooltip. */
void pv__svg_fitted(pv__svg *svg, double x, double y, char anchor, double size, pv_ink ink, bool bold, bool turned,
                    double width, const char *text);

/* ---- charts (chart.c) -------------------------------------------------------------------------------------------- */

typedef struct pv__size {
    double width, height;
} pv__size;

pv__size pv__panel_size(const pv_panel *panel);
/* Draws the content of an <svg> of that size. */
void pv__panel_draw(pv__svg *svg, const pv_panel *panel);

/* ---- scales (axis_scale.c) --------------------------------------------------------------------------------------- */

enum { PV_TICKS_MAX = 40 };

typedef struct pv__scale {
    double lo, hi; /* range of the axis */
    bool log;
    double from, to; /* pixels */
    double step;     /* distance between ticks; 0: powers of ten, or names */
    int ticks;
    double tick[PV_TICKS_MAX];
    bool named[PV_TICKS_MAX]; /* whether the tick has a label */
} pv__scale;

/* Computes range and ticks; which: 0 for x, 1 for y. */
void pv__scale_set(const pv_panel *panel, int which, pv__scale *scale);
/* Uses as many digits as are needed to distinguish the ticks. */
void pv__tick_text(const pv__scale *scale, int i, char *to, size_t size);
double pv__scale_at(const pv__scale *scale, double value); /* NaN outside the domain */

static inline double pv__at(const double *values, const pv_series *series, size_t i) {
    return values[i * (series->stride ? series->stride : 1)];
}

#endif
