/* A rate by verdicts and gold rows drawn by verdict, or at random (Tenenbein 1970).
 *
 * With M_v people of the sample of verdict v, and g_v of n_v gold rows of that verdict having the label, the
 * log-likelihood is
 *
 *   l(s, p) = sum_v M_v log s_v + g_v log p_v + (n_v - g_v) log(1 - p_v),    rate = sum_v s_v p_v,
 *
 * whether gold rows were drawn by verdict or at random: then n_v tells nothing more where the sample has those rows.
 * The most likely rate is sum_v M_v/M g_v/n_v. At a given rate r, with a multiplier lambda in (-M/(1-r), M/r),
 *
 *   s_v = M_v/(M + lambda (p_v - r)),
 *   lambda (M_v - n_v) p^2 + (g_v lambda - n_v (M - lambda r) - lambda M_v) p + g_v (M - lambda r) = 0,
 *
 * p_v the root in [0, 1], and lambda the root of sum_v s_v (p_v - r), which falls as it rises.
 *
 * A rate is in the interval where 2 (l^ - l(rate)) is at most the quantile `level` of what it is among counts drawn
 * anew from the most likely s and p at that rate; the quantile is found where a chi-square's would end the interval,
 * then where that one ends it, and taken as linear between the two. The same random numbers serve at each rate.
 */
#include <math.h>

#include "core/core.h"
#include "prevail/posterior.h"
#include "rate/rate.h"

enum { REPLICATES = 400, HALVINGS = 100, SEARCH = 40 };

static double times_log(double count, double p) {
    return count > 0 ? count * log(p) : 0;
}

static double sum_of(size_t n, const double *x) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

double pv__double_mode(const pv__double_counts *c) {
    double total = sum_of(c->cells, c->sample), rate = 0;
    for (size_t v = 0; v < c->cells; v++) {
        double gold = c->yes[v] + c->no[v];
        rate += gold > 0 ? c->sample[v] / total * c->yes[v] / gold : 0;
    }
    return fmin(rate, 1);
}

static double likelihood(const pv__double_counts *c, const double *p, const double *s) {
    double sum = 0;
    for (size_t v = 0; v < c->cells; v++)
        sum += times_log(c->sample[v], s[v]) + times_log(c->yes[v], p[v]) + times_log(c->no[v], 1 - p[v]);
    return sum;
}

static double most_likely(const pv__double_counts *c) {
    double total = sum_of(c->cells, c->sample), p[PV__RATE_CELLS], s[PV__RATE_CELLS];
    for (size_t v = 0; v < c->cells; v++) {
        double gold = c->yes[v] + c->no[v];
        s[v] = c->sample[v] / total;
        p[v] = gold > 0 ? c->yes[v] / gold : 0;
    }
    return likelihood(c, p, s);
}

/* The root of the equation above. */
static double label_share(const pv__double_counts *c, size_t v, double total, double rate, double lambda) {
    double yes = c->yes[v], no = c->no[v], people = c->sample[v], left = total - lambda * rate;
    double a = lambda * (people - yes - no), b = yes * lambda - (yes + no) * left - lambda * people, e = yes * left, p;
    if (!(yes > 0))
        p = b > 0 ? (a < 0 ? -b / a : 1) : 0;
    else if (!(no > 0))
        p = 2 * a + b <= 0 ? 1 : e / a;
    else
        p = 2 * e / (sqrt(fmax(0, b * b - 4 * a * e)) - b);
    return fmin(fmax(p, 0), 1);
}

/* sum_v s_v (p_v - rate). */
static double excess(const pv__double_counts *c, double total, double rate, double lambda, double *p, double *s) {
    double sum = 0;
    for (size_t v = 0; v < c->cells; v++) {
        p[v] = label_share(c, v, total, rate, lambda);
        s[v] = c->sample[v] > 0 ? c->sample[v] / fmax(total + lambda * (p[v] - rate), 1e-300) : 0;
        sum += s[v] * (p[v] - rate);
    }
    return sum;
}

