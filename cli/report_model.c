/* A model in a report: model and data, findings of diagnose, coefficients, how to reproduce it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/classifier.h"
#include "cli/report_sections.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"
#include "tool/report.h"

enum { CLASSES_SHOWN = 20, COEFFICIENTS_DRAWN = 30, DENSITY = 80 };

/* ---- model and data ---------------------------------------------------------------------------------------------- */

static void put_fit(pv_report *report, const char *path, const pv_classifier *c) {
    report_cells cells = {0};
    report_cell(&cells, "model file");
    report_cell(&cells, path);
    report_cell(&cells, "model");
    report_cell_format(&cells, "%s, %s parameters", c->stacked ? "mixture of models (auto)" : pv_model_spec(c->model),
                       pv_group_digits((double)pv_model_params(c->model)).text);
    report_cell(&cells, "training data");
    char why[96];
    report_cell_format(&cells, "%s: %s %s%s%s%s", c->source, pv_group_digits((double)c->rows).text,
                       c->schema->image ? "images" : "rows", c->dropped ? ", others " : "",
                       c->dropped ? cli_left_out(c->schema->image, why, sizeof why) : "",
                       c->dropped ? " left out" : "");
    report_cell(&cells, "outcome column");
    report_cell(&cells, c->schema->target);
    if (c->schema->offset) {
        report_cell(&cells, "offset");
        report_cell_format(&cells, "%s, with a coefficient of 1", pv_classifier_offset(c));
    }
    report_cell(&cells, "loss");
    report_cell_format(&cells, "%s%s%s", pv_loss_name(c->loss), pv_loss_has_marginal(c->loss) ? ", marginal " : "",
                       pv_loss_has_marginal(c->loss) ? pv_marginal_name(c->marginal) : "");
    report_cell(&cells, "prevalence stated");
    if (!c->prevalence)
        report_cell(&cells, "none");
    else if (isinf(c->prevalence_n))
        report_cell_format(&cells, "%.6g, known exactly", c->prevalence[c->schema->classes - 1]);
    else
        report_cell_format(&cells, "%.6g, as precise as from %s observations", c->prevalence[c->schema->classes - 1],
                           pv_group_digits(c->prevalence_n).text);
    report_cell(&cells, "posterior");
    report_cell(&cells, c->posterior ? pv_posterior_kind_name(c->posterior->kind) : "none: one estimate");
    report_put_cells(report, &cells, "The model", "tt", NULL, false);
}

static void put_classes(pv_report *report, const pv_classifier *c, const pv_summary *summary) {
    static const char *const heads[] = {"label", "in the rows", "stated", "in the model"};
    report_cells cells = {0};
    for (int y = 0; y < c->schema->classes && y < CLASSES_SHOWN; y++) {
        report_cell(&cells, c->schema->labels[y]);
        report_cell_number(&cells, c->design[y]);
        report_cell_number(&cells, c->prevalence ? c->prevalence[y] : NAN);
        report_cell_number(&cells, summary->marginal[y].mean);
    }
    report_put_cells(report, &cells, "Proportions of the labels", "tnnn", heads, false);
    if (c->schema->classes > CLASSES_SHOWN)
        report_note(report, PV_NOTE_MISSING, "%d more labels; the table shows the first %d.",
                    c->schema->classes - CLASSES_SHOWN, CLASSES_SHOWN);
}

static void put_stacked(pv_report *report, const pv_classifier *c) {
    static const char *const heads[] = {"candidate", "weight", "gain", "standard error"};
    const pv_stacked *of = c->stacked;
    report_cells cells = {0};
    for (size_t i = 0; i < of->count; i++) {
        report_cell(&cells, of->candidate[i].name);
        report_cell_number(&cells, of->candidate[i].weight);
        report_cell_number(&cells, of->candidate[i].gain);
        report_cell_number(&cells, of->candidate[i].se);
    }
    report_cell(&cells, "the mixture");
    report_cell_number(&cells, 1);
    report_cell_number(&cells, of->gain);
    report_cell_number(&cells, of->se);
    report_put_cells(report, &cells,
                     "Members of the mixture, with the gain of their held-out log score over the prevalence", "tnnn",
                     heads, false);
}

