/* prevail cv: how good a model would be, by cross-validation. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct cv_options {
    cli_roles roles;
    pv_fit_options fit;
    int64_t folds, repeats;
    const char *population;
    const char *output;
    cli_running running;
} cv_options;

static const pv_option cv_table[] = {
    {"folds", PV_OPTION_INT, offsetof(cv_options, folds), "3", 2, 1e6, NULL, "K",
     "Parts the rows are split into, label by label; each is predicted by a model fitted to the others."},
    {"repeats", PV_OPTION_INT, offsetof(cv_options, repeats), "1", 1, 1e5, NULL, "R",
     "Do it so often, with other folds each time."},
    CLI_OPTION_GROUP(cv_options, roles.group),
    {"population", PV_OPTION_TEXT, offsetof(cv_options, population), "true", 0, 0, NULL, "NAME",
     "The population the judged probabilities are to hold in: true, known:P or design, as in prevail predict. nell, "
     "nell_upper, holdout_nll and information_gain do not depend on it."},
    CLI_OPTION_END};

static const pv_option run_table[] = {
    CLI_OPTION_OUTPUT(cv_options, output, "Write the out-of-fold predictions there, as CSV."),
    CLI_OPTION_THREADS(cv_options, running.threads),
    CLI_OPTION_JSON(cv_options, running.json, "Print one JSON object instead of tables."),
    CLI_OPTION_QUIET(cv_options, running.quiet), CLI_OPTION_END};

/* ---- predictions ------------------------------------------------------------------------------------------------- */

static void write_header(FILE *out, const cv_options *options, const cli_training *training) {
    pv_csv_field(out, options->roles.roles.id ? options->roles.roles.id : "row");
    fputs(options->repeats > 1 ? ",repeat__,fold__,observed__" : ",fold__,observed__", out);
    for (int y = 0; y < training->data->classes; y++) {
        size_t size = strlen(training->labels[y]) + 4;
        char *name = cli_alloc(size, 1);
        snprintf(name, size, "p__%s", training->labels[y]);
        fputc(',', out);
        pv_csv_field(out, name);
        free(name);
    }
    fputs(",decision__\n", out);
}

static void write_row(FILE *out, const cv_options *options, const cli_training *training, const pv_column *id,
                      const pv_validation *v, size_t repeat, size_t i) {
    size_t row = training->data->table_row[i], classes = (size_t)training->data->classes, best = 0;
    const double *log_p = v->log_p + (repeat * v->data->rows + i) * classes;
    if (id)
        pv_csv_field(out, id->code[row] >= 0 ? id->level[id->code[row]] : "");
    else
        fprintf(out, "%zu", row + 1);
    if (options->repeats > 1)
        fprintf(out, ",%zu", repeat + 1);
    fprintf(out, ",%d,", (int)v->fold[repeat * v->data->rows + i] + 1);
    pv_csv_field(out, training->labels[training->data->label[i]]);
    for (size_t y = 0; y < classes; y++) {
        char number[32];
        pv_format_double(exp(log_p[y]), number, sizeof number);
        fprintf(out, ",%s", number);
        if (log_p[y] > log_p[best])
            best = y;
    }
    fputc(',', out);
    pv_csv_field(out, training->labels[best]);
    fputc('\n', out);
}

