/* A classifier as steps: cells, inputs of the model, log-likelihoods, and the probabilities that pv_predict returns by
 * default, in a population of which only the prevalence may be unknown:
 *
 *   p'(y|x) ~ p(y|x,w) pi_y / p(y|w),   averaged over the posterior's draws, or over a linear model's coefficients.
 */
#include <math.h>

#include "base/text.h"
#include "export/export.h"
#include "infer/infer.h"
#include "model/model.h"

/* The model's output for inputs x, with its parameters or with each draw of them. */
static int describe_model(pv__steps *s, const pv_classifier *c, int x) {
    const pv_model *model = c->model;
    pv__parameters p = {.w = c->w, .count = pv_model_params(model)};
    if (c->posterior) {
        p.draws = c->posterior->draws;
        p.draw_count = c->posterior->count;
        p.dims = c->posterior->dims;
    }
    return model->architecture->describe(model, s, &p, x);
}

/* log p(y|w) of the model's likelihood. */
static int marginal_of(pv__steps *s, const pv_classifier *c, size_t k) {
    return c->posterior ? pv__steps_drawn(s, c->posterior->count, 1, k, c->draw_log_marginal)
                        : pv__steps_matrix(s, 1, k, c->log_marginal);
}

/* The population's prevalence [k]; for two labels the user gives that of the last one. */
static int prevalence_of(const pv__described *d, pv__steps *s, size_t k) {
    if (!d->given)
        return pv__steps_matrix(s, 1, k, d->prevalence);
    int given = pv__steps_prevalence(s, k == 2 ? 1 : k);
    if (k > 2)
        return given;
    const int both[] = {pv__steps_two(s, PV__STEP_SUBTRACT, pv__steps_number(s, 1), given), given};
    return pv__steps_concat(s, both, 2);
}

static void describe(pv__described *d) {
    const pv_classifier *c = d->classifier;
    pv__steps *s = &d->steps;
    size_t k = d->labels;
    int refused, x = pv__describe_features(s, c, d->options, &refused), said = describe_model(s, c, x);
    if (c->averaging && !c->posterior)
        said = pv__steps_one(s, PV__STEP_LOG, pv__describe_average(s, c, x, said));
    if (d->given || d->prevalence) {
        int pi = pv__steps_one(s, PV__STEP_LOG, prevalence_of(d, s, k));
        said = pv__steps_two(s, PV__STEP_SUBTRACT, said, marginal_of(s, c, k));
        said = pv__steps_log_softmax(s, pv__steps_two(s, PV__STEP_ADD, said, pi));
    }
    int p = pv__steps_one(s, PV__STEP_EXP, said);
    if (s->status == PV_OK && p >= 0 && s->step[p].drawn)
        p = pv__steps_one(s, PV__STEP_MEAN, p);
    int usable = pv__steps_two(s, PV__STEP_AT_MOST, refused, pv__steps_number(s, 0));
    d->p = pv__steps_select(s, usable, p, pv__steps_number(s, (double)NAN));
    if (s->status == PV_OK)
        pv__steps_prune(s, &d->p);
}

/* The prevalence to which probabilities are converted; NULL: they are used without conversion. */
static const double *target_of(const pv_classifier *c, const pv_population *population) {
    if (population->kind == PV_POPULATION_TRUE)
        return pv_loss_of_design(c->loss) ? c->prevalence : NULL;
    return population->prevalence;
}

pv_status pv__describe(pv_ctx *ctx, const pv_classifier *c, const pv_export_options *options,
                       const pv_population *population, pv__described *made) {
    *made = (pv__described){.steps = {.ctx = ctx},
                            .classifier = c,
                            .options = options,
                            .given = !population,
                            .prevalence = population ? target_of(c, population) : NULL,
                            .labels = (size_t)c->schema->classes,
                            .label = c->schema->labels};
    if (!c->model->architecture->describe)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`model=%s` cannot be exported:\npredict with it, or fit one of the other models",
                        pv__show(c->model->spec).text);
    describe(made);
    if (made->steps.status == PV_OK)
        return PV_OK;
    pv_status status = made->steps.status;
    pv__steps_clear(&made->steps);
    return status;
}
