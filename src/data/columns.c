/* Learns the mean and scale of a column of numbers. The scale is the standard deviation, unless a few extreme values
 * dominate it (spread.c).
 *
 * One pass computes sums about the mean of the first cells. If that is more than a standard deviation from the overall
 * mean, as in a sorted column, a second pass computes them about the mean found, which removes the rounding error of
 * the first. If all rows count alike, the pass that looks for missing cells is the first pass. Numbers whose squares
 * would leave the range of a double are scaled by a power of two. Sums of blocks of rows are added in order.
 */
#include <math.h>

#include "data/columns.h"
#include "data/spread.h"

PV_KERNELS_GET(pv__column_kernels, pv__column_kernels_get, pv__column_kernels)

bool pv__all_rows(const pv_table *table, const pv_dataset *data) {
    bool all = data->rows == table->rows;
    for (size_t i = 0; all && i < data->rows; i++)
        all = data->table_row[i] == i;
    return all;
}

enum { BLOCK = 1024 }; /* rows summed together */

pv__numbers pv__numbers_read(pv__numbers numbers, size_t first, size_t n, double *room) {
    if (!numbers.file && numbers.wide)
        return (pv__numbers){.wide = numbers.wide + first};
    if (!numbers.file)
        return (pv__numbers){.narrow = numbers.narrow + first};
    if (numbers.wide) {
        pv__packed_bytes(numbers.file, numbers.wide + first, n * sizeof *numbers.wide, room);
        return (pv__numbers){.wide = room};
    }
    pv__packed_bytes(numbers.file, numbers.narrow + first, n * sizeof *numbers.narrow, room);
    return (pv__numbers){.narrow = (const float *)(const void *)room};
}

void pv__numbers_expect(pv__numbers numbers, size_t first, size_t last) {
    if (numbers.file && numbers.wide)
        pv__packed_expect(numbers.file, numbers.wide + first, (last - first) * sizeof *numbers.wide);
    else if (numbers.file)
        pv__packed_expect(numbers.file, numbers.narrow + first, (last - first) * sizeof *numbers.narrow);
}

/* For a subset of the rows: reads a stretch of the table at once if it contains several of them. */
void pv__numbers_gather(pv__numbers numbers, const size_t *row, size_t n, double *buffer) {
    enum { STRETCH = 512 };
    double stretch[STRETCH];
    for (size_t i = 0; i < n;) {
        size_t end = i + 1, first = row[i];
        while (numbers.file && end < n && row[end] >= first && row[end] - first < STRETCH)
            end++;
        pv__numbers here = pv__numbers_read(numbers, first, row[end - 1] - first + 1, stretch);
        for (; i < end; i++)
            buffer[i] = pv__number_at(here, row[i] - first);
    }
}

void pv__cursor_begin(pv__numbers numbers, const pv_dataset *data, bool all_rows, pv__cursor *cursor) {
    cursor->numbers = numbers;
    cursor->data = data;
    cursor->all_rows = all_rows;
    cursor->first = cursor->rows = 0;
}

enum { AHEAD = 1 << 19 }; /* rows of read-ahead requested from the system */

/* Rows begin .. begin+rows-1 of a column in a file, read into the cursor's buffer. */
static pv__numbers stretch_at(pv__cursor *c, size_t begin, size_t rows, size_t table_rows) {
    size_t most = sizeof c->room / (c->numbers.wide ? sizeof(double) : sizeof(float));
    if (begin < c->first || begin + rows > c->first + c->rows) {
        c->first = begin;
        c->rows = most < table_rows - begin ? most : table_rows - begin;
        size_t next = (begin / AHEAD + 1) * AHEAD;
        if ((begin < most || begin / AHEAD != (begin - most) / AHEAD) && next < table_rows)
            pv__numbers_expect(c->numbers, next, next + AHEAD < table_rows ? next + AHEAD : table_rows);
        (void)pv__numbers_read(c->numbers, c->first, c->rows, c->room);
    }
    size_t at = begin - c->first;
    if (c->numbers.wide)
        return (pv__numbers){.wide = c->room + at};
    return (pv__numbers){.narrow = (const float *)(const void *)c->room + at};
}

const double *pv__cursor_block(pv__cursor *cursor, size_t begin, size_t rows, size_t table_rows, double *buffer) {
    pv__numbers numbers = cursor->numbers;
    if (!cursor->all_rows) {
        pv__numbers_gather(numbers, cursor->data->table_row + begin, rows, buffer);
        return buffer;
    }
    numbers = numbers.file ? stretch_at(cursor, begin, rows, table_rows) : pv__numbers_read(numbers, begin, rows, NULL);
    if (numbers.wide)
        return numbers.wide;
    pv__column_kernels_get()->widen(rows, numbers.narrow, buffer);
    return buffer;
}

static bool all_finite(pv__numbers numbers, size_t rows) {
    const pv__column_kernels *kernels = pv__column_kernels_get();
    bool finite = true;
    double block[BLOCK];
    pv__cursor cursor;
    if (numbers.wide && !numbers.file)
        return kernels->finite(rows, numbers.wide);
    pv__cursor_begin(numbers, NULL, true, &cursor);
    for (size_t begin = 0; finite && begin < rows; begin += BLOCK) {
        size_t n = rows - begin < BLOCK ? rows - begin : BLOCK;
        finite = kernels->finite(n, pv__cursor_block(&cursor, begin, n, rows, block));
    }
    return finite;
}

static bool all_known(const int32_t *code, size_t rows) {
    int32_t either = 0; /* OR of all indices: negative if any is */
    for (size_t i = 0; i < rows; i++)
        either |= code[i];
    return either >= 0;
}

