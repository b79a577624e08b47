/* Another model's probabilities and votes from a file: contents, errors with positions, failing allocations. */
#include "fixture.h"

#include "base/base.h"

static const pv_probs_options by_target = {.target = "y"};

static pv_probs *must_read_probs(const char *text, const pv_probs_options *options) {
    pv_probs *probs = NULL;
    put(text, strlen(text));
    ok(pv_probs_read(ctx, path, options, &probs));
    assert_non_null(probs);
    return probs;
}

static void refused(const char *text, const pv_probs_options *options, pv_status status, const char *part, size_t line,
                    size_t column) {
    pv_probs *probs = NULL;
    put(text, strlen(text));
    assert_int_equal(pv_probs_read(ctx, path, options, &probs), status);
    assert_null(probs);
    says(part);
    at(line, column);
}

static void test_by_prefix(void **state) {
    (void)state;
    pv_probs *probs =
        must_read_probs("id,p__a b,y,p__2,p__\n7,0.25,2,0.75,x\nx,1,2.0,0,1\n8,0.5,a b,0.5001,\n", &by_target);
    assert_int_equal(probs->classes, 2); /* "p__" alone does not name a label */
    assert_string_equal(probs->labels[0], "a b");
    assert_string_equal(probs->labels[1], "2");
    assert_int_equal(probs->data->rows, 3);
    const int32_t label[] = {1, 1, 0};
    assert_memory_equal(probs->data->label, label, sizeof label); /* 2.0 is 2 */
    near(probs->p[0], 0.25, 0);
    near(probs->p[3], 0, 0);
    near(probs->p[4] + probs->p[5], 1, 1e-15); /* deviations within the tolerance are normalised away */
    near(probs->p[4], 0.5 / 1.0001, 1e-15);
    pv_probs_free(ctx, probs);
}

static void test_one_column(void **state) {
    (void)state;
    pv_probs_options options = {.target = "y", .columns = "case=risk"};
    pv_probs *probs = must_read_probs("risk,y\n0.2,healthy\n0.9,case\n", &options);
    assert_int_equal(probs->classes, 2);
    assert_string_equal(probs->labels[0], "healthy");
    assert_string_equal(probs->labels[1], "case");
    near(probs->p[0], 0.8, 0);
    near(probs->p[3], 0.9, 0);
    pv_probs_free(ctx, probs);
    options.positive = "healthy";
    probs = must_read_probs("risk,y\n0.2,healthy\n0.9,case\n", &options);
    assert_string_equal(probs->labels[1], "healthy");
    near(probs->p[1], 0.8, 0);
    assert_int_equal(probs->data->label[0], 1);
    pv_probs_free(ctx, probs);
    options = (pv_probs_options){.columns = "case=risk"}; /* without an outcome there is no name */
    probs = must_read_probs("risk,y\n0.2,healthy\n", &options);
    assert_string_equal(probs->labels[0], "control");
    near(probs->p[1], 0.2, 0);
    pv_probs_free(ctx, probs);
    refused("p__case\n0.2\n", &(pv_probs_options){0}, PV_ERR_INPUT, "`columns=case=p__case`", 0, 0);
}

/* All other columns are kept unchanged. */
static void test_all_columns(void **state) {
    (void)state;
    pv_probs_options options = {.all = true};
    pv_probs *probs = must_read_probs("id,p__no,age,p__yes\n007,0.25,3,0.75\nb,1,x,0\n", &options);
    assert_int_equal(probs->classes, 2);
    assert_int_equal(probs->column[1], 3);
    near(probs->p[1], 0.75, 0);
    assert_string_equal(text_at(probs->table, 0, 0), "007");
    assert_string_equal(text_at(probs->table, 1, 2), "x");
    pv_probs_free(ctx, probs);
    options.columns = "yes=risk";
    probs = must_read_probs("p__no,risk\nany,0.75\n", &options);
    assert_int_equal(probs->column[0], 2);
    assert_int_equal(probs->column[1], 1);
    assert_string_equal(probs->labels[0], "no");
    assert_string_equal(text_at(probs->table, 0, 0), "any");
    pv_probs_free(ctx, probs);
    refused("p__0,p__1\n50,50\n", &(pv_probs_options){.all = true}, PV_ERR_INPUT, "divide percentages by 100", 2, 1);
    refused("p__0,p__1\n0.5,0.5\n0.5,0.4\n", &(pv_probs_options){.all = true}, PV_ERR_INPUT, "row 2 add up to 0.9", 3,
            0);
    refused("p__0,p__1\nhigh,low\n", &(pv_probs_options){.all = true}, PV_ERR_INPUT, "is not a number", 2, 1);
}

static void test_missing(void **state) {
    (void)state;
    const char text[] = "p__0,p__1,y,w\n0.1,0.9,1,2\n0.2,0.8,,1\n,0.8,1,1\n0.3,0.7,0,0\n0.6,0.4,0,3\n";
    pv_probs_options options = {.target = "y", .weights = "w"};
    refused(text, &options, PV_ERR_INPUT, "'y' is missing here (rows with missing cells: 2 of 5)", 3, 3);
    options.drop_missing = true;
    pv_probs *probs = must_read_probs(text, &options);
    assert_int_equal(probs->data->rows, 2);
    assert_int_equal(probs->data->dropped, 2);
    assert_int_equal(probs->data->zero_weight, 1);
    near(probs->p[3], 0.4, 1e-15);
    near(probs->data->weight[1], 3, 0);
    pv_probs_free(ctx, probs);
}

