/* Checkpoints: stored states are restored; damaged or foreign files are rejected; training, inference and validation
 * interrupted at any step give bit-identical results. Also validation rows, schedules and the trace. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "infer/infer.h"
#include "unit/problem.h"

static const pv__design one_stratum = {.strata = 1};

static char folder[] = "/tmp/prevail-checkpoint-XXXXXX";
static char checkpoint_path[64], model_path[64], other_path[64];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(checkpoint_path, sizeof checkpoint_path, "%s/a.checkpoint", folder);
    snprintf(model_path, sizeof model_path, "%s/a.model", folder);
    snprintf(other_path, sizeof other_path, "%s/b.model", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(checkpoint_path);
    unlink(model_path);
    unlink(other_path);
    return rmdir(folder); /* fails if other files were left in it */
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void keeps_and_recalls(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    double x[3] = {1, 2, 3}, y[2] = {4, 5}, back[3] = {0}, again[2] = {0};
    bool found = true;
    assert_false(pv_checkpoint_due(ctx)); /* without a checkpoint nothing is due */
    CHECK_OK(ctx, pv_checkpoint_keep(ctx, "x", &(pv_field){x, sizeof x}, 1));
    CHECK_OK(ctx, pv_checkpoint_recall(ctx, "x", &(pv_field){back, sizeof back}, 1, &found));
    assert_false(found);
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, true));
    assert_false(pv_checkpoint_resumed(ctx));
    CHECK_OK(ctx, pv_checkpoint_facts(ctx, "`rate`=0.1\nthe data=7 rows\n"));
    CHECK_OK(ctx, pv_checkpoint_keep(ctx, "both", (pv_field[]){{x, sizeof x}, {y, sizeof y}, {NULL, 0}}, 3));
    size_t entered = pv_checkpoint_enter(ctx, "folds", 2);
    CHECK_OK(ctx, pv_checkpoint_keep(ctx, "x", &(pv_field){x, sizeof x}, 1));
    pv_checkpoint_leave(ctx, entered);
    assert_int_equal(pv_checkpoint_size(ctx, "x"), 0);
    CHECK_OK(ctx, pv_checkpoint_write(ctx));
    pv_checkpoint_close(ctx);

    assert_int_equal(pv_checkpoint_open(ctx, checkpoint_path, 1e9, false), PV_ERR_USAGE); /* it would be overwritten */
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "`resume`"));
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, true));
    assert_true(pv_checkpoint_resumed(ctx));
    CHECK_OK(ctx, pv_checkpoint_facts(ctx, "the data=7 rows\n`rate`=0.1\n"));
    CHECK_OK(ctx,
             pv_checkpoint_recall(ctx, "both", (pv_field[]){{back, sizeof back}, {again, sizeof again}}, 2, &found));
    assert_true(found);
    assert_memory_equal(back, x, sizeof x);
    assert_memory_equal(again, y, sizeof y);
    assert_int_equal(pv_checkpoint_recall(ctx, "both", &(pv_field){back, sizeof back}, 1, &found), PV_ERR_FORMAT);
    entered = pv_checkpoint_enter(ctx, "folds", 2);
    assert_int_equal(pv_checkpoint_size(ctx, "x"), sizeof x);
    pv_checkpoint_drop(ctx, "");
    assert_int_equal(pv_checkpoint_size(ctx, "x"), 0);
    pv_checkpoint_leave(ctx, entered);
    assert_int_equal(pv_checkpoint_size(ctx, "both"), sizeof x + sizeof y);

    assert_int_equal(pv_checkpoint_facts(ctx, "`rate`=0.2\nthe data=7 rows\n"), PV_ERR_USAGE);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "`rate` is 0.2 here and was 0.1 there"));
    assert_int_equal(pv_checkpoint_facts(ctx, "`rate`=0.1\nthe data=7 rows\n`seed`=2\n"), PV_ERR_USAGE);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "`seed` is 2 here and was not given there"));
    assert_int_equal(pv_checkpoint_facts(ctx, "`rate`=0.1\n"), PV_ERR_USAGE);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "the data was 7 rows there"));
    assert_int_equal(pv_checkpoint_facts(ctx, "the data=8 rows\n"),
                     PV_ERR_USAGE); /* names the option that changed the data */
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "`rate` was 0.1 there and is not given here"));
    CHECK_OK(ctx, pv_checkpoint_finish(ctx));
    assert_int_not_equal(access(checkpoint_path, F_OK), 0);
    pv_ctx_free(ctx);
}

