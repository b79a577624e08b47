/* Standard errors of a linear model's coefficients at the optimum, without a posterior.
 *
 * plain    the inverse of the rows' information plus the prior's curvature
 * profile  the same for the slopes, if only the given prevalence determines the intercepts. From the intercepts' part
 *          diag(1/n_j) + 1/n_0 is subtracted, where n are the label masses, which the design fixes (Prentice and Pyke
 *          1979), and (diag(1/pi_j) + 1/pi_0)/N_pr is added for a prevalence from N_pr observations (docs/method.md, 9)
 *
 * Weighted and combined estimates, sampling weights and clusters: the sandwich (combined.c). Other losses: the
 * curvature from differences of the gradient, if that is cheap.
 */
#include <math.h>
#include <string.h>

#include "core/core.h"
#include "infer/density.h"

enum { PARAMS_MAX = 300 };
static const double DIFFERENCES_MAX = 2e7; /* rows times parameters squared, for some tenths of a second */

/* ---- covariances of the parameters ------------------------------------------------------------------------------- */

/* The curvature of the prior, which can be negative. */
double pv__prior_bend(const pv__problem *problem, size_t i, double w) {
    const pv_prior *prior = pv__prior_of(problem, i);
    double away = w - problem->centre[i], nu = prior->df, square = away * away;
    if (problem->plan->map && prior->kind == PV_PRIOR_STUDENT)
        return (nu + 1) * (nu - square) / ((nu + square) * (nu + square));
    return pv__prior_curvature(problem, i, w);
}

void pv__factor_invert(size_t n, const double *L, double *inverse) {
    memset(inverse, 0, n * n * sizeof *inverse);
    for (size_t c = 0; c < n; c++) {
        double *x = inverse + c * n; /* column c, which equals row c */
        x[c] = 1;
        for (size_t i = c; i < n; i++) {
            for (size_t j = c; j < i; j++)
                x[i] -= L[i * n + j] * x[j];
            x[i] /= L[i * n + i];
        }
        for (size_t i = n; i-- > 0;) {
            for (size_t j = i + 1; j < n; j++)
                x[i] -= L[j * n + i] * x[j];
            x[i] /= L[i * n + i];
        }
    }
}

void pv__hold_labels(const pv__problem *problem, size_t P, double observed, double *covariance) {
    const double *pi = problem->population.prevalence, *mass = problem->mass;
    size_t k = (size_t)problem->targets.classes, size = P / (k - 1);
    for (size_t j = 0; j < k - 1; j++)
        for (size_t l = 0; l < k - 1; l++) {
            double *entry = &covariance[j * size * P + l * size];
            *entry += 1 / (pi[0] * observed) - 1 / mass[0];
            if (j == l)
                *entry += 1 / (pi[j + 1] * observed) - 1 / mass[j + 1];
        }
}

pv_status pv__add_scale(pv_ctx *ctx, const pv__problem *problem, const double *w, const double *inverse, bool sandwich,
                        double *covariance) {
    size_t P = pv_model_params(problem->model);
    const pv__smoothing *of = problem->smoothing;
    double *drawn, *moved;
    if (!(problem->plan->prior_spread > 0))
        return PV_OK;
    PV_TRY(pv__alloc(ctx, 2 * P, sizeof *drawn, &drawn));
    moved = drawn + P; /* dw/dlog s = H^-1 2 w/s^2 */
    for (size_t i = 0; i < P; i++)
        drawn[i] = problem->is_bias[i] ? 0 : pv__prior_curvature(problem, i, w[i]);
    for (size_t g = 0; g < (of ? of->groups : 1); g++) {
        double spread = of ? of->spread[g] : problem->plan->prior_spread;
        memset(moved, 0, P * sizeof *moved);
        for (size_t i = 0; i < P; i++)
            for (size_t j = 0; j < P; j++)
                moved[i] += !of || of->of[j] == (int32_t)g ? 2 * inverse[i * P + j] * drawn[j] * w[j] : 0;
        for (size_t i = 0; i < P; i++)
            for (size_t j = 0; j < P; j++)
                covariance[i * P + j] += spread * moved[i] * moved[j];
    }
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++)
            for (size_t l = 0; sandwich && l < P; l++)
                covariance[i * P + j] += inverse[i * P + l] * drawn[l] * inverse[l * P + j];
    pv__free(ctx, drawn);
    return PV_OK;
}

