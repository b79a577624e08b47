/* The effect of population strata on the losses.
 *
 *   ig, profile   p(x) is profiled out in each (core/profiles.c); in minibatches the selection likelihood with
 *                 d_sy/pi_sy instead of d_y/pi_y
 *   iw            a row of stratum s and label y has weight share_s pi_sy W / n_sy: the weighted estimator (Horvitz and
 *                 Thompson) of a two-phase study
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

/* iw: weights rows to the population, stratum by stratum. */
static pv_status weigh(pv_ctx *ctx, pv__problem *problem) {
    const pv_stratified *strata = pv__strata_of(problem);
    size_t n = problem->rows.n, k = (size_t)problem->targets.classes, cells = (size_t)strata->strata * k;
    PV_TRY(pv__alloc(ctx, n + cells, sizeof(double), &problem->joined));
    double *weight = problem->joined, *mass = weight + n, total = 0;
    pv__strata_mass(&problem->targets, strata->strata, mass);
    for (size_t i = 0; i < cells; i++)
        total += mass[i];
    for (size_t i = 0; i < n; i++) {
        size_t cell = (size_t)problem->targets.stratum[i] * k + (size_t)problem->targets.label[i];
        weight[i] =
            pv__weight(&problem->targets, i) * total * strata->share[cell / k] * strata->prevalence[cell] / mass[cell];
    }
    problem->targets.weight = weight;
    pv_label_mass(&problem->targets, problem->mass);
    return PV_OK;
}

pv_status pv__stratify(pv_ctx *ctx, pv__problem *problem) {
    return pv__strata_of(problem) && pv__loss(pv__problem_loss(problem))->class_factor ? weigh(ctx, problem) : PV_OK;
}
