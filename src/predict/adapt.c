/* Converts the predictions of rows to a population:
 *
 *   p'(y|x)  ~ p(y|x,w) pi_y / p(y|w) ,
 *   p(y|x,s) ~ p(y|x,w) pi_sy / p_s(y|w)    if it has strata, each with its own prevalence,
 *
 * and for a row that does not state its stratum, to the mean of the latter over the strata's proportions.
 */
#include <math.h>
#include <string.h>

#include "predict/predict.h"

void pv_adapt(size_t n, int classes, const double *loglik, const double *log_marginal, const double *prevalence,
              double *log_p) {
    size_t k = (size_t)classes;
    for (size_t i = 0; i < n; i++) {
        for (size_t y = 0; y < k; y++)
            log_p[i * k + y] = loglik[i * k + y] - log_marginal[y] + log(prevalence[y]);
        pv_log_softmax(classes, log_p + i * k, log_p + i * k);
    }
}

/* log sum_s share_s p(y|x,s), [classes], with scratch [2][classes]. */
static void mix_row(const pv__target *to, int classes, const double *loglik, const double *log_marginal,
                    double *scratch, double *log_p) {
    size_t k = (size_t)classes;
    double *own = scratch, *sum = scratch + k;
    memset(sum, 0, k * sizeof *sum);
    for (size_t s = 0; s < (size_t)to->strata; s++) {
        pv_adapt(1, classes, loglik, log_marginal + s * k, to->prevalence + s * k, own);
        for (size_t y = 0; y < k; y++)
            sum[y] += to->share[s] * exp(own[y]);
    }
    for (size_t y = 0; y < k; y++)
        log_p[y] = log(sum[y]);
}

void pv__adapt(const pv__target *to, int classes, size_t rows, const int32_t *stratum, const double *loglik,
               const double *log_marginal, double *scratch, double *log_p) {
    size_t k = (size_t)classes;
    if (!to->prevalence) {
        if (log_p != loglik)
            memcpy(log_p, loglik, rows * k * sizeof *log_p);
        return;
    }
    if (to->strata == 1) {
        pv_adapt(rows, classes, loglik, log_marginal, to->prevalence, log_p);
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        if (!stratum || stratum[i] < 0) {
            mix_row(to, classes, loglik + i * k, log_marginal, scratch, log_p + i * k);
            continue;
        }
        size_t s = (size_t)stratum[i];
        pv_adapt(1, classes, loglik + i * k, log_marginal + s * k, to->prevalence + s * k, log_p + i * k);
    }
}
