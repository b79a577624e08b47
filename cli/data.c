/* Tables and models as fit, predict and eval take them. */
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int cli_read_for_fit(cli_call *call, const char *path, const pv_roles *roles, pv_table **table) {
    char **list = NULL;
    size_t n = 0;
    pv_status status = pv_roles_text_columns(call->ctx, roles, &list, &n);
    if (status == PV_OK) {
        pv_csv_options options = {.text = (const char *const *)list, .n_text = n};
        status = pv_table_read(call->ctx, path, &options, table);
        pv_string_list_free(call->ctx, list, n);
    }
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

int cli_read_for_model(cli_call *call, const pv_encoding *encoding, const char *path, const pv_roles *roles,
                       pv_table **table) {
    const char **names = cli_alloc(2 * encoding->sources + 6, sizeof *names);
    const char **text = names, **keep = names + encoding->sources + 2;
    size_t n_text = 0, n_keep = 0;
    for (size_t s = 0; s < encoding->sources; s++) {
        keep[n_keep++] = encoding->source[s].name;
        if (encoding->source[s].type == PV_COLUMN_TEXT)
            text[n_text++] = encoding->source[s].name;
    }
    if (roles->target)
        keep[n_keep++] = text[n_text++] = roles->target;
    if (roles->id)
        keep[n_keep++] = text[n_text++] = roles->id;
    if (roles->weights && *roles->weights)
        keep[n_keep++] = roles->weights;
    /* Columns the model does not use may hold anything. */
    pv_csv_options options = {.text = text, .n_text = n_text, .keep = keep, .n_keep = n_keep};
    pv_status status = pv_table_read(call->ctx, path, &options, table);
    free(names);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

const char *cli_weights(const pv_classifier *classifier, const pv_table *table, const char *given) {
    for (size_t c = 0; !given && *classifier->weights && c < table->columns; c++)
        if (strcmp(table->column[c].name, classifier->weights) == 0)
            return classifier->weights;
    return given;
}

void cli_note_dropped(cli_call *call, const pv_dataset *data) {
    if (data->dropped)
        cli_note(call, "%zu row%s with missing cells left out", data->dropped, data->dropped == 1 ? "" : "s");
}

double *cli_log(const double *p, int n) {
    double *logs = cli_alloc((size_t)n, sizeof *logs);
    for (int i = 0; i < n; i++)
        logs[i] = log(p[i]);
    return logs;
}
