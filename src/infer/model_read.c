/* Model files, read. A file is believed only after its sizes and checksum agree (model_frame.c), and every field is
 * checked before it is used. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/schema_learn.h"
#include "infer/combined.h"
#include "infer/model_file.h"
#include "infer/stacking.h"
#include "base/json.h"
#include "model/model.h"

static double number_or_nan(json_t *value) {
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static uint64_t hash_of(json_t *object) {
    const char *hash = json_string_value(json_object_get(object, "hash"));
    return hash ? strtoull(hash, NULL, 16) : 0;
}

/* Absent, or null: there was none. */
static pv_status get_sample(const pv__reader *r, pv_classifier *c) {
    json_t *sample = json_object_get(r->root, "sample");
    if (!json_is_object(sample))
        return PV_OK;
    c->sample_hash = hash_of(sample);
    c->sample_rows = (size_t)json_integer_value(json_object_get(sample, "rows"));
    c->estimated = json_is_true(json_object_get(sample, "estimated"));
    return pv__model_text(r, sample, "source", &c->sample_source);
}

/* NaN or null: infinite. */
static double get_df(json_t *value) {
    double df = json_is_number(value) ? json_number_value(value) : HUGE_VAL;
    return df >= 1 ? df : 1;
}

/* Absent, or null: there is none. */
static pv_status get_combination(const pv__reader *r, pv_classifier *c) {
    json_t *from = json_object_get(r->root, "combination"), *term = json_object_get(from, "term");
    size_t P = pv_model_params(c->model), slopes = json_array_size(term);
    json_int_t terms = json_integer_value(json_object_get(from, "terms"));
    const char *use = json_string_value(json_object_get(from, "use"));
    pv_estimate estimate;
    double *numbers;
    if (!json_is_object(from))
        return PV_OK;
    if (!pv_model_has_coefficients(c->model) || slopes != pv__model_slopes(c->model) || terms < 0 ||
        (size_t)terms > slopes || !use || !pv_estimate_find(use, &estimate) ||
        P > r->payload_size / sizeof(double) / P) /* before its square is allocated */
        return pv__model_damaged(r, "how its estimates were combined is damaged");
    PV_TRY(pv__combination_new(r->ctx, P, (size_t)terms, slopes, &c->combination));
    pv_combination *m = c->combination;
    m->use = (int)estimate;
    PV_TRY(pv__model_array(r, "combination", pv__combination_numbers(P, m), true, &numbers));
    memcpy(m->weighted, numbers, pv__combination_numbers(P, m) * sizeof *numbers);
    pv__free(r->ctx, numbers);
    if (json_object_get(json_object_get(r->root, "arrays"), "checks")) {
        PV_TRY(pv__model_array(r, "checks", pv__combination_checks(m), false, &numbers));
        memcpy(m->tail, numbers, pv__combination_checks(m) * sizeof *numbers);
        pv__free(r->ctx, numbers);
    }
    for (size_t i = 0; i < slopes; i++) {
        json_int_t own = json_integer_value(json_array_get(term, i));
        if (own < 0 || own >= terms)
            return pv__model_damaged(r, "how its estimates were combined is damaged");
        m->term[i] = (int32_t)own;
    }
    m->statistic = json_number_value(json_object_get(from, "statistic"));
    m->p_value = json_number_value(json_object_get(from, "p_value"));
    m->rank = json_integer_value(json_object_get(from, "rank"));
    m->units = json_number_value(json_object_get(from, "units"));
    m->controls = json_integer_value(json_object_get(from, "controls"));
    m->df_risk = get_df(json_object_get(from, "df_risk"));
    return PV_OK;
}

