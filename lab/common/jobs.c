/* Support for long studies: jobs with a checkpoint, the facts that identify the work, and a folder for each study. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prevail/prevail.h"
#include "prevail/report.h"
#include "lab/common/study.h"
#include "tool/checkpoint.h"
#include "tool/console.h"
#include "tool/json.h"

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

int study_parallel(cli_call *call, const char *what, size_t jobs, pv_job job, pv_job_outcome outcome,
                   pv_job_sound sound, void *state) {
    const study_options *options = call->options;
    size_t finished;
    pv_status status = pv_jobs_run_kept(call->ctx, what, jobs, true, job, outcome, sound, state, &finished);
    cli_progress_clear(call);
    if (status == PV_ERR_INTERRUPTED && finished == jobs) { /* after the last job, when only writing is left */
        pv_ctx_clear_interrupt(call->ctx);
        return CLI_OK;
    }
    if (status == PV_ERR_INTERRUPTED)
        return cli_error(call, status, NULL, "stopped on request: %zu of %zu %s are done%s", finished, jobs, what,
                         options->checkpoint.path ? "" : ", and nothing was written; --checkpoint FILE keeps them");
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

bool study_within(const double *value, size_t n, double low, double high, bool undefined) {
    for (size_t i = 0; i < n; i++)
        if (!(value[i] >= low && value[i] <= high) && !(undefined && isnan(value[i])))
            return false;
    return true;
}

pv_status study_fit(pv_ctx *ctx, size_t index, const pv_schema *schema, const pv_dataset *data,
                    const pv_fit_options *options, pv_classifier **fit) {
    size_t entered = pv_checkpoint_enter(ctx, "fit", index);
    pv_fit_options used = pv_fit_options_used(options, data->images != NULL); /* methods share options */
    used.bare = true;
    pv_status status = pv_fit(ctx, schema, data, &used, fit);
    pv_checkpoint_leave(ctx, entered);
    return status;
}

bool study_fit_failed(pv_status status) {
    return status == PV_ERR_NUMERIC || status == PV_ERR_INPUT;
}

/* ---- facts ------------------------------------------------------------------------------------------------------- */

/* The version, and options that differ from their defaults, one per line. */
static void write_facts(FILE *out, const void *what) {
    const cli_call *call = what;
    const cli_command *command = call->command;
    fprintf(out, "version=%s\n", PV_VERSION);
    char *usual = cli_alloc(command->options_size, 1);
    for (const cli_group *group = command->groups; group->table; group++)
        pv_options_default(group->table, usual + group->offset);
    for (const cli_group *group = command->groups; group->table; group++)
        for (const pv_option *row = group->table; row->name; row++) {
            const char *options = (const char *)call->options + group->offset;
            char own[64], other[64];
            const char *text = own;
            pv_option_get(row, options, own, sizeof own);
            pv_option_get(row, usual + group->offset, other, sizeof other);
            if (row->type == PV_OPTION_TEXT) { /* may be of any length */
                memcpy(&text, options + row->offset, sizeof text);
                text = text ? text : "";
            }
            if (!cli_has(command, group, row) || !cli_recorded(row->name) || strcmp(text, other) == 0)
                continue;
            fprintf(out, "`%s`=", row->name);
            text = strcmp(row->name, "data") == 0 ? "given" : text; /* the contents of the file matter, not its name */
            for (; *text; text++)
                fputc(*text == '\n' ? ' ' : *text, out);
            fputc('\n', out);
        }
    free(usual);
}

/* A separate fact, compared if the checkpoint has it. */
static pv_status check_fact(pv_ctx *ctx, const char *scope, const char *fact) {
    size_t entered = pv_checkpoint_enter(ctx, scope, 0);
    pv_status status = pv_checkpoint_facts(ctx, fact);
    pv_checkpoint_leave(ctx, entered);
    return status;
}

