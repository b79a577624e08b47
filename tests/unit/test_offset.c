/* Offsets. A fit without a prior in which column z has coefficient b equals one with the offset b z instead, for every
 * loss and marginal, in every design. An offset that is the same everywhere changes the intercept alone. */
#include "unit/fixture.h"

enum { ROWS = 240, SITES = 2 };

typedef struct fitted {
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c;
    double coefficient[8];
} fitted;

/* x1, x2, z, y, grade of 1 to 3, site, set of three, weight; then the offsets zb and five. */
static pv_table *make_table(double b) {
    static const char *const names[] = {"x1", "x2", "z", "y", "grade", "site", "set", "w", "zb", "five"};
    enum { COLUMNS = sizeof names / sizeof *names };
    static double value[COLUMNS][ROWS];
    pv_table *table;
    for (size_t i = 0; i < ROWS; i++) {
        pv_rng rng = pv_rng_stream(11, 1, i);
        size_t set = i / 3;
        double x1 = pv_rng_normal(&rng), x2 = 3 + 2 * pv_rng_normal(&rng), z = 2 + pv_rng_normal(&rng);
        double u = pv_rng_uniform(&rng), eta = 0.7 * x1 - 0.3 * x2 + 0.9 * z - 1 + log(u) - log1p(-u);
        const double row[COLUMNS] = {
            x1,    x2, z, eta > 0, eta > 1 ? 3 : eta > 0 ? 2 : 1, (double)(i % SITES), (double)set, 1 + (double)(i % 3),
            b * z, 5};
        for (size_t c = 0; c < COLUMNS; c++)
            value[c][i] = row[c];
    }
    ok(pv_table_new(ctx, "rows", ROWS, &table));
    for (size_t c = 0; c < COLUMNS; c++)
        ok(pv_table_add_numbers(ctx, table, names[c], PV_ARRAY_F64, value[c], PV_PACKED, NULL, true));
    return table;
}

static fitted fit_to(const pv_table *table, pv_roles roles, const char *offset, const char *features,
                     const pv_fit_options *options) {
    fitted f = {0};
    roles.offset = offset;
    roles.features = features;
    ok(pv_schema_learn(ctx, table, &roles, &f.schema, &f.data));
    ok(pv_fit(ctx, f.schema, f.data, options, &f.c));
    ok(pv_classifier_coefficients(ctx, f.c, f.coefficient));
    return f;
}

static void release(fitted *f) {
    pv_classifier_free(ctx, f->c);
    pv_dataset_free(ctx, f->data);
    pv_schema_free(ctx, f->schema);
}

/* Probabilities [ROWS][classes] in a population. */
static void predict(const fitted *f, const char *population, double *p) {
    pv_prediction *said;
    ok(pv_predict_in(ctx, f->c, f->data, population, NULL, &said));
    memcpy(p, said->p, ROWS * (size_t)f->c->schema->classes * sizeof *p);
    pv_prediction_free(ctx, said);
}

/* Both fits have the same linear predictor, and the same predictions for every row. */
static void check_restricted(pv_roles roles, const pv_fit_options *options, bool risks) {
    pv_table *table = make_table(0);
    fitted whole = fit_to(table, roles, NULL, "x1,x2,z", options);
    size_t last = pv_model_params(whole.c->model) - 1;
    double b = whole.coefficient[last], p[3 * ROWS], q[3 * ROWS];
    assert_true(fabs(b) > 0.1);
    pv_table_free(ctx, table);
    table = make_table(b);
    fitted part = fit_to(table, roles, "zb", "x1,x2", options);
    assert_int_equal(pv_model_params(part.c->model), last);
    assert_int_equal(pv_classifier_features(part.c), 2);
    assert_string_equal(pv_classifier_feature(part.c, 0), "x1");
    assert_string_equal(pv_classifier_offset(part.c), "zb");
    for (size_t i = pv_classifier_is_relative(part.c); i < last; i++) /* matched sets have no intercept */
        CHECK_NEAR(part.coefficient[i], whole.coefficient[i], 2e-6);
    size_t classes = (size_t)part.c->schema->classes;
    for (int other = 0; risks && other < 2; other++) {
        const char *where = !other ? "design" : classes == 2 ? "known:0.2" : "known:0.2,0.3,0.5";
        predict(&whole, where, p);
        predict(&part, where, q);
        for (size_t i = 0; i < classes * ROWS; i++)
            CHECK_NEAR(q[i], p[i], 1e-6);
    }
    release(&whole);
    release(&part);
    pv_table_free(ctx, table);
}

static pv_fit_options exactly(int loss, const char *prevalence) {
    pv_fit_options options = pv_fit_options_default();
    options.loss = loss;
    options.infer = PV_INFER_ML;
    options.tolerance = 1e-12;
    options.prevalence = prevalence;
    options.match = PV_MATCH_NONE;
    options.weighting = "0";
    return options;
}

