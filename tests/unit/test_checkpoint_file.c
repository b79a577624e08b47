/* The file of a checkpoint: a single owner from before it is read until the end, even if processes are killed; failing
 * writes; links; paths that are not regular files. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/check.h"

static char folder[] = "/tmp/prevail-checkpoint-XXXXXX";
static char checkpoint_path[64], other_path[64];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(checkpoint_path, sizeof checkpoint_path, "%s/a.checkpoint", folder);
    snprintf(other_path, sizeof other_path, "%s/b.model", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(checkpoint_path);
    unlink(other_path);
    return rmdir(folder); /* fails if other files were left in it */
}

/* Another process or context cannot use a checkpoint that is in use, empty or not. */
static void is_for_one(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1), *other = check_ctx(1);
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, true));
    for (int i = 0; i < 6; i++) {
        assert_int_equal(pv_checkpoint_open(other, checkpoint_path, 1e9, i % 2), PV_ERR_USAGE);
        assert_non_null(strstr(pv_ctx_error(other)->message, "in use by another process"));
        CHECK_OK(ctx, pv_checkpoint_write(ctx));
    }
    pv_checkpoint_close(ctx);
    CHECK_OK(other, pv_checkpoint_open(other, checkpoint_path, 1e9, true));
    CHECK_OK(other, pv_checkpoint_finish(other));
    pv_ctx_free(ctx);
    pv_ctx_free(other);
}

/* Several processes at the same time: only one gets it, and the others leave no files. */
static void is_for_one_of_many(void **state) {
    (void)state;
    enum { ROUNDS = 50, MANY = 6 };
    for (int round = 0; round < ROUNDS; round++) {
        int start[2], end[2], owners = 0;
        char byte = 0;
        pid_t child[MANY];
        assert_int_equal(pipe(start) | pipe(end), 0);
        for (int i = 0; i < MANY; i++)
            if ((child[i] = fork()) == 0) {
                pv_ctx *ctx;
                close(start[1]);
                close(end[1]);
                ssize_t got = read(start[0], &byte, 1); /* until all have started */
                pv_status status = pv_ctx_new(NULL, &ctx);
                if (got == 0 && status == PV_OK)
                    status = pv_checkpoint_open(ctx, checkpoint_path, 1e9, round % 2);
                if (status == PV_OK && round % 3)
                    status = pv_checkpoint_write(ctx);
                got = status == PV_OK ? read(end[0], &byte, 1) : 0; /* held until the others have ended */
                pv_ctx_free(ctx);
                _exit(got == 0 && status == PV_OK ? 0 : status == PV_ERR_USAGE ? 2 : 1);
            }
        close(start[0]);
        close(start[1]);
        for (int i = 0, code; i < MANY - 1; i++) { /* all except the owner */
            assert_true(wait(&code) > 0);
            assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 2);
        }
        close(end[1]);
        for (int code; wait(&code) > 0;)
            owners += WIFEXITED(code) && WEXITSTATUS(code) == 0;
        close(end[0]);
        assert_int_equal(owners, 1);
        assert_int_equal(access(checkpoint_path, F_OK), round % 3 ? 0 : -1);
        unlink(checkpoint_path);
    }
}

/* A killed owner leaves an empty file or one with contents, but no lock. */
static void begins_with_an_empty_file(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    for (int resume = 0; resume < 2; resume++) {
        pid_t child = fork();
        if (child == 0) {
            pv_ctx *own;
            if (pv_ctx_new(NULL, &own) == PV_OK && pv_checkpoint_open(own, checkpoint_path, 1e9, false) == PV_OK)
                raise(SIGKILL);
            _exit(1);
        }
        int code;
        assert_int_equal(waitpid(child, &code, 0), child);
        assert_true(WIFSIGNALED(code));
        struct stat about;
        assert_int_equal(stat(checkpoint_path, &about), 0);
        assert_int_equal(about.st_size, 0);
        CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, resume));
        assert_false(pv_checkpoint_resumed(ctx));
        pv_checkpoint_close(ctx);
        assert_int_not_equal(access(checkpoint_path, F_OK), 0); /* nothing was stored, so no file remains */
    }
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, false));
    pv_outputs_abandon(ctx); /* the program ends abruptly */
    assert_int_not_equal(access(checkpoint_path, F_OK), 0);
    pv_ctx_free(ctx);
    ctx = check_ctx(1);
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, false));
    CHECK_OK(ctx, pv_checkpoint_write(ctx));
    pv_outputs_abandon(ctx);
    assert_int_equal(access(checkpoint_path, F_OK), 0); /* stored states remain */
    pv_ctx_free(ctx);
    unlink(checkpoint_path);
}

