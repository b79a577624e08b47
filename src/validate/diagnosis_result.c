/* A diagnosis as a tree: the JSON of `diagnose`, and what the bindings read. */
#include "base/value.h"
#include "prevail/diagnose.h"

static pv_result *text_or_null(const char *text) {
    return *text ? pv__value_text(text) : pv__value_null();
}

static pv_result *check_of(const pv_check *check) {
    pv_result *object = pv__value_object();
    pv__value_set(object, "name", pv__value_text(check->name));
    pv__value_set(object, "ok", pv__value_flag(check->ok));
    pv__value_set(object, "value", pv__value_real(check->value));
    pv__value_set(object, "text", pv__value_text(check->text));
    pv__value_set(object, "remedy", text_or_null(check->ok ? "" : check->remedy));
    pv__value_set(object, "title", pv__value_text(check->title));
    pv__value_set(object, "warning", text_or_null(check->warning));
    return object;
}

pv_status pv_diagnosis_result(pv_ctx *ctx, const pv_diagnosis *diagnosis, pv_result **result) {
    pv_result *object = pv__value_object(), *list = pv__value_list();
    *result = NULL;
    pv__value_set(object, "verdict", pv__value_text(diagnosis->failed ? "problems" : "ok"));
    for (size_t i = 0; i < diagnosis->count; i++)
        pv__value_append(list, check_of(&diagnosis->check[i]));
    pv__value_set(object, "checks", list);
    if (!pv__value_whole(object)) {
        pv_result_free(object);
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory for the findings of a diagnosis");
    }
    *result = object;
    return PV_OK;
}
