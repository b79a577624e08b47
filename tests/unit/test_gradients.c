/* Gradients of every loss compared with central differences, and row weights with repeated rows. Log-likelihoods are
 * computed from logits X W, so that varying W keeps every row a valid log-softmax, for which losses are defined. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prevail/core.h"

enum { ROWS = 36, FEATURES = 4, MAX_CLASSES = 5, SIZE = ROWS * MAX_CLASSES, PARAMS = FEATURES * MAX_CLASSES };

static const double STEP = 3e-4, TOLERANCE = 1e-8; /* relative to the largest entry of the gradient */

typedef struct problem {
    pv_ctx *ctx;
    int classes;
    double feature[ROWS][FEATURES], frequency[SIZE], weight[ROWS];
    int32_t label[ROWS], stratum[ROWS];
    double prevalence[MAX_CLASSES], mass[MAX_CLASSES];
    double w[PARAMS]; /* [classes][FEATURES] */
    pv_targets targets;
} problem;

static void must(pv_ctx *ctx, pv_status status) {
    if (status != PV_OK)
        fail_msg("%s: %s", pv_status_name(status), pv_ctx_error(ctx)->message);
}

/* The intercepts are the log prevalence, so that a known prevalence is inside the hull of the rows. */
static void make_problem(problem *p, pv_ctx *ctx, int classes, bool soft, bool weighted) {
    static const double prevalence[][MAX_CLASSES] = {
        [2] = {0.97, 0.03}, [3] = {0.8, 0.15, 0.05}, [5] = {0.6, 0.25, 0.1, 0.04, 0.01}};
    *p = (problem){.ctx = ctx, .classes = classes};
    pv_rng rng = pv_rng_stream(40, (uint32_t)classes, (uint64_t)(2 * soft + weighted));
    memcpy(p->prevalence, prevalence[classes], sizeof p->prevalence);
    for (size_t n = 0; n < ROWS; n++) {
        p->label[n] = (int32_t)(n % (size_t)classes);
        p->stratum[n] = (int32_t)(n / 3 % 3);
        p->weight[n] = 0.2 + 2.3 * pv_rng_uniform(&rng);
        p->feature[n][0] = 1;
        for (size_t k = 1; k < FEATURES; k++)
            p->feature[n][k] = pv_rng_normal(&rng);
        double *t = p->frequency + n * (size_t)classes;
        t[p->label[n]] += 0.5;
        t[pv_rng_below(&rng, (size_t)classes)] += 0.25;
        t[pv_rng_below(&rng, (size_t)classes)] += 0.25;
    }
    for (size_t y = 0; y < (size_t)classes; y++)
        for (size_t k = 0; k < FEATURES; k++)
            p->w[y * FEATURES + k] = k ? 0.9 * pv_rng_normal(&rng) : log(p->prevalence[y]);
    p->targets = (pv_targets){.n = ROWS,
                              .classes = classes,
                              .label = soft ? NULL : p->label,
                              .frequency = soft ? p->frequency : NULL,
                              .weight = weighted ? p->weight : NULL};
    must(ctx, pv_targets_check(ctx, &p->targets));
    pv_label_mass(&p->targets, p->mass);
}

static void forward(const problem *p, const double *w, double *loglik) {
    for (size_t n = 0; n < ROWS; n++) {
        double logits[MAX_CLASSES];
        for (size_t y = 0; y < (size_t)p->classes; y++) {
            logits[y] = 0;
            for (size_t k = 0; k < FEATURES; k++)
                logits[y] += w[y * FEATURES + k] * p->feature[n][k];
        }
        pv_log_softmax(p->classes, logits, loglik + n * (size_t)p->classes);
    }
}

static void backward(const problem *p, const double *loglik, const double *dloglik, double *dw) {
    size_t classes = (size_t)p->classes;
    memset(dw, 0, PARAMS * sizeof *dw);
    for (size_t n = 0; n < ROWS; n++) {
        const double *f = loglik + n * classes, *df = dloglik + n * classes;
        double sum = 0;
        for (size_t y = 0; y < classes; y++)
            sum += df[y];
        for (size_t y = 0; y < classes; y++)
            for (size_t k = 0; k < FEATURES; k++)
                dw[y * FEATURES + k] += (df[y] - exp(f[y]) * sum) * p->feature[n][k];
    }
}

