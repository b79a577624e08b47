/* Reports of cross-validation and sweeps: predictions of rows by models that were not fitted to them. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_sections.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/report.h"

/* ---- one validation ---------------------------------------------------------------------------------------------- */

int report_put_validated(cli_call *call, pv_report *report, const report_validated *v, int64_t seed) {
    pv_judgement *j;
    pv_status status = pv_validation_judge(call->ctx, v->validation, v->labels, seed, &j);
    if (status != PV_OK)
        return cli_fail(call, status);
    pv_report_judged shown = pv_report_judged_of(j, v->validation->level);
    shown.rows_title = "Held-out rows";
    shown.target = v->target;
    shown.caveat = "The models of the folds differ slightly in their prevalence; this page uses the mean.";
    status = pv_report_put_judged(call->ctx, report, &shown);
    pv_judgement_free(call->ctx, j);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

void report_put_folds(pv_report *report, const pv_validation *v) {
    static const char *const heads[] = {"metric", "pooled", "mean of folds", "sd of folds", "folds where defined",
                                        "meaning"};
    report_cells cells = {0};
    pv_metrics mean, sd, defined, pooled;
    pv_validation_summary(v, &mean, &sd, &defined, &pooled);
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        report_cell(&cells, row->name);
        report_cell_number(&cells, pv_metric_get(&pooled, row));
        report_cell_number(&cells, pv_metric_get(&mean, row));
        report_cell_number(&cells, pv_metric_get(&sd, row));
        report_cell_number(&cells, pv_metric_get(&defined, row));
        report_cell(&cells, row->text);
    }
    pv_report_section(report, "folds", "Cross-validation");
    report_say(report, "All %zu folds and %zu repeat%s, as prevail cv prints them, for %s.", v->folds, v->repeats,
               v->repeats == 1 ? "" : "s",
               v->stated ? "the population of --stated-for" : "the label proportions of the rows");
    report_put_cells(report, &cells, "Metrics over folds", "tnnnnt", heads, false);
}

void report_put_source(cli_call *call, pv_report *report, const pv_table *table, const char *holdout, int64_t seed) {
    char hash[24], number[24];
    snprintf(hash, sizeof hash, "%016" PRIx64, table->hash);
    snprintf(number, sizeof number, "%lld", (long long)seed);
    const char *const names[] = {"data", "its hash (XXH3-64)", "seed", holdout ? "held-out rows" : NULL, NULL};
    const char *const values[] = {table->source, hash, number, holdout};
    report_put_provenance(call, report, names, values);
}

/* ---- sweeps ------------------------------------------------------------------------------------------------------ */

static const char *const compared[] = {
    "log_loss", "information_gain", "calibration_ratio", "brier", "average_precision", "auc", "ece", "holdout_nll"};
enum { COMPARED = sizeof compared / sizeof *compared, DRAWN = 6 };

