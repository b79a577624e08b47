/* prevail-lab effect: the coverage of the intervals of prevail effect.
 *
 * Cases and controls of a population whose effects are known, and the whole way of the command: a table in, a result
 * out.
 */
#include "lab/effect/effect.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME(name, word, text) word,
#define TEXT(name, word, text) text,
const char *const effect_kind_name[EFFECT_KINDS] = {EFFECT_KIND_LIST(NAME)};
const char *const effect_kind_text[EFFECT_KINDS] = {EFFECT_KIND_LIST(TEXT)};
const char *const effect_measure[EFFECT_MEASURES] = {"difference", "ratio", "attributable"};

static pv_status run_job(pv_ctx *ctx, void *state, size_t job) {
    const effect_study *s = state;
    pv_ctx_set_log(ctx, NULL, NULL, PV_LOG_WARNING);
    return effect_replicate(ctx, s, &s->cell[job / s->replicates], job, &s->outcome[job]);
}

static size_t outcome_of(void *state, size_t job, pv_field *field) {
    field[0] = (pv_field){&((effect_study *)state)->outcome[job], sizeof(effect_outcome)};
    return 1;
}

static bool sound(const void *state, size_t job) {
    const effect_outcome *o = &((const effect_study *)state)->outcome[job];
    return study_within(&o->done, 1, 0, 1, false) && study_within(o->held, EFFECT_MEASURES, 0, 1, false) &&
           study_within(o->truly, EFFECT_MEASURES, 0, 1, false) &&
           study_within(o->linear, EFFECT_MEASURES, 0, 1, false);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int read_kinds(cli_call *call, const char *text, bool *wanted) {
    bool all = strcmp(text, "all") == 0;
    for (int i = 0; i < EFFECT_KINDS; i++)
        wanted[i] = all;
    for (const char *at = text; !all; at++) {
        size_t length = strcspn(at, ",");
        int found = -1;
        for (int i = 0; i < EFFECT_KINDS; i++)
            if (strlen(effect_kind_name[i]) == length && strncmp(at, effect_kind_name[i], length) == 0)
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

static int read_numbers(cli_call *call, const char *option, const char *text, double least, double most, double *to,
                        size_t *count) {
    for (const char *at = text; *count < EFFECT_MOST; at++) {
        const char *end = pv_parse_real(at, &to[*count]);
        if (!end || (*end && *end != ',') || !(to[*count] >= least && to[*count] <= most))
            break;
        (*count)++;
        at = end;
        if (!*at)
            return CLI_OK;
    }
    return cli_error(call, PV_ERR_USAGE, NULL, "--%s %s: up to %d numbers from %g to %g, separated by commas", option,
                     text, (int)EFFECT_MOST, least, most);
}

static int prepare(cli_call *call, effect_study *s) {
    const effect_options *o = s->options;
    bool kinds[EFFECT_KINDS];
    double prevalence[EFFECT_MOST], rows[EFFECT_MOST];
    size_t prevalences = 0, sizes = 0;
    int code = read_kinds(call, o->kinds, kinds);
    if (code == CLI_OK)
        code = read_numbers(call, "prevalences", o->prevalences, 0.001, 0.5, prevalence, &prevalences);
    if (code == CLI_OK)
        code = read_numbers(call, "rows", o->rows, 20, 1e5, rows, &sizes);
    if (code != CLI_OK)
        return code;
    s->cell = cli_alloc((size_t)EFFECT_KINDS * prevalences * sizes, sizeof *s->cell);
    for (int k = 0; k < EFFECT_KINDS; k++)
        for (size_t n = 0; n < sizes && kinds[k]; n++)
            for (size_t p = 0; p < prevalences; p++) {
                s->cell[s->cells] =
                    (effect_cell){.kind = (effect_kind)k, .prevalence = prevalence[p], .rows = (size_t)rows[n]};
                effect_population(&s->cell[s->cells++]);
            }
    return CLI_OK;
}

static int work(cli_call *call) {
    const effect_options *options = call->options;
    effect_study s = {
        .options = options, .seed = (uint64_t)options->shared.seed, .replicates = (size_t)options->replicates};
    int code = prepare(call, &s);
    if (code == CLI_OK) {
        s.outcome = cli_alloc(s.cells * s.replicates, sizeof *s.outcome);
        code = study_parallel(call, "samples", s.cells * s.replicates, run_job, outcome_of, sound, &s);
    }
    if (code == CLI_OK)
        code = effect_report(call, &s);
    for (size_t c = 0; c < s.cells; c++)
        free(s.cell[c].mass);
    free(s.cell);
    free(s.outcome);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(cli_call *call) {
    return study_run(call, &(study_plan){.name = "effect",
                                         .title = "effect",
                                         .about = "Effects in the population. prevail " PV_VERSION,
                                         .work = work});
}

#define AT(field) offsetof(effect_options, field)

static const pv_option option_table[] = {
    {"kinds", PV_OPTION_TEXT, AT(kinds), "all", 0, 0, NULL, "LIST",
     "What is drawn: right, square, product, clusters, stated; all."},
    {"prevalences", PV_OPTION_TEXT, AT(prevalences), "0.01,0.05,0.1,0.3", 0, 0, NULL, "P,...", "True prevalences."},
    {"rows", PV_OPTION_TEXT, AT(rows), "100,300,1000", 0, 0, NULL, "N,...", "Rows of each label."},
    STUDY_OPTION_REPLICATES(effect_options, "400", "Samples of each."),
    CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab effect -o out", "All kinds."},
    {"prevail-lab effect --kinds square --rows 300 --prevalences 0.01,0.1", "A model without the square."},
    {NULL, NULL}};

const cli_command lab_effect = {
    .name = "effect",
    .summary = "effects in the population: whether their intervals hold",
    .usage = "[options] [-o DIR] [--json]",
    .text = "Draws cases and controls of a population whose effects are known, and has prevail effect find "
            "them.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(effect_options),
    .output =
        "For each kind, number of rows and prevalence: the true risk difference, that of the linear model which is "
        "closest to the population, the mean estimate; the share of 95 % intervals that hold the closest model's risk "
        "difference, risk ratio and attributable fraction, of those that hold the true difference, and of those of the "
        "efficient estimate that do; widths over the true difference. -o writes results.json and "
        "tables.md.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
