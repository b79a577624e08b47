/* Reference ratios, the prevalence calibrated by them, the test of label shift and expected performance. */
#include "base/base.h"
#include "infer/infer.h"
#include "predict/predict.h"
#include "fixture.h"
#include "problem.h"

enum { EACH = 300, TARGET = 800 };

typedef struct rows {
    double score[2 * EACH], loglik[2 * TARGET];
    int32_t label[2 * EACH];
} rows;

/* Log ratios of two normal classes, exact without distortion: s = 2 x with x ~ N(+-1, 1). times and plus distort
 * them. */
static void draw(uint64_t seed, double prevalence, double times, double plus, rows *r) {
    for (size_t i = 0; i < 2 * EACH; i++) {
        pv_rng rng = pv_rng_stream(seed, 1, i);
        r->label[i] = i % 2 == 1;
        r->score[i] = times * 2 * (pv_rng_normal(&rng) + (r->label[i] ? 1 : -1)) + plus;
    }
    for (size_t i = 0; i < TARGET; i++) {
        pv_rng rng = pv_rng_stream(seed, 2, i);
        double side = pv_rng_uniform(&rng) < prevalence ? 1 : -1, s = times * 2 * (pv_rng_normal(&rng) + side) + plus;
        r->loglik[2 * i] = pv_log_sigmoid(-s);
        r->loglik[2 * i + 1] = pv_log_sigmoid(s);
    }
}

static pv_unknown_prevalence *infer(const rows *r, bool calibrated, const char *dirichlet) {
    const double log_marginal[] = {log(0.5), log(0.5)};
    char *labels[] = {"no", "yes"};
    pv_unknown_sample sample = {.n = TARGET, .classes = 2, .loglik = r->loglik, .log_marginal = log_marginal};
    pv_unknown_options options = pv_unknown_options_default();
    pv_reference *reference = NULL;
    pv_unknown_prevalence *made;
    CHECK_OK(ctx, pv_reference_new(ctx, 2 * EACH, r->score, r->label, NULL, &reference));
    options.reference = calibrated ? reference : NULL;
    options.dirichlet = dirichlet;
    CHECK_OK(ctx, pv_unknown_infer(ctx, &sample, labels, &options, &made));
    pv_reference_free(ctx, reference);
    return made;
}

/* Only the order and the spacing of the ratios count: any linear transformation gives the same prevalence. */
static void test_any_scale(void **state) {
    (void)state;
    rows r;
    draw(3, 0.2, 1, 0, &r);
    pv_unknown_prevalence *right = infer(&r, true, "flat"), *plain = infer(&r, false, "flat");
    draw(3, 0.2, 1.7, -0.8, &r);
    pv_unknown_prevalence *bent = infer(&r, true, "flat"), *wrong = infer(&r, false, "flat");
    assert_true(right->calibrated);
    assert_false(plain->calibrated);
    CHECK_NEAR(bent->value[1], right->value[1], 1e-5);
    CHECK_NEAR(bent->lo[1], right->lo[1], 1e-4);
    CHECK_NEAR(bent->hi[1], right->hi[1], 1e-4);
    assert_true(fabs(wrong->value[1] - 0.2) > 2 * fabs(bent->value[1] - 0.2));
    /* 600 labelled rows leave some uncertainty about the ratios. */
    assert_true(right->hi[1] - right->lo[1] > plain->hi[1] - plain->lo[1]);
    assert_true(right->lo[1] < 0.2 && 0.2 < right->hi[1]);
    /* The chart of the test: distribution functions that differ from the mixture's by at most the reported distance. */
    const pv_shift_curve *curve = &right->curve;
    assert_true(curve->n == 10 && plain->curve.n == 0);
    for (size_t i = 0; i < curve->n; i++) {
        double pi = curve->prevalence, mixture = pi * curve->label[1][i] + (1 - pi) * curve->label[0][i];
        CHECK_NEAR(curve->mixture[i], mixture, 1e-12);
        assert_true(i == 0 || (curve->score[i] > curve->score[i - 1] && curve->rows[i] >= curve->rows[i - 1]));
    }
    assert_true(right->check.distance >= 0 && right->check.p > 0);
    CHECK_NEAR(curve->rows[curve->n - 1], 1, 1e-12);
    CHECK_NEAR(right->lo[0] + right->hi[1], 1, 1e-12);
    pv_unknown_prevalence_free(ctx, right);
    pv_unknown_prevalence_free(ctx, plain);
    pv_unknown_prevalence_free(ctx, bent);
    pv_unknown_prevalence_free(ctx, wrong);
}

