/* Arrays and images: files that NumPy wrote (tests/arrays), and files that are wrong. */
#include "fixture.h"

static const char *file_of(const char *name) {
    static char full[512];
    snprintf(full, sizeof full, PV_TEST_DIR "/arrays/%s", name);
    return full;
}

static pv_images *must_get(const char *name, const pv_image_roles *roles) {
    pv_images *images = NULL;
    pv_image_roles usual = (pv_image_roles){0};
    ok(pv_images_read(ctx, file_of(name), roles ? roles : &usual, &images));
    assert_non_null(images);
    return images;
}

/* Every pixel is 3 i + start, i in the order of C over the whole file. */
static void is_ramp(const pv_images *images, double start) {
    size_t n = images->planes * images->height * images->width;
    float *pixels = malloc(n * sizeof *pixels);
    for (size_t row = 0; row < images->rows; row++) {
        pv_images_pixels(images, row, pixels);
        for (size_t i = 0; i < n; i++)
            near(pixels[i], 3 * (double)(images->index[row] * n + i) + start, 0);
    }
    free(pixels);
}

static void test_stored(void **state) {
    (void)state;
    pv_images *images = must_get("stored.npz", NULL);
    assert_int_equal(images->rows, 3);
    assert_int_equal(images->layout, PV_IMAGES_PLANES);
    assert_int_equal(images->height, 2);
    assert_int_equal(images->width, 4);
    is_ramp(images, 0);
    assert_int_equal(images->classes, 2);
    assert_string_equal(images->labels[0], "0");
    assert_string_equal(images->labels[1], "1");
    assert_int_equal(images->label[0], 1);
    assert_int_equal(images->label[1], 0);
    assert_null(images->group);
    assert_null(images->spacing);
    pv_images_free(ctx, images);
    pv_image_roles roles = (pv_image_roles){0};
    roles.positive = "0";
    images = must_get("stored.npz", &roles);
    assert_string_equal(images->labels[1], "0");
    assert_int_equal(images->label[0], 0);
    assert_int_equal(images->label[1], 1);
    pv_images_free(ctx, images);
}

static void test_packed_votes(void **state) {
    (void)state;
    pv_image_roles roles = (pv_image_roles){0};
    roles.images = "hu";
    roles.group = "patient";
    pv_images *images = NULL;
    assert_int_equal(pv_images_read(ctx, file_of("packed.npz"), &roles, &images), PV_ERR_INPUT);
    says("array 'votes' has no vote for image [1]; --missing drop");
    roles.drop_missing = true;
    images = must_get("packed.npz", &roles);
    assert_int_equal(images->layout, PV_IMAGES_VOLUMES);
    assert_int_equal(images->planes, 2);
    assert_int_equal(images->rows, 2);
    assert_int_equal(images->dropped, 1);
    assert_int_equal(images->index[1], 2);
    is_ramp(images, -7); /* big-endian and in Fortran's order */
    assert_int_equal(images->classes, 3);
    const double wanted[] = {1.0 / 3, 0, 2.0 / 3, 0, 1, 0};
    for (int i = 0; i < 6; i++)
        near(images->frequency[i], wanted[i], 1e-15);
    assert_null(images->label);
    assert_int_equal(images->groups, 2);
    assert_int_equal(images->group[0], images->group[1]);
    near(images->spacing[0], 2, 0);
    near(images->spacing[3], 2.5, 0);
    near(images->spacing[5], 0.5, 0);
    pv_images_free(ctx, images);
    roles.views = true;
    roles.binarise = 2.2;
    images = must_get("packed.npz", &roles);
    assert_int_equal(images->layout, PV_IMAGES_VIEWS);
    assert_int_equal(images->label[0], 1); /* the mean of 1, 3 and 3 */
    assert_int_equal(images->label[1], 0);
    pv_images_free(ctx, images);
    roles.binarise = 2; /* exactly 2 is neither */
    images = must_get("packed.npz", &roles);
    assert_int_equal(images->rows, 1);
    pv_images_free(ctx, images);
    roles.binarise = 0;
    roles.votes_min = 4;
    images = must_get("packed.npz", &roles);
    assert_int_equal(images->rows, 1);
    assert_int_equal(images->index[0], 2);
    pv_images_free(ctx, images);
}

