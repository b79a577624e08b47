/* The rows of a sample and its gold rows: which settings go together, and what each row is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "data/data.h"
#include "rate/rate.h"

enum { PER_LABEL = 16, FEWEST_BINS = 5, PER_BIN = 10 };

/* ---- which settings go together ---------------------------------------------------------------------------------- */

static pv_status check_gold_by(pv__rate_data *d) {
    const char *text = d->options->gold_by;
    static const char *const words[] = {"label", "verdict", "random"};
    if (d->options->sensitivity || d->options->specificity) {
        d->gold_by = PV__GOLD_KNOWN;
        return PV_OK;
    }
    if (!text)
        return pv__fail(
            d->ctx, PV_ERR_USAGE,
            "`gold-by` is missing: the answer depends on how the gold rows were drawn.\nlabel: a chosen number of rows "
            "of each true label, which estimate P(verdict | label); verdict: a chosen number of rows of each verdict, "
            "which estimate P(label | verdict); random: at random from the sample");
    for (int i = 0; i < 3; i++)
        if (strcmp(text, words[i]) == 0) {
            d->gold_by = (pv__gold_by)i;
            return PV_OK;
        }
    return pv__fail(d->ctx, PV_ERR_USAGE,
                    "`gold-by=%s`: gold rows are drawn by label, by verdict or at random;\n"
                    "give label, verdict or random",
                    pv__show(text).text);
}

static pv_status check_known(const pv__rate_data *d, const pv_table *gold) {
    const pv_rate_options *o = d->options;
    if (!o->sensitivity || !o->specificity)
        return pv__fail(d->ctx, PV_ERR_USAGE, "`%s` is missing;\ngive it with `%s`, or give gold rows instead",
                        o->sensitivity ? "specificity" : "sensitivity", o->sensitivity ? "sensitivity" : "specificity");
    const struct {
        const char *name, *text;
    } with[] = {{"outcome", o->outcome}, {"gold-by", o->gold_by}, {"score", o->score}, {"compare", o->compare}};
    for (size_t i = 0; i < sizeof with / sizeof *with; i++)
        if (with[i].text)
            return pv__fail(d->ctx, PV_ERR_USAGE,
                            "`%s` cannot be used with `sensitivity` and `specificity`, which replace gold rows;\nleave "
                            "one or the other out",
                            with[i].name);
    if (gold)
        return pv__fail(d->ctx, PV_ERR_USAGE,
                        "gold rows cannot be used with `sensitivity` and `specificity`, which replace them;\nleave one "
                        "or the other out");
    return PV_OK;
}

static pv_status check_options(pv__rate_data *d, const pv_table *gold) {
    const pv_rate_options *o = d->options;
    if (!o->verdict == !o->score)
        return pv__fail(d->ctx, PV_ERR_USAGE,
                        "%s;\nname the column of verdicts with `verdict`, or one of scores with "
                        "`score`",
                        o->verdict ? "`verdict` and `score` are both given" : "`verdict` is missing");
    PV_TRY(check_gold_by(d));
    if (d->gold_by == PV__GOLD_KNOWN)
        return check_known(d, gold);
    if (!o->outcome)
        return pv__fail(d->ctx, PV_ERR_USAGE,
                        "`outcome` is missing;\nname the column that has the true labels of gold "
                        "rows");
    if (o->cuts && !o->score)
        return pv__fail(d->ctx, PV_ERR_USAGE, "`cuts` are edges for bins of a `score`;\nleave them out");
    if (o->score && !o->cuts && d->gold_by == PV__GOLD_BY_VERDICT)
        return pv__fail(d->ctx, PV_ERR_USAGE,
                        "gold rows drawn by score need the bins that they were drawn from;\ngive their edges, as in "
                        "`cuts=0.2,0.5`");
    if (o->compare && (o->score || d->gold_by == PV__GOLD_BY_VERDICT))
        return pv__fail(
            d->ctx, PV_ERR_USAGE,
            o->score ? "`compare` is for two columns of verdicts, not for a `score`;\nuse `verdict`"
                     : "`compare` does not support gold rows drawn by verdict;\ndraw them by label or at random");
    const char *const names[] = {
        o->verdict ? o->verdict : o->score, o->compare, o->outcome, o->strata, o->cluster, o->weights};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t j = 0; j < i; j++)
            if (names[i] && names[j] && strcmp(names[i], names[j]) == 0)
                return pv__fail(d->ctx, PV_ERR_USAGE,
                                "column '%s' is named twice;\neach option needs a column of its own",
                                pv__show(names[i]).text);
    return PV_OK;
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

