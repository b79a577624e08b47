/* prevail-lab unknown: coverage of intervals for an unknown prevalence when the model is learned.
 *
 * A linear model is fitted to equal numbers of rows per label by default. The prevalence of other rows, which differs,
 * is inferred from them, once as predict does it and once treating the model's ratios as exact. In addition, the
 * intervals of rows are compared with their true risks, and the test of label shift is applied to rows that are a
 * mixture, and to rows whose last column, which does not depend on the label, has shifted.
 */
#include "lab/unknown/unknown.h"
#include "lab/common/study.h"
#include "lab/common/tables.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = 3, TARGETS = 2, PREVALENCES = 3, CELLS = TARGETS * PREVALENCES, SHIFTED = 500 };
static const size_t size_of[SIZES] = {100, 200, 1000}, target_of[TARGETS] = {300, 2000};
static const double prevalence_of[PREVALENCES] = {0.02, 0.1, 0.4};
#define SHIFT 0.5 /* standard deviations */

typedef struct unknown_options {
    study_options shared;
    int64_t replicates;
    const char *populations;
} unknown_options;

enum { BINS, AS_RIGHT, METHODS };
typedef struct found {
    double value[METHODS], lo[METHODS], hi[METHODS];
    double rows; /* fraction of rows whose interval covers the risk */
    double p;    /* of the test of label shift; 1 if there is none */
} found;
typedef struct outcome {
    found cell[CELLS];
    double p_shifted;
} outcome;

typedef struct unknown {
    const unknown_options *options;
    size_t replicates, jobs;
    unknown_population which[UNKNOWN_POPULATIONS];
    size_t count;  /* length of `which` */
    outcome *made; /* [count][SIZES][replicates] */
} unknown;

/* ---- a model ----------------------------------------------------------------------------------------------------- */

/* With intervals for rows if the method is bins. */
static pv_status predict(pv_ctx *ctx, const pv_classifier *fit, const pv_dataset *data, pv_unknown_method method,
                         pv_prediction **said) {
    pv_unknown_options how = pv_unknown_options_default();
    pv_population *population = NULL;
    how.method = (int)method;
    how.level = 0.9;
    pv_status status = pv_population_new(ctx, fit, "unknown", &how, &population);
    if (status == PV_OK)
        status = pv_predict(ctx, fit, data, population,
                            &(pv_predict_options){.level = method == PV_UNKNOWN_BINS ? 0.9 : 0}, said);
    pv_population_free(ctx, population);
    return status;
}

static void keep(const pv_prediction *said, int method, found *to) {
    size_t last = (size_t)said->classes - 1;
    to->value[method] = said->inferred->value[last];
    to->lo[method] = said->inferred->lo[last];
    to->hi[method] = said->inferred->hi[last];
}

/* Compares intervals of the last label's risk with the risk. */
static double rows_held(const pv_prediction *said, const double *share, double *log_density) {
    size_t k = (size_t)said->classes, held = 0;
    for (size_t i = 0; i < said->rows; i++) {
        double *risk = log_density + i * k;
        for (size_t y = 0; y < k; y++)
            risk[y] += log(share[y]);
        double p = exp(risk[k - 1] - pv_log_sum_exp(k, risk));
        held += said->lo[i * k + k - 1] <= p && p <= said->hi[i * k + k - 1];
    }
    return (double)held / (double)said->rows;
}

static pv_status run_target(pv_ctx *ctx, const pv_classifier *fit, unknown_rows *rows, found *to) {
    pv_table *table = NULL;
    pv_dataset *data = NULL;
    pv_prediction *said = NULL, *plain = NULL;
    rows->log_density = cli_alloc(rows->rows, (size_t)unknown_labels[rows->which] * sizeof(double));
    pv_status status = unknown_table(ctx, rows, &table);
    if (status == PV_OK)
        status = pv_schema_apply(ctx, fit->schema, table, NULL, &data);
    if (status == PV_OK)
        status = predict(ctx, fit, data, PV_UNKNOWN_BINS, &said);
    if (status == PV_OK && rows->shift == 0)
        status = predict(ctx, fit, data, PV_UNKNOWN_EXACT, &plain);
    if (status == PV_OK) {
        double p = said->inferred->check.both;
        keep(said, BINS, to);
        keep(plain ? plain : said, AS_RIGHT, to);
        to->rows = rows_held(said, rows->share, rows->log_density);
        to->p = isnan(p) ? 1 : p;
    }
    free(rows->log_density);
    pv_prediction_free(ctx, plain);
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, data);
    pv_table_free(ctx, table);
    return status;
}