static void test_zip64_and_text(void **state) {
    (void)state;
    pv_images *images = must_get("zip64.npz", NULL);
    is_ramp(images, -7);
    assert_string_equal(images->labels[1], "yes");
    pv_images_free(ctx, images);
}

static void test_single_arrays(void **state) {
    (void)state;
    pv_image_roles roles = (pv_image_roles){0};
    roles.unlabelled = true;
    pv_images *images = must_get("fortran.npy", &roles);
    assert_int_equal(images->width, 5);
    assert_int_equal(images->classes, 0);
    is_ramp(images, -7);
    pv_images_free(ctx, images);
    char labels[512];
    snprintf(labels, sizeof labels, "%s", file_of("labels.idx"));
    roles.unlabelled = false;
    roles.labels = labels;
    images = must_get("images.idx.gz", &roles);
    is_ramp(images, -7);
    assert_string_equal(images->labels[0], "4");
    assert_int_equal(images->label[2], 1);
    pv_images_free(ctx, images);
}

static void test_recognise(void **state) {
    (void)state;
    assert_true(pv_archive_recognise(file_of("stored.npz")));
    assert_true(pv_archive_recognise(file_of("fortran.npy")));
    assert_true(pv_archive_recognise(file_of("images.idx.gz")));
    assert_true(pv_archive_recognise(file_of("labels.idx")));
    assert_false(pv_archive_recognise(file_of("make_arrays.py")));
    assert_false(pv_archive_recognise(file_of("nothing")));
}

/* ---- wrong files ------------------------------------------------------------------------------------------------- */

static void refuses(const char *name, pv_image_roles roles, const char *part) {
    pv_images *images = NULL;
    pv_status status = pv_images_read(ctx, name, &roles, &images);
    assert_true(status == PV_ERR_INPUT || status == PV_ERR_FORMAT || status == PV_ERR_USAGE);
    assert_null(images);
    says(part);
}

static void test_roles_refused(void **state) {
    (void)state;
    pv_image_roles roles = (pv_image_roles){0};
    refuses(file_of("packed.npz"), roles, "has no array 'images' for --images; it has: hu, votes, patient, spacing");
    roles.images = "hv";
    refuses(file_of("packed.npz"), roles, "has no array 'hv' for --images; did you mean 'hu'?");
    roles.images = "patient";
    refuses(file_of("packed.npz"), roles, "array 'patient' holds text, not pixels");
    roles.images = "votes";
    refuses(file_of("packed.npz"), roles, "array 'votes' has 2 dimensions");
    roles = (pv_image_roles){0};
    refuses(file_of("fortran.npy"), roles, "has no array 'labels', 'votes' or 'frequencies'");
    roles.votes = "labels";
    refuses(file_of("stored.npz"), roles, "array 'labels' has 1 dimension; [N][raters]");
    roles = (pv_image_roles){0};
    roles.positive = "7";
    refuses(file_of("stored.npz"), roles, "has no label '7' for --positive");
    roles = (pv_image_roles){0};
    roles.images = "spacing";
    roles.views = true;
    refuses(file_of("packed.npz"), roles, "array 'spacing' has 2 dimensions");
    char labels[512];
    snprintf(labels, sizeof labels, "%s", file_of("labels.idx"));
    roles = (pv_image_roles){0};
    roles.labels = labels;
    refuses(file_of("zip64.npz"), roles, "has 3 rows, but array 'images' has 2");
}

static size_t load(const char *name, unsigned char *bytes, size_t room) {
    FILE *file = fopen(file_of(name), "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, room, file);
    fclose(file);
    assert_true(n < room);
    return n;
}

/* A file cut anywhere is refused, and never read beyond its end (the sanitisers watch). */
static void test_truncated(void **state) {
    (void)state;
    static const char *const names[] = {"stored.npz", "packed.npz", "zip64.npz", "fortran.npy", "images.idx.gz"};
    static unsigned char bytes[8192];
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        size_t n = load(names[f], bytes, sizeof bytes);
        for (size_t cut = 0; cut < n; cut++) {
            put((const char *)bytes, cut);
            pv_image_roles roles = (pv_image_roles){0};
            roles.images = f == 1 ? "hu" : NULL;
            roles.unlabelled = true;
            pv_images *images = NULL;
            pv_status status = pv_images_read(ctx, path, &roles, &images);
            if (status == PV_OK && f == 4) { /* gzip's trailer may be missing; the pixels are not */
                pv_images_free(ctx, images);
                continue;
            }
            assert_int_equal(status, PV_ERR_FORMAT);
            assert_null(images);
        }
    }
}

