/* The study of rates: text, JSON, a Markdown table. */
#include "lab/common/tables.h"
#include "lab/rate/rate.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN = 9 };
static const char *const titles[SHOWN] = {"rate",       "mean",       "coverage",       "below",        "width",
                                          "peer holds", "peer width", "rows for width", "width reached"};
static const char *const keys[SHOWN] = {"rate",      "value",      "coverage", "below",  "width",
                                        "peer_held", "peer_width", "planned",  "reached"};

static double mean_of(const rate_study *s, size_t cell, int what, double *error) {
    const rate_outcome *o = &s->outcome[cell * s->replicates];
    const double *const from[SHOWN] = {NULL,          &o->value,      &o->held,    &o->below,  &o->width,
                                       &o->peer_held, &o->peer_width, &o->planned, &o->reached};
    double mean = s->cell[cell].rate, sd = NAN;
    *error = NAN;
    if (!from[what])
        return mean;
    size_t n = study_mean(from[what], s->replicates, sizeof *o / sizeof(double), &mean, &sd);
    if (n > 1 && (what == 2 || what == 3 || what == 5))
        *error = sd / sqrt((double)n);
    return n > 0 ? mean : NAN;
}

static void cell_parts(const rate_study *s, size_t cell, char first[64], char second[64]) {
    const rate_cell *c = &s->cell[cell];
    snprintf(first, 64, "%s, by %s", rate_kind_name[c->kind], rate_by_name[c->by]);
    if (c->by == RATE_AT_RANDOM)
        snprintf(second, 64, "%g", c->gold[0] + c->gold[1]);
    else
        snprintf(second, 64, "%g, %g", c->gold[0], c->gold[1]);
}

static int columns(const rate_study *s) {
    return s->options->width > 0 ? SHOWN : SHOWN - 2;
}

static void print_all(FILE *out, const rate_study *s, bool markdown) {
    study_layout layout = {markdown, 20, 9, 14};
    char cells[SHOWN][STUDY_CELL], first[64], second[64];
    fprintf(out, "%zu samples of %lld rows each; seed %llu.\n", s->replicates, (long long)s->options->rows,
            (unsigned long long)s->seed);
    for (int k = 0; k < RATE_KINDS; k++)
        fprintf(out, "%s%s: %s\n", markdown ? "\n" : "  ", rate_kind_name[k], rate_kind_text[k]);
    if (s->options->width > 0)
        fprintf(out, "%sGold rows for a width of %g.\n", markdown ? "\n" : "", s->options->width);
    fprintf(out, "\nCoverage of 95 %% intervals%s", markdown ? "\n\n" : "\n");
    study_table_head(out, &layout, "kind", "gold rows", columns(s), titles);
    for (size_t c = 0; c < s->cells; c++) {
        for (int i = 0; i < columns(s); i++) {
            double error, value = mean_of(s, c, i, &error);
            if (i == 7 && isfinite(value))
                snprintf(cells[i], STUDY_CELL, "%.0f", value);
            else
                study_value_text(value, error, i == 0 ? 2 : i == 1 || i == 4 || i >= 6 ? 4 : 3, cells[i], STUDY_CELL);
        }
        cell_parts(s, c, first, second);
        study_table_row(out, &layout, first, second, columns(s), cells);
    }
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Rates by imperfect verdicts: tables\n\n", out);
    print_all(out, what, true);
}

static pv_result *json_all(const rate_study *s) {
    pv_result *cells = pv__value_object();
    for (size_t c = 0; c < s->cells; c++) {
        char first[64], second[64], name[160];
        pv_result *cell = pv__value_object();
        for (int i = 0; i < columns(s); i++) {
            double error, value = mean_of(s, c, i, &error);
            pv__value_set(cell, keys[i], pv__value_pack("rr", "value", value, "error", error));
        }
        cell_parts(s, c, first, second);
        snprintf(name, sizeof name, "%s, %s, %g", first, second, s->cell[c].rate);
        pv__value_set(cells, name, cell);
    }
    return pv__value_pack("tIIIvt", "study", "rate", "replicates", (int64_t)s->replicates, "rows", s->options->rows,
                          "seed", (int64_t)s->seed, "cells", cells, "version", PV_VERSION);
}

int rate_report(cli_call *call, const rate_study *s) {
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
