/* prevail predict --scale lp: the linear predictor of each row. */
#include "cli/linear_predictor.h"

#include <stdlib.h>

#include "cli/predictions.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"

typedef struct work {
    pv_classifier *classifier;
    pv_table *table;
    pv_dataset *data;
    double *eta;
    size_t id;
    cli_predictions out;
} work;

static int no_more(cli_call *call, void *state, bool *more) {
    (void)call;
    (void)state;
    *more = false;
    return CLI_OK;
}

static int nothing(cli_call *call, void *state) {
    (void)call;
    (void)state;
    return CLI_OK;
}

static const cli_predictions *show(void *state) {
    return state;
}

static int compute(cli_call *call, const cli_lp_options *options, work *w) {
    const pv_roles roles = {.id = options->id, .missing = options->missing, .unseen = options->unseen};
    pv_status status = pv_classifier_load(call->ctx, call->argument[0], &w->classifier);
    if (status != PV_OK)
        return cli_fail(call, status);
    int code = cli_read(call, w->classifier->schema, call->argument[1], &roles, &w->table);
    if (code != CLI_OK)
        return code;
    status = pv_schema_apply(call->ctx, w->classifier->schema, w->table, &roles, &w->data);
    if (status == PV_OK && w->data->rows == 0)
        return cli_no_rows(call, call->argument[1], w->data->dropped);
    if (status == PV_OK && options->id)
        status = pv_table_find(call->ctx, w->table, "--id", options->id, &w->id);
    if (status != PV_OK)
        return cli_fail(call, status);
    w->eta = cli_alloc(w->data->rows, sizeof *w->eta);
    status = pv_linear_predictor(call->ctx, w->classifier, w->data, w->eta);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

int cli_predict_lp(cli_call *call, const cli_lp_options *options) {
    work w = {.classifier = NULL};
    int code = cli_check_output(call, options->output);
    if (code == CLI_OK)
        code = compute(call, options, &w);
    if (code == CLI_OK) {
        w.out = (cli_predictions){.labels = w.classifier->schema->labels,
                                  .rows = w.data->rows,
                                  .lp = w.eta,
                                  .table = w.table,
                                  .row = w.data->table_row,
                                  .copy = &w.id,
                                  .copies = options->id ? 1 : 0};
        const cli_pieces pieces = {.read = no_more, .compute = nothing, .show = show, .state = &w.out};
        code = cli_write_pieces(call, &pieces, options->output);
    }
    if (code == CLI_OK)
        cli_note_dropped(call, NULL, NULL, w.data->dropped);
    free(w.eta);
    pv_dataset_free(call->ctx, w.data);
    pv_table_free(call->ctx, w.table);
    pv_classifier_free(call->ctx, w.classifier);
    return code;
}
