/* Infers the prevalence of a target sample and the probabilities of its rows from one set of log-likelihoods.
 *
 *   p_n(y) = sum_j weight_j pi_jy r_n(y) / q_n(pi_j)     over points pi_j that represent the distribution of pi
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "predict/predict.h"

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* Rejects labels and weights for which sums would be invalid. */
static pv_status check_masses(pv_ctx *ctx, const pv_unknown_sample *sample) {
    double total = 0;
    for (size_t i = 0; i < sample->n; i++) {
        double weight = sample->weight ? sample->weight[i] : 1;
        if (sample->label && (sample->label[i] < -1 || sample->label[i] >= sample->classes))
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu: %d is not a label: 0 to %d, or -1 where it is unknown", i + 1,
                            (int)sample->label[i], sample->classes - 1);
        if (!pv_weight_sound(weight))
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu: a weight of %g; weights are 0, or from 1e-100 to 1e100", i + 1,
                            weight);
        total += weight;
    }
    if (!(total > 0))
        return pv__fail(ctx, PV_ERR_INPUT, "the weights of the rows add up to %g:\ngive some above 0", total);
    return PV_OK;
}

pv_status pv__unknown_check(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_unknown_options *options) {
    if (sample->classes < 2)
        return pv__fail(ctx, PV_ERR_USAGE, "a prevalence needs at least two classes, not %d", sample->classes);
    if (sample->n < 2)
        return pv__fail(ctx, PV_ERR_INPUT,
                        "%s: an unknown prevalence (`population=unknown`) is inferred from the rows together;\ngive "
                        "more rows of the population, or its prevalence",
                        sample->n == 1 ? "one row alone does not determine the prevalence of its population"
                                       : "there are no rows");
    if (!(options->level > 0 && options->level < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "an interval's level must lie between 0 and 1, not %g", options->level);
    if (options->method == PV_UNKNOWN_BBSE && !options->confusion)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "bbse needs the confusion matrix of the decisions, which the target rows do not provide:\ngive "
                        "labelled rows with `labelled-sample`, or use `method=exact`");
    return check_masses(ctx, sample);
}

pv_status pv__unknown_new(pv_ctx *ctx, int classes, const pv_unknown_options *options,
                          pv_unknown_prevalence **prevalence) {
    size_t k = (size_t)classes;
    pv_unknown_prevalence *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->classes = classes;
    made->method = (pv_unknown_method)options->method;
    made->level = options->level;
    made->effective = made->movement = (double)NAN;
    made->unlabelled = 1;
    made->check = (pv_shift_check){.column = -1, .p = (double)NAN, .column_p = (double)NAN, .both = (double)NAN};
    pv_status status = pv__alloc(ctx, 4 * k, sizeof(double), &made->value);
    if (status != PV_OK) {
        pv__free(ctx, made);
        return status;
    }
    made->lo = made->value + k;
    made->hi = made->lo + k;
    made->sd = made->hi + k;
    for (size_t y = 0; y < k; y++)
        made->lo[y] = made->hi[y] = made->sd[y] = (double)NAN;
    *prevalence = made;
    return PV_OK;
}

void pv_unknown_prevalence_free(pv_ctx *ctx, pv_unknown_prevalence *prevalence) {
    if (!prevalence)
        return;
    pv__free(ctx, prevalence->value);
    pv__free(ctx, prevalence->pi);
    pv__free(ctx, prevalence->weight);
    pv__free(ctx, prevalence->plugin);
    pv__free(ctx, prevalence->reading);
    pv__free(ctx, prevalence->curve.score);
    pv__free(ctx, prevalence);
}

/* ---- distribution of pi ------------------------------------------------------------------------------------------ */

/* The quadrature's points for averages: every second one, because the last halving was needed only for quantiles.
 * Points of negligible weight are left out. */
