/* Predictions in a population (section 7 of the paper). The model makes one forward pass over the rows; all results are
 * computed from its log-likelihoods.
 *
 *   true          p(y|x,w), the output of ig and iw. plain outputs the probabilities of the training sample, which are
 *                 corrected from the design to the given prevalence (King and Zeng 2001).
 *   known, design p_{s=1}(y|x,w) proportional to p(y|x,w)/p(y|w) . p~(y)          (Eq. likelihood with selection)
 *   unknown       the same with p~ inferred from the rows: unknown.c
 *   counts        p~ of all rows together, given how many rows have each label: label_counts.c
 *
 * For a linear model with few rows, p(y|x,w) is its mean over the uncertainty in w (infer/averaging.c), but an unknown
 * prevalence is inferred from the ratios at w.
 *
 * With a posterior, probabilities are means over its draws: predict_draws.c. An unknown prevalence then takes two
 * passes over the draws, because a draw's ratios must be known for all rows before the first row can be predicted.
 */
#include "predict/predict.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "infer/infer.h"
#include "infer/last_layer.h"

pv_predict_options pv_predict_options_default(void) {
    return (pv_predict_options){0};
}

/* ---- the struct -------------------------------------------------------------------------------------------------- */

void pv_prediction_free(pv_ctx *ctx, pv_prediction *made) {
    if (!made)
        return;
    pv__free(ctx, made->p);
    pv__free(ctx, made->log_p);
    pv__free(ctx, made->lo);
    pv__free(ctx, made->hi);
    pv__free(ctx, made->prevalence);
    pv__free(ctx, made->loglik);
    pv__free(ctx, made->log_marginal);
    pv_unknown_prevalence_free(ctx, made->inferred);
    pv__predicted_strata_free(ctx, made->strata);
    pv__free(ctx, made);
}

pv_status pv__prediction_new(pv_ctx *ctx, size_t rows, int classes, const pv_predict_options *options,
                             pv_prediction **prediction) {
    size_t k = (size_t)classes;
    pv_prediction *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->rows = rows;
    made->classes = classes;
    made->effective = (double)NAN;
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, rows, k * sizeof(double), &made->p));
    PV_GOTO(fail, pv__alloc(ctx, rows, k * sizeof(double), &made->log_p));
    PV_GOTO(fail, pv__alloc(ctx, k, sizeof(double), &made->prevalence));
    if (options->level > 0) {
        PV_GOTO(fail, pv__alloc(ctx, rows, k * sizeof(double), &made->lo));
        PV_GOTO(fail, pv__alloc(ctx, rows, k * sizeof(double), &made->hi));
    }
    if (options->likelihood) {
        PV_GOTO(fail, pv__alloc(ctx, rows, k * sizeof(double), &made->loglik));
        PV_GOTO(fail, pv__alloc(ctx, k, sizeof(double), &made->log_marginal));
    }
    *prediction = made;
    return PV_OK;
fail:
    pv_prediction_free(ctx, made);
    return status;
}

/* ---- the true population ----------------------------------------------------------------------------------------- */

/* The label distribution to which the likelihood must be converted for the true population; NULL: no conversion. */
static const double *true_target(const pv_classifier *c) {
    return pv_loss_of_design(c->loss) ? c->prevalence : NULL;
}

