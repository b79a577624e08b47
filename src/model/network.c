/* Networks over views of an image (section 9 of the paper).
 *
 *   h_nv = graph(x_nv) for each view v, weights shared;  h_n = pool over v of h_nv;  logits = h_n W + b
 *
 * The graph runs on an engine (compute/graph.h), in parts of about PART_IMAGES views for any number of threads. Pooling
 * over views, the output layer and softmax are computed here in double precision.
 */
#include <math.h>
#include <string.h>

#include "base/openmp.h"
#include "model/network.h"

enum { PART_IMAGES = 36 };

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* The number of outputs: one logit per label, or a single one for ordered labels. */
static size_t outputs(const pv_model *model) {
    return model->ordinal ? 1 : (size_t)model->classes;
}

/* Number of parameters after those of the graph. */
static size_t output_params(const pv_model *model) {
    return model->params - model->network->graph.params;
}

static bool is_bias(const pv_model *model, size_t parameter) {
    const pv__graph *g = &model->network->graph;
    if (parameter >= g->params)
        return parameter >= g->params + model->network->features * outputs(model);
    for (int t = 0; t < g->nodes; t++)
        if (g->node[t].kind == PV_NODE_CONV && parameter < g->node[t].bias + g->node[t].out.channels)
            return parameter >= g->node[t].bias;
    return false;
}

/* He et al. 2015: variance 2/inputs of each convolution. The output layer starts small, so that the first outputs are
 * close to its biases. */
static void start(const pv_model *model, uint64_t seed, double *w) {
    const pv__graph *g = &model->network->graph;
    for (int t = 0; t < g->nodes; t++) {
        const pv__node *node = &g->node[t];
        if (node->kind != PV_NODE_CONV)
            continue;
        pv_rng rng = pv_rng_stream(seed, PV_STREAM_NETWORK_START, (uint64_t)t);
        size_t count = node->bias - node->weight;
        double scale = sqrt(2 * (double)node->out.channels / (double)count);
        for (size_t i = 0; i < count; i++)
            w[node->weight + i] = scale * pv_rng_normal(&rng);
    }
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_NETWORK_START, PV_NODES_MAX);
    double scale = 0.1 * sqrt(2 / (double)model->network->features);
    for (size_t i = 0; i < model->network->features * outputs(model); i++)
        w[g->params + i] = scale * pv_rng_normal(&rng);
}

static double *output_bias(const pv_model *model, double *w, size_t *stride) {
    *stride = 1;
    return w + model->network->graph.params + model->network->features * outputs(model);
}

double pv__network_row_floats(const pv__network *network) {
    double floats = 0;
    for (int t = 0; t <= network->graph.nodes; t++) {
        pv__shape shape = pv__graph_shape(&network->graph, t);
        size_t channels = (shape.channels + 15) / 16 * 16;
        floats += (double)channels * (double)shape.height * (double)shape.width;
    }
    return (double)network->views * floats;
}

size_t pv__network_part_views(const pv__network *network) {
    return network->views < PART_IMAGES ? PART_IMAGES / network->views * network->views : network->views;
}

static size_t part_rows(const pv__network *network, size_t rows) {
    size_t most = pv__network_part_views(network) / network->views;
    return rows > 0 && rows < most ? rows : most;
}

size_t pv__network_step_views(const pv__network *network, size_t rows) {
    size_t part = part_rows(network, rows);
    return (rows + part - 1) / part * part * network->views;
}

/* ---- work -------------------------------------------------------------------------------------------------------- */

static void work_free(pv_ctx *ctx, pv_model_work *work) {
    pv__network_work *n = work->network;
    if (!n)
        return;
    n->kind->close(ctx, n->engine);
    pv__free(ctx, n->padded);
    pv__free(ctx, n->features);
    pv__free(ctx, n->pooled);
    pv__free(ctx, n->logits);
    pv__free(ctx, n->chosen);
    pv__free(ctx, n->doutput);
    pv__free(ctx, n);
}

