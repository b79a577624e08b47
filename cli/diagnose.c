/* prevail diagnose: is a fitted model to be trusted, and if not, what to do. */
#include "cli/checks.h"
#include "cli/classifier.h"
#include "cli/commands.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"
#include "tool/training.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED_SHIFT 0.2 /* largest change of a coefficient with the seed, in its unit */
#define UNIT_LEAST 0.1 /* of a coefficient on the standardised scale: smaller ones matter to nobody */
enum { REFITS = 2 };

typedef struct diagnose_options {
    cli_running running;
} diagnose_options;

static const pv_option option_table[] = {
    CLI_OPTION_THREADS(diagnose_options, running.threads),
    CLI_OPTION_JSON(diagnose_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_QUIET(diagnose_options, running.quiet), CLI_OPTION_END};

typedef struct work {
    json_t *record; /* fit borrows its texts */
    pv_fit_options fit;
    pv_classifier *classifier;
    bool drop_missing;
    pv_table *table;
    pv_dataset *data;
    cli_checks checks;
} work;

/* ---- the record -------------------------------------------------------------------------------------------------- */

/* The next word of a command line as cli_parse records it, unquoted; NULL at the end. The caller frees. */
static char *next_word(const char **line) {
    const char *at = *line + strspn(*line, " ");
    if (!*at)
        return NULL;
    char *word = cli_alloc(strlen(at) + 1, 1), *to = word;
    for (bool quoted = false; *at && (quoted || *at != ' '); at++) {
        if (*at == '\'')
            quoted = !quoted;
        else if (*at == '\\' && !quoted && at[1])
            *to++ = *++at;
        else
            *to++ = *at;
    }
    *line = at;
    return word;
}

/* The value that an option of the recorded command had; NULL: not given. The caller frees. */
static char *recorded_value(const char *line, const char *option) {
    char *word, *value = NULL;
    while (line && !value && (word = next_word(&line))) {
        if (strncmp(word, "--", 2) == 0 && strcmp(word + 2, option) == 0)
            value = next_word(&line);
        free(word);
    }
    return value;
}

static int read_record(cli_call *call, work *held) {
    held->record = cli_json_record(held->classifier);
    held->fit = pv_fit_options_default();
    const char *name, *line = json_string_value(json_object_get(held->record, "command"));
    json_t *entry;
    json_object_foreach(json_object_get(held->record, "options"), name, entry) {
        const char *text = json_string_value(json_object_get(entry, "value"));
        if (!text || !*text || !pv_option_find(pv_fit_option_table, name))
            continue; /* not given, or of another version */
        pv_status status = pv_option_set(call->ctx, pv_fit_option_table, &held->fit, name, text);
        if (status != PV_OK)
            return cli_fail(call, status);
    }
    char *missing = recorded_value(line, "missing");
    held->drop_missing = missing && strcmp(missing, "drop") == 0;
    free(missing);
    return CLI_OK;
}

/* ---- the training table ------------------------------------------------------------------------------------------ */

static int read_data(cli_call *call, const char *path, work *held) {
    const pv_classifier *c = held->classifier;
    pv_roles roles = {.target = c->target,
                      .weights = c->weights && *c->weights ? c->weights : NULL,
                      .drop_missing = held->drop_missing};
    int code = cli_read_for_model(call, c->encoding, path, &roles, &held->table);
    if (code != CLI_OK)
        return code;
    pv_status status =
        pv_dataset_apply(call->ctx, held->table, &roles, c->encoding, c->labels, c->classes, &held->data);
    if (status != PV_OK)
        return cli_fail(call, status);
    return CLI_OK;
}

static bool check_data(const char *path, work *held) {
    const pv_classifier *c = held->classifier;
    bool held_out = held->fit.validation > 0 && held->data->rows > c->rows; /* rows for validation are not among them */
    bool same = held->table->hash == c->data_hash && (held->data->rows == c->rows || held_out);
    cli_check *check = cli_check_add(&held->checks, "data", "Whether these are the data of the fit", NAN);
    snprintf(check->text, sizeof check->text,
             "%.200s has hash %016" PRIx64 " and %zu rows; the fit was on hash %016" PRIx64 " and %zu rows%s.%s", path,
             held->table->hash, held->data->rows, c->data_hash, c->rows,
             held_out ? ", the others being for validation" : "",
             same ? "" : " The sensitivity to the seed was not checked.");
    if (!same)
        cli_check_fail(&held->checks, check, "Give the table that the model was fitted on: %.200s.", c->source);
    return same;
}

/* ---- sensitivity to the seed ------------------------------------------------------------------------------------- */

/* Each parameter's estimate: the posterior's mean, or the maximum. unit (NULL: not wanted) is what its changes are
 * measured in. Both have pv_model_params entries. */
static void centres(const pv_classifier *c, double *centre, double *unit) {
    size_t params = pv_model_params(c->model);
    cli_spread *spreads = c->posterior ? cli_parameter_spreads(c, CLI_LEVEL) : NULL;
    for (size_t i = 0; i < params; i++) {
        centre[i] = spreads ? spreads[i].mean : c->w[i];
        if (unit)
            unit[i] = spreads ? spreads[i].sd : fmax(fabs(c->w[i]), UNIT_LEAST);
    }
    free(spreads);
}

/* A network's parameters are not comparable from start to start, its predictions are: the log odds of each label, and
 * their standard deviation over the rows as the unit. */
static pv_status log_odds(cli_call *call, const work *held, const pv_classifier *c, double *centre, double *unit) {
    size_t classes = (size_t)c->classes, rows = held->data->rows;
    pv_prediction *said; /* in any population: a shift of all log odds is no change */
    pv_status status = pv_predict_in(call->ctx, c, held->data, c->prevalence ? "true" : "design", NULL, &said);
    for (size_t i = 0; status == PV_OK && i < rows * classes; i++)
        centre[i] = pv_logit(fmin(fmax(said->p[i], 1e-12), 1 - 1e-12));
    pv_prediction_free(call->ctx, said);
    for (size_t y = 0; status == PV_OK && unit && y < classes; y++) {
        double sum = 0, squares = 0;
        for (size_t n = 0; n < rows; n++)
            sum += centre[n * classes + y];
        for (size_t n = 0; n < rows; n++)
            squares += pow(centre[n * classes + y] - sum / (double)rows, 2);
        for (size_t n = 0; n < rows; n++)
            unit[n * classes + y] = fmax(sqrt(squares / (double)rows), UNIT_LEAST);
    }
    return status;
}

static pv_status measure(cli_call *call, const work *held, const pv_classifier *c, double *centre, double *unit) {
    if (!pv_model_has_coefficients(c->model))
        return log_odds(call, held, c, centre, unit);
    centres(c, centre, unit);
    return PV_OK;
}

/* The change that is reported: the largest of any coefficient, or the root mean square over predictions. */
static double change(bool linear, size_t count, const double *from, const double *to, const double *unit) {
    double largest = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double shift = from[i] == to[i] ? 0 : fabs(from[i] - to[i]) / unit[i];
        squares += shift * shift;
        if (!(shift <= largest))
            largest = shift;
    }
    return linear ? largest : sqrt(squares / (double)count);
}

