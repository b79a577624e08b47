/* What is judged of a classifier, and metrics by fold and of all folds together.
 *
 * Pooled, every row is judged by the model of its own fold, so the marginals differ between rows. nell and all metrics
 * of log_p need none. holdout_nll and information_gain depend on log p(y|x,w) - log p(y|w) alone: these are computed
 * from that difference, beside a marginal of 1.
 */
#include "validate.h"

#include <math.h>
#include <string.h>

/* ---- predictions ------------------------------------------------------------------------------------------------- */

/* log of the probabilities in a population; with a posterior, of their mean over its draws. */
static pv_status predict_log(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data,
                             pv_target_population population, const double *prevalence, double *log_p) {
    if (!c->posterior) {
        PV_TRY(pv_predict_loglik(ctx, c, data, log_p));
        pv_predict_population(c, population, prevalence, data->rows, log_p, log_p);
        return PV_OK;
    }
    PV_TRY(pv_predict_posterior(ctx, c, data, population, prevalence, 0, log_p, NULL, NULL));
    for (size_t i = 0; i < data->rows * (size_t)c->classes; i++)
        log_p[i] = log(log_p[i]);
    return PV_OK;
}

static void mean_marginal(const pv_classifier *c, double *log_marginal) {
    size_t classes = (size_t)c->classes;
    if (c->loss == PV_LOSS_PLAIN) {
        for (size_t y = 0; y < classes; y++)
            log_marginal[y] = log(c->prevalence ? c->prevalence[y] : c->design[y]);
    } else if (!c->posterior) {
        memcpy(log_marginal, c->log_marginal, classes * sizeof *log_marginal);
    } else {
        for (size_t y = 0; y < classes; y++) {
            double sum = 0;
            for (size_t i = 0; i < c->posterior->count; i++)
                sum += exp(c->draw_log_marginal[i * classes + y]);
            log_marginal[y] = log(sum / (double)c->posterior->count);
        }
    }
}

/* The rows are the sample that the prevalence is inferred from. */
static pv_status predict_unknown(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data,
                                 const pv_target_options *options, double *log_p, pv_target_prevalence **found) {
    pv_target_options chosen = options ? *options : pv_target_options_default();
    pv_target_prevalence *inferred = NULL;
    double *p;
    PV_TRY(pv__alloc(ctx, data->rows * (size_t)c->classes, sizeof *p, &p));
    pv_status status = pv_predict_unknown(ctx, c, data, NULL, &chosen, p, log_p, NULL, NULL, &inferred);
    if (found)
        *found = inferred;
    else
        pv_target_prevalence_free(ctx, inferred);
    pv__free(ctx, p);
    return status;
}

pv_status pv_predict_judged(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                            pv_target_population population, const double *prevalence, double *loglik, double *log_p,
                            double *log_marginal, const pv_target_options *unknown, pv_target_prevalence **found) {
    if (found)
        *found = NULL;
    PV_TRY(predict_log(ctx, classifier, data, PV_POPULATION_TRUE, NULL, loglik));
    if (population == PV_POPULATION_TRUE)
        memcpy(log_p, loglik, data->rows * (size_t)classifier->classes * sizeof *log_p);
    else if (population == PV_POPULATION_UNKNOWN)
        PV_TRY(predict_unknown(ctx, classifier, data, unknown, log_p, found));
    else
        PV_TRY(predict_log(ctx, classifier, data, population, prevalence, log_p));
    mean_marginal(classifier, log_marginal);
    return PV_OK;
}

/* ---- the struct -------------------------------------------------------------------------------------------------- */