static pv_status fill_work(pv_ctx *ctx, const pv_model *model, size_t rows, pv__network_work *n) {
    const pv__network *net = model->network;
    n->ctx = ctx;
    n->threads = pv_ctx_threads(ctx);
    n->part_rows = n->kind->whole && rows > 0 ? rows : part_rows(net, rows);
    n->parts = (rows + n->part_rows - 1) / n->part_rows;
    n->step_views = pv__network_step_views(net, rows);
    size_t lanes = n->parts < (size_t)n->threads ? n->parts : (size_t)n->threads;
    size_t images = n->part_rows * net->views, all = n->parts * images * net->features;
    PV_TRY(n->kind->open(ctx, &net->graph, images, n->parts, (int)lanes, &n->engine));
    PV_TRY(pv__alloc(ctx, n->part_rows, (size_t)model->inputs * sizeof(double), &n->padded));
    PV_TRY(pv__alloc(ctx, all, 2 * sizeof(double), &n->features));
    n->dfeatures = n->features + all;
    PV_TRY(pv__alloc(ctx, rows, net->features * sizeof(double), &n->pooled));
    size_t k = (size_t)model->classes;
    PV_TRY(pv__alloc(ctx, rows * k + pv__ordinal_room(k), sizeof(double), &n->logits));
    n->room = n->logits + rows * k;
    PV_TRY(pv__alloc(ctx, n->parts, output_params(model) * sizeof(double), &n->doutput));
    return pv__alloc(ctx, rows, net->features * sizeof(uint16_t), &n->chosen);
}

pv_status pv__network_work_new(pv_ctx *ctx, const pv_model *model, size_t rows, const pv__engine_kind *kind,
                               pv_model_work **work) {
    *work = NULL;
    pv_model_work *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->architecture = model->architecture;
    made->rows = rows;
    pv_status status = pv__alloc(ctx, 1, sizeof *made->network, &made->network);
    if (status == PV_OK) {
        made->network->kind = kind;
        status = fill_work(ctx, model, rows, made->network);
    }
    if (status == PV_OK)
        *work = made;
    else
        pv_model_work_free(ctx, made);
    return status;
}

static pv_status work_new(pv_ctx *ctx, const pv_model *model, size_t rows, pv_model_work **work) {
    *work = NULL;
    const pv__engine_kind *kind;
    PV_TRY(pv__engine_find(ctx, &kind));
    return pv__network_work_new(ctx, model, rows, kind, work);
}

static void train(pv_model_work *work, uint64_t seed, uint64_t step, bool freeze_low) {
    if (!work->network->training && !work->network->shared && work->network->kind->heed)
        work->network->kind->heed(work->network->engine, work->network->ctx);
    work->network->training = true;
    work->network->seed = seed;
    work->network->step = step;
    work->network->freeze_low = freeze_low;
}

static size_t group_rows(const pv_model *model, size_t batch) {
    return part_rows(model->network, batch);
}

static bool share(const pv_model *model, pv_model_work *work, size_t batch, size_t first) {
    work->network->shared = true;
    work->network->step_views = pv__network_step_views(model->network, batch);
    work->network->first_view = first * model->network->views;
    return !work->network->kind->whole;
}

static pv_status check(pv_ctx *ctx, const pv_model_work *work) {
    const pv__network_work *network = work->network;
    return network->kind->check ? network->kind->check(ctx, network->engine) : PV_OK;
}

static size_t most_rows(const pv_model *model, size_t most) {
    double rows = (1 << 28) / pv__network_row_floats(model->network);
    return rows < 1 ? 1 : rows < (double)most ? (size_t)rows : most;
}

static size_t low_params(const pv_model *model) {
    return model->network->graph.low_params;
}

size_t pv__network_features(const pv_model *model) {
    return model->network->features;
}

static const double *hidden(const pv_model *model, const pv_model_work *work) {
    (void)model;
    return work->network->pooled;
}

/* ---- views to rows ----------------------------------------------------------------------------------------------- */

static void pool_views(const pv__network *net, pv__network_work *work, size_t n) {
    size_t F = net->features, V = net->views;
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < F; f++) {
            const double *h = work->features + i * V * F + f;
            double sum = 0;
            size_t best = 0;
            for (size_t v = 0; v < V; v++) {
                sum += h[v * F];
                if (net->pool == PV_POOL_MIN ? h[v * F] < h[best * F] : h[v * F] > h[best * F])
                    best = v;
            }
            work->chosen[i * F + f] = (uint16_t)best;
            work->pooled[i * F + f] = net->pool == PV_POOL_MEAN ? sum / (double)V : h[best * F];
        }
}

static void pool_backward(const pv__network *net, pv__network_work *work, size_t n, size_t k, const double *w) {
    size_t F = net->features, V = net->views;
    memset(work->dfeatures, 0, work->parts * work->part_rows * V * F * sizeof *work->dfeatures);
    for (size_t i = 0; i < n; i++)
        for (size_t f = 0; f < F; f++) {
            double slope = 0, *dh = work->dfeatures + i * V * F + f;
            for (size_t y = 0; y < k; y++)
                slope += work->logits[i * k + y] * w[f * k + y];
            if (net->pool != PV_POOL_MEAN)
                dh[work->chosen[i * F + f] * F] = slope;
            for (size_t v = 0; net->pool == PV_POOL_MEAN && v < V; v++)
                dh[v * F] = slope / (double)V;
        }
}

