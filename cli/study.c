/* prevail study: the paper's studies and our own, as numbers and pictures. */
#include "study.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define AT(field) offsetof(study_options, field)

static const pv_option shared_table[] = {
    {"prevalence", PV_OPTION_REAL, AT(prevalence), NULL, 1e-6, 1 - 1e-6, NULL, "P",
     "Share of Y=1 in the true population. Default: contingency and coverage 0.01; bias 0.1."},
    {"prevalence-n", PV_OPTION_TEXT, AT(prevalence_n), NULL, 0, 0, NULL, "N",
     "Observations that the prevalence rests on. contingency: a list is allowed; default 0,1,10,100,1000. coverage: "
     "the "
     "stated prevalence is drawn from as many observations; 'rows' (the default) or 'known', which states the true "
     "one. calibration: default 10, the paper's."},
    {"draws", PV_OPTION_INT, AT(draws), "1000", 100, 1e6, NULL, NULL,
     "contingency: draws shown in the pictures. coverage, calibration: draws of each posterior (calibration: default "
     "400)."},
    {"components", PV_OPTION_INT, AT(components), "8", 1, 1000, NULL, NULL, "vi: Gaussians in the mixture."},
    {"samples", PV_OPTION_INT, AT(samples), "8", 1, 1e6, NULL, NULL, "vi: samples of each component and step."},
    {"steps", PV_OPTION_INT, AT(steps), "500", 1, 1e9, NULL, NULL, "vi: steps."},
    {"replicates", PV_OPTION_INT, AT(replicates), NULL, 2, 1e7, NULL, NULL,
     "Simulated data sets. Default: coverage 1000, with --sbc 500; calibration and bias 50."},
    {"seed", PV_OPTION_INT, AT(seed), "1", 0, 1e15, NULL, NULL, "Of every random stream."},
    {"output", PV_OPTION_TEXT, AT(output), NULL, 0, 0, NULL, "DIR",
     "Also write results and pictures into this folder; it is made where there is none."},
    CLI_OPTION_THREADS(study_options, running.threads),
    CLI_OPTION_JSON(study_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_QUIET(study_options, running.quiet),
    CLI_OPTION_END};

static const pv_option contingency_table[] = {
    {"table", PV_OPTION_TEXT, AT(table), "47,44;3,6", 0, 0, NULL, "COUNTS",
     "The four counts: rows X=0,1 parted by a semicolon, columns Y=0,1."},
    {"hmc", PV_OPTION_FLAG, AT(hmc), NULL, 0, 0, NULL, NULL,
     "Also sample each posterior by Hamiltonian Monte Carlo: four chains of 1000 steps after a warm-up of 1000."},
    CLI_OPTION_END};

static const pv_option coverage_table[] = {
    {"cases", PV_OPTION_INT, AT(cases), "200", 5, 1e6, NULL, NULL, "Cases of each simulated study."},
    {"controls", PV_OPTION_INT, AT(controls), "200", 5, 1e6, NULL, NULL, "Its controls."},
    {"infer", PV_OPTION_TEXT, AT(infer), NULL, 0, 0, NULL, "LIST",
     "Which of laplace, vi, hmc, parted by commas. Default laplace; vi,hmc with --sbc."},
    {"chains", PV_OPTION_INT, AT(chains), "2", 1, 1000, NULL, NULL, "hmc: chains."},
    {"warmup", PV_OPTION_INT, AT(warmup), "300", 20, 1e9, NULL, NULL, "hmc: steps of each chain before draws count."},
    {"sbc", PV_OPTION_FLAG, AT(sbc), NULL, 0, 0, NULL, NULL,
     "Simulation-based calibration instead: parameters from the prior, data from the model, ranks of the parameters "
     "among "
     "99 draws of their posterior."},
    CLI_OPTION_END};

static const pv_option calibration_table[] = {
    {"prevalences", PV_OPTION_TEXT, AT(prevalences), "0.1,0.01,0.001", 0, 0, NULL, "LIST",
     "Prevalences of the simulated populations, each stated to the models of its data."},
    {"population-rows", PV_OPTION_INT, AT(population_rows), "10000", 1000, 1e7, NULL, NULL,
     "Rows of the draw of each population that models are judged on."},
    {"data", PV_OPTION_TEXT, AT(data), NULL, 0, 0, NULL, "FILE",
     "Also on real rows at their natural prevalence: a CSV file with two labels."},
    {"target", PV_OPTION_TEXT, AT(target), "malignant", 0, 0, NULL, "COL", "Its column of labels."},
    {"splits", PV_OPTION_INT, AT(splits), "25", 2, 1e5, NULL, NULL, "How often its rows are split into halves."},
    CLI_OPTION_END};

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The same bytes as in the file, into the page. */
static int put_in_report(cli_call *call, study_writer write, const void *what) {
    const study_options *options = call->options;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        cli_no_memory("for the report");
    write(out, what);
    if (ferror(out) | fclose(out))
        cli_no_memory("for the report");
    report_put_markdown(options->report, text);
    free(text);
    return CLI_OK;
}

int study_write(cli_call *call, const char *folder, const char *name, study_writer write, const void *what) {
    const study_options *options = call->options;
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return cli_error(call, PV_ERR_PATH, folder, "the name is too long");
    pv_output output = {0};
    pv_status status = pv_output_open(call->ctx, path, &output);
    if (status == PV_OK) {
        write(output.stream, what);
        status = pv_output_commit(call->ctx, &output);
    }
    pv_output_discard(call->ctx, &output);
    if (status != PV_OK)
        return cli_fail(call, status);
    return options->report && ends_with(name, ".md") ? put_in_report(call, write, what) : CLI_OK;
}

static void write_json(FILE *out, const void *what) {
    cli_json_write(out, what);
}

int study_write_json(cli_call *call, const char *folder, const char *name, json_t *object) {
    return study_write(call, folder, name, write_json, object);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

size_t study_mean(const double *values, size_t n, size_t stride, double *mean, double *sd) {
    size_t count = 0;
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i * stride])) {
            count++;
            sum += values[i * stride];
        }
    *mean = count ? sum / (double)count : (double)NAN;
    for (size_t i = 0; i < n; i++)
        if (!isnan(values[i * stride])) {
            double off = values[i * stride] - *mean;
            square += off * off;
        }
    *sd = count > 1 ? sqrt(square / (double)(count - 1)) : (double)NAN;
    return count;
}

