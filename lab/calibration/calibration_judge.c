/* Evaluates one fit of the calibration study: its coefficients, and its predictions for training rows, test rows and
 * the population. */
#include "lab/calibration/calibration_sample.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

pv_status cal_note_coefficients(pv_ctx *ctx, const calibration *c, size_t k, const pv_classifier *fit, cal_outcome *o) {
    double w[CAL_COEFFICIENTS];
    for (int j = 0; j < CAL_COEFFICIENTS; j++)
        o->sd[j] = o->covered[j] = NAN;
    pv_status status = pv_classifier_coefficients(ctx, fit, w);
    memcpy(o->mean, w, sizeof w);
    if (status != PV_OK || !fit->posterior)
        return status;
    size_t n = fit->posterior->count;
    double *draws = cli_alloc(n * CAL_COEFFICIENTS, sizeof *draws);
    for (size_t i = 0; i < n && status == PV_OK; i++) {
        status = pv_classifier_draw_coefficients(ctx, fit, i, w);
        for (size_t j = 0; j < CAL_COEFFICIENTS; j++)
            draws[j * n + i] = w[j];
    }
    for (size_t j = 0; j < CAL_COEFFICIENTS && status == PV_OK; j++) {
        double mean = 0, square = 0, *values = draws + j * n;
        for (size_t i = 0; i < n; i++)
            mean += values[i] / (double)n;
        for (size_t i = 0; i < n; i++)
            square += (values[i] - mean) * (values[i] - mean) / (double)n;
        o->mean[j] = mean;
        o->sd[j] = sqrt(square);
        double lo = pv_quantile(n, values, 0.05), hi = pv_quantile(n, values, 0.95), truth = c->truth[k][j];
        o->covered[j] = lo <= truth && truth <= hi;
    }
    free(draws);
    return status;
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static void judge_training(const calibration *c, size_t k, const cal_sample *s, const cal_predictions *p,
                           cal_outcome *o) {
    double q[CAL_TRAINING], y[CAL_TRAINING], weight[CAL_TRAINING], count = 0;
    for (size_t i = 0; i < CAL_TRAINING; i++)
        count += s->training->label[i];
    for (size_t i = 0; i < CAL_TRAINING; i++) {
        q[i] = exp(p->training[2 * i + 1]);
        y[i] = s->training->label[i];
        weight[i] =
            y[i] > 0 ? c->prevalence[k] / count : (1 - c->prevalence[k]) / (CAL_TRAINING - count); /* beta / N */
    }
    judge_bins_add(&o->training, &(judge_rows){CAL_TRAINING, q, y, weight}, 1);
}

static void judge_testing(const cal_sample *s, const cal_predictions *p, judge_rates *curve, cal_outcome *o) {
    double q[CAL_TESTING], y[CAL_TESTING];
    for (size_t i = 0; i < CAL_TESTING; i++) {
        q[i] = exp(p->adapted[2 * i + 1]);
        y[i] = s->testing->label[i];
    }
    judge_rows rows = {CAL_TESTING, q, y, NULL};
    judge_bins_add(&o->heldout, &rows, 0);
    judge_gaps(&rows, &o->value[CAL_gap_fpr], &o->value[CAL_gap_fnr]);
    for (size_t i = 0; curve && i < CAL_CURVE; i++)
        curve[i] = judge_rates_at(&rows, (double)i / (CAL_CURVE - 1));
}

static double entropy(double p) {
    return -(p * log(p) + (1 - p) * log1p(-p));
}

static void judge_population(const calibration *c, size_t k, const cal_predictions *p, cal_outcome *o) {
    const pv_table *table = c->population[k];
    double *y = cli_alloc(table->rows, sizeof *y), information = 0, mean = 0, unused;
    for (size_t i = 0; i < table->rows; i++) {
        y[i] = pv_sigmoid(cal_true_score(c, k, table, i));
        mean += y[i] / (double)table->rows;
        information -= entropy(y[i]) / (double)table->rows;
    }
    information += entropy(mean);
    judge_rows rows = {table->rows, p->population, y, NULL};
    judge_bins_add(&o->population, &rows, 1);
    o->value[CAL_in_the_large] = judge_in_the_large(&rows);
    judge_recalibrate(&rows, &unused, &o->value[CAL_slope]);
    judge_gaps(&rows, &o->value[CAL_gap_fpr_population], &o->value[CAL_gap_fnr_population]);
    o->value[CAL_lost] = judge_excess(&rows) / information;
    free(y);
}

pv_status cal_judge(pv_ctx *ctx, const calibration *c, size_t k, const cal_sample *s, const cal_predictions *p,
                    judge_rates *curve, cal_outcome *o) {
    const double prevalence[2] = {1 - c->prevalence[k], c->prevalence[k]};
    pv_targets targets = pv_dataset_targets(s->testing);
    pv_metrics adapted, own;
    pv_status status = pv_assess(ctx, &targets, p->testing, p->log_marginal, p->adapted, prevalence, &adapted);
    if (status == PV_OK)
        status = pv_assess(ctx, &targets, p->testing, p->log_marginal, p->testing, prevalence, &own);
    if (status != PV_OK)
        return status;
    double *v = o->value;
    v[CAL_ell] = -adapted.log_loss;
    v[CAL_accuracy] = adapted.accuracy;
    v[CAL_tnr] = adapted.tnr;
    v[CAL_tpr] = adapted.tpr;
    v[CAL_npv] = adapted.npv;
    v[CAL_ppv] = adapted.ppv;
    v[CAL_auc] = adapted.auc;
    v[CAL_own_accuracy] = own.accuracy;
    v[CAL_own_tnr] = own.tnr;
    v[CAL_own_tpr] = own.tpr;
    v[CAL_inferred] = p->share;
    if (!isnan(p->share)) {
        pv_metrics inferred;
        status = pv_assess(ctx, &targets, p->testing, p->log_marginal, p->inferred, prevalence, &inferred);
        if (status != PV_OK)
            return status;
        v[CAL_inferred_accuracy] = inferred.accuracy;
        v[CAL_inferred_tnr] = inferred.tnr;
        v[CAL_inferred_tpr] = inferred.tpr;
        v[CAL_inferred_npv] = inferred.npv;
        v[CAL_inferred_ppv] = inferred.ppv;
    } else {
        for (int q = CAL_inferred_accuracy; q <= CAL_inferred_ppv; q++)
            v[q] = (double)NAN;
    }
    v[CAL_nll] = adapted.holdout_nll;
    v[CAL_ece] = adapted.ece;
    v[CAL_marginal] = exp(p->log_marginal[1]) / c->prevalence[k];
    judge_training(c, k, s, p, o);
    judge_testing(s, p, curve, o);
    judge_population(c, k, p, o);
    o->done = true;
    return PV_OK;
}
