/* The study of labels with errors: text, JSON, a Markdown table. */
#include "lab/common/tables.h"
#include "lab/labels/labels.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 9 };
static const char *const titles[SHOWN] = {"slope",          "95 %",   "90 %",        "width",     "intercept 95 %",
                                          "intercept 90 %", "fitted", "naive slope", "naive 95 %"};
static const char *const keys[SHOWN] = {"slope",       "held95", "held90", "width",  "intercept95",
                                        "intercept90", "done",   "naive",  "naive95"};

static double mean_of(const labels_study *s, size_t cell, int what, double *error) {
    const labels_outcome *o = &s->outcome[cell * s->replicates];
    const double *const from[SHOWN] = {&o->slope,       &o->held95, &o->held90, &o->width,  &o->intercept95,
                                       &o->intercept90, &o->done,   &o->naive,  &o->naive95};
    double mean = NAN, sd = NAN;
    *error = NAN;
    size_t n = study_mean(from[what], s->replicates, sizeof *o / sizeof(double), &mean, &sd);
    if (n > 1 && what != 3 && what != 6)
        *error = sd / sqrt((double)n);
    return n > 0 ? mean : NAN;
}

static void cell_parts(const labels_study *s, size_t cell, char first[64], char second[64]) {
    const labels_cell *c = &s->cell[cell];
    snprintf(first, 64, "%s, %g", c->random != 0 ? "at random" : "by recorded label", c->prevalence);
    if (isinf(c->validated))
        snprintf(second, 64, "%s, known", c->predictive != 0 ? "ppv, npv" : "se, sp");
    else
        snprintf(second, 64, "%s, %g each", c->predictive != 0 ? "ppv, npv" : "se, sp", c->validated);
}

static void print_all(FILE *out, const labels_study *s, bool markdown) {
    study_layout layout = {markdown, 24, 20, 14};
    char cells[SHOWN][STUDY_CELL], first[64], second[64];
    fprintf(out, "%zu samples of %lld rows each; sensitivity %g, specificity %g; true slope %g; seed %llu.\n\n",
            s->replicates, (long long)s->options->rows, s->options->sensitivity, s->options->specificity, LABELS_SLOPE,
            (unsigned long long)s->seed);
    study_table_head(out, &layout, "rows, prevalence", "errors", SHOWN, titles);
    for (size_t c = 0; c < s->cells; c++) {
        for (int i = 0; i < SHOWN; i++) {
            double error, value = mean_of(s, c, i, &error);
            study_value_text(value, error, 3, cells[i], STUDY_CELL);
        }
        cell_parts(s, c, first, second);
        study_table_row(out, &layout, first, second, SHOWN, cells);
    }
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Labels recorded with errors: tables\n\n", out);
    print_all(out, what, true);
}

static pv_result *json_all(const labels_study *s) {
    pv_result *cells = pv__value_object();
    for (size_t c = 0; c < s->cells; c++) {
        char first[64], second[64], name[160];
        pv_result *cell = pv__value_object();
        for (int i = 0; i < SHOWN; i++) {
            double error, value = mean_of(s, c, i, &error);
            pv__value_set(cell, keys[i], pv__value_pack("rr", "value", value, "error", error));
        }
        cell_parts(s, c, first, second);
        snprintf(name, sizeof name, "%s, %s", first, second);
        pv__value_set(cells, name, cell);
    }
    return pv__value_pack("tIIrrIvt", "study", "labels", "replicates", (int64_t)s->replicates, "rows", s->options->rows,
                          "sensitivity", s->options->sensitivity, "specificity", s->options->specificity, "seed",
                          (int64_t)s->seed, "cells", cells, "version", PV_VERSION);
}

int labels_report(cli_call *call, const labels_study *s) {
    const study_options *shared = &s->options->shared;
    pv_result *object = json_all(s);
    int code = CLI_OK;
    if (shared->output)
        code = study_write_json(call, shared->output, "results.json", object);
    if (code == CLI_OK && shared->output)
        code = study_write(call, shared->output, "tables.md", write_markdown, s);
    if (code == CLI_OK && shared->running.json)
        cli_json_print(call, pv__value_share(object));
    else if (code == CLI_OK)
        print_all(stdout, s, false);
    pv_result_free(object);
    return code;
}
