/* Folds, and subsets of a data set's rows: compared with results of the same rows alone. */
#include "fixture.h"
#include "problem.h"

/* ---- folds ------------------------------------------------------------------------------------------------------- */

static void folds_are_stratified(void **state) {
    (void)state;
    problem s = nodules_of(ctx, 71, 130, 0.02, 5);
    int32_t fold[201], again[201], other[201];
    for (int64_t folds = 2; folds <= 7; folds++) {
        size_t count[7][2] = {{0}};
        ok(pv_folds_make(ctx, s.schema, s.data, folds, 9, 0, fold));
        ok(pv_folds_make(ctx, s.schema, s.data, folds, 9, 0, again));
        ok(pv_folds_make(ctx, s.schema, s.data, folds, 9, 1, other));
        assert_memory_equal(fold, again, sizeof fold);
        assert_memory_not_equal(fold, other, sizeof fold);
        for (size_t i = 0; i < 201; i++) {
            assert_true(fold[i] >= 0 && fold[i] < folds);
            count[fold[i]][s.data->label[i]]++;
        }
        for (int64_t f = 0; f < folds; f++) {
            assert_in_range(count[f][0], 130 / folds, 130 / folds + 1);
            assert_in_range(count[f][1], 71 / folds, 71 / folds + 1);
            assert_in_range(count[f][0] + count[f][1], 201 / folds, 201 / folds + 1);
        }
    }
    problem_free(ctx, &s);
}

static void folds_keep_groups(void **state) {
    (void)state;
    problem s = nodules_of(ctx, 150, 150, 0.02, 6);
    int32_t group[300], fold[300], of_group[60];
    size_t count[4][2] = {{0}};
    for (size_t i = 0; i < 300; i++)
        group[i] = (int32_t)(random_bits() % 60);
    s.data->group = group;
    ok(pv_folds_make(ctx, s.schema, s.data, 4, 1, 0, fold));
    s.data->group = NULL;
    for (size_t i = 0; i < 60; i++)
        of_group[i] = -1;
    for (size_t i = 0; i < 300; i++) {
        if (of_group[group[i]] < 0)
            of_group[group[i]] = fold[i];
        assert_int_equal(of_group[group[i]], fold[i]);
        count[fold[i]][s.data->label[i]]++;
    }
    for (int f = 0; f < 4; f++) /* 37.5 each, with groups of about 5 */
        for (int y = 0; y < 2; y++)
            assert_in_range(count[f][y], 33, 42);
    problem_free(ctx, &s);
}

static void folds_refuse(void **state) {
    (void)state;
    problem s = nodules_of(ctx, 4, 20, 0.02, 7);
    int32_t fold[24], group[24];
    assert_int_equal(pv_folds_make(ctx, s.schema, s.data, 1, 1, 0, fold), PV_ERR_USAGE);
    says("at least two");
    assert_int_equal(pv_folds_make(ctx, s.schema, s.data, 25, 1, 0, fold), PV_ERR_USAGE);
    says("only 24 rows");
    assert_int_equal(pv_folds_make(ctx, s.schema, s.data, 5, 1, 0, fold), PV_ERR_INPUT);
    says("label '1' has 4 rows, fewer than the 5 folds");
    assert_int_equal(pv_folds_make(ctx, NULL, s.data, 5, 1, 0, fold), PV_ERR_INPUT);
    says("label 2 has 4 rows");
    s.data->group = group;
    for (size_t i = 0; i < 24; i++)
        group[i] = s.data->label[i] ? 0 : (int32_t)i;
    assert_int_equal(pv_folds_make(ctx, s.schema, s.data, 3, 1, 0, fold), PV_ERR_INPUT);
    says("label '1' is in 1 group, all in one fold");
    for (size_t i = 0; i < 24; i++)
        group[i] = (int32_t)(i % 2);
    assert_int_equal(pv_folds_make(ctx, s.schema, s.data, 3, 1, 0, fold), PV_ERR_INPUT);
    says("there are 2 groups, fewer than the 3 folds");
    group[3] = -1;
    assert_int_equal(pv_folds_make(ctx, s.schema, s.data, 2, 1, 0, fold), PV_ERR_INPUT);
    says("row 4 has no group");
    s.data->group = NULL;
    problem_free(ctx, &s);
}

/* Groups with one label each, at least as many as folds: every fold gets one, in any order. */
static void folds_are_filled(void **state) {
    (void)state;
    for (int32_t folds = 2; folds <= 4; folds++)
        for (uint64_t seed = 0; seed < 50; seed++) {
            int32_t label[] = {0, 0, 0, 0, 1, 1, 1, 1}, group[] = {0, 0, 1, 1, 2, 2, 3, 3}, fold[8];
            size_t count[4] = {0};
            pv_dataset data = {.rows = 8, .label = label, .classes = 2, .group = group};
            ok(pv_folds_make(ctx, NULL, &data, folds, seed, 0, fold));
            for (size_t i = 0; i < 8; i++)
                count[fold[i]]++;
            for (int32_t f = 0; f < folds; f++)
                assert_true(count[f] > 0);
        }
}