/* Many more target rows than labelled ones, and ratios twice too steep: the reference corrects them, and the interval
 * reflects how few rows it has. */
static void test_many_rows(void **state) {
    (void)state;
    enum { FEW = 300, MANY = 4000 };
    static double score[FEW], loglik[2 * MANY];
    static int32_t label[FEW];
    const double log_marginal[] = {log(0.5), log(0.5)};
    char *labels[] = {"no", "yes"};
    for (size_t i = 0; i < FEW; i++) {
        pv_rng rng = pv_rng_stream(5, 1, i);
        label[i] = i % 2 == 1;
        score[i] = 2.4 * (pv_rng_normal(&rng) + (label[i] ? 0.6 : -0.6));
    }
    for (size_t i = 0; i < MANY; i++) {
        pv_rng rng = pv_rng_stream(5, 2, i);
        double s = 2.4 * (pv_rng_normal(&rng) + (i % 20 < 3 ? 0.6 : -0.6));
        loglik[2 * i] = pv_log_sigmoid(-s);
        loglik[2 * i + 1] = pv_log_sigmoid(s);
    }
    pv_unknown_sample sample = {.n = MANY, .classes = 2, .loglik = loglik, .log_marginal = log_marginal};
    pv_unknown_options options = pv_unknown_options_default();
    pv_reference *reference;
    pv_unknown_prevalence *made, *alone;
    CHECK_OK(ctx, pv_reference_new(ctx, FEW, score, label, NULL, &reference));
    CHECK_OK(ctx, pv_unknown_infer(ctx, &sample, labels, &options, &alone));
    options.reference = reference;
    CHECK_OK(ctx, pv_unknown_infer(ctx, &sample, labels, &options, &made));
    assert_true(made->calibrated);
    assert_true(made->lo[1] < 0.15 && 0.15 < made->hi[1] && made->hi[1] - made->lo[1] < 0.25);
    assert_true(alone->lo[1] > 0.15);
    pv_unknown_prevalence_free(ctx, alone);
    pv_unknown_prevalence_free(ctx, made);
    pv_reference_free(ctx, reference);
}

/* The most probable prevalence is a maximum: the density's slope, with a and b refitted, is 0 there. The points'
 * largest value has lower neighbours on both sides, and a prior moves it. */
static void test_prior(void **state) {
    (void)state;
    rows r;
    draw(5, 0.3, 1, 0, &r);
    pv_unknown_prevalence *flat = infer(&r, true, "flat"), *strong = infer(&r, true, "counts:900,100");
    assert_true(strong->value[1] < flat->value[1] && strong->value[1] > 0.1);
    assert_true(strong->movement > 0.5 && flat->movement < 0.2);
    assert_true(strong->hi[1] - strong->lo[1] < flat->hi[1] - flat->lo[1]);
    pv_unknown_prevalence_free(ctx, flat);
    pv_unknown_prevalence_free(ctx, strong);
}

/* Intervals have their coverage, and the test of label shift rejects few mixtures and all non-mixtures. */
static void test_often(void **state) {
    (void)state;
    enum { TIMES = SANITIZED ? 3 : 80 };
    size_t inside = 0, warned = 0, found = 0;
    for (uint64_t seed = 1; seed <= TIMES; seed++) {
        rows r;
        draw(100 + seed, 0.25, 1.4, 0.3, &r);
        pv_unknown_prevalence *made = infer(&r, true, "flat");
        inside += made->lo[1] <= 0.25 && 0.25 <= made->hi[1];
        warned += made->check.p < 0.05;
        for (size_t i = 0; i < TARGET; i++) { /* all in the middle between the classes, as in neither */
            double s = 0.3 * (r.loglik[2 * i + 1] - r.loglik[2 * i]);
            r.loglik[2 * i] = pv_log_sigmoid(-s);
            r.loglik[2 * i + 1] = pv_log_sigmoid(s);
        }
        pv_unknown_prevalence *none = infer(&r, true, "flat");
        found += none->check.p < 0.05;
        pv_unknown_prevalence_free(ctx, made);
        pv_unknown_prevalence_free(ctx, none);
    }
    assert_int_equal(found, TIMES);
    if (SANITIZED) /* too few to be counted */
        return;
    if (!(inside >= 63)) /* 72 expected, standard deviation 2.7 */
        fail_msg("%zu of %d intervals hold the truth", inside, TIMES);
    if (!(warned <= 11)) /* 4 expected, standard deviation 1.9 */
        fail_msg("%zu of %d mixtures were said to be none", warned, TIMES);
}