static pv_status from_information(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution,
                                  double *covariance, bool *found) {
    size_t P = pv_model_params(problem->model);
    const double *w = solution->w;
    double *H;
    PV_TRY(pv__alloc(ctx, 2 * P, P * sizeof *H, &H));
    pv_status status = PV_OK;
    if (solution->information)
        memcpy(H, solution->information, P * P * sizeof *H);
    else
        status = pv__information(ctx, problem, w, H);
    for (size_t i = 0; i < P; i++)
        H[i * P + i] += pv__prior_bend(problem, i, w[i]);
    *found = status == PV_OK && pv__cholesky(P, H, 0);
    if (*found) {
        double *inverse = H + P * P;
        pv__factor_invert(P, H, inverse);
        memcpy(covariance, inverse, P * P * sizeof *covariance);
        status = pv__add_scale(ctx, problem, w, inverse, false, covariance);
    }
    if (*found && pv__is_profile(problem))
        pv__hold_labels(problem, P, problem->population.prevalence_n, covariance);
    pv__free(ctx, H);
    return status;
}

/* From a lower factor [n][n] of the covariance of some parameters (which NULL: all); the others get 0. */
static void from_factor(size_t P, size_t n, const size_t *which, const double *factor, double *covariance) {
    for (size_t i = 0; i < P * P; i++)
        covariance[i] = (double)NAN;
    for (size_t i = 0; factor && i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t l = 0; l <= (i < j ? i : j); l++)
                sum += factor[i * n + l] * factor[j * n + l];
            covariance[(which ? which[i] : i) * P + (which ? which[j] : j)] = sum;
        }
}

/* The posterior as a function of some parameters: for matched sets, the estimable slopes. */
typedef struct part_of {
    const pv_density *all;
    size_t n;
    size_t *which;        /* [n] */
    double *w, *gradient; /* [params] */
} part_of;

static pv_status eval_part(pv_ctx *ctx, void *state, const double *w, double *value, double *gradient) {
    const part_of *s = state;
    for (size_t i = 0; i < s->n; i++)
        s->w[s->which[i]] = w[i];
    PV_TRY(s->all->eval(ctx, s->all->state, s->w, value, s->gradient));
    for (size_t i = 0; i < s->n; i++)
        gradient[i] = s->gradient[s->which[i]];
    return PV_OK;
}

static pv_status choose_part(pv_ctx *ctx, const pv__problem *problem, part_of *part) {
    size_t P = pv_model_params(problem->model);
    bool *estimable;
    PV_TRY(pv__alloc(ctx, P, sizeof *part->which, &part->which));
    PV_TRY(pv__alloc(ctx, P, sizeof *estimable, &estimable));
    bool relative = pv_loss_is_relative(pv__problem_loss(problem));
    pv_status status = relative ? pv__estimable_find(ctx, problem, estimable) : PV_OK;
    for (size_t i = 0; i < P; i++)
        if (!relative || estimable[i])
            part->which[part->n++] = i;
    pv__free(ctx, estimable);
    return status;
}

static pv_status from_differences(pv_ctx *ctx, const pv__problem *problem, const double *w, double *covariance) {
    size_t P = pv_model_params(problem->model);
    const pv_laplace_options no_draws = {.seed = 1};
    pv_density density = {0};
    pv_posterior *p = NULL;
    double *start = NULL;
    part_of part = {.all = &density};
    pv_status status;
    PV_GOTO(done, pv__density_new(ctx, problem, &density));
    PV_GOTO(done, choose_part(ctx, problem, &part));
    PV_GOTO(done, pv__alloc(ctx, 3 * P, sizeof *part.w, &part.w));
    part.gradient = part.w + P;
    start = part.gradient + P;
    memcpy(part.w, w, P * sizeof *w);
    for (size_t i = 0; i < part.n; i++)
        start[i] = w[part.which[i]];
    const pv_density only = {.dims = part.n, .state = &part, .eval = eval_part};
    if (part.n > 0)
        PV_GOTO(done, pv_laplace(ctx, part.n < P ? &only : &density, start, &no_draws, &p));
    from_factor(P, p ? part.n : 0, part.which, p ? p->mixture.factor : NULL, covariance);
done:
    pv__free(ctx, part.w);
    pv__free(ctx, part.which);
    pv__density_free(ctx, &density);
    pv_posterior_free(ctx, p);
    return status;
}

/* ---- choice of the method ---------------------------------------------------------------------------------------- */

