/* Reads model files. Nothing in a file is used before its sizes and checksum are verified (model_frame.c), and every
 * field is checked before use. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/schema_learn.h"
#include "infer/boosting.h"
#include "infer/combined.h"
#include "infer/model_file.h"
#include "infer/stacking.h"
#include "base/value.h"
#include "model/model.h"

static double number_or_nan(const pv_result *value) {
    return pv__value_is_number(value) ? pv__value_number_of(value) : (double)NAN;
}

static uint64_t hash_of(const pv_result *object) {
    const char *hash = pv_result_text(pv_result_get(object, "hash"));
    return hash ? strtoull(hash, NULL, 16) : 0;
}

/* Absent or null: no sample was used. */
static pv_status get_sample(const pv__reader *r, pv_classifier *c) {
    const pv_result *sample = pv_result_get(r->root, "sample");
    if (!pv__value_is(sample, PV_RESULT_OBJECT))
        return PV_OK;
    c->sample_hash = hash_of(sample);
    c->sample_rows = (size_t)pv__value_integer_of(pv_result_get(sample, "rows"));
    c->estimated = pv__value_is_true(pv_result_get(sample, "estimated"));
    return pv__model_text(r, sample, "source", &c->sample_source);
}

/* NaN or null: infinite. */
static double get_df(const pv_result *value) {
    double df = pv__value_is_number(value) ? pv__value_number_of(value) : HUGE_VAL;
    return df >= 1 ? df : 1;
}

/* Absent or null: there is none. */
static pv_status get_combination(const pv__reader *r, pv_classifier *c) {
    const pv_result *from = pv_result_get(r->root, "combination"), *term = pv_result_get(from, "term");
    size_t P = pv_model_params(c->model), slopes = pv_result_count(term);
    int64_t terms = pv__value_integer_of(pv_result_get(from, "terms"));
    const char *use = pv_result_text(pv_result_get(from, "use"));
    pv_estimate estimate;
    double *numbers;
    if (!pv__value_is(from, PV_RESULT_OBJECT))
        return PV_OK;
    if (!pv_model_has_coefficients(c->model) || slopes != pv__model_slopes(c->model) || terms < 0 ||
        (size_t)terms > slopes || !use || !pv_estimate_find(use, &estimate) ||
        P > r->payload_size / sizeof(double) / P) /* checked before its square is allocated */
        return pv__model_damaged(r, "how its estimates were combined is damaged");
    PV_TRY(pv__combination_new(r->ctx, P, (size_t)terms, slopes, &c->combination));
    pv_combination *m = c->combination;
    m->use = (int)estimate;
    PV_TRY(pv__model_array(r, "combination", pv__combination_numbers(P, m), true, &numbers));
    memcpy(m->weighted, numbers, pv__combination_numbers(P, m) * sizeof *numbers);
    pv__free(r->ctx, numbers);
    if (pv_result_get(pv_result_get(r->root, "arrays"), "checks")) {
        PV_TRY(pv__model_array(r, "checks", pv__combination_checks(m), false, &numbers));
        memcpy(m->tail, numbers, pv__combination_checks(m) * sizeof *numbers);
        pv__free(r->ctx, numbers);
    }
    for (size_t i = 0; i < slopes; i++) {
        int64_t own = pv__value_integer_of(pv_result_child(term, i));
        if (own < 0 || own >= terms)
            return pv__model_damaged(r, "how its estimates were combined is damaged");
        m->term[i] = (int32_t)own;
    }
    m->statistic = pv__value_number_of(pv_result_get(from, "statistic"));
    m->p_value = pv__value_number_of(pv_result_get(from, "p_value"));
    m->rank = pv__value_integer_of(pv_result_get(from, "rank"));
    m->units = pv__value_number_of(pv_result_get(from, "units"));
    m->controls = pv__value_integer_of(pv_result_get(from, "controls"));
    m->df_risk = get_df(pv_result_get(from, "df_risk"));
    return PV_OK;
}

