/* Arrays described by the input, as weights of a network's low-level module. */
#include "fuzz.h"
#include "infer/infer.h"

static const char *const names[] = {"features.0.weight", "features.2.weight", "features.0.bias", "features.2.bias",
                                    "conv1_1_W",         "conv1_2_W",         "conv1_1_b",       "conv1_2_b"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    fuzz_bytes file = {0};
    fuzz_npz(&in, names, sizeof names / sizeof *names, &file);
    pv_ctx *ctx = fuzz_begin(file.size);
    pv_model *model;
    FUZZ_CHECK(pv_model_new(ctx, "convnet:views=1,size=4,low=2,channels=2,features=2", 16, 2, &model) == PV_OK, "%s",
               pv_ctx_error(ctx)->message);
    double *w = fuzz_room(pv_model_params(model), sizeof *w);
    pv_status status = pv__pretrained_load(ctx, model, fuzz_file(0, file.data, file.size), w);
    for (size_t i = 0; status == PV_OK && i < pv_model_params(model); i++)
        FUZZ_CHECK(!isnan(w[i]), "a weight is NaN");
    if (status != PV_OK)
        fuzz_refused(ctx, status);
    pv_model_free(ctx, model);
    fuzz_end(ctx);
    free(file.data);
    return 0;
}
