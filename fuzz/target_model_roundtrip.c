/* A classifier fitted to a table from the input, saved and loaded, must predict bit-identically. */
#include "fuzz.h"

enum { ROWS = 24 };

/* y, x, group: the last row has the last level of group, so that all levels exist. */
static const char *write_table(fuzz_input *in) {
    static char text[ROWS * 64];
    size_t used = (size_t)snprintf(text, sizeof text, "y,x,group\n");
    for (size_t i = 0; i < ROWS; i++) {
        double x = fuzz_between(in, -4, 4);
        used += (size_t)snprintf(text + used, sizeof text - used, "%c,%.17g,%c\n", "ab"[(i + (fuzz_byte(in) & 1)) % 2],
                                 x + 1e-3 * (double)i, "pqr"[i == ROWS - 1 ? 2 : fuzz_byte(in) % 3]);
    }
    return fuzz_file(0, text, used);
}

static void check_roundtrip(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data) {
    const char *path = fuzz_output();
    size_t n = data->rows * (size_t)c->schema->classes;
    double *before = fuzz_room(n, sizeof *before), *after = fuzz_room(n, sizeof *after);
    pv_classifier *loaded;
    FUZZ_CHECK(pv_classifier_save(ctx, c, path) == PV_OK && pv_classifier_load(ctx, path, &loaded) == PV_OK, "%s",
               pv_ctx_error(ctx)->message);
    FUZZ_CHECK(pv_predict_loglik(ctx, c, data, before) == PV_OK && pv_predict_loglik(ctx, loaded, data, after) == PV_OK,
               "%s", pv_ctx_error(ctx)->message);
    FUZZ_CHECK(memcmp(before, after, n * sizeof *before) == 0, "the loaded model predicts something else");
    FUZZ_CHECK((c->posterior == NULL) == (loaded->posterior == NULL), "the posterior came or went");
    if (c->posterior)
        FUZZ_CHECK(memcmp(c->posterior->draws, loaded->posterior->draws,
                          c->posterior->count * c->posterior->dims * sizeof(double)) == 0,
                   "the draws differ");
    pv_classifier_free(ctx, loaded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const models[] = {"linear", "mlp:3", "ordinal", "mlp:2,ordinal"};
    fuzz_input in = {data, size};
    uint8_t how = fuzz_byte(&in);
    pv_ctx *ctx = fuzz_begin_within(32 << 20, 0, size);
    pv_table *table;
    pv_schema *schema = NULL;
    pv_dataset *learned = NULL;
    pv_classifier *c = NULL;
    pv_roles roles = {.target = "y"};
    pv_fit_options options = pv_fit_options_default();
    options.model = models[how & 3];
    options.prevalence = how & 4 ? "0.01" : "a=0.3,b=0.7";
    options.loss = how >> 3 & 3 ? (int)(how >> 3 & 3) - 1 : 0;
    options.infer = how & 0x20 && (how & 1) == 0 ? PV_INFER_LAPLACE : PV_INFER_MAP;
    options.max_iter = 30;
    options.draws = 100;
    pv_status status = pv_table_read(ctx, write_table(&in), NULL, &table);
    if (status == PV_OK)
        status = pv_schema_learn(ctx, table, &roles, &schema, &learned);
    if (status == PV_OK)
        status = pv_fit(ctx, schema, learned, &options, &c);
    if (status == PV_OK)
        check_roundtrip(ctx, c, learned);
    else
        fuzz_refused(ctx, status);
    pv_classifier_free(ctx, c);
    pv_dataset_free(ctx, learned);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    fuzz_end(ctx);
    return 0;
}
