/* What a model with strata says of them: their shares, prevalences and marginals in a population. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "predict/predict.h"

/* [strata][classes], log p_s(y|w) in the true population; with a posterior, of its mean over the draws. */
static void home_marginal(const pv_classifier *c, double *log_marginal) {
    const pv_stratified *of = c->stratified;
    size_t cells = (size_t)of->strata * (size_t)of->classes;
    size_t draws = c->posterior && of->draw_log_marginal ? c->posterior->count : 0;
    for (size_t i = 0; i < cells; i++) {
        double sum = 0;
        for (size_t s = 0; s < draws; s++)
            sum += exp(of->draw_log_marginal[s * cells + i]);
        log_marginal[i] = draws > 0 ? log(sum / (double)draws) : of->log_marginal[i];
    }
}

/* "known:P" moves all strata alike: p'(s,y) = P_y p(s|y). */
static void shift_whole(const double *prevalence, size_t k, pv_predicted_strata *to) {
    size_t cells = (size_t)to->strata * k;
    for (size_t y = 0; y < k; y++) {
        double all = 0;
        for (size_t i = y; i < cells; i += k)
            all += to->share[i / k] * to->prevalence[i];
        for (size_t i = y; i < cells; i += k)
            to->prevalence[i] *= to->share[i / k] * prevalence[y] / all;
    }
    for (size_t s = 0; s < (size_t)to->strata; s++) {
        to->share[s] = 0;
        for (size_t y = 0; y < k; y++)
            to->share[s] += to->prevalence[s * k + y];
        for (size_t y = 0; y < k; y++)
            to->prevalence[s * k + y] /= to->share[s];
    }
}

pv_status pv__predicted_strata_new(pv_ctx *ctx, const pv_classifier *c, const pv_population *population,
                                   pv_predicted_strata **made) {
    const pv_stratified *of = c->stratified;
    size_t k = (size_t)of->classes, strata = (size_t)of->strata;
    pv_predicted_strata *to;
    PV_TRY(pv__alloc(ctx, 1, sizeof *to, made));
    to = *made;
    to->strata = of->strata; /* before the names: what there is of them is freed by it */
    PV_TRY(pv__names_copy(ctx, (const char *const *)c->schema->strata->name, strata, &to->name));
    PV_TRY(pv__alloc(ctx, strata, (1 + 2 * k) * sizeof(double), &to->share)); /* all three; freed by it */
    to->prevalence = to->share + strata;
    to->log_marginal = to->prevalence + strata * k;
    memcpy(to->share, population->strata ? population->share : of->share, strata * sizeof(double));
    memcpy(to->prevalence, population->strata ? population->stratum_prevalence : of->prevalence,
           strata * k * sizeof(double));
    home_marginal(c, to->log_marginal);
    if (population->kind == PV_POPULATION_KNOWN && !population->strata)
        shift_whole(population->prevalence, k, to);
    if (population->kind != PV_POPULATION_UNKNOWN)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, strata, sizeof *to->inferred, &to->inferred));
    return pv__alloc(ctx, strata, sizeof *to->pooled, &to->pooled);
}

void pv__predicted_strata_free(pv_ctx *ctx, pv_predicted_strata *strata) {
    if (!strata)
        return;
    pv_string_list_free(ctx, strata->name, strata->name ? (size_t)strata->strata : 0);
    pv__free(ctx, strata->share);
    for (int s = 0; strata->inferred && s < strata->strata; s++)
        pv_unknown_prevalence_free(ctx, strata->inferred[s]);
    pv__free(ctx, strata->inferred);
    pv__free(ctx, strata->pooled);
    pv__free(ctx, strata);
}
