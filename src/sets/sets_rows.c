/* Calibration rows as people, sorted scores of each label, and numbers that are given by label. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "prevail/core.h"
#include "prevail/streams.h"
#include "sets/sets.h"

/* ---- people ------------------------------------------------------------------------------------------------------ */

static pv_status check_count(const pv__sets_data *d, size_t row, double weight) {
    size_t at = d->probs->data->table_row ? d->probs->data->table_row[row] : row;
    if (d->probs->data->sampling)
        return pv__fail(d->ctx, PV_ERR_INPUT,
                        "calibration rows have sampling weights, and coverage is guaranteed for rows drawn with equal "
                        "chance within each label;\nleave the weights out if it was so, or calibrate on other rows");
    if (!(weight >= 0 && weight <= 9007199254740992.0 && weight == floor(weight)))
        return pv__fail(d->ctx, PV_ERR_INPUT,
                        "calibration row %zu has the weight %g: weights are counts, whole numbers of people;\nleave "
                        "other weights out",
                        at + 1, weight);
    return PV_OK;
}

typedef struct of_unit {
    int32_t unit, label;
    size_t row;
} of_unit;

static int by_unit(const void *a, const void *b) {
    const of_unit *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Rows of a unit are not exchangeable with a row of another unit; one row of each, chosen at random, is. */
static pv_status keep_one_of_each(const pv__sets_data *d, const int32_t *unit) {
    const pv_dataset *rows = d->probs->data;
    of_unit *list;
    pv_rng rng = pv_rng_stream((uint64_t)d->options->seed, PV_STREAM_SETS, 0);
    PV_TRY(pv__alloc(d->ctx, rows->rows, sizeof *list, &list));
    for (size_t i = 0; i < rows->rows; i++)
        list[i] = (of_unit){unit[i], rows->label[i], i};
    qsort(list, rows->rows, sizeof *list, by_unit);
    for (size_t begin = 0, end; begin < rows->rows; begin = end) {
        for (end = begin;
             end < rows->rows && list[end].unit == list[begin].unit && list[end].label == list[begin].label;)
            d->weight[list[end++].row] = 0;
        d->weight[list[begin + pv_rng_below(&rng, end - begin)].row] = 1;
    }
    pv__free(d->ctx, list);
    return PV_OK;
}

pv_status pv__sets_people(pv__sets_data *d, const int32_t *unit) {
    const pv_dataset *rows = d->probs->data;
    PV_TRY(pv__alloc(d->ctx, rows->rows, sizeof *d->weight, &d->weight));
    for (size_t i = 0; i < rows->rows; i++) {
        d->weight[i] = rows->weight ? rows->weight[i] : 1;
        PV_TRY(check_count(d, i, d->weight[i]));
        if (unit && d->weight[i] != 1)
            return pv__fail(
                d->ctx, PV_ERR_INPUT,
                "calibration rows have counts as well as units, and one row of each unit is used;\nleave out "
                "the weights or the units");
        if (unit && unit[i] < 0)
            return pv__fail(d->ctx, PV_ERR_INPUT, "calibration row %zu belongs to no unit;\ngive each row its unit",
                            (rows->table_row ? rows->table_row[i] : i) + 1);
    }
    return unit ? keep_one_of_each(d, unit) : PV_OK;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

typedef struct scored {
    double value, people;
} scored;

static int by_value(const void *a, const void *b) {
    double x = ((const scored *)a)->value, y = ((const scored *)b)->value;
    return (x > y) - (x < y);
}

pv_status pv__sets_scores_of(const pv__sets_data *d, int y, int column, double sign, pv__sets_scores *s) {
    const pv_dataset *rows = d->probs->data;
    size_t n = 0;
    scored *list = NULL;
    pv_status status;
    *s = (pv__sets_scores){.distinct = 0};
    PV_GOTO(done, pv__alloc(d->ctx, rows->rows + 1, sizeof *list, &list));
    for (size_t i = 0; i < rows->rows; i++)
        if (rows->label[i] == y && d->weight[i] > 0)
            list[n++] = (scored){sign * d->probs->p[i * (size_t)d->classes + (size_t)column], d->weight[i]};
    qsort(list, n, sizeof *list, by_value);
    PV_GOTO(done, pv__alloc(d->ctx, n + 1, sizeof *s->value, &s->value));
    PV_GOTO(done, pv__alloc(d->ctx, n + 1, sizeof *s->upto, &s->upto));
    for (size_t i = 0; i < n; i++) {
        s->people += list[i].people;
        if (s->distinct == 0 || list[i].value > s->value[s->distinct - 1])
            s->value[s->distinct++] = list[i].value;
        s->upto[s->distinct - 1] = s->people;
    }
done:
    pv__free(d->ctx, list);
    return status;
}

void pv__sets_scores_free(pv_ctx *ctx, pv__sets_scores *s) {
    pv__free(ctx, s->value);
    pv__free(ctx, s->upto);
    *s = (pv__sets_scores){.distinct = 0};
}

double pv__sets_upto(const pv__sets_scores *s, double value) {
    size_t low = 0, high = s->distinct; /* values before low are at most `value` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->value[middle] <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? s->upto[low - 1] : 0;
}

/* ---- numbers by label -------------------------------------------------------------------------------------------- */

/* The label that text begins with, followed by '='; the longest, since labels may contain '=' and commas. */
static int label_at(const pv__sets_data *d, const char *text, size_t *length) {
    int found = -1;
    *length = 0;
    for (int y = 0; y < d->classes; y++) {
        size_t n = strlen(d->probs->labels[y]);
        if ((found < 0 || n > *length) && strncmp(text, d->probs->labels[y], n) == 0 && text[n] == '=') {
            found = y;
            *length = n;
        }
    }
    if (found < 0) {
        *length = strcspn(text, "=");
        found = pv__label_find(d->probs->labels, d->classes, text, *length);
    }
    return found;
}

pv_status pv__sets_by_label(const pv__sets_data *d, const char *option, const char *text, double lo, double hi,
                            double *number) {
    char joined[200];
    int given = 0;
    pv__join(d->probs->labels, (size_t)d->classes, 8, joined, sizeof joined);
    for (int y = 0; y < d->classes; y++)
        number[y] = (double)NAN;
    for (const char *at = text;; at++) {
        int y = given;
        size_t length = 0;
        at += strspn(at, " ");
        if (strchr(text, '=')) {
            y = label_at(d, at, &length);
            at += y < 0 ? 0 : length + 1;
        }
        double value = (double)NAN;
        const char *end = y >= 0 && y < d->classes && isnan(number[y]) ? pv_parse_real(at, &value) : NULL;
        if (!end || (*end && *end != ','))
            return pv__fail(d->ctx, PV_ERR_USAGE,
                            "%s: '%s' is neither one number nor one for each label;\nwrite 0.9, or LABEL=0.9,... for "
                            "each of %s",
                            option, pv__show(text).text, joined);
        if (!(value >= lo && value <= hi))
            return pv__fail(d->ctx, PV_ERR_USAGE, "%s: %g is not between %g and %g", option, value, lo, hi);
        number[y] = value;
        given++;
        at = end;
        if (!*at)
            break;
    }
    for (int y = 0; given == 1 && !strchr(text, '=') && y < d->classes; y++)
        number[y] = number[0];
    for (int y = 0; y < d->classes; y++)
        if (isnan(number[y]))
            return pv__fail(d->ctx, PV_ERR_USAGE, "%s: '%s' has no number for label '%s';\ngive one for each of %s",
                            option, pv__show(text).text, pv__show(d->probs->labels[y]).text, joined);
    return PV_OK;
}
