/* The profile's inner problem for two classes with reference 0 (core/profile.c), one step at a time, so that whoever
 * has the rows can compute the sums. Newton's method in log lambda; if the prevalence is known, lambda is fixed and m
 * is found instead, starting from its value at the optimum. sum v log q is concave in m; steps that leave the domain,
 * and more than a few steps, are left to the objective. */
#include "infer/density.h"

#include <math.h>

enum { STEPS_MOST = 25 };

pv__inner pv__inner_new(const pv__problem *problem, double mean1) {
    const double *mass = problem->mass, *prevalence = problem->population.prevalence;
    double strength = problem->population.prevalence_n;
    pv__inner in = {.known = isinf(strength), .total = mass[0] + mass[1]};
    if (in.known) {
        in.c0 = mass[0];
        in.c1 = mass[1];
        in.lambda = prevalence[1];
        in.log_lambda = log(in.lambda);
        in.m = (mass[1] - mass[0] * in.lambda / (1 - in.lambda)) / in.total;
        return in;
    }
    in.c0 = mass[0] - strength * prevalence[0];
    in.c1 = mass[1] - strength * prevalence[1];
    in.log_lambda = log(mean1);
    return in;
}

bool pv__inner_next(pv__inner *in, double *scale, double *m) {
    if (in->settled || in->steps++ == STEPS_MOST)
        return false;
    if (!in->known) {
        in->lambda = exp(in->log_lambda);
        in->ratio = in->lambda / (1 - in->lambda);
        in->m = (in->c1 - in->c0 * in->ratio) / in->total;
        if (!(in->lambda < 0.9))
            return false;
    }
    *scale = 1 / in->lambda;
    *m = in->m;
    return true;
}

bool pv__inner_step(pv__inner *in, const pv__profile_sums *sums) {
    double step, most, miss = fabs(sums->r) / in->total;
    if (!(sums->smallest > 0))
        return false;
    if (in->known) {
        if (!(sums->rr > 0))
            return false;
        step = sums->r / sums->rr;
        in->m += step;
        most = 1e-4 * fabs(in->m);
    } else {
        double slope = -(in->c0 / in->total) * (in->ratio + in->ratio * in->ratio);
        double d = -(sums->r + sums->weight) + in->m * (sums->rr + sums->rq) - sums->rr * slope;
        if (!(d < 0))
            return false;
        step = -sums->r / d;
        in->log_lambda += step > 1 ? 1 : step < -1 ? -1 : step;
        most = 1e-4;
    }
    /* Near the solution one more step squares the error, so its sums need not be computed. */
    if (!(miss <= 1e-10 || (miss <= 1e-5 && fabs(step) <= most && sums->smallest > 0.01)))
        return true;
    in->settled = true;
    in->least = 0.5 * sums->smallest;
    if (!in->known) {
        in->lambda = exp(in->log_lambda);
        in->m = (in->c1 - in->c0 * in->lambda / (1 - in->lambda)) / in->total;
    }
    return true;
}

double pv__inner_term(const pv__inner *in) {
    return in->c1 * in->log_lambda + in->c0 * log1p(-in->lambda);
}