/* Of a linear model that has any. */
static pv_status get_errors(const pv__reader *r, pv_classifier *c) {
    size_t params = pv_model_params(c->model);
    if (!json_object_get(json_object_get(r->root, "arrays"), "standard_error"))
        return PV_OK;
    if (!pv_model_has_coefficients(c->model) && !pv_model_has_thresholds(c->model))
        return pv__model_damaged(r, "it has standard errors but no coefficients");
    PV_TRY(pv__model_array(r, "standard_error", params, true, &c->standard_error));
    for (size_t i = 0; i < params; i++)
        if (c->standard_error[i] < 0)
            return pv__model_damaged(r, "a standard error is negative");
    json_t *arrays = json_object_get(r->root, "arrays");
    if (json_object_get(arrays, "centre"))
        PV_TRY(pv__model_array(r, "centre", params, false, &c->centre));
    if (!json_object_get(arrays, "spread") || !pv_model_has_coefficients(c->model))
        return PV_OK;
    PV_TRY(pv__model_array(r, "spread", params * params, false, &c->spread));
    c->spread_df = get_df(json_object_get(r->root, "spread_df"));
    if (json_object_get(arrays, "averaging"))
        PV_TRY(pv__model_array(r, "averaging", (size_t)c->schema->classes - 1, false, &c->averaging));
    return pv__set_errors(r->ctx, c->spread, c);
}

static pv_status get_scalars(const pv__reader *r, pv_classifier *c) {
    json_t *fit = json_object_get(r->root, "fit"), *data = json_object_get(r->root, "data");
    if (!pv_loss_find(json_string_value(json_object_get(r->root, "loss")), &c->loss) ||
        !pv_marginal_find(json_string_value(json_object_get(r->root, "marginal")), &c->marginal) ||
        !pv_stop_find(json_string_value(json_object_get(fit, "stop")), &c->stop))
        return pv__model_damaged(r, "its loss, marginal or stop reason is unknown");
    c->validation = (double)NAN;
    c->iterations = json_integer_value(json_object_get(fit, "iterations"));
    c->passes = json_number_value(json_object_get(fit, "passes"));
    json_t *value = json_object_get(fit, "loss");
    c->loss_value = json_is_number(value) ? json_number_value(value) : HUGE_VAL;
    c->seed = json_integer_value(json_object_get(fit, "seed"));
    c->separated = json_integer_value(json_object_get(fit, "separated"));
    c->rows = (size_t)json_integer_value(json_object_get(data, "rows"));
    c->dropped = (size_t)json_integer_value(json_object_get(data, "dropped"));
    c->data_hash = hash_of(data);
    PV_TRY(get_sample(r, c));
    json_t *strength = json_object_get(r->root, "prevalence_n");
    c->prevalence_n = json_is_string(strength) ? HUGE_VAL : json_number_value(strength);
    PV_TRY(pv__model_text(r, data, "source", &c->source));
    json_t *record = json_object_get(r->root, "record");
    if (!json_is_object(record))
        return pv__model_damaged(r, "its record is missing");
    return pv__json_dump(r->ctx, json_incref(record), "the model's record is not valid UTF-8 text", &c->record);
}

static pv_status check_shares(const pv__reader *r, const double *share, size_t n) {
    double sum = 0;
    for (size_t y = 0; y < n; y++) {
        if (!(share[y] > 0 && share[y] < 1))
            return pv__model_damaged(r, "a share of a class is not between 0 and 1");
        sum += share[y];
    }
    return fabs(sum - 1) <= 1e-6 ? PV_OK : pv__model_damaged(r, "the shares of its classes do not add up to 1");
}

/* What is known of each stratum of the schema. */
static pv_status get_stratified(const pv__reader *r, pv_classifier *c) {
    size_t k = (size_t)c->schema->classes, strata = c->schema->strata ? (size_t)c->schema->strata->count : 0;
    double *numbers = NULL, sum = 0;
    if (!strata)
        return PV_OK;
    if (!c->prevalence)
        return pv__model_damaged(r, "its strata have no prevalence");
    pv_status status;
    PV_GOTO(done, pv__model_array(r, "strata", pv__model_strata_numbers(strata, k), false, &numbers));
    PV_GOTO(done, pv__stratified_alloc(r->ctx, (int)strata, (int)k, &c->stratified));
    pv_stratified *to = c->stratified;
    memcpy(to->share, numbers, pv__model_strata_numbers(strata, k) * sizeof *numbers);
    for (size_t s = 0; s < strata; s++) {
        bool sound = to->share[s] > 0 && to->n[s] >= 0 && to->rows[s] > 0 && isfinite(to->rows[s]);
        for (size_t y = 0; y < k; y++)
            sound = sound && to->log_marginal[s * k + y] <= 1e-9;
        if (!sound) {
            status = pv__model_damaged(r, "what it knows of a stratum is damaged");
            goto done;
        }
        to->n[s] = to->n[s] > 0 ? to->n[s] : HUGE_VAL;
        sum += to->share[s];
        PV_GOTO(done, check_shares(r, to->prevalence + s * k, k));
        PV_GOTO(done, check_shares(r, to->design + s * k, k));
    }
    if (!(fabs(sum - 1) <= 1e-6))
        status = pv__model_damaged(r, "the shares of its strata do not add up to 1");
done:
    pv__free(r->ctx, numbers);
    return status;
}

