/* The bias study's result: text and Markdown tables, JSON, pictures. */
#include "study_bias.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "svg.h"

static void cell(FILE *out, bool markdown, double mean, double error) {
    char text[32] = "-";
    if (!isnan(mean))
        snprintf(text, sizeof text, "%.3f (%.0f)", mean, isnan(error) ? 0 : fmax(ceil(1000 * error - 1e-9), 0));
    fprintf(out, markdown ? " %s |" : " %12s", text);
}

static void head(FILE *out, bool markdown, const char *first, int n, const char *const *names) {
    fprintf(out, markdown ? "| %s |" : "  %-38s", first);
    for (int i = 0; i < n; i++)
        fprintf(out, markdown ? " %s |" : " %12s", names[i]);
    fputc('\n', out);
    for (int i = 0; markdown && i <= n; i++)
        fputs(i ? "---|" : "|---|", out);
    if (markdown)
        fputc('\n', out);
}

static void print_lead(FILE *out, const bias *b, bool markdown) {
    head(out, markdown, "rule", LEAD_QUANTITIES, lead_quantity);
    for (int r = 0; r < LEAD_RULES; r++) {
        fprintf(out, markdown ? "| %s |" : "  %-38s", lead_rule[r]);
        for (int q = 0; q < LEAD_QUANTITIES; q++) {
            double mean, error;
            lead_mean(b, r, q, &mean, &error);
            cell(out, markdown, mean, error);
        }
        fputc('\n', out);
    }
}

/* What the uncorrected model's two rates come to elsewhere. */
static void print_elsewhere(FILE *out, const bias *b, bool markdown) {
    static const char *const names[] = {"PPV", "NPV", "called", "accuracy", "all benign"};
    double tpr, tnr, unused;
    lead_mean(b, LEAD_PLAIN, LEAD_tpr, &tpr, &unused);
    lead_mean(b, LEAD_PLAIN, LEAD_tnr, &tnr, &unused);
    head(out, markdown, "plain, threshold 0.5, at prevalence", 5, names);
    for (int i = 0; i < LEAD_PREVALENCES; i++) {
        double p = lead_prevalence[i], called = p * tpr + (1 - p) * (1 - tnr);
        const double v[] = {p * tpr / called, (1 - p) * tnr / (1 - called), called, p * tpr + (1 - p) * tnr, 1 - p};
        fprintf(out, markdown ? "| %g |" : "  %-38g", p);
        for (int q = 0; q < 5; q++)
            fprintf(out, markdown ? " %.4f |" : " %12.4f", v[q]);
        fputc('\n', out);
    }
}

static void print_selection(FILE *out, const bias *b, bool markdown) {
    head(out, markdown, "selection, method", BIAS_QUANTITIES, bias_quantity);
    for (int s = 0; s < SELECTIONS; s++)
        for (int m = 0; m < BIAS_METHODS; m++) {
            char name[48];
            snprintf(name, sizeof name, "%s: %s", bias_selection[s], bias_method[m]);
            fprintf(out, markdown ? "| %s |" : "  %-38s", name);
            for (int q = 0; q < BIAS_QUANTITIES; q++) {
                double mean, error;
                bias_mean(b, s, m, q, &mean, &error);
                cell(out, markdown, mean, error);
            }
            fputc('\n', out);
        }
}

