/* prevail-lab coverage: do intervals have their nominal coverage?
 *
 * A population with three covariates, x1 and x2 standard normal with correlation 0.3, x3 binary, and logit p(Y=1|x) = a
 * + b . x, with a chosen to give the requested prevalence. Each replicate draws cases and controls, and estimates the
 * prevalence from N_pr observations of Y; fits with each method; and records the rank of the truth among the
 * posterior's draws. A central interval covers the truth if that rank is not in its tails.
 */
#include "prevail/prevail.h"
#include "lab/common/study.h"
#include "lab/coverage/coverage.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const coverage_quantity[QUANTITIES] = {
    "intercept", "x1", "x2", "x3", "log odds at (0, 0, 1)", "log odds at (1, -1, 1)", "log odds at (-1, 1, 0)"};
const char *const coverage_method[METHODS] = {"ig profile", "ig plugin", "plain corrected"};
const double coverage_level[LEVELS] = {0.5, 0.8, 0.9, 0.95};

static const double slopes[FEATURES] = {0.8, -0.5, 0.7}, correlation = 0.3, share = 0.3;
static const double settings[QUANTITIES - FEATURES - 1][FEATURES] = {{0, 0, 1}, {1, -1, 1}, {-1, 1, 0}};

/* ---- population -------------------------------------------------------------------------------------------------- */

static double prevalence_at(double intercept) {
    double sd = sqrt(slopes[0] * slopes[0] + slopes[1] * slopes[1] + 2 * correlation * slopes[0] * slopes[1]);
    double sum = 0, weight = 0;
    for (int i = -180; i <= 180; i++) { /* the trapezium rule, exact up to rounding here */
        double z = 0.05 * i, w = exp(-0.5 * z * z);
        sum += w * ((1 - share) * pv_sigmoid(intercept + sd * z) + share * pv_sigmoid(intercept + slopes[2] + sd * z));
        weight += w;
    }
    return sum / weight;
}

static void fill_truth(double prevalence, double truth[QUANTITIES]) {
    double low = -60, high = 60;
    for (int step = 0; step < 100; step++) {
        double middle = 0.5 * (low + high);
        if (prevalence_at(middle) < prevalence)
            low = middle;
        else
            high = middle;
    }
    truth[0] = 0.5 * (low + high);
    memcpy(truth + 1, slopes, sizeof slopes);
    for (int q = FEATURES + 1; q < QUANTITIES; q++) {
        truth[q] = truth[0];
        for (int j = 0; j < FEATURES; j++)
            truth[q] += slopes[j] * settings[q - FEATURES - 1][j];
    }
}

static void draw_person(pv_rng *rng, double x[FEATURES]) {
    x[0] = pv_rng_normal(rng);
    x[1] = correlation * x[0] + sqrt(1 - correlation * correlation) * pv_rng_normal(rng);
    x[2] = pv_rng_uniform(rng) < share;
}

/* ---- one study --------------------------------------------------------------------------------------------------- */

typedef struct sample {
    double *x;      /* [rows][FEATURES], standardised */
    int32_t *label; /* [rows] */
    double mean[FEATURES], sd[FEATURES];
    double stated; /* the estimated prevalence */
} sample;

/* Draws people from the population until both groups are full; further people of a full group are discarded. */
static void draw_sample(const coverage *c, size_t replicate, sample *s) {
    pv_rng rng = pv_rng_stream(c->seed, PV_STREAM_STUDY_PEOPLE, replicate);
    size_t left[2] = {c->controls, c->cases}, n = 0;
    while (left[0] + left[1]) {
        double *x = s->x + FEATURES * n, logit = c->truth[0];
        draw_person(&rng, x);
        for (int j = 0; j < FEATURES; j++)
            logit += slopes[j] * x[j];
        int y = pv_rng_uniform(&rng) < pv_sigmoid(logit);
        if (left[y]) {
            left[y]--;
            s->label[n++] = y;
        }
    }
    for (int j = 0; j < FEATURES; j++) {
        s->mean[j] = s->sd[j] = 0;
        for (size_t i = 0; i < n; i++)
            s->mean[j] += s->x[FEATURES * i + (size_t)j] / (double)n;
        for (size_t i = 0; i < n; i++)
            s->sd[j] += pow(s->x[FEATURES * i + (size_t)j] - s->mean[j], 2) / (double)n;
        s->sd[j] = sqrt(s->sd[j]);
        for (size_t i = 0; i < n; i++)
            s->x[FEATURES * i + (size_t)j] = (s->x[FEATURES * i + (size_t)j] - s->mean[j]) / s->sd[j];
    }
    s->stated = c->prevalence;
    if (isinf(c->prevalence_n))
        return;
    /* If there are no cases, or only cases, half a case is counted, because a prevalence of 0 or 1 cannot be used. */
    pv_rng count = pv_rng_stream(c->seed, PV_STREAM_STUDY_PREVALENCE, replicate);
    double seen = 0;
    for (size_t i = 0; (double)i < c->prevalence_n; i++)
        seen += pv_rng_uniform(&count) < c->prevalence;
    s->stated = fmin(fmax(seen, 0.5), c->prevalence_n - 0.5) / c->prevalence_n;
}

