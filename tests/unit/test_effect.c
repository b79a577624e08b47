/* Effects in the population: closed forms, identities of units, what is equal by construction. */
#include "fixture.h"
#include "prevail/prevail.h"

typedef struct settings_pair {
    const char *name, *value;
} settings_pair;

static pv_result *find(const char *rows, const settings_pair *pairs) {
    pv_table *table = read_text(rows);
    pv_settings *settings;
    pv_result *result;
    ok(pv_effect_settings_new(ctx, &settings));
    ok(pv_settings_set(ctx, settings, "outcome", "y"));
    ok(pv_settings_set(ctx, settings, "exposure", "e"));
    for (size_t i = 0; pairs[i].name; i++)
        ok(pv_settings_set(ctx, settings, pairs[i].name, pairs[i].value));
    ok(pv_effect_estimate(ctx, table, settings, &result));
    pv_settings_free(ctx, settings);
    pv_table_free(ctx, table);
    return result;
}

static double get(const pv_result *result, size_t effect, const char *measure, const char *what) {
    return pv_result_number(
        pv_result_get(pv_result_get(pv_result_child(pv_result_get(result, "effects"), effect), measure), what));
}

static double share(const pv_result *result, size_t effect) {
    return pv_result_number(pv_result_get(pv_result_child(pv_result_get(result, "effects"), effect), "share"));
}

static const char *const measures[] = {"risk",  "risk_from",  "risk_to",     "difference",
                                       "ratio", "odds_ratio", "attributable"};
enum { MEASURES = sizeof measures / sizeof *measures };

static void same(const pv_result *a, const pv_result *b, size_t effect, double tolerance) {
    static const char *const parts[] = {"value", "lo", "hi", "se"};
    for (size_t m = 0; m < MEASURES; m++)
        for (size_t p = 0; p < 4; p++) {
            double wanted = get(b, effect, measures[m], parts[p]);
            near(get(a, effect, measures[m], parts[p]), wanted, tolerance * fmax(1e-3, fabs(wanted)));
        }
}

/* ---- closed forms ------------------------------------------------------------------------------------------------ */

#define KNOWN                                                                                                          \
    { "prevalence", "0.05" }
static const char four[] = "y,e,n\n1,1,60\n1,0,40\n0,1,30\n0,0,70\n";

static void four_cells_give_bayes_rule(void **state) {
    (void)state;
    const settings_pair pairs[] = {KNOWN, {"weights", "n"}, {"infer", "ml"}, {"errors", "hc0"}, {NULL, NULL}};
    pv_result *found = find(four, pairs);
    double with = 0.05 * 0.6 / (0.05 * 0.6 + 0.95 * 0.3), without = 0.05 * 0.4 / (0.05 * 0.4 + 0.95 * 0.7);
    near(get(found, 0, "risk_to", "value"), with, 1e-9);
    near(get(found, 0, "risk_from", "value"), without, 1e-9);
    near(get(found, 0, "difference", "value"), with - without, 1e-9);
    near(get(found, 0, "attributable", "value"), 1 - without / 0.05, 1e-9);
    near(get(found, 0, "number_needed", "value"), 1 / (with - without), 1e-5);
    /* Woolf's error, each proportion's variance with one person less: 1/60 + 1/40 becomes 1/(99 x 0.6 x 0.4) */
    near(get(found, 0, "odds_ratio", "se"), sqrt(1 / (99 * 0.24) + 1 / (99 * 0.21)), 1e-7);
    /* of everyone's mean risk, which is stated */
    near(get(found, 0, "risk", "se"), 0, 1e-12);
    pv_result_free(found);
}

/* A prevalence counted among N people has a logit of variance 1/(N pi (1 - pi)), and that is all that "risk" has. */
static void counted_prevalences_are_uncertain(void **state) {
    (void)state;
    const settings_pair pairs[] = {KNOWN, {"prevalence-n", "400"}, {"weights", "n"}, {NULL, NULL}};
    const settings_pair known[] = {KNOWN, {"weights", "n"}, {NULL, NULL}};
    pv_result *found = find(four, pairs), *certain = find(four, known);
    near(get(found, 0, "risk", "se"), sqrt(1 / (400 * 0.05 * 0.95)), 1e-9);
    assert_true(get(found, 0, "risk_to", "se") > 1.5 * get(certain, 0, "risk_to", "se"));
    near(get(found, 0, "ratio", "se"), get(certain, 0, "ratio", "se"), 2e-3); /* a rare disease cancels from it */
    pv_result_free(certain);
    pv_result_free(found);
}