/* All rows of the sample on one side. */
static double ratio_at_bound(const pv__double_counts *c, double rate, double *p, double *s) {
    double total = sum_of(c->cells, c->sample);
    for (size_t v = 0; v < c->cells; v++) {
        s[v] = c->sample[v] / total;
        p[v] = s[v] > 0 ? rate : 0.5;
        if (!(s[v] > 0) && c->yes[v] + c->no[v] > 0)
            p[v] = c->yes[v] / (c->yes[v] + c->no[v]);
    }
    return fmax(0, 2 * (most_likely(c) - likelihood(c, p, s)));
}

double pv__double_ratio(const pv__double_counts *c, double rate, double *p, double *s) {
    double own_p[PV__RATE_CELLS], own_s[PV__RATE_CELLS], total = sum_of(c->cells, c->sample);
    p = p ? p : own_p;
    s = s ? s : own_s;
    if (!(rate > 0) || !(rate < 1))
        return ratio_at_bound(c, rate > 0, p, s);
    double low = -total / (1 - rate), high = total / rate;
    for (int i = 0; i < HALVINGS && high - low > 1e-15 * total; i++) {
        double lambda = 0.5 * (low + high);
        *(excess(c, total, rate, lambda, p, s) > 0 ? &low : &high) = lambda;
    }
    (void)excess(c, total, rate, 0.5 * (low + high), p, s);
    return fmax(0, 2 * (most_likely(c) - likelihood(c, p, s)));
}

/* ---- the interval ------------------------------------------------------------------------------------------------ */

static void draw(const pv__double_counts *of, const double *p, const double *s, pv_rng *rng, pv__double_counts *to) {
    double both[2], count[2];
    to->cells = of->cells;
    (void)pv__multinomial(rng, of->cells, sum_of(of->cells, of->sample), s, to->sample);
    for (size_t v = 0; v < of->cells; v++) {
        both[0] = 1 - p[v];
        both[1] = p[v];
        (void)pv__multinomial(rng, 2, of->yes[v] + of->no[v], both, count);
        to->no[v] = count[0];
        to->yes[v] = count[1];
    }
}

static pv_status quantile_at(pv_ctx *ctx, const pv__double_counts *c, double rate, double level, int64_t seed,
                             double *value) {
    double ratio[REPLICATES], p[PV__RATE_CELLS], s[PV__RATE_CELLS];
    pv__double_counts drawn;
    (void)pv__double_ratio(c, rate, p, s);
    for (size_t i = 0; i < REPLICATES; i++) {
        pv_rng rng = pv_rng_stream((uint64_t)seed, PV_STREAM_RATE, i);
        PV_TRY(pv__go_on(ctx));
        draw(c, p, s, &rng, &drawn);
        ratio[i] = pv__double_ratio(&drawn, rate, NULL, NULL);
    }
    *value = pv_quantile(REPLICATES, ratio, level);
    return PV_OK;
}

typedef struct limit {
    double from, at_from, to, at_to;
} limit;

static double limit_at(const limit *l, double rate) {
    double share = l->to != l->from ? fmin(fmax((rate - l->from) / (l->to - l->from), 0), 1) : 0;
    return l->at_from + share * (l->at_to - l->at_from);
}

/* Where the ratio, on the way from the mode to `bound`, reaches the limit; the bound where it does not. */
static double reach(const pv__double_counts *c, double mode, double bound, const limit *l) {
    double in = mode, out = bound;
    if (pv__double_ratio(c, bound, NULL, NULL) <= limit_at(l, bound))
        return bound;
    for (int i = 0; i < SEARCH; i++) {
        double rate = 0.5 * (in + out);
        *(pv__double_ratio(c, rate, NULL, NULL) <= limit_at(l, rate) ? &in : &out) = rate;
    }
    return in;
}

pv_status pv__double_interval(pv_ctx *ctx, const pv__double_counts *c, double level, int64_t seed, double ends[2]) {
    double usual = pv_normal_quantile(0.5 + 0.5 * level), mode = pv__double_mode(c);
    usual *= usual;
    for (int end = 0; end < 2; end++) {
        limit l = {.at_from = usual};
        l.from = l.to = reach(c, mode, end, &l);
        PV_TRY(quantile_at(ctx, c, l.from, level, seed, &l.at_from));
        l.to = reach(c, mode, end, &l);
        l.at_to = l.at_from;
        if (l.to != l.from)
            PV_TRY(quantile_at(ctx, c, l.to, level, seed, &l.at_to));
        ends[end] = reach(c, mode, end, &l);
    }
    return PV_OK;
}
