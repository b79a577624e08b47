/* A fit's posterior as a density: any model and loss through the full-batch objective. Logistic models, whose
 * posteriors are sampled most often, use kernels that keep the table in cache and allocate no memory.
 *
 * The fast path falls back to the objective if plain arithmetic would lose digits: a marginal below 1e-280, or a
 * profile whose Newton iteration does not converge.
 */
#include "infer/density.h"
#include "model/device_table.h"

#include <math.h>
#include <string.h>

enum { VECTOR_MAX = 8, FAST_BYTES = 1 << 26 };

typedef struct state {
    pv_ctx *ctx;
    const pv__problem *problem;
    pv__objective *objective;
    bool fast;
    bool joint; /* the marginal is part of the loss */
    pv__density_rows rows;
    bool own_rows;              /* owns the rows, which clones share */
    double *p1, *p0, *extra;    /* [padded] */
    double log_lambda;          /* profile: from the last solve */
    pv__density_aboard *aboard; /* rows on a device, and then nothing else is set; NULL: in memory */
    bool own_aboard;
} state;

PV_KERNELS_GET(pv__density_kernels, pv__density_kernels_get, pv__density_kernels)

/* ---- construction ------------------------------------------------------------------------------------------------ */

static bool is_logistic(const pv__problem *problem) {
    return pv_model_has_coefficients(problem->model) && !problem->model->offset && problem->targets.classes == 2 &&
           !problem->unlabelled && !pv__strata_of(problem) && !pv_loss_is_relative(pv__problem_loss(problem));
}

bool pv__density_fits(const pv__problem *problem) {
    pv__form form = pv__problem_form(problem);
    bool profile = form == PV_FORM_JOINT && problem->plan->options.marginal == PV_MARGINAL_PROFILE;
    return form != PV_FORM_SELECTION && is_logistic(problem) && !(profile && problem->population.prevalence[1] > 0.5);
}

static bool can_be_fast(const pv__problem *problem) {
    size_t bytes = problem->rows.n * ((size_t)pv_model_inputs(problem->model) + 6) * sizeof(double);
    return is_logistic(problem) && bytes <= FAST_BYTES;
}

bool pv__density_masses(const pv__problem *problem, double *weight, double *target, double *rho) {
    const double *factor = problem->factor;
    bool unit = true;
    for (size_t i = 0; i < problem->rows.n; i++) {
        double v = pv__weight(&problem->targets, i), share = pv__share(&problem->targets, i, 1);
        weight[i] = v * (factor[1] * share + factor[0] * (1 - share));
        target[i] = v * factor[1] * share;
        unit &= weight[i] == 1;
    }
    if (problem->plan->has_prevalence)
        pv__plugin_weights(&problem->targets, problem->population.prevalence, problem->mass, rho);
    return unit;
}

static pv_status fill_rows(pv_ctx *ctx, const pv__problem *problem, pv__density_rows *rows) {
    size_t n = problem->rows.n, d = (size_t)pv_model_inputs(problem->model);
    rows->n = n;
    rows->inputs = d;
    rows->padded = (n + VECTOR_MAX - 1) / VECTOR_MAX * VECTOR_MAX;
    PV_TRY(pv__alloc(ctx, rows->padded, (d + 3) * sizeof(double), &rows->x));
    rows->weight = rows->x + d * rows->padded;
    rows->target = rows->weight + rows->padded;
    rows->rho = rows->target + rows->padded;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < d; j++)
            rows->x[j * rows->padded + i] = problem->rows.matrix[i * d + j];
    rows->unit = pv__density_masses(problem, rows->weight, rows->target, rows->rho);
    return PV_OK;
}

/* from: the state to clone; NULL: none. */
static pv_status make_state(pv_ctx *ctx, const pv__problem *problem, const state *from, state **made) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    state *s = *made;
    s->ctx = ctx;
    s->problem = problem;
    if (from && from->aboard) {
        s->aboard = from->aboard;
        return PV_OK;
    }
    if (!from && pv__density_goes(problem)) {
        pv_status status = pv__density_aboard_new(ctx, problem, &s->aboard);
        s->own_aboard = status == PV_OK;
        if (!pv__loaded_forgone(ctx, status))
            return status;
    }
    s->fast = can_be_fast(problem);
    s->joint = pv__problem_form(problem) == PV_FORM_JOINT;
    PV_TRY(pv__objective_new(ctx, problem, pv__problem_form(problem), &s->objective));
    if (!s->fast)
        return PV_OK;
    if (from)
        s->rows = from->rows;
    else
        PV_TRY(fill_rows(ctx, problem, &s->rows));
    s->own_rows = !from;
    s->log_lambda = problem->plan->has_prevalence ? log(problem->population.prevalence[1]) : 0;
    PV_TRY(pv__alloc(ctx, s->rows.padded, 3 * sizeof(double), &s->p1));
    s->p0 = s->p1 + s->rows.padded;
    s->extra = s->p0 + s->rows.padded;
    return PV_OK;
}

