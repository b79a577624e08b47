/* A program may set a locale with another decimal point or other letters. What the library writes is identical to the C
 * locale, and each reads what the other wrote. The locales are created for the test, because they may not be installed;
 * if that fails, the test is skipped. */
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "unit/problem.h"

/* A comma; a point of two bytes; an i whose capital is not I. */
static const char *const wanted[] = {"de_DE", "ps_AF", "tr_TR"};
enum { WANTED = sizeof wanted / sizeof *wanted };
static bool made[WANTED];

static char folder[] = "/tmp/prevail-locale-XXXXXX";
static const char *side;   /* "c" or "other": prefix of file names */
static char told[1 << 14]; /* log and errors in this locale */
static pv_ctx *ctx;

static const char *const names[] = {"table.csv", "model", "figure.svg", "figure.csv", "report.html", "told"};

/* The result is valid for four calls. */
static char *file_of(const char *which, const char *name) {
    static char paths[4][128];
    static size_t next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s-%s", folder, which, name);
    return path;
}

static void tell(const char *text) {
    strncat(told, text, sizeof told - strlen(told) - 2);
    strcat(told, "\n");
}

static void hear(void *state, pv_log_level level, const char *message) {
    (void)state;
    (void)level;
    tell(message);
}

/* ---- written files ----------------------------------------------------------------------------------------------- */

/* Numbers in every format: fixed, scientific, beyond 128 bits, subnormal; special words. */
static void write_table(void) {
    static const char text[] = "x,z,g,y\n0.5,1.25e-300,a,0\n2.25,-1.5e300,b,1\n3.1,4.9e-324,a,0\n4.75,INF,b,1\n"
                               "2.5,0.1,b,0\n2.2,Infinity,a,1\n5.125,1e22,a,1\n0.0625,123456789.125,b,0\n";
    char *path = file_of(side, "in.csv");
    write_all(path, text, sizeof text - 1);
    pv_table *table;
    CHECK_OK(ctx, pv_table_read(ctx, path, NULL, &table));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(table->column[i].type, i == 2 ? PV_COLUMN_TEXT : PV_COLUMN_NUMBER);
    pv_output output = {0};
    CHECK_OK(ctx, pv_output_open(ctx, file_of(side, "table.csv"), &output));
    CHECK_OK(ctx, pv_table_write(ctx, table, &output));
    CHECK_OK(ctx, pv_output_commit(ctx, &output));
    pv_table_free(ctx, table);
    unlink(path);
}

/* Interrupted in one locale and resumed in the other; saved, loaded and saved again. */
static void write_model(const problem *p, const char *first, const char *second) {
    pv_fit_options options = pv_fit_options_default();
    options.command = "fit --rate 0.05";
    options.prevalence = "0.125";
    options.prevalence_n = "37.5";
    options.marginal = PV_MARGINAL_PROFILE;
    options.batch = "16";
    options.epochs = 4;
    options.rate = 0.05;
    options.prior = "normal:2.5";
    char path[128];
    snprintf(path, sizeof path, "%s/checkpoint", folder); /* appears in messages */
    for (int piece = 0; piece < 2; piece++) {
        assert_non_null(setlocale(LC_ALL, piece == 0 ? first : second));
        CHECK_OK(ctx, pv_checkpoint_open(ctx, path, 1e9, piece == 1));
        pv__checkpoint_interrupt_after(ctx, piece == 0 ? 5 : 0);
        pv_classifier *trained = NULL;
        CHECK_OK(ctx, pv_fit(ctx, p->schema, p->data, &options, &trained));
        assert_int_equal(trained->stop == PV_STOP_INTERRUPTED, piece == 0);
        if (piece == 0)
            CHECK_OK(ctx, pv_checkpoint_write(ctx));
        else
            CHECK_OK(ctx, pv_classifier_save(ctx, trained, file_of(side, "model")));
        pv_classifier_free(ctx, trained);
        if (piece == 0)
            pv_checkpoint_close(ctx);
        else
            CHECK_OK(ctx, pv_checkpoint_finish(ctx));
        pv_ctx_clear_interrupt(ctx);
    }
    pv_classifier *loaded;
    CHECK_OK(ctx, pv_classifier_load(ctx, file_of(side, "model"), &loaded));
    tell(loaded->record);
    CHECK_OK(ctx, pv_classifier_save(ctx, loaded, file_of(side, "model")));
    pv_classifier_free(ctx, loaded);
}

