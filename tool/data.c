/* Tables and models as fit, predict and eval take them. */
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"

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

/* Whether the model reads the column as numbers. It may name the rows all the same. */
static bool is_number(const pv_encoding *encoding, const char *name) {
    for (size_t s = 0; s < encoding->sources; s++)
        if (strcmp(encoding->source[s].name, name) == 0)
            return encoding->source[s].type == PV_COLUMN_NUMBER;
    return false;
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
    if (roles->id && !is_number(encoding, roles->id))
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

const char *cli_left_out(const pv_image_encoding *image, char *text, size_t size) {
    if (!image)
        snprintf(text, size, "with missing cells");
    else if (!*image->votes)
        snprintf(text, size, "without a label");
    else if (image->binarise > 0)
        snprintf(text, size, "with a mean vote of %.6g, or too few votes,", image->binarise);
    else
        snprintf(text, size, "with too few votes");
    return text;
}

void cli_note_dropped(cli_call *call, const char *path, const pv_dataset *data) {
    char why[96];
    if (data->dropped)
        cli_note(call, "%s%s%zu %s%s %s left out", path ? path : "", path ? ": " : "", data->dropped,
                 data->image ? "image" : "row", data->dropped == 1 ? "" : "s",
                 cli_left_out(data->image, why, sizeof why));
}

double *cli_log(const double *p, int n) {
    double *logs = cli_alloc((size_t)n, sizeof *logs);
    for (int i = 0; i < n; i++)
        logs[i] = log(p[i]);
    return logs;
}