/* Sensitivity and specificity from few labelled rows: Beta distributions with half a row of each kind added. */
static void test_performance_of_few(void **state) {
    (void)state;
    enum { FEW = 16 };
    rows r;
    draw(7, 0.2, 1, 0, &r);
    pv_unknown_prevalence *made = infer(&r, false, "flat");
    pv_reference *reference;
    pv_expected e;
    CHECK_OK(ctx, pv_reference_new(ctx, FEW, r.score, r.label, NULL, &reference));
    CHECK_OK(ctx, pv_unknown_performance(ctx, reference, made, 0.5, 1, &e));
    const int right[] = {PV_EXPECTED_SENSITIVITY, PV_EXPECTED_SPECIFICITY};
    double out = 0.5 - 0.5 * made->level;
    for (int i = 0; i < 2; i++) {
        double yes = e.value[right[i]] * FEW / 2, no = FEW / 2 - yes; /* equally many of each label */
        CHECK_NEAR(yes, round(yes), 1e-9);
        CHECK_NEAR(e.lo[right[i]], pv_beta_quantile(yes + 0.5, no + 0.5, out), 0.02);
        CHECK_NEAR(e.hi[right[i]], pv_beta_quantile(yes + 0.5, no + 0.5, 1 - out), 0.02);
    }
    for (int y = 0; y < 2; y++)
        reference->units[y] = FEW / 8; /* identical rows in clusters of four */
    CHECK_OK(ctx, pv_unknown_performance(ctx, reference, made, 0.5, 1, &e));
    for (int i = 0; i < 2; i++) {
        double yes = e.value[right[i]] * FEW / 8, no = FEW / 8 - yes;
        CHECK_NEAR(e.lo[right[i]], pv_beta_quantile(yes + 0.5, no + 0.5, out), 0.03);
        CHECK_NEAR(e.hi[right[i]], pv_beta_quantile(yes + 0.5, no + 0.5, 1 - out), 0.03);
    }
    pv_reference_free(ctx, reference);
    pv_unknown_prevalence_free(ctx, made);
}

static void test_performance(void **state) {
    (void)state;
    rows r;
    draw(7, 0.2, 1, 0, &r);
    pv_unknown_prevalence *made = infer(&r, true, "flat");
    pv_reference *reference;
    pv_expected e;
    CHECK_OK(ctx, pv_reference_new(ctx, 2 * EACH, r.score, r.label, NULL, &reference));
    CHECK_OK(ctx, pv_unknown_performance(ctx, reference, made, 0.5, 1, &e));
    double pi = made->value[1], *v = e.value;
    CHECK_NEAR(v[PV_EXPECTED_PPV],
               pi * v[PV_EXPECTED_SENSITIVITY] /
                   (pi * v[PV_EXPECTED_SENSITIVITY] + (1 - pi) * (1 - v[PV_EXPECTED_SPECIFICITY])),
               1e-12);
    /* s >= logit 0.8 with exact ratios: Phi(1 - 0.69), Phi(1 + 0.69). */
    assert_true(fabs(v[PV_EXPECTED_SENSITIVITY] - 0.62) < 0.1 && fabs(v[PV_EXPECTED_SPECIFICITY] - 0.955) < 0.04);
    for (int m = 0; m < PV_EXPECTED_COUNT; m++)
        assert_true(e.lo[m] < v[m] && v[m] < e.hi[m]);
    assert_string_equal(pv_expected_name(PV_EXPECTED_NET_BENEFIT), "net_benefit");
    assert_int_equal(pv_unknown_performance(ctx, reference, made, 1, 1, &e), PV_ERR_USAGE);
    pv_reference_free(ctx, reference);
    pv_unknown_prevalence_free(ctx, made);
}

/* With uninformative rows the most likely prevalence may be below the posterior's interval; if everyone is called
 * positive, there are no true negatives. */
