/* Posterior predictive probabilities: the mean over draws of w of the probability in a population (section 7 of the
 * paper), and its central interval.
 *
 *   p(y|x) = 1/S sum_s p_pop(y|x,w_s),   with p(y|w_s) of each draw in the selection formula.
 *
 * Several populations can be computed at once: there is one forward pass for each row and draw.
 */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "data/data.h"
#include "predict/predict.h"

enum { ROWS = 32 };              /* rows processed together: their values over all draws stay in the cache */
static const double DEEP = -640; /* below this, exponentials could underflow in a mean */

typedef struct job {
    const pv_classifier *classifier;
    const pv_dataset *data;
    double level;
    const double *weight; /* [draws]; NULL: equal */
    pv__draws_output output[3];
    size_t outputs;
} job;

typedef struct worker {
    pv_model_work *work;
    double *loglik, *moved; /* [ROWS][classes] */
    double *scratch;        /* [2][classes] */
    double *values;         /* [outputs][ROWS][classes][draws] */
    size_t *order;          /* [draws]; NULL: no weights */
    double *x;              /* [ROWS][inputs], rows assembled from columns */
} worker;

/* Computes the logarithms of all draws, contiguous for each output, row and label. */
static void run_draws(const job *j, size_t begin, size_t rows, const double *x, worker *own) {
    const pv_classifier *c = j->classifier;
    size_t k = (size_t)c->schema->classes, draws = c->posterior->count, params = c->posterior->dims;
    for (size_t s = 0; s < draws; s++) {
        pv_model_forward(c->model, own->work, c->posterior->draws + s * params, rows, x, own->loglik);
        for (size_t o = 0; o < j->outputs; o++) {
            const pv__draws_output *out = &j->output[o];
            const double *log_p = own->loglik;
            double *values = own->values + o * ROWS * k * draws;
            if (out->given) {
                log_p = out->given + (s * j->data->rows + begin) * k;
            } else if (out->to.prevalence) {
                pv__target to = out->to;
                const double *log_marginal = to.strata > 1
                                                 ? c->stratified->draw_log_marginal + s * k * (size_t)to.strata
                                                 : c->draw_log_marginal + s * k;
                to.prevalence += s * out->stride;
                pv__adapt(&to, c->schema->classes, rows, j->data->stratum ? j->data->stratum + begin : NULL,
                          own->loglik, log_marginal, own->scratch, own->moved);
                log_p = own->moved;
            }
            for (size_t i = 0; i < rows * k; i++)
                values[i * draws + s] = log_p[i];
        }
    }
}

/* Summarises one row and label: values [draws] are logarithms and are overwritten. */
static void summarise(const job *j, const pv__draws_output *out, worker *own, double *values, size_t at) {
    size_t draws = j->classifier->posterior->count;
    double top = -HUGE_VAL, sum = 0, rest = 0;
    for (size_t s = 0; s < draws; s++)
        top = fmax(top, values[s]);
    bool deep = top < DEEP && !isinf(top);
    for (size_t s = 0; deep && s < draws; s++)
        rest += (j->weight ? j->weight[s] : 1 / (double)draws) * exp(values[s] - top);
    for (size_t s = 0; s < draws; s++) {
        values[s] = exp(values[s]);
        sum += j->weight ? j->weight[s] * values[s] : values[s];
    }
    double mean = j->weight ? fmin(sum, 1) : sum / (double)draws;
    if (out->p)
        out->p[at] = mean;
    if (out->log_p)
        out->log_p[at] = deep ? top + log(rest) : log(mean);
    if (!out->lo)
        return;
    if (j->weight) {
        pv__sort_by(draws, values, own->order);
        out->lo[at] = pv__weighted_quantile(draws, values, j->weight, own->order, 0.5 - 0.5 * j->level);
        out->hi[at] = pv__weighted_quantile(draws, values, j->weight, own->order, 0.5 + 0.5 * j->level);
    } else {
        out->lo[at] = pv_quantile(draws, values, 0.5 - 0.5 * j->level);
        out->hi[at] = pv_quantile(draws, values, 0.5 + 0.5 * j->level);
    }
}