/* log p(y) of the likelihood in the true population; with a posterior, of its mean over the draws. */
static void true_marginal(const pv_classifier *c, double *log_marginal) {
    size_t k = (size_t)c->schema->classes;
    for (size_t y = 0; y < k; y++) {
        double sum = 0;
        if (pv_loss_of_design(c->loss)) {
            log_marginal[y] = log(c->prevalence ? c->prevalence[y] : c->design[y]);
        } else if (!c->posterior) {
            log_marginal[y] = c->log_marginal[y];
        } else {
            for (size_t s = 0; s < c->posterior->count; s++)
                sum += exp(c->draw_log_marginal[s * k + y]);
            log_marginal[y] = log(sum / (double)c->posterior->count);
        }
    }
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

static pv__target home_of(const pv_classifier *c) {
    return (pv__target){.strata = 1, .prevalence = true_target(c)};
}

static pv__target target_of(const pv_classifier *c, const pv_population *population) {
    if (population->strata > 0)
        return (pv__target){population->strata, population->stratum_prevalence, population->share};
    if (population->kind == PV_POPULATION_TRUE)
        return home_of(c);
    return (pv__target){.strata = 1, .prevalence = population->prevalence};
}

/* loglik and log_p may be the same array. */
static pv_status move(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, const pv__target *to,
                      const double *loglik, double *log_p) {
    double *scratch;
    const double *log_marginal = to->strata > 1 ? c->stratified->log_marginal : c->log_marginal;
    PV_TRY(pv__alloc(ctx, 2 * (size_t)c->schema->classes, sizeof *scratch, &scratch));
    pv__adapt(to, c->schema->classes, data->rows, data->stratum, loglik, log_marginal, scratch, log_p);
    pv__free(ctx, scratch);
    return PV_OK;
}

/* Scores of the rows under the models that scored the classifier's reference rows, [folds][rows][labels but the
 * first]. */
static pv_status score_folds(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, double **made) {
    enum { ROOM = 256 };
    const pv_reference *r = c->reference;
    size_t d = (size_t)pv_model_inputs(c->model), logits = (size_t)c->schema->classes - 1, size = r->params / logits;
    size_t skip = d + 1 - size, rows = data->rows;
    double *room;
    PV_TRY(pv__alloc(ctx, rows, r->folds * logits * sizeof **made, made));
    PV_TRY(pv__alloc(ctx, ROOM, d * sizeof *room, &room));
    for (size_t begin = 0; begin < rows; begin += ROOM) {
        size_t n = rows - begin < ROOM ? rows - begin : ROOM;
        const double *x = pv_dataset_rows(ctx, data, begin, n, room);
        for (size_t i = 0; i < n; i++)
            for (size_t k = 0; k < r->folds * logits; k++) {
                const double *w = r->fold + k * size, *at = x + i * d;
                double z = w[0] + (skip ? at[0] : 0);
                for (size_t j = 1; j < size; j++)
                    z += w[j] * at[skip + j - 1];
                (*made)[(k / logits * rows + begin + i) * logits + k % logits] =
                    fmin(fmax(z, -PV_REFERENCE_SCORE), PV_REFERENCE_SCORE);
            }
    }
    pv__free(ctx, room);
    return PV_OK;
}

/* Whether the classifier knows the error of its own risks; otherwise reference rows are used to calibrate them. */
static bool knows_risks(const pv_classifier *c) {
    return c->posterior || c->spread;
}

/* For a linear model: intervals around the risks at its centre, by the delta method. */
static pv_status intervals(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, const pv__target *to,
                           double level, bool more, pv_prediction *out) {
    pv_classifier centre = *c;
    double *log_p;
    if (c->centre)
        centre.w = c->centre;
    PV_TRY(pv__alloc(ctx, data->rows, (size_t)c->schema->classes * sizeof *log_p, &log_p));
    pv_status status = pv_predict_loglik(ctx, &centre, data, log_p);
    if (status == PV_OK)
        status = move(ctx, c, data, to, log_p, log_p);
    if (status == PV_OK)
        status = pv__risk_intervals(ctx, c, data, level, more, log_p, out);
    pv__free(ctx, log_p);
    return status;
}

static pv_unknown_sample sample_of(const pv_classifier *c, const pv_dataset *data, const int32_t *label,
                                   const double *loglik) {
    return (pv_unknown_sample){.n = data->rows,
                               .classes = c->schema->classes,
                               .loglik = loglik,
                               .log_marginal = c->log_marginal,
                               .true_marginal = true_target(c),
                               .label = label,
                               .weight = data->weight,
                               .cluster = data->clustered ? data->group : NULL,
                               .sampling = data->sampling};
}

/* Infers the prevalence of the rows. */
static pv_status infer_prevalence(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data,
                                  const pv_unknown_options *how, const pv_unknown_sample *sample, pv_prediction *out) {
    pv_unknown_options asked = *how;
    double *scores = NULL;
    if (asked.method == PV_UNKNOWN_BINS && asked.reference && asked.reference == c->reference && c->reference->folds) {
        pv_status made = score_folds(ctx, c, data, &scores);
        if (made != PV_OK)
            pv__free(ctx, scores);
        PV_TRY(made);
        asked.fold_score = scores;
        asked.folds = c->reference->folds;
    }
    pv_status status = pv_unknown_infer(ctx, sample, c->schema->labels, &asked, &out->inferred);
    pv__free(ctx, scores);
    PV_TRY(status);
    if (out->inferred->calibrated && c->reference) {
        PV_TRY(pv__shift_columns(ctx, data, sample->label, c->reference, out->inferred, &out->inferred->check));
        pv__shift_together(&out->inferred->check);
    }
    if (knows_risks(c)) {
        pv__free(ctx, out->inferred->reading);
        out->inferred->reading = NULL;
    }
    return PV_OK;
}

/* The mean of its distribution, which is never at a bound. */
static void mean_prevalence(const pv_unknown_prevalence *t, double *mean) {
    size_t k = (size_t)t->classes;
    memcpy(mean, t->value, k * sizeof *mean);
    for (size_t y = 0; y < k && t->points > 1; y++) {
        mean[y] = 0;
        for (size_t j = 0; j < t->points; j++)
            mean[y] += t->weight[j] * t->pi[j * k + y];
    }
}

static pv_status infer_point(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, const pv_unknown_options *how,
                             const int32_t *label, double *loglik, pv_prediction *out) {
    const pv_unknown_sample sample = sample_of(c, data, label, loglik);
    PV_TRY(infer_prevalence(ctx, c, data, how, &sample, out));
    bool as_read = out->inferred->reading != NULL; /* from the calibrated ratios at w */
    if (!as_read)
        PV_TRY(pv__average(ctx, c, data, loglik));
    PV_TRY(pv_unknown_predict(ctx, &sample, out->inferred, out->p, out->log_p, out->lo, out->hi));
    if (as_read)
        PV_TRY(pv__average(ctx, c, data, loglik));
    if (!out->lo || !c->spread)
        return PV_OK;
    double *mean;
    PV_TRY(pv__alloc(ctx, (size_t)sample.classes, sizeof *mean, &mean));
    mean_prevalence(out->inferred, mean);
    const pv__target to = {.strata = 1, .prevalence = mean};
    pv_status status = intervals(ctx, c, data, &to, how->level, true, out);
    pv__free(ctx, mean);
    return status;
}

/* Label counts refer to unweighted rows. */
static pv_status check_counts(pv_ctx *ctx, size_t rows, const double *weight) {
    for (size_t i = 0; weight && i < rows; i++)
        if (weight[i] != 1)
            return pv__fail(
                ctx, PV_ERR_USAGE,
                "`population=counts` needs rows without weights, and row %zu has a weight of %g:\nleave weights out",
                i + 1, weight[i]);
    return PV_OK;
}

pv_status pv__predict_counts(pv_ctx *ctx, const pv_population *population, char *const *labels,
                             const pv_unknown_sample *sample, double *log_p) {
    pv__label_counts counts = {0};
    double evidence;
    pv_status status;
    PV_TRY(check_counts(ctx, sample->n, sample->weight));
    PV_GOTO(done, pv__label_counts_new(ctx, sample->n, sample->classes, population->count, labels, &counts));
    PV_GOTO(done, pv__gate_pass(ctx, PV__GATE_LOG, sample->n, sample->classes, sample->loglik));
    PV_GOTO(done, pv__label_counts_rows(ctx, &counts, sample->loglik, sample->log_marginal, log_p, &evidence));
done:
    pv__label_counts_clear(ctx, &counts);
    return status;
}

/* Predictions without a posterior. */
static pv_status predict_point(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data,
                               const pv_population *population, const pv_unknown_options *how,
                               const pv_predict_options *options, pv_prediction *out) {
    size_t count = data->rows * (size_t)c->schema->classes;
    bool unknown = population->kind == PV_POPULATION_UNKNOWN;
    double *scratch = NULL, *raw = out->loglik ? out->loglik : out->log_p;
    pv_status status;
    if (unknown && !out->loglik) {
        PV_GOTO(done, pv__alloc(ctx, count, sizeof *scratch, &scratch));
        raw = scratch;
    }
    PV_GOTO(done, pv_predict_loglik(ctx, c, data, raw));
    if (!unknown)
        PV_GOTO(done, pv__average(ctx, c, data, raw));
    if (unknown) {
        PV_GOTO(done, infer_point(ctx, c, data, how, options->label, raw, out));
    } else {
        const pv_unknown_sample sample = {.n = data->rows,
                                          .classes = c->schema->classes,
                                          .loglik = raw,
                                          .log_marginal = c->log_marginal,
                                          .weight = data->weight};
        const pv__target to = target_of(c, population);
        PV_GOTO(done, population->kind == PV_POPULATION_COUNTS
                          ? pv__predict_counts(ctx, population, c->schema->labels, &sample, out->log_p)
                          : move(ctx, c, data, &to, raw, out->log_p));
        for (size_t i = 0; i < count; i++)
            out->p[i] = exp(out->log_p[i]);
        if (options->level > 0)
            PV_GOTO(done, intervals(ctx, c, data, &to, options->level, false, out));
    }
    const pv__target home = home_of(c);
    if (out->loglik)
        status = move(ctx, c, data, &home, out->loglik, out->loglik);
done:
    pv__free(ctx, scratch);
    return status;
}

/* What the draws are converted to, and their weights if the rows update them; the caller frees both. */
typedef struct moved_draws {
    pv__drawn_pi unknown;
    double *counted; /* [draws][rows][classes] */
    double *weight;  /* [draws]; NULL: equal */
} moved_draws;

static void moved_clear(pv_ctx *ctx, moved_draws *m) {
    pv__free(ctx, m->unknown.pi);
    pv__free(ctx, m->counted);
    pv__free(ctx, m->weight);
}

enum { ASKED, SPREAD, HOME, OUTPUTS };

/* The prevalence follows from reference rows and not from the draws: each draw gets a random value of its
 * distribution. */
static pv_status draw_found(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, const pv_unknown_options *how,
                            const pv_predict_options *options, pv_prediction *out, pv__drawn_pi *drawn) {
    size_t k = (size_t)c->schema->classes, draws = c->posterior->count, point = 0, *order = NULL;
    double *loglik = NULL, before;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, data->rows, k * sizeof *loglik, &loglik));
    PV_GOTO(done, pv__alloc(ctx, draws, sizeof *order, &order));
    PV_GOTO(done, pv__alloc(ctx, draws, k * sizeof *drawn->pi, &drawn->pi));
    PV_GOTO(done, pv_predict_loglik(ctx, c, data, loglik));
    const pv_unknown_sample sample = sample_of(c, data, options->label, loglik);
    PV_GOTO(done, infer_prevalence(ctx, c, data, how, &sample, out));
    const pv_unknown_prevalence *t = out->inferred;
    for (size_t s = 0; s < draws; s++)
        order[s] = s;
    pv_rng rng = pv_rng_stream((uint64_t)how->seed, PV_STREAM_TARGET_LEVELS, 0);
    pv_rng_shuffle(&rng, draws, order);
    before = t->weight[0];
    for (size_t s = 0; s < draws; s++) {
        while (before < ((double)s + 0.5) / (double)draws && point + 1 < t->points)
            before += t->weight[++point];
        memcpy(drawn->pi + order[s] * k, t->pi + point * k, k * sizeof *drawn->pi);
    }
