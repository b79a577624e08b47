/* Built-in data compared with their source, simulated data with the truth they are drawn from. Checks of samples are
 * z-tests with fixed seeds, so the outcome is always the same. */
#include "fixture.h"

static const double *column(const pv_table *table, const char *name) {
    size_t c;
    ok(pv_table_find(ctx, table, "test", name, &c));
    assert_int_equal(table->column[c].type, PV_COLUMN_NUMBER);
    return table->column[c].number;
}

/* ---- built-in data ----------------------------------------------------------------------------------------------- */

static void holds_contingency(void **state) {
    (void)state;
    pv_table *t;
    ok(pv_table_read(ctx, "builtin:contingency", NULL, &t));
    static const double wanted[4][3] = {{0, 0, 47}, {0, 1, 44}, {1, 0, 3}, {1, 1, 6}};
    static const char *const names[] = {"x", "y", "count"};
    assert_int_equal(t->rows, 4);
    assert_int_equal(t->columns, 3);
    for (size_t c = 0; c < 3; c++) {
        assert_string_equal(t->column[c].name, names[c]);
        for (size_t row = 0; row < 4; row++)
            near(t->column[c].number[row], wanted[row][c], 0);
    }
    assert_string_equal(t->source, "builtin:contingency");
    assert_true(t->hash != 0);
    pv_table_free(ctx, t);
}

static int level_of(const pv_table *t, size_t c, size_t row) {
    assert_int_equal(t->column[c].type, PV_COLUMN_TEXT);
    return t->column[c].code[row];
}

/* Sums as given by R 4.2 for datasets::esoph. */
static void holds_esoph(void **state) {
    (void)state;
    pv_table *t;
    ok(pv_table_builtin(ctx, "esoph", &t));
    assert_int_equal(t->rows, 135);
    assert_int_equal(t->columns, 5);
    static const double by_age[2][6] = {{115, 190, 167, 166, 106, 31}, {1, 9, 46, 76, 55, 13}};
    static const double by_alcohol[2][4] = {{386, 280, 87, 22}, {29, 75, 51, 45}};
    static const double by_tobacco[2][4] = {{447, 178, 99, 51}, {78, 58, 33, 31}};
    double age[2][6] = {{0}}, alcohol[2][4] = {{0}}, tobacco[2][4] = {{0}}, square[2] = {0}, moment[2] = {0};
    for (size_t row = 0; row < t->rows; row++) {
        int y = column(t, "cancer")[row] > 0;
        double n = column(t, "count")[row];
        int a = level_of(t, 0, row), b = level_of(t, 1, row), c = level_of(t, 2, row);
        assert_true(n > 0);
        age[y][a] += n;
        alcohol[y][b] += n;
        tobacco[y][c] += n;
        square[y] += n * n;
        moment[y] += (a + 1) * (b + 1) * (c + 1) * n;
    }
    assert_memory_equal(age, by_age, sizeof age);
    assert_memory_equal(alcohol, by_alcohol, sizeof alcohol);
    assert_memory_equal(tobacco, by_tobacco, sizeof tobacco);
    near(square[1], 1114, 0);
    near(square[0], 19637, 0);
    near(moment[1], 4182, 0);
    near(moment[0], 6698, 0);
    assert_string_equal(t->column[0].name, "age");
    assert_string_equal(t->column[0].level[5], "75+");
    assert_string_equal(t->column[1].level[0], "0-39g/day");
    assert_string_equal(t->column[1].level[3], "120+");
    assert_string_equal(t->column[2].level[0], "0-9g/day");
    pv_table_free(ctx, t);
    assert_int_equal(pv_table_builtin(ctx, "esof", &t), PV_ERR_USAGE);
    assert_null(t);
    says("esoph");
}

/* ---- nodules ----------------------------------------------------------------------------------------------------- */

/* The population computed independently by Simpson's rule: p(y = 1), and the means of age and diameter for y = 1 and y
 * = 0. */
typedef struct expected {
    double prevalence, age[2], diameter[2], smoker[2];
} expected;

