/* The sampler and Laplace's approximation compared with closed forms and exact quadrature; threads, interruption,
 * failures.
 */
#include "fixture.h"

#include "base/base.h"
#include "prevail/posterior.h"

/* ---- comparisons with Monte Carlo errors ------------------------------------------------------------------------- */

/* Standard error of the mean from batches of successive draws, which reflects slow tails that ranks do not. */
static double batch_error(size_t n, const double *values) {
    enum { BATCHES = 40 };
    size_t size = n / BATCHES;
    double mean = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t b = 0; b < BATCHES; b++) {
            double sum = 0;
            for (size_t i = b * size; i < (b + 1) * size; i++)
                sum += values[i] / (double)size;
            if (pass == 0)
                mean += sum / BATCHES;
            else
                squares += (sum - mean) * (sum - mean);
        }
    return sqrt(squares / (BATCHES - 1) / BATCHES);
}

/* The mean of values [chains][each] compared with the expected one: |z| < 4.5, with the larger of the standard errors
 * from the effective size and from batches. */
static void check_mean(const char *what, size_t chains, size_t n, const double *values, double expected) {
    double mean = 0, squares = 0, ess = pv_effective_size(ctx, chains, n / chains, values);
    for (size_t i = 0; i < n; i++)
        mean += values[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    double error = fmax(sqrt(squares / (double)(n - 1) / ess), batch_error(n, values)), z = (mean - expected) / error;
    if (!(fabs(z) < 4.5 && ess > 400))
        fail_msg("%s: mean %.6g, should be %.6g; standard error %.3g, z = %.2f, effective size %.0f", what, mean,
                 expected, error, z, ess);
}

/* The mean and the standard deviation of sum_j weight_j w_j, the latter from squares about the exact mean. */
static void check_moments(const char *what, const pv_posterior *p, const double *weight, double mean, double sd) {
    double *x = malloc(p->count * sizeof *x);
    assert_non_null(x);
    for (size_t n = 0; n < p->count; n++) {
        x[n] = 0;
        for (size_t j = 0; j < p->dims; j++)
            x[n] += weight[j] * p->draws[n * p->dims + j];
    }
    size_t chains = p->chains ? p->chains : 1;
    check_mean(what, chains, p->count, x, mean);
    for (size_t n = 0; n < p->count; n++)
        x[n] = (x[n] - mean) * (x[n] - mean);
    check_mean(what, chains, p->count, x, sd * sd);
    free(x);
}

static void check_mixed(const pv_posterior *p, double most_rhat) {
    for (size_t j = 0; j < p->dims; j++)
        if (!(p->rhat[j] < most_rhat && p->ess[j] > 400))
            fail_msg("parameter %zu: R-hat %.4f, effective size %.0f", j, p->rhat[j], p->ess[j]);
}

/* ---- densities --------------------------------------------------------------------------------------------------- */

/* -log N(mean, C C^T) + offset, one coordinate at a time: z = C^-1 (w - mean). */
enum { D = 5 };
static const double gauss_mean[D] = {1, -2, 0, 100, 3};
static const double gauss_factor[D][D] = {
    {1, 0, 0, 0, 0}, {0.9, 0.2, 0, 0, 0}, {-3, 1, 10, 0, 0}, {0.01, 0, 0.02, 0.05, 0}, {0.5, 0.5, 0.5, 0.5, 0.5}};

static pv_status gauss(pv_ctx *own, void *state, const double *w, double *value, double *gradient) {
    (void)own;
    (void)state;
    double z[D];
    *value = 0;
    for (size_t i = 0; i < D; i++) {
        double sum = w[i] - gauss_mean[i];
        for (size_t j = 0; j < i; j++)
            sum -= gauss_factor[i][j] * z[j];
        z[i] = sum / gauss_factor[i][i];
        *value += 0.5 * z[i] * z[i];
    }
    for (size_t i = D; i-- > 0;) {
        double sum = z[i];
        for (size_t j = i + 1; j < D; j++)
            sum -= gauss_factor[j][i] * gradient[j];
        gradient[i] = sum / gauss_factor[i][i];
    }
    return PV_OK;
}

static double gauss_covariance(size_t i, size_t j) {
    double sum = 0;
    for (size_t l = 0; l < D; l++)
        sum += gauss_factor[i][l] * gauss_factor[j][l];
    return sum;
}

static pv_status clone_nothing(pv_ctx *own, void *state, void **copy) {
    (void)state;
    return pv__alloc(own, 3, 8, copy);
}

static void release_nothing(pv_ctx *own, void *copy) {
    pv__free(own, copy);
}

static const pv_density gaussian = {.dims = D, .eval = gauss, .clone = clone_nothing, .release = release_nothing};

/* x ~ N(0, 1), y | x ~ N(x^2, 1): steep arms, where narrower ones would require smaller steps than adaptation finds.
 */
static pv_status banana(pv_ctx *own, void *state, const double *w, double *value, double *gradient) {
    (void)own;
    (void)state;
    double off = w[1] - w[0] * w[0];
    *value = 0.5 * w[0] * w[0] + 0.5 * off * off;
    gradient[0] = w[0] - 2 * w[0] * off;
    gradient[1] = off;
    return PV_OK;
}

/* The standard normal for w > 0; its gradient does not indicate the edge. */
static pv_status half_normal(pv_ctx *own, void *state, const double *w, double *value, double *gradient) {
    (void)own;
    (void)state;
    *value = w[0] > 0 ? 0.5 * w[0] * w[0] : INFINITY;
    gradient[0] = w[0] > 0 ? w[0] : NAN;
    return PV_OK;
}

/* A standard normal that acts at its nth evaluation. */
typedef struct alarm_state {
    int evaluations, at;
    bool fails; /* fails; otherwise interrupts */
} alarm_state;

static pv_status alarmed(pv_ctx *own, void *state, const double *w, double *value, double *gradient) {
    alarm_state *a = state;
    *value = 0.5 * w[0] * w[0];
    gradient[0] = w[0];
    if (++a->evaluations == a->at) {
        if (a->fails)
            return pv__fail(own, PV_ERR_NUMERIC, "the alarm at %d", a->at);
        pv_ctx_interrupt(ctx);
    }
    return PV_OK;
}

static pv_status clone_alarm(pv_ctx *own, void *state, void **copy) {
    PV_TRY(pv__alloc(own, 1, sizeof(alarm_state), copy));
    memcpy(*copy, state, sizeof(alarm_state));
    return PV_OK;
}

/* ---- Gaussian and banana ----------------------------------------------------------------------------------------- */

static void test_gaussian(void **state) {
    (void)state;
    const double w[D] = {0, 0, 0, 99, 0};
    pv_posterior *p;
    pv_hmc_options options = pv_hmc_options_default();
    options.seed = 11;
    options.draws = 2000;
    CHECK_OK(ctx, pv_hmc(ctx, &gaussian, w, &options, &p));
    assert_int_equal(p->kind, PV_POSTERIOR_HMC);
    assert_int_equal(p->stop, PV_STOP_COMPLETED);
    assert_int_equal(p->chains, 4);
    assert_int_equal(p->count, 8000);
    assert_int_equal(p->iterations, 3000);
    assert_int_equal(p->divergences, 0);
    assert_int_equal(p->max_depth_hits, 0);
    assert_int_equal(p->mixture.components, 0);
    assert_true(isnan(p->elbo) && isnan(p->elbo_se));
    CHECK_NEAR(p->acceptance, 0.8, 0.12);
    assert_true(p->step_size > 0.3 &&
                p->step_size < 1.6); /* whitened: near the step for a standard normal of 5 dimensions */
    check_mixed(p, 1.01);
    /* Sums and single parameters: the variances of sums test the correlations. */
    for (size_t i = 0; i < D; i++)
        for (size_t j = 0; j <= i; j++) {
            double weight[D] = {0}, variance = gauss_covariance(i, i), mean = gauss_mean[i];
            double ratio = sqrt(gauss_covariance(i, i) / gauss_covariance(j, j));
            weight[i] = 1;
            if (j < i) {
                weight[j] = ratio; /* on the same scale, so that the larger does not hide the other */
                variance = 2 * variance + 2 * ratio * gauss_covariance(i, j);
                mean += ratio * gauss_mean[j];
            }
            check_moments("gaussian", p, weight, mean, sqrt(variance));
        }
    pv_posterior_free(ctx, p);
}

static void test_banana(void **state) {
    (void)state;
    const pv_density density = {.dims = 2, .eval = banana};
    const double w[] = {0, 0}, x[] = {1, 0}, y[] = {0, 1};
    pv_posterior *p;
    pv_hmc_options options = pv_hmc_options_default();
    options.seed = 12;
    options.draws = 10000;
    options.accept = 0.95;
    CHECK_OK(ctx, pv_hmc(ctx, &density, w, &options, &p));
    check_mixed(p, 1.02);
    check_moments("banana x", p, x, 0, 1);
    check_moments("banana y", p, y, 1, sqrt(3));
    pv_posterior_free(ctx, p);
}

/* Half of the mass at 20, half at -20, with standard deviation 1 each and 50 nats between them. A chain starting at 0
 * ends up in either. */
static pv_status two_hills(pv_ctx *own, void *state, const double *w, double *value, double *gradient) {
    (void)own;
    (void)state;
    double q = w[0] * w[0] - 400;
    *value = q * q / 3200;
    gradient[0] = q * w[0] / 800;
    return PV_OK;
}

/* Chains that did not mix are not a sample of the posterior, and this is reported. */
static void test_two_hills(void **state) {
    (void)state;
    const pv_density density = {.dims = 1, .eval = two_hills};
    const double w[] = {0};
    pv_posterior *p;
    pv_hmc_options options = pv_hmc_options_default();
    options.seed = 14;
    options.draws = 500;
    CHECK_OK(ctx, pv_hmc(ctx, &density, w, &options, &p));
    assert_true(p->rhat[0] > 1.5);
    assert_int_equal(p->stop, PV_STOP_POOR);
    pv_posterior_free(ctx, p);
}

/* An edge: crossings are rejected and are not divergences, and the draws are correct. */
static void test_edge(void **state) {
    (void)state;
    const pv_density density = {.dims = 1, .eval = half_normal};
    const double w[] = {0.5}, one[] = {1};
    const double mean = sqrt(2 / 3.14159265358979323846);
    pv_posterior *p;
    pv_hmc_options options = pv_hmc_options_default();
    options.seed = 13;
    options.draws = 4000;
    CHECK_OK(ctx, pv_hmc(ctx, &density, w, &options, &p));
    assert_int_equal(p->divergences, 0);
    assert_int_equal(p->stop, PV_STOP_COMPLETED);
    for (size_t n = 0; n < p->count; n++)
        assert_true(p->draws[n] > 0);
    check_moments("half normal", p, one, mean, sqrt(1 - mean * mean));
    pv_posterior_free(ctx, p);
}

/* ---- the contingency table --------------------------------------------------------------------------------------- */

/* The paper's table as four weighted rows; parameters are the two log odds, prior N(0, 10^2). */
static const int32_t cell_label[4] = {0, 1, 0, 1};
static const double cell_weight[4] = {47, 44, 3, 6}, cell_prevalence[2] = {0.99, 0.01};

typedef struct table {
    const char *name;
    pv_loss loss;
    pv_marginal marginal;
    double prevalence_n;
    double eta0[2], eta1[2], log_odds_ratio[2]; /* mean, sd: exact quadrature */
} table;

typedef struct table_state {
    const table *of;
    pv_full_loss *loss;
} table_state;

static pv_status table_eval(pv_ctx *own, void *state, const double *w, double *value, double *gradient) {
    table_state *s = state;
    double loglik[8], dloglik[8];
    for (size_t n = 0; n < 4; n++) {
        loglik[2 * n] = pv_log_sigmoid(-w[n / 2]);
        loglik[2 * n + 1] = pv_log_sigmoid(w[n / 2]);
    }
    PV_TRY(pv_full_loss_eval(own, s->loss, loglik, value, dloglik));
    for (size_t x = 0; x < 2; x++) {
        *value += 0.5 * w[x] * w[x] / 100 + 0.5 * log(2 * 3.14159265358979323846 * 100);
        gradient[x] = w[x] / 100;
        for (size_t n = 2 * x; n < 2 * x + 2; n++)
            gradient[x] += -dloglik[2 * n] * pv_sigmoid(w[x]) + dloglik[2 * n + 1] * pv_sigmoid(-w[x]);
    }
    return PV_OK;
}

static pv_status table_loss(pv_ctx *own, const table *of, pv_full_loss **loss) {
    pv_targets targets = {.n = 4, .classes = 2, .label = cell_label, .weight = cell_weight};
    pv_prevalence population = {.classes = 2, .prevalence = cell_prevalence, .prevalence_n = of->prevalence_n};
    return pv_full_loss_new(own, of->loss, of->marginal, &targets, &population, loss);
}

static pv_status table_clone(pv_ctx *own, void *state, void **copy) {
    table_state *s = state, *made;
    PV_TRY(pv__alloc(own, 1, sizeof *made, &made));
    made->of = s->of;
    pv_status status = table_loss(own, s->of, &made->loss);
    if (status != PV_OK)
        pv__free(own, made);
    else
        *copy = made;
    return status;
}

static void table_release(pv_ctx *own, void *copy) {
    table_state *s = copy;
    pv_full_loss_free(own, s->loss);
    pv__free(own, s);
}

static pv_density table_density(table_state *s) {
    return (pv_density){.dims = 2, .state = s, .eval = table_eval, .clone = table_clone, .release = table_release};
}

/* name, loss and marginal, N_pr, then mean and sd of eta0, eta1 and the log odds ratio by exact quadrature */
#define PLAIN PV_LOSS_PLAIN, PV_MARGINAL_PLUGIN
#define IW PV_LOSS_IW, PV_MARGINAL_PLUGIN
#define PLUGIN PV_LOSS_IG, PV_MARGINAL_PLUGIN
#define PROFILE PV_LOSS_IG, PV_MARGINAL_PROFILE
/* clang-format off */
static const table tables[] = {
    {"plain", PLAIN, 0, {-0.066658638, 0.21088383}, {0.7782557, 0.75590427}, {0.84491434, 0.78476956}},
    {"iw", IW, 0, {-5.2082502, 1.3282925}, {-6.5340431, 4.1113657}, {-1.3257929, 4.3206121}},
    {"ig, N_pr 0", PLUGIN, 0, {-2.4530358, 6.4516406}, {-1.821422, 6.3211337}, {0.63161373, 0.64284455}},
    {"ig, N_pr 1", PLUGIN, 1, {-5.4246848, 4.3070337}, {-4.6690172, 4.3889013}, {0.75566758, 0.55178277}},
    {"ig, N_pr 10", PLUGIN, 10, {-6.1081249, 3.2905163}, {-5.3885561, 3.3519776}, {0.71956877, 0.47961873}},
    {"ig, N_pr 100", PLUGIN, 100, {-5.0522105, 1.1728011}, {-4.3551821, 1.2502753}, {0.69702844, 0.45932451}},
    {"profile, N_pr 10", PROFILE, 10, {-6.2687339, 3.2918693}, {-5.3978295, 3.3545243}, {0.87090443, 0.78689701}},
    {"profile, N_pr 100", PROFILE, 100, {-5.0726747, 1.1754659}, {-4.207927, 1.3775168}, {0.8647477, 0.78583962}},
};
/* clang-format on */
enum { TABLES = sizeof tables / sizeof tables[0] };

/* Started at the exact mean, which is not the maximum: the sampler must find the scale itself. */
static void test_contingency(void **state) {
    (void)state;
    const double first[] = {1, 0}, second[] = {0, 1}, difference[] = {-1, 1};
    for (size_t i = 0; i < TABLES; i++) {
        table_state s = {.of = &tables[i]};
        const double w[] = {tables[i].eta0[0], tables[i].eta1[0]};
        CHECK_OK(ctx, table_loss(ctx, s.of, &s.loss));
        pv_density density = table_density(&s);
        pv_hmc_options options = pv_hmc_options_default();
        options.seed = 100 + i;
        options.draws = 8000; /* heavy tails */
        pv_posterior *p;
        CHECK_OK(ctx, pv_hmc(ctx, &density, w, &options, &p));
        check_mixed(p, 1.02);
        check_moments(tables[i].name, p, difference, tables[i].log_odds_ratio[0], tables[i].log_odds_ratio[1]);
        check_moments(tables[i].name, p, first, tables[i].eta0[0], tables[i].eta0[1]);
        check_moments(tables[i].name, p, second, tables[i].eta1[0], tables[i].eta1[1]);
        pv_posterior_free(ctx, p);
        pv_full_loss_free(ctx, s.loss);
    }
}

static pv_posterior *table_posterior(int threads, uint64_t seed) {
    table_state s = {.of = &tables[TABLES - 1]};
    pv_ctx *own = check_ctx(threads);
    CHECK_OK(own, table_loss(own, s.of, &s.loss));
    pv_density density = table_density(&s);
    pv_hmc_options options = {.chains = 3, .warmup = 150, .draws = 101, .accept = 0.8, .depth = 10, .seed = seed};
    pv_posterior *p;
    const double w[] = {-4.6, -3.8};
    CHECK_OK(own, pv_hmc(own, &density, w, &options, &p));
    pv_full_loss_free(own, s.loss);
    pv_ctx_free(own); /* allocated by the C library, so any context can free the posterior */
    return p;
}

static void test_threads(void **state) {
    (void)state;
    pv_posterior *one = table_posterior(1, 7), *two = table_posterior(2, 7), *other = table_posterior(2, 8);
    assert_int_equal(one->count, 303);
    size_t bytes = one->count * one->dims * sizeof(double);
    assert_memory_equal(one->draws, two->draws, bytes);
    assert_memory_equal(one->rhat, two->rhat, 2 * sizeof(double));
    same_bits(one->step_size, two->step_size);
    same_bits(one->acceptance, two->acceptance);
    assert_true(memcmp(one->draws, other->draws, bytes) != 0);
    pv_posterior_free(ctx, one);
    pv_posterior_free(ctx, two);
    pv_posterior_free(ctx, other);
}

/* ---- interruption, progress, failures ---------------------------------------------------------------------------- */

static size_t reports;

static void count_report(void *state, const pv_progress *progress) {
    (void)state;
    reports++;
    assert_string_equal(progress->what, "hmc");
    assert_true(progress->step <= progress->steps && isfinite(progress->value));
}

static void interrupt_at(int at, bool draws_wanted) {
    alarm_state s = {.at = at};
    const pv_density density = {.dims = 1, .state = &s, .eval = alarmed};
    const double w[] = {0};
    pv_hmc_options options = pv_hmc_options_default();
    options.chains = 3;
    options.warmup = 100;
    options.draws = 100000;
    pv_ctx *held_ctx = ctx;
    pv_ctx_options own = {.progress = count_report};
    assert_int_equal(pv_ctx_new(&own, &ctx), PV_OK);
    reports = 0;
    pv_posterior *p;
    pv_status status = pv_hmc(ctx, &density, w, &options, &p);
    assert_true(reports > 0);
    if (draws_wanted) {
        assert_int_equal(status, PV_OK);
        assert_int_equal(p->stop, PV_STOP_INTERRUPTED);
        assert_true(p->count >= 300 && p->count < 30000 && p->count % 3 == 0);
        for (size_t n = 0; n < p->count; n++) /* no gap between the chains */
            assert_true(p->draws[n] != 0);
        assert_true(isfinite(p->rhat[0]) && p->rhat[0] < 1.1);
        pv_posterior_free(ctx, p);
    } else {
        assert_int_equal(status, PV_ERR_INTERRUPTED);
        assert_null(p);
    }
    pv_ctx_free(ctx);
    ctx = held_ctx;
}

static void test_interruption(void **state) {
    (void)state;
    interrupt_at(200, false);
    interrupt_at(20000, true);
}

static void test_failing_density(void **state) {
    (void)state;
    const double w[] = {0};
    for (int copies = 0; copies < 2; copies++)
        for (int at = 1; at < 500; at += 83) {
            alarm_state s = {.at = at, .fails = true};
            const pv_density density = {.dims = 1,
                                        .state = &s,
                                        .eval = alarmed,
                                        .clone = copies ? clone_alarm : NULL,
                                        .release = release_nothing};
            pv_posterior *p;
            assert_int_equal(pv_hmc(ctx, &density, w, NULL, &p), PV_ERR_NUMERIC);
            assert_null(p);
            says("the alarm at");
        }
}

static void test_bad_options(void **state) {
    (void)state;
    const double w[D] = {0, 0, 0, 100, 0};
    const pv_hmc_options good = {.chains = 1, .warmup = 0, .draws = 4, .accept = 0.8, .depth = 1};
    pv_hmc_options bad[8] = {good, good, good, good, good, good, good, good};
    bad[0].chains = 0;
    bad[1].warmup = -1;
    bad[2].draws = 3;
    bad[3].accept = 1;
    bad[4].accept = NAN;
    bad[5].depth = 0;
    bad[6].depth = 31;
    bad[7].chains = INT64_MAX;
    pv_posterior *p;
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pv_hmc(ctx, &gaussian, w, &bad[i], &p), PV_ERR_USAGE);
    CHECK_OK(ctx, pv_hmc(ctx, &gaussian, w, &good, &p));
    assert_int_equal(p->count, 4);
    pv_posterior_free(ctx, p);
    pv_laplace_options laplace = {.draws = -1};
    assert_int_equal(pv_laplace(ctx, &gaussian, w, &laplace, &p), PV_ERR_USAGE);
    const pv_density nothing = {.dims = 0, .eval = gauss};
    assert_int_equal(pv_hmc(ctx, &nothing, w, NULL, &p), PV_ERR_USAGE);
    assert_int_equal(pv_laplace(ctx, &nothing, w, NULL, &p), PV_ERR_USAGE);
}