/* A label without rows does not affect folds; rows without labels are an error. */
static void folds_need_labels(void **state) {
    (void)state;
    int32_t label[] = {0, 0, 2, 2}, fold[4];
    pv_dataset data = {.rows = 4, .label = label, .classes = 3};
    ok(pv_folds_make(ctx, NULL, &data, 2, 1, 0, fold));
    problem s = nodules_of(ctx, 6, 6, 0.02, 7);
    int32_t *kept = s.data->label;
    s.data->label = NULL;
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.02";
    pv_validation_options how = pv_validation_options_default();
    pv_validation *v;
    assert_int_equal(pv_cross_validate(ctx, s.schema, s.data, &options, &how, &v), PV_ERR_USAGE);
    says("folds need rows with labels");
    s.data->label = kept;
    problem_free(ctx, &s);
}

/* ---- subsets of rows --------------------------------------------------------------------------------------------- */

/* Rescaled subsets equal what is learned from a table with only these rows. */
static void taken_rows_are_learned_alike(void **state) {
    (void)state;
    const char *whole = "a,b,c,y\n1,4,u,0\n2,1e6,v,1\n7,-3,u,1\n4,5,v,0\n9,2,w,1\n", *part =
                                                                                         "a,b,c,y\n2,1e6,v,1\n4,5,v,"
                                                                                         "0\n9,2,u,1\n";
    pv_roles some = {.target = "y", .collinear = PV_COLLINEAR_KEEP};
    pv_table *table = read_text(whole), *other;
    pv_schema *schema, *wanted;
    pv_dataset *data, *taken, *learned;
    ok(pv_schema_learn(ctx, table, &some, &schema, &data));
    other = read_text(part);
    ok(pv_schema_learn(ctx, other, &some, &wanted, &learned));
    const size_t rows[] = {1, 3, 4};
    ok(pv_dataset_take(ctx, data, 3, rows, &taken));
    pv_schema *scaled, *none;
    ok(pv_schema_rescale(ctx, schema, taken, &scaled));
    pv_dataset_rescale(schema, scaled, taken);
    for (size_t j = 0; j < 2; j++) {
        CHECK_NEAR(scaled->source[j].mean, wanted->source[j].mean, 1e-9 * fabs(wanted->source[j].mean));
        CHECK_NEAR(scaled->source[j].sd, wanted->source[j].sd, 1e-12 * wanted->source[j].sd);
        for (size_t i = 0; i < 3; i++)
            CHECK_NEAR(taken->x[i * 4 + j], learned->x[i * (size_t)learned->features + j], 1e-9);
    }
    const double indicators[3][2] = {{1, 0}, {1, 0}, {0, 1}}; /* c=v, c=w: defined by the whole table */
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(taken->table_row[i], rows[i]);
        assert_int_equal(taken->label[i], data->label[rows[i]]);
        for (size_t j = 0; j < 2; j++)
            CHECK_NEAR(taken->x[i * 4 + 2 + j], indicators[i][j], 0);
    }
    double weight[] = {1, 2, 3, 4, 5};
    pv_dataset *constant, *weighted;
    data->weight = weight;
    ok(pv_dataset_take(ctx, data, 3, rows, &weighted));
    data->weight = NULL;
    for (size_t i = 0; i < 3; i++)
        CHECK_NEAR(weighted->weight[i], weight[rows[i]], 0);
    pv_dataset_free(ctx, weighted);
    const size_t one[] = {2, 2};
    ok(pv_dataset_take(ctx, data, 2, one, &constant));
    assert_int_equal(pv_schema_rescale(ctx, schema, constant, &none), PV_ERR_INPUT);
    says("column 'a' has only one value");
    assert_null(none);
    pv_schema_free(ctx, scaled);
    pv_dataset_free(ctx, constant);
    pv_dataset_free(ctx, taken);
    pv_dataset_free(ctx, data);
    pv_dataset_free(ctx, learned);
    pv_schema_free(ctx, schema);
    pv_schema_free(ctx, wanted);
    pv_table_free(ctx, table);
    pv_table_free(ctx, other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_are_stratified), cmocka_unit_test(folds_keep_groups),
        cmocka_unit_test(folds_refuse),         cmocka_unit_test(folds_are_filled),
        cmocka_unit_test(folds_need_labels),    cmocka_unit_test(taken_rows_are_learned_alike),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
