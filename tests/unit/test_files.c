/* Files that a piece of work reads and writes: none overwrites another, under any name and in any order; foreign files
 * in an output folder are kept; names up to the maximum length; links; modes. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "unit/check.h"

static char folder[] = "/tmp/prevail-files-XXXXXX";
static pv_ctx *ctx;

static const char *at(const char *name) {
    static char path[4][1024];
    static int next;
    char *to = path[next++ % 4];
    snprintf(to, sizeof path[0], "%s/%s", folder, name);
    return to;
}

static void make(const char *name, const char *text) {
    FILE *stream = fopen(at(name), "wb");
    assert_non_null(stream);
    fputs(text, stream);
    fclose(stream);
}

static void is(const char *name, const char *text) {
    char got[64] = "";
    FILE *stream = fopen(at(name), "rb");
    assert_non_null(stream);
    got[fread(got, 1, sizeof got - 1, stream)] = '\0';
    fclose(stream);
    assert_string_equal(got, text);
}

static void says(const char *part) {
    const char *message = pv_ctx_error(ctx)->message;
    if (!strstr(message, part))
        print_error("%s\n", message);
    assert_non_null(strstr(message, part));
}

static int begin(void **state) {
    (void)state;
    char template[] = "/tmp/prevail-files-XXXXXX";
    memcpy(folder, template, sizeof folder);
    ctx = check_ctx(2);
    pv_files_begin(ctx);
    return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state) {
    (void)state;
    pv_ctx_free(ctx);
    const char *const folders[] = {"inner", ""};
    for (int i = 0; i < 2; i++) {
        DIR *opened = opendir(at(folders[i]));
        for (const struct dirent *found; opened && (found = readdir(opened));)
            unlinkat(dirfd(opened), found->d_name, 0);
        if (opened)
            closedir(opened);
        rmdir(at(folders[i]));
    }
    return access(folder, F_OK) == 0 ? -1 : 0;
}

static void write_text(const char *path, const char *text) {
    pv_output output;
    CHECK_OK(ctx, pv_output_open(ctx, path, &output));
    fputs(text, output.stream);
    CHECK_OK(ctx, pv_output_commit(ctx, &output));
}

/* Two names of one file, in both orders: input and output, and two outputs. */
static void refuse_pair(const char *one, const char *other) {
    for (int turn = 0; turn < 2; turn++) {
        pv_files_begin(ctx);
        CHECK_OK(ctx, turn ? pv_files_write(ctx, "`output`", at(other)) : pv_files_read(ctx, "DATA", at(one)));
        assert_int_equal(turn ? pv_files_read(ctx, "DATA", at(one)) : pv_files_write(ctx, "`output`", at(other)),
                         PV_ERR_USAGE);
        says("is both an output (`output`) and an input (DATA ");
        assert_string_equal(pv_ctx_error(ctx)->file, at(other));
    }
    pv_files_begin(ctx);
    CHECK_OK(ctx, pv_files_write(ctx, "`output`", at(one)));
    assert_int_equal(pv_files_write(ctx, "`report`", at(other)), PV_ERR_USAGE);
    says("is the name of two outputs, `output` ");
    pv_files_begin(ctx);
    CHECK_OK(ctx, pv_files_read(ctx, "DATA", at(one))); /* two inputs may be the same file */
    CHECK_OK(ctx, pv_files_read(ctx, "`holdout`", at(other)));
}

static void refuses_two_names_of_a_file(void **state) {
    (void)state;
    make("a", "a");
    assert_int_equal(mkdir(at("inner"), 0700), 0);
    assert_int_equal(symlink("a", at("link")) | symlink("new", at("dangling")) | link(at("a"), at("hard")) |
                         symlink("..", at("inner/up")),
                     0);
    refuse_pair("a", "a");
    refuse_pair("a", "./inner/../a");
    refuse_pair("a", "link");
    refuse_pair("link", "a");
    refuse_pair("a", "hard");
    refuse_pair("a", "inner/up/a");
    refuse_pair("new", "inner/up/new"); /* neither exists yet */
    refuse_pair("new", "dangling");
    pv_files_begin(ctx);
    CHECK_OK(ctx, pv_files_read(ctx, "DATA", at("a")));
    CHECK_OK(ctx, pv_files_write(ctx, "`output`", at("new")));
    CHECK_OK(ctx, pv_files_write(ctx, "`report`", "/dev/null")); /* devices are not replaced */
    CHECK_OK(ctx, pv_files_write(ctx, "`trace`", "/dev/null"));
    CHECK_OK(ctx, pv_files_write(ctx, "`truth`", "-"));
    CHECK_OK(ctx, pv_files_read(ctx, "`costs`", NULL));
}

