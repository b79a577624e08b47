/* Streams of record batches, inside the library: the one door for tables that are not files of our own. */
#ifndef PV_DATA_ARROW_H
#define PV_DATA_ARROW_H

#include "data/data.h"
#include "prevail/arrow.h"

/* As pv_table_of_arrow. options (NULL: none): columns in text become texts whatever they hold; those that are not in
 * keep are read over. */
PV_MUST_USE pv_status pv__table_of_stream(pv_ctx *ctx, const char *source, const pv_csv_options *options,
                                          struct ArrowArrayStream *stream, pv_table **table);

#endif
