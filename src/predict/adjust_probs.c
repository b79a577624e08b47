/* Another model's probabilities in a population: Eq. likelihood with selection, with their logarithms instead of the
 * likelihood and the prevalence that they were made for instead of the marginal.
 *
 * Each stratum was made for a prevalence of its own, and is moved to its own, known or inferred from its rows. An
 * unknown prevalence of a stratum whose rows say little of it borrows from the others, as that of a classifier does
 * (unknown_strata.c). Without strata all rows are of one, and are taken where they are.
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

/* ---- the rows of a stratum --------------------------------------------------------------------------------------- */

/* All rows, as they are (row NULL), or those of a stratum, gathered; where there is one alone, as two halves of it, for
 * inference takes two. */
typedef struct part {
    size_t count, n;      /* rows, and entries: 2 for one row that was gathered */
    size_t *row;          /* [count] */
    double *loglik;       /* [n][classes] */
    const double *weight; /* [n]; NULL: 1 */
    const int32_t *label; /* [n]; NULL: none */
    double *p, *lo, *hi;  /* [n][classes]; lo and hi NULL: not wanted */
    double *log_p;        /* [n][classes] */
    double *log_from;     /* [classes] */
} part;

typedef struct work {
    const pv_probs *probs;
    const pv_population *population; /* NULL: where they are */
    const pv_predict_options *options;
    const double *from; /* [strata][classes]; NULL: unknown */
    pv_unknown_options how;
    pv_prediction *made;
    double *block, *shift; /* shift [classes], of all strata alike; NaN: not found yet */
    double *own_weight;    /* [n], of gathered rows */
    int32_t *own_label;
    part part;
} work;

static bool is_unknown(const work *w) {
    return w->population && w->population->kind == PV_POPULATION_UNKNOWN;
}

/* All rows in place, but for the logarithms where these are not asked for. */
static pv_status take_all(pv_ctx *ctx, work *w) {
    size_t n = w->probs->data->rows, k = (size_t)w->probs->classes;
    pv_prediction *made = w->made;
    PV_TRY(pv__alloc(ctx, (made->loglik ? 0 : n * k) + k, sizeof *w->block, &w->block));
    w->part = (part){.count = n,
                     .n = n,
                     .loglik = made->loglik ? made->loglik : w->block + k,
                     .weight = w->probs->data->weight,
                     .label = w->options->label,
                     .p = made->p,
                     .log_p = made->log_p,
                     .lo = made->lo,
                     .hi = made->hi,
                     .log_from = w->block};
    take_logs(n * k, w->probs->p, w->part.loglik);
    if (w->from)
        take_logs(k, w->from, w->part.log_from);
    return PV_OK;
}

static pv_status gather_new(pv_ctx *ctx, work *w) {
    size_t n = w->probs->data->rows + 1, k = (size_t)w->probs->classes;
    PV_TRY(pv__alloc(ctx, 5 * n * k + n + 2 * k, sizeof *w->block, &w->block));
    PV_TRY(pv__alloc(ctx, n, sizeof *w->part.row, &w->part.row));
    PV_TRY(pv__alloc(ctx, n, sizeof *w->own_label, &w->own_label));
    double *at = w->block;
    w->part.loglik = at;
    w->part.p = at += n * k;
    w->part.log_p = at += n * k;
    w->part.lo = w->made->lo ? at + n * k : NULL;
    w->part.hi = w->made->lo ? at + 2 * n * k : NULL;
    w->part.weight = w->own_weight = at += 3 * n * k;
    w->part.log_from = at += n;
    w->part.label = w->options->label ? w->own_label : NULL;
    w->shift = at + k;
    w->shift[0] = (double)NAN;
    return PV_OK;
}