static pv_status run_targets(pv_ctx *ctx, const pv_classifier *fit, unknown_rows rows, outcome *to) {
    double share[3] = {0};
    pv_status status = PV_OK;
    found shifted;
    rows.share = share;
    for (size_t c = 0; c < CELLS && status == PV_OK; c++) {
        unknown_shares(rows.which, prevalence_of[c % PREVALENCES], share);
        rows.rows = target_of[c / PREVALENCES];
        rows.index++;
        status = run_target(ctx, fit, &rows, &to->cell[c]);
    }
    unknown_shares(rows.which, prevalence_of[1], share);
    rows.rows = SHIFTED;
    rows.shift = SHIFT;
    rows.index++;
    if (status == PV_OK)
        status = run_target(ctx, fit, &rows, &shifted);
    if (status == PV_OK)
        to->p_shifted = shifted.p;
    return status;
}

static pv_status run_job(pv_ctx *ctx, void *state, size_t job) {
    const unknown *u = state;
    size_t cell = job / u->replicates, replicate = job % u->replicates;
    unknown_rows rows = {.which = u->which[cell / SIZES],
                         .rows = size_of[cell % SIZES],
                         .seed = (uint64_t)u->options->shared.seed + 1000003 * (replicate + 1),
                         .index = 1000 * (uint64_t)u->which[cell / SIZES] + 100 * (cell % SIZES)};
    pv_table *table = NULL;
    pv_schema *schema = NULL;
    pv_dataset *data = NULL;
    pv_classifier *fit = NULL;
    pv_fit_options options = pv_fit_options_default();
    pv_roles roles = {.target = "y"};
    options.prevalence = unknown_labels[rows.which] == 2 ? "1=0.02" : "0=0.8,1=0.15,2=0.05";
    pv_status status = unknown_table(ctx, &rows, &table);
    if (status == PV_OK)
        status = pv_schema_learn(ctx, table, &roles, &schema, &data);
    if (status == PV_OK)
        status = pv_fit(ctx, schema, data, &options, &fit); /* with standard errors */
    if (status == PV_OK)
        status = run_targets(ctx, fit, rows, &u->made[job]);
    pv_classifier_free(ctx, fit);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    return status;
}

static size_t outcome_of(void *state, size_t job, pv_field *field) {
    const unknown *u = state;
    field[0] = (pv_field){&u->made[job], sizeof *u->made};
    return 1;
}

static bool sound(const void *state, size_t job) {
    const unknown *u = state;
    return study_within((const double *)(const void *)&u->made[job], sizeof *u->made / sizeof(double), 0, 1, false);
}

/* ---- summary ----------------------------------------------------------------------------------------------------- */

#define SUMMARY_LIST(X)                                                                                                \
    X(coverage, "coverage")                                                                                            \
    X(as_right, "as right")                                                                                            \
    X(mean, "mean")                                                                                                    \
    X(error, "|error|")                                                                                                \
    X(as_right_error, "as right")                                                                                      \
    X(width, "width")                                                                                                  \
    X(rows, "rows")                                                                                                    \
    X(warned, "warned of")                                                                                             \
    X(shifted, "shifted")
enum {
#define ENTRY(name, title) SUM_##name,
    SUMMARY_LIST(ENTRY)
#undef ENTRY
        SUMMARIES
};

