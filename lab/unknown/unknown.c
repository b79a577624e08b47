/* prevail-lab unknown: how often the interval of an unknown prevalence holds the truth when the model is learned.
 *
 * A model of nodules is fitted to as many cases as controls; the rows of a clinic, whose prevalence is another, tell
 * that prevalence. Once as predict does it, the ratios calibrated by the training rows' own, each by a model without
 * it; once with the ratios taken as right. The test of label shift is put to rows that are a mixture, and to rows that
 * are none: smokers only.
 */
#include "prevail/prevail.h"
#include "lab/common/canvas.h"
#include "lab/common/study.h"
#include "lab/common/tables.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, PREVALENCES = 4, CELLS = ROWS * PREVALENCES, SMOKERS = 100 };
static const size_t rows_of[ROWS] = {100, 200, 1000};
static const double prevalence_of[PREVALENCES] = {0.02, 0.1, 0.3, 0.6};

enum { CALIBRATED, AS_RIGHT, METHODS };
static const char *const method_name[METHODS] = {"calibrated", "as_right"};
static const char *const method_text[METHODS] = {"calibrated", "taken as right"};

typedef struct unknown_options {
    study_options shared;
    int64_t replicates, rows;
} unknown_options;

typedef struct outcome {
    double value[METHODS], lo[METHODS], hi[METHODS];
    double p, p_smokers; /* of the test of label shift; of smokers in the first SMOKERS clinics, 1 in the others */
} outcome;

typedef struct unknown {
    const unknown_options *options;
    size_t replicates;
    outcome *made; /* [replicates][CELLS] */
} unknown;

/* ---- a data set -------------------------------------------------------------------------------------------------- */

static pv_simulation people(size_t cases, size_t controls, uint64_t seed) {
    return (pv_simulation){
        .cases = (int64_t)cases, .controls = (int64_t)controls, .prevalence = 0.02, .seed = seed, .within_label = -1};
}

static void keep(const pv_unknown_prevalence *said, int method, outcome *to) {
    to->value[method] = said->value[1];
    to->lo[method] = said->lo[1];
    to->hi[method] = said->hi[1];
}

/* The clinic's rows by the model as it is, with and without what it keeps of its training rows. */
static pv_status infer(pv_ctx *ctx, const pv_classifier *fit, const pv_table *table, outcome *to) {
    pv_dataset *rows = NULL;
    pv_prediction *said = NULL;
    pv_unknown_prevalence *plain = NULL;
    pv_unknown_options options = pv_unknown_options_default();
    double *loglik = cli_alloc(table->rows, 2 * sizeof *loglik);
    pv_status status = pv_schema_apply(ctx, fit->schema, table, NULL, &rows);
    if (status == PV_OK)
        status = pv_predict_in(ctx, fit, rows, "unknown", NULL, &said);
    if (status == PV_OK)
        status = pv_predict_loglik(ctx, fit, rows, loglik);
    pv_unknown_sample sample = {.n = table->rows, .classes = 2, .loglik = loglik, .log_marginal = fit->log_marginal};
    if (status == PV_OK)
        status = pv_unknown_infer(ctx, &sample, fit->schema->labels, &options, &plain);
    if (status == PV_OK) {
        keep(said->inferred, CALIBRATED, to);
        keep(plain, AS_RIGHT, to);
        to->p = said->inferred->check.both;
    }
    pv_unknown_prevalence_free(ctx, plain);
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, rows);
    free(loglik);
    return status;
}

static pv_status test_smokers(pv_ctx *ctx, const pv_classifier *fit, pv_simulation who, outcome *to) {
    pv_table *table = NULL;
    outcome other = {0};
    who.within = "smoker";
    who.low = 0.5;
    who.high = HUGE_VAL;
    pv_status status = pv_simulate(ctx, "nodules", &who, &table, NULL);
    if (status == PV_OK)
        status = infer(ctx, fit, table, &other);
    to->p_smokers = other.p;
    pv_table_free(ctx, table);
    return status;
}

static pv_status run_cell(pv_ctx *ctx, const unknown *u, const pv_classifier *fit, double prevalence, uint64_t seed,
                          bool smokers, outcome *to) {
    size_t n = (size_t)u->options->rows, cases = 0;
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_STUDY_CLINIC, 0);
    for (size_t i = 0; i < n; i++)
        cases += pv_rng_uniform(&rng) < prevalence;
    pv_simulation clinic = people(cases, n - cases, seed);
    pv_table *table = NULL;
    pv_status status = pv_simulate(ctx, "nodules", &clinic, &table, NULL);
    if (status == PV_OK)
        status = infer(ctx, fit, table, to);
    to->p_smokers = 1;
    if (status == PV_OK && smokers)
        status = test_smokers(ctx, fit, clinic, to);
    pv_table_free(ctx, table);
    return status;
}

