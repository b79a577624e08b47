/* The trained classifier: its parts, and coefficients on the scale of the table. */
#include <math.h>
#include <string.h>

#include "data/data.h"
#include "data/schema_learn.h"
#include "infer/combined.h"
#include "infer/stacking.h"

void pv_classifier_free(pv_ctx *ctx, pv_classifier *classifier) {
    if (!classifier)
        return;
    pv_schema_free(ctx, classifier->schema);
    pv_model_free(ctx, classifier->model);
    pv__free(ctx, classifier->w);
    pv__free(ctx, classifier->prevalence);
    pv__free(ctx, classifier->design);
    pv__free(ctx, classifier->log_marginal);
    pv__free(ctx, classifier->source);
    pv__free(ctx, classifier->sample_source);
    pv_posterior_free(ctx, classifier->posterior);
    pv__free(ctx, classifier->draw_log_marginal);
    pv__trace_free(ctx, classifier->trace);
    pv__combination_free(ctx, classifier->combination);
    pv__free(ctx, classifier->centre);
    pv__free(ctx, classifier->spread);
    pv__free(ctx, classifier->averaging);
    pv__free(ctx, classifier->standard_error);
    pv__free(ctx, classifier->covariance);
    pv_stratified_free(ctx, classifier->stratified);
    pv__free(ctx, classifier->record);
    pv_reference_free(ctx, classifier->reference);
    pv__stacked_free(ctx, classifier->stacked);
    pv__free(ctx, classifier->boosted);
    pv__free(ctx, classifier->label_error);
    pv__smoothed_free(ctx, classifier->smoothing);
    pv__free(ctx, classifier);
}

/* Converts coefficients of encoded columns to those of the table's columns, in place. */
static void unscale(const pv_classifier *classifier, double *coefficients) {
    const pv_schema *schema = classifier->schema;
    size_t stride = pv__model_slopes(classifier->model) + 1;
    for (size_t row = 0; row + 1 < (size_t)classifier->schema->classes; row++) {
        double *c = coefficients + row * stride;
        size_t feature = 1;
        if (schema->offset)
            c[0] -= schema->source[0].mean;
        for (size_t s = schema->offset; s < schema->sources; s++) {
            const pv_source_column *source = &schema->source[s];
            if (source->type == PV_COLUMN_NUMBER) {
                c[feature] /= source->sd;
                c[0] -= c[feature] * source->mean;
            }
            feature += pv_source_width(source);
        }
    }
}

/* The thresholds and slopes of an ordinal model on the scale of the table. A column's mean shifts all thresholds. */
static pv_status unscale_thresholds(pv_ctx *ctx, const pv_classifier *classifier, const double *w,
                                    double *coefficients) {
    const pv_schema *schema = classifier->schema;
    size_t J = (size_t)schema->classes - 1, feature = J;
    double *room, moved = 0;
    PV_TRY(pv__alloc(ctx, pv__ordinal_room(J + 1), sizeof *room, &room));
    memcpy(coefficients, w, pv_model_params(classifier->model) * sizeof *coefficients);
    pv__ordinal_thresholds(J + 1, w, room, coefficients);
    pv__free(ctx, room);
    if (schema->offset)
        moved += schema->source[0].mean;
    for (size_t s = schema->offset; s < schema->sources; s++) {
        const pv_source_column *source = &schema->source[s];
        if (source->type == PV_COLUMN_NUMBER) {
            coefficients[feature] /= source->sd;
            moved += coefficients[feature] * source->mean;
        }
        feature += pv_source_width(source);
    }
    for (size_t j = 0; j < J; j++)
        coefficients[j] += moved;
    return PV_OK;
}

pv_status pv__coefficients_of(pv_ctx *ctx, const pv_classifier *classifier, const double *w, double *coefficients) {
    if (pv_model_has_thresholds(classifier->model))
        return unscale_thresholds(ctx, classifier, w, coefficients);
    if (!pv_model_has_coefficients(classifier->model))
        return pv__fail(ctx, PV_ERR_USAGE, "model %s has no coefficients; only linear and ordinal models do",
                        pv_model_spec(classifier->model));
    memcpy(coefficients, w, pv_model_params(classifier->model) * sizeof *coefficients);
    unscale(classifier, coefficients);
    return PV_OK;
}

pv_status pv_classifier_coefficients(pv_ctx *ctx, const pv_classifier *classifier, double *coefficients) {
    PV_TRY(pv__coefficients_of(ctx, classifier, classifier->w, coefficients));
    for (size_t i = 0; pv_loss_is_relative(classifier->loss) && i < pv_model_params(classifier->model); i++)
        if (!pv__is_estimable(classifier, i))
            coefficients[i] = (double)NAN;
    return PV_OK;
}

pv_status pv_classifier_draw_coefficients(pv_ctx *ctx, const pv_classifier *classifier, size_t draw,
                                          double *coefficients) {
    const pv_posterior *posterior = classifier->posterior;
    if (!posterior || draw >= posterior->count)
        return pv__fail(ctx, PV_ERR_USAGE, "the model has no draw %zu: it has %zu", draw,
                        posterior ? posterior->count : (size_t)0);
    return pv__coefficients_of(ctx, classifier, posterior->draws + draw * posterior->dims, coefficients);
}

static pv_status covariance_of_draws(pv_ctx *ctx, const pv_classifier *classifier, double *covariance) {
    size_t n = pv_model_params(classifier->model), count = classifier->posterior->count;
    double *mean, *one;
    PV_TRY(pv__alloc(ctx, 2 * n, sizeof *mean, &mean));
    one = mean + n;
    memset(covariance, 0, n * n * sizeof *covariance);
    pv_status status = PV_OK;
    for (size_t i = 0; i < count && status == PV_OK; i++) { /* Welford's algorithm, for means far from zero */
        status = pv_classifier_draw_coefficients(ctx, classifier, i, one);
        for (size_t a = 0; a < n; a++)
            one[a] -= mean[a];
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++)
                covariance[a * n + b] += one[a] * one[b] * (double)i / (double)(i + 1);
        for (size_t a = 0; a < n; a++)
            mean[a] += one[a] / (double)(i + 1);
    }
    for (size_t a = 0; a < n * n; a++)
        covariance[a] /= (double)count - 1;
    pv__free(ctx, mean);
    return status;
}

pv_status pv_classifier_covariance(pv_ctx *ctx, const pv_classifier *classifier, double *covariance) {
    size_t n = pv_model_params(classifier->model);
    if (!pv_model_has_coefficients(classifier->model) && !pv_model_has_thresholds(classifier->model))
        return pv__fail(ctx, PV_ERR_USAGE, "model %s has no coefficients; only linear and ordinal models do",
                        pv_model_spec(classifier->model));
    if (!classifier->covariance && classifier->posterior && classifier->posterior->count > 1)
        return covariance_of_draws(ctx, classifier, covariance);
    if (!classifier->covariance)
        return pv__fail(ctx, PV_ERR_USAGE, "the coefficients' covariance is not known: %s",
                        classifier->no_errors ? classifier->no_errors
                        : classifier->standard_error
                            ? "model files keep standard errors only; with `infer=laplace` they keep draws"
                            : "the fit has no standard errors");
    memcpy(covariance, classifier->covariance, n * n * sizeof *covariance);
    return PV_OK;
}
