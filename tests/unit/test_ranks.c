/* Fits whose rows several processes share, simulated by threads with their own contexts. Each must give the same bytes
 * as a single process. */
#include <stdlib.h>

#include "base/reduce.h"
#include "fixture.h"
#include "ranks.h"

enum { ROWS = 5 * 4096 - 100, COLUMNS = 3 };

/* ---- data -------------------------------------------------------------------------------------------------------- */

typedef struct sample {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
} sample;

static double uniform(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 33) / 2147483648.0;
}

static void make(sample *s, size_t rows, int classes, bool weighted) {
    uint64_t seed = 7;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("a,b,c,w,y\n", file);
    for (size_t i = 0; i < rows; i++) {
        double x[COLUMNS], odds = -0.5;
        for (int j = 0; j < COLUMNS; j++) {
            x[j] = 4 * uniform(&seed) - 2;
            odds += x[j] * (j - 0.7);
        }
        double u = uniform(&seed), p = 1 / (1 + exp(-odds));
        fprintf(file, "%.6g,%.6g,%.6g,%d,%d\n", x[0], x[1], x[2], 1 + (int)(3 * uniform(&seed)),
                u < p                                  ? 0
                : classes == 2 || uniform(&seed) < 0.6 ? 1
                                                       : 2);
    }
    assert_int_equal(fclose(file), 0);
    s->table = must_read(NULL);
    pv_roles roles = {.target = "y", .weights = weighted ? "w" : NULL, .exclude = weighted ? NULL : "w"};
    ok(pv_schema_learn(ctx, s->table, &roles, &s->schema, &s->data));
}

static void clear(sample *s) {
    pv_dataset_free(ctx, s->data);
    pv_schema_free(ctx, s->schema);
    pv_table_free(ctx, s->table);
}

/* ---- fits -------------------------------------------------------------------------------------------------------- */

typedef struct job {
    const sample *from;
    const pv_dataset *data; /* NULL: those of the sample */
    pv_fit_options options;
    int threads;
    bool ends_at_once; /* ends with a failure instead of fitting */
    bool stopped;      /* interrupted while reading its data */
    const char *file;  /* reads this file and learns from it; NULL: uses the sample */
    pv_roles roles;
    member who;
    pv_status status, ended;
    char message[512];
    unsigned char *bytes;
    size_t size;
} job;

static pv_status read_and_fit(pv_ctx *own, const job *j, pv_classifier **made) {
    sample s = {0};
    pv_status status = pv_table_read(own, j->file, NULL, &s.table);
    if (status == PV_OK)
        status = pv_schema_learn(own, s.table, &j->roles, &s.schema, &s.data);
    if (status == PV_OK)
        status = pv_fit(own, s.schema, s.data, &j->options, made);
    pv_dataset_free(own, s.data);
    pv_schema_free(own, s.schema);
    pv_table_free(own, s.table);
    return status;
}

static void *run_job(void *state) {
    job *j = state;
    pv_ctx *own = check_ctx(j->threads);
    pv_classifier *made = NULL;
    j->status = member_joins(own, &j->who);
    if (j->status == PV_OK && j->stopped) {
        pv_table *table = NULL;
        pv_ctx_interrupt(own);
        j->status = pv_table_read(own, path, NULL, &table);
        pv_table_free(own, table);
    }
    if (j->status == PV_OK && j->ends_at_once)
        j->status = PV_ERR_MEMORY;
    else if (j->status == PV_OK && j->file)
        j->status = read_and_fit(own, j, &made);
    else if (j->status == PV_OK)
        j->status = pv_fit(own, j->from->schema, j->data ? j->data : j->from->data, &j->options, &made);
    if (j->status == PV_OK)
        assert_int_equal(pv_classifier_to_bytes(own, made, &j->bytes, &j->size), PV_OK);
    j->ended = pv_ranks_end(own, j->status);
    snprintf(j->message, sizeof j->message, "%s", pv_ctx_error(own)->message);
    unsigned char *copy = j->bytes ? malloc(j->size) : NULL; /* outlives the context */
    if (copy)
        memcpy(copy, j->bytes, j->size);
    pv_bytes_free(own, j->bytes);
    j->bytes = copy;
    pv_classifier_free(own, made);
    pv_ctx_free(own);
    return NULL;
}