pv_status pv__validation_new(pv_ctx *ctx, const pv_dataset *data, size_t folds, size_t repeats, bool with_prevalence,
                             pv_validation **validation) {
    *validation = NULL;
    size_t classes = (size_t)data->classes, parts = folds * repeats;
    pv_validation *v;
    PV_TRY(pv__alloc(ctx, 1, sizeof *v, &v));
    v->data = data;
    v->folds = folds;
    v->repeats = repeats;
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, repeats * data->rows, sizeof *v->fold, &v->fold));
    PV_GOTO(fail, pv__alloc(ctx, repeats * data->rows * classes, sizeof *v->loglik, &v->loglik));
    PV_GOTO(fail, pv__alloc(ctx, repeats * data->rows * classes, sizeof *v->log_p, &v->log_p));
    PV_GOTO(fail, pv__alloc(ctx, parts * classes, sizeof *v->log_marginal, &v->log_marginal));
    if (with_prevalence)
        PV_GOTO(fail, pv__alloc(ctx, classes, sizeof *v->prevalence, &v->prevalence));
    PV_GOTO(fail, pv__alloc(ctx, parts, sizeof *v->stop, &v->stop));
    PV_GOTO(fail, pv__alloc(ctx, parts, sizeof *v->metrics, &v->metrics));
    PV_GOTO(fail, pv__alloc(ctx, repeats, sizeof *v->pooled, &v->pooled));
    *validation = v;
    return PV_OK;
fail:
    pv_validation_free(ctx, v);
    return status;
}

void pv_validation_free(pv_ctx *ctx, pv_validation *v) {
    if (!v)
        return;
    pv__free(ctx, v->fold);
    pv__free(ctx, v->loglik);
    pv__free(ctx, v->log_p);
    pv__free(ctx, v->log_marginal);
    pv__free(ctx, v->prevalence);
    pv__free(ctx, v->stop);
    pv__free(ctx, v->metrics);
    pv__free(ctx, v->pooled);
    pv__free(ctx, v);
}

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

/* The rows of one fold, side by side. */
typedef struct part {
    int32_t *label;
    double *frequency;                      /* [n][classes] of soft labels; NULL: label */
    double *weight, *loglik, *log_p, *none; /* none: log 1, [classes] */
    size_t n;
} part;

static pv_status part_new(pv_ctx *ctx, const pv_dataset *data, part *p) {
    size_t classes = (size_t)data->classes;
    PV_TRY(pv__alloc(ctx, data->rows, sizeof *p->label, &p->label));
    if (data->frequency)
        PV_TRY(pv__alloc(ctx, data->rows * classes, sizeof *p->frequency, &p->frequency));
    PV_TRY(pv__alloc(ctx, data->rows, sizeof *p->weight, &p->weight));
    PV_TRY(pv__alloc(ctx, data->rows * classes, sizeof *p->loglik, &p->loglik));
    PV_TRY(pv__alloc(ctx, data->rows * classes, sizeof *p->log_p, &p->log_p));
    return pv__alloc(ctx, classes, sizeof *p->none, &p->none);
}

static void part_free(pv_ctx *ctx, part *p) {
    pv__free(ctx, p->label);
    pv__free(ctx, p->frequency);
    pv__free(ctx, p->weight);
    pv__free(ctx, p->loglik);
    pv__free(ctx, p->log_p);
    pv__free(ctx, p->none);
}

static void part_take(const pv_validation *v, size_t repeat, size_t fold, part *p) {
    size_t classes = (size_t)v->data->classes, rows = v->data->rows;
    p->n = 0;
    for (size_t i = 0; i < rows; i++) {
        if ((size_t)v->fold[repeat * rows + i] != fold)
            continue;
        p->label[p->n] = v->data->label[i];
        if (p->frequency)
            memcpy(p->frequency + p->n * classes, v->data->frequency + i * classes, classes * sizeof *p->frequency);
        p->weight[p->n] = v->data->weight ? v->data->weight[i] : 1;
        memcpy(p->loglik + p->n * classes, v->loglik + (repeat * rows + i) * classes, classes * sizeof *p->loglik);
        memcpy(p->log_p + p->n * classes, v->log_p + (repeat * rows + i) * classes, classes * sizeof *p->log_p);
        p->n++;
    }
}

