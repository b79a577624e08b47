/* A prevalence given as an interval: finds the Beta distribution with this central 95 % interval. */
#include <math.h>

#include "design/design.h"

/* The mean at which the probability below low is 2.5 %, at strength n. That probability decreases as the mean
 * increases. */
static double mean_of(double low, double n) {
    double least = low * 1e-3, most = 1 - 1e-12;
    for (int i = 0; i < 200 && most - least > 1e-16 * most; i++) {
        double mean = 0.5 * (least + most);
        *(pv_beta_cdf(mean * n, (1 - mean) * n, low) > 0.025 ? &least : &most) = mean;
    }
    return 0.5 * (least + most);
}

pv_status pv__beta_from_interval(pv_ctx *ctx, double low, double high, double *mean, double *n) {
    /* With 2.5 % below low, a larger strength means less above high. */
    double least = log(1e-2), most = log(1e12);
    for (int i = 0; i < 200 && most - least > 1e-13; i++) {
        double strength = exp(0.5 * (least + most)), m = mean_of(low, strength);
        double above = 1 - pv_beta_cdf(m * strength, (1 - m) * strength, high);
        *(above > 0.025 ? &least : &most) = log(strength);
    }
    *n = exp(0.5 * (least + most));
    *mean = mean_of(low, *n);
    double off = fabs(pv_beta_cdf(*mean * *n, (1 - *mean) * *n, low) - 0.025) +
                 fabs(pv_beta_cdf(*mean * *n, (1 - *mean) * *n, high) - 0.975);
    if (!(off < 1e-6))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`prevalence=%g-%g`: no Beta distribution has this central 95 %% interval;\nstate the "
                        "prevalence as a number, with `prevalence-n`",
                        low, high);
    return PV_OK;
}
