/* The product of models or probabilities, populations, methods, intervals and the joint posterior, on 40 rows: each
 * combination is rejected as wrong usage, or gives probabilities. */
#include <math.h>

#include "fixture.h"

enum { ROWS = 40 };

typedef struct kind {
    const char *name;
    pv_roles roles;
    const char *prevalence, *model;
    double subcohort;
    int loss, marginal, infer;
    size_t predicts; /* how many combinations: a rule that is lost, or rejects too much, shows */
} kind;

#define PLAIN_ROLES                                                                                                    \
    { .features = "a,b", .target = "y" }
#define STRATA_ROLES                                                                                                   \
    { .features = "a,b", .target = "y", .strata = "stratum" }
static const kind kinds[] = {
    {"a point", PLAIN_ROLES, "0.1", "linear", 0, PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP, 33},
    {"no prevalence", PLAIN_ROLES, NULL, "linear", 0, PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, PV_INFER_MAP, 25},
    {"a network", PLAIN_ROLES, "0.1", "mlp:2", 0, PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP, 21},
    {"draws", PLAIN_ROLES, "0.1", "linear", 0, PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_LAPLACE, 38},
    {"draws of one p(x)", PLAIN_ROLES, "0.1", "linear", 0, PV_LOSS_IG, PV_MARGINAL_PLUGIN, PV_INFER_LAPLACE, 66},
    {"strata", STRATA_ROLES, NULL, "linear", 0.3, PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP, 33},
    {"draws in strata", STRATA_ROLES, NULL, "linear", 0.3, PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_LAPLACE, 38},
    {"matched sets",
     {.features = "a,b", .target = "y", .matched = "set"},
     NULL,
     "linear",
     0,
     PV_LOSS_MATCHED,
     PV_MARGINAL_PROFILE,
     PV_INFER_MAP,
     0},
    {"a mixture", PLAIN_ROLES, "0.1", "auto", 0, PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP, 21},
};
static const char *const populations[] = {"true", "design", "known:0.2", "unknown", "counts:20,20"};
enum { POPULATIONS = sizeof populations / sizeof *populations };

static void write_table(void) {
    char text[4000], *end = text + sprintf(text, "a,b,y,stratum,set\n");
    for (int i = 0; i < ROWS; i++) {
        int y = i % 2;
        double a = sin(1.7 * i) + 0.3 * y, b = cos(2.9 * i + 1) - 0.2 * y;
        end += sprintf(end, "%.4f,%.4f,%d,%s,m%d\n", a, b, y, i / 2 % 2 ? "north" : "south", i / 2);
    }
    put(text, (size_t)(end - text));
}

static pv_classifier *fit(const kind *of, const pv_schema *schema, const pv_dataset *data) {
    pv_fit_options o = pv_fit_options_default();
    pv_classifier *classifier;
    o.loss = of->loss;
    o.marginal = of->marginal;
    o.infer = of->infer;
    o.model = of->model;
    o.prevalence = of->prevalence;
    o.prevalence_n = of->marginal == PV_MARGINAL_PLUGIN ? "50" : "auto";
    o.subcohort = of->subcohort;
    o.candidates = "linear";
    o.max_iter = 50;
    o.draws = 16;
    ok(pv_fit(ctx, schema, data, &o, &classifier));
    return classifier;
}

/* Whether the combination was predicted; made is what it gave. */
static bool outcome(const char *name, const char *population, const pv_predict_options *o, int method, pv_status status,
                    pv_prediction *made) {
    if (status != PV_OK && status != PV_ERR_USAGE)
        fail_msg("%s, %s, level %g, joint %d, method %d: %s", name, population, o->level, o->joint, method,
                 pv_ctx_message(ctx));
    for (size_t i = 0; status == PV_OK && i < made->rows; i++) {
        near(made->p[2 * i] + made->p[2 * i + 1], 1, 1e-9);
        assert_true(!made->lo || made->lo[2 * i] <= made->hi[2 * i]);
    }
    assert_true(status != PV_OK || !made->lo == !(o->level > 0));
    pv_prediction_free(ctx, made);
    return status == PV_OK;
}

