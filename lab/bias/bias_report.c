/* Results of the bias study: text and Markdown tables, JSON, figures. */
#include "prevail/prevail.h"
#include "lab/bias/bias.h"
#include "lab/common/canvas.h"
#include "lab/common/study.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Printed tables show values, followed by the largest standard error of each column and a legend; Markdown tables show
 * errors next to the values. */
enum { COLUMNS_MAX = LEAD_QUANTITIES };

typedef struct sheet {
    FILE *out;
    bool markdown;
    int columns;
    const bias_column *column;
    double worst[COLUMNS_MAX]; /* standard errors */
} sheet;

static sheet sheet_begin(FILE *out, bool markdown, const char *first, int columns, const bias_column *column) {
    sheet s = {.out = out, .markdown = markdown, .columns = columns, .column = column};
    fprintf(out, markdown ? "| %s |" : "  %-28s", first);
    for (int i = 0; i < columns; i++)
        fprintf(out, markdown ? " %s |" : " %7s", markdown ? column[i].name : column[i].title);
    fputc('\n', out);
    for (int i = 0; markdown && i <= columns; i++)
        fputs(i ? "---|" : "|---|", out);
    if (markdown)
        fputc('\n', out);
    return s;
}

static void sheet_name(const sheet *s, const char *name) {
    fprintf(s->out, s->markdown ? "| %s |" : "  %-28s", name);
}

static void sheet_cell(sheet *s, int i, double mean, double error) {
    char text[32] = "-";
    if (!isnan(mean) && s->markdown)
        snprintf(text, sizeof text, "%.3f (%.0f)", mean, isnan(error) ? 0 : fmax(ceil(1000 * error - 1e-9), 0));
    else if (!isnan(mean))
        snprintf(text, sizeof text, "%.3f", mean);
    fprintf(s->out, s->markdown ? " %s |" : " %7s", text);
    s->worst[i] = fmax(s->worst[i], error);
    if (i + 1 == s->columns)
        fputc('\n', s->out);
}

static void sheet_end(const sheet *s) {
    if (s->markdown)
        return;
    fprintf(s->out, "  %-28s", "(largest standard error)");
    for (int i = 0; i < s->columns; i++)
        fprintf(s->out, " %7.3f", s->worst[i]);
    fputs("\n\n", s->out);
    for (int i = 0; i < s->columns; i++)
        fprintf(s->out, "  %-8s %s\n", s->column[i].title, s->column[i].text);
}

static void print_lead(FILE *out, const bias *b, bool markdown) {
    sheet s = sheet_begin(out, markdown, "rule", LEAD_QUANTITIES, lead_column);
    for (int r = 0; r < LEAD_RULES; r++) {
        sheet_name(&s, lead_rule[r]);
        for (int q = 0; q < LEAD_QUANTITIES; q++) {
            double mean, error;
            lead_mean(b, r, q, &mean, &error);
            sheet_cell(&s, q, mean, error);
        }
    }
    sheet_end(&s);
}

/* The consequences of the uncorrected model's two rates in other populations. */
static void print_elsewhere(FILE *out, const bias *b, bool markdown) {
    static const char *const names[] = {"PPV", "NPV", "called", "accuracy", "all benign"};
    double tpr, tnr, unused;
    lead_mean(b, LEAD_PLAIN, LEAD_tpr, &tpr, &unused);
    lead_mean(b, LEAD_PLAIN, LEAD_tnr, &tnr, &unused);
    fprintf(out, markdown ? "| %s |" : "  %-36s", "plain, threshold 0.5, at prevalence");
    for (int i = 0; i < 5; i++)
        fprintf(out, markdown ? " %s |" : " %10s", names[i]);
    fputs(markdown ? "\n|---|---|---|---|---|---|\n" : "\n", out);
    for (int i = 0; i < LEAD_PREVALENCES; i++) {
        double p = lead_prevalence[i], called = p * tpr + (1 - p) * (1 - tnr);
        const double v[] = {p * tpr / called, (1 - p) * tnr / (1 - called), called, p * tpr + (1 - p) * tnr, 1 - p};
        fprintf(out, markdown ? "| %g |" : "  %-36g", p);
        for (int q = 0; q < 5; q++)
            fprintf(out, markdown ? " %.4f |" : " %10.4f", v[q]);
        fputc('\n', out);
    }
    if (!markdown)
        fputs("\n  called: share called malignant; all benign: accuracy of calling no nodule malignant\n", out);
}

