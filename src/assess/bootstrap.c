/* Intervals by the bootstrap. Each replicate draws units (design/unit_draws.c): as many rows of each label as there
 * are, so that label proportions are those of the design, or clusters, matched sets and rows with sampling weights. If
 * metrics are reported for strata of the population, proportions of labels within strata stay as well. Nothing is
 * sorted again: a replicate is a new mass for each cell, and its metrics are computed from tallies and ladders like
 * those of all rows.
 *
 * Replicate r has its own random stream, so the number of threads does not matter. An interval requires a defined value
 * and at least half of the replicates defined, is computed from these, and is left out if they all agree.
 *
 * No replicate can contain a decision that no row of a label received, so a rate of 0 would seem certain. Therefore
 * such decisions share one draw of Gamma(1/2) rows in each replicate, the posterior of a Poisson mean after a count of
 * 0 with Jeffreys' prior.
 */
#include "assess.h"
#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/reduce.h"
#include "core/vector.h"

enum {
    REPLICATES = 1000,
    REPLICATES_LEAST = 100,
};

static const double WORK = 5e7; /* cells drawn in total, if the number of replicates is chosen automatically */

/* ---- a replicate ------------------------------------------------------------------------------------------------- */

typedef struct worker {
    double *drawn;   /* [cells], factors of their masses, and scratch */
    double **mass;   /* [ladders][points][channels] */
    double *scratch; /* [2 classes] */
    pv__tally tally;
} worker;

static pv_status worker_new(pv_ctx *ctx, int classes, const pv__unit_draws *draws, const pv__cells *cells,
                            const pv__ladder *ladders, worker *made) {
    PV_TRY(pv__alloc(ctx, pv__unit_draws_room(draws), sizeof *made->drawn, &made->drawn));
    PV_TRY(pv__alloc(ctx, 2 * (size_t)classes, sizeof *made->scratch, &made->scratch));
    PV_TRY(pv__alloc(ctx, (size_t)cells->ladders, sizeof *made->mass, &made->mass));
    for (int l = 0; l < cells->ladders; l++)
        PV_TRY(pv__alloc(ctx, ladders[l].points * (size_t)ladders[l].channels, sizeof(double), &made->mass[l]));
    return pv__tally_new(ctx, classes, &made->tally);
}

static void worker_clear(pv_ctx *ctx, int ladders, worker *made) {
    for (int l = 0; made->mass && l < ladders; l++)
        pv__free(ctx, made->mass[l]);
    pv__free(ctx, made->mass);
    pv__free(ctx, made->drawn);
    pv__free(ctx, made->scratch);
    pv__tally_clear(ctx, &made->tally);
}

/* Sums of the cells with their new masses. log_loss and its squares are about the mean of all rows, as in the label's
 * cells.
 */
static void tally_cells(const pv__tally *all, const pv__cells *cells, const double *drawn, pv__tally *tally) {
    size_t classes = (size_t)tally->classes;
    pv__tally_zero(tally);
    for (size_t i = 0; i < cells->count; i++) {
        const pv__cell *cell = &cells->cell[i];
        double times = drawn[i];
        size_t y = (size_t)cell->y;
        if (times == 0)
            continue;
        tally->mass[y] += times * cell->rows;
        tally->log_loss_mean[y] += times * cell->log_loss;
        tally->log_loss_square[y] += times * cell->log_loss_square;
        tally->holdout[y] += times * cell->holdout;
        tally->gain[y] += times * cell->gain;
        tally->brier[y] += times * cell->brier;
        tally->confusion[y * classes + (size_t)cell->decision] += times * cell->rows;
    }
    for (size_t y = 0; y < classes; y++)
        if (tally->mass[y] > 0) {
            double off = tally->log_loss_mean[y] / tally->mass[y];
            tally->log_loss_square[y] = fmax(0, tally->log_loss_square[y] - off * tally->log_loss_mean[y]);
            tally->log_loss[y] = tally->mass[y] * (all->log_loss_mean[y] + off);
        }
}

