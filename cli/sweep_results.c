/* The results of a sweep as a table, CSV, JSON and a report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_sections.h"
#include "cli/sweep.h"
#include "cli/classifier.h"
#include "cli/validation.h"
#include "tool/json.h"

/* ---- output ------------------------------------------------------------------------------------------------------ */

void sweep_print_json(cli_call *call, const sweep_work *w) {
    const sweep_options *options = w->options;
    pv_result *object = pv__value_object(), *results = pv__value_list();
    char *const *labels = w->training.schema->labels;
    int classes = w->training.data->classes;
    const double *observed = w->rows[0].v->observed;
    double seconds = 0;
    for (size_t i = 0; i < w->n_rows; i++) {
        const sweep_row *r = &w->rows[i];
        pv_result *entry = pv__value_object();
        pv__value_set(entry, "loss", pv__value_text(pv_loss_name(r->loss)));
        pv__value_set(entry, "assumed", pv__value_text(r->prevalence));
        pv__value_set(entry, "prevalence", cli_json_by_label(labels, classes, r->v->prevalence));
        pv__value_set(entry, "population_prevalence", cli_json_by_label(labels, classes, r->v->population));
        pv__value_set(entry, "stated_for", cli_json_by_label(labels, classes, r->v->stated ? r->v->stated : observed));
        pv__value_set(entry, "metrics", cli_json_validation(r->v));
        pv__value_set(entry, "compared_with", r->first < i ? pv__value_integer((int64_t)r->first) : pv__value_null());
        pv__value_set(entry, "differences",
                      r->first < i ? cli_json_assessment(call->ctx, &r->difference) : pv__value_null());
        pv__value_append(results, entry);
        seconds += r->v->seconds;
    }
    pv__value_set(object, "results", results);
    pv__value_set(object, "rows", pv__value_integer((int64_t)w->rows[0].v->data->rows));
    pv__value_set(object, "dropped", pv__value_integer((int64_t)w->training.data->dropped));
    pv__value_set(object, "holdout_dropped",
                  w->judged ? pv__value_integer((int64_t)w->judged->dropped) : pv__value_null());
    pv__value_set(object, "observed", cli_json_by_label(labels, classes, observed));
    pv__value_set(object, "by", pv__value_text(options->holdout ? "holdout" : "cv"));
    pv__value_set(object, "folds", options->holdout ? pv__value_null() : pv__value_integer(options->folds));
    pv__value_set(object, "repeats", options->holdout ? pv__value_null() : pv__value_integer(options->repeats));
    pv__value_set(object, "group",
                  options->roles.roles.group ? pv__value_text(options->roles.roles.group) : pv__value_null());
    pv__value_set(object, "population", pv__value_text(options->population));
    pv__value_set(object, "data", pv__value_text(call->argument[0]));
    pv__value_set(object, "holdout", options->holdout ? pv__value_text(options->holdout) : pv__value_null());
    pv__value_set(object, "seed", pv__value_integer(options->fit.seed));
    pv__value_set(object, "seconds", pv__value_real(seconds));
    pv__value_set(object, "output", options->output ? pv__value_text(options->output) : pv__value_null());
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    pv__value_set(object, "warnings", cli_json_warnings(call));
    cli_json_print(call, object);
}

static void print_metric(const pv_metrics *metrics, const char *name) {
    for (const pv_metric_row *m = pv_metric_table; m->name; m++)
        if (strcmp(m->name, name) == 0) {
            double value = pv_metric_get(metrics, m);
            char text[16];
            printf("  %9s", cli_metric_text(value, text, sizeof text));
        }
}

static void print_title(const char *name, const char *title, int classes) {
    for (const pv_metric_row *m = pv_metric_table; m->name; m++)
        if (strcmp(m->name, name) == 0)
            printf("  %*s%s", pv_metric_depends(m, classes) ? 8 : 9, title, pv_metric_depends(m, classes) ? "*" : "");
}

static bool has_plain(const sweep_work *w) {
    for (size_t l = 0; l < w->n_losses; l++)
        if (w->losses[l] == PV_LOSS_PLAIN)
            return true;
    return false;
}

