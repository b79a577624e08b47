/* The report of a study: its tables, which are written as Markdown, and its figures, in the order in which they
 * come. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "prevail/prevail.h"
#include "lab/common/markdown.h"
#include "tool/console.h"
#include "tool/report.h"

/* ---- tables ------------------------------------------------------------------------------------------------------ */

enum { COLUMNS_MAX = 24 };

typedef struct reading {
    pv_report *report;
    report_cells cells;
    char head[COLUMNS_MAX][64];
    size_t columns; /* 0: not inside a table */
    char section[128];
    char *paragraph; /* paragraph under construction */
} reading;

static void end_table(reading *r) {
    if (!r->columns)
        return;
    const char *heads[COLUMNS_MAX];
    char kinds[COLUMNS_MAX + 1] = "";
    for (size_t c = 0; c < r->columns; c++) {
        const char *first = r->cells.count > c && r->cells.cell[c] ? r->cells.cell[c] : "";
        heads[c] = r->head[c];
        kinds[c] = c == 0 || !strchr("0123456789-+.", first[0]) ? 't' : 'n';
    }
    report_put_cells(r->report, &r->cells, r->section[0] ? r->section : "Results", kinds, heads, false);
    r->columns = 0;
}

static void end_paragraph(reading *r) {
    if (r->paragraph)
        pv_report_paragraph(r->report, r->paragraph);
    free(r->paragraph);
    r->paragraph = NULL;
}

/* "| a | b |": the first such line is the head, a line of dashes is skipped. */
static void read_row(reading *r, char *line) {
    bool heads = r->columns == 0;
    if (strspn(line, "|-: \n") == strlen(line))
        return;
    size_t c = 0;
    line += strspn(line, "| ");
    line[strcspn(line, "\n")] = '\0';
    for (char *cell; (cell = strsep(&line, "|")) && c < COLUMNS_MAX;) {
        cell += strspn(cell, " ");
        size_t length = strlen(cell);
        while (length && cell[length - 1] == ' ')
            cell[--length] = '\0';
        if (!line && !length)
            break; /* after the last bar */
        if (heads)
            snprintf(r->head[c], sizeof r->head[c], "%s", cell);
        else
            report_cell(&r->cells, cell);
        c++;
    }
    if (heads)
        r->columns = c;
    for (; !heads && c < r->columns; c++)
        report_cell(&r->cells, NULL);
}

static void read_line(reading *r, char *line) {
    if (line[0] == '|') {
        end_paragraph(r);
        read_row(r, line);
        return;
    }
    end_table(r);
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "## ", 3) == 0) {
        char id[64] = "part-";
        end_paragraph(r);
        snprintf(r->section, sizeof r->section, "%.120s", line + 3);
        for (size_t i = 0; i < 50 && r->section[i]; i++)
            id[5 + i] = (char)(isalnum((unsigned char)r->section[i]) ? tolower((unsigned char)r->section[i]) : '-');
        pv_report_section(r->report, id, r->section);
    } else if (!line[0]) {
        end_paragraph(r);
    } else if (line[0] != '#') {
        size_t used = r->paragraph ? strlen(r->paragraph) : 0, size = used + strlen(line) + 2;
        char *longer = cli_alloc(size, 1);
        snprintf(longer, size, "%s%s%s", used ? r->paragraph : "", used ? " " : "", line);
        free(r->paragraph);
        r->paragraph = longer;
    }
}

void report_put_markdown(pv_report *report, char *text) {
    reading r = {.report = report};
    while (*text) {
        size_t length = strcspn(text, "\n");
        bool last = !text[length];
        text[length] = '\0';
        read_line(&r, text);
        text += length + (last ? 0 : 1);
    }
    end_table(&r);
    end_paragraph(&r);
}
