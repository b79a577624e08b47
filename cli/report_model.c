/* A model in a report: what was fitted on what, what diagnose finds, its coefficients, how to make it again. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/checks.h"
#include "cli/classifier.h"
#include "cli/report_sections.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"
#include "tool/report.h"

enum { CLASSES_SHOWN = 20, COEFFICIENTS_DRAWN = 30, DENSITY = 80 };

/* ---- what was fitted --------------------------------------------------------------------------------------------- */

static void put_fit(pv_report *report, const char *path, const pv_classifier *c) {
    report_cells cells = {0};
    report_cell(&cells, "model file");
    report_cell(&cells, path);
    report_cell(&cells, "model");
    report_cell_format(&cells, "%s, %zu parameters", pv_model_spec(c->model), pv_model_params(c->model));
    report_cell(&cells, "learned from");
    char why[96];
    report_cell_format(&cells, "%s: %zu %s%s%s%s", c->source, c->rows, c->encoding->image ? "images" : "rows",
                       c->dropped ? ", others " : "",
                       c->dropped ? cli_left_out(c->encoding->image, why, sizeof why) : "",
                       c->dropped ? " left out" : "");
    report_cell(&cells, "target column");
    report_cell(&cells, c->target);
    report_cell(&cells, "loss");
    report_cell_format(&cells, "%s%s%s", pv_loss_name(c->loss), pv_loss_has_marginal(c->loss) ? ", marginal " : "",
                       pv_loss_has_marginal(c->loss) ? pv_marginal_name(c->marginal) : "");
    report_cell(&cells, "prevalence stated");
    if (!c->prevalence)
        report_cell(&cells, "none");
    else if (isinf(c->prevalence_n))
        report_cell_format(&cells, "%.6g, held exactly", c->prevalence[c->classes - 1]);
    else
        report_cell_format(&cells, "%.6g, known as from %.6g people", c->prevalence[c->classes - 1], c->prevalence_n);
    report_cell(&cells, "posterior");
    report_cell(&cells, c->posterior ? cli_posterior_name(c) : "none: one estimate");
    report_put_cells(report, &cells, "The model", "tt", NULL, false);
}

static void put_classes(pv_report *report, const pv_classifier *c) {
    static const char *const heads[] = {"label", "in the training data", "stated", "in the model"};
    report_cells cells = {0};
    cli_spread *marginal = cli_alloc((size_t)c->classes, sizeof *marginal);
    cli_marginal_spreads(c, CLI_LEVEL, marginal);
    for (int y = 0; y < c->classes && y < CLASSES_SHOWN; y++) {
        report_cell(&cells, c->labels[y]);
        report_cell_number(&cells, c->design[y]);
        report_cell_number(&cells, c->prevalence ? c->prevalence[y] : NAN);
        report_cell_number(&cells, marginal[y].mean);
    }
    free(marginal);
    report_put_cells(report, &cells, "Shares of the labels", "tnnn", heads, false);
    if (c->classes > CLASSES_SHOWN)
        report_note(report, PV_NOTE_MISSING, "%d more labels; the table shows the first %d.",
                    c->classes - CLASSES_SHOWN, CLASSES_SHOWN);
}

/* The options that the checks look at, from the record in the model file. */
static pv_status recorded_prior(cli_call *call, json_t *record, pv_fit_options *options) {
    json_t *entry = json_object_get(json_object_get(record, "options"), "prior");
    const char *text = json_string_value(json_object_get(entry, "value"));
    *options = pv_fit_options_default();
    return text && *text ? pv_option_set(call->ctx, pv_fit_option_table, options, "prior", text) : PV_OK;
}

static int put_checks(cli_call *call, pv_report *report, const pv_classifier *c) {
    static const char *const heads[] = {"check", "what was found"};
    cli_checks *checks = cli_alloc(1, sizeof *checks);
    json_t *record = cli_json_record(c);
    pv_fit_options options;
    pv_status status = recorded_prior(call, record, &options);
    int code = status == PV_OK ? cli_check_model(call, checks, c, &options) : cli_fail(call, status);
    report_cells cells = {0};
    for (size_t i = 0; code == CLI_OK && i < checks->count; i++) {
        const cli_check *check = &checks->check[i];
        if (!check->ok)
            report_note(report, PV_NOTE_WARNING, "%s: %s %s", check->title, check->text, check->remedy);
        report_cell_format(&cells, "%s: %s", check->title, check->ok ? "fine" : "not fine");
        report_cell(&cells, check->text);
    }
    if (code == CLI_OK && checks->failed == 0)
        report_note(report, PV_NOTE_GOOD, "prevail diagnose made %zu checks of the fit and found nothing wrong.",
                    checks->count);
    if (code == CLI_OK)
        report_put_cells(report, &cells, "What prevail diagnose checked", "tt", heads, true);
    json_decref(record);
    free(checks);
    return code;
}

