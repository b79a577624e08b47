/* The C side of the R package: objects of the library as external pointers, and conversion of values.
 *
 * R leaves a function by longjmp on any error, including failed allocations. Therefore every object of the library is
 * put into an external pointer with a finaliser before any other call of R, and the library's callbacks never let R
 * jump through the library. handle_drop empties the pointer, so nothing is freed twice.
 */
#ifndef PREVAIL_R_H
#define PREVAIL_R_H

#include <prevail/prevail.h>

#define R_NO_REMAP
#define STRICT_R_HEADERS
#include <R.h>
#include <Rinternals.h>

/* ---- handles ----------------------------------------------------------------------------------------------------- */

typedef enum handle_kind {
    HANDLE_SESSION,
    HANDLE_SETTINGS,
    HANDLE_TABLE,
    HANDLE_MODEL,
    HANDLE_BYTES,
    HANDLE_SUMMARY,
    HANDLE_DIAGNOSIS,
    HANDLE_DATASET,
    HANDLE_POPULATION,
    HANDLE_PREDICTION,
    HANDLE_PROBS,
    HANDLE_REFERENCE,
    HANDLE_JUDGEMENT,
    HANDLE_CURVE,
    HANDLE_SCHEMA,
    HANDLE_VALIDATION,
    HANDLE_RESULT
} handle_kind;

/* An empty handle, which the caller protects; keeps: the object it borrows from, or R_NilValue. */
SEXP handle_new(handle_kind kind, SEXP keeps);
void handle_set(SEXP handle, void *object);
void *handle_get(SEXP handle, handle_kind kind); /* an error if it is empty or of another kind */
void handle_drop(SEXP handle);

/* ---- session: one call of a function of the package -------------------------------------------------------------- */

void session_free(void *session); /* finaliser of the handle */
pv_ctx *session_ctx(SEXP session);
/* Raises the R condition for a status; returns if it is PV_OK. */
void need(SEXP session, pv_status status);
/* Raises a condition of the package itself; word is the name of a status. */
_Noreturn void refuse(const char *word, const char *message);

/* ---- values ------------------------------------------------------------------------------------------------------ */

const char *text_of(SEXP strings, R_xlen_t i);    /* UTF-8; NULL for NA. Valid during the call */
const char *text_or_null(SEXP string);            /* the first string; NULL also for R's NULL */
const char **texts_of(SEXP strings);              /* all of them */
SEXP new_text(const char *text);                  /* a string of one; NA for NULL */
SEXP new_texts(char *const *texts, size_t count); /* R_NilValue if texts is NULL */
SEXP new_numbers(const double *values, size_t count);
/* Converts [rows][columns] to an R matrix; R_NilValue for NULL. */
SEXP new_matrix(const double *values, size_t rows, size_t columns);
/* Converts an R matrix to [rows][columns], in memory that R frees after the call. */
const double *by_rows(SEXP matrix, size_t rows, size_t columns);
/* A list under construction, with names. */
typedef struct named_list {
    SEXP list, names;
    R_xlen_t at;
} named_list;
SEXP value_of(const pv_result *value); /* (rate.c) a tree of named values as lists */
named_list list_new(R_xlen_t count); /* protects two objects */
void list_add(named_list *list, const char *name, SEXP value);
SEXP list_done(named_list *list); /* unprotects them */

/* Sets each named option; names and texts are of the same length. */
void set_options(SEXP session, pv_settings *settings, SEXP names, SEXP texts);
/* Options for an unknown prevalence, in settings that live as long as handle. */
pv_unknown_options unknown_of(SEXP session, SEXP names, SEXP texts, double level, SEXP *handle);
/* The inference of an unknown prevalence; R_NilValue for NULL. */
SEXP new_inferred(const pv_unknown_prevalence *found);

#endif
