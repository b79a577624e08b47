/* Convolutions through cuDNN's graph interface, which is loaded on first use: without it the plug-in can still report
 * what is missing.
 *
 * Of the engines that cuDNN proposes, the first that is deterministic and that the precision allows is used. None is
 * timed, so the choice, and with it the result, depends only on the device and the library.
 */
#include <dlfcn.h>
#include <mutex>
#include <stdio.h>
#include <string.h>

#include "cuda.h"

/* ---- the library ------------------------------------------------------------------------------------------------- */

#define FUNCTIONS(X)                                                                                                   \
    X(cudnnCreate)                                                                                                     \
    X(cudnnDestroy)                                                                                                    \
    X(cudnnSetStream)                                                                                                  \
    X(cudnnGetVersion)                                                                                                 \
    X(cudnnGetErrorString)                                                                                             \
    X(cudnnBackendCreateDescriptor)                                                                                    \
    X(cudnnBackendDestroyDescriptor)                                                                                   \
    X(cudnnBackendFinalize)                                                                                            \
    X(cudnnBackendSetAttribute)                                                                                        \
    X(cudnnBackendGetAttribute)                                                                                        \
    X(cudnnBackendExecute)

static struct {
#define MEMBER(name) decltype(&name) f_##name;
    FUNCTIONS(MEMBER)
#undef MEMBER
    bool there;
    char text[64];
    char why[PV_PLUGIN_TEXT];
} dnn;
static std::once_flag dnn_once;

static void load_cudnn() {
    void *library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(dnn.why, sizeof dnn.why, "cuDNN 9 is not there: %s", dlerror());
        return;
    }
    const char *missing = NULL;
#define LOOK_UP(name)                                                                                                  \
    dnn.f_##name = reinterpret_cast<decltype(&name)>(dlsym(library, #name));                                           \
    missing = dnn.f_##name ? missing : #name;
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    if (missing) {
        snprintf(dnn.why, sizeof dnn.why, "this cuDNN has no %s", missing);
        return;
    }
    size_t version = dnn.f_cudnnGetVersion();
    snprintf(dnn.text, sizeof dnn.text, "cuDNN %zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
    dnn.there = true;
}

const char *cudnn_text(char *why) {
    std::call_once(dnn_once, load_cudnn);
    if (dnn.there)
        return dnn.text;
    snprintf(why, PV_PLUGIN_TEXT, "%s", dnn.why);
    return NULL;
}

static pv__plugin_code dnn_failed(char *why, cudnnStatus_t status, const char *what) {
    snprintf(why, PV_PLUGIN_TEXT, "cuDNN: %s (%s)", dnn.f_cudnnGetErrorString(status), what);
    return status == CUDNN_STATUS_ALLOC_FAILED ? PV_PLUGIN_MEMORY : PV_PLUGIN_FAILED;
}

pv__plugin_code cudnn_open(cudnnHandle_t *handle, cudaStream_t stream, char *why) {
    if (!cudnn_text(why))
        return PV_PLUGIN_FAILED;
    cudnnStatus_t status = dnn.f_cudnnCreate(handle);
    if (status == CUDNN_STATUS_SUCCESS)
        status = dnn.f_cudnnSetStream(*handle, stream);
    return status == CUDNN_STATUS_SUCCESS ? PV_PLUGIN_OK : dnn_failed(why, status, "a handle");
}

void cudnn_close(cudnnHandle_t handle) {
    if (handle)
        dnn.f_cudnnDestroy(handle);
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

/* A descriptor that destroys itself; bad if anything failed during construction. */
struct Made {
    cudnnBackendDescriptor_t d = NULL;
    bool good;
    explicit Made(cudnnBackendDescriptorType_t type) {
        good = dnn.f_cudnnBackendCreateDescriptor(type, &d) == CUDNN_STATUS_SUCCESS;
    }
    Made(const Made &) = delete;
    Made &operator=(const Made &) = delete;
    ~Made() {
        if (d)
            dnn.f_cudnnBackendDestroyDescriptor(d);
    }
    Made &set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n, const void *value) {
        good = good && dnn.f_cudnnBackendSetAttribute(d, name, type, n, value) == CUDNN_STATUS_SUCCESS;
        return *this;
    }
    Made &refer(cudnnBackendAttributeName_t name, const Made &other) {
        good = good && other.good;
        return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other.d);
    }
    Made &end() {
        good = good && dnn.f_cudnnBackendFinalize(d) == CUDNN_STATUS_SUCCESS;
        return *this;
    }
    cudnnBackendDescriptor_t release() {
        cudnnBackendDescriptor_t kept = d;
        d = NULL;
        return kept;
    }
};

