/* Counts of gold rows and of the sample by label and verdict, as many as people sampled one by one would tell as much.
 *
 * Gold rows drawn by label: the sample and the gold rows of each label are samples of their own, each with the
 * effective number of people of Rao and Scott (1981; pv__effective_units).
 *
 * Drawn by verdict or at random: the estimate sum_v s_v p_v has the influence
 *
 *   w_i (p_v - rate)/W of a row of the sample,   s_v w_i (y_i - p_v)/W_v of a gold row of verdict v,
 *
 * added up by cluster over both, since they may share clusters. All counts are divided by the variance that this gives
 * over that of people sampled one by one, where it is larger.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "infer/infer.h"
#include "rate/rate.h"

static double weight_at(const pv__rate_rows *rows, size_t i) {
    return rows->weight ? rows->weight[i] : 1;
}

static bool inside(const pv__rate_rows *rows, size_t i, int32_t stratum) {
    return stratum < 0 || !rows->stratum || rows->stratum[i] == stratum;
}

static const pv__rate_rows *gold_rows(const pv__rate_data *d) {
    return d->one_table ? &d->sample : &d->gold;
}

/* Whether a row of the sample counts as such: gold rows drawn by label tell nothing of how common the labels are. */
static bool in_sample(const pv__rate_data *d, size_t i) {
    return !(d->one_table && d->gold_by == PV__GOLD_BY_LABEL && d->sample.label[i] >= 0);
}

static bool needs_units(const pv__rate_data *d) {
    return d->sampling || d->options->cluster;
}

/* Effective people over rows of a label (-1: those of the sample). */
static pv_status units_of(const pv__rate_data *d, int32_t stratum, int label, const double *count, double *people) {
    const pv__rate_rows *rows = label < 0 ? &d->sample : gold_rows(d);
    double *share;
    *people = 0;
    for (size_t k = 0; k < d->cells; k++)
        *people += count[k];
    if (!needs_units(d))
        return PV_OK;
    PV_TRY(pv__alloc(d->ctx, rows->rows, d->cells * sizeof *share, &share));
    for (size_t i = 0; i < rows->rows; i++)
        if (inside(rows, i, stratum) && (label < 0 ? in_sample(d, i) : rows->label[i] == label))
            share[i * d->cells + (size_t)rows->cell[i]] = weight_at(rows, i);
    const pv__sampled how = {
        .rows = rows->rows, .cells = d->cells, .share = share, .cluster = rows->cluster, .sampling = d->sampling};
    pv_status status = pv__effective_units(d->ctx, &how, people);
    pv__free(d->ctx, share);
    return status;
}

static void scale(size_t n, double *count, double people) {
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += count[k];
    for (size_t k = 0; k < n && sum > 0; k++)
        count[k] *= people / sum;
}

static pv_status scale_by_label(const pv__rate_data *d, int32_t stratum, pv__rate_counts *c) {
    double people;
    PV_TRY(units_of(d, stratum, -1, c->sample, &people));
    scale(c->cells, c->sample, people);
    for (size_t y = 0; y < c->labels && d->gold_by == PV__GOLD_BY_LABEL; y++) {
        PV_TRY(units_of(d, stratum, (int)y, c->gold[y], &people));
        scale(c->cells, c->gold[y], people);
    }
    return PV_OK;
}

/* ---- by verdict -------------------------------------------------------------------------------------------------- */

/* s [cells] and, of the label of interest, p [cells] and gold [cells], by weight. */
typedef struct shares {
    double s[PV__RATE_CELLS], p[PV__RATE_CELLS], gold[PV__RATE_CELLS], sample, rate;
} shares;

static shares shares_of(const pv__rate_counts *c, size_t label) {
    shares made = {.rate = 0};
    for (size_t v = 0; v < c->cells; v++)
        made.sample += c->sample[v];
    for (size_t v = 0; v < c->cells; v++) {
        for (size_t y = 0; y < c->labels; y++)
            made.gold[v] += c->gold[y][v];
        made.s[v] = c->sample[v] / made.sample;
        made.p[v] = made.gold[v] > 0 ? c->gold[label][v] / made.gold[v] : 0;
        made.rate += made.s[v] * made.p[v];
    }
    return made;
}

/* The estimate's variance over people sampled one by one. */
static double simple_variance(size_t cells, const shares *f, double people, const double *gold) {
    double sum = 0;
    for (size_t v = 0; v < cells; v++) {
        sum += f->s[v] * (f->p[v] - f->rate) * (f->p[v] - f->rate) / people;
        sum += gold[v] > 0 ? f->s[v] * f->s[v] * f->p[v] * (1 - f->p[v]) / gold[v] : 0;
    }
    return sum;
}

