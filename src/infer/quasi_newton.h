/* src/infer/quasi_newton.h: L-BFGS (Nocedal and Wright 2006, algorithm 7.5), and OWL-QN (Andrew and Gao 2007) if some
 * variables have the penalty rate |u|, for any function. */
#ifndef PV_SRC_INFER_QUASI_NEWTON_H
#define PV_SRC_INFER_QUASI_NEWTON_H

#include "base/base.h"

/* Why the method stopped. */
typedef enum pv__quasi_newton_stop {
    PV_QUASI_NEWTON_TOLD, /* accepted() returned true */
    PV_QUASI_NEWTON_FLAT, /* `past` steps changed the value by less than `delta`, relative to it */
    PV_QUASI_NEWTON_MAX_ITER,
    PV_QUASI_NEWTON_STUCK /* no step along the direction was accepted */
} pv__quasi_newton_stop;

enum { PV_QUASI_NEWTON_PAST = 10 };

typedef struct pv__quasi_newton {
    size_t n;
    int64_t max_iter; /* 0: no limit */
    double delta;     /* 0: do not stop because of small changes; otherwise compared over PV_QUASI_NEWTON_PAST steps */
    size_t penalised; /* number of variables with the penalty; they come first */
    double rate;      /* of the penalty; 0: none */
    void *state;
    /* Returns the value at u and writes its gradient du [n], without the penalty; HUGE_VAL if it is undefined. */
    double (*evaluate)(void *state, const double *u, double *du);
    /* Called after step k = 1, 2, ... to u, with the value including the penalty; true: stop here. */
    bool (*accepted)(void *state, const double *u, const double *du, double value, int64_t k);
} pv__quasi_newton;

/* Minimises from u, and returns the minimum in u and *value. If stuck, these are those of the last accepted step. */
PV_MUST_USE pv_status pv__quasi_newton_run(pv_ctx *ctx, const pv__quasi_newton *problem, double *u, double *value,
                                           pv__quasi_newton_stop *stop);

#endif
