/* Predictions with the posterior carried through: the mean over draws of w of the probability in the population, which
 * is the posterior predictive (section 7 of the paper), and its central interval.
 *
 *   p(y|x) = 1/S sum_s p_pop(y|x,w_s),   with p(y|w_s) of each draw in the selection's formula.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "predict/predict.h"

enum { ROWS = 32 }; /* worked on together: their values over all draws stay in the cache */

typedef struct worker {
    pv_model_work *work;
    double *loglik; /* [ROWS][classes] */
    double *values; /* [ROWS][classes][draws] */
} worker;

/* target: the label distribution of draw s at s x stride; NULL: the model's own. */
static void run_rows(const pv_classifier *c, const double *target, size_t stride, size_t rows, const double *x,
                     double level, worker *own, double *p, double *log_p, double *lo, double *hi) {
    size_t k = (size_t)c->classes, draws = c->posterior->count, params = c->posterior->dims;
    for (size_t s = 0; s < draws; s++) {
        pv_model_forward(c->model, own->work, c->posterior->draws + s * params, rows, x, own->loglik);
        if (target)
            pv_adapt(rows, c->classes, own->loglik, c->draw_log_marginal + s * k, target + s * stride, own->loglik);
        for (size_t i = 0; i < rows * k; i++)
            own->values[i * draws + s] = own->loglik[i];
    }
    for (size_t i = 0; i < rows * k; i++) {
        double *values = own->values + i * draws, sum = 0;
        if (log_p)
            log_p[i] = pv_log_sum_exp(draws, values) - log((double)draws);
        for (size_t s = 0; s < draws; s++)
            sum += values[s] = exp(values[s]);
        p[i] = sum / (double)draws;
        if (lo) {
            lo[i] = pv_quantile(draws, values, 0.5 - 0.5 * level);
            hi[i] = pv_quantile(draws, values, 0.5 + 0.5 * level);
        }
    }
}

static pv_status point(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, pv_target_population population,
                       const double *prevalence, double *p) {
    PV_TRY(pv_predict_loglik(ctx, c, data, p));
    pv_predict_population(c, population, prevalence, data->rows, p, p);
    for (size_t i = 0; i < data->rows * (size_t)c->classes; i++)
        p[i] = exp(p[i]);
    return pv__gate_predicted(ctx, PV__GATE_SHARES, c, data, p);
}

static pv_status workers_new(pv_ctx *ctx, const pv_classifier *c, int count, worker *workers) {
    size_t k = (size_t)c->classes;
    for (int t = 0; t < count; t++) {
        PV_TRY(pv_model_work_new(ctx, c->model, ROWS, &workers[t].work));
        PV_TRY(pv__alloc(ctx, ROWS * k, sizeof(double), &workers[t].loglik));
        PV_TRY(pv__alloc(ctx, ROWS * k, c->posterior->count * sizeof(double), &workers[t].values));
    }
    return PV_OK;
}

pv_status pv__predict_draws(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, const double *target,
                            size_t stride, double level, double *p, double *log_p, double *lo, double *hi) {
    size_t k = (size_t)c->classes, d = (size_t)pv_model_inputs(c->model), blocks = (data->rows + ROWS - 1) / ROWS;
    int threads = pv_ctx_threads(ctx);
    worker *workers;
    PV_TRY(pv__alloc(ctx, (size_t)threads, sizeof *workers, &workers));
    pv_status status = workers_new(ctx, c, threads, workers);
    if (status == PV_OK) {
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static)
        for (int t = 0; t < threads; t++)
            for (size_t b = (size_t)t; b < blocks && !pv__interrupted(ctx); b += (size_t)threads) {
                size_t begin = b * ROWS, rows = data->rows - begin < ROWS ? data->rows - begin : ROWS;
                run_rows(c, target, stride, rows, data->x + begin * d, level, &workers[t], p + begin * k,
                         log_p ? log_p + begin * k : NULL, lo ? lo + begin * k : NULL, lo ? hi + begin * k : NULL);
            }
        if (pv__interrupted(ctx))
            status = pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request");
    }
    for (int t = 0; t < threads; t++) {
        pv_model_work_free(ctx, workers[t].work);
        pv__free(ctx, workers[t].loglik);
        pv__free(ctx, workers[t].values);
    }
    pv__free(ctx, workers);
    PV_TRY(status);
    PV_TRY(pv__gate_predicted(ctx, PV__GATE_SHARES, c, data, p));
    PV_TRY(pv__gate_predicted(ctx, PV__GATE_LOG, c, data, log_p));
    PV_TRY(pv__gate_predicted(ctx, PV__GATE_BOUNDS, c, data, lo));
    return pv__gate_predicted(ctx, PV__GATE_BOUNDS, c, data, hi);
}

pv_status pv_predict_posterior(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data,
                               pv_target_population population, const double *prevalence, double level, double *p,
                               double *lo, double *hi) {
    if (population == PV_POPULATION_UNKNOWN)
        return pv__fail(ctx, PV_ERR_USAGE, "a population of unknown prevalence: infer it first (pv_predict_unknown)");
    if (!c->posterior && lo)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "the model has no posterior, so no intervals: fit it with --infer laplace, vi or hmc");
    if (lo && !(level > 0 && level < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "an interval's level must lie between 0 and 1, not %g", level);
    if (!c->posterior)
        return point(ctx, c, data, population, prevalence, p);
    return pv__predict_draws(ctx, c, data, pv__adapt_to(c, population, prevalence), 0, level, p, NULL, lo, hi);
}
