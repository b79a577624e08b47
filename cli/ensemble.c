/* Ensembles in predict and eval: further models, whose probabilities are averaged with the first one's. */
#include "cli/ensemble.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <stdlib.h>
#include <string.h>

/* The names in a list A,B,C; freed by the caller with free, text and all. */
static char **split(const char *list, size_t *count) {
    size_t length = strlen(list), commas = 0;
    for (const char *c = list; *c; c++)
        commas += *c == ',';
    char **names = cli_alloc((commas + 1) * sizeof *names + length + 1, 1), *rest = (char *)(names + commas + 1), *name;
    memcpy(rest, list, length + 1);
    for (*count = 0; (name = strsep(&rest, ","));)
        names[(*count)++] = name;
    return names;
}

static pv_status predict_member(cli_call *call, const cli_ensemble *e, const pv_classifier *c, const char *path,
                                pv_dataset **data, pv_prediction **said) {
    const pv_predict_options wanted = {.likelihood = e->mean->loglik != NULL};
    pv_population *same = NULL; /* the first model's design is not the member's */
    pv_status status = pv_ensemble_check(call->ctx, e->first, c, path, e->population);
    if (status == PV_OK && e->population->kind != PV_POPULATION_TRUE)
        status = pv_population_known(call->ctx, c->classes, e->population->prevalence, &same);
    if (status == PV_OK)
        status = pv_dataset_apply(call->ctx, e->table, e->roles, c->encoding, c->labels, c->classes, data);
    if (status == PV_OK)
        status = pv_predict(call->ctx, c, *data, same, &wanted, said);
    pv_population_free(call->ctx, same);
    return status;
}

static int add_member(cli_call *call, const cli_ensemble *e, const char *path, size_t members) {
    pv_classifier *c = NULL;
    pv_dataset *data = NULL;
    pv_prediction *said = NULL;
    pv_status status = pv_classifier_load(call->ctx, path, &c);
    if (status == PV_OK)
        status = predict_member(call, e, c, path, &data, &said);
    if (status == PV_OK)
        status = pv_ensemble_join(call->ctx, e->mean, members, said, path);
    pv_prediction_free(call->ctx, said);
    pv_dataset_free(call->ctx, data);
    pv_classifier_free(call->ctx, c);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

int cli_ensemble_add(cli_call *call, const char *list, const cli_ensemble *ensemble) {
    if (!list)
        return CLI_OK;
    size_t count;
    char **names = split(list, &count);
    int code = CLI_OK;
    for (size_t i = 0; i < count && code == CLI_OK; i++)
        code = *names[i]
                   ? add_member(call, ensemble, names[i], i + 1)
                   : cli_error(call, PV_ERR_USAGE, NULL, "--ensemble %s: a name is empty; write A.model,B.model", list);
    free(names);
    return code;
}

json_t *cli_json_ensemble(const char *list) {
    json_t *array = cli_json_array();
    size_t count = 0;
    char **names = list ? split(list, &count) : NULL;
    for (size_t i = 0; i < count; i++)
        cli_json_append(array, cli_json_text(names[i]));
    free(names);
    return array;
}
