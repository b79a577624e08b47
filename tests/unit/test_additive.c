/* Additive models: invariances of their fits, columns of all kinds, effects, files, and the result if the truth is a
 * straight line. tests/oracle/test_additive_oracle.c compares them with mgcv. */
#include "data/schema_learn.h"
#include "infer/infer.h"
#include "unit/fixture.h"

enum { MOST = 1200, COLUMNS_MOST = 64 };

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef struct made {
    size_t rows, columns;
    double x[COLUMNS_MOST][MOST], y[MOST], count[MOST];
    char level[MOST][4];
} made;

static made table_rows; /* too large for a stack */

/* Columns of normal numbers, levels p to s, no labels. */
static made *rows_of(size_t rows, size_t columns) {
    made *m = &table_rows;
    m->rows = rows;
    m->columns = columns;
    for (size_t i = 0; i < rows; i++) {
        pv_rng rng = pv_rng_stream(7, 1, i);
        for (size_t c = 0; c < columns; c++)
            m->x[c][i] = pv_rng_normal(&rng);
        snprintf(m->level[i], sizeof m->level[i], "%c", 'p' + (int)(i / 3 % 4));
        m->count[i] = 1;
    }
    return m;
}

/* Labels 0 .. classes-1, whose log odds are `shape` of the first two columns. */
static void label(made *m, int classes, double (*shape)(double a, double b)) {
    for (size_t i = 0; i < m->rows; i++) {
        pv_rng rng = pv_rng_stream(7, 2, i);
        double eta = shape(m->x[0][i], m->columns > 1 ? m->x[1][i] : 0);
        m->y[i] = pv_rng_uniform(&rng) < 1 / (1 + exp(-eta)) ? 1 + (int)(i % (size_t)(classes - 1)) : 0;
    }
}

static double straight(double a, double b) {
    return 0.8 * a - 0.5 * b;
}

static double curved(double a, double b) {
    return 1.2 * (a * a - 1) + 0.5 * b;
}

/* Row i of the table is row order(i) of m. */
static pv_table *table_of(const made *m, size_t step, bool levels, bool counts) {
    static double value[COLUMNS_MOST + 2][MOST];
    static const char *text[MOST];
    pv_table *table;
    ok(pv_table_new(ctx, "rows", m->rows, &table));
    for (size_t i = 0; i < m->rows; i++) {
        size_t row = i * step % m->rows;
        for (size_t c = 0; c < m->columns; c++)
            value[c][i] = m->x[c][row];
        value[m->columns][i] = m->y[row];
        value[m->columns + 1][i] = m->count[row];
        text[i] = m->level[row];
    }
    for (size_t c = 0; c < m->columns; c++) {
        char name[32];
        snprintf(name, sizeof name, "x%zu", c);
        ok(pv_table_add_numbers(ctx, table, name, PV_ARRAY_F64, value[c], PV_PACKED, NULL, false));
    }
    ok(pv_table_add_numbers(ctx, table, "y", PV_ARRAY_F64, value[m->columns], PV_PACKED, NULL, false));
    if (counts)
        ok(pv_table_add_numbers(ctx, table, "n", PV_ARRAY_F64, value[m->columns + 1], PV_PACKED, NULL, false));
    if (levels)
        ok(pv_table_add_texts(ctx, table, "level", text, NULL));
    return table;
}

typedef struct fitted {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c;
} fitted;

static pv_fit_options usual(void) {
    pv_fit_options o = pv_fit_options_default();
    o.model = "additive";
    o.prevalence = "0.1";
    return o;
}

static fitted fit_to(pv_table *table, bool counts, const pv_fit_options *options) {
    const pv_roles roles = {.target = "y",
                            .weights = counts ? "n" : NULL,
                            .constant = PV_CONSTANT_DROP,
                            .missing = PV_MISSING_INDICATOR,
                            .smooth = strcmp(options->model, "additive") == 0 ? HUGE_VAL : 0};
    fitted f = {.table = table};
    ok(pv_schema_learn(ctx, table, &roles, &f.schema, &f.data));
    ok(pv_fit(ctx, f.schema, f.data, options, &f.c));
    return f;
}