/* Any byte changed: refused, or read; never a crash. A changed pixel of a stored member is found by its CRC. */
static void test_damaged(void **state) {
    (void)state;
    static const char *const names[] = {"stored.npz", "packed.npz", "zip64.npz", "fortran.npy"};
    static unsigned char bytes[8192];
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        size_t n = load(names[f], bytes, sizeof bytes), refused = 0;
        for (size_t i = 0; i < n; i++) {
            unsigned char held_byte = bytes[i];
            bytes[i] = (unsigned char)(bytes[i] ^ (1 + random_bits() % 255));
            put((const char *)bytes, n);
            bytes[i] = held_byte;
            pv_image_roles roles = (pv_image_roles){0};
            roles.images = f == 1 ? "hu" : NULL;
            roles.drop_missing = true;
            roles.unlabelled = f == 3;
            pv_images *images = NULL;
            pv_status status = pv_images_read(ctx, path, &roles, &images);
            refused += status != PV_OK;
            pv_images_free(ctx, images);
        }
        assert_true(refused > 0);
    }
}

static void test_encrypted(void **state) {
    (void)state;
    static unsigned char bytes[8192];
    size_t n = load("stored.npz", bytes, sizeof bytes);
    for (size_t i = 0; i + 4 < n; i++)
        if (memcmp(bytes + i, "PK\1\2", 4) == 0)
            bytes[i + 8] |= 1;
    put((const char *)bytes, n);
    refuses(path, (pv_image_roles){0}, "is encrypted");
}

