/* Fits a case-control table, and prints the risk of each row of another one (or of the same) in the true population.
 * cc fit.c $(pkg-config --cflags --libs prevail) && ./a.out study.csv outcome 0.01 [new.csv] */
#include <stdio.h>

#include <prevail/prevail.h>

int main(int argc, char **argv) {
    pv_ctx *ctx;
    pv_settings *settings = NULL;
    pv_classifier *model = NULL;
    pv_dataset *people = NULL;
    pv_prediction *said = NULL;
    if (argc < 4)
        return fprintf(stderr, "usage: fit DATA.csv TARGET PREVALENCE [NEW.csv]\n"), 2;
    if (pv_ctx_new(NULL, &ctx) != PV_OK)
        return 1;
    bool good = pv_fit_settings_new(ctx, &settings) == PV_OK &&
                pv_settings_set(ctx, settings, "target", argv[2]) == PV_OK &&
                pv_settings_set(ctx, settings, "prevalence", argv[3]) == PV_OK &&
                pv_learn(ctx, argv[1], settings, &model) == PV_OK &&
                pv_dataset_read(ctx, model->schema, argv[argc > 4 ? 4 : 1], NULL, &people) == PV_OK &&
                pv_predict_in(ctx, model, people, "true", NULL, &said) == PV_OK;
    if (!good)
        fprintf(stderr, "%s\n", pv_ctx_error(ctx)->message);
    for (size_t i = 0; good && i < said->rows; i++)
        printf("%.6g\n", said->p[(i + 1) * (size_t)said->classes - 1]);
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, people);
    pv_classifier_free(ctx, model);
    pv_settings_free(ctx, settings);
    pv_ctx_free(ctx);
    return good ? 0 : 1;
}
