/* Lines "name=value" for each option table. A value that is accepted, printed and parsed again must be the same. */
#include "fuzz.h"

static void set_one(pv_ctx *ctx, const pv_option *table, void *options, const char *line) {
    const char *equals = strchr(line, '=');
    size_t length = equals ? (size_t)(equals - line) : strlen(line);
    char *name = fuzz_room(length + 1, 1), first[512], second[512];
    memcpy(name, line, length);
    pv_status status = pv_option_set(ctx, table, options, name, equals ? equals + 1 : NULL);
    const pv_option *row = pv_option_find(table, name);
    FUZZ_CHECK(row || status != PV_OK, "there is no option '%s'", name);
    if (status != PV_OK) {
        fuzz_refused(ctx, status);
        return;
    }
    pv_option_get(row, options, first, sizeof first);
    if (row->type == PV_OPTION_TEXT || (row->type == PV_OPTION_FLAG && !equals))
        return;
    FUZZ_CHECK(pv_option_set(ctx, table, options, name, first) == PV_OK, "%s: %s", name, pv_ctx_error(ctx)->message);
    pv_option_get(row, options, second, sizeof second);
    FUZZ_CHECK(strcmp(first, second) == 0, "%s: '%s' became '%s'", name, first, second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pv_ctx *ctx = fuzz_begin(size);
    pv_fit_options fit = pv_fit_options_default();
    pv_unknown_options target = pv_unknown_options_default();
    pv_image_options image = {0};
    pv_options_default(pv_image_option_table, &image);
    const struct {
        const pv_option *table;
        void *options;
    } tables[] = {{pv_fit_option_table, &fit}, {pv_unknown_option_table, &target}, {pv_image_option_table, &image}};
    fuzz_input in = {data, size};
    while (in.size) {
        const char *line = fuzz_line(&in);
        for (size_t i = 0; line && i < sizeof tables / sizeof *tables; i++)
            set_one(ctx, tables[i].table, tables[i].options, line);
    }
    fuzz_end(ctx);
    return 0;
}
