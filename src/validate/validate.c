/* Cross-validation, a hold-out sample, mixtures.
 *
 *   mixture   p(y|x) = sum_k v_k p_k(y|x),  p(y) = sum_k v_k p_k(y),  prevalence = sum_k v_k prevalence_k.
 *
 * The weights v are a prior over the members' prevalences and are not updated by the data: a sample whose label counts
 * were chosen says nothing about the prevalence (section 10.2 of the paper), whatever each member's likelihood.
 */
#include "validate.h"

#include <math.h>
#include <string.h>

pv_validation_options pv_validation_options_default(void) {
    return (pv_validation_options){.folds = 3, .repeats = 1, .population = "true"};
}

/* What all fits share; each writes to the rows and the slots of its own fold. */
typedef struct work {
    const pv_fit_input *input;
    const pv_fit_options *options;
    const char *population;
    pv_validation *v;
} work;

static pv_status take_fold(pv_ctx *ctx, const work *w, size_t at, bool inside, size_t *rows, pv_dataset **part) {
    const pv_dataset *data = w->input->data;
    const int32_t *fold = w->v->fold + at / w->v->folds * data->rows;
    size_t count = 0;
    for (size_t i = 0; i < data->rows; i++)
        if (((size_t)fold[i] == at % w->v->folds) == inside)
            rows[count++] = i;
    return pv_dataset_take(ctx, data, count, rows, part);
}

static void keep_prevalence(const work *w, const pv_classifier *c) {
    if (w->v->prevalence && c->prevalence)
        memcpy(w->v->prevalence, c->prevalence, (size_t)c->classes * sizeof *c->prevalence);
}

/* Fits and predicts; the predictions of part row i go to place[i] of the validation (NULL: to i). */
static pv_status fit_and_predict(pv_ctx *ctx, const work *w, const pv_fit_input *input, const pv_dataset *part,
                                 const size_t *place, size_t at) {
    size_t classes = (size_t)part->classes, repeat = at / w->v->folds;
    pv_classifier *c = NULL;
    double *loglik = NULL, *log_p = NULL, *prevalence = NULL;
    pv_target_population population;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, part->rows * classes, sizeof *loglik, &loglik));
    PV_GOTO(done, pv__alloc(ctx, part->rows * classes, sizeof *log_p, &log_p));
    PV_GOTO(done, pv__alloc(ctx, classes, sizeof *prevalence, &prevalence));
    PV_GOTO(done, pv_fit(ctx, input, w->options, &c));
    PV_GOTO(done, pv_target_population_parse(ctx, w->population, c, &population, prevalence));
    PV_GOTO(done, pv_predict_judged(ctx, c, part, population, population == PV_POPULATION_KNOWN ? prevalence : NULL,
                                    loglik, log_p, w->v->log_marginal + at * classes, NULL, NULL));
    for (size_t i = 0; i < part->rows; i++) {
        size_t to = (repeat * w->v->data->rows + (place ? place[i] : i)) * classes;
        memcpy(w->v->loglik + to, loglik + i * classes, classes * sizeof *loglik);
        memcpy(w->v->log_p + to, log_p + i * classes, classes * sizeof *log_p);
    }
    w->v->stop[at] = c->posterior && c->stop == PV_STOP_CONVERGED ? c->posterior->stop : c->stop;
    if (at == 0)
        keep_prevalence(w, c);
done:
    pv_classifier_free(ctx, c);
    pv__free(ctx, loglik);
    pv__free(ctx, log_p);
    pv__free(ctx, prevalence);
    return status;
}

/* What went wrong, with the fold it went wrong in. */
static pv_status name_fold(pv_ctx *ctx, const work *w, size_t at, pv_status status) {
    if (status == PV_OK || status == PV_ERR_USAGE || status == PV_ERR_MEMORY || status == PV_ERR_INTERRUPTED)
        return status;
    char message[sizeof ctx->error.message];
    memcpy(message, ctx->error.message, sizeof message);
    return pv__fail(ctx, status, "fold %zu of %zu: %.400s", at % w->v->folds + 1, w->v->folds, message);
}

