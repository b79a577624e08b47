/* Models: their contents, and their bytes. */
#include "calls.h"

#include <string.h>

static pv_classifier *model_of(SEXP handle) {
    return handle_get(handle, HANDLE_MODEL);
}

SEXP call_model_alive(SEXP handle) {
    return Rf_ScalarLogical(TYPEOF(handle) == EXTPTRSXP && R_ExternalPtrAddr(handle) != NULL);
}

/* ---- contents ---------------------------------------------------------------------------------------------------- */

static SEXP feature_names(const pv_classifier *model) {
    int count = pv_classifier_features(model);
    SEXP made = PROTECT(Rf_allocVector(STRSXP, count));
    for (int i = 0; i < count; i++) {
        const char *name = pv_classifier_feature(model, i);
        SET_STRING_ELT(made, i, name ? Rf_mkCharCE(name, CE_UTF8) : NA_STRING);
    }
    UNPROTECT(1);
    return made;
}

static SEXP column_names(const pv_classifier *model) {
    size_t count = pv_classifier_columns(model);
    SEXP made = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count));
    SEXP types = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count));
    for (size_t i = 0; i < count; i++) {
        pv_column_type type;
        SET_STRING_ELT(made, (R_xlen_t)i, Rf_mkCharCE(pv_classifier_column(model, i, &type), CE_UTF8));
        SET_STRING_ELT(types, (R_xlen_t)i, Rf_mkChar(pv_column_type_name(type)));
    }
    Rf_setAttrib(types, R_NamesSymbol, made);
    UNPROTECT(2);
    return types;
}

/* The columns that define its strata; NULL: none. */
static SEXP strata_columns(const pv_classifier *model) {
    const pv_strata *strata = pv_classifier_schema(model)->strata;
    if (!strata)
        return R_NilValue;
    SEXP made = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)strata->columns));
    for (size_t i = 0; i < strata->columns; i++)
        SET_STRING_ELT(made, (R_xlen_t)i, Rf_mkCharCE(strata->column[i].name, CE_UTF8));
    UNPROTECT(1);
    return made;
}

static void add_facts(named_list *made, const pv_classifier *model) {
#define FACT(name, word) {word, PV_CLASSIFIER_##name},
    static const struct {
        const char *word;
        pv_classifier_fact fact;
    } facts[] = {PV_CLASSIFIER_FACT_LIST(FACT)};
#undef FACT
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const char *text = pv_classifier_text(model, facts[i].fact);
        double number = pv_classifier_number(model, facts[i].fact);
        list_add(made, facts[i].word, text || ISNAN(number) ? new_text(text) : Rf_ScalarReal(number));
    }
}
#define ONE(name, word) +1
enum { FACTS = 0 PV_CLASSIFIER_FACT_LIST(ONE) };
#undef ONE

/* The candidates of `model` auto by name, the mixture last: [candidates][weight, gain, se]; NULL: another model. */
static SEXP candidates_of(const pv_classifier *model) {
    int n = 0;
    double value[3];
    while (pv_classifier_candidate(model, (size_t)n, NULL, NULL, NULL))
        n++;
    if (n == 0)
        return R_NilValue;
    SEXP names = PROTECT(Rf_allocVector(STRSXP, n)), made = PROTECT(Rf_allocMatrix(REALSXP, n, 3));
    for (int i = 0; i < n; i++) {
        SET_STRING_ELT(
            names, i, Rf_mkCharCE(pv_classifier_candidate(model, (size_t)i, &value[0], &value[1], &value[2]), CE_UTF8));
        for (int j = 0; j < 3; j++)
            REAL(made)[i + j * n] = value[j];
    }
    SEXP dimensions = PROTECT(Rf_allocVector(VECSXP, 2));
    SET_VECTOR_ELT(dimensions, 0, names);
    Rf_setAttrib(made, R_DimNamesSymbol, dimensions);
    UNPROTECT(3);
    return made;
}