static pv_status refit(cli_call *call, work *held, int64_t seed, pv_classifier **refitted) {
    const pv_classifier *c = held->classifier;
    pv_fit_input input = {.data = held->data,
                          .encoding = c->encoding,
                          .labels = c->labels,
                          .target = c->target,
                          .weights = c->weights,
                          .source = c->source,
                          .data_hash = c->data_hash};
    pv_fit_options options = held->fit;
    options.seed = seed;
    pv_status status = pv_fit(call->ctx, &input, &options, refitted);
    cli_progress_clear(call);
    return status == PV_OK && cli_was_stopped(*refitted, PV_STOP_INTERRUPTED) ? PV_ERR_INTERRUPTED : status;
}

/* The largest change over the refits. */
static pv_status seed_shift(cli_call *call, work *held, double *shift) {
    const pv_classifier *c = held->classifier;
    bool linear = pv_model_has_coefficients(c->model);
    size_t count = linear ? pv_model_params(c->model) : held->data->rows * (size_t)c->classes;
    double *centre = cli_alloc(3 * count, sizeof *centre), *unit = centre + count, *other = unit + count;
    pv_status status = measure(call, held, c, centre, unit);
    *shift = 0;
    for (int64_t i = 1; i <= REFITS && status == PV_OK; i++) {
        pv_classifier *refitted = NULL;
        status = refit(call, held, c->seed + i, &refitted);
        if (status == PV_OK)
            status = measure(call, held, refitted, other, NULL);
        double now = status == PV_OK ? change(linear, count, centre, other, unit) : 0;
        if (!(now <= *shift))
            *shift = now;
        pv_classifier_free(call->ctx, refitted);
    }
    free(centre);
    return status;
}

