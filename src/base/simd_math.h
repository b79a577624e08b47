/* src/base/simd_math.h: vector exp, log, log1p, sine and cosine, inline so that a loop keeps its registers. Part of
 * simd.h.
 *
 * exp, log and log1p are within 1 ulp over their whole domain, including subnormal numbers, infinities and NaN;
 * v_exp_negative within 1.1, sine and cosine within 2 (tests/unit/test_simd.c measures them against long double).
 * Polynomials are minimax fits in the relative error of the result. Their coefficients are the same for all instruction
 * sets, but fused products may round differently.
 */
#ifndef PV_SRC_SIMD_MATH_H
#define PV_SRC_SIMD_MATH_H

/* log 2 in two parts: the product of the first and a whole number below 2^21 is exact. */
#define PV_LOG2_HIGH 0x1.62e42feep-1
#define PV_LOG2_LOW 0x1.a39ef35793c76p-33

/* exp(x) - 1 - r = r^2 q(r), |r| <= log(2)/2; Estrin's scheme, for short dependency chains. */
static inline vd v_exp_tail(vd r) {
    vd r2 = r * r, r4 = r2 * r2;
    vd low = (v_set(0x1.000000000000bp-1) + r * v_set(0x1.5555555555561p-3)) +
             r2 * (v_set(0x1.5555555550031p-5) + r * v_set(0x1.111111110d639p-7));
    vd next = (v_set(0x1.6c16c185a72a9p-10) + r * v_set(0x1.a01a01bae2811p-13)) +
              r2 * (v_set(0x1.a01996942214dp-16) + r * v_set(0x1.71dddfcb85868p-19));
    vd top = v_set(0x1.28b048c2c37ecp-22) + r * v_set(0x1.af8587fe3046dp-26);
    return low + r4 * (next + r4 * top);
}

/* x = n log 2 + r; 2^n is applied in two halves, so that the result may be subnormal. */
static inline vd v_exp(vd x) {
    const vd shift = v_set(0x1.8p52); /* the sum's low bits are the rounded integer */
    x = v_max(v_set(-746), v_min(v_set(710), x));
    vd sum = x * v_set(0x1.71547652b82fep0) + shift, n = sum - shift;
    vd high = x - n * v_set(PV_LOG2_HIGH), r = high - n * v_set(PV_LOG2_LOW);
    vd low = (high - r) - n * v_set(PV_LOG2_LOW);
    vd y = v_set(1) + (r + (r * r * v_exp_tail(r) + low));
    vd half = (n * v_set(0.5) + shift) - shift;
    vd first = (vd)((vu)(half + (shift + v_set(1023))) << 52), second = (vd)((vu)(sum - half + v_set(1023)) << 52);
    return y * first * second;
}

/* exp for x <= 0, clamped at exp(-708): a few instructions less. */
static inline vd v_exp_negative(vd x) {
    const vd shift = v_set(0x1.8p52);
    x = v_max(v_set(-708), x);
    vd sum = x * v_set(0x1.71547652b82fep0) + shift, n = sum - shift;
    vd high = x - n * v_set(PV_LOG2_HIGH), r = high - n * v_set(PV_LOG2_LOW);
    vd y = v_set(1) + (r + r * r * v_exp_tail(r));
    return (vd)((vu)y + ((vu)sum << 52));
}

/* x = 2^k m, sqrt(1/2) <= m < sqrt(2), for normal x > 0. *biased: 1023 + k as an integer. */
static inline vd v_split(vd x, vd *m, vu *biased) {
    const vu one = (vu)v_set(1), root = (vu)v_set(0x1.6a09e667f3bcdp-1),
             fraction = (vu)v_set(0x1.fffffffffffffp0) ^ one;
    vu bits = (vu)x + (one - root);
    *biased = bits >> 52;
    *m = (vd)((bits & fraction) + root);
    return (vd)(*biased | (vu)v_set(0x1p52)) - v_set(0x1p52 + 1023);
}