/* Squares of the units' influence: those of rows, or of clusters, of which there are *units. */
typedef struct influence {
    const pv__rate_data *d;
    int32_t stratum;
    size_t label;
    const shares *f;
    double *own; /* [clusters]; NULL: rows are units */
    bool *met;
    double square;
} influence;

static void add(influence *u, const pv__rate_rows *rows, size_t i, double value) {
    if (!rows->cluster) {
        u->square += value * value;
        return;
    }
    u->own[rows->cluster[i]] += value;
    u->met[rows->cluster[i]] = true;
}

static void add_rows(influence *u) {
    const pv__rate_rows *sample = &u->d->sample, *gold = gold_rows(u->d);
    const shares *f = u->f;
    bool both = gold == sample && !sample->cluster; /* a row's two parts are added before they are squared */
    for (size_t i = 0; i < sample->rows; i++) {
        if (!inside(sample, i, u->stratum))
            continue;
        size_t v = (size_t)sample->cell[i];
        double value = weight_at(sample, i) * (f->p[v] - f->rate) / f->sample;
        if (both && sample->label[i] >= 0)
            value += f->s[v] * weight_at(sample, i) * ((size_t)sample->label[i] == u->label ? 1 - f->p[v] : -f->p[v]) /
                     f->gold[v];
        add(u, sample, i, value);
    }
    for (size_t i = 0; i < gold->rows && !both; i++) {
        if (!inside(gold, i, u->stratum) || gold->label[i] < 0)
            continue;
        size_t v = (size_t)gold->cell[i];
        add(u, gold, i,
            f->s[v] * weight_at(gold, i) * ((size_t)gold->label[i] == u->label ? 1 - f->p[v] : -f->p[v]) / f->gold[v]);
    }
}

static pv_status design_variance(influence *u, double *variance) {
    pv_ctx *ctx = u->d->ctx;
    const pv__rate_rows *const rows[2] = {&u->d->sample, &u->d->gold};
    size_t clusters = 0, met = 0;
    pv_status status = PV_OK;
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; rows[t]->cluster && i < rows[t]->rows; i++)
            clusters = (size_t)rows[t]->cluster[i] + 1 > clusters ? (size_t)rows[t]->cluster[i] + 1 : clusters;
    PV_GOTO(done, pv__alloc(ctx, clusters, sizeof *u->own, &u->own));
    PV_GOTO(done, pv__alloc(ctx, clusters, sizeof *u->met, &u->met));
    add_rows(u);
    for (size_t j = 0; j < clusters; j++) {
        u->square += u->own[j] * u->own[j];
        met += u->met[j];
    }
    *variance = u->square * (met > 1 ? (double)met / (double)(met - 1) : 1);
done:
    pv__free(ctx, u->own);
    pv__free(ctx, u->met);
    return status;
}

static pv_status scale_by_verdict(const pv__rate_data *d, int32_t stratum, pv__rate_counts *c) {
    if (!needs_units(d))
        return PV_OK;
    const shares f = shares_of(c, d->positive);
    double people = f.sample, gold[PV__RATE_CELLS], variance;
    influence u = {.d = d, .stratum = stratum, .label = d->positive, .f = &f};
    memcpy(gold, f.gold, sizeof gold);
    if (d->sampling) { /* rows are people */
        people = c->rows;
        for (size_t v = 0; v < c->cells; v++) {
            gold[v] = 0;
            for (size_t y = 0; y < c->labels; y++)
                gold[v] += c->people[y][v];
        }
    }
    PV_TRY(design_variance(&u, &variance));
    double simple = simple_variance(c->cells, &f, people, gold);
    double effect = simple > 0 && variance > simple ? variance / simple : 1;
    scale(c->cells, c->sample, people / effect);
    for (size_t v = 0; v < c->cells; v++)
        for (size_t y = 0; y < c->labels && f.gold[v] > 0; y++)
            c->gold[y][v] *= gold[v] / f.gold[v] / effect;
    return PV_OK;
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

pv_status pv__rate_known(pv_ctx *ctx, const char *option, const char *text, double exact, double *right,
                         double *people) {
    char part[64];
    const char *slash = strchr(text, '/');
    double a = 0, b = 1;
    pv__format(part, sizeof part, "%.*s", slash ? (int)fmin(63, (double)(slash - text)) : 63, text);
    bool good = pv__parse_real(part, &a) && (!slash || pv__parse_real(slash + 1, &b));
    good = good && a >= 0 && a <= b && b > 0 && (!slash || (b < 1e9 && !(a > floor(a)) && !(b > floor(b))));
    if (!good)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`%s=%s` is neither a probability nor a count of correct verdicts;\ngive 0.95, or 95/100 from a "
            "validation study",
            option, pv__show(text).text);
    *people = slash ? b : exact;
    *right = slash ? a : a * exact;
    return PV_OK;
}

