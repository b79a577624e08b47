/* Status texts, option tables, nearest words, atomic files, memory. */
#include <locale.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit/check.h"

#include "base/base.h"

typedef struct sample {
    bool flag;
    int64_t count;
    double rate;
    int kind;
    const char *name;
} sample;

static const pv_option table[] = {
    {"flag", PV_OPTION_FLAG, offsetof(sample, flag), NULL, 0, 0, NULL, NULL, "A flag."},
    {"count", PV_OPTION_INT, offsetof(sample, count), "3", 1, 10, NULL, NULL, "A count."},
    {"rate", PV_OPTION_REAL, offsetof(sample, rate), "0.5", 0, 1, NULL, NULL, "A rate."},
    {"kind", PV_OPTION_CHOICE, offsetof(sample, kind), "b", 0, 0, "a|b|long", NULL, "A kind."},
    {"name", PV_OPTION_TEXT, offsetof(sample, name), NULL, 0, 0, NULL, NULL, "A name."},
    {0}};

static void test_status(void **state) {
    (void)state;
    assert_string_equal(pv_status_name(PV_OK), "ok");
    assert_string_equal(pv_status_name(PV_ERR_INPUT), "input");
    assert_string_equal(pv_status_text((pv_status)999), "unknown status");
    assert_string_equal(pv_status_name((pv_status)999), "unknown");
    assert_string_equal(pv_stop_name(PV_STOP_MAX_ITER), "max_iter");
    assert_string_equal(pv_stop_name((pv_stop)999), "unknown");
}

/* One-sided bounds, which tables of other programs may have. */
static void test_one_bound(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    sample s;
    const pv_option open[] = {
        {"least", PV_OPTION_REAL, offsetof(sample, rate), "2", 1, HUGE_VAL, NULL, NULL, "At least."},
        {"most", PV_OPTION_REAL, offsetof(sample, rate), "2", -HUGE_VAL, 3, NULL, NULL, "At most."},
        {0}};
    CHECK_OK(ctx, pv_option_set(ctx, open, &s, "least", "1e300"));
    assert_int_equal(pv_option_set(ctx, open, &s, "least", "0.5"), PV_ERR_USAGE);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "`least=0.5`: must be at least 1"));
    assert_int_equal(pv_option_set(ctx, open, &s, "most", "4"), PV_ERR_USAGE);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "`most=4`: must be at most 3"));
    pv_ctx_free(ctx);
}

/* A socket is a file that even root cannot open; a folder that appears at the output's path. */
static void test_unusable_paths(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    char folder[] = "/tmp/prevail-base-XXXXXX";
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    assert_non_null(mkdtemp(folder));
    snprintf(name.sun_path, sizeof name.sun_path, "%s/out", folder);
    int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(descriptor, (const struct sockaddr *)&name, sizeof name), 0);
    close(descriptor);
    FILE *stream;
    pv_output output;
    assert_int_equal(pv__file_open(ctx, name.sun_path, &stream), PV_ERR_PATH);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "cannot be read: No such device or address; check"));
    assert_int_equal(pv_output_open(ctx, name.sun_path, &output), PV_ERR_PATH);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "cannot be written: No such device or address"));
    unlink(name.sun_path);
    CHECK_OK(ctx, pv_output_open(ctx, name.sun_path, &output));
    assert_int_equal(mkdir(name.sun_path, 0700), 0);
    assert_int_equal(pv_output_commit(ctx, &output), PV_ERR_WRITE);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "could not be written completely: Is a directory"));
    assert_int_equal(rmdir(name.sun_path), 0);
    assert_int_equal(rmdir(folder), 0); /* it is empty */
    pv_ctx_free(ctx);
}

