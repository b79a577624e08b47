/* The conditional likelihood of matched sets, compared with sums over all subsets and central differences. */
#include "unit/check.h"

enum { ROWS = 120 };

typedef struct sample {
    size_t n;
    int32_t label[ROWS], set[ROWS];
    double loglik[2 * ROWS], dloglik[2 * ROWS];
} sample;

/* Sets with these numbers of rows and cases, with their rows shuffled; spread: that of the log odds. */
static sample make(size_t sets, const size_t *rows, const size_t *cases, double spread) {
    sample s = {0};
    pv_rng rng = pv_rng_stream(3, 1, 0);
    for (size_t k = 0; k < sets; k++)
        for (size_t i = 0; i < rows[k]; i++, s.n++) {
            double eta = spread * pv_rng_normal(&rng);
            s.set[s.n] = (int32_t)k;
            s.label[s.n] = i < cases[k];
            s.loglik[2 * s.n + 1] = -log1p(exp(-eta));
            s.loglik[2 * s.n] = -log1p(exp(eta));
        }
    for (size_t i = s.n - 1; i > 0; i--) { /* Fisher and Yates */
        size_t j = (size_t)(pv_rng_uniform(&rng) * (double)(i + 1));
        int32_t set = s.set[i], label = s.label[i];
        double a = s.loglik[2 * i], b = s.loglik[2 * i + 1];
        s.set[i] = s.set[j], s.label[i] = s.label[j];
        s.loglik[2 * i] = s.loglik[2 * j], s.loglik[2 * i + 1] = s.loglik[2 * j + 1];
        s.set[j] = set, s.label[j] = label, s.loglik[2 * j] = a, s.loglik[2 * j + 1] = b;
    }
    return s;
}

static pv_targets targets_of(const sample *s) {
    return (pv_targets){.n = s->n, .classes = 2, .label = s->label, .set = s->set};
}

static double loss_of(pv_ctx *ctx, sample *s, const double *loglik, bool gradient) {
    pv_targets targets = targets_of(s);
    pv_full_loss *loss;
    double value;
    CHECK_OK(ctx, pv_full_loss_new(ctx, PV_LOSS_MATCHED, PV_MARGINAL_PROFILE, &targets, NULL, &loss));
    CHECK_OK(ctx, pv_full_loss_eval(ctx, loss, loglik, &value, gradient ? s->dloglik : NULL));
    assert_null(pv_full_loss_log_marginal(loss));
    pv_full_loss_free(ctx, loss);
    return value;
}

/* The same by enumerating subsets, in long double. */
static double brute(const sample *s, const double *loglik, size_t sets) {
    long double value = 0;
    for (size_t k = 0; k < sets; k++) {
        long double eta[ROWS], sum = 0, own = 0;
        size_t m = 0, cases = 0;
        for (size_t i = 0; i < s->n; i++)
            if (s->set[i] == (int32_t)k) {
                eta[m] = (long double)loglik[2 * i + 1] - loglik[2 * i];
                own += s->label[i] ? eta[m] : 0;
                cases += s->label[i] == 1;
                m++;
            }
        for (unsigned mask = 0; mask < 1u << m; mask++) {
            if ((size_t)__builtin_popcount(mask) != cases)
                continue;
            long double exponent = 0;
            for (size_t i = 0; i < m; i++)
                exponent += mask >> i & 1 ? eta[i] : 0;
            sum += expl(exponent - own);
        }
        value += logl(sum);
    }
    return (double)value;
}

static const size_t ROWS_OF[] = {2, 5, 8, 12, 3, 14, 1, 6}, CASES_OF[] = {1, 1, 3, 9, 2, 7, 1, 0};

static void agrees_with_all_subsets(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(2);
    static const double spreads[] = {0.1, 1, 5, 30};
    for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
        sample s = make(8, ROWS_OF, CASES_OF, spreads[i]);
        CHECK_NEAR(loss_of(ctx, &s, s.loglik, false), brute(&s, s.loglik, 8), 1e-12 * (1 + brute(&s, s.loglik, 8)));
    }
    pv_ctx_free(ctx);
}

static void has_its_gradient(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    sample s = make(8, ROWS_OF, CASES_OF, 2);
    loss_of(ctx, &s, s.loglik, true);
    double gradient[2 * ROWS], per_set[8] = {0};
    memcpy(gradient, s.dloglik, sizeof gradient);
    for (size_t i = 0; i < 2 * s.n; i++) {
        double up[2 * ROWS], down[2 * ROWS], h = 1e-5;
        memcpy(up, s.loglik, sizeof up);
        memcpy(down, s.loglik, sizeof down);
        up[i] += h;
        down[i] -= h;
        double slope = (brute(&s, up, 8) - brute(&s, down, 8)) / (2 * h);
        CHECK_NEAR(gradient[i], slope, 1e-8);
        per_set[s.set[i / 2]] += i % 2 ? gradient[i] : 0;
    }
    for (size_t k = 0; k < 8; k++) /* conditioning removes a set's intercept */
        assert_true(fabs(per_set[k]) < 1e-12);
    pv_ctx_free(ctx);
}

/* A hundred rows with fifty cases have 1e29 subsets; log odds of a thousand would overflow any product. */
static void stands_large_sets_and_odds(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    sample s = make(1, (const size_t[]){100}, (const size_t[]){50}, 0);
    double log_choose = lgamma(101) - 2 * lgamma(51);
    CHECK_NEAR(loss_of(ctx, &s, s.loglik, true), log_choose, 1e-12 * log_choose);
    for (size_t i = 0; i < s.n; i++)
        CHECK_NEAR(s.dloglik[2 * i + 1], 0.5 - s.label[i], 1e-12);
    sample far = make(1, (const size_t[]){6}, (const size_t[]){3}, 0);
    for (size_t i = 0; i < far.n; i++) {
        far.loglik[2 * i + 1] = far.label[i] ? 0 : -1000;
        far.loglik[2 * i] = far.label[i] ? -1000 : 0;
    }
    assert_true(loss_of(ctx, &far, far.loglik, true) < 1e-12);
    for (size_t i = 0; i < 2 * far.n; i++)
        assert_true(fabs(far.dloglik[i]) < 1e-12);
    pv_ctx_free(ctx);
}

static void refuses_what_it_cannot(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    sample s = make(2, (const size_t[]){2, 3}, (const size_t[]){1, 1}, 1);
    pv_full_loss *loss;
    pv_targets none = targets_of(&s), negative = targets_of(&s), weighted = targets_of(&s);
    none.set = NULL;
    assert_int_equal(pv_full_loss_new(ctx, PV_LOSS_MATCHED, PV_MARGINAL_PROFILE, &none, NULL, &loss), PV_ERR_USAGE);
    static const double weight[] = {1, 1, 1, 1, 1};
    weighted.weight = weight;
    assert_int_equal(pv_full_loss_new(ctx, PV_LOSS_MATCHED, PV_MARGINAL_PROFILE, &weighted, NULL, &loss), PV_ERR_USAGE);
    s.set[1] = -1;
    assert_int_equal(pv_full_loss_new(ctx, PV_LOSS_MATCHED, PV_MARGINAL_PROFILE, &negative, NULL, &loss), PV_ERR_INPUT);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_all_subsets), cmocka_unit_test(has_its_gradient),
                                       cmocka_unit_test(stands_large_sets_and_odds),
                                       cmocka_unit_test(refuses_what_it_cannot)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
