/* Data of a ranking for charts, in addition to its curves. */
#include <math.h>

#include "assess/curves.h"
#include "prevail/report.h"

void pv_ranking_rows(const pv_ranking *ranking, double *positive, double *negative) {
    *positive = ranking->rows_p;
    *negative = ranking->rows_n;
}

double pv_ranking_prevalence(const pv_ranking *ranking) {
    return pv__ranking_prevalence(ranking);
}

/* Bin edges of equal width in p, or if logarithmic, in log p between the smallest and the largest probability. */
static double edge_at(const pv_ranking *ranking, size_t bins, bool logarithmic, size_t i) {
    if (!logarithmic)
        return (double)i / (double)bins;
    double low = fmax(pv_sigmoid(ranking->log_odds[ranking->points - 1]), 1e-12);
    double high = fmax(pv_sigmoid(ranking->log_odds[0]), low * 1.001);
    return exp(log(low) + log(high / low) * (double)i / (double)bins);
}

pv_status pv_ranking_histogram(pv_ctx *ctx, const pv_ranking *ranking, size_t bins, bool logarithmic,
                               pv_curve *histogram) {
    *histogram = (pv_curve){.name = "histogram", .text = "rows of each label by probability"};
    if (bins < 1)
        return pv__fail(ctx, PV_ERR_USAGE, "a histogram needs a bin");
    PV_TRY(PV__SHAPE(ctx, bins, histogram, "lo", "hi", "positive", "negative"));
    for (size_t b = 0; b < bins; b++) {
        histogram->value[4 * b] = edge_at(ranking, bins, logarithmic, b);
        histogram->value[4 * b + 1] = edge_at(ranking, bins, logarithmic, b + 1);
        histogram->value[4 * b + 2] = ranking->rows_p > 0 ? 0 : NAN;
        histogram->value[4 * b + 3] = ranking->rows_n > 0 ? 0 : NAN;
    }
    double tp = 0, fp = 0, all_p = ranking->tp[ranking->points - 1], all_n = ranking->fp[ranking->points - 1];
    size_t b = bins - 1;
    for (size_t i = 0; i < ranking->points; i++) { /* probabilities are in descending order */
        double p = pv_sigmoid(ranking->log_odds[i]);
        while (b > 0 && p < histogram->value[4 * b])
            b--;
        histogram->value[4 * b + 2] += (ranking->tp[i] - tp) / all_p;
        histogram->value[4 * b + 3] += (ranking->fp[i] - fp) / all_n;
        tp = ranking->tp[i];
        fp = ranking->fp[i];
    }
    return PV_OK;
}

/* Probabilities at `count` evenly spaced ranks of one label. */
static void spread(const pv_ranking *ranking, const double *cumulated, size_t count, double label, double *to) {
    double all = cumulated[ranking->points - 1];
    size_t point = 0;
    for (size_t i = 0; i < count; i++) {
        double rank = all * ((double)i + 0.5) / (double)count;
        while (point + 1 < ranking->points && cumulated[point] < rank)
            point++;
        *to++ = pv_sigmoid(ranking->log_odds[point]);
        *to++ = label;
    }
}

pv_status pv_ranking_sample(pv_ctx *ctx, const pv_ranking *ranking, size_t most, pv_curve *sample) {
    size_t n_p = ranking->rows_p < (double)most ? (size_t)ceil(ranking->rows_p) : most;
    size_t n_n = ranking->rows_n < (double)most ? (size_t)ceil(ranking->rows_n) : most;
    *sample = (pv_curve){.name = "sample", .text = "rows of each label, evenly spread over their ranks"};
    PV_TRY(PV__SHAPE(ctx, n_p + n_n, sample, "p", "positive"));
    spread(ranking, ranking->tp, n_p, 1, sample->value);
    spread(ranking, ranking->fp, n_n, 0, sample->value + 2 * n_p);
    return PV_OK;
}
