/* Charts of evaluated predictions: calibration, expected and observed errors, ROC, precision and recall, informedness
 * and markedness, histograms, decision curve. Each is made from a pv_curve and states the number of rows. */
#include <math.h>
#include <string.h>

#include "validate/validate.h"

/* Below it, probability axes are logarithmic, as in pv_curve_make. */
static const double SMALL_PREVALENCE = 0.1;
enum { POINTS = 2000, BINS = 40 };

typedef struct drawing {
    pv_ctx *ctx;
    pv_report *report;
    const pv_report_judged *judged;
    const pv_operating *at;
    double rows_p, rows_n;
    bool log;
    char rows[160];  /* "n = 1,000: 500 malignant, 500 others" */
    char label[120]; /* name of the positive class, shortened */
} drawing;

static const double *column(const pv_curve *curve, const char *name) {
    for (size_t c = 0; c < curve->columns; c++)
        if (strcmp(curve->column[c], name) == 0)
            return curve->value + c;
    return NULL;
}

static pv_status make(const drawing *d, const pv_ranking *ranking, pv_curve_kind kind, pv_curve *curve) {
    pv_curve_options options = pv_curve_options_default();
    const double prevalences[] = {pv_ranking_prevalence(ranking), 0.5};
    options.points = POINTS;
    options.level = d->judged->level;
    options.bins = d->judged->bins;
    options.prevalences = prevalences;
    options.n_prevalences = 2;
    if (!(prevalences[0] > 0 && prevalences[0] < 1)) {
        options.prevalences += 1;
        options.n_prevalences = 1;
    }
    return pv_curve_make(d->ctx, ranking, kind, &options, curve);
}

static pv_status put(const drawing *d, const pv_figure *figure) {
    return pv_report_put_figure(d->ctx, d->report, figure);
}

/* A series from columns of a curve; column names may be NULL. */
static pv_series series_of(const pv_curve *curve, pv_mark mark, pv_ink ink, const char *name, const char *x,
                           const char *y, const char *lo, const char *hi) {
    return (pv_series){.mark = mark,
                       .ink = ink,
                       .name = name,
                       .n = curve->points,
                       .x = x ? column(curve, x) : NULL,
                       .y = y ? column(curve, y) : NULL,
                       .lo = lo ? column(curve, lo) : NULL,
                       .hi = hi ? column(curve, hi) : NULL,
                       .stride = curve->columns};
}

static const double ends[] = {0, 1};

static pv_series diagonal(const char *name) {
    return (pv_series){.mark = PV_MARK_LINE,
                       .ink = PV_INK_MUTED,
                       .name = name,
                       .n = 2,
                       .x = ends,
                       .y = ends,
                       .dashed = true,
                       .size = 1.2};
}

/* ---- calibration ------------------------------------------------------------------------------------------------- */

/* A panel of observed against predicted risks, and below it, on the same axis, the distribution of predictions. */
typedef struct calibration {
    pv_curve curve, smooth, histogram;
    double end[2]; /* range of both axes */
    char title[80], x[120];
    pv_series series[4], bars[2];
} calibration;

/* Includes every probability and proportion that is drawn, except 0 on a logarithmic axis. */
static void find_ends(calibration *c, bool log) {
    const pv_curve *const drawn[] = {&c->curve, &c->curve, &c->smooth, &c->smooth};
    static const char *const names[] = {"mean_p", "observed", "p", "observed"};
    double least = 0.5, most = 0;
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < drawn[k]->points; i++) {
            double value = column(drawn[k], names[k])[i * drawn[k]->columns];
            least = value > 0 ? fmin(least, value) : least;
            most = fmax(most, value);
        }
    c->end[0] = log ? fmax(least / 2, 1e-9) : 0;
    c->end[1] = log && most > c->end[0] ? fmin(2 * most, 1) : 1;
}

static pv_status make_calibration(const drawing *d, const pv_ranking *ranking, const char *title, calibration *c) {
    pv_status status = make(d, ranking, PV_CURVE_calibration, &c->curve);
    if (status == PV_OK)
        status = make(d, ranking, PV_CURVE_calibration_smooth, &c->smooth);
    if (status == PV_OK)
        status = pv_ranking_histogram(d->ctx, ranking, BINS, d->log, &c->histogram);
    if (status != PV_OK)
        return status;
    find_ends(c, d->log);
    pv__format(c->title, sizeof c->title, "%s", title);
    pv__format(c->x, sizeof c->x, "predicted probability of %.60s", d->label);
    c->series[0] = diagonal("perfect calibration");
    c->series[0].x = c->series[0].y = c->end;
    c->series[1] =
        series_of(&c->smooth, PV_MARK_BAND, PV_INK_EXPECTED, "its interval", "p", NULL, "observed_lo", "observed_hi");
    c->series[2] = series_of(&c->smooth, PV_MARK_LINE, PV_INK_EXPECTED, "smooth curve", "p", "observed", NULL, NULL);
    c->series[3] = series_of(&c->curve, PV_MARK_POINTS, PV_INK_EMPIRICAL, "observed in a bin, interval", "mean_p",
                             "observed", "observed_lo", "observed_hi");
    c->bars[0] = series_of(&c->histogram, PV_MARK_BARS, PV_INK_NEGATIVE, "others", NULL, "negative", "lo", "hi");
    c->bars[1] = series_of(&c->histogram, PV_MARK_BARS, PV_INK_POSITIVE, d->label, NULL, "positive", "lo", "hi");
    return PV_OK;
}