static pv_status run_fold(pv_ctx *ctx, void *state, size_t at) {
    const work *w = state;
    const pv_encoding *encoding = w->input->encoding;
    pv_dataset *learn = NULL, *judge = NULL;
    size_t *rows = NULL;
    pv_encoding scaled = *encoding;
    scaled.source = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, w->input->data->rows, sizeof *rows, &rows));
    PV_GOTO(done, pv__alloc(ctx, encoding->sources, sizeof *scaled.source, &scaled.source));
    PV_GOTO(done, take_fold(ctx, w, at, false, rows, &learn));
    PV_GOTO(done, take_fold(ctx, w, at, true, rows, &judge)); /* rows are now those of judge */
    PV_GOTO(done, pv_dataset_scales(ctx, encoding, learn, scaled.source));
    pv_dataset_rescale(encoding, &scaled, learn);
    pv_dataset_rescale(encoding, &scaled, judge);
    pv_fit_input input = *w->input;
    input.data = learn;
    input.encoding = &scaled;
    PV_GOTO(done, fit_and_predict(ctx, w, &input, judge, rows, at));
done:
    pv_dataset_free(ctx, learn);
    pv_dataset_free(ctx, judge);
    pv__free(ctx, scaled.source);
    pv__free(ctx, rows);
    return name_fold(ctx, w, at, status);
}

/* pv_folds_make knows labels by number only; here they have names. */
static pv_status check_labels(pv_ctx *ctx, const pv_fit_input *input, const pv_validation_options *how) {
    const pv_dataset *data = input->data;
    for (int y = 0; y < data->classes && !how->group; y++) {
        size_t count = 0;
        for (size_t i = 0; i < data->rows; i++)
            count += data->label[i] == y ? 1 : 0;
        if (count < (size_t)how->folds)
            return pv__fail(ctx, PV_ERR_INPUT,
                            "label '%.60s' has %zu row%s, fewer than the %lld folds; use fewer folds", input->labels[y],
                            count, count == 1 ? "" : "s", (long long)how->folds);
    }
    return PV_OK;
}

pv_status pv_cross_validate(pv_ctx *ctx, const pv_fit_input *input, const pv_fit_options *options,
                            const pv_validation_options *how, pv_validation **validation) {
    *validation = NULL;
    if (how->repeats < 1 || how->folds < 2)
        return pv__fail(ctx, PV_ERR_USAGE, "there must be two folds and one repeat at least");
    PV_TRY(check_labels(ctx, input, how));
    double began = pv__seconds();
    pv_validation *v = NULL;
    size_t finished, rows = input->data->rows;
    pv_status status;
    PV_GOTO(fail, pv__validation_new(ctx, input->data, (size_t)how->folds, (size_t)how->repeats,
                                     options->prevalence != NULL, &v));
    for (size_t r = 0; r < v->repeats; r++)
        PV_GOTO(fail, pv_folds_make(ctx, input->data, how->folds, how->group, (uint64_t)options->seed, r,
                                    v->fold + r * rows));
    work w = {.input = input, .options = options, .population = how->population, .v = v};
    PV_GOTO(fail, pv_jobs_run(ctx, "folds", v->folds * v->repeats, true, run_fold, &w, &finished));
    PV_GOTO(fail, pv__validation_judge(ctx, v));
    v->seconds = pv__seconds() - began;
    *validation = v;
    return PV_OK;
fail:
    pv_validation_free(ctx, v);
    return status;
}

