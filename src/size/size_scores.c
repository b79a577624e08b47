/* Distributions of scores and exposures, and what follows from a distribution alone.
 *
 * A score s is the log-likelihood ratio log f_1(x)/f_0(x). Normal scores: s ~ N(-d^2/2, d^2) in controls and N(d^2/2,
 * d^2) in cases, d = sqrt(2) Phi^-1(AUC): the only two normal distributions of one variance that are their own
 * log-likelihood ratio. Means over them are by Gauss-Legendre quadrature in u = s/d, over 9 standard deviations.
 *
 * With w of n rows cases, p(1|s) = w e^s/(w e^s + 1 - w), and the model gains over the label's share
 *
 *   G(w) = w E_1[s] - E_w log(w e^s + 1 - w),        R2 = 1 - exp(-2 G)      (Cox and Snell)
 *
 * per row: both depend on the sampling by w alone.
 */
#include <math.h>

#include "core/core.h"
#include "data/data.h"
#include "size/size.h"

static const double REACH = 9;

pv_status pv__size_scores_new(pv_ctx *ctx, size_t points, pv__size_scores *scores) {
    scores->points = points;
    PV_TRY(pv__alloc(ctx, points, sizeof *scores->score, &scores->score));
    PV_TRY(pv__alloc(ctx, points, sizeof *scores->score, &scores->mass[0]));
    return pv__alloc(ctx, points, sizeof *scores->score, &scores->mass[1]);
}

void pv__size_scores_clear(pv_ctx *ctx, pv__size_scores *scores) {
    pv__free(ctx, scores->score);
    pv__free(ctx, scores->mass[0]);
    pv__free(ctx, scores->mass[1]);
}

static double density(double u) {
    return exp(-0.5 * u * u) / sqrt(2 * 3.14159265358979323846);
}

void pv__size_normal(double auc, pv__size_scores *to) {
    double d = sqrt(2) * pv_normal_quantile(auc), weight[PV__SIZE_NODES];
    *to = (pv__size_scores){.points = PV__SIZE_NODES,
                            .score = to->score,
                            .mass = {to->mass[0], to->mass[1]},
                            .distance = d,
                            .auc = auc,
                            .placement = {-auc * auc, -auc * auc}};
    pv__gauss_legendre(PV__SIZE_NODES, -0.5 * d - REACH, 0.5 * d + REACH, to->score, weight);
    for (size_t i = 0; i < to->points; i++) {
        double u = to->score[i];
        to->mass[0][i] = weight[i] * density(u + 0.5 * d);
        to->mass[1][i] = weight[i] * density(u - 0.5 * d);
        to->placement[1] += to->mass[1][i] * pow(pv_normal_cdf(u + 0.5 * d), 2);
        to->placement[0] += to->mass[0][i] * pow(pv_normal_cdf(0.5 * d - u), 2);
        to->score[i] = d * u;
    }
}

void pv__size_rates(const pv__size_scores *scores, double at, double rate[2]) {
    double d = scores->distance;
    for (int y = 0; y < 2; y++) {
        rate[y] = d > 0 ? pv_normal_cdf((y ? 0.5 : -0.5) * d - at / d) : 0;
        for (size_t i = scores->points; !(d > 0) && i-- > 0 && scores->score[i] >= at;)
            rate[y] += scores->mass[y][i];
    }
}

double pv__size_gain(const pv__size_scores *scores, double share) {
    double gain = 0;
    for (size_t i = 0; i < scores->points; i++) {
        double s = scores->score[i], own = share * scores->mass[1][i], other = (1 - share) * scores->mass[0][i];
        double log_sum = s > 0 ? s + log(share + (1 - share) * exp(-s)) : log(share * exp(s) + 1 - share);
        gain += own * s - (own + other) * log_sum;
    }
    return gain;
}

double pv__size_r2(const pv__size_scores *scores, double share) {
    return -expm1(-2 * pv__size_gain(scores, share));
}

double pv__size_r2_most(double share) {
    return -expm1(2 * (share * log(share) + (1 - share) * log1p(-share)));
}

double pv__size_auc_of_r2(double r2, double share, pv__size_scores *scores) {
    double low = 0.5, high = 0.995;
    pv__size_normal(high, scores);
    if (!(pv__size_r2(scores, share) > r2))
        return NAN;
    for (int i = 0; i < 100 && high - low > 1e-15; i++) {
        double middle = 0.5 * (low + high);
        pv__size_normal(middle, scores);
        *(pv__size_r2(scores, share) > r2 ? &high : &low) = middle;
    }
    return 0.5 * (low + high);
}

/* Binary: exposed controls have the share `exposure`. Else normal, of one variance in controls and cases, and the odds
 * ratio is that of a standard deviation. */
void pv__size_expose(double odds_ratio, double exposure, pv__size_exposure *to) {
    double beta = log(odds_ratio), low = fmin(0, beta) - REACH, high = fmax(0, beta) + REACH;
    if (exposure > 0) {
        double cases = pv_sigmoid(pv_logit(exposure) + beta);
        *to = (pv__size_exposure){.points = 2,
                                  .value = {0, 1},
                                  .ratio = {log((1 - cases) / (1 - exposure)), log(cases / exposure)},
                                  .mass = {{1 - exposure, exposure}, {1 - cases, cases}}};
        return;
    }
    double weight[PV__SIZE_EXPOSURES];
    to->points = PV__SIZE_EXPOSURES;
    pv__gauss_legendre(PV__SIZE_EXPOSURES, low, high, to->value, weight);
    for (size_t j = 0; j < to->points; j++) {
        to->ratio[j] = beta * to->value[j] - 0.5 * beta * beta;
        to->mass[0][j] = weight[j] * density(to->value[j]);
        to->mass[1][j] = weight[j] * density(to->value[j] - beta);
    }
}