done:
    pv__free(ctx, loglik);
    pv__free(ctx, order);
    return status;
}

static pv_status move_unknown(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data,
                              const pv_unknown_options *how, const pv_predict_options *options, pv_prediction *out,
                              moved_draws *m, pv__draws_output *output) {
    size_t k = (size_t)c->schema->classes;
    PV_TRY(how->method == PV_UNKNOWN_BINS
               ? draw_found(ctx, c, data, how, options, out, &m->unknown)
               : pv__unknown_draws(ctx, c, data, options->label, how, options->joint, &m->unknown, &out->inferred));
    const double *plugin = m->unknown.plugin;
    m->weight = m->unknown.weight;
    if (options->joint)
        out->effective = m->unknown.effective;
    output[ASKED].to = (pv__target){.strata = 1, .prevalence = plugin ? plugin : m->unknown.pi};
    output[ASKED].stride = k;
    if (plugin && out->lo) { /* the mean uses the plugin value, the interval the draws */
        output[SPREAD] = (pv__draws_output){
            .to = {.strata = 1, .prevalence = m->unknown.pi}, .stride = k, .lo = out->lo, .hi = out->hi};
        output[ASKED].lo = output[ASKED].hi = NULL;
    }
    return PV_OK;
}

static pv_status move_counts(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data,
                             const pv_population *population, const pv_predict_options *options, pv_prediction *out,
                             moved_draws *m, pv__draws_output *output) {
    PV_TRY(check_counts(ctx, data->rows, data->weight));
    PV_TRY(pv__label_counts_draws(ctx, c, data, population->count, &m->counted, &m->weight));
    output[ASKED].given = m->counted;
    if (options->joint)
        return pv__joint_weights(ctx, c->posterior->count, m->weight, &out->effective);
    pv__free(ctx, m->weight);
    m->weight = NULL;
    return PV_OK;
}

