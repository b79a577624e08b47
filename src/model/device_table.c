/* A table's rows in a device's memory. */
#include "model/device_table.h"

/* NUMBERS_LEAST: from this size on a device pays, if the user did not ask for one */
enum { NUMBERS_LEAST = 1000000, ROWS_AT_ONCE = 1 << 20 };

bool pv__loaded_pays(const pv_ctx *ctx, size_t n, size_t inputs) {
    return pv__device_asked(ctx) || (inputs > 0 && n >= NUMBERS_LEAST / inputs);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Why a device cannot run this; NULL if it can. */
static const char *reason(const pv_ctx *ctx, const pv__plugin *plugin, const pv_model *model, const double *x) {
    if (!model->architecture->dense)
        return "the device has no kernels for this `model`";
    if (model->offset)
        return "the device does not support `offset`";
    if (!x)
        return "the table's rows are assembled from its columns, because their matrix does not fit in `memory`";
    if (plugin && (size_t)model->inputs > plugin->inputs_most)
        return "the table has more columns than the device's kernels take";
    if (ctx->root->ranks.calls.size > 1)
        return "ranks share the rows among processors";
    return NULL;
}

static pv_status fill(pv_ctx *ctx, pv__loaded *loaded, size_t inputs, pv__plugin_code *code) {
    const pv__plugin *plugin = loaded->plugin;
    *code = plugin->matrix_open(loaded->n, inputs, &loaded->matrix, loaded->why);
    for (size_t begin = 0; begin < loaded->n && *code == PV_PLUGIN_OK; begin += ROWS_AT_ONCE) {
        size_t rows = loaded->n - begin < ROWS_AT_ONCE ? loaded->n - begin : ROWS_AT_ONCE;
        pv__spill_breathe(ctx);
        PV_TRY(pv__go_on(ctx));
        *code = plugin->matrix_fill(loaded->matrix, begin, rows, loaded->x + begin * inputs, loaded->why);
    }
    return PV_OK;
}

pv_status pv__loaded_new(pv_ctx *ctx, const pv_model *model, size_t n, const double *x, bool many_passes,
                         pv__loaded **loaded) {
    *loaded = NULL;
    bool asked = pv__device_asked(ctx);
    size_t inputs = (size_t)model->inputs;
    if (!pv__loaded_pays(ctx, n, inputs) || (!asked && !many_passes))
        return PV_OK;
    const pv__plugin *plugin = pv__device_for_tables(ctx);
    const char *why = reason(ctx, plugin, model, x);
    if (why && asked)
        return pv__fail(ctx, PV_ERR_USAGE, "`device=cuda` is not available here: %s;\nleave it out", why);
    if (why && plugin)
        pv__log(ctx, PV_LOG_INFO, "the rows are processed on the processor: %s", why);
    if (why || !plugin)
        return PV_OK;
    pv__loaded *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    *made = (pv__loaded){.plugin = plugin, .x = x, .n = n};
    pv__plugin_code code;
    pv_status status = fill(ctx, made, inputs, &code);
    if (status == PV_OK && code == PV_PLUGIN_OK) {
        *loaded = made;
        return PV_OK;
    }
    if (status == PV_OK && asked)
        status = pv__device_checked(ctx, code, made->why);
    else if (status == PV_OK)
        pv__log(ctx, PV_LOG_INFO, "the rows are processed on the processor: %s", made->why);
    pv__loaded_free(ctx, made);
    return status;
}

void pv__loaded_free(pv_ctx *ctx, pv__loaded *loaded) {
    if (!loaded)
        return;
    loaded->plugin->matrix_close(loaded->matrix);
    pv__free(ctx, loaded);
}

bool pv__loaded_forgone(pv_ctx *ctx, pv_status status) {
    if (status != PV_ERR_MEMORY || pv__device_asked(ctx))
        return false;
    pv__log(ctx, PV_LOG_INFO, "the rows are processed on the processor: the device has too little memory");
    return true;
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

struct pv__loaded_passes {
    const pv__plugin *plugin;
    const pv_model *model;
    pv__passes *passes;
    size_t outputs, n;
    pv__plugin_code code;   /* result of the last call of `mixed` */
    double *dense, *ddense; /* parameters of the dense layers, and their gradient */
    char why[PV_PLUGIN_TEXT];
};

pv_status pv__loaded_passes_new(pv_ctx *ctx, const pv__loaded *loaded, const pv_model *model, size_t n,
                                const pv__logistic *loss, const pv__tied *tied, pv__loaded_passes **passes) {
    *passes = NULL;
    size_t width[PV_LAYERS_MAX + 1], room = 0;
    pv__passes_spec spec = {.matrix = loaded->matrix, .n = n, .layers = model->architecture->dense(model, width)};
    spec.width = width;
    for (int l = 0; l < spec.layers; l++)
        room += (width[l] + 1) * width[l + 1];
    if (loss) {
        spec.label = loss->label;
        spec.weight = loss->weight;
        spec.factor[0] = loss->factor[0];
        spec.factor[1] = loss->factor[1];
        spec.shift = loss->shift;
    }
    if (tied) {
        spec.each = tied->weight;
        spec.target = tied->target;
        spec.rho = tied->rho;
    }
    pv__loaded_passes *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    *made = (pv__loaded_passes){.plugin = loaded->plugin, .model = model, .outputs = width[spec.layers], .n = n};
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, 2 * room, sizeof(double), &made->dense));
    made->ddense = made->dense + room;
    PV_GOTO(fail, pv__device_checked(ctx, loaded->plugin->passes_open(&spec, &made->passes, made->why), made->why));
    *passes = made;
    return PV_OK;
fail:
    pv__loaded_passes_free(ctx, made);
    return status;
}

