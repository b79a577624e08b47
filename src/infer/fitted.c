/* A finished fit in a checkpoint: work that consists of many fits (folds, members of a sweep, replicates) restores
 * them.
 */
#include <math.h>
#include <string.h>

#include "infer/combined.h"

typedef struct summary {
    int64_t stop, iterations, has_posterior, kind, count, chains, components, diagonal, rank, posterior_stop,
        posterior_iterations, divergences, max_depth_hits, best_epoch;
    double passes, loss_value, validation, elbo, elbo_se, evidence, acceptance, step_size;
    int64_t has_combination, use, terms, rank_of_test, controls, separated;
    double statistic, p_value, df_risk, units, spread_df;
    int64_t has_errors, has_spread, has_centre, averages, dims;
} summary;

static summary summarise(const pv_classifier *c) {
    const pv_posterior *p = c->posterior;
    summary s = {.stop = c->stop,
                 .iterations = c->iterations,
                 .has_posterior = p != NULL,
                 .passes = c->passes,
                 .loss_value = c->loss_value,
                 .validation = c->validation,
                 .has_errors = c->standard_error != NULL,
                 .has_spread = c->spread != NULL,
                 .has_centre = c->centre != NULL,
                 .averages = c->averaging != NULL,
                 .spread_df = c->spread_df,
                 .best_epoch = c->best_epoch,
                 .separated = c->separated};
    const pv_combination *m = c->combination;
    if (m) {
        s.has_combination = 1;
        s.use = m->use;
        s.terms = (int64_t)m->terms;
        s.rank_of_test = m->rank;
        s.statistic = m->statistic;
        s.p_value = m->p_value;
        s.df_risk = m->df_risk;
        s.units = m->units;
        s.controls = m->controls;
    }
    if (!p)
        return s;
    s.kind = p->kind;
    s.count = (int64_t)p->count;
    s.dims = (int64_t)p->dims;
    s.chains = (int64_t)p->chains;
    s.components = (int64_t)p->mixture.components;
    s.diagonal = p->mixture.diagonal;
    s.rank = (int64_t)p->mixture.rank;
    s.posterior_stop = p->stop;
    s.posterior_iterations = p->iterations;
    s.divergences = p->divergences;
    s.max_depth_hits = p->max_depth_hits;
    s.elbo = p->elbo;
    s.elbo_se = p->elbo_se;
    s.evidence = p->evidence;
    s.acceptance = p->acceptance;
    s.step_size = p->step_size;
    return s;
}

static size_t add(pv_field *field, size_t n, double *values, size_t count) {
    field[n].data = values;
    field[n].size = values ? count * sizeof *values : 0;
    return n + 1;
}

enum { FIELDS = 20, FINITE = 5, DIAGNOSED = 8 };

/* The arrays after the summary; absent ones have no bytes. */
static size_t arrays_of(pv_classifier *c, pv_field *field) {
    size_t k = (size_t)c->schema->classes, params = pv_model_params(c->model), n = 0;
    pv_posterior *p = c->posterior;
    n = add(field, n, c->w, params);
    n = add(field, n, c->log_marginal, k);
    n = add(field, n, c->prevalence, k);
    pv_combination *m = c->combination;
    n = add(field, n, m ? m->weighted : NULL, pv__combination_numbers(params, m) + pv__combination_checks(m));
    size_t cells = c->stratified ? (size_t)c->stratified->strata * k : 0;
    n = add(field, n, c->stratified ? c->stratified->log_marginal : NULL, cells);
    if (!p) { /* there is no posterior; some values may be undefined */
        n = add(field, n, c->standard_error, params);
        n = add(field, n, c->centre, params);
        n = add(field, n, c->averaging, c->averaging ? k - 1 : 0);
        return add(field, n, c->spread, params * params);
    }
    params = p->dims;
    pv_mixture *of = &p->mixture;
    n = add(field, n, p->draws, p->count * params);
    n = add(field, n, c->draw_log_marginal, p->count * k);
    n = add(field, n, c->stratified ? c->stratified->draw_log_marginal : NULL, p->count * cells);
    n = add(field, n, p->rhat, params);
    n = add(field, n, p->ess, params);
    n = add(field, n, of->weight, of->components);
    n = add(field, n, of->mean, of->components * params);
    n = add(field, n, of->factor, of->components * pv_mixture_factor_size(params, of->diagonal, of->rank));
    n = add(field, n, of->scale, params);
    n = add(field, n, of->basis, of->rank * params);
    n = add(field, n, c->spread, params * params);
    return add(field, n, c->standard_error, params); /* last, because some values may be undefined */
}

