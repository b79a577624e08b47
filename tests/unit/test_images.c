/* Arrays and images: files written by NumPy (tests/arrays), and invalid files. */
#include <signal.h>
#include <sys/resource.h>
#include <zlib.h>

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

/* Every pixel is 3 i + start, with i counted in C order over the whole file. */
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
    pv_targets targets = pv_images_targets(images);
    assert_true(targets.n == 3 && targets.classes == 2 && targets.label == images->label && !targets.frequency);
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
    says("array 'votes' has no vote for image [1]; `missing=drop`");
    roles.drop_missing = true;
    images = must_get("packed.npz", &roles);
    assert_int_equal(images->layout, PV_IMAGES_VOLUMES);
    assert_int_equal(images->planes, 2);
    assert_int_equal(images->rows, 2);
    assert_int_equal(images->dropped, 1);
    assert_int_equal(images->index[1], 2);
    is_ramp(images, -7); /* big-endian and in Fortran order */
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
    roles.binarise = 2; /* exactly 2 is on neither side */
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

/* ---- invalid files ----------------------------------------------------------------------------------------------- */

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
    refuses(file_of("packed.npz"), roles, "has no array 'images' for `images`; it has: hu, votes, patient, spacing");
    roles.images = "hv";
    refuses(file_of("packed.npz"), roles, "has no array 'hv' for `images`; did you mean 'hu'?");
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
    refuses(file_of("stored.npz"), roles, "has no label '7' for `positive`");
    roles = (pv_image_roles){0};
    roles.images = "spacing";
    roles.views = true;
    refuses(file_of("packed.npz"), roles, "array 'spacing' has 2 dimensions");
    char labels[512];
    snprintf(labels, sizeof labels, "%s", file_of("labels.idx"));
    roles = (pv_image_roles){0};
    roles.labels = labels;
    refuses(file_of("zip64.npz"), roles, "has 3 rows, but array 'images' has 2");
    char several[512];
    snprintf(several, sizeof several, "%s", file_of("packed.npz"));
    roles.labels = several;
    refuses(file_of("stored.npz"), roles, "has several arrays; `labels` takes a file of one");
    pv_archive *archive;
    assert_int_equal(pv_archive_open(ctx, "/dev/zero", &archive), PV_ERR_PATH);
    says("is not a regular file");
    put("\0\0\x08\x02\0\0\0\1", 8); /* an IDX file with two dimensions that ends after the first */
    refuses(path, roles, "is truncated in its header");
}

/* Writes images of 2 x 2 with these labels, and frequencies that are all 0. */
static void put_images(size_t rows, size_t classes) {
    pv_archive *archive;
    float *pixels, *frequency;
    int32_t *label;
    ok(pv_archive_new(ctx, "made", &archive));
    ok(pv_archive_add(ctx, archive, "images", PV_ARRAY_F32, 3, (const size_t[]){rows, 2, 2}, &pixels));
    ok(pv_archive_add(ctx, archive, "labels", PV_ARRAY_I32, 1, &rows, &label));
    ok(pv_archive_add(ctx, archive, "frequencies", PV_ARRAY_F32, 2, (const size_t[]){rows, 2}, &frequency));
    for (size_t i = 0; i < rows; i++)
        label[i] = (int32_t)(i % classes);
    ok(pv_archive_write(ctx, archive, path));
    pv_archive_free(ctx, archive);
}

static void test_labels_refused(void **state) {
    (void)state;
    put_images(1001, 1001);
    refuses(path, (pv_image_roles){.labels = "labels"}, "array 'labels' has more than 1000 distinct values");
    put_images(6, 3);
    refuses(path, (pv_image_roles){.labels = "labels", .positive = "1"}, "`positive` is for two classes; there are 3");
    pv_image_roles soft = {.frequencies = "frequencies"};
    refuses(path, soft, "array 'frequencies' has no vote for image [0]");
    soft.drop_missing = true;
    refuses(path, soft, "no image is left: all were dropped");
    char text[10 + 64 + 12] = "\x93NUMPY\1\0\x40\0{'descr': '<U1', 'fortran_order': False, 'shape': (3,), }";
    memset(text + strlen(text + 10) + 10, ' ', 10 + 64 - strlen(text + 10) - 10);
    memcpy(text + 10 + 64, "a\0\0\0\0\0\0\0b\0\0\0", 12);
    put(text, sizeof text);
    refuses(file_of("stored.npz"), (pv_image_roles){.labels = path}, "has an empty text at [1]");
}