static pv_status get_posterior(const pv__reader *r, pv_classifier *c) {
    json_t *from = json_object_get(r->root, "posterior");
    if (!from || json_is_null(from))
        return PV_OK;
    const char *kind = json_string_value(json_object_get(from, "kind"));
    json_int_t count = json_integer_value(json_object_get(from, "count"));
    json_t *given = json_object_get(from, "parameters"); /* absent: of all */
    json_int_t parameters = given ? json_integer_value(given) : (json_int_t)pv_model_params(c->model);
    size_t params = parameters > 0 ? (size_t)parameters : 0, k = (size_t)c->schema->classes;
    /* The counts are bounded by the payload before anything is multiplied. */
    pv_posterior_kind which;
    if (!pv_posterior_kind_find(kind, &which) || !pv__posterior_dims_sound(c->model, params) || count < 1 ||
        (size_t)count > r->payload_size || params > r->payload_size / (size_t)count ||
        k > r->payload_size / (size_t)count)
        return pv__model_damaged(r, "its posterior is damaged");
    PV_TRY(pv__alloc(r->ctx, 1, sizeof *c->posterior, &c->posterior));
    pv_posterior *p = c->posterior;
    p->dims = params;
    p->count = (size_t)count;
    p->kind = which;
    if (!pv_stop_find(json_string_value(json_object_get(from, "stop")), &p->stop))
        p->stop = PV_STOP_COMPLETED;
    p->iterations = json_integer_value(json_object_get(from, "iterations"));
    p->elbo = number_or_nan(json_object_get(from, "elbo"));
    p->elbo_se = number_or_nan(json_object_get(from, "elbo_se"));
    p->evidence = number_or_nan(json_object_get(from, "evidence"));
    p->acceptance = number_or_nan(json_object_get(from, "acceptance"));
    p->step_size = number_or_nan(json_object_get(from, "step_size"));
    json_int_t chains = json_integer_value(json_object_get(from, "chains"));
    if (chains < (p->kind == PV_POSTERIOR_HMC) || chains > count)
        return pv__model_damaged(r, "its posterior is damaged");
    p->chains = (size_t)chains;
    p->divergences = json_integer_value(json_object_get(from, "divergences"));
    p->max_depth_hits = json_integer_value(json_object_get(from, "max_depth_hits"));
    PV_TRY(pv__model_array(r, "draws", p->count * params, false, &p->draws));
    PV_TRY(pv__model_array(r, "draw_log_marginal", p->count * k, false, &c->draw_log_marginal));
    size_t cells = c->stratified ? (size_t)c->stratified->strata * k : 0;
    if (cells > r->payload_size / p->count)
        return pv__model_damaged(r, "its posterior is damaged");
    if (cells)
        PV_TRY(pv__model_array(r, "draw_strata", p->count * cells, false, &c->stratified->draw_log_marginal));
    if (p->kind == PV_POSTERIOR_HMC) {
        PV_TRY(pv__model_array(r, "rhat", params, true, &p->rhat));
        PV_TRY(pv__model_array(r, "ess", params, true, &p->ess));
    }
    return PV_OK;
}

/* Whether points of one label are what a reference has: ascending, within bounds, with weights. */
static bool sound_points(size_t n, const double *score, const double *weight) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs(score[i]) <= PV_REFERENCE_SCORE) || !(weight[i] > 0 && pv_weight_sound(weight[i])) ||
            (i > 0 && !(score[i] >= score[i - 1])))
            return false;
    return true;
}

