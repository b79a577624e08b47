/* The record of a mixture's candidates: in memory, and in the header of its model file. The weights of members are
 * parameters of the model and are not repeated in the header.
 */
#include <math.h>
#include <string.h>

#include "base/value.h"
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

static double number_or_nan(const pv_result *value) {
    return pv__value_is_number(value) ? pv__value_number_of(value) : (double)NAN;
}

pv_result *pv__stacked_to_json(const pv_stacked *of) {
    pv_result *list = pv__value_list();
    for (size_t i = 0; i < of->count; i++) {
        const pv_candidate *c = &of->candidate[i];
        pv__value_append(list, pv__value_pack("tbrr", "name", c->name, "member", (int)(c->weight > 0), "gain", c->gain,
                                              "se", c->se));
    }
    return pv__value_pack("vrrrII", "candidates", list, "gain", of->gain, "se", of->se, "guess", of->guess, "folds",
                          (int64_t)of->folds, "repeats", (int64_t)of->repeats);
}

static pv_status read_candidates(pv_ctx *ctx, const pv_result *list, pv_classifier *c, size_t *members,
                                 const char **wrong) {
    double log_weight[PV__STACK_MEMBERS_MAX];
    pv__stack_weights(c->model, c->w, log_weight);
    *members = 0;
    for (size_t i = 0; i < c->stacked->count; i++) {
        pv_candidate *to = &c->stacked->candidate[i];
        const pv_result *own = pv_result_child(list, i);
        const char *name = pv_result_text(pv_result_get(own, "name"));
        bool mixed = pv__value_is_true(pv_result_get(own, "member"));
        if (!name) {
            *wrong = "a candidate has no name";
            return PV_OK;
        }
        PV_TRY(pv__strdup(ctx, name, &to->name));
        to->weight = mixed && *members < c->model->members ? exp(log_weight[*members]) : 0;
        *members += mixed;
        to->gain = number_or_nan(pv_result_get(own, "gain"));
        to->se = number_or_nan(pv_result_get(own, "se"));
        to->lead = to->lead_se = (double)NAN;
    }
    return PV_OK;
}

pv_status pv__stacked_from_json(pv_ctx *ctx, const pv_result *from, pv_classifier *c, const char **wrong) {
    const pv_result *list = pv_result_get(from, "candidates");
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
    PV_TRY(pv__stacked_new(ctx, pv_result_count(list), &c->stacked));
    PV_TRY(read_candidates(ctx, list, c, &members, wrong));
    if (!*wrong && members != c->model->members)
        *wrong = "its candidates are not those of its members";
    c->stacked->gain = number_or_nan(pv_result_get(from, "gain"));
    c->stacked->se = number_or_nan(pv_result_get(from, "se"));
    c->stacked->guess = number_or_nan(pv_result_get(from, "guess"));
    c->stacked->folds = pv__value_integer_of(pv_result_get(from, "folds"));
    c->stacked->repeats = pv__value_integer_of(pv_result_get(from, "repeats"));
    c->stacked->cap = fabs(c->w[0]);
    return PV_OK;
}
