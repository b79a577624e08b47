/* Metrics by fold, and over all folds together.
 *
 * Every row is predicted by the model of its own fold, so marginals differ between rows. Metrics of log_p do not need
 * them. holdout_nll and information_gain need log p(y|x,w) - log p(y|w) of each row's own model, and are computed from
 * that difference and a marginal of 1. All metrics are reported for one population.
 */
#include "validate.h"
#include "predict/predict.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* ---- the struct -------------------------------------------------------------------------------------------------- */

/* The product, or on overflow SIZE_MAX, which no allocator can provide. */
static size_t times(size_t a, size_t b) {
    return b > 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b;
}

pv_status pv__validation_new(pv_ctx *ctx, const pv_dataset *data, size_t folds, size_t repeats, bool with_prevalence,
                             pv_validation **validation) {
    *validation = NULL;
    size_t classes = (size_t)data->classes, parts = times(folds, repeats), rows = times(repeats, data->rows);
    pv_validation *v;
    PV_TRY(pv__alloc(ctx, 1, sizeof *v, &v));
    v->data = data;
    v->folds = folds;
    v->repeats = repeats;
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, rows, sizeof *v->fold, &v->fold));
    PV_GOTO(fail, pv__alloc(ctx, times(rows, classes), sizeof *v->loglik, &v->loglik));
    PV_GOTO(fail, pv__alloc(ctx, times(rows, classes), sizeof *v->log_p, &v->log_p));
    PV_GOTO(fail, pv__alloc(ctx, times(parts, classes), sizeof *v->log_marginal, &v->log_marginal));
    if (with_prevalence)
        PV_GOTO(fail, pv__alloc(ctx, classes, sizeof *v->prevalence, &v->prevalence));
    PV_GOTO(fail, pv__alloc(ctx, parts, sizeof *v->stop, &v->stop));
    PV_GOTO(fail, pv__alloc(ctx, parts, sizeof *v->metrics, &v->metrics));
    PV_GOTO(fail, pv__alloc(ctx, classes, sizeof *v->population, &v->population));
    PV_GOTO(fail, pv__alloc(ctx, classes, sizeof *v->observed, &v->observed));
    PV_GOTO(fail, pv__alloc(ctx, repeats, sizeof *v->pooled, &v->pooled));
    PV_GOTO(fail, pv__alloc(ctx, repeats, sizeof *v->lo, &v->lo));
    PV_GOTO(fail, pv__alloc(ctx, repeats, sizeof *v->hi, &v->hi));
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
    pv__free(ctx, v->lo);
    pv__free(ctx, v->hi);
    pv__free(ctx, v->population);
    pv__free(ctx, v->stated);
    pv__free(ctx, v->observed);
    for (size_t i = 0; v->target && i < v->folds * v->repeats; i++)
        pv_unknown_prevalence_free(ctx, v->target[i]);
    pv__free(ctx, v->target);
    for (size_t i = 0; v->strata && i < v->folds * v->repeats; i++)
        pv__predicted_strata_free(ctx, v->strata[i]);
    pv__free(ctx, v->strata);
    pv__free(ctx, v->stratum_mass);
    pv__free(ctx, v);
}

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

/* Copies of the rows of one fold, or of all rows of a repeat. */
typedef struct part {
    int32_t *label, *stratum, *unit; /* stratum, unit NULL: none */
    double *frequency;               /* [n][classes] of soft labels; NULL: label */
    double *weight, *loglik, *gain, *log_p,
        *none; /* gain: log p(y|x) - log p(y) in the requested population; none: log 1, [classes] */
    size_t n;
} part;

static pv_status part_new(pv_ctx *ctx, const pv_dataset *data, part *p) {
    size_t classes = (size_t)data->classes;
    PV_TRY(pv__alloc(ctx, data->rows, sizeof *p->label, &p->label));
    if (data->stratum)
        PV_TRY(pv__alloc(ctx, data->rows, sizeof *p->stratum, &p->stratum));
    if (pv_dataset_targets(data).unit)
        PV_TRY(pv__alloc(ctx, data->rows, sizeof *p->unit, &p->unit));
    if (data->frequency)
        PV_TRY(pv__alloc(ctx, data->rows * classes, sizeof *p->frequency, &p->frequency));
    PV_TRY(pv__alloc(ctx, data->rows, sizeof *p->weight, &p->weight));
    PV_TRY(pv__alloc(ctx, data->rows * classes, sizeof *p->loglik, &p->loglik));
    PV_TRY(pv__alloc(ctx, data->rows * classes, sizeof *p->gain, &p->gain));
    PV_TRY(pv__alloc(ctx, data->rows * classes, sizeof *p->log_p, &p->log_p));
    return pv__alloc(ctx, classes, sizeof *p->none, &p->none);
}