static pv_status predict_draws(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data,
                               const pv_population *population, const pv_unknown_options *how,
                               const pv_predict_options *options, pv_prediction *out) {
    size_t k = (size_t)c->schema->classes;
    bool home = population->kind == PV_POPULATION_TRUE;
    pv__draws_output output[OUTPUTS] = {[ASKED] = {.p = out->p, .log_p = out->log_p, .lo = out->lo, .hi = out->hi},
                                        [HOME] = {.to = home_of(c), .log_p = home ? NULL : out->loglik}};
    moved_draws m = {.weight = NULL};
    pv_status status = PV_OK;
    if (population->kind == PV_POPULATION_UNKNOWN) {
        PV_GOTO(done, move_unknown(ctx, c, data, how, options, out, &m, output));
    } else if (population->kind == PV_POPULATION_COUNTS) {
        PV_GOTO(done, move_counts(ctx, c, data, population, options, out, &m, output));
    } else {
        output[ASKED].to = target_of(c, population);
        if (options->joint)
            PV_GOTO(done, pv__joint_shares(ctx, c, data, population->prevalence, &m.weight, &out->effective));
    }
    PV_GOTO(done, pv__predict_draws(ctx, c, data, how->level, m.weight, output, OUTPUTS));
    if (out->loglik && home)
        memcpy(out->loglik, out->log_p, out->rows * k * sizeof *out->loglik);
done:
    moved_clear(ctx, &m);
    return status;
}

