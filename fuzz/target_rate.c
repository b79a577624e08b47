/* Three bytes that say which settings, a line of cuts, then a table of verdicts v and w, labels y, strata s, clusters c
 * and weights n. Rates lie in [0, 1] and in their intervals, and can be written as text and JSON.
 */
#include "fuzz.h"

static pv_status settings_of(pv_ctx *ctx, fuzz_input *in, pv_settings **settings) {
    static const char *const ways[] = {"label", "verdict", "random", "label"};
    uint8_t way = fuzz_byte(in), parts = fuzz_byte(in), more = fuzz_byte(in);
    const char *cuts = fuzz_line(in);
    bool stated = (more & 7) == 7, scores = !stated && (parts & 1);
    const char *const pairs[][2] = {{scores ? "score" : "verdict", "v"},
                                    {"outcome", stated ? NULL : "y"},
                                    {"gold-by", stated ? NULL : ways[way & 3]},
                                    {"sensitivity", stated ? "9/10" : NULL},
                                    {"specificity", stated ? "0.95" : NULL},
                                    {"cuts", scores ? cuts : NULL},
                                    {"compare", parts & 2 ? "w" : NULL},
                                    {"strata", parts & 4 ? "s" : NULL},
                                    {"cluster", parts & 8 ? "c" : NULL},
                                    {"weights", parts & 16 ? "n" : NULL},
                                    {"weights-are", parts & 32 ? "sampling" : NULL},
                                    {"width", parts & 64 ? "0.1" : NULL}};
    pv_status status = pv_rate_settings_new(ctx, settings);
    for (size_t i = 0; status == PV_OK && i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][1])
            status = pv_settings_set(ctx, *settings, pairs[i][0], pairs[i][1]);
    return status;
}

static void check(pv_ctx *ctx, const pv_result *result) {
    const pv_result *rates = pv_result_get(result, "rate");
    double sum = 0;
    char *text;
    for (size_t y = 0; y < pv_result_count(rates); y++) {
        const pv_result *own = pv_result_child(rates, y);
        double value = pv_result_number(pv_result_get(own, "value")), lo = pv_result_number(pv_result_get(own, "lo")),
               hi = pv_result_number(pv_result_get(own, "hi"));
        FUZZ_CHECK(lo >= 0 && lo <= value && value <= hi && hi <= 1, "%g in [%g, %g]", value, lo, hi);
        sum += value;
    }
    FUZZ_CHECK(fabs(sum - 1) < 1e-6, "the rates add up to %.17g", sum);
    FUZZ_CHECK(pv_rate_text(ctx, result, &text) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    pv_result_text_free(ctx, text);
    pv_status status = pv_result_json(ctx, result, &text);
    if (status == PV_OK)
        pv_result_text_free(ctx, text);
    else
        fuzz_refused(ctx, status); /* names that are not UTF-8 */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const texts[] = {"w", "y", "s", "c"};
    pv_ctx *ctx = fuzz_begin(size);
    fuzz_input in = {data, size};
    pv_settings *settings = NULL;
    pv_table *table = NULL;
    pv_result *result = NULL;
    const pv_csv_options csv = {.text = texts, .n_text = 4};
    FUZZ_CHECK(settings_of(ctx, &in, &settings) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    pv_status status = pv_table_read(ctx, fuzz_file(0, in.data, in.size), &csv, &table);
    if (status == PV_OK)
        status = pv_rate_estimate(ctx, table, NULL, settings, &result);
    if (status == PV_OK)
        check(ctx, result);
    else
        fuzz_refused(ctx, status);
    pv_result_free(result);
    pv_table_free(ctx, table);
    pv_settings_free(ctx, settings);
    fuzz_end(ctx);
    return 0;
}
