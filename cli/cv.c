/* prevail cv: how good a model would be, by cross-validation. */
#include "cli/classifier.h"
#include "cli/commands.h"
#include "cli/cv_compare.h"
#include "cli/predictions.h"
#include "cli/report_sections.h"
#include "cli/stated.h"
#include "cli/strata.h"
#include "cli/target.h"
#include "cli/validation.h"
#include "prevail/prevail.h"
#include "tool/checkpoint.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"
#include "tool/report.h"
#include "tool/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct cv_options {
    cli_roles roles;
    pv_fit_options fit;
    cli_sample sample;
    int64_t folds, repeats;
    const char *population, *stated_for;
    double interval;
    int64_t bootstrap;
    const char *compare;
    pv_unknown_options unknown; /* --population unknown: how */
    const char *output;
    report_options report;
    cli_checkpoint checkpoint;
    cli_running running;
} cv_options;

static const pv_option cv_table[] = {
    {"folds", PV_OPTION_INT, offsetof(cv_options, folds), "3", 2, 1e6, NULL, "K",
     "Parts the rows are split into, label by label; each is predicted by a model fitted to the others."},
    {"repeats", PV_OPTION_INT, offsetof(cv_options, repeats), "1", 1, 1e5, NULL, "R",
     "Number of repeats, with other folds each time."},
    {"population", PV_OPTION_TEXT, offsetof(cv_options, population), "true", 0, 0, NULL, "NAME",
     "The population the judged probabilities are to hold in: true, known:P, unknown or design, as in prevail predict; "
     "unknown is inferred from each fold's rows without a look at their labels. holdout_nll does not depend on it "
     "unless it is unknown."},
    CLI_OPTION_STATED(cv_options, stated_for, "population", "metrics are"),
    CLI_OPTION_INTERVAL(cv_options, interval, "0.95", "The level of the intervals of pooled metrics."),
    {"bootstrap", PV_OPTION_INT, offsetof(cv_options, bootstrap), NULL, 0, 1e6, NULL, "N",
     "Replicates of the stratified bootstrap behind them, as in prevail eval; 0: no intervals. Default: 1000, or fewer "
     "for many rows."},
    {"compare", PV_OPTION_TEXT, offsetof(cv_options, compare), NULL, 0, 0, NULL, "SETTINGS,...",
     "Fits with other settings on the same folds, as in loss=plain,model=mlp:4; settings with a space between them are "
     "of one fit: 'model=mlp:4 prior=none'. Adds by how much each metric of theirs differs, with intervals of the "
     "paired difference."},
    CLI_OPTION_END};

static const pv_option run_table[] = {
    CLI_OPTION_OUTPUT(cv_options, output, "Write the out-of-fold predictions there, as CSV."),
    CLI_OPTIONS_REPORT(cv_options, report),
    CLI_OPTION_THREADS(cv_options, running.threads),
    CLI_OPTION_MEMORY(cv_options, running.memory),
    CLI_OPTION_RANKS(cv_options, running.ranks),
    CLI_OPTIONS_DEVICE(cv_options, running),
    CLI_OPTION_JSON(cv_options, running.json, "Print one JSON object instead of tables."),
    CLI_OPTION_QUIET(cv_options, running.quiet),
    CLI_OPTION_END};

/* ---- predictions ------------------------------------------------------------------------------------------------- */

static int write_predictions(cli_call *call, const cv_options *options, const cli_training *training,
                             const pv_validation *v) {
    size_t rows = v->data->rows, all = v->repeats * rows, classes = (size_t)v->data->classes, id = 0;
    const char *name = options->roles.roles.id;
    if (name) {
        pv_status status = pv_table_find(call->ctx, training->table, "--id", name, &id);
        if (status != PV_OK)
            return cli_fail(call, status);
    }
    double *p = cli_alloc(all * classes, sizeof *p);
    size_t *row = cli_alloc(all, sizeof *row);
    int32_t *repeat = cli_alloc(all, sizeof *repeat), *label = cli_alloc(all, sizeof *label);
    for (size_t i = 0; i < all * classes; i++)
        p[i] = exp(v->log_p[i]);
    for (size_t i = 0; i < all; i++) {
        row[i] = v->data->table_row[i % rows];
        repeat[i] = (int32_t)(i / rows);
        label[i] = v->data->label[i % rows];
    }
    const cli_extra extra[] = {
        {"repeat__", repeat, NULL}, {"fold__", v->fold, NULL}, {"observed__", label, training->schema->labels}};
    bool once = v->repeats == 1;
    cli_predictions what = {.labels = training->schema->labels,
                            .classes = v->data->classes,
                            .rows = all,
                            .p = p,
                            .table = training->table,
                            .row = row,
                            .copy = &id,
                            .copies = name ? 1 : 0,
                            .extra = once ? extra + 1 : extra,
                            .extras = once ? 2 : 3};
    int code = cli_write_predictions(call, &what, options->output);
    free(p);
    free(row);
    free(repeat);
    free(label);
    return code;
}

