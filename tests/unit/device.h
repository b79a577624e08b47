/* tests/unit/device.h: a context that requests the device, and comparison of its results. */
#ifndef PV_TEST_DEVICE_H
#define PV_TEST_DEVICE_H

#include "check.h"

/* Skips the test with a message if there is no device. */
static inline pv_ctx *device_ctx(int threads, pv_precision precision) {
    pv_ctx *made = check_ctx(threads);
    const char *text;
    if (!pv_ctx_device(made, &text)) {
        print_message("no device: %s\n", text);
        pv_ctx_free(made);
        skip();
    }
    CHECK_OK(made, pv_ctx_set_device(made, PV_DEVICE_CUDA, precision));
    return made;
}

/* The largest difference, relative to the largest entry of b. */
static inline double away(size_t n, const double *a, const double *b) {
    double most = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
        assert_true(a[i] == a[i]);
    }
    return most / size;
}

#endif