/* block: a population and a size. */
static void summarise(const unknown *u, size_t block, size_t cell, double *to) {
    double n = (double)u->replicates, truth = prevalence_of[cell % PREVALENCES];
    memset(to, 0, SUMMARIES * sizeof *to);
    for (size_t i = 0; i < u->replicates; i++) {
        const outcome *o = &u->made[block * u->replicates + i];
        const found *f = &o->cell[cell];
        to[SUM_coverage] += (f->lo[BINS] <= truth && truth <= f->hi[BINS]) / n;
        to[SUM_as_right] += (f->lo[AS_RIGHT] <= truth && truth <= f->hi[AS_RIGHT]) / n;
        to[SUM_mean] += f->value[BINS] / n;
        to[SUM_error] += fabs(f->value[BINS] - truth) / n;
        to[SUM_as_right_error] += fabs(f->value[AS_RIGHT] - truth) / n;
        to[SUM_width] += (f->hi[BINS] - f->lo[BINS]) / n;
        to[SUM_rows] += f->rows / n;
        to[SUM_warned] += (f->p < 0.05) / n;
        to[SUM_shifted] += (o->p_shifted < 0.05) / n;
    }
}

static void print_table(FILE *out, const unknown *u, bool markdown) {
#define ENTRY(name, title) title,
    static const char *const titles[] = {SUMMARY_LIST(ENTRY)};
#undef ENTRY
    study_layout layout = {.markdown = markdown, .first = 18, .second = 16, .cell = 10};
    study_table_head(out, &layout, "training rows", "rows, prevalence", SUMMARIES, titles);
    for (size_t c = 0; c < u->count * SIZES * CELLS; c++) {
        size_t block = c / CELLS, at = c % CELLS;
        double s[SUMMARIES];
        char cell[SUMMARIES][STUDY_CELL], first[64], second[32];
        summarise(u, block, at, s);
        for (int i = 0; i < SUMMARIES; i++)
            snprintf(cell[i], STUDY_CELL, "%.3f", s[i]);
        snprintf(first, sizeof first, "%s %zu", unknown_population_name[u->which[block / SIZES]],
                 size_of[block % SIZES]);
        snprintf(second, sizeof second, "%zu, %g", target_of[at / PREVALENCES], prevalence_of[at % PREVALENCES]);
        study_table_row(out, &layout, first, second, SUMMARIES, cell);
    }
}

static void print_all(FILE *out, const unknown *u, bool markdown) {
    fprintf(out,
            "%zu models of so many training rows of each label, and as many sets of rows for each line; nominal 90 %% "
            "intervals.\n\"as right\": the model's ratios taken as right. \"rows\": the share of the rows' intervals "
            "that hold their risk.\n\"warned of\": the share of the sets that are said to be no mixture of the labels "
            "(nominal 0.05); \"shifted\": that of\nsets of %d rows, prevalence %g, whose last column has shifted by %g "
            "standard deviations.\n",
            u->replicates, (int)SHIFTED, prevalence_of[1], SHIFT);
    for (size_t i = 0; i < u->count; i++)
        fprintf(out, "%s%s: %s\n", markdown ? "\n" : "  ", unknown_population_name[u->which[i]],
                unknown_population_text[u->which[i]]);
    fputc('\n', out);
    print_table(out, u, markdown);
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Unknown prevalence: tables\n\n", out);
    print_all(out, what, true);
}

static pv_result *json_result(const cli_call *call, const unknown *u) {
    pv_result *object = pv__value_object(), *cells = pv__value_list();
    for (size_t c = 0; c < u->count * SIZES * CELLS; c++) {
        pv_result *entry = pv__value_object();
        double s[SUMMARIES];
        size_t block = c / CELLS, at = c % CELLS;
        summarise(u, block, at, s);
        pv__value_set(entry, "population", pv__value_text(unknown_population_name[u->which[block / SIZES]]));
        pv__value_set(entry, "training_rows", pv__value_integer((int64_t)size_of[block % SIZES]));
        pv__value_set(entry, "target_rows", pv__value_integer((int64_t)target_of[at / PREVALENCES]));
        pv__value_set(entry, "prevalence", pv__value_real(prevalence_of[at % PREVALENCES]));
#define ENTRY(name, title) pv__value_set(entry, #name, pv__value_real(s[SUM_##name]));
        SUMMARY_LIST(ENTRY)
#undef ENTRY
        pv__value_append(cells, entry);
    }
    pv__value_set(object, "study", pv__value_text("unknown"));
    pv__value_set(object, "replicates", pv__value_integer((int64_t)u->replicates));
    pv__value_set(object, "cells", cells);
    pv__value_set(object, "seed", pv__value_integer(u->options->shared.seed));
    pv__value_set(object, "command", pv__value_text(call->line));
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    return object;
}