static pv_status check(pv_ctx *ctx, const pv_classifier *c, const pv_population *population,
                       const pv_predict_options *options) {
    if (population->classes != c->schema->classes)
        return pv__fail(ctx, PV_ERR_USAGE, "the population has %d labels, the model %d", population->classes,
                        c->schema->classes);
    if (population->strata && (!c->stratified || c->stratified->strata != population->strata))
        return pv__fail(ctx, PV_ERR_USAGE, "the population has %d strata, the model %d", population->strata,
                        c->stratified ? c->stratified->strata : 0);
    if (!(options->level >= 0 && options->level < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "an interval's level must lie between 0 and 1, not %g", options->level);
    return pv__prediction_check(ctx, c, population, options);
}

/* Without strata, or with strata in a population whose prevalence is known. */
static pv_status fill(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, const pv_population *population,
                      const pv_predict_options *options, pv_prediction *made) {
    pv_unknown_options how = population->unknown;
    if (options->level > 0)
        how.level = options->level;
    if (!how.reference)
        how.reference = c->reference;
    bool calibrated = false;
    if (population->kind == PV_POPULATION_UNKNOWN)
        PV_TRY(pv__unknown_is_calibrated(ctx, c->schema->labels, c->schema->classes, &how, &calibrated));
    how = pv__unknown_resolve(&how, calibrated && !options->joint);
    return (c->posterior ? predict_draws : predict_point)(ctx, c, data, population, &how, options, made);
}

pv_status pv__predict_plain(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data,
                            const pv_population *population, const pv_predict_options *options,
                            pv_prediction **prediction) {
    PV_TRY(check(ctx, c, population, options));
    pv_prediction *made;
    PV_TRY(pv__prediction_new(ctx, data->rows, c->schema->classes, options, &made));
    pv_status status;
    if (c->stratified)
        PV_GOTO(fail, pv__predicted_strata_new(ctx, c, population, &made->strata));
    if (c->stratified && population->kind == PV_POPULATION_UNKNOWN)
        PV_GOTO(fail, pv__predict_unknown_strata(ctx, c, data, population, options, made));
    else
        PV_GOTO(fail, fill(ctx, c, data, population, options, made));
    PV_GOTO(fail, pv__gate_predicted(ctx, PV__GATE_SHARES, c, data, made->p));
    PV_GOTO(fail, pv__gate_predicted(ctx, PV__GATE_LOG, c, data, made->log_p));
    PV_GOTO(fail, pv__gate_predicted(ctx, PV__GATE_LOG, c, data, made->loglik));
    PV_GOTO(fail, pv__gate_predicted(ctx, PV__GATE_BOUNDS, c, data, made->lo));
    PV_GOTO(fail, pv__gate_predicted(ctx, PV__GATE_BOUNDS, c, data, made->hi));
    memcpy(made->prevalence, made->inferred ? made->inferred->value : population->prevalence,
           (size_t)c->schema->classes * sizeof(double));
    made->elsewhere = population->kind != PV_POPULATION_TRUE;
    if (made->log_marginal)
        true_marginal(c, made->log_marginal);
    *prediction = made;
    return PV_OK;
fail:
    pv_prediction_free(ctx, made);
    return status;
}

pv_status pv_predict(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                     const pv_population *population, const pv_predict_options *options, pv_prediction **prediction) {
    const pv_predict_options none = {0};
    pv_population *home = NULL;
    pv__head_view head = {.model = NULL};
    *prediction = NULL;
    if (!population)
        PV_TRY(pv_population_new(ctx, classifier, "true", NULL, &home));
    pv_status status = PV_OK;
    if (pv__is_last_layer(classifier)) {
        status = pv__head_of(ctx, classifier, data, &head);
        classifier = &head.classifier;
        data = &head.data;
    }
    if (status == PV_OK)
        status = pv__predict_plain(ctx, classifier, data, population ? population : home, options ? options : &none,
                                   prediction);
    pv__head_clear(ctx, &head);
    pv_population_free(ctx, home);
    return status;
}

pv_status pv_predict_in(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data, const char *text,
                        const pv_predict_options *options, pv_prediction **prediction) {
    pv_population *population;
    *prediction = NULL;
    PV_TRY(pv_population_new(ctx, classifier, text, NULL, &population));
    pv_status status = pv_predict(ctx, classifier, data, population, options, prediction);
    pv_population_free(ctx, population);
    return status;
}
