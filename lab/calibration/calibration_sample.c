/* One data set of the calibration study: its rows, and the predictions of the truth and of a fit for them. */
#include "lab/calibration/calibration_sample.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cal_sample_free(pv_ctx *ctx, cal_sample *s) {
    pv_dataset_free(ctx, s->training);
    pv_dataset_free(ctx, s->testing);
    pv_schema_free(ctx, s->schema);
    pv_schema_free(ctx, s->scaled);
    pv_dataset_free(ctx, s->data);
    pv_table_free(ctx, s->table);
    free(s->population.x);
}

static pv_status split_rows(pv_ctx *ctx, uint64_t seed, size_t replicate, cal_sample *s) {
    size_t row[CAL_ROWS];
    for (size_t i = 0; i < CAL_ROWS; i++)
        row[i] = i;
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_STUDY_SPLIT, replicate);
    pv_rng_shuffle(&rng, CAL_ROWS, row);
    pv_status status = pv_dataset_take(ctx, s->data, CAL_TRAINING, row, &s->training);
    if (status == PV_OK)
        status = pv_dataset_take(ctx, s->data, CAL_TESTING, row + CAL_TRAINING + CAL_VALIDATION, &s->testing);
    return status;
}

static void scale_population(const pv_table *population, cal_sample *s) {
    s->population = (pv_dataset){.rows = population->rows, .features = CAL_FEATURES, .classes = 2};
    s->population.x = cli_alloc(population->rows * CAL_FEATURES, sizeof(double));
    for (size_t i = 0; i < population->rows; i++)
        for (size_t j = 0; j < CAL_FEATURES; j++)
            s->population.x[i * CAL_FEATURES + j] =
                (population->column[j].number[i] - s->scaled->source[j].mean) / s->scaled->source[j].sd;
}

pv_status cal_sample_new(pv_ctx *ctx, const calibration *c, size_t replicate, size_t k, cal_sample *s) {
    pv_simulation what = {.cases = CAL_CASES,
                          .controls = CAL_CONTROLS,
                          .prevalence = c->prevalence[k],
                          .strength = c->options->strength,
                          .seed = (uint64_t)c->options->shared.seed + 1000003 * (replicate + 1)};
    pv_roles roles = {.target = "malignant"};
    pv_status status = pv_simulate(ctx, "nodules", &what, &s->table, NULL);
    if (status == PV_OK)
        status = pv_schema_learn(ctx, s->table, &roles, &s->schema, &s->data);
    if (status == PV_OK)
        status = split_rows(ctx, (uint64_t)c->options->shared.seed, replicate, s);
    if (status == PV_OK)
        status = pv_schema_rescale(ctx, s->schema, s->training, &s->scaled);
    if (status != PV_OK)
        return status;
    pv_dataset_rescale(s->schema, s->scaled, s->training);
    pv_dataset_rescale(s->schema, s->scaled, s->testing);
    scale_population(c->population[k], s);
    return PV_OK;
}

/* ---- one method -------------------------------------------------------------------------------------------------- */

static void test_shares(const cal_sample *s, double share[2]) {
    share[1] = 0;
    for (size_t i = 0; i < CAL_TESTING; i++)
        share[1] += s->testing->label[i] / (double)CAL_TESTING;
    share[0] = 1 - share[1];
}

double cal_true_score(const calibration *c, size_t k, const pv_table *table, size_t row) {
    double score = c->truth[k][0];
    for (int j = 0; j < CAL_FEATURES; j++)
        score += c->truth[k][1 + j] * table->column[j].number[row];
    return score;
}

void cal_predict_truth(const calibration *c, size_t k, const cal_sample *s, cal_predictions *p) {
    const struct {
        const pv_dataset *rows;
        double *to;
    } parts[] = {{s->training, p->training}, {s->testing, p->testing}};
    for (int part = 0; part < 2; part++)
        for (size_t i = 0; i < parts[part].rows->rows; i++) {
            double score = cal_true_score(c, k, s->table, parts[part].rows->table_row[i]);
            parts[part].to[2 * i] = log(pv_sigmoid(-score));
            parts[part].to[2 * i + 1] = log(pv_sigmoid(score));
        }
    p->log_marginal[0] = log1p(-c->prevalence[k]);
    p->log_marginal[1] = log(c->prevalence[k]);
    double share[2];
    test_shares(s, share);
    p->share = (double)NAN;
    pv_adapt(CAL_TESTING, 2, p->testing, p->log_marginal, share, p->adapted);
    for (size_t i = 0; i < c->population[k]->rows; i++)
        p->population[i] = pv_sigmoid(cal_true_score(c, k, c->population[k], i));
}

/* The test rows' label proportions inferred from their predictions, as in the paper (Appendix G): variational, prior
 * true:1. */
static pv_status infer_shares(pv_ctx *ctx, const pv_classifier *fit, const cal_sample *s, cal_predictions *p) {
    pv_unknown_options how = pv_unknown_options_default();
    pv_population *unknown = NULL;
    pv_prediction *testing = NULL;
    how.method = PV_UNKNOWN_VB;
    how.dirichlet = "true:1";
    pv_status status = pv_population_new(ctx, fit, "unknown", &how, &unknown);
    if (status == PV_OK)
        status = pv_predict(ctx, fit, s->testing, unknown, NULL, &testing);
    if (status == PV_OK) {
        memcpy(p->inferred, testing->log_p, 2 * testing->rows * sizeof(double));
        p->share = testing->prevalence[1];
    }
    pv_prediction_free(ctx, testing);
    pv_population_free(ctx, unknown);
    return status;
}

pv_status cal_predict(pv_ctx *ctx, const pv_classifier *fit, const cal_sample *s, cal_predictions *p) {
    const pv_predict_options wanted = {.likelihood = true};
    double share[2];
    test_shares(s, share);
    pv_population *shares = NULL;
    pv_prediction *training = NULL, *testing = NULL, *population = NULL;
    pv_status status = pv_population_known(ctx, 2, share, &shares);
    if (status == PV_OK)
        status = pv_predict(ctx, fit, s->training, NULL, NULL, &training);
    if (status == PV_OK)
        status = pv_predict(ctx, fit, s->testing, shares, &wanted, &testing);
    if (status == PV_OK)
        status = pv_predict(ctx, fit, &s->population, NULL, NULL, &population);
    if (status == PV_OK) {
        memcpy(p->training, training->log_p, 2 * training->rows * sizeof(double));
        memcpy(p->testing, testing->loglik, 2 * testing->rows * sizeof(double));
        memcpy(p->adapted, testing->log_p, 2 * testing->rows * sizeof(double));
        memcpy(p->log_marginal, testing->log_marginal, 2 * sizeof(double));
        for (size_t i = 0; i < population->rows; i++)
            p->population[i] = population->p[2 * i + 1];
    }
    if (status == PV_OK)
        status = infer_shares(ctx, fit, s, p);
    pv_prediction_free(ctx, training);
    pv_prediction_free(ctx, testing);
    pv_prediction_free(ctx, population);
    pv_population_free(ctx, shares);
    return status;
}
