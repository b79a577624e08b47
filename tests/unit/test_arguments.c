/* Mistakes of callers: each is rejected with a message that names it. And interruption, which every long function must
 * obey. */
#include "data/schema_learn.h"
#include "fixture.h"
#include "predicting.h"
#include "problem.h"

#define REFUSED(call, status, part)                                                                                    \
    do {                                                                                                               \
        assert_int_equal((call), (status));                                                                            \
        says(part);                                                                                                    \
    } while (0)

/* ---- core -------------------------------------------------------------------------------------------------------- */

static void wrong_targets(void **state) {
    (void)state;
    int32_t label[] = {0, 1, 1};
    double weight[] = {1, 1, 1}, frequency[] = {1, 0, 0.5, 0.5, 0.2, 0.8};
    pv_targets good = {.n = 3, .classes = 2, .label = label, .weight = weight}, bad = good;
    ok(pv_targets_check(ctx, &good));
    bad.classes = 1;
    REFUSED(pv_targets_check(ctx, &bad), PV_ERR_INPUT, "at least 2 classes, not 1");
    bad = good;
    bad.frequency = frequency;
    REFUSED(pv_targets_check(ctx, &bad), PV_ERR_USAGE, "either labels or label frequencies");
    bad.label = NULL;
    ok(pv_targets_check(ctx, &bad));
    frequency[4] = 0.3;
    REFUSED(pv_targets_check(ctx, &bad), PV_ERR_INPUT, "row 3: label frequencies must not be negative");
    weight[1] = -1;
    REFUSED(pv_targets_check(ctx, &good), PV_ERR_INPUT, "row 2: weight -1");
    weight[1] = 1e-320; /* its square underflows */
    REFUSED(pv_targets_check(ctx, &good), PV_ERR_INPUT, "row 2: weight 9.99989e-321; weights are 0, or from");
    weight[1] = 1e300; /* overflows */
    REFUSED(pv_targets_check(ctx, &good), PV_ERR_INPUT, "row 2: weight 1e+300");
    weight[1] = NAN;
    REFUSED(pv_targets_check(ctx, &good), PV_ERR_INPUT, "row 2: weight nan");
    weight[1] = 1e100;
    weight[2] = 1e-100;
    ok(pv_targets_check(ctx, &good));
    const double prevalence[] = {0.9, 0.1};
    pv_prevalence population = {.classes = 2, .prevalence = prevalence, .prevalence_n = -1};
    REFUSED(pv_prevalence_check(ctx, &population), PV_ERR_USAGE, "prevalence_n is -1");
}