int study_checkpoint_start(cli_call *call, const char *study) {
    const study_options *options = call->options;
    const char *const *data = cli_value(call, "data"); /* NULL: the study has no such option */
    int code = cli_checkpoint_start(call, &options->checkpoint);
    if (code != CLI_OK || (!options->checkpoint.path && pv_ctx_ranks(call->ctx, NULL) == 1))
        return code;
    char name[60], *facts = study_printed(write_facts, call);
    snprintf(name, sizeof name, "study=%s\n", study);
    pv_status status =
        check_fact(call->ctx, "study", name); /* before the options, since those of another study differ anyway */
    if (status == PV_OK)
        status = pv_checkpoint_facts(call->ctx, facts);
    free(facts);
    if (status == PV_OK && !(data && *data))
        pv_checkpoint_tell(call->ctx);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

int study_checkpoint_data(cli_call *call, const pv_table *table, const pv_images *images) {
    char fact[120], more[24] = "";
    if (images)
        snprintf(more, sizeof more, "-%016llx", (unsigned long long)images->hash);
    snprintf(fact, sizeof fact, "the data=%zu rows, %016llx%s\n", table->rows, (unsigned long long)table->hash, more);
    pv_status status = check_fact(call->ctx, "data", fact);
    if (status == PV_OK)
        pv_checkpoint_tell(call->ctx);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

/* ---- output folder ----------------------------------------------------------------------------------------------- */

/* An existing result must belong to this study, which then replaces it. */
static int check_result(cli_call *call, const char *folder, const char *name, const char *study) {
    char path[4096];
    struct stat about;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return cli_error(call, PV_ERR_PATH, folder, "the name is too long");
    if (stat(path, &about) != 0)
        return CLI_OK;
    pv_result *object = S_ISREG(about.st_mode) ? study_read_json(call, path) : NULL;
    const char *found = pv_result_text(pv_result_get(object, "study"));
    int code = CLI_OK;
    if (!found)
        code =
            cli_error(call, PV_ERR_PATH, path,
                      "is not the result of a study and would be replaced; give another folder with -o, or remove it");
    else if (strcmp(found, study) != 0)
        code = cli_error(call, PV_ERR_PATH, folder,
                         "has the results of study %.40s; give study %s another folder with -o, or remove that one",
                         found, study);
    pv_result_free(object);
    return code;
}

/* The files that studies write, and how they begin. Result files are checked in check_result. */
static const pv_files_pattern study_files[] = {{"*.json", ""},
                                               {"tables.md", "# Bias: tables\n"},
                                               {"tables.md", "# Calibration: tables\n"},
                                               {"tables.md", "# Designs: tables\n"},
                                               {"tables.md", "# Models that are wrong: tables\n"},
                                               {"tables.md", "# Nodules: tables\n"},
                                               {"tables.md", "# Ratings: tables\n"},
                                               {"tables.md", "# Rates by imperfect verdicts: tables\n"},
                                               {"tables.md", "# Effects in the population: tables\n"},
                                               {"tables.md", "# Labels recorded with errors: tables\n"},
                                               {"tables.md", "# Sample sizes: tables\n"},
                                               {"tables.md", "# Sets of labels and refer regions: tables\n"},
                                               {"tables.md", "# Unknown prevalence: tables\n"},
                                               {"coverage.md", "# Coverage: tables\n"},
                                               {"sbc.md", "Ranks of "},
                                               {"*.md", NULL},
                                               {"metrics.csv", "prevalence,method,quantity,"},
                                               {"metrics.csv", "network,batches,prevalence,"},
                                               {"coefficients.csv", "prevalence,method,coefficient,"},
                                               {"curves.csv", "prevalence,method,rows,"},
                                               {"real.csv", "method,quantity,mean,"},
                                               {"*.csv", PV_FIGURE_CSV_BEGINS},
                                               {"*.svg", PV_FIGURE_SVG_BEGINS},
                                               {"report.html", PV_REPORT_BEGINS},
                                               {"*.html", NULL},
                                               {NULL, NULL}};

int study_folder_take(cli_call *call, const char *folder, const char *study, bool has_cells, int *lock) {
    static const char *const results[] = {"results.json", "sbc.json"};
    struct stat about;
    char cells[4096];
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return cli_error(call, PV_ERR_PATH, folder,
                         "is being written to by another study; wait for it, or give another folder with -o");
    pv_status status = pv_files_write_into(call->ctx, "--output", folder, study_files);
    int code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    for (size_t i = 0; i < sizeof results / sizeof *results && code == CLI_OK; i++)
        code = check_result(call, folder, results[i], study);
    if (code == CLI_OK && !has_cells && snprintf(cells, sizeof cells, "%s/cells", folder) < (int)sizeof cells &&
        stat(cells, &about) == 0)
        code = cli_error(call, PV_ERR_PATH, cells,
                         "has fits of study nodules or ratings; give study %s another folder with -o, or remove them",
                         study);
    return code;
}

void study_folder_leave(int lock) {
    if (lock >= 0)
        close(lock);
}
