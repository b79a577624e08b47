/* prevail-lab rate: how often the intervals of prevail rate hold the truth, and how wide they are.
 *
 * A sample of known rate with verdicts, gold rows drawn by label, by verdict or at random, and the whole way of the
 * command: tables in, a result out.
 */
#include "lab/rate/rate.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAME(name, word, text) word,
#define TEXT(name, word, text) text,
const char *const rate_kind_name[RATE_KINDS] = {RATE_KIND_LIST(NAME)};
const char *const rate_kind_text[RATE_KINDS] = {RATE_KIND_LIST(TEXT)};
const char *const rate_by_name[RATE_WAYS] = {"label", "verdict", "random"};

static pv_status run_job(pv_ctx *ctx, void *state, size_t job) {
    const rate_study *s = state;
    pv_ctx_set_log(ctx, NULL, NULL, PV_LOG_WARNING);
    return rate_replicate(ctx, s, &s->cell[job / s->replicates], job, &s->outcome[job]);
}

static size_t outcome_of(void *state, size_t job, pv_field *field) {
    field[0] = (pv_field){&((rate_study *)state)->outcome[job], sizeof(rate_outcome)};
    return 1;
}

static bool sound(const void *state, size_t job) {
    const rate_outcome *o = &((const rate_study *)state)->outcome[job];
    return study_within(&o->done, 1, 0, 1, false) && study_within(&o->value, 4, 0, 1, true) &&
           study_within(&o->peer_held, 2, 0, 1, true) && study_within(&o->planned, 2, 0, 1e9, true);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* A list of words of which each is one of names [n]; all: "all". */
static int read_words(cli_call *call, const char *option, const char *text, const char *const *names, int n,
                      bool *wanted) {
    bool all = strcmp(text, "all") == 0;
    for (int i = 0; i < n; i++)
        wanted[i] = all;
    for (const char *at = text; !all; at++) {
        size_t length = strcspn(at, ",");
        int found = -1;
        for (int i = 0; i < n; i++)
            if (strlen(names[i]) == length && strncmp(at, names[i], length) == 0)
                found = i;
        if (found < 0 || wanted[found])
            return cli_error(call, PV_ERR_USAGE, NULL,
                             "--%s %s: all, or some of the names that --help lists, each at "
                             "most once, separated by commas",
                             option, text);
        wanted[found] = true;
        at += length;
        if (!*at)
            break;
    }
    return CLI_OK;
}

/* "0.01,0.1", or pairs "20:200". */
static int read_pairs(cli_call *call, const char *option, const char *text, double least, double most, bool pairs,
                      double (*to)[2], size_t *count) {
    for (const char *at = text; *count < RATE_MOST; at++) {
        double *pair = to[*count];
        const char *end = pv_parse_real(at, &pair[0]);
        pair[1] = pair[0];
        if (end && pairs && *end == ':')
            end = pv_parse_real(end + 1, &pair[1]);
        if (!end || (*end && *end != ',') || !(fmin(pair[0], pair[1]) >= least && fmax(pair[0], pair[1]) <= most))
            break;
        (*count)++;
        at = end;
        if (!*at)
            return CLI_OK;
    }
    return cli_error(call, PV_ERR_USAGE, NULL, "--%s %s: up to %d numbers%s from %g to %g, separated by commas", option,
                     text, (int)RATE_MOST, pairs ? " or pairs N:N" : "", least, most);
}

/* Kinds other than a test are for some ways of drawing only. */
static bool goes_with(rate_kind kind, rate_by by) {
    return kind == RATE_CLUSTERS ? by == RATE_AT_RANDOM
           : kind == RATE_LABELS ? by == RATE_BY_LABEL
                                 : kind != RATE_SCORES || by != RATE_BY_VERDICT;
}

static int prepare(cli_call *call, rate_study *s) {
    const rate_options *o = s->options;
    bool kinds[RATE_KINDS], ways[RATE_WAYS];
    double rates[RATE_MOST][2], gold[RATE_MOST][2];
    size_t n_rates = 0, n_gold = 0;
    int code = read_words(call, "kinds", o->kinds, rate_kind_name, RATE_KINDS, kinds);
    if (code == CLI_OK)
        code = read_words(call, "by", o->by, rate_by_name, RATE_WAYS, ways);
    if (code == CLI_OK)
        code = read_pairs(call, "rates", o->rates, 0.001, 0.6, false, rates, &n_rates);
    if (code == CLI_OK)
        code = read_pairs(call, "gold", o->gold, 4, 1e5, true, gold, &n_gold);
    if (code != CLI_OK)
        return code;
    s->cell = cli_alloc((size_t)RATE_KINDS * RATE_WAYS * n_rates * n_gold, sizeof *s->cell);
    for (int k = 0; k < RATE_KINDS; k++)
        for (int b = 0; b < RATE_WAYS; b++)
            for (size_t g = 0; g < n_gold && kinds[k] && ways[b] && goes_with((rate_kind)k, (rate_by)b); g++)
                for (size_t r = 0; r < n_rates; r++)
                    s->cell[s->cells++] = (rate_cell){(rate_kind)k, (rate_by)b, rates[r][0], {gold[g][0], gold[g][1]}};
    if (s->cells == 0)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--kinds %s --by %s: no such cell: clusters are drawn at random, labels "
                         "by label, and scores not by verdict",
                         o->kinds, o->by);
    return CLI_OK;
}

