/* Loops over the sample points of variational inference, compiled once per instruction set (base/simd.h). A vector
 * holds one coordinate of several points. */
#include <math.h>

#include "base/simd.h"
#include "posterior/vi.h"

/* ---- normals: vectorised Box-Muller ------------------------------------------------------------------------------ */

static void normals(size_t n, double *x) {
    size_t half = n / 2;
    for (size_t i = 0; i < half; i += VL) {
        vd radius = v_sqrt(v_set(-2) * v_log(v_load(x + i))), sine, cosine;
        v_sincos_turns(v_load(x + half + i), &sine, &cosine);
        v_store(x + i, radius * cosine);
        v_store(x + half + i, radius * sine);
    }
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

static void lower(size_t d, const double *a, bool transposed, size_t count, size_t stride, const double *x, double *y) {
    for (size_t p = 0; p < count; p += VL)
        for (size_t i = 0; i < d; i++) {
            vd sum = v_set(0);
            if (transposed)
                for (size_t l = i; l < d; l++)
                    sum += v_set(a[l * d + i]) * v_load(x + l * stride + p);
            else
                for (size_t l = 0; l <= i; l++)
                    sum += v_set(a[i * d + l]) * v_load(x + l * stride + p);
            v_store(y + i * stride + p, sum);
        }
}

static void place(const pv__vi_mix *mix, size_t k, size_t count, size_t stride, const double *eps, double *u) {
    size_t d = mix->dims;
    const double *mean = mix->mean + k * d, *c = mix->factor + k * mix->size;
    for (size_t p = 0; p < count; p += VL)
        for (size_t i = 0; i < d; i++) {
            vd sum = v_set(mean[i]);
            if (mix->diagonal)
                sum += v_set(c[i]) * v_load(eps + i * stride + p);
            else
                for (size_t l = 0; l <= i; l++)
                    sum += v_set(c[i * d + l]) * v_load(eps + l * stride + p);
            v_store(u + i * stride + p, sum);
        }
}

/* ---- log q and its gradient -------------------------------------------------------------------------------------- */

/* Several vectors of points are processed together (`width` of them, a constant when inlined): they share the loads of
 * the factors and hide each other's latency. Scratch: z [components][dims][width VL], then each component's log joint
 * density. */
#define INLINE static inline __attribute__((always_inline))

/* Writes z = C^-1 (u - mean); square = |z|^2. u - mean is computed first, because components may be narrow and far from
 * 0. */
INLINE void residual(const pv__vi_mix *mix, size_t k, size_t stride, const double *u, double *z, vd *square,
                     int width) {
    size_t d = mix->dims, wide = (size_t)width * VL;
    const double *mean = mix->mean + k * d, *inverse = mix->inverse + k * mix->size;
    for (size_t i = 0; i < d; i++)
        for (int v = 0; v < width; v++)
            v_store(z + i * wide + v * VL, v_load(u + i * stride + v * VL) - v_set(mean[i]));
    for (int v = 0; v < width; v++)
        square[v] = v_set(0);
    for (size_t i = d; i-- > 0;) { /* from the last row up: row i needs only what is not yet overwritten */
        vd sum[4];
        for (int v = 0; v < width; v++)
            sum[v] = v_set(inverse[mix->diagonal ? i : i * d + i]) * v_load(z + i * wide + v * VL);
        for (size_t l = 0; !mix->diagonal && l < i; l++)
            for (int v = 0; v < width; v++)
                sum[v] += v_set(inverse[i * d + l]) * v_load(z + l * wide + v * VL);
        for (int v = 0; v < width; v++) {
            v_store(z + i * wide + v * VL, sum[v]);
            square[v] += sum[v] * sum[v];
        }
    }
}

/* gradient -= share C^-T z */
INLINE void pull(const pv__vi_mix *mix, size_t k, size_t stride, const vd *share, const double *z, double *gradient,
                 int width) {
    size_t d = mix->dims, wide = (size_t)width * VL;
    const double *inverse = mix->inverse + k * mix->size;
    for (size_t l = 0; l < d; l++) {
        vd sum[4];
        for (int v = 0; v < width; v++)
            sum[v] = v_set(inverse[mix->diagonal ? l : l * d + l]) * v_load(z + l * wide + v * VL);
        for (size_t i = l + 1; !mix->diagonal && i < d; i++)
            for (int v = 0; v < width; v++)
                sum[v] += v_set(inverse[i * d + l]) * v_load(z + i * wide + v * VL);
        for (int v = 0; v < width; v++) {
            double *to = gradient + l * stride + v * VL;
            v_store(to, v_load(to) - share[v] * sum[v]);
        }
    }
}

INLINE void density_block(const pv__vi_mix *mix, size_t stride, const double *u, double *scratch, double *log_q,
                          double *gradient, int width) {
    size_t d = mix->dims, components = mix->components, wide = (size_t)width * VL;
    double *z = scratch, *each = scratch + components * d * wide;
    vd most[4], total[4], part[4];
    for (int v = 0; v < width; v++) {
        most[v] = v_set(-HUGE_VAL);
        total[v] = v_set(0);
    }
    for (size_t k = 0; k < components; k++) {
        residual(mix, k, stride, u, z + k * d * wide, part, width);
        for (int v = 0; v < width; v++) {
            vd log_joint = v_set(mix->log_weight[k] - mix->log_det[k]) - v_set(0.5) * part[v];
            v_store(each + k * wide + v * VL, log_joint);
            most[v] = v_max(most[v], log_joint);
        }
    }
    for (size_t k = 0; k < components; k++)
        for (int v = 0; v < width; v++) {
            part[v] = v_exp(v_load(each + k * wide + v * VL) - most[v]);
            v_store(each + k * wide + v * VL, part[v]);
            total[v] += part[v];
        }
    for (int v = 0; v < width; v++) /* the constant is log sqrt(2 pi) */
        v_store(log_q + v * VL, most[v] + v_log(total[v]) - v_set(0.91893853320467274178 * (double)d));
    for (size_t i = 0; i < d; i++)
        for (int v = 0; v < width; v++)
            v_store(gradient + i * stride + v * VL, v_set(0));
    for (size_t k = 0; k < components; k++) {
        for (int v = 0; v < width; v++)
            part[v] = v_load(each + k * wide + v * VL) / total[v];
        pull(mix, k, stride, part, z + k * d * wide, gradient, width);
    }
}

static void density(const pv__vi_mix *mix, size_t count, size_t stride, const double *u, double *scratch, double *log_q,
                    double *gradient) {
    size_t p = 0;
    for (; p + 4 * VL <= count; p += 4 * VL)
        density_block(mix, stride, u + p, scratch, log_q + p, gradient + p, 4);
    for (; p < count; p += VL)
        density_block(mix, stride, u + p, scratch, log_q + p, gradient + p, 1);
}

static void contrast(size_t d, size_t stride, const double *restrict log_p, const double *restrict dlog_q,
                     double *restrict h) {
    for (size_t i = 0; i < d; i++)
        for (size_t p = 0; p < stride; p++) /* vectorised by the compiler */
            h[i * stride + p] += log_p[p] > -HUGE_VAL ? -dlog_q[i * stride + p] : dlog_q[i * stride + p];
}

/* ---- gradients in a component's own coordinates ------------------------------------------------------------------ */

static void local(const pv__vi_mix *mix, size_t k, size_t count, size_t stride, const double *h, const double *eps,
                  double *scratch, double *dmean, double *dfactor) {
    size_t d = mix->dims;
    const double *c = mix->factor + k * mix->size;
    memset(dmean, 0, d * sizeof *dmean);
    memset(dfactor, 0, mix->size * sizeof *dfactor);
    for (size_t p = 0; p < count; p += VL) {
        size_t left = count - p;
        for (size_t i = 0; i < d; i++) {
            const double *hi = h + i * stride + p;
            v_store(scratch + i * VL, left < VL ? v_load_head(hi, left) : v_load(hi));
        }
        for (size_t i = 0; i < d; i++) { /* row i of C^T h needs only rows i and later of h */
            vd t = v_set(0);
            if (mix->diagonal)
                t = v_set(c[i]) * v_load(scratch + i * VL);
            else
                for (size_t l = i; l < d; l++)
                    t += v_set(c[l * d + i]) * v_load(scratch + l * VL);
            dmean[i] += v_sum(t);
            if (mix->diagonal)
                dfactor[i] += v_sum(t * v_load(eps + i * stride + p));
            else
                for (size_t l = 0; l <= i; l++)
                    dfactor[i * d + l] += v_sum(t * v_load(eps + l * stride + p));
        }
    }
}

static void turns(size_t d, size_t stride, const double *t, const double *eps, double scale, double *turn) {
    for (size_t i = 0; i < d; i++)
        for (size_t l = 0; l < i; l++) {
            vd sum = v_set(0);
            for (size_t p = 0; p < stride; p += VL) {
                sum += v_load(t + i * stride + p) * v_load(eps + l * stride + p);
                sum += v_load(t + l * stride + p) * v_load(eps + i * stride + p);
            }
            turn[i * d + l] = 0.5 * scale * v_sum(sum);
        }
}

/* Differs from standard Adam in two ways: second moments are averaged over a shorter time, because a poor start has
 * steep gradients; and a gradient of 1 to 3 is not scaled down, nor a larger one to less than 3. Far from the target,
 * steps thus grow towards those of natural gradients, but not so far that components jump past a mode. */
static void adam(size_t n, double rate, double step, double *restrict gradient, double *restrict first,
                 double *restrict second) {
    const double keep_first = 0.9, keep_second = 0.99, most = 3, tiny = 1e-12;
    double scale = rate / (1 - pow(keep_first, step)), unbias = 1 / (1 - pow(keep_second, step));
    for (size_t i = 0; i < n; i++) { /* vectorised by the compiler with -O3 and -fno-math-errno */
        double g = gradient[i];
        first[i] = keep_first * first[i] + (1 - keep_first) * g;
        second[i] = keep_second * second[i] + (1 - keep_second) * g * g;
        double size = sqrt(second[i] * unbias) + tiny;
        gradient[i] = scale * first[i] / (size < 1 ? size : size < most ? 1 : size / most);
    }
}

#define PV_TEXT_(x) #x
#define PV_TEXT(x) PV_TEXT_(x)

extern const pv__vi_kernels PV_KERNEL(pv__vi_kernels);
const pv__vi_kernels PV_KERNEL(pv__vi_kernels) = {PV_TEXT(PV_ISA), normals, place, density, lower,
                                                  contrast,        local,   turns, adam};