static void print_footer(const sweep_work *w) {
    const pv_validation **each = cli_alloc(w->n_rows, sizeof *each);
    for (size_t i = 0; i < w->n_rows; i++)
        each[i] = w->rows[i].v;
    printf("\n\n  log_loss: log-loss; gain: information_gain; E/O: calibration_ratio; precision: average_precision\n"
           "  %spositive: label %s; -: undefined\n",
           has_plain(w) ? "plain is prior-corrected; " : "", w->training.schema->labels[w->training.data->classes - 1]);
    cli_print_stated(w->n_rows, each);
    if (each[0]->stated && w->prevalences > 1 && strcmp(w->options->population, "true") == 0)
        printf("  Compare losses only at the same prevalence. With --population design, all can be compared.\n");
    free(each);
}

/* value (lo to hi) */
static void print_difference(const pv_assessment *difference, const char *name) {
    for (const pv_metric_row *m = pv_metric_table; m->name; m++)
        if (strcmp(m->name, name) == 0) {
            char text[3][16];
            const pv_metrics *of[] = {&difference->value, &difference->lo, &difference->hi};
            for (int i = 0; i < 3; i++)
                cli_metric_text(pv_metric_get(of[i], m), text[i], sizeof text[i]);
            printf("  %9s %10s %10s", text[0], text[1], text[2]);
        }
}

static void print_differences(const sweep_work *w, int width) {
    static const char *const shown[] = {"log_loss", "brier", "auc"};
    enum { SHOWN = sizeof shown / sizeof *shown };
    bool any = false;
    for (size_t i = 0; i < w->n_rows; i++)
        any = any || w->rows[i].first < i;
    if (!any)
        return;
    printf("\n  Differences on the same rows, with %g %% intervals:\n  %-5s  %-*s", 100 * CLI_LEVEL, "loss", width,
           "prevalence");
    for (size_t m = 0; m < SHOWN; m++)
        printf("  %9s %10s %10s", shown[m], "lo", "hi");
    printf("  from\n");
    for (size_t i = 0; i < w->n_rows; i++) {
        const sweep_row *r = &w->rows[i], *first = &w->rows[r->first];
        if (first == r)
            continue;
        printf("  %-5s  %-*s", pv_loss_name(r->loss), width, r->prevalence);
        for (size_t m = 0; m < SHOWN; m++)
            print_difference(&r->difference, shown[m]);
        printf("  %s at %s\n", pv_loss_name(first->loss), first->prevalence);
    }
}

void sweep_print_table(cli_call *call, const sweep_work *w) {
    static const char *const shown[] = {"log_loss",          "information_gain",  "brier",
                                        "calibration_ratio", "average_precision", "auc"};
    static const char *const titles[] = {"log_loss", "gain", "brier", "E/O", "precision", "auc"};
    enum { SHOWN = sizeof shown / sizeof *shown };
    const sweep_options *options = w->options;
    printf("%s rows of %s, ", pv_group_digits((double)w->rows[0].v->data->rows).text,
           options->holdout ? options->holdout : call->argument[0]);
    if (options->holdout)
        printf("models of %s", call->argument[0]);
    else
        printf("%lld folds, %lld repeat%s", (long long)options->folds, (long long)options->repeats,
               options->repeats == 1 ? "" : "s");
    int width = 10;
    for (size_t i = 0; i < w->n_rows; i++)
        if (strlen(w->rows[i].prevalence) > (size_t)width)
            width = (int)strlen(w->rows[i].prevalence);
    printf("; population %s\n\n", options->population);
    const pv_validation **each = cli_alloc(w->n_rows, sizeof *each);
    for (size_t i = 0; i < w->n_rows; i++)
        each[i] = w->rows[i].v;
    cli_print_misleading(w->n_rows, each, w->training.schema->labels);
    free(each);
    printf("  %-5s  %-*s", "loss", width, "prevalence");
    for (size_t m = 0; m < SHOWN; m++)
        print_title(shown[m], titles[m], w->training.data->classes);
    for (size_t i = 0; i < w->n_rows; i++) {
        const sweep_row *r = &w->rows[i];
        pv_metrics pooled;
        pv_validation_summary(r->v, NULL, NULL, NULL, &pooled);
        printf("\n%s  %-5s  %-*s", i && r->loss != r[-1].loss ? "\n" : "", pv_loss_name(r->loss), width, r->prevalence);
        for (size_t m = 0; m < SHOWN; m++)
            print_metric(&pooled, shown[m]);
    }
    print_footer(w);
    print_differences(w, width);
    for (size_t i = 0; i < call->warnings; i++)
        printf("%swarning: %s\n", i ? "" : "\n", call->warning[i]);
    if (options->output)
        printf("\nall metrics in %s\n", options->output);
}

