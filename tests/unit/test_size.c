/* Sample sizes: identities, the best ratio, pilots, what is refused and where, failing allocations. */
#include "fixture.h"
#include "prevail/size.h"

typedef struct settings_pair {
    const char *name, *value;
} settings_pair;
#define PAIRS(...) ((const settings_pair[]){__VA_ARGS__, {NULL, NULL}})

static pv_status run(pv_ctx *in, const pv_table *pilot, const settings_pair *pairs, pv_result **result) {
    pv_settings *settings = NULL;
    pv_status status = pv_size_settings_new(in, &settings);
    *result = NULL;
    for (size_t i = 0; status == PV_OK && pairs[i].name; i++)
        status = pv_settings_set(in, settings, pairs[i].name, pairs[i].value);
    if (status == PV_OK)
        status = pv_size_find(in, pilot, settings, result);
    pv_settings_free(in, settings);
    return status;
}

static pv_result *find(const char *pilot, const settings_pair *pairs) {
    pv_table *table = pilot ? read_text(pilot) : NULL;
    pv_result *result;
    ok(run(ctx, table, pairs, &result));
    pv_table_free(ctx, table);
    return result;
}

static double part(const pv_result *result, const char *first, const char *second, const char *third) {
    return pv_result_number(pv_result_at(result, (const char *const[]){first, second, third, NULL}));
}

#define MODEL                                                                                                          \
    {"prevalence", "0.05"}, {"auc", "0.8"}, {                                                                          \
        "parameters", "12"                                                                                             \
    }
#define EXPOSURE                                                                                                       \
    {"prevalence", "0.001"}, {                                                                                         \
        "exposure", "0.2"                                                                                              \
    }

/* ---- the ratio --------------------------------------------------------------------------------------------------- */

/* For an odds ratio near 1: sqrt(cost of a case / cost of a control). */
static void best_ratio_is_the_closed_form(void **state) {
    (void)state;
    pv_result *r = find(NULL, PAIRS(EXPOSURE, {"odds-ratio", "1.002"}, {"cost-case", "9"}));
    near(part(r, "design", "ratio", NULL), 3, 0.01);
    pv_result_free(r);
    r = find(NULL, PAIRS(EXPOSURE, {"odds-ratio", "1.002"}, {"cost-control", "16"}));
    near(part(r, "design", "ratio", NULL), 0.25, 0.001);
    pv_result_free(r);
}

static void no_ratio_of_the_curve_is_cheaper(void **state) {
    (void)state;
    pv_result *r = find(NULL, PAIRS(MODEL, {"threshold", "0.1"}, {"ppv-width", "0.2"}, {"risk-width", "0.1"},
                                    {"auc-width", "0.1"}, {"slope", "0.9"}, {"cost-case", "5"}));
    const pv_result *curve = pv_result_get(r, "curve");
    double cost = part(r, "design", "cost", NULL);
    assert_true(pv_result_count(curve) > 8);
    for (size_t i = 0; i < pv_result_count(curve); i++)
        assert_true(pv_result_number(pv_result_get(pv_result_child(curve, i), "cost")) >= cost - 6); /* whole people */
    pv_result_free(r);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* A criterion alone is met by its rows, and the design has no more than it takes. */
static void each_criterion_is_met(void **state) {
    (void)state;
    static const settings_pair each[] = {{"auc-width", "0.08"}, {"risk-width", "0.08"},     {"ppv-width", "0.15"},
                                         {"slope", "0.93"},     {"benefit-width", "0.008"}, {"power", "0.9"}};
    static const char *const keys[] = {"auc_width", "risk_width", "ppv_width", "slope", "benefit_width", "power"};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        bool power = i == 5, slope = i == 3;
        pv_result *r = find(NULL, PAIRS({"prevalence", "0.05"}, {"auc", "0.8"}, {"ratio", "2"}, each[i],
                                        {power    ? "odds-ratio"
                                         : slope  ? "parameters"
                                         : i == 0 ? "interval"
                                                  : "threshold",
                                         power    ? "1.6"
                                         : slope  ? "12"
                                         : i == 0 ? "0.9"
                                                  : "0.1"}));
        double wanted = part(r, "criteria", keys[i], "wanted"), reached = part(r, "criteria", keys[i], "reached");
        double rows = part(r, "design", "rows", NULL);
        near(rows, part(r, "criteria", keys[i], "rows"), 0);
        near(reached, wanted, 1.5 * wanted / rows); /* less than a row too many */
        assert_true(power || slope ? reached >= wanted - 1e-9 : reached <= wanted + 1e-9);
        pv_result_free(r);
    }
}