/* Standard errors, if the linear model has any. */
static pv_status get_errors(const pv__reader *r, pv_classifier *c) {
    size_t params = pv_model_params(c->model);
    if (!pv_result_get(pv_result_get(r->root, "arrays"), "standard_error"))
        return PV_OK;
    if (!pv_model_has_coefficients(c->model) && !pv_model_has_thresholds(c->model))
        return pv__model_damaged(r, "it has standard errors but no coefficients");
    PV_TRY(pv__model_array(r, "standard_error", params, true, &c->standard_error));
    for (size_t i = 0; i < params; i++)
        if (c->standard_error[i] < 0)
            return pv__model_damaged(r, "a standard error is negative");
    const pv_result *arrays = pv_result_get(r->root, "arrays");
    if (pv_result_get(arrays, "centre"))
        PV_TRY(pv__model_array(r, "centre", params, false, &c->centre));
    if (!pv_result_get(arrays, "spread") || !pv_model_has_coefficients(c->model))
        return PV_OK;
    PV_TRY(pv__model_array(r, "spread", params * params, false, &c->spread));
    c->spread_df = get_df(pv_result_get(r->root, "spread_df"));
    if (pv_result_get(arrays, "averaging"))
        PV_TRY(pv__model_array(r, "averaging", (size_t)c->schema->classes - 1, false, &c->averaging));
    return pv__set_errors(r->ctx, c->spread, c);
}

static pv_status get_scalars(const pv__reader *r, pv_classifier *c) {
    const pv_result *fit = pv_result_get(r->root, "fit"), *data = pv_result_get(r->root, "data");
    if (!pv_loss_find(pv_result_text(pv_result_get(r->root, "loss")), &c->loss) ||
        !pv_marginal_find(pv_result_text(pv_result_get(r->root, "marginal")), &c->marginal) ||
        !pv_stop_find(pv_result_text(pv_result_get(fit, "stop")), &c->stop))
        return pv__model_damaged(r, "its loss, marginal or stop reason is unknown");
    c->validation = (double)NAN;
    c->iterations = pv__value_integer_of(pv_result_get(fit, "iterations"));
    c->passes = pv__value_number_of(pv_result_get(fit, "passes"));
    const pv_result *value = pv_result_get(fit, "loss");
    c->loss_value = pv__value_is_number(value) ? pv__value_number_of(value) : HUGE_VAL;
    c->seed = pv__value_integer_of(pv_result_get(fit, "seed"));
    c->separated = pv__value_integer_of(pv_result_get(fit, "separated"));
    c->rows = (size_t)pv__value_integer_of(pv_result_get(data, "rows"));
    c->dropped = (size_t)pv__value_integer_of(pv_result_get(data, "dropped"));
    c->data_hash = hash_of(data);
    PV_TRY(get_sample(r, c));
    const pv_result *strength = pv_result_get(r->root, "prevalence_n");
    c->prevalence_n = pv__value_is(strength, PV_RESULT_TEXT) ? HUGE_VAL : pv__value_number_of(strength);
    PV_TRY(pv__model_text(r, data, "source", &c->source));
    const pv_result *record = pv_result_get(r->root, "record");
    if (!pv__value_is(record, PV_RESULT_OBJECT))
        return pv__model_damaged(r, "its record is missing");
    return pv__json_dump(r->ctx, record, "the model's record is not valid UTF-8 text", &c->record);
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

/* What is known about each stratum of the schema. */
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
            status = pv__model_damaged(r, "its description of a stratum is damaged");
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
    const pv_result *from = pv_result_get(r->root, "posterior");
    if (!from || pv__value_is(from, PV_RESULT_NULL))
        return PV_OK;
    const char *kind = pv_result_text(pv_result_get(from, "kind"));
    int64_t count = pv__value_integer_of(pv_result_get(from, "count"));
    const pv_result *given = pv_result_get(from, "parameters"); /* absent: all parameters */
    int64_t parameters = given ? pv__value_integer_of(given) : (int64_t)pv_model_params(c->model);
    size_t params = parameters > 0 ? (size_t)parameters : 0, k = (size_t)c->schema->classes;
    /* Counts are bounded by the payload's size before they are multiplied. */
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
    if (!pv_stop_find(pv_result_text(pv_result_get(from, "stop")), &p->stop))
        p->stop = PV_STOP_COMPLETED;
    p->iterations = pv__value_integer_of(pv_result_get(from, "iterations"));
    p->elbo = number_or_nan(pv_result_get(from, "elbo"));
    p->elbo_se = number_or_nan(pv_result_get(from, "elbo_se"));
    p->evidence = number_or_nan(pv_result_get(from, "evidence"));
    p->acceptance = number_or_nan(pv_result_get(from, "acceptance"));
    p->step_size = number_or_nan(pv_result_get(from, "step_size"));
    int64_t chains = pv__value_integer_of(pv_result_get(from, "chains"));
    if (chains < (p->kind == PV_POSTERIOR_HMC) || chains > count)
        return pv__model_damaged(r, "its posterior is damaged");
    p->chains = (size_t)chains;
    p->divergences = pv__value_integer_of(pv_result_get(from, "divergences"));
    p->max_depth_hits = pv__value_integer_of(pv_result_get(from, "max_depth_hits"));
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

/* Whether points of one label are valid for a reference: ascending, within bounds, with weights. */
static bool sound_points(size_t n, const double *score, const double *weight) {
    for (size_t i = 0; i < n; i++)
        if (!(fabs(score[i]) <= PV_REFERENCE_SCORE) || !(weight[i] > 0 && pv_weight_sound(weight[i])) ||
            (i > 0 && !(score[i] >= score[i - 1])))
            return false;
    return true;
}

/* The models that scored its rows, which have as many parameters as the classifier. */
static pv_status get_folds(const pv__reader *r, const pv_classifier *c, pv_reference *made) {
    made->params = pv_model_params(c->model);
    made->folds = PV_REFERENCE_FOLDS;
    if (!pv_model_has_coefficients(c->model) ||
        made->params > ((size_t)pv_model_inputs(c->model) + 1) * (size_t)(c->schema->classes - 1))
        return pv__model_damaged(r, "its reference rows are damaged");
    return pv__model_array(r, "reference_folds", made->folds * made->params, false, &made->fold);
}

/* For three or more labels. */
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
    return pv_result_get(pv_result_get(r->root, "arrays"), "reference_folds") ? get_folds(r, c, c->reference) : PV_OK;
}

