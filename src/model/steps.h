/* src/model/steps.h: a model's computation for one row as a list of steps, for translation into other languages
 * (src/export). An architecture provides it in `describe` (model.h).
 *
 * A step computes a row of `width` numbers from earlier steps. If a step combines two others, one may have width 1,
 * which is then repeated for all columns. A step that uses parameters of a posterior is `drawn`: it has one row per
 * draw, until PV__STEP_MEAN averages them. 1 means true and 0 false; NaN means missing. The first failure of a builder
 * is kept in `status`, and later calls do nothing.
 */
#ifndef PV_SRC_STEPS_H
#define PV_SRC_STEPS_H

#include "base/base.h"
#include "compute/nodes.h"

typedef enum pv__step_kind {
    /* inputs; from: none, or numbers of inputs */
    PV__STEP_NUMBERS, /* cells of the inputs `from`, NaN if missing */
    PV__STEP_PLACE,   /* index of an input's cell among its levels: `levels` if it is missing, levels + 1 for an unknown
                         value */
    PV__STEP_PIXELS,  /* all views of the row's image */
    PV__STEP_PREVALENCE, /* of the labels; given with the rows, the same for all */
    PV__STEP_CONSTANT,   /* value [rows][width], [draws] times if drawn */
    /* with one operand */
    PV__STEP_EXP,
    PV__STEP_LOG, /* -infinity for 0, NaN for negative numbers */
    PV__STEP_SQRT,
    PV__STEP_ABS,
    PV__STEP_RELU,
    PV__STEP_ERFC,
    PV__STEP_ABSENT, /* whether it is NaN */
    PV__STEP_SUM,    /* over the columns */
    PV__STEP_TOP,    /* the maximum over the columns */
    PV__STEP_SLICE,  /* width columns from `first` on */
    PV__STEP_MEAN,   /* over the draws */
    /* with two operands */
    PV__STEP_ADD,
    PV__STEP_SUBTRACT,
    PV__STEP_MULTIPLY,
    PV__STEP_DIVIDE,
    PV__STEP_MAX,
    PV__STEP_MIN,
    PV__STEP_AT_MOST, /* a <= b */
    PV__STEP_MATMUL,  /* row vector a [width of a] times the matrix b */
    PV__STEP_LOOKUP,  /* the row of the matrix b whose index is a */
    PV__STEP_TREES,   /* sums of the trees b over columns of a; tree t adds to column t modulo width */
    /* with three operands: the second where the first is 1, else the third */
    PV__STEP_SELECT,
    /* with any number of operands */
    PV__STEP_CONCAT,
    /* for views of an image: planes of channels in single precision */
    PV__STEP_CONV, /* relu(b * a + c) */
    PV__STEP_MAXPOOL,
    PV__STEP_CHANNELS, /* concatenates the channels of several operands */
    PV__STEP_VIEWS,    /* over the views: maximum, minimum or mean (`first`: 0, 1, 2) */
    PV__STEP_KINDS
} pv__step_kind;

/* A node of complete binary trees with `first` levels of splits. The trees follow one another, each with the root first
 * and the children of node i at 2 i + 1 and 2 i + 2. A row goes right if column `input` is not below the value; if
 * column `absent` is above 1/2, it goes right if PV__NODE_RIGHT is 1. input -1: a leaf with that value; absent -1: no
 * such column. */
enum { PV__NODE_INPUT, PV__NODE_VALUE, PV__NODE_ABSENT, PV__NODE_RIGHT, PV__NODE_NUMBERS };

typedef struct pv__step {
    pv__step_kind kind;
    int *from, inputs; /* earlier steps; for NUMBERS and PLACE, numbers of inputs */
    size_t rows, width;
    bool drawn;
    double *value;
    size_t first;
    pv__node node; /* CONV, MAXPOOL, CHANNELS: kernel, stride, padding, and the output shape */
} pv__step;

