/* prevail study: the paper's studies and our own, as numbers and pictures. */
#include "cli/commands.h"
#include "prevail/prevail.h"
#include "studies/common/markdown.h"
#include "studies/common/study.h"
#include "tool/checkpoint.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"
#include "tool/output.h"
#include "tool/report.h"
#include "tool/training.h"

#include <math.h>
#include <string.h>

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
     "Also write results and pictures into this folder; it is made where there is none. One that has the results of "
     "another study is refused; those of the same study are replaced."},
    CLI_OPTIONS_CHECKPOINT(AT(checkpoint)),
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
    {"cases", PV_OPTION_INT, AT(cases), "200", 5, 1e6, NULL, NULL,
     "Cases of each simulated study. nodules, ratings: malignant nodules, default 342, the paper's."},
    {"controls", PV_OPTION_INT, AT(controls), "200", 5, 1e6, NULL, NULL,
     "Its controls. nodules, ratings: benign nodules, default 1065."},
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
    {"prevalences", PV_OPTION_TEXT, AT(prevalences), NULL, 0, 0, NULL, "LIST",
     "calibration: prevalences of the simulated populations, each stated to the models of its data; default "
     "0.1,0.01,0.001. nodules: of the positive label, stated; default 0.5,0.25,0.1,0.01,0.001. ratings: of the first "
     "grade, the others having equal shares of the rest, or 'observed', the shares of the data; default "
     "observed,0.9,0.999."},
    {"population-rows", PV_OPTION_INT, AT(population_rows), "10000", 1000, 1e7, NULL, NULL,
     "Rows of the draw of each population that models are judged on."},
    {"data", PV_OPTION_TEXT, AT(data), NULL, 0, 0, NULL, "FILE",
     "calibration: also on real rows at their natural prevalence: a CSV file with two labels. nodules, ratings: "
     "images, "
     "as fit has them, instead of simulated ones."},
    {"target", PV_OPTION_TEXT, AT(target), NULL, 0, 0, NULL, "COL",
     "Its column of labels. Default: calibration: malignant; nodules: labels, or --votes."},
    {"splits", PV_OPTION_INT, AT(splits), "25", 2, 1e5, NULL, NULL, "How often its rows are split into halves."},
    CLI_OPTION_END};

static const pv_option grid_table[] = {
    {"networks", PV_OPTION_TEXT, AT(networks), NULL, 0, 0, NULL, "LIST",
     "Of convnet, inception. Default: both; ratings convnet."},
    {"sizes", PV_OPTION_TEXT, AT(sizes), NULL, 0, 0, NULL, "SPEC",
     "Sizes of the networks, as in fit --model: views=3,size=24,low=16,channels=32-64-64,features=64. Default: the "
     "paper's."},
    {"batches", PV_OPTION_TEXT, AT(batches), NULL, 0, 0, NULL, "LIST",
     "Of balanced (as many rows of each label), uniform (rows as they come). Default: both; ratings balanced."},
    {"methods", PV_OPTION_TEXT, AT(methods), NULL, 0, 0, NULL, "LIST",
     "Of ig-constant, ig-linear (information gain with the paper's auxiliary networks), ig-profile, iw, plain (with "
     "prior correction; fitted once for all prevalences). Default: all."},
    {"folds", PV_OPTION_INT, AT(folds), "3", 2, 20, NULL, NULL, "Folds of the cross-validation."},
    {"fold", PV_OPTION_TEXT, AT(fold), NULL, 0, 0, NULL, "LIST", "Which of them, from 1. Default: all."},
    CLI_OPTION_GROUP(study_options, roles.group),
    {"positive", PV_OPTION_TEXT, AT(roles.roles.positive), NULL, 0, 0, NULL, "LABEL",
     "nodules: the label that prevalences speak of, as in fit."},
    CLI_OPTION_MISSING(study_options, roles.missing),
    {"quick", PV_OPTION_FLAG, AT(quick), NULL, 0, 0, NULL, NULL,
     "Another set of defaults: small images, tiny networks, two prevalences and few epochs; seconds, for a first "
     "look."},
    CLI_OPTION_END};

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

char *study_printed(study_writer write, const void *what) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        cli_no_memory("for text");
    write(out, what);
    if (ferror(out) | fclose(out))
        cli_no_memory("for text");
    return text;
}