static pv_status run_replicate(pv_ctx *ctx, void *state, size_t replicate) {
    const unknown *u = state;
    uint64_t seed = (uint64_t)u->options->shared.seed + 1000003 * (replicate + 1);
    pv_status status = PV_OK;
    for (size_t r = 0; r < ROWS && status == PV_OK; r++) {
        pv_table *table = NULL;
        pv_schema *schema = NULL;
        pv_dataset *data = NULL;
        pv_classifier *fit = NULL;
        pv_fit_options options = pv_fit_options_default();
        pv_roles roles = {.target = "malignant"};
        options.prevalence = "1=0.02";
        pv_simulation study = people(rows_of[r], rows_of[r], seed + r);
        status = pv_simulate(ctx, "nodules", &study, &table, NULL);
        if (status == PV_OK)
            status = pv_schema_learn(ctx, table, &roles, &schema, &data);
        if (status == PV_OK)
            status = study_fit(ctx, r, schema, data, &options, &fit);
        for (size_t p = 0; p < PREVALENCES && status == PV_OK; p++)
            status = run_cell(ctx, u, fit, prevalence_of[p], seed + 100 + r * PREVALENCES + p, replicate < SMOKERS,
                              u->made + replicate * CELLS + r * PREVALENCES + p);
        pv_classifier_free(ctx, fit);
        pv_dataset_free(ctx, data);
        pv_schema_free(ctx, schema);
        pv_table_free(ctx, table);
    }
    return status;
}

static size_t outcome_of(void *state, size_t replicate, pv_field *field) {
    const unknown *u = state;
    field[0] = (pv_field){u->made + replicate * CELLS, CELLS * sizeof *u->made};
    return 1;
}

static bool sound(const void *state, size_t replicate) {
    const unknown *u = state;
    return study_within(u->made[replicate * CELLS].value, CELLS * sizeof *u->made / sizeof(double), 0, 1, true);
}

/* ---- what they say together -------------------------------------------------------------------------------------- */

#define SUMMARY_LIST(X)                                                                                                \
    X(coverage, "coverage")                                                                                            \
    X(error, "mean error")                                                                                             \
    X(absolute_error, "|error|")                                                                                       \
    X(width, "width")
enum {
#define ENTRY(name, title) SUM_##name,
    SUMMARY_LIST(ENTRY)
#undef ENTRY
        SUMMARIES
};

static void summarise(const unknown *u, size_t cell, int method, double *to) {
    double n = (double)u->replicates, truth = prevalence_of[cell % PREVALENCES];
    memset(to, 0, SUMMARIES * sizeof *to);
    for (size_t i = 0; i < u->replicates; i++) {
        const outcome *o = &u->made[i * CELLS + cell];
        to[SUM_coverage] += (o->lo[method] <= truth && truth <= o->hi[method]) / n;
        to[SUM_error] += (o->value[method] - truth) / n;
        to[SUM_absolute_error] += fabs(o->value[method] - truth) / n;
        to[SUM_width] += (o->hi[method] - o->lo[method]) / n;
    }
}

/* How often the test warns: of rows that are a mixture, and of those that are none. */
static void rejections(const unknown *u, size_t cell, double *size, double *power) {
    *size = *power = 0;
    for (size_t i = 0; i < u->replicates; i++) {
        *size += (u->made[i * CELLS + cell].p < 0.05) / (double)u->replicates;
        *power += (u->made[i * CELLS + cell].p_smokers < 0.05) / fmin((double)u->replicates, SMOKERS);
    }
}

static void print_table(FILE *out, const unknown *u, bool markdown) {
    static const char *const titles[] = {"coverage",   "as right", "|error|",   "as right",
                                         "mean error", "as right", "warned of", "smokers"};
    study_layout layout = {.markdown = markdown, .first = 16, .second = 10, .cell = 10};
    study_table_head(out, &layout, "training rows", "prevalence", 8, titles);
    for (size_t c = 0; c < CELLS; c++) {
        double s[METHODS][SUMMARIES], size, power;
        char cell[8][STUDY_CELL], first[32], second[32];
        for (int m = 0; m < METHODS; m++)
            summarise(u, c, m, s[m]);
        rejections(u, c, &size, &power);
        const double values[8] = {s[0][SUM_coverage],
                                  s[1][SUM_coverage],
                                  s[0][SUM_absolute_error],
                                  s[1][SUM_absolute_error],
                                  s[0][SUM_error],
                                  s[1][SUM_error],
                                  size,
                                  power};
        for (int i = 0; i < 8; i++)
            snprintf(cell[i], STUDY_CELL, "%.3f", values[i]);
        snprintf(first, sizeof first, "%zu + %zu", rows_of[c / PREVALENCES], rows_of[c / PREVALENCES]);
        snprintf(second, sizeof second, "%g", prevalence_of[c % PREVALENCES]);
        study_table_row(out, &layout, first, second, 8, cell);
    }
}

static void print_all(FILE *out, const unknown *u, bool markdown) {
    fprintf(out,
            "%zu clinics of %lld people for each line, and as many models; nominal 90 %% intervals.\n\"as right\": the "
            "model's ratios taken as right. \"warned of\": the share in which rows that are\na mixture of cases and "
            "controls are said to be none (nominal 0.05); \"smokers\": the same where\nnobody else came, to %d clinics "
            "at most.\n\n",
            u->replicates, (long long)u->options->rows, SMOKERS);
    print_table(out, u, markdown);
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Unknown prevalence: tables\n\n", out);
    print_all(out, what, true);
}

