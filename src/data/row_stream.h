/* Databases that hand out their results row by row, as streams of Arrow batches. */
#ifndef PV_DATA_ROW_STREAM_H
#define PV_DATA_ROW_STREAM_H

#include "data/arrow.h"

typedef enum pv__cell_kind { PV__CELL_MISSING, PV__CELL_NUMBER, PV__CELL_TEXT, PV__CELL_OTHER } pv__cell_kind;

typedef struct pv__cell {
    pv__cell_kind kind;
    double number;
    const char *text; /* until the next row is asked for. Of a NUMBER: how it is written; NULL: in the shortest form */
    size_t length;
} pv__cell;

/* A result that is read once, from its first row to its last. */
typedef struct pv__rows {
    void *state;
    size_t columns;
    const char *(*name)(void *state, size_t column);
    /* What a column without a value in its first rows holds, as far as the database knows. */
    pv__cell_kind (*declared)(void *state, size_t column);
    int (*next)(void *state); /* 1: there is a row; 0: there is none; -1: failed, or interrupted */
    pv__cell (*cell)(void *state, size_t column);
    const char *(*error)(void *state);
    void (*close)(void *state);
} pv__rows;

/* Takes over rows, which are closed with the stream, or here where it fails. source: for messages. Columns that options
 * do not keep are missing, whatever they hold. A batch is valid until the next one is asked for. */
PV_MUST_USE pv_status pv__rows_stream(pv_ctx *ctx, const char *source, const pv__rows *rows,
                                      const pv_csv_options *options, struct ArrowArrayStream *stream);

#endif
