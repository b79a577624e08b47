/* fuzz/predicted.h: rows for the kept classifier. */
#ifndef PV_FUZZ_PREDICTED_H
#define PV_FUZZ_PREDICTED_H

#include "fuzz.h"

/* A matrix [rows][features] of standardised values from the input, including a few extreme ones. */
static inline pv_dataset fuzz_rows(fuzz_input *in, size_t rows, int features) {
    double *x = fuzz_room(rows, (size_t)features * sizeof *x);
    for (size_t i = 0; i < rows * (size_t)features; i++) {
        uint8_t kind = fuzz_byte(in);
        x[i] = fuzz_between(in, -1, 1) * (kind == 0xFF ? 1e6 : kind & 1 ? 5 : 0);
    }
    return (pv_dataset){.rows = rows, .features = features, .x = x};
}

#endif