static expected integrate(const double *truth) {
    enum { STEPS = 240 };
    expected e = {0};
    double total = 0, none = 0;
    for (int i = 0; i <= STEPS; i++) {
        double age = 18 + 72.0 * i / STEPS, age_density = exp(-0.5 * pow((age - 62) / 10, 2));
        age_density *= i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2;
        for (int j = 0; j <= STEPS; j++) {
            double t = log(3) + log(10) * j / STEPS, density = exp(-0.5 * pow((t - log(7)) / 0.5, 2));
            density *= age_density * (j == 0 || j == STEPS ? 1 : j % 2 ? 4 : 2);
            double base = truth[0] + truth[1] * age + truth[6] * exp(t);
            for (int k = 0; k < 32; k++) {
                int female = k & 1, smoker = k >> 1 & 1, emphysema = k >> 2 & 1, upper = k >> 3 & 1, solid = k >> 4;
                double ill = smoker ? 0.45 : 0.10;
                double mass = density * (female ? 0.45 : 0.55) * 0.5 * (emphysema ? ill : 1 - ill) *
                              (upper ? 0.55 : 0.45) * (solid ? 0.15 : 0.85);
                double z = base + truth[2] * female + truth[3] * smoker + truth[4] * emphysema + truth[5] * upper +
                           truth[7] * solid;
                double share[2] = {mass / (1 + exp(z)), mass / (1 + exp(-z))};
                total += mass;
                e.prevalence += share[1];
                none += share[0];
                for (int y = 0; y < 2; y++) {
                    e.age[y] += share[y] * age;
                    e.diameter[y] += share[y] * exp(t);
                    e.smoker[y] += share[y] * smoker;
                }
            }
        }
    }
    for (int y = 0; y < 2; y++) {
        double mass = y ? e.prevalence : none;
        e.age[y] /= mass;
        e.diameter[y] /= mass;
        e.smoker[y] /= mass;
    }
    e.prevalence /= total;
    return e;
}

static void nodules_have_the_prevalence(void **state) {
    (void)state;
    static const double prevalence[] = {0.01, 1e-6, 0.5, 0.97};
    static const double slopes[] = {0.0287, 0.6011, 0.7917, 0.2953, 0.6581, 0.1274, 0.3770};
    for (size_t i = 0; i < sizeof prevalence / sizeof *prevalence; i++) {
        pv_table *t;
        double truth[8];
        pv_simulation s = {.rows = 1, .cases = -1, .controls = -1, .prevalence = prevalence[i], .seed = 1};
        ok(pv_simulate(ctx, "nodules", &s, &t, truth));
        pv_table_free(ctx, t);
        for (size_t j = 0; j < 7; j++)
            near(truth[1 + j], slopes[j], 0);
        near(integrate(truth).prevalence / prevalence[i], 1, 1e-9);
    }
}

/* |mean - expectation| within four standard errors. */
static void mean_is(const double *value, size_t begin, size_t end, double expectation) {
    double mean = 0, square = 0, n = (double)(end - begin);
    for (size_t i = begin; i < end; i++)
        mean += value[i] / n;
    for (size_t i = begin; i < end; i++)
        square += (value[i] - mean) * (value[i] - mean) / (n - 1);
    near(mean, expectation, 4 * sqrt(square / n));
}

