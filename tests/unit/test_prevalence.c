/* Parsing of prevalences. */
#include "fixture.h"

static char label_no[] = "no", label_yes[] = "yes", label_a[] = "a", label_aa[] = "a=b,c", label_1[] = "1";
static char *two[] = {label_no, label_yes}, *three[] = {label_a, label_aa, label_1};
static double p[3], low, high;

static pv_status parse2(const char *text) {
    p[0] = p[1] = p[2] = -1;
    return pv_prevalence_parse(ctx, "`prevalence`", text, two, 2, p, &low, &high);
}

static pv_status parse3(const char *text) {
    p[0] = p[1] = p[2] = -1;
    return pv_prevalence_parse(ctx, "`prevalence`", text, three, 3, p, &low, &high);
}

static void parses_prevalence(void **state) {
    (void)state;
    static const char *const hundredth[] = {"0.01",
                                            "1e-2",
                                            ".01",
                                            "+0.01",
                                            "0.010000",
                                            "0.99,0.01",
                                            " 0.99 , 0.01 ",
                                            "yes=0.01,no=0.99",
                                            "no=0.99,yes=0.01",
                                            "yes = 0.01",
                                            "no=0.99"};
    for (size_t i = 0; i < sizeof hundredth / sizeof *hundredth; i++) {
        ok(parse2(hundredth[i]));
        near(p[1], 0.01, 1e-15);
        near(p[0], 0.99, 1e-15);
        near(p[0] + p[1], 1, 1e-16);
        assert_true(isnan(low) && isnan(high));
    }
    ok(parse2("1e-3"));
    near(p[1], 1e-3, 1e-18);
    ok(parse3("0.2,0.3,0.5"));
    near(p[2], 0.5, 1e-15);
    ok(parse3("1.0=0.5,a=b,c=0.3,a=0.2")); /* a label with '=' and ',', and one matched as a number */
    near(p[0], 0.2, 1e-15);
    near(p[1], 0.3, 1e-15);
    near(p[2], 0.5, 1e-15);
    ok(parse3("0.3333333333,0.3333333333,0.3333333334"));
    near(p[0] + p[1] + p[2], 1, 1e-15);
}

static void parses_intervals(void **state) {
    (void)state;
    ok(parse2("0.005-0.02"));
    near(low, 0.005, 0);
    near(high, 0.02, 0);
    near(p[1], 0.01, 1e-15);
    near(p[0], 0.99, 1e-15);
    ok(parse2("1e-4 - 1e-2"));
    near(p[1], 1e-3, 1e-15);
    ok(parse2("1e-4-1e-2"));
    near(low, 1e-4, 0);
    assert_int_equal(parse2("0.02-0.005"), PV_ERR_USAGE);
    says("wrong way round");
    assert_int_equal(parse2("0.02-0.02"), PV_ERR_USAGE);
    says("single number");
    assert_int_equal(parse2("0.02-"), PV_ERR_USAGE);
    assert_int_equal(parse2("0.02-1.5"), PV_ERR_USAGE);
    says("outside (0,1)");
    assert_int_equal(parse2("0.02-0.03-0.04"), PV_ERR_USAGE);
    assert_int_equal(parse3("0.1-0.2"), PV_ERR_USAGE);
    says("two classes");
}

static void refuses_prevalence(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
    } two_class[] = {{"1%", "0.01"},
                     {"1/100", "0.01"},
                     {"25 %", "0.25"},
                     {"0", "outside (0,1)"},
                     {"1", "outside (0,1)"},
                     {"-0.1", "outside (0,1)"},
                     {"1.5", "outside (0,1)"},
                     {"inf", "outside (0,1)"},
                     {"nan", "not a number"},
                     {"", "needed"},
                     {"  ", "needed"},
                     {"0.5x", "not understood"},
                     {"x", "not a number"},
                     {"0.5,0.4", "add up"},
                     {"0.5,", "not a number"},
                     {"0.1,0.2,0.7", "no, yes"},
                     {"yess=0.5", "did you mean 'yes'"},
                     {"q=0.5", "labels are no, yes"},
                     {"yes=0.5,yes=0.5", "twice"},
                     {"yes=", "not a number"},
                     {"=0.5", "no label ''"},
                     {"yes=0.5,no=0.4", "add up"},
                     {"0x0.1p0", "not a decimal number"},
                     {"0,5", "outside (0,1)"},
                     {"yes=1%", "0.01"},
                     {"yes=0.5;no=0.5", "not understood"},
                     {"0.9 0.1", "not understood"}};
    for (size_t i = 0; i < sizeof two_class / sizeof *two_class; i++) {
        if (parse2(two_class[i].text) != PV_ERR_USAGE)
            fail_msg("'%s' was taken", two_class[i].text);
        says("`prevalence`");
        says(two_class[i].says);
    }
    assert_int_equal(parse3("0.1"), PV_ERR_USAGE);
    says("3 classes");
    says("a, a=b,c, 1");
    assert_int_equal(parse3("0.1,0.9"), PV_ERR_USAGE);
    assert_int_equal(parse3("a=0.1,1=0.9"), PV_ERR_USAGE);
    says("2 numbers");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_prevalence),
        cmocka_unit_test(parses_intervals),
        cmocka_unit_test(refuses_prevalence),
    };
    return cmocka_run_group_tests_name("prevalence", tests, setup, teardown);
}
