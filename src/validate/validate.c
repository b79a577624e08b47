/* Cross-validation, hold-out samples, and mixtures of validations.
 *
 *   mixture   p(y|x) = sum_k v_k p_k(y|x),  p(y) = sum_k v_k p_k(y),  prevalence = sum_k v_k prevalence_k.
 *
 * The weights v are a prior over the members' prevalences. The data do not update them: a sample whose label counts
 * were chosen says nothing about the prevalence (section 10.2 of the paper), whatever each member's likelihood.
 */
#include "base/hash.h"
#include "validate.h"

#include <math.h>
#include <string.h>

#include "base/reduce.h"
#include "base/text.h"
#include "data/schema_learn.h"
#include "infer/infer.h"

/* State shared by all fits; each writes only to the rows and entries of its own fold. */
typedef struct work {
    const pv_schema *schema;
    const pv_dataset *data; /* the training data */
    const pv_fit_options *options;
    const pv_validation_options *how;
    pv_validation *v;
    double *prevalence; /* [repeats][folds][classes], that of each fit; NULL: neither given nor estimated */
    double *population; /* [repeats][folds][classes], of the requested population */
    /* For ranks that share the folds, else NULL: loglik and log_p in the form in which they are exchanged, with the
     * rows of a part together, from start [repeats][folds + 1] on, [repeats][rows][2][classes]. */
    double *told;
    size_t *start;
} work;

static pv_status take_fold(pv_ctx *ctx, const work *w, size_t at, bool inside, size_t *rows, pv_dataset **part) {
    const pv_dataset *data = w->data;
    const int32_t *fold = w->v->fold + at / w->v->folds * data->rows;
    size_t count = 0;
    for (size_t i = 0; i < data->rows; i++)
        if (((size_t)fold[i] == at % w->v->folds) == inside)
            rows[count++] = i;
    PV_TRY(pv_dataset_take(ctx, data, count, rows, part));
    if (!inside) /* as in a fit of these rows */
        pv__weights_scale(*part);
    return PV_OK;
}

/* The mean over all fits. */
static void mean_prevalence(size_t parts, size_t classes, const double *each, double *mean) {
    for (size_t y = 0; y < classes; y++) {
        mean[y] = 0;
        for (size_t at = 0; at < parts; at++)
            mean[y] += (each[at * classes + y] - mean[y]) / (double)(at + 1);
    }
}

/* Why the work stopped: the posterior's reason, unless the fit before it had a problem. */
static pv_stop last_stop(const pv_classifier *c) {
    bool fine = c->stop == PV_STOP_CONVERGED || c->stop == PV_STOP_COMPLETED || c->stop == PV_STOP_EARLY;
    return c->posterior && fine ? c->posterior->stop : c->stop;
}

/* Stores a fold's predictions of its rows in the validation, at place (NULL: in order). */
static void keep(const work *w, const pv_classifier *c, pv_prediction *said, const size_t *place, size_t at) {
    pv_validation *v = w->v;
    size_t classes = (size_t)c->schema->classes, repeat = at / v->folds;
    for (size_t i = 0; i < said->rows; i++) {
        size_t to = (repeat * v->data->rows + (place ? place[i] : i)) * classes;
        memcpy(v->loglik + to, said->loglik + i * classes, classes * sizeof *v->loglik);
        memcpy(v->log_p + to, said->log_p + i * classes, classes * sizeof *v->log_p);
        if (!w->told)
            continue;
        double *own = w->told + (w->start[at + repeat] + i) * 2 * classes;
        memcpy(own, v->loglik + to, classes * sizeof *own);
        memcpy(own + classes, v->log_p + to, classes * sizeof *own);
    }
    memcpy(v->log_marginal + at * classes, said->log_marginal, classes * sizeof *v->log_marginal);
    memcpy(w->population + at * classes, said->prevalence, classes * sizeof *w->population);
    if (w->prevalence && c->prevalence)
        memcpy(w->prevalence + at * classes, c->prevalence, classes * sizeof *c->prevalence);
    if (v->target) {
        v->target[at] = said->inferred;
        said->inferred = NULL;
    }
    if (v->strata) {
        v->strata[at] = said->strata;
        said->strata = NULL;
    }
    v->stop[at] = last_stop(c);
}