/* The same bytes as in the file, into the page. */
static int put_in_report(cli_call *call, study_writer write, const void *what) {
    const study_options *options = call->options;
    char *text = study_printed(write, what);
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

/* ---- the command ------------------------------------------------------------------------------------------------- */

typedef struct study {
    const char *name;
    int (*run)(cli_call *call, const study_options *options);
    const pv_option *own[4];    /* its tables */
    const char *const *without; /* shared options that mean nothing to it, up to a NULL */
    const char *const *also;    /* options of other studies that it has too, up to a NULL */
    bool has_cells;             /* keeps its fits in the folder */
    double prevalence;          /* its default */
    const char *about;          /* below the title of its report */
} study;

static int run_coverage(cli_call *call, const study_options *options) {
    return options->sbc ? study_ranks(call, options) : study_coverage(call, options);
}

static const char *const no_option[] = {NULL}, *const not_contingency[] = {"replicates", NULL},
                         *const not_calibration[] = {"prevalence", NULL},
                         *const not_bias[] = {"prevalence-n", "draws", "components", "samples", "steps", NULL},
                         *const not_grid[] = {"prevalence", "draws", "components", "samples", "steps",
                                              "replicates", "infer", "chains",     "warmup",  NULL},
                         *const also_grid[] = {"prevalences", "data", "target", "cases", "controls", NULL};
static const study studies[] = {
    {"contingency",
     study_contingency,
     {contingency_table},
     not_contingency,
     no_option,
     false,
     0.01,
     "A table of four counts under each model: the paper's section 4. prevail " PV_VERSION},
    {"coverage",
     run_coverage,
     {coverage_table},
     no_option,
     no_option,
     false,
     0.01,
     "How often intervals hold the truth of simulated case-control studies. prevail " PV_VERSION},
    {"calibration",
     study_calibration,
     {calibration_table},
     not_calibration,
     no_option,
     false,
     0,
     "Calibrated predictions of lung nodules: the paper's section 6. prevail " PV_VERSION},
    {"bias",
     study_bias,
     {NULL},
     not_bias,
     no_option,
     false,
     0.1,
     "What selection by label, by feature and by both does. prevail " PV_VERSION},
    {"nodules",
     study_nodules,
     {grid_table, pv_image_option_table, pv_fit_option_table},
     not_grid,
     also_grid,
     true,
     0,
     "Malignancy of lung nodules from CT images: the paper's section 9.1. prevail " PV_VERSION},
    {"ratings",
     study_ratings,
     {grid_table, pv_image_option_table, pv_fit_option_table},
     not_grid,
     also_grid,
     true,
     0,
     "Readers' grades of lung nodules from CT images: the paper's section 9.2. prevail " PV_VERSION}};
enum { STUDIES = sizeof studies / sizeof *studies };

static bool is_among(const char *name, const char *const *list) {
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list != NULL;
}

static bool goes_with(const study *which, const char *name) {
    if (is_among(name, which->without))
        return false;
    if (pv_option_find(shared_table, name) || is_among(name, which->also))
        return true;
    for (int i = 0; which->own[i]; i++)
        if (pv_option_find(which->own[i], name))
            return true;
    return false;
}

/* An option of another study is a misunderstanding. */
static int check_options(cli_call *call, const study *which) {
    for (const cli_group *group = call->command->groups; group->table; group++)
        for (const pv_option *row = group->table; row->name; row++)
            if (cli_has(call->command, group, row) && cli_given(call, row->name) && !goes_with(which, row->name))
                return cli_error(call, PV_ERR_USAGE, NULL, "--%s does not go with study %s%s", row->name, which->name,
                                 strcmp(row->name, "prevalence") == 0 ? "; it has --prevalences" : "");
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

/* The checkpoint goes when all is written, the report as well. */
static int run_kept(cli_call *call, const study *which, study_options *options) {
    const char *name = options->sbc ? "coverage --sbc" : which->name;
    int lock = -1, code = CLI_OK;
    if (options->output)
        code = cli_make_folder(call, options->output);
    if (code == CLI_OK && options->output)
        code = study_folder_take(call, options->output, name, which->has_cells, &lock);
    if (code == CLI_OK)
        code = study_checkpoint_start(call, name);
    if (code == CLI_OK) {
        code = options->output ? run_reported(call, which, options) : which->run(call, options);
        code = cli_checkpoint_end(call, &options->checkpoint, code);
    }
    study_folder_leave(lock);
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
                         near ? near : "contingency, coverage, calibration, bias, nodules, ratings", near ? "?" : "");
    }
    int code = check_options(call, which);
    if (!cli_given(call, "prevalence"))
        options->prevalence = which->prevalence;
    return code == CLI_OK ? run_kept(call, which, options) : code;
}