static void write_value(FILE *out, double value) {
    char number[32];
    fputc(',', out);
    if (!isnan(value)) {
        pv_format_double(value, number, sizeof number);
        fputs(number, out);
    }
}

int sweep_write_csv(cli_call *call, const sweep_work *w) {
    pv_output output = {0};
    pv_status status = pv_output_open(call->ctx, w->options->output, &output);
    if (status == PV_OK) {
        fputs("loss,prevalence", output.stream);
        for (const pv_metric_row *m = pv_metric_table; m->name; m++)
            fprintf(output.stream, ",%s", m->name);
        for (const pv_metric_row *m = pv_metric_table; m->name; m++)
            fprintf(output.stream, ",sd__%s", m->name);
        fputc('\n', output.stream);
        for (size_t i = 0; i < w->n_rows; i++) {
            pv_metrics pooled, sd;
            pv_validation_summary(w->rows[i].v, NULL, &sd, NULL, &pooled);
            fprintf(output.stream, "%s,", pv_loss_name(w->rows[i].loss));
            pv_csv_field(output.stream, w->rows[i].prevalence);
            for (const pv_metric_row *m = pv_metric_table; m->name; m++)
                write_value(output.stream, pv_metric_get(&pooled, m));
            for (const pv_metric_row *m = pv_metric_table; m->name; m++)
                write_value(output.stream, pv_metric_get(&sd, m));
            fputc('\n', output.stream);
        }
        status = pv_output_commit(call->ctx, &output);
    }
    pv_output_discard(call->ctx, &output);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static int fill_report(cli_call *call, const sweep_work *w, pv_report *report, const report_sweep_row *rows) {
    const sweep_options *options = w->options;
    int classes = w->training.data->classes;
    const report_sweep_row *best = &rows[report_best(rows, w->n_rows)];
    pv_report_section(report, "fit", "What was evaluated");
    report_say(report,
               "A %.60s model was fitted with each loss at each assumed prevalence, and evaluated %s. Probabilities "
               "are for the population %.60s.",
               options->fit.model, options->holdout ? "on held-out rows" : "by cross-validation", options->population);
    report_put_warnings(call, report);
    int code = report_put_sweep(call, report, rows, w->n_rows, classes);
    report_validated validated = {
        .labels = w->training.schema->labels, .target = options->roles.roles.target, .validation = best->validation};
    if (code == CLI_OK)
        code = report_put_validated(call, report, &validated, options->fit.seed);
    if (code == CLI_OK)
        report_put_source(call, report, w->training.table, options->holdout, options->fit.seed);
    return code;
}

int sweep_write_report(cli_call *call, const sweep_work *w) {
    pv_report *report = NULL;
    char data[200], title[300], lead[300];
    pv_text_short(call->argument[0], 60, data, sizeof data);
    snprintf(title, sizeof title, "Assumed prevalences and losses on %s", data);
    snprintf(lead, sizeof lead, "%s rows evaluated. prevail " PV_VERSION,
             pv_group_digits((double)w->rows[0].v->data->rows).text);
    report_sweep_row *rows = cli_alloc(w->n_rows, sizeof *rows);
    for (size_t i = 0; i < w->n_rows; i++)
        rows[i] = (report_sweep_row){.loss = w->rows[i].loss,
                                     .prevalence = w->rows[i].prevalence,
                                     .odds = w->odds != NULL,
                                     .validation = w->rows[i].v};
    int code = report_begin(call, &w->options->report, title, lead, &report);
    if (code == CLI_OK)
        code = report_end(call, &w->options->report, report, fill_report(call, w, report, rows));
    free(rows);
    return code;
}
