/* prevail summary: what is in a model file. */
#include "cli/strata.h"
#include "cli/classifier.h"
#include "cli/commands.h"
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
    bool all;
    cli_running running;
} summary_options;

static const pv_option option_table[] = {
    CLI_OPTION_INTERVAL(summary_options, interval, "0.95",
                        "Level of the central intervals: of models with standard errors or a posterior."),
    {"all", PV_OPTION_FLAG, offsetof(summary_options, all), NULL, 0, 0, NULL, NULL,
     "Show every option of the fit, also those at their defaults."},
    CLI_OPTION_JSON(summary_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_END};

/* How images become views; null for a table. */
static json_t *json_image(const pv_image_encoding *e) {
    static const char *const layouts[] = {"planes", "volumes", "views"};
    if (!e)
        return json_null();
    json_t *object = cli_json_object(), *window = cli_json_array();
    cli_json_set(object, "images", cli_json_text(*e->images ? e->images : "images"));
    cli_json_set(object, "layout", cli_json_text(layouts[e->layout]));
    cli_json_set(object, "views", json_integer((json_int_t)e->views));
    cli_json_set(object, "size", json_integer((json_int_t)e->size));
    cli_json_append(window, cli_json_real(e->low));
    cli_json_append(window, cli_json_real(e->high));
    cli_json_set(object, "window", window);
    cli_json_set(object, "mean", cli_json_real(e->mean));
    cli_json_set(object, "sd", cli_json_real(e->sd));
    cli_json_set(object, "field", cli_json_real(e->field));
    cli_json_set(object, "spacing", *e->spacing ? cli_json_text(e->spacing) : json_null());
    cli_json_set(object, "rotate", cli_json_real(e->rotate));
    cli_json_set(object, "flip", json_boolean(e->flip));
    cli_json_set(object, "shift", cli_json_real(e->shift));
    cli_json_set(object, "scale", cli_json_real(e->scale));
    cli_json_set(object, "votes", *e->votes ? cli_json_text(e->votes) : json_null());
    cli_json_set(object, "votes_min", *e->votes ? json_integer(e->votes_min) : json_null());
    cli_json_set(object, "binarise", e->binarise > 0 ? cli_json_real(e->binarise) : json_null());
    return object;
}

/* The same in words. */
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
        printf("  votes       array %s, %lld an image at least", e->votes, (long long)e->votes_min);
    if (*e->votes && e->binarise > 0)
        printf("; two labels, the mean vote below and above %.6g", e->binarise);
    if (*e->votes)
        fputc('\n', stdout);
}

static void print_json(const cli_call *call, const pv_classifier *c, const pv_summary *summary) {
    json_t *coefficients = cli_json_coefficients(c, summary, true);
    char hash[20];
    snprintf(hash, sizeof hash, "%016" PRIx64, c->data_hash);
    json_t *object = cli_json_object(), *labels = cli_json_array(), *features = cli_json_array();
    for (int y = 0; y < c->schema->classes; y++)
        cli_json_append(labels, cli_json_text(c->schema->labels[y]));
    for (int j = 0; c->schema->feature && j < pv_classifier_features(c); j++)
        cli_json_append(features, cli_json_text(pv_classifier_feature(c, j)));
    cli_json_set(object, "file", cli_json_text(call->argument[0]));
    cli_json_set(object, "data", cli_json_text(c->source));
    cli_json_set(object, "data_hash", cli_json_text(hash));
    cli_json_set(object, "outcome", cli_json_text(c->schema->target));
    cli_json_set(object, "classes", labels);
    cli_json_set(object, "features", features);
    if (c->schema->offset)
        cli_json_set(object, "offset", cli_json_text(pv_classifier_offset(c)));
    cli_json_set(object, "image", json_image(c->schema->image));
    cli_json_set(object, "rows", json_integer((json_int_t)c->rows));
    cli_json_set(object, "dropped", json_integer((json_int_t)c->dropped));
    cli_json_set(object, "model", cli_json_text(pv_model_spec(c->model)));
    cli_json_set(object, "parameters", json_integer((json_int_t)pv_model_params(c->model)));
    cli_json_set(object, "loss_kind", cli_json_text(pv_loss_name(c->loss)));
    cli_json_set(object, "marginal_kind", cli_json_marginal_kind(c));
    cli_json_set(object, "stop", cli_json_text(pv_stop_name(c->stop)));
    cli_json_set(object, "iterations", json_integer(c->iterations));
    cli_json_set(object, "loss", cli_json_real(c->loss_value));
    cli_json_set(object, "design", cli_json_by_label(c->schema->labels, c->schema->classes, c->design));
    cli_json_set(object, "prevalence", cli_json_prevalence(c));
    cli_json_set(object, "prevalence_n", cli_json_prevalence_n(c));
    cli_json_set(object, "population_sample", cli_json_sample(c));
    cli_json_set(object, "weighting", cli_json_weighting(c));
    cli_json_set(object, "marginal", cli_json_marginal(c, summary));
    if (c->stratified)
        cli_json_set(object, "strata", cli_json_strata(c));
    if (c->stratified)
        cli_json_set(object, "strata_columns", cli_json_strata_columns(c));
    if (coefficients)
        cli_json_set(object, "coefficients", coefficients);
    if (summary->has_errors)
        cli_json_set(object, "interval", cli_json_real(summary->level));
    cli_json_posterior(object, c, summary);
    if (c->stacked)
        cli_json_set(object, "stacked", cli_json_stacked(c));
    cli_json_set(object, "seed", json_integer(c->seed));
    cli_json_set(object, "record", cli_json_record(c));
    cli_json_print(call, object);
}