static const char *seed_remedy(const pv_classifier *c) {
    if (!pv_model_is_convex(c->model))
        return "Other starts find other networks: fit a smaller one, or with a stronger --prior, or average the "
               "predictions of several seeds.";
    if (!c->posterior)
        return "Fit again with more --epochs or a lower --rate, or with --batch full.";
    switch (c->posterior->kind) {
    case PV_POSTERIOR_LAPLACE:
        break;
    case PV_POSTERIOR_VI:
        return "Fit again with more --steps and --draws.";
    case PV_POSTERIOR_HMC:
        return "Fit again with more --warmup and --draws.";
    }
    return "Fit again with more --draws.";
}

static int check_seed(cli_call *call, work *held) {
    const pv_classifier *c = held->classifier;
    double shift;
    pv_status status = seed_shift(call, held, &shift);
    if (status == PV_ERR_INTERRUPTED)
        return cli_error(call, status, NULL,
                         "stopped on request: the fits with other seeds are not done, so there is no verdict; without "
                         "DATA they are left out");
    if (status != PV_OK)
        return cli_fail(call, status);
    bool linear = pv_model_has_coefficients(c->model);
    cli_check *check = cli_check_add(&held->checks, "seed", "How much the result depends on the seed", shift);
    snprintf(check->text, sizeof check->text, "With seeds %lld and %lld %s by %s %.2g %s; up to %.1g is fine.",
             (long long)c->seed + 1, (long long)c->seed + 2,
             linear ? "a coefficient changes" : "the predicted log odds change", linear ? "at most" : "about", shift,
             !linear        ? "of their standard deviation over the rows"
             : c->posterior ? "posterior standard deviations"
                            : "of its size",
             SEED_SHIFT);
    if (!(shift <= SEED_SHIFT))
        cli_check_fail(&held->checks, check, "%s", seed_remedy(c));
    return CLI_OK;
}

/* ---- what is printed --------------------------------------------------------------------------------------------- */

static void print_json(const cli_call *call, const work *held) {
    json_t *object = cli_json_object(), *list = cli_json_array();
    cli_json_set(object, "verdict", cli_json_text(held->checks.failed ? "problems" : "ok"));
    for (size_t i = 0; i < held->checks.count; i++) {
        const cli_check *check = &held->checks.check[i];
        json_t *entry = cli_json_object();
        cli_json_set(entry, "name", cli_json_text(check->name));
        cli_json_set(entry, "ok", json_boolean(check->ok));
        cli_json_set(entry, "value", cli_json_real(check->value));
        cli_json_set(entry, "text", cli_json_text(check->text));
        cli_json_set(entry, "remedy", check->ok ? json_null() : cli_json_text(check->remedy));
        cli_json_append(list, entry);
    }
    cli_json_set(object, "checks", list);
    cli_json_set(object, "model", cli_json_text(call->argument[0]));
    cli_json_set(object, "data", call->argument[1] ? cli_json_text(call->argument[1]) : json_null());
    cli_json_set(object, "version", cli_json_text(PV_VERSION));
    cli_json_print(object);
}

static void print_text(const cli_call *call, const work *held) {
    const pv_classifier *c = held->classifier;
    const cli_checks *checks = &held->checks;
    printf("%s: %s, fitted on %s, %s\n", call->argument[0], pv_model_spec(c->model), c->source,
           c->posterior ? cli_posterior_name(c) : "no posterior");
    for (size_t i = 0; i < checks->count; i++) {
        const cli_check *check = &checks->check[i];
        printf("\n%s: %s\n", check->title, check->ok ? "fine" : "PROBLEM");
        cli_wrap(stdout, check->text);
        if (!check->ok)
            cli_wrap(stdout, check->remedy);
    }
    fputc('\n', stdout);
    if (c->sample_source)
        cli_wrap(stdout, "Not checked: how much the result depends on the seed, as the fit had a population sample.");
    else if (!call->argument[1])
        cli_wrap(stdout, "Not checked: how much the result depends on the seed. Give the training table as DATA.");
    if (!checks->failed)
        printf("No problems were found in %zu checks.\n", checks->count);
    else
        printf("%zu of %zu checks found a problem.\n", checks->failed, checks->count);
}

