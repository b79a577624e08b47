/* Runs a study: its folder, checkpoint and report, and files in the folder. */
#include "prevail/prevail.h"
#include "lab/common/markdown.h"
#include "lab/common/study.h"
#include "tool/checkpoint.h"
#include "tool/console.h"
#include "tool/json.h"
#include "tool/files.h"
#include "tool/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(study_options, field)

const pv_option study_option_table[] = {
    {"seed", PV_OPTION_INT, AT(seed), "1", 0, 1e15, NULL, NULL, "Seed of every random stream."},
    {"output", PV_OPTION_TEXT, AT(output), NULL, 0, 0, NULL, "DIR",
     "Also write results and pictures into this folder; it is created if needed. One that has the results of "
     "another study is refused; those of the same study are replaced."},
    CLI_OPTIONS_CHECKPOINT(AT(checkpoint)),
    CLI_OPTION_THREADS(study_options, running.threads),
    CLI_OPTION_RANKS(study_options, running.ranks),
    CLI_OPTIONS_DEVICE(study_options, running),
    CLI_OPTION_JSON(study_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_QUIET(study_options, running.quiet),
    CLI_OPTION_END};

const cli_argument study_no_arguments[] = {{NULL, NULL}};

const pv_option study_vi_table[] = {
    {"components", PV_OPTION_INT, offsetof(study_vi, components), "8", 1, 1000, NULL, NULL,
     "Gaussians in the mixture."},
    {"samples", PV_OPTION_INT, offsetof(study_vi, samples), "8", 1, 1e6, NULL, NULL,
     "Samples of each component and step."},
    {"steps", PV_OPTION_INT, offsetof(study_vi, steps), "500", 1, 1e9, NULL, NULL, "Steps."},
    CLI_OPTION_END};

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

char *study_printed(study_writer write, const void *what) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        cli_no_memory("for text");
    write(out, what);
    if (ferror(out) | fclose(out))
        cli_no_memory("for text");
    return text;
}

/* Adds the same text to the report as to the file. */
static int put_in_report(cli_call *call, study_writer write, const void *what) {
    const study_options *options = call->options;
    char *text = study_printed(write, what);
    report_put_markdown(options->report, text);
    free(text);
    return CLI_OK;
}

int study_write(cli_call *call, const char *folder, const char *name, study_writer write, const void *what) {
    const study_options *options = call->options;
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return cli_error(call, PV_ERR_PATH, folder, "the name is too long");
    pv_output output = {0};
    pv_status status = pv_output_open(call->ctx, path, &output);
    if (status == PV_OK) {
        write(output.stream, what);
        status = pv_output_commit(call->ctx, &output);
    }
    pv_output_discard(call->ctx, &output);
    if (status != PV_OK)
        return cli_fail(call, status);
    return options->report && ends_with(name, ".md") ? put_in_report(call, write, what) : CLI_OK;
}

typedef struct written_json {
    pv_ctx *ctx;
    const pv_result *object;
} written_json;

static void write_json(FILE *out, const void *what) {
    const written_json *json = what;
    cli_json_write(json->ctx, out, json->object);
}

int study_write_json(cli_call *call, const char *folder, const char *name, const pv_result *object) {
    const written_json json = {call->ctx, object};
    return study_write(call, folder, name, write_json, &json);
}

pv_result *study_read_json(cli_call *call, const char *path) {
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0, room = 0;
    for (size_t got = 1; file && got > 0; size += got) {
        if (room - size < 4096)
            text = cli_resize(text, room = 2 * room + 65536, 1);
        got = fread(text + size, 1, room - size - 1, file);
    }
    pv_result *found = NULL;
    if (file && !ferror(file)) {
        text[size] = '\0';
        if (pv__json_parse(call->ctx, text, size, &found) != PV_OK)
            cli_no_memory("for JSON");
    }
    if (file)
        fclose(file);
    free(text);
    return found;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

size_t study_mean(const double *values, size_t n, size_t stride, double *mean, double *sd) {
    size_t count = 0;
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i * stride])) {
            count++;
            sum += values[i * stride];
        }
    *mean = count ? sum / (double)count : (double)NAN;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i * stride])) {
            double off = values[i * stride] - *mean;
            square += off * off;
        }
    *sd = count > 1 ? sqrt(square / (double)(count - 1)) : (double)NAN;
    return count;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Runs a study with an open report; the study's exit code is kept. */
static int run_reported(cli_call *call, const study_plan *plan, study_options *options) {
    static const char *const names[] = {"seed", NULL};
    size_t size = strlen(options->output) + 16;
    char *page = cli_alloc(size, 1), title[100], seed[24];
    const char *const values[] = {seed};
    snprintf(page, size, "%s/report.html", options->output);
    snprintf(title, sizeof title, "Study: %s", plan->title);
    snprintf(seed, sizeof seed, "%lld", (long long)options->seed);
    report_options how = {.page = page, .figures = options->output};
    int code = report_begin(call, &how, title, plan->about, &options->report);
    if (code == CLI_OK) {
        int found = plan->work(call);
        bool done = found == CLI_OK || found == CLI_PROBLEMS;
        if (done) {
            report_put_warnings(call, options->report);
            report_put_provenance(call, options->report, names, values);
        }
        code = report_end(call, &how, options->report, done ? CLI_OK : found);
        code = code == CLI_OK ? found : code;
        options->report = NULL;
    }
    free(page);
    return code;
}

/* The checkpoint is deleted when everything is written, including the report. */
int study_run(cli_call *call, const study_plan *plan) {
    study_options *options = call->options;
    int rank, lock = -1, code = CLI_OK;
    (void)pv_ctx_ranks(call->ctx, &rank);
    if (options->output)
        code = cli_make_folder(call, options->output);
    if (code == CLI_OK && options->output && rank == 0) /* the rank that writes */
        code = study_folder_take(call, options->output, plan->name, plan->has_cells, &lock);
    if (code == CLI_OK)
        code = study_checkpoint_start(call, plan->name);
    if (code == CLI_OK) {
        code = options->output ? run_reported(call, plan, options) : plan->work(call);
        code = cli_checkpoint_end(call, &options->checkpoint, code);
    }
    study_folder_leave(lock);
    return code;
}
