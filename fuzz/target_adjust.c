/* Five lines of options (columns, target, weights, further columns, positive), then a file of probabilities, which are
 * converted to a population of unknown prevalence by every method, as in `prevail adjust`. Also votes and labels of the
 * same table.
 */
#include "fuzz.h"

static void check_moved(pv_ctx *ctx, const pv_probs *probs) {
    size_t n = probs->data->rows, k = (size_t)probs->classes;
    if (n < 2 || n > 200 || k > 5)
        return;
    double *loglik = fuzz_room(n * k, sizeof *loglik), *p = fuzz_room(n * k, sizeof *p), marginal[5], confusion[25];
    for (size_t y = 0; y < k; y++)
        marginal[y] = log(1.0 / (double)k);
    for (size_t i = 0; i < n * k; i++)
        loglik[i] = log(probs->p[i]);
    pv_unknown_sample sample = {.n = n,
                                .classes = (int)k,
                                .loglik = loglik,
                                .log_marginal = marginal,
                                .label = probs->data->label,
                                .weight = probs->data->weight};
    for (int method = PV_UNKNOWN_BINS; method <= PV_UNKNOWN_BBSE; method++) {
        pv_unknown_options options = pv_unknown_options_default();
        pv_unknown_prevalence *found;
        options.method = method;
        options.draws = 100;
        options.max_iter = 200;
        if (method == PV_UNKNOWN_BBSE && pv_confusion(ctx, &sample, probs->labels, confusion) == PV_OK)
            options.confusion = confusion;
        pv_status status = pv_unknown_infer(ctx, &sample, probs->labels, &options, &found);
        if (status != PV_OK) {
            fuzz_refused(ctx, status);
            continue;
        }
        fuzz_sound_probabilities(1, k, found->value);
        status = pv_unknown_predict(ctx, &sample, found, p, NULL, NULL, NULL);
        if (status == PV_OK)
            fuzz_sound_probabilities(n, k, p);
        else
            fuzz_refused(ctx, status);
        pv_unknown_prevalence_free(ctx, found);
    }
}

static void check_votes(pv_ctx *ctx, const pv_probs *probs, const char *columns, bool drop) {
    size_t n = probs->data->rows, k = (size_t)probs->classes, dropped = 0;
    double *frequency = fuzz_room(n * k, sizeof *frequency), *weight = fuzz_room(n, sizeof *weight);
    pv_status status = pv_votes_read(ctx, probs->table, columns, probs->labels, probs->classes, probs->data->table_row,
                                     n, drop, frequency, weight, &dropped);
    if (status == PV_OK)
        fuzz_sound_probabilities(n, k, frequency);
    else
        fuzz_refused(ctx, status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pv_ctx *ctx = fuzz_begin_within(32 << 20, FUZZ_PER_BYTE, size);
    fuzz_input in = {data, size};
    pv_probs_options options = {.columns = fuzz_line(&in),
                                .target = fuzz_line(&in),
                                .weights = fuzz_line(&in),
                                .also = fuzz_line(&in),
                                .positive = fuzz_line(&in),
                                .all = size & 1,
                                .drop_missing = size & 2};
    pv_probs *probs;
    pv_status status = pv_probs_read(ctx, fuzz_file(0, in.data, in.size), &options, &probs);
    if (status == PV_OK) {
        fuzz_sound_probabilities(probs->data->rows, (size_t)probs->classes, probs->p);
        check_moved(ctx, probs);
        if (options.also)
            check_votes(ctx, probs, options.also, options.drop_missing);
        int32_t *label = fuzz_room(probs->data->rows, sizeof *label);
        if (options.target &&
            pv_table_labels(ctx, probs->table, "`labels`", options.target, probs->labels, probs->classes,
                            probs->data->rows, probs->data->table_row, label) == PV_OK)
            for (size_t i = 0; i < probs->data->rows; i++)
                FUZZ_CHECK(label[i] >= -1 && label[i] < probs->classes, "label %d", label[i]);
    } else {
        fuzz_refused(ctx, status);
    }
    pv_probs_free(ctx, probs);
    fuzz_end(ctx);
    return 0;
}
