/* Intervals of metrics and curves: coverage, threads, many rows, expected compared with observed errors, extremes,
 * memory. tests/oracle compares values with scikit-learn and NumPy. */
#include "assess/assess.h" /* before fixture.h, whose ctx would be shadowed */

#include "check.h"
#include "fixture.h"

/* ---- two normal distributions, for which everything is known ----------------------------------------------------- */

/* x ~ N(-1,1) and N(1,1) by label, so that log odds are 2x + logit(prevalence). */
static const double PREVALENCE = 0.1;

static void draw_rows(uint64_t seed, size_t rows, double share, double *log_p, int32_t *label, double shift) {
    for (size_t i = 0; i < rows; i++) {
        pv_rng rng = pv_rng_stream(seed, 7, i);
        label[i] = share > 0 ? pv_rng_uniform(&rng) < share : (int32_t)(i % 2);
        double log_odds = 2 * (pv_rng_normal(&rng) + (label[i] ? 1 : -1)) + pv_logit(PREVALENCE) + shift;
        log_p[2 * i] = pv_log_sigmoid(-log_odds);
        log_p[2 * i + 1] = pv_log_sigmoid(log_odds);
    }
}

static double normal_density(double x) {
    return exp(-x * x / 2) / sqrt(2 * 3.14159265358979323846);
}

/* sum_y prevalence(y) E[loss | y] by Simpson's rule. */
static double expected_loss(double (*loss)(double log_odds, int y), double shift) {
    enum { STEPS = 4000 };
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        double x = -12 + 24.0 * i / STEPS, log_odds = 2 * x + pv_logit(PREVALENCE) + shift;
        double weight = (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2) * 24.0 / STEPS / 3;
        sum += weight * (PREVALENCE * normal_density(x - 1) * loss(log_odds, 1) +
                         (1 - PREVALENCE) * normal_density(x + 1) * loss(log_odds, 0));
    }
    return sum;
}

static double log_loss(double log_odds, int y) {
    return -pv_log_sigmoid(y ? log_odds : -log_odds);
}

static double squared_loss(double log_odds, int y) {
    double off = pv_sigmoid(log_odds) - y;
    return off * off;
}

static pv_assessment assess(pv_ctx *own, const pv_targets *targets, const double *log_p,
                            const pv_assess_options *options) {
    pv_assessment found;
    const double log_marginal[] = {log(1 - PREVALENCE), log(PREVALENCE), log(0.1), log(0.1)};
    pv_judged judged = {.log_p = log_p, .log_marginal = log_marginal};
    CHECK_OK(own, pv_assess_intervals(own, targets, &judged, options, &found));
    return found;
}

/* 90 % intervals from balanced samples, for the population, have about that coverage. The predictions are those for a
 * prevalence of one half, so that no metric depends on a handful of rows (docs/method.md describes that case). */
static void test_coverage(void **state) {
    (void)state;
    enum { ROWS = 200, SIMULATIONS = SANITIZED ? 10 : 300, METRICS = 8 };
    const double stated[] = {1 - PREVALENCE, PREVALENCE}, shift = -pv_logit(PREVALENCE), rate = pv_normal_cdf(1);
    const struct {
        size_t offset;
        double truth;
    } metrics[METRICS] = {
        {offsetof(pv_metrics, auc), pv_normal_cdf(sqrt(2))},
        {offsetof(pv_metrics, tpr), rate},
        {offsetof(pv_metrics, accuracy), rate},
        {offsetof(pv_metrics, informedness), 2 * rate - 1},
        {offsetof(pv_metrics, ppv), PREVALENCE * rate / (PREVALENCE * rate + (1 - PREVALENCE) * (1 - rate))},
        {offsetof(pv_metrics, npv), (1 - PREVALENCE) * rate / ((1 - PREVALENCE) * rate + PREVALENCE * (1 - rate))},
        {offsetof(pv_metrics, log_loss), expected_loss(log_loss, shift)},
        {offsetof(pv_metrics, brier), expected_loss(squared_loss, shift)},
    };
    int held_by[METRICS] = {0};
    double log_p[2 * ROWS];
    int32_t label[ROWS];
    pv_targets targets = {.n = ROWS, .classes = 2, .label = label};
    pv_ctx *own = check_ctx(1); /* too little work for a team */
    pv_assess_options options = pv_assess_options_default();
    options.prevalence = stated;
    options.bootstrap = 200;
    for (uint64_t s = 0; s < SIMULATIONS; s++) {
        draw_rows(s, ROWS, 0, log_p, label, shift);
        pv_assessment found = assess(own, &targets, log_p, &options);
        for (int m = 0; m < METRICS; m++) {
            double lo, hi;
            memcpy(&lo, (char *)&found.lo + metrics[m].offset, sizeof lo);
            memcpy(&hi, (char *)&found.hi + metrics[m].offset, sizeof hi);
            held_by[m] += lo <= metrics[m].truth && metrics[m].truth <= hi;
        }
        pv_assessment_clear(own, &found);
    }
    for (int m = 0; m < METRICS && !SANITIZED; m++) {    /* too few under sanitisers to be counted */
        double share = held_by[m] / (double)SIMULATIONS; /* standard error 0.017 */
        if (!(share > 0.84 && share < 0.96))
            fail_msg("metric %d: 90 %% intervals hold the truth in %g of the samples", m, share);
    }
    pv_ctx_free(own);
}