static pv_targets part_targets(const pv_validation *v, const part *p) {
    return (pv_targets){.n = p->n,
                        .classes = v->data->classes,
                        .label = p->frequency ? NULL : p->label,
                        .frequency = p->frequency,
                        .weight = v->data->weight ? p->weight : NULL};
}

static pv_status judge_pooled(pv_ctx *ctx, const pv_validation *v, size_t repeat, part *p, pv_metrics *pooled) {
    size_t classes = (size_t)v->data->classes, rows = v->data->rows, at = repeat * rows * classes;
    pv_targets targets = pv_dataset_targets(v->data);
    pv_metrics gains;
    PV_TRY(pv_assess(ctx, &targets, v->loglik + at, p->none, v->log_p + at, v->prevalence, pooled));
    for (size_t i = 0; i < rows; i++) {
        size_t fold = repeat * v->folds + (size_t)v->fold[repeat * rows + i];
        for (size_t y = 0; y < classes; y++)
            p->loglik[i * classes + y] = v->loglik[at + i * classes + y] - v->log_marginal[fold * classes + y];
    }
    PV_TRY(pv_assess(ctx, &targets, p->loglik, p->none, v->log_p + at, v->prevalence, &gains));
    pooled->holdout_nll = gains.holdout_nll;
    pooled->information_gain = gains.information_gain;
    return PV_OK;
}

pv_status pv__validation_judge(pv_ctx *ctx, pv_validation *v) {
    part p = {0};
    pv_status status;
    PV_GOTO(done, part_new(ctx, v->data, &p));
    for (size_t r = 0; r < v->repeats; r++) {
        for (size_t f = 0; f < v->folds; f++) {
            size_t at = r * v->folds + f;
            part_take(v, r, f, &p);
            pv_targets targets = part_targets(v, &p);
            PV_GOTO(done, pv_assess(ctx, &targets, p.loglik, v->log_marginal + at * (size_t)v->data->classes, p.log_p,
                                    v->prevalence, &v->metrics[at]));
        }
        PV_GOTO(done, judge_pooled(ctx, v, r, &p, &v->pooled[r]));
    }
done:
    part_free(ctx, &p);
    return status;
}

static double metric_at(const pv_metrics *metrics, size_t offset) {
    double value;
    memcpy(&value, (const char *)metrics + offset, sizeof value);
    return value;
}

static void metric_put(pv_metrics *metrics, size_t offset, double value) {
    if (metrics)
        memcpy((char *)metrics + offset, &value, sizeof value);
}

/* Mean, sd and count of the values that are numbers. An infinite one makes the mean so and leaves no sd. */
static size_t moments(const pv_metrics *metrics, size_t n, size_t offset, double *mean, double *sd) {
    size_t count = 0;
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
        double value = metric_at(&metrics[i], offset);
        if (isnan(value))
            continue;
        count++;
        sum += value;
    }
    *mean = count ? sum / (double)count : (double)NAN;
    for (size_t i = 0; i < n; i++) {
        double off = metric_at(&metrics[i], offset) - *mean;
        square += isnan(off) ? 0 : off * off;
    }
    *sd = count > 1 && isfinite(*mean) ? sqrt(square / (double)(count - 1)) : (double)NAN;
    return count;
}

void pv_validation_summary(const pv_validation *v, pv_metrics *mean, pv_metrics *sd, pv_metrics *defined,
                           pv_metrics *pooled) {
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        double m, s;
        size_t count = moments(v->metrics, v->folds * v->repeats, row->offset, &m, &s);
        metric_put(mean, row->offset, m);
        metric_put(sd, row->offset, s);
        metric_put(defined, row->offset, (double)count);
        moments(v->pooled, v->repeats, row->offset, &m, &s);
        metric_put(pooled, row->offset, m);
    }
}