static pv_status fit_and_predict(pv_ctx *ctx, const work *w, const pv_schema *schema, const pv_dataset *data,
                                 const pv_fit_options *options, const pv_dataset *part, const size_t *place,
                                 size_t at) {
    const pv_predict_options wanted = {.likelihood = true};
    pv_fit_options how = *options;
    pv_classifier *c = NULL;
    pv_population *population = NULL;
    pv_prediction *said = NULL;
    pv_status status;
    how.bare = true;
    status = pv_fit(ctx, schema, data, &how, &c);
    if (status == PV_ERR_INTERRUPTED || (status == PV_OK && pv__interrupted(ctx))) /* c may be incomplete */
        PV_GOTO(done,
                pv__fail(ctx, PV_ERR_INTERRUPTED, "%s: stopped on request", place ? "folds" : "the hold-out fit"));
    PV_GOTO(done, status);
    PV_GOTO(done, pv_population_new(ctx, c, w->how->population, w->how->unknown, &population));
    PV_GOTO(done, pv_predict(ctx, c, part, population, &wanted, &said));
    keep(w, c, said, place, at);
done:
    pv_prediction_free(ctx, said);
    pv_population_free(ctx, population);
    pv_classifier_free(ctx, c);
    return status;
}

/* Adds the fold to an error. */
static pv_status name_fold(pv_ctx *ctx, const work *w, size_t at, pv_status status) {
    if (status == PV_OK || status == PV_ERR_USAGE || status == PV_ERR_MEMORY || status == PV_ERR_INTERRUPTED)
        return status;
    char message[PV_MESSAGE_SIZE];
    pv__format(message, sizeof message, "%s", ctx->error.message);
    pv__error_break(&ctx->error, message);
    return pv__fail(ctx, status, "fold %zu of %zu: %.400s", at % w->v->folds + 1, w->v->folds, message);
}

/* All rows of the population sample, scaled as in the fold. *sample is NULL if there is none. */
static pv_status take_sample(pv_ctx *ctx, const work *w, const pv_schema *scaled, pv_dataset **sample) {
    const pv_dataset *all = w->options->sample;
    size_t *rows;
    *sample = NULL;
    if (!all)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, all->rows, sizeof *rows, &rows));
    for (size_t i = 0; i < all->rows; i++)
        rows[i] = i;
    pv_status status = pv_dataset_take(ctx, all, all->rows, rows, sample);
    if (status == PV_OK)
        pv_dataset_rescale(w->schema, scaled, *sample);
    pv__free(ctx, rows);
    return status;
}

/* ---- learning the whole schema in each fold ---------------------------------------------------------------------- */

/* Whether the rows of a fold would learn other features than all rows did, not only other means. */
static bool learns_more(const work *w) {
    const pv_dataset *data = w->data;
    if (!w->how->table || !w->how->roles || w->options->sample || w->schema->strata || data->frequency ||
        (w->schema->terms == 0 && w->schema->missing < PV_MISSING_INDICATOR))
        return false;
    for (size_t i = 1; i < data->rows; i++) /* rows of counts: a fold may have only one label of a table row */
        if (data->table_row[i] == data->table_row[i - 1])
            return false;
    return true;
}

static pv_status learn_anew(pv_ctx *ctx, const work *w, pv_dataset **learn, pv_dataset **judge, pv_schema **own) {
    pv_roles roles = *w->how->roles;
    pv_table *table = NULL;
    void (*log)(void *, pv_log_level, const char *) = ctx->options.log;
    pv_dataset *taken[2] = {*learn, *judge};
    pv_status status;
    roles.collinear = PV_COLLINEAR_KEEP; /* already checked with all rows */
    roles.constant = PV_CONSTANT_DROP;   /* constant in the training rows, which therefore say nothing about it */
    if (w->schema->classes == 2)
        roles.positive = w->schema->labels[1];
    *learn = *judge = NULL;
    ctx->options.log = NULL; /* warnings about the columns were already logged for all rows */
    PV_GOTO(done, pv_table_take(ctx, w->how->table, taken[0]->rows, taken[0]->table_row, &table));
    PV_GOTO(done, pv_schema_learn(ctx, table, &roles, own, learn));
    pv_table_free(ctx, table);
    table = NULL;
    PV_GOTO(done, pv_table_take(ctx, w->how->table, taken[1]->rows, taken[1]->table_row, &table));
    PV_GOTO(done, pv_schema_apply(ctx, *own, table, &roles, judge));
    if ((*judge)->rows != taken[1]->rows || (*own)->classes != w->schema->classes)
        status = pv__fail(ctx, PV_ERR_INPUT, "the training rows lack a label that others have;\nuse fewer folds");
done:
    ctx->options.log = log;
    pv_table_free(ctx, table);
    pv_dataset_free(ctx, taken[0]);
    pv_dataset_free(ctx, taken[1]);
    return status;
}