/* Files that were not named are registered when opened; files that the work has written are its own. */
static void refuses_what_is_opened(void **state) {
    (void)state;
    pv_output output;
    FILE *stream;
    make("a", "a");
    CHECK_OK(ctx, pv__file_open(ctx, at("a"), &stream));
    fclose(stream);
    assert_int_equal(pv_output_open(ctx, at("a"), &output), PV_ERR_USAGE);
    says("and an input (");
    CHECK_OK(ctx, pv_files_write(ctx, "`output`", at("b")));
    make("b", "old");
    assert_int_equal(pv__file_open(ctx, at("b"), &stream), PV_ERR_USAGE);
    write_text(at("b"), "new");
    CHECK_OK(ctx, pv__file_open(ctx, at("b"), &stream));
    fclose(stream);
    write_text(at("b"), "newer");
    pv_files_end(ctx);
    write_text(at("a"), "other work");
    is("a", "other work");
    is("b", "newer");
    CHECK_OK(ctx, pv__file_open(ctx, at("a"),
                                &stream)); /* outside of registered work, files are read and written without checks */
    fclose(stream);
    write_text(at("a"), "again");
}

static pv_status open_input(pv_ctx *own, void *state, size_t index) {
    const char *path = state;
    pv_output output;
    if (index % 2)
        return pv_files_read(own, "DATA", path);
    return pv_output_open(own, path, &output) == PV_ERR_USAGE ? PV_OK : PV_ERR_INTERNAL;
}

static void jobs_share_what_is_known(void **state) {
    (void)state;
    size_t finished;
    char path[64];
    snprintf(path, sizeof path, "%s/a", folder);
    make("a", "a");
    CHECK_OK(ctx, pv_files_read(ctx, "DATA", path));
    CHECK_OK(ctx, pv_jobs_run(ctx, "jobs", 40, true, open_input, path, &finished));
    assert_int_equal(finished, 40);
    is("a", "a");
}

static const pv_files_pattern patterns[] = {
    {"roc.csv", "x,y\n"}, {"any.csv", ""}, {"no.csv", NULL}, {"*.svg", "<svg ours"}, {NULL, NULL}};
static const pv_files_pattern others[] = {{"roc.csv", "x,y\n"}, {NULL, NULL}}, apart[] = {{"b.html", ""}, {NULL, NULL}};

static void leaves_the_files_of_others(void **state) {
    (void)state;
    pv_output output;
    make("roc.csv", "x,y\n1,2\n");
    make("any.csv", "anything");
    make("a.svg", "<svg ours>");
    make("b.svg", "<svg theirs>");
    CHECK_OK(ctx, pv_files_write_into(ctx, "`curves`", folder, patterns));
    write_text(at("roc.csv"), "new");
    write_text(at("any.csv"), "new");
    write_text(at("a.svg"), "<svg ours too>");
    write_text(at("new.svg"), "<svg ours>");
    assert_int_equal(pv_output_open(ctx, at("b.svg"), &output), PV_ERR_PATH);
    says("does not look like a file of this name written by `curves`");
    is("b.svg", "<svg theirs>");
    pv_files_begin(ctx);
    assert_int_equal(pv_files_write_into(ctx, "`curves`", folder, patterns),
                     PV_ERR_PATH); /* roc.csv is now a foreign file */
    make("roc.csv", "x,y\n");
    make("no.csv", "");
    assert_int_equal(pv_files_write_into(ctx, "`curves`", folder, patterns), PV_ERR_PATH);
    assert_string_equal(pv_ctx_error(ctx)->file, at("no.csv"));
    assert_int_equal(pv_files_write_into(ctx, "`curves`", at("no.csv"), patterns), PV_ERR_PATH);
    says("is a file; name a folder for `curves`");
}

