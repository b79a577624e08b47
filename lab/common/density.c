/* A logistic model with normal priors as a density: the library's losses on a few rows.
 *
 *   -log p(w | data) = loss(f(w)) + sum_j w_j^2 / (2 s^2) + dims log(s sqrt(2 pi)),   f_n(y) = log p(y|x_n,w)
 */
#include "prevail/prevail.h"
#include "lab/common/density.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct state {
    const study_problem *problem;
    pv_full_loss *full;
    double *loglik, *dloglik; /* [n][2] */
    double mass[2];
} state;

static void state_free(pv_ctx *ctx, void *opaque) {
    state *s = opaque;
    if (!s)
        return;
    pv_full_loss_free(ctx, s->full);
    free(s->loglik);
    free(s->dloglik);
    free(s);
}

static pv_status state_new(pv_ctx *ctx, const study_problem *problem, void **opaque) {
    state *s = cli_alloc(1, sizeof *s);
    s->problem = problem;
    s->loglik = cli_alloc(2 * problem->targets.n, sizeof(double));
    s->dloglik = cli_alloc(2 * problem->targets.n, sizeof(double));
    pv_label_mass(&problem->targets, s->mass);
    pv_status status = pv_full_loss_new(ctx, problem->loss, problem->marginal, &problem->targets,
                                        problem->population.prevalence ? &problem->population : NULL, &s->full);
    if (status != PV_OK) {
        state_free(ctx, s);
        s = NULL;
    }
    *opaque = s;
    return status;
}

static pv_status clone(pv_ctx *ctx, void *opaque, void **copy) {
    return state_new(ctx, ((const state *)opaque)->problem, copy);
}

/* PV_ERR_NUMERIC if the density is 0 or underflows. gradient may be NULL. */
static pv_status evaluate(pv_ctx *ctx, state *s, const double *w, double *value, double *gradient) {
    const study_problem *p = s->problem;
    size_t n = p->targets.n, d = p->dims;
    for (size_t i = 0; i < n; i++) {
        double logit = 0;
        for (size_t j = 0; j < d; j++)
            logit += p->x[i * d + j] * w[j];
        s->loglik[2 * i] = pv_log_sigmoid(-logit);
        s->loglik[2 * i + 1] = pv_log_sigmoid(logit);
    }
    pv_status status = pv_full_loss_eval(ctx, s->full, s->loglik, value, gradient ? s->dloglik : NULL);
    if (status != PV_OK)
        return status;
    double precision = 1 / (p->prior_sd * p->prior_sd);
    *value += (double)d * log(p->prior_sd * sqrt(2 * M_PI));
    for (size_t j = 0; j < d; j++)
        *value += 0.5 * precision * w[j] * w[j];
    if (!gradient)
        return PV_OK;
    for (size_t j = 0; j < d; j++)
        gradient[j] = precision * w[j];
    for (size_t i = 0; i < n; i++) {
        double dlogit = s->dloglik[2 * i + 1] * exp(s->loglik[2 * i]) - s->dloglik[2 * i] * exp(s->loglik[2 * i + 1]);
        for (size_t j = 0; j < d; j++)
            gradient[j] += dlogit * p->x[i * d + j];
    }
    return PV_OK;
}

static pv_status eval(pv_ctx *ctx, void *opaque, const double *w, double *value, double *gradient) {
    pv_status status = evaluate(ctx, opaque, w, value, gradient);
    if (status != PV_ERR_NUMERIC)
        return status;
    *value = HUGE_VAL;
    return PV_OK;
}

static size_t memory(void *opaque, pv_field *field) {
    return pv_full_loss_memory(((state *)opaque)->full, field);
}

pv_status study_density_new(pv_ctx *ctx, const study_problem *problem, pv_density *density) {
    *density =
        (pv_density){.dims = problem->dims, .eval = eval, .clone = clone, .release = state_free, .memory = memory};
    return state_new(ctx, problem, &density->state);
}

void study_density_free(pv_ctx *ctx, pv_density *density) {
    state_free(ctx, density->state);
    density->state = NULL;
}

