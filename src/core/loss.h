/* src/core/loss.h: what a loss is. Each is one const struct in a file of its own, and an entry of PV_LOSS_LIST; the
 * rest of the library asks the struct, never which loss it is.
 */
#ifndef PV_SRC_LOSS_H
#define PV_SRC_LOSS_H

#include "core/core.h"

/* How a loss is worked out. */
typedef enum pv__form {
    PV_FORM_ROWS,      /* a sum over rows of the data term, each label times its class factor */
    PV_FORM_SELECTION, /* a sum over rows of the selection likelihood */
    PV_FORM_JOINT      /* the marginal ties the rows together; minibatches have it from an auxiliary network */
} pv__form;

/* Matched sets: their rows, in order. */
typedef struct pv__sets {
    size_t count;
    size_t *first; /* [count + 1], into row */
    size_t *cases; /* [count] */
    size_t *row;   /* [n] */
    size_t *room_at;
    double *room, *partial;
} pv__sets;

void pv__sets_clear(pv_ctx *ctx, pv__sets *sets);

struct pv_full_loss {
    const struct pv__loss_kind *kind;
    pv_marginal marginal;
    pv_targets targets;
    pv__part part;        /* of the chunks of rows */
    double *factor;       /* [classes], class factors */
    double *counts;       /* [classes], c of the marginal's term */
    double *rho;          /* [n], plugin */
    double *e;            /* [n][classes], plugin */
    double *log_marginal; /* [classes] */
    double *sum;          /* [classes] */
    pv__profile profile;
    pv__sets sets;
    pv__profiles strata; /* profile */
};

/* What a batch loss works with: the caller's arguments, and memory. */
typedef struct pv__batch_work {
    const pv_batch_loss *loss;
    const pv_targets *batch;
    const double *loglik, *log_q;
    double *dloglik, *log_batch_marginal;
    double *epoch, *population, *sums;           /* [n] */
    double *factor, *counts, *log_p, *log_ratio; /* [classes] */
    double *block;
} pv__batch_work;

typedef struct pv__loss_kind {
    const char *name;
    bool needs_prevalence;
    bool of_design;    /* its likelihood holds where the labels are as common as in training; else in the population
                          whose prevalence was stated */
    bool has_marginal; /* p(y|w) is part of it: --marginal and --prevalence-n say how */
    bool takes_sample; /* unlabelled rows may stand for the population */
    bool relative;     /* it knows odds ratios only: no intercept, no marginal */
    /* What a label's term is multiplied by, for a class of this mass among a total. NULL: 1. */
    double (*class_factor)(double prevalence, double total, double mass);
    /* Its form in minibatches or the full batch. NULL: ROWS in both. */
    pv__form (*form)(pv_marginal marginal, bool batches);
    /* JOINT, in the full batch: all of it, where the data term is no part of it; NULL: it is. */
    pv_status (*eval)(pv_ctx *ctx, pv_full_loss *full, const double *loglik, double *value, double *dloglik);
    /* JOINT, in the full batch: what it needs beside the data term; that term, added to value and gradient; log p(y|w)
     * of the last evaluation, borrowed. */
    pv_status (*prepare)(pv_ctx *ctx, pv_full_loss *full, const pv_prevalence *population, const double *mass);
    pv_status (*add_term)(pv_ctx *ctx, pv_full_loss *full, const double *loglik, double *value, double *dloglik);
    const double *(*log_marginal)(const pv_full_loss *full);
    /* In minibatches, the epoch weights (JOINT: and the population's) in work. NULL: the data term. */
    double (*batch)(pv__batch_work *work);
    /* What it takes beside the data term, whatever the log-likelihoods: SELECTION log_ratio, JOINT counts, in work.
     * Returns a constant of the value. NULL: nothing. */
    double (*terms)(pv__batch_work *work);
} pv__loss_kind;

#define PV__LOSS_EXTERN(name, word, text) extern const pv__loss_kind pv__loss_##word;
PV_LOSS_LIST(PV__LOSS_EXTERN)
#undef PV__LOSS_EXTERN

const pv__loss_kind *pv__loss(pv_loss loss);
pv__form pv__loss_form(pv_loss loss, pv_marginal marginal, bool batches);

/* Whether rows can be worked on in parts: each has a term of its own, once the marginal is known. */
bool pv__full_loss_parts(const pv_full_loss *full);
/* Which chunks of rows have log-likelihoods, and want their gradient; all, unless this is called. */
void pv__full_loss_share(pv_full_loss *full, pv__part part);

/* factor [classes] from masses of any unit and their total; the shares of the design have a total of 1. prevalence may
 * be NULL where the loss needs none. */
void pv__class_factors(pv_loss loss, int classes, const double *prevalence, double total, const double *mass,
                       double *factor);

/* A batch's loss but for its log-likelihoods, for those who work it out elsewhere; arrays are the caller's. */
typedef struct pv__batch_terms {
    double *data;                /* [n][classes], the factors of the log-likelihoods */
    double *weight, *ratio;      /* SELECTION: [n], [n][classes] */
    double *population, *counts; /* JOINT: [n], [classes] */
    double constant;
} pv__batch_terms;
PV_MUST_USE pv_status pv__batch_terms_fill(pv_ctx *ctx, const pv_batch_loss *loss, const pv_targets *batch,
                                           const int32_t *stratum, const double *log_q, pv__batch_terms *terms);

/* SELECTION: the log ratios that its rows take, one set or one for each stratum of the population. */
static inline const double *pv__batch_ratios(const pv__batch_work *work) {
    return work->batch->stratum ? work->loss->design.stratum_log_ratio : work->log_ratio;
}
/* The batch's data term with the epoch weights joined to the rows' own. */
double pv__batch_data_term(pv__batch_work *work);

#endif