/* ---- forward and backward ---------------------------------------------------------------------------------------- */

/* The rows of a part; the last part is padded with zeros. */
static const double *part_input(const pv_model *model, pv__network_work *work, size_t part, size_t n, const double *x) {
    size_t d = (size_t)model->inputs, begin = part * work->part_rows, rows = n - begin;
    if (rows >= work->part_rows)
        return x + begin * d;
    memcpy(work->padded, x + begin * d, rows * d * sizeof *x);
    memset(work->padded + rows * d, 0, (work->part_rows - rows) * d * sizeof *x);
    return work->padded;
}

static void forward(const pv_model *model, pv_model_work *held, const double *w, size_t n, const double *x,
                    double *loglik) {
    const pv__network *net = model->network;
    pv__network_work *work = held->network;
    size_t F = net->features, k = outputs(model), images = work->part_rows * net->views;
    size_t parts = (n + work->part_rows - 1) / work->part_rows;
    work->kind->load(work->engine, w);
#pragma omp parallel for num_threads(pv_threads_ready(parts < (size_t)work->threads ? (int)parts : work->threads))     \
    schedule(dynamic)
    for (size_t p = 0; p < parts; p++) {
        pv__dropout dropout = {work->training, work->seed,
                               work->step * work->step_views + work->first_view +
                                   p * images}; /* a number unique to each view in all of training */
        work->kind->forward(work->engine, p, omp_get_thread_num(), part_input(model, work, p, n, x), &dropout,
                            work->features + p * images * F);
    }
    pool_views(net, work, n);
    const double *output = w + net->graph.params, *bias = output + F * k;
    for (size_t i = 0; i < n; i++) {
        double *logits = work->logits + i * k;
        if (model->ordinal)
            logits[0] = 0;
        else
            memcpy(logits, bias, k * sizeof *logits);
        for (size_t f = 0; f < F; f++)
            for (size_t y = 0; y < k; y++)
                logits[y] += work->pooled[i * F + f] * output[f * k + y];
    }
    if (model->ordinal)
        pv__ordinal_forward(n, (size_t)model->classes, bias, work->logits, work->room, loglik);
    else
        pv__log_softmax_rows(n, k, work->logits, loglik);
}

/* Computes the output layer's gradient for the rows of a part, and replaces their logits by the logits' gradient. */
static void output_backward(const pv_model *model, pv__network_work *work, const double *w, size_t part, size_t n,
                            const double *loglik, const double *dloglik) {
    const pv__network *net = model->network;
    size_t F = net->features, k = outputs(model), classes = (size_t)model->classes;
    size_t first = part * work->part_rows, rows = n - first < work->part_rows ? n - first : work->part_rows;
    double *doutput = work->doutput + part * output_params(model), *dbias = doutput + F * k;
    double *logits = work->logits + first * k;
    memset(doutput, 0, output_params(model) * sizeof *doutput);
    if (model->ordinal)
        pv__ordinal_backward(rows, classes, w + net->graph.params + F, logits, dloglik + first * classes, work->room,
                             logits, dbias);
    else
        pv__log_softmax_rows_backward(rows, k, loglik + first * k, dloglik + first * k, logits);
    for (size_t i = 0; i < rows; i++)
        for (size_t y = 0; y < k; y++) {
            if (!model->ordinal)
                dbias[y] += logits[i * k + y];
            for (size_t f = 0; f < F; f++)
                doutput[f * k + y] += work->pooled[(first + i) * F + f] * logits[i * k + y];
        }
}

static void backward_groups(const pv_model *model, pv_model_work *held, const double *w, size_t n, const double *loglik,
                            const double *dloglik) {
    const pv__network *net = model->network;
    pv__network_work *work = held->network;
    size_t F = net->features, k = outputs(model), images = work->part_rows * net->views;
    size_t parts = (n + work->part_rows - 1) / work->part_rows;
    bool low = !work->freeze_low;
    for (size_t p = 0; p < parts; p++)
        output_backward(model, work, w, p, n, loglik, dloglik);
    pool_backward(net, work, n, k, w + net->graph.params);
#pragma omp parallel for num_threads(pv_threads_ready(parts < (size_t)work->threads ? (int)parts : work->threads))     \
    schedule(dynamic)
    for (size_t p = 0; p < parts; p++)
        work->kind->backward(work->engine, p, omp_get_thread_num(), work->dfeatures + p * images * F, low);
}

