/* Views: planes through known functions, the fixed set, random orientations; what is learned from images; pretrained
 * weights. */
#include "infer/infer.h"

#include "fixture.h"

enum { D = 12, H = 13, W = 14, S = 6 };

/* The volume's function of its indices: linear interpolation reproduces it, so its views are exact. */
static double affine(double z, double y, double x) {
    return 2 * z - 3 * y + 0.5 * x + 7;
}

static double product(double z, double y, double x) {
    return 0.1 * x * y * z - x * y + z * x - 2;
}

typedef struct volume {
    pv_images images;
    double pixels[2 * D * H * W], spacing[6];
    size_t index[2];
} volume;

static pv_images *make_volume(volume *v, double (*f)(double, double, double), const double *spacing) {
    for (size_t i = 0; i < 2 * (size_t)D * H * W; i++)
        v->pixels[i] = f((double)(i / (H * W) % D), (double)(i / W % H), (double)(i % W)) + (i >= D * H * W);
    v->index[0] = 0;
    v->index[1] = 1;
    for (int i = 0; spacing && i < 6; i++)
        v->spacing[i] = spacing[i % 3];
    v->images = (pv_images){.rows = 2,
                            .layout = PV_IMAGES_VOLUMES,
                            .planes = D,
                            .height = H,
                            .width = W,
                            .index = v->index,
                            .spacing = spacing ? v->spacing : NULL,
                            .pixels = {.type = PV_ARRAY_F64,
                                       .element = 8,
                                       .dims = 4,
                                       .shape = {2, D, H, W},
                                       .count = 2 * D * H * W,
                                       .bytes = (const unsigned char *)v->pixels}};
    return &v->images;
}

static pv_image_encoding plain_encoding(size_t views, double field) {
    return (pv_image_encoding){.layout = PV_IMAGES_VOLUMES,
                               .views = views,
                               .size = S,
                               .low = -INFINITY,
                               .high = INFINITY,
                               .mean = 0,
                               .sd = 1,
                               .field = field,
                               .rotate = 180};
}

/* The first triplet of the fixed set is along the axes; its values are those of the function, also between voxels. */
static void test_axes(void **state) {
    (void)state;
    static volume v;
    const double spacing[3] = {2, 0.8, 0.5};
    pv_images *images = make_volume(&v, product, spacing);
    pv_image_encoding e = plain_encoding(3, 4.2);
    double x[3 * S * S];
    pv_views_cut(&e, images, 1, NULL, x);
    for (int view = 0; view < 3; view++)
        for (int i = 0; i < S; i++)
            for (int j = 0; j < S; j++) {
                double a = (i - 2.5) * 4.2 / S, b = (j - 2.5) * 4.2 / S, at[3] = {0, 0, 0};
                at[view == 0 ? 1 : 0] = a; /* the planes y x, z x, z y */
                at[view == 2 ? 1 : 2] = b;
                double wanted = 1 + product((D - 1) / 2.0 + at[0] / spacing[0], (H - 1) / 2.0 + at[1] / spacing[1],
                                            (W - 1) / 2.0 + at[2] / spacing[2]);
                near(x[(view * S + i) * S + j], wanted, 1e-12 * (1 + fabs(wanted)));
            }
}

/* Slopes of a view of an affine function along its rows and columns; second differences vanish. */
static void slopes_of(const double *x, double *down, double *right) {
    *down = x[S] - x[0];
    *right = x[1] - x[0];
    for (int i = 0; i + 1 < S; i++)
        for (int j = 0; j + 1 < S; j++) {
            near(x[(i + 1) * S + j] - x[i * S + j], *down, 1e-11);
            near(x[i * S + j + 1] - x[i * S + j], *right, 1e-11);
        }
}

/* A triplet's planes are orthogonal: over the three, each direction occurs twice, so the squared slopes of an affine
 * function sum to twice its squared gradient. Orientations are uniform: each slope has a third of it on average. */
static void test_random_triplets(void **state) {
    (void)state;
    enum { DRAWS = 4000 };
    static volume v;
    const double spacing[3] = {1.25, 1, 0.75}, slope[3] = {2 / 1.25, -3, 0.5 / 0.75};
    pv_images *images = make_volume(&v, affine, spacing);
    pv_image_encoding e = plain_encoding(6, 4);
    double x[6 * S * S], length = 0, h = 4.0 / S, sum = 0, square = 0;
    for (int i = 0; i < 3; i++)
        length += slope[i] * slope[i];
    for (uint64_t n = 0; n < DRAWS; n++) {
        pv_rng rng = pv_rng_stream(3, 41, n);
        pv_views_cut(&e, images, 0, &rng, x);
        for (int triplet = 0; triplet < 2; triplet++) {
            double total = 0, down, right;
            for (int i = 0; i < 3; i++) {
                const double *view = x + (3 * triplet + i) * S * S;
                slopes_of(view, &down, &right);
                total += down * down + right * right;
                near((view[0] + view[S * S - 1]) / 2, affine((D - 1) / 2.0, (H - 1) / 2.0, (W - 1) / 2.0), 1e-11);
            }
            near(total, 2 * length * h * h, 1e-10);
            double share = down * down / (length * h * h); /* a squared cosine: mean 1/3, variance 4/45 */
            sum += share;
            square += share * share;
        }
    }
    near(sum / (2 * DRAWS), 1.0 / 3, 4 * sqrt(4.0 / 45 / (2 * DRAWS)));
    near(square / (2 * DRAWS), 1.0 / 5, 4 * sqrt((1.0 / 9 - 1.0 / 25) / (2 * DRAWS)));
}

