/* prevail-lab robust: linear models fitted to samples by label from populations that are not linear.
 *
 * Equal numbers of cases and controls are sampled from simulated populations. The default fit is evaluated against the
 * population's best linear predictor: the coverage of its intervals, and the errors of the efficient, the weighted and
 * the combined estimate.
 */
#include "lab/robust/robust.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME(name, word, text) word,
#define TEXT(name, word, text) text,
const char *const robust_truth_name[ROBUST_TRUTHS] = {ROBUST_TRUTH_LIST(NAME)};
const char *const robust_truth_text[ROBUST_TRUTHS] = {ROBUST_TRUTH_LIST(TEXT)};

static robust_outcome *outcome_at(const robust_study *s, size_t job) {
    return &s->outcome[job];
}

static pv_status run_job(pv_ctx *ctx, void *state, size_t job) {
    const robust_study *s = state;
    return robust_replicate(ctx, &s->population[job / s->replicates], s->seed, job % s->replicates, outcome_at(s, job));
}

static size_t outcome_of(void *state, size_t job, pv_field *field) {
    field[0] = (pv_field){outcome_at(state, job), sizeof(robust_outcome)};
    return 1;
}

static bool sound(const void *state, size_t job) {
    const robust_outcome *o = outcome_at(state, job);
    return study_within(&o->done, 1, 0, 1, false) && study_within(o->held, ROBUST_PLACES, 0, 1.000001, false) &&
           study_within(o->error, ROBUST_ESTIMATES, -HUGE_VAL, HUGE_VAL, false) &&
           study_within(o->square, ROBUST_ESTIMATES, 0, HUGE_VAL, false) && study_within(&o->p_value, 1, 0, 1, false) &&
           study_within(&o->few, 3, 0, 1, false);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int read_truths(cli_call *call, const char *text, bool sample, bool *wanted) {
    bool all = strcmp(text, "all") == 0;
    for (int t = 0; t < ROBUST_TRUTHS; t++) /* a population sample is not supported with strata */
        wanted[t] = all && !(sample && robust_has_strata((robust_truth)t));
    if (all)
        return CLI_OK;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        int found = -1;
        for (int t = 0; t < ROBUST_TRUTHS; t++)
            if (strlen(robust_truth_name[t]) == length && strncmp(at, robust_truth_name[t], length) == 0)
                found = t;
        if (found < 0 || wanted[found])
            return cli_error(call, PV_ERR_USAGE, NULL,
                             "--truths %s: all, or right, square-0.15, square-0.3, log-normal, interaction, stratum, "
                             "explained, each at "
                             "most once, separated by commas",
                             text);
        wanted[found] = true;
        at += length;
        if (!*at)
            return CLI_OK;
    }
}

static int read_numbers(cli_call *call, const char *option, const char *text, double least, double most, size_t *count,
                        size_t *to) {
    for (const char *at = text; *count < ROBUST_SIZES; at++) {
        double number;
        const char *end = pv_parse_real(at, &number);
        if (!end || (*end && *end != ',') || !(number >= least && number <= most) || number != floor(number))
            break;
        to[(*count)++] = (size_t)number;
        at = end;
        if (!*at)
            return CLI_OK;
    }
    return cli_error(call, PV_ERR_USAGE, NULL, "--%s %s: up to %d whole numbers from %g to %g, separated by commas",
                     option, text, (int)ROBUST_SIZES, least, most);
}

static int prepare(cli_call *call, robust_study *s) {
    const robust_options *o = s->options;
    bool wanted[ROBUST_TRUTHS] = {false};
    size_t sizes = 0, widths = 0, rows[ROBUST_SIZES], columns[ROBUST_SIZES];
    int code = read_truths(call, o->truths, o->sample > 0, wanted);
    if (code == CLI_OK)
        code = read_numbers(call, "rows", o->rows, 10, 1e6, &sizes, rows);
    if (code == CLI_OK)
        code = read_numbers(call, "columns", o->columns, 2, ROBUST_COLUMNS, &widths, columns);
    if (code != CLI_OK)
        return code;
    s->population = cli_alloc(widths * ROBUST_TRUTHS * sizes, sizeof *s->population);
    for (size_t c = 0; c < widths; c++)
        for (int t = 0; t < ROBUST_TRUTHS; t++)
            for (size_t i = 0; i < sizes && wanted[t]; i++) {
                robust_population *p = &s->population[s->cells++];
                *p = (robust_population){.truth = (robust_truth)t,
                                         .columns = (int)columns[c],
                                         .rows = rows[i],
                                         .people = (size_t)o->sample,
                                         .prevalence = o->prevalence};
                robust_population_find(p);
            }
    return CLI_OK;
}

static int work(cli_call *call) {
    const robust_options *options = call->options;
    robust_study s = {
        .options = options, .seed = (uint64_t)options->shared.seed, .replicates = (size_t)options->replicates};
    int code = prepare(call, &s);
    if (code == CLI_OK) {
        s.outcome = cli_alloc(s.cells * s.replicates, sizeof *s.outcome);
        code = study_parallel(call, "samples", s.cells * s.replicates, run_job, outcome_of, sound, &s);
    }
    if (code == CLI_OK)
        code = robust_report(call, &s);
    free(s.population);
    free(s.outcome);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(cli_call *call) {
    return study_run(call,
                     &(study_plan){.name = "robust",
                                   .title = "robust",
                                   .about = "Linear models of populations that are not linear. prevail " PV_VERSION,
                                   .work = work});
}

#define AT(field) offsetof(robust_options, field)

static const pv_option option_table[] = {
    STUDY_OPTION_PREVALENCE(robust_options, "0.02"),
    {"truths", PV_OPTION_TEXT, AT(truths), "all", 0, 0, NULL, "LIST",
     "Which of the simulated populations: right, square-0.15, square-0.3, log-normal, interaction, stratum."},
    {"rows", PV_OPTION_TEXT, AT(rows), "300,1000", 0, 0, NULL, "N,...", "Cases, and controls, of each sample."},
    {"columns", PV_OPTION_TEXT, AT(columns), "2,20", 0, 0, NULL, "N,...", "Columns; all but two are noise."},
    {"sample", PV_OPTION_INT, AT(sample), "0", 0, 1e6, NULL, "N",
     "Rows of a sample of the population, --population-sample of prevail fit; not with strata."},
    STUDY_OPTION_REPLICATES(robust_options, "200", "Samples of each population, size and number of columns."),
    CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab robust --rows 300 --columns 2 -o out", "All populations, 300 cases and 300 controls each."},
    {"prevail-lab robust --truths square-0.3 --replicates 1000", "Intervals of a wrong model."},
    {"prevail-lab robust --columns 2 --sample 10000", "With 10,000 rows of the population as control variates."},
    {NULL, NULL}};

const cli_command lab_robust = {
    .name = "robust",
    .summary = "models that are wrong: intervals and errors of the combined estimate",
    .usage = "[options] [-o DIR] [--json]",
    .text = "Draws as many cases as controls from populations in which the log odds are no linear function of the "
            "columns, and fits a linear model with default options but for the prevalence, which is "
            "known.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(robust_options),
    .output =
        "For each population the share of 90 % intervals that hold the best linear predictor (intercept, x1, mean "
        "of the other slopes), the root mean square error of x1 by the efficient, the weighted and the combined "
        "estimate, that of all slopes by the combined one over the better of the other two, the share of "
        "samples in which Hausman's test differs at 0.05, in which fit warns that few rows decide a coefficient, in "
        "which "
        "it names log(x1), and in which it warns that strata matter. -o writes results.json and "
        "tables.md.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