pv_status study_density_value(pv_ctx *ctx, const pv_density *density, const double *w, double *value,
                              double *marginal) {
    pv_status status = eval(ctx, density->state, w, value, NULL);
    if (status != PV_OK || !marginal)
        return status;
    const state *s = density->state;
    const study_problem *p = s->problem;
    const double *log_marginal = pv_full_loss_log_marginal(s->full);
    if (log_marginal) {
        *marginal = exp(log_marginal[1]);
        return PV_OK;
    }
    *marginal = 0;
    for (size_t i = 0; i < p->targets.n; i++) {
        int y = p->targets.label[i];
        double weight = p->targets.weight ? p->targets.weight[i] : 1;
        double share =
            p->population.prevalence ? p->population.prevalence[y] / s->mass[y] : 1 / (s->mass[0] + s->mass[1]);
        *marginal += weight * share * exp(s->loglik[2 * i + 1]);
    }
    return PV_OK;
}

/* ---- maximum ----------------------------------------------------------------------------------------------------- */

enum { DIMS_MAX = 8 };

/* Solves (H + ridge I) step = g by Cholesky; false if that is not positive definite. */
static bool solve(size_t d, const double *hessian, double ridge, const double *g, double *step) {
    double l[DIMS_MAX][DIMS_MAX] = {{0}};
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = hessian[i * d + j] + (i == j ? ridge : 0);
            for (size_t k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (i == j && !(sum > 0))
                return false;
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
    for (size_t i = 0; i < d; i++) {
        step[i] = g[i];
        for (size_t k = 0; k < i; k++)
            step[i] -= l[i][k] * step[k];
        step[i] /= l[i][i];
    }
    for (size_t i = d; i-- > 0;) {
        for (size_t k = i + 1; k < d; k++)
            step[i] -= l[k][i] * step[k];
        step[i] /= l[i][i];
    }
    return true;
}

static pv_status hessian_at(pv_ctx *ctx, state *s, double *w, double *hessian) {
    size_t d = s->problem->dims;
    double value, up[DIMS_MAX], down[DIMS_MAX];
    const double h = 1e-5;
    for (size_t i = 0; i < d; i++) {
        double kept = w[i];
        w[i] = kept + h;
        pv_status status = evaluate(ctx, s, w, &value, up);
        w[i] = kept - h;
        if (status == PV_OK)
            status = evaluate(ctx, s, w, &value, down);
        w[i] = kept;
        if (status != PV_OK)
            return status;
        for (size_t j = 0; j < d; j++)
            hessian[i * d + j] = (up[j] - down[j]) / (2 * h);
    }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < i; j++)
            hessian[i * d + j] = hessian[j * d + i] = 0.5 * (hessian[i * d + j] + hessian[j * d + i]);
    return PV_OK;
}

pv_status study_density_mode(pv_ctx *ctx, const pv_density *density, double *w) {
    state *s = density->state;
    size_t d = s->problem->dims;
    double value, g[DIMS_MAX], trial[DIMS_MAX], step[DIMS_MAX], hessian[DIMS_MAX * DIMS_MAX];
    double ridge = 1e-3;
    pv_status status = evaluate(ctx, s, w, &value, g);
    for (int iteration = 0; iteration < 200 && status == PV_OK; iteration++) {
        double largest = 0;
        for (size_t i = 0; i < d; i++)
            largest = fmax(largest, fabs(g[i]));
        if (largest < 1e-7)
            break;
        status = hessian_at(ctx, s, w, hessian);
        bool better = false;
        for (int tries = 0; tries < 40 && !better && status == PV_OK; tries++) {
            double at = HUGE_VAL;
            if (solve(d, hessian, ridge, g, step)) {
                for (size_t i = 0; i < d; i++)
                    trial[i] = w[i] - step[i];
                status = eval(ctx, s, trial, &at, NULL);
            }
            better = at < value;
            ridge = better ? ridge / 5 : ridge * 4;
        }
        if (!better)
            break;
        memcpy(w, trial, d * sizeof *w);
        status = evaluate(ctx, s, w, &value, g);
    }
    return status;
}
