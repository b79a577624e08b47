/* Minibatch estimators over many batches of a small fixed population: unbiased, with the predicted variance, and equal
 * in all three implementations (paper, Appendices A, B and E). Seeds are fixed, so results are reproducible. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/loss.h"
#include "prevail/core.h"

enum { ROWS = 60, CLASSES = 3, STRATA = 3, FEATURES = 3, PARAMS = FEATURES * CLASSES, BATCH = 24, BATCHES = 20000 };

static const double LIMIT = 4.5;
static const double PREVALENCE[CLASSES] = {0.85, 0.13, 0.02};
static const double PREVALENCE_N = 40;

/* ---- population: a linear model, hard labels with unit weights or votes with row weights ------------------------- */

typedef struct world {
    bool soft;
    double feature[ROWS][FEATURES], loglik[ROWS][CLASSES], frequency[ROWS][CLASSES], weight[ROWS];
    int32_t label[ROWS], stratum[ROWS];
    double full[STRATA], mass[CLASSES], log_q[CLASSES]; /* log_q: the exact marginal, log p(y|w) */
    size_t member[STRATA][ROWS];
} world;

static pv_targets targets_of(const world *w) {
    return (pv_targets){.n = ROWS,
                        .classes = CLASSES,
                        .label = w->soft ? NULL : w->label,
                        .frequency = w->soft ? w->frequency[0] : NULL,
                        .weight = w->soft ? w->weight : NULL};
}

static double target(const world *w, size_t n, size_t y) {
    return w->soft ? w->frequency[n][y] : w->label[n] == (int32_t)y;
}

static double row_weight(const world *w, size_t n) {
    return w->soft ? w->weight[n] : 1;
}

/* Rows 0-33 are of class or stratum 0, 34-51 of 1, 52-59 of 2; with votes each row has three, most for its stratum.
 * slope: effect of the features, 0 for none; sure: added to the logit of a row's own label. */
static void make_model_world(world *w, bool soft, double slope, double sure) {
    *w = (world){.soft = soft};
    pv_rng rng = pv_rng_stream(20, 1, soft);
    for (size_t n = 0; n < ROWS; n++) {
        size_t s = n < 34 ? 0 : n < 52 ? 1 : 2;
        w->stratum[n] = w->label[n] = (int32_t)s;
        w->member[s][(size_t)w->full[s]++] = n;
        w->weight[n] = 0.4 + 1.7 * pv_rng_uniform(&rng);
        w->frequency[n][s] += 2. / 3;
        w->frequency[n][pv_rng_below(&rng, CLASSES)] += 1. / 3;
        w->feature[n][0] = 1;
        w->feature[n][1] = pv_rng_normal(&rng) + 0.8 * (double)s;
        w->feature[n][2] = pv_rng_normal(&rng) - 0.5 * (double)(s == 1);
        double logits[CLASSES];
        for (size_t y = 0; y < CLASSES; y++) {
            static const double model[CLASSES][FEATURES] = {{1.5, -0.4, 0.3}, {0, 0.5, -0.7}, {-1.5, 1.1, 0.2}};
            logits[y] = model[y][0] + (y == s ? sure : 0);
            for (size_t k = 1; k < FEATURES; k++)
                logits[y] += slope * model[y][k] * w->feature[n][k];
        }
        pv_log_softmax(CLASSES, logits, w->loglik[n]);
    }
    pv_targets targets = targets_of(w);
    pv_label_mass(&targets, w->mass);
    for (size_t y = 0; y < CLASSES; y++) {
        double marginal = 0;
        for (size_t n = 0; n < ROWS; n++)
            for (size_t c = 0; c < CLASSES; c++)
                marginal += row_weight(w, n) * target(w, n, c) * PREVALENCE[c] / w->mass[c] * exp(w->loglik[n][y]);
        w->log_q[y] = log(marginal);
    }
}

static void make_world(world *w, bool soft) {
    make_model_world(w, soft, 1, 0);
}

