/* A byte that selects the kind, then a file of what is known about strata: prevalences and proportions, or a cohort's
 * counts. Accepted values must be consistent; a small model is fitted with them and its file must agree.
 */
#include "fuzz.h"

static const char ROWS[] =
    "x,site,sex,y\n1,a,f,0\n2,a,f,1\n3,a,f,0\n1.5,a,m,1\n2.5,a,m,0\n4,a,m,1\n3.5,b,f,0\n1,b,f,1\n";

static pv_status learn(pv_ctx *ctx, pv_schema **schema, pv_dataset **rows) {
    const pv_roles roles = {.target = "y", .strata = "site,sex", .exclude = "site,sex"};
    const pv_csv_options csv = {.roles = &roles};
    pv_table *table;
    pv_status status = pv_table_read(ctx, fuzz_file(1, ROWS, sizeof ROWS - 1), &csv, &table);
    if (status == PV_OK)
        status = pv_schema_learn(ctx, table, &roles, schema, rows);
    pv_table_free(ctx, table);
    return status;
}

static void check(const pv_stratified *s) {
    double sum = 0;
    for (int i = 0; i < s->strata; i++) {
        FUZZ_CHECK(s->share[i] > 0 && s->n[i] > 0, "share %g, n %g", s->share[i], s->n[i]);
        sum += s->share[i];
    }
    FUZZ_CHECK(fabs(sum - 1) <= 1e-9, "the shares add up to %.17g", sum);
    fuzz_sound_probabilities((size_t)s->strata, (size_t)s->classes, s->prevalence);
}

static void check_saved(pv_ctx *ctx, const pv_classifier *c) {
    unsigned char *bytes;
    size_t size;
    pv_classifier *again;
    FUZZ_CHECK(pv_classifier_to_bytes(ctx, c, &bytes, &size) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    FUZZ_CHECK(pv_classifier_from_bytes(ctx, NULL, bytes, size, &again) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    for (int i = 0; i < c->stratified->strata * c->stratified->classes; i++)
        FUZZ_CHECK(fuzz_same_bits(c->stratified->log_marginal[i], again->stratified->log_marginal[i]), "%d differs", i);
    check(again->stratified);
    pv_classifier_free(ctx, again);
    pv_bytes_free(ctx, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pv_ctx *ctx = fuzz_begin(size);
    fuzz_input in = {data, size};
    bool counts = fuzz_byte(&in) & 1;
    pv_schema *schema = NULL;
    pv_dataset *rows = NULL;
    pv_classifier *c = NULL;
    FUZZ_CHECK(learn(ctx, &schema, &rows) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    const char *path = fuzz_file(0, in.data, in.size);
    pv_fit_options fit = pv_fit_options_default();
    fit.prevalence_by = counts ? NULL : path;
    fit.phase_one = counts ? path : NULL;
    fit.max_iter = 20;
    pv_status status = pv_fit(ctx, schema, rows, &fit, &c);
    if (status == PV_OK) {
        check(c->stratified);
        check_saved(ctx, c);
    } else if (status != PV_ERR_NUMERIC) {
        fuzz_refused(ctx, status);
    }
    pv_classifier_free(ctx, c);
    pv_dataset_free(ctx, rows);
    pv_schema_free(ctx, schema);
    fuzz_end(ctx);
    return 0;
}
