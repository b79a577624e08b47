/* Variational inference: exact posteriors of the contingency study, Gaussian and two-moded targets, logistic posteriors
 * against importance sampling, truncated and diagonal ones; determinism, lack of memory, wrong use. */
#include "fixture.h"
#include "posterior/vi.h"

static const double log_2pi = 1.83787706640934548356;

/* ---- densities --------------------------------------------------------------------------------------------------- */

/* The contingency table: rows are its cells, w = (eta0, eta1) the logits; prior N(0, 10^2) each. */
typedef struct exact {
    const char *name;
    pv_loss loss;
    pv_marginal marginal;
    double prevalence_n, log_evidence, mean, sd; /* of the log odds ratio; from quadrature */
} exact;

static const exact exacts[] = {
    {"plain", PV_LOSS_PLAIN, PV_MARGINAL_PLUGIN, 0, -75.24015616515726, 0.8449143426860668, 0.7847695558642044},
    {"ig 0", PV_LOSS_IG, PV_MARGINAL_PLUGIN, 0, -2.4900914135018004, 0.6316137282031713, 0.642844548374144},
    {"ig 1", PV_LOSS_IG, PV_MARGINAL_PLUGIN, 1, -2.92670821710216, 0.7556675834206703, 0.5517827737694696},
    {"ig 10", PV_LOSS_IG, PV_MARGINAL_PLUGIN, 10, -3.8990926495015255, 0.7195687741982683, 0.47961873405118965},
    {"ig 100", PV_LOSS_IG, PV_MARGINAL_PLUGIN, 100, -9.938416885850003, 0.6970284375751908, 0.45932450925448276},
    {"profile 10", PV_LOSS_IG, PV_MARGINAL_PROFILE, 10, -4.056469405461394, 0.8709044269405386, 0.786897005870926},
    {"profile 100", PV_LOSS_IG, PV_MARGINAL_PROFILE, 100, -10.078349591692806, 0.864747695041805, 0.7858396226654086},
};

typedef struct table {
    const exact *of;
    pv_full_loss *full;
} table;

static pv_status table_open(pv_ctx *c, table *t) {
    static const int32_t label[4] = {0, 1, 0, 1};
    static const double count[4] = {47, 44, 3, 6}, prevalence[2] = {0.99, 0.01};
    pv_targets targets = {.n = 4, .classes = 2, .label = label, .weight = count};
    pv_population population = {.classes = 2, .prevalence = prevalence, .prevalence_n = t->of->prevalence_n};
    return pv_full_loss_new(c, t->of->loss, t->of->marginal, &targets, &population, &t->full);
}

static pv_status table_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    table *t = state;
    double loglik[8], dloglik[8];
    for (int i = 0; i < 4; i++) {
        loglik[2 * i] = pv_log_sigmoid(-w[i / 2]);
        loglik[2 * i + 1] = pv_log_sigmoid(w[i / 2]);
    }
    PV_TRY(pv_full_loss_eval(c, t->full, loglik, value, dloglik));
    gradient[0] = gradient[1] = 0;
    for (int i = 0; i < 4; i++) {
        double p = pv_sigmoid(w[i / 2]);
        gradient[i / 2] += dloglik[2 * i + 1] * (1 - p) - dloglik[2 * i] * p;
    }
    for (int j = 0; j < 2; j++) {
        *value += 0.5 * w[j] * w[j] / 100 + 0.5 * log_2pi + log(10);
        gradient[j] += w[j] / 100;
    }
    return PV_OK;
}

static pv_status table_clone(pv_ctx *c, void *state, void **copy) {
    table *made;
    PV_TRY(pv__alloc(c, 1, sizeof *made, &made));
    made->of = ((table *)state)->of;
    pv_status status = table_open(c, made);
    if (status != PV_OK)
        pv__free(c, made);
    *copy = status == PV_OK ? made : NULL;
    return status;
}

static void table_release(pv_ctx *c, void *copy) {
    pv_full_loss_free(c, ((table *)copy)->full);
    pv__free(c, copy);
}

