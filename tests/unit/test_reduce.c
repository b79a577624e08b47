/* Sums over rows that several processes share: threads stand for them, each with a part of the rows and a context of
 * its own. Where the parts end with a chunk every process has the bits of one that has all rows. */
#include <pthread.h>

#include "base/reduce.h"
#include "core/vector.h"
#include "fixture.h"

enum { RANKS_MAX = 3, CHUNKS = 5, N = CHUNKS * PV_CHUNK - 100, CLASSES_MAX = 3 };

/* ---- ranks that are threads -------------------------------------------------------------------------------------- */

typedef struct cluster {
    int size;
    pthread_barrier_t barrier;
    const double *sums[RANKS_MAX];
    size_t groups[RANKS_MAX];
    double *value[RANKS_MAX];
    int calls;
    bool broken;
} cluster;

typedef struct member {
    cluster *all;
    pv__reduce reduce;
} member;

static pv_status sum_over(pv_ctx *own, void *state, size_t groups, size_t width, const double *sums, double *total) {
    const member *m = state;
    cluster *all = m->all;
    if (all->broken)
        return pv__fail(own, PV_ERR_INTERNAL, "the connection was lost");
    all->sums[m->reduce.rank] = sums;
    all->groups[m->reduce.rank] = groups;
    all->calls += m->reduce.rank == 0;
    pthread_barrier_wait(&all->barrier);
    double *added = calloc(width, sizeof *added);
    assert_non_null(added);
    for (int r = 0; r < all->size; r++)
        for (size_t g = 0; g < all->groups[r]; g++)
            for (size_t i = 0; i < width; i++)
                added[i] += all->sums[r][g * width + i];
    pthread_barrier_wait(&all->barrier);
    memcpy(total, added, width * sizeof *total);
    free(added);
    return PV_OK;
}

static pv_status least_over(pv_ctx *own, void *state, size_t n, double *value) {
    (void)own;
    const member *m = state;
    cluster *all = m->all;
    all->value[m->reduce.rank] = value;
    pthread_barrier_wait(&all->barrier);
    double *found = malloc(n * sizeof *found);
    assert_non_null(found);
    memcpy(found, all->value[0], n * sizeof *found);
    for (int r = 1; r < all->size; r++)
        for (size_t i = 0; i < n; i++)
            found[i] = fmin(found[i], all->value[r][i]);
    pthread_barrier_wait(&all->barrier);
    memcpy(value, found, n * sizeof *value);
    free(found);
    return PV_OK;
}

/* ---- the losses -------------------------------------------------------------------------------------------------- */

static double loglik[N * CLASSES_MAX], weight[N];
static int32_t label[N];

