/* prevail eval: evaluates predictions on labelled data, from a model or a file. */
#include "cli/classifier.h"
#include "cli/commands.h"
#include "cli/ensemble.h"
#include "cli/eval.h"
#include "cli/stated.h"
#include "cli/strata.h"
#include "cli/target.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const pv_option option_table[] = {
    {"outcome", PV_OPTION_TEXT, offsetof(eval_options, target), NULL, 0, 0, NULL, "COL",
     "The column with the observed labels. Default: the name it had in fit."},
    {"votes", PV_OPTION_TEXT, offsetof(eval_options, votes), NULL, 0, 0, NULL, "COL,COL,...",
     "Soft labels instead of --outcome: a column of votes (counts or shares) for each label, in the order of the "
     "labels, or as LABEL=COL,... A row then counts towards each label by its proportion of votes."},
    {"binarise", PV_OPTION_TEXT, offsetof(eval_options, binarise), NULL, 0, 0, NULL, "LABEL",
     "For a model of ordered labels, such as grades from 1 to 5: evaluate them as two labels, below and above this "
     "one. A row counts towards each side by its proportion of votes; rows with more than half of their votes on this "
     "label are uncertain, and are left out and counted. Probabilities are those of the two sides, conditional on not "
     "being this label. (fit "
     "--binarise is different: it learns two labels, by the mean of each image's votes; evaluate such a model without "
     "this option.)"},
    CLI_OPTION_ENSEMBLE(eval_options, ensemble),
    {"compare", PV_OPTION_TEXT, offsetof(eval_options, compare), NULL, 0, 0, NULL, "FILE,...",
     "Further models, or with --probs further files of probabilities (of prevail cv -o, say), evaluated on the same "
     "rows. Adds the difference of each metric, with paired intervals."},
    {"weights", PV_OPTION_TEXT, offsetof(eval_options, weights), NULL, 0, 0, NULL, "COL",
     "A column of counts or weights, one non-negative number per row. A row of weight v counts as v rows, in intervals "
     "too."},
    {"cluster", PV_OPTION_TEXT, offsetof(eval_options, cluster), NULL, 0, 0, NULL, "COL",
     "Rows with the same value in this column (a person, a centre) were sampled together: intervals of metrics are by "
     "cluster. Default: the clusters of the fit, if the rows have that column."},
    {"positive", PV_OPTION_TEXT, offsetof(eval_options, positive), NULL, 0, 0, NULL, "LABEL",
     "The label that rates, predictive values and curves refer to, against all others. Default: the last."},
    {"population", PV_OPTION_TEXT, offsetof(eval_options, population), "true", 0, 0, NULL, "NAME",
     "The population of the evaluated probabilities: true, known:P, unknown or design, as in prevail predict; unknown "
     "is inferred from the rows without their labels. With --probs: true (the probabilities as they are), known:P or "
     "unknown."},
    CLI_OPTION_STATED(eval_options, stated_for, "rows", "metrics and curves are"),
    CLI_OPTION_INTERVAL(eval_options, interval, "0.95", "Level of the intervals."),
    {"bootstrap", PV_OPTION_INT, offsetof(eval_options, bootstrap), NULL, 0, 1e6, NULL, "N",
     "Bootstrap replicates for the metrics' intervals, stratified by label; 0: no intervals. Default: 1000, or fewer "
     "(at least 100) for more than two labels and 50,000 rows."},
    {"seed", PV_OPTION_INT, offsetof(eval_options, seed), "1", 0, 9007199254740992.0, NULL, "S",
     "Seed of the bootstrap."},
    {"all", PV_OPTION_FLAG, offsetof(eval_options, all), NULL, 0, 0, NULL, NULL,
     "Print every metric, not only the most important ones; --json always has all of them."},
    CLI_OPTION_MISSING_MODEL(eval_options, missing),
    CLI_OPTION_UNSEEN(eval_options, unseen),
    CLI_OPTION_THREADS(eval_options, running.threads),
    CLI_OPTION_RANKS(eval_options, running.ranks),
    CLI_OPTION_MEMORY(eval_options, running.memory),
    CLI_OPTIONS_DEVICE(eval_options, running),
    CLI_OPTION_JSON(eval_options, running.json, "Print one JSON object instead of a table."),
    CLI_OPTION_QUIET(eval_options, running.quiet),
    CLI_OPTION_END};