static void draws_a_population(void **state) {
    (void)state;
    enum { ROWS = 200000 };
    pv_table *t;
    double truth[8];
    pv_simulation s = {.rows = ROWS, .cases = -1, .controls = -1, .prevalence = 0.05, .seed = 7};
    ok(pv_simulate(ctx, "nodules", &s, &t, truth));
    static const char *const names[] = {"age",        "female",   "smoker",     "emphysema",
                                        "upper_lobe", "diameter", "part_solid", "malignant"};
    assert_int_equal(t->columns, 8);
    assert_int_equal(t->rows, ROWS);
    for (size_t c = 0; c < 8; c++)
        assert_string_equal(t->column[c].name, names[c]);
    const double *y = column(t, "malignant"), *age = column(t, "age"), *diameter = column(t, "diameter");
    expected e = integrate(truth);
    mean_is(y, 0, ROWS, 0.05);
    mean_is(column(t, "female"), 0, ROWS, 0.45);
    mean_is(column(t, "emphysema"), 0, ROWS, 0.275);
    mean_is(column(t, "upper_lobe"), 0, ROWS, 0.55);
    mean_is(column(t, "part_solid"), 0, ROWS, 0.15);
    mean_is(age, 0, ROWS, 0.05 * e.age[1] + 0.95 * e.age[0]);
    mean_is(diameter, 0, ROWS, 0.05 * e.diameter[1] + 0.95 * e.diameter[0]);
    /* The score of a logistic model at its true coefficients has mean 0. */
    double *score = malloc(ROWS * sizeof *score);
    assert_non_null(score);
    for (size_t c = 0; c < 7; c++) {
        for (size_t i = 0; i < ROWS; i++) {
            double z = truth[0];
            for (size_t j = 0; j < 7; j++)
                z += truth[1 + j] * t->column[j].number[i];
            score[i] = (y[i] - 1 / (1 + exp(-z))) * t->column[c].number[i];
        }
        mean_is(score, 0, ROWS, 0);
    }
    for (size_t i = 0; i < ROWS; i++)
        assert_true(age[i] >= 18 && age[i] <= 90 && diameter[i] >= 3 && diameter[i] <= 30 && (y[i] == 0 || y[i] == 1));
    free(score);
    pv_table_free(ctx, t);
}

static void draws_cases_and_controls(void **state) {
    (void)state;
    static const double prevalence[] = {1e-6, 0.02, 0.9};
    for (size_t k = 0; k < 3; k++) {
        const size_t cases = 20000, controls = 15000;
        pv_table *t;
        double truth[8];
        pv_simulation s = {
            .cases = (int64_t)cases, .controls = (int64_t)controls, .prevalence = prevalence[k], .seed = 11};
        ok(pv_simulate(ctx, "nodules", &s, &t, truth));
        assert_int_equal(t->rows, cases + controls);
        for (size_t i = 0; i < t->rows; i++)
            near(column(t, "malignant")[i], i < cases, 0);
        expected e = integrate(truth);
        for (int y = 0; y < 2; y++) {
            size_t begin = y ? 0 : cases, end = y ? cases : cases + controls;
            mean_is(column(t, "age"), begin, end, e.age[y]);
            mean_is(column(t, "diameter"), begin, end, e.diameter[y]);
            mean_is(column(t, "smoker"), begin, end, e.smoker[y]);
        }
        pv_table_free(ctx, t);
    }
}

/* ---- gaussian ---------------------------------------------------------------------------------------------------- */

static void draws_gaussians(void **state) {
    (void)state;
    enum { ROWS = 100000 };
    pv_table *t;
    double truth[5];
    pv_simulation s = {
        .rows = ROWS, .cases = -1, .controls = -1, .prevalence = 0.2, .dimensions = 4, .separation = 1.5, .seed = 3};
    ok(pv_simulate(ctx, "gaussian", &s, &t, truth));
    near(truth[0], log(0.2 / 0.8), 1e-14);
    for (size_t j = 1; j <= 4; j++)
        near(truth[j], 0.75, 1e-15);
    assert_int_equal(t->columns, 5);
    assert_string_equal(t->column[0].name, "x1");
    assert_string_equal(t->column[3].name, "x4");
    const double *y = column(t, "y");
    mean_is(y, 0, ROWS, 0.2);
    double *value = malloc(ROWS * sizeof *value);
    assert_non_null(value);
    for (size_t c = 0; c < 4; c++) {
        const double *x = t->column[c].number;
        for (size_t i = 0; i < ROWS; i++)
            value[i] = x[i] - (y[i] > 0 ? 0.375 : -0.375);
        mean_is(value, 0, ROWS, 0);
        for (size_t i = 0; i < ROWS; i++)
            value[i] = value[i] * value[i];
        mean_is(value, 0, ROWS, 1);
        for (size_t i = 0; i < ROWS; i++) { /* score of the documented logistic model */
            double z = truth[0];
            for (size_t j = 0; j < 4; j++)
                z += truth[1 + j] * t->column[j].number[i];
            value[i] = (y[i] - 1 / (1 + exp(-z))) * x[i];
        }
        mean_is(value, 0, ROWS, 0);
    }
    free(value);
    pv_table_free(ctx, t);
    s.cases = 5;
    s.controls = 0;
    ok(pv_simulate(ctx, "gaussian", &s, &t, NULL));
    assert_int_equal(t->rows, 5);
    near(column(t, "y")[4], 1, 0);
    pv_table_free(ctx, t);
}

