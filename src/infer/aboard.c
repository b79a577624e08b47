/* Minibatch training with parameters, moments and images on a device: what minibatch.c's steps do there.
 *
 * Images go to the device once, and views are cut there, by the planes that the processor would draw; where the pixels
 * are of a kind that the device does not read, or too many, the processor cuts them. The losses stay where they are.
 */
#include <string.h>

#include "data/data.h"
#include "infer/infer.h"
#include "model/resident.h"

struct pv__aboard {
    const pv__problem *problem;
    pv__resident resident;
    pv__volumes *volumes; /* NULL: views come from the processor */
    size_t *volume;       /* [batch] */
    double *spacing;      /* [batch][3] */
    pv__plane *plane;     /* [batch][views] */
};

_Static_assert(sizeof(pv__plane) == sizeof(pv__view_plane), "planes of views are passed on as they are");

static bool pixel_type(const pv_array *pixels, pv__pixel_type *type) {
    if ((pixels->fortran && pixels->dims > 1) || (pixels->swapped && pixels->element > 1))
        return false;
    *type = pixels->type == PV_ARRAY_U8 ? PV_PIXEL_U8 : pixels->type == PV_ARRAY_I16 ? PV_PIXEL_I16 : PV_PIXEL_F32;
    return pixels->type == PV_ARRAY_U8 || pixels->type == PV_ARRAY_I16 || pixels->type == PV_ARRAY_F32;
}

static pv_status load_volumes(pv_ctx *ctx, pv__aboard *a, size_t batch) {
    const pv_dataset *data = a->problem->data;
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
        pv__log(ctx, PV_LOG_INFO, "the device's memory does not hold the images (%s): the processor cuts views", why);
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
    const pv__pull pull = {.prior = slope_of(&problem->prior),
                           .intercept = slope_of(&problem->intercept_prior),
                           .is_bias = problem->is_bias,
                           .centre = problem->centre};
    return pv__device_checked(ctx, r->plugin->pull(r->net, problem->map ? &pull : NULL, r->why), r->why);
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
    pv__free(ctx, a);
}

bool pv__aboard_cuts(const pv__aboard *a) {
    return a->volumes != NULL;
}

/* Where the batch's views lie, from the streams that the processor would cut them by. */
static void place_views(pv__aboard *a, const pv__batch *batch, pv__rows *rows) {
    const pv_dataset *data = a->problem->data;
    const pv_images *images = data->images;
    const pv_image_encoding *e = data->image;
    for (size_t i = 0; i < batch->targets.n; i++) {
        size_t row = data->image_row[batch->row[i]];
        pv_rng rng = pv_rng_stream((uint64_t)a->problem->options->seed, PV_STREAM_VIEWS, batch->first + i);
        pv__view_plane plane[PV_VIEWS_MAX];
        pv__views_planes(e, images->layout, &rng, plane);
        memcpy(a->plane + i * e->views, plane, e->views * sizeof *plane);
        a->volume[i] = images->index[row];
        for (int axis = 0; axis < 3; axis++)
            a->spacing[3 * i + (size_t)axis] = images->spacing ? images->spacing[3 * row + (size_t)axis] : 1;
    }
    rows->volumes = a->volumes;
    rows->volume = a->volume;
    rows->spacing = a->spacing;
    rows->plane = a->plane;
    rows->cut =
        (pv__cut){.size = e->size, .field = e->field, .low = e->low, .high = e->high, .mean = e->mean, .spread = e->sd};
}

pv_status pv__aboard_forward(pv_ctx *ctx, pv__aboard *a, const pv__batch *batch, int64_t step, double *loglik) {
    pv__rows rows = {.n = batch->targets.n};
    if (a->volumes)
        place_views(a, batch, &rows);
    else
        rows.x = batch->x;
    return pv__resident_forward(ctx, &a->resident, &rows, (uint64_t)a->problem->options->seed, (uint64_t)step, loglik);
}

pv_status pv__aboard_backward(pv_ctx *ctx, pv__aboard *a, const double *dloglik) {
    return pv__resident_backward(ctx, &a->resident, dloglik, a->problem->options->freeze_low);
}

pv_status pv__aboard_learn(pv_ctx *ctx, pv__aboard *a, double rate, int64_t step) {
    return pv__resident_learn(ctx, &a->resident, a->problem->options->freeze_low, rate, step);
}

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
