// cc fit.c $(pkg-config --cflags --libs prevail) && ./a.out study.csv outcome 0.01 people.csv
#include <prevail/prevail.h>
#include <stdio.h>
#include <stdlib.h>

static void need(pv_ctx *ctx, pv_status status) {
    if (status == PV_OK)
        return;
    fprintf(stderr, "%s\n", pv_ctx_message(ctx));
    exit(1);
}

int main(int argc, char **argv) {
    pv_ctx *ctx;
    pv_settings *settings;
    pv_classifier *model;
    pv_dataset *people;
    pv_prediction *said;
    pv_judgement *worth;
    if (argc != 5)
        return fprintf(stderr, "usage: fit STUDY.csv TARGET PREVALENCE PEOPLE.csv\n"), 2;
    if (pv_ctx_new(NULL, &ctx) != PV_OK) // NULL here and below: defaults
        return 1;
    need(ctx, pv_fit_settings_new(ctx, &settings));
    need(ctx, pv_settings_set(ctx, settings, "outcome", argv[2]));
    need(ctx, pv_settings_set(ctx, settings, "prevalence", argv[3]));
    need(ctx, pv_learn(ctx, argv[1], settings, &model));
    pv_roles labelled = pv_schema_roles(model->schema); // also read the outcomes; NULL here: do not
    need(ctx, pv_dataset_read(ctx, model->schema, argv[4], &labelled, NULL, &people));
    need(ctx, pv_predict_in(ctx, model, people, "true", NULL, &said));
    pv_judge_options judge = pv_judge_options_default();
    judge.stated_for = "population"; // weight rows to the population
    need(ctx, pv_judge_in(ctx, model, people, "true", &judge, &worth));
    for (size_t i = 0; i < said->rows; i++) // [rows][classes], positive label last
        printf("%.6g\n", said->p[i * (size_t)said->classes + 1]);
    const pv_assessment *found = &worth->found; // value, and lo and hi of a 95 % interval
    fprintf(stderr, "AUC %.3f [%.3f, %.3f], ", found->value.auc, found->lo.auc, found->hi.auc);
    fprintf(stderr, "log loss %.4f ", found->value.log_loss);
    fprintf(stderr, "[%.4f, %.4f]\n", found->lo.log_loss, found->hi.log_loss);
    pv_judgement_free(ctx, worth);
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, people);
    pv_classifier_free(ctx, model);
    pv_settings_free(ctx, settings);
    pv_ctx_free(ctx);
    return 0;
}