/* ---- identities -------------------------------------------------------------------------------------------------- */

static const char single[] =
    "y,e,x,g\n"
    "1,1,0.5,a\n1,1,0.5,a\n1,0,1.5,b\n1,1,2.0,b\n1,0,0.1,a\n1,1,-0.4,b\n1,1,1.2,a\n1,0,0.7,b\n"
    "0,0,0.2,a\n0,1,-0.9,b\n0,1,-0.9,b\n0,0,0.8,a\n0,0,-1.1,b\n0,1,0.3,a\n0,0,0.9,b\n0,0,-0.2,a\n";
static const char counted[] =
    "y,e,x,g,n\n"
    "1,1,0.5,a,2\n1,0,1.5,b,1\n1,1,2.0,b,1\n1,0,0.1,a,1\n1,1,-0.4,b,1\n1,1,1.2,a,1\n1,0,0.7,b,1\n"
    "0,0,0.2,a,1\n0,1,-0.9,b,2\n0,0,0.8,a,1\n0,0,-1.1,b,1\n0,1,0.3,a,1\n0,0,0.9,b,1\n0,0,-0.2,a,1\n";

static void counts_are_people(void **state) {
    (void)state;
    const settings_pair rows[] = {KNOWN, {"by", "g"}, {NULL, NULL}};
    const settings_pair counts[] = {KNOWN, {"by", "g"}, {"weights", "n"}, {NULL, NULL}};
    pv_result *a = find(single, rows), *b = find(counted, counts);
    for (size_t i = 0; i < 3; i++)
        same(a, b, i, 1e-8);
    pv_result_free(a);
    pv_result_free(b);
}

/* The groups' risks have the whole as their mean, as does everyone's risk the prevalence. */
static void groups_make_up_the_whole(void **state) {
    (void)state;
    const settings_pair pairs[] = {KNOWN, {"by", "g"}, {"weighting", "1"}, {"infer", "ml"}, {NULL, NULL}};
    pv_result *found = find(single, pairs);
    near(share(found, 1) + share(found, 2), 1, 1e-12);
    for (size_t m = 0; m < 4; m++)
        near(share(found, 1) * get(found, 1, measures[m], "value") +
                 share(found, 2) * get(found, 2, measures[m], "value"),
             get(found, 0, measures[m], "value"), 1e-12);
    near(get(found, 0, "risk", "value"), 0.05, 1e-12);
    pv_result_free(found);
}

static void turning_round_turns_signs(void **state) {
    (void)state;
    const settings_pair ahead[] = {KNOWN, {NULL, NULL}};
    const settings_pair back[] = {KNOWN, {"from", "1"}, {"to", "0"}, {NULL, NULL}};
    pv_result *a = find(single, ahead), *b = find(single, back);
    near(get(a, 0, "difference", "value"), -get(b, 0, "difference", "value"), 1e-15);
    near(get(a, 0, "difference", "lo"), -get(b, 0, "difference", "hi"), 2e-6);
    near(get(a, 0, "ratio", "lo"), 1 / get(b, 0, "ratio", "hi"), 1e-9);
    near(get(a, 0, "ratio", "value"), 1 / get(b, 0, "ratio", "value"), 1e-12);
    pv_result_free(a);
    pv_result_free(b);
}

/* The difference's interval has 0 exactly where the odds ratio's has 1, at any level. */
static void difference_agrees_with_odds_ratio(void **state) {
    (void)state;
    static const char *const levels[] = {"0.5", "0.6", "0.7", "0.8", "0.9", "0.99"};
    size_t with = 0;
    for (size_t i = 0; i < 6; i++) {
        const settings_pair pairs[] = {KNOWN, {"weights", "n"}, {"interval", levels[i]}, {NULL, NULL}};
        pv_result *found = find("y,e,n\n1,1,55\n1,0,45\n0,1,45\n0,0,55\n", pairs);
        bool zero = get(found, 0, "difference", "lo") <= 0, one = get(found, 0, "odds_ratio", "lo") <= 1;
        assert_int_equal(zero, one);
        with += zero;
        pv_result_free(found);
    }
    assert_true(with > 0 && with < 6);
}

/* ---- features are made again ------------------------------------------------------------------------------------- */