static void run_all(cluster *all, job *jobs) {
    for (int r = 0; r < all->size; r++)
        jobs[r].who = (member){all, r};
    cluster_run(all, run_job, jobs, sizeof *jobs);
}

/* A job alone, and with 2 to 4 ranks of 1 to 3 threads: bit-identical. */
static void same_of_job(job alone) {
    job like = alone;
    alone.threads = 1;
    run_job(&alone);
    if (alone.status != PV_OK)
        print_error("%s\n", alone.message);
    assert_int_equal(alone.status, PV_OK);
    for (int size = 2; size <= RANKS_MAX; size++) {
        cluster all = {.size = size, .left = -1};
        job jobs[RANKS_MAX] = {0};
        for (int r = 0; r < size; r++) {
            jobs[r] = like;
            jobs[r].threads = 1 + r % 3;
        }
        run_all(&all, jobs);
        assert_true(all.exchanges > 4); /* at least two per evaluation, in addition to identification */
        for (int r = 0; r < size; r++) {
            if (jobs[r].status != PV_OK)
                print_error("rank %d of %d: %s\n", r, size, jobs[r].message);
            assert_int_equal(jobs[r].status, PV_OK);
            assert_int_equal(jobs[r].ended, PV_OK);
            assert_int_equal(jobs[r].size, alone.size);
            assert_memory_equal(jobs[r].bytes, alone.bytes, alone.size);
            free(jobs[r].bytes);
        }
    }
    free(alone.bytes);
}

static void same_for_any_number(const sample *s, const pv_fit_options *options) {
    same_of_job((job){.from = s, .options = *options});
}

