/* The model's own output for rows, and its conversion to another label distribution. */
#include <math.h>

#include "base/base.h"
#include "data/data.h"
#include "model/model.h"
#include "predict/predict.h"

/* For a model that uses several threads within each chunk. */
static pv_status one_work_loglik(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data, double *loglik) {
    const pv_model *model = classifier->model;
    size_t chunk = pv__model_rows(model, 32);
    pv_model_work *work = NULL;
    double *buffer;
    PV_TRY(pv__alloc(ctx, chunk, (size_t)pv_model_inputs(model) * sizeof *buffer, &buffer));
    pv_status status = pv_model_work_new(ctx, model, chunk, &work);
    for (size_t begin = 0; begin < data->rows && status == PV_OK; begin += chunk) {
        size_t rows = data->rows - begin < chunk ? data->rows - begin : chunk;
        pv_model_forward(model, work, classifier->w, rows, pv_dataset_rows(ctx, data, begin, rows, buffer),
                         loglik + begin * (size_t)classifier->schema->classes);
        status = pv__model_work_check(ctx, work);
        if (status == PV_OK && pv__interrupted(ctx))
            status = pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request");
    }
    if (status == PV_OK)
        status = pv_images_unchanged(ctx, data->images, false);
    pv_model_work_free(ctx, work);
    pv__free(ctx, buffer);
    return status;
}

pv_status pv_predict_loglik(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data, double *loglik) {
    enum { CHUNK = 512 };
    const pv_model *model = classifier->model;
    size_t k = (size_t)classifier->schema->classes, d = (size_t)pv_model_inputs(model),
           chunks = (data->rows + CHUNK - 1) / CHUNK;
    if (data->features != pv_model_inputs(model))
        return pv__fail(ctx, PV_ERR_USAGE, "the data have %d features, the model %d", data->features,
                        pv_model_inputs(model));
    if (model->architecture->own_threads) {
        PV_TRY(one_work_loglik(ctx, classifier, data, loglik));
        return pv__gate_predicted(ctx, PV__GATE_LOG, classifier, data, loglik);
    }
    int threads = pv_ctx_threads(ctx);
    pv_model_work **work;
    double *buffer = NULL; /* [threads][CHUNK][d], rows assembled from columns */
    PV_TRY(pv__alloc(ctx, (size_t)threads, sizeof *work, &work));
    pv_status status = PV_OK;
    if (data->columns)
        status = pv__alloc(ctx, (size_t)threads * CHUNK, d * sizeof *buffer, &buffer);
    for (int t = 0; t < threads && status == PV_OK; t++)
        status = pv_model_work_new(ctx, model, CHUNK, &work[t]);
    if (status == PV_OK) {
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static)
        for (int t = 0; t < threads; t++)
            for (size_t c = (size_t)t * chunks / (size_t)threads; c < (size_t)(t + 1) * chunks / (size_t)threads; c++) {
                size_t begin = c * CHUNK, rows = data->rows - begin < CHUNK ? data->rows - begin : CHUNK;
                double *room = buffer ? buffer + (size_t)t * CHUNK * d : NULL;
                pv_model_forward(model, work[t], classifier->w, rows, pv_dataset_rows(ctx, data, begin, rows, room),
                                 loglik + begin * k);
            }
    }
    for (int t = 0; t < threads; t++)
        pv_model_work_free(ctx, work[t]);
    pv__free(ctx, work);
    pv__free(ctx, buffer);
    PV_TRY(status);
    PV_TRY(pv__columns_unchanged(ctx, data));
    return pv__gate_predicted(ctx, PV__GATE_LOG, classifier, data, loglik);
}
