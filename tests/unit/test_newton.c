/* Newton's method compared with L-BFGS on the same objective; the information of rows with derivatives by
 * differences. */
#include "unit/check.h"

#include "infer/infer.h"

enum { N = 700, D = 4, K_MOST = 4, P_MOST = (K_MOST - 1) * (D + 1) };

typedef struct fixture {
    pv_ctx *ctx;
    double x[N * D], weight[N], soft[N * K_MOST], mass[K_MOST], share[K_MOST], factor[K_MOST], prevalence[K_MOST];
    double centre[P_MOST], log_ratio[2 * K_MOST];
    int32_t label[N], stratum[N];
    bool is_bias[P_MOST];
    size_t k;
    pv_model *model;
    pv_stratified stated;
    pv__design design;
    pv__plan plan;
    pv__problem problem;
} fixture;

typedef struct kind {
    const char *model, *prior;
    int classes, loss;
    bool offset, weighted, soft, strata, tails;
} kind;

static void draw_rows(fixture *f, const kind *as) {
    for (size_t i = 0; i < N; i++) {
        pv_rng rng = pv_rng_stream(5, 1, i);
        double z = 0.4 * pv_rng_normal(&rng), total = 0;
        for (size_t j = 0; j < D; j++) {
            double own = pv_rng_normal(&rng);
            f->x[i * D + j] = as->tails && j == 1 ? exp(2.5 * own) : own;
            z += (j % 2 ? -0.5 : 0.6) * own;
        }
        f->label[i] = (int32_t)fmin(fmax(floor((z + 1.5) * (double)f->k / 3), 0), (double)f->k - 1);
        f->weight[i] = i % 7 == 3 ? 0 : 0.5 + pv_rng_uniform(&rng);
        f->stratum[i] = (int32_t)(i % 2);
        for (size_t y = 0; y < f->k; y++)
            total += f->soft[i * f->k + y] = (f->label[i] == (int32_t)y) + 0.1 * pv_rng_uniform(&rng);
        for (size_t y = 0; y < f->k; y++)
            f->soft[i * f->k + y] /= total;
    }
}

static void set_up(fixture *f, const kind *as) {
    memset(f, 0, sizeof *f);
    f->ctx = check_ctx(2);
    f->k = (size_t)as->classes;
    CHECK_OK(f->ctx, pv__model_new(f->ctx, as->model, D, as->offset, as->classes, &f->model));
    draw_rows(f, as);
    for (size_t y = 0; y < 2 * f->k; y++)
        f->log_ratio[y] = 0.3 * (double)y - 0.2 * (double)(y % 3);
    f->design = (pv__design){
        .strata = as->strata ? 2 : 1, .classes = as->classes, .stated = &f->stated, .log_ratio = f->log_ratio};
    f->plan.options = pv_fit_options_default();
    f->plan.options.loss = as->loss;
    f->plan.map = strcmp(as->prior, "none") != 0;
    f->problem =
        (pv__problem){.plan = &f->plan,
                      .design = &f->design,
                      .model = f->model,
                      .rows = {.n = N, .width = D, .matrix = f->x},
                      .targets = {.n = N,
                                  .classes = as->classes,
                                  .label = as->soft ? NULL : f->label,
                                  .frequency = as->soft ? f->soft : NULL,
                                  .weight = as->weighted ? f->weight : NULL,
                                  .stratum = as->strata ? f->stratum : NULL},
                      .mass = f->mass,
                      .label_share = f->share,
                      .factor = f->factor,
                      .population = {.classes = as->classes, .prevalence = f->prevalence, .prevalence_n = HUGE_VAL},
                      .centre = f->centre,
                      .is_bias = f->is_bias};
    pv_label_mass(&f->problem.targets, f->mass);
    double total = 0;
    for (size_t y = 0; y < f->k; y++)
        total += f->mass[y];
    for (size_t y = 0; y < f->k; y++) {
        f->share[y] = f->mass[y] / total;
        f->prevalence[y] = y == 0 ? 1 - 0.02 * (double)(f->k - 1) : 0.02;
    }
    for (size_t i = 0; i < pv_model_params(f->model); i++)
        f->is_bias[i] = pv_model_is_bias(f->model, i);
    pv__class_factors((pv_loss)as->loss, as->classes, f->prevalence, 1, f->share, f->factor);
    CHECK_OK(f->ctx, pv_prior_parse(f->ctx, "`prior`", as->prior, &f->plan.prior));
}

