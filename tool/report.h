/* tool/report.h: pages: options, tables, text; what stands in them is said by those who make them. */
#ifndef PREVAIL_TOOL_REPORT_H
#define PREVAIL_TOOL_REPORT_H

#include "prevail/prevail.h"
#include "prevail/report.h"
#include "tool/command.h"

/* ---- options ----------------------------------------------------------------------------------------------------- */

typedef struct report_options {
    const char *page;
    const char *figures;
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
     "Write a report to this HTML file: one page that needs no network, with charts and an explorer of prevalences, "  \
     "costs and thresholds."},                                                                                         \
    {                                                                                                                  \
        "figures", PV_OPTION_TEXT, offsetof(type, field.figures), NULL, 0, 0, NULL, "DIR",                             \
            "Write each chart of the report to this folder, as SVG, and its data as CSV."                              \
    }

static inline bool report_wanted(const report_options *options) {
    return options->page || options->figures;
}

/* Refuses standard output, which neither a page nor a folder can be. */
int report_check(cli_call *call, const report_options *options);
/* Begins, and at the end writes: code is what came before. */
int report_begin(cli_call *call, const report_options *options, const char *title, const char *lead,
                 pv_report **report);
int report_end(cli_call *call, const report_options *options, pv_report *report, int code);

/* ---- tables and text --------------------------------------------------------------------------------------------- */

/* Cells, row by row. */
typedef struct report_cells {
    char **cell;
    size_t count;
} report_cells;

void report_cell(report_cells *cells, const char *text); /* NULL: empty */
void report_cell_number(report_cells *cells, double value);
void report_cell_format(report_cells *cells, const char *format, ...) PV_PRINTF(2, 3);
/* Into the report; the cells are freed. columns: a letter for each, t for text, n for numbers. head may be NULL. */
void report_put_cells(pv_report *report, report_cells *cells, const char *caption, const char *columns,
                      const char *const *head, bool folded);

/* A paragraph or note of any length. */
void report_say(pv_report *report, const char *format, ...) PV_PRINTF(2, 3);
void report_note(pv_report *report, pv_note kind, const char *format, ...) PV_PRINTF(3, 4);

/* What the library warned of, each a note. */
void report_put_warnings(cli_call *call, pv_report *report);
/* How to reproduce it; names and values end with NULL. */
void report_put_provenance(cli_call *call, pv_report *report, const char *const *names, const char *const *values);

#endif