pv_status pv_hold_out(pv_ctx *ctx, const pv_fit_input *input, const pv_fit_options *options, const char *population,
                      const pv_dataset *rows, pv_validation **validation) {
    *validation = NULL;
    double began = pv__seconds();
    pv_validation *v = NULL;
    pv_status status;
    PV_GOTO(fail, pv__validation_new(ctx, rows, 1, 1, options->prevalence != NULL, &v));
    work w = {.input = input, .options = options, .population = population, .v = v};
    PV_GOTO(fail, fit_and_predict(ctx, &w, input, rows, NULL, 0));
    PV_GOTO(fail, pv__validation_judge(ctx, v));
    v->seconds = pv__seconds() - began;
    *validation = v;
    return PV_OK;
fail:
    pv_validation_free(ctx, v);
    return status;
}

/* ---- mixtures ---------------------------------------------------------------------------------------------------- */

static pv_status check_members(pv_ctx *ctx, size_t count, const pv_validation *const *member, const double *weight,
                               double *total) {
    *total = 0;
    for (size_t k = 0; k < count; k++) {
        const pv_validation *m = member[k], *first = member[0];
        if (m->data != first->data || m->folds != first->folds || m->repeats != first->repeats ||
            !m->prevalence != !first->prevalence ||
            memcmp(m->fold, first->fold, m->repeats * m->data->rows * sizeof *m->fold) != 0)
            return pv__fail(ctx, PV_ERR_USAGE, "the members of a mixture were judged on different rows or folds");
        if (!(weight[k] >= 0 && isfinite(weight[k])))
            return pv__fail(ctx, PV_ERR_USAGE, "weight %zu of the mixture, %g, is not a finite number of at least 0",
                            k + 1, weight[k]);
        *total += weight[k];
    }
    if (!(*total > 0))
        return pv__fail(ctx, PV_ERR_USAGE, "the weights of the mixture are all 0");
    return PV_OK;
}

/* out = log sum_k share_k exp(in_k), entry by entry; the greatest first taken out, so that nothing underflows. */
static void add_logs(size_t n, double share, const double *in, double *out, bool first) {
    double log_share = log(share);
    for (size_t i = 0; i < n; i++) {
        double a = in[i] + log_share, b = first ? -INFINITY : out[i], top = fmax(a, b);
        out[i] = isfinite(top) ? top + log(exp(a - top) + exp(b - top)) : top;
    }
}

pv_status pv_validation_mix(pv_ctx *ctx, size_t count, const pv_validation *const *member, const double *weight,
                            pv_validation **validation) {
    *validation = NULL;
    if (count == 0)
        return pv__fail(ctx, PV_ERR_USAGE, "a mixture needs members");
    double total;
    PV_TRY(check_members(ctx, count, member, weight, &total));
    const pv_validation *first = member[0];
    size_t classes = (size_t)first->data->classes, parts = first->folds * first->repeats,
           cells = first->repeats * first->data->rows * classes;
    pv_validation *v = NULL;
    pv_status status;
    PV_GOTO(fail, pv__validation_new(ctx, first->data, first->folds, first->repeats, first->prevalence != NULL, &v));
    memcpy(v->fold, first->fold, first->repeats * first->data->rows * sizeof *v->fold);
    bool empty = true;
    for (size_t k = 0; k < count; k++) {
        double share = weight[k] / total;
        if (share == 0)
            continue;
        add_logs(cells, share, member[k]->loglik, v->loglik, empty);
        add_logs(cells, share, member[k]->log_p, v->log_p, empty);
        add_logs(parts * classes, share, member[k]->log_marginal, v->log_marginal, empty);
        for (size_t y = 0; v->prevalence && y < classes; y++)
            v->prevalence[y] += share * member[k]->prevalence[y];
        for (size_t f = 0; f < parts; f++)
            if (empty || v->stop[f] == PV_STOP_CONVERGED || v->stop[f] == PV_STOP_COMPLETED)
                v->stop[f] = member[k]->stop[f]; /* the first that found trouble, if one did */
        empty = false;
    }
    PV_GOTO(fail, pv__validation_judge(ctx, v));
    *validation = v;
    return PV_OK;
fail:
    pv_validation_free(ctx, v);
    return status;
}