static void release(fitted *f) {
    pv_classifier_free(ctx, f->c);
    pv_dataset_free(ctx, f->data);
    pv_schema_free(ctx, f->schema);
    pv_table_free(ctx, f->table);
}

static void check_alike(const fitted *a, const fitted *b, double tolerance) {
    assert_int_equal(a->c->smoothing->count, b->c->smoothing->count);
    for (size_t g = 0; g < a->c->smoothing->count; g++)
        near(a->c->smoothing->scale[g] / b->c->smoothing->scale[g], 1, 1e-12);
    assert_int_equal(pv_model_params(a->c->model), pv_model_params(b->c->model));
    for (size_t i = 0; i < pv_model_params(a->c->model); i++)
        near(a->c->w[i], b->c->w[i], tolerance);
}

/* ---- invariances ------------------------------------------------------------------------------------------------- */

static void test_order(void **state) {
    (void)state;
    made *m = rows_of(200, 3);
    label(m, 2, curved);
    const pv_fit_options o = usual();
    fitted f = fit_to(table_of(m, 1, true, false), false, &o), other = fit_to(table_of(m, 37, true, false), false, &o);
    check_alike(&f, &other, 1e-8);
    release(&f);
    release(&other);
}

/* A row with count three equals three rows. */
static void test_counts(void **state) {
    (void)state;
    made *m = rows_of(150, 2);
    label(m, 2, curved);
    for (size_t i = 0; i < m->rows; i++)
        m->count[i] = 3;
    const pv_fit_options o = usual();
    fitted f = fit_to(table_of(m, 1, true, true), true, &o);
    for (size_t i = m->rows; i < 3 * m->rows; i++) {
        for (size_t c = 0; c < m->columns; c++)
            m->x[c][i] = m->x[c][i - 150];
        m->y[i] = m->y[i - 150];
        memcpy(m->level[i], m->level[i - 150], sizeof m->level[i]);
    }
    m->rows *= 3;
    fitted other = fit_to(table_of(m, 1, true, false), false, &o);
    check_alike(&f, &other, 1e-7);
    release(&f);
    release(&other);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static size_t curves_of(const pv_schema *schema, const char *column) {
    for (size_t t = 0; t < schema->terms; t++)
        if (schema->term[t].kind == PV_TERM_SMOOTH && strcmp(schema->term[t].column[0], column) == 0)
            return schema->term[t].features;
    return 0;
}

static double worst_risk(const fitted *f, const pv_table *table) {
    pv_dataset *data;
    pv_prediction *prediction;
    double worst = 0;
    ok(pv_dataset_of_table(ctx, f->c->schema, table, &data));
    ok(pv_predict_in(ctx, f->c, data, "true", NULL, &prediction));
    for (size_t i = 0; i < 2 * data->rows; i++) {
        double p = prediction->p[i];
        assert_true(p >= 0 && p <= 1);
        worst = fmax(worst, p);
    }
    pv_prediction_free(ctx, prediction);
    pv_dataset_free(ctx, data);
    return worst;
}

/* A constant column, columns of two and of three values, a spike with a tail, widely separated values, close numbers
 * with a large offset, one extreme value; and a column with missing cells. */
static void test_columns(void **state) {
    (void)state;
    made *m = rows_of(300, 9);
    label(m, 2, curved);
    for (size_t i = 0; i < m->rows; i++) {
        m->x[1][i] = 4;
        m->x[2][i] = (double)(i % 2);
        m->x[3][i] = (double)(i % 3);
        m->x[4][i] = i % 10 != 0 ? 0 : exp(m->x[4][i]);
        m->x[5][i] = sinh(6 * m->x[5][i]) * 1e6;
        m->x[6][i] = 1e6 + 1e-3 * m->x[6][i];
        m->x[7][i] = i == 17 ? 1e9 : m->x[7][i];
        m->x[8][i] = i % 5 ? m->x[8][i] : (double)NAN;
    }
    const pv_fit_options o = usual();
    fitted f = fit_to(table_of(m, 1, true, false), false, &o);
    assert_int_equal(curves_of(f.schema, "x1"), 0);
    assert_int_equal(curves_of(f.schema, "x2"), 0);
    assert_int_equal(curves_of(f.schema, "x3"), 1);
    for (size_t c = 4; c < m->columns; c++) {
        char name[32];
        snprintf(name, sizeof name, "x%zu", c);
        assert_in_range(curves_of(f.schema, name), 1, PV__CURVES_MAX);
    }
    assert_int_equal(f.c->stop, PV_STOP_CONVERGED);
    for (size_t g = 0; g < f.c->smoothing->count; g++) {
        assert_true(f.c->smoothing->scale[g] > 0 && isfinite(f.c->smoothing->scale[g]));
        assert_true(f.c->smoothing->edf[g] >= 0);
    }
    assert_true(worst_risk(&f, f.table) > 0.2);
    for (size_t i = 0; i < m->rows; i++) /* far from all training values */
        for (size_t c = 0; c < m->columns; c++)
            m->x[c][i] *= 50;
    pv_table *far = table_of(m, 1, true, false);
    worst_risk(&f, far);
    pv_table_free(ctx, far);
    release(&f);
}

/* More parameters than rows, and very few rows. */
static void test_sizes(void **state) {
    (void)state;
    static const size_t size[][2] = {{40, 60}, {12, 2}, {8, 1}};
    const pv_fit_options o = usual();
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        made *m = rows_of(size[k][0], size[k][1]);
        for (size_t i = 0; i < m->rows; i++)
            m->y[i] = (double)(i % 2);
        fitted f = fit_to(table_of(m, 1, false, false), false, &o);
        assert_int_equal(f.c->stop, PV_STOP_CONVERGED);
        for (size_t i = 0; i < pv_model_params(f.c->model); i++)
            assert_true(isfinite(f.c->w[i]));
        assert_true(worst_risk(&f, f.table) <= 1);
        release(&f);
    }
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* If the truth is linear, curves have few degrees of freedom; if it is curved, the curved column has them. */
static void test_curvature(void **state) {
    (void)state;
    const pv_fit_options o = usual();
    made *m = rows_of(1000, 3);
    label(m, 2, straight);
    fitted f = fit_to(table_of(m, 1, false, false), false, &o);
    for (size_t g = 1; g < f.c->smoothing->count; g++)
        assert_true(f.c->smoothing->scale[g] < 0.3);
    release(&f);
    label(m, 2, curved);
    f = fit_to(table_of(m, 1, false, false), false, &o);
    assert_true(f.c->smoothing->edf[1] > 2);
    assert_true(f.c->smoothing->scale[1] > 0.6);
    for (size_t g = 2; g < f.c->smoothing->count; g++)
        assert_true(f.c->smoothing->scale[g] < 0.3);
    release(&f);
}

/* A level without an effect of its own is close to the mean of the others, and closer than with one scale for all. */
static void test_levels(void **state) {
    (void)state;
    made *m = rows_of(400, 1);
    label(m, 2, straight);
    const pv_fit_options o = usual();
    fitted f = fit_to(table_of(m, 1, true, false), false, &o);
    double sum = 0, most = 0;
    size_t first = (size_t)f.schema->features - 1, slope = 1; /* the reference level is the last feature */
    assert_string_equal(f.schema->feature[first], "level=p");
    double reference = f.c->w[1 + first] / f.schema->source[f.schema->sources - 1].sd;
    for (size_t l = 0; l < 3; l++) {
        sum += f.c->w[1 + slope + l];
        most = fmax(most, fabs(f.c->w[1 + slope + l]));
    }
    near(sum + reference, 0, 1e-6);
    assert_true(most < 0.3);
    release(&f);
}

static const pv_classifier *swept;

static pv_status effect_poorly(pv_ctx *poor) {
    pv_effect *e = NULL;
    pv_status status = pv_classifier_effect(poor, swept, 2, 1, 0.9, &e);
    pv_effect_free(poor, e);
    return status;
}

/* The difference of an effect between two values equals that of the log odds. */
static void test_effects(void **state) {
    (void)state;
    made *m = rows_of(300, 2);
    label(m, 3, curved);
    pv_fit_options o = usual();
    o.prevalence = "0.8,0.1,0.1";
    fitted f = fit_to(table_of(m, 1, true, false), false, &o);
    pv_effect *e;
    size_t group = 2; /* after slopes and levels */
    assert_true(pv_classifier_has_effect(f.c, group));
    assert_false(pv_classifier_has_effect(f.c, 0));
    assert_false(pv_classifier_has_effect(f.c, f.c->smoothing->count));
    assert_int_equal(pv_classifier_effect(ctx, f.c, 0, 1, 0.9, &e), PV_ERR_USAGE);
    assert_int_equal(pv_classifier_effect(ctx, f.c, group, 3, 0.9, &e), PV_ERR_USAGE);
    assert_int_equal(pv_classifier_effect(ctx, f.c, group, 1, 1, &e), PV_ERR_USAGE);
    swept = f.c;
    sweep_memory(effect_poorly);
    for (int y = 1; y < 3; y++) {
        ok(pv_classifier_effect(ctx, f.c, group, y, 0.9, &e));
        assert_string_equal(e->column, "x0");
        size_t at[] = {5, e->points - 9};
        double odds[2], log_p[6];
        for (int k = 0; k < 2; k++)
            m->x[0][k] = e->x[at[k]];
        for (size_t c = 1; c < m->columns; c++)
            m->x[c][1] = m->x[c][0];
        memcpy(m->level[1], m->level[0], sizeof m->level[1]);
        m->rows = 2;
        pv_table *two = table_of(m, 1, true, false);
        pv_dataset *data;
        ok(pv_dataset_of_table(ctx, f.c->schema, two, &data));
        pv_model_work *work;
        ok(pv_model_work_new(ctx, f.c->model, 2, &work));
        pv_model_forward(f.c->model, work, f.c->w, 2, data->x, log_p);
        for (int k = 0; k < 2; k++)
            odds[k] = log_p[3 * k + y] - log_p[3 * k];
        near(e->value[at[1]] - e->value[at[0]], odds[1] - odds[0], 1e-9);
        for (size_t i = 0; i < e->points; i++)
            assert_true(e->lo[i] <= e->value[i] && e->value[i] <= e->hi[i]);
        pv_model_work_free(ctx, work);
        pv_dataset_free(ctx, data);
        pv_table_free(ctx, two);
        pv_effect_free(ctx, e);
    }
    release(&f);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void test_file(void **state) {
    (void)state;
    made *m = rows_of(200, 2);
    label(m, 2, curved);
    const pv_fit_options o = usual();
    fitted f = fit_to(table_of(m, 1, true, false), false, &o);
    pv_classifier *again;
    unsigned char *bytes, *other;
    size_t size, other_size;
    ok(pv_classifier_to_bytes(ctx, f.c, &bytes, &size));
    ok(pv_classifier_from_bytes(ctx, "again", bytes, size, &again));
    ok(pv_classifier_to_bytes(ctx, again, &other, &other_size));
    assert_int_equal(size, other_size);
    assert_memory_equal(bytes, other, size);
    assert_int_equal(again->smoothing->count, f.c->smoothing->count);
    for (size_t g = 0; g < again->smoothing->count; g++) {
        near(again->smoothing->scale[g], f.c->smoothing->scale[g], 0);
        near(again->smoothing->edf[g], f.c->smoothing->edf[g], 0);
        assert_int_equal(again->smoothing->column[g], f.c->smoothing->column[g]);
    }
    memcpy(m->level[0], "zz", 3); /* a level that training did not have */
    pv_table *table = table_of(m, 1, true, false);
    fitted read = {.c = again};
    near(worst_risk(&read, table), worst_risk(&f, table), 0);
    pv_table_free(ctx, table);
    pv_bytes_free(ctx, bytes);
    pv_bytes_free(ctx, other);
    pv_classifier_free(ctx, again);
    release(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),   cmocka_unit_test(test_counts),    cmocka_unit_test(test_columns),
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_curvature), cmocka_unit_test(test_levels),
        cmocka_unit_test(test_effects), cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
