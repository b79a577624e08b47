/* Numbers as text, compared with strtod, and back; texts in messages, names and fields. */
#include "base/number.h"
#include "fuzz.h"

/* What strtod accepts beyond our grammar. */
static bool foreign(const char *text) {
    return strpbrk(text, "xXnNiI") || *text == ' ' || (*text >= '\t' && *text <= '\r');
}

static void check_number(const char *text) {
    double ours = 0, fast = 0, theirs;
    const char *end = pv_parse_real(text, &ours);
    char *expected;
    theirs = strtod(text, &expected);
    if (!foreign(text)) {
        FUZZ_CHECK((end != NULL) == (expected != text && isfinite(theirs)), "'%s': %s", text, end ? "read" : "refused");
        FUZZ_CHECK(!end || (end == expected && fuzz_same_bits(ours, theirs)), "'%s' is %.17g, not %.17g", text, ours,
                   theirs);
    }
    char *padded = fuzz_room(strlen(text) + 16, 1);
    strcpy(padded, text);
    const char *fast_end = pv__number_fast(padded, &fast);
    if (fast_end && *fast_end != 'e' && *fast_end != 'E' && *fast_end != '.')
        FUZZ_CHECK(end && fast_end - padded == end - text && fuzz_same_bits(fast, ours), "'%s' is %.17g, not %.17g",
                   text, fast, ours);
}

static void check_double(double value) {
    char text[32];
    int length = pv_format_double(value, text, sizeof text);
    FUZZ_CHECK(length > 0 && (size_t)length == strlen(text), "%d characters of '%s'", length, text);
    if (isfinite(value))
        FUZZ_CHECK(fuzz_same_bits(strtod(text, NULL), value), "%.17g was written as %s", value, text);
}

static void check_text(const char *text) {
    char *quoted = fuzz_room(2 * strlen(text) + 2, 1), shortened[64];
    const char *words[] = {"prevalence", "prior", text};
    size_t length = pv_csv_quote(text, quoted);
    FUZZ_CHECK(length <= 2 * strlen(text) + 2, "%zu bytes", length);
    pv_text_short(text, 20, shortened, sizeof shortened);
    for (const char *at = shortened; *at;) {
        size_t n = pv_utf8_next(at, NULL);
        FUZZ_CHECK(n > 0, "a shortened text is no UTF-8");
        at += n;
    }
    FUZZ_CHECK(*text == '\0' || pv_nearest(text, words, 3) != NULL, "a word is near to itself");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 2000)
        return 0;
    pv_ctx *ctx = fuzz_begin(size);
    fuzz_input in = {data, size};
    check_double(fuzz_bits(&in));
    in = (fuzz_input){data, size};
    const char *text = fuzz_line(&in);
    check_number(text ? text : "");
    check_text(text ? text : "");
    fuzz_end(ctx);
    return 0;
}