static void run_rows(const job *j, size_t begin, size_t rows, worker *own) {
    const pv_classifier *c = j->classifier;
    size_t k = (size_t)c->schema->classes, draws = c->posterior->count;
    run_draws(j, begin, rows, pv_dataset_rows(NULL, j->data, begin, rows, own->x), own);
    for (size_t o = 0; o < j->outputs; o++)
        for (size_t i = 0; i < rows * k; i++)
            summarise(j, &j->output[o], own, own->values + (o * ROWS * k + i) * draws, begin * k + i);
}

static pv_status workers_new(pv_ctx *ctx, const job *j, int count, worker *workers) {
    const pv_classifier *c = j->classifier;
    size_t k = (size_t)c->schema->classes;
    for (int t = 0; t < count; t++) {
        PV_TRY(pv_model_work_new(ctx, c->model, ROWS, &workers[t].work));
        if (j->data->columns)
            PV_TRY(pv__alloc(ctx, ROWS, (size_t)pv_model_inputs(c->model) * sizeof(double), &workers[t].x));
        PV_TRY(pv__alloc(ctx, ROWS * k, sizeof(double), &workers[t].loglik));
        PV_TRY(pv__alloc(ctx, ROWS * k, sizeof(double), &workers[t].moved));
        PV_TRY(pv__alloc(ctx, 2 * k, sizeof(double), &workers[t].scratch));
        PV_TRY(pv__alloc(ctx, j->outputs * ROWS * k, c->posterior->count * sizeof(double), &workers[t].values));
        if (j->weight)
            PV_TRY(pv__alloc(ctx, c->posterior->count, sizeof *workers[t].order, &workers[t].order));
    }
    return PV_OK;
}

pv_status pv__predict_draws(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, double level,
                            const double *weight, const pv__draws_output *output, size_t outputs) {
    job j = {.classifier = c, .data = data, .level = level, .weight = weight};
    for (size_t o = 0; o < outputs; o++)
        if (output[o].p || output[o].log_p || output[o].lo)
            j.output[j.outputs++] = output[o];
    if (data->features != pv_model_inputs(c->model))
        return pv__fail(ctx, PV_ERR_USAGE, "the data have %d features, the model %d", data->features,
                        pv_model_inputs(c->model));
    bool done;
    PV_TRY(pv__predict_draws_aboard(ctx, c, data, level, weight, j.output, j.outputs, &done));
    if (done)
        return pv__columns_unchanged(ctx, data);
    size_t blocks = (data->rows + ROWS - 1) / ROWS;
    int threads = pv_ctx_threads(ctx);
    worker *workers;
    PV_TRY(pv__alloc(ctx, (size_t)threads, sizeof *workers, &workers));
    pv_status status = workers_new(ctx, &j, threads, workers);
    if (status == PV_OK) {
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static)
        for (int t = 0; t < threads; t++)
            for (size_t b = (size_t)t; b < blocks && !pv__interrupted(ctx); b += (size_t)threads)
                run_rows(&j, b * ROWS, data->rows - b * ROWS < ROWS ? data->rows - b * ROWS : ROWS, &workers[t]);
        if (pv__interrupted(ctx))
            status = pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request");
    }
    for (int t = 0; t < threads; t++) {
        pv_model_work_free(ctx, workers[t].work);
        pv__free(ctx, workers[t].x);
        pv__free(ctx, workers[t].loglik);
        pv__free(ctx, workers[t].moved);
        pv__free(ctx, workers[t].scratch);
        pv__free(ctx, workers[t].values);
        pv__free(ctx, workers[t].order);
    }
    pv__free(ctx, workers);
    return status == PV_OK ? pv__columns_unchanged(ctx, data) : status;
}