/* Logistic regression with simulated data; prior normal (sd 2), or Student's t with few degrees of freedom. */
enum { MOST_ROWS = 500, MOST_DIMS = 20 };
typedef struct logistic {
    size_t n, d;
    double nu; /* 0: normal */
    double x[MOST_ROWS][MOST_DIMS];
    int y[MOST_ROWS];
} logistic;

static void logistic_simulate(logistic *l, size_t n, size_t d, double nu) {
    *l = (logistic){.n = n, .d = d, .nu = nu};
    pv_rng rng = pv_rng_stream(7, 1, d);
    for (size_t i = 0; i < n; i++) {
        double z = 0;
        for (size_t j = 0; j < d; j++) {
            l->x[i][j] = j ? pv_rng_normal(&rng) : 1;
            z += l->x[i][j] * (-1 + 2 * (double)j / (double)(d - 1));
        }
        l->y[i] = pv_rng_uniform(&rng) < pv_sigmoid(z);
    }
}

static pv_status logistic_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    (void)c;
    const logistic *l = state;
    *value = 0;
    for (size_t j = 0; j < l->d; j++) {
        *value += l->nu > 0 ? 0.5 * (l->nu + 1) * log1p(w[j] * w[j] / l->nu) : w[j] * w[j] / 8;
        gradient[j] = l->nu > 0 ? (l->nu + 1) * w[j] / (l->nu + w[j] * w[j]) : w[j] / 4;
    }
    for (size_t i = 0; i < l->n; i++) {
        double z = 0;
        for (size_t j = 0; j < l->d; j++)
            z += l->x[i][j] * w[j];
        *value -= pv_log_sigmoid(l->y[i] ? z : -z);
        double excess = pv_sigmoid(z) - l->y[i];
        for (size_t j = 0; j < l->d; j++)
            gradient[j] += excess * l->x[i][j];
    }
    return PV_OK;
}

/* N(1, S) in three dimensions, precision P below; times 1/20 of the evidence. */
static const double precision[3][3] = {{4, 1.5, 0}, {1.5, 1, 0.2}, {0, 0.2, 0.25}};

static pv_status gaussian_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    (void)c, (void)state;
    *value = 1.5 * log_2pi + log(20);
    for (int i = 0; i < 3; i++) {
        gradient[i] = 0;
        for (int j = 0; j < 3; j++)
            gradient[i] += precision[i][j] * (w[j] - 1);
        *value += 0.5 * gradient[i] * (w[i] - 1);
    }
    return PV_OK;
}

/* The same with noise, one for all points of a call as a minibatch's would be: a force whose mean is 0. */
static pv_status gaussian_estimate(pv_ctx *c, void *calls, size_t n, const double *w, double *values,
                                   double *gradients) {
    double force[3];
    pv_rng rng = pv_rng_stream(5, 5, (uint64_t)(*(int *)calls)++);
    for (int j = 0; j < 3; j++)
        force[j] = 2 * pv_rng_normal(&rng);
    for (size_t i = 0; i < n; i++) {
        PV_TRY(gaussian_eval(c, NULL, w + 3 * i, values + i, gradients + 3 * i));
        for (int j = 0; j < 3; j++) {
            values[i] += force[j] * w[3 * i + (size_t)j];
            gradients[3 * i + (size_t)j] += force[j];
        }
    }
    return PV_OK;
}

static double gaussian_log_det(void) { /* of the precision */
    const double(*p)[3] = precision;
    return log(p[0][0] * (p[1][1] * p[2][2] - p[1][2] * p[2][1]) - p[0][1] * p[1][0] * p[2][2]);
}

/* 0.3 N((-4, 0), I) + 0.7 N((4, 0), I/4) */
static pv_status modes_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    (void)c, (void)state;
    double left[2] = {w[0] + 4, w[1]}, right[2] = {4 * (w[0] - 4), 4 * w[1]};
    double log_left = log(0.3) - log_2pi - 0.5 * (left[0] * left[0] + left[1] * left[1]);
    double log_right = log(0.7) - log_2pi + log(4) - (right[0] * right[0] + right[1] * right[1]) / 8;
    double both[2] = {log_left, log_right};
    *value = -pv_log_sum_exp(2, both);
    for (int j = 0; j < 2; j++)
        gradient[j] = exp(log_left + *value) * left[j] + exp(log_right + *value) * right[j];
    return PV_OK;
}

