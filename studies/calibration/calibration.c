/* prevail study calibration: the paper's section 6, "Calibration of the probabilistic predictions".
 *
 * The paper's 679 nodules (357 malignant) are not public. Data sets of that size are drawn, by label, from the
 * simulated population of prevail simulate nodules, at each prevalence; split at random into 302 rows for training, 150
 * that the paper keeps for validation and 227 for testing; and fitted as in the paper: logistic, a mixture of eight
 * Gaussians, Student priors with nu = 0.002 on all coefficients, N_pr = 10, 500 steps. What the paper could not do: the
 * coefficients' truth and the true population are known here.
 */
#include "prevail/prevail.h"
#include "studies/calibration/calibration.h"
#include "studies/common/study.h"
#include "studies/studies.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 357, CONTROLS = 322, ROWS = CASES + CONTROLS, TRAINING = 302, VALIDATION = 150 };
enum { TESTING = ROWS - TRAINING - VALIDATION };

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
    fit.robust = "0"; /* profile as it is named, and no line between it and iw */
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

/* The rows of one data set, all on the scale of its training rows. */
typedef struct sample {
    pv_table *table;
    pv_schema *schema, *scaled;
    pv_dataset *data, *training, *testing;
    pv_dataset population; /* its own x, other fields unused */
} sample;

static void sample_free(pv_ctx *ctx, sample *s) {
    pv_dataset_free(ctx, s->training);
    pv_dataset_free(ctx, s->testing);
    pv_schema_free(ctx, s->schema);
    pv_schema_free(ctx, s->scaled);
    pv_dataset_free(ctx, s->data);
    pv_table_free(ctx, s->table);
    free(s->population.x);
}

static pv_status split_rows(pv_ctx *ctx, uint64_t seed, size_t replicate, sample *s) {
    size_t row[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        row[i] = i;
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_STUDY_SPLIT, replicate);
    pv_rng_shuffle(&rng, ROWS, row);
    pv_status status = pv_dataset_take(ctx, s->data, TRAINING, row, &s->training);
    if (status == PV_OK)
        status = pv_dataset_take(ctx, s->data, TESTING, row + TRAINING + VALIDATION, &s->testing);
    return status;
}

static void scale_population(const pv_table *population, sample *s) {
    s->population = (pv_dataset){.rows = population->rows, .features = CAL_FEATURES, .classes = 2};
    s->population.x = cli_alloc(population->rows * CAL_FEATURES, sizeof(double));
    for (size_t i = 0; i < population->rows; i++)
        for (size_t j = 0; j < CAL_FEATURES; j++)
            s->population.x[i * CAL_FEATURES + j] =
                (population->column[j].number[i] - s->scaled->source[j].mean) / s->scaled->source[j].sd;
}

static pv_status sample_new(pv_ctx *ctx, const calibration *c, size_t replicate, size_t k, sample *s) {
    pv_simulation what = {.cases = CASES,
                          .controls = CONTROLS,
                          .prevalence = c->prevalence[k],
                          .strength = c->options->strength,
                          .seed = (uint64_t)c->options->shared.seed + 1000003 * (replicate + 1)};
    pv_roles roles = {.target = "malignant"};
    pv_status status = pv_simulate(ctx, "nodules", &what, &s->table, NULL);
    if (status == PV_OK)
        status = pv_schema_learn(ctx, s->table, &roles, &s->schema, &s->data);
    if (status == PV_OK)
        status = split_rows(ctx, (uint64_t)c->options->shared.seed, replicate, s);
    if (status == PV_OK)
        status = pv_schema_rescale(ctx, s->schema, s->training, &s->scaled);
    if (status != PV_OK)
        return status;
    pv_dataset_rescale(s->schema, s->scaled, s->training);
    pv_dataset_rescale(s->schema, s->scaled, s->testing);
    scale_population(c->population[k], s);
    return PV_OK;
}

/* ---- one method -------------------------------------------------------------------------------------------------- */

/* log p(y|x) in the true population, and p(y|w). */
typedef struct predictions {
    double training[2 * TRAINING], testing[2 * TESTING], adapted[2 * TESTING], log_marginal[2];
    double inferred[2 * TESTING], share; /* as the rows tell themselves; NaN: nobody asked */
    double *population;                  /* p(Y=1|x), [rows] */
} predictions;

static void test_shares(const sample *s, double share[2]) {
    share[1] = 0;
    for (size_t i = 0; i < TESTING; i++)
        share[1] += s->testing->label[i] / (double)TESTING;
    share[0] = 1 - share[1];
}

