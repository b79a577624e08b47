/* src/compute/plugin.h: the interface of a device plug-in: one table, `pv_plugin`, with a version.
 *
 * For C and C++. A plug-in does not link with this library, nor this library with it: everything shared is declared
 * here. Functions return a pv__plugin_code and describe a failure in `why` [PV_PLUGIN_TEXT]. Calls for one net, or one
 * pv__passes, are never concurrent; calls for different ones may come from different threads.
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
    PV_PLUGIN_MEMORY, /* not enough device memory */
    PV_PLUGIN_UNFIT,  /* the input does not fit the device's precision */
    PV_PLUGIN_FAILED  /* anything else, such as a missing driver or a lost device */
} pv__plugin_code;

typedef struct pv__device_about {
    char device[128];    /* "NVIDIA H200" */
    char libraries[128]; /* "CUDA 13.0, cuDNN 9.14.0": versions in use */
    bool tables_only;    /* networks are not supported; `why` says why */
} pv__device_about;

typedef struct pv__net pv__net;         /* a network on the device; defined by the plug-in */
typedef struct pv__volumes pv__volumes; /* images in device memory */

typedef struct pv__net_spec {
    const pv__graph *graph; /* copied */
    size_t images;          /* capacity in views */
    pv_precision precision;
    size_t views,
        classes;   /* rows consist of this many views, pooled; classes 0: the graph alone, without output layer */
    int pool;      /* 0 max, 1 min, 2 mean */
    size_t params; /* with classes: number of parameters of graph and output layer, for the plug-in to verify */
} pv__net_spec;

typedef enum pv__pixel_type { PV_PIXEL_U8, PV_PIXEL_I16, PV_PIXEL_F32 } pv__pixel_type;

typedef struct pv__volumes_spec {
    const void *pixels; /* [count][planes][height][width], in native byte order */
    pv__pixel_type type;
    size_t count, planes, height, width;
} pv__volumes_spec;

/* The plane of a view in a volume: pixel (i, j) is at the centre + shift + (i - (S-1)/2) h a + (j - (S-1)/2) h b, h =
 * field/S; axes in the order z, y, x. */
typedef struct pv__plane {
    double a[3], b[3];
    double shift[3];
} pv__plane;

typedef struct pv__cut {
    size_t size;         /* S */
    double field;        /* side of a view, in the unit of the spacing */
    double low, high;    /* values are clamped to this range */
    double mean, spread; /* then standardised */
} pv__cut;

/* The rows of a forward pass: pixels x, or planes to cut out of volumes. */
typedef struct pv__rows {
    size_t n;
    const double *x; /* [n][views][size][size]; NULL: cut from volumes */
    const pv__volumes *volumes;
    pv__cut cut;
    const size_t *volume;   /* [n], index of the volume */
    const double *spacing;  /* [n][3] */
    const pv__plane *plane; /* [n][views] */
    pv__dropout dropout;    /* for a training step */
} pv__rows;

/* The prior of one parameter: 0 none, 1 normal, 2 student, 3 laplace, as in prevail/infer.h. */
typedef struct pv__slope {
    int kind;
    double scale, df;
} pv__slope;

/* The prior of all parameters; `intercept` is for biases. */
typedef struct pv__pull {
    pv__slope prior, intercept;
    const bool *is_bias;  /* [params] */
    const double *centre; /* [params] */
} pv__pull;

/* ---- loss of a step ---------------------------------------------------------------------------------------------- */

/* How log-likelihoods f [rows][classes] determine the loss, as in src/core/loss_batch.c:
 *   rows        - sum data f
 *   selection   sum_n weight_n log sum_y exp(f + ratio) - sum data (f + ratio)
 *   joint       - sum data f + sum_y counts_y log q_y, whose gradient uses the batch's own estimate of p(y|w) */
typedef enum pv__step_form { PV_STEP_ROWS, PV_STEP_SELECTION, PV_STEP_JOINT } pv__step_form;

/* Settings that stay the same in all steps. Those after `form` are for joint, with its auxiliary network log q =
 * logsoftmax(A^T (w - o) + b). */
typedef struct pv__step_loss {
    pv__step_form form;
    int implementation; /* of the marginal's gradient: 1, 2 or 3 */
    bool linear;        /* A and o exist and track w (src/core/auxiliary.c) */
    double sparsity;    /* of the prior of A */
    size_t n; /* b tracks the last known values of this many rows (src/infer/marginal_tracker.c); 0: b is trained by
                 Adam */
    const double *rho; /* [n], weights of the rows in the marginal; copied */
} pv__step_loss;

/* State that steps of joint change, for upload and download. */
typedef struct pv__step_state {
    double *bias;            /* [classes] */
    float *mean, *square;    /* [classes], Adam's moments of the bias */
    double *last;            /* [n + 2][classes]: rows, their sum, the noise; NULL if n is 0 */
    double *offset, *matrix; /* [params], [params][classes]; NULL if not linear */
} pv__step_state;