static pv_status pair_points(pv_ctx *ctx, const pv__pair *pair, pv__points *points) {
    *points = (pv__points){.classes = 2};
    double sum = 0, most = 0;
    for (size_t j = 0; j < pair->count; j += 2)
        most = fmax(most, pair->weight[j]);
    pv_status status;
    PV_GOTO(failed, pv__alloc(ctx, pair->count, 2 * sizeof(double), &points->pi));
    PV_GOTO(failed, pv__alloc(ctx, pair->count, sizeof(double), &points->weight));
    for (size_t j = 0; j < pair->count; j += 2)
        if (pair->weight[j] > 1e-17 * most) {
            memcpy(points->pi + 2 * points->count, pair->pi + 2 * j, 2 * sizeof(double));
            sum += points->weight[points->count++] = pair->weight[j];
        }
    for (size_t j = 0; j < points->count; j++)
        points->weight[j] /= sum;
    return PV_OK;
failed:
    pv__points_clear(ctx, points);
    return status;
}

pv_status pv__points_interval(pv_ctx *ctx, const pv__points *points, pv_unknown_prevalence *out) {
    double tail = 0.5 - 0.5 * out->level;
    size_t *order;
    double *value;
    PV_TRY(pv__alloc(ctx, points->count, sizeof *order + sizeof *value, &order));
    value = (double *)(void *)(order + points->count);
    for (size_t y = 0; y < points->classes; y++) {
        for (size_t j = 0; j < points->count; j++)
            value[j] = points->pi[j * points->classes + y];
        pv__sort_by(points->count, value, order);
        out->lo[y] = pv__weighted_quantile(points->count, value, points->weight, order, tail);
        out->hi[y] = pv__weighted_quantile(points->count, value, points->weight, order, 1 - tail);
    }
    pv__free(ctx, order);
    return PV_OK;
}

static pv_status exact_interval(pv_ctx *ctx, const pv__solver *s, const pv__points *points,
                                pv_unknown_prevalence *out) {
    double tail = 0.5 - 0.5 * out->level;
    if (s->classes == 2) {
        double z[2] = {pv__pair_quantile(&s->pair, tail), pv__pair_quantile(&s->pair, 1 - tail)};
        out->lo[0] = pv_sigmoid(-z[1]);
        out->lo[1] = pv_sigmoid(z[0]);
        out->hi[0] = pv_sigmoid(-z[0]);
        out->hi[1] = pv_sigmoid(z[1]);
        return PV_OK;
    }
    return pv__points_interval(ctx, points, out);
}

static pv_status describe_exact(pv_ctx *ctx, pv__solver *s, pv__mixture *m, pv__points *points,
                                pv_unknown_prevalence *out) {
    size_t k = (size_t)s->classes;
    if (s->classes == 2) {
        PV_TRY(pair_points(ctx, &s->pair, points));
    } else {
        PV_TRY(pv__many_draws(ctx, m, s->posterior, &s->many, s->options->draws, s->options->seed, points,
                              &out->effective));
        pv__points_moments(points, s->value, s->sd);
        out->iterations = s->many.passes;
        if (s->many.diverged)
            out->stop = PV_STOP_DIVERGED;
        if (s->flat)
            out->movement = pv__points_movement(points, s->value, s->sd, &out->swayed);
        for (size_t y = 0; y < k; y++)
            out->error = fmax(out->error, s->sd[y] / sqrt(out->effective));
    }
    memcpy(out->value, s->value, k * sizeof *out->value);
    memcpy(out->sd, s->sd, k * sizeof *out->sd);
    return exact_interval(ctx, s, points, out);
}

