/* "Score your own rows": parts of the page that contain a model and the engine that computes its predictions in the
 * browser (scripts/js).
 *
 * The engine is one script, whose hash is listed in the page's content security policy, together with
 * 'wasm-unsafe-eval', which browsers require for WebAssembly. The policy allows no connections, so rows that the reader
 * enters stay in the page.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/page.h"

#define ENGINE_BEGINS "/* prevail engine "

static pv_status read_file(pv_ctx *ctx, const char *path, pv__attachment *read) {
    FILE *stream;
    PV_TRY(pv__file_open(ctx, path, &stream));
    pv_status status = PV_OK;
    size_t room = 1 << 16, got = 0;
    do {
        room = read->size == room ? 2 * room : room;
        status = pv__resize(ctx, room + 1, 1, &read->data);
        if (status != PV_OK)
            break;
        got = fread(read->data + read->size, 1, room - read->size, stream);
        read->size += got;
    } while (got > 0);
    if (status == PV_OK && ferror(stream))
        status = pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0, "cannot be read: %s", strerror(errno));
    if (status == PV_OK)
        read->data[read->size] = '\0'; /* text ends here */
    fclose(stream);
    return status;
}

/* Whether HTML would end the script within the text: "</script" in letters of either case. */
static bool ends_script(const char *text) {
    static const char end[] = "</script";
    for (const char *at = strstr(text, "</"); at; at = strstr(at + 1, "</")) {
        size_t n = 0;
        while (end[n] && pv__lower(at[n]) == end[n])
            n++;
        if (!end[n])
            return true;
    }
    return false;
}

pv_status pv__page_engine_read(pv_ctx *ctx, pv_report *report, const char *engine, const char *model) {
    PV_TRY(read_file(ctx, engine, &report->engine));
    const char *text = (const char *)report->engine.data;
    if (strncmp(text, ENGINE_BEGINS, sizeof ENGINE_BEGINS - 1) != 0 || strlen(text) != report->engine.size ||
        ends_script(text) || strstr(text, "<!--"))
        return pv__fail_at(ctx, PV_ERR_FORMAT, engine, 0, 0,
                           "is not an engine for pages;\nname the engine.js that scripts/js makes");
    return read_file(ctx, model, &report->model);
}

void pv__page_engine_free(pv_ctx *ctx, pv_report *report) {
    pv__free(ctx, report->engine.data);
    pv__free(ctx, report->model.data);
}

static void put_base64(FILE *out, const pv__attachment *a) {
    for (size_t i = 0; i < a->size; i += 3) {
        uint8_t three[3] = {0};
        char four[4];
        size_t n = a->size - i < 3 ? a->size - i : 3;
        memcpy(three, a->data + i, n);
        pv__base64(three, four);
        memset(four + n + 1, '=', 3 - n);
        fwrite(four, 1, sizeof four, out);
    }
}

void pv__page_engine_section(pv_report *report) {
    if (!report->engine.data)
        return;
    pv_report_section(report, "score", "Score your own rows");
    pv_report_paragraph(
        report, "The engine of prevail " PV_VERSION " is in this page, and so is the model. Rows of a CSV file are "
                "scored here; where they have the outcome, the scores are evaluated. Nothing leaves the page.");
    fputs("<div id=\"score-controls\" hidden>\n"
          "<p><label for=\"score-file\">CSV file, with the model's columns</label> "
          "<input type=\"file\" id=\"score-file\" accept=\".csv,.gz,text/csv\"></p>\n"
          "<p><label for=\"score-prevalence\">Prevalence where the rows come from, if it is another</label> "
          "<input type=\"text\" id=\"score-prevalence\" size=\"12\" inputmode=\"decimal\"></p>\n</div>\n"
          "<p id=\"score-status\" role=\"status\">This needs a browser with scripts and WebAssembly.</p>\n"
          "<div id=\"score-result\"></div>\n",
          report->out);
}

void pv__page_engine_scripts(const pv_report *report) {
    if (!report->engine.data)
        return;
    fputs("<script type=\"application/octet-stream\" id=\"score-model\">", report->out);
    put_base64(report->out, &report->model);
    fputs("</script>\n<script type=\"module\">", report->out);
    fwrite(report->engine.data, 1, report->engine.size, report->out);
    fputs("</script>\n", report->out);
}
