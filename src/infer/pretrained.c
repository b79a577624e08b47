/* Loads the first two convolutions of VGG-16 into the low-level module: from torchvision's state dict
 * (features.0.weight, [out][in] [3][3]) or the older conv1_1_W ([3][3][in][out]), saved as NPZ. The three input
 * channels of the first one are summed, because a grey image has equal channels.
 */
#include <math.h>

#include "base/text.h"
#include "infer/infer.h"
#include "model/network.h"

typedef struct layout {
    const char *weight[2], *bias[2];
    bool channels_last;
} layout;

static const layout layouts[] = {
    {{"features.0.weight", "features.2.weight"}, {"features.0.bias", "features.2.bias"}, false},
    {{"conv1_1_W", "conv1_2_W"}, {"conv1_1_b", "conv1_2_b"}, true}};

static pv_status find(pv_ctx *ctx, const char *path, pv_archive *archive, const char *name, int dims,
                      const size_t *shape, pv_array *array) {
    size_t member = pv_archive_find(archive, name);
    if (member == pv_archive_count(archive))
        return pv__fail_at(
            ctx, PV_ERR_INPUT, path, 0, 0,
            "has no array '%s' for `pretrained`;\nsave VGG-16's first two convolutions under torchvision's names",
            name);
    PV_TRY(pv_archive_array(ctx, archive, member, array));
    bool fits = array->dims == dims;
    for (int i = 0; i < dims && fits; i++)
        fits = array->shape[i] == shape[i];
    if (!fits && dims == 4)
        return pv__fail_at(ctx, PV_ERR_INPUT, path, 0, 0,
                           "array '%s' has the wrong shape: [%zu][%zu][%zu][%zu] is expected with this `model`", name,
                           shape[0], shape[1], shape[2], shape[3]);
    if (!fits)
        return pv__fail_at(ctx, PV_ERR_INPUT, path, 0, 0,
                           "array '%s' has the wrong shape: [%zu] is expected with this `model`", name, shape[0]);
    return PV_OK;
}

/* Reads each value only once, because the file may be written to. */
static pv_status take(pv_ctx *ctx, const char *path, const pv_array *array, size_t i, double *value) {
    *value = pv_array_number(array, i);
    return isfinite(*value)
               ? PV_OK
               : pv__fail_at(ctx, PV_ERR_INPUT, path, 0, 0, "array '%s' is not finite at element %zu;\nsave it again",
                             pv__show(array->name).text, i);
}

static pv_status load_layer(pv_ctx *ctx, const char *path, pv_archive *archive, const layout *l, int which,
                            const pv__node *node, double *w) {
    size_t out = node->out.channels, in = which == 0 ? 3 : out, taps = 9;
    const size_t first[4] = {out, in, 3, 3}, last[4] = {3, 3, in, out};
    pv_array weight, bias;
    PV_TRY(find(ctx, path, archive, l->weight[which], 4, l->channels_last ? last : first, &weight));
    PV_TRY(find(ctx, path, archive, l->bias[which], 1, &out, &bias));
    for (size_t o = 0; o < out; o++) {
        PV_TRY(take(ctx, path, &bias, o, &w[node->bias + o]));
        for (size_t c = 0; c < in; c++)
            for (size_t t = 0; t < taps; t++) {
                size_t from = l->channels_last ? (t * in + c) * out + o : (o * in + c) * taps + t;
                size_t to = which == 0 ? o * taps + t : (o * in + c) * taps + t;
                double value;
                PV_TRY(take(ctx, path, &weight, from, &value));
                w[node->weight + to] = (which == 0 && c > 0 ? w[node->weight + to] : 0) + value;
            }
    }
    return PV_OK;
}

pv_status pv__pretrained_load(pv_ctx *ctx, const pv_model *model, const char *path, double *w) {
    pv_archive *archive;
    PV_TRY(pv_archive_open(ctx, path, &archive));
    const layout *l = &layouts[pv_archive_find(archive, layouts[1].weight[0]) < pv_archive_count(archive)];
    pv_status status = PV_OK;
    for (int which = 0; which < 2 && status == PV_OK; which++)
        status = load_layer(ctx, path, archive, l, which, &model->network->graph.node[which], w);
    pv_archive_free(ctx, archive);
    return status;
}
