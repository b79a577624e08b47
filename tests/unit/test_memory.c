/* Every public constructor with its n-th allocation failing, for all n, unless another test covers it. tests/memory
 * sweeps whole commands; tests/memory/public.sh checks that no constructor is missing. */

#include "infer/infer.h" /* before fixture.h defines ctx */

#include "base/value.h"
#include "fixture.h"
#include "prevail/rate.h"

#define TRY(call)                                                                                                      \
    if (status == PV_OK)                                                                                               \
    status = (call)

/* ---- a small problem, built without failures --------------------------------------------------------------------- */

static pv_table *table;
static pv_schema *schema;
static pv_dataset *data;
static pv_classifier *fitted;

static pv_fit_options options_of(void) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.2";
    options.max_iter = 3;
    options.infer = PV_INFER_LAPLACE;
    options.draws = 100; /* the smallest number that a record allows */
    return options;
}

/* Simulated designs, without and with failures. */
static const pv_design_simulation small = {
    .rows = 16, .strata = 2, .prevalence = 0.3, .cohort = 40, .sets = 4, .per_case = 1};

static struct {
    pv_table *made, *known, *survey;
    pv_schema *own, *other;
    pv_dataset *rows, *people;
    pv_classifier *fit;
} sites;

static void sites_prepare(void) {
    const pv_roles roles = {.target = "y", .strata = "site"}, sampled = {.target = "y",
                                                                         .strata = "site",
                                                                         .weights = "weight",
                                                                         .cluster = "cluster",
                                                                         .weights_are = PV_WEIGHTS_SAMPLING};
    pv_fit_options options = pv_fit_options_default();
    ok(pv_simulate_design(ctx, "sites", &small, &sites.made, &sites.known, NULL));
    pv_design_simulation more = small; /* two clusters per stratum */
    more.rows = 40;
    ok(pv_simulate_design(ctx, "survey", &more, &sites.survey, NULL, NULL));
    ok(pv_schema_learn(ctx, sites.made, &roles, &sites.own, &sites.rows));
    ok(pv_schema_learn(ctx, sites.survey, &sampled, &sites.other, &sites.people));
    options.infer = PV_INFER_ML;
    options.prevalence_by = "known";
    options.known = sites.known;
    ok(pv_fit(ctx, sites.own, sites.rows, &options, &sites.fit));
}

static void sites_tidy(void) {
    pv_classifier_free(ctx, sites.fit);
    pv_dataset_free(ctx, sites.people);
    pv_dataset_free(ctx, sites.rows);
    pv_schema_free(ctx, sites.other);
    pv_schema_free(ctx, sites.own);
    pv_table_free(ctx, sites.survey);
    pv_table_free(ctx, sites.known);
    pv_table_free(ctx, sites.made);
}

static int prepare(void **state) {
    if (setup(state))
        return 1;
    table = read_text("x,g,y\n1,a,0\n2,b,1\n3,a,0\n4,b,1\n2,a,1\n1,b,0\n3,b,1\n4,a,0\n");
    pv_roles roles = {.target = "y"};
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    pv_fit_options options = options_of();
    ok(pv_fit(ctx, schema, data, &options, &fitted));
    sites_prepare();
    return 0;
}

