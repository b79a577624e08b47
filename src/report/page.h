/* src/report/page.h: the page that the files of this part write to. */
#ifndef PV_SRC_REPORT_PAGE_H
#define PV_SRC_REPORT_PAGE_H

#include "prevail/report.h"
#include "report/svg.h"

struct pv_report {
    const pv_ctx *ctx; /* whose interruption ends the writing */
    pv_output output;  /* of the page */
    FILE *out;         /* NULL: no page */
    char *figures;     /* NULL: no folder */
    bool section;      /* one is open */
    bool explorer;     /* the script is needed */
};

void pv__sha256(const void *data, size_t size, uint8_t hash[32]);
/* As a content security policy has it, with its NUL. */
void pv__sha256_base64(const void *data, size_t size, char text[45]);

/* The status after something was written: PV_ERR_INTERRUPTED where it may be incomplete. */
PV_MUST_USE pv_status pv__check_stop(pv_ctx *ctx, const char *path);
/* A figure of the page: title, one <svg> for each panel, description. */
void pv__page_figure(pv_report *report, const pv_figure *figure);
void pv__page_numbers(pv_report *report, const pv_figure *figure); /* the folded table */
/* The figure's two files, where there is a folder. */
PV_MUST_USE pv_status pv__figure_files(pv_ctx *ctx, const pv_report *report, const pv_figure *figure);

#endif
