/* Standardised risks against R: effect.txt, made by make_effect.R. Standard errors are those of perturbed row weights,
 * which know nothing of influence functions, and of survey's jackknife; values also those of svypredmeans. */
#include "oracle_file.h"
#include "prevail/prevail.h"
#include "unit/fixture.h"

enum { MEASURES = 7, COLUMNS = 6 };
static const char *const name[MEASURES] = {"risk",  "risk_from",  "risk_to",     "difference",
                                           "ratio", "odds_ratio", "attributable"};

static pv_table *rows_of(const oracle_case *item) {
    static const char *const column[COLUMNS] = {"y", "e", "x", "g", "s", "c"};
    const double *value[COLUMNS];
    size_t rows = (size_t)oracle_number(item, "rows");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t c = 0; c < COLUMNS; c++) {
        value[c] = oracle_values(item, column[c], rows);
        fprintf(file, "%s%s", column[c], c + 1 < COLUMNS ? "," : "\n");
    }
    for (size_t i = 0; i < rows * COLUMNS; i++)
        fprintf(file, "%.17g%s", value[i % COLUMNS][i / COLUMNS], (i + 1) % COLUMNS ? "," : "\n");
    assert_int_equal(fclose(file), 0);
    return must_read(NULL);
}

static pv_table *known_of(const oracle_case *item) {
    double prevalence = oracle_number(item, "prevalence");
    char text[200];
    snprintf(text, sizeof text, "s,prevalence,share\n0,%.17g,0.6\n1,%.17g,0.4\n", prevalence, 2 * prevalence);
    return read_text(text);
}

static void set(pv_settings *settings, const char *option, const char *value) {
    ok(pv_settings_set(ctx, settings, option, value));
}

static pv_result *find(const oracle_case *item, bool linear, const char *terms) {
    char text[40];
    bool strata = oracle_number(item, "strata") > 0;
    pv_settings *settings;
    pv_result *found;
    pv_table *known = strata ? known_of(item) : NULL, *rows = rows_of(item);
    ok(pv_effect_settings_new(ctx, &settings));
    snprintf(text, sizeof text, "%.17g", oracle_number(item, "prevalence"));
    set(settings, "outcome", "y");
    set(settings, "exclude", oracle_number(item, "clusters") > 0 ? "s" : "s,c");
    if (oracle_number(item, "clusters") > 0)
        set(settings, "cluster", "c");
    if (strata) {
        set(settings, "strata", "s");
        set(settings, "prevalence-by", "known");
        pv_fit_settings_set_known(settings, known);
    } else {
        set(settings, "prevalence", text);
    }
    snprintf(text, sizeof text, "%.17g", oracle_number(item, "people"));
    if (oracle_number(item, "people") > 0)
        set(settings, "prevalence-n", text);
    if (terms)
        set(settings, "terms", terms);
    set(settings, "infer", "ml");
    set(settings, "errors", "hc0");
    set(settings, "tolerance", "1e-12");
    set(settings, "weighting", linear ? "0" : "1");
    set(settings, "exposure", "e");
    if (oracle_number(item, "by") >= 0)
        set(settings, "by", "g");
    ok(pv_effect_estimate(ctx, rows, settings, &found));
    pv_table_free(ctx, rows);
    pv_table_free(ctx, known);
    pv_settings_free(ctx, settings);
    return found;
}

/* On the scale of the interval. */
static double scaled(size_t measure, double value) {
    if (measure < 3)
        return log(value) - log1p(-value);
    return measure == 3 ? value : measure == 6 ? log1p(-value) : log(value);
}

static const pv_result *effect_of(const oracle_case *item, const pv_result *found) {
    double by = oracle_number(item, "by");
    return pv_result_child(pv_result_get(found, "effects"), by < 0 ? 0 : 1 + (size_t)by);
}

