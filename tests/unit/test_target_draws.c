/* Populations of unknown prevalence when w, or the prevalence itself, has draws: each draw alone compared with all.
 */
#include "predict/target.h"

#include "predicting.h"
#include "problem.h"
#include "target.h"

/* ---- draws of w -------------------------------------------------------------------------------------------------- */

typedef struct fitted {
    problem of;
    pv_dataset *target;
    pv_classifier *classifier;
} fitted;

static fitted fit_nodules(int classes) {
    pv_simulation study = {.cases = 100, .controls = 100, .prevalence = 0.05, .seed = 2};
    pv_simulation clinic = {.rows = 150, .cases = -1, .controls = -1, .prevalence = 0.3, .seed = 3};
    pv_roles roles = {.target = "malignant", .exclude = classes > 2 ? "upper_lobe" : NULL}, none = {0};
    pv_table *table, *other;
    ok(pv_simulate(ctx, "nodules", &study, &table, NULL));
    fitted f = {.of = learn(ctx, table, &roles)};
    ok(pv_simulate(ctx, "nodules", &clinic, &other, NULL));
    ok(pv_schema_apply(ctx, f.of.schema, other, &none, &f.target));
    pv_table_free(ctx, other);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    options.match = PV_MATCH_NONE; /* the test checks one draw at a time */
    options.infer = PV_INFER_LAPLACE;
    options.draws = 200;
    pv_schema schema = *f.of.schema;
    schema.labels = labels;
    schema.classes = classes;
    if (classes > 2) { /* adds a random third label, so that sampling is needed */
        options.prevalence = "0.5,0.3,0.2";
        for (size_t i = 0; i < f.of.data->rows; i += 5)
            f.of.data->label[i] = 2;
        f.of.data->classes = 3;
    }
    ok(pv_fit(ctx, &schema, f.of.data, &options, &f.classifier));
    drop_reference(ctx, f.classifier);
    return f;
}

static void fitted_free(fitted *f) {
    pv_classifier_free(ctx, f->classifier);
    pv_dataset_free(ctx, f->target);
    problem_free(ctx, &f->of);
}

/* The posterior of each draw alone: their mean is the prevalence, exactly for two classes; the rows' probabilities
 * agree within the error of one draw of pi each. */
