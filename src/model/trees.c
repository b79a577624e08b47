/* trees: sums of regression trees, fitted by gradient boosting (infer/trees_fit.c).
 *
 *   z_y(x)    =  b_y + sum_t T_ty(x)         T_ty: the value of the leaf that x reaches in tree t of label y
 *   p(y|x,w)  ~  exp z_y(x)                  two labels: z_0 = b_0, one tree per round
 *
 * A tree of depth D is a complete binary tree of 2^(D+1) - 1 nodes, where the children of node i are 2 i + 1 and 2 i +
 * 2. Every node is therefore inside the tree and every path ends, so numbers from a file need no check. A node is a
 * leaf if its first number is not that of a split, or if it is at depth D.
 *
 * Parameters: b_y [classes]; for each input 1 + the input that is 1 if its cell is missing (0: none); then the trees,
 * rounds x labels, with two numbers per node: 2 j + r and an edge (rows with input j below the edge go left, missing
 * cells go right if r is 1), or -1 and the leaf's value. Any finite numbers are valid.
 */
#include "model/trees.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char NAME[] = "trees";
enum { DEPTH = 4 };
static const double RATE = 0.1, LEAF = 1, PENALTY = 1;

/* ---- spec: trees:4,200,rate=0.1 ---------------------------------------------------------------------------------- */

typedef struct field {
    const char *name;
    double least, most;
    bool whole;
} field;
enum { FIELD_DEPTH, FIELD_ROUNDS, FIELD_RATE, FIELD_LEAF, FIELD_PENALTY, FIELDS };
static const field fields[FIELDS] = {
    {"depth", 1, PV__TREES_DEPTH_MAX, true},
    {"rounds", 0, PV__TREES_ROUNDS_MAX, true},
    {"rate", 1e-3, 1, false},
    {"leaf", 0, 1e5, false},
    {"penalty", 0, 1e5, false},
};

/* Parses one of the comma-separated parts, from at to end: the index of its field and its value. */
static bool parse_part(const char *at, const char *end, size_t position, size_t *which, double *value) {
    char text[32];
    const char *equals = memchr(at, '=', (size_t)(end - at));
    size_t name = equals ? (size_t)(equals - at) : 0;
    *which = equals ? 0 : position;
    while (equals && *which < FIELDS &&
           !(strlen(fields[*which].name) == name && memcmp(fields[*which].name, at, name) == 0))
        ++*which;
    at = equals ? equals + 1 : at;
    if (*which >= (equals ? (size_t)FIELDS : (size_t)FIELD_RATE) || end == at || (size_t)(end - at) >= sizeof text)
        return false;
    memcpy(text, at, (size_t)(end - at));
    text[end - at] = '\0';
    const field *f = &fields[*which];
    return pv__parse_real(text, value) && *value >= f->least && *value <= f->most &&
           (!f->whole || *value == floor(*value));
}

static pv_status parse(pv_ctx *ctx, pv_model *model, const char *spec, bool *mine) {
    size_t length = strlen(NAME), position = 0;
    *mine = strncmp(spec, NAME, length) == 0 && (spec[length] == '\0' || spec[length] == ':');
    if (!*mine)
        return PV_OK;
    double value[FIELDS] = {DEPTH, 0, RATE, LEAF, PENALTY};
    bool given[FIELDS] = {false};
    const char *at = spec + length, *end;
    for (bool sound = true; *at; at = end) {
        size_t which = 0;
        double number = 0;
        at++;
        end = at + strcspn(at, ",");
        sound = parse_part(at, end, position++, &which, &number) && !given[which];
        if (!sound)
            return pv__fail(ctx, PV_ERR_USAGE,
                            "`model=%s`: after trees come the depth (1 to %d) and the number of rounds (at most %d), "
                            "then rate= (0.001 to 1), leaf= and penalty= (0 to 100000), as in "
                            "trees:4,200,rate=0.05:\nleave the rounds out for cross-validation to choose them",
                            spec, (int)PV__TREES_DEPTH_MAX, (int)PV__TREES_ROUNDS_MAX);
        value[which] = number;
        given[which] = true;
    }
    model->trees = (struct pv__trees){.depth = (int)value[FIELD_DEPTH],
                                      .rounds = (size_t)value[FIELD_ROUNDS],
                                      .stated = given[FIELD_ROUNDS],
                                      .rate = value[FIELD_RATE],
                                      .leaf = value[FIELD_LEAF],
                                      .penalty = value[FIELD_PENALTY]};
    model->params = pv__trees_at(model, model->trees.rounds * pv__trees_each(model));
    return PV_OK;
}

pv_status pv__trees_spec(pv_ctx *ctx, const pv_model *model, size_t rounds, char **spec) {
    enum { SIZE = 128 };
    const struct pv__trees *t = &model->trees;
    const double own[] = {t->rate, t->leaf, t->penalty}, usual[] = {RATE, LEAF, PENALTY};
    PV_TRY(pv__alloc(ctx, SIZE, 1, spec));
    size_t at = (size_t)pv__format(*spec, SIZE, "%s:%d,%zu", NAME, t->depth, rounds);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] != usual[i])
            at += (size_t)pv__format(*spec + at, SIZE - at, ",%s=%.9g", fields[FIELD_RATE + i].name, own[i]);
    return PV_OK;
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