/* log(1 + f) + low, without the leading f: with s = f/(2 + f), log(1 + f) = f - f^2/2 + s (f^2/2 + w p(w)), w = s^2. */
static inline vd v_log_tail(vd f, vd low) {
    vd s = f / (v_set(2) + f), w = s * s, w2 = w * w, half = v_set(0.5) * f * f;
    vd even = v_set(0x1.55555555555d5p-1) + w * v_set(0x1.999999996e7a9p-2) +
              w2 * (v_set(0x1.2492494edda12p-2) + w * v_set(0x1.c71c48d5fbeffp-3));
    vd top = v_set(0x1.7467f187b105fp-3) + w * v_set(0x1.39799cd96cd48p-3) + w2 * v_set(0x1.307c70aa985c6p-3);
    vd p = w * (even + w2 * w2 * top);
    return half - (s * (half + p) + low);
}

static inline vd v_log(vd x) {
    const vd zero = v_set(0), infinite = v_set(__builtin_inf());
    vd subnormal = v_less(x, v_set(0x1p-1022), v_set(54), zero), m;
    vu biased;
    vd k = v_split(v_less(x, v_set(0x1p-1022), x * v_set(0x1p54), x), &m, &biased) - subnormal;
    vd f = m - v_set(1);
    vd y = k * v_set(PV_LOG2_HIGH) - (v_log_tail(f, k * v_set(PV_LOG2_LOW)) - f);
    y = v_less(x, infinite, y, x);
    return v_less(zero, x, y, v_less(x, zero, v_set(__builtin_nan("")), x - infinite));
}

/* log(1 + x) = log(u) + c/u, where u is the rounded sum and c its rounding error; 1/u needs few digits. Near 0 it uses
 * x itself. */
static inline vd v_log1p(vd x) {
    const vd one = v_set(1), zero = v_set(0), infinite = v_set(__builtin_inf());
    vd u = one + x, back = u - one, c = (x - back) + (one - (u - back)), m;
    vu biased;
    vd k = v_split(u, &m, &biased), k2 = k * k;
    vd half_inverse = v_set(1.5303300874) + m * (v_set(-1.5147186129) + m * v_set(0.4852813621));
    c *= half_inverse * (vd)(((vu)v_set(0) + 2047 - biased) << 52);
    c = v_less(zero, k2, c, zero);
    vd f = v_less(zero, k2, m - one, x);
    vd tail = f - v_log_tail(f, k * v_set(PV_LOG2_LOW) + c);
    vd y = v_less(zero, k2, k * v_set(PV_LOG2_HIGH) + tail, tail);
    y = v_less(x, infinite, y, x);
    return v_less(v_set(-1), x, y, v_less(x, v_set(-1), v_set(__builtin_nan("")), x - infinite));
}

/* Sine and cosine of 2 pi t, 0 <= t <= 1: t is split exactly into quarter turns and a remainder. */
static inline void v_sincos_turns(vd t, vd *sine, vd *cosine) {
    const vd shift = v_set(0x1.8p52);
    vd sum = v_set(4) * t + shift, quarter = sum - shift;
    vd a = (t - v_set(0.25) * quarter) * v_set(0x1.921fb54442d18p2), w = a * a, w2 = w * w;
    vd sp = (v_set(-0x1.5555555555549p-3) + w * v_set(0x1.111111110f87ep-7)) +
            w2 * ((v_set(-0x1.a01a019c1204cp-13) + w * v_set(0x1.71de3578176edp-19)) +
                  w2 * (v_set(-0x1.ae5e668919608p-26) + w * v_set(0x1.5d9318801782bp-33)));
    vd cp = (v_set(0x1.555555555554cp-5) + w * v_set(-0x1.6c16c16c15182p-10)) +
            w2 * ((v_set(0x1.a01a019cb222bp-16) + w * v_set(-0x1.27e4f80a3b7d8p-22)) +
                  w2 * (v_set(0x1.1ee9ec1d65c0fp-29) + w * v_set(-0x1.8faeb83293328p-37)));
    vd s = a + a * w * sp, c = v_set(1) - (v_set(0.5) * w - w2 * cp);
    vu odd = (vu)v_set(0) - ((vu)sum & 1), sign = (vu)v_set(-0.0);
    vd at_s = (vd)(((vu)c & odd) | ((vu)s & ~odd)), at_c = (vd)(((vu)s & odd) | ((vu)c & ~odd));
    *sine = (vd)((vu)at_s ^ ((vu)sum << 62 & sign));
    *cosine = (vd)((vu)at_c ^ (((vu)sum + 1) << 62 & sign));
}

#endif
