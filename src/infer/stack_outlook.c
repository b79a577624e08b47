/* Estimates what `model=auto` would gain over a linear model, if that is cheap: for small tables, with candidates that
 * are fitted in milliseconds.
 *
 * Linear models with stated priors, a small network and the linear model with default settings are cross-fitted once,
 * in five folds, and the first ones are mixed (stack_fit.c). The gain is the mean log score of the mixture minus that
 * of the default linear model, on rows used in neither, with weights that were estimated without them. The standard
 * error is that of the difference, by unit.
 */
#include <math.h>
#include <string.h>

#include "infer/stacking.h"

static const double CELLS = 3000; /* rows times features; takes some tenths of a second */

/* Whether the fit has default settings, with which a mixture can be compared. */
static bool is_default(const pv_fit_options *o) {
    return strcmp(o->model, "linear") == 0 && strcmp(o->prior, "usual") == 0 && strcmp(o->weighting, "auto") == 0 &&
           o->infer == PV_INFER_MAP && o->loss == PV_LOSS_IG && !o->bare;
}

pv_status pv_fit_outlook(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                         const pv_classifier *fitted, pv_outlook *outlook) {
    void (*log)(void *, pv_log_level, const char *) = ctx->options.log;
    pv_classifier *mixed = NULL;
    *outlook = (pv_outlook){.lead = (double)NAN, .se = (double)NAN};
    if (!is_default(options) || options->label_error || !fitted->prevalence || fitted->sample_source ||
        fitted->estimated || data->frequency || schema->offset || (double)data->rows * data->features > CELLS)
        return PV_OK;
    pv_fit_options how = *options;
    how.model = "auto";
    how.candidates = "default,prevalence,linear,mlp normal:0.25";
    how.bare = how.glance = true;
    ctx->options.log = NULL;
    pv_status status = pv_fit(ctx, schema, data, &how, &mixed);
    ctx->options.log = log;
    if (status == PV_OK) {
        const pv_candidate *linear =
            &mixed->stacked->candidate[mixed->stacked->count - 1]; /* the last of the candidates (candidates.c) */
        outlook->lead = linear->lead;
        outlook->se = linear->lead_se;
    }
    pv_classifier_free(ctx, mixed);
    return status == PV_ERR_INPUT || status == PV_ERR_USAGE || status == PV_ERR_NUMERIC ? PV_OK : status;
}
