/* Evaluation of predictions: metrics, curves, reports; cross-validation. */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static const pv_judge_options *judge_settings(SEXP session, SEXP names, SEXP texts, SEXP box) {
    pv_settings *settings = NULL;
    need(session, pv_judge_settings_new(session_ctx(session), &settings));
    handle_set(box, settings);
    set_options(session, settings, names, texts);
    return pv_judge_options_of(settings);
}

SEXP call_judge_model(SEXP session, SEXP handle, SEXP table, SEXP population, SEXP names, SEXP texts) {
    pv_ctx *ctx = session_ctx(session);
    const pv_classifier *model = handle_get(handle, HANDLE_MODEL);
    const pv_schema *schema = pv_classifier_schema(model);
    SEXP settings_box = PROTECT(handle_new(HANDLE_SETTINGS, R_NilValue));
    SEXP data_box = PROTECT(handle_new(HANDLE_DATASET, handle));
    SEXP box = PROTECT(handle_new(HANDLE_JUDGEMENT, R_NilValue));
    const pv_judge_options *options = judge_settings(session, names, texts, settings_box);
    pv_roles roles = pv_schema_roles(schema);
    pv_dataset *data = NULL;
    pv_judgement *found = NULL;
    const pv_table *rows = handle_get(table, HANDLE_TABLE);
    need(session, pv_schema_apply(ctx, schema, rows, &roles, &data));
    handle_set(data_box, data);
    const char *where = text_of(population, 0);
    need(session, pv_judge_in(ctx, model, data, where, options, &found));
    handle_set(box, found);
    handle_drop(data_box);
    handle_drop(settings_box);
    UNPROTECT(3);
    return box;
}

/* from: the prevalence for which the probabilities were made, or NULL. cluster: codes of the rows from 0, or NULL. */
SEXP call_judge_probs(SEXP session, SEXP handle, SEXP from, SEXP names, SEXP texts, SEXP labels, SEXP cluster) {
    pv_ctx *ctx = session_ctx(session);
    const pv_probs *probs = handle_get(handle, HANDLE_PROBS);
    SEXP settings_box = PROTECT(handle_new(HANDLE_SETTINGS, R_NilValue));
    SEXP said_box = PROTECT(handle_new(HANDLE_PREDICTION, R_NilValue));
    SEXP box = PROTECT(handle_new(HANDLE_JUDGEMENT, R_NilValue));
    const pv_judge_options *options = judge_settings(session, names, texts, settings_box);
    pv_predict_options how = pv_predict_options_default();
    how.likelihood = true;
    pv_prediction *said = NULL;
    pv_judgement *found = NULL;
    const char **texts_labels = texts_of(labels);
    if (cluster != R_NilValue)
        need(session, pv_dataset_cluster(ctx, probs->data, INTEGER(cluster)));
    need(session, pv_predict_probs(ctx, probs, from == R_NilValue ? NULL : REAL(from), NULL, &how, &said));
    handle_set(said_box, said);
    need(session, pv_judge(ctx, probs->data, (char *const *)texts_labels, said, options, &found));
    handle_set(box, found);
    handle_drop(said_box);
    handle_drop(settings_box);
    UNPROTECT(3);
    return box;
}

static SEXP metric_values(const pv_metrics *metrics, int classes) {
    R_xlen_t count = 0;
    while (pv_metric_table[count].name)
        count++;
    SEXP made = Rf_allocVector(REALSXP, count);
    for (R_xlen_t i = 0; i < count; i++) {
        const pv_metric_row *row = &pv_metric_table[i];
        REAL(made)[i] = classes < row->least ? R_NaN : pv_metric_get(metrics, row);
    }
    return made;
}

/* Names and descriptions of the metrics. */
SEXP call_metrics(void) {
    R_xlen_t count = 0;
    while (pv_metric_table[count].name)
        count++;
    named_list made = list_new(2);
    SEXP name = Rf_allocVector(STRSXP, count);
    list_add(&made, "metric", name);
    SEXP text = Rf_allocVector(STRSXP, count);
    list_add(&made, "what", text);
    for (R_xlen_t i = 0; i < count; i++) {
        SET_STRING_ELT(name, i, Rf_mkChar(pv_metric_table[i].name));
        SET_STRING_ELT(text, i, Rf_mkChar(pv_metric_table[i].text));
    }
    return list_done(&made);
}

