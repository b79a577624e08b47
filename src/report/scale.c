/* Axes: the range of the numbers, and ticks at 1, 2 or 5 times a power of ten. */
#include <math.h>

#include "report/svg.h"

/* ---- range ------------------------------------------------------------------------------------------------------- */

typedef struct range {
    double lo, hi;
} range;

static void include(range *r, double value, bool log) {
    if (!isfinite(value) || (log && value <= 0))
        return;
    r->lo = fmin(r->lo, value);
    r->hi = fmax(r->hi, value);
}

/* Arrays of a series that lie along this axis: x, and for BARS and SPANS lo and hi; else y, lo and hi. */
static void include_series(range *r, const pv_series *s, int which, bool log) {
    bool across = s->mark == PV_MARK_BARS || s->mark == PV_MARK_SPANS;
    const double *arrays[] = {which == 0 ? s->x : s->y, (which == 0) == across ? s->lo : NULL,
                              (which == 0) == across ? s->hi : NULL};
    if (s->mark == PV_MARK_HEAT || (s->mark == PV_MARK_RUG && which == 1))
        return;
    for (int a = 0; a < 3; a++)
        for (size_t i = 0; arrays[a] && i < s->n; i++)
            include(r, pv__at(arrays[a], s, i), log);
    if (s->mark == PV_MARK_BARS && which == 1 && !log)
        include(r, 0, false);
}

static range find_range(const pv_panel *panel, int which) {
    const pv_axis *axis = which == 0 ? &panel->x : &panel->y;
    if (axis->n_names)
        return (range){-0.5, (double)axis->n_names}; /* a density above the last has room */
    if (axis->lo != axis->hi)
        return (range){axis->lo, axis->hi};
    range r = {HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < panel->n_series; i++)
        include_series(&r, &panel->series[i], which, axis->log);
    if (r.lo > r.hi) /* nothing to show */
        r = axis->log ? (range){0.1, 1} : (range){0, 1};
    if (axis->log && r.hi < 1.01 * r.lo)
        r = (range){r.lo / 3, r.hi * 3};
    if (!axis->log) {
        double margin = r.hi > r.lo ? 0.04 * (r.hi - r.lo) : fmax(fabs(r.hi), 1) / 2;
        r = (range){r.lo == 0 ? 0 : r.lo - margin, r.hi + margin};
    }
    return r;
}

/* ---- ticks ------------------------------------------------------------------------------------------------------- */

static void add_tick(pv__scale *s, double value, bool named) {
    if (s->ticks < PV_TICKS_MAX) {
        s->named[s->ticks] = named;
        s->tick[s->ticks++] = value;
    }
}

static void linear_ticks(pv__scale *s) {
    double span = s->hi - s->lo, step = pow(10, floor(log10(span / 3)));
    step *= span / (5 * step) >= 2.5 ? 5 : span / (2 * step) >= 2.5 ? 2 : 1;
    for (double i = ceil(s->lo / step - 1e-9); i * step <= s->hi + 1e-9 * step; i++)
        add_tick(s, i == 0 ? 0 : i * step, true);
}

/* Decades; 2 and 5 within them get a label where there is room. */
static void log_ticks(pv__scale *s) {
    static const double within[] = {1, 2, 5};
    double decades = log10(s->hi / s->lo);
    int every = (int)ceil(decades / 7);
    for (int e = (int)floor(log10(s->lo) - 1e-9); e <= (int)ceil(log10(s->hi)); e++)
        for (int w = 0; w < (decades > 4 ? 1 : 3); w++) {
            double value = within[w] * pow(10, e);
            if (value >= s->lo * (1 - 1e-9) && value <= s->hi * (1 + 1e-9))
                add_tick(s, value, w == 0 ? every < 2 || e % every == 0 : decades < 1.6);
        }
}

void pv__scale_set(const pv_panel *panel, int which, pv__scale *scale) {
    const pv_axis *axis = which == 0 ? &panel->x : &panel->y;
    range r = find_range(panel, which);
    *scale = (pv__scale){.lo = r.lo, .hi = r.hi, .log = axis->log};
    for (size_t i = 0; i < axis->n_names; i++)
        add_tick(scale, (double)i, true);
    if (!axis->n_names && axis->log)
        log_ticks(scale);
    else if (!axis->n_names)
        linear_ticks(scale);
}

double pv__scale_at(const pv__scale *s, double value) {
    double share = s->log ? log(value / s->lo) / log(s->hi / s->lo) : (value - s->lo) / (s->hi - s->lo);
    if (!isfinite(share))
        return NAN;
    return s->from + (s->to - s->from) * fmin(fmax(share, -3), 4); /* far outside stays drawable */
}
