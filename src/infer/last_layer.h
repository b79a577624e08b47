/* src/infer/last_layer.h: posteriors over a network's last layer alone, whose draws have fewer numbers than the model
 * has parameters. */
#ifndef PV_SRC_LAST_LAYER_H
#define PV_SRC_LAST_LAYER_H

#include "prevail/infer.h"

static inline bool pv__is_last_layer(const pv_classifier *classifier) {
    return classifier->posterior && classifier->posterior->dims < pv_model_params(classifier->model);
}

/* hidden [n][pv__model_hidden]: the inputs of the last layer at w, for rows x [n][inputs]; x NULL: for the images of
 * data. */
PV_MUST_USE pv_status pv__hidden_rows(pv_ctx *ctx, const pv_model *model, const double *w, size_t n, const double *x,
                                      const pv_dataset *data, double *hidden);

#endif