SEXP call_model_facts(SEXP session, SEXP handle) {
    const pv_classifier *model = model_of(handle);
    size_t classes = (size_t)pv_classifier_classes(model);
    const pv_model *shape = pv_classifier_model(model);
    bool thresholds = pv_model_has_thresholds(shape), linear = pv_model_has_coefficients(shape);
    named_list made = list_new(FACTS + 15);
    add_facts(&made, model);
    list_add(&made, "labels", new_texts(pv_classifier_labels(model), classes));
    list_add(&made, "features", feature_names(model));
    list_add(&made, "columns", column_names(model));
    list_add(&made, "strata", strata_columns(model));
    list_add(&made, "shares", new_numbers(pv_classifier_prevalence(model), classes));
    list_add(&made, "rows_shares", new_numbers(pv_classifier_design(model), classes));
    const pv_combination *both = model->combination; /* the estimate in use, and Hausman's test of the two */
    list_add(&made, "estimate", both ? Rf_mkString(pv_estimate_name((pv_estimate)both->use)) : R_NilValue);
    list_add(&made, "hausman", Rf_ScalarReal(both && both->rank > 0 ? both->p_value : NA_REAL));
    list_add(&made, "candidates", candidates_of(model));
    list_add(&made, "relative", Rf_ScalarLogical(pv_classifier_is_relative(model)));
    list_add(&made, "images", Rf_ScalarLogical(pv_classifier_schema(model)->image != NULL));
    list_add(&made, "thresholds", Rf_ScalarLogical(thresholds));
    SEXP coefficients = R_NilValue;
    if (linear || thresholds) {
        size_t n = pv_model_params(shape);
        coefficients = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)n));
        need(session, pv_classifier_coefficients(session_ctx(session), model, REAL(coefficients)));
        list_add(&made, "coefficients", coefficients);
        UNPROTECT(1);
    } else {
        list_add(&made, "coefficients", R_NilValue);
    }
    list_add(&made, "risk_df", Rf_ScalarReal(model->spread && !model->posterior ? model->spread_df : NA_REAL));
    list_add(&made, "seconds_taken", Rf_ScalarReal(pv_classifier_number(model, PV_CLASSIFIER_SECONDS)));
    return list_done(&made);
}

/* [coefficients][draws]; NULL: no draws. */
SEXP call_model_draws(SEXP session, SEXP handle) {
    const pv_classifier *model = model_of(handle);
    size_t count = 0, n = pv_model_params(pv_classifier_model(model));
    if (!pv_classifier_draws(model, &count))
        return R_NilValue;
    SEXP made = PROTECT(Rf_allocMatrix(REALSXP, (int)n, (int)count));
    for (size_t i = 0; i < count; i++)
        need(session, pv_classifier_draw_coefficients(session_ctx(session), model, i, REAL(made) + i * n));
    UNPROTECT(1);
    return made;
}

SEXP call_model_covariance(SEXP session, SEXP handle) {
    const pv_classifier *model = model_of(handle);
    int n = (int)pv_model_params(pv_classifier_model(model));
    SEXP made = PROTECT(Rf_allocMatrix(REALSXP, n, n));
    need(session, pv_classifier_covariance(session_ctx(session), model, REAL(made)));
    UNPROTECT(1);
    return made;
}

static SEXP new_column(named_list *list, const char *name, SEXPTYPE type, size_t rows) {
    SEXP column = Rf_allocVector(type, (R_xlen_t)rows);
    list_add(list, name, column);
    return column;
}

