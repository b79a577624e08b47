/* prevail fit: from a table to a model file. */
#include "cli/classifier.h"
#include "cli/commands.h"
#include "cli/fit_plan.h"
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
    cli_checkpoint checkpoint;
    cli_running running;
} fit_options;

static const pv_option run_table[] = {
    CLI_OPTION_OUTPUT(fit_options, output,
                      "Where to save the model; without this it is not saved. Without --checkpoint an interrupted fit "
                      "is saved too, unless the file exists."),
    {"dry-run", PV_OPTION_FLAG, offsetof(fit_options, dry_run), NULL, 0, 0, NULL, NULL,
     "Read the data, complete and check the options, print what the fit would do, and stop there."},
    {"trace", PV_OPTION_TEXT, offsetof(fit_options, trace), NULL, 0, 0, NULL, "FILE.csv",
     "Minibatches: write how training went, a row for each epoch. Each costs a pass over all rows."},
    CLI_OPTION_INTERVAL(fit_options, interval, "0.95",
                        "Level of the intervals that are shown: linear models, and models with a posterior."),
    CLI_OPTION_THREADS(fit_options, running.threads),
    CLI_OPTION_MEMORY(fit_options, running.memory),
    CLI_OPTION_RANKS(fit_options, running.ranks),
    CLI_OPTIONS_DEVICE(fit_options, running),
    CLI_OPTION_JSON(fit_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_QUIET(fit_options, running.quiet),
    CLI_OPTION_END};

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

/* What a careful user should be told about a fit that is done. */
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

/* ---- what is printed --------------------------------------------------------------------------------------------- */

static void print_json(const cli_call *call, const fit_options *options, const pv_classifier *c,
                       const pv_summary *summary) {
    json_t *coefficients = cli_json_coefficients(c, summary, false);
    json_t *object = cli_json_object(), *labels = cli_json_array();
    for (int y = 0; y < c->schema->classes; y++)
        cli_json_append(labels, cli_json_text(c->schema->labels[y]));
    cli_json_set(object, "stop", cli_json_text(pv_stop_name(c->stop)));
    cli_json_set(object, "iterations", json_integer(c->iterations));
    cli_json_set(object, "loss", cli_json_real(c->loss_value));
    cli_json_set(object, "marginal", cli_json_marginal(c, summary));
    cli_json_set(object, "prevalence", cli_json_prevalence(c));
    cli_json_set(object, "prevalence_n", cli_json_prevalence_n(c));
    cli_json_set(object, "population_sample", cli_json_sample(c));
    cli_json_set(object, "weighting", cli_json_weighting(c));
    if (c->stratified)
        cli_json_set(object, "strata", cli_json_strata(c));
    if (c->stratified)
        cli_json_set(object, "strata_columns", cli_json_strata_columns(c));
    if (coefficients)
        cli_json_set(object, "coefficients", coefficients);
    if (summary->has_errors)
        cli_json_set(object, "interval", cli_json_real(summary->level));
    cli_json_posterior(object, c, summary);
    cli_json_set(object, "seconds", cli_json_real(c->seconds));
    cli_json_set(object, "ranks", json_integer(pv_ctx_ranks(call->ctx, NULL)));
    cli_json_set(object, "seed", json_integer(c->seed));
    cli_json_set(object, "rows", json_integer((json_int_t)c->rows));
    cli_json_set(object, "dropped", json_integer((json_int_t)c->dropped));
    if (c->validation_rows) {
        cli_json_set(object, "validation", cli_json_real(c->validation));
        cli_json_set(object, "validation_rows", json_integer((json_int_t)c->validation_rows));
        cli_json_set(object, "best_epoch", c->best_epoch ? json_integer(c->best_epoch) : json_null());
    }
    cli_json_set(object, "classes", labels);
    cli_json_set(object, "design", cli_json_by_label(c->schema->labels, c->schema->classes, c->design));
    cli_json_set(object, "model", cli_json_text(pv_model_spec(c->model)));
    if (c->schema->offset)
        cli_json_set(object, "offset", cli_json_text(pv_classifier_offset(c)));
    cli_json_set(object, "parameters", json_integer((json_int_t)pv_model_params(c->model)));
    cli_json_set(object, "loss_kind", cli_json_text(pv_loss_name(c->loss)));
    cli_json_set(object, "marginal_kind", cli_json_marginal_kind(c));
    bool chosen;
    char *prior = cli_prior(call->ctx, c, &chosen);
    bool none = options->fit.infer == PV_INFER_ML;
    if (c->stacked)
        cli_json_set(object, "stacked", cli_json_stacked(c));
    cli_json_set(object, "prior", c->stacked ? json_null() : cli_json_text(none ? "none" : prior));
    free(prior);
    cli_json_set(object, "intercept_prior",
                 c->stacked ? json_null() : cli_json_text(none ? "none" : options->fit.intercept_prior));
    cli_json_set(object, "saved", options->output ? cli_json_text(options->output) : json_null());
    cli_json_set(object, "version", cli_json_text(PV_VERSION));
    cli_json_set(object, "warnings", cli_json_warnings(call));
    cli_json_print(call, object);
}

/* What auto, which is no prior by itself, stands for. */
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

static void print_text(const cli_call *call, const fit_options *options, const pv_classifier *c,
                       const pv_summary *summary) {
    if (c->schema->image)
        printf("%s on %s: %zu images, %zu parameters", pv_model_spec(c->model), c->source, c->rows,
               pv_model_params(c->model));
    else
        printf("%s on %s: %zu rows, %d feature%s", pv_model_spec(c->model), c->source, c->rows,
               pv_classifier_features(c), pv_classifier_features(c) == 1 ? "" : "s");
    fputs(", outcome ", stdout);
    cli_put_name(c->schema->target, 0);
    fputc('\n', stdout);
    char why[96];
    bool intercept = !pv_loss_is_relative(c->loss);
    if (c->dropped && c->schema->image)
        printf("%zu more image%s %s %s left out\n", c->dropped, c->dropped == 1 ? "" : "s",
               cli_left_out(c->schema->image, why, sizeof why), c->dropped == 1 ? "was" : "were");
    else if (c->schema->missing >= PV_MISSING_INDICATOR)
        printf("missing cells: the mean or the most frequent level%s\n",
               c->schema->missing == PV_MISSING_INDICATOR ? ", and an indicator" : "");
    else if (c->dropped)
        printf("%zu more row%s had missing cells and %s left out\n", c->dropped, c->dropped == 1 ? "" : "s",
               c->dropped == 1 ? "was" : "were");
    printf("loss %s%s%s", pv_loss_name(c->loss), pv_loss_has_marginal(c->loss) ? ", marginal " : "",
           pv_loss_has_marginal(c->loss) ? pv_marginal_name(c->marginal) : "");
    bool chosen;
    char *prior = cli_prior(call->ctx, c, &chosen);
    if (c->stacked)
        printf(", a mixture of models with priors of their own\n");
    else if (options->fit.infer == PV_INFER_ML)
        printf(", maximum likelihood (no prior)\n");
    else
        printf(", prior %s on %s%s%s%s%s\n", prior, c->schema->image ? "weights" : "standardised slopes",
               chosen ? " (scale chosen from the rows)" : "", intercept ? ", " : "",
               intercept ? intercept_prior(options, c) : "", intercept ? " on intercepts" : "");
    free(prior);
    cli_print_estimate(c, summary, "estimate ");
    if (c->stratified)
        print_strata(&options->fit, c);
    else if (pv_loss_has_marginal(c->loss) && !c->estimated && isfinite(c->prevalence_n))
        printf("prevalence as well known as from %.6g observations (--prevalence-n)\n", c->prevalence_n);
    else if (pv_loss_has_marginal(c->loss) && !c->estimated)
        printf("prevalence held exactly\n");
    printf("%s after %lld steps, loss %.10g, seed %lld\n", pv_stop_name(c->stop), (long long)c->iterations,
           c->loss_value, (long long)c->seed);
    if (c->validation_rows)
        printf("validation: %zu %s held out, negative log-likelihood %.6g", c->validation_rows,
               c->schema->image ? "images" : "rows", c->validation);
    if (c->validation_rows && c->best_epoch)
        printf(" after epoch %lld, the best, whose parameters are kept", (long long)c->best_epoch);
    if (c->validation_rows)
        fputc('\n', stdout);
    cli_print_posterior(c);
    fputc('\n', stdout);
    cli_print_classes(c, summary);
    if (c->stratified)
        cli_print_strata(c);
    if (pv_classifier_is_relative(c))
        printf("  (matched sets give odds ratios; for risks add --prevalence and --population-sample)\n");
    if (pv_loss_of_design(c->loss))
        printf("  (%s learns the data as they are; %s)\n", pv_loss_name(c->loss),
               c->prevalence ? "predict corrects for the stated prevalence"
                             : "predict needs --population: design for data like these, or known:P");
    fputc('\n', stdout);
    cli_print_coefficients(c, summary, false);
    if (c->no_errors && summary->coefficient)
        print_no_errors(c->no_errors);
    cli_print_estimates(c, summary, false);
    cli_print_stacked(c);
    if (call->warnings)
        fputc('\n', stdout);
    for (size_t i = 0; i < call->warnings; i++)
        printf("warning: %s\n", call->warning[i]);
    if (options->output)
        printf("\nsaved in %s\n", options->output);
    else
        printf("\nnot saved; -o FILE keeps the model\n");
}

static int show(cli_call *call, const fit_options *options, const pv_classifier *classifier) {
    pv_summary *summary = NULL;
    pv_status status = add_warnings(call, options, classifier);
    if (status == PV_OK)
        status = pv_classifier_summary(call->ctx, classifier, options->interval, &summary);
    if (status == PV_OK)
        (options->running.json ? print_json : print_text)(call, options, classifier, summary);
    pv_summary_free(call->ctx, summary);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* Of the posterior's engine, where it had begun. */
static long long steps_of(const pv_classifier *classifier) {
    return classifier->posterior ? classifier->posterior->iterations : classifier->iterations;
}

/* A file that would be replaced; a pipe or /dev/null would not. */
static const char *replaced(const fit_options *options) {
    const char *const paths[] = {options->output, options->trace};
    struct stat about;
    for (size_t i = 0; i < 2; i++)
        if (paths[i] && stat(paths[i], &about) == 0 && S_ISREG(about.st_mode))
            return paths[i];
    return NULL;
}

/* With a checkpoint nothing else is saved. Without one, what there is, where there is a place for it: half a fit
 * replaces nothing. */
static int check_interruption(cli_call *call, const fit_options *options, const pv_classifier *classifier) {
    if (!cli_was_stopped(classifier, PV_STOP_INTERRUPTED))
        return CLI_OK;
    const char *kept = replaced(options);
    if (options->checkpoint.path)
        return cli_error(call, PV_ERR_INTERRUPTED, NULL, "interrupted after %lld steps; no model was saved%s%s",
                         steps_of(classifier), kept ? ", and the old file is unchanged: " : "", kept ? kept : "");
    if (!options->output)
        return cli_error(call, PV_ERR_INTERRUPTED, NULL,
                         "interrupted; nothing was saved: -o FILE keeps a partial model, --checkpoint FILE lets the "
                         "fit be continued");
    if (kept)
        return cli_error(call, PV_ERR_INTERRUPTED, kept,
                         "is left as it was: the fit was interrupted after %lld steps, and nothing was saved; another "
                         "name keeps the partial model, --checkpoint FILE lets the fit be continued",
                         steps_of(classifier));
    return CLI_OK;
}

static bool is_utf8(const char *text) {
    for (size_t length = 1; *text && length; text += length)
        length = pv_utf8_next(text, NULL);
    return !*text;
}

/* The name or a level of a column that is not UTF-8; NULL: all are. */
static const char *bad_text(const pv_source_column *column) {
    if (!is_utf8(column->name))
        return column->name;
    for (int32_t level = 0; level < column->levels; level++)
        if (!is_utf8(column->level[level]))
            return column->level[level];
    return NULL;
}

/* A model file is UTF-8: said before the work, not after it. */
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

/* All that can be refused before the rows are fitted; then the table, read. */
static int prepare(cli_call *call, fit_options *options, cli_training *training) {
    const char *data = call->argument[0];
    int code = cli_training_prepare(call, data, &options->fit, &options->roles);
    if (code != CLI_OK)
        return code;
    const pv_roles *roles = &options->roles.roles;
    const pv_loss loss = pv_fit_loss(&options->fit, roles->matched != NULL);
    if (roles->group && roles->image && !(options->fit.validation > 0))
        return cli_error(call, PV_ERR_USAGE, NULL, "--group is for --validation: add it, or leave --group out");
    if (options->output && strcmp(options->output, "-") == 0)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "-o -: a model is binary and does not go to standard output; give the name of a file");
    if (options->trace && strcmp(options->trace, "-") == 0)
        return cli_error(call, PV_ERR_USAGE, NULL, "--trace -: give the name of a file");
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

/* Saves what was fitted, and shows it. */
static int keep(cli_call *call, const fit_options *options, const pv_classifier *classifier) {
    static const pv_stop poor[] = {PV_STOP_DIVERGED, PV_STOP_MAX_ITER, PV_STOP_NO_PROGRESS, PV_STOP_POOR};
    int code = check_interruption(call, options, classifier);
    if (code == CLI_OK && options->output) {
        pv_status status = pv_classifier_save(call->ctx, classifier, options->output);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    }
    if (code == CLI_OK)
        code = cli_trace_write(call, options->trace, classifier);
    if (code == CLI_OK)
        code = show(call, options, classifier);
    if (code != CLI_OK)
        return code;
    for (size_t i = 0; i < sizeof poor / sizeof *poor; i++)
        if (cli_was_stopped(classifier, poor[i]))
            return CLI_PROBLEMS; /* a warning says which */
    /* what there is of an interrupted fit is saved, and is not what was asked for */
    return cli_was_stopped(classifier, PV_STOP_INTERRUPTED) ? CLI_FAILED : CLI_OK;
}

static int run(cli_call *call) {
    fit_options *options = call->options;
    cli_training training = {0};
    pv_classifier *classifier = NULL;
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
        code = keep(call, options, classifier);
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
                                   {"Checkpoints", cli_checkpoint_table, offsetof(fit_options, checkpoint)},
                                   {NULL, NULL, 0}};

static const cli_common common[] = {
    {"Data", "outcome", "The column to predict."},
    {NULL, "positive", "Which of two labels the prevalence and the odds ratios refer to."},
    {NULL, "weights", "A column of counts or weights."},
    {NULL, "exclude", "Columns that are not features, comma-separated."},
    {NULL, "missing", "Rows with missing cells."},
    {"Population", "prevalence", "How common the label of interest is in the true population: 0.01, or 0.005-0.02."},
    {NULL, "prevalence-n", "How many observations that number rests on."},
    {NULL, "population-sample", "Rows of the population without labels, where nobody knows the prevalence."},
    {"Model", "model", "linear: logistic regression. ordinal: labels in order. mlp: a network. auto: a mixture."},
    {NULL, "loss", "ig: corrected for how labels were sampled. iw: class weights. plain: log-loss."},
    {NULL, "prior", "How large slopes may be, per standard deviation of a column."},
    {"Uncertainty", "infer", "map and ml: one estimate. The others: a posterior, with intervals."},
    {NULL, "seed", "Of every random number."},
    {"Output", "output", "Where to save the model."},
    {NULL, "dry-run", "Print what the fit would do, and stop."},
    {NULL, "json", NULL},
    {NULL, NULL, NULL}};

static const cli_example examples[] = {
    {"prevail fit study.csv --outcome cancer --prevalence 0.01 -o study.model",
     "A case-control study of a disease that one person in a hundred has."},
    {"prevail fit builtin:esoph --outcome cancer --weights count --prevalence 0.0005 --prevalence-n known",
     "The embedded study of oesophageal cancer; the model's prevalence is made to equal the stated one."},
    {"prevail fit study.csv --outcome cancer --prevalence 0.005-0.02 --infer vi -o study.model",
     "With a posterior: intervals for coefficients, and for risks with prevail predict --interval."},
    {"prevail fit study.csv --outcome cancer --population-sample people.csv -o study.model",
     "Nobody knows the prevalence, but there are people of the population, without their labels."},
    {NULL, NULL}};

const cli_command cli_fit = {
    .name = "fit",
    .summary = "fit a classifier to a table and save it",
    .usage = "DATA --outcome COL --prevalence P|--population-sample FILE [-o MODEL] [options]",
    .text = "Fits a classifier to a table whose classes may have been sampled by design, such that its probabilities "
            "hold in the population whose prevalence is stated. Columns of text become indicator columns against their "
            "first level; columns of numbers are standardised for the fit, and coefficients are reported on their own "
            "scale.",
    .arguments = cli_training_arguments,
    .groups = groups,
    .common = common,
    .hints = cli_training_hints,
    .options_size = sizeof(fit_options),
    .output =
        "Text: what was fitted on what, the prior, why it stopped, for each label its share of the data, its "
        "stated prevalence and its probability p(y|w) in the model, the coefficients with odds ratios (linear "
        "models), warnings. Coefficients of linear models have standard errors and intervals, odds ratios theirs, and "
        "without a prior the statistic and p of the test that they are 0. With a stated prevalence there are two "
        "answers: coefficients and intervals that hold whatever the shape of the risk, and the efficient estimate, for "
        "a linear model that is right, with Hausman's test of the two. With a posterior (--infer laplace, vi, hmc) its "
        "means, standard deviations and central intervals.\n"
        "With --json one object: stop, iterations, loss, marginal (label: p), prevalence (label: p), prevalence_n "
        "(a number or \"known\"), weighting (null where there is one estimate: use, efficient, weighted or combined, "
        "estimand, statistic, df and p_value of Hausman's test, units), strata (with --strata, a list: name, share, "
        "prevalence, prevalence_n, design and marginal of each), strata_columns (a list: name, feature), coefficients "
        "(name: {value, se, lo, hi, "
        "odds_ratio, "
        "odds_ratio_lo, odds_ratio_hi}, without a prior z and p too; df of Student's t; if_linear, the efficient "
        "estimate, and weighting, the share of the weighted one, where they are combined; {value} alone where there "
        "are no standard errors; "
        "more than two classes: label: {name: ...} "
        "against the first label), interval (the level), seconds, ranks, seed, rows, dropped, classes, design (label: "
        "share), "
        "model, "
        "loss_kind, marginal_kind, validation, validation_rows and best_epoch (with --validation; the epoch whose "
        "parameters are kept, null without --patience), prior, intercept_prior, with --model auto stacked (candidates, "
        "a "
        "list: name, weight, gain, se; gain and se of the mixture, guess, ratio_max, folds, repeats), saved, "
        "version, warnings. Numbers that are not finite are "
        "null.\n"
        "With a posterior, coefficients are name: {value, sd, lo, hi}, marginal is its mean, and there are posterior "
        "(laplace, vi or hmc), posterior_stop, draws, interval (the level), marginal_interval (label: {value, lo, "
        "hi}), elbo and elbo_se (vi; for laplace the log evidence), evidence (vi), chains, rhat_max, ess_min and "
        "divergences "
        "(hmc).\n"
        "stop is converged, completed (a schedule of fixed length), max_iter, diverged (exit code 3), "
        "interrupted, no_progress or early (the validation score got no better); posterior_stop may also be poor (it "
        "ran to its end but is known to be bad: exit code 3).",
    .examples = examples,
    .run = run};
