/* Ensembles in predict and eval: averages the probabilities of further models with those of the first. */
#include "cli/ensemble.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <stdlib.h>
#include <string.h>

char **cli_names(const char *list, size_t *count) {
    size_t length = strlen(list), commas = 0;
    for (const char *c = list; *c; c++)
        commas += *c == ',';
    char **names = cli_alloc((commas + 1) * sizeof *names + length + 1, 1), *rest = (char *)(names + commas + 1), *name;
    memcpy(rest, list, length + 1);
    for (*count = 0; (name = strsep(&rest, ","));)
        names[(*count)++] = name;
    return names;
}

static int add_member(cli_call *call, const pv_ensemble_rows *rows, const char *path, size_t members,
                      pv_prediction *mean) {
    pv_classifier *c;
    pv_status status = pv_classifier_load(call->ctx, path, &c);
    if (status == PV_OK)
        status = pv_ensemble_add(call->ctx, rows, c, path, members, mean);
    pv_classifier_free(call->ctx, c);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

int cli_ensemble_add(cli_call *call, const char *list, const pv_ensemble_rows *rows, pv_prediction *mean) {
    if (!list)
        return CLI_OK;
    size_t count;
    char **names = cli_names(list, &count);
    int code = CLI_OK;
    for (size_t i = 0; i < count && code == CLI_OK; i++)
        code = *names[i]
                   ? add_member(call, rows, names[i], i + 1, mean)
                   : cli_error(call, PV_ERR_USAGE, NULL, "--ensemble %s: a name is empty; write A.model,B.model", list);
    free(names);
    return code;
}

pv_result *cli_json_ensemble(const char *list) {
    pv_result *array = pv__value_list();
    size_t count = 0;
    char **names = list ? cli_names(list, &count) : NULL;
    for (size_t i = 0; i < count; i++)
        pv__value_append(array, pv__value_text(names[i]));
    free(names);
    return array;
}
