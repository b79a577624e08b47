/* prevail predict: probabilities for the rows of a table, as CSV. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct predict_options {
    const char *population;
    double interval; /* 0: none */
    const char *id;
    int missing;
    const char *output;
    cli_running running;
} predict_options;

static const pv_option option_table[] = {
    {"population", PV_OPTION_TEXT, offsetof(predict_options, population), "true", 0, 0, NULL, "NAME",
     "Where the probabilities are to hold: true, the population with the prevalence stated in fit; known:P, one with "
     "another prevalence (P as for fit --prevalence); design, one with the label shares of the training data."},
    CLI_OPTION_INTERVAL(predict_options, interval, NULL,
                        "Adds the central interval of this level, 0.9 say, for each probability. The model needs a "
                        "posterior: fit --infer laplace, vi or hmc."),
    {"id", PV_OPTION_TEXT, offsetof(predict_options, id), NULL, 0, 0, NULL, "COL",
     "A column to copy into the first column of the output. Default: the row's number."},
    CLI_OPTION_MISSING(predict_options, missing),
    CLI_OPTION_OUTPUT(predict_options, output, "The file to write. Default: standard output."),
    CLI_OPTION_THREADS(predict_options, running.threads),
    CLI_OPTION_QUIET(predict_options, running.quiet),
    CLI_OPTION_END};

typedef struct work {
    pv_classifier *classifier;
    pv_table *table;
    pv_dataset *data;
    double *p;       /* [rows][classes] */
    double *lo, *hi; /* [rows][classes]; NULL: no interval asked for */
} work;

