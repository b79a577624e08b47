/* The shares of labels with their intervals, of a stratum and of all strata together; proportions and their paired
 * differences.
 *
 * Strata have rates r_s of their own with intervals [l_s, u_s], and shares w_s in the sample. Together (Zou and Donner
 * 2008, with the variance of the shares) sum_s w_s r_s has the interval from
 *
 *   r - sqrt(sum_s w_s^2 (r_s - l_s)^2 + z^2 sum_s w_s (r_s - r)^2/N)
 *
 * to the same upwards, within [0, 1].
 *
 * A proportion has Wilson's interval. The difference of two of the same people has Tango's (1998): those d with
 * |b - c - n d| <= z sqrt(n (2 q + d (1 - d))), q the most likely share of those in the second alone at that d.
 */
#include <math.h>
#include <string.h>

#include "core/core.h"
#include "rate/rate.h"

static void label_counts(const pv__rate_counts *c, pv__label_cell_counts *to) {
    *to = (pv__label_cell_counts){.labels = c->labels, .cells = c->cells};
    for (size_t k = 0; k < c->cells; k++) {
        to->target[k] = c->sample[k];
        to->targets += c->sample[k];
        for (size_t y = 0; y < c->labels; y++) {
            to->known[y][k] = c->gold[y][k];
            to->mass[y] += c->gold[y][k];
        }
    }
}

static void bin_counts(const pv__rate_counts *c, pv__counts *to) {
    *to = (pv__counts){.bins = c->cells};
    for (size_t k = 0; k < c->cells; k++) {
        to->target[k] = c->sample[k];
        to->targets += c->sample[k];
        for (size_t y = 0; y < 2; y++) {
            to->known[y][k] = c->gold[y][k];
            to->mass[y] += c->gold[y][k];
        }
    }
}

static pv_status two_by_label(pv_ctx *ctx, const pv__rate_counts *c, const pv_rate_options *o, pv__rate_estimate *e) {
    pv__counts counts;
    pv__bins_fit fit;
    double ends[2], scale;
    bin_counts(c, &counts);
    pv__bins_mode(&counts, &fit);
    PV_TRY(pv__bins_interval(ctx, &counts, o->interval, o->seed, ends, &scale));
    e->value[1] = fit.pi;
    e->lo[1] = fmin(ends[0], fit.pi);
    e->hi[1] = fmax(ends[1], fit.pi);
    e->value[0] = 1 - e->value[1];
    e->lo[0] = 1 - e->hi[1];
    e->hi[0] = 1 - e->lo[1];
    return c->gold_by == PV__GOLD_KNOWN ? PV_OK : pv__bins_test(ctx, &counts, o->seed, &e->statistic, &e->p);
}

static pv_status many_by_label(pv_ctx *ctx, const pv__rate_counts *c, const pv_rate_options *o, pv__rate_estimate *e) {
    pv__label_cell_counts counts;
    pv__label_cell_fit fit;
    double scale;
    label_counts(c, &counts);
    pv__label_cells_mode(&counts, &fit);
    memcpy(e->value, fit.pi, c->labels * sizeof *fit.pi);
    return pv__label_cells_interval(ctx, &counts, o->interval, o->seed, e->lo, e->hi, &scale);
}

static pv_status by_verdict(pv_ctx *ctx, const pv__rate_counts *c, const pv_rate_options *o, pv__rate_estimate *e) {
    for (size_t y = c->labels == 2 ? 1 : 0; y < c->labels; y++) {
        pv__double_counts counts = {.cells = c->cells};
        double ends[2];
        for (size_t k = 0; k < c->cells; k++) {
            counts.sample[k] = c->sample[k];
            for (size_t l = 0; l < c->labels; l++)
                *(l == y ? &counts.yes[k] : &counts.no[k]) += c->gold[l][k];
        }
        e->value[y] = pv__double_mode(&counts);
        PV_TRY(pv__double_interval(ctx, &counts, o->interval, o->seed, ends));
        e->lo[y] = ends[0];
        e->hi[y] = ends[1];
    }
    if (c->labels == 2) {
        e->value[0] = 1 - e->value[1];
        e->lo[0] = 1 - e->hi[1];
        e->hi[0] = 1 - e->lo[1];
    }
    return PV_OK;
}

