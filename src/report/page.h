/* src/report/page.h: the report page that the files of this part write to. */
#ifndef PV_SRC_REPORT_PAGE_H
#define PV_SRC_REPORT_PAGE_H

#include "prevail/report.h"
#include "report/svg.h"

/* A file that becomes part of the page. */
typedef struct pv__attachment {
    unsigned char *data; /* NULL: none */
    size_t size;
} pv__attachment;

struct pv_report {
    const pv_ctx *ctx; /* if this is interrupted, writing stops */
    pv_output output;  /* the page's file */
    FILE *out;         /* NULL: no page */
    char *figures;     /* folder for figures; NULL: none */
    bool section;      /* a section is open */
    bool explorer;     /* the script is needed */
    pv__attachment engine, model;
};

void pv__sha256(const void *data, size_t size, uint8_t hash[32]);
/* The hash in the form of a content security policy, NUL-terminated. */
void pv__sha256_base64(const void *data, size_t size, char text[45]);

void pv__base64(const uint8_t bytes[3], char text[4]);

/* The engine that scores a reader's rows (page_engine.c): reads the files, writes the section with its controls, and
 * the scripts at the end of the page. Without an engine they write nothing. */
PV_MUST_USE pv_status pv__page_engine_read(pv_ctx *ctx, pv_report *report, const char *engine, const char *model);
void pv__page_engine_section(pv_report *report);
void pv__page_engine_scripts(const pv_report *report);
void pv__page_engine_free(pv_ctx *ctx, pv_report *report);

/* The status after writing: PV_ERR_INTERRUPTED if the output may be incomplete. */
PV_MUST_USE pv_status pv__check_stop(pv_ctx *ctx, const char *path);
/* Writes a figure to the page: title, one <svg> per panel, description. */
void pv__page_figure(pv_report *report, const pv_figure *figure);
void pv__page_numbers(pv_report *report, const pv_figure *figure); /* the collapsible table */
/* Writes the figure's two files if there is a folder. */
PV_MUST_USE pv_status pv__figure_files(pv_ctx *ctx, const pv_report *report, const pv_figure *figure);

#endif
