/* One pass over the rows: sums of losses by label, and the confusion matrix.
 *
 *   log_loss      -log p_n(y)
 *   holdout   -log q_n(y),  q_n(y) ~ p(y|x_n,w) / p(y|w) . share(y)   (Eq. prevalence corrected hold-out risk)
 *   gain       log p(y|x_n,w) / p(y|w)                                (Eq. prevalence corrected hold-out LL)
 *   brier      sum_c (p_n(c) - [c = y])^2, halved for two classes
 *
 * Log probabilities may be -infinity; the loss is then +infinity. Rows are split into a fixed number of groups whose
 * sums are added in order, so results are bit-identical for any number of threads.
 */
#include <math.h>
#include <string.h>

#include "core/log_add.h"
#include "assess/assess.h"
#include "core/vector.h"

enum { GROUPS = 64 };

static size_t tally_size(int classes) {
    return (size_t)classes * (9 + (size_t)classes);
}

static pv__tally tally_view(int classes, double *block) {
    size_t k = (size_t)classes;
    return (pv__tally){.classes = classes,
                       .mass = block,
                       .log_loss = block + k,
                       .log_loss_mean = block + 2 * k,
                       .log_loss_square = block + 3 * k,
                       .holdout = block + 4 * k,
                       .gain = block + 5 * k,
                       .brier = block + 6 * k,
                       .observed = block + 7 * k,
                       .decided = block + 8 * k,
                       .confusion = block + 9 * k};
}

pv_status pv__tally_new(pv_ctx *ctx, int classes, pv__tally *tally) {
    double *block;
    *tally = (pv__tally){0};
    PV_TRY(pv__alloc(ctx, tally_size(classes), sizeof *block, &block));
    *tally = tally_view(classes, block);
    return PV_OK;
}

void pv__tally_clear(pv_ctx *ctx, pv__tally *tally) {
    pv__free(ctx, tally->mass);
    *tally = (pv__tally){0};
}

void pv__tally_zero(pv__tally *tally) {
    memset(tally->mass, 0, tally_size(tally->classes) * sizeof *tally->mass);
}

/* ---- one row ----------------------------------------------------------------------------------------------------- */

int pv__decision(int classes, const double *log_p) {
    int best = 0;
    for (int y = 1; y < classes; y++)
        if (log_p[y] > log_p[best])
            best = y;
    return best;
}

static bool is_distribution(int classes, const double *log_p) {
    double top = -INFINITY;
    for (int y = 0; y < classes; y++) {
        if (isnan(log_p[y]))
            return false;
        top = fmax(top, log_p[y]);
    }
    return isfinite(top);
}

/* log sum_y exp(f_y + offset_y) */
static double normaliser(int classes, const double *f, const double *offset) {
    if (classes == 2)
        return pv__log_add(f[0] + offset[0], f[1] + offset[1]);
    double top = -INFINITY, sum = 0;
    for (int y = 0; y < classes; y++)
        top = fmax(top, f[y] + offset[y]);
    for (int y = 0; y < classes; y++)
        sum += exp(f[y] + offset[y] - top);
    return top + log(sum);
}

pv__row_view pv__row_open(const pv__case *judged, size_t n) {
    int classes = judged->targets->classes;
    pv__row_view row = {.first = n * (size_t)classes, .normaliser = NAN};
    const double *log_p = judged->log_p + row.first;
    row.decision = pv__decision(classes, log_p);
    if (judged->log_marginal)
        row.normaliser = normaliser(classes, judged->loglik + row.first, judged->offset);
    for (int y = 0; classes > 2 && y < classes; y++)
        row.squares += exp(2 * log_p[y]);
    return row;
}

pv__losses pv__row_losses(const pv__case *judged, const pv__row_view *row, int y) {
    size_t at = row->first + (size_t)y;
    double miss = expm1(judged->log_p[at]), others;
    if (judged->targets->classes == 2) {
        double other = exp(judged->log_p[row->first + (size_t)(1 - y)]);
        others = other * other;
    } else {
        /* The rounding error of the difference is negligible compared to (1 - p)^2, which expm1 computes to full
         * precision. */
        double p = exp(judged->log_p[at]);
        others = fmax(row->squares - p * p, 0);
    }
    pv__losses losses = {.log_loss = -judged->log_loss[at], .brier = others + miss * miss, .holdout = NAN, .gain = NAN};
    if (judged->targets->classes == 2)
        losses.brier /= 2;
    if (judged->log_marginal) {
        losses.holdout = row->normaliser - judged->loglik[at] - judged->offset[y];
        losses.gain = judged->loglik[at] - judged->log_marginal[y];
    }
    return losses;
}

