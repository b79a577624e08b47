/* A fit's posterior with rows on a device: two labels, a model with coefficients, several w per call.
 *
 * For losses that are sums over rows with hard labels, one pass over the matrix gives value and gradient. If the
 * marginal couples the rows, or labels are soft, the outputs of all rows stay on the device: the profile's inner
 * problem is solved here for all w at once, using sums that the device computes, followed by a second pass over the
 * matrix. If plain arithmetic would lose digits, the objective is used instead, for one w at a time and without memory
 * of the last, so that values do not depend on earlier calls.
 */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "infer/density.h"
#include "model/device_table.h"

static const double least_mean = 1e-280; /* below this, the objective computes the marginal with logarithms */

struct pv__density_aboard {
    const pv__problem *problem;
    bool joint; /* the marginal is part of the loss */
    bool sums;  /* the loss is a sum over rows of the logistic loss */
    pthread_mutex_t lock;
    pv__loaded_passes *passes;
    size_t most;
    double *forward;      /* [most][3] */
    pv__inner *inner;     /* [most] */
    bool *lost;           /* [most] */
    size_t *which;        /* [most] */
    double *scale, *m;    /* [most] */
    pv__tied_sums *found; /* [most] */
    pv__tied_slope *slope;
    pv_ctx *ctx; /* context of the objective */
    pv__objective *objective;
    unsigned char *memory; /* state of the objective's loss when it was new */
};

bool pv__density_goes(const pv__problem *problem) {
    return problem->rows.device && pv__density_fits(problem);
}

/* ---- construction ------------------------------------------------------------------------------------------------ */

static pv_status open_passes(pv_ctx *ctx, pv__density_aboard *a) {
    const pv__problem *problem = a->problem;
    size_t n = problem->rows.n;
    const pv__logistic loss = {problem->targets.label, problem->targets.weight, problem->factor, 0};
    double *weight, *target, *rho;
    PV_TRY(pv__alloc(ctx, n, 3 * sizeof *weight, &weight));
    target = weight + n;
    rho = target + n;
    (void)pv__density_masses(problem, weight, target, rho);
    const pv__tied tied = {weight, target, problem->plan->has_prevalence ? rho : NULL};
    pv_status status =
        pv__loaded_passes_new(ctx, problem->rows.device, problem->model, n, a->sums ? &loss : NULL, &tied, &a->passes);
    pv__free(ctx, weight);
    return status;
}

/* Saves the state of the loss, or restores it. */
static size_t copy_memory(pv__density_aboard *a, bool back) {
    pv_field field[PV_MEMORY_FIELDS];
    size_t n = pv_full_loss_memory(pv__objective_loss(a->objective), field), bytes = 0;
    for (size_t i = 0; i < n; bytes += field[i++].size)
        if (a->memory)
            memcpy(back ? field[i].data : (void *)(a->memory + bytes),
                   back ? (const void *)(a->memory + bytes) : field[i].data, field[i].size);
    return bytes;
}

/* Creates the objective on first use, because few posteriors need it. */
static pv_status open_objective(pv__density_aboard *a) {
    unsigned char *memory;
    if (a->memory)
        return PV_OK;
    if (!a->objective)
        PV_TRY(pv__objective_new(a->ctx, a->problem, PV_FORM_JOINT, &a->objective));
    PV_TRY(pv__alloc(a->ctx, copy_memory(a, false) + 1, 1, &memory));
    a->memory = memory;
    (void)copy_memory(a, false);
    return PV_OK;
}

static pv_status make_room(pv_ctx *ctx, pv__density_aboard *a) {
    size_t most = a->most = pv__loaded_most(a->passes);
    PV_TRY(pv__alloc(ctx, most, 3 * sizeof(double), &a->forward));
    PV_TRY(pv__alloc(ctx, most, sizeof *a->inner, &a->inner));
    PV_TRY(pv__alloc(ctx, most, sizeof *a->lost, &a->lost));
    PV_TRY(pv__alloc(ctx, most, sizeof *a->which, &a->which));
    PV_TRY(pv__alloc(ctx, most, sizeof *a->scale, &a->scale));
    PV_TRY(pv__alloc(ctx, most, sizeof *a->m, &a->m));
    PV_TRY(pv__alloc(ctx, most, sizeof *a->found, &a->found));
    return pv__alloc(ctx, most, sizeof *a->slope, &a->slope);
}

pv_status pv__density_aboard_new(pv_ctx *ctx, const pv__problem *problem, pv__density_aboard **made) {
    pv__density_aboard *a;
    PV_TRY(pv__alloc(ctx, 1, sizeof *a, &a));
    *made = a;
    a->problem = problem;
    a->joint = pv__problem_form(problem) == PV_FORM_JOINT;
    a->sums = !a->joint && problem->targets.label;
    pthread_mutex_init(&a->lock, NULL);
    pv_status status;
    PV_GOTO(fail, open_passes(ctx, a));
    PV_GOTO(fail, make_room(ctx, a));
    PV_GOTO(fail, pv__ctx_child(ctx, &a->ctx));
    return PV_OK;
fail:
    pv__density_aboard_free(ctx, a);
    *made = NULL;
    return status;
}