/* The last two exist only inside a fused pass, never in memory. */
enum { ID_X = 'x', ID_W = 'w', ID_Y = 'y', ID_BIAS = 'b', ID_PRODUCT = 'p', ID_SUM = 's' };

/* [n][channels][height][width] in cuDNN's order of dimensions, with channels adjacent in memory. */
static void describe(Made &made, int64_t id, cudnnDataType_t type, int64_t n, int64_t c, int64_t h, int64_t w) {
    const int64_t sizes[] = {n, c, h, w}, strides[] = {h * w * c, 1, w * c, c}, alignment = 16;
    const bool within = id == ID_PRODUCT || id == ID_SUM;
    made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &within);
    made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type)
        .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, sizes)
        .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides)
        .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id)
        .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment)
        .end();
}

/* matrices: only engines that use matrix units. */
static bool notes_allow(cudnnBackendDescriptor_t config, pv_precision precision, bool matrices) {
    Made engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    int64_t count = 0;
    cudnnBackendNumericalNote_t note[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    if (!engine.good ||
        dnn.f_cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                       &engine.d) != CUDNN_STATUS_SUCCESS)
        return false;
    if (dnn.f_cudnnBackendGetAttribute(engine.d, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                       CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, note) != CUDNN_STATUS_SUCCESS)
        return false;
    bool by_matrices = false;
    for (int64_t i = 0; i < count; i++)
        switch (note[i]) {
        case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
        case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
        case CUDNN_NUMERICAL_NOTE_FFT:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
        case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
            return false;
        case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
        case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
            if (precision == PV_PRECISION_FP32)
                return false;
            by_matrices = by_matrices || note[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
            break;
        default:
            break;
        }
    return by_matrices || !matrices;
}

/* The first proposal of cuDNN that is allowed and that it can finalise. */
static bool choose(cudnnHandle_t handle, const Made &graph, cudnnBackendHeurMode_t mode, pv_precision precision,
                   bool matrices, Plan *plan) {
    enum { MOST = 24 };
    Made heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.refer(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode)
        .end();
    if (!heuristics.good)
        return false;
    cudnnBackendDescriptor_t config[MOST] = {NULL};
    int64_t count = 0, made = 0;
    while (made < MOST && dnn.f_cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config[made]) ==
                              CUDNN_STATUS_SUCCESS)
        made++;
    bool found = false;
    if (dnn.f_cudnnBackendGetAttribute(heuristics.d, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, made,
                                       &count, config) != CUDNN_STATUS_SUCCESS)
        count = 0;
    for (int64_t i = 0; i < count && i < made && !found; i++) {
        if (!notes_allow(config[i], precision, matrices))
            continue;
        Made tried(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        tried.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle)
            .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config[i])
            .end();
        int64_t room = 0, n = 0;
        found = tried.good && dnn.f_cudnnBackendGetAttribute(tried.d, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                                             CUDNN_TYPE_INT64, 1, &n, &room) == CUDNN_STATUS_SUCCESS;
        if (found) {
            plan->workspace = (size_t)room;
            plan->plan = tried.release();
        }
    }
    for (int64_t i = 0; i < made; i++)
        dnn.f_cudnnBackendDestroyDescriptor(config[i]);
    return found;
}

/* y = mode(x), or mode(x, b). */
static void point(Made &what, Made &operation, cudnnPointwiseMode_t mode, const Made &x, const Made *b, const Made &y) {
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    what.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode)
        .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute)
        .end();
    operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what)
        .refer(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
        .refer(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    if (b)
        operation.refer(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
    operation.end();
}

/* Combines the operations into one graph and finds an engine for it. */
static bool plan_of(cudnnHandle_t handle, const Conv *c, int count, const Made *const *operation, Plan *plan) {
    cudnnBackendDescriptor_t all[3];
    Made graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    for (int i = 0; i < count; i++) {
        graph.good = graph.good && operation[i]->good;
        all[i] = operation[i]->d;
    }
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, all)
        .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle)
        .end();
    bool matrices = c->precision != PV_PRECISION_FP32; /* not accurate enough for fp32 */
    return graph.good && ((matrices && choose(handle, graph, CUDNN_HEUR_MODE_A, c->precision, true, plan)) ||
                          choose(handle, graph, CUDNN_HEUR_MODE_A, c->precision, false, plan) ||
                          choose(handle, graph, CUDNN_HEUR_MODE_FALLBACK, c->precision, false, plan));
}

