/* Columns that are no measurements, as far as anyone can see: names of rows, and copies of the label.
 *
 * An id: the name says so, or every row has another whole number, or the numbers only rise, or only fall, down the
 * table. A leak: the area under the ROC curve of the column alone is above 0.995, where no honest column gets. It is
 * computed for every label against the others, and looked for among a sample of the rows first.
 *
 * Matched sets: many small groups of rows, all with the same number of cases. Chance does not make them. Strata: large
 * groups whose label shares are closer together than chance would have them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/encode.h"

enum { ENOUGH = 50, GLANCE = 2000 };
static const double LEAK = 0.995, MAYBE = 0.98;

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* ---- ids --------------------------------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n >= m && pv__same_letters(name + n - m, end, m);
}

static bool named_id(const char *name) {
    static const char *const words[] = {"id", "index", "rownames", "row", "rowid", "uid", "uuid", "case_number"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (pv__same_letters(name, words[i], SIZE_MAX))
            return true;
    size_t n = strlen(name);
    bool camel = n > 2 && strcmp(name + n - 2, "Id") == 0;
    bool capital = n > 2 && strcmp(name + n - 2, "ID") == 0 && name[n - 3] >= 'a' && name[n - 3] <= 'z';
    return camel || capital || ends_with(name, "_id") || ends_with(name, ".id") || ends_with(name, " id");
}

/* Strictly, in the order of the rows, all of them. */
static bool in_order(const double *number, const pv_dataset *data) {
    bool rises = true, falls = true;
    for (size_t i = 1; (rises || falls) && i < data->rows; i++) {
        double step = number[data->table_row[i]] - number[data->table_row[i - 1]];
        rises = rises && step > 0;
        falls = falls && step < 0;
    }
    return rises || falls;
}

/* No two rows have the same whole number. Most columns show two soon. */
static bool all_different(pv_ctx *ctx, const double *number, const pv_dataset *data) {
    double *sorted;
    bool different = true;
    for (size_t i = 0; different && i < data->rows; i++)
        different = number[data->table_row[i]] == floor(number[data->table_row[i]]);
    for (size_t n = ENOUGH; different; n = data->rows) {
        if (pv__alloc(ctx, n, sizeof *sorted, &sorted) != PV_OK)
            return false; /* a warning less */
        for (size_t i = 0; i < n; i++)
            sorted[i] = number[data->table_row[i]];
        qsort(sorted, n, sizeof *sorted, compare);
        for (size_t i = 1; different && i < n; i++)
            different = sorted[i] != sorted[i - 1];
        pv__free(ctx, sorted);
        if (n == data->rows)
            break;
    }
    return different;
}

void pv__suspect_id(pv_ctx *ctx, const double *number, const pv_dataset *data, const char *name) {
    const char *why = NULL;
    if (data->rows < ENOUGH)
        return;
    if (in_order(number, data))
        why = "is in the order of the rows";
    else if (all_different(ctx, number, data))
        why = "has another whole number in every row";
    else if (named_id(name))
        why = "is named as an id is";
    if (why)
        pv__log(ctx, PV_LOG_WARNING,
                "column '%s' %s, and is taken as a feature; if it is not a measurement, use `id` %s",
                pv__show(name).text, why, pv__show_word(name).text);
}

/* ---- leaks ------------------------------------------------------------------------------------------------------- */

typedef struct scored {
    double x;
    bool positive;
} scored;

static int compare_scored(const void *a, const void *b) {
    return compare(&((const scored *)a)->x, &((const scored *)b)->x);
}

/* The area, or what is left of 1 where that is more; of rows evenly spread over the table. 0 without both labels. */
static double area(const pv_dataset *data, size_t feature, int label, size_t n, scored *row) {
    size_t features = (size_t)data->features;
    double positives = 0, below = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = n == data->rows ? i : (size_t)((double)i * ((double)data->rows / (double)n));
        row[i] = (scored){data->x[at * features + feature], data->label[at] == label};
        positives += row[i].positive;
    }
    qsort(row, n, sizeof *row, compare_scored);
    for (size_t i = 0; i < n;) {
        size_t end = i;
        double here = 0;
        for (; end < n && row[end].x == row[i].x; end++)
            here += row[end].positive;
        double others = (double)(end - i) - here;
        sum += here * (below + others / 2);
        below += others;
        i = end;
    }
    double pairs = positives * ((double)n - positives), value = sum / pairs;
    return pairs > 0 ? fmax(value, 1 - value) : 0;
}

