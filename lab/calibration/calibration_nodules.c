/* The calibration study on real nodules: balanced subsamples for training, rows at the natural prevalence for
 * evaluation.
 *
 * The rows are split into two halves with equal label proportions. All positives of one half, and as many negatives
 * drawn at random, are the case-control sample for training, with the proportion of positives in the whole file as the
 * given prevalence; the other half is used for evaluation. Then the halves are exchanged, and so on with further
 * splits.
 */
#include "prevail/prevail.h"
#include "lab/calibration/calibration.h"
#include "lab/common/study.h"
#include "tool/console.h"
#include "tool/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const nod_quantity[NOD_QUANTITIES] = {
#define ENTRY(name, text) #name,
    NOD_QUANTITY_LIST(ENTRY)
#undef ENTRY
};
const char *const nod_quantity_text[NOD_QUANTITIES] = {
#define ENTRY(name, text) text,
    NOD_QUANTITY_LIST(ENTRY)
#undef ENTRY
};

const char *nod_method(int method) {
    return method == NOD_UNCORRECTED ? "plain, as it is" : cal_method[method];
}

typedef struct work {
    const calibration_options *options;
    const char *prevalence_n;
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    nodules *result;
} work;

/* ---- one split --------------------------------------------------------------------------------------------------- */

typedef struct halves {
    pv_dataset *training, *judging;
    pv_schema *scaled;
} halves;

static void halves_free(pv_ctx *ctx, halves *h) {
    pv_dataset_free(ctx, h->training);
    pv_dataset_free(ctx, h->judging);
    pv_schema_free(ctx, h->scaled);
}

/* The rows of one half: positives first, then negatives in random order. */
static size_t list_half(const work *w, const int32_t *fold, int32_t half, uint64_t index, size_t *row,
                        size_t *positives) {
    size_t n = 0;
    for (size_t i = 0; i < w->data->rows; i++)
        if (fold[i] == half && w->data->label[i] == 1)
            row[n++] = i;
    *positives = n;
    for (size_t i = 0; i < w->data->rows; i++)
        if (fold[i] == half && w->data->label[i] == 0)
            row[n++] = i;
    pv_rng rng = pv_rng_stream((uint64_t)w->options->shared.seed, PV_STREAM_STUDY_CONTROLS, index);
    pv_rng_shuffle(&rng, n - *positives, row + *positives);
    return n;
}

static pv_status split(pv_ctx *ctx, const work *w, size_t index, halves *h) {
    size_t rows = w->data->rows, positives, n, *row = cli_alloc(rows, sizeof *row);
    int32_t *fold = cli_alloc(rows, sizeof *fold), half = (int32_t)(index % 2);
    pv_status status = pv_folds_make(ctx, w->schema, w->data, 2, (uint64_t)w->options->shared.seed, index / 2, fold);
    if (status == PV_OK) {
        n = list_half(w, fold, half, index, row, &positives);
        status = pv_dataset_take(ctx, w->data, 2 * positives < n ? 2 * positives : n, row, &h->training);
    }
    if (status == PV_OK) {
        n = list_half(w, fold, 1 - half, index, row, &positives);
        status = pv_dataset_take(ctx, w->data, n, row, &h->judging);
    }
    free(row);
    free(fold);
    if (status == PV_OK)
        status = pv_schema_rescale(ctx, w->schema, h->training, &h->scaled);
    if (status != PV_OK)
        return status;
    pv_dataset_rescale(w->schema, h->scaled, h->training);
    pv_dataset_rescale(w->schema, h->scaled, h->judging);
    return PV_OK;
}

static pv_status judge(pv_ctx *ctx, const work *w, const halves *h, const pv_classifier *fit, bool corrected,
                       double *value, judge_bins *bins) {
    size_t n = h->judging->rows;
    const pv_predict_options wanted = {.likelihood = true};
    pv_prediction *said = NULL;
    double *p = cli_alloc(n, sizeof *p), *y = cli_alloc(n, sizeof *y), unused;
    const double prevalence[2] = {1 - w->result->prevalence, w->result->prevalence};
    pv_targets targets = pv_dataset_targets(h->judging);
    pv_metrics m;
    pv_status status = pv_predict_in(ctx, fit, h->judging, corrected ? "true" : "design", &wanted, &said);
    if (status == PV_OK)
        status = pv_assess(ctx, &targets, said->loglik, said->log_marginal, said->log_p, prevalence, &m);
    if (status == PV_OK) {
        const double *log_p = said->log_p;
        double nll = 0;
        for (size_t i = 0; i < n; i++) {
            p[i] = exp(log_p[2 * i + 1]);
            y[i] = h->judging->label[i];
            nll -= log_p[2 * i + (size_t)h->judging->label[i]] / (double)n;
        }
        judge_rows rows = {n, p, y, NULL};
        value[NOD_nll] = nll;
        value[NOD_brier] = m.brier;
        value[NOD_auc] = m.auc;
        value[NOD_ece] = m.ece;
        value[NOD_in_the_large] = judge_in_the_large(&rows);
        judge_recalibrate(&rows, &unused, &value[NOD_slope]);
        judge_gaps(&rows, &value[NOD_gap_fpr], &value[NOD_gap_fnr]);
        judge_bins_add(bins, &rows, 0);
    }
    pv_prediction_free(ctx, said);
    free(p);
    free(y);
    return status;
}