static const struct {
    pv_loss loss;
    pv_marginal marginal;
    pv_inference infer;
    const char *strength;
} kinds[] = {{PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, PV_INFER_MAP, "auto"},
             {PV_LOSS_IW, PV_MARGINAL_PROFILE, PV_INFER_MAP, "auto"},
             {PV_LOSS_IG, PV_MARGINAL_PLUGIN, PV_INFER_MAP, "100"},
             {PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_MAP, "known"},
             {PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_LAPLACE, "100"},
             {PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_ML, "1e5"},
             {PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, PV_INFER_ROBUST, "auto"},
             {PV_LOSS_IG, PV_MARGINAL_PLUGIN, PV_INFER_ML, "known"},
             {PV_LOSS_IG, PV_MARGINAL_PROFILE, PV_INFER_ROBUST, "100"}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void the_same_bytes(void **state) {
    (void)state;
    for (int classes = 2; classes <= 3; classes++) {
        sample s;
        make(&s, SANITIZED ? 2 * 4096 + 50 : ROWS, classes, classes == 3);
        for (size_t k = 0; k < KINDS; k += SANITIZED ? 2 : 1) {
            if (classes == 3 && kinds[k].infer == PV_INFER_ROBUST)
                continue;
            pv_fit_options options = pv_fit_options_default();
            options.prevalence = classes == 2 ? "0.2" : "0.7,0.2,0.1";
            options.loss = (int)kinds[k].loss;
            options.marginal = (int)kinds[k].marginal;
            options.infer = (int)kinds[k].infer;
            options.prevalence_n = kinds[k].strength;
            options.draws = 30;
            options.bare = k % 2 == 0;
            same_for_any_number(&s, &options);
        }
        clear(&s);
    }
}

/* Chains, and the points of a step, which are distributed over ranks: some may have none. */
static void the_same_posterior(void **state) {
    (void)state;
    sample s;
    make(&s, 200, 2, false);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.2";
    options.prevalence_n = "100";
    options.draws = 30;
    options.chains = 3;
    options.warmup = 20;
    options.components = 2;
    options.steps = 20;
    options.infer = PV_INFER_HMC;
    same_for_any_number(&s, &options);
    options.infer = PV_INFER_VI;
    same_for_any_number(&s, &options);
    clear(&s);
}

/* A start from a sample of the rows, many chunks, checks and a reference from all of them, matched biases; and a
 * network whose rows are recomputed in the backward pass. */
static void the_same_bytes_of_many_rows(void **state) {
    (void)state;
    sample s;
    make(&s, SANITIZED ? 3 * 4096 : 140000, 2, false);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.2";
    same_for_any_number(&s, &options);
    options.match = PV_MATCH_FULL;
    same_for_any_number(&s, &options);
    options.match = PV_MATCH_NONE;
    options.bare = true;
    options.loss = PV_LOSS_PLAIN;
    options.model = "mlp:3";
    options.prior = "normal:1";
    options.max_iter = 3;
    same_for_any_number(&s, &options);
    clear(&s);
}

/* Rows of a packed table, assembled from its columns by each rank: no matrix has all of them. */
static void the_same_bytes_of_a_packed_table(void **state) {
    (void)state;
    const size_t limit = 1 << 20; /* too small for the matrix */
    sample s, packed = {0};
    make(&s, SANITIZED ? 60000 : 140000, 2, false);
    char file[sizeof path + 4];
    snprintf(file, sizeof file, "%s.pvt", path);
    ok(pv_table_pack(ctx, s.table, file, false));
    pv_ctx *small = check_ctx(1);
    assert_int_equal(pv_ctx_set_memory(small, limit, NULL), PV_OK);
    assert_int_equal(pv_table_read(small, file, NULL, &packed.table), PV_OK);
    pv_roles roles = {.target = "y", .exclude = "w"};
    assert_int_equal(pv_schema_learn(small, packed.table, &roles, &packed.schema, &packed.data), PV_OK);
    assert_null(packed.data->x);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.2";
    same_for_any_number(&packed, &options);
    options.batch = "4096"; /* rows are scattered */
    options.epochs = 1;
    same_for_any_number(&packed, &options);
    pv_dataset_free(small, packed.data);
    pv_schema_free(small, packed.schema);
    pv_table_free(small, packed.table);
    pv_ctx_free(small);
    assert_int_equal(remove(file), 0);
    clear(&s);
}

/* Columns of all kinds, divided among ranks for learning: numbers, some with missing cells, levels, terms, a
 * constant. */
static void write_columns(size_t rows) {
    uint64_t seed = 11;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("a,holes,site,same,patient,visits,y\n", file);
    for (size_t i = 0; i < rows; i++) {
        double a = 3 * uniform(&seed), b = uniform(&seed);
        char hole[32] = "";
        if (uniform(&seed) < 0.9)
            snprintf(hole, sizeof hole, "%.5g", 10 * b);
        fprintf(file, "%.6g,%s,%s,1,%zu,%d,%d\n", a, hole, (const char *[]){"north", "south", "", "west"}[(int)(4 * b)],
                i / 3 + 1, (int)(5 * b), uniform(&seed) < 1 / (1 + exp(1 - a + b)));
    }
    assert_int_equal(fclose(file), 0);
}

static void the_same_of_what_ranks_learn(void **state) {
    (void)state;
    write_columns(SANITIZED ? 3000 : 30000);
    job like = {.file = path,
                .options = pv_fit_options_default(),
                .roles = {.target = "y",
                          .constant = PV_CONSTANT_DROP,
                          .missing = PV_MISSING_INDICATOR,
                          .terms = "log(patient),a,a:site"}};
    like.options.prevalence = "0.2";
    same_of_job(like);
    like.roles = (pv_roles){.target = "y",
                            .constant = PV_CONSTANT_DROP,
                            .missing = PV_MISSING_DROP,
                            .group = "patient",
                            .categorical = "visits"};
    same_of_job(like);
}

/* A packed table that each rank reads: columns stay in the file, and each rank assembles its own rows once. */
static void the_same_of_a_packed_table_that_ranks_read(void **state) {
    (void)state;
    sample s;
    make(&s, 50000, 2, false); /* a matrix of more than a megabyte */
    char file[sizeof path + 4];
    snprintf(file, sizeof file, "%s.pvt", path);
    for (int single = 0; single < 2; single++) {
        ok(pv_table_pack(ctx, s.table, file, single));
        job like = {.file = file, .options = pv_fit_options_default(), .roles = {.target = "y", .exclude = "w"}};
        like.options.prevalence = "0.2";
        same_of_job(like);
        like.options.infer = PV_INFER_LAPLACE; /* needs the whole matrix */
        like.options.draws = 10;
        if (!SANITIZED)
            same_of_job(like);
    }
    assert_int_equal(remove(file), 0);
    clear(&s);
}

/* Strata process all rows on every rank, together with a selection likelihood that uses only the rank's own. */
static void the_same_bytes_of_strata(void **state) {
    (void)state;
    sample s;
    char known[sizeof path + 4];
    make(&s, 3 * 4096 + 50, 2, false);
    clear(&s);
    s.table = must_read(NULL);
    const pv_roles roles = {.target = "y", .strata = "w"};
    ok(pv_schema_learn(ctx, s.table, &roles, &s.schema, &s.data));
    snprintf(known, sizeof known, "%s.by", path);
    FILE *file = fopen(known, "w");
    assert_non_null(file);
    fputs("w,prevalence,share\n1,0.3,0.5\n2,0.1-0.2,0.2\n3,0.05,0.3\n", file);
    assert_int_equal(fclose(file), 0);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence_by = known;
    same_for_any_number(&s, &options);
    options.bare = true;
    options.infer = PV_INFER_LAPLACE;
    options.draws = 30;
    same_for_any_number(&s, &options);
    assert_int_equal(remove(known), 0);
    clear(&s);
}

/* Fewer chunks than ranks: some have no rows. */
static void ranks_without_rows(void **state) {
    (void)state;
    sample s;
    make(&s, 60, 2, false);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.2";
    same_for_any_number(&s, &options);
    clear(&s);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void set_up(job *jobs, int size, const sample *s) {
    for (int r = 0; r < size; r++) {
        jobs[r] = (job){.from = s, .options = pv_fit_options_default(), .threads = 1};
        jobs[r].options.prevalence = "0.2";
    }
}

static void told_to_all(const job *jobs, int size, pv_status status, const char *part, const char *also) {
    for (int r = 0; r < size; r++) {
        if (!strstr(jobs[r].message, part) || !strstr(jobs[r].message, also))
            fail_msg("'%s' and '%s' are not in '%s'", part, also, jobs[r].message);
        assert_int_equal(jobs[r].status, status);
    }
}

static void other_work_is_refused(void **state) {
    (void)state;
    sample s, other;
    make(&s, 300, 2, false);
    make(&other, 299, 2, false);
    cluster all = {.size = 3, .left = -1};
    job jobs[RANKS_MAX] = {0};
    set_up(jobs, 3, &s);
    jobs[2].data = other.data;
    run_all(&all, jobs);
    told_to_all(jobs, 3, PV_ERR_USAGE, "the work of rank 2 differs from that of rank 0", "299 rows");
    all = (cluster){.size = 3, .left = -1};
    set_up(jobs, 3, &s);
    jobs[1].options.seed = 5;
    run_all(&all, jobs);
    told_to_all(jobs, 3, PV_ERR_USAGE, "the work of rank 1 differs from that of rank 0", "`seed`");
    clear(&s);
    clear(&other);
}

/* A gather in which the last rank claims another version: the text, preceded by a hash. */
static bool gather_as_another(void *state, const void *mine, size_t bytes, void *all) {
    static const char ours[] = "version=" PV_VERSION;
    enum { HASHED = 16 };
    const member *m = state;
    char *said = malloc(bytes);
    assert_non_null(said);
    memcpy(said, mine, bytes);
    if (m->rank == m->all->size - 1 && bytes == HASHED)
        said[HASHED - 1] ^= 1;
    if (m->rank == m->all->size - 1 && bytes > sizeof ours && memcmp(said, ours, sizeof ours - 1) == 0)
        said[strlen("version=")] = '9';
    bool good = gather(state, said, bytes, all);
    free(said);
    return good;
}

static void *join_ranks(void *state) {
    job *j = state;
    pv_ctx *own = check_ctx(1);
    pv_ranks ranks = {.rank = j->who.rank, .size = j->who.all->size, .gather = gather_as_another, .state = &j->who};
    j->status = pv_ctx_set_ranks(own, &ranks);
    snprintf(j->message, sizeof j->message, "%s", pv_ctx_error(own)->message);
    j->ended = pv_ranks_end(own, j->status);
    pv_ctx_free(own);
    return NULL;
}

static void another_version_is_refused(void **state) {
    (void)state;
    cluster all = {.size = 3, .left = -1};
    job jobs[RANKS_MAX] = {0};
    for (int r = 0; r < all.size; r++)
        jobs[r].who = (member){&all, r};
    cluster_run(&all, join_ranks, jobs, sizeof *jobs);
    told_to_all(jobs, 3, PV_ERR_USAGE, "the work of rank 2 differs from that of rank 0: version=9",
                "there version=" PV_VERSION);
}

/* Checked before anything is learned from the columns, which ranks share. */
static void other_columns_are_refused(void **state) {
    (void)state;
    write_columns(300);
    cluster all = {.size = 3, .left = -1};
    job jobs[RANKS_MAX] = {0};
    set_up(jobs, 3, NULL);
    for (int r = 0; r < 3; r++) {
        jobs[r].file = path;
        jobs[r].roles = (pv_roles){.target = "y", .missing = PV_MISSING_DROP, .exclude = r == 2 ? "a" : NULL};
    }
    run_all(&all, jobs);
    told_to_all(jobs, 3, PV_ERR_USAGE, "the work of rank 2 differs from that of rank 0", "`exclude`=a");
}

/* A failing rank is reported to the others, wherever they are. */
static void a_failure_is_told(void **state) {
    (void)state;
    sample s;
    make(&s, 300, 2, false);
    cluster all = {.size = 3, .left = -1};
    job jobs[RANKS_MAX] = {0};
    set_up(jobs, 3, &s);
    jobs[1].ends_at_once = true;
    run_all(&all, jobs);
    told_to_all(jobs, 3, PV_ERR_MEMORY, "rank 1: ", "");
    clear(&s);
}

/* Before the fit each rank is alone with its data, and one that is interrupted ends there. */
static void a_stop_is_told(void **state) {
    (void)state;
    sample s;
    make(&s, 300, 2, false);
    cluster all = {.size = 3, .left = -1};
    job jobs[RANKS_MAX] = {0};
    set_up(jobs, 3, &s);
    jobs[1].stopped = true;
    run_all(&all, jobs);
    told_to_all(jobs, 3, PV_ERR_INTERRUPTED, "rank 1: ", "interrupted");
    clear(&s);
}

/* ---- running out of memory during an exchange -------------------------------------------------------------------- */

typedef struct adder {
    member who;
    bool least, poor; /* least: which extreme is computed; poor: this rank runs out of memory */
    bool failing;
    pv_status status, ended;
    char message[512];
} adder;

static void *poor_alloc(void *state, size_t size) {
    const adder *a = state;
    return a->failing ? NULL : malloc(size);
}

static void *poor_resize(void *state, void *block, size_t size) {
    const adder *a = state;
    return a->failing ? NULL : realloc(block, size);
}

static void poor_release(void *state, void *block) {
    (void)state;
    free(block);
}

static void *run_adder(void *state) {
    enum { BLOCKS = 200, UNITS = 64 };
    adder *a = state;
    double sums[BLOCKS] = {1}, total = 1;
    pv_ctx_options options = {.allocator = {poor_alloc, poor_resize, poor_release, a}, .threads = 1};
    pv_ctx *own;
    assert_int_equal(pv_ctx_new(&options, &own), PV_OK);
    assert_int_equal(member_joins(own, &a->who), PV_OK);
    pv__part part = pv__part_own(own, BLOCKS, UNITS);
    a->failing = a->poor;
    if (a->least)
        pv__least(own, &part, 1, &total);
    else
        pv__sum(own, &part, 1, sums, &total);
    a->status = pv__reduce_check(own);
    a->ended = pv_ranks_end(own, a->status);
    snprintf(a->message, sizeof a->message, "%s", pv_ctx_error(own)->message);
    pv_ctx_free(own);
    return NULL;
}

/* The other ranks wait for its data and must be told that it ends. */
static void a_lack_of_memory_is_told(void **state) {
    (void)state;
    for (int least = 0; least < 2; least++) {
        cluster all = {.size = 3, .left = -1};
        adder adders[RANKS_MAX] = {0};
        for (int r = 0; r < all.size; r++)
            adders[r] = (adder){.who = {&all, r}, .least = least, .poor = r == 1};
        cluster_run(&all, run_adder, adders, sizeof *adders);
        for (int r = 0; r < all.size; r++) {
            assert_int_equal(adders[r].status, PV_ERR_MEMORY);
            assert_int_equal(adders[r].ended, PV_ERR_MEMORY);
            if (!strstr(adders[r].message, "rank 1: out of memory"))
                fail_msg("'%s'", adders[r].message);
        }
    }
}

/* If the connection is lost at any exchange, all ranks end with an error. */
static void a_lost_connection_is_told(void **state) {
    (void)state;
    sample s;
    make(&s, 2 * 4096 + 50, 2, false);
    cluster whole = {.size = 2, .left = -1};
    job jobs[RANKS_MAX] = {0};
    set_up(jobs, 2, &s);
    run_all(&whole, jobs);
    free(jobs[0].bytes);
    free(jobs[1].bytes);
    assert_true(whole.exchanges > 10);
    for (int left = 0; left < whole.exchanges - 1;
         left += SANITIZED ? 17 : 5) { /* the last exchange is that of the end */
        cluster all = {.size = 2, .left = left};
        set_up(jobs, 2, &s);
        run_all(&all, jobs);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(jobs[r].status, PV_ERR_INTERNAL);
            if (!strstr(jobs[r].message, "lost its connection"))
                fail_msg("'%s'", jobs[r].message);
        }
    }
    clear(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_bytes),
                                       cmocka_unit_test(the_same_posterior),
                                       cmocka_unit_test(the_same_bytes_of_many_rows),
                                       cmocka_unit_test(the_same_bytes_of_a_packed_table),
                                       cmocka_unit_test(the_same_of_what_ranks_learn),
                                       cmocka_unit_test(the_same_of_a_packed_table_that_ranks_read),
                                       cmocka_unit_test(the_same_bytes_of_strata),
                                       cmocka_unit_test(ranks_without_rows),
                                       cmocka_unit_test(other_work_is_refused),
                                       cmocka_unit_test(another_version_is_refused),
                                       cmocka_unit_test(other_columns_are_refused),
                                       cmocka_unit_test(a_failure_is_told),
                                       cmocka_unit_test(a_stop_is_told),
                                       cmocka_unit_test(a_lack_of_memory_is_told),
                                       cmocka_unit_test(a_lost_connection_is_told)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