/* Truncation at every length, and every flipped byte, is rejected, and the file is left unchanged. */
static void refuses_damage(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    double x[20] = {1, 2, 3};
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, false));
    CHECK_OK(ctx, pv_checkpoint_facts(ctx, "`rate`=0.1\n"));
    CHECK_OK(ctx, pv_checkpoint_keep(ctx, "x", &(pv_field){x, sizeof x}, 1));
    CHECK_OK(ctx, pv_checkpoint_write(ctx));
    pv_checkpoint_close(ctx);
    size_t size, after;
    unsigned char *bytes = read_all(checkpoint_path, &size);
    for (size_t cut = 1; cut < size; cut++) { /* an empty file is a new checkpoint: begins_with_an_empty_file */
        write_all(checkpoint_path, bytes, cut);
        assert_int_equal(pv_checkpoint_open(ctx, checkpoint_path, 1e9, true), PV_ERR_FORMAT);
    }
    for (size_t at = 0; at < size; at++) {
        bytes[at] ^= 0x20;
        write_all(checkpoint_path, bytes, size);
        pv_status status = pv_checkpoint_open(ctx, checkpoint_path, 1e9, true);
        bool checksum =
            at > sizeof "prevail-checkpoint 1" && at < 60; /* a capital hexadecimal digit has the same value */
        assert_true(status == PV_ERR_FORMAT || (status == PV_OK && checksum));
        pv_checkpoint_close(ctx);
        unsigned char *left = read_all(checkpoint_path, &after);
        assert_int_equal(after, size);
        assert_memory_equal(left, bytes, size);
        free(left);
        bytes[at] ^= 0x20;
    }
    free(bytes);
    unlink(checkpoint_path);
    pv_ctx_free(ctx);
}

/* Names are found in any order of storing; in the file they are sorted and unique. */
static void keeps_many(void **state) {
    (void)state;
    enum { MANY = 500 };
    pv_ctx *ctx = check_ctx(1);
    bool found;
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, false));
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t value = i * 7 % MANY;
        size_t entered = pv_checkpoint_enter(ctx, value % 2 ? "odd" : "even", value);
        CHECK_OK(ctx, pv_checkpoint_keep(ctx, "value", &(pv_field){&value, sizeof value}, 1));
        pv_checkpoint_leave(ctx, entered);
    }
    CHECK_OK(ctx, pv_checkpoint_write(ctx));
    pv_checkpoint_close(ctx);
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, true));
    pv_checkpoint_drop(ctx, "odd/");
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t value = MANY;
        size_t entered = pv_checkpoint_enter(ctx, i % 2 ? "odd" : "even", i);
        CHECK_OK(ctx, pv_checkpoint_recall(ctx, "value", &(pv_field){&value, sizeof value}, 1, &found));
        pv_checkpoint_leave(ctx, entered);
        assert_int_equal(found, i % 2 == 0);
        assert_int_equal(value, i % 2 ? MANY : i);
    }
    CHECK_OK(ctx, pv_checkpoint_finish(ctx));
    pv_ctx_free(ctx);
}