static int write_predictions(cli_call *call, const cv_options *options, const cli_training *training,
                             const pv_validation *v) {
    const pv_column *id = NULL;
    size_t at;
    pv_status status = PV_OK;
    if (options->roles.roles.id) {
        status = pv_table_find(call->ctx, training->table, "--id", options->roles.roles.id, &at);
        id = status == PV_OK ? &training->table->column[at] : NULL; /* read as text */
    }
    pv_output output = {0};
    if (status == PV_OK)
        status = pv_output_open(call->ctx, options->output, &output);
    if (status == PV_OK) {
        write_header(output.stream, options, training);
        for (size_t r = 0; r < v->repeats; r++)
            for (size_t i = 0; i < v->data->rows; i++)
                write_row(output.stream, options, training, id, v, r, i);
        status = pv_output_commit(call->ctx, &output);
    }
    pv_output_discard(call->ctx, &output);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* ---- what is printed --------------------------------------------------------------------------------------------- */

static size_t fold_rows(const pv_validation *v, size_t repeat, size_t fold) {
    size_t count = 0;
    for (size_t i = 0; i < v->data->rows; i++)
        count += (size_t)v->fold[repeat * v->data->rows + i] == fold ? 1 : 0;
    return count;
}

static void print_json(cli_call *call, const cv_options *options, const cli_training *training,
                       const pv_validation *v) {
    json_t *object = json_object(), *folds = json_array();
    for (size_t i = 0; i < v->folds * v->repeats; i++) {
        json_t *entry = json_object(), *metrics = json_object();
        for (const pv_metric_row *row = pv_metric_table; row->name; row++)
            cli_json_set(metrics, row->name, cli_json_real(cli_metric(&v->metrics[i], row)));
        cli_json_set(entry, "repeat", json_integer((json_int_t)(i / v->folds + 1)));
        cli_json_set(entry, "fold", json_integer((json_int_t)(i % v->folds + 1)));
        cli_json_set(entry, "rows", json_integer((json_int_t)fold_rows(v, i / v->folds, i % v->folds)));
        cli_json_set(entry, "stop", cli_json_text(pv_stop_name(v->stop[i])));
        cli_json_set(entry, "metrics", metrics);
        json_array_append_new(folds, entry);
    }
    cli_json_set(object, "metrics", cli_json_validation(v));
    cli_json_set(object, "folds", folds);
    cli_json_set(object, "rows", json_integer((json_int_t)v->data->rows));
    cli_json_set(object, "dropped", json_integer((json_int_t)training->data->dropped));
    cli_json_set(object, "repeats", json_integer(options->repeats));
    cli_json_set(object, "group", options->roles.group ? cli_json_text(options->roles.group) : json_null());
    cli_json_set(object, "population", cli_json_text(options->population));
    cli_json_set(object, "prevalence",
                 v->prevalence ? cli_json_by_label(training->labels, training->data->classes, v->prevalence)
                               : json_null());
    cli_json_set(object, "data", cli_json_text(call->argument[0]));
    cli_json_set(object, "seed", json_integer(options->fit.seed));
    cli_json_set(object, "seconds", cli_json_real(v->seconds));
    cli_json_set(object, "saved", options->output ? cli_json_text(options->output) : json_null());
    cli_json_set(object, "version", cli_json_text(PV_VERSION));
    cli_json_set(object, "warnings", cli_json_warnings(call));
    cli_json_print(object);
}

/* A column a fold where they fit on a line of text. */
static void print_table(cli_call *call, const cv_options *options, const cli_training *training,
                        const pv_validation *v) {
    enum { SHOWN = 5 };
    pv_metrics mean, sd, pooled;
    pv_validation_summary(v, &mean, &sd, NULL, &pooled);
    size_t parts = v->folds * v->repeats;
    printf("%s, loss %s: %zu rows of %s in %zu folds", options->fit.model, pv_loss_name((pv_loss)options->fit.loss),
           v->data->rows, call->argument[0], v->folds);
    if (v->repeats > 1)
        printf(", %zu times", v->repeats);
    if (options->roles.group)
        printf(", by %s", options->roles.group);
    printf("; population %s\n\n  %-16s  %9s  %9s  %9s", options->population, "", "pooled", "mean", "sd");
    for (size_t i = 0; parts <= SHOWN && i < parts; i++)
        printf("  %7s%zu", v->repeats > 1 ? "part " : "fold ", i + 1);
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        char a[16], b[16], c[16];
        printf("\n  %-16s  %9s  %9s  %9s", row->name, cli_metric_text(cli_metric(&pooled, row), a, sizeof a),
               cli_metric_text(cli_metric(&mean, row), b, sizeof b),
               cli_metric_text(cli_metric(&sd, row), c, sizeof c));
        for (size_t i = 0; parts <= SHOWN && i < parts; i++)
            printf("  %8s", cli_metric_text(cli_metric(&v->metrics[i], row), a, sizeof a));
    }
    printf("\n\n  pooled: all rows together, each predicted by the model that did not see it%s\n",
           v->repeats > 1 ? ", averaged over repeats" : "");
    printf("  mean, sd: over %zu folds; -: undefined; positive: label %s\n", parts,
           training->labels[training->data->classes - 1]);
    for (size_t i = 0; i < call->warnings; i++)
        printf("%swarning: %s\n", i ? "" : "\n", call->warning[i]);
    if (options->output)
        printf("\npredictions in %s\n", options->output);
}