pv_status pv__fitted_keep(pv_ctx *ctx, pv_classifier *c) {
    if (!ctx->checkpoint)
        return PV_OK;
    summary s = summarise(c);
    pv_field field[FIELDS];
    size_t n = arrays_of(c, field);
    PV_TRY(pv_checkpoint_keep(ctx, "fitted", &(pv_field){&s, sizeof s}, 1));
    PV_TRY(pv_checkpoint_keep(ctx, "fitted arrays", field, n));
    pv_checkpoint_drop(ctx, "minibatch");
    pv_checkpoint_drop(ctx, "vi");
    pv_checkpoint_drop(ctx, "hmc/");
    return PV_OK;
}

/* Checks counts against the size of the data before allocating. */
static pv_status new_posterior(pv_ctx *ctx, const summary *s, size_t bytes, pv_classifier *c) {
    size_t params = (size_t)s->dims, k = (size_t)c->schema->classes, most = bytes / sizeof(double);
    if (!pv__posterior_dims_sound(c->model, params) || s->count < 1 || (uint64_t)s->count > most ||
        params > most / (size_t)s->count || s->components < 0 || (uint64_t)s->components > most || s->rank < 0 ||
        s->rank > PV_MIXTURE_RANK_MAX ||
        pv_mixture_factor_size(params, s->diagonal, (size_t)s->rank) > most / ((size_t)s->components + 1) + 1 ||
        s->kind < PV_POSTERIOR_LAPLACE || s->kind > PV_POSTERIOR_HMC || s->posterior_stop < 0 ||
        s->posterior_stop > PV_STOP_POOR || s->chains < 0)
        return pv__checkpoint_damaged(ctx, "its posterior is damaged");
    PV_TRY(pv__alloc(ctx, 1, sizeof *c->posterior, &c->posterior));
    pv_posterior *p = c->posterior;
    *p = (pv_posterior){.kind = (pv_posterior_kind)s->kind,
                        .dims = params,
                        .count = (size_t)s->count,
                        .chains = (size_t)s->chains,
                        .stop = (pv_stop)s->posterior_stop,
                        .iterations = s->posterior_iterations,
                        .divergences = s->divergences,
                        .max_depth_hits = s->max_depth_hits,
                        .elbo = s->elbo,
                        .elbo_se = s->elbo_se,
                        .evidence = s->evidence,
                        .acceptance = s->acceptance,
                        .step_size = s->step_size};
    pv_mixture *m = &p->mixture;
    m->components = (size_t)s->components;
    m->dims = s->components ? params : 0;
    m->diagonal = s->diagonal != 0;
    m->rank = (size_t)s->rank;
    PV_TRY(pv__alloc(ctx, p->count, params * sizeof(double), &p->draws));
    PV_TRY(pv__alloc(ctx, p->count, k * sizeof(double), &c->draw_log_marginal));
    if (c->stratified)
        PV_TRY(pv__alloc(ctx, p->count, (size_t)c->stratified->strata * k * sizeof(double),
                         &c->stratified->draw_log_marginal));
    if (p->kind == PV_POSTERIOR_HMC) {
        PV_TRY(pv__alloc(ctx, params, sizeof(double), &p->rhat));
        return pv__alloc(ctx, params, sizeof(double), &p->ess);
    }
    PV_TRY(pv__alloc(ctx, m->components, sizeof(double), &m->weight));
    PV_TRY(pv__alloc(ctx, m->components, params * sizeof(double), &m->mean));
    PV_TRY(pv__alloc(ctx, m->components, pv_mixture_factor_size(params, m->diagonal, m->rank) * sizeof(double),
                     &m->factor));
    if (m->rank == 0)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, params, sizeof(double), &m->scale));
    return pv__alloc(ctx, m->rank, params * sizeof(double), &m->basis);
}

