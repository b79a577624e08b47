/* prevail eval: how good predictions are on labelled data, a model's or those in a file. */
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
     "labels, or as LABEL=COL,... A row then counts as its share of votes for each label."},
    {"binarise", PV_OPTION_TEXT, offsetof(eval_options, binarise), NULL, 0, 0, NULL, "LABEL",
     "For a model of ordered labels, as grades from 1 to 5: they are judged as two, below and above this one, 3 say. A "
     "row counts as the share of its votes on either side; rows with more than half on this label are uncertain, "
     "counted, and stand apart. Probabilities are those of the two sides, given that it is one of them. (fit "
     "--binarise is different: it learns two labels, each image by the mean of its votes; such a model is judged "
     "without this.)"},
    CLI_OPTION_ENSEMBLE(eval_options, ensemble),
    {"compare", PV_OPTION_TEXT, offsetof(eval_options, compare), NULL, 0, 0, NULL, "FILE,...",
     "Further models, or with --probs further files of probabilities (of prevail cv -o, say), judged on the same rows. "
     "Adds by how much each metric of theirs differs, with intervals of the paired difference."},
    {"weights", PV_OPTION_TEXT, offsetof(eval_options, weights), NULL, 0, 0, NULL, "COL",
     "A column of counts or weights, one non-negative number per row. A row of weight v counts as v rows, in intervals "
     "too."},
    {"positive", PV_OPTION_TEXT, offsetof(eval_options, positive), NULL, 0, 0, NULL, "LABEL",
     "The label that rates, predictive values and curves refer to, against all others. Default: the last."},
    {"population", PV_OPTION_TEXT, offsetof(eval_options, population), "true", 0, 0, NULL, "NAME",
     "The population the judged probabilities are to hold in: true, known:P, unknown or design, as in prevail "
     "predict; unknown is inferred from the rows without a look at their labels. With --probs: true, the probabilities "
     "as they are, known:P or unknown."},
    CLI_OPTION_STATED(eval_options, stated_for, "rows", "metrics and curves are"),
    CLI_OPTION_INTERVAL(eval_options, interval, "0.95", "The level of the intervals."),
    {"bootstrap", PV_OPTION_INT, offsetof(eval_options, bootstrap), NULL, 0, 1e6, NULL, "N",
     "Replicates of the stratified bootstrap behind the metrics' intervals; 0: no intervals. Default: 1000, or fewer, "
     "at least 100, for more than 50,000 rows of more than two labels."},
    {"seed", PV_OPTION_INT, offsetof(eval_options, seed), "1", 0, 9007199254740992.0, NULL, "S", "Of the bootstrap."},
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
     "Judge the probabilities in this CSV file, whatever made them, instead of a model's: columns p__LABEL and the "
     "--outcome. - reads standard input."},
    {"columns", PV_OPTION_TEXT, offsetof(eval_options, columns), NULL, 0, 0, NULL, "LABEL=COL,...",
     "The columns with the probabilities, where they are not named p__LABEL. Of two labels one is enough; it is then "
     "the last."},
    {"from", PV_OPTION_TEXT, offsetof(eval_options, from), NULL, 0, 0, NULL, "P",
     "The prevalence the probabilities were made for. holdout_nll, information_gain and --population known:P and "
     "unknown need it."},
    CLI_OPTION_END};

static const pv_option curves_table[] = {
    {"curves", PV_OPTION_TEXT, offsetof(eval_options, curves), NULL, 0, 0, NULL, "DIR",
     "Write the curves to this folder, one CSV file each. -: into the object that --json prints."},
    {"points", PV_OPTION_INT, offsetof(eval_options, points), "500", 0, 1e9, NULL, "N",
     "At most so many thresholds a curve, evenly spread over both labels; 0: every distinct probability."},
    {"bins", PV_OPTION_INT, offsetof(eval_options, bins), "10", 1, 10000, NULL, "N",
     "Bins of the calibration curve, each of as many rows as ties allow."},
    CLI_OPTION_END};

static const pv_option decision_table[] = {
    {"threshold", PV_OPTION_REAL, offsetof(eval_options, threshold), "0.5", 1e-9, 0.999999, NULL, "T",
     "The threshold in use: rows of that probability or more are called positive. Adds the rates of this decision, "
     "with intervals; the curve predictive_values is of it, and a report starts with it (else at the prevalence). The "
     "metrics above are those of the most probable label."},
    {"costs", PV_OPTION_TEXT, offsetof(eval_options, costs), NULL, 0, 0, NULL, "FILE|fp=X,fn=Y",
     "Two labels: costs as for prevail predict, which determine the threshold. Adds its rates, the mean cost of a "
     "person whose action is chosen by it, and that of each action for everyone."},
    CLI_OPTION_END};