/* Converts a draw of the standardised parameters to the quantities; shift corrects plain's intercept. */
static void quantities_of(const sample *s, const double *w, double shift, double value[QUANTITIES]) {
    value[0] = w[0] + shift;
    for (int j = 0; j < FEATURES; j++) {
        value[1 + j] = w[1 + j] / s->sd[j];
        value[0] -= value[1 + j] * s->mean[j];
    }
    for (int q = FEATURES + 1; q < QUANTITIES; q++) {
        value[q] = value[0];
        for (int j = 0; j < FEATURES; j++)
            value[q] += value[1 + j] * settings[q - FEATURES - 1][j];
    }
}

static void measure(const coverage *c, const sample *s, const pv_classifier *fit, int method, outcome *out) {
    /* King and Zeng: converts the odds of every draw from the design's to the given prevalence. */
    double shift = method == PLAIN ? pv_logit(s->stated) - log((double)c->cases) + log((double)c->controls) : 0;
    const pv_posterior *p = fit->posterior;
    double below[QUANTITIES] = {0}, *values = cli_alloc(QUANTITIES * p->count, sizeof *values);
    for (size_t i = 0; i < p->count; i++) {
        double value[QUANTITIES];
        quantities_of(s, p->draws + i * p->dims, shift, value);
        for (int q = 0; q < QUANTITIES; q++) {
            below[q] += value[q] < c->truth[q];
            values[(size_t)q * p->count + i] = value[q];
        }
    }
    for (int q = 0; q < QUANTITIES; q++) {
        out->place[q] = (below[q] + 0.5) / ((double)p->count + 1);
        out->estimate[q] = pv_quantile(p->count, values + (size_t)q * p->count, 0.5);
    }
    free(values);
    out->done = true;
    out->troubled = p->divergences > 0 || p->stop == PV_STOP_DIVERGED;
    for (size_t j = 0; p->rhat && j < p->dims; j++)
        out->troubled = out->troubled || !(p->rhat[j] < 1.05);
}

static pv_status fit_one(pv_ctx *ctx, const coverage *c, size_t replicate, const sample *s, int infer, int method,
                         outcome *out) {
    static char zero[] = "0", one[] = "1", x1[] = "x1", x2[] = "x2", x3[] = "x3";
    char *labels[] = {zero, one}, *names[] = {x1, x2, x3}, stated[34] = "1=", strength[32];
    pv_source_column source[FEATURES];
    for (int j = 0; j < FEATURES; j++)
        source[j] = (pv_source_column){.name = names[j], .type = PV_COLUMN_NUMBER, .mean = s->mean[j], .sd = s->sd[j]};
    pv_schema schema = {
        .labels = labels, .classes = 2, .sources = FEATURES, .source = source, .features = FEATURES, .feature = names};
    pv_dataset data = {
        .rows = c->cases + c->controls, .features = FEATURES, .x = s->x, .label = s->label, .classes = 2};
    pv_fit_options options = pv_fit_options_default();
    pv_format_double(s->stated, stated + 2, sizeof stated - 2);
    pv_format_double(c->prevalence_n, strength, sizeof strength);
    options.prevalence = stated;
    options.prevalence_n = isinf(c->prevalence_n) ? "known" : strength;
    options.loss = method == PLAIN ? PV_LOSS_PLAIN : PV_LOSS_IG;
    options.marginal = method == PLUGIN ? PV_MARGINAL_PLUGIN : PV_MARGINAL_PROFILE;
    options.infer = (int)c->infer[infer];
    if (method == PROFILE)
        options.match = c->options->match;
    options.draws = c->options->draws;
    if (c->infer[infer] == PV_INFER_VI) {
        options.components = c->options->vi.components;
        options.samples = c->options->vi.samples;
        options.steps = c->options->vi.steps;
    }
    if (c->infer[infer] == PV_INFER_HMC) {
        options.chains = c->options->chains;
        options.warmup = c->options->warmup;
    }
    options.seed = (int64_t)((c->seed + replicate * 1000003) % 9007199254740992);
    pv_classifier *fit = NULL;
    pv_status status = study_fit(ctx, (size_t)infer * METHODS + (size_t)method, &schema, &data, &options, &fit);
    if (status == PV_OK && fit->posterior)
        measure(c, s, fit, method, out);
    pv_classifier_free(ctx, fit);
    return status;
}