SEXP call_judgement(SEXP handle) {
    const pv_judgement *found = handle_get(handle, HANDLE_JUDGEMENT);
    size_t k = (size_t)found->classes;
    named_list made = list_new(12);
    list_add(&made, "value", metric_values(&found->found.value, found->classes));
    list_add(&made, "lo", metric_values(&found->found.lo, found->classes));
    list_add(&made, "hi", metric_values(&found->found.hi, found->classes));
    list_add(&made, "labels", new_texts(found->labels, k));
    list_add(&made, "positive", Rf_ScalarInteger(found->positive + 1));
    list_add(&made, "rows", Rf_ScalarReal((double)found->rows));
    list_add(&made, "dropped", Rf_ScalarReal((double)found->dropped));
    list_add(&made, "observed", new_numbers(found->observed, k));
    list_add(&made, "stated", new_numbers(found->stated, k));
    list_add(&made, "prevalence", new_numbers(found->prevalence, k));
    list_add(&made, "misleading", Rf_ScalarLogical(found->misleading));
    list_add(&made, "replicates", Rf_ScalarReal((double)found->found.replicates));
    return list_done(&made);
}

/* ---- curves and reports ------------------------------------------------------------------------------------------ */

/* options: points, bins, level, threshold. */
SEXP call_curve(SEXP session, SEXP handle, SEXP kind, SEXP options, SEXP prevalences) {
    const pv_judgement *found = handle_get(handle, HANDLE_JUDGEMENT);
    SEXP box = PROTECT(handle_new(HANDLE_CURVE, R_NilValue));
    const char *word = text_of(kind, 0);
    pv_curve_kind which;
    if (!pv_curve_kind_find(word, &which))
        refuse("usage", "there is no such curve: see ?curve_data");
    pv_curve_options how = pv_curve_options_default();
    how.points = (size_t)REAL(options)[0];
    how.bins = (int)REAL(options)[1];
    how.level = REAL(options)[2];
    how.threshold = REAL(options)[3];
    if (prevalences != R_NilValue) {
        how.prevalences = REAL(prevalences);
        how.n_prevalences = (size_t)Rf_xlength(prevalences);
    }
    pv_curve *curve = calloc(1, sizeof *curve);
    if (!curve)
        refuse("memory", "out of memory");
    handle_set(box, curve);
    need(session, pv_curve_make(session_ctx(session), found->found.ranking, which, &how, curve));
    named_list made = list_new((R_xlen_t)curve->columns);
    for (size_t c = 0; c < curve->columns; c++) {
        SEXP column = Rf_allocVector(REALSXP, (R_xlen_t)curve->points);
        list_add(&made, curve->column[c], column);
        for (size_t i = 0; i < curve->points; i++)
            REAL(column)[i] = curve->value[i * curve->columns + c];
    }
    SEXP done = PROTECT(list_done(&made));
    handle_drop(box);
    UNPROTECT(2);
    return done;
}

SEXP call_report(SEXP session, SEXP handle, SEXP target, SEXP level, SEXP page, SEXP figures, SEXP title, SEXP lead) {
    const pv_judgement *found = handle_get(handle, HANDLE_JUDGEMENT);
    const pv_report_options options = {.page = text_or_null(page),
                                       .figures = text_or_null(figures),
                                       .title = text_or_null(title),
                                       .lead = text_or_null(lead)};
    const char *of = text_or_null(target);
    need(session, pv_judgement_report(session_ctx(session), found, of, Rf_asReal(level), &options));
    return R_NilValue;
}

/* ---- cross-validation -------------------------------------------------------------------------------------------- */