static void put_boosted(pv_report *report, const pv_classifier *c) {
    const pv_boosted *of = c->boosted;
    if (of->folds > 0)
        report_note(report, PV_NOTE_GOOD,
                    "%lld rounds of trees of depth %lld, %s; the loss of rows that they have not seen is %.5f, without "
                    "trees %.5f.",
                    (long long)of->rounds, (long long)of->depth, of->chosen ? "chosen by that loss" : "as stated",
                    of->loss, of->guess);
}

static void put_strata(pv_report *report, const pv_classifier *c) {
    static const char *const heads[] = {"stratum",    "rows",        "proportion of the population",
                                        "label",      "in the rows", "stated",
                                        "known from", "in the model"};
    enum { STRATA_SHOWN = 200 };
    const pv_stratified *of = c->stratified;
    report_cells cells = {0};
    size_t k = (size_t)of->classes;
    int shown = of->strata < STRATA_SHOWN ? of->strata : STRATA_SHOWN;
    for (int s = 0; s < shown; s++)
        for (size_t y = 1; y < k; y++) {
            size_t cell = (size_t)s * k + y;
            report_cell(&cells, y == 1 ? c->schema->strata->name[s] : "");
            report_cell_number(&cells, y == 1 ? of->rows[s] : NAN);
            report_cell_number(&cells, y == 1 ? of->share[s] : NAN);
            report_cell(&cells, c->schema->labels[y]);
            report_cell_number(&cells, of->design[cell]);
            report_cell_number(&cells, of->prevalence[cell]);
            if (isinf(of->n[s]))
                report_cell(&cells, "known exactly");
            else
                report_cell_format(&cells, "%s observations", pv_group_digits(of->n[s]).text);
            report_cell_number(&cells, exp(of->log_marginal[cell]));
        }
    report_put_cells(report, &cells, "Strata: sampling, and prevalence in the population", "tnntnntn", heads, false);
    if (of->strata > shown)
        report_note(report, PV_NOTE_MISSING, "%d more strata; prevail summary prints all.", of->strata - shown);
}

static int put_checks(cli_call *call, pv_report *report, const pv_classifier *c) {
    static const char *const heads[] = {"check", "what was found"};
    pv_diagnosis *found;
    pv_status status = cli_diagnosis(call, c, NULL, &found);
    if (status != PV_OK)
        return cli_fail(call, status);
    report_cells cells = {0};
    for (size_t i = 0; i < found->count; i++) {
        const pv_check *check = &found->check[i];
        if (!check->ok)
            report_note(report, PV_NOTE_WARNING, "%s: %s %s", check->title, check->text, check->remedy);
        report_cell_format(&cells, "%s: %s", check->title, check->ok ? "fine" : "not fine");
        report_cell(&cells, check->text);
    }
    if (found->failed == 0)
        report_note(report, PV_NOTE_GOOD, "prevail diagnose made %zu checks and found no problem.", found->count);
    report_put_cells(report, &cells, "Checks of prevail diagnose", "tt", heads, true);
    pv_diagnosis_free(call->ctx, found);
    return CLI_OK;
}

int report_put_model(cli_call *call, pv_report *report, const char *path, const pv_classifier *c) {
    pv_summary *summary;
    pv_status status = pv_classifier_summary(call->ctx, c, CLI_LEVEL, &summary);
    if (status != PV_OK)
        return cli_fail(call, status);
    put_fit(report, path, c);
    put_classes(report, c, summary);
    if (c->stratified)
        put_strata(report, c);
    if (c->stacked)
        put_stacked(report, c);
    if (c->boosted)
        put_boosted(report, c);
    pv_summary_free(call->ctx, summary);
    return put_checks(call, report, c);
}

/* ---- coefficients ------------------------------------------------------------------------------------------------ */

/* The slopes in order, without intercepts. */
typedef struct slopes {
    pv_summary *summary;
    size_t count;
    double *draws; /* [count][posterior's draws]; NULL: no posterior */
} slopes;

static const pv_coefficient *slope(const slopes *list, size_t i) {
    const pv_summary *s = list->summary;
    size_t features = s->terms - s->intercepts;
    return &s->coefficient[i / features * s->terms + i % features + s->intercepts];
}