/* Work nested too deeply for its name is rejected rather than confused with other work. */
static void refuses_deep_scopes(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    int x = 1;
    bool found;
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, false));
    size_t outside = pv_checkpoint_enter(ctx, "folds", 0);
    CHECK_OK(ctx, pv_checkpoint_keep(ctx, "x", &(pv_field){&x, sizeof x}, 1));
    for (size_t i = 0; i < 60; i++)
        pv_checkpoint_enter(ctx, "folds", i);
    assert_int_equal(pv_checkpoint_keep(ctx, "x", &(pv_field){&x, sizeof x}, 1), PV_ERR_USAGE);
    assert_int_equal(pv_checkpoint_recall(ctx, "x", &(pv_field){&x, sizeof x}, 1, &found), PV_ERR_USAGE);
    assert_int_equal(pv_checkpoint_size(ctx, "x"), 0);
    pv_checkpoint_drop(ctx, "");
    pv_checkpoint_leave(ctx, outside);
    outside = pv_checkpoint_enter(ctx, "folds", 0);
    assert_int_equal(pv_checkpoint_size(ctx, "x"), sizeof x);
    CHECK_OK(ctx, pv_checkpoint_finish(ctx));
    pv_ctx_free(ctx);
}

static void hear(void *state, pv_log_level level, const char *message) {
    if (level == PV_LOG_WARNING)
        snprintf(state, 400, "%s", message);
}

/* On another processor the work continues with a warning. */
static void warns_of_other_kernels(void **state) {
    (void)state;
    char heard[400] = "";
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(&(pv_ctx_options){.log = hear, .state = heard, .threads = 1}, &ctx), PV_OK);
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, false));
    CHECK_OK(ctx, pv_checkpoint_write(ctx));
    pv_checkpoint_close(ctx);
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, true));
    assert_string_equal(heard, "");
    char other[] = "mmx";
    CHECK_OK(ctx, pv_checkpoint_keep(ctx, "kernels", &(pv_field){other, 3}, 1));
    CHECK_OK(ctx, pv_checkpoint_write(ctx));
    pv_checkpoint_close(ctx);
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, true));
    assert_non_null(strstr(heard, "written with the kernels mmx"));
    CHECK_OK(ctx, pv_checkpoint_finish(ctx));
    pv_ctx_free(ctx);
}

/* ---- interruption and resumption --------------------------------------------------------------------------------- */

static bool is_interrupted(const pv_classifier *c) {
    return c->stop == PV_STOP_INTERRUPTED || (c->posterior && c->posterior->stop == PV_STOP_INTERRUPTED);
}

/* Interrupts after every `calls` steps until it is done, each time with a new context of one or two threads. Returns
 * how often. */
static int fit_in_pieces(const problem *p, const pv_fit_options *options, int64_t calls) {
    for (int piece = 0;; piece++) {
        assert_true(piece < 2000);
        pv_ctx *ctx = check_ctx(1 + piece % 2);
        pv_classifier *c = NULL;
        CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, true));
        pv__checkpoint_interrupt_after(ctx, calls + piece % 3);
        pv_status status = pv_fit(ctx, p->schema, p->data, options, &c);
        bool again = status == PV_ERR_INTERRUPTED || (status == PV_OK && is_interrupted(c));
        if (again) {
            CHECK_OK(ctx, pv_checkpoint_write(ctx));
        } else {
            CHECK_OK(ctx, status);
            CHECK_OK(ctx, pv_classifier_save(ctx, c, other_path));
            CHECK_OK(ctx, pv_checkpoint_finish(ctx));
        }
        pv_classifier_free(ctx, c);
        pv_ctx_free(ctx);
        if (!again)
            return piece;
    }
}

static void check_resumes(const problem *p, const pv_fit_options *options, int64_t calls, int least) {
    pv_ctx *ctx = check_ctx(2);
    pv_classifier *c;
    CHECK_OK(ctx, pv_fit(ctx, p->schema, p->data, options, &c));
    CHECK_OK(ctx, pv_classifier_save(ctx, c, model_path));
    pv_classifier_free(ctx, c);
    pv_ctx_free(ctx);
    assert_true(fit_in_pieces(p, options, calls) >= least);
    check_same_files(model_path, other_path);
}