static void release(pv_ctx *ctx, void *copy) {
    state *s = copy;
    if (!s)
        return;
    if (s->own_aboard)
        pv__density_aboard_free(ctx, s->aboard);
    pv__objective_free(ctx, s->objective);
    if (s->own_rows)
        pv__free(ctx, s->rows.x);
    pv__free(ctx, s->p1);
    pv__free(ctx, s);
}

static pv_status clone(pv_ctx *ctx, void *from, void **copy) {
    const state *s = from;
    state *made = NULL;
    pv_status status = make_state(ctx, s->problem, s, &made);
    if (status != PV_OK) {
        release(ctx, made);
        made = NULL;
    }
    *copy = made;
    return status;
}

/* ---- fast path --------------------------------------------------------------------------------------------------- */

/* The profile, with p1 as ratios scaled by 1/lambda. Computes extra_n = v_n / q_n and the value; false if it does not
 * converge. */
static bool profile_fast(state *s, double mean1, double *value, double *scale) {
    const pv__core_kernels *kernels = pv__core_kernels_get();
    const double *v = s->problem->targets.weight ? s->rows.weight : NULL;
    size_t n = s->rows.n;
    pv__inner inner = pv__inner_new(s->problem, mean1);
    for (double at, m; pv__inner_next(&inner, &at, &m);) {
        pv__profile_sums sums = kernels->profile_sums(n, s->p1, v, at, m);
        if (!pv__inner_step(&inner, &sums))
            return false;
    }
    if (!inner.settled)
        return false;
    if (!inner.known)
        s->log_lambda = inner.log_lambda;
    *scale = inner.m / inner.lambda;
    *value = pv__density_kernels_get()->profile_rows(n, s->p1, v, 1 / inner.lambda, inner.m, inner.least, s->extra);
    *value += pv__inner_term(&inner);
    return !inner.known || isfinite(*value);
}

static bool likelihood_fast(state *s, const double *w, double *value, double *gradient) {
    const pv__problem *problem = s->problem;
    const pv_prevalence *population = &problem->population;
    const pv__density_kernels *kernels = pv__density_kernels_get();
    pv__row_sums sums = kernels->forward(&s->rows, w, s->p1, s->p0);
    *value = sums.loss;
    if (!s->joint) {
        kernels->backward(&s->rows, s->p1, s->p0, NULL, 0, gradient);
        return true;
    }
    bool known = isinf(population->prevalence_n);
    if (problem->plan->options.marginal == PV_MARGINAL_PLUGIN) {
        if (known || !(sums.mean0 > 1e-280 && sums.mean1 > 1e-280))
            return false;
        double c0 = problem->mass[0] - population->prevalence_n * population->prevalence[0];
        double c1 = problem->mass[1] - population->prevalence_n * population->prevalence[1];
        *value += c0 * log(sums.mean0) + c1 * log(sums.mean1);
        kernels->backward(&s->rows, s->p1, s->p0, s->rows.rho, c1 / sums.mean1 - c0 / sums.mean0, gradient);
        return true;
    }
    double term, scale;
    if (population->prevalence[1] > 0.5 || !(sums.mean1 > 1e-280) || !profile_fast(s, sums.mean1, &term, &scale))
        return false;
    *value += term;
    kernels->backward(&s->rows, s->p1, s->p0, s->extra, scale, gradient);
    return true;
}