static void print_all(FILE *out, const bias *b, bool markdown) {
    const char *mark = markdown ? "## " : "";
    fprintf(out,
            "%sA balanced sample, used where the prevalence is %g\n\n%zu data sets of 357 malignant and 322 benign "
            "nodules. In brackets: standard error, in units of the\nlast digit.\n\n",
            mark, b->prevalence, b->finished);
    print_lead(out, b, markdown);
    fputc('\n', out);
    print_elsewhere(out, b, markdown);
    fprintf(out,
            "\n%sThree kinds of selection\n\n%zu data sets of 1000 rows; every model is told the population's "
            "prevalence, %g.\n\n",
            mark, b->finished, b->prevalence);
    print_selection(out, b, markdown);
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Bias: tables\n\n", out);
    print_all(out, what, true);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *pair(double mean, double error) {
    json_t *entry = json_object();
    cli_json_set(entry, "value", cli_json_real(mean));
    cli_json_set(entry, "error", cli_json_real(error));
    return entry;
}

static json_t *json_result(cli_call *call, const bias *b) {
    json_t *object = json_object(), *lead = json_object(), *selections = json_object();
    double mean, error;
    for (int r = 0; r < LEAD_RULES; r++) {
        json_t *entry = json_object();
        for (int q = 0; q < LEAD_QUANTITIES; q++) {
            lead_mean(b, r, q, &mean, &error);
            cli_json_set(entry, lead_quantity[q], pair(mean, error));
        }
        cli_json_set(lead, lead_key[r], entry);
    }
    for (int s = 0; s < SELECTIONS; s++) {
        json_t *methods = json_object();
        for (int m = 0; m < BIAS_METHODS; m++) {
            json_t *entry = json_object();
            for (int q = 0; q < BIAS_QUANTITIES; q++) {
                bias_mean(b, s, m, q, &mean, &error);
                cli_json_set(entry, bias_quantity[q], pair(mean, error));
            }
            cli_json_set(methods, bias_key[m], entry);
        }
        cli_json_set(selections, bias_selection[s], methods);
    }
    cli_json_set(object, "study", cli_json_text("bias"));
    cli_json_set(object, "prevalence", cli_json_real(b->prevalence));
    cli_json_set(object, "data_sets", json_integer((json_int_t)b->finished));
    cli_json_set(object, "balanced_sample", lead);
    cli_json_set(object, "selection", selections);
    cli_json_set(object, "seed", json_integer(b->options->seed));
    cli_json_set(object, "seconds", cli_json_real(b->seconds));
    cli_json_set(object, "command", cli_json_text(call->line));
    cli_json_set(object, "version", cli_json_text(PV_VERSION));
    return object;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

static const char red[] = "#c0392b", blue[] = "#1f5fbf";

/* A histogram as a line of steps. */
static void steps(FILE *out, const svg_panel *p, const double *height, double scale, const char *colour) {
    double x[2 * LEAD_BINS + 2], y[2 * LEAD_BINS + 2];
    size_t n = 0;
    for (int i = 0; i < LEAD_BINS; i++)
        for (int side = 0; side < 2; side++) {
            x[n] = (double)(i + side) / LEAD_BINS;
            y[n++] = scale * height[i];
        }
    svg_line(out, p, n, x, y, colour, 1.8, NULL);
}

static void write_lead(FILE *out, const void *what) {
    const bias *b = what;
    static const char *const titles[] = {"A: balanced training, by class", "B: the same at the prevalence",
                                         "C: the operating point moved", "D: ig, told the prevalence"};
    svg_begin(out, 1090, 330, "Impact of the prevalence");
    char title[128];
    snprintf(title, sizeof title,
             "Predicted probability of malignancy: benign (blue) and malignant (red) nodules; B to D at prevalence %g",
             b->prevalence);
    svg_text(out, 56, 20, "start", 13, "#000", title);
    for (int i = 0; i < 4; i++) {
        svg_panel p = {56 + 262.0 * i, 60, 205, 210, 0, 1, 0, 0};
        const double(*h)[LEAD_BINS] = b->histogram[i == 3];
        double scale[2] = {i ? 1 - b->prevalence : 1, i ? b->prevalence : 1};
        for (int y = 0; y < 2; y++)
            for (int k = 0; k < LEAD_BINS; k++)
                p.y1 = fmax(p.y1, 1.08 * scale[y] * h[y][k]);
        double at = i == 2 ? b->threshold : 0.5;
        svg_segment(out, &p, at, 0, at, p.y1, "#555", 1.3, "5 3");
        steps(out, &p, h[0], scale[0], blue);
        steps(out, &p, h[1], scale[1], red);
        svg_axes(out, &p, titles[i], "probability of malignancy", "density");
    }
    svg_text(out, 56, 322, "start", 11, "#555", "Dashed: the threshold above which a nodule is called malignant.");
    svg_end(out);
}

/* Where a model says 0.5. */
static void boundary(FILE *out, const svg_panel *p, const double w[3], const char *colour, double width,
                     const char *dash) {
    const double x[2] = {p->x0, p->x1};
    const double y[2] = {-(w[0] + w[1] * x[0]) / w[2], -(w[0] + w[1] * x[1]) / w[2]};
    svg_line(out, p, 2, x, y, colour, width, dash);
}

static void scatter(FILE *out, const svg_panel *p, const pv_table *sample, int label) {
    double *x = cli_alloc(sample->rows, sizeof *x), *y = cli_alloc(sample->rows, sizeof *y);
    size_t n = 0;
    for (size_t i = 0; i < sample->rows; i++)
        if (sample->column[2].number[i] == label) {
            x[n] = sample->column[0].number[i];
            y[n++] = sample->column[1].number[i];
        }
    svg_points(out, p, n, x, y, label ? red : blue, 3, 0.35);
    free(x);
    free(y);
}

static void write_selection(FILE *out, const void *what) {
    const bias *b = what;
    svg_begin(out, 1130, 370, "Selection");
    svg_text(out, 50, 20, "start", 13, "#000",
             "One population, sampled in four ways; lines: where each model says 0.5 (first data set)");
    svg_panel page = {0, 0, 1, 1, 0, 1, 1, 0};
    for (int m = 0; m <= BIAS_METHODS; m++) {
        double x = 50 + 140.0 * m;
        svg_segment(out, &page, x, 38, x + 22, 38, m ? bias_colour[m - 1] : "#000", 2.2, m ? NULL : "6 4");
        svg_text(out, x + 27, 42, "start", 11, "#333", m ? bias_method[m - 1] : "the truth");
    }
    for (int s = 0; s < SELECTIONS; s++) {
        svg_panel p = {50 + 272.0 * s, 76, 225, 225, -4, 4, -4, 4};
        svg_clip(out, &p);
        scatter(out, &p, b->sample[s], 0);
        scatter(out, &p, b->sample[s], 1);
        for (int m = 0; m < BIAS_METHODS; m++)
            boundary(out, &p, b->line[s][m], bias_colour[m], 1.8, NULL);
        boundary(out, &p, b->truth, "#000", 2, "6 4");
        svg_unclip(out);
        svg_axes(out, &p, bias_selection_text[s], "x1", "x2");
    }
    svg_text(out, 50, 358, "start", 11, "#555", "Red: positive, blue: negative rows of the sample.");
    svg_end(out);
}

int bias_report(cli_call *call, const bias *b) {
    const char *folder = b->options->output;
    json_t *object = json_result(call, b);
    int code = CLI_OK;
    if (folder) {
        code = study_write_json(call, folder, "results.json", object);
        if (code == CLI_OK)
            code = study_write(call, folder, "tables.md", write_markdown, b);
        if (code == CLI_OK)
            code = study_write(call, folder, "prevalence.svg", write_lead, b);
        if (code == CLI_OK)
            code = study_write(call, folder, "selection.svg", write_selection, b);
    }
    if (code == CLI_OK && b->options->running.json)
        cli_json_print(json_incref(object));
    else if (code == CLI_OK)
        print_all(stdout, b, false);
    json_decref(object);
    return code;
}
