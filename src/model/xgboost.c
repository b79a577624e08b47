/* Fits trees by XGBoost's C library, which is loaded on demand. It receives bins (tree_bins.c) instead of values, and
 * gradients and curvatures instead of labels, and returns sums and trees: offsets, weights and losses are handled here
 * (infer/trees_fit.c).
 *
 * The trees do not depend on the number of threads or the order of rows, although the library adds gradients in double
 * precision in an unspecified order. Each gradient is rounded to a multiple of 2^-52 times a bound on the sum of all
 * (fix), so that every partial sum is exact. Bins are small whole numbers, all of which its quantile sketch keeps.
 */
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/value.h"
#include "model/trees.h"

/* One row per function: its name without XG, its arguments. All return 0 on success. */
#define FUNCTIONS(F)                                                                                                   \
    F(DMatrixCreateFromMat, (const float *data, uint64_t rows, uint64_t columns, float missing, void **matrix))        \
    F(DMatrixFree, (void *matrix))                                                                                     \
    F(BoosterCreate, (void *const *matrices, uint64_t n, void **booster))                                              \
    F(BoosterFree, (void *booster))                                                                                    \
    F(BoosterSetParam, (void *booster, const char *name, const char *value))                                           \
    F(BoosterBoostOneIter, (void *booster, void *matrix, float *gradient, float *curvature, uint64_t n))               \
    F(BoosterPredictFromDMatrix, (void *booster, void *matrix, const char *config, const uint64_t **shape,             \
                                  uint64_t *dimensions, const float **result))                                         \
    F(BoosterSaveModelToBuffer, (void *booster, const char *config, uint64_t *size, const char **bytes))

typedef struct functions {
#define FIELD(name, arguments) int(*name) arguments;
    FUNCTIONS(FIELD)
#undef FIELD
    const char *(*last_error)(void);
} functions;

struct pv__booster {
    functions f;
    const pv_model *model;
    const pv__tree_bins *bins;
    void *handle, *matrix[2]; /* matrix: indexed by pv__boosted_rows; NULL: no rows */
    size_t rows[2];
};

static const char VARIABLE[] = "PREVAIL_XGBOOST";
static const char *const files[] = {"libxgboost.so", "libxgboost.so.0"};

pv_status pv_ctx_set_xgboost(pv_ctx *ctx, const char *path) {
    char *copy = NULL;
    PV_TRY(path ? pv__strdup(ctx, path, &copy) : PV_OK);
    pv__free(ctx, ctx->root->xgboost);
    ctx->root->xgboost = copy;
    return PV_OK;
}

static void *open_library(const pv_ctx *ctx) {
    return pv__library_open(VARIABLE, files, sizeof files / sizeof *files, ctx ? ctx->root->xgboost : NULL);
}

static pv_status load(pv_ctx *ctx, functions *f) {
    void *library = open_library(ctx);
    const char *named = secure_getenv(VARIABLE);
    if (!library && (named || ctx->root->xgboost))
        return pv__fail(ctx, PV_ERR_PATH, "`model=trees` needs XGBoost's library: %s%s cannot be loaded: %s",
                        named ? "the library named by " : "", named ? VARIABLE : ctx->root->xgboost,
                        pv__show(dlerror()).text);
    if (!library)
        return pv__fail(ctx, PV_ERR_PATH,
                        "`model=trees` needs XGBoost's library, and %s was not found.\nInstall it (Debian: "
                        "libxgboost0; Python's package xgboost has it too), or name the file in %s",
                        files[0], VARIABLE);
    const struct {
        const char *name;
        void *address;
    } symbols[] = {
#define SYMBOL(name, arguments) {"XG" #name, (void *)&f->name},
        FUNCTIONS(SYMBOL){"XGBGetLastError", (void *)&f->last_error}};
#undef SYMBOL
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found)
            return pv__fail(ctx, PV_ERR_PATH,
                            "`model=trees`: this %s is too old or too new, it has no %s:\ninstall XGBoost 1.6 or later",
                            files[0], symbols[i].name);
        memcpy(symbols[i].address, &found, sizeof found);
    }
    return PV_OK;
}

pv_status pv__boosting_load(pv_ctx *ctx) {
    functions f;
    return load(ctx, &f);
}

bool pv__boosting_here(const pv_ctx *ctx) {
    return open_library(ctx) != NULL;
}

size_t pv_learners(pv_library *list, size_t room) {
    pv_library found = {.name = "XGBoost"};
    void *library = open_library(NULL), *symbol = library ? dlsym(library, "XGBoostVersion") : NULL;
    void (*version)(int *, int *, int *) = NULL;
    int part[3] = {0, 0, 0};
    memcpy((void *)&version, &symbol, sizeof symbol);
    if (version) {
        version(&part[0], &part[1], &part[2]);
        pv__format(found.version, sizeof found.version, "%d.%d.%d", part[0], part[1], part[2]);
    }
    if (room > 0)
        *list = found;
    return 1;
}