static const pv_option probs_table[] = {
    {"probs", PV_OPTION_TEXT, offsetof(eval_options, probs), NULL, 0, 0, NULL, "FILE",
     "Evaluate the probabilities in this CSV file instead of a model: columns p__LABEL and the --outcome. - reads "
     "standard input."},
    {"columns", PV_OPTION_TEXT, offsetof(eval_options, columns), NULL, 0, 0, NULL, "LABEL=COL,...",
     "The columns with the probabilities, if they are not named p__LABEL. With two labels one is enough; it is then "
     "the last label."},
    {"from", PV_OPTION_TEXT, offsetof(eval_options, from), NULL, 0, 0, NULL, "P",
     "The prevalence the probabilities were made for. holdout_nll, information_gain and --population known:P and "
     "unknown need it."},
    CLI_OPTION_END};

static const pv_option curves_table[] = {
    {"curves", PV_OPTION_TEXT, offsetof(eval_options, curves), NULL, 0, 0, NULL, "DIR",
     "Write the curves to this folder, one CSV file each. -: into the object that --json prints."},
    {"points", PV_OPTION_INT, offsetof(eval_options, points), "500", 0, 1e9, NULL, "N",
     "The largest number of thresholds of a curve, evenly spread over both labels; 0: every distinct probability."},
    {"bins", PV_OPTION_INT, offsetof(eval_options, bins), "10", 1, 10000, NULL, "N",
     "Bins of the calibration curve, with equal numbers of rows except for ties."},
    CLI_OPTION_END};

static const pv_option decision_table[] = {
    {"threshold", PV_OPTION_REAL, offsetof(eval_options, threshold), "0.5", 1e-9, 0.999999, NULL, "T",
     "The threshold in use: rows with at least this probability are called positive. Adds the rates of this decision "
     "with intervals; the curve predictive_values uses it, and a report starts with it (otherwise at the prevalence). "
     "Other metrics are those of the most probable label."},
    {"costs", PV_OPTION_TEXT, offsetof(eval_options, costs), NULL, 0, 0, NULL, "FILE|fp=X,fn=Y",
     "Two labels: costs as for prevail predict, which determine the threshold. Adds its rates, the mean cost per "
     "person of the resulting decisions, and that of each action for everyone."},
    CLI_OPTION_END};

static const pv_option importance_table[] = {
    {"importance", PV_OPTION_FLAG, offsetof(eval_options, importance), NULL, 0, 0, NULL, NULL,
     "Permutation importance of each column: the increase in log loss, in nats per person, when the column's cells "
     "are permuted among people. The population is that of --stated-for, by default that of the predictions. Text "
     "columns, and all terms of a column, are permuted together. Always part of reports."},
    CLI_OPTION_END};
static const pv_option report_table[] = {
    CLI_OPTIONS_REPORT(eval_options, report),
    {"engine", PV_OPTION_TEXT, offsetof(eval_options, report.engine), NULL, 0, 0, NULL, "FILE",
     "The JavaScript engine (engine.js from `make js`). It is embedded in the report together with the model, so that "
     "readers can score rows of their own offline."},
    {"training", PV_OPTION_TEXT, offsetof(eval_options, training), NULL, 0, 0, NULL, "FILE",
     "The training table: the report also shows its calibration, with rows reweighted by label."},
    CLI_OPTION_END};

