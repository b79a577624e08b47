/* Populations of unknown prevalence: what each method must equal, how often intervals hold the truth, what is refused.
 */
#include "predict/target.h"
#include "unit/fixture.h"

static char zero[] = "0", one[] = "1", two[] = "2", more[] = "more";
static char *labels[] = {zero, one, two, more, more, more, more, more, more, more, more, more, more, more, more, more};

/* Normal features of known densities: the ratios are right by construction. */
static void draw_pair(uint64_t seed, size_t n, double prevalence, double separation, double *loglik, int32_t *label) {
    pv_rng rng = pv_rng_stream(seed, 77, 0);
    for (size_t i = 0; i < n; i++) {
        int y = pv_rng_uniform(&rng) < prevalence;
        double x = pv_rng_normal(&rng) + separation * (y - 0.5), odds = separation * x;
        loglik[2 * i] = pv_log_sigmoid(-odds);
        loglik[2 * i + 1] = pv_log_sigmoid(odds);
        if (label)
            label[i] = y;
    }
}

static const double half[] = {-0.69314718055994531, -0.69314718055994531};

static pv_target_prevalence *infer(pv_ctx *own, const pv_target_sample *sample, pv_target_method method,
                                   const char *dirichlet) {
    pv_target_options options = pv_target_options_default();
    options.method = (int)method;
    options.dirichlet = dirichlet;
    options.max_iter = 100000;
    pv_target_prevalence *found;
    CHECK_OK(own, pv_target_infer(own, sample, labels, &options, &found));
    return found;
}

/* ---- the paper's limits ------------------------------------------------------------------------------------------ */

/* balanced:K for growing K tends to p(y|x)/p(y) normalised, true:K to p(y|x) itself; inf is the limit. */
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
        pv_target_sample sample = {.n = N, .classes = k, .loglik = loglik, .log_marginal = log_marginal};
        const char *const priors[][3] = {{"balanced", "balanced:inf", "balanced:1e12"},
                                         {"true:inf", "true:1e12", "true:1e11"}};
        for (int limit = 0; limit < 2; limit++) {
            if (limit == 0)
                pv_adapt(N, k, loglik, log_marginal, uniform, wanted);
            for (int method = PV_TARGET_EXACT; method <= PV_TARGET_VB; method++)
                for (int form = 0; form < 3; form++) {
                    pv_target_prevalence *found = infer(ctx, &sample, (pv_target_method)method, priors[limit][form]);
                    ok(pv_target_predict(ctx, &sample, found, p, NULL, NULL, NULL));
                    for (size_t i = 0; i < (size_t)(N * k); i++)
                        near(p[i], exp(limit ? loglik[i] : wanted[i]), 1e-9);
                    pv_target_prevalence_free(ctx, found);
                }
        }
    }
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

/* 200 samples of 500 rows, prevalences from 0.02 to 0.9: the 90 % interval holds the truth in 86 to 94 % of them, and
 * the error is no larger than maximum likelihood's. vb's coverage is shown beside it; it is too low. */
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
            pv_target_sample sample = {.n = N, .classes = 2, .loglik = loglik, .log_marginal = half};
            pv_target_prevalence *exact = infer(ctx, &sample, PV_TARGET_EXACT, "flat"),
                                 *em = infer(ctx, &sample, PV_TARGET_EM, "flat"),
                                 *vb = infer(ctx, &sample, PV_TARGET_VB, "flat"),
                                 *jeffreys = infer(ctx, &sample, PV_TARGET_EXACT, "jeffreys");
            held_truth += exact->lo[1] <= truth && truth <= exact->hi[1];
            vb_held += vb->lo[1] <= truth && truth <= vb->hi[1];
            half_held += jeffreys->lo[1] <= truth && truth <= jeffreys->hi[1];
            half_error += fabs(jeffreys->value[1] - truth) / SAMPLES;
            error += fabs(exact->value[1] - truth) / SAMPLES;
            em_error += fabs(em->value[1] - truth) / SAMPLES;
            vb_error += fabs(vb->value[1] - truth) / SAMPLES;
            assert_false(exact->weak || exact->swayed);
            pv_target_prevalence_free(ctx, exact);
            pv_target_prevalence_free(ctx, em);
            pv_target_prevalence_free(ctx, vb);
            pv_target_prevalence_free(ctx, jeffreys);
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

/* ---- what must be equal ------------------------------------------------------------------------------------------ */

/* Rows that are sure of their label are labels: the posterior is the Dirichlet of their counts, for any number of
 * classes, whichever way its draws were made. */
