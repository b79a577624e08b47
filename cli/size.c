/* prevail size: how many cases and controls a study needs. */
#include "cli/commands.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"

#include <string.h>

typedef struct size_options {
    pv_size_options how;
    pv_csv_options csv;
    const char *pilot;
    cli_running running;
} size_options;

static const pv_option input_table[] = {{"pilot", PV_OPTION_TEXT, offsetof(size_options, pilot), NULL, 0, 0, NULL,
                                         "FILE",
                                         "Instead of --auc: a table with scores and outcomes, such as prevail cv "
                                         "writes. Its distribution of scores is "
                                         "assumed."},
                                        CLI_OPTION_END};
static const pv_option run_table[] = {
    CLI_OPTION_JSON(size_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_QUIET(size_options, running.quiet), CLI_OPTION_END};

/* The options that were given, as the library takes them: by name and text. */
static pv_status settings_of(const cli_call *call, const pv_size_options *how, pv_settings **settings) {
    pv_status status = pv_size_settings_new(call->ctx, settings);
    for (const pv_option *row = pv_size_option_table; status == PV_OK && row->name; row++) {
        char word[64];
        const char *text = word;
        if (!cli_given(call, row->name))
            continue;
        if (row->type == PV_OPTION_TEXT)
            memcpy(&text, (const char *)how + row->offset, sizeof text);
        else
            pv_option_get(row, how, word, sizeof word);
        status = pv_settings_set(call->ctx, *settings, row->name, text);
    }
    return status;
}

/* Labels are texts, whatever they hold. */
static pv_status read_pilot(cli_call *call, const size_options *options, pv_table **table) {
    const char *const named[] = {options->how.outcome, options->how.score};
    const char *column[2];
    pv_csv_options csv = cli_csv(call);
    csv.text = csv.keep = column;
    for (size_t i = 0; i < 2; i++)
        if (named[i])
            column[csv.n_keep++] = named[i];
    csv.n_text = options->how.outcome ? 1 : 0;
    return pv_table_read(call->ctx, options->pilot, &csv, table);
}

static pv_status show(cli_call *call, pv_result *found) {
    char *text = NULL;
    if (((const size_options *)call->options)->running.json) {
        cli_json_print(call, found);
        return PV_OK;
    }
    pv_status status = pv_size_text(call->ctx, found, &text);
    if (status == PV_OK)
        fputs(text, stdout);
    pv_result_text_free(call->ctx, text);
    pv_result_free(found);
    return status;
}

static int run(cli_call *call) {
    const size_options *options = call->options;
    pv_table *pilot = NULL;
    pv_settings *settings = NULL;
    pv_result *found = NULL;
    pv_status status = settings_of(call, &options->how, &settings);
    if (status == PV_OK && options->pilot)
        status = read_pilot(call, options, &pilot);
    if (status == PV_OK)
        status = pv_size_find(call->ctx, pilot, settings, &found);
    if (status == PV_OK)
        status = show(call, found);
    pv_table_free(call->ctx, pilot);
    pv_settings_free(call->ctx, settings);
    return cli_done(call, status);
}

static const cli_argument arguments[] = {{NULL, NULL}};
static const cli_group groups[] = {{"The study", pv_size_option_table, offsetof(size_options, how)},
                                   {"A pilot", input_table, 0},
                                   {"Reading", pv_csv_option_table, offsetof(size_options, csv)},
                                   {"Running", run_table, 0},
                                   {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail size --prevalence 0.02 --auc 0.8 --parameters 12",
     "Cases and controls for a model of 12 parameters, at the ratio that takes the fewest people."},
    {"prevail size --prevalence 0.174 --r2 0.288 --parameters 24 --ratio population",
     "A cohort: the criteria of Riley et al."},
    {"prevail size --prevalence 0.001 --odds-ratio 1.5 --exposure 0.2 --power 0.9 --cost-case 40 --cost-control 5",
     "The power to detect an odds ratio, where a case costs eight times a control."},
    {"prevail size --prevalence 0.01-0.03 --auc 0.8 --parameters 12 --threshold 0.1 --cases 150 --ratio 3",
     "What 150 cases and 450 controls will tell."},
    {NULL, NULL}};

const cli_command cli_size = {
    .name = "size",
    .summary = "how many cases and controls a study needs",
    .usage = "--prevalence P [--auc A --parameters K] [--threshold P] [--odds-ratio OR] [options]",
    .text =
        "The number of cases and controls that an assumed model needs for a wanted shrinkage and optimism (the "
        "criteria "
        "of Riley et al., at the design's proportions) and calibration slope, for intervals of a wanted width, and for "
        "the power to "
        "detect an odds ratio; the ratio of controls to cases that costs least; and what the design will tell. Each "
        "assumption is printed. With --cases, what a given design will tell.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(size_options),
    .output =
        "Text, or with --json one object: prevalence, design (cases, controls, rows, ratio, chosen, cost, binding), "
        "model, criteria (each wanted, rows, cases, controls, reached), figures (shrinkage, optimism, slope, and "
        "value, lo, hi "
        "and "
        "error of auc, risk, ppv, net_benefit, odds_ratio; power), curve (over the ratio), assumptions, warnings.",
    .examples = examples,
    .run = run};
