/* Inference of the prevalences of three or more labels from cells (label_cells.c, label_cells_interval.c). */
#include <math.h>
#include <string.h>

#include "predict/label_cells.h"
#include "predict/predict.h"

pv_status pv__infer_cells(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_unknown_options *options,
                          const pv__solver *s, pv_unknown_prevalence *out) {
    size_t k = (size_t)sample->classes;
    double alpha[PV__LABELS_MOST], value[PV__LABELS_MOST], sd[PV__LABELS_MOST], scale, sum = 0;
    pv__label_cell_counts counts;
    pv__label_cell_fit mode;
    pv__points points;
    PV_TRY(pv__label_cell_counts_new(ctx, sample, options, &counts));
    pv__label_cells_mode(&counts, &mode);
    PV_TRY(pv__label_cells_interval(ctx, &counts, out->level, options->seed, out->lo, out->hi, &scale));
    for (size_t y = 0; y < k; y++) {
        alpha[y] = 1 + counts.told[y];
        sum += out->value[y] = fmax(mode.pi[y], 0.5 / (counts.targets + 1)); /* as in infer_bins */
    }
    PV_TRY(pv__label_cells_posterior(ctx, &counts, alpha, scale, options->seed, &points, &out->effective));
    pv__points_moments(&points, value, sd);
    out->worth = pv__worth((int)k, value, sd);
    out->weak = out->worth < 10;
    memcpy(out->sd, sd, k * sizeof *sd);
    if (pv__flat_prior(s)) {
        out->movement = pv__points_movement(&points, value, sd, &out->swayed);
        for (size_t y = 0; y < k; y++) {
            out->value[y] /= sum;
            out->lo[y] = fmin(out->lo[y], out->value[y]);
            out->hi[y] = fmax(out->hi[y], out->value[y]);
        }
    } else {
        pv__points_clear(ctx, &points);
        PV_TRY(pv__label_cells_posterior(ctx, &counts, s->posterior, scale, options->seed, &points, &out->effective));
        pv__points_moments(&points, out->value, out->sd);
        out->movement = 0;
        for (size_t y = 0; y < k; y++) {
            double move = fabs(out->value[y] - value[y]);
            out->movement = fmax(out->movement, move / fmax(sd[y], 1e-300));
            out->swayed = out->swayed || (move > sd[y] && move > 0.05);
        }
    }
    out->points = points.count; /* freed with out */
    out->pi = points.pi;
    out->weight = points.weight;
    out->iterations = (int64_t)points.count;
    out->calibrated = true;
    out->stop = PV_STOP_CONVERGED;
    return pv__flat_prior(s) ? PV_OK : pv__points_interval(ctx, &points, out);
}