/* Fits that fail because of their data are counted. */
static pv_status run_replicate(pv_ctx *ctx, void *state, size_t replicate) {
    const coverage *c = state;
    size_t rows = c->cases + c->controls;
    sample s = {.x = cli_alloc(FEATURES * (rows + 1), sizeof(double)), .label = cli_alloc(rows, sizeof(int32_t))};
    draw_sample(c, replicate, &s);
    pv_status status = PV_OK;
    for (int i = 0; i < c->infers; i++)
        for (int m = 0; m < METHODS && status == PV_OK; m++) {
            if (m == PLUGIN && isinf(c->prevalence_n))
                continue; /* has no posterior */
            status = fit_one(ctx, c, replicate, &s, i, m, coverage_at(c, replicate, i, m));
            if (study_fit_failed(status))
                status = PV_OK;
        }
    free(s.x);
    free(s.label);
    return status;
}

static size_t outcome_of(void *state, size_t replicate, pv_field *field) {
    const coverage *c = state;
    field[0] = (pv_field){coverage_at(c, replicate, 0, 0), (size_t)c->infers * METHODS * sizeof(outcome)};
    return 1;
}

static bool sound(const void *state, size_t replicate) {
    const coverage *c = state;
    for (int i = 0; i < c->infers * METHODS; i++) {
        const outcome *o = coverage_at(c, replicate, 0, i);
        if (o->done < 0 || o->done > 1 || o->troubled < 0 || o->troubled > 1 ||
            !study_within(o->place, QUANTITIES, 0, 1, true) ||
            !study_within(o->estimate, QUANTITIES, -HUGE_VAL, HUGE_VAL, true))
            return false;
    }
    return true;
}

