/* src/compute/plugin.h: what the plug-in of a device exports: one table, `pv_plugin`, with a version.
 *
 * In C and in C++. A plug-in links with nothing of this library, and this library with nothing of it: all that is
 * shared is here. Functions return a pv__plugin_code; what went wrong is in words in `why` [PV_PLUGIN_TEXT]. Calls for
 * one net, or one pv__passes, come one at a time, those for several from several threads.
 */
#ifndef PV_SRC_PLUGIN_H
#define PV_SRC_PLUGIN_H

#include "compute/nodes.h"
#include "prevail/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PV_PLUGIN_VERSION = 6, PV_PLUGIN_TEXT = 256 };

typedef enum pv__plugin_code {
    PV_PLUGIN_OK,
    PV_PLUGIN_MEMORY, /* the device has too little */
    PV_PLUGIN_UNFIT,  /* what it was given does not fit its precision */
    PV_PLUGIN_FAILED  /* anything else: no driver, a device that was lost */
} pv__plugin_code;

typedef struct pv__device_about {
    char device[128];    /* "NVIDIA H200" */
    char libraries[128]; /* "CUDA 13.0, cuDNN 9.14.0": versions in use */
    bool tables_only;    /* networks cannot be run, and why says why */
} pv__device_about;

typedef struct pv__net pv__net;         /* a network on the device; the plug-in's own */
typedef struct pv__volumes pv__volumes; /* images in its memory */

typedef struct pv__net_spec {
    const pv__graph *graph; /* copied */
    size_t images;          /* room for so many views at a time */
    pv_precision precision;
    size_t views, classes; /* rows of so many views, pooled; classes 0: no output layer, the graph alone */
    int pool;              /* 0 max, 1 min, 2 mean */
    size_t params;         /* with classes: of graph and output layer, for the plug-in to compare with what it counts */
} pv__net_spec;

typedef enum pv__pixel_type { PV_PIXEL_U8, PV_PIXEL_I16, PV_PIXEL_F32 } pv__pixel_type;

typedef struct pv__volumes_spec {
    const void *pixels; /* [count][planes][height][width], in the order of the machine */
    pv__pixel_type type;
    size_t count, planes, height, width;
} pv__volumes_spec;

/* A view's plane in a volume: pixel (i, j) at the centre + shift + (i - (S-1)/2) h a + (j - (S-1)/2) h b, h = field/S;
 * axes z, y, x. */
typedef struct pv__plane {
    double a[3], b[3];
    double shift[3];
} pv__plane;

typedef struct pv__cut {
    size_t size;         /* S */
    double field;        /* of a view's side, in the unit of the spacing */
    double low, high;    /* values are moved into this range */
    double mean, spread; /* then standardised */
} pv__cut;

/* Rows to go forward: pixels x, or planes to be cut out of volumes. */
typedef struct pv__rows {
    size_t n;
    const double *x; /* [n][views][size][size]; NULL: cut them */
    const pv__volumes *volumes;
    pv__cut cut;
    const size_t *volume;   /* [n] */
    const double *spacing;  /* [n][3] */
    const pv__plane *plane; /* [n][views] */
    pv__dropout dropout;    /* of a step */
} pv__rows;

/* A prior of one parameter: 0 none, 1 normal, 2 student, 3 laplace, as prevail/infer.h has them. */
typedef struct pv__slope {
    int kind;
    double scale, df;
} pv__slope;

/* The prior of all parameters; intercept for those that are biases. */
typedef struct pv__pull {
    pv__slope prior, intercept;
    const bool *is_bias;  /* [params] */
    const double *centre; /* [params] */
} pv__pull;

/* ---- the loss of a step ------------------------------------------------------------------------------------------ */

/* How log-likelihoods f [rows][classes] become a loss, as src/core/loss_batch.c has it:
 *   rows        - sum data f
 *   selection   sum_n weight_n log sum_y exp(f + ratio) - sum data (f + ratio)
 *   joint       - sum data f + sum_y counts_y log q_y, whose gradient comes from the batch's own estimate of p(y|w) */
typedef enum pv__step_form { PV_STEP_ROWS, PV_STEP_SELECTION, PV_STEP_JOINT } pv__step_form;

/* What stays from step to step. The rest is for joint: the auxiliary network, log q = logsoftmax(A^T (w - o) + b). */
typedef struct pv__step_loss {
    pv__step_form form;
    int implementation; /* of the marginal's gradient: 1, 2 or 3 */
    bool linear;        /* there are A and o, which follow w (src/core/auxiliary.c) */
    double sparsity;    /* of A */
    size_t n; /* b follows what so many rows of the data were when they were last seen (src/infer/marginal_tracker.c);
                 0: b by Adam */
    const double *rho; /* [n], their weights in the marginal; copied */
} pv__step_loss;