/* A function of x, with its state. */
typedef double (*function)(void *state, const double *x);

/* Central differences of fourth order: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h. */
static void check(const char *what, function f, void *state, size_t count, const double *x, const double *gradient) {
    double moved[256], largest = 0;
    assert_true(count <= sizeof moved / sizeof *moved);
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(gradient[i]));
    assert_true(largest > 0);
    for (size_t i = 0; i < count; i++) {
        double at[4];
        for (int s = 0; s < 4; s++) {
            static const double steps[] = {1, -1, 2, -2};
            memcpy(moved, x, count * sizeof *x);
            moved[i] += steps[s] * STEP;
            at[s] = f(state, moved);
        }
        double numeric = (8 * (at[0] - at[1]) - (at[2] - at[3])) / (12 * STEP);
        if (!(fabs(numeric - gradient[i]) <= TOLERANCE * largest))
            fail_msg("%s: entry %zu is %.12g, central differences give %.12g", what, i, gradient[i], numeric);
    }
}

/* ---- the full batch ---------------------------------------------------------------------------------------------- */

typedef struct full_state {
    const problem *p;
    pv_full_loss *full;
} full_state;

static double full_value(void *state, const double *w) {
    full_state *s = state;
    double loglik[SIZE], value = nan("");
    forward(s->p, w, loglik);
    must(s->p->ctx, pv_full_loss_eval(s->p->ctx, s->full, loglik, &value, NULL));
    return value;
}

static void check_full(const problem *p, pv_loss loss, pv_marginal marginal, double prevalence_n,
                       const double *counts) {
    pv_prevalence population = {.classes = p->classes, .prevalence = p->prevalence, .prevalence_n = prevalence_n};
    full_state s = {p, NULL};
    must(p->ctx, pv_full_loss_new(p->ctx, loss, marginal, &p->targets, &population, &s.full));
    if (counts)
        pv_full_loss_set_counts(s.full, counts);
    double loglik[SIZE], dloglik[SIZE], dw[PARAMS], value = nan("");
    forward(p, p->w, loglik);
    must(p->ctx, pv_full_loss_eval(p->ctx, s.full, loglik, &value, dloglik));
    backward(p, loglik, dloglik, dw);
    char what[128];
    snprintf(what, sizeof what, "%s, %s, %d classes, N_pr %g, %s, %s%s", pv_loss_name(loss), pv_marginal_name(marginal),
             p->classes, prevalence_n, p->targets.label ? "hard" : "soft", p->targets.weight ? "weighted" : "unit",
             counts ? ", counts" : "");
    if (!isfinite(value))
        fail_msg("%s: value %g", what, value);
    check(what, full_value, &s, (size_t)p->classes * FEATURES, p->w, dw);
    pv_full_loss_free(p->ctx, s.full);
}

/* A row of weight 3 is three equal rows: the value is the same, and the gradient is divided among them. */
static void check_repeated(const problem *p, pv_loss loss, pv_marginal marginal, double prevalence_n) {
    static double loglik[SIZE], dloglik[SIZE], many_loglik[3 * SIZE], many_dloglik[3 * SIZE], many_frequency[3 * SIZE];
    static double weight[ROWS];
    static int32_t many_label[3 * ROWS];
    size_t classes = (size_t)p->classes, row = classes * sizeof *loglik, many = 0;
    double value[2];
    forward(p, p->w, loglik);
    for (size_t n = 0; n < ROWS; n++) {
        weight[n] = 1 + (double)(n % 3);
        for (size_t copy = 0; copy <= n % 3; copy++, many++) {
            memcpy(many_loglik + many * classes, loglik + n * classes, row);
            memcpy(many_frequency + many * classes, p->frequency + n * classes, row);
            many_label[many] = p->label[n];
        }
    }
    bool soft = p->targets.frequency != NULL;
    pv_prevalence population = {.classes = p->classes, .prevalence = p->prevalence, .prevalence_n = prevalence_n};
    pv_targets targets[2] = {{.n = ROWS,
                              .classes = p->classes,
                              .label = p->targets.label,
                              .frequency = p->targets.frequency,
                              .weight = weight},
                             {.n = many,
                              .classes = p->classes,
                              .label = soft ? NULL : many_label,
                              .frequency = soft ? many_frequency : NULL}};
    for (size_t i = 0; i < 2; i++) {
        pv_full_loss *full = NULL;
        must(p->ctx, pv_full_loss_new(p->ctx, loss, marginal, &targets[i], &population, &full));
        must(p->ctx, pv_full_loss_eval(p->ctx, full, i ? many_loglik : loglik, &value[i], i ? many_dloglik : dloglik));
        pv_full_loss_free(p->ctx, full);
    }
    assert_true(fabs(value[0] - value[1]) <= 1e-11 * (1 + fabs(value[0])));
    double dw[PARAMS];
    backward(p, loglik, dloglik, dw);
    many = 0;
    for (size_t n = 0; n < ROWS; n++) /* adds the gradients of copies to that of the first */
        for (size_t copy = 0; copy <= n % 3; copy++, many++)
            for (size_t y = 0; y < classes; y++)
                dloglik[n * classes + y] = (copy ? dloglik[n * classes + y] : 0) + many_dloglik[many * classes + y];
    double gathered[PARAMS], largest = 0;
    backward(p, loglik, dloglik, gathered);
    for (size_t k = 0; k < classes * FEATURES; k++)
        largest = fmax(largest, fabs(dw[k]));
    for (size_t k = 0; k < classes * FEATURES; k++)
        assert_true(fabs(dw[k] - gathered[k]) <= 1e-8 * largest);
}

