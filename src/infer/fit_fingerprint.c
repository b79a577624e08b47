/* The facts that identify a fit in a checkpoint: version, model, every option that differs from its default, the
 * training data, and for information the command. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/reduce.h"
#include "infer/infer.h"
#include "model/device_table.h"
#include "model/device_network.h"

static void hash_block(pv__hasher *state, const void *data, size_t size) {
    if (data && size)
        pv__hasher_add(state, data, size);
}

enum { ROWS = 256 }; /* rows assembled from columns at a time, in buffer */

/* Hashes what the fit sees, so that the options that produced it do not matter. */
static uint64_t hash_dataset(pv__hasher *state, const pv_dataset *data, double *buffer) {
    size_t n = data->rows, k = (size_t)data->classes;
    hash_block(state, data->x, n * (size_t)data->features * sizeof *data->x);
    for (size_t at = 0; data->columns && at < n; at += ROWS) {
        size_t rows = n - at < ROWS ? n - at : ROWS;
        hash_block(state, pv_dataset_rows(NULL, data, at, rows, buffer),
                   rows * (size_t)data->features * sizeof *buffer);
    }
    hash_block(state, data->image_row, data->image_row ? n * sizeof *data->image_row : 0);
    hash_block(state, data->label, n * sizeof *data->label);
    hash_block(state, data->frequency, n * k * sizeof *data->frequency);
    hash_block(state, data->weight, n * sizeof *data->weight);
    return pv__hasher_end(state);
}

/* What affects the rounding of networks: another version or instruction set of oneDNN gives other bits. The device may
 * differ, since work may have to continue on another after a device is lost. */
static void write_convolutions(pv_ctx *ctx, FILE *stream) {
    pv_library first;
    const char *device;
    if (pv__device_plugin(ctx)) {
        (void)pv_ctx_device(ctx, &device);
        pv__print(stream, "~what networks run on (`device`)=%s, %s\n", device,
                  pv_precision_name(pv__device_precision(ctx)));
        return;
    }
    pv__print(stream, "~what networks run on (`device`)=the processor\n");
    (void)pv_libraries(&first, 1); /* oneDNN is first in the list */
    pv__print(stream, "?the instruction set of %s (ONEDNN_MAX_CPU_ISA)=%s, version %s\n", first.name,
              pv_convolution_isa(), first.version);
}

/* Rows on a device are in single precision. */
static void write_rows_device(pv_ctx *ctx, FILE *stream, const pv_dataset *data) {
    const char *device = "the processor";
    if (pv__loaded_pays(ctx, data->rows, (size_t)data->features) && pv__device_for_tables(ctx))
        (void)pv_ctx_device(ctx, &device);
    pv__print(stream, "~what tables run on (`device`)=%s\n", device);
}

/* How images are converted to views, in terms of the options. */
static void write_image(FILE *stream, const pv_image_encoding *e) {
    char window[96], field[40];
    int low = pv_format_double(e->low, window, sizeof window);
    window[low] = ',';
    pv_format_double(e->high, window + low + 1, sizeof window - (size_t)low - 1);
    pv_format_double(e->field, field, sizeof field);
    pv_image_options usual = {0}, options = {.images = e->images,
                                             .votes = e->votes,
                                             .spacing = e->spacing,
                                             .ready = e->layout == PV_IMAGES_VIEWS,
                                             .binarise = e->binarise,
                                             .votes_min = e->votes_min,
                                             .window = isfinite(e->low) ? window : NULL,
                                             .rotate = e->rotate,
                                             .no_flip = !e->flip,
                                             .shift = e->shift,
                                             .scale = e->scale};
    pv_options_default(pv_image_option_table, &usual);
    pv__options_lines(stream, pv_image_option_table, &options, &usual);
    pv__print(stream, "the field of view (`field`)=%s\n", field); /* if not given, that of the data */
}

