/* The study of effects: text, JSON, a Markdown table. */
#include "lab/common/tables.h"
#include "lab/effect/effect.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 11 };
static const char *const titles[SHOWN] = {"prevalence", "truth", "closest",      "mean",
                                          "difference", "ratio", "attributable", "true difference",
                                          "if linear",  "width", "width, linear"};
static const char *const keys[SHOWN] = {"prevalence",   "truth",           "closest", "mean",  "difference",  "ratio",
                                        "attributable", "true_difference", "linear",  "width", "linear_width"};

static bool is_share(int what) {
    return what >= 4 && what <= 8;
}

static double mean_of(const effect_study *s, size_t cell, int what, double *error) {
    const effect_outcome *o = &s->outcome[cell * s->replicates];
    enum { KNOWN = 3 };
    const double *const from[SHOWN - KNOWN] = {&o->value[0], &o->held[0],   &o->held[1], &o->held[2],
                                               &o->truly[0], &o->linear[0], &o->width,   &o->linear_width};
    const double known[KNOWN] = {s->cell[cell].prevalence, s->cell[cell].truth[0], s->cell[cell].closest[0]};
    double mean, sd = (double)NAN;
    *error = (double)NAN;
    if (what < KNOWN)
        return known[what];
    size_t n = study_mean(from[what - KNOWN], s->replicates, sizeof *o / sizeof(double), &mean, &sd);
    if (n > 1 && is_share(what))
        *error = sd / sqrt((double)n);
    return n > 0 ? mean : (double)NAN;
}

static void print_all(FILE *out, const effect_study *s, bool markdown) {
    study_layout layout = {markdown, 10, 9, 14};
    char cells[SHOWN][STUDY_CELL], second[64];
    fprintf(out, "%zu samples of each; seed %llu.\n", s->replicates, (unsigned long long)s->seed);
    for (int k = 0; k < EFFECT_KINDS; k++)
        fprintf(out, "%s%s: %s\n", markdown ? "\n" : "  ", effect_kind_name[k], effect_kind_text[k]);
    fprintf(out, "\nRisk differences, and coverage of 95 %% intervals%s", markdown ? "\n\n" : "\n");
    study_table_head(out, &layout, "kind", "rows", SHOWN, titles);
    for (size_t c = 0; c < s->cells; c++) {
        for (int i = 0; i < SHOWN; i++) {
            double error, value = mean_of(s, c, i, &error);
            study_value_text(value, error, i == 0 ? 2 : i < 4 ? 5 : is_share(i) ? 3 : 2, cells[i], STUDY_CELL);
        }
        snprintf(second, sizeof second, "%zu", s->cell[c].rows);
        study_table_row(out, &layout, effect_kind_name[s->cell[c].kind], second, SHOWN, cells);
    }
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Effects in the population: tables\n\n", out);
    print_all(out, what, true);
}

static pv_result *json_all(const effect_study *s) {
    pv_result *cells = pv__value_object();
    for (size_t c = 0; c < s->cells; c++) {
        char name[160];
        pv_result *cell = pv__value_object();
        for (int i = 0; i < SHOWN; i++) {
            double error, value = mean_of(s, c, i, &error);
            pv__value_set(cell, keys[i], pv__value_pack("rr", "value", value, "error", error));
        }
        snprintf(name, sizeof name, "%s, %zu, %g", effect_kind_name[s->cell[c].kind], s->cell[c].rows,
                 s->cell[c].prevalence);
        pv__value_set(cells, name, cell);
    }
    return pv__value_pack("tIIvt", "study", "effect", "replicates", (int64_t)s->replicates, "seed", (int64_t)s->seed,
                          "cells", cells, "version", PV_VERSION);
}

int effect_report(cli_call *call, const effect_study *s) {
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