/* Fails with the first line of the library's message. */
static pv_status check(pv_ctx *ctx, const pv__booster *b, int code) {
    if (code == 0)
        return PV_OK;
    const char *why = b->f.last_error();
    const char *text = strchr(why, ']'); /* after the time and the position in its source */
    text = text ? text + 1 + strspn(text + 1, " ") : why;
    return pv__fail(ctx, PV_ERR_INTERNAL, "XGBoost failed: %.*s", (int)strcspn(text, "\n"), text);
}

static pv_status set(pv_ctx *ctx, const pv__booster *b, const char *name, double value) {
    char text[32];
    pv__format(text, sizeof text, "%.9g", value);
    return check(ctx, b, b->f.BoosterSetParam(b->handle, name, text));
}

static pv_status make_matrix(pv_ctx *ctx, pv__booster *b, const double *x, size_t n, const size_t *row, void **matrix) {
    float *code;
    size_t d = b->bins->inputs;
    PV_TRY(pv__alloc(ctx, n, d * sizeof *code, &code));
    pv__tree_bins_code(b->bins, n, row, x, code);
    pv_status status = check(ctx, b, b->f.DMatrixCreateFromMat(code, n, d, (float)NAN, matrix));
    pv__free(ctx, code);
    return status;
}

pv_status pv__booster_new(pv_ctx *ctx, const pv_model *model, const pv__tree_bins *bins, const double *x,
                          size_t n_learn, const size_t *learn, size_t n_held, const size_t *held,
                          pv__booster **booster) {
    const struct pv__trees *t = &model->trees;
    pv__booster *b;
    pv_status status;
    *booster = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *b, &b));
    b->model = model;
    b->bins = bins;
    b->rows[PV__BOOSTED_LEARN] = n_learn;
    b->rows[PV__BOOSTED_HELD] = n_held;
    PV_GOTO(done, load(ctx, &b->f));
    PV_GOTO(done, make_matrix(ctx, b, x, n_learn, learn, &b->matrix[PV__BOOSTED_LEARN]));
    if (n_held > 0)
        PV_GOTO(done, make_matrix(ctx, b, x, n_held, held, &b->matrix[PV__BOOSTED_HELD]));
    PV_GOTO(done, check(ctx, b, b->f.BoosterCreate(b->matrix, n_held > 0 ? 2 : 1, &b->handle)));
    const struct {
        const char *name;
        double value;
    } settings[] = {{"verbosity", 0},
                    {"nthread", pv_ctx_threads(ctx) > 0 ? pv_ctx_threads(ctx) : 0},
                    {"base_score", 0},
                    {"disable_default_eval_metric", 1},
                    {"max_bin", PV__TREES_BINS},
                    {"max_depth", t->depth},
                    {"eta", t->rate},
                    {"lambda", t->penalty},
                    {"min_child_weight", t->leaf},
                    {"num_class", model->classes > 2 ? model->classes : 0}};
    PV_GOTO(done, check(ctx, b, b->f.BoosterSetParam(b->handle, "tree_method", "hist")));
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        PV_GOTO(done, set(ctx, b, settings[i].name, settings[i].value));
done:
    if (status != PV_OK)
        pv__booster_free(ctx, b);
    else
        *booster = b;
    return status;
}

void pv__booster_free(pv_ctx *ctx, pv__booster *b) {
    if (!b)
        return;
    if (b->handle)
        b->f.BoosterFree(b->handle);
    for (int i = 0; i < 2; i++)
        if (b->matrix[i])
            b->f.DMatrixFree(b->matrix[i]);
    pv__free(ctx, b);
}

pv_status pv__booster_sums(pv_ctx *ctx, pv__booster *b, pv__boosted_rows rows, size_t rounds, const float **sums) {
    char config[160];
    const uint64_t *shape;
    uint64_t dimensions, count = 1;
    pv__format(config, sizeof config,
               "{\"type\": 1, \"training\": false, \"iteration_begin\": 0, \"iteration_end\": %zu, \"strict_shape\": "
               "false}",
               rounds);
    PV_TRY(
        check(ctx, b, b->f.BoosterPredictFromDMatrix(b->handle, b->matrix[rows], config, &shape, &dimensions, sums)));
    for (uint64_t i = 0; i < dimensions; i++)
        count *= shape[i];
    if (count != b->rows[rows] * pv__trees_each(b->model))
        return pv__fail(ctx, PV_ERR_INTERNAL, "XGBoost failed: it returned %zu sums for %zu rows", (size_t)count,
                        b->rows[rows]);
    return PV_OK;
}

