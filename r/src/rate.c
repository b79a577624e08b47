/* How common labels are, by imperfect verdicts. */
#include "calls.h"

#include <string.h>

/* gold: R_NilValue where the sample has the gold rows. */
SEXP call_rate(SEXP session, SEXP sample, SEXP gold, SEXP names, SEXP texts) {
    pv_ctx *ctx = session_ctx(session);
    SEXP settings_handle = PROTECT(handle_new(HANDLE_SETTINGS, R_NilValue));
    SEXP result_handle = PROTECT(handle_new(HANDLE_RESULT, R_NilValue));
    pv_settings *settings = NULL;
    pv_result *result = NULL;
    char *text = NULL;
    named_list made = list_new(2);
    need(session, pv_rate_settings_new(ctx, &settings));
    handle_set(settings_handle, settings);
    set_options(session, settings, names, texts);
    need(session, pv_rate_estimate(ctx, handle_get(sample, HANDLE_TABLE),
                                   gold == R_NilValue ? NULL : handle_get(gold, HANDLE_TABLE), settings, &result));
    handle_set(result_handle, result);
    list_add(&made, "result", new_tree(result));
    need(session, pv_rate_text(ctx, result, &text));
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
