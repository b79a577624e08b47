/* How many cases and controls a study needs. */
#include "calls.h"

#include <string.h>

/* pilot: R_NilValue where there is none. */
SEXP call_size(SEXP session, SEXP pilot, SEXP names, SEXP texts) {
    pv_ctx *ctx = session_ctx(session);
    SEXP settings_handle = PROTECT(handle_new(HANDLE_SETTINGS, R_NilValue));
    SEXP result_handle = PROTECT(handle_new(HANDLE_RESULT, R_NilValue));
    pv_settings *settings = NULL;
    pv_result *result = NULL;
    char *text = NULL;
    named_list made = list_new(2);
    need(session, pv_size_settings_new(ctx, &settings));
    handle_set(settings_handle, settings);
    set_options(session, settings, names, texts);
    need(session, pv_size_find(ctx, pilot == R_NilValue ? NULL : handle_get(pilot, HANDLE_TABLE), settings, &result));
    handle_set(result_handle, result);
    list_add(&made, "result", new_tree(result));
    need(session, pv_size_text(ctx, result, &text));
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