static void is_a_column_of_known_slope(void **state) {
    (void)state;
    const pv_roles roles = {.target = "y"}, counts = {.target = "y", .weights = "w"};
    pv_fit_options options = exactly(PV_LOSS_PLAIN, NULL);
    check_restricted(roles, &options, true);
    check_restricted(counts, &options, true);
    options.model = "ordinal";
    check_restricted((pv_roles){.target = "grade"}, &options, true);
    options = exactly(PV_LOSS_IG, "0.05");
    check_restricted(roles, &options, true);
    options.weighting = "1";
    options.errors = PV_ERRORS_HC0; /* the bias correction depends on the number of slopes */
    check_restricted(roles, &options, true);
    options = exactly(PV_LOSS_IG, "0.05");
    options.prevalence_n = "300";
    check_restricted(counts, &options, true);
    options.marginal = PV_MARGINAL_PLUGIN;
    check_restricted(roles, &options, true);
    options = exactly(PV_LOSS_IW, "0.05");
    check_restricted(roles, &options, true);
    options = exactly(PV_LOSS_MATCHED, NULL);
    check_restricted((pv_roles){.target = "y", .matched = "set"}, &options, false);
}

static void goes_with_strata(void **state) {
    (void)state;
    static const char known[] = "site,share,prevalence\n0,0.7,0.02\n1,0.3,0.1\n";
    put(known, sizeof known - 1);
    pv_fit_options options = exactly(PV_LOSS_IG, NULL);
    options.prevalence_by = path;
    check_restricted((pv_roles){.target = "y", .strata = "site", .exclude = "site"}, &options, true);
}

/* A constant offset: the intercept is lower by it, and nothing else changes in estimates, errors and draws. */
static void check_constant(const pv_fit_options *options, double tolerance) {
    pv_table *table = make_table(0);
    const pv_roles roles = {.target = "y"};
    fitted without = fit_to(table, roles, NULL, "x1,x2", options),
           with = fit_to(table, roles, "five", "x1,x2", options);
    pv_summary *a, *b;
    ok(pv_classifier_summary(ctx, without.c, 0.9, &a));
    ok(pv_classifier_summary(ctx, with.c, 0.9, &b));
    assert_int_equal(a->terms, b->terms);
    for (size_t i = 0; i < a->terms; i++) {
        const pv_spread *left = &a->coefficient[i].value, *right = &b->coefficient[i].value;
        assert_string_equal(a->coefficient[i].name, b->coefficient[i].name);
        CHECK_NEAR(right->mean, left->mean - (i == 0 ? 5 : 0), tolerance);
        if (!isnan(left->sd))
            CHECK_NEAR(right->sd, left->sd, tolerance);
        assert_int_equal(isnan(left->sd), isnan(right->sd));
    }
    double p[2 * ROWS], q[2 * ROWS];
    predict(&without, "known:0.2", p);
    predict(&with, "known:0.2", q);
    for (size_t i = 0; i < 2 * ROWS; i++)
        CHECK_NEAR(q[i], p[i], tolerance);
    pv_summary_free(ctx, a);
    pv_summary_free(ctx, b);
    release(&without);
    release(&with);
    pv_table_free(ctx, table);
}

static void a_constant_moves_the_intercept(void **state) {
    (void)state;
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    check_constant(&options, 1e-6);
    options.infer = PV_INFER_ROBUST;
    check_constant(&options, 1e-6);
    options.infer = PV_INFER_LAPLACE;
    options.prevalence_n = "300";
    check_constant(&options, 1e-5);
    options.infer = PV_INFER_HMC;
    options.draws = options.warmup = 600;
    check_constant(&options, 0.1);
    options.infer = PV_INFER_VI;
    options.components = 1;
    check_constant(&options, 0.1);
    options = pv_fit_options_default();
    options.prevalence = "0.05";
    options.prevalence_n = "300";
    options.batch = "60";
    options.epochs = 4;
    check_constant(&options, 1e-6);
    options.marginal = PV_MARGINAL_AUXILIARY_LINEAR;
    check_constant(&options, 1e-6);
}

/* Saved and loaded: the column is still required, with the same effect. */
static void is_kept_in_files(void **state) {
    (void)state;
    pv_table *table = make_table(0.9);
    pv_fit_options options = exactly(PV_LOSS_IG, "0.05");
    fitted f = fit_to(table, (pv_roles){.target = "y"}, "zb", "x1,x2", &options);
    double p[2 * ROWS], q[2 * ROWS];
    predict(&f, "true", p);
    ok(pv_classifier_save(ctx, f.c, path));
    pv_classifier_free(ctx, f.c);
    ok(pv_classifier_load(ctx, path, &f.c));
    assert_string_equal(pv_classifier_offset(f.c), "zb");
    predict(&f, "true", q);
    assert_memory_equal(p, q, sizeof p);
    release(&f);
    pv_table_free(ctx, table);
}

static pv_status learn(const pv_table *table, pv_roles roles) {
    pv_schema *schema = NULL;
    pv_dataset *data = NULL;
    pv_status status = pv_schema_learn(ctx, table, &roles, &schema, &data);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    return status;
}

