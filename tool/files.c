/* Tells the library which files a command reads and writes, before any work (pv_files_*).
 *
 * One table says for every option whether it names an input or an output. An option that takes a file and is not listed
 * is a defect, and reported at once.
 */
#include "tool/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "prevail/prevail.h"
#include "prevail/report.h"
#include "tool/console.h"

typedef enum role { INPUT, INPUTS, OUTPUT, FIGURES, CURVES, OWN } role; /* OWN: the command registers it itself */

typedef struct file_option {
    const char *name, *metavar;
    role role;
} file_option;

static const file_option options_with_files[] = {{"checkpoint", "FILE", OUTPUT},
                                                 {"costs", "FILE|fp=X,fn=Y", INPUT},
                                                 {"csv", "FILE", INPUT},
                                                 {"curves", "DIR", CURVES},
                                                 {"data", "FILE", INPUT},
                                                 {"engine", "FILE", INPUT},
                                                 {"ensemble", "MODEL,...", INPUTS},
                                                 {"compare", "FILE,...", INPUTS},
                                                 {"figures", "DIR", FIGURES},
                                                 {"holdout", "FILE", INPUT},
                                                 {"output", "DIR", OWN}, /* registered by study_folder_take */
                                                 {"output", "FILE", OUTPUT},
                                                 {"phase-one", "FILE", INPUT},
                                                 {"population-sample", "FILE", INPUT},
                                                 {"prevalence-by", "FILE", INPUT},
                                                 {"pretrained", "FILE.npz", INPUT},
                                                 {"probs", "FILE", INPUT},
                                                 {"report", "FILE", OUTPUT},
                                                 {"labelled-sample", "FILE", INPUT},
                                                 {"gold", "FILE", INPUT},
                                                 {"pilot", "FILE", INPUT},
                                                 {"calibration", "FILE", INPUT},
                                                 {"trace", "FILE.csv", OUTPUT},
                                                 {"training", "FILE", INPUT},
                                                 {"truth", "FILE", OUTPUT},
                                                 {"known", "FILE", OUTPUT},
                                                 {NULL, NULL, OWN}};

static const char *const arguments_with_files[] = {"MODEL", "[MODEL]", "DATA", "[DATA]", "PROBS", NULL};

/* ---- folders ----------------------------------------------------------------------------------------------------- */

#define FIGURE(name)                                                                                                   \
    {name ".svg", PV_FIGURE_SVG_BEGINS}, {                                                                             \
        name ".csv", PV_FIGURE_CSV_BEGINS                                                                              \
    }
static const pv_files_pattern figure_files[] = {FIGURE("calibration"),     FIGURE("coefficients"), FIGURE("decision"),
                                                FIGURE("expected"),        FIGURE("histogram"),    FIGURE("sweep"),
                                                FIGURE("explorer-charts"), FIGURE("thresholds"),   {NULL, NULL}};

static const pv_files_pattern curve_files[] = {{"roc.csv", "threshold,fpr,fpr_lo,"},
                                               {"pr.csv", "threshold,recall,recall_lo,"},
                                               {"im.csv", "prevalence,threshold,informedness,"},
                                               {"calibration.csv", "bin_lo,bin_hi,mean_p,"},
                                               {"calibration_smooth.csv", "p,observed,observed_lo,"},
                                               {"expected.csv", "threshold,fpr_expected,fpr,"},
                                               {"net_benefit.csv", "threshold,net_benefit,"},
                                               {"predictive_values.csv", "prevalence,ppv,"},
                                               {NULL, NULL}};
_Static_assert(sizeof curve_files / sizeof *curve_files == PV_CURVES + 1, "a curve's file has no pattern");

/* ---- naming ------------------------------------------------------------------------------------------------------ */

/* A,B,C */
static pv_status name_list(cli_call *call, const char *what, const char *list) {
    char *copy = cli_copy(list), *rest = copy, *name;
    pv_status status = PV_OK;
    while (status == PV_OK && (name = strsep(&rest, ",")))
        status = pv_files_read(call->ctx, what, name);
    free(copy);
    return status;
}

static pv_status name_path(cli_call *call, role as, const char *what, const char *path) {
    switch (as) {
    case INPUT:
        return pv_files_read(call->ctx, what, path);
    case INPUTS:
        return name_list(call, what, path);
    case OUTPUT:
        return pv_files_write(call->ctx, what, path);
    case FIGURES:
        return pv_files_write_into(call->ctx, what, path, figure_files);
    case CURVES:
        return pv_files_write_into(call->ctx, what, path, curve_files);
    case OWN:
        break;
    }
    return PV_OK;
}

static bool takes_file(const pv_option *row) {
    const char *metavar = row->type == PV_OPTION_TEXT && row->metavar ? row->metavar : "";
    return strncmp(metavar, "FILE", 4) == 0 || strcmp(metavar, "DIR") == 0 || strncmp(metavar, "MODEL", 5) == 0;
}

static int name_option(cli_call *call, const cli_group *group, const pv_option *row) {
    const file_option *found = options_with_files;
    while (found->name && (strcmp(found->name, row->name) != 0 || strcmp(found->metavar, row->metavar) != 0))
        found++;
    if (!found->name)
        return cli_error(call, PV_ERR_INTERNAL, NULL, "--%s is not registered as an input or an output", row->name);
    const char *path;
    char what[64];
    memcpy(&path, (const char *)call->options + group->offset + row->offset, sizeof path);
    snprintf(what, sizeof what, "--%s", row->name);
    pv_status status = path ? name_path(call, found->role, what, path) : PV_OK;
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int name_argument(cli_call *call, size_t i) {
    const char *name = call->command->arguments[i].name;
    for (const char *const *known = arguments_with_files; *known; known++)
        if (strcmp(*known, name) == 0) {
            char what[16];
            snprintf(what, sizeof what, "%.*s", (int)strcspn(name + (name[0] == '['), "]"), name + (name[0] == '['));
            pv_status status = pv_files_read(call->ctx, what, call->argument[i]);
            return status == PV_OK ? CLI_OK : cli_fail(call, status);
        }
    return CLI_OK;
}

int cli_name_files(cli_call *call) {
    const cli_command *command = call->command;
    int code = CLI_OK;
    pv_files_begin(call->ctx);
    for (size_t i = 0; code == CLI_OK && command->arguments && command->arguments[i].name; i++)
        code = name_argument(call, i);
    for (const cli_group *group = command->groups; code == CLI_OK && group && group->table; group++)
        for (const pv_option *row = group->table; code == CLI_OK && row->name; row++)
            if (takes_file(row) && cli_has(command, group, row))
                code = name_option(call, group, row);
    return code;
}

/* ---- creating folders ----------------------------------------------------------------------------------------------
 */

int cli_make_folder(cli_call *call, const char *folder) {
    if (!*folder)
        return cli_error(call, PV_ERR_USAGE, NULL, "--output needs the name of a folder");
    struct stat about;
    if (mkdir(folder, 0777) == 0)
        return CLI_OK;
    int cause = errno;
    if (cause == EEXIST && stat(folder, &about) == 0 && S_ISDIR(about.st_mode))
        return CLI_OK;
    if (cause == EEXIST)
        return cli_error(call, PV_ERR_PATH, folder, "is a file; name a folder");
    return cli_error(call, PV_ERR_PATH, folder,
                     "cannot be created: %s; name a folder inside one that exists and is writable", strerror(cause));
}
