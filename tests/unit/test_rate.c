/* Rates by imperfect verdicts: identities, bounds, what is refused and where, failing allocations. */
#include "fixture.h"
#include "prevail/rate.h"

typedef struct settings_pair {
    const char *name, *value;
} settings_pair;

static pv_status run(pv_ctx *in, const pv_table *sample, const pv_table *gold, const settings_pair *pairs,
                     pv_result **result) {
    pv_settings *settings = NULL;
    pv_status status = pv_rate_settings_new(in, &settings);
    *result = NULL;
    for (size_t i = 0; status == PV_OK && pairs[i].name; i++)
        status = pv_settings_set(in, settings, pairs[i].name, pairs[i].value);
    if (status == PV_OK)
        status = pv_rate_estimate(in, sample, gold, settings, result);
    pv_settings_free(in, settings);
    return status;
}

static pv_result *find(const char *sample, const char *gold, const settings_pair *pairs) {
    pv_table *first = read_text(sample), *second = gold ? read_text(gold) : NULL;
    pv_result *result;
    ok(run(ctx, first, second, pairs, &result));
    pv_table_free(ctx, second);
    pv_table_free(ctx, first);
    return result;
}

static double rate(const pv_result *result, const char *label, const char *what) {
    return pv_result_number(pv_result_at(result, (const char *const[]){"rate", label, what, NULL}));
}

static void same_rates(const pv_result *a, const pv_result *b, const char *label) {
    static const char *const parts[] = {"value", "lo", "hi"};
    for (int i = 0; i < 3; i++)
        same_bits(rate(a, label, parts[i]), rate(b, label, parts[i]));
}

#define BY_LABEL                                                                                                       \
    {"verdict", "v"}, {"outcome", "y"}, {                                                                              \
        "gold-by", "label"                                                                                             \
    }
#define BY_VERDICT                                                                                                     \
    {"verdict", "v"}, {"outcome", "y"}, {                                                                              \
        "gold-by", "verdict"                                                                                           \
    }
static const settings_pair by_label[] = {BY_LABEL, {NULL, NULL}}, by_verdict[] = {BY_VERDICT, {NULL, NULL}};
static const settings_pair counted[] = {BY_LABEL, {"weights", "n"}, {NULL, NULL}};
static const settings_pair counted_by_verdict[] = {BY_VERDICT, {"weights", "n"}, {NULL, NULL}};

/* Sensitivity 0.9, specificity 0.8, apparent rate 0.27: (0.27 - 0.2)/0.7 = 0.1. */
static const char sample[] = "v,n\n0,730\n1,270\n", gold[] = "v,y,n\n0,0,80\n1,0,20\n0,1,10\n1,1,90\n";
/* 0.73 x 0.02 + 0.27 x 0.4 = 0.1226 */
static const char drawn[] = "v,y,n\n0,,630\n1,,170\n0,0,98\n0,1,2\n1,0,60\n1,1,40\n";

static void estimates_are_the_closed_forms(void **state) {
    (void)state;
    pv_result *a = find(sample, gold, counted), *b = find(drawn, NULL, counted_by_verdict);
    near(rate(a, "1", "value"), 0.1, 1e-9);
    near(rate(a, "0", "value"), 0.9, 1e-9);
    near(rate(a, "0", "lo"), 1 - rate(a, "1", "hi"), 1e-15);
    assert_true(rate(a, "1", "lo") < 0.1 && rate(a, "1", "hi") > 0.1);
    near(rate(b, "1", "value"), 0.1226, 1e-12);
    near(pv_result_number(pv_result_at(a, (const char *const[]){"sensitivity", "value", NULL})), 0.9, 1e-15);
    near(pv_result_number(pv_result_at(a, (const char *const[]){"specificity", "value", NULL})), 0.8, 1e-15);
    assert_null(pv_result_get(b, "sensitivity")); /* gold rows drawn by verdict do not tell it */
    assert_non_null(pv_result_get(b, "label_given_verdict"));
    assert_null(pv_result_get(b, "verdict_given_label"));
    pv_result_free(a);
    pv_result_free(b);
}

/* ---- identities -------------------------------------------------------------------------------------------------- */

