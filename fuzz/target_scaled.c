/* Changing a column's unit must not change predictions: multiplying by a power of two gives a bit-identical matrix and
 * model; any scale and shift give the same probabilities up to the optimiser's tolerance.
 */
#include "fuzz.h"

enum { ROWS = 30 };

typedef struct fitted {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *classifier;
    double p[ROWS * 2];
} fitted;

static pv_status fit(pv_ctx *ctx, const double *x, const double *z, const uint8_t *y, fitted *f) {
    static char text[ROWS * 80];
    size_t used = (size_t)snprintf(text, sizeof text, "y,x,z\n");
    for (size_t i = 0; i < ROWS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%.17g,%.17g\n", y[i], x[i], z[i]);
    static const char *const target[] = {"y"};
    pv_csv_options csv = {.text = target, .n_text = 1};
    pv_roles roles = {.target = "y"};
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.02";
    *f = (fitted){0};
    pv_status status = pv_table_read(ctx, fuzz_file(0, text, used), &csv, &f->table);
    if (status == PV_OK)
        status = pv_schema_learn(ctx, f->table, &roles, &f->schema, &f->data);
    if (status == PV_OK)
        status = pv_fit(ctx, f->schema, f->data, &options, &f->classifier);
    if (status == PV_OK)
        status = pv_predict_loglik(ctx, f->classifier, f->data, f->p);
    return status;
}

static void clear(pv_ctx *ctx, fitted *f) {
    pv_classifier_free(ctx, f->classifier);
    pv_dataset_free(ctx, f->data);
    pv_schema_free(ctx, f->schema);
    pv_table_free(ctx, f->table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    int power = (int)fuzz_byte(&in) % 61 - 30;
    double factor = exp(fuzz_between(&in, -6, 6)), shift = fuzz_between(&in, -3, 3);
    double x[ROWS], z[ROWS], doubled[ROWS], moved[ROWS];
    uint8_t y[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        x[i] = fuzz_between(&in, -4, 4) + 1e-2 * (double)(i * i % 17);
        z[i] = fuzz_between(&in, -4, 4) + 1e-2 * (double)(i * i % 13);
        y[i] = (fuzz_byte(&in) + i) % 2;
        doubled[i] = ldexp(x[i], power);
        moved[i] = x[i] * factor + shift;
    }
    pv_ctx *ctx = fuzz_begin_within(32 << 20, 0, size);
    fitted plain, twice, other;
    pv_status a = fit(ctx, x, z, y, &plain), b = fit(ctx, doubled, z, y, &twice), c = fit(ctx, moved, z, y, &other);
    FUZZ_CHECK(a == b, "%s, scaled by 2^%d %s", pv_status_name(a), power, pv_status_name(b));
    if (a == PV_OK) {
        for (size_t i = 0; i < ROWS * 2; i++) {
            FUZZ_CHECK(fuzz_same_bits(plain.data->x[i], twice.data->x[i]), "%.17g became %.17g", plain.data->x[i],
                       twice.data->x[i]);
            FUZZ_CHECK(fuzz_same_bits(plain.p[i], twice.p[i]), "%.17g became %.17g", plain.p[i], twice.p[i]);
        }
        bool both =
            plain.classifier->stop == PV_STOP_CONVERGED && c == PV_OK && other.classifier->stop == PV_STOP_CONVERGED;
        for (size_t i = 0; both && i < ROWS * 2; i++)
            FUZZ_CHECK(fabs(exp(plain.p[i]) - exp(other.p[i])) <= 1e-5, "%.17g became %.17g", exp(plain.p[i]),
                       exp(other.p[i]));
    }
    clear(ctx, &plain);
    clear(ctx, &twice);
    clear(ctx, &other);
    fuzz_end(ctx);
    return 0;
}