/* A normal cut off at 0, and nothing but NaN beyond 3. */
static pv_status half_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    (void)c, (void)state;
    *value = w[0] < 0 ? INFINITY : w[0] > 3 ? NAN : 0.5 * (w[0] - 1) * (w[0] - 1);
    gradient[0] = w[0] - 1;
    return PV_OK;
}

/* Independent normals whose sds differ: 0.01 (1 + i mod 50). */
static pv_status many_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    (void)c;
    size_t d = *(const size_t *)state;
    *value = 0;
    for (size_t i = 0; i < d; i++) {
        double sd = 0.01 * (double)(1 + i % 50);
        *value += 0.5 * w[i] * w[i] / sd / sd + 0.5 * log_2pi + log(sd);
        gradient[i] = w[i] / sd / sd;
    }
    return PV_OK;
}

/* ---- what the tests share ---------------------------------------------------------------------------------------- */

/* w to a maximum: damped Newton steps. */
static void climb(const pv_density *density, double *w) {
    double value, next = 0, g[MOST_DIMS], u[MOST_DIMS], trial[MOST_DIMS];
    size_t d = density->dims;
    for (int i = 0; i < 100; i++) {
        pv__whiten whiten;
        ok(density->eval(ctx, density->state, w, &value, g));
        ok(pv__whiten_new(ctx, density, w, &whiten));
        pv__whiten_gradient(&whiten, g, u);
        double norm = 0;
        for (size_t j = 0; j < d; j++)
            norm += u[j] * u[j];
        double step = norm > 4 ? 2 / sqrt(norm) : 1;
        bool better = false;
        for (int half = 0; half < 30 && !better; half++) {
            for (size_t j = 0; j < d; j++)
                u[j] *= half ? 0.5 : -step;
            pv__whiten_to_w(&whiten, u, trial);
            ok(density->eval(ctx, density->state, trial, &next, g));
            better = next < value;
        }
        pv__whiten_free(ctx, &whiten);
        if (!better)
            return;
        memcpy(w, trial, d * sizeof *w);
    }
}

static pv_posterior *infer(const pv_density *density, const double *w, const pv_vi_options *options) {
    pv_posterior *posterior;
    ok(pv_vi(ctx, density, w, options, &posterior));
    assert_non_null(posterior);
    assert_int_equal(posterior->kind, PV_POSTERIOR_VI);
    assert_int_equal(posterior->dims, density->dims);
    return posterior;
}

/* Mean and sd of sum_j a[j] w[j] under the draws; weight NULL: equal. */
static void summary(const pv_posterior *posterior, const double *a, const double *weight, double *mean, double *sd) {
    double total = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < posterior->count; i++) {
        double x = 0, v = weight ? weight[i] : 1;
        for (size_t j = 0; j < posterior->dims; j++)
            x += a[j] * posterior->draws[i * posterior->dims + j];
        total += v;
        sum += v * x;
        squares += v * x * x;
    }
    *mean = sum / total;
    *sd = sqrt(squares / total - *mean * *mean);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_contingency(void **state) {
    (void)state;
    for (size_t e = 0; e < sizeof exacts / sizeof *exacts; e++) {
        table t = {.of = &exacts[e]};
        ok(table_open(ctx, &t));
        pv_density density = {.dims = 2, .state = &t, .eval = table_eval};
        double w[2] = {-1, -1};
        climb(&density, w);
        for (uint64_t seed = 1; seed <= 5; seed++) {
            pv_vi_options options = pv_vi_options_default();
            options.seed = seed;
            pv_posterior *posterior = infer(&density, w, &options);
            double mean, sd, gap = t.of->log_evidence - posterior->elbo;
            summary(posterior, (const double[]){-1, 1}, NULL, &mean, &sd);
            bool good = gap <= 0.02 && gap >= -5 * posterior->elbo_se && posterior->elbo_se < 0.005 &&
                        fabs(mean - t.of->mean) <= 0.05 * t.of->sd && fabs(sd / t.of->sd - 1) <= 0.05;
            if (!good)
                fail_msg("%s, seed %d: gap %g (se %g), mean %g (%g), sd %g (%g)", t.of->name, (int)seed, gap,
                         posterior->elbo_se, mean, t.of->mean, sd, t.of->sd);
            assert_int_equal(posterior->stop, PV_STOP_CONVERGED);
            assert_int_equal(posterior->iterations, 500);
            pv_posterior_free(ctx, posterior);
        }
        pv_full_loss_free(ctx, t.full);
    }
}