/* A point mass; a density without any slope; infinite curvature; curvature only at the start; nearly a point mass. */
static pv_status odd_eval(pv_ctx *c, void *kind, const double *w, double *value, double *gradient) {
    (void)c;
    double radius = hypot(w[0], w[1]);
    int which = *(int *)kind;
    *value = (which == 0 && radius > 0) || which == 4 ? INFINITY : 0;
    gradient[0] = gradient[1] = 0;
    if (which == 2) {
        gradient[0] = w[0] + copysign(1e308, w[1]) * (w[1] != 0);
        gradient[1] = w[1] + copysign(1e308, w[0]) * (w[0] != 0);
    }
    if (which >= 3 && radius < 0.02) {
        *value = which == 4 && radius > 2e-13 ? INFINITY : 0.5 * radius * radius;
        gradient[0] = w[0];
        gradient[1] = w[1];
    }
    return PV_OK;
}

static void test_odd_densities(void **state) {
    (void)state;
    static const char *const wanted[] = {
        "the density is zero next to the starting point", "the density has no curvature at the starting point",
        "the density's curvature at the starting point is not finite", "the density is flat: the posterior is improper",
        "the density is zero all around the starting point"};
    for (int kind = 0; kind < 5; kind++) {
        pv_density density = {.dims = 2, .state = &kind, .eval = odd_eval};
        pv_hmc_options options = pv_hmc_options_default();
        pv_posterior *posterior;
        pv_status status = pv_hmc(ctx, &density, (const double[]){0, 0}, &options, &posterior);
        assert_int_equal(status, PV_ERR_NUMERIC);
        assert_null(posterior);
        says(wanted[kind]);
    }
}

