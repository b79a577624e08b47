/* Axes with unusual numbers, texts in small buffers, and interrupted reports. fuzz_axes tests axes with arbitrary
 * doubles. */
#include <float.h>

#include "check.h"
#include "fixture.h"

#include "report/svg.h"

/* ---- ticks ------------------------------------------------------------------------------------------------------- */

static pv__scale axis_of(size_t n, const double *values, bool log) {
    const pv_series series = {.mark = PV_MARK_LINE, .n = n, .x = values, .y = values};
    const pv_panel panel = {.x = {.log = log}, .series = &series, .n_series = 1};
    pv__scale s;
    pv__scale_set(&panel, 0, &s);
    s.from = 0;
    s.to = 1;
    return s;
}

/* Ticks are within the range, in order, with distinct labels. */
static void check_axis(const pv__scale *s, int most) {
    char text[64], before[64] = "";
    assert_true(isfinite(s->lo) && isfinite(s->hi) && s->lo < s->hi);
    assert_in_range(s->ticks, 2, most);
    for (int i = 0; i < s->ticks; i++) {
        near(pv__scale_at(s, s->tick[i]), 0.5, 0.5 + 1e-9);
        assert_true(i == 0 || s->tick[i] > s->tick[i - 1]);
        pv__tick_text(s, i, text, sizeof text);
        assert_string_not_equal(text, before);
        strcpy(before, text);
    }
}

static void test_differences_of_rounding(void **state) {
    (void)state;
    const double pairs[][2] = {
        {1e15, 1e15 + 0.125}, {0.1 + 0.2, 0.3},  {-1, -1 + DBL_EPSILON},  {1e300, nextafter(1e300, 2e300)},
        {0, 5e-324},          {-5e-324, 5e-324}, {2, 2 + 4 * DBL_EPSILON}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        pv__scale s = axis_of(2, pairs[i], false);
        check_axis(&s, 8);
        near(pv__scale_at(&s, pairs[i][0]), pv__scale_at(&s, pairs[i][1]), 1e-9); /* drawn as equal */
    }
}

static void test_small_differences_are_shown(void **state) {
    (void)state;
    const double pairs[][2] = {{1000.1, 1000.3}, {1.7e9, 1.7e9 + 2}, {1, 1 + 1e-9}, {1e15, 1e15 + 8e4}, {1e-9, 2e-9}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        pv__scale s = axis_of(2, pairs[i], false);
        check_axis(&s, 8);
        assert_true(pv__scale_at(&s, pairs[i][1]) - pv__scale_at(&s, pairs[i][0]) > 0.9);
    }
}

static void test_widest_ranges(void **state) {
    (void)state;
    const double all[] = {-DBL_MAX, DBL_MAX}, positive[] = {5e-324, DBL_MAX}, large[] = {DBL_MAX, DBL_MAX},
                 small[] = {5e-324, 5e-324};
    for (int log = 0; log < 2; log++) {
        const double *const sets[] = {all, positive, large, small};
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
            pv__scale s = axis_of(2, sets[i], log);
            check_axis(&s, PV_TICKS_MAX);
            assert_true(isfinite(pv__scale_at(&s, sets[i][1])));
        }
    }
}

/* 1.1 to 1.9 contains none of 1, 2 and 5 times a power of ten. */
static void test_logarithm_without_a_round_number(void **state) {
    (void)state;
    const double pair[] = {1.1, 1.9};
    pv__scale s = axis_of(2, pair, true);
    check_axis(&s, 8);
}

