/* Functions for bindings: constant columns, another model's probabilities in arrays, a population sample in memory,
 * which label is the positive one. */
#include "fixture.h"
#include "prevail/judge.h"

/* ---- constant columns -------------------------------------------------------------------------------------------- */

static const char table_text[] = "a,b,c,d,y\n1,2,x,5,0\n3,2,x,4,1\n2,2,x,7,0\n5,2,x,1,1\n";

static pv_status learn(const pv_roles *roles, pv_schema **schema, pv_dataset **data) {
    pv_table *table = read_text(table_text);
    pv_status status = pv_schema_learn(ctx, table, roles, schema, data);
    pv_table_free(ctx, table);
    return status;
}

static void test_constant(void **state) {
    (void)state;
    pv_roles roles = {.target = "y", .constant = PV_CONSTANT_REFUSE};
    pv_schema *schema;
    pv_dataset *data;
    assert_int_equal(learn(&roles, &schema, &data), PV_ERR_INPUT);
    says("same value in every row: b, c");
    roles.constant = PV_CONSTANT_DROP;
    ok(learn(&roles, &schema, &data));
    assert_int_equal(schema->sources, 2);
    assert_int_equal(data->features, 2);
    assert_string_equal(schema->feature[0], "a");
    assert_string_equal(schema->feature[1], "d");
    near(data->x[1], (5 - 4.25) / sqrt((0.5625 + 0.0625 + 7.5625 + 10.5625) / 4), 1e-15);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    roles.terms = "a:b"; /* a term uses it */
    assert_int_equal(learn(&roles, &schema, &data), PV_ERR_INPUT);
    says("same value in every row: b");
    roles.terms = NULL;
    roles.features = "b,c"; /* only an intercept is left */
    ok(learn(&roles, &schema, &data));
    assert_int_equal(data->features, 0);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
}

/* ---- the positive label ------------------------------------------------------------------------------------------ */

static void test_positive(void **state) {
    (void)state;
    static const struct {
        const char *labels[2];
        int positive;
    } pair[] = {{{"0", "1"}, 1},  {{"1", "0"}, 0},          {{"10", "9.5"}, -1},          {{"1", "2"}, -1},
                {{"-1", "1"}, 1}, {{"case", "control"}, 0}, {{"benign", "Malignant"}, 1}, {{"no", "yes"}, 1},
                {{"a", "b"}, -1}, {{"1", "b"}, -1}};
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        assert_int_equal(pv_labels_positive(pair[i].labels), pair[i].positive);
}

/* ---- probabilities ----------------------------------------------------------------------------------------------- */

static const char *const labels[] = {"no", "yes"};
static const double p[] = {0.9, 0.1, 0.6, 0.4, 0.25, 0.75, 0.5, 0.5, 0.2, 0.8};
static const double last[] = {0.1, 0.4, 0.75, 0.5, 0.8};
static const int32_t seen[] = {0, 0, 1, 0, 1};
static const double weight[] = {1, 2, 1, 0, 1};

static pv_probs *from_file(void) {
    static const char text[] = "p__no,p__yes,ill,w\n0.9,0.1,no,1\n0.6,0.4,no,2\n0.25,0.75,yes,1\n0.5,0.5,no,0\n"
                               "0.2,0.8,yes,1\n";
    const pv_probs_options options = {.target = "ill", .weights = "w"};
    pv_probs *probs;
    put(text, sizeof text - 1);
    ok(pv_probs_read(ctx, path, &options, &probs));
    return probs;
}

/* Evaluation of the probabilities, made for prevalence 0.3, in a population with 0.05. */
static pv_judgement *judged(const pv_probs *probs) {
    const double from[] = {0.7, 0.3};
    const pv_predict_options wanted = {.likelihood = true};
    pv_judge_options options = pv_judge_options_default();
    pv_population *population;
    pv_prediction *said;
    pv_judgement *made;
    ok(pv_population_of_probs(ctx, probs, from, "known:0.05", NULL, &population));
    ok(pv_predict_probs(ctx, probs, from, population, &wanted, &said));
    options.stated_for = "population";
    options.bootstrap = 20;
    ok(pv_judge(ctx, probs->data, probs->labels, said, &options, &made));
    pv_prediction_free(ctx, said);
    pv_population_free(ctx, population);
    return made;
}

