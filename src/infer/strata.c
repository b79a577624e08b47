/* What strata of the population make of the losses.
 *
 *   ig, profile   p(x) is profiled out in each (core/profiles.c); in minibatches the selection likelihood with
 *                 d_sy/pi_sy instead of d_y/pi_y
 *   iw            a row of stratum s and label y weighs share_s pi_sy W / n_sy: the weighted estimator (Horvitz and
 *                 Thompson) of a two-phase study
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

static pv_status refuse(pv_ctx *ctx, const pv__problem *problem) {
    const pv_fit_options *o = problem->options;
    bool profile = pv__is_profile(problem), weighted = o->loss == PV_LOSS_IW;
    if (!profile && !weighted)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`strata` go with `loss=ig` and `marginal=profile`, or with `loss=iw`, the weighted "
                        "estimator:\nchoose one of these, or leave `strata` out");
    if (problem->cluster || problem->sampling)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "%s do not go with `strata`, whose rows have the weights of their strata already:\nleave out "
                        "one of the two",
                        problem->cluster ? "clusters (`cluster`)" : "sampling weights (`weights`)");
    if (weighted && (problem->batch > 0 || o->infer > PV_INFER_ML || !problem->targets.label))
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`loss=iw` with `strata` is a weighted estimate of hard labels from all rows at once:\nchoose `infer=map` "
            "or ml and leave `batch` out; leave `loss` out and choose `infer=robust` for its intervals");
    if (o->infer == PV_INFER_ROBUST && (problem->batch > 0 || !pv_model_has_coefficients(problem->model)))
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`infer=robust` is for `model=linear` in the full batch:\nchoose another `infer`, or change these");
    if (o->match != PV_MATCH_NONE && o->match != PV_MATCH_AUTO)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`match=%s` moves one output bias, and every stratum has a prevalence of its own:\nleave it "
                        "out, or choose `infer=robust`, whose mean risks are the stated ones",
                        pv_match_name((pv_match)o->match));
    if (strcmp(o->robust, "auto") != 0 && strcmp(o->robust, "0") != 0)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`robust=%s`: with `strata` there is nothing between maximum likelihood and the weighted "
                        "estimator;\nleave it out, or choose `infer=robust` or `loss=iw` for the latter",
                        o->robust);
    if (strcmp(o->intercept_prior, "jeffreys") == 0)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`intercept-prior=jeffreys` is of one prevalence: with `strata` choose auto, normal:S or none");
    return PV_OK;
}

/* iw: rows weighted to the population, stratum by stratum. */
static pv_status weigh(pv_ctx *ctx, pv__problem *problem) {
    const pv_stratified *strata = problem->stratified;
    size_t n = problem->n, k = (size_t)problem->targets.classes, cells = (size_t)strata->strata * k;
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
    const pv_stratified *strata = problem->stratified;
    if (!strata)
        return PV_OK;
    PV_TRY(refuse(ctx, problem));
    double n = 0;
    for (int s = 0; s < strata->strata; s++)
        n += isfinite(strata->n[s]) ? strata->n[s] : 0;
    problem->population.prevalence_n = n > 0 ? n : HUGE_VAL; /* of all together: known where every one is */
    problem->population.strata = strata->strata;
    problem->population.share = strata->share;
    problem->population.stratum_prevalence = strata->prevalence;
    problem->population.stratum_n = strata->n;
    return problem->options->loss == PV_LOSS_IW ? weigh(ctx, problem) : PV_OK;
}