/* Stratum s; -1: all rows. */
static void gather(work *w, int32_t s) {
    const pv_dataset *data = w->probs->data;
    size_t k = (size_t)w->probs->classes;
    part *to = &w->part;
    to->count = 0;
    for (size_t i = 0; i < data->rows; i++)
        if (s < 0 || data->stratum[i] == s)
            to->row[to->count++] = i;
    to->n = to->count == 1 ? 2 : to->count;
    for (size_t j = 0; j < to->n; j++) {
        size_t i = to->row[to->count == 1 ? 0 : j];
        take_logs(k, w->probs->p + i * k, to->loglik + j * k);
        w->own_weight[j] = (data->weight ? data->weight[i] : 1) * (to->count == 1 ? 0.5 : 1);
        w->own_label[j] = w->options->label ? w->options->label[i] : -1;
    }
    if (s >= 0)
        memcpy(to->log_from, w->made->strata->log_marginal + (size_t)s * k, k * sizeof *to->log_from);
}

static void put_rows(const part *from, size_t k, const double *value, double *to) {
    for (size_t j = 0; to && value && j < from->count; j++)
        memcpy(to + from->row[j] * k, value + j * k, k * sizeof *to);
}

static void scatter(const work *w) {
    size_t k = (size_t)w->probs->classes;
    put_rows(&w->part, k, w->part.p, w->made->p);
    put_rows(&w->part, k, w->part.log_p, w->made->log_p);
    put_rows(&w->part, k, w->part.lo, w->made->lo);
    put_rows(&w->part, k, w->part.hi, w->made->hi);
    put_rows(&w->part, k, w->part.loglik, w->made->loglik);
}

/* ---- moving them ------------------------------------------------------------------------------------------------- */

static pv_unknown_sample sample_of(const work *w) {
    return (pv_unknown_sample){.n = w->part.n,
                               .classes = w->probs->classes,
                               .loglik = w->part.loglik,
                               .log_marginal = w->part.log_from,
                               .label = w->part.label,
                               .weight = w->part.weight};
}

static pv_status predict_unknown(pv_ctx *ctx, const work *w, const pv_unknown_prevalence *found) {
    const pv_unknown_sample sample = sample_of(w);
    return pv_unknown_predict(ctx, &sample, found, w->part.p, w->part.log_p, w->part.lo, w->part.hi);
}

static pv_status predict_known(pv_ctx *ctx, const work *w, double *prevalence) {
    const pv_unknown_prevalence known = {.classes = w->probs->classes, .plugin = prevalence};
    const pv_unknown_sample sample = sample_of(w);
    if (w->how.reference) {
        pv_reading reading;
        PV_TRY(pv_reference_read(ctx, w->how.reference, &reading));
        pv__reading_predict(&reading, &sample, pv_logit(prevalence[1]), w->options->level, w->part.log_p, w->part.p,
                            w->part.lo, w->part.hi);
        return PV_OK;
    }
    pv_adapt(w->part.n, w->probs->classes, w->part.loglik, w->part.log_from, prevalence, w->part.log_p);
    return pv_unknown_predict(ctx, &sample, &known, w->part.p, NULL, NULL, NULL);
}

static pv_status predict_counts(pv_ctx *ctx, const work *w) {
    const pv_unknown_sample sample = sample_of(w);
    PV_TRY(pv__predict_counts(ctx, w->population, w->probs->labels, &sample, w->part.log_p));
    for (size_t i = 0; i < w->part.n * (size_t)w->probs->classes; i++)
        w->part.p[i] = exp(w->part.log_p[i]);
    return PV_OK;
}

/* All rows, for the mean of what they were made for: the shift that strata have in common. */
static pv_status find_shift(pv_ctx *ctx, work *w) {
    const pv_predicted_strata *strata = w->made->strata;
    size_t k = (size_t)w->probs->classes;
    pv_unknown_prevalence *found;
    if (!isnan(w->shift[0]))
        return PV_OK;
    gather(w, -1);
    memset(w->part.log_from, 0, k * sizeof *w->part.log_from);
    for (size_t i = 0; i < (size_t)strata->strata * k; i++)
        w->part.log_from[i % k] += strata->share[i / k] * w->from[i];
    take_logs(k, w->part.log_from, w->part.log_from);
    const pv_unknown_sample sample = sample_of(w);
    PV_TRY(pv_unknown_infer(ctx, &sample, w->probs->labels, &w->how, &found));
    for (size_t y = 0; y < k; y++)
        w->shift[y] = found->value[y] / exp(w->part.log_from[y]);
    pv_unknown_prevalence_free(ctx, found);
    return PV_OK;
}