static json_t *json_result(const cli_call *call, const unknown *u) {
    json_t *object = cli_json_object(), *cells = cli_json_array();
    for (size_t c = 0; c < CELLS; c++) {
        json_t *entry = cli_json_object();
        double size, power;
        cli_json_set(entry, "training_rows", json_integer((json_int_t)rows_of[c / PREVALENCES]));
        cli_json_set(entry, "prevalence", cli_json_real(prevalence_of[c % PREVALENCES]));
        for (int m = 0; m < METHODS; m++) {
            json_t *by = cli_json_object();
            double s[SUMMARIES];
            summarise(u, c, m, s);
#define ENTRY(name, title) cli_json_set(by, #name, cli_json_real(s[SUM_##name]));
            SUMMARY_LIST(ENTRY)
#undef ENTRY
            cli_json_set(entry, method_name[m], by);
        }
        rejections(u, c, &size, &power);
        cli_json_set(entry, "warned", cli_json_real(size));
        cli_json_set(entry, "warned_smokers", cli_json_real(power));
        cli_json_append(cells, entry);
    }
    cli_json_set(object, "study", cli_json_text("unknown"));
    cli_json_set(object, "replicates", json_integer((json_int_t)u->replicates));
    cli_json_set(object, "rows", json_integer(u->options->rows));
    cli_json_set(object, "cells", cells);
    cli_json_set(object, "seed", json_integer(u->options->shared.seed));
    cli_json_set(object, "command", cli_json_text(call->line));
    cli_json_set(object, "version", cli_json_text(PV_VERSION));
    return object;
}

static int draw(cli_call *call, const unknown *u) {
    static const pv_ink inks[METHODS] = {PV_INK_IG, PV_INK_MUTED};
    study_canvas canvas = {0};
    for (size_t r = 0; r < ROWS; r++) {
        study_segment(&canvas, PV_INK_TEXT, "nominal", true, 0, 0.9, 0.65, 0.9);
        for (int m = 0; m < METHODS; m++) {
            double y[PREVALENCES], s[SUMMARIES];
            for (size_t p = 0; p < PREVALENCES; p++) {
                summarise(u, r * PREVALENCES + p, m, s);
                y[p] = s[SUM_coverage];
            }
            study_line(&canvas, inks[m], method_text[m], false, PREVALENCES, prevalence_of, y);
            study_points(&canvas, inks[m], NULL, PREVALENCES, prevalence_of, y, 3);
        }
        pv_panel panel = {.title = study_text(&canvas, "%zu cases, %zu controls", rows_of[r], rows_of[r]),
                          .x = {.label = "prevalence of the clinic", .lo = 0, .hi = 0.65},
                          .y = {.label = "share of 90 % intervals that hold it", .lo = 0, .hi = 1},
                          .width = 300,
                          .height = 310};
        study_panel(&canvas, &panel);
    }
    return study_figure(call, &canvas, "coverage", "Intervals of an unknown prevalence with a learned model.",
                        "Ratios calibrated by the training rows' own, each by a model without it, and ratios taken as "
                        "right.",
                        ROWS);
}

static int report(cli_call *call, const unknown *u) {
    const char *folder = u->options->shared.output;
    json_t *object = json_result(call, u);
    int code = CLI_OK;
    if (folder) {
        code = study_write_json(call, folder, "results.json", object);
        if (code == CLI_OK)
            code = study_write(call, folder, "tables.md", write_markdown, u);
        if (code == CLI_OK)
            code = draw(call, u);
    }
    if (code == CLI_OK && u->options->shared.running.json)
        cli_json_print(call, json_incref(object));
    else if (code == CLI_OK)
        print_all(stdout, u, false);
    json_decref(object);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int work(cli_call *call) {
    const unknown_options *options = call->options;
    unknown u = {.options = options, .replicates = (size_t)options->replicates};
    u.made = cli_alloc(u.replicates * CELLS, sizeof *u.made);
    int code = study_parallel(call, "data sets", u.replicates, run_replicate, outcome_of, sound, &u);
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
    STUDY_OPTION_REPLICATES(unknown_options, "500", "Models, and clinics of each prevalence."),
    {"rows", PV_OPTION_INT, offsetof(unknown_options, rows), "500", 20, 1e6, NULL, NULL, "Rows of a clinic."},
    CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab unknown --rows 5000 -o out", "Large clinics: what is uncertain is the model."}, {NULL, NULL}};

const cli_command lab_unknown = {
    .name = "unknown",
    .summary = "whether intervals of an unknown prevalence hold the truth when the model is learned",
    .usage = "[options] [-o DIR] [--json]",
    .text = "Models of 100 to 1000 simulated nodules of each kind, and clinics of unknown prevalence from 0.02 to 0.6: "
            "how often the interval holds it, how far off the estimate is, and how often the rows are said to be no "
            "mixture of the labels.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(unknown_options),
    .output = "Coverage and errors by training rows and prevalence. -o writes results.json, tables.md, "
              "coverage.svg.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
