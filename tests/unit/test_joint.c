/* Appendix G of the paper: populations with known label counts, and the joint update of q(w) with the rows to be
 * predicted, each compared with a sum over all assignments of labels at every draw of w. */
#include "predict/predict.h"

#include "predicting.h"
#include "problem.h"
#include "target.h"

enum { ROWS = 8, DRAWS = 150 };

typedef struct fitted {
    problem of;
    pv_dataset *target;
    pv_classifier *classifier;
} fitted;

static fitted fit_nodules(void) {
    pv_simulation study = {.cases = 60, .controls = 60, .prevalence = 0.05, .seed = 2};
    pv_simulation clinic = {.cases = 3, .controls = ROWS - 3, .prevalence = 0.05, .seed = 3};
    pv_roles roles = {.target = "malignant"}, none = {0};
    pv_table *table, *other;
    ok(pv_simulate(ctx, "nodules", &study, &table, NULL));
    fitted f = {.of = learn(ctx, table, &roles)};
    ok(pv_simulate(ctx, "nodules", &clinic, &other, NULL));
    ok(pv_schema_apply(ctx, f.of.schema, other, &none, &f.target));
    pv_table_free(ctx, other);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    options.marginal = PV_MARGINAL_PLUGIN;
    options.prevalence_n = "50";
    options.match = PV_MATCH_NONE;
    options.infer = PV_INFER_LAPLACE;
    options.draws = DRAWS;
    ok(pv_fit(ctx, f.of.schema, f.of.data, &options, &f.classifier));
    return f;
}

static void fitted_free(fitted *f) {
    pv_classifier_free(ctx, f->classifier);
    pv_dataset_free(ctx, f->target);
    problem_free(ctx, &f->of);
}

/* ---- by enumeration ---------------------------------------------------------------------------------------------- */

/* p~(Y*) of an assignment with this many of label 1, up to a factor. */
typedef double joint_prior(int positives);

static double by_shares(int positives) { /* 0.3 */
    return pow(0.3, positives) * pow(0.7, ROWS - positives);
}

static double by_counts(int positives) {
    return positives == 3;
}

static double by_flat(int positives) { /* the integral of pi^k (1 - pi)^(n - k) */
    return exp(lgamma(positives + 1) + lgamma(ROWS - positives + 1));
}

/* p [ROWS]: probability of label 1, with draws weighted by their evidence or equally; returns E[pi] under the flat
 * prior.
 */
static double enumerate(const fitted *f, joint_prior *prior, bool update, double *p, double *effective) {
    pv_classifier one_draw = *f->classifier;
    double loglik[2 * ROWS], weight = 0, squares = 0, mean = 0;
    memset(p, 0, ROWS * sizeof *p);
    for (size_t s = 0; s < DRAWS; s++) {
        const double *marginal = f->classifier->draw_log_marginal + 2 * s;
        double all = 0, own[ROWS] = {0}, pi = 0;
        one_draw.w = f->classifier->posterior->draws + s * f->classifier->posterior->dims;
        ok(pv_predict_loglik(ctx, &one_draw, f->target, loglik));
        for (unsigned y = 0; y < 1u << ROWS; y++) {
            double value = prior(__builtin_popcount(y));
            for (unsigned i = 0; i < ROWS; i++)
                value *= exp(loglik[2 * i + (y >> i & 1)] - marginal[y >> i & 1]);
            all += value;
            pi += value * (1 + __builtin_popcount(y)) / (2 + ROWS);
            for (unsigned i = 0; i < ROWS; i++)
                own[i] += y >> i & 1 ? value : 0;
        }
        double share = update ? all : 1;
        weight += share;
        squares += share * share;
        mean += share * pi / all;
        for (size_t i = 0; i < ROWS; i++)
            p[i] += share * own[i] / all;
    }
    for (size_t i = 0; i < ROWS; i++)
        p[i] /= weight;
    *effective = weight * weight / squares;
    return mean / weight;
}