/* Adds decisions that no row of label y received in all rows' matrix, as a random fraction of the label. */
static void doubt(const pv__tally *all, pv_rng *rng, pv__tally *tally) {
    size_t classes = (size_t)tally->classes;
    for (size_t y = 0; y < classes; y++) {
        const double *counted = all->confusion + y * classes;
        double *row = tally->confusion + y * classes, empty = 0;
        for (size_t d = 0; d < classes; d++)
            empty += counted[d] == 0;
        if (empty == 0 || tally->mass[y] == 0)
            continue;
        double rows = pv_rng_gamma(rng, 0.5), scale = tally->mass[y] / (tally->mass[y] + rows);
        for (size_t d = 0; d < classes; d++)
            row[d] = scale * (counted[d] == 0 ? rows / empty : row[d]);
    }
}

static void climb(const pv__case *judged, const pv__cells *cells, const pv__ladder *ladders, worker *own) {
    int classes = judged->targets->classes;
    size_t width = (size_t)cells->ladders;
    for (size_t l = 0; l < width; l++)
        memset(own->mass[l], 0, ladders[l].points * (size_t)ladders[l].channels * sizeof(double));
    for (size_t i = 0; i < cells->count; i++) {
        const pv__cell *cell = &cells->cell[i];
        double mass = own->drawn[i] * cell->rows;
        const uint32_t *code = cells->code + i * width;
        if (mass == 0)
            continue;
        for (size_t l = 0; l < width; l++)
            if (l < (size_t)classes)
                own->mass[l][(size_t)code[l] * (size_t)classes + (size_t)cell->y] += mass;
            else
                own->mass[l][2 * (size_t)code[l] + (cell->y == cell->decision)] += mass * judged->factor[cell->y];
    }
}