/* Rounds to multiples of 2^-52 times a bound on the sum. */
static void fix(size_t n, float *value) {
    double total = 0;
    int exponent;
    for (size_t i = 0; i < n; i++)
        total += fabs((double)value[i]);
    if (!(total > 0) || !isfinite(total))
        return;
    (void)frexp(2 * total, &exponent); /* twice the total, so that rounding in the total itself does not matter */
    const double unit = ldexp(1, exponent - 52);
    for (size_t i = 0; i < n; i++)
        value[i] = (float)(nearbyint((double)value[i] / unit) * unit);
}

pv_status pv__booster_grow(pv_ctx *ctx, pv__booster *b, float *gradient, float *curvature) {
    size_t n = b->rows[PV__BOOSTED_LEARN] * pv__trees_each(b->model);
    fix(n, gradient);
    fix(n, curvature);
    return check(ctx, b,
                 b->f.BoosterBoostOneIter(b->handle, b->matrix[PV__BOOSTED_LEARN], gradient, curvature, (uint64_t)n));
}

/* ---- reading trees from the model in JSON ------------------------------------------------------------------------ */

static double number_at(const pv_result *tree, const char *key, size_t index) {
    const pv_result *value = pv_result_child(pv_result_get(tree, key), index);
    return pv__value_is_true(value) ? 1 : pv__value_number_of(value);
}

/* Copies node `from` of the library's tree, with its descendants, to node `to` of ours. False: not a tree of this
 * model. */
static bool put_node(const pv__booster *b, const pv_result *tree, size_t from, size_t to, int depth, double *node) {
    size_t size = pv_result_count(pv_result_get(tree, "left_children"));
    double left = number_at(tree, "left_children", from), right = number_at(tree, "right_children", from);
    double split = number_at(tree, "split_indices", from), edge = number_at(tree, "split_conditions", from);
    if (from >= size || depth > b->model->trees.depth)
        return false;
    if (left < 0) {
        node[2 * to] = -1;
        node[2 * to + 1] = (double)(float)edge;
        return isfinite(node[2 * to + 1]);
    }
    if (!(split >= 0 && split < (double)b->bins->inputs && left < (double)size && right >= 0 && right < (double)size))
        return false;
    size_t input = (size_t)split, bins = b->bins->count[input];
    double first = ceil(edge); /* the first bin that goes right */
    size_t bin = !(first > 0) ? 0 : first < (double)bins ? (size_t)first : bins;
    node[2 * to] = 2 * split + (number_at(tree, "default_left", from) == 0);
    node[2 * to + 1] = bin == bins ? DBL_MAX : b->bins->edge[input * (PV__TREES_BINS + 1) + bin];
    return put_node(b, tree, (size_t)left, 2 * to + 1, depth + 1, node) &&
           put_node(b, tree, (size_t)right, 2 * to + 2, depth + 1, node);
}

pv_status pv__booster_trees(pv_ctx *ctx, pv__booster *b, size_t rounds, double *nodes) {
    static const char config[] = "{\"format\": \"json\"}";
    size_t each = pv__trees_each(b->model), count = rounds * each, width = 2 * pv__trees_nodes(b->model);
    size_t seen[PV__TREES_BINS] = {0};
    char *text = NULL;
    const char *bytes;
    uint64_t size;
    pv_result *root = NULL;
    if (count == 0)
        return PV_OK;
    PV_TRY(check(ctx, b, b->f.BoosterSaveModelToBuffer(b->handle, config, &size, &bytes)));
    PV_TRY(pv__alloc(ctx, (size_t)size + 1, 1, &text));
    memcpy(text, bytes, (size_t)size);
    pv_status status = pv__json_parse(ctx, text, (size_t)size, &root);
    const pv_result *learner = pv_result_get(root, "learner");
    const pv_result *model = pv_result_get(pv_result_get(learner, "gradient_booster"), "model");
    const pv_result *trees = pv_result_get(model, "trees"), *label = pv_result_get(model, "tree_info");
    bool sound = pv_result_count(trees) >= count && each <= PV__TREES_BINS;
    for (size_t t = 0; status == PV_OK && sound && t < count; t++) {
        size_t own = (size_t)pv__value_integer_of(pv_result_child(label, t)); /* the label of the tree */
        sound = own < each && seen[own] < rounds &&
                put_node(b, pv_result_child(trees, t), 0, 0, 0, nodes + (seen[own] * each + own) * width);
        if (sound)
            seen[own]++;
    }
    if (status == PV_OK && !sound)
        status =
            pv__fail(ctx, PV_ERR_INTERNAL, "XGBoost failed: its trees cannot be read:\ninstall version 1.6 or later");
    pv_result_free(root);
    pv__free(ctx, text);
    return status;
}
