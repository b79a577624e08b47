/* Fits, and the available options. */
#include "calls.h"

/* A model fitted to a table; sample: a table of the population, or NULL; known: contents for `prevalence_by` or
 * `phase_one`, or NULL. */
SEXP call_learn(SEXP session, SEXP table, SEXP sample, SEXP known, SEXP names, SEXP texts) {
    pv_ctx *ctx = session_ctx(session);
    SEXP settings_handle = PROTECT(handle_new(HANDLE_SETTINGS, R_NilValue));
    SEXP handle = PROTECT(handle_new(HANDLE_MODEL, R_NilValue));
    pv_settings *settings = NULL;
    pv_classifier *model = NULL;
    need(session, pv_fit_settings_new(ctx, &settings));
    handle_set(settings_handle, settings);
    set_options(session, settings, names, texts);
    if (known != R_NilValue)
        pv_fit_settings_set_known(settings, handle_get(known, HANDLE_TABLE));
    const pv_table *rows = handle_get(table, HANDLE_TABLE);
    const pv_table *population = sample == R_NilValue ? NULL : handle_get(sample, HANDLE_TABLE);
    pv_status status = pv_learn_sampled(ctx, rows, population, settings, &model);
    handle_set(handle, model);
    need(session, status);
    handle_drop(settings_handle);
    UNPROTECT(2);
    return handle;
}

/* The options of a fit, one per row. */
SEXP call_options(void) {
    SEXP one = PROTECT(Rf_ScalarInteger(1)), quiet = PROTECT(Rf_ScalarLogical(FALSE));
    SEXP session = PROTECT(call_session(one, quiet));
    SEXP handle = PROTECT(handle_new(HANDLE_SETTINGS, R_NilValue));
    pv_settings *settings = NULL;
    need(session, pv_fit_settings_new(session_ctx(session), &settings));
    handle_set(handle, settings);
    R_xlen_t count = (R_xlen_t)pv_settings_count(settings);
    named_list made = list_new(4);
    SEXP name = Rf_allocVector(STRSXP, count);
    list_add(&made, "name", name);
    SEXP fallback = Rf_allocVector(STRSXP, count);
    list_add(&made, "default", fallback);
    SEXP choices = Rf_allocVector(STRSXP, count);
    list_add(&made, "choices", choices);
    SEXP help = Rf_allocVector(STRSXP, count);
    list_add(&made, "help", help);
    for (R_xlen_t i = 0; i < count; i++) {
        const pv_option *row = pv_settings_option(settings, (size_t)i);
        SET_STRING_ELT(name, i, Rf_mkCharCE(row->name, CE_UTF8));
        SET_STRING_ELT(fallback, i, row->fallback ? Rf_mkCharCE(row->fallback, CE_UTF8) : NA_STRING);
        SET_STRING_ELT(choices, i, row->choices ? Rf_mkCharCE(row->choices, CE_UTF8) : NA_STRING);
        SET_STRING_ELT(help, i, Rf_mkCharCE(row->help, CE_UTF8));
    }
    SEXP done = PROTECT(list_done(&made));
    handle_drop(handle);
    handle_drop(session);
    UNPROTECT(5);
    return done;
}

/* Version, kernels, and libraries in use. */
SEXP call_about(void) {
    pv_library library[32];
    size_t count = pv_libraries(library, 32);
    count = count < 32 ? count : 32;
    named_list made = list_new(4);
    list_add(&made, "version", new_text(PV_VERSION));
    list_add(&made, "kernels", new_text(pv_kernels()));
    list_add(&made, "convolutions", new_text(pv_convolution_isa()));
    SEXP libraries = Rf_allocVector(STRSXP, (R_xlen_t)count);
    list_add(&made, "libraries", libraries);
    for (size_t i = 0; i < count; i++) {
        char text[128];
        snprintf(text, sizeof text, "%s %s", library[i].name, library[i].version);
        SET_STRING_ELT(libraries, (R_xlen_t)i, Rf_mkCharCE(text, CE_UTF8));
    }
    return list_done(&made);
}

/* The index of the positive one of two labels, from 1; 0: cannot be guessed. */
SEXP call_positive(SEXP labels) {
    return Rf_ScalarInteger(pv_labels_positive(texts_of(labels)) + 1);
}

/* Parses a prevalence to numbers in the order of the labels. */
SEXP call_shares(SEXP session, SEXP option, SEXP text, SEXP labels) {
    int classes = (int)Rf_xlength(labels);
    SEXP made = PROTECT(Rf_allocVector(REALSXP, classes));
    const char **names = texts_of(labels);
    const char *what = text_of(option, 0), *given = text_of(text, 0);
    need(session,
         pv_prevalence_parse_one(session_ctx(session), what, given, (char *const *)names, classes, REAL(made)));
    UNPROTECT(1);
    return made;
}