static const cli_argument arguments[] = {{"NAME", "contingency: the paper's section 4, a table of four counts under "
                                                  "each model. coverage: how often intervals hold the "
                                                  "truth of simulated case-control studies. calibration: the "
                                                  "paper's section 6, calibrated predictions of lung nodules. bias: "
                                                  "its opening figures, what selection by label, by feature and by "
                                                  "both does. nodules: its section 9.1, malignancy from images. "
                                                  "ratings: its section 9.2, readers' grades from images."},
                                         {NULL, NULL}};

static const cli_group groups[] = {
    {"Options", shared_table, 0},
    {"contingency", contingency_table, 0},
    {"coverage", coverage_table, 0},
    {"calibration", calibration_table, 0},
    {"nodules, ratings", grid_table, 0},
    {"nodules, ratings: images", pv_image_option_table, offsetof(study_options, roles.image)},
    {"nodules, ratings: training", pv_fit_option_table, offsetof(study_options, fit)},
    {NULL, NULL, 0}};

/* Options of fit that the grid sets itself, or that are for tables. */
static const char *const without[] = {"loss", "marginal", "model", "design", "max-iter", "tolerance", "vi-rate", NULL};

static const cli_example examples[] = {
    {"prevail study contingency -o out", "The paper's numbers beside the exact ones, and its figures."},
    {"prevail study contingency --table '47,44;3,6' --prevalence-n 10 --json", "One strength of the prevalence prior."},
    {"prevail study coverage --infer laplace,vi,hmc --replicates 200", "Coverage by each kind of posterior."},
    {"prevail study coverage --sbc -o out", "Rank histograms of vi and hmc."},
    {"prevail study calibration -o out", "The paper's section 6 on 50 simulated data sets; two to four minutes."},
    {"prevail study calibration -o out --checkpoint out/checkpoint --resume",
     "The same, which may be stopped at any time: repeated, it goes on."},
    {"prevail study bias --prevalence 0.05 -o out", "The opening figures at another prevalence."},
    {"prevail study nodules --data lidc.npz --images hu --votes votes --votes-min 3 --missing drop --group patient "
     "--networks convnet --batches balanced --prevalences 0.5,0.01 -o out",
     "Part of the paper's section 9.1 on one's own images; the same command goes on where it was stopped."},
    {"prevail study ratings --quick -o out", "A first look at section 9.2."},
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
        "nodules: images of nodules, benign or malignant, learned by each network with each kind of batch, loss and "
        "stated "
        "prevalence, and judged on held-out folds with the twelve columns of the paper's tables. ratings: the same of "
        "readers' votes on five grades, judged as grades and as benign (below 3) or malignant (above). With -o each "
        "fit "
        "is kept as soon as it is done, and the same command goes on where it was stopped; a thread fits a cell of its "
        "own, so --threads bounds the memory.\n"
        "With --checkpoint any study can be interrupted and continued, data set by data set and within a fit. Without "
        "it, half a study replaces nothing: an interruption leaves the results of -o as they were.\n"
        "Results do not depend on the number of threads.",
    .arguments = arguments,
    .groups = groups,
    .without = without,
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
        "nodules: for each network, kind of batch, stated prevalence and method the mean over folds of nell, "
        "holdout_nll, "
        "information_gain, accuracy, tnr, tpr, npv, ppv, auc, informedness, markedness and mcc, as in prevail eval, "
        "the "
        "paper's beside them. Decisions are by predictions adapted to the held-out rows' label shares; of iw also as "
        "they "
        "are. -o writes results.json, tables.md, metrics.csv, roc_NETWORK_BATCHES.svg, and cells/, a file for each "
        "fit.\n"
        "ratings: nell, holdout_nll, information_gain and one_off_accuracy of the grades, accuracy to markedness of "
        "benign "
        "and malignant. -o writes the same with histograms_NETWORK_BATCHES.svg.\n"
        "Each study with -o also writes report.html, its tables and pictures in one page, and the numbers of each "
        "picture as CSV.",
    .examples = examples,
    .run = run};