/* Beyond 8,192 rows neighbours are drawn together: the spread must equal that of the rows. */
static void test_many_rows(void **state) {
    enum { ROWS = 60000 };
    pv_ctx *own = *state;
    double *log_p = malloc(2 * ROWS * sizeof *log_p);
    int32_t *label = malloc(ROWS * sizeof *label);
    assert_true(log_p && label);
    draw_rows(1, ROWS, PREVALENCE, log_p, label, 0);
    pv_targets targets = {.n = ROWS, .classes = 2, .label = label};
    pv_assess_options options = pv_assess_options_default();
    options.bootstrap = 2000; /* the standard error of an interval's width is about 3 % */
    pv_assessment found = assess(own, &targets, log_p, &options);
    double reach = 2 * pv_normal_quantile(0.975), mass[2], v = found.value.auc, variance = 0;
    pv_label_mass(&targets, mass);
    CHECK_NEAR((found.hi.log_loss - found.lo.log_loss) / (reach * found.value.log_loss_sd), 1, 0.1);
    CHECK_NEAR((found.hi.tpr - found.lo.tpr) / (reach * sqrt(found.value.tpr * (1 - found.value.tpr) / mass[1])), 1,
               0.1);
    CHECK_NEAR((found.hi.tnr - found.lo.tnr) / (reach * sqrt(found.value.tnr * (1 - found.value.tnr) / mass[0])), 1,
               0.1);
    /* DeLong's variance of the area, from the placements of the rows. */
    double mean[2] = {0}, square[2] = {0};
    pv_ranking *r = found.ranking;
    for (size_t i = 0; i < r->points; i++) {
        double tp = r->tp[i] - (i ? r->tp[i - 1] : 0), fp = r->fp[i] - (i ? r->fp[i - 1] : 0);
        double above = (r->tp[i] - tp / 2) / mass[1], below = 1 - (r->fp[i] - fp / 2) / mass[0];
        mean[1] += tp * below / mass[1];
        square[1] += tp * below * below / mass[1];
        mean[0] += fp * above / mass[0];
        square[0] += fp * above * above / mass[0];
    }
    for (int y = 0; y < 2; y++) {
        CHECK_NEAR(mean[y], v, 1e-12);
        variance += (square[y] - mean[y] * mean[y]) / mass[y];
    }
    CHECK_NEAR((found.hi.auc - found.lo.auc) / (reach * sqrt(variance)), 1, 0.1);
    CHECK_NEAR((found.hi.auc + found.lo.auc) / 2, v, 0.2 * sqrt(variance));
    assert_true(found.lo.ece < found.value.ece && found.value.ece < 0.01);
    assert_true(found.hi.ece > 1.05 * found.value.ece); /* also for a calibrated model */
    pv_assessment_clear(own, &found);
    free(log_p);
    free(label);
}

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

static void check_same(const pv_assessment *a, const pv_assessment *b, double tolerance) {
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        const double pair[][2] = {{pv_metric_get(&a->lo, row), pv_metric_get(&b->lo, row)},
                                  {pv_metric_get(&a->hi, row), pv_metric_get(&b->hi, row)}};
        for (int i = 0; i < 2; i++)
            if (!(fabs(pair[i][0] - pair[i][1]) <= tolerance || (isnan(pair[i][0]) && isnan(pair[i][1]))))
                fail_msg("%s: %.17g, %.17g", row->name, pair[i][0], pair[i][1]);
    }
}

/* Clusters of one row each are rows, to the bit. Clusters of other numbers, and of counts or of repeated rows, have the
 * same intervals. */