/* An invalid range is ignored in favour of the series. */
static void test_senseless_ranges(void **state) {
    (void)state;
    const double values[] = {2, 8};
    const pv_series series = {.mark = PV_MARK_LINE, .n = 2, .x = values, .y = values};
    const double ranges[][2] = {{NAN, 1}, {0, INFINITY}, {5, -5}, {1, 1 + DBL_EPSILON}, {-INFINITY, NAN}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        for (int log = 0; log < 2; log++) {
            const pv_panel panel = {
                .x = {.lo = ranges[i][0], .hi = ranges[i][1], .log = log}, .series = &series, .n_series = 1};
            pv__scale s;
            pv__scale_set(&panel, 0, &s);
            s.from = 0;
            s.to = 1;
            check_axis(&s, 8);
            assert_true(s.lo <= 2 && s.hi >= 8);
        }
}

/* ---- small buffers ----------------------------------------------------------------------------------------------- */

/* For each buffer size: nothing is written beyond it, the text is terminated, and characters are whole. */
static void check_rooms(const char *text, size_t most, double value) {
    for (size_t size = 0; size < 16; size++)
        for (int number = 0; number < 2; number++) {
            char room[32];
            memset(room, 'X', sizeof room);
            assert_ptr_equal(number ? pv_text_number(value, room, size) : pv_text_short(text, most, room, size), room);
            for (size_t i = size; i < sizeof room; i++)
                assert_int_equal(room[i], 'X');
            if (size == 0)
                continue;
            assert_non_null(memchr(room, '\0', size));
            for (const char *c = room; *c;) {
                size_t length = pv_utf8_next(c, NULL);
                assert_true(length > 0);
                c += length;
            }
        }
}

static void test_little_room(void **state) {
    (void)state;
    const char *const texts[] = {
        "", "a", "abcdefghijkl", "\xF0\x9F\xA4\xAF\xF0\x9F\xA4\xAF", "\xC3\xA9t\xC3\xA9", "\xFF\xFF"};
    const double numbers[] = {NAN, -1, -123456789, 1e300, -0.00012345, INFINITY};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t most = 0; most < 5; most++)
            check_rooms(texts[i], most, numbers[i]);
    char room[8];
    assert_string_equal(pv_text_short("abc", 9, room, 4), "abc"); /* fits exactly */
    assert_string_equal(pv_text_short("abcd", 9, room, 4), "\xE2\x80\xA6");
    assert_string_equal(pv_text_short("abcd", 9, room, 3), "ab"); /* too small for an ellipsis */
    assert_string_equal(pv_text_short("abcd", 0, room, 8), "");
    assert_string_equal(pv_text_number(-1, room, 3), ""); /* the minus sign has three bytes */
}

/* ---- interruption ------------------------------------------------------------------------------------------------ */

static void write_figure(const double *values, pv_status wanted, const char *left) {
    const pv_series series = {.mark = PV_MARK_POINTS, .name = "s", .n = 2, .x = values, .y = values};
    const pv_panel panel = {.series = &series, .n_series = 1};
    const pv_figure figure = {.name = "f", .title = "t", .text = "", .panel = &panel, .panels = 1};
    pv_status (*const writers[])(pv_ctx *, const pv_figure *, const char *) = {pv_figure_write_svg,
                                                                               pv_figure_write_csv};
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        put(left, strlen(left));
        assert_int_equal(writers[i](ctx, &figure, path), wanted);
        if (wanted == PV_OK)
            continue;
        char got[16] = "";
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_int_equal(fread(got, 1, sizeof got - 1, file), strlen(left));
        fclose(file);
        assert_string_equal(got, left);
        says("interrupted");
    }
}

/* An interrupted report or figure is not written, and existing files stay. */
static void test_interrupted(void **state) {
    (void)state;
    const double values[] = {1e15, 1e15 + 0.125};
    write_figure(values, PV_OK, "before");
    put("before", 6);
    const pv_series series = {.mark = PV_MARK_POINTS, .name = "s", .n = 2, .x = values, .y = values};
    const pv_panel panel = {.series = &series, .n_series = 1};
    const pv_figure figure = {.name = "f", .title = "t", .text = "", .panel = &panel, .panels = 1};
    const pv_report_options options = {.page = path, .title = "t"};
    pv_report *report;
    ok(pv_report_new(ctx, &options, &report));
    ok(pv_report_put_figure(ctx, report, &figure));
    pv_ctx_interrupt(ctx);
    assert_int_equal(pv_report_put_figure(ctx, report, &figure), PV_ERR_INTERRUPTED);
    assert_int_equal(pv_report_finish(ctx, report), PV_ERR_INTERRUPTED);
    says("interrupted");
    pv_report_free(ctx, report);
    write_figure(values, PV_ERR_INTERRUPTED, "before");
    pv_ctx_clear_interrupt(ctx);
}

/* Drawing an endless series of points stops after an interruption, which can come from another thread. */
static void test_drawing_stops(void **state) {
    (void)state;
    enum { N = 100000 };
    double *values = calloc(N, sizeof *values);
    for (int i = 0; i < N; i++)
        values[i] = i % 7;
    for (int mark = PV_MARK_LINE; mark <= PV_MARK_RUG; mark++) {
        const pv_series series = {.mark = (pv_mark)mark, .n = N, .x = values, .y = values, .lo = values, .hi = values};
        const pv_panel panel = {.series = &series, .n_series = 1};
        char *drawn = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&drawn, &size);
        pv__svg svg = {.out = out, .ctx = ctx, .prefix = "t"};
        pv_ctx_interrupt(ctx);
        pv__panel_draw(&svg, &panel);
        pv_ctx_clear_interrupt(ctx);
        assert_int_equal(fclose(out), 0);
        assert_true(size < 10000);
        free(drawn);
    }
    free(values);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differences_of_rounding),
        cmocka_unit_test(test_small_differences_are_shown),
        cmocka_unit_test(test_widest_ranges),
        cmocka_unit_test(test_logarithm_without_a_round_number),
        cmocka_unit_test(test_senseless_ranges),
        cmocka_unit_test(test_little_room),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_drawing_stops),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