static int check_all(cli_call *call, work *held) {
    int code = read_record(call, held);
    if (code == CLI_OK)
        code = cli_check_model(call, &held->checks, held->classifier, &held->fit);
    if (code != CLI_OK || !call->argument[1])
        return code;
    if (held->classifier->sample_source) /* refits would need the sample as well */
        return CLI_OK;
    code = read_data(call, call->argument[1], held);
    if (code == CLI_OK && check_data(call->argument[1], held))
        code = check_seed(call, held);
    return code;
}

static int run(cli_call *call) {
    const diagnose_options *options = call->options;
    work *held = cli_alloc(1, sizeof *held);
    call->collect = true; /* the refits' warnings are not about this model */
    pv_status status = pv_classifier_load(call->ctx, call->argument[0], &held->classifier);
    int code = status == PV_OK ? check_all(call, held) : cli_fail(call, status);
    if (code == CLI_OK) {
        if (options->running.json)
            print_json(call, held);
        else
            print_text(call, held);
        code = held->checks.failed ? CLI_PROBLEMS : CLI_OK;
    }
    pv_dataset_free(call->ctx, held->data);
    pv_table_free(call->ctx, held->table);
    pv_classifier_free(call->ctx, held->classifier);
    json_decref(held->record);
    free(held);
    return code;
}

static const cli_argument arguments[] = {
    {"MODEL", "A model file, written by prevail fit."},
    {"[DATA]", "The table it was fitted on. With it the model is fitted twice more, with other seeds."},
    {NULL, NULL}};

static const cli_group groups[] = {{"Options", option_table, 0}, {NULL, NULL, 0}};

static const cli_example examples[] = {
    {"prevail diagnose study.model study.csv", "All checks, the sensitivity to the seed among them."},
    {"prevail diagnose study.model --json", "Those that need no data, as JSON."},
    {NULL, NULL}};

const cli_command cli_diagnose = {
    .name = "diagnose",
    .summary = "whether a model can be trusted, and what to do if not",
    .usage = "MODEL [DATA] [options]",
    .text = "Checks a model and says what was found and what to do about it. The checks, by their names in the JSON:\n"
            "optimiser\tThe search for the maximum converged, or a schedule ran to its end\n"
            "posterior\tThe same of the posterior's engine\n"
            "elbo_error\tvi: the ELBO has a standard error below 0.1\n"
            "elbo_gap\tvi: the ELBO is at most 0.5 below what is known of the log evidence\n"
            "rhat\thmc: the largest split R-hat is at most 1.01\n"
            "effective_size\thmc: at least 100 effective draws a chain, and 400 in all\n"
            "divergences\thmc: no step after the warm-up diverged\n"
            "tree_depth\thmc: at most 1 % of the steps reached the largest tree depth\n"
            "prevalence\tig, iw: the model's p(y|w) is within a factor of 1.5 of the stated prevalence\n"
            "separation\tlinear: no coefficient of a standardised column is above 10\n"
            "prior_weight\tlinear, normal prior, posterior: no slope's posterior is above 0.9 of its prior's width\n"
            "data\tWith DATA: it is the table of the fit, by its hash and number of rows\n"
            "seed\tWith DATA: two fits with other seeds change no coefficient by more than 0.2 posterior standard "
            "deviations (without a posterior: 0.2 of its size, small ones counted as 0.1 standardised; mlp: the "
            "predicted log odds by 0.2 of their standard deviation)",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(diagnose_options),
    .output =
        "Text, or with --json one object: verdict (ok or problems), checks (a list of name, ok, value, text, "
        "remedy), model, data, version. The exit code is 0 where all is well and 3 where a check found a problem.",
    .examples = examples,
    .run = run};