static const struct {
    pv_loss loss;
    pv_marginal marginal;
    double strength;
} kinds[] = {{PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, 10}, {PV_LOSS_IW, PV_MARGINAL_PROFILE, 10},
             {PV_LOSS_IG, PV_MARGINAL_PLUGIN, 10},     {PV_LOSS_IG, PV_MARGINAL_PROFILE, 10},
             {PV_LOSS_IG, PV_MARGINAL_PROFILE, 1e6},   {PV_LOSS_IG, PV_MARGINAL_PROFILE, HUGE_VAL}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void fill(int classes) {
    for (size_t i = 0; i < N; i++) {
        double logit[CLASSES_MAX];
        label[i] = (int32_t)(random_bits() % (uint64_t)classes);
        weight[i] = 1 + (double)(random_bits() % 3);
        for (int y = 0; y < classes; y++)
            logit[y] = (double)(random_bits() % 1000) / 250 - 2 + (y == label[i]) - y;
        pv_log_softmax(classes, logit, loglik + i * (size_t)classes);
    }
}

typedef struct job {
    member who;
    size_t kind, begin, rows;
    int classes;
    double value, marginal[CLASSES_MAX];
    double *dloglik; /* [N][classes], of all ranks */
    pv_status status;
} job;

static void *evaluate(void *state) {
    job *j = state;
    static const double prevalence[2][CLASSES_MAX] = {{0.8, 0.2}, {0.7, 0.2, 0.1}};
    size_t k = (size_t)j->classes;
    pv_ctx *own;
    assert_int_equal(pv_ctx_new(&(pv_ctx_options){.threads = 1}, &own), PV_OK);
    own->reduce = &j->who.reduce;
    pv_targets targets = {.n = j->rows, .classes = j->classes, .label = label + j->begin, .weight = weight + j->begin};
    pv_prevalence population = {
        .classes = j->classes, .prevalence = prevalence[j->classes - 2], .prevalence_n = kinds[j->kind].strength};
    pv_full_loss *full = NULL;
    j->status = pv_full_loss_new(own, kinds[j->kind].loss, kinds[j->kind].marginal, &targets, &population, &full);
    if (j->status == PV_OK)
        j->status = pv_full_loss_eval(own, full, loglik + j->begin * k, &j->value, j->dloglik + j->begin * k);
    if (j->status == PV_OK && pv_full_loss_log_marginal(full))
        memcpy(j->marginal, pv_full_loss_log_marginal(full), k * sizeof(double));
    pv_full_loss_free(own, full);
    pv_ctx_free(own);
    return NULL;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the threads write there */
static void run(cluster *all, size_t kind, int classes, double *dloglik, job *jobs) {
    pthread_t thread[RANKS_MAX];
    assert_int_equal(pthread_barrier_init(&all->barrier, NULL, (unsigned)all->size), 0);
    for (int r = 0; r < all->size; r++) {
        size_t from = (size_t)r * CHUNKS / (size_t)all->size * PV_CHUNK;
        size_t to = r + 1 == all->size ? N : (size_t)(r + 1) * CHUNKS / (size_t)all->size * PV_CHUNK;
        jobs[r] = (job){.who = {all, {r, all->size, NULL, sum_over, least_over, NULL}},
                        .kind = kind,
                        .begin = from,
                        .rows = to - from,
                        .classes = classes,
                        .dloglik = dloglik};
        jobs[r].who.reduce.state = &jobs[r].who;
        assert_int_equal(pthread_create(&thread[r], NULL, evaluate, &jobs[r]), 0);
    }
    for (int r = 0; r < all->size; r++)
        assert_int_equal(pthread_join(thread[r], NULL), 0);
    pthread_barrier_destroy(&all->barrier);
}

static void the_same_bits_for_any_number(void **state) {
    (void)state;
    double *one = malloc(sizeof loglik), *several = malloc(sizeof loglik);
    assert_non_null(one);
    assert_non_null(several);
    for (int classes = 2; classes <= CLASSES_MAX; classes++) {
        size_t k = (size_t)classes;
        fill(classes);
        for (size_t kind = 0; kind < KINDS; kind++) {
            job alone = {.who.reduce = pv__reduce_alone, .kind = kind, .rows = N, .classes = classes, .dloglik = one};
            evaluate(&alone);
            assert_int_equal(alone.status, PV_OK);
            for (int size = 1; size <= RANKS_MAX; size++) {
                cluster all = {.size = size};
                job jobs[RANKS_MAX] = {0};
                run(&all, kind, classes, several, jobs);
                assert_true(all.calls > 0);
                for (int r = 0; r < size; r++) {
                    assert_int_equal(jobs[r].status, PV_OK);
                    same_bits(jobs[r].value, alone.value);
                    for (size_t y = 0; y < k; y++)
                        same_bits(jobs[r].marginal[y], alone.marginal[y]);
                }
                assert_memory_equal(one, several, N * k * sizeof(double));
            }
        }
    }
    free(one);
    free(several);
}

/* A failure comes out as one, with its words, wherever in the work it was. */
static void a_failure_is_told(void **state) {
    (void)state;
    double *d = malloc(sizeof loglik);
    assert_non_null(d);
    fill(2);
    for (size_t kind = 0; kind < KINDS; kind++) {
        cluster all = {.size = 1, .broken = true};
        job jobs[RANKS_MAX] = {0};
        run(&all, kind, 2, d, jobs);
        assert_int_equal(jobs[0].status, PV_ERR_INTERNAL);
    }
    free(d);
}

/* ---- a fit: all that it sums goes that way -------------------------------------------------------------------------
 */

static int counted;

static pv_status count_sum(pv_ctx *own, void *state, size_t groups, size_t width, const double *sums, double *total) {
    (void)state;
    counted++;
    return pv__reduce_alone.sum(own, NULL, groups, width, sums, total);
}

static pv_status lost_sum(pv_ctx *own, void *state, size_t groups, size_t width, const double *sums, double *total) {
    (void)state;
    if (counted-- > 0)
        return pv__reduce_alone.sum(own, NULL, groups, width, sums, total);
    return pv__fail(own, PV_ERR_INTERNAL, "the connection was lost");
}

static pv_status fit(pv_ctx *own, const pv_schema *schema, const pv_dataset *data, int loss, double *w) {
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.2";
    options.loss = loss;
    pv_classifier *made = NULL;
    pv_status status = pv_fit(own, schema, data, &options, &made);
    if (status == PV_OK)
        memcpy(w, made->w, 2 * sizeof *w);
    pv_classifier_free(own, made);
    return status;
}

static void fits_sum_by_it(void **state) {
    (void)state;
    pv_table *table = read_text("x,y\n1,0\n2,1\n3,0\n4,1\n2.5,1\n1.5,0\n3.5,1\n4.5,0\n");
    pv_roles roles = {.target = "y"};
    pv_schema *schema;
    pv_dataset *data;
    ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
    for (int loss = PV_LOSS_IG; loss <= PV_LOSS_PLAIN; loss++) {
        double alone[2] = {0}, summed[2] = {0};
        pv__reduce counting = pv__reduce_alone, lost = pv__reduce_alone;
        counting.sum = count_sum;
        lost.sum = lost_sum;
        ok(fit(ctx, schema, data, loss, alone));
        pv_ctx *own = check_ctx(1);
        own->reduce = &counting;
        counted = 0;
        CHECK_OK(own, fit(own, schema, data, loss, summed));
        assert_true(counted >= 3); /* one for each evaluation at least */
        same_bits(alone[0], summed[0]);
        same_bits(alone[1], summed[1]);
        pv_ctx_free(own);
        own = check_ctx(1);
        own->reduce = &lost;
        counted = 2;
        assert_int_equal(fit(own, schema, data, loss, summed), PV_ERR_INTERNAL);
        assert_string_equal(pv_ctx_error(own)->message, "the connection was lost");
        pv_ctx_free(own);
    }
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_bits_for_any_number),
                                       cmocka_unit_test(a_failure_is_told), cmocka_unit_test(fits_sum_by_it)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
