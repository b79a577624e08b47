/* prevail-lab labels: how often the intervals of a fit with --label-error hold the truth, next to a fit that takes
 * recorded labels as true. */
#include "lab/labels/labels.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static pv_status run_job(pv_ctx *ctx, void *state, size_t job) {
    const labels_study *s = state;
    pv_ctx_set_log(ctx, NULL, NULL, PV_LOG_WARNING);
    return labels_replicate(ctx, s, &s->cell[job / s->replicates], job, &s->outcome[job]);
}

static size_t outcome_of(void *state, size_t job, pv_field *field) {
    field[0] = (pv_field){&((labels_study *)state)->outcome[job], sizeof(labels_outcome)};
    return 1;
}

static bool sound(const void *state, size_t job) {
    const labels_outcome *o = &((const labels_study *)state)->outcome[job];
    return study_within(&o->done, 1, 0, 1, false) && study_within(&o->slope, 9, -STUDY_LARGEST, STUDY_LARGEST, true);
}

/* "0.01,0.1"; "known" is infinite. */
static int read_numbers(cli_call *call, const char *option, const char *text, double least, double most, bool known,
                        double *to, size_t *count) {
    for (const char *at = text; *count < LABELS_MOST; at++) {
        bool word = known && strncmp(at, "known", 5) == 0;
        const char *end = word ? at + 5 : pv_parse_real(at, &to[*count]);
        if (word)
            to[*count] = HUGE_VAL;
        if (!end || (*end && *end != ',') || (!word && !(to[*count] >= least && to[*count] <= most)))
            break;
        (*count)++;
        at = end;
        if (!*at)
            return CLI_OK;
    }
    return cli_error(call, PV_ERR_USAGE, NULL, "--%s %s: up to %d numbers from %g to %g%s, separated by commas", option,
                     text, (int)LABELS_MOST, least, most, known ? " or known" : "");
}

static int prepare(cli_call *call, labels_study *s) {
    const labels_options *o = s->options;
    double prevalence[LABELS_MOST], validated[LABELS_MOST];
    size_t n_prevalence = 0, n_validated = 0;
    int code = read_numbers(call, "prevalences", o->prevalences, 0.001, 0.9, false, prevalence, &n_prevalence);
    if (code == CLI_OK)
        code = read_numbers(call, "validated", o->validated, 5, 1e5, true, validated, &n_validated);
    if (code != CLI_OK)
        return code;
    s->cell = cli_alloc(3 * n_prevalence * n_validated, sizeof *s->cell);
    for (int kind = 0; kind < 3; kind++)
        for (size_t v = 0; v < n_validated; v++)
            for (size_t p = 0; p < n_prevalence; p++)
                s->cell[s->cells++] = (labels_cell){kind == 2, kind == 1, prevalence[p], validated[v]};
    return CLI_OK;
}

static int work(cli_call *call) {
    const labels_options *options = call->options;
    labels_study s = {
        .options = options, .seed = (uint64_t)options->shared.seed, .replicates = (size_t)options->replicates};
    int code = prepare(call, &s);
    if (code == CLI_OK) {
        s.outcome = cli_alloc(s.cells * s.replicates, sizeof *s.outcome);
        code = study_parallel(call, "samples", s.cells * s.replicates, run_job, outcome_of, sound, &s);
    }
    if (code == CLI_OK)
        code = labels_report(call, &s);
    free(s.cell);
    free(s.outcome);
    return code;
}

static int run(cli_call *call) {
    return study_run(call, &(study_plan){.name = "labels",
                                         .title = "labels",
                                         .about = "Labels recorded with errors. prevail " PV_VERSION,
                                         .work = work});
}

#define AT(field) offsetof(labels_options, field)

static const pv_option option_table[] = {
    {"prevalences", PV_OPTION_TEXT, AT(prevalences), "0.05,0.3", 0, 0, NULL, "P,...", "Prevalences of the true label."},
    {"validated", PV_OPTION_TEXT, AT(validated), "known,400,100", 0, 0, NULL, "N,...",
     "Validated labels of each kind; known: the errors are stated exactly."},
    {"rows", PV_OPTION_INT, AT(rows), "1000", 50, 1e6, NULL, "N", "Rows of a sample."},
    {"sensitivity", PV_OPTION_REAL, AT(sensitivity), "0.85", 0.5, 1, NULL, NULL, "Of the recorded label."},
    {"specificity", PV_OPTION_REAL, AT(specificity), "0.95", 0.5, 1, NULL, NULL, "Of the recorded label."},
    STUDY_OPTION_REPLICATES(labels_options, "400", "Samples of each."),
    CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {{"prevail-lab labels -o out", "All cells."},
                                       {"prevail-lab labels --prevalences 0.02 --validated 50 --specificity 0.99",
                                        "A rare outcome, few validated labels."},
                                       {NULL, NULL}};

const cli_command lab_labels = {
    .name = "labels",
    .summary = "labels recorded with errors: whether intervals hold the truth",
    .usage = "[options] [-o DIR] [--json]",
    .text = "Draws samples whose labels were recorded with errors, by recorded label or at random, with a validation "
            "study of the errors by true or by recorded label, and fits them with and without "
            "--label-error.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(labels_options),
    .output =
        "For each cell: the mean slope (the truth is 0.8), the share of 95 % and 90 % intervals of slope and intercept "
        "that hold the truth, the mean width, the share of samples that were rejected, and slope and coverage of a fit "
        "that takes recorded labels as true. -o writes results.json and tables.md.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
