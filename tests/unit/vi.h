/* tests/unit/vi.h: posteriors with known results, and summaries of draws. */
#ifndef PV_TEST_VI_H
#define PV_TEST_VI_H

#include "fixture.h"
#include "posterior/vi.h"

static const double log_2pi = 1.83787706640934548356;

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

static inline pv_status table_open(pv_ctx *c, table *t) {
    static const int32_t label[4] = {0, 1, 0, 1};
    static const double count[4] = {47, 44, 3, 6}, prevalence[2] = {0.99, 0.01};
    pv_targets targets = {.n = 4, .classes = 2, .label = label, .weight = count};
    pv_prevalence population = {.classes = 2, .prevalence = prevalence, .prevalence_n = t->of->prevalence_n};
    return pv_full_loss_new(c, t->of->loss, t->of->marginal, &targets, &population, &t->full);
}

static inline pv_status table_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
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

static inline pv_status table_clone(pv_ctx *c, void *state, void **copy) {
    table *made;
    PV_TRY(pv__alloc(c, 1, sizeof *made, &made));
    made->of = ((table *)state)->of;
    pv_status status = table_open(c, made);
    if (status != PV_OK)
        pv__free(c, made);
    *copy = status == PV_OK ? made : NULL;
    return status;
}

static inline void table_release(pv_ctx *c, void *copy) {
    pv_full_loss_free(c, ((table *)copy)->full);
    pv__free(c, copy);
}

/* N(1, S) in three dimensions, with precision P below, times 1/20, which is the evidence. */
static const double precision[3][3] = {{4, 1.5, 0}, {1.5, 1, 0.2}, {0, 0.2, 0.25}};

static inline pv_status gaussian_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
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

/* A normal truncated at 0, with NaN beyond 3. */
static inline pv_status half_eval(pv_ctx *c, void *state, const double *w, double *value, double *gradient) {
    (void)c, (void)state;
    *value = w[0] < 0 ? INFINITY : w[0] > 3 ? NAN : 0.5 * (w[0] - 1) * (w[0] - 1);
    gradient[0] = w[0] - 1;
    return PV_OK;
}

static inline pv_posterior *infer(const pv_density *density, const double *w, const pv_vi_options *options) {
    pv_posterior *posterior;
    ok(pv_vi(ctx, density, w, options, &posterior));
    assert_non_null(posterior);
    assert_int_equal(posterior->kind, PV_POSTERIOR_VI);
    assert_int_equal(posterior->dims, density->dims);
    return posterior;
}

/* Mean and sd of sum_j a[j] w[j] under the draws; weight NULL: equal. */
static inline void summary(const pv_posterior *posterior, const double *a, const double *weight, double *mean,
                           double *sd) {
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

#endif
