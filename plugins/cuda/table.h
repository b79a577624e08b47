/* plugins/cuda/table.h: a table's rows in the device's memory, and passes over them (table.cu, table_pass.cu,
 * stack.cu). */
#ifndef PV_PLUGIN_TABLE_H
#define PV_PLUGIN_TABLE_H

#include "cuda.h"

enum { INPUTS_MOST = 512, WARP_COLUMNS = 64 };

struct pv__matrix {
    size_t n, tiles; /* rows; of 32 rows each */
    int inputs;
    float *x;               /* [tiles][inputs][32]; the last tile ends in zeros */
    struct Filler *fillers; /* threads' memory, while it is filled */
};

struct TablePass {
    const float *x; /* [tiles][inputs][32] */
    size_t n, tiles;
    int inputs, count;    /* vectors w, at most as many as the kernel is for */
    const double *w;      /* [count][1 + inputs] */
    const uint8_t *label; /* the logistic loss's */
    const double *weight; /* NULL: all 1 */
    double factor[2], shift;
    double
        *rows; /* outputs that are written, or slopes of them that are read: of a row, then of a vector, so far apart */
    size_t stride, apart;
    double *partial; /* [groups][count][2 + inputs]: value, and the gradient */
};

struct Stack;
struct Tied;
struct Spreads;

struct pv__passes {
    const pv__matrix *matrix;
    TablePass pass; /* what does not change from one to the next */
    size_t groups, outputs;
    int warps;
    cudaStream_t stream;
    uint8_t *label;
    double *weight;
    double *w, *partial, *result; /* room for `count` vectors: [1 + inputs], and sums [2 + inputs] */
    size_t count;
    double *rows;     /* [n][outputs], made when it is asked for */
    Stack *stack;     /* layers after the first; NULL: none */
    Tied *tied;       /* rows that the marginal ties together (tied.cu); NULL: not wanted */
    Spreads *spreads; /* of draws (spread.cu), made when they are asked for */
};

/* The first layer (table_pass.cu): its vectors [count][1 + inputs] into place; their outputs out [n][count] of n rows
 * from a tile on; sums over those rows into result, for slopes dout [n][count]. All on the passes' stream. */
pv__plugin_code table_vectors(pv__passes *passes, size_t count, const double *w, char *why);
pv__plugin_code table_outputs(pv__passes *passes, size_t tile, size_t n, size_t count, double *out, char *why);
pv__plugin_code table_sums(pv__passes *passes, size_t tile, size_t n, size_t count, double *dout, char *why);

/* The same of all rows, with the vectors' numbers [count][n] one after the other. */
pv__plugin_code table_outputs_by_vector(pv__passes *passes, size_t count, double *out, char *why);
pv__plugin_code table_sums_by_vector(pv__passes *passes, size_t count, double *dout, char *why);
/* Gradients [count][1 + inputs], and values where they are wanted, out of the results. */
pv__plugin_code table_bring(pv__passes *passes, size_t count, double *value, double *dw, char *why);

/* Rows of two labels that the marginal ties together (tied.cu). */
pv__plugin_code tied_open(const pv__passes_spec *spec, pv__passes *passes, char *why);
void tied_close(Tied *tied);
pv__plugin_code tied_forward(pv__passes *passes, size_t count, const double *w, double *sums, char *why);
pv__plugin_code tied_sums(pv__passes *passes, size_t count, const size_t *which, const double *scale, const double *m,
                          pv__tied_sums *sums, char *why);
pv__plugin_code tied_backward(pv__passes *passes, size_t count, const pv__tied_slope *slope, double *dw, char *why);
pv__plugin_code tied_mixed(pv__passes *passes, size_t count, double shift, const double *pi, double *sums, char *why);

/* What draws make of rows (spread.cu). */
enum { DRAWS_MOST = 8192 };
void spreads_close(Spreads *spreads);
pv__plugin_code spreads_run(pv__passes *passes, const pv__spread_spec *spec, size_t begin, size_t rows,
                            pv__spread_of_row *of, char *why);

/* Those after it (stack.cu). */
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
