/* Copies between host and device: converts precision and the order of tensors and parameters. */
#include "kernels.h"

template <typename A, typename B> static __global__ void convert_kernel(size_t n, const A *from, B *to) {
    EACH(i, n)
    to[i] = (B)from[i];
}

static __global__ void scatter_in_kernel(size_t n, const int *host, const double *from, float *to) {
    EACH(i, n)
    to[i] = host[i] < 0 ? 0.0f : (float)from[host[i]];
}

static __global__ void scatter_out_kernel(size_t n, const int *host, const float *from, double *to) {
    EACH(i, n)
    if (host[i] >= 0)
        to[host[i]] = (double)from[i];
}

void narrow(cudaStream_t s, size_t n, const double *from, float *to) {
    convert_kernel<<<blocks_for(n), THREADS, 0, s>>>(n, from, to);
}

void scatter_in(cudaStream_t s, size_t n, const int *host, const double *from, float *to) {
    scatter_in_kernel<<<blocks_for(n), THREADS, 0, s>>>(n, host, from, to);
}

void scatter_out(cudaStream_t s, size_t n, const int *host, const float *from, double *to) {
    scatter_out_kernel<<<blocks_for(n), THREADS, 0, s>>>(n, host, from, to);
}

void to_half(cudaStream_t s, size_t n, const float *from, bf16 *to) {
    convert_kernel<<<blocks_for(n), THREADS, 0, s>>>(n, from, to);
}

void from_half(cudaStream_t s, size_t n, const bf16 *from, float *to) {
    convert_kernel<<<blocks_for(n), THREADS, 0, s>>>(n, from, to);
}

template <typename T>
static __global__ void tensor_kernel(size_t n, int plane, int channels, T *own, double *host, bool out) {
    EACH(i, n) {
        size_t c = i % channels, pixel = i / channels, image = pixel / plane;
        size_t there = (image * channels + c) * plane + pixel % plane;
        if (out)
            host[there] = (double)(float)own[i];
        else
            own[i] = (T)(float)host[there];
    }
}

void tensor_out(cudaStream_t s, bool half, int images, int plane, int channels, const void *from, double *to) {
    size_t n = (size_t)images * plane * channels;
    DISPATCH(half, (tensor_kernel<T><<<blocks_for(n), THREADS, 0, s>>>(n, plane, channels, (T *)from, to, true)));
}

void tensor_in(cudaStream_t s, bool half, int images, int plane, int channels, const double *from, void *to) {
    size_t n = (size_t)images * plane * channels;
    DISPATCH(half,
             (tensor_kernel<T><<<blocks_for(n), THREADS, 0, s>>>(n, plane, channels, (T *)to, (double *)from, false)));
}