static void test_clusters(void **state) {
    enum { ROWS = 120, CLUSTERS = 30, MOST = 3 * ROWS };
    pv_ctx *own = *state;
    double log_p[2 * ROWS], count[ROWS], all_p[2 * MOST];
    int32_t label[ROWS], alone[ROWS], unit[ROWS], renamed[ROWS], all_label[MOST], all_unit[MOST];
    size_t all = 0;
    draw_rows(11, ROWS, 0, log_p, label, 0);
    for (int32_t i = 0; i < ROWS; i++) {
        alone[i] = (7 * i) % ROWS;
        unit[i] = i / 2 % CLUSTERS;
        renamed[i] = (11 * unit[i] + 5) % CLUSTERS;
        count[i] = 1 + i % 3;
        for (int c = 0; c < 1 + i % 3; c++, all++) {
            memcpy(all_p + 2 * all, log_p + 2 * i, 2 * sizeof *log_p);
            all_label[all] = label[i];
            all_unit[all] = unit[i];
        }
    }
    pv_assess_options options = pv_assess_options_default();
    options.bootstrap = 200;
    const pv_targets rows = {.n = ROWS, .classes = 2, .label = label};
    pv_targets each = rows, clusters = rows, others = rows, counts = rows;
    each.unit = alone;
    clusters.unit = counts.unit = unit;
    others.unit = renamed;
    counts.weight = count;
    const pv_targets repeated = {.n = all, .classes = 2, .label = all_label, .unit = all_unit};
    pv_assessment a = assess(own, &rows, log_p, &options), b = assess(own, &each, log_p, &options),
                  c = assess(own, &clusters, log_p, &options), d = assess(own, &others, log_p, &options),
                  e = assess(own, &counts, log_p, &options), f = assess(own, &repeated, all_p, &options);
    check_same(&a, &b, 0);
    assert_string_equal(b.drawn, "within labels");
    assert_string_equal(c.drawn, "by cluster");
    assert_int_equal(c.units, CLUSTERS);
    check_same(&e, &f, 1e-10);
    check_same(&c, &d, 0);
    assert_true(c.lo.auc != a.lo.auc);
    pv_assessment *const made[] = {&a, &b, &c, &d, &e, &f};
    for (size_t i = 0; i < 6; i++)
        pv_assessment_clear(own, made[i]);
}

/* Clusters of one label, x ~ N(+-1/2 + b, 1 - B) with b ~ N(0, B) of the cluster: 90 % intervals of the area, by
 * cluster, have about that coverage. Those by row hold the truth in about half of the samples. */
static void test_cluster_coverage(void **state) {
    (void)state;
    enum { CLUSTERS = 60, EACH = 8, ROWS = CLUSTERS * EACH, SIMULATIONS = SANITIZED ? 10 : 300 };
    const double between = 0.6, truth = pv_normal_cdf(1 / sqrt(2));
    double log_p[2 * ROWS];
    int32_t label[ROWS], unit[ROWS];
    int right[2] = {0};
    pv_ctx *own = check_ctx(1);
    pv_assess_options options = pv_assess_options_default();
    options.bootstrap = 200;
    options.level = 0.9;
    for (uint64_t s = 0; s < SIMULATIONS; s++) {
        for (int32_t c = 0; c < CLUSTERS; c++) {
            pv_rng rng = pv_rng_stream(s, 17, (uint64_t)c);
            double b = sqrt(between) * pv_rng_normal(&rng);
            for (int32_t i = c * EACH; i < (c + 1) * EACH; i++) {
                label[i] = c % 3 == 0;
                unit[i] = c;
                double x = label[i] - 0.5 + b + sqrt(1 - between) * pv_rng_normal(&rng);
                log_p[2 * i] = pv_log_sigmoid(-x);
                log_p[2 * i + 1] = pv_log_sigmoid(x);
            }
        }
        for (int way = 0; way < 2; way++) {
            pv_targets targets = {.n = ROWS, .classes = 2, .label = label, .unit = way ? unit : NULL};
            pv_assessment found = assess(own, &targets, log_p, &options);
            right[way] += found.lo.auc <= truth && truth <= found.hi.auc;
            pv_assessment_clear(own, &found);
        }
    }
    double by_row = right[0] / (double)SIMULATIONS, by_cluster = right[1] / (double)SIMULATIONS;
    if (!SANITIZED && !(by_cluster > 0.84 && by_cluster < 0.96 && by_row < 0.65)) /* standard error 0.017 */
        fail_msg("90 %% intervals hold the truth in %g of the samples by cluster, %g by row", by_cluster, by_row);
    pv_ctx_free(own);
}

/* ---- threads and seeds ------------------------------------------------------------------------------------------- */

