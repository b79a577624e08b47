/* Minibatch training with parameters, moments and images on a device: the device's part of the steps in minibatch.c.
 *
 * Images are copied to the device once, and views are cut there, with the planes that the processor would draw. If the
 * device does not support the pixel type, or there are too many, the processor cuts them. The processor computes the
 * quantities of the loss that do not depend on the network (pv__batch_terms_fill); the device computes the rest.
 */
#include <string.h>

#include "core/core.h"
#include "core/loss.h"
#include "data/data.h"
#include "infer/infer.h"
#include "model/device_network.h"

struct pv__aboard {
    const pv__problem *problem;
    pv__resident resident;
    pv__volumes *volumes; /* NULL: views come from the processor */
    size_t *volume;       /* [batch] */
    double *spacing;      /* [batch][3] */
    pv__plane *plane;     /* [batch][views] */
    double *buffer; /* [batch][inputs]: views that the processor cut for pv__aboard_loglik; NULL: not allocated yet */
    const pv_batch_loss *loss;
    pv_auxiliary *auxiliary; /* NULL: none */
    pv__follower *follower;  /* NULL: none */
    pv__batch_terms terms;
};

_Static_assert(sizeof(pv__plane) == sizeof(pv__view_plane), "planes of views are passed on as they are");

static bool pixel_type(const pv_array *pixels, pv__pixel_type *type) {
    if ((pixels->fortran && pixels->dims > 1) || (pixels->swapped && pixels->element > 1))
        return false;
    *type = pixels->type == PV_ARRAY_U8 ? PV_PIXEL_U8 : pixels->type == PV_ARRAY_I16 ? PV_PIXEL_I16 : PV_PIXEL_F32;
    return pixels->type == PV_ARRAY_U8 || pixels->type == PV_ARRAY_I16 || pixels->type == PV_ARRAY_F32;
}

static pv_status load_volumes(pv_ctx *ctx, pv__aboard *a, size_t batch) {
    const pv_dataset *data = a->problem->rows.made;
    const pv_images *images = data ? data->images : NULL;
    pv__volumes_spec spec = {.pixels = NULL};
    if (!images || images->layout == PV_IMAGES_VIEWS || !pixel_type(&images->pixels, &spec.type))
        return PV_OK;
    spec.pixels = images->pixels.bytes;
    spec.planes = images->planes;
    spec.height = images->height;
    spec.width = images->width;
    spec.count = images->pixels.count / (spec.planes * spec.height * spec.width);
    char why[PV_PLUGIN_TEXT] = "";
    pv__plugin_code code = a->resident.plugin->volumes_open(&spec, &a->volumes, why);
    if (code == PV_PLUGIN_MEMORY) {
        pv__log(ctx, PV_LOG_INFO, "the images do not fit into the device's memory (%s): the processor cuts the views",
                why);
        a->volumes = NULL;
        return PV_OK;
    }
    PV_TRY(pv__device_checked(ctx, code, why));
    PV_TRY(pv__alloc(ctx, batch, sizeof *a->volume, &a->volume));
    PV_TRY(pv__alloc(ctx, batch, 3 * sizeof *a->spacing, &a->spacing));
    return pv__alloc(ctx, batch * data->image->views, sizeof *a->plane, &a->plane);
}

static pv__slope slope_of(const pv_prior *prior) {
    return (pv__slope){.kind = (int)prior->kind, .scale = prior->scale, .df = prior->df};
}

static pv_status send_prior(pv_ctx *ctx, pv__aboard *a) {
    const pv__problem *problem = a->problem;
    pv__resident *r = &a->resident;
    const pv__pull pull = {.prior = slope_of(&problem->plan->prior),
                           .intercept = slope_of(&problem->plan->intercept_prior),
                           .is_bias = problem->is_bias,
                           .centre = problem->centre};
    return pv__device_checked(ctx, r->plugin->pull(r->net, problem->plan->map ? &pull : NULL, r->why), r->why);
}

pv_status pv__aboard_new(pv_ctx *ctx, const pv__problem *problem, size_t batch, pv__aboard **aboard) {
    *aboard = NULL;
    pv__aboard *a;
    PV_TRY(pv__alloc(ctx, 1, sizeof *a, &a));
    a->problem = problem;
    pv_status status = pv__resident_new(ctx, problem->model, batch, &a->resident);
    if (status == PV_OK && a->resident.net)
        status = load_volumes(ctx, a, batch);
    if (status == PV_OK && a->resident.net)
        status = send_prior(ctx, a);
    if (status == PV_OK && a->resident.net)
        *aboard = a;
    else
        pv__aboard_free(ctx, a);
    return status;
}

