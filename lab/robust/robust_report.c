/* Results of the study of misspecified models: text, JSON, a Markdown table. */
#include "lab/common/tables.h"
#include "lab/robust/robust.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct mean {
    double value, error;
} mean;

enum { SHOWN = 11 };
static const char *const titles[SHOWN] = {"intercept",  "x1",       "others",          "efficient",
                                          "weighted",   "combined", "combined/better", "test differs",
                                          "few decide", "log(x1)",  "strata matter"};
static const char *const keys[SHOWN] = {"intercept", "x1",      "others", "efficient", "weighted", "combined",
                                        "ratio",     "differs", "few",    "names",     "strata"};

/* Mean over samples of a number at the given offset in the outcome. */
static mean mean_of(const robust_study *s, size_t cell, size_t offset, double (*of)(double)) {
    double *values = cli_alloc(s->replicates, sizeof *values), sd;
    mean m = {NAN, NAN};
    for (size_t r = 0; r < s->replicates; r++) {
        const robust_outcome *o = &s->outcome[cell * s->replicates + r];
        double value;
        memcpy(&value, (const char *)o + offset, sizeof value);
        values[r] = o->done > 0 ? of(value) : NAN;
    }
    size_t n = study_mean(values, s->replicates, 1, &m.value, &sd);
    m.error = n > 1 ? sd / sqrt((double)n) : NAN;
    free(values);
    return m;
}

static double itself(double value) {
    return value;
}
static double squared(double value) {
    return value * value;
}
static double is_small(double p) {
    return p < 0.05;
}

/* Root of a mean square, with its error by the delta method. */
static mean root(mean square) {
    double value = sqrt(square.value);
    return (mean){value, square.error / (2 * value)};
}

static mean shown_of(const robust_study *s, size_t cell, int what) {
    size_t error = offsetof(robust_outcome, error), square = offsetof(robust_outcome, square);
    if (what < ROBUST_PLACES)
        return mean_of(s, cell, offsetof(robust_outcome, held) + (size_t)what * sizeof(double), itself);
    if (what < ROBUST_PLACES + ROBUST_ESTIMATES)
        return root(mean_of(s, cell, error + (size_t)(what - ROBUST_PLACES) * sizeof(double), squared));
    if (what == 7)
        return mean_of(s, cell, offsetof(robust_outcome, p_value), is_small);
    if (what > 7)
        return mean_of(s, cell, offsetof(robust_outcome, few) + (size_t)(what - 8) * sizeof(double), itself);
    double all[ROBUST_ESTIMATES];
    for (size_t e = 0; e < ROBUST_ESTIMATES; e++)
        all[e] = mean_of(s, cell, square + e * sizeof(double), itself).value;
    return (mean){sqrt(all[ROBUST_COMBINED] / fmin(all[ROBUST_EFFICIENT], all[ROBUST_WEIGHTED])), NAN};
}

static void cell_parts(const robust_study *s, size_t cell, char first[64], char second[64]) {
    const robust_population *p = &s->population[cell];
    snprintf(first, 64, "%s, %d columns", robust_truth_name[p->truth], p->columns);
    snprintf(second, 64, "%zu", p->rows);
}

static void print_all(FILE *out, const robust_study *s, bool markdown) {
    study_layout layout = {markdown, 26, 6, 15};
    char cells[SHOWN][STUDY_CELL], first[64], second[64];
    fprintf(out, "%zu samples of each, as many cases as controls; prevalence %g, known; seed %llu.\n", s->replicates,
            s->options->prevalence, (unsigned long long)s->seed);
    if (s->options->sample > 0)
        fprintf(out, "With %lld rows of the population without labels.\n", (long long)s->options->sample);
    for (int t = 0; t < ROBUST_TRUTHS; t++)
        fprintf(out, "%s%s: %s\n", markdown ? "\n" : "  ", robust_truth_name[t], robust_truth_text[t]);
    fprintf(out, "\nCoverage of 90 %% intervals; root mean square errors of x1%s", markdown ? "\n\n" : "\n");
    study_table_head(out, &layout, "population", "rows", SHOWN, titles);
    for (size_t c = 0; c < s->cells; c++) {
        for (int i = 0; i < SHOWN; i++) {
            mean found = shown_of(s, c, i);
            study_value_text(found.value, found.error, i < 6 ? 3 : 2, cells[i], STUDY_CELL);
        }
        cell_parts(s, c, first, second);
        study_table_row(out, &layout, first, second, SHOWN, cells);
    }
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Models that are wrong: tables\n\n", out);
    print_all(out, what, true);
}

static pv_result *json_all(const robust_study *s) {
    pv_result *object = pv__value_object(), *cells = pv__value_object();
    pv__value_set(object, "study", pv__value_text("robust"));
    pv__value_set(object, "replicates", pv__value_integer((int64_t)s->replicates));
    pv__value_set(object, "seed", pv__value_integer((int64_t)s->seed));
    pv__value_set(object, "prevalence", pv__value_real(s->options->prevalence));
    for (size_t c = 0; c < s->cells; c++) {
        char first[64], second[64], name[140];
        pv_result *cell = pv__value_object();
        for (int i = 0; i < SHOWN; i++) {
            mean found = shown_of(s, c, i);
            pv_result *entry = pv__value_object();
            pv__value_set(entry, "value", pv__value_real(found.value));
            pv__value_set(entry, "error", pv__value_real(found.error));
            pv__value_set(cell, keys[i], entry);
        }
        cell_parts(s, c, first, second);
        snprintf(name, sizeof name, "%s, %s", first, second);
        pv__value_set(cells, name, cell);
    }
    pv__value_set(object, "cells", cells);
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    return object;
}

int robust_report(cli_call *call, const robust_study *s) {
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