/* Adds the gradient with respect to the linear model's parameters, through the softmax. */
static void add_parameter_gradient(size_t n, const double (*feature)[FEATURES], const double (*loglik)[CLASSES],
                                   const double (*dloglik)[CLASSES], double *gradient) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t y = 0; y < CLASSES; y++)
            sum += dloglik[i][y];
        for (size_t y = 0; y < CLASSES; y++)
            for (size_t k = 0; k < FEATURES; k++)
                gradient[y * FEATURES + k] += (dloglik[i][y] - exp(loglik[i][y]) * sum) * feature[i][k];
    }
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

typedef struct batch {
    size_t row[BATCH];
    int32_t label[BATCH], stratum[BATCH];
    double feature[BATCH][FEATURES], loglik[BATCH][CLASSES], frequency[BATCH][CLASSES], weight[BATCH];
    size_t in_stratum[STRATA];
    pv_targets targets;
} batch;

typedef struct plan {
    const char *name;
    size_t counts[STRATA]; /* all 0: rows drawn uniformly from the population with replacement */
} plan;

static const plan PLANS[] = {{"uniform", {0, 0, 0}}, {"balanced", {8, 8, 8}}, {"unequal", {13, 4, 7}}};
enum { N_PLANS = sizeof PLANS / sizeof *PLANS };

static void expected_shares(const world *w, const plan *p, double *expected) {
    for (size_t s = 0; s < STRATA; s++)
        expected[s] = p->counts[0] ? (double)p->counts[s] / BATCH : w->full[s] / ROWS;
}

static void draw(const world *w, const plan *p, pv_rng *rng, batch *b) {
    memset(b->in_stratum, 0, sizeof b->in_stratum);
    size_t stratum = 0, left = p->counts[0];
    for (size_t i = 0; i < BATCH; i++) {
        for (; p->counts[0] && left == 0; left = p->counts[stratum])
            stratum++;
        size_t n =
            p->counts[0] ? w->member[stratum][pv_rng_below(rng, (size_t)w->full[stratum])] : pv_rng_below(rng, ROWS);
        left -= p->counts[0] != 0;
        b->row[i] = n;
        b->label[i] = w->label[n];
        b->stratum[i] = w->stratum[n];
        b->weight[i] = w->weight[n];
        memcpy(b->feature[i], w->feature[n], sizeof b->feature[i]);
        memcpy(b->loglik[i], w->loglik[n], sizeof b->loglik[i]);
        memcpy(b->frequency[i], w->frequency[n], sizeof b->frequency[i]);
        b->in_stratum[b->stratum[i]]++;
    }
    b->targets = (pv_targets){.n = BATCH,
                              .classes = CLASSES,
                              .label = w->soft ? NULL : b->label,
                              .frequency = w->soft ? b->frequency[0] : NULL,
                              .weight = w->soft ? b->weight : NULL};
}

static bool every_stratum(const batch *b) {
    return b->in_stratum[0] && b->in_stratum[1] && b->in_stratum[2];
}

static pv_batch_design design_of(const world *w, const double *expected, pv_weighting beta, pv_weighting omega,
                                 bool direct) {
    return (pv_batch_design){.sampling = {STRATA, w->full, expected},
                             .mass = w->mass,
                             .population = {.classes = CLASSES, .prevalence = PREVALENCE, .prevalence_n = PREVALENCE_N},
                             .population_weight = beta,
                             .epoch_weight = omega,
                             .direct = direct};
}

static const int32_t *stratum_of(const world *w, const batch *b) {
    return w->soft ? b->stratum : NULL; /* hard labels: the strata by default */
}

/* ---- running mean and variance ----------------------------------------------------------------------------------- */

typedef struct moments {
    double mean, squares;
    size_t n;
} moments;

static void add(moments *m, double x) {
    double before = x - m->mean;
    m->n++;
    m->mean += before / (double)m->n;
    m->squares += before * (x - m->mean);
}

static double variance(const moments *m) {
    return m->squares / ((double)m->n - 1);
}