/* Draws of the variational Dirichlet; with two classes its quantiles are known in closed form instead. */
static pv_status describe_vb(pv_ctx *ctx, const pv__solver *s, pv__points *points, pv_unknown_prevalence *out) {
    size_t k = (size_t)s->classes;
    double tail = 0.5 - 0.5 * out->level, total = 0;
    for (size_t y = 0; y < k; y++)
        total += s->posterior[y];
    for (size_t y = 0; y < k; y++) {
        out->lo[y] = pv_beta_quantile(s->posterior[y], total - s->posterior[y], tail);
        out->hi[y] = pv_beta_quantile(s->posterior[y], total - s->posterior[y], 1 - tail);
    }
    memcpy(out->sd, s->sd, k * sizeof *out->sd);
    if (k == 2)
        return pv__points_one(ctx, k, s->plugin, points);
    points->classes = k;
    points->count = (size_t)s->options->draws;
    PV_TRY(pv__alloc(ctx, points->count * k, sizeof(double), &points->pi));
    PV_TRY(pv__alloc(ctx, points->count, sizeof(double), &points->weight));
    for (size_t j = 0; j < points->count; j++) {
        double *pi = points->pi + j * k, sum = 0;
        points->weight[j] = 1 / (double)points->count;
        pv_rng rng = pv_rng_stream((uint64_t)s->options->seed, PV_STREAM_TARGET_DIRICHLET, j);
        for (size_t y = 0; y < k; y++)
            sum += pi[y] = fmax(pv_rng_gamma(&rng, s->posterior[y]), 1e-300);
        for (size_t y = 0; y < k; y++)
            pi[y] /= sum;
    }
    return PV_OK;
}

static pv_status describe(pv_ctx *ctx, pv__solver *s, pv__mixture *m, pv_unknown_prevalence *out) {
    size_t k = (size_t)s->classes;
    pv__points points = {0};
    pv_status status = PV_OK;
    out->iterations = s->iterations;
    out->stop = s->stop;
    out->worth = s->worth;
    out->weak = s->worth < 10;
    out->movement = s->movement;
    out->swayed = s->swayed;
    memcpy(out->value, s->value, k * sizeof *out->value);
    if (s->fixed) {
        memcpy(out->lo, s->value, k * sizeof *out->lo);
        memcpy(out->hi, s->value, k * sizeof *out->hi);
        memcpy(out->sd, s->sd, k * sizeof *out->sd);
        PV_GOTO(done, pv__points_one(ctx, k, s->value, &points));
    } else if (s->options->method == PV_UNKNOWN_EXACT) {
        PV_GOTO(done, describe_exact(ctx, s, m, &points, out));
    } else {
        PV_GOTO(done, pv__alloc(ctx, k, sizeof(double), &out->plugin));
        memcpy(out->plugin, s->plugin, k * sizeof *out->plugin);
        if (s->options->method == PV_UNKNOWN_VB)
            PV_GOTO(done, describe_vb(ctx, s, &points, out));
        else
            PV_GOTO(done, pv__points_one(ctx, k, s->plugin, &points));
    }
done:
    out->points = points.count; /* freed with out, also on failure */
    out->pi = points.pi;
    out->weight = points.weight;
    return status;
}

void pv__marginal_of(int classes, const pv_unknown_sample *sample, double *marginal) {
    if (sample->true_marginal) {
        memcpy(marginal, sample->true_marginal, (size_t)classes * sizeof *marginal);
        return;
    }
    pv_log_softmax(classes, sample->log_marginal, marginal);
    for (int y = 0; y < classes; y++)
        marginal[y] = exp(marginal[y]);
}

/* ---- with reference rows ----------------------------------------------------------------------------------------- */

bool pv__flat_prior(const pv__solver *s) {
    return s->prior.kind == PV__DIRICHLET_EQUAL && s->prior.k == 1;
}