/* ---- streams and errors ------------------------------------------------------------------------------------------ */

static void rows_stand_alone(void **state) {
    (void)state;
    static const char *const kinds[] = {"nodules", "gaussian"};
    for (size_t k = 0; k < 2; k++) {
        pv_simulation s = {
            .rows = 50, .cases = -1, .controls = -1, .prevalence = 0.3, .dimensions = 3, .separation = 1, .seed = 5};
        pv_table *few, *many, *other;
        ok(pv_simulate(ctx, kinds[k], &s, &few, NULL));
        s.rows = 500;
        ok(pv_simulate(ctx, kinds[k], &s, &many, NULL));
        s.rows = 50;
        s.seed = 6;
        ok(pv_simulate(ctx, kinds[k], &s, &other, NULL));
        for (size_t c = 0; c < few->columns; c++)
            assert_memory_equal(few->column[c].number, many->column[c].number, 50 * sizeof(double));
        assert_true(memcmp(few->column[0].number, other->column[0].number, 50 * sizeof(double)) != 0);
        assert_true(few->hash != other->hash && few->hash != many->hash);
        pv_table_free(ctx, few);
        pv_table_free(ctx, many);
        pv_table_free(ctx, other);
    }
}

static void refused(const char *kind, pv_simulation s, const char *part) {
    pv_table *t;
    assert_int_equal(pv_simulate(ctx, kind, &s, &t, NULL), PV_ERR_USAGE);
    assert_null(t);
    says(part);
}

