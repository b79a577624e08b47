/* What a mixture keeps of its candidates: in memory, and in the header of its model file. Weights of the members are
 * parameters of the model, which the header does not repeat.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "infer/stacking.h"

pv_status pv__stacked_new(pv_ctx *ctx, size_t count, pv_stacked **stacked) {
    pv_stacked *made;
    *stacked = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    pv_status status = pv__alloc(ctx, count, sizeof *made->candidate, &made->candidate);
    if (status != PV_OK) {
        pv__free(ctx, made);
        return status;
    }
    made->count = count;
    *stacked = made;
    return PV_OK;
}

void pv__stacked_free(pv_ctx *ctx, pv_stacked *stacked) {
    if (!stacked)
        return;
    for (size_t i = 0; i < stacked->count; i++)
        pv__free(ctx, stacked->candidate[i].name);
    pv__free(ctx, stacked->candidate);
    pv__free(ctx, stacked);
}

static json_t *number_or_null(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

static double number_or_nan(json_t *value) {
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

json_t *pv__stacked_to_json(const pv_stacked *of) {
    json_t *list = json_array();
    for (size_t i = 0; i < of->count; i++) {
        const pv_candidate *c = &of->candidate[i];
        if (json_array_append_new(list, json_pack("{s:o, s:b, s:o, s:o}", "name", pv__json_text(c->name), "member",
                                                  c->weight > 0, "gain", number_or_null(c->gain), "se",
                                                  number_or_null(c->se))) != 0)
            return json_decref(list), NULL;
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:I, s:I}", "candidates", list, "gain", number_or_null(of->gain), "se",
                     number_or_null(of->se), "guess", number_or_null(of->guess), "folds", (json_int_t)of->folds,
                     "repeats", (json_int_t)of->repeats);
}

static pv_status read_candidates(pv_ctx *ctx, json_t *list, pv_classifier *c, size_t *members, const char **wrong) {
    double log_weight[PV__STACK_MEMBERS_MAX];
    pv__stack_weights(c->model, c->w, log_weight);
    *members = 0;
    for (size_t i = 0; i < c->stacked->count; i++) {
        pv_candidate *to = &c->stacked->candidate[i];
        json_t *own = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(own, "name"));
        bool mixed = json_is_true(json_object_get(own, "member"));
        if (!name) {
            *wrong = "a candidate has no name";
            return PV_OK;
        }
        PV_TRY(pv__strdup(ctx, name, &to->name));
        to->weight = mixed && *members < c->model->members ? exp(log_weight[*members]) : 0;
        *members += mixed;
        to->gain = number_or_nan(json_object_get(own, "gain"));
        to->se = number_or_nan(json_object_get(own, "se"));
    }
    return PV_OK;
}

pv_status pv__stacked_from_json(pv_ctx *ctx, json_t *from, pv_classifier *c, const char **wrong) {
    json_t *list = json_object_get(from, "candidates");
    size_t members = 0;
    *wrong = NULL;
    if (!c->model->architecture->of_members) {
        *wrong = from ? "it has candidates and no members" : NULL;
        return PV_OK;
    }
    if (c->model->members == 0 || !c->prevalence) {
        *wrong = "its members are missing";
        return PV_OK;
    }
    PV_TRY(pv__stacked_new(ctx, json_array_size(list), &c->stacked));
    PV_TRY(read_candidates(ctx, list, c, &members, wrong));
    if (!*wrong && members != c->model->members)
        *wrong = "its candidates are not those of its members";
    c->stacked->gain = number_or_nan(json_object_get(from, "gain"));
    c->stacked->se = number_or_nan(json_object_get(from, "se"));
    c->stacked->guess = number_or_nan(json_object_get(from, "guess"));
    c->stacked->folds = json_integer_value(json_object_get(from, "folds"));
    c->stacked->repeats = json_integer_value(json_object_get(from, "repeats"));
    c->stacked->cap = fabs(c->w[0]);
    return PV_OK;
}
