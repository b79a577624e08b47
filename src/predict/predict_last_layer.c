/* Presents a classifier whose posterior covers only its last layer as a classifier of that layer's inputs: the rest of
 * the network makes one forward pass over the rows, and everything that involves draws uses the last layer alone. */
#include "infer/last_layer.h"

#include "model/model.h"
#include "predict/predict.h"

pv_status pv__head_of(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, pv__head_view *view) {
    size_t params = pv_model_params(c->model);
    if (data->features != pv_model_inputs(c->model))
        return pv__fail(ctx, PV_ERR_USAGE, "the data have %d features, the model %d", data->features,
                        pv_model_inputs(c->model));
    PV_TRY(pv__alloc(ctx, data->rows, pv__model_hidden(c->model) * sizeof *view->hidden, &view->hidden));
    PV_TRY(pv__model_head(ctx, c->model, &view->model));
    PV_TRY(pv__hidden_rows(ctx, c->model, c->w, data->rows, data->images ? NULL : data->x, data, view->hidden));
    view->classifier = *c;
    view->classifier.model = view->model;
    view->classifier.w = c->w + params - c->posterior->dims;
    view->data = *data;
    view->data.x = view->hidden;
    view->data.features = pv_model_inputs(view->model);
    view->data.images = NULL;
    view->data.columns = NULL;
    return PV_OK;
}

void pv__head_clear(pv_ctx *ctx, pv__head_view *view) {
    pv_model_free(ctx, view->model);
    pv__free(ctx, view->hidden);
}
