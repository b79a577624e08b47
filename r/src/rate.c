/* How common labels are, by imperfect verdicts. */
#include "calls.h"

#include <string.h>

SEXP value_of(const pv_result *value) {
    pv_result_type type = pv_result_type_of(value);
    if (type == PV_RESULT_TEXT)
        return new_text(pv_result_text(value));
    if (type == PV_RESULT_FLAG)
        return Rf_ScalarLogical(pv_result_number(value) > 0);
    if (type == PV_RESULT_INTEGER || type == PV_RESULT_REAL)
        return Rf_ScalarReal(pv_result_number(value));
    if (type != PV_RESULT_OBJECT && type != PV_RESULT_LIST)
        return Rf_ScalarReal(NA_REAL);
    R_xlen_t count = (R_xlen_t)pv_result_count(value);
    SEXP made = PROTECT(Rf_allocVector(VECSXP, count));
    SEXP names = PROTECT(Rf_allocVector(STRSXP, count));
    for (R_xlen_t i = 0; i < count; i++) {
        SET_VECTOR_ELT(made, i, value_of(pv_result_child(value, (size_t)i)));
        if (type == PV_RESULT_OBJECT)
            SET_STRING_ELT(names, i, Rf_mkCharCE(pv_result_name(value, (size_t)i), CE_UTF8));
    }
    if (type == PV_RESULT_OBJECT)
        Rf_setAttrib(made, R_NamesSymbol, names);
    UNPROTECT(2);
    return made;
}

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
    list_add(&made, "result", value_of(result));
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