static void check_threads(size_t rows, int classes, bool weights) {
    size_t k = (size_t)classes;
    double *log_p = malloc(rows * k * sizeof *log_p), *weight = malloc(rows * sizeof *weight);
    int32_t *label = malloc(rows * sizeof *label);
    assert_true(log_p && weight && label);
    for (size_t i = 0; i < rows; i++) {
        pv_rng rng = pv_rng_stream(3, 8, i);
        label[i] = (int32_t)pv_rng_below(&rng, k);
        weight[i] = pv_rng_uniform(&rng);
        for (size_t y = 0; y < k; y++)
            log_p[i * k + y] = floor(8 * pv_rng_normal(&rng)) / 8 + (label[i] == (int32_t)y);
        pv_log_softmax(classes, log_p + i * k, log_p + i * k);
    }
    pv_targets targets = {.n = rows, .classes = classes, .label = label, .weight = weights ? weight : NULL};
    pv_assess_options options = pv_assess_options_default();
    options.bootstrap = 24;
    pv_assessment found[3];
    for (int t = 0; t < 3; t++) {
        pv_ctx *own = check_ctx(t == 2 ? 1 : 1 + 3 * t);
        options.seed = t == 2 ? 99 : 1;
        found[t] = assess(own, &targets, log_p, &options);
        pv_ranking_free(own, found[t].ranking);
        pv_ctx_free(own);
    }
    assert_memory_equal(&found[0].value, &found[1].value, sizeof found[0].value);
    assert_memory_equal(&found[0].lo, &found[1].lo, sizeof found[0].lo);
    assert_memory_equal(&found[0].hi, &found[1].hi, sizeof found[0].hi);
    assert_memory_equal(&found[0].value, &found[2].value, sizeof found[0].value);
    assert_true(found[0].lo.auc != found[2].lo.auc && fabs(found[0].lo.auc - found[2].lo.auc) < 0.01);
    free(log_p);
    free(weight);
    free(label);
}

static void test_threads(void **state) {
    (void)state;
    check_threads(3000, 2, false);
    check_threads(100000, 2, false);
    check_threads(100000, 2, true);
    check_threads(40000, 4, true);
}

/* ---- expected compared with observed errors ---------------------------------------------------------------------- */

/* The largest difference between expected and observed rates, in standard errors of the observed one. */
static double largest_gap(pv_ctx *own, double shift, const char *rate) {
    enum { ROWS = 100000 };
    double *log_p = malloc(2 * ROWS * sizeof *log_p), gap = 0, mass[2];
    int32_t *label = malloc(ROWS * sizeof *label);
    assert_true(log_p && label);
    draw_rows(5, ROWS, PREVALENCE, log_p, label, shift);
    pv_targets targets = {.n = ROWS, .classes = 2, .label = label};
    pv_label_mass(&targets, mass);
    pv_ranking *ranking;
    CHECK_OK(own, pv_ranking_new(own, &targets, log_p, -1, NULL, &ranking));
    pv_curve_options options = pv_curve_options_default();
    pv_curve curve;
    CHECK_OK(own, pv_curve_make(own, ranking, PV_CURVE_expected, &options, &curve));
    size_t first = strcmp(rate, "fpr") == 0 ? 1 : 5; /* RATE_expected, then RATE */
    assert_string_equal(curve.column[first + 1], rate);
    for (size_t i = 0; i < curve.points; i++) {
        double expected = curve.value[i * curve.columns + first], found = curve.value[i * curve.columns + first + 1];
        double sd = sqrt(found * (1 - found) / mass[first == 5]);
        if (found > 0.01 && found < 0.99)
            gap = fmax(gap, fabs(expected - found) / sd);
    }
    pv_curve_clear(own, &curve);
    pv_ranking_free(own, ranking);
    free(log_p);
    free(label);
    return gap;
}

static void test_expected_errors(void **state) {
    double right_fpr = largest_gap(*state, 0, "fpr"), right_fnr = largest_gap(*state, 0, "fnr");
    double wrong_fpr = largest_gap(*state, 1, "fpr"), wrong_fnr = largest_gap(*state, 1, "fnr");
    /* Maximum of few independent gaps: a correct model exceeds 4 standard errors very rarely. */
    if (!(right_fpr < 4 && right_fnr < 4))
        fail_msg("a right model's expected rates are off by %g and %g standard errors", right_fpr, right_fnr);
    if (!(wrong_fpr > 20 && wrong_fnr > 20))
        fail_msg("a wrong model's expected rates are off by %g and %g standard errors only", wrong_fpr, wrong_fnr);
}