static void tear_down(fixture *f) {
    pv_model_free(f->ctx, f->model);
    pv_ctx_free(f->ctx);
}

static const kind kinds[] = {
    {.model = "linear", .classes = 2, .loss = PV_LOSS_PLAIN, .prior = "normal:2.5"},
    {.model = "linear", .classes = 2, .loss = PV_LOSS_IG, .prior = "none", .weighted = true},
    {.model = "linear", .classes = 2, .loss = PV_LOSS_IW, .prior = "student:3", .weighted = true, .offset = true},
    {.model = "linear", .classes = 2, .loss = PV_LOSS_IG, .prior = "normal:1", .strata = true},
    {.model = "linear", .classes = 2, .loss = PV_LOSS_IW, .prior = "normal:1", .soft = true},
    {.model = "linear", .classes = 2, .loss = PV_LOSS_PLAIN, .prior = "none", .tails = true},
    {.model = "linear", .classes = 4, .loss = PV_LOSS_PLAIN, .prior = "normal:2.5", .weighted = true},
    {.model = "linear", .classes = 3, .loss = PV_LOSS_IG, .prior = "normal:2.5", .strata = true},
    {.model = "linear", .classes = 3, .loss = PV_LOSS_IW, .prior = "normal:2.5", .soft = true, .weighted = true},
    {.model = "ordinal", .classes = 4, .loss = PV_LOSS_PLAIN, .prior = "normal:2.5", .weighted = true},
    {.model = "ordinal", .classes = 4, .loss = PV_LOSS_IG, .prior = "normal:2.5", .offset = true},
    {.model = "ordinal", .classes = 3, .loss = PV_LOSS_IW, .prior = "none", .tails = true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Both methods reach the same optimum. */
static void test_agree(void **state) {
    (void)state;
    fixture *f = calloc(1, sizeof *f);
    for (size_t i = 0; i < KINDS; i++) {
        set_up(f, &kinds[i]);
        pv__form form = kinds[i].loss == PV_LOSS_IG ? PV_FORM_SELECTION : PV_FORM_ROWS;
        size_t P = pv_model_params(f->model);
        double newton[P_MOST] = {0}, other[P_MOST] = {0}, log_p[K_MOST], value;
        pv__solution solution = {.w = newton};
        pv__objective *objective;
        pv_stop stop;
        int64_t iterations = 0;
        for (size_t y = 0; y < f->k; y++) /* the starting point of a fit */
            log_p[y] = log(form == PV_FORM_SELECTION ? f->prevalence[y] : f->share[y]);
        pv_model_shift(f->model, log_p, newton);
        memcpy(other, newton, sizeof other);
        CHECK_OK(f->ctx, pv__objective_new(f->ctx, &f->problem, form, &objective));
        assert_true(pv__newton_pays(&f->problem, objective));
        CHECK_OK(f->ctx,
                 pv__newton(f->ctx, 1, &(pv__newton_goal){&f->problem, objective, 1e-11, NULL, &solution, true}));
        if (solution.stop != PV_STOP_CONVERGED)
            fprintf(stderr, "kind %zu it %d value %.15g w %g %g\n", i, (int)solution.iterations, solution.value,
                    newton[0], newton[1]);
        for (int round = 0; round < 2; round++) {
            const pv__descent_options how = {.tolerance = 1e-12, .max_iter = 3000, .fine = true};
            CHECK_OK(f->ctx, pv__descend(f->ctx, &f->problem, objective, &how, other, &value, &stop, &iterations));
        }
        for (size_t c = 0; c < P; c++)
            CHECK_NEAR(newton[c], other[c], 1e-8);
        CHECK_NEAR(solution.value, value, 1e-8 * fabs(value));
        assert_true(solution.iterations <= 40);
        pv__objective_free(f->ctx, objective);
        pv__free(f->ctx, solution.information);
        pv__free(f->ctx, solution.ahead);
        tear_down(f);
    }
    free(f);
}

/* From the information at an optimum of other rows, convergence is quadratic. */
static void test_start(void **state) {
    (void)state;
    fixture *f = calloc(1, sizeof *f);
    set_up(f, &kinds[0]);
    double w[P_MOST] = {0};
    size_t P = pv_model_params(f->model);
    pv__solution solution = {.w = w};
    pv__problem half = f->problem;
    half.rows.n = half.targets.n = N / 2;
    pv__objective *objective;
    CHECK_OK(f->ctx, pv__objective_new(f->ctx, &half, PV_FORM_ROWS, &objective));
    CHECK_OK(f->ctx, pv__newton(f->ctx, 1, &(pv__newton_goal){&half, objective, 1e-9, NULL, &solution, true}));
    assert_non_null(solution.information);
    for (size_t i = 0; i < P * P; i++)
        solution.information[i] *= 2;
    pv__objective_free(f->ctx, objective);
    CHECK_OK(f->ctx, pv__objective_new(f->ctx, &f->problem, PV_FORM_ROWS, &objective));
    solution.iterations = 0;
    solution.passes = 0;
    CHECK_OK(f->ctx, pv__newton(f->ctx, 1, &(pv__newton_goal){&f->problem, objective, 1e-8, NULL, &solution, true}));
    assert_int_equal(solution.stop, PV_STOP_CONVERGED);
    pv__objective_count(objective, &solution);
    assert_true(solution.passes <= 6);
    pv__objective_free(f->ctx, objective);
    pv__free(f->ctx, solution.information);
    pv__free(f->ctx, solution.ahead);
    tear_down(f);
    free(f);
}

/* Two losses of the same rows go to the optima that each has by itself, in as many passes as the slower one takes. */
static void test_together(void **state) {
    (void)state;
    enum { BOTH = 2 };
    fixture *f = calloc(1, sizeof *f);
    for (size_t at = 0; at < KINDS; at++) {
        if (kinds[at].loss != PV_LOSS_IG)
            continue;
        set_up(f, &kinds[at]);
        size_t P = pv_model_params(f->model);
        const pv__form forms[BOTH] = {PV_FORM_SELECTION, PV_FORM_ROWS};
        double apart[BOTH][P_MOST] = {{0}}, together[BOTH][P_MOST] = {{0}}, ahead[BOTH][P_MOST], factor[K_MOST],
               slowest = 0;
        pv__problem weighted = f->problem;
        weighted.factor = factor;
        for (size_t y = 0; y < f->k; y++)
            factor[y] = y == 0 ? 1.5 : 0.1;
        const pv__problem *problem[BOTH] = {&f->problem, &weighted};
        pv__objective *objective[BOTH];
        pv__solution solution[BOTH];
        pv__newton_goal goals[BOTH];
        double log_p[BOTH][K_MOST], total = 0;
        for (size_t y = 0; y < f->k; y++)
            total += factor[y] * f->mass[y];
        for (size_t y = 0; y < f->k; y++) { /* where a model without slopes is best */
            log_p[0][y] = log(f->prevalence[y]);
            log_p[1][y] = log(factor[y] * f->mass[y] / total);
        }
        for (size_t i = 0; i < BOTH; i++) {
            pv_model_shift(f->model, log_p[i], apart[i]);
            pv_model_shift(f->model, log_p[i], together[i]);
            pv__solution alone = {.w = apart[i]};
            CHECK_OK(f->ctx, pv__objective_new(f->ctx, problem[i], forms[i], &objective[i]));
            const pv__newton_goal goal = {problem[i], objective[i], 1e-10, NULL, &alone, true};
            CHECK_OK(f->ctx, pv__newton(f->ctx, 1, &goal));
            assert_int_equal(alone.stop, PV_STOP_CONVERGED);
            pv__objective_count(objective[i], &alone);
            slowest = fmax(slowest, alone.passes);
            memcpy(ahead[i], alone.ahead, P * sizeof *ahead[i]);
            pv__objective_free(f->ctx, objective[i]);
            pv__free(f->ctx, alone.information);
            pv__free(f->ctx, alone.ahead);
            CHECK_OK(f->ctx, pv__objective_new(f->ctx, problem[i], forms[i], &objective[i]));
            solution[i] = (pv__solution){.w = together[i]};
            goals[i] = (pv__newton_goal){problem[i], objective[i], 1e-10, NULL, &solution[i], true};
        }
        CHECK_OK(f->ctx, pv__newton(f->ctx, BOTH, goals));
        for (size_t i = 0; i < BOTH; i++) {
            assert_int_equal(solution[i].stop, PV_STOP_CONVERGED);
            for (size_t c = 0; c < P; c++) {
                CHECK_NEAR(together[i][c], apart[i][c], 1e-8);
                CHECK_NEAR(solution[i].ahead[c], ahead[i][c], 1e-9);
            }
            pv__objective_count(objective[i], &solution[0]);
            pv__objective_free(f->ctx, objective[i]);
            pv__free(f->ctx, solution[i].information);
            pv__free(f->ctx, solution[i].ahead);
        }
        assert_true(solution[0].passes <= slowest + 1);
        tear_down(f);
    }
    free(f);
}

/* sum_n v_n Cov_q of the derivatives of log p(y), which are by central differences. */
static void test_information(void **state) {
    (void)state;
    enum { ROWS = 23 };
    const double h = 1e-6;
    fixture *f = calloc(1, sizeof *f);
    for (size_t at = 0; at < KINDS; at++) {
        set_up(f, &kinds[at]);
        size_t P = pv_model_params(f->model), k = f->k;
        double w[P_MOST], loglik[ROWS * K_MOST], less[ROWS * K_MOST], q[ROWS * K_MOST], v[ROWS];
        static double slope[P_MOST][ROWS * K_MOST], wanted[P_MOST * P_MOST], got[P_MOST * P_MOST];
        double room[ROWS * (D + K_MOST)], sums[6 * (1 + D + D * D)] = {0};
        pv_model_work *work;
        CHECK_OK(f->ctx, pv_model_work_new(f->ctx, f->model, ROWS, &work));
        for (size_t i = 0; i < P; i++)
            w[i] = 0.3 * (double)(i % 3) - 0.2;
        for (size_t i = 0; i < P; i++) {
            double own = w[i];
            w[i] = own + h;
            pv_model_forward(f->model, work, w, ROWS, f->x, slope[i]);
            w[i] = own - h;
            pv_model_forward(f->model, work, w, ROWS, f->x, less);
            w[i] = own;
            for (size_t y = 0; y < ROWS * k; y++)
                slope[i][y] = (slope[i][y] - less[y]) / (2 * h);
        }
        pv_model_forward(f->model, work, w, ROWS, f->x, loglik);
        for (size_t n = 0; n < ROWS; n++) {
            double total = 0;
            v[n] = 0.5 + 0.1 * (double)n;
            for (size_t y = 0; y < k; y++)
                total += q[n * k + y] = exp(loglik[n * k + y] + 0.4 * (double)y);
            for (size_t y = 0; y < k; y++)
                q[n * k + y] /= total;
        }
        memset(wanted, 0, sizeof wanted);
        for (size_t n = 0; n < ROWS; n++)
            for (size_t i = 0; i < P; i++)
                for (size_t j = 0; j < P; j++) {
                    double product = 0, left = 0, right = 0;
                    for (size_t y = 0; y < k; y++) {
                        double p = q[n * k + y];
                        product += p * slope[i][n * k + y] * slope[j][n * k + y];
                        left += p * slope[i][n * k + y];
                        right += p * slope[j][n * k + y];
                    }
                    wanted[i * P + j] += v[n] * (product - left * right);
                }
        f->model->architecture->add_information(f->model, work, w, ROWS, f->x, v, q, sums, room);
        f->model->architecture->information_of(f->model, sums, got);
        for (size_t i = 0; i < P * P; i++)
            CHECK_NEAR(got[i], wanted[i], 1e-6 * (1 + fabs(wanted[i])));
        pv_model_work_free(f->ctx, work);
        tear_down(f);
    }
    free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agree),
        cmocka_unit_test(test_start),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_information),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
