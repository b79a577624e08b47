/* Ensembles: the mean of several classifiers' probabilities, each converted to the requested population.
 *
 *   p(y|x) = 1/M sum_m p_pop(y|x, w_m)
 *
 * Members may have been trained on different rows: each encodes the table with its own means and standard deviations.
 */
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "predict/predict.h"
#include "prevail/judge.h"

static bool same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static pv_status check_labels(pv_ctx *ctx, const pv_classifier *first, const pv_classifier *other, const char *name) {
    if (other->schema->classes != first->schema->classes)
        return pv__fail_at(
            ctx, PV_ERR_INPUT, name, 0, 0,
            "has %d labels, the first model %d; all members of an ensemble need the same:\nleave this one out",
            other->schema->classes, first->schema->classes);
    for (int y = 0; y < first->schema->classes; y++)
        if (!same_text(first->schema->labels[y], other->schema->labels[y]))
            return pv__fail_at(ctx, PV_ERR_INPUT, name, 0, 0,
                               "has the label '%s' where the first model has '%s'; all members of an ensemble need the "
                               "same:\nleave this one out",
                               other->schema->labels[y], first->schema->labels[y]);
    return PV_OK;
}

static pv_status check_images(pv_ctx *ctx, const pv_image_encoding *first, const pv_image_encoding *other,
                              const char *name) {
    static const char *const layouts[] = {"images", "volumes", "views"};
    if (!first != !other)
        return pv__fail_at(ctx, PV_ERR_INPUT, name, 0, 0,
                           "was fitted to %s, the first model to %s;\nleave this one out", other ? "images" : "a table",
                           first ? "images" : "a table");
    if (first && (!same_text(first->images, other->images) || !same_text(first->votes, other->votes)))
        return pv__fail_at(ctx, PV_ERR_INPUT, name, 0, 0,
                           "was fitted to other arrays than the first model: images '%s', votes '%s';\nleave it out, "
                           "or fit it with the same `images` and `votes`",
                           other->images, other->votes);
    if (first && first->layout != other->layout)
        return pv__fail_at(ctx, PV_ERR_INPUT, name, 0, 0,
                           "was fitted to %s, the first model to %s;\nleave this one out", layouts[other->layout],
                           layouts[first->layout]);
    if (first && first->binarise != other->binarise)
        return pv__fail_at(ctx, PV_ERR_INPUT, name, 0, 0,
                           "was fitted with `binarise=%g`, the first model with %g;\nfit it with the same",
                           other->binarise, first->binarise);
    return PV_OK;
}

static pv_status check_features(pv_ctx *ctx, const pv_schema *first, const pv_schema *other, const char *name) {
    PV_TRY(check_images(ctx, first->image, other->image, name));
    if (first->sources != other->sources)
        return pv__fail_at(ctx, PV_ERR_INPUT, name, 0, 0,
                           "uses %zu columns, the first model %zu;\nfit it with the same `features`", other->sources,
                           first->sources);
    for (size_t s = 0; s < first->sources; s++)
        if (!same_text(first->source[s].name, other->source[s].name) || first->source[s].type != other->source[s].type)
            return pv__fail_at(ctx, PV_ERR_INPUT, name, 0, 0,
                               "uses the column '%s' where the first model uses '%s';\nfit it with the same `features`",
                               other->source[s].name, first->source[s].name);
    return PV_OK;
}

/* Checks that the strata are the same; the population uses their prevalences and proportions. */
static pv_status check_strata(pv_ctx *ctx, const pv_classifier *first, const pv_classifier *other, const char *name) {
    const pv_stratified *a = first->stratified, *b = other->stratified;
    if (!a && !b)
        return PV_OK;
    if (!a || !b || a->strata != b->strata)
        return pv__fail_at(
            ctx, PV_ERR_INPUT, name, 0, 0,
            "has %d strata, the first model %d; all members of an ensemble need the same:\nleave this one out",
            b ? b->strata : 0, a ? a->strata : 0);
    for (int s = 0; s < a->strata; s++) {
        bool same = same_text(first->schema->strata->name[s], other->schema->strata->name[s]) &&
                    fabs(a->share[s] - b->share[s]) <= 1e-9;
        for (int y = 0; y < a->classes; y++)
            same = same && fabs(a->prevalence[s * a->classes + y] - b->prevalence[s * a->classes + y]) <= 1e-9;
        if (!same)
            return pv__fail_at(ctx, PV_ERR_INPUT, name, 0, 0,
                               "describes stratum '%s' differently from the first model;\nfit both with the same "
                               "`prevalence-by` or `phase-one`",
                               other->schema->strata->name[s]);
    }
    return PV_OK;
}