/* ---- long work --------------------------------------------------------------------------------------------------- */

double study_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int study_parallel(cli_call *call, const char *what, size_t jobs, pv_job job, void *state, size_t *finished) {
    pv_status status = pv_jobs_run(call->ctx, what, jobs, false, job, state, finished);
    cli_progress_clear(call);
    if (status != PV_OK)
        return cli_fail(call, status);
    if (*finished < jobs)
        cli_warn(call, "stopped on request: %zu of %zu done", *finished, jobs);
    return CLI_OK;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

typedef struct study {
    const char *name;
    int (*run)(cli_call *call, const study_options *options);
    const pv_option *own;       /* its table; NULL: none */
    const char *const *without; /* shared options that mean nothing to it, up to a NULL */
    double prevalence;          /* its default */
    const char *about;          /* below the title of its report */
} study;

static int run_coverage(cli_call *call, const study_options *options) {
    return options->sbc ? study_ranks(call, options) : study_coverage(call, options);
}

static const char *const not_contingency[] = {"replicates", NULL}, *const not_coverage[] = {NULL},
                         *const not_calibration[] = {"prevalence", NULL},
                         *const not_bias[] = {"prevalence-n", "draws", "components", "samples", "steps", NULL};
static const study studies[] = {
    {"contingency", study_contingency, contingency_table, not_contingency, 0.01,
     "A table of four counts under each model: the paper's section 4. prevail " PV_VERSION},
    {"coverage", run_coverage, coverage_table, not_coverage, 0.01,
     "How often intervals hold the truth of simulated case-control studies. prevail " PV_VERSION},
    {"calibration", study_calibration, calibration_table, not_calibration, 0,
     "Calibrated predictions of lung nodules: the paper's section 6. prevail " PV_VERSION},
    {"bias", study_bias, NULL, not_bias, 0.1,
     "What selection by label, by feature and by both does. prevail " PV_VERSION}};
enum { STUDIES = sizeof studies / sizeof *studies };

/* An option of another study is a misunderstanding. */
static int check_options(cli_call *call, const study *which) {
    for (size_t i = 0; i < STUDIES; i++)
        for (const pv_option *row = studies[i].own; row && row->name && &studies[i] != which; row++)
            if (cli_given(call, row->name))
                return cli_error(call, PV_ERR_USAGE, NULL, "--%s does not go with study %s", row->name, which->name);
    for (const char *const *name = which->without; *name; name++)
        if (cli_given(call, *name))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s does not go with study %s", *name, which->name);
    return CLI_OK;
}

/* Runs a study with its report open; what the study says with its exit code stays. */
static int run_reported(cli_call *call, const study *which, study_options *options) {
    static const char *const names[] = {"seed", NULL};
    size_t size = strlen(options->output) + 16;
    char *page = cli_alloc(size, 1), title[100], seed[24];
    const char *const values[] = {seed};
    snprintf(page, size, "%s/report.html", options->output);
    snprintf(title, sizeof title, "Study: %s", which->name);
    snprintf(seed, sizeof seed, "%lld", (long long)options->seed);
    report_options how = {.page = page, .figures = options->output};
    int code = report_begin(call, &how, title, which->about, &options->report);
    if (code == CLI_OK) {
        int found = which->run(call, options);
        bool done = found == CLI_OK || found == CLI_PROBLEMS;
        if (done) {
            report_put_warnings(call, options->report);
            report_put_provenance(call, options->report, names, values);
        }
        code = report_end(call, &how, options->report, done ? CLI_OK : found);
        code = code == CLI_OK ? found : code;
        options->report = NULL;
    }
    free(page);
    return code;
}

static int run(cli_call *call) {
    study_options *options = call->options;
    const char *name = call->argument[0], *names[STUDIES];
    const study *which = NULL;
    for (size_t i = 0; i < STUDIES; i++) {
        names[i] = studies[i].name;
        if (strcmp(name, names[i]) == 0)
            which = &studies[i];
    }
    if (!which) {
        const char *near = pv_nearest(name, names, STUDIES);
        return cli_error(call, PV_ERR_USAGE, NULL, "unknown study %s; %s%s%s", name,
                         near ? "did you mean " : "choose one of ",
                         near ? near : "contingency, coverage, calibration, bias", near ? "?" : "");
    }
    int code = check_options(call, which);
    if (!cli_given(call, "prevalence"))
        options->prevalence = which->prevalence;
    if (code == CLI_OK && options->output)
        code = cli_make_folder(call, options->output);
    if (code != CLI_OK || !options->output)
        return code == CLI_OK ? which->run(call, options) : code;
    return run_reported(call, which, options);
}

static const cli_argument arguments[] = {{"NAME", "contingency: the paper's section 4, a table of four counts under "
                                                  "each model. coverage: how often intervals hold the "
                                                  "truth of simulated case-control studies. calibration: the "
                                                  "paper's section 6, calibrated predictions of lung nodules. bias: "
                                                  "its opening figures, what selection by label, by feature and by "
                                                  "both does."},
                                         {NULL, NULL}};

static const cli_group groups[] = {{"Options", shared_table, 0},
                                   {"contingency", contingency_table, 0},
                                   {"coverage", coverage_table, 0},
                                   {"calibration", calibration_table, 0},
                                   {NULL, NULL, 0}};

static const cli_example examples[] = {
    {"prevail study contingency -o out", "The paper's numbers beside the exact ones, and its figures."},
    {"prevail study contingency --table '47,44;3,6' --prevalence-n 10 --json", "One strength of the prevalence prior."},
    {"prevail study coverage --infer laplace,vi,hmc --replicates 200", "Coverage by each kind of posterior."},
    {"prevail study coverage --sbc -o out", "Rank histograms of vi and hmc."},
    {"prevail study calibration -o out", "The paper's section 6 on 50 simulated data sets; two to four minutes."},
    {"prevail study bias --prevalence 0.05 -o out", "The opening figures at another prevalence."},
    {NULL, NULL}};

const cli_command cli_study = {
    .name = "study",
    .summary = "the paper's studies, and how often intervals hold the truth",
    .usage = "NAME [options] [-o DIR] [--json]",
    .text =
        "contingency: p(Y=1|X=x) = sigmoid(eta_x) with normal priors of scale 10 on eta_0 and eta_1, under plain "
        "log-loss, "
        "importance weighting and the information gain with the plug-in marginal and with p(x) profiled out; "
        "posteriors by "
        "a mixture of Gaussians, and exactly by quadrature.\n"
        "coverage: simulates case-control studies of a population with three covariates, one of them binary, and fits "
        "each "
        "with the information gain (profile and plug-in) and with plain log-loss and prior correction.\n"
        "calibration: data sets of 357 malignant and 322 benign simulated nodules, 302 of them to learn from and 227 "
        "to "
        "judge, at each prevalence; ig (plug-in and profile), iw, plain with prior correction, and the truth, judged "
        "on held-out rows and on a draw of the true population. --data does the same on real rows.\n"
        "bias: what a model of a balanced sample means where the prevalence is another, with and without its operating "
        "point moved; and what selection by label, by feature and by both does to each model.\n"
        "Results do not depend on the number of threads.",
    .arguments = arguments,
    .groups = groups,
    .options_size = sizeof(study_options),
    .output =
        "contingency: mean, standard deviation and 90 % interval of the log odds ratio eta_1 - eta_0 beside the exact "
        "values, the posterior mean of p(Y=1|w), the bound (ELBO) with its Monte-Carlo error beside the log evidence. "
        "With "
        "--json one object; posteriors maps plain, iw, ig, ig_profile (with several strengths ig_npr_N, "
        "ig_profile_npr_N) "
        "to log_odds_ratio {mean, sd, quantiles}, eta0, eta1 {mean, sd}, marginal, elbo, elbo_se, exact (the same, and "
        "log_evidence), with --hmc hmc (the log odds ratio's mean, sd, mcse, ess, rhat). -o writes results.json, "
        "SVG pictures and report.html.\n"
        "coverage: for each posterior, method and quantity (coefficients; log odds at three settings of the "
        "covariates) the "
        "share of studies whose central 50, 80, 90 and 95 % intervals hold the truth, and bias and root mean square "
        "error "
        "of the posterior median. -o writes results.json, coverage.md, coverage.svg; with --sbc sbc.json, sbc.md, "
        "sbc.svg.\n"
        "calibration: metrics beside the paper's, calibration, log odds ratios against the truth; means over data sets "
        "with their standard errors. -o writes results.json, tables.md, metrics.csv, coefficients.csv, curves.csv, "
        "calibration.svg, odds_ratios.svg, rates.svg; with --data real.csv and real_calibration.svg.\n"
        "bias: rates and predictive values of each rule; errors of coefficients and of predictions by selection and "
        "method. -o writes results.json, tables.md, prevalence.svg, selection.svg.\n"
        "Each study with -o also writes report.html, its tables and pictures in one page, and the numbers of each "
        "picture as CSV.",
    .examples = examples,
    .run = run};