static void each_problem(void (*run)(problem *p)) {
    pv_ctx *ctx = NULL;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    static const int classes[] = {2, 3, 5};
    for (size_t c = 0; c < 3; c++)
        for (int soft = 0; soft < 2; soft++)
            for (int weighted = 0; weighted < 2; weighted++) {
                problem p;
                make_problem(&p, ctx, classes[c], soft, weighted);
                run(&p);
            }
    pv_ctx_free(ctx);
}

static void run_full(problem *p) {
    static const double strength[] = {0, 7.5, 300, 1e4}, counts[MAX_CLASSES] = {-4, 12.5, 3, -0.5, 8};
    for (pv_loss loss = 0; loss < PV_LOSSES; loss++) {
        if (pv_loss_is_relative(loss)) /* requires sets: test_matched */
            continue;
        if (!pv_loss_has_marginal(loss)) {
            check_full(p, loss, PV_MARGINAL_PLUGIN, 0, NULL);
            continue;
        }
        for (size_t i = 0; i < sizeof strength / sizeof *strength; i++) {
            check_full(p, loss, PV_MARGINAL_PLUGIN, strength[i], NULL);
            check_full(p, loss, PV_MARGINAL_PROFILE, strength[i], NULL);
        }
        check_full(p, loss, PV_MARGINAL_PLUGIN, HUGE_VAL, counts);
        check_full(p, loss, PV_MARGINAL_PROFILE, HUGE_VAL, NULL);
    }
}

static void test_full_losses(void **state) {
    (void)state;
    each_problem(run_full);
}

static void run_repeated(problem *p) {
    static const double strength[] = {0, 7.5, 300, HUGE_VAL};
    for (pv_loss loss = 0; loss < PV_LOSSES; loss++) {
        if (pv_loss_is_relative(loss)) /* its rows have no weights */
            continue;
        if (!pv_loss_has_marginal(loss))
            check_repeated(p, loss, PV_MARGINAL_PLUGIN, 0);
        for (size_t i = 0; pv_loss_has_marginal(loss) && i < sizeof strength / sizeof *strength; i++) {
            if (isfinite(strength[i]))
                check_repeated(p, loss, PV_MARGINAL_PLUGIN, strength[i]);
            check_repeated(p, loss, PV_MARGINAL_PROFILE, strength[i]);
        }
    }
}

static void test_weights_are_repeated_rows(void **state) {
    (void)state;
    each_problem(run_repeated);
}

/* ---- the selection likelihood ------------------------------------------------------------------------------------ */

typedef struct selection_state {
    const problem *p;
    const double *w, *log_ratio; /* the one that is not varied */
} selection_state;

static double selection_of_w(void *state, const double *w) {
    selection_state *s = state;
    double loglik[SIZE], value = nan("");
    forward(s->p, w, loglik);
    must(s->p->ctx, pv_selection_loss(s->p->ctx, &s->p->targets, s->log_ratio, loglik, &value, NULL, NULL));
    return value;
}