static size_t work_size(const pv_model *model, size_t rows) {
    (void)model, (void)rows;
    return 1;
}

static bool is_missing(const double *absent, const double *x, size_t input, double inputs) {
    double of = absent[input];
    return of >= 1 && of <= inputs && x[(size_t)of - 1] > 0.5;
}

static double leaf_of(const pv_model *model, const double *absent, const double *node, const double *x) {
    const double inputs = model->inputs;
    size_t i = 0;
    for (int depth = 0; depth < model->trees.depth; depth++) {
        double code = node[2 * i];
        if (!(code >= 0 && code < 2 * inputs))
            break;
        size_t split = (size_t)code, input = split / 2;
        bool right = is_missing(absent, x, input, inputs) ? split % 2 == 1 : !(x[input] < node[2 * i + 1]);
        i = 2 * i + 1 + right;
    }
    return node[2 * i + 1];
}

static void forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                    double *loglik) {
    (void)work;
    size_t k = (size_t)model->classes, d = (size_t)model->inputs, each = pv__trees_each(model);
    const double *absent = w + pv__trees_missing_at(model);
    for (size_t i = 0; i < n * k; i++)
        loglik[i] = w[i % k];
    for (size_t tree = 0; tree < model->trees.rounds * each; tree++) {
        const double *node = w + pv__trees_at(model, tree);
        size_t label = each == 1 ? 1 : tree % each;
        for (size_t i = 0; i < n; i++)
            loglik[i * k + label] += leaf_of(model, absent, node, x + i * d);
    }
    pv__log_softmax_rows(n, k, loglik, loglik);
}

/* Trees are fitted one by one, so there is no gradient. */
static void backward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                     const double *loglik, const double *dloglik, double *dw) {
    (void)work, (void)w, (void)n, (void)x, (void)loglik, (void)dloglik;
    for (size_t i = 0; i < model->params; i++)
        dw[i] = (double)NAN;
}

static bool is_bias(const pv_model *model, size_t parameter) {
    return parameter < (size_t)model->classes;
}

static void start(const pv_model *model, uint64_t seed, double *w) {
    (void)seed;
    memset(w, 0, model->params * sizeof *w);
}

static double *output_bias(const pv_model *model, double *w, size_t *stride) {
    (void)model;
    *stride = 1;
    return w;
}

/* ---- conversion to steps ----------------------------------------------------------------------------------------- */

static void describe_node(const pv_model *model, const double *absent, const double *node, double *to) {
    const double inputs = model->inputs;
    to[PV__NODE_INPUT] = to[PV__NODE_ABSENT] = -1;
    to[PV__NODE_VALUE] = node[1];
    if (!(node[0] >= 0 && node[0] < 2 * inputs))
        return;
    size_t split = (size_t)node[0], input = split / 2;
    to[PV__NODE_INPUT] = (double)input;
    to[PV__NODE_RIGHT] = (double)(split % 2);
    if (absent[input] >= 1 && absent[input] <= inputs)
        to[PV__NODE_ABSENT] = (double)((size_t)absent[input] - 1);
}

static int describe(const pv_model *model, pv__steps *steps, const pv__parameters *p, int x) {
    size_t k = (size_t)model->classes, each = pv__trees_each(model), trees = model->trees.rounds * each,
           nodes = pv__trees_nodes(model);
    const double *absent = p->w + pv__trees_missing_at(model);
    double *node = NULL;
    int bias = pv__steps_parameters(steps, p, 0, 1, k);
    if (trees == 0 || model->inputs == 0)
        return pv__steps_log_softmax(steps, bias);
    if (steps->status == PV_OK)
        steps->status = pv__alloc(steps->ctx, trees * nodes, PV__NODE_NUMBERS * sizeof *node, &node);
    for (size_t t = 0; node && t < trees; t++)
        for (size_t i = 0; i < nodes; i++) {
            double *to = node + (t * nodes + i) * PV__NODE_NUMBERS;
            describe_node(model, absent, p->w + pv__trees_at(model, t) + 2 * i, to);
            if (2 * i + 1 >= nodes) /* the last level */
                to[PV__NODE_INPUT] = -1;
        }
    int sums = node ? pv__steps_trees(steps, x, trees, model->trees.depth, each, node) : -1;
    pv__free(steps->ctx, node);
    if (each == 1) {
        const int both[] = {pv__steps_two(steps, PV__STEP_MULTIPLY, sums, pv__steps_number(steps, 0)), sums};
        sums = pv__steps_concat(steps, both, 2);
    }
    return pv__steps_log_softmax(steps, pv__steps_two(steps, PV__STEP_ADD, sums, bias));
}

const pv__architecture pv__trees = {.parse = parse,
                                    .work_size = work_size,
                                    .is_bias = is_bias,
                                    .start = start,
                                    .output_bias = output_bias,
                                    .forward = forward,
                                    .backward = backward,
                                    .of_trees = true,
                                    .describe = describe};