static double true_score(const calibration *c, size_t k, const pv_table *table, size_t row) {
    double score = c->truth[k][0];
    for (int j = 0; j < CAL_FEATURES; j++)
        score += c->truth[k][1 + j] * table->column[j].number[row];
    return score;
}

static void predict_truth(const calibration *c, size_t k, const sample *s, predictions *p) {
    const struct {
        const pv_dataset *rows;
        double *to;
    } parts[] = {{s->training, p->training}, {s->testing, p->testing}};
    for (int part = 0; part < 2; part++)
        for (size_t i = 0; i < parts[part].rows->rows; i++) {
            double score = true_score(c, k, s->table, parts[part].rows->table_row[i]);
            parts[part].to[2 * i] = log(pv_sigmoid(-score));
            parts[part].to[2 * i + 1] = log(pv_sigmoid(score));
        }
    p->log_marginal[0] = log1p(-c->prevalence[k]);
    p->log_marginal[1] = log(c->prevalence[k]);
    double share[2];
    test_shares(s, share);
    p->share = (double)NAN;
    pv_adapt(TESTING, 2, p->testing, p->log_marginal, share, p->adapted);
    for (size_t i = 0; i < c->population[k]->rows; i++)
        p->population[i] = pv_sigmoid(true_score(c, k, c->population[k], i));
}

/* The test rows' label shares from their own predictions, as the paper has them (Appendix G): variational, prior
 * true:1. */
static pv_status infer_shares(pv_ctx *ctx, const pv_classifier *fit, const sample *s, predictions *p) {
    pv_unknown_options how = pv_unknown_options_default();
    pv_population *unknown = NULL;
    pv_prediction *testing = NULL;
    how.method = PV_UNKNOWN_VB;
    how.dirichlet = "true:1";
    pv_status status = pv_population_new(ctx, fit, "unknown", &how, &unknown);
    if (status == PV_OK)
        status = pv_predict(ctx, fit, s->testing, unknown, NULL, &testing);
    if (status == PV_OK) {
        memcpy(p->inferred, testing->log_p, 2 * testing->rows * sizeof(double));
        p->share = testing->prevalence[1];
    }
    pv_prediction_free(ctx, testing);
    pv_population_free(ctx, unknown);
    return status;
}

static pv_status predict(pv_ctx *ctx, const pv_classifier *fit, const sample *s, predictions *p) {
    const pv_predict_options wanted = {.likelihood = true};
    double share[2];
    test_shares(s, share);
    pv_population *shares = NULL;
    pv_prediction *training = NULL, *testing = NULL, *population = NULL;
    pv_status status = pv_population_known(ctx, 2, share, &shares);
    if (status == PV_OK)
        status = pv_predict(ctx, fit, s->training, NULL, NULL, &training);
    if (status == PV_OK)
        status = pv_predict(ctx, fit, s->testing, shares, &wanted, &testing);
    if (status == PV_OK)
        status = pv_predict(ctx, fit, &s->population, NULL, NULL, &population);
    if (status == PV_OK) {
        memcpy(p->training, training->log_p, 2 * training->rows * sizeof(double));
        memcpy(p->testing, testing->loglik, 2 * testing->rows * sizeof(double));
        memcpy(p->adapted, testing->log_p, 2 * testing->rows * sizeof(double));
        memcpy(p->log_marginal, testing->log_marginal, 2 * sizeof(double));
        for (size_t i = 0; i < population->rows; i++)
            p->population[i] = population->p[2 * i + 1];
    }
    if (status == PV_OK)
        status = infer_shares(ctx, fit, s, p);
    pv_prediction_free(ctx, training);
    pv_prediction_free(ctx, testing);
    pv_prediction_free(ctx, population);
    pv_population_free(ctx, shares);
    return status;
}

