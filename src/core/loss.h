/* src/core/loss.h: the interface of a loss. Each loss is one const struct in a file of its own and an entry of
 * PV_LOSS_LIST. The rest of the library asks the struct for properties and never compares losses.
 */
#ifndef PV_SRC_LOSS_H
#define PV_SRC_LOSS_H

#include "core/core.h"

/* How a loss is computed. */
typedef enum pv__form {
    PV_FORM_ROWS,      /* a sum over rows of the data term, with each label's term multiplied by a class factor */
    PV_FORM_SELECTION, /* a sum over rows of the selection likelihood */
    PV_FORM_JOINT      /* the marginal couples the rows; in minibatches an auxiliary network provides it */
} pv__form;

/* The rows of matched sets, ordered by set. */
typedef struct pv__sets {
    size_t count;
    size_t *first; /* [count + 1], start of each set in `row` */
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
    pv__part part;        /* this process's chunks of rows */
    double *factor;       /* [classes], class factors */
    double *counts;       /* [classes], c of the marginal's term */
    double *rho;          /* [n], plugin */
    double *e;            /* [n][classes], plugin */
    double *log_marginal; /* [classes] */
    double *sum;          /* [classes] */
    pv__profile profile;
    pv__sets sets;
    pv__profiles strata; /* one profile per stratum; empty without strata */
};

/* The caller's arguments of a batch loss, and its work arrays. */
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
    bool of_design;    /* true: the likelihood describes a population with the label proportions of training; false: the
                          population whose prevalence was given */
    bool has_marginal; /* p(y|w) is part of the loss, so --marginal and --prevalence-n apply */
    bool takes_sample; /* unlabelled rows can be used as a sample of the population */
    bool relative;     /* it determines odds ratios only: no intercept, no marginal */
    /* The factor of a label's term, for a class of mass `mass` out of `total`. NULL: 1. */
    double (*class_factor)(double prevalence, double total, double mass);
    /* The loss's form in minibatches or in the full batch. NULL: ROWS in both. */
    pv__form (*form)(pv_marginal marginal, bool batches);
    /* JOINT, full batch: computes the whole loss, for losses without the common data term. NULL: there is a data
     * term. */
    pv_status (*eval)(pv_ctx *ctx, pv_full_loss *full, const double *loglik, double *value, double *dloglik);
    /* JOINT, full batch. prepare allocates what the loss needs besides the data term; add_term adds the loss's own term
     * to value and gradient; log_marginal returns log p(y|w) of the last evaluation, borrowed. */
    pv_status (*prepare)(pv_ctx *ctx, pv_full_loss *full, const pv_prevalence *population, const double *mass);
    pv_status (*add_term)(pv_ctx *ctx, pv_full_loss *full, const double *loglik, double *value, double *dloglik);
    const double *(*log_marginal)(const pv_full_loss *full);
    /* In minibatches: writes the epoch weights (JOINT: also the population weights) to work. NULL: data term only. */
    double (*batch)(pv__batch_work *work);
    /* In minibatches: writes the quantities that do not depend on the log-likelihoods to work (SELECTION: log_ratio;
     * JOINT: counts) and returns the constant part of the value. NULL: none. */
    double (*terms)(pv__batch_work *work);
} pv__loss_kind;

#define PV__LOSS_EXTERN(name, word, text) extern const pv__loss_kind pv__loss_##word;
PV_LOSS_LIST(PV__LOSS_EXTERN)
#undef PV__LOSS_EXTERN

const pv__loss_kind *pv__loss(pv_loss loss);
pv__form pv__loss_form(pv_loss loss, pv_marginal marginal, bool batches);

/* Whether rows can be processed in separate chunks: given the marginal, each row has a term of its own. */
bool pv__full_loss_parts(const pv_full_loss *full);
/* Selects the chunks of rows whose log-likelihoods are given and whose gradient is wanted. Default: all. */
void pv__full_loss_share(pv_full_loss *full, pv__part part);

/* Fills factor [classes] from class masses in any unit and their total; for the design's proportions, total is 1.
 * prevalence may be NULL if the loss does not need it. */
void pv__class_factors(pv_loss loss, int classes, const double *prevalence, double total, const double *mass,
                       double *factor);

/* Everything in a batch's loss except the log-likelihoods, for callers that compute the loss elsewhere, such as on a
 * device. The caller owns the arrays. */
typedef struct pv__batch_terms {
    double *data;                /* [n][classes], factors of the log-likelihoods */
    double *weight, *ratio;      /* SELECTION: [n], [n][classes] */
    double *population, *counts; /* JOINT: [n], [classes] */
    double constant;
} pv__batch_terms;
PV_MUST_USE pv_status pv__batch_terms_fill(pv_ctx *ctx, const pv_batch_loss *loss, const pv_targets *batch,
                                           const int32_t *stratum, const double *log_q, pv__batch_terms *terms);

/* SELECTION: the log ratios of the rows, one set in all or one per stratum of the population. */
static inline const double *pv__batch_ratios(const pv__batch_work *work) {
    return work->batch->stratum ? work->loss->design.stratum_log_ratio : work->log_ratio;
}
/* The batch's data term, with the epoch weights multiplied into the row weights. */
double pv__batch_data_term(pv__batch_work *work);

#endif