/* An estimate without variance must be exact; others are tested with a z-test. */
static void check_unbiased(const char *what, const plan *p, bool soft, bool counted, size_t at, const moments *m,
                           double truth) {
    double error = sqrt(variance(m) / (double)m->n), scale = 1 + fabs(truth);
    bool good = error < 1e-12 * scale ? fabs(m->mean - truth) < 1e-10 * scale : fabs(m->mean - truth) < LIMIT * error;
    if (!good)
        fail_msg("%s[%zu], %s, %s labels, %s weights: mean %.10g, expected %.10g, z = %.2f", what, at, p->name,
                 soft ? "soft" : "hard", counted ? "counted" : "expected", m->mean, truth, (m->mean - truth) / error);
}

static pv_ctx *context(void) {
    pv_ctx_options options = pv_ctx_options_default();
    options.threads = 1;
    pv_ctx *ctx = NULL;
    assert_int_equal(pv_ctx_new(&options, &ctx), PV_OK);
    return ctx;
}

static void must(pv_ctx *ctx, pv_status status) {
    if (status != PV_OK)
        fail_msg("%s: %s", pv_status_name(status), pv_ctx_error(ctx)->message);
}

/* ---- the marginal and its gradient ------------------------------------------------------------------------------- */

/* p-hat_B(y), and the gradient of sum_y c_y p-hat_B(y): the backward pass with q = 1. */
static void marginal_of_batch(pv_ctx *ctx, const world *w, const batch *b, const pv_batch_design *design,
                              const double *c, double *marginal, double *gradient) {
    double population[BATCH], log_marginal[CLASSES], zero[CLASSES] = {0}, dloglik[BATCH][CLASSES] = {{0}};
    must(ctx, pv_batch_weights(ctx, design, &b->targets, stratum_of(w, b), NULL, population));
    pv_batch_log_marginal(BATCH, CLASSES, population, b->loglik[0], log_marginal);
    pv_marginal_backward(PV_IMPLEMENTATION_2, BATCH, CLASSES, c, population, b->loglik[0], log_marginal, zero,
                         dloglik[0]);
    for (size_t y = 0; y < CLASSES; y++)
        marginal[y] = exp(log_marginal[y]);
    memset(gradient, 0, PARAMS * sizeof *gradient);
    add_parameter_gradient(BATCH, (const double(*)[FEATURES])b->feature, (const double(*)[CLASSES])b->loglik,
                           (const double(*)[CLASSES])dloglik, gradient);
}

/* The same for the whole population, by direct sums. */
static void true_marginal_gradient(const world *w, const double *c, double *gradient) {
    double dloglik[ROWS][CLASSES];
    for (size_t n = 0; n < ROWS; n++) {
        double share = 0;
        for (size_t y = 0; y < CLASSES; y++)
            share += row_weight(w, n) * target(w, n, y) * PREVALENCE[y] / w->mass[y];
        for (size_t y = 0; y < CLASSES; y++)
            dloglik[n][y] = share * c[y] * exp(w->loglik[n][y]);
    }
    memset(gradient, 0, PARAMS * sizeof *gradient);
    add_parameter_gradient(ROWS, w->feature, w->loglik, (const double(*)[CLASSES])dloglik, gradient);
}

