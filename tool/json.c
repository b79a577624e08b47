/* JSON output. Running out of memory ends the program here. */
#include "base/value.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pv_result *cli_json_by_label(char *const *labels, int classes, const double *value) {
    pv_result *object = pv__value_object();
    for (int y = 0; y < classes; y++)
        pv__value_set(object, labels[y], pv__value_real(value[y]));
    return object;
}

pv_result *cli_json_warnings(const cli_call *call) {
    pv_result *list = pv__value_list();
    for (size_t i = 0; i < call->warnings; i++)
        pv__value_append(list, pv__value_text(call->warning[i]));
    return list;
}

/* Builds the whole text before writing any of it. A write error sets the stream's error flag. */
void cli_json_write(pv_ctx *ctx, FILE *out, const pv_result *object) {
    char *text;
    if (pv_result_json(ctx, object, &text) != PV_OK)
        cli_no_memory("for JSON");
    fputs(text, out);
    fputc('\n', out);
    pv_result_text_free(ctx, text);
}

/* Only printed output contains the number of ranks: files are the same for any number. */
void cli_json_print(const cli_call *call, pv_result *object) {
    int ranks = pv_ctx_ranks(call->ctx, NULL);
    if (ranks > 1)
        pv__value_set(object, "ranks", pv__value_integer(ranks));
    cli_json_write(call->ctx, stdout, object);
    pv_result_free(object);
}

pv_result *cli_json_record(pv_ctx *ctx, const pv_classifier *classifier) {
    pv_result *record = NULL;
    if (classifier->record && pv__json_parse(ctx, classifier->record, strlen(classifier->record), &record) != PV_OK)
        cli_no_memory("for JSON");
    return record ? record : pv__value_object();
}
