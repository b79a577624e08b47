/* A network specification as given by --model or a model file. Small ones are run forward and backward. */
#include "fuzz.h"

static void run(pv_ctx *ctx, const pv_model *model, size_t inputs) {
    enum { ROWS = 2, CLASSES = 3 };
    size_t params = pv_model_params(model);
    double *w = fuzz_room(params, sizeof *w), *dw = fuzz_room(params, sizeof *dw),
           *x = fuzz_room(ROWS * inputs, sizeof *x), loglik[ROWS * CLASSES],
           dloglik[ROWS * CLASSES] = {1, 0, 0, 0, 1, 0};
    pv_model_work *work;
    pv_model_start(model, 1, NULL, w);
    for (size_t i = 0; i < params; i++)
        pv_model_is_bias(model, i);
    for (size_t i = 0; i < ROWS * inputs; i++)
        x[i] = (double)(i % 7) - 3;
    FUZZ_CHECK(pv_model_work_new(ctx, model, ROWS, &work) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    pv_model_forward(model, work, w, ROWS, x, loglik);
    for (size_t i = 0; i < ROWS * CLASSES; i++)
        FUZZ_CHECK(loglik[i] <= 0, "a log-likelihood is %g", loglik[i]);
    pv_model_backward(model, work, w, ROWS, x, loglik, dloglik, dw);
    for (size_t i = 0; i < params; i++)
        FUZZ_CHECK(isfinite(dw[i]), "a gradient is %g", dw[i]);
    pv_model_work_free(ctx, work);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 200)
        return 0;
    pv_ctx *ctx = fuzz_begin_within(256 << 20, FUZZ_PER_BYTE, size);
    fuzz_input in = {data, size};
    const char *spec = fuzz_line(&in);
    spec = spec ? spec : "";
    int64_t views = 0, side = 0;
    pv_model *model = NULL;
    pv_status status = pv_model_views(ctx, spec, &views, &side);
    int64_t inputs = views ? views * side * side : 5;
    if (status == PV_OK)
        status = pv_model_new(ctx, spec, (int)inputs, 3, &model);
    if (status != PV_OK)
        fuzz_refused(ctx, status);
    else if (pv_model_params(model) <= 5000 && inputs <= 512)
        run(ctx, model, (size_t)inputs);
    pv_model_free(ctx, model);
    fuzz_end(ctx);
    return 0;
}