static pv_status note_coefficients(pv_ctx *ctx, const calibration *c, size_t k, const pv_classifier *fit,
                                   cal_outcome *o) {
    double w[CAL_COEFFICIENTS];
    for (int j = 0; j < CAL_COEFFICIENTS; j++)
        o->sd[j] = o->covered[j] = NAN;
    pv_status status = pv_classifier_coefficients(ctx, fit, w);
    memcpy(o->mean, w, sizeof w);
    if (status != PV_OK || !fit->posterior)
        return status;
    size_t n = fit->posterior->count;
    double *draws = cli_alloc(n * CAL_COEFFICIENTS, sizeof *draws);
    for (size_t i = 0; i < n && status == PV_OK; i++) {
        status = pv_classifier_draw_coefficients(ctx, fit, i, w);
        for (size_t j = 0; j < CAL_COEFFICIENTS; j++)
            draws[j * n + i] = w[j];
    }
    for (size_t j = 0; j < CAL_COEFFICIENTS && status == PV_OK; j++) {
        double mean = 0, square = 0, *values = draws + j * n;
        for (size_t i = 0; i < n; i++)
            mean += values[i] / (double)n;
        for (size_t i = 0; i < n; i++)
            square += (values[i] - mean) * (values[i] - mean) / (double)n;
        o->mean[j] = mean;
        o->sd[j] = sqrt(square);
        double lo = pv_quantile(n, values, 0.05), hi = pv_quantile(n, values, 0.95), truth = c->truth[k][j];
        o->covered[j] = lo <= truth && truth <= hi;
    }
    free(draws);
    return status;
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */

static void judge_training(const calibration *c, size_t k, const sample *s, const predictions *p, cal_outcome *o) {
    double q[TRAINING], y[TRAINING], weight[TRAINING], count = 0;
    for (size_t i = 0; i < TRAINING; i++)
        count += s->training->label[i];
    for (size_t i = 0; i < TRAINING; i++) {
        q[i] = exp(p->training[2 * i + 1]);
        y[i] = s->training->label[i];
        weight[i] = y[i] > 0 ? c->prevalence[k] / count : (1 - c->prevalence[k]) / (TRAINING - count); /* beta / N */
    }
    judge_bins_add(&o->training, &(judge_rows){TRAINING, q, y, weight}, 1);
}

static void judge_testing(const sample *s, const predictions *p, judge_rates *curve, cal_outcome *o) {
    double q[TESTING], y[TESTING];
    for (size_t i = 0; i < TESTING; i++) {
        q[i] = exp(p->adapted[2 * i + 1]);
        y[i] = s->testing->label[i];
    }
    judge_rows rows = {TESTING, q, y, NULL};
    judge_bins_add(&o->heldout, &rows, 0);
    judge_gaps(&rows, &o->value[CAL_gap_fpr], &o->value[CAL_gap_fnr]);
    for (size_t i = 0; curve && i < CAL_CURVE; i++)
        curve[i] = judge_rates_at(&rows, (double)i / (CAL_CURVE - 1));
}

static double entropy(double p) {
    return -(p * log(p) + (1 - p) * log1p(-p));
}

static void judge_population(const calibration *c, size_t k, const predictions *p, cal_outcome *o) {
    const pv_table *table = c->population[k];
    double *y = cli_alloc(table->rows, sizeof *y), information = 0, mean = 0, unused;
    for (size_t i = 0; i < table->rows; i++) {
        y[i] = pv_sigmoid(true_score(c, k, table, i));
        mean += y[i] / (double)table->rows;
        information -= entropy(y[i]) / (double)table->rows;
    }
    information += entropy(mean);
    judge_rows rows = {table->rows, p->population, y, NULL};
    judge_bins_add(&o->population, &rows, 1);
    o->value[CAL_in_the_large] = judge_in_the_large(&rows);
    judge_recalibrate(&rows, &unused, &o->value[CAL_slope]);
    judge_gaps(&rows, &o->value[CAL_gap_fpr_population], &o->value[CAL_gap_fnr_population]);
    o->value[CAL_lost] = judge_excess(&rows) / information;
    free(y);
}

static pv_status judge(pv_ctx *ctx, const calibration *c, size_t k, const sample *s, const predictions *p,
                       judge_rates *curve, cal_outcome *o) {
    const double prevalence[2] = {1 - c->prevalence[k], c->prevalence[k]};
    pv_targets targets = pv_dataset_targets(s->testing);
    pv_metrics adapted, own;
    pv_status status = pv_assess(ctx, &targets, p->testing, p->log_marginal, p->adapted, prevalence, &adapted);
    if (status == PV_OK)
        status = pv_assess(ctx, &targets, p->testing, p->log_marginal, p->testing, prevalence, &own);
    if (status != PV_OK)
        return status;
    double *v = o->value;
    v[CAL_ell] = -adapted.nell;
    v[CAL_accuracy] = adapted.accuracy;
    v[CAL_tnr] = adapted.tnr;
    v[CAL_tpr] = adapted.tpr;
    v[CAL_npv] = adapted.npv;
    v[CAL_ppv] = adapted.ppv;
    v[CAL_auc] = adapted.auc;
    v[CAL_own_accuracy] = own.accuracy;
    v[CAL_own_tnr] = own.tnr;
    v[CAL_own_tpr] = own.tpr;
    v[CAL_inferred] = p->share;
    if (!isnan(p->share)) {
        pv_metrics inferred;
        status = pv_assess(ctx, &targets, p->testing, p->log_marginal, p->inferred, prevalence, &inferred);
        if (status != PV_OK)
            return status;
        v[CAL_inferred_accuracy] = inferred.accuracy;
        v[CAL_inferred_tnr] = inferred.tnr;
        v[CAL_inferred_tpr] = inferred.tpr;
        v[CAL_inferred_npv] = inferred.npv;
        v[CAL_inferred_ppv] = inferred.ppv;
    } else {
        for (int q = CAL_inferred_accuracy; q <= CAL_inferred_ppv; q++)
            v[q] = (double)NAN;
    }
    v[CAL_nll] = adapted.holdout_nll;
    v[CAL_ece] = adapted.ece;
    v[CAL_marginal] = exp(p->log_marginal[1]) / c->prevalence[k];
    judge_training(c, k, s, p, o);
    judge_testing(s, p, curve, o);
    judge_population(c, k, p, o);
    o->done = true;
    return PV_OK;
}

static pv_status run_method(pv_ctx *ctx, const calibration *c, size_t replicate, size_t k, int method, const sample *s,
                            predictions *p) {
    cal_outcome *o = cal_at(c, replicate, k, method);
    judge_rates *curve = replicate == 0 ? c->curve + (k * CAL_METHODS + (size_t)method) * CAL_CURVE : NULL;
    if (method == CAL_TRUTH) {
        predict_truth(c, k, s, p);
        memcpy(o->mean, c->truth[k], sizeof o->mean);
        return judge(ctx, c, k, s, p, curve, o);
    }
    char stated[34] = "1=";
    pv_format_double(c->prevalence[k], stated + 2, sizeof stated - 2);
    pv_fit_options options =
        cal_fit_options(c->options, method, stated, c->prevalence_n, c->prior,
                        (int64_t)(((uint64_t)c->options->shared.seed + replicate * 1000003) % 9007199254740992));
    pv_classifier *fit = NULL;
    pv_status status = study_fit(ctx, (size_t)method, s->scaled, s->training, &options, &fit);
    if (status == PV_OK)
        status = predict(ctx, fit, s, p);
    if (status == PV_OK)
        status = note_coefficients(ctx, c, k, fit, o);
    if (status == PV_OK)
        status = judge(ctx, c, k, s, p, curve, o);
    pv_classifier_free(ctx, fit);
    return status;
}

/* A fit that fails on its data is counted. */
static pv_status run_sample(pv_ctx *ctx, void *state, size_t index) {
    const calibration *c = state;
    size_t replicate = index / c->prevalences, k = index % c->prevalences;
    sample s = {0};
    predictions *p = cli_alloc(1, sizeof *p);
    p->population = cli_alloc(c->population[k]->rows, sizeof *p->population);
    pv_status status = sample_new(ctx, c, replicate, k, &s);
    for (int m = 0; m < CAL_METHODS && status == PV_OK; m++) {
        status = run_method(ctx, c, replicate, k, m, &s, p);
        if (study_fit_failed(status))
            status = PV_OK;
    }
    free(p->population);
    free(p);
    sample_free(ctx, &s);
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

/* [replicates] of those data sets that are done, NaN for the others. The caller frees. */
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
    if (code == CLI_OK && options->data) /* a file that cannot be used is told before the long work */
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
    {"target", PV_OPTION_TEXT, AT(target), "malignant", 0, 0, NULL, "COL", "Its column of labels."},
    {"splits", PV_OPTION_INT, AT(splits), "25", 2, 1e5, NULL, NULL, "How often its rows are split into halves."},
    CLI_OPTION_END};
static const cli_group groups[] = {
    {"Options", option_table, 0}, {"vi", study_vi_table, AT(vi)}, STUDY_GROUP, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail study calibration -o out", "The paper's section 6 on 50 simulated data sets; two to four minutes."},
    {"prevail study calibration -o out --checkpoint out/checkpoint --resume",
     "The same, which may be stopped at any time: repeated, it goes on."},
    {NULL, NULL}};

const cli_command study_calibration = {
    .name = "study calibration",
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
              "calibration.svg, odds_ratios.svg, rates.svg; with --data real.csv and "
              "real_calibration.svg.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = studies};