static pv_status put_known(const pv__rate_data *d, pv__rate_counts *c) {
    double right, people, exact = 1000 * fmax(c->rows, 1); /* people: they add a thousandth of the variance */
    size_t yes = d->positive, no = 1 - yes;
    PV_TRY(pv__rate_known(d->ctx, "sensitivity", d->options->sensitivity, exact, &right, &people));
    c->gold[yes][yes] = right;
    c->gold[yes][no] = people - right;
    PV_TRY(pv__rate_known(d->ctx, "specificity", d->options->specificity, exact, &right, &people));
    c->gold[no][no] = right;
    c->gold[no][yes] = people - right;
    memcpy(c->people, c->gold, sizeof c->people);
    return PV_OK;
}

static void put_gold(const pv__rate_data *d, int32_t stratum, pv__rate_counts *c) {
    const pv__rate_rows *rows = gold_rows(d);
    for (size_t i = 0; i < rows->rows; i++)
        if (inside(rows, i, stratum) && rows->label[i] >= 0) {
            c->gold[rows->label[i]][rows->cell[i]] += weight_at(rows, i);
            c->people[rows->label[i]][rows->cell[i]] += d->sampling ? weight_at(rows, i) > 0 : weight_at(rows, i);
        }
}

/* " of stratum 'a'" */
static const char *of_stratum(const pv__rate_data *d, int32_t stratum, char *text, size_t size) {
    if (stratum < 0)
        *text = '\0';
    else
        pv__format(text, size, " of stratum '%s'", pv__show(d->strata.name[stratum]).text);
    return text;
}

static pv_status check(const pv__rate_data *d, int32_t stratum, const pv__rate_counts *c) {
    double sample = 0, gold = 0;
    char place[120];
    (void)of_stratum(d, stratum, place, sizeof place);
    for (size_t k = 0; k < c->cells; k++)
        sample += c->sample[k];
    for (size_t y = 0; y < c->labels; y++) {
        double own = 0;
        for (size_t k = 0; k < c->cells; k++)
            own += c->gold[y][k];
        if (!(own > 0) && d->gold_by == PV__GOLD_BY_LABEL)
            return pv__fail(d->ctx, PV_ERR_INPUT,
                            "no gold row%s has the label '%s';\ndraw some, or leave the stratum out", place,
                            pv__show(d->labels.name[y]).text);
        gold += own;
    }
    if (!(sample > 0))
        return pv__fail(
            d->ctx, PV_ERR_INPUT,
            d->one_table && d->gold_by == PV__GOLD_BY_LABEL
                ? "every row%s has an outcome, so no sample is left whose rate could be estimated;\ngive the gold rows "
                  "in a separate file with `gold`, or leave the outcome of the sample's rows empty"
                : "the sample has no row%s with a weight above 0;\nleave the stratum out, or correct the "
                  "weights",
            place);
    if (!(gold > 0))
        return pv__fail(d->ctx, PV_ERR_INPUT, "there is no gold row%s;\ndraw some, or leave the stratum out", place);
    return PV_OK;
}

pv_status pv__rate_count(const pv__rate_data *d, int32_t stratum, pv__rate_counts *c) {
    double all = 0, own = 0;
    *c = (pv__rate_counts){.gold_by = d->gold_by, .labels = d->labels.count, .cells = d->cells};
    for (size_t i = 0; i < d->sample.rows; i++) {
        double w = in_sample(d, i) ? weight_at(&d->sample, i) : 0;
        all += w;
        if (!inside(&d->sample, i, stratum))
            continue;
        own += w;
        c->sample[d->sample.cell[i]] += w;
        c->rows += d->sampling ? w > 0 : w;
    }
    c->share = all > 0 ? own / all : 0;
    if (d->gold_by == PV__GOLD_KNOWN)
        PV_TRY(put_known(d, c));
    else
        put_gold(d, stratum, c);
    PV_TRY(check(d, stratum, c));
    return d->gold_by == PV__GOLD_BY_LABEL || d->gold_by == PV__GOLD_KNOWN ? scale_by_label(d, stratum, c)
                                                                           : scale_by_verdict(d, stratum, c);
}