static const cli_rule rules[] = {
    {"columns|from", "probs", "--%s needs --probs; leave it out"},
    {"probs MODEL|DATA", NULL, "--probs replaces MODEL and DATA: leave out %s"},
    {"bins", "curves report figures", "--bins needs --curves or --report"},
    {"points", "curves", "--points needs --curves"},
    {"curves=-", "json", "--curves - needs --json; name a folder for CSV files"},
    {"costs threshold", NULL, "--costs determine the threshold: leave out --threshold, or --costs"},
    {"interval bootstrap bootstrap=0", "curves report figures population=unknown",
     "--interval sets the level of intervals, but --bootstrap 0 asks for none: leave one of them out"},
    {"outcome votes", NULL, "--outcome and --votes both name the labels; give one"},
    {"population=unknown method=bbse", NULL, "--method bbse needs other labelled rows: use predict --labelled-sample"},
    {"ensemble probs", NULL, "--ensemble is for models, not for --probs"},
    {"ensemble population=unknown", NULL,
     "--ensemble averages in a population of known prevalence: true, known:P or design"},
    {"training ensemble|binarise", NULL, "--training cannot be used with --%s; leave one out"},
    {"training", "report figures", "--training is for the report of a model: give --report FILE, and no --probs"},
    {"training probs", NULL, "--training is for the report of a model: give --report FILE, and no --probs"},
    {"engine", "report", "--engine is for the report of one model: give --report FILE, and no --probs"},
    {"engine probs|ensemble", NULL, "--engine is for the report of one model: give --report FILE, and no --probs"},
    {"importance probs", NULL, "--importance cannot be used with --probs, which has no features"},
    {"importance ensemble", NULL, "--importance cannot be used with --ensemble: ask for each model's own"},
    {"importance votes|binarise", NULL, "--importance cannot be used with --votes and --binarise"},
    {"importance population=unknown", NULL,
     "--importance cannot be used with --population unknown, which every permutation would change: give known:P"},
    {"permutations|importance-rows", "importance report figures", "--%s needs --importance; add it, or leave this out"},
    {"probs|ensemble|votes|binarise|population=unknown permutations|importance-rows", NULL,
     "--%s needs --importance, which is not possible here; leave it out"},
    {"probs", "outcome votes", "--probs needs --outcome, the column with the observed labels"},
    {NULL, NULL, NULL}};

/* What depends on the arguments, and options of an inferred prevalence. */
static int check_call(cli_call *call, const eval_options *options) {
    if (!options->probs && (!call->argument[0] || !call->argument[1]))
        return cli_error(call, PV_ERR_USAGE, NULL, "%s is missing; usage: prevail eval %s",
                         call->argument[0] ? "DATA" : "MODEL", call->command->usage);
    int code = strcmp(options->population, "unknown") == 0
                   ? cli_check_method(call, &options->unknown)
                   : cli_check_idle(call, pv_unknown_option_table, "--population unknown", "give that");
    if (code == CLI_OK)
        code = eval_compare_check(call, options);
    return code == CLI_OK ? report_check(call, &options->report) : code;
}

static pv_status draw_curves(cli_call *call, const eval_options *options, const pv_judgement *judged,
                             eval_curves *curves) {
    pv_curve_options drawn = pv_curve_options_default();
    drawn.points = (size_t)options->points;
    drawn.bins = (int)options->bins;
    drawn.level = options->interval;
    drawn.threshold = options->threshold;
    pv_status status = PV_OK;
    for (int kind = 0; options->curves && status == PV_OK && kind < PV_CURVES; kind++)
        status = pv_curve_make(call->ctx, judged->found.ranking, (pv_curve_kind)kind, &drawn, &curves->curve[kind]);
    return status;
}

/* Notes on what the table does not show. */
static void add_notes(cli_call *call, const eval_options *options, const eval_inputs *inputs) {
    const pv_judgement *j = inputs->judged;
    const pv_dataset *data = eval_data(inputs);
    if (inputs->said->inferred)
        cli_note_target(call, inputs->said->inferred, eval_labels(inputs), data->rows - data->voteless);
    cli_note_strata(call, inputs->said->strata, eval_labels(inputs), inputs->said->classes);
    if (j->dropped && !options->running.json) {
        char why[96];
        cli_note(call, "%zu %s%s %s left out", j->dropped, data->image ? "image" : "row", j->dropped == 1 ? "" : "s",
                 options->votes ? "with missing cells" : cli_left_out(data->image, why, sizeof why));
    }
    if (j->uncertain && !options->running.json)
        cli_note(call, "%zu uncertain row%s, more than half of the votes on label %s, set apart", j->uncertain,
                 j->uncertain == 1 ? "" : "s", options->binarise);
}

/* The intervals treat weights as counts, so warns of weights that are not whole numbers. */
static void warn_of_weights(cli_call *call, const pv_dataset *data) {
    bool whole = true;
    if (data->sampling) /* sampling weights: scaled to a mean of 1, as in the fit */
        return;
    for (size_t i = 0; data->weight && whole && i < data->rows; i++)
        whole = data->weight[i] == floor(data->weight[i]);
    if (!whole)
        cli_warn(call, "a row with weight v counts as v rows, so the intervals are too narrow if these are sampling "
                       "weights; use prevail cv, which scales weights to the number of rows");
}

