/* Axes for arbitrary numbers: the range includes them, there are a few ticks within it, in order, with distinct labels;
 * the chart is small and contains only numbers that SVG allows.
 */
#include "fuzz.h"
#include "report/svg.h"

enum { TEXT = 64, POINTS = 16, CHART = 64 << 10 };

static void check_ticks(const pv__scale *s) {
    FUZZ_CHECK(isfinite(s->lo) && isfinite(s->hi) && s->lo < s->hi, "from %.17g to %.17g", s->lo, s->hi);
    FUZZ_CHECK(s->ticks >= 2 && s->ticks <= PV_TICKS_MAX, "%d ticks from %.17g to %.17g", s->ticks, s->lo, s->hi);
    char before[TEXT] = "";
    int labels = 0;
    for (int i = 0; i < s->ticks; i++) {
        double at = pv__scale_at(s, s->tick[i]), slack = 1e-8 * (s->to - s->from);
        FUZZ_CHECK(at >= s->from - slack && at <= s->to + slack, "%.17g is not within %.17g .. %.17g", s->tick[i],
                   s->lo, s->hi);
        FUZZ_CHECK(i == 0 || s->tick[i] > s->tick[i - 1], "%.17g after %.17g", s->tick[i], s->tick[i - 1]);
        char text[TEXT];
        pv__tick_text(s, i, text, sizeof text);
        FUZZ_CHECK(!s->named[i] || strcmp(text, before) != 0, "%.17g and the tick before it are called %s", s->tick[i],
                   text);
        if (s->named[i])
            strcpy(before, text);
        labels += s->named[i];
    }
    FUZZ_CHECK(labels >= 1 && labels <= 12, "%d labels from %.17g to %.17g", labels, s->lo, s->hi);
}

static void check_axis(const pv_panel *panel, int which, const double *values, size_t n) {
    const pv_axis *axis = which == 0 ? &panel->x : &panel->y;
    pv__scale s;
    pv__scale_set(panel, which, &s);
    s.from = 0;
    s.to = 1;
    check_ticks(&s);
    for (size_t i = 0; i < n; i++) {
        bool shown = isfinite(values[i]) && !(axis->log && values[i] <= 0);
        double at = pv__scale_at(&s, values[i]);
        FUZZ_CHECK(shown == isfinite(at), "%.17g is at %g", values[i], at);
        bool extreme = fabs(values[i]) > 4e307 || fabs(values[i]) < 1e-304; /* may be beyond the end */
        FUZZ_CHECK(!shown || extreme || axis->lo != axis->hi || (at >= -1e-9 && at <= 1 + 1e-9), "%.17g is at %g",
                   values[i], at);
    }
}

static void check_chart(const pv_panel *panel) {
    char *drawn = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&drawn, &size);
    FUZZ_CHECK(out, "no stream");
    pv__svg svg = {.out = out, .prefix = "f"};
    pv__panel_draw(&svg, panel);
    fclose(out);
    FUZZ_CHECK(size < CHART, "%zu bytes", size);
    FUZZ_CHECK(!strstr(drawn, "nan") && !strstr(drawn, "inf"), "%s", drawn);
    free(drawn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pv_ctx *ctx = fuzz_begin(size);
    fuzz_input in = {data, size};
    unsigned kind = fuzz_byte(&in);
    pv_panel panel = {.x = {.log = kind & 1}, .y = {.log = kind & 2}};
    if (kind & 4) {
        panel.x.lo = fuzz_bits(&in);
        panel.x.hi = fuzz_bits(&in);
    }
    double x[POINTS], y[POINTS];
    size_t n = 0;
    for (; n < POINTS && in.size > 0; n++) {
        x[n] = fuzz_bits(&in);
        y[n] = fuzz_bits(&in);
    }
    pv_series series = {.mark = (pv_mark)((kind >> 3) % (PV_MARK_RUG + 1)), .n = n, .x = x, .y = y, .lo = y, .hi = x};
    panel.series = &series;
    panel.n_series = 1;
    check_axis(&panel, 0, x, n);
    check_axis(&panel, 1, y, series.mark == PV_MARK_RUG ? 0 : n);
    check_chart(&panel);
    fuzz_end(ctx);
    return 0;
}
