/* Reports: hostile text, numbers, ticks, charts, the explorer's arithmetic, files, extremes, failing allocations.
 * tests/browser tests them in a browser. */
#include "assess/assess.h" /* before fixture.h defines ctx */
#include "report/page.h"

#include "check.h"
#include "fixture.h"

/* ---- text -------------------------------------------------------------------------------------------------------- */

static char *written(void (*putter)(FILE *out, const char *text), const char *text) {
    char *made = NULL;
    size_t size;
    FILE *out = open_memstream(&made, &size);
    assert_non_null(out);
    putter(out, text);
    assert_int_equal(fclose(out), 0);
    return made;
}

static void becomes(void (*putter)(FILE *out, const char *text), const char *text, const char *wanted) {
    char *got = written(putter, text);
    assert_string_equal(got, wanted);
    free(got);
}

static void test_html(void **state) {
    (void)state;
    becomes(pv__put_html, "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;");
    becomes(pv__put_html, "\xF0\x9F\xA4\xAF \xC3\xA9", "\xF0\x9F\xA4\xAF \xC3\xA9");
    becomes(pv__put_html, "\x01\x7F", "\xEF\xBF\xBD\xEF\xBF\xBD");
    becomes(pv__put_html, "x\xC3(", "x\xEF\xBF\xBD(");                             /* an incomplete character */
    becomes(pv__put_html, "\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD");                 /* overlong */
    becomes(pv__put_html, "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); /* a surrogate */
    becomes(pv__put_html,
            "a\xE2\x80\xAE"
            "b",
            "a\xEF\xBF\xBD"
            "b"); /* right-to-left override */
    becomes(pv__put_html, "", "");
}

static void test_json(void **state) {
    (void)state;
    becomes(pv__put_json, "</script>", "\"\\u003C/script\\u003E\"");
    becomes(pv__put_json, "\"\\\n'&", "\"\\u0022\\u005C\\u000A\\u0027\\u0026\"");
    becomes(pv__put_json, "\xE2\x80\xA8\xE2\x80\xA9", "\"\\u2028\\u2029\"");
    /* U+1F626 and U+1F600: their low bytes are those of & and NUL */
    becomes(pv__put_json, "\xF0\x9F\x98\xA6\xF0\x9F\x98\x80", "\"\xF0\x9F\x98\xA6\xF0\x9F\x98\x80\"");
    becomes(pv__put_json, "\xFF", "\"\xEF\xBF\xBD\"");
    becomes(pv__put_json, "", "\"\"");
}

static void shortens(const char *text, size_t most, const char *wanted) {
    char got[64];
    pv__shorten(text, most, got, sizeof got);
    assert_string_equal(got, wanted);
}

static void test_shorten(void **state) {
    (void)state;
    shortens("abc", 3, "abc");
    shortens("abcd", 3, "ab\xE2\x80\xA6");
    shortens("\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 3, "\xC3\xA9\xC3\xA9\xE2\x80\xA6");
    shortens("\xFF", 3, "\xEF\xBF\xBD");
    shortens("", 3, "");
    char longer[10001], small[12];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    pv__shorten(longer, 5000, small, sizeof small);
    assert_string_equal(small, "xxxxxxxx\xE2\x80\xA6"); /* as much as fits */
}

static void shows(double value, const char *wanted) {
    char got[48];
    pv__number_text(value, got, sizeof got);
    assert_string_equal(got, wanted);
}

static void test_numbers(void **state) {
    (void)state;
    shows(0, "0");
    shows(0.05, "0.05");
    shows(1e-6, "1e-6");
    shows(2.5e-10, "2.5e-10");
    shows(1e20, "1e20");
    shows(12000, "12,000");
    shows(1234567, "1,234,567");
    shows(-0.25, "\xE2\x88\x92"
                 "0.25");
    shows(999.9, "999.9");
    shows(NAN, "\xE2\x80\x93");
}

/* ---- axes -------------------------------------------------------------------------------------------------------- */

static pv__scale scale_of(double lo, double hi, bool log) {
    pv_panel panel = {.x = {.lo = lo, .hi = hi, .log = log}};
    pv__scale scale;
    pv__scale_set(&panel, 0, &scale);
    scale.from = 0;
    scale.to = 100;
    return scale;
}

static void test_ticks(void **state) {
    (void)state;
    const double spans[][2] = {{0, 1}, {-3, 17}, {0, 1e-9}, {1e6, 1.1e6}, {0.123, 0.124}, {-1, 1}};
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
        pv__scale s = scale_of(spans[i][0], spans[i][1], false);
        assert_in_range(s.ticks, 3, 8);
        for (int t = 0; t < s.ticks; t++)
            assert_true(s.tick[t] >= s.lo - 1e-9 * fabs(s.lo) - 1e-15 && s.tick[t] <= s.hi + 1e-9 * fabs(s.hi));
    }
    pv__scale s = scale_of(1e-9, 1, true);
    int named = 0;
    for (int t = 0; t < s.ticks; t++)
        named += s.named[t];
    assert_in_range(named, 3, 8);
    near(pv__scale_at(&s, 1e-9), 0, 1e-9);
    near(pv__scale_at(&s, 1), 100, 1e-9);
    near(pv__scale_at(&s, 1e-3), 100 * 6.0 / 9, 1e-9);
    assert_true(isnan(pv__scale_at(&s, 0)) && isnan(pv__scale_at(&s, -1)) && isnan(pv__scale_at(&s, NAN)));
}

/* Axes without a range use that of the series, whatever it contains. */
static void test_range(void **state) {
    (void)state;
    const double x[] = {NAN, 2, 2, INFINITY}, y[] = {-1, NAN, 0, 5};
    const pv_series series = {.mark = PV_MARK_LINE, .n = 4, .x = x, .y = y};
    pv_panel panel = {.series = &series, .n_series = 1};
    pv__scale s;
    pv__scale_set(&panel, 0, &s);
    assert_true(s.lo < 2 && s.hi > 2 && s.ticks >= 2);
    pv__scale_set(&panel, 1, &s);
    assert_true(s.lo < -1 && s.hi > 5);
    panel.n_series = 0;
    pv__scale_set(&panel, 1, &s);
    assert_true(s.hi > s.lo && s.ticks >= 2);
}

/* ---- charts ------------------------------------------------------------------------------------------------------ */

static char *drawn(const pv_panel *panel, bool outlines) {
    char *made = NULL;
    size_t size;
    FILE *out = open_memstream(&made, &size);
    assert_non_null(out);
    pv__svg svg = {.out = out, .outlines = outlines, .prefix = "t"};
    pv__panel_draw(&svg, panel);
    assert_int_equal(fclose(out), 0);
    return made;
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

/* The path with a given id, up to its end. */
static char *path_of(const char *svg, const char *id) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "id=\"%s\" d=\"", id);
    const char *from = strstr(svg, wanted);
    assert_non_null(from);
    from += strlen(wanted);
    return strndup(from, strcspn(from, "\""));
}