static void test_options(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    sample s;
    pv_options_default(table, &s);
    assert_false(s.flag);
    assert_int_equal(s.count, 3);
    CHECK_NEAR(s.rate, 0.5, 0);
    assert_int_equal(s.kind, 1);
    assert_null(s.name);
    CHECK_OK(ctx, pv_option_set(ctx, table, &s, "flag", NULL));
    CHECK_OK(ctx, pv_option_set(ctx, table, &s, "kind", "long"));
    CHECK_OK(ctx, pv_option_set(ctx, table, &s, "rate", "1e-3"));
    assert_true(s.flag);
    assert_int_equal(s.kind, 2);
    char text[64];
    for (const pv_option *row = table; row->name; row++) { /* printed values parse again */
        sample again = s;
        pv_option_get(row, &s, text, sizeof text);
        if (row->type == PV_OPTION_TEXT)
            continue;
        CHECK_OK(ctx, pv_option_set(ctx, table, &again, row->name, text));
        assert_memory_equal(&again, &s, sizeof s);
    }
    const struct {
        const char *name, *value, *message;
    } wrong[] = {{"count", "11", "`count=11`: must lie between 1 and 10"},
                 {"count", "2.5", "`count=2.5`: not a whole number"},
                 {"count", "99999999999999999999", "`count=99999999999999999999`: must lie between 1 and 10"},
                 {"rate", "nan", "`rate=nan`: not a number"},
                 {"rate", "", "`rate=`: not a number"},
                 {"kind", "lon", "`kind=lon`: choose one of a|b|long"},
                 {"count", NULL, "`count` needs a value"},
                 {"flag", "yes", "`flag` takes no value; write `flag` alone"},
                 {"cuont", "1", "unknown option `cuont`; did you mean `count`?"},
                 {"zzzzzzz", "1", "unknown option `zzzzzzz`; `help` lists them"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pv_option_set(ctx, table, &s, wrong[i].name, wrong[i].value), PV_ERR_USAGE);
        assert_string_equal(pv_ctx_error(ctx)->message, wrong[i].message);
    }
    pv_ctx_free(ctx);
}

static void test_fit_defaults(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    pv_fit_options options;
    memset(&options, 0xff, sizeof options);
    pv_options_default(pv_fit_option_table, &options);
    for (const pv_option *row = pv_fit_option_table; row->name; row++) { /* every default parses */
        if (row->fallback)
            CHECK_OK(ctx, pv_option_set(ctx, pv_fit_option_table, &options, row->name, row->fallback));
        assert_non_null(row->help);
    }
    assert_int_equal(options.loss, PV_LOSS_IG);
    assert_int_equal(options.marginal, PV_MARGINAL_PROFILE);
    assert_string_equal(options.prior, "usual");
    pv_ctx_free(ctx);
}

/* The decimal point is the same in every locale; lists are parsed number by number. */
static void test_parse_real(void **state) {
    (void)state;
    static const char *const locales[] = {"C", "de_DE.UTF-8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++) {
        if (!setlocale(LC_NUMERIC, locales[i]))
            continue; /* not installed on this machine */
        double value;
        const char *text = "0.25,1e-3", *end = pv_parse_real(text, &value);
        assert_ptr_equal(end, text + 4);
        assert_true(value == 0.25);
        end = pv_parse_real(end + 1, &value);
        assert_ptr_equal(end, text + 9);
        assert_true(value == 1e-3);
        assert_null(pv_parse_real("", &value));
        assert_null(pv_parse_real(" 1", &value));
        assert_null(pv_parse_real("x", &value));
        assert_null(pv_parse_real("nan", &value));
        assert_null(pv_parse_real("inf", &value));
        assert_null(pv_parse_real("1e999", &value));
    }
    setlocale(LC_NUMERIC, "C");
}

static void test_nearest(void **state) {
    (void)state;
    const char *words[] = {"age", "diameter", "malignant"};
    assert_string_equal(pv_nearest("diametre", words, 3), "diameter");
    assert_string_equal(pv_nearest("AGE", words, 3), "age");
    assert_string_equal(pv_nearest("malig", words, 3), "malignant");
    assert_null(pv_nearest("qqqqqq", words, 3));
    assert_null(pv_nearest("x", words, 0));
}

static void write_text(pv_ctx *ctx, const char *path, const char *text, bool commit) {
    pv_output output;
    CHECK_OK(ctx, pv_output_open(ctx, path, &output));
    fputs(text, output.stream);
    if (commit)
        CHECK_OK(ctx, pv_output_commit(ctx, &output));
    else
        pv_output_discard(ctx, &output);
}

static void read_text(const char *path, char *text, size_t size) {
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    text[fread(text, 1, size - 1, stream)] = '\0';
    fclose(stream);
}

