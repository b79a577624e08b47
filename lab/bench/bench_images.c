/* The image part of prevail-lab bench: a training step of the multi-view ConvNet, including cutting views from
 * volumes. */
#include "lab/bench/bench_images.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { ROWS = 64, SIDE = 40, BATCH = 32 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Volumes of noise in memory, half of them of each label. */
typedef struct volumes {
    pv_dataset set;
    pv_images images;
    pv_image_encoding image;
    pv_schema schema;
    char *labels[2];
    int16_t *pixels;
    size_t row[ROWS];
    int32_t label[ROWS];
} volumes;

static void make_volumes(volumes *v) {
    static char none[] = "", zero[] = "0", one[] = "1";
    size_t count = (size_t)ROWS * SIDE * SIDE * SIDE;
    pv_rng rng = pv_rng_stream(1, PV_STREAM_BENCH_VOLUMES, 0);
    v->pixels = cli_alloc(count, sizeof *v->pixels);
    for (size_t i = 0; i < count; i++)
        v->pixels[i] = (int16_t)(pv_rng_bits(&rng) % 1400 - 1000);
    for (size_t i = 0; i < ROWS; i++) {
        v->row[i] = i;
        v->label[i] = i % 2;
    }
    v->images = (pv_images){.rows = ROWS,
                            .layout = PV_IMAGES_VOLUMES,
                            .planes = SIDE,
                            .height = SIDE,
                            .width = SIDE,
                            .index = v->row,
                            .pixels = {.type = PV_ARRAY_I16,
                                       .element = sizeof *v->pixels,
                                       .dims = 4,
                                       .shape = {ROWS, SIDE, SIDE, SIDE},
                                       .count = count,
                                       .bytes = (const unsigned char *)v->pixels}};
    v->image = (pv_image_encoding){.images = none,
                                   .votes = none,
                                   .spacing = none,
                                   .layout = PV_IMAGES_VOLUMES,
                                   .views = 9,
                                   .size = 32,
                                   .low = -1000,
                                   .high = 400,
                                   .mean = -300,
                                   .sd = 400,
                                   .field = 25,
                                   .rotate = 180,
                                   .shift = 0.05,
                                   .scale = 0.1,
                                   .flip = true};
    v->labels[0] = zero;
    v->labels[1] = one;
    v->schema = (pv_schema){.labels = v->labels, .classes = 2, .features = 9 * 32 * 32, .image = &v->image};
    v->set = (pv_dataset){.rows = ROWS,
                          .features = 9 * 32 * 32,
                          .label = v->label,
                          .classes = 2,
                          .images = &v->images,
                          .images_borrowed = true,
                          .image_row = v->row,
                          .image = &v->image};
}

/* The shortest step of a fit: all steps do the same work, and each takes longer than the interval between progress
 * reports. */
typedef struct step_clock {
    const pv_ctx *outer;
    pv_ctx *ctx;
    double last, best;
} step_clock;

static void on_step(void *state, const pv_progress *progress) {
    step_clock *clock = state;
    if (progress->step > 2) /* the first steps touch memory for the first time */
        clock->best = fmin(clock->best, progress->seconds - clock->last);
    clock->last = progress->seconds;
    if (pv_ctx_interrupted(clock->outer))
        pv_ctx_interrupt(clock->ctx);
}

static pv_status time_steps(cli_call *call, const volumes *v, pv_fit_options options, double *best) {
    step_clock clock = {.outer = call->ctx, .best = *best};
    pv_ctx_options observed = pv_ctx_options_default();
    observed.threads = pv_ctx_threads(call->ctx);
    observed.progress = on_step;
    observed.state = &clock;
    pv_status status = pv_ctx_new(&observed, &clock.ctx);
    if (status == PV_OK) /* GPUs have a separate benchmark: bench/cuda.py */
        status = pv_ctx_set_device(clock.ctx, PV_DEVICE_CPU, PV_PRECISION_TF32);
    if (status != PV_OK) {
        pv_ctx_free(clock.ctx);
        return status;
    }
    pv_classifier *fitted;
    options.epochs = 5;
    status = pv_fit(clock.ctx, &v->schema, &v->set, &options, &fitted);
    if (status == PV_OK)
        pv_classifier_free(clock.ctx, fitted);
    pv_ctx_free(clock.ctx);
    *best = clock.best;
    return pv_ctx_interrupted(call->ctx) ? PV_ERR_INTERRUPTED : status;
}

/* Cuts the views of one batch, with as many threads as a step uses. */
static double time_views(cli_call *call, const volumes *v) {
    double *x = cli_alloc((size_t)BATCH * 9 * 32 * 32, sizeof *x), start = now();
#pragma omp parallel for num_threads(pv_threads_ready(pv_ctx_threads(call->ctx))) schedule(dynamic)
    for (size_t i = 0; i < BATCH; i++) {
        pv_rng rng = pv_rng_stream(1, PV_STREAM_BENCH_VIEWS, i);
        pv_views_cut(&v->image, &v->images, i, &rng, x + i * 9 * 32 * 32);
    }
    double seconds = now() - start;
    free(x);
    return seconds;
}

pv_status bench_images(cli_call *call, int64_t repeats, pv_result *out) {
    volumes *v = cli_alloc(1, sizeof *v);
    make_volumes(v);
    pv_fit_options plain = pv_fit_options_default();
    plain.prevalence = "0.01";
    plain.model = "convnet";
    plain.loss = PV_LOSS_PLAIN;
    pv_fit_options constant = plain, linear;
    constant.loss = PV_LOSS_IG;
    constant.marginal = PV_MARGINAL_AUXILIARY_CONSTANT;
    linear = constant;
    linear.marginal = PV_MARGINAL_AUXILIARY_LINEAR;
    double best[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, views = HUGE_VAL;
    pv_status status = PV_OK;
    for (int64_t r = 0; r < repeats && status == PV_OK; r++) {
        const pv_fit_options *const kinds[] = {&plain, &constant, &linear};
        for (int i = 0; i < 3 && status == PV_OK; i++)
            status = time_steps(call, v, *kinds[i], &best[i]);
        views = fmin(views, time_views(call, v));
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    free(v->pixels);
    free(v);
    if (status != PV_OK)
        return status;
    pv__value_set(out, "convnet_plain_seconds", pv__value_real(best[0]));
    pv__value_set(out, "convnet_ig_seconds", pv__value_real(best[1]));
    pv__value_set(out, "convnet_ig_linear_seconds", pv__value_real(best[2]));
    pv__value_set(out, "convnet_views_seconds", pv__value_real(views));
    pv__value_set(out, "convnet_peak_bytes", pv__value_real(1024.0 * (double)used.ru_maxrss));
    return PV_OK;
}
