/* Another model's probabilities whose rows are of strata: each stratum was made for a prevalence of its own, and is
 * moved to its own, known or inferred from its rows. An unknown prevalence of a stratum whose rows say little of it
 * borrows from the others, as that of a classifier does (unknown_strata.c).
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/text.h"
#include "data/data.h"
#include "predict/predict.h"

/* ---- strata of the rows ------------------------------------------------------------------------------------------ */

/* What reads files of strata wants to know of the data. Borrowed from the probabilities. */
static pv_schema schema_of(const pv_probs *probs) {
    return (pv_schema){.labels = probs->labels, .classes = probs->classes, .strata = probs->strata};
}

pv_status pv_probs_from_read(pv_ctx *ctx, pv_probs *probs, const char *from, const pv_csv_options *csv) {
    if (!probs->strata || probs->from)
        return pv__fail(ctx, PV_ERR_USAGE, "the probabilities have no strata, or have what they were made for already");
    size_t k = (size_t)probs->classes, strata = (size_t)probs->strata->count;
    const pv_schema schema = schema_of(probs);
    bool file = access(from, R_OK) == 0;
    double *made;
    PV_TRY(pv__alloc(ctx, strata, k * sizeof *made, &made));
    pv_status status = file ? pv_prevalences_read(ctx, from, csv, &schema, made)
                            : pv_prevalence_parse_one(ctx, "`from`", from, probs->labels, probs->classes, made);
    if (status != PV_OK) {
        pv__free(ctx, made);
        return status;
    }
    for (size_t s = 1; !file && s < strata; s++)
        memcpy(made + s * k, made, k * sizeof *made);
    probs->from = made;
    return PV_OK;
}

pv_status pv_probs_strata_set(pv_ctx *ctx, pv_probs *probs, int strata, const char *const *names,
                              const int32_t *stratum, const double *from) {
    size_t rows = probs->data->rows, k = (size_t)probs->classes;
    if (probs->strata)
        return pv__fail(ctx, PV_ERR_USAGE, "the probabilities have strata already");
    for (size_t i = 0; i < rows; i++)
        if (stratum[i] < 0 || stratum[i] >= strata)
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu is of stratum %d; there are %d, numbered from 0", i + 1,
                            (int)stratum[i], strata);
    for (int s = 0; s < strata; s++) {
        const pv_prevalence one = {.classes = probs->classes, .prevalence = from + (size_t)s * k};
        PV_TRY(pv_prevalence_check(ctx, &one));
    }
    pv_strata *made = NULL;
    int32_t *own = NULL;
    double *own_from = NULL;
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, 1, sizeof *made, &made));
    made->count = strata; /* before the names: what there is of them is freed by it */
    PV_GOTO(fail, pv__names_copy(ctx, names, (size_t)strata, &made->name));
    PV_GOTO(fail, pv__alloc(ctx, rows, sizeof *own, &own));
    PV_GOTO(fail, pv__alloc(ctx, (size_t)strata, k * sizeof *own_from, &own_from));
    memcpy(own, stratum, rows * sizeof *own);
    memcpy(own_from, from, (size_t)strata * k * sizeof *own_from);
    probs->strata = made;
    probs->data->stratum = own;
    probs->from = own_from;
    return PV_OK;
fail:
    pv__strata_free(ctx, made);
    pv__free(ctx, own);
    return status;
}

/* ---- populations ------------------------------------------------------------------------------------------------- */

pv_status pv_population_known_strata(pv_ctx *ctx, const pv_probs *probs, const double *prevalence,
                                     pv_population **population) {
    *population = NULL;
    if (!probs->strata)
        return pv__fail(ctx, PV_ERR_USAGE, "the probabilities have no strata");
    size_t k = (size_t)probs->classes, strata = (size_t)probs->strata->count;
    for (size_t s = 0; s < strata; s++) {
        const pv_prevalence one = {.classes = probs->classes, .prevalence = prevalence + s * k};
        PV_TRY(pv_prevalence_check(ctx, &one));
    }
    pv_predicted_strata rows = {.strata = probs->strata->count};
    PV_TRY(pv__alloc(ctx, strata, sizeof *rows.share, &rows.share));
    pv__strata_shares(probs->data, &rows);
    pv_status status = pv__population_strata(ctx, PV_POPULATION_KNOWN, rows.strata, probs->classes, rows.share,
                                             prevalence, population);
    pv__free(ctx, rows.share);
    return status;
}