static int report(cli_call *call, const unknown *u) {
    const char *folder = u->options->shared.output;
    pv_result *object = json_result(call, u);
    int code = CLI_OK;
    if (folder) {
        code = study_write_json(call, folder, "results.json", object);
        if (code == CLI_OK)
            code = study_write(call, folder, "tables.md", write_markdown, u);
    }
    if (code == CLI_OK && u->options->shared.running.json)
        cli_json_print(call, pv__value_share(object));
    else if (code == CLI_OK)
        print_all(stdout, u, false);
    pv_result_free(object);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int read_populations(cli_call *call, unknown *u) {
    const char *text = u->options->populations;
    bool all = strcmp(text, "all") == 0, wanted[UNKNOWN_POPULATIONS];
    for (int i = 0; i < UNKNOWN_POPULATIONS; i++)
        wanted[i] = all;
    for (const char *at = text; !all; at++) {
        size_t length = strcspn(at, ",");
        int which = 0;
        while (which < UNKNOWN_POPULATIONS && !(strlen(unknown_population_name[which]) == length &&
                                                strncmp(unknown_population_name[which], at, length) == 0))
            which++;
        if (which == UNKNOWN_POPULATIONS || wanted[which])
            return cli_error(call, PV_ERR_USAGE, NULL,
                             "--populations %s: all, or gaussian, half, variances, ties, wide, three, each at most "
                             "once, separated by commas",
                             text);
        wanted[which] = true;
        at += length;
        if (!*at)
            break;
    }
    for (int i = 0; i < UNKNOWN_POPULATIONS; i++)
        if (wanted[i])
            u->which[u->count++] = (unknown_population)i;
    return CLI_OK;
}

static int work(cli_call *call) {
    const unknown_options *options = call->options;
    unknown u = {.options = options, .replicates = (size_t)options->replicates};
    int code = read_populations(call, &u);
    if (code != CLI_OK)
        return code;
    u.jobs = u.count * SIZES * u.replicates;
    u.made = cli_alloc(u.jobs, sizeof *u.made);
    code = study_parallel(call, "models", u.jobs, run_job, outcome_of, sound, &u);
    if (code == CLI_OK)
        code = report(call, &u);
    free(u.made);
    return code;
}

static int run(cli_call *call) {
    return study_run(call, &(study_plan){.name = "unknown",
                                         .title = "unknown",
                                         .about = "Whether intervals of an unknown prevalence hold the truth when the "
                                                  "model is learned. prevail " PV_VERSION,
                                         .work = work});
}

static const pv_option option_table[] = {
    STUDY_OPTION_REPLICATES(unknown_options, "300", "Models of each population and number of training rows."),
    {"populations", PV_OPTION_TEXT, offsetof(unknown_options, populations), "all", 0, 0, NULL, "LIST",
     "Which of the simulated populations: gaussian, half, variances, ties, wide, three."},
    CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab unknown --populations half,variances -o out", "Populations that no linear model has right."},
    {NULL, NULL}};

const cli_command lab_unknown = {
    .name = "unknown",
    .summary = "whether intervals of an unknown prevalence hold the truth when the model is learned",
    .usage = "[options] [-o DIR] [--json]",
    .text = "Models of 100 to 1000 rows of each label, and 300 or 2000 rows of unknown prevalence from 0.02 to 0.4: "
            "how often the interval holds it, how far off the estimate is, how often rows' intervals hold their risks, "
            "and how often the rows are said to be no mixture of the labels.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(unknown_options),
    .output = "Coverage and errors by population, training rows, rows and prevalence. -o writes results.json and "
              "tables.md.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