static const pv_option importance_table[] = {
    {"importance", PV_OPTION_FLAG, offsetof(eval_options, importance), NULL, 0, 0, NULL, NULL,
     "What each column is worth: the information, in nats a person, that predictions lose once the column's cells are "
     "dealt out anew among the people of the population of --stated-for, or, without it, of the predictions. Text "
     "columns, and terms that "
     "a "
     "column is in, change as one. Reports have it without being asked."},
    CLI_OPTION_END};
static const pv_option report_table[] = {
    CLI_OPTIONS_REPORT(eval_options, report),
    {"training", PV_OPTION_TEXT, offsetof(eval_options, training), NULL, 0, 0, NULL, "FILE",
     "The table that the model learned from: the report shows its calibration too, rows reweighted label by label."},
    CLI_OPTION_END};

static int check_call(cli_call *call, const eval_options *options) {
    static const char *const with_probs[] = {"columns", "from", NULL};
    static const char *const with_curves[] = {"bins", "points", NULL};
    if (options->probs && call->argument[0])
        return cli_error(call, PV_ERR_USAGE, NULL, "--probs takes the place of MODEL and DATA: leave out %s",
                         call->argument[0]);
    if (!options->probs && (!call->argument[0] || !call->argument[1]))
        return cli_error(call, PV_ERR_USAGE, NULL, "%s is missing; usage: prevail eval %s",
                         call->argument[0] ? "DATA" : "MODEL", call->command->usage);
    for (size_t i = 0; !options->probs && with_probs[i]; i++)
        if (cli_given(call, with_probs[i]))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s belongs to --probs; leave it out", with_probs[i]);
    for (size_t i = report_wanted(&options->report) ? 1 : 0; !options->curves && with_curves[i]; i++)
        if (cli_given(call, with_curves[i]))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s belongs to --curves%s", with_curves[i],
                             i < 1 ? " or --report" : "");
    if (options->costs && cli_given(call, "threshold"))
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--costs determine the threshold: leave out --threshold, or --costs");
    int code = strcmp(options->population, "unknown") == 0
                   ? cli_check_method(call, &options->unknown)
                   : cli_check_idle(call, pv_unknown_option_table, "--population unknown", "give that");
    if (code != CLI_OK)
        return code;
    bool shown = options->curves || report_wanted(&options->report) || strcmp(options->population, "unknown") == 0;
    code = cli_check_level(call, options->bootstrap, shown);
    if (code != CLI_OK)
        return code;
    if (options->votes && options->target)
        return cli_error(call, PV_ERR_USAGE, NULL, "--outcome and --votes both name the labels; give one");
    if (options->ensemble && options->probs)
        return cli_error(call, PV_ERR_USAGE, NULL, "--ensemble is for models, not for --probs");
    if (options->ensemble && strcmp(options->population, "unknown") == 0)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--ensemble averages in a population of known prevalence: true, known:P or design");
    if (options->training && (options->ensemble || options->binarise))
        return cli_error(call, PV_ERR_USAGE, NULL, "--training does not go with --%s; leave one out",
                         options->ensemble ? "ensemble" : "binarise");
    if (options->curves && strcmp(options->curves, "-") == 0 && !options->running.json)
        return cli_error(call, PV_ERR_USAGE, NULL, "--curves - needs --json; name a folder for CSV files");
    if (options->training && (options->probs || !report_wanted(&options->report)))
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--training belongs to the report of a model: give --report FILE, and no --probs");
    code = eval_compare_check(call, options);
    if (code == CLI_OK)
        code = eval_importance_check(call, options);
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

/* What is not in the table. */
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

/* Weights that are not whole cannot be counts, which is what the intervals take them for. */
static void warn_of_weights(cli_call *call, const pv_dataset *data) {
    bool whole = true;
    if (data->sampling) /* as in the fit: their mean is 1 */
        return;
    for (size_t i = 0; data->weight && whole && i < data->rows; i++)
        whole = data->weight[i] == floor(data->weight[i]);
    if (!whole)
        cli_warn(call,
                 "a row of weight v counts as v rows in the intervals: with sampling weights they are too narrow; "
                 "use prevail cv, whose weights are scaled to the number of rows");
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
    {NULL, "missing", "Rows with missing cells."},
    {NULL, "probs", "Judge the probabilities in this CSV file, whatever made them."},
    {NULL, "columns", "The columns with those probabilities."},
    {NULL, "compare", "Other models on the same rows: paired differences."},
    {"Population", "population", "The population the probabilities are to hold for: true, known:P, unknown or design."},
    {NULL, "stated-for", "The population whose metrics are shown: the rows as they are, or another."},
    {NULL, "from", NULL},
    {"Decisions", "threshold", "The threshold in use: its rates are added."},
    {NULL, "costs", "Costs that determine it, as in fp=1,fn=50."},
    {"Uncertainty", "interval", NULL},
    {NULL, "bootstrap", "Replicates behind the intervals."},
    {"Output", "importance", "What each column is worth."},
    {NULL, "curves", "A folder for the curves, as CSV files."},
    {NULL, "report", "A page with the results, to look at in a browser."},
    {NULL, "json", NULL},
    {NULL, NULL, NULL}};