static void write_data(FILE *stream, pv__hasher *state, const pv_dataset *data, const pv_dataset *held,
                       const pv_dataset *sample, double *buffer) {
    pv__hasher_begin(state);
    if (data->images) {
        const double scale[] = {(double)data->image->layout, data->image->mean, data->image->sd};
        hash_block(state, &data->hash, sizeof data->hash);
        hash_block(state, scale, sizeof scale);
    }
    pv__print(stream, "the data=%zu rows, %016llx\n", data->rows,
              (unsigned long long)hash_dataset(state, data, buffer));
    if (held)
        pv__print(stream, "the validation rows=%zu, %016llx\n", held->rows,
                  (unsigned long long)hash_dataset(state, held, buffer));
    if (sample)
        pv__print(stream, "the population sample=%zu rows, %016llx\n", sample->rows,
                  (unsigned long long)hash_dataset(state, sample, buffer));
}

pv_status pv__facts(pv_ctx *ctx, const char *first, const pv_dataset *data, const pv_dataset *held,
                    const pv_fit_options *options) {
    char *text = NULL;
    size_t size = 0;
    if (!ctx->checkpoint)
        return PV_OK;
    pv_fit_options usual = pv_fit_options_default();
    double *buffer;
    PV_TRY(pv__alloc(ctx, ROWS, (size_t)data->features * sizeof *buffer, &buffer));
    pv__hasher state;
    FILE *stream = open_memstream(&text, &size);
    if (!stream) {
        pv__free(ctx, buffer);
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory");
    }
    pv__print(stream, "version=%s\n%s", PV_VERSION, first);
    pv__options_lines(stream, pv_fit_option_table, options, &usual);
    if (data->images) {
        write_convolutions(ctx, stream);
        write_image(stream, data->image);
    } else {
        write_rows_device(ctx, stream, data);
    }
    write_data(stream, &state, data, held, options->sample, buffer);
    if (options->command) {
        pv__print(stream, "command=");
        pv__line_end(stream, options->command);
    }
    pv__free(ctx, buffer);
    pv_status status =
        fclose(stream) == 0 && text ? pv_checkpoint_facts(ctx, text) : pv__fail(ctx, PV_ERR_MEMORY, "out of memory");
    free(text);
    return status;
}

pv_status pv__fit_facts(pv_ctx *ctx, const pv_dataset *data, const pv_dataset *held, const pv_model *model,
                        const pv_stratified *strata, const pv_fit_options *options) {
    char first[240];
    int used =
        pv__format(first, sizeof first, "model=%.100s, %zu parameters\n", pv_model_spec(model), pv_model_params(model));
    if (strata) { /* the file's content, which may have changed */
        size_t count = (size_t)strata->strata * (2 + (size_t)strata->classes);
        pv__format(first + used, sizeof first - (size_t)used, "the strata=%d, %016llx\n", strata->strata,
                   (unsigned long long)pv__hash(strata->share, count * sizeof(double)));
    }
    return pv__facts(ctx, first, data, held, options);
}

pv_status pv__fit_alike(pv_ctx *ctx, const pv_dataset *data, const pv_model *model, const pv_stratified *strata,
                        const pv_fit_options *options) {
    char *text = NULL;
    size_t size = 0;
    if (!pv__shares(ctx))
        return PV_OK;
    pv_fit_options usual = pv_fit_options_default();
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory");
    pv__options_lines(stream, pv_fit_option_table, options, &usual);
    if (model)
        pv__print(stream, "model=%.100s, %zu parameters\n", pv_model_spec(model), pv_model_params(model));
    pv__print(stream, "the data=%zu rows, %016llx\n", data->rows, (unsigned long long)data->hash);
    if (options->sample)
        pv__print(stream, "the population sample=%zu rows, %016llx\n", options->sample->rows,
                  (unsigned long long)options->sample->hash);
    if (strata) {
        size_t count = (size_t)strata->strata * (2 + (size_t)strata->classes);
        pv__print(stream, "the strata=%d, %016llx\n", strata->strata,
                  (unsigned long long)pv__hash(strata->share, count * sizeof(double)));
    }
    pv_status status =
        fclose(stream) == 0 && text ? pv__ranks_compare(ctx, text) : pv__fail(ctx, PV_ERR_MEMORY, "out of memory");
    free(text);
    return status;
}
