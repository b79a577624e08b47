/* Streams of record batches, inside the library: the one door for tables that are not files of our own. */
#ifndef PV_DATA_ARROW_H
#define PV_DATA_ARROW_H

#include "data/data.h"
#include "prevail/arrow.h"

/* A flag of our own schemas: a column of texts that are numbers, of which each keeps its spelling. */
#define PV__ARROW_NUMBERS ((int64_t)1 << 40)

/* As pv_table_of_arrow. options (NULL: none): columns in text become texts whatever they hold; those that are not in
 * keep are read over, and a stream's batches may leave them out (all of them). */
PV_MUST_USE pv_status pv__table_of_stream(pv_ctx *ctx, const char *source, const pv_csv_options *options,
                                          struct ArrowArrayStream *stream, pv_table **table);

/* The same in pieces. The stream is taken over, also where this fails; source and options must outlive the reader. */
typedef struct pv__arrow pv__arrow;
PV_MUST_USE pv_status pv__arrow_open(pv_ctx *ctx, const char *source, const pv_csv_options *options,
                                     struct ArrowArrayStream *stream, pv__arrow **arrow);
/* The next rows, in whole batches: at least so many, where there are. NULL behind the last. */
PV_MUST_USE pv_status pv__arrow_next(pv__arrow *arrow, size_t rows, pv_table **table);
void pv__arrow_close(pv__arrow *arrow); /* NULL is fine */

#endif