static void test_refused(void **state) {
    (void)state;
    refused("p__0,p__1,y\n0.5,0.5,1\n1.5,-0.5,0\n", &by_target, PV_ERR_INPUT, "1.5 in column 'p__0'", 3, 1);
    refused("p__0,p__1,y\n0.5,0.5,1\n0.5,inf,0\n", &by_target, PV_ERR_INPUT, "infinite", 3, 2);
    refused("p__0,p__1,y\n0.5,0.5,1\n0.5,0.49,0\n", &by_target, PV_ERR_INPUT, "add up to 0.99", 3, 0);
    refused("p__0,p__1,y\n0.5,0.5,1\n0,0,0\n", &by_target, PV_ERR_INPUT, "add up to 0,", 3, 0);
    refused("p__0,p__1,y\n0.5,0.5,b\n", &by_target, PV_ERR_INPUT, "'b' in column 'y'", 2, 3);
    refused("q0,q1,y\n0.5,0.5,1\n", &by_target, PV_ERR_INPUT, "no column is named p__LABEL", 0, 0);
    refused("p__0,p__1\n0.5,0.5\n", &by_target, PV_ERR_USAGE, "no column 'y'", 0, 0);
    refused("p__1,p__1.0,y\n0.5,0.5,1\n", &by_target, PV_ERR_USAGE, "two columns", 0, 0);
    pv_probs_options options = {.target = "y", .columns = "0=,1=b"};
    refused("a,b,y\n0.5,0.5,1\n", &options, PV_ERR_USAGE, "LABEL=COLUMN", 0, 0);
    options.columns = "=a,1=b";
    refused("a,b,y\n0.5,0.5,1\n", &options, PV_ERR_USAGE, "LABEL=COLUMN", 0, 0);
    options.columns = "";
    refused("a,b,y\n0.5,0.5,1\n", &options, PV_ERR_USAGE, "", 0, 0);
}

static void test_votes(void **state) {
    (void)state;
    static char zero[] = "0", one[] = "1";
    char *labels[] = {zero, one};
    pv_table *table = read_text("n=1,b,c\n3,1,x\n0,0,x\n1,,x\n");
    double frequency[4], weight[2] = {1, 1};
    size_t rows[] = {0, 2}, dropped = 0;
    assert_int_equal(pv_votes_read(ctx, table, "n=1,b", labels, 2, rows, 2, false, frequency, weight, &dropped),
                     PV_ERR_INPUT);
    says("a vote is missing");
    at(4, 2);
    ok(pv_votes_read(ctx, table, "n=1,b", labels, 2, rows, 2, true, frequency, weight, &dropped));
    near(frequency[0], 0.75, 0);
    near(frequency[3], 0.5, 0);
    assert_true(weight[0] == 1 && weight[1] == 0 && dropped == 1);
    rows[0] = 1;
    assert_int_equal(pv_votes_read(ctx, table, "n=1,b", labels, 2, rows, 1, true, frequency, weight, &dropped),
                     PV_ERR_INPUT);
    says("no votes");
    assert_int_equal(pv_votes_read(ctx, table, "0=b,0=n=1", labels, 2, rows, 1, true, frequency, weight, &dropped),
                     PV_ERR_USAGE);
    says("twice");
    assert_int_equal(pv_votes_read(ctx, table, "2=b,b", labels, 2, rows, 1, true, frequency, weight, &dropped),
                     PV_ERR_USAGE);
    says("no label '2'");
    assert_int_equal(pv_votes_read(ctx, table, "b,c", labels, 2, rows, 1, true, frequency, weight, &dropped),
                     PV_ERR_INPUT);
    says("not a number");
    pv_table_free(ctx, table);
}

static pv_status read_all(pv_ctx *poor) {
    pv_probs *probs;
    pv_probs_options options = {.target = "y", .weights = "w", .also = "v", .positive = "0"};
    PV_TRY(pv_probs_read(poor, path, &options, &probs));
    double frequency[4], weight[2];
    size_t dropped = 0;
    pv_status status = pv_votes_read(poor, probs->table, "w,v", probs->labels, 2, probs->data->table_row, 2, false,
                                     frequency, weight, &dropped);
    pv_probs_free(poor, probs);
    PV_TRY(status);
    options = (pv_probs_options){.target = "y", .columns = "1=p__1"};
    PV_TRY(pv_probs_read(poor, path, &options, &probs));
    pv_probs_free(poor, probs);
    return PV_OK;
}

static void test_lack_of_memory(void **state) {
    (void)state;
    static const char text[] = "p__0,p__1,y,w,v\n0.1,0.9,1,2,1\n0.2,0.8,0,1,3\n";
    put(text, sizeof text - 1);
    sweep_memory(read_all);
}

/* A failed read leaves nothing behind, so it can be repeated. */
static void test_second_attempt(void **state) {
    (void)state;
    pv_probs *probs =
        must_read_probs("g,p__0,p__1\na,0.8,0.2\nb,0.4,0.6\n", &(pv_probs_options){.strata = "g", .all = true});
    assert_int_equal(pv_probs_from_read(ctx, probs, "2", NULL), PV_ERR_USAGE);
    assert_null(probs->from);
    put("g,prevalence\na,0.3\n", strlen("g,prevalence\na,0.3\n")); /* none for b */
    assert_int_not_equal(pv_probs_from_read(ctx, probs, path, NULL), PV_OK);
    assert_null(probs->from);
    ok(pv_probs_from_read(ctx, probs, "0.3", NULL));
    near(probs->from[3], 0.3, 0);
    pv_probs_free(ctx, probs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_prefix),      cmocka_unit_test(test_one_column),
        cmocka_unit_test(test_all_columns),    cmocka_unit_test(test_missing),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_votes),
        cmocka_unit_test(test_lack_of_memory), cmocka_unit_test(test_second_attempt),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
