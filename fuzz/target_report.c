/* Any text in a report must be displayed and never executed: the page has the same markup as with a harmless text, and
 * JSON in it reads back unchanged.
 */
#include <jansson.h>

#include "fuzz.h"
#include "report/svg.h"

static fuzz_input write_page(pv_ctx *ctx, const char *text) {
    const char *cells[] = {text, "1", text, NULL}, *head[] = {text, "n"};
    pv_report_options options = {.page = fuzz_output(), .title = text, .lead = text};
    pv_report_table table = {.caption = text, .rows = 2, .columns = 2, .head = head, .cell = cells, .text = 1};
    pv_report *report;
    FUZZ_CHECK(pv_report_new(ctx, &options, &report) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    pv_report_section(report, "one", text);
    pv_report_paragraph(report, text);
    pv_report_note(report, PV_NOTE_WARNING, text);
    pv_report_put_table(report, &table);
    FUZZ_CHECK(pv_report_finish(ctx, report) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    pv_report_free(ctx, report);
    return fuzz_slurp(options.page);
}

/* As JSON in a page: without markup, and unchanged after parsing if it is UTF-8. */
static void check_json(const char *text) {
    char *written = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&written, &length);
    FUZZ_CHECK(stream, "no stream");
    pv__put_json(stream, text);
    fclose(stream);
    FUZZ_CHECK(!strpbrk(written, "<>&'"), "markup in %s", written);
    json_t *value = json_loads(written, JSON_DECODE_ANY, NULL);
    FUZZ_CHECK(json_is_string(value), "no JSON: %s", written);
    bool utf8 = true;
    for (const char *at = text; *at && utf8;) {
        size_t n = pv_utf8_next(at, NULL);
        utf8 = n > 0;
        at += n;
    }
    FUZZ_CHECK(!utf8 || strcmp(json_string_value(value), text) == 0, "'%s' became '%s'", text,
               json_string_value(value));
    json_decref(value);
    free(written);
}

static size_t count(fuzz_input page, char what) {
    size_t n = 0;
    for (size_t i = 0; i < page.size; i++)
        n += page.data[i] == (uint8_t)what;
    return n;
}

/* A text of the same number of characters, each an x: long texts are shortened, with the full text in an attribute. */
static char *harmless_like(const char *text) {
    char *made = fuzz_room(strlen(text) + 2, 1);
    size_t n = 0;
    for (const char *at = text; *at; made[n++] = 'x') {
        size_t length = pv_utf8_next(at, NULL);
        at += length ? length : 1;
    }
    if (n == 0)
        made[0] = 'x';
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pv_ctx *ctx = fuzz_begin(size);
    char *text = fuzz_room(size + 1, 1);
    if (size)
        memcpy(text, data, size);
    check_json(text);
    fuzz_input harmless = write_page(ctx, harmless_like(text)), page = write_page(ctx, *text ? text : "x");
    for (const char *mark = "<>\""; *mark; mark++)
        FUZZ_CHECK(count(page, *mark) == count(harmless, *mark), "%zu of %c became %zu", count(harmless, *mark), *mark,
                   count(page, *mark));
    char *whole = fuzz_room(page.size + 1, 1);
    memcpy(whole, page.data, page.size);
    for (const char *at = whole; at < whole + page.size;) {
        size_t n = pv_utf8_next(at, NULL);
        FUZZ_CHECK(n > 0 && *at, "the page is no UTF-8 text at byte %td", at - whole);
        at += n;
    }
    fuzz_end(ctx);
    return 0;
}