static void check_marginal(pv_ctx *ctx, const world *w, const plan *p, pv_weighting beta) {
    static const double c[CLASSES] = {1.5, -2, 7};
    double expected[STRATA], marginal[CLASSES], gradient[PARAMS], truth[PARAMS];
    moments mean[CLASSES] = {{0}}, slope[PARAMS] = {{0}};
    expected_shares(w, p, expected);
    pv_batch_design design = design_of(w, expected, beta, PV_WEIGHT_EXPECTED, false);
    pv_rng rng = pv_rng_stream(21, (uint32_t)beta, (uint64_t)(p - PLANS));
    batch b;
    while (mean[0].n < BATCHES) {
        draw(w, p, &rng, &b);
        /* Counted weights are unbiased given any counts without zeros. */
        if (beta == PV_WEIGHT_COUNTED && !every_stratum(&b))
            continue;
        marginal_of_batch(ctx, w, &b, &design, c, marginal, gradient);
        for (size_t y = 0; y < CLASSES; y++)
            add(&mean[y], marginal[y]);
        for (size_t k = 0; k < PARAMS; k++)
            add(&slope[k], gradient[k]);
    }
    true_marginal_gradient(w, c, truth);
    bool counted = beta == PV_WEIGHT_COUNTED;
    for (size_t y = 0; y < CLASSES; y++)
        check_unbiased("marginal", p, w->soft, counted, y, &mean[y], exp(w->log_q[y]));
    for (size_t k = 0; k < PARAMS; k++)
        check_unbiased("gradient of the marginal", p, w->soft, counted, k, &slope[k], truth[k]);
}

static void test_marginal_is_unbiased(void **state) {
    (void)state;
    pv_ctx *ctx = context();
    for (int soft = 0; soft < 2; soft++) {
        world w;
        make_world(&w, soft);
        for (size_t p = 0; p < N_PLANS; p++) {
            check_marginal(ctx, &w, &PLANS[p], PV_WEIGHT_COUNTED);
            check_marginal(ctx, &w, &PLANS[p], PV_WEIGHT_EXPECTED);
        }
    }
    pv_ctx_free(ctx);
}

/* ---- the losses -------------------------------------------------------------------------------------------------- */

typedef struct variant {
    const char *name;
    pv_loss loss;
    pv_marginal marginal;
    pv_implementation implementation;
    bool direct;
} variant;

static const variant VARIANTS[] = {
    {"plain", PV_LOSS_PLAIN, PV_MARGINAL_PLUGIN, PV_IMPLEMENTATION_2, false},
    {"iw", PV_LOSS_IW, PV_MARGINAL_PLUGIN, PV_IMPLEMENTATION_2, false},
    {"ig", PV_LOSS_IG, PV_MARGINAL_AUXILIARY_CONSTANT, PV_IMPLEMENTATION_2, false},
    {"ig direct", PV_LOSS_IG, PV_MARGINAL_AUXILIARY_LINEAR, PV_IMPLEMENTATION_3, true},
    {"selection", PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_IMPLEMENTATION_2, false},
};
enum { N_VARIANTS = sizeof VARIANTS / sizeof *VARIANTS };

/* The full-data loss and gradient: pv_full_loss, or pv_selection_loss with the prevalence term. */
static void true_loss(pv_ctx *ctx, const world *w, const variant *v, double *value, double *gradient) {
    pv_targets targets = targets_of(w);
    pv_prevalence population = {.classes = CLASSES, .prevalence = PREVALENCE, .prevalence_n = PREVALENCE_N};
    double dloglik[ROWS][CLASSES];
    if (v->loss == PV_LOSS_IG && v->marginal == PV_MARGINAL_PROFILE) {
        double log_ratio[CLASSES], total = w->mass[0] + w->mass[1] + w->mass[2];
        for (size_t y = 0; y < CLASSES; y++)
            log_ratio[y] = log(w->mass[y] / total) - w->log_q[y];
        must(ctx, pv_selection_loss(ctx, &targets, log_ratio, w->loglik[0], value, dloglik[0], NULL));
        for (size_t y = 0; y < CLASSES; y++)
            *value -= PREVALENCE_N * PREVALENCE[y] * w->log_q[y];
    } else {
        pv_full_loss *full = NULL;
        must(ctx, pv_full_loss_new(ctx, v->loss, PV_MARGINAL_PLUGIN, &targets, &population, &full));
        must(ctx, pv_full_loss_eval(ctx, full, w->loglik[0], value, dloglik[0]));
        pv_full_loss_free(ctx, full);
    }
    memset(gradient, 0, PARAMS * sizeof *gradient);
    add_parameter_gradient(ROWS, w->feature, w->loglik, (const double(*)[CLASSES])dloglik, gradient);
}

