/* src/predict/target.h: inference of a target sample's prevalence, called once for an estimate of w and once for each
 * posterior draw. */
#ifndef PV_PREDICT_TARGET_H
#define PV_PREDICT_TARGET_H

#include "predict/mixture.h"

/* ---- prior of pi (dirichlet.c) ----------------------------------------------------------------------------------- */

typedef enum pv__dirichlet_kind { PV__DIRICHLET_EQUAL, PV__DIRICHLET_TRUE, PV__DIRICHLET_COUNTS } pv__dirichlet_kind;

typedef struct pv__dirichlet {
    pv__dirichlet_kind kind;
    double k;       /* EQUAL: every entry; TRUE: the smallest; INFINITY: pi is known */
    double *counts; /* [classes], COUNTS */
} pv__dirichlet;

/* The caller clears with pv__free(ctx, prior->counts). */
PV_MUST_USE pv_status pv__dirichlet_parse(pv_ctx *ctx, const char *text, char *const *labels, int classes,
                                          pv__dirichlet *prior);
/* alpha [classes]; if k is infinite, its direction with sum 1. marginal: that of the true population. */
void pv__dirichlet_set(const pv__dirichlet *prior, int classes, const double *marginal, double *alpha);

/* ---- solver (solve.c) -------------------------------------------------------------------------------------------- */

typedef struct pv__solver {
    const pv_unknown_options *options;
    pv__dirichlet prior;
    int classes;
    bool fixed;        /* pi is known: the prior is a point mass */
    double *alpha;     /* [classes], prior */
    double *posterior; /* [classes], prior plus known labels; vb: at the end those of the variational Dirichlet */
    double *value, *sd;
    double *plugin; /* [classes], em, vb, bbse and fixed: the value of pi used in predictions */
    double *given;  /* [classes], vb: prior plus known labels, while posterior is updated */
    double *moved;  /* [classes], vb with a flat prior: the mean with half an observation more of each label */
    double *work;   /* [4 classes + classes^2] */
    pv__pair pair;
    pv__many many;
    int64_t iterations;
    pv_stop stop;
    bool flat;          /* the prior is flat */
    double *flat_value; /* [classes], mode and sd with a flat prior; unset if the prior is flat */
    double *flat_sd;
    double worth;    /* as in pv_unknown_prevalence */
    double movement; /* NaN if there is no prior or it is a point mass; for exact with a flat prior and more than two
                        classes, from draws */
    bool swayed;
} pv__solver;

PV_MUST_USE pv_status pv__solver_init(pv_ctx *ctx, const pv_unknown_options *options, char *const *labels, int classes,
                                      pv__solver *solver);
void pv__solver_clear(pv_ctx *ctx, pv__solver *solver);
/* marginal [classes]: p(y|w) of the true population; log_marginal: that of loglik. */
PV_MUST_USE pv_status pv__solver_run(pv_ctx *ctx, pv__solver *solver, pv__mixture *mixture, const double *marginal,
                                     const double *log_marginal);

/* The number of labelled rows that would be as informative, the minimum over the labels. */
double pv__worth(int classes, const double *value, const double *sd);
/* Mean and standard deviation of weighted points, [classes] each. */
void pv__points_moments(const pv__points *points, double *mean, double *sd);
/* The largest change of the mean, in sd, from adding half an observation of each label. *swayed is set if it is also
 * large in absolute terms. */
double pv__points_movement(const pv__points *points, const double *mean, const double *sd, bool *swayed);
/* Sorts order by value and returns the quantile p of weighted values, interpolated linearly between the middles of the
 * weights. */
double pv__weighted_quantile(size_t n, const double *value, const double *weight, const size_t *order, double p);
void pv__sort_by(size_t n, const double *value, size_t *order);
/* Stores the central interval of the points in out (target.c). */
PV_MUST_USE pv_status pv__points_interval(pv_ctx *ctx, const pv__points *points, pv_unknown_prevalence *out);
/* Whether the prior is one observation of each label. */
bool pv__flat_prior(const pv__solver *solver);
/* (label_cells_answer.c) Inference from cells of the reference rows, for three or more labels. */
PV_MUST_USE pv_status pv__infer_cells(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_unknown_options *options,
                                      const pv__solver *solver, pv_unknown_prevalence *out);

#endif
