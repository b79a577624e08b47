/* Replaces cmocka when a test is compiled for a machine without libraries: provides what the tests in
 * scripts/check-platforms use. A failure ends the program. */
#ifndef PV_TEST_PLATFORMS_CMOCKA_H
#define PV_TEST_PLATFORMS_CMOCKA_H

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
};

#define cmocka_unit_test(function)                                                                                     \
    { #function, function }
#define print_error(...) fprintf(stderr, __VA_ARGS__)
#define fail() (fprintf(stderr, "%s:%d: failed\n", __FILE__, __LINE__), exit(1))
#define fail_msg(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), fail())
#define assert_true(condition) ((condition) ? (void)0 : fail_msg("%s", #condition))
#define assert_false(condition) assert_true(!(condition))
#define assert_int_equal(a, b) assert_true((a) == (b))
#define assert_string_equal(a, b) assert_true(strcmp(a, b) == 0)
#define assert_memory_equal(a, b, size) assert_true(memcmp(a, b, size) == 0)

#define cmocka_run_group_tests(tests, setup, teardown) run_tests(tests, sizeof(tests) / sizeof *(tests))
static inline int run_tests(const struct CMUnitTest *tests, size_t count) {
    for (size_t i = 0; i < count; i++)
        tests[i].test(NULL);
    printf("%zu tests passed\n", count);
    return 0;
}

#endif