static void test_sure_rows(void **state) {
    (void)state;
    enum { N = 60 };
    const int classes[] = {2, 3, 6, 16}; /* by quadrature, by importance twice, by Hamiltonian Monte Carlo */
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
        pv_target_sample sample = {.n = N, .classes = k, .loglik = loglik, .log_marginal = log_marginal};
        pv_target_prevalence *found = infer(ctx, &sample, PV_TARGET_EXACT, "flat");
        print_message("%d classes: %g effective draws, error %g\n", k, found->effective, found->error);
        assert_true(k == 2 || found->effective > 150);
        for (int y = 0; y < k; y++) {
            double mean = counts[y] / total, sd = sqrt(mean * (1 - mean) / (total + 1));
            near(found->value[y], mean, k == 2 ? 1e-12 : 5 * sd / sqrt(found->effective));
            near(found->sd[y], sd, k == 2 ? 1e-12 : 0.25 * sd);
            near(found->lo[y], pv_beta_quantile(counts[y], total - counts[y], 0.05), k == 2 ? 1e-12 : 0.3 * sd);
        }
        pv_target_prevalence_free(ctx, found);
    }
}

/* Every label known: the same Dirichlet, exactly. */
static void test_all_labels_known(void **state) {
    (void)state;
    double loglik[2 * 10];
    int32_t label[10];
    draw_pair(3, 10, 0.4, 1, loglik, label);
    double positive = 0;
    for (int i = 0; i < 10; i++)
        positive += label[i];
    pv_target_sample sample = {.n = 10, .classes = 2, .loglik = loglik, .log_marginal = half, .label = label};
    pv_target_prevalence *exact = infer(ctx, &sample, PV_TARGET_EXACT, "flat"),
                         *vb = infer(ctx, &sample, PV_TARGET_VB, "flat"),
                         *em = infer(ctx, &sample, PV_TARGET_EM, "flat");
    near(exact->value[1], (1 + positive) / 12, 1e-12);
    near(exact->worth, 10, 1e-9); /* ten labels are worth ten labels */
    near(exact->lo[1], pv_beta_quantile(1 + positive, 11 - positive, 0.05), 1e-12);
    near(vb->value[1], (1 + positive) / 12, 1e-12);
    near(em->value[1], positive / 10, 1e-12);
    pv_target_prevalence_free(ctx, exact);
    pv_target_prevalence_free(ctx, vb);
    pv_target_prevalence_free(ctx, em);
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
    pv_target_sample weighted = {.n = N, .classes = 2, .loglik = loglik, .log_marginal = half, .weight = weight};
    pv_target_sample repeated = {.n = N * TIMES, .classes = 2, .loglik = many, .log_marginal = half};
    for (int method = PV_TARGET_EXACT; method <= PV_TARGET_EM; method++) {
        pv_target_prevalence *a = infer(ctx, &weighted, (pv_target_method)method, "flat"),
                             *b = infer(ctx, &repeated, (pv_target_method)method, "flat");
        near(a->value[1], b->value[1], 1e-12);
        if (method != PV_TARGET_EM)
            near(a->lo[1], b->lo[1], 1e-11);
        pv_target_prevalence_free(ctx, a);
        pv_target_prevalence_free(ctx, b);
    }
    free(many);
}

/* The same bits for any number of threads; 1e-17 from a table of labels stays a number. */
static void test_threads(void **state) {
    (void)state;
    enum { N = 300000 };
    double *loglik = calloc(2 * N, sizeof *loglik), *p = calloc(4 * N, sizeof *p);
    assert_true(loglik && p);
    draw_pair(9, N, 0.1, 1.5, loglik, NULL);
    loglik[0] = -800;
    loglik[1] = 0;
    pv_target_sample sample = {.n = N, .classes = 2, .loglik = loglik, .log_marginal = half};
    double value[2], lo[2], log_p;
    for (int t = 0; t < 2; t++) {
        pv_ctx *own = check_ctx(t ? 4 : 1);
        pv_target_prevalence *found = infer(own, &sample, PV_TARGET_EXACT, "flat");
        CHECK_OK(own, pv_target_predict(own, &sample, found, p + 2 * N * t, NULL, NULL, NULL));
        value[t] = found->value[1];
        lo[t] = found->lo[1];
        if (t) {
            double *logs = calloc(2 * N, sizeof *logs);
            assert_non_null(logs);
            CHECK_OK(own, pv_target_predict(own, &sample, found, NULL, logs, NULL, NULL));
            log_p = logs[0];
            assert_true(log_p < -790 && log_p > -810);
            near(exp(logs[21]), p[21], 1e-15);
            free(logs);
        }
        pv_target_prevalence_free(own, found);
        pv_ctx_free(own);
    }
    same_bits(value[0], value[1]);
    same_bits(lo[0], lo[1]);
    assert_memory_equal(p, p + 2 * N, 2 * N * sizeof *p);
    free(loglik);
    free(p);
}

/* The search for the mode ends wherever its steps land: at the start, as for rows that come in mirrored pairs, or by
 * chance in one of many samples. */
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
        pv_target_sample sample = {.n = N, .classes = 2, .loglik = loglik, .log_marginal = half};
        pv_target_prevalence *found = infer(ctx, &sample, PV_TARGET_EXACT, "flat");
        if (!(found->iterations < 40 && found->lo[1] < found->value[1] && found->value[1] < found->hi[1]))
            fail_msg("sample %d: %d passes, %g in %g .. %g", (int)s, (int)found->iterations, found->value[1],
                     found->lo[1], found->hi[1]);
        pv_target_prevalence_free(ctx, found);
    }
    free(loglik);
}

