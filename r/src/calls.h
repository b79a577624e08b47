/* The routines that R calls, each registered under its name (init.c). */
#ifndef PREVAIL_CALLS_H
#define PREVAIL_CALLS_H

#include "prevail_r.h"

/* Name and number of arguments. */
#define CALL_LIST(X)                                                                                                   \
    X(session, 2)                                                                                                      \
    X(session_duckdb, 2)                                                                                               \
    X(session_end, 1)                                                                                                  \
    X(session_said, 1)                                                                                                 \
    X(table, 6)                                                                                                        \
    X(learn, 6)                                                                                                        \
    X(options, 0)                                                                                                      \
    X(about, 0)                                                                                                        \
    X(positive, 1)                                                                                                     \
    X(population_kinds, 0)                                                                                             \
    X(shares, 4)                                                                                                       \
    X(model_facts, 2)                                                                                                  \
    X(model_draws, 2)                                                                                                  \
    X(model_summary, 3)                                                                                                \
    X(model_checks, 2)                                                                                                 \
    X(model_covariance, 2)                                                                                             \
    X(model_bytes, 2)                                                                                                  \
    X(model_from_bytes, 3)                                                                                             \
    X(model_save, 3)                                                                                                   \
    X(model_load, 2)                                                                                                   \
    X(model_methods, 2)                                                                                                \
    X(model_export, 5)                                                                                                 \
    X(model_alive, 1)                                                                                                  \
    X(predict, 7)                                                                                                      \
    X(probs, 5)                                                                                                        \
    X(predict_probs, 9)                                                                                                \
    X(decide, 4)                                                                                                       \
    X(judge_model, 6)                                                                                                  \
    X(judge_probs, 7)                                                                                                  \
    X(judgement, 1)                                                                                                    \
    X(curve, 5)                                                                                                        \
    X(report, 8)                                                                                                       \
    X(metrics, 0)                                                                                                      \
    X(cross_validate, 8)                                                                                               \
    X(rate, 5)                                                                                                         \
    X(size, 4)                                                                                                         \
    X(sets_calibrate, 5)                                                                                               \
    X(sets_apply, 4)                                                                                                   \
    X(effect, 5)

#define ARGUMENTS_0 void
#define ARGUMENTS_1 SEXP
#define ARGUMENTS_2 SEXP, SEXP
#define ARGUMENTS_3 SEXP, SEXP, SEXP
#define ARGUMENTS_4 SEXP, SEXP, SEXP, SEXP
#define ARGUMENTS_5 SEXP, SEXP, SEXP, SEXP, SEXP
#define ARGUMENTS_6 SEXP, SEXP, SEXP, SEXP, SEXP, SEXP
#define ARGUMENTS_7 SEXP, SEXP, SEXP, SEXP, SEXP, SEXP, SEXP
#define ARGUMENTS_8 SEXP, SEXP, SEXP, SEXP, SEXP, SEXP, SEXP, SEXP
#define ARGUMENTS_9 SEXP, SEXP, SEXP, SEXP, SEXP, SEXP, SEXP, SEXP, SEXP
#define CALL_PROTOTYPE(name, count) SEXP call_##name(ARGUMENTS_##count);
CALL_LIST(CALL_PROTOTYPE)
#undef CALL_PROTOTYPE

#endif
