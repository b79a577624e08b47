/* prevail/report.h: one self-contained HTML page of text, tables and charts, and the same charts as files.
 *
 * A report is written from top to bottom: sections, paragraphs, tables, figures. Text may hold anything; it is shown,
 * never run. The page needs no network and no script; the population explorer alone uses one.
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
    const char *figures; /* a folder for each chart as SVG and its data as CSV, made where there is none; NULL: none */
    const char *title;
    const char *lead; /* a line below the title; may be NULL */
} pv_report_options;

/* How the files begin, whatever is in them: by this those of an earlier run are known (pv_files_write_into). */
#define PV_REPORT_BEGINS                                                                                               \
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"generator\" "                 \
    "content=\"prevail "
#define PV_FIGURE_SVG_BEGINS                                                                                           \
    "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"title desc\" color=\"#1b1f24\""
#define PV_FIGURE_CSV_BEGINS "panel,series,x,y,lo,hi\n"

/* The caller frees *report. Nothing appears under the page's name before pv_report_finish. */
PV_MUST_USE pv_status pv_report_new(pv_ctx *ctx, const pv_report_options *options, pv_report **report);
PV_MUST_USE pv_status pv_report_finish(pv_ctx *ctx, pv_report *report);
void pv_report_free(pv_ctx *ctx, pv_report *report); /* NULL is fine; unfinished, the page is not written */

/* id: of the section's anchor, letters and -. */
void pv_report_section(pv_report *report, const char *id, const char *title);
void pv_report_paragraph(pv_report *report, const char *text);
typedef enum pv_note { PV_NOTE_GOOD, PV_NOTE_WARNING, PV_NOTE_MISSING } pv_note;
#define PV_NOTE_LIST(X)                                                                                                \
    X(GOOD, "good")                                                                                                    \
    X(WARNING, "warning")                                                                                              \
    X(MISSING, "missing")
const char *pv_note_name(pv_note note);
bool pv_note_find(const char *name, pv_note *note);
void pv_report_note(pv_report *report, pv_note kind, const char *text); /* set apart, with its kind in words */

typedef struct pv_report_table {
    const char *caption;
    size_t rows, columns;
    const char *const *head; /* [columns]; NULL: no heads */
    const char *const *cell; /* [rows][columns]; NULL: empty */
    unsigned text;           /* bit c: column c is text; the others are numbers */
    bool folded;             /* shown on request */
} pv_report_table;

void pv_report_put_table(pv_report *report, const pv_report_table *table);

/* Into the page, with a table of its numbers (long series thinned), and into the folder. */
PV_MUST_USE pv_status pv_report_put_figure(pv_ctx *ctx, pv_report *report, const pv_figure *figure);

/* Text for a caption or sentence: at most so many characters, mended, in at most size bytes with the NUL; an ellipsis
 * where something is missing, if there is room for one. Returns to. */
const char *pv_text_short(const char *text, size_t most, char *to, size_t size);
const char *pv_text_number(double value, char *to, size_t size); /* four digits; a dash where undefined */

/* ---- the population explorer ---------------------------------------------------------------------------------------
 * What happens in a population of prevalence pi, when a false positive costs c_fp and a false negative c_fn: a row is
 * called positive where its probability, moved to pi, is at least t = c_fp / (c_fp + c_fn). That is a threshold on the
 * likelihood ratio, so one table of rates serves every population.
 */
typedef struct pv_explorer {
    const pv_ranking *ranking;
    double offset; /* log odds of the ranking, less this, are logarithms of likelihood ratios: the log odds of the
                      prevalence that the probabilities are for. NaN: unknown, they stay as they are */
    double prevalence, cost_fp, cost_fn; /* where it starts */
    const char *positive, *negative;     /* labels; negative NULL: all others */
    const char *caveat; /* in what the moved probabilities differ from the model's own there; NULL: in nothing */
} pv_explorer;

/* At a threshold; numbers of people are per 100,000. NaN where undefined. */
typedef struct pv_operating {
    double threshold;
    double tpr, fpr, ppv, npv, informedness, markedness;
    double tp, fp, fn, tn;
    double cost;        /* c_fp fp + c_fn fn */
    double net_benefit; /* tp - fp c_fp/c_fn */
} pv_operating;

pv_operating pv_explorer_at(const pv_explorer *explorer);
/* Refused with PV_ERR_USAGE: a prevalence or costs out of their range. Without rows of both labels the page says so. */
PV_MUST_USE pv_status pv_report_put_explorer(pv_ctx *ctx, pv_report *report, const pv_explorer *explorer);

/* ---- what charts need beside curves ---------------------------------------------------------------------------- */

/* Columns lo, hi, positive, negative: shares of the rows of each label with a probability in a bin, of equal width in p
 * or in log p. The caller clears. */
PV_MUST_USE pv_status pv_ranking_histogram(pv_ctx *ctx, const pv_ranking *ranking, size_t bins, bool log,
                                           pv_curve *histogram);
/* Columns p, positive (1 or 0): at most so many rows of each label, evenly spread over their ranks. */
PV_MUST_USE pv_status pv_ranking_sample(pv_ctx *ctx, const pv_ranking *ranking, size_t most, pv_curve *sample);
/* Rows of the positive label and of the others. */
void pv_ranking_rows(const pv_ranking *ranking, double *positive, double *negative);
/* Their prevalence, as stated for. */
double pv_ranking_prevalence(const pv_ranking *ranking);

#ifdef __cplusplus
}
#endif
#endif