void pv__loaded_passes_free(pv_ctx *ctx, pv__loaded_passes *passes) {
    if (!passes)
        return;
    passes->plugin->passes_close(passes->passes);
    pv__free(ctx, passes->dense);
    pv__free(ctx, passes);
}

size_t pv__loaded_outputs(const pv__loaded_passes *passes) {
    return passes->outputs;
}

pv_status pv__loaded_logistic(pv_ctx *ctx, pv__loaded_passes *p, size_t count, const double *w, double *value,
                              double *dw) {
    return pv__device_checked(ctx, p->plugin->logistic(p->passes, count, w, value, dw, p->why), p->why);
}

pv_status pv__loaded_forward(pv_ctx *ctx, pv__loaded_passes *p, const double *w, double *out) {
    p->model->architecture->to_dense(p->model, w, p->dense);
    return pv__device_checked(ctx, p->plugin->outputs(p->passes, p->dense, out, p->why), p->why);
}

pv_status pv__loaded_backward(pv_ctx *ctx, pv__loaded_passes *p, const double *w, const double *dout, double *dw) {
    p->model->architecture->to_dense(p->model, w, p->dense);
    PV_TRY(pv__device_checked(ctx, p->plugin->slopes(p->passes, p->dense, dout, p->ddense, p->why), p->why));
    p->model->architecture->from_dense(p->model, p->ddense, dw);
    return PV_OK;
}

/* ---- two labels -------------------------------------------------------------------------------------------------- */

size_t pv__loaded_most(const pv__loaded_passes *p) {
    enum { VECTORS = 64 };
    const size_t numbers = (size_t)1 << 28, fit = numbers / (p->n ? p->n : 1);
    return fit < 1 ? 1 : fit > VECTORS ? VECTORS : fit;
}

pv_status pv__loaded_tied(pv_ctx *ctx, pv__loaded_passes *p, size_t count, const double *w, double *sums) {
    return pv__device_checked(ctx, p->plugin->tied_forward(p->passes, count, w, sums, p->why), p->why);
}

pv_status pv__loaded_tied_sums(pv_ctx *ctx, pv__loaded_passes *p, size_t count, const size_t *which,
                               const double *scale, const double *m, pv__tied_sums *sums) {
    return pv__device_checked(ctx, p->plugin->tied_sums(p->passes, count, which, scale, m, sums, p->why), p->why);
}

pv_status pv__loaded_tied_slopes(pv_ctx *ctx, pv__loaded_passes *p, size_t count, const pv__tied_slope *slope,
                                 double *dw) {
    return pv__device_checked(ctx, p->plugin->tied_backward(p->passes, count, slope, dw, p->why), p->why);
}

pv_status pv__loaded_mixed(pv_ctx *ctx, pv__loaded_passes *p, size_t count, double shift, const double *pi,
                           double *sums) {
    p->code = p->plugin->mixed(p->passes, count, shift, pi, sums, p->why);
    return pv__loaded_mixed_check(ctx, p);
}

pv_status pv__loaded_mixed_check(pv_ctx *ctx, const pv__loaded_passes *p) {
    return pv__device_checked(ctx, p->code, p->why);
}

pv_status pv__loaded_spreads(pv_ctx *ctx, pv__loaded_passes *p, const pv__spread_spec *spec, size_t begin, size_t rows,
                             pv__spread_of_row *of) {
    return pv__device_checked(ctx, p->plugin->spreads(p->passes, spec, begin, rows, of, p->why), p->why);
}
