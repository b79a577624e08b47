/* The report page: head, sections, text, tables, figures. */
#include "report/page.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/assets.h"

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

/* Writes the script as it appears between its tags. */
static void put_script(FILE *out) {
    fputs("\n", out);
    fputs((const char *)pv_script, out);
}

static void put_style(FILE *out) {
    fputs("\n", out);
    pv__put_palette(out, ":root", false);
    fputs("@media (prefers-color-scheme:dark){@media screen{\n", out);
    pv__put_palette(out, ":root", true);
    fputs("}}\n", out);
    pv__put_classes(out, false);
    fputs((const char *)pv_style, out);
}

static pv_status hash_of(pv_ctx *ctx, void (*put)(FILE *out), char hash[45]) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    bool whole = stream != NULL;
    if (stream) {
        put(stream);
        whole = !ferror(stream);
        whole = fclose(stream) == 0 && whole;
    }
    if (whole)
        pv__sha256_base64(text, size, hash);
    free(text);
    return whole ? PV_OK : pv__fail(ctx, PV_ERR_MEMORY, "out of memory for the report's style");
}

/* Writes a content security policy that allows only the page's own script and style, identified by their hashes, even
 * if some text were parsed as markup. */
static pv_status put_policy(pv_ctx *ctx, FILE *out, const pv__attachment *engine) {
    char script[45], style[45], more[160] = "";
    PV_TRY(hash_of(ctx, put_script, script));
    PV_TRY(hash_of(ctx, put_style, style));
    if (engine->data) {
        char hash[45];
        pv__sha256_base64(engine->data, engine->size, hash);
        pv__format(more, sizeof more, " 'sha256-%s' 'wasm-unsafe-eval'; connect-src 'none'", hash);
    }
    pv__print(out,
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-%s'; "
              "script-src 'sha256-%s'%s; img-src data:; base-uri 'none'; form-action 'none'\">\n",
              style, script, more);
    return PV_OK;
}

static pv_status put_head(pv_ctx *ctx, const pv_report *report, const pv_report_options *options) {
    FILE *out = report->out;
    char title[512];
    pv__shorten(options->title, 120, title, sizeof title);
    fputs(PV_REPORT_BEGINS PV_VERSION "\">\n"
                                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
          out);
    PV_TRY(put_policy(ctx, out, &report->engine));
    fputs("<link rel=\"icon\" href=\"data:,\">\n<title>", out);
    pv__put_html(out, title);
    fputs("</title>\n<style>", out);
    put_style(out);
    fputs("</style>\n</head>\n<body>\n<main>\n<header>\n<h1>", out);
    pv__put_html(out, title);
    fputs("</h1>\n", out);
    if (options->lead) {
        fputs("<p class=\"lead\">", out);
        pv__put_html(out, options->lead);
        fputs("</p>\n", out);
    }
    fputs("</header>\n", out);
    return PV_OK;
}

static pv_status make_folder(pv_ctx *ctx, const char *folder) {
    struct stat about;
    if (mkdir(folder, 0777) == 0)
        return PV_OK;
    int cause = errno;
    if (cause == EEXIST && stat(folder, &about) == 0 && S_ISDIR(about.st_mode))
        return PV_OK;
    return pv__fail_at(ctx, PV_ERR_PATH, folder, 0, 0,
                       "cannot be created as a folder for the figures: %s;\nchoose another place", strerror(cause));
}

pv_status pv_report_new(pv_ctx *ctx, const pv_report_options *options, pv_report **report) {
    pv_report *made;
    pv_status status;
    *report = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    if (options->figures) {
        PV_GOTO(fail, make_folder(ctx, options->figures));
        PV_GOTO(fail, pv__strdup(ctx, options->figures, &made->figures));
    }
    if (options->page) {
        PV_GOTO(fail, pv_output_open(ctx, options->page, &made->output));
        made->out = made->output.stream;
        if (options->engine)
            PV_GOTO(fail, pv__page_engine_read(ctx, made, options->engine, options->model));
        PV_GOTO(fail, put_head(ctx, made, options));
    }
    *report = made;
    return PV_OK;
fail:
    pv_report_free(ctx, made);
    return status;
}

static void end_section(pv_report *report) {
    if (report->section)
        fputs("</section>\n", report->out);
    report->section = false;
}

pv_status pv_report_finish(pv_ctx *ctx, pv_report *report) {
    if (!report->out)
        return PV_OK;
    PV_TRY(pv__check_stop(ctx, report->output.path));
    pv__page_engine_section(report);
    end_section(report);
    fputs("</main>\n", report->out);
    if (report->explorer) {
        fputs("<script>", report->out);
        put_script(report->out);
        fputs("</script>\n", report->out);
    }
    pv__page_engine_scripts(report);
    fputs("</body>\n</html>\n", report->out);
    report->out = NULL;
    return pv_output_commit(ctx, &report->output);
}