static void write_report(void) {
    enum { N = 40 };
    double x[N], y[N], log_p[2 * N];
    int32_t label[N];
    for (int i = 0; i < N; i++) {
        x[i] = i / 7.0;
        y[i] = 1e-3 * exp(x[i]);
        label[i] = i % 3 == 0;
        log_p[2 * i] = pv_log_sigmoid(1 - x[i]);
        log_p[2 * i + 1] = pv_log_sigmoid(x[i] - 1);
    }
    const pv_series series[] = {{.mark = PV_MARK_LINE, .name = "a", .n = N, .x = x, .y = y},
                                {.mark = PV_MARK_BAND, .n = N, .x = x, .lo = y, .hi = x},
                                {.mark = PV_MARK_POINTS, .name = "b", .n = N, .x = x, .y = y, .size = 2.5}};
    const pv_panel panel = {.y = {.log = true}, .x = {.label = "x"}, .series = series, .n_series = 3, .id = "p"};
    const pv_figure figure = {.name = "f", .title = "t", .text = "d", .panel = &panel, .panels = 1, .columns = 2};
    CHECK_OK(ctx, pv_figure_write_svg(ctx, &figure, file_of(side, "figure.svg")));
    CHECK_OK(ctx, pv_figure_write_csv(ctx, &figure, file_of(side, "figure.csv")));
    pv_targets targets = {.n = N, .classes = 2, .label = label};
    pv_ranking *ranking;
    CHECK_OK(ctx, pv_ranking_new(ctx, &targets, log_p, -1, NULL, &ranking));
    const pv_explorer explorer = {.ranking = ranking,
                                  .offset = pv_logit(0.2),
                                  .prevalence = 0.125,
                                  .cost_fp = 1.5,
                                  .cost_fn = 2.25,
                                  .positive = "1"};
    const pv_report_options options = {.page = file_of(side, "report.html"), .title = "t"};
    pv_report *report;
    CHECK_OK(ctx, pv_report_new(ctx, &options, &report));
    CHECK_OK(ctx, pv_report_put_figure(ctx, report, &figure));
    CHECK_OK(ctx, pv_report_put_explorer(ctx, report, &explorer));
    CHECK_OK(ctx, pv_report_finish(ctx, report));
    pv_report_free(ctx, report);
    pv_ranking_free(ctx, ranking);
}

/* Options to text and back, names, and numbers in messages. */
static void write_told(const problem *p) {
    pv_fit_options options = pv_fit_options_default();
    char text[64];
    for (const pv_option *row = pv_fit_option_table; row->name; row++) {
        pv_option_get(row, &options, text, sizeof text);
        tell(text);
    }
    double value = 0;
    const char *end = pv_parse_real("1234.5678,5", &value);
    assert_true(end && *end == ',' && value == 1234.5678);
    assert_null(pv_parse_real("", &value));
    tell(pv_text_number(-1234.5, text, sizeof text));
    tell(pv_text_number(1.5e-7, text, sizeof text));
    pv_format_double(2.5e-310, text, sizeof text);
    tell(text);
    assert_string_equal(pv_nearest("INFER", (const char *const[]){"prior", "infer"}, 2), "infer");
    options.prevalence = "1.5";
    assert_int_not_equal(try_fit(ctx, p, &options), PV_OK);
    tell(pv_ctx_error(ctx)->message);
    write_all(file_of(side, "told"), told, strlen(told));
}

static void write_side(const char *which, const char *first, const char *second) {
    side = which;
    told[0] = '\0';
    assert_non_null(setlocale(LC_ALL, second));
    pv_ctx_options options = {.log = hear, .threads = 2};
    assert_int_equal(pv_ctx_new(&options, &ctx), PV_OK);
    problem p = nodules(ctx, 60, 1);
    write_table();
    write_model(&p, first, second);
    write_report();
    write_told(&p);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

/* ---- the locales ------------------------------------------------------------------------------------------------- */

static void check_locale(int which) {
    char locale[32], text[8];
    if (!made[which])
        skip();
    snprintf(locale, sizeof locale, "%s.UTF-8", wanted[which]);
    assert_non_null(setlocale(LC_ALL, locale));
    snprintf(text, sizeof text, "%.1f", 0.5); /* verifies that the locale is active */
    assert_string_not_equal(text, "0.5");
    write_side("c", locale, "C");
    write_side("other", "C", locale);
    snprintf(text, sizeof text, "%.1f", 0.5); /* and was not changed */
    assert_string_not_equal(text, "0.5");
    setlocale(LC_ALL, "C");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        print_message("%s: %s\n", locale, names[i]);
        check_same_files(file_of("c", names[i]), file_of("other", names[i]));
    }
}

static void test_comma(void **state) {
    (void)state;
    check_locale(0);
}

static void test_point_of_two_bytes(void **state) {
    (void)state;
    check_locale(1);
}

static void test_dotless_i(void **state) {
    (void)state;
    check_locale(2);
}

static bool make_locale(const char *name) {
    char command[256], locale[32];
    snprintf(command, sizeof command, "localedef -c -f UTF-8 -i %s %s/%s.UTF-8 >/dev/null 2>&1", name, folder, name);
    snprintf(locale, sizeof locale, "%s.UTF-8", name);
    bool there = system(command) == 0 && setlocale(LC_ALL, locale); /* NOLINT(cert-env33-c): a constant text */
    setlocale(LC_ALL, "C");
    return there;
}

static int run_all(void) {
    int count = 0;
    for (int i = 0; i < WANTED; i++)
        count += made[i] = make_locale(wanted[i]);
    if (count == 0) {
        puts("SKIPPED: localedef made no locale; 'make setup-check' installs what it needs");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comma),
        cmocka_unit_test(test_point_of_two_bytes),
        cmocka_unit_test(test_dotless_i),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
    char command[64];
    if (!mkdtemp(folder) || setenv("LOCPATH", folder, 1) != 0)
        return 1;
    int code = run_all();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? code : 1;
}
