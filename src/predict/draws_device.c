/* Predictions over posterior draws with the rows on a device, for two labels and a model with coefficients, whose draws
 * differ only in the log odds. Rows are loaded block by block, and each block is used for all draws and populations.
 * What the device does not support (weights of draws, strata, label counts) runs on the processor. */
#include <math.h>

#include "model/device_table.h"
#include "predict/predict.h"

enum { BLOCK_ROWS = 1 << 18 };

/* rows times draws above which starting a device pays, if the user did not ask for one */
static const double least = 2e7;

bool pv__draws_fit(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data) {
    size_t draws = c->posterior->count;
    bool fits = c->schema->classes == 2 && pv_model_has_coefficients(c->model) && !c->model->offset && !data->images &&
                draws > 0 && data->rows > 0;
    if (!fits || !(pv__device_asked(ctx) || (double)data->rows * (double)draws >= least))
        return false;
    const pv__plugin *plugin = pv__device_for_tables(ctx);
    return plugin && (size_t)data->features <= plugin->inputs_most && draws <= plugin->draws_most;
}

static bool can_go(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, const double *weight,
                   const pv__draws_output *output, size_t outputs) {
    bool fits = !weight && outputs > 0;
    for (size_t o = 0; o < outputs; o++)
        fits = fits && !output[o].given && output[o].to.strata <= 1;
    return fits && pv__draws_fit(ctx, c, data);
}

/* The shift that converts each draw's log odds to an output's population, [outputs][draws]. */
static void find_shifts(const pv_classifier *c, const pv__draws_output *output, size_t outputs, double *shift) {
    size_t draws = c->posterior->count;
    for (size_t o = 0; o < outputs; o++)
        for (size_t s = 0; output[o].to.prevalence && s < draws; s++) {
            const double *to = output[o].to.prevalence + s * output[o].stride, *from = c->draw_log_marginal + 2 * s;
            shift[o * draws + s] = (log(to[1]) - from[1]) - (log(to[0]) - from[0]);
        }
}

static void take(const pv__draws_output *out, size_t begin, size_t rows, const pv__spread_of_row *of) {
    for (size_t i = 0; i < 2 * rows; i++) {
        size_t at = 2 * begin + i;
        if (out->p)
            out->p[at] = of[i].mean;
        if (out->log_p)
            out->log_p[at] = of[i].log_mean;
        if (out->lo) {
            out->lo[at] = of[i].low;
            out->hi[at] = of[i].high;
        }
    }
}

/* Runs one block; *taken is false if the device does not have enough memory. */
static pv_status run_block(pv_ctx *ctx, const pv_classifier *c, const pv__spread_spec *spec, size_t rows,
                           const double *x, pv__spread_of_row *of, bool *taken) {
    pv__loaded *loaded;
    pv__loaded_passes *passes = NULL;
    PV_TRY(pv__loaded_new(ctx, c->model, rows, x, true, &loaded));
    *taken = loaded != NULL;
    if (!loaded)
        return PV_OK;
    pv_status status = pv__loaded_passes_new(ctx, loaded, c->model, rows, NULL, NULL, &passes);
    if (status == PV_OK)
        status = pv__loaded_spreads(ctx, passes, spec, 0, rows, of);
    pv__loaded_passes_free(ctx, passes);
    pv__loaded_free(ctx, loaded);
    *taken = !pv__loaded_forgone(ctx, status);
    return *taken ? status : PV_OK;
}

pv_status pv__predict_draws_aboard(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, double level,
                                   const double *weight, const pv__draws_output *output, size_t outputs, bool *done) {
    size_t draws = c->posterior->count, most = data->rows < BLOCK_ROWS ? data->rows : BLOCK_ROWS;
    *done = false;
    if (!can_go(ctx, c, data, weight, output, outputs))
        return PV_OK;
    bool *ends = NULL, taken = true;
    double *shift = NULL, *buffer = NULL, last = (double)(draws - 1);
    pv__spread_of_row *of = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, outputs, sizeof *ends, &ends));
    PV_GOTO(done, pv__alloc(ctx, outputs * draws, sizeof *shift, &shift));
    PV_GOTO(done, pv__alloc(ctx, 2 * outputs * most, sizeof *of, &of));
    if (data->columns)
        PV_GOTO(done, pv__alloc(ctx, most, (size_t)data->features * sizeof *buffer, &buffer));
    for (size_t o = 0; o < outputs; o++)
        ends[o] = output[o].lo != NULL;
    find_shifts(c, output, outputs, shift);
    const pv__spread_spec spec = {
        draws, c->posterior->draws, outputs, shift, ends, last * (0.5 - 0.5 * level), last * (0.5 + 0.5 * level)};
    for (size_t begin = 0; begin < data->rows && taken; begin += BLOCK_ROWS) {
        size_t rows = data->rows - begin < BLOCK_ROWS ? data->rows - begin : BLOCK_ROWS;
        const double *x = pv_dataset_rows(ctx, data, begin, rows, buffer);
        PV_GOTO(done, pv__go_on(ctx));
        PV_GOTO(done, run_block(ctx, c, &spec, rows, x, of, &taken));
        for (size_t o = 0; o < outputs && taken; o++)
            take(&output[o], begin, rows, of + 2 * o * rows);
    }
    *done = taken;
done:
    pv__free(ctx, ends);
    pv__free(ctx, shift);
    pv__free(ctx, buffer);
    pv__free(ctx, of);
    return status;
}
