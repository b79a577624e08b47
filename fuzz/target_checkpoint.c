/* A checkpoint, and work that continues from it. Input that begins like a checkpoint is used as the file. Other input
 * modifies the checkpoint of an interrupted fit: three bytes each, position (two) and the value to xor; sizes and
 * checksum are then corrected, so that the states themselves are reached. The fit must complete or be rejected.
 */
#include <xxhash.h>

#include "base/base.h"
#include "fuzz.h"

typedef struct task {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
} task;

static pv_status fit(pv_ctx *ctx, const char *path, int64_t interrupt) {
    task t = {0};
    pv_classifier *made = NULL;
    pv_roles roles = {.target = "cancer", .weights = "count"};
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.001";
    options.batch = "64";
    options.epochs = 6;
    options.loss = PV_LOSS_IG;
    options.marginal = PV_MARGINAL_AUXILIARY_LINEAR;
    pv_status status = pv_checkpoint_open(ctx, path, 0, interrupt == 0);
    if (status == PV_OK && interrupt)
        pv__checkpoint_interrupt_after(ctx, interrupt);
    if (status == PV_OK)
        status = pv_table_builtin(ctx, "esoph", &t.table);
    if (status == PV_OK)
        status = pv_schema_learn(ctx, t.table, &roles, &t.schema, &t.data);
    if (status == PV_OK)
        status = pv_fit(ctx, t.schema, t.data, &options, &made);
    if (interrupt && status == PV_OK)
        status = pv_checkpoint_write(ctx);
    pv_checkpoint_close(ctx);
    pv_classifier_free(ctx, made);
    pv_dataset_free(ctx, t.data);
    pv_schema_free(ctx, t.schema);
    pv_table_free(ctx, t.table);
    return status;
}

/* The file of a fit interrupted after some steps; created once and kept. */
static const fuzz_bytes *interrupted(void) {
    static fuzz_bytes kept; /* reachable at exit, so not a leak */
    if (!kept.size) {
        pv_ctx *ctx;
        FUZZ_CHECK(pv_ctx_new(NULL, &ctx) == PV_OK, "no context");
        pv_status status = fit(ctx, fuzz_output(), 3);
        FUZZ_CHECK(status == PV_OK, "%s", pv_ctx_error(ctx)->message);
        fuzz_input file = fuzz_slurp(fuzz_output());
        fuzz_append(&kept, file.data, file.size);
        remove(fuzz_output());
        pv_ctx_free(ctx);
    }
    return &kept;
}

static const char *changed(fuzz_input in) {
    const fuzz_bytes *from = interrupted();
    const uint8_t *line = memchr(from->data, '\n', from->size);
    const uint8_t *end = memchr(line + 1, '\n', from->size - (size_t)(line + 1 - from->data));
    size_t begin = (size_t)(end + 1 - from->data), bytes = from->size - begin, entries = 0;
    uint8_t *body = fuzz_room(bytes, 1);
    memcpy(body, from->data + begin, bytes);
    while (in.size) {
        size_t where = (size_t)fuzz_byte(&in) << 8;
        where |= fuzz_byte(&in);
        body[where % bytes] ^= fuzz_byte(&in);
    }
    FUZZ_CHECK(sscanf((const char *)line + 1, "%zu", &entries) == 1, "no number of entries");
    char head[128];
    int used = snprintf(head, sizeof head, "prevail-checkpoint 1\n%zu %zu %016llx\n", entries, bytes,
                        (unsigned long long)XXH3_64bits(body, bytes));
    fuzz_bytes file = {0};
    fuzz_append(&file, head, (size_t)used);
    fuzz_append(&file, body, bytes);
    const char *path = fuzz_file(0, file.data, file.size);
    free(file.data);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bool whole = size >= 8 && memcmp(data, "prevail-", 8) == 0;
    pv_ctx *ctx = fuzz_begin(size + interrupted()->size);
    pv_status status = fit(ctx, whole ? fuzz_file(0, data, size) : changed((fuzz_input){data, size}), 0);
    if (status != PV_OK)
        fuzz_refused(ctx, status);
    fuzz_end(ctx);
    return 0;
}