/* Puts the settings of a fit in the first box, those of the validation in the second. */
static void validation_settings(SEXP session, SEXP names, SEXP texts, SEXP how_names, SEXP how_texts, SEXP fit_box,
                                SEXP how_box) {
    pv_settings *fit = NULL, *how = NULL;
    need(session, pv_fit_settings_new(session_ctx(session), &fit));
    handle_set(fit_box, fit);
    set_options(session, fit, names, texts);
    need(session, pv_validation_settings_new(session_ctx(session), &how));
    handle_set(how_box, how);
    set_options(session, how, how_names, how_texts);
}

/* table: the training table; known: as in call_learn. lenient: options without effect for the loss are reset to their
 * defaults instead of being rejected. Returns a judgement of the held-out rows, and what the folds have in common. */
SEXP call_cross_validate(SEXP session, SEXP table, SEXP known, SEXP names, SEXP texts, SEXP how_names, SEXP how_texts,
                         SEXP lenient) {
    pv_ctx *ctx = session_ctx(session);
    SEXP fit_box = PROTECT(handle_new(HANDLE_SETTINGS, R_NilValue));
    SEXP how_box = PROTECT(handle_new(HANDLE_SETTINGS, R_NilValue));
    SEXP schema_box = PROTECT(handle_new(HANDLE_SCHEMA, R_NilValue));
    SEXP data_box = PROTECT(handle_new(HANDLE_DATASET, R_NilValue));
    SEXP box = PROTECT(handle_new(HANDLE_VALIDATION, R_NilValue));
    SEXP judgement = PROTECT(handle_new(HANDLE_JUDGEMENT, R_NilValue));
    validation_settings(session, names, texts, how_names, how_texts, fit_box, how_box);
    pv_fit_options used = *pv_fit_options_of(handle_get(fit_box, HANDLE_SETTINGS)), *fit = &used;
    if (Rf_asLogical(lenient) == TRUE)
        used = pv_fit_options_used(&used, false);
    else
        need(session, pv_fit_settings_check(ctx, handle_get(fit_box, HANDLE_SETTINGS), false));
    if (known != R_NilValue)
        used.known = handle_get(known, HANDLE_TABLE);
    const pv_validation_options *how = pv_validation_options_of(handle_get(how_box, HANDLE_SETTINGS));
    pv_roles roles = *pv_roles_of(handle_get(fit_box, HANDLE_SETTINGS));
    roles.prevalence = fit->prevalence;
    pv_schema *schema = NULL;
    pv_dataset *data = NULL;
    pv_validation *found = NULL;
    pv_judgement *judged = NULL;
    need(session, pv_schema_learn(ctx, handle_get(table, HANDLE_TABLE), &roles, &schema, &data));
    handle_set(schema_box, schema);
    handle_set(data_box, data);
    need(session, pv_cross_validate(ctx, schema, data, fit, how, &found));
    handle_set(box, found);
    need(session, pv_validation_judge(ctx, found, schema->labels, fit->seed, &judged));
    handle_set(judgement, judged);

    pv_metrics mean, sd, defined, pooled, lo, hi;
    pv_validation_summary(found, &mean, &sd, &defined, &pooled);
    pv_validation_interval(found, &lo, &hi);
    int classes = schema->classes;
    named_list made = list_new(10);
    list_add(&made, "judgement", judgement);
    list_add(&made, "mean", metric_values(&mean, classes));
    list_add(&made, "sd", metric_values(&sd, classes));
    list_add(&made, "pooled", metric_values(&pooled, classes));
    list_add(&made, "lo", metric_values(&lo, classes));
    list_add(&made, "hi", metric_values(&hi, classes));
    list_add(&made, "folds", Rf_ScalarInteger((int)found->folds));
    list_add(&made, "repeats", Rf_ScalarInteger((int)found->repeats));
    SEXP fold = Rf_allocVector(INTSXP, (R_xlen_t)data->rows);
    list_add(&made, "fold", fold);
    for (size_t i = 0; i < data->rows; i++)
        INTEGER(fold)[i] = found->fold[i] + 1;
    list_add(&made, "log_p", new_matrix(found->log_p, data->rows, (size_t)classes));
    SEXP done = PROTECT(list_done(&made));
    handle_drop(box);
    handle_drop(data_box);
    handle_drop(schema_box);
    handle_drop(how_box);
    handle_drop(fit_box);
    UNPROTECT(7);
    return done;
}
