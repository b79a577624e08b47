/* The binned likelihood of a prevalence compared with expectation maximisation: tests/oracle/bins.txt, made by
 * make_bins.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oracle_file.h"
#include "predict/bins.h"
#include "predict/label_cells.h"

enum { AT = 7, LABELS = 4, SHARES = 3 }; /* the first cases have three or more labels */

static pv__counts counts_of(const oracle_case *item) {
    pv__counts c = {.bins = (size_t)oracle_number(item, "bins")};
    const double *known = oracle_values(item, "known", 2 * c.bins), *target = oracle_values(item, "target", c.bins);
    const double *told = oracle_values(item, "told", 2);
    for (size_t k = 0; k < c.bins; k++) {
        for (size_t y = 0; y < 2; y++)
            c.mass[y] += c.known[y][k] = known[y * c.bins + k];
        c.targets += c.target[k] = target[k];
    }
    for (size_t y = 0; y < 2; y++)
        c.told[y] = told[y];
    return c;
}

static void agrees_with_em(void **state) {
    (void)state;
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/bins.txt");
    for (size_t i = LABELS; i < file->count; i++) {
        const oracle_case *item = &file->item[i];
        const pv__counts c = counts_of(item);
        const double *at = oracle_values(item, "at", AT), *mode = oracle_values(item, "mode", 2);
        double value[AT], shares[AT * 2 * PV__BINS_MOST];
        pv__bins_fit fit;
        for (size_t j = 0; j < AT; j++) {
            pv__bins_profile(&c, at[j], &fit);
            value[j] = fit.value;
            for (size_t y = 0; y < 2; y++)
                for (size_t k = 0; k < c.bins; k++)
                    shares[(2 * j + y) * c.bins + k] = fit.f[y][k];
        }
        oracle_compare(item, "value", value, oracle_values(item, "value", AT), AT, 1e-11, 1);
        oracle_compare(item, "shares", shares, oracle_values(item, "shares", 2 * AT * c.bins), 2 * AT * c.bins, 1e-7,
                       0.1);
        pv__bins_mode(&c, &fit);
        oracle_compare(item, "most likely", &fit.pi, mode, 1, 1e-4, 0.1);
        oracle_compare(item, "largest", &fit.value, mode + 1, 1, 1e-10, 1);
    }
    oracle_file_free(file);
    oracle_finish();
}

static pv__label_cell_counts cells_of(const oracle_case *item) {
    pv__label_cell_counts c = {.labels = (size_t)oracle_number(item, "labels")};
    c.cells = 2 * c.labels;
    const double *known = oracle_values(item, "known", c.labels * c.cells);
    const double *target = oracle_values(item, "target", c.cells), *told = oracle_values(item, "told", c.labels);
    for (size_t k = 0; k < c.cells; k++) {
        for (size_t y = 0; y < c.labels; y++)
            c.mass[y] += c.known[y][k] = known[y * c.cells + k];
        c.targets += c.target[k] = target[k];
    }
    for (size_t y = 0; y < c.labels; y++)
        c.told[y] = told[y];
    return c;
}

static void agrees_with_an_optimiser(void **state) {
    (void)state;
    static const double share[SHARES] = {0.02, 0.2, 0.6};
    oracle_file *file = oracle_file_read(PV_TEST_DIR "/oracle/bins.txt");
    for (size_t i = 0; i < LABELS; i++) {
        const oracle_case *item = &file->item[i];
        const pv__label_cell_counts c = cells_of(item);
        double value[PV__LABELS_MOST * SHARES];
        pv__label_cell_fit mode, fit;
        pv__label_cells_mode(&c, &mode);
        oracle_compare(item, "most likely", mode.pi, oracle_values(item, "pi", c.labels), c.labels, 1e-4, 0.1);
        oracle_compare(item, "largest", &mode.value, oracle_values(item, "mode", 1), 1, 1e-10, 1);
        for (size_t j = 0; j < c.labels * SHARES; j++) {
            pv__label_cells_profile(&c, &mode, j / SHARES, share[j % SHARES], &fit);
            value[j] = fit.value;
            assert_true(fit.pi[j / SHARES] == share[j % SHARES]);
        }
        oracle_compare(item, "profile", value, oracle_values(item, "profile", c.labels * SHARES), c.labels * SHARES,
                       1e-8, 1);
    }
    oracle_file_free(file);
    oracle_finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_an_optimiser), cmocka_unit_test(agrees_with_em)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
