/* Matched sets: what their conditional likelihood does not determine, and how it is supplied.
 *
 * The likelihood (core/loss_matched.c) has odds ratios but no intercept. Given the prevalence pi and a population
 * sample with rows of weight v_n, exactly one intercept b makes the mean risk equal to the prevalence,
 *
 *   sum_n v_n sigma(eta_n + b)  =  pi sum_n v_n ,
 *
 * if the odds ratios are constant over the sets: the model is then one of absolute risks. Every draw of a posterior has
 * its own b.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

/* ---- intercept --------------------------------------------------------------------------------------------------- */

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
    people.rows = pv__rows_from(sample);
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

/* ---- inestimable slopes ------------------------------------------------------------------------------------------ */

/* first [sets]: index of one row of each set that has rows of both labels, else SIZE_MAX. */
static void find_firsts(const pv_targets *t, size_t sets, size_t *first, unsigned char *seen) {
    for (size_t s = 0; s < sets; s++)
        first[s] = SIZE_MAX;
    for (size_t i = 0; i < t->n; i++) {
        size_t s = (size_t)t->set[i];
        seen[s] |= (unsigned char)(1 << (t->label[i] > 0));
        if (first[s] == SIZE_MAX)
            first[s] = i;
    }
    for (size_t s = 0; s < sets; s++)
        if (seen[s] != 3)
            first[s] = SIZE_MAX;
}

pv_status pv__estimable_find(pv_ctx *ctx, const pv__problem *problem, bool *estimable) {
    const pv_targets *t = &problem->targets;
    size_t P = pv_model_params(problem->model), slopes = P - 1, sets = 0, *first = NULL;
    double *row = NULL, *other;
    unsigned char *seen = NULL;
    for (size_t i = 0; i < t->n; i++)
        sets = (size_t)t->set[i] >= sets ? (size_t)t->set[i] + 1 : sets;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, sets, sizeof *first, &first));
    PV_GOTO(done, pv__alloc(ctx, sets, sizeof *seen, &seen));
    PV_GOTO(done, pv__alloc(ctx, (size_t)pv_model_inputs(problem->model), 2 * sizeof *row, &row));
    other = row + pv_model_inputs(problem->model);
    find_firsts(t, sets, first, seen);
    for (size_t p = 0; p < P; p++)
        estimable[p] = false;
    for (size_t i = 0; i < t->n; i++) {
        size_t at = first[t->set[i]];
        if (at == SIZE_MAX || at == i)
            continue;
        const double *x = pv__problem_row(problem, i, row), *z = pv__problem_row(problem, at, other);
        for (size_t j = 0; j < slopes; j++)
            estimable[1 + j] |= x[j] != z[j];
    }
done:
    pv__free(ctx, first);
    pv__free(ctx, seen);
    pv__free(ctx, row);
    return status;
}

static const char *name_of(const pv__problem *problem, size_t param) {
    return problem->feature ? problem->feature[param - 1 + problem->model->offset] : "?";
}

pv_status pv__inestimable_clear(pv_ctx *ctx, const pv__problem *problem, double *w, pv_posterior *posterior) {
    size_t P = pv_model_params(problem->model), first = 0, more = 0;
    bool *estimable;
    if (!pv_model_has_coefficients(problem->model)) /* the parameters of a network do not belong to columns */
        return PV_OK;
    PV_TRY(pv__alloc(ctx, P, sizeof *estimable, &estimable));
    pv_status status = pv__estimable_find(ctx, problem, estimable);
    for (size_t p = 1; status == PV_OK && p < P; p++) {
        if (estimable[p])
            continue;
        w[p] = 0;
        for (size_t i = 0; posterior && i < posterior->count; i++)
            posterior->draws[i * posterior->dims + p] = 0;
        if (first == 0)
            first = p;
        else
            more++;
    }
    if (first > 0 && more == 0)
        pv__log(ctx, PV_LOG_WARNING,
                "column '%s' is constant within every matched set: its odds ratio cannot be estimated. "
                "Leave the column out",
                name_of(problem, first));
    else if (first > 0)
        pv__log(ctx, PV_LOG_WARNING,
                "column '%s' is constant within every matched set, and so %s %zu more: their odds ratios cannot be "
                "estimated. Leave the columns out",
                name_of(problem, first), more == 1 ? "is" : "are", more);
    pv__free(ctx, estimable);
    return status;
}

/* A slope is inestimable if its value is 0 without a standard error, or with draws of no variance. */
bool pv__is_estimable(const pv_classifier *c, size_t param) {
    if (!pv_loss_is_relative(c->loss))
        return true;
    if (param == 0)
        return c->prevalence != NULL;
    for (size_t i = 0; c->posterior && i < c->posterior->count; i++)
        if (c->posterior->draws[i * c->posterior->dims + param] != 0)
            return true;
    return c->w[param] != 0 || (!c->posterior && !(c->standard_error && isnan(c->standard_error[param])));
}
