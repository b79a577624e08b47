/* src/data/packed.h: declarations shared by the writer and the reader of packed tables (packed.c describes the
 * format). */
#ifndef PV_DATA_PACKED_H
#define PV_DATA_PACKED_H

#include <stdatomic.h>
#include <stdint.h>

#include "data/archive.h"
#include "data/data.h"

#define PV__PACKED_MAGIC "prevail packed table 1\n"
enum { PV__PACKED_ALIGN = 4096 };

#define PV__PACKED_LIST(X)                                                                                             \
    X(DOUBLE, "double", double)                                                                                        \
    X(SINGLE, "single", float)                                                                                         \
    X(CODE, "code", int32_t)                                                                                           \
    X(LINE, "line", uint64_t)
typedef enum pv__packed_kind {
#define PV__PACKED_ENUM(name, word, cell) PV__PACKED_##name,
    PV__PACKED_LIST(PV__PACKED_ENUM)
#undef PV__PACKED_ENUM
} pv__packed_kind;

static inline const char *pv__packed_word(pv__packed_kind kind) {
#define PV__PACKED_WORD(name, word, cell) word,
    static const char *const words[] = {PV__PACKED_LIST(PV__PACKED_WORD)};
#undef PV__PACKED_WORD
    return words[kind];
}

static inline size_t pv__packed_cell(pv__packed_kind kind) { /* size in bytes */
#define PV__PACKED_SIZE(name, word, cell) sizeof(cell),
    static const size_t sizes[] = {PV__PACKED_LIST(PV__PACKED_SIZE)};
#undef PV__PACKED_SIZE
    return sizes[kind];
}

struct pv_packed {
    char *path;
    pv__source source;
    int owners;        /* the table, and data sets that assemble their rows from its columns */
    atomic_int failed; /* errno of the first failed read, or SHORTER */
};

static inline uint64_t pv__packed_aligned(uint64_t at) {
    return (at + PV__PACKED_ALIGN - 1) / PV__PACKED_ALIGN * PV__PACKED_ALIGN;
}

#endif
