/* Populations to which predictions refer. A population is resolved once to its label distribution; later code does not
 * depend on how it was specified.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/number.h"
#include "base/text.h"
#include "predict/predict.h"

/* ", true, known:P, ..." */
#define USAGE(name, word, usage, text) ", " usage

/* The label distribution of a kind of population, given those of the true population and of the training data; NULL if
 * it must be given or inferred, or if there is none. */
static const double *shares_of(pv_population_kind kind, const double *home, const double *design) {
    switch (kind) {
    case PV_POPULATION_TRUE:
        return home;
    case PV_POPULATION_DESIGN:
        return design;
    case PV_POPULATION_KNOWN:
    case PV_POPULATION_UNKNOWN:
    case PV_POPULATION_COUNTS:
        break;
    }
    return NULL;
}

/* *stated points to what follows "known:" or "counts:", else NULL. */
static bool find_kind(const char *text, pv_population_kind *kind, const char **stated) {
    static const pv_population_kind with[] = {PV_POPULATION_KNOWN, PV_POPULATION_COUNTS};
    *stated = NULL;
    for (int i = 0; i < 2; i++) {
        const char *name = pv_population_kind_name(with[i]);
        size_t length = strlen(name);
        if (strncmp(text, name, length) == 0 && text[length] == ':') {
            *kind = with[i];
            *stated = text + length + 1;
            return true;
        }
    }
    return pv_population_kind_find(text, kind) && *kind != PV_POPULATION_KNOWN && *kind != PV_POPULATION_COUNTS;
}

/* Parses what follows "known:". */
static pv_status parse_known(pv_ctx *ctx, const char *text, char *const *labels, int classes, double *prevalence) {
    double low, high;
    PV_TRY(pv_prevalence_parse(ctx, "`population=known`", text, labels, classes, prevalence, &low, &high));
    if (!isnan(low))
        return pv__fail(ctx, PV_ERR_USAGE, "`population=known:%s`:\ngive one prevalence, not an interval",
                        pv__show(text).text);
    return PV_OK;
}

/* *population is complete or NULL. prevalence [classes] is copied; NULL: to be inferred. */
static pv_status make(pv_ctx *ctx, pv_population_kind kind, int classes, const double *prevalence,
                      const pv_unknown_options *unknown, pv_population **population) {
    pv_population *made;
    *population = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    *made = (pv_population){.kind = kind, .classes = classes};
    made->unknown = unknown ? *unknown : pv_unknown_options_default();
    if (prevalence) {
        pv_status status = pv__alloc(ctx, (size_t)classes, sizeof(double), &made->prevalence);
        if (status != PV_OK) {
            pv__free(ctx, made);
            return status;
        }
        memcpy(made->prevalence, prevalence, (size_t)classes * sizeof(double));
    }
    *population = made;
    return PV_OK;
}

static pv_status make_known(pv_ctx *ctx, const char *text, char *const *labels, int classes,
                            pv_population **population) {
    double *prevalence;
    PV_TRY(pv__alloc(ctx, (size_t)classes, sizeof *prevalence, &prevalence));
    pv_status status = parse_known(ctx, text, labels, classes, prevalence);
    if (status == PV_OK)
        status = make(ctx, PV_POPULATION_KNOWN, classes, prevalence, NULL, population);
    pv__free(ctx, prevalence);
    return status;
}

/* Parses what follows "counts:", one whole number per label. */
static pv_status parse_counts(pv_ctx *ctx, const char *text, char *const *labels, int classes, size_t *count) {
    const char *at = text;
    char joined[200];
    int given = 0;
    bool sound = true, more = true;
    pv__join(labels, (size_t)classes, 6, joined, sizeof joined);
    for (; more && sound; given++) {
        double value = 0;
        size_t length = pv__number_prefix(at, &value);
        sound = length > 0 && value >= 0 && value <= 1e15 && floor(value) == value;
        if (sound && given < classes)
            count[given] = (size_t)value;
        at += length;
        more = *at == ',';
        sound = sound && (more || *at == '\0');
        at += more;
    }
    if (!sound || given != classes)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`population=counts:%s`:\ngive one whole number of rows for each of the labels %s, in this order",
            pv__show(text).text, joined);
    return PV_OK;
}

static pv_status make_counts(pv_ctx *ctx, const char *text, char *const *labels, int classes,
                             pv_population **population) {
    size_t k = (size_t)classes, *count;
    double *prevalence = NULL, total = 0;
    pv_status status;
    PV_TRY(pv__alloc(ctx, k, sizeof *count, &count));
    PV_GOTO(done, pv__alloc(ctx, k, sizeof *prevalence, &prevalence));
    PV_GOTO(done, parse_counts(ctx, text, labels, classes, count));
    for (size_t y = 0; y < k; y++)
        total += (double)count[y];
    for (size_t y = 0; y < k; y++)
        prevalence[y] = total > 0 ? (double)count[y] / total : 1 / (double)classes;
    PV_GOTO(done, make(ctx, PV_POPULATION_COUNTS, classes, prevalence, NULL, population));
    (*population)->count = count;
    count = NULL;
done:
    pv__free(ctx, count);
    pv__free(ctx, prevalence);
    return status;
}

