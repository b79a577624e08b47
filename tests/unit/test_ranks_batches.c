/* Minibatches whose rows several processes share, simulated by threads with their own contexts. Each must give the same
 * bytes as a single process, also if stopped and resumed with another number of processes. */
#include <stdlib.h>

#include "base/base.h"
#include "base/tree.h"
#include "ranks.h"
#include "unit/problem.h"

/* ---- trees of groups --------------------------------------------------------------------------------------------- */

enum { GROUPS_MOST = 20, SIZES_MOST = 7, WIDTH = 2 };

static double leaf(size_t group, size_t i) {
    return 1 / (3.0 + (double)group) * (i ? -1e8 : 1);
}

/* The sums of a rank's limbs, as one process has them; then all together. */
static void share_tree(size_t groups, int size, double *total) {
    double all[SIZES_MOST][GROUPS_MOST][WIDTH];
    pv__tree tree = {0};
    pv_ctx *own = check_ctx(1);
    size_t covered = 0;
    for (int r = 0; r < size; r++) {
        own->ranks.calls = (pv_ranks){.rank = r, .size = size};
        tree = pv__tree_of(own, true, groups);
        assert_int_equal(tree.shared, size > 1);
        assert_int_equal(tree.first, covered);
        assert_true(tree.limbs <= tree.most);
        for (size_t l = 0; l < tree.limbs; l++) {
            assert_int_equal(tree.limb[l].first, covered);
            for (size_t i = 0; i < WIDTH; i++) {
                pv__tree_adder sum = {.count = 0};
                for (size_t g = covered; g < tree.limb[l].last; g++)
                    pv__tree_add(&sum, leaf(g, i));
                all[r][l][i] = pv__tree_total(&sum);
            }
            covered = tree.limb[l].last;
        }
        assert_int_equal(tree.last, covered);
    }
    assert_int_equal(covered, groups);
    if (size == 2 && (groups & (groups - 1)) == 0 && groups > 1)
        assert_int_equal(tree.most, 1); /* for any number of groups per rank */
    pv__tree_join(own, &tree, WIDTH, (size_t)GROUPS_MOST * WIDTH, all[0][0], total);
    own->ranks.calls = (pv_ranks){0};
    pv_ctx_free(own);
}

static void the_same_sums(void **state) {
    (void)state;
    for (size_t groups = 1; groups <= GROUPS_MOST; groups++) {
        double alone[WIDTH], shared[WIDTH];
        share_tree(groups, 1, alone);
        double plain = 0;
        for (size_t g = 0; g < groups; g++)
            plain += leaf(g, 0);
        CHECK_NEAR(alone[0], plain, 1e-14 * plain);
        for (int size = 2; size <= SIZES_MOST; size++) {
            share_tree(groups, size, shared);
            assert_memory_equal(shared, alone, sizeof alone);
        }
    }
}

/* ---- fits -------------------------------------------------------------------------------------------------------- */

typedef struct job {
    const problem *from;
    const pv_fit_options *options;
    int threads;
    int64_t stops; /* steps until this one is interrupted; 0: never. A checkpoint is opened if anything else is set */
    bool kept;
    member who;
    pv_status status;
    bool interrupted;
    char message[512];
    unsigned char *bytes;
    size_t size;
} job;

static pv_status fit_job(pv_ctx *own, job *j) {
    pv_classifier *made = NULL;
    pv_status status = PV_OK;
    if (j->kept)
        status = pv_checkpoint_open(own, path, 1e9, true);
    if (status == PV_OK && j->stops)
        pv__checkpoint_interrupt_after(own, j->stops);
    if (status == PV_OK)
        status = pv_fit(own, j->from->schema, j->from->data, j->options, &made);
    j->interrupted = status == PV_ERR_INTERRUPTED ||
                     (status == PV_OK && (made->stop == PV_STOP_INTERRUPTED ||
                                          (made->posterior && made->posterior->stop == PV_STOP_INTERRUPTED)));
    if (j->kept && j->interrupted)
        status = pv_checkpoint_write(own);
    else if (status == PV_OK)
        status = pv_classifier_to_bytes(own, made, &j->bytes, &j->size);
    unsigned char *copy = j->bytes ? malloc(j->size) : NULL; /* outlives the context */
    if (copy)
        memcpy(copy, j->bytes, j->size);
    pv_bytes_free(own, j->bytes);
    j->bytes = copy;
    pv_classifier_free(own, made);
    return status;
}