static void test_output(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    char folder[] = "/tmp/prevail-base-XXXXXX", path[64], link[64], text[32];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    write_text(ctx, path, "first", true);
    write_text(ctx, path, "never seen", false);
    read_text(path, text, sizeof text);
    assert_string_equal(text, "first");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink(path, link), 0);
    write_text(ctx, link, "second", true); /* through the link, keeping the mode */
    read_text(path, text, sizeof text);
    assert_string_equal(text, "second");
    struct stat about;
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
    pv_output output;
    assert_int_equal(pv_output_open(ctx, folder, &output), PV_ERR_PATH);
    assert_int_equal(pv_output_open(ctx, "/nonexistent/folder/file", &output), PV_ERR_PATH);
    unlink(link);
    unlink(path);
    assert_int_equal(rmdir(folder), 0); /* fails if a temporary file was left */
    pv_ctx_free(ctx);
}

/* A program that ends at once leaves no temporary files, including those of jobs; entries are reused. */
static pv_status leave_open(pv_ctx *ctx, void *state, size_t index) {
    pv_output *output = state;
    char path[64];
    snprintf(path, sizeof path, "%s.%zu", output[0].path, index);
    write_text(ctx, path, "whole", true);
    PV_TRY(pv_output_open(ctx, path, &output[index + 1]));
    fputs("half", output[index + 1].stream);
    return PV_OK;
}

static void test_abandoned(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(2);
    char folder[] = "/tmp/prevail-base-XXXXXX", path[64], text[32];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out", folder);
    pv_output output[4];
    size_t finished;
    CHECK_OK(ctx, pv_output_open(ctx, path, &output[0]));
    CHECK_OK(ctx, pv_jobs_run(ctx, "outputs", 3, true, leave_open, output, &finished));
    for (int i = 0; i < 4; i++)
        assert_int_equal(access(output[i].temporary, F_OK), 0);
    pv_outputs_abandon(ctx);
    pv_output none;
    assert_int_equal(pv_output_open(ctx, path, &none), PV_ERR_PATH);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(access(output[i].temporary, F_OK), -1);
        pv_output_discard(ctx, &output[i]);
    }
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/out.%d", folder, i);
        read_text(path, text, sizeof text);
        assert_string_equal(text, "whole");
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
    pv_ctx_free(ctx);
}

static void test_full_disk(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    pv_output output;
    CHECK_OK(ctx, pv_output_open(ctx, "/dev/full", &output));
    for (int i = 0; i < 100000; i++)
        fputs("0123456789", output.stream);
    assert_int_equal(pv_output_commit(ctx, &output), PV_ERR_WRITE);
    pv_ctx_free(ctx);
}

static void test_memory(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    double *block;
    assert_int_equal(pv__alloc(ctx, SIZE_MAX / 4, sizeof *block, &block), PV_ERR_MEMORY);
    assert_null(block);
    CHECK_OK(ctx, pv__alloc(ctx, 4, sizeof *block, &block));
    CHECK_NEAR(block[3], 0, 0);
    CHECK_OK(ctx, pv__resize(ctx, 100, sizeof *block, &block));
    assert_int_equal(pv__resize(ctx, SIZE_MAX / 4, sizeof *block, &block), PV_ERR_MEMORY);
    block[99] = 1;
    pv__free(ctx, block);
    pv__free(ctx, NULL);
    pv_ctx_free(ctx);
}

/* A child's error is copied with its position; its allocations are serialised, including a grandchild's. */
static int inside, collisions;

static void enter(void) {
    int now;
#pragma omp atomic capture
    now = ++inside;
    if (now > 1) {
#pragma omp atomic
        collisions++;
    }
    usleep(50);
#pragma omp atomic
    inside--;
}

static void *lone_alloc(void *state, size_t size) {
    (void)state;
    enter();
    return malloc(size);
}

static void *lone_resize(void *state, void *block, size_t size) {
    (void)state;
    enter();
    return realloc(block, size);
}

static void lone_release(void *state, void *block) {
    (void)state;
    enter();
    free(block);
}

