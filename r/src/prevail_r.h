/* The C side of the R package: objects of the library as external pointers, and R's values as the library's.
 *
 * R leaves a function by longjmp on any error, a failed allocation among them. So every object of the library is put
 * into an external pointer with a finaliser before R is asked for anything else, and the library's callbacks never let
 * R jump through the library. Nothing is freed by hand twice: handle_drop empties the pointer.
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
    HANDLE_VALIDATION
} handle_kind;

/* An empty one, to be protected by the caller; keeps: what it borrows from, R_NilValue: nothing. */
SEXP handle_new(handle_kind kind, SEXP keeps);
void handle_set(SEXP handle, void *object);
void *handle_get(SEXP handle, handle_kind kind); /* an error where it is empty, or of another kind */
void handle_drop(SEXP handle);

/* ---- a session: one call of a function of the package ------------------------------------------------------------ */

void session_free(void *session); /* for the handle's finaliser */
pv_ctx *session_ctx(SEXP session);
/* Raises the R condition that the status stands for; returns where it is PV_OK. */
void need(SEXP session, pv_status status);
/* A condition of the package's own: word is a status. */
_Noreturn void refuse(const char *word, const char *message);

/* ---- values ------------------------------------------------------------------------------------------------------ */

const char *text_of(SEXP strings, R_xlen_t i);    /* UTF-8; NULL for NA. Lives as long as the call */
const char *text_or_null(SEXP string);            /* the first; NULL for R's NULL as well */
const char **texts_of(SEXP strings);              /* all of them */
SEXP new_text(const char *text);                  /* a string of one; NA for NULL */
SEXP new_texts(char *const *texts, size_t count); /* R_NilValue for NULL */
SEXP new_numbers(const double *values, size_t count);
/* [rows][columns] of the library's as a matrix of R's; R_NilValue for NULL. */
SEXP new_matrix(const double *values, size_t rows, size_t columns);
/* A matrix of R's as [rows][columns] of C's, in memory of R's that lives as long as the call. */
const double *by_rows(SEXP matrix, size_t rows, size_t columns);
/* A list being filled, each value under its name. */
typedef struct named_list {
    SEXP list, names;
    R_xlen_t at;
} named_list;
named_list list_new(R_xlen_t count); /* protects two */
void list_add(named_list *list, const char *name, SEXP value);
SEXP list_done(named_list *list); /* unprotects them */

/* Sets each named option; names and texts are of the same length. */
void set_options(SEXP session, pv_settings *settings, SEXP names, SEXP texts);
/* How an unknown prevalence is inferred, in settings that live as long as handle. */
pv_unknown_options unknown_of(SEXP session, SEXP names, SEXP texts, double level, SEXP *handle);
/* What rows told of an unknown prevalence; R_NilValue for NULL. */
SEXP new_inferred(const pv_unknown_prevalence *found);

#endif