/* The distribution that represents pi in predictions; it is also the result if the prior is not flat. */
static pv_status describe_bins(pv_ctx *ctx, const pv__counts *c, pv__solver *s, double scale,
                               pv_unknown_prevalence *out) {
    pv__points points;
    double flat[2] = {1 + c->told[0], 1 + c->told[1]}, value[2], sd[2], tail = 0.5 - 0.5 * out->level;
    PV_TRY(pv__bins_posterior(ctx, c, flat, scale, &s->pair));
    points = (pv__points){s->pair.count, 2, s->pair.pi, s->pair.weight};
    pv__points_moments(&points, value, sd);
    out->worth = pv__worth(2, value, sd);
    out->weak = out->worth < 10;
    memcpy(out->sd, sd, sizeof sd);
    if (pv__flat_prior(s)) {
        out->movement = pv__points_movement(&points, value, sd, &out->swayed);
    } else {
        PV_TRY(pv__bins_posterior(ctx, c, s->posterior, scale, &s->pair));
        points = (pv__points){s->pair.count, 2, s->pair.pi, s->pair.weight};
        pv__points_moments(&points, out->value, out->sd);
        double move = fabs(out->value[1] - value[1]);
        out->movement = move / fmax(sd[1], 1e-300);
        out->swayed = move > sd[1] && move > 0.05;
        out->lo[1] = pv_sigmoid(pv__pair_quantile(&s->pair, tail));
        out->hi[1] = pv_sigmoid(pv__pair_quantile(&s->pair, 1 - tail));
    }
    PV_TRY(pv__alloc(ctx, s->pair.count, 2 * sizeof(double), &out->pi));
    PV_TRY(pv__alloc(ctx, s->pair.count, sizeof(double), &out->weight));
    for (size_t j = 0; j < s->pair.count; j++)
        if (s->pair.weight[j] > 1e-12) {
            memcpy(out->pi + 2 * out->points, s->pair.pi + 2 * j, 2 * sizeof(double));
            out->weight[out->points++] = s->pair.weight[j];
        }
    double sum = 0;
    for (size_t j = 0; j < out->points; j++)
        sum += out->weight[j];
    for (size_t j = 0; j < out->points; j++)
        out->weight[j] /= sum;
    return PV_OK;
}

static pv_status infer_bins(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_unknown_options *options,
                            pv__solver *s, pv_unknown_prevalence *out) {
    pv__bins bins;
    pv__bins_fit mode;
    double ends[2], scale;
    pv_reading reading;
    PV_TRY(pv__bins_new(ctx, sample, options, &bins));
    pv__bins_mode(&bins.counts, &mode);
    PV_TRY(pv__bins_interval(ctx, &bins.counts, out->level, options->seed, ends, &scale));
    double half = 0.5 / (bins.counts.targets + 1); /* half a row: no population has prevalence 0 */
    out->value[1] = fmin(fmax(mode.pi, half), 1 - half);
    out->lo[1] = ends[0];
    out->hi[1] = ends[1];
    out->calibrated = true;
    out->stop = PV_STOP_CONVERGED;
    PV_TRY(describe_bins(ctx, &bins.counts, s, scale, out));
    out->iterations = (int64_t)s->pair.count;
    out->value[0] = 1 - out->value[1];
    out->lo[0] = 1 - out->hi[1];
    out->hi[0] = 1 - out->lo[1];
    PV_TRY(pv__shift_test(ctx, &bins, options->seed, out));
    pv__shift_together(&out->check);
    if (!pv__reading_of(options->reference, &reading))
        return PV_OK;
    PV_TRY(pv__alloc(ctx, 1, sizeof *out->reading, &out->reading));
    *out->reading = reading;
    return PV_OK;
}

pv_status pv__unknown_is_calibrated(pv_ctx *ctx, char *const *labels, int classes, const pv_unknown_options *options,
                                    bool *calibrated) {
    pv__dirichlet prior = {0};
    *calibrated = options->reference && options->method == PV_UNKNOWN_BINS &&
                  (options->reference->cells ? options->reference->cells->classes : 2) == classes;
    if (!*calibrated)
        return PV_OK;
    pv_status status = pv__dirichlet_parse(ctx, options->dirichlet, labels, classes, &prior);
    *calibrated = status == PV_OK && !(isinf(prior.k) && prior.kind != PV__DIRICHLET_COUNTS);
    pv__free(ctx, prior.counts);
    return status;
}

