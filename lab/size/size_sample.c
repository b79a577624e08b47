/* One sample of a design that prevail size planned: drawn by label, fitted, and evaluated.
 *
 * K predictors are normal with unit variance in controls and cases; the mean of the first differs by d = sqrt(2)
 * Phi^-1(AUC), which is its coefficient, and the others are noise. So the calibration slope of a fitted linear
 * predictor b in any population is b_1 d/|b|^2, and the log-likelihood ratio of a person is d x_1 - d^2/2 after
 * centring. A binary exposure is independent of the predictors in cases and in controls. The prevalence is estimated
 * from other people.
 */
#include "lab/size/size.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 24 };

static double distance_of(double auc) {
    return sqrt(2) * pv_normal_quantile(auc);
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

static pv_status set_number(pv_ctx *ctx, pv_settings *settings, const char *name, double value) {
    char text[32];
    pv_format_double(value, text, sizeof text);
    return pv_settings_set(ctx, settings, name, text);
}

/* cases 0: for the slope alone; else everything that so many cases give. */
static pv_status plan(pv_ctx *ctx, const size_options *o, const size_cell *cell, double cases, pv_result **result) {
    const struct {
        const char *name;
        double value;
        bool used;
    } each[] = {{"prevalence", o->prevalence, true},
                {"prevalence-n", o->prevalence_n, true},
                {"auc", cell->auc, true},
                {"parameters", (double)o->parameters, true},
                {"ratio", cell->ratio, true},
                {"slope", o->slope, o->by == 0},
                {"optimism", 0.3, !(cases > 0)},
                {"shrinkage", o->by ? o->slope : 0.5, !(cases > 0)},
                {"cases", cases, cases > 0},
                {"threshold", o->threshold, cases > 0},
                {"odds-ratio", o->odds_ratio, cases > 0},
                {"exposure", o->exposure, cases > 0}};
    pv_settings *settings = NULL;
    pv_status status = pv_size_settings_new(ctx, &settings);
    for (size_t i = 0; status == PV_OK && i < sizeof each / sizeof *each; i++)
        if (each[i].used)
            status = set_number(ctx, settings, each[i].name, each[i].value);
    if (status == PV_OK)
        status = pv_size_find(ctx, NULL, settings, result);
    pv_settings_free(ctx, settings);
    return status;
}

static double at(const pv_result *result, const char *first, const char *second, const char *third) {
    return pv_result_number(pv_result_at(result, (const char *const[]){first, second, third, NULL}));
}

pv_status size_plan(pv_ctx *ctx, const size_study *s, size_cell *cell) {
    pv_result *first = NULL, *second = NULL;
    pv_status status = plan(ctx, s->options, cell, 0, &first);
    if (status == PV_OK)
        status = plan(ctx, s->options, cell, at(first, "design", "cases", NULL), &second);
    cell->cases = at(second, "design", "cases", NULL);
    cell->controls = at(second, "design", "controls", NULL);
    cell->r2_most = at(second, "model", "r2_design_most", NULL);
    cell->optimistic = at(second, "model", "r2_design", NULL) / cell->r2_most;
    double *p = cell->predicted;
    p[SIZE_SLOPE] = at(second, "figures", "slope", NULL);
    p[SIZE_SHRINKAGE] = at(second, "figures", "shrinkage", NULL);
    p[SIZE_DEFAULT_SLOPE] = NAN;
    p[SIZE_OPTIMISM] = at(second, "figures", "optimism", NULL);
    p[SIZE_RISK] = at(second, "figures", "risk", "error");
    p[SIZE_RISK_HELD] = 0.95;
    p[SIZE_AUC] = at(second, "figures", "auc", "error");
    p[SIZE_PPV] = at(second, "figures", "ppv", "error");
    p[SIZE_BENEFIT] = at(second, "figures", "net_benefit", "error");
    p[SIZE_ODDS] = at(second, "figures", "odds_ratio", "error");
    p[SIZE_POWER] = at(second, "figures", "power", NULL);
    pv_result_free(second);
    pv_result_free(first);
    return status;
}

/* ---- a sample ---------------------------------------------------------------------------------------------------- */

/* Columns: predictors, then the exposure, then the label. */
typedef struct sample {
    size_t rows, parameters;
    double *x; /* [parameters + 2][rows] */
    double prevalence;
} sample;

static double *column(const sample *s, size_t j) {
    return s->x + j * s->rows;
}

static void draw(const size_options *o, const size_cell *c, pv_rng *rng, sample *s) {
    double d = distance_of(c->auc), exposed = pv_sigmoid(pv_logit(o->exposure) + log(o->odds_ratio));
    for (size_t i = 0; i < s->rows; i++) {
        bool is_case = (double)i < c->cases;
        for (size_t j = 0; j < s->parameters; j++)
            column(s, j)[i] = pv_rng_normal(rng) + (is_case && j == 0 ? d : 0);
        column(s, s->parameters)[i] = pv_rng_uniform(rng) < (is_case ? exposed : o->exposure);
        column(s, s->parameters + 1)[i] = is_case;
    }
    /* The binomial number of cases among so many people, by its normal approximation: there are many. */
    double error = sqrt(o->prevalence * (1 - o->prevalence) / o->prevalence_n);
    s->prevalence = fmin(fmax(o->prevalence + error * pv_rng_normal(rng), 0.05 * o->prevalence), 0.99);
}

static pv_status table_of(pv_ctx *ctx, const sample *s, bool exposure, pv_table **table) {
    pv_status status = pv_table_new(ctx, "sample", s->rows, table);
    for (size_t j = 0; status == PV_OK && j < s->parameters + 2; j++) {
        char name[NAME];
        snprintf(name, sizeof name, "x%zu", j + 1);
        if (j == s->parameters && !exposure)
            continue;
        status = pv_table_add_numbers(ctx, *table,
                                      j == s->parameters       ? "exposed"
                                      : j == s->parameters + 1 ? "y"
                                                               : name,
                                      PV_ARRAY_F64, column(s, j), PV_PACKED, NULL, true);
    }
    return status;
}

/* kind: 0 by maximum likelihood, 1 the default fit, 2 by maximum likelihood with the exposure. */
static pv_status fit(pv_ctx *ctx, const sample *s, int kind, pv_classifier **made) {
    pv_table *table = NULL;
    pv_settings *settings = NULL;
    char stated[40] = "1=";
    pv_format_double(s->prevalence, stated + 2, sizeof stated - 2);
    const bool usual = kind == 1;
    pv_status status = table_of(ctx, s, kind == 2, &table);
    if (status == PV_OK)
        status = pv_fit_settings_new(ctx, &settings);
    const char *const pairs[][2] = {
        {"outcome", "y"}, {"prevalence", stated}, {"infer", usual ? "map" : "ml"}, {"weighting", usual ? "auto" : "0"}};
    for (size_t i = 0; status == PV_OK && i < 4; i++)
        status = pv_settings_set(ctx, settings, pairs[i][0], pairs[i][1]);
    size_t entered = pv_checkpoint_enter(ctx, "fit", (size_t)kind);
    if (status == PV_OK)
        status = pv_learn_table(ctx, table, settings, made);
    pv_checkpoint_leave(ctx, entered);
    pv_settings_free(ctx, settings);
    pv_table_free(ctx, table);
    return status;
}

static double slope_of(const sample *s, double d, const double *b) {
    double square = 0;
    for (size_t j = 1; j <= s->parameters; j++)
        square += b[j] * b[j];
    return b[1] * d / square;
}

/* Nagelkerke's R2 of the fit's own rows. */
static double apparent_r2(const size_cell *c, const sample *s, const double *b) {
    double prior = log(c->cases / c->controls), shift = prior - pv_logit(s->prevalence), loglik = 0, null;
    for (size_t i = 0; i < s->rows; i++) {
        double f = b[0] + shift;
        for (size_t j = 0; j < s->parameters; j++)
            f += b[1 + j] * column(s, j)[i];
        loglik += pv_log_sigmoid((double)i < c->cases ? f : -f);
    }
    null = c->cases * pv_log_sigmoid(prior) + c->controls * pv_log_sigmoid(-prior);
    return -expm1(-2 * (loglik - null) / (double)s->rows) / c->r2_most;
}

/* ---- what the fits tell ------------------------------------------------------------------------------------------ */

static void put_fit(const size_study *st, const size_cell *c, const sample *s, const double *b, size_outcome *to) {
    const size_options *o = st->options;
    double d = distance_of(c->auc), truth = pv_logit(o->threshold);
    /* The person at the threshold, whose other predictors are 1. */
    double first = (truth - pv_logit(o->prevalence)) / d + 0.5 * d, risk = b[0] + b[1] * first;
    for (size_t j = 2; j <= s->parameters; j++)
        risk += b[j];
    to->value[SIZE_SLOPE] = to->value[SIZE_SHRINKAGE] = slope_of(s, d, b);
    to->value[SIZE_OPTIMISM] = apparent_r2(c, s, b) - c->optimistic;
    to->value[SIZE_RISK] = risk;
    to->value[SIZE_RISK_HELD] = fabs(risk - truth) <= pv_normal_quantile(0.975) * c->predicted[SIZE_RISK];
}

/* The true model's probabilities of these rows, evaluated for the stated prevalence. */
static pv_status put_evaluation(pv_ctx *ctx, const size_study *st, const size_cell *c, const sample *s,
                                size_outcome *to) {
    double d = distance_of(c->auc), prevalence[2] = {1 - s->prevalence, s->prevalence}, cases = c->cases, below = 0;
    double *log_p = cli_alloc(2 * s->rows, sizeof *log_p);
    int32_t *label = cli_alloc(s->rows, sizeof *label);
    pv_ranking *ranking = NULL;
    pv_rates rates;
    for (size_t i = 0; i < s->rows; i++) {
        double f = pv_logit(st->options->prevalence) + d * column(s, 0)[i] - 0.5 * d * d;
        log_p[2 * i] = pv_log_sigmoid(-f);
        log_p[2 * i + 1] = pv_log_sigmoid(f);
        label[i] = (double)i < cases;
    }
    for (size_t i = 0; i < (size_t)cases; i++)
        for (size_t j = (size_t)cases; j < s->rows; j++)
            below += column(s, 0)[j] < column(s, 0)[i];
    const pv_targets targets = {.n = s->rows, .classes = 2, .label = label};
    pv_status status = pv_ranking_new(ctx, &targets, log_p, -1, prevalence, &ranking);
    if (status == PV_OK)
        status = pv_rates_at(ctx, ranking, st->options->threshold, 0.95, &rates);
    if (status == PV_OK) {
        to->value[SIZE_AUC] = below / (cases * c->controls);
        to->value[SIZE_PPV] = rates.ppv.value > 0 && rates.ppv.value < 1 ? pv_logit(rates.ppv.value) : NAN;
        to->value[SIZE_BENEFIT] = rates.net_benefit.value;
    }
    pv_ranking_free(ctx, ranking);
    free(label);
    free(log_p);
    return status;
}

static pv_status put_odds(pv_ctx *ctx, const pv_classifier *made, size_outcome *to) {
    pv_summary *summary;
    pv_status status = pv_classifier_summary(ctx, made, 0.95, &summary);
    if (status != PV_OK)
        return status;
    for (size_t j = 0; j < summary->terms; j++) {
        const pv_coefficient *k = &summary->coefficient[j];
        if (strcmp(k->name, "exposed") == 0) {
            to->value[SIZE_ODDS] = k->value.mean;
            to->value[SIZE_POWER] = k->p_value < 0.05;
        }
    }
    pv_summary_free(ctx, summary);
    return PV_OK;
}

static pv_status run_fits(pv_ctx *ctx, const size_study *st, const size_cell *c, const sample *s, size_outcome *to) {
    double *b = cli_alloc(s->parameters + 2, sizeof *b);
    pv_status status = PV_OK;
    for (int kind = 0; kind < 3 && status == PV_OK; kind++) {
        pv_classifier *made = NULL;
        status = fit(ctx, s, kind, &made);
        if (status == PV_OK)
            status = kind == 2 ? put_odds(ctx, made, to) : pv_classifier_coefficients(ctx, made, b);
        if (status == PV_OK && kind == 0)
            put_fit(st, c, s, b, to);
        if (status == PV_OK && kind == 1)
            to->value[SIZE_DEFAULT_SLOPE] = slope_of(s, distance_of(c->auc), b);
        pv_classifier_free(ctx, made);
        if (study_fit_failed(status))
            status = PV_OK;
    }
    free(b);
    return status;
}

pv_status size_replicate(pv_ctx *ctx, const size_study *st, const size_cell *c, size_t index, size_outcome *to) {
    sample s = {.rows = (size_t)(c->cases + c->controls), .parameters = (size_t)st->options->parameters};
    pv_rng rng = pv_rng_stream(st->seed, PV_STREAM_STUDY_SIZE, index);
    s.x = cli_alloc((s.parameters + 2) * s.rows, sizeof *s.x);
    for (int q = 0; q < SIZE_QUANTITIES; q++)
        to->value[q] = NAN;
    draw(st->options, c, &rng, &s);
    pv_status status = run_fits(ctx, st, c, &s, to);
    if (status == PV_OK)
        status = put_evaluation(ctx, st, c, &s, to);
    free(s.x);
    return status;
}
