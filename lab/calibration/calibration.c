/* prevail-lab calibration: the paper's section 6, "Calibration of the probabilistic predictions".
 *
 * The paper's 679 nodules (357 malignant) are not public. Data sets of that size are drawn by label from the simulated
 * population of prevail simulate nodules, at each prevalence; split at random into 302 rows for training, 150 that the
 * paper uses for validation and 227 for testing; and fitted as in the paper: logistic regression, a mixture of eight
 * Gaussians, Student priors with nu = 0.002 on all coefficients, N_pr = 10, 500 steps. In contrast to the paper, the
 * true coefficients and the true population are known here.
 */
#include "prevail/prevail.h"
#include "lab/calibration/calibration.h"
#include "lab/calibration/calibration_sample.h"
#include "lab/common/study.h"
#include "lab/lab.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const cal_method[CAL_METHODS] = {"ig, plug-in", "ig, profile",      "ig, profile, known",
                                             "iw",          "plain, corrected", "the truth"};
const char *const cal_key[CAL_METHODS] = {"ig_plugin", "ig_profile", "ig_profile_known", "iw", "plain", "truth"};
const pv_ink cal_ink[CAL_METHODS] = {PV_INK_PLUGIN, PV_INK_IG, PV_INK_KNOWN, PV_INK_IW, PV_INK_PLAIN, PV_INK_EMPIRICAL};
const char *const cal_feature[CAL_COEFFICIENTS] = {"(Intercept)", "age",        "female",   "smoker",
                                                   "emphysema",   "upper_lobe", "diameter", "part_solid"};
const char *const cal_quantity[CAL_QUANTITIES] = {
#define ENTRY(name, text) #name,
    CAL_QUANTITY_LIST(ENTRY)
#undef ENTRY
};
const char *const cal_quantity_text[CAL_QUANTITIES] = {
#define ENTRY(name, text) text,
    CAL_QUANTITY_LIST(ENTRY)
#undef ENTRY
};

cal_outcome *cal_at(const calibration *c, size_t replicate, size_t prevalence, int method) {
    return &c->outcome[(replicate * c->prevalences + prevalence) * CAL_METHODS + (size_t)method];
}

pv_fit_options cal_fit_options(const calibration_options *options, int method, const char *stated,
                               const char *prevalence_n, const char *prior, int64_t seed) {
    pv_fit_options fit = pv_fit_options_default();
    fit.weighting = "0"; /* the efficient estimate, as the name profile suggests */
    fit.match = PV_MATCH_NONE;
    fit.prevalence = stated;
    fit.seed = seed;
    fit.loss = method == CAL_IW ? PV_LOSS_IW : method == CAL_PLAIN ? PV_LOSS_PLAIN : PV_LOSS_IG;
    if (method == CAL_IW)
        return fit; /* regularised maximum likelihood, as in the paper */
    fit.infer = PV_INFER_VI;
    fit.prior = prior;
    fit.draws = options->draws;
    fit.components = options->vi.components;
    fit.samples = options->vi.samples;
    fit.steps = options->vi.steps;
    if (method == CAL_PLAIN)
        return fit;
    fit.marginal = method == CAL_PLUGIN ? PV_MARGINAL_PLUGIN : PV_MARGINAL_PROFILE;
    fit.prevalence_n = method == CAL_KNOWN ? "known" : prevalence_n;
    fit.intercept_prior = method == CAL_KNOWN ? fit.intercept_prior : prior;
    return fit;
}

/* ---- one data set ------------------------------------------------------------------------------------------------ */