/* Scale changes slopes, shift the middle, mirroring the sign; each within its bounds and varying. */
static void test_augmentation(void **state) {
    (void)state;
    static volume v;
    pv_images *images = make_volume(&v, affine, NULL);
    images->layout = PV_IMAGES_PLANES;
    images->planes = 1;
    pv_image_encoding e = plain_encoding(1, 4);
    e.rotate = 0;
    e.shift = 0.1;
    e.scale = 0.2;
    e.flip = true;
    double x[S * S], down, right, least = 9, most = 0, lowest = 9, highest = -9;
    int mirrored = 0;
    for (uint64_t n = 0; n < 500; n++) {
        pv_rng rng = pv_rng_stream(3, 41, n), again = rng;
        double second[S * S];
        pv_views_cut(&e, images, 0, &rng, x);
        pv_views_cut(&e, images, 0, &again, second);
        assert_memory_equal(x, second, sizeof x);
        slopes_of(x, &down, &right);
        double scale = down / (-3 * 4.0 / S),
               middle = (x[0] + x[S * S - 1]) / 2 - affine(0, (H - 1) / 2.0, (W - 1) / 2.0);
        near(fabs(right), 0.5 * scale * 4 / S, 1e-11);
        mirrored += right < 0;
        least = fmin(least, scale);
        most = fmax(most, scale);
        lowest = fmin(lowest, middle);
        highest = fmax(highest, middle);
    }
    assert_true(least >= 0.8 && least < 0.82 && most <= 1.2 && most > 1.18);
    assert_true(highest <= 0.4 * 3.5 && highest > 1 && lowest >= -0.4 * 3.5 && lowest < -1);
    near(mirrored, 250, 4 * sqrt(125));
}

/* Without rotation and at the image's own size there is no interpolation; the window clips, then values are
 * standardised.
 */
static void test_identity(void **state) {
    (void)state;
    uint8_t bytes[2 * S * S];
    for (int i = 0; i < 2 * S * S; i++)
        bytes[i] = (uint8_t)(7 * i % 251);
    size_t index[2] = {1, 0};
    pv_images images = {
        .rows = 2,
        .layout = PV_IMAGES_PLANES,
        .planes = 1,
        .height = S,
        .width = S,
        .index = index,
        .pixels = {
            .type = PV_ARRAY_U8, .element = 1, .dims = 3, .shape = {2, S, S}, .count = sizeof bytes, .bytes = bytes}};
    pv_image_encoding e = plain_encoding(2, S);
    e.rotate = 0;
    e.low = 20;
    e.high = 200;
    e.mean = 90;
    e.sd = 4;
    double x[2 * S * S];
    pv_views_cut(&e, &images, 0, NULL, x);
    for (int i = 0; i < 2 * S * S; i++) {
        double pixel = bytes[S * S + i % (S * S)];
        near(x[i], (fmin(fmax(pixel, 20), 200) - 90) / 4, 1e-12);
    }
    e.field = 50; /* beyond the border, the border's pixels are repeated */
    pv_views_cut(&e, &images, 1, NULL, x);
    near(x[0], (fmax(bytes[0], 20) - 90) / 4, 1e-12);
    near(x[S * S - 1], (fmin(bytes[S * S - 1], 200) - 90) / 4, 1e-12);
}

/* ---- learned encoding -------------------------------------------------------------------------------------------- */

static void learn(const pv_image_options *options, pv_schema **schema, pv_dataset **data) {
    pv_table *table;
    ok(pv_table_read(ctx, PV_TEST_DIR "/arrays/discs.npz", NULL, &table));
    assert_true(table->arrays);
    pv_roles roles = {.target = "labels", .image = options};
    ok(pv_schema_learn(ctx, table, &roles, schema, data));
    pv_table_free(ctx, table);
}

