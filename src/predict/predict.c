/* Probabilities in a population (section 7 of the paper).
 *
 *   true          p(y|x,w): what ig and iw output. plain outputs the probabilities of the training sample, so it is
 *                 corrected from the design to the stated prevalence (King and Zeng 2001).
 *   known, design p_{s=1}(y|x,w) proportional to p(y|x,w)/p(y|w) . p~(y)          (Eq. likelihood with selection)
 *   unknown       the same with p~ inferred from the rows: unknown.c
 */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "model/model.h"
#include "predict/predict.h"

pv_status pv_target_population_parse(pv_ctx *ctx, const char *text, const pv_classifier *classifier,
                                     pv_target_population *population, double *prevalence) {
    double low, high;
    if (strcmp(text, "true") == 0) {
        *population = PV_POPULATION_TRUE;
        if (!classifier->prevalence)
            return pv__fail(ctx, PV_ERR_USAGE,
                            "the model was fitted without --prevalence, so the true population is unknown to it: use "
                            "--population known:P, or design for that of its training data");
        return PV_OK;
    }
    if (strcmp(text, "design") == 0) {
        *population = PV_POPULATION_DESIGN;
        return PV_OK;
    }
    if (strcmp(text, "unknown") == 0) {
        *population = PV_POPULATION_UNKNOWN;
        return PV_OK;
    }
    if (strncmp(text, "known:", 6) != 0)
        return pv__fail(ctx, PV_ERR_USAGE, "--population %s: choose true, known:P, unknown or design%s", text,
                        strchr("0123456789.", text[0]) && text[0] ? ", as in known:0.2" : "");
    *population = PV_POPULATION_KNOWN;
    PV_TRY(pv_prevalence_parse(ctx, "--population known", text + 6, classifier->labels, classifier->classes, prevalence,
                               &low, &high));
    if (!isnan(low))
        return pv__fail(ctx, PV_ERR_USAGE, "--population %s: give one prevalence, not an interval", text);
    return PV_OK;
}

/* A network runs its own threads over each chunk. */
static pv_status images_loglik(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data, double *loglik) {
    const pv_model *model = classifier->model;
    size_t chunk = pv__model_rows(model, 32);
    pv_model_work *work = NULL;
    double *buffer;
    PV_TRY(pv__alloc(ctx, chunk, (size_t)pv_model_inputs(model) * sizeof *buffer, &buffer));
    pv_status status = pv_model_work_new(ctx, model, chunk, &work);
    for (size_t begin = 0; begin < data->rows && status == PV_OK; begin += chunk) {
        size_t rows = data->rows - begin < chunk ? data->rows - begin : chunk;
        pv_model_forward(model, work, classifier->w, rows, pv_dataset_rows(ctx, data, begin, rows, buffer),
                         loglik + begin * (size_t)classifier->classes);
        status = pv__model_work_check(ctx, work);
        if (status == PV_OK && pv__interrupted(ctx))
            status = pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request");
    }
    pv_model_work_free(ctx, work);
    pv__free(ctx, buffer);
    return status;
}

pv_status pv_predict_loglik(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data, double *loglik) {
    enum { CHUNK = 512 };
    const pv_model *model = classifier->model;
    size_t k = (size_t)classifier->classes, d = (size_t)pv_model_inputs(model),
           chunks = (data->rows + CHUNK - 1) / CHUNK;
    if (data->features != pv_model_inputs(model))
        return pv__fail(ctx, PV_ERR_USAGE, "the data have %d features, the model %d", data->features,
                        pv_model_inputs(model));
    if (data->images) {
        PV_TRY(images_loglik(ctx, classifier, data, loglik));
        return pv__gate_predicted(ctx, PV__GATE_LOG, classifier, data, loglik);
    }
    int threads = pv_ctx_threads(ctx);
    pv_model_work **work;
    PV_TRY(pv__alloc(ctx, (size_t)threads, sizeof *work, &work));
    pv_status status = PV_OK;
    for (int t = 0; t < threads && status == PV_OK; t++)
        status = pv_model_work_new(ctx, model, CHUNK, &work[t]);
    if (status == PV_OK) {
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static)
        for (int t = 0; t < threads; t++)
            for (size_t c = (size_t)t * chunks / (size_t)threads; c < (size_t)(t + 1) * chunks / (size_t)threads; c++) {
                size_t begin = c * CHUNK, rows = data->rows - begin < CHUNK ? data->rows - begin : CHUNK;
                pv_model_forward(model, work[t], classifier->w, rows, data->x + begin * d, loglik + begin * k);
            }
    }
    for (int t = 0; t < threads; t++)
        pv_model_work_free(ctx, work[t]);
    pv__free(ctx, work);
    PV_TRY(status);
    return pv__gate_predicted(ctx, PV__GATE_LOG, classifier, data, loglik);
}

void pv_adapt(size_t n, int classes, const double *loglik, const double *log_marginal, const double *prevalence,
              double *log_p) {
    size_t k = (size_t)classes;
    for (size_t i = 0; i < n; i++) {
        for (size_t y = 0; y < k; y++)
            log_p[i * k + y] = loglik[i * k + y] - log_marginal[y] + log(prevalence[y]);
        pv_log_softmax(classes, log_p + i * k, log_p + i * k);
    }
}

const double *pv__adapt_to(const pv_classifier *classifier, pv_target_population population, const double *prevalence) {
    switch (population) {
    case PV_POPULATION_KNOWN:
        return prevalence;
    case PV_POPULATION_DESIGN:
        return classifier->design;
    case PV_POPULATION_UNKNOWN: /* pv_predict_unknown's */
    case PV_POPULATION_TRUE:
        break;
    }
    return classifier->loss == PV_LOSS_PLAIN ? classifier->prevalence : NULL;
}

void pv_predict_population(const pv_classifier *classifier, pv_target_population population, const double *prevalence,
                           size_t n, const double *loglik, double *log_p) {
    const double *target = pv__adapt_to(classifier, population, prevalence);
    for (size_t i = 0; population == PV_POPULATION_UNKNOWN && i < n * (size_t)classifier->classes; i++)
        log_p[i] = (double)NAN; /* the rows' own prevalence is to be inferred first: nothing here may pass for it */
    if (population == PV_POPULATION_UNKNOWN)
        return;
    if (target)
        pv_adapt(n, classifier->classes, loglik, classifier->log_marginal, target, log_p);
    else if (log_p != loglik)
        memcpy(log_p, loglik, n * (size_t)classifier->classes * sizeof *log_p);
}