static pv_status run_fold(pv_ctx *ctx, void *state, size_t at) {
    const work *w = state;
    pv_dataset *learn = NULL, *judge = NULL, *sample = NULL;
    pv_schema *scaled = NULL;
    size_t *rows = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, w->data->rows, sizeof *rows, &rows));
    PV_GOTO(done, take_fold(ctx, w, at, false, rows, &learn));
    PV_GOTO(done, take_fold(ctx, w, at, true, rows, &judge)); /* row numbers now refer to judge */
    if (learns_more(w)) {
        PV_GOTO(done, learn_anew(ctx, w, &learn, &judge, &scaled));
    } else {
        PV_GOTO(done, pv_schema_rescale(ctx, w->schema, learn, &scaled));
        pv_dataset_rescale(w->schema, scaled, learn);
        pv_dataset_rescale(w->schema, scaled, judge);
    }
    PV_GOTO(done, take_sample(ctx, w, scaled, &sample));
    pv_fit_options options = *w->options;
    options.sample = sample;
    PV_GOTO(done, fit_and_predict(ctx, w, scaled, learn, &options, judge, rows, at));
done:
    pv_dataset_free(ctx, learn);
    pv_dataset_free(ctx, judge);
    pv_dataset_free(ctx, sample);
    pv_schema_free(ctx, scaled);
    pv__free(ctx, rows);
    return name_fold(ctx, w, at, status);
}

/* ---- folds shared by ranks --------------------------------------------------------------------------------------- */

static size_t told_of_fold(void *state, size_t at, pv_field *field) {
    work *w = state;
    pv_validation *v = w->v;
    size_t k = (size_t)v->data->classes, n = 0;
    const size_t *start = w->start + at + at / v->folds;
    field[n++] = (pv_field){w->told + start[0] * 2 * k, (start[1] - start[0]) * 2 * k * sizeof *w->told};
    field[n++] = (pv_field){v->log_marginal + at * k, k * sizeof *v->log_marginal};
    field[n++] = (pv_field){w->population + at * k, k * sizeof *w->population};
    field[n++] = (pv_field){&v->stop[at], sizeof *v->stop};
    if (w->prevalence)
        field[n++] = (pv_field){w->prevalence + at * k, k * sizeof *w->prevalence};
    return n;
}

/* Computes where each part's rows begin. */
static void find_starts(const work *w) {
    const pv_validation *v = w->v;
    for (size_t r = 0; r < v->repeats; r++) {
        size_t *start = w->start + r * (v->folds + 1);
        for (size_t i = 0; i < v->data->rows; i++)
            start[v->fold[r * v->data->rows + i] + 1]++;
        start[0] = r * v->data->rows;
        for (size_t f = 0; f < v->folds; f++)
            start[f + 1] += start[f];
    }
}

/* Copies exchanged predictions to their places; overwrites start. */
static void take_told(const work *w) {
    const pv_validation *v = w->v;
    size_t k = (size_t)v->data->classes;
    for (size_t i = 0; i < v->repeats * v->data->rows; i++) {
        size_t r = i / v->data->rows;
        const double *from = w->told + w->start[r * (v->folds + 1) + (size_t)v->fold[i]]++ * 2 * k;
        memcpy(v->loglik + i * k, from, k * sizeof *from);
        memcpy(v->log_p + i * k, from + k, k * sizeof *from);
    }
}

/* The inferred prevalence of a fold, and strata, are not plain arrays: with them every rank fits all folds. */
static pv_status run_folds(pv_ctx *ctx, work *w) {
    pv_validation *v = w->v;
    size_t finished, parts = v->folds * v->repeats, rows = v->repeats * v->data->rows;
    if (!pv__shares(ctx) || v->target || v->strata)
        return pv_jobs_run(ctx, "folds", parts, true, run_fold, w, &finished);
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, rows, 2 * (size_t)v->data->classes * sizeof *w->told, &w->told));
    PV_GOTO(done, pv__alloc(ctx, v->repeats, (v->folds + 1) * sizeof *w->start, &w->start));
    find_starts(w);
    status = pv__jobs_run_shared(ctx, "folds", parts, run_fold, told_of_fold, w, &finished);
    if (status == PV_OK)
        take_told(w);
