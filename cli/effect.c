/* prevail effect: how much an exposure changes the risk in the population. */
#include "cli/commands.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"
#include "tool/training.h"

#include <string.h>

typedef struct effect_options {
    cli_roles roles;
    pv_fit_options fit;
    pv_effect_options how;
    cli_running running;
} effect_options;

static const pv_option run_table[] = {
    CLI_OPTION_THREADS(effect_options, running.threads), CLI_OPTION_MEMORY(effect_options, running.memory),
    CLI_OPTION_JSON(effect_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_QUIET(effect_options, running.quiet), CLI_OPTION_END};

/* ---- the library's call ------------------------------------------------------------------------------------------ */

/* Passes on the options of a table that were given. */
static pv_status set_given(cli_call *call, const pv_option *table, const void *values, pv_settings *settings) {
    pv_status status = PV_OK;
    for (const pv_option *row = table; status == PV_OK && row->name; row++) {
        char word[64];
        const char *text = word;
        if (!cli_given(call, row->name))
            continue;
        if (row->type == PV_OPTION_TEXT)
            memcpy(&text, (const char *)values + row->offset, sizeof text);
        else
            pv_option_get(row, values, word, sizeof word);
        status = pv_settings_set(call->ctx, settings, row->name, text);
    }
    return status;
}

/* The options as the library takes them: by name and text. */
static pv_status settings_of(cli_call *call, pv_settings **settings) {
    const effect_options *o = call->options;
    pv_status status = pv_effect_settings_new(call->ctx, settings);
    if (status == PV_OK)
        status = set_given(call, pv_role_option_table, &o->roles.roles, *settings);
    if (status == PV_OK)
        status = set_given(call, pv_csv_option_table, &o->roles.csv, *settings);
    if (status == PV_OK)
        status = set_given(call, pv_fit_option_table, &o->fit, *settings);
    return status == PV_OK ? set_given(call, pv_effect_option_table, &o->how, *settings) : status;
}

static pv_status show(cli_call *call, const pv_result *found) {
    char *text = NULL;
    pv_status status = pv_effect_text(call->ctx, found, &text);
    if (status == PV_OK)
        fputs(text, stdout);
    pv_result_text_free(call->ctx, text);
    return status;
}

static int estimate(cli_call *call, const pv_table *table) {
    const effect_options *options = call->options;
    pv_settings *settings = NULL;
    pv_result *found = NULL;
    pv_status status = settings_of(call, &settings);
    if (status == PV_OK)
        status = pv_effect_estimate(call->ctx, table, settings, &found);
    if (status == PV_OK && options->running.json) {
        cli_json_print(call, found);
    } else {
        if (status == PV_OK)
            status = show(call, found);
        pv_result_free(found);
    }
    pv_settings_free(call->ctx, settings);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int run(cli_call *call) {
    effect_options *options = call->options;
    const pv_loss loss = pv_fit_loss(&options->fit, false, false);
    pv_table *table = NULL;
    int code = cli_training_prepare(call, call->argument[0], &options->fit, &options->roles);
    if (code == CLI_OK)
        code = cli_check_fit(call, &options->fit, &loss, 1, false);
    if (code == CLI_OK && !options->how.exposure)
        code = cli_error(call, PV_ERR_USAGE, NULL, "--exposure is missing: name the column whose effect is wanted");
    if (code == CLI_OK)
        code = cli_read(call, NULL, call->argument[0], &options->roles.roles, &table);
    if (code == CLI_OK)
        code = estimate(call, table);
    pv_table_free(call->ctx, table);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static const cli_group groups[] = {{"Effect", pv_effect_option_table, offsetof(effect_options, how)},
                                   {"Data", pv_role_option_table, offsetof(effect_options, roles)},
                                   {"Reading", pv_csv_option_table, offsetof(effect_options, roles.csv)},
                                   {"Population and model", pv_fit_option_table, offsetof(effect_options, fit)},
                                   {"Running", run_table, 0},
                                   {NULL, NULL, 0}};

/* The model is linear, fitted to all rows at once, and has an estimate instead of draws. */
static const char *const without[] = {"marginal",
                                      "match",
                                      "model",
                                      "candidates",
                                      "pretrained",
                                      "freeze-low",
                                      "batch",
                                      "design",
                                      "population-weight",
                                      "epoch-weight",
                                      "direct",
                                      "implementation",
                                      "start",
                                      "epochs",
                                      "rate",
                                      "schedule",
                                      "validation",
                                      "patience",
                                      "auxiliary-rate",
                                      "auxiliary-sparsity",
                                      "draws",
                                      "components",
                                      "samples",
                                      "steps",
                                      "vi-rate",
                                      "chains",
                                      "warmup",
                                      "seed",
                                      "matched",
                                      "group",
                                      "order",
                                      NULL};

static const cli_hint hints[] = {
    {"matched", NULL,
     "matched sets tell odds ratios only: read them off prevail fit, or name the matching columns with --strata"},
    {"model", NULL, "effects are estimated with a linear model: use --terms, as in 'ns(age,3),a:b', for curves"},
    {"treatment", "exposure", NULL},
    {"variable", "exposure", NULL},
    {"adjust", NULL, "every column of the model is adjusted for: choose them with --features or --exclude"},
    {"reference-level", "from", NULL},
    {NULL, NULL, NULL}};

static const cli_common common[] = {
    {"Effect", "exposure", NULL},
    {NULL, "from", "The value that others are compared with."},
    {NULL, "to", "The value to compare with it."},
    {NULL, "by", NULL},
    {NULL, "at", NULL},
    {"Data", "outcome", "The column to predict."},
    {NULL, "positive", "The label whose probability is the risk."},
    {NULL, "exclude", "Columns that are not features, comma-separated."},
    {NULL, "terms", "Features computed from columns: ns(age,3),smoke:sex."},
    {NULL, "strata", "Columns that sampling depended on, in addition to the label."},
    {NULL, "cluster", "Column of the units that were sampled together, such as a person's rows."},
    {"Population", "prevalence", "Prevalence of the positive label in the population: 0.01, or 0.005-0.02."},
    {NULL, "prevalence-by", "The prevalence in each stratum: a file."},
    {"Output", "json", NULL},
    {NULL, NULL, NULL}};

static const cli_example examples[] = {
    {"prevail effect study.csv --outcome cancer --prevalence 0.01 --exposure smoke",
     "Everyone smokes against no one smokes: risks, difference, ratio, attributable fraction."},
    {"prevail effect study.csv --outcome cancer --prevalence 0.008-0.012 --exposure bmi --from 30 --to 25 --by sex",
     "A weight loss, in men and in women; the prevalence is an estimate."},
    {"prevail effect study.csv --outcome cancer --prevalence 0.01 --exposure smoke --at age=60,sex=F",
     "The risks of women of 60, averaged over the other columns."},
    {NULL, NULL}};

const cli_command cli_effect = {
    .name = "effect",
    .summary = "how much an exposure changes the risk in the population",
    .usage = "DATA --outcome COL --prevalence P --exposure COL [--from VALUE] [--to VALUE] [options]",
    .text =
        "Fits a linear model to rows that were sampled by their label, and compares the risks of the target population "
        "if everyone had one value of the exposure with those if everyone had another: risk difference, risk ratio, "
        "number needed to treat, and the fraction of cases that would not occur if everyone had the --from "
        "value. Risks are "
        "averaged over the population, whose columns the rows represent with weights; no cohort is needed. Intervals "
        "take into account that coefficients, weights and, if it is an interval, the prevalence are estimates.",
    .arguments = cli_training_arguments,
    .groups = groups,
    .without = without,
    .common = common,
    .hints = hints,
    .options_size = sizeof(effect_options),
    .output =
        "Text, or with --json one object: outcome, positive, exposure, from, estimate (combined, weighted or "
        "efficient), by, at, prevalence, interval, rows, units, effects, assumes, warnings. effects is a list: group "
        "(null: everyone), to, share of the population, and risk, risk_from, risk_to, difference, ratio, odds_ratio, "
        "attributable, objects of value, lo, hi, se (on the scale of the interval: logit of risks, log of ratios and "
        "of 1 - attributable), df and linear, the same if the linear model is right; number_needed "
        "has value, lo, hi, or with rays true fewer and more, beyond which the number lies. Undefined is null.",
    .examples = examples,
    .run = run};
