/* The losses of prevail/core.h compared with tests/oracle/core.txt: PyTorch with autograd, and for the profile an
 * 80-bit solution by another method (make_core.py, core_reference.py). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle/oracle_file.h"
#include "prevail/core.h"

/* The profile solves an iteration: its value is stationary at the solution, its gradient and theta are not. */
static const double TOLERANCE = 1e-10, TOLERANCE_PROFILE = 1e-8;

typedef struct fixture {
    oracle_file *file;
    pv_ctx *ctx;
} fixture;

/* The inputs of a case, which it contains itself or names by data=. */
typedef struct inputs {
    size_t n, size; /* size: n * classes */
    int classes;
    int32_t *label, *stratum;
    pv_targets targets;
    const double *loglik, *prevalence;
    const oracle_case *item;
} inputs;

static bool works(pv_ctx *ctx, const oracle_case *item, pv_status status) {
    if (status != PV_OK)
        oracle_mismatch(item, pv_ctx_error(ctx)->message);
    return status == PV_OK;
}

static void must(pv_ctx *ctx, const oracle_case *item, pv_status status) {
    if (status != PV_OK)
        fail_msg("%s: %s: %s", item->name, pv_status_name(status), pv_ctx_error(ctx)->message);
}

static double *zeros(size_t count) {
    double *block = calloc(count ? count : 1, sizeof *block);
    assert_non_null(block);
    return block;
}

static int32_t *integers(const double *values, size_t count) {
    if (!values)
        return NULL;
    int32_t *block = calloc(count, sizeof *block);
    assert_non_null(block);
    for (size_t i = 0; i < count; i++)
        block[i] = (int32_t)values[i];
    return block;
}

static inputs inputs_of(const fixture *fix, const oracle_case *item) {
    char name[128] = "";
    oracle_text(item, "data", name, sizeof name);
    const oracle_case *data = oracle_find(fix->file, name);
    inputs in = {.n = (size_t)oracle_number(data, "n"), .classes = (int)oracle_number(data, "classes"), .item = data};
    in.size = in.n * (size_t)in.classes;
    in.loglik = oracle_values(data, "loglik", in.size);
    in.prevalence = oracle_values(data, "prevalence", (size_t)in.classes);
    in.label = integers(oracle_values_or_null(data, "label", in.n), in.n);
    in.stratum = integers(oracle_values_or_null(data, "stratum", in.n), in.n);
    in.targets = (pv_targets){.n = in.n,
                              .classes = in.classes,
                              .label = in.label,
                              .frequency = oracle_values_or_null(data, "frequency", in.size),
                              .weight = oracle_values_or_null(data, "weight", in.n)};
    return in;
}

static void inputs_clear(inputs *in) {
    free(in->label);
    free(in->stratum);
}

static pv_loss loss_of(const oracle_case *item) {
    for (pv_loss loss = 0; loss < PV_LOSSES; loss++)
        if (oracle_is(item, "loss", pv_loss_name(loss)))
            return loss;
    fail_msg("%s: unknown loss", item->name);
    return PV_LOSS_IG;
}

static pv_marginal marginal_of(const oracle_case *item) {
    for (pv_marginal marginal = PV_MARGINAL_PROFILE; marginal <= PV_MARGINAL_AUXILIARY_LINEAR; marginal++)
        if (oracle_is(item, "marginal", pv_marginal_name(marginal)))
            return marginal;
    fail_msg("%s: unknown marginal", item->name);
    return PV_MARGINAL_PROFILE;
}

/* dz_ny = d_ny - p_ny sum_y' d_ny'. */
static void to_logits(size_t n, size_t classes, const double *loglik, double *gradient) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t y = 0; y < classes; y++)
            sum += gradient[i * classes + y];
        for (size_t y = 0; y < classes; y++)
            gradient[i * classes + y] -= exp(loglik[i * classes + y]) * sum;
    }
}

/* ---- the full batch ---------------------------------------------------------------------------------------------- */