pv_status pv_population_strata_read(pv_ctx *ctx, const pv_probs *probs, const char *path, const pv_csv_options *csv,
                                    pv_population **population) {
    *population = NULL;
    if (!probs->strata)
        return pv__fail(ctx, PV_ERR_USAGE, "the probabilities have no strata");
    const pv_schema schema = schema_of(probs);
    double *prevalence;
    if (access(path, R_OK) != 0)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`population` known:%s: with `strata` give a file that can be read, with a prevalence for each",
                        pv__show(path).text);
    PV_TRY(pv__alloc(ctx, (size_t)probs->strata->count, (size_t)probs->classes * sizeof *prevalence, &prevalence));
    pv_status status = pv_prevalences_read(ctx, path, csv, &schema, prevalence);
    if (status == PV_OK)
        status = pv_population_known_strata(ctx, probs, prevalence, population);
    pv__free(ctx, prevalence);
    return status;
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

/* The rows of a stratum; where there is one alone, as two halves of it, for inference takes two. */
typedef struct part {
    size_t count, n;     /* rows, and entries: 2 for one row */
    size_t *row;         /* [count] */
    double *loglik;      /* [n][classes] */
    double *weight;      /* [n] */
    int32_t *label;      /* [n] */
    double *p, *lo, *hi; /* [n][classes] */
    double *log_p;       /* [n][classes] */
    double *log_from;    /* [classes] */
} part;

typedef struct work {
    const pv_probs *probs;
    const pv_population *population;
    const pv_predict_options *options;
    pv_unknown_options how;
    pv_prediction *made;
    double *block, *shift; /* shift [classes], of all strata alike; NaN: not found yet */
    part part;
} work;

static pv_status part_new(pv_ctx *ctx, work *w) {
    size_t n = w->probs->data->rows + 1, k = (size_t)w->probs->classes;
    PV_TRY(pv__alloc(ctx, 5 * n * k + n + 2 * k, sizeof *w->block, &w->block));
    PV_TRY(pv__alloc(ctx, n, sizeof *w->part.row, &w->part.row));
    PV_TRY(pv__alloc(ctx, n, sizeof *w->part.label, &w->part.label));
    w->part.loglik = w->block;
    w->part.p = w->part.loglik + n * k;
    w->part.log_p = w->part.p + n * k;
    w->part.lo = w->part.log_p + n * k;
    w->part.hi = w->part.lo + n * k;
    w->part.weight = w->part.hi + n * k;
    w->part.log_from = w->part.weight + n;
    w->shift = w->part.log_from + k;
    w->shift[0] = (double)NAN;
    return PV_OK;
}

/* Stratum s; -1: all rows. */
static void part_take(work *w, int32_t s) {
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
        for (size_t y = 0; y < k; y++)
            to->loglik[j * k + y] = log(w->probs->p[i * k + y]);
        to->weight[j] = (data->weight ? data->weight[i] : 1) * (to->count == 1 ? 0.5 : 1);
        to->label[j] = w->options->label ? w->options->label[i] : -1;
    }
}

static pv_unknown_sample sample_of(const work *w) {
    return (pv_unknown_sample){.n = w->part.n,
                               .classes = w->probs->classes,
                               .loglik = w->part.loglik,
                               .log_marginal = w->part.log_from,
                               .label = w->options->label ? w->part.label : NULL,
                               .weight = w->part.weight};
}

/* All rows, for the mean of what they were made for: the shift that strata have in common. */
static pv_status find_shift(pv_ctx *ctx, work *w) {
    const pv_predicted_strata *strata = w->made->strata;
    size_t k = (size_t)w->probs->classes;
    pv_unknown_prevalence *found;
    if (!isnan(w->shift[0]))
        return PV_OK;
    part_take(w, -1);
    memset(w->part.log_from, 0, k * sizeof *w->part.log_from);
    for (size_t i = 0; i < (size_t)strata->strata * k; i++)
        w->part.log_from[i % k] += strata->share[i / k] * w->probs->from[i];
    for (size_t y = 0; y < k; y++)
        w->part.log_from[y] = log(w->part.log_from[y]);
    const pv_unknown_sample sample = sample_of(w);
    PV_TRY(pv_unknown_infer(ctx, &sample, w->probs->labels, &w->how, &found));
    for (size_t y = 0; y < k; y++)
        w->shift[y] = found->value[y] / exp(w->part.log_from[y]);
    pv_unknown_prevalence_free(ctx, found);
    return PV_OK;
}

static pv_status infer_one(pv_ctx *ctx, work *w, size_t s) {
    pv_predicted_strata *strata = w->made->strata;
    size_t k = (size_t)w->probs->classes;
    pv_unknown_sample sample = sample_of(w);
    char *prior = NULL;
    PV_TRY(pv_unknown_infer(ctx, &sample, w->probs->labels, &w->how, &strata->inferred[s]));
    if (pv__strata_may_borrow(&w->how, strata->inferred[s])) {
        PV_TRY(find_shift(ctx, w));
        part_take(w, (int32_t)s);
        memcpy(w->part.log_from, strata->log_marginal + s * k, k * sizeof *w->part.log_from);
        sample = sample_of(w);
        PV_TRY(pv__strata_borrow(ctx, k, w->part.log_from, w->shift, &prior));
        pv_unknown_options how = w->how;
        how.dirichlet = prior;
        pv_unknown_prevalence_free(ctx, strata->inferred[s]);
        strata->inferred[s] = NULL;
        pv_status status = pv_unknown_infer(ctx, &sample, w->probs->labels, &how, &strata->inferred[s]);
        pv__free(ctx, prior);
        PV_TRY(status);
        strata->pooled[s] = true;
    }
    return pv_unknown_predict(ctx, &sample, strata->inferred[s], w->part.p, w->part.log_p,
                              w->made->lo ? w->part.lo : NULL, w->made->lo ? w->part.hi : NULL);
}

