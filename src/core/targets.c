/* Targets: the observed labels, and the known prevalence of the population. Checks, label masses, names. */
#include <math.h>
#include <string.h>

#include "base/names.h"
#include "core/core.h"

#define MARGINAL(name, word, text) {PV_MARGINAL_##name, word},
PV__NAMED(pv_marginal, pv_marginal_name, PV_MARGINAL_LIST, MARGINAL)
PV__FOUND(pv_marginal, pv_marginal_find, PV_MARGINAL_LIST, MARGINAL)

bool pv_weight_sound(double weight) {
    return weight == 0 || (weight >= 1e-100 && weight <= 1e100);
}

/* Whether all labels are hard, valid and of weight 1: the common case, checked at the speed of memory. */
static bool plain_labels(const pv_targets *targets) {
    enum { PIECE = 4096 };
    if (!targets->label || targets->weight)
        return false;
    for (size_t begin = 0; begin < targets->n; begin += PIECE) {
        size_t end = targets->n - begin < PIECE ? targets->n : begin + PIECE;
        unsigned most = 0; /* unsigned, so that negative labels are caught as large values */
        for (size_t n = begin; n < end; n++)
            most = (unsigned)targets->label[n] > most ? (unsigned)targets->label[n] : most;
        if (most >= (unsigned)targets->classes)
            return false;
    }
    return true;
}

pv_status pv_targets_check(pv_ctx *ctx, const pv_targets *targets) {
    return pv__targets_check(ctx, targets, false);
}

pv_status pv__targets_check(pv_ctx *ctx, const pv_targets *targets, bool unlabelled) {
    if (targets->n == 0)
        return pv__fail(ctx, PV_ERR_INPUT, "no rows");
    if (targets->classes < 2)
        return pv__fail(ctx, PV_ERR_INPUT, "a classifier needs at least 2 classes, not %d", targets->classes);
    if (!targets->label == !targets->frequency)
        return pv__fail(ctx, PV_ERR_USAGE, "give either labels or label frequencies");
    double sample = 0;
    bool sampled = false;
    if (plain_labels(targets))
        return PV_OK;
    for (size_t n = 0; n < targets->n; n++) {
        double weight = pv__weight(targets, n);
        if (!pv_weight_sound(weight))
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu: weight %g; weights are 0, or from 1e-100 to 1e100", n + 1,
                            weight);
        if (targets->label) {
            if (unlabelled && targets->label[n] == PV_UNLABELLED) {
                sampled = true;
                sample += weight;
                continue;
            }
            if (targets->label[n] < 0 || targets->label[n] >= targets->classes)
                return pv__fail(ctx, PV_ERR_INPUT, "row %zu: label %d, outside 0 to %d", n + 1, (int)targets->label[n],
                                targets->classes - 1);
            continue;
        }
        double sum = 0, least = 0;
        for (int y = 0; y < targets->classes; y++) {
            sum += pv__share(targets, n, y);
            least = fmin(least, pv__share(targets, n, y));
        }
        if (!(least >= 0 && fabs(sum - 1) <= 1e-9))
            return pv__fail(ctx, PV_ERR_INPUT,
                            "row %zu: label frequencies must not be negative and must sum to 1 (they sum to %.17g)",
                            n + 1, sum);
    }
    if (sampled && !(sample > 0))
        return pv__fail(ctx, PV_ERR_INPUT, "no unlabelled row has any weight");
    return PV_OK;
}

pv_status pv_prevalence_check(pv_ctx *ctx, const pv_prevalence *population) {
    double sum = 0;
    for (int y = 0; y < population->classes; y++) {
        double p = population->prevalence[y];
        if (!(p > 0 && p < 1))
            return pv__fail(ctx, PV_ERR_USAGE, "prevalence of class %d is %g; it must lie strictly between 0 and 1", y,
                            p);
        sum += p;
    }
    if (!(fabs(sum - 1) <= 1e-9))
        return pv__fail(ctx, PV_ERR_USAGE, "prevalences sum to %.17g; they must sum to 1", sum);
    if (!(population->prevalence_n >= 0))
        return pv__fail(ctx, PV_ERR_USAGE, "prevalence_n is %g; it must be 0 or more", population->prevalence_n);
    sum = 0;
    for (int s = 0; s < population->strata; s++) {
        pv_prevalence own = {.classes = population->classes,
                             .prevalence = population->stratum_prevalence + s * population->classes,
                             .prevalence_n = population->stratum_n[s]};
        PV_TRY(pv_prevalence_check(ctx, &own));
        if (!(population->share[s] > 0))
            return pv__fail(ctx, PV_ERR_USAGE, "the share of stratum %d is %g; it must be above 0", s,
                            population->share[s]);
        sum += population->share[s];
    }
    if (population->strata && !(fabs(sum - 1) <= 1e-9))
        return pv__fail(ctx, PV_ERR_USAGE, "the shares of the strata sum to %.17g; they must sum to 1", sum);
    return PV_OK;
}

/* Counts rows with label y, in pieces whose count fits 32 bits, which compilers vectorise. */
static double count_label(const pv_targets *targets, int32_t y) {
    enum { PIECE = 1 << 16 };
    double total = 0;
    for (size_t begin = 0; begin < targets->n; begin += PIECE) {
        size_t end = targets->n - begin < PIECE ? targets->n : begin + PIECE;
        int32_t count = 0;
        for (size_t n = begin; n < end; n++)
            count += targets->label[n] == y;
        total += count;
    }
    return total;
}

void pv_label_mass(const pv_targets *targets, double *mass) {
    enum { FEW = 8 }; /* up to this many classes, one pass per class is faster than a histogram */
    memset(mass, 0, (size_t)targets->classes * sizeof *mass);
    if (targets->label && !targets->weight && targets->classes <= FEW) {
        for (int32_t y = 0; y < targets->classes; y++)
            mass[y] = count_label(targets, y);
        return;
    }
    for (size_t n = 0; n < targets->n; n++) {
        if (targets->label) {
            if (targets->label[n] != PV_UNLABELLED)
                mass[targets->label[n]] += pv__weight(targets, n);
            continue;
        }
        for (int y = 0; y < targets->classes; y++)
            mass[y] += pv__weight(targets, n) * pv__share(targets, n, y);
    }
}

void pv_label_shares(const pv_targets *targets, double *share) {
    double total = 0;
    pv_label_mass(targets, share);
    for (int y = 0; y < targets->classes; y++)
        total += share[y];
    for (int y = 0; y < targets->classes; y++)
        share[y] /= total;
}

pv_targets pv__targets_slice(const pv_targets *targets, size_t begin, size_t n) {
    pv_targets slice = *targets;
    slice.n = n;
    if (slice.label)
        slice.label += begin;
    if (slice.frequency)
        slice.frequency += begin * (size_t)targets->classes;
    if (slice.weight)
        slice.weight += begin;
    if (slice.set)
        slice.set += begin;
    if (slice.stratum)
        slice.stratum += begin;
    if (slice.unit)
        slice.unit += begin;
    if (slice.block)
        slice.block += begin;
    return slice;
}
