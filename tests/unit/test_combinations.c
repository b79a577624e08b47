/* All combinations of losses, marginals, models, inferences, designs and batches on 40 rows: each is either rejected as
 * wrong usage, with a message that names an option, or can be fitted. */
#include <math.h>

#include "fixture.h"

#include "base/base.h"
#include "model/trees.h"

enum { ROWS = 40 };

typedef struct design {
    const char *name;
    pv_roles roles;
    const char *prevalence;
    double subcohort;
    bool sample;
    size_t fits;    /* number of combinations that fit, which shows rules that are missing or too strict */
    size_t trees;   /* the same for boosted trees, if XGBoost is installed */
    size_t misread; /* the same for labels with errors */
} design;

static const design designs[] = {
    {"rows", {.features = "a,b", .target = "y"}, "0.1", 0, false, 134, 3, 4},
    {"counts", {.features = "a,b", .target = "y", .weights = "count"}, "0.1", 0, false, 134, 3, 4},
    {"sampling weights", {.features = "a,b", .target = "y", .weights = "weight"}, "0.1", 0, false, 68, 3, 0},
    {"clusters", {.features = "a,b", .target = "y", .cluster = "cluster"}, "0.1", 0, false, 68, 3, 0},
    {"population sample", {.features = "a,b", .target = "y"}, NULL, 0, true, 38, 0, 0},
    {"both", {.features = "a,b", .target = "y"}, "0.1", 0, true, 40, 0, 0},
    {"subcohort", {.features = "a,b", .target = "y"}, NULL, 0.3, false, 134, 3, 0},
    {"strata", {.features = "a,b", .target = "y", .strata = "stratum"}, NULL, 0.3, false, 36, 2, 0},
    {"survey", {.features = "a,b", .target = "y", .strata = "stratum", .weights = "weight"}, "0.1", 0, false, 68, 3, 0},
    {"matched sets", {.features = "a,b", .target = "y", .matched = "set"}, NULL, 0, false, 38, 0, 0},
    {"matched sets with a sample", {.features = "a,b", .target = "y", .matched = "set"}, "0.1", 0, true, 38, 0, 0},
    {"votes", {.features = "a,b", .votes = "no,yes"}, "0.1", 0, false, 133, 0, 0},
};

enum { MODELS = 5 }; /* followed by boosted trees */
static const char *const models[] = {"linear", "additive", "ordinal", "mlp:2", "auto", "trees:2,3"}, *const batches[] =
                                                                                                         {"full", "10"};

/* Columns that overlap between labels, so that every estimate is finite. */
static void write_table(void) {
    char text[4000], *end = text + sprintf(text, "a,b,y,count,weight,cluster,stratum,set,no,yes\n");
    for (int i = 0; i < ROWS; i++) {
        int y = i % 2;
        double a = sin(1.7 * i) + 0.3 * y, b = cos(2.9 * i + 1) - 0.2 * y;
        end += sprintf(end, "%.4f,%.4f,%d,%d,%.2f,c%d,%s,m%d,%d,%d\n", a, b, y, 1 + i % 3, 0.5 + (i * 7 % 5), i / 4,
                       i / 2 % 2 ? "north" : "south", i / 2, 3 - 2 * y, 1 + 2 * y);
    }
    put(text, (size_t)(end - text));
}

static const char *label_error; /* of all fits */

static pv_fit_options quick(const design *of, int loss, int marginal, int infer, const char *model, const char *batch) {
    pv_fit_options o = pv_fit_options_default();
    o.loss = loss;
    o.label_error = label_error;
    o.marginal = marginal;
    o.infer = infer;
    o.model = model;
    o.batch = batch;
    o.prevalence = of->prevalence;
    o.prevalence_n = of->prevalence && (marginal != PV_MARGINAL_PROFILE || of->sample) ? "50" : "auto";
    o.subcohort = of->subcohort;
    o.epochs = 2;
    o.max_iter = 50;
    o.draws = 16;
    o.warmup = 16;
    o.chains = 1;
    o.steps = 20;
    o.samples = 2;
    o.components = 1;
    return o;
}

typedef struct tally {
    size_t fitted, rejected;
} tally;

