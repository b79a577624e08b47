/* Judged predictions in a report: the answer in three sentences, the metrics, the explorer, the charts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_sections.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/report.h"

const char *report_label(const report_judged *j, int label, char *to, size_t size) {
    const char *text = j->labels[label];
    char value[160], target[160];
    bool number = strchr("0123456789.+-", text[0]) != NULL; /* the empty text as well */
    pv_text_short(text, 30, value, sizeof value);
    pv_text_short(j->target ? j->target : "label", 24, target, sizeof target);
    snprintf(to, size, "%s%s%s", number ? target : "", number ? " = " : "", value);
    return to;
}

/* ---- the explorer ------------------------------------------------------------------------------------------------ */

static double two_digits(double value) {
    double unit = pow(10, floor(log10(value)) - 1);
    return round(value / unit) * unit;
}

/* It starts in the population that the metrics are stated for, where this is said, else in that of the predictions;
 * with costs that call those above its average risk, unless a threshold was asked for. */
void report_explorer(const report_judged *j, report_names *names, pv_explorer *e) {
    double pi = j->advice && j->population ? j->population[j->positive] : j->stated[j->positive];
    pi = fmin(fmax(pi, 1e-6), 1 - 1e-6);
    double ratio = isnan(j->threshold) ? two_digits((1 - pi) / pi) : (1 - j->threshold) / j->threshold;
    *e = (pv_explorer){.ranking = j->found->ranking,
                       .offset = j->offset,
                       .prevalence = pi,
                       .caveat = j->caveat        ? j->caveat
                                 : j->classes > 2 ? "The other labels keep their mix."
                                                  : NULL,
                       .cost_fp = 1,
                       .cost_fn = ratio,
                       .positive = report_label(j, j->positive, names->positive, sizeof names->positive)};
    if (j->classes == 2)
        e->negative = report_label(j, 1 - j->positive, names->negative, sizeof names->negative);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static void say_ranking(pv_report *report, const report_judged *j, const char *label) {
    const pv_metrics *v = &j->found->value, *lo = &j->found->lo, *hi = &j->found->hi;
    char rows[32];
    pv_text_number((double)j->rows, rows, sizeof rows);
    if (isnan(v->auc))
        report_say(report,
                   "How well the probabilities rank cannot be said: the %s rows judged have one label only, so there "
                   "is nothing "
                   "to rank.",
                   rows);
    else if (isnan(lo->auc))
        report_say(
            report,
            "The probabilities rank rows of different labels rightly with probability %.3f (AUC), judged on %s rows.",
            v->auc, rows);
    else
        report_say(report,
                   "The probabilities rank rows of different labels rightly with probability %.3f (AUC; %.4g %% "
                   "interval %.3f to "
                   "%.3f), judged on %s rows, %.4g %% of them with %s.",
                   v->auc, 100 * j->level, lo->auc, hi->auc, rows, 100 * j->observed[j->positive], label);
}

static void say_decision(pv_report *report, const report_judged *j, const pv_explorer *e, const pv_operating *o,
                         const char *label) {
    if (isnan(o->tpr) || isnan(o->fpr)) {
        report_say(report, "What a decision finds and what it costs cannot be said without rows of both labels.");
        return;
    }
    char called[32], missed[32];
    pv_text_number(round(o->tp + o->fp), called, sizeof called);
    pv_text_number(round(o->fn), missed, sizeof missed);
    report_say(report,
               "In a population where %.3g %% have %s, calling everyone with a probability of at least %.3g finds %.1f "
               "%% of them; "
               "of 100,000 people %s are called, %.3g %% of these rightly, and %s are missed.",
               100 * e->prevalence, label, o->threshold, 100 * o->tpr, called, isnan(o->ppv) ? 0 : 100 * o->ppv,
               missed);
    (void)j;
}

/* At a threshold above all, the expected and the observed false negatives are all positives. */
static pv_status say_calibration(cli_call *call, pv_report *report, const report_judged *j, const char *label) {
    pv_curve_options options = pv_curve_options_default();
    options.points = 2;
    pv_curve curve;
    pv_status status = pv_curve_make(call->ctx, j->found->ranking, PV_CURVE_expected, &options, &curve);
    if (status != PV_OK)
        return status;
    double promised = NAN, seen = NAN;
    for (size_t c = 0; c < curve.columns; c++) {
        if (strcmp(curve.column[c], "fn_expected") == 0)
            promised = curve.value[c];
        if (strcmp(curve.column[c], "fn") == 0)
            seen = curve.value[c];
    }
    pv_curve_clear(call->ctx, &curve);
    double ratio = promised / seen, ece = j->found->value.ece;
    if (!(seen > 0))
        report_say(report, "Whether the probabilities are of the right size cannot be said: no row judged has %s.",
                   label);
    else
        report_say(
            report,
            "Summed over the rows, the probabilities promise %.3g times as many with %s as there are (1 is right); "
            "the expected "
            "calibration error is %.3g.",
            ratio, label, ece);
    return PV_OK;
}

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

static void put_metrics(pv_report *report, const report_judged *j) {
    report_cells cells = {0};
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        if (j->classes < row->least)
            continue;
        report_cell_format(&cells, "%s%s", row->name, pv_metric_depends(row, j->classes) ? "*" : "");
        report_cell_number(&cells, pv_metric_get(&j->found->value, row));
        report_cell_number(&cells, pv_metric_get(&j->found->lo, row));
        report_cell_number(&cells, pv_metric_get(&j->found->hi, row));
        report_cell(&cells, row->text);
    }
    static const char *const heads[] = {"metric", "value", "from", "to", "what it is"};
    char caption[160];
    if (j->found->replicates > 0)
        snprintf(caption, sizeof caption, "Metrics with %.4g %% intervals from %lld bootstrap replicates within labels",
                 100 * j->level, (long long)j->found->replicates);
    else
        snprintf(caption, sizeof caption, "Metrics, without intervals");
    report_put_cells(report, &cells, caption, "tnnnt", heads, false);
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        report_cell(&cells, row->name);
        report_cell(&cells, row->text);
    }
    report_put_cells(report, &cells, "What each metric is", "tt", NULL, true); /* where the column above has no room */
    char label[400];
    report_label(j, j->positive, label, sizeof label);
    report_say(report,
               "* changes with the prevalence, and is stated for one of %.4g (the rows have %.4g). A dash: undefined "
               "on these rows. "
               "Positive is %s. Decisions in this table are for the most probable label, those of the "
               "explorer by costs.",
               j->stated[j->positive], j->observed[j->positive], label);
}