void pv_report_free(pv_ctx *ctx, pv_report *report) {
    if (!report)
        return;
    pv_output_discard(ctx, &report->output);
    pv__page_engine_free(ctx, report);
    pv__free(ctx, report->figures);
    pv__free(ctx, report);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

const char *pv_text_short(const char *text, size_t most, char *to, size_t size) {
    pv__shorten(text, most, to, size);
    return to;
}

const char *pv_text_number(double value, char *to, size_t size) {
    pv__number_text(value, to, size);
    return to;
}

pv_grouped pv_group_digits(double count) {
    const double most = 1e15; /* larger numbers are not counts */
    pv_grouped grouped = {{0}};
    char plain[32];
    bool whole = fabs(count) < most; /* false for NaN */
    int length = pv__format(plain, sizeof plain, whole ? "%.0f" : "%.4g", count);
    char *to = grouped.text;
    for (int i = 0; i < length; i++) {
        if (whole && i > 0 && (length - i) % 3 == 0 && plain[i - 1] != '-')
            *to++ = ',';
        *to++ = plain[i];
    }
    return grouped;
}

void pv_report_section(pv_report *report, const char *id, const char *title) {
    if (!report->out)
        return;
    end_section(report);
    pv__print(report->out, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">", id, id, id);
    pv__put_html(report->out, title);
    fputs("</h2>\n", report->out);
    report->section = true;
}

void pv_report_paragraph(pv_report *report, const char *text) {
    if (!report->out)
        return;
    fputs("<p>", report->out);
    pv__put_html(report->out, text);
    fputs("</p>\n", report->out);
}

void pv_report_note(pv_report *report, pv_note kind, const char *text) {
    static const char *const words[][2] = {{"good", "Checked"}, {"warning", "Warning"}, {"missing", "Not shown"}};
    if (!report->out)
        return;
    pv__print(report->out, "<p class=\"note %s\"><strong>%s.</strong> ", words[kind][0], words[kind][1]);
    pv__put_html(report->out, text);
    fputs("</p>\n", report->out);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

enum { NAME = 60, CELL = 600 }; /* characters shown of a row's name and of other cells */

static void put_cell(FILE *out, const char *text, size_t most) {
    char shown[4 * CELL + 8];
    if (!pv__shorten(text, most, shown, sizeof shown)) {
        char whole[4 * 1000 + 8];
        pv__shorten(text, 1000, whole, sizeof whole);
        fputs("<span title=\"", out);
        pv__put_html(out, whole);
        fputs("\">", out);
        pv__put_html(out, shown);
        fputs("</span>", out);
    } else {
        pv__put_html(out, shown);
    }
}

static void put_row(FILE *out, const pv_report_table *t, const char *const *cell) {
    fputs("<tr>", out);
    for (size_t c = 0; c < t->columns; c++) {
        const char *text = cell[c] ? cell[c] : "";
        fputs(c == 0 ? "<th scope=\"row\">" : t->text >> c & 1 ? "<td class=\"name\">" : "<td>", out);
        put_cell(out, text, c == 0 ? NAME : CELL);
        fputs(c == 0 ? "</th>" : "</td>", out);
    }
    fputs("</tr>\n", out);
}

void pv_report_put_table(pv_report *report, const pv_report_table *t) {
    FILE *out = report->out;
    if (!out)
        return;
    if (t->folded) {
        fputs("<details><summary>", out);
        pv__put_html(out, t->caption);
        fputs("</summary>\n", out);
    }
    fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", out);
    pv__put_html(out, t->caption);
    fputs("\"><table>\n<caption>", out);
    pv__put_html(out, t->caption);
    fputs("</caption>\n", out);
    if (t->head)
        fputs("<thead><tr>", out);
    for (size_t c = 0; t->head && c < t->columns; c++) {
        pv__print(out, "<th scope=\"col\"%s>", t->text >> c & 1 ? " class=\"name\"" : "");
        put_cell(out, t->head[c], NAME);
        fputs("</th>", out);
    }
    fputs(t->head ? "</tr></thead>\n<tbody>\n" : "<tbody>\n", out);
    for (size_t r = 0; r < t->rows && !pv__interrupted(report->ctx); r++)
        put_row(out, t, t->cell + r * t->columns);
    fputs("</tbody></table></div>\n", out);
    if (t->folded)
        fputs("</details>\n", out);
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

enum { COLUMNS = 12 }; /* of panels; report.css has a class per number because the policy forbids style attributes */

static void put_panel(pv_report *report, const pv_figure *figure, size_t p, pv__svg *svg) {
    FILE *out = report->out;
    const pv_panel *panel = &figure->panel[p];
    pv__size size = pv__panel_size(panel);
    const char *title = panel->title ? panel->title : figure->title;
    pv__print(out,
              "<svg viewBox=\"0 0 %g %g\" width=\"%g\" role=\"img\" aria-labelledby=\"%s-t%zu %s-d%zu\">\n"
              "<title id=\"%s-t%zu\">",
              size.width, size.height, 1.25 * size.width, figure->name, p, figure->name, p, figure->name, p);
    pv__put_html(out, title);
    pv__print(out, "</title>\n<desc id=\"%s-d%zu\">", figure->name, p);
    pv__put_html(out, panel->y.label ? panel->y.label : "");
    fputs(panel->y.label && panel->x.label ? " against " : "", out);
    pv__put_html(out, panel->x.label ? panel->x.label : "");
    fputs(". The numbers are in the table below.</desc>\n", out);
    pv__panel_draw(svg, panel);
    fputs("</svg>\n", out);
}

void pv__page_figure(pv_report *report, const pv_figure *figure) {
    FILE *out = report->out;
    pv__svg svg = {.out = out, .ctx = report->ctx, .prefix = figure->name};
    pv__print(out, "<figure id=\"fig-%s\">\n<figcaption>", figure->name);
    fputs("<strong>", out);
    pv__put_html(out, figure->title);
    fputs("</strong> ", out);
    pv__put_html(out, figure->text);
    fputs("</figcaption>\n", out);
    if (figure->columns)
        pv__print(out, "<div class=\"panels fixed c%zu\">\n", figure->columns < COLUMNS ? figure->columns : COLUMNS);
    else
        fputs("<div class=\"panels\">\n", out);
    for (size_t p = 0; p < figure->panels; p++)
        put_panel(report, figure, p, &svg);
    fputs("</div>\n</figure>\n", out);
}

static void put_number_cell(FILE *out, const double *values, const pv_series *s, size_t i) {
    char text[48] = "";
    if (values)
        pv__number_text(pv__at(values, s, i), text, sizeof text);
    pv__print(out, "<td>%s</td>", text);
}

static bool has_table(const pv_series *s) {
    return s->name && s->n > 0 && s->mark != PV_MARK_RUG && s->mark != PV_MARK_HEAT;
}

/* One table per series; long ones are thinned evenly. */
void pv__page_numbers(pv_report *report, const pv_figure *figure) {
    size_t most = figure->panels > 4 ? 7 : 25;
    FILE *out = report->out;
    char title[200];
    pv__shorten(figure->title, 60, title, sizeof title);
    fputs("<details class=\"numbers\"><summary>Numbers: ", out);
    pv__put_html(out, title);
    pv__print(
        out,
        "</summary>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Numbers of %s\"><table>\n"
        "<thead><tr><th scope=\"col\" class=\"name\">chart</th><th scope=\"col\" class=\"name\">series</th>"
        "<th scope=\"col\">x</th><th scope=\"col\">y</th><th scope=\"col\">from</th><th scope=\"col\">to</th></tr>"
        "</thead>\n<tbody>\n",
        figure->name);
    for (size_t p = 0; p < figure->panels; p++)
        for (size_t k = 0; k < figure->panel[p].n_series && !pv__interrupted(report->ctx); k++) {
            const pv_series *s = &figure->panel[p].series[k];
            size_t shown = !has_table(s) ? 0 : s->n < most ? s->n : most;
            for (size_t i = 0; i < shown; i++) {
                size_t at = shown < 2 ? 0 : i * (s->n - 1) / (shown - 1);
                char name[300], heading[300];
                pv__shorten(s->name, 44, name, sizeof name);
                pv__shorten(figure->panel[p].title ? figure->panel[p].title : figure->title, 44, heading,
                            sizeof heading);
                fputs("<tr><th scope=\"row\">", out);
                pv__put_html(out, heading);
                fputs("</th><td class=\"name\">", out);
                pv__put_html(out, name);
                fputs("</td>", out);
                put_number_cell(out, s->x, s, at);
                put_number_cell(out, s->y, s, at);
                put_number_cell(out, s->lo, s, at);
                put_number_cell(out, s->hi, s, at);
                fputs("</tr>\n", out);
            }
        }
    pv__print(out,
              "</tbody></table></div>\n<p class=\"small\">Series of more than %zu points are thinned here; the CSV "
              "file of a chart has all points.</p></details>\n",
              most);
}

pv_status pv__figure_files(pv_ctx *ctx, const pv_report *report, const pv_figure *figure) {
    if (!report->figures)
        return PV_OK;
    size_t size = strlen(report->figures) + strlen(figure->name) + 8;
    char *path;
    PV_TRY(pv__alloc(ctx, size, 1, &path));
    pv__format(path, size, "%s/%s.svg", report->figures, figure->name);
    pv_status status = pv_figure_write_svg(ctx, figure, path);
    pv__format(path, size, "%s/%s.csv", report->figures, figure->name);
    if (status == PV_OK)
        status = pv_figure_write_csv(ctx, figure, path);
    pv__free(ctx, path);
    return status;
}

pv_status pv_report_put_figure(pv_ctx *ctx, pv_report *report, const pv_figure *figure) {
    if (report->out) {
        pv__page_figure(report, figure);
        pv__page_numbers(report, figure);
        PV_TRY(pv__check_stop(ctx, report->output.path));
    }
    return pv__figure_files(ctx, report, figure);
}
