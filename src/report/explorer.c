/* The population explorer: computes results for any prevalence and costs from one table of rates.
 *
 *   t = c_fp / (c_fp + c_fn);  a row is called positive if  log odds - offset + logit(pi) >= logit(t)
 *   per person: tp = pi tpr, fp = (1-pi) fpr, and so on; cost = c_fp fp + c_fn fn; net benefit = tp - fp c_fp/c_fn
 *
 * The page contains the whole table if it has at most LADDER thresholds; otherwise that many, spread evenly over both
 * labels, plus those shown at the start. Rates are exact at each, and the page shows which threshold was used.
 */
#include <math.h>
#include <string.h>

#include "assess/curves.h"
#include "report/page.h"

enum { LADDER = 8192, DRAWN = 700 };
static const double PEOPLE = 100000;

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* The smallest log odds, on the ranking's scale, that are called positive. */
static double least_log_odds(const pv_explorer *e, double threshold) {
    double shift = isnan(e->offset) ? 0 : e->offset - pv_logit(e->prevalence);
    return pv_logit(threshold) + shift;
}

static size_t point_at(const pv_explorer *e, double threshold) {
    return pv__point_at_odds(e->ranking, least_log_odds(e, threshold));
}

static double share(double part, double whole) {
    return whole > 0 ? part / whole : NAN;
}

pv_operating pv_explorer_at(const pv_explorer *e) {
    pv_operating o = {.threshold = e->cost_fp / (e->cost_fp + e->cost_fn)};
    pv__rates at = pv__rates_at(e->ranking, point_at(e, o.threshold));
    double pi = e->prevalence;
    o.tpr = at.tpr;
    o.fpr = at.fpr;
    o.tp = PEOPLE * pi * at.tpr;
    o.fn = PEOPLE * pi * (1 - at.tpr);
    o.fp = PEOPLE * (1 - pi) * at.fpr;
    o.tn = PEOPLE * (1 - pi) * (1 - at.fpr);
    o.ppv = share(o.tp, o.tp + o.fp);
    o.npv = share(o.tn, o.tn + o.fn);
    o.informedness = at.tpr - at.fpr;
    o.markedness = o.ppv + o.npv - 1;
    o.cost = e->cost_fp * o.fp + e->cost_fn * o.fn;
    o.net_benefit = o.tp - o.fp * e->cost_fp / e->cost_fn;
    return o;
}

/* ---- the ladder -------------------------------------------------------------------------------------------------- */

typedef struct ladder {
    size_t *point, count;
    bool exact;
} ladder;

/* Inserts a point into the sorted list, which must have space. */
static void insert(ladder *l, size_t point) {
    size_t at = 0;
    while (at < l->count && l->point[at] < point)
        at++;
    if (point == SIZE_MAX || (at < l->count && l->point[at] == point))
        return;
    memmove(l->point + at + 1, l->point + at, (l->count - at) * sizeof *l->point);
    l->point[at] = point;
    l->count++;
}

static pv_status make_ladder(pv_ctx *ctx, const pv_explorer *e, ladder *l) {
    PV_TRY(pv__pick_points(ctx, e->ranking, LADDER, &l->point, &l->count));
    l->exact = e->ranking->points <= LADDER;
    if (l->exact)
        return PV_OK;
    pv_status status = pv__resize(ctx, l->count + 2, sizeof *l->point, &l->point);
    if (status != PV_OK) {
        pv__free(ctx, l->point);
        l->point = NULL;
        return status;
    }
    insert(l, point_at(e, e->cost_fp / (e->cost_fp + e->cost_fn)));
    insert(l, point_at(e, 0.5));
    return PV_OK;
}

static void put_number(FILE *out, double value) {
    char text[32];
    if (isfinite(value)) {
        pv_format_double(value, text, sizeof text);
        fputs(text, out);
    } else {
        fputs(isnan(value) ? "null"
              : value > 0  ? "1e999"
                           : "-1e999",
              out); /* JSON has no infinity; parsers read this number as infinity */
    }
}