/* From arrays, with one column per label or only the last, compared with a file of the same content. */
static void test_arrays(void **state) {
    (void)state;
    pv_probs *probs[3] = {from_file()};
    pv_judgement *made[3];
    ok(pv_probs_new(ctx, 5, labels, 2, 2, p, seen, weight, &probs[1]));
    ok(pv_probs_new(ctx, 5, labels, 2, 1, last, seen, weight, &probs[2]));
    for (int i = 0; i < 3; i++)
        made[i] = judged(probs[i]);
    for (const pv_metric_row *row = pv_metric_table; row->name; row++)
        for (int i = 1; i < 3; i++) {
            double wanted = pv_metric_get(&made[0]->found.value, row), got = pv_metric_get(&made[i]->found.value, row);
            if (!isnan(wanted) || !isnan(got))
                near(got, wanted, 1e-14);
        }
    for (int i = 0; i < 3; i++) {
        pv_judgement_free(ctx, made[i]);
        pv_probs_free(ctx, probs[i]);
    }
}

static void refuse(size_t n, int width, const double *given, const int32_t *label, const double *w, const char *part) {
    pv_probs *probs;
    assert_true(pv_probs_new(ctx, n, labels, 2, width, given, label, w, &probs) != PV_OK);
    assert_null(probs);
    says(part);
}

static void test_bad_arrays(void **state) {
    (void)state;
    refuse(0, 2, p, NULL, NULL, "0 rows");
    refuse(2, 3, p, NULL, NULL, "3 probabilities for 2 labels");
    refuse(1, 1, (double[]){30}, NULL, NULL, "30 in row 1 is not a probability: it must lie between 0 and 1; divide");
    refuse(2, 1, (double[]){0.5, -2}, NULL, NULL, "row 2");
    refuse(1, 1, (double[]){(double)NAN}, NULL, NULL, "not a probability");
    refuse(1, 2, (double[]){0.5, 0.6}, NULL, NULL, "add up to 1.1");
    refuse(1, 1, last, (int32_t[]){2}, NULL, "row 1: 2 is not the number of one of 2 labels");
    refuse(1, 1, last, (int32_t[]){-1}, NULL, "-1 is not");
    refuse(1, 1, last, NULL, (double[]){-1}, "a weight of -1");
    refuse(1, 1, last, NULL, (double[]){0}, "all weights are 0");
}

/* ---- report of an evaluation ------------------------------------------------------------------------------------- */

static pv_status write_page(pv_ctx *poor) {
    const pv_report_options options = {.page = path, .title = "A <title>"};
    const pv_predict_options wanted = {.likelihood = true};
    const double from[] = {0.7, 0.3};
    pv_judge_options how = pv_judge_options_default();
    pv_probs *probs = NULL;
    pv_prediction *said = NULL;
    pv_judgement *made = NULL;
    how.bootstrap = 5;
    pv_status status = pv_probs_new(poor, 5, labels, 2, 2, p, seen, weight, &probs);
    if (status == PV_OK)
        status = pv_predict_probs(poor, probs, from, NULL, &wanted, &said);
    if (status == PV_OK)
        status = pv_judge(poor, probs->data, probs->labels, said, &how, &made);
    if (status == PV_OK)
        status = pv_judgement_report(poor, made, "ill", how.level, &options);
    pv_judgement_free(poor, made);
    pv_prediction_free(poor, said);
    pv_probs_free(poor, probs);
    return status;
}

static void test_page(void **state) {
    (void)state;
    static char page[1 << 20];
    sweep_memory(write_page);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    assert_memory_equal(page, PV_REPORT_BEGINS, sizeof PV_REPORT_BEGINS - 1);
    assert_non_null(strstr(page, "A &lt;title&gt;"));
    assert_non_null(strstr(page, "Net benefit at each threshold"));
    assert_non_null(strstr(page, "calibration_ratio*"));
    assert_null(strstr(page, "<title>A <"));
    char shown[100];
    char *const ones[] = {"0", "1"};
    const pv_report_judged named = {.labels = ones, .target = "ill"};
    assert_string_equal(pv_report_label(&named, 1, shown, sizeof shown), "ill = 1");
}

