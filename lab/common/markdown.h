/* lab/common/markdown.h: Markdown tables in a report. */
#ifndef PREVAIL_LAB_COMMON_MARKDOWN_H
#define PREVAIL_LAB_COMMON_MARKDOWN_H

#include "prevail/prevail.h"
#include "prevail/report.h"

/* Headings become sections, tables tables. The text is changed. */
void report_put_markdown(pv_report *report, char *text);

#endif
