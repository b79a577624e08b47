/* Structured messages: option, value, problem and remedy of an error, and references to options in texts. */
#include "unit/check.h"

#include "base/base.h"

static const pv_error *fail_with(pv_ctx *ctx, const char *text) {
    assert_int_equal(pv__fail(ctx, PV_ERR_USAGE, "%s", text), PV_ERR_USAGE);
    return pv_ctx_error(ctx);
}

static void test_parts(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    const struct {
        const char *text, *message, *option, *value, *problem, *remedy;
    } cases[] = {
        {"`infer=vi` takes all rows at once:\nleave `batch` out",
         "`infer=vi` takes all rows at once: leave `batch` out", "infer", "vi", "`infer=vi` takes all rows at once",
         "leave `batch` out"},
        {"column 'a' is constant. \nUse `exclude=a`.", "column 'a' is constant.  Use `exclude=a`.", "", "",
         "column 'a' is constant", "Use `exclude=a`."},
        {"`outcome` is missing", "`outcome` is missing", "outcome", "", "`outcome` is missing", ""},
        {"`id=a``b`: no such column", "`id=a``b`: no such column", "id", "a`b", "`id=a``b`: no such column", ""},
        {"it ends with `prior", "it ends with `prior", "", "", "it ends with `prior", ""},
        {"all;\n", "all; ", "", "", "all", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pv_error *error = fail_with(ctx, cases[i].text);
        assert_string_equal(error->message, cases[i].message);
        assert_string_equal(error->option, cases[i].option);
        assert_string_equal(error->value, cases[i].value);
        assert_string_equal(error->problem, cases[i].problem);
        assert_string_equal(error->remedy, cases[i].remedy);
    }
    pv_ctx_free(ctx);
}

/* An error that quotes another keeps the latter's remedy separate. */
static void test_quoted(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    char text[PV_MESSAGE_SIZE];
    fail_with(ctx, "no rows;\ngive some");
    snprintf(text, sizeof text, "fold 2: %.400s", pv_ctx_error(ctx)->message);
    pv__error_break(pv_ctx_error(ctx), text);
    assert_string_equal(text, "fold 2: no rows;\ngive some");
    assert_string_equal(fail_with(ctx, text)->remedy, "give some");
    pv_ctx_free(ctx);
}

/* A long value is cut, the text after it is not. */
static void test_long_value(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    char text[2000];
    snprintf(text, sizeof text, "`model=%01500d`:\nchoose linear", 1);
    const pv_error *error = fail_with(ctx, text);
    assert_string_equal(error->option, "model");
    assert_int_equal(strncmp(error->value, "0000", 4), 0);
    assert_string_equal(error->remedy, "choose linear");
    pv_text_reference reference;
    assert_true(pv_text_option(error->message, &reference));
    pv_ctx_free(ctx);
}

static void test_references(void **state) {
    (void)state;
    const char *text = "``, `Prior`, `prior =1`, `prior=normal:1` and `seed`";
    pv_text_reference found;
    char value[8];
    assert_true(pv_text_option(text, &found));
    assert_string_equal(found.name, "prior");
    pv_text_option_value(&found, value, sizeof value);
    assert_string_equal(value, "normal:"); /* as much as fits */
    assert_true(pv_text_option(found.end, &found));
    assert_string_equal(found.name, "seed");
    assert_null(found.value);
    pv_text_option_value(&found, value, sizeof value);
    assert_string_equal(value, "");
    assert_false(pv_text_option(found.end, &found));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts), cmocka_unit_test(test_quoted),
                                       cmocka_unit_test(test_long_value), cmocka_unit_test(test_references)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