pv_status pv_unknown_infer(pv_ctx *ctx, const pv_unknown_sample *sample, char *const *labels,
                           const pv_unknown_options *options, pv_unknown_prevalence **prevalence) {
    *prevalence = NULL;
    bool calibrated;
    PV_TRY(pv__unknown_check(ctx, sample, options));
    PV_TRY(pv__unknown_is_calibrated(ctx, labels, sample->classes, options, &calibrated));
    /* A row that is NaN, or that rules out every label, would spoil the results for the others. */
    PV_TRY(pv__gate_pass(ctx, PV__GATE_LOG, sample->n, sample->classes, sample->loglik));
    pv__mixture mixture = {0};
    pv__solver solver = {0};
    pv_unknown_prevalence *made = NULL;
    double *marginal = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, (size_t)sample->classes, sizeof *marginal, &marginal));
    pv__marginal_of(sample->classes, sample, marginal);
    PV_GOTO(done, pv__mixture_init(ctx, sample, true, &mixture));
    calibrated = calibrated && mixture.total > 0;
    const pv_unknown_options how = pv__unknown_resolve(options, calibrated);
    PV_GOTO(done, pv__solver_init(ctx, &how, labels, sample->classes, &solver));
    PV_GOTO(done, pv__unknown_new(ctx, sample->classes, &how, &made));
    made->unlabelled = mixture.total;
    if (calibrated) {
        pv__dirichlet_set(&solver.prior, sample->classes, marginal, solver.alpha);
        for (int y = 0; y < sample->classes; y++)
            solver.posterior[y] = solver.alpha[y] + mixture.known[y];
        PV_GOTO(done, how.reference->cells ? pv__infer_cells(ctx, sample, &how, &solver, made)
                                           : infer_bins(ctx, sample, &how, &solver, made));
    } else {
        PV_GOTO(done, pv__solver_run(ctx, &solver, &mixture, marginal, sample->log_marginal));
        PV_GOTO(done, describe(ctx, &solver, &mixture, made));
    }
    if (made->stop == PV_STOP_INTERRUPTED)
        PV_GOTO(done, pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request"));
    *prevalence = made;
    made = NULL;
done:
    pv_unknown_prevalence_free(ctx, made);
    pv__mixture_clear(ctx, &mixture);
    pv__solver_clear(ctx, &solver);
    pv__free(ctx, marginal);
    return status;
}

/* ---- predictions for rows ---------------------------------------------------------------------------------------- */

enum { ROWS = 512 };

typedef struct row_work {
    double *r, *log_r, *sum; /* [classes][ROWS] */
    double *value;           /* [points] */
    size_t *order;           /* [points] */
} row_work;

typedef struct row_job {
    const pv_unknown_sample *sample;
    const pv_unknown_prevalence *prevalence;
    double *p, *log_p, *lo, *hi;
} row_job;

static void mean_rows(const row_job *job, size_t begin, size_t rows, row_work *own) {
    const pv_unknown_prevalence *t = job->prevalence;
    size_t k = (size_t)t->classes;
    const double one = 1;
    pv__mixture_kernels_get()->average(rows, t->classes, ROWS, own->r, t->plugin ? 1 : t->points,
                                       t->plugin ? t->plugin : t->pi, t->plugin ? &one : t->weight, own->sum);
    for (size_t i = 0; i < rows; i++) {
        double total = 0; /* equals 1 up to rounding; no probability may exceed 1 */
        for (size_t y = 0; y < k; y++)
            total += own->r[y * ROWS + i] * own->sum[y * ROWS + i];
        for (size_t y = 0; y < k; y++) {
            size_t at = (begin + i) * k + y;
            if (job->p)
                job->p[at] = own->r[y * ROWS + i] * own->sum[y * ROWS + i] / total;
            if (job->log_p)
                job->log_p[at] = own->log_r[y * ROWS + i] + log(own->sum[y * ROWS + i] / total);
        }
    }
}

/* Two classes: a probability increases with its label's pi, so its interval ends are at those of pi. */
static void pair_intervals(const row_job *job, size_t begin, size_t rows, row_work *own) {
    const pv_unknown_prevalence *t = job->prevalence;
    const double ends[2][2] = {{t->hi[0], t->lo[1]}, {t->lo[0], t->hi[1]}}, one = 1;
    for (size_t end = 0; end < 2; end++) {
        pv__mixture_kernels_get()->average(rows, 2, ROWS, own->r, 1, ends[end], &one, own->sum);
        for (size_t i = 0; i < rows; i++) {
            double p0 = own->r[i] * own->sum[i], p1 = own->r[ROWS + i] * own->sum[ROWS + i];
            size_t at = 2 * (begin + i);
            (end ? job->lo : job->hi)[at] = p0 / (p0 + p1);
            (end ? job->hi : job->lo)[at + 1] = p1 / (p0 + p1);
        }
    }
}