static const cli_example examples[] = {
    {"prevail eval study.model holdout.csv", "All metrics on rows that were not used for the fit."},
    {"prevail eval study.model holdout.csv --stated-for population --curves curves",
     "The metrics stated for the true population, and curves as CSV files."},
    {"prevail eval study.model holdout.csv --stated-for population --training study.csv --report report.html",
     "The same as a page to look at."},
    {"prevail eval study.model clinic.csv --population known:0.2 --stated-for 0.2 --json",
     "Probabilities and metrics for a clinic where one in five has the disease."},
    {"prevail eval seed1.model test.npz --ensemble seed2.model,seed3.model --binarise 3",
     "The mean of three models of readers' grades, judged as benign (below 3) against malignant (above)."},
    {"prevail eval study.model holdout.csv --costs fp=1,fn=50 --stated-for population",
     "Sensitivity, predictive values and mean cost of the decision that costs call for, in the population."},
    {"prevail eval one.model holdout.csv --compare two.model",
     "By how much the second model's metrics differ from the first's, with paired intervals."},
    {"prevail eval --probs scores.csv --columns 1=score --outcome cancer --from 0.5",
     "Probabilities that another model made for a balanced sample."},
    {NULL, NULL}};

static const cli_hint hints[] = {{"prevalence", "stated-for", NULL}, {NULL, NULL, NULL}};

const cli_command cli_eval = {
    .name = "eval",
    .more = "--compare FILE,... judges further models on the same rows",
    .summary = "metrics and curves of predictions on labelled data",
    .usage = "MODEL DATA | --probs FILE [--outcome COL] [--population NAME] [--stated-for P] [--curves DIR] [options]",
    .text =
        "Judges a model, or another model's probabilities, on rows whose labels are known. Two populations play a "
        "part. --population is the one the predictions are made for. --stated-for is the one the metrics are stated "
        "for: by default the rows as they are, whose label shares may be those of a study, not of a population. Those "
        "metrics that change with the prevalence are marked in the table; all are stated for the same one. nell is the "
        "log-loss as other software has it. holdout_nll adapts the "
        "predictions to the label shares it is stated for. With a posterior the predictions judged are its means.\n"
        "Rows whose label is missing are refused with their place, or left out and counted (--missing drop).\n"
        "Intervals are percentiles of bootstrap replicates drawn within labels; that of ece is turned about the value, "
        "since resampling adds to it.",
    .arguments = arguments,
    .groups = groups,
    .common = common,
    .hints = hints,
    .options_size = sizeof(eval_options),
    .output =
        "A table: metric, value, interval, what it is. With --json one object: metrics (name: {value, lo, hi}; null "
        "where undefined or infinite), rows, dropped, training_rows (true: the model was fitted on this table), "
        "uncertain (rows set apart by --binarise), population, prevalence "
        "(label: p, in that population; null where "
        "unknown), observed (label: share of the rows), stated_for (label: p, that the metrics are stated for), "
        "strata (of a model with strata, a list: name, rows, share, observed, stated_for, metrics), "
        "target_prevalence and what else prevail predict --json has for it (--population unknown), positive, interval, "
        "bootstrap (replicates), seed, decision (with --threshold or --costs: "
        "thresholds, a list of {threshold, action, rates}, cost and cost_for_all, each {value, lo, hi}; else null), "
        "compared (with --compare a list of {name, metrics, differences}, both as metrics), "
        "curves (with --curves -; name: {column: "
        "values}), importance (with "
        "--importance: "
        "columns, a list of {column, loss, sd}, information, rows, permutations; else null), model, ensemble (names), "
        "data, version, warnings.\n"
        "The metrics are:\n"
#define LINE(name, depends, least, text) #name "\t" text "\n"
    PV_METRIC_LIST(LINE)
#undef LINE
        "Rates are those of the positive label.\n"
        "The curves, of the positive label against all others (columns are explained in docs/formats.md):\n"
#define LINE(name, text) #name "\t" text "\n"
    PV_CURVE_LIST(LINE)
#undef LINE
        "Undefined is NA in the files; a threshold above all probabilities is inf.",
    .examples = examples,
    .run = run};