/* A straight line through many points becomes two; a corner is kept; a missing value interrupts the line. */
static void test_lines_are_thinned(void **state) {
    (void)state;
    enum { N = 10001 };
    double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    for (int i = 0; i < N; i++) {
        x[i] = i / (N - 1.0);
        y[i] = i <= N / 2 ? 0.5 : 0.25;
    }
    pv_series series = {.mark = PV_MARK_LINE, .n = N / 2, .x = x, .y = y, .id = "line"};
    const pv_panel panel = {.x = {.lo = 0, .hi = 1}, .y = {.lo = 0, .hi = 1}, .series = &series, .n_series = 1};
    char *svg = drawn(&panel, false), *path_text = path_of(svg, "line");
    assert_int_equal(count_of(path_text, "M") + count_of(path_text, "L"), 2);
    free(path_text);
    free(svg);
    series.n = N;
    svg = drawn(&panel, false);
    path_text = path_of(svg, "line");
    assert_int_equal(count_of(path_text, "M") + count_of(path_text, "L"), 4);
    free(path_text);
    free(svg);
    y[N / 4] = NAN;
    svg = drawn(&panel, false);
    path_text = path_of(svg, "line");
    assert_int_equal(count_of(path_text, "M"), 2);
    free(path_text);
    free(svg);
    free(x);
    free(y);
}