static void many_intervals(const row_job *job, size_t begin, size_t rows, row_work *own) {
    const pv_unknown_prevalence *t = job->prevalence;
    size_t k = (size_t)t->classes;
    double tail = 0.5 - 0.5 * t->level;
    for (size_t i = 0; i < rows; i++)
        for (size_t y = 0; y < k; y++) {
            for (size_t j = 0; j < t->points; j++) {
                double q = 0;
                for (size_t x = 0; x < k; x++)
                    q += t->pi[j * k + x] * own->r[x * ROWS + i];
                own->value[j] = t->pi[j * k + y] * own->r[y * ROWS + i] / q;
            }
            pv__sort_by(t->points, own->value, own->order);
            job->lo[(begin + i) * k + y] = pv__weighted_quantile(t->points, own->value, t->weight, own->order, tail);
            job->hi[(begin + i) * k + y] =
                pv__weighted_quantile(t->points, own->value, t->weight, own->order, 1 - tail);
        }
}

/* Ratios calibrated by reference rows: means over the points, and intervals around the prediction at the mean
 * prevalence, which combine the interval of pi and the ratio's own error as root sums of squares (Zou and Donner
 * 2008). */
static void read_rows(const row_job *job, size_t begin, size_t rows, const double *logit) {
    const pv_unknown_prevalence *t = job->prevalence;
    const pv_reading *read = t->reading;
    double z = pv_normal_quantile(0.5 + 0.5 * t->level), mean = 0;
    for (size_t j = 0; j < t->points; j++)
        mean += t->weight[j] * t->pi[2 * j + 1];
    const double centre = pv_logit(mean), below = centre - pv_logit(t->lo[1]), above = pv_logit(t->hi[1]) - centre;
    for (size_t i = begin; i < begin + rows; i++) {
        double s = pv__score_of(job->sample, i), p0 = 0, p1 = 0;
        for (size_t j = 0; j < t->points; j++) {
            double at = logit[j] + read->slope * s;
            p1 += t->weight[j] * pv_sigmoid(at);
            p0 += t->weight[j] * pv_sigmoid(-at);
        }
        double p[2] = {p0 / (p0 + p1), p1 / (p0 + p1)};
        for (size_t y = 0; y < 2; y++) {
            if (job->p)
                job->p[2 * i + y] = p[y];
            if (job->log_p)
                job->log_p[2 * i + y] = log(p[y]);
        }
        if (!job->lo)
            continue;
        double at = centre + read->shift + read->slope * s, half = z * pv__reading_error(read, s);
        job->lo[2 * i + 1] = fmin(p[1], pv_sigmoid(at - hypot(below, half)));
        job->hi[2 * i + 1] = fmax(p[1], pv_sigmoid(at + hypot(above, half)));
        job->lo[2 * i] = 1 - job->hi[2 * i + 1];
        job->hi[2 * i] = 1 - job->lo[2 * i + 1];
    }
}

static void run_rows(const row_job *job, size_t begin, size_t rows, row_work *own) {
    size_t k = (size_t)job->prevalence->classes;
    if (job->prevalence->reading) {
        read_rows(job, begin, rows, own->value);
        return;
    }
    pv__mixture_kernels_get()->ratios(rows, (int)k, job->sample->loglik + begin * k, job->sample->log_marginal, ROWS,
                                      own->r, own->log_r);
    if (job->p || job->log_p)
        mean_rows(job, begin, rows, own);
    if (job->lo && k == 2)
        pair_intervals(job, begin, rows, own);
    else if (job->lo)
        many_intervals(job, begin, rows, own);
}

static pv_status work_new(pv_ctx *ctx, const pv_unknown_prevalence *t, row_work *own) {
    size_t k = (size_t)t->classes;
    PV_TRY(pv__alloc(ctx, 3 * k * ROWS, sizeof(double), &own->r));
    own->log_r = own->r + k * ROWS;
    own->sum = own->log_r + k * ROWS;
    PV_TRY(pv__alloc(ctx, t->points, sizeof *own->value, &own->value));
    for (size_t j = 0; t->reading && j < t->points; j++)
        own->value[j] = pv_logit(t->pi[2 * j + 1]) + t->reading->shift;
    return pv__alloc(ctx, t->points, sizeof *own->order, &own->order);
}