static pv_status run_method(pv_ctx *ctx, const calibration *c, size_t replicate, size_t k, int method,
                            const cal_sample *s, cal_predictions *p) {
    cal_outcome *o = cal_at(c, replicate, k, method);
    judge_rates *curve = replicate == 0 ? c->curve + (k * CAL_METHODS + (size_t)method) * CAL_CURVE : NULL;
    if (method == CAL_TRUTH) {
        cal_predict_truth(c, k, s, p);
        memcpy(o->mean, c->truth[k], sizeof o->mean);
        return cal_judge(ctx, c, k, s, p, curve, o);
    }
    char stated[34] = "1=";
    pv_format_double(c->prevalence[k], stated + 2, sizeof stated - 2);
    pv_fit_options options =
        cal_fit_options(c->options, method, stated, c->prevalence_n, c->prior,
                        (int64_t)(((uint64_t)c->options->shared.seed + replicate * 1000003) % 9007199254740992));
    pv_classifier *fit = NULL;
    pv_status status = study_fit(ctx, (size_t)method, s->scaled, s->training, &options, &fit);
    if (status == PV_OK)
        status = cal_predict(ctx, fit, s, p);
    if (status == PV_OK)
        status = cal_note_coefficients(ctx, c, k, fit, o);
    if (status == PV_OK)
        status = cal_judge(ctx, c, k, s, p, curve, o);
    pv_classifier_free(ctx, fit);
    return status;
}

/* Fits that fail because of their data are counted. */
static pv_status run_sample(pv_ctx *ctx, void *state, size_t index) {
    const calibration *c = state;
    size_t replicate = index / c->prevalences, k = index % c->prevalences;
    cal_sample s = {0};
    cal_predictions *p = cli_alloc(1, sizeof *p);
    p->population = cli_alloc(c->population[k]->rows, sizeof *p->population);
    pv_status status = cal_sample_new(ctx, c, replicate, k, &s);
    for (int m = 0; m < CAL_METHODS && status == PV_OK; m++) {
        status = run_method(ctx, c, replicate, k, m, &s, p);
        if (study_fit_failed(status))
            status = PV_OK;
    }
    free(p->population);
    free(p);
    cal_sample_free(ctx, &s);
    return status;
}

static size_t outcome(void *state, size_t index, pv_field *field) {
    const calibration *c = state;
    size_t replicate = index / c->prevalences, k = index % c->prevalences, curves = (size_t)CAL_METHODS * CAL_CURVE;
    field[0] = (pv_field){cal_at(c, replicate, k, 0), CAL_METHODS * sizeof(cal_outcome)};
    if (replicate > 0)
        return 1;
    field[1] = (pv_field){c->curve + k * curves, curves * sizeof *c->curve};
    return 2;
}

static bool sound(const void *state, size_t index) {
    const calibration *c = state;
    size_t replicate = index / c->prevalences, k = index % c->prevalences, curves = (size_t)CAL_METHODS * CAL_CURVE;
    for (int method = 0; method < CAL_METHODS; method++) {
        const cal_outcome *o = cal_at(c, replicate, k, method);
        if (o->done < 0 || o->done > 1 || !study_within(o->value, CAL_QUANTITIES, -HUGE_VAL, HUGE_VAL, true) ||
            !study_within(o->mean, CAL_COEFFICIENTS, -STUDY_LARGEST, STUDY_LARGEST, true) ||
            !study_within(o->sd, CAL_COEFFICIENTS, 0, STUDY_LARGEST, true) ||
            !study_within(o->covered, CAL_COEFFICIENTS, 0, 1, true) || !judge_bins_sound(&o->training) ||
            !judge_bins_sound(&o->heldout) || !judge_bins_sound(&o->population))
            return false;
    }
    return replicate > 0 ||
           study_within((const double *)(c->curve + k * curves), curves * sizeof *c->curve / sizeof(double),
                        -STUDY_LARGEST, STUDY_LARGEST, true);
}

/* ---- sums over data sets ----------------------------------------------------------------------------------------- */

/* [replicates], values of the finished data sets, NaN for others. The caller frees. */
static double *values_of(const calibration *c, size_t prevalence, int method, int quantity) {
    double *values = cli_alloc(c->replicates, sizeof *values);
    for (size_t r = 0; r < c->replicates; r++) {
        const cal_outcome *o = cal_at(c, r, prevalence, method);
        values[r] = o->done ? o->value[quantity] : (double)NAN;
    }
    return values;
}

size_t cal_mean(const calibration *c, size_t prevalence, int method, int quantity, double *mean, double *error) {
    double *values = values_of(c, prevalence, method, quantity), sd;
    size_t n = study_mean(values, c->replicates, 1, mean, &sd);
    *error = sd / sqrt((double)n);
    free(values);
    return n;
}

