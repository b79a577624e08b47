/* prevail fit: fits a model to a table and writes a model file. */
#include "cli/classifier.h"
#include "cli/commands.h"
#include "cli/fit_plan.h"
#include "cli/fit_report.h"
#include "cli/strata.h"
#include "prevail/prevail.h"
#include "tool/checkpoint.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"
#include "tool/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct fit_options {
    cli_roles roles;
    pv_fit_options fit;
    cli_sample sample;
    const char *output, *trace;
    double interval;
    bool dry_run;
    report_options report;
    cli_checkpoint checkpoint;
    cli_running running;
} fit_options;

static const pv_option run_table[] = {
    CLI_OPTION_OUTPUT(
        fit_options, output,
        "File to save the model in. Without --checkpoint an interrupted fit is saved too, unless the file exists."),
    {"dry-run", PV_OPTION_FLAG, offsetof(fit_options, dry_run), NULL, 0, 0, NULL, NULL,
     "Read the data, check the options, print what the fit would do, and stop."},
    {"trace", PV_OPTION_TEXT, offsetof(fit_options, trace), NULL, 0, 0, NULL, "FILE.csv",
     "Minibatches: write the progress of training to this file, one row per epoch. Each row costs a pass over the "
     "data."},
    CLI_OPTION_INTERVAL(fit_options, interval, "0.95",
                        "Level of the intervals that are shown: linear models, and models with a posterior."),
    CLI_OPTION_THREADS(fit_options, running.threads),
    CLI_OPTION_MEMORY(fit_options, running.memory),
    CLI_OPTION_RANKS(fit_options, running.ranks),
    CLI_OPTIONS_DEVICE(fit_options, running),
    CLI_OPTION_JSON(fit_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_QUIET(fit_options, running.quiet),
    CLI_OPTION_END};

static const pv_option report_table[] = {CLI_OPTIONS_REPORT(fit_options, report), CLI_OPTION_END};

static int fit(cli_call *call, const fit_options *options, const cli_training *training, pv_classifier **classifier) {
    pv_fit_options how = options->fit;
    pv_dataset *sample;
    int code = cli_read_sample(call, &options->sample, &options->roles, training, &sample);
    if (code != CLI_OK)
        return code;
    how.sample = sample;
    how.command = call->line;
    const pv_csv_options csv = cli_csv(call);
    how.csv = &csv;
    if (options->dry_run) {
        code = cli_fit_plan(call, training, &how, options->running.json);
    } else {
        pv_status status = pv_fit(call->ctx, training->schema, training->data, &how, classifier);
        cli_progress_clear(call);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    pv_dataset_free(call->ctx, sample);
    return code;
}

/* Collects warnings about a finished fit. */
static pv_status add_warnings(cli_call *call, const fit_options *options, const pv_classifier *classifier) {
    const pv_diagnose_options how = {.fit = &options->fit};
    pv_diagnosis *found;
    pv_status status = cli_diagnosis(call, classifier, &how, &found);
    for (size_t i = 0; status == PV_OK && i < found->count; i++) {
        const pv_check *check = &found->check[i];
        bool saved =
            options->output && classifier->stop == PV_STOP_INTERRUPTED && strcmp(check->name, "optimiser") == 0;
        if (*check->warning)
            cli_warn(call, "%s%s%s", check->warning, saved ? "; the partial model is saved in " : "",
                     saved ? options->output : "");
    }
    pv_diagnosis_free(call->ctx, found);
    return status;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* The members of a classifier's tree that fit shows, in order: those of the result, and those of the run. */
static const char *const of_result[] = {"stop",
                                        "iterations",
                                        "passes",
                                        "loss",
                                        "marginal",
                                        "prevalence",
                                        "prevalence_n",
                                        "population_sample",
                                        "weighting",
                                        "strata",
                                        "strata_columns",
                                        "coefficients",
                                        "posterior",
                                        "posterior_stop",
                                        "draws",
                                        "interval",
                                        "marginal_interval",
                                        "elbo",
                                        "elbo_se",
                                        "evidence",
                                        "chains",
                                        "rhat_max",
                                        "ess_min",
                                        "divergences",
                                        "seconds",
                                        NULL};
static const char *const of_run[] = {"seed",       "rows",      "dropped",       "validation", "validation_rows",
                                     "best_epoch", "classes",   "design",        "model",      "offset",
                                     "parameters", "loss_kind", "marginal_kind", "stacked",    "boosted",
                                     "smoothing",  NULL};

/* Those that the model has. */
static void take(pv_result *object, const pv_result *found, const char *const *name) {
    for (; *name; name++)
        pv__value_take(object, *name, found);
}

static pv_status print_json(const cli_call *call, const fit_options *options, const pv_classifier *c) {
    bool chosen, none = options->fit.infer == PV_INFER_ML;
    pv_result *found;
    pv_status status = pv_classifier_result(call->ctx, c, options->interval, &found);
    if (status != PV_OK)
        return status;
    pv_result *object = pv__value_object();
    take(object, found, of_result);
    pv__value_set(object, "ranks", pv__value_integer(pv_ctx_ranks(call->ctx, NULL)));
    take(object, found, of_run);
    pv_result_free(found);
    char *prior = cli_prior(call->ctx, c, &chosen);
    pv__value_set(object, "prior", !cli_has_prior(c) ? pv__value_null() : pv__value_text(none ? "none" : prior));
    free(prior);
    pv__value_set(object, "intercept_prior",
                  !cli_has_prior(c) ? pv__value_null() : pv__value_text(none ? "none" : options->fit.intercept_prior));
    pv__value_set(object, "saved", options->output ? pv__value_text(options->output) : pv__value_null());
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    pv__value_set(object, "warnings", cli_json_warnings(call));
    cli_json_print(call, object);
    return PV_OK;
}

/* The prior that auto resolved to. */
static const char *intercept_prior(const fit_options *options, const pv_classifier *c) {
    if (strcmp(options->fit.intercept_prior, "auto") != 0)
        return options->fit.intercept_prior;
    if (options->fit.infer == PV_INFER_ROBUST)
        return "none";
    if (!pv_loss_has_marginal(c->loss) || !(c->prevalence_n > 0))
        return "normal:10";
    return c->half_counts ? "the stated prevalence with Jeffreys' half counts" : "the stated prevalence";
}

static void print_no_errors(const char *why) {
    char *text = cli_syntax(NULL, why);
    printf("  (no standard errors: %s)\n", text);
    free(text);
}

static void print_strata(const pv_fit_options *fit, const pv_classifier *c) {
    printf("%d strata, their prevalences from %s", c->stratified->strata,
           fit->phase_one       ? fit->phase_one
           : fit->prevalence_by ? fit->prevalence_by
                                : "--subcohort");
    if (fit->prevalence_by && fit->prevalence_odds != 1)
        printf(", odds x %.6g", fit->prevalence_odds);
    printf("\n");
    cli_print_strata_columns(c, "strata ");
}

/* Prints what was fitted, and to which data. */
static void print_data(const pv_classifier *c) {
    char why[96];
    int features = pv_classifier_features(c);
    fputs("outcome ", stdout);
    cli_put_name(c->schema->target, 0);
    if (c->schema->image)
        printf(": %s, %s parameters, on %s images of %s", pv_model_spec(c->model),
               pv_group_digits((double)pv_model_params(c->model)).text, pv_group_digits((double)c->rows).text,
               c->source);
    else if (c->stacked)
        printf(": mixture of models (auto) of %zu column%s, on %s rows of %s", pv_classifier_columns(c),
               pv_classifier_columns(c) == 1 ? "" : "s", pv_group_digits((double)c->rows).text, c->source);
    else
        printf(": %s model of %d feature%s, on %s rows of %s", pv_model_spec(c->model), features,
               features == 1 ? "" : "s", pv_group_digits((double)c->rows).text, c->source);
    if (c->dropped && c->schema->image)
        printf("; %s more %s left out", pv_group_digits((double)c->dropped).text,
               cli_left_out(c->schema->image, why, sizeof why));
    else if (c->dropped)
        printf("; %s more with missing cells left out", pv_group_digits((double)c->dropped).text);
    fputc('\n', stdout);
    if (c->schema->missing >= PV_MISSING_INDICATOR)
        printf("missing cells: the mean or the most frequent level%s\n",
               c->schema->missing == PV_MISSING_INDICATOR ? ", and an indicator" : "");
}

/* Prints how well the prevalence is known. */
static void print_known_from(const fit_options *options, double n) {
    const char *given = options->fit.prevalence;
    if (given && strchr(given, '-') && !strpbrk(given, ",e")) /* an interval, which has no count */
        printf(", stated as %s\n", given);
    else
        printf(", estimated from %s observations\n", pv_group_digits(n).text);
}

/* Prints the target population. */
static void print_population(const fit_options *options, const pv_classifier *c) {
    int y = c->schema->classes - 1;
    if (c->stratified) {
        print_strata(&options->fit, c);
    } else if (pv_classifier_is_relative(c)) {
        puts("population: none. Matched sets give odds ratios; for risks add --prevalence and --population-sample");
    } else if (!c->prevalence) {
        printf("population: that of the rows, prevalence %.4g of label ", c->design[y]);
        cli_put_name(c->schema->labels[y], 0);
        fputc('\n', stdout);
    } else if (c->schema->classes > 2) {
        printf("population: prevalences %s, listed below\n",
               c->estimated ? "estimated from the population sample" : "as stated");
    } else {
        printf("population: prevalence %.4g of label ", c->prevalence[y]);
        cli_put_name(c->schema->labels[y], 0);
        if (c->estimated)
            printf(", estimated from the population sample\n");
        else if (isfinite(c->prevalence_n))
            print_known_from(options, c->prevalence_n);
        else
            printf(", known exactly\n");
    }
}

/* Prints the method. */
static void print_method(const cli_call *call, const fit_options *options, const pv_classifier *c) {
    bool chosen, intercept = !pv_loss_is_relative(c->loss);
    char *prior = cli_prior(call->ctx, c, &chosen);
    printf("\nfitted with loss %s%s%s", pv_loss_name(c->loss), pv_loss_has_marginal(c->loss) ? ", marginal " : "",
           pv_loss_has_marginal(c->loss) ? pv_marginal_name(c->marginal) : "");
    if (c->stacked)
        printf("; each model of the mixture has its own prior\n");
    else if (c->boosted)
        printf(", boosted trees\n");
    else if (options->fit.infer == PV_INFER_ML)
        printf(", maximum likelihood (no prior)\n");
    else if (c->smoothing && chosen)
        printf(", normal priors with scales chosen from the rows%s%s%s\n", intercept ? ", " : "",
               intercept ? intercept_prior(options, c) : "", intercept ? " on intercepts" : "");
    else
        printf(", prior %s on %s%s%s%s%s\n", prior, c->schema->image ? "weights" : "standardised slopes",
               chosen ? " (scale chosen from the rows)" : "", intercept ? ", " : "",
               intercept ? intercept_prior(options, c) : "", intercept ? " on intercepts" : "");
    free(prior);
    printf("%s after %lld step%s, loss %.10g, seed %lld\n", pv_stop_name(c->stop), (long long)c->iterations,
           c->iterations == 1 ? "" : "s", c->loss_value, (long long)c->seed);
    if (c->validation_rows)
        printf("validation: %s %s held out, log_loss %.6g", pv_group_digits((double)c->validation_rows).text,
               c->schema->image ? "images" : "rows", c->validation);
    if (c->validation_rows && c->best_epoch)
        printf(" after epoch %lld, the best, which is kept", (long long)c->best_epoch);
    if (c->validation_rows)
        fputc('\n', stdout);
    cli_print_posterior(c);
    if (pv_loss_of_design(c->loss))
        printf("%s fits the rows as sampled; %s\n", pv_loss_name(c->loss),
               c->prevalence ? "predict corrects for the stated prevalence"
                             : "predict needs --population: design for data like these, or known:P");
}

/* Printed where the gain is beyond noise. */
static void print_outlook(const pv_outlook *outlook) {
    if (outlook->lead > 2 * outlook->se)
        printf("\nA mixture predicts better than this model: --model auto gains %.2g nats per person in the\n"
               "population (standard error %.2g; cross-validated, with linear models and a small network).\n",
               outlook->lead, outlook->se);
}

/* The answer first: what was estimated, for which population; then how. */
static void print_text(const cli_call *call, const fit_options *options, const pv_classifier *c,
                       const pv_summary *summary, const pv_outlook *outlook) {
    print_data(c);
    print_population(options, c);
    cli_print_label_error(c, "label errors: ");
    cli_print_adequacy(c);
    fputc('\n', stdout);
    cli_print_coefficients(c, summary, false);
    if (c->no_errors && summary->coefficient)
        print_no_errors(c->no_errors);
    cli_print_stacked(c);
    cli_print_boosted(c);
    cli_print_smoothing(c);
    fputc('\n', stdout);
    cli_print_classes(c, summary);
    if (c->stratified)
        cli_print_strata(c);
    print_method(call, options, c);
    print_outlook(outlook);
    if (call->warnings)
        fputc('\n', stdout);
    for (size_t i = 0; i < call->warnings; i++)
        printf("warning: %s\n", call->warning[i]);
    if (options->output)
        printf("\nsaved in %s\n", options->output);
    else
        printf("\nnot saved; use -o FILE to save the model\n");
}

static int show(cli_call *call, const fit_options *options, const pv_classifier *classifier,
                const pv_outlook *outlook) {
    pv_summary *summary = NULL;
    pv_status status = add_warnings(call, options, classifier);
    if (status == PV_OK && options->running.json)
        status = print_json(call, options, classifier);
    else if (status == PV_OK &&
             (status = pv_classifier_summary(call->ctx, classifier, options->interval, &summary)) == PV_OK)
        print_text(call, options, classifier, summary, outlook);
    pv_summary_free(call->ctx, summary);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* Steps of the posterior's engine, if it had begun. */
static long long steps_of(const pv_classifier *classifier) {
    return classifier->posterior ? classifier->posterior->iterations : classifier->iterations;
}

/* The output file if it would be replaced, unlike a pipe or /dev/null. */
static const char *replaced(const fit_options *options) {
    const char *const paths[] = {options->output, options->trace};
    struct stat about;
    for (size_t i = 0; i < 2; i++)
        if (paths[i] && stat(paths[i], &about) == 0 && S_ISREG(about.st_mode))
            return paths[i];
    return NULL;
}

/* With a checkpoint nothing else is saved. Otherwise an interrupted fit is saved only if that does not replace a
 * file. */
static int check_interruption(cli_call *call, const fit_options *options, const pv_classifier *classifier) {
    if (!cli_was_stopped(classifier, PV_STOP_INTERRUPTED))
        return CLI_OK;
    const char *kept = replaced(options);
    if (options->checkpoint.path)
        return cli_error(call, PV_ERR_INTERRUPTED, NULL, "interrupted after %lld steps; no model was saved%s%s",
                         steps_of(classifier), kept ? ", and the old file is unchanged: " : "", kept ? kept : "");
    if (!options->output)
        return cli_error(call, PV_ERR_INTERRUPTED, NULL,
                         "interrupted; nothing was saved. Use -o FILE to keep a partial model, or --checkpoint FILE to "
                         "be able to continue");
    if (kept)
        return cli_error(call, PV_ERR_INTERRUPTED, kept,
                         "is unchanged: the fit was interrupted after %lld steps, and nothing was saved. Use another "
                         "name to keep the partial model, or --checkpoint FILE to be able to continue",
                         steps_of(classifier));
    return CLI_OK;
}

static bool is_utf8(const char *text) {
    for (size_t length = 1; *text && length; text += length)
        length = pv_utf8_next(text, NULL);
    return !*text;
}

/* The name or a level of a column that is not UTF-8; NULL: all are valid. */
static const char *bad_text(const pv_source_column *column) {
    if (!is_utf8(column->name))
        return column->name;
    for (int32_t level = 0; level < column->levels; level++)
        if (!is_utf8(column->level[level]))
            return column->level[level];
    return NULL;
}

/* Model files are UTF-8, so invalid text is rejected before any work. */
static int check_texts(cli_call *call, const cli_training *training) {
    const pv_schema *schema = training->schema;
    const char *bad = NULL;
    for (int y = 0; y < schema->classes && !bad; y++)
        bad = is_utf8(schema->labels[y]) ? NULL : schema->labels[y];
    for (size_t i = 0; i < schema->sources && !bad; i++)
        bad = bad_text(&schema->source[i]);
    for (size_t i = 0; schema->strata && i < schema->strata->columns && !bad; i++)
        bad = bad_text(&schema->strata->column[i]);
    return bad ? cli_error(call, PV_ERR_INPUT, call->argument[0],
                           "the name, label or level '%.60s' is not UTF-8, as model files require; save the data as "
                           "UTF-8",
                           bad)
               : CLI_OK;
}

/* Reads the table, after rejecting everything that can be rejected before the fit. */
static int prepare(cli_call *call, fit_options *options, cli_training *training) {
    const char *data = call->argument[0];
    int code = cli_training_prepare(call, data, &options->fit, &options->roles);
    if (code != CLI_OK)
        return code;
    const pv_roles *roles = &options->roles.roles;
    const pv_loss loss = pv_fit_loss(&options->fit, options->sample.path != NULL, roles->matched != NULL);
    if (roles->group && roles->image && !(options->fit.validation > 0))
        return cli_error(call, PV_ERR_USAGE, NULL, "--group is for --validation: add it, or leave --group out");
    code = report_check(call, &options->report);
    if (code == CLI_OK)
        code = cli_check_fit(call, &options->fit, &loss, 1, options->sample.path != NULL);
    if (code == CLI_OK)
        code = cli_check_use(call, "trace", pv_fit_idle(&options->fit, roles->image != NULL, "trace"));
    if (code == CLI_OK)
        code = cli_check_use(call, "interval", pv_fit_idle(&options->fit, roles->image != NULL, "interval"));
    options->fit.trace = options->trace != NULL;
    if (code == CLI_OK)
        code = cli_training_read_beside(call, data, &options->roles, &options->checkpoint, training);
    return code == CLI_OK && options->output ? check_texts(call, training) : code;
}

/* Saves and prints the fitted model. */
static int keep(cli_call *call, const fit_options *options, const pv_classifier *classifier,
                const pv_outlook *outlook) {
    static const pv_stop poor[] = {PV_STOP_DIVERGED, PV_STOP_MAX_ITER, PV_STOP_NO_PROGRESS, PV_STOP_POOR};
    int code = check_interruption(call, options, classifier);
    if (code == CLI_OK && options->output) {
        pv_status status = pv_classifier_save(call->ctx, classifier, options->output);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    if (code == CLI_OK)
        code = cli_trace_write(call, options->trace, classifier);
    if (code == CLI_OK)
        code = show(call, options, classifier, outlook);
    if (code == CLI_OK && report_wanted(&options->report))
        code = fit_write_report(call, &options->report, classifier, options->output, options->interval);
    if (code != CLI_OK)
        return code;
    for (size_t i = 0; i < sizeof poor / sizeof *poor; i++)
        if (cli_was_stopped(classifier, poor[i]))
            return CLI_PROBLEMS; /* a warning names it */
    /* an interrupted fit is saved, but the command has not done what was asked */
    return cli_was_stopped(classifier, PV_STOP_INTERRUPTED) ? CLI_FAILED : CLI_OK;
}

/* Whether a mixture would predict better. A checkpoint, which knows one fit, goes without. */
static int look_out(cli_call *call, const fit_options *options, const cli_training *training,
                    const pv_classifier *classifier, pv_outlook *outlook) {
    *outlook = (pv_outlook){0};
    if (options->running.json || options->checkpoint.path || cli_was_stopped(classifier, PV_STOP_INTERRUPTED))
        return CLI_OK;
    pv_status status = pv_fit_outlook(call->ctx, training->schema, training->data, &options->fit, classifier, outlook);
    cli_progress_clear(call);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int run(cli_call *call) {
    fit_options *options = call->options;
    cli_training training = {0};
    pv_classifier *classifier = NULL;
    pv_outlook outlook;
    call->collect = true;
    int code = prepare(call, options, &training);
    if (code == CLI_OK && options->dry_run) {
        code = fit(call, options, &training, &classifier);
        cli_training_clear(call, &training);
        return code;
    }
    if (code == CLI_OK)
        code = cli_checkpoint_start(call, &options->checkpoint);
    if (code == CLI_OK)
        code = fit(call, options, &training, &classifier);
    if (code == CLI_OK)
        code = look_out(call, options, &training, classifier, &outlook);
    if (code == CLI_OK)
        code = keep(call, options, classifier, &outlook);
    if (classifier && options->checkpoint.path && cli_was_stopped(classifier, PV_STOP_DIVERGED)) {
        pv_checkpoint_close(call->ctx);
        if (access(options->checkpoint.path, F_OK) == 0)
            cli_note(call, "%s has the last good state; remove it before you try another --rate",
                     options->checkpoint.path);
    } else {
        code = cli_checkpoint_end(call, &options->checkpoint, code);
    }
    pv_classifier_free(call->ctx, classifier);
    cli_training_clear(call, &training);
    return code;
}

static const cli_group groups[] = {{"Data", pv_role_option_table, offsetof(fit_options, roles)},
                                   {"Reading", pv_csv_option_table, offsetof(fit_options, roles.csv)},
                                   {"Images", pv_image_option_table, offsetof(fit_options, roles.image)},
                                   {"Population", cli_sample_table, offsetof(fit_options, sample)},
                                   {"Model", pv_fit_option_table, offsetof(fit_options, fit)},
                                   {"Running", run_table, 0},
                                   {"Report", report_table, 0},
                                   {"Checkpoints", cli_checkpoint_table, offsetof(fit_options, checkpoint)},
                                   {NULL, NULL, 0}};

static const cli_common common[] = {
    {"Data", "outcome", "The column to predict."},
    {NULL, "positive", "Which of two labels the prevalence and the odds ratios refer to."},
    {NULL, "weights", "A column of counts or weights."},
    {NULL, "exclude", "Columns that are not features, comma-separated."},
    {NULL, "missing", "What to do with missing cells."},
    {"Population", "prevalence", "Prevalence of the positive label in the target population: 0.01, or 0.005-0.02."},
    {NULL, "prevalence-n", "The number of observations behind this prevalence."},
    {NULL, "population-sample", "Unlabelled rows of the population, if the prevalence is unknown."},
    {"Model", "model", "additive: curves. ordinal: labels in order. mlp: a network. auto: a mixture."},
    {NULL, "loss", "ig: corrected for the sampling by label. iw: class weights. plain: log-loss."},
    {NULL, "prior", "Prior on slopes, per standard deviation of a column."},
    {"Uncertainty", "infer", "map and ml: one estimate. robust: the weighted estimate. The others: a posterior."},
    {NULL, "seed", "Seed of all random numbers."},
    {"Output", "output", "File to save the model in."},
    {NULL, "report", "Write the results and a methods paragraph as an HTML page."},
    {NULL, "dry-run", "Print what the fit would do, and stop."},
    {NULL, "json", NULL},
    {NULL, NULL, NULL}};

static const cli_example examples[] = {
    {"prevail fit study.csv --outcome cancer --prevalence 0.01 -o study.model",
     "A case-control study of a disease with a prevalence of 1 %."},
    {"prevail fit builtin:esoph --outcome cancer --weights count --prevalence 0.0005 --prevalence-n known",
     "The built-in study of oesophageal cancer, with a prevalence that is known exactly."},
    {"prevail fit study.csv --outcome cancer --prevalence 0.005-0.02 --infer vi -o study.model",
     "With a posterior: intervals for coefficients, and for risks with prevail predict --interval."},
    {"prevail fit study.csv --outcome cancer --population-sample people.csv -o study.model",
     "The prevalence is unknown, but unlabelled people from the population are available."},
    {NULL, NULL}};

static const cli_rule rules[] = {
    {"output=-", NULL, "-o -: a model is binary and cannot be written to standard output; give the name of a file"},
    {"trace=-", NULL, "--trace -: give the name of a file"},
    CLI_RULE_LOSS,
    {NULL, NULL, NULL}};

const cli_command cli_fit = {
    .name = "fit",
    .summary = "fit a classifier to a table and save it",
    .usage = "DATA --outcome COL --prevalence P|--population-sample FILE [-o MODEL] [options]",
    .text = "Fits a classifier to a table whose rows may have been sampled by label, and corrects for it, so that "
            "probabilities are right in the population with the stated prevalence. Text columns become indicators "
            "against a reference level; numeric columns are standardised for the fit, and coefficients are reported "
            "per unit of the column.",
    .arguments = cli_training_arguments,
    .groups = groups,
    .common = common,
    .hints = cli_training_hints,
    .options_size = sizeof(fit_options),
    .output =
        "Text: what was fitted, for which population, which estimate is in use and whether the linear model is "
        "adequate; coefficients with standard errors, odds ratios and intervals (linear models; without a prior also z "
        "and p); for each label its proportion of the rows, in the population and in the model; the loss, the prior "
        "and why the fit stopped; warnings. prevail summary adds the estimate that assumes a linear model, with "
        "Hausman's test of the two. With a posterior (--infer laplace, vi, hmc) means, standard deviations and central "
        "intervals of its draws.\nWith --json one object: stop, iterations, loss, marginal (label: p), prevalence "
        "(label: p), prevalence_n (a number or \"known\"), weighting (null where there is one estimate: use, "
        "efficient, weighted or combined, estimand, statistic, df and p_value of Hausman's test, units), strata (with "
        "--strata, a list: name, share, prevalence, prevalence_n, design and marginal of each), strata_columns (a "
        "list: name, feature), coefficients (name: {value, se, lo, hi, odds_ratio, odds_ratio_lo, odds_ratio_hi}, "
        "without a prior z and p too; df of Student's t; if_linear, the efficient estimate, and weighting, the share "
        "of the weighted one, where they are combined; {value} and odds_ratio where there are no standard errors; more "
        "than two "
        "classes: label: {name: ...} against the first label), interval (the level), seconds, ranks, seed, rows, "
        "dropped, classes, design (label: proportion of the rows), model, loss_kind, marginal_kind, validation, "
        "validation_rows and best_epoch (with --validation; the epoch whose parameters are kept, null without "
        "--patience), prior, intercept_prior, with --model auto stacked (candidates, a list: name, weight, gain, se; "
        "gain and se of the mixture, guess, ratio_max, folds, repeats), with --model trees boosted (depth, rounds, "
        "rate, chosen, most, folds, loss, guess), saved, version, warnings. Numbers that are not finite are "
        "null.\nWith a posterior, coefficients are name: {value, sd, lo, hi, odds_ratio, odds_ratio_lo, odds_ratio_hi, "
        "sign (proportion of the draws with the sign of the mean)}, marginal is its mean, and there are "
        "posterior (laplace, vi or hmc), posterior_stop, draws, interval (the level), marginal_interval (label: "
        "{value, sd, lo, hi}), elbo and elbo_se (vi; for laplace the log evidence), evidence (vi), chains, rhat_max, "
        "ess_min and divergences (hmc).\nstop is converged, completed (a schedule of fixed length), max_iter, diverged "
        "(exit code 3), interrupted, no_progress or early (the validation score stopped improving); posterior_stop may "
        "also be poor (it finished but failed its checks: exit code 3).",
    .examples = examples,
    .rules = rules,
    .run = run};
