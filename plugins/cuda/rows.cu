/* Kernels for rows: cutting views out of volumes, pooling over views, the output layer, and the parameters' step. */
#include "adam.h"

/* ---- views ------------------------------------------------------------------------------------------------------- */

struct Between {
    size_t lower, upper;
    double share;
};

static __device__ Between place(double at, size_t size) {
    double last = (double)size - 1, inside = at < 0 ? 0 : at > last ? last : at, whole = floor(inside);
    size_t lower = (size_t)whole;
    return Between{lower, lower + 1 < size ? lower + 1 : lower, inside - whole};
}

template <typename P> struct Volume {
    const P *pixels;
    double low, high;
    size_t width;
    __device__ double at(size_t i) const {
        double value = (double)pixels[i];
        return value < low ? low : value > high ? high : value;
    }
    __device__ double plane(size_t first, Between y, Between x) const {
        const size_t up = first + y.lower * width, down = first + y.upper * width;
        double a = at(up + x.lower), b = at(up + x.upper), c = at(down + x.lower), d = at(down + x.upper);
        double above = a + x.share * (b - a), below = c + x.share * (d - c);
        return above + y.share * (below - above);
    }
};

/* As in src/data/views.c, in the same precision. Several blocks per view. */
template <typename P>
static __global__ void cut_kernel(int views, pv__cut cut, pv__volumes_spec spec, const P *pixels, const Where *where,
                                  const pv__plane *planes, float *x) {
    const Where w = where[blockIdx.x / views];
    const pv__plane p = planes[blockIdx.x];
    const size_t sizes[3] = {spec.planes, spec.height, spec.width}, area = spec.height * spec.width;
    const Volume<P> volume = {pixels + w.volume * spec.planes * area, cut.low, cut.high, spec.width};
    const int S = (int)cut.size;
    double step = cut.field / S, middle = (S - 1) / 2.0;
    for (int pixel = blockIdx.y * blockDim.x + threadIdx.x; pixel < S * S; pixel += gridDim.y * blockDim.x) {
        Between at[3];
#pragma unroll
        for (int axis = 0; axis < 3; axis++) {
            double offset = step * ((pixel / S - middle) * p.a[axis] + (pixel % S - middle) * p.b[axis]);
            at[axis] = place(((double)sizes[axis] - 1) / 2 + (offset + p.shift[axis]) / w.spacing[axis], sizes[axis]);
        }
        double value = volume.plane(at[0].lower * area, at[1], at[2]);
        if (at[0].share > 0)
            value += at[0].share * (volume.plane(at[0].upper * area, at[1], at[2]) - value);
        x[(size_t)blockIdx.x * S * S + pixel] = (float)((value - cut.mean) / cut.spread);
    }
}

void cut_views(cudaStream_t s, int rows, int views, const pv__cut *cut, const pv__volumes *volumes, const Where *where,
               const pv__plane *plane, float *x) {
    const pv__volumes_spec spec = volumes->spec;
    dim3 blocks((unsigned)(rows * views), 4);
    if (spec.type == PV_PIXEL_U8)
        cut_kernel<<<blocks, THREADS, 0, s>>>(views, *cut, spec, (const uint8_t *)volumes->pixels, where, plane, x);
    else if (spec.type == PV_PIXEL_I16)
        cut_kernel<<<blocks, THREADS, 0, s>>>(views, *cut, spec, (const int16_t *)volumes->pixels, where, plane, x);
    else
        cut_kernel<<<blocks, THREADS, 0, s>>>(views, *cut, spec, (const float *)volumes->pixels, where, plane, x);
}

/* ---- output layer ------------------------------------------------------------------------------------------------ */

/* One block per row. */
template <typename T>
static __global__ void head_kernel(Head h, const T *features, const float *w, float *pooled, unsigned short *chosen,
                                   double *loglik) {
    const size_t row = blockIdx.x;
    const T *own = features + row * h.views * h.features;
    double *out = loglik + row * h.classes;
    for (int f = threadIdx.x; f < h.features; f += THREADS) {
        float best = (float)own[f], sum = 0;
        int which = 0;
        for (int v = 0; v < h.views; v++) {
            float value = (float)own[v * h.features + f];
            sum += value;
            if (h.pool == 1 ? value < best : value > best) {
                best = value;
                which = v;
            }
        }
        chosen[row * h.features + f] = (unsigned short)which;
        pooled[row * h.features + f] = h.pool == 2 ? sum / h.views : best;
    }
    __syncthreads();
    for (int y = 0; y < h.classes; y++) {
        double sum = 0;
        for (int f = threadIdx.x; f < h.features; f += THREADS)
            sum += (double)pooled[row * h.features + f] * (double)w[f * h.classes + y];
        sum = block_sum(sum);
        if (threadIdx.x == 0)
            out[y] = sum + (double)w[h.features * h.classes + y];
    }
    if (threadIdx.x > 0)
        return;
    double top = out[0], total = 0;
    for (int y = 1; y < h.classes; y++)
        top = fmax(top, out[y]);
    for (int y = 0; y < h.classes; y++)
        total += exp(out[y] - top);
    for (int y = 0; y < h.classes; y++)
        out[y] -= top + log(total);
}

