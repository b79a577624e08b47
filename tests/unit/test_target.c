/* Populations of unknown prevalence: exact identities for each method, coverage of intervals, errors.
 */
#include "target.h"

/* ---- limits in the paper ----------------------------------------------------------------------------------------- */

/* balanced:K for growing K tends to p(y|x)/p(y), normalised, and true:K to p(y|x) itself; inf is the limit. */
static void test_limits(void **state) {
    (void)state;
    enum { N = 40 };
    for (int k = 2; k <= 3; k++) {
        double loglik[N * 3], log_marginal[3], wanted[N * 3], p[N * 3], uniform[3], logits[3];
        pv_rng rng = pv_rng_stream(5, 6, (uint64_t)k);
        for (int y = 0; y < k; y++) {
            log_marginal[y] = log(y == 0 ? 1 - 0.1 * (k - 1) : 0.1);
            uniform[y] = 1.0 / k;
        }
        for (size_t i = 0; i < N; i++) {
            for (int y = 0; y < k; y++)
                logits[y] = 2 * pv_rng_normal(&rng);
            pv_log_softmax(k, logits, loglik + i * (size_t)k);
        }
        pv_unknown_sample sample = {.n = N, .classes = k, .loglik = loglik, .log_marginal = log_marginal};
        const char *const priors[][3] = {{"balanced", "balanced:inf", "balanced:1e12"},
                                         {"true:inf", "true:1e12", "true:1e11"}};
        for (int limit = 0; limit < 2; limit++) {
            if (limit == 0)
                pv_adapt(N, k, loglik, log_marginal, uniform, wanted);
            for (int method = PV_UNKNOWN_EXACT; method <= PV_UNKNOWN_VB; method++)
                for (int form = 0; form < 3; form++) {
                    pv_unknown_prevalence *found = infer(ctx, &sample, (pv_unknown_method)method, priors[limit][form]);
                    ok(pv_unknown_predict(ctx, &sample, found, p, NULL, NULL, NULL));
                    for (size_t i = 0; i < (size_t)(N * k); i++)
                        near(p[i], exp(limit ? loglik[i] : wanted[i]), 1e-9);
                    pv_unknown_prevalence_free(ctx, found);
                }
        }
    }
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

/* 200 samples of 500 rows, prevalences from 0.02 to 0.9: the 90 % interval covers the truth in 86 to 94 % of them, and
 * the error is at most that of maximum likelihood. vb's coverage, which is too low, is printed for comparison. */
static void test_coverage(void **state) {
    (void)state;
    enum { SAMPLES = 200, N = 500 };
    const double separations[] = {1, 1.5, 2, 3};
    double *loglik = calloc(2 * N, sizeof *loglik);
    assert_non_null(loglik);
    double all = 0, vb_all = 0, error_all = 0, em_all = 0;
    for (size_t d = 0; d < 4; d++) {
        double held_truth = 0, vb_held = 0, half_held = 0, error = 0, em_error = 0, vb_error = 0, half_error = 0;
        for (size_t s = 0; s < SAMPLES; s++) {
            double truth = 0.02 + 0.88 * (double)s / (SAMPLES - 1);
            draw_pair(1000 * (d + 1) + s, N, truth, separations[d], loglik, NULL);
            pv_unknown_sample sample = {.n = N, .classes = 2, .loglik = loglik, .log_marginal = half};
            pv_unknown_prevalence *exact = infer(ctx, &sample, PV_UNKNOWN_EXACT, "flat"),
                                  *em = infer(ctx, &sample, PV_UNKNOWN_EM, "flat"),
                                  *vb = infer(ctx, &sample, PV_UNKNOWN_VB, "flat"),
                                  *jeffreys = infer(ctx, &sample, PV_UNKNOWN_EXACT, "jeffreys");
            held_truth += exact->lo[1] <= truth && truth <= exact->hi[1];
            vb_held += vb->lo[1] <= truth && truth <= vb->hi[1];
            half_held += jeffreys->lo[1] <= truth && truth <= jeffreys->hi[1];
            half_error += fabs(jeffreys->value[1] - truth) / SAMPLES;
            error += fabs(exact->value[1] - truth) / SAMPLES;
            em_error += fabs(em->value[1] - truth) / SAMPLES;
            vb_error += fabs(vb->value[1] - truth) / SAMPLES;
            assert_false(exact->weak || exact->swayed);
            pv_unknown_prevalence_free(ctx, exact);
            pv_unknown_prevalence_free(ctx, em);
            pv_unknown_prevalence_free(ctx, vb);
            pv_unknown_prevalence_free(ctx, jeffreys);
        }
        print_message(
            "separation %.1f: coverage of exact %.3f, with jeffreys %.3f, of vb %.3f; error of exact %.5f, with "
            "jeffreys %.5f, of em %.5f, vb %.5f\n",
            separations[d], held_truth / SAMPLES, half_held / SAMPLES, vb_held / SAMPLES, error, half_error, em_error,
            vb_error);
        assert_true(held_truth >= 0.86 * SAMPLES && held_truth <= 0.94 * SAMPLES);
        all += held_truth / (4 * SAMPLES);
        vb_all += vb_held / (4 * SAMPLES);
        error_all += error / 4;
        em_all += em_error / 4;
        assert_true(error <= em_error);
    }
    assert_true(all >= 0.88 && all <= 0.92); /* 800 samples: standard error 0.011 */
    assert_true(vb_all < 0.86);
    assert_true(error_all <= em_all);
    free(loglik);
}

/* ---- identities -------------------------------------------------------------------------------------------------- */

/* Rows that are certain of their label act as labels: the posterior is the Dirichlet of their counts, for any number of
 * classes and any way of drawing. */
static void test_sure_rows(void **state) {
    (void)state;
    enum { N = 60 };
    const int classes[] = {2, 3, 6, 16}; /* by quadrature, by importance sampling twice, by Hamiltonian Monte Carlo */
    for (size_t c = 0; c < 4; c++) {
        int k = classes[c];
        double loglik[N * 16], log_marginal[16], counts[16], total = 0;
        for (int y = 0; y < k; y++) {
            log_marginal[y] = log(1.0 / k);
            counts[y] = 1;
        }
        for (size_t i = 0; i < N; i++) {
            int label = i % 3 == 0 ? 1 : 0; /* 20 of one, 40 of another, none of the rest */
            counts[label]++;
            for (int y = 0; y < k; y++)
                loglik[i * (size_t)k + (size_t)y] = y == label ? 0 : -INFINITY;
        }
        for (int y = 0; y < k; y++)
            total += counts[y];
        pv_unknown_sample sample = {.n = N, .classes = k, .loglik = loglik, .log_marginal = log_marginal};
        pv_unknown_prevalence *found = infer(ctx, &sample, PV_UNKNOWN_EXACT, "flat");
        print_message("%d classes: %g effective draws, error %g\n", k, found->effective, found->error);
        assert_true(k == 2 || found->effective > 150);
        for (int y = 0; y < k; y++) {
            double mean = counts[y] / total, sd = sqrt(mean * (1 - mean) / (total + 1));
            near(found->value[y], mean, k == 2 ? 1e-12 : 5 * sd / sqrt(found->effective));
            near(found->sd[y], sd, k == 2 ? 1e-12 : 0.25 * sd);
            near(found->lo[y], pv_beta_quantile(counts[y], total - counts[y], 0.05), k == 2 ? 1e-12 : 0.3 * sd);
        }
        pv_unknown_prevalence_free(ctx, found);
    }
}

/* With every label known: the same Dirichlet, exactly. */
static void test_all_labels_known(void **state) {
    (void)state;
    double loglik[2 * 10];
    int32_t label[10];
    draw_pair(3, 10, 0.4, 1, loglik, label);
    double positive = 0;
    for (int i = 0; i < 10; i++)
        positive += label[i];
    pv_unknown_sample sample = {.n = 10, .classes = 2, .loglik = loglik, .log_marginal = half, .label = label};
    pv_unknown_prevalence *exact = infer(ctx, &sample, PV_UNKNOWN_EXACT, "flat"),
                          *vb = infer(ctx, &sample, PV_UNKNOWN_VB, "flat"),
                          *em = infer(ctx, &sample, PV_UNKNOWN_EM, "flat");
    near(exact->value[1], (1 + positive) / 12, 1e-12);
    near(exact->worth, 10, 1e-9); /* ten labels are equivalent to ten labels */
    near(exact->lo[1], pv_beta_quantile(1 + positive, 11 - positive, 0.05), 1e-12);
    near(vb->value[1], (1 + positive) / 12, 1e-12);
    near(em->value[1], positive / 10, 1e-12);
    pv_unknown_prevalence_free(ctx, exact);
    pv_unknown_prevalence_free(ctx, vb);
    pv_unknown_prevalence_free(ctx, em);
}

/* Weights are repeated rows: sums of logarithms and logarithms of products agree. */
static void test_weights(void **state) {
    (void)state;
    enum { N = 50, TIMES = 7 };
    double loglik[2 * N], weight[N], *many = calloc(2 * N * TIMES, sizeof *many);
    assert_non_null(many);
    draw_pair(8, N, 0.3, 1.5, loglik, NULL);
    for (size_t i = 0; i < N; i++) {
        weight[i] = TIMES;
        for (size_t t = 0; t < TIMES; t++)
            memcpy(many + 2 * (t * N + i), loglik + 2 * i, 2 * sizeof *many);
    }
    pv_unknown_sample weighted = {.n = N, .classes = 2, .loglik = loglik, .log_marginal = half, .weight = weight};
    pv_unknown_sample repeated = {.n = N * TIMES, .classes = 2, .loglik = many, .log_marginal = half};
    for (int method = PV_UNKNOWN_EXACT; method <= PV_UNKNOWN_EM; method++) {
        pv_unknown_prevalence *a = infer(ctx, &weighted, (pv_unknown_method)method, "flat"),
                              *b = infer(ctx, &repeated, (pv_unknown_method)method, "flat");
        near(a->value[1], b->value[1], 1e-12);
        if (method != PV_UNKNOWN_EM)
            near(a->lo[1], b->lo[1], 1e-11);
        pv_unknown_prevalence_free(ctx, a);
        pv_unknown_prevalence_free(ctx, b);
    }
    free(many);
}

/* Bit-identical for any number of threads; 1e-17 in a table of labels is preserved. */
static void test_threads(void **state) {
    (void)state;
    enum { N = 300000 };
    double *loglik = calloc(2 * N, sizeof *loglik), *p = calloc(4 * N, sizeof *p);
    assert_true(loglik && p);
    draw_pair(9, N, 0.1, 1.5, loglik, NULL);
    loglik[0] = -800;
    loglik[1] = 0;
    pv_unknown_sample sample = {.n = N, .classes = 2, .loglik = loglik, .log_marginal = half};
    double value[2], lo[2], log_p;
    for (int t = 0; t < 2; t++) {
        pv_ctx *own = check_ctx(t ? 4 : 1);
        pv_unknown_prevalence *found = infer(own, &sample, PV_UNKNOWN_EXACT, "flat");
        CHECK_OK(own, pv_unknown_predict(own, &sample, found, p + 2 * N * t, NULL, NULL, NULL));
        value[t] = found->value[1];
        lo[t] = found->lo[1];
        if (t) {
            double *logs = calloc(2 * N, sizeof *logs);
            assert_non_null(logs);
            CHECK_OK(own, pv_unknown_predict(own, &sample, found, NULL, logs, NULL, NULL));
            log_p = logs[0];
            assert_true(log_p < -790 && log_p > -810);
            near(exp(logs[21]), p[21], 1e-15);
            free(logs);
        }
        pv_unknown_prevalence_free(own, found);
        pv_ctx_free(own);
    }
    same_bits(value[0], value[1]);
    same_bits(lo[0], lo[1]);
    assert_memory_equal(p, p + 2 * N, 2 * N * sizeof *p);
    free(loglik);
    free(p);
}

/* The search for the mode ends wherever its steps lead: at the start, as with mirrored pairs of rows, or by chance in
 * one of many samples. */
static void test_mode(void **state) {
    (void)state;
    enum { N = 3000 };
    double *loglik = calloc(2 * N, sizeof *loglik);
    assert_non_null(loglik);
    for (uint64_t s = 0; s < 300; s++) {
        draw_pair(5000 + s, N, s % 3 ? 0.2 : 0.001, 1.5, loglik, NULL);
        for (size_t i = 1; s % 10 == 0 && i < N; i += 2) { /* mirrored */
            loglik[2 * i] = loglik[2 * i - 1];
            loglik[2 * i + 1] = loglik[2 * i - 2];
        }
        pv_unknown_sample sample = {.n = N, .classes = 2, .loglik = loglik, .log_marginal = half};
        pv_unknown_prevalence *found = infer(ctx, &sample, PV_UNKNOWN_EXACT, "flat");
        if (!(found->iterations < 40 && found->lo[1] < found->value[1] && found->value[1] < found->hi[1]))
            fail_msg("sample %d: %d passes, %g in %g .. %g", (int)s, (int)found->iterations, found->value[1],
                     found->lo[1], found->hi[1]);
        pv_unknown_prevalence_free(ctx, found);
    }
    free(loglik);
}

/* By hand: decisions are right in 0.8 and 0.9 of the rows of each label; a rate of 0.31 gives pi = (0.31 - 0.2)/0.7. */
static void test_bbse(void **state) {
    (void)state;
    double loglik[200], confusion[4];
    int32_t label[100];
    for (size_t i = 0; i < 100; i++) {
        label[i] = i >= 50;
        bool called = i >= 50 ? i >= 55 : i < 10;
        loglik[2 * i] = log(called ? 0.3 : 0.6);
        loglik[2 * i + 1] = log(called ? 0.7 : 0.4);
    }
    pv_unknown_sample source = {.n = 100, .classes = 2, .loglik = loglik, .log_marginal = half, .label = label};
    ok(pv_confusion(ctx, &source, labels, confusion));
    near(confusion[0], 0.8, 1e-15);
    near(confusion[1], 0.1, 1e-15);
    near(confusion[3], 0.9, 1e-15);
    for (size_t i = 0; i < 100; i++) {
        loglik[2 * i] = log(i < 31 ? 0.3 : 0.6);
        loglik[2 * i + 1] = log(i < 31 ? 0.7 : 0.4);
    }
    pv_unknown_sample target = {.n = 100, .classes = 2, .loglik = loglik, .log_marginal = half};
    pv_unknown_options options = pv_unknown_options_default();
    options.method = PV_UNKNOWN_BBSE;
    options.confusion = confusion;
    pv_unknown_prevalence *found;
    ok(pv_unknown_infer(ctx, &target, labels, &options, &found));
    near(found->value[1], 0.11 / 0.7, 1e-12);
    assert_true(isnan(found->lo[1]) && found->stop == PV_STOP_COMPLETED);
    double p[200];
    assert_int_equal(pv_unknown_predict(ctx, &target, found, p, NULL, p, p), PV_ERR_USAGE);
    says("without an interval");
    pv_unknown_prevalence_free(ctx, found);
    /* With its own probabilities instead of labels: E[1(decision 1) p(y)] over E[p(y)]. */
    ok(pv_confusion(ctx, &target, labels, confusion));
    near(confusion[3], 31 * 0.7 / (31 * 0.7 + 69 * 0.4), 1e-12);
    const double same[] = {0.5, 0.5, 0.5, 0.5};
    options.confusion = same;
    assert_int_equal(pv_unknown_infer(ctx, &target, labels, &options, &found), PV_ERR_INPUT);
    says("singular");
    options.confusion = NULL;
    assert_int_equal(pv_unknown_infer(ctx, &target, labels, &options, &found), PV_ERR_USAGE);
    says("`labelled-sample`");
}

/* ---- identifiability --------------------------------------------------------------------------------------------- */

static void test_weak(void **state) {
    (void)state;
    enum { N = 400 };
    double loglik[2 * N];
    const struct {
        size_t n;
        double separation;
        const char *dirichlet;
        bool weak, swayed;
    } cases[] = {{N, 2, "flat", false, false},          {N, 0.02, "flat", true, false},
                 {3, 2, "flat", true, false},           {N, 2, "counts:9e5,9e5", false, true},
                 {N, 2, "counts:9e5,1e5", false, true}, {N, 2, "jeffreys", false, false},
                 {N, 2, "counts:8,2", false, false},    {N, 2, "true:inf", false, false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        draw_pair(30, cases[c].n, 0.2, cases[c].separation, loglik, NULL);
        pv_unknown_sample sample = {.n = cases[c].n, .classes = 2, .loglik = loglik, .log_marginal = half};
        for (int method = PV_UNKNOWN_EXACT; method <= PV_UNKNOWN_EM; method++) {
            pv_unknown_prevalence *found = infer(ctx, &sample, (pv_unknown_method)method, cases[c].dirichlet);
            bool swayed = cases[c].swayed && method != PV_UNKNOWN_EM;
            if (found->weak != cases[c].weak || (!found->weak && found->swayed != swayed))
                fail_msg("case %zu, method %d: worth %g, movement %g, value %g", c, method, found->worth,
                         found->movement, found->value[1]);
            pv_unknown_prevalence_free(ctx, found);
        }
    }
    /* None of one label among many informative rows: the prevalence is known to be small, for any prior. */
    draw_pair(40, N, 1e-9, 4, loglik, NULL);
    pv_unknown_sample sample = {.n = N, .classes = 2, .loglik = loglik, .log_marginal = half};
    pv_unknown_prevalence *exact = infer(ctx, &sample, PV_UNKNOWN_EXACT, "flat");
    assert_false(exact->weak || exact->swayed);
    assert_true(exact->value[1] < 0.02);
    pv_unknown_prevalence_free(ctx, exact);
}

/* vb with a flat prior: the change from half an observation more of each label, computed directly. */
static void test_vb_movement(void **state) {
    (void)state;
    double loglik[2 * 30];
    draw_pair(31, 30, 0.2, 1.5, loglik, NULL);
    pv_unknown_sample sample = {.n = 30, .classes = 2, .loglik = loglik, .log_marginal = half};
    pv_unknown_prevalence *flat = infer(ctx, &sample, PV_UNKNOWN_VB, "flat"),
                          *half_more = infer(ctx, &sample, PV_UNKNOWN_VB, "counts:1.5,1.5");
    assert_true(flat->movement > 0 && half_more->movement > 0);
    /* Both in units of the sd under a flat prior; the other one from its mean to the flat mode. */
    double sd = sqrt(flat->value[1] * (1 - flat->value[1]) / (flat->worth + 3));
    near(flat->movement, fabs(half_more->value[1] - flat->value[1]) / sd, 0.3 * flat->movement);
    assert_int_equal(flat->points, 1);
    near(flat->pi[1], flat->plugin[1], 0);
    pv_unknown_prevalence_free(ctx, flat);
    pv_unknown_prevalence_free(ctx, half_more);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void test_refused(void **state) {
    (void)state;
    double loglik[2 * 10];
    draw_pair(3, 10, 0.4, 1, loglik, NULL);
    pv_unknown_sample sample = {.n = 1, .classes = 2, .loglik = loglik, .log_marginal = half};
    pv_unknown_options options = pv_unknown_options_default();
    pv_unknown_prevalence *found;
    assert_int_equal(pv_unknown_infer(ctx, &sample, labels, &options, &found), PV_ERR_INPUT);
    says("one row alone");
    assert_null(found);
    sample.n = 10;
    const char *const bad[] = {"",           "even",         "true:",         "true:0",         "true:-1",
                               "balanced:x", "counts:",      "counts:1",      "counts:1,2,3",   "counts:1,0",
                               "counts:1;2", "counts:inf,1", "counts:1e13,1", "balanced:1e300", "flat:2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options.dirichlet = bad[i];
        assert_int_equal(pv_unknown_infer(ctx, &sample, labels, &options, &found), PV_ERR_USAGE);
        says("`dirichlet=");
    }
    options = pv_unknown_options_default();
    loglik[3] = NAN;
    for (int method = PV_UNKNOWN_EXACT; method <= PV_UNKNOWN_EM; method++) {
        options.method = method;
        assert_int_equal(pv_unknown_infer(ctx, &sample, labels, &options, &found), PV_ERR_NUMERIC);
    }
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static pv_status work_two(pv_ctx *poor) {
    double loglik[2 * 12], p[2 * 12], lo[2 * 12], hi[2 * 12];
    draw_pair(3, 12, 0.4, 1, loglik, NULL);
    pv_unknown_sample sample = {.n = 12, .classes = 2, .loglik = loglik, .log_marginal = half};
    pv_unknown_options options = pv_unknown_options_default();
    options.dirichlet = "counts:1,2";
    pv_unknown_prevalence *found;
    pv_status status = pv_unknown_infer(poor, &sample, labels, &options, &found);
    if (status == PV_OK)
        status = pv_unknown_predict(poor, &sample, found, p, NULL, lo, hi);
    pv_unknown_prevalence_free(poor, found);
    return status;
}

static pv_status work_three(pv_ctx *poor) {
    double loglik[3 * 12], log_marginal[3] = {-1, -1, -1}, p[36];
    for (size_t i = 0; i < 12; i++)
        for (size_t y = 0; y < 3; y++)
            loglik[3 * i + y] = (i % 3 == y) - 1.5;
    pv_unknown_sample sample = {.n = 12, .classes = 3, .loglik = loglik, .log_marginal = log_marginal};
    pv_status status = PV_OK;
    for (int method = PV_UNKNOWN_EXACT; method <= PV_UNKNOWN_VB && status == PV_OK; method++) {
        pv_unknown_options options = pv_unknown_options_default();
        options.method = method;
        pv_unknown_prevalence *found;
        status = pv_unknown_infer(poor, &sample, labels, &options, &found);
        if (status == PV_OK)
            status = pv_unknown_predict(poor, &sample, found, p, NULL, NULL, NULL);
        pv_unknown_prevalence_free(poor, found);
    }
    return status;
}

static void test_memory(void **state) {
    (void)state;
    sweep_memory(work_two);
    sweep_memory(work_three);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),    cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_sure_rows), cmocka_unit_test(test_all_labels_known),
        cmocka_unit_test(test_weights),   cmocka_unit_test(test_threads),
        cmocka_unit_test(test_mode),      cmocka_unit_test(test_bbse),
        cmocka_unit_test(test_weak),      cmocka_unit_test(test_vb_movement),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
