/* The trained classifier: its parts, and coefficients on the scale of the table. */
#include <math.h>
#include <string.h>

#include "data/data.h"
#include "infer/classifier.h"
#include "infer/infer.h"

void pv_classifier_free(pv_ctx *ctx, pv_classifier *classifier) {
    if (!classifier)
        return;
    pv_encoding_free(ctx, classifier->encoding);
    pv_string_list_free(ctx, classifier->labels, (size_t)classifier->classes);
    pv_model_free(ctx, classifier->model);
    pv__free(ctx, classifier->target);
    pv__free(ctx, classifier->weights);
    pv__free(ctx, classifier->w);
    pv__free(ctx, classifier->prevalence);
    pv__free(ctx, classifier->design);
    pv__free(ctx, classifier->log_marginal);
    pv__free(ctx, classifier->source);
    pv__free(ctx, classifier->sample_source);
    pv_posterior_free(ctx, classifier->posterior);
    pv__free(ctx, classifier->draw_log_marginal);
    pv__trace_free(ctx, classifier->trace);
    pv__free(ctx, classifier->record);
    pv__free(ctx, classifier);
}

pv_status pv__copy_strings(pv_ctx *ctx, char *const *from, size_t n, char ***to) {
    PV_TRY(pv__alloc(ctx, n, sizeof **to, to));
    for (size_t i = 0; i < n; i++)
        PV_TRY(pv__strdup(ctx, from[i], &(*to)[i]));
    return PV_OK;
}

static pv_status copy_source(pv_ctx *ctx, const pv_source_column *from, pv_source_column *to) {
    to->type = from->type;
    to->mean = from->mean;
    to->sd = from->sd;
    PV_TRY(pv__strdup(ctx, from->name, &to->name));
    to->levels = from->levels;
    if (from->levels > 0)
        PV_TRY(pv__copy_strings(ctx, from->level, (size_t)from->levels, &to->level));
    return PV_OK;
}

pv_status pv__copy_encoding(pv_ctx *ctx, const pv_encoding *from, pv_encoding **to) {
    pv_encoding *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, to));
    made = *to;
    PV_TRY(pv__alloc(ctx, from->sources, sizeof *made->source, &made->source));
    made->sources = from->sources;
    for (size_t i = 0; i < from->sources; i++)
        PV_TRY(copy_source(ctx, &from->source[i], &made->source[i]));
    made->features = from->features;
    if (from->image)
        return pv__image_encoding_copy(ctx, from->image, &made->image);
    return pv__copy_strings(ctx, from->feature, (size_t)from->features, &made->feature);
}

/* From the encoded columns to those of the table, in place. */
static void unscale(const pv_classifier *classifier, double *coefficients) {
    const pv_encoding *encoding = classifier->encoding;
    size_t stride = (size_t)encoding->features + 1;
    for (size_t row = 0; row + 1 < (size_t)classifier->classes; row++) {
        double *c = coefficients + row * stride;
        size_t feature = 1;
        for (size_t s = 0; s < encoding->sources; s++) {
            const pv_source_column *source = &encoding->source[s];
            if (source->type == PV_COLUMN_TEXT) {
                feature += (size_t)source->levels - 1;
                continue;
            }
            c[feature] /= source->sd;
            c[0] -= c[feature] * source->mean;
            feature++;
        }
    }
}

static pv_status coefficients_of(pv_ctx *ctx, const pv_classifier *classifier, const double *w, double *coefficients) {
    if (!pv_model_has_coefficients(classifier->model))
        return pv__fail(ctx, PV_ERR_USAGE, "model %s has no coefficients; only linear models do",
                        pv_model_spec(classifier->model));
    memcpy(coefficients, w, pv_model_params(classifier->model) * sizeof *coefficients);
    unscale(classifier, coefficients);
    return PV_OK;
}

pv_status pv_classifier_coefficients(pv_ctx *ctx, const pv_classifier *classifier, double *coefficients) {
    return coefficients_of(ctx, classifier, classifier->w, coefficients);
}

pv_status pv_classifier_draw_coefficients(pv_ctx *ctx, const pv_classifier *classifier, size_t draw,
                                          double *coefficients) {
    const pv_posterior *posterior = classifier->posterior;
    if (!posterior || draw >= posterior->count)
        return pv__fail(ctx, PV_ERR_USAGE, "the model has no draw %zu: it has %zu", draw,
                        posterior ? posterior->count : (size_t)0);
    return coefficients_of(ctx, classifier, posterior->draws + draw * posterior->dims, coefficients);
}
