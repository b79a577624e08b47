/* Conversion between R's values and the library's. */
#include "prevail_r.h"

#include <string.h>

const char *text_of(SEXP strings, R_xlen_t i) {
    SEXP one = STRING_ELT(strings, i);
    return one == NA_STRING ? NULL : Rf_translateCharUTF8(one);
}

const char *text_or_null(SEXP string) {
    return string == R_NilValue || Rf_xlength(string) == 0 ? NULL : text_of(string, 0);
}

const char **texts_of(SEXP strings) {
    R_xlen_t n = Rf_xlength(strings);
    const char **texts = (const char **)R_alloc((size_t)n + 1, sizeof *texts);
    for (R_xlen_t i = 0; i < n; i++)
        texts[i] = text_of(strings, i);
    return texts;
}

SEXP new_text(const char *text) {
    SEXP made = PROTECT(Rf_allocVector(STRSXP, 1));
    SET_STRING_ELT(made, 0, text ? Rf_mkCharCE(text, CE_UTF8) : NA_STRING);
    UNPROTECT(1);
    return made;
}

SEXP new_texts(char *const *texts, size_t count) {
    if (!texts)
        return R_NilValue;
    SEXP made = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count));
    for (size_t i = 0; i < count; i++)
        SET_STRING_ELT(made, (R_xlen_t)i, texts[i] ? Rf_mkCharCE(texts[i], CE_UTF8) : NA_STRING);
    UNPROTECT(1);
    return made;
}

SEXP new_numbers(const double *values, size_t count) {
    if (!values)
        return R_NilValue;
    SEXP made = Rf_allocVector(REALSXP, (R_xlen_t)count);
    if (count)
        memcpy(REAL(made), values, count * sizeof *values);
    return made;
}

SEXP new_matrix(const double *values, size_t rows, size_t columns) {
    if (!values)
        return R_NilValue;
    SEXP made = Rf_allocMatrix(REALSXP, (int)rows, (int)columns);
    double *to = REAL(made);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            to[j * rows + i] = values[i * columns + j];
    return made;
}

const double *by_rows(SEXP matrix, size_t rows, size_t columns) {
    if (columns == 1)
        return REAL(matrix);
    double *made = (double *)R_alloc(rows * columns, sizeof *made);
    const double *from = REAL(matrix);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            made[i * columns + j] = from[j * rows + i];
    return made;
}

named_list list_new(R_xlen_t count) {
    named_list list = {.at = 0};
    list.list = PROTECT(Rf_allocVector(VECSXP, count));
    list.names = PROTECT(Rf_allocVector(STRSXP, count));
    return list;
}

void list_add(named_list *list, const char *name, SEXP value) {
    SET_VECTOR_ELT(list->list, list->at, value);
    SET_STRING_ELT(list->names, list->at, Rf_mkCharCE(name, CE_UTF8));
    list->at++;
}

SEXP list_done(named_list *list) {
    Rf_setAttrib(list->list, R_NamesSymbol, list->names);
    UNPROTECT(2);
    return list->list;
}

void set_options(SEXP session, pv_settings *settings, SEXP names, SEXP texts) {
    for (R_xlen_t i = 0; i < Rf_xlength(names); i++) {
        const char *name = text_of(names, i), *text = text_of(texts, i);
        need(session, pv_settings_set(session_ctx(session), settings, name, text));
    }
}

pv_unknown_options unknown_of(SEXP session, SEXP names, SEXP texts, double level, SEXP *handle) {
    pv_settings *settings = NULL;
    *handle = PROTECT(handle_new(HANDLE_SETTINGS, R_NilValue));
    need(session, pv_unknown_settings_new(session_ctx(session), &settings));
    handle_set(*handle, settings);
    set_options(session, settings, names, texts);
    pv_unknown_options options = *pv_unknown_options_of(settings);
    if (level > 0) /* otherwise the library's default */
        options.level = level;
    UNPROTECT(1);
    return options;
}

SEXP new_inferred(const pv_unknown_prevalence *found) {
    if (!found)
        return R_NilValue;
    size_t k = (size_t)found->classes;
    named_list made = list_new(11);
    list_add(&made, "value", new_numbers(found->value, k));
    list_add(&made, "lo", new_numbers(found->lo, k));
    list_add(&made, "hi", new_numbers(found->hi, k));
    list_add(&made, "sd", new_numbers(found->sd, k));
    list_add(&made, "level", Rf_ScalarReal(found->level));
    list_add(&made, "method", new_text(pv_unknown_method_name(found->method)));
    list_add(&made, "worth", Rf_ScalarReal(found->worth));
    list_add(&made, "movement", Rf_ScalarReal(found->movement));
    list_add(&made, "weak", Rf_ScalarLogical(found->weak));
    list_add(&made, "swayed", Rf_ScalarLogical(found->swayed));
    list_add(&made, "check_p", Rf_ScalarReal(found->check.both));
    return list_done(&made);
}

SEXP new_tree(const pv_result *value) {
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
        SET_VECTOR_ELT(made, i, new_tree(pv_result_child(value, (size_t)i)));
        if (type == PV_RESULT_OBJECT)
            SET_STRING_ELT(names, i, Rf_mkCharCE(pv_result_name(value, (size_t)i), CE_UTF8));
    }
    if (type == PV_RESULT_OBJECT)
        Rf_setAttrib(made, R_NamesSymbol, names);
    UNPROTECT(2);
    return made;
}
