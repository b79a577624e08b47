/* Shared by the reports of all commands: options, tables, text. */
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int report_check(cli_call *call, const report_options *options) {
    if (options->page && strcmp(options->page, "-") == 0)
        return cli_error(call, PV_ERR_USAGE, NULL, "--report -: a page goes to a file; give its name");
    if (options->figures && strcmp(options->figures, "-") == 0)
        return cli_error(call, PV_ERR_USAGE, NULL, "--figures -: figures go to a folder; give its name");
    return CLI_OK;
}

int report_begin(cli_call *call, const report_options *options, const char *title, const char *lead,
                 pv_report **report) {
    pv_report_options how = {.page = options->page,
                             .figures = options->figures,
                             .title = title,
                             .lead = lead,
                             .engine = options->engine,
                             .model = options->model};
    pv_status status = pv_report_new(call->ctx, &how, report);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

int report_end(cli_call *call, const report_options *options, pv_report *report, int code) {
    if (code == CLI_OK) {
        pv_status status = pv_report_finish(call->ctx, report);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    pv_report_free(call->ctx, report);
    if (code == CLI_OK && options->page)
        cli_note(call, "report in %s", options->page);
    return code;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

void report_cell(report_cells *cells, const char *text) {
    cells->cell = cli_resize(cells->cell, cells->count + 1, sizeof *cells->cell);
    cells->cell[cells->count++] = text ? cli_copy(text) : NULL;
}

void report_cell_number(report_cells *cells, double value) {
    char text[48];
    report_cell(cells, pv_text_number(value, text, sizeof text));
}

/* The caller frees. */
PV_PRINTF(1, 0) static char *format_text(const char *format, va_list values) {
    char *text = NULL;
    if (vasprintf(&text, format, values) < 0)
        cli_no_memory("for text");
    return text;
}

void report_cell_format(report_cells *cells, const char *format, ...) {
    va_list values;
    va_start(values, format);
    char *text = format_text(format, values);
    va_end(values);
    report_cell(cells, text);
    free(text);
}

void report_put_cells(pv_report *report, report_cells *cells, const char *caption, const char *columns,
                      const char *const *head, bool folded) {
    pv_report_table table = {.caption = caption,
                             .columns = strlen(columns),
                             .head = head,
                             .cell = (const char *const *)cells->cell,
                             .folded = folded};
    table.rows = cells->count / table.columns;
    for (size_t c = 0; c < table.columns; c++)
        table.text |= columns[c] == 't' ? 1U << c : 0;
    pv_report_put_table(report, &table);
    for (size_t i = 0; i < cells->count; i++)
        free(cells->cell[i]);
    free(cells->cell);
    *cells = (report_cells){0};
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

void report_say(pv_report *report, const char *format, ...) {
    va_list values;
    va_start(values, format);
    char *text = format_text(format, values);
    va_end(values);
    pv_report_paragraph(report, text);
    free(text);
}

void report_note(pv_report *report, pv_note kind, const char *format, ...) {
    va_list values;
    va_start(values, format);
    char *text = format_text(format, values);
    va_end(values);
    pv_report_note(report, kind, text);
    free(text);
}

void report_put_warnings(cli_call *call, pv_report *report) {
    for (size_t i = 0; i < call->warnings; i++)
        pv_report_note(report, PV_NOTE_WARNING, call->warning[i]);
}

void report_put_provenance(cli_call *call, pv_report *report, const char *const *names, const char *const *values) {
    report_cells cells = {0};
    pv_report_section(report, "reproduce", "How to reproduce this");
    report_cell(&cells, "version");
    report_cell(&cells, "prevail " PV_VERSION);
    report_cell(&cells, "command");
    report_cell(&cells, call->line);
    for (size_t i = 0; names[i]; i++) {
        report_cell(&cells, names[i]);
        report_cell(&cells, values[i]);
    }
    report_put_cells(report, &cells, "Provenance", "tt", NULL, false);
}
