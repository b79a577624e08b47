/* prevail rate: how common labels are, by an imperfect classifier, test or judge. */
#include "cli/commands.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"

#include <string.h>

typedef struct rate_options {
    pv_rate_options how;
    pv_csv_options csv;
    const char *gold;
    cli_running running;
} rate_options;

static const pv_option input_table[] = {
    {"gold", PV_OPTION_TEXT, offsetof(rate_options, gold), NULL, 0, 0, NULL, "FILE",
     "File of gold rows, with the columns of verdicts and outcomes. Default: the rows of DATA that have an outcome."},
    CLI_OPTION_END};
static const pv_option run_table[] = {
    CLI_OPTION_JSON(rate_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_QUIET(rate_options, running.quiet), CLI_OPTION_END};

/* The options as the library takes them: by name and text. */
static pv_status settings_of(pv_ctx *ctx, const pv_rate_options *how, pv_settings **settings) {
    pv_status status = pv_rate_settings_new(ctx, settings);
    for (const pv_option *row = pv_rate_option_table; status == PV_OK && row->name; row++) {
        char word[64];
        const char *text = word;
        if (row->type == PV_OPTION_TEXT)
            memcpy(&text, (const char *)how + row->offset, sizeof text);
        else
            pv_option_get(row, how, word, sizeof word);
        status = pv_settings_set(ctx, *settings, row->name, text);
    }
    return status;
}

/* Verdicts, labels, strata and clusters are texts, whatever they hold. */
static pv_status read_rows(cli_call *call, const char *path, pv_table **table) {
    const pv_rate_options *how = &((const rate_options *)call->options)->how;
    const char *const named[] = {how->verdict, how->compare, how->outcome, how->strata,
                                 how->cluster, how->score,   how->weights};
    enum { TEXTS = 5, ALL = sizeof named / sizeof *named };
    const char *column[ALL];
    size_t n = 0;
    pv_csv_options csv = cli_csv(call);
    csv.text = csv.keep = column;
    for (size_t i = 0; i < ALL; i++) {
        if (i == TEXTS)
            csv.n_text = n;
        if (named[i])
            column[n++] = named[i];
    }
    csv.n_keep = n;
    return pv_table_read(call->ctx, path, &csv, table);
}

static pv_status show(cli_call *call, pv_result *found) {
    char *text = NULL;
    if (((const rate_options *)call->options)->running.json) {
        cli_json_print(call, found);
        return PV_OK;
    }
    pv_status status = pv_rate_text(call->ctx, found, &text);
    if (status == PV_OK)
        fputs(text, stdout);
    pv_result_text_free(call->ctx, text);
    pv_result_free(found);
    return status;
}

static int run(cli_call *call) {
    const rate_options *options = call->options;
    pv_table *sample = NULL, *gold = NULL;
    pv_settings *settings = NULL;
    pv_result *found = NULL;
    pv_status status = settings_of(call->ctx, &options->how, &settings);
    if (status == PV_OK)
        status = read_rows(call, call->argument[0], &sample);
    if (status == PV_OK && options->gold)
        status = read_rows(call, options->gold, &gold);
    if (status == PV_OK)
        status = pv_rate_estimate(call->ctx, sample, gold, settings, &found);
    if (status == PV_OK)
        status = show(call, found);
    pv_table_free(call->ctx, gold);
    pv_table_free(call->ctx, sample);
    pv_settings_free(call->ctx, settings);
    return cli_done(call, status);
}

static const cli_argument arguments[] = {
    {"DATA", "The sample whose rate is to be estimated: a row for each case, with its verdict."}, {NULL, NULL}};
static const cli_group groups[] = {{"Gold rows", input_table, 0},
                                   {"The rate", pv_rate_option_table, offsetof(rate_options, how)},
                                   {"Reading", pv_csv_option_table, offsetof(rate_options, csv)},
                                   {"Running", run_table, 0},
                                   {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail rate answers.csv --verdict judge --gold labelled.csv --outcome truth --gold-by label",
     "The rate of wrong answers, from a judge that was tested on known right and wrong ones."},
    {"prevail rate answers.csv --verdict judge --outcome truth --gold-by verdict --width 0.02",
     "People checked some answers of each verdict: the rate, and how many more answers to check."},
    {"prevail rate serum.csv --verdict test --sensitivity 93/100 --specificity 198/200",
     "A serosurvey with the manufacturer's validation study."},
    {NULL, NULL}};

const cli_command cli_rate = {
    .name = "rate",
    .summary = "how common labels are, by an imperfect classifier, test or judge",
    .usage = "DATA --verdict COL --outcome COL --gold-by label|verdict|random [--gold FILE] [options]",
    .text = "Estimates the proportion of each label in a large sample of verdicts, corrected for the verdicts' errors, "
            "which are estimated from a small number of gold rows with true labels. The interval accounts for the "
            "uncertainty of both: it inverts a likelihood ratio test calibrated by a bootstrap, stays within [0, 1], "
            "and is [0, 1] if verdicts carry no information about the labels. State how the gold rows were drawn.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(rate_options),
    .output =
        "Text, or with --json one object: rate, apparent, verdict_given_label and label_given_verdict (as the gold "
        "rows allow), sensitivity, specificity, mixture, strata, width, compare, warnings. Rates are objects of "
        "value, lo and hi.",
    .examples = examples,
    .run = run};