static void refuses_nonsense(void **state) {
    (void)state;
    const pv_simulation good = {
        .rows = 10, .cases = -1, .controls = -1, .prevalence = 0.3, .dimensions = 3, .separation = 1, .seed = 5};
    pv_simulation s = good;
    refused("nodule", s, "nodules");
    refused("qqqq", s, "gaussian");
    for (double p = -1; p <= 2; p += 1) {
        s.prevalence = p;
        refused("nodules", s, "outside (0,1)");
    }
    s.prevalence = (double)NAN;
    refused("gaussian", s, "outside (0,1)");
    s = good;
    s.rows = 0;
    refused("nodules", s, "`rows=");
    s = good;
    s.cases = 5;
    refused("nodules", s, "both `cases` and `controls`");
    s.cases = s.controls = 0;
    refused("nodules", s, "one row");
    s.cases = s.controls = INT64_MAX;
    refused("nodules", s, "one row");
    s = good;
    s.dimensions = 0;
    refused("gaussian", s, "`dimensions=");
    s = good;
    s.separation = (double)INFINITY;
    refused("gaussian", s, "`separation=");
    s.separation = -1;
    refused("gaussian", s, "`separation=");
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static int what;

static pv_status make(pv_ctx *poor) {
    pv_simulation s = {.rows = 3, .cases = -1, .controls = -1, .prevalence = 0.3, .dimensions = 2, .separation = 1};
    pv_table *t;
    pv_status status = what < 2 ? pv_table_builtin(poor, what ? "esoph" : "contingency", &t)
                                : pv_simulate(poor, what == 2 ? "nodules" : "gaussian", &s, &t, NULL);
    assert_true((t != NULL) == (status == PV_OK));
    pv_table_free(poor, t);
    return status;
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    for (what = 0; what < 4; what++)
        sweep_memory(make);
}

/* ---- selection --------------------------------------------------------------------------------------------------- */

/* One feature, x | y ~ N(+-1, 1), observed at x >= 0 only. P(y=1|x>=0) and the means are those of truncated normals. */
static void selects_by_feature(void **state) {
    (void)state;
    enum { N = 40000 };
    const double pi = 0.2, upper = 0.5 * erfc(-1 / sqrt(2)), lower = 0.5 * erfc(1 / sqrt(2)); /* P(x >= 0|y) */
    const double density = exp(-0.5) / sqrt(2 * acos(-1)), mean[2] = {-1 + density / lower, 1 + density / upper};
    pv_simulation asked = {.rows = N,
                           .cases = -1,
                           .controls = -1,
                           .prevalence = pi,
                           .dimensions = 1,
                           .separation = 2,
                           .seed = 3,
                           .within = "x1",
                           .low = 0,
                           .high = HUGE_VAL,
                           .within_label = -1};
    pv_table *t;
    ok(pv_simulate(ctx, "gaussian", &asked, &t, NULL));
    double share = pi * upper / (pi * upper + (1 - pi) * lower), count[2] = {0}, sum[2] = {0}, square[2] = {0};
    for (size_t i = 0; i < N; i++) {
        double x = column(t, "x1")[i];
        int y = column(t, "y")[i] > 0;
        assert_true(x >= 0);
        count[y]++;
        sum[y] += x;
        square[y] += x * x;
    }
    near(count[1] / N, share, 4 * sqrt(share * (1 - share) / N));
    for (int y = 0; y < 2; y++) {
        double m = sum[y] / count[y], sd = sqrt(square[y] / count[y] - m * m);
        near(m, mean[y], 4 * sd / sqrt(count[y]));
    }
    pv_table_free(ctx, t);
}

/* Counts fixed by label, controls truncated at 0, cases unrestricted. */
static void selects_by_both(void **state) {
    (void)state;
    enum { N = 20000 };
    const double lower = 0.5 * erfc(1 / sqrt(2)), density = exp(-0.5) / sqrt(2 * acos(-1));
    pv_simulation asked = {.cases = N,
                           .controls = N,
                           .prevalence = 0.01,
                           .dimensions = 1,
                           .separation = 2,
                           .seed = 4,
                           .within = "x1",
                           .low = 0,
                           .high = HUGE_VAL,
                           .within_label = 0};
    pv_table *t;
    ok(pv_simulate(ctx, "gaussian", &asked, &t, NULL));
    double sum[2] = {0}, square[2] = {0};
    for (size_t i = 0; i < 2 * N; i++) {
        double x = column(t, "x1")[i];
        int y = column(t, "y")[i] > 0;
        assert_int_equal(y, i < N);
        assert_true(y || x >= 0);
        sum[y] += x / N;
        square[y] += x * x / N;
    }
    near(sum[1], 1, 4 / sqrt(N));
    near(sum[0], -1 + density / lower, 4 * sqrt((square[0] - sum[0] * sum[0]) / N));
    pv_table_free(ctx, t);
}

static void refuses_selection(void **state) {
    (void)state;
    pv_simulation asked = {.rows = 5, .cases = -1, .controls = -1, .prevalence = 0.1, .within_label = -1};
    pv_table *t;
    asked.within = "age";
    asked.low = 3;
    asked.high = 2;
    assert_int_equal(pv_simulate(ctx, "nodules", &asked, &t, NULL), PV_ERR_USAGE);
    says("is empty");
    asked.high = 4;
    assert_int_equal(pv_simulate(ctx, "nodules", &asked, &t, NULL), PV_ERR_USAGE);
    says("widen the range");
    asked.within = "malignant";
    assert_int_equal(pv_simulate(ctx, "nodules", &asked, &t, NULL), PV_ERR_USAGE);
    says("is the label");
    asked.within = "ages";
    assert_int_equal(pv_simulate(ctx, "nodules", &asked, &t, NULL), PV_ERR_USAGE);
    says("did you mean 'age'");
    assert_null(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_contingency),
        cmocka_unit_test(holds_esoph),
        cmocka_unit_test(nodules_have_the_prevalence),
        cmocka_unit_test(draws_a_population),
        cmocka_unit_test(draws_cases_and_controls),
        cmocka_unit_test(draws_gaussians),
        cmocka_unit_test(rows_stand_alone),
        cmocka_unit_test(refuses_nonsense),
        cmocka_unit_test(survives_lack_of_memory),
        cmocka_unit_test(selects_by_feature),
        cmocka_unit_test(selects_by_both),
        cmocka_unit_test(refuses_selection),
    };
    return cmocka_run_group_tests_name("simulate", tests, setup, teardown);
}