/* Through a link the file is written and deleted while the link stays; another owner's file is left alone. */
static void goes_through_links(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1), *other = check_ctx(1);
    struct stat about;
    assert_int_equal(symlink("b.model", checkpoint_path), 0);
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, false));
    CHECK_OK(ctx, pv_checkpoint_write(ctx));
    assert_int_equal(pv_checkpoint_open(other, other_path, 1e9, true), PV_ERR_USAGE);
    assert_int_equal(lstat(checkpoint_path, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(lstat(other_path, &about), 0);
    assert_true(S_ISREG(about.st_mode) && about.st_size > 0);
    CHECK_OK(ctx, pv_checkpoint_finish(ctx));
    assert_int_not_equal(access(other_path, F_OK), 0);
    assert_int_equal(lstat(checkpoint_path, &about), 0);
    unlink(checkpoint_path);
    /* Deleted by hand and created again by another process: neither overwritten nor deleted. */
    CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 1e9, false));
    unlink(checkpoint_path);
    CHECK_OK(other, pv_checkpoint_open(other, checkpoint_path, 1e9, false));
    CHECK_OK(other, pv_checkpoint_write(other));
    assert_int_equal(pv_checkpoint_write(ctx), PV_ERR_USAGE);
    CHECK_OK(ctx, pv_checkpoint_finish(ctx));
    assert_int_equal(access(checkpoint_path, F_OK), 0);
    CHECK_OK(other, pv_checkpoint_finish(other));
    pv_ctx_free(ctx);
    pv_ctx_free(other);
}

static void limit_files(rlim_t bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void hear_all(void *state, pv_log_level level, const char *message) {
    (void)level;
    strncat(state, message, 900 - strlen(state));
}

/* A failed write is reported and repeated; if every write fails, that is an error at the end. */
static void bears_failed_writes(void **state) {
    (void)state;
    char heard[1000] = "", x[1000] = {0};
    pv_ctx *ctx;
    pv_field field = {x, sizeof x};
    assert_int_equal(pv_ctx_new(&(pv_ctx_options){.log = hear_all, .state = heard, .threads = 1}, &ctx), PV_OK);
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int mended = 0; mended < 2; mended++) {
        heard[0] = '\0';
        CHECK_OK(ctx, pv_checkpoint_open(ctx, checkpoint_path, 0, false));
        limit_files(500);
        CHECK_OK(ctx, pv_checkpoint_keep(ctx, "x", &field, 1));
        CHECK_OK(ctx, pv_checkpoint_keep(ctx, "x", &field, 1));
        assert_non_null(strstr(heard, "the work continues, and saving will be tried again"));
        assert_null(strstr(strstr(heard, "work continues") + 1, "work continues")); /* reported once */
        limit_files(RLIM_INFINITY);
        if (mended)
            CHECK_OK(ctx, pv_checkpoint_keep(ctx, "x", &field, 1));
        assert_int_equal(pv_checkpoint_finish(ctx), mended ? PV_OK : PV_ERR_WRITE);
        if (mended)
            assert_non_null(strstr(heard, "could not be written 2 of 3 times; the work is done"));
        else
            assert_non_null(strstr(pv_ctx_error(ctx)->message, "could not be written; the work finished"));
        assert_int_not_equal(access(checkpoint_path, F_OK), 0);
    }
    signal(SIGXFSZ, before);
    pv_ctx_free(ctx);
}

/* A pipe, which must not block; a device; a folder; a file name that is too long, and the longest allowed. */
static void refuses_what_is_no_file(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    for (int resume = 0; resume < 2; resume++) {
        assert_int_equal(mkfifo(checkpoint_path, 0600), 0);
        assert_int_equal(pv_checkpoint_open(ctx, checkpoint_path, 1e9, resume), PV_ERR_PATH);
        assert_non_null(strstr(pv_ctx_error(ctx)->message, "is not a regular file"));
        assert_int_equal(unlink(checkpoint_path), 0);
        assert_int_equal(pv_checkpoint_open(ctx, "/dev/null", 1e9, resume), PV_ERR_PATH);
        assert_int_equal(pv_checkpoint_open(ctx, folder, 1e9, resume), PV_ERR_PATH);
        assert_non_null(strstr(pv_ctx_error(ctx)->message, "is not a regular file"));
    }
    char longest[5000];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(pv_checkpoint_open(ctx, longest, 1e9, true), PV_ERR_PATH);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "File name too long"));
    int used = snprintf(longest, sizeof longest, "%s/", folder);
    memset(longest + used, 'a', 255);
    longest[used + 255] = '\0';
    CHECK_OK(ctx, pv_checkpoint_open(ctx, longest, 1e9, true));
    CHECK_OK(ctx, pv_checkpoint_write(ctx));
    assert_int_equal(access(longest, F_OK), 0);
    CHECK_OK(ctx, pv_checkpoint_finish(ctx));
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_for_one),
                                       cmocka_unit_test(is_for_one_of_many),
                                       cmocka_unit_test(begins_with_an_empty_file),
                                       cmocka_unit_test(goes_through_links),
                                       cmocka_unit_test(bears_failed_writes),
                                       cmocka_unit_test(refuses_what_is_no_file)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
