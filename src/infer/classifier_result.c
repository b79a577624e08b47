/* What a classifier says of itself, as a tree: the JSON of `fit` and `summary`, and what the bindings read. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/value.h"
#include "infer/infer.h"
#include "infer/model_file.h"

static pv_result *by_label(const pv_schema *schema, const double *value) {
    pv_result *object = pv__value_object();
    for (int y = 0; y < schema->classes; y++)
        pv__value_set(object, schema->labels[y], pv__value_real(value[y]));
    return object;
}

static pv_result *text_or_null(const char *text) {
    return text && *text ? pv__value_text(text) : pv__value_null();
}

/* Observations behind a stated prevalence: a number, or "known". */
static pv_result *strength_of(double n) {
    return isinf(n) ? pv__value_text("known") : pv__value_real(n);
}

/* ---- what it takes ----------------------------------------------------------------------------------------------- */

static pv_result *hash_of(uint64_t hash) {
    char text[20];
    pv__format(text, sizeof text, "%016" PRIx64, hash);
    return pv__value_text(text);
}

/* How images become views; null for a table. */
static pv_result *image_of(const pv_image_encoding *e) {
    static const char *const layouts[] = {"planes", "volumes", "views"};
    if (!e)
        return pv__value_null();
    pv_result *object = pv__value_object(), *window = pv__value_list();
    pv__value_set(object, "images", pv__value_text(*e->images ? e->images : "images"));
    pv__value_set(object, "layout", pv__value_text(layouts[e->layout]));
    pv__value_set(object, "views", pv__value_integer((int64_t)e->views));
    pv__value_set(object, "size", pv__value_integer((int64_t)e->size));
    pv__value_append(window, pv__value_real(e->low));
    pv__value_append(window, pv__value_real(e->high));
    pv__value_set(object, "window", window);
    pv__value_set(object, "mean", pv__value_real(e->mean));
    pv__value_set(object, "sd", pv__value_real(e->sd));
    pv__value_set(object, "field", pv__value_real(e->field));
    pv__value_set(object, "spacing", text_or_null(e->spacing));
    pv__value_set(object, "rotate", pv__value_real(e->rotate));
    pv__value_set(object, "flip", pv__value_flag(e->flip));
    pv__value_set(object, "shift", pv__value_real(e->shift));
    pv__value_set(object, "scale", pv__value_real(e->scale));
    pv__value_set(object, "votes", text_or_null(e->votes));
    pv__value_set(object, "votes_min", *e->votes ? pv__value_integer(e->votes_min) : pv__value_null());
    pv__value_set(object, "binarise", e->binarise > 0 ? pv__value_real(e->binarise) : pv__value_null());
    return object;
}

static pv_result *labels_of(const pv_schema *schema) {
    pv_result *list = pv__value_list();
    for (int y = 0; y < schema->classes; y++)
        pv__value_append(list, pv__value_text(schema->labels[y]));
    return list;
}

static pv_result *features_of(const pv_classifier *c) {
    pv_result *list = pv__value_list();
    for (int j = 0; c->schema->feature && j < pv_classifier_features(c); j++)
        pv__value_append(list, pv__value_text(pv_classifier_feature(c, j)));
    return list;
}

/* The columns that a table to be predicted must have. */
static pv_result *columns_of(const pv_classifier *c) {
    pv_result *list = pv__value_list();
    pv_column_type type;
    for (size_t i = 0; i < pv_classifier_columns(c); i++) {
        const char *name = pv_classifier_column(c, i, &type);
        pv__value_append(list, pv__value_pack("tt", "name", name, "type", pv_column_type_name(type)));
    }
    return list;
}

/* {column: the level that others are compared with} */
static pv_result *references_of(const pv_classifier *c) {
    pv_result *object = pv__value_object();
    const char *column, *level;
    for (size_t i = 0; (level = pv_classifier_reference(c, i, &column)) != NULL; i++)
        pv__value_set(object, column, pv__value_text(level));
    return object;
}