/* A point beyond the axes is not drawn, nor is its bar, in either direction. */
static void test_marks_stay_inside(void **state) {
    (void)state;
    const double x[] = {-0.5, 0.5, 1.5}, lo[] = {0.2, -7, 0.2}, hi[] = {0.4, 7, 0.4};
    for (int spans = 0; spans < 2; spans++) {
        const pv_series series = {
            .mark = spans ? PV_MARK_SPANS : PV_MARK_POINTS, .n = 3, .x = x, .y = x, .lo = lo, .hi = hi};
        const pv_panel panel = {.x = {.lo = 0, .hi = 1}, .y = {.lo = 0, .hi = 1}, .series = &series, .n_series = 1};
        char *svg = drawn(&panel, false);
        char *bars = strstr(svg, "stroke-width=\"1.4\"");
        assert_int_equal(count_of(svg, "<circle"), 1);
        assert_non_null(bars);
        bars[strcspn(bars, "/")] = '\0';
        assert_int_equal(count_of(bars, "M"), 1);
        free(svg);
    }
}

/* Every kind of mark, including numbers that cannot be drawn: "nan" or "inf" never reach the file. */
static void test_marks_survive_any_number(void **state) {
    (void)state;
    const double odd[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e300, 1e-300, 0.5};
    pv_series series[PV_MARK_HEAT + 1];
    for (int m = 0; m <= PV_MARK_HEAT; m++)
        series[m] = (pv_series){
            .mark = (pv_mark)m, .name = "<&>", .n = 8, .x = odd, .y = odd, .lo = odd, .hi = odd, .columns = 4};
    for (int log = 0; log < 2; log++) {
        const pv_panel panel = {.title = "t",
                                .x = {.label = "x", .log = log},
                                .y = {.label = "y", .log = log},
                                .series = series,
                                .n_series = PV_MARK_HEAT + 1};
        char *svg = drawn(&panel, true);
        assert_null(strstr(svg, "nan"));
        assert_null(strstr(svg, "inf"));
        assert_null(strstr(svg, "<&>"));
        free(svg);
    }
}

/* Text as outlines if the font has the characters, else as text. */
static void test_outlines(void **state) {
    (void)state;
    pv_panel panel = {.title = "\xCE\xB7 = 1"};
    char *svg = drawn(&panel, true);
    assert_null(strstr(svg, "<text"));
    free(svg);
    panel.title = "\xF0\x9F\xA4\xAF";
    svg = drawn(&panel, true);
    assert_int_equal(count_of(svg, "<text"), 1);
    free(svg);
    near(pv__text_width("iiii", 10), 4 * pv__text_width("i", 10), 1e-9);
    assert_true(pv__text_width("W", 10) > pv__text_width("i", 10));
}

/* ---- the explorer ------------------------------------------------------------------------------------------------ */

enum { ROWS = 400 };

/* Log odds for a prevalence of 0.2, with ties. */
static void make_rows(double *log_p, int32_t *label) {
    for (int i = 0; i < ROWS; i++) {
        double log_odds = (double)((i * 37) % 101) / 12 - 5 + (i % 3 == 0 ? 1.0 : 0);
        label[i] = i % 3 == 0;
        log_p[2 * i] = pv_log_sigmoid(-log_odds);
        log_p[2 * i + 1] = pv_log_sigmoid(log_odds);
    }
}

static pv_ranking *ranking_of(const double *log_p, const int32_t *label, size_t n) {
    pv_targets targets = {.n = n, .classes = 2, .label = label};
    pv_ranking *ranking = NULL;
    CHECK_OK(ctx, pv_ranking_new(ctx, &targets, log_p, -1, NULL, &ranking));
    return ranking;
}