/* For a loss without a marginal of its own, compares the plug-in estimate. */
static void compare_marginal(const fixture *fix, const oracle_case *item, const inputs *in, const pv_full_loss *full,
                             double tolerance, double floor) {
    size_t classes = (size_t)in->classes;
    const double *expected = oracle_values(item, "log_marginal", classes);
    const double *log_marginal = pv_full_loss_log_marginal(full);
    if (pv_loss_has_marginal(loss_of(item))) {
        assert_non_null(log_marginal);
        oracle_compare(item, "log_marginal", log_marginal, expected, classes, tolerance, floor);
        return;
    }
    assert_null(log_marginal);
    double *plugin = zeros(classes);
    must(fix->ctx, item, pv_plugin_log_marginal(fix->ctx, &in->targets, in->prevalence, in->loglik, plugin));
    oracle_compare(item, "plug-in log_marginal", plugin, expected, classes, tolerance, floor);
    expected = oracle_values_or_null(item, "as_drawn", classes);
    if (expected) {
        must(fix->ctx, item, pv_plugin_log_marginal(fix->ctx, &in->targets, NULL, in->loglik, plugin));
        oracle_compare(item, "as_drawn", plugin, expected, classes, tolerance, floor);
    }
    free(plugin);
}

static void compare_full(const fixture *fix, const oracle_case *item, const inputs *in, const pv_full_loss *full,
                         double value, double *gradient) {
    bool profile = oracle_has(item, "dlogit");
    double tolerance = profile ? TOLERANCE_PROFILE : TOLERANCE;
    double floor = oracle_number(item, "extreme") != 0 ? 1 : 0;
    const double *expected = oracle_values(item, "value", 1);
    oracle_compare(item, "value", &value, expected, 1, TOLERANCE, floor);
    if (!isfinite(*expected)) {
        oracle_compare(item, "dloglik", gradient, oracle_values(item, "dlogit", in->size), in->size, 0, 0);
        return;
    }
    if (profile)
        to_logits(in->n, (size_t)in->classes, in->loglik, gradient);
    const char *name = profile ? "dlogit" : "dloglik";
    oracle_compare(item, name, gradient, oracle_values(item, name, in->size), in->size, tolerance, floor);
    compare_marginal(fix, item, in, full, tolerance, floor);
    const double *theta = pv_full_loss_theta(full);
    if (!profile)
        assert_null(theta);
    else if (!theta)
        fail_msg("%s: no theta", item->name);
    else
        oracle_compare(item, "theta", theta, oracle_values(item, "theta", in->n), in->n, tolerance, 0);
}

static void run_full(const fixture *fix, const oracle_case *item) {
    inputs in = inputs_of(fix, item);
    pv_prevalence population = {
        .classes = in.classes, .prevalence = in.prevalence, .prevalence_n = oracle_number(item, "n_pr")};
    pv_full_loss *full = NULL;
    must(fix->ctx, item, pv_full_loss_new(fix->ctx, loss_of(item), marginal_of(item), &in.targets, &population, &full));
    if (oracle_has(item, "counts"))
        pv_full_loss_set_counts(full, oracle_values(item, "counts", (size_t)in.classes));
    double value = nan(""), *gradient = zeros(in.size), *elsewhere = zeros(in.size);

    for (size_t i = 0; i < in.size; i++)
        gradient[i] = 1e3; /* outputs must be overwritten, not added to */
    if (works(fix->ctx, item, pv_full_loss_eval(fix->ctx, full, in.loglik, &value, gradient)))
        compare_full(fix, item, &in, full, value, gradient);

    /* State from earlier evaluations must not affect results: first evaluates the rows in reverse, then equal rows, for
     * which a known prevalence is infeasible. */
    for (size_t i = 0; i < in.n; i++)
        memcpy(elsewhere + i * (size_t)in.classes, in.loglik + (in.n - 1 - i) * (size_t)in.classes,
               (size_t)in.classes * sizeof *elsewhere);
    works(fix->ctx, item, pv_full_loss_eval(fix->ctx, full, elsewhere, &value, NULL));
    for (size_t i = 0; i < in.size; i++)
        elsewhere[i] = -log(in.classes);
    works(fix->ctx, item, pv_full_loss_eval(fix->ctx, full, elsewhere, &value, NULL));
    if (works(fix->ctx, item, pv_full_loss_eval(fix->ctx, full, in.loglik, &value, gradient)))
        compare_full(fix, item, &in, full, value, gradient);

    double alone = nan("");
    if (works(fix->ctx, item, pv_full_loss_eval(fix->ctx, full, in.loglik, &alone, NULL)))
        oracle_compare(item, "value without a gradient", &alone, &value, 1, TOLERANCE, 0);
    pv_full_loss_free(fix->ctx, full);
    free(gradient);
    free(elsewhere);
    inputs_clear(&in);
}

