/* prevail cv: estimates a model's performance by cross-validation. */
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
    pv_unknown_options unknown; /* options for --population unknown */
    const char *output;
    bool all;
    report_options report;
    cli_checkpoint checkpoint;
    cli_running running;
} cv_options;

static const pv_option cv_table[] = {
    {"folds", PV_OPTION_INT, offsetof(cv_options, folds), "3", 2, 1e6, NULL, "K",
     "Number of folds, stratified by label; each is predicted by a model fitted to the others."},
    {"repeats", PV_OPTION_INT, offsetof(cv_options, repeats), "1", 1, 1e5, NULL, "R",
     "Number of repeats, with different folds each time."},
    {"population", PV_OPTION_TEXT, offsetof(cv_options, population), "true", 0, 0, NULL, "NAME",
     "The population of the evaluated probabilities: true, known:P, unknown or design, as in prevail predict; unknown "
     "is inferred from each fold's rows without their labels. holdout_nll does not depend on it unless it is unknown."},
    CLI_OPTION_STATED(cv_options, stated_for, "population", "metrics are"),
    CLI_OPTION_INTERVAL(cv_options, interval, "0.95", "The level of the intervals of pooled metrics."),
    {"bootstrap", PV_OPTION_INT, offsetof(cv_options, bootstrap), NULL, 0, 1e6, NULL, "N",
     "Bootstrap replicates for these intervals, as in prevail eval; 0: no intervals. Default: 1000, or fewer for many "
     "rows."},
    {"all", PV_OPTION_FLAG, offsetof(cv_options, all), NULL, 0, 0, NULL, NULL,
     "Print every metric, each fold, and means over folds, not only the most important ones; --json always has all of "
     "them."},
    {"compare", PV_OPTION_TEXT, offsetof(cv_options, compare), NULL, 0, 0, NULL, "SETTINGS,...",
     "Fits with other settings on the same folds, as in loss=plain,model=mlp:4; settings separated by a space belong "
     "to one fit: 'model=mlp:4 prior=none'. Adds the difference of each metric, with paired intervals."},
    CLI_OPTION_END};