/* rows: number of rows in the data; weight NULL: all 1. */
static pv__moments sum_rows(pv__cursor *cursor, size_t rows, const double *weight, double factor, double shift) {
    const pv__column_kernels *kernels = pv__column_kernels_get();
    pv__moments sums = {.least = HUGE_VAL, .largest = -HUGE_VAL};
    double taken[BLOCK];
    for (size_t begin = 0; begin < rows; begin += BLOCK) {
        size_t n = rows - begin < BLOCK ? rows - begin : BLOCK;
        const double *x = pv__cursor_block(cursor, begin, n, rows, taken);
        kernels->moments(n, x, weight ? weight + begin : NULL, factor, shift, &sums);
    }
    return sums;
}

/* A value that is usually near the mean: the mean of the first cells, or the first cell if that mean is not usable. */
static double near_mean(pv__cursor *cursor, size_t rows) {
    double sum = 0, first = 0, count = 0, taken[BLOCK];
    for (size_t begin = 0; begin < rows && count == 0; begin += BLOCK) {
        size_t n = rows - begin < BLOCK ? rows - begin : BLOCK;
        const double *x = pv__cursor_block(cursor, begin, n, rows, taken);
        for (size_t i = 0; i < n; i++) {
            first = count == 0 && !isnan(x[i]) ? x[i] : first;
            sum += isnan(x[i]) ? 0 : x[i];
            count += !isnan(x[i]);
        }
    }
    return count > 0 && isfinite(sum) ? sum / count : first;
}

/* The first look at a column of numbers: whether it has missing cells, and if not, its sums. */
static bool summarise(pv__numbers numbers, size_t rows, pv__glance *glance) {
    pv__cursor cursor;
    pv__cursor_begin(numbers, NULL, true, &cursor);
    glance->shift = near_mean(&cursor, rows);
    if (!isfinite(glance->shift))
        return false;
    glance->sums = sum_rows(&cursor, rows, NULL, 1, glance->shift);
    const pv__moments *sums = &glance->sums;
    glance->known = sums->weight == (double)rows && isfinite(sums->least) && isfinite(sums->largest);
    return glance->known;
}

pv_status pv__columns_whole(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, bool *whole) {
#pragma omp parallel for num_threads(pv__columns_team(ctx, plan->features, table->rows)) schedule(dynamic)
    for (size_t f = 0; f < plan->features; f++) {
        const pv_column *own = &table->column[plan->feature[f]];
        if (!pv__encoding_makes(ctx, plan, f))
            continue;
        pv__numbers numbers = pv__table_numbers(table, plan->feature[f]);
        if (own->type != PV_COLUMN_NUMBER)
            whole[f] = all_known(own->code, table->rows);
        else if (plan->glance)
            whole[f] = summarise(numbers, table->rows, &plan->glance[f]);
        else
            whole[f] = all_finite(numbers, table->rows);
    }
    return plan->shared ? pv__share_array(ctx, plan->features, whole, sizeof *whole) : PV_OK;
}

/* A power of two that brings the column near 1 if the squares of its differences, times weights of 1e-100 to 1e100,
 * could leave the range of a double; else 0. */
static int exponent_for(const pv__moments *sums) {
    double range = sums->largest - sums->least;
    int most = ilogb(fmax(fabs(sums->least), fabs(sums->largest)));
    if (range > 1e-90 && range < 1e90)
        return 0;
    return most < -1000 ? 1000 : -most;
}

/* The scale in units of the standard deviation. */
static double spread_of(pv__cursor *cursor, const pv_dataset *data, double mean, double sd, pv__spread_bins *bins) {
    double taken[BLOCK];
    pv__spread_begin(bins);
    for (size_t begin = 0; begin < data->rows; begin += BLOCK) {
        size_t n = data->rows - begin < BLOCK ? data->rows - begin : BLOCK;
        const double *x = pv__cursor_block(cursor, begin, n, data->rows, taken);
        for (size_t i = 0; i < n; i++)
            if (!isnan(x[i]))
                pv__spread_add(bins, (x[i] - mean) / sd, data->weight ? data->weight[begin + i] : 1);
    }
    return pv__spread_scale(bins);
}

void pv__scale_learn(pv__numbers numbers, const pv_dataset *data, bool all_rows, const pv__glance *glance,
                     pv__spread_bins *bins, double *mean, double *sd) {
    pv__cursor cursor;
    pv__cursor_begin(numbers, data, all_rows, &cursor);
    bool known = glance && glance->known && all_rows && !data->weight;
    double shift = known ? glance->shift : near_mean(&cursor, data->rows);
    *mean = *sd = 0;
    pv__moments sums = known ? glance->sums : sum_rows(&cursor, data->rows, data->weight, 1, shift);
    if (!(sums.weight > 0))
        return;
    *mean = sums.least;
    if (!(sums.largest > sums.least))
        return;
    if (isinf(sums.largest - sums.least)) { /* a deviation from the mean may overflow */
        *sd = HUGE_VAL;
        return;
    }
    int exponent = exponent_for(&sums);
    double factor = ldexp(1, exponent);
    if (exponent != 0) {
        shift *= factor;
        sums = sum_rows(&cursor, data->rows, data->weight, factor, shift);
    }
    double off = sums.first / sums.weight;
    if (!(off * off < sums.second / sums.weight / 2)) { /* the mean is far from the value the sums were taken about */
        shift += off;
        sums = sum_rows(&cursor, data->rows, data->weight, factor, shift);
        off = sums.first / sums.weight;
    }
    *mean = ldexp(shift + off, -exponent);
    *sd = ldexp(sqrt(fmax(0, sums.second / sums.weight - off * off)), -exponent);
    if (*sd > 0 && pv__spread_asked(sums.weight, fmax(sums.largest - *mean, *mean - sums.least) / *sd))
        *sd *= spread_of(&cursor, data, *mean, *sd, bins);
}