/* A cohort tells its own prevalence as that many other people would. */
static void a_cohort_is_a_sample_of_the_population(void **state) {
    (void)state;
    pv_result *a = find(NULL, PAIRS({"prevalence", "0.1"}, {"auc", "0.8"}, {"threshold", "0.2"}, {"cases", "100"},
                                    {"ratio", "population"}));
    pv_result *b = find(NULL, PAIRS({"prevalence", "0.1"}, {"auc", "0.8"}, {"threshold", "0.2"}, {"cases", "100"},
                                    {"ratio", "9"}, {"prevalence-n", "1000"}));
    static const char *const what[] = {"risk", "ppv", "net_benefit", "auc"};
    for (int i = 0; i < 4; i++)
        near(part(a, "figures", what[i], "error"), part(b, "figures", what[i], "error"), 1e-12);
    near(part(a, "design", "rows", NULL), 1000, 0);
    pv_result_free(a);
    pv_result_free(b);
}

static void r2_is_that_of_its_auc(void **state) {
    (void)state;
    pv_result *a = find(NULL, PAIRS(MODEL));
    char r2[32];
    pv_format_double(part(a, "model", "r2", NULL), r2, sizeof r2);
    pv_result *b = find(NULL, PAIRS({"prevalence", "0.05"}, {"r2", r2}, {"parameters", "12"}));
    near(part(b, "model", "auc", NULL), 0.8, 1e-9);
    near(part(b, "design", "rows", NULL), part(a, "design", "rows", NULL), 0);
    pv_result_free(a);
    pv_result_free(b);
}

static void intervals_of_the_prevalence_are_kept(void **state) {
    (void)state;
    pv_result *r = find(NULL, PAIRS({"prevalence", "0.01-0.03"}, {"auc", "0.8"}, {"parameters", "12"}));
    near(part(r, "prevalence", "lo", NULL), 0.01, 1e-5);
    near(part(r, "prevalence", "hi", NULL), 0.03, 1e-5);
    assert_true(part(r, "prevalence", "people", NULL) > 100);
    pv_result_free(r);
}

/* ---- pilots ------------------------------------------------------------------------------------------------------ */

#define PILOT                                                                                                          \
    {"prevalence", "0.05"}, {"score", "x"}, {"outcome", "y"}, {                                                        \
        "parameters", "12"                                                                                             \
    }

enum { QUANTILES = 300 };

/* Quantiles of the two normal distributions of an AUC of 0.8, as scores a + b s; odds: as probabilities. */
static char *normal_pilot(double a, double b, bool probabilities) {
    char *text = malloc(1 << 16);
    assert_non_null(text);
    size_t n = (size_t)sprintf(text, "y,x\n");
    double d = sqrt(2) * pv_normal_quantile(0.8);
    for (int y = 0; y < 2; y++)
        for (int i = 0; i < QUANTILES; i++) {
            double s = a + b * (d * pv_normal_quantile((i + 0.5) / QUANTILES) + (y ? 0.5 : -0.5) * d * d);
            n += (size_t)sprintf(text + n, "%s,%.12g\n", y ? "case" : "control", probabilities ? pv_sigmoid(s) : s);
        }
    return text;
}