static void test_draws(void **state) {
    (void)state;
    for (int classes = 2; classes <= 3; classes++) {
        fitted f = fit_nodules(classes);
        const pv_classifier *c = f.classifier;
        size_t n = f.target->rows, k = (size_t)classes, draws = c->posterior->count;
        pv_unknown_options options = pv_unknown_options_default();
        options.draws = 400;
        const pv_predict_options wanted = {.level = 0.9};
        pv_prediction *said, *other;
        pv_unknown_prevalence *single;
        double *mean = calloc(3 * n * k, sizeof *mean), *loglik = mean + n * k, *own = loglik + n * k, value[3] = {0},
               squares[3] = {0}, movement = 0;
        assert_non_null(mean);
        ok(predict_in(ctx, c, f.target, "unknown", &options, &wanted, &said));
        const pv_unknown_prevalence *joint = said->inferred;
        const double *p = said->p, *lo = said->lo, *hi = said->hi;
        pv_classifier at = *c;
        for (size_t s = 0; s < draws; s++) {
            at.w = c->posterior->draws + s * c->posterior->dims;
            ok(pv_predict_loglik(ctx, &at, f.target, loglik));
            pv_unknown_sample sample = {
                .n = n, .classes = classes, .loglik = loglik, .log_marginal = c->draw_log_marginal + s * k};
            options.seed = (int64_t)s + 2; /* so that errors of their draws cancel */
            ok(pv_unknown_infer(ctx, &sample, labels, &options, &single));
            ok(pv_unknown_predict(ctx, &sample, single, own, NULL, NULL, NULL));
            for (size_t y = 0; y < k; y++)
                squares[y] += (single->value[y] * single->value[y] + single->sd[y] * single->sd[y]) / (double)draws;
            movement += single->movement / (double)draws;
            for (size_t y = 0; y < k; y++)
                value[y] += single->value[y] / (double)draws;
            for (size_t i = 0; i < n * k; i++)
                mean[i] += own[i] / (double)draws;
            pv_unknown_prevalence_free(ctx, single);
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
        CHECK_OK(wide, predict_in(wide, c, f.target, "unknown", &options, NULL, &other));
        assert_memory_equal(other->p, p, n * k * sizeof *p);
        pv_prediction_free(wide, other);
        pv_ctx_free(wide);
        for (int method = PV_UNKNOWN_VB; method <= PV_UNKNOWN_EM; method++) {
            options.method = method;
            ok(predict_in(ctx, c, f.target, "unknown", &options, &wanted, &other));
            near(other->inferred->value[1], joint->value[1], 0.1);
            assert_true(isnan(other->inferred->movement) == (method == PV_UNKNOWN_EM));
            near(exp(other->log_p[1]), other->p[1], 1e-14);
            assert_true(other->lo[1] <= other->hi[1]);
            pv_prediction_free(ctx, other);
        }
        pv_prediction_free(ctx, said);
        free(mean);
        fitted_free(&f);
    }
}

/* Rows whose probabilities underflow in every draw still have a logarithm. */
static void test_log_of_draws(void **state) {
    (void)state;
    fitted f = fit_nodules(2);
    size_t n = f.target->rows, d = (size_t)pv_model_inputs(f.classifier->model);
    for (size_t i = 0; i < d; i++)
        f.target->x[i] *= 1e4;
    f.classifier->posterior->count = 2;
    memcpy(f.classifier->posterior->draws + f.classifier->posterior->dims, f.classifier->posterior->draws,
           f.classifier->posterior->dims * sizeof(double));
    memcpy(f.classifier->draw_log_marginal + 2, f.classifier->draw_log_marginal, 2 * sizeof(double));
    pv_unknown_options options = pv_unknown_options_default();
    options.method = PV_UNKNOWN_EM; /* one pi for both draws */
    pv_prediction *said;
    ok(predict_in(ctx, f.classifier, f.target, "unknown", &options, NULL, &said));
    double *loglik = calloc(2 * n, sizeof *loglik);
    assert_non_null(loglik);
    pv_classifier at = *f.classifier;
    at.w = f.classifier->posterior->draws;
    ok(pv_predict_loglik(ctx, &at, f.target, loglik));
    pv_adapt(n, 2, loglik, f.classifier->draw_log_marginal, said->prevalence, loglik);
    int least = loglik[0] < loglik[1] ? 0 : 1;
    assert_true(loglik[least] < -1000);
    for (size_t i = 0; i < 2 * n; i++)
        near(said->log_p[i], loglik[i], 1e-9 * (1 + fabs(loglik[i])));
    pv_prediction_free(ctx, said);
    free(loglik);
    fitted_free(&f);
}

/* ---- draws of more than two classes ------------------------------------------------------------------------------ */

/* 20 rows of one label, 40 of another, none of the other 14: proposals around the mode are hardly ever accepted. */
static void sure_rows(double *loglik, double *log_marginal) {
    for (size_t y = 0; y < 16; y++)
        log_marginal[y] = -log(16);
    for (size_t i = 0; i < 60 * 16; i++)
        loglik[i] = i % 16 == (i / 16 % 3 == 0) ? 0 : -INFINITY;
}

/* Each draw alone is a valid draw, and its points have the Dirichlet's moments. */
static void test_chain_that_sticks(void **state) {
    (void)state;
    enum { DRAWS = 12 };
    double loglik[60 * 16], log_marginal[16], alpha[16], pi[16], mean[16], sd[16], rare = 0, rare_mean = 0, common = 0,
                                                                                   rescued = 0;
    sure_rows(loglik, log_marginal);
    for (size_t y = 0; y < 16; y++)
        alpha[y] = 1;
    pv_unknown_sample sample = {.n = 60, .classes = 16, .loglik = loglik, .log_marginal = log_marginal};
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

/* Draws that were not computed are not used. */
static void test_interrupted_draws(void **state) {
    (void)state;
    double loglik[60 * 16], log_marginal[16];
    sure_rows(loglik, log_marginal);
    pv_unknown_sample sample = {.n = 60, .classes = 16, .loglik = loglik, .log_marginal = log_marginal};
    pv_ctx_options options = pv_ctx_options_default();
    options.progress = stop_late;
    assert_int_equal(pv_ctx_new(&options, &to_stop), PV_OK);
    pv_unknown_options target = pv_unknown_options_default();
    pv_unknown_prevalence *found;
    assert_int_equal(pv_unknown_infer(to_stop, &sample, labels, &target, &found), PV_ERR_INTERRUPTED);
    assert_null(found);
    pv_ctx_free(to_stop);
    /* Without interruption the passes over the rows are far more than the draws. */
    ok(pv_unknown_infer(ctx, &sample, labels, &target, &found));
    assert_true(found->iterations > 10 * target.draws);
    pv_unknown_prevalence_free(ctx, found);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Labels, weights and log-likelihoods for which sums would be invalid: through either function, and in one draw of
 * many. */
static void test_refused_masses(void **state) {
    (void)state;
    double loglik[2 * 10], weight[10];
    int32_t label[10];
    draw_pair(3, 10, 0.4, 1, loglik, NULL);
    for (size_t i = 0; i < 10; i++) {
        weight[i] = 1;
        label[i] = -1;
    }
    pv_unknown_sample sample = {
        .n = 10, .classes = 2, .loglik = loglik, .log_marginal = half, .label = label, .weight = weight};
    pv_unknown_options options = pv_unknown_options_default();
    pv_unknown_prevalence *found;
    fitted f = fit_nodules(2);
    double *p = calloc(2 * f.target->rows, sizeof *p), *kept = f.target->weight;
    int32_t *known = calloc(f.target->rows, sizeof *known);
    const pv_predict_options with_labels = {.label = known};
    pv_prediction *said;
    f.target->weight = calloc(f.target->rows, sizeof *p);
    assert_true(p && known && f.target->weight);
    const double bad[] = {-1, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < 3; i++) {
        weight[4] = f.target->weight[4] = bad[i];
        assert_int_equal(pv_unknown_infer(ctx, &sample, labels, &options, &found), PV_ERR_INPUT);
        says("row 5: a weight of");
        assert_int_equal(pv_confusion(ctx, &sample, labels, p), PV_ERR_INPUT);
        assert_int_equal(predict_in(ctx, f.classifier, f.target, "unknown", &options, NULL, &said), PV_ERR_INPUT);
        says("row 5: a weight of");
    }
    memset(weight, 0, sizeof weight);
    f.target->weight[4] = 0;
    assert_int_equal(pv_unknown_infer(ctx, &sample, labels, &options, &found), PV_ERR_INPUT);
    says("add up to 0");
    assert_int_equal(predict_in(ctx, f.classifier, f.target, "unknown", &options, NULL, &said), PV_ERR_INPUT);
    says("add up to 0");
    free(f.target->weight);
    f.target->weight = kept;
    sample.weight = NULL;
    const int32_t wrong[] = {2, -2, 1000000};
    for (size_t i = 0; i < 3; i++) {
        label[3] = known[3] = wrong[i];
        assert_int_equal(pv_unknown_infer(ctx, &sample, labels, &options, &found), PV_ERR_INPUT);
        says("is not a label");
        assert_int_equal(predict_in(ctx, f.classifier, f.target, "unknown", &options, &with_labels, &said),
                         PV_ERR_INPUT);
        says("row 4:");
    }
    size_t dims = f.classifier->posterior->dims;
    f.classifier->posterior->draws[5 * dims] = (double)NAN; /* rows of the sixth draw */
    assert_int_equal(predict_in(ctx, f.classifier, f.target, "unknown", &options, NULL, &said), PV_ERR_NUMERIC);
    says("row 1: the model's probabilities overflow");
    free(known);
    free(p);
    fitted_free(&f);
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

/* With draws of w, whose workers allocate: one thread, because the limited allocator is not thread-safe. */
static void test_memory(void **state) {
    (void)state;
    fitted f = fit_nodules(2);
    f.classifier->posterior->count = 3;
    pv_ctx_options options = pv_ctx_options_default();
    options.allocator = (pv_allocator){limited_alloc, limited_resize, limited_release, NULL};
    options.threads = 1;
    pv_status status = PV_ERR_MEMORY;
    for (size_t limit = 1; status != PV_OK; limit++) {
        pv_ctx *poor;
        pv_prediction *said;
        pv_unknown_options target = pv_unknown_options_default();
        allowed = limit;
        held = 0;
        assert_int_equal(pv_ctx_new(&options, &poor), PV_OK);
        status = predict_in(poor, f.classifier, f.target, "unknown", &target, NULL, &said);
        assert_true(status == PV_OK || status == PV_ERR_MEMORY);
        pv_prediction_free(poor, said);
        pv_ctx_free(poor);
        assert_int_equal(held, 0);
        assert_true(limit < 1000);
    }
    fitted_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws),
        cmocka_unit_test(test_log_of_draws),
        cmocka_unit_test(test_chain_that_sticks),
        cmocka_unit_test(test_interrupted_draws),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_refused_masses),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
