/* src/data/arrow_cells.h: the cells of an array of Arrow's C data interface, read by the format of its type. Everything
 * that can be checked is checked, since an array may be malformed.
 */
#ifndef PV_DATA_ARROW_CELLS_H
#define PV_DATA_ARROW_CELLS_H

#include "data/data.h"
#include "prevail/arrow.h"

typedef enum pv__arrow_kind {
    PV__ARROW_NONE,    /* all missing */
    PV__ARROW_BOOL,    /* bits */
    PV__ARROW_NUMBER,  /* of an array type */
    PV__ARROW_HALF,    /* 2 bytes */
    PV__ARROW_DECIMAL, /* 4, 8 or 16 bytes */
    PV__ARROW_TEXT,    /* offsets of 4 bytes */
    PV__ARROW_LARGE,   /* offsets of 8 bytes */
    PV__ARROW_VIEW,    /* views of 16 bytes */
    PV__ARROW_OTHER
} pv__arrow_kind;

typedef struct pv__arrow_type {
    pv__arrow_kind kind;
    pv_array_type number; /* NUMBER */
    double units;         /* NUMBER: divisor, for dates the time units per day */
    size_t width;         /* DECIMAL: bytes */
    int decimals;         /* DECIMAL: digits after the point; negative: zeros before it */
} pv__arrow_type;

bool pv__arrow_is_text(pv__arrow_kind kind);
pv__arrow_type pv__arrow_type_of(const char *format);

/* One array of a batch after checking; its elements from .. from + n - 1 are used. */
typedef struct pv__arrow_piece {
    const struct ArrowArray *array;
    size_t from, n;
    const unsigned char *valid; /* bits; NULL: all valid */
    const unsigned char *data;  /* the second buffer */
} pv__arrow_piece;

/* Returns NULL if the array is valid, else what is wrong with it. The array must have skip + n elements from its own
 * offset on. */
const char *pv__arrow_take(const struct ArrowArray *array, pv__arrow_kind kind, size_t skip, size_t n,
                           pv__arrow_piece *p);
static inline bool pv__arrow_bit(const unsigned char *bits, size_t at) {
    return bits[at / 8] >> (at % 8) & 1;
}
static inline bool pv__arrow_present(const pv__arrow_piece *p, size_t i) {
    return !p->valid || pv__arrow_bit(p->valid, p->from + i);
}

/* [piece->n], NaN for missing elements. */
void pv__arrow_numbers(const pv__arrow_type *type, const pv__arrow_piece *p, double *to);
/* The text of a valid element, in memory of the array; false: its position is not in the array. */
bool pv__arrow_text(pv__arrow_kind kind, const pv__arrow_piece *p, size_t i, const char **text, size_t *length);
/* A valid number as it is written in CSV files: every digit of integers and decimals, dates as dates. */
enum { PV__ARROW_CELL = 160 }; /* 39 digits, 76 zeros, a sign and a point */
size_t pv__arrow_number_text(const pv__arrow_type *type, const pv__arrow_piece *p, size_t i, char text[PV__ARROW_CELL]);
/* An index into a dictionary; false: not a number from 0. */
bool pv__arrow_index(pv_array_type type, const pv__arrow_piece *p, size_t i, int64_t *index);

#endif