static pv_status put_calibration(const drawing *d) {
    calibration c[2] = {0};
    pv_panel panels[4];
    size_t n = d->judged->training ? 2 : 1;
    const char *title = d->judged->rows_title ? d->judged->rows_title : "Evaluated rows";
    pv_status status = make_calibration(d, d->judged->found->ranking, title, &c[0]);
    if (status == PV_OK && n > 1)
        status = make_calibration(d, d->judged->training, "Training rows, reweighted", &c[1]);
    for (size_t i = 0; status == PV_OK && i < n; i++) {
        const pv_axis x = {.label = c[i].x, .lo = c[i].end[0], .hi = c[i].end[1], .log = d->log};
        panels[i] = (pv_panel){.title = c[i].title, .series = c[i].series, .n_series = 4, .x = x, .y = x};
        panels[i].y.label = "observed proportion";
        panels[n + i] = (pv_panel){.title = "Distribution of the predictions",
                                   .series = c[i].bars,
                                   .n_series = 2,
                                   .x = x,
                                   .y = {.label = "proportion of its label"},
                                   .height = 200};
    }
    if (status == PV_OK) {
        char text[600];
        pv__format(text, sizeof text,
                   "On the dashed line predictions are calibrated: of the people with a given probability, that "
                   "proportion is positive. %s. Bins have equal numbers of rows. The curve is a local logistic "
                   "regression. Rows are weighted to the population of the metrics.%s",
                   d->rows,
                   d->log ? " The axes are logarithmic, so a bin without positives shows only its interval." : "");
        pv_figure figure = {.name = "calibration",
                            .title = "Observed proportion against predicted probability.",
                            .text = text,
                            .panel = panels,
                            .panels = 2 * n,
                            .columns = n};
        status = put(d, &figure);
    }
    for (int i = 0; i < 2; i++) {
        pv_curve_clear(d->ctx, &c[i].curve);
        pv_curve_clear(d->ctx, &c[i].smooth);
        pv_curve_clear(d->ctx, &c[i].histogram);
    }
    return status;
}

/* ---- expected and observed errors -------------------------------------------------------------------------------- */

static pv_status put_expected(const drawing *d) {
    pv_curve curve;
    pv_status status = make(d, d->judged->found->ranking, PV_CURVE_expected, &curve);
    if (status != PV_OK)
        return status;
    const char *names[4][2] = {
        {"fpr", "fpr_expected"}, {"fnr", "fnr_expected"}, {"fp", "fp_expected"}, {"fn", "fn_expected"}};
    const char *titles[] = {"False positive rate", "False negative rate", "False positives", "False negatives"};
    pv_series series[4][3];
    pv_panel panels[4];
    for (int i = 0; i < 4; i++) {
        char lo[16], hi[16];
        pv__format(lo, sizeof lo, "%s_lo", names[i][0]);
        pv__format(hi, sizeof hi, "%s_hi", names[i][0]);
        size_t n = 0;
        if (i < 2)
            series[i][n++] = series_of(&curve, PV_MARK_BAND, PV_INK_EMPIRICAL, "interval", "threshold", NULL, lo, hi);
        series[i][n++] =
            series_of(&curve, PV_MARK_LINE, PV_INK_EMPIRICAL, "observed", "threshold", names[i][0], NULL, NULL);
        series[i][n] =
            series_of(&curve, PV_MARK_LINE, PV_INK_EXPECTED, "expected", "threshold", names[i][1], NULL, NULL);
        series[i][n++].dashed = true;
        panels[i] = (pv_panel){
            .title = titles[i],
            .series = series[i],
            .n_series = n,
            .x = {.label = "threshold on the probability", .log = d->log, .lo = 0, .hi = d->log ? 0 : 1},
            .y = {.label = i < 2 ? "rate" : "rows, weighted to the population", .lo = 0, .hi = i < 2 ? 1 : 0}};
    }
    char text[400];
    pv__format(text, sizeof text,
               "Errors expected from the probabilities at each threshold, and those observed. Where the two lines "
               "differ, the probabilities are miscalibrated. %s.",
               d->rows);
    pv_figure figure = {.name = "expected",
                        .title = "Errors expected and observed.",
                        .text = text,
                        .panel = panels,
                        .panels = 4,
                        .columns = 2};
    status = put(d, &figure);
    pv_curve_clear(d->ctx, &curve);
    return status;
}