static const pv_option run_table[] = {
    CLI_OPTION_OUTPUT(cv_options, output, "Write the out-of-fold predictions to this file, as CSV."),
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

/* ---- output ------------------------------------------------------------------------------------------------------ */

static size_t fold_rows(const pv_validation *v, size_t repeat, size_t fold) {
    size_t count = 0;
    for (size_t i = 0; i < v->data->rows; i++)
        count += (size_t)v->fold[repeat * v->data->rows + i] == fold ? 1 : 0;
    return count;
}

/* The results of each fold of each repeat. */
static pv_result *json_parts(const pv_validation *v, char *const *labels) {
    pv_result *parts = pv__value_list();
    for (size_t i = 0; i < v->folds * v->repeats; i++) {
        pv_result *entry = pv__value_object(), *metrics = pv__value_object();
        for (const pv_metric_row *row = pv_metric_table; row->name; row++)
            pv__value_set(metrics, row->name, pv__value_real(pv_metric_get(&v->metrics[i], row)));
        pv__value_set(entry, "repeat", pv__value_integer((int64_t)(i / v->folds) + 1));
        pv__value_set(entry, "fold", pv__value_integer((int64_t)(i % v->folds) + 1));
        pv__value_set(entry, "rows", pv__value_integer((int64_t)fold_rows(v, i / v->folds, i % v->folds)));
        pv__value_set(entry, "stop", pv__value_text(pv_stop_name(v->stop[i])));
        pv__value_set(entry, "metrics", metrics);
        if (v->target) {
            pv_result *target = pv__value_object();
            cli_json_target(target, v->target[i], labels);
            pv__value_set(entry, "target", target);
        }
        pv__value_append(parts, entry);
    }
    return parts;
}

/* The verdict on the pooled rows, for the population of the metrics. */
static void verdict_of(const pv_validation *v, char *text, size_t size) {
    pv_assessment found = {0};
    int positive = v->data->classes - 1;
    pv_validation_summary(v, NULL, NULL, NULL, &found.value);
    pv_validation_interval(v, &found.lo, &found.hi);
    text[0] = '\0';
    if (!v->misleading)
        pv_verdict(&found, v->data->classes, v->data->rows, v->stated ? 0 : v->observed[positive], text, size);
}

static void take_strata(pv_ctx *ctx, pv_result *object, const pv_judgement *judged) {
    pv_result *found;
    if (pv_judgement_result(ctx, judged, &found) != PV_OK)
        cli_no_memory("for JSON");
    pv__value_take(object, "strata", found);
    pv_result_free(found);
}

static void print_json(cli_call *call, const cv_options *options, const cli_training *training, const pv_validation *v,
                       const pv_judgement *strata, const cv_compared *compared) {
    pv_result *object = pv__value_object();
    char *const *labels = training->schema->labels;
    int classes = training->data->classes;
    const double *observed = v->observed;
    char verdict[PV_VERDICT_SIZE];
    verdict_of(v, verdict, sizeof verdict);
    char *typed = cli_syntax(call->command, verdict);
    pv__value_set(object, "metrics", cli_json_validation(v));
    pv__value_set(object, "verdict", pv__value_text(*typed ? typed : NULL));
    free(typed);
    pv__value_set(object, "parts", json_parts(v, labels));
    if (strata)
        take_strata(call->ctx, object, strata);
    pv__value_set(object, "compared", cv_compare_json(call->ctx, compared));
    pv__value_set(object, "rows", pv__value_integer((int64_t)v->data->rows));
    pv__value_set(object, "dropped", pv__value_integer((int64_t)training->data->dropped));
    pv__value_set(object, "folds", pv__value_integer(options->folds));
    pv__value_set(object, "repeats", pv__value_integer(options->repeats));
    pv__value_set(object, "group",
                  options->roles.roles.group ? pv__value_text(options->roles.roles.group) : pv__value_null());
    pv__value_set(object, "population", pv__value_text(options->population));
    pv__value_set(object, "population_prevalence", cli_json_by_label(labels, classes, v->population));
    pv__value_set(object, "prevalence",
                  v->prevalence ? cli_json_by_label(labels, classes, v->prevalence) : pv__value_null());
    pv__value_set(object, "observed", cli_json_by_label(labels, classes, observed));
    pv__value_set(object, "stated_for", cli_json_by_label(labels, classes, v->stated ? v->stated : observed));
    pv__value_set(object, "positive", pv__value_text(labels[classes - 1]));
    pv__value_set(object, "interval", pv__value_real(options->interval));
    pv__value_set(object, "bootstrap", pv__value_integer((int64_t)v->replicates));
    pv__value_set(object, "drawn", v->drawn ? pv__value_text(v->drawn) : pv__value_null());
    pv__value_set(object, "data", pv__value_text(call->argument[0]));
    pv__value_set(object, "seed", pv__value_integer(options->fit.seed));
    pv__value_set(object, "seconds", pv__value_real(v->seconds));
    pv__value_set(object, "output", options->output ? pv__value_text(options->output) : pv__value_null());
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    pv__value_set(object, "warnings", cli_json_warnings(call));
    cli_json_print(call, object);
}

static void print_footer(const cli_call *call, const cv_options *options, const cli_training *training,
                         const pv_validation *v) {
    char verdict[PV_VERDICT_SIZE];
    const char *repeats = v->repeats > 1 ? ", averaged over repeats" : "";
    verdict_of(v, verdict, sizeof verdict);
    cli_print_verdict(call, verdict);
    printf("\n  each row is predicted by a model that was fitted without it%s; label ", repeats);
    cli_put_name(training->schema->labels[training->data->classes - 1], 0);
    puts(" is the positive one");
    if (v->replicates > 0)
        printf("  intervals: %.4g %%, bootstrap %s, %lld replicates\n", 100 * options->interval, v->drawn,
               (long long)v->replicates);
    if (options->all)
        printf("  mean and sd over %zu folds; -: undefined\n", v->folds * v->repeats);
    cli_print_stated(1, &v);
    if (!options->all)
        puts("  --all shows every metric, and each fold");
}

/* Shows one column per fold if they fit the line. */
static void print_metrics(const cv_options *options, const pv_validation *v) {
    enum { SHOWN = 3 };
    pv_metrics mean, sd, pooled, lo, hi;
    pv_validation_summary(v, &mean, &sd, NULL, &pooled);
    pv_validation_interval(v, &lo, &hi);
    const pv_metrics *column[] = {&pooled, &lo, &hi, &mean, &sd};
    size_t parts = options->all ? v->folds * v->repeats : SHOWN + 1, columns = options->all ? 5 : 3;
    printf("  %-18s %9s %9s %9s", "", "value", "lo", "hi");
    if (options->all)
        printf(" %9s %9s", "mean", "sd");
    for (size_t i = 0; parts <= SHOWN && i < parts; i++)
        printf(" %8s%zu", v->repeats > 1 ? "part " : "fold ", i + 1);
    fputc('\n', stdout);
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        char text[16];
        bool depends = pv_metric_depends(row, v->data->classes);
        if (!options->all && !cli_metric_matters(row, v->data->classes))
            continue;
        printf("  %s%-*s", row->name, (int)(18 - strlen(row->name)), depends ? "*" : "");
        for (size_t i = 0; i < columns; i++)
            printf(" %9s", cli_metric_text(pv_metric_get(column[i], row), text, sizeof text));
        for (size_t i = 0; parts <= SHOWN && i < parts; i++)
            printf(" %9s", cli_metric_text(pv_metric_get(&v->metrics[i], row), text, sizeof text));
        fputc('\n', stdout);
    }
}