int report_put_model(cli_call *call, pv_report *report, const char *path, const pv_classifier *c) {
    put_fit(report, path, c);
    put_classes(report, c);
    return put_checks(call, report, c);
}

/* ---- coefficients ------------------------------------------------------------------------------------------------ */

typedef struct coefficient {
    const char *name;
    int label;        /* against the first */
    double scale;     /* one standard deviation of a column of numbers; 1 for others */
    cli_spread value; /* per unit of the column; without a posterior only the mean */
    double *draws;    /* [count], sorted; NULL: no posterior */
} coefficient;

static double feature_scale(const pv_encoding *encoding, int feature) {
    int at = 0;
    for (size_t s = 0; s < encoding->sources; s++) {
        const pv_source_column *source = &encoding->source[s];
        int width = source->type == PV_COLUMN_TEXT ? source->levels - 1 : 1;
        if (feature < at + width)
            return source->type == PV_COLUMN_TEXT || !(source->sd > 0) ? 1 : source->sd;
        at += width;
    }
    return 1;
}

/* [(classes-1) features], slopes only; the caller frees each one's draws, and the list. */
static int read_coefficients(cli_call *call, const pv_classifier *c, double level, coefficient **list, size_t *count) {
    size_t features = (size_t)c->encoding->features, width = features + 1, params = pv_model_params(c->model);
    cli_spread *spreads = NULL;
    double *values = cli_alloc(params, sizeof *values);
    int code = CLI_OK;
    if (c->posterior)
        code = cli_coefficient_spreads(call, c, level, &spreads);
    pv_status status = code == CLI_OK && !c->posterior ? pv_classifier_coefficients(call->ctx, c, values) : PV_OK;
    if (status != PV_OK)
        code = cli_fail(call, status);
    *count = code == CLI_OK ? (size_t)(c->classes - 1) * features : 0;
    *list = cli_alloc(*count, sizeof **list);
    for (size_t i = 0; i < *count; i++) {
        size_t at = i / features * width + i % features + 1;
        (*list)[i] = (coefficient){.name = c->encoding->feature[i % features],
                                   .label = (int)(i / features) + 1,
                                   .scale = feature_scale(c->encoding, (int)(i % features)),
                                   .value = spreads ? spreads[at] : (cli_spread){values[at], NAN, NAN, NAN, NAN}};
    }
    size_t draws = c->posterior && code == CLI_OK ? c->posterior->count : 0;
    for (size_t i = 0; draws && i < *count; i++)
        (*list)[i].draws = cli_alloc(draws, sizeof(double));
    for (size_t k = 0; k < draws && code == CLI_OK; k++) {
        status = pv_classifier_draw_coefficients(call->ctx, c, k, values);
        if (status != PV_OK)
            code = cli_fail(call, status);
        for (size_t i = 0; i < *count; i++)
            (*list)[i].draws[k] = values[i / features * width + i % features + 1];
    }
    free(values);
    free(spreads);
    return code;
}

static void put_table(pv_report *report, const pv_classifier *c, const coefficient *list, size_t count) {
    static const char *const heads[] = {"column", "label", "coefficient",      "from", "to", "odds ratio",
                                        "from",   "to",    "odds ratio per sd"};
    report_cells cells = {0};
    size_t shown = count < 200 ? count : 200;
    for (size_t i = 0; i < shown; i++) {
        const cli_spread *v = &list[i].value;
        report_cell(&cells, list[i].name);
        report_cell(&cells, c->labels[list[i].label]);
        const double numbers[] = {
            v->mean, v->lo, v->hi, exp(v->mean), exp(v->lo), exp(v->hi), exp(v->mean * list[i].scale)};
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            report_cell_number(&cells, numbers[k]);
    }
    report_put_cells(report, &cells, "Coefficients and odds ratios, per unit of the column", "ttnnnnnnn", heads, true);
    if (count > shown)
        report_note(report, PV_NOTE_MISSING, "%zu more coefficients; prevail summary prints all.", count - shown);
}

