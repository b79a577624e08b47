/* Axes: the range of the numbers, and ticks at 1, 2 or 5 times a power of ten.
 *
 * The numbers may be any doubles. The range is first limited so that nothing below can overflow, divide by zero or loop
 * without progress: its ends are at most LARGEST in size (on a logarithmic axis at least SMALLEST), and they differ by
 * more than rounding.
 */
#include <math.h>

#include "report/svg.h"

/* ---- range ------------------------------------------------------------------------------------------------------- */

typedef struct range {
    double lo, hi;
} range;

/* These leave space for margins: three times either bound, and the difference of any two numbers, are normal
 * numbers. */
static const double LARGEST = 5e307, SMALLEST = 1e-305;
/* Numbers whose relative difference is smaller than this differ by rounding and are drawn as equal. Labels then need at
 * most 14 digits, which a double has. */
static const double RESOLUTION = 1e-12;

static double bounded(double value, bool log) {
    return fmin(fmax(value, log ? SMALLEST : -LARGEST), LARGEST);
}

static bool is_narrow(range r) {
    return !(r.hi - r.lo > fmax(SMALLEST, RESOLUTION * fmax(fabs(r.lo), fabs(r.hi))));
}

static void include(range *r, double value, bool log) {
    if (!isfinite(value) || (log && value <= 0))
        return;
    r->lo = fmin(r->lo, bounded(value, log));
    r->hi = fmax(r->hi, bounded(value, log));
}

/* Includes the arrays of a series that refer to this axis: x, and for BARS and SPANS lo and hi; else y, lo and hi. */
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

/* Reads the range that the axis specifies, if it is valid. */
static bool has_range(const pv_axis *axis, range *r) {
    if (!isfinite(axis->lo) || !isfinite(axis->hi) || (axis->log && axis->lo <= 0))
        return false;
    *r = (range){bounded(axis->lo, axis->log), bounded(axis->hi, axis->log)};
    return r->lo < r->hi && !is_narrow(*r) && !(axis->log && r->hi < (1 + 1e-6) * r->lo); /* logarithms would cancel */
}

static range find_range(const pv_panel *panel, int which) {
    const pv_axis *axis = which == 0 ? &panel->x : &panel->y;
    range r;
    if (axis->n_names)
        return (range){-0.5, (double)axis->n_names}; /* leaves space for a density above the last name */
    if (has_range(axis, &r))
        return r;
    r = (range){HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < panel->n_series; i++)
        include_series(&r, &panel->series[i], which, axis->log);
    if (r.lo > r.hi) /* no data */
        r = axis->log ? (range){0.1, 1} : (range){0, 1};
    if (axis->log && r.hi < 1.01 * r.lo)
        r = (range){r.lo / 3, r.hi * 3};
    if (!axis->log) {
        double margin = is_narrow(r) ? fmax(fabs(r.hi), 1) / 2 : 0.04 * (r.hi - r.lo);
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

/* Two to seven ticks. The quotients stay below 1e14, so counting by 1 is exact. */
static void linear_ticks(pv__scale *s) {
    double span = s->hi - s->lo, step = pow(10, floor(log10(span / 3)));
    step *= span / (5 * step) >= 2.5 ? 5 : span / (2 * step) >= 2.5 ? 2 : 1;
    s->step = step;
    double first = ceil(s->lo / step - 1e-9), last = floor(s->hi / step + 1e-9);
    for (double i = first; i <= last && s->ticks < PV_TICKS_MAX;
         i++) /* the product may round to a value beyond the end */
        add_tick(s, i == 0 ? 0 : fmin(fmax(i * step, s->lo), s->hi), true);
}

/* Ticks at powers of ten, or at every n-th if there are many; 2 and 5 times them get labels if there is space. A range
 * that contains fewer than two of these gets the ticks of a linear axis. */
static void log_ticks(pv__scale *s) {
    static const double within[] = {1, 2, 5};
    double decades = log10(s->hi) - log10(s->lo);
    int every = (int)ceil(decades / 7);
    for (int e = (int)floor(log10(s->lo) - 1e-9); e <= (int)ceil(log10(s->hi)); e++)
        for (int w = 0; w < (decades > 4 ? 1 : 3); w++) {
            double value = within[w] * pow(10, e);
            bool named = w == 0 ? e % every == 0 : decades < 2;
            if (value >= s->lo * (1 - 1e-9) && value <= s->hi * (1 + 1e-9) && (named || decades < PV_TICKS_MAX - 5))
                add_tick(s, value, named);
        }
    if (s->ticks < 2) {
        s->ticks = 0;
        linear_ticks(s);
    }
}

void pv__scale_set(const pv_panel *panel, int which, pv__scale *scale) {
    const pv_axis *axis = which == 0 ? &panel->x : &panel->y;
    range r = find_range(panel, which);
    *scale = (pv__scale){.lo = r.lo, .hi = r.hi, .log = axis->log && !axis->n_names};
    for (size_t i = 0; i < axis->n_names && i < PV_TICKS_MAX; i++)
        add_tick(scale, (double)i, true);
    if (!axis->n_names && axis->log)
        log_ticks(scale);
    else if (!axis->n_names)
        linear_ticks(scale);
}

void pv__tick_text(const pv__scale *scale, int i, char *to, size_t size) {
    double value = fabs(scale->tick[i]);
    int digits = 4;
    if (scale->step > 0 && value > 0)
        digits = (int)fmax(digits, floor(log10(value) + 1e-9) - floor(log10(scale->step) + 1e-9) + 1);
    pv__number_digits(scale->tick[i], digits, to, size);
}

double pv__scale_at(const pv__scale *s, double value) {
    if (!isfinite(value) || (s->log && value <= 0))
        return NAN;
    double within = bounded(value, s->log);
    double share = s->log ? (log(within) - log(s->lo)) / (log(s->hi) - log(s->lo)) : (within - s->lo) / (s->hi - s->lo);
    return s->from + (s->to - s->from) * fmin(fmax(share, -3), 4); /* limits values far outside to drawable ones */
}
