/* Converting probabilities from one population to another and back restores them; converting to the same population
 * leaves them unchanged.
 */
#include "fuzz.h"

enum { CLASSES_MAX = 5, ROWS = 4 };

/* A distribution whose smallest entry is at least 1e-4 of the largest. */
static void draw_shares(fuzz_input *in, int k, double *p) {
    double sum = 0;
    for (int y = 0; y < k; y++)
        sum += p[y] = exp(fuzz_between(in, -9, 0));
    for (int y = 0; y < k; y++)
        p[y] /= sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    int k = 2 + fuzz_byte(&in) % (CLASSES_MAX - 1);
    double from[CLASSES_MAX], to[CLASSES_MAX], log_from[CLASSES_MAX], log_to[CLASSES_MAX];
    double start[ROWS * CLASSES_MAX], there[ROWS * CLASSES_MAX], back[ROWS * CLASSES_MAX];
    draw_shares(&in, k, from);
    draw_shares(&in, k, to);
    for (int y = 0; y < k; y++) {
        log_from[y] = log(from[y]);
        log_to[y] = log(to[y]);
    }
    for (int i = 0; i < ROWS; i++) {
        for (int y = 0; y < k; y++)
            start[i * k + y] = fuzz_between(&in, -600, 600);
        pv_log_softmax(k, start + i * k, start + i * k);
    }
    pv_adapt(ROWS, k, start, log_from, to, there);
    pv_adapt(ROWS, k, there, log_to, from, back);
    for (int i = 0; i < ROWS * k; i++)
        FUZZ_CHECK(fabs(back[i] - start[i]) <= 1e-12 * (1 + fabs(start[i])), "%.17g came back as %.17g", start[i],
                   back[i]);
    pv_adapt(ROWS, k, start, log_from, from, there);
    for (int i = 0; i < ROWS * k; i++)
        FUZZ_CHECK(fabs(there[i] - start[i]) <= 1e-12 * (1 + fabs(start[i])), "%.17g did not stay: %.17g", start[i],
                   there[i]);
    /* pv_unknown_predict also accepts a known prevalence, and must then agree with pv_adapt. */
    pv_ctx *ctx = fuzz_begin(size);
    pv_unknown_sample sample = {.n = ROWS, .classes = k, .loglik = start, .log_marginal = log_from};
    pv_unknown_prevalence known = {.classes = k, .plugin = to};
    FUZZ_CHECK(pv_unknown_predict(ctx, &sample, &known, NULL, back, NULL, NULL) == PV_OK, "%s",
               pv_ctx_error(ctx)->message);
    pv_adapt(ROWS, k, start, log_from, to, there);
    for (int i = 0; i < ROWS * k; i++)
        FUZZ_CHECK(fabs(there[i] - back[i]) <= 1e-9 * (1 + fabs(there[i])),
                   "%.17g by pv_adapt, %.17g by "
                   "pv_unknown_predict",
                   there[i], back[i]);
    fuzz_end(ctx);
    return 0;
}