void head_forward(cudaStream_t s, bool half, const Head *head, const void *features, const float *w, float *pooled,
                  unsigned short *chosen, double *loglik) {
    DISPATCH(half, (head_kernel<T>
                    <<<(unsigned)head->rows, THREADS, 0, s>>>(*head, (const T *)features, w, pooled, chosen, loglik)));
}

template <typename T>
static __global__ void head_backward_kernel(Head h, const unsigned short *chosen, const float *w, const double *loglik,
                                            const double *dloglik, double *dlogits, T *dfeatures) {
    const size_t row = blockIdx.x;
    double *slope = dlogits + row * h.classes, sum = 0;
    for (int y = 0; y < h.classes; y++)
        sum += dloglik[row * h.classes + y];
    for (int y = threadIdx.x; y < h.classes; y += THREADS)
        slope[y] = dloglik[row * h.classes + y] - exp(loglik[row * h.classes + y]) * sum;
    __syncthreads();
    T *own = dfeatures + row * h.views * h.features;
    for (int f = threadIdx.x; f < h.features; f += THREADS) {
        double d = 0;
        for (int y = 0; y < h.classes; y++)
            d += slope[y] * (double)w[f * h.classes + y];
        for (int v = 0; v < h.views; v++) {
            double share = h.pool == 2 ? d / h.views : chosen[row * h.features + f] == v ? d : 0;
            own[v * h.features + f] = (T)(float)share;
        }
    }
}

/* dw[f][y] = sum over rows of pooled[f] dlogits[y]; followed by the biases' gradient. */
static __global__ void head_weights_kernel(Head h, const float *pooled, const double *dlogits, float *dw) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, f = i / h.classes, y = i % h.classes;
    if (f > h.features)
        return;
    double sum = 0;
    for (int row = 0; row < h.rows; row++)
        sum += (f < h.features ? (double)pooled[(size_t)row * h.features + f] : 1.0) * dlogits[row * h.classes + y];
    dw[i] = (float)sum;
}

void head_backward(cudaStream_t s, bool half, const Head *head, const unsigned short *chosen, const float *w,
                   const double *loglik, const double *dloglik, double *dlogits, void *dfeatures) {
    DISPATCH(half, (head_backward_kernel<T><<<(unsigned)head->rows, THREADS, 0, s>>>(*head, chosen, w, loglik, dloglik,
                                                                                     dlogits, (T *)dfeatures)));
}

void head_weights(cudaStream_t s, const Head *head, const float *pooled, const double *dlogits, float *dw) {
    int n = (head->features + 1) * head->classes;
    head_weights_kernel<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, s>>>(*head, pooled, dlogits, dw);
}

/* ---- parameters' step -------------------------------------------------------------------------------------------- */

static __global__ void adam_kernel(size_t begin, size_t end, const Sent *sent, Parameters p) {
    for (size_t i = begin + blockIdx.x * (size_t)THREADS + threadIdx.x; i < end; i += (size_t)gridDim.x * THREADS)
        adam_four(i, sent, p, four_of<float>(p.w, i));
}

void adam_step(cudaStream_t s, size_t begin, size_t end, const Sent *sent, const Parameters *parameters) {
    if (begin < end)
        adam_kernel<<<blocks_for((end - begin) / FOUR), THREADS, 0, s>>>(begin / FOUR, end / FOUR, sent, *parameters);
}

/* ---- what the host sends ----------------------------------------------------------------------------------------- */

static __global__ void take_kernel(const uint4 *ring, size_t units, const unsigned *turn, uint4 *sent) {
    const uint4 *slot = ring + *turn % SLOTS * units;
    EACH(i, units)
    sent[i] = slot[i];
}

void take_sent(cudaStream_t s, const char *ring, size_t size, const unsigned *turn, char *sent) {
    size_t units = size / sizeof(uint4);
    take_kernel<<<blocks_for(units), THREADS, 0, s>>>((const uint4 *)ring, units, turn, (uint4 *)sent);
}