/* What steps of joint change, there and back. */
typedef struct pv__step_state {
    double *bias;            /* [classes] */
    float *mean, *square;    /* [classes], Adam's moments of it */
    double *last;            /* [n + 2][classes]: rows, their sum, the noise; NULL where n is 0 */
    double *offset, *matrix; /* [params], [params][classes]; NULL where it is not linear */
} pv__step_state;

/* What a batch tells without its log-likelihoods. */
typedef struct pv__step_terms {
    const double *data;                /* [rows][classes] */
    const double *weight, *ratio;      /* selection: [rows], [rows][classes] */
    const double *population, *counts; /* joint: [rows], [classes] */
    const size_t *row;                 /* joint: [rows], of the data's n */
    const int32_t *stratum;            /* joint: [rows], the class that each was drawn as */
    double constant;                   /* of the value */
} pv__step_terms;

typedef struct pv__step_rates {
    bool low;       /* the gradient by the low-level module is taken */
    size_t begin;   /* parameters before it stay */
    double rate;    /* Adam's, */
    int64_t number; /* and which of its steps this is, from 1 */
    double bias_rate;
    int64_t bias_number; /* the same for b, where it is by Adam */
} pv__step_rates;

enum { PV_STEPS_AHEAD = 3 }; /* steps whose outcomes may be outstanding */

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef struct pv__matrix pv__matrix; /* rows of a table in the device's memory, in single precision */
typedef struct pv__passes pv__passes; /* a model's passes over them, in double precision */

/* Dense layers with ReLU between them. Their parameters: of the first [width[1]][1 + width[0]], biases first; of every
 * other one W [from][to], then biases [to]. */
typedef struct pv__passes_spec {
    pv__matrix *matrix;
    size_t n; /* of its rows, the first */
    int layers;
    const size_t *width; /* [layers + 1], that of the inputs first; copied */
    /* For `logistic`, with one layer of one output; copied. label NULL: not wanted. */
    const int32_t *label; /* [n], 0 or 1 */
    const double *weight; /* [n]; NULL: all 1 */
    double factor[2];     /* of each label */
    double shift;         /* added to the output */
    /* For `tied`, likewise. each NULL: not wanted. */
    const double *each;   /* [n], weights of rows */
    const double *target; /* [n], the part of them that is of label 1 */
    const double *rho;    /* [n], weights of the plug-in marginal; NULL: all 0 */
} pv__passes_spec;

/* Sums over rows of the profile's inner problem, with r = scale p1 - 1 and q = 1 + m r, as core/vector.h has them; rows
 * of weight 0 do not count. */
typedef struct pv__tied_sums {
    double weight, r, rr, rq; /* of v/q, v r/q, v r^2/q^2, v r/q^2 */
    double logs;              /* of v log q */
    double smallest;          /* q */
} pv__tied_sums;

/* The slope of a row's loss by its output: v p1 - t + e p0 p1, with e = factor rho, or of a profile factor v/q. */
typedef struct pv__tied_slope {
    bool profile;
    double factor, scale, m;
} pv__tied_slope;

/* What draws of w make of rows of two labels: log odds that are the output and the draw's shift. */
typedef struct pv__spread_spec {
    size_t draws;
    const double *w; /* [draws][1 + inputs], the bias first */
    size_t outputs;
    const double *shift; /* [outputs][draws] */
    const bool *ends;    /* [outputs], whether the ends of an interval are wanted */
    double low, high;    /* where they are among the sorted draws, counted from 0, with what is between two of them */
} pv__spread_spec;

/* Of one label: the draws' mean, its logarithm without underflow, the ends. */
typedef struct pv__spread_of_row {
    double mean, log_mean, low, high;
} pv__spread_of_row;