static void put_array(FILE *out, const char *name, const double *value, const ladder *l) {
    pv__print(out, ",\n\"%s\":[", name);
    for (size_t i = 0; i < l->count; i++) {
        fputs(i ? "," : "", out);
        put_number(out, value[l->point[i]]);
    }
    fputc(']', out);
}

static void put_field(FILE *out, const char *name, double value) {
    pv__print(out, ",\n\"%s\":", name);
    put_number(out, value);
}

static void put_data(FILE *out, const pv_explorer *e, const ladder *l) {
    const pv_ranking *r = e->ranking;
    char positive[300], negative[300];
    pv__shorten(e->positive, 40, positive, sizeof positive);
    pv__shorten(e->negative ? e->negative : "all others", 40, negative, sizeof negative);
    pv__print(out, "<script type=\"application/json\" id=\"explorer-data\">{\"exact\":%s,\n\"positive\":",
              l->exact ? "true" : "false");
    pv__put_json(out, positive);
    fputs(",\n\"negative\":", out);
    pv__put_json(out, negative);
    put_field(out, "offset", e->offset);
    put_field(out, "prevalence", e->prevalence);
    put_field(out, "cost_fp", e->cost_fp);
    put_field(out, "cost_fn", e->cost_fn);
    put_array(out, "log_odds", r->log_odds, l);
    put_array(out, "tp", r->tp, l);
    put_array(out, "fp", r->fp, l);
    put_field(out, "all_p", r->tp[r->points - 1]);
    put_field(out, "all_n", r->fp[r->points - 1]);
    fputs("}</script>\n", out);
}

/* ---- initial view ------------------------------------------------------------------------------------------------ */

typedef struct control {
    const char *id, *label, *hint;
    double lo, hi; /* range of the slider: logarithms, or log odds for the threshold */
    const char *least, *greatest;
} control;

static void put_control(FILE *out, const control *c) {
    pv__print(
        out,
        "<div class=\"control\"><label for=\"ex-%s\">%s</label><input type=\"number\" id=\"ex-%s\" step=\"any\" "
        "min=\"%s\" max=\"%s\" aria-describedby=\"ex-%s-hint\"><input type=\"range\" id=\"ex-%s-range\" min=\"%g\" "
        "max=\"%g\" step=\"0.01\" aria-label=\"%s, slider\"><span class=\"hint\" id=\"ex-%s-hint\">%s</span></div>\n",
        c->id, c->label, c->id, c->least, c->greatest, c->id, c->id, c->lo, c->hi, c->label, c->id, c->hint);
}

static void put_controls(FILE *out, const pv_explorer *e) {
    static const control controls[] = {
        {"pi", "Prevalence", "proportion of people: 0.01 is 1 %", -5, -0.01, "0.000001", "0.999999"},
        {"fp", "False positive costs", "in any unit", -2, 4, "0.000001", "1000000000"},
        {"fn", "False negative costs", "in the same unit", -2, 4, "0.000001", "1000000000"},
        {"t", "Threshold", "least probability called positive", -13.8, 13.8, "0.000001", "0.999999"}};
    fputs("<form id=\"explorer-controls\" hidden autocomplete=\"off\">\n", out);
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
        put_control(out, &controls[i]);
    fputs("<div class=\"control wide\"><label class=\"check\"><input type=\"checkbox\" id=\"ex-lock\" checked> The "
          "threshold "
          "follows the costs</label> <button type=\"button\" id=\"ex-copy\">Copy the numbers</button> "
          "<button type=\"button\" id=\"ex-reset\">Start again</button> <span id=\"ex-copied\" "
          "role=\"status\"></span></div>\n"
          "</form>\n",
          out);
    if (isnan(e->offset))
        fputs("<p class=\"small\">The prevalence that these probabilities were made for is not known, so they are not "
              "adjusted; only the population changes. State it with eval --from P.</p>\n",
              out);
    fputs("<p class=\"small\" id=\"ex-still\">Without JavaScript the numbers are for one prevalence and one pair of "
          "costs.</p>\n",
          out);
}