static void has_one_part(void **state) {
    (void)state;
    pv_table *table = make_table(1);
    static const struct {
        pv_roles roles;
        const char *part;
    } refused[] = {
        {{.target = "y", .offset = "y"}, "is the outcome"},
        {{.target = "y", .offset = "w", .weights = "w"}, "is the column of weights"},
        {{.target = "y", .offset = "site", .group = "site"}, "is the column of groups"},
        {{.target = "y", .offset = "set", .id = "set"}, "is the column of ids"},
        {{.target = "y", .offset = "z", .features = "x1,z"}, "is named in `features` as well"},
        {{.target = "y", .offset = "z", .terms = "z,log(w)"}, "is the offset"},
        {{.target = "y", .offset = "no"}, "no column 'no'"},
        {{.target = "y", .offset = "z", .exclude = "x1,x2,grade,site,set,w,zb,five", .constant = PV_CONSTANT_REFUSE},
         "no column is left"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_not_equal(learn(table, refused[i].roles), PV_OK);
        says(refused[i].part);
    }
    pv_table_free(ctx, table);
}

static void is_for_one_log_odds(void **state) {
    (void)state;
    pv_table *table = make_table(1);
    pv_fit_options options = exactly(PV_LOSS_PLAIN, NULL);
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c;
    ok(pv_schema_learn(ctx, table, &(pv_roles){.target = "grade", .offset = "z", .features = "x1,x2"}, &schema, &data));
    assert_int_equal(pv_fit(ctx, schema, data, &options, &c), PV_ERR_USAGE);
    says("3 labels have 2: choose `model=ordinal`");
    options.model = "mlp:4";
    options.infer = PV_INFER_MAP;
    assert_int_equal(pv_fit(ctx, schema, data, &options, &c), PV_ERR_USAGE);
    says("is for `model=linear`, additive and ordinal");
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
}

/* Missing cells of an offset are not filled in. */
static void is_never_filled_in(void **state) {
    (void)state;
    pv_table *table = read_text("x,o,y\n1,2,0\n2,,1\n3,1,0\n2,4,1\n5,1,1\n");
    assert_int_equal(learn(table, (pv_roles){.target = "y", .offset = "o", .missing = PV_MISSING_IMPUTE}),
                     PV_ERR_INPUT);
    says("'o' is missing here");
    assert_null(strstr(pv_ctx_error(ctx)->message, "impute"));
    ok(learn(table, (pv_roles){.target = "y", .offset = "o", .missing = PV_MISSING_DROP}));
    pv_table_free(ctx, table);
}

/* A copy of a feature is not collinear, and is not reported as a leak. */
static void is_no_feature(void **state) {
    (void)state;
    pv_table *table = read_text("x,o,y\n1,1,0\n2,2,1\n3,3,0\n2,2,1\n5,5,1\n4,4,0\n");
    ok(learn(table, (pv_roles){.target = "y", .offset = "o", .collinear = PV_COLLINEAR_REFUSE}));
    assert_int_not_equal(learn(table, (pv_roles){.target = "y", .collinear = PV_COLLINEAR_REFUSE}), PV_OK);
    pv_table_free(ctx, table);
}

/* In every fold it is used unchanged, whatever the fold's means. */
static void is_in_folds(void **state) {
    (void)state;
    pv_table *table = make_table(0.9);
    fitted f = {0};
    ok(pv_schema_learn(ctx, table, &(pv_roles){.target = "y", .offset = "zb", .features = "x1,x2"}, &f.schema,
                       &f.data));
    size_t row[ROWS / 2];
    for (size_t i = 0; i < ROWS / 2; i++)
        row[i] = 2 * i;
    pv_dataset *taken;
    pv_schema *scaled;
    pv_fit_options options = exactly(PV_LOSS_PLAIN, NULL);
    ok(pv_dataset_take(ctx, f.data, ROWS / 2, row, &taken));
    ok(pv_schema_rescale(ctx, f.schema, taken, &scaled));
    assert_true(scaled->offset && scaled->source[0].sd == 1);
    assert_true(scaled->source[0].mean != f.schema->source[0].mean);
    double coefficient[2][3];
    for (int i = 0; i < 2; i++) {
        pv_classifier *c;
        if (i == 1)
            pv_dataset_rescale(f.schema, scaled, taken);
        ok(pv_fit(ctx, i ? scaled : f.schema, taken, &options, &c));
        ok(pv_classifier_coefficients(ctx, c, coefficient[i]));
        pv_classifier_free(ctx, c);
    }
    for (size_t j = 0; j < 3; j++)
        CHECK_NEAR(coefficient[1][j], coefficient[0][j], 1e-8);
    pv_schema_free(ctx, scaled);
    pv_dataset_free(ctx, taken);
    release(&f);
    pv_table_free(ctx, table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_a_column_of_known_slope),
                                       cmocka_unit_test(goes_with_strata),
                                       cmocka_unit_test(a_constant_moves_the_intercept),
                                       cmocka_unit_test(is_kept_in_files),
                                       cmocka_unit_test(has_one_part),
                                       cmocka_unit_test(is_for_one_log_odds),
                                       cmocka_unit_test(is_never_filled_in),
                                       cmocka_unit_test(is_no_feature),
                                       cmocka_unit_test(is_in_folds)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
