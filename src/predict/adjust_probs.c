/* Converts another model's probabilities to a population: Eq. likelihood with selection, with the logarithms of the
 * probabilities in place of the likelihood, and the prevalence they were made for in place of the marginal.
 *
 * With strata, the probabilities of each were made for its own prevalence and are converted to its own, known or
 * inferred from its rows (each_stratum.c). Without strata all rows are used in place.
 */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/text.h"
#include "data/data.h"
#include "predict/predict.h"

static void take_logs(size_t n, const double *p, double *logs) {
    for (size_t i = 0; i < n; i++)
        logs[i] = log(p[i]);
}

typedef struct work {
    const pv_probs *probs;
    const pv_population *population; /* NULL: no conversion */
    const pv_predict_options *options;
    const double *from; /* [strata][classes]; NULL: unknown */
    pv_unknown_options how;
    pv_prediction *made;
    double *block;             /* log_from, and loglik if it is not part of made */
    double *log_from, *loglik; /* [classes], [n][classes] */
} work;

static bool is_unknown(const work *w) {
    return w->population && w->population->kind == PV_POPULATION_UNKNOWN;
}

/* ---- rows of one prevalence -------------------------------------------------------------------------------------- */

static pv_unknown_sample sample_of(const work *w) {
    return (pv_unknown_sample){.n = w->probs->data->rows,
                               .classes = w->probs->classes,
                               .loglik = w->loglik,
                               .log_marginal = w->log_from,
                               .label = w->options->label,
                               .weight = w->probs->data->weight};
}

static pv_status predict_unknown(pv_ctx *ctx, const work *w) {
    const pv_unknown_sample sample = sample_of(w);
    pv_prediction *made = w->made;
    PV_TRY(pv_unknown_infer(ctx, &sample, w->probs->labels, &w->how, &made->inferred));
    return pv_unknown_predict(ctx, &sample, made->inferred, made->p, made->log_p, made->lo, made->hi);
}

static pv_status predict_known(pv_ctx *ctx, const work *w) {
    double *prevalence = w->population->prevalence;
    const pv_unknown_prevalence known = {.classes = w->probs->classes, .plugin = prevalence};
    const pv_unknown_sample sample = sample_of(w);
    pv_prediction *made = w->made;
    if (w->how.reference) {
        pv_reading reading;
        PV_TRY(pv_reference_read(ctx, w->how.reference, &reading));
        pv__reading_predict(&reading, &sample, pv_logit(prevalence[1]), w->options->level, made->log_p, made->p,
                            made->lo, made->hi);
        return PV_OK;
    }
    pv_adapt(sample.n, sample.classes, w->loglik, w->log_from, prevalence, made->log_p);
    return pv_unknown_predict(ctx, &sample, &known, made->p, NULL, NULL, NULL);
}

static pv_status predict_counts(pv_ctx *ctx, const work *w) {
    const pv_unknown_sample sample = sample_of(w);
    PV_TRY(pv__predict_counts(ctx, w->population, w->probs->labels, &sample, w->made->log_p));
    for (size_t i = 0; i < sample.n * (size_t)sample.classes; i++)
        w->made->p[i] = exp(w->made->log_p[i]);
    return PV_OK;
}

/* All rows in place; their logarithms are kept only if these are wanted. */
static pv_status move_all(pv_ctx *ctx, work *w) {
    size_t n = w->probs->data->rows, k = (size_t)w->probs->classes;
    pv_prediction *made = w->made;
    PV_TRY(pv__alloc(ctx, (made->loglik ? 0 : n * k) + k, sizeof *w->block, &w->block));
    w->log_from = w->block;
    w->loglik = made->loglik ? made->loglik : w->block + k;
    take_logs(n * k, w->probs->p, w->loglik);
    if (w->from)
        take_logs(k, w->from, w->log_from);
    if (!w->population) {
        memcpy(made->log_p, w->loglik, n * k * sizeof *made->log_p);
        memcpy(made->p, w->probs->p, n * k * sizeof *made->p);
        return PV_OK;
    }
    return is_unknown(w)                                 ? predict_unknown(ctx, w)
           : w->population->kind == PV_POPULATION_COUNTS ? predict_counts(ctx, w)
                                                         : predict_known(ctx, w);
}

/* ---- strata, each of one prevalence ------------------------------------------------------------------------------ */