static double selection_of_ratio(void *state, const double *log_ratio) {
    selection_state *s = state, moved = {s->p, s->w, log_ratio};
    return selection_of_w(&moved, s->w);
}

static void run_selection(problem *p) {
    static const double log_ratio[MAX_CLASSES] = {-0.7, 2.5, 0.1, 3.2, -1.4};
    double loglik[SIZE], dloglik[SIZE], dw[PARAMS], dlog_ratio[MAX_CLASSES], value;
    selection_state s = {p, p->w, log_ratio};
    forward(p, p->w, loglik);
    must(p->ctx, pv_selection_loss(p->ctx, &p->targets, log_ratio, loglik, &value, dloglik, dlog_ratio));
    backward(p, loglik, dloglik, dw);
    check("selection, w", selection_of_w, &s, (size_t)p->classes * FEATURES, p->w, dw);
    check("selection, log_ratio", selection_of_ratio, &s, (size_t)p->classes, log_ratio, dlog_ratio);
}

static void test_selection_loss(void **state) {
    (void)state;
    each_problem(run_selection);
}

/* ---- minibatch losses -------------------------------------------------------------------------------------------- */

typedef struct batch_state {
    const problem *p;
    pv_batch_loss loss;
    const double *log_q;
} batch_state;

static void batch_eval(const batch_state *s, const double *loglik, double *value, double *dloglik) {
    const problem *p = s->p;
    must(p->ctx, pv_batch_loss_eval(p->ctx, &s->loss, &p->targets, p->stratum, loglik, s->log_q, value, dloglik, NULL));
}

/* With an auxiliary network the gradient is that of sum_y c_y p-hat_B(y)/q(y) with fixed q, instead of the value's
 * sum_y c_y log q(y). */
static double batch_value(void *state, const double *w) {
    const batch_state *s = state;
    const problem *p = s->p;
    double loglik[SIZE], dloglik[SIZE], value, population[ROWS], log_marginal[MAX_CLASSES];
    forward(p, w, loglik);
    batch_eval(s, loglik, &value, dloglik);
    if (!pv_loss_has_marginal(s->loss.loss) || s->loss.marginal == PV_MARGINAL_PROFILE)
        return value;
    must(p->ctx, pv_batch_weights(p->ctx, &s->loss.design, &p->targets, p->stratum, NULL, population));
    pv_batch_log_marginal(ROWS, p->classes, population, loglik, log_marginal);
    for (size_t y = 0; y < (size_t)p->classes; y++) {
        double count = p->mass[y] - s->loss.design.population.prevalence_n * p->prevalence[y];
        value += count * (exp(log_marginal[y] - s->log_q[y]) - s->log_q[y]);
    }
    return value;
}

static void run_batch_loss(problem *p, pv_loss loss, pv_marginal marginal, size_t i) {
    static const double full[] = {100, 250, 40}, expected[] = {0.3, 0.3, 0.4};
    static const double log_q[MAX_CLASSES] = {-0.4, -1.3, -2.2, -3, -1};
    batch_state s = {p,
                     {loss,
                      marginal,
                      PV_IMPLEMENTATION_2,
                      {.sampling = {3, full, expected},
                       .mass = p->mass,
                       .population = {.classes = p->classes, .prevalence = p->prevalence, .prevalence_n = 60},
                       .population_weight = i % 2 ? PV_WEIGHT_COUNTED : PV_WEIGHT_EXPECTED,
                       .epoch_weight = i % 3 ? PV_WEIGHT_COUNTED : PV_WEIGHT_EXPECTED}},
                     log_q};
    double loglik[SIZE], dloglik[SIZE], dw[PARAMS], value;
    forward(p, p->w, loglik);
    batch_eval(&s, loglik, &value, dloglik);
    backward(p, loglik, dloglik, dw);
    char what[96];
    snprintf(what, sizeof what, "batch, %s, %s, %d classes", pv_loss_name(loss), pv_marginal_name(marginal),
             p->classes);
    check(what, batch_value, &s, (size_t)p->classes * FEATURES, p->w, dw);
}

