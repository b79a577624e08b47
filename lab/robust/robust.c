/* prevail-lab robust: lines fitted by label to a world that is not straight.
 *
 * Case-control samples of simulated populations, or of a table that is taken for one. Each is fitted by profile, by
 * importance weights, and by what lies between them; judged are the mean risk and the information about the outcome.
 * With --intervals: how often intervals hold the population's own best line.
 */
#include "prevail/prevail.h"
#include "lab/common/study.h"
#include "lab/robust/robust.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WAY(name, word, loss, exponent, match, infer) {word, loss, exponent, match, infer},
const robust_way robust_ways[ROBUST_METHODS] = {ROBUST_METHOD_LIST(WAY)};
#define NAME(name, word, text) word,
#define TEXT(name, word, text) text,
const char *const robust_truth_name[ROBUST_TRUTHS] = {ROBUST_TRUTH_LIST(NAME)};
const char *const robust_truth_text[ROBUST_TRUTHS] = {ROBUST_TRUTH_LIST(TEXT)};

robust_outcome *robust_at(const robust_study *s, size_t cell, size_t replicate, int method) {
    return &s->outcome[(cell * s->replicates + replicate) * ROBUST_METHODS + (size_t)method];
}

pv_fit_options robust_fit_options(const robust_study *s, int method, uint64_t replicate) {
    const robust_way *way = &robust_ways[method];
    pv_fit_options options = pv_fit_options_default();
    options.prevalence_n = "known";
    options.loss = way->loss;
    options.robust = way->exponent;
    options.match = way->match;
    options.infer = way->infer;
    if (way->infer != PV_INFER_MAP)
        options.draws = 1000;
    options.seed = (int64_t)((s->seed + replicate * 1000003) % 9007199254740992);
    return options;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static pv_status run_job(pv_ctx *ctx, void *state, size_t job) {
    const robust_study *s = state;
    size_t cell = job / s->replicates, replicate = job % s->replicates;
    return (s->table ? robust_table_replicate : robust_replicate)(ctx, s, cell, replicate);
}

static size_t outcome_of(void *state, size_t job, pv_field *field) {
    const robust_study *s = state;
    field[0] =
        (pv_field){robust_at(s, job / s->replicates, job % s->replicates, 0), ROBUST_METHODS * sizeof(robust_outcome)};
    return 1;
}

static bool sound(const void *state, size_t job) {
    const robust_study *s = state;
    for (int m = 0; m < ROBUST_METHODS; m++) {
        const robust_outcome *o = robust_at(s, job / s->replicates, job % s->replicates, m);
        if (o->done < 0 || o->done > 1 || !study_within(&o->ratio, 1, 0, HUGE_VAL, false) ||
            !study_within(&o->loss, 1, -HUGE_VAL, HUGE_VAL, false) || !study_within(&o->exponent, 1, 0, 1, true) ||
            !study_within(&o->p_value, 1, 0, 1, true) || !study_within(&o->z, 1, -HUGE_VAL, HUGE_VAL, true) ||
            !study_within(o->place, ROBUST_PARAMS, 0, 1, false))
            return false;
    }
    return true;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int read_truths(cli_call *call, const char *text, robust_study *s) {
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        int found = -1;
        for (int t = 0; t < ROBUST_TRUTHS; t++)
            if (strlen(robust_truth_name[t]) == length && strncmp(at, robust_truth_name[t], length) == 0)
                found = t;
        for (int i = 0; i < s->truths; i++)
            found = s->truth[i] == found ? -1 : found;
        if (found < 0)
            return cli_error(call, PV_ERR_USAGE, NULL,
                             "--truths %s: linear, square, step, interaction, heavy, each at most once, separated by "
                             "commas",
                             text);
        s->truth[s->truths++] = found;
        at += length;
        if (!*at)
            return CLI_OK;
    }
}

static int read_rows(cli_call *call, const char *text, robust_study *s) {
    for (const char *at = text; s->sizes < ROBUST_SIZES; at++) {
        double rows;
        const char *end = pv_parse_real(at, &rows);
        if (!end || (*end && *end != ',') || !(rows >= 10 && rows <= 1e6) || rows != floor(rows))
            break;
        s->rows[s->sizes++] = (size_t)rows;
        at = end;
        if (!*at)
            return CLI_OK;
    }
    return cli_error(call, PV_ERR_USAGE, NULL,
                     "--rows %s: up to %d whole numbers from 10 to 1000000, separated by commas", text,
                     (int)ROBUST_SIZES);
}

static int prepare(cli_call *call, robust_study *s) {
    const robust_options *o = s->options;
    int code = read_rows(call, o->rows, s);
    if (code == CLI_OK && (o->target || o->weights || o->positive) && !o->data)
        code = cli_error(call, PV_ERR_USAGE, NULL, "--target, --positive and --weights are of --data: give it too");
    if (code == CLI_OK && o->data && (o->intervals || cli_given(call, "truths") || cli_given(call, "prevalence")))
        code = cli_error(call, PV_ERR_USAGE, NULL,
                         "--data is a population with a truth of its own: leave --intervals, --truths and "
                         "--prevalence out");
    if (code == CLI_OK && o->data)
        code = robust_table_read(call, s);
    if (code == CLI_OK && !o->data)
        code = read_truths(call, o->truths, s);
    s->first = o->intervals ? ROBUST_LINES : 0;
    s->last = o->intervals ? ROBUST_METHODS : ROBUST_LINES;
    s->cells = s->sizes * (size_t)(o->data ? 1 : s->truths);
    if (code == CLI_OK && !o->data)
        s->population = robust_populations_new(s);
    return code;
}

static int work(cli_call *call) {
    const robust_options *options = call->options;
    robust_study s = {
        .options = options, .seed = (uint64_t)options->shared.seed, .replicates = (size_t)options->replicates};
    int code = prepare(call, &s);
    if (code == CLI_OK && s.table)
        code = study_checkpoint_data(call, robust_table_of(s.table), NULL);
    if (code == CLI_OK) {
        s.outcome = cli_alloc(s.cells * s.replicates * ROBUST_METHODS, sizeof *s.outcome);
        code = study_parallel(call, "samples", s.cells * s.replicates, run_job, outcome_of, sound, &s);
    }
    if (code == CLI_OK)
        code = robust_report(call, &s);
    robust_table_free(call, s.table);
    robust_populations_free(s.population, s.truths);
    free(s.outcome);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(cli_call *call) {
    return study_run(
        call, &(study_plan){.name = "robust",
                            .title = "robust",
                            .about = "Lines fitted by label to a world that is not straight. prevail " PV_VERSION,
                            .work = work});
}

#define AT(field) offsetof(robust_options, field)

static const pv_option option_table[] = {
    STUDY_OPTION_PREVALENCE(robust_options, "0.01"),
    {"truths", PV_OPTION_TEXT, AT(truths), "linear,square,step,interaction,heavy", 0, 0, NULL, "LIST",
     "Which of the simulated populations."},
    {"rows", PV_OPTION_TEXT, AT(rows), "100,300,3000", 0, 0, NULL, "N,...", "Cases, and controls, of each sample."},
    STUDY_OPTION_REPLICATES(robust_options, "40", "Samples of each population and size."),
    {"intervals", PV_OPTION_FLAG, AT(intervals), NULL, 0, 0, NULL, NULL,
     "How often 90 % intervals hold the population's best line, instead."},
    {"data", PV_OPTION_TEXT, AT(data), NULL, 0, 0, NULL, "TABLE",
     "A table to be taken for the population: samples are drawn from it, and judged by the other rows."},
    {"target", PV_OPTION_TEXT, AT(target), NULL, 0, 0, NULL, "COLUMN", "With --data: the outcome, of two labels."},
    {"positive", PV_OPTION_TEXT, AT(positive), NULL, 0, 0, NULL, "LABEL", "With --data: its label of interest."},
    {"weights", PV_OPTION_TEXT, AT(weights), NULL, 0, 0, NULL, "COLUMN", "With --data: how many people a row is."},
    CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab robust --rows 300 -o out", "All populations, 300 cases and 300 controls each."},
    {"prevail-lab robust --intervals --truths square --rows 1000 --replicates 300", "Intervals of a wrong model."},
    {"prevail-lab robust --data builtin:esoph --target cancer --weights count --rows 60",
     "A table that is its own population."},
    {NULL, NULL}};

const cli_command lab_robust = {
    .name = "robust",
    .summary = "models that are wrong: what is lost, and what mends it",
    .usage = "[options] [-o DIR] [--json]",
    .text = "Draws samples of as many cases as controls from populations in which the log odds are no straight line of "
            "the columns, and fits lines to them: by profile, matched or not, by importance weights, and by the choice "
            "that --robust auto makes.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(robust_options),
    .output = "For each population, size and method the mean predicted over the true risk, and the share of the "
              "information about the outcome that is lost (with --data: kept of the entropy), with standard errors; "
              "how often the check found the model wrong. With --intervals the share of 90 % intervals that hold the "
              "coefficients of the line that is best in the population. -o writes results.json and "
              "tables.md.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