static void resumes_minibatches(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    problem p = nodules(ctx, 60, 3);
    static const char *const designs[] = {"balanced", "uniform", "optimal", "counts:10,7"};
    static const pv_marginal marginals[] = {PV_MARGINAL_AUXILIARY_LINEAR, PV_MARGINAL_AUXILIARY_CONSTANT,
                                            PV_MARGINAL_PROFILE, PV_MARGINAL_AUXILIARY_CONSTANT};
    for (int i = 0; i < 4; i++) {
        pv_fit_options options = pv_fit_options_default();
        options.prevalence = "0.05";
        options.model = i % 2 ? "linear" : "mlp:4";
        options.marginal = (int)marginals[i];
        options.batch = "17";
        options.design = designs[i];
        options.epochs = 5;
        options.population_weight = options.epoch_weight = PV_WEIGHT_EXPECTED;
        options.auxiliary_rate = i == 3 ? 10 : 0;
        options.validation = i < 2 ? 0.2 : 0;
        options.patience = i < 1 ? 3 : 0;
        options.schedule = i == 2 ? "warmup:2,step:3:0.5" : "cosine";
        options.trace = i == 0;
        check_resumes(&p, &options, i == 0 ? 1 : 3, 4);
    }
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

static void resumes_images(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    pv_image_options image = {0};
    pv_options_default(pv_image_option_table, &image);
    image.views = 1;
    image.size = 8;
    problem p = discs(ctx, &image);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.1";
    options.model = "convnet:views=1,size=8,low=4,channels=8,features=4";
    options.marginal = PV_MARGINAL_AUXILIARY_LINEAR;
    options.batch = "16";
    options.epochs = 4;
    check_resumes(&p, &options, 2, 3);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

static void resumes_posteriors(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    problem p = nodules(ctx, 40, 4);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    options.draws = 200;
    options.infer = PV_INFER_VI;
    options.steps = 60;
    check_resumes(&p, &options, 13, 3);
    options.prevalence_n = "rows";
    check_resumes(&p, &options, 13, 3);
    options.marginal = PV_MARGINAL_AUXILIARY_LINEAR;
    options.batch = "20";
    options.epochs = 5;
    check_resumes(&p, &options, 11, 4);
    options.marginal = PV_MARGINAL_PROFILE;
    options.batch = "full";
    options.infer = PV_INFER_HMC;
    options.warmup = 60;
    check_resumes(&p, &options, 2, 3);
    options.model = "mlp:2"; /* the density without the fast path */
    options.draws = 100;
    options.warmup = 20;
    options.prior = "normal:1";
    check_resumes(&p, &options, 2, 2);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

/* Interrupts after every few steps until it is done. Returns how often. */
static int validate_in_pieces(const problem *p, const pv_fit_options *options, const pv_validation_options *how,
                              int64_t calls, pv_validation **v) {
    int pieces = 0;
    for (*v = NULL; !*v; pieces++) {
        assert_true(pieces < 1000);
        pv_ctx *own = check_ctx(1 + pieces % 2);
        CHECK_OK(own, pv_checkpoint_open(own, checkpoint_path, 1e9, true));
        pv__checkpoint_interrupt_after(own, calls);
        pv_status status = pv_cross_validate(own, p->schema, p->data, options, how, v);
        if (status == PV_ERR_INTERRUPTED)
            CHECK_OK(own, pv_checkpoint_write(own));
        else
            CHECK_OK(own, status);
        pv_ctx_free(own);
    }
    return pieces;
}

/* Finished folds are not repeated and begun ones continue, for all kinds of models. */
static void resumes_validations(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(2);
    problem p = nodules(ctx, 60, 5);
    int32_t *group = calloc(p.data->rows, sizeof *group);
    assert_non_null(group);
    for (size_t i = 0; i < p.data->rows; i++)
        group[i] = (int32_t)(i / 3);
    pv_validation_options how = pv_validation_options_default();
    how.bootstrap = 0;
    p.data->group = group;
    const int engines[] = {PV_INFER_MAP, PV_INFER_VI, PV_INFER_HMC};
    for (int i = 0; i < 3; i++) {
        pv_fit_options options = pv_fit_options_default();
        options.prevalence = "0.05";
        options.infer = engines[i];
        options.draws = 100;
        options.warmup = 40;
        options.steps = 20;
        options.batch = i ? "full" : "20";
        options.epochs = 6;
        options.validation = i ? 0 : 0.25;
        pv_validation *whole, *v, *none;
        CHECK_OK(ctx, pv_cross_validate(ctx, p.schema, p.data, &options, &how, &whole));
        assert_true(validate_in_pieces(&p, &options, &how, i ? 3 : 7, &v) > 3);
        size_t cells = p.data->rows * 2 * sizeof(double);
        assert_memory_equal(v->loglik, whole->loglik, cells);
        assert_memory_equal(v->log_p, whole->log_p, cells);
        how.folds = 4; /* different work */
        CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, true));
        assert_int_equal(pv_cross_validate(ctx, p.schema, p.data, &options, &how, &none), PV_ERR_USAGE);
        assert_non_null(strstr(pv_ctx_error(ctx)->message, "`folds` is 4 here and was 3 there"));
        how.folds = 3;
        pv_checkpoint_close(ctx);
        unlink(checkpoint_path);
        pv_validation_free(ctx, whole);
        pv_validation_free(ctx, v);
    }
    p.data->group = NULL;
    free(group);
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

static void refuses_other_work(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    problem p = nodules(ctx, 40, 6), q = nodules(ctx, 40, 7);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    options.batch = "16";
    options.epochs = 5;
    pv_classifier *c;
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, false));
    pv__checkpoint_interrupt_after(ctx, 5);
    CHECK_OK(ctx, pv_fit(ctx, p.schema, p.data, &options, &c));
    assert_true(is_interrupted(c));
    pv_classifier_free(ctx, c);
    CHECK_OK(ctx, pv_checkpoint_write(ctx));
    pv_checkpoint_close(ctx);
    pv_ctx_clear_interrupt(ctx);
    size_t size, after;
    unsigned char *bytes = read_all(checkpoint_path, &size);
    static const char *const named[] = {"`seed`", "model", "the data"};
    for (int i = 0; i < 3; i++) {
        pv_fit_options changed = options;
        changed.seed = i == 0 ? 2 : 1;
        changed.model = i == 1 ? "mlp:3" : "linear";
        CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, true));
        assert_int_equal(pv_fit(ctx, p.schema, i == 2 ? q.data : p.data, &changed, &c), PV_ERR_USAGE);
        assert_non_null(strstr(pv_ctx_error(ctx)->message, named[i]));
        assert_null(c);
        pv_checkpoint_close(ctx);
    }
    unsigned char *left = read_all(checkpoint_path, &after);
    assert_int_equal(after, size);
    assert_memory_equal(left, bytes, size);
    free(left);
    free(bytes);
    unlink(checkpoint_path);
    /* Another population sample is different work too. */
    options.batch = "full";
    options.infer = PV_INFER_VI;
    options.draws = 100;
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, false));
    options.sample = q.data;
    CHECK_OK(ctx, pv_fit(ctx, p.schema, p.data, &options, &c));
    pv_classifier_free(ctx, c);
    CHECK_OK(ctx, pv_checkpoint_write(ctx));
    pv_checkpoint_close(ctx);
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, true));
    q.data->x[0] += 1;
    assert_int_equal(pv_fit(ctx, p.schema, p.data, &options, &c), PV_ERR_USAGE);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "the population sample"));
    pv_checkpoint_close(ctx);
    unlink(checkpoint_path);
    problem_free(ctx, &p);
    problem_free(ctx, &q);
    pv_ctx_free(ctx);
}