/* The draws weighted by p/q are draws of p: q is good where that changes little. */
static void check_by_importance(const pv_density *density, const pv_posterior *posterior, double least_size) {
    size_t d = density->dims, n = posterior->count;
    double *weight = malloc(n * sizeof *weight), gradient[MOST_DIMS], most = -INFINITY, sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        const double *w = posterior->draws + i * d;
        double value;
        ok(density->eval(ctx, density->state, w, &value, gradient));
        weight[i] = -value - pv_mixture_log_density(&posterior->mixture, w);
        most = fmax(most, weight[i]);
    }
    for (size_t i = 0; i < n; i++) {
        weight[i] = exp(weight[i] - most);
        sum += weight[i];
        squares += weight[i] * weight[i];
    }
    double size = sum * sum / squares / (double)n;
    if (!(size >= least_size))
        fail_msg("effective share of the draws %g, at least %g wanted", size, least_size);
    for (size_t j = 0; j < d; j++) {
        double axis[MOST_DIMS] = {0}, mean, sd, true_mean, true_sd;
        axis[j] = 1;
        summary(posterior, axis, NULL, &mean, &sd);
        summary(posterior, axis, weight, &true_mean, &true_sd);
        near(mean, true_mean, 0.1 * true_sd);
        near(sd, true_sd, 0.1 * true_sd);
    }
    free(weight);
}

