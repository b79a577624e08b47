/* An unknown prevalence of three labels from cells of density ratios: reference rows, counts, intervals. */
#include "infer/infer.h"
#include "predict/label_cells.h"
#include "fixture.h"
#include "problem.h"

enum { LABELS = 3, EACH = 90, ROWS = LABELS * EACH };

/* Rows of three labels in two columns, in the order from, from + by, ...; share NULL: equally many of each label. */
static problem study_of(size_t n, uint64_t seed, size_t by, const double *share) {
    double column[3][ROWS];
    pv_table *table;
    for (size_t i = 0; i < n; i++) {
        pv_rng rng = pv_rng_stream(seed, 1, i);
        size_t at = i * by % n, y = i % LABELS;
        double u = pv_rng_uniform(&rng);
        if (share)
            for (y = 0; y < LABELS - 1 && u >= share[y]; y++)
                u -= share[y];
        column[0][at] = (double)y;
        for (size_t j = 1; j < 3; j++)
            column[j][at] = pv_rng_normal(&rng) + 1.6 * (y == j);
    }
    CHECK_OK(ctx, pv_table_new(ctx, "rows", n, &table));
    for (size_t j = 0; j < 3; j++)
        CHECK_OK(ctx, pv_table_add_numbers(ctx, table, (const char *[]){"y", "a", "b"}[j], PV_ARRAY_F64, column[j],
                                           PV_PACKED, NULL, false));
    return learn(ctx, table, &(pv_roles){.target = "y"});
}

static problem study(uint64_t seed, size_t by, const double *share) {
    return study_of(ROWS, seed, by, share);
}

static pv_classifier *fitted(const problem *p) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0=0.8,1=0.15,2=0.05";
    return fit(ctx, p, &options);
}

static pv_prediction *predicted(const pv_classifier *c, const problem *p, const char *dirichlet) {
    pv_unknown_options how = pv_unknown_options_default();
    pv_population *population;
    pv_dataset *data;
    pv_prediction *said;
    how.dirichlet = dirichlet;
    how.level = 0.9;
    CHECK_OK(ctx, pv_population_new(ctx, c, "unknown", &how, &population));
    CHECK_OK(ctx, pv_schema_apply(ctx, c->schema, p->table, NULL, &data));
    CHECK_OK(ctx, pv_predict(ctx, c, data, population, &(pv_predict_options){.level = 0.9}, &said));
    pv_dataset_free(ctx, data);
    pv_population_free(ctx, population);
    return said;
}

/* Results do not depend on the rows' order, a file preserves them, and every probability is within its interval. */
static void test_of_fit(void **state) {
    (void)state;
    const double share[LABELS] = {0.2, 0.7, 0.1};
    problem p = study(3, 1, NULL), shuffled = study(3, 101, NULL), target = study(4, 1, share);
    pv_classifier *c = fitted(&p), *other = fitted(&shuffled), *back;
    const pv_label_cells *cells = c->reference->cells;
    assert_non_null(cells);
    assert_int_equal(c->reference->folds, PV_REFERENCE_FOLDS);
    double sum = 0;
    for (int i = 0; i < LABELS * 2 * LABELS; i++) {
        assert_true(cells->known[i] == other->reference->cells->known[i]);
        sum += cells->known[i];
    }
    CHECK_NEAR(sum, ROWS, 1e-9);
    for (int y = 0; y < LABELS; y++) {
        assert_true(cells->cut[y] > 1.0 / LABELS && cells->cut[y] < 1 && cells->units[y] == EACH);
        assert_true(cells->known[2 * LABELS * y + 2 * y] + cells->known[2 * LABELS * y + 2 * y + 1] > 0.5 * EACH);
    }
    CHECK_OK(ctx, pv_classifier_save(ctx, c, path));
    CHECK_OK(ctx, pv_classifier_load(ctx, path, &back));
    pv_prediction *here = predicted(c, &target, "flat"), *there = predicted(back, &target, "flat");
    pv_prediction *again = predicted(other, &target, "flat"), *stated = predicted(c, &target, "counts:900,50,50");
    assert_true(here->inferred->calibrated && here->inferred->method == PV_UNKNOWN_BINS);
    for (size_t y = 0; y < LABELS; y++) {
        const pv_unknown_prevalence *t = here->inferred;
        assert_true(t->lo[y] < t->value[y] && t->value[y] < t->hi[y] && t->lo[y] < share[y] && share[y] < t->hi[y]);
        assert_true(there->inferred->value[y] == t->value[y] && there->inferred->hi[y] == t->hi[y]);
        CHECK_NEAR(again->inferred->value[y], t->value[y], 1e-6);
        CHECK_NEAR(again->inferred->lo[y], t->lo[y], 1e-5);
    }
    assert_true(stated->inferred->value[0] > 0.5 && stated->inferred->swayed);
    for (size_t i = 0; i < ROWS * LABELS; i++)
        assert_true(here->lo[i] <= here->p[i] && here->p[i] <= here->hi[i]);
    c->reference->cells->cut[0] = 1.5; /* not a valid proportion */
    CHECK_OK(ctx, pv_classifier_save(ctx, c, path));
    pv_classifier *damaged;
    assert_int_equal(pv_classifier_load(ctx, path, &damaged), PV_ERR_FORMAT);
    pv_prediction_free(ctx, here);
    pv_prediction_free(ctx, there);
    pv_prediction_free(ctx, again);
    pv_prediction_free(ctx, stated);
    pv_classifier_free(ctx, back);
    pv_classifier_free(ctx, c);
    pv_classifier_free(ctx, other);
    problem_free(ctx, &p);
    problem_free(ctx, &shuffled);
    problem_free(ctx, &target);
}

