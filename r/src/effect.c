/* How much an exposure changes the risk in the population. */
#include "calls.h"

#include <string.h>

/* known: contents for `prevalence_by`, or R_NilValue. */
SEXP call_effect(SEXP session, SEXP table, SEXP known, SEXP names, SEXP texts) {
    pv_ctx *ctx = session_ctx(session);
    SEXP settings_handle = PROTECT(handle_new(HANDLE_SETTINGS, R_NilValue));
    SEXP result_handle = PROTECT(handle_new(HANDLE_RESULT, R_NilValue));
    pv_settings *settings = NULL;
    pv_result *result = NULL;
    char *text = NULL;
    named_list made = list_new(2);
    need(session, pv_effect_settings_new(ctx, &settings));
    handle_set(settings_handle, settings);
    set_options(session, settings, names, texts);
    if (known != R_NilValue)
        pv_fit_settings_set_known(settings, handle_get(known, HANDLE_TABLE));
    need(session, pv_effect_estimate(ctx, handle_get(table, HANDLE_TABLE), settings, &result));
    handle_set(result_handle, result);
    list_add(&made, "result", new_tree(result));
    need(session, pv_effect_text(ctx, result, &text));
    SEXP shown = Rf_allocVector(RAWSXP, (R_xlen_t)strlen(text)); /* a failure leaves the text behind */
    memcpy(RAW(shown), text, strlen(text));
    pv_result_text_free(ctx, text);
    list_add(&made, "text", shown);
    handle_drop(result_handle);
    handle_drop(settings_handle);
    SEXP done = list_done(&made);
    UNPROTECT(2);
    return done;
}
