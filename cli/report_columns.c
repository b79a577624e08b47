/* Risk along each column of a table, predicted and observed: where the model's line is wrong. Rows are weighted label
 * by label to the population of the predictions, so that a sample drawn by label shows its risks, not the sample's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_sections.h"
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/report.h"

enum { COLUMNS_DRAWN = 12, BINS = 8, LEVELS_DRAWN = 12 };
static const double LEVEL = 0.9;

typedef struct bin {
    double x, weight, predicted, of[2], squares[2]; /* sums; of rows without and with the label */
} bin;

typedef struct column {
    const pv_source_column *source;
    size_t feature; /* its first of the encoded matrix */
    size_t bins;
    double x[LEVELS_DRAWN], predicted[LEVELS_DRAWN], observed[LEVELS_DRAWN], lo[LEVELS_DRAWN], hi[LEVELS_DRAWN];
    const char *name[LEVELS_DRAWN];
    char names[LEVELS_DRAWN][24];
    double away; /* mean square of the distance of prediction and observation, in half widths of the interval */
    pv_series series[2];
    char title[128]; /* the column's name, shortened */
} column;

typedef struct people {
    const pv_dataset *data;
    const double *p; /* [rows][classes] */
    int positive;
    double factor[2]; /* from rows to the population, without and with the label */
} people;

static bool has_label(const people *all, size_t n) {
    return all->data->label[n] == all->positive;
}

static double weight_of(const people *all, size_t n) {
    return all->data->weight ? all->data->weight[n] : 1;
}

static void add(const people *all, size_t n, double x, bin *to) {
    bool own = has_label(all, n);
    double v = weight_of(all, n), weight = v * all->factor[own];
    to->x += weight * x;
    to->weight += weight;
    to->predicted += weight * all->p[n * (size_t)all->data->classes + (size_t)all->positive];
    to->of[own] += v;
    to->squares[own] += v * v;
}

/* Half a row of each label stands where there are none, so that a bin without cases has an interval. */
static void close_bin(const people *all, const bin *from, column *c, size_t at) {
    double count[2], half, z = pv_normal_quantile(0.5 + 0.5 * LEVEL);
    for (int y = 0; y < 2; y++)
        count[y] = from->squares[y] > 0 ? from->of[y] * from->of[y] / from->squares[y] : 0;
    double scale[2] = {count[0] > 0 ? from->of[0] / count[0] : 1, count[1] > 0 ? from->of[1] / count[1] : 1};
    bool few = !(count[0] > 0 && count[1] > 0);
    double odds =
        (from->of[1] + 0.5 * few * scale[1]) * all->factor[1] / ((from->of[0] + 0.5 * few * scale[0]) * all->factor[0]);
    half = z * sqrt(1 / (count[0] + 0.5 * few) + 1 / (count[1] + 0.5 * few));
    c->predicted[at] = from->predicted / from->weight;
    c->observed[at] = count[1] > 0 ? odds / (1 + odds) : NAN;
    c->lo[at] = pv_sigmoid(log(odds) - half);
    c->hi[at] = pv_sigmoid(log(odds) + half);
    c->away += pow((pv_logit(c->predicted[at]) - log(odds)) / half, 2);
}

/* ---- bins -------------------------------------------------------------------------------------------------------- */

typedef struct place {
    double x;
    size_t row;
} place;

