/* Lines of coverage, refer and prevalence, then a table of probabilities with labels y and counts n. Thresholds leave
 * out no more rows of a label than their rank allows; rows are called one label at most, and calls keep their errors
 * among the rows; rules can be written as text and JSON.
 */
#include "fuzz.h"

static double number(const pv_result *value, const char *name) {
    return pv_result_number(pv_result_get(value, name));
}

static void check(pv_ctx *ctx, const pv_probs *probs, const pv_result *rule) {
    const pv_result *labels = pv_result_get(rule, "labels"), *refer = pv_result_get(rule, "refer");
    const pv_result *calls = pv_result_get(refer, "calls");
    size_t n = probs->data->rows, k = (size_t)probs->classes;
    int32_t *member = fuzz_room(n * k, sizeof *member), *call = calls ? fuzz_room(n, sizeof *call) : NULL;
    FUZZ_CHECK(pv_sets_apply(ctx, rule, n, probs->classes, probs->p, member, call) == PV_OK, "%s",
               pv_ctx_error(ctx)->message);
    for (size_t y = 0; y < k; y++) {
        const pv_result *own = pv_result_child(labels, y);
        double out = 0;
        for (size_t i = 0; i < n; i++)
            if (probs->data->label[i] == (int32_t)y && !member[i * k + y])
                out += probs->data->weight ? probs->data->weight[i] : 1;
        FUZZ_CHECK(out < number(own, "rank") && number(own, "expected") >= number(own, "coverage") - 1e-8,
                   "%g rows of rank %g", out, number(own, "rank"));
    }
    for (size_t y = 0; calls && y < k; y++) {
        const pv_result *own = pv_result_child(calls, y);
        double error = number(own, "error");
        FUZZ_CHECK(isnan(error) || error <= number(own, "wanted") + 1e-9, "%g of %g", error, number(own, "wanted"));
    }
    char *text;
    FUZZ_CHECK(pv_sets_text(ctx, rule, &text) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    pv_result_text_free(ctx, text);
    pv_status status = pv_result_json(ctx, rule, &text);
    if (status == PV_OK)
        pv_result_text_free(ctx, text);
    else
        fuzz_refused(ctx, status); /* names that are not UTF-8 */
}

static pv_status settings_of(pv_ctx *ctx, fuzz_input *in, pv_settings **settings) {
    static const char *const names[] = {"coverage", "refer", "prevalence"};
    pv_status status = pv_sets_settings_new(ctx, settings);
    for (int i = 0; i < 3 && status == PV_OK; i++) {
        const char *text = fuzz_line(in);
        if (text)
            status = pv_settings_set(ctx, *settings, names[i], text);
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pv_ctx *ctx = fuzz_begin(size);
    fuzz_input in = {data, size};
    const pv_csv_options csv = {0};
    pv_probs_options reading = {.target = "y", .weights = "n", .csv = &csv};
    pv_settings *settings = NULL;
    pv_probs *probs = NULL;
    pv_result *rule = NULL;
    pv_status status = settings_of(ctx, &in, &settings);
    if (status == PV_OK)
        status = pv_probs_read(ctx, fuzz_file(0, in.data, in.size), &reading, &probs);
    if (status == PV_OK)
        status = pv_sets_calibrate(ctx, probs, NULL, settings, &rule);
    if (status == PV_OK)
        check(ctx, probs, rule);
    else
        fuzz_refused(ctx, status);
    pv_result_free(rule);
    pv_probs_free(ctx, probs);
    pv_settings_free(ctx, settings);
    fuzz_end(ctx);
    return 0;
}
