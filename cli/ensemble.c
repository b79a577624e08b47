/* Ensembles in predict and eval: further models, whose probabilities are averaged with the first one's. */
#include "cli/ensemble.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <math.h>
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

/* What one member adds: its probabilities in the population asked for and in the true one, and its marginal. */
static int add_member(cli_call *call, const cli_ensemble *e, const char *path, size_t members) {
    const pv_classifier *first = e->first;
    size_t count = e->rows * (size_t)first->classes;
    pv_classifier *c = NULL;
    pv_dataset *data = NULL;
    double *loglik = cli_alloc(count, sizeof *loglik), *log_p = cli_alloc(count, sizeof *log_p);
    double *marginal = cli_alloc((size_t)first->classes, sizeof *marginal);
    pv_status status = pv_classifier_load(call->ctx, path, &c);
    if (status == PV_OK)
        status = pv_ensemble_check(call->ctx, first, c, path, e->population);
    if (status == PV_OK)
        status = pv_dataset_apply(call->ctx, e->table, e->roles, c->encoding, c->labels, c->classes, &data);
    bool moved = e->population != PV_POPULATION_TRUE;
    if (status == PV_OK && data->rows == e->rows)
        status = pv_predict_judged(call->ctx, c, data, moved ? PV_POPULATION_KNOWN : PV_POPULATION_TRUE,
                                   moved ? e->prevalence : NULL, loglik, log_p, marginal, NULL, NULL);
    int code = CLI_OK;
    if (status != PV_OK)
        code = cli_fail(call, status);
    else if (data->rows != e->rows)
        code = cli_error(call, PV_ERR_INPUT, path,
                         "uses %zu of the rows, the first model %zu; fit them with the same --votes-min and --binarise",
                         data->rows, e->rows);
    if (code == CLI_OK) {
        pv_ensemble_add(count, members, log_p, e->log_p);
        if (e->loglik)
            pv_ensemble_add(count, members, loglik, e->loglik);
        if (e->log_marginal)
            pv_ensemble_add((size_t)first->classes, members, marginal, e->log_marginal);
    }
    free(loglik);
    free(log_p);
    free(marginal);
    pv_dataset_free(call->ctx, data);
    pv_classifier_free(call->ctx, c);
    return code;
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
