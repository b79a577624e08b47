/* prevail eval: how good a model's predictions are on labelled data. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct eval_options {
    const char *target;
    const char *population;
    const char *weights;
    int missing;
    cli_running running;
} eval_options;

static const pv_option option_table[] = {
    {"target", PV_OPTION_TEXT, offsetof(eval_options, target), NULL, 0, 0, NULL, "COL",
     "The column with the observed labels. Default: the name it had in fit."},
    {"population", PV_OPTION_TEXT, offsetof(eval_options, population), "true", 0, 0, NULL, "NAME",
     "The population the judged probabilities are to hold in: true, known:P or design, as in prevail predict. nell, "
     "nell_upper, holdout_nll and information_gain do not depend on it."},
    {"weights", PV_OPTION_TEXT, offsetof(eval_options, weights), NULL, 0, 0, NULL, "COL",
     "A column of counts or weights, one number a row, not negative."},
    CLI_OPTION_MISSING(eval_options, missing),
    CLI_OPTION_THREADS(eval_options, running.threads),
    CLI_OPTION_JSON(eval_options, running.json, "Print one JSON object instead of a table."),
    CLI_OPTION_QUIET(eval_options, running.quiet),
    CLI_OPTION_END};

typedef struct work {
    pv_classifier *classifier;
    pv_table *table;
    pv_dataset *data;
    double *loglik;       /* [rows][classes], in the true population */
    double *log_p;        /* [rows][classes], in the population asked for */
    double *prevalence;   /* [classes], of the population asked for */
    double *log_marginal; /* [classes], of the likelihood in the true population */
    pv_metrics metrics;
} work;

/* The true population: the stated prevalence, or that of the training data where none was stated. */
static const double *true_prevalence(const pv_classifier *classifier) {
    return classifier->prevalence ? classifier->prevalence : classifier->design;
}

/* log of the probabilities in a population; with a posterior, of their mean over its draws. */
static pv_status predict_log(cli_call *call, const work *held, pv_target_population population,
                             const double *prevalence, double *log_p) {
    size_t count = held->data->rows * (size_t)held->classifier->classes;
    if (!held->classifier->posterior) {
        pv_status status = pv_predict_loglik(call->ctx, held->classifier, held->data, log_p);
        if (status == PV_OK)
            pv_predict_population(held->classifier, population, prevalence, held->data->rows, log_p, log_p);
        return status;
    }
    pv_status status =
        pv_predict_posterior(call->ctx, held->classifier, held->data, population, prevalence, 0, log_p, NULL, NULL);
    for (size_t i = 0; status == PV_OK && i < count; i++)
        log_p[i] = log(log_p[i]);
    return status;
}

static pv_status predict(cli_call *call, const eval_options *options, work *held) {
    const pv_classifier *classifier = held->classifier;
    size_t classes = (size_t)classifier->classes, count = held->data->rows * classes;
    held->prevalence = cli_alloc(classes, sizeof(double));
    held->loglik = cli_alloc(count, sizeof(double));
    held->log_p = cli_alloc(count, sizeof(double));
    pv_target_population population;
    pv_status status =
        pv_target_population_parse(call->ctx, options->population, classifier, &population, held->prevalence);
    if (status == PV_OK)
        status = predict_log(call, held, PV_POPULATION_TRUE, NULL, held->loglik);
    if (status == PV_OK && population == PV_POPULATION_TRUE)
        memcpy(held->log_p, held->loglik, count * sizeof(double));
    else if (status == PV_OK)
        status = predict_log(call, held, population, population == PV_POPULATION_KNOWN ? held->prevalence : NULL,
                             held->log_p);
    if (population != PV_POPULATION_KNOWN && status == PV_OK)
        memcpy(held->prevalence, population == PV_POPULATION_TRUE ? true_prevalence(classifier) : classifier->design,
               classes * sizeof(double));
    return status;
}

/* For plain, the likelihood in the true population is the corrected one, whose marginal is the prevalence by
 * construction; ig and iw have their own, which with a posterior is the mean over its draws, as the predictions are. */
static double *marginal_logs(const pv_classifier *classifier) {
    size_t classes = (size_t)classifier->classes;
    if (classifier->loss == PV_LOSS_PLAIN)
        return cli_log(true_prevalence(classifier), classifier->classes);
    double *logs = cli_alloc(classes, sizeof *logs);
    if (!classifier->posterior) {
        memcpy(logs, classifier->log_marginal, classes * sizeof *logs);
        return logs;
    }
    cli_spread *marginal = cli_alloc(classes, sizeof *marginal);
    cli_marginal_spreads(classifier, CLI_LEVEL, marginal);
    for (size_t y = 0; y < classes; y++)
        logs[y] = log(marginal[y].mean);
    free(marginal);
    return logs;
}

static pv_status assess(cli_call *call, work *held) {
    held->log_marginal = marginal_logs(held->classifier);
    pv_targets targets = pv_dataset_targets(held->data);
    return pv_assess(call->ctx, &targets, held->loglik, held->log_marginal, held->log_p,
                     true_prevalence(held->classifier), &held->metrics);
}

/* ---- what is printed --------------------------------------------------------------------------------------------- */

static double metric_value(const pv_metrics *metrics, const pv_metric_row *row) {
    double value;
    memcpy(&value, (const char *)metrics + row->offset, sizeof value);
    return value;
}

