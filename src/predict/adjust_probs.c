/* Another model's probabilities in a population: Eq. likelihood with selection, with their logarithms in the place of
 * the likelihood and the prevalence they were made for in that of the marginal.
 */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "predict/predict.h"

static void take_logs(size_t n, const double *p, double *logs) {
    for (size_t i = 0; i < n; i++)
        logs[i] = log(p[i]);
}

/* Elsewhere than where they are: sample has their logarithms. */
static pv_status move(pv_ctx *ctx, const pv_probs *probs, const pv_unknown_sample *sample,
                      const pv_population *population, const pv_unknown_options *how, pv_prediction *out) {
    if (population->kind == PV_POPULATION_UNKNOWN) {
        PV_TRY(pv_unknown_infer(ctx, sample, probs->labels, how, &out->inferred));
        return pv_unknown_predict(ctx, sample, out->inferred, out->p, out->log_p, out->lo, out->hi);
    }
    if (population->kind == PV_POPULATION_COUNTS) {
        PV_TRY(pv__predict_counts(ctx, population, probs->labels, sample, out->log_p));
        for (size_t i = 0; i < sample->n * (size_t)probs->classes; i++)
            out->p[i] = exp(out->log_p[i]);
        return PV_OK;
    }
    const pv_unknown_prevalence known = {.classes = probs->classes, .plugin = population->prevalence};
    pv_adapt(sample->n, probs->classes, sample->loglik, sample->log_marginal, population->prevalence, out->log_p);
    return pv_unknown_predict(ctx, sample, &known, out->p, NULL, NULL, NULL);
}

static pv_status check(pv_ctx *ctx, const pv_probs *probs, const double *from, const pv_population *population,
                       const pv_predict_options *options) {
    pv_prevalence stated = {.classes = probs->classes, .prevalence = from};
    if (from)
        PV_TRY(pv_prevalence_check(ctx, &stated));
    if (population && population->classes != probs->classes)
        return pv__fail(ctx, PV_ERR_USAGE, "the population has %d labels, the probabilities %d", population->classes,
                        probs->classes);
    if (probs->strata && population && population->strata == 0 && population->kind == PV_POPULATION_KNOWN)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "the probabilities have strata, and the population one prevalence: give one for each stratum");
    if (population && population->kind != PV_POPULATION_TRUE && !from && !probs->strata)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "the prevalence that the probabilities were made for is unknown: state it (`from`)");
    if (!(options->level >= 0 && options->level < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "an interval's level must lie between 0 and 1, not %g", options->level);
    if (options->joint)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`posterior` joint is for a model with a posterior, which probabilities have not");
    if (options->level > 0 && (!population || population->kind != PV_POPULATION_UNKNOWN))
        return pv__fail(ctx, PV_ERR_USAGE, "`interval` is for a population of unknown prevalence: leave it out");
    return PV_OK;
}

pv_status pv_predict_probs(pv_ctx *ctx, const pv_probs *probs, const double *from, const pv_population *population,
                           const pv_predict_options *options, pv_prediction **prediction) {
    const pv_predict_options asked = options ? *options : pv_predict_options_default();
    size_t k = (size_t)probs->classes, rows = probs->data->rows;
    double *log_from = NULL, *logs = NULL;
    pv_prediction *made = NULL;
    pv_status status;
    *prediction = NULL;
    PV_TRY(check(ctx, probs, from, population, &asked));
    PV_GOTO(done, pv__prediction_new(ctx, rows, probs->classes, &asked, &made));
    if (probs->strata) {
        PV_GOTO(done, pv__predict_probs_strata(ctx, probs, population, &asked, made));
        *prediction = made;
        made = NULL;
        goto done;
    }
    PV_GOTO(done, pv__alloc(ctx, k, sizeof *log_from, &log_from));
    if (!made->loglik)
        PV_GOTO(done, pv__alloc(ctx, rows, k * sizeof *logs, &logs));
    take_logs(rows * k, probs->p, made->loglik ? made->loglik : logs);
    if (from)
        take_logs(k, from, log_from);
    made->elsewhere = population && population->kind != PV_POPULATION_TRUE;
    if (made->elsewhere) {
        pv_unknown_options how = population->unknown;
        if (asked.level > 0)
            how.level = asked.level;
        const pv_unknown_sample sample = {.n = rows,
                                          .classes = probs->classes,
                                          .loglik = made->loglik ? made->loglik : logs,
                                          .log_marginal = log_from,
                                          .label = asked.label,
                                          .weight = probs->data->weight};
        PV_GOTO(done, move(ctx, probs, &sample, population, &how, made));
    } else {
        memcpy(made->log_p, made->loglik ? made->loglik : logs, rows * k * sizeof *made->log_p);
        memcpy(made->p, probs->p, rows * k * sizeof *made->p);
    }
    if (from) {
        const double *own = made->inferred ? made->inferred->value : made->elsewhere ? population->prevalence : from;
        memcpy(made->prevalence, own, k * sizeof *made->prevalence);
        if (made->log_marginal)
            memcpy(made->log_marginal, log_from, k * sizeof *made->log_marginal);
    } else {
        pv__free(ctx, made->prevalence);
        pv__free(ctx, made->log_marginal);
        made->prevalence = made->log_marginal = NULL;
    }
    *prediction = made;
    made = NULL;
done:
    pv_prediction_free(ctx, made);
    pv__free(ctx, log_from);
    pv__free(ctx, logs);
    return status;
}