/* The mean of the prevalences that the strata were made for, [classes]. */
static void mean_from(const work *w, double *mean) {
    const pv_predicted_strata *strata = w->made->strata;
    size_t k = (size_t)w->probs->classes;
    memset(mean, 0, k * sizeof *mean);
    for (size_t i = 0; i < (size_t)strata->strata * k; i++)
        mean[i % k] += strata->share[i / k] * w->from[i];
}

/* Predicts the rows as probabilities without strata. */
static pv_status predict_part(pv_ctx *ctx, void *state, const pv__stratum_rows *rows, const char *prior,
                              pv_prediction **made) {
    const work *w = state;
    const pv_probs *probs = w->probs;
    size_t k = (size_t)probs->classes, n = rows->n;
    double *memory;
    PV_TRY(pv__alloc(ctx, n + 1, (1 + k) * sizeof *memory, &memory));
    double *weight = memory, *p = weight + n, *from = p + n * k;
    for (size_t j = 0; j < n; j++) {
        size_t i = rows->row ? rows->row[j] : j;
        memcpy(p + j * k, probs->p + i * k, k * sizeof *p);
        weight[j] = (probs->data->weight ? probs->data->weight[i] : 1) * (rows->halved ? 0.5 : 1);
    }
    mean_from(w, from);
    pv_dataset data = {.rows = n, .classes = probs->classes, .weight = weight};
    const pv_probs part = {.data = &data, .classes = probs->classes, .labels = probs->labels, .p = p};
    pv_population population = *w->population;
    pv_predict_options options = *w->options;
    population.strata = 0;
    options.label = rows->label;
    if (prior)
        population.unknown.dirichlet = prior;
    if (rows->stratum >= 0) {
        memcpy(from, w->from + (size_t)rows->stratum * k, k * sizeof *from);
        population.prevalence = w->made->strata->prevalence + (size_t)rows->stratum * k;
    }
    pv_status status = pv_predict_probs(ctx, &part, from, &population, &options, made);
    pv__free(ctx, memory);
    return status;
}