/* Scores [n][2] of rows that favour label y by `sure`, one label after the other. */
static pv_label_cells *cells_of(size_t n, const double *sure) {
    double score[2 * ROWS] = {0}, weight[ROWS];
    int32_t label[ROWS];
    pv_label_cells *made;
    for (size_t i = 0; i < n; i++) {
        label[i] = (int32_t)(i % LABELS);
        weight[i] = 1;
        for (int l = 0; l < 2; l++)
            score[2 * i + (size_t)l] = label[i] == 0 ? -sure[i / LABELS] : label[i] == l + 1 ? sure[i / LABELS] : 0;
    }
    const pv__scored_rows rows = {.n = n, .classes = LABELS, .score = score, .weight = weight, .label = label};
    CHECK_OK(ctx, pv__label_cells_new(ctx, &rows, &made));
    return made;
}

/* Equal confidences share a cell; a label with equal rows, or few, has one cell; with too few people there are none. */
static void test_cuts(void **state) {
    (void)state;
    double sure[EACH];
    for (size_t i = 0; i < EACH; i++)
        sure[i] = i < 30 ? 1 : i < 70 ? 2 : 3;
    pv_label_cells *cells = cells_of(ROWS, sure);
    for (int y = 0; y < LABELS; y++) {
        assert_true(cells->known[2 * LABELS * y + 2 * y] == 30 && cells->known[2 * LABELS * y + 2 * y + 1] == 60);
    }
    pv__label_cells_free(ctx, cells);
    for (size_t i = 0; i < EACH; i++)
        sure[i] = 1;
    cells = cells_of(ROWS, sure);
    for (int y = 0; y < LABELS; y++)
        assert_true(cells->cut[y] == 1 && cells->known[2 * LABELS * y + 2 * y] == EACH);
    pv__label_cells_free(ctx, cells);
    for (size_t i = 0; i < EACH; i++)
        sure[i] = 1 + 0.01 * (double)i;
    cells = cells_of(LABELS * 25, sure);
    assert_true(cells->cut[0] == 1);
    pv__label_cells_free(ctx, cells);
    assert_null(cells_of(LABELS * 19, sure));
}

/* The order of labels does not matter. */
static void test_relabelled(void **state) {
    (void)state;
    static const size_t to[LABELS] = {2, 0, 1};
    pv__label_cell_counts c = {.labels = LABELS, .cells = 2 * LABELS}, d = c;
    for (size_t k = 0; k < c.cells; k++) {
        size_t cell = 2 * to[k / 2] + k % 2;
        for (size_t y = 0; y < LABELS; y++) {
            c.mass[y] += c.known[y][k] = 4 + (double)((7 * y + 3 * k) % 5) + (k / 2 == y ? 25 : 0);
            d.mass[to[y]] += d.known[to[y]][cell] = c.known[y][k];
        }
        c.targets += c.target[k] = 30 + 11 * (double)k;
        d.targets += d.target[cell] = c.target[k];
    }
    double lo[2][LABELS], hi[2][LABELS], scale;
    pv__label_cell_fit fit[2];
    pv__label_cells_mode(&c, &fit[0]);
    pv__label_cells_mode(&d, &fit[1]);
    CHECK_NEAR(fit[0].value, fit[1].value, 1e-9);
    CHECK_OK(ctx, pv__label_cells_interval(ctx, &c, 0.9, 1, lo[0], hi[0], &scale));
    CHECK_OK(ctx, pv__label_cells_interval(ctx, &d, 0.9, 1, lo[1], hi[1], &scale));
    for (size_t y = 0; y < LABELS; y++) {
        CHECK_NEAR(fit[0].pi[y], fit[1].pi[to[y]], 1e-7);
        CHECK_NEAR(lo[0][y], lo[1][to[y]], 0.02); /* a bootstrap with other random numbers */
        CHECK_NEAR(hi[0][y], hi[1][to[y]], 0.02);
        assert_true(lo[0][y] < fit[0].pi[y] && fit[0].pi[y] < hi[0][y]);
    }
}

static const problem *learned;

static pv_status fit_poorly(pv_ctx *poor) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0=0.8,1=0.15,2=0.05";
    return try_fit(poor, learned, &options);
}

static pv_status predict_poorly(pv_ctx *poor) {
    pv_prediction *said = NULL;
    pv_classifier *back = NULL;
    pv_status status;
    PV_GOTO(done, pv_classifier_load(poor, path, &back));
    PV_GOTO(done, pv_predict_in(poor, back, learned->data, "unknown", NULL, &said));
done:
    pv_prediction_free(poor, said);
    pv_classifier_free(poor, back);
    return status;
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    problem p = study_of(LABELS * 20, 5, 1, NULL);
    pv_classifier *c = fitted(&p);
    learned = &p;
    CHECK_OK(ctx, pv_classifier_save(ctx, c, path));
    sweep_memory(fit_poorly);
    sweep_memory(predict_poorly);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_of_fit), cmocka_unit_test(test_cuts),
                                       cmocka_unit_test(test_relabelled), cmocka_unit_test(survives_lack_of_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
