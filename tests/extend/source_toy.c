/* toy:N?rows: a table of N rows with columns x = 0, 1, 2, ... and y = "odd" or "even". */
#include "base/text.h"
#include "data/query.h"
#include "data/row_stream.h"

typedef struct counter {
    pv_ctx *ctx;
    double at, rows;
} counter;

static const char *name(void *state, size_t column) {
    (void)state;
    return column ? "y" : "x";
}

static pv__cell_kind declared(void *state, size_t column) {
    (void)state;
    return column ? PV__CELL_TEXT : PV__CELL_NUMBER;
}

static int next(void *state) {
    counter *c = state;
    return ++c->at < c->rows;
}

static pv__cell cell(void *state, size_t column) {
    const counter *c = state;
    bool odd = (long)c->at % 2;
    return column ? (pv__cell){.kind = PV__CELL_TEXT, .text = odd ? "odd" : "even", .length = odd ? 3 : 4}
                  : (pv__cell){.kind = PV__CELL_NUMBER, .number = c->at};
}

static const char *error(void *state) {
    (void)state;
    return "";
}

static void close_counter(void *state) {
    pv__free(((counter *)state)->ctx, state);
}

pv_status pv__toy_stream(pv_ctx *ctx, const pv__query *query, const pv_csv_options *options,
                         struct ArrowArrayStream *stream) {
    counter *c;
    PV_TRY(pv__alloc(ctx, 1, sizeof *c, &c));
    *c = (counter){.ctx = ctx, .at = -1};
    if (!pv_parse_real(query->database, &c->rows))
        c->rows = 0;
    const pv__rows rows = {c, 2, name, declared, next, cell, error, close_counter};
    return pv__rows_stream(ctx, query->name, &rows, options, stream);
}