/* By hand: decisions right in 0.8 and 0.9 of the rows of each label; 0.31 called 1 is pi = (0.31 - 0.2)/0.7. */
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
    pv_target_sample source = {.n = 100, .classes = 2, .loglik = loglik, .log_marginal = half, .label = label};
    ok(pv_confusion(ctx, &source, labels, confusion));
    near(confusion[0], 0.8, 1e-15);
    near(confusion[1], 0.1, 1e-15);
    near(confusion[3], 0.9, 1e-15);
    for (size_t i = 0; i < 100; i++) {
        loglik[2 * i] = log(i < 31 ? 0.3 : 0.6);
        loglik[2 * i + 1] = log(i < 31 ? 0.7 : 0.4);
    }
    pv_target_sample target = {.n = 100, .classes = 2, .loglik = loglik, .log_marginal = half};
    pv_target_options options = pv_target_options_default();
    options.method = PV_TARGET_BBSE;
    options.confusion = confusion;
    pv_target_prevalence *found;
    ok(pv_target_infer(ctx, &target, labels, &options, &found));
    near(found->value[1], 0.11 / 0.7, 1e-12);
    assert_true(isnan(found->lo[1]) && found->stop == PV_STOP_COMPLETED);
    double p[200];
    assert_int_equal(pv_target_predict(ctx, &target, found, p, NULL, p, p), PV_ERR_USAGE);
    says("without an interval");
    pv_target_prevalence_free(ctx, found);
    /* Its own probabilities in place of labels: E[1(called 1) p(y)] over E[p(y)]. */
    ok(pv_confusion(ctx, &target, labels, confusion));
    near(confusion[3], 31 * 0.7 / (31 * 0.7 + 69 * 0.4), 1e-12);
    const double same[] = {0.5, 0.5, 0.5, 0.5};
    options.confusion = same;
    assert_int_equal(pv_target_infer(ctx, &target, labels, &options, &found), PV_ERR_INPUT);
    says("singular");
    options.confusion = NULL;
    assert_int_equal(pv_target_infer(ctx, &target, labels, &options, &found), PV_ERR_USAGE);
    says("--source");
}

/* ---- identified or not ------------------------------------------------------------------------------------------- */

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
        pv_target_sample sample = {.n = cases[c].n, .classes = 2, .loglik = loglik, .log_marginal = half};
        for (int method = PV_TARGET_EXACT; method <= PV_TARGET_EM; method++) {
            pv_target_prevalence *found = infer(ctx, &sample, (pv_target_method)method, cases[c].dirichlet);
            bool swayed = cases[c].swayed && method != PV_TARGET_EM;
            if (found->weak != cases[c].weak || (!found->weak && found->swayed != swayed))
                fail_msg("case %zu, method %d: worth %g, movement %g, value %g", c, method, found->worth,
                         found->movement, found->value[1]);
            pv_target_prevalence_free(ctx, found);
        }
    }
    /* None of one label among many rows that tell: the prevalence is small and known to be, whatever the prior. */
    draw_pair(40, N, 1e-9, 4, loglik, NULL);
    pv_target_sample sample = {.n = N, .classes = 2, .loglik = loglik, .log_marginal = half};
    pv_target_prevalence *exact = infer(ctx, &sample, PV_TARGET_EXACT, "flat");
    assert_false(exact->weak || exact->swayed);
    assert_true(exact->value[1] < 0.02);
    pv_target_prevalence_free(ctx, exact);
}

/* ---- draws of w -------------------------------------------------------------------------------------------------- */

typedef struct fitted {
    pv_table *table;
    pv_encoding *encoding;
    char **label;
    pv_dataset *data, *target;
    pv_classifier *classifier;
} fitted;

static fitted fit_nodules(int classes) {
    fitted f = {0};
    pv_simulation study = {.cases = 100, .controls = 100, .prevalence = 0.05, .seed = 2};
    pv_simulation clinic = {.rows = 150, .cases = -1, .controls = -1, .prevalence = 0.3, .seed = 3};
    ok(pv_simulate(ctx, "nodules", &study, &f.table, NULL));
    pv_roles roles = {.target = "malignant", .exclude = classes > 2 ? "upper_lobe" : NULL};
    ok(pv_dataset_learn(ctx, f.table, &roles, &f.encoding, &f.label, &f.data));
    pv_table *other;
    ok(pv_simulate(ctx, "nodules", &clinic, &other, NULL));
    pv_roles none = {0};
    ok(pv_dataset_apply(ctx, other, &none, f.encoding, f.label, 2, &f.target));
    pv_table_free(ctx, other);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    options.infer = PV_INFER_LAPLACE;
    options.draws = 200;
    if (classes > 2) { /* a third label at random, so that there is something to sample */
        options.prevalence = "0.5,0.3,0.2";
        for (size_t i = 0; i < f.data->rows; i += 5)
            f.data->label[i] = 2;
        f.data->classes = 3;
    }
    pv_fit_input input = {.data = f.data, .encoding = f.encoding, .labels = labels, .target = "y"};
    ok(pv_fit(ctx, &input, &options, &f.classifier));
    return f;
}