/* Version, command and options, from the record the fit left; a default is marked as such, or counted only. */
static void print_record(const pv_classifier *c, bool all) {
    int defaults = 0;
    json_t *record = cli_json_record(c), *value;
    const char *version = json_string_value(json_object_get(record, "version"));
    const char *command = json_string_value(json_object_get(record, "command")), *name;
    printf("\n  made by prevail %s", version ? version : "of unknown version");
    fputs(command ? ": " : "", stdout);
    cli_put_name(command ? command : "", 0);
    fputc('\n', stdout);
    json_object_foreach(json_object_get(record, "options"), name, value) {
        const char *text = json_string_value(json_object_get(value, "value"));
        const char *used = json_string_value(json_object_get(value, "used"));
        bool is_default = json_is_true(json_object_get(value, "default"));
        defaults += is_default;
        if (!all && is_default)
            continue;
        printf("  --%-20s ", name);
        cli_put_name(text && *text ? text : "-", 0);
        printf("%s%s%s\n", used ? ", here " : "", used ? used : "", is_default ? "  (default)" : "");
    }
    if (!all && defaults)
        printf("  %d other options of the model at their defaults: --all shows them\n", defaults);
    json_decref(record);
}

static void print_text(const cli_call *call, const pv_classifier *c, const pv_summary *summary, bool all) {
    printf("%s: %s, %zu parameters, for ", call->argument[0], pv_model_spec(c->model), pv_model_params(c->model));
    cli_put_name(c->schema->target, 0);
    fputs("\n\n", stdout);
    printf("  data        %s, %zu rows", c->source, c->rows);
    char why[96];
    if (c->dropped)
        printf(" (%zu %s left out)", c->dropped, cli_left_out(c->schema->image, why, sizeof why));
    printf(", hash %016" PRIx64 "\n", c->data_hash);
    if (c->schema->image)
        print_image(c->schema->image);
    printf("  loss        %s%s%s, %.10g\n", pv_loss_name(c->loss), pv_loss_has_marginal(c->loss) ? ", marginal " : "",
           pv_loss_has_marginal(c->loss) ? pv_marginal_name(c->marginal) : "", c->loss_value);
    cli_print_estimate(c, summary, "  estimate    ");
    bool chosen;
    char *prior = cli_prior(call->ctx, c, &chosen);
    if (*prior)
        printf("  prior       %s on %s%s\n", prior, c->schema->image ? "weights" : "standardised slopes",
               chosen ? ", scale chosen from the rows" : "");
    free(prior);
    if (c->sample_source)
        printf("  population  %zu rows of %s, hash %016" PRIx64 "\n", c->sample_rows, c->sample_source, c->sample_hash);
    if (c->estimated)
        printf("  prevalence  not stated; estimated from the rows of the population\n");
    else if (!c->prevalence)
        printf("  prevalence  not stated\n");
    else if (isinf(c->prevalence_n))
        printf("  prevalence  stated, held exactly\n");
    else
        printf("  prevalence  stated, as strong as %.6g rows\n", c->prevalence_n);
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
        printf("  sign: share of the draws on the same side of zero as the coefficient\n");
    cli_print_estimates(c, summary, true);
    cli_print_stacked(c);
    print_record(c, all);
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
        code = cli_error(
            call, PV_ERR_USAGE, NULL,
            "the model has neither standard errors nor a posterior, so no intervals: fit it with --infer laplace, "
            "vi or hmc");
    else if ((status = pv_classifier_summary(call->ctx, classifier, options->interval, &summary)) != PV_OK)
        code = cli_fail(call, status);
    else if (options->running.json)
        print_json(call, classifier, summary);
    else
        print_text(call, classifier, summary, options->all);
    pv_summary_free(call->ctx, summary);
    pv_classifier_free(call->ctx, classifier);
    return code;
}

static const cli_argument arguments[] = {{"MODEL", "A model file, written by prevail fit."}, {NULL, NULL}};
static const cli_group groups[] = {{"Options", option_table, 0}, {NULL, NULL, 0}};
static const cli_example examples[] = {{"prevail summary study.model", "Coefficients, and how they came about."},
                                       {NULL, NULL}};

const cli_command cli_summary = {
    .name = "summary",
    .summary = "what is in a model file",
    .usage = "MODEL [--interval LEVEL] [--all] [--json]",
    .text =
        "Shows what a model file holds: the data it was fitted on, the stated prevalence and the model's own, "
        "coefficients with odds ratios (linear models) and their intervals, and the options of the fit that are not at "
        "their defaults. With a posterior all of these have intervals, and coefficients the probability of their "
        "sign.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(summary_options),
    .output =
        "Text, or with --json one object: file, data, data_hash, outcome, classes, features, offset, image (how images "
        "become "
        "views, null for a table), rows, dropped, model, "
        "parameters, loss_kind, marginal_kind, stop, iterations, loss, design, prevalence, prevalence_n, marginal, "
        "strata, strata_columns, coefficients, interval, stacked (as fit --json), seed, and record: version, command "
        "and "
        "options of the fit. "
        "With a "
        "posterior the fields that fit "
        "--json has for it, and for each coefficient odds_ratio, odds_ratio_lo, odds_ratio_hi and sign (share of the "
        "draws on the mean's side of zero) as well.",
    .examples = examples,
    .run = run};
