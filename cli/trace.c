/* fit --trace: the course of minibatch training, as CSV. */
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Writes a number as a field; empty if it is NaN. */
static void put_number(FILE *stream, double value) {
    char text[32];
    fputc(',', stream);
    if (isfinite(value)) {
        pv_format_double(value, text, sizeof text);
        fputs(text, stream);
    }
}

static void put_names(FILE *stream, const char *prefix, const pv_classifier *c) {
    for (int y = 0; y < c->schema->classes; y++) {
        size_t size = strlen(prefix) + strlen(c->schema->labels[y]) + 1;
        char *name = cli_alloc(size, 1);
        snprintf(name, size, "%s%s", prefix, c->schema->labels[y]);
        fputc(',', stream);
        pv_csv_field(stream, name);
        free(name);
    }
}

static void put_trace(FILE *stream, const pv_classifier *c) {
    const pv_trace *trace = c->trace;
    size_t k = (size_t)trace->classes;
    fputs("epoch,step,loss,rate,validation,rows_per_second", stream);
    put_names(stream, "marginal__", c);
    put_names(stream, "exact__", c);
    fputc('\n', stream);
    for (size_t i = 0; i < trace->count; i++) {
        const pv_trace_row *row = &trace->row[i];
        fprintf(stream, "%lld,%lld", (long long)row->epoch, (long long)row->step);
        put_number(stream, row->loss);
        put_number(stream, row->rate);
        put_number(stream, row->validation);
        put_number(stream, row->speed);
        for (size_t y = 0; y < k; y++)
            put_number(stream, trace->used[i * k + y]);
        for (size_t y = 0; y < k; y++)
            put_number(stream, trace->exact[i * k + y]);
        fputc('\n', stream);
    }
}

int cli_trace_write(cli_call *call, const char *path, const pv_classifier *classifier) {
    if (!path || !classifier->trace)
        return CLI_OK;
    pv_output output;
    pv_status status = pv_output_open(call->ctx, path, &output);
    if (status == PV_OK) {
        put_trace(output.stream, classifier);
        status = pv_output_commit(call->ctx, &output);
    }
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}