static void test_performance_of_nothing(void **state) {
    (void)state;
    double score[] = {-0.1, 0.1, 0, 0.2}, weight[] = {20, 20, 20, 20};
    double value[] = {0.996, 0.004}, lo[] = {0, 0}, hi[] = {1, 1}, pi[] = {0.7, 0.3, 0.3, 0.7}, share[] = {0.5, 0.5};
    pv_reference reference = {.count = {2, 2}, .units = {40, 40}};
    pv_unknown_prevalence t = {.classes = 2, .level = 0.95, .points = 2};
    pv_expected e;
    reference.score = score;
    reference.weight = weight;
    t.value = value;
    t.lo = lo;
    t.hi = hi;
    t.pi = pi;
    t.weight = share;
    CHECK_OK(ctx, pv_unknown_performance(ctx, &reference, &t, 0.3, 1, &e));
    CHECK_NEAR(e.value[PV_EXPECTED_PPV], 0.004, 1e-12);
    for (int m = 0; m < PV_EXPECTED_COUNT; m++)
        if (m == PV_EXPECTED_NPV)
            assert_true(isnan(e.value[m]) && isnan(e.lo[m]) && isnan(e.hi[m]));
        else
            assert_true(e.lo[m] <= e.value[m] && e.value[m] <= e.hi[m]);
}

/* A column's mean counts as many rows, in either table, as were sampled independently. */
static void test_columns(void **state) {
    (void)state;
    double column[] = {0, 0, 10, 10}, value[] = {0.5, 0.5}, sd[] = {0, 0}, x[] = {3, 3, 3, 3}, weight[] = {1, 1, 1, 5};
    pv_reference reference = {.units = {10, 40}, .columns = 1, .column = column};
    pv_unknown_prevalence t = {.classes = 2, .value = value, .sd = sd};
    pv_dataset data = {.rows = 4, .features = 1, .classes = 2, .x = x};
    pv_shift_check check = {.column_p = 1};
    CHECK_OK(ctx, pv__shift_columns(ctx, &data, NULL, &reference, &t, &check));
    CHECK_NEAR(check.column_z, 3 / sqrt(10 / 4.0 + 0.25 * 10 / 40 + 0.25 * 10 / 10), 1e-12);
    data.weight = weight;
    data.sampling = true;
    CHECK_OK(ctx, pv__shift_columns(ctx, &data, NULL, &reference, &t, &check));
    CHECK_NEAR(check.column_z, 3 / sqrt(10 / (64.0 / 28) + 0.25 * 10 / 40 + 0.25 * 10 / 10), 1e-12);
}

/* ---- reference of a fit ------------------------------------------------------------------------------------------ */

static double apart(const pv_reference *r) {
    double mean[2] = {0, 0}, mass[2] = {0, 0};
    for (size_t i = 0; i < r->count[0] + r->count[1]; i++) {
        int y = i >= r->count[0];
        mass[y] += r->weight[i];
        mean[y] += r->weight[i] * r->score[i];
    }
    return mean[1] / mass[1] - mean[0] / mass[0];
}

/* Training rows scored by models fitted without them are closer together than if scored by the model itself, and as
 * close as new rows. */
static void test_of_fit(void **state) {
    (void)state;
    problem p = nodules(ctx, 100, 4), fresh = nodules(ctx, 4000, 5);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    pv_classifier *c = NULL;
    CHECK_OK(ctx, pv_fit(ctx, p.schema, p.data, &options, &c));
    assert_non_null(c->reference);
    assert_int_equal(c->reference->count[0], 100);
    assert_int_equal(c->reference->count[1], 100);
    assert_int_equal(c->reference->columns, c->schema->features);
    pv_reference *own, *others;
    pv_dataset *rest;
    CHECK_OK(ctx, pv_predict_reference(ctx, c, p.data, &own));
    CHECK_OK(ctx, pv_schema_apply(ctx, c->schema, fresh.table, &(pv_roles){.target = "malignant"}, &rest));
    CHECK_OK(ctx, pv_predict_reference(ctx, c, rest, &others));
    assert_true(others->count[0] <= PV_REFERENCE_POINTS);
    assert_true(apart(own) > 1.15 * apart(others));
    CHECK_NEAR(apart(c->reference), apart(others), 0.3 * apart(others));
    assert_true(apart(c->reference) < 0.9 * apart(own));
    pv_reference_free(ctx, own);
    pv_reference_free(ctx, others);
    pv_dataset_free(ctx, rest);
    /* Each row as two of weight 1/2: the same model, and as many rows in total. */
    double *weight = p.data->weight;
    double *half = malloc(p.data->rows * sizeof *half);
    for (size_t i = 0; i < p.data->rows; i++)
        half[i] = 2;
    p.data->weight = half;
    pv_classifier *twice;
    CHECK_OK(ctx, pv_fit(ctx, p.schema, p.data, &options, &twice));
    double mass = 0;
    for (size_t i = 0; i < twice->reference->count[0]; i++)
        mass += twice->reference->weight[i];
    CHECK_NEAR(mass, 200, 1e-9);
    p.data->weight = weight;
    free(half);
    pv_classifier_free(ctx, twice);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
    problem_free(ctx, &fresh);
}

