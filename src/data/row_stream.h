/* src/data/row_stream.h: Arrow streams from databases that return their results row by row. */
#ifndef PV_DATA_ROW_STREAM_H
#define PV_DATA_ROW_STREAM_H

#include "data/arrow.h"

typedef enum pv__cell_kind { PV__CELL_MISSING, PV__CELL_NUMBER, PV__CELL_TEXT, PV__CELL_OTHER } pv__cell_kind;

typedef struct pv__cell {
    pv__cell_kind kind;
    double number;
    const char *text; /* valid until the next row. For a NUMBER: its spelling; NULL: the shortest form */
    size_t length;
} pv__cell;

/* A result that is read once from first row to last. */
typedef struct pv__rows {
    void *state;
    size_t columns;
    const char *(*name)(void *state, size_t column);
    /* The declared type of a column that has no value in the first rows. */
    pv__cell_kind (*declared)(void *state, size_t column);
    int (*next)(void *state); /* 1: there is a row; 0: end; -1: failed or interrupted */
    pv__cell (*cell)(void *state, size_t column);
    const char *(*error)(void *state);
    void (*close)(void *state);
} pv__rows;

/* Takes ownership of rows, which are closed with the stream, or at once on failure. source: for messages. Columns that
 * options do not keep are returned as missing. A batch is valid until the next one is requested. */
PV_MUST_USE pv_status pv__rows_stream(pv_ctx *ctx, const char *source, const pv__rows *rows,
                                      const pv_csv_options *options, struct ArrowArrayStream *stream);

#endif
