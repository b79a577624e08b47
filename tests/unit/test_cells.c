/* Missing cells, levels that training did not have, the order of levels, and columns that are not measurements.
 */
#include "learned.h"

static void same(double got, double wanted) {
    if (!(fabs(got - wanted) < 1e-12))
        fail_msg("%.17g is not %.17g", got, wanted);
}

static void has_feature(const learned *l, int feature, const char *name) {
    assert_true(feature < l->schema->features);
    assert_string_equal(l->schema->feature[feature], name);
}

/* ---- missing cells ----------------------------------------------------------------------------------------------- */

static const char gaps[] = "a,g,y\n1,u,0\n3,v,1\n,v,0\n5,,1\n3,v,1\n";

/* Means and frequencies are computed from the cells that are present. */
static void imputes(void **state) {
    (void)state;
    learned l;
    ok(learn(gaps, ROLES(.missing = PV_MISSING_IMPUTE), &l));
    assert_int_equal(l.data->rows, 5);
    assert_int_equal(l.schema->features, 2);
    same(l.schema->source[0].mean, 3);
    same(l.schema->source[0].sd, sqrt(2));
    same(x(l.data, 2, 0), 0);
    same(x(l.data, 3, 1), 1); /* v is the most frequent level */
    same(l.schema->source[1].rows[0], 1);
    same(l.schema->source[1].rows[1], 3);
    /* A model that imputes does so in any table. */
    pv_table *table;
    pv_dataset *data = NULL;
    ok(apply("a,g,y\n,,0\n5,u,1\n", &l, pv_schema_roles(l.schema), &table, &data));
    same(x(data, 0, 0), 0);
    same(x(data, 0, 1), 1);
    same(x(data, 1, 1), 0);
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, table);
    apply_refused("a,g,y\n,,0\n5,u,1\n", &l, ROLES(.missing = PV_MISSING_REFUSE), "'a' is missing", "drop");
    forget(&l);
    refused("a,y\n1,0\n2,\n3,1\n", ROLES(.missing = PV_MISSING_IMPUTE), "'y' is missing", "`missing=drop`");
    refused("a,b,y\n1,,0\n2,,1\n", ROLES(.missing = PV_MISSING_IMPUTE, .constant = PV_CONSTANT_REFUSE),
            "same value in every row: b", "`exclude=");
}

static void indicates(void **state) {
    (void)state;
    learned l;
    ok(learn(gaps, ROLES(.missing = PV_MISSING_INDICATOR), &l));
    assert_int_equal(l.schema->features, 4);
    has_feature(&l, 0, "a");
    has_feature(&l, 1, "a (missing)");
    has_feature(&l, 2, "g=v");
    has_feature(&l, 3, "g (missing)");
    for (size_t i = 0; i < 5; i++) {
        same(x(l.data, i, 1), i == 2);
        same(x(l.data, i, 3), i == 3);
    }
    same(x(l.data, 2, 0), 0);
    same(x(l.data, 3, 2), 0);
    forget(&l);
    /* Without missing cells there is no indicator. */
    ok(learn("a,g,y\n1,u,0\n3,v,1\n2,v,0\n", ROLES(.missing = PV_MISSING_INDICATOR), &l));
    assert_int_equal(l.schema->features, 2);
    pv_table *table;
    pv_dataset *data = NULL;
    ok(apply("a,g\n,\n", &l, (pv_roles){.missing = PV_MISSING_MODEL}, &table, &data));
    same(x(data, 0, 0), 0);
    same(x(data, 0, 1), 1);
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, table);
    forget(&l);
}

/* ---- unknown levels ---------------------------------------------------------------------------------------------- */

/* Levels p and q have 3 rows and 1 row, u and v many. */
static void learn_rare(learned *l, int missing) {
    char text[4000], *end = text + sprintf(text, "a,g,y\n");
    for (int i = 0; i < 60; i++)
        end += sprintf(end, "%d,%s,%d\n", i * 7 % 13, i < 3 ? "p" : i == 3 ? "q" : i % 2 ? "u" : "v", i % 3 == 0);
    if (missing)
        sprintf(end, "1,,0\n2,,1\n");
    ok(learn(text, ROLES(.missing = missing), l));
}

static void applied_unseen(const learned *l, int unseen, int n, const double *wanted) {
    pv_table *table;
    pv_dataset *data = NULL;
    ok(apply("a,g\n1,u\n2,Mars\n3,v\n4,Venus\n", l, (pv_roles){.unseen = unseen}, &table, &data));
    assert_int_equal(data->unseen, 2);
    assert_int_equal(data->rows, 4);
    assert_int_equal(l->schema->features, n + 1);
    for (int f = 0; f < n; f++) {
        same(x(data, 1, f + 1), wanted[f]);
        same(x(data, 3, f + 1), wanted[f]);
    }
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, table);
}