static void compare(const oracle_case *item, const pv_result *effect, const char *value, const char *error) {
    double got[MEASURES], spread[MEASURES];
    for (size_t m = 0; m < MEASURES; m++) {
        const pv_result *q = pv_result_get(effect, name[m]);
        got[m] = scaled(m, pv_result_number(pv_result_get(q, "value")));
        spread[m] = pv_result_number(pv_result_get(q, "se"));
    }
    oracle_compare(item, value, got, oracle_values(item, value, MEASURES), MEASURES, 1e-8, 0);
    oracle_compare(item, error, spread, oracle_values(item, error, MEASURES), MEASURES, 2e-6, 0);
}

static void agrees_with_perturbed_weights(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/effect.txt");
    for (size_t i = 0; i < file->count; i++) {
        const oracle_case *item = &file->item[i];
        if (strcmp(item->name, "cohort") == 0)
            continue;
        pv_result *weighted = find(item, false, "e:x"), *linear = find(item, true, "e:x");
        compare(item, effect_of(item, weighted), "weighted_value", "weighted_error");
        compare(item, effect_of(item, linear), "linear_value", "linear_error");
        pv_result_free(weighted);
        pv_result_free(linear);
    }
    oracle_file_free(file);
    oracle_finish();
}

/* Of a model without the product. */
static void agrees_with_survey(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/effect.txt");
    const oracle_case *item = oracle_find(file, "rows");
    pv_result *found = find(item, false, NULL);
    const pv_result *effect = effect_of(item, found);
    double mean[2], error[3], difference = 0;
    for (size_t m = 0; m < 3; m++) {
        const pv_result *q = pv_result_get(effect, name[m + 1]);
        double value = pv_result_number(pv_result_get(q, "value")), spread = pv_result_number(pv_result_get(q, "se"));
        *(m < 2 ? mean + m : &difference) = value;
        error[m] = m < 2 ? spread * value * (1 - value) : spread;
    }
    oracle_compare(item, "survey_mean", mean, oracle_values(item, "survey_mean", 2), 2, 1e-8, 0);
    oracle_compare(item, "survey_difference", &difference, oracle_values(item, "survey_difference", 1), 1, 1e-8, 0);
    for (size_t m = 0; m < 3; m++) /* the jackknife differs by terms of the order of 1/rows */
        oracle_compare(item, "jackknife_error", error + m, oracle_values(item, "jackknife_error", 3) + m, 1, 0.02, 0);
    pv_result_free(found);
    oracle_file_free(file);
    oracle_finish();
}

/* All of a cohort, whose counts by stratum and label are random. */
static void agrees_with_a_cohort(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/effect.txt");
    const oracle_case *item = oracle_find(file, "cohort");
    const double *n = oracle_values(item, "counts", 4);
    char text[120];
    pv_settings *settings;
    pv_result *found;
    pv_table *rows = rows_of(item), *known;
    snprintf(text, sizeof text, "s,y,count\n0,0,%.0f\n0,1,%.0f\n1,0,%.0f\n1,1,%.0f\n", n[0], n[1], n[2], n[3]);
    known = read_text(text);
    ok(pv_effect_settings_new(ctx, &settings));
    pv_fit_settings_set_known(settings, known);
    static const char *const pairs[][2] = {{"outcome", "y"},   {"strata", "s"},   {"exclude", "s,g,c"},
                                           {"infer", "ml"},    {"errors", "hc0"}, {"phase-one", "known"},
                                           {"weighting", "1"}, {"exposure", "e"}, {"tolerance", "1e-12"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        set(settings, pairs[i][0], pairs[i][1]);
    ok(pv_effect_estimate(ctx, rows, settings, &found));
    compare(item, pv_result_child(pv_result_get(found, "effects"), 0), "weighted_value", "weighted_error");
    pv_result_free(found);
    pv_settings_free(ctx, settings);
    pv_table_free(ctx, known);
    pv_table_free(ctx, rows);
    oracle_file_free(file);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_perturbed_weights),
                                       cmocka_unit_test(agrees_with_survey), cmocka_unit_test(agrees_with_a_cohort)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