static void loss_of_batch(pv_ctx *ctx, const world *w, const batch *b, const variant *v, const pv_batch_design *design,
                          double *value, double *gradient) {
    pv_batch_loss loss = {v->loss, v->marginal, v->implementation, *design};
    double dloglik[BATCH][CLASSES];
    loss.design.direct = v->direct;
    must(ctx, pv_batch_loss_eval(ctx, &loss, &b->targets, stratum_of(w, b), b->loglik[0], w->log_q, value, dloglik[0],
                                 NULL));
    memset(gradient, 0, PARAMS * sizeof *gradient);
    add_parameter_gradient(BATCH, (const double(*)[FEATURES])b->feature, (const double(*)[CLASSES])b->loglik,
                           (const double(*)[CLASSES])dloglik, gradient);
}

/* The direct form multiplies two estimates in its gradient, the counts c_y and p-hat_B(y). It is unbiased only if the
 * counts do not vary: labels are the strata, and weights or design fix their mass. Its value is always unbiased. */
static bool gradient_unbiased(const world *w, const plan *p, const variant *v, bool counted) {
    return !v->direct || (!w->soft && (counted || p->counts[0]));
}

static void check_losses(pv_ctx *ctx, const world *w, const plan *p, pv_weighting weighting) {
    double expected[STRATA], value, gradient[PARAMS], truth[PARAMS];
    static moments mean[N_VARIANTS], slope[N_VARIANTS][PARAMS];
    memset(mean, 0, sizeof mean);
    memset(slope, 0, sizeof slope);
    expected_shares(w, p, expected);
    pv_batch_design design = design_of(w, expected, weighting, weighting, false);
    pv_rng rng = pv_rng_stream(22, (uint32_t)weighting, (uint64_t)(p - PLANS));
    batch b;
    bool counted = weighting == PV_WEIGHT_COUNTED;
    while (mean[0].n < BATCHES) {
        draw(w, p, &rng, &b);
        if (counted && !every_stratum(&b))
            continue;
        for (size_t v = 0; v < N_VARIANTS; v++) {
            loss_of_batch(ctx, w, &b, &VARIANTS[v], &design, &value, gradient);
            add(&mean[v], value);
            for (size_t k = 0; k < PARAMS; k++)
                add(&slope[v][k], gradient[k]);
        }
    }
    for (size_t v = 0; v < N_VARIANTS; v++) {
        true_loss(ctx, w, &VARIANTS[v], &value, truth);
        check_unbiased(VARIANTS[v].name, p, w->soft, counted, 0, &mean[v], value);
        for (size_t k = 0; gradient_unbiased(w, p, &VARIANTS[v], counted) && k < PARAMS; k++)
            check_unbiased(VARIANTS[v].name, p, w->soft, counted, 1 + k, &slope[v][k], truth[k]);
    }
}

static void test_losses_are_unbiased(void **state) {
    (void)state;
    pv_ctx *ctx = context();
    for (int soft = 0; soft < 2; soft++) {
        world w;
        make_world(&w, soft);
        for (size_t p = 0; p < N_PLANS; p++) {
            check_losses(ctx, &w, &PLANS[p], PV_WEIGHT_COUNTED);
            check_losses(ctx, &w, &PLANS[p], PV_WEIGHT_EXPECTED);
        }
    }
    pv_ctx_free(ctx);
}

/* ---- the two forms of the loss ----------------------------------------------------------------------------------- */

/* Under uniform sampling with expected weights a batch is BATCH independent rows, each representing ROWS/BATCH, so the
 * variance of the loss is ROWS^2/BATCH times the variance over rows of a row's contribution: v_n sum_y t_ny of -f_n(y),
 * or of log q(y) - f_n(y) in the direct form. */