/* ---- labelled rows, to learn from -------------------------------------------------------------------------------- */

/* A sample and the memory of its logarithms. */
typedef struct source {
    pv_unknown_sample sample;
    double *logs; /* [n][classes] */
} source;

/* By a classifier as an unknown prevalence takes it: its ratios as the fit left them. */
static pv_status source_of_model(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, source *made) {
    pv__unmatched_view view = {.block = NULL};
    const pv_classifier *own;
    PV_TRY(pv__alloc(ctx, data->rows, (size_t)c->schema->classes * sizeof *made->logs, &made->logs));
    made->sample = (pv_unknown_sample){.n = data->rows,
                                       .classes = c->schema->classes,
                                       .loglik = made->logs,
                                       .log_marginal = c->log_marginal,
                                       .label = data->label,
                                       .weight = data->weight};
    pv_status status = pv__unmatched(ctx, c, &view, &own);
    if (status == PV_OK)
        status = pv_predict_loglik(ctx, own, data, made->logs);
    pv__free(ctx, view.block);
    return status;
}

static pv_status source_of_probs(pv_ctx *ctx, const pv_probs *probs, const double *from, source *made) {
    size_t k = (size_t)probs->classes, rows = probs->data->rows;
    PV_TRY(pv__alloc(ctx, rows + 1, k * sizeof *made->logs, &made->logs)); /* the last row: of from */
    take_logs(rows * k, probs->p, made->logs);
    take_logs(k, from, made->logs + rows * k);
    made->sample = (pv_unknown_sample){.n = rows,
                                       .classes = probs->classes,
                                       .loglik = made->logs,
                                       .log_marginal = made->logs + rows * k,
                                       .label = probs->data->label,
                                       .weight = probs->data->weight};
    return PV_OK;
}

/* ---- bbse's confusion matrix ------------------------------------------------------------------------------------- */

pv_status pv_predict_confusion(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, double *confusion) {
    if (!data->label)
        return pv__fail(ctx, PV_ERR_USAGE, "the confusion of labels is learned from labelled rows; these have none");
    source rows = {.logs = NULL};
    pv_status status = source_of_model(ctx, c, data, &rows);
    if (status == PV_OK)
        status = pv_confusion(ctx, &rows.sample, c->schema->labels, confusion);
    pv__free(ctx, rows.logs);
    return status;
}

/* The rows are of the population of from: their own probabilities stand for labels. */
pv_status pv_probs_confusion(pv_ctx *ctx, const pv_probs *probs, const double *from, double *confusion) {
    source rows = {.logs = NULL};
    pv_status status = source_of_probs(ctx, probs, from, &rows);
    rows.sample.label = NULL;
    if (status == PV_OK)
        status = pv_confusion(ctx, &rows.sample, probs->labels, confusion);
    pv__free(ctx, rows.logs);
    return status;
}

/* ---- reference ratios -------------------------------------------------------------------------------------------- */

static pv_status reference_of(pv_ctx *ctx, const pv_unknown_sample *sample, pv_reference **reference) {
    double *score;
    if (sample->classes != 2)
        return pv__fail(ctx, PV_ERR_USAGE, "`source`: reference rows calibrate a model of two labels, this has %d",
                        sample->classes);
    if (!sample->label)
        return pv__fail(ctx, PV_ERR_USAGE, "`source`: reference rows are labelled ones; these have no labels");
    PV_TRY(pv__gate_pass(ctx, PV__GATE_LOG, sample->n, 2, sample->loglik));
    PV_TRY(pv__alloc(ctx, sample->n, sizeof *score, &score));
    for (size_t i = 0; i < sample->n; i++)
        score[i] = pv__calibrated_score(sample, i);
    pv_status status = pv_reference_new(ctx, sample->n, score, sample->label, sample->weight, reference);
    pv__free(ctx, score);
    return status;
}

pv_status pv_predict_reference(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, pv_reference **reference) {
    source rows = {.logs = NULL};
    *reference = NULL;
    pv_status status = source_of_model(ctx, c, data, &rows);
    if (status == PV_OK)
        status = reference_of(ctx, &rows.sample, reference);
    pv__free(ctx, rows.logs);
    return status;
}

pv_status pv_probs_reference(pv_ctx *ctx, const pv_probs *probs, const double *from, pv_reference **reference) {
    source rows = {.logs = NULL};
    *reference = NULL;
    pv_status status = source_of_probs(ctx, probs, from, &rows);
    if (status == PV_OK)
        status = reference_of(ctx, &rows.sample, reference);
    pv__free(ctx, rows.logs);
    return status;
}