static void fitted_free(fitted *f) {
    pv_string_list_free(ctx, f->label, 2);
    pv_classifier_free(ctx, f->classifier);
    pv_dataset_free(ctx, f->target);
    pv_dataset_free(ctx, f->data);
    pv_encoding_free(ctx, f->encoding);
    pv_table_free(ctx, f->table);
}

/* Each draw's own posterior by itself: their mean is the prevalence, exactly for two classes; the rows' probabilities
 * agree within the error of one draw of pi for each. */
static void test_draws(void **state) {
    (void)state;
    for (int classes = 2; classes <= 3; classes++) {
        fitted f = fit_nodules(classes);
        const pv_classifier *c = f.classifier;
        size_t n = f.target->rows, k = (size_t)classes, draws = c->posterior->count;
        pv_target_options options = pv_target_options_default();
        options.draws = 400;
        pv_target_prevalence *joint, *single;
        double *p = calloc(6 * n * k, sizeof *p), *lo = p + n * k, *hi = lo + n * k, *mean = hi + n * k,
               *loglik = mean + n * k, *own = loglik + n * k, value[3] = {0}, squares[3] = {0}, movement = 0;
        assert_non_null(p);
        ok(pv_predict_unknown(ctx, c, f.target, NULL, &options, p, NULL, lo, hi, &joint));
        pv_classifier at = *c;
        for (size_t s = 0; s < draws; s++) {
            at.w = c->posterior->draws + s * c->posterior->dims;
            ok(pv_predict_loglik(ctx, &at, f.target, loglik));
            pv_target_sample sample = {
                .n = n, .classes = classes, .loglik = loglik, .log_marginal = c->draw_log_marginal + s * k};
            options.seed = (int64_t)s + 2; /* errors of their draws are to cancel */
            ok(pv_target_infer(ctx, &sample, labels, &options, &single));
            ok(pv_target_predict(ctx, &sample, single, own, NULL, NULL, NULL));
            for (size_t y = 0; y < k; y++)
                squares[y] += (single->value[y] * single->value[y] + single->sd[y] * single->sd[y]) / (double)draws;
            movement += single->movement / (double)draws;
            for (size_t y = 0; y < k; y++)
                value[y] += single->value[y] / (double)draws;
            for (size_t i = 0; i < n * k; i++)
                mean[i] += own[i] / (double)draws;
            pv_target_prevalence_free(ctx, single);
        }
        for (size_t y = 0; y < k; y++) {
            double sd = sqrt(squares[y] - value[y] * value[y]), few = sd / sqrt(10 * (double)draws); /* of the chains */
            near(joint->value[y], value[y], classes == 2 ? 1e-12 : 4 * few);
            near(joint->sd[y], sd, classes == 2 ? 1e-9 : 0.1 * sd);
            assert_true(joint->error > 0.5 * few && joint->error < sd);
            assert_true(joint->lo[y] < value[y] && value[y] < joint->hi[y]);
        }
        for (size_t i = 0; i < n * k; i++) {
            near(p[i], mean[i], 6 * (hi[i] - lo[i]) / 3.3 / sqrt((double)draws));
            assert_true(lo[i] <= p[i] && p[i] <= hi[i]);
        }
        options.seed = 1;
        near(joint->movement, movement, classes == 2 ? 1e-6 : 0.2 * movement);
        pv_ctx *wide = check_ctx(3);
        CHECK_OK(wide, pv_predict_unknown(wide, c, f.target, NULL, &options, own, NULL, NULL, NULL, &single));
        assert_memory_equal(own, p, n * k * sizeof *p);
        pv_target_prevalence_free(wide, single);
        pv_ctx_free(wide);
        for (int method = PV_TARGET_VB; method <= PV_TARGET_EM; method++) {
            options.method = method;
            ok(pv_predict_unknown(ctx, c, f.target, NULL, &options, own, mean, lo, hi, &single));
            near(single->value[1], joint->value[1], 0.1);
            assert_true(isnan(single->movement) == (method == PV_TARGET_EM));
            near(exp(mean[1]), own[1], 1e-14);
            pv_target_prevalence_free(ctx, single);
        }
        pv_target_prevalence_free(ctx, joint);
        free(p);
        fitted_free(&f);
    }
}

/* vb with a flat prior: the move to half an observation of each label more, by doing it. */
static void test_vb_movement(void **state) {
    (void)state;
    double loglik[2 * 30];
    draw_pair(31, 30, 0.2, 1.5, loglik, NULL);
    pv_target_sample sample = {.n = 30, .classes = 2, .loglik = loglik, .log_marginal = half};
    pv_target_prevalence *flat = infer(ctx, &sample, PV_TARGET_VB, "flat"),
                         *half_more = infer(ctx, &sample, PV_TARGET_VB, "counts:1.5,1.5");
    assert_true(flat->movement > 0 && half_more->movement > 0);
    /* Both are in the sd that a flat prior leaves; that of more is from its mean to the flat mode. */
    double sd = sqrt(flat->value[1] * (1 - flat->value[1]) / (flat->worth + 3));
    near(flat->movement, fabs(half_more->value[1] - flat->value[1]) / sd, 0.3 * flat->movement);
    assert_int_equal(flat->points, 1);
    near(flat->pi[1], flat->plugin[1], 0);
    pv_target_prevalence_free(ctx, flat);
    pv_target_prevalence_free(ctx, half_more);
}

