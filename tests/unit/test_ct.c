/* Simulated CT nodules compared with the truth they are drawn from, and archives in memory and files. Checks of samples
 * are z-tests with fixed seeds, so the outcome is always the same. */
#include <math.h>

#include "fixture.h"

static pv_simulation population(int64_t rows, double prevalence) {
    return (pv_simulation){
        .rows = rows, .cases = -1, .controls = -1, .prevalence = prevalence, .size = 16, .absent = 0.25, .seed = 1};
}

static pv_array get(pv_archive *archive, const char *name) {
    pv_array a;
    size_t member = pv_archive_find(archive, name);
    assert_true(member < pv_archive_count(archive));
    ok(pv_archive_array(ctx, archive, member, &a));
    return a;
}

static double value(pv_archive *archive, const char *name, size_t i) {
    pv_array a = get(archive, name);
    return pv_array_number(&a, i);
}

/* |sum| is at most 4 standard deviations, given its variance. */
static void is_chance(double sum, double variance) {
    if (!(fabs(sum) <= 4 * sqrt(variance)))
        fail_msg("%g is %.1f standard deviations", sum, sum / sqrt(variance));
}

/* ---- truth ------------------------------------------------------------------------------------------------------- */

static double simpson(int i, int steps) {
    return i == 0 || i == steps ? 1 : i % 2 ? 4 : 2;
}

/* E p(malignant | x) computed independently, by Simpson's rule. */
static double integrate(const double *truth) {
    enum { D = 60, U = 48, POINTS = (U + 1) * (U + 1) * (U + 1) };
    static const double share[] = {0.75, 0.10, 0.15};
    static double part[POINTS], weight[POINTS];
    double sum = 0, total = 0;
    int n = 0;
    for (int i = 0; i <= U; i++)
        for (int j = 0; j <= U; j++)
            for (int k = 0; k <= U; k++, n++) {
                double u = (double)i / U, v = (double)j / U, w = (double)k / U;
                part[n] = truth[4] * (1 - u * u) + truth[5] * v * v * v + truth[6] * w * w * w;
                weight[n] = simpson(i, U) * simpson(j, U) * simpson(k, U);
            }
    for (int d = 0; d <= D; d++)
        for (int density = 0; density < 3; density++) {
            double t = log(3) + log(10) * d / D, from = (t - log(8)) / 0.55;
            double mass = simpson(d, D) * exp(-0.5 * from * from) * share[density];
            double base = truth[0] + truth[1] * (t - log(8)) + (density ? truth[1 + density] : 0);
            for (int i = 0; i < n; i++) {
                sum += mass * weight[i] / (1 + exp(-base - part[i]));
                total += mass * weight[i];
            }
        }
    return sum / total;
}

static void prevalence_is_exact(void **state) {
    (void)state;
    static const double prevalence[] = {0.5, 0.001, 0.9}, slopes[] = {4, 1, -0.7, -2, 4, 2};
    for (size_t i = 0; i < 3; i++) {
        pv_archive *archive;
        double truth[PV_CT_COEFFICIENTS];
        pv_simulation s = population(1, prevalence[i]);
        ok(pv_simulate_ct(ctx, &s, &archive, truth));
        pv_archive_free(ctx, archive);
        for (size_t j = 0; j < 6; j++)
            near(truth[1 + j], slopes[j], 0);
        near(integrate(truth) / prevalence[i], 1, 5e-5);
    }
    assert_string_equal(pv_ct_coefficient(0), "(Intercept)");
    assert_null(pv_ct_coefficient(PV_CT_COEFFICIENTS));
    assert_null(pv_ct_coefficient(-1));
}

