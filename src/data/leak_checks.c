/* Warns of columns that look like row identifiers, copies of the label, or parts of the design, rather than
 * measurements.
 *
 * An identifier: its name suggests so, or every row has a different whole number, or the numbers strictly increase or
 * decrease down the table. A leak: the area under the ROC curve of the column alone is above 0.995, which no honest
 * column reaches; above 0.97 for a column of two values, whose area is the mean of sensitivity and specificity. The
 * area is computed for every label against the others, on a sample of the rows first.
 *
 * Matched sets: many small groups of rows, all with the same number of cases, which chance does not produce. Strata:
 * large groups whose label proportions are closer together than chance would make them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/openmp.h"
#include "data/columns.h"

enum { ENOUGH = 50, GLANCE = 2000 };
static const double LEAK = 0.995, LEAK_OF_TWO = 0.97, MAYBE = 0.95;

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* ---- identifiers ------------------------------------------------------------------------------------------------- */

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

/* Whether the numbers strictly increase or decrease in the order of the rows. */
static bool in_order(pv__numbers numbers, const pv_dataset *data) {
    bool rises = true, falls = true;
    for (size_t i = 1; (rises || falls) && i < data->rows; i++) {
        double step = pv__number_at(numbers, data->table_row[i]) - pv__number_at(numbers, data->table_row[i - 1]);
        rises = rises && step > 0;
        falls = falls && step < 0;
    }
    return rises || falls;
}

/* Whether all numbers are distinct whole numbers. Most columns repeat one soon. */
static bool all_different(pv_ctx *ctx, pv__numbers numbers, const pv_dataset *data) {
    double *sorted;
    bool different = true;
    for (size_t i = 0; different && i < data->rows; i++) {
        double number = pv__number_at(numbers, data->table_row[i]);
        different = number == floor(number);
    }
    for (size_t n = ENOUGH; different; n = data->rows) {
        if (pv__alloc(ctx, n, sizeof *sorted, &sorted) != PV_OK)
            return false; /* without memory there is no warning */
        for (size_t i = 0; i < n; i++)
            sorted[i] = pv__number_at(numbers, data->table_row[i]);
        qsort(sorted, n, sizeof *sorted, compare);
        for (size_t i = 1; different && i < n; i++)
            different = sorted[i] != sorted[i - 1];
        pv__free(ctx, sorted);
        if (n == data->rows)
            break;
    }
    return different;
}

void pv__suspect_id(pv_ctx *ctx, pv__numbers numbers, const pv_dataset *data, const char *name) {
    const char *why = NULL;
    if (data->rows < ENOUGH)
        return;
    if (in_order(numbers, data))
        why = "is in row order";
    else if (all_different(ctx, numbers, data))
        why = "has a different whole number in every row";
    else if (named_id(name))
        why = "is named like an id";
    if (why)
        pv__log(ctx, PV_LOG_WARNING,
                "column '%s' %s, and is used as a feature; if it is not a measurement, use `id=%s`",
                pv__show(name).text, why, pv__show_item(name).text);
}

/* ---- leaks ------------------------------------------------------------------------------------------------------- */

typedef struct scored {
    double x;
    bool positive;
} scored;

static int compare_scored(const void *a, const void *b) {
    return compare(&((const scored *)a)->x, &((const scored *)b)->x);
}

/* Index of row i of n rows spread evenly over the table. */
static size_t spread(const pv_dataset *data, size_t i, size_t n) {
    return n == data->rows ? i : (size_t)((double)i * ((double)data->rows / (double)n));
}

/* How well a column predicts a label: the area under the ROC curve, or 1 minus it if that is larger; 0 if one of the
 * labels is absent. */
typedef struct telling {
    double area;
    bool two; /* the column has only two values */
} telling;

static bool is_leak(telling it) {
    return it.area > (it.two ? LEAK_OF_TWO : LEAK);
}

/* Uses rows spread evenly over the table. seen [n][features]: those rows; NULL: buffer [features] holds one at a
 * time. */
static telling area(const pv_dataset *data, size_t feature, int label, size_t n, const double *seen, double *buffer,
                    scored *row) {
    size_t features = (size_t)data->features;
    double positives = 0, below = 0, sum = 0;
    size_t values = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = spread(data, i, n);
        const double *x = seen ? seen + i * features : pv_dataset_rows(NULL, data, at, 1, buffer);
        row[i] = (scored){x[feature], data->label[at] == label};
        positives += row[i].positive;
    }
    qsort(row, n, sizeof *row, compare_scored);
    for (size_t i = 0; i < n; values++) {
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
    return (telling){pairs > 0 ? fmax(value, 1 - value) : 0, values <= 2};
}