static void test_logistic(void **state) {
    (void)state;
    static logistic l;
    static const struct {
        size_t n, d;
        double nu, least_size;
    } cases[] = {{302, 8, 0, 0.97}, {500, 20, 0, 0.93}, {302, 8, 0.002, 0.85}, {500, 20, 0.002, 0.5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        logistic_simulate(&l, cases[i].n, cases[i].d, cases[i].nu);
        pv_density density = {.dims = l.d, .state = &l, .eval = logistic_eval};
        double w[MOST_DIMS];
        for (size_t j = 0; j < l.d; j++)
            w[j] = 0.1;
        climb(&density, w);
        pv_vi_options options = pv_vi_options_default();
        options.draws = 20000;
        pv_posterior *posterior = infer(&density, w, &options);
        check_by_importance(&density, posterior, cases[i].least_size);
        pv_posterior_free(ctx, posterior);
    }
}

/* Against the other engine: means within 0.1 standard deviations, these within 10 %. */
static void test_against_hmc(void **state) {
    (void)state;
    static logistic l;
    const struct {
        size_t n, d;
        double nu;
    } cases[] = {{302, 8, 0}, {302, 8, 2}, {400, 20, 0}, {150, 20, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        logistic_simulate(&l, cases[i].n, cases[i].d, cases[i].nu);
        pv_density density = {.dims = l.d, .state = &l, .eval = logistic_eval};
        double w[MOST_DIMS], one[MOST_DIMS] = {0}, mean, sd, other, spread;
        for (size_t j = 0; j < l.d; j++)
            w[j] = 0.1;
        climb(&density, w);
        pv_posterior *vi = infer(&density, w, NULL), *hmc;
        CHECK_OK(ctx, pv_hmc(ctx, &density, w, NULL, &hmc));
        for (size_t j = 0; j < l.d; j++) {
            assert_true(hmc->rhat[j] < 1.02);
            one[j] = 1;
            summary(vi, one, NULL, &mean, &sd);
            summary(hmc, one, NULL, &other, &spread);
            one[j] = 0;
            near(mean, other, 0.1 * spread);
            near(sd, spread, 0.1 * spread);
        }
        pv_posterior_free(ctx, vi);
        pv_posterior_free(ctx, hmc);
    }
}

/* Started far from the maximum, where the curvature says little of the scale. */
static void test_poor_start(void **state) {
    (void)state;
    static logistic l;
    logistic_simulate(&l, 302, 8, 0);
    pv_density density = {.dims = l.d, .state = &l, .eval = logistic_eval};
    double w[8] = {3, -3, 3, -3, 3, -3, 3, -3};
    pv_posterior *posterior = infer(&density, w, NULL);
    check_by_importance(&density, posterior, 0.9);
    pv_posterior_free(ctx, posterior);
}

static void test_gaussian(void **state) {
    (void)state;
    pv_density density = {.dims = 3, .eval = gaussian_eval};
    double evidence = -log(20) - 0.5 * gaussian_log_det(), w[3] = {2, 0, 3}, mean, sd;
    pv_vi_options options = pv_vi_options_default();
    for (options.components = 1; options.components <= 8; options.components += 7) {
        pv_posterior *posterior = infer(&density, w, &options);
        near(posterior->elbo, evidence, 1e-3);
        assert_true(posterior->elbo_se < 1e-3);
        assert_int_equal(posterior->stop, PV_STOP_CONVERGED);
        summary(posterior, (const double[]){0, 0, 1}, NULL, &mean, &sd);
        double minor = precision[0][0] * precision[1][1] - precision[0][1] * precision[0][1];
        double wanted = sqrt(minor / exp(gaussian_log_det()));
        near(mean, 1, 0.01 * wanted);
        near(sd, wanted, 0.02 * wanted);
        pv_posterior_free(ctx, posterior);
    }
}

/* Steps from noisy estimates: the mixture settles around the same answer, and the bound is the exact density's. */
static void test_noisy(void **state) {
    (void)state;
    int calls = 0;
    pv_density density = {.dims = 3, .eval = gaussian_eval, .source = &calls, .estimate = gaussian_estimate};
    double evidence = -log(20) - 0.5 * gaussian_log_det(), w[3] = {1, 1, 1}, mean, sd;
    pv_vi_options options = pv_vi_options_default();
    options.steps = 4000;
    pv_posterior *posterior = infer(&density, w, &options);
    assert_int_equal(calls, 4000);
    near(posterior->elbo, evidence, 0.02);
    assert_true(posterior->elbo < evidence + 3 * posterior->elbo_se);
    summary(posterior, (const double[]){0, 0, 1}, NULL, &mean, &sd);
    double minor = precision[0][0] * precision[1][1] - precision[0][1] * precision[0][1];
    double wanted = sqrt(minor / exp(gaussian_log_det()));
    near(mean, 1, 0.15 * wanted);
    near(sd, wanted, 0.05 * wanted);
    pv_posterior_free(ctx, posterior);
}

/* Mean field: means right, sds those of each parameter given the others, the gap known. */
static void test_diagonal(void **state) {
    (void)state;
    pv_density density = {.dims = 3, .eval = gaussian_eval};
    pv_vi_options options = pv_vi_options_default();
    options.components = 1;
    options.diagonal = true;
    double evidence = -log(20) - 0.5 * gaussian_log_det(), gap = -0.5 * gaussian_log_det();
    pv_posterior *posterior = infer(&density, (const double[]){1.5, 0, 3}, &options);
    for (int i = 0; i < 3; i++) {
        double sd = 1 / sqrt(precision[i][i]);
        gap += 0.5 * log(precision[i][i]);
        near(posterior->mixture.mean[i], 1, 0.03 * sd);
        near(posterior->mixture.factor[i], sd, 0.02 * sd);
    }
    assert_true(posterior->mixture.diagonal);
    near(evidence - posterior->elbo, gap, 5 * posterior->elbo_se + 2e-3);
    pv_posterior_free(ctx, posterior);
}

static void test_many_dims(void **state) {
    (void)state;
    size_t d = 1500;
    pv_density density = {.dims = d, .state = &d, .eval = many_eval};
    pv_vi_options options = pv_vi_options_default();
    options.components = 1;
    options.diagonal = true;
    options.draws = 100;
    double *w = calloc(d, sizeof *w);
    pv_posterior *posterior = infer(&density, w, &options);
    for (size_t i = 0; i < d; i++) {
        double sd = 0.01 * (double)(1 + i % 50);
        near(posterior->mixture.mean[i], 0, 0.1 * sd);
        near(posterior->mixture.factor[i], sd, 0.1 * sd);
    }
    assert_true(posterior->elbo <= 5 * posterior->elbo_se && posterior->elbo > -1);
    pv_posterior_free(ctx, posterior);
    free(w);
}

static void test_two_modes(void **state) {
    (void)state;
    pv_density density = {.dims = 2, .eval = modes_eval};
    for (uint64_t seed = 0; seed < 5; seed++) {
        pv_vi_options options = pv_vi_options_default();
        options.seed = seed;
        pv_posterior *posterior = infer(&density, (const double[]){0, 0}, &options);
        double left = 0;
        for (size_t i = 0; i < posterior->count; i++)
            left += posterior->draws[2 * i] < 0;
        near(left / (double)posterior->count, 0.3, 0.03);
        near(posterior->elbo, 0, 0.02);
        pv_posterior_free(ctx, posterior);
    }
}

static void test_truncated(void **state) {
    (void)state;
    pv_density density = {.dims = 1, .eval = half_eval};
    double evidence = 0.5 * log_2pi + log(pv_normal_cdf(2) - pv_normal_cdf(-1));
    pv_posterior *posterior = infer(&density, (const double[]){1}, NULL);
    assert_true(isfinite(posterior->elbo) && posterior->elbo <= evidence + 5 * posterior->elbo_se);
    near(posterior->elbo, evidence, 0.1);
    for (size_t i = 0; i < posterior->count; i++)
        assert_true(posterior->draws[i] >= 0 && posterior->draws[i] <= 3);
    pv_posterior_free(ctx, posterior);
}

/* The profile remembers its last solution: the clones' histories must not depend on the threads. */
static void test_threads(void **state) {
    (void)state;
    table t = {.of = &exacts[5]};
    ok(table_open(ctx, &t));
    pv_density density = {.dims = 2, .state = &t, .eval = table_eval, .clone = table_clone, .release = table_release};
    pv_vi_options options = pv_vi_options_default();
    options.steps = 60;
    options.samples = 5;
    pv_posterior *posterior[2];
    for (int threads = 1; threads <= 2; threads++) {
        pv_ctx *own = check_ctx(threads);
        double w[2] = {-4.1, -3.3};
        CHECK_OK(own, pv_vi(own, &density, w, &options, &posterior[threads - 1]));
        pv_ctx_free(own);
    }
    pv_mixture *a = &posterior[0]->mixture, *b = &posterior[1]->mixture;
    assert_memory_equal(posterior[0]->draws, posterior[1]->draws, 2 * posterior[0]->count * sizeof(double));
    assert_memory_equal(a->weight, b->weight, 8 * sizeof(double));
    assert_memory_equal(a->mean, b->mean, 16 * sizeof(double));
    assert_memory_equal(a->factor, b->factor, 32 * sizeof(double));
    same_bits(posterior[0]->elbo, posterior[1]->elbo);
    pv_posterior_free(ctx, posterior[0]);
    pv_posterior_free(ctx, posterior[1]);
    pv_full_loss_free(ctx, t.full);
}

static void refuse(const pv_density *density, pv_vi_options options, const char *part) {
    pv_posterior *posterior;
    double w[3] = {0};
    assert_int_equal(pv_vi(ctx, density, w, &options, &posterior), PV_ERR_USAGE);
    assert_null(posterior);
    says(part);
}

static void test_usage(void **state) {
    (void)state;
    pv_density density = {.dims = 3, .eval = gaussian_eval};
    pv_vi_options good = pv_vi_options_default(), bad;
    bad = good;
    bad.components = 0;
    refuse(&density, bad, "components");
    bad = good;
    bad.samples = 0;
    refuse(&density, bad, "samples");
    bad = good;
    bad.steps = 0;
    refuse(&density, bad, "steps");
    bad = good;
    bad.draws = -1;
    refuse(&density, bad, "draws");
    bad = good;
    bad.rate = NAN;
    refuse(&density, bad, "rate");
    density.dims = 0;
    refuse(&density, good, "no parameters");
    pv_density half = {.dims = 1, .eval = half_eval};
    pv_posterior *posterior;
    assert_int_equal(pv_vi(ctx, &half, (const double[]){-1}, NULL, &posterior), PV_ERR_NUMERIC);
    assert_null(posterior);
}

static pv_status failing_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    int *left = state;
    return --*left < 0 ? pv__fail(c, PV_ERR_INTERNAL, "by design") : gaussian_eval(c, NULL, w, value, gradient);
}

static pv_status interrupting_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    int *left = state;
    if (--*left == 0)
        pv_ctx_interrupt(c);
    return gaussian_eval(c, NULL, w, value, gradient);
}