done:
    pv__free(ctx, w->told);
    pv__free(ctx, w->start);
    return status;
}

/* "rows": nothing to set. "population": that of the fits, set when they are done. */
static pv_status read_stated(pv_ctx *ctx, const work *w, pv__stated *stated) {
    pv_validation *v = w->v;
    PV_TRY(pv__alloc(ctx, (size_t)v->data->classes, sizeof *v->stated, &v->stated));
    pv_status status = pv__stated_read(ctx, w->how->stated_for, w->schema->labels, v->data->classes, stated, v->stated);
    if (*stated == PV__STATED_ROWS) {
        pv__free(ctx, v->stated);
        v->stated = NULL;
    }
    return status;
}

/* The proportion of each stratum and label in the population, and whether the rows can represent it. */
static pv_status mean_strata(pv_ctx *ctx, pv_validation *v) {
    size_t k = (size_t)v->data->classes, cells = (size_t)v->strata[0]->strata * k, parts = v->folds * v->repeats;
    PV_TRY(pv__alloc(ctx, cells, sizeof *v->stratum_mass, &v->stratum_mass));
    for (size_t at = 0; at < parts; at++) {
        const pv_predicted_strata *of = v->strata[at];
        for (size_t i = 0; i < cells; i++)
            v->stratum_mass[i] += of->share[i / k] > 0 ? of->share[i / k] * of->prevalence[i] / (double)parts : 0;
    }
    return PV_OK;
}

/* Fits and predicts every fold, or the hold-out sample with all threads on the one fit, and evaluates. */
static pv_status run_all(pv_ctx *ctx, work *w, bool hold_out) {
    pv_validation *v = w->v;
    size_t parts = v->folds * v->repeats, classes = (size_t)v->data->classes;
    pv_status status;
    pv__stated stated;
    pv_targets targets = pv_dataset_targets(v->data);
    pv_label_shares(&targets, v->observed);
    PV_GOTO(done, read_stated(ctx, w, &stated));
    if (v->prevalence)
        PV_GOTO(done, pv__alloc(ctx, parts * classes, sizeof *w->prevalence, &w->prevalence));
    PV_GOTO(done, pv__alloc(ctx, parts * classes, sizeof *w->population, &w->population));
    v->elsewhere = strcmp(w->how->population, "true") != 0;
    if (strcmp(w->how->population, "unknown") == 0)
        PV_GOTO(done, pv__alloc(ctx, parts, sizeof(pv_unknown_prevalence *), &v->target));
    const pv__design_options design = pv__design_options_of(w->options);
    if (pv__design_strata(w->schema, &design) > 1)
        PV_GOTO(done, pv__alloc(ctx, parts, sizeof *v->strata, &v->strata));
    if (hold_out) {
        size_t entered = pv_checkpoint_enter(ctx, "holdout", 0);
        status = fit_and_predict(ctx, w, w->schema, w->data, w->options, v->data, NULL, 0);
        pv_checkpoint_leave(ctx, entered);
    } else {
        status = run_folds(ctx, w);
    }
    if (status != PV_OK)
        goto done;
    if (v->prevalence)
        mean_prevalence(parts, classes, w->prevalence, v->prevalence);
    mean_prevalence(parts, classes, w->population, v->population);
    if (v->strata)
        PV_GOTO(done, mean_strata(ctx, v));
    if (stated == PV__STATED_POPULATION) /* an unknown population is that of the rows */
        memcpy(v->stated, v->target ? v->observed : v->population, classes * sizeof *v->stated);
    if (v->strata && v->stated) {
        pv__strata_state(v->strata[0]->strata, v->data->classes, v->stated, v->stratum_mass);
        PV_GOTO(done, pv__strata_check_rows(ctx, &targets, v->strata[0]->name, w->schema->labels, v->strata[0]->strata,
                                            v->stratum_mass, v->folds));
    }
    PV_GOTO(done, pv__validation_judge(ctx, v, w->how->bootstrap, w->how->level, (uint64_t)w->options->seed));
done:
    pv__free(ctx, w->prevalence);
    pv__free(ctx, w->population);
    return status;
}

/* The facts of the validation for its checkpoint. The fits have facts as well, but these are compared only when some of
 * the work may have been done. */
