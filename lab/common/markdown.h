/* lab/common/markdown.h: Markdown tables in a report. */
#ifndef PREVAIL_LAB_COMMON_MARKDOWN_H
#define PREVAIL_LAB_COMMON_MARKDOWN_H

#include "prevail/prevail.h"
#include "prevail/report.h"

/* Converts headings to sections and tables to tables. Modifies text. */
void report_put_markdown(pv_report *report, char *text);

#endif
