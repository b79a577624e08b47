/* Parses the specification of a network.
 *
 *   convnet[:key=value,...]     low module, then for each entry of channels a 3x3 convolution of stride 2 with ReLU and
 *                               dropout, then a convolution over the whole remaining plane to features
 *   inception[:key=value,...]   the same with each strided convolution replaced by an inception block: 1x1; 1x1 then
 *                               3x3; 1x1 then 5x5; 3x3 max pooling then 1x1; a quarter of the channels each, ReLU
 *
 * The low module is two 3x3 convolutions with ReLU at full resolution (those of VGG-16 if low is 64).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/network.h"

extern const pv__architecture pv__convnet, pv__inception;

enum { CHANNELS_MAX = 8, BLOCKS_MAX = 7, BLOCK_NODES = 8, OTHER_NODES = 3 };
_Static_assert(OTHER_NODES + BLOCKS_MAX * BLOCK_NODES <= PV_NODES_MAX, "inception has more nodes than a graph");
_Static_assert(OTHER_NODES + CHANNELS_MAX <= PV_NODES_MAX, "convnet has more nodes than a graph");

/* Limit for all tensors of one row's views together: 2 GiB in single precision. Specifications also come from model
 * files, whose few numbers must not be able to request more. */
static const double ROW_FLOATS_MAX = 1 << 29;

/* Limits on the cost of a specification, so that a mistake is reported before the work and not after hours: the plane
 * that the last convolution covers (a larger one is hundreds of times slower), parameters, and multiplications for the
 * views processed together. */
enum { PLANE_MAX = 16 };
static const double PARAMS_MAX = 1 << 28, PART_PRODUCTS_MAX = 1e12;

typedef struct sizes {
    long views, size, low, features;
    long channels[CHANNELS_MAX], blocks;
    double dropout;
    pv__view_pool pool;
    bool ordinal;
} sizes;

static pv_status wrong(pv_ctx *ctx, const char *spec, const char *what) {
    return pv__fail(ctx, PV_ERR_USAGE, "`model=%s`: %s", spec, what);
}

static bool whole(const char *text, size_t length, long low, long high, long *value) {
    char digits[16];
    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    char *end;
    *value = strtol(digits, &end, 10);
    return *end == '\0' && digits[0] >= '0' && digits[0] <= '9' && *value >= low && *value <= high;
}

static bool parse_channels(const char *text, size_t length, sizes *s) {
    s->blocks = 0;
    for (size_t at = 0; at <= length;) {
        size_t end = at;
        while (end < length && text[end] != '-')
            end++;
        if (s->blocks == CHANNELS_MAX || !whole(text + at, end - at, 1, 4096, &s->channels[s->blocks++]))
            return false;
        at = end + 1;
    }
    return s->blocks > 0;
}

static bool parse_pool(const char *text, size_t length, pv__view_pool *pool) {
    static const char *const words[] = {"max", "min", "mean"};
    for (int i = 0; i < 3; i++)
        if (strlen(words[i]) == length && strncmp(text, words[i], length) == 0) {
            *pool = (pv__view_pool)i;
            return true;
        }
    return false;
}