pv_status pv_ensemble_check(pv_ctx *ctx, const pv_classifier *first, const pv_classifier *other, const char *name,
                            const pv_population *population) {
    PV_TRY(check_labels(ctx, first, other, name));
    PV_TRY(check_features(ctx, first->schema, other->schema, name));
    PV_TRY(pv__evaluation_check(ctx, &(pv__evaluated){.ensemble = true, .population = population}));
    PV_TRY(check_strata(ctx, first, other, name));
    if (population->kind != PV_POPULATION_TRUE)
        return PV_OK;
    if (!first->prevalence || !other->prevalence)
        return pv__fail_at(ctx, PV_ERR_USAGE, name, 0, 0, "%s no prevalence; use `population=known:P`",
                           first->prevalence ? "states" : "is combined with a first model that states");
    for (int y = 0; y < first->schema->classes; y++)
        if (!(fabs(first->prevalence[y] - other->prevalence[y]) <= 1e-9))
            return pv__fail_at(/* enough digits to show a difference of 1e-9 */
                               ctx, PV_ERR_INPUT, name, 0, 0,
                               "states the prevalence %.10g of label '%s', the first model %.10g; use "
                               "`population=known:P`",
                               other->prevalence[y], first->schema->labels[y], first->prevalence[y]);
    return PV_OK;
}

/* Updates mean [count], the logarithm of a mean over `members` members, with one more member. */
static void add_log(size_t count, size_t members, const double *log_p, double *mean) {
    for (size_t i = 0; i < count; i++) {
        double pair[2] = {mean[i] + log((double)members), log_p[i]};
        mean[i] = pv_log_sum_exp(2, pair) - log((double)members + 1);
    }
}

pv_status pv_ensemble_join(pv_ctx *ctx, pv_prediction *mean, size_t members, const pv_prediction *other,
                           const char *name) {
    if (other->rows != mean->rows || other->classes != mean->classes)
        return pv__fail_at(
            ctx, PV_ERR_INPUT, name, 0, 0,
            "uses %zu of the rows, the first model %zu;\nfit them with the same `votes-min` and `binarise`",
            other->rows, mean->rows);
    PV_TRY(pv__evaluation_check(ctx, &(pv__evaluated){.ensemble = true, .interval = mean->lo || mean->inferred}));
    size_t count = mean->rows * (size_t)mean->classes;
    add_log(count, members, other->log_p, mean->log_p);
    for (size_t i = 0; i < count; i++)
        mean->p[i] = exp(mean->log_p[i]);
    if (mean->loglik && other->loglik) {
        add_log(count, members, other->loglik, mean->loglik);
        add_log((size_t)mean->classes, members, other->log_marginal, mean->log_marginal);
        if (mean->strata && other->strata)
            add_log((size_t)mean->strata->strata * (size_t)mean->classes, members, other->strata->log_marginal,
                    mean->strata->log_marginal);
    }
    return PV_OK;
}

pv_status pv_ensemble_add(pv_ctx *ctx, const pv_ensemble_rows *rows, const pv_classifier *other, const char *name,
                          size_t members, pv_prediction *mean) {
    const pv_predict_options wanted = {.likelihood = mean->loglik != NULL};
    const pv_population *population = rows->population;
    pv_population *same = NULL; /* the design of the first classifier is not that of this member */
    pv_dataset *data = NULL;
    pv_prediction *said = NULL;
    pv_status status;
    PV_GOTO(done, pv_ensemble_check(ctx, rows->first, other, name, population));
    if (population->kind != PV_POPULATION_TRUE && !population->strata)
        PV_GOTO(done, pv_population_known(ctx, other->schema->classes, population->prevalence, &same));
    if (same)
        same->kind = population->kind;
    PV_GOTO(done, pv_schema_apply(ctx, other->schema, rows->table, rows->roles, &data));
    PV_GOTO(done, pv_predict(ctx, other, data, population->strata ? population : same, &wanted, &said));
    PV_GOTO(done, pv_ensemble_join(ctx, mean, members, said, name));
done:
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, data);
    pv_population_free(ctx, same);
    return status;
}