static void compare(const fitted *f, const char *population, joint_prior *prior, bool update) {
    const pv_predict_options wanted = {.level = 0.8, .joint = update};
    double expected[ROWS], effective;
    pv_prediction *said;
    enumerate(f, prior, update, expected, &effective);
    ok(predict_in(ctx, f->classifier, f->target, population, NULL, &wanted, &said));
    for (size_t i = 0; i < ROWS; i++) {
        near(said->p[2 * i + 1], expected[i], 1e-10);
        near(exp(said->log_p[2 * i + 1]), expected[i], 1e-10);
        assert_true(said->lo[2 * i + 1] <= expected[i] && expected[i] <= said->hi[2 * i + 1]);
    }
    if (update)
        near(said->effective, effective, 1e-6 * DRAWS);
    else
        assert_true(isnan(said->effective));
    pv_prediction_free(ctx, said);
}

static void test_counts(void **state) {
    (void)state;
    fitted f = fit_nodules();
    compare(&f, "counts:5,3", by_counts, false);
    fitted_free(&f);
}

static void test_update(void **state) {
    (void)state;
    fitted f = fit_nodules();
    double before[ROWS], after[ROWS], effective, most = 0;
    compare(&f, "counts:5,3", by_counts, true);
    compare(&f, "known:0.3", by_shares, true);
    enumerate(&f, by_shares, false, before, &effective);
    enumerate(&f, by_shares, true, after, &effective);
    for (size_t i = 0; i < ROWS; i++)
        most = fmax(most, fabs(before[i] - after[i]));
    assert_true(most > 0.005); /* otherwise the comparison would be uninformative */
    fitted_free(&f);
}

/* The prevalence is exact; rows use one draw of pi for each draw of w. */
static void test_update_unknown(void **state) {
    (void)state;
    fitted f = fit_nodules();
    const pv_predict_options wanted = {.joint = true};
    double expected[ROWS], effective;
    pv_prediction *said;
    double value = enumerate(&f, by_flat, true, expected, &effective);
    ok(predict_in(ctx, f.classifier, f.target, "unknown", NULL, &wanted, &said));
    near(said->inferred->value[1], value, 1e-8);
    near(said->effective, effective, 1e-6 * DRAWS);
    for (size_t i = 0; i < ROWS; i++)
        near(said->p[2 * i + 1], expected[i], 0.04);
    pv_prediction_free(ctx, said);
    fitted_free(&f);
}

/* ---- many rows --------------------------------------------------------------------------------------------------- */