/* A normal kernel of the draws' own width (Silverman), at DENSITY points; scaled to a height of 0.8. */
static void density_of(const coefficient *k, size_t draws, double row, double *x, double *base, double *top) {
    double sd = k->value.sd * k->scale, mean = k->value.mean * k->scale,
           width = fmax(0.9 * sd * pow((double)draws, -0.2), 1e-12);
    double most = 0;
    for (int i = 0; i < DENSITY; i++) {
        double at = mean + sd * 7 * ((double)i / (DENSITY - 1) - 0.5), sum = 0;
        for (size_t d = 0; d < draws; d++)
            sum += exp(-0.5 * pow((at - k->scale * k->draws[d]) / width, 2));
        x[i] = exp(at);
        base[i] = row;
        top[i] = sum;
        most = fmax(most, sum);
    }
    for (int i = 0; i < DENSITY; i++)
        top[i] = row + 0.8 * top[i] / (most > 0 ? most : 1);
}

static pv_status draw(cli_call *call, pv_report *report, const pv_classifier *c, const coefficient *list,
                      size_t count) {
    size_t shown = count < COEFFICIENTS_DRAWN ? count : COEFFICIENTS_DRAWN, drawn = 0,
           draws = c->posterior ? c->posterior->count : 0;
    draws = draws < 4000 ? draws : 4000;
    double *numbers = cli_alloc(shown * (4 + 3 * DENSITY), sizeof *numbers), *x = numbers, *y = x + shown,
           *lo = y + shown, *hi = lo + shown, *densities = hi + shown, span[] = {-1, (double)shown}, one[] = {1, 1};
    const char **names = cli_alloc(shown, sizeof *names);
    char *texts = cli_alloc(shown, 256);
    pv_series *series = cli_alloc(shown + 2, sizeof *series);
    series[drawn++] = (pv_series){
        .mark = PV_MARK_LINE, .ink = PV_INK_MUTED, .n = 2, .x = one, .y = span, .dashed = true, .size = 1.2};
    for (size_t i = 0; i < shown; i++) {
        const coefficient *k = &list[i];
        size_t row = shown - 1 - i; /* the first on top */
        char label[160], column[160];
        pv_text_short(k->name, 22, column, sizeof column);
        pv_text_short(c->labels[k->label], 10, label, sizeof label);
        snprintf(texts + 256 * row, 256, c->classes > 2 ? "%.110s, %.110s" : "%.110s", column, label);
        names[row] = texts + 256 * row;
        x[i] = exp(k->value.mean * k->scale);
        y[i] = (double)row;
        lo[i] = exp(k->value.lo * k->scale);
        hi[i] = exp(k->value.hi * k->scale);
        if (k->draws) {
            double *own = densities + 3 * DENSITY * i;
            density_of(k, draws, (double)row, own, own + DENSITY, own + 2 * DENSITY);
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
                                  .name = draws ? "mean and interval" : "estimate",
                                  .n = shown,
                                  .x = x,
                                  .y = y,
                                  .lo = draws ? lo : NULL,
                                  .hi = draws ? hi : NULL};
    pv_panel panel = {.series = series,
                      .n_series = drawn,
                      .x = {.label = "odds ratio, per standard deviation of a column of numbers", .log = true},
                      .y = {.name = names, .n_names = shown},
                      .width = 420,
                      .height = 100 + 30 * (double)shown};
    char text[300];
    snprintf(text, sizeof text,
             "Right of the dashed line a column raises the odds, left of it it lowers them. n = %zu training rows.%s",
             c->rows, count > shown ? " The first columns only." : "");
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
    if (!pv_model_has_coefficients(c->model)) {
        report_note(report, PV_NOTE_MISSING, "A network of %zu parameters has no coefficients to read.",
                    pv_model_params(c->model));
        return CLI_OK;
    }
    coefficient *list;
    size_t count;
    int code = read_coefficients(call, c, level, &list, &count);
    if (code == CLI_OK && count == 0)
        pv_report_note(report, PV_NOTE_MISSING, "The model has an intercept only.");
    if (code == CLI_OK && count > 0) {
        pv_status status = draw(call, report, c, list, count);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
        put_table(report, c, list, count);
    }
    for (size_t i = 0; i < count; i++)
        free(list[i].draws);
    free(list);
    return code;
}

/* ---- how to reproduce it ----------------------------------------------------------------------------------------- */