static pv_status facts(pv_ctx *ctx, const work *w, bool hold_out) {
    const pv_validation *v = w->v;
    size_t size = strlen(w->how->population) + 300;
    char *first;
    PV_TRY(pv__alloc(ctx, size, 1, &first));
    pv__format(first, size,
               "`folds`=%zu\n`repeats`=%zu\n`population`=%s\n`holdout`=%s\nthe rows judged=%zu\nthe folds "
               "(`group`, "
               "`seed`)=%016llx\n",
               v->folds, v->repeats, w->how->population, hold_out ? "given" : "not given", v->data->rows,
               (unsigned long long)pv__hash(v->fold, v->repeats * v->data->rows * sizeof *v->fold));
    pv_status status = pv__facts(ctx, first, w->data, NULL, w->options);
    pv__free(ctx, first);
    if (status == PV_OK)
        pv_checkpoint_tell(ctx);
    return status;
}

static pv_status validate(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *learn, const pv_fit_options *options,
                          const pv_validation_options *how, const pv_dataset *held_out, pv_validation **validation) {
    double began = pv__seconds();
    const pv_dataset *data = held_out ? held_out : learn;
    bool stated = options->prevalence || options->prevalence_by || options->phase_one || options->sample ||
                  (schema->strata && options->subcohort > 0);
    pv_validation *v = NULL;
    pv_status status;
    PV_GOTO(fail, pv__validation_new(ctx, data, held_out ? 1 : (size_t)how->folds, held_out ? 1 : (size_t)how->repeats,
                                     stated, &v));
    for (size_t r = 0; r < v->repeats && !held_out; r++)
        PV_GOTO(fail,
                pv_folds_make(ctx, schema, data, how->folds, (uint64_t)options->seed, r, v->fold + r * data->rows));
    work w = {.schema = schema, .data = learn, .options = options, .how = how, .v = v};
    if (!held_out) {
        bool begun = ctx->ranks.begun;
        PV_GOTO(fail, pv__fit_alike(ctx, learn, NULL, NULL, options));
        ctx->ranks.begun = begun; /* a rank that is interrupted may leave its fits and metrics */
    }
    PV_GOTO(fail, facts(ctx, &w, held_out != NULL));
    PV_GOTO(fail, run_all(ctx, &w, held_out != NULL));
    v->seconds = pv__seconds() - began;
    *validation = v;
    return PV_OK;
fail:
    pv_validation_free(ctx, v);
    return status;
}

pv_status pv_cross_validate(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                            const pv_validation_options *how, pv_validation **validation) {
    *validation = NULL;
    if (how->repeats < 1 || how->folds < 2)
        return pv__fail(ctx, PV_ERR_USAGE, "there must be at least two folds and one repeat");
    if (options->label_error)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`label-error=%s`: cross-validation compares predictions of the true label with recorded "
            "labels, so its metrics would be wrong;\nfit the model, and evaluate it on rows with true labels",
            pv__show(options->label_error).text);
    return validate(ctx, schema, data, options, how, NULL, validation);
}

pv_status pv_hold_out(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                      const pv_validation_options *how, const pv_dataset *rows, pv_validation **validation) {
    *validation = NULL;
    if (options->label_error)
        pv__log(ctx, PV_LOG_WARNING, "%s", PV_RECORDED_WARNING);
    return validate(ctx, schema, data, options, how, rows, validation);
}

/* ---- mixtures ---------------------------------------------------------------------------------------------------- */

static pv_status check_members(pv_ctx *ctx, size_t count, const pv_validation *const *member, const double *weight,
                               double *total) {
    *total = 0;
    for (size_t k = 0; k < count; k++) {
        const pv_validation *m = member[k], *first = member[0];
        if (m->data != first->data || m->folds != first->folds || m->repeats != first->repeats ||
            !m->prevalence != !first->prevalence || !m->strata != !first->strata || !m->stated != !first->stated ||
            m->elsewhere != first->elsewhere ||
            memcmp(m->fold, first->fold, m->repeats * m->data->rows * sizeof *m->fold) != 0)
            return pv__fail(ctx, PV_ERR_USAGE, "the members of a mixture were evaluated on different rows or folds");
        if (!(weight[k] >= 0 && isfinite(weight[k])))
            return pv__fail(ctx, PV_ERR_USAGE, "weight %zu of the mixture, %g, is not a finite number of at least 0",
                            k + 1, weight[k]);
        *total += weight[k];
    }
    if (!(*total > 0))
        return pv__fail(ctx, PV_ERR_USAGE, "the weights of the mixture are all 0");
    return PV_OK;
}