SEXP call_model_summary(SEXP session, SEXP handle, SEXP level) {
    const pv_classifier *model = model_of(handle);
    SEXP box = PROTECT(handle_new(HANDLE_SUMMARY, handle));
    pv_summary *summary = NULL;
    need(session, pv_classifier_summary(session_ctx(session), model, Rf_asReal(level), &summary));
    handle_set(box, summary);
    size_t rows = summary->equations * summary->terms;
    static const char *const numbers[] = {"estimate",      "sd",       "lo",      "hi", "odds_ratio", "odds_ratio_lo",
                                          "odds_ratio_hi", "z",        "p_value", "df", "weighting",  "linear",
                                          "linear_lo",     "linear_hi"};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    named_list made = list_new(NUMBERS + 4);
    SEXP label = new_column(&made, "label", STRSXP, rows), term = new_column(&made, "term", STRSXP, rows);
    double *to[NUMBERS];
    for (size_t i = 0; i < NUMBERS; i++)
        to[i] = REAL(new_column(&made, numbers[i], REALSXP, rows));
    for (size_t i = 0; i < rows; i++) {
        const pv_coefficient *c = &summary->coefficient[i];
        SET_STRING_ELT(label, (R_xlen_t)i, Rf_mkCharCE(c->label, CE_UTF8));
        SET_STRING_ELT(term, (R_xlen_t)i, Rf_mkCharCE(c->name, CE_UTF8));
        const double values[NUMBERS] = {c->value.mean,    c->value.sd,      c->value.lo,  c->value.hi, c->odds_ratio,
                                        c->odds_ratio_lo, c->odds_ratio_hi, c->z,         c->p_value,  c->df,
                                        c->weighting,     c->linear.mean,   c->linear.lo, c->linear.hi};
        for (size_t j = 0; j < NUMBERS; j++)
            to[j][i] = values[j];
    }
    list_add(&made, "has_errors", Rf_ScalarLogical(summary->has_errors));
    list_add(&made, "has_tests", Rf_ScalarLogical(summary->has_tests));
    SEXP done = PROTECT(list_done(&made));
    handle_drop(box);
    UNPROTECT(2);
    return done;
}

SEXP call_model_checks(SEXP session, SEXP handle) {
    SEXP box = PROTECT(handle_new(HANDLE_DIAGNOSIS, R_NilValue));
    pv_diagnosis *found = NULL;
    need(session, pv_diagnose(session_ctx(session), model_of(handle), NULL, &found));
    handle_set(box, found);
    named_list made = list_new(6);
    SEXP name = new_column(&made, "check", STRSXP, found->count), ok = new_column(&made, "ok", LGLSXP, found->count);
    SEXP value = new_column(&made, "value", REALSXP, found->count),
         text = new_column(&made, "text", STRSXP, found->count);
    SEXP remedy = new_column(&made, "remedy", STRSXP, found->count);
    SEXP warning = new_column(&made, "warning", STRSXP, found->count);
    for (size_t i = 0; i < found->count; i++) {
        const pv_check *check = &found->check[i];
        R_xlen_t at = (R_xlen_t)i;
        SET_STRING_ELT(name, at, Rf_mkCharCE(check->name, CE_UTF8));
        LOGICAL(ok)[i] = check->ok;
        REAL(value)[i] = check->value;
        SET_STRING_ELT(text, at, Rf_mkCharCE(check->text, CE_UTF8));
        SET_STRING_ELT(remedy, at, Rf_mkCharCE(check->remedy, CE_UTF8));
        SET_STRING_ELT(warning, at, Rf_mkCharCE(check->warning, CE_UTF8));
    }
    SEXP done = PROTECT(list_done(&made));
    handle_drop(box);
    UNPROTECT(2);
    return done;
}

/* ---- bytes and files --------------------------------------------------------------------------------------------- */

SEXP call_model_bytes(SEXP session, SEXP handle) {
    SEXP box = PROTECT(handle_new(HANDLE_BYTES, R_NilValue));
    unsigned char *bytes = NULL;
    size_t size = 0;
    need(session, pv_classifier_to_bytes(session_ctx(session), model_of(handle), &bytes, &size));
    handle_set(box, bytes);
    SEXP made = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)size));
    memcpy(RAW(made), bytes, size);
    handle_drop(box);
    UNPROTECT(2);
    return made;
}

