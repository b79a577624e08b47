/* A classifier's predictions in an unknown population with strata: each stratum is predicted by a classifier without
 * strata that has the stratum's marginal (each_stratum.c).
 */
#include <string.h>

#include "predict/predict.h"

typedef struct work {
    const pv_classifier *whole;
    const pv_dataset *data;
    const pv_population *population;
    const pv_predict_options *options;
    double *draws; /* [posterior->count][classes], the marginals of the current stratum */
} work;

static pv_status check(pv_ctx *ctx, const pv_dataset *data) {
    for (size_t i = 0; i < data->rows; i++)
        if (!data->stratum || data->stratum[i] < 0)
            return pv__fail(
                ctx, PV_ERR_INPUT,
                "row %zu does not name its stratum: `population=unknown` infers the prevalence of each stratum from "
                "its own rows;\nfill the column, or state prevalences with `population=known:FILE`",
                i + 1);
    return PV_OK;
}

/* The classifier for a stratum; -1: for all rows. */
static pv_classifier view_of(const work *w, int stratum) {
    const pv_stratified *of = w->whole->stratified;
    pv_classifier own = *w->whole;
    own.stratified = NULL;
    own.reference = NULL;
    if (stratum < 0)
        return own;
    size_t k = (size_t)of->classes, cells = (size_t)of->strata * k, s = (size_t)stratum;
    own.prevalence = of->prevalence + s * k;
    own.log_marginal = of->log_marginal + s * k;
    for (size_t n = 0; own.posterior && n < own.posterior->count; n++)
        memcpy(w->draws + n * k, of->draw_log_marginal + n * cells + s * k, k * sizeof(double));
    own.draw_log_marginal = w->draws;
    return own;
}

static pv_status halve(pv_ctx *ctx, pv_dataset *data) {
    if (!data->weight) {
        PV_TRY(pv__alloc(ctx, data->rows, sizeof *data->weight, &data->weight));
        data->weight[0] = data->weight[1] = 1;
    }
    data->weight[0] *= 0.5;
    data->weight[1] *= 0.5;
    return PV_OK;
}

static pv_status predict(pv_ctx *ctx, void *state, const pv__stratum_rows *rows, const char *prior,
                         pv_prediction **made) {
    const work *w = state;
    const pv_classifier own = view_of(w, rows->stratum);
    pv_population population = *w->population;
    pv_predict_options options = {.label = rows->label};
    pv_dataset *part = NULL;
    if (!rows->row)
        return pv__predict_plain(ctx, &own, w->data, &population, &options, made);
    options = *w->options;
    options.label = rows->label;
    if (prior)
        population.unknown.dirichlet = prior;
    PV_TRY(pv_dataset_take(ctx, w->data, rows->n, rows->row, &part));
    pv_status status = rows->halved ? halve(ctx, part) : PV_OK;
    if (status == PV_OK)
        status = pv__predict_plain(ctx, &own, part, &population, &options, made);
    pv_dataset_free(ctx, part);
    return status;
}

pv_status pv__predict_unknown_strata(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data,
                                     const pv_population *population, const pv_predict_options *options,
                                     pv_prediction *made) {
    work w = {.whole = c, .data = data, .population = population, .options = options};
    pv_unknown_options how = population->unknown;
    if (options->level > 0)
        how.level = options->level;
    const pv__by_stratum by = {.data = data,
                               .label = options->label,
                               .how = &how,
                               .log_marginal = c->log_marginal,
                               .stratum_log_marginal = c->stratified->log_marginal,
                               .predict = predict,
                               .state = &w};
    PV_TRY(check(ctx, data));
    if (c->posterior)
        PV_TRY(pv__alloc(ctx, c->posterior->count, (size_t)c->schema->classes * sizeof *w.draws, &w.draws));
    pv_status status = pv__each_stratum(ctx, &by, made);
    pv__free(ctx, w.draws);
    return status;
}