static void put_value(FILE *out, const char *id, double value) {
    char text[48];
    pv__number_text(value, text, sizeof text);
    pv__print(out, "<td id=\"ex-%s\">%s</td>", id, text);
}

static void put_people(FILE *out, const char *id, double count) {
    if (isnan(count))
        put_value(out, id, count);
    else
        pv__print(out, "<td id=\"ex-%s\">%s</td>", id, pv_group_digits(count).text);
}

static void put_confusion(FILE *out, const pv_operating *o, const char *positive, const char *negative) {
    fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Confusion table\"><table "
          "id=\"ex-confusion\">"
          "<caption>Of 100,000 people</caption>\n<thead><tr><th scope=\"col\" class=\"name\">truly</th><th "
          "scope=\"col\">called positive</th><th scope=\"col\">not called</th><th "
          "scope=\"col\">all</th></tr></thead>\n<tbody>"
          "<tr><th scope=\"row\">",
          out);
    pv__put_html(out, positive);
    fputs("</th>", out);
    put_people(out, "tp", o->tp);
    put_people(out, "fn-count", o->fn);
    put_people(out, "p", o->tp + o->fn);
    fputs("</tr>\n<tr><th scope=\"row\">", out);
    pv__put_html(out, negative);
    fputs("</th>", out);
    put_people(out, "fp-count", o->fp);
    put_people(out, "tn", o->tn);
    put_people(out, "n", o->fp + o->tn);
    fputs("</tr>\n<tr><th scope=\"row\">all</th>", out);
    put_people(out, "called", o->tp + o->fp);
    put_people(out, "spared", o->fn + o->tn);
    fputs("<td>100,000</td></tr></tbody></table></div>\n", out);
}

static void put_values(FILE *out, const pv_operating *o) {
    const struct {
        const char *id, *name;
        double value;
    } rows[] = {{"ppv", "PPV: of those called positive, the proportion who are", o->ppv},
                {"npv", "NPV: of those called negative, the proportion who are", o->npv},
                {"tpr", "Sensitivity (TPR)", o->tpr},
                {"tnr", "Specificity (TNR)", 1 - o->fpr},
                {"informedness", "Informedness", o->informedness},
                {"markedness", "Markedness", o->markedness},
                {"cost", "Expected cost per 100,000 people", o->cost},
                {"benefit", "Net benefit, in true positives per 100,000 people", o->net_benefit},
                {"used", "Threshold in use", o->threshold}};
    fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Values\"><table "
          "id=\"ex-values\"><caption>What "
          "that means</caption><tbody>\n",
          out);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pv__print(out, "<tr><th scope=\"row\">%s</th>", rows[i].name);
        bool many = fabs(rows[i].value) >= 100; /* no fractions of people */
        (many ? put_people : put_value)(out, rows[i].id, rows[i].value);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

/* ---- the two charts ---------------------------------------------------------------------------------------------- */

/* fpr, tpr, informedness and markedness at no more than DRAWN points, preceded by the start of the ROC curve. */
static void trace(const pv_explorer *e, const ladder *l, double *to, size_t *count) {
    size_t step = 1 + l->count / DRAWN;
    *count = 0;
    for (size_t i = 0; i <= l->count; i += i + step > l->count && i < l->count ? l->count - i : step) {
        pv__rates at = pv__rates_at(e->ranking, i == 0 ? SIZE_MAX : l->point[i - 1]);
        double *row = to + 4 * (*count)++;
        row[0] = at.fpr;
        row[1] = at.tpr;
        row[2] = at.tpr - at.fpr;
        row[3] = pv__ppv(e->prevalence, at) + pv__npv(e->prevalence, at) - 1;
    }
}