static void run_batch(problem *p) {
    static const pv_marginal marginals[] = {PV_MARGINAL_PROFILE, PV_MARGINAL_AUXILIARY_CONSTANT,
                                            PV_MARGINAL_AUXILIARY_LINEAR};
    size_t number = 0; /* alternates between kinds of weights */
    for (pv_loss loss = 0; loss < PV_LOSSES; loss++) {
        if (!pv_loss_has_marginal(loss))
            run_batch_loss(p, loss, PV_MARGINAL_PLUGIN, number++);
        for (size_t m = 0; pv_loss_has_marginal(loss) && m < sizeof marginals / sizeof *marginals; m++)
            run_batch_loss(p, loss, marginals[m], number++);
    }
}

static void test_batch_losses(void **state) {
    (void)state;
    each_problem(run_batch);
}

/* ---- auxiliary networks ------------------------------------------------------------------------------------------ */

typedef struct auxiliary_state {
    pv_auxiliary *auxiliary;
    double *block; /* the parameter that is varied */
    size_t count;
    const double *w, *log_target;
    int classes;
} auxiliary_state;

static double auxiliary_value(void *state, const double *x) {
    auxiliary_state *s = state;
    double kept[64], log_q[MAX_CLASSES], value = 0;
    assert_true(s->count <= sizeof kept / sizeof *kept);
    memcpy(kept, s->block, s->count * sizeof *kept);
    memcpy(s->block, x, s->count * sizeof *x);
    pv_auxiliary_forward(s->auxiliary, s->w, log_q);
    memcpy(s->block, kept, s->count * sizeof *kept);
    for (int y = 0; y < s->classes; y++)
        value -= exp(s->log_target[y]) * log_q[y];
    return value;
}

static void test_auxiliary_networks(void **state) {
    (void)state;
    enum { CLASSES = 4, WEIGHTS = 9 };
    static const double log_target[CLASSES] = {-0.6, -1.1, -2.8, -4};
    pv_ctx *ctx = NULL;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    for (int linear = 0; linear < 2; linear++) {
        pv_rng rng = pv_rng_stream(41, 0, (uint64_t)linear);
        double w[WEIGHTS], log_q[CLASSES];
        for (size_t k = 0; k < WEIGHTS; k++)
            w[k] = pv_rng_normal(&rng);
        auxiliary_state s = {.w = w, .log_target = log_target, .classes = CLASSES};
        must(ctx, pv_auxiliary_new(ctx, linear ? PV_MARGINAL_AUXILIARY_LINEAR : PV_MARGINAL_AUXILIARY_CONSTANT, CLASSES,
                                   WEIGHTS, NULL, w, &s.auxiliary));
        pv_auxiliary_view view = pv_auxiliary_parameters(s.auxiliary);
        for (size_t y = 0; y < CLASSES; y++)
            view.bias[y] = pv_rng_normal(&rng);
        for (size_t k = 0; linear && k < WEIGHTS; k++)
            view.offset[k] += 0.5 * pv_rng_normal(&rng);
        for (size_t k = 0; linear && k < WEIGHTS * CLASSES; k++)
            view.matrix[k] = 0.6 * pv_rng_normal(&rng);
        pv_auxiliary_forward(s.auxiliary, w, log_q);
        double value = pv_auxiliary_backward(s.auxiliary, w, log_q, log_target, 1);
        s.block = view.bias;
        s.count = CLASSES;
        assert_true(fabs(value - auxiliary_value(&s, view.bias)) < 1e-12 * fabs(value));
        check("auxiliary, bias", auxiliary_value, &s, CLASSES, view.bias, view.dbias);
        if (linear) {
            s.block = view.offset;
            s.count = WEIGHTS;
            check("auxiliary, offset", auxiliary_value, &s, WEIGHTS, view.offset, view.doffset);
            s.block = view.matrix;
            s.count = WEIGHTS * CLASSES;
            check("auxiliary, matrix", auxiliary_value, &s, WEIGHTS * CLASSES, view.matrix, view.dmatrix);
        }
        pv_auxiliary_free(ctx, s.auxiliary);
    }
    pv_ctx_free(ctx);
}

/* One-pass training, with any number of threads, takes the same steps as gradient and step separately, and these are
 * those of Adam with a soft threshold, implemented here in double precision. */
enum { TRAINED = 50000, TRAINED_STEPS = 4 };