/* ---- what is printed --------------------------------------------------------------------------------------------- */

static size_t fold_rows(const pv_validation *v, size_t repeat, size_t fold) {
    size_t count = 0;
    for (size_t i = 0; i < v->data->rows; i++)
        count += (size_t)v->fold[repeat * v->data->rows + i] == fold ? 1 : 0;
    return count;
}

/* What was found in each fold of each repeat. */
static json_t *json_parts(const pv_validation *v, char *const *labels) {
    json_t *parts = cli_json_array();
    for (size_t i = 0; i < v->folds * v->repeats; i++) {
        json_t *entry = cli_json_object(), *metrics = cli_json_object();
        for (const pv_metric_row *row = pv_metric_table; row->name; row++)
            cli_json_set(metrics, row->name, cli_json_real(pv_metric_get(&v->metrics[i], row)));
        cli_json_set(entry, "repeat", json_integer((json_int_t)(i / v->folds) + 1));
        cli_json_set(entry, "fold", json_integer((json_int_t)(i % v->folds) + 1));
        cli_json_set(entry, "rows", json_integer((json_int_t)fold_rows(v, i / v->folds, i % v->folds)));
        cli_json_set(entry, "stop", cli_json_text(pv_stop_name(v->stop[i])));
        cli_json_set(entry, "metrics", metrics);
        if (v->target) {
            json_t *target = cli_json_object();
            cli_json_target(target, v->target[i], labels);
            cli_json_set(entry, "target", target);
        }
        cli_json_append(parts, entry);
    }
    return parts;
}

static void print_json(cli_call *call, const cv_options *options, const cli_training *training, const pv_validation *v,
                       const pv_judgement *strata, const cv_compared *compared) {
    json_t *object = cli_json_object();
    char *const *labels = training->schema->labels;
    int classes = training->data->classes;
    const double *observed = v->observed;
    cli_json_set(object, "metrics", cli_json_validation(v));
    cli_json_set(object, "parts", json_parts(v, labels));
    if (strata)
        cli_json_judged_strata(object, strata);
    cli_json_set(object, "compared", cv_compare_json(compared));
    cli_json_set(object, "rows", json_integer((json_int_t)v->data->rows));
    cli_json_set(object, "dropped", json_integer((json_int_t)training->data->dropped));
    cli_json_set(object, "folds", json_integer(options->folds));
    cli_json_set(object, "repeats", json_integer(options->repeats));
    cli_json_set(object, "group", options->roles.roles.group ? cli_json_text(options->roles.roles.group) : json_null());
    cli_json_set(object, "population", cli_json_text(options->population));
    cli_json_set(object, "population_prevalence", cli_json_by_label(labels, classes, v->population));
    cli_json_set(object, "prevalence", v->prevalence ? cli_json_by_label(labels, classes, v->prevalence) : json_null());
    cli_json_set(object, "observed", cli_json_by_label(labels, classes, observed));
    cli_json_set(object, "stated_for", cli_json_by_label(labels, classes, v->stated ? v->stated : observed));
    cli_json_set(object, "positive", cli_json_text(labels[classes - 1]));
    cli_json_set(object, "interval", cli_json_real(options->interval));
    cli_json_set(object, "bootstrap", json_integer((json_int_t)v->replicates));
    cli_json_set(object, "data", cli_json_text(call->argument[0]));
    cli_json_set(object, "seed", json_integer(options->fit.seed));
    cli_json_set(object, "seconds", cli_json_real(v->seconds));
    cli_json_set(object, "output", options->output ? cli_json_text(options->output) : json_null());
    cli_json_set(object, "version", cli_json_text(PV_VERSION));
    cli_json_set(object, "warnings", cli_json_warnings(call));
    cli_json_print(call, object);
}

static void print_footer(const cv_options *options, const cli_training *training, const pv_validation *v) {
    const char *repeats = v->repeats > 1 ? ", averaged over repeats" : "";
    printf("\n\n  pooled: all rows together, each predicted by the model that did not see it%s\n", repeats);
    if (v->replicates > 0)
        printf("  lo, hi: %.4g %% interval of it, from %lld bootstrap replicates within labels%s\n",
               100 * options->interval, (long long)v->replicates, repeats);
    printf("  mean, sd: over %zu folds; -: undefined; positive: label ", v->folds * v->repeats);
    cli_put_name(training->schema->labels[training->data->classes - 1], 0);
    fputc('\n', stdout);
    cli_print_stated(1, &v);
}