/* fused: adds biases to the output of the forward pass and applies ReLU. */
static bool make_with(cudnnHandle_t handle, const Conv *c, Pass pass, bool fused, bool adds, Plan *plan) {
    static const struct {
        cudnnBackendDescriptorType_t type;
        cudnnBackendAttributeName_t conv, x, w, y, alpha, beta;
    } kinds[PASSES] = {
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
        {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
    cudnnDataType_t type = c->precision == PV_PRECISION_BF16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT;
    cudnnDataType_t compute = CUDNN_DATA_FLOAT;
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    const int64_t dims = 2, ones[] = {1, 1}, pads[] = {c->padding, c->padding}, strides[] = {c->stride, c->stride};
    const float one = 1, before = adds ? 1 : 0;
    Made x(CUDNN_BACKEND_TENSOR_DESCRIPTOR), w(CUDNN_BACKEND_TENSOR_DESCRIPTOR), y(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    describe(x, ID_X, type, c->images, c->in, c->height, c->width);
    describe(w, ID_W, type, c->out, c->in, c->kernel, c->kernel);
    describe(y, ID_Y, type, c->images, c->out, c->out_height, c->out_width);
    Made conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR), operation(kinds[pass].type);
    Made product(CUDNN_BACKEND_TENSOR_DESCRIPTOR), sum(CUDNN_BACKEND_TENSOR_DESCRIPTOR),
        bias(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    describe(product, ID_PRODUCT, compute, c->images, c->out, c->out_height, c->out_width);
    describe(sum, ID_SUM, compute, c->images, c->out, c->out_height, c->out_width);
    describe(bias, ID_BIAS, compute, 1, c->out, 1, 1);
    conv.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &dims)
        .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute)
        .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode)
        .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, ones)
        .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, strides)
        .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pads)
        .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pads)
        .end();
    operation.refer(kinds[pass].conv, conv)
        .refer(kinds[pass].x, x)
        .refer(kinds[pass].w, w)
        .refer(kinds[pass].y, fused ? product : y)
        .set(kinds[pass].alpha, CUDNN_TYPE_FLOAT, 1, &one)
        .set(kinds[pass].beta, CUDNN_TYPE_FLOAT, 1, &before)
        .end();
    Made adding(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), added(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR),
        gating(CUDNN_BACKEND_POINTWISE_DESCRIPTOR), gated(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    const Made *const operations[] = {&operation, &added, &gated};
    if (fused) {
        point(adding, added, CUDNN_POINTWISE_ADD, product, &bias, sum);
        point(gating, gated, CUDNN_POINTWISE_RELU_FWD, sum, NULL, y);
    }
    return plan_of(handle, c, fused ? 3 : 1, operations, plan);
}

bool plan_make(cudnnHandle_t handle, const Conv *conv, Pass pass, bool fused, bool adds, Plan *plan) {
    *plan = Plan{};
    plan->fused = fused;
    plan->adds = adds;
    return make_with(handle, conv, pass, fused, adds, plan);
}

bool plan_bind(Plan *plan, void *x, void *w, void *y, void *bias, void *workspace) {
    void *pointers[] = {x, w, y, bias};
    const int64_t ids[] = {ID_X, ID_W, ID_Y, ID_BIAS}, count = plan->fused ? 4 : 3;
    Made pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers)
        .set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids)
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace)
        .end();
    if (!pack.good)
        return false;
    plan->pack = pack.release();
    return true;
}

pv__plugin_code plan_run(cudnnHandle_t handle, const Plan *plan, char *why) {
    cudnnStatus_t status = dnn.f_cudnnBackendExecute(handle, plan->plan, plan->pack);
    return status == CUDNN_STATUS_SUCCESS ? PV_PLUGIN_OK : dnn_failed(why, status, "a convolution");
}

void plan_free(Plan *plan) {
    if (plan->pack)
        dnn.f_cudnnBackendDestroyDescriptor(plan->pack);
    if (plan->plan)
        dnn.f_cudnnBackendDestroyDescriptor(plan->plan);
    *plan = Plan{};
}
