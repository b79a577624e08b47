/* The study of sets: text, JSON, a Markdown table. */
#include "lab/common/tables.h"
#include "lab/sets/sets.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 12 };
static const char *const titles[SHOWN] = {"first label",  "last label",  "at 0.001",     "at 0.1",
                                          "at 0.5",       "several",     "pooled first", "pooled last",
                                          "pooled 0.001", "wrong calls", "called",       "plug-in wrong"};
static const char *const keys[SHOWN] = {"first",        "last",    "at_0.001",     "at_0.1",
                                        "at_0.5",       "several", "pooled_first", "pooled_last",
                                        "pooled_0.001", "wrong",   "called",       "plug_in_wrong"};

static double mean_of(const sets_study *s, size_t cell, int what, double *error) {
    const sets_outcome *o = &s->outcome[cell * s->replicates];
    int last = s->truth[s->cell[cell].kind].labels - 1;
    const double *const from[SHOWN] = {&o->cover[0],  &o->cover[last], &o->at[0],     &o->at[1],
                                       &o->at[2],     &o->several,     &o->pooled[0], &o->pooled[1],
                                       &o->pooled_at, &o->wrong,       &o->called,    &o->plain};
    double mean = (double)NAN, sd = (double)NAN;
    size_t n = study_mean(from[what], s->replicates, sizeof *o / sizeof(double), &mean, &sd);
    *error = n > 1 ? sd / sqrt((double)n) : (double)NAN;
    return n > 0 ? mean : (double)NAN;
}

static void rows_text(const sets_study *s, size_t cell, char text[64]) {
    snprintf(text, 64, "%g, %g", s->cell[cell].rows[0], s->cell[cell].rows[1]);
}

static void print_all(FILE *out, const sets_study *s, bool markdown) {
    const sets_options *o = s->options;
    study_layout layout = {markdown, 8, 12, 14};
    char cells[SHOWN][STUDY_CELL], rows[64];
    fprintf(out, "%zu calibration samples of each; coverage %g; seed %llu.\n", s->replicates, o->coverage,
            (unsigned long long)s->seed);
    for (int k = 0; k < SETS_KINDS; k++)
        fprintf(out, "%s%s: %s\n", markdown ? "\n" : "  ", sets_kind_name[k], sets_kind_text[k]);
    fprintf(out, "%sCalls: refer %s at a prevalence of %g to %g, confidence 0.95\n\n", markdown ? "\n" : "", o->refer,
            o->low, o->high);
    study_table_head(out, &layout, "kind", "rows", SHOWN, titles);
    for (size_t c = 0; c < s->cells; c++) {
        for (int i = 0; i < SHOWN; i++) {
            double error, value = mean_of(s, c, i, &error);
            study_value_text(value, i == 5 || i == 10 ? (double)NAN : error, i == 5 || i == 10 ? 3 : 4, cells[i],
                             STUDY_CELL);
        }
        rows_text(s, c, rows);
        study_table_row(out, &layout, sets_kind_name[s->cell[c].kind], rows, SHOWN, cells);
    }
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Sets of labels and refer regions: tables\n\n", out);
    print_all(out, what, true);
}

static pv_result *json_all(const sets_study *s) {
    pv_result *cells = pv__value_object();
    for (size_t c = 0; c < s->cells; c++) {
        char rows[64], name[128];
        pv_result *cell = pv__value_object();
        for (int i = 0; i < SHOWN; i++) {
            double error, value = mean_of(s, c, i, &error);
            pv__value_set(cell, keys[i], pv__value_pack("rr", "value", value, "error", error));
        }
        rows_text(s, c, rows);
        snprintf(name, sizeof name, "%s, %s", sets_kind_name[s->cell[c].kind], rows);
        pv__value_set(cells, name, cell);
    }
    return pv__value_pack("tIrIvt", "study", "sets", "replicates", (int64_t)s->replicates, "coverage",
                          s->options->coverage, "seed", (int64_t)s->seed, "cells", cells, "version", PV_VERSION);
}

int sets_report(cli_call *call, const sets_study *s) {
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