static void predicts_unseen_levels(void **state) {
    (void)state;
    learned l;
    learn_rare(&l, PV_MISSING_REFUSE);
    has_feature(&l, 1, "g=q");
    has_feature(&l, 3, "g=v");
    applied_unseen(&l, PV_UNSEEN_OTHER, 3,
                   (const double[]){0.25, 0, 0}); /* three of the four rare rows have the reference level */
    applied_unseen(&l, PV_UNSEEN_REFERENCE, 3, (const double[]){0, 0, 0});
    applied_unseen(&l, PV_UNSEEN_MISSING, 3,
                   (const double[]){0, 1, 0}); /* u and v have 28 rows each: the first is used */
    apply_refused("a,g\n1,u\n2,Mars\n", &l, (pv_roles){.unseen = PV_UNSEEN_REFUSE}, "'Mars' in column 'g'", "`unseen`");
    at(3, 2);
    forget(&l);
    learn_rare(&l, PV_MISSING_INDICATOR);
    has_feature(&l, 4, "g (missing)");
    applied_unseen(&l, PV_UNSEEN_OTHER, 4, (const double[]){0.25, 0, 0, 0});
    applied_unseen(&l, PV_UNSEEN_MISSING, 4, (const double[]){0, 0, 0, 1});
    forget(&l);
}

/* If no level of training was rare, or all were, unknown levels count as missing. */
static void falls_back_to_missing(void **state) {
    (void)state;
    learned l;
    char text[4000], *end = text + sprintf(text, "a,g,y\n");
    for (int i = 0; i < 60; i++)
        end += sprintf(end, "%d,%s,%d\n", i * 7 % 13, i % 3 ? "v" : "u", i % 4 == 0);
    ok(learn(text, plain, &l));
    applied_unseen(&l, PV_UNSEEN_OTHER, 1, (const double[]){1});
    forget(&l);
    ok(learn("a,g,y\n1,u,0\n3,v,1\n2,v,0\n", plain, &l));
    applied_unseen(&l, PV_UNSEEN_OTHER, 1, (const double[]){1});
    forget(&l);
}

/* A fold may lack a level of the table; held-out rows with it follow the same rule. */
static void folds_meet_the_rule(void **state) {
    (void)state;
    learned l;
    learn_rare(&l, PV_MISSING_REFUSE);
    size_t rows[59], n = 0;
    for (size_t i = 0; i < 60; i++)
        if (i != 3) /* the only row of q */
            rows[n++] = i;
    pv_dataset *training = NULL, *left = NULL;
    ok(pv_dataset_take(ctx, l.data, n, rows, &training));
    ok(pv_dataset_take(ctx, l.data, 2, (const size_t[]){3, 4}, &left));
    pv_schema *scaled = NULL;
    ok(pv_schema_rescale(ctx, l.schema, training, &scaled));
    same(scaled->source[1].rows[0], 3);
    same(scaled->source[1].rows[1], 0);
    pv_dataset_rescale(l.schema, scaled, left);
    same(x(left, 0, 1), 0); /* not q any more, but like the rare levels: only p, the reference */
    same(x(left, 0, 2), 0);
    same(x(left, 0, 3), 0);
    same(x(left, 1, 3), 1);
    pv_schema_free(ctx, scaled);
    pv_dataset_free(ctx, training);
    pv_dataset_free(ctx, left);
    forget(&l);
}

/* ---- the order of levels ----------------------------------------------------------------------------------------- */

static void has_levels(const char *cells, const char *joined) {
    learned l;
    char text[400], *end = text + sprintf(text, "g,y\n");
    int i = 0;
    for (const char *cell = cells; *cell; cell += strcspn(cell, ",") + (cell[strcspn(cell, ",")] == ','))
        end += sprintf(end, "%.*s,%d\n", (int)strcspn(cell, ","), cell, i++ % 2);
    sprintf(end, "%.*s,1\n", (int)strcspn(cells, ","), cells);
    ok(learn(text, ROLES(.collinear = PV_COLLINEAR_KEEP), &l));
    char got[400] = "";
    for (int32_t k = 0; k < l.schema->source[0].levels; k++)
        sprintf(got + strlen(got), "%s%s", k ? "," : "", l.schema->source[0].level[k]);
    assert_string_equal(got, joined);
    forget(&l);
}

static void orders_levels(void **state) {
    (void)state;
    has_levels("10-14,5-9,15+,0-4", "0-4,5-9,10-14,15+");
    has_levels(">=80,<40,40-79", "<40,40-79,>=80");
    has_levels("stage10,stage2,stage1", "stage1,stage2,stage10");
    has_levels("b,B,a,07x,7x", "07x,7x,B,a,b");
    has_levels("Unknown,white,black", "black,Unknown,white");
    has_levels("missing,white,other", "other,missing,white");
    has_levels("unknown,missing", "missing,unknown"); /* one of them must be first */
}

/* ---- columns that are not measurements ------------------------------------------------------------------------------
 */

static char logged[2000];