pv_status pv_unknown_predict(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_unknown_prevalence *prevalence,
                             double *p, double *log_p, double *lo, double *hi) {
    if (lo && isnan(prevalence->lo[0]))
        return pv__fail(ctx, PV_ERR_USAGE, "`method=%s` gives an estimate without an interval:\nuse exact or bins",
                        pv_unknown_method_name(prevalence->method));
    row_job job = {.sample = sample, .prevalence = prevalence};
    job.p = p;
    job.log_p = log_p;
    job.lo = lo;
    job.hi = hi;
    size_t blocks = (sample->n + ROWS - 1) / ROWS;
    int threads = pv_ctx_threads(ctx);
    row_work *work;
    PV_TRY(pv__alloc(ctx, (size_t)threads, sizeof *work, &work));
    pv_status status = PV_OK;
    for (int t = 0; t < threads && status == PV_OK; t++)
        status = work_new(ctx, prevalence, &work[t]);
    if (status == PV_OK) {
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static)
        for (int t = 0; t < threads; t++)
            for (size_t b = (size_t)t; b < blocks && !pv__interrupted(ctx); b += (size_t)threads)
                run_rows(&job, b * ROWS, sample->n - b * ROWS < ROWS ? sample->n - b * ROWS : ROWS, &work[t]);
        if (pv__interrupted(ctx))
            status = pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request");
    }
    for (int t = 0; t < threads; t++) {
        pv__free(ctx, work[t].r);
        pv__free(ctx, work[t].value);
        pv__free(ctx, work[t].order);
    }
    pv__free(ctx, work);
    PV_TRY(status);
    PV_TRY(pv__gate_pass(ctx, PV__GATE_SHARES, sample->n, sample->classes, p));
    PV_TRY(pv__gate_pass(ctx, PV__GATE_LOG, sample->n, sample->classes, log_p));
    PV_TRY(pv__gate_pass(ctx, PV__GATE_BOUNDS, sample->n, sample->classes, lo));
    return pv__gate_pass(ctx, PV__GATE_BOUNDS, sample->n, sample->classes, hi);
}

/* ---- confusion matrix of bbse ------------------------------------------------------------------------------------ */

pv_status pv_confusion(pv_ctx *ctx, const pv_unknown_sample *sample, char *const *labels, double *confusion) {
    size_t k = (size_t)sample->classes;
    double *mass;
    PV_TRY(check_masses(ctx, sample));
    PV_TRY(pv__gate_pass(ctx, PV__GATE_LOG, sample->n, sample->classes, sample->loglik));
    PV_TRY(pv__alloc(ctx, k, sizeof *mass, &mass));
    memset(confusion, 0, k * k * sizeof *confusion);
    for (size_t i = 0; i < sample->n; i++) {
        const double *l = sample->loglik + i * k;
        double weight = sample->weight ? sample->weight[i] : 1;
        size_t best = 0;
        for (size_t y = 1; y < k; y++)
            if (l[y] - sample->log_marginal[y] > l[best] - sample->log_marginal[best])
                best = y;
        for (size_t y = 0; y < k; y++) {
            double share = sample->label ? weight * (sample->label[i] == (int32_t)y) : weight * exp(l[y]);
            confusion[best * k + y] += share;
            mass[y] += share;
        }
    }
    pv_status status = PV_OK;
    for (size_t y = 0; y < k && status == PV_OK; y++) {
        if (!(mass[y] > 0))
            status =
                pv__fail(ctx, PV_ERR_INPUT,
                         "bbse: the source rows have no row with label '%s';\ngive some of each with `labelled-sample`",
                         pv__show(labels[y]).text);
        for (size_t i = 0; i < k; i++)
            confusion[i * k + y] /= mass[y];
    }
    pv__free(ctx, mass);
    return status;
}