/* A column a fold where they fit on a line of text. */
static void print_table(cli_call *call, const cv_options *options, const cli_training *training, const pv_validation *v,
                        const pv_judgement *strata, const cv_compared *compared) {
    enum { SHOWN = 3 };
    pv_metrics mean, sd, pooled, lo, hi;
    pv_validation_summary(v, &mean, &sd, NULL, &pooled);
    pv_validation_interval(v, &lo, &hi);
    const pv_metrics *column[] = {&pooled, &lo, &hi, &mean, &sd};
    size_t parts = v->folds * v->repeats;
    printf("%s, loss %s: %zu rows of %s in %zu folds", options->fit.model, pv_loss_name((pv_loss)options->fit.loss),
           v->data->rows, call->argument[0], v->folds);
    if (v->repeats > 1)
        printf(", %zu times", v->repeats);
    if (options->roles.roles.group) {
        fputs(", by ", stdout);
        cli_put_name(options->roles.roles.group, 0);
    }
    printf("; population %s\n\n", options->population);
    cli_print_misleading(1, &v, training->schema->labels);
    printf("  %-18s %9s %9s %9s %9s %9s", "", "pooled", "lo", "hi", "mean", "sd");
    for (size_t i = 0; parts <= SHOWN && i < parts; i++)
        printf(" %8s%zu", v->repeats > 1 ? "part " : "fold ", i + 1);
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        char text[16];
        bool depends = pv_metric_depends(row, v->data->classes);
        printf("\n  %s%-*s", row->name, (int)(18 - strlen(row->name)), depends ? "*" : "");
        for (size_t i = 0; i < sizeof column / sizeof *column; i++)
            printf(" %9s", cli_metric_text(pv_metric_get(column[i], row), text, sizeof text));
        for (size_t i = 0; parts <= SHOWN && i < parts; i++)
            printf(" %9s", cli_metric_text(pv_metric_get(&v->metrics[i], row), text, sizeof text));
    }
    print_footer(options, training, v);
    if (strata)
        cli_print_judged_strata(strata);
    cv_compare_print(compared, training->data->classes, options->interval);
    for (size_t i = 0; i < call->warnings; i++)
        printf("%swarning: %s\n", i ? "" : "\n", call->warning[i]);
    if (options->output)
        printf("\npredictions in %s\n", options->output);
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

static int write_report(cli_call *call, const cv_options *options, const cli_training *training,
                        const pv_validation *v) {
    pv_report *report = NULL;
    char data[200], title[300], lead[300];
    pv_text_short(call->argument[0], 60, data, sizeof data);
    snprintf(title, sizeof title, "Cross-validation on %s", data);
    snprintf(lead, sizeof lead, "%zu rows in %zu folds. prevail " PV_VERSION, v->data->rows, v->folds);
    int code = report_begin(call, &options->report, title, lead, &report);
    if (code != CLI_OK)
        return code;
    pv_report_section(report, "fit", "What was judged");
    report_say(report,
               "A %.60s model with loss %s was fitted to all folds but one and judged on that one, %zu folds, %zu "
               "repeat%s. Probabilities are for the population %.60s. What follows is about the rows' probabilities "
               "in the first repeat, each from the model that did not see the row; the explorer takes the mean of "
               "the models' marginals.",
               options->fit.model, pv_loss_name((pv_loss)options->fit.loss), v->folds, v->repeats,
               v->repeats == 1 ? "" : "s", options->population);
    report_put_warnings(call, report);
    report_validated validated = {
        .labels = training->schema->labels, .target = options->roles.roles.target, .validation = v};
    code = report_put_validated(call, report, &validated, options->fit.seed);
    if (code == CLI_OK) {
        report_put_folds(report, v);
        report_put_source(call, report, training->table, NULL, options->fit.seed);
    }
    return report_end(call, &options->report, report, code);
}

/* Strata are judged as a report judges all rows: those of the first repeat, stated for the population. */
static int print(cli_call *call, const cv_options *options, const cli_training *training, const pv_validation *v,
                 const cv_compared *compared) {
    pv_judgement *strata = NULL;
    if (v->strata) {
        pv_status status = pv_validation_judge(call->ctx, v, training->schema->labels, options->fit.seed, &strata);
        if (status != PV_OK)
            return cli_fail(call, status);
    }
    if (options->running.json)
        print_json(call, options, training, v, strata, compared);
    else
        print_table(call, options, training, v, strata, compared);
    if (!options->running.json)
        cli_note_dropped(call, NULL, training->data->image, training->data->dropped);
    pv_judgement_free(call->ctx, strata);
    return CLI_OK;
}