/* probability is the documented function of the features, and labels follow it in five ranges. */
static void labels_follow_probability(void **state) {
    (void)state;
    enum { ROWS = 4000, BANDS = 5 };
    pv_archive *archive;
    double truth[PV_CT_COEFFICIENTS], excess[BANDS] = {0}, variance[BANDS] = {0}, sum = 0, squares = 0;
    pv_simulation s = population(ROWS, 0.2);
    ok(pv_simulate_ct(ctx, &s, &archive, truth));
    for (size_t i = 0; i < ROWS; i++) {
        double density = value(archive, "density", i), p = value(archive, "probability", i);
        double z = truth[0] + truth[1] * log(value(archive, "diameter", i) / 8) + truth[2] * (density == 1) +
                   truth[3] * (density == 2) + truth[4] * value(archive, "margin", i) +
                   truth[5] * value(archive, "spiculation", i) + truth[6] * value(archive, "lobulation", i);
        near(pv_logit(p), z, 1e-9);
        size_t band = p < 0.01 ? 0 : p < 0.05 ? 1 : p < 0.2 ? 2 : p < 0.5 ? 3 : 4;
        excess[band] += value(archive, "labels", i) - p;
        variance[band] += p * (1 - p);
        sum += p - 0.2;
        squares += (p - 0.2) * (p - 0.2);
    }
    for (size_t band = 0; band < BANDS; band++) {
        assert_true(variance[band] > 1);
        is_chance(excess[band], variance[band]);
    }
    is_chance(sum, squares);
    pv_archive_free(ctx, archive);
}

/* By design the counts are exact, and p(x|y) is that of the population: E[p | y=0] (1 - pi) = E[1 - p | y=1] pi. */
static void selection_is_by_label(void **state) {
    (void)state;
    enum { CASES = 1000, CONTROLS = 1500 };
    const double pi = 0.3;
    pv_archive *archive;
    pv_simulation s = population(0, pi);
    s.cases = CASES;
    s.controls = CONTROLS;
    ok(pv_simulate_ct(ctx, &s, &archive, NULL));
    double sum[2] = {0}, squares[2] = {0};
    size_t cases = 0, first = 0;
    for (size_t i = 0; i < CASES + CONTROLS; i++) {
        bool y = value(archive, "labels", i) > 0;
        double p = value(archive, "probability", i), x = y ? pi * (1 - p) / CASES : (1 - pi) * p / CONTROLS;
        cases += y;
        first += y && i < 100;
        sum[y] += x;
        squares[y] += x * x;
    }
    assert_int_equal(cases, CASES);
    assert_true(first > 15 && first < 65); /* in random order */
    is_chance(sum[1] - sum[0], squares[1] - sum[1] * sum[1] / CASES + squares[0] - sum[0] * sum[0] / CONTROLS);
    pv_archive_free(ctx, archive);
}

/* ---- votes and patients ------------------------------------------------------------------------------------------ */

static void votes_are_as_expected(void **state) {
    (void)state;
    enum { ROWS = 3000, READERS = 4, GRADES = 5 };
    pv_archive *archive;
    pv_simulation s = population(ROWS, 0.3);
    ok(pv_simulate_ct(ctx, &s, &archive, NULL));
    double excess[GRADES] = {0}, squares[GRADES] = {0}, both = 0, a1 = 0, b1 = 0, a2 = 0, b2 = 0, ab = 0;
    size_t absent = 0;
    for (size_t i = 0; i < ROWS; i++) {
        double frequency[GRADES] = {0}, total = 0, vote[READERS];
        for (size_t r = 0; r < READERS; r++) {
            vote[r] = value(archive, "votes", i * READERS + r);
            assert_true(vote[r] >= 0 && vote[r] <= GRADES);
            if (vote[r] > 0)
                frequency[(size_t)vote[r] - 1]++;
            absent += vote[r] == 0;
            total += vote[r] > 0;
        }
        assert_true(total >= 1);
        for (size_t k = 0; k < GRADES; k++) {
            double difference = frequency[k] / total - value(archive, "grade_probability", i * GRADES + k);
            excess[k] += difference;
            squares[k] += difference * difference;
        }
        if (vote[0] > 0 && vote[3] > 0) {
            both++;
            a1 += vote[0];
            b1 += vote[3];
            a2 += vote[0] * vote[0];
            b2 += vote[3] * vote[3];
            ab += vote[0] * vote[3];
        }
    }
    for (size_t k = 0; k < GRADES; k++)
        is_chance(excess[k], squares[k]);
    double share = 0.25 - pow(0.25, 4) / READERS; /* if all are absent, one votes anyway */
    is_chance((double)absent - share * ROWS * READERS, share * (1 - share) * ROWS * READERS);
    double correlation =
        (both * ab - a1 * b1) / sqrt((both * a2 - a1 * a1) * (both * b2 - b1 * b1)); /* LIDC-IDRI: 0.55 to 0.77 */
    assert_true(correlation > 0.6 && correlation < 0.72);
    assert_true(a1 < b1); /* the first reader's bias is lower than the last one's */
    pv_archive_free(ctx, archive);
    s.absent = 1;
    s.rows = 50;
    ok(pv_simulate_ct(ctx, &s, &archive, NULL));
    for (size_t i = 0; i < 50; i++) {
        int given = 0;
        for (size_t r = 0; r < READERS; r++)
            given += value(archive, "votes", i * READERS + r) > 0;
        assert_int_equal(given, 1);
    }
    pv_archive_free(ctx, archive);
}

