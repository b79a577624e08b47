/* Tables and models as inputs of fit, predict and eval. */
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

pv_csv_options cli_csv(const cli_call *call) {
    pv_csv_options csv = {0};
    for (const cli_group *group = call->command->groups; group->table; group++)
        if (group->table == pv_csv_option_table)
            memcpy(&csv, (const char *)call->options + group->offset, sizeof csv);
    return csv;
}

int cli_read(cli_call *call, const pv_schema *schema, const char *path, const pv_roles *roles, pv_table **table) {
    pv_csv_options options = cli_csv(call);
    options.roles = roles;
    options.schema = schema;
    pv_status status = pv_table_read(call->ctx, path, &options, table);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

const char *cli_weights(const pv_classifier *classifier, const pv_table *table, const char *given) {
    const char *own = pv_schema_roles(classifier->schema).weights;
    for (size_t c = 0; !given && own && c < table->columns; c++)
        if (strcmp(table->column[c].name, own) == 0)
            return own;
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

void cli_note_dropped(cli_call *call, const char *path, const pv_image_encoding *image, size_t dropped) {
    char why[96];
    if (dropped)
        cli_note(call, "%s%s%zu %s%s %s left out", path ? path : "", path ? ": " : "", dropped, image ? "image" : "row",
                 dropped == 1 ? "" : "s", cli_left_out(image, why, sizeof why));
}

int cli_no_rows(cli_call *call, const char *path, size_t dropped) {
    return dropped ? cli_error(call, PV_ERR_INPUT, path, "no row is left: all %zu have missing cells; fill them in",
                               dropped)
                   : cli_error(call, PV_ERR_INPUT, path, "has no rows");
}

double *cli_log(const double *p, int n) {
    double *logs = cli_alloc((size_t)n, sizeof *logs);
    for (int i = 0; i < n; i++)
        logs[i] = log(p[i]);
    return logs;
}