static void *run_job(void *state) {
    job *j = state;
    pv_ctx *own = check_ctx(j->threads);
    j->status = member_joins(own, &j->who);
    if (j->status == PV_OK)
        j->status = fit_job(own, j);
    j->status = pv_ranks_end(own, j->status);
    if (j->status != PV_OK)
        snprintf(j->message, sizeof j->message, "%s", pv_ctx_error(own)->message);
    pv_ctx_free(own);
    return NULL;
}

static void run_all(job *jobs, int size, int left) {
    cluster all = {.size = size, .left = left};
    for (int r = 0; r < size; r++)
        jobs[r].who = (member){&all, r};
    cluster_run(&all, run_job, jobs, sizeof *jobs);
}

static job fit_alone(const problem *p, const pv_fit_options *options) {
    job alone = {.from = p, .options = options, .threads = 1};
    run_job(&alone);
    if (alone.status != PV_OK)
        print_error("%s\n", alone.message);
    assert_int_equal(alone.status, PV_OK);
    return alone;
}

static void is_the_same(job *j, const job *alone) {
    if (j->status != PV_OK)
        print_error("rank %d: %s\n", j->who.rank, j->message);
    assert_int_equal(j->status, PV_OK);
    assert_int_equal(j->size, alone->size);
    assert_memory_equal(j->bytes, alone->bytes, alone->size);
    free(j->bytes);
}

/* Alone, and with 2 to 4 ranks of 1 to 3 threads. */
static void same_for_any_number(const problem *p, const pv_fit_options *options) {
    job alone = fit_alone(p, options);
    for (int size = 2; size <= RANKS_MAX; size++) {
        job jobs[RANKS_MAX] = {0};
        for (int r = 0; r < size; r++)
            jobs[r] = (job){.from = p, .options = options, .threads = 1 + r % 3};
        run_all(jobs, size, -1);
        for (int r = 0; r < size; r++)
            is_the_same(&jobs[r], &alone);
    }
    free(alone.bytes);
}

/* Some have fewer groups than ranks, or an incomplete one. */
static const struct {
    const char *model, *batch, *design;
    pv_loss loss;
    pv_marginal marginal;
    int implementation; /* from 0 */
    double validation;
    pv_inference infer;
} kinds[] = {
    {"linear", "100", "balanced", PV_LOSS_IG, PV_MARGINAL_AUXILIARY_CONSTANT, 1, 0, PV_INFER_MAP},
    {"linear", "70", "uniform", PV_LOSS_IG, PV_MARGINAL_AUXILIARY_LINEAR, 1, 0, PV_INFER_MAP},
    {"linear", "150", "balanced", PV_LOSS_IG, PV_MARGINAL_AUXILIARY_LINEAR, 2, 0.2, PV_INFER_MAP},
    {"linear", "200", "balanced", PV_LOSS_IG, PV_MARGINAL_PROFILE, 1, 0, PV_INFER_MAP},
    {"linear", "33", "balanced", PV_LOSS_IW, PV_MARGINAL_PROFILE, 1, 0, PV_INFER_ML},
    {"linear", "64", "optimal", PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, 1, 0, PV_INFER_MAP},
    {"mlp:5,3", "97", "balanced", PV_LOSS_IG, PV_MARGINAL_PROFILE, 1, 0.2, PV_INFER_MAP},
    {"mlp:4,ordinal", "120", "balanced", PV_LOSS_IG, PV_MARGINAL_AUXILIARY_CONSTANT, 0, 0, PV_INFER_MAP},
    {"ordinal", "90", "counts:50,40", PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, 1, 0, PV_INFER_MAP},
    {"linear", "100", "balanced", PV_LOSS_IG, PV_MARGINAL_AUXILIARY_LINEAR, 1, 0, PV_INFER_VI},
    {"mlp:3", "16", "balanced", PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, 1, 0, PV_INFER_LAPLACE},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static pv_fit_options options_of(size_t kind) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.05";
    options.model = kinds[kind].model;
    options.batch = kinds[kind].batch;
    options.design = kinds[kind].design;
    options.loss = (int)kinds[kind].loss;
    options.marginal = (int)kinds[kind].marginal;
    options.implementation = kinds[kind].implementation;
    options.validation = kinds[kind].validation;
    options.patience = kinds[kind].validation > 0 ? 2 : 0;
    options.infer = (int)kinds[kind].infer;
    if (kinds[kind].infer == PV_INFER_VI)
        options.prevalence_n = "100";
    options.population_weight = options.epoch_weight = PV_WEIGHT_EXPECTED;
    options.prior = "normal:1";
    options.epochs = 3;
    options.components = 2;
    options.steps = 20;
    options.draws = 100;
    return options;
}

