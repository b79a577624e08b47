/* prevail export: writes a model for use in other programs. */
#include "cli/commands.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <string.h>

typedef struct export_options {
    pv_export_options how;
    const char *output;
    cli_running running;
} export_options;

static const pv_option run_table[] = {
    CLI_OPTION_OUTPUT(export_options, output,
                      "The file to write: MODEL.onnx, MODEL.c or MODEL.sql; the extension determines the language."),
    CLI_OPTION_JSON(export_options, running.json, "Print one JSON object: what was written, its inputs and outputs."),
    CLI_OPTION_QUIET(export_options, running.quiet), CLI_OPTION_END};

/* " age, sex (text), prevalence" */
static void print_inputs(const pv_result *about) {
    const pv_result *inputs = pv_result_get(about, "inputs"), *outputs = pv_result_get(about, "outputs");
    fputs("  inputs ", stdout);
    for (size_t i = 0; i < pv_result_count(inputs); i++) {
        const pv_result *input = pv_result_child(inputs, i);
        const char *type = pv_result_text(pv_result_get(input, "type"));
        fputs(i > 0 ? ", " : " ", stdout);
        cli_put_name(pv_result_text(pv_result_get(input, "name")), 0);
        if (strcmp(type, "text") == 0)
            fputs(" (text)", stdout);
    }
    fputs("\n  outputs", stdout);
    for (size_t i = 0; i < pv_result_count(outputs); i++) {
        fputs(i > 0 ? ", " : " ", stdout);
        cli_put_name(pv_result_text(pv_result_child(outputs, i)), 0);
    }
    fputc('\n', stdout);
}

static void show(const cli_call *call, const char *path, pv_result *about) {
    if (((const export_options *)call->options)->running.json) {
        (void)pv__value_set(about, "file", pv__value_text(path));
        cli_json_print(call, about);
        return;
    }
    printf("%s: %s\n", path, pv_result_text(pv_result_get(about, "format")));
    print_inputs(about);
    pv_result_free(about);
}

/* The options in the library's form: by name and text. */
static pv_status settings_of(pv_ctx *ctx, const pv_export_options *how, pv_settings **settings) {
    pv_status status = pv_export_settings_new(ctx, settings);
    for (const pv_option *row = pv_export_option_table; status == PV_OK && row->name; row++) {
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

static int run(cli_call *call) {
    const export_options *options = call->options;
    pv_classifier *model = NULL;
    pv_settings *settings = NULL;
    pv_result *about = NULL;
    if (!options->output)
        return cli_error(call, PV_ERR_USAGE, NULL, "-o FILE is missing: name the file to write, as in -o model.onnx");
    pv_status status = pv_classifier_load(call->ctx, call->argument[0], &model);
    if (status == PV_OK)
        status = settings_of(call->ctx, &options->how, &settings);
    if (status == PV_OK)
        status = pv_export(call->ctx, model, settings, options->output, &about);
    if (status == PV_OK)
        show(call, options->output, about);
    pv_settings_free(call->ctx, settings);
    pv_classifier_free(call->ctx, model);
    return cli_done(call, status);
}

static const cli_argument arguments[] = {{"MODEL", "A model file, as prevail fit -o writes it."}, {NULL, NULL}};
static const cli_group groups[] = {{"What is exported", pv_export_option_table, offsetof(export_options, how)},
                                   {"Running", run_table, 0},
                                   {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail export study.model -o study.onnx", "For ONNX Runtime; the prevalence is an input."},
    {"prevail export study.model --population known:0.02 -o study.c", "A function in C, for one population."},
    {"prevail export study.model --population true --table people -o study.sql", "A query for DuckDB or PostgreSQL."},
    {NULL, NULL}};

const cli_command cli_export = {
    .name = "export",
    .summary = "a model as ONNX, C or SQL, for other programs",
    .usage = "MODEL -o FILE [--population NAME] [--missing WHAT] [--unseen WHAT] [--table NAME] [--json]",
    .text = "Writes a program that does everything prevail predict does with a row: encoding, standardisation, terms, "
            "the model, "
            "averages over uncertainty, and the adjustment to a population. ONNX supports all models; C and SQL "
            "support those of tables. A row that cannot be predicted gets NaN or NULL, and no label.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(export_options),
    .output = "The file, and a line with its inputs and outputs.",
    .examples = examples,
    .run = run};
