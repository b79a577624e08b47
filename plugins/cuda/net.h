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
    bool leads;  /* the first of the four that read a tensor (inception_entry.cu), which does what they share; their
                    nodes: */
    int mouth_b, mouth_c, mouth_pool;
    bool led;    /* one of the other three */
    bool branch; /* onward, by branch.cu */
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
    float *offset, *matrix; /* [room], [classes][room]; NULL: there is none */
    double *partial, *sums; /* [2 classes + 1][AUXILIARY_BLOCKS], [classes + 1] */
};

/* Where what the host sends lies, after Sent; weight is the population's where the loss is joint. */
struct Place {
    size_t data, weight, ratio, counts, row, stratum, where, planes, size;
};

/* The loss of steps (loss.cu). */
enum { LOSS_ARRAYS = 10 };
struct Loss {
    pv__step_loss spec;
    double *arrays;        /* [LOSS_ARRAYS][classes]: the bias, then as LossRun has them */
    double *moves;         /* [classes + 2], of A for each class, its threshold, o's gain */
    float *moments;        /* [2][classes] */
    double *last, *rho;    /* [room][classes], [room] */
    double *more, *added;  /* [rows][classes], [2][classes][classes] */
    size_t room;           /* of the data's rows */
    unsigned *turn;        /* steps so far, as the device counts them */
    double *outcomes;      /* [SLOTS][1 + classes], in the host's memory: value, log q */
    char *ring;            /* [SLOTS][place.size], in the host's memory */
    uint64_t begun, asked; /* steps, and outcomes */
    cudaEvent_t done[SLOTS];
};

/* What its kernels take. */
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
    size_t params, room;          /* of the host; of the device, where arrays begin at multiples of eight */
    size_t output;                /* the output layer, among the latter */
    cudaStream_t stream;          /* what all else waits for */
    cudaStream_t aside, apart;    /* beside it: gradients of weights; what is short */
    cudaEvent_t here, there;      /* where a stream is, for another to wait for; that draws are made */
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
    Place place;
    char *sent, *pinned; /* Sent and what follows it, of a step; the host's, of rows that are scored, then loglik */
    double *loglik, *dloglik, *dlogits; /* [rows][classes] */
    float *pooled;
    unsigned short *chosen;
    bool pulled;
    pv__slope prior, intercept;
    bool dropped; /* the last forward had dropout */
    pv__cut cut;
    const pv__volumes *volumes;
    /* Views sent or cut; of a step, without the low-level module's gradient or with. */
    Captured scored[2], stepped[2][2];
    Auxiliary auxiliary;
    Loss loss;

    pv__net *next; /* among those that wait for their next use */
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
    if (layer->leads || layer->led)
        return pass == PASS_WEIGHTS || (pass == PASS_FORWARD && layer->conv.stride == 2);
    if (layer->branch)
        return pass != PASS_DATA;
    return !layer->wide || !ours || (pass == PASS_FORWARD && layer->conv.precision != PV_PRECISION_BF16);
}

/* What comes next on `then` waits for what is on `first`. */
pv__plugin_code join(pv__net *net, cudaStream_t first, cudaStream_t then, char *why);
/* The gradient of the node's weights is in bf16. */
inline bool has_half_gradient(const pv__net *net, int t) {
    return net->half && net->layer[t].planned[PASS_WEIGHTS];
}

/* Layers, on what is in value[0]; and back, from what is in the last slope. early: the last layer and what follows it
 * take their step as soon as nothing needs them. */
pv__plugin_code layers_forward(pv__net *net, bool dropout, char *why);
pv__plugin_code layers_backward(pv__net *net, bool low, bool early, char *why);
/* The step of these parameters; of those from early_begin on, and of the others. */
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
/* In a step: dloglik, from loglik; then, apart, the auxiliary network's step. */
pv__plugin_code loss_slopes(pv__net *net, char *why);
pv__plugin_code loss_follow(pv__net *net, char *why);
void loss_free(Loss *loss);

pv__plugin_code auxiliary_put(pv__net *net, const double *offset, const double *matrix, char *why);
pv__plugin_code auxiliary_get(pv__net *net, double *offset, double *matrix, char *why);
/* Apart: A^T (w - o) and |w - o|^2 as they are after the last step, and what it took of them into the bias. */
pv__plugin_code auxiliary_sums(pv__net *net, char *why);
/* The step of A and o in that of the parameters, in two parts; or, where there are too many classes for that, apart and
 * before it. */
bool auxiliary_learns(const pv__net *net);
pv__plugin_code auxiliary_learn(pv__net *net, cudaStream_t s, size_t begin, size_t end, bool early,
                                const Parameters *parameters, char *why);
pv__plugin_code auxiliary_follow(pv__net *net, const Parameters *parameters, char *why);
/* As kernels take them. */
Parameters parameters_of(const pv__net *net);

/* The host's parameters into one of the device's arrays, and back. */
pv__plugin_code params_in(pv__net *net, const double *from, float *to, char *why);
pv__plugin_code params_out(pv__net *net, const float *from, double *to, char *why);

#endif