static void replicate(const pv__case *judged, const pv__tally *all, const pv__cells *cells, const pv__ladder *ladders,
                      const pv__unit_draws *draws, pv_rng rng, worker *own, pv_metrics *metrics) {
    int classes = judged->targets->classes;
    pv__unit_draws_take(draws, &rng, own->drawn);
    tally_cells(all, cells, own->drawn, &own->tally);
    doubt(all, &rng, &own->tally);
    pv__tally_metrics(judged, &own->tally, metrics);
    climb(judged, cells, ladders, own);
    double sum = 0;
    for (int l = 0; l < cells->ladders; l++) {
        const pv__ladder *ladder = &ladders[l];
        int a = classes == 2 ? 1 : l;
        if (a < classes)
            sum += pv__ladder_area(ladder->points, classes, own->mass[l], a, own->scratch);
        if (ladder->p)
            metrics->ece = pv__ladder_error(ladder->points, own->mass[l], ladder->p,
                                            classes == 2 ? judged->factor[0] : 1, classes == 2 ? judged->factor[1] : 1);
    }
    metrics->auc = classes == 2 ? sum : sum / (double)(classes * (classes - 1));
    if (classes == 2) {
        double line[2] = {ladders[0].line[0], ladders[0].line[1]};
        pv__ladder_judge(NULL, judged, &ladders[0], own->mass[0], 1e-3, line,
                         metrics); /* one more Newton step squares the error */
    } else {
        metrics->calibration_ratio = metrics->calibration_slope = metrics->average_precision = NAN;
    }
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

/* Quantile of sorted values by linear interpolation. */
static double quantile(size_t n, const double *sorted, double q) {
    double at = q * (double)(n - 1);
    size_t low = (size_t)at, high = low + 1 < n ? low + 1 : low;
    return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

typedef struct summary {
    const pv_metrics *replicates;
    size_t count;
    double level;
    bool differences;
    double *values; /* [count], scratch */
    uint32_t *order;
} summary;

static pv_status take_interval(pv_ctx *ctx, const summary *s, const pv_metric_row *row, pv_assessment *assessment) {
    size_t defined = 0;
    double value;
    double lo = NAN, hi = NAN;
    memcpy(&value, (char *)&assessment->value + row->offset, sizeof value);
    for (size_t r = 0; r < s->count; r++) {
        double one;
        memcpy(&one, (const char *)&s->replicates[r] + row->offset, sizeof one);
        if (isfinite(one))
            s->values[defined++] = one;
    }
    if (isfinite(value) && 2 * defined >= s->count && defined > 1) {
        PV_TRY(pv__sort_scores(ctx, defined, s->values, s->order));
        double low = quantile(defined, s->values, 0.5 - 0.5 * s->level);
        double high = quantile(defined, s->values, 0.5 + 0.5 * s->level);
        /* ece cannot be negative, and resampling increases it. Therefore the interval's lower end is corrected for that
         * increase, and the upper end is not, so that it stays above the estimate. A difference of two ece can be 0,
         * and the increases cancel. */
        bool turned = row->offset == offsetof(pv_metrics, ece) && !s->differences;
        if (s->values[defined - 1] - s->values[0] > 1e-12 * fabs(value)) {
            lo = fmin(value, turned ? fmax(0, 2 * value - high) : low);
            hi = fmax(value, turned ? value + quantile(defined, s->values, 0.5) - low : high);
        }
    }
    memcpy((char *)&assessment->lo + row->offset, &lo, sizeof lo);
    memcpy((char *)&assessment->hi + row->offset, &hi, sizeof hi);
    return PV_OK;
}

static pv_status take_intervals(pv_ctx *ctx, summary *s, pv_assessment *assessment) {
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, s->count + 1, sizeof *s->values, &s->values));
    PV_GOTO(done, pv__alloc(ctx, s->count + 1, sizeof *s->order, &s->order));
    for (const pv_metric_row *row = pv_metric_table; row->name; row++)
        PV_GOTO(done, take_interval(ctx, s, row, assessment));
    assessment->lo.log_loss_sd = assessment->hi.log_loss_sd = NAN;
done:
    pv__free(ctx, s->values);
    pv__free(ctx, s->order);
    return status;
}

static size_t choose_count(int64_t wanted, size_t cells) {
    if (wanted >= 0)
        return (size_t)wanted;
    double affordable = WORK / (double)cells;
    return affordable >= REPLICATES         ? REPLICATES
           : affordable <= REPLICATES_LEAST ? REPLICATES_LEAST
                                            : (size_t)affordable;
}

/* Verifies that all ranks resample the same rows and predictions, because a mixture of replicates would go
 * unnoticed. */
static pv_status compare_ranks(pv_ctx *ctx, const pv__case *judged, const pv_metrics *value, uint64_t seed,
                               size_t count) {
    char lines[160];
    pv__format(lines, sizeof lines, "the evaluation=%zu rows, %016llx\n`bootstrap`=%zu\n`seed`=%llu\n",
               judged->targets->n, (unsigned long long)pv__hash(value, sizeof *value), count, (unsigned long long)seed);
    return pv__ranks_compare(ctx, lines);
}