SEXP call_model_from_bytes(SEXP session, SEXP name, SEXP bytes) {
    SEXP handle = PROTECT(handle_new(HANDLE_MODEL, R_NilValue));
    pv_classifier *model = NULL;
    const char *called = text_of(name, 0);
    need(session,
         pv_classifier_from_bytes(session_ctx(session), called, RAW(bytes), (size_t)Rf_xlength(bytes), &model));
    handle_set(handle, model);
    UNPROTECT(1);
    return handle;
}

SEXP call_model_save(SEXP session, SEXP handle, SEXP path) {
    const char *file = R_ExpandFileName(Rf_translateChar(STRING_ELT(path, 0)));
    need(session, pv_classifier_save(session_ctx(session), model_of(handle), file));
    return R_NilValue;
}

/* Returns a list: text, citation, and the items' numbers, topics, texts and what is left for the authors. */
SEXP call_model_methods(SEXP session, SEXP handle) {
    static const char *const fields[] = {"item", "topic", "text", "authors"};
    enum { FIELDS = sizeof fields / sizeof *fields };
    SEXP box = PROTECT(handle_new(HANDLE_RESULT, R_NilValue));
    pv_result *found = NULL;
    need(session, pv_methods(session_ctx(session), model_of(handle), NULL, &found));
    handle_set(box, found);
    const pv_result *citation = pv_result_get(found, "citation"), *tripod = pv_result_get(found, "tripod");
    named_list made = list_new(FIELDS + 2);
    list_add(&made, "paragraph", new_text(pv_result_text(pv_result_get(found, "text"))));
    SEXP citations = new_column(&made, "citation", STRSXP, pv_result_count(citation));
    for (size_t i = 0; i < pv_result_count(citation); i++)
        SET_STRING_ELT(citations, (R_xlen_t)i, Rf_mkCharCE(pv_result_text(pv_result_child(citation, i)), CE_UTF8));
    for (size_t j = 0; j < FIELDS; j++) {
        SEXP column = new_column(&made, fields[j], STRSXP, pv_result_count(tripod));
        for (size_t i = 0; i < pv_result_count(tripod); i++) {
            const char *text = pv_result_text(pv_result_get(pv_result_child(tripod, i), fields[j]));
            SET_STRING_ELT(column, (R_xlen_t)i, text ? Rf_mkCharCE(text, CE_UTF8) : NA_STRING);
        }
    }
    SEXP done = PROTECT(list_done(&made));
    handle_drop(box);
    UNPROTECT(2);
    return done;
}

/* Returns a description of the export as JSON. */
SEXP call_model_export(SEXP session, SEXP handle, SEXP path, SEXP names, SEXP texts) {
    pv_ctx *ctx = session_ctx(session);
    const char *file = R_ExpandFileName(Rf_translateChar(STRING_ELT(path, 0)));
    SEXP settings_handle = PROTECT(handle_new(HANDLE_SETTINGS, R_NilValue));
    pv_settings *settings = NULL;
    pv_result *about = NULL;
    char *text = NULL;
    need(session, pv_export_settings_new(ctx, &settings));
    handle_set(settings_handle, settings);
    set_options(session, settings, names, texts);
    pv_status status = pv_export(ctx, model_of(handle), settings, file, &about);
    if (status == PV_OK)
        status = pv_result_json(ctx, about, &text);
    pv_result_free(about);
    need(session, status);
    SEXP said = PROTECT(Rf_ScalarString(Rf_mkCharCE(text, CE_UTF8)));
    pv_result_text_free(ctx, text);
    handle_drop(settings_handle);
    UNPROTECT(2);
    return said;
}

SEXP call_model_load(SEXP session, SEXP path) {
    SEXP handle = PROTECT(handle_new(HANDLE_MODEL, R_NilValue));
    pv_classifier *model = NULL;
    const char *file = R_ExpandFileName(Rf_translateChar(STRING_ELT(path, 0)));
    need(session, pv_classifier_load(session_ctx(session), file, &model));
    handle_set(handle, model);
    UNPROTECT(1);
    return handle;
}