/* The fit as given, and those that are compared with it. */
static int validate(cli_call *call, const cv_options *options, const cli_training *training, cv_compared *compared,
                    pv_validation **validation, bool *trouble) {
    const pv_validation_options how = {.folds = options->folds,
                                       .repeats = options->repeats,
                                       .population = options->population,
                                       .unknown = &options->unknown,
                                       .stated_for = options->stated_for,
                                       .bootstrap = cli_given(call, "bootstrap") ? options->bootstrap : -1,
                                       .level = options->interval,
                                       .table = training->table,
                                       .roles = &options->roles.roles};
    size_t entered = compared->count > 0 ? pv_checkpoint_enter(call->ctx, "compared", 0) : 0;
    pv_status status = pv_cross_validate(call->ctx, training->schema, training->data, &options->fit, &how, validation);
    if (compared->count > 0)
        pv_checkpoint_leave(call->ctx, entered);
    cli_progress_clear(call);
    if (status != PV_OK)
        return cli_fail(call, status);
    *trouble = cli_validation_warn(call, *validation, "cv");
    return cv_compare_find(call, compared, training->schema, training->data, &how, options->fit.sample, *validation,
                           trouble);
}

/* All that can be refused before the table is read. */
static int check(cli_call *call, cv_options *options, cv_compared *compared) {
    int64_t views = 0, size;
    const pv_loss loss = pv_fit_loss(&options->fit, options->roles.roles.matched != NULL);
    int code = cli_check_fit(call, &options->fit, &loss, 1, options->sample.path != NULL);
    if (code == CLI_OK)
        code = cli_check_level(call, options->bootstrap, strcmp(options->population, "unknown") == 0);
    if (code == CLI_OK)
        code =
            cli_validation_unknown(call, options->population, &options->unknown, options->interval, options->fit.seed);
    if (code == CLI_OK) {
        pv_status status = pv_model_views(call->ctx, options->fit.model, &views, &size);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    if (code == CLI_OK)
        code =
            cv_compare_read(call, options->compare, &options->fit, views > 0, options->sample.path != NULL, compared);
    return code == CLI_OK ? report_check(call, &options->report) : code;
}

static int run(cli_call *call) {
    cv_options *options = call->options;
    cli_training training = {0};
    pv_validation *validation = NULL;
    pv_dataset *sample = NULL;
    cv_compared compared = {0};
    bool trouble = false;
    call->collect = true;
    int code = cli_training_prepare(call, call->argument[0], &options->fit, &options->roles);
    if (code == CLI_OK && options->output && strcmp(options->output, "-") == 0)
        code = cli_error(call, PV_ERR_USAGE, NULL, "-o -: the metrics go to standard output; give the name of a file");
    if (code == CLI_OK)
        code = check(call, options, &compared);
    if (code == CLI_OK)
        code = cli_training_read_beside(call, call->argument[0], &options->roles, &options->checkpoint, &training);
    if (code == CLI_OK)
        code = cli_read_sample(call, &options->sample, &options->roles, &training, &sample);
    options->fit.sample = sample;
    options->fit.command = call->line;
    if (code == CLI_OK)
        code = cli_checkpoint_start(call, &options->checkpoint);
    if (code == CLI_OK)
        code = validate(call, options, &training, &compared, &validation, &trouble);
    if (code == CLI_OK && options->output)
        code = write_predictions(call, options, &training, validation);
    if (code == CLI_OK && report_wanted(&options->report))
        code = write_report(call, options, &training, validation);
    if (code == CLI_OK)
        code = print(call, options, &training, validation, &compared);
    code = cli_checkpoint_end(call, &options->checkpoint, code);
    cv_compare_clear(call, &compared);
    pv_validation_free(call->ctx, validation);
    pv_dataset_free(call->ctx, sample);
    cli_training_clear(call, &training);
    return code == CLI_OK && trouble ? CLI_PROBLEMS : code;
}

static const cli_group groups[] = {
    {"Validation", cv_table, 0},
    {"Data", pv_role_option_table, offsetof(cv_options, roles)},
    {"Reading", pv_csv_option_table, offsetof(cv_options, roles.csv)},
    {"Images", pv_image_option_table, offsetof(cv_options, roles.image)},
    {"Population", cli_sample_table, offsetof(cv_options, sample)},
    {"Model", pv_fit_option_table, offsetof(cv_options, fit)},
    {"How an unknown prevalence is inferred", pv_unknown_option_table, offsetof(cv_options, unknown)},
    {"Running", run_table, 0},
    {"Checkpoints", cli_checkpoint_table, offsetof(cv_options, checkpoint)},
    {NULL, NULL, 0}};

static const cli_common common[] = {
    {"Data", "outcome", "The column to predict."},
    {NULL, "positive", "Which of two labels the prevalence and the rates refer to."},
    {NULL, "weights", "A column of counts or weights."},
    {NULL, "exclude", "Columns that are not features, comma-separated."},
    {NULL, "missing", "Rows with missing cells."},
    {"Population", "prevalence", "How common the label of interest is in the true population: 0.01, or 0.005-0.02."},
    {NULL, "stated-for", "The population whose metrics are shown."},
    {"Model", "model", "linear: logistic regression. ordinal: labels in order. mlp: a network. auto: a mixture."},
    {NULL, "loss", "ig: corrected for how labels were sampled. iw: class weights. plain: log-loss."},
    {"Validation", "folds", "Parts the rows are split into."},
    {NULL, "repeats", "Number of repeats, with other folds each time."},
    {NULL, "compare", "Other settings on the same folds: paired differences."},
    {NULL, "group", "Rows with the same value in this column (a patient) stay in one fold."},
    {NULL, "seed", "Of the folds and of every fit."},
    {"Output", "output", NULL},
    {NULL, "report", "A page with the results, to look at in a browser."},
    {NULL, "json", NULL},
    {NULL, NULL, NULL}};

static const cli_example examples[] = {
    {"prevail cv study.csv --outcome cancer --prevalence 0.01",
     "Three folds, the default model; metrics as they would be where one in a hundred is a case."},
    {"prevail cv study.csv --outcome cancer --prevalence 0.01 --group patient --folds 5 --repeats 10 -o oof.csv",
     "No patient in two folds; the predictions of every row by models that did not see its patient."},
    {"prevail cv study.csv --outcome cancer --prevalence 0.01 --stated-for rows",
     "Metrics of the rows as they are, with as many cases as the study has."},
    {"prevail cv study.csv --outcome cancer --prevalence 0.01 --loss plain --population design",
     "Plain log-loss, judged as it was trained."},
    {"prevail cv study.csv --outcome cancer --prevalence 0.01 --compare loss=iw,model=mlp:4",
     "By how much class weights and a network differ from the default, with paired intervals."},
    {NULL, NULL}};

const cli_command cli_cv = {
    .name = "cv",
    .summary = "metrics by cross-validation, with every option of fit",
    .usage = "DATA --outcome COL --prevalence P|--population-sample FILE [--folds K] [--repeats R] [options]",
    .text = "Splits the rows into folds with the label shares of the whole, fits to all folds but one and predicts "
            "that one, for each. Means and standard deviations, what fills missing cells, knots of splines and what is "
            "known of rare levels are learned from the rows of each fit alone. --seed draws the folds and goes to "
            "every fit. Several fits run at a "
            "time; results do not depend on how many.\n"
            "Metrics are those of prevail eval, and as there two populations play a part: --population, that of the "
            "predictions, and --stated-for, that of the metrics, by default the same. Metrics that change with the "
            "prevalence are marked in the table.",
    .arguments = cli_training_arguments,
    .groups = groups,
    .common = common,
    .hints = cli_training_hints,
    .options_size = sizeof(cv_options),
    .output =
        "A table: each metric of prevail eval pooled (all rows together, each predicted by the model that did not see "
        "it) with its interval, its mean and standard deviation over folds, and its value in each fold where there are "
        "three at most. With --repeats pooled values and bounds are means over repeats.\n"
        "With --json one object: metrics (name: {value, mean, sd, folds, lo, hi}; value is pooled, folds how many "
        "define "
        "it), parts (a list of {repeat, fold, rows, stop, metrics (name: value)}; with --population unknown target, "
        "what "
        "prevail predict --json has for it), strata (with --strata, as eval --json, for the population), compared "
        "(a list of {name, metrics, differences} of --compare), rows, "
        "dropped, folds, repeats, group, population, population_prevalence "
        "(label: p, in that population), prevalence (label: p, stated to the fits), observed (label: share of the "
        "rows), "
        "stated_for (label: p, that the metrics are stated for), positive, interval, bootstrap (replicates), data, "
        "seed, "
        "seconds, output, version, warnings. Undefined is null.\n"
        "-o CSV has the row's id or number, repeat__ (with --repeats), fold__, observed__, p__LABEL for each label, "
        "and "
        "decision__, the most probable label.\n"
        "The exit code is 3 where a fit diverged or did not converge.",
    .examples = examples,
    .run = run};