static pv_loss loss_of(const cv_options *options) {
    return pv_fit_loss(&options->fit, options->sample.path != NULL, options->roles.roles.matched != NULL);
}

static void print_table(cli_call *call, const cv_options *options, const cli_training *training, const pv_validation *v,
                        const pv_judgement *strata, const cv_compared *compared) {
    printf("%s, loss %s: %s rows of %s in %zu folds", options->fit.model, pv_loss_name(loss_of(options)),
           pv_group_digits((double)v->data->rows).text, call->argument[0], v->folds);
    if (v->repeats > 1)
        printf(", %zu times", v->repeats);
    if (options->roles.roles.group) {
        fputs(", by ", stdout);
        cli_put_name(options->roles.roles.group, 0);
    }
    printf("; predictions for population %s", options->population);
    if (v->population && v->data->classes == 2)
        printf(" (prevalence %.4g)", v->population[1]);
    puts("\n");
    cli_print_misleading(1, &v, training->schema->labels);
    print_metrics(options, v);
    print_footer(call, options, training, v);
    if (strata)
        cli_print_judged_strata(strata);
    cv_compare_print(compared, training->data->classes, options->interval);
    for (size_t i = 0; i < call->warnings; i++)
        printf("%swarning: %s\n", i ? "" : "\n", call->warning[i]);
    if (options->output)
        printf("\npredictions in %s\n", options->output);
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static void put_what(cli_call *call, pv_report *report, const cv_options *options, const pv_validation *v) {
    pv_report_section(report, "fit", "What was evaluated");
    report_say(report,
               "A %.60s model with loss %s was fitted to all folds but one and evaluated on that one (%zu folds, %zu "
               "repeat%s). Probabilities are for the population %.60s. The charts use the first repeat, in which each "
               "row is predicted by the model that was fitted without it; the explorer uses the mean of the models' "
               "marginals.",
               options->fit.model, pv_loss_name(loss_of(options)), v->folds, v->repeats, v->repeats == 1 ? "" : "s",
               options->population);
    report_put_warnings(call, report);
}

static int write_report(cli_call *call, const cv_options *options, const cli_training *training,
                        const pv_validation *v) {
    pv_report *report = NULL;
    char data[200], title[300], lead[300];
    pv_text_short(call->argument[0], 60, data, sizeof data);
    snprintf(title, sizeof title, "Cross-validation on %s", data);
    snprintf(lead, sizeof lead, "%s rows in %zu folds. prevail " PV_VERSION,
             pv_group_digits((double)v->data->rows).text, v->folds);
    int code = report_begin(call, &options->report, title, lead, &report);
    if (code != CLI_OK)
        return code;
    report_validated validated = {
        .labels = training->schema->labels, .target = options->roles.roles.target, .validation = v};
    code = report_put_validated(call, report, &validated, options->fit.seed);
    if (code == CLI_OK) {
        put_what(call, report, options, v);
        report_put_folds(report, v);
        report_put_source(call, report, training->table, NULL, options->fit.seed);
    }
    return report_end(call, &options->report, report, code);
}

/* Strata are evaluated as in a report: with the rows of the first repeat, for the population. */
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

/* Validates the fit as given, and those compared with it. */
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

/* Everything that can be rejected before the table is read. */
static int check(cli_call *call, cv_options *options, cv_compared *compared) {
    int64_t views = 0, size;
    const pv_loss loss = loss_of(options);
    int code = cli_check_fit(call, &options->fit, &loss, 1, options->sample.path != NULL);
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
    {NULL, "missing", "What to do with missing cells."},
    {"Population", "prevalence", "Prevalence of the positive label in the target population: 0.01, or 0.005-0.02."},
    {NULL, "stated-for", "The population that the metrics are for."},
    {"Model", "model", "additive: curves. ordinal: labels in order. mlp: a network. auto: a mixture."},
    {NULL, "loss", "ig: corrected for the sampling by label. iw: class weights. plain: log-loss."},
    {"Validation", "folds", "Number of folds."},
    {NULL, "repeats", "Number of repeats, with different folds each time."},
    {NULL, "compare", "Other settings on the same folds, with paired differences."},
    {NULL, "group", "Rows with the same value in this column (a patient) stay in one fold."},
    {NULL, "seed", "Seed of the folds and of every fit."},
    {"Output", "output", NULL},
    {NULL, "report", "Write the results as an HTML page."},
    {NULL, "json", NULL},
    {NULL, NULL, NULL}};

static const cli_example examples[] = {
    {"prevail cv study.csv --outcome cancer --prevalence 0.01",
     "Three folds and the default model; metrics for a population where one in a hundred is a case."},
    {"prevail cv study.csv --outcome cancer --prevalence 0.01 --group patient --folds 5 --repeats 10 -o oof.csv",
     "No patient in two folds; writes the out-of-fold predictions."},
    {"prevail cv study.csv --outcome cancer --prevalence 0.01 --stated-for rows",
     "Metrics for the rows as they are, at the study's own proportion of cases."},
    {"prevail cv study.csv --outcome cancer --prevalence 0.01 --loss plain --population design",
     "Plain log-loss, evaluated on the population it was trained on."},
    {"prevail cv study.csv --outcome cancer --prevalence 0.01 --compare loss=iw,model=mlp:4",
     "The differences of class weights and a network from the default, with paired intervals."},
    {NULL, NULL}};

static const cli_rule rules[] = {
    {"interval bootstrap bootstrap=0", "population=unknown",
     "--interval sets the level of intervals, but --bootstrap 0 asks for none: leave one of them out"},
    CLI_RULE_LOSS,
    {"outcome population=true", "prevalence population-sample prevalence-by phase-one subcohort strata matched",
     "--prevalence is missing: that of the positive label in the target population. Or choose the population of the "
     "predictions, --population known:P, or design for that of the rows"},
    {"output=-", NULL, "-o -: the metrics go to standard output; give the name of a file"},
    {NULL, NULL, NULL}};

const cli_command cli_cv = {
    .name = "cv",
    .summary = "metrics by cross-validation, with every option of fit",
    .usage = "DATA --outcome COL --prevalence P|--population-sample FILE [--folds K] [--repeats R] [options]",
    .text = "Splits the rows into folds with equal label proportions, fits to all folds but one, and predicts that "
            "one, for each fold. Standardisation, imputed values, knots of splines and rare levels are learned from "
            "the training rows of each fit only. --seed determines the folds and the fits. Several fits run in "
            "parallel; results do not depend on how many.\nThe metrics are those of prevail eval. Two populations "
            "matter: --population, that of the predictions, and --stated-for, that of the metrics, by default the "
            "same. Metrics that depend on the prevalence are marked in the table.",
    .arguments = cli_training_arguments,
    .groups = groups,
    .common = common,
    .hints = cli_training_hints,
    .options_size = sizeof(cv_options),
    .output =
        "A table of the most important metrics with intervals, pooled over all rows, and a verdict. --all adds the "
        "other metrics of prevail eval, means and standard deviations over folds, and each fold if there are at most "
        "three. With --repeats values and bounds are means over repeats.\nWith --json one object: verdict, metrics "
        "(name: {value, mean, sd, folds, lo, hi}; value is pooled; folds is the number of folds in which it is "
        "defined), parts (a list of "
        "{repeat, fold, rows, stop, metrics (name: value)}; with --population unknown target, what prevail predict "
        "--json has for it), strata (with --strata, as eval --json, for the population), compared (a list of {name, "
        "metrics, differences} of --compare), rows, dropped, folds, repeats, group, population, population_prevalence "
        "(label: p, in that population), prevalence (label: p, stated to the fits), observed (label: proportion of the "
        "rows), stated_for (label: p, of the population of the metrics), positive, interval, bootstrap (replicates), "
        "drawn (how), data, seed, seconds, output, version, warnings. Undefined values are null.\n-o CSV has the row's "
        "id or "
        "number, "
        "repeat__ (with --repeats), fold__, observed__, p__LABEL for each label, and decision__, the most probable "
        "label.\nThe exit code is 3 if a fit diverged or did not converge.",
    .examples = examples,
    .rules = rules,
    .run = run};