/* From the stratum's own rows, and where they say little from all. */
static pv_status infer_stratum(pv_ctx *ctx, work *w, size_t s) {
    pv_predicted_strata *strata = w->made->strata;
    pv_unknown_sample sample = sample_of(w);
    char *prior = NULL;
    PV_TRY(pv_unknown_infer(ctx, &sample, w->probs->labels, &w->how, &strata->inferred[s]));
    if (!pv__strata_may_borrow(&w->how, strata->inferred[s]))
        return PV_OK;
    PV_TRY(find_shift(ctx, w));
    gather(w, (int32_t)s);
    sample = sample_of(w);
    PV_TRY(pv__strata_borrow(ctx, (size_t)w->probs->classes, w->part.log_from, w->shift, &prior));
    pv_unknown_options how = w->how;
    how.dirichlet = prior;
    pv_unknown_prevalence_free(ctx, strata->inferred[s]);
    strata->inferred[s] = NULL;
    pv_status status = pv_unknown_infer(ctx, &sample, w->probs->labels, &how, &strata->inferred[s]);
    pv__free(ctx, prior);
    PV_TRY(status);
    strata->pooled[s] = true;
    return PV_OK;
}

static pv_status move_stratum(pv_ctx *ctx, work *w, size_t s) {
    gather(w, (int32_t)s);
    if (w->part.count == 0)
        return PV_OK;
    if (is_unknown(w)) {
        PV_TRY(infer_stratum(ctx, w, s));
        PV_TRY(predict_unknown(ctx, w, w->made->strata->inferred[s]));
    } else {
        PV_TRY(predict_known(ctx, w, w->made->strata->prevalence + s * (size_t)w->probs->classes));
    }
    scatter(w);
    return PV_OK;
}

static pv_status move_strata(pv_ctx *ctx, work *w) {
    PV_TRY(gather_new(ctx, w));
    for (size_t s = 0; s < (size_t)w->made->strata->strata; s++)
        PV_TRY(move_stratum(ctx, w, s));
    if (!is_unknown(w))
        return PV_OK;
    const pv_unknown_options how = pv__unknown_resolve(&w->how, false);
    PV_TRY(pv__unknown_new(ctx, w->probs->classes, &how, &w->made->inferred));
    pv__strata_join(w->made->strata, w->made->inferred);
    return PV_OK;
}

static pv_status move_all(pv_ctx *ctx, work *w) {
    const pv_unknown_sample sample = sample_of(w);
    if (w->population->kind == PV_POPULATION_COUNTS)
        return predict_counts(ctx, w);
    if (!is_unknown(w))
        return predict_known(ctx, w, w->population->prevalence);
    PV_TRY(pv_unknown_infer(ctx, &sample, w->probs->labels, &w->how, &w->made->inferred));
    return predict_unknown(ctx, w, w->made->inferred);
}

/* ---- what is said of them ---------------------------------------------------------------------------------------- */

