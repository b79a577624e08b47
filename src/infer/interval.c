/* A prevalence given as an interval: the Beta distribution that has it as its central 90 %. */
#include <math.h>

#include "infer/infer.h"

/* Continued fraction of the incomplete beta function (Lentz), for x < (a+1)/(a+b+2). */
static double beta_fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m <= 20000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 + even * d;
        c = 1 + even / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        h *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 + odd * d;
        c = 1 + odd / c;
        d = 1 / (fabs(d) < tiny ? tiny : d);
        c = fabs(c) < tiny ? tiny : c;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return h;
}

double pv__beta_cdf(double x, double a, double b) {
    if (!(x > 0))
        return 0;
    if (!(x < 1))
        return 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* The mean for which the lower tail below low is 5 %, at strength n. The tail falls as the mean rises. */
static double mean_of(double low, double n) {
    double least = low * 1e-3, most = 1 - 1e-12;
    for (int i = 0; i < 200 && most - least > 1e-16 * most; i++) {
        double mean = 0.5 * (least + most);
        *(pv__beta_cdf(low, mean * n, (1 - mean) * n) > 0.05 ? &least : &most) = mean;
    }
    return 0.5 * (least + most);
}

pv_status pv__beta_from_interval(pv_ctx *ctx, double low, double high, double *mean, double *n) {
    /* With the lower tail held at 5 %, more strength means less above high. */
    double least = log(1e-2), most = log(1e12);
    for (int i = 0; i < 200 && most - least > 1e-13; i++) {
        double strength = exp(0.5 * (least + most)), m = mean_of(low, strength);
        double above = 1 - pv__beta_cdf(high, m * strength, (1 - m) * strength);
        *(above > 0.05 ? &least : &most) = log(strength);
    }
    *n = exp(0.5 * (least + most));
    *mean = mean_of(low, *n);
    double off = fabs(pv__beta_cdf(low, *mean * *n, (1 - *mean) * *n) - 0.05) +
                 fabs(pv__beta_cdf(high, *mean * *n, (1 - *mean) * *n) - 0.95);
    if (!(off < 1e-6))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "--prevalence %g-%g: no Beta distribution was found with this as its central 90 %%; state the "
                        "prevalence as a number, "
                        "with --prevalence-n for how well it is known",
                        low, high);
    return PV_OK;
}