static void add_groups(const pv_model *model, pv_model_work *held, size_t first, size_t last, double *dw) {
    pv__network_work *work = held->network;
    size_t size = output_params(model);
    pv__tree_adder sum = {.count = 0};
    for (size_t i = 0; i < size; i++) {
        for (size_t p = first; p < last; p++)
            pv__tree_add(&sum, work->doutput[p * size + i]);
        dw[model->network->graph.params + i] += pv__tree_total(&sum);
    }
    work->kind->gather(work->engine, first, last, work->threads, !work->freeze_low, dw);
}

static void backward(const pv_model *model, pv_model_work *held, const double *w, size_t n, const double *x,
                     const double *loglik, const double *dloglik, double *dw) {
    (void)x;
    size_t rows = held->network->part_rows;
    backward_groups(model, held, w, n, loglik, dloglik);
    add_groups(model, held, 0, (n + rows - 1) / rows, dw);
}

/* ---- conversion to steps ----------------------------------------------------------------------------------------- */

static int describe_graph(const pv__graph *g, pv__steps *steps, const pv__parameters *p, int x) {
    int tensor[PV_NODES_MAX + 1] = {x};
    for (int t = 0; t < g->nodes; t++) {
        const pv__node *node = &g->node[t];
        int from[PV_NODE_INPUTS], n = node->inputs;
        for (int i = 0; i < n; i++)
            from[i] = tensor[node->input[i]];
        if (node->kind == PV_NODE_CONV) {
            size_t taps = (node->bias - node->weight) / node->out.channels;
            from[n++] = pv__steps_parameters(steps, p, node->weight, node->out.channels, taps);
            from[n++] = pv__steps_parameters(steps, p, node->bias, 1, node->out.channels);
        }
        pv__step_kind kind = node->kind == PV_NODE_CONV      ? PV__STEP_CONV
                             : node->kind == PV_NODE_MAXPOOL ? PV__STEP_MAXPOOL
                                                             : PV__STEP_CHANNELS;
        tensor[t + 1] = pv__steps_image(steps, kind, from, n, node);
    }
    return tensor[g->nodes];
}

static int describe(const pv_model *model, pv__steps *steps, const pv__parameters *p, int x) {
    const pv__network *net = model->network;
    static const size_t how[] = {[PV_POOL_MAX] = 0, [PV_POOL_MIN] = 1, [PV_POOL_MEAN] = 2};
    size_t k = outputs(model), F = net->features, first = net->graph.params, bias = first + F * k;
    x = pv__steps_views(steps, describe_graph(&net->graph, steps, p, x), F, how[net->pool]);
    x = pv__steps_two(steps, PV__STEP_MATMUL, x, pv__steps_parameters(steps, p, first, F, k));
    if (model->ordinal)
        return pv__ordinal_describe(steps, (size_t)model->classes, p, bias, x);
    x = pv__steps_two(steps, PV__STEP_ADD, x, pv__steps_parameters(steps, p, bias, 1, k));
    return pv__steps_log_softmax(steps, x);
}

static pv_status parse_convnet(pv_ctx *ctx, pv_model *model, const char *spec, bool *mine) {
    return pv__network_parse(ctx, model, spec, "convnet", mine);
}

static pv_status parse_inception(pv_ctx *ctx, pv_model *model, const char *spec, bool *mine) {
    return pv__network_parse(ctx, model, spec, "inception", mine);
}

static pv_status views_convnet(pv_ctx *ctx, const char *spec, bool *mine, int64_t *views, int64_t *size) {
    return pv__network_views(ctx, spec, "convnet", mine, views, size);
}

static pv_status views_inception(pv_ctx *ctx, const char *spec, bool *mine, int64_t *views, int64_t *size) {
    return pv__network_views(ctx, spec, "inception", mine, views, size);
}

/* Few rows per chunk: each row's activations take megabytes. */
#define NETWORK(word)                                                                                                  \
    {                                                                                                                  \
        .parse = parse_##word, .views = views_##word, .is_bias = is_bias, .start = start, .output_bias = output_bias,  \
        .forward = forward, .backward = backward, .backward_needs_work = true, .own_threads = true, .chunk_rows = 32,  \
        .work_new = work_new, .work_free = work_free, .train = train, .check = check, .rows = most_rows,               \
        .low_params = low_params, .hidden = hidden, .group_rows = group_rows, .share = share,                          \
        .backward_groups = backward_groups, .add_groups = add_groups, .describe = describe                             \
    }

const pv__architecture pv__convnet = NETWORK(convnet);
const pv__architecture pv__inception = NETWORK(inception);
