/* Arrays described by the input, as images with labels, votes, frequencies, groups and spacing; and as a data set whose
 * views are cut.
 */
#include "fuzz.h"

static const char *const names[] = {"images", "labels", "votes", "frequencies", "group", "spacing", "y"};

static void check_images(pv_ctx *ctx, const char *path, const pv_image_roles *roles) {
    pv_images *images;
    pv_status status = pv_images_read(ctx, path, roles, &images);
    if (status != PV_OK) {
        fuzz_refused(ctx, status);
        return;
    }
    float *pixels = fuzz_room(images->planes * images->height * images->width, sizeof *pixels);
    for (size_t i = 0; i < images->rows; i++) {
        pv_images_pixels(images, i, pixels);
        FUZZ_CHECK(!images->label || (images->label[i] >= 0 && images->label[i] < images->classes), "label %d",
                   images->label[i]);
        FUZZ_CHECK(!images->group || (images->group[i] >= 0 && images->group[i] < images->groups), "group %d",
                   images->group[i]);
    }
    if (images->frequency)
        fuzz_sound_probabilities(images->rows, (size_t)images->classes, images->frequency);
    pv_images_free(ctx, images);
}

static void check_views(pv_ctx *ctx, const pv_dataset *data) {
    double *x = fuzz_room(data->rows, (size_t)data->features * sizeof *x);
    pv_dataset_rows(ctx, data, 0, data->rows, x);
    for (size_t i = 0; i < data->rows * (size_t)data->features; i++)
        FUZZ_CHECK(isfinite(x[i]), "a view holds %g", x[i]);
}

static void check_dataset(pv_ctx *ctx, const char *path, const pv_roles *roles) {
    pv_table *table;
    pv_schema *schema = NULL;
    pv_dataset *data = NULL, *applied = NULL;
    const char *text[] = {roles->target};
    pv_csv_options options = {.text = text, .n_text = 1};
    pv_status status = pv_table_read(ctx, path, &options, &table);
    if (status == PV_OK)
        status = pv_schema_learn(ctx, table, roles, &schema, &data);
    if (status == PV_OK) {
        check_views(ctx, data);
        status = pv_schema_apply(ctx, schema, table, roles, &applied);
        FUZZ_CHECK(status == PV_OK, "what was learned cannot be applied: %s", pv_ctx_error(ctx)->message);
        check_views(ctx, applied);
    } else {
        fuzz_refused(ctx, status);
    }
    pv_dataset_free(ctx, applied);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    uint8_t flags = fuzz_byte(&in), more = fuzz_byte(&in);
    pv_image_roles roles = {.views = flags & 1,
                            .unlabelled = flags & 2,
                            .drop_missing = flags & 4,
                            .votes_min = flags >> 3 & 3,
                            .binarise = flags & 0x20 ? 3 : 0,
                            .positive = flags & 0x40 ? "1" : NULL};
    pv_image_options image = {.ready = flags & 1,
                              .votes = more & 1 ? "votes" : NULL,
                              .binarise = roles.binarise,
                              .votes_min = roles.votes_min,
                              .window = more & 2 ? "-2,100" : NULL,
                              .field = more & 4 ? 3 : 0,
                              .rotate = more & 8 ? 180 : 0,
                              .shift = 0.05,
                              .scale = 0.1,
                              .views = 1 + (more >> 4 & 3),
                              .size = 4};
    pv_roles table = {.target = more & 0x40 ? "y" : "labels", .missing = roles.drop_missing, .image = &image};
    fuzz_bytes file = {0};
    fuzz_npz(&in, names, sizeof names / sizeof *names, &file);
    const char *path = fuzz_file(0, file.data, file.size);
    pv_ctx *ctx = fuzz_begin_within(FUZZ_FIXED, FUZZ_PER_BYTE, file.size);
    check_images(ctx, path, &roles);
    check_dataset(ctx, path, &table);
    fuzz_end(ctx);
    free(file.data);
    return 0;
}