static pv_status strata_new(pv_ctx *ctx, const pv_probs *probs, const pv_population *population, bool unknown,
                            pv_predicted_strata **made) {
    size_t k = (size_t)probs->classes, strata = (size_t)probs->strata->count;
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    pv_predicted_strata *to = *made;
    to->strata = probs->strata->count;
    PV_TRY(pv__names_copy(ctx, (const char *const *)probs->strata->name, strata, &to->name));
    PV_TRY(pv__alloc(ctx, strata, (1 + 2 * k) * sizeof(double), &to->share)); /* all three; freed by it */
    to->prevalence = to->share + strata;
    to->log_marginal = to->prevalence + strata * k;
    pv__strata_shares(probs->data, to);
    bool moved = population && population->stratum_prevalence;
    memcpy(to->prevalence, moved ? population->stratum_prevalence : probs->from, strata * k * sizeof(double));
    for (size_t i = 0; i < strata * k; i++)
        to->log_marginal[i] = log(probs->from[i]);
    if (!unknown)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, strata, sizeof *to->inferred, &to->inferred));
    return pv__alloc(ctx, strata, sizeof *to->pooled, &to->pooled);
}

/* Prevalences of all rows together: without strata the one; of strata their mean over the rows. */
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
    if (probs->strata && population && population->strata == 0 && population->kind == PV_POPULATION_KNOWN)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "the probabilities have strata, and the population one prevalence:\ngive one for each stratum");
    if (population && population->kind != PV_POPULATION_TRUE && !from && !probs->strata)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "the prevalence that the probabilities were made for is unknown:\nstate it (`from`)");
    if (!(options->level >= 0 && options->level < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "an interval's level must lie between 0 and 1, not %g", options->level);
    if (options->joint)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`posterior=joint` is for a model with a posterior, which probabilities have not");
    bool read = population && population->kind == PV_POPULATION_KNOWN && population->unknown.reference;
    if (options->level > 0 && !read && (!population || population->kind != PV_POPULATION_UNKNOWN))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`interval` is for a population of unknown prevalence, or for labelled rows that say how "
                        "probabilities are to be read (`labelled-sample`):\nleave it out");
    if (read && (probs->strata || probs->classes != 2))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "labelled rows (`labelled-sample`) are for two labels and no strata:\nleave them out");
    return PV_OK;
}

static pv_status check_strata(pv_ctx *ctx, const pv_probs *probs, const pv_population *population) {
    if (!probs->from)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "the prevalences that the strata's probabilities were made for are unknown:\nstate them (`from`)");
    if (population && population->strata && population->strata != probs->strata->count)
        return pv__fail(ctx, PV_ERR_USAGE, "the population has %d strata, the probabilities %d", population->strata,
                        (int)probs->strata->count);
    if (population && population->kind == PV_POPULATION_COUNTS)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "label counts do not support strata;\ngive a prevalence for each stratum, or unknown");
    if (population && population->kind == PV_POPULATION_UNKNOWN &&
        (population->unknown.method == PV_UNKNOWN_BBSE || population->unknown.reference))
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`labelled-sample` and `method=bbse` do not support strata:\nleave them out and choose `method=exact`");
    return PV_OK;
}

static pv_status predict_all(pv_ctx *ctx, work *w) {
    pv_prediction *made = w->made;
    size_t count = made->rows * (size_t)w->probs->classes;
    if (w->probs->strata)
        PV_TRY(strata_new(ctx, w->probs, w->population, is_unknown(w), &made->strata));
    if (w->probs->strata && w->population)
        return move_strata(ctx, w);
    PV_TRY(take_all(ctx, w));
    if (w->population)
        return move_all(ctx, w);
    memcpy(made->log_p, w->part.loglik, count * sizeof *made->log_p);
    memcpy(made->p, w->probs->p, count * sizeof *made->p);
    return PV_OK;
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
    if (probs->strata)
        PV_TRY(check_strata(ctx, probs, population));
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
    pv__free(ctx, w.part.row);
    pv__free(ctx, w.own_label);
    return status;
}

/* ---- labelled rows, to learn from -------------------------------------------------------------------------------- */

/* A sample and the memory of its logarithms. */
typedef struct source {
    pv_unknown_sample sample;
    double *logs; /* [n][classes] */
} source;

/* By a classifier. */
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
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`labelled-sample`: reference rows calibrate a model of two labels, this has %d",
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
