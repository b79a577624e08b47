/* The scale of a column: its standard deviation, or a value from its quartiles if a few extreme values dominate
 * that. */
#include <math.h>

#include "fixture.h"
#include "data/spread.h"

enum { ROWS = 2001 };

/* The k-th of ROWS normal quantiles, by Newton's method on erfc: spread like a sample of that size. */
static double normal(int k) {
    double p = (k + 0.5) / ROWS, z = 0;
    for (int i = 0; i < 60; i++)
        z -= (0.5 * erfc(-z / 1.4142135623730951) - p) / (0.3989422804014327 * exp(-0.5 * z * z) + 1e-9);
    return z;
}

static double scale_of(const double *x, const double *weight, double *sd) {
    static pv__spread_bins bins;
    double total = 0, mean = 0, square = 0;
    for (int i = 0; i < ROWS; i++) {
        total += weight[i];
        mean += weight[i] * x[i];
    }
    mean /= total;
    for (int i = 0; i < ROWS; i++)
        square += weight[i] * (x[i] - mean) * (x[i] - mean);
    *sd = sqrt(square / total);
    pv__spread_begin(&bins);
    for (int i = 0; i < ROWS; i++)
        pv__spread_add(&bins, (x[i] - mean) / *sd, weight[i]);
    return pv__spread_scale(&bins) * *sd;
}

static double x[ROWS], one[ROWS], sd;

static void fill(double (*f)(double)) {
    for (int i = 0; i < ROWS; i++) {
        one[i] = 1;
        x[i] = f(normal(i));
    }
}

static double itself(double z) {
    return 3 + 2 * z;
}
static double lognormal(double z) {
    return exp(2 * z);
}
static double exponential(double z) {
    return -log(0.5 * erfc(z / 1.4142135623730951));
}
static double rare(double z) {
    return z > 1.3;
}
static double mostly_zero(double z) {
    return z > 1 ? exp(3 * z) : 0;
}

static void ordinary_columns_keep_their_standard_deviation(void **state) {
    (void)state;
    double (*const all[])(double) = {itself, exponential, rare, mostly_zero};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        fill(all[i]);
        double scale = scale_of(x, one, &sd);
        assert_true(scale == sd);
    }
}

/* The quartiles of exp(2 z) are exp(-+2 * 0.67449). */
static void quartiles_decide_where_a_few_values_would(void **state) {
    (void)state;
    fill(lognormal);
    double scale = scale_of(x, one, &sd), wanted = 1.5 * 2 * sinh(2 * 0.6744897501960817) / 1.3489795003921634;
    assert_true(sd > 30);
    assert_true(fabs(scale / wanted - 1) < 0.01);
}

/* Counts are people, the order of rows does not matter, and changing the unit rescales. */
static void counts_order_and_unit_change_nothing(void **state) {
    (void)state;
    static double count[ROWS], mixed[ROWS];
    fill(lognormal);
    double scale = scale_of(x, one, &sd), other;
    for (int i = 0; i < ROWS; i++) {
        count[i] = i % 3 == 0 ? 2 : 0; /* every third twice: nearly the same column */
        mixed[i] = 1000 * x[(i * 7) % ROWS] - 5;
    }
    assert_true(fabs(scale_of(x, count, &other) / scale - 1) < 0.02);
    assert_true(fabs(scale_of(mixed, one, &other) / (1000 * scale) - 1) < 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ordinary_columns_keep_their_standard_deviation),
                                       cmocka_unit_test(quartiles_decide_where_a_few_values_would),
                                       cmocka_unit_test(counts_order_and_unit_change_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
