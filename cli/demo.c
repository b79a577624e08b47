/* prevail demo: the main tasks on simulated people with known truth. */
#include "cli/commands.h"
#include "cli/report_sections.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"
#include "tool/report.h"
#include "tool/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 500, CONTROLS = 500, PEOPLE = 200000, COST_RATIO = 50 };
static const double prevalence = 0.01;

typedef struct demo_options {
    int64_t seed;
    report_options report;
    cli_running running;
} demo_options;

static const pv_option option_table[] = {
    {"seed", PV_OPTION_INT, offsetof(demo_options, seed), "1", 0, 1e15, NULL, NULL, "Seed of the simulated people."},
    CLI_OPTIONS_REPORT(demo_options, report),
    CLI_OPTION_THREADS(demo_options, running.threads),
    CLI_OPTION_JSON(demo_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_QUIET(demo_options, running.quiet),
    CLI_OPTION_END};

/* ---- methods ----------------------------------------------------------------------------------------------------- */

typedef struct method {
    const char *name;
    bool fitted; /* false: the true model */
    pv_loss loss;
    pv_marginal marginal;
    const char *prevalence_n;
    const char *population;
} method;

enum { PROFILE, PLUGIN, IW, PLAIN, UNCORRECTED, TRUTH, METHODS };

static const method methods[METHODS] = {
    [PROFILE] = {"ig profile", true, PV_LOSS_IG, PV_MARGINAL_PROFILE, "rows", "true"},
    [PLUGIN] = {"ig plug-in (paper)", true, PV_LOSS_IG, PV_MARGINAL_PLUGIN, "rows", "true"},
    [IW] = {"iw", true, PV_LOSS_IW, PV_MARGINAL_PROFILE, "rows", "true"},
    [PLAIN] = {"plain corrected", true, PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, "rows", "true"},
    [UNCORRECTED] = {"plain uncorrected", true, PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, "rows", "design"},
    [TRUTH] = {"(the truth)", false, PV_LOSS_PLAIN, PV_MARGINAL_PROFILE, NULL, "true"}};

typedef struct result {
    double calibration; /* mean predicted risk over observed proportion */
    double nll;         /* mean -log probability of the outcome */
    double auc;
    double sensitivity, ppv;  /* at the threshold of the cost ratio */
    double coefficient_error; /* root mean square error over standardised slopes; NaN: none */
} result;

typedef struct work {
    pv_table *sample, *people;
    pv_schema *schema;
    pv_dataset *train, *test;
    double *truth;         /* [features + 1], intercept first */
    double *sd;            /* [features], in the population */
    double *log_p;         /* [rows][2] */
    double *loss[METHODS]; /* [rows], -log probability of the outcome, for paired differences */
    result result[METHODS];
    pv_classifier *shown; /* the model in the report, and its predictions for the people */
    double *shown_log_p;  /* [rows][2] */
} work;

static void work_clear(pv_ctx *ctx, work *held) {
    pv_dataset_free(ctx, held->train);
    pv_dataset_free(ctx, held->test);
    pv_schema_free(ctx, held->schema);
    pv_table_free(ctx, held->sample);
    pv_table_free(ctx, held->people);
    free(held->truth);
    free(held->sd);
    free(held->log_p);
    free(held->shown_log_p);
    pv_classifier_free(ctx, held->shown);
    for (int m = 0; m < METHODS; m++)
        free(held->loss[m]);
}

/* ---- simulated people -------------------------------------------------------------------------------------------- */

static pv_status make_people(cli_call *call, int64_t seed, work *held) {
    enum { FEATURES = 7 };
    pv_simulation simulation = {
        .rows = PEOPLE, .cases = -1, .controls = -1, .prevalence = prevalence, .seed = (uint64_t)seed + 1};
    pv_simulation design = {.cases = CASES, .controls = CONTROLS, .prevalence = prevalence, .seed = (uint64_t)seed};
    pv_roles roles = {.target = "malignant"};
    held->truth = cli_alloc(FEATURES + 1, sizeof(double));
    pv_status status = pv_simulate(call->ctx, "nodules", &design, &held->sample, held->truth);
    if (status == PV_OK)
        status = pv_simulate(call->ctx, "nodules", &simulation, &held->people, NULL);
    if (status == PV_OK)
        status = pv_schema_learn(call->ctx, held->sample, &roles, &held->schema, &held->train);
    if (status == PV_OK)
        status = pv_schema_apply(call->ctx, held->schema, held->people, &roles, &held->test);
    return status;
}

/* Converts encoded test data back to the scale of the table: x sd + mean. All columns of the nodules are numbers. */
static double raw_value(const work *held, size_t n, int j) {
    const pv_source_column *source = &held->schema->source[j];
    return held->test->x[n * (size_t)held->test->features + (size_t)j] * source->sd + source->mean;
}

static void measure_scale(work *held) {
    int features = held->schema->features;
    double rows = (double)held->test->rows;
    held->sd = cli_alloc((size_t)features, sizeof(double));
    for (int j = 0; j < features; j++) {
        double mean = 0, square = 0;
        for (size_t n = 0; n < held->test->rows; n++)
            mean += raw_value(held, n, j) / rows;
        for (size_t n = 0; n < held->test->rows; n++)
            square += pow(raw_value(held, n, j) - mean, 2) / rows;
        held->sd[j] = sqrt(square);
    }
}

/* ---- fitting and evaluation -------------------------------------------------------------------------------------- */

static void predict_truth(const work *held, double *log_p) {
    for (size_t n = 0; n < held->test->rows; n++) {
        double logit = held->truth[0];
        for (int j = 0; j < held->schema->features; j++)
            logit += held->truth[j + 1] * raw_value(held, n, j);
        log_p[2 * n] = pv_log_sigmoid(-logit);
        log_p[2 * n + 1] = pv_log_sigmoid(logit);
    }
}

static pv_status predict(pv_ctx *ctx, const pv_classifier *classifier, const char *where, work *held) {
    pv_prediction *said;
    pv_status status = pv_predict_in(ctx, classifier, held->test, where, NULL, &said);
    if (status == PV_OK)
        memcpy(held->log_p, said->log_p, 2 * said->rows * sizeof *held->log_p);
    pv_prediction_free(ctx, said);
    return status;
}

static pv_status fit_and_predict(cli_call *call, const method *how, work *held, double *coefficients) {
    pv_fit_options options = pv_fit_options_default();
    char text[32];
    pv_format_double(prevalence, text, sizeof text);
    options.prevalence = text;
    options.prevalence_n = how->prevalence_n;
    options.loss = (int)how->loss;
    options.marginal = (int)how->marginal;
    options.command = call->line;
    pv_classifier *classifier = NULL;
    options = pv_fit_options_used(&options, false); /* shared by the methods */
    pv_status status = pv_fit(call->ctx, held->schema, held->train, &options, &classifier);
    if (status == PV_OK && cli_was_stopped(classifier, PV_STOP_INTERRUPTED))
        status = PV_ERR_INTERRUPTED;
    if (status == PV_OK)
        status = pv_classifier_coefficients(call->ctx, classifier, coefficients);
    if (status == PV_OK)
        status = predict(call->ctx, classifier, how->population, held);
    if (status == PV_OK && how == &methods[PROFILE]) {
        size_t size = 2 * held->test->rows * sizeof(double);
        held->shown_log_p = cli_alloc(2 * held->test->rows, sizeof(double));
        memcpy(held->shown_log_p, held->log_p, size);
        held->shown = classifier;
        classifier = NULL;
    }
    pv_classifier_free(call->ctx, classifier);
    return status;
}

static pv_status judge(cli_call *call, work *held, double *loss, result *out) {
    const int32_t *label = held->test->label;
    size_t rows = held->test->rows;
    const double log_marginal[] = {log1p(-prevalence), log(prevalence)};
    double predicted = 0, cases = 0, called = 0, caught = 0, total = 0;
    for (size_t n = 0; n < rows; n++) {
        double risk = exp(held->log_p[2 * n + 1]);
        bool alarm = risk * (COST_RATIO + 1) > 1;
        predicted += risk;
        cases += label[n];
        called += alarm;
        caught += alarm && label[n] == 1;
        loss[n] = -held->log_p[2 * n + (size_t)label[n]];
        total += loss[n];
    }
    pv_metrics metrics;
    pv_targets targets = pv_dataset_targets(held->test);
    pv_status status = pv_assess(call->ctx, &targets, held->log_p, log_marginal, held->log_p, NULL, &metrics);
    out->calibration = predicted / cases;
    out->nll = total / (double)rows;
    out->auc = metrics.auc;
    out->sensitivity = caught / cases;
    out->ppv = caught / called;
    return status;
}

static double slope_error(const work *held, const double *coefficients) {
    int features = held->schema->features;
    double sum = 0;
    for (int j = 0; j < features; j++)
        sum += pow((coefficients[j + 1] - held->truth[j + 1]) * held->sd[j], 2);
    return sqrt(sum / features);
}

static pv_status run_methods(cli_call *call, work *held) {
    double *coefficients = cli_alloc((size_t)held->schema->features + 1, sizeof *coefficients);
    held->log_p = cli_alloc(2 * held->test->rows, sizeof(double));
    measure_scale(held);
    pv_status status = PV_OK;
    for (int m = 0; m < METHODS && status == PV_OK; m++) {
        held->loss[m] = cli_alloc(held->test->rows, sizeof(double));
        if (methods[m].fitted)
            status = fit_and_predict(call, &methods[m], held, coefficients);
        else
            predict_truth(held, held->log_p);
        if (status == PV_OK)
            status = judge(call, held, held->loss[m], &held->result[m]);
        held->result[m].coefficient_error = methods[m].fitted ? slope_error(held, coefficients) : NAN;
    }
    free(coefficients);
    return status;
}

/* ---- three sentences about the results --------------------------------------------------------------------------- */

enum { SENTENCES = 3, SENTENCE = 512, NAMES = 128 };

typedef double (*quantity)(const result *r);

static double calibration_of(const result *r) {
    return r->calibration;
}

static double error_of(const result *r) {
    return r->coefficient_error;
}

/* Among the methods that use the prevalence, those with the smallest (sign 1) or largest (-1) value, including any
 * within 1 %, because the reader would see them as equal. "a", "a and b". Returns the extreme value. */
static double extreme(const result *results, quantity of, int sign, char names[NAMES]) {
    double best = of(&results[0]);
    for (int m = 1; m <= PLAIN; m++)
        best = sign * fmin(sign * best, sign * of(&results[m]));
    names[0] = '\0';
    for (int m = 0; m <= PLAIN; m++)
        if (fabs(of(&results[m]) - best) <= 0.01 * fabs(best)) {
            size_t used = strlen(names);
            snprintf(names + used, NAMES - used, "%s%s", used ? " and " : "", methods[m].name);
        }
    return best;
}

/* Mean and standard error of the difference in loss between two methods on the same people. */
static double paired(const work *held, int a, int b, double *error) {
    double n = (double)held->test->rows, mean = 0, square = 0;
    for (size_t i = 0; i < held->test->rows; i++)
        mean += (held->loss[a][i] - held->loss[b][i]) / n;
    for (size_t i = 0; i < held->test->rows; i++)
        square += pow(held->loss[a][i] - held->loss[b][i] - mean, 2) / (n - 1);
    *error = sqrt(square / n);
    return mean;
}

static void say(const work *held, char text[SENTENCES][SENTENCE]) {
    const result *r = held->result;
    char lowest[NAMES], highest[NAMES];
    double low = extreme(r, calibration_of, 1, lowest), high = extreme(r, calibration_of, -1, highest);
    snprintf(text[0], SENTENCE,
             "Without correction, a model of the balanced sample predicts %.1f times the observed risk on average; of "
             "the methods that use the prevalence, %s predicts %.2f times and %s %.2f times the observed risk.",
             r[UNCORRECTED].calibration, lowest, low, highest, high);
    double error, difference = paired(held, PROFILE, PLAIN, &error);
    if (fabs(difference) <= 2 * error || fabs(difference) < 1e-4 * r[PLAIN].nll)
        snprintf(text[1], SENTENCE,
                 "%s and %s, a strong baseline for logistic models, predict equally well: mean -log p %.5f and %.5f, "
                 "against %.5f for %s, %.5f for %s and %.5f for the truth itself.",
                 methods[PROFILE].name, methods[PLAIN].name, r[PROFILE].nll, r[PLAIN].nll, r[IW].nll, methods[IW].name,
                 r[PLUGIN].nll, methods[PLUGIN].name, r[TRUTH].nll);
    else
        snprintf(
            text[1], SENTENCE,
            "%s predicts %s than %s: mean -log p %.5f and %.5f, a difference of %.2g with standard error %.2g; the "
            "truth itself has %.5f.",
            methods[PROFILE].name, difference < 0 ? "better" : "worse", methods[PLAIN].name, r[PROFILE].nll,
            r[PLAIN].nll, fabs(difference), error, r[TRUTH].nll);
    low = extreme(r, error_of, 1, lowest);
    high = extreme(r, error_of, -1, highest);
    snprintf(text[2], SENTENCE,
             "On this sample the error of the coefficients is smallest with %s (%.3f) and largest with %s (%.3f). At a "
             "threshold of 1/%d, %s detects %.0f %% of the cancers and %.1f %% of its alarms are true; %s detects %.0f "
             "%%, and %.1f %% are true.",
             lowest, low, highest, high, COST_RATIO + 1, methods[PROFILE].name, 100 * r[PROFILE].sensitivity,
             100 * r[PROFILE].ppv, methods[IW].name, 100 * r[IW].sensitivity, 100 * r[IW].ppv);
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

static void print_json(const cli_call *call, const demo_options *options, const work *held) {
    char text[SENTENCES][SENTENCE];
    say(held, text);
    pv_result *object = pv__value_object(), *list = pv__value_list(), *sentences = pv__value_list();
    for (int m = 0; m < METHODS; m++) {
        const result *r = &held->result[m];
        pv_result *entry = pv__value_object();
        pv__value_set(entry, "method", pv__value_text(methods[m].name));
        pv__value_set(entry, "calibration", pv__value_real(r->calibration));
        pv__value_set(entry, "nll", pv__value_real(r->nll));
        pv__value_set(entry, "auc", pv__value_real(r->auc));
        pv__value_set(entry, "sensitivity", pv__value_real(r->sensitivity));
        pv__value_set(entry, "ppv", pv__value_real(r->ppv));
        pv__value_set(entry, "coefficient_error", pv__value_real(r->coefficient_error));
        pv__value_append(list, entry);
    }
    for (int i = 0; i < SENTENCES; i++)
        pv__value_append(sentences, pv__value_text(text[i]));
    pv__value_set(object, "prevalence", pv__value_real(prevalence));
    pv__value_set(object, "cases", pv__value_integer(CASES));
    pv__value_set(object, "controls", pv__value_integer(CONTROLS));
    pv__value_set(object, "people", pv__value_integer(PEOPLE));
    pv__value_set(object, "threshold", pv__value_real(1.0 / (COST_RATIO + 1)));
    pv__value_set(object, "seed", pv__value_integer(options->seed));
    pv__value_set(object, "methods", list);
    pv__value_set(object, "sentences", sentences);
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    cli_json_print(call, object);
}

static void print_text(const demo_options *options, const work *held) {
    char text[SENTENCES][SENTENCE];
    say(held, text);
    char opening[SENTENCE];
    snprintf(opening, sizeof opening,
             "Simulated lung nodules; one in a hundred is malignant. The models learn from %d malignant and %d benign "
             "ones (seed %lld) and are evaluated on %s others from the population.",
             CASES, CONTROLS, (long long)options->seed, pv_group_digits(PEOPLE).text);
    cli_wrap(stdout, opening);
    static const char heads[] = "  %-20s %11s %9s %7s %7s %6s %11s\n";
    fputc('\n', stdout);
    printf(heads, "method", "calibration", "log loss", "AUC", "sensi-", "PPV", "coefficient");
    printf(heads, "", "ratio", "", "", "tivity", "", "error");
    for (int m = 0; m < METHODS; m++) {
        const result *r = &held->result[m];
        printf("  %-20s %11.3f %9.6f %7.4f %7.3f %6.3f", methods[m].name, r->calibration, r->nll, r->auc,
               r->sensitivity, r->ppv);
        if (isnan(r->coefficient_error))
            printf(" %11s\n", "-");
        else
            printf(" %11.4f\n", r->coefficient_error);
    }
    printf("\n  calibration ratio: mean predicted risk over observed proportion; 1 is best\n  sensitivity, PPV: at a "
           "risk above 1/%d, the threshold if a missed cancer costs as\n    much as %d false alarms\n  coefficient "
           "error: root mean square over the standardised slopes\n",
           COST_RATIO + 1, COST_RATIO);
    for (int i = 0; i < SENTENCES; i++) {
        fputc('\n', stdout);
        cli_wrap(stdout, text[i]);
    }
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

/* The training rows ranked by risk, reweighted to the population. */
static pv_status rank_training(cli_call *call, const work *held, const double *shares, pv_ranking **ranking) {
    pv_targets targets = pv_dataset_targets(held->train);
    double *log_p = cli_alloc(2 * held->train->rows, sizeof *log_p);
    pv_status status = pv_predict_loglik(call->ctx, held->shown, held->train, log_p);
    if (status == PV_OK)
        status = pv_ranking_new(call->ctx, &targets, log_p, -1, shares, ranking);
    free(log_p);
    return status;
}

static void put_methods(pv_report *report, const work *held) {
    static const char *const heads[] = {"method", "calibration ratio", "log loss", "AUC", "sensitivity",
                                        "PPV",    "coefficient error"};
    char text[SENTENCES][SENTENCE];
    report_cells cells = {0};
    say(held, text);
    pv_report_section(report, "methods", "Five ways to learn from the sample");
    for (int i = 0; i < SENTENCES; i++)
        pv_report_paragraph(report, text[i]);
    for (int m = 0; m < METHODS; m++) {
        const result *r = &held->result[m];
        const double numbers[] = {r->calibration, r->nll, r->auc, r->sensitivity, r->ppv, r->coefficient_error};
        report_cell(&cells, methods[m].name);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            report_cell_number(&cells, numbers[k]);
    }
    report_put_cells(report, &cells, "All methods", "tnnnnnn", heads, false);
    pv_report_paragraph(report, "The other sections are about the method ig profile.");
}

static int fill_report(cli_call *call, const demo_options *options, const work *held, pv_report *report,
                       const pv_assessment *found, const pv_ranking *training, const double *observed,
                       const double *shares) {
    static const char *const names[] = {"seed", NULL};
    char seed[24];
    const char *const values[] = {seed};
    snprintf(seed, sizeof seed, "%lld", (long long)options->seed);
    pv_report_judged judged = {.rows_title = "Held-out rows",
                               .labels = held->schema->labels,
                               .target = "malignant",
                               .classes = 2,
                               .positive = 1,
                               .rows = held->test->rows,
                               .observed = observed,
                               .stated = shares,
                               .population = shares,
                               .found = found,
                               .level = 0.95,
                               .bins = 10,
                               .offset = pv_logit(exp(held->shown->log_marginal[1])),
                               .threshold = 1.0 / (COST_RATIO + 1),
                               .training = training};
    pv_report_section(report, "fit", "What was evaluated");
    int code = report_put_model(call, report, "(of the demo)", held->shown);
    if (code == CLI_OK)
        code = cli_done(call, pv_report_put_judged(call->ctx, report, &judged));
    if (code == CLI_OK)
        code = report_put_coefficients(call, report, held->shown, judged.level);
    put_methods(report, held);
    report_put_provenance(call, report, names, values);
    return code;
}

static int write_report(cli_call *call, const demo_options *options, const work *held) {
    pv_targets targets = pv_dataset_targets(held->test);
    double observed[2];
    const double shares[] = {1 - prevalence, prevalence};
    pv_label_mass(&targets, observed);
    observed[0] /= (double)held->test->rows;
    observed[1] /= (double)held->test->rows;
    pv_judged judged = {.log_p = held->shown_log_p, .log_marginal = held->shown->log_marginal};
    pv_assess_options assess = pv_assess_options_default();
    assess.prevalence = shares;
    pv_assessment found = {0};
    pv_ranking *training = NULL;
    pv_report *report = NULL;
    pv_status status = pv_assess_intervals(call->ctx, &targets, &judged, &assess, &found);
    if (status == PV_OK)
        status = rank_training(call, held, shares, &training);
    int code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    if (code == CLI_OK)
        code = report_begin(call, &options->report, "Lung nodules: from a balanced sample to a population",
                            "Simulated; one in a hundred is malignant. prevail " PV_VERSION, &report);
    if (code == CLI_OK)
        code = report_end(call, &options->report, report,
                          fill_report(call, options, held, report, &found, training, observed, shares));
    pv_ranking_free(call->ctx, training);
    pv_assessment_clear(call->ctx, &found);
    return code;
}

static int run(cli_call *call) {
    const demo_options *options = call->options;
    work held = {0};
    int refused = report_check(call, &options->report);
    if (refused != CLI_OK)
        return refused;
    pv_status status = make_people(call, options->seed, &held);
    if (status == PV_OK)
        status = run_methods(call, &held);
    int code = status == PV_OK ? CLI_OK : cli_fail(call, status);
    cli_progress_clear(call);
    if (code == CLI_OK && options->running.json)
        print_json(call, options, &held);
    else if (code == CLI_OK)
        print_text(options, &held);
    if (code == CLI_OK && report_wanted(&options->report))
        code = cli_finish(call, write_report(call, options, &held));
    work_clear(call->ctx, &held);
    return code;
}

static const cli_argument arguments[] = {{NULL, NULL}};
static const cli_group groups[] = {{"Options", option_table, 0}, {NULL, NULL, 0}};
static const cli_example examples[] = {{"prevail demo", "A table and three sentences, in less than a minute."},
                                       {"prevail demo --report demo.html", "The same, and a report."},
                                       {NULL, NULL}};

const cli_command cli_demo = {
    .name = "demo",
    .summary = "a demonstration on simulated people, with the truth known",
    .usage = "[--seed S] [--report FILE] [--json]",
    .text = "Simulates lung nodules, one in a hundred malignant, draws a balanced case-control sample, fits it with "
            "the information gain (profile, and the paper's plug-in), importance weighting and plain log-loss with "
            "prior correction, and evaluates all on 200,000 other people from the target population.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(demo_options),
    .output = "A table with one line per method, and three sentences about its numbers. Columns: method; calibration "
              "ratio, mean predicted risk over observed proportion; log loss; area under the ROC curve; sensitivity "
              "and positive predictive value if a missed cancer costs as much as 50 false alarms; root mean square "
              "error of the standardised slopes. \"plain uncorrected\" uses the model without correction; \"(the "
              "truth)\" is the model that the people were drawn from.\nWith --json one object: prevalence, cases, "
              "controls, people, threshold, seed, methods (a list of method, calibration, nll, auc, sensitivity, ppv, "
              "coefficient_error), sentences, version.",
    .examples = examples,
    .run = run};