static void run_selection(const fixture *fix, const oracle_case *item) {
    inputs in = inputs_of(fix, item);
    size_t classes = (size_t)in.classes;
    double value = nan(""), *gradient = zeros(in.size), *dlog_ratio = zeros(classes);
    const double *log_ratio = oracle_values(item, "log_ratio", classes);
    double floor = oracle_number(item, "extreme") != 0 ? 1 : 0;
    must(fix->ctx, item, pv_selection_loss(fix->ctx, &in.targets, log_ratio, in.loglik, &value, gradient, dlog_ratio));
    oracle_compare(item, "value", &value, oracle_values(item, "value", 1), 1, TOLERANCE, floor);
    oracle_compare(item, "dloglik", gradient, oracle_values(item, "dloglik", in.size), in.size, TOLERANCE, floor);
    oracle_compare(item, "dlog_ratio", dlog_ratio, oracle_values(item, "dlog_ratio", classes), classes, TOLERANCE,
                   floor);
    double alone = nan("");
    must(fix->ctx, item, pv_selection_loss(fix->ctx, &in.targets, log_ratio, in.loglik, &alone, NULL, NULL));
    oracle_compare(item, "value without gradients", &alone, &value, 1, TOLERANCE, 0);
    free(gradient);
    free(dlog_ratio);
    inputs_clear(&in);
}

/* ---- minibatch losses -------------------------------------------------------------------------------------------- */

static pv_batch_design design_of(const inputs *in, const oracle_case *item, double prevalence_n, bool direct) {
    size_t strata = in->stratum ? 0 : (size_t)in->classes;
    for (size_t i = 0; in->stratum && i < in->n; i++)
        strata = strata > (size_t)in->stratum[i] ? strata : (size_t)in->stratum[i] + 1;
    return (pv_batch_design){
        .sampling = {(int)strata, oracle_values(in->item, "full", strata), oracle_values(in->item, "expected", strata)},
        .mass = oracle_values(in->item, "mass", (size_t)in->classes),
        .population = {.classes = in->classes, .prevalence = in->prevalence, .prevalence_n = prevalence_n},
        .population_weight = oracle_is(item, "beta", "counted") ? PV_WEIGHT_COUNTED : PV_WEIGHT_EXPECTED,
        .epoch_weight = oracle_is(item, "omega", "counted") ? PV_WEIGHT_COUNTED : PV_WEIGHT_EXPECTED,
        .direct = direct,
    };
}

static void run_weights(const fixture *fix, const oracle_case *item) {
    inputs in = inputs_of(fix, item);
    pv_batch_design design = design_of(&in, item, 7.5, false);
    double *epoch = zeros(in.n), *population = zeros(in.n);
    const double *e = oracle_values(item, "epoch", in.n), *p = oracle_values(item, "population", in.n);
    must(fix->ctx, item, pv_batch_weights(fix->ctx, &design, &in.targets, in.stratum, epoch, population));
    oracle_compare(item, "epoch", epoch, e, in.n, TOLERANCE, 0);
    oracle_compare(item, "population", population, p, in.n, TOLERANCE, 0);
    memset(epoch, 0, in.n * sizeof *epoch);
    memset(population, 0, in.n * sizeof *population);
    must(fix->ctx, item, pv_batch_weights(fix->ctx, &design, &in.targets, in.stratum, epoch, NULL));
    must(fix->ctx, item, pv_batch_weights(fix->ctx, &design, &in.targets, in.stratum, NULL, population));
    oracle_compare(item, "epoch alone", epoch, e, in.n, TOLERANCE, 0);
    oracle_compare(item, "population alone", population, p, in.n, TOLERANCE, 0);
    free(epoch);
    free(population);
    inputs_clear(&in);
}

static void run_log_marginal(const fixture *fix, const oracle_case *item) {
    inputs in = inputs_of(fix, item);
    size_t classes = (size_t)in.classes;
    double *log_marginal = zeros(classes);
    pv_batch_log_marginal(in.n, in.classes, oracle_values(item, "population", in.n), in.loglik, log_marginal);
    oracle_compare(item, "log_marginal", log_marginal, oracle_values(item, "log_marginal", classes), classes, TOLERANCE,
                   0);
    free(log_marginal);
    inputs_clear(&in);
}