/* For a while the density is 0 wherever it is asked for. */
static pv_status gap_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    int call = (*(int *)state)++;
    PV_TRY(gaussian_eval(c, NULL, w, value, gradient));
    if (call >= 8000 && call < 8200)
        *value = INFINITY;
    return PV_OK;
}

/* A run that loses the density altogether stops, says so, and gives the best it had. */
static void test_diverged(void **state) {
    (void)state;
    int calls = 0;
    pv_density density = {.dims = 3, .state = &calls, .eval = gap_eval};
    double w[3] = {1, 1, 1}, mean, sd;
    pv_posterior *posterior = infer(&density, w, NULL);
    assert_int_equal(posterior->stop, PV_STOP_DIVERGED);
    assert_true(posterior->iterations < 200 && isfinite(posterior->elbo));
    summary(posterior, (const double[]){0, 0, 1}, NULL, &mean, &sd);
    near(mean, 1, sd);
    pv_posterior_free(ctx, posterior);
}

static void test_stopped(void **state) {
    (void)state;
    int left = 1000;
    pv_density density = {.dims = 3, .state = &left, .eval = failing_eval};
    pv_posterior *posterior;
    double w[3] = {0};
    assert_int_equal(pv_vi(ctx, &density, w, NULL, &posterior), PV_ERR_INTERNAL);
    assert_null(posterior);
    says("by design");

    left = 1000;
    pv_ctx *own = check_ctx(1);
    density.eval = interrupting_eval;
    CHECK_OK(own, pv_vi(own, &density, w, NULL, &posterior));
    assert_int_equal(posterior->stop, PV_STOP_INTERRUPTED);
    assert_true(posterior->iterations > 5 && posterior->iterations < 50);
    assert_true(isfinite(posterior->elbo));
    pv_posterior_free(own, posterior);
    pv_ctx_free(own);
}