static void wrong_losses(void **state) {
    (void)state;
    int32_t label[] = {0, 1, 1};
    double weight[] = {1, 1, 1};
    const double two[] = {0.9, 0.1}, three[] = {0.8, 0.1, 0.1};
    pv_targets targets = {.n = 3, .classes = 2, .label = label, .weight = weight};
    pv_prevalence population = {.classes = 2, .prevalence = two, .prevalence_n = 10},
                  other = {.classes = 3, .prevalence = three, .prevalence_n = 10};
    pv_full_loss *full;
    REFUSED(pv_full_loss_new(ctx, PV_LOSS_IW, PV_MARGINAL_PROFILE, &targets, NULL, &full), PV_ERR_USAGE,
            "loss iw needs the prevalence");
    REFUSED(pv_full_loss_new(ctx, PV_LOSS_IG, PV_MARGINAL_PROFILE, &targets, &other, &full), PV_ERR_USAGE,
            "has 3 classes, the data have 2");
    REFUSED(pv_full_loss_new(ctx, PV_LOSS_IG, PV_MARGINAL_AUXILIARY_LINEAR, &targets, &population, &full), PV_ERR_USAGE,
            "marginal auxiliary:linear needs minibatches");
    weight[0] = 0;
    REFUSED(pv_full_loss_new(ctx, PV_LOSS_IG, PV_MARGINAL_PLUGIN, &targets, &population, &full), PV_ERR_INPUT,
            "class 0 has a prevalence but no row");
    assert_null(full);
    pv_auxiliary *auxiliary;
    REFUSED(pv_auxiliary_new(ctx, PV_MARGINAL_PROFILE, 2, 3, NULL, two, &auxiliary), PV_ERR_USAGE,
            "marginal profile has no auxiliary network");
    /* Batches: rows of no stratum. */
    const double full_rows[] = {5, 5}, expected[] = {0.5, 0.5}, frequency[] = {1, 0, 0, 1, 0, 1};
    const int32_t stratum[] = {0, 1, 2};
    pv_batch_design design = {.sampling = {.strata = 2, .full = full_rows, .expected = expected},
                              .mass = full_rows,
                              .population = population,
                              .epoch_weight = PV_WEIGHT_COUNTED};
    double epoch[3];
    pv_targets soft = {.n = 3, .classes = 2, .frequency = frequency};
    REFUSED(pv_batch_weights(ctx, &design, &soft, NULL, epoch, NULL), PV_ERR_USAGE,
            "soft labels need the stratum each row was drawn from");
    REFUSED(pv_batch_weights(ctx, &design, &soft, stratum, epoch, NULL), PV_ERR_INPUT,
            "row 3 of the batch: stratum 2, outside 0 to 1");
    pv_model *model;
    REFUSED(pv_model_new(ctx, "linear", 3, 1, &model), PV_ERR_USAGE, "at least 2 classes");
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static void wrong_tables(void **state) {
    (void)state;
    pv_table *table = read_text("x,y\n1,0\n2,1\n");
    pv_schema *schema;
    pv_dataset *data;
    REFUSED(pv_schema_learn(ctx, table, &(pv_roles){0}, &schema, &data), PV_ERR_USAGE, "`outcome` is missing");
    pv_table_free(ctx, table);
    pv_simulation within = {.rows = 10, .cases = -1, .controls = -1, .prevalence = 0.5, .within = "age", .high = 99};
    within.within_label = 2;
    REFUSED(pv_simulate(ctx, "nodules", &within, &table, NULL), PV_ERR_USAGE, "`within`: there is no label 2");
}

/* Sizes beyond any memory: rejected before the data are accessed. */
static void too_many(void **state) {
    (void)state;
    char name[] = "x";
    pv_column column = {.name = name, .type = PV_COLUMN_TEXT, .levels = INT32_MAX - 1};
    pv__dictionary dictionary = {0};
    REFUSED(pv__dictionary_add(ctx, &dictionary, &column, "a", 1, 0), PV_ERR_INPUT,
            "column 'x' has more than 2147483646 different texts");
    pv_source_column sources[] = {{.name = name, .type = PV_COLUMN_TEXT, .levels = INT32_MAX},
                                  {.name = name, .type = PV_COLUMN_TEXT, .levels = INT32_MAX}};
    pv_schema schema = {.sources = 2, .source = sources};
    REFUSED(pv__schema_name_features(ctx, &schema), PV_ERR_INPUT, "too many features: 4294967292");
    const double log_p[] = {-1, -1};
    const int32_t label[] = {0};
    pv_targets targets = {.n = (size_t)1 << 32, .classes = 2, .label = label};
    pv_judged judged = {.log_p = log_p};
    pv_assess_options assess = pv_assess_options_default();
    pv_assessment assessment;
    REFUSED(pv_assess_intervals(ctx, &targets, &judged, &assess, &assessment), PV_ERR_INPUT,
            "4294967296 rows are more than can be ranked");
}

/* ---- fits and their results -------------------------------------------------------------------------------------- */

static void wrong_samples(void **state) {
    (void)state;
    problem p = nodules(ctx, 30, 1);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    pv_dataset sample = {.rows = 4, .features = 3};
    pv_classifier *c;
    options.sample = &sample;
    REFUSED(pv_fit(ctx, p.schema, p.data, &options, &c), PV_ERR_USAGE,
            "the population sample has 3 features, the data 7");
    sample = (pv_dataset){.rows = 0, .features = p.data->features};
    REFUSED(pv_fit(ctx, p.schema, p.data, &options, &c), PV_ERR_INPUT, "the population sample has no rows");
    double *frequency = calloc(2 * p.data->rows, sizeof *frequency);
    assert_non_null(frequency);
    for (size_t i = 0; i < 2 * p.data->rows; i++)
        frequency[i] = 0.5;
    pv_dataset soft = *p.data;
    soft.label = NULL;
    soft.frequency = frequency;
    sample.rows = 4;
    REFUSED(pv_fit(ctx, p.schema, &soft, &options, &c), PV_ERR_USAGE, "supports hard labels only");
    free(frequency);
    pv_dataset fewer = *p.data;
    fewer.classes = 3;
    char other[] = "other", *labels[] = {p.schema->labels[0], p.schema->labels[1], other};
    pv_schema three = *p.schema;
    options.sample = NULL;
    REFUSED(pv_fit(ctx, &three, &fewer, &options, &c), PV_ERR_USAGE,
            "the data have 7 features and 3 classes, their schema 7 and 2");
    three.labels = labels;
    three.classes = 3;
    REFUSED(pv_fit(ctx, &three, &fewer, &options, &c), PV_ERR_INPUT,
            "class 'other' has a prevalence but no row in the data");
    assert_null(c);
    problem_free(ctx, &p);
}

static void wrong_questions(void **state) {
    (void)state;
    problem p = nodules(ctx, 30, 1);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    options.model = "mlp:2";
    options.max_iter = 3;
    pv_classifier *c = fit(ctx, &p, &options);
    double out[60 * 2];
    REFUSED(pv_classifier_coefficients(ctx, c, out), PV_ERR_USAGE, "model mlp:2 has no coefficients");
    REFUSED(pv_classifier_draw_coefficients(ctx, c, 0, out), PV_ERR_USAGE, "the model has no draw 0: it has 0");
    pv_dataset narrow = *p.data;
    narrow.features = 3;
    REFUSED(pv_predict_loglik(ctx, c, &narrow, out), PV_ERR_USAGE, "the data have 3 features, the model 7");
    pv_predict_options wanted = {.level = 0.9};
    pv_prediction *said;
    REFUSED(predict_in(ctx, c, &narrow, "design", NULL, NULL, &said), PV_ERR_USAGE, "the data have 3 features");
    REFUSED(predict_in(ctx, c, p.data, "true", NULL, &wanted, &said), PV_ERR_USAGE, "the model has neither a");
    pv_population *three;
    ok(pv_population_known(ctx, 3, (const double[]){0.2, 0.3, 0.5}, &three));
    REFUSED(pv_predict(ctx, c, p.data, three, NULL, &said), PV_ERR_USAGE, "the population has 3 labels, the model 2");
    pv_population_free(ctx, three);
    REFUSED(pv_population_known(ctx, 2, (const double[]){0.2, 0.3}, &three), PV_ERR_USAGE, "");
    pv_classifier_free(ctx, c);
    options.model = "linear";
    options.infer = PV_INFER_LAPLACE;
    options.draws = 100;
    c = fit(ctx, &p, &options);
    wanted.level = 90;
    REFUSED(predict_in(ctx, c, p.data, "true", NULL, &wanted, &said), PV_ERR_USAGE,
            "an interval's level must lie between 0 and 1, not 90");
    REFUSED(predict_in(ctx, c, &narrow, "true", NULL, NULL, &said), PV_ERR_USAGE, "the data have 3 features");
    pv_classifier_free(ctx, c);
    pv_validation_options how = pv_validation_options_default();
    pv_validation *v;
    how.folds = 1;
    REFUSED(pv_cross_validate(ctx, p.schema, p.data, &options, &how, &v), PV_ERR_USAGE,
            "at least two folds and one repeat");
    REFUSED(pv_validation_mix(ctx, 0, NULL, NULL, &v), PV_ERR_USAGE, "a mixture needs members");
    problem_free(ctx, &p);
}

static void wrong_populations(void **state) {
    (void)state;
    const double loglik[] = {-0.1, -2.4, -2.4, -0.1, -0.1, -2.4}, marginal[] = {-0.7, -0.7};
    char zero[] = "0", one[] = "1", *labels[] = {zero, one};
    const int32_t label[] = {0, 0, 0};
    pv_unknown_sample sample = {.n = 3, .classes = 1, .loglik = loglik, .log_marginal = marginal};
    pv_unknown_options options = pv_unknown_options_default();
    pv_unknown_prevalence *found;
    REFUSED(pv_unknown_infer(ctx, &sample, labels, &options, &found), PV_ERR_USAGE, "at least two classes, not 1");
    sample.classes = 2;
    options.level = 90;
    REFUSED(pv_unknown_infer(ctx, &sample, labels, &options, &found), PV_ERR_USAGE, "between 0 and 1, not 90");
    double confusion[4];
    sample.label = label;
    REFUSED(pv_confusion(ctx, &sample, labels, confusion), PV_ERR_INPUT, "the source rows have no row with label '1'");
}

/* ---- ensembles --------------------------------------------------------------------------------------------------- */

static void wrong_ensembles(void **state) {
    (void)state;
    char a[] = "a", b[] = "b", x[] = "x", z[] = "z", none[] = "", *labels[] = {a, b};
    const double prevalence[] = {0.9, 0.1};
    pv_source_column mine = {.name = x, .type = PV_COLUMN_NUMBER}, yours = {.name = z, .type = PV_COLUMN_NUMBER};
    pv_image_encoding pixels = {.images = none, .votes = none}, scans = {.images = x, .votes = none};
    pv_schema one = {.labels = labels, .classes = 2, .sources = 1, .source = &mine}, two = one, more = one,
              image = {.labels = labels, .classes = 2, .image = &pixels}, scan = image;
    two.source = &yours;
    more.classes = 3;
    scan.image = &scans;
    double stated[] = {0.9, 0.1};
    const pv_population home = {.kind = PV_POPULATION_TRUE}, unknown = {.kind = PV_POPULATION_UNKNOWN};
    pv_classifier first = {.schema = &one, .prevalence = stated}, other = first;
    ok(pv_ensemble_check(ctx, &first, &other, "b.model", &home));
    assert_memory_equal(stated, prevalence, sizeof stated);
    other.schema = &more;
    REFUSED(pv_ensemble_check(ctx, &first, &other, "b.model", &home), PV_ERR_INPUT,
            "has 3 labels, the first model 2; all members of an ensemble need the same");
    other = first;
    other.schema = &two;
    REFUSED(pv_ensemble_check(ctx, &first, &other, "b.model", &home), PV_ERR_INPUT,
            "uses the column 'z' where the first model uses 'x'");
    other.schema = &image;
    REFUSED(pv_ensemble_check(ctx, &first, &other, "b.model", &home), PV_ERR_INPUT,
            "was fitted to images, the first model to a table");
    pv_classifier third = first;
    third.schema = &scan;
    REFUSED(pv_ensemble_check(ctx, &other, &third, "b.model", &home), PV_ERR_INPUT,
            "was fitted to other arrays than the first model");
    scans = pixels;
    scans.layout = PV_IMAGES_VOLUMES;
    REFUSED(pv_ensemble_check(ctx, &other, &third, "b.model", &home), PV_ERR_INPUT,
            "was fitted to volumes, the first model to images");
    scans = pixels;
    scans.binarise = 3;
    REFUSED(pv_ensemble_check(ctx, &other, &third, "b.model", &home), PV_ERR_INPUT,
            "was fitted with `binarise=3`, the first model with 0");
    other = first;
    REFUSED(pv_ensemble_check(ctx, &first, &other, "b.model", &unknown), PV_ERR_USAGE,
            "in a population of known prevalence");
    other.prevalence = NULL;
    REFUSED(pv_ensemble_check(ctx, &first, &other, "b.model", &home), PV_ERR_USAGE,
            "states no prevalence; use `population=known:P`");
}

/* ---- interruption ------------------------------------------------------------------------------------------------ */

/* The context is interrupted before the work begins. */
static void everything_stops(void **state) {
    (void)state;
    problem p = nodules(ctx, 60, 1);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    options.infer = PV_INFER_LAPLACE;
    options.draws = 100;
    pv_classifier *c = fit(ctx, &p, &options);
    size_t n = p.data->rows;
    double *loglik = calloc(2 * n, sizeof *loglik);
    pv_prediction *said;
    assert_non_null(loglik);
    ok(pv_predict_loglik(ctx, c, p.data, loglik));
    pv_targets targets = pv_dataset_targets(p.data);
    pv_judged judged = {.log_p = loglik};
    pv_assess_options assess = pv_assess_options_default();
    assess.bootstrap = 100;
    pv_assessment assessment;
    pv_unknown_sample sample = {.n = n, .classes = 2, .loglik = loglik, .log_marginal = c->log_marginal};
    pv_unknown_prevalence *found;
    pv_unknown_options target = pv_unknown_options_default();
    pv_table *table;
    pv_output output;
    put("x,y\n1,2\n", 8);
    REFUSED(pv_output_open(ctx, "", &output), PV_ERR_PATH, "the file name is empty; name the file to write");
    ok(pv_output_open(ctx, path, &output));
    pv_simulation few = {.rows = 3, .cases = -1, .controls = -1, .prevalence = 0.5, .size = 24};
    pv_archive *archive;
    pv_ctx_interrupt(ctx);
    REFUSED(pv_simulate_ct(ctx, &few, &archive, NULL), PV_ERR_INTERRUPTED, "the simulation was interrupted");
    REFUSED(pv_table_read(ctx, path, NULL, &table), PV_ERR_INTERRUPTED, "reading was interrupted");
    REFUSED(pv_table_write(ctx, p.table, &output), PV_ERR_INTERRUPTED, "writing was interrupted");
    REFUSED(pv_predict(ctx, c, p.data, NULL, NULL, &said), PV_ERR_INTERRUPTED, "stopped on request");
    REFUSED(pv_assess_intervals(ctx, &targets, &judged, &assess, &assessment), PV_ERR_INTERRUPTED,
            "interrupted while intervals were computed");
    for (int method = PV_UNKNOWN_EXACT; method <= PV_UNKNOWN_EM; method++) {
        target.method = method;
        REFUSED(pv_unknown_infer(ctx, &sample, c->schema->labels, &target, &found), PV_ERR_INTERRUPTED,
                "stopped on request");
        REFUSED(predict_in(ctx, c, p.data, "unknown", &target, NULL, &said), PV_ERR_INTERRUPTED, "stopped on request");
    }
    pv_ctx_clear_interrupt(ctx);
    pv_output_discard(ctx, &output);
    free(loglik);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_targets),     cmocka_unit_test(wrong_losses),    cmocka_unit_test(wrong_tables),
        cmocka_unit_test(too_many),          cmocka_unit_test(wrong_samples),   cmocka_unit_test(wrong_questions),
        cmocka_unit_test(wrong_populations), cmocka_unit_test(wrong_ensembles), cmocka_unit_test(everything_stops),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
