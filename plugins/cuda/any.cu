/* Any convolution, slowly: used if cuDNN has none. */
#include "kernels.h"

template <typename T, typename X> static __global__ void any_forward_kernel(Conv c, const X *x, const T *w, T *y) {
    EACH(i, (size_t)c.images * c.out_height * c.out_width * c.out) {
        int k = (int)(i % c.out), q = (int)(i / c.out % c.out_width), p = (int)(i / c.out / c.out_width % c.out_height);
        size_t image = i / c.out / c.out_width / c.out_height;
        float sum = 0;
        for (int r = 0; r < c.kernel; r++)
            for (int t = 0; t < c.kernel; t++) {
                int h = p * c.stride + r - c.padding, v = q * c.stride + t - c.padding;
                if (h < 0 || h >= c.height || v < 0 || v >= c.width)
                    continue;
                const X *from = x + ((image * c.height + h) * c.width + v) * c.in;
                const T *taps = w + (((size_t)k * c.kernel + r) * c.kernel + t) * c.in;
                for (int j = 0; j < c.in; j++)
                    sum = fmaf((float)from[j], (float)taps[j], sum);
            }
        y[i] = (T)sum;
    }
}

template <typename T> static __global__ void any_data_kernel(Conv c, const T *dy, const T *w, T *dx) {
    EACH(i, (size_t)c.images * c.height * c.width * c.in) {
        int j = (int)(i % c.in), v = (int)(i / c.in % c.width), h = (int)(i / c.in / c.width % c.height);
        size_t image = i / c.in / c.width / c.height;
        float sum = 0;
        for (int r = 0; r < c.kernel; r++)
            for (int t = 0; t < c.kernel; t++) {
                int p = h + c.padding - r, q = v + c.padding - t;
                if (p < 0 || q < 0 || p % c.stride || q % c.stride || p / c.stride >= c.out_height ||
                    q / c.stride >= c.out_width)
                    continue;
                const T *from = dy + ((image * c.out_height + p / c.stride) * c.out_width + q / c.stride) * c.out;
                const T *taps = w + ((size_t)r * c.kernel + t) * c.in + j;
                for (int k = 0; k < c.out; k++)
                    sum = fmaf((float)from[k], (float)taps[(size_t)k * c.kernel * c.kernel * c.in], sum);
            }
        dx[i] = (T)sum;
    }
}

/* One block per weight. */
template <typename T, typename X>
static __global__ void any_weights_kernel(Conv c, const X *x, const T *dy, float *dw) {
    __shared__ float held[THREADS];
    size_t i = blockIdx.x, out = (size_t)c.out_height * c.out_width, pixels = c.images * out;
    int j = (int)(i % c.in), t = (int)(i / c.in % c.kernel), r = (int)(i / c.in / c.kernel % c.kernel);
    int k = (int)(i / c.in / c.kernel / c.kernel);
    float sum = 0;
    for (size_t at = threadIdx.x; at < pixels; at += THREADS) {
        int q = (int)(at % c.out_width), p = (int)(at / c.out_width % c.out_height);
        int h = p * c.stride + r - c.padding, v = q * c.stride + t - c.padding;
        if (h >= 0 && h < c.height && v >= 0 && v < c.width)
            sum = fmaf((float)dy[at * c.out + k], (float)x[((at / out * c.height + h) * c.width + v) * c.in + j], sum);
    }
    held[threadIdx.x] = sum;
    for (int step = THREADS / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step)
            held[threadIdx.x] += held[threadIdx.x + step];
    }
    if (threadIdx.x == 0)
        dw[i] = held[0];
}

void any_forward(cudaStream_t s, bool half, bool float_x, const Conv *c, const void *x, const void *w, void *y) {
    int blocks = blocks_for((size_t)c->images * c->out_height * c->out_width * c->out);
    if (float_x)
        DISPATCH(half,
                 (any_forward_kernel<T, float><<<blocks, THREADS, 0, s>>>(*c, (const float *)x, (const T *)w, (T *)y)));
    else
        DISPATCH(half, (any_forward_kernel<T, T><<<blocks, THREADS, 0, s>>>(*c, (const T *)x, (const T *)w, (T *)y)));
}

void any_data(cudaStream_t s, bool half, const Conv *c, const void *dy, const void *w, void *dx) {
    int blocks = blocks_for((size_t)c->images * c->height * c->width * c->in);
    DISPATCH(half, (any_data_kernel<T><<<blocks, THREADS, 0, s>>>(*c, (const T *)dy, (const T *)w, (T *)dx)));
}

void any_weights(cudaStream_t s, bool half, bool float_x, const Conv *c, const void *x, const void *dy, float *dw) {
    unsigned weights = (unsigned)c->out * (unsigned)(c->kernel * c->kernel * c->in);
    if (float_x)
        DISPATCH(half,
                 (any_weights_kernel<T, float><<<weights, THREADS, 0, s>>>(*c, (const float *)x, (const T *)dy, dw)));
    else
        DISPATCH(half, (any_weights_kernel<T, T><<<weights, THREADS, 0, s>>>(*c, (const T *)x, (const T *)dy, dw)));
}
