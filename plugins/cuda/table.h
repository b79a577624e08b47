/* plugins/cuda/table.h: a table's rows in device memory, and passes over them (table.cu, table_pass.cu, stack.cu). */
#ifndef PV_PLUGIN_TABLE_H
#define PV_PLUGIN_TABLE_H

#include "cuda.h"

enum { INPUTS_MOST = 512, WARP_COLUMNS = 64 };

struct pv__matrix {
    size_t n, tiles; /* number of rows; number of tiles of 32 rows */
    int inputs;
    float *x;               /* [tiles][inputs][32]; the last tile is padded with zeros */
    struct Filler *fillers; /* buffers of the threads that fill it; NULL afterwards */
};

struct TablePass {
    const float *x; /* [tiles][inputs][32] */
    size_t n, tiles;
    int inputs, count;    /* number of vectors w, at most as many as the kernel supports */
    const double *w;      /* [count][1 + inputs] */
    const uint8_t *label; /* for the logistic loss */
    const double *weight; /* NULL: all 1 */
    double factor[2], shift;
    double *rows; /* outputs to write, or their slopes to read: stride is the distance between rows, apart that between
                     vectors */
    size_t stride, apart;
    double *partial; /* [groups][count][2 + inputs]: value and gradient */
};

struct Stack;
struct Tied;
struct Spreads;

struct pv__passes {
    const pv__matrix *matrix;
    TablePass pass; /* arguments that are the same in every pass */
    size_t groups, outputs;
    int warps;
    cudaStream_t stream;
    uint8_t *label;
    double *weight;
    double *w, *partial, *result; /* buffers for `count` vectors [1 + inputs] and their sums [2 + inputs] */
    size_t count;
    double *rows;     /* [n][outputs], allocated on first use */
    Stack *stack;     /* layers after the first; NULL: none */
    Tied *tied;       /* rows coupled by the marginal (tied.cu); NULL: not requested */
    Spreads *spreads; /* predictions from draws (spread.cu), allocated on first use */
};

/* The first layer (table_pass.cu). table_vectors copies vectors [count][1 + inputs]; table_outputs computes their
 * outputs out [n][count] for n rows from a tile on; table_sums computes the sums over those rows for slopes dout
 * [n][count] into result. All on the stream of passes. */
pv__plugin_code table_vectors(pv__passes *passes, size_t count, const double *w, char *why);
pv__plugin_code table_outputs(pv__passes *passes, size_t tile, size_t n, size_t count, double *out, char *why);
pv__plugin_code table_sums(pv__passes *passes, size_t tile, size_t n, size_t count, double *dout, char *why);

/* The same for all rows, with outputs or slopes ordered by vector, [count][n]. */
pv__plugin_code table_outputs_by_vector(pv__passes *passes, size_t count, double *out, char *why);
pv__plugin_code table_sums_by_vector(pv__passes *passes, size_t count, double *dout, char *why);
/* Copies gradients [count][1 + inputs], and values unless value is NULL, from the results. */
pv__plugin_code table_bring(pv__passes *passes, size_t count, double *value, double *dw, char *why);

/* Rows of two labels whose losses are coupled by the marginal (tied.cu). */
pv__plugin_code tied_open(const pv__passes_spec *spec, pv__passes *passes, char *why);
void tied_close(Tied *tied);
pv__plugin_code tied_forward(pv__passes *passes, size_t count, const double *w, double *sums, char *why);
pv__plugin_code tied_sums(pv__passes *passes, size_t count, const size_t *which, const double *scale, const double *m,
                          pv__tied_sums *sums, char *why);
pv__plugin_code tied_backward(pv__passes *passes, size_t count, const pv__tied_slope *slope, double *dw, char *why);
pv__plugin_code tied_mixed(pv__passes *passes, size_t count, double shift, const double *pi, double *sums, char *why);

/* Predictions from draws (spread.cu). */
enum { DRAWS_MOST = 8192 };
void spreads_close(Spreads *spreads);
pv__plugin_code spreads_run(pv__passes *passes, const pv__spread_spec *spec, size_t begin, size_t rows,
                            pv__spread_of_row *of, char *why);

/* The layers after the first (stack.cu). */
pv__plugin_code stack_open(const pv__passes_spec *spec, pv__passes *passes, char *why);
void stack_close(Stack *stack);
pv__plugin_code stack_outputs(pv__passes *passes, const double *w, double *out, char *why);
pv__plugin_code stack_slopes(pv__passes *passes, const double *w, const double *dout, double *dw, char *why);

pv__plugin_code matrix_open(size_t n, size_t inputs, pv__matrix **matrix, char *why);
pv__plugin_code matrix_fill(pv__matrix *matrix, size_t begin, size_t rows, const double *x, char *why);
void matrix_close(pv__matrix *matrix);
pv__plugin_code passes_open(const pv__passes_spec *spec, pv__passes **passes, char *why);
void passes_close(pv__passes *passes);
pv__plugin_code passes_logistic(pv__passes *passes, size_t count, const double *w, double *value, double *dw,
                                char *why);
pv__plugin_code passes_outputs(pv__passes *passes, const double *w, double *out, char *why);
pv__plugin_code passes_slopes(pv__passes *passes, const double *w, const double *dout, double *dw, char *why);

#endif