static size_t load(const char *name, unsigned char *bytes, size_t room) {
    FILE *file = fopen(file_of(name), "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, room, file);
    fclose(file);
    assert_true(n < room);
    return n;
}

/* A file truncated anywhere is rejected and never read beyond its end (checked by sanitisers). */
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
            if (status == PV_OK && f == 4) { /* only gzip's trailer is missing */
                pv_images_free(ctx, images);
                continue;
            }
            assert_int_equal(status, PV_ERR_FORMAT);
            assert_null(images);
        }
    }
}

/* With any byte changed the file is rejected or read, but never crashes. The CRC detects a changed pixel of a stored
 * member. */
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
    refuses(path, roles, "is truncated");
    put_npy("(4611686018427387904, 4, 1)", pixels, 12);
    refuses(path, roles, "is truncated");
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
    roles.frequencies = NULL; /* as votes: proportions are recognised by their fractions */
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
    refuses(file_of("stored.npz"), roles, "has proportions of votes, not votes: leave `binarise` out");
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
    refuses(path, roles, "is not an NPZ, NPY or IDX file");
}

/* ---- files larger than memory ------------------------------------------------------------------------------------ */

/* Peak memory of this process in MB, including mapped files. */
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

/* A sparse file of 1.2 GB: hashed and read completely in a sixth of that. */
static void test_large(void **state) {
    (void)state;
    if (SANITIZED) /* sanitisers use memory of their own */
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

/* Appends a member to a gzip file: zeros, then one byte. */
static void add_part(FILE *file, const unsigned char *start, size_t size, size_t zeros, unsigned char last) {
    static unsigned char packed[1 << 18], piece[1 << 16];
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    memcpy(piece, start, size);
    z.next_out = packed;
    z.avail_out = sizeof packed;
    for (size_t done = 0, all = size + zeros; done < all; done += z.total_in - done) {
        if (done == size)
            memset(piece, 0, sizeof piece);
        size_t some = done < size ? size : all - done < sizeof piece ? all - done : sizeof piece;
        if (done + some == all && zeros)
            piece[some - 1] = last;
        z.next_in = piece;
        z.avail_in = (uInt)some;
        int code = deflate(&z, done + some == all ? Z_FINISH : Z_NO_FLUSH);
        assert_int_equal(code, done + some == all ? Z_STREAM_END : Z_OK);
    }
    assert_int_equal(fwrite(packed, 1, z.total_out, file), z.total_out);
    deflateEnd(&z);
}

/* 272 MB from a gzip file of many members are unpacked to a temporary file; if there is not enough space, that is
 * reported. */
static void test_unpacked_to_disk(void **state) {
    (void)state;
    enum { ROWS = 17, ROW = 1 << 24 };
    const unsigned char head[16] = {0, 0, 8, 3, 0, 0, 0, ROWS, 0, 0, 16, 0, 0, 0, 16, 0};
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    add_part(file, head, sizeof head, 0, 0);
    for (size_t i = 0; i < ROWS; i++)
        add_part(file, head, 0, ROW, (unsigned char)(i + 1));
    assert_int_equal(fclose(file), 0);
    pv_archive *archive;
    pv_array array;
    ok(pv_archive_open(ctx, path, &archive));
    ok(pv_archive_array(ctx, archive, 0, &array));
    assert_int_equal(array.count, (size_t)ROWS * ROW);
    for (size_t i = 0; i < ROWS; i++) {
        near(pv_array_number(&array, (i + 1) * ROW - 1), (double)(i + 1), 0);
        near(pv_array_number(&array, i * ROW), 0, 0);
    }
    pv_archive_free(ctx, archive);
    struct rlimit usual, little;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    const rlim_t limits[] = {1 << 26, (rlim_t)260 << 20, sizeof head + (rlim_t)ROWS * ROW - 8};
    for (int i = 0; i < 3; i++) {
        little = (struct rlimit){limits[i], usual.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
        assert_int_equal(pv_archive_open(ctx, path, &archive), PV_ERR_WRITE);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
        says(i < 2 ? "cannot be unpacked: the disk of temporary files is full" : "cannot be unpacked: File too large");
    }
    signal(SIGXFSZ, handler);
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
                                       cmocka_unit_test(test_large),          cmocka_unit_test(test_unpacked_to_disk),
                                       cmocka_unit_test(test_labels_refused), cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests_name("images", tests, setup, teardown);
}