static void run_backward(const fixture *fix, const oracle_case *item) {
    inputs in = inputs_of(fix, item);
    size_t classes = (size_t)in.classes;
    const double *population = oracle_values(item, "population", in.n);
    double *log_marginal = zeros(classes), *gradient = zeros(in.size);
    memcpy(gradient, oracle_values(item, "start", in.size), in.size * sizeof *gradient);
    pv_batch_log_marginal(in.n, in.classes, population, in.loglik, log_marginal);
    double value = pv_marginal_backward((pv_implementation)oracle_number(item, "implementation"), in.n, in.classes,
                                        oracle_values(item, "counts", classes), population, in.loglik, log_marginal,
                                        oracle_values(item, "log_q", classes), gradient);
    oracle_compare(item, "value", &value, oracle_values(item, "value", 1), 1, TOLERANCE, 0);
    oracle_compare(item, "dloglik", gradient, oracle_values(item, "dloglik", in.size), in.size, TOLERANCE, 0);
    free(log_marginal);
    free(gradient);
    inputs_clear(&in);
}

static void run_batch(const fixture *fix, const oracle_case *item) {
    inputs in = inputs_of(fix, item);
    size_t classes = (size_t)in.classes;
    pv_loss kind = loss_of(item);
    pv_batch_loss loss = {.loss = kind,
                          .marginal = marginal_of(item),
                          .implementation = (pv_implementation)oracle_number(item, "implementation"),
                          .design = design_of(&in, item, oracle_number(item, "n_pr"), oracle_is(item, "direct", "1"))};
    double value = nan(""), *gradient = zeros(in.size), *log_marginal = zeros(classes);
    const double *log_q = pv_loss_has_marginal(kind) ? oracle_values(in.item, "log_q", classes) : NULL;
    for (size_t i = 0; i < in.size; i++)
        gradient[i] = 1e3; /* outputs must be overwritten, not added to */
    pv_status status =
        pv_batch_loss_eval(fix->ctx, &loss, &in.targets, in.stratum, in.loglik, log_q, &value, gradient, log_marginal);
    must(fix->ctx, item, status);
    oracle_compare(item, "value", &value, oracle_values(item, "value", 1), 1, TOLERANCE, 0);
    oracle_compare(item, "dloglik", gradient, oracle_values(item, "dloglik", in.size), in.size, TOLERANCE, 0);
    if (pv_loss_has_marginal(kind) && loss.marginal != PV_MARGINAL_PROFILE)
        oracle_compare(item, "log_batch_marginal", log_marginal, oracle_values(item, "log_batch_marginal", classes),
                       classes, TOLERANCE, 0);
    double alone = nan("");
    status = pv_batch_loss_eval(fix->ctx, &loss, &in.targets, in.stratum, in.loglik, log_q, &alone, gradient, NULL);
    must(fix->ctx, item, status);
    oracle_compare(item, "value without the batch's marginal", &alone, &value, 1, TOLERANCE, 0);
    free(gradient);
    free(log_marginal);
    inputs_clear(&in);
}

/* ---- auxiliary networks ------------------------------------------------------------------------------------------ */

/* The gradient is added with a factor `scale`; calls twice to test that it adds. */
static void compare_twice(const oracle_case *item, const char *what, const double *got, size_t count) {
    double *half = zeros(count);
    for (size_t i = 0; i < count; i++)
        half[i] = got[i] / (2 * oracle_number(item, "scale"));
    oracle_compare(item, what, half, oracle_values(item, what, count), count, TOLERANCE, 0);
    free(half);
}

static void run_auxiliary(const fixture *fix, const oracle_case *item) {
    size_t classes = (size_t)oracle_number(item, "classes"), params = (size_t)oracle_number(item, "params");
    const double *w = oracle_values_or_null(item, "w", params);
    pv_marginal marginal = params ? PV_MARGINAL_AUXILIARY_LINEAR : PV_MARGINAL_AUXILIARY_CONSTANT;
    pv_auxiliary *auxiliary = NULL;
    must(fix->ctx, item, pv_auxiliary_new(fix->ctx, marginal, (int)classes, params, NULL, w, &auxiliary));

    double *log_q = zeros(classes), *uniform = zeros(classes);
    for (size_t y = 0; y < classes; y++)
        uniform[y] = -log((double)classes);
    pv_auxiliary_forward(auxiliary, w, log_q);
    oracle_compare(item, "log_q at the start", log_q, uniform, classes, TOLERANCE, 0);

    pv_auxiliary_view view = pv_auxiliary_parameters(auxiliary);
    memcpy(view.bias, oracle_values(item, "bias", classes), classes * sizeof *view.bias);
    if (params) {
        memcpy(view.offset, oracle_values(item, "offset", params), params * sizeof *view.offset);
        memcpy(view.matrix, oracle_values(item, "matrix", params * classes), params * classes * sizeof *view.matrix);
    } else {
        assert_true(!view.offset && !view.doffset && !view.matrix && !view.dmatrix);
    }
    pv_auxiliary_forward(auxiliary, w, log_q);
    oracle_compare(item, "log_q", log_q, oracle_values(item, "log_q", classes), classes, TOLERANCE, 0);
    const double *log_target = oracle_values(item, "log_target", classes);
    for (int twice = 0; twice < 2; twice++) {
        double value = pv_auxiliary_backward(auxiliary, w, log_q, log_target, oracle_number(item, "scale"));
        oracle_compare(item, "value", &value, oracle_values(item, "value", 1), 1, TOLERANCE, 0);
    }
    compare_twice(item, "dbias", view.dbias, classes);
    if (params) {
        compare_twice(item, "doffset", view.doffset, params);
        compare_twice(item, "dmatrix", view.dmatrix, params * classes);
    }
    free(log_q);
    free(uniform);
    pv_auxiliary_free(fix->ctx, auxiliary);
}