/* The part of a batch's loss that does not depend on log-likelihoods. */
typedef struct pv__step_terms {
    const double *data;                /* [rows][classes] */
    const double *weight, *ratio;      /* selection: [rows], [rows][classes] */
    const double *population, *counts; /* joint: [rows], [classes] */
    const size_t *row;                 /* joint: [rows], index among the data's n rows */
    const int32_t *stratum;            /* joint: [rows], the class each row was drawn from */
    double constant;                   /* constant part of the value */
} pv__step_terms;

typedef struct pv__step_rates {
    bool low;       /* computes the gradient of the low-level module */
    size_t begin;   /* parameters before this one stay fixed */
    double rate;    /* Adam's rate */
    int64_t number; /* number of this step, from 1 */
    double bias_rate;
    int64_t bias_number; /* the same for b, if it is trained by Adam */
} pv__step_rates;

enum { PV_STEPS_AHEAD = 3 }; /* steps in progress whose outcomes have not been read */

/* ---- tables ------------------------------------------------------------------------------------------------------ */

typedef struct pv__matrix pv__matrix; /* rows of a table in device memory, in single precision */
typedef struct pv__passes pv__passes; /* a model's passes over them, in double precision */

/* Dense layers with ReLU in between. Parameters: for the first layer [width[1]][1 + width[0]], biases first; for each
 * other one W [from][to], then biases [to]. */
typedef struct pv__passes_spec {
    pv__matrix *matrix;
    size_t n; /* uses the first n rows of the matrix */
    int layers;
    const size_t *width; /* [layers + 1], beginning with the inputs; copied */
    /* For `logistic`, with one layer of one output; copied. label NULL: not needed. */
    const int32_t *label; /* [n], 0 or 1 */
    const double *weight; /* [n]; NULL: all 1 */
    double factor[2];     /* per label */
    double shift;         /* added to the output */
    /* For `tied`, with one layer of one output; copied. each NULL: not needed. */
    const double *each;   /* [n], weights of rows */
    const double *target; /* [n], the part of the weight that belongs to label 1 */
    const double *rho;    /* [n], weights of the plug-in marginal; NULL: all 0 */
} pv__passes_spec;

/* Sums over rows for the profile's inner problem, with r = scale p1 - 1 and q = 1 + m r, as in core/vector.h; rows of
 * weight 0 are ignored. */
typedef struct pv__tied_sums {
    double weight, r, rr, rq; /* sums of v/q, v r/q, v r^2/q^2, v r/q^2 */
    double logs;              /* sum of v log q */
    double smallest;          /* minimum of q */
} pv__tied_sums;

/* The derivative of a row's loss with respect to its output: v p1 - t + e p0 p1, with e = factor rho, or for a profile
 * factor v/q. */
typedef struct pv__tied_slope {
    bool profile;
    double factor, scale, m;
} pv__tied_slope;

/* Predictions over draws of w for rows of two labels: the log odds are the output plus the draw's shift. */
typedef struct pv__spread_spec {
    size_t draws;
    const double *w; /* [draws][1 + inputs], the bias first */
    size_t outputs;
    const double *shift; /* [outputs][draws] */
    const bool *ends;    /* [outputs], whether interval ends are needed */
    double low, high;    /* positions of the ends among the sorted draws, counted from 0; fractions interpolate */
} pv__spread_spec;

/* For one label: the mean over draws, its logarithm without underflow, the interval ends. */
typedef struct pv__spread_of_row {
    double mean, log_mean, low, high;
} pv__spread_of_row;