static pv_status put_charts(pv_ctx *ctx, pv_report *report, const pv_explorer *e, const pv_operating *o,
                            const ladder *l) {
    static const double ends[] = {0, 1};
    double *rows, least = 0;
    size_t n;
    PV_TRY(pv__alloc(ctx, 4 * (DRAWN + 4) + 4, sizeof *rows, &rows));
    trace(e, l, rows, &n);
    for (size_t i = 0; i < n; i++)
        least = fmin(least, fmin(rows[4 * i + 2], isnan(rows[4 * i + 3]) ? 0 : rows[4 * i + 3]));
    const pv_series roc[] = {
        {.mark = PV_MARK_LINE, .ink = PV_INK_MUTED, .n = 2, .x = ends, .y = ends, .dashed = true, .size = 1},
        {.mark = PV_MARK_LINE,
         .ink = PV_INK_EMPIRICAL,
         .name = "all thresholds",
         .n = n,
         .x = rows,
         .y = rows + 1,
         .stride = 4},
        {.mark = PV_MARK_POINTS,
         .ink = PV_INK_POSITIVE,
         .name = "this threshold",
         .n = 1,
         .x = &o->fpr,
         .y = &o->tpr,
         .size = 6,
         .id = "ex-roc-point"}};
    const pv_series im[] = {
        {.mark = PV_MARK_LINE, .ink = PV_INK_MUTED, .n = 2, .x = ends, .y = ends, .dashed = true, .size = 1},
        {.mark = PV_MARK_LINE,
         .ink = PV_INK_EMPIRICAL,
         .name = "all thresholds at this prevalence",
         .n = n,
         .x = rows + 2,
         .y = rows + 3,
         .stride = 4,
         .id = "ex-im-line"},
        {.mark = PV_MARK_POINTS,
         .ink = PV_INK_POSITIVE,
         .name = "this threshold",
         .n = 1,
         .x = &o->informedness,
         .y = &o->markedness,
         .size = 6,
         .id = "ex-im-point"}};
    double low = least < -0.05 ? -1 : least < 0 ? -0.05 : 0;
    const pv_panel panels[] = {{.title = "ROC",
                                .id = "ex-roc",
                                .series = roc,
                                .n_series = 3,
                                .x = {.label = "false positive rate", .lo = 0, .hi = 1},
                                .y = {.label = "true positive rate", .lo = 0, .hi = 1}},
                               {.title = "Informedness and markedness",
                                .id = "ex-im",
                                .series = im,
                                .n_series = 3,
                                .x = {.label = "informedness (TPR + TNR - 1)", .lo = low, .hi = 1},
                                .y = {.label = "markedness (PPV + NPV - 1)", .lo = low, .hi = 1}}};
    pv_figure figure = {.name = "explorer-charts",
                        .title = "The operating point.",
                        .panel = panels,
                        .panels = 2,
                        .text = "True and false positive rates do not depend on the prevalence; markedness does."};
    pv__page_figure(report, &figure);
    pv__free(ctx, rows);
    return PV_OK;
}

/* ---- the whole section ------------------------------------------------------------------------------------------- */