static void set_inputs(pv_result *object, const pv_classifier *c) {
    pv__value_set(object, "data", pv__value_text(c->source));
    pv__value_set(object, "data_hash", hash_of(c->data_hash));
    pv__value_set(object, "outcome", pv__value_text(c->schema->target));
    pv__value_set(object, "weights", text_or_null(c->schema->weights));
    pv__value_set(object, "classes", labels_of(c->schema));
    pv__value_set(object, "columns", columns_of(c));
    pv__value_set(object, "features", features_of(c));
    pv__value_set(object, "references", references_of(c));
    if (c->schema->offset)
        pv__value_set(object, "offset", pv__value_text(pv_classifier_offset(c)));
    pv__value_set(object, "image", image_of(c->schema->image));
    pv__value_set(object, "rows", pv__value_integer((int64_t)c->rows));
    pv__value_set(object, "dropped", pv__value_integer((int64_t)c->dropped));
}

/* ---- how it was fitted ------------------------------------------------------------------------------------------- */

/* Facts of this process's fit; of a model that was read from a file they are not known. */
static void set_training(pv_result *object, const pv_classifier *c) {
    if (c->passes > 0)
        pv__value_set(object, "passes", pv__value_real(c->passes));
    if (c->seconds > 0)
        pv__value_set(object, "seconds", pv__value_real(c->seconds));
    if (!c->validation_rows)
        return;
    pv__value_set(object, "validation", pv__value_real(c->validation));
    pv__value_set(object, "validation_rows", pv__value_integer((int64_t)c->validation_rows));
    pv__value_set(object, "best_epoch", c->best_epoch ? pv__value_integer(c->best_epoch) : pv__value_null());
}

static void set_fit(pv_result *object, const pv_classifier *c) {
    bool marginal = pv_loss_has_marginal(c->loss);
    pv__value_set(object, "model", pv__value_text(pv_model_spec(c->model)));
    pv__value_set(object, "parameters", pv__value_integer((int64_t)pv_model_params(c->model)));
    pv__value_set(object, "loss_kind", pv__value_text(pv_loss_name(c->loss)));
    pv__value_set(object, "marginal_kind", marginal ? pv__value_text(pv_marginal_name(c->marginal)) : pv__value_null());
    pv__value_set(object, "stop", pv__value_text(pv_stop_name(c->stop)));
    pv__value_set(object, "iterations", pv__value_integer(c->iterations));
    pv__value_set(object, "loss", pv__value_real(c->loss_value));
    set_training(object, c);
}

/* ---- the population ---------------------------------------------------------------------------------------------- */

static pv_result *sample_of(const pv_classifier *c) {
    return c->sample_source ? pv__value_pack("tIb", "source", c->sample_source, "rows", (int64_t)c->sample_rows,
                                             "estimated", (int)c->estimated)
                            : pv__value_null();
}

static pv_result *strata_of(const pv_classifier *c) {
    const pv_stratified *s = c->stratified;
    pv_result *list = pv__value_list();
    for (int i = 0; i < s->strata; i++) {
        const double *log_marginal = s->log_marginal + i * s->classes;
        pv_result *one = pv__value_object(), *marginal = pv__value_object();
        for (int y = 0; y < s->classes; y++)
            pv__value_set(marginal, c->schema->labels[y], pv__value_real(exp(log_marginal[y])));
        pv__value_set(one, "name", pv__value_text(c->schema->strata->name[i]));
        pv__value_set(one, "rows", pv__value_real(s->rows[i]));
        pv__value_set(one, "share", pv__value_real(s->share[i]));
        pv__value_set(one, "prevalence", by_label(c->schema, s->prevalence + i * s->classes));
        pv__value_set(one, "prevalence_n", strength_of(s->n[i]));
        pv__value_set(one, "design", by_label(c->schema, s->design + i * s->classes));
        pv__value_set(one, "marginal", marginal);
        pv__value_append(list, one);
    }
    return list;
}

