/* Sets of labels and calls with a refer region. */
#include "calls.h"

#include <string.h>

/* unit: codes from 0, or R_NilValue. */
SEXP call_sets_calibrate(SEXP session, SEXP probs, SEXP unit, SEXP names, SEXP texts) {
    pv_ctx *ctx = session_ctx(session);
    SEXP settings_handle = PROTECT(handle_new(HANDLE_SETTINGS, R_NilValue));
    SEXP rule_handle = PROTECT(handle_new(HANDLE_RESULT, R_NilValue));
    pv_settings *settings = NULL;
    pv_result *rule = NULL;
    char *text = NULL;
    named_list made = list_new(3);
    need(session, pv_sets_settings_new(ctx, &settings));
    handle_set(settings_handle, settings);
    set_options(session, settings, names, texts);
    need(session, pv_sets_calibrate(ctx, handle_get(probs, HANDLE_PROBS), unit == R_NilValue ? NULL : INTEGER(unit),
                                    settings, &rule));
    handle_set(rule_handle, rule);
    list_add(&made, "rule", rule_handle);
    list_add(&made, "result", new_tree(rule));
    need(session, pv_sets_text(ctx, rule, &text));
    SEXP shown = Rf_allocVector(RAWSXP, (R_xlen_t)strlen(text)); /* a failure leaves the text behind */
    memcpy(RAW(shown), text, strlen(text));
    pv_result_text_free(ctx, text);
    list_add(&made, "text", shown);
    handle_drop(settings_handle);
    SEXP done = list_done(&made);
    UNPROTECT(2);
    return done;
}

/* calls: whether to return them, codes from 1, NA: referred; otherwise the sets, a logical matrix. */
SEXP call_sets_apply(SEXP session, SEXP rule, SEXP p, SEXP calls) {
    size_t k = (size_t)Rf_ncols(p), rows = (size_t)Rf_nrows(p);
    const double *by = by_rows(p, rows, k);
    bool called = Rf_asLogical(calls) == TRUE;
    int *member = (int *)R_alloc(rows * k, sizeof *member);
    SEXP made = PROTECT(called ? Rf_allocVector(INTSXP, (R_xlen_t)rows) : Rf_allocMatrix(LGLSXP, (int)rows, (int)k));
    need(session, pv_sets_apply(session_ctx(session), handle_get(rule, HANDLE_RESULT), rows, (int)k, by, member,
                                called ? INTEGER(made) : NULL));
    for (size_t i = 0; called && i < rows; i++)
        INTEGER(made)[i] = INTEGER(made)[i] < 0 ? NA_INTEGER : INTEGER(made)[i] + 1;
    for (size_t i = 0; !called && i < rows * k; i++)
        LOGICAL(made)[i % k * rows + i / k] = member[i];
    UNPROTECT(1);
    return made;
}
