/* Metrics from a tally: mean losses by label, and metrics of the confusion matrix C [observed][decided], where each
 * label counts by its stated mass.
 *
 *   log_loss       sum_y share(y) m_y,  m_y = mean over rows of label y of -log p(y|x_n,w)
 *              (Eq. expected log-likelihood estimate with beta(2))
 *   its variance  sum_y share(y)^2 v_y / n_y,  v_y the sample variance within label y
 *              (Eq. g2 variance, Eq. estimate of the conditional variance)
 *
 * One class y against the rest: tpr = C_yy / C_y., ppv = C_yy / C_.y; tnr and npv are the same for "not y". mcc is
 * Gorodkin's R_K, the correlation of two indicator matrices; for two classes Matthews' coefficient.
 */
#include "assess.h"

#include <math.h>
#include <string.h>

typedef struct confusion {
    int classes;
    double *count;    /* [classes][classes] */
    double *observed; /* [classes], row sums */
    double *decided;  /* [classes], column sums */
    double total;
} confusion;

/* Scales the tally's matrix in place, row by row, to the stated masses, and computes its sums. */
static confusion scale(const pv__case *judged, pv__tally *tally) {
    size_t k = (size_t)tally->classes;
    confusion c = {
        .classes = tally->classes, .count = tally->confusion, .observed = tally->observed, .decided = tally->decided};
    for (size_t y = 0; y < k; y++)
        c.observed[y] = c.decided[y] = 0;
    for (size_t y = 0; y < k; y++) {
        double factor = tally->mass[y] > 0 ? judged->stated[y] / tally->mass[y] : 0;
        for (size_t d = 0; d < k; d++) {
            double mass = c.count[y * k + d] *= factor;
            c.observed[y] += mass;
            c.decided[d] += mass;
            c.total += mass;
        }
    }
    return c;
}

static double cell(const confusion *c, int y, int d) {
    return c->count[(size_t)y * (size_t)c->classes + (size_t)d];
}

typedef struct rates {
    double tpr, tnr, ppv, npv;
} rates;

static double ratio(double part, double whole) {
    return whole > 0 ? part / whole : NAN;
}

/* Sums the totals of the other classes instead of subtracting from the grand total, so that zeros are exact. */
static rates one_against_rest(const confusion *c, int y) {
    double others = 0, decided_other = 0, fp = 0;
    for (int a = 0; a < c->classes; a++)
        if (a != y) {
            others += c->observed[a];
            decided_other += c->decided[a];
            fp += cell(c, a, y);
        }
    double tp = cell(c, y, y), tn = fmax(others - fp, 0);
    return (rates){.tpr = ratio(tp, c->observed[y]),
                   .tnr = ratio(tn, others),
                   .ppv = ratio(tp, c->decided[y]),
                   .npv = ratio(tn, decided_other)};
}

static double correlation(const confusion *c) {
    double hits = 0, cross = 0, spread_t = 0, spread_d = 0;
    for (int y = 0; y < c->classes; y++) {
        double t = c->observed[y] / c->total, d = c->decided[y] / c->total;
        hits += cell(c, y, y) / c->total;
        cross += t * d;
        spread_t += t * (1 - t);
        spread_d += d * (1 - d);
    }
    return spread_t > 0 && spread_d > 0 ? (hits - cross) / sqrt(spread_t * spread_d) : NAN;
}

static double near_diagonal(const confusion *c) {
    double near = 0;
    for (int y = 0; y < c->classes; y++)
        for (int d = 0; d < c->classes; d++)
            near += d >= y - 1 && d <= y + 1 ? cell(c, y, d) : 0;
    return near / c->total;
}

static void judge_decisions(const confusion *c, int positive_label, pv_metrics *metrics) {
    double hits = 0, informedness = 0, markedness = 0;
    for (int y = 0; y < c->classes; y++) {
        hits += cell(c, y, y);
        if (c->observed[y] == 0)
            continue;
        rates r = one_against_rest(c, y);
        informedness += c->observed[y] / c->total * (r.tpr + r.tnr - 1);
        markedness += c->observed[y] / c->total * (r.ppv + r.npv - 1);
    }
    rates positive = one_against_rest(c, positive_label);
    metrics->accuracy = hits / c->total;
    metrics->tpr = positive.tpr;
    metrics->tnr = positive.tnr;
    metrics->ppv = positive.ppv;
    metrics->npv = positive.npv;
    metrics->informedness = c->total > 0 ? informedness : NAN;
    metrics->markedness = c->total > 0 ? markedness : NAN;
    metrics->mcc = correlation(c);
    metrics->one_off_accuracy = c->classes > 2 ? near_diagonal(c) : NAN;
}

/* ---- losses ------------------------------------------------------------------------------------------------------ */

/* sum_y stated(y) . mean over rows of label y */
static double stated_mean(const pv__case *judged, const pv__tally *tally, const double *sums) {
    double mean = 0;
    for (int y = 0; y < tally->classes; y++)
        if (judged->stated[y] > 0)
            mean += judged->stated[y] / judged->total * (sums[y] / tally->mass[y]);
    return mean;
}

static void judge_log_loss(const pv__case *judged, const pv__tally *tally, pv_metrics *metrics) {
    double log_loss = 0, variance = 0;
    for (int y = 0; y < tally->classes; y++) {
        double share = judged->log_loss_share[y], mass = tally->mass[y], freedom = mass - 1;
        if (share == 0)
            continue;
        log_loss += mass > 0 ? share * (tally->log_loss[y] / mass) : NAN;
        variance += freedom > 0 ? share * share * tally->log_loss_square[y] / freedom / mass : NAN;
    }
    metrics->log_loss = log_loss;
    metrics->log_loss_sd = sqrt(variance);
    metrics->log_loss_upper = log_loss + 2 * metrics->log_loss_sd;
}

void pv__tally_metrics(const pv__case *judged, pv__tally *tally, pv_metrics *metrics) {
    confusion c = scale(judged, tally);
    judge_log_loss(judged, tally, metrics);
    metrics->holdout_nll = stated_mean(judged, tally, tally->holdout);
    metrics->information_gain = stated_mean(judged, tally, tally->gain);
    metrics->brier = stated_mean(judged, tally, tally->brier);
    judge_decisions(&c, judged->positive, metrics);
    if (!judged->missing)
        return;
    /* If a label of the population has no rows, everything that depends on its proportion is undefined. */
    double nothing = NAN;
    for (const pv_metric_row *row = pv_metric_table; row->name; row++)
        if (pv_metric_depends(row, tally->classes))
            memcpy((char *)metrics + row->offset, &nothing, sizeof nothing);
}
