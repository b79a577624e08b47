/* Predictions where each stratum is moved to a prevalence of its own:
 *
 *   p(y|x,s) ~ p(y|x,w) pi_sy / p_s(y|w) ,
 *
 * and for a row that does not name its stratum the mean of these over the shares of the strata.
 */
#include <math.h>
#include <string.h>

#include "predict/predict.h"

/* log sum_s share_s p(y|x,s), [classes], with scratch [2][classes]. */
static void mix_row(const pv_population *to, const double *loglik, const double *marginal, double *scratch,
                    double *log_p) {
    size_t k = (size_t)to->classes;
    double *own = scratch, *sum = scratch + k;
    memset(sum, 0, k * sizeof *sum);
    for (size_t s = 0; s < (size_t)to->strata; s++) {
        pv_adapt(1, to->classes, loglik, marginal + s * k, to->stratum_prevalence + s * k, own);
        for (size_t y = 0; y < k; y++)
            sum[y] += to->share[s] * exp(own[y]);
    }
    for (size_t y = 0; y < k; y++)
        log_p[y] = log(sum[y]);
}

void pv__adapt_strata(const pv_population *to, size_t rows, const int32_t *stratum, const double *loglik,
                      const double *marginal, double *scratch, double *log_p) {
    size_t k = (size_t)to->classes;
    for (size_t i = 0; i < rows; i++) {
        if (!stratum || stratum[i] < 0) {
            mix_row(to, loglik + i * k, marginal, scratch, log_p + i * k);
            continue;
        }
        size_t s = (size_t)stratum[i];
        pv_adapt(1, to->classes, loglik + i * k, marginal + s * k, to->stratum_prevalence + s * k, log_p + i * k);
    }
}