/* Few training rows and a rare outcome: the ratios are calibrated even if the starting point was far off. */
static void test_rare(void **state) {
    (void)state;
    enum { TIMES = SANITIZED ? 2 : 12 };
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.02";
    for (uint64_t seed = 1; seed <= TIMES; seed++) {
        problem p = nodules(ctx, 60, seed), clinic = nodules_of(ctx, 6, 294, 0.01, 100 + seed);
        pv_classifier *c = fit(ctx, &p, &options);
        pv_dataset *people;
        pv_prediction *said;
        CHECK_OK(ctx, pv_schema_apply(ctx, c->schema, clinic.table, NULL, &people));
        CHECK_OK(ctx, pv_predict_in(ctx, c, people, "unknown", &(pv_predict_options){.level = 0.9}, &said));
        const pv_unknown_prevalence *t = said->inferred;
        if (!t->calibrated)
            fail_msg("seed %d: ratios were taken as right", (int)seed);
        assert_true(t->lo[1] >= 0 && t->lo[1] <= t->value[1] && t->value[1] <= t->hi[1] && t->hi[1] <= 1);
        for (size_t i = 0; i < said->rows; i++)
            assert_true(said->lo[2 * i + 1] <= said->p[2 * i + 1] && said->p[2 * i + 1] <= said->hi[2 * i + 1]);
        pv_prediction_free(ctx, said);
        pv_dataset_free(ctx, people);
        pv_classifier_free(ctx, c);
        problem_free(ctx, &p);
        problem_free(ctx, &clinic);
    }
}

/* Cases without a reference: networks, the plug-in, few rows. */
static void test_none(void **state) {
    (void)state;
    problem p = nodules(ctx, 60, 4), few = nodules(ctx, 15, 4);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    options.model = "mlp:2";
    options.max_iter = 20;
    pv_classifier *c;
    CHECK_OK(ctx, pv_fit(ctx, p.schema, p.data, &options, &c));
    assert_null(c->reference);
    pv_classifier_free(ctx, c);
    options.model = "linear";
    options.marginal = PV_MARGINAL_PLUGIN;
    CHECK_OK(ctx, pv_fit(ctx, p.schema, p.data, &options, &c));
    assert_null(c->reference);
    pv_classifier_free(ctx, c);
    options.marginal = PV_MARGINAL_PROFILE;
    CHECK_OK(ctx, pv_fit(ctx, few.schema, few.data, &options, &c));
    assert_null(c->reference);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
    problem_free(ctx, &few);
}

/* The effective number of people: repeated rows count, sampling weights by their variation, clusters by the similarity
 * of their rows. */
static void test_effective_units(void **state) {
    (void)state;
    enum { ROWS = 120 };
    double share[2 * ROWS], units;
    int32_t cluster[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        share[2 * i] = i / 2 % 2 == 0 ? 1 : 0;
        share[2 * i + 1] = 1 - share[2 * i];
        cluster[i] = (int32_t)(i / 2);
    }
    pv__sampled s = {.rows = ROWS, .cells = 2, .share = share};
    CHECK_OK(ctx, pv__effective_units(ctx, &s, &units));
    CHECK_NEAR(units, ROWS, 1e-9);
    s.cluster = cluster; /* identical pairs count half */
    CHECK_OK(ctx, pv__effective_units(ctx, &s, &units));
    CHECK_NEAR(units, 0.5 * ROWS * 59 / 60, 1e-9);
    for (size_t i = 0; i < ROWS; i++)
        cluster[i] = (int32_t)(i / 4 * 2 + i % 2); /* pairs with one of each cell: not counted more than their number */
    CHECK_OK(ctx, pv__effective_units(ctx, &s, &units));
    CHECK_NEAR(units, ROWS, 1e-9);
    s.cluster = NULL;
    for (size_t i = 0; i < ROWS; i++) {
        share[2 * i] *= i < ROWS / 2 ? 3 : 1;
        share[2 * i + 1] *= i < ROWS / 2 ? 3 : 1;
    }
    CHECK_OK(ctx, pv__effective_units(ctx, &s, &units));
    CHECK_NEAR(units, 2 * ROWS, 1e-9);
    s.sampling = true; /* (3 + 1)^2 / (9 + 1) * 60 */
    CHECK_OK(ctx, pv__effective_units(ctx, &s, &units));
    CHECK_NEAR(units, 96, 1e-9);
}