/* Student priors on slopes: one logarithm of the product for all. */
double pv__density_prior(const pv__problem *problem, const double *w, double *gradient) {
    const pv_prior *prior = &problem->plan->prior;
    bool student = problem->plan->map && prior->kind == PV_PRIOR_STUDENT;
    double value = 0, product = 1, nu = prior->df;
    for (size_t i = 0; i < pv_model_params(problem->model); i++) {
        double slope, away = w[i] - problem->centre[i];
        if (!student || problem->is_bias[i]) {
            value += pv__prior_at(problem, i, w[i], &slope);
        } else {
            double one_and = 1 + away * away / nu;
            slope = (nu + 1) / nu * away / one_and;
            product *= one_and;
            value += prior->constant;
            if (product > 1e150) {
                value += 0.5 * (nu + 1) * log(product);
                product = 1;
            }
        }
        gradient[i] += slope;
    }
    return value + (student ? 0.5 * (nu + 1) * log(product) : 0);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static pv_status eval(pv_ctx *ctx, void *from, const double *w, double *value, double *gradient) {
    state *s = from;
    if (s->aboard)
        return pv__density_aboard_eval(ctx, s->aboard, 1, w, value, gradient);
    if (s->fast && likelihood_fast(s, w, value, gradient)) {
        *value += pv__density_prior(s->problem, w, gradient);
        return PV_OK;
    }
    pv_status status = pv__objective_eval(s->objective, w, false, value, gradient);
    if (status == PV_ERR_NUMERIC || (status == PV_OK && isnan(*value))) {
        *value = HUGE_VAL; /* a double cannot tell the density from 0 */
        return PV_OK;
    }
    return status;
}

/* With rows on a device, states hold nothing of their own. */
static pv_status eval_many(pv_ctx *ctx, size_t count, void *const *states, const double *w, double *values,
                           double *gradients) {
    const state *s = states[0];
    return pv__density_aboard_eval(ctx, s->aboard, count, w, values, gradients);
}

/* The marginal from the sums of the fast path; false if they cannot be used. */
static bool marginal_fast(state *s, const double *w, double *log_marginal) {
    const pv__problem *problem = s->problem;
    if (!s->fast)
        return false;
    pv__row_sums sums = pv__density_kernels_get()->forward(&s->rows, w, s->p1, s->p0);
    double mean1 = sums.mean1, mean0 = sums.mean0, term, scale;
    if (!(mean0 > 1e-280 && mean1 > 1e-280))
        return false;
    if (s->joint && problem->plan->options.marginal == PV_MARGINAL_PROFILE) {
        if (problem->population.prevalence[1] > 0.5 || !profile_fast(s, mean1, &term, &scale))
            return false;
        mean1 = exp(s->log_lambda);
        mean0 = 1 - mean1;
    }
    log_marginal[0] = log(mean0);
    log_marginal[1] = log(mean1);
    return true;
}

pv_status pv__density_marginal(pv_ctx *ctx, const pv_density *density, const double *w, double *log_marginal) {
    state *s = density->state;
    const pv__problem *problem = s->problem;
    double value;
    if (s->aboard)
        return pv__density_aboard_marginals(ctx, s->aboard, 1, w, log_marginal);
    if (s->joint && problem->plan->options.marginal == PV_MARGINAL_PROFILE && isinf(problem->population.prevalence_n)) {
        pv__stated_marginal(problem, log_marginal);
        return PV_OK;
    }
    if (!pv_loss_of_design(pv__problem_loss(problem)) && marginal_fast(s, w, log_marginal))
        return PV_OK;
    if (s->joint)
        PV_TRY(pv__objective_eval(s->objective, w, false, &value, NULL));
    return pv__log_marginal(ctx, problem, s->objective, w, NULL, log_marginal);
}

pv_status pv__density_marginals(pv_ctx *ctx, const pv_density *density, size_t count, const double *w,
                                double *log_marginal) {
    state *s = density->state;
    size_t k = (size_t)s->problem->targets.classes,
           width = (pv__strata_of(s->problem) ? 1 + pv__ratio_sets(s->problem) : 1) * k;
    if (s->aboard)
        return pv__density_aboard_marginals(ctx, s->aboard, count, w, log_marginal);
    for (size_t i = 0; i < count; i++)
        PV_TRY(pv__density_marginal(ctx, density, w + i * density->dims, log_marginal + i * width));
    return PV_OK;
}

size_t pv__density_together(const pv_density *density) {
    return density->many ? 16 : 1;
}

/* The state to store: where the next inner problem of the profile starts. */
static size_t memory(void *from, pv_field *field) {
    state *s = from;
    field[0] = (pv_field){&s->log_lambda, sizeof s->log_lambda};
    pv_full_loss *full = s->objective ? pv__objective_loss(s->objective) : NULL;
    return 1 + (full ? pv_full_loss_memory(full, field + 1) : 0);
}

pv_status pv__density_new(pv_ctx *ctx, const pv__problem *problem, pv_density *density) {
    state *made = NULL;
    pv_status status = make_state(ctx, problem, NULL, &made);
    if (status != PV_OK) {
        release(ctx, made);
        made = NULL;
    }
    *density = (pv_density){.dims = pv_model_params(problem->model),
                            .state = made,
                            .eval = eval,
                            .clone = clone,
                            .release = release,
                            .memory = memory,
                            .many = made && made->aboard ? eval_many : NULL};
    return status;
}

void pv__density_free(pv_ctx *ctx, pv_density *density) {
    release(ctx, density->state);
    density->state = NULL;
}
