/* Unusual use of the interface: calls from callbacks, interruption by callbacks, several threads with their own
 * contexts, and freeing in any order.
 */
#include <pthread.h>
#include <string.h>

#include "check.h"

typedef struct fitted {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *model;
} fitted;

static pv_status fit(pv_ctx *ctx, fitted *f) {
    const char *text[] = {"cancer"};
    pv_csv_options csv = {.text = text, .n_text = 1};
    pv_roles roles = {.target = "cancer"};
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.01";
    memset(f, 0, sizeof *f);
    pv_status status = pv_table_read(ctx, "builtin:esoph", &csv, &f->table);
    if (status == PV_OK)
        status = pv_schema_learn(ctx, f->table, &roles, &f->schema, &f->data);
    return status == PV_OK ? pv_fit(ctx, f->schema, f->data, &options, &f->model) : status;
}

/* Frees objects in the order of creation: the remaining ones must not access freed ones. */
static void drop(pv_ctx *ctx, fitted *f) {
    pv_table_free(ctx, f->table);
    pv_schema_free(ctx, f->schema);
    pv_dataset_free(ctx, f->data);
    pv_classifier_free(ctx, f->model);
}

static double loss_of_one(void) {
    pv_ctx *ctx;
    fitted f;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    CHECK_OK(ctx, fit(ctx, &f));
    double loss = f.model->loss_value;
    drop(ctx, &f);
    pv_ctx_free(ctx);
    return loss;
}

static void *fit_thrice(void *loss) {
    pv_ctx *ctx;
    fitted f;
    if (pv_ctx_new(NULL, &ctx) != PV_OK)
        return NULL;
    for (int i = 0; i < 3; i++) {
        if (fit(ctx, &f) == PV_OK)
            *(double *)loss = f.model->loss_value;
        drop(ctx, &f);
    }
    pv_ctx_free(ctx);
    return NULL;
}

static void four_contexts_in_four_threads(void **state) {
    (void)state;
    pthread_t thread[4];
    double loss[4] = {0}, expected = loss_of_one();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, fit_thrice, &loss[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 4; i++)
        assert_true(loss[i] == expected);
}

typedef struct caller {
    pv_ctx *ctx;
    bool stop; /* requests a stop instead of fitting again */
    int calls;
    double loss;
} caller;

static void on_progress(void *state, const pv_progress *progress) {
    (void)progress;
    caller *c = state;
    if (c->calls++ > 0)
        return;
    if (c->stop) {
        pv_ctx_interrupt(c->ctx);
        return;
    }
    fitted f;
    if (fit(c->ctx, &f) == PV_OK)
        c->loss = f.model->loss_value;
    drop(c->ctx, &f);
}

static void entered_again(void **state) {
    (void)state;
    caller c = {0};
    fitted f;
    pv_ctx_options options = pv_ctx_options_default();
    options.progress = on_progress;
    options.state = &c;
    assert_int_equal(pv_ctx_new(&options, &c.ctx), PV_OK);
    CHECK_OK(c.ctx, fit(c.ctx, &f));
    double expected = loss_of_one();
    assert_true(c.calls > 0);
    assert_true(c.loss == expected && f.model->loss_value == expected);
    drop(c.ctx, &f);
    pv_ctx_free(c.ctx);
}

static void stopped_by_its_callback(void **state) {
    (void)state;
    caller c = {.stop = true};
    fitted f;
    pv_ctx_options options = pv_ctx_options_default();
    options.progress = on_progress;
    options.state = &c;
    assert_int_equal(pv_ctx_new(&options, &c.ctx), PV_OK);
    CHECK_OK(c.ctx, fit(c.ctx, &f));
    assert_int_equal(f.model->stop, PV_STOP_INTERRUPTED);
    drop(c.ctx, &f);
    CHECK_OK(c.ctx, fit(c.ctx, &f)); /* the next one is interrupted too, until it is cleared */
    assert_int_equal(f.model->stop, PV_STOP_INTERRUPTED);
    drop(c.ctx, &f);
    pv_ctx_clear_interrupt(c.ctx);
    CHECK_OK(c.ctx, fit(c.ctx, &f));
    assert_true(f.model->loss_value == loss_of_one());
    drop(c.ctx, &f);
    pv_ctx_free(c.ctx);
}

/* Objects of one context are used in another, with NULL for every optional argument. */
static void another_context(void **state) {
    (void)state;
    pv_ctx *one, *other;
    fitted f;
    pv_prediction *said;
    assert_int_equal(pv_ctx_new(NULL, &one), PV_OK);
    assert_int_equal(pv_ctx_new(NULL, &other), PV_OK);
    CHECK_OK(one, fit(one, &f));
    CHECK_OK(other, pv_predict(other, f.model, f.data, NULL, NULL, &said));
    pv_prediction_free(other, said);
    pv_ctx_free(other);
    pv_population *three;
    CHECK_OK(one, pv_population_known(one, 3, (const double[]){0.2, 0.3, 0.5}, &three));
    assert_int_equal(pv_predict(one, f.model, f.data, three, NULL, &said), PV_ERR_USAGE);
    pv_population_free(one, three);
    assert_int_equal(pv_population_known(one, -1, (const double[]){0.5, 0.5}, &three), PV_ERR_USAGE);
    drop(one, &f);
    pv_ctx_free(one);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(four_contexts_in_four_threads), cmocka_unit_test(entered_again),
                                       cmocka_unit_test(stopped_by_its_callback), cmocka_unit_test(another_context)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
