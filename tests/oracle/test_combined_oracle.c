/* The efficient, the weighted and the combined estimate compared with NumPy: tests/oracle/combined.txt, made by
 * make_combined.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/oracle_file.h"
#include "prevail/infer.h"

/* Roles and options of each case. */
typedef struct study {
    const char *name, *outcome, *weights, *cluster, *strata;
    pv_weights_kind kind;
    int errors;
    const char *features; /* NULL: all columns */
    double observations;  /* behind the prevalence, with a population sample; 0: none, INFINITY: known */
} study;

static const study studies[] = {
    {"two", "y2", NULL, NULL, NULL, PV_WEIGHTS_AUTO, PV_ERRORS_AUTO, NULL, 0},
    {"two_prior", "y2", NULL, NULL, NULL, PV_WEIGHTS_AUTO, PV_ERRORS_AUTO, NULL, 0},
    {"two_counts", "y2", "count", NULL, NULL, PV_WEIGHTS_COUNTS, PV_ERRORS_AUTO, NULL, 0},
    {"two_sampling", "y2", "sampling", NULL, NULL, PV_WEIGHTS_SAMPLING, PV_ERRORS_AUTO, NULL, 0},
    {"two_clusters", "y2", NULL, "cluster", NULL, PV_WEIGHTS_AUTO, PV_ERRORS_AUTO, NULL, 0},
    {"two_hc0", "y2", NULL, NULL, NULL, PV_WEIGHTS_AUTO, PV_ERRORS_HC0, NULL, 0},
    {"three", "y3", NULL, NULL, NULL, PV_WEIGHTS_AUTO, PV_ERRORS_AUTO, NULL, 0},
    {"strata", "y2", NULL, NULL, "stratum", PV_WEIGHTS_AUTO, PV_ERRORS_AUTO, NULL, 0},
    {"controls", "y2", "count", NULL, NULL, PV_WEIGHTS_COUNTS, PV_ERRORS_AUTO, "x1,x2", INFINITY},
    {"controls_counted", "y2", "count", NULL, NULL, PV_WEIGHTS_COUNTS, PV_ERRORS_AUTO, "x1,x2", 2000},
    {"controls_three", "y3", "count", NULL, NULL, PV_WEIGHTS_COUNTS, PV_ERRORS_AUTO, "x1", INFINITY},
};

enum { PARAMS = 10 };

static void state_prevalence(const double *pi, size_t k, char *text, size_t size) {
    text[0] = '\0';
    for (size_t y = 0; y < k; y++)
        snprintf(text + strlen(text), size - strlen(text), "%s%.17g", y ? "," : "", pi[y]);
}

/* The file of `prevalence-by` as a table, for strata u and v. */
static pv_table *strata_of(pv_ctx *ctx, const double *pi) {
    static const char *const names[] = {"u", "v"};
    static const int32_t codes[] = {0, 1};
    const double prevalence[] = {pi[1], pi[3]}, share[] = {0.75, 0.25};
    pv_table *made;
    assert_int_equal(pv_table_new(ctx, "strata", 2, &made), PV_OK);
    assert_int_equal(pv_table_add_codes(ctx, made, "stratum", PV_ARRAY_I32, codes, PV_PACKED, 0, names, 2, NULL),
                     PV_OK);
    assert_int_equal(pv_table_add_numbers(ctx, made, "prevalence", PV_ARRAY_F64, prevalence, PV_PACKED, NULL, false),
                     PV_OK);
    assert_int_equal(pv_table_add_numbers(ctx, made, "share", PV_ARRAY_F64, share, PV_PACKED, NULL, false), PV_OK);
    return made;
}

