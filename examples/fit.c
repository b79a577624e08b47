/* Fits a case-control table and prints the risk of each of its rows in the true population.
 * cc fit.c $(pkg-config --cflags --libs prevail) && ./a.out study.csv outcome 0.01 */
#include <stdio.h>

#include <prevail/prevail.h>

int main(int argc, char **argv) {
    if (argc != 4)
        return fprintf(stderr, "usage: fit DATA.csv TARGET PREVALENCE\n"), 2;
    pv_ctx *ctx;
    pv_table *table = NULL;
    pv_encoding *encoding = NULL;
    pv_dataset *data = NULL;
    pv_classifier *model = NULL;
    char **labels = NULL;
    pv_prediction *said = NULL;
    if (pv_ctx_new(NULL, &ctx) != PV_OK)
        return 1;

    const char *text[] = {argv[2]}; /* labels are text, whatever they look like */
    pv_csv_options csv = {.text = text, .n_text = 1};
    pv_roles roles = {.target = argv[2]};
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = argv[3];

    pv_status status = pv_table_read(ctx, argv[1], &csv, &table);
    if (status == PV_OK)
        status = pv_dataset_learn(ctx, table, &roles, &encoding, &labels, &data);
    pv_fit_input input = {.data = data, .encoding = encoding, .labels = labels, .target = argv[2]};
    if (status == PV_OK)
        status = pv_fit(ctx, &input, &options, &model);
    if (status == PV_OK)
        status = pv_predict(ctx, model, data, NULL, NULL, &said);
    if (status == PV_OK) {
        for (size_t i = 0; i < said->rows; i++)
            printf("%.6g\n", said->p[i * (size_t)said->classes + (size_t)said->classes - 1]);
    } else {
        fprintf(stderr, "%s\n", pv_ctx_error(ctx)->message);
    }
    pv_prediction_free(ctx, said);
    pv_classifier_free(ctx, model);
    pv_string_list_free(ctx, labels, data ? (size_t)data->classes : 0);
    pv_dataset_free(ctx, data);
    pv_encoding_free(ctx, encoding);
    pv_table_free(ctx, table);
    pv_ctx_free(ctx);
    return status == PV_OK ? 0 : 1;
}