double cal_median(const calibration *c, size_t prevalence, int method, int quantity) {
    double *values = cli_alloc(c->replicates, sizeof *values);
    size_t n = 0;
    for (size_t r = 0; r < c->replicates; r++) {
        const cal_outcome *o = cal_at(c, r, prevalence, method);
        if (o->done && !isnan(o->value[quantity]))
            values[n++] = o->value[quantity];
    }
    double median = pv_quantile(n, values, 0.5);
    free(values);
    return median;
}

cal_coefficient cal_coefficient_of(const calibration *c, size_t prevalence, int method, int index) {
    cal_coefficient out = {.truth = c->truth[prevalence][index]};
    double n = 0, square = 0;
    for (size_t r = 0; r < c->replicates; r++) {
        const cal_outcome *o = cal_at(c, r, prevalence, method);
        if (!o->done)
            continue;
        n++;
        out.mean += o->mean[index];
        square += o->mean[index] * o->mean[index];
        out.sd += o->sd[index];
        out.coverage += o->covered[index];
    }
    out.mean /= n;
    out.sd /= n;
    out.coverage /= n;
    out.spread = sqrt(fmax(square / n - out.mean * out.mean, 0));
    return out;
}

const char *const cal_part[CAL_PARTS] = {"training", "heldout", "population"};