static bool parse_share(const char *text, size_t length, double *value) {
    char copy[32];
    if (length == 0 || length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return pv__parse_real(copy, value) && *value >= 0 && *value < 1;
}

static pv_status parse_pair(pv_ctx *ctx, const char *spec, const char *pair, size_t length, sizes *s) {
    const struct {
        const char *key;
        long low, high, *value;
    } numbers[] = {{"views=", 1, 255, &s->views},
                   {"size=", 4, 512, &s->size},
                   {"low=", 1, 1024, &s->low},
                   {"features=", 1, 8192, &s->features}};
    for (size_t i = 0; i < 4; i++) {
        size_t key = strlen(numbers[i].key);
        if (length > key && strncmp(pair, numbers[i].key, key) == 0) {
            if (whole(pair + key, length - key, numbers[i].low, numbers[i].high, numbers[i].value))
                return PV_OK;
            return pv__fail(ctx, PV_ERR_USAGE, "`model=%s`: %s is a whole number from %ld to %ld", spec, numbers[i].key,
                            numbers[i].low, numbers[i].high);
        }
    }
    if (strncmp(pair, "channels=", 9) == 0)
        return parse_channels(pair + 9, length - 9, s)
                   ? PV_OK
                   : wrong(ctx, spec, "channels are one to eight numbers up to 4096, as in channels=64-128-256");
    if (strncmp(pair, "dropout=", 8) == 0)
        return parse_share(pair + 8, length - 8, &s->dropout)
                   ? PV_OK
                   : wrong(ctx, spec, "dropout is at least 0 and below 1, as in dropout=0.1");
    if (strncmp(pair, "pool=", 5) == 0)
        return parse_pool(pair + 5, length - 5, &s->pool)
                   ? PV_OK
                   : wrong(ctx, spec, "pool is max, min or mean, as in pool=max");
    if (strncmp(pair, "output=", 7) == 0) {
        s->ordinal = length == 14 && strncmp(pair + 7, "ordinal", 7) == 0;
        return s->ordinal || (length == 14 && strncmp(pair + 7, "softmax", 7) == 0)
                   ? PV_OK
                   : wrong(ctx, spec, "output is softmax, or ordinal for labels in order");
    }
    return wrong(ctx, spec, "its options are views=, size=, low=, channels=, features=, dropout=, pool=, output=");
}

static int inception_block(pv__graph *g, int from, size_t channels, double dropout) {
    size_t quarter = channels / 4;
    int branch[4], narrow3 = pv__graph_conv(g, from, quarter, 1, 1, 0, 0);
    branch[0] = pv__graph_conv(g, from, channels - 3 * quarter, 1, 2, 0, 0);
    branch[1] = pv__graph_conv(g, narrow3, quarter, 3, 2, 1, 0);
    int narrow5 = pv__graph_conv(g, from, quarter, 1, 1, 0, 0);
    branch[2] = pv__graph_conv(g, narrow5, quarter, 5, 2, 2, 0);
    int pooled = pv__graph_maxpool(g, from, 3, 2, 1);
    branch[3] = pv__graph_conv(g, pooled, quarter, 1, 1, 0, 0);
    return pv__graph_concat(g, branch, 4, dropout);
}

static void build(pv__network *n, const sizes *s, bool inception) {
    pv__graph *g = &n->graph;
    *n = (pv__network){.views = (size_t)s->views,
                       .size = (size_t)s->size,
                       .features = (size_t)s->features,
                       .pool = s->pool,
                       .graph = {.input = {1, (size_t)s->size, (size_t)s->size}}};
    int at = pv__graph_conv(g, 0, (size_t)s->low, 3, 1, 1, 0);
    at = pv__graph_conv(g, at, (size_t)s->low, 3, 1, 1, 0);
    g->low = g->nodes;
    g->low_params = g->params;
    for (long b = 0; b < s->blocks; b++)
        at = inception ? inception_block(g, at, (size_t)s->channels[b], s->dropout)
                       : pv__graph_conv(g, at, (size_t)s->channels[b], 3, 2, 1, s->dropout);
    pv__graph_conv(g, at, n->features, pv__graph_shape(g, at).height, 1, 0, s->dropout);
}

static pv_status read_sizes(pv_ctx *ctx, const char *spec, const char *name, sizes *s, bool *mine) {
    size_t word = strcspn(spec, ":");
    bool inception = strcmp(name, "inception") == 0;
    *mine = word == strlen(name) && strncmp(spec, name, word) == 0;
    if (!*mine)
        return PV_OK;
    if (!pv__engine_best())
        return wrong(ctx, spec, "this prevail was built without networks for images (PV_IMAGES=OFF)");
    *s = (sizes){.views = 9,
                 .size = 32,
                 .low = 64,
                 .features = 256,
                 .channels = {64, 128, 256},
                 .blocks = 3,
                 .dropout = 0.1,
                 .pool = PV_POOL_MAX};
    for (const char *at = spec[word] ? spec + word + 1 : NULL; at;) {
        size_t length = strcspn(at, ",");
        PV_TRY(parse_pair(ctx, spec, at, length, s));
        at = at[length] ? at + length + 1 : NULL;
    }
    for (long b = 0; inception && b < s->blocks; b++)
        if (s->channels[b] < 4)
            return wrong(ctx, spec, "an inception block has at least 4 channels");
    if (inception && s->blocks > BLOCKS_MAX)
        return wrong(ctx, spec, "inception has at most 7 blocks, each an entry of channels");
    return PV_OK;
}

static double products_of_view(const pv__graph *g) {
    double sum = 0;
    for (int t = 0; t < g->nodes; t++) {
        const pv__node *node = &g->node[t];
        if (node->kind == PV_NODE_CONV)
            sum += (double)(node->bias - node->weight) * (double)node->out.height * (double)node->out.width;
    }
    return sum;
}

static pv_status check_cost(pv_ctx *ctx, const char *spec, const pv__network *network) {
    const pv__graph *g = &network->graph;
    const pv__node *last = &g->node[g->nodes - 1];
    if (last->kernel > PLANE_MAX)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`model=%s` leaves a plane of %zu x %zu for the last convolution, more than %d x %d:\nchoose a "
                        "smaller size or more channels, as in channels=64-128-256; each entry halves the plane",
                        spec, last->kernel, last->kernel, PLANE_MAX, PLANE_MAX);
    if ((double)g->params > PARAMS_MAX)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`model=%s` has %.0f million numbers to learn, more than %.0f:\nchoose fewer channels or features", spec,
            (double)g->params / 1e6, PARAMS_MAX / 1e6);
    double floats = pv__network_row_floats(network);
    if (floats > ROW_FLOATS_MAX)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`model=%s` needs %.0f GiB for one image, more than 2:\nchoose fewer views, a smaller size or "
                        "fewer channels",
                        spec, ceil(4 * floats / (1 << 30)));
    double products = products_of_view(g) * (double)pv__network_part_views(network);
    if (products > PART_PRODUCTS_MAX)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`model=%s` takes %.1e multiplications for %zu views, more than %.0e:\nchoose a smaller size "
                        "or fewer channels (low=, channels=)",
                        spec, products, pv__network_part_views(network), PART_PRODUCTS_MAX);
    return PV_OK;
}

