/* plugins/cuda/net.h: a network on the device. */
#ifndef PV_PLUGIN_NET_H
#define PV_PLUGIN_NET_H

#include <mutex>
#include <vector>

#include "cuda.h"

struct Layer {
    Conv conv;   /* of maxpool too */
    bool first;  /* by the first layer's own kernels */
    bool wide;   /* by the kernels of the largest layers */
    bool onward; /* wide: its data pass has the ReLU and the biases' gradient of the layer below, or all its gradient */
    bool done;   /* by the layer above: the same, seen from below; of a concatenation: by its inputs' slices */
    int joins;   /* the concatenation that it is a slice of, and nothing else's input; -1: none */
    Slice slice;
    bool planned[PASSES]; /* by cuDNN; else by the kernels for any */
    Plan plan[PASSES];
    size_t weight, bias; /* in the device's order */
    uint8_t *mask, *from;
    float *partial; /* sums of each block */
    float *wide_partial;
    Wide maps;
};

/* Work that is captured when it comes the second time, and replayed from then on. */
struct Captured {
    cudaGraphExec_t graph;
    int runs;
};

enum { AUXILIARY_BLOCKS = 528 };

/* The linear auxiliary network (auxiliary.cu). */
struct Auxiliary {
    float *offset, *matrix;        /* [room], [classes][room]; NULL: there is none */
    double *partial, *sums;        /* [2 classes + 1][AUXILIARY_BLOCKS], [2 classes + 1] */
    double *pinned;                /* sums, on the host */
    cudaEvent_t followed, learned; /* A and o have moved; w has */
};

struct pv__net {
    pv__net_spec spec;
    pv__graph graph;
    bool half;
    int images;
    size_t params, room;          /* of the host; of the device, where arrays begin at multiples of eight */
    size_t output;                /* the output layer, among the latter */
    cudaStream_t stream, aside;   /* aside: what is short and can run beside the convolutions */
    cudaEvent_t here, there;      /* where each of them is, for the other to wait for */
    cudnnHandle_t handle, beside; /* on stream, and on aside; there may be none of the latter */
    std::vector<void *> blocks;   /* all device memory */
    Layer layer[PV_NODES_MAX];
    void *value[PV_NODES_MAX + 1], *slope[PV_NODES_MAX + 1], *spare, *workspace, *workspace_beside;
    float *w, *gradient, *mean, *square, *marked, *centre; /* [room] */
    bf16 *w_half, *gradient_half;
    unsigned char *kind; /* [room], of PARAMETER_ */
    int *host;           /* [room], the host's number of each parameter; -1: none */
    double *stage;
    size_t staged; /* doubles that it has room for */
    Draws *draws;

    /* rows */
    int rows;
    char *sent, *pinned; /* the same block here and there: Draws, Where [rows], planes, dloglik, loglik */
    size_t where_at, planes_at, dloglik_at, loglik_at, sent_size;
    float *pooled;
    unsigned short *chosen;
    double *dlogits;
    bool pulled;
    pv__slope prior, intercept;
    bool dropped; /* the last forward had dropout */
    pv__cut cut;
    const pv__volumes *volumes;
    /* views sent or cut, and with dropout (training) or without (two more); without the low-level module or with */
    Captured forward[4], backward[2];
    Auxiliary auxiliary;

    pv__net *next; /* among those that wait for their next use */
};

inline void forget(Captured *captured) {
    if (captured->graph)
        cudaGraphExecDestroy(captured->graph);
    *captured = Captured{};
}

/* Nets are made and graphs captured one at a time: libraries that open, or fail to, beside a capture are no good to
 * either. */
std::mutex &one_at_a_time(void);

/* Runs body, or the graph that was captured of it. */
template <typename Body> pv__plugin_code replay(pv__net *net, Captured *captured, char *why, Body body) {
    if (captured->graph) {
        CUDA_TRY(cudaGraphLaunch(captured->graph, net->stream));
        return PV_PLUGIN_OK;
    }
    if (captured->runs++ == 0) /* libraries load what they need */
        return body();
    cudaGraph_t graph = NULL;
    std::lock_guard<std::mutex> held(one_at_a_time());
    CUDA_TRY(cudaStreamBeginCapture(net->stream, cudaStreamCaptureModeThreadLocal));
    pv__plugin_code code = body();
    cudaError_t ended = cudaStreamEndCapture(net->stream, &graph);
    if (code == PV_PLUGIN_OK)
        CUDA_TRY(ended);
    if (code == PV_PLUGIN_OK) {
        CUDA_TRY(cudaGraphInstantiate(&captured->graph, graph, 0));
        CUDA_TRY(cudaGraphLaunch(captured->graph, net->stream));
    }
    if (graph)
        cudaGraphDestroy(graph);
    return code;
}