static pv_status no_empty(pv__rate_data *d, const pv_table *table, const char *column, const int32_t *code) {
    size_t c;
    PV_TRY(pv_table_find(d->ctx, table, "`verdict`", column, &c));
    for (size_t i = 0; i < table->rows; i++)
        if (code[i] < 0)
            return PV__FAIL_CELL(d->ctx, table, i, c,
                                 "column '%s' is empty here;\ngive cases without a verdict a "
                                 "verdict of their own, such as 'none', or leave them out",
                                 pv__show(column).text);
    return PV_OK;
}

/* Codes of a system's verdicts, in the place of its cells or behind them. */
static pv_status read_system(pv__rate_data *d, int system, const pv_table *const table[2]) {
    const char *column = system ? d->options->compare : d->options->verdict;
    int32_t *code[2] = {NULL, NULL};
    pv__rate_rows *const rows[2] = {&d->sample, &d->gold};
    pv_status status;
    PV_GOTO(done, pv__rate_levels(d->ctx, table, system ? "`compare`" : "`verdict`", column, PV__RATE_CELLS,
                                  &d->system[system], code));
    size_t levels = d->system[system].count;
    if (system && d->cells * levels > PV__RATE_CELLS) {
        status = pv__fail(
            d->ctx, PV_ERR_USAGE,
            "`compare`: the two systems have %zu pairs of verdicts, and at most %d are supported; merge rare verdicts",
            d->cells * levels, PV__RATE_CELLS);
        goto done;
    }
    for (int t = 0; t < 2 && table[t]; t++) {
        PV_GOTO(done, no_empty(d, table[t], column, code[t]));
        for (size_t i = 0; system && i < table[t]->rows; i++)
            rows[t]->cell[i] = rows[t]->cell[i] * (int32_t)levels + code[t][i];
        if (!system) {
            rows[t]->cell = code[t];
            code[t] = NULL;
        }
    }
    d->cells = system ? d->cells * levels : levels;
done:
    pv__free(d->ctx, code[0]);
    pv__free(d->ctx, code[1]);
    return status;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static pv_status parse_cuts(pv__rate_data *d) {
    char **part = NULL;
    size_t n = 0;
    pv_status status;
    PV_GOTO(done, pv__names_split(d->ctx, "`cuts`", d->options->cuts, &part, &n));
    bool good = n > 0 && n < PV__RATE_CELLS;
    for (size_t i = 0; i < n && good; i++)
        good = pv__parse_real(part[i], &d->edge[i]) && (i == 0 || d->edge[i] > d->edge[i - 1]);
    if (!good)
        status =
            pv__fail(d->ctx, PV_ERR_USAGE, "`cuts=%s` are not 1 to %d increasing numbers;\ngive edges such as 0.2,0.5",
                     pv__show(d->options->cuts).text, PV__RATE_CELLS - 1);
    d->cells = n + 1;
done:
    pv_string_list_free(d->ctx, part, n);
    return status;
}

typedef struct point {
    double score, weight;
} point;

static int by_score(const void *a, const void *b) {
    double x = ((const point *)a)->score, y = ((const point *)b)->score;
    return x < y ? -1 : x > y;
}

/* Quantiles; equal scores in one bin. */
static void cut(pv__rate_data *d, size_t n, point *all, double wanted) {
    double total = 0, before = 0;
    size_t bin = 0;
    qsort(all, n, sizeof *all, by_score);
    for (size_t i = 0; i < n; i++)
        total += all[i].weight;
    d->cells = 1;
    for (size_t i = 0, end; i < n; i = end) {
        double here = 0;
        for (end = i; end < n && !(all[end].score > all[i].score); end++)
            here += all[end].weight;
        size_t at = (size_t)fmin(floor(wanted * (before + 0.5 * here) / total), wanted - 1);
        if (i > 0 && at > bin)
            d->edge[d->cells++ - 1] = 0.5 * (all[i - 1].score + all[i].score);
        bin = at > bin ? at : bin;
        before += here;
    }
}

/* Of gold rows drawn by label, each label with half the weight; of the sample where they were drawn at random. */
static pv_status find_cuts(pv__rate_data *d, const double *sample, const double *gold) {
    bool by_label = d->gold_by == PV__GOLD_BY_LABEL;
    const pv__rate_rows *from = by_label && !d->one_table ? &d->gold : &d->sample;
    const double *score = by_label && !d->one_table ? gold : sample;
    double mass[2] = {0, 0}, counted = 0;
    size_t n = 0;
    point *all;
    const pv__rate_rows *labelled = d->one_table ? &d->sample : &d->gold;
    for (size_t i = 0; i < labelled->rows; i++)
        if (labelled->label[i] >= 0) {
            mass[labelled->label[i] != 0]++;
            counted++;
        }
    PV_TRY(pv__alloc(d->ctx, from->rows, sizeof *all, &all));
    for (size_t i = 0; i < from->rows; i++) {
        if (by_label && from->label[i] < 0)
            continue;
        all[n++] = (point){score[i], by_label ? 0.5 / mass[from->label[i] != 0] : 1};
    }
    double wanted =
        by_label ? fmax(FEWEST_BINS, floor(fmin(mass[0], mass[1]) / PER_LABEL)) : fmax(2, floor(counted / PER_BIN));
    if (n > 0)
        cut(d, n, all, fmin(wanted, PV__RATE_CELLS));
    pv__free(d->ctx, all);
    return PV_OK;
}

static void put_in_bins(const pv__rate_data *d, size_t rows, const double *score, int32_t *cell) {
    for (size_t i = 0; i < rows; i++) {
        cell[i] = 0;
        while ((size_t)cell[i] + 1 < d->cells && score[i] > d->edge[cell[i]])
            cell[i]++;
    }
}

static pv_status name_bins(pv__rate_data *d) {
    PV_TRY(pv__alloc(d->ctx, d->cells, sizeof *d->system[0].name, &d->system[0].name));
    for (size_t k = 0; k < d->cells; k++) {
        char low[32], high[32], text[80];
        pv__format(low, sizeof low, "%.6g", k > 0 ? d->edge[k - 1] : 0);
        pv__format(high, sizeof high, "%.6g", k + 1 < d->cells ? d->edge[k] : 0);
        pv__format(text, sizeof text,
                   k == 0 && d->cells == 1 ? "all"
                   : k == 0                ? "up to %s"
                   : k + 1 == d->cells     ? "above %s"
                                           : "%s to %s",
                   k == 0 ? high : low, high);
        PV_TRY(pv__strdup(d->ctx, text, &d->system[0].name[k]));
        d->system[0].count++;
    }
    return PV_OK;
}

static pv_status read_scores(pv__rate_data *d, const pv_table *const table[2]) {
    double *score[2] = {NULL, NULL};
    pv__rate_rows *const rows[2] = {&d->sample, &d->gold};
    pv_status status;
    if (d->labels.count > 2)
        return pv__fail(d->ctx, PV_ERR_USAGE,
                        "`score` is for two labels, and column '%s' has %zu;\ngive a column of "
                        "verdicts",
                        pv__show(d->options->outcome).text, d->labels.count);
    for (int t = 0; t < 2 && table[t]; t++)
        PV_GOTO(done, pv__rate_numbers(d->ctx, table[t], "`score`", d->options->score, &score[t]));
    if (d->options->cuts)
        PV_GOTO(done, parse_cuts(d));
    else
        PV_GOTO(done, find_cuts(d, score[0], score[1]));
    for (int t = 0; t < 2 && table[t]; t++) {
        PV_GOTO(done, pv__alloc(d->ctx, table[t]->rows, sizeof *rows[t]->cell, &rows[t]->cell));
        put_in_bins(d, table[t]->rows, score[t], rows[t]->cell);
    }
    status = name_bins(d);
done:
    pv__free(d->ctx, score[0]);
    pv__free(d->ctx, score[1]);
    return status;
}

/* ---- labels and the rest ----------------------------------------------------------------------------------------- */

static pv_status find_positive(pv__rate_data *d) {
    const char *named = d->options->positive;
    char joined[240];
    d->positive = d->labels.count - 1;
    if (named) {
        int32_t found = pv__label_find(d->labels.name, (int32_t)d->labels.count, named, strlen(named));
        pv__join(d->labels.name, d->labels.count, 12, joined, sizeof joined);
        if (found < 0)
            return pv__fail(d->ctx, PV_ERR_USAGE, "`positive`: there is no label '%s'; the labels are %s",
                            pv__show(named).text, joined);
        d->positive = (size_t)found;
    } else if (d->labels.count == 2) {
        int guess = pv_labels_positive((const char *const *)d->labels.name);
        d->positive = guess == 0 ? 0 : 1;
    }
    return PV_OK;
}

/* The verdict that is the positive label: by name, or as two levels tell. */
static int positive_verdict(const pv__rate_data *d, const pv__rate_names *verdicts) {
    const char *name = d->labels.name[d->positive];
    int32_t found = pv__label_find(verdicts->name, (int32_t)verdicts->count, name, strlen(name));
    if (found >= 0 || d->labels.count != 2 || verdicts->count != 2)
        return found;
    int guess = pv_labels_positive((const char *const *)verdicts->name);
    return guess;
}

/* With a known sensitivity the labels are the verdicts. */
static pv_status labels_of_verdicts(pv__rate_data *d) {
    if (d->system[0].count != 2)
        return pv__fail(d->ctx, PV_ERR_INPUT,
                        "column '%s' has %zu verdict%s, and `sensitivity` and `specificity` are "
                        "for two;\nthe sample must have both; otherwise use gold rows",
                        pv__show(d->options->verdict).text, d->system[0].count, d->system[0].count == 1 ? "" : "s");
    d->labels.count = 2;
    return pv__names_copy(d->ctx, (const char *const *)d->system[0].name, 2, &d->labels.name);
}

static pv_status read_labels(pv__rate_data *d, const pv_table *const table[2]) {
    int32_t *code[2] = {NULL, NULL};
    const pv_table *const from[2] = {table[1] ? table[1] : table[0], NULL};
    pv_status status =
        pv__rate_levels(d->ctx, from, "`outcome`", d->options->outcome, PV__RATE_LABELS, &d->labels, code);
    *(d->one_table ? &d->sample.label : &d->gold.label) = code[0];
    PV_TRY(status);
    for (size_t i = 0; !d->one_table && i < from[0]->rows; i++)
        d->unlabelled += code[0][i] < 0;
    return PV_OK;
}

/* Gold rows that all have one label are no mistake where they were not drawn by label: the other labels are then among
 * the verdicts. */
static pv_status complete_labels(pv__rate_data *d, const pv_table *from, const pv__rate_names *verdicts) {
    pv__rate_names *labels = &d->labels;
    int32_t *code = d->one_table ? d->sample.label : d->gold.label;
    if (labels->count == 1 && d->gold_by != PV__GOLD_BY_LABEL &&
        pv__label_find(verdicts->name, (int32_t)verdicts->count, labels->name[0], strlen(labels->name[0])) >= 0) {
        char *only = labels->name[0];
        char **names;
        pv_status status = pv__names_copy(d->ctx, (const char *const *)verdicts->name, verdicts->count, &names);
        if (status != PV_OK) {
            pv_string_list_free(d->ctx, names, verdicts->count);
            return status;
        }
        int32_t at = pv__label_find(names, (int32_t)verdicts->count, only, strlen(only));
        pv_string_list_free(d->ctx, labels->name, 1);
        *labels = (pv__rate_names){names, verdicts->count};
        for (size_t i = 0; i < from->rows; i++)
            code[i] = code[i] < 0 ? -1 : at;
    }
    if (labels->count < 2)
        return pv__fail(d->ctx, PV_ERR_INPUT, "%s: column '%s' has %s;\ngold rows of two labels at least are needed",
                        pv__show(from->source).text, pv__show(d->options->outcome).text,
                        labels->count == 0 ? "no label" : "one label");
    return PV_OK;
}

static pv_status read_weights(pv__rate_data *d, const pv_table *const table[2]) {
    pv__rate_rows *const rows[2] = {&d->sample, &d->gold};
    const char *column = d->options->weights;
    bool whole = true;
    for (int t = 0; t < 2 && table[t] && column; t++) {
        if (t == 1 && pv__table_lookup(table[t], column) == table[t]->columns)
            continue; /* each gold row counts once */
        PV_TRY(pv__rate_numbers(d->ctx, table[t], "`weights`", column, &rows[t]->weight));
        for (size_t i = 0; i < table[t]->rows; i++) {
            double w = rows[t]->weight[i];
            whole = whole && !(w > floor(w));
            if (w < 0)
                return PV__FAIL_CELL(d->ctx, table[t], i, pv__table_lookup(table[t], column),
                                     "column '%s' (`weights`) is negative here;\ngive counts, or sampling weights",
                                     pv__show(column).text);
        }
    }
    enum { AUTO, COUNTS };
    d->sampling = column && (d->options->weights_are == AUTO ? !whole : d->options->weights_are != COUNTS);
    return PV_OK;
}

static pv_status read_design(pv__rate_data *d, const pv_table *const table[2]) {
    int32_t *code[2] = {NULL, NULL};
    pv__rate_rows *const rows[2] = {&d->sample, &d->gold};
    if (d->options->strata) {
        pv_status status =
            pv__rate_levels(d->ctx, table, "`strata`", d->options->strata, PV__RATE_STRATA, &d->strata, code);
        d->sample.stratum = code[0];
        d->gold.stratum = code[1];
        PV_TRY(status);
        for (int t = 0; t < 2 && table[t]; t++)
            for (size_t i = 0; i < table[t]->rows; i++)
                if (rows[t]->stratum[i] < 0)
                    return PV__FAIL_CELL(d->ctx, table[t], i, pv__table_lookup(table[t], d->options->strata),
                                         "column '%s' (`strata`) is empty here;\ngive every row its stratum",
                                         pv__show(d->options->strata).text);
    }
    code[0] = code[1] = NULL;
    if (d->options->cluster) {
        pv_status status = pv__rate_ids(d->ctx, table, "`cluster`", d->options->cluster, code);
        d->sample.cluster = code[0];
        d->gold.cluster = code[1];
        PV_TRY(status);
    }
    return PV_OK;
}

static pv_status read_tables(pv__rate_data *d, const pv_table *const table[2]) {
    d->sample.rows = table[0]->rows;
    d->gold.rows = table[1] ? table[1]->rows : 0;
    for (int t = 0; t < 2 && table[t]; t++)
        if (table[t]->rows == 0)
            return pv__fail_at(d->ctx, PV_ERR_INPUT, table[t]->source, 0, 0, "has no rows");
    if (d->gold_by != PV__GOLD_KNOWN)
        PV_TRY(read_labels(d, table));
    if (d->options->score)
        PV_TRY(read_scores(d, table));
    else
        PV_TRY(read_system(d, 0, table));
    if (d->gold_by == PV__GOLD_KNOWN)
        PV_TRY(labels_of_verdicts(d));
    else
        PV_TRY(complete_labels(d, table[1] ? table[1] : table[0], &d->system[0]));
    PV_TRY(find_positive(d));
    if (d->options->compare)
        PV_TRY(read_system(d, 1, table));
    if (d->options->compare && d->labels.count > 2)
        return pv__fail(d->ctx, PV_ERR_USAGE, "`compare` is for two labels, and column '%s' has %zu;\nleave it out",
                        pv__show(d->options->outcome).text, d->labels.count);
    for (int s = 0; s < 2; s++)
        d->positive_verdict[s] = d->options->score || d->system[s].count == 0 ? -1 : positive_verdict(d, &d->system[s]);
    PV_TRY(read_weights(d, table));
    return read_design(d, table);
}

pv_status pv__rate_read(pv__rate_data *d, const pv_table *sample, const pv_table *gold) {
    const pv_table *const table[2] = {sample, gold};
    PV_TRY(check_options(d, gold));
    d->one_table = !gold && d->gold_by != PV__GOLD_KNOWN;
    return read_tables(d, table);
}

static void clear_rows(pv_ctx *ctx, pv__rate_rows *rows) {
    pv__free(ctx, rows->cell);
    pv__free(ctx, rows->label);
    pv__free(ctx, rows->stratum);
    pv__free(ctx, rows->cluster);
    pv__free(ctx, rows->weight);
}

void pv__rate_clear(pv__rate_data *d) {
    clear_rows(d->ctx, &d->sample);
    clear_rows(d->ctx, &d->gold);
    pv_string_list_free(d->ctx, d->labels.name, d->labels.count);
    pv_string_list_free(d->ctx, d->strata.name, d->strata.count);
    for (int s = 0; s < 2; s++)
        pv_string_list_free(d->ctx, d->system[s].name, d->system[s].count);
}