void pv__density_aboard_free(pv_ctx *ctx, pv__density_aboard *a) {
    if (!a)
        return;
    if (a->ctx) {
        pv__objective_free(a->ctx, a->objective);
        pv__free(a->ctx, a->memory);
        pv_ctx_free(a->ctx);
    }
    pv__loaded_passes_free(ctx, a->passes);
    pv__free(ctx, a->forward);
    pv__free(ctx, a->inner);
    pv__free(ctx, a->lost);
    pv__free(ctx, a->which);
    pv__free(ctx, a->scale);
    pv__free(ctx, a->m);
    pv__free(ctx, a->found);
    pv__free(ctx, a->slope);
    pthread_mutex_destroy(&a->lock);
    pv__free(ctx, a);
}

/* ---- marginal ---------------------------------------------------------------------------------------------------- */

/* Solves the inner problems of `count` w together; sets a->lost for those that do not converge. */
static pv_status solve(pv_ctx *ctx, pv__density_aboard *a, size_t count) {
    for (size_t c = 0; c < count; c++) {
        double mean1 = a->forward[3 * c + 2];
        a->lost[c] = !(mean1 > least_mean);
        a->inner[c] = pv__inner_new(a->problem, mean1);
    }
    for (;;) {
        size_t going = 0;
        for (size_t c = 0; c < count; c++) {
            if (a->lost[c] || a->inner[c].settled)
                continue;
            a->which[going] = c;
            a->lost[c] = !pv__inner_next(&a->inner[c], &a->scale[going], &a->m[going]);
            going += !a->lost[c];
        }
        if (going == 0)
            return PV_OK;
        PV_TRY(pv__loaded_tied_sums(ctx, a->passes, going, a->which, a->scale, a->m, a->found));
        for (size_t i = 0; i < going; i++) {
            const pv__tied_sums *f = &a->found[i];
            const pv__profile_sums sums = {f->weight, f->r, f->rr, f->rq, f->smallest};
            a->lost[a->which[i]] = !pv__inner_step(&a->inner[a->which[i]], &sums);
        }
    }
}

/* Adds sum v log q at the solution and the other terms, and sets the derivatives of rows. */
static pv_status add_profile(pv_ctx *ctx, pv__density_aboard *a, size_t count, double *values) {
    PV_TRY(solve(ctx, a, count));
    size_t going = 0;
    for (size_t c = 0; c < count; c++) {
        const pv__inner *in = &a->inner[c];
        if (a->lost[c])
            continue;
        a->which[going] = c;
        a->scale[going] = 1 / in->lambda;
        a->m[going++] = in->m;
        a->slope[c] =
            (pv__tied_slope){.profile = true, .factor = in->m / in->lambda, .scale = 1 / in->lambda, .m = in->m};
    }
    if (going > 0)
        PV_TRY(pv__loaded_tied_sums(ctx, a->passes, going, a->which, a->scale, a->m, a->found));
    for (size_t i = 0; i < going; i++) {
        size_t c = a->which[i];
        values[c] += a->found[i].logs + pv__inner_term(&a->inner[c]);
        a->lost[c] = !(a->found[i].smallest > 0) || !isfinite(values[c]);
    }
    return PV_OK;
}