/* Curves and rates have intervals of their own, from numbers of rows. */
static void warn_of_units(cli_call *call, const eval_options *options, const pv_judgement *j) {
    if (j->found.units > 0 &&
        (options->curves || report_wanted(&options->report) || options->costs || cli_given(call, "threshold")))
        cli_warn(call,
                 "intervals of curves, rates and costs take rows as independent, unlike those of the metrics, "
                 "which are drawn %s: they are too narrow",
                 j->found.drawn);
}

static int run(cli_call *call) {
    const eval_options *options = call->options;
    eval_inputs inputs = {0};
    eval_curves curves = {0};
    call->collect = options->running.json;
    int code = check_call(call, options);
    inputs.name = options->probs ? options->probs : call->argument[0];
    if (code == CLI_OK)
        code = eval_judge(call, options, &inputs);
    if (code == CLI_OK && eval_is_training(&inputs))
        cli_warn(
            call,
            "the model was fitted on these rows: performance on them is optimistic; evaluate on other rows, or use "
            "prevail cv");
    if (code == CLI_OK && (!cli_given(call, "bootstrap") || options->bootstrap))
        warn_of_weights(call, eval_data(&inputs));
    if (code == CLI_OK) {
        warn_of_units(call, options, inputs.judged);
        pv_status status = draw_curves(call, options, inputs.judged, &curves);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    if (code == CLI_OK)
        code = eval_compare_find(call, options, &inputs);
    if (code == CLI_OK)
        code = eval_decision_find(call, options, &inputs);
    if (code == CLI_OK)
        code = eval_importance_find(call, options, &inputs);
    bool inside = options->curves && strcmp(options->curves, "-") == 0;
    if (code == CLI_OK && options->curves && !inside)
        code = eval_write_curves(call, options->curves, &curves);
    if (code == CLI_OK && report_wanted(&options->report))
        code = eval_write_report(call, options, &inputs);
    if (code == CLI_OK && options->running.json)
        eval_print_json(call, options, &inputs, inside ? &curves : NULL);
    else if (code == CLI_OK)
        eval_print_table(call, options, &inputs);
    if (code == CLI_OK)
        add_notes(call, options, &inputs);
    for (int kind = 0; kind < PV_CURVES; kind++)
        pv_curve_clear(call->ctx, &curves.curve[kind]);
    eval_clear(call, &inputs);
    return code;
}

static const cli_argument arguments[] = {
    {"[MODEL]", "A model file, written by prevail fit. Not with --probs."},
    {"[DATA]", "A CSV file with the model's columns and the observed labels; - reads standard input. For a model of "
               "images an NPZ, NPY or IDX file with its arrays."},
    {NULL, NULL}};

static const cli_group groups[] = {
    {"Options", option_table, 0},
    {"Reading", pv_csv_option_table, offsetof(eval_options, csv)},
    {"Another model's probabilities", probs_table, 0},
    {"Decisions", decision_table, 0},
    {"Curves", curves_table, 0},
    {"Columns", importance_table, 0},
    {"Importance", pv_importance_option_table, offsetof(eval_options, permuted)},
    {"Report", report_table, 0},
    {"How an unknown prevalence is inferred", pv_unknown_option_table, offsetof(eval_options, unknown)},
    {NULL, NULL, 0}};

static const cli_common common[] = {
    {"Data", "outcome", NULL},
    {NULL, "positive", "The label that rates, predictive values and curves refer to."},
    {NULL, "weights", "A column of counts or weights."},
    {NULL, "cluster", "Rows that were sampled together: intervals by cluster."},
    {NULL, "missing", "What to do with missing cells."},
    {NULL, "probs", "Evaluate the probabilities in this CSV file."},
    {NULL, "columns", "The columns with those probabilities."},
    {NULL, "compare", "Other models on the same rows, with paired differences."},
    {"Population", "population", "The population of the probabilities: true, known:P, unknown or design."},
    {NULL, "stated-for", "The population that the metrics are for: the rows as they are, or another."},
    {NULL, "from", NULL},
    {"Decisions", "threshold", "The threshold in use; adds its rates."},
    {NULL, "costs", "Costs that determine the threshold, as in fp=1,fn=50."},
    {"Uncertainty", "interval", NULL},
    {NULL, "bootstrap", "Bootstrap replicates for the intervals."},
    {"Output", "importance", "Permutation importance of each column."},
    {NULL, "curves", "Write the curves to this folder, as CSV files."},
    {NULL, "report", "Write the results as an HTML page."},
    {NULL, "json", NULL},
    {NULL, NULL, NULL}};

static const cli_example examples[] = {
    {"prevail eval study.model holdout.csv", "All metrics on rows that were not used for the fit."},
    {"prevail eval study.model holdout.csv --stated-for population --curves curves",
     "The metrics for the target population, and curves as CSV files."},
    {"prevail eval study.model holdout.csv --stated-for population --training study.csv --report report.html",
     "The same as a report."},
    {"prevail eval study.model clinic.csv --population known:0.2 --stated-for 0.2 --json",
     "Probabilities and metrics for a clinic where one in five has the disease."},
    {"prevail eval seed1.model test.npz --ensemble seed2.model,seed3.model --binarise 3",
     "The mean prediction of three models for readers' grades, evaluated as benign (below 3) or malignant (above)."},
    {"prevail eval study.model holdout.csv --costs fp=1,fn=50 --stated-for population",
     "Sensitivity, predictive values and mean cost of the cheapest decisions, in the population."},
    {"prevail eval one.model holdout.csv --compare two.model",
     "The differences between the two models' metrics, with paired intervals."},
    {"prevail eval --probs scores.csv --columns 1=score --outcome cancer --from 0.5",
     "Probabilities that another model made for a balanced sample."},
    {NULL, NULL}};

static const cli_hint hints[] = {{"prevalence", "stated-for", NULL}, {NULL, NULL, NULL}};

const cli_command cli_eval = {
    .name = "eval",
    .more = "--compare FILE,... evaluates further models on the same rows",
    .summary = "metrics and curves of predictions on labelled data",
    .usage = "MODEL DATA | --probs FILE [--outcome COL] [--population NAME] [--stated-for P] [--curves DIR] [options]",
    .text =
        "Evaluates a model, or another model's probabilities, on rows with known labels. Two populations matter. "
        "--population is the one that the predictions are for. --stated-for is the one that the metrics are for: by "
        "default the rows as they are, whose label proportions may be those of a study. Metrics that depend on the "
        "prevalence are marked in the table. log_loss is defined as in other software; holdout_nll first adapts the "
        "predictions to the population of the metrics. With a posterior the predictions are its means.\nA row with a "
        "missing label is an error, or is left out and counted (--missing drop).\nIntervals are percentiles of "
        "bootstrap replicates within labels, or of whole clusters; that of ece is reflected about the value, because "
        "resampling inflates it.",
    .arguments = arguments,
    .groups = groups,
    .common = common,
    .hints = hints,
    .options_size = sizeof(eval_options),
    .output = "A table of metric, value, interval and meaning, of the most important metrics (--all: every one), and a "
              "verdict. With --json one object: verdict, metrics (name: {value, lo, hi}; null where undefined or "
              "infinite), rows, dropped, training_rows (true: the model was fitted on this table), uncertain (rows "
              "left out by --binarise), population, prevalence (label: p, in that population; null where unknown), "
              "observed (label: proportion of the rows), stated_for (label: p, of the population of the metrics), "
              "strata (of a model with strata, a list: name, rows, share, observed, stated_for, metrics), with "
              "--population unknown target_prevalence and its other fields in prevail predict --json, positive, "
              "interval, bootstrap (replicates), drawn (how), units (of clusters or rows that were drawn), seed, "
              "decision (with --threshold or --costs: thresholds, a list of "
              "{threshold, action, rates}, cost and cost_for_all, each {value, lo, hi}; else null), compared (with "
              "--compare a list of {name, metrics, differences}, both as metrics), curves (with --curves -; name: "
              "{column: values}), importance (with --importance: columns, a list of {column, loss, sd, dependence: a "
              "list of {value, risk}, the mean risk of each label if everyone had the value}, information, rows, "
              "permutations; else null), model, ensemble (names), data, version, warnings.\nThe metrics are:\n"
#define LINE(name, depends, least, text) #name "\t" text "\n"
    PV_METRIC_LIST(LINE)
#undef LINE
        "Rates are those of the positive label.\n"
        "The curves, of the positive label against all others (columns are explained in docs/formats.md):\n"
#define LINE(name, text) #name "\t" text "\n"
    PV_CURVE_LIST(LINE)
#undef LINE
        "Undefined values are NA in the files; a threshold above all probabilities is inf.",
    .examples = examples,
    .rules = rules,
    .run = run};
