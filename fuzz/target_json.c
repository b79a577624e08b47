/* The JSON of a model's header: what jansson's parser takes is taken, with the same value; what it refuses is refused;
 * what was taken and written reads back. Where the text has a byte 0 jansson takes it for white space after a number,
 * and may take more.
 */
#include <jansson.h>

#include "fuzz.h"
#include "base/json.h"

/* Numbers of more characters than are taken here. */
static bool has_long_number(const uint8_t *data, size_t size) {
    size_t run = 0;
    for (size_t i = 0; i < size && run <= 1000; i++)
        run = data[i] && strchr("0123456789+-.eE", data[i]) ? run + 1 : 0;
    return run > 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (has_long_number(data, size))
        return 0;
    pv_ctx *ctx = fuzz_begin(size);
    char *text = fuzz_room(size + 1, 1), *written = NULL;
    if (size)
        memcpy(text, data, size);
    json_t *ours, *theirs = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL), *again = NULL;
    FUZZ_CHECK(pv__json_parse(ctx, text, size, &ours) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    FUZZ_CHECK(ours ? theirs != NULL : !theirs || strlen(text) < size, "%s, jansson does not agree",
               ours ? "taken" : "refused");
    FUZZ_CHECK(!ours || json_equal(ours, theirs), "another value than jansson's");
    if (ours) {
        FUZZ_CHECK(pv__json_dump(ctx, json_incref(ours), "no UTF-8", &written) == PV_OK, "%s",
                   pv_ctx_error(ctx)->message);
        FUZZ_CHECK(pv__json_parse(ctx, written, strlen(written), &again) == PV_OK && json_equal(ours, again),
                   "written and read it is another value");
    }
    pv__free(ctx, written);
    json_decref(again);
    json_decref(ours);
    json_decref(theirs);
    fuzz_end(ctx);
    return 0;
}