/* Rows of a balanced sample agree as well if weighted to the population, but not without weights. */
static void test_calibration_weighted(void **state) {
    enum { ROWS = 100000 };
    pv_ctx *own = *state;
    double *log_p = malloc(2 * ROWS * sizeof *log_p);
    int32_t *label = malloc(ROWS * sizeof *label);
    assert_true(log_p && label);
    draw_rows(9, ROWS, 0, log_p, label, 0);
    pv_targets targets = {.n = ROWS, .classes = 2, .label = label};
    const double population[] = {1 - PREVALENCE + 0.001, PREVALENCE - 0.001};
    int inside[2] = {0}, bins[2] = {0};
    for (int weighted = 0; weighted < 2; weighted++) {
        pv_ranking *ranking;
        CHECK_OK(own, pv_ranking_new(own, &targets, log_p, -1, weighted ? population : NULL, &ranking));
        pv_curve_options options = pv_curve_options_default();
        options.level = 0.99;
        pv_curve curve;
        CHECK_OK(own, pv_curve_make(own, ranking, PV_CURVE_calibration, &options, &curve));
        for (size_t i = 0; i < curve.points; i++) {
            const double *row = curve.value + i * curve.columns;
            bins[weighted]++;
            inside[weighted] += row[4] <= 1.02 * row[2] && 0.98 * row[2] <= row[5];
            assert_true(row[0] <= row[2] && row[2] <= row[1] && row[4] <= row[3] && row[3] <= row[5]);
        }
        pv_curve_clear(own, &curve);
        pv_ranking_free(own, ranking);
    }
    assert_true(bins[0] == 10 && bins[1] == 10);
    assert_true(inside[1] >= bins[1] - 1 && inside[0] <= 2);
    free(log_p);
    free(label);
}

/* Probabilities that are tiny compared with the sums of others, many ties, and values of 0 and 1: every bin has rows,
 * its mean is inside, and the smooth curve is valid. */
static void test_calibration_extreme(void **state) {
    enum { ROWS = 3000 };
    static double log_p[2 * ROWS];
    static int32_t label[ROWS];
    pv_ctx *own = *state;
    for (size_t i = 0; i < ROWS; i++) {
        double p = i < 1000 ? 1e-18 * (double)(1 + i / 7) : i < 2000 ? 0.25 : 1 - 1e-12 * (double)(i - 2000);
        label[i] = i > 1500 && i % 3 != 0;
        log_p[2 * i] = i == 2000 ? -HUGE_VAL : log1p(-p);
        log_p[2 * i + 1] = log(p);
    }
    pv_targets targets = {.n = ROWS, .classes = 2, .label = label};
    const double population[] = {0.999, 0.001};
    for (int stated = 0; stated < 2; stated++) {
        pv_ranking *ranking;
        CHECK_OK(own, pv_ranking_new(own, &targets, log_p, -1, stated ? population : NULL, &ranking));
        pv_curve_options options = pv_curve_options_default();
        pv_curve curve;
        CHECK_OK(own, pv_curve_make(own, ranking, PV_CURVE_calibration, &options, &curve));
        double rows = 0;
        for (size_t i = 0; i < curve.points; i++) {
            const double *row = curve.value + i * curve.columns;
            assert_true(row[0] <= row[2] && row[2] <= row[1] && row[6] > 0);
            assert_true(i == 0 || row[0] == row[1 - (ptrdiff_t)curve.columns]);
            rows += row[6];
        }
        assert_true(curve.points >= 5 && rows == ROWS);
        pv_curve_clear(own, &curve);
        CHECK_OK(own, pv_curve_make(own, ranking, PV_CURVE_calibration_smooth, &options, &curve));
        assert_true(curve.points == 100);
        for (size_t i = 0; i < curve.points; i++) {
            const double *row = curve.value + i * curve.columns;
            assert_true(row[0] > 0 && row[0] <= 1 && row[2] <= row[1] && row[1] <= row[3]);
            assert_true(i == 0 || row[0] > row[-(ptrdiff_t)curve.columns]);
        }
        pv_curve_clear(own, &curve);
        pv_ranking_free(own, ranking);
    }
}

