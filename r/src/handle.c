/* Objects of the library as external pointers. */
#include "prevail_r.h"

#include <stdlib.h>

static void free_curve(pv_ctx *ctx, void *object) {
    pv_curve_clear(ctx, object);
    free(object);
}
static void free_session(pv_ctx *ctx, void *object) {
    (void)ctx;
    session_free(object);
}
static void free_result(pv_ctx *ctx, void *object) {
    (void)ctx;
    pv_result_free(object);
}
#define FREE(name, type)                                                                                               \
    static void free_##name(pv_ctx *ctx, void *object) {                                                               \
        pv_##name##_free(ctx, (type *)object);                                                                         \
    }
FREE(settings, pv_settings)
FREE(table, pv_table)
FREE(classifier, pv_classifier)
FREE(bytes, unsigned char)
FREE(summary, pv_summary)
FREE(diagnosis, pv_diagnosis)
FREE(dataset, pv_dataset)
FREE(population, pv_population)
FREE(prediction, pv_prediction)
FREE(probs, pv_probs)
FREE(reference, pv_reference)
FREE(judgement, pv_judgement)
FREE(schema, pv_schema)
FREE(validation, pv_validation)

static const struct {
    const char *name;
    void (*release)(pv_ctx *ctx, void *object);
} kinds[] = {
    [HANDLE_SESSION] = {"session", free_session},
    [HANDLE_SETTINGS] = {"settings", free_settings},
    [HANDLE_TABLE] = {"table", free_table},
    [HANDLE_MODEL] = {"model", free_classifier},
    [HANDLE_BYTES] = {"bytes", free_bytes},
    [HANDLE_SUMMARY] = {"summary", free_summary},
    [HANDLE_DIAGNOSIS] = {"diagnosis", free_diagnosis},
    [HANDLE_DATASET] = {"dataset", free_dataset},
    [HANDLE_POPULATION] = {"population", free_population},
    [HANDLE_PREDICTION] = {"prediction", free_prediction},
    [HANDLE_PROBS] = {"probs", free_probs},
    [HANDLE_REFERENCE] = {"reference", free_reference},
    [HANDLE_JUDGEMENT] = {"judgement", free_judgement},
    [HANDLE_CURVE] = {"curve", free_curve},
    [HANDLE_SCHEMA] = {"schema", free_schema},
    [HANDLE_VALIDATION] = {"validation", free_validation},
    [HANDLE_RESULT] = {"result", free_result},
};

static handle_kind kind_of(SEXP handle) {
    return (handle_kind)Rf_asInteger(R_ExternalPtrTag(handle));
}

/* Objects may outlive the session that created them, so they are freed with a temporary context: all contexts have the
 * same allocator. */
void handle_drop(SEXP handle) {
    void *object = R_ExternalPtrAddr(handle);
    pv_ctx *ctx = NULL;
    if (!object)
        return;
    R_ClearExternalPtr(handle);
    if (pv_ctx_new(NULL, &ctx) != PV_OK) /* out of memory: the object is leaked */
        return;
    kinds[kind_of(handle)].release(ctx, object);
    pv_ctx_free(ctx);
}

SEXP handle_new(handle_kind kind, SEXP keeps) {
    SEXP tag = PROTECT(Rf_ScalarInteger((int)kind));
    SEXP handle = PROTECT(R_MakeExternalPtr(NULL, tag, keeps));
    R_RegisterCFinalizerEx(handle, handle_drop, FALSE);
    UNPROTECT(2);
    return handle;
}

void handle_set(SEXP handle, void *object) {
    R_SetExternalPtrAddr(handle, object);
}

void *handle_get(SEXP handle, handle_kind kind) {
    if (TYPEOF(handle) != EXTPTRSXP || TYPEOF(R_ExternalPtrTag(handle)) != INTSXP || kind_of(handle) != kind)
        Rf_error("not a handle of a %s", kinds[kind].name);
    void *object = R_ExternalPtrAddr(handle);
    if (!object)
        Rf_error("the %s is gone", kinds[kind].name);
    return object;
}
