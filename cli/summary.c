/* prevail summary: shows the contents of a model file. */
#include "cli/strata.h"
#include "cli/classifier.h"
#include "cli/commands.h"
#include "cli/methods.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct summary_options {
    double interval;
    bool all, methods;
    cli_running running;
} summary_options;

static const pv_option option_table[] = {
    CLI_OPTION_INTERVAL(summary_options, interval, "0.95",
                        "Level of the intervals, for models with standard errors or a posterior."),
    {"all", PV_OPTION_FLAG, offsetof(summary_options, all), NULL, 0, 0, NULL, NULL,
     "Show every option of the fit, also those at their defaults."},
    {"methods", PV_OPTION_FLAG, offsetof(summary_options, methods), NULL, 0, 0, NULL, NULL,
     "Print a methods paragraph for a manuscript, and the items of the TRIPOD+AI checklist that the fit answers."},
    CLI_OPTION_JSON(summary_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_END};

/* The same as text. */
static void print_image(const pv_image_encoding *e) {
    static const char *const layouts[] = {"planes", "volumes", "ready views"};
    printf("  images      array %s (%s): %zu view%s of %zu x %zu pixels, field %.6g%s%s",
           *e->images ? e->images : "images", layouts[e->layout], e->views, e->views == 1 ? "" : "s", e->size, e->size,
           e->field, *e->spacing ? " in the unit of array " : "", e->spacing);
    if (isfinite(e->low))
        printf(", window %.6g to %.6g", e->low, e->high);
    printf("\n  training    views turned by up to %.6g degrees, %s, shifted by up to %.6g, scaled by up to %.6g\n",
           e->rotate, e->flip ? "mirrored" : "not mirrored", e->shift, e->scale);
    if (*e->votes)
        printf("  votes       array %s, at least %lld per image", e->votes, (long long)e->votes_min);
    if (*e->votes && e->binarise > 0)
        printf("; two labels, the mean vote below and above %.6g", e->binarise);
    if (*e->votes)
        fputc('\n', stdout);
}

static pv_status print_json(const cli_call *call, const pv_classifier *c, double level) {
    pv_result *found;
    pv_status status = pv_classifier_result(call->ctx, c, level, &found);
    if (status != PV_OK)
        return status;
    pv_result *object = pv__value_object();
    pv__value_set(object, "file", pv__value_text(call->argument[0]));
    for (size_t i = 0; i < pv_result_count(found); i++)
        pv__value_take(object, pv_result_name(found, i), found);
    pv_result_free(found);
    cli_json_print(call, object);
    return PV_OK;
}

/* Version, command and options from the fit's record. Default options are marked, or only counted. */
static void print_record(pv_ctx *ctx, const pv_classifier *c, bool all) {
    int defaults = 0;
    pv_result *record = cli_json_record(ctx, c);
    const pv_result *options = pv_result_get(record, "options");
    const char *version = pv_result_text(pv_result_get(record, "version"));
    const char *command = pv_result_text(pv_result_get(record, "command"));
    printf("\n  made by prevail %s", version ? version : "of unknown version");
    fputs(command ? ": " : "", stdout);
    cli_put_name(command ? command : "", 0);
    fputc('\n', stdout);
    for (size_t i = 0; i < pv_result_count(options); i++) {
        const pv_result *value = pv_result_child(options, i);
        const char *text = pv_result_text(pv_result_get(value, "value"));
        const char *used = pv_result_text(pv_result_get(value, "used"));
        bool is_default = pv__value_is_true(pv_result_get(value, "default"));
        defaults += is_default;
        if (!all && is_default)
            continue;
        printf("  --%-20s ", pv_result_name(options, i));
        cli_put_name(text && *text ? text : "-", 0);
        printf("%s%s%s\n", used ? ", here " : "", used ? used : "", is_default ? "  (default)" : "");
    }
    if (!all && defaults)
        printf("  %d other options of the model at their defaults: --all shows them\n", defaults);
    pv_result_free(record);
}

static void print_text(const cli_call *call, const pv_classifier *c, const pv_summary *summary, bool all) {
    printf("%s: %s, %s parameters, for ", call->argument[0],
           c->stacked ? "mixture of models (auto)" : pv_model_spec(c->model),
           pv_group_digits((double)pv_model_params(c->model)).text);
    cli_put_name(c->schema->target, 0);
    fputs("\n\n", stdout);
    printf("  data        %s, %s rows", c->source, pv_group_digits((double)c->rows).text);
    char why[96];
    if (c->dropped)
        printf(" (%s %s left out)", pv_group_digits((double)c->dropped).text,
               cli_left_out(c->schema->image, why, sizeof why));
    printf(", hash %016" PRIx64 "\n", c->data_hash);
    if (c->schema->image)
        print_image(c->schema->image);
    printf("  loss        %s%s%s, %.10g\n", pv_loss_name(c->loss), pv_loss_has_marginal(c->loss) ? ", marginal " : "",
           pv_loss_has_marginal(c->loss) ? pv_marginal_name(c->marginal) : "", c->loss_value);
    cli_print_estimate(c, summary, "  estimate    ");
    bool chosen;
    char *prior = cli_prior(call->ctx, c, &chosen);
    if (c->smoothing && chosen)
        printf("  prior       normal, scales chosen from the rows\n");
    else if (*prior)
        printf("  prior       %s on %s%s\n", prior, c->schema->image ? "weights" : "standardised slopes",
               chosen ? ", scale chosen from the rows" : "");
    free(prior);
    if (c->sample_source)
        printf("  population  %s rows of %s, hash %016" PRIx64 "\n", pv_group_digits((double)c->sample_rows).text,
               c->sample_source, c->sample_hash);
    if (c->estimated)
        printf("  prevalence  not stated; estimated from the rows of the population\n");
    else if (!c->prevalence)
        printf("  prevalence  not stated\n");
    else if (isinf(c->prevalence_n))
        printf("  prevalence  stated, known exactly\n");
    else
        printf("  prevalence  stated, as precise as from %s observations\n", pv_group_digits(c->prevalence_n).text);
    cli_print_label_error(c, "  labels      ");
    if (c->stratified)
        cli_print_strata_columns(c, "  strata      ");
    printf("  stopped     %s after %lld steps, seed %lld\n", pv_stop_name(c->stop), (long long)c->iterations,
           (long long)c->seed);
    if (c->posterior)
        fputs("  ", stdout);
    cli_print_posterior(c);
    fputc('\n', stdout);
    cli_print_classes(c, summary);
    if (c->stratified)
        cli_print_strata(c);
    fputc('\n', stdout);
    cli_print_coefficients(c, summary, true);
    if (c->posterior && (pv_model_has_coefficients(c->model) || pv_model_has_thresholds(c->model)))
        printf("  sign: proportion of the draws with the sign of the coefficient\n");
    cli_print_estimates(c, summary, true);
    cli_print_stacked(c);
    cli_print_boosted(c);
    cli_print_smoothing(c);
    print_record(call->ctx, c, all);
}

static int print_methods(cli_call *call, const pv_classifier *c) {
    const summary_options *options = call->options;
    pv_methods_options how = pv_methods_options_default();
    how.level = options->interval;
    return cli_print_methods(call, c, &how, options->running.json);
}

static int run(cli_call *call) {
    const summary_options *options = call->options;
    pv_classifier *classifier = NULL;
    pv_summary *summary = NULL;
    pv_status status = pv_classifier_load(call->ctx, call->argument[0], &classifier);
    if (status != PV_OK)
        return cli_fail(call, status);
    int code = CLI_OK;
    if (!classifier->posterior && !classifier->standard_error && cli_given(call, "interval"))
        code = cli_error(call, PV_ERR_USAGE, NULL,
                         "the model has neither standard errors nor a posterior, and so no intervals: fit it with "
                         "--infer laplace, vi or hmc");
    else if (options->methods)
        code = print_methods(call, classifier);
    else if (options->running.json)
        status = print_json(call, classifier, options->interval);
    else if ((status = pv_classifier_summary(call->ctx, classifier, options->interval, &summary)) == PV_OK)
        print_text(call, classifier, summary, options->all);
    if (status != PV_OK)
        code = cli_fail(call, status);
    pv_summary_free(call->ctx, summary);
    pv_classifier_free(call->ctx, classifier);
    return code;
}

static const cli_argument arguments[] = {{"MODEL", "A model file, written by prevail fit."}, {NULL, NULL}};
static const cli_group groups[] = {{"Options", option_table, 0}, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail summary study.model", "Coefficients, and how they were estimated."},
    {"prevail summary study.model --methods", "A methods paragraph, and what TRIPOD+AI asks for."},
    {NULL, NULL}};

const cli_command cli_summary = {
    .name = "summary",
    .summary = "what is in a model file",
    .usage = "MODEL [--interval LEVEL] [--all] [--methods] [--json]",
    .text = "Shows the contents of a model file: the training data, the stated prevalence and the model's own, "
            "coefficients with odds ratios and intervals (linear models), and the options that are not at their "
            "defaults. With a posterior, all estimates have intervals, and coefficients have the posterior "
            "probability of their sign.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(summary_options),
    .output =
        "Text, or with --json one object: file, data, data_hash, outcome, weights, classes, columns (a list: name, "
        "type), "
        "features, references (column: level), offset, image (how images become views, null for a table), rows, "
        "dropped, "
        "model, parameters, loss_kind, marginal_kind, stop, iterations, loss, design, prevalence, prevalence_n, "
        "population_sample, strata, strata_columns, weighting, marginal, coefficients, interval, stacked, boosted, "
        "smoothing, seed (as fit --json), with a posterior the fields that fit --json has for it, and record: version, "
        "command and options of the fit.",
    .examples = examples,
    .run = run};