/* The band of the smooth curve has about its nominal pointwise coverage. */
static void test_calibration_band(void **state) {
    enum { ROWS = 1000, TIMES = SANITIZED ? 5 : 200 };
    static double log_p[2 * ROWS];
    static int32_t label[ROWS];
    pv_ctx *own = *state;
    int inside = 0, points = 0;
    for (int time = 0; time < TIMES; time++) {
        draw_rows(1000 + (uint64_t)time, ROWS, PREVALENCE, log_p, label, 0);
        pv_targets targets = {.n = ROWS, .classes = 2, .label = label};
        pv_ranking *ranking;
        CHECK_OK(own, pv_ranking_new(own, &targets, log_p, -1, NULL, &ranking));
        pv_curve_options options = pv_curve_options_default();
        pv_curve curve;
        CHECK_OK(own, pv_curve_make(own, ranking, PV_CURVE_calibration_smooth, &options, &curve));
        for (size_t i = 30; i < 70; i += 10) { /* where there are rows */
            const double *row = curve.value + i * curve.columns;
            points++;
            inside += row[2] <= row[0] && row[0] <= row[3];
        }
        pv_curve_clear(own, &curve);
        pv_ranking_free(own, ranking);
    }
    double share = (double)inside / points; /* 0.9, from 800 points of 200 samples */
    if (!SANITIZED && !(share > 0.84 && share < 0.96))
        fail_msg("the band of level 0.9 holds the truth at %g of the points", share);
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

static void test_thinning(void **state) {
    enum { ROWS = 5000 };
    static double log_p[2 * ROWS];
    static int32_t label[ROWS];
    pv_ctx *own = *state;
    draw_rows(2, ROWS, PREVALENCE, log_p, label, 0);
    pv_targets targets = {.n = ROWS, .classes = 2, .label = label};
    pv_ranking *ranking;
    CHECK_OK(own, pv_ranking_new(own, &targets, log_p, -1, NULL, &ranking));
    pv_curve_options options = pv_curve_options_default();
    pv_curve all, thin;
    options.points = 0;
    CHECK_OK(own, pv_curve_make(own, ranking, PV_CURVE_roc, &options, &all));
    options.points = 40;
    CHECK_OK(own, pv_curve_make(own, ranking, PV_CURVE_roc, &options, &thin));
    assert_int_equal(all.points, ROWS + 1);
    assert_true(thin.points <= 41 && thin.points >= 35);
    size_t at = 0;
    for (size_t i = 0; i < thin.points; i++) { /* each is a point of the whole curve, in its order */
        const double *row = thin.value + i * thin.columns;
        while (at < all.points && memcmp(all.value + at * all.columns, row, all.columns * sizeof *row) != 0)
            at++;
        assert_true(at < all.points);
        if (i > 0)
            assert_true((row[1] + row[4]) - (row[1 - (int)thin.columns] + row[4 - (int)thin.columns]) <
                        2.0 / 39 + 0.02);
    }
    assert_int_equal(at, all.points - 1);
    options.points = 1;
    pv_curve_clear(own, &thin);
    CHECK_OK(own, pv_curve_make(own, ranking, PV_CURVE_roc, &options, &thin));
    assert_int_equal(thin.points, 3);
    pv_curve_clear(own, &thin);
    pv_curve_clear(own, &all);
    pv_ranking_free(own, ranking);
}

/* One label only, one score only, certain but wrong predictions: NaN exactly where undefined, and no crash. */
static void test_extremes(void **state) {
    pv_ctx *own = *state;
    const int32_t both[] = {0, 1, 1}, one[] = {0, 0, 0};
    const double same[] = {-1, -0.4586751453870819, -1, -0.4586751453870819, -1, -0.4586751453870819};
    const double sure[] = {0, -INFINITY, -INFINITY, 0, 0, -INFINITY};
    const double stated[] = {0.9, 0.1};
    const double *predictions[] = {same, sure};
    pv_assess_options options = pv_assess_options_default();
    pv_curve_options curves = pv_curve_options_default();
    for (int i = 0; i < 8; i++) {
        pv_targets targets = {.n = i & 4 ? 1 : 3, .classes = 2, .label = i & 1 ? one : both};
        options.prevalence = i & 2 ? stated : NULL;
        for (int p = 0; p < 2; p++) {
            pv_assessment found = assess(own, &targets, predictions[p], &options);
            for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
                double lo, hi, value;
                memcpy(&value, (char *)&found.value + row->offset, sizeof value);
                memcpy(&lo, (char *)&found.lo + row->offset, sizeof lo);
                memcpy(&hi, (char *)&found.hi + row->offset, sizeof hi);
                assert_true(isnan(lo) == isnan(hi) &&
                            (isnan(lo) || (isfinite(value) && lo <= value && value <= hi && hi - lo > 0)));
                bool lost = (i & 1 || i & 4) && i & 2; /* a label of the population has no rows */
                if (lost && pv_metric_depends(row, 2))
                    assert_true(isnan(value));
            }
            for (int kind = 0; kind < PV_CURVES; kind++) {
                pv_curve curve;
                CHECK_OK(own, pv_curve_make(own, found.ranking, (pv_curve_kind)kind, &curves, &curve));
                pv_curve_clear(own, &curve);
            }
            pv_assessment_clear(own, &found);
        }
    }
}

