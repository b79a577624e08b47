/* Intervals of a linear model's risks, by the delta method on the logit scale.
 *
 *   logit p_y = eta_y - log sum_{l != y} exp eta_l,   d logit p_y / d eta_j = [j = y] - [j != y] p_j / (1 - p_y)
 *
 * has variance g^T (I (x) x~)^T V (I (x) x~) g, where V is the parameters' covariance and g are these derivatives with
 * respect to the logits j >= 1. Converting to another prevalence adds constants to the logits. Quantiles are Student's
 * t. If the prevalence has an error of its own, distances from the risk's logit are combined as root sums of squares on
 * either side (Zou and Donner 2008).
 */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "data/data.h"
#include "model/model.h"
#include "infer/infer.h"
#include "predict/predict.h"

typedef struct risks {
    const pv_classifier *c;
    size_t k;
    double quantile;
    bool more; /* lo and hi already hold intervals from another source of error */
} risks;

/* Distance from the risk to an end of an interval on the logit scale, at least 0. */
static double reach(double end, double logit, double sign) {
    return fmax(0, sign * (pv_logit(end) - logit));
}

/* One row: log_p and p [k], variance [k]; work space as for pv__logit_variances. */
static void one_row(const risks *r, const double *row, const double *log_p, const double *p, double *variance,
                    double *room, double *lo, double *hi) {
    pv__logit_variances(r->c, row, log_p, room, variance);
    for (size_t y = 0; y < r->k; y++) {
        double logit = log_p[y] - log(-expm1(log_p[y])), half = r->quantile * sqrt(variance[y]);
        bool sound = isfinite(logit) && isfinite(half); /* false if the risk rounds to 0 or 1 */
        double below = sound && r->more ? hypot(half, reach(lo[y], logit, -1)) : half;
        double above = sound && r->more ? hypot(half, reach(hi[y], logit, 1)) : half;
        lo[y] = fmin(p[y], sound ? pv_sigmoid(logit - below) : p[y]);
        hi[y] = fmax(p[y], sound ? pv_sigmoid(logit + above) : p[y]);
    }
}

pv_status pv__risk_intervals(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, double level, bool more,
                             const double *log_p, pv_prediction *made) {
    enum { CHUNK = 256 };
    size_t k = (size_t)c->schema->classes, P = pv_model_params(c->model), d = (size_t)pv_model_inputs(c->model);
    risks r = {.c = c, .k = k, .more = more};
    r.quantile = pv_student_quantile(c->spread_df, 0.5 + 0.5 * level);
    size_t chunks = (data->rows + CHUNK - 1) / CHUNK, room = P + (k - 1) * k + k, skip = d + 1 - P / (k - 1);
    int threads = pv__threads_for(ctx, chunks);
    double *block;
    PV_TRY(pv__alloc(ctx, (size_t)threads, (room + CHUNK * d) * sizeof *block, &block));
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static)
    for (int t = 0; t < threads; t++) {
        double *own = block + (size_t)t * (room + CHUNK * d);
        for (size_t at = (size_t)t * chunks / (size_t)threads; at < (size_t)(t + 1) * chunks / (size_t)threads; at++) {
            size_t begin = at * CHUNK, rows = data->rows - begin < CHUNK ? data->rows - begin : CHUNK;
            const double *x = pv_dataset_rows(ctx, data, begin, rows, own + room);
            for (size_t i = 0; i < rows; i++) {
                size_t n = (begin + i) * k;
                one_row(&r, x + i * d + skip, log_p + n, made->p + n, own, own + k, made->lo + n, made->hi + n);
            }
        }
    }
    pv__free(ctx, block);
    return PV_OK;
}