static void test_children(void **state) {
    (void)state;
    pv_ctx_options options = pv_ctx_options_default();
    options.allocator = (pv_allocator){lone_alloc, lone_resize, lone_release, NULL};
    pv_ctx *parent;
    assert_int_equal(pv_ctx_new(&options, &parent), PV_OK);
    int failed = 0;
#pragma omp parallel for num_threads(4) reduction(+ : failed)
    for (int i = 0; i < 4; i++) {
        pv_ctx *child = NULL, *grandchild = NULL;
        double *block = NULL;
        failed += pv__ctx_child(parent, &child) != PV_OK || pv__ctx_child(child, &grandchild) != PV_OK;
        for (size_t j = 0; !failed && j < 50; j++) {
            pv_ctx *own = j & 1 ? child : grandchild;
            failed += pv__alloc(own, j, sizeof *block, &block) != PV_OK;
            failed += pv__resize(own, j + 1, sizeof *block, &block) != PV_OK;
            pv__free(own, block);
        }
        pv_ctx_free(grandchild);
        pv_ctx_free(child);
    }
    assert_int_equal(failed, 0);
    assert_int_equal(collisions, 0);
    pv_ctx *child;
    CHECK_OK(parent, pv__ctx_child(parent, &child));
    pv__fail_at(child, PV_ERR_INPUT, "a.csv", 3, 4, "bad %s", "cell");
    assert_int_equal(pv__ctx_adopt(parent, child), PV_ERR_INPUT);
    assert_string_equal(pv_ctx_error(parent)->message, "bad cell");
    assert_string_equal(pv_ctx_error(parent)->file, "a.csv");
    assert_int_equal(pv_ctx_error(parent)->line, 3);
    assert_int_equal(pv_ctx_error(parent)->column, 4);
    pv_ctx_free(child);
    pv_ctx_free(parent);
}

/* After the wait, the results of the thread are visible, every time. */
static void count_up(void *state) {
    int *count = state;
    ++*count;
}

static void test_background(void **state) {
    (void)state;
    pv_ctx *ctx = NULL;
    assert_int_equal(pv_ctx_new(NULL, &ctx), PV_OK);
    int count = 0;
    pv__background *background;
    assert_int_equal(pv__background_new(ctx, count_up, &count, &background), PV_OK);
    pv__background_wait(background); /* nothing was started */
    for (int i = 1; i <= 1000; i++) {
        pv__background_start(background);
        pv__background_wait(background);
        assert_int_equal(count, i);
    }
    pv__background_start(background);
    pv__background_free(ctx, background); /* waits for running work */
    assert_int_equal(count, 1001);
    pv__background_free(ctx, NULL);
    pv_ctx_free(ctx);
}

/* A long value is shortened, the rest of the message is not. */
static void test_squeeze(void **state) {
    (void)state;
    char text[4000], same[] = "short";
    pv_text_squeeze(same, sizeof same);
    assert_string_equal(same, "short");
    for (size_t length = 1; length < 3000; length += 37)
        for (size_t size = 120; size < 600; size += 77) {
            memset(text, 'a', length);
            memcpy(text + length, ": choose one", sizeof ": choose one");
            pv_text_squeeze(text, size);
            assert_true(strlen(text) < size);
            assert_non_null(strstr(text, ": choose one"));
        }
    char characters[301], words[301];
    for (size_t i = 0; i < 150; i++) {
        memcpy(characters + 2 * i, "\xC3\xA9", 2);
        memcpy(words + 2 * i, "a ", 2);
    }
    characters[300] = words[300] = '\0';
    characters[0] = 'e'; /* shifts characters to odd positions */
    characters[1] = 'e';
    pv_text_squeeze(characters, 100);
    for (const char *at = characters; *at; at += pv_utf8_next(at, NULL))
        assert_true(pv_utf8_next(at, NULL) > 0);
    pv_text_squeeze(words, 100);
    assert_int_equal(strlen(words), 99);
    assert_string_equal(words + 96, "...");
}

static void test_decimal(void **state) {
    (void)state;
    double value;
    const char *const hexadecimal[] = {"0x1p-3", "0X10", "-0x1", "+0x0.8"};
    for (size_t i = 0; i < 4; i++)
        assert_null(pv_parse_real(hexadecimal[i], &value));
    assert_non_null(pv_parse_real("0.125", &value));
    assert_true(value == 0.125);
    assert_non_null(pv_parse_real("-0", &value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_background),     cmocka_unit_test(test_status),    cmocka_unit_test(test_options),
        cmocka_unit_test(test_fit_defaults),   cmocka_unit_test(test_nearest),   cmocka_unit_test(test_parse_real),
        cmocka_unit_test(test_output),         cmocka_unit_test(test_full_disk), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_children),       cmocka_unit_test(test_abandoned), cmocka_unit_test(test_one_bound),
        cmocka_unit_test(test_unusable_paths), cmocka_unit_test(test_squeeze),   cmocka_unit_test(test_decimal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