static void part_free(pv_ctx *ctx, part *p) {
    pv__free(ctx, p->label);
    pv__free(ctx, p->stratum);
    pv__free(ctx, p->unit);
    pv__free(ctx, p->frequency);
    pv__free(ctx, p->weight);
    pv__free(ctx, p->loglik);
    pv__free(ctx, p->gain);
    pv__free(ctx, p->log_p);
    pv__free(ctx, p->none);
}

/* fold: v->folds means all. */
static void part_take(const pv_validation *v, size_t repeat, size_t fold, part *p) {
    size_t classes = (size_t)v->data->classes, rows = v->data->rows;
    p->n = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t own = (size_t)v->fold[repeat * rows + i];
        if (fold < v->folds && own != fold)
            continue;
        const double *loglik = v->loglik + (repeat * rows + i) * classes,
                     *marginal = v->log_marginal + (repeat * v->folds + own) * classes;
        p->label[p->n] = v->data->label[i];
        if (p->stratum)
            p->stratum[p->n] = v->data->stratum[i];
        if (p->unit)
            p->unit[p->n] = v->data->group[i];
        if (p->frequency)
            memcpy(p->frequency + p->n * classes, v->data->frequency + i * classes, classes * sizeof *p->frequency);
        p->weight[p->n] = v->data->weight ? v->data->weight[i] : 1;
        memcpy(p->loglik + p->n * classes, loglik, classes * sizeof *p->loglik);
        memcpy(p->log_p + p->n * classes, v->log_p + (repeat * rows + i) * classes, classes * sizeof *p->log_p);
        const double *log_p = p->log_p + p->n * classes;
        for (size_t y = 0; y < classes; y++)
            p->gain[p->n * classes + y] =
                v->elsewhere && v->population ? log_p[y] - log(v->population[y]) : loglik[y] - marginal[y];
        p->n++;
    }
}

/* The rows without weighting: the gain of each over the marginal of its own stratum, under the model of its own
 * fold. */
static pv_status take_strata(pv_ctx *ctx, const pv_validation *v, size_t repeat, size_t fold, part *p) {
    size_t k = (size_t)v->data->classes, rows = v->data->rows, n = 0;
    int strata = v->strata[0]->strata;
    double *none;
    if (p->frequency)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, (size_t)(strata + 1) * k, sizeof *none, &none));
    for (size_t i = 0; i < rows; i++) {
        size_t own = (size_t)v->fold[repeat * rows + i];
        if (fold < v->folds && own != fold)
            continue;
        const pv_predicted_strata *of = v->strata[repeat * v->folds + own];
        for (size_t y = 0; y < k && v->data->stratum[i] >= 0; y++) {
            size_t cell = (size_t)v->data->stratum[i] * k + y;
            p->gain[n * k + y] = v->elsewhere ? p->log_p[n * k + y] - log(of->prevalence[cell])
                                              : p->loglik[n * k + y] - of->log_marginal[cell];
        }
        n++;
    }
    pv_targets targets = {.n = p->n,
                          .classes = v->data->classes,
                          .label = p->label,
                          .weight = v->data->weight ? p->weight : NULL,
                          .stratum = p->stratum};
    pv_status status = pv__strata_gain(ctx, &targets, strata, none + k, none, p->gain);
    pv__free(ctx, none);
    return status;
}

static pv_status judge_part(pv_ctx *ctx, const pv_validation *v, const part *p, const pv_assess_options *options,
                            pv_assessment *found) {
    pv_targets targets = pv_dataset_targets(v->data);
    targets.n = p->n;
    targets.label = p->frequency ? NULL : p->label;
    targets.frequency = p->frequency;
    targets.weight = targets.weight ? p->weight : NULL;
    targets.set = NULL;
    targets.stratum = p->stratum;
    targets.unit = p->unit;
    targets.block = targets.block && !v->strata ? p->stratum : NULL; /* else strata of the population */
    pv_judged judged = {.log_p = p->log_p, .loglik = p->gain, .log_marginal = p->none};
    return pv_assess_intervals(ctx, &targets, &judged, options, found);
}

/* The options common to all parts of a validation. */
static pv_assess_options stated_options(const pv_validation *v, double level, uint64_t seed) {
    pv_assess_options options = {.prevalence = v->stated, .positive = -1, .level = level, .seed = seed};
    if (v->strata && v->stated) {
        options.stratum_mass = v->stratum_mass;
        options.strata = v->strata[0]->strata;
    }
    return options;
}

static pv_status judge_fold(pv_ctx *ctx, const pv_validation *v, size_t repeat, size_t fold,
                            const pv_assess_options *options, part *p, pv_assessment *found) {
    part_take(v, repeat, fold, p);
    if (v->strata && !v->stated)
        PV_TRY(take_strata(ctx, v, repeat, fold, p));
    return judge_part(ctx, v, p, options, found);
}