/* A proportion of 0 or 1 has an interval although no replicate differs. */
static void test_rates_of_one(void **state) {
    pv_ctx *own = *state;
    int32_t label[40];
    double log_p[80];
    for (int i = 0; i < 40; i++) {
        label[i] = i % 2;
        log_p[2 * i + label[i]] = log(0.9 - 0.001 * i);
        log_p[2 * i + 1 - label[i]] = log(0.1 + 0.001 * i);
    }
    pv_targets targets = {.n = 40, .classes = 2, .label = label};
    pv_assess_options options = pv_assess_options_default();
    pv_assessment found = assess(own, &targets, log_p, &options);
    CHECK_NEAR(found.value.tpr, 1, 0);
    CHECK_NEAR(found.hi.tpr, 1, 0);
    /* Gamma(1/2) exceeds 2.512 with probability 0.025; the replicates' error is about 0.1 rows. */
    CHECK_NEAR(found.lo.tpr, 20 / (20 + 2.512), 0.02);
    assert_true(found.lo.tpr < 0.95 && found.lo.mcc < 0.95 && found.lo.informedness < 0.95);
    assert_true(found.lo.accuracy > found.lo.tpr && found.lo.accuracy < 0.99 && found.hi.mcc == 1);
    assert_true(isnan(found.lo.auc)); /* all replicates agree */
    assert_true(found.lo.log_loss < found.value.log_loss && found.value.log_loss < found.hi.log_loss);
    pv_assessment_clear(own, &found);
}

/* The first label as the positive one: rates are exchanged, the area and symmetric metrics do not change. */
static void test_other_positive(void **state) {
    enum { ROWS = 300 };
    double log_p[2 * ROWS];
    int32_t label[ROWS];
    pv_ctx *own = *state;
    draw_rows(4, ROWS, 0.3, log_p, label, 1);
    pv_targets targets = {.n = ROWS, .classes = 2, .label = label};
    pv_assess_options options = pv_assess_options_default();
    pv_assessment last = assess(own, &targets, log_p, &options);
    options.positive = 0;
    pv_assessment first = assess(own, &targets, log_p, &options);
    CHECK_NEAR(first.value.tpr, last.value.tnr, 1e-15);
    CHECK_NEAR(first.value.ppv, last.value.npv, 1e-15);
    CHECK_NEAR(first.lo.npv, last.lo.ppv, 1e-15);
    CHECK_NEAR(first.value.auc, last.value.auc, 1e-15);
    pv_curve_options curves = pv_curve_options_default();
    pv_curve a, b;
    curves.points = 0;
    CHECK_OK(own, pv_curve_make(own, last.ranking, PV_CURVE_roc, &curves, &a));
    CHECK_OK(own, pv_curve_make(own, first.ranking, PV_CURVE_roc, &curves, &b));
    assert_int_equal(a.points, b.points);
    for (size_t i = 0; i + 1 < a.points; i++) { /* mirrored at the diagonal; without ties one point fewer counts */
        const double *x = a.value + i * a.columns, *y = b.value + (b.points - 1 - i) * b.columns;
        CHECK_NEAR(x[1], 1 - y[4], 1e-12);
        CHECK_NEAR(x[4], 1 - y[1], 1e-12);
    }
    pv_curve_clear(own, &a);
    pv_curve_clear(own, &b);
    pv_assessment_clear(own, &last);
    pv_assessment_clear(own, &first);
}

/* ---- sorting ----------------------------------------------------------------------------------------------------- */

typedef struct scored {
    double score;
    uint32_t row;
} scored;