/* ---- all cases of a kind ----------------------------------------------------------------------------------------- */

static size_t run_kind(void **state, const char *kind, void (*run)(const fixture *fix, const oracle_case *item)) {
    const fixture *fix = *state;
    size_t count = 0;
    for (size_t i = 0; i < fix->file->count; i++)
        if (oracle_is(&fix->file->item[i], "kind", kind)) {
            if (run)
                run(fix, &fix->file->item[i]);
            count++;
        }
    oracle_finish();
    return count;
}

static void test_full(void **state) {
    assert_true(run_kind(state, "full", run_full) >= 161);
}

static void test_selection(void **state) {
    assert_true(run_kind(state, "selection", run_selection) >= 12);
}

static void test_weights(void **state) {
    assert_true(run_kind(state, "weights", run_weights) >= 24);
}

static void test_log_marginal(void **state) {
    assert_true(run_kind(state, "log_marginal", run_log_marginal) >= 6);
}

static void test_backward(void **state) {
    assert_true(run_kind(state, "backward", run_backward) >= 18);
}

static void test_batch(void **state) {
    assert_true(run_kind(state, "batch", run_batch) >= 120);
}

static void test_auxiliary(void **state) {
    assert_true(run_kind(state, "auxiliary", run_auxiliary) >= 6);
}

/* A file with cases of a single loss must not pass. */
static void test_every_loss_is_there(void **state) {
    const fixture *fix = *state;
    size_t of[PV_LOSSES] = {0}, profile = 0, plugin = 0, known = 0, extreme = 0;
    for (size_t i = 0; i < fix->file->count; i++) {
        const oracle_case *item = &fix->file->item[i];
        if (!oracle_is(item, "kind", "full"))
            continue;
        pv_loss loss = loss_of(item);
        of[loss]++;
        plugin += pv_loss_has_marginal(loss) && marginal_of(item) == PV_MARGINAL_PLUGIN;
        profile += pv_loss_has_marginal(loss) && marginal_of(item) == PV_MARGINAL_PROFILE;
        known += oracle_number(item, "n_pr") > 1e300;
        extreme += oracle_number(item, "extreme") != 0;
    }
    for (pv_loss loss = 0; loss < PV_LOSSES; loss++)
        if (!pv_loss_is_relative(loss) && of[loss] < 12) /* for matched sets: test_matched_oracle.c */
            fail_msg("loss %s has %zu cases in the oracle", pv_loss_name(loss), of[loss]);
    assert_true(plugin >= 50 && profile >= 78 && known >= 16 && extreme >= 25);
}

static int setup(void **state) {
    static fixture fix;
    *state = &fix; /* set first, for the teardown after a failed set-up */
    fix.file = oracle_file_read(PV_TEST_DIR "/oracle/core.txt");
    return pv_ctx_new(NULL, &fix.ctx) == PV_OK ? 0 : -1;
}

static int teardown(void **state) {
    fixture *fix = *state;
    oracle_file_free(fix->file);
    pv_ctx_free(fix->ctx);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),      cmocka_unit_test(test_selection),
        cmocka_unit_test(test_weights),   cmocka_unit_test(test_log_marginal),
        cmocka_unit_test(test_backward),  cmocka_unit_test(test_batch),
        cmocka_unit_test(test_auxiliary), cmocka_unit_test(test_every_loss_is_there),
    };
    return cmocka_run_group_tests_name("core oracle", tests, setup, teardown);
}
