/* What the draws of a posterior say: means, spreads and intervals, and how the engine fared. */
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sorts the values. */
static cli_spread spread_of(size_t n, double *values, double level) {
    cli_spread s = {0};
    double sum = 0, squares = 0, above = 0, below = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    s.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += (values[i] - s.mean) * (values[i] - s.mean);
        above += values[i] > 0;
        below += values[i] < 0;
    }
    s.sd = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    s.sign = (s.mean >= 0 ? above : below) / (double)n;
    s.lo = pv_quantile(n, values, 0.5 - 0.5 * level);
    s.hi = pv_quantile(n, values, 0.5 + 0.5 * level);
    return s;
}

/* Of each column of draws [count][width]; the caller frees. */
static cli_spread *spreads_of(size_t count, size_t width, const double *draws, double level) {
    cli_spread *spreads = cli_alloc(width, sizeof *spreads);
    double *values = cli_alloc(count, sizeof *values);
    for (size_t j = 0; j < width; j++) {
        for (size_t i = 0; i < count; i++)
            values[i] = draws[i * width + j];
        spreads[j] = spread_of(count, values, level);
    }
    free(values);
    return spreads;
}

int cli_coefficient_spreads(cli_call *call, const pv_classifier *c, double level, cli_spread **spreads) {
    size_t count = c->posterior->count, width = pv_model_params(c->model);
    double *draws = cli_alloc(count * width, sizeof *draws);
    pv_status status = PV_OK;
    for (size_t i = 0; i < count && status == PV_OK; i++)
        status = pv_classifier_draw_coefficients(call->ctx, c, i, draws + i * width);
    *spreads = status == PV_OK ? spreads_of(count, width, draws, level) : NULL;
    free(draws);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

cli_spread *cli_parameter_spreads(const pv_classifier *c, double level) {
    return spreads_of(c->posterior->count, c->posterior->dims, c->posterior->draws, level);
}

void cli_marginal_spreads(const pv_classifier *c, double level, cli_spread *spreads) {
    size_t classes = (size_t)c->classes, count = c->posterior ? c->posterior->count : 0;
    double *values = cli_alloc(count, sizeof *values);
    for (size_t y = 0; y < classes; y++) {
        if (!count) {
            spreads[y] = (cli_spread){exp(c->log_marginal[y]), NAN, NAN, NAN, NAN};
            continue;
        }
        for (size_t i = 0; i < count; i++)
            values[i] = exp(c->draw_log_marginal[i * classes + y]);
        spreads[y] = spread_of(count, values, level);
    }
    free(values);
}

/* ---- how the engine fared ---------------------------------------------------------------------------------------- */

const char *cli_posterior_name(const pv_classifier *c) {
    switch (c->posterior->kind) {
    case PV_POSTERIOR_LAPLACE:
        return "laplace";
    case PV_POSTERIOR_VI:
        return "vi";
    case PV_POSTERIOR_HMC:
        return "hmc";
    }
    return "unknown";
}

/* A NaN among the values is the result: a chain that never moved must not look fine. */
double cli_rhat_max(const pv_posterior *p) {
    double worst = p->rhat ? 0 : NAN;
    for (size_t j = 0; p->rhat && j < p->dims; j++)
        if (!(p->rhat[j] <= worst))
            worst = p->rhat[j];
    return worst;
}

double cli_ess_min(const pv_posterior *p) {
    double worst = p->ess ? HUGE_VAL : NAN;
    for (size_t j = 0; p->ess && j < p->dims; j++)
        if (!(p->ess[j] >= worst))
            worst = p->ess[j];
    return worst;
}

static json_t *marginal_intervals(const pv_classifier *c, double level) {
    cli_spread *spreads = cli_alloc((size_t)c->classes, sizeof *spreads);
    json_t *object = cli_json_object();
    cli_marginal_spreads(c, level, spreads);
    for (int y = 0; y < c->classes; y++) {
        json_t *entry = cli_json_object();
        cli_json_set(entry, "value", cli_json_real(spreads[y].mean));
        cli_json_set(entry, "lo", cli_json_real(spreads[y].lo));
        cli_json_set(entry, "hi", cli_json_real(spreads[y].hi));
        cli_json_set(object, c->labels[y], entry);
    }
    free(spreads);
    return object;
}

void cli_json_posterior(json_t *object, const pv_classifier *c, double level) {
    const pv_posterior *p = c->posterior;
    if (!p)
        return;
    bool hmc = p->kind == PV_POSTERIOR_HMC;
    cli_json_set(object, "posterior", cli_json_text(cli_posterior_name(c)));
    cli_json_set(object, "posterior_stop", cli_json_text(pv_stop_name(p->stop)));
    cli_json_set(object, "draws", json_integer((json_int_t)p->count));
    cli_json_set(object, "interval", cli_json_real(level));
    cli_json_set(object, "marginal_interval", marginal_intervals(c, level));
    cli_json_set(object, "elbo", cli_json_real(hmc ? (double)NAN : p->elbo));
    cli_json_set(object, "elbo_se", cli_json_real(hmc ? (double)NAN : p->elbo_se));
    cli_json_set(object, "evidence", cli_json_real(p->kind == PV_POSTERIOR_VI ? p->evidence : (double)NAN));
    cli_json_set(object, "chains", hmc ? json_integer((json_int_t)p->chains) : json_null());
    cli_json_set(object, "rhat_max", cli_json_real(cli_rhat_max(p)));
    cli_json_set(object, "ess_min", cli_json_real(cli_ess_min(p)));
    cli_json_set(object, "divergences", hmc ? json_integer(p->divergences) : json_null());
}

void cli_print_posterior(const pv_classifier *c) {
    const pv_posterior *p = c->posterior;
    if (!p)
        return;
    printf("posterior %s: %s", cli_posterior_name(c), pv_stop_name(p->stop));
    if (p->iterations > 0)
        printf(" after %lld steps", (long long)p->iterations);
    printf(", %zu draws", p->count);
    switch (p->kind) {
    case PV_POSTERIOR_LAPLACE:
        printf(", log evidence about %.6g\n", p->elbo);
        break;
    case PV_POSTERIOR_VI:
        printf(", ELBO %.6g (standard error %.2g), log evidence about %.6g\n", p->elbo, p->elbo_se, p->evidence);
        break;
    case PV_POSTERIOR_HMC:
        printf(" in %zu chains, R-hat at most %.4g, effective size at least %.3g, %lld divergence%s\n", p->chains,
               cli_rhat_max(p), cli_ess_min(p), (long long)p->divergences, p->divergences == 1 ? "" : "s");
        break;
    }
}
