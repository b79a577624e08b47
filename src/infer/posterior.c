/* The posterior of a fit: chooses the engine and its options, and computes the marginal at each draw. */
#include "infer/estimate.h"

#include <math.h>
#include <string.h>

/* Numerical Hessians, and Gaussians with full covariances, are for models of moderate size. */

/* log p(y|w) at each draw. After an interruption keeps the draws done so far, equally many of all chains. */
static pv_status find_marginals(pv_ctx *ctx, const pv_density *density, size_t k, pv_posterior *p, double *marginal) {
    enum { FEWEST = 16 };
    size_t chains = p->chains ? p->chains : 1, each = p->count / chains, done = 0;
    size_t together = pv__density_together(density);
    for (size_t some = 0; done < each; done += some) {
        if (done >= FEWEST && pv__interrupted(ctx))
            break;
        some = each - done < together ? each - done : together;
        for (size_t c = 0; c < chains; c++)
            PV_TRY(pv__density_marginals(ctx, density, some, p->draws + (c * each + done) * p->dims,
                                         marginal + (c * each + done) * k));
    }
    if (done == each)
        return PV_OK;
    for (size_t c = 1; c < chains; c++) {
        memmove(p->draws + c * done * p->dims, p->draws + c * each * p->dims, done * p->dims * sizeof *p->draws);
        memmove(marginal + c * done * k, marginal + c * each * k, done * k * sizeof *marginal);
    }
    p->count = chains * done;
    p->stop = PV_STOP_INTERRUPTED;
    return PV_OK;
}

static pv_status run_engine(pv_ctx *ctx, const pv__problem *problem, const pv_density *density, const double *w,
                            pv_posterior **posterior) {
    const pv_fit_options *o = &problem->plan->options;
    /* Large networks get fewer draws, limited to a few million numbers in all. */
    int64_t room = (int64_t)(4000000 / density->dims) + 100, draws = o->draws < room ? o->draws : room;
    switch ((pv_inference)o->infer) {
    case PV_INFER_LAPLACE: {
        pv_laplace_options options = pv_laplace_options_default();
        options.draws = draws;
        options.seed = (uint64_t)o->seed;
        return pv_laplace(ctx, density, w, &options, posterior);
    }
    case PV_INFER_VI: {
        pv_vi_options options = pv_vi_options_default();
        options.draws = draws;
        options.seed = (uint64_t)o->seed;
        options.diagonal = !pv_model_is_convex(problem->model);
        options.components = options.diagonal ? 1 : o->components;
        options.samples = o->samples;
        options.steps = o->steps;
        options.rate = o->vi_rate > 0 ? o->vi_rate : options.rate;
        return pv_vi(ctx, density, w, &options, posterior);
    }
    case PV_INFER_HMC: {
        pv_hmc_options options = pv_hmc_options_default();
        options.chains = o->chains;
        options.warmup = o->warmup;
        options.draws = (draws + o->chains - 1) / o->chains;
        options.seed = (uint64_t)o->seed;
        return pv_hmc(ctx, density, w, &options, posterior);
    }
    case PV_INFER_MAP:
    case PV_INFER_ML:
    case PV_INFER_ROBUST: /* has no density */
        break;
    }
    return pv__fail(ctx, PV_ERR_INTERNAL, "no engine for this inference");
}

pv_status pv__part_marginals(pv_ctx *ctx, size_t count, size_t k, size_t width, pv_classifier *c) {
    double *all = c->draw_log_marginal, *of = NULL;
    PV_TRY(pv__alloc(ctx, count, (width - k) * sizeof *of, &of));
    c->stratified->draw_log_marginal = of;
    for (size_t i = 0; i < count; i++) {
        memcpy(of + i * (width - k), all + i * width + k, (width - k) * sizeof *of);
        memmove(all + i * k, all + i * width, k * sizeof *all);
    }
    return PV_OK;
}

pv_status pv__fit_posterior(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution,
                            pv_classifier *classifier) {
    size_t k = (size_t)problem->targets.classes;
    if (pv__plan_is_last_layer(problem->plan, problem->model))
        return pv__fit_last_layer(ctx, problem, solution, classifier);
    pv__problem shared = *problem;
    shared.shared = problem->plan->options.infer == PV_INFER_LAPLACE; /* evaluates on this thread alone */
    pv_density density = {0};
    pv__estimator *estimator = NULL;
    pv_status status;
    if (problem->batch > 0)
        PV_GOTO(done, pv__estimator_new(ctx, &shared, solution->w, &estimator, &density));
    else
        PV_GOTO(done, pv__density_new(ctx, &shared, &density));
    PV_GOTO(done, run_engine(ctx, problem, &density, solution->w, &classifier->posterior));
    pv_posterior *posterior = classifier->posterior;
    size_t width = (pv__strata_of(problem) ? 1 + pv__ratio_sets(problem) : 1) * k;
    PV_GOTO(done, pv__alloc(ctx, posterior->count, width * sizeof(double), &classifier->draw_log_marginal));
    PV_GOTO(done, find_marginals(ctx, &density, width, posterior, classifier->draw_log_marginal));
    if (pv__strata_of(problem))
        PV_GOTO(done, pv__part_marginals(ctx, posterior->count, k, width, classifier));
    if (posterior->kind == PV_POSTERIOR_LAPLACE && pv__states_prevalence(problem) && pv__model_is_free(problem->model))
        status = pv__state_prevalence(ctx, problem, posterior, classifier->draw_log_marginal);
done:
    if (estimator)
        pv__estimator_free(ctx, estimator); /* also frees the density */
    else
        pv__density_free(ctx, &density);
    return status;
}