static void patients_have_several(void **state) {
    (void)state;
    enum { ROWS = 1500 };
    pv_archive *archive;
    pv_simulation s = population(0, 0.3);
    s.cases = s.controls = ROWS / 2;
    ok(pv_simulate_ct(ctx, &s, &archive, NULL));
    size_t run = 0, mixed = 0, patients = 1;
    for (size_t i = 0; i < ROWS; i++) {
        double here = value(archive, "group", i), before = i ? value(archive, "group", i - 1) : 0;
        assert_true(here == before || here == before + 1);
        run = here == before ? run + 1 : 1;
        patients += here != before;
        assert_true(run <= 8);
        mixed += i && here == before && value(archive, "labels", i) != value(archive, "labels", i - 1);
    }
    near((double)ROWS / (double)patients, 2.25, 0.15);
    assert_true(mixed > 150); /* patients with benign and malignant nodules */
    pv_archive_free(ctx, archive);
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

/* Levels in Hounsfield units: nodules by density, lung, all within the range of CT numbers. */
static void levels_are_those_of_ct(void **state) {
    (void)state;
    enum { ROWS = 300, SIZE = 32 };
    pv_archive *archive;
    pv_simulation s = population(ROWS, 0.3);
    s.size = SIZE;
    ok(pv_simulate_ct(ctx, &s, &archive, NULL));
    pv_array a = get(archive, "images");
    assert_int_equal(a.shape[3], SIZE);
    double sum[3] = {0}, large[3] = {0};
    size_t aerated = 0, voxels = (size_t)SIZE * SIZE * SIZE;
    for (size_t i = 0; i < ROWS; i++) {
        size_t density = (size_t)value(archive, "density", i), at = i * voxels + (SIZE / 2 * SIZE + SIZE / 2) * SIZE;
        if (value(archive, "diameter", i) > 8) {
            sum[density] += pv_array_number(&a, at + SIZE / 2);
            large[density]++;
        }
        for (size_t k = 0; k < voxels; k += 101) {
            double hu = pv_array_number(&a, i * voxels + k);
            assert_true(hu >= -1024 && hu <= 3071);
            aerated += hu < -750 && hu > -950;
        }
    }
    double share = (double)aerated / (double)(ROWS * (voxels / 101 + 1));
    assert_true(share > 0.5 && share < 0.95);
    assert_true(sum[0] / large[0] > -50 && sum[0] / large[0] < 150);   /* solid */
    assert_true(sum[2] / large[2] > -700 && sum[2] / large[2] < -400); /* ground glass */
    assert_true(sum[1] / large[1] > sum[2] / large[2]);                /* part-solid */
    pv_archive_free(ctx, archive);
}

static void same_arrays(pv_archive *a, pv_archive *b, bool same) {
    assert_int_equal(pv_archive_count(a), pv_archive_count(b));
    for (size_t i = 0; i < pv_archive_count(a); i++) {
        pv_array x = get(a, pv_archive_name(a, i)), y = get(b, pv_archive_name(a, i));
        assert_int_equal(x.count, y.count);
        bool equal = memcmp(x.bytes, y.bytes, x.count * x.element) == 0;
        if (strcmp(x.name, "spacing") != 0)
            assert_int_equal(equal, same);
    }
}

static void threads_and_rows_change_nothing(void **state) {
    (void)state;
    pv_archive *one, *two, *other, *longer;
    pv_simulation s = population(20, 0.3);
    pv_ctx_options options = pv_ctx_options_default();
    pv_ctx *single;
    options.threads = 1;
    ok(pv_ctx_new(&options, &single));
    ok(pv_simulate_ct(single, &s, &one, NULL));
    ok(pv_simulate_ct(ctx, &s, &two, NULL));
    same_arrays(one, two, true);
    s.seed = 2;
    ok(pv_simulate_ct(ctx, &s, &other, NULL));
    same_arrays(one, other, false);
    s.seed = 1;
    s.rows = 30;
    ok(pv_simulate_ct(ctx, &s, &longer, NULL));
    pv_array few = get(one, "images"), more = get(longer, "images");
    assert_memory_equal(few.bytes, more.bytes, few.count * few.element);
    pv_archive_free(single, one);
    pv_archive_free(ctx, two);
    pv_archive_free(ctx, other);
    pv_archive_free(ctx, longer);
    pv_ctx_free(single);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static char *whole_file(size_t *n) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*n);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

/* Written from memory and written during drawing: the same bytes, and the arrays read back. */
static void files_read_back(void **state) {
    (void)state;
    pv_archive *made, *read;
    pv_simulation s = population(70, 0.3); /* more than one block */
    size_t n, m;
    ok(pv_simulate_ct(ctx, &s, &made, NULL));
    ok(pv_archive_write(ctx, made, path));
    char *first = whole_file(&n);
    ok(pv_simulate_ct_write(ctx, &s, path, NULL));
    char *second = whole_file(&m);
    assert_int_equal(n, m);
    assert_memory_equal(first, second, n);
    free(first);
    free(second);
    ok(pv_archive_open(ctx, path, &read));
    same_arrays(made, read, true);
    for (size_t i = 0; i < pv_archive_count(made); i++) {
        pv_array a = get(made, pv_archive_name(made, i)), b = get(read, pv_archive_name(made, i));
        assert_int_equal(a.type, b.type);
        assert_int_equal(a.dims, b.dims);
        assert_true(b.mapped && !a.mapped);
        for (int d = 0; d < a.dims; d++)
            assert_int_equal(a.shape[d], b.shape[d]);
    }
    ok(pv_archive_write(ctx, read, path)); /* over the mapped file, whose old contents stay valid */
    char *third = whole_file(&m);
    assert_int_equal(n, m);
    free(third);
    pv_archive_free(ctx, read);
    pv_archive_free(ctx, made);
}

/* A data set of arrays in memory equals that of the file. */
static void memory_is_as_good_as_a_file(void **state) {
    (void)state;
    pv_archive *made;
    pv_simulation s = population(0, 0.01);
    s.cases = s.controls = 12;
    ok(pv_simulate_ct(ctx, &s, &made, NULL));
    ok(pv_archive_write(ctx, made, path));
    pv_image_options image;
    pv_options_default(pv_image_option_table, &image);
    image.views = 3;
    image.size = 8;
    image.window = "-1000,400";
    pv_roles roles = {.target = "labels", .image = &image};
    static const char *const text[] = {"labels"};
    pv_csv_options options = {.text = text, .n_text = 1};
    double x[2][2][3 * 8 * 8];
    for (int file = 0; file < 2; file++) {
        pv_table *table;
        pv_schema *schema;
        pv_dataset *data;
        ok(file ? pv_table_read(ctx, path, &options, &table) : pv_table_of(ctx, made, &options, &table));
        assert_int_equal(table->rows, 24);
        ok(pv_schema_learn(ctx, table, &roles, &schema, &data));
        assert_int_equal(data->classes, 2);
        assert_string_equal(schema->labels[1], "1");
        memcpy(x[file], pv_dataset_rows(ctx, data, 5, 2, x[file][0]), sizeof x[file]);
        pv_dataset_free(ctx, data);
        pv_schema_free(ctx, schema);
        pv_table_free(ctx, table);
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
    pv_archive_free(ctx, made);
}

static void archives_take_arrays(void **state) {
    (void)state;
    pv_archive *a, *read;
    float *numbers;
    const size_t shape[] = {2, 3}, huge[] = {SIZE_MAX / 2, 8};
    ok(pv_archive_new(ctx, "made", &a));
    ok(pv_archive_add(ctx, a, "x", PV_ARRAY_F32, 2, shape, &numbers));
    for (int i = 0; i < 6; i++)
        numbers[i] = (float)i / 2;
    near(value(a, "x", 5), 2.5, 0);
    void *none;
    assert_int_equal(pv_archive_add(ctx, a, "x", PV_ARRAY_F32, 1, shape, &none), PV_ERR_USAGE);
    says("taken");
    assert_int_equal(pv_archive_add(ctx, a, "text", PV_ARRAY_UNICODE, 1, shape, &none), PV_ERR_USAGE);
    says("not an array of numbers");
    assert_int_equal(pv_archive_add(ctx, a, "huge", PV_ARRAY_F64, 2, huge, &none), PV_ERR_FORMAT);
    ok(pv_archive_write(ctx, a, path));
    pv_archive_free(ctx, a);
    ok(pv_archive_open(ctx, path, &read));
    near(value(read, "x", 4), 2, 0);
    assert_int_equal(pv_archive_add(ctx, read, "y", PV_ARRAY_F32, 1, shape, &none), PV_ERR_USAGE);
    says("is a file");
    pv_archive_free(ctx, read);
    ok(pv_archive_new(ctx, "empty", &a));
    ok(pv_archive_write(ctx, a, path));
    assert_int_equal(pv_archive_write(ctx, a, "/dev/null"), PV_ERR_PATH);
    says("not a regular file");
    assert_int_equal(pv_archive_write(ctx, a, "/no/such/folder/a.npz"), PV_ERR_PATH);
    pv_archive_free(ctx, a);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void refuses(pv_simulation s, const char *why) {
    pv_archive *archive;
    assert_int_equal(pv_simulate_ct(ctx, &s, &archive, NULL), PV_ERR_USAGE);
    assert_null(archive);
    says(why);
}

static void mistakes_are_named(void **state) {
    (void)state;
    pv_simulation s = population(10, 0.3);
    s.size = 15;
    refuses(s, "`size=15` is outside 16 to 256");
    s = population(10, 1.5);
    refuses(s, "outside (0,1)");
    s = population(10, 0.3);
    s.absent = NAN;
    refuses(s, "`absent=");
    s = population(10, 0.3);
    s.cases = 5;
    refuses(s, "both `cases` and `controls`");
    s = population(0, 0.3);
    refuses(s, "`rows=0`");
    s = population(10, 0.3);
    s.within = "diameter";
    refuses(s, "`within`");
}

static pv_status work(pv_ctx *poor) {
    pv_archive *archive;
    pv_simulation s = population(2, 0.3);
    pv_status status = pv_simulate_ct(poor, &s, &archive, NULL);
    pv_archive_free(poor, archive);
    return status == PV_OK ? pv_simulate_ct_write(poor, &s, path, NULL) : status;
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    sweep_memory(work);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(prevalence_is_exact),
                                       cmocka_unit_test(labels_follow_probability),
                                       cmocka_unit_test(selection_is_by_label),
                                       cmocka_unit_test(votes_are_as_expected),
                                       cmocka_unit_test(patients_have_several),
                                       cmocka_unit_test(levels_are_those_of_ct),
                                       cmocka_unit_test(threads_and_rows_change_nothing),
                                       cmocka_unit_test(files_read_back),
                                       cmocka_unit_test(memory_is_as_good_as_a_file),
                                       cmocka_unit_test(archives_take_arrays),
                                       cmocka_unit_test(mistakes_are_named),
                                       cmocka_unit_test(survives_lack_of_memory)};
    return cmocka_run_group_tests_name("ct", tests, setup, teardown);
}