/* ---- draws of more than two classes ------------------------------------------------------------------------------ */

/* 20 rows of one label, 40 of another, none of the other 14: proposals around the mode are hardly ever taken. */
static void sure_rows(double *loglik, double *log_marginal) {
    for (size_t y = 0; y < 16; y++)
        log_marginal[y] = -log(16);
    for (size_t i = 0; i < 60 * 16; i++)
        loglik[i] = i % 16 == (i / 16 % 3 == 0) ? 0 : -INFINITY;
}

/* Each draw alone is a draw all the same, and its points have the Dirichlet's moments. */
static void test_chain_that_sticks(void **state) {
    (void)state;
    enum { DRAWS = 12 };
    double loglik[60 * 16], log_marginal[16], alpha[16], pi[16], mean[16], sd[16], rare = 0, rare_mean = 0, common = 0,
                                                                                   rescued = 0;
    sure_rows(loglik, log_marginal);
    for (size_t y = 0; y < 16; y++)
        alpha[y] = 1;
    pv_target_sample sample = {.n = 60, .classes = 16, .loglik = loglik, .log_marginal = log_marginal};
    pv__mixture m;
    pv__many many;
    ok(pv__mixture_init(ctx, &sample, true, &m));
    ok(pv__many_init(ctx, 16, &many));
    ok(pv__many_mode(ctx, &m, alpha, &many));
    assert_true(many.converged);
    for (uint64_t s = 0; s < DRAWS; s++) {
        pv__points points;
        ok(pv__many_draw(ctx, &m, alpha, &many, 1, s, pi, &points));
        rescued += points.count > 32;
        pv__points_moments(&points, mean, sd);
        common += mean[0] / DRAWS;
        for (size_t y = 2; y < 16; y++) {
            rare += pi[y] / DRAWS;
            rare_mean += mean[y] / DRAWS;
        }
        pv__points_clear(ctx, &points);
    }
    assert_true(rescued >= 0.75 * DRAWS);
    near(common, 41.0 / 76, 0.01);
    near(rare_mean, 14.0 / 76, 0.01);
    near(rare, 14.0 / 76, 4 * 0.044 / sqrt((double)DRAWS)); /* the Dirichlet's sd of their sum is 0.044 */
    pv__many_clear(ctx, &many);
    pv__mixture_clear(ctx, &m);
}

static pv_ctx *to_stop;

static void stop_late(void *state, const pv_progress *progress) {
    (void)state;
    if (strcmp(progress->what, "hmc") == 0 && progress->step > progress->steps - 400)
        pv_ctx_interrupt(to_stop);
}

/* Draws that were not made do not enter. */
static void test_interrupted_draws(void **state) {
    (void)state;
    double loglik[60 * 16], log_marginal[16];
    sure_rows(loglik, log_marginal);
    pv_target_sample sample = {.n = 60, .classes = 16, .loglik = loglik, .log_marginal = log_marginal};
    pv_ctx_options options = pv_ctx_options_default();
    options.progress = stop_late;
    assert_int_equal(pv_ctx_new(&options, &to_stop), PV_OK);
    pv_target_options target = pv_target_options_default();
    pv_target_prevalence *found;
    assert_int_equal(pv_target_infer(to_stop, &sample, labels, &target, &found), PV_ERR_INTERRUPTED);
    assert_null(found);
    pv_ctx_free(to_stop);
    /* Left alone, its passes over the rows count: far more than the draws. */
    ok(pv_target_infer(ctx, &sample, labels, &target, &found));
    assert_true(found->iterations > 10 * target.draws);
    pv_target_prevalence_free(ctx, found);
}

/* What has not settled says so. Rows that say nothing, with weights that drown the prior: Newton's equations are all
 * but singular, and its decrement may be anything, below 0 too. */