/* The i-th of 16 combinations of a level, a joint posterior and a method. */
enum { WAYS = 16 };
static pv_predict_options way(int i, int *method) {
    static const int methods[] = {PV_UNKNOWN_BINS, PV_UNKNOWN_EXACT, PV_UNKNOWN_EM, PV_UNKNOWN_BBSE};
    pv_predict_options o = pv_predict_options_default();
    o.level = i % 2 ? 0.9 : 0;
    o.joint = i / 2 % 2;
    *method = methods[i / 4];
    return o;
}

static void every_model(void **state) {
    (void)state;
    write_table();
    for (size_t m = 0; m < sizeof kinds / sizeof *kinds; m++) {
        const kind *of = &kinds[m];
        size_t predicted = 0;
        pv_schema *schema;
        pv_dataset *data;
        pv_table *table = must_read(&(pv_csv_options){.roles = &of->roles});
        ok(pv_schema_learn(ctx, table, &of->roles, &schema, &data));
        pv_classifier *classifier = fit(of, schema, data);
        for (int p = 0; p < POPULATIONS; p++)
            for (int i = 0; i < WAYS; i++) {
                pv_unknown_options how = pv_unknown_options_default();
                const pv_predict_options o = way(i, &how.method);
                pv_population *population;
                pv_prediction *made = NULL;
                pv_status status = pv_population_new(ctx, classifier, populations[p], &how, &population);
                if (status == PV_OK)
                    status = pv_predict(ctx, classifier, data, population, &o, &made);
                predicted += outcome(of->name, populations[p], &o, how.method, status, made);
                pv_population_free(ctx, population);
            }
        print_message("%s: %zu of %d predicted\n", of->name, predicted, POPULATIONS * WAYS);
        assert_int_equal(predicted, of->predicts);
        pv_classifier_free(ctx, classifier);
        pv_dataset_free(ctx, data);
        pv_schema_free(ctx, schema);
        pv_table_free(ctx, table);
    }
}

static size_t adjust(bool strata, const double *from) {
    static const char *const labels[] = {"no", "yes"}, *const names[] = {"south", "north"};
    static const double each[] = {0.5, 0.5, 0.6, 0.4};
    double p[2 * ROWS];
    int32_t stratum[ROWS];
    size_t predicted = 0;
    for (int i = 0; i < ROWS; i++) {
        p[2 * i + 1] = 0.5 + 0.4 * sin(1.7 * i);
        p[2 * i] = 1 - p[2 * i + 1];
        stratum[i] = i % 2;
    }
    pv_probs *probs;
    ok(pv_probs_new(ctx, ROWS, labels, 2, 2, p, NULL, NULL, &probs));
    if (strata)
        ok(pv_probs_strata_set(ctx, probs, 2, names, stratum, each));
    for (int q = 0; q < POPULATIONS; q++)
        for (int i = 0; i < WAYS; i++) {
            pv_unknown_options how = pv_unknown_options_default();
            const pv_predict_options o = way(i, &how.method);
            pv_population *population;
            pv_prediction *made = NULL;
            pv_status status = pv_population_of_probs(ctx, probs, from, populations[q], &how, &population);
            if (status == PV_OK)
                status = pv_predict_probs(ctx, probs, from, population, &o, &made);
            predicted += outcome(strata ? "strata" : "probabilities", populations[q], &o, how.method, status, made);
            pv_population_free(ctx, population);
        }
    pv_probs_free(ctx, probs);
    return predicted;
}

static void every_adjustment(void **state) {
    (void)state;
    static const double from[] = {0.5, 0.5};
    assert_int_equal(adjust(false, from), 17);
    assert_int_equal(adjust(false, NULL), 4);
    assert_int_equal(adjust(true, NULL), 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_model), cmocka_unit_test(every_adjustment)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