outcome *coverage_at(const coverage *c, size_t replicate, int infer, int method) {
    return &c->outcome[(replicate * (size_t)c->infers + (size_t)infer) * METHODS + (size_t)method];
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

int coverage_read_infer(cli_call *call, const char *text, pv_inference *list, int *count) {
    static const char *const names[] = {"laplace", "vi", "hmc"};
    static const pv_inference values[] = {PV_INFER_LAPLACE, PV_INFER_VI, PV_INFER_HMC};
    *count = 0;
    for (const char *at = text;;) {
        size_t length = strcspn(at, ",");
        int found = -1;
        for (int i = 0; i < 3; i++)
            if (strlen(names[i]) == length && strncmp(at, names[i], length) == 0)
                found = i;
        for (int i = 0; i < *count; i++)
            if (found >= 0 && list[i] == values[found])
                found = -1;
        if (found < 0)
            return cli_error(call, PV_ERR_USAGE, NULL,
                             "--infer %s: laplace, vi, hmc, each at most once, separated by commas", text);
        list[(*count)++] = values[found];
        if (!at[length])
            return CLI_OK;
        at += length + 1;
    }
}

static int read_strength(cli_call *call, const char *text, coverage *c) {
    if (!text || strcmp(text, "rows") == 0) {
        c->prevalence_n = (double)(c->cases + c->controls);
        return CLI_OK;
    }
    if (strcmp(text, "known") == 0) {
        c->prevalence_n = HUGE_VAL;
        return CLI_OK;
    }
    const char *end = pv_parse_real(text, &c->prevalence_n);
    if (!end || *end || !(c->prevalence_n >= 1 && c->prevalence_n <= 1e6) || c->prevalence_n != floor(c->prevalence_n))
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--prevalence-n %s: a whole number from 1 to 1000000, 'rows' or 'known'", text);
    return CLI_OK;
}

static int work(cli_call *call) {
    const coverage_options *options = call->options;
    coverage c = {.options = options,
                  .cases = (size_t)options->cases,
                  .controls = (size_t)options->controls,
                  .replicates = cli_given(call, "replicates") ? (size_t)options->replicates : 1000,
                  .prevalence = options->prevalence,
                  .seed = (uint64_t)options->shared.seed};
    int code = coverage_read_infer(call, options->infer ? options->infer : "laplace", c.infer, &c.infers);
    if (code == CLI_OK)
        code = read_strength(call, options->prevalence_n, &c);
    if (code != CLI_OK)
        return code;
    if ((double)c.cases / c.prevalence > 1e8 || (double)c.controls / (1 - c.prevalence) > 1e8)
        return cli_error(call, PV_ERR_USAGE, NULL, "--prevalence %g is too extreme to draw people one by one",
                         c.prevalence);
    fill_truth(c.prevalence, c.truth);
    c.outcome = cli_alloc(c.replicates * (size_t)c.infers * METHODS, sizeof *c.outcome);
    code = study_parallel(call, "replicates", c.replicates, run_replicate, outcome_of, sound, &c);
    if (code == CLI_OK)
        code = coverage_report(call, &c);
    free(c.outcome);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(cli_call *call) {
    const coverage_options *options = call->options;
    return study_run(
        call, &(study_plan){
                  .name = options->sbc ? "coverage --sbc" : "coverage",
                  .title = "coverage",
                  .about = "How often intervals hold the truth of simulated case-control studies. prevail " PV_VERSION,
                  .work = options->sbc ? coverage_ranks : work});
}

#define AT(field) offsetof(coverage_options, field)

static const pv_option option_table[] = {
    STUDY_OPTION_PREVALENCE(coverage_options, "0.01"),
    {"prevalence-n", PV_OPTION_TEXT, AT(prevalence_n), NULL, 0, 0, NULL, "N",
     "The stated prevalence is drawn from as many observations; 'rows' (the default) or 'known', which states the true "
     "one."},
    {"cases", PV_OPTION_INT, AT(cases), "200", 5, 1e6, NULL, NULL, "Cases of each simulated study."},
    {"controls", PV_OPTION_INT, AT(controls), "200", 5, 1e6, NULL, NULL, "Its controls."},
    STUDY_OPTION_REPLICATES(coverage_options, NULL, "Simulated data sets. Default: 1000; 500 with --sbc."),
    {"infer", PV_OPTION_TEXT, AT(infer), NULL, 0, 0, NULL, "LIST",
     "Which of laplace, vi, hmc, separated by commas. Default laplace; vi,hmc with --sbc."},
    {"match", PV_OPTION_CHOICE, AT(match), "none", 0, 0, "none|full", NULL,
     "Of profile, as in fit: output biases matched to the population after the fit."},
    {"draws", PV_OPTION_INT, AT(draws), "1000", 100, 1e6, NULL, NULL, "Draws of each posterior."},
    {"sbc", PV_OPTION_FLAG, AT(sbc), NULL, 0, 0, NULL, NULL,
     "Simulation-based calibration instead: parameters from the prior, data from the model, ranks of the parameters "
     "among 99 draws of their posterior."},
    CLI_OPTION_END};
static const pv_option hmc_table[] = {
    {"chains", PV_OPTION_INT, AT(chains), "2", 1, 1000, NULL, NULL, "Chains."},
    {"warmup", PV_OPTION_INT, AT(warmup), "300", 20, 1e9, NULL, NULL, "Steps of each chain before draws count."},
    CLI_OPTION_END};
static const cli_group groups[] = {
    {"Options", option_table, 0}, {"vi", study_vi_table, AT(vi)}, {"hmc", hmc_table, 0}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab coverage --infer laplace,vi,hmc --replicates 200", "Coverage by each kind of posterior."},
    {"prevail-lab coverage --sbc -o out", "Rank histograms of vi and hmc."},
    {NULL, NULL}};

const cli_command lab_coverage = {
    .name = "coverage",
    .summary = "how often intervals hold the truth of simulated case-control studies",
    .usage = "[options] [-o DIR] [--json]",
    .text = "Simulates case-control studies of a population with three covariates, one of them binary, and fits each "
            "with the information gain (profile and plug-in) and with plain log-loss and prior "
            "correction.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(coverage_options),
    .output = "For each posterior, method and quantity (coefficients; log odds at three settings of the covariates) "
              "the share of studies whose central 50, 80, 90 and 95 % intervals hold the truth, and bias and root mean "
              "square error of the posterior median. -o writes results.json, coverage.md, coverage.svg; with --sbc "
              "sbc.json, sbc.md, sbc.svg.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
