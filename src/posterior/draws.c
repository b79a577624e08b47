/* Summaries of posterior draws, and the density of a Gaussian mixture.
 *
 * R-hat and the bulk effective size are those of Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021): each chain is
 * split in halves (leaving out the middle draw of an odd number), and draws are replaced by normal scores of their
 * ranks, z = Phi^-1((r - 3/8) / (S + 1/4)), where ties share their mean rank. R-hat is the larger of two: that of the
 * draws, and that of their distances from the median, which detects chains with equal location and different scale. The
 * effective size sums autocorrelations over Geyer's initial monotone sequence, and is at most S log10 S.
 *
 * Domain: any finite draws. Constant or infinite draws, and halves of fewer than 2 (R-hat) or 6 draws (effective size),
 * give NaN.
 */
#include "posterior/draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void pv_posterior_free(pv_ctx *ctx, pv_posterior *posterior) {
    if (!posterior)
        return;
    pv__free(ctx, posterior->draws);
    pv__free(ctx, posterior->mixture.weight);
    pv__free(ctx, posterior->mixture.mean);
    pv__free(ctx, posterior->mixture.factor);
    pv__free(ctx, posterior->mixture.scale);
    pv__free(ctx, posterior->mixture.basis);
    pv__free(ctx, posterior->rhat);
    pv__free(ctx, posterior->ess);
    pv__free(ctx, posterior);
}

/* ---- mixtures ---------------------------------------------------------------------------------------------------- */

/* A section of the solution z of C z = w - mean, linked to the sections before it, so that no scratch memory is
 * needed. */
enum { PART = 64 };
typedef struct solved {
    const struct solved *before;
    size_t begin;
    double z[PART];
} solved;

/* -|z|^2/2 - log det C over the rows from begin on. */
static double log_kernel(size_t d, const double *mean, const double *factor, const double *w, size_t begin,
                         const solved *before) {
    solved here = {.before = before, .begin = begin};
    size_t end = begin + PART < d ? begin + PART : d;
    double total = 0;
    for (size_t i = begin; i < end; i++) {
        const double *row = factor + i * d;
        double sum = w[i] - mean[i];
        for (const solved *part = before; part; part = part->before)
            for (size_t j = 0; j < PART; j++)
                sum -= row[part->begin + j] * part->z[j];
        for (size_t j = begin; j < i; j++)
            sum -= row[j] * here.z[j - begin];
        double z = sum / row[i];
        here.z[i - begin] = z;
        total -= 0.5 * z * z + log(row[i]);
    }
    return end < d ? total + log_kernel(d, mean, factor, w, end, &here) : total;
}

static double log_diagonal(size_t d, const double *mean, const double *sd, const double *w) {
    double total = 0;
    for (size_t i = 0; i < d; i++) {
        double z = (w[i] - mean[i]) / sd[i];
        total -= 0.5 * z * z + log(sd[i]);
    }
    return total;
}

/* A coordinate of z = (w - mean)/scale along the basis. */
static double along_basis(const pv_mixture *m, const double *mean, const double *w, size_t r) {
    double sum = 0;
    for (size_t i = 0; i < m->dims; i++)
        sum += m->basis[r * m->dims + i] * (w[i] - mean[i]) / m->scale[i];
    return sum;
}

/* For low rank plus diagonal: the part of z along the basis is multiplied by F^-1. */
static double log_low_rank(const pv_mixture *m, size_t k, const double *w) {
    const double *mean = m->mean + k * m->dims, *f = m->factor + k * m->rank * m->rank;
    double total = log_diagonal(m->dims, mean, m->scale, w), a[PV_MIXTURE_RANK_MAX];
    for (size_t r = 0; r < m->rank; r++) {
        double along = along_basis(m, mean, w, r), left = along;
        for (size_t j = 0; j < r; j++)
            left -= f[r * m->rank + j] * a[j];
        a[r] = left / f[r * m->rank + r];
        total += 0.5 * along * along - 0.5 * a[r] * a[r] - log(f[r * m->rank + r]);
    }
    return total;
}