/* Every allocation fails in turn. */
static pv_status make_probs(pv_ctx *failing) {
    pv_probs *probs = NULL;
    pv_status status = pv_probs_new(failing, 5, labels, 2, 2, p, seen, weight, &probs);
    pv_probs_free(failing, probs);
    return status;
}

/* A table to predict with a schema built by hand. */
static pv_status make_rows(pv_ctx *failing) {
    static const char *const feature[] = {"x"};
    static const double x[] = {1, 2, (double)NAN};
    pv_schema *schema = NULL;
    pv_table *table = NULL;
    pv_dataset *data = NULL;
    pv_status status = pv_schema_new(failing, "y", labels, 2, feature, 1, &schema);
    if (status == PV_OK)
        status = pv_table_new(failing, "memory", 3, &table);
    if (status == PV_OK)
        status = pv_table_add_numbers(failing, table, "x", PV_ARRAY_F64, x, PV_PACKED, NULL, true);
    if (status == PV_OK) {
        schema->missing = PV_MISSING_IMPUTE;
        status = pv_dataset_of_table(failing, schema, table, &data);
    }
    if (status == PV_OK)
        assert_true(data->rows == 3 && data->x[1] == 2 && data->x[2] == 0); /* the mean, which is 0 here */
    pv_dataset_free(failing, data);
    pv_table_free(failing, table);
    pv_schema_free(failing, schema);
    return status;
}

static void test_lack_of_memory(void **state) {
    (void)state;
    sweep_memory(make_rows);
    sweep_memory(make_probs);
}

/* ---- a population sample ----------------------------------------------------------------------------------------- */

enum { ROWS = 40, PEOPLE = 30 };

static pv_table *numbers(size_t rows, double shift, bool labelled) {
    double x[ROWS], y[ROWS];
    for (size_t i = 0; i < rows; i++) {
        y[i] = (double)(i % 2);
        x[i] = sin((double)i * 1.7) + shift * y[i];
    }
    pv_table *table;
    ok(pv_table_new(ctx, "memory", rows, &table));
    ok(pv_table_add_numbers(ctx, table, "x", PV_ARRAY_F64, x, PV_PACKED, NULL, false));
    if (labelled)
        ok(pv_table_add_numbers(ctx, table, "y", PV_ARRAY_F64, y, PV_PACKED, NULL, false));
    return table;
}

/* The same as pv_fit with the sample in its options. */
static void test_sampled(void **state) {
    (void)state;
    pv_table *table = numbers(ROWS, 0.8, true), *people = numbers(PEOPLE, 0, false);
    pv_settings *settings;
    pv_classifier *learned, *fitted;
    ok(pv_fit_settings_new(ctx, &settings));
    ok(pv_settings_set(ctx, settings, "outcome", "y"));
    ok(pv_settings_set(ctx, settings, "loss", "ig"));
    assert_int_equal(pv_learn_table(ctx, table, settings, &learned), PV_ERR_USAGE); /* no prevalence */
    ok(pv_learn_sampled(ctx, table, people, settings, &learned));
    assert_true(learned->estimated);
    const pv_roles roles = {.target = "y"};
    pv_schema *schema;
    pv_dataset *data, *sample;
    pv_fit_options options = pv_fit_options_default();
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    ok(pv_schema_apply(ctx, schema, people, NULL, &sample));
    options.sample = sample;
    ok(pv_fit(ctx, schema, data, &options, &fitted));
    for (int k = 0; k < 2; k++) {
        same_bits(learned->w[k], fitted->w[k]);
        same_bits(learned->prevalence[k], fitted->prevalence[k]);
    }
    pv_classifier_free(ctx, learned);
    pv_classifier_free(ctx, fitted);
    pv_dataset_free(ctx, sample);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_settings_free(ctx, settings);
    pv_table_free(ctx, people);
    pv_table_free(ctx, table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_constant),       cmocka_unit_test(test_positive),
                                       cmocka_unit_test(test_arrays),         cmocka_unit_test(test_bad_arrays),
                                       cmocka_unit_test(test_lack_of_memory), cmocka_unit_test(test_page),
                                       cmocka_unit_test(test_sampled)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
