/* Evaluated predictions in a report: a summary in three sentences, the metrics, the explorer, the charts. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "validate/validate.h"

const char *pv_report_label(const pv_report_judged *j, int label, char *to, size_t size) {
    const char *text = j->labels[label];
    char value[160], target[160];
    bool number = strchr("0123456789.+-", text[0]) != NULL; /* also true for the empty text */
    pv_text_short(text, 30, value, sizeof value);
    pv_text_short(j->target ? j->target : "label", 24, target, sizeof target);
    pv__format(to, size, "%s%s%s", number ? target : "", number ? " = " : "", value);
    return to;
}

/* Adds a paragraph. */
PV_PRINTF(2, 3) static void say(pv_report *report, const char *format, ...) {
    char text[1500]; /* long enough, because labels were shortened */
    va_list values;
    va_start(values, format);
    pv__vformat(text, sizeof text, format, values);
    va_end(values);
    pv_report_paragraph(report, text);
}

/* ---- the explorer ------------------------------------------------------------------------------------------------ */

static double two_digits(double value) {
    double unit = pow(10, floor(log10(value)) - 1);
    return round(value / unit) * unit;
}

typedef struct names {
    char positive[400], negative[400];
} names;

/* The explorer starts in the population for which metrics are reported, if there is one, else in that of the
 * predictions, with costs that call rows above its average risk positive, unless a threshold was requested. */
static void make_explorer(const pv_report_judged *j, names *to, pv_explorer *e) {
    double pi = j->advice && j->population ? j->population[j->positive] : j->stated[j->positive];
    pi = fmin(fmax(pi, 1e-6), 1 - 1e-6);
    double ratio = isnan(j->threshold) ? two_digits((1 - pi) / pi) : (1 - j->threshold) / j->threshold;
    *e = (pv_explorer){.ranking = j->found->ranking,
                       .offset = j->offset,
                       .prevalence = pi,
                       .caveat = j->caveat        ? j->caveat
                                 : j->classes > 2 ? "The other labels keep their relative proportions."
                                                  : NULL,
                       .cost_fp = 1,
                       .cost_fn = ratio,
                       .positive = pv_report_label(j, j->positive, to->positive, sizeof to->positive)};
    if (j->classes == 2)
        e->negative = pv_report_label(j, 1 - j->positive, to->negative, sizeof to->negative);
}

/* ---- summary ----------------------------------------------------------------------------------------------------- */

/* One sentence or two; nothing where the rows are not of the population of the predictions. */
static void say_verdict(pv_report *report, const pv_report_judged *j) {
    char verdict[PV_VERDICT_SIZE];
    double observed = j->observed[j->positive], stated = j->stated[j->positive];
    pv_verdict(j->found, j->classes, j->rows, fabs(observed - stated) < 1e-12 ? observed : 0, verdict, sizeof verdict);
    if (*verdict && !j->advice)
        pv_report_paragraph(report, verdict);
}

static void say_ranking(pv_report *report, const pv_report_judged *j, const char *label) {
    const pv_metrics *v = &j->found->value, *lo = &j->found->lo, *hi = &j->found->hi;
    const pv_grouped grouped = pv_group_digits((double)j->rows);
    const char *rows = grouped.text;
    if (isnan(v->auc))
        say(report, "The AUC is undefined: all %s rows have the same label.", rows);
    else if (isnan(lo->auc))
        say(report, "The AUC is %.3f, on %s rows.", v->auc, rows);
    else
        say(report, "The AUC is %.3f (%.4g %% interval %.3f to %.3f), on %s rows, %.4g %% of them with %s.", v->auc,
            100 * j->level, lo->auc, hi->auc, rows, 100 * j->observed[j->positive], label);
}

static void say_decision(pv_report *report, const pv_report_judged *j, const pv_explorer *e, const pv_operating *o,
                         const char *label) {
    if (isnan(o->tpr) || isnan(o->fpr)) {
        say(report, "The performance of a decision cannot be evaluated without rows of both labels.");
        return;
    }
    const pv_grouped called = pv_group_digits(o->tp + o->fp), missed = pv_group_digits(o->fn);
    say(report,
        "In a population where %.3g %% have %s, a threshold of %.3g detects %.1f %% of them. Of 100,000 people, %s are "
        "called positive (%.3g %% of them correctly), and %s are missed.",
        100 * e->prevalence, label, o->threshold, 100 * o->tpr, called.text, isnan(o->ppv) ? 0 : 100 * o->ppv,
        missed.text);
    (void)j;
}