static int tidy(void **state) {
    sites_tidy();
    pv_classifier_free(ctx, fitted);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    return teardown(state);
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static pv_status read_poorly(pv_ctx *poor) {
    pv_roles roles = {.target = "y", .categorical = "g", .exclude = "x"};
    pv_table *read = NULL;
    pv_dataset *applied = NULL;
    pv_schema *scaled = NULL;
    put("x,g,y\n1,a,0\n2,b,1\n", 18);
    pv_status status = pv_table_read(poor, path, &(pv_csv_options){.roles = &roles}, &read);
    pv_table_free(poor, read);
    TRY(pv_dataset_read(poor, schema, path, &roles, NULL, &applied));
    TRY(pv_schema_rescale(poor, schema, data, &scaled));
    pv_dataset_free(poor, applied);
    pv_schema_free(poor, scaled);
    return status;
}

static pv_status sample_poorly(pv_ctx *poor) {
    pv_roles roles = {.target = "y"};
    pv_dataset *read = NULL, *applied = NULL;
    put("x,g\n1,a\n2,b\n3,a\n", 16);
    pv_status status = pv_sample_read(poor, schema, data, path, &roles, NULL, &read);
    TRY(pv_sample_apply(poor, schema, data, table, &roles, &applied));
    pv_dataset_free(poor, applied);
    pv_dataset_free(poor, read);
    return status;
}

static pv_status schema_poorly(pv_ctx *poor) {
    static const char *const labels[] = {"no", "yes"};
    pv_schema *made = NULL, *copy = NULL;
    pv_status status = pv_schema_new(poor, "y", labels, 2, NULL, 3, &made);
    TRY(pv_schema_copy(poor, schema, &copy));
    pv_schema_free(poor, made);
    pv_schema_free(poor, copy);
    return status;
}

static pv_status take_poorly(pv_ctx *poor) {
    const size_t rows[] = {1, 3, 0};
    pv_dataset *taken = NULL;
    pv_status status = pv_dataset_take(poor, data, 3, rows, &taken);
    pv_dataset_free(poor, taken);
    return status;
}

static pv_status arrays_poorly(pv_ctx *poor) {
    const size_t shape[] = {4, 3, 3}, one[] = {4};
    pv_archive *archive = NULL, *again = NULL;
    pv_table *of = NULL;
    pv_images *images = NULL;
    float *pixels = NULL;
    int32_t *label = NULL;
    pv_array array;
    pv_image_roles roles = {0};
    pv_status status = pv_archive_new(poor, "small", &archive);
    TRY(pv_archive_add(poor, archive, "images", PV_ARRAY_F32, 3, shape, &pixels));
    TRY(pv_archive_add(poor, archive, "labels", PV_ARRAY_I32, 1, one, &label));
    if (status == PV_OK)
        label[1] = label[2] = 1;
    TRY(pv_table_of(poor, archive, NULL, &of));
    TRY(pv_images_of(poor, archive, &roles, &images));
    TRY(pv_archive_write(poor, archive, path));
    TRY(pv_archive_open(poor, path, &again));
    TRY(pv_archive_array(poor, again, 0, &array));
    pv_images_free(poor, images);
    pv_table_free(poor, of);
    pv_archive_free(poor, again);
    pv_archive_free(poor, archive);
    return status;
}

/* ---- losses, models ---------------------------------------------------------------------------------------------- */

static pv_status core_poorly(pv_ctx *poor) {
    const int32_t label[4] = {0, 1, 0, 1};
    const double prevalence[2] = {0.8, 0.2}, loglik[8] = {-0.1, -2.4, -0.2, -1.7, -0.3, -1.35, -0.05, -3};
    pv_targets targets = {.n = 4, .classes = 2, .label = label, .weight = NULL};
    pv_prevalence population = {.classes = 2, .prevalence = prevalence, .prevalence_n = 10};
    double value, dloglik[8], parameters[6] = {0};
    pv_full_loss *full = NULL;
    pv_auxiliary *auxiliary = NULL;
    pv_model *model = NULL;
    pv_model_work *work = NULL;
    pv_status status = pv_full_loss_new(poor, PV_LOSS_IG, PV_MARGINAL_PROFILE, &targets, &population, &full);
    TRY(pv_full_loss_eval(poor, full, loglik, &value, dloglik));
    TRY(pv_auxiliary_new(poor, PV_MARGINAL_AUXILIARY_LINEAR, 2, 6, prevalence, parameters, &auxiliary));
    TRY(pv_model_new(poor, "mlp:3", 2, 2, &model));
    TRY(pv_model_work_new(poor, model, 4, &work));
    pv_model_work_free(poor, work);
    pv_model_free(poor, model);
    pv_auxiliary_free(poor, auxiliary);
    pv_full_loss_free(poor, full);
    return status;
}

/* ---- fits and their use ------------------------------------------------------------------------------------------ */

static void *value_resize(void *block, size_t size) {
    return limited_resize(NULL, block, size);
}

static void value_release(void *block) {
    limited_release(NULL, block);
}

static pv_status plan_poorly(pv_ctx *poor) {
    pv_fit_options options = options_of();
    pv_plan *plan = NULL;
    pv_status status = pv_fit_plan(poor, schema, data, &options, &plan);
    pv_plan_free(poor, plan);
    return status;
}

/* Allocations of values fail as well. */
static pv_status fit_poorly(pv_ctx *poor) {
    pv__value_memory(value_resize, value_release);
    pv_fit_options options = options_of();
    pv_classifier *made = NULL, *loaded = NULL;
    pv_status status = pv_fit(poor, schema, data, &options, &made);
    TRY(pv_classifier_save(poor, made, path));
    TRY(pv_classifier_load(poor, path, &loaded));
    pv_classifier_free(poor, loaded);
    pv_classifier_free(poor, made);
    pv__value_memory(NULL, NULL);
    return status;
}

static pv_status learn_poorly(pv_ctx *poor) {
    pv__value_memory(value_resize, value_release);
    pv_settings *settings = NULL;
    pv_classifier *made = NULL;
    static const char text[] = "x,g,p,y\n1,1,a,0\n2,2,b,1\n3,1,c,1\n4,2,d,0\n";
    put(text, sizeof text - 1);
    pv_status status = pv_fit_settings_new(poor, &settings);
    TRY(pv_settings_set(poor, settings, "outcome", "y"));
    TRY(pv_settings_set(poor, settings, "categorical", "g"));
    TRY(pv_settings_set(poor, settings, "group", "p"));
    TRY(pv_settings_set(poor, settings, "prevalence", "1=0.1"));
    TRY(pv_learn(poor, path, settings, &made));
    pv_classifier_free(poor, made);
    made = NULL;
    TRY(pv_settings_set(poor, settings, "group", NULL));
    TRY(pv_learn_table(poor, table, settings, &made));
    pv_classifier_free(poor, made);
    made = NULL;
    TRY(pv_learn_sampled(poor, table, table, settings, &made));
    pv_classifier_free(poor, made);
    pv_settings_free(poor, settings);
    pv__value_memory(NULL, NULL);
    return status;
}

static pv_status fit_batches_poorly(pv_ctx *poor) {
    pv_fit_options options = options_of();
    options.infer = PV_INFER_MAP;
    options.model = "mlp:3";
    options.batch = "4";
    options.epochs = 2;
    options.marginal = PV_MARGINAL_AUXILIARY_CONSTANT;
    pv_classifier *made = NULL;
    pv_status status = pv_fit(poor, schema, data, &options, &made);
    pv_classifier_free(poor, made);
    return status;
}

static pv_status predict_poorly(pv_ctx *poor) {
    const pv_predict_options all = {.level = 0.9, .likelihood = true};
    pv_unknown_options vb = pv_unknown_options_default();
    vb.method = PV_UNKNOWN_VB;
    pv_population *known = NULL, *open = NULL;
    pv_prediction *home = NULL, *moved = NULL, *unknown = NULL;
    pv_status status = pv_population_known(poor, 2, (const double[]){0.8, 0.2}, &known);
    TRY(pv_population_new(poor, fitted, "unknown", &vb, &open));
    TRY(pv_predict_in(poor, fitted, data, "true", &all, &home));
    TRY(pv_predict(poor, fitted, data, known, &all, &moved));
    TRY(pv_predict(poor, fitted, data, open, &all, &unknown));
    pv_prediction_free(poor, home);
    pv_prediction_free(poor, moved);
    pv_prediction_free(poor, unknown);
    pv_population_free(poor, known);
    pv_population_free(poor, open);
    return status;
}

/* The table's g as strata, in a fit, its file and a prediction. */
static pv_status strata_poorly(pv_ctx *poor) {
    static const char by[] = "g,prevalence,share\na,0.2,0.5\nb,0.1-0.3,0.5\n";
    const pv_roles roles = {.target = "y", .strata = "g", .exclude = "g"};
    pv_schema *own = NULL;
    pv_dataset *rows = NULL;
    pv_stratified *read = NULL;
    pv_classifier *made = NULL, *again = NULL;
    pv_prediction *moved = NULL;
    unsigned char *bytes = NULL;
    size_t size;
    char population[300];
    put(by, sizeof by - 1);
    snprintf(population, sizeof population, "known:%s", path);
    pv_fit_options options = options_of();
    options.prevalence = NULL;
    options.prevalence_by = path;
    pv_status status = pv_schema_learn(poor, table, &roles, &own, &rows);
    TRY(pv_stratified_read(poor, path, NULL, own, &read));
    TRY(pv_fit(poor, own, rows, &options, &made));
    TRY(pv_classifier_to_bytes(poor, made, &bytes, &size));
    TRY(pv_classifier_from_bytes(poor, NULL, bytes, size, &again));
    TRY(pv_predict_in(poor, again, rows, population, NULL, &moved));
    pv_prediction_free(poor, moved);
    pv_bytes_free(poor, bytes);
    pv_classifier_free(poor, again);
    pv_classifier_free(poor, made);
    pv_stratified_free(poor, read);
    pv_dataset_free(poor, rows);
    pv_schema_free(poor, own);
    return status;
}

/* Another model's probabilities with strata: in arrays, and in a file with another one of the original prevalences. */
static pv_status probs_strata_poorly(pv_ctx *poor) {
    static const char text[] = "g,p__0,p__1,prevalence\na,0.8,0.2,0.4\nb,0.4,0.6,0.3\n";
    static const double p[] = {0.1, 0.7, 0.9, 0.3}, from[] = {0.5, 0.5, 0.8, 0.2};
    static const int32_t stratum[] = {0, 0, 0, 1};
    static const char *const labels[] = {"0", "1"}, *const names[] = {"a", "b"};
    pv_probs *arrays = NULL, *file = NULL;
    pv_population *known = NULL, *open = NULL, *read = NULL;
    pv_prediction *moved = NULL, *unknown = NULL;
    put(text, sizeof text - 1);
    pv_status status = pv_probs_new(poor, 4, labels, 2, 1, p, NULL, NULL, &arrays);
    TRY(pv_probs_strata_set(poor, arrays, 2, names, stratum, from));
    if (arrays && status != PV_OK) /* no partial results */
        assert_true(!arrays->strata && !arrays->data->stratum && !arrays->from);
    TRY(pv_population_known_strata(poor, arrays, from, &known));
    TRY(pv_population_of_probs(poor, arrays, NULL, "unknown", NULL, &open));
    TRY(pv_predict_probs(poor, arrays, NULL, known, NULL, &moved));
    TRY(pv_predict_probs(poor, arrays, NULL, open, NULL, &unknown));
    TRY(pv_probs_read(poor, path, &(pv_probs_options){.strata = "g", .all = true}, &file));
    TRY(pv_probs_from_read(poor, file, path, NULL));
    TRY(pv_population_strata_read(poor, file, path, NULL, &read));
    pv_population_free(poor, read);
    pv_probs_free(poor, file);
    pv_prediction_free(poor, unknown);
    pv_prediction_free(poor, moved);
    pv_population_free(poor, open);
    pv_population_free(poor, known);
    pv_probs_free(poor, arrays);
    return status;
}

static pv_status designs_poorly(pv_ctx *poor) {
    pv_table *made = NULL, *known = NULL, *survey = NULL, *cohort = NULL, *sets = NULL;
    pv_status status = pv_simulate_design(poor, "sites", &small, &made, &known, NULL);
    TRY(pv_simulate_design(poor, "cohort", &small, &cohort, NULL, NULL));
    TRY(pv_simulate_design(poor, "matched", &small, &sets, NULL, NULL));
    TRY(pv_simulate_design(poor, "survey", &small, &survey, NULL, NULL));
    pv_table_free(poor, sets);
    pv_table_free(poor, cohort);
    pv_table_free(poor, survey);
    pv_table_free(poor, known);
    pv_table_free(poor, made);
    return status;
}

static pv_status judge_strata_poorly(pv_ctx *poor) {
    const pv_judge_options judging = {.stated_for = "population", .bootstrap = 2, .level = 0.9};
    pv_judgement *judged = NULL;
    pv_result *tree[4] = {NULL};
    pv__value_memory(value_resize, value_release);
    pv_status status = pv_judge_in(poor, sites.fit, sites.rows, "true", &judging, &judged);
    TRY(pv_judgement_result(poor, judged, &tree[0]));
    TRY(pv_assessment_result(poor, &judged->found, &tree[1]));
    TRY(pv_judgement_curve(poor, judged, "roc", 20, 5, 0.9, 0.5, NULL, 0, &tree[2]));
    TRY(pv_judgement_rates(poor, judged, 0.3, 0.9, &tree[3]));
    for (size_t i = 0; i < 4; i++)
        pv_result_free(tree[i]);
    pv_judgement_free(poor, judged);
    pv__value_memory(NULL, NULL);
    return status;
}

static pv_status unknown_strata_poorly(pv_ctx *poor) {
    pv_prediction *said = NULL;
    pv_status status = pv_predict_in(poor, sites.fit, sites.rows, "unknown", NULL, &said);
    pv_prediction_free(poor, said);
    return status;
}

static pv_status survey_poorly(pv_ctx *poor) {
    pv_fit_options options = pv_fit_options_default();
    pv_classifier *robust = NULL;
    options.loss = PV_LOSS_PLAIN;
    options.infer = PV_INFER_ROBUST;
    options.max_iter = 3;
    options.draws = 100;
    pv_status status = pv_fit(poor, sites.other, sites.people, &options, &robust);
    pv_classifier_free(poor, robust);
    return status;
}

static pv_status hold_out_poorly(pv_ctx *poor) {
    pv_fit_options options = options_of();
    pv_validation_options how = pv_validation_options_default();
    how.bootstrap = 2;
    pv_validation *validation = NULL;
    pv_status status = pv_hold_out(poor, schema, data, &options, &how, data, &validation);
    pv_validation_free(poor, validation);
    return status;
}

/* Subsets of a table, column importance, and an outcome of counts. */
static pv_status importance_poorly(pv_ctx *poor) {
    const pv_roles roles = {.target = "y"}, counted = {.target = "x/n"};
    const pv_importance_options how = {.permutations = 1, .seed = 1};
    const size_t rows[] = {1, 0, 5};
    pv_table *taken = NULL, *counts = NULL;
    pv_importance *found = NULL;
    pv_schema *own = NULL;
    pv_dataset *made = NULL;
    put("x,n,z\n1,2,0\n2,3,1\n0,1,1\n", 24);
    pv_status status = pv_table_take(poor, table, 3, rows, &taken);
    TRY(pv_importance_find(poor, fitted, table, &roles, NULL, NULL, &how, &found));
    TRY(pv_table_read(poor, path, &(pv_csv_options){.roles = &counted, .na = "-9"}, &counts));
    TRY(pv_schema_learn(poor, counts, &counted, &own, &made));
    pv_dataset_free(poor, made);
    pv_schema_free(poor, own);
    pv_table_free(poor, counts);
    pv_importance_free(poor, found);
    pv_table_free(poor, taken);
    return status;
}

/* Folds that learn terms again. */
static pv_status folds_poorly(pv_ctx *poor) {
    const pv_roles roles = {.target = "y", .terms = "log(x)"};
    pv_fit_options options = options_of();
    pv_validation_options how = pv_validation_options_default();
    pv_schema *own = NULL;
    pv_dataset *made = NULL;
    pv_validation *validation = NULL;
    options.infer = PV_INFER_MAP;
    how.folds = 2;
    how.table = table;
    how.roles = &roles;
    pv_status status = pv_schema_learn(poor, table, &roles, &own, &made);
    TRY(pv_cross_validate(poor, own, made, &options, &how, &validation));
    pv_validation_free(poor, validation);
    pv_dataset_free(poor, made);
    pv_schema_free(poor, own);
    return status;
}

static pv_status diagnose_poorly(pv_ctx *poor) {
    pv__value_memory(value_resize, value_release);
    pv_diagnose_options how = {.data = data};
    pv_summary *summary = NULL;
    pv_fit_options *options = NULL;
    pv_diagnosis *found = NULL;
    pv_result *tree[3] = {NULL};
    pv_prediction *said = NULL;
    pv_column_risks *risks = NULL;
    pv_status status = pv_classifier_summary(poor, fitted, 0.9, &summary);
    TRY(pv_classifier_options(poor, fitted, &options));
    TRY(pv_diagnose(poor, fitted, &how, &found));
    TRY(pv_diagnosis_result(poor, found, &tree[0]));
    TRY(pv_classifier_result(poor, fitted, 0.9, &tree[1]));
    TRY(pv_methods(poor, fitted, NULL, &tree[2]));
    for (size_t i = 0; i < 3; i++)
        pv_result_free(tree[i]);
    TRY(pv_predict(poor, fitted, data, NULL, NULL, &said));
    TRY(pv_column_risks_new(poor, schema, data, said, 0.9, &risks));
    pv_column_risks_free(poor, risks);
    pv_prediction_free(poor, said);
    pv_summary_free(poor, summary);
    pv_fit_options_free(poor, options);
    pv_diagnosis_free(poor, found);
    pv__value_memory(NULL, NULL);
    return status;
}

static pv_status rate_poorly(pv_ctx *poor) {
    pv_table *rows = read_text("v,y,n\n0,,630\n1,,170\n0,0,98\n0,1,2\n1,0,60\n1,1,40\n");
    static const char *const pairs[][2] = {
        {"verdict", "v"}, {"outcome", "y"}, {"gold-by", "verdict"}, {"weights", "n"}};
    pv_settings *settings = NULL;
    pv_result *found = NULL;
    pv__value_memory(value_resize, value_release);
    pv_status status = pv_rate_settings_new(poor, &settings);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        TRY(pv_settings_set(poor, settings, pairs[i][0], pairs[i][1]));
    TRY(pv_rate_estimate(poor, rows, NULL, settings, &found));
    pv_result_free(found);
    pv_settings_free(poor, settings);
    pv__value_memory(NULL, NULL);
    pv_table_free(ctx, rows);
    return status;
}

static pv_status checkpoint_poorly(pv_ctx *poor) {
    char file[64];
    snprintf(file, sizeof file, "%s.checkpoint", path);
    int x = 1;
    bool found;
    pv_status status = pv_checkpoint_open(poor, file, 0, true);
    TRY(pv_checkpoint_facts(poor, "`rate`=0.1\n"));
    TRY(pv_checkpoint_keep(poor, "x", &(pv_field){&x, sizeof x}, 1));
    TRY(pv_checkpoint_recall(poor, "x", &(pv_field){&x, sizeof x}, 1, &found));
    TRY(pv_checkpoint_finish(poor));
    return status;
}

/* ---- sweeps ------------------------------------------------------------------------------------------------------ */

#define SWEEP(what)                                                                                                    \
    static void sweeps_##what(void **state) {                                                                          \
        (void)state;                                                                                                   \
        sweep_memory(what##_poorly);                                                                                   \
    }
SWEEP(read)
SWEEP(sample)
SWEEP(schema)
SWEEP(learn)
SWEEP(take)
SWEEP(arrays)
SWEEP(core)
SWEEP(plan)
SWEEP(fit)
SWEEP(fit_batches)
SWEEP(predict)
SWEEP(strata)
SWEEP(probs_strata)
SWEEP(designs)
SWEEP(judge_strata)
SWEEP(unknown_strata)
SWEEP(survey)
SWEEP(hold_out)
SWEEP(diagnose)
SWEEP(rate)
SWEEP(importance)
SWEEP(folds)
SWEEP(checkpoint)

/* Running out of memory while counting matched sets is an error. */
static pv_status count_sets_poorly(pv_ctx *poor) {
    int32_t label[] = {0, 1, 0, 1}, group[] = {0, 0, 1, 1};
    const pv_dataset sets = {.rows = 4, .label = label, .group = group, .classes = 2};
    pv_status status = pv__matched_tell(poor, &sets);
    assert_int_equal(status, failed ? PV_ERR_MEMORY : PV_OK);
    return status;
}
SWEEP(count_sets)

static void *no_memory(void *state, size_t size) {
    (void)state;
    (void)size;
    return NULL;
}

static void sweeps_context(void **state) {
    (void)state;
    pv_ctx_options options = {.allocator = {no_memory, limited_resize, limited_release, NULL}};
    pv_ctx *made = ctx;
    assert_int_equal(pv_ctx_new(&options, &made), PV_ERR_MEMORY);
    assert_null(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sweeps_context),
                                       cmocka_unit_test(sweeps_read),
                                       cmocka_unit_test(sweeps_schema),
                                       cmocka_unit_test(sweeps_learn),
                                       cmocka_unit_test(sweeps_take),
                                       cmocka_unit_test(sweeps_arrays),
                                       cmocka_unit_test(sweeps_core),
                                       cmocka_unit_test(sweeps_fit),
                                       cmocka_unit_test(sweeps_predict),
                                       cmocka_unit_test(sweeps_fit_batches),
                                       cmocka_unit_test(sweeps_hold_out),
                                       cmocka_unit_test(sweeps_diagnose),
                                       cmocka_unit_test(sweeps_rate),
                                       cmocka_unit_test(sweeps_importance),
                                       cmocka_unit_test(sweeps_folds),
                                       cmocka_unit_test(sweeps_strata),
                                       cmocka_unit_test(sweeps_designs),
                                       cmocka_unit_test(sweeps_judge_strata),
                                       cmocka_unit_test(sweeps_unknown_strata),
                                       cmocka_unit_test(sweeps_survey),
                                       cmocka_unit_test(sweeps_checkpoint),
                                       cmocka_unit_test(sweeps_count_sets),
                                       cmocka_unit_test(sweeps_probs_strata),
                                       cmocka_unit_test(sweeps_sample),
                                       cmocka_unit_test(sweeps_plan)};
    return cmocka_run_group_tests(tests, prepare, tidy);
}