pv_status pv__population_strata(pv_ctx *ctx, pv_population_kind kind, int count, int classes, const double *share,
                                const double *prevalence, pv_population **population) {
    size_t k = (size_t)classes, strata = (size_t)count;
    double *mean;
    PV_TRY(pv__alloc(ctx, k, sizeof *mean, &mean));
    for (size_t i = 0; i < strata * k; i++)
        mean[i % k] += share[i / k] * prevalence[i];
    pv_status status = make(ctx, kind, classes, mean, NULL, population);
    pv__free(ctx, mean);
    PV_TRY(status);
    pv_population *made = *population;
    PV_GOTO(fail, pv__alloc(ctx, strata, k * sizeof(double), &made->stratum_prevalence));
    PV_GOTO(fail, pv__alloc(ctx, strata, sizeof(double), &made->share));
    memcpy(made->stratum_prevalence, prevalence, strata * k * sizeof(double));
    memcpy(made->share, share, strata * sizeof(double));
    made->strata = count;
    return PV_OK;
fail:
    pv_population_free(ctx, made);
    *population = NULL;
    return status;
}

static pv_status make_from_file(pv_ctx *ctx, const pv_classifier *c, const char *path, pv_population **population) {
    pv_stratified *read;
    PV_TRY(pv_stratified_read(ctx, path, NULL, c->schema, &read));
    pv_status status = pv__population_strata(ctx, PV_POPULATION_KNOWN, read->strata, read->classes, read->share,
                                             read->prevalence, population);
    pv_stratified_free(ctx, read);
    return status;
}

pv_status pv_population_new(pv_ctx *ctx, const pv_classifier *c, const char *text, const pv_unknown_options *unknown,
                            pv_population **population) {
    pv_population_kind kind = PV_POPULATION_TRUE;
    const char *stated = NULL;
    *population = NULL;
    if (text && !find_kind(text, &kind, &stated))
        return pv__fail(ctx, PV_ERR_USAGE, "`population=%s`:\nchoose one of %s%s", text,
                        &(PV_POPULATION_LIST(USAGE))[2],
                        strchr("0123456789.", text[0]) && text[0] ? ", as in known:0.2" : "");
    const pv_population asked = {.kind = kind, .classes = c->schema->classes};
    PV_TRY(pv__prediction_check(ctx, c, &asked, NULL));
    if (kind == PV_POPULATION_COUNTS)
        return make_counts(ctx, stated, c->schema->labels, c->schema->classes, population);
    if (c->stratified && stated && access(stated, R_OK) == 0)
        return make_from_file(ctx, c, stated, population);
    if (c->stratified && kind == PV_POPULATION_DESIGN)
        return pv__population_strata(ctx, kind, c->stratified->strata, c->stratified->classes, c->stratified->share,
                                     c->stratified->design, population);
    if (stated)
        return make_known(ctx, stated, c->schema->labels, c->schema->classes, population);
    return make(ctx, kind, c->schema->classes, shares_of(kind, c->prevalence, c->design), unknown, population);
}

pv_status pv_population_of_probs(pv_ctx *ctx, const pv_probs *probs, const double *from, const char *text,
                                 const pv_unknown_options *unknown, pv_population **population) {
    pv_population_kind kind = PV_POPULATION_TRUE;
    const char *stated = NULL;
    *population = NULL;
    bool found = !text || find_kind(text, &kind, &stated);
    if (!found ||
        (!stated && kind != PV_POPULATION_TRUE && kind != PV_POPULATION_UNKNOWN && !shares_of(kind, from, NULL)))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`population=%s`: with `probs` choose true, known:P, unknown or counts:N,N,...", text);
    const pv_population asked = {
        .kind = kind, .classes = probs->classes, .strata = probs->strata ? probs->strata->count : 0};
    PV_TRY(pv__adjustment_check(ctx, probs, from || probs->strata, &asked, NULL));
    if (probs->strata && stated)
        return pv_population_strata_read(ctx, probs, stated, NULL, population);
    if (kind == PV_POPULATION_COUNTS)
        return make_counts(ctx, stated, probs->labels, probs->classes, population);
    if (stated)
        return make_known(ctx, stated, probs->labels, probs->classes, population);
    return make(ctx, kind, probs->classes, shares_of(kind, from, NULL), unknown, population);
}

pv_status pv_population_known(pv_ctx *ctx, int classes, const double *prevalence, pv_population **population) {
    *population = NULL;
    pv_prevalence known = {.classes = classes, .prevalence = prevalence};
    PV_TRY(pv_prevalence_check(ctx, &known));
    return make(ctx, PV_POPULATION_KNOWN, classes, prevalence, NULL, population);
}

void pv_population_free(pv_ctx *ctx, pv_population *population) {
    if (!population)
        return;
    pv__free(ctx, population->prevalence);
    pv__free(ctx, population->stratum_prevalence);
    pv__free(ctx, population->share);
    pv__free(ctx, population->count);
    pv__free(ctx, population);
}
