/* A single stratum is the whole population: what a file or a subcohort states about it gives, bit for bit, what
 * `prevalence` gives without strata, for every loss, model, inference and kind of batches; folds, held-out rows and
 * priors are the same too. */
#include "fixture.h"

enum { ROWS = 240 };

static void write_rows(void) {
    pv_rng rng = pv_rng_stream(3, 1, 0);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("x,z,site,y,o\n", file);
    for (int i = 0; i < ROWS; i++) {
        double x = pv_rng_normal(&rng), z = pv_rng_uniform(&rng);
        int y = pv_rng_uniform(&rng) < pv_sigmoid(0.8 * x - z);
        fprintf(file, "%.6g,%.6g,all,%d,%d\n", x, z, y, y + (y && z > 0.5));
    }
    assert_int_equal(fclose(file), 0);
}

typedef struct rows {
    pv_schema *schema;
    pv_dataset *data;
} rows;

static rows learn(const pv_table *table, bool strata, int classes) {
    const pv_roles roles = {.target = classes == 2 ? "y" : "o",
                            .strata = strata ? "site" : NULL,
                            .exclude = classes == 2 ? "site,o" : "site,y"};
    rows made;
    ok(pv_schema_learn(ctx, table, &roles, &made.schema, &made.data));
    return made;
}

static void clear(rows *from) {
    pv_dataset_free(ctx, from->data);
    pv_schema_free(ctx, from->schema);
}

/* The bytes of a model without its record, which contains the options. */
static size_t bytes_of(const rows *from, const pv_fit_options *options, unsigned char **bytes) {
    static const char record[] = "{\"version\": \"0\", \"options\": {}}";
    pv_classifier *made;
    size_t size;
    ok(pv_fit(ctx, from->schema, from->data, options, &made));
    assert_true(strlen(made->record) >= sizeof record);
    memcpy(made->record, record, sizeof record);
    ok(pv_classifier_to_bytes(ctx, made, bytes, &size));
    pv_classifier_free(ctx, made);
    return size;
}

static char known[sizeof path + 4];

static void put_known(const char *text) {
    FILE *file = fopen(known, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void same(const pv_table *table, int classes, const pv_fit_options *plain, const pv_fit_options *one) {
    rows without = learn(table, false, classes), with = learn(table, true, classes);
    unsigned char *wanted, *got;
    size_t size = bytes_of(&without, plain, &wanted);
    assert_int_equal(bytes_of(&with, one, &got), size);
    assert_memory_equal(got, wanted, size);
    pv_bytes_free(ctx, wanted);
    pv_bytes_free(ctx, got);
    clear(&without);
    clear(&with);
}

static const struct {
    const char *model, *batch, *prior;
    int loss, marginal, infer;
} kinds[] = {{"linear", "auto", "usual", PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP},
             {"linear", "auto", "auto", PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP},
             {"linear", "auto", "usual", PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_ML},
             {"linear", "auto", "usual", PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_LAPLACE},
             {"linear", "auto", "usual", PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_VI},
             {"linear", "auto", "usual", PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_ROBUST},
             {"linear", "auto", "usual", PV_LOSS_IG, PV_MARGINAL_PLUGIN, PV_INFER_MAP},
             {"linear", "auto", "usual", PV_LOSS_IW, PV_MARGINAL_PROFILE, PV_INFER_MAP},
             {"linear", "auto", "usual", PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, PV_INFER_MAP},
             {"linear", "40", "usual", PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP},
             {"linear", "40", "usual", PV_LOSS_IG, PV_MARGINAL_AUXILIARY_LINEAR, PV_INFER_MAP},
             {"mlp:3", "auto", "normal:1", PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP},
             {"ordinal", "auto", "usual", PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP}};

static pv_fit_options options_of(size_t kind) {
    pv_fit_options o = pv_fit_options_default();
    o.model = kinds[kind].model;
    o.batch = kinds[kind].batch;
    o.prior = kinds[kind].prior;
    o.loss = kinds[kind].loss;
    o.marginal = kinds[kind].marginal;
    o.infer = kinds[kind].infer;
    o.draws = 100;
    o.components = 2;
    o.steps = 20;
    o.epochs = 3;
    o.validation = strcmp(o.batch, "auto") == 0 ? 0 : 0.25;
    return o;
}

static void one_prevalence(void **state) {
    (void)state;
    write_rows();
    pv_table *table = must_read(NULL);
    static const char *const stated[][2] = {{"0.1", "0.7,0.2,0.1"}, {"0.05-0.2", NULL}};
    for (int classes = 2; classes <= 3; classes++)
        for (size_t i = 0; i < 2 && stated[i][classes - 2]; i++) {
            char text[100];
            snprintf(text, sizeof text, "site,prevalence,share\nall,\"%s\",1\n", stated[i][classes - 2]);
            put_known(text);
            for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
                pv_fit_options plain = options_of(kind), one = plain;
                plain.prevalence = stated[i][classes - 2];
                one.prevalence_by = known;
                if (classes == 2 || strcmp(plain.model, "ordinal") == 0)
                    same(table, classes, &plain, &one);
            }
        }
    pv_table_free(ctx, table);
}

static void one_cohort(void **state) {
    (void)state;
    write_rows();
    pv_table *table = must_read(NULL);
    put_known("site,y,count\nall,0,3600\nall,1,400\n");
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        pv_fit_options plain = options_of(kind), one = plain;
        plain.prevalence = "0.1";
        plain.prevalence_n = "4000";
        one.phase_one = known;
        same(table, 2, &plain, &one);
        plain = one = options_of(kind);
        plain.subcohort = one.subcohort = 0.1;
        same(table, 2, &plain, &one);
    }
    pv_table_free(ctx, table);
}

/* Cross-validated predictions of a fit with one stratum equal those of a fit without strata. */
static void one_validation(void **state) {
    (void)state;
    write_rows();
    pv_table *table = must_read(NULL);
    put_known("site,prevalence,share\nall,0.1,1\n");
    rows without = learn(table, false, 2), with = learn(table, true, 2);
    pv_fit_options plain = options_of(0), one = plain;
    plain.prevalence = "0.1";
    one.prevalence_by = known;
    const pv_validation_options how = pv_validation_options_default();
    pv_validation *wanted, *got;
    ok(pv_cross_validate(ctx, without.schema, without.data, &plain, &how, &wanted));
    ok(pv_cross_validate(ctx, with.schema, with.data, &one, &how, &got));
    assert_memory_equal(got->log_p, wanted->log_p, 2 * ROWS * wanted->repeats * sizeof *wanted->log_p);
    pv_validation_free(ctx, wanted);
    pv_validation_free(ctx, got);
    clear(&without);
    clear(&with);
    pv_table_free(ctx, table);
}

static int begin(void **state) {
    int code = setup(state);
    snprintf(known, sizeof known, "%s.by", path);
    return code;
}

static int end(void **state) {
    return teardown(state) | remove(known);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_prevalence), cmocka_unit_test(one_cohort),
                                       cmocka_unit_test(one_validation)};
    return cmocka_run_group_tests(tests, begin, end);
}