size_t pv_mixture_factor_size(size_t dims, bool diagonal, size_t rank) {
    return rank ? rank * rank : diagonal ? dims : dims * dims;
}

double pv_mixture_log_density(const pv_mixture *mixture, const double *w) {
    size_t d = mixture->dims;
    double top = -INFINITY, sum = 0; /* sum of exp(term - top) */
    for (size_t k = 0; k < mixture->components; k++) {
        const double *mean = mixture->mean + k * d;
        double term = log(mixture->weight[k]);
        term += mixture->rank       ? log_low_rank(mixture, k, w)
                : mixture->diagonal ? log_diagonal(d, mean, mixture->factor + k * d, w)
                                    : log_kernel(d, mean, mixture->factor + k * d * d, w, 0, NULL);
        if (isnan(term))
            return NAN;
        if (term > top) {
            sum = sum * exp(top - term) + 1;
            top = term;
        } else if (term > -INFINITY) {
            sum += exp(term - top);
        }
    }
    return top + log(sum) - 0.5 * (double)d * log(2 * 3.14159265358979323846);
}

/* ---- quantiles --------------------------------------------------------------------------------------------------- */

/* NaN sorts last. */
static int by_value(const void *left, const void *right) {
    double a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

/* Quantiles are often requested several times for the same values, which are then already sorted. False if there is a
 * NaN. */
static bool in_order(size_t n, const double *values) {
    for (size_t i = 1; i < n; i++)
        if (!(values[i - 1] <= values[i]))
            return false;
    return true;
}

double pv_quantile(size_t n, double *values, double p) {
    if (n == 0 || !(p >= 0 && p <= 1))
        return NAN;
    if (!in_order(n, values))
        qsort(values, n, sizeof *values, by_value);
    double at = p * (double)(n - 1), below = floor(at);
    size_t i = (size_t)below;
    if (at == below || i + 1 >= n)
        return values[i];
    return values[i] + (at - below) * (values[i + 1] - values[i]);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

typedef struct ranked {
    double value;
    size_t at;
} ranked;

static int by_rank(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

/* Normal scores of the ranks among all n values. */
static void normal_scores(size_t n, const double *values, ranked *order, double *scores) {
    for (size_t i = 0; i < n; i++)
        order[i] = (ranked){values[i], i};
    qsort(order, n, sizeof *order, by_rank);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && order[end].value == order[i].value;)
            end++;
        double rank = 0.5 * (double)(i + 1 + end);
        double score = pv_normal_quantile((rank - 0.375) / ((double)n + 0.25));
        for (size_t j = i; j < end; j++)
            scores[order[j].at] = score;
    }
}

/* [chains][each] to [2 chains][each / 2]. */
static void split(size_t chains, size_t each, const double *draws, double *halves) {
    size_t half = each / 2;
    for (size_t c = 0; c < chains; c++) {
        memcpy(halves + 2 * c * half, draws + c * each, half * sizeof *halves);
        memcpy(halves + (2 * c + 1) * half, draws + (c + 1) * each - half, half * sizeof *halves);
    }
}

/* ---- R-hat and effective size of scores [chains][each] ----------------------------------------------------------- */

/* Variance of the chains' means; autocovariance at a lag, with divisor `each`, averaged over the chains. */
static double between(size_t chains, const double *mean) {
    double centre = 0, sum = 0;
    for (size_t c = 0; c < chains; c++)
        centre += mean[c] / (double)chains;
    for (size_t c = 0; c < chains; c++)
        sum += (mean[c] - centre) * (mean[c] - centre);
    return sum / (double)(chains - 1);
}

static double autocovariance(size_t chains, size_t each, const double *x, const double *mean, size_t lag) {
    double sum = 0;
    for (size_t c = 0; c < chains; c++) {
        const double *chain = x + c * each;
        for (size_t i = lag; i < each; i++)
            sum += (chain[i] - mean[c]) * (chain[i - lag] - mean[c]);
    }
    return sum / (double)(chains * each);
}

static void chain_means(size_t chains, size_t each, const double *x, double *mean) {
    for (size_t c = 0; c < chains; c++) {
        mean[c] = 0;
        for (size_t i = 0; i < each; i++)
            mean[c] += x[c * each + i];
        mean[c] /= (double)each;
    }
}

static double rhat_of(size_t chains, size_t each, const double *x, const double *mean) {
    double n = (double)each, within = autocovariance(chains, each, x, mean, 0) * n / (n - 1);
    return sqrt(between(chains, mean) / within + (n - 1) / n);
}

/* rho [each] is scratch. For a reversible chain the pairs rho_2t + rho_2t+1 are positive and decreasing: the sum ends
 * at the first negative pair, and monotonicity is imposed. */
static double effective_size_of(size_t chains, size_t each, const double *x, const double *mean, double *rho) {
    double n = (double)each, zero = autocovariance(chains, each, x, mean, 0), within = zero * n / (n - 1);
    double all = zero + between(chains, mean), draws = (double)chains * n;
    double even = 1, odd = 1 - (within - autocovariance(chains, each, x, mean, 1)) / all;
    size_t last = 0;
    rho[0] = even;
    rho[1] = odd;
    while (last + 5 < each && even + odd > 0) {
        last += 2;
        even = 1 - (within - autocovariance(chains, each, x, mean, last)) / all;
        odd = 1 - (within - autocovariance(chains, each, x, mean, last + 1)) / all;
        bool keep = even + odd >= 0;
        rho[last] = keep ? even : fmax(even, 0); /* a positive last even term reduces the variance */
        rho[last + 1] = keep ? odd : 0;
    }
    for (size_t t = 2; t + 2 <= last; t += 2) {
        double before = rho[t - 2] + rho[t - 1];
        if (rho[t] + rho[t + 1] > before)
            rho[t] = rho[t + 1] = 0.5 * before;
    }
    double time = -1 + rho[last];
    for (size_t t = 0; t < last; t++)
        time += 2 * rho[t];
    return draws / fmax(time, 1 / log10(draws));
}

static bool varies(size_t n, const double *draws) {
    bool moved = false;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(draws[i]))
            return false;
        moved |= draws[i] != draws[0];
    }
    return moved;
}

