/* A session: a context of the library, its messages, and whether it was interrupted. */
#include "prevail_r.h"
#include "calls.h"

#include <stdlib.h>
#include <string.h>

typedef struct note {
    pv_log_level level;
    char *text;
} note;

typedef struct session {
    pv_ctx *ctx;
    note *notes;
    size_t count, room;
    bool interrupted;
    double shown; /* time of the last progress line, in seconds */
} session;

void session_free(void *object) {
    session *s = object;
    pv_ctx_free(s->ctx);
    for (size_t i = 0; i < s->count; i++)
        free(s->notes[i].text);
    free(s->notes);
    free(s);
}

/* ---- callbacks; R must not jump out of them ---------------------------------------------------------------------- */

/* A message is lost if there is no memory for it. */
static void on_log(void *state, pv_log_level level, const char *message) {
    session *s = state;
    if (s->count == s->room) {
        size_t room = s->room ? 2 * s->room : 8;
        note *more = realloc(s->notes, room * sizeof *more);
        if (!more)
            return;
        s->notes = more;
        s->room = room;
    }
    char *copy = malloc(strlen(message) + 1);
    if (!copy)
        return;
    strcpy(copy, message);
    s->notes[s->count++] = (note){.level = level, .text = copy};
}

static void look(void *unused) {
    (void)unused;
    R_CheckUserInterrupt();
}

static bool on_poll(void *state) {
    session *s = state;
    if (!s->interrupted && !R_ToplevelExec(look, NULL))
        s->interrupted = true;
    return s->interrupted;
}

static void show(void *state) {
    const pv_progress *p = state;
    REprintf("%s: step %.0f", p->what, (double)p->step);
    if (p->steps)
        REprintf(" of %.0f", (double)p->steps);
    if (!ISNAN(p->value))
        REprintf(", loss %.6g", p->value);
    REprintf("\n");
}

static void on_progress(void *state, const pv_progress *progress) {
    session *s = state;
    pv_progress copy = *progress;
    if (progress->seconds < s->shown + 1 && progress->seconds >= s->shown)
        return;
    s->shown = progress->seconds;
    R_ToplevelExec(show, &copy);
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

SEXP call_session(SEXP threads, SEXP verbose) {
    SEXP handle = PROTECT(handle_new(HANDLE_SESSION, R_NilValue));
    session *s = calloc(1, sizeof *s);
    pv_ctx_options options = pv_ctx_options_default();
    options.log = on_log;
    options.poll = on_poll;
    options.progress = Rf_asLogical(verbose) == TRUE ? on_progress : NULL;
    options.state = s;
    options.threads = Rf_asInteger(threads);
    if (!s || pv_ctx_new(&options, &s->ctx) != PV_OK) {
        free(s);
        refuse("memory", "out of memory");
    }
    handle_set(handle, s);
    UNPROTECT(1);
    return handle;
}

/* path: the file of DuckDB's library. */
SEXP call_session_duckdb(SEXP handle, SEXP path) {
    need(handle, pv_ctx_set_duckdb(session_ctx(handle), CHAR(STRING_ELT(path, 0))));
    return R_NilValue;
}

SEXP call_session_end(SEXP handle) {
    handle_drop(handle);
    return R_NilValue;
}

pv_ctx *session_ctx(SEXP handle) {
    return ((session *)handle_get(handle, HANDLE_SESSION))->ctx;
}

/* The logged messages, and whether the session was interrupted. */
SEXP call_session_said(SEXP handle) {
    session *s = handle_get(handle, HANDLE_SESSION);
    named_list said = list_new(3);
    SEXP warning = Rf_allocVector(LGLSXP, (R_xlen_t)s->count);
    list_add(&said, "warning", warning);
    SEXP text = Rf_allocVector(STRSXP, (R_xlen_t)s->count);
    list_add(&said, "text", text);
    for (size_t i = 0; i < s->count; i++) {
        LOGICAL(warning)[i] = s->notes[i].level >= PV_LOG_WARNING;
        SET_STRING_ELT(text, (R_xlen_t)i, Rf_mkCharCE(s->notes[i].text, CE_UTF8));
    }
    list_add(&said, "interrupted", Rf_ScalarLogical(s->interrupted));
    return list_done(&said);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Calls the package's function that creates the condition. Only memory of R is held here, and the session's, which its
 * finaliser frees. */
static _Noreturn void raise_condition(const char *word, const pv_error *error) {
    SEXP name = PROTECT(Rf_mkString("prevail"));
    SEXP space = PROTECT(R_FindNamespace(name));
    const char *texts[] = {error->option, error->value, error->problem[0] ? error->problem : error->message,
                           error->remedy};
    const size_t n = sizeof texts / sizeof *texts;
    SEXP call = PROTECT(Rf_allocVector(LANGSXP, (R_xlen_t)(6 + n)));
    SEXP at = call;
    SETCAR(at, Rf_install("raise"));
    at = CDR(at);
    SETCAR(at, Rf_mkString(word));
    at = CDR(at);
    SETCAR(at, new_text(error->message));
    at = CDR(at);
    SETCAR(at, new_text(error->file[0] ? error->file : NULL));
    at = CDR(at);
    SETCAR(at, Rf_ScalarReal((double)error->line));
    at = CDR(at);
    SETCAR(at, Rf_ScalarReal((double)error->column));
    for (size_t i = 0; i < n; i++) {
        at = CDR(at);
        SETCAR(at, new_text(texts[i][0] ? texts[i] : NULL));
    }
    Rf_eval(call, space);
    Rf_error("%s", error->message); /* not reached: the call does not return */
}

void need(SEXP handle, pv_status status) {
    if (status == PV_OK)
        return;
    raise_condition(pv_status_name(status), pv_ctx_error(session_ctx(handle)));
}

_Noreturn void refuse(const char *word, const char *message) {
    pv_error error = {.line = 0};
    snprintf(error.message, sizeof error.message, "%s", message);
    raise_condition(word, &error);
}