static pv_status move_strata(pv_ctx *ctx, work *w) {
    size_t k = (size_t)w->probs->classes;
    PV_TRY(pv__alloc(ctx, k, sizeof *w->block, &w->block));
    w->log_from = w->block;
    mean_from(w, w->log_from);
    take_logs(k, w->log_from, w->log_from);
    const pv__by_stratum by = {.data = w->probs->data,
                               .label = w->options->label,
                               .how = &w->how,
                               .log_marginal = w->log_from,
                               .stratum_log_marginal = w->made->strata->log_marginal,
                               .predict = predict_part,
                               .state = w};
    return pv__each_stratum(ctx, &by, w->made);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static pv_status strata_new(pv_ctx *ctx, const work *w, pv_predicted_strata **made) {
    const pv_probs *probs = w->probs;
    size_t cells = (size_t)probs->strata->count * (size_t)probs->classes;
    PV_TRY(pv__predicted_strata_room(ctx, probs->strata, probs->classes, is_unknown(w), made));
    pv_predicted_strata *to = *made;
    pv__strata_shares(probs->data, to);
    bool moved = w->population && w->population->stratum_prevalence;
    memcpy(to->prevalence, moved ? w->population->stratum_prevalence : probs->from, cells * sizeof(double));
    take_logs(cells, probs->from, to->log_marginal);
    return PV_OK;
}

/* Prevalences of all rows together: that of the only stratum, or the mean of the strata over the rows. */
static void state_prevalence(const work *w, pv_prediction *made) {
    const pv_predicted_strata *strata = made->strata;
    size_t k = (size_t)w->probs->classes;
    for (size_t y = 0; y < k; y++) {
        double prevalence = 0, from = 0;
        for (size_t s = 0; strata && s < (size_t)strata->strata; s++) {
            prevalence += strata->share[s] > 0 ? strata->share[s] * strata->prevalence[s * k + y] : 0;
            from += strata->share[s] * w->from[s * k + y];
        }
        if (!strata) {
            from = w->from[y];
            prevalence = made->inferred  ? made->inferred->value[y]
                         : w->population ? w->population->prevalence[y]
                                         : from;
        }
        made->prevalence[y] = prevalence;
        if (made->log_marginal)
            made->log_marginal[y] = log(from);
    }
}

static pv_status check_asked(pv_ctx *ctx, const pv_probs *probs, const double *from, const pv_population *population,
                             const pv_predict_options *options) {
    pv_prevalence stated = {.classes = probs->classes, .prevalence = from};
    if (from)
        PV_TRY(pv_prevalence_check(ctx, &stated));
    if (population && population->classes != probs->classes)
        return pv__fail(ctx, PV_ERR_USAGE, "the population has %d labels, the probabilities %d", population->classes,
                        probs->classes);
    if (!(options->level >= 0 && options->level < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "an interval's level must lie between 0 and 1, not %g", options->level);
    if (probs->strata && population && population->strata && population->strata != probs->strata->count)
        return pv__fail(ctx, PV_ERR_USAGE, "the population has %d strata, the probabilities %d", population->strata,
                        (int)probs->strata->count);
    const pv_population home = {.kind = PV_POPULATION_TRUE, .classes = probs->classes};
    return pv__adjustment_check(ctx, probs, (probs->strata ? probs->from : from) != NULL,
                                population ? population : &home, options);
}

static pv_status predict_all(pv_ctx *ctx, work *w) {
    if (w->probs->strata)
        PV_TRY(strata_new(ctx, w, &w->made->strata));
    return w->probs->strata && w->population ? move_strata(ctx, w) : move_all(ctx, w);
}

pv_status pv_predict_probs(pv_ctx *ctx, const pv_probs *probs, const double *from, const pv_population *population,
                           const pv_predict_options *options, pv_prediction **prediction) {
    const pv_predict_options asked = options ? *options : pv_predict_options_default();
    bool home = !population || population->kind == PV_POPULATION_TRUE;
    work w = {.probs = probs,
              .population = home ? NULL : population,
              .options = &asked,
              .from = probs->strata ? probs->from : from,
              .how = home ? pv_unknown_options_default() : population->unknown};
    pv_status status;
    *prediction = NULL;
    PV_TRY(check_asked(ctx, probs, from, population, &asked));
    if (asked.level > 0)
        w.how.level = asked.level;
    PV_GOTO(done, pv__prediction_new(ctx, probs->data->rows, probs->classes, &asked, &w.made));
    w.made->elsewhere = !home;
    PV_GOTO(done, predict_all(ctx, &w));
    if (w.from) {
        state_prevalence(&w, w.made);
    } else {
        pv__free(ctx, w.made->prevalence);
        pv__free(ctx, w.made->log_marginal);
        w.made->prevalence = w.made->log_marginal = NULL;
    }
    *prediction = w.made;
    w.made = NULL;
done:
    pv_prediction_free(ctx, w.made);
    pv__free(ctx, w.block);
    return status;
}

/* ---- labelled rows for calibration ------------------------------------------------------------------------------- */

/* A sample that owns its logarithms. */
typedef struct source {
    pv_unknown_sample sample;
    double *logs; /* [n][classes] */
} source;

/* From a classifier. */
static pv_status source_of_model(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, source *made) {
    PV_TRY(pv__alloc(ctx, data->rows, (size_t)c->schema->classes * sizeof *made->logs, &made->logs));
    made->sample = (pv_unknown_sample){.n = data->rows,
                                       .classes = c->schema->classes,
                                       .loglik = made->logs,
                                       .log_marginal = c->log_marginal,
                                       .label = data->label,
                                       .weight = data->weight};
    return pv_predict_loglik(ctx, c, data, made->logs);
}

static pv_status source_of_probs(pv_ctx *ctx, const pv_probs *probs, const double *from, source *made) {
    size_t k = (size_t)probs->classes, rows = probs->data->rows;
    PV_TRY(pv__alloc(ctx, rows + 1, k * sizeof *made->logs, &made->logs)); /* the last row holds the prevalence */
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

/* ---- confusion matrix of bbse ------------------------------------------------------------------------------------ */

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

/* The rows are from the population with prevalence `from`: their own probabilities serve as soft labels. */
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
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`labelled-sample`: reference rows calibrate a model of two labels; this one has %d",
                        sample->classes);
    if (!sample->label)
        return pv__fail(ctx, PV_ERR_USAGE, "`labelled-sample`: reference rows are labelled ones; these have no labels");
    PV_TRY(pv__gate_pass(ctx, PV__GATE_LOG, sample->n, 2, sample->loglik));
    PV_TRY(pv__alloc(ctx, sample->n, sizeof *score, &score));
    for (size_t i = 0; i < sample->n; i++)
        score[i] = pv__score_of(sample, i);
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