static void compare(const oracle_case *item, const pv_classifier *c) {
    const pv_combination *m = c->combination;
    size_t P = pv_model_params(c->model), slopes = m->slopes, J = (size_t)c->schema->classes - 1;
    double df[PARAMS];
    assert_true(P <= PARAMS);
    for (size_t j = 0; j < J; j++)
        memcpy(df + j * slopes, m->df + j * (slopes + 1) + 1, slopes * sizeof *df);
    oracle_compare(item, "weighted", m->weighted, oracle_values(item, "weighted", P), P, 1e-9, 1);
    oracle_compare(item, "efficient", m->efficient, oracle_values(item, "efficient", P), P, 1e-9, 1);
    oracle_compare(item, "covariance", m->covariance, oracle_values(item, "covariance", P * P), P * P, 1e-9, 0);
    oracle_compare(item, "shares", m->share, oracle_values(item, "shares", m->terms), m->terms, 1e-9, 1);
    oracle_compare(item, "statistic", &m->statistic, oracle_values(item, "statistic", 1), 1, 1e-8, 0);
    oracle_compare(item, "df", df, oracle_values(item, "df", J * slopes), J * slopes, 1e-8, 0);
    if (item->name[0] &&
        strcmp(item->name, "two_hc0") != 0) /* there the intercept stays that of the weighted estimate */
        oracle_compare(item, "w", c->w, oracle_values(item, "w", P), P, 1e-9, 1);
}

/* With a population sample as control variates. */
static void compare_controls(const oracle_case *item, const pv_classifier *c) {
    const pv_combination *m = c->combination;
    size_t P = pv_model_params(c->model);
    assert_int_equal(m->controls, P);
    assert_int_equal(m->use, PV_ESTIMATE_WEIGHTED);
    oracle_compare(item, "weighted", c->w, oracle_values(item, "weighted", P), P, 1e-9, 1);
    oracle_compare(item, "covariance", m->covariance, oracle_values(item, "covariance", P * P), P * P, 1e-8, 0);
}

static void check(pv_ctx *ctx, const oracle_case *item, const study *s) {
    char prevalence[200], prior[40];
    size_t k = strcmp(s->outcome, "y3") == 0 ? 3 : 2, cells = s->strata ? 2 * k : k;
    const double *pi = oracle_values(item, "prevalence", cells);
    state_prevalence(pi, k, prevalence, sizeof prevalence);
    snprintf(prior, sizeof prior, "normal:%.17g", oracle_number(item, "prior"));
    pv_roles roles = {.target = s->outcome,
                      .features = s->features ? s->features : "x1,x2,g",
                      .weights = s->weights,
                      .weights_are = (int)s->kind,
                      .cluster = s->cluster,
                      .strata = s->strata};
    pv_fit_options options = pv_fit_options_default();
    pv_table *table, *known = s->strata ? strata_of(ctx, pi) : NULL;
    pv_schema *schema;
    pv_dataset *data, *people = NULL;
    pv_classifier *c;
    char observations[40];
    snprintf(observations, sizeof observations, "%.17g", s->observations);
    if (s->observations > 0 && isfinite(s->observations))
        options.prevalence_n = observations;
    options.prevalence = s->strata ? NULL : prevalence;
    options.prevalence_by = s->strata ? "strata" : NULL;
    options.known = known;
    options.prior = oracle_number(item, "prior") > 0 ? prior : "none";
    options.errors = s->errors;
    assert_int_equal(pv_table_read(ctx, PV_TEST_DIR "/oracle/combined.csv", &(pv_csv_options){.roles = &roles}, &table),
                     PV_OK);
    assert_int_equal(pv_schema_learn(ctx, table, &roles, &schema, &data), PV_OK);
    if (s->observations > 0)
        assert_int_equal(pv_sample_read(ctx, schema, data, PV_TEST_DIR "/oracle/combined_people.csv", &roles,
                                        &(pv_csv_options){0}, &people),
                         PV_OK);
    options.sample = people;
    if (pv_fit(ctx, schema, data, &options, &c) != PV_OK || !c->combination)
        fail_msg("%s: %s", s->name, pv_ctx_error(ctx)->message);
    (people ? compare_controls : compare)(item, c);
    pv_classifier_free(ctx, c);
    pv_dataset_free(ctx, people);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    pv_table_free(ctx, known);
}

static void agrees_with_numpy(void **state) {
    (void)state;
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/combined.txt");
    assert_int_equal(file->count, sizeof studies / sizeof *studies);
    for (size_t i = 0; i < file->count; i++)
        check(ctx, oracle_find(file, studies[i].name), &studies[i]);
    oracle_file_free(file);
    pv_ctx_free(ctx);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_numpy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