/* With every column stated, the risk is the model's prediction. */
static void values_of_all_columns_give_a_prediction(void **state) {
    (void)state;
    const settings_pair pairs[] = {KNOWN, {"terms", "ns(x,2),e:x"}, {"at", "x=0.7,g=b"}, {NULL, NULL}};
    pv_result *found = find(single, pairs);
    pv_settings *settings;
    pv_classifier *c;
    pv_dataset *data;
    pv_table *table = read_text(single), *asked;
    double risk[4];
    ok(pv_fit_settings_new(ctx, &settings));
    ok(pv_settings_set(ctx, settings, "outcome", "y"));
    ok(pv_settings_set(ctx, settings, "prevalence", "0.05"));
    ok(pv_settings_set(ctx, settings, "terms", "ns(x,2),e:x"));
    ok(pv_learn_table(ctx, table, settings, &c));
    asked = read_text("e,x,g\n0,0.7,b\n1,0.7,b\n");
    ok(pv_schema_apply(ctx, pv_classifier_schema(c), asked, NULL, &data));
    pv_model_work *work;
    ok(pv_model_work_new(ctx, pv_classifier_model(c), 2, &work));
    pv_model_forward(pv_classifier_model(c), work, c->w, 2, data->x, risk);
    near(get(found, 0, "risk_from", "value"), exp(risk[1]), 1e-12);
    near(get(found, 0, "risk_to", "value"), exp(risk[3]), 1e-12);
    assert_null(pv_result_get(pv_result_child(pv_result_get(found, "effects"), 0), "attributable"));
    pv_model_work_free(ctx, work);
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, asked);
    pv_classifier_free(ctx, c);
    pv_settings_free(ctx, settings);
    pv_table_free(ctx, table);
    pv_result_free(found);
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static pv_status once_more(pv_ctx *poor) {
    pv_table *table = read_text("y,e,x,n\n1,1,1,30\n1,1,2,30\n1,0,1,20\n1,0,3,20\n0,1,2,30\n0,0,1,40\n0,0,2,30\n");
    static const settings_pair pairs[] = {
        {"outcome", "y"}, {"exposure", "e"}, {"prevalence", "0.05"}, {"weights", "n"}, {"by", "x"}};
    pv_settings *settings = NULL;
    pv_result *result = NULL;
    char *text = NULL;
    pv_status status = pv_effect_settings_new(poor, &settings);
    for (size_t i = 0; status == PV_OK && i < sizeof pairs / sizeof *pairs; i++)
        status = pv_settings_set(poor, settings, pairs[i].name, pairs[i].value);
    if (status == PV_OK)
        status = pv_effect_estimate(poor, table, settings, &result);
    if (status == PV_OK)
        status = pv_effect_text(poor, result, &text);
    pv_result_text_free(poor, text);
    pv_result_free(result);
    pv_settings_free(poor, settings);
    pv_table_free(ctx, table);
    return status;
}

static void survives_failing_allocations(void **state) {
    (void)state;
    sweep_memory(once_more);
}

/* A column that the model has as a line, and whose middle group has far more cases than a line can have: the misfit is
 * not due to the exposure, so that the fraction is at most that of a group in which everybody is exposed. */
static void misfit_of_a_group_is_not_attributed(void **state) {
    (void)state;
    static const char rows[] =
        "y,e,h,n\n1,1,1,20\n1,0,1,20\n0,1,1,40\n0,0,1,60\n1,1,2,60\n1,0,2,50\n0,1,2,10\n0,0,2,15\n"
        "1,1,3,20\n1,0,3,15\n0,1,3,40\n0,0,3,45\n";
    const settings_pair pairs[] = {KNOWN, {"weights", "n"}, {"by", "h"}, {NULL, NULL}};
    pv_result *found = find(rows, pairs);
    for (size_t i = 1; i < 4; i++) { /* after that of everyone */
        double ratio = get(found, i, "ratio", "value"), fraction = get(found, i, "attributable", "value");
        assert_true(ratio > 1 && fraction > 0 && fraction < 1 - 1 / ratio);
    }
    pv_result_free(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(survives_failing_allocations),
                                       cmocka_unit_test(misfit_of_a_group_is_not_attributed),
                                       cmocka_unit_test(four_cells_give_bayes_rule),
                                       cmocka_unit_test(counted_prevalences_are_uncertain),
                                       cmocka_unit_test(counts_are_people),
                                       cmocka_unit_test(groups_make_up_the_whole),
                                       cmocka_unit_test(turning_round_turns_signs),
                                       cmocka_unit_test(difference_agrees_with_odds_ratio),
                                       cmocka_unit_test(values_of_all_columns_give_a_prediction)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