/* Why there can be no standard errors; NULL if there can. */
static const char *reason(const pv__problem *problem, const pv__solution *solution) {
    pv_loss loss = pv__problem_loss(problem);
    bool coefficients = pv_model_has_coefficients(problem->model) || pv_model_has_thresholds(problem->model);
    if (!coefficients || pv__rows_are_images(&problem->rows))
        return "the model has no coefficients";
    if (solution->stop != PV_STOP_CONVERGED || problem->batch > 0)
        return "the optimum was not reached exactly; use the full batch, or `infer=laplace`";
    if (pv_model_params(problem->model) > PARAMS_MAX)
        return "there are more than 300 coefficients; use `infer=laplace` or vi";
    if (problem->plan->map && problem->plan->prior.kind == PV_PRIOR_LAPLACE)
        return "`prior=laplace` has no curvature at zero; use `infer=hmc` for intervals";
    if (pv_loss_of_design(loss) || pv_loss_is_relative(loss))
        return NULL;
    if (!pv_loss_has_marginal(loss))
        return "weights of `loss=iw` are not counts, and with these options standard errors would take longer than the "
               "fit";
    if (problem->plan->options.marginal != PV_MARGINAL_PROFILE)
        return "only `marginal=profile` has them; try `infer=laplace`";
    return NULL;
}

/* Whether only the rows' information, the prior and the given prevalence contribute. */
static bool is_simple(const pv__problem *problem) {
    if (!pv_model_has_coefficients(problem->model)) /* derivatives of thresholds are computed by differences */
        return false;
    bool free_intercept = !problem->plan->map || problem->plan->intercept_prior.kind == PV_PRIOR_NONE;
    return pv_loss_of_design(pv__problem_loss(problem)) ||
           (pv__is_profile(problem) && free_intercept && !problem->unlabelled && !pv__strata_of(problem) &&
            problem->population.prevalence_n > 0);
}

/* The derivative of the coefficients with respect to parameter i, to [P]. Coefficients are linear in the parameters, so
 * this is their value at w = e_i minus that of an offset at 0; thresholds use central differences. */
static pv_status weights_of(pv_ctx *ctx, const pv_classifier *c, const double *w, size_t i, double *at, double *to) {
    size_t P = pv_model_params(c->model);
    if (pv_model_has_coefficients(c->model)) {
        memset(at, 0, P * sizeof *at);
        at[i] = 1;
        PV_TRY(pv__coefficients_of(ctx, c, at, to));
        if (c->schema->offset)
            to[0] += c->schema->source[0].mean;
        return PV_OK;
    }
    const double h = 1e-5;
    double *other = at + P;
    memcpy(at, w, P * sizeof *at);
    at[i] = w[i] + h;
    PV_TRY(pv__coefficients_of(ctx, c, at, to));
    at[i] = w[i] - h;
    PV_TRY(pv__coefficients_of(ctx, c, at, other));
    for (size_t j = 0; j < P; j++)
        to[j] = (to[j] - other[j]) / (2 * h);
    return PV_OK;
}

/* sum_j map[j][i] rows[j] for each i. A column affects only its own coefficient and the intercepts, so most of the map
 * is zero; entries multiplied by zero may be NaN. */
static void combine(size_t P, const double *map, const double *rows, double *sums) {
    memset(sums, 0, P * P * sizeof *sums);
    for (size_t j = 0; j < P; j++)
        for (size_t i = 0; i < P; i++) {
            double share = map[j * P + i];
            for (size_t l = 0; share != 0 && l < P; l++)
                sums[i * P + l] += share * rows[j * P + l];
        }
}

static void transpose(size_t P, double *square) {
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < i; j++) {
            double kept = square[i * P + j];
            square[i * P + j] = square[j * P + i];
            square[j * P + i] = kept;
        }
}

/* Converts the covariance [P][P] of the parameters to that of the coefficients, made [P][P]. */
static pv_status to_coefficients(pv_ctx *ctx, const pv_classifier *c, const double *covariance, double *made) {
    size_t P = pv_model_params(c->model);
    double *map = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, 2 * P + 2, P * sizeof *map, &map));
    for (size_t i = 0; i < P; i++)
        PV_GOTO(done, weights_of(ctx, c, c->w, i, map + P * P, map + i * P));
    double *half = map + (P + 2) * P;
    combine(P, map, covariance, half);
    transpose(P, half);
    combine(P, map, half, made);
    for (size_t a = 0; a < P; a++)
        for (size_t b = 0; b < a; b++) /* symmetrises, because rounding may differ */
            made[b * P + a] = made[a * P + b];
done:
    pv__free(ctx, map);
    return status;
}

