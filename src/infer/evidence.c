/* Chooses the scale of a linear model's prior by maximum marginal likelihood.
 *
 *   log m(s) = - loss(w_s) - 1/2 log |H_s| + log h(s),     s <= 2.5
 *
 * where w_s is the optimum with prior normal:s on all slopes, `loss` the negative log posterior there, and H_s its
 * curvature: Laplace's approximation of the marginal likelihood (MacKay 1992) without constants. The loss is that of
 * the efficient estimate, or of `iw` with its weights. Intercepts are at their own optimum: their prior does not depend
 * on s. h is log-normal around 0.5 with a standard deviation of a factor of two: uninformative rows leave the scale
 * there, and it neither vanishes nor grows without bound. The scale is rounded to three digits, so that giving it
 * explicitly reproduces the fit.
 *
 * Domain: two or more labels, strata, counts and sampling weights. Rows of a cluster are treated as independent. The
 * variance of log s is the inverse of the curvature of log m at the maximum.
 */
#include <math.h>
#include <string.h>

#include "infer/side.h"

static const double USUAL = 0.5, FACTOR = 2;   /* median and spread of h */
static const double LARGEST = 2.5, STEP = 0.2; /* of log s, around the maximum */
enum { HALVINGS = 7 };
static const double LEAST_CURVATURE = 0.5; /* that of log h: no scale is less certain than under h alone */

typedef struct evidence {
    pv_ctx *ctx;
    pv__plan plan; /* the problem's plan with the scale to try */
    pv__problem problem;
    pv__side side;
    double *w, *factor; /* [P], at the last scale; [P][P] */
} evidence;

pv_status pv__evidence_side(pv_ctx *ctx, const pv__problem *whole, const pv__problem *labelled, pv__side *side) {
    PV_TRY(pv__side_new(ctx, labelled, NULL, side));
    if (!whole->unlabelled) /* the prevalence of a population sample is not yet known; it only shifts the intercept */
        pv__log_ratio(whole, side->ratio);
    for (size_t i = 0; i < side->cells; i++)
        side->a[i] = pv__loss(pv__problem_loss(whole))->class_factor ? whole->factor[i % side->k] : 1;
    return PV_OK;
}

static pv_status evidence_new(pv_ctx *ctx, const pv__problem *problem, evidence *e) {
    size_t P = pv_model_params(problem->model);
    *e = (evidence){.ctx = ctx, .plan = *problem->plan, .problem = pv__labelled(problem)};
    e->problem.plan = &e->plan;
    PV_TRY(pv__evidence_side(ctx, problem, &e->problem, &e->side));
    PV_TRY(pv__alloc(ctx, P + P * P, sizeof *e->w, &e->w));
    e->factor = e->w + P;
    return PV_OK;
}

static void evidence_free(evidence *e) {
    pv__side_free(e->ctx, &e->side);
    pv__free(e->ctx, e->w);
}

/* log m at scale e^log_scale; -INFINITY if there is no optimum. */
static pv_status at(evidence *e, double log_scale, double *log_m) {
    size_t P = e->side.P;
    char text[PV__PRIOR_TEXT];
    pv__format(text, sizeof text, "normal:%.17g", exp(log_scale));
    PV_TRY(pv_prior_parse(e->ctx, "prior", text, &e->plan.prior));
    PV_TRY(pv__side_fit(e->ctx, &e->side, e->w));
    *log_m = -HUGE_VAL;
    memcpy(e->factor, e->side.information, P * P * sizeof *e->factor);
    if (!e->side.converged || !pv__cholesky(P, e->factor, 0))
        return PV_OK;
    memcpy(e->w, e->side.w, P * sizeof *e->w);
    double off = (log_scale - log(USUAL)) / log(FACTOR);
    *log_m = -e->side.value - 0.5 * off * off;
    for (size_t i = 0; i < P; i++)
        *log_m -= log(e->factor[i * (P + 1)]);
    return PV_OK;
}

/* Position of the maximum of the parabola through three values `step` apart, relative to the middle one; at most a
 * step.
 */
static double vertex(const double *value, double step) {
    double bend = value[0] - 2 * value[1] + value[2];
    if (!isfinite(bend) || !(bend < 0))
        return 0;
    return fmax(-step, fmin(step, 0.5 * step * (value[0] - value[2]) / bend));
}

/* The best among scales halved repeatedly from the largest, with interpolation. */
static pv_status coarse(evidence *e, double *log_scale) {
    double value[HALVINGS + 1];
    size_t best = 0;
    for (size_t i = 0; i <= HALVINGS; i++) {
        PV_TRY(at(e, log(LARGEST) - (double)i * log(2), &value[i]));
        best = value[i] > value[best] ? i : best;
    }
    *log_scale = log(LARGEST) - (double)best * log(2);
    if (best > 0 && best < HALVINGS)
        *log_scale -= vertex(value + best - 1, log(2));
    return PV_OK;
}

pv_status pv__evidence_scale(pv_ctx *ctx, const pv__problem *problem, double *scale, double *variance) {
    evidence e;
    double centre, value[3], least = LEAST_CURVATURE / (log(FACTOR) * log(FACTOR));
    pv_status status;
    PV_GOTO(done, evidence_new(ctx, problem, &e));
    PV_GOTO(done, coarse(&e, &centre));
    for (size_t i = 0; i < 3; i++)
        PV_GOTO(done, at(&e, centre + ((double)i - 1) * STEP, &value[i]));
    double bend = (2 * value[1] - value[0] - value[2]) / (STEP * STEP);
    centre = fmin(centre + vertex(value, STEP), log(LARGEST));
    char text[PV__PRIOR_TEXT];
    pv__format(text, sizeof text, "%.3g", exp(centre));
    *variance = 1 / (bend > least ? bend : least);
    if (!pv__parse_real(text, scale))
        *scale = LARGEST;
done:
    evidence_free(&e);
    return status;
}

bool pv__evidence_serves(const pv__problem *problem) {
    /* rows times parameters squared: some tens of passes over them take a second or two; more with smooth terms */
    bool smooth = problem->model->architecture->has_smooths;
    const double most = smooth ? 1e9 : 2e8, widest = smooth ? 600 : 300;
    double P = (double)pv_model_params(problem->model);
    return pv_model_has_coefficients(problem->model) && !pv__rows_are_images(&problem->rows) &&
           !pv_loss_is_relative(pv__problem_loss(problem)) && P <= widest && (double)problem->rows.n * P * P <= most;
}
