/* A model file. Input that does not begin like one is a header, a line feed and a payload, and is framed with sizes and
 * checksum, so that the code after these checks is reached. A model that loads must also predict, and save to a file
 * that loads and saves as the same bytes.
 */
#include <xxhash.h>

#include "fuzz.h"

/* The name of a text column is part of the names of up to 199 features. */
enum { PER_BYTE = 512 };

static fuzz_bytes frame(const uint8_t *data, size_t size) {
    static const char magic[] = "prevail-model 1\n";
    fuzz_bytes file = {0};
    if (size >= 8 && memcmp(data, magic, 8) == 0) {
        fuzz_append(&file, data, size);
        return file;
    }
    const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
    size_t header = end ? (size_t)(end - data) : size, payload = end ? size - header - 1 : 0;
    uint8_t *whole = fuzz_room(size + 1, 1);
    if (size)
        memcpy(whole, data, header);
    if (payload)
        memcpy(whole + header, end + 1, payload);
    char line[128];
    int used = snprintf(line, sizeof line, "%s%zu %zu %016llx\n", magic, header, payload,
                        (unsigned long long)XXH3_64bits(whole, header + payload));
    fuzz_append(&file, line, (size_t)used);
    fuzz_append(&file, data, header);
    fuzz_append(&file, "\n", 1);
    fuzz_append(&file, end ? end + 1 : data, payload);
    return file;
}

/* From memory as from a file: the same result, the same message, the same bytes. */
static void check_memory(pv_ctx *ctx, const fuzz_bytes *file, const char *path, const pv_classifier *loaded,
                         pv_status status) {
    char message[sizeof pv_ctx_error(ctx)->message];
    memcpy(message, pv_ctx_error(ctx)->message, sizeof message);
    pv_classifier *c;
    pv_status own = pv_classifier_from_bytes(ctx, path, file->data, file->size, &c);
    FUZZ_CHECK(own == status, "from memory: %s, from the file: %s", pv_status_name(own), pv_status_name(status));
    if (status != PV_OK) {
        FUZZ_CHECK(strcmp(message, pv_ctx_error(ctx)->message) == 0, "from memory: %s, from the file: %s",
                   pv_ctx_error(ctx)->message, message);
        return;
    }
    unsigned char *left, *right;
    size_t n_left, n_right;
    FUZZ_CHECK(pv_classifier_to_bytes(ctx, c, &left, &n_left) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    FUZZ_CHECK(pv_classifier_to_bytes(ctx, loaded, &right, &n_right) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    FUZZ_CHECK(n_left == n_right && memcmp(left, right, n_left) == 0, "from memory and from the file the bytes differ");
    FUZZ_CHECK(pv_classifier_save(ctx, c, fuzz_output()) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    fuzz_input saved = fuzz_slurp(fuzz_output());
    FUZZ_CHECK(saved.size == n_left && memcmp(saved.data, left, n_left) == 0,
               "in memory and in the file the bytes differ");
    pv_bytes_free(ctx, left);
    pv_bytes_free(ctx, right);
    pv_classifier_free(ctx, c);
}

static void check_predictions(pv_ctx *ctx, const pv_classifier *c) {
    enum { ROWS = 3 };
    size_t k = (size_t)c->schema->classes, d = (size_t)c->schema->features;
    if (c->schema->image || d > 1000 || k > 100 || pv_model_params(c->model) > 100000)
        return;
    double *x = fuzz_room(ROWS * d, sizeof *x);
    for (size_t i = 0; i < ROWS * d; i++)
        x[i] = (double)(i % 5) - 2;
    pv_dataset data = {.rows = ROWS, .features = (int)d, .x = x};
    const pv_predict_options wanted = {.level = c->posterior ? 0.9 : 0, .likelihood = true};
    pv_status status;
    for (int unknown = 0; unknown <= (c->reference != NULL); unknown++) { /* uses the reference rows */
        pv_population *population;
        pv_prediction *said = NULL;
        status = pv_population_new(ctx, c, unknown ? "unknown" : "design", NULL, &population);
        FUZZ_CHECK(status == PV_OK, "%s", pv_ctx_error(ctx)->message);
        status = pv_predict(ctx, c, &data, population, &wanted, &said);
        if (status != PV_OK)
            fuzz_refused(ctx, status);
        pv_prediction_free(ctx, said);
        pv_population_free(ctx, population);
    }
    double *coefficients = fuzz_room((k - 1) * (d + 1), sizeof *coefficients);
    bool coefficients_too = pv_model_has_coefficients(c->model) || pv_model_has_thresholds(c->model);
    if (coefficients_too && (status = pv_classifier_coefficients(ctx, c, coefficients)) != PV_OK)
        fuzz_refused(ctx, status);
}

static void check_saving(pv_ctx *ctx, const pv_classifier *c) {
    const char *path = fuzz_output();
    pv_classifier *again;
    FUZZ_CHECK(pv_classifier_save(ctx, c, path) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    fuzz_input first = fuzz_slurp(path);
    FUZZ_CHECK(pv_classifier_load(ctx, path, &again) == PV_OK, "what was saved cannot be loaded: %s",
               pv_ctx_error(ctx)->message);
    FUZZ_CHECK(pv_classifier_save(ctx, again, path) == PV_OK, "%s", pv_ctx_error(ctx)->message);
    fuzz_input second = fuzz_slurp(path);
    FUZZ_CHECK(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
               "saved twice, the bytes differ");
    pv_classifier_free(ctx, again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pv_ctx *ctx = fuzz_begin_within(FUZZ_FIXED, PER_BYTE, size);
    pv_classifier *c;
    fuzz_bytes file = frame(data, size);
    const char *path = fuzz_file(0, file.data, file.size);
    pv_status status = pv_classifier_load(ctx, path, &c);
    check_memory(ctx, &file, path, c, status);
    free(file.data);
    if (status != PV_OK) {
        fuzz_refused(ctx, status);
    } else {
        check_predictions(ctx, c);
        check_saving(ctx, c);
    }
    pv_classifier_free(ctx, c);
    fuzz_end(ctx);
    return 0;
}