static double predicted_variance(const world *w, bool direct) {
    moments rows = {0};
    for (size_t n = 0; n < ROWS; n++) {
        double h = 0;
        for (size_t y = 0; y < CLASSES; y++)
            h += row_weight(w, n) * target(w, n, y) * ((direct ? w->log_q[y] : 0) - w->loglik[n][y]);
        add(&rows, h);
    }
    return (double)ROWS * ROWS / BATCH * rows.squares / ROWS;
}

static void measured_variances(pv_ctx *ctx, const world *w, double *lower, double *direct) {
    moments mean[2] = {{0}};
    double expected[STRATA], value, gradient[PARAMS];
    expected_shares(w, &PLANS[0], expected);
    pv_batch_design design = design_of(w, expected, PV_WEIGHT_EXPECTED, PV_WEIGHT_EXPECTED, false);
    pv_rng rng = pv_rng_stream(23, 0, w->soft);
    batch b;
    while (mean[0].n < BATCHES) {
        draw(w, &PLANS[0], &rng, &b);
        for (size_t v = 0; v < 2; v++) {
            loss_of_batch(ctx, w, &b, &VARIANTS[2 + v], &design, &value, gradient);
            add(&mean[v], value);
        }
    }
    *lower = variance(&mean[0]);
    *direct = variance(&mean[1]);
}

static void check_ratio(const char *what, double measured, double predicted) {
    if (!(fabs(measured / predicted - 1) < 0.05))
        fail_msg("%s: variance %.6g over batches, %.6g predicted", what, measured, predicted);
}

/* The paper states that the form with N_F(y) has the smaller variance for omega(1). That holds for a model that is sure
 * of its labels, where -log p(y|x) hardly varies but log p(y|w) does; for an uninformative model the two terms of the
 * direct form cancel, and it is the other way round. Therefore the variance itself is tested, at both ends of the
 * range. */
static void test_variance_of_both_forms(void **state) {
    (void)state;
    pv_ctx *ctx = context();
    double lower, direct;
    world w;
    for (int soft = 0; soft < 2; soft++) {
        make_world(&w, soft);
        measured_variances(ctx, &w, &lower, &direct);
        check_ratio("with N_F(y)", lower, predicted_variance(&w, false));
        check_ratio("direct", direct, predicted_variance(&w, true));
    }
    make_model_world(&w, false, 1, 9);
    measured_variances(ctx, &w, &lower, &direct);
    assert_true(lower < 0.01 * direct);
    make_model_world(&w, false, 0, 0);
    measured_variances(ctx, &w, &lower, &direct);
    assert_true(lower > 1 && direct < 1e-20 * lower);
    pv_ctx_free(ctx);
}

/* With omega(2) and labels as strata both forms are equal (Appendix A). */
static void test_forms_agree_when_counted(void **state) {
    (void)state;
    pv_ctx *ctx = context();
    world w;
    make_world(&w, false);
    double expected[STRATA], value[2], gradient[2][PARAMS];
    expected_shares(&w, &PLANS[0], expected);
    pv_batch_design design = design_of(&w, expected, PV_WEIGHT_COUNTED, PV_WEIGHT_COUNTED, false);
    pv_rng rng = pv_rng_stream(24, 0, 0);
    batch b;
    for (size_t tried = 0; tried < 200;) {
        draw(&w, &PLANS[0], &rng, &b);
        if (!every_stratum(&b))
            continue;
        tried++;
        for (size_t v = 0; v < 2; v++)
            loss_of_batch(ctx, &w, &b, &VARIANTS[2 + v], &design, &value[v], gradient[v]);
        assert_true(fabs(value[0] - value[1]) < 1e-11 * fabs(value[0]));
        for (size_t k = 0; k < PARAMS; k++)
            assert_true(fabs(gradient[0][k] - gradient[1][k]) < 1e-11 * (1 + fabs(gradient[0][k])));
    }
    pv_ctx_free(ctx);
}

/* ---- the three implementations ----------------------------------------------------------------------------------- */