void pv__aboard_free(pv_ctx *ctx, pv__aboard *a) {
    if (!a)
        return;
    pv__resident_free(&a->resident);
    if (a->volumes)
        a->resident.plugin->volumes_close(a->volumes);
    pv__free(ctx, a->volume);
    pv__free(ctx, a->spacing);
    pv__free(ctx, a->plane);
    pv__free(ctx, a->buffer);
    pv__free(ctx, a->terms.data);
    pv__free(ctx, a);
}

bool pv__aboard_cuts(const pv__aboard *a) {
    return a->volumes != NULL;
}

/* Sets the views of the i-th row of a batch from a row of a data set. rng NULL: the fixed views. */
static void place_row(pv__aboard *a, const pv_dataset *data, size_t at, pv_rng *rng, size_t i) {
    const pv_images *images = data->images;
    const pv_image_encoding *e = data->image;
    size_t row = data->image_row[at];
    pv__view_plane plane[PV_VIEWS_MAX];
    pv__views_planes(e, images->layout, rng, plane);
    memcpy(a->plane + i * e->views, plane, e->views * sizeof *plane);
    a->volume[i] = images->index[row];
    for (int axis = 0; axis < 3; axis++)
        a->spacing[3 * i + (size_t)axis] = images->spacing ? images->spacing[3 * row + (size_t)axis] : 1;
}

/* The rows set by place_row. */
static void set_placed(const pv__aboard *a, const pv_image_encoding *e, pv__rows *rows) {
    rows->volumes = a->volumes;
    rows->volume = a->volume;
    rows->spacing = a->spacing;
    rows->plane = a->plane;
    rows->cut =
        (pv__cut){.size = e->size, .field = e->field, .low = e->low, .high = e->high, .mean = e->mean, .spread = e->sd};
}

/* Draws the planes of the batch's views from the random streams that the processor would use. */
static void place_views(pv__aboard *a, const pv__batch *batch, pv__rows *rows) {
    for (size_t i = 0; i < batch->targets.n; i++) {
        pv_rng rng = pv_rng_stream((uint64_t)a->problem->plan->options.seed, PV_STREAM_VIEWS, batch->first + i);
        place_row(a, a->problem->rows.made, batch->row[i], &rng, i);
    }
    set_placed(a, a->problem->rows.made->image, rows);
}

/* ---- loss -------------------------------------------------------------------------------------------------------- */

_Static_assert((int)PV_STEP_ROWS == (int)PV_FORM_ROWS && (int)PV_STEP_SELECTION == (int)PV_FORM_SELECTION &&
                   (int)PV_STEP_JOINT == (int)PV_FORM_JOINT,
               "a step's forms are the losses' own");

static pv__step_state state_of(const pv__aboard *a) {
    if (!a->auxiliary)
        return (pv__step_state){.bias = NULL};
    pv_auxiliary_view view = pv_auxiliary_parameters(a->auxiliary);
    pv__bias_moments moments = pv__auxiliary_moments(a->auxiliary);
    bool linear = a->loss->marginal == PV_MARGINAL_AUXILIARY_LINEAR;
    const double *rho;
    return (pv__step_state){.bias = view.bias,
                            .mean = moments.mean,
                            .square = moments.square,
                            .last = a->follower ? pv__follower_state(a->follower, &rho) : NULL,
                            .offset = linear ? view.offset : NULL,
                            .matrix = linear ? view.matrix : NULL};
}

pv_status pv__aboard_loss_put(pv_ctx *ctx, pv__aboard *a, const pv_batch_loss *loss, pv_auxiliary *auxiliary,
                              pv__follower *follower, double sparsity) {
    pv__resident *r = &a->resident;
    size_t n = r->rows, k = (size_t)a->problem->targets.classes;
    a->loss = loss;
    a->auxiliary = auxiliary;
    a->follower = follower;
    if (!a->terms.data)
        PV_TRY(pv__alloc(ctx, (2 * n + 1) * k + 2 * n, sizeof *a->terms.data, &a->terms.data));
    a->terms.ratio = a->terms.data + n * k;
    a->terms.counts = a->terms.ratio + n * k;
    a->terms.weight = a->terms.counts + k;
    a->terms.population = a->terms.weight + n;
    pv__step_loss spec = {.form = (pv__step_form)pv__loss_form(loss->loss, loss->marginal, true),
                          .implementation = (int)loss->implementation,
                          .linear = auxiliary && loss->marginal == PV_MARGINAL_AUXILIARY_LINEAR,
                          .sparsity = sparsity};
    if (follower) {
        spec.n = a->problem->rows.n;
        (void)pv__follower_state(follower, &spec.rho);
    }
    pv__step_state state = state_of(a);
    return pv__device_checked(ctx, r->plugin->loss_put(r->net, &spec, &state, r->why), r->why);
}

