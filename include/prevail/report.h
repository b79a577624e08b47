/* prevail/report.h: one self-contained HTML page of text, tables and charts, and the same charts as files.
 *
 * A report is written from top to bottom: sections, paragraphs, tables, figures. Any text may be passed; it is
 * escaped. The page needs no network. Only the population explorer and the engine use scripts.
 */
#ifndef PREVAIL_REPORT_H
#define PREVAIL_REPORT_H

#include "prevail/assess.h"
#include "prevail/chart.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pv_report pv_report;

typedef struct pv_report_options {
    const char *page;    /* the HTML file; NULL: none */
    const char *figures; /* a folder for each chart as SVG and its data as CSV, created if necessary; NULL: none */
    const char *title;
    const char *lead; /* a line below the title; may be NULL */
    /* The script made by scripts/js and a model file, both or neither. They are embedded in the page, which then
     * predicts rows that the reader enters. */
    const char *engine, *model;
} pv_report_options;

/* The beginnings of the files, by which pv_files_write_into recognises those of an earlier run. */
#define PV_REPORT_BEGINS                                                                                               \
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"generator\" "                 \
    "content=\"prevail "
#define PV_FIGURE_SVG_BEGINS                                                                                           \
    "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"title desc\" color=\"#1b1f24\""
#define PV_FIGURE_CSV_BEGINS "panel,series,x,y,lo,hi\n"

/* The caller frees *report. The page appears under its name only in pv_report_finish. */
PV_MUST_USE pv_status pv_report_new(pv_ctx *ctx, const pv_report_options *options, pv_report **report);
PV_MUST_USE pv_status pv_report_finish(pv_ctx *ctx, pv_report *report);
void pv_report_free(pv_ctx *ctx,
                    pv_report *report); /* NULL is allowed; the page of an unfinished report is not written */

/* id: the section's anchor, letters and -. */
void pv_report_section(pv_report *report, const char *id, const char *title);
void pv_report_paragraph(pv_report *report, const char *text);
typedef enum pv_note { PV_NOTE_GOOD, PV_NOTE_WARNING, PV_NOTE_MISSING } pv_note;
void pv_report_note(pv_report *report, pv_note kind, const char *text); /* highlighted, with its kind in words */

typedef struct pv_report_table {
    const char *caption;
    size_t rows, columns;
    const char *const *head; /* [columns]; NULL: no header row */
    const char *const *cell; /* [rows][columns]; NULL: empty */
    unsigned text;           /* bit c: column c is text; the others are numbers */
    bool folded;             /* shown on request */
} pv_report_table;

void pv_report_put_table(pv_report *report, const pv_report_table *table);

/* Adds a figure to the page, with a table of its numbers (long series are thinned), and to the folder. */
PV_MUST_USE pv_status pv_report_put_figure(pv_ctx *ctx, pv_report *report, const pv_figure *figure);

/* Shortens text for a caption or sentence to at most `most` characters, with invalid UTF-8 replaced, in at most size
 * bytes including the NUL; an ellipsis marks the omission if it fits. Returns to. */
const char *pv_text_short(const char *text, size_t most, char *to, size_t size);
const char *pv_text_number(double value, char *to, size_t size); /* four digits; a dash if undefined */

/* A count for people to read: "1,234,567", rounded to a whole number. Returned by value, so that
 * pv_group_digits(rows).text can be one of printf's arguments. */
typedef struct pv_grouped {
    char text[40];
} pv_grouped;
pv_grouped pv_group_digits(double count);

/* ---- the population explorer ---------------------------------------------------------------------------------------
 * Decisions in a population of prevalence pi if a false positive costs c_fp and a false negative c_fn: a row is called
 * positive if its probability, adapted to pi, is at least t = c_fp / (c_fp + c_fn). This is a threshold on the
 * likelihood ratio, so one table of rates is sufficient for every population.
 */
typedef struct pv_explorer {
    const pv_ranking *ranking;
    double offset; /* the log odds of the ranking minus offset are log-likelihood ratios; offset is the log odds of the
                      prevalence the probabilities are for. NaN: unknown, and they are not adapted */
    double prevalence, cost_fp, cost_fn; /* initial values */
    const char *positive, *negative;     /* labels; negative NULL: all others */
    const char *caveat; /* how the adapted probabilities differ from the model's own there; NULL: they do not */
} pv_explorer;

/* Rates at the threshold; numbers of people are per 100,000. NaN if undefined. */
typedef struct pv_operating {
    double threshold;
    double tpr, fpr, ppv, npv, informedness, markedness;
    double tp, fp, fn, tn;
    double cost;        /* c_fp fp + c_fn fn */
    double net_benefit; /* tp - fp c_fp/c_fn */
} pv_operating;

pv_operating pv_explorer_at(const pv_explorer *explorer);
/* Fails with PV_ERR_USAGE if the prevalence or costs are out of range. Without rows of both labels, the page says
 * so. */
PV_MUST_USE pv_status pv_report_put_explorer(pv_ctx *ctx, pv_report *report, const pv_explorer *explorer);

/* ---- data for charts --------------------------------------------------------------------------------------------- */

/* Columns lo, hi, positive, negative: share of each label's rows with a probability in a bin; bins have equal width in
 * p, or with `log` in log p. The caller frees *histogram with pv_curve_clear. */
PV_MUST_USE pv_status pv_ranking_histogram(pv_ctx *ctx, const pv_ranking *ranking, size_t bins, bool log,
                                           pv_curve *histogram);
/* Columns p, positive (1 or 0): at most `most` rows of each label, evenly spread over their ranks. */
PV_MUST_USE pv_status pv_ranking_sample(pv_ctx *ctx, const pv_ranking *ranking, size_t most, pv_curve *sample);
/* Number of rows of the positive label and of the others. */
void pv_ranking_rows(const pv_ranking *ranking, double *positive, double *negative);
/* The prevalence that the ranking is stated for. */
double pv_ranking_prevalence(const pv_ranking *ranking);

#ifdef __cplusplus
}
#endif
#endif