static void test_implementations_agree(void **state) {
    (void)state;
    pv_ctx *ctx = context();
    for (int soft = 0; soft < 2; soft++) {
        world w;
        make_world(&w, soft);
        double expected[STRATA], value[4], dloglik[4][BATCH * CLASSES], log_q[CLASSES] = {-0.3, -1.7, -2.5};
        expected_shares(&w, &PLANS[1], expected);
        pv_rng rng = pv_rng_stream(25, 0, (uint64_t)soft);
        batch b;
        for (size_t tried = 0; tried < 50; tried++) {
            draw(&w, &PLANS[1], &rng, &b);
            double largest = 0;
            for (int i = 1; i <= 3; i++) {
                pv_batch_loss loss = {PV_LOSS_IG, PV_MARGINAL_AUXILIARY_CONSTANT, (pv_implementation)i,
                                      design_of(&w, expected, PV_WEIGHT_COUNTED, PV_WEIGHT_EXPECTED, tried % 2)};
                must(ctx, pv_batch_loss_eval(ctx, &loss, &b.targets, stratum_of(&w, &b), b.loglik[0], log_q, &value[i],
                                             dloglik[i], NULL));
            }
            assert_true(fabs(value[2] - value[3]) <= 1e-12 * fabs(value[2]));
            for (size_t k = 0; k < BATCH * CLASSES; k++)
                largest = fmax(largest, fabs(dloglik[1][k]));
            for (size_t k = 0; k < BATCH * CLASSES; k++) {
                assert_true(fabs(dloglik[2][k] - dloglik[1][k]) <= 1e-12 * largest);
                assert_true(fabs(dloglik[3][k] - dloglik[1][k]) <= 1e-12 * largest);
            }
        }
    }
    pv_ctx_free(ctx);
}

static void test_absent_stratum(void **state) {
    (void)state;
    pv_ctx *ctx = context();
    world w;
    make_world(&w, true);
    double expected[STRATA], epoch[BATCH], population[BATCH], value, dloglik[BATCH * CLASSES];
    expected_shares(&w, &PLANS[0], expected);
    static const plan none_of_the_last = {"two strata", {10, 14, 0}};
    pv_rng rng = pv_rng_stream(26, 0, 0);
    batch b;
    draw(&w, &none_of_the_last, &rng, &b);
    for (int beta = 0; beta < 2; beta++)
        for (int omega = 0; omega < 2; omega++) {
            pv_batch_loss loss = {PV_LOSS_IG, PV_MARGINAL_AUXILIARY_CONSTANT, PV_IMPLEMENTATION_2,
                                  design_of(&w, expected, beta ? PV_WEIGHT_COUNTED : PV_WEIGHT_EXPECTED,
                                            omega ? PV_WEIGHT_COUNTED : PV_WEIGHT_EXPECTED, false)};
            pv_status due = beta || omega ? PV_ERR_INPUT : PV_OK;
            assert_int_equal(pv_batch_weights(ctx, &loss.design, &b.targets, b.stratum, epoch, population), due);
            pv_status status =
                pv_batch_loss_eval(ctx, &loss, &b.targets, b.stratum, b.loglik[0], w.log_q, &value, dloglik, NULL);
            assert_int_equal(status, due);
            if (due != PV_OK)
                assert_true(pv_ctx_error(ctx)->status == due && strlen(pv_ctx_error(ctx)->message) > 10);
        }
    pv_ctx_free(ctx);
}

/* ---- the loss computed from its terms, as on a device ------------------------------------------------------------ */

typedef struct sent {
    double data[BATCH * CLASSES], ratio[BATCH * CLASSES], weight[BATCH], population[BATCH], counts[CLASSES];
} sent;