static void add_plugin(pv__density_aboard *a, size_t count, double *values) {
    const pv__problem *problem = a->problem;
    const pv_prevalence *population = &problem->population;
    double c0 = problem->mass[0] - population->prevalence_n * population->prevalence[0];
    double c1 = problem->mass[1] - population->prevalence_n * population->prevalence[1];
    for (size_t c = 0; c < count; c++) {
        double mean0 = a->forward[3 * c + 1], mean1 = a->forward[3 * c + 2];
        a->lost[c] = isinf(population->prevalence_n) || !(mean0 > least_mean && mean1 > least_mean);
        if (a->lost[c])
            continue;
        values[c] += c0 * log(mean0) + c1 * log(mean1);
        a->slope[c] = (pv__tied_slope){.factor = c1 / mean1 - c0 / mean0};
    }
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

/* Evaluates the objective at one w, starting from its initial state. gradient NULL: not wanted. */
static pv_status fall_back(pv_ctx *ctx, pv__density_aboard *a, const double *w, double *value, double *gradient) {
    pv_status status = open_objective(a);
    if (status != PV_OK)
        return pv__ctx_adopt(ctx, a->ctx);
    (void)copy_memory(a, true);
    status = pv__objective_eval(a->objective, w, false, value, gradient);
    if (status == PV_ERR_NUMERIC || (status == PV_OK && isnan(*value))) {
        *value = HUGE_VAL; /* a double cannot tell the density from 0 */
        return PV_OK;
    }
    return status == PV_OK ? PV_OK : pv__ctx_adopt(ctx, a->ctx);
}

static pv_status eval_tied(pv_ctx *ctx, pv__density_aboard *a, size_t count, const double *w, double *values,
                           double *gradients) {
    PV_TRY(pv__loaded_tied(ctx, a->passes, count, w, a->forward));
    for (size_t c = 0; c < count; c++) {
        values[c] = a->forward[3 * c];
        a->lost[c] = false;
        a->slope[c] = (pv__tied_slope){.factor = 0};
    }
    if (a->joint && a->problem->plan->options.marginal == PV_MARGINAL_PROFILE)
        PV_TRY(add_profile(ctx, a, count, values));
    else if (a->joint)
        add_plugin(a, count, values);
    return pv__loaded_tied_slopes(ctx, a->passes, count, a->slope, gradients);
}

static pv_status eval_some(pv_ctx *ctx, pv__density_aboard *a, size_t count, const double *w, double *values,
                           double *gradients) {
    size_t params = pv_model_params(a->problem->model);
    memset(a->lost, 0, count * sizeof *a->lost);
    if (a->sums)
        PV_TRY(pv__loaded_logistic(ctx, a->passes, count, w, values, gradients));
    else
        PV_TRY(eval_tied(ctx, a, count, w, values, gradients));
    for (size_t c = 0; c < count; c++) {
        const double *at = w + c * params;
        double *gradient = gradients + c * params;
        if (a->lost[c])
            PV_TRY(fall_back(ctx, a, at, &values[c], gradient));
        else
            values[c] += pv__density_prior(a->problem, at, gradient);
        if (isnan(values[c]))
            values[c] = HUGE_VAL;
    }
    return PV_OK;
}

pv_status pv__density_aboard_eval(pv_ctx *ctx, pv__density_aboard *a, size_t count, const double *w, double *values,
                                  double *gradients) {
    size_t params = pv_model_params(a->problem->model);
    pv_status status = PV_OK;
    pthread_mutex_lock(&a->lock);
    for (size_t done = 0; done < count && status == PV_OK; done += a->most) {
        size_t some = count - done < a->most ? count - done : a->most;
        status = eval_some(ctx, a, some, w + done * params, values + done, gradients + done * params);
    }
    pthread_mutex_unlock(&a->lock);
    return status;
}

/* log p(y|w) if the device's sums cannot be used. */
static pv_status marginal_back(pv_ctx *ctx, pv__density_aboard *a, const double *w, double *log_marginal) {
    double value;
    if (a->joint)
        PV_TRY(fall_back(ctx, a, w, &value, NULL));
    return pv__log_marginal(ctx, a->problem, a->objective, w, NULL, log_marginal);
}

static pv_status marginals_of(pv_ctx *ctx, pv__density_aboard *a, size_t count, const double *w, double *log_marginal) {
    size_t params = pv_model_params(a->problem->model);
    bool profile = a->joint && a->problem->plan->options.marginal == PV_MARGINAL_PROFILE;
    PV_TRY(pv__loaded_tied(ctx, a->passes, count, w, a->forward));
    if (profile)
        PV_TRY(solve(ctx, a, count));
    for (size_t c = 0; c < count; c++) {
        double mean0 = a->forward[3 * c + 1], mean1 = a->forward[3 * c + 2];
        bool lost = !(mean0 > least_mean && mean1 > least_mean) || (profile && a->lost[c]);
        if (lost) {
            PV_TRY(marginal_back(ctx, a, w + c * params, log_marginal + 2 * c));
            continue;
        }
        if (profile) {
            mean1 = exp(a->inner[c].log_lambda);
            mean0 = 1 - mean1;
        }
        log_marginal[2 * c] = log(mean0);
        log_marginal[2 * c + 1] = log(mean1);
    }
    return PV_OK;
}

pv_status pv__density_aboard_marginals(pv_ctx *ctx, pv__density_aboard *a, size_t count, const double *w,
                                       double *log_marginal) {
    const pv__problem *problem = a->problem;
    size_t params = pv_model_params(problem->model);
    bool stated =
        a->joint && problem->plan->options.marginal == PV_MARGINAL_PROFILE && isinf(problem->population.prevalence_n);
    pv_status status = PV_OK;
    for (size_t c = 0; c < count && stated; c++)
        pv__stated_marginal(problem, log_marginal + 2 * c);
    if (stated)
        return PV_OK;
    pthread_mutex_lock(&a->lock);
    bool design = pv_loss_of_design(pv__problem_loss(problem));
    for (size_t c = 0; c < count && design && status == PV_OK; c++)
        status = pv__log_marginal(ctx, problem, NULL, w, NULL, log_marginal + 2 * c);
    for (size_t done = 0; done < count && !design && status == PV_OK; done += a->most) {
        size_t some = count - done < a->most ? count - done : a->most;
        status = marginals_of(ctx, a, some, w + done * params, log_marginal + 2 * done);
    }
    pthread_mutex_unlock(&a->lock);
    return status;
}