static double largest_area(const pv_dataset *data, size_t feature, size_t n, scored *row) {
    double largest = 0;
    for (int label = data->classes == 2; label < data->classes; label++)
        largest = fmax(largest, area(data, feature, label, n, row));
    return largest;
}

pv_status pv__suspect_leaks(pv_ctx *ctx, const pv_dataset *data, pv_schema *schema) {
    size_t glance = data->rows < GLANCE ? data->rows : GLANCE, feature = 0;
    scored *row;
    if (data->rows < ENOUGH || !data->label || data->weight) /* counts: few rows stand for many */
        return PV_OK;
    PV_TRY(pv__alloc(ctx, data->rows, sizeof *row, &row));
    for (size_t s = 0; s < schema->sources; s++) {
        pv_source_column *source = &schema->source[s];
        for (size_t f = feature; f < feature + pv_source_width(source); f++) {
            double value = largest_area(data, f, glance, row);
            if (value > MAYBE && glance < data->rows)
                value = largest_area(data, f, data->rows, row);
            if (value > LEAK)
                source->auc = fmax(source->auc, value);
        }
        feature += pv_source_width(source);
    }
    pv__free(ctx, row);
    return PV_OK;
}

/* ---- matched sets ------------------------------------------------------------------------------------------------ */

enum { SETS_LEAST = 10, SET_ROWS_MOST = 20, STRATA_LEAST = 3, STRATA_MOST = 200, STRATUM_ROWS_LEAST = 10 };
static const double TOO_EVEN = 1e-3;

/* Whether rows of equal x are sets, each but a few with the same number of cases and some controls. Sorts. */
static bool are_sets(size_t n, scored *row, size_t *sets, size_t *cases) {
    size_t others = 0;
    *sets = *cases = 0;
    qsort(row, n, sizeof *row, compare_scored);
    for (size_t i = 0; i < n;) {
        size_t end = i, here = 0;
        for (; end < n && row[end].x == row[i].x; end++)
            here += row[end].positive;
        if (end - i > SET_ROWS_MOST)
            return false;
        if (*sets == 0)
            *cases = here;
        others += here != *cases || end - i == here;
        i = end;
        ++*sets;
    }
    return *cases > 0 && *sets >= SETS_LEAST && 20 * others <= *sets;
}

/* Whether most values are of one row alone, which sets are not, of many rows: seen from all groups whose value has a
 * certain hash, a part in 64, without sorting the others. some [n / SOME] is room. */
enum { MANY = 20000, SOME = 16, GROUPS_LEAST = 100 };
static bool mostly_single(size_t n, const scored *row, scored *some) {
    size_t taken = 0, groups = 0, single = 0;
    for (size_t i = 0; i < n; i++) {
        double x = row[i].x + 0.0; /* one zero */
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        if (bits * UINT64_C(0x9E3779B97F4A7C15) >> 58 != 0)
            continue;
        if (taken == n / SOME)
            return false;
        some[taken++] = row[i];
    }
    qsort(some, taken, sizeof *some, compare_scored);
    for (size_t i = 0; i < taken; groups++) {
        size_t end = i + 1;
        while (end < taken && some[end].x == some[i].x)
            end++;
        single += end == i + 1;
        i = end;
    }
    return groups >= GROUPS_LEAST && 2 * single > groups;
}

