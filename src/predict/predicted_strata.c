/* Results of a model with strata for a population: the strata's proportions, prevalences and marginals. */
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

/* "known:P" shifts all strata alike: p'(s,y) = P_y p(s|y). */
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

pv_status pv__predicted_strata_room(pv_ctx *ctx, const pv_strata *strata, int classes, bool unknown,
                                    pv_predicted_strata **made) {
    size_t k = (size_t)classes, count = (size_t)strata->count;
    pv_predicted_strata *to;
    PV_TRY(pv__alloc(ctx, 1, sizeof *to, made));
    to = *made;
    to->strata = strata->count; /* set before the names, so that a partial copy can be freed */
    PV_TRY(pv__names_copy(ctx, (const char *const *)strata->name, count, &to->name));
    PV_TRY(pv__alloc(ctx, count, (1 + 2 * k) * sizeof(double), &to->share)); /* one block for all three arrays */
    to->prevalence = to->share + count;
    to->log_marginal = to->prevalence + count * k;
    if (!unknown)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, count, sizeof *to->inferred, &to->inferred));
    return pv__alloc(ctx, count, sizeof *to->pooled, &to->pooled);
}

pv_status pv__predicted_strata_new(pv_ctx *ctx, const pv_classifier *c, const pv_population *population,
                                   pv_predicted_strata **made) {
    const pv_stratified *of = c->stratified;
    size_t k = (size_t)of->classes, strata = (size_t)of->strata;
    bool unknown = population->kind == PV_POPULATION_UNKNOWN;
    PV_TRY(pv__predicted_strata_room(ctx, c->schema->strata, of->classes, unknown, made));
    pv_predicted_strata *to = *made;
    memcpy(to->share, population->strata ? population->share : of->share, strata * sizeof(double));
    memcpy(to->prevalence, population->strata ? population->stratum_prevalence : of->prevalence,
           strata * k * sizeof(double));
    home_marginal(c, to->log_marginal);
    if (population->kind == PV_POPULATION_KNOWN && !population->strata)
        shift_whole(population->prevalence, k, to);
    return PV_OK;
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
