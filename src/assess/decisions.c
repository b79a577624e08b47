/* Metrics of decisions, all from the confusion matrix C [observed][decided], a count of rows (or their mass).
 *
 * One class y against the rest: tpr = C_yy / C_y., ppv = C_yy / C_.y, tnr and npv likewise of what is not y.
 * mcc is Gorodkin's R_K, the correlation of two indicator matrices; for two classes Matthews' coefficient.
 */
#include "assess.h"

#include <math.h>

int pv__decision(int classes, const double *log_p) {
    int best = 0;
    for (int y = 1; y < classes; y++)
        if (log_p[y] > log_p[best])
            best = y;
    return best;
}

typedef struct confusion {
    int classes;
    double *count;    /* [classes][classes] */
    double *observed; /* [classes], row sums */
    double *decided;  /* [classes], column sums */
    double total;
} confusion;

static pv_status confusion_new(pv_ctx *ctx, const pv_targets *targets, const double *log_p, confusion *made) {
    size_t classes = (size_t)targets->classes;
    made->classes = targets->classes;
    PV_TRY(pv__alloc(ctx, (classes + 2) * classes, sizeof(double), &made->count));
    made->observed = made->count + classes * classes;
    made->decided = made->observed + classes;
    for (size_t n = 0; n < targets->n; n++) {
        size_t decision = (size_t)pv__decision(targets->classes, log_p + n * classes);
        pv__row row = pv__row_labels(targets, n);
        for (int y = row.first; y < row.last; y++)
            made->count[(size_t)y * classes + decision] += pv__row_mass(targets, n, y);
    }
    for (size_t y = 0; y < classes; y++)
        for (size_t d = 0; d < classes; d++) {
            made->observed[y] += made->count[y * classes + d];
            made->decided[d] += made->count[y * classes + d];
            made->total += made->count[y * classes + d];
        }
    return PV_OK;
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

/* Sums of the other classes' totals, not differences from the grand total: what ought to be 0 is then exactly 0. */
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
    double hits = 0, cross = 0, decided = 0, observed = 0;
    for (int y = 0; y < c->classes; y++) {
        double t = c->observed[y] / c->total, d = c->decided[y] / c->total;
        hits += cell(c, y, y) / c->total;
        cross += t * d;
        observed += t * (1 - t);
        decided += d * (1 - d);
    }
    return observed > 0 && decided > 0 ? (hits - cross) / sqrt(observed * decided) : NAN;
}

static double near_diagonal(const confusion *c) {
    double near = 0;
    for (int y = 0; y < c->classes; y++)
        for (int d = 0; d < c->classes; d++)
            near += d >= y - 1 && d <= y + 1 ? cell(c, y, d) : 0;
    return near / c->total;
}

pv_status pv__assess_decisions(pv_ctx *ctx, const pv_targets *targets, const double *log_p, pv_metrics *metrics) {
    confusion c = {0};
    PV_TRY(confusion_new(ctx, targets, log_p, &c));
    double hits = 0, informedness = 0, markedness = 0;
    for (int y = 0; y < c.classes; y++) {
        hits += cell(&c, y, y);
        if (c.observed[y] == 0)
            continue;
        rates r = one_against_rest(&c, y);
        informedness += c.observed[y] / c.total * (r.tpr + r.tnr - 1);
        markedness += c.observed[y] / c.total * (r.ppv + r.npv - 1);
    }
    rates positive = one_against_rest(&c, c.classes - 1);
    metrics->accuracy = hits / c.total;
    metrics->tpr = positive.tpr;
    metrics->tnr = positive.tnr;
    metrics->ppv = positive.ppv;
    metrics->npv = positive.npv;
    metrics->informedness = informedness;
    metrics->markedness = markedness;
    metrics->mcc = correlation(&c);
    metrics->one_off_accuracy = c.classes > 2 ? near_diagonal(&c) : NAN;
    pv__free(ctx, c.count);
    return PV_OK;
}
