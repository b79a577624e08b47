/* Checkpoints with a valid checksum and invalid contents: the fit completes or is rejected with a message. */
#include <xxhash.h>

#include "base/base.h"
#include "fixture.h"
#include "problem.h"

static const char *const damages[] = {"its posterior is damaged",
                                      "why a fit stopped is unknown",
                                      "a chain's iteration is not one of the sampler's",
                                      "its step is not one of the inference's",
                                      "its step is not one of the training's",
                                      "its trace is not of these epochs",
                                      "its batches are not of these rows",
                                      "its numbers are not finite"};
enum { DAMAGES = sizeof damages / sizeof *damages };

static unsigned char *second_line(unsigned char *bytes) {
    return (unsigned char *)strchr((char *)bytes, '\n') + 1;
}

static unsigned char *body_of(unsigned char *bytes) {
    return (unsigned char *)strchr((char *)second_line(bytes), '\n') + 1;
}

/* Writes a file with these entries, correcting its second line. */
static void write_sealed(unsigned char *bytes, size_t size, size_t entries) {
    unsigned char *body = body_of(bytes);
    size_t left = size - (size_t)(body - bytes);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    fprintf(stream, "prevail-checkpoint 1\n%zu %zu %016llx\n", entries, left,
            (unsigned long long)XXH3_64bits(body, left));
    assert_int_equal(fwrite(body, 1, left, stream), left);
    assert_int_equal(fclose(stream), 0);
}

static void resume_damaged(const problem *p, const pv_fit_options *options, bool *seen) {
    pv_ctx *own = check_ctx(1);
    pv_classifier *c = NULL;
    pv_status status = pv_checkpoint_open(own, path, 1e9, true);
    if (status == PV_OK)
        status = pv_fit(own, p->schema, p->data, options, &c);
    if (status == PV_ERR_FORMAT) {
        assert_non_null(strstr(pv_ctx_error(own)->message, "is not a usable checkpoint"));
        for (int i = 0; i < DAMAGES; i++)
            seen[i] = seen[i] || strstr(pv_ctx_error(own)->message, damages[i]);
    }
    for (size_t i = 0; status == PV_OK && i < pv_model_params(c->model); i++)
        assert_true(isfinite(c->w[i]));
    if (status == PV_ERR_INTERNAL || status == PV_ERR_MEMORY) /* more than the file's size justifies */
        fail_msg("%s", pv_ctx_error(own)->message);
    pv_classifier_free(own, c);
    pv_ctx_free(own);
}

/* Changes numbers in every entry, and truncates every entry: the fit completes or is rejected. */
static void damage_entries(unsigned char *bytes, size_t size, const problem *p, const pv_fit_options *options,
                           bool *seen) {
    enum { WORDS = 32 }; /* at the beginning of an entry, and as many from the rest */
    size_t entries = strtoul((char *)second_line(bytes), NULL, 10);
    unsigned char *at = body_of(bytes), *kept = malloc(size);
    assert_non_null(kept);
    for (size_t e = 0; e < entries; e++) {
        uint64_t sizes[2];
        memcpy(sizes, at, sizeof sizes);
        unsigned char *data = at + sizeof sizes + sizes[0], *next = data + sizes[1];
        for (size_t word = 0, n = sizes[1] / 8; word < n; word += word < WORDS ? 1 : n / WORDS + 1)
            for (int way = 0; way < 3; way++) { /* the first and last are NaN or infinite */
                uint64_t was, becomes = way == 0 ? UINT64_MAX : way == 1 ? (uint64_t)1 << 40 : (uint64_t)0x7FF << 52;
                memcpy(&was, data + 8 * word, 8);
                memcpy(data + 8 * word, &becomes, 8);
                write_sealed(bytes, size, entries);
                resume_damaged(p, options, seen);
                memcpy(data + 8 * word, &was, 8);
            }
        if (sizes[1] >= 8) {
            memcpy(kept, bytes, size);
            uint64_t shorter = sizes[1] - 8;
            memcpy(at + 8, &shorter, 8);
            memmove(next - 8, next, size - (size_t)(next - bytes));
            write_sealed(bytes, size - 8, entries);
            resume_damaged(p, options, seen);
            memcpy(bytes, kept, size);
        }
        at = next;
    }
    free(kept);
}

static void survives_sealed_damage(void **state) {
    (void)state;
    unlink(path);
    problem p = nodules(ctx, 20, 6);
    bool seen[DAMAGES] = {0};
    const int engines[] = {PV_INFER_MAP, PV_INFER_VI, PV_INFER_HMC};
    for (int i = 0; i < 6; i++) { /* each in an interrupted and in a nearly finished state */
        pv_fit_options options = pv_fit_options_default();
        options.prevalence = "0.05";
        options.infer = engines[i / 2];
        options.batch = i / 2 ? "full" : "8";
        options.epochs = 3;
        options.trace = i / 2 == 0;
        options.steps = 10;
        options.draws = 100;
        options.warmup = 20;
        options.chains = 1;
        pv_classifier *c = NULL;
        CHECK_OK(ctx, pv_checkpoint_open(ctx, path, 1e9, false));
        if (i % 2 == 0)
            pv__checkpoint_interrupt_after(ctx, i / 2 ? 2 : 7);
        pv_status status = pv_fit(ctx, p.schema, p.data, &options, &c);
        assert_true(status == PV_OK || status == PV_ERR_INTERRUPTED);
        pv_classifier_free(ctx, c);
        CHECK_OK(ctx, pv_checkpoint_write(ctx));
        pv_checkpoint_close(ctx);
        pv_ctx_clear_interrupt(ctx);
        size_t size;
        unsigned char *bytes = read_all(path, &size);
        damage_entries(bytes, size, &p, &options, seen);
        free(bytes);
        unlink(path);
    }
    for (int i = 0; i < DAMAGES; i++)
        if (!seen[i])
            fail_msg("nothing led to '%s'", damages[i]);
    put("", 0);
    problem_free(ctx, &p);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(survives_sealed_damage)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