/* Warm-ups of every length, with and without windows. */
static void test_short_warmups(void **state) {
    (void)state;
    const double w[D] = {1, -2, 0, 100, 3};
    for (int64_t warmup = 0; warmup < 200; warmup += warmup < 25 ? 1 : 31) {
        pv_hmc_options options = {.chains = 1, .warmup = warmup, .draws = 20, .accept = 0.8, .depth = 8, .seed = 3};
        pv_posterior *p;
        CHECK_OK(ctx, pv_hmc(ctx, &gaussian, w, &options, &p));
        for (size_t i = 0; i < p->count * D; i++)
            assert_true(isfinite(p->draws[i]));
        assert_true(p->step_size > 0 && isfinite(p->step_size));
        pv_posterior_free(ctx, p);
    }
}

/* ---- Laplace ----------------------------------------------------------------------------------------------------- */

static void test_laplace_gaussian(void **state) {
    (void)state;
    pv_posterior *p;
    pv_laplace_options options = {.draws = 20000, .seed = 5};
    CHECK_OK(ctx, pv_laplace(ctx, &gaussian, gauss_mean, &options, &p));
    assert_int_equal(p->kind, PV_POSTERIOR_LAPLACE);
    assert_int_equal(p->stop, PV_STOP_CONVERGED);
    assert_int_equal(p->count, 20000);
    assert_int_equal(p->mixture.components, 1);
    double log_evidence = 0.5 * D * log(2 * 3.14159265358979323846);
    for (size_t i = 0; i < D; i++) {
        log_evidence += log(gauss_factor[i][i]);
        CHECK_NEAR(p->mixture.mean[i], gauss_mean[i], 0);
        for (size_t j = 0; j < D; j++)
            CHECK_NEAR(p->mixture.factor[i * D + j], gauss_factor[i][j], 1e-6 * (1 + fabs(gauss_factor[i][j])));
        double weight[D] = {0};
        weight[i] = 1;
        check_moments("laplace", p, weight, gauss_mean[i], sqrt(gauss_covariance(i, i)));
    }
    CHECK_NEAR(p->elbo, log_evidence, 1e-6);
    CHECK_NEAR(p->elbo_se, 0, 0);
    CHECK_NEAR(pv_mixture_log_density(&p->mixture, gauss_mean), -log_evidence, 1e-6);
    pv_posterior_free(ctx, p);
}

