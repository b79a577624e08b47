/* prevail diagnose: checks whether a fitted model can be trusted, and says what to do if not. */
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

typedef struct diagnose_options {
    cli_running running;
} diagnose_options;

static const pv_option option_table[] = {
    CLI_OPTION_THREADS(diagnose_options, running.threads), CLI_OPTIONS_DEVICE(diagnose_options, running),
    CLI_OPTION_JSON(diagnose_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_QUIET(diagnose_options, running.quiet), CLI_OPTION_END};

typedef struct work {
    pv_classifier *classifier;
    pv_dataset *data;
    pv_diagnosis *found;
} work;

/* ---- the record -------------------------------------------------------------------------------------------------- */

/* The next word of a command line as recorded by cli_parse, unquoted; NULL at the end. The caller frees. */
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

/* The value of an option of the recorded command; NULL: not given. The caller frees. */
static char *recorded_value(const char *line, const char *option) {
    char *word, *value = NULL;
    while (line && !value && (word = next_word(&line))) {
        if (strncmp(word, "--", 2) == 0 && strcmp(word + 2, option) == 0)
            value = next_word(&line);
        free(word);
    }
    return value;
}

static bool dropped_missing(pv_ctx *ctx, const pv_classifier *c) {
    pv_result *record = cli_json_record(ctx, c);
    char *missing = recorded_value(pv_result_text(pv_result_get(record, "command")), "missing");
    bool dropped = missing && strcmp(missing, "drop") == 0;
    free(missing);
    pv_result_free(record);
    return dropped;
}

/* ---- the training table ------------------------------------------------------------------------------------------ */

static int read_data(cli_call *call, const char *path, work *held) {
    const pv_classifier *c = held->classifier;
    pv_roles roles = pv_schema_roles(c->schema);
    if (dropped_missing(call->ctx, c))
        roles.missing = PV_MISSING_DROP;
    pv_status status = pv_dataset_read(call->ctx, c->schema, path, &roles, NULL, &held->data);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

static pv_status print_json(const cli_call *call, const work *held) {
    pv_result *object;
    pv_status status = pv_diagnosis_result(call->ctx, held->found, &object);
    if (status != PV_OK)
        return status;
    pv__value_set(object, "model", pv__value_text(call->argument[0]));
    pv__value_set(object, "data", call->argument[1] ? pv__value_text(call->argument[1]) : pv__value_null());
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    cli_json_print(call, object);
    return PV_OK;
}

static void print_text(const cli_call *call, const work *held) {
    const pv_classifier *c = held->classifier;
    const pv_diagnosis *checks = held->found;
    printf("%s: %s, fitted on %s, %s\n", call->argument[0],
           c->stacked ? "mixture of models (auto)" : pv_model_spec(c->model), c->source,
           c->posterior ? pv_posterior_kind_name(c->posterior->kind) : "no posterior");
    for (size_t i = 0; i < checks->count; i++) {
        const pv_check *check = &checks->check[i];
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
    bool refits =
        call->argument[1] && !held->classifier->sample_source; /* refits of the others would need the sample as well */
    int code = refits ? read_data(call, call->argument[1], held) : CLI_OK;
    if (code != CLI_OK)
        return code;
    const pv_diagnose_options how = {.data = held->data};
    pv_status status = cli_diagnosis(call, held->classifier, &how, &held->found);
    cli_progress_clear(call);
    if (status == PV_ERR_INTERRUPTED)
        return cli_error(call, status, NULL,
                         "stopped on request: the fits with other seeds did not finish, so there is no verdict; leave "
                         "DATA out to skip them");
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int run(cli_call *call) {
    const diagnose_options *options = call->options;
    work *held = cli_alloc(1, sizeof *held);
    call->collect = true;
    pv_status status = pv_classifier_load(call->ctx, call->argument[0], &held->classifier);
    int code = status == PV_OK ? check_all(call, held) : cli_fail(call, status);
    if (code == CLI_OK) {
        status = options->running.json ? print_json(call, held) : PV_OK;
        if (!options->running.json)
            print_text(call, held);
        code = status != PV_OK ? cli_fail(call, status) : held->found->failed ? CLI_PROBLEMS : CLI_OK;
    }
    pv_dataset_free(call->ctx, held->data);
    pv_classifier_free(call->ctx, held->classifier);
    pv_diagnosis_free(call->ctx, held->found);
    free(held);
    return code;
}

static const cli_argument arguments[] = {
    {"MODEL", "A model file, written by prevail fit."},
    {"[DATA]", "The training table. With it the model is fitted twice more, with other seeds."},
    {NULL, NULL}};

static const cli_group groups[] = {{"Options", option_table, 0}, {NULL, NULL, 0}};

static const cli_example examples[] = {
    {"prevail diagnose study.model study.csv", "All checks, including the sensitivity to the seed."},
    {"prevail diagnose study.model --json", "The checks that need no data, as JSON."},
    {NULL, NULL}};

const cli_command cli_diagnose = {
    .name = "diagnose",
    .summary = "whether a model can be trusted, and what to do if not",
    .usage = "MODEL [DATA] [options]",
    .text = "Checks a model, and reports what was found and what to do about it. The checks, by their names in the "
            "JSON:\noptimiser\tThe optimiser converged, or a fixed schedule finished\nposterior\tThe same for the "
            "computation of the posterior\nelbo_error\tvi: the ELBO has a standard error below 0.1\nelbo_gap\tvi: the "
            "ELBO is at most 0.5 below the estimated log evidence\nrhat\thmc: the largest split R-hat is at most "
            "1.01\neffective_size\thmc: at least 100 effective draws a chain, and 400 in all\ndivergences\thmc: no "
            "step after the warm-up diverged\ntree_depth\thmc: at most 1 % of the steps reached the largest tree "
            "depth\nprevalence\tig, iw: the model's p(y|w) is within a factor of 1.5 of the stated "
            "prevalence\npopulation\tlinear models: the linear model is adequate in the population, by Hausman's test "
            "at 0.01, or the weighted estimate is in use\nseparation\tlinear: no coefficient of a standardised column "
            "is above 10\nprior_weight\tlinear, normal prior, posterior: no slope's posterior is wider than 0.9 times "
            "its prior\ndata\tWith DATA: its hash and number of rows are those of the training table\nseed\tWith "
            "DATA: two fits with other seeds change no coefficient by more than 0.2 posterior standard deviations "
            "(without a posterior: 0.2 of its size, coefficients below 0.1 per standard deviation counted as 0.1; mlp: "
            "the predicted log odds by 0.2 of their standard deviation)",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(diagnose_options),
    .output = "Text, or with --json one object: verdict (ok or problems), checks (a list of name, ok, value, text, "
              "remedy, title, warning), model, data, version. The exit code is 0 if all checks passed and 3 if one "
              "found a problem.",
    .examples = examples,
    .run = run};