static pv_status check(pv_ctx *ctx, const pv_explorer *e) {
    if (!(e->prevalence > 0 && e->prevalence < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "a prevalence must lie between 0 and 1, not %g", e->prevalence);
    if (!(e->cost_fp > 0 && e->cost_fn > 0 && isfinite(e->cost_fp) && isfinite(e->cost_fn)))
        return pv__fail(ctx, PV_ERR_USAGE, "costs must be above 0, not %g and %g", e->cost_fp, e->cost_fn);
    return PV_OK;
}

/* The largest change of a rate between adjacent thresholds of the ladder. */
static double widest_step(const pv_ranking *r, const ladder *l) {
    double widest = 0;
    for (size_t i = 1; i < l->count; i++) {
        pv__rates from = pv__rates_at(r, l->point[i - 1]), to = pv__rates_at(r, l->point[i]);
        widest = fmax(widest, fmax(to.tpr - from.tpr, to.fpr - from.fpr));
    }
    return widest;
}

static void put_notice(FILE *out, const pv_explorer *e, const ladder *l) {
    pv__print(out, "<p class=\"small\">A person is called positive if the probability%s is at least the threshold. ",
              isnan(e->offset) ? "" : ", adjusted to the chosen prevalence,");
    if (l->exact)
        pv__print(out,
                  "This page contains all %s distinct probabilities of these rows, so that its numbers are exact%s.",
                  pv_group_digits((double)l->count).text,
                  isnan(e->offset) || e->caveat ? "" : ", and agree with eval --population known:P --stated-for P");
    else
        pv__print(out,
                  "Of %s distinct probabilities this page contains %s, evenly spread over both labels. A threshold "
                  "between two of them is rounded up to the higher one, shown as the threshold in use. Numbers are "
                  "exact for it, and a rate changes by at most %.2g from one to the next.",
                  pv_group_digits((double)e->ranking->points).text, pv_group_digits((double)l->count).text,
                  widest_step(e->ranking, l));
    if (e->caveat && !isnan(e->offset)) {
        fputc(' ', out);
        pv__put_html(out, e->caveat);
    }
    fputs("</p>\n", out);
}

static void put_sentence(FILE *out, const pv_explorer *e, const pv_operating *o) {
    pv__print(out,
              "<p id=\"ex-sentence\" role=\"status\">At a prevalence of %.4g, with a false negative that costs %.4g "
              "times a false "
              "positive, ",
              e->prevalence, e->cost_fn / e->cost_fp);
    if (o->tp + o->fp > 0)
        pv__print(out,
                  "%s of 100,000 people are called positive and %.1f %% of these have it; of %s who have it %s are "
                  "missed.</p>\n",
                  pv_group_digits(o->tp + o->fp).text, 100 * o->ppv, pv_group_digits(o->tp + o->fn).text,
                  pv_group_digits(o->fn).text);
    else
        pv__print(out, "no one is called positive: all %s of 100,000 people who have it are missed.</p>\n",
                  pv_group_digits(o->fn).text);
}

pv_status pv_report_put_explorer(pv_ctx *ctx, pv_report *report, const pv_explorer *e) {
    PV_TRY(check(ctx, e));
    if (!report->out)
        return PV_OK;
    if (!(e->ranking->rows_p > 0 && e->ranking->rows_n > 0)) {
        pv_report_note(report, PV_NOTE_MISSING,
                       e->ranking->rows_p > 0 ? "The explorer needs rows with a negative label; there are none."
                                              : "The explorer needs rows with the positive label; there are none.");
        return PV_OK;
    }
    FILE *out = report->out;
    ladder l = {0};
    PV_TRY(make_ladder(ctx, e, &l));
    pv_operating o = pv_explorer_at(e);
    char positive[300], negative[300];
    pv__shorten(e->positive, 40, positive, sizeof positive);
    pv__shorten(e->negative ? e->negative : "all others", 40, negative, sizeof negative);
    if (e->ranking->points == 1)
        pv_report_note(report, PV_NOTE_MISSING,
                       "All probabilities are equal: no threshold separates the rows, so that the curves are a single "
                       "step, and informedness and markedness have no curve.");
    fputs("<div id=\"explorer-body\">\n", out);
    put_controls(out, e);
    put_sentence(out, e, &o);
    fputs("<div class=\"tables\">\n", out);
    put_confusion(out, &o, positive, negative);
    put_values(out, &o);
    fputs("</div>\n", out);
    pv_status status = put_charts(ctx, report, e, &o, &l);
    put_notice(out, e, &l);
    fputs("</div>\n", out);
    put_data(out, e, &l);
    report->explorer = true;
    pv__free(ctx, l.point);
    return status;
}
