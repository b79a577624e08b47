/* Risk along columns: rows weighted to the population, in bins and levels, with indicators of missing cells. */
#include <math.h>

#include "fixture.h"

enum { ROWS = 64 };

/* dose is 0 .. 7 with eight rows each, and is missing in every ninth row; town is missing in every fifth. In the sample
 * the risk increases with the dose alone. */
static void put_study(void) {
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text, "dose,town,age,ill\n");
    for (int i = 0; i < ROWS; i++) {
        char dose[16] = "";
        if (i % 9 != 0)
            snprintf(dose, sizeof dose, "%d", i / 8);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s,%s,%d,%d\n", dose,
                                 i % 5 == 0 ? ""
                                 : i % 2    ? "a"
                                            : "b",
                                 40 + i * 7 % 23, i % 8 <= i / 8);
    }
    put(text, used);
}

typedef struct work {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_prediction said;
    double p[2 * ROWS], prevalence[2];
} work;

static void begin(work *w) {
    pv_roles roles = {.target = "ill", .missing = PV_MISSING_INDICATOR};
    put_study();
    w->table = must_read(&(pv_csv_options){.roles = &roles});
    ok(pv_schema_learn(ctx, w->table, &roles, &w->schema, &w->data));
    w->prevalence[0] = 0.98;
    w->prevalence[1] = 0.02;
    for (int i = 0; i < ROWS; i++) {
        w->p[2 * i] = 0.97;
        w->p[2 * i + 1] = 0.03;
    }
    w->said = (pv_prediction){.rows = w->data->rows, .classes = 2, .p = w->p, .prevalence = w->prevalence};
}

static void end(work *w) {
    pv_dataset_free(ctx, w->data);
    pv_schema_free(ctx, w->schema);
    pv_table_free(ctx, w->table);
}

static const pv_column_risk *column(const work *w, const pv_column_risks *risks, const char *name) {
    for (size_t i = 0; i < risks->count; i++)
        if (strcmp(w->schema->source[risks->column[i].source].name, name) == 0)
            return &risks->column[i];
    fail_msg("no column %s", name);
    return NULL;
}

/* Computed from the rows themselves: those with this value that are not missing. */
static double risk_by_hand(const work *w, bool (*here)(int row)) {
    double cases = 0, controls = 0, all[2] = {0};
    for (int i = 0; i < ROWS; i++) {
        bool ill = i % 8 <= i / 8;
        all[ill]++;
        if (here(i))
            *(ill ? &cases : &controls) += 1;
    }
    double a = w->prevalence[1] * cases / all[1], b = w->prevalence[0] * controls / all[0];
    return a / (a + b);
}

static bool dose_3(int i) {
    return i / 8 == 3 && i % 9 != 0;
}
static bool town_b(int i) {
    return i % 5 != 0 && i % 2 == 0;
}
static bool town_missing(int i) {
    return i % 5 == 0;
}

static void rows_are_weighted_to_the_population(void **state) {
    (void)state;
    work w;
    begin(&w);
    pv_column_risks *risks;
    ok(pv_column_risks_new(ctx, w.schema, w.data, &w.said, 0.9, &risks));
    assert_int_equal(risks->count, 3);
    assert_int_equal(risks->positive, 1);
    assert_true(risks->column[0].away >= risks->column[1].away && risks->column[1].away >= risks->column[2].away);

    const pv_column_risk *dose = column(&w, risks, "dose");
    assert_null(dose->level);
    assert_int_equal(dose->bins, 8);
    for (size_t b = 0; b < dose->bins; b++) {
        CHECK_NEAR(dose->x[b], (double)b, 1e-12);
        CHECK_NEAR(dose->predicted[b], 0.03, 1e-12);
        assert_true(dose->lo[b] < dose->hi[b]);
    }
    CHECK_NEAR(dose->observed[3], risk_by_hand(&w, dose_3), 1e-12);
    assert_true(dose->lo[3] < dose->observed[3] && dose->observed[3] < dose->hi[3]);

    const pv_column_risk *town = column(&w, risks, "town");
    assert_int_equal(town->bins, 3);
    assert_string_equal(w.schema->source[town->source].level[town->level[1]], "b");
    CHECK_NEAR(town->observed[1], risk_by_hand(&w, town_b), 1e-12);
    assert_int_equal(town->level[2], -1);
    CHECK_NEAR(town->observed[2], risk_by_hand(&w, town_missing), 1e-12);

    const pv_column_risk *age = column(&w, risks, "age"); /* after both indicators */
    assert_true(age->x[0] >= 40 && age->x[age->bins - 1] <= 63);
    pv_column_risks_free(ctx, risks);
    end(&w);
}