static telling largest_area(const pv_dataset *data, size_t feature, size_t n, const double *seen, double *buffer,
                            scored *row) {
    telling largest = {0};
    for (int label = data->classes == 2; label < data->classes; label++) {
        telling one = area(data, feature, label, n, seen, buffer, row);
        largest = one.area > largest.area ? one : largest;
    }
    return largest;
}

pv_status pv__suspect_leaks(pv_ctx *ctx, const pv_dataset *data, pv_schema *schema) {
    size_t glance = data->rows < GLANCE ? data->rows : GLANCE, feature = 0;
    size_t features = (size_t)data->features;
    size_t last = pv__schema_smooth(schema) + pv__schema_scores(schema); /* these predict as well as their columns do */
    int threads = pv__columns_team(ctx, features, 64 * glance);          /* sorting takes longer than a pass */
    scored *row = NULL;
    telling *largest = NULL;
    double *seen = NULL;                                     /* [1 + glance][features], rows assembled from columns */
    if (data->rows < ENOUGH || !data->label || data->weight) /* a row of counts stands for many people */
        return PV_OK;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, features, sizeof *largest, &largest));
    if (data->columns)
        PV_GOTO(done, pv__alloc(ctx, 1 + glance, features * sizeof *seen, &seen));
    for (size_t i = 0; seen && i < glance; i++)
        memcpy(seen + (1 + i) * features, pv_dataset_rows(ctx, data, spread(data, i, glance), 1, seen),
               features * sizeof *seen);
    PV_GOTO(done, pv__resize(ctx, (size_t)threads * glance, sizeof *row, &row));
#pragma omp parallel for num_threads(pv_threads_ready(threads))
    for (size_t f = 0; f < features - last; f++)
        largest[f] = largest_area(data, f, glance, seen ? seen + features : NULL, NULL,
                                  row + (size_t)omp_get_thread_num() * glance);
    for (size_t s = 0; s < schema->sources - last; s++) {
        pv_source_column *source = &schema->source[s];
        for (size_t f = feature; f < feature + pv_source_width(source); f++) {
            if (largest[f].area > MAYBE && glance < data->rows) {
                PV_GOTO(done, pv__resize(ctx, data->rows, sizeof *row, &row));
                largest[f] = largest_area(data, f, data->rows, NULL, seen, row);
            }
            if (is_leak(largest[f]) && !(schema->offset && s == 0))
                source->auc = fmax(source->auc, largest[f].area);
        }
        feature += pv_source_width(source);
    }
done:
    pv__free(ctx, row);
    pv__free(ctx, seen);
    pv__free(ctx, largest);
    return status;
}

/* ---- matched sets ------------------------------------------------------------------------------------------------ */

enum { SETS_LEAST = 10, SET_ROWS_MOST = 20, STRATA_LEAST = 3, STRATA_MOST = 200, STRATUM_ROWS_LEAST = 10 };
static const double TOO_EVEN = 1e-3;

/* The result of looking at a column. */
typedef struct look {
    uint64_t sets, cases; /* number of matched sets, and of cases in each; 0: not matched sets */
    uint64_t strata;      /* number of groups with similar proportions of cases */
    double share;
} look;

/* Whether rows of equal x form matched sets: all but a few with the same number of cases, and with some controls. Rows
 * must be sorted. */
