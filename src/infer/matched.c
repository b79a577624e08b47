/* Matched sets: what their conditional likelihood cannot know, and where the rest comes from.
 *
 * The likelihood (core/loss_matched.c) has odds ratios and no intercept. With the prevalence pi and a sample of the
 * population, rows of weight v_n, there is one intercept b that makes the mean risk the prevalence,
 *
 *   sum_n v_n sigma(eta_n + b)  =  pi sum_n v_n ,
 *
 * with the odds ratios taken as constant over the sets: the model is then one of absolute risks. Every draw of a
 * posterior has its own b.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

/* ---- the intercept ----------------------------------------------------------------------------------------------- */

/* b with mean sigma(eta + b) = p, by Newton's method inside a bracket. */
static double find_intercept(size_t n, const double *eta, const double *weight, double p) {
    double low = HUGE_VAL, high = -HUGE_VAL, logit = log(p) - log1p(-p);
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, logit - eta[i]);
        high = fmax(high, logit - eta[i]);
    }
    double b = 0.5 * (low + high);
    for (int iteration = 0; iteration < 200 && high - low > 1e-14 * (1 + fabs(b)); iteration++) {
        double sum = 0, total = 0, slope = 0;
        for (size_t i = 0; i < n; i++) {
            double v = weight ? weight[i] : 1, s = pv_sigmoid(eta[i] + b);
            sum += v * s;
            slope += v * s * (1 - s);
            total += v;
        }
        double miss = sum / total - p, next = b - miss * total / slope;
        *(miss > 0 ? &high : &low) = b;
        if (fabs(miss) <= 1e-15 * p)
            break;
        b = next > low && next < high ? next : 0.5 * (low + high);
    }
    return b;
}

pv_status pv__matched_intercept(pv_ctx *ctx, const pv__problem *problem, const pv_dataset *sample, double *w) {
    size_t n = sample->rows;
    pv__problem people = *problem;
    pv__problem_take(&people, n, sample->x);
    double *loglik, shift[2] = {0};
    PV_TRY(pv__alloc(ctx, 3 * n, sizeof *loglik, &loglik));
    double *eta = loglik + 2 * n;
    pv_status status = pv__objective_loglik(ctx, &people, w, loglik);
    for (size_t i = 0; i < n; i++)
        eta[i] = loglik[2 * i + 1] - loglik[2 * i];
    if (status == PV_OK) {
        shift[1] = find_intercept(n, eta, sample->weight, problem->plan->prevalence[1]);
        pv_model_shift(problem->model, shift, w);
    }
    pv__free(ctx, loglik);
    return status;
}