/* out = log sum_k share_k exp(in_k), element by element; the maximum is factored out, so that nothing underflows. */
static void add_logs(size_t n, double share, const double *in, double *out, bool first) {
    double log_share = log(share);
    for (size_t i = 0; i < n; i++) {
        double a = in[i] + log_share, b = first ? -INFINITY : out[i], top = fmax(a, b);
        out[i] = isfinite(top) ? top + log(exp(a - top) + exp(b - top)) : top;
    }
}

static void add_share(size_t n, double share, const double *in, double *out) {
    for (size_t i = 0; out && i < n; i++)
        out[i] += share * in[i];
}

/* For one fold: averages proportions and, in each stratum, prevalences and marginals. */
static pv_status mix_strata(pv_ctx *ctx, size_t at, size_t count, const pv_validation *const *member,
                            const double *weight, double total, pv_predicted_strata **made) {
    const pv_predicted_strata *first = member[0]->strata[at];
    size_t strata = (size_t)first->strata, k = (size_t)member[0]->data->classes;
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    pv_predicted_strata *to = *made;
    to->strata = first->strata; /* set before the names, so that a partial copy can be freed */
    PV_TRY(pv__names_copy(ctx, (const char *const *)first->name, strata, &to->name));
    PV_TRY(pv__alloc(ctx, strata, (1 + 2 * k) * sizeof(double), &to->share)); /* one block for all three arrays */
    to->prevalence = to->share + strata;
    to->log_marginal = to->prevalence + strata * k;
    for (size_t m = 0; m < count; m++) {
        const pv_predicted_strata *of = member[m]->strata[at];
        double part = weight[m] / total;
        add_share(strata, part, of->share, to->share);
        for (size_t i = 0; i < strata * k; i++) {
            to->prevalence[i] += of->share[i / k] > 0 ? part * of->share[i / k] * of->prevalence[i] : 0;
            to->log_marginal[i] += part * exp(of->log_marginal[i]);
        }
    }
    for (size_t i = 0; i < strata * k; i++) {
        to->prevalence[i] /= to->share[i / k]; /* NaN if no member has rows of the stratum */
        to->log_marginal[i] = log(to->log_marginal[i]);
    }
    return PV_OK;
}

static pv_status mix_all_strata(pv_ctx *ctx, size_t count, const pv_validation *const *member, const double *weight,
                                double total, pv_validation *v) {
    size_t parts = v->folds * v->repeats, cells = (size_t)member[0]->strata[0]->strata * (size_t)v->data->classes;
    PV_TRY(pv__alloc(ctx, parts, sizeof *v->strata, &v->strata));
    PV_TRY(pv__alloc(ctx, cells, sizeof *v->stratum_mass, &v->stratum_mass));
    for (size_t at = 0; at < parts; at++)
        PV_TRY(mix_strata(ctx, at, count, member, weight, total, &v->strata[at]));
    for (size_t m = 0; m < count; m++)
        add_share(cells, weight[m] / total, member[m]->stratum_mass, v->stratum_mass);
    return PV_OK;
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
    memcpy(v->observed, first->observed, classes * sizeof *v->observed);
    v->elsewhere = first->elsewhere;
    if (first->stated)
        PV_GOTO(fail, pv__alloc(ctx, classes, sizeof *v->stated, &v->stated));
    bool empty = true;
    for (size_t k = 0; k < count; k++) {
        double share = weight[k] / total;
        if (share == 0)
            continue;
        add_logs(cells, share, member[k]->loglik, v->loglik, empty);
        add_logs(cells, share, member[k]->log_p, v->log_p, empty);
        add_logs(parts * classes, share, member[k]->log_marginal, v->log_marginal, empty);
        add_share(classes, share, member[k]->prevalence, v->prevalence);
        add_share(classes, share, member[k]->population, v->population);
        add_share(classes, share, member[k]->stated, v->stated);
        for (size_t f = 0; f < parts; f++)
            if (empty || v->stop[f] == PV_STOP_CONVERGED || v->stop[f] == PV_STOP_COMPLETED ||
                v->stop[f] == PV_STOP_EARLY)
                v->stop[f] = member[k]->stop[f]; /* the first that had a problem, if any */
        empty = false;
    }
    if (first->strata)
        PV_GOTO(fail, mix_all_strata(ctx, count, member, weight, total, v));
    PV_GOTO(fail, pv__validation_judge(ctx, v, 0, first->level, 0));
    *validation = v;
    return PV_OK;
fail:
    pv_validation_free(ctx, v);
    return status;
}