static void test_bad_rows(void **state) {
    (void)state;
    const double score[] = {1, 2, 3, NAN};
    const int32_t one[] = {0, 0, 0, 0}, odd[] = {0, 1, 2, 1}, fine[] = {0, 1, 0, 1};
    pv_reference *r;
    assert_int_equal(pv_reference_new(ctx, 3, score, one, NULL, &r), PV_ERR_INPUT);
    assert_int_equal(pv_reference_new(ctx, 3, score, odd, NULL, &r), PV_ERR_INPUT);
    assert_int_equal(pv_reference_new(ctx, 4, score, fine, NULL, &r), PV_ERR_INPUT);
    assert_null(r);
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static const rows *drawn;
static const problem *learned;
static const pv_classifier *classifier;

static pv_status infer_poorly(pv_ctx *poor) {
    const double log_marginal[] = {log(0.5), log(0.5)}, from[] = {0.5, 0.5};
    char *labels[] = {"no", "yes"};
    pv_unknown_sample sample = {.n = 40, .classes = 2, .loglik = drawn->loglik, .log_marginal = log_marginal};
    pv_unknown_options options = pv_unknown_options_default();
    pv_reference *reference = NULL, *own = NULL, *other = NULL;
    pv_unknown_prevalence *made = NULL;
    pv_probs *probs = NULL;
    pv_expected expected;
    pv_status status;
    options.dirichlet = "jeffreys";
    PV_GOTO(done, pv_reference_new(poor, 60, drawn->score, drawn->label, NULL, &reference));
    options.reference = reference;
    PV_GOTO(done, pv_unknown_infer(poor, &sample, labels, &options, &made));
    PV_GOTO(done, pv_unknown_performance(poor, reference, made, 0.5, 1, &expected));
    PV_GOTO(done, pv_predict_reference(poor, classifier, learned->data, &own));
    PV_GOTO(done, pv_probs_read(poor, path, &(pv_probs_options){.target = "y"}, &probs));
    PV_GOTO(done, pv_probs_reference(poor, probs, from, &other));
done:
    pv_probs_free(poor, probs);
    pv_reference_free(poor, other);
    pv_reference_free(poor, own);
    pv_unknown_prevalence_free(poor, made);
    pv_reference_free(poor, reference);
    return status;
}

static pv_status fit_poorly(pv_ctx *poor) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    return try_fit(poor, learned, &options);
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    static const char text[] = "p__no,p__yes,y\n0.4,0.6,no\n0.3,0.7,yes\n0.8,0.2,no\n0.1,0.9,yes\n";
    rows r;
    problem p = nodules(ctx, 25, 3);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    draw(9, 0.3, 1, 0, &r);
    drawn = &r;
    learned = &p;
    put(text, sizeof text - 1);
    pv_classifier *c = fit(ctx, &p, &options);
    classifier = c;
    sweep_memory(infer_poorly);
    sweep_memory(fit_poorly);
    pv_classifier_free(ctx, c);
    problem_free(ctx, &p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_scale),   cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_prior),       cmocka_unit_test(test_often),
        cmocka_unit_test(test_performance), cmocka_unit_test(test_performance_of_nothing),
        cmocka_unit_test(test_columns),     cmocka_unit_test(test_performance_of_few),
        cmocka_unit_test(test_of_fit),      cmocka_unit_test(test_rare),
        cmocka_unit_test(test_none),        cmocka_unit_test(test_effective_units),
        cmocka_unit_test(test_bad_rows),    cmocka_unit_test(survives_lack_of_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