static pv_result *strata_columns_of(const pv_classifier *c) {
    pv_result *list = pv__value_list();
    const char *name;
    bool feature;
    for (size_t i = 0; (name = pv_classifier_stratum_column(c, i, &feature)) != NULL; i++)
        pv__value_append(list, pv__value_pack("tb", "name", name, "feature", (int)feature));
    return list;
}

static void set_population(pv_result *object, const pv_classifier *c) {
    pv__value_set(object, "design", by_label(c->schema, c->design));
    pv__value_set(object, "prevalence", c->prevalence ? by_label(c->schema, c->prevalence) : pv__value_null());
    pv__value_set(object, "prevalence_n", c->prevalence ? strength_of(c->prevalence_n) : pv__value_null());
    pv__value_set(object, "population_sample", sample_of(c));
    if (c->label_error)
        pv__value_set(object, "label_error", pv__label_error_to_json(c->label_error));
    if (!c->stratified)
        return;
    pv__value_set(object, "strata", strata_of(c));
    pv__value_set(object, "strata_columns", strata_columns_of(c));
}

/* ---- what it estimates ------------------------------------------------------------------------------------------- */

static pv_result *weighting_of(const pv_combination *m) {
    if (!m)
        return pv__value_null();
    pv_result *object = pv__value_object();
    pv__value_set(object, "use", pv__value_text(pv_estimate_name((pv_estimate)m->use)));
    pv__value_set(object, "estimand",
                  m->use == PV_ESTIMATE_EFFICIENT ? pv__value_null() : pv__value_text(PV_WEIGHTED_ESTIMAND));
    pv__value_set(object, "statistic", m->rank > 0 ? pv__value_real(m->statistic) : pv__value_null());
    pv__value_set(object, "df", pv__value_integer(m->rank));
    pv__value_set(object, "p_value", m->rank > 0 ? pv__value_real(m->p_value) : pv__value_null());
    pv__value_set(object, "units", pv__value_real(m->units));
    pv__value_set(object, "controls", pv__value_integer(m->controls));
    return object;
}

/* What is known beside an estimate. */
typedef enum known { KNOWN_ALONE, KNOWN_DRAWS, KNOWN_ERRORS, KNOWN_TESTS } known;

static void set_linear(pv_result *entry, const pv_coefficient *k) {
    pv_result *linear =
        pv__value_pack("rrrr", "value", k->linear.mean, "se", k->linear.sd, "lo", k->linear.lo, "hi", k->linear.hi);
    pv__value_set(entry, "if_linear", linear);
    pv__value_set(entry, "weighting", pv__value_real(k->weighting));
}

static pv_result *coefficient_of(const pv_coefficient *k, known what, bool slope) {
    const pv_spread *s = &k->value;
    pv_result *entry = pv__value_object();
    pv__value_set(entry, "value", pv__value_real(s->mean));
    if (what != KNOWN_ALONE) {
        pv__value_set(entry, what == KNOWN_DRAWS ? "sd" : "se", pv__value_real(s->sd));
        pv__value_set(entry, "lo", pv__value_real(s->lo));
        pv__value_set(entry, "hi", pv__value_real(s->hi));
    }
    if (what == KNOWN_TESTS) {
        pv__value_set(entry, "z", pv__value_real(k->z));
        pv__value_set(entry, "p", pv__value_real(k->p_value));
    }
    if (!isnan(k->linear.mean))
        set_linear(entry, k);
    if (isfinite(k->df) && what != KNOWN_ALONE)
        pv__value_set(entry, "df", pv__value_real(k->df));
    if (slope)
        pv__value_set(entry, "odds_ratio", pv__value_real(k->odds_ratio));
    if (slope && what != KNOWN_ALONE) {
        pv__value_set(entry, "odds_ratio_lo", pv__value_real(k->odds_ratio_lo));
        pv__value_set(entry, "odds_ratio_hi", pv__value_real(k->odds_ratio_hi));
    }
    if (what == KNOWN_DRAWS)
        pv__value_set(entry, "sign", pv__value_real(s->sign));
    return entry;
}

