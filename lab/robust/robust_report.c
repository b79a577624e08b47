/* The study of wrong models: text, JSON, a Markdown table. */
#include "prevail/prevail.h"
#include "lab/common/study.h"
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

typedef double (*quantity)(const robust_outcome *o);

static double ratio_of(const robust_outcome *o) {
    return o->ratio;
}
static double loss_of(const robust_outcome *o) {
    return o->loss;
}
static double exponent_of(const robust_outcome *o) {
    return o->exponent;
}
static double distance_of(const robust_outcome *o) {
    return fabs(o->z);
}
static double found_wrong(const robust_outcome *o) {
    return isnan(o->p_value) ? o->p_value : o->p_value < 0.05;
}

static mean mean_of(const robust_study *s, size_t cell, int method, quantity of) {
    double *values = cli_alloc(s->replicates, sizeof *values), sd;
    mean m = {NAN, NAN};
    for (size_t r = 0; r < s->replicates; r++) {
        const robust_outcome *o = robust_at(s, cell, r, method);
        values[r] = o->done ? of(o) : NAN;
    }
    size_t n = study_mean(values, s->replicates, 1, &m.value, &sd);
    m.error = n > 1 ? sd / sqrt((double)n) : NAN;
    free(values);
    return m;
}

static mean coverage_of(const robust_study *s, size_t cell, int method, int parameter) {
    double held = 0, n = 0;
    for (size_t r = 0; r < s->replicates; r++) {
        const robust_outcome *o = robust_at(s, cell, r, method);
        held += o->done && fabs(o->place[parameter] - 0.5) <= 0.45;
        n += (double)o->done;
    }
    double share = n > 0 ? held / n : NAN;
    return (mean){share, sqrt(share * (1 - share) / n)};
}

static void cell_name(const robust_study *s, size_t cell, char *text, size_t size) {
    if (s->table)
        snprintf(text, size, "%zu", s->rows[cell]);
    else
        snprintf(text, size, "%s, %zu", robust_truth_name[s->truth[cell / s->sizes]], s->rows[cell % s->sizes]);
}

static void cell_parts(const robust_study *s, size_t cell, char first[64], char second[64]) {
    snprintf(first, 64, "%s", s->table ? "the table" : robust_truth_name[s->truth[cell / s->sizes]]);
    snprintf(second, 64, "%zu", s->rows[cell % s->sizes]);
}

/* ---- text and Markdown ------------------------------------------------------------------------------------------- */

/* Sets cells to "1.02 (1)", one for each method shown. */
static void put_means(FILE *out, const robust_study *s, const study_layout *layout, quantity of, int digits) {
    const char *titles[ROBUST_METHODS];
    char cells[ROBUST_METHODS][STUDY_CELL], first[64], second[64];
    for (int m = s->first; m < s->last; m++)
        titles[m - s->first] = robust_ways[m].name;
    study_table_head(out, layout, "population", "rows", s->last - s->first, titles);
    for (size_t c = 0; c < s->cells; c++) {
        for (int m = s->first; m < s->last; m++) {
            mean found = mean_of(s, c, m, of);
            study_value_text(found.value, found.error, digits, cells[m - s->first], STUDY_CELL);
        }
        cell_parts(s, c, first, second);
        study_table_row(out, layout, first, second, s->last - s->first, cells);
    }
}

static void put_checks(FILE *out, const robust_study *s, const study_layout *layout) {
    static const char *const titles[] = {"|z| of the mean", "test at 0.05", "exponent chosen"};
    const quantity of[] = {distance_of, found_wrong, exponent_of};
    const int from[] = {ROBUST_PROFILE, ROBUST_PROFILE, ROBUST_AUTO};
    char cells[3][STUDY_CELL], first[64], second[64];
    study_table_head(out, layout, "population", "rows", 3, titles);
    for (size_t c = 0; c < s->cells; c++) {
        for (int i = 0; i < 3; i++) {
            mean found = mean_of(s, c, from[i], of[i]);
            study_value_text(found.value, found.error, 2, cells[i], STUDY_CELL);
        }
        cell_parts(s, c, first, second);
        study_table_row(out, layout, first, second, 3, cells);
    }
}

static void put_intervals(FILE *out, const robust_study *s, const study_layout *layout) {
    static const char *const titles[ROBUST_PARAMS] = {"intercept", "x1", "x2", "x3"};
    char cells[ROBUST_PARAMS][STUDY_CELL], name[64];
    study_table_head(out, layout, "population, rows", "intervals", ROBUST_PARAMS, titles);
    for (size_t c = 0; c < s->cells; c++)
        for (int m = s->first; m < s->last; m++) {
            for (int i = 0; i < ROBUST_PARAMS; i++) {
                mean found = coverage_of(s, c, m, i);
                study_value_text(found.value, found.error, 3, cells[i], STUDY_CELL);
            }
            cell_name(s, c, name, sizeof name);
            study_table_row(out, layout, name, robust_ways[m].name, ROBUST_PARAMS, cells);
        }
}

