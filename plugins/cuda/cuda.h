/* plugins/cuda/cuda.h: declarations shared by the plug-in's files.
 *
 * Tensors are [images][height][width][channels], in single precision or bf16. Parameters are in single precision in the
 * device's order: weights of a convolution are [out][kernel][kernel][in], where the host has [out][in][kernel][kernel].
 * The order of all sums depends on sizes alone, so the same input gives bit-identical results.
 */
#ifndef PV_PLUGIN_CUDA_H
#define PV_PLUGIN_CUDA_H

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cudnn_graph.h>

#include "compute/plugin.h"

typedef __nv_bfloat16 bf16;

/* ---- errors ------------------------------------------------------------------------------------------------------ */

pv__plugin_code cuda_failed(char *why, cudaError_t error, const char *what);

#define CUDA_TRY(call)                                                                                                 \
    do {                                                                                                               \
        cudaError_t cuda_try_error = (call);                                                                           \
        if (cuda_try_error != cudaSuccess)                                                                             \
            return cuda_failed(why, cuda_try_error, #call);                                                            \
    } while (0)
#define CODE_TRY(call)                                                                                                 \
    do {                                                                                                               \
        pv__plugin_code code_try = (call);                                                                             \
        if (code_try != PV_PLUGIN_OK)                                                                                  \
            return code_try;                                                                                           \
    } while (0)

/* ---- convolutions by cuDNN (convolution.cu) ---------------------------------------------------------------------- */

struct Conv {
    int images, in, height, width;  /* of the input */
    int out, out_height, out_width; /* of the output */
    int kernel, stride, padding;
    pv_precision precision;
};

enum Pass { PASS_FORWARD, PASS_DATA, PASS_WEIGHTS, PASSES };

/* One pass of one convolution, bound to fixed buffers. */
struct Plan {
    cudnnBackendDescriptor_t plan, pack;
    size_t workspace;
    bool fused; /* forward: includes biases and ReLU */
    bool adds;  /* adds to the output buffer */
};

/* The version of the cuDNN that was found; NULL: none, and why says why. */
const char *cudnn_text(char *why);
pv__plugin_code cudnn_open(cudnnHandle_t *handle, cudaStream_t stream, char *why);
void cudnn_close(cudnnHandle_t handle);
/* False if cuDNN has no deterministic engine that this precision allows. */
bool plan_make(cudnnHandle_t handle, const Conv *conv, Pass pass, bool fused, bool adds, Plan *plan);
bool plan_bind(Plan *plan, void *x, void *w, void *y, void *bias, void *workspace);
pv__plugin_code plan_run(cudnnHandle_t handle, const Plan *plan, char *why);
void plan_free(Plan *plan);

/* ---- kernels (layers.cu, first.cu, any.cu, copies.cu, rows.cu) -------------------------------------------------- */

enum { BLOCKS = 528, THREADS = 256, TAPS = 9 };
enum { SLOTS = PV_STEPS_AHEAD + 1 }; /* slots for messages between host and device, one per step in progress */

struct Draws {
    unsigned long long seed, first;
};

/* Random bits of dropout, one for each element of an image. The host's order is [channels][height][width]; if both
 * sizes are multiples of eight, the device's order is [height][width][channels]. */
void draw_masks(cudaStream_t s, const Draws *draws, int node, double probability, int images, int plane, int channels,
                uint8_t *mask);
size_t mask_bytes(size_t size);

/* Channels from `at` on, in a tensor with `whole` channels. */
struct Slice {
    int at, whole;
};

/* y = relu(x + bias), then dropout unless mask is NULL; bias NULL: dropout alone. y and the mask are a slice. */
void bias_relu(cudaStream_t s, bool half, int images, int plane, int channels, const float *bias, const uint8_t *mask,
               float scale, const void *x, Slice slice, void *y);
/* dy = scale from where y > 0, else 0; y and from are a slice. partial [BLOCKS][channels] receives sums of dy (NULL:
 * not wanted), which sum_blocks adds up. */
void gate(cudaStream_t s, bool half, int images, int plane, int channels, float scale, const void *y, const void *from,
          Slice slice, void *dy, float *partial);
void sum_blocks(cudaStream_t s, int blocks, size_t n, const float *partial,
                float *out); /* over partial [blocks][n], blocks at most BLOCKS */
void add(cudaStream_t s, bool half, size_t n, const void *x, void *sum);

/* The first layer: one input channel, 3x3, stride 1, padding 1, channels in multiples of eight; includes ReLU. */
bool first_fits(const Conv *conv);
void first_forward(cudaStream_t s, bool half, const Conv *conv, const float *x, const float *w, const float *bias,
                   void *y);
/* From the gradient of its output before ReLU; dw [out][9], followed by the biases' gradient. partial: BLOCKS * out *
 * 10. */
void first_backward(cudaStream_t s, bool half, const Conv *conv, const float *x, const void *y, const void *dy,
                    float *partial, float *dw);

/* The largest layers: 3x3, 64 channels in and out, 32 pixels wide, bf16, on compute capability 9.0. */
struct Wide {
    CUtensorMap weights, halo, strip, sum_halo, slope, sum_strip;
    int blocks, rows; /* numbers of partial sums: for weights; for everything else */
};
bool wide_fits(const Conv *conv);
/* False if this device does not support these kernels. The buffers are used in all later calls. */
bool wide_make(const Conv *conv, void *x, void *w, void *dy, void *dx, Wide *wide);
/* Stride 1. y = relu(x w + bias). */
void wide_forward(cudaStream_t s, const Conv *conv, const Wide *wide, const float *bias, void *y);
/* Writes partial [blocks][out][9][in], which sum_blocks turns into dw. In tf32 only this function is supported. */
void wide_weights(cudaStream_t s, const Conv *conv, const Wide *wide, float *partial);
void wide_weights_tf32(cudaStream_t s, const Conv *conv, const Wide *wide, float *partial);
/* If the layer below is the first one, with input x: partial [rows] of its dw and biases, as in first_backward. */
void wide_data(cudaStream_t s, const Conv *conv, const Wide *wide, const float *x, float *partial);
/* Stride 2: dx where x > 0, else 0; partial [rows][in] of its sums. */
void gated_data(cudaStream_t s, const Conv *conv, const Wide *wide, float *partial);

/* The entry of an inception block, in bf16: 1x1 convolutions a and b, c with stride 2, all with the same number of
 * output channels, and 3x3 max pooling with stride 2, all reading one tensor of 64 channels. */
struct Narrow {
    const bf16 *w; /* [out][64] */
    const float *bias;
};
struct Mouth {
    int height, width; /* of the tensor */
    const bf16 *d_a, *d_b, *d_c, *w_a, *w_b, *w_c;
    const bf16 *d_pool;
    const uint8_t *from;
    const bf16 *y; /* the tensor, if the gradient continues through its ReLU */
    bf16 *dx;
    float *partial; /* and then sums, [MOUTH_BLOCKS][64]; NULL: it does not */
};
enum { MOUTH_BLOCKS = 264 };
bool mouth_fits(const Conv *a);
/* Both 1x1 convolutions, with biases and ReLU. */
void mouth_forward(cudaStream_t s, const Conv *conv, const void *x, const Narrow *a, const Narrow *b, void *y_a,
                   void *y_b);
/* The gradient of the tensor from all four. Returns the number of blocks in partial. */
int mouth_data(cudaStream_t s, const Conv *conv, const Mouth *mouth);

/* A branch after the entry: the gradient of its input where that, y, is above 0; partial: sums, [MOUTH_BLOCKS][in].
 * Returns the number of blocks in partial. */
bool branch_fits(const Conv *conv);
int branch_data(cudaStream_t s, const Conv *conv, const void *dy, const void *w, const void *y, void *dx,
                float *partial);

/* Any convolution, slowly: used if cuDNN has none. float_x: the input is always in single precision. */
void any_forward(cudaStream_t s, bool half, bool float_x, const Conv *conv, const void *x, const void *w, void *y);
void any_data(cudaStream_t s, bool half, const Conv *conv, const void *dy, const void *w, void *dx);
void any_weights(cudaStream_t s, bool half, bool float_x, const Conv *conv, const void *x, const void *dy, float *dw);

void maxpool_forward(cudaStream_t s, bool half, const Conv *conv, const void *x, void *y, uint8_t *from);
void maxpool_backward(cudaStream_t s, bool half, const Conv *conv, const void *dy, const uint8_t *from, bool adds,
                      void *dx);
/* Copy to and from channels [at, at + part) of wide tensors. */
void channels_in(cudaStream_t s, bool half, size_t pixels, int part, int at, int whole, const void *x, void *y);
void channels_out(cudaStream_t s, bool half, size_t pixels, int part, int at, int whole, const void *dy, void *dx);

void narrow(cudaStream_t s, size_t n, const double *from, float *to);
/* Parameters: host [n] is the host's index of each of the device's parameters, -1: none. */
void scatter_in(cudaStream_t s, size_t n, const int *host, const double *from, float *to);
void scatter_out(cudaStream_t s, size_t n, const int *host, const float *from, double *to);
void to_half(cudaStream_t s, size_t n, const float *from, bf16 *to);
void from_half(cudaStream_t s, size_t n, const bf16 *from, float *to);
/* A tensor converted to and from the host's order and precision. */
void tensor_out(cudaStream_t s, bool half, int images, int plane, int channels, const void *from, double *to);
void tensor_in(cudaStream_t s, bool half, int images, int plane, int channels, const double *from, void *to);

/* Rows: pooling over views, output layer [features][classes] and its biases, log-softmax. */
struct Head {
    int rows, views, features, classes, pool;
};
void head_forward(cudaStream_t s, bool half, const Head *head, const void *features, const float *w, float *pooled,
                  unsigned short *chosen, double *loglik);
void head_backward(cudaStream_t s, bool half, const Head *head, const unsigned short *chosen, const float *w,
                   const double *loglik, const double *dloglik, double *dlogits, void *dfeatures);
void head_weights(cudaStream_t s, const Head *head, const float *pooled, const double *dlogits, float *dw);

struct Where { /* image of a row, and its pixel size */
    unsigned long long volume;
    double spacing[3];
};
void cut_views(cudaStream_t s, int rows, int views, const pv__cut *cut, const pv__volumes *volumes, const Where *where,
               const pv__plane *plane, float *x);

/* Data that change from step to step, at the start of a message from the host; the rows' data follow (Place). */
struct Sent {
    Draws draws;
    float scale, unbias;            /* Adam's: rate / (1 - 0.9^t), 1 / (1 - 0.999^t) */
    double bias_scale, bias_unbias; /* the same for the auxiliary network's bias */
    double constant;                /* of the loss */
};
/* Copies the next of SLOTS messages in host memory, size bytes each, to the device. */
void take_sent(cudaStream_t s, const char *ring, size_t size, const unsigned *turn, char *sent);

enum { PARAMETER_BIAS = 1, PARAMETER_HALF = 2 }; /* its gradient is one of those in bf16 */
/* kind [n]; centre NULL: no prior; half_gradient and half NULL: nothing is in bf16. */
struct Parameters {
    pv__slope prior, intercept;
    const unsigned char *kind;
    const float *centre, *gradient;
    const bf16 *half_gradient;
    float *mean, *square, *w;
    bf16 *half; /* copy of w */
};
/* Updates the parameters from begin to end, which are multiples of eight. */
void adam_step(cudaStream_t s, size_t begin, size_t end, const Sent *sent, const Parameters *parameters);

struct pv__volumes {
    pv__volumes_spec spec;
    const void *key; /* address of the pixels on the host */
    void *pixels;
    int users;
    pv__volumes *next;
};

#endif
