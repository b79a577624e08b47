/* The study of sample sizes: text, JSON, a Markdown table. */
#include "lab/common/tables.h"
#include "lab/size/size.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>

enum { MEAN, SPREAD, COLUMNS = 3 };
#define TITLE(name, key, title, how) title,
#define KEY(name, key, title, how) key,
#define HOW(name, key, title, how) how,
static const char *const titles[] = {SIZE_QUANTITY_LIST(TITLE)}, *const keys[] = {SIZE_QUANTITY_LIST(KEY)};
static const int hows[] = {SIZE_QUANTITY_LIST(HOW)};

/* The simulated figure, its error, and the share of samples in it. */
static double simulated(const size_study *s, size_t cell, int q, double *error, double *share) {
    const size_outcome *o = &s->outcome[cell * s->replicates];
    double mean, sd;
    size_t n = study_mean(&o->value[q], s->replicates, sizeof *o / sizeof(double), &mean, &sd);
    *share = (double)n / (double)s->replicates;
    *error = n > 1 ? sd / sqrt(hows[q] == MEAN ? (double)n : 2 * ((double)n - 1)) : NAN;
    return n < 2 ? NAN : hows[q] == MEAN ? mean : sd;
}

static void print_all(FILE *out, const size_study *s, bool markdown) {
    static const char *const heads[COLUMNS] = {"planned", "simulated", "simulated/planned"};
    study_layout layout = {markdown, 34, 26, 19};
    const size_options *o = s->options;
    fprintf(out,
            "%zu samples of each design; prevalence %g from %g people, %lld parameters, slope %g, threshold %g, an "
            "exposure of %g with odds ratio %g; seed %llu.\n\n",
            s->replicates, o->prevalence, o->prevalence_n, (long long)o->parameters, o->slope, o->threshold,
            o->exposure, o->odds_ratio, (unsigned long long)s->seed);
    for (size_t c = 0; c < s->cells; c++) {
        const size_cell *cell = &s->cell[c];
        char design[STUDY_CELL * 3], cells[COLUMNS][STUDY_CELL];
        snprintf(design, sizeof design, "AUC %g, %.0f and %.0f", cell->auc, cell->cases, cell->controls);
        if (c == 0 || !markdown)
            study_table_head(out, &layout, "", "cases and controls", COLUMNS, heads);
        for (int q = 0; q < SIZE_QUANTITIES; q++) {
            double error, share, value = simulated(s, c, q, &error, &share), planned = cell->predicted[q];
            int digits = value < 0.1 ? 4 : 3;
            study_value_text(planned, NAN, digits, cells[0], STUDY_CELL);
            study_value_text(value, error, digits, cells[1], STUDY_CELL);
            study_value_text(value / planned, error / planned, 3, cells[2], STUDY_CELL);
            study_table_row(out, &layout, titles[q], design, COLUMNS, cells);
        }
    }
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Sample sizes: tables\n\n", out);
    print_all(out, what, true);
}

static pv_result *json_all(const size_study *s) {
    pv_result *cells = pv__value_list();
    for (size_t c = 0; c < s->cells; c++) {
        const size_cell *cell = &s->cell[c];
        pv_result *made = pv__value_pack("rrrr", "auc", cell->auc, "ratio", cell->ratio, "cases", cell->cases,
                                         "controls", cell->controls);
        for (int q = 0; q < SIZE_QUANTITIES; q++) {
            double error, share, value = simulated(s, c, q, &error, &share);
            pv__value_set(made, keys[q],
                          pv__value_pack("rrrr", "planned", cell->predicted[q], "simulated", value, "error", error,
                                         "share", share));
        }
        pv__value_append(cells, made);
    }
    return pv__value_pack("tIIvt", "study", "size", "replicates", (int64_t)s->replicates, "seed", (int64_t)s->seed,
                          "cells", cells, "version", PV_VERSION);
}

int size_report(cli_call *call, const size_study *s) {
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