/* ---- thresholds -------------------------------------------------------------------------------------------------- */

static pv_series point(const double *x, const double *y) {
    return (pv_series){
        .mark = PV_MARK_POINTS, .ink = PV_INK_POSITIVE, .name = "operating point", .n = 1, .x = x, .y = y, .size = 5.5};
}

static pv_status put_thresholds(const drawing *d) {
    pv_curve roc = {0}, pr = {0}, im = {0};
    const pv_ranking *ranking = d->judged->found->ranking;
    pv_status status = make(d, ranking, PV_CURVE_roc, &roc);
    if (status == PV_OK)
        status = make(d, ranking, PV_CURVE_pr, &pr);
    if (status == PV_OK)
        status = make(d, ranking, PV_CURVE_im, &im);
    if (status == PV_OK) {
        size_t half = im.points / 2;
        char at[60], text[600];
        pv__format(at, sizeof at, "at prevalence %.3g", pv_ranking_prevalence(ranking));
        pv_series first[] = {
            diagonal("chance"),
            series_of(&roc, PV_MARK_BAND, PV_INK_EMPIRICAL, "interval", "fpr", NULL, "tpr_lo", "tpr_hi"),
            series_of(&roc, PV_MARK_LINE, PV_INK_EMPIRICAL, "rows", "fpr", "tpr", NULL, NULL),
            point(&d->at->fpr, &d->at->tpr)};
        pv_series second[] = {
            series_of(&pr, PV_MARK_BAND, PV_INK_EMPIRICAL, "interval", "recall", NULL, "precision_lo", "precision_hi"),
            series_of(&pr, PV_MARK_LINE, PV_INK_EMPIRICAL, at, "recall", "precision", NULL, NULL),
            point(&d->at->tpr, &d->at->ppv)};
        pv_series third[] = {
            series_of(&im, PV_MARK_LINE, PV_INK_EMPIRICAL, at, "informedness", "markedness", NULL, NULL),
            series_of(&im, PV_MARK_LINE, PV_INK_MUTED, "at prevalence 0.5", "informedness", "markedness", NULL, NULL),
            point(&d->at->informedness, &d->at->markedness)};
        third[0].n = third[1].n = half;
        third[1].x += half * im.columns;
        third[1].y += half * im.columns;
        third[1].dashed = true;
        const pv_panel panels[] = {{.title = "ROC",
                                    .series = first,
                                    .n_series = 4,
                                    .x = {.label = "false positive rate", .lo = 0, .hi = 1},
                                    .y = {.label = "true positive rate", .lo = 0, .hi = 1}},
                                   {.title = "Precision and recall",
                                    .series = second,
                                    .n_series = 3,
                                    .x = {.label = "recall (true positive rate)", .lo = 0, .hi = 1},
                                    .y = {.label = "precision (PPV)", .lo = 0, .hi = 1}},
                                   {.title = "Informedness and markedness",
                                    .series = third,
                                    .n_series = 3,
                                    .x = {.label = "informedness (TPR + TNR - 1)"},
                                    .y = {.label = "markedness (PPV + NPV - 1)"}}};
        pv__format(text, sizeof text,
                   "Each point is a threshold. The operating point is a threshold of %.4g, where the explorer starts; "
                   "its PPV and markedness are for the explorer's population. %s.",
                   d->at->threshold, d->rows);
        pv_figure figure = {.name = "thresholds",
                            .title = "Performance at each threshold.",
                            .text = text,
                            .panel = panels,
                            .panels = 3};
        status = put(d, &figure);
    }
    pv_curve_clear(d->ctx, &roc);
    pv_curve_clear(d->ctx, &pr);
    pv_curve_clear(d->ctx, &im);
    return status;
}

/* ---- histogram and decision curve -------------------------------------------------------------------------------- */