/* True: they were. */
static bool warn_of_sets(pv_ctx *ctx, size_t n, scored *row, const char *name, bool group) {
    size_t sets, cases;
    if (!are_sets(n, row, &sets, &cases))
        return false;
    pv__log(
        ctx, PV_LOG_WARNING,
        "column '%s' looks like matched sets (%zu groups, each with %zu case%s), %s: odds ratios are then wrong; use "
        "`matched` %s",
        pv__show(name).text, sets, cases, cases == 1 ? "" : "s",
        group ? "and `group` takes no account of them" : "and is taken as a feature", pv__show_word(name).text);
    return true;
}

/* Whether the label shares of large groups are closer together than chance would have them: so many cases were taken of
 * each. Half a row is added to each difference, since numbers of rows are whole. Rows are sorted. */
static bool are_strata(size_t n, const scored *row, size_t *groups, double *share) {
    double cases = 0, sum = 0;
    *groups = 0;
    for (size_t i = 0; i < n; i++)
        cases += row[i].positive;
    *share = cases / (double)n;
    for (size_t i = 0; i < n; ++*groups) {
        size_t end = i;
        double here = 0;
        for (; end < n && row[end].x == row[i].x; end++)
            here += row[end].positive;
        double rows = (double)(end - i), off = fabs(here - rows * *share) + 0.5;
        if (rows < STRATUM_ROWS_LEAST || *groups > STRATA_MOST)
            return false;
        sum += off * off / (rows * *share * (1 - *share));
        i = end;
    }
    return *groups >= STRATA_LEAST && 1 - pv_chi_square_tail((double)(*groups - 1), sum) < TOO_EVEN;
}

static void warn_of_strata(pv_ctx *ctx, size_t n, scored *row, const char *name) {
    size_t groups;
    double share;
    qsort(row, n, sizeof *row, compare_scored);
    if (are_strata(n, row, &groups, &share))
        pv__log(
            ctx, PV_LOG_WARNING,
            "column '%s' looks like strata (%zu groups, each with a share of about %.2g cases): if rows were sampled "
            "by it, use `strata` %s with `prevalence-by`, otherwise the risks in each of them are wrong",
            pv__show(name).text, groups, share, pv__show_word(name).text);
}

static bool is_stratum(const pv_schema *schema, const char *name) {
    for (size_t i = 0; schema->strata && i < schema->strata->columns; i++)
        if (strcmp(schema->strata->column[i].name, name) == 0)
            return true;
    return false;
}

pv_status pv__suspect_sets(pv_ctx *ctx, const pv_table *table, const pv_dataset *data, const pv_schema *schema) {
    scored *row, *some;
    if (!data->label || data->classes != 2 || data->weight || data->matched || data->rows < 2 * SETS_LEAST)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, data->rows + data->rows / SOME, sizeof *row, &row));
    some = row + data->rows;
    for (size_t s = 0; s < schema->sources; s++) {
        const pv_source_column *source = &schema->source[s];
        size_t c = pv__table_lookup(table, source->name);
        if (c == table->columns || is_stratum(schema, source->name) ||
            (source->type == PV_COLUMN_NUMBER && table->column[c].type != PV_COLUMN_NUMBER))
            continue;
        const pv_column *column = &table->column[c];
        for (size_t i = 0; i < data->rows; i++) {
            size_t at = data->table_row[i];
            double x = column->type == PV_COLUMN_NUMBER ? column->number[at] : column->code[at];
            row[i] = (scored){isnan(x) ? -HUGE_VAL : x, data->label[i] == 1}; /* missing cells are one group */
        }
        if (source->type == PV_COLUMN_NUMBER && data->rows >= MANY && mostly_single(data->rows, row, some))
            continue;
        bool sets = warn_of_sets(ctx, data->rows, row, source->name, false);
        if (!sets && source->type == PV_COLUMN_TEXT && !schema->strata)
            warn_of_strata(ctx, data->rows, row, source->name);
    }
    for (size_t i = 0; data->group && i < data->rows; i++)
        row[i] = (scored){data->group[i], data->label[i] == 1};
    if (data->group && !data->clustered)
        warn_of_sets(ctx, data->rows, row, schema->group, true);
    pv__free(ctx, row);
    return PV_OK;
}