static bool are_sets(size_t n, const scored *row, uint64_t *sets, uint64_t *cases) {
    size_t others = 0;
    *sets = *cases = 0;
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

/* For many rows: whether most values occur in a single row, which rules out matched sets. Examines all rows of a subset
 * of the values without sorting the rest. some [PICKED_MOST] is work space. */
enum { MANY = 20000, PICKED = 2000, PICKED_MOST = 4 * PICKED, GROUPS_LEAST = 100 };
static bool mostly_single(pv__numbers numbers, const pv_dataset *data, bool all_rows, double *some) {
    enum { BLOCK = 1024 };
    const pv__column_kernels *kernels = pv__column_kernels_get();
    size_t taken = 0, groups = 0, single = 0, at[BLOCK];
    double block[BLOCK];
    pv__cursor cursor;
    int bits = 1;
    pv__cursor_begin(numbers, data, all_rows, &cursor);
    while (data->rows >> bits > PICKED)
        bits++;
    for (size_t begin = 0; begin < data->rows; begin += BLOCK) {
        size_t rows = data->rows - begin < BLOCK ? data->rows - begin : BLOCK;
        const double *x = pv__cursor_block(&cursor, begin, rows, data->rows, block);
        size_t picked = kernels->pick(rows, x, bits, at);
        if (taken + picked > PICKED_MOST)
            return false;
        for (size_t i = 0; i < picked; i++)
            some[taken++] = isnan(x[at[i]]) ? -HUGE_VAL : x[at[i]]; /* missing cells form one group */
    }
    qsort(some, taken, sizeof *some, compare);
    for (size_t i = 0; i < taken; groups++) {
        size_t end = i + 1;
        while (end < taken && some[end] == some[i])
            end++;
        single += end == i + 1;
        i = end;
    }
    return groups >= GROUPS_LEAST && 2 * single > groups;
}

static void warn_of_sets(pv_ctx *ctx, const look *seen, const char *name, bool group) {
    pv__log(ctx, PV_LOG_WARNING,
            "column '%s' looks like matched sets (%llu groups, each with %llu case%s), %s: the odds ratios are then "
            "wrong; use `matched=%s`",
            pv__show(name).text, (unsigned long long)seen->sets, (unsigned long long)seen->cases,
            seen->cases == 1 ? "" : "s",
            group ? "and `group` does not take account of them" : "and is taken as a feature",
            pv__show_item(name).text);
}

/* Whether the label proportions of large groups are closer together than chance would make them, which happens if a
 * fixed number of cases was taken from each. Half a row is added to each difference as a continuity correction. Rows
 * must be sorted. */
static bool are_strata(size_t n, const scored *row, uint64_t *groups, double *share) {
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

static void warn_of_strata(pv_ctx *ctx, const look *seen, const char *name) {
    pv__log(ctx, PV_LOG_WARNING,
            "column '%s' looks like strata (%llu groups, each with a proportion of about %.2g cases): if rows were "
            "sampled by it, use `strata=%s` with `prevalence-by`; otherwise the risks in each of them are wrong",
            pv__show(name).text, (unsigned long long)seen->strata, seen->share, pv__show_item(name).text);
}

static bool is_stratum(const pv_schema *schema, const char *name) {
    for (size_t i = 0; schema->strata && i < schema->strata->columns; i++)
        if (strcmp(schema->strata->column[i].name, name) == 0)
            return true;
    return false;
}

/* The column of the table to examine; table->columns if there is none. */
static size_t column_of(const pv_table *table, const pv_schema *schema, const pv_source_column *source) {
    size_t c = pv__table_lookup(table, source->name);
    bool other = c < table->columns && source->type == PV_COLUMN_NUMBER && table->column[c].type != PV_COLUMN_NUMBER;
    return other || is_stratum(schema, source->name) ? table->columns : c;
}

/* Marks in single [sources] the number columns that a quick check rules out. Each is checked by one thread of one
 * rank. */
static pv_status clear_single(pv_ctx *ctx, const pv_table *table, const pv_dataset *data, const pv_schema *schema,
                              bool *single) {
    size_t sources = schema->sources;
    int threads = pv__columns_team(ctx, sources, data->rows);
    double *some;
    if (data->rows < MANY)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, (size_t)threads * PICKED_MOST, sizeof *some, &some));
    bool all_rows = pv__all_rows(table, data);
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(dynamic)
    for (size_t s = 0; s < sources; s++) {
        size_t c = column_of(table, schema, &schema->source[s]);
        if (pv__makes(ctx, s) && c < table->columns && schema->source[s].type == PV_COLUMN_NUMBER)
            single[s] = mostly_single(pv__table_numbers(table, c), data, all_rows,
                                      some + (size_t)omp_get_thread_num() * PICKED_MOST);
    }
    pv__free(ctx, some);
    return PV_OK;
}