/* The number of terms follows from the schema. */
static pv_status new_combination(pv_ctx *ctx, const summary *s, pv_classifier *c) {
    size_t slopes = pv_model_has_coefficients(c->model) ? pv__model_slopes(c->model) : 0;
    if (s->terms < 0 || (uint64_t)s->terms > slopes || s->use < 0 || s->use > PV_ESTIMATE_COMBINED)
        return pv__checkpoint_damaged(ctx, "how its estimates were combined is damaged");
    PV_TRY(pv__combination_new(ctx, pv_model_params(c->model), (size_t)s->terms, slopes, &c->combination));
    pv_combination *m = c->combination;
    if (pv__terms_of(c->schema, m->term) != (size_t)s->terms)
        return pv__checkpoint_damaged(ctx, "how its estimates were combined is damaged");
    m->use = (int)s->use;
    m->rank = s->rank_of_test;
    m->statistic = s->statistic;
    m->p_value = s->p_value;
    m->df_risk = s->df_risk;
    m->units = s->units;
    m->controls = s->controls;
    return PV_OK;
}

pv_status pv__fitted_recall(pv_ctx *ctx, pv_classifier *c, bool *found) {
    summary s;
    PV_TRY(pv_checkpoint_recall(ctx, "fitted", &(pv_field){&s, sizeof s}, 1, found));
    size_t bytes = pv_checkpoint_size(ctx, "fitted arrays");
    if (!*found || !bytes) { /* killed between the two */
        *found = false;
        return PV_OK;
    }
    if (s.stop < 0 || s.stop > PV_STOP_POOR)
        return pv__checkpoint_damaged(ctx, "why a fit stopped is unknown");
    if (s.has_posterior)
        PV_TRY(new_posterior(ctx, &s, bytes, c));
    size_t params = pv_model_params(c->model);
    if (s.has_combination)
        PV_TRY(new_combination(ctx, &s, c));
    if (s.has_centre)
        PV_TRY(pv__alloc(ctx, params, sizeof(double), &c->centre));
    if (s.has_spread)
        PV_TRY(pv__alloc(ctx, params, params * sizeof(double), &c->spread));
    if (s.averages)
        PV_TRY(pv__alloc(ctx, (size_t)c->schema->classes - 1, sizeof(double), &c->averaging));
    if (s.has_errors)
        PV_TRY(pv__alloc(ctx, pv_model_params(c->model), sizeof(double), &c->standard_error));
    pv_field field[FIELDS];
    size_t n = arrays_of(c, field);
    PV_TRY(pv_checkpoint_recall(ctx, "fitted arrays", field, n, found));
    PV_TRY(pv__checkpoint_finite(ctx, field, s.has_posterior ? DIAGNOSED : FINITE));
    if (n > DIAGNOSED + 2) /* skips R-hat and effective sizes, which may be undefined */
        PV_TRY(pv__checkpoint_finite(ctx, field + DIAGNOSED + 2, n - DIAGNOSED - 3));
    c->spread_df = s.spread_df;
    if (c->spread)
        PV_TRY(pv__set_errors(ctx, c->spread, c));
    c->stop = (pv_stop)s.stop;
    c->iterations = s.iterations;
    c->separated = s.separated;
    c->passes = s.passes;
    c->loss_value = s.loss_value;
    c->validation = s.validation;
    c->best_epoch = s.best_epoch;
    return c->trace ? pv__trace_recall(ctx, c->trace, SIZE_MAX) : PV_OK;
}