static pv_status put_histogram(const drawing *d) {
    pv_curve bins;
    pv_status status = pv_ranking_histogram(d->ctx, d->judged->found->ranking, BINS, d->log, &bins);
    if (status != PV_OK)
        return status;
    const pv_series series[] = {
        series_of(&bins, PV_MARK_BARS, PV_INK_NEGATIVE, "others", NULL, "negative", "lo", "hi"),
        series_of(&bins, PV_MARK_BARS, PV_INK_POSITIVE, d->label, NULL, "positive", "lo", "hi")};
    char x[160], text[300];
    pv__format(x, sizeof x, "predicted probability of %.60s", d->label);
    pv__format(text, sizeof text,
               "Each label's rows sum to 1. The less the two overlap, the better the model separates them. %s.",
               d->rows);
    const pv_panel panel = {
        .series = series,
        .n_series = 2,
        .x = {.label = x, .log = d->log},
        .y = {.label = "proportion of the label's rows"},
    };
    pv_figure figure = {.name = "histogram",
                        .title = "Predicted probability by true label.",
                        .text = text,
                        .panel = &panel,
                        .panels = 1};
    status = put(d, &figure);
    pv_curve_clear(d->ctx, &bins);
    return status;
}

static pv_status put_decision(const drawing *d) {
    pv_curve curve;
    pv_status status = make(d, d->judged->found->ranking, PV_CURVE_net_benefit, &curve);
    if (status != PV_OK)
        return status;
    pv_series series[] = {
        series_of(&curve, PV_MARK_BAND, PV_INK_EMPIRICAL, "interval", "threshold", NULL, "net_benefit_lo",
                  "net_benefit_hi"),
        series_of(&curve, PV_MARK_LINE, PV_INK_EMPIRICAL, "by the model", "threshold", "net_benefit", NULL, NULL),
        series_of(&curve, PV_MARK_LINE, PV_INK_POSITIVE, "call everyone", "threshold", "treat_all", NULL, NULL),
        series_of(&curve, PV_MARK_LINE, PV_INK_NEGATIVE, "call no one", "threshold", "treat_none", NULL, NULL)};
    series[2].dashed = series[3].dashed = true;
    double most = 0;
    for (size_t i = 0; i < curve.points; i++) {
        double high = column(&curve, "net_benefit_hi")[i * curve.columns];
        most = fmax(most, isfinite(high) ? high : 0);
    }
    most = most > 0 ? most : 1;
    char text[500];
    pv__format(text, sizeof text,
               "True positives per person, less false positives times the odds of the threshold. The model is useful "
               "at the thresholds where its line is the highest. At prevalence %.3g. %s.",
               pv_ranking_prevalence(d->judged->found->ranking), d->rows);
    const pv_panel panel = {
        .series = series,
        .n_series = 4,
        .x = {.label = "threshold on the probability", .log = d->log},
        .y = {.label = "net benefit per person", .lo = -0.25 * most, .hi = 1.08 * most},
    };
    pv_figure figure = {
        .name = "decision", .title = "Net benefit at each threshold.", .text = text, .panel = &panel, .panels = 1};
    status = put(d, &figure);
    pv_curve_clear(d->ctx, &curve);
    return status;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

pv_status pv__report_curves(pv_ctx *ctx, pv_report *report, const pv_report_judged *judged, const pv_operating *at) {
    drawing d = {.ctx = ctx, .report = report, .judged = judged, .at = at};
    const pv_ranking *ranking = judged->found->ranking;
    pv_ranking_rows(ranking, &d.rows_p, &d.rows_n);
    char name[400];
    pv_report_label(judged, judged->positive, name, sizeof name);
    pv_text_short(name, 30, d.label, sizeof d.label);
    pv__format(d.rows, sizeof d.rows, "n = %s rows, %s of them with %.90s", pv_group_digits(d.rows_p + d.rows_n).text,
               pv_group_digits(d.rows_p).text, d.label);
    bool both = d.rows_p > 0 && d.rows_n > 0;
    d.log = both && pv_ranking_prevalence(ranking) < SMALL_PREVALENCE;
    static const char lacking[] =
        "These rows have only one label, so that rates of the other label and all curves are undefined.";
    pv_report_section(report, "calibration", "Calibration");
    pv_status status = put_calibration(&d);
    pv_report_section(report, "errors", "Expected and observed errors");
    if (!both)
        pv_report_note(report, PV_NOTE_MISSING, lacking);
    if (status == PV_OK && both)
        status = put_expected(&d);
    pv_report_section(report, "curves", "ROC, precision and recall, informedness and markedness");
    if (!both)
        pv_report_note(report, PV_NOTE_MISSING, lacking);
    if (status == PV_OK && both)
        status = put_thresholds(&d);
    pv_report_section(report, "probabilities", "Predicted probabilities");
    if (status == PV_OK)
        status = put_histogram(&d);
    pv_report_section(report, "decisions", "Decision curve");
    if (!both)
        pv_report_note(report, PV_NOTE_MISSING, lacking);
    if (status == PV_OK && both)
        status = put_decision(&d);
    return status;
}