static void refuses_files_in_the_folder(void **state) {
    (void)state;
    char slashed[64];
    snprintf(slashed, sizeof slashed, "%s//", folder);
    make("roc.csv", "x,y\n");
    make("a", "x,y\n");
    for (int turn = 0; turn < 4; turn++) { /* an input or output, named before or after the folder */
        pv_files_begin(ctx);
        pv_status first = turn % 2   ? pv_files_write_into(ctx, "`curves`", slashed, patterns)
                          : turn / 2 ? pv_files_read(ctx, "DATA", at("roc.csv"))
                                     : pv_files_write(ctx, "`output`", at("c.svg"));
        CHECK_OK(ctx, first);
        pv_status second = !(turn % 2) ? pv_files_write_into(ctx, "`curves`", slashed, patterns)
                           : turn / 2  ? pv_files_read(ctx, "DATA", at("roc.csv"))
                                       : pv_files_write(ctx, "`output`", at("c.svg"));
        assert_int_equal(second, PV_ERR_USAGE);
    }
    pv_files_begin(ctx);
    CHECK_OK(ctx, pv_files_write_into(ctx, "`curves`", folder, patterns));
    CHECK_OK(ctx, pv_files_read(ctx, "DATA", at("a"))); /* its name is never written there */
    CHECK_OK(ctx, pv_files_write_into(ctx, "`report`", folder, apart));
    assert_int_equal(pv_files_write_into(ctx, "`figures`", slashed, others), PV_ERR_USAGE);
    says("is the folder of both `curves` and `figures`, which may each write a file roc.csv");
    /* A link in the folder to an input that begins like our files. */
    unlink(at("roc.csv"));
    assert_int_equal(symlink("a", at("roc.csv")), 0);
    pv_files_begin(ctx);
    CHECK_OK(ctx, pv_files_read(ctx, "DATA", at("a")));
    assert_int_equal(pv_files_write_into(ctx, "`curves`", folder, patterns), PV_ERR_USAGE);
    says("and an input (DATA ");
}

/* Names too long for ".partial.XXXXXX" are written through a shorter one; characters are not cut. */
static void writes_the_longest_names(void **state) {
    (void)state;
    char name[300], *prefix;
    for (size_t length = 235; length <= 256; length++) {
        memset(name, 'a', length);
        memcpy(name + length - 30, "\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 18);
        name[length] = '\0';
        pv_files_begin(ctx);
        if (length > 255) {
            assert_int_equal(pv_files_write(ctx, "`output`", at(name)), PV_ERR_PATH);
            says("File name too long");
            break;
        }
        CHECK_OK(ctx, pv_files_write(ctx, "`output`", at(name)));
        CHECK_OK(ctx, pv__partial_prefix(ctx, at(name), &prefix));
        for (const char *c = prefix; *c; c += pv_utf8_next(c, NULL))
            assert_true(pv_utf8_next(c, NULL) > 0);
        pv__free(ctx, prefix);
        write_text(at(name), "long");
        is(name, "long");
        assert_int_equal(unlink(at(name)), 0);
    }
    DIR *opened = opendir(folder);
    for (const struct dirent *found; (found = readdir(opened));)
        assert_int_equal(found->d_name[0], '.'); /* no files are left */
    closedir(opened);
}

static void writes_through_links(void **state) {
    (void)state;
    struct stat about;
    pv_output output;
    assert_int_equal(symlink("target", at("dangling")) | symlink("dangling", at("far")) | symlink("loop", at("loop")),
                     0);
    write_text(at("far"), "through two");
    is("target", "through two");
    assert_int_equal(lstat(at("dangling"), &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(lstat(at("far"), &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(pv_output_open(ctx, at("loop"), &output), PV_ERR_PATH);
    says("leads nowhere");
}

/* Read and write permissions are kept, set-user-ID bits are not. */
static void keeps_no_special_modes(void **state) {
    (void)state;
    struct stat about;
    make("a", "a");
    assert_int_equal(chmod(at("a"), 07751), 0);
    write_text(at("a"), "b");
    assert_int_equal(stat(at("a"), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0751);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(refuses_two_names_of_a_file, begin, end),
                                       cmocka_unit_test_setup_teardown(refuses_what_is_opened, begin, end),
                                       cmocka_unit_test_setup_teardown(jobs_share_what_is_known, begin, end),
                                       cmocka_unit_test_setup_teardown(leaves_the_files_of_others, begin, end),
                                       cmocka_unit_test_setup_teardown(refuses_files_in_the_folder, begin, end),
                                       cmocka_unit_test_setup_teardown(writes_the_longest_names, begin, end),
                                       cmocka_unit_test_setup_teardown(writes_through_links, begin, end),
                                       cmocka_unit_test_setup_teardown(keeps_no_special_modes, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
