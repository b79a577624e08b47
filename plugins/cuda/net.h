/* plugins/cuda/net.h: a network on the device. */
#ifndef PV_PLUGIN_NET_H
#define PV_PLUGIN_NET_H

#include <mutex>
#include <vector>

#include "cuda.h"

struct Layer {
    Conv conv;   /* also for maxpool */
    bool first;  /* handled by the first layer's kernels */
    bool wide;   /* handled by the kernels of the largest layers */
    bool onward; /* wide: its data pass includes ReLU and bias gradient of the layer below, or that layer's whole
                    gradient */
    bool done;   /* handled by the layer above, in the same sense; for a concatenation: by its inputs' slices */
    bool leads;  /* the first of four nodes that read one tensor (inception_entry.cu), which does their common work;
                    their nodes: */
    int mouth_b, mouth_c, mouth_pool;
    bool led;    /* one of the other three */
    bool branch; /* onward, handled by branch.cu */
    int joins;   /* the concatenation of which it is a slice and nothing else's input; -1: none */
    Slice slice;
    bool planned[PASSES]; /* handled by cuDNN; else by the general kernels */
    Plan plan[PASSES];
    size_t weight, bias; /* in the device's order */
    uint8_t *mask, *from;
    float *partial; /* sums per block */
    float *wide_partial;
    Wide maps;
};

/* Work that is captured as a graph on its second run, and replayed afterwards. */
struct Captured {
    cudaGraphExec_t graph;
    int runs;
};

enum { AUXILIARY_BLOCKS = 528 };

/* The linear auxiliary network (auxiliary.cu). */
struct Auxiliary {
    float *offset, *matrix; /* [room], [classes][room]; NULL: none */
    double *partial, *sums; /* [2 classes + 1][AUXILIARY_BLOCKS], [classes + 1] */
};

/* Offsets within a message from the host, after Sent; weight is that of the population if the loss is joint. */
struct Place {
    size_t data, weight, ratio, counts, row, stratum, where, planes, size;
};

/* The loss of steps (loss.cu). */
enum { LOSS_ARRAYS = 10 };
struct Loss {
    pv__step_loss spec;
    double *arrays;        /* [LOSS_ARRAYS][classes]: the bias, then the arrays of LossRun in order */
    double *moves;         /* [classes + 2], step of A per class, its threshold, gain of o */
    float *moments;        /* [2][classes] */
    double *last, *rho;    /* [room][classes], [room] */
    double *more, *added;  /* [rows][classes], [2][classes][classes] */
    size_t room;           /* capacity in rows of the data */
    unsigned *turn;        /* number of steps so far, counted by the device */
    double *outcomes;      /* [SLOTS][1 + classes], in host memory: value, log q */
    char *ring;            /* [SLOTS][place.size], in host memory */
    uint64_t begun, asked; /* steps begun, and outcomes read */
    cudaEvent_t done[SLOTS];
};

/* The arguments of the loss's kernels. */
struct LossRun {
    int form, implementation, rows, classes;
    bool linear, follows;
    double sparsity;
    size_t params;
    const Sent *sent;
    const double *data, *weight, *ratio, *counts;
    const unsigned *row;
    const int *stratum;
    const double *loglik, *sums, *rho;
    double *bias, *sum, *noise, *logit, *log_q, *log_p, *shift, *factor, *error, *gain; /* [classes] */
    float *mean, *square;
    double *dloglik, *moves, *last, *more, *added, *spread;
    unsigned *turn;
    double *outcomes;
};

struct pv__net {
    pv__net_spec spec;
    pv__graph graph;
    bool half;
    int images;
    size_t params, room;          /* on the host; on the device, where arrays begin at multiples of eight */
    size_t output;                /* index of the output layer on the device */
    cudaStream_t stream;          /* the main stream */
    cudaStream_t aside, apart;    /* parallel streams: for gradients of weights; for short work */
    cudaEvent_t here, there;      /* events for synchronising streams; draws are ready */
    cudnnHandle_t handle, beside; /* for stream and for aside; the latter may be missing */
    std::vector<void *> blocks;   /* all device memory of the net */
    Layer layer[PV_NODES_MAX];
    void *value[PV_NODES_MAX + 1], *slope[PV_NODES_MAX + 1], *spare, *workspace, *workspace_beside;
    float *w, *gradient, *mean, *square, *marked, *centre; /* [room] */
    bf16 *w_half, *gradient_half;
    unsigned char *kind; /* [room], of PARAMETER_ */
    int *host;           /* [room], the host's index of each parameter; -1: none */
    double *stage;
    size_t staged; /* its capacity in doubles */
    Draws *draws;

    /* rows */
    int rows;
    Place place;
    char *sent, *pinned; /* device copy of Sent and what follows it; on the host: rows to score, then loglik */
    double *loglik, *dloglik, *dlogits; /* [rows][classes] */
    float *pooled;
    unsigned short *chosen;
    bool pulled;
    pv__slope prior, intercept;
    bool dropped; /* the last forward pass had dropout */
    pv__cut cut;
    const pv__volumes *volumes;
    /* For views sent or cut; for a step, without or with the low-level module's gradient. */
    Captured scored[2], stepped[2][2];
    Auxiliary auxiliary;
    Loss loss;

    pv__net *next; /* in the list of cached nets */
};