/* The models that scored its rows, of as many parameters as the classifier. */
static pv_status get_folds(const pv__reader *r, const pv_classifier *c, pv_reference *made) {
    made->params = pv_model_params(c->model);
    made->folds = PV_REFERENCE_FOLDS;
    if (!pv_model_has_coefficients(c->model) ||
        made->params > ((size_t)pv_model_inputs(c->model) + 1) * (size_t)(c->schema->classes - 1))
        return pv__model_damaged(r, "its reference rows are damaged");
    return pv__model_array(r, "reference_folds", made->folds * made->params, false, &made->fold);
}

/* Of three labels and more. */
static pv_status get_cells(const pv__reader *r, pv_classifier *c) {
    int k = c->schema->classes;
    double *numbers = NULL, sum;
    bool sound = true;
    if (k < 3 || k > PV_REFERENCE_LABELS || c->schema->image || c->stratified)
        return pv__model_damaged(r, "its reference rows are damaged");
    PV_TRY(pv__alloc(r->ctx, 1, sizeof *c->reference, &c->reference));
    PV_TRY(pv__label_cells_alloc(r->ctx, k, &c->reference->cells));
    pv_label_cells *made = c->reference->cells;
    pv_status status = pv__model_array(r, "reference_cells", pv__label_cells_numbers(k), false, &numbers);
    if (status == PV_OK)
        memcpy(made->cut, numbers, pv__label_cells_numbers(k) * sizeof *numbers);
    pv__free(r->ctx, numbers);
    PV_TRY(status);
    for (int y = 0; y < k; y++) {
        sum = 0;
        for (int i = 0; i < 2 * k; i++) {
            sound = sound && made->known[2 * k * y + i] >= 0;
            sum += made->known[2 * k * y + i];
        }
        sound = sound && made->cut[y] > 0 && made->cut[y] <= 1 && fabs(sum - made->units[y]) <= 1e-6 * sum && sum > 0 &&
                isfinite(sum);
    }
    if (!sound)
        return pv__model_damaged(r, "its reference rows are damaged");
    return json_object_get(json_object_get(r->root, "arrays"), "reference_folds") ? get_folds(r, c, c->reference)
                                                                                  : PV_OK;
}

/* Absent: the model has none. */
static pv_status get_reference(const pv__reader *r, pv_classifier *c) {
    json_t *from = json_object_get(r->root, "reference"), *arrays = json_object_get(r->root, "arrays");
    if (json_object_get(arrays, "reference_cells"))
        return get_cells(r, c);
    if (!from || json_is_null(from))
        return PV_OK;
    PV_TRY(pv__alloc(r->ctx, 1, sizeof *c->reference, &c->reference));
    pv_reference *made = c->reference;
    double *units;
    for (size_t y = 0; y < 2; y++) {
        json_int_t count = json_integer_value(json_array_get(from, y));
        if (c->schema->classes != 2 || c->schema->image || count < 2 || count > PV_REFERENCE_POINTS)
            return pv__model_damaged(r, "its reference rows are damaged");
        made->count[y] = (size_t)count;
    }
    size_t all = made->count[0] + made->count[1];
    PV_TRY(pv__model_array(r, "reference_score", all, false, &made->score));
    PV_TRY(pv__model_array(r, "reference_weight", all, false, &made->weight));
    if (!sound_points(made->count[0], made->score, made->weight) ||
        !sound_points(made->count[1], made->score + made->count[0], made->weight + made->count[0]))
        return pv__model_damaged(r, "its reference rows are damaged");
    PV_TRY(pv__model_array(r, "reference_units", 2, false, &units));
    memcpy(made->units, units, sizeof made->units);
    pv__free(r->ctx, units);
    if (!(made->units[0] > 0 && made->units[1] > 0))
        return pv__model_damaged(r, "its reference rows are damaged");
    if (json_object_get(arrays, "reference_folds"))
        PV_TRY(get_folds(r, c, made));
    if (!json_object_get(arrays, "reference_columns"))
        return PV_OK;
    size_t columns = (size_t)c->schema->features;
    if (columns > PV_REFERENCE_COLUMNS)
        return pv__model_damaged(r, "its reference rows are damaged");
    PV_TRY(pv__model_array(r, "reference_columns", 4 * columns, false, &made->column));
    made->columns = columns;
    for (size_t j = 0; j < 2 * columns; j++)
        if (!(made->column[2 * columns + j] >= 0))
            return pv__model_damaged(r, "its reference rows are damaged");
    return PV_OK;
}