/* An intercept that the given prevalence determines has variance 0, up to rounding. */
static double root(double variance) {
    return variance < 0 && variance > -1e-12 ? 0 : sqrt(variance);
}

pv_status pv__errors_of(pv_ctx *ctx, const pv_classifier *c, const double *covariance, double *errors) {
    size_t P = pv_model_params(c->model);
    double *made;
    PV_TRY(pv__alloc(ctx, P, P * sizeof *made, &made));
    pv_status status = to_coefficients(ctx, c, covariance, made);
    for (size_t a = 0; status == PV_OK && a < P; a++)
        errors[a] = root(made[a * (P + 1)]);
    pv__free(ctx, made);
    return status;
}

pv_status pv__set_errors(pv_ctx *ctx, const double *covariance, pv_classifier *c) {
    size_t P = pv_model_params(c->model);
    if (!c->standard_error)
        PV_TRY(pv__alloc(ctx, P, sizeof(double), &c->standard_error));
    PV_TRY(pv__alloc(ctx, P * P, sizeof(double), &c->covariance));
    PV_TRY(to_coefficients(ctx, c, covariance, c->covariance));
    for (size_t a = 0; a < P; a++)
        c->standard_error[a] = root(c->covariance[a * (P + 1)]);
    return PV_OK;
}

pv_status pv__errors_keep(pv_ctx *ctx, const double *covariance, const double *centre, double df, pv_classifier *c) {
    size_t P = pv_model_params(c->model);
    PV_TRY(pv__set_errors(ctx, covariance, c));
    if (!pv_model_has_coefficients(c->model) || pv_loss_is_relative(c->loss))
        return PV_OK;
    PV_TRY(pv__alloc(ctx, P * P, sizeof(double), &c->spread));
    memcpy(c->spread, covariance, P * P * sizeof *covariance);
    c->spread_df = df;
    if (!centre)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, P, sizeof(double), &c->centre));
    memcpy(c->centre, centre, P * sizeof *centre);
    return PV_OK;
}

pv_status pv__standard_errors(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution, pv_classifier *c) {
    size_t P = pv_model_params(problem->model);
    const pv_combination *m = c->combination;
    double *covariance, size = (double)problem->rows.n * (double)(P * P);
    bool simple = is_simple(problem), found = true, survey = problem->design->sampling || problem->design->cluster;
    if (pv__problem_label_error(problem))
        return pv__label_error_errors(ctx, problem, solution, c);
    if (m && m->use != PV_ESTIMATE_EFFICIENT)
        return pv__errors_keep(ctx, m->covariance, m->weighted, m->df_risk, c);
    if (m && survey)
        return pv__errors_keep(ctx, m->efficient_covariance, NULL, HUGE_VAL, c);
    c->no_errors = reason(problem, solution);
    if (!c->no_errors && survey)
        c->no_errors = "with sampling weights or clusters only `loss=plain` and `marginal=profile` have them";
    if (!c->no_errors && !simple && size > DIFFERENCES_MAX)
        c->no_errors = "with these options they would take longer than the fit; use `infer=laplace`";
    if (c->no_errors)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, P, P * sizeof *covariance, &covariance));
    pv_status status = simple ? from_information(ctx, problem, solution, covariance, &found)
                              : from_differences(ctx, problem, solution->w, covariance);
    if (status == PV_OK && found)
        status = pv__errors_keep(ctx, covariance, NULL, HUGE_VAL, c);
    else if (status == PV_OK)
        c->no_errors = "the curvature is not positive in every direction";
    pv__free(ctx, covariance);
    return status;
}

pv_status pv__gaussian_errors(pv_ctx *ctx, const pv__problem *problem, const pv__solution *solution, pv_classifier *c) {
    size_t P = pv_model_params(problem->model);
    const pv_posterior *p = c->posterior;
    double *covariance;
    bool found = true;
    if (!pv_model_has_coefficients(c->model) || p->kind != PV_POSTERIOR_LAPLACE || p->dims != P)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, P, P * sizeof *covariance, &covariance));
    pv_status status = PV_OK;
    if (is_simple(problem))
        status = from_information(ctx, problem, solution, covariance, &found);
    else if (pv_loss_is_relative(c->loss))
        status = from_differences(ctx, problem, solution->w, covariance);
    else
        from_factor(P, P, NULL, p->mixture.factor, covariance);
    if (status == PV_OK && found)
        status = pv__errors_keep(ctx, covariance, NULL, HUGE_VAL, c);
    pv__free(ctx, covariance);
    return status;
}