/* Compared with counting rows one by one. */
static void test_explorer_counts(void **state) {
    (void)state;
    double log_p[2 * ROWS];
    int32_t label[ROWS];
    make_rows(log_p, label);
    pv_ranking *ranking = ranking_of(log_p, label, ROWS);
    const double prevalences[] = {1e-4, 0.03, 0.5, 0.97}, costs[] = {0.02, 1, 7, 500};
    for (size_t i = 0; i < 16; i++) {
        double pi = prevalences[i / 4], cost = costs[i % 4], tp = 0, fp = 0, p = 0;
        pv_explorer e = {.ranking = ranking,
                         .offset = pv_logit(0.2),
                         .prevalence = pi,
                         .cost_fp = 2,
                         .cost_fn = 2 * cost,
                         .positive = "1"};
        for (int r = 0; r < ROWS; r++) {
            double moved = log_p[2 * r + 1] - log_p[2 * r] - pv_logit(0.2) + pv_logit(pi);
            bool called = pv_sigmoid(moved) >= 1 / (1 + cost);
            tp += called && label[r];
            fp += called && !label[r];
            p += label[r];
        }
        pv_operating o = pv_explorer_at(&e);
        double tpr = tp / p, fpr = fp / (ROWS - p);
        near(o.tpr, tpr, 1e-12);
        near(o.fpr, fpr, 1e-12);
        near(o.tp + o.fp + o.tn + o.fn, 1e5, 1e-7);
        near(o.cost, 1e5 * (2 * (1 - pi) * fpr + 2 * cost * pi * (1 - tpr)), 1e-6);
        near(o.net_benefit, 1e5 * (pi * tpr - (1 - pi) * fpr / cost), 1e-6);
        if (tp + fp > 0)
            near(o.ppv, pi * tpr / (pi * tpr + (1 - pi) * fpr), 1e-12);
        else
            assert_true(isnan(o.ppv));
    }
    pv_ranking_free(ctx, ranking);
}