/* ---- all rows ---------------------------------------------------------------------------------------------------- */

static void add_losses(pv__tally *tally, int y, double mass, const pv__losses *losses) {
    tally->mass[y] += mass;
    tally->log_loss[y] += mass * losses->log_loss;
    double off = losses->log_loss - tally->log_loss_mean[y]; /* West's update of mean and squared deviations */
    tally->log_loss_mean[y] += mass / tally->mass[y] * off;
    tally->log_loss_square[y] += mass * off * (losses->log_loss - tally->log_loss_mean[y]);
    tally->holdout[y] += mass * losses->holdout;
    tally->gain[y] += mass * losses->gain;
    tally->brier[y] += mass * losses->brier;
}

/* Adds rows begin .. end-1; returns the first row whose prediction is not a distribution, or end. */
static size_t add_rows(const pv__case *judged, size_t begin, size_t end, pv__tally *tally) {
    const pv_targets *targets = judged->targets;
    size_t classes = (size_t)targets->classes;
    for (size_t n = begin; n < end; n++) {
        if (!is_distribution(targets->classes, judged->log_p + n * classes) ||
            (judged->loglik != judged->log_p && !is_distribution(targets->classes, judged->loglik + n * classes)))
            return n;
        pv__row_view view = pv__row_open(judged, n);
        pv__row row = pv__row_labels(targets, n);
        for (int y = row.first; y < row.last; y++) {
            double mass = pv__row_mass(targets, n, y);
            if (mass == 0)
                continue;
            pv__losses losses = pv__row_losses(judged, &view, y);
            add_losses(tally, y, mass, &losses);
            tally->confusion[(size_t)y * classes + (size_t)view.decision] += mass;
        }
    }
    return end;
}

static void merge(const pv__tally *from, pv__tally *to) {
    size_t k = (size_t)to->classes;
    for (size_t y = 0; y < k; y++) {
        if (from->mass[y] == 0)
            continue;
        double mass = to->mass[y] + from->mass[y], gap = from->log_loss_mean[y] - to->log_loss_mean[y];
        to->log_loss_square[y] += from->log_loss_square[y] + gap * gap * to->mass[y] * (from->mass[y] / mass);
        to->log_loss_mean[y] += gap * (from->mass[y] / mass);
        to->mass[y] = mass;
        to->log_loss[y] += from->log_loss[y];
        to->holdout[y] += from->holdout[y];
        to->gain[y] += from->gain[y];
        to->brier[y] += from->brier[y];
    }
    for (size_t i = 0; i < k * k; i++)
        to->confusion[i] += from->confusion[i];
}

pv_status pv__tally_rows(pv_ctx *ctx, const pv__case *judged, pv__tally *tally) {
    size_t n = judged->targets->n, size = tally_size(tally->classes), chunks = pv__chunks(n);
    size_t groups = chunks < GROUPS ? chunks : GROUPS, stopped[GROUPS];
    double *blocks;
    PV_TRY(pv__alloc(ctx, groups * size, sizeof *blocks, &blocks));
    PV__EACH_CHUNK(ctx, groups, g, {
        pv__tally own = tally_view(tally->classes, blocks + g * size);
        stopped[g] = add_rows(judged, g * n / groups, (g + 1) * n / groups, &own);
    });
    pv_status status = PV_OK;
    pv__tally_zero(tally);
    for (size_t g = 0; g < groups && status == PV_OK; g++) {
        pv__tally own = tally_view(tally->classes, blocks + g * size);
        merge(&own, tally);
        if (stopped[g] != (g + 1) * n / groups)
            status = pv__fail(ctx, PV_ERR_NUMERIC,
                              "the prediction for row %zu is not a number; check the fit with prevail diagnose",
                              stopped[g] + 1);
    }
    pv__free(ctx, blocks);
    return status;
}