static void the_same_bytes(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(1);
    problem p = nodules(own, 150, 3);
    for (size_t k = 0; k < KINDS; k++) {
        pv_fit_options options = options_of(k);
        same_for_any_number(&p, &options);
    }
    problem_free(own, &p);
    pv_ctx_free(own);
}

static problem images(pv_ctx *own) {
    pv_image_options image = {0};
    pv_options_default(pv_image_option_table, &image);
    image.views = 9;
    image.size = 8;
    return discs(own, &image);
}

/* A part has four rows: of 18, the fifth has two. Dropout does not depend on the rank. */
static pv_fit_options network_options(void) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.1";
    options.model = "convnet:views=9,size=8,low=4,channels=8,features=4,dropout=0.3";
    options.marginal = PV_MARGINAL_AUXILIARY_LINEAR;
    options.batch = "18";
    options.epochs = 2;
    return options;
}

static void the_same_network(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(1);
    problem p = images(own);
    pv_fit_options options = network_options();
    same_for_any_number(&p, &options);
    options.model = "inception:views=9,size=8,low=4,channels=8,features=4,output=ordinal";
    options.marginal = PV_MARGINAL_AUXILIARY_CONSTANT;
    options.implementation = 2;
    options.freeze_low = true;
    options.validation = 0.25;
    if (!SANITIZED)
        same_for_any_number(&p, &options);
    problem_free(own, &p);
    pv_ctx_free(own);
}

/* Stopped after a few steps, each time by another rank, and resumed with another number of ranks. */
static void same_in_pieces(const problem *p, const pv_fit_options *options, int64_t stops) {
    job alone = fit_alone(p, options), jobs[RANKS_MAX];
    assert_int_equal(remove(path), 0);
    int piece = 0;
    for (bool again = true; again; piece++) {
        int size = 1 + piece % RANKS_MAX;
        assert_true(piece < 100);
        memset(jobs, 0, sizeof jobs);
        for (int r = 0; r < size; r++)
            jobs[r] = (job){.from = p, .options = options, .threads = 1 + r % 2, .kept = true};
        jobs[piece % size].stops = stops;
        run_all(jobs, size, -1);
        again = jobs[0].interrupted;
        for (int r = 0; r < size; r++) {
            assert_int_equal(jobs[r].status, PV_OK);
            assert_int_equal(jobs[r].interrupted, again);
            if (!again)
                is_the_same(&jobs[r], &alone);
        }
    }
    assert_true(piece > 4); /* at least once with each number of ranks */
    free(alone.bytes);
}

static void stopped_and_continued(void **state) {
    (void)state;
    static const size_t some[] = {1, 6, 9};
    pv_ctx *own = check_ctx(1);
    problem p = nodules(own, 150, 3), q = images(own);
    for (size_t i = 0; i < (SANITIZED ? 1 : 3); i++) {
        pv_fit_options options = options_of(some[i]);
        options.epochs = 6;
        same_in_pieces(&p, &options, 2);
    }
    pv_fit_options options = network_options();
    options.epochs = 3;
    same_in_pieces(&q, &options, 1);
    problem_free(own, &p);
    problem_free(own, &q);
    pv_ctx_free(own);
}

/* If the connection is lost at any exchange, all ranks end with an error. */
static void a_lost_connection_is_told(void **state) {
    (void)state;
    pv_ctx *own = check_ctx(1);
    problem p = nodules(own, 150, 3);
    pv_fit_options options = options_of(0);
    for (int left = 5; left < 40; left += SANITIZED ? 11 : 3) {
        job jobs[2];
        for (int r = 0; r < 2; r++)
            jobs[r] = (job){.from = &p, .options = &options, .threads = 1};
        run_all(jobs, 2, left);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(jobs[r].status, PV_ERR_INTERNAL);
            assert_non_null(strstr(jobs[r].message, "lost its connection"));
            assert_null(jobs[r].bytes);
        }
    }
    problem_free(own, &p);
    pv_ctx_free(own);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_sums), cmocka_unit_test(the_same_bytes),
                                       cmocka_unit_test(the_same_network), cmocka_unit_test(stopped_and_continued),
                                       cmocka_unit_test(a_lost_connection_is_told)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