/* {name: {value, ...}}; of several equations {label: {name: {value, ...}}} */
static pv_result *coefficients_of(const pv_classifier *c, const pv_summary *s) {
    known what = c->posterior ? KNOWN_DRAWS : s->has_tests ? KNOWN_TESTS : s->has_errors ? KNOWN_ERRORS : KNOWN_ALONE;
    pv_result *object = pv__value_object();
    for (size_t e = 0; e < s->equations; e++) {
        const pv_coefficient *own = s->coefficient + e * s->terms;
        pv_result *row = s->equations == 1 ? object : pv__value_object();
        for (size_t at = 0; at < s->terms; at++)
            pv__value_set(row, own[at].name, coefficient_of(&own[at], what, at >= s->intercepts));
        if (row != object)
            pv__value_set(object, own->label, row);
    }
    return object;
}

static pv_result *marginal_of(const pv_classifier *c, const pv_summary *s) {
    pv_result *object = pv__value_object();
    for (int y = 0; y < c->schema->classes; y++)
        pv__value_set(object, c->schema->labels[y], pv__value_real(s->marginal[y].mean));
    return object;
}

static void set_posterior(pv_result *object, const pv_classifier *c, const pv_summary *s) {
    const pv_posterior *p = c->posterior;
    if (!p)
        return;
    bool hmc = p->kind == PV_POSTERIOR_HMC, bound = p->kind == PV_POSTERIOR_LAPLACE || p->kind == PV_POSTERIOR_VI;
    pv_result *intervals = pv__value_object();
    for (int y = 0; y < c->schema->classes; y++)
        pv__value_set(intervals, c->schema->labels[y],
                      pv__value_pack("rrrr", "value", s->marginal[y].mean, "sd", s->marginal[y].sd, "lo",
                                     s->marginal[y].lo, "hi", s->marginal[y].hi));
    pv__value_set(object, "posterior", pv__value_text(pv_posterior_kind_name(p->kind)));
    pv__value_set(object, "posterior_stop", pv__value_text(pv_stop_name(p->stop)));
    pv__value_set(object, "draws", pv__value_integer((int64_t)p->count));
    pv__value_set(object, "interval", pv__value_real(s->level));
    pv__value_set(object, "marginal_interval", intervals);
    pv__value_set(object, "elbo", pv__value_real(bound ? p->elbo : (double)NAN));
    pv__value_set(object, "elbo_se", pv__value_real(bound ? p->elbo_se : (double)NAN));
    pv__value_set(object, "evidence", pv__value_real(p->kind == PV_POSTERIOR_VI ? p->evidence : (double)NAN));
    pv__value_set(object, "chains", hmc ? pv__value_integer((int64_t)p->chains) : pv__value_null());
    pv__value_set(object, "rhat_max", pv__value_real(pv_posterior_rhat_max(p)));
    pv__value_set(object, "ess_min", pv__value_real(pv_posterior_ess_min(p)));
    pv__value_set(object, "divergences", hmc ? pv__value_integer(p->divergences) : pv__value_null());
}

static void set_estimates(pv_result *object, const pv_classifier *c, const pv_summary *s) {
    pv__value_set(object, "weighting", weighting_of(c->combination));
    pv__value_set(object, "marginal", marginal_of(c, s));
    if (s->coefficient)
        pv__value_set(object, "coefficients", coefficients_of(c, s));
    if (s->has_errors)
        pv__value_set(object, "interval", pv__value_real(s->level));
    set_posterior(object, c, s);
}

/* ---- models of their own kind ------------------------------------------------------------------------------------ */