static pv_status block_clone(pv_ctx *c, void *state, void **copy) {
    (void)state;
    return pv__alloc(c, 1, 1, copy);
}

static void block_release(pv_ctx *c, void *copy) {
    pv__free(c, copy);
}

static pv_status small_work(pv_ctx *poor) {
    pv_density density = {.dims = 3, .eval = gaussian_eval, .clone = block_clone, .release = block_release};
    pv_vi_options options = {.components = 2, .samples = 3, .steps = 3, .rate = 0.05, .draws = 10};
    pv_posterior *posterior;
    pv_status status = pv_vi(poor, &density, (const double[]){0, 0, 0}, &options, &posterior);
    assert_true((status == PV_OK) == (posterior != NULL));
    pv_posterior_free(poor, posterior);
    if (status != PV_OK)
        return status;
    density.dims = 1;
    density.eval = half_eval;
    status = pv_vi(poor, &density, (const double[]){1}, &options, &posterior);
    pv_posterior_free(poor, posterior);
    return status;
}

static void test_memory(void **state) {
    (void)state;
    sweep_memory(small_work);
}

/* Every instruction set this processor has gives the same numbers. Seven dimensions, 48 points: no size fits evenly. */
static void test_kernels(void **state) {
    (void)state;
    extern const pv__vi_kernels pv__vi_kernels_baseline, pv__vi_kernels_avx2;
    enum { DIMS = 7, POINTS = 48, SAMPLES = 13 };
    const pv__vi_kernels *kernels[3] = {&pv__vi_kernels_baseline, pv__vi_kernels_get(), pv__vi_kernels_get()};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        kernels[2] = &pv__vi_kernels_avx2;
    for (int diagonal = 0; diagonal < 2; diagonal++) {
        static double eps[DIMS * POINTS], u[3][DIMS * POINTS], log_q[3][POINTS], slope[3][DIMS * POINTS], scratch[1000];
        static double dmean[3][DIMS], dfactor[3][DIMS * DIMS], buffer[DIMS * POINTS];
        pv__vi_mix mix;
        ok(pv__vi_mix_new(ctx, 3, DIMS, diagonal, &mix));
        pv_rng rng = pv_rng_stream(3, 1, 0);
        for (size_t i = 0; i < 3 * DIMS; i++)
            mix.mean[i] = pv_rng_normal(&rng);
        for (size_t i = 0; i < 3 * mix.size; i++)
            mix.factor[i] = 0.5 + pv_rng_uniform(&rng);
        pv__vi_mix_refresh(&mix);
        assert_true(pv__vi_scratch(&mix) <= sizeof scratch / sizeof *scratch);
        pv__vi_normals(kernels[0], &rng, DIMS, POINTS, POINTS, buffer, eps);
        for (int i = 0; i < 3; i++) {
            kernels[i]->place(&mix, 1, POINTS, POINTS, eps, u[i]);
            kernels[i]->density(&mix, POINTS, POINTS, u[i], scratch, log_q[i], slope[i]);
            kernels[i]->local(&mix, 1, SAMPLES, POINTS, slope[i], eps, scratch, dmean[i], dfactor[i]);
            for (size_t p = 0; p < POINTS; p++)
                near(log_q[i][p], log_q[0][p], 1e-9);
            for (size_t p = 0; p < DIMS * POINTS; p++)
                near(slope[i][p], slope[0][p], 1e-8 * (1 + fabs(slope[0][p])));
            for (size_t p = 0; p < DIMS; p++)
                near(dmean[i][p], dmean[0][p], 1e-7 * (1 + fabs(dmean[0][p])));
            for (size_t p = 0; p < mix.size; p++)
                near(dfactor[i][p], dfactor[0][p], 1e-7 * (1 + fabs(dfactor[0][p])));
        }
        for (size_t j = 0; j < DIMS; j++) { /* the slope is that of log q */
            double moved[2][POINTS], ignored[DIMS * POINTS];
            for (int side = 0; side < 2; side++) {
                memcpy(u[1], u[0], sizeof u[0]);
                for (size_t p = 0; p < POINTS; p++)
                    u[1][j * POINTS + p] += side ? 1e-5 : -1e-5;
                kernels[0]->density(&mix, POINTS, POINTS, u[1], scratch, moved[side], ignored);
            }
            for (size_t p = 0; p < POINTS; p++)
                near(slope[0][j * POINTS + p], (moved[1][p] - moved[0][p]) / 2e-5,
                     1e-4 * (1 + fabs(slope[0][j * POINTS + p])));
        }
        pv__vi_mix_free(ctx, &mix);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernels),     cmocka_unit_test(test_contingency), cmocka_unit_test(test_logistic),
        cmocka_unit_test(test_against_hmc), cmocka_unit_test(test_poor_start),  cmocka_unit_test(test_gaussian),
        cmocka_unit_test(test_noisy),       cmocka_unit_test(test_diagonal),    cmocka_unit_test(test_many_dims),
        cmocka_unit_test(test_two_modes),   cmocka_unit_test(test_truncated),   cmocka_unit_test(test_threads),
        cmocka_unit_test(test_usage),       cmocka_unit_test(test_stopped),     cmocka_unit_test(test_diverged),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
