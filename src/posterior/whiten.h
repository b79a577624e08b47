/* src/posterior/whiten.h: coordinates in which the curvature of a density at a point is the identity. */
#ifndef PV_SRC_WHITEN_H
#define PV_SRC_WHITEN_H

#include "base/base.h"
#include "prevail/posterior.h"

/* w = centre + L^-T u with H = L L^T the Hessian of the negative log density at centre. */
typedef struct pv__whiten {
    size_t dims;
    double *centre; /* [dims] */
    double *factor; /* [dims][dims], L, lower triangle */
    double log_det; /* log |dw/du| = -log det L */
    bool repaired;  /* the Hessian was not positive definite and was modified */
} pv__whiten;

pv_status pv__whiten_new(pv_ctx *ctx, const pv_density *density, const double *w, pv__whiten *whiten);
void pv__whiten_free(pv_ctx *ctx, pv__whiten *whiten);
void pv__whiten_to_w(const pv__whiten *whiten, const double *u, double *w);
void pv__whiten_gradient(const pv__whiten *whiten, const double *dw, double *du); /* du = L^-1 dw */

#endif
