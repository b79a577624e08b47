/* Minibatch training with parameters, moments and images on a device: what minibatch.c's steps do there.
 *
 * Images go to the device once, and views are cut there, by the planes that the processor would draw; where the pixels
 * are of a kind that the device does not read, or too many, the processor cuts them. The losses stay where they are.
 */
#include <string.h>

#include "core/core.h"
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
    double *buffer;       /* [batch][inputs]: views that the processor cut for pv__aboard_loglik; NULL: none yet */
    double *sums, *step;  /* of the auxiliary network: [2 classes + 1], [classes]; NULL: it is not there */
    pv__follow follow;
    bool follows;  /* follow waits for the next step */
    bool followed; /* what the last one took away is not in the bias yet */
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
    pv__free(ctx, a->buffer);
    pv__free(ctx, a->sums);
    pv__free(ctx, a);
}

bool pv__aboard_cuts(const pv__aboard *a) {
    return a->volumes != NULL;
}

/* The views of a data set's row as the i-th of a batch. rng NULL: the fixed ones. */
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

/* The rows that place_row placed. */
static void set_placed(const pv__aboard *a, const pv_image_encoding *e, pv__rows *rows) {
    rows->volumes = a->volumes;
    rows->volume = a->volume;
    rows->spacing = a->spacing;
    rows->plane = a->plane;
    rows->cut =
        (pv__cut){.size = e->size, .field = e->field, .low = e->low, .high = e->high, .mean = e->mean, .spread = e->sd};
}

/* Where the batch's views lie, from the streams that the processor would cut them by. */
static void place_views(pv__aboard *a, const pv__batch *batch, pv__rows *rows) {
    for (size_t i = 0; i < batch->targets.n; i++) {
        pv_rng rng = pv_rng_stream((uint64_t)a->problem->options->seed, PV_STREAM_VIEWS, batch->first + i);
        place_row(a, a->problem->data, batch->row[i], &rng, i);
    }
    set_placed(a, a->problem->data->image, rows);
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
    const pv__follow *follow = a->follows ? &a->follow : NULL;
    a->followed = a->followed || a->follows;
    a->follows = false;
    return pv__resident_learn(ctx, &a->resident, a->problem->options->freeze_low, rate, step, follow);
}

/* ---- rows as predictions see them -------------------------------------------------------------------------------- */

pv_status pv__aboard_loglik(pv_ctx *ctx, pv__aboard *a, const pv__problem *problem, double *loglik) {
    const pv_dataset *data = problem->data;
    size_t k = (size_t)problem->targets.classes, inputs = (size_t)pv_model_inputs(problem->model);
    bool there = a->volumes && data && data->images == a->problem->data->images;
    if (!there && !a->buffer)
        PV_TRY(pv__alloc(ctx, a->resident.rows, inputs * sizeof *a->buffer, &a->buffer));
    for (size_t n, begin = 0; begin < problem->n; begin += n) {
        n = problem->n - begin < a->resident.rows ? problem->n - begin : a->resident.rows;
        pv__rows rows = {.n = n};
        for (size_t i = 0; there && i < n; i++)
            place_row(a, data, begin + i, NULL, i);
        if (there)
            set_placed(a, data->image, &rows);
        else
            rows.x = pv__problem_rows(ctx, problem, begin, n, a->buffer);
        PV_TRY(pv__resident_score(ctx, &a->resident, &rows, loglik + begin * k));
    }
    return PV_OK;
}

/* ---- the linear auxiliary network -------------------------------------------------------------------------------- */

pv_status pv__aboard_auxiliary_put(pv_ctx *ctx, pv__aboard *a, pv_auxiliary *auxiliary) {
    pv__resident *r = &a->resident;
    pv_auxiliary_view view = pv_auxiliary_parameters(auxiliary);
    size_t k = (size_t)a->problem->targets.classes;
    if (!a->sums)
        PV_TRY(pv__alloc(ctx, 3 * k + 1, sizeof *a->sums, &a->sums));
    a->step = a->sums + 2 * k + 1;
    a->follows = a->followed = false;
    return pv__device_checked(ctx, r->plugin->auxiliary_put(r->net, view.offset, view.matrix, r->why), r->why);
}

/* The sums as they are, and the bias as it must be with them. */
static pv_status catch_up(pv_ctx *ctx, pv__aboard *a, pv_auxiliary *auxiliary) {
    pv__resident *r = &a->resident;
    size_t k = (size_t)a->problem->targets.classes;
    double *bias = pv_auxiliary_parameters(auxiliary).bias;
    PV_TRY(pv__device_checked(ctx, r->plugin->auxiliary_sums(r->net, a->sums, r->why), r->why));
    for (size_t y = 0; y < k && a->followed; y++)
        bias[y] += a->sums[k + y];
    a->followed = false;
    return PV_OK;
}

pv_status pv__aboard_auxiliary_get(pv_ctx *ctx, pv__aboard *a, pv_auxiliary *auxiliary) {
    pv__resident *r = &a->resident;
    pv_auxiliary_view view = pv_auxiliary_parameters(auxiliary);
    PV_TRY(catch_up(ctx, a, auxiliary));
    return pv__device_checked(ctx, r->plugin->auxiliary_get(r->net, view.offset, view.matrix, r->why), r->why);
}

pv_status pv__aboard_auxiliary_forward(pv_ctx *ctx, pv__aboard *a, pv_auxiliary *auxiliary, double *log_q) {
    PV_TRY(catch_up(ctx, a, auxiliary));
    pv__auxiliary_forward_of(auxiliary, a->sums, log_q);
    return PV_OK;
}

void pv__aboard_auxiliary_follow(pv__aboard *a, const pv_auxiliary *auxiliary, const pv__lag *lag, double sparsity) {
    double away = a->sums[2 * (size_t)a->problem->targets.classes];
    a->follow = (pv__follow){.step = a->step, .gain = lag->least};
    a->follow.threshold = pv__auxiliary_step_of(auxiliary, away, lag->error, lag->gain, sparsity, a->step);
    a->follows = true;
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