pv_status pv__rate_estimate_of(pv_ctx *ctx, const pv__rate_counts *counts, const pv_rate_options *options,
                               pv__rate_estimate *estimate) {
    *estimate = (pv__rate_estimate){.statistic = NAN, .p = NAN};
    if (counts->gold_by == PV__GOLD_BY_VERDICT || counts->gold_by == PV__GOLD_AT_RANDOM)
        return by_verdict(ctx, counts, options, estimate);
    return counts->labels == 2 ? two_by_label(ctx, counts, options, estimate)
                               : many_by_label(ctx, counts, options, estimate);
}

void pv__rate_combine(size_t strata, const pv__rate_counts *counts, const pv__rate_estimate *own, double level,
                      pv__rate_estimate *all) {
    double z = pv_normal_quantile(0.5 + 0.5 * level), people = 0;
    *all = own[0];
    if (strata < 2)
        return;
    all->statistic = all->p = NAN;
    for (size_t s = 0; s < strata; s++)
        for (size_t k = 0; k < counts[s].cells; k++)
            people += counts[s].sample[k];
    for (size_t y = 0; y < counts[0].labels; y++) {
        double rate = 0, between = 0, down = 0, up = 0;
        for (size_t s = 0; s < strata; s++)
            rate += counts[s].share * own[s].value[y];
        for (size_t s = 0; s < strata; s++) {
            double w = counts[s].share, r = own[s].value[y];
            between += w * (r - rate) * (r - rate) / people;
            down += w * w * (r - own[s].lo[y]) * (r - own[s].lo[y]);
            up += w * w * (own[s].hi[y] - r) * (own[s].hi[y] - r);
        }
        all->value[y] = rate;
        all->lo[y] = fmax(0, rate - sqrt(down + z * z * between));
        all->hi[y] = fmin(1, rate + sqrt(up + z * z * between));
    }
}

/* ---- proportions ------------------------------------------------------------------------------------------------- */

pv_result *pv__rate_proportion(double count, double people, double level) {
    double z = pv_normal_quantile(0.5 + 0.5 * level), p = count / people, more = z * z / people;
    double middle = (p + 0.5 * more) / (1 + more);
    double half = z / (1 + more) * sqrt(fmax(0, p * (1 - p) / people + 0.25 * more / people));
    if (!(people > 0))
        return pv__value_pack("vvv", "value", pv__value_null(), "lo", pv__value_null(), "hi", pv__value_null());
    return pv__value_pack("rrr", "value", p, "lo", count > 0 ? fmax(0, middle - half) : 0, "hi",
                          count < people ? fmin(1, middle + half) : 1);
}

static double paired_score(double b, double c, double n, double d) {
    double linear = -b - c + (2 * n - b + c) * d, constant = -c * d * (1 - d);
    double q = (sqrt(fmax(0, linear * linear - 8 * n * constant)) - linear) / (4 * n);
    double variance = n * (2 * q + d * (1 - d));
    double away = b - c - n * d;
    return variance > 0 ? away / sqrt(variance) : away > 0 ? HUGE_VAL : away < 0 ? -HUGE_VAL : 0;
}

void pv__rate_paired(double first, double second, double people, double level, double ends[2]) {
    double z = pv_normal_quantile(0.5 + 0.5 * level), middle = (first - second) / people;
    for (int end = 0; end < 2; end++) {
        double in = middle, out = end ? 1 : -1;
        for (int i = 0; i < 60; i++) {
            double d = 0.5 * (in + out);
            *(fabs(paired_score(first, second, people, d)) <= z ? &in : &out) = d;
        }
        ends[end] = 0.5 * (in + out);
    }
}