static void put_rows(const part *from, size_t k, const double *value, double *to) {
    for (size_t j = 0; to && j < from->count; j++)
        memcpy(to + from->row[j] * k, value + j * k, k * sizeof *to);
}

static pv_status predict_one(pv_ctx *ctx, work *w, size_t s) {
    pv_predicted_strata *strata = w->made->strata;
    size_t k = (size_t)w->probs->classes;
    part_take(w, (int32_t)s);
    if (w->part.count == 0)
        return PV_OK;
    memcpy(w->part.log_from, strata->log_marginal + s * k, k * sizeof *w->part.log_from);
    if (strata->inferred) {
        PV_TRY(infer_one(ctx, w, s));
    } else {
        double *to = w->population ? w->population->stratum_prevalence + s * k : strata->prevalence + s * k;
        const pv_unknown_prevalence known = {.classes = w->probs->classes, .plugin = to};
        const pv_unknown_sample sample = sample_of(w);
        pv_adapt(w->part.n, w->probs->classes, w->part.loglik, w->part.log_from, to, w->part.log_p);
        PV_TRY(pv_unknown_predict(ctx, &sample, &known, w->part.p, NULL, NULL, NULL));
    }
    put_rows(&w->part, k, w->part.p, w->made->p);
    put_rows(&w->part, k, w->part.log_p, w->made->log_p);
    put_rows(&w->part, k, w->part.lo, w->made->lo);
    put_rows(&w->part, k, w->part.hi, w->made->hi);
    put_rows(&w->part, k, w->part.loglik, w->made->loglik);
    return PV_OK;
}

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

static pv_status check(pv_ctx *ctx, const pv_probs *probs, const pv_population *population) {
    if (!probs->from)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "the prevalences that the strata's probabilities were made for are unknown: "
                        "state them (`from`)");
    if (population && population->strata && population->strata != probs->strata->count)
        return pv__fail(ctx, PV_ERR_USAGE, "the population has %d strata, the probabilities %d", population->strata,
                        (int)probs->strata->count);
    if (population && population->kind == PV_POPULATION_UNKNOWN &&
        (population->unknown.method == PV_UNKNOWN_BBSE || population->unknown.reference))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`source` and `method` bbse know no strata: leave them out and choose `method` exact");
    return PV_OK;
}

pv_status pv__predict_probs_strata(pv_ctx *ctx, const pv_probs *probs, const pv_population *population,
                                   const pv_predict_options *options, pv_prediction *made) {
    size_t k = (size_t)probs->classes;
    bool home = !population || population->kind == PV_POPULATION_TRUE;
    bool unknown = !home && population->kind == PV_POPULATION_UNKNOWN;
    work w = {.probs = probs, .population = home ? NULL : population, .options = options, .made = made};
    pv_status status;
    PV_TRY(check(ctx, probs, population));
    w.how = home ? pv_unknown_options_default() : population->unknown;
    if (options->level > 0)
        w.how.level = options->level;
    made->elsewhere = !home;
    PV_TRY(strata_new(ctx, probs, w.population, unknown, &made->strata));
    PV_GOTO(done, part_new(ctx, &w));
    for (size_t s = 0; s < (size_t)made->strata->strata; s++)
        PV_GOTO(done, predict_one(ctx, &w, s));
    if (unknown) {
        PV_GOTO(done, pv__unknown_new(ctx, probs->classes, &w.how, &made->inferred));
        pv__strata_join(made->strata, made->inferred);
    }
    const pv_predicted_strata *strata = made->strata;
    for (size_t y = 0; y < k; y++) {
        double prevalence = 0, from = 0;
        for (size_t s = 0; s < (size_t)strata->strata; s++) {
            prevalence += strata->share[s] > 0 ? strata->share[s] * strata->prevalence[s * k + y] : 0;
            from += strata->share[s] * probs->from[s * k + y];
        }
        made->prevalence[y] = prevalence;
        if (made->log_marginal)
            made->log_marginal[y] = log(from);
    }
done:
    pv__free(ctx, w.block);
    pv__free(ctx, w.part.row);
    pv__free(ctx, w.part.label);
    return status;
}