/* A name for a chart: of COLUMN=LEVEL a long column is cut first, because the level tells the slopes apart. */
static void slope_label(const char *name, char *to, size_t size) {
    enum { MOST = 40, COLUMN = 10, LEVEL = 29 };
    const char *equals = strchr(name, '=');
    char column[48], level[100];
    if (!equals || strlen(name) <= MOST) {
        pv_text_short(name, MOST, to, size);
        return;
    }
    char whole[400];
    snprintf(whole, sizeof whole, "%.*s", (int)(equals - name), name);
    pv_text_short(whole, COLUMN, column, sizeof column);
    pv_text_short(equals + 1, LEVEL, level, sizeof level);
    snprintf(to, size, "%s=%s", column, level);
}

/* The caller clears list, also on failure. */
static int read_slopes(cli_call *call, const pv_classifier *c, double level, slopes *list) {
    pv_status status = pv_classifier_summary(call->ctx, c, level, &list->summary);
    if (status != PV_OK)
        return cli_fail(call, status);
    const pv_summary *s = list->summary;
    size_t features = s->terms - s->intercepts, draws = c->posterior ? c->posterior->count : 0;
    list->count = s->equations * features;
    if (!draws)
        return CLI_OK;
    double *values = cli_alloc(pv_model_params(c->model), sizeof *values);
    list->draws = cli_alloc(list->count * draws, sizeof *list->draws);
    for (size_t k = 0; k < draws && status == PV_OK; k++) {
        status = pv_classifier_draw_coefficients(call->ctx, c, k, values);
        for (size_t i = 0; i < list->count; i++)
            list->draws[i * draws + k] = values[i / features * s->terms + i % features + s->intercepts];
    }
    free(values);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static void put_table(pv_report *report, const slopes *list) {
    static const char *const heads[] = {"column",     "label", "coefficient", "from", "to",
                                        "odds ratio", "from",  "to",          "per",  "odds ratio per sd"};
    report_cells cells = {0};
    size_t count = list->count, shown = count < 200 ? count : 200;
    for (size_t i = 0; i < shown; i++) {
        const pv_coefficient *k = slope(list, i);
        report_cell(&cells, k->name);
        report_cell(&cells, k->label);
        char per[32] = "1 unit";
        double unit = cli_odds_unit(&k->value);
        if (unit != 1)
            cli_unit_text(unit, per, sizeof per);
        const double numbers[] = {
            k->value.mean,          k->value.lo, k->value.hi, exp(unit * k->value.mean), exp(unit * k->value.lo),
            exp(unit * k->value.hi)};
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++)
            report_cell_number(&cells, numbers[j]);
        report_cell(&cells, per);
        report_cell_number(&cells, exp(k->value.mean * k->scale));
    }
    report_put_cells(report, &cells, "Coefficients per unit of the column, and odds ratios", "ttnnnnnntn", heads, true);
    if (count > shown)
        report_note(report, PV_NOTE_MISSING, "%zu more coefficients; prevail summary prints all.", count - shown);
}

/* Kernel density estimate with a normal kernel and Silverman's bandwidth, at DENSITY points, scaled to a height of
 * 0.8. */
static void density_of(const pv_coefficient *k, size_t draws, const double *drawn, double row, double *x, double *base,
                       double *top) {
    double sd = k->value.sd * k->scale, mean = k->value.mean * k->scale,
           width = fmax(0.9 * sd * pow((double)draws, -0.2), 1e-12);
    double most = 0;
    for (int i = 0; i < DENSITY; i++) {
        double at = mean + sd * 7 * ((double)i / (DENSITY - 1) - 0.5), sum = 0;
        for (size_t d = 0; d < draws; d++)
            sum += exp(-0.5 * pow((at - k->scale * drawn[d]) / width, 2));
        x[i] = exp(at);
        base[i] = row;
        top[i] = sum;
        most = fmax(most, sum);
    }
    for (int i = 0; i < DENSITY; i++)
        top[i] = row + 0.8 * top[i] / (most > 0 ? most : 1);
}

