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

enum { PV_PLUGIN_VERSION = 4, PV_PLUGIN_TEXT = 256 };

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
    pv__dropout dropout;    /* not on: of a prediction, after which there is no backward */
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

/* A step of the linear auxiliary network, log q = A^T (w - o) + b, of which A and o are on the device: A moves by step
 * [classes] times w - o, then towards zero by the threshold, and o by gain times w - o. */
typedef struct pv__follow {
    const double *step;
    double threshold, gain;
} pv__follow;

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

    /* Training with everything on the device. loglik [n][classes] of rows, at most as many as the net is for (in
     * training all of them); then the gradient for dloglik. */
    pv__plugin_code (*rows_forward)(pv__net *net, const pv__rows *rows, double *loglik, char *why);
    pv__plugin_code (*rows_backward)(pv__net *net, const double *dloglik, bool low, char *why);
    /* Parameters, Adam's moments and the parameters that were marked, [params] each. get: NULL is not wanted. */
    pv__plugin_code (*put)(pv__net *net, const double *w, const double *mean, const double *square,
                           const double *marked, char *why);
    pv__plugin_code (*get)(pv__net *net, double *w, double *mean, double *square, double *marked, char *why);
    pv__plugin_code (*mark)(pv__net *net, char *why); /* the parameters as they are */
    /* The prior that learn takes; NULL: none. */
    pv__plugin_code (*pull)(pv__net *net, const pv__pull *pull, char *why);
    /* The prior's slope and Adam's step number `step`, from 1, by the last gradient; parameters before `begin` stay.
     * follow, NULL: none, is taken before, at the parameters that the rows saw. */
    pv__plugin_code (*learn)(pv__net *net, size_t begin, double rate, int64_t step, const pv__follow *follow,
                             char *why);

    /* The linear auxiliary network: o [params] and A [params][classes], there and back. */
    pv__plugin_code (*auxiliary_put)(pv__net *net, const double *offset, const double *matrix, char *why);
    pv__plugin_code (*auxiliary_get)(pv__net *net, double *offset, double *matrix, char *why);
    /* sums [2 classes + 1]: A^T (w - o) with the parameters as they are; what of it the last step of A and o took away,
     * 0 before there is one; |w - o|^2. */
    pv__plugin_code (*auxiliary_sums)(pv__net *net, double *sums, char *why);

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