typedef struct pv__plugin {
    uint32_t version; /* PV_PLUGIN_VERSION; always the first field */
    uint32_t size;    /* sizeof this table */
    const char *name; /* "cuda" */
    /* Describes the device, or says why there is none. */
    pv__plugin_code (*about)(pv__device_about *about, char *why);

    pv__plugin_code (*open)(const pv__net_spec *spec, pv__net **net, char *why);
    void (*close)(pv__net *net); /* NULL is fine */
    /* Uploads all parameters: the graph's, then the output layer's. */
    pv__plugin_code (*load)(pv__net *net, const double *w, char *why);
    /* features [images][size of the last tensor] from x [images][size of the input]. */
    pv__plugin_code (*forward)(pv__net *net, size_t images, const double *x, const pv__dropout *dropout,
                               double *features, char *why);
    /* After forward: computes the gradient for dfeatures, which stays on the device. low: also for the low-level
     * module. */
    pv__plugin_code (*backward)(pv__net *net, const double *dfeatures, bool low, char *why);
    /* Adds the last gradient to dw, from parameter `begin` on. */
    pv__plugin_code (*gradient)(pv__net *net, size_t begin, double *dw, char *why);

    /* loglik [n][classes] of rows, without dropout; n at most the net's capacity. */
    pv__plugin_code (*score)(pv__net *net, const pv__rows *rows, double *loglik, char *why);
    /* Upload and download parameters, Adam's moments and the marked parameters, [params] each. get: NULL if not
     * wanted. */
    pv__plugin_code (*put)(pv__net *net, const double *w, const double *mean, const double *square,
                           const double *marked, char *why);
    pv__plugin_code (*get)(pv__net *net, double *w, double *mean, double *square, double *marked, char *why);
    pv__plugin_code (*mark)(pv__net *net, char *why); /* marks the current parameters */
    /* The prior used by steps; NULL: none. */
    pv__plugin_code (*pull)(pv__net *net, const pv__pull *pull, char *why);

    /* The loss used by steps, and its state. */
    pv__plugin_code (*loss_put)(pv__net *net, const pv__step_loss *loss, const pv__step_state *state, char *why);
    pv__plugin_code (*loss_get)(pv__net *net, const pv__step_state *state, char *why);
    /* log q [classes] of the auxiliary network, with the current parameters. */
    pv__plugin_code (*log_q)(pv__net *net, double *log_q, char *why);
    /* Starts a training step with as many rows as the net is for: forward, loss, backward, gradient of the prior, Adam.
     * Its result is read later. */
    pv__plugin_code (*step)(pv__net *net, const pv__rows *rows, const pv__step_terms *terms,
                            const pv__step_rates *rates, char *why);
    /* Waits for the oldest step whose result has not been read: the value of its loss; for joint also the log q
     * [classes] that it used. */
    pv__plugin_code (*outcome)(pv__net *net, double *value, double *log_q, char *why);

    /* Uploads images to device memory; the same pixels are stored only once, however often they are opened. */
    pv__plugin_code (*volumes_open)(const pv__volumes_spec *spec, pv__volumes **volumes, char *why);
    void (*volumes_close)(pv__volumes *volumes);

    /* The rows of a table: allocates n rows of this many inputs (at most `inputs_most`), then copies x [rows][inputs]
     * to the rows from `begin` on, in whole blocks of 32. */
    size_t inputs_most;
    pv__plugin_code (*matrix_open)(size_t n, size_t inputs, pv__matrix **matrix, char *why);
    pv__plugin_code (*matrix_fill)(pv__matrix *matrix, size_t begin, size_t rows, const double *x, char *why);
    void (*matrix_close)(pv__matrix *matrix);
    pv__plugin_code (*passes_open)(const pv__passes_spec *spec, pv__passes **passes, char *why);
    void (*passes_close)(pv__passes *passes);
    /* The logistic loss of all rows at each w [count][1 + inputs], the bias first, and its gradient; as logistic_loss
     * in compute.h. */
    pv__plugin_code (*logistic)(pv__passes *passes, size_t count, const double *w, double *value, double *dw,
                                char *why);
    /* Outputs of all rows, out [n][outputs]; and the gradient dw for dout, the derivatives with respect to them. */
    pv__plugin_code (*outputs)(pv__passes *passes, const double *w, double *out, char *why);
    pv__plugin_code (*slopes)(pv__passes *passes, const double *w, const double *dout, double *dw, char *why);
    /* Rows of two labels coupled by the marginal. tied_forward keeps the outputs of all rows at each w on the device
     * and returns sums [count][3] of v softplus(z) - t z, rho p0, rho p1. tied_sums computes further sums at the w in
     * which [count]. tied_backward computes the gradients and overwrites the outputs. */
    pv__plugin_code (*tied_forward)(pv__passes *passes, size_t count, const double *w, double *sums, char *why);
    pv__plugin_code (*tied_sums)(pv__passes *passes, size_t count, const size_t *which, const double *scale,
                                 const double *m, pv__tied_sums *sums, char *why);
    pv__plugin_code (*tied_backward)(pv__passes *passes, size_t count, const pv__tied_slope *slope, double *dw,
                                     char *why);
    /* From the outputs at the first w: sums [count][3] of v rho, v rho^2 and v log q at each pi [count][2], count at
     * most 64, as in predict/mixture.h, with u = 1/(1 + exp(shift - z)). */
    pv__plugin_code (*mixed)(pv__passes *passes, size_t count, double shift, const double *pi, double *sums, char *why);
    /* For rows from `begin` on, a multiple of 32: of [outputs][rows][2]. */
    size_t draws_most;
    pv__plugin_code (*spreads)(pv__passes *passes, const pv__spread_spec *spec, size_t begin, size_t rows,
                               pv__spread_of_row *of, char *why);
} pv__plugin;

/* The only symbol that a plug-in exports. */
#define PV_PLUGIN_SYMBOL "pv_plugin"

#ifdef __cplusplus
}
#endif
#endif