static double pooled_metric(const pv_validation *v, const char *name) {
    pv_metrics pooled;
    pv_validation_summary(v, NULL, NULL, NULL, &pooled);
    for (const pv_metric_row *row = pv_metric_table; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return pv_metric_get(&pooled, row);
    return NAN;
}

/* Whether all rows refer to one population. */
static bool are_of_one(const report_sweep_row *rows, size_t n) {
    const pv_validation *first = rows[0].validation;
    for (size_t i = 0; first->stated && i < n; i++)
        for (int y = 0; y < first->data->classes; y++)
            if (rows[i].validation->stated[y] != first->stated[y])
                return false;
    return true;
}

static void put_sweep_table(pv_report *report, const report_sweep_row *rows, size_t n) {
    const char *heads[2 + COMPARED] = {"loss", "prevalence assumed"};
    report_cells cells = {0};
    memcpy(heads + 2, compared, sizeof compared);
    for (size_t i = 0; i < n; i++) {
        report_cell(&cells, pv_loss_name(rows[i].loss));
        report_cell(&cells, rows[i].prevalence);
        for (int m = 0; m < COMPARED; m++)
            report_cell_number(&cells, pooled_metric(rows[i].validation, compared[m]));
    }
    report_put_cells(report, &cells, "Losses and assumed prevalences side by side", "ttnnnnnnnn", heads, false);
    report_say(report, "%s plain is log-loss followed by prior correction. A dash: undefined.",
               are_of_one(rows, n)
                   ? "All are for one population."
                   : "Each row is for the population it assumes: compare losses at one prevalence, not prevalences.");
}

typedef struct sweep_chart {
    double *x, *y; /* [n][DRAWN] */
    pv_series series[DRAWN][PV_LOSSES];
    pv_panel panel[DRAWN];
} sweep_chart;

/* One panel per metric and one line per loss; mixtures have no prevalence and are left out. */
static pv_status put_sweep_chart(cli_call *call, pv_report *report, const report_sweep_row *rows, size_t n,
                                 int classes) {
    sweep_chart c = {.x = cli_alloc(n, sizeof(double)), .y = cli_alloc(n * DRAWN, sizeof(double))};
    for (size_t i = 0; i < n; i++) {
        bool mixed = strcmp(rows[i].prevalence, "mixture") == 0;
        c.x[i] = mixed || !rows[i].validation->prevalence ? NAN : rows[i].validation->prevalence[classes - 1];
        for (int m = 0; m < DRAWN; m++)
            c.y[(size_t)m * n + i] = pooled_metric(rows[i].validation, compared[m]);
    }
    for (int m = 0; m < DRAWN; m++) {
        size_t lines = 0;
        for (size_t i = 0; i < n;) {
            size_t end = i;
            while (end < n && rows[end].loss == rows[i].loss)
                end++;
            c.series[m][lines++] = (pv_series){.mark = PV_MARK_LINE,
                                               .ink = pv_ink_named(pv_loss_name(rows[i].loss)),
                                               .name = pv_loss_name(rows[i].loss),
                                               .n = end - i,
                                               .x = c.x + i,
                                               .y = c.y + (size_t)m * n + i,
                                               .size = 2.2,
                                               .dashed = pv_loss_of_design(rows[i].loss)};
            i = end;
        }
        c.panel[m] = (pv_panel){.title = compared[m],
                                .series = c.series[m],
                                .n_series = lines,
                                .x = {.label = "prevalence assumed", .log = true},
                                .y = {.label = compared[m]},
                                .height = 260};
    }
    char text[200];
    snprintf(text, sizeof text, "Evaluated on n = %zu rows%s", rows[0].validation->data->rows,
             are_of_one(rows, n) ? ". Flat lines mean that the assumed prevalence matters little."
                                 : ", each point in the population that it assumes.");
    pv_figure figure = {.name = "sweep",
                        .title = "Effect of the assumed prevalence and of the loss.",
                        .text = text,
                        .panel = c.panel,
                        .panels = DRAWN};
    pv_status status = pv_report_put_figure(call->ctx, report, &figure);
    free(c.x);
    free(c.y);
    return status;
}

/* If populations differ, only rows with that of the first prevalence can be compared. */
static bool can_compare(const report_sweep_row *rows, size_t n, size_t row) {
    return are_of_one(rows, n) || strcmp(rows[row].prevalence, rows[0].prevalence) == 0;
}

size_t report_best(const report_sweep_row *rows, size_t n) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (can_compare(rows, n, i) &&
            pooled_metric(rows[i].validation, "holdout_nll") < pooled_metric(rows[best].validation, "holdout_nll"))
            best = i;
    return best;
}

int report_put_sweep(cli_call *call, pv_report *report, const report_sweep_row *rows, size_t n, int classes) {
    size_t best = report_best(rows, n);
    double lowest = pooled_metric(rows[best].validation, "holdout_nll"), highest = lowest;
    for (size_t i = 0; i < n; i++)
        if (can_compare(rows, n, i))
            highest = fmax(highest, pooled_metric(rows[i].validation, "holdout_nll"));
    pv_report_section(report, "sweep-table", "Assumed prevalences and losses");
    char assumed[200], prevalence[160];
    bool mixed = strcmp(rows[best].prevalence, "mixture") == 0;
    pv_text_short(rows[best].prevalence, 40, prevalence, sizeof prevalence);
    snprintf(assumed, sizeof assumed, "%s%s",
             mixed             ? "as a mixture over the prevalences"
             : rows[best].odds ? "at the stated prevalences with "
                               : "at an assumed prevalence of ",
             mixed ? "" : prevalence);
    report_say(report,
               "%s %s %s has the lowest held-out log-loss, %.4g; the highest is %.4g. The following sections are about "
               "that model.",
               are_of_one(rows, n) ? "Of all models," : "At the first of the prevalences,",
               pv_loss_name(rows[best].loss), assumed, lowest, highest);
    pv_status status = put_sweep_chart(call, report, rows, n, classes);
    put_sweep_table(report, rows, n);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}
