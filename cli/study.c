/* prevail study: the paper's studies and our own, as numbers and pictures. */
#include "study.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define AT(field) offsetof(study_options, field)

static const pv_option shared_table[] = {
    {"prevalence", PV_OPTION_REAL, AT(prevalence), "0.01", 1e-6, 1 - 1e-6, NULL, "P",
     "Share of Y=1 in the true population."},
    {"prevalence-n", PV_OPTION_TEXT, AT(prevalence_n), NULL, 0, 0, NULL, "N",
     "Observations that the prevalence rests on. contingency: a list is allowed; default 0,1,10,100,1000. coverage: "
     "the "
     "stated prevalence is drawn from as many observations; 'rows' (the default) or 'known', which states the true "
     "one."},
    {"draws", PV_OPTION_INT, AT(draws), "1000", 100, 1e6, NULL, NULL,
     "contingency: draws shown in the pictures. coverage: draws of each posterior."},
    {"components", PV_OPTION_INT, AT(components), "8", 1, 1000, NULL, NULL, "vi: Gaussians in the mixture."},
    {"samples", PV_OPTION_INT, AT(samples), "8", 1, 1e6, NULL, NULL, "vi: samples of each component and step."},
    {"steps", PV_OPTION_INT, AT(steps), "500", 1, 1e9, NULL, NULL, "vi: steps."},
    {"seed", PV_OPTION_INT, AT(seed), "1", 0, 1e15, NULL, NULL, "Of every random stream."},
    {"output", PV_OPTION_TEXT, AT(output), NULL, 0, 0, NULL, "DIR",
     "Also write results and pictures into this folder; it is made where there is none."},
    CLI_OPTION_THREADS(study_options, running.threads),
    CLI_OPTION_JSON(study_options, running.json, "Print one JSON object instead of text."),
    CLI_OPTION_QUIET(study_options, running.quiet),
    CLI_OPTION_END};

static const pv_option contingency_table[] = {{"table", PV_OPTION_TEXT, AT(table), "47,44;3,6", 0, 0, NULL, "COUNTS",
                                               "The four counts: rows X=0,1 parted by a semicolon, columns Y=0,1."},
                                              CLI_OPTION_END};

static const pv_option coverage_table[] = {
    {"cases", PV_OPTION_INT, AT(cases), "200", 5, 1e6, NULL, NULL, "Cases of each simulated study."},
    {"controls", PV_OPTION_INT, AT(controls), "200", 5, 1e6, NULL, NULL, "Its controls."},
    {"replicates", PV_OPTION_INT, AT(replicates), NULL, 2, 1e7, NULL, NULL,
     "Simulated studies. Default 1000; 500 with --sbc."},
    {"infer", PV_OPTION_TEXT, AT(infer), NULL, 0, 0, NULL, "LIST",
     "Which of laplace, vi, hmc, parted by commas. Default laplace; vi,hmc with --sbc."},
    {"chains", PV_OPTION_INT, AT(chains), "2", 1, 1000, NULL, NULL, "hmc: chains."},
    {"warmup", PV_OPTION_INT, AT(warmup), "300", 20, 1e9, NULL, NULL, "hmc: steps of each chain before draws count."},
    {"sbc", PV_OPTION_FLAG, AT(sbc), NULL, 0, 0, NULL, NULL,
     "Simulation-based calibration instead: parameters from the prior, data from the model, ranks of the parameters "
     "among "
     "99 draws of their posterior."},
    CLI_OPTION_END};

/* ---- files ------------------------------------------------------------------------------------------------------- */

int study_write(cli_call *call, const char *folder, const char *name, study_writer write, const void *what) {
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
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static void write_json(FILE *out, const void *what) {
    json_dumpf(what, out, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    fputc('\n', out);
}

int study_write_json(cli_call *call, const char *folder, const char *name, json_t *object) {
    return study_write(call, folder, name, write_json, object);
}

static int make_folder(cli_call *call, const char *folder) {
    if (!*folder)
        return cli_error(call, PV_ERR_USAGE, NULL, "--output needs the name of a folder");
    struct stat about;
    if (mkdir(folder, 0777) == 0)
        return CLI_OK;
    int cause = errno;
    if (cause == EEXIST && stat(folder, &about) == 0 && S_ISDIR(about.st_mode))
        return CLI_OK;
    return cli_error(call, PV_ERR_PATH, folder, cause == EEXIST ? "is a file; name a folder" : "cannot be made: %s",
                     strerror(cause));
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

/* An option of the other study is a misunderstanding. */
static int check_options(cli_call *call, const char *name, const pv_option *foreign) {
    for (const pv_option *row = foreign; row->name; row++)
        if (cli_given(call, row->name))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s does not go with study %s", row->name, name);
    return CLI_OK;
}

static int run(cli_call *call) {
    static const char *const names[] = {"contingency", "coverage"};
    const study_options *options = call->options;
    const char *name = call->argument[0];
    bool contingency = strcmp(name, names[0]) == 0;
    if (!contingency && strcmp(name, names[1]) != 0) {
        const char *near = pv_nearest(name, names, 2);
        return cli_error(call, PV_ERR_USAGE, NULL, "unknown study %s; %s%s%s", name,
                         near ? "did you mean " : "choose one of ", near ? near : "contingency, coverage",
                         near ? "?" : "");
    }
    int code = check_options(call, name, contingency ? coverage_table : contingency_table);
    if (code == CLI_OK && options->output)
        code = make_folder(call, options->output);
    if (code != CLI_OK)
        return code;
    if (contingency)
        return study_contingency(call, options);
    return options->sbc ? study_calibration(call, options) : study_coverage(call, options);
}

static const cli_argument arguments[] = {{"NAME", "contingency: the paper's section 4, a table of four counts under "
                                                  "each model. coverage: how often intervals hold the "
                                                  "truth of simulated case-control studies."},
                                         {NULL, NULL}};

static const cli_group groups[] = {{"Options", shared_table, 0},
                                   {"contingency", contingency_table, 0},
                                   {"coverage", coverage_table, 0},
                                   {NULL, NULL, 0}};

static const cli_example examples[] = {
    {"prevail study contingency -o out", "The paper's numbers beside the exact ones, and its figures."},
    {"prevail study contingency --table '47,44;3,6' --prevalence-n 10 --json", "One strength of the prevalence prior."},
    {"prevail study coverage --infer laplace,vi,hmc --replicates 200", "Coverage by each kind of posterior."},
    {"prevail study coverage --sbc -o out", "Rank histograms of vi and hmc."},
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
        "with the information gain (profile and plug-in) and with plain log-loss and prior correction. Results do not "
        "depend on the number of threads.",
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
        "log_evidence). -o writes results.json and SVG pictures.\n"
        "coverage: for each posterior, method and quantity (coefficients; log odds at three settings of the "
        "covariates) the "
        "share of studies whose central 50, 80, 90 and 95 % intervals hold the truth, and bias and root mean square "
        "error "
        "of the posterior median. -o writes results.json, coverage.md, coverage.svg; with --sbc sbc.json, sbc.md, "
        "sbc.svg.",
    .examples = examples,
    .run = run};