/* A little-endian NPY of doubles. */
static void put_npy(const char *shape, const double *values, size_t n) {
    char head[128], all[4096];
    int text = snprintf(head, sizeof head, "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape);
    memcpy(all, "\x93NUMPY\1\0", 8);
    all[8] = (char)text;
    all[9] = 0;
    memcpy(all + 10, head, (size_t)text);
    memcpy(all + 10 + text, values, n * sizeof *values);
    put(all, 10 + (size_t)text + n * sizeof *values);
}

static void test_bad_values(void **state) {
    (void)state;
    double pixels[12] = {0};
    pv_image_roles roles = (pv_image_roles){0};
    roles.unlabelled = true;
    pixels[9] = NAN;
    put_npy("(3, 2, 2)", pixels, 12);
    refuses(path, roles, "has a pixel that is NaN at [2][0][1]");
    put_npy("(1, 3, 2, 2)", pixels, 12);
    refuses(path, roles, "has a pixel that is NaN at [0][2][0][1]");
    pixels[9] = INFINITY;
    put_npy("(3, 2, 2)", pixels, 12);
    refuses(path, roles, "is infinite at");
    put_npy("(3, 2, 3)", pixels, 12);
    refuses(path, roles, "is cut short");
    put_npy("(4611686018427387904, 4, 1)", pixels, 12);
    refuses(path, roles, "is cut short");
    put_npy("(0, 2, 2)", pixels, 12);
    refuses(path, roles, "is empty");
    put_npy("(1, 1, 1, 1, 1, 1, 1, 1, 1)", pixels, 12);
    refuses(path, roles, "more than 8 dimensions");
    char labels[512];
    snprintf(labels, sizeof labels, "%s", path);
    double votes[6] = {1, 2, 2.5, 1, 3, 0};
    put_npy("(3, 2)", votes, 6);
    roles = (pv_image_roles){0};
    roles.votes = labels;
    refuses(file_of("stored.npz"), roles, "has 2.5 at [1][0]; votes are whole numbers");
    votes[2] = -1;
    put_npy("(3, 2)", votes, 6);
    refuses(file_of("stored.npz"), roles, "has -1 at [1][0]");
    roles.votes = NULL;
    roles.frequencies = labels;
    refuses(file_of("stored.npz"), roles, "frequencies are between 0 and 1");
    double shares[6] = {0.5, 0.5, 0.2, 0.8, 0.4, 0.5};
    put_npy("(3, 2)", shares, 6);
    refuses(file_of("stored.npz"), roles, "add up to 0.9, not 1, at [2]");
    roles.frequencies = NULL; /* as votes: shares of them are told by their fractions */
    roles.votes = labels;
    refuses(file_of("stored.npz"), roles, "add up to 0.9, not 1, at [2]");
    shares[5] = 0.6;
    put_npy("(3, 2)", shares, 6);
    pv_images *images;
    ok(pv_images_read(ctx, file_of("stored.npz"), &roles, &images));
    for (size_t i = 0; i < 6; i++)
        near(images->frequency[i], shares[i], 1e-15);
    pv_images_free(ctx, images);
    roles.binarise = 1;
    refuses(file_of("stored.npz"), roles, "has shares of votes, not votes: leave --binarise out");
    roles.binarise = 0;
    roles.votes = NULL;
    double same[3] = {5, 5, 5};
    put_npy("(3,)", same, 3);
    roles.frequencies = NULL;
    roles.labels = labels;
    refuses(file_of("stored.npz"), roles, "has one label only ('5')");
    same[1] = NAN;
    put_npy("(3,)", same, 3);
    refuses(file_of("stored.npz"), roles, "no finite value at [1]");
    put("PK\3\4 and no more", 16);
    refuses(path, roles, "truncated NPZ");
    put("hello", 5);
    refuses(path, roles, "is none of NPZ, NPY and IDX");
}

/* ---- larger than the memory -------------------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

/* Most memory that this process has ever had, in MB, mapped files included. */
static double peak(void) {
    char line[256];
    double kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    assert_non_null(status);
    while (fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtod(line + 6, NULL);
    fclose(status);
    return kilobytes / 1024;
}

/* A file of 1.2 GB, all holes: hashed and read from end to end in a sixth of that. */
static void test_large(void **state) {
    (void)state;
    if (SANITIZED) /* which has its own memory */
        skip();
    enum { ROWS = 9600, PIXELS = 256 * 256 };
    char header[128] = "\x93NUMPY\1\0\x76\0{'descr': '<i2', 'fortran_order': False, 'shape': (9600, 256, 256), }";
    static const size_t text = 10 + sizeof "{'descr': '<i2', 'fortran_order': False, 'shape': (9600, 256, 256), }" - 1;
    static float pixels[PIXELS];
    memset(header + text, ' ', sizeof header - text);
    header[sizeof header - 1] = '\n';
    put(header, sizeof header);
    assert_int_equal(truncate(path, (off_t)sizeof header + (off_t)ROWS * PIXELS * 2), 0);
    double before = peak();
    pv_image_roles roles = {.unlabelled = true};
    pv_images *images;
    ok(pv_images_read(ctx, path, &roles, &images));
    for (size_t row = 0; row < ROWS; row++) {
        pv_images_pixels(images, row, pixels);
        near(pixels[PIXELS - 1], 0, 0);
    }
    pv_images_free(ctx, images);
    put("", 0);
    if (!(peak() < before + 200))
        fail_msg("%.0f MB of memory, %.0f before", peak(), before);
}

static pv_status read_packed(pv_ctx *poor) {
    pv_image_roles roles = (pv_image_roles){0};
    roles.images = "hu";
    roles.group = "patient";
    roles.drop_missing = true;
    pv_images *images = NULL;
    pv_status status = pv_images_read(poor, file_of("packed.npz"), &roles, &images);
    pv_images_free(poor, images);
    if (status != PV_OK)
        return status;
    status = pv_images_read(poor, file_of("stored.npz"), &(pv_image_roles){0}, &images);
    pv_images_free(poor, images);
    return status;
}

static void test_memory(void **state) {
    (void)state;
    sweep_memory(read_packed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stored),         cmocka_unit_test(test_packed_votes),
                                       cmocka_unit_test(test_zip64_and_text), cmocka_unit_test(test_single_arrays),
                                       cmocka_unit_test(test_recognise),      cmocka_unit_test(test_roles_refused),
                                       cmocka_unit_test(test_truncated),      cmocka_unit_test(test_damaged),
                                       cmocka_unit_test(test_encrypted),      cmocka_unit_test(test_bad_values),
                                       cmocka_unit_test(test_large),          cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests_name("images", tests, setup, teardown);
}