/* Adds the terms other than the data term, as described in src/compute/plugin.h. */
static double add_beside(const pv_batch_loss *loss, const sent *t, const batch *b, const double *log_q,
                         double *dloglik) {
    double value = 0, log_p[CLASSES];
    pv__form form = pv__loss_form(loss->loss, loss->marginal, true);
    for (size_t n = 0; form == PV_FORM_SELECTION && n < BATCH; n++) {
        double sum = 0;
        for (size_t y = 0; y < CLASSES; y++) {
            sum += exp(b->loglik[n][y] + t->ratio[n * CLASSES + y]);
            value -= t->data[n * CLASSES + y] * t->ratio[n * CLASSES + y];
        }
        for (size_t y = 0; y < CLASSES; y++)
            dloglik[n * CLASSES + y] += t->weight[n] * exp(b->loglik[n][y] + t->ratio[n * CLASSES + y]) / sum;
        value += t->weight[n] * log(sum);
    }
    if (form != PV_FORM_JOINT)
        return value;
    pv_batch_log_marginal(BATCH, CLASSES, t->population, b->loglik[0], log_p);
    for (size_t y = 0; y < CLASSES; y++) {
        bool first = loss->implementation == PV_IMPLEMENTATION_1;
        value += t->counts[y] * (first ? exp(log_p[y] - log_q[y]) * log_p[y] : log_q[y]);
        for (size_t n = 0; n < BATCH; n++)
            dloglik[n * CLASSES + y] += t->counts[y] * t->population[n] * exp(b->loglik[n][y] - log_q[y]);
    }
    return value;
}

static void check_terms(pv_ctx *ctx, const world *w, const batch *b, const variant *v, const pv_batch_design *design) {
    pv_batch_loss loss = {v->loss, v->marginal, v->implementation, *design};
    double value, dloglik[BATCH * CLASSES], own = 0, slope[BATCH * CLASSES];
    sent t;
    pv__batch_terms terms = {t.data, t.weight, t.ratio, t.population, t.counts, 0};
    loss.design.direct = v->direct;
    must(ctx,
         pv_batch_loss_eval(ctx, &loss, &b->targets, stratum_of(w, b), b->loglik[0], w->log_q, &value, dloglik, NULL));
    must(ctx, pv__batch_terms_fill(ctx, &loss, &b->targets, stratum_of(w, b), w->log_q, &terms));
    for (size_t i = 0; i < BATCH * CLASSES; i++) {
        slope[i] = -t.data[i];
        own -= t.data[i] * b->loglik[i / CLASSES][i % CLASSES];
    }
    own += add_beside(&loss, &t, b, w->log_q, slope) + terms.constant;
    assert_true(fabs(own - value) <= 1e-12 * fabs(value));
    for (size_t i = 0; i < BATCH * CLASSES; i++)
        assert_true(fabs(slope[i] - dloglik[i]) <= 1e-12 * (1 + fabs(dloglik[i])));
}

static void test_terms_make_the_loss(void **state) {
    (void)state;
    pv_ctx *ctx = context();
    for (int soft = 0; soft < 2; soft++) {
        world w;
        make_world(&w, soft);
        for (size_t p = 0; p < N_PLANS; p++) {
            double expected[STRATA];
            expected_shares(&w, &PLANS[p], expected);
            pv_batch_design design = design_of(&w, expected, PV_WEIGHT_EXPECTED, PV_WEIGHT_EXPECTED, false);
            pv_rng rng = pv_rng_stream(27, (uint32_t)p, (uint64_t)soft);
            batch b;
            draw(&w, &PLANS[p], &rng, &b);
            for (size_t v = 0; v < N_VARIANTS; v++)
                for (int i = PV_IMPLEMENTATION_1; i <= PV_IMPLEMENTATION_3; i++) {
                    variant chosen = VARIANTS[v];
                    chosen.implementation = (pv_implementation)i;
                    check_terms(ctx, &w, &b, &chosen, &design);
                }
        }
    }
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marginal_is_unbiased),   cmocka_unit_test(test_losses_are_unbiased),
        cmocka_unit_test(test_variance_of_both_forms), cmocka_unit_test(test_forms_agree_when_counted),
        cmocka_unit_test(test_implementations_agree),  cmocka_unit_test(test_absent_stratum),
        cmocka_unit_test(test_terms_make_the_loss),
    };
    return cmocka_run_group_tests_name("batch estimators", tests, NULL, NULL);
}