static void plain_adam(size_t n, const double *gradient, double *mean, double *square, double *value, double rate,
                       double sparsity, int step) {
    for (size_t i = 0; i < n; i++) {
        mean[i] = 0.9 * mean[i] + 0.1 * gradient[i];
        square[i] = 0.999 * square[i] + 0.001 * gradient[i] * gradient[i];
        double scale = sqrt(square[i] / (1 - pow(0.999, step))) + 1e-12;
        value[i] -= rate * mean[i] / (1 - pow(0.9, step)) / scale;
        value[i] = copysign(fmax(fabs(value[i]) - rate * sparsity / scale, 0), value[i]);
    }
}

static double largest_difference(size_t n, const double *a, const double *b) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fabs(a[i] - b[i]) <= most ? most : fabs(a[i] - b[i]); /* keeps NaN */
    return most;
}

static void train_both_ways(int classes, int threads) {
    pv_ctx_options options = pv_ctx_options_default();
    options.threads = threads;
    pv_ctx *ctx = NULL;
    assert_int_equal(pv_ctx_new(&options, &ctx), PV_OK);
    size_t k = (size_t)classes, matrix = TRAINED * k;
    double *w = calloc(TRAINED, sizeof *w), *plain = calloc(3 * (TRAINED + matrix), sizeof *plain);
    double *offset = plain, *a = offset + 3 * TRAINED;
    pv_rng rng = pv_rng_stream(42, 0, (uint64_t)classes);
    for (size_t i = 0; i < TRAINED; i++)
        offset[i] = w[i] = pv_rng_normal(&rng);
    pv_auxiliary *fused, *apart;
    must(ctx, pv_auxiliary_new(ctx, PV_MARGINAL_AUXILIARY_LINEAR, classes, TRAINED, NULL, w, &fused));
    must(ctx, pv_auxiliary_new(ctx, PV_MARGINAL_AUXILIARY_LINEAR, classes, TRAINED, NULL, w, &apart));
    pv_auxiliary_view one = pv_auxiliary_parameters(fused), two = pv_auxiliary_parameters(apart);
    pv_auxiliary_options rates = pv_auxiliary_options_default(0.01);
    for (int step = 1; step <= TRAINED_STEPS; step++) {
        double log_q[MAX_CLASSES], again[MAX_CLASSES], log_target[MAX_CLASSES];
        for (size_t y = 0; y < k; y++)
            log_target[y] = -1 - 0.5 * (double)y - 0.1 * step;
        for (size_t i = 0; i < TRAINED; i++)
            w[i] += 0.01 * pv_rng_normal(&rng);
        pv_auxiliary_forward(fused, w, log_q);
        pv_auxiliary_forward(apart, w, again);
        assert_memory_equal(log_q, again, k * sizeof *log_q);
        pv_auxiliary_train(fused, w, log_q, log_target, &rates, 0.5);
        pv_auxiliary_backward(apart, w, log_q, log_target, 1);
        plain_adam(TRAINED, two.doffset, offset + TRAINED, offset + 2 * TRAINED, offset, 0.5 * rates.rate_offset, 0,
                   step);
        plain_adam(matrix, two.dmatrix, a + matrix, a + 2 * matrix, a, 0.5 * rates.rate_matrix, rates.sparsity, step);
        pv_auxiliary_step(apart, &rates, 0.5);
        assert_memory_equal(one.bias, two.bias, k * sizeof *one.bias);
        assert_memory_equal(one.offset, two.offset, TRAINED * sizeof *one.offset);
        assert_memory_equal(one.matrix, two.matrix, matrix * sizeof *one.matrix);
    }
    /* With moments in single precision, a step may differ by a relative 1e-7. */
    assert_true(largest_difference(TRAINED, one.offset, offset) < 1e-6 * rates.rate_offset);
    assert_true(largest_difference(matrix, one.matrix, a) < 1e-6 * rates.rate_matrix);
    pv_auxiliary_free(ctx, fused);
    pv_auxiliary_free(ctx, apart);
    pv_ctx_free(ctx);
    free(w);
    free(plain);
}

static void test_auxiliary_in_one_pass(void **state) {
    (void)state;
    train_both_ways(2, 1);
    train_both_ways(2, 3);
    train_both_ways(3, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auxiliary_in_one_pass),
        cmocka_unit_test(test_full_losses),
        cmocka_unit_test(test_weights_are_repeated_rows),
        cmocka_unit_test(test_selection_loss),
        cmocka_unit_test(test_batch_losses),
        cmocka_unit_test(test_auxiliary_networks),
    };
    return cmocka_run_group_tests_name("gradients", tests, NULL, NULL);
}
