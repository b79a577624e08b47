/* A classifier as it was before its output biases were matched to the stated population (docs/method.md, section 15):
 * what they were moved by makes up for a wrong line there, and nowhere else. In the population of the design, and where
 * the rows are to tell the prevalence, ratios p(y|x)/p(y) are wanted as the fit left them. */
#include <string.h>

#include "model/model.h"
#include "predict/predict.h"

pv_status pv__unmatched(pv_ctx *ctx, const pv_classifier *c, pv__unmatched_view *view,
                        const pv_classifier **unmatched) {
    const pv_agreement *a = c->agreement;
    size_t k = (size_t)c->schema->classes, params = pv_model_params(c->model),
           count = c->posterior ? c->posterior->count : 0, dims = count ? c->posterior->dims : 0;
    bool moved = false;
    *unmatched = c;
    for (size_t y = 0; a && y < k; y++)
        moved |= a->shift[y] != 0;
    if (!moved)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, params + count * dims + k, sizeof *view->block, &view->block));
    double *w = view->block, *draws = w + params, *back = draws + count * dims;
    for (size_t y = 0; y < k; y++)
        back[y] = -a->shift[y];
    memcpy(w, c->w, params * sizeof *w);
    pv_model_shift(c->model, back, w);
    view->classifier = *c;
    view->classifier.w = w;
    if (count) {
        memcpy(draws, c->posterior->draws, count * dims * sizeof *draws);
        for (size_t i = 0; i < count; i++)
            pv__model_shift_draw(c->model, back, dims, draws + i * dims);
        view->posterior = *c->posterior;
        view->posterior.draws = draws;
        view->classifier.posterior = &view->posterior;
    }
    *unmatched = &view->classifier;
    return PV_OK;
}