static pv_status saddle(pv_ctx *own, void *state, const double *w, double *value, double *gradient) {
    (void)own;
    (void)state;
    *value = 0.5 * w[0] * w[0] - 0.1 * w[1] * w[1] + 0.1 * pow(w[1], 4);
    gradient[0] = w[0];
    gradient[1] = -0.2 * w[1] + 0.4 * pow(w[1], 3);
    return PV_OK;
}

static size_t warnings;

static void count_warning(void *state, pv_log_level level, const char *message) {
    (void)state;
    (void)message;
    warnings += level == PV_LOG_WARNING;
}

/* A point that is not a maximum is reported, and outside the density there is no approximation. */
static void test_laplace_elsewhere(void **state) {
    (void)state;
    const pv_density density = {.dims = 2, .eval = saddle}, edge = {.dims = 1, .eval = half_normal};
    const double top[] = {0, 0}, outside[] = {-1};
    pv_ctx_options options = {.log = count_warning};
    pv_ctx *own;
    pv_posterior *p;
    assert_int_equal(pv_ctx_new(&options, &own), PV_OK);
    warnings = 0;
    CHECK_OK(own, pv_laplace(own, &density, top, NULL, &p));
    assert_int_equal(warnings, 1);
    assert_int_equal(p->count, 4000);
    for (size_t i = 0; i < p->count * 2; i++)
        assert_true(isfinite(p->draws[i]));
    pv_posterior_free(own, p);
    assert_int_equal(pv_laplace(own, &edge, outside, NULL, &p), PV_ERR_NUMERIC);
    assert_null(p);
    pv_ctx_free(own);
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static pv_status poor_laplace(pv_ctx *poor) {
    pv_laplace_options options = {.draws = 10};
    pv_posterior *p;
    pv_status status = pv_laplace(poor, &gaussian, gauss_mean, &options, &p);
    assert_true((status == PV_OK) == (p != NULL));
    pv_posterior_free(poor, p);
    return status;
}

static pv_status poor_hmc(pv_ctx *poor) {
    pv_hmc_options options = {.chains = 3, .warmup = 30, .draws = 12, .accept = 0.8, .depth = 5};
    pv_posterior *p;
    pv_status status = pv_hmc(poor, &gaussian, gauss_mean, &options, &p);
    assert_true((status == PV_OK) == (p != NULL));
    if (status != PV_OK)
        assert_int_equal(pv_ctx_error(poor)->status, PV_ERR_MEMORY);
    pv_posterior_free(poor, p);
    return status;
}

static void test_memory(void **state) {
    (void)state;
    sweep_memory(poor_laplace);
    sweep_memory(poor_hmc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaussian),
        cmocka_unit_test(test_banana),
        cmocka_unit_test(test_edge),
        cmocka_unit_test(test_contingency),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_interruption),
        cmocka_unit_test(test_failing_density),
        cmocka_unit_test(test_two_hills),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_short_warmups),
        cmocka_unit_test(test_odd_densities),
        cmocka_unit_test(test_laplace_gaussian),
        cmocka_unit_test(test_laplace_elsewhere),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