static void try_one(const design *of, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *o,
                    tally *count) {
    pv_classifier *classifier;
    pv_plan *plan;
    char planned[1000];
    pv_status foreseen = pv_fit_plan(ctx, schema, data, o, &plan);
    snprintf(planned, sizeof planned, "%s", foreseen == PV_OK ? "" : pv_ctx_message(ctx));
    pv_plan_free(ctx, plan);
    pv_status status = pv_fit(ctx, schema, data, o, &classifier);
    const pv_error *error = pv_ctx_error(ctx);
    if (status != foreseen || (status != PV_OK && strcmp(planned, pv_ctx_message(ctx)) != 0))
        fail_msg("%s, loss %s: the plan says \"%s\", the fit \"%s\"", of->name, pv_loss_name((pv_loss)o->loss), planned,
                 status == PV_OK ? "" : pv_ctx_message(ctx));
    if (status != PV_OK && (status != PV_ERR_USAGE || !strchr(error->message, '`')))
        fail_msg("%s, loss %s, marginal %s, infer %s, model %s, batch %s: %s", of->name, pv_loss_name((pv_loss)o->loss),
                 pv_marginal_name((pv_marginal)o->marginal), pv_inference_name((pv_inference)o->infer), o->model,
                 o->batch, pv_ctx_message(ctx));
    count->fitted += status == PV_OK;
    count->rejected += status != PV_OK;
    pv_classifier_free(ctx, classifier);
}

static void try_design(const design *of, size_t first, size_t last, tally *count) {
    pv_table *table = must_read(&(pv_csv_options){.roles = &of->roles});
    pv_schema *schema[2]; /* without and with smooths */
    pv_dataset *data[2], *sample[2] = {NULL, NULL};
    for (int s = 0; s < 2; s++) {
        pv_roles roles = of->roles;
        roles.smooth = s == 1 ? HUGE_VAL : 0;
        ok(pv_schema_learn(ctx, table, &roles, &schema[s], &data[s]));
        if (of->sample)
            ok(pv_schema_apply(ctx, schema[s], table, &(pv_roles){0}, &sample[s]));
    }
    for (int loss = 0; loss < PV_LOSSES; loss++)
        for (int marginal = 0; marginal <= PV_MARGINAL_AUXILIARY_LINEAR; marginal++)
            for (int infer = 0; infer <= PV_INFER_ROBUST; infer++)
                for (size_t m = first; m < last; m++)
                    for (size_t b = 0; b < sizeof batches / sizeof *batches; b++) {
                        pv_fit_options o = quick(of, loss, marginal, infer, models[m], batches[b]);
                        bool smooth = strcmp(models[m], "additive") == 0;
                        o.sample = sample[smooth];
                        try_one(of, schema[smooth], data[smooth], &o, count);
                    }
    for (int s = 0; s < 2; s++) {
        pv_dataset_free(ctx, sample[s]);
        pv_dataset_free(ctx, data[s]);
        pv_schema_free(ctx, schema[s]);
    }
    pv_table_free(ctx, table);
}

static void every_combination(void **state) {
    (void)state;
    tally count = {0, 0};
    write_table();
    for (size_t d = 0; d < sizeof designs / sizeof *designs; d++) {
        tally own = {0, 0};
        try_design(&designs[d], 0, MODELS, &own);
        print_message("%s: %zu fitted, %zu rejected\n", designs[d].name, own.fitted, own.rejected);
        assert_int_equal(own.fitted, designs[d].fits);
        count.fitted += own.fitted;
        count.rejected += own.rejected;
    }
    print_message("%zu fitted, %zu rejected\n", count.fitted, count.rejected);
}

static void every_combination_of_label_errors(void **state) {
    (void)state;
    write_table();
    for (size_t d = 0; d < sizeof designs / sizeof *designs; d++) {
        tally own = {0, 0};
        label_error = "sensitivity=45/50,specificity=0.85-0.95";
        try_design(&designs[d], 0, MODELS, &own);
        label_error = NULL;
        print_message("%s: %zu fitted, %zu rejected\n", designs[d].name, own.fitted, own.rejected);
        assert_int_equal(own.fitted, designs[d].misread);
    }
}

static void every_combination_of_trees(void **state) {
    (void)state;
    if (!pv__boosting_here(NULL)) {
        skip();
        return;
    }
    write_table();
    for (size_t d = 0; d < sizeof designs / sizeof *designs; d++) {
        tally own = {0, 0};
        try_design(&designs[d], MODELS, MODELS + 1, &own);
        print_message("%s: %zu fitted, %zu rejected\n", designs[d].name, own.fitted, own.rejected);
        assert_int_equal(own.fitted, designs[d].trees);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_combination),
                                       cmocka_unit_test(every_combination_of_label_errors),
                                       cmocka_unit_test(every_combination_of_trees)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