static void print_all(FILE *out, const robust_study *s, bool markdown) {
    study_layout layout = {markdown, 18, 16, 15};
    const char *mark = markdown ? "\n## " : "\n";
    if (s->table)
        fprintf(out, "%zu samples a size from %s, as many cases as controls; seed %llu.\n", s->replicates,
                s->options->data, (unsigned long long)s->seed);
    else
        fprintf(out, "%zu samples a population and size, as many cases as controls; prevalence %g, known; seed %llu.\n",
                s->replicates, s->options->prevalence, (unsigned long long)s->seed);
    for (int t = 0; !s->table && t < s->truths; t++)
        fprintf(out, "%s%s: %s\n", markdown ? "\n" : "  ", robust_truth_name[s->truth[t]],
                robust_truth_text[s->truth[t]]);
    if (s->options->intervals) {
        fprintf(out, "%sShare of 90 %% intervals that hold the population's best line%s", mark,
                markdown ? "\n\n" : "\n");
        put_intervals(out, s, &layout);
        return;
    }
    fprintf(out, "%sMean predicted over true risk%s", mark, markdown ? "\n\n" : "\n");
    put_means(out, s, &layout, ratio_of, 3);
    fprintf(out, "%s%s%s", mark,
            s->table ? "Information about the outcome, as a share of its entropy"
                     : "Share of the information about the outcome that is lost",
            markdown ? "\n\n" : "\n");
    put_means(out, s, &layout, loss_of, 4);
    fprintf(out, "%sWhat the check says of profile%s", mark, markdown ? "\n\n" : "\n");
    put_checks(out, s, &layout);
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Models that are wrong: tables\n\n", out);
    print_all(out, what, true);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void set_mean(json_t *object, const char *name, mean m) {
    json_t *entry = cli_json_object();
    cli_json_set(entry, "value", cli_json_real(m.value));
    cli_json_set(entry, "error", cli_json_real(m.error));
    cli_json_set(object, name, entry);
}

static json_t *json_method(const robust_study *s, size_t cell, int method) {
    static const char *const names[ROBUST_PARAMS] = {"intercept", "x1", "x2", "x3"};
    json_t *object = cli_json_object(), *coverage = cli_json_object();
    size_t failed = 0;
    for (size_t r = 0; r < s->replicates; r++)
        failed += !robust_at(s, cell, r, method)->done;
    set_mean(object, "ratio", mean_of(s, cell, method, ratio_of));
    set_mean(object, s->table ? "information" : "lost", mean_of(s, cell, method, loss_of));
    set_mean(object, "exponent", mean_of(s, cell, method, exponent_of));
    set_mean(object, "distance", mean_of(s, cell, method, distance_of));
    set_mean(object, "found_wrong", mean_of(s, cell, method, found_wrong));
    cli_json_set(object, "failed", json_integer((json_int_t)failed));
    for (int i = 0; s->options->intervals && i < ROBUST_PARAMS; i++)
        set_mean(coverage, names[i], coverage_of(s, cell, method, i));
    cli_json_set(object, "coverage", coverage);
    return object;
}

static json_t *json_all(const robust_study *s) {
    json_t *object = cli_json_object(), *cells = cli_json_object();
    cli_json_set(object, "study", cli_json_text("robust"));
    cli_json_set(object, "replicates", json_integer((json_int_t)s->replicates));
    cli_json_set(object, "seed", json_integer((json_int_t)s->seed));
    cli_json_set(object, "prevalence", s->table ? json_null() : cli_json_real(s->options->prevalence));
    cli_json_set(object, "data", s->table ? cli_json_text(s->options->data) : json_null());
    for (size_t c = 0; c < s->cells; c++) {
        char name[64];
        json_t *methods = cli_json_object();
        cell_name(s, c, name, sizeof name);
        for (int m = s->first; m < s->last; m++)
            cli_json_set(methods, robust_ways[m].name, json_method(s, c, m));
        cli_json_set(cells, name, methods);
    }
    cli_json_set(object, "cells", cells);
    cli_json_set(object, "version", cli_json_text(PV_VERSION));
    return object;
}

int robust_report(cli_call *call, const robust_study *s) {
    const study_options *shared = &s->options->shared;
    json_t *object = json_all(s);
    int code = CLI_OK;
    if (shared->output)
        code = study_write_json(call, shared->output, "results.json", object);
    if (code == CLI_OK && shared->output)
        code = study_write(call, shared->output, "tables.md", write_markdown, s);
    if (code == CLI_OK && shared->running.json)
        cli_json_print(call, json_incref(object));
    else if (code == CLI_OK)
        print_all(stdout, s, false);
    json_decref(object);
    return code;
}
