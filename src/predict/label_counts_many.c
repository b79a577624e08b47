/* Counts of more than two labels, by a recursion over rows that keeps P(S = s) for every s <= c after each row (behind)
 * and one that runs back from the last row (ahead): N prod_y (c_y + 1) numbers, with the most frequent label left out.
 * All sums are of positive numbers. label_counts.c explains the purpose.
 */
#include "predict/label_counts.h"

#include <math.h>
#include <string.h>

#include "base/base.h"

static const size_t ROOM_MAX = (size_t)1 << 24;

/* The label whose count follows from the others. */
static size_t left_out(const pv__label_counts *c) {
    size_t most = 0;
    for (size_t y = 1; y < (size_t)c->classes; y++)
        if (c->count[y] > c->count[most])
            most = y;
    return most;
}

/* Index distance between states that differ by one of a label; 0 for the label left out. */
static void set_strides(const pv__label_counts *c, size_t out) {
    for (size_t y = 0, at = 1; y < (size_t)c->classes; y++) {
        c->stride[y] = y == out ? 0 : at;
        at *= y == out ? 1 : c->count[y] + 1;
    }
}

pv_status pv__label_counts_many_new(pv_ctx *ctx, pv__label_counts *c) {
    size_t k = (size_t)c->classes, out = left_out(c), cells = 1;
    for (size_t y = 0; y < k && cells <= ROOM_MAX; y++)
        cells *= y == out ? 1 : c->count[y] + 1;
    if (cells > ROOM_MAX / (c->rows + 1))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`population=counts`: with %d labels and %zu rows there are too many combinations to sum "
                        "over;\ngive fewer rows, or known:P with their proportions",
                        c->classes, c->rows);
    c->cells = cells;
    PV_TRY(pv__alloc(ctx, c->rows + 1, cells * sizeof *c->behind, &c->behind));
    PV_TRY(pv__alloc(ctx, cells, sizeof *c->ahead, &c->ahead));
    PV_TRY(pv__alloc(ctx, cells, k * sizeof *c->digit, &c->digit));
    PV_TRY(pv__alloc(ctx, k, sizeof *c->stride, &c->stride));
    set_strides(c, out);
    for (size_t s = 0; s < cells; s++) {
        size_t rest = s;
        for (size_t y = 0; y < k; y++) {
            size_t base = y == out ? 1 : c->count[y] + 1;
            c->digit[s * k + y] = (int32_t)(rest % base);
            rest /= base;
        }
    }
    return PV_OK;
}

/* Adds one row. to and from may be the same array, because states are filled from the last. */
static void add_row(const pv__label_counts *c, const double *p, const double *from, double *to) {
    size_t k = (size_t)c->classes;
    const size_t *stride = c->stride;
    for (size_t s = c->cells; s-- > 0;) {
        double sum = 0;
        for (size_t y = 0; y < k; y++)
            if (stride[y] == 0 || c->digit[s * k + y] > 0)
                sum += p[y] * from[s - stride[y]];
        to[s] = sum;
    }
}

/* P(S without a row = c - e_y), from the rows before and after it. */
static double without(const pv__label_counts *c, size_t y, const double *before) {
    size_t k = (size_t)c->classes, stride = c->stride[y], last = c->cells - 1 - stride;
    double sum = 0;
    for (size_t s = 0; s <= last; s++)
        if (stride == 0 || (size_t)c->digit[s * k + y] < c->count[y])
            sum += before[s] * c->ahead[last - s];
    return sum;
}

double pv__label_counts_many(pv__label_counts *c, bool probabilities) {
    size_t k = (size_t)c->classes;
    memset(c->behind, 0, c->cells * sizeof *c->behind);
    c->behind[0] = 1;
    for (size_t i = 0; i < c->rows && !pv__label_counts_stopped(c, i); i++)
        add_row(c, c->work + i * k, c->behind + i * c->cells, c->behind + (i + 1) * c->cells);
    double all = c->behind[(c->rows + 1) * c->cells - 1], *given = c->tilt + 2 * k;
    if (!probabilities || !(all > 0))
        return log(all);
    memset(c->ahead, 0, c->cells * sizeof *c->ahead);
    c->ahead[0] = 1;
    for (size_t i = c->rows; i-- > 0 && !pv__label_counts_stopped(c, i);) {
        double *p = c->work + i * k, sum = 0;
        for (size_t y = 0; y < k; y++)
            sum += given[y] = c->count[y] ? p[y] * without(c, y, c->behind + i * c->cells) : 0;
        add_row(c, p, c->ahead, c->ahead);
        for (size_t y = 0; y < k; y++)
            p[y] = given[y] / sum;
    }
    return log(all);
}