static void a_normal_pilot_is_the_normal_model(void **state) {
    (void)state;
    static const settings_pair pairs[] = {PILOT, {"threshold", "0.1"}, {"ratio", "2"}, {NULL, NULL}};
    char *text[3] = {normal_pilot(0, 1, false), normal_pilot(5, 0.1, false), normal_pilot(-1, 0.5, true)};
    pv_result *model = find(NULL, PAIRS(MODEL, {"threshold", "0.1"}, {"ratio", "2"})), *r[3];
    for (int i = 0; i < 3; i++)
        r[i] = find(text[i], pairs);
    near(part(r[0], "model", "auc", NULL), 0.8, 0.002);
    near(part(r[0], "model", "r2", NULL), part(model, "model", "r2", NULL), 0.001);
    near(part(r[0], "design", "rows", NULL), part(model, "design", "rows", NULL), 8);
    near(part(r[0], "figures", "risk", "error"), part(model, "figures", "risk", "error"), 0.01);
    near(part(r[0], "figures", "ppv", "error"), part(model, "figures", "ppv", "error"), 0.02);
    near(part(r[0], "figures", "auc", "error"), part(model, "figures", "auc", "error"), 0.001);
    for (int i = 1; i < 3; i++) { /* whatever the scale */
        near(part(r[i], "model", "r2", NULL), part(r[0], "model", "r2", NULL), 1e-9);
        near(part(r[i], "figures", "risk", "error"), part(r[0], "figures", "risk", "error"), 1e-7);
        near(part(r[i], "design", "rows", NULL), part(r[0], "design", "rows", NULL), 0);
    }
    for (int i = 0; i < 3; i++) {
        pv_result_free(r[i]);
        free(text[i]);
    }
    pv_result_free(model);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void refuses(const char *pilot, const settings_pair *pairs, pv_status wanted, const char *words) {
    pv_table *table = pilot ? read_text(pilot) : NULL;
    pv_result *result;
    assert_int_equal(run(ctx, table, pairs, &result), wanted);
    assert_null(result);
    says(words);
    pv_table_free(ctx, table);
}

static void refuses_with_the_remedy(void **state) {
    (void)state;
    const pv_status usage = PV_ERR_USAGE;
    refuses(NULL, PAIRS({"auc", "0.8"}), usage, "`prevalence` is missing");
    refuses(NULL, PAIRS({"prevalence", "0.1"}), usage, "nothing is wanted");
    refuses(NULL, PAIRS({"prevalence", "0.1"}, {"auc", "0.8"}), usage, "nothing is wanted");
    refuses(NULL, PAIRS({"prevalence", "1.5"}, {"auc", "0.8"}), usage, "prevalence");
    refuses(NULL, PAIRS(MODEL, {"r2", "0.1"}), usage, "one of `auc`, `r2` and a pilot");
    refuses(NULL, PAIRS({"prevalence", "0.05"}, {"r2", "0.5"}, {"parameters", "3"}), usage, "below");
    refuses(NULL, PAIRS({"prevalence", "0.05"}, {"r2", "1e-6"}, {"parameters", "3"}), usage, "hardly more");
    refuses(NULL, PAIRS({"prevalence", "0.05"}, {"auc", "0.45"}, {"parameters", "3"}), usage, "0.505");
    refuses(NULL, PAIRS(MODEL, {"ratio", "many"}), usage, "population, or best");
    refuses(NULL, PAIRS(MODEL, {"ratio", "0"}), usage, "population, or best");
    refuses(NULL, PAIRS(MODEL, {"cases", "100"}), usage, "`ratio`");
    refuses(NULL, PAIRS(MODEL, {"score", "x"}), usage, "`score` has no effect");
    refuses(NULL, PAIRS(MODEL, {"ppv-width", "0.1"}), usage, "`threshold`");
    refuses(NULL, PAIRS(MODEL, {"power", "0.8"}), usage, "`odds-ratio`");
    refuses(NULL, PAIRS(MODEL, {"odds-ratio", "1"}), usage, "not an effect to detect");
    refuses(NULL, PAIRS(MODEL, {"odds-ratio", "0.001"}), usage, "between 0.02 and 50");
    refuses(NULL, PAIRS(EXPOSURE, {"odds-ratio", "2"}, {"threshold", "0.1"}), usage, "no model is assumed");
    refuses(NULL, PAIRS({"prevalence", "0.1"}, {"auc", "0.8"}, {"auc-width", "0.1"}, {"slope", "0.9"}), usage,
            "4 or more");
    refuses(NULL, PAIRS(MODEL, {"threshold", "0.1"}, {"prevalence-n", "50"}, {"ppv-width", "0.05"}), usage,
            "the prevalence alone");
    refuses(NULL, PAIRS({"prevalence", "0.01-0.03"}, {"auc", "0.8"}, {"parameters", "3"}, {"prevalence-n", "50"}),
            usage, "one of them");
    refuses(NULL, PAIRS(MODEL, {"shrinkage", "0.5"}, {"auc", "0.99"}, {"ratio", "1"}), usage, "`shrinkage=0.5`");
    refuses("y,x\n0,1\n1,2\n", PAIRS(PILOT, {"auc", "0.8"}), usage, "a pilot");
    refuses("y,x\n0,1\n1,2\n", PAIRS({"prevalence", "0.05"}, {"parameters", "3"}, {"score", "x"}), usage, "`outcome`");
}

static void refuses_pilots(void **state) {
    (void)state;
    const pv_status input = PV_ERR_INPUT;
    static const settings_pair pairs[] = {PILOT, {NULL, NULL}};
    const char *separate = "y,x\n0,1\n0,2\n0,3\n0,4\n0,5\n0,1\n0,2\n0,3\n0,4\n0,5\n1,6\n1,7\n1,8\n1,9\n1,10\n1,6\n1,7\n"
                           "1,8\n1,9\n1,10\n";
    const char *falling = "y,x\n1,1\n1,2\n1,3\n1,4\n1,5\n1,1\n1,2\n1,3\n1,4\n1,5\n0,6\n0,7\n0,8\n0,9\n0,10\n0,3\n0,7\n"
                          "0,8\n0,9\n0,10\n";
    refuses("y,x\n0,1\n1,2\n", pairs, input, "10 of each");
    refuses("y,x\n0,1\n0,2\n", pairs, input, "one label only");
    refuses("y,x\n0,1\n1,2\n2,2\n", pairs, input, "a third label");
    at(4, 1);
    refuses("y,x\n0,1\n,2\n", pairs, input, "is empty here");
    at(3, 1);
    refuses("y,x\n0,1\n1,\n", pairs, input, "is empty here");
    at(3, 2);
    refuses("y,z\n0,1\n1,2\n", pairs, PV_ERR_USAGE, "'x'");
    refuses("y,x\na,1\nb,2\n", pairs, PV_ERR_USAGE, "`positive`");
    refuses(separate, pairs, input, "separates cases from controls");
    refuses(falling, pairs, input, "ranks cases below controls");
}

/* ---- text, and lack of memory ------------------------------------------------------------------------------------ */

static void text_has_the_numbers(void **state) {
    (void)state;
    pv_result *r =
        find(NULL, PAIRS({"prevalence", "0.174"}, {"r2", "0.288"}, {"parameters", "24"}, {"ratio", "population"}));
    char *text;
    ok(pv_size_text(ctx, r, &text));
    assert_non_null(strstr(text, "rows             662"));
    assert_non_null(strstr(text, "623"));
    assert_non_null(strstr(text, "Riley"));
    pv_result_text_free(ctx, text);
    assert_int_equal(pv_result_count(pv_result_get(r, "warnings")), 1);
    pv_result_free(r);
}

static const pv_table *swept_pilot;
static const settings_pair *swept;

static pv_status size_once(pv_ctx *poor) {
    pv_result *result;
    char *text = NULL;
    pv_status status = run(poor, swept_pilot, swept, &result);
    if (status == PV_OK)
        status = pv_size_text(poor, result, &text);
    pv_result_text_free(poor, text);
    pv_result_free(result);
    return status;
}

static void survives_failing_allocations(void **state) {
    (void)state;
    static const settings_pair model[] = {
        MODEL, {"threshold", "0.1"}, {"ppv-width", "0.2"}, {"odds-ratio", "2"}, {"ratio", "2"}, {NULL, NULL}};
    static const settings_pair pilot[] = {PILOT, {"ratio", "1"}, {NULL, NULL}};
    char *text = normal_pilot(0, 1, false);
    pv_table *table = read_text(text);
    swept = model;
    sweep_memory(size_once);
    swept = pilot;
    swept_pilot = table;
    sweep_memory(size_once);
    pv_table_free(ctx, table);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(best_ratio_is_the_closed_form),
                                       cmocka_unit_test(no_ratio_of_the_curve_is_cheaper),
                                       cmocka_unit_test(each_criterion_is_met),
                                       cmocka_unit_test(a_cohort_is_a_sample_of_the_population),
                                       cmocka_unit_test(r2_is_that_of_its_auc),
                                       cmocka_unit_test(intervals_of_the_prevalence_are_kept),
                                       cmocka_unit_test(a_normal_pilot_is_the_normal_model),
                                       cmocka_unit_test(refuses_with_the_remedy),
                                       cmocka_unit_test(refuses_pilots),
                                       cmocka_unit_test(text_has_the_numbers),
                                       cmocka_unit_test(survives_failing_allocations)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