/* At a threshold above all probabilities, the expected and observed false negatives are all positives. */
static pv_status say_calibration(pv_ctx *ctx, pv_report *report, const pv_report_judged *j, const char *label) {
    pv_curve_options options = pv_curve_options_default();
    options.points = 2;
    pv_curve curve;
    pv_status status = pv_curve_make(ctx, j->found->ranking, PV_CURVE_expected, &options, &curve);
    if (status != PV_OK)
        return status;
    double promised = NAN, seen = NAN;
    for (size_t c = 0; c < curve.columns; c++) {
        if (strcmp(curve.column[c], "fn_expected") == 0)
            promised = curve.value[c];
        if (strcmp(curve.column[c], "fn") == 0)
            seen = curve.value[c];
    }
    pv_curve_clear(ctx, &curve);
    double ratio = promised / seen, ece = j->found->value.ece;
    if (!(seen > 0))
        say(report, "Calibration cannot be evaluated: no row has %s.", label);
    else
        say(report,
            "The probabilities predict %.3g times as many people with %s as were observed (1 is right). The expected "
            "calibration error is %.3g.",
            ratio, label, ece);
    return PV_OK;
}

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

enum { METRICS_MOST = 32, METRIC_COLUMNS = 5 };

/* A row of the table: the name, with a star if the metric depends on the prevalence, and three numbers. */
typedef struct metric_texts {
    char name[40], number[3][48];
} metric_texts;

static void put_metrics(pv_report *report, const pv_report_judged *j) {
    const char *cell[METRICS_MOST * METRIC_COLUMNS], *described[METRICS_MOST * 2];
    metric_texts texts[METRICS_MOST];
    const pv_metrics *const part[] = {&j->found->value, &j->found->lo, &j->found->hi};
    size_t rows = 0, all = 0;
    for (const pv_metric_row *row = pv_metric_table; row->name && all < METRICS_MOST; row++) {
        described[2 * all] = row->name;
        described[2 * all++ + 1] = row->text;
        if (j->classes < row->least)
            continue;
        metric_texts *to = &texts[rows];
        const char **at = &cell[METRIC_COLUMNS * rows++];
        pv__format(to->name, sizeof to->name, "%s%s", row->name, pv_metric_depends(row, j->classes) ? "*" : "");
        at[0] = to->name;
        for (int i = 0; i < 3; i++)
            at[1 + i] = pv_text_number(pv_metric_get(part[i], row), to->number[i], sizeof to->number[i]);
        at[4] = row->text;
    }
    static const char *const heads[] = {"metric", "value", "from", "to", "meaning"};
    char caption[160];
    if (j->found->replicates > 0)
        pv__format(caption, sizeof caption, "Metrics with %.4g %% intervals from %s bootstrap replicates %s",
                   100 * j->level, pv_group_digits((double)j->found->replicates).text, j->found->drawn);
    else
        pv__format(caption, sizeof caption, "Metrics, without intervals");
    const pv_report_table found = {
        .caption = caption, .rows = rows, .columns = METRIC_COLUMNS, .head = heads, .cell = cell, .text = 1U | 1U << 4};
    pv_report_put_table(report, &found);
    const pv_report_table what = {
        /* shown below the table if a column is too narrow */
        .caption = "What each metric means", .rows = all, .columns = 2, .cell = described, .text = 3, .folded = true};
    pv_report_put_table(report, &what);
    char label[400];
    pv_report_label(j, j->positive, label, sizeof label);
    say(report,
        "* depends on the prevalence, here %.4g (%.4g in the rows). A dash means that the metric is undefined on these "
        "rows. Positive means %s. Decisions in this table are the most probable label; those of the explorer follow "
        "from costs.",
        j->stated[j->positive], j->observed[j->positive], label);
}