static int work(cli_call *call) {
    const rate_options *options = call->options;
    rate_study s = {
        .options = options, .seed = (uint64_t)options->shared.seed, .replicates = (size_t)options->replicates};
    int code = prepare(call, &s);
    if (code == CLI_OK) {
        s.outcome = cli_alloc(s.cells * s.replicates, sizeof *s.outcome);
        code = study_parallel(call, "samples", s.cells * s.replicates, run_job, outcome_of, sound, &s);
    }
    if (code == CLI_OK)
        code = rate_report(call, &s);
    free(s.cell);
    free(s.outcome);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(cli_call *call) {
    return study_run(call, &(study_plan){.name = "rate",
                                         .title = "rate",
                                         .about = "Rates by imperfect verdicts. prevail " PV_VERSION,
                                         .work = work});
}

#define AT(field) offsetof(rate_options, field)

static const pv_option option_table[] = {
    {"kinds", PV_OPTION_TEXT, AT(kinds), "test", 0, 0, NULL, "LIST",
     "What is drawn: test, sharp, scores, labels, strata, clusters; all."},
    {"by", PV_OPTION_TEXT, AT(by), "all", 0, 0, NULL, "LIST", "How gold rows are drawn: label, verdict, random; all."},
    {"rates", PV_OPTION_TEXT, AT(rates), "0.01,0.05,0.1,0.3,0.5", 0, 0, NULL, "P,...", "True rates."},
    {"gold", PV_OPTION_TEXT, AT(gold), "20,50,200,20:200,200:20", 0, 0, NULL, "N|N:N,...",
     "Gold rows of each label or verdict, or of the first and the second; at random as many in all."},
    {"rows", PV_OPTION_INT, AT(rows), "2000", 100, 1e6, NULL, "N", "Rows of the sample."},
    {"width", PV_OPTION_REAL, AT(width), "0", 0, 1, NULL, "W",
     "Draw again with the gold rows that this width takes, and measure it. 0: do not."},
    STUDY_OPTION_REPLICATES(rate_options, "1000", "Samples of each."),
    CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab rate --by label -o out", "A test and gold rows of each label."},
    {"prevail-lab rate --kinds clusters,strata --rates 0.05,0.3 --gold 50", "Persons with several rows, and strata."},
    {NULL, NULL}};

const cli_command lab_rate = {
    .name = "rate",
    .summary = "rates by imperfect verdicts: whether their intervals hold the truth",
    .usage = "[options] [-o DIR] [--json]",
    .text = "Draws samples of known rate with imperfect verdicts, and gold rows with true labels, and has prevail rate "
            "find the rate.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(rate_options),
    .output =
        "For each kind, way of drawing, number of gold rows and rate: the mean estimate, the share of 95 % intervals "
        "that hold the truth and of those that lie below it, their mean width, and the same of another method (by "
        "label Lang and Reiczigel's, by verdict Wald's, at random prediction-powered inference). -o writes "
        "results.json and tables.md.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
