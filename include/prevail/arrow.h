/* prevail/arrow.h: reads tables from Apache Arrow's C stream interface. Data frames of other libraries (pandas, polars,
 * pyarrow, DuckDB) are passed this way without a file, and mostly without a copy on their side. The structs below are
 * those of https://arrow.apache.org/docs/format/CStreamInterface.html. */
#ifndef PREVAIL_ARROW_H
#define PREVAIL_ARROW_H

#include "prevail/data.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* Makes a table of all batches of a stream whose elements are structs; each child is a column. The table is used like
 * one read from a CSV file with the same content. Numeric columns of any size and decimals become numbers; strings,
 * string views and dictionaries of any type become texts; booleans become the texts False and True; dates and
 * timestamps become days since 1970-01-01. Nulls and NaN are missing. Other types (times of day, durations, binaries,
 * lists, structs) are rejected with the column's name. Checked: lengths, offsets, numbers of buffers and children, and
 * codes. The size of a buffer cannot be checked, since the interface does not provide it. All data are copied. The
 * stream and its batches are released in every case. The caller frees *table. */
PV_MUST_USE pv_status pv_table_of_arrow(pv_ctx *ctx, const char *source, struct ArrowArrayStream *stream,
                                        pv_table **table);

#ifdef __cplusplus
}
#endif
#endif