/* Distributes the replicates over the ranks, and exchanges them. */
static pv_status run_replicates(pv_ctx *ctx, const pv__case *judged, const pv__tally *all, const pv__cells *cells,
                                const pv__ladder *ladders, const pv_metrics *value, uint64_t seed, size_t count,
                                pv_metrics *replicates) {
    int classes = judged->targets->classes, threads = pv_ctx_threads(ctx), rank = 0;
    size_t ranks = pv__shares(ctx) ? (size_t)pv_ctx_ranks(ctx, &rank) : 1;
    bool begun = ctx->ranks.begun;
    pv__unit_draws *draws = NULL;
    worker *workers = NULL;
    pv_status status;
    threads = (size_t)threads > count ? (int)count : threads;
    PV_GOTO(done, compare_ranks(ctx, judged, value, seed, count));
    ctx->ranks.begun = begun; /* until the next exchange each rank may be interrupted alone */
    PV_GOTO(done, pv__unit_draws_new(ctx, cells->units, &draws));
    PV_GOTO(done, pv__alloc(ctx, (size_t)threads, sizeof *workers, &workers));
    for (int t = 0; t < threads; t++)
        PV_GOTO(done, worker_new(ctx, classes, draws, cells, ladders, &workers[t]));
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static) if (threads > 1)
    for (int t = 0; t < threads; t++)
        for (size_t r = (size_t)rank + ranks * (size_t)t; r < count && !pv__interrupted(ctx);
             r += ranks * (size_t)threads)
            replicate(judged, all, cells, ladders, draws, pv_rng_stream(seed, PV_STREAM_BOOTSTRAP, r), &workers[t],
                      &replicates[r]);
    if (pv__interrupted(ctx))
        status = pv__fail(ctx, PV_ERR_INTERRUPTED, "interrupted while intervals were computed");
    if (status == PV_OK)
        status = pv__share_array(ctx, count, replicates, sizeof *replicates);
done:
    ctx->ranks.begun = begun;
    for (int t = 0; workers && t < threads; t++)
        worker_clear(ctx, cells->ladders, &workers[t]);
    pv__free(ctx, workers);
    pv__unit_draws_free(ctx, draws);
    return status;
}

pv_status pv__bootstrap(pv_ctx *ctx, const pv__case *judged, const pv__tally *tally, const pv__ladder *ladders,
                        const pv_assess_options *options, pv_assessment *assessment) {
    pv__cells cells = {0};
    pv_metrics *replicates = NULL;
    size_t count = 0;
    pv_status status = PV_OK;
    if (options->bootstrap != 0) {
        PV_GOTO(done, pv__cells_new(ctx, judged, tally, ladders, options->keep, &cells));
        count = choose_count(options->bootstrap, cells.count);
        assessment->drawn = pv__cells_drawn(judged, &cells);
        assessment->units = cells.units->of ? (size_t)cells.units->units : 0;
        PV_GOTO(done, pv__alloc(ctx, count, sizeof *replicates, &replicates));
        PV_GOTO(done, run_replicates(ctx, judged, tally, &cells, ladders, &assessment->value, options->seed, count,
                                     replicates));
    }
    assessment->replicates = (int64_t)count;
    summary all = {.replicates = replicates, .count = count, .level = options->level};
    status = take_intervals(ctx, &all, assessment);
    if (options->keep) {
        assessment->replicate = replicates; /* freed with it */
        replicates = NULL;
    }
done:
    pv__cells_clear(ctx, &cells);
    pv__free(ctx, replicates);
    return status;
}

pv_status pv_assessment_compare(pv_ctx *ctx, const pv_assessment *first, const pv_assessment *found, double level,
                                pv_assessment *difference) {
    size_t count = (size_t)found->replicates;
    *difference = (pv_assessment){.replicates = found->replicates, .drawn = found->drawn, .units = found->units};
    if (first->replicates != found->replicates || (count && !(first->replicate && found->replicate)))
        return pv__fail(ctx, PV_ERR_USAGE, "replicates that were kept, and as many of both, make a paired difference");
    if (count)
        PV_TRY(pv__alloc(ctx, count, sizeof *difference->replicate, &difference->replicate));
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        pv_metric_set(&difference->value, row, pv_metric_get(&found->value, row) - pv_metric_get(&first->value, row));
        for (size_t r = 0; r < count; r++)
            pv_metric_set(&difference->replicate[r], row,
                          pv_metric_get(&found->replicate[r], row) - pv_metric_get(&first->replicate[r], row));
    }
    summary all = {.replicates = difference->replicate, .count = count, .level = level, .differences = true};
    pv_status status = take_intervals(ctx, &all, difference);
    if (status != PV_OK)
        pv_assessment_clear(ctx, difference);
    return status;
}
