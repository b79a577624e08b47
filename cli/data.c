/* Tables and models as fit, predict and eval take them. */
#include "common.h"

#include <math.h>
#include <stdlib.h>

int cli_read_table(cli_call *call, const char *path, const char *const *text, size_t n, pv_table **table) {
    pv_csv_options options = {.text = text, .n_text = n};
    pv_status status = pv_table_read(call->ctx, path, &options, table);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

int cli_read_for_model(cli_call *call, const pv_classifier *classifier, const char *path, const pv_roles *roles,
                       pv_table **table) {
    const pv_encoding *encoding = classifier->encoding;
    const char **text = cli_alloc(encoding->sources + 2, sizeof *text);
    size_t n = 0;
    for (size_t s = 0; s < encoding->sources; s++)
        if (encoding->source[s].type == PV_COLUMN_TEXT)
            text[n++] = encoding->source[s].name;
    /* The target counts as text even where it is only in the way, so that anything may stand in it. */
    text[n++] = roles->target ? roles->target : classifier->target;
    if (roles->id)
        text[n++] = roles->id;
    int code = cli_read_table(call, path, text, n, table);
    free(text);
    return code;
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