/* ---- validation rows, schedules, the trace ----------------------------------------------------------------------- */

static void follows_schedules(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    pv__schedule s;
    CHECK_OK(ctx, pv__schedule_parse(ctx, "cosine", 10, &s));
    CHECK_NEAR(pv__schedule_at(&s, 0, 0.1), 1, 1e-15);
    CHECK_NEAR(pv__schedule_at(&s, 5, 5.1), 0.5, 1e-15);
    CHECK_NEAR(pv__schedule_at(&s, 2.5, 2.6), 0.5 * (1 + sqrt(0.5)), 1e-15);
    CHECK_OK(ctx, pv__schedule_parse(ctx, "constant", 10, &s));
    CHECK_NEAR(pv__schedule_at(&s, 9.9, 10), 1, 0);
    CHECK_OK(ctx, pv__schedule_parse(ctx, "step:3:0.5", 10, &s));
    CHECK_NEAR(pv__schedule_at(&s, 2.9, 3), 1, 0);
    CHECK_NEAR(pv__schedule_at(&s, 3, 3.1), 0.5, 0);
    CHECK_NEAR(pv__schedule_at(&s, 9.5, 9.6), 0.125, 0);
    CHECK_OK(ctx, pv__schedule_parse(ctx, "warmup:2,cosine", 10, &s));
    CHECK_NEAR(pv__schedule_at(&s, 0, 0.5), 0.25, 1e-15);
    CHECK_NEAR(pv__schedule_at(&s, 1.5, 2), 1, 1e-15);
    CHECK_NEAR(pv__schedule_at(&s, 6, 6.5), 0.5, 1e-15);
    static const char *const bad[] = {
        "",         "linear",           "step",    "step:3",      "step:0:0.5",       "step:3:2",
        "warmup:2", "warmup:10,cosine", "cosine,", "step:3:0.5x", "warmup:-1,cosine", "warmup:2, cosine"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(pv__schedule_parse(ctx, bad[i], 10, &s), PV_ERR_USAGE);
    pv_ctx_free(ctx);
}

/* The trace's last row is that of the final model, and the best score belongs to the kept parameters. */
static void traces_and_stops_early(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    problem p = nodules(ctx, 150, 8);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    options.prevalence_n = "rows"; /* no matching at the end, so the last epoch's marginal is the model's */
    options.marginal = PV_MARGINAL_AUXILIARY_CONSTANT;
    options.model = "mlp:16";
    options.batch = "30";
    options.epochs = 12;
    options.trace = true;
    pv_classifier *c;
    CHECK_OK(ctx, pv_fit(ctx, p.schema, p.data, &options, &c));
    assert_int_equal(c->trace->count, 12);
    assert_int_equal(c->trace->row[11].step, c->iterations);
    for (size_t y = 0; y < 2; y++)
        CHECK_NEAR(c->trace->exact[11 * 2 + y], exp(c->log_marginal[y]), 1e-12);
    for (size_t i = 0; i < 12; i++) {
        assert_true(isnan(c->trace->row[i].validation));
        CHECK_NEAR(c->trace->used[2 * i] + c->trace->used[2 * i + 1], 1, 1e-12);
    }
    pv_classifier_free(ctx, c);
    options.validation = 0.3;
    options.patience = 4;
    options.epochs = 300;
    options.rate = 0.05;
    options.schedule = "constant";
    options.prior = "none";
    CHECK_OK(ctx, pv_fit(ctx, p.schema, p.data, &options, &c));
    assert_int_equal(c->stop, PV_STOP_EARLY);
    assert_int_equal(c->validation_rows, 90);
    assert_int_equal(c->rows, 210);
    size_t best = 0, n = c->trace->count;
    for (size_t i = 1; i < n; i++)
        if (c->trace->row[i].validation < c->trace->row[best].validation)
            best = i;
    assert_int_equal(n - 1 - best, 4);
    CHECK_NEAR(c->validation, c->trace->row[best].validation, 0);
    for (size_t y = 0; y < 2; y++) /* w is that of the best epoch */
        CHECK_NEAR(c->trace->exact[best * 2 + y], exp(c->log_marginal[y]), 1e-12);
    pv_classifier_free(ctx, c);
    options.rate = 1000;
    options.prior = "normal:2.5";
    CHECK_OK(ctx, pv_fit(ctx, p.schema, p.data, &options, &c));
    assert_int_equal(c->stop, PV_STOP_DIVERGED);
    pv_classifier_free(ctx, c);
    options.validation = 0;
    assert_int_equal(pv_fit(ctx, p.schema, p.data, &options, &c), PV_ERR_USAGE); /* patience requires validation rows */
    problem_free(ctx, &p);
    pv_ctx_free(ctx);
}

/* The score compared with the formula, row by row, for hard and for soft labels. */
static void scores_validation_rows(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    enum { N = 4, K = 2 };
    double x[N] = {-1, 0, 1, 2}, w[2] = {0.3, 0.7}, prevalence[K] = {0.9, 0.1}, design[K] = {0.5, 0.5};
    int32_t label[N] = {0, 1, 0, 1};
    double soft[N * K] = {0.8, 0.2, 0.5, 0.5, 1, 0, 0.3, 0.7}, weight[N] = {1, 2, 1, 0.5};
    char zero[] = "0", one[] = "1", *labels[] = {zero, one};
    pv_model *model;
    CHECK_OK(ctx, pv_model_new(ctx, "linear", 1, K, &model));
    for (int kind = 0; kind < 4; kind++) { /* hard or soft; ig or plain */
        pv_fit_options options = pv_fit_options_default();
        options.loss = kind / 2 ? PV_LOSS_PLAIN : PV_LOSS_IG;
        pv_dataset held = {.rows = N,
                           .features = 1,
                           .classes = K,
                           .x = x,
                           .label = label,
                           .weight = weight,
                           .frequency = kind % 2 ? soft : NULL};
        const pv__plan plan = {.options = options, .has_prevalence = true};
        pv__problem rows = {.plan = &plan,
                            .design = &one_stratum,
                            .model = model,
                            .rows = {.n = N},
                            .targets = pv_dataset_targets(&held),
                            .label_share = design,
                            .population = {.classes = K, .prevalence = prevalence, .prevalence_n = 10}};
        pv__holdout *h = NULL;
        double got, wanted = 0, mass[K] = {0};
        CHECK_OK(ctx, pv__holdout_new(ctx, &rows, &held, labels, &h));
        CHECK_OK(ctx, pv__holdout_score(ctx, h, NULL, w, &got));
        for (int n = 0; n < N; n++)
            for (int y = 0; y < K; y++)
                mass[y] += weight[n] * (kind % 2 ? soft[n * K + y] : label[n] == y);
        for (int n = 0; n < N; n++) {
            double odds = exp(w[0] + w[1] * x[n]) * (kind / 2 ? (0.1 / 0.5) / (0.9 / 0.5) : 1);
            double q[K] = {1 / (1 + odds), odds / (1 + odds)};
            for (int y = 0; y < K; y++)
                wanted -=
                    weight[n] * (kind % 2 ? soft[n * K + y] : label[n] == y) * prevalence[y] / mass[y] * log(q[y]);
        }
        CHECK_NEAR(got, wanted, 1e-14);
        pv__holdout_free(ctx, h);
    }
    weight[1] = weight[3] = 0;
    pv_fit_options options = pv_fit_options_default();
    pv_dataset held = {.rows = N, .features = 1, .classes = K, .x = x, .label = label, .weight = weight};
    const pv__plan plan = {.options = options};
    pv__problem rows = {
        .plan = &plan, .design = &one_stratum, .model = model, .rows = {.n = N}, .targets = pv_dataset_targets(&held)};
    pv__holdout *h = NULL;
    assert_int_equal(pv__holdout_new(ctx, &rows, &held, labels, &h), PV_ERR_INPUT);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "`validation`: label '1' has no row among the 4 held out"));
    pv__holdout_free(ctx, h);
    pv_model_free(ctx, model);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_and_recalls),
        cmocka_unit_test(refuses_damage),
        cmocka_unit_test(keeps_many),
        cmocka_unit_test(refuses_deep_scopes),
        cmocka_unit_test(warns_of_other_kernels),
        cmocka_unit_test(resumes_minibatches),
        cmocka_unit_test(resumes_images),
        cmocka_unit_test(resumes_posteriors),
        cmocka_unit_test(resumes_validations),
        cmocka_unit_test(refuses_other_work),
        cmocka_unit_test(follows_schedules),
        cmocka_unit_test(traces_and_stops_early),
        cmocka_unit_test(scores_validation_rows),
    };
    return cmocka_run_group_tests_name("checkpoint", tests, make_folder, remove_folder);
}