static void keep_log(void *state, pv_log_level level, const char *message) {
    (void)state;
    if (level == PV_LOG_WARNING)
        snprintf(logged + strlen(logged), sizeof logged - strlen(logged), "%s\n", message);
}

static void learn_logged(const char *text, learned *l) {
    pv_ctx_options options = pv_ctx_options_default();
    pv_ctx *own, *old = ctx;
    options.log = keep_log;
    *logged = '\0';
    ok(pv_ctx_new(&options, &own));
    ctx = own;
    ok(learn(text, plain, l));
    ctx = old;
    pv_dataset_free(own, l->data);
    pv_schema_free(own, l->schema);
    pv_table_free(own, l->table);
    pv_ctx_free(own);
}

static void warns_of_ids(void **state) {
    (void)state;
    static const struct {
        const char *name, *why;
        int factor, modulus;
    } columns[] = {{"row", "in row order", 1, 1000},
                   {"number", "a different whole number", 37, 101},
                   {"patient_id", "named like an id", 3, 20},
                   {"subjectID", "named like an id", 3, 20},
                   {"valid", NULL, 3, 20},
                   {"PAID", NULL, 3, 20}};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        char text[4000], *end = text + sprintf(text, "%s,y\n", columns[c].name);
        for (int i = 0; i < 60; i++)
            end += sprintf(end, "%d,%d\n", i * columns[c].factor % columns[c].modulus, i * i % 7 < 3);
        learned l;
        learn_logged(text, &l);
        if (!columns[c].why)
            assert_string_equal(logged, "");
        else if (!strstr(logged, columns[c].why) || !strstr(logged, "`id="))
            fail_msg("column '%s': '%s' is not in '%s'", columns[c].name, columns[c].why, logged);
    }
}

static void finds_leaks(void **state) {
    (void)state;
    char text[8000], *end = text + sprintf(text, "a,copy,text,odd,nearly,y\n");
    for (int i = 0; i < 80; i++)
        end += sprintf(end, "%d,%g,%s,%d,%d,%d\n", i * 7 % 13, i % 2 ? 2.5 : -1.5, i % 2 ? "ill" : "well",
                       i % 20 == 4 ? 1 : i % 2, i == 4 ? 1 : i % 2, i % 2);
    learned l;
    ok(learn(text, plain, &l));
    assert_true(l.schema->source[0].auc == 0 && l.schema->source[3].auc == 0);
    assert_true(l.schema->source[1].auc == 1 && l.schema->source[2].auc == 1);
    assert_true(fabs(l.schema->source[4].auc - 0.9875) < 1e-12);
    forget(&l);
}

/* ---- collinear columns ------------------------------------------------------------------------------------------- */

static void names_all_collinear_columns(void **state) {
    (void)state;
    learned l;
    learn_logged("a,b,c,d,y\n1,3,2,4,0\n2,1,4,3,1\n4,5,8,9,0\n7,2,14,9,1\n5,5,10,10,1\n8,1,16,9,0\n", &l);
    assert_non_null(strstr(logged, "'c' is a linear function of a"));
    assert_non_null(strstr(logged, "'d' is determined exactly by a, b"));
    assert_non_null(strstr(logged, "Only the prior determines"));
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static pv_status learn_once(pv_ctx *poor) {
    pv_roles roles = ROLES(.missing = PV_MISSING_INDICATOR);
    pv_csv_options options = {.roles = &roles};
    pv_table *table = NULL;
    pv_schema *schema = NULL, *scaled = NULL;
    pv_dataset *data = NULL, *applied = NULL;
    pv_status status = pv_table_read(poor, path, &options, &table);
    if (status == PV_OK)
        status = pv_schema_learn(poor, table, &roles, &schema, &data);
    if (status == PV_OK)
        status = pv_schema_rescale(poor, schema, data, &scaled);
    if (status == PV_OK)
        status = pv_schema_apply(poor, scaled, table, &roles, &applied);
    pv_dataset_free(poor, applied);
    pv_dataset_free(poor, data);
    pv_schema_free(poor, scaled);
    pv_schema_free(poor, schema);
    pv_table_free(poor, table);
    return status;
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    char text[4000], *end = text + sprintf(text, "id,g,y\n");
    for (int i = 0; i < 60; i++)
        end += sprintf(end, "%d,%s,%d\n", i, i % 7 ? i % 2 ? "u" : "v" : "", i % 3 == 0);
    put(text, strlen(text));
    sweep_memory(learn_once);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(imputes),
                                       cmocka_unit_test(indicates),
                                       cmocka_unit_test(predicts_unseen_levels),
                                       cmocka_unit_test(falls_back_to_missing),
                                       cmocka_unit_test(folds_meet_the_rule),
                                       cmocka_unit_test(orders_levels),
                                       cmocka_unit_test(warns_of_ids),
                                       cmocka_unit_test(finds_leaks),
                                       cmocka_unit_test(names_all_collinear_columns),
                                       cmocka_unit_test(survives_lack_of_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