judge_bins cal_bins(const calibration *c, size_t prevalence, int method, int part) {
    judge_bins sum = {{0}, {0}, {0}};
    for (size_t r = 0; r < c->replicates; r++) {
        const cal_outcome *o = cal_at(c, r, prevalence, method);
        const judge_bins *b = part == CAL_TRAINING_ROWS  ? &o->training
                              : part == CAL_HELDOUT_ROWS ? &o->heldout
                                                         : &o->population;
        if (o->done)
            judge_bins_sum(&sum, b);
    }
    return sum;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int read_prevalences(cli_call *call, const char *text, calibration *c) {
    for (const char *at = text;; at++) {
        double p;
        const char *end = pv_parse_real(at, &p);
        if (!end || !(p >= 1e-5 && p <= 0.5) || (*end && *end != ','))
            return cli_error(call, PV_ERR_USAGE, NULL,
                             "--prevalences %s: numbers from 0.00001 to 0.5, separated by commas", text);
        if (c->prevalences == CAL_PREVALENCES_MAX)
            return cli_error(call, PV_ERR_USAGE, NULL, "--prevalences %s: at most %d", text, (int)CAL_PREVALENCES_MAX);
        c->prevalence[c->prevalences++] = p;
        if (!*end)
            return CLI_OK;
        at = end;
    }
}

static int check_strength(cli_call *call, const char *text) {
    double n;
    const char *end = pv_parse_real(text, &n);
    if (!end || *end || !(n > 0 && n <= 1e9))
        return cli_error(call, PV_ERR_USAGE, NULL, "--prevalence-n %s: a number above 0; 10 is the paper's", text);
    return CLI_OK;
}

static int draw_populations(cli_call *call, calibration *c) {
    for (size_t k = 0; k < c->prevalences; k++) {
        pv_simulation what = {.rows = c->options->population_rows,
                              .cases = -1,
                              .controls = -1,
                              .prevalence = c->prevalence[k],
                              .strength = c->options->strength,
                              .seed = (uint64_t)c->options->shared.seed};
        pv_status status = pv_simulate(call->ctx, "nodules", &what, &c->population[k], c->truth[k]);
        if (status != PV_OK)
            return cli_fail(call, status);
    }
    return CLI_OK;
}

static int work(cli_call *call) {
    const calibration_options *options = call->options;
    calibration c = {.options = options,
                     .replicates = (size_t)options->replicates,
                     .prevalence_n = options->prevalence_n,
                     .prior = "student:0.002"};
    nodules real = {0};
    int code = read_prevalences(call, options->prevalences, &c);
    if (code == CLI_OK)
        code = check_strength(call, c.prevalence_n);
    if (code == CLI_OK && options->data) /* report an unusable file before the long work */
        code = calibration_nodules(call, options, c.prevalence_n, &real);
    if (code == CLI_OK)
        code = draw_populations(call, &c);
    if (code == CLI_OK) {
        c.outcome = cli_alloc(c.replicates * c.prevalences * CAL_METHODS, sizeof *c.outcome);
        c.curve = cli_alloc(c.prevalences * CAL_METHODS * CAL_CURVE, sizeof *c.curve);
        code = study_parallel(call, "data sets", c.replicates * c.prevalences, run_sample, outcome, sound, &c);
    }
    if (code == CLI_OK)
        code = calibration_report(call, &c, options->data ? &real : NULL);
    for (size_t k = 0; k < c.prevalences; k++)
        pv_table_free(call->ctx, c.population[k]);
    free(c.outcome);
    free(c.curve);
    nodules_clear(&real);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(cli_call *call) {
    return study_run(
        call,
        &(study_plan){.name = "calibration",
                      .title = "calibration",
                      .about = "Calibrated predictions of lung nodules: the paper's section 6. prevail " PV_VERSION,
                      .work = work});
}

#define AT(field) offsetof(calibration_options, field)

static const pv_option option_table[] = {
    {"prevalences", PV_OPTION_TEXT, AT(prevalences), "0.1,0.01,0.001", 0, 0, NULL, "LIST",
     "Prevalences of the simulated populations, each stated to the models of its data."},
    {"prevalence-n", PV_OPTION_TEXT, AT(prevalence_n), "10", 0, 0, NULL, "N",
     "Observations that the prevalence rests on; 10 is the paper's."},
    {"strength", PV_OPTION_REAL, AT(strength), "1.6", 0.01, 100, NULL, NULL,
     "What the simulated log odds ratios, which are of published size, are multiplied by; 1.6 makes nodules as easy to "
     "tell "
     "apart as the paper's."},
    STUDY_OPTION_REPLICATES(calibration_options, "50", "Simulated data sets."),
    {"population-rows", PV_OPTION_INT, AT(population_rows), "10000", 1000, 1e7, NULL, NULL,
     "Rows of the draw of each population that models are judged on."},
    {"draws", PV_OPTION_INT, AT(draws), "400", 100, 1e6, NULL, NULL, "Draws of each posterior."},
    {"data", PV_OPTION_TEXT, AT(data), NULL, 0, 0, NULL, "FILE",
     "Also on real rows at their natural prevalence: a CSV file with two labels."},
    {"outcome", PV_OPTION_TEXT, AT(target), "malignant", 0, 0, NULL, "COL", "Its column of labels."},
    {"splits", PV_OPTION_INT, AT(splits), "25", 2, 1e5, NULL, NULL, "How often its rows are split into halves."},
    CLI_OPTION_END};
static const cli_group groups[] = {
    {"Options", option_table, 0}, {"vi", study_vi_table, AT(vi)}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab calibration -o out", "The paper's section 6 on 50 simulated data sets; two to four minutes."},
    {"prevail-lab calibration -o out --checkpoint out/checkpoint --resume",
     "The same, which may be stopped at any time: repeated, it goes on."},
    {NULL, NULL}};

const cli_command lab_calibration = {
    .name = "calibration",
    .summary = "the paper's section 6: calibrated predictions of lung nodules",
    .usage = "[options] [-o DIR] [--json]",
    .text =
        "Data sets of 357 malignant and 322 benign simulated nodules, 302 of them to learn from and 227 to judge, at "
        "each prevalence; ig (plug-in and profile), iw, plain with prior correction, and the truth, judged on held-out "
        "rows and on a draw of the true population. --data does the same on real rows.\n" STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .options_size = sizeof(calibration_options),
    .output = "Metrics beside the paper's, calibration, log odds ratios against the truth; means over data sets with "
              "their standard errors. -o writes results.json, tables.md, metrics.csv, coefficients.csv, curves.csv, "
              "calibration.svg, odds_ratios.svg, "
              "odds_densities.svg, rates.svg; with --data real.csv and "
              "real_calibration.svg.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
