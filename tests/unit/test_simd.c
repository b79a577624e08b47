/* The vector functions of base/simd.h compared with libm in long double, in units in the last place, for each
 * instruction set that this processor supports. */
#include "base/base.h"
#include "check.h"
#include "simd_all.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { POINTS = 4096, ROUNDS = 24 };
static uint64_t state = 88172645463325252u;

static uint64_t bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double uniform(void) {
    return (double)(bits() >> 11) * 0x1p-53;
}

static double any(void) { /* any bit pattern: infinities, NaN, subnormal numbers */
    uint64_t x = bits();
    double value;
    memcpy(&value, &x, sizeof value);
    return value;
}

static double around_0(void) {
    return ldexp(2 * uniform() - 1, -(int)(bits() % 60));
}
static double exponents(void) {
    return 1500 * uniform() - 760;
}
static double negative(void) {
    return -707 * uniform();
}
static double around_1(void) {
    return 0.4 + 1.6 * uniform();
}
static double above_minus_1(void) {
    return -1 + 2.5 * uniform();
}
static double turns(void) {
    return uniform();
}

/* The difference in units in the last place; huge if only one is NaN or infinite, or if the signs differ. */
static double ulps(double value, long double wanted) {
    double rounded = (double)wanted;
    if (isnan(rounded))
        return isnan(value) ? 0 : HUGE_VAL;
    if (isinf(rounded) || wanted == 0)
        return value == rounded && signbit(value) == signbit(rounded) ? 0 : HUGE_VAL;
    int exponent;
    (void)frexpl(wanted, &exponent);
    exponent = exponent < DBL_MIN_EXP ? DBL_MIN_EXP : exponent;
    return (double)(fabsl((long double)value - wanted) / ldexpl(1, exponent - DBL_MANT_DIG));
}

#define TURN 6.283185307179586476925286766559006L
/* For t in [0, 1), from which the quarter turn is subtracted exactly first. */
static long double sine_of(long double t) {
    int quarter = (int)lrintl(4 * t);
    long double a = TURN * (t - quarter / 4.0L);
    return quarter % 4 == 0 ? sinl(a) : quarter % 4 == 1 ? cosl(a) : quarter % 4 == 2 ? -sinl(a) : -cosl(a);
}
static long double cosine_of(long double t) {
    int quarter = (int)lrintl(4 * t);
    long double a = TURN * (t - quarter / 4.0L);
    return quarter % 4 == 0 ? cosl(a) : quarter % 4 == 1 ? -sinl(a) : quarter % 4 == 2 ? -cosl(a) : sinl(a);
}

static const struct {
    const char *name;
    long double (*libm)(long double);
    double (*draw)(void);
    int which;
    double most;
} cases[] = {{"exp", expl, any, SIMD_EXP, 1},
             {"exp", expl, exponents, SIMD_EXP, 1},
             {"exp", expl, around_0, SIMD_EXP, 1},
             {"exp_negative", expl, negative, SIMD_EXP_NEGATIVE, 1.1},
             {"log", logl, any, SIMD_LOG, 1},
             {"log", logl, around_1, SIMD_LOG, 1},
             {"log1p", log1pl, any, SIMD_LOG1P, 1},
             {"log1p", log1pl, around_0, SIMD_LOG1P, 1},
             {"log1p", log1pl, above_minus_1, SIMD_LOG1P, 1},
             {"sine", sine_of, turns, SIMD_SINE, 2},
             {"cosine", cosine_of, turns, SIMD_COSINE, 2}};

static void within_an_ulp(void **unused) {
    (void)unused;
    for (size_t isa = 0; isa < simd_isas(); isa++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            double x[POINTS], y[POINTS], worst = 0, at = 0;
            for (int round = 0; round < ROUNDS; round++) {
                for (size_t i = 0; i < POINTS; i++)
                    x[i] = cases[c].draw();
                simd_run(isa, cases[c].which, POINTS, x, y);
                for (size_t i = 0; i < POINTS; i++) {
                    double off = ulps(y[i], cases[c].libm(x[i]));
                    at = off > worst ? x[i] : at;
                    worst = off > worst ? off : worst;
                }
            }
            if (!(worst <= cases[c].most))
                fail_msg("%s (%s) is off by %g ulp at %a", cases[c].name, simd_name(isa), worst, at);
        }
}

static void special_values(void **unused) {
    (void)unused;
    const double x[] = {0,
                        -0.0,
                        INFINITY,
                        -INFINITY,
                        (double)NAN,
                        -1,
                        1,
                        DBL_TRUE_MIN,
                        DBL_MIN,
                        DBL_MAX,
                        -DBL_MAX,
                        -DBL_TRUE_MIN,
                        0x1p-1022,
                        709.782712893384,
                        709.7827128933841,
                        -745.1332191019411,
                        -745.1332191019412,
                        -1 + 0x1p-53,
                        -1 - 0x1p-52,
                        0x1.fffffffffffffp-1,
                        0x1p53,
                        0x1p1023,
                        -708.5,
                        5e-310};
    enum { N = sizeof x / sizeof *x };
    _Static_assert(N % 8 == 0, "whole vectors");
    double y[N];
    for (size_t isa = 0; isa < simd_isas(); isa++)
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            if (cases[c].draw != any)
                continue;
            simd_run(isa, cases[c].which, N, x, y);
            for (size_t i = 0; i < N; i++)
                if (!(ulps(y[i], cases[c].libm(x[i])) <= 1))
                    fail_msg("%s (%s) of %a is %a", cases[c].name, simd_name(isa), x[i], y[i]);
        }
}

/* The bound must be the first argument if NaN is to be preserved. */
static void not_below_its_bound(void **unused) {
    (void)unused;
    const double x[8] = {-709, -1e300, -INFINITY, (double)NAN, 0, -0.0, -708, -1};
    double y[8];
    for (size_t isa = 0; isa < simd_isas(); isa++) {
        simd_run(isa, SIMD_EXP_NEGATIVE, 8, x, y);
        for (int i = 0; i < 3; i++)
            assert_true(y[i] == y[6]);
        assert_true(isnan(y[3]));
        assert_true(y[4] == 1 && y[5] == 1);
        assert_true(fabs(log(y[6]) + 708) < 1e-9);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(within_an_ulp), cmocka_unit_test(special_values),
                                       cmocka_unit_test(not_below_its_bound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