static void test_learned(void **state) {
    (void)state;
    pv_image_options options = {0};
    pv_options_default(pv_image_option_table, &options);
    options.views = 2;
    options.size = 6;
    options.window = "40,100";
    pv_schema *schema;
    pv_dataset *data;
    learn(&options, &schema, &data);
    assert_int_equal(data->rows, 48);
    assert_int_equal(data->features, 72);
    near(schema->image->field, 12 / (sqrt(2) * 1.1 + 0.1), 1e-12);
    double sum = 0, square = 0, n = 48 * 144;
    float pixels[144];
    for (size_t i = 0; i < 48; i++) {
        pv_images_pixels(data->images, i, pixels);
        for (int j = 0; j < 144; j++) {
            double value = fmin(fmax((double)pixels[j], 40), 100);
            sum += value;
            square += value * value;
        }
    }
    near(schema->image->mean, sum / n, 1e-9);
    near(schema->image->sd, sqrt(square / n - sum / n * sum / n), 1e-9);
    /* Rows taken for a fold show the same views. */
    size_t rows[2] = {7, 3};
    pv_dataset *taken;
    ok(pv_dataset_take(ctx, data, 2, rows, &taken));
    double whole[48 * 72], some[2 * 72];
    pv_dataset_rows(ctx, data, 0, 48, whole);
    pv_dataset_rows(ctx, taken, 0, 2, some);
    assert_memory_equal(some, whole + 7 * 72, 72 * sizeof(double));
    assert_memory_equal(some + 72, whole + 3 * 72, 72 * sizeof(double));
    assert_int_equal(taken->label[0], data->label[7]);
    pv_dataset_free(ctx, taken);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
}

/* The model file stores how views are cut: predictions after loading are bit-identical. */
static void test_round_trip(void **state) {
    (void)state;
    pv_image_options options = {0};
    pv_options_default(pv_image_option_table, &options);
    options.views = 2;
    options.size = 6;
    pv_schema *schema;
    pv_dataset *data;
    learn(&options, &schema, &data);
    pv_fit_options fit = pv_fit_options_default();
    fit.model = "convnet:views=2,size=6,low=4,channels=8,features=8";
    fit.prevalence = "0.1";
    fit.epochs = 1;
    pv_classifier *made, *loaded;
    ok(pv_fit(ctx, schema, data, &fit, &made));
    ok(pv_classifier_save(ctx, made, path));
    ok(pv_classifier_load(ctx, path, &loaded));
    double before[96], after[96];
    ok(pv_predict_loglik(ctx, made, data, before));
    data->image = loaded->schema->image;
    ok(pv_predict_loglik(ctx, loaded, data, after));
    assert_memory_equal(before, after, sizeof before);
    pv_classifier_free(ctx, made);
    pv_classifier_free(ctx, loaded);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
}

/* The three input channels are summed, both sets of names are accepted, and other sizes are rejected. */
static void test_pretrained(void **state) {
    (void)state;
    pv_model *model;
    ok(pv_model_new(ctx, "convnet:views=1,size=8,low=2,channels=4,features=3", 64, 2, &model));
    size_t params = pv_model_params(model), low = pv__model_low_params(model);
    double *w = calloc(2 * params, sizeof *w), *other = w + params;
    ok(pv__pretrained_load(ctx, model, PV_TEST_DIR "/arrays/vgg.npz", w));
    ok(pv__pretrained_load(ctx, model, PV_TEST_DIR "/arrays/vgg_last.npz", other));
    assert_int_equal(low, 2 * 9 + 2 + 2 * 2 * 9 + 2);
    for (int o = 0; o < 2; o++)
        for (int t = 0; t < 9; t++)
            near(w[o * 9 + t], 3 * (3 * (27 * o + t) + 3 * 9) - 21, 1e-12);
    near(w[18], 0.5, 0);
    near(w[19], -0.25, 0);
    for (int i = 0; i < 36; i++)
        near(w[20 + i], 3 * i - 7, 0);
    near(w[57], 3, 0);
    for (size_t i = 0; i < params; i++)
        near(other[i], i < low ? w[i] : 0, 0);
    pv_model_free(ctx, model);
    ok(pv_model_new(ctx, "convnet:views=1,size=8,low=3,channels=4,features=3", 64, 2, &model));
    assert_int_equal(pv__pretrained_load(ctx, model, PV_TEST_DIR "/arrays/vgg.npz", w), PV_ERR_INPUT);
    says("array 'features.0.weight' has the wrong shape: [3][3][3][3] is expected");
    pv_model_free(ctx, model);
    free(w);
}

static pv_status learn_poor(pv_ctx *poor) {
    pv_image_options options = {0};
    pv_options_default(pv_image_option_table, &options);
    options.views = 2;
    options.size = 6;
    options.votes = "votes";
    pv_roles roles = {.target = "votes", .image = &options};
    pv_table *table = NULL;
    pv_schema *schema = NULL;
    pv_dataset *data = NULL, *applied = NULL;
    pv_status status = pv_table_read(poor, PV_TEST_DIR "/arrays/discs.npz", NULL, &table);
    if (status == PV_OK)
        status = pv_schema_learn(poor, table, &roles, &schema, &data);
    if (status == PV_OK)
        status = pv_schema_apply(poor, schema, table, &roles, &applied);
    pv_dataset_free(poor, applied);
    pv_dataset_free(poor, data);
    pv_schema_free(poor, schema);
    pv_table_free(poor, table);
    return status;
}

static void test_memory(void **state) {
    (void)state;
    sweep_memory(learn_poor);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_axes),         cmocka_unit_test(test_random_triplets),
                                       cmocka_unit_test(test_augmentation), cmocka_unit_test(test_identity),
                                       cmocka_unit_test(test_learned),      cmocka_unit_test(test_round_trip),
                                       cmocka_unit_test(test_pretrained),   cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests_name("views", tests, setup, teardown);
}