/* Absent: the model has none. */
static pv_status get_reference(const pv__reader *r, pv_classifier *c) {
    const pv_result *from = pv_result_get(r->root, "reference"), *arrays = pv_result_get(r->root, "arrays");
    if (pv_result_get(arrays, "reference_cells"))
        return get_cells(r, c);
    if (!from || pv__value_is(from, PV_RESULT_NULL))
        return PV_OK;
    PV_TRY(pv__alloc(r->ctx, 1, sizeof *c->reference, &c->reference));
    pv_reference *made = c->reference;
    double *units;
    for (size_t y = 0; y < 2; y++) {
        int64_t count = pv__value_integer_of(pv_result_child(from, y));
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
    if (pv_result_get(arrays, "reference_folds"))
        PV_TRY(get_folds(r, c, made));
    if (!pv_result_get(arrays, "reference_columns"))
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
    if (!pv__value_is(r->root, PV_RESULT_OBJECT))
        return pv__model_damaged(r, "its header is not JSON");
    PV_TRY(pv__alloc(r->ctx, 1, sizeof *c->schema, &c->schema));
    PV_TRY(pv__model_schema(r, c->schema));
    PV_TRY(get_scalars(r, c));
    size_t classes = (size_t)c->schema->classes;
    const char *spec = pv_result_text(pv_result_get(r->root, "model"));
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
    if (pv_result_get(pv_result_get(r->root, "arrays"), "prevalence"))
        PV_TRY(pv__model_array(r, "prevalence", classes, false, &c->prevalence));
    PV_TRY(check_shares(r, c->design, classes));
    if (c->prevalence)
        PV_TRY(check_shares(r, c->prevalence, classes));
    const char *wrong;
    PV_TRY(pv__stacked_from_json(r->ctx, pv_result_get(r->root, "stacked"), c, &wrong));
    if (wrong)
        return pv__model_damaged(r, wrong);
    PV_TRY(pv__boosted_from_json(r->ctx, pv_result_get(r->root, "boosted"), c, &wrong));
    if (!wrong)
        PV_TRY(pv__smoothed_from_json(r->ctx, pv_result_get(r->root, "smoothing"), c, &wrong));
    if (!wrong)
        PV_TRY(pv__label_error_from_json(r->ctx, pv_result_get(r->root, "label_error"), c, &wrong));
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

/* Builds the classifier from the lines and header read, and frees the reader. */
static pv_status finish(pv__reader *r, pv_status framed, pv_classifier **classifier) {
    pv_classifier *c = NULL;
    pv_status status;
    PV_GOTO(done, framed);
    PV_GOTO(done, pv__alloc(r->ctx, 1, sizeof *c, &c));
    status = read_header(r, c);
done:
    pv_result_free(r->root);
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
