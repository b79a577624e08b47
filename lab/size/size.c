/* prevail-lab size: whether a design does what prevail size plans.
 *
 * Cases and controls are planned for a calibration slope; samples of that design are drawn, fitted and evaluated, and
 * what they show is set against what was planned.
 */
#include "lab/size/size.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <stdlib.h>

static pv_status run_job(pv_ctx *ctx, void *state, size_t job) {
    const size_study *s = state;
    pv_ctx_set_log(ctx, NULL, NULL, PV_LOG_WARNING);
    return size_replicate(ctx, s, &s->cell[job / s->replicates], job, &s->outcome[job]);
}

static size_t outcome_of(void *state, size_t job, pv_field *field) {
    field[0] = (pv_field){&((size_study *)state)->outcome[job], sizeof(size_outcome)};
    return 1;
}

static bool sound(const void *state, size_t job) {
    const size_outcome *o = &((const size_study *)state)->outcome[job];
    return study_within(o->value, SIZE_QUANTITIES, -STUDY_LARGEST, STUDY_LARGEST, true);
}

/* "0.7,0.8" */
static int read_numbers(cli_call *call, const char *option, const char *text, double least, double most, double *to,
                        size_t *count) {
    for (const char *at = text; *count < SIZE_MOST; at++) {
        const char *end = pv_parse_real(at, &to[*count]);
        if (!end || (*end && *end != ',') || !(to[*count] >= least && to[*count] <= most))
            break;
        (*count)++;
        at = end;
        if (!*at)
            return CLI_OK;
    }
    return cli_error(call, PV_ERR_USAGE, NULL, "--%s %s: up to %d numbers from %g to %g, separated by commas", option,
                     text, (int)SIZE_MOST, least, most);
}

/* In a context of its own: its warnings are not for those who run a study. */
static int plan(cli_call *call, const size_study *s, size_cell *cell) {
    pv_ctx *ctx;
    int code = CLI_OK;
    pv_status status = pv_ctx_new(NULL, &ctx);
    if (status != PV_OK)
        return cli_error(call, status, NULL, "out of memory");
    status = size_plan(ctx, s, cell);
    if (status != PV_OK)
        code =
            cli_error(call, status, NULL, "AUC %g, ratio %g: %s", cell->auc, cell->ratio, pv_ctx_error(ctx)->message);
    pv_ctx_free(ctx);
    return code;
}

static int prepare(cli_call *call, size_study *s) {
    double auc[SIZE_MOST], ratio[SIZE_MOST];
    size_t aucs = 0, ratios = 0;
    int code = read_numbers(call, "aucs", s->options->aucs, 0.55, 0.99, auc, &aucs);
    if (code == CLI_OK)
        code = read_numbers(call, "ratios", s->options->ratios, 0.1, 100, ratio, &ratios);
    if (code != CLI_OK)
        return code;
    s->cell = cli_alloc(aucs * ratios, sizeof *s->cell);
    for (size_t a = 0; a < aucs; a++)
        for (size_t r = 0; r < ratios; r++) {
            size_cell *cell = &s->cell[s->cells++];
            *cell = (size_cell){.auc = auc[a], .ratio = ratio[r]};
            code = plan(call, s, cell);
            if (code != CLI_OK)
                return code;
        }
    return CLI_OK;
}

static int work(cli_call *call) {
    const size_options *options = call->options;
    size_study s = {
        .options = options, .seed = (uint64_t)options->shared.seed, .replicates = (size_t)options->replicates};
    int code = prepare(call, &s);
    if (code == CLI_OK) {
        s.outcome = cli_alloc(s.cells * s.replicates, sizeof *s.outcome);
        code = study_parallel(call, "samples", s.cells * s.replicates, run_job, outcome_of, sound, &s);
    }
    if (code == CLI_OK)
        code = size_report(call, &s);
    free(s.cell);
    free(s.outcome);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(cli_call *call) {
    return study_run(
        call,
        &(study_plan){.name = "size", .title = "size", .about = "Sample sizes. prevail " PV_VERSION, .work = work});
}

#define AT(field) offsetof(size_options, field)

static const pv_option option_table[] = {
    {"aucs", PV_OPTION_TEXT, AT(aucs), "0.7,0.8,0.9", 0, 0, NULL, "A,...", "AUCs of the model."},
    {"ratios", PV_OPTION_TEXT, AT(ratios), "1,4", 0, 0, NULL, "R,...", "Controls per case."},
    {"parameters", PV_OPTION_INT, AT(parameters), "10", 1, 100, NULL, "K",
     "Predictors. One tells cases from controls, the others are noise."},
    {"by", PV_OPTION_CHOICE, AT(by), "slope", 0, 0, "slope|shrinkage", NULL,
     "What designs are planned for: a calibration slope, or the heuristic shrinkage of Riley et al."},
    {"slope", PV_OPTION_REAL, AT(slope), "0.9", 0.6, 0.99, NULL, "S", "The slope, or shrinkage."},
    STUDY_OPTION_PREVALENCE(size_options, "0.05"),
    {"prevalence-n", PV_OPTION_REAL, AT(prevalence_n), "5000", 100, 1e12, NULL, "N", "People that it rests on."},
    {"threshold", PV_OPTION_REAL, AT(threshold), "0.1", 1e-4, 0.99, NULL, "P", "Risk, and threshold of decisions."},
    {"odds-ratio", PV_OPTION_REAL, AT(odds_ratio), "2", 0.01, 100, NULL, "OR", "Of the exposure."},
    {"exposure", PV_OPTION_REAL, AT(exposure), "0.3", 0.001, 0.99, NULL, "P", "Share of exposed controls."},
    STUDY_OPTION_REPLICATES(size_options, "500", "Samples of each design."),
    CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab size --ratios 1 -o out", "As many controls as cases."},
    {"prevail-lab size --aucs 0.8 --slope 0.95 --parameters 20", "More rows and more parameters."},
    {NULL, NULL}};

const cli_command lab_size = {
    .name = "size",
    .summary = "sample sizes: whether designs do what prevail size plans",
    .usage = "[options] [-o DIR] [--json]",
    .text = "Has prevail size plan cases and controls for a calibration slope, draws samples of that design, fits and "
            "evaluates them.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(size_options),
    .output =
        "For each AUC and ratio of controls to cases: calibration slope, optimism, standard errors, coverage of the "
        "planned interval of a risk, and power, as planned and as simulated. -o writes results.json and "
        "tables.md.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
