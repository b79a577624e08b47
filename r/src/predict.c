/* Predictions in a population, from a model or from another model's probabilities; decisions. */
#include "calls.h"

#include <string.h>

/* A prediction as a list. sources: row of the table for each row, from 0; NULL: the same. */
static SEXP as_list(const pv_prediction *said, const size_t *sources) {
    size_t k = (size_t)said->classes;
    named_list made = list_new(8);
    list_add(&made, "p", new_matrix(said->p, said->rows, k));
    list_add(&made, "log_p", new_matrix(said->log_p, said->rows, k));
    list_add(&made, "lo", new_matrix(said->lo, said->rows, k));
    list_add(&made, "hi", new_matrix(said->hi, said->rows, k));
    list_add(&made, "prevalence", new_numbers(said->prevalence, k));
    list_add(&made, "inferred", new_inferred(said->inferred));
    SEXP row = R_NilValue;
    if (sources) {
        row = Rf_allocVector(INTSXP, (R_xlen_t)said->rows);
        for (size_t i = 0; i < said->rows; i++)
            INTEGER(row)[i] = (int)sources[i] + 1;
    }
    list_add(&made, "row", row);
    list_add(&made, "elsewhere", Rf_ScalarLogical(said->elsewhere));
    return list_done(&made);
}

/* The words with which populations begin. */
SEXP call_population_kinds(void) {
#define WORD(name, word, usage, text) word,
    static const char *const words[] = {PV_POPULATION_LIST(WORD)};
#undef WORD
    R_xlen_t count = sizeof words / sizeof *words;
    SEXP made = PROTECT(Rf_allocVector(STRSXP, count));
    for (R_xlen_t i = 0; i < count; i++)
        SET_STRING_ELT(made, i, Rf_mkChar(words[i]));
    UNPROTECT(1);
    return made;
}

/* names, texts: options for an unknown prevalence. */
SEXP call_predict(SEXP session, SEXP handle, SEXP table, SEXP population, SEXP level, SEXP names, SEXP texts) {
    pv_ctx *ctx = session_ctx(session);
    const pv_classifier *model = handle_get(handle, HANDLE_MODEL);
    SEXP data_box = PROTECT(handle_new(HANDLE_DATASET, handle));
    SEXP place_box = PROTECT(handle_new(HANDLE_POPULATION, R_NilValue));
    SEXP said_box = PROTECT(handle_new(HANDLE_PREDICTION, R_NilValue)), unknown_box;
    pv_predict_options options = pv_predict_options_default();
    options.level = Rf_asReal(level);
    pv_unknown_options unknown = unknown_of(session, names, texts, options.level, &unknown_box);
    PROTECT(unknown_box);
    pv_dataset *data = NULL;
    pv_population *place = NULL;
    pv_prediction *said = NULL;
    const pv_table *rows = handle_get(table, HANDLE_TABLE);
    need(session, pv_dataset_of_table(ctx, pv_classifier_schema(model), rows, &data));
    handle_set(data_box, data);
    const char *where = text_of(population, 0);
    need(session, pv_population_new(ctx, model, where, &unknown, &place));
    handle_set(place_box, place);
    need(session, pv_predict(ctx, model, data, place, &options, &said));
    handle_set(said_box, said);
    SEXP made = PROTECT(as_list(said, pv_dataset_sources(data)));
    handle_drop(said_box);
    handle_drop(place_box);
    handle_drop(data_box);
    handle_drop(unknown_box);
    UNPROTECT(5);
    return made;
}

/* ---- another model's probabilities ------------------------------------------------------------------------------- */

/* p: a vector for the last of two labels, or a matrix. label: codes from 0 or NULL; weight: numbers or NULL. */
SEXP call_probs(SEXP session, SEXP p, SEXP labels, SEXP label, SEXP weight) {
    SEXP handle = PROTECT(handle_new(HANDLE_PROBS, R_NilValue));
    size_t width = Rf_isMatrix(p) ? (size_t)Rf_ncols(p) : 1, rows = (size_t)Rf_xlength(p) / width;
    const double *by = by_rows(p, rows, width);
    const char **names = texts_of(labels);
    pv_probs *probs = NULL;
    need(session,
         pv_probs_new(session_ctx(session), rows, names, (int)Rf_xlength(labels), (int)width, by,
                      label == R_NilValue ? NULL : INTEGER(label), weight == R_NilValue ? NULL : REAL(weight), &probs));
    handle_set(handle, probs);
    UNPROTECT(1);
    return handle;
}

