/* prevail/arrow.h: tables from Apache Arrow's C stream interface, by which data frames of other libraries (pandas,
 * polars, pyarrow, DuckDB) come without a file and mostly without a copy on their side.
 * https://arrow.apache.org/docs/format/CStreamInterface.html has the structs, which are the same everywhere. */
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

/* A table of all batches of a stream whose elements are structs, one child a column; used as one that was read from a
 * CSV file of the same content. Columns of numbers, of any size, and decimals are numbers; texts, views of texts and
 * dictionaries of anything are texts; booleans are the texts False and True; dates and timestamps are days since
 * 1970-01-01. Nulls, and NaN, are missing. Other types are refused with the column's name: times of day, durations,
 * binaries, lists, structs. What the interface lets be checked is: lengths, offsets, numbers of buffers and children,
 * codes; a buffer's own size it does not tell. All is copied. The stream is released in any case, and so are its
 * batches. The caller frees *table. */
PV_MUST_USE pv_status pv_table_of_arrow(pv_ctx *ctx, const char *source, struct ArrowArrayStream *stream,
                                        pv_table **table);

#ifdef __cplusplus
}
#endif
#endif
