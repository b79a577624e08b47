/* Permuting rows must permute predictions: bit-identically for known populations, up to rounding if the prevalence is
 * inferred from the rows.
 */
#include "predicted.h"

enum { ROWS = 7 };

static void shuffle(fuzz_input *in, size_t *order) {
    for (size_t i = 0; i < ROWS; i++)
        order[i] = i;
    for (size_t i = ROWS - 1; i > 0; i--) {
        size_t other = fuzz_byte(in) % (i + 1), held = order[i];
        order[i] = order[other];
        order[other] = held;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    const pv_classifier *c = fuzz_classifier(false);
    size_t order[ROWS], d = (size_t)c->schema->features;
    int method = fuzz_byte(&in) % 3; /* exact, vb, em */
    shuffle(&in, order);
    pv_ctx *ctx = fuzz_begin(size);
    pv_dataset rows = fuzz_rows(&in, ROWS, c->schema->features), moved = rows;
    moved.x = fuzz_room(ROWS * d, sizeof *moved.x);
    for (size_t i = 0; i < ROWS; i++)
        memcpy(moved.x + i * d, rows.x + order[i] * d, d * sizeof *moved.x);
    double a[ROWS * 2], b[ROWS * 2];
    FUZZ_CHECK(pv_predict_loglik(ctx, c, &rows, a) == PV_OK && pv_predict_loglik(ctx, c, &moved, b) == PV_OK, "%s",
               pv_ctx_error(ctx)->message);
    for (size_t i = 0; i < ROWS * 2; i++)
        FUZZ_CHECK(fuzz_same_bits(b[i], a[2 * order[i / 2] + i % 2]), "row %zu: %.17g is not %.17g", i / 2, b[i],
                   a[2 * order[i / 2] + i % 2]);
    pv_unknown_options options = pv_unknown_options_default();
    pv_population *population;
    pv_prediction *first, *second;
    options.method = method;
    FUZZ_CHECK(pv_population_new(ctx, c, "unknown", &options, &population) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    pv_status one = pv_predict(ctx, c, &rows, population, NULL, &first);
    pv_status two = pv_predict(ctx, c, &moved, population, NULL, &second);
    FUZZ_CHECK(one == two, "%s, then %s", pv_status_name(one), pv_status_name(two));
    for (size_t i = 0; one == PV_OK && i < ROWS * 2; i++)
        FUZZ_CHECK(fabs(second->p[i] - first->p[2 * order[i / 2] + i % 2]) <= 1e-6, "row %zu: %.17g is not %.17g",
                   i / 2, second->p[i], first->p[2 * order[i / 2] + i % 2]);
    pv_prediction_free(ctx, first);
    pv_prediction_free(ctx, second);
    pv_population_free(ctx, population);
    fuzz_end(ctx);
    return 0;
}