static pv_status run_split(pv_ctx *ctx, void *state, size_t index) {
    const work *w = state;
    nodules *result = w->result;
    halves h = {0};
    char stated[64]; /* for both labels, in their order */
    snprintf(stated, sizeof stated, "%.17g,%.17g", 1 - result->prevalence, result->prevalence);
    pv_status status = split(ctx, w, index, &h);
    for (int m = 0; m < CAL_FITTED && status == PV_OK; m++) {
        pv_fit_options options = cal_fit_options(w->options, m, stated, w->prevalence_n, "normal:2.5",
                                                 (int64_t)((uint64_t)w->options->shared.seed + index));
        options.intercept_prior = pv_fit_options_default().intercept_prior;
        pv_classifier *fit = NULL;
        size_t at = index * NOD_METHODS;
        status = study_fit(ctx, (size_t)m, h.scaled, h.training, &options, &fit);
        if (status == PV_OK)
            status = judge(ctx, w, &h, fit, true, result->value + (at + (size_t)m) * NOD_QUANTITIES,
                           &result->bins[at + (size_t)m]);
        if (status == PV_OK && m == CAL_PLAIN)
            status = judge(ctx, w, &h, fit, false, result->value + (at + NOD_UNCORRECTED) * NOD_QUANTITIES,
                           &result->bins[at + NOD_UNCORRECTED]);
        pv_classifier_free(ctx, fit);
    }
    if (index == 0 && status == PV_OK) {
        result->trained = h.training->rows;
        result->judged = h.judging->rows;
    }
    halves_free(ctx, &h);
    return status;
}

static size_t outcome(void *state, size_t index, pv_field *field) {
    nodules *result = ((const work *)state)->result;
    size_t values = (size_t)NOD_METHODS * NOD_QUANTITIES;
    field[0] = (pv_field){result->value + index * values, values * sizeof *result->value};
    field[1] = (pv_field){result->bins + index * NOD_METHODS, NOD_METHODS * sizeof *result->bins};
    if (index > 0)
        return 2;
    field[2] = (pv_field){&result->trained, sizeof result->trained};
    field[3] = (pv_field){&result->judged, sizeof result->judged};
    return 4;
}

static bool sound(const void *state, size_t index) {
    const nodules *result = ((const work *)state)->result;
    size_t values = (size_t)NOD_METHODS * NOD_QUANTITIES;
    for (size_t i = 0; i < NOD_METHODS; i++)
        if (!judge_bins_sound(&result->bins[index * NOD_METHODS + i]))
            return false;
    return study_within(result->value + index * values, values, -HUGE_VAL, HUGE_VAL, true) &&
           (index > 0 || (result->trained <= result->rows && result->judged <= result->rows));
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/* Skips the row numbers that R writes as a first column. */
static int read_file(cli_call *call, work *w) {
    pv_roles roles = {.target = w->options->target};
    int code = cli_read(call, NULL, w->options->data, &roles, &w->table);
    if (code != CLI_OK)
        return code;
    for (size_t c = 0; c < w->table->columns; c++)
        if (strcmp(w->table->column[c].name, "rownames") == 0)
            roles.id = "rownames";
    pv_status status = pv_schema_learn(call->ctx, w->table, &roles, &w->schema, &w->data);
    if (status != PV_OK)
        return cli_fail(call, status);
    if (w->data->classes != 2)
        return cli_error(call, PV_ERR_INPUT, w->options->data, "%d labels in column '%s'; the study needs two",
                         w->data->classes, w->options->target);
    size_t positives = 0;
    for (size_t i = 0; i < w->data->rows; i++)
        positives += w->data->label[i] == 1 ? 1 : 0;
    if (positives < 40 || 2 * positives > w->data->rows)
        return cli_error(call, PV_ERR_INPUT, w->options->data,
                         "%zu of %zu rows are positive; the study needs 40 at least, and no more than half", positives,
                         w->data->rows);
    w->result->rows = w->data->rows;
    w->result->positives = positives;
    w->result->prevalence = (double)positives / (double)w->data->rows;
    return CLI_OK;
}

int calibration_nodules(cli_call *call, const calibration_options *options, const char *prevalence_n, nodules *result) {
    *result = (nodules){.path = options->data, .splits = 2 * (size_t)options->splits};
    work w = {.options = options, .prevalence_n = prevalence_n, .result = result};
    int code = read_file(call, &w);
    if (code == CLI_OK)
        code = study_checkpoint_data(call, w.table, NULL);
    if (code == CLI_OK) {
        result->value = cli_alloc(result->splits * NOD_METHODS * NOD_QUANTITIES, sizeof *result->value);
        result->bins = cli_alloc(result->splits * NOD_METHODS, sizeof *result->bins);
        code = study_parallel(call, "splits", result->splits, run_split, outcome, sound, &w);
    }
    pv_schema_free(call->ctx, w.schema);
    pv_dataset_free(call->ctx, w.data);
    pv_table_free(call->ctx, w.table);
    return code;
}

void nodules_clear(nodules *result) {
    free(result->value);
    free(result->bins);
}

size_t nod_mean(const nodules *n, int method, int quantity, double *mean, double *sd) {
    return study_mean(n->value + (size_t)method * NOD_QUANTITIES + (size_t)quantity, n->splits,
                      (size_t)NOD_METHODS * NOD_QUANTITIES, mean, sd);
}