static void test_not_converged(void **state) {
    (void)state;
    enum { N = 60 };
    double loglik[3 * N], weight[N], log_marginal[] = {-1.1, -1.1, -1.1}, alpha[] = {1, 1, 1};
    size_t settled = 0;
    for (uint64_t s = 0; s < 40; s++) {
        pv_rng rng = pv_rng_stream(s, 5, 5);
        for (size_t i = 0; i < 3 * N; i++)
            loglik[i] = (s % 2 ? 3 : 1e-6) * pv_rng_normal(&rng);
        for (size_t i = 0; i < N; i++)
            weight[i] = s % 2 ? 1 : 1e10 * pv_rng_uniform(&rng);
        for (size_t y = 0; y < 3; y++)
            alpha[y] = s % 2 ? 1 : 1e-9;
        pv_target_sample sample = {
            .n = N, .classes = 3, .loglik = loglik, .log_marginal = log_marginal, .weight = weight};
        pv__mixture m;
        pv__many many;
        ok(pv__mixture_init(ctx, &sample, true, &m));
        ok(pv__many_init(ctx, 3, &many));
        ok(pv__many_mode(ctx, &m, alpha, &many));
        settled += many.converged;
        assert_true(many.converged || s % 2 == 0);
        pv__many_clear(ctx, &many);
        pv__mixture_clear(ctx, &m);
    }
    print_message("%zu of 40 settled\n", settled);
    assert_true(settled <= 24);
    loglik[1] = (double)NAN;
    pv_target_sample pair = {.n = N, .classes = 2, .loglik = loglik, .log_marginal = half};
    pv__mixture m;
    pv__pair quadrature = {0};
    ok(pv__mixture_init(ctx, &pair, false, &m));
    ok(pv__pair_solve(ctx, &m, alpha, &quadrature));
    assert_false(quadrature.converged);
    loglik[1] = 0;
    pv__mixture_load(ctx, &m, loglik, half);
    ok(pv__pair_solve(ctx, &m, alpha, &quadrature));
    assert_true(quadrature.converged);
    pv__pair_clear(ctx, &quadrature);
    pv__mixture_clear(ctx, &m);
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

static void test_refused(void **state) {
    (void)state;
    double loglik[2 * 10];
    draw_pair(3, 10, 0.4, 1, loglik, NULL);
    pv_target_sample sample = {.n = 1, .classes = 2, .loglik = loglik, .log_marginal = half};
    pv_target_options options = pv_target_options_default();
    pv_target_prevalence *found;
    assert_int_equal(pv_target_infer(ctx, &sample, labels, &options, &found), PV_ERR_INPUT);
    says("one row alone");
    assert_null(found);
    sample.n = 10;
    const char *const bad[] = {"",           "even",         "true:",         "true:0",         "true:-1",
                               "balanced:x", "counts:",      "counts:1",      "counts:1,2,3",   "counts:1,0",
                               "counts:1;2", "counts:inf,1", "counts:1e13,1", "balanced:1e300", "flat:2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        options.dirichlet = bad[i];
        assert_int_equal(pv_target_infer(ctx, &sample, labels, &options, &found), PV_ERR_USAGE);
        says("--dirichlet");
    }
    options = pv_target_options_default();
    loglik[3] = NAN;
    for (int method = PV_TARGET_EXACT; method <= PV_TARGET_EM; method++) {
        options.method = method;
        assert_int_equal(pv_target_infer(ctx, &sample, labels, &options, &found), PV_ERR_NUMERIC);
    }
}

/* Labels, weights and log-likelihoods that the sums cannot bear: through either door, and from one draw of many. */
static void test_refused_masses(void **state) {
    (void)state;
    double loglik[2 * 10], weight[10];
    int32_t label[10];
    draw_pair(3, 10, 0.4, 1, loglik, NULL);
    for (size_t i = 0; i < 10; i++) {
        weight[i] = 1;
        label[i] = -1;
    }
    pv_target_sample sample = {
        .n = 10, .classes = 2, .loglik = loglik, .log_marginal = half, .label = label, .weight = weight};
    pv_target_options options = pv_target_options_default();
    pv_target_prevalence *found;
    fitted f = fit_nodules(2);
    double *p = calloc(2 * f.target->rows, sizeof *p), *kept = f.target->weight;
    int32_t *known = calloc(f.target->rows, sizeof *known);
    f.target->weight = calloc(f.target->rows, sizeof *p);
    assert_true(p && known && f.target->weight);
    const double bad[] = {-1, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < 3; i++) {
        weight[4] = f.target->weight[4] = bad[i];
        assert_int_equal(pv_target_infer(ctx, &sample, labels, &options, &found), PV_ERR_INPUT);
        says("row 5: a weight of");
        assert_int_equal(pv_confusion(ctx, &sample, labels, p), PV_ERR_INPUT);
        assert_int_equal(pv_predict_unknown(ctx, f.classifier, f.target, NULL, &options, p, NULL, NULL, NULL, &found),
                         PV_ERR_INPUT);
        says("row 5: a weight of");
    }
    memset(weight, 0, sizeof weight);
    f.target->weight[4] = 0;
    assert_int_equal(pv_target_infer(ctx, &sample, labels, &options, &found), PV_ERR_INPUT);
    says("add up to 0");
    assert_int_equal(pv_predict_unknown(ctx, f.classifier, f.target, NULL, &options, p, NULL, NULL, NULL, &found),
                     PV_ERR_INPUT);
    says("add up to 0");
    free(f.target->weight);
    f.target->weight = kept;
    sample.weight = NULL;
    const int32_t wrong[] = {2, -2, 1000000};
    for (size_t i = 0; i < 3; i++) {
        label[3] = known[3] = wrong[i];
        assert_int_equal(pv_target_infer(ctx, &sample, labels, &options, &found), PV_ERR_INPUT);
        says("is no label");
        assert_int_equal(pv_predict_unknown(ctx, f.classifier, f.target, known, &options, p, NULL, NULL, NULL, &found),
                         PV_ERR_INPUT);
        says("row 4:");
    }
    size_t dims = f.classifier->posterior->dims;
    f.classifier->posterior->draws[5 * dims] = (double)NAN; /* the sixth draw's rows */
    assert_int_equal(pv_predict_unknown(ctx, f.classifier, f.target, NULL, &options, p, NULL, NULL, NULL, &found),
                     PV_ERR_NUMERIC);
    says("row 1 are not finite");
    free(known);
    free(p);
    fitted_free(&f);
}

/* Rows that no draw gives a probability above the smallest number have a logarithm all the same. */
static void test_log_of_draws(void **state) {
    (void)state;
    fitted f = fit_nodules(2);
    size_t n = f.target->rows, d = (size_t)pv_model_inputs(f.classifier->model);
    for (size_t i = 0; i < d; i++)
        f.target->x[i] *= 1e4;
    double *p = calloc(4 * n, sizeof *p), *log_p = p + 2 * n;
    assert_non_null(p);
    f.classifier->posterior->count = 2;
    memcpy(f.classifier->posterior->draws + f.classifier->posterior->dims, f.classifier->posterior->draws,
           f.classifier->posterior->dims * sizeof *p);
    memcpy(f.classifier->draw_log_marginal + 2, f.classifier->draw_log_marginal, 2 * sizeof *p);
    pv_target_options options = pv_target_options_default();
    options.method = PV_TARGET_EM; /* one pi for both draws */
    pv_target_prevalence *found;
    ok(pv_predict_unknown(ctx, f.classifier, f.target, NULL, &options, p, log_p, NULL, NULL, &found));
    double *loglik = calloc(2 * n, sizeof *loglik);
    assert_non_null(loglik);
    pv_classifier at = *f.classifier;
    at.w = f.classifier->posterior->draws;
    ok(pv_predict_loglik(ctx, &at, f.target, loglik));
    pv_adapt(n, 2, loglik, f.classifier->draw_log_marginal, found->value, loglik);
    int least = loglik[0] < loglik[1] ? 0 : 1;
    assert_true(loglik[least] < -1000);
    for (size_t i = 0; i < 2 * n; i++)
        near(log_p[i], loglik[i], 1e-9 * (1 + fabs(loglik[i])));
    pv_target_prevalence_free(ctx, found);
    free(loglik);
    free(p);
    fitted_free(&f);
}

/* SciPy's sici. */
static void test_sine_integral(void **state) {
    (void)state;
    const double wanted[][2] = {{0.1, 0.09994446110827694}, {1, 0.9460830703671831}, {3.9, 1.7765013604478055},
                                {4.1, 1.7387436264917688},  {10, 1.658347594218874}, {50, 1.551617072485936},
                                {1000, 1.5702331219687713}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        near(pv__sine_integral(wanted[i][0]), wanted[i][1], 2e-14);
        near(pv__sine_integral(-wanted[i][0]), -wanted[i][1], 2e-14);
    }
}

/* Each copy of the kernels against plain sums. */
static void test_kernels(void **state) {
    (void)state;
    enum { N = 203, K = 4 };
    extern const pv__mixture_kernels pv__mixture_kernels_baseline, pv__mixture_kernels_avx2, pv__mixture_kernels_avx512;
    const pv__mixture_kernels *const all[] = {&pv__mixture_kernels_baseline, &pv__mixture_kernels_avx2,
                                              &pv__mixture_kernels_avx512};
    double loglik[N * K], shift[K] = {-1, -0.5, -2, -1.5}, r[K * N], log_r[K * N], v[N], out[K * N];
    const double pi[2 * K] = {0.1, 0.2, 0.3, 0.4, 1e-9, 0.5, 0.25, 0.25 - 1e-9}, share[2] = {0.3, 0.7};
    pv_rng rng = pv_rng_stream(1, 2, 3);
    for (size_t i = 0; i < N * K; i++)
        loglik[i] = 3 * pv_rng_normal(&rng);
    for (size_t i = 0; i < N; i++)
        v[i] = i % 7 ? pv_rng_uniform(&rng) : 0;
    for (int isa = 0; isa <= (int)pv__isa_best(); isa++) { /* what is not a number stays so, and large odds finite */
        const double pair[6] = {-1, -2, (double)NAN, -1, 0, -1e6};
        double u[3];
        all[isa]->pair_ratios(3, pair, 0, u);
        near(u[0], 1 / (1 + exp(1)), 1e-15);
        assert_true(isnan(u[1]));
        near(u[2], 0, 1e-300);
    }
    for (int isa = 0; isa <= (int)pv__isa_best(); isa++)
        for (int weighted = 0; weighted < 2; weighted++) {
            const double *w = weighted ? v : NULL;
            double sums[K], cross[K * K], work[K * PV__BLOCK], logs[2], want[K] = {0}, want_cross = 0,
                                                                        want_log[2] = {0};
            all[isa]->ratios(N, K, loglik, shift, N, r, log_r);
            all[isa]->sums(N, K, N, r, w, pi, sums, cross, work);
            all[isa]->logs(N, K, N, r, w, 2, pi, logs);
            all[isa]->average(N, K, N, r, 2, pi, share, out);
            for (size_t i = 0; i < N; i++) {
                double q[2] = {0}, weight = w ? w[i] : 1, top = -HUGE_VAL, e[K];
                for (size_t y = 0; y < K; y++)
                    top = fmax(top, loglik[i * K + y] - shift[y]);
                for (size_t y = 0; y < K; y++) {
                    e[y] = exp(loglik[i * K + y] - shift[y] - top);
                    near(r[y * N + i], e[y], 1e-15);
                    near(exp(log_r[y * N + i]), e[y], 1e-15);
                    q[0] += pi[y] * e[y];
                    q[1] += pi[K + y] * e[y];
                }
                want_log[0] += weight * log(q[0]);
                want_log[1] += weight * log(q[1]);
                for (size_t y = 0; y < K; y++) {
                    want[y] += weight * pi[y] * e[y] / q[0];
                    near(out[y * N + i], share[0] * pi[y] / q[0] + share[1] * pi[K + y] / q[1], 1e-12 / q[0] / q[1]);
                }
                want_cross += weight * pi[1] * e[1] * pi[3] * e[3] / (q[0] * q[0]);
            }
            near(logs[0], want_log[0], 1e-10);
            near(logs[1], want_log[1], 1e-10);
            for (size_t y = 0; y < K; y++)
                near(sums[y], want[y], 1e-10);
            near(cross[1 * K + 3], want_cross, 1e-10);
            near(cross[3 * K + 1], want_cross, 1e-10);
        }
}

/* ---- lack of memory ---------------------------------------------------------------------------------------------- */

static pv_status work_two(pv_ctx *poor) {
    double loglik[2 * 12], p[2 * 12], lo[2 * 12], hi[2 * 12];
    draw_pair(3, 12, 0.4, 1, loglik, NULL);
    pv_target_sample sample = {.n = 12, .classes = 2, .loglik = loglik, .log_marginal = half};
    pv_target_options options = pv_target_options_default();
    options.dirichlet = "counts:1,2";
    pv_target_prevalence *found;
    pv_status status = pv_target_infer(poor, &sample, labels, &options, &found);
    if (status == PV_OK)
        status = pv_target_predict(poor, &sample, found, p, NULL, lo, hi);
    pv_target_prevalence_free(poor, found);
    return status;
}

static pv_status work_three(pv_ctx *poor) {
    double loglik[3 * 12], log_marginal[3] = {-1, -1, -1}, p[36];
    for (size_t i = 0; i < 12; i++)
        for (size_t y = 0; y < 3; y++)
            loglik[3 * i + y] = (i % 3 == y) - 1.5;
    pv_target_sample sample = {.n = 12, .classes = 3, .loglik = loglik, .log_marginal = log_marginal};
    pv_status status = PV_OK;
    for (int method = PV_TARGET_EXACT; method <= PV_TARGET_VB && status == PV_OK; method++) {
        pv_target_options options = pv_target_options_default();
        options.method = method;
        pv_target_prevalence *found;
        status = pv_target_infer(poor, &sample, labels, &options, &found);
        if (status == PV_OK)
            status = pv_target_predict(poor, &sample, found, p, NULL, NULL, NULL);
        pv_target_prevalence_free(poor, found);
    }
    return status;
}

/* With draws of w, whose workers allocate: one thread, since the limited allocator counts without locks. */
static void sweep_draws(void) {
    fitted f = fit_nodules(2);
    f.classifier->posterior->count = 3;
    pv_ctx_options options = pv_ctx_options_default();
    options.allocator = (pv_allocator){limited_alloc, limited_resize, limited_release, NULL};
    options.threads = 1;
    double *p = calloc(f.target->rows, 2 * sizeof *p);
    assert_non_null(p);
    pv_status status = PV_ERR_MEMORY;
    for (size_t limit = 1; status != PV_OK; limit++) {
        pv_ctx *poor;
        pv_target_prevalence *found;
        pv_target_options target = pv_target_options_default();
        allowed = limit;
        held = 0;
        assert_int_equal(pv_ctx_new(&options, &poor), PV_OK);
        status = pv_predict_unknown(poor, f.classifier, f.target, NULL, &target, p, NULL, NULL, NULL, &found);
        assert_true(status == PV_OK || status == PV_ERR_MEMORY);
        pv_target_prevalence_free(poor, found);
        pv_ctx_free(poor);
        assert_int_equal(held, 0);
        assert_true(limit < 1000);
    }
    free(p);
    fitted_free(&f);
}

static void test_memory(void **state) {
    (void)state;
    sweep_draws();
    sweep_memory(work_two);
    sweep_memory(work_three);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_sure_rows),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_all_labels_known),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_bbse),
        cmocka_unit_test(test_weak),
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_vb_movement),
        cmocka_unit_test(test_chain_that_sticks),
        cmocka_unit_test(test_interrupted_draws),
        cmocka_unit_test(test_not_converged),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_masses),
        cmocka_unit_test(test_log_of_draws),
        cmocka_unit_test(test_sine_integral),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_mode),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