static int run(cli_call *call) {
    cv_options *options = call->options;
    cli_training training = {0};
    pv_validation *validation = NULL;
    call->collect = true;
    int code = cli_training_prepare(call, &options->roles, options->fit.prevalence, options->fit.model, &training);
    if (code == CLI_OK)
        code = cli_check_output(call, options->output, call->argument[0]);
    if (code == CLI_OK && options->output && strcmp(options->output, "-") == 0)
        code = cli_error(call, PV_ERR_USAGE, NULL, "-o -: the metrics go to standard output; give the name of a file");
    if (code == CLI_OK)
        code = cli_training_read(call, call->argument[0], &options->roles, &training);
    if (code == CLI_OK) {
        pv_fit_input input = cli_training_input(call, &options->roles, &training);
        pv_validation_options how = {.folds = options->folds,
                                     .repeats = options->repeats,
                                     .group = training.group,
                                     .population = options->population};
        pv_status status = pv_cross_validate(call->ctx, &input, &options->fit, &how, &validation);
        cli_progress_clear(call);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    if (code == CLI_OK && options->output)
        code = write_predictions(call, options, &training, validation);
    bool trouble = false;
    if (code == CLI_OK) {
        trouble = cli_validation_warn(call, validation, "cv");
        if (options->running.json)
            print_json(call, options, &training, validation);
        else
            print_table(call, options, &training, validation);
        if (!options->running.json)
            cli_note_dropped(call, training.data);
    }
    pv_validation_free(call->ctx, validation);
    cli_training_clear(call, &training);
    return code == CLI_OK && trouble ? CLI_PROBLEMS : code;
}

static const cli_group groups[] = {{"Validation", cv_table, 0},
                                   {"Data", cli_role_table, offsetof(cv_options, roles)},
                                   {"Images", pv_image_option_table, offsetof(cv_options, roles.image)},
                                   {"Model", pv_fit_option_table, offsetof(cv_options, fit)},
                                   {"Running", run_table, 0},
                                   {NULL, NULL, 0}};

static const cli_example examples[] = {
    {"prevail cv study.csv --target cancer --prevalence 0.01", "Three folds, the default model."},
    {"prevail cv study.csv --target cancer --prevalence 0.01 --group patient --folds 5 --repeats 10 -o oof.csv",
     "No patient in two folds; the predictions of every row by models that did not see its patient."},
    {"prevail cv study.csv --target cancer --prevalence 0.01 --loss plain --population design",
     "Plain log-loss, judged as it was trained."},
    {NULL, NULL}};

const cli_command cli_cv = {
    .name = "cv",
    .summary = "metrics by cross-validation, with every option of fit",
    .usage = "DATA --target COL --prevalence P [--folds K] [--repeats R] [options]",
    .text = "Splits the rows into folds with the label shares of the whole, fits to all folds but one and predicts "
            "that one, for each. Columns of numbers are standardised by the rows of each fit alone; the levels of text "
            "columns are those of the whole table. --seed draws the folds and goes to every fit. Several fits run at a "
            "time; results do not depend on how many.",
    .arguments = cli_training_arguments,
    .groups = groups,
    .options_size = sizeof(cv_options),
    .output =
        "A table: each metric of prevail eval pooled (all rows together, each predicted by the model that did not see "
        "it), its mean and standard deviation over folds, and its value in each fold where there are five at most.\n"
        "With --json one object: metrics (name: {value, mean, sd, folds}; value is pooled, folds how many define it), "
        "folds (a list of {repeat, fold, rows, stop, metrics (name: value)}), rows, dropped, repeats, group, "
        "population, prevalence (label: p), data, seed, seconds, saved, version, warnings. Undefined is null.\n"
        "-o CSV has the row's id or number, repeat__ (with --repeats), fold__, observed__, p__LABEL for each label, "
        "and "
        "decision__, the most probable label.\n"
        "The exit code is 3 where a fit diverged or did not converge.",
    .examples = examples,
    .run = run};