static int compute(cli_call *call, const predict_options *options, work *held) {
    const pv_classifier *classifier = held->classifier;
    size_t classes = (size_t)classifier->classes, count = held->data->rows * classes;
    pv_target_population population;
    double *prevalence = cli_alloc(classes, sizeof *prevalence);
    held->p = cli_alloc(count, sizeof *held->p);
    if (options->interval > 0) {
        held->lo = cli_alloc(count, sizeof *held->lo);
        held->hi = cli_alloc(count, sizeof *held->hi);
    }
    pv_status status = pv_target_population_parse(call->ctx, options->population, classifier, &population, prevalence);
    if (status == PV_OK)
        status = pv_predict_posterior(call->ctx, classifier, held->data, population,
                                      population == PV_POPULATION_KNOWN ? prevalence : NULL, options->interval, held->p,
                                      held->lo, held->hi);
    free(prevalence);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_name(FILE *out, const char *prefix, const char *label) {
    size_t size = strlen(prefix) + strlen(label) + 1;
    char *name = cli_alloc(size, 1);
    snprintf(name, size, "%s%s", prefix, label);
    fputc(',', out);
    pv_csv_field(out, name);
    free(name);
}

static void write_header(FILE *out, const work *held, const char *id) {
    const pv_classifier *classifier = held->classifier;
    pv_csv_field(out, id ? id : "row");
    for (int y = 0; y < classifier->classes; y++)
        write_name(out, "p__", classifier->labels[y]);
    for (int y = 0; held->lo && y < classifier->classes; y++) {
        write_name(out, "lo__", classifier->labels[y]);
        write_name(out, "hi__", classifier->labels[y]);
    }
    fputs(",decision__\n", out);
}

static void write_number(FILE *out, double value) {
    char number[33] = ",";
    int length = pv_format_double(value, number + 1, sizeof number - 1);
    fwrite(number, 1, (size_t)length + 1, out);
}

static void write_id(FILE *out, const pv_column *column, size_t row) {
    char number[32];
    if (!column)
        fprintf(out, "%zu", row + 1);
    else if (column->type == PV_COLUMN_TEXT)
        pv_csv_field(out, column->code[row] >= 0 ? column->level[column->code[row]] : "");
    else if (!isnan(column->number[row]))
        fwrite(number, 1, (size_t)pv_format_double(column->number[row], number, sizeof number), out);
}

static void write_rows(FILE *out, const work *held, const pv_column *id) {
    size_t classes = (size_t)held->classifier->classes;
    for (size_t n = 0; n < held->data->rows; n++) {
        const double *p = held->p + n * classes;
        size_t decision = 0;
        write_id(out, id, held->data->table_row[n]);
        for (size_t y = 0; y < classes; y++) {
            write_number(out, p[y]);
            if (p[y] > p[decision])
                decision = y;
        }
        for (size_t y = 0; held->lo && y < classes; y++) {
            write_number(out, held->lo[n * classes + y]);
            write_number(out, held->hi[n * classes + y]);
        }
        fputc(',', out);
        pv_csv_field(out, held->classifier->labels[decision]);
        fputc('\n', out);
    }
}

static int write_predictions(cli_call *call, const predict_options *options, const work *held) {
    const pv_column *id = NULL;
    if (options->id) {
        size_t column;
        pv_status status = pv_table_find(call->ctx, held->table, "--id", options->id, &column);
        if (status != PV_OK)
            return cli_fail(call, status);
        id = &held->table->column[column];
    }
    pv_output output = {0};
    bool file = options->output && strcmp(options->output, "-") != 0;
    if (file) {
        pv_status status = pv_output_open(call->ctx, options->output, &output);
        if (status != PV_OK)
            return cli_fail(call, status);
    }
    FILE *out = file ? output.stream : stdout;
    write_header(out, held, options->id);
    write_rows(out, held, id);
    if (!file)
        return CLI_OK; /* cli_finish looks after standard output */
    pv_status status = pv_output_commit(call->ctx, &output);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int run(cli_call *call) {
    predict_options *options = call->options;
    pv_roles roles = {.id = options->id, .drop_missing = options->missing == 1};
    work held = {0};
    int code = cli_check_output(call, options->output, call->argument[1]);
    if (code == CLI_OK) {
        pv_status status = pv_classifier_load(call->ctx, call->argument[0], &held.classifier);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    if (code == CLI_OK && (held.classifier->stop == PV_STOP_INTERRUPTED || held.classifier->stop == PV_STOP_DIVERGED))
        cli_note(call, "note: the fit of %s was %s; prevail diagnose says more", call->argument[0],
                 held.classifier->stop == PV_STOP_DIVERGED ? "diverging" : "interrupted");
    if (code == CLI_OK)
        code = cli_read_for_model(call, held.classifier, call->argument[1], &roles, &held.table);
    if (code == CLI_OK) {
        pv_status status = pv_dataset_apply(call->ctx, held.table, &roles, held.classifier->encoding,
                                            held.classifier->labels, held.classifier->classes, &held.data);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    if (code == CLI_OK)
        code = compute(call, options, &held);
    if (code == CLI_OK)
        code = write_predictions(call, options, &held);
    if (code == CLI_OK)
        cli_note_dropped(call, held.data);
    free(held.p);
    free(held.lo);
    free(held.hi);
    pv_dataset_free(call->ctx, held.data);
    pv_table_free(call->ctx, held.table);
    pv_classifier_free(call->ctx, held.classifier);
    return code;
}

static const cli_argument arguments[] = {{"MODEL", "A model file, written by prevail fit."},
                                         {"DATA", "A CSV file with the model's columns, in any order; others are "
                                                  "ignored. - reads standard input."},
                                         {NULL, NULL}};

static const cli_group groups[] = {{"Options", option_table, 0}, {NULL, NULL, 0}};

static const cli_example examples[] = {{"prevail predict study.model people.csv -o risks.csv",
                                        "Risks in the population stated when the model was fitted."},
                                       {"prevail predict study.model clinic.csv --population known:0.05 --id patient",
                                        "The same model where one person in twenty has the disease."},
                                       {"prevail predict study.model people.csv --interval 0.9",
                                        "Risks with their central 90 % intervals, from a model with a posterior."},
                                       {NULL, NULL}};

const cli_command cli_predict = {
    .name = "predict",
    .summary = "probabilities for the rows of a table",
    .usage = "MODEL DATA [--population true|known:P|design] [--interval LEVEL] [-o CSV] [options]",
    .text =
        "Computes the probability of each label for each row of DATA. A model fitted with --loss plain is corrected "
        "from the label shares of its data to the population asked for. With a posterior a probability is the mean of "
        "the posterior's draws.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(predict_options),
    .output = "CSV, one line for each row of DATA in its order. Columns:\n"
              "row\tThe row's number, from 1 without the header (or the column named with --id)\n"
              "p__LABEL\tThe probability of each label, in the order of the model's labels\n"
              "lo__LABEL, hi__LABEL\tWith --interval, its bounds for each label\n"
              "decision__\tThe most probable label, the first of equals\n"
              "Numbers read back exactly. The file appears under its name only when it is complete.",
    .examples = examples,
    .run = run};