inline void forget(Captured *captured) {
    if (captured->graph)
        cudaGraphExecDestroy(captured->graph);
    *captured = Captured{};
}

inline void forget_steps(pv__net *net) {
    for (Captured &captured : net->stepped[0])
        forget(&captured);
    for (Captured &captured : net->stepped[1])
        forget(&captured);
}

/* Creating nets and capturing graphs is serialised: libraries that load, or fail to, during a capture would break
 * it. */
std::mutex &one_at_a_time(void);

/* Runs body, or the graph captured from it. */
template <typename Body> pv__plugin_code replay(pv__net *net, Captured *captured, char *why, Body body) {
    if (captured->graph) {
        CUDA_TRY(cudaGraphLaunch(captured->graph, net->stream));
        return PV_PLUGIN_OK;
    }
    if (captured->runs++ == 0) /* the first run lets libraries load what they need */
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

/* Zeroed device memory that is freed with the net. Cached nets are freed if there is too little. */
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

/* Whether cuDNN handles the pass. */
inline bool is_cudnns(const Layer *layer, int pass) {
    bool ours = pass == PASS_DATA ? layer->onward : layer->conv.stride == 1;
    if (layer->leads || layer->led)
        return pass == PASS_WEIGHTS || (pass == PASS_FORWARD && layer->conv.stride == 2);
    if (layer->branch)
        return pass != PASS_DATA;
    return !layer->wide || !ours || (pass == PASS_FORWARD && layer->conv.precision != PV_PRECISION_BF16);
}

/* Makes later work on `then` wait for the present work on `first`. */
pv__plugin_code join(pv__net *net, cudaStream_t first, cudaStream_t then, char *why);
/* Whether the gradient of the node's weights is in bf16. */
inline bool has_half_gradient(const pv__net *net, int t) {
    return net->half && net->layer[t].planned[PASS_WEIGHTS];
}

/* Forward pass of the layers, on value[0]; and backward, from the last slope. early: the last layer and those after it
 * take their step as soon as their parameters are no longer needed. */
pv__plugin_code layers_forward(pv__net *net, bool dropout, char *why);
pv__plugin_code layers_backward(pv__net *net, bool low, bool early, char *why);
/* Adam's step for these parameters; early_begin separates those that can be updated early. */
pv__plugin_code learn(pv__net *net, cudaStream_t s, size_t begin, size_t end, char *why);
inline size_t early_begin(const pv__net *net) {
    return net->layer[net->graph.nodes - 1].weight;
}

pv__plugin_code net_load(pv__net *net, const double *w, char *why);
pv__plugin_code net_forward(pv__net *net, size_t images, const double *x, const pv__dropout *dropout, double *features,
                            char *why);
pv__plugin_code net_backward(pv__net *net, const double *dfeatures, bool low, char *why);
pv__plugin_code net_gradient(pv__net *net, size_t begin, double *dw, char *why);

pv__plugin_code rows_score(pv__net *net, const pv__rows *rows, double *loglik, char *why);
pv__plugin_code rows_step(pv__net *net, const pv__rows *rows, const pv__step_terms *terms, const pv__step_rates *rates,
                          char *why);
pv__plugin_code rows_outcome(pv__net *net, double *value, double *log_q, char *why);
pv__plugin_code rows_put(pv__net *net, const double *w, const double *mean, const double *square, const double *marked,
                         char *why);
pv__plugin_code rows_get(pv__net *net, double *w, double *mean, double *square, double *marked, char *why);
pv__plugin_code rows_mark(pv__net *net, char *why);
pv__plugin_code rows_pull(pv__net *net, const pv__pull *pull, char *why);

pv__plugin_code loss_put(pv__net *net, const pv__step_loss *loss, const pv__step_state *state, char *why);
pv__plugin_code loss_get(pv__net *net, const pv__step_state *state, char *why);
pv__plugin_code loss_log_q(pv__net *net, double *log_q, char *why);
/* In a step: dloglik from loglik; then, on a separate stream, the auxiliary network's step. */
pv__plugin_code loss_slopes(pv__net *net, char *why);
pv__plugin_code loss_follow(pv__net *net, char *why);
void loss_free(Loss *loss);

pv__plugin_code auxiliary_put(pv__net *net, const double *offset, const double *matrix, char *why);
pv__plugin_code auxiliary_get(pv__net *net, double *offset, double *matrix, char *why);
/* On a separate stream: A^T (w - o) and |w - o|^2 after the last step, whose change is added to the bias. */
pv__plugin_code auxiliary_sums(pv__net *net, char *why);
/* The steps of A and o as part of the parameters' step, in two parts; or, if there are too many classes, separately
 * before it. */
bool auxiliary_learns(const pv__net *net);
pv__plugin_code auxiliary_learn(pv__net *net, cudaStream_t s, size_t begin, size_t end, bool early,
                                const Parameters *parameters, char *why);
pv__plugin_code auxiliary_follow(pv__net *net, const Parameters *parameters, char *why);
/* The parameters as arguments of kernels. */
Parameters parameters_of(const pv__net *net);

/* Copies the host's parameters to one of the device's arrays, and back. */
pv__plugin_code params_in(pv__net *net, const double *from, float *to, char *why);
pv__plugin_code params_out(pv__net *net, const float *from, double *to, char *why);

#endif