pv_status pv__aboard_loss_get(pv_ctx *ctx, pv__aboard *a) {
    pv__resident *r = &a->resident;
    pv__step_state state = state_of(a);
    return a->auxiliary ? pv__device_checked(ctx, r->plugin->loss_get(r->net, &state, r->why), r->why) : PV_OK;
}

pv_status pv__aboard_log_q(pv_ctx *ctx, pv__aboard *a, double *log_q) {
    pv__resident *r = &a->resident;
    return pv__device_checked(ctx, r->plugin->log_q(r->net, log_q, r->why), r->why);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

pv_status pv__aboard_step(pv_ctx *ctx, pv__aboard *a, const pv__batch *batch, int64_t step, double rate,
                          double bias_rate, const double *log_q) {
    const pv_fit_options *options = &a->problem->plan->options;
    pv__rows rows = {.n = batch->targets.n};
    if (a->volumes)
        place_views(a, batch, &rows);
    else
        rows.x = batch->x;
    pv__batch_terms *made = &a->terms;
    PV_TRY(pv__batch_terms_fill(ctx, a->loss, &batch->targets, batch->stratum, log_q, made));
    const pv__step_terms terms = {.data = made->data,
                                  .weight = made->weight,
                                  .ratio = made->ratio,
                                  .population = made->population,
                                  .counts = made->counts,
                                  .row = batch->row,
                                  .stratum = batch->stratum ? batch->stratum : batch->targets.label,
                                  .constant = made->constant};
    pv__step_rates rates = {.rate = rate, .number = step + 1, .bias_rate = bias_rate};
    if (a->auxiliary && !a->follower)
        rates.bias_number = ++*pv__auxiliary_moments(a->auxiliary).steps;
    return pv__resident_step(ctx, &a->resident, &rows, (uint64_t)options->seed, &terms, &rates, options->freeze_low);
}

int64_t pv__aboard_ahead(void) {
    return PV_STEPS_AHEAD;
}

pv_status pv__aboard_outcome(pv_ctx *ctx, pv__aboard *a, double *value, double *log_q) {
    pv__resident *r = &a->resident;
    return pv__device_checked(ctx, r->plugin->outcome(r->net, value, log_q, r->why), r->why);
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

pv_status pv__aboard_loglik(pv_ctx *ctx, pv__aboard *a, const pv__problem *problem, double *loglik) {
    const pv_dataset *data = problem->rows.made;
    size_t k = (size_t)problem->targets.classes, inputs = (size_t)pv_model_inputs(problem->model);
    bool there = a->volumes && data && data->images == a->problem->rows.made->images;
    if (!there && !a->buffer)
        PV_TRY(pv__alloc(ctx, a->resident.rows, inputs * sizeof *a->buffer, &a->buffer));
    for (size_t n, begin = 0; begin < problem->rows.n; begin += n) {
        n = problem->rows.n - begin < a->resident.rows ? problem->rows.n - begin : a->resident.rows;
        pv__rows rows = {.n = n};
        for (size_t i = 0; there && i < n; i++)
            place_row(a, data, begin + i, NULL, i);
        if (there)
            set_placed(a, data->image, &rows);
        else
            rows.x = pv__rows_get(ctx, &problem->rows, begin, n, a->buffer);
        PV_TRY(pv__resident_score(ctx, &a->resident, &rows, loglik + begin * k));
    }
    return PV_OK;
}

/* ---- parameters and moments -------------------------------------------------------------------------------------- */

pv_status pv__aboard_put(pv_ctx *ctx, pv__aboard *a, const double *w, const double *mean, const double *square,
                         const double *marked) {
    pv__resident *r = &a->resident;
    return pv__device_checked(ctx, r->plugin->put(r->net, w, mean, square, marked, r->why), r->why);
}

pv_status pv__aboard_get(pv_ctx *ctx, pv__aboard *a, double *w, double *mean, double *square, double *marked) {
    pv__resident *r = &a->resident;
    return pv__device_checked(ctx, r->plugin->get(r->net, w, mean, square, marked, r->why), r->why);
}

pv_status pv__aboard_mark(pv_ctx *ctx, pv__aboard *a) {
    pv__resident *r = &a->resident;
    return pv__device_checked(ctx, r->plugin->mark(r->net, r->why), r->why);
}
