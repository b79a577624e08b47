/* log p(y|w) of a fit, computed by one function for full batches, minibatches and densities. */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

static pv_status plugin(pv_ctx *ctx, const pv__problem *problem, const double *w, const double *loglik,
                        double *log_marginal) {
    const double *prevalence = problem->population.prevalence;
    if (loglik)
        return pv_plugin_log_marginal(ctx, &problem->targets, prevalence, loglik, log_marginal);
    double *made;
    PV_TRY(pv__alloc(ctx, problem->rows.n, (size_t)problem->targets.classes * sizeof *made, &made));
    pv_status status = pv__objective_loglik(ctx, problem, w, made);
    if (status == PV_OK)
        status = pv_plugin_log_marginal(ctx, &problem->targets, prevalence, made, log_marginal);
    pv__free(ctx, made);
    return status;
}

/* Labels with errors in a random sample: the mean of the rows' risks. */
static pv_status mean_of_rows(pv_ctx *ctx, const pv__problem *problem, const double *w, double *log_marginal) {
    double *loglik;
    PV_TRY(pv__alloc(ctx, problem->rows.n, 2 * sizeof *loglik, &loglik));
    pv_status status = pv__objective_loglik(ctx, problem, w, loglik);
    if (status == PV_OK)
        status = pv_plugin_log_marginal(ctx, &problem->targets, problem->label_share, loglik, log_marginal);
    pv__free(ctx, loglik);
    return status;
}

void pv__stated_marginal(const pv__problem *problem, double *log_marginal) {
    const pv_stratified *strata = pv__strata_of(problem);
    size_t k = (size_t)problem->targets.classes;
    for (size_t y = 0; y < k; y++)
        log_marginal[y] = log(problem->population.prevalence[y]);
    for (size_t i = 0; strata && i < (size_t)strata->strata * k; i++)
        log_marginal[k + i] = log(strata->prevalence[i]);
}

pv_status pv__log_marginal(pv_ctx *ctx, const pv__problem *problem, pv__objective *objective, const double *w,
                           const double *loglik, double *log_marginal) {
    size_t k = (size_t)problem->targets.classes;
    bool relative = pv_loss_is_relative(pv__problem_loss(problem));
    pv_full_loss *full = objective && !relative ? pv__objective_loss(objective) : NULL;
    if (full) {
        size_t sets = pv__strata_of(problem) ? 1 + pv__ratio_sets(problem) : 1;
        memcpy(log_marginal, pv_full_loss_log_marginal(full), sets * k * sizeof *log_marginal);
        return PV_OK;
    }
    if (pv__strata_of(problem)) { /* that of the selection likelihood, or of iw, whose rows are weighted to it */
        pv__stated_marginal(problem, log_marginal);
        return PV_OK;
    }
    if (pv__problem_label_error(problem) && pv_loss_of_design(pv__problem_loss(problem))) /* of the true label */
        return mean_of_rows(ctx, problem, w, log_marginal);
    /* Matched sets have no marginal; if an intercept was found for them, it is the prevalence. */
    const double *shares = relative && problem->plan->has_prevalence        ? problem->plan->prevalence
                           : relative                                       ? problem->label_share
                           : pv_loss_of_design(pv__problem_loss(problem))   ? problem->label_share
                           : pv__problem_form(problem) == PV_FORM_SELECTION ? problem->population.prevalence
                                                                            : NULL;
    for (size_t y = 0; shares && y < k; y++)
        log_marginal[y] = log(shares[y]);
    return shares ? PV_OK : plugin(ctx, problem, w, loglik, log_marginal);
}