/* level: of inferred quantities. from: proportions, or NULL. to: proportions, the text of a population, or NULL: no
 * conversion. known: known labels, codes from 0, -1 if unknown, or NULL. reference: a handle of probabilities of
 * labelled rows, or NULL. */
SEXP call_predict_probs(SEXP session, SEXP handle, SEXP from, SEXP to, SEXP level, SEXP names, SEXP texts, SEXP known,
                        SEXP reference) {
    pv_ctx *ctx = session_ctx(session);
    const pv_probs *probs = handle_get(handle, HANDLE_PROBS);
    SEXP place_box = PROTECT(handle_new(HANDLE_POPULATION, R_NilValue));
    SEXP said_box = PROTECT(handle_new(HANDLE_PREDICTION, R_NilValue));
    SEXP reference_box = PROTECT(handle_new(HANDLE_REFERENCE, R_NilValue)), unknown_box;
    pv_predict_options options = pv_predict_options_default();
    const double *source = from == R_NilValue ? NULL : REAL(from);
    pv_unknown_options unknown = unknown_of(session, names, texts, Rf_asReal(level), &unknown_box);
    PROTECT(unknown_box);
    pv_population *place = NULL;
    pv_prediction *said = NULL;
    if (reference != R_NilValue) {
        const pv_probs *labelled = handle_get(reference, HANDLE_PROBS);
        if (unknown.method == PV_UNKNOWN_BBSE) {
            size_t k = (size_t)probs->classes;
            double *confusion = (double *)R_alloc(k * k, sizeof *confusion);
            need(session, pv_probs_confusion(ctx, labelled, source, confusion));
            unknown.confusion = confusion;
        } else {
            pv_reference *ratios = NULL;
            need(session, pv_probs_reference(ctx, labelled, source, &ratios));
            handle_set(reference_box, ratios);
            unknown.reference = ratios;
        }
    }
    if (TYPEOF(to) == STRSXP) {
        const char *where = text_of(to, 0);
        need(session, pv_population_of_probs(ctx, probs, source, where, &unknown, &place));
    } else if (to != R_NilValue) {
        need(session, pv_population_known(ctx, probs->classes, REAL(to), &place));
    }
    handle_set(place_box, place);
    options.label = known == R_NilValue ? NULL : INTEGER(known);
    need(session, pv_predict_probs(ctx, probs, source, place, &options, &said));
    handle_set(said_box, said);
    SEXP made = PROTECT(as_list(said, NULL));
    handle_drop(said_box);
    handle_drop(place_box);
    handle_drop(reference_box);
    handle_drop(unknown_box);
    UNPROTECT(5);
    return made;
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

/* costs: a matrix [actions][labels] whose row names are the actions, or NULL: the most probable label. */
SEXP call_decide(SEXP session, SEXP p, SEXP costs, SEXP actions) {
    pv_ctx *ctx = session_ctx(session);
    size_t k = (size_t)Rf_ncols(p), rows = (size_t)Rf_nrows(p);
    const double *by = by_rows(p, rows, k);
    named_list made = list_new(2);
    SEXP action = Rf_allocVector(INTSXP, (R_xlen_t)rows);
    list_add(&made, "action", action);
    SEXP cost = Rf_allocVector(REALSXP, costs == R_NilValue ? 0 : (R_xlen_t)rows);
    list_add(&made, "cost", cost);
    if (costs == R_NilValue) {
        need(session, pv_decide_label(ctx, rows, (int)k, by, INTEGER(action)));
    } else {
        size_t count = (size_t)Rf_nrows(costs);
        double *cells = (double *)R_alloc(count * k, sizeof *cells);
        memcpy(cells, by_rows(costs, count, k), count * k * sizeof *cells);
        const pv_costs given = {
            .actions = count, .classes = (int)k, .action = (char **)texts_of(actions), .cost = cells};
        need(session, pv_decide(ctx, &given, rows, by, INTEGER(action), REAL(cost)));
    }
    for (size_t i = 0; i < rows; i++)
        INTEGER(action)[i]++;
    return list_done(&made);
}