static pv_status read_header(pv__reader *r, pv_classifier *c) {
    PV_TRY(pv__json_parse(r->ctx, r->header, r->header_size, &r->root));
    if (!json_is_object(r->root))
        return pv__model_damaged(r, "its header is not JSON");
    PV_TRY(pv__alloc(r->ctx, 1, sizeof *c->schema, &c->schema));
    PV_TRY(pv__model_schema(r, c->schema));
    PV_TRY(get_scalars(r, c));
    size_t classes = (size_t)c->schema->classes;
    const char *spec = json_string_value(json_object_get(r->root, "model"));
    pv_status made =
        spec ? pv__model_new(r->ctx, spec, c->schema->features, c->schema->offset, c->schema->classes, &c->model)
             : PV_ERR_FORMAT;
    if (spec && pv__network_absent(spec))
        return pv__fail_at(r->ctx, PV_ERR_USAGE, r->path, 0, 0,
                           "is a model of images, and this prevail was built without networks for them "
                           "(PV_IMAGES=OFF)");
    if (made != PV_OK)
        return made == PV_ERR_MEMORY ? made : pv__model_damaged(r, "its architecture is unknown");
    if (pv__model_takes_views(c->model) != (c->schema->image != NULL))
        return pv__model_damaged(r, "its architecture is not one for its columns");
    PV_TRY(pv__model_array(r, "weights", pv_model_params(c->model), false, &c->w));
    PV_TRY(pv__model_array(r, "design", classes, false, &c->design));
    PV_TRY(pv__model_array(r, "log_marginal", classes, false, &c->log_marginal));
    if (json_object_get(json_object_get(r->root, "arrays"), "prevalence"))
        PV_TRY(pv__model_array(r, "prevalence", classes, false, &c->prevalence));
    PV_TRY(check_shares(r, c->design, classes));
    if (c->prevalence)
        PV_TRY(check_shares(r, c->prevalence, classes));
    const char *wrong;
    PV_TRY(pv__stacked_from_json(r->ctx, json_object_get(r->root, "stacked"), c, &wrong));
    if (wrong)
        return pv__model_damaged(r, wrong);
    for (size_t y = 0; y < classes; y++)
        if (!(c->log_marginal[y] <= 1e-9))
            return pv__model_damaged(r, "a marginal probability is above 1");
    PV_TRY(get_combination(r, c));
    PV_TRY(get_errors(r, c));
    PV_TRY(get_stratified(r, c));
    PV_TRY(get_posterior(r, c));
    return get_reference(r, c);
}

/* The classifier of what was framed; gives back what the reader holds. */
static pv_status finish(pv__reader *r, pv_status framed, pv_classifier **classifier) {
    pv_classifier *c = NULL;
    pv_status status;
    PV_GOTO(done, framed);
    PV_GOTO(done, pv__alloc(r->ctx, 1, sizeof *c, &c));
    status = read_header(r, c);
done:
    json_decref(r->root);
    pv__free(r->ctx, r->header);
    pv__free(r->ctx, r->own);
    if (status == PV_OK)
        *classifier = c;
    else
        pv_classifier_free(r->ctx, c);
    return status;
}

pv_status pv_classifier_load(pv_ctx *ctx, const char *path, pv_classifier **classifier) {
    *classifier = NULL;
    pv__reader r = {.ctx = ctx, .path = path};
    FILE *stream;
    PV_TRY(pv__file_open(ctx, path, &stream));
    pv_status framed = pv__model_frame(&r, stream);
    fclose(stream);
    return finish(&r, framed, classifier);
}

pv_status pv_classifier_from_bytes(pv_ctx *ctx, const char *name, const unsigned char *bytes, size_t size,
                                   pv_classifier **classifier) {
    *classifier = NULL;
    pv__reader r = {.ctx = ctx, .path = name ? name : "the model"};
    return finish(&r, pv__model_frame_bytes(&r, bytes, size), classifier);
}
