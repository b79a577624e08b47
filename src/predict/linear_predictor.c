/* The linear predictor of each row: log odds or, for matched sets, log odds ratios against a row of zeros. */
#include "predict/predict.h"

#include "infer/infer.h"

/* x^T b on the scale of the table: subtracts the part of the model's intercept that is due to the columns' means. */
static pv_status without_intercept(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, double *eta) {
    enum { BLOCK = 1024 };
    size_t params = pv_model_params(c->model), inputs = (size_t)pv_model_inputs(c->model);
    double *coefficient = NULL, *zero, *loglik, *x = NULL;
    pv_model_work *work = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, 2 * params + 2 * (size_t)BLOCK, sizeof *coefficient, &coefficient));
    PV_GOTO(done, pv__alloc(ctx, BLOCK, inputs * sizeof *x, &x));
    zero = coefficient + params;
    loglik = zero + params;
    PV_GOTO(done, pv__coefficients_of(ctx, c, c->w, coefficient));
    PV_GOTO(done, pv_model_work_new(ctx, c->model, BLOCK, &work));
    for (size_t begin = 0; begin < data->rows; begin += BLOCK) {
        size_t n = data->rows - begin < BLOCK ? data->rows - begin : BLOCK;
        pv_model_forward(c->model, work, c->w, n, pv_dataset_rows(ctx, data, begin, n, x), loglik);
        for (size_t i = 0; i < n; i++)
            eta[begin + i] = loglik[2 * i + 1] - loglik[2 * i] - coefficient[0];
    }
done:
    pv_model_work_free(ctx, work);
    pv__free(ctx, coefficient);
    pv__free(ctx, x);
    return status;
}

pv_status pv_linear_predictor(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, double *eta) {
    if (!pv_model_has_coefficients(c->model) || c->schema->classes != 2)
        return pv__fail(ctx, PV_ERR_USAGE, "a linear predictor is for `model=linear` and two labels");
    if (pv_classifier_is_relative(c))
        return without_intercept(ctx, c, data, eta);
    const pv_predict_options options = pv_predict_options_default();
    pv_classifier linear = *c;
    pv_population *population = NULL;
    pv_prediction *made = NULL;
    pv_status status;
    linear.averaging = NULL; /* the logit of an average risk is not linear */
    PV_GOTO(done, pv_population_new(ctx, c, "true", NULL, &population));
    PV_GOTO(done, pv_predict(ctx, &linear, data, population, &options, &made));
    for (size_t i = 0; i < data->rows; i++)
        eta[i] = made->log_p[2 * i + 1] - made->log_p[2 * i];
done:
    pv_prediction_free(ctx, made);
    pv_population_free(ctx, population);
    return status;
}
