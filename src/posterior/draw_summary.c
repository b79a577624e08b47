/* Summaries of a posterior's draws: means, standard deviations, intervals, and diagnostics of the engine. */
#include <math.h>

#include "base/base.h"
#include "prevail/posterior.h"

pv_spread pv_spread_of(size_t n, double *values, double level) {
    pv_spread s = {0};
    double sum = 0, squares = 0, above = 0, below = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    s.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        squares += (values[i] - s.mean) * (values[i] - s.mean);
        above += values[i] > 0;
        below += values[i] < 0;
    }
    s.sd = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
    s.sign = (s.mean >= 0 ? above : below) / (double)n;
    s.lo = pv_quantile(n, values, 0.5 - 0.5 * level);
    s.hi = pv_quantile(n, values, 0.5 + 0.5 * level);
    return s;
}

/* Returns NaN if any value is NaN: a chain that never moved must not look fine. */
double pv_posterior_rhat_max(const pv_posterior *p) {
    double worst = p->rhat ? 0 : (double)NAN;
    for (size_t j = 0; p->rhat && j < p->dims && !isnan(worst); j++)
        if (!(p->rhat[j] <= worst))
            worst = p->rhat[j];
    return worst;
}

double pv_posterior_ess_min(const pv_posterior *p) {
    double worst = p->ess ? HUGE_VAL : (double)NAN;
    for (size_t j = 0; p->ess && j < p->dims && !isnan(worst); j++)
        if (!(p->ess[j] >= worst))
            worst = p->ess[j];
    return worst;
}
