/* The JSON parser of model headers: must accept what jansson's parser accepts, with the same value, and reject what it
 * rejects; what was read and written must read back. If the text contains a NUL byte, jansson treats it as white space
 * after a number and may accept more.
 */
#include <jansson.h>

#include "fuzz.h"
#include "base/value.h"

/* Whether there are numbers longer than our parser accepts. */
static bool has_long_number(const uint8_t *data, size_t size) {
    size_t run = 0;
    for (size_t i = 0; i < size && run <= 1000; i++)
        run = data[i] && strchr("0123456789+-.eE", data[i]) ? run + 1 : 0;
    return run > 1000;
}

/* The written text must give the same value to our parser and to jansson. */
static void check_value(pv_ctx *ctx, const pv_result *ours, const json_t *theirs) {
    char *written = NULL;
    pv_result *again = NULL;
    FUZZ_CHECK(pv__json_dump(ctx, ours, "no UTF-8", &written) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    FUZZ_CHECK(pv__json_parse(ctx, written, strlen(written), &again) == PV_OK && pv__value_equal(ours, again),
               "written and read it is another value");
    json_t *read = json_loads(written, 0, NULL);
    FUZZ_CHECK(json_equal(read, theirs), "another value than jansson's");
    json_decref(read);
    pv_result_free(again);
    pv__free(ctx, written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (has_long_number(data, size))
        return 0;
    pv_ctx *ctx = fuzz_begin(size);
    char *text = fuzz_room(size + 1, 1);
    if (size)
        memcpy(text, data, size);
    pv_result *ours;
    json_t *theirs = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_CHECK(pv__json_parse(ctx, text, size, &ours) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    FUZZ_CHECK(ours ? theirs != NULL : !theirs || strlen(text) < size, "%s, jansson does not agree",
               ours ? "taken" : "refused");
    if (ours)
        check_value(ctx, ours, theirs);
    pv_result_free(ours);
    json_decref(theirs);
    fuzz_end(ctx);
    return 0;
}
