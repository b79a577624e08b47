/* tests/unit/check.h: comparisons that print both values and fail on NaN. */
#ifndef PV_TEST_CHECK_H
#define PV_TEST_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prevail/prevail.h"

/* Long loops are shortened under sanitisers. */
#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

#define CHECK_NEAR(got, wanted, tolerance)                                                                             \
    do {                                                                                                               \
        double got_ = (got), wanted_ = (wanted), tolerance_ = (tolerance);                                             \
        if (!(fabs(got_ - wanted_) <= tolerance_)) {                                                                   \
            print_error("%s is %.17g, expected %.17g (off by %g, %g allowed)\n", #got, got_, wanted_, got_ - wanted_,  \
                        tolerance_);                                                                                   \
            fail();                                                                                                    \
        }                                                                                                              \
    } while (0)

#define CHECK_OK(ctx, call)                                                                                            \
    do {                                                                                                               \
        pv_status status_ = (call);                                                                                    \
        if (status_ != PV_OK) {                                                                                        \
            print_error("%s: %s: %s\n", #call, pv_status_name(status_), pv_ctx_error(ctx)->message);                   \
            fail();                                                                                                    \
        }                                                                                                              \
    } while (0)

static inline pv_ctx *check_ctx(int threads) {
    pv_ctx_options options = pv_ctx_options_default();
    options.threads = threads;
    pv_ctx *ctx;
    assert_int_equal(pv_ctx_new(&options, &ctx), PV_OK);
    return ctx;
}

#endif