/* Twenty towns whose alphabetical order is opposite to their sizes, and rows without one: the largest are kept, and the
 * rest are counted.
 */
static void of_many_levels_the_heaviest_are_kept(void **state) {
    (void)state;
    enum { TOWNS = 20, PLACES = TOWNS + 1 };
    char text[8192];
    size_t used = (size_t)snprintf(text, sizeof text, "town,ill\n"), rows = 0;
    for (int t = 0; t < PLACES; t++)
        for (int i = 0; i < 2 * (t + 1); i++, rows++) {
            char town[16] = "";
            if (t < TOWNS)
                snprintf(town, sizeof town, "t%02d", t);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s,%d\n", town, i % 2);
        }
    put(text, used);
    pv_roles roles = {.target = "ill", .missing = PV_MISSING_INDICATOR};
    pv_schema *schema;
    pv_dataset *data;
    pv_table *table = must_read(&(pv_csv_options){.roles = &roles});
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    double *p = calloc(2 * rows, sizeof *p), half[] = {0.5, 0.5};
    for (size_t i = 0; i < 2 * rows; i++)
        p[i] = 0.5;
    pv_prediction said = {.rows = rows, .classes = 2, .p = p, .prevalence = half};
    pv_column_risks *risks;
    ok(pv_column_risks_new(ctx, schema, data, &said, 0.9, &risks));
    const pv_column_risk *town = &risks->column[0];
    assert_int_equal(town->bins, 12);
    assert_int_equal(town->left_out, PLACES - 12);
    assert_string_equal(schema->source[0].level[town->level[0]], "t09");
    assert_int_equal(town->level[11], -1);
    pv_column_risks_free(ctx, risks);
    free(p);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
}

static void half_a_row_stands_where_a_label_has_none(void **state) {
    (void)state;
    work w;
    begin(&w);
    for (size_t i = 0; i < w.data->rows; i++)
        w.data->label[i] = i >= 32;
    pv_column_risks *risks;
    ok(pv_column_risks_new(ctx, w.schema, w.data, &w.said, 0.9, &risks));
    const pv_column_risk *dose = column(&w, risks, "dose");
    assert_true(isnan(dose->observed[0]));
    assert_true(dose->lo[0] > 0 && dose->lo[0] < dose->hi[0] && dose->hi[0] < 1);
    CHECK_NEAR(dose->observed[7], 0.02 * 7.5 / 32 / (0.02 * 7.5 / 32 + 0.98 * 0.5 / 32), 1e-12);
    pv_column_risks_free(ctx, risks);

    for (size_t i = 0; i < w.data->rows; i++)
        w.data->label[i] = 0;
    ok(pv_column_risks_new(ctx, w.schema, w.data, &w.said, 0.9, &risks));
    assert_int_equal(risks->count, 0);
    pv_column_risks_free(ctx, risks);
    end(&w);
}

static void misuse_is_refused(void **state) {
    (void)state;
    work w;
    begin(&w);
    pv_column_risks *risks;
    assert_int_equal(pv_column_risks_new(ctx, w.schema, w.data, &w.said, 1, &risks), PV_ERR_USAGE);
    says("an interval's level must lie between 0 and 1");
    w.said.prevalence = NULL;
    assert_int_equal(pv_column_risks_new(ctx, w.schema, w.data, &w.said, 0.9, &risks), PV_ERR_USAGE);
    says("a prediction that knows its prevalence");
    w.said.prevalence = w.prevalence;
    w.said.rows--;
    assert_int_equal(pv_column_risks_new(ctx, w.schema, w.data, &w.said, 0.9, &risks), PV_ERR_USAGE);
    says("not of one table");
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_weighted_to_the_population), cmocka_unit_test(of_many_levels_the_heaviest_are_kept),
        cmocka_unit_test(half_a_row_stands_where_a_label_has_none), cmocka_unit_test(misuse_is_refused)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