static void print_json(const cli_call *call, const eval_options *options, const work *held) {
    const pv_classifier *classifier = held->classifier;
    json_t *object = json_object(), *metrics = json_object();
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        bool has_interval = strcmp(row->name, "nell") == 0;
        double value = metric_value(&held->metrics, row), reach = has_interval ? 2 * held->metrics.nell_sd : NAN;
        json_t *entry = json_object();
        cli_json_set(entry, "value", cli_json_real(value));
        cli_json_set(entry, "lo", cli_json_real(value - reach));
        cli_json_set(entry, "hi", cli_json_real(value + reach));
        cli_json_set(metrics, row->name, entry);
    }
    double *share = cli_alloc((size_t)classifier->classes, sizeof *share), total = 0;
    pv_targets targets = pv_dataset_targets(held->data);
    pv_label_mass(&targets, share);
    for (int y = 0; y < classifier->classes; y++)
        total += share[y];
    for (int y = 0; y < classifier->classes; y++)
        share[y] /= total;
    cli_json_set(object, "metrics", metrics);
    cli_json_set(object, "rows", json_integer((json_int_t)held->data->rows));
    cli_json_set(object, "dropped", json_integer((json_int_t)held->data->dropped));
    cli_json_set(object, "population", cli_json_text(options->population));
    cli_json_set(object, "prevalence", cli_json_by_label(classifier->labels, classifier->classes, held->prevalence));
    cli_json_set(object, "observed", cli_json_by_label(classifier->labels, classifier->classes, share));
    cli_json_set(object, "model", cli_json_text(call->argument[0]));
    cli_json_set(object, "data", cli_json_text(call->argument[1]));
    cli_json_set(object, "version", cli_json_text(PV_VERSION));
    cli_json_print(object);
    free(share);
}

static void print_table(const cli_call *call, const eval_options *options, const work *held) {
    printf("%s on %s: %zu rows, population %s\n\n", call->argument[0], call->argument[1], held->data->rows,
           options->population);
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        double value = metric_value(&held->metrics, row);
        char text[32] = "-";
        if (!isnan(value))
            snprintf(text, sizeof text, "%.6g", value);
        printf("  %-16s  %12s  %s\n", row->name, text, row->text);
    }
    printf("\n  positive: label %s; -: undefined on these rows\n",
           held->classifier->labels[held->classifier->classes - 1]);
}

static int run(cli_call *call) {
    eval_options *options = call->options;
    work held = {0};
    pv_roles roles = {.target = options->target, .weights = options->weights, .drop_missing = options->missing == 1};
    pv_status status = pv_classifier_load(call->ctx, call->argument[0], &held.classifier);
    int code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    if (code == CLI_OK && !roles.target)
        roles.target = held.classifier->target;
    if (code == CLI_OK && !roles.weights && *held.classifier->weights)
        roles.weights = held.classifier->weights; /* as in the fit */
    if (code == CLI_OK)
        code = cli_read_for_model(call, held.classifier, call->argument[1], &roles, &held.table);
    if (code == CLI_OK) {
        status = pv_dataset_apply(call->ctx, held.table, &roles, held.classifier->encoding, held.classifier->labels,
                                  held.classifier->classes, &held.data);
        if (status == PV_OK)
            status = predict(call, options, &held);
        if (status == PV_OK)
            status = assess(call, &held);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    if (code == CLI_OK && options->running.json) {
        print_json(call, options, &held);
    } else if (code == CLI_OK) {
        print_table(call, options, &held);
        cli_note_dropped(call, held.data);
    }
    free(held.prevalence);
    free(held.loglik);
    free(held.log_p);
    free(held.log_marginal);
    pv_dataset_free(call->ctx, held.data);
    pv_table_free(call->ctx, held.table);
    pv_classifier_free(call->ctx, held.classifier);
    return code;
}

static const cli_argument arguments[] = {
    {"MODEL", "A model file, written by prevail fit."},
    {"DATA", "A CSV file with the model's columns and the observed labels. - reads standard input."},
    {NULL, NULL}};

static const cli_group groups[] = {{"Options", option_table, 0}, {NULL, NULL, 0}};

static const cli_example examples[] = {
    {"prevail eval study.model holdout.csv", "All metrics on rows that were not used for the fit."},
    {"prevail eval study.model cohort.csv --target cancer --json", "The same as JSON, the label column named."},
    {NULL, NULL}};

const cli_command cli_eval = {
    .name = "eval",
    .summary = "metrics of a model's predictions on labelled data",
    .usage = "MODEL DATA [--target COL] [--population true|known:P|design] [options]",
    .text = "Judges a model on rows whose labels are known. The label shares of DATA need not be those of the "
            "population: nell is weighted towards the stated prevalence, holdout_nll adapts the predictions to the "
            "rows' own shares, and the other metrics judge the probabilities of the population asked for on the rows "
            "as they are. With a posterior the predictions judged are its means.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(eval_options),
    .output = "A table: metric, value, what it is. With --json one object: metrics (name: {value, lo, hi}; null where "
              "undefined; nell with lo and hi two standard deviations away), rows, dropped, population, prevalence "
              "(label: p, in that population), observed (label: share of the rows), model, data, version.\n"
              "The metrics are:\n"
#define LINE(name, text) #name "\t" text "\n"
    PV_METRIC_LIST(LINE)
#undef LINE
        "Rates speak of the positive label, the last of the model's.",
    .examples = examples,
    .run = run};