/* Groups rows by level, in any order within a level, by a counting sort. */
static pv_status sort_levels(pv_ctx *ctx, const pv_column *column, const pv_dataset *data, scored *row) {
    enum { CONTROL, CASE };
    size_t(*count)[2], at = 0;
    PV_TRY(pv__alloc(ctx, (size_t)column->levels + 1, sizeof *count, &count));
    for (size_t i = 0; i < data->rows; i++)
        count[column->code[data->table_row[i]] + 1][data->label[i] == 1]++; /* missing cells form one group */
    for (int32_t l = -1; l < column->levels; l++)
        for (int label = CONTROL; label <= CASE; label++)
            for (size_t i = 0; i < count[l + 1][label]; i++)
                row[at++] = (scored){l, label == CASE};
    pv__free(ctx, count);
    return PV_OK;
}

/* Whether more rows share the first row's level than a matched set has: a quick check that rules out most columns. */
static bool crowded(const pv_column *column, const pv_dataset *data) {
    double first = pv__cell_number(column, data->table_row[0]);
    size_t alike = 0;
    for (size_t i = 0; i < data->rows && alike <= SET_ROWS_MOST; i++) {
        double x = pv__cell_number(column, data->table_row[i]);
        alike += x == first || (isnan(x) && isnan(first));
    }
    return alike > SET_ROWS_MOST;
}

static pv_status look_at_column(pv_ctx *ctx, const pv_column *column, const pv_dataset *data, bool strata, scored *row,
                                look *seen) {
    if (column->type == PV_COLUMN_NUMBER && !strata && crowded(column, data))
        return PV_OK;
    if (column->type == PV_COLUMN_TEXT) {
        PV_TRY(sort_levels(ctx, column, data, row));
    } else {
        for (size_t i = 0; i < data->rows; i++) {
            double x = pv__cell_number(column, data->table_row[i]);
            row[i] = (scored){isnan(x) ? -HUGE_VAL : x, data->label[i] == 1};
        }
        qsort(row, data->rows, sizeof *row, compare_scored);
    }
    if (are_sets(data->rows, row, &seen->sets, &seen->cases))
        return PV_OK;
    seen->sets = 0;
    if (!strata || !are_strata(data->rows, row, &seen->strata, &seen->share))
        seen->strata = 0;
    return PV_OK;
}

static void look_at_groups(const pv_dataset *data, scored *row, look *seen) {
    for (size_t i = 0; i < data->rows; i++)
        row[i] = (scored){data->group[i], data->label[i] == 1};
    qsort(row, data->rows, sizeof *row, compare_scored);
    if (!are_sets(data->rows, row, &seen->sets, &seen->cases))
        seen->sets = 0;
}

/* Fills seen [sources + 1], the group last. Each rank examines its own columns; then all are exchanged. */
static pv_status look_at_all(pv_ctx *ctx, const pv_table *table, const pv_dataset *data, const pv_schema *schema,
                             look *seen) {
    scored *row = NULL;
    bool *single = NULL, group = data->group && !data->clustered;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, schema->sources, sizeof *single, &single));
    PV_GOTO(done, clear_single(ctx, table, data, schema, single));
    PV_GOTO(done, pv__resize(ctx, data->rows, sizeof *row, &row));
    for (size_t s = schema->offset; s < schema->sources; s++) {
        const pv_source_column *source = &schema->source[s];
        size_t c = column_of(table, schema, source);
        if (c < table->columns && !single[s] && pv__makes(ctx, s))
            PV_GOTO(done, look_at_column(ctx, &table->column[c], data,
                                         source->type == PV_COLUMN_TEXT && !schema->strata, row, &seen[s]));
    }
    if (group && pv__makes(ctx, schema->sources))
        look_at_groups(data, row, &seen[schema->sources]);
    status = pv__share_array(ctx, schema->sources + 1, seen, sizeof *seen);
done:
    pv__free(ctx, row);
    pv__free(ctx, single);
    return status;
}

pv_status pv__suspect_sets(pv_ctx *ctx, const pv_table *table, const pv_dataset *data, const pv_schema *schema) {
    look *seen;
    if (!data->label || data->classes != 2 || data->weight || data->matched || data->rows < 2 * SETS_LEAST)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, schema->sources + 1, sizeof *seen, &seen));
    pv_status status = look_at_all(ctx, table, data, schema, seen);
    for (size_t s = 0; status == PV_OK && s <= schema->sources; s++) {
        const char *name = s < schema->sources ? schema->source[s].name : schema->group;
        if (seen[s].sets > 0)
            warn_of_sets(ctx, &seen[s], name, s == schema->sources);
        else if (seen[s].strata > 0)
            warn_of_strata(ctx, &seen[s], name);
    }
    pv__free(ctx, seen);
    return status;
}
