/* The information gain from any framework: log-likelihoods and labels in, loss and gradient out. */
#include <math.h>
#include <stdio.h>

#include <prevail/prevail.h>

int main(void) {
    /* log p(y|x_n) of four people from your model, two cases and two controls. */
    double p[4] = {0.02, 0.005, 0.04, 0.01}, loglik[4][2], gradient[4][2], value;
    int32_t label[4] = {0, 0, 1, 1};
    double prevalence[2] = {0.99, 0.01};
    for (int n = 0; n < 4; n++) {
        loglik[n][0] = log1p(-p[n]);
        loglik[n][1] = log(p[n]);
    }

    pv_targets targets = {.n = 4, .classes = 2, .label = label};
    pv_prevalence population = {.classes = 2, .prevalence = prevalence, .prevalence_n = 100};
    pv_ctx *ctx;
    pv_full_loss *loss = NULL;
    if (pv_ctx_new(NULL, &ctx) != PV_OK)
        return 1;
    pv_status status = pv_full_loss_new(ctx, PV_LOSS_IG, PV_MARGINAL_PROFILE, &targets, &population, &loss);
    if (status == PV_OK)
        status = pv_full_loss_eval(ctx, loss, &loglik[0][0], &value, &gradient[0][0]);
    if (status == PV_OK) {
        printf("loss %.6f, p(y=1|w) %.6f\n", value, exp(pv_full_loss_log_marginal(loss)[1]));
        for (int n = 0; n < 4; n++) /* pass these to your backward pass */
            printf("d loss / d log-likelihood of row %d: %9.6f %9.6f\n", n, gradient[n][0], gradient[n][1]);
    } else {
        fprintf(stderr, "%s\n", pv_ctx_error(ctx)->message);
    }
    pv_full_loss_free(ctx, loss);
    pv_ctx_free(ctx);
    return status == PV_OK ? 0 : 1;
}
