/* src/data/arrow.h: streams of record batches; all tables that are not in our own file formats arrive this way. */
#ifndef PV_DATA_ARROW_H
#define PV_DATA_ARROW_H

#include "data/data.h"
#include "prevail/arrow.h"

/* A flag of schemas made by the library: a text column whose texts are numbers and keep their spelling. */
#define PV__ARROW_NUMBERS ((int64_t)1 << 40)

/* Like pv_table_of_arrow. options (NULL: none): columns in `text` become text in any case; columns not in `keep` are
 * skipped, and the batches of a stream may leave them out (all of them or none). */
PV_MUST_USE pv_status pv__table_of_stream(pv_ctx *ctx, const char *source, const pv_csv_options *options,
                                          struct ArrowArrayStream *stream, pv_table **table);

/* Reads the table in pieces. Takes ownership of the stream, also on failure. source and options must outlive the
 * reader. */
typedef struct pv__arrow pv__arrow;
PV_MUST_USE pv_status pv__arrow_open(pv_ctx *ctx, const char *source, const pv_csv_options *options,
                                     struct ArrowArrayStream *stream, pv__arrow **arrow);
/* The next rows, in whole batches: at least `rows` of them, if there are that many. NULL at the end. */
PV_MUST_USE pv_status pv__arrow_next(pv__arrow *arrow, size_t rows, pv_table **table);
void pv__arrow_close(pv__arrow *arrow); /* NULL is fine */

#endif
