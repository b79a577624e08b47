/* tool/report.h: report pages: options, tables, text. The content comes from the commands. */
#ifndef PREVAIL_TOOL_REPORT_H
#define PREVAIL_TOOL_REPORT_H

#include "prevail/prevail.h"
#include "prevail/report.h"
#include "tool/command.h"

/* ---- options ----------------------------------------------------------------------------------------------------- */

typedef struct report_options {
    const char *page;
    const char *figures;
    const char *engine, *model; /* see pv_report_options */
} report_options;

#define CLI_OPTIONS_REPORT(type, field)                                                                                \
    {"report",                                                                                                         \
     PV_OPTION_TEXT,                                                                                                   \
     offsetof(type, field.page),                                                                                       \
     NULL,                                                                                                             \
     0,                                                                                                                \
     0,                                                                                                                \
     NULL,                                                                                                             \
     "FILE",                                                                                                           \
     "Write a report to this HTML file: one self-contained page with charts and an explorer of prevalences, costs "    \
     "and thresholds."},                                                                                               \
    {                                                                                                                  \
        "figures", PV_OPTION_TEXT, offsetof(type, field.figures), NULL, 0, 0, NULL, "DIR",                             \
            "Write each chart of the report to this folder, as SVG, and its data as CSV."                              \
    }

static inline bool report_wanted(const report_options *options) {
    return options->page || options->figures;
}

/* Rejects standard output, which cannot serve as a page or folder. */
int report_check(cli_call *call, const report_options *options);
/* Open the report, and at the end write it; code: exit code so far. */
int report_begin(cli_call *call, const report_options *options, const char *title, const char *lead,
                 pv_report **report);
int report_end(cli_call *call, const report_options *options, pv_report *report, int code);

/* ---- tables and text --------------------------------------------------------------------------------------------- */

/* Cells of a table, row by row. */
typedef struct report_cells {
    char **cell;
    size_t count;
} report_cells;

void report_cell(report_cells *cells, const char *text); /* NULL: empty */
void report_cell_number(report_cells *cells, double value);
void report_cell_format(report_cells *cells, const char *format, ...) PV_PRINTF(2, 3);
/* Adds the table to the report and frees the cells. columns: one letter per column, t for text, n for numbers. head may
 * be NULL. */
void report_put_cells(pv_report *report, report_cells *cells, const char *caption, const char *columns,
                      const char *const *head, bool folded);

/* A paragraph or a note, of any length. */
void report_say(pv_report *report, const char *format, ...) PV_PRINTF(2, 3);
void report_note(pv_report *report, pv_note kind, const char *format, ...) PV_PRINTF(3, 4);

/* Adds each warning of the library as a note. */
void report_put_warnings(cli_call *call, pv_report *report);
/* Adds how to reproduce the result; names and values end with NULL. */
void report_put_provenance(cli_call *call, pv_report *report, const char *const *names, const char *const *values);

#endif
