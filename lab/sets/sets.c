/* prevail-lab sets: the coverage of sets of labels and the errors of calls with a refer region, over samples of
 * calibration rows, at prevalences other than theirs.
 */
#include "lab/sets/sets.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME(name, word, text) word,
#define TEXT(name, word, text) text,
const char *const sets_kind_name[SETS_KINDS] = {SETS_KIND_LIST(NAME)};
const char *const sets_kind_text[SETS_KINDS] = {SETS_KIND_LIST(TEXT)};

static pv_status run_job(pv_ctx *ctx, void *state, size_t job) {
    const sets_study *s = state;
    pv_ctx_set_log(ctx, NULL, NULL, PV_LOG_WARNING);
    return sets_replicate(ctx, s, &s->cell[job / s->replicates], job, &s->outcome[job]);
}

static size_t outcome_of(void *state, size_t job, pv_field *field) {
    field[0] = (pv_field){&((sets_study *)state)->outcome[job], sizeof(sets_outcome)};
    return 1;
}

static bool sound(const void *state, size_t job) {
    const sets_outcome *o = &((const sets_study *)state)->outcome[job];
    return study_within(&o->done, sizeof *o / sizeof(double), 0, 1, true);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int read_kinds(cli_call *call, const char *text, bool wanted[SETS_KINDS]) {
    bool all = strcmp(text, "all") == 0;
    for (int i = 0; i < SETS_KINDS; i++)
        wanted[i] = all;
    for (const char *at = text; !all; at++) {
        size_t length = strcspn(at, ",");
        int found = -1;
        for (int i = 0; i < SETS_KINDS; i++)
            if (strlen(sets_kind_name[i]) == length && strncmp(at, sets_kind_name[i], length) == 0)
                found = i;
        if (found < 0 || wanted[found])
            return cli_error(call, PV_ERR_USAGE, NULL,
                             "--kinds %s: all, or some of the names that --help lists, each at most once, separated by "
                             "commas",
                             text);
        wanted[found] = true;
        at += length;
        if (!*at)
            break;
    }
    return CLI_OK;
}

/* "200,1000:200" */
static int read_rows(cli_call *call, const sets_options *o, double (*to)[2], size_t *count) {
    double least = ceil(1 / (1 - o->coverage) - 1e-9) - 1;
    for (const char *at = o->rows; *count < SETS_MOST; at++) {
        double *pair = to[*count];
        const char *end = pv_parse_real(at, &pair[0]);
        pair[1] = pair[0];
        if (end && *end == ':')
            end = pv_parse_real(end + 1, &pair[1]);
        if (!end || (*end && *end != ',') || !(fmin(pair[0], pair[1]) >= least && fmax(pair[0], pair[1]) <= 1e5))
            break;
        pair[0] = floor(pair[0]);
        pair[1] = floor(pair[1]);
        (*count)++;
        at = end;
        if (!*at)
            return CLI_OK;
    }
    return cli_error(call, PV_ERR_USAGE, NULL,
                     "--rows %s: up to %d numbers or pairs N:N from %g to 100000, separated by commas", o->rows,
                     (int)SETS_MOST, least);
}

static int prepare(cli_call *call, sets_study *s) {
    const sets_options *o = s->options;
    bool kinds[SETS_KINDS];
    double rows[SETS_MOST][2];
    size_t count = 0;
    int code = o->low <= o->high ? CLI_OK
                                 : cli_error(call, PV_ERR_USAGE, NULL, "--low %g is above --high %g", o->low, o->high);
    if (code == CLI_OK)
        code = read_kinds(call, o->kinds, kinds);
    if (code == CLI_OK)
        code = read_rows(call, o, rows, &count);
    if (code != CLI_OK)
        return code;
    s->cell = cli_alloc((size_t)SETS_KINDS * count, sizeof *s->cell);
    for (int k = 0; k < SETS_KINDS; k++)
        for (size_t i = 0; i < count && kinds[k]; i++)
            s->cell[s->cells++] = (sets_cell){(sets_kind)k, {rows[i][0], rows[i][1]}};
    for (int k = 0; k < SETS_KINDS; k++)
        if (kinds[k]) {
            pv_status status = sets_truth_of(call->ctx, s, (sets_kind)k);
            if (status != PV_OK)
                return cli_fail(call, status);
        }
    return CLI_OK;
}

static int work(cli_call *call) {
    const sets_options *options = call->options;
    sets_study s = {
        .options = options, .seed = (uint64_t)options->shared.seed, .replicates = (size_t)options->replicates};
    int code = prepare(call, &s);
    if (code == CLI_OK) {
        s.outcome = cli_alloc(s.cells * s.replicates, sizeof *s.outcome);
        code = study_parallel(call, "samples", s.cells * s.replicates, run_job, outcome_of, sound, &s);
    }
    if (code == CLI_OK)
        code = sets_report(call, &s);
    for (int k = 0; k < SETS_KINDS; k++)
        sets_truth_free(&s.truth[k]);
    free(s.cell);
    free(s.outcome);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(cli_call *call) {
    return study_run(call, &(study_plan){.name = "sets",
                                         .title = "sets",
                                         .about = "Sets of labels and refer regions. prevail " PV_VERSION,
                                         .work = work});
}

#define AT(field) offsetof(sets_options, field)

static const pv_option option_table[] = {
    {"kinds", PV_OPTION_TEXT, AT(kinds), "all", 0, 0, NULL, "LIST",
     "What is drawn: right, wrong, ties, units, labels; all."},
    {"rows", PV_OPTION_TEXT, AT(rows), "9,20,50,200,1000:200,5000:500", 0, 0, NULL, "N|N:N,...",
     "Calibration rows (units: persons) of each label, or of the last label after the colon."},
    {"coverage", PV_OPTION_REAL, AT(coverage), "0.9", 0.01, 0.999, NULL, NULL, "Wanted coverage."},
    {"refer", PV_OPTION_TEXT, AT(refer), "0.005,0.8", 0, 0, NULL, "E,E", "Wrong shares of the calls of both labels."},
    {"low", PV_OPTION_REAL, AT(low), "0.005", 1e-6, 0.999, NULL, "P", "Lower end of the prevalence of the calls."},
    {"high", PV_OPTION_REAL, AT(high), "0.02", 1e-6, 0.999, NULL, "P", "Upper end."},
    STUDY_OPTION_REPLICATES(sets_options, "2000", "Calibration samples of each."),
    CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab sets -o out", "All kinds."},
    {"prevail-lab sets --kinds right --rows 1000:300 --refer 0.002,0 --replicates 10000", "One of them, more often."},
    {NULL, NULL}};

const cli_command lab_sets = {
    .name = "sets",
    .summary = "sets of labels: whether they cover, and whether calls keep their errors",
    .usage = "[options] [-o DIR] [--json]",
    .text =
        "Draws calibration rows with a number of each label, lets prevail sets learn a rule, and finds its coverage "
        "and errors in a population, as a sample of 400,000 rows of each label shows them.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(sets_options),
    .output =
        "For each kind and number of rows, means over calibration samples: the coverage of the first and the last "
        "label; that of all rows where the last label has a prevalence of 0.001, 0.1 and 0.5; the share of sets with "
        "several labels at 0.1; the coverage of sets with one threshold for all labels; the share of samples whose "
        "calls are wrong more often than wanted at the worst prevalence; the share of the population that is called at "
        "--high; the share of samples with too many wrong calls by plug-in thresholds. -o writes results.json and "
        "tables.md.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