static pv_result *stacked_of(const pv_stacked *of) {
    pv_result *object = pv__value_object(), *list = pv__value_list();
    for (size_t i = 0; i < of->count; i++) {
        const pv_candidate *own = &of->candidate[i];
        pv__value_append(
            list, pv__value_pack("trrr", "name", own->name, "weight", own->weight, "gain", own->gain, "se", own->se));
    }
    pv__value_set(object, "candidates", list);
    pv__value_set(object, "gain", pv__value_real(of->gain));
    pv__value_set(object, "se", pv__value_real(of->se));
    pv__value_set(object, "guess", pv__value_real(of->guess));
    pv__value_set(object, "ratio_max", pv__value_real(exp(of->cap)));
    pv__value_set(object, "folds", pv__value_integer(of->folds));
    pv__value_set(object, "repeats", pv__value_integer(of->repeats));
    return object;
}

static pv_result *boosted_of(const pv_boosted *of) {
    pv_result *object = pv__value_object();
    pv__value_set(object, "depth", pv__value_integer(of->depth));
    pv__value_set(object, "rounds", pv__value_integer(of->rounds));
    pv__value_set(object, "rate", pv__value_real(of->rate));
    pv__value_set(object, "chosen", pv__value_flag(of->chosen));
    pv__value_set(object, "most", pv__value_integer(of->most));
    pv__value_set(object, "folds", pv__value_integer(of->folds));
    pv__value_set(object, "loss", pv__value_real(of->loss));
    pv__value_set(object, "guess", pv__value_real(of->guess));
    return object;
}

static pv_result *smoothing_of(const pv_classifier *c) {
    const pv_smoothing *s = c->smoothing;
    pv_result *list = pv__value_list();
    for (size_t g = 0; g < s->count; g++) {
        const char *kind = g == 0 ? "slopes" : pv_classifier_has_effect(c, g) ? "curve" : "levels";
        pv_result *own = pv__value_object();
        pv__value_set(own, "column", g == 0 ? pv__value_null() : pv__value_text(c->schema->source[s->column[g]].name));
        pv__value_set(own, "kind", pv__value_text(kind));
        pv__value_set(own, "scale", pv__value_real(s->scale[g]));
        pv__value_set(own, "edf", pv__value_real(s->edf[g]));
        pv__value_append(list, own);
    }
    return list;
}

static void set_kind(pv_result *object, const pv_classifier *c) {
    if (c->stacked)
        pv__value_set(object, "stacked", stacked_of(c->stacked));
    if (c->boosted)
        pv__value_set(object, "boosted", boosted_of(c->boosted));
    if (c->smoothing)
        pv__value_set(object, "smoothing", smoothing_of(c));
}

/* ---- all together ------------------------------------------------------------------------------------------------ */

static pv_status build(pv_ctx *ctx, const pv_classifier *c, const pv_summary *s, pv_result **result) {
    pv_result *record = NULL, *object = pv__value_object();
    pv_status status = c->record ? pv__json_parse(ctx, c->record, strlen(c->record), &record) : PV_OK;
    set_inputs(object, c);
    set_fit(object, c);
    set_population(object, c);
    set_estimates(object, c, s);
    set_kind(object, c);
    pv__value_set(object, "seed", pv__value_integer(c->seed));
    pv__value_set(object, "record", record ? record : pv__value_object());
    if (status == PV_OK && !pv__value_whole(object))
        status = pv__fail(ctx, PV_ERR_MEMORY, "out of memory for the model's description");
    if (status == PV_OK)
        *result = object;
    else
        pv_result_free(object);
    return status;
}

pv_status pv_classifier_result(pv_ctx *ctx, const pv_classifier *classifier, double level, pv_result **result) {
    pv_summary *summary = NULL;
    *result = NULL;
    PV_TRY(pv_classifier_summary(ctx, classifier, level, &summary));
    pv_status status = build(ctx, classifier, summary, result);
    pv_summary_free(ctx, summary);
    return status;
}
