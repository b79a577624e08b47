/* Four bytes that say which settings, then a table of scores x and labels y, the pilot. Rows are whole, cases and
 * controls add up to them, what is wanted is reached, and the result can be written as text and JSON.
 */
#include "fuzz.h"

static const char *const numbers[] = {"0.001", "0.02", "0.1-0.2", "0.5", "0.9", "0.99", "3", "12"};

static pv_status settings_of(pv_ctx *ctx, fuzz_input *in, bool *pilot, pv_settings **settings) {
    uint8_t model = fuzz_byte(in), wanted = fuzz_byte(in), one = fuzz_byte(in), two = fuzz_byte(in);
    *pilot = (model & 3) == 3;
    const char *const pairs[][2] = {{"prevalence", numbers[one & 7]},
                                    {"prevalence-n", model & 16 ? "500" : NULL},
                                    {"ratio", wanted & 64    ? "population"
                                              : wanted & 128 ? numbers[two >> 5]
                                                             : NULL},
                                    {"auc", (model & 3) == 1 ? numbers[3 + ((one >> 3) & 3)] : NULL},
                                    {"r2", (model & 3) == 2 ? numbers[(one >> 3) & 3] : NULL},
                                    {"score", *pilot ? "x" : NULL},
                                    {"outcome", *pilot ? "y" : NULL},
                                    {"parameters", model & 4 ? "12" : NULL},
                                    {"slope", wanted & 1 ? "0.9" : NULL},
                                    {"threshold", model & 8 ? numbers[two & 7] : NULL},
                                    {"risk-width", wanted & 2 ? "0.1" : NULL},
                                    {"ppv-width", wanted & 4 ? "0.1" : NULL},
                                    {"benefit-width", wanted & 8 ? "0.01" : NULL},
                                    {"auc-width", wanted & 16 ? "0.05" : NULL},
                                    {"odds-ratio", wanted & 32 ? numbers[(two >> 3) & 7] : NULL},
                                    {"exposure", model & 32 ? "0.2" : NULL},
                                    {"cases", model & 64 ? "90" : NULL}};
    pv_status status = pv_size_settings_new(ctx, settings);
    for (size_t i = 0; status == PV_OK && i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][1])
            status = pv_settings_set(ctx, *settings, pairs[i][0], pairs[i][1]);
    return status;
}

static double number(const pv_result *value, const char *name) {
    return pv_result_number(pv_result_get(value, name));
}

static void check(pv_ctx *ctx, const pv_result *result) {
    const pv_result *design = pv_result_get(result, "design"), *criteria = pv_result_get(result, "criteria");
    double rows = number(design, "rows"), cases = number(design, "cases"), controls = number(design, "controls");
    char *text;
    FUZZ_CHECK(cases >= 1 && controls >= 1 && cases + controls == rows && rows == floor(rows), "%g + %g of %g", cases,
               controls, rows);
    for (size_t i = 0; i < pv_result_count(criteria) && pv_result_get(result, "curve"); i++)
        FUZZ_CHECK(number(pv_result_child(criteria, i), "rows") <= rows, "%s needs %g of %g rows",
                   pv_result_name(criteria, i), number(pv_result_child(criteria, i), "rows"), rows);
    FUZZ_CHECK(pv_size_text(ctx, result, &text) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    pv_result_text_free(ctx, text);
    FUZZ_CHECK(pv_result_json(ctx, result, &text) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    pv_result_text_free(ctx, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const texts[] = {"y"};
    pv_ctx *ctx = fuzz_begin(size);
    fuzz_input in = {data, size};
    pv_settings *settings = NULL;
    pv_table *table = NULL;
    pv_result *result = NULL;
    bool pilot;
    const pv_csv_options csv = {.text = texts, .n_text = 1};
    pv_status status = settings_of(ctx, &in, &pilot, &settings);
    if (status == PV_OK && pilot)
        status = pv_table_read(ctx, fuzz_file(0, in.data, in.size), &csv, &table);
    if (status == PV_OK)
        status = pv_size_find(ctx, table, settings, &result);
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