static void test_histogram_and_sample(void **state) {
    (void)state;
    double log_p[2 * ROWS], sums[2] = {0, 0};
    int32_t label[ROWS];
    make_rows(log_p, label);
    pv_ranking *ranking = ranking_of(log_p, label, ROWS);
    for (int log = 0; log < 2; log++) {
        pv_curve bins;
        CHECK_OK(ctx, pv_ranking_histogram(ctx, ranking, 13, log, &bins));
        sums[0] = sums[1] = 0;
        for (size_t b = 0; b < bins.points; b++) {
            sums[0] += bins.value[4 * b + 2];
            sums[1] += bins.value[4 * b + 3];
            assert_true(bins.value[4 * b] < bins.value[4 * b + 1]);
        }
        near(sums[0], 1, 1e-12);
        near(sums[1], 1, 1e-12);
        pv_curve_clear(ctx, &bins);
    }
    pv_curve sample;
    CHECK_OK(ctx, pv_ranking_sample(ctx, ranking, 50, &sample));
    assert_int_equal(sample.points, 100);
    pv_curve_clear(ctx, &sample);
    assert_int_equal(pv_ranking_histogram(ctx, ranking, 0, false, &sample), PV_ERR_USAGE);
    pv_ranking_free(ctx, ranking);
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static char *read_back(void) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 22);
    assert_true(fread(text, 1, (1 << 22) - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

static pv_status write_page(pv_ctx *own, const pv_ranking *ranking) {
    static const char *const heads[] = {"a", "b"},
                             *const cells[] = {
                                 "</table>",
                                 "1",
                                 NULL,
                                 "2",
                                 "</table> in a name of more characters than are shown in a cell of the first column",
                                 "3"};
    static const double x[] = {0, 0.5, 1};
    const pv_report_options options = {.page = path, .title = "</title><script>", .lead = "\"lead\""};
    const pv_series series = {.mark = PV_MARK_LINE, .name = "<i>", .n = 3, .x = x, .y = x};
    const pv_panel panel = {
        .title = "<b>", .x = {.label = "<x>"}, .y = {.label = "<y>"}, .series = &series, .n_series = 1};
    const pv_figure figure = {.name = "figure", .title = "<h1>", .text = "<p>", .panel = &panel, .panels = 1};
    const pv_explorer explorer = {.ranking = ranking,
                                  .offset = 0,
                                  .prevalence = 0.1,
                                  .cost_fp = 1,
                                  .cost_fn = 9,
                                  .positive = "</script>",
                                  .negative = "<!--"};
    const pv_report_table table = {
        .caption = "<caption>", .rows = 3, .columns = 2, .head = heads, .cell = cells, .text = 1};
    pv_report *report;
    PV_TRY(pv_report_new(own, &options, &report));
    pv_report_section(report, "s", "<section>");
    pv_report_paragraph(report, "<p>");
    pv_report_note(report, PV_NOTE_WARNING, "<note>");
    pv_report_put_table(report, &table);
    pv_status status = pv_report_put_figure(own, report, &figure);
    if (status == PV_OK)
        status = pv_report_put_explorer(own, report, &explorer);
    if (status == PV_OK)
        status = pv_report_finish(own, report);
    pv_report_free(own, report);
    return status;
}

/* Texts of letters a, with lengths around the end of a block; expected values from sha256sum. */
static void test_sha256(void **state) {
    (void)state;
    static const struct {
        size_t size;
        const char *hash;
    } cases[] = {
        {0, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="},   {55, "n0OQ+NMMLdkuyfCVtl4rmumwqSWlJY4kHJ8ekQ9zQxg="},
        {56, "s1Q5pKxvCUi21vnjxq8PX1kM4g8b3nCQ73lwaG7Gc4o="},  {63, "fT50oF19sVvOStnsBljqmOPwbu7PFrTG//LaRX3cLzQ="},
        {64, "/+BU/nrgy23GXDr5th1SCfQ5hR20PQulmXM33xVGaOs="},  {120, "Lz0zVDLHC1gK8Ojhs2dKfAINaDql9zqq7f3FWvkEwhw="},
        {1000, "Qe3s5C1j6Nm/UVqbppMuHCDLyfWl0TRkWttdsblzfqM="}};
    char letters[1000], text[45];
    memset(letters, 'a', sizeof letters);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pv__sha256_base64(letters, cases[i].size, text);
        assert_string_equal(text, cases[i].hash);
    }
}

/* The policy contains the hash of the text between the tags, and allows nothing else inline. */
static void check_policy(const char *page, const char *tag) {
    char open[16], close[16], hash[45], wanted[80];
    snprintf(open, sizeof open, "<%s>", tag);
    snprintf(close, sizeof close, "</%s>", tag);
    const char *from = strstr(page, open);
    assert_non_null(from);
    from += strlen(open);
    pv__sha256_base64(from, (size_t)(strstr(from, close) - from), hash);
    snprintf(wanted, sizeof wanted, "%s-src 'sha256-%s';", tag, hash);
    assert_int_equal(count_of(page, wanted), 1);
    assert_null(strstr(page, "'unsafe-"));
    assert_null(strstr(page, " style=\""));
}

static void test_page(void **state) {
    (void)state;
    double log_p[2 * ROWS];
    int32_t label[ROWS];
    make_rows(log_p, label);
    pv_ranking *ranking = ranking_of(log_p, label, ROWS);
    CHECK_OK(ctx, write_page(ctx, ranking));
    char *page = read_back();
    assert_int_equal(count_of(page, "<script"), 2); /* data and explorer */
    assert_int_equal(count_of(page, "</script>"), 2);
    assert_int_equal(count_of(page, "<title>"), 1);
    assert_int_equal(count_of(page, "<title id="), 3);                                     /* one per panel */
    assert_int_equal(count_of(page, "<span title=\"&lt;/table&gt; in a name of more"), 1); /* complete there */
    assert_int_equal(count_of(page, "cell of the first column"), 1);
    check_policy(page, "script");
    check_policy(page, "style");
    assert_null(strstr(page, "<note>"));
    assert_null(strstr(page, "<!--"));
    assert_null(strstr(page, "http://"));
    assert_null(strstr(page, "https://"));
    free(page);
    pv_ranking_free(ctx, ranking);
}

/* An unfinished report does not replace the existing file. */
static void test_unfinished(void **state) {
    (void)state;
    put("before", 6);
    const pv_report_options options = {.page = path, .title = "t"};
    pv_report *report;
    CHECK_OK(ctx, pv_report_new(ctx, &options, &report));
    pv_report_paragraph(report, "text");
    pv_report_free(ctx, report);
    char *page = read_back();
    assert_string_equal(page, "before");
    free(page);
}

/* One class or one row: no explorer, and the page explains that. */
static void test_one_label(void **state) {
    (void)state;
    const double log_p[] = {log(0.3), log(0.7)};
    const int32_t label[] = {1};
    pv_ranking *ranking = ranking_of(log_p, label, 1);
    CHECK_OK(ctx, write_page(ctx, ranking));
    char *page = read_back();
    assert_non_null(strstr(page, "The explorer needs rows with a negative label"));
    assert_int_equal(count_of(page, "<script"), 0);
    free(page);
    pv_ranking_free(ctx, ranking);
}

/* Many rows: the ladder is thinned, and contains the initial threshold. */
static void test_ladder_is_thinned(void **state) {
    (void)state;
    enum { N = 30000 };
    double *log_p = malloc(2 * N * sizeof *log_p);
    int32_t *label = malloc(N * sizeof *label);
    for (int i = 0; i < N; i++) {
        double log_odds = 8.0 * i / N - 4 + 1e-7 * (i % 7);
        label[i] = (int32_t)(random_bits() >> 40) % N < i;
        log_p[2 * i] = pv_log_sigmoid(-log_odds);
        log_p[2 * i + 1] = pv_log_sigmoid(log_odds);
    }
    pv_ranking *ranking = ranking_of(log_p, label, N);
    CHECK_OK(ctx, write_page(ctx, ranking));
    char *page = read_back(), wanted[64];
    assert_non_null(strstr(page, "\"exact\":false"));
    assert_true(strlen(page) < 600000);
    const char *array = strstr(page, "\"log_odds\":["), *end = strstr(array, "]");
    size_t commas = 0;
    for (const char *at_text = array; at_text < end; at_text++)
        commas += *at_text == ',';
    assert_in_range(commas + 1, 8000, 8194);
    double least = -HUGE_VAL; /* the lowest score called positive at threshold 0.1, prevalence 0.1, offset 0 */
    for (size_t i = 0; i < ranking->points; i++)
        if (ranking->log_odds[i] >= pv_logit(0.1) - pv_logit(0.1) - 1e-12)
            least = ranking->log_odds[i];
    pv_format_double(least, wanted, sizeof wanted);
    assert_non_null(strstr(array, wanted));
    free(page);
    pv_ranking_free(ctx, ranking);
    free(log_p);
    free(label);
}

static void test_refusals(void **state) {
    (void)state;
    const double log_p[] = {log(0.3), log(0.7), log(0.6), log(0.4)};
    const int32_t label[] = {1, 0};
    pv_ranking *ranking = ranking_of(log_p, label, 2);
    const pv_report_options none = {.title = "t"};
    pv_report *report;
    CHECK_OK(ctx, pv_report_new(ctx, &none, &report));
    pv_explorer e = {.ranking = ranking, .prevalence = 1, .cost_fp = 1, .cost_fn = 1, .positive = "1"};
    assert_int_equal(pv_report_put_explorer(ctx, report, &e), PV_ERR_USAGE);
    says("prevalence");
    e.prevalence = 0.5;
    e.cost_fn = 0;
    assert_int_equal(pv_report_put_explorer(ctx, report, &e), PV_ERR_USAGE);
    says("costs");
    pv_report_free(ctx, report);
    const pv_report_options file = {.title = "t", .figures = path};
    assert_int_equal(pv_report_new(ctx, &file, &report), PV_ERR_PATH);
    pv_ranking_free(ctx, ranking);
}

static pv_status report_all(pv_ctx *poor) {
    double log_p[2 * ROWS];
    int32_t label[ROWS];
    make_rows(log_p, label);
    pv_targets targets = {.n = ROWS, .classes = 2, .label = label};
    pv_ranking *ranking = NULL;
    pv_status status = pv_ranking_new(poor, &targets, log_p, -1, NULL, &ranking);
    pv_curve bins = {0}, sample = {0};
    if (status == PV_OK)
        status = write_page(poor, ranking);
    if (status == PV_OK)
        status = pv_ranking_histogram(poor, ranking, 5, false, &bins);
    if (status == PV_OK)
        status = pv_ranking_sample(poor, ranking, 5, &sample);
    pv_curve_clear(poor, &bins);
    pv_curve_clear(poor, &sample);
    pv_ranking_free(poor, ranking);
    return status;
}

static void test_lack_of_memory(void **state) {
    (void)state;
    sweep_memory(report_all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_html),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_shorten),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_ticks),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_lines_are_thinned),
        cmocka_unit_test(test_marks_stay_inside),
        cmocka_unit_test(test_marks_survive_any_number),
        cmocka_unit_test(test_outlines),
        cmocka_unit_test(test_explorer_counts),
        cmocka_unit_test(test_histogram_and_sample),
        cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_one_label),
        cmocka_unit_test(test_ladder_is_thinned),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