static int by_x(const void *left, const void *right) {
    const place *a = left, *b = right;
    if (a->x != b->x)
        return a->x < b->x ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Bins of about as many rows; equal values stay together. */
static void bin_numbers(const people *all, column *c) {
    size_t n = all->data->rows, d = (size_t)all->data->features;
    place *order = cli_alloc(n, sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = (place){c->source->mean + c->source->sd * all->data->x[i * d + c->feature], i};
    qsort(order, n, sizeof *order, by_x);
    bin now = {0};
    for (size_t i = 0; i < n; i++) {
        add(all, order[i].row, order[i].x, &now);
        bool last = i + 1 == n, full = (i + 1) * BINS / n > i * BINS / n;
        if (!last && (order[i + 1].x == order[i].x || !(full || now.of[0] + now.of[1] > (double)n / BINS)))
            continue;
        if (now.weight > 0) {
            c->x[c->bins] = now.x / now.weight;
            close_bin(all, &now, c, c->bins);
            c->bins++;
        }
        now = (bin){0};
        if (c->bins == LEVELS_DRAWN)
            break;
    }
    free(order);
}

static void bin_levels(const people *all, column *c) {
    size_t levels = (size_t)c->source->levels, d = (size_t)all->data->features;
    bin *found = cli_alloc(levels, sizeof *found);
    for (size_t i = 0; i < all->data->rows; i++) {
        size_t level = 0;
        for (size_t l = 1; l < levels; l++)
            level = all->data->x[i * d + c->feature + l - 1] > 0.5 ? l : level;
        add(all, i, 0, &found[level]);
    }
    for (size_t l = 0; l < levels && c->bins < LEVELS_DRAWN; l++) {
        if (!(found[l].weight > 0))
            continue;
        pv_text_short(c->source->level[l], 14, c->names[c->bins], sizeof c->names[c->bins]);
        c->name[c->bins] = c->names[c->bins];
        c->x[c->bins] = (double)c->bins;
        close_bin(all, &found[l], c, c->bins);
        c->bins++;
    }
    free(found);
}

/* ---- the section ------------------------------------------------------------------------------------------------- */

static pv_panel panel_of(column *c, const char *label) {
    bool text = c->source->type == PV_COLUMN_TEXT;
    c->series[0] = (pv_series){.mark = text ? PV_MARK_POINTS : PV_MARK_LINE,
                               .ink = PV_INK_EXPECTED,
                               .name = "predicted",
                               .n = c->bins,
                               .x = c->x,
                               .y = c->predicted,
                               .size = text ? 5 : 0};
    c->series[1] = (pv_series){.mark = PV_MARK_POINTS,
                               .ink = PV_INK_EMPIRICAL,
                               .name = "observed, weighted",
                               .n = c->bins,
                               .x = c->x,
                               .y = c->observed,
                               .lo = c->lo,
                               .hi = c->hi,
                               .size = 3};
    pv_text_short(c->source->name, 30, c->title, sizeof c->title);
    pv_panel panel = {.title = c->title,
                      .x = {.label = "value"}, /* the title has the column's name, of any length */
                      .y = {.label = label, .log = true},
                      .series = c->series,
                      .n_series = 2,
                      .width = 320,
                      .height = 260};
    if (text) {
        panel.x.name = c->name;
        panel.x.n_names = c->bins;
    }
    return panel;
}

/* The columns that are farthest off come first. */
static int by_distance(const void *left, const void *right) {
    const column *a = left, *b = right;
    if (a->away != b->away)
        return a->away > b->away ? -1 : 1;
    return a->feature < b->feature ? -1 : 1;
}

static size_t fill(const people *all, const pv_schema *schema, column *columns) {
    size_t feature = 0, count = 0;
    for (size_t s = 0; s < schema->sources; s++) {
        const pv_source_column *source = &schema->source[s];
        bool text = source->type == PV_COLUMN_TEXT;
        columns[count] = (column){.source = source, .feature = feature};
        (text ? bin_levels : bin_numbers)(all, &columns[count]);
        feature += text ? (size_t)source->levels - 1 : 1;
        columns[count].away /= (double)columns[count].bins;
        count += columns[count].bins > 1;
    }
    qsort(columns, count, sizeof *columns, by_distance);
    return count;
}

static bool fill_people(const pv_classifier *c, const pv_dataset *data, const pv_prediction *said, people *all) {
    double mass[2] = {0};
    *all = (people){.data = data, .p = said->p, .positive = c->schema->classes - 1};
    if (!data->label || data->images || !said->prevalence || c->schema->sources == 0)
        return false;
    for (size_t i = 0; i < data->rows; i++)
        mass[has_label(all, i)] += weight_of(all, i);
    double share = said->prevalence[all->positive];
    all->factor[0] = (1 - share) / mass[0];
    all->factor[1] = share / mass[1];
    return mass[0] > 0 && mass[1] > 0;
}

int report_put_columns(cli_call *call, pv_report *report, const pv_classifier *c, const pv_dataset *data,
                       const pv_prediction *said) {
    people all;
    if (!fill_people(c, data, said, &all))
        return CLI_OK;
    column *columns = cli_alloc(c->schema->sources, sizeof *columns);
    size_t count = fill(&all, c->schema, columns), drawn = count < COLUMNS_DRAWN ? count : COLUMNS_DRAWN;
    char label[120], text[700];
    pv_text_short(c->schema->labels[all.positive], 40, label, sizeof label);
    pv_panel panels[COLUMNS_DRAWN];
    for (size_t i = 0; i < drawn; i++)
        panels[i] = panel_of(&columns[i], "risk");
    snprintf(text, sizeof text,
             "The risk of %s by rows in bins of each column, weighted to the population (prevalence %.4g). Where the "
             "observed risks bend "
             "away from the predicted ones, beyond their 90 %% intervals, the model's straight line is wrong: give the "
             "column its square or its logarithm. The columns that are farthest off come first.%s",
             label, said->prevalence[all.positive], drawn < count ? " Only the first twelve are drawn." : "");
    pv_status status = PV_OK;
    if (drawn > 0) {
        pv_report_section(report, "columns", "Where the line is wrong");
        pv_figure figure = {.name = "columns",
                            .title = "Risk along each column, predicted and observed.",
                            .text = text,
                            .panel = panels,
                            .panels = drawn};
        status = pv_report_put_figure(call->ctx, report, &figure);
    }
    free(columns);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}