/* The same metrics by stratum. */
static pv_status put_strata(pv_ctx *ctx, pv_report *report, const pv_judgement *j) {
    enum { COLUMNS = 12, DIGITS = 48 };
    static const char *const heads[COLUMNS] = {"stratum",     "rows", "proportion",        "in the rows",
                                               "metrics for", "E/O",  "calibration slope", "AUC",
                                               "from",        "to",   "log-loss",          "Brier score"};
    size_t n = (size_t)j->strata;
    char *text = NULL;
    const char **cell = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, n * COLUMNS, DIGITS, &text));
    PV_GOTO(done, pv__alloc(ctx, n * COLUMNS, sizeof *cell, &cell));
    for (size_t s = 0; s < n; s++) {
        const pv_judged_stratum *of = &j->stratum[s];
        const double numbers[COLUMNS] = {0,
                                         (double)of->rows,
                                         of->share,
                                         of->rows ? of->observed[j->positive] : (double)NAN,
                                         of->rows ? of->stated[j->positive] : (double)NAN,
                                         of->value.calibration_ratio,
                                         of->value.calibration_slope,
                                         of->value.auc,
                                         of->lo.auc,
                                         of->hi.auc,
                                         of->value.log_loss,
                                         of->value.brier};
        cell[s * COLUMNS] = of->name;
        for (size_t c = 1; c < COLUMNS; c++)
            cell[s * COLUMNS + c] = pv_text_number(numbers[c], text + (s * COLUMNS + c) * DIGITS, DIGITS);
    }
    const pv_report_table table = {.caption = "Each stratum's rows, evaluated separately",
                                   .rows = n,
                                   .columns = COLUMNS,
                                   .head = heads,
                                   .cell = cell,
                                   .text = 1};
    pv_report_put_table(report, &table);
done:
    pv__free(ctx, cell);
    pv__free(ctx, text);
    return status;
}

/* ---- together ---------------------------------------------------------------------------------------------------- */

pv_status pv_report_put_judged(pv_ctx *ctx, pv_report *report, const pv_report_judged *j) {
    pv_explorer explorer;
    names called;
    char label[400];
    make_explorer(j, &called, &explorer);
    pv_operating at = pv_explorer_at(&explorer);
    pv_report_label(j, j->positive, label, sizeof label);
    pv_report_section(report, "answer", "The answer");
    say_verdict(report, j);
    say_ranking(report, j, label);
    say_decision(report, j, &explorer, &at, label);
    pv_status status = say_calibration(ctx, report, j, label);
    if (j->advice)
        pv_report_note(report, PV_NOTE_WARNING, j->advice);
    pv_report_section(report, "metrics", "Metrics");
    put_metrics(report, j);
    if (status == PV_OK && j->judgement && j->judgement->strata)
        status = put_strata(ctx, report, j->judgement);
    pv_report_section(report, "explorer", "Population explorer");
    if (at.tpr == at.tpr && at.fpr == at.fpr)
        say(report,
            "What happens in another population, or with other costs? The explorer starts at a prevalence of %.4g%s.",
            explorer.prevalence,
            isnan(j->threshold) ? ", with costs for which everyone above the average risk is called positive" : "");
    if (status == PV_OK)
        status = pv_report_put_explorer(ctx, report, &explorer);
    if (status == PV_OK)
        status = pv__report_curves(ctx, report, j, &at);
    return status;
}

pv_report_judged pv_report_judged_of(const pv_judgement *j, double level) {
    enum { BINS = 10 };
    return (pv_report_judged){.labels = j->labels,
                              .classes = j->classes,
                              .positive = j->positive,
                              .rows = j->rows,
                              .observed = j->observed,
                              .stated = j->stated,
                              .population = j->prevalence,
                              .found = &j->found,
                              .level = level,
                              .bins = BINS,
                              .offset = j->offset,
                              .threshold = (double)NAN,
                              .judgement = j};
}

pv_status pv_judgement_report(pv_ctx *ctx, const pv_judgement *j, const char *target, double level,
                              const pv_report_options *options) {
    pv_report_judged judged = pv_report_judged_of(j, level);
    pv_report *report;
    judged.target = target;
    PV_TRY(pv_report_new(ctx, options, &report));
    pv_status status = pv_report_put_judged(ctx, report, &judged);
    if (status == PV_OK)
        status = pv_report_finish(ctx, report);
    pv_report_free(ctx, report);
    return status;
}