pv_status pv__draws_diagnose(pv_ctx *ctx, size_t chains, size_t each, const double *draws, double *rhat, double *ess) {
    size_t n = chains * each, halves = 2 * chains, half = each / 2, kept = halves * half;
    *rhat = *ess = NAN;
    if (half < 2 || !varies(n, draws))
        return PV_OK;
    ranked *order = NULL;
    double *block = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, kept, sizeof *order, &order));
    PV_GOTO(done, pv__alloc(ctx, 3 * n + halves + each, sizeof *block, &block));
    double *folded = block, *x = folded + n, *scores = x + n, *mean = scores + n, *rho = mean + halves;
    split(chains, each, draws, x);
    if (varies(kept, x)) {
        normal_scores(kept, x, order, scores);
        chain_means(halves, half, scores, mean);
        *rhat = rhat_of(halves, half, scores, mean);
        if (half >= 6)
            *ess = effective_size_of(halves, half, scores, mean, rho);
    }
    memcpy(folded, draws, n * sizeof *draws);
    double median = pv_quantile(n, folded, 0.5);
    for (size_t i = 0; i < n; i++)
        folded[i] = fabs(draws[i] - median);
    split(chains, each, folded, x);
    if (varies(kept, x)) {
        normal_scores(kept, x, order, scores);
        chain_means(halves, half, scores, mean);
        *rhat = fmax(*rhat, rhat_of(halves, half, scores, mean));
    }
done:
    pv__free(ctx, order);
    pv__free(ctx, block);
    return status;
}

double pv_split_rhat(pv_ctx *ctx, size_t chains, size_t each, const double *draws) {
    double rhat, ess;
    return pv__draws_diagnose(ctx, chains, each, draws, &rhat, &ess) == PV_OK ? rhat : NAN;
}

double pv_effective_size(pv_ctx *ctx, size_t chains, size_t each, const double *draws) {
    double rhat, ess;
    return pv__draws_diagnose(ctx, chains, each, draws, &rhat, &ess) == PV_OK ? ess : NAN;
}