pv_status pv__validation_judge(pv_ctx *ctx, pv_validation *v, int64_t bootstrap, double level, uint64_t seed) {
    pv_assess_options options = stated_options(v, level, seed);
    pv_assessment found;
    part p = {0};
    pv_status status;
    v->level = level > 0 ? level : pv_assess_options_default().level;
    v->misleading = !v->stated && pv_shares_differ(v->data->classes, v->observed, v->population);
    PV_GOTO(done, part_new(ctx, v->data, &p));
    for (size_t r = 0; r < v->repeats; r++)
        for (size_t f = 0; f <= v->folds; f++) {
            bool pooled = f == v->folds;
            options.bootstrap = pooled ? bootstrap : 0;
            PV_GOTO(done, judge_fold(ctx, v, r, f, &options, &p, &found));
            *(pooled ? &v->pooled[r] : &v->metrics[r * v->folds + f]) = found.value;
            v->lo[r] = found.lo;
            v->hi[r] = found.hi;
            v->replicates = found.replicates;
            v->drawn = found.drawn;
            pv_assessment_clear(ctx, &found);
        }
done:
    part_free(ctx, &p);
    return status;
}

static void put(pv_metrics *metrics, const pv_metric_row *row, double value) {
    if (metrics)
        pv_metric_set(metrics, row, value);
}

/* Mean, sd and count of the values that are not NaN. With an infinite value the mean is infinite and the sd NaN. */
static size_t moments(const pv_metrics *metrics, size_t n, const pv_metric_row *row, double *mean, double *sd) {
    size_t count = 0;
    double sum = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
        double value = pv_metric_get(&metrics[i], row);
        if (isnan(value))
            continue;
        count++;
        sum += value;
    }
    *mean = count ? sum / (double)count : (double)NAN;
    for (size_t i = 0; i < n; i++) {
        double off = pv_metric_get(&metrics[i], row) - *mean;
        square += isnan(off) ? 0 : off * off;
    }
    *sd = count > 1 && isfinite(*mean) ? sqrt(square / (double)(count - 1)) : (double)NAN;
    if (*sd <= 8 * DBL_EPSILON * fabs(*mean))
        *sd = 0; /* equal values that were rounded differently */
    return count;
}

void pv_validation_summary(const pv_validation *v, pv_metrics *mean, pv_metrics *sd, pv_metrics *defined,
                           pv_metrics *pooled) {
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        double m, s;
        size_t count = moments(v->metrics, v->folds * v->repeats, row, &m, &s);
        put(mean, row, m);
        put(sd, row, s);
        put(defined, row, (double)count);
        moments(v->pooled, v->repeats, row, &m, &s);
        put(pooled, row, m);
    }
}

void pv_validation_interval(const pv_validation *v, pv_metrics *lo, pv_metrics *hi) {
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        double m, s;
        moments(v->lo, v->repeats, row, &m, &s);
        put(lo, row, m);
        moments(v->hi, v->repeats, row, &m, &s);
        put(hi, row, m);
    }
}

static bool same_population(const pv_validation *a, const pv_validation *b) {
    bool alike = a->data == b->data && a->repeats == b->repeats && !a->stated == !b->stated && !a->strata == !b->strata;
    for (int y = 0; alike && a->stated && y < a->data->classes; y++)
        alike = fabs(a->stated[y] - b->stated[y]) <= 1e-9;
    return alike;
}

pv_status pv_validation_compare(pv_ctx *ctx, const pv_validation *first, const pv_validation *other, int64_t bootstrap,
                                uint64_t seed, pv_assessment *difference, bool *comparable) {
    *difference = (pv_assessment){0};
    *comparable = same_population(first, other);
    if (!*comparable)
        return PV_OK;
    pv_assess_options options = stated_options(first, first->level, seed), others = stated_options(other, 0, seed);
    pv_assessment a = {0}, b = {0}, one = {0};
    part p = {0};
    double share = 1 / (double)first->repeats;
    pv_status status;
    options.bootstrap = others.bootstrap = bootstrap;
    others.level = first->level;
    options.keep = others.keep = true;
    PV_GOTO(done, part_new(ctx, first->data, &p));
    for (size_t r = 0; r < first->repeats; r++) {
        PV_GOTO(done, judge_fold(ctx, first, r, first->folds, &options, &p, &a));
        PV_GOTO(done, judge_fold(ctx, other, r, other->folds, &others, &p, &b));
        PV_GOTO(done, pv_assessment_compare(ctx, &a, &b, first->level, &one));
        for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
            pv_metrics *to[] = {&difference->value, &difference->lo, &difference->hi},
                       *of[] = {&one.value, &one.lo, &one.hi};
            for (int i = 0; i < 3; i++)
                pv_metric_set(to[i], row, pv_metric_get(to[i], row) + share * pv_metric_get(of[i], row));
        }
        difference->replicates = one.replicates;
        difference->drawn = one.drawn;
        pv_assessment_clear(ctx, &a);
        pv_assessment_clear(ctx, &b);
        pv_assessment_clear(ctx, &one);
    }
done:
    pv_assessment_clear(ctx, &a);
    pv_assessment_clear(ctx, &b);
    pv_assessment_clear(ctx, &one);
    part_free(ctx, &p);
    return status;
}