/* An input column, or the views of an image. */
typedef struct pv__step_input {
    char *name;
    bool text;      /* cells are texts; otherwise numbers */
    char **level;   /* [levels], for a categorical column; NULL: a number column */
    double *number; /* [levels], the same as numbers if cells are numbers */
    size_t levels;
} pv__step_input;

typedef struct pv__steps {
    pv_ctx *ctx;
    pv_status status;
    pv__step *step;
    int count, room;
    pv__step_input *input;
    int inputs, inputs_room;
    char **absent; /* [absents], texts that mean a missing cell */
    size_t absents;
    size_t draws;       /* number of draws of drawn steps; 0: none are drawn */
    size_t views, size; /* of the image; 0: no image */
} pv__steps;

void pv__steps_clear(pv__steps *s);

/* The parameters of a model in w, of which the last `dims` also have draws [draws][dims]. */
typedef struct pv__parameters {
    const double *w, *draws;
    size_t count, draw_count, dims;
} pv__parameters;
/* The parameters of a part of a model without draws, beginning at `first`. */
pv__parameters pv__parameters_from(const pv__parameters *p, size_t first, size_t count);
bool pv__parameters_drawn(const pv__parameters *p, size_t at);
double pv__parameter(const pv__parameters *p, size_t draw, size_t at);

/* These append a step and return its index; negative on failure. pv__steps_input returns the index of the input. */
int pv__steps_input(pv__steps *s, const char *name, char *const *level, size_t levels);
int pv__steps_numbers(pv__steps *s, const int *input, int n);
int pv__steps_place(pv__steps *s, int input);
int pv__steps_pixels(pv__steps *s, size_t views, size_t size);
int pv__steps_prevalence(pv__steps *s, size_t width);
/* value [rows][width] is copied. */
int pv__steps_matrix(pv__steps *s, size_t rows, size_t width, const double *value);
int pv__steps_number(pv__steps *s, double value);
/* value [draws][rows][width] */
int pv__steps_drawn(pv__steps *s, size_t draws, size_t rows, size_t width, const double *value);
/* The parameters from `first` on, as rows. */
int pv__steps_parameters(pv__steps *s, const pv__parameters *p, size_t first, size_t rows, size_t width);
/* The same from any positions: place [rows][width]. */
enum { PV__ZERO = -1, PV__ONE = -2 }; /* places that stand for constants */
int pv__steps_gather(pv__steps *s, const pv__parameters *p, size_t rows, size_t width, const ptrdiff_t *place);
int pv__steps_one(pv__steps *s, pv__step_kind kind, int a);
int pv__steps_two(pv__steps *s, pv__step_kind kind, int a, int b);
/* node [trees][2^(levels + 1) - 1][PV__NODE_NUMBERS] */
int pv__steps_trees(pv__steps *s, int x, size_t trees, int levels, size_t sums, const double *node);
int pv__steps_select(pv__steps *s, int condition, int yes, int no);
int pv__steps_slice(pv__steps *s, int a, size_t first, size_t width);
int pv__steps_concat(pv__steps *s, const int *part, int n);
int pv__steps_image(pv__steps *s, pv__step_kind kind, const int *from, int n, const pv__node *node);
int pv__steps_views(pv__steps *s, int a, size_t features, size_t how);

/* Removes the steps that step `last` does not need; its number changes. */
void pv__steps_prune(pv__steps *s, int *last);
/* When a step is computed: before the draws, once per draw, or after them. */
typedef enum pv__step_phase { PV__BEFORE_DRAWS, PV__EACH_DRAW, PV__AFTER_DRAWS } pv__step_phase;
PV_MUST_USE pv_status pv__steps_phases(const pv__steps *s, pv__step_phase **phase); /* freed by the caller */

/* Log-softmax of logits a. */
int pv__steps_log_softmax(pv__steps *s, int a);
/* log 1/(1 + exp(-a)) */
int pv__steps_log_sigma(pv__steps *s, int a);

#endif