static int by_score(const void *left, const void *right) {
    const scored *a = left, *b = right;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static void check_sort(size_t n, int kind) {
    double *score = malloc(n * sizeof *score);
    scored *expected = malloc(n * sizeof *expected);
    uint32_t *row = malloc(n * sizeof *row);
    assert_true(score && expected && row);
    pv_rng rng = pv_rng_stream(11, 9, n);
    for (size_t i = 0; i < n; i++) {
        double x = pv_rng_normal(&rng);
        score[i] = kind == 0 ? x : kind == 1 ? floor(2 * x) : kind == 2 ? 7 : exp(200 * x) * (x < 0 ? -1 : 1);
        if (kind == 0 && i % 50 == 0)
            score[i] = i % 100 ? INFINITY : -INFINITY;
        if (kind == 1 && score[i] == 0 && i % 2)
            score[i] = -0.0;
        expected[i] = (scored){score[i], (uint32_t)i};
    }
    qsort(expected, n, sizeof *expected, by_score);
    for (int way = 0; way < 3; way++) {
        pv_ctx *own = check_ctx(way == 0 ? 1 : 4);
        if (way == 2) /* in runs that are merged, if there are many */
            CHECK_OK(own, pv_ctx_set_memory(own, 1 << 20, NULL));
        double *copy = malloc(n * sizeof *copy);
        assert_non_null(copy);
        memcpy(copy, score, n * sizeof *copy);
        for (size_t i = 0; i < n; i++)
            row[i] = (uint32_t)i;
        CHECK_OK(own, pv__sort_scores(own, n, copy, row));
        for (size_t i = 0; i < n; i++)
            assert_true(copy[i] == expected[i].score && row[i] == expected[i].row);
        free(copy);
        pv_ctx_free(own);
    }
    free(score);
    free(expected);
    free(row);
}

static void test_sort(void **state) {
    (void)state;
    const size_t sizes[] = {1, 2, 3, 1000, 200000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < 4; kind++)
            check_sort(sizes[s], kind);
}

/* ---- bad options, failing allocations ---------------------------------------------------------------------------- */

static void test_bad_options(void **state) {
    pv_ctx *own = *state;
    const int32_t label[] = {0, 1};
    const double log_p[] = {log(0.5), log(0.5), log(0.4), log(0.6)}, zero[] = {1, 0}, sum[] = {0.5, 0.4};
    pv_targets targets = {.n = 2, .classes = 2, .label = label};
    pv_judged judged = {.log_p = log_p};
    pv_assessment found;
    const pv_assess_options good = pv_assess_options_default();
    pv_assess_options bad[] = {good, good, good, good, good, good};
    bad[0].positive = 2;
    bad[1].level = 1;
    bad[2].level = NAN;
    bad[3].bootstrap = -2;
    bad[4].prevalence = zero;
    bad[5].prevalence = sum;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(pv_assess_intervals(own, &targets, &judged, &bad[i], &found), PV_ERR_USAGE);
        assert_null(found.ranking);
    }
    pv_ranking *ranking;
    CHECK_OK(own, pv_ranking_new(own, &targets, log_p, -1, NULL, &ranking));
    const pv_curve_options plain = pv_curve_options_default();
    pv_curve_options wrong[] = {plain, plain, plain, plain};
    wrong[0].level = 0;
    wrong[1].bins = 0;
    wrong[2].threshold = 1;
    wrong[3].prevalences = zero;
    wrong[3].n_prevalences = 2;
    pv_curve curve;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(pv_curve_make(own, ranking, PV_CURVE_im, &wrong[i], &curve), PV_ERR_USAGE);
    assert_int_equal(pv_curve_make(own, ranking, PV_CURVES, &plain, &curve), PV_ERR_USAGE);
    pv_ranking_free(own, ranking);
}

static pv_status assess_all(pv_ctx *poor) {
    enum { ROWS = 8500 };
    static double log_p[3 * ROWS];
    static int32_t label[ROWS];
    draw_rows(6, ROWS, 0.2, log_p, label, 0);
    pv_assess_options options = pv_assess_options_default();
    pv_curve_options curves = pv_curve_options_default();
    options.bootstrap = 3;
    for (int many = 0; many < 2; many++) {
        pv_targets targets = {.n = many ? ROWS : 50, .classes = 2, .label = label};
        pv_assessment found;
        PV_TRY(pv_assess_intervals(poor, &targets, &(pv_judged){.log_p = log_p}, &options, &found));
        pv_status status = PV_OK;
        for (int kind = 0; status == PV_OK && kind < PV_CURVES; kind++) {
            pv_curve curve;
            status = pv_curve_make(poor, found.ranking, (pv_curve_kind)kind, &curves, &curve);
            pv_curve_clear(poor, &curve);
        }
        pv_assessment_clear(poor, &found);
        PV_TRY(status);
    }
    for (size_t i = 0; i < 60; i++) {
        double logits[] = {sin((double)i), cos((double)i), 0};
        pv_log_softmax(3, logits, log_p + 3 * i);
        label[i] = (int32_t)(i % 3);
    }
    pv_targets three = {.n = 60, .classes = 3, .label = label};
    pv_ranking *ranking;
    pv_assessment found;
    PV_TRY(pv_assess_intervals(poor, &three, &(pv_judged){.log_p = log_p}, &options, &found));
    pv_assessment_clear(poor, &found);
    PV_TRY(pv_ranking_new(poor, &three, log_p, 0, NULL, &ranking));
    pv_ranking_free(poor, ranking);
    return PV_OK;
}

static void test_lack_of_memory(void **state) {
    (void)state;
    sweep_memory(assess_all);
}

static int start(void **state) {
    *state = check_ctx(0);
    return 0;
}

static int stop(void **state) {
    pv_ctx_free(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_clusters),
        cmocka_unit_test(test_cluster_coverage),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_expected_errors),
        cmocka_unit_test(test_calibration_weighted),
        cmocka_unit_test(test_calibration_extreme),
        cmocka_unit_test(test_calibration_band),
        cmocka_unit_test(test_thinning),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_rates_of_one),
        cmocka_unit_test(test_other_positive),
        cmocka_unit_test(test_sort),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