/* Memory of the device, zeroed, which is freed with the net. Nets that wait give theirs where there is too little. */
pv__plugin_code take_bytes(pv__net *net, size_t size, void **block, char *why);
template <typename T> pv__plugin_code take(pv__net *net, size_t count, T **block, char *why) {
    void *made;
    CODE_TRY(take_bytes(net, (count ? count : 1) * sizeof(T), &made, why));
    *block = static_cast<T *>(made);
    return PV_PLUGIN_OK;
}

pv__plugin_code net_open(const pv__net_spec *spec, pv__net **net, char *why);
void net_close(pv__net *net);

inline pv__shape shape_of(const pv__graph *g, int tensor) {
    return tensor == 0 ? g->input : g->node[tensor - 1].out;
}

inline size_t size_of(pv__shape s) {
    return s.channels * s.height * s.width;
}

inline void *weights_of(pv__net *net, int t) {
    size_t at = net->layer[t].weight;
    return net->half ? (void *)(net->w_half + at) : (void *)(net->w + at);
}

/* Which passes are left to cuDNN. */
inline bool is_cudnns(const Layer *layer, int pass) {
    bool ours = pass == PASS_DATA ? layer->onward : layer->conv.stride == 1;
    return !layer->wide || !ours || (pass == PASS_FORWARD && layer->conv.precision != PV_PRECISION_BF16);
}

/* What comes next on the stream aside waits for what is on the other. */
pv__plugin_code turn_aside(pv__net *net, char *why);
/* The gradient of the node's weights is in bf16. */
inline bool has_half_gradient(const pv__net *net, int t) {
    return net->half && net->layer[t].planned[PASS_WEIGHTS];
}

/* Layers, on what is in value[0]; and back, from what is in the last slope. */
pv__plugin_code layers_forward(pv__net *net, bool dropout, char *why);
pv__plugin_code layers_backward(pv__net *net, bool low, char *why);

pv__plugin_code net_load(pv__net *net, const double *w, char *why);
pv__plugin_code net_forward(pv__net *net, size_t images, const double *x, const pv__dropout *dropout, double *features,
                            char *why);
pv__plugin_code net_backward(pv__net *net, const double *dfeatures, bool low, char *why);
pv__plugin_code net_gradient(pv__net *net, size_t begin, double *dw, char *why);

pv__plugin_code rows_forward(pv__net *net, const pv__rows *rows, double *loglik, char *why);
pv__plugin_code rows_backward(pv__net *net, const double *dloglik, bool low, char *why);
pv__plugin_code rows_put(pv__net *net, const double *w, const double *mean, const double *square, const double *marked,
                         char *why);
pv__plugin_code rows_get(pv__net *net, double *w, double *mean, double *square, double *marked, char *why);
pv__plugin_code rows_mark(pv__net *net, char *why);
pv__plugin_code rows_pull(pv__net *net, const pv__pull *pull, char *why);
pv__plugin_code rows_learn(pv__net *net, size_t begin, double rate, int64_t step, const pv__follow *follow, char *why);

pv__plugin_code auxiliary_put(pv__net *net, const double *offset, const double *matrix, char *why);
pv__plugin_code auxiliary_get(pv__net *net, double *offset, double *matrix, char *why);
pv__plugin_code auxiliary_sums(pv__net *net, double *sums, char *why);
/* Before Adam's step, and after it. */
pv__plugin_code auxiliary_follow(pv__net *net, const pv__follow *follow, char *why);
pv__plugin_code auxiliary_learned(pv__net *net, char *why);
void auxiliary_free(Auxiliary *auxiliary);

/* The host's parameters into one of the device's arrays, and back. */
pv__plugin_code params_in(pv__net *net, const double *from, float *to, char *why);
pv__plugin_code params_out(pv__net *net, const float *from, double *to, char *why);

#endif