/* Two labels and 2000 rows: each row by its own recursion over all others, in long double. */
static void test_many_rows(void **state) {
    (void)state;
    enum { MANY = 2000, CHOSEN = 700 };
    static double loglik[2 * MANY], log_p[2 * MANY];
    static long double others[CHOSEN + 1];
    const size_t count[2] = {MANY - CHOSEN, CHOSEN};
    double evidence, sum = 0;
    draw_pair(5, MANY, 0.4, 2, loglik, NULL);
    pv__label_counts counts;
    ok(pv__label_counts_new(ctx, MANY, 2, count, labels, &counts));
    ok(pv__label_counts_rows(ctx, &counts, loglik, half, log_p, &evidence));
    pv__label_counts_clear(ctx, &counts);
    for (size_t i = 0; i < MANY; i++)
        sum += exp(log_p[2 * i + 1]);
    near(sum, CHOSEN, 1e-8);
    for (size_t row = 3; row < MANY; row += 400) {
        memset(others, 0, sizeof others);
        others[0] = 1;
        for (size_t i = 0; i < MANY; i++) { /* e_j of the ratios, scaled by 0.4 each so that nothing overflows */
            long double ratio = 0.4L * expl((long double)loglik[2 * i + 1] - (long double)loglik[2 * i]);
            for (size_t j = CHOSEN; j > 0 && i != row; j--)
                others[j] = others[j] + ratio * others[j - 1];
        }
        long double own = 0.4L * expl((long double)loglik[2 * row + 1] - (long double)loglik[2 * row]);
        near(exp(log_p[2 * row + 1]), (double)(own * others[CHOSEN - 1] / (own * others[CHOSEN - 1] + others[CHOSEN])),
             1e-11);
    }
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void refused(const fitted *f, const char *population, const pv_predict_options *wanted, const char *part) {
    pv_prediction *said;
    assert_true(predict_in(ctx, f->classifier, f->target, population, NULL, wanted, &said) != PV_OK);
    assert_null(said);
    says(part);
}

static void test_refused(void **state) {
    (void)state;
    fitted f = fit_nodules();
    const pv_predict_options none = {0}, joint = {.joint = true};
    refused(&f, "counts:5,4", &none, "add up to 9, and there are 8 rows");
    refused(&f, "counts:8", &none, "one whole number");
    refused(&f, "counts:1,2,5", &none, "one whole number");
    refused(&f, "counts:5.5,2.5", &none, "one whole number");
    refused(&f, "counts:-1,9", &none, "one whole number");
    refused(&f, "counts:nan,8", &none, "one whole number");
    refused(&f, "counts:", &none, "one whole number");
    refused(&f, "counts:1e300,8", &none, "one whole number");
    refused(&f, "counts", &none, "choose one of");
    refused(&f, "true", &joint, "carry no information about the model");
    f.classifier->marginal = PV_MARGINAL_PROFILE;
    refused(&f, "known:0.2", &joint, "needs one p(x) for all draws");
    f.classifier->marginal = PV_MARGINAL_PLUGIN;
    f.classifier->loss = PV_LOSS_PLAIN;
    refused(&f, "known:0.2", &joint, "needs one p(x) for all draws");
    f.classifier->loss = PV_LOSS_IG;
    double weight[ROWS] = {2, 1, 1, 1, 1, 1, 1, 1};
    f.target->weight = weight;
    refused(&f, "counts:5,3", &none, "row 1 has a weight of 2");
    f.target->weight = NULL;
    pv_posterior *kept = f.classifier->posterior;
    f.classifier->posterior = NULL;
    refused(&f, "known:0.2", &joint, "the model has none");
    f.classifier->posterior = kept;
    fitted_free(&f);
}

/* Rows that are certain of labels which the counts exclude. */
static void test_ruled_out(void **state) {
    (void)state;
    const double never = -(double)INFINITY, two_labels[6] = {0, never, 0, never, -1, -1},
                 three[9] = {0, never, never, 0, never, never, -1, -1, -1}, third[3] = {-1.1, -1.1, -1.1};
    double log_p[9], evidence;
    const size_t pair[2] = {1, 2}, many[3] = {1, 1, 1}, fits[3] = {2, 0, 1};
    pv__label_counts counts;
    ok(pv__label_counts_new(ctx, 3, 2, pair, labels, &counts));
    assert_int_equal(pv__label_counts_rows(ctx, &counts, two_labels, half, log_p, &evidence), PV_ERR_INPUT);
    pv__label_counts_clear(ctx, &counts);
    ok(pv__label_counts_new(ctx, 3, 3, many, labels, &counts));
    assert_int_equal(pv__label_counts_rows(ctx, &counts, three, third, log_p, &evidence), PV_ERR_INPUT);
    pv__label_counts_clear(ctx, &counts);
    ok(pv__label_counts_new(ctx, 3, 3, fits, labels, &counts));
    ok(pv__label_counts_rows(ctx, &counts, three, third, log_p, &evidence));
    near(log_p[8], 0, 1e-12);
    pv__label_counts_clear(ctx, &counts);
    const size_t huge[3] = {5000, 5000, 5000};
    assert_int_equal(pv__label_counts_new(ctx, 15000, 3, huge, labels, &counts), PV_ERR_USAGE);
    pv__label_counts_clear(ctx, &counts);
}

/* Interrupted, neither recursion runs to its end. */
static void test_interrupted(void **state) {
    (void)state;
    const double even[9] = {-1, -1, -1, -1, -1, -1, -1, -1, -1}, third[3] = {-1.1, -1.1, -1.1};
    const size_t pair[2] = {1, 2}, many[3] = {1, 1, 1};
    double log_p[9], evidence;
    for (int classes = 2; classes <= 3; classes++) {
        pv__label_counts counts;
        ok(pv__label_counts_new(ctx, 3, classes, classes == 2 ? pair : many, labels, &counts));
        pv_ctx_interrupt(ctx);
        assert_int_equal(pv__label_counts_rows(ctx, &counts, even, classes == 2 ? half : third, log_p, &evidence),
                         PV_ERR_INTERRUPTED);
        pv_ctx_clear_interrupt(ctx);
        ok(pv__label_counts_rows(ctx, &counts, even, classes == 2 ? half : third, log_p, &evidence));
        pv__label_counts_clear(ctx, &counts);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_interrupted), cmocka_unit_test(test_counts),
                                       cmocka_unit_test(test_update),      cmocka_unit_test(test_update_unknown),
                                       cmocka_unit_test(test_many_rows),   cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_ruled_out)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