static pv_status draw(cli_call *call, pv_report *report, const pv_classifier *c, const slopes *list) {
    size_t count = list->count, shown = count < COEFFICIENTS_DRAWN ? count : COEFFICIENTS_DRAWN, drawn = 0, widest = 0,
           draws = c->posterior ? c->posterior->count : 0;
    draws = draws < 4000 ? draws : 4000;
    bool errors = list->summary->has_errors;
    double *numbers = cli_alloc(shown * (4 + 3 * DENSITY), sizeof *numbers), *x = numbers, *y = x + shown,
           *lo = y + shown, *hi = lo + shown, *densities = hi + shown, span[] = {-1, (double)shown}, one[] = {1, 1};
    const char **names = cli_alloc(shown, sizeof *names);
    char *texts = cli_alloc(shown, 256);
    pv_series *series = cli_alloc(shown + 2, sizeof *series);
    series[drawn++] = (pv_series){
        .mark = PV_MARK_LINE, .ink = PV_INK_MUTED, .n = 2, .x = one, .y = span, .dashed = true, .size = 1.2};
    for (size_t i = 0; i < shown; i++) {
        const pv_coefficient *k = slope(list, i);
        size_t row = shown - 1 - i; /* the first on top */
        char label[160], column[192];
        slope_label(k->name, column, sizeof column);
        pv_text_short(k->label, 10, label, sizeof label);
        snprintf(texts + 256 * row, 256, c->schema->classes > 2 ? "%.110s, %.110s" : "%.110s", column, label);
        names[row] = texts + 256 * row;
        widest = strlen(names[row]) > widest ? strlen(names[row]) : widest;
        x[i] = exp(k->value.mean * k->scale);
        y[i] = (double)row;
        lo[i] = exp(k->value.lo * k->scale);
        hi[i] = exp(k->value.hi * k->scale);
        if (list->draws && c->posterior) {
            double *own = densities + 3 * DENSITY * i;
            density_of(k, draws, list->draws + i * c->posterior->count, (double)row, own, own + DENSITY,
                       own + 2 * DENSITY);
            series[drawn++] = (pv_series){.mark = PV_MARK_BAND,
                                          .ink = PV_INK_POSITIVE,
                                          .name = i == 0 ? "posterior density" : NULL,
                                          .n = DENSITY,
                                          .x = own,
                                          .lo = own + DENSITY,
                                          .hi = own + 2 * DENSITY};
        }
    }
    series[drawn++] = (pv_series){.mark = PV_MARK_SPANS,
                                  .ink = PV_INK_EMPIRICAL,
                                  .name = draws    ? "mean and interval"
                                          : errors ? "estimate and interval"
                                                   : "estimate",
                                  .n = shown,
                                  .x = x,
                                  .y = y,
                                  .lo = draws || errors ? lo : NULL,
                                  .hi = draws || errors ? hi : NULL};
    pv_panel panel = {.series = series,
                      .n_series = drawn,
                      .x = {.label = "odds ratio, per standard deviation of a column of numbers", .log = true},
                      .y = {.name = names, .n_names = shown},
                      .width = 420 + (widest > 22 ? 6 * fmin((double)widest - 22, 20) : 0),
                      .height = 100 + 30 * (double)shown};
    char text[300];
    snprintf(text, sizeof text,
             "Right of the dashed line a column raises the odds; left of it, it lowers them. n = %s training rows.%s",
             pv_group_digits((double)c->rows).text, count > shown ? " Only the first columns are shown." : "");
    pv_figure figure = {.name = "coefficients",
                        .title = draws ? "Odds ratios with their posterior densities." : "Odds ratios.",
                        .text = text,
                        .panel = &panel,
                        .panels = 1};
    pv_status status = pv_report_put_figure(call->ctx, report, &figure);
    free(numbers);
    free(names);
    free(texts);
    free(series);
    return status;
}

int report_put_coefficients(cli_call *call, pv_report *report, const pv_classifier *c, double level) {
    pv_report_section(report, "coefficients", "Coefficients");
    if (!pv_model_has_coefficients(c->model) && !pv_model_has_thresholds(c->model)) {
        report_note(report, PV_NOTE_MISSING, "The model has %zu parameters, and no coefficients to interpret.",
                    pv_model_params(c->model));
        return CLI_OK;
    }
    slopes list = {0};
    int code = read_slopes(call, c, level, &list);
    if (code == CLI_OK && c->smoothing)
        code = report_put_effects(call, report, c, level);
    if (code == CLI_OK && list.count == 0)
        pv_report_note(report, PV_NOTE_MISSING, "The model has an intercept only.");
    if (code == CLI_OK && list.count > 0) {
        pv_status status = draw(call, report, c, &list);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
        put_table(report, &list);
    }
    free(list.draws);
    pv_summary_free(call->ctx, list.summary);
    return code;
}

/* ---- how to reproduce it ----------------------------------------------------------------------------------------- */