/* Each count as so many rows, the last first. */
static char *repeated(const char *const *lines, const int *times, size_t n, const char *head) {
    size_t room = 64;
    for (size_t i = 0; i < n; i++)
        room += (size_t)times[i] * (strlen(lines[i]) + 1);
    char *text = malloc(room);
    assert_non_null(text);
    size_t at = (size_t)sprintf(text, "%s\n", head);
    for (size_t i = n; i-- > 0;)
        for (int k = 0; k < times[i]; k++)
            at += (size_t)sprintf(text + at, "%s\n", lines[i]);
    return text;
}

static void counts_are_rows(void **state) {
    (void)state;
    char *s = repeated((const char *const[]){"0", "1"}, (const int[]){730, 270}, 2, "v");
    char *g = repeated((const char *const[]){"0,0", "1,0", "0,1", "1,1"}, (const int[]){80, 20, 10, 90}, 4, "v,y");
    pv_result *a = find(sample, gold, counted), *b = find(s, g, by_label);
    same_rates(a, b, "1");
    pv_result_free(b);
    char *d = repeated((const char *const[]){"0,", "1,", "0,0", "0,1", "1,0", "1,1"},
                       (const int[]){630, 170, 98, 2, 60, 40}, 6, "v,y");
    pv_result *c = find(drawn, NULL, counted_by_verdict);
    b = find(d, NULL, by_verdict);
    same_rates(b, c, "1");
    pv_result_free(a);
    pv_result_free(b);
    pv_result_free(c);
    free(s);
    free(g);
    free(d);
}

/* Each row five times over, and the copies are a cluster: as each row once. */
static void clusters_of_copies_are_rows(void **state) {
    (void)state;
    char *copies = malloc(1 << 16), *single = malloc(1 << 16);
    assert_non_null(copies);
    assert_non_null(single);
    size_t a = (size_t)sprintf(copies, "v,y,c\n"), b = (size_t)sprintf(single, "v,y\n");
    for (int i = 0; i < 400; i++) {
        const char *label = i < 120 ? ((i * 7) % 10 < (i % 2 ? 6 : 1) ? "1" : "0") : "";
        b += (size_t)sprintf(single + b, "%d,%s\n", i % 2, label);
        for (int k = 0; k < 5; k++)
            a += (size_t)sprintf(copies + a, "%d,%s,%d\n", i % 2, label, i);
    }
    static const settings_pair clustered[] = {BY_VERDICT, {"cluster", "c"}, {NULL, NULL}};
    pv_result *x = find(copies, NULL, clustered), *y = find(single, NULL, by_verdict),
              *z = find(copies, NULL, by_verdict);
    near(rate(x, "1", "value"), rate(y, "1", "value"), 1e-12);
    double width = rate(x, "1", "hi") - rate(x, "1", "lo"), own = rate(y, "1", "hi") - rate(y, "1", "lo");
    assert_true(fabs(width / own - 1) < 0.05);
    assert_true(rate(z, "1", "hi") - rate(z, "1", "lo") < 0.6 * own); /* taken for people of their own */
    pv_result_free(x);
    pv_result_free(y);
    pv_result_free(z);
    free(copies);
    free(single);
}

