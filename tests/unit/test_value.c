/* Result trees: built, read, written as JSON and read back. */
#include <math.h>
#include <string.h>

#include "base/value.h"
#include "fixture.h"

static pv_result *tree(void) {
    static const double rows[] = {1, 2, 3, 4, 5, 6};
    pv_result *list = pv__value_list();
    for (int i = 0; i < 40; i++)
        pv__value_append(list, pv__value_integer(i));
    pv_result *object = pv__value_pack("trIbv", "name", "a \"b\"\n\xc3\xa9", "share", 0.9, "rows", (int64_t)1 << 60,
                                       "sound", 1, "list", list);
    pv__value_set(object, "undefined", pv__value_real(NAN));
    pv__value_set(object, "whole", pv__value_real(5));
    pv__value_set(object, "p", pv__value_array(rows, 3, 2));
    return object;
}

static void reads_what_was_built(void **state) {
    (void)state;
    pv_result *object = tree();
    size_t rows, columns;
    assert_true(pv__value_whole(object));
    assert_int_equal(pv_result_type_of(object), PV_RESULT_OBJECT);
    assert_int_equal(pv_result_count(object), 8);
    assert_string_equal(pv_result_name(object, 1), "share");
    assert_true(pv_result_number(pv_result_get(object, "share")) == 0.9);
    assert_true(pv_result_number(pv_result_get(object, "sound")) == 1);
    assert_true(isnan(pv_result_number(pv_result_get(object, "undefined"))));
    assert_true(isnan(pv_result_number(pv_result_get(object, "name"))));
    assert_null(pv_result_text(pv_result_get(object, "share")));
    assert_true(pv_result_number(pv_result_child(pv_result_get(object, "list"), 39)) == 39);
    const double *p = pv_result_array(pv_result_get(object, "p"), &rows, &columns);
    assert_true(p && rows == 3 && columns == 2 && p[5] == 6);
    assert_null(pv_result_array(pv_result_get(object, "list"), &rows, &columns));
    assert_int_equal(rows, 0);
    pv_result_free(object);
}

/* Reading members of a missing value gives missing values at every level. */
static void takes_null(void **state) {
    (void)state;
    static const char *const nowhere[] = {"metrics", "auc", "value", NULL};
    pv_result *object = tree();
    size_t rows, columns;
    assert_int_equal(pv_result_type_of(pv_result_at(object, nowhere)), PV_RESULT_NONE);
    assert_true(isnan(pv_result_number(pv_result_at(object, nowhere))));
    assert_null(pv_result_text(NULL));
    assert_null(pv_result_name(NULL, 0));
    assert_null(pv_result_name(object, 8));
    assert_null(pv_result_child(object, 8));
    assert_int_equal(pv_result_count(NULL), 0);
    assert_null(pv_result_array(NULL, &rows, &columns));
    pv_result_free(NULL);
    pv_result_free(object);
}

/* Objects of any size, with members found by name, replaced and removed. */
static void finds_names(void **state) {
    (void)state;
    enum { N = 3000 };
    pv_result *object = pv__value_object();
    char name[32];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < N; i++) {
            snprintf(name, sizeof name, "column %d", i);
            assert_true(pv__value_set(object, name, pv__value_integer(i + round)));
        }
    assert_int_equal(pv_result_count(object), N);
    pv__value_drop(object, "column 7");
    pv__value_drop(object, "nobody");
    assert_int_equal(pv_result_count(object), N - 1);
    assert_null(pv_result_get(object, "column 7"));
    for (int i = 8; i < N; i++) {
        snprintf(name, sizeof name, "column %d", i);
        assert_true(pv_result_number(pv_result_get(object, name)) == i + 1);
    }
    pv_result_free(object);
}

static void writes_json(void **state) {
    (void)state;
    pv_result *object = tree(), *back;
    char *text;
    assert_int_equal(pv_result_json(ctx, object, &text), PV_OK);
    assert_non_null(
        strstr(text, "\"name\": \"a \\\"b\\\"\\n\xc3\xa9\",\n  \"share\": 0.9,\n  \"rows\": 1152921504606846976,"));
    assert_non_null(strstr(text, "\"undefined\": null,\n  \"whole\": 5.0\n}")); /* arrays are left out */
    assert_int_equal(pv__json_parse(ctx, text, strlen(text), &back), PV_OK);
    pv__value_drop(object, "p");
    assert_true(pv__value_equal(object, back));
    pv_result_free(back);
    pv_result_text_free(ctx, text);
    pv_result_free(object);
    object = pv__value_pack("t", "name", "\xff");
    assert_int_equal(pv_result_json(ctx, object, &text), PV_OK);
    assert_string_equal(text, "{\n  \"name\": \"\\\\xFF\"\n}");
    pv_result_text_free(ctx, text);
    assert_int_equal(pv__json_dump(ctx, object, "no UTF-8", &text), PV_ERR_INPUT);
    pv_result_free(object);
}

static void *value_resize(void *block, size_t size) {
    return limited_resize(NULL, block, size);
}

static void value_release(void *block) {
    limited_release(NULL, block);
}

static pv_status json_poorly(pv_ctx *poor) {
    char *text = NULL;
    pv_result *back = NULL;
    pv__value_memory(value_resize, value_release);
    pv_result *object = tree();
    pv_status status = pv_result_json(poor, object, &text);
    if (status == PV_OK)
        status = pv__json_parse(poor, text, strlen(text), &back);
    pv_result_free(back);
    pv_result_text_free(poor, text);
    pv_result_free(object);
    pv__value_memory(NULL, NULL);
    return status;
}

/* An incomplete tree is not written. */
static void survives_lack_of_memory(void **state) {
    (void)state;
    sweep_memory(json_poorly);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_was_built),
        cmocka_unit_test(takes_null),
        cmocka_unit_test(finds_names),
        cmocka_unit_test(writes_json),
        cmocka_unit_test(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