/* The same metrics, stratum by stratum. */
static void put_strata(pv_report *report, const pv_judgement *j) {
    static const char *const heads[] = {
        "stratum",           "rows", "share", "in the rows", "stated for", "E/O",
        "calibration slope", "AUC",  "from",  "to",          "log-loss",   "Brier score"};
    report_cells cells = {0};
    for (int s = 0; s < j->strata; s++) {
        const pv_judged_stratum *of = &j->stratum[s];
        report_cell(&cells, of->name);
        report_cell_number(&cells, (double)of->rows);
        report_cell_number(&cells, of->share);
        report_cell_number(&cells, of->rows ? of->observed[j->positive] : NAN);
        report_cell_number(&cells, of->rows ? of->stated[j->positive] : NAN);
        const double numbers[] = {of->value.calibration_ratio,
                                  of->value.calibration_slope,
                                  of->value.auc,
                                  of->lo.auc,
                                  of->hi.auc,
                                  of->value.nell,
                                  of->value.brier};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            report_cell_number(&cells, numbers[i]);
    }
    report_put_cells(report, &cells, "Each stratum's rows, judged on their own", "tnnnnnnnnnnn", heads, false);
}

/* ---- together ---------------------------------------------------------------------------------------------------- */

int report_put_judged(cli_call *call, pv_report *report, const report_judged *j) {
    pv_explorer explorer;
    report_names names;
    char label[400];
    report_explorer(j, &names, &explorer);
    pv_operating at = pv_explorer_at(&explorer);
    report_label(j, j->positive, label, sizeof label);
    pv_report_section(report, "answer", "The answer");
    say_ranking(report, j, label);
    say_decision(report, j, &explorer, &at, label);
    pv_status status = say_calibration(call, report, j, label);
    if (j->advice)
        pv_report_note(report, PV_NOTE_WARNING, j->advice);
    pv_report_section(report, "metrics", "Metrics");
    put_metrics(report, j);
    if (j->judgement && j->judgement->strata)
        put_strata(report, j->judgement);
    pv_report_section(report, "explorer", "Population explorer");
    if (at.tpr == at.tpr && at.fpr == at.fpr)
        report_say(report,
                   "What happens in another population, or with other costs? It starts at a prevalence of %.4g%s.",
                   explorer.prevalence,
                   isnan(j->threshold) ? ", with costs that call those whose risk is above the average" : "");
    if (status == PV_OK)
        status = pv_report_put_explorer(call->ctx, report, &explorer);
    if (status == PV_OK)
        status = report_put_curves(call, report, j, &at);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}