/* Two strata alike: the same rate, and an interval that is narrower than each stratum's. */
static void strata_are_put_together(void **state) {
    (void)state;
    static const settings_pair strata[] = {BY_LABEL, {"weights", "n"}, {"strata", "s"}, {NULL, NULL}};
    pv_result *all =
        find("v,n,s\n0,730,a\n1,270,a\n0,365,b\n1,135,b\n",
             "v,y,n,s\n0,0,80,a\n1,0,20,a\n0,1,10,a\n1,1,90,a\n0,0,80,b\n1,0,20,b\n0,1,10,b\n1,1,90,b\n", strata);
    pv_result *one = find(sample, gold, counted);
    const pv_result *own = pv_result_at(all, (const char *const[]){"strata", "a", NULL});
    near(pv_result_number(pv_result_get(own, "share")), 2.0 / 3, 1e-15);
    same_rates(own, one, "1");
    near(rate(all, "1", "value"), 0.1, 1e-9);
    assert_true(rate(all, "1", "hi") - rate(all, "1", "lo") < rate(one, "1", "hi") - rate(one, "1", "lo"));
    pv_result_free(all);
    pv_result_free(one);
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

static void bounds_are_kept(void **state) {
    (void)state;
    /* fewer positive verdicts than the specificity gives: 0 is the estimate, and inside */
    pv_result *r = find("v,n\n0,950\n1,50\n", gold, counted);
    near(rate(r, "1", "value"), 0, 1e-12);
    near(rate(r, "1", "lo"), 0, 0);
    assert_true(rate(r, "1", "hi") > 0 && rate(r, "1", "hi") < 0.2);
    pv_result_free(r);
    /* verdicts that tell nothing */
    r = find(sample, "v,y,n\n0,0,30\n1,0,10\n0,1,30\n1,1,10\n", counted);
    near(rate(r, "1", "lo"), 0, 0);
    near(rate(r, "1", "hi"), 1, 0);
    assert_true(pv_result_count(pv_result_get(r, "warnings")) == 1);
    pv_result_free(r);
    /* no gold row with the label */
    r = find("v,y,n\n0,,500\n1,,20\n0,0,30\n1,0,10\n1,1,0\n", NULL, counted_by_verdict);
    near(rate(r, "1", "lo"), 0, 0);
    near(rate(r, "1", "value"), 0, 0);
    assert_true(rate(r, "1", "hi") > 0.01);
    pv_result_free(r);
    r = find("v,y\n0,\n1,\n0,\n0,\n0,0\n0,0\n1,0\n", NULL, by_verdict); /* the other label is a verdict */
    near(rate(r, "1", "value"), 0, 0);
    assert_true(rate(r, "1", "hi") > 0.2);
    pv_result_free(r);
    /* a perfect test and many gold rows: the interval of a proportion */
    r = find(sample, "v,y,n\n0,0,1000000\n1,1,1000000\n", counted);
    near(rate(r, "1", "value"), 0.27, 1e-9);
    near(rate(r, "1", "lo"), 0.2434, 0.003);
    near(rate(r, "1", "hi"), 0.2984, 0.003);
    pv_result_free(r);
}

static void more_labels_add_up(void **state) {
    (void)state;
    static const char three[] = "v,y,n\na,a,80\nb,a,15\nc,a,5\na,b,10\nb,b,85\nc,b,5\na,c,5\nb,c,15\nc,c,80\n";
    static const char many[] = "v,n\na,500\nb,300\nc,200\n";
    pv_result *r = find(many, three, counted);
    near(rate(r, "a", "value") + rate(r, "b", "value") + rate(r, "c", "value"), 1, 1e-9);
    for (const char *const *l = (const char *const[]){"a", "b", "c", NULL}; *l; l++)
        assert_true(rate(r, *l, "lo") < rate(r, *l, "value") && rate(r, *l, "value") < rate(r, *l, "hi"));
    /* the inverse of the confusion matrix: 0.8 a + 0.1 b + 0.05 c = 0.5, ... */
    near(0.8 * rate(r, "a", "value") + 0.1 * rate(r, "b", "value") + 0.05 * rate(r, "c", "value"), 0.5, 1e-6);
    pv_result_free(r);
    r = find("v,y,n\na,,400\nb,,200\na,a,80\nb,a,20\na,b,10\nb,b,60\na,c,10\nb,c,20\n", NULL, counted_by_verdict);
    near(rate(r, "a", "value"), 500.0 / 800 * 0.8 + 300.0 / 800 * 0.2, 1e-9);
    near(rate(r, "a", "value") + rate(r, "b", "value") + rate(r, "c", "value"), 1, 1e-9);
    pv_result_free(r);
}

static void two_systems_are_compared(void **state) {
    (void)state;
    static const settings_pair both[] = {BY_LABEL, {"compare", "w"}, {"weights", "n"}, {NULL, NULL}};
    pv_result *r = find("v,w,n\n0,0,700\n1,0,60\n0,1,40\n1,1,200\n",
                        "v,w,y,n\n0,0,0,85\n1,0,0,8\n0,1,0,4\n1,1,0,3\n0,0,1,8\n1,0,1,12\n0,1,1,4\n1,1,1,76\n", both);
    const char *const *path_to = (const char *const[]){"compare", "sensitivity", "difference", "value", NULL};
    near(pv_result_number(pv_result_at(r, path_to)), 0.08, 1e-12);
    near(
        pv_result_number(pv_result_at(r, (const char *const[]){"compare", "specificity", "difference", "value", NULL})),
        -0.04, 1e-12);
    near(pv_result_number(pv_result_at(r, (const char *const[]){"compare", "apparent", "first", "value", NULL})), 0.26,
         1e-12);
    pv_result_free(r);
}

static void scores_go_into_bins(void **state) {
    (void)state;
    char *text = malloc(1 << 16);
    assert_non_null(text);
    size_t n = (size_t)sprintf(text, "v,y\n");
    for (int i = 0; i < 600; i++) /* a fifth have a score that is higher by 2 */
        n += (size_t)sprintf(text + n, "%.4f,\n", (double)((i * 37) % 100) / 50 + (i % 5 == 0 ? 2 : 0));
    for (int i = 0; i < 200; i++)
        n += (size_t)sprintf(text + n, "%.4f,%d\n", (double)((i * 37) % 100) / 50 + (i < 100 ? 2 : 0), i < 100);
    static const settings_pair scored[] = {{"score", "v"}, {"outcome", "y"}, {"gold-by", "label"}, {NULL, NULL}};
    static const settings_pair cut[] = {
        {"score", "v"}, {"outcome", "y"}, {"gold-by", "label"}, {"cuts", "1.995"}, {NULL, NULL}};
    pv_result *a = find(text, NULL, scored), *b = find(text, NULL, cut);
    near(rate(a, "1", "value"), 0.2, 0.01);
    near(rate(b, "1", "value"), 0.2, 0.01);
    assert_int_equal(pv_result_count(pv_result_at(b, (const char *const[]){"apparent", "shares", NULL})), 2);
    pv_result_free(a);
    pv_result_free(b);
    free(text);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void refuses(const char *first, const char *second, const settings_pair *pairs, pv_status wanted,
                    const char *part) {
    pv_table *s = read_text(first), *g = second ? read_text(second) : NULL;
    pv_result *result;
    assert_int_equal(run(ctx, s, g, pairs, &result), wanted);
    assert_null(result);
    says(part);
    pv_table_free(ctx, g);
    pv_table_free(ctx, s);
}

#define PAIRS(...) ((const settings_pair[]){__VA_ARGS__, {NULL, NULL}})

static void refuses_with_the_remedy(void **state) {
    (void)state;
    const pv_status usage = PV_ERR_USAGE, input = PV_ERR_INPUT;
    refuses(sample, gold, PAIRS({"verdict", "v"}, {"outcome", "y"}), usage, "depends on how the gold rows were drawn");
    refuses(sample, gold, PAIRS({"verdict", "v"}, {"outcome", "y"}, {"gold-by", "people"}), usage,
            "label, verdict or random");
    refuses(sample, gold, PAIRS({"outcome", "y"}, {"gold-by", "label"}), usage, "`verdict` is missing");
    refuses(sample, gold, PAIRS({"verdict", "v"}, {"gold-by", "label"}), usage, "`outcome` is missing");
    refuses(sample, gold, PAIRS({"verdict", "w"}, {"outcome", "y"}, {"gold-by", "label"}), usage, "'w'");
    refuses(sample, gold, PAIRS({"verdict", "v"}, {"score", "v"}, {"outcome", "y"}, {"gold-by", "label"}), usage,
            "both given");
    refuses(sample, gold, PAIRS({"score", "v"}, {"outcome", "y"}, {"gold-by", "verdict"}), usage, "cuts");
    refuses(sample, gold, PAIRS({"score", "v"}, {"outcome", "y"}, {"gold-by", "label"}, {"cuts", "2,1"}), usage,
            "increasing");
    refuses(sample, gold, PAIRS(BY_LABEL, {"cuts", "1"}), usage, "cuts");
    refuses(sample, gold, PAIRS(BY_VERDICT, {"compare", "n"}), usage, "at random");
    refuses(sample, gold, PAIRS(BY_LABEL, {"weights", "v"}), usage, "named twice");
    refuses(sample, gold, PAIRS(BY_LABEL, {"positive", "yes"}), usage, "no label 'yes'");
    refuses(sample, gold, PAIRS({"verdict", "v"}, {"sensitivity", "0.9"}), usage, "specificity");
    refuses(sample, gold, PAIRS({"verdict", "v"}, {"sensitivity", "0.9"}, {"specificity", "0.9"}), usage,
            "one or the other");
    refuses(sample, NULL, PAIRS({"verdict", "v"}, {"sensitivity", "91/90"}, {"specificity", "0.9"}), usage,
            "sensitivity");
    refuses(sample, NULL, PAIRS({"verdict", "v"}, {"sensitivity", "0.9"}, {"specificity", "high"}), usage,
            "specificity");
    refuses("v\n0\n0\n", NULL, PAIRS({"verdict", "v"}, {"sensitivity", "0.9"}, {"specificity", "0.9"}), input,
            "1 verdict");
    refuses(sample, "v,y\n0,0\n1,0\n", by_label, input, "one label");
    refuses("v,y\n0,0\n1,1\n1,0\n", NULL, by_label, input, "every row has an outcome");
    refuses("v,n\n0,1\n,2\n", gold, counted, input, "is empty here");
    at(3, 1);
    refuses("v,n\n0,1\n1,-2\n", gold, counted, input, "negative");
    at(3, 2);
    refuses("v,n,s\n0,5,a\n1,5,b\n", "v,y,n,s\n0,0,5,a\n1,1,5,a\n", PAIRS(BY_LABEL, {"weights", "n"}, {"strata", "s"}),
            input, "stratum 'b'");
    refuses("v,s\n0,a\n1,\n", "v,y,s\n0,0,a\n1,1,a\n", PAIRS(BY_LABEL, {"strata", "s"}), input, "empty here");
    refuses("v,c\n0,\n1,1\n", "v,y,c\n0,0,a\n1,1,a\n", PAIRS(BY_LABEL, {"cluster", "c"}), input, "empty here");
    refuses("v,n\n0,0\n1,0\n", gold, counted, input, "weight above 0");
    refuses("v\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n", gold, by_label, input, "more than 10 values");
    at(12, 1);
}

/* ---- text, and lack of memory ------------------------------------------------------------------------------------ */

static void text_has_the_numbers(void **state) {
    (void)state;
    static const settings_pair pairs[] = {BY_LABEL, {"weights", "n"}, {"width", "0.1"}, {NULL, NULL}};
    pv_result *r = find(sample, gold, pairs);
    char *text;
    ok(pv_rate_text(ctx, r, &text));
    assert_non_null(strstr(text, "in 1,000 rows, and 200 gold rows drawn by label"));
    assert_non_null(strstr(text, "0.1000  ["));
    assert_non_null(strstr(text, "For an interval of width 0.1"));
    pv_result_text_free(ctx, text);
    pv_result_free(r);
}

static const pv_table *swept_sample, *swept_gold;
static const settings_pair *swept;

static pv_status rate_once(pv_ctx *poor) {
    pv_result *result;
    char *text = NULL;
    pv_status status = run(poor, swept_sample, swept_gold, swept, &result);
    if (status == PV_OK)
        status = pv_rate_text(poor, result, &text);
    pv_result_text_free(poor, text);
    pv_result_free(result);
    return status;
}

static void survives_failing_allocations(void **state) {
    (void)state;
    static const settings_pair all[] = {BY_LABEL,         {"weights", "n"}, {"strata", "s"}, {"cluster", "c"},
                                        {"width", "0.1"}, {"compare", "w"}, {NULL, NULL}};
    static const settings_pair scores[] = {
        {"score", "v"}, {"outcome", "y"}, {"gold-by", "random"}, {"weights", "n"}, {NULL, NULL}};
    pv_table *s = read_text("v,w,n,s,c,y\n0,0,7,a,1,\n1,0,6,a,2,\n0,1,4,b,3,\n1,1,2,b,4,1\n1,1,2,b,4,0\n");
    pv_table *g = read_text("v,w,y,n,s,c\n0,0,0,8,a,5\n1,0,1,8,a,6\n0,1,0,4,b,7\n1,1,1,3,b,8\n");
    swept_sample = s;
    swept_gold = g;
    swept = all;
    sweep_memory(rate_once);
    swept_gold = NULL;
    swept = scores;
    sweep_memory(rate_once);
    pv_table_free(ctx, s);
    pv_table_free(ctx, g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(estimates_are_the_closed_forms),
                                       cmocka_unit_test(counts_are_rows),
                                       cmocka_unit_test(clusters_of_copies_are_rows),
                                       cmocka_unit_test(strata_are_put_together),
                                       cmocka_unit_test(bounds_are_kept),
                                       cmocka_unit_test(more_labels_add_up),
                                       cmocka_unit_test(two_systems_are_compared),
                                       cmocka_unit_test(scores_go_into_bins),
                                       cmocka_unit_test(refuses_with_the_remedy),
                                       cmocka_unit_test(text_has_the_numbers),
                                       cmocka_unit_test(survives_failing_allocations)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
