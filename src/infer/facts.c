/* What a fit is, in lines that a checkpoint is compared by: the version, the model, the data it learns from, every
 * option that is not at its default. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "infer/infer.h"

static void hash_block(XXH3_state_t *state, const void *data, size_t size) {
    if (data && size)
        XXH3_64bits_update(state, data, size);
}

/* Of what the fit sees, so that it does not matter by which options the table became it. */
static uint64_t hash_dataset(XXH3_state_t *state, const pv_dataset *data) {
    size_t n = data->rows, k = (size_t)data->classes;
    hash_block(state, data->x, n * (size_t)data->features * sizeof *data->x);
    hash_block(state, data->image_row, data->image_row ? n * sizeof *data->image_row : 0);
    hash_block(state, data->label, n * sizeof *data->label);
    hash_block(state, data->frequency, n * k * sizeof *data->frequency);
    hash_block(state, data->weight, n * sizeof *data->weight);
    return XXH3_64bits_digest(state);
}

/* How images become views is part of what is learned from. */
static void hash_image(XXH3_state_t *state, const pv_image_encoding *e) {
    double number[] = {(double)e->layout, (double)e->views, (double)e->size, e->low,   e->high,        e->mean, e->sd,
                       e->field,          e->rotate,        e->shift,        e->scale, (double)e->flip};
    hash_block(state, number, sizeof number);
}

static void write_options(FILE *stream, const pv_fit_options *options) {
    pv_fit_options usual = pv_fit_options_default();
    for (const pv_option *row = pv_fit_option_table; row->name; row++) {
        char own[64], other[64];
        const char *text = own;
        pv_option_get(row, options, own, sizeof own);
        pv_option_get(row, &usual, other, sizeof other);
        if (row->type == PV_OPTION_TEXT) { /* of any length */
            memcpy(&text, (const char *)options + row->offset, sizeof text);
            text = text ? text : "";
        }
        if (strcmp(text, other) == 0)
            continue;
        fprintf(stream, "--%s=", row->name);
        for (const char *c = text; *c; c++)
            fputc(*c == '\n' ? ' ' : *c, stream);
        fputc('\n', stream);
    }
}

pv_status pv__fit_facts(pv_ctx *ctx, const pv_fit_input *input, const pv_dataset *held, const pv_model *model,
                        const pv_fit_options *options) {
    char *text = NULL;
    size_t size = 0;
    if (!ctx->checkpoint)
        return PV_OK;
    XXH3_state_t *state = XXH3_createState();
    FILE *stream = state ? open_memstream(&text, &size) : NULL;
    if (!stream) {
        XXH3_freeState(state);
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory");
    }
    XXH3_64bits_reset(state);
    if (input->data->images) {
        hash_block(state, &input->data_hash, sizeof input->data_hash);
        hash_image(state, input->data->image);
    }
    fprintf(stream, "version=%s\nmodel=%s, %zu parameters\n", PV_VERSION, pv_model_spec(model), pv_model_params(model));
    fprintf(stream, "the data=%zu rows, %016llx\n", input->data->rows,
            (unsigned long long)hash_dataset(state, input->data));
    if (held)
        fprintf(stream, "the validation rows=%zu, %016llx\n", held->rows,
                (unsigned long long)hash_dataset(state, held));
    if (input->sample)
        fprintf(stream, "the population sample=%zu rows, %016llx\n", input->sample->rows,
                (unsigned long long)hash_dataset(state, input->sample));
    write_options(stream, options);
    XXH3_freeState(state);
    pv_status status =
        fclose(stream) == 0 && text ? pv_checkpoint_facts(ctx, text) : pv__fail(ctx, PV_ERR_MEMORY, "out of memory");
    free(text);
    return status;
}