bool pv__network_absent(const char *spec) {
    size_t word = strcspn(spec, ":");
    bool network = (word == 9 && strncmp(spec, "inception", 9) == 0) || (word == 7 && strncmp(spec, "convnet", 7) == 0);
    return network && !pv__engine_best();
}

pv_status pv__network_views(pv_ctx *ctx, const char *spec, const char *name, bool *mine, int64_t *views,
                            int64_t *size) {
    sizes s = {0};
    PV_TRY(read_sizes(ctx, spec, name, &s, mine));
    *views = s.views;
    *size = s.size;
    return PV_OK;
}

pv_status pv__network_parse(pv_ctx *ctx, pv_model *model, const char *spec, const char *name, bool *mine) {
    sizes s;
    PV_TRY(read_sizes(ctx, spec, name, &s, mine));
    if (!*mine)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, 1, sizeof *model->network, &model->network));
    build(model->network, &s, strcmp(name, "inception") == 0);
    size_t k = (size_t)model->classes, inputs = model->network->views * model->network->size * model->network->size;
    if ((size_t)model->inputs != inputs)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`model=%s` takes images: %ld views of %ld x %ld pixels; for tables choose linear, ordinal or mlp", spec,
            s.views, s.size, s.size);
    PV_TRY(check_cost(ctx, spec, model->network));
    model->ordinal = s.ordinal;
    model->params = model->network->graph.params +
                    (s.ordinal ? model->network->features + k - 1 : (model->network->features + 1) * k);
    return PV_OK;
}