static void print_selection(FILE *out, const bias *b, bool markdown) {
    sheet t = sheet_begin(out, markdown, "selection, method", BIAS_QUANTITIES, bias_quantity);
    for (int s = 0; s < SELECTIONS; s++)
        for (int m = 0; m < BIAS_METHODS; m++) {
            char name[48];
            snprintf(name, sizeof name, "%s: %s", bias_selection[s], bias_method[m]);
            sheet_name(&t, name);
            for (int q = 0; q < BIAS_QUANTITIES; q++) {
                double mean, error;
                bias_mean(b, s, m, q, &mean, &error);
                sheet_cell(&t, q, mean, error);
            }
        }
    sheet_end(&t);
    for (int s = 0; s < SELECTIONS && !markdown; s++)
        fprintf(out, "%s  selection %s\n", s ? "" : "\n", bias_selection_text[s]);
}

static void print_all(FILE *out, const bias *b, bool markdown) {
    const char *mark = markdown ? "## " : "";
    fprintf(out,
            "%sA balanced sample, used where the prevalence is %g\n\n%zu data sets of 357 malignant and 322 benign "
            "nodules.%s\n\n",
            mark, b->prevalence, b->replicates,
            markdown ? " In brackets: standard error, in units of the\nlast digit." : "");
    print_lead(out, b, markdown);
    fputc('\n', out);
    print_elsewhere(out, b, markdown);
    fprintf(out,
            "\n%sThree kinds of selection\n\n%zu data sets of 1000 rows; every model is told the population's "
            "prevalence, %g.\n\n",
            mark, b->replicates, b->prevalence);
    print_selection(out, b, markdown);
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Bias: tables\n\n", out);
    print_all(out, what, true);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static pv_result *pair(double mean, double error) {
    pv_result *entry = pv__value_object();
    pv__value_set(entry, "value", pv__value_real(mean));
    pv__value_set(entry, "error", pv__value_real(error));
    return entry;
}

static pv_result *json_result(cli_call *call, const bias *b) {
    pv_result *object = pv__value_object(), *lead = pv__value_object(), *selections = pv__value_object();
    double mean, error;
    for (int r = 0; r < LEAD_RULES; r++) {
        pv_result *entry = pv__value_object();
        for (int q = 0; q < LEAD_QUANTITIES; q++) {
            lead_mean(b, r, q, &mean, &error);
            pv__value_set(entry, lead_column[q].name, pair(mean, error));
        }
        pv__value_set(lead, lead_key[r], entry);
    }
    for (int s = 0; s < SELECTIONS; s++) {
        pv_result *methods = pv__value_object();
        for (int m = 0; m < BIAS_METHODS; m++) {
            pv_result *entry = pv__value_object();
            for (int q = 0; q < BIAS_QUANTITIES; q++) {
                bias_mean(b, s, m, q, &mean, &error);
                pv__value_set(entry, bias_quantity[q].name, pair(mean, error));
            }
            pv__value_set(methods, bias_key[m], entry);
        }
        pv__value_set(selections, bias_selection[s], methods);
    }
    pv__value_set(object, "study", pv__value_text("bias"));
    pv__value_set(object, "prevalence", pv__value_real(b->prevalence));
    pv__value_set(object, "data_sets", pv__value_integer((int64_t)b->replicates));
    pv__value_set(object, "balanced_sample", lead);
    pv__value_set(object, "selection", selections);
    pv__value_set(object, "seed", pv__value_integer(b->options->shared.seed));
    pv__value_set(object, "command", pv__value_text(call->line));
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    return object;
}

/* ---- figures ----------------------------------------------------------------------------------------------------- */

/* A histogram drawn as a step function. */
static void add_steps(study_canvas *canvas, pv_ink ink, const char *name, const double *height, double scale) {
    double x[2 * LEAD_BINS], y[2 * LEAD_BINS];
    size_t n = 0;
    for (int i = 0; i < LEAD_BINS; i++)
        for (int side = 0; side < 2; side++) {
            x[n] = (double)(i + side) / LEAD_BINS;
            y[n++] = scale * height[i];
        }
    study_line(canvas, ink, name, false, n, x, y);
}

static int write_lead(cli_call *call, const bias *b) {
    static const char *const titles[] = {"A: balanced training, by class", "B: the same at the prevalence",
                                         "C: the operating point moved", "D: ig, told the prevalence"};
    study_canvas canvas = {0};
    char text[200];
    for (int i = 0; i < 4; i++) {
        const double(*h)[LEAD_BINS] = b->histogram[i == 3];
        double scale[2] = {i ? 1 - b->prevalence : 1, i ? b->prevalence : 1}, top = 0, at = i == 2 ? b->threshold : 0.5;
        for (int y = 0; y < 2; y++)
            for (int k = 0; k < LEAD_BINS; k++)
                top = fmax(top, 1.08 * scale[y] * h[y][k]);
        study_segment(&canvas, PV_INK_MUTED, "threshold", true, at, 0, at, top);
        add_steps(&canvas, PV_INK_NEGATIVE, "benign", h[0], scale[0]);
        add_steps(&canvas, PV_INK_POSITIVE, "malignant", h[1], scale[1]);
        pv_panel panel = {.title = titles[i],
                          .x = {.label = "probability of malignancy", .lo = 0, .hi = 1},
                          .y = {.label = "density", .lo = 0, .hi = top},
                          .width = 300,
                          .height = 310};
        study_panel(&canvas, &panel);
    }
    snprintf(text, sizeof text,
             "Predicted probability of malignancy, B to D at prevalence %g; a nodule above the threshold is called "
             "malignant.",
             b->prevalence);
    return study_figure(call, &canvas, "prevalence", "What a model of a balanced sample means at another prevalence.",
                        text, 4);
}

/* The line on which a model predicts 0.5. */
static void add_boundary(study_canvas *canvas, pv_ink ink, const char *name, bool dashed, const double w[3]) {
    study_segment(canvas, ink, name, dashed, -4, -(w[0] - 4 * w[1]) / w[2], 4, -(w[0] + 4 * w[1]) / w[2]);
}

static void add_scatter(study_canvas *canvas, const pv_table *sample, int label) {
    double *x = cli_alloc(sample->rows, sizeof *x), *y = cli_alloc(sample->rows, sizeof *y);
    size_t n = 0;
    for (size_t i = 0; i < sample->rows; i++)
        if (sample->column[2].number[i] == label) {
            x[n] = sample->column[0].number[i];
            y[n++] = sample->column[1].number[i];
        }
    study_points(canvas, label ? PV_INK_POSITIVE : PV_INK_NEGATIVE, label ? "positive" : "negative", n, x, y, 1.4);
    free(x);
    free(y);
}

static int write_selection(cli_call *call, const bias *b) {
    study_canvas canvas = {0};
    for (int s = 0; s < SELECTIONS; s++) {
        add_scatter(&canvas, b->sample[s], 0);
        add_scatter(&canvas, b->sample[s], 1);
        for (int m = 0; m < BIAS_METHODS; m++)
            add_boundary(&canvas, bias_ink[m], bias_method[m], false, b->line[s][m]);
        add_boundary(&canvas, PV_INK_TEXT, "the truth", true, b->truth);
        pv_panel panel = {.title = bias_selection_text[s],
                          .x = {.label = "x1", .lo = -4, .hi = 4},
                          .y = {.label = "x2", .lo = -4, .hi = 4},
                          .width = 300,
                          .height = 370};
        study_panel(&canvas, &panel);
    }
    return study_figure(call, &canvas, "selection", "One population, sampled in four ways.",
                        "Points are rows of the first data set; lines are where each model says 0.5.", SELECTIONS);
}

int bias_report(cli_call *call, const bias *b) {
    const char *folder = b->options->shared.output;
    pv_result *object = json_result(call, b);
    int code = CLI_OK;
    if (folder) {
        code = study_write_json(call, folder, "results.json", object);
        if (code == CLI_OK)
            code = study_write(call, folder, "tables.md", write_markdown, b);
        if (code == CLI_OK)
            code = write_lead(call, b);
        if (code == CLI_OK)
            code = write_selection(call, b);
    }
    if (code == CLI_OK && b->options->shared.running.json)
        cli_json_print(call, pv__value_share(object));
    else if (code == CLI_OK)
        print_all(stdout, b, false);
    pv_result_free(object);
    return code;
}