typedef struct pv__plugin {
    uint32_t version; /* PV_PLUGIN_VERSION, the first field for ever */
    uint32_t size;    /* of this table */
    const char *name; /* "cuda" */
    /* What device there is, or why there is none. */
    pv__plugin_code (*about)(pv__device_about *about, char *why);

    pv__plugin_code (*open)(const pv__net_spec *spec, pv__net **net, char *why);
    void (*close)(pv__net *net); /* NULL is fine */
    /* Takes over all parameters: the graph's, then the output layer's. */
    pv__plugin_code (*load)(pv__net *net, const double *w, char *why);
    /* features [images][size of the last tensor] of x [images][size of the input]. */
    pv__plugin_code (*forward)(pv__net *net, size_t images, const double *x, const pv__dropout *dropout,
                               double *features, char *why);
    /* After it: the gradient for dfeatures, kept on the device. low: of the low-level module too. */
    pv__plugin_code (*backward)(pv__net *net, const double *dfeatures, bool low, char *why);
    /* Adds the last gradient to dw, from the parameter `begin` on. */
    pv__plugin_code (*gradient)(pv__net *net, size_t begin, double *dw, char *why);

    /* loglik [n][classes] of rows as predictions see them, at most as many as the net is for. */
    pv__plugin_code (*score)(pv__net *net, const pv__rows *rows, double *loglik, char *why);
    /* Parameters, Adam's moments and the parameters that were marked, [params] each. get: NULL is not wanted. */
    pv__plugin_code (*put)(pv__net *net, const double *w, const double *mean, const double *square,
                           const double *marked, char *why);
    pv__plugin_code (*get)(pv__net *net, double *w, double *mean, double *square, double *marked, char *why);
    pv__plugin_code (*mark)(pv__net *net, char *why); /* the parameters as they are */
    /* The prior that steps take; NULL: none. */
    pv__plugin_code (*pull)(pv__net *net, const pv__pull *pull, char *why);

    /* The loss that steps take, and its state. */
    pv__plugin_code (*loss_put)(pv__net *net, const pv__step_loss *loss, const pv__step_state *state, char *why);
    pv__plugin_code (*loss_get)(pv__net *net, const pv__step_state *state, char *why);
    /* log q [classes] of the auxiliary network, by the parameters as they are. */
    pv__plugin_code (*log_q)(pv__net *net, double *log_q, char *why);
    /* Training's step, of as many rows as the net is for: forward, loss, backward, the prior's slope, Adam. It is
     * begun, and its outcome asked for later. */
    pv__plugin_code (*step)(pv__net *net, const pv__rows *rows, const pv__step_terms *terms,
                            const pv__step_rates *rates, char *why);
    /* Waits for the first step that has not been asked about: the value of its loss; joint: log q [classes] that it
     * took. */
    pv__plugin_code (*outcome)(pv__net *net, double *value, double *log_q, char *why);

    /* Images into the device's memory; the same pixels are there once, however often they are asked for. */
    pv__plugin_code (*volumes_open)(const pv__volumes_spec *spec, pv__volumes **volumes, char *why);
    void (*volumes_close)(pv__volumes *volumes);

    /* A table's rows: room for n of so many inputs (at most `inputs_most`), then x [rows][inputs] of those from `begin`
     * on, blocks of 32 whole. */
    size_t inputs_most;
    pv__plugin_code (*matrix_open)(size_t n, size_t inputs, pv__matrix **matrix, char *why);
    pv__plugin_code (*matrix_fill)(pv__matrix *matrix, size_t begin, size_t rows, const double *x, char *why);
    void (*matrix_close)(pv__matrix *matrix);
    pv__plugin_code (*passes_open)(const pv__passes_spec *spec, pv__passes **passes, char *why);
    void (*passes_close)(pv__passes *passes);
    /* The logistic loss of all rows at each of w [count][1 + inputs], the bias first, and its gradient; as
     * logistic_loss of compute.h has it. */
    pv__plugin_code (*logistic)(pv__passes *passes, size_t count, const double *w, double *value, double *dw,
                                char *why);
    /* Outputs of all rows, out [n][outputs]; the gradient dw for slopes dout of them. */
    pv__plugin_code (*outputs)(pv__passes *passes, const double *w, double *out, char *why);
    pv__plugin_code (*slopes)(pv__passes *passes, const double *w, const double *dout, double *dw, char *why);
    /* Rows of two labels that the marginal ties together. The outputs of all rows at each of w stay on the device;
     * sums [count][3] of v softplus(z) - t z, rho p0, rho p1. Then sums at some of them, which [count]; at last the
     * gradients, which use them up. */
    pv__plugin_code (*tied_forward)(pv__passes *passes, size_t count, const double *w, double *sums, char *why);
    pv__plugin_code (*tied_sums)(pv__passes *passes, size_t count, const size_t *which, const double *scale,
                                 const double *m, pv__tied_sums *sums, char *why);
    pv__plugin_code (*tied_backward)(pv__passes *passes, size_t count, const pv__tied_slope *slope, double *dw,
                                     char *why);
    /* Of the outputs at the first w: sums [count][3] of v rho, v rho^2 and v log q at each of pi [count][2], count at
     * most 64, as predict/mixture.h has them, with u = 1/(1 + exp(shift - z)). */
    pv__plugin_code (*mixed)(pv__passes *passes, size_t count, double shift, const double *pi, double *sums, char *why);
    /* Of rows from `begin` on, a multiple of 32: of [outputs][rows][2]. */
    size_t draws_most;
    pv__plugin_code (*spreads)(pv__passes *passes, const pv__spread_spec *spec, size_t begin, size_t rows,
                               pv__spread_of_row *of, char *why);
} pv__plugin;

/* The plug-in's one symbol. */
#define PV_PLUGIN_SYMBOL "pv_plugin"

#ifdef __cplusplus
}
#endif
#endif
