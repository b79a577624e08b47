/* Decisions with costs.
 *
 *   d(x) = argmin_a sum_y E(a,y) p(y|x)                                                        (Eq. optimal policy)
 *
 * With two classes, expected costs are linear in p = p(last label|x), and the best actions are their lower envelope.
 * With two actions the single threshold is the paper's 1/theta = 1 + (E(0,1) - E(1,1)) / (E(1,0) - E(0,0)).
 */
#include <math.h>
#include <string.h>

#include "data/data.h"
#include "base/number.h"
#include "predict/predict.h"

enum { ACTIONS_MAX = 1000 };
static const double COST_MAX = 1e100; /* keeps sums, differences and ratios of costs finite */

void pv_costs_free(pv_ctx *ctx, pv_costs *costs) {
    if (!costs)
        return;
    pv_string_list_free(ctx, costs->action, costs->actions);
    pv__free(ctx, costs->cost);
    pv__free(ctx, costs);
}

/* column[y]: index of the column with label y's costs. */
static pv_status find_labels(pv_ctx *ctx, const pv_table *table, char *const *labels, int classes, size_t *column) {
    char joined[200];
    pv__join(labels, (size_t)classes, 8, joined, sizeof joined);
    for (int y = 0; y < classes; y++)
        column[y] = table->columns;
    for (size_t c = 1; c < table->columns; c++) {
        const char *name = table->column[c].name;
        int32_t y = pv__label_find(labels, classes, name, strlen(name));
        if (y < 0)
            return pv__fail_at(
                ctx, PV_ERR_INPUT, table->source, pv_table_line(table, 0) - 1, c + 1,
                "column '%s' of the costs is not one of the labels: %s (the first column names the action)",
                pv__show(name).text, joined);
        if (column[y] < table->columns)
            return pv__fail_at(ctx, PV_ERR_INPUT, table->source, pv_table_line(table, 0) - 1, c + 1,
                               "label '%s' has two columns of costs;\nkeep one", pv__show(labels[y]).text);
        column[y] = c;
    }
    for (int y = 0; y < classes; y++)
        if (column[y] == table->columns)
            return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                               "the costs have no column for label '%s'; the first column names the action, then comes "
                               "one column for each of: %s",
                               pv__show(labels[y]).text, joined);
    return PV_OK;
}

static pv_status take_action(pv_ctx *ctx, const pv_table *table, size_t row, const size_t *column, pv_costs *costs) {
    const pv_column *names = &table->column[0];
    if (names->code[row] < 0)
        return PV__FAIL_CELL(ctx, table, row, 0, "the action of this row has no name in column '%s'",
                             pv__show(names->name).text);
    const char *name = names->level[names->code[row]];
    if (names->code[row] < (int32_t)row) /* levels are numbered in order of first appearance */
        return PV__FAIL_CELL(ctx, table, row, 0, "action '%s' is given twice;\ngive each once", pv__show(name).text);
    PV_TRY(pv__strdup(ctx, name, &costs->action[row]));
    for (int y = 0; y < costs->classes; y++) {
        const pv_column *cells = &table->column[column[y]];
        double *cost = &costs->cost[row * (size_t)costs->classes + (size_t)y];
        if (cells->code[row] < 0)
            return PV__FAIL_CELL(ctx, table, row, column[y],
                                 "the cost of action '%s' for label '%s' is missing;\ngive a number",
                                 pv__show(name).text, pv__show(cells->name).text);
        const char *text = cells->level[cells->code[row]];
        if (!pv__number_parse(text, strlen(text), cost) || isinf(*cost))
            return PV__FAIL_CELL(ctx, table, row, column[y], "'%s' is not a cost:\ngive a finite number",
                                 pv__show(text).text);
        if (fabs(*cost) > COST_MAX)
            return PV__FAIL_CELL(ctx, table, row, column[y],
                                 "'%s' is not a cost: costs are at most %g in absolute value; to rule an action out, a "
                                 "million times the other costs is enough",
                                 pv__show(text).text, COST_MAX);
    }
    return PV_OK;
}

/* Parses the costs of errors for two labels, fp=1,fn=50. The actions are named none (right for the first label) and
 * treat (right for the last). */
static pv_status parse_errors(pv_ctx *ctx, const char *text, int classes, pv_costs **costs) {
    static const char *const word[] = {"tn", "fn", "fp", "tp"}; /* [action][label] */
    double cost[4] = {0};
    bool given[4] = {false};
    if (classes != 2)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`costs=%s`: false positives and negatives need two labels, and there are %d;\ngive a CSV file "
                        "with a row for each action",
                        pv__show(text).text, classes);
    for (const char *at = text; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        int which = 0;
        while (which < 4 && strncmp(at, word[which], 2) != 0)
            which++;
        if (which == 4 || length < 4 || at[2] != '=' || given[which] ||
            !pv__number_parse(at + 3, length - 3, &cost[which]) || !(fabs(cost[which]) <= COST_MAX))
            return pv__fail(ctx, PV_ERR_USAGE,
                            "`costs=%s`: write fp=COST,fn=COST, and tp=COST or tn=COST if right decisions cost "
                            "something;\nor name a CSV file with a row for each action",
                            pv__show(text).text);
        given[which] = true;
        at += length;
    }
    if (!given[1] || !given[2])
        return pv__fail(ctx, PV_ERR_USAGE, "`costs=%s`: both fp=COST and fn=COST are needed", pv__show(text).text);
    PV_TRY(pv__alloc(ctx, 1, sizeof **costs, costs));
    pv_costs *made = *costs;
    *made = (pv_costs){.classes = 2};
    PV_TRY(pv__alloc(ctx, 2, sizeof *made->action, &made->action));
    made->actions = 2;
    PV_TRY(pv__strdup(ctx, "none", &made->action[0]));
    PV_TRY(pv__strdup(ctx, "treat", &made->action[1]));
    PV_TRY(pv__alloc(ctx, 4, sizeof *made->cost, &made->cost));
    memcpy(made->cost, cost, sizeof cost);
    return PV_OK;
}

pv_status pv_costs_read(pv_ctx *ctx, const char *path, char *const *labels, int classes, pv_costs **costs) {
    *costs = NULL;
    if (strchr("ft", path[0]) && path[0] && strchr("pn", path[1]) && path[1] && path[2] == '=') {
        pv_status parsed = parse_errors(ctx, path, classes, costs);
        if (parsed != PV_OK) {
            pv_costs_free(ctx, *costs);
            *costs = NULL;
        }
        return parsed;
    }
    pv_table *table = NULL;
    pv_costs *made = NULL;
    size_t *column = NULL;
    pv_csv_options csv = {.number_prefix = ""}; /* read everything as text, because labels can have any name */
    pv_status status;
    PV_GOTO(done, pv_table_read(ctx, path, &csv, &table));
    if (table->arrays)
        PV_GOTO(done, pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                                  "is a file of arrays; costs are a CSV file, a row for each action"));
    PV_GOTO(done, pv__alloc(ctx, (size_t)classes, sizeof *column, &column));
    PV_GOTO(done, find_labels(ctx, table, labels, classes, column));
    if (table->rows < 2)
        PV_GOTO(done, pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                                  "there is only one action; a decision needs at least two, one in each row"));
    if (table->rows > ACTIONS_MAX)
        PV_GOTO(
            done,
            pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                        "has %zu rows, each an action; at most %d are supported; check that this is the file of costs",
                        table->rows, ACTIONS_MAX));
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *made, &made));
    made->classes = classes;
    made->actions = table->rows;
    PV_GOTO(done, pv__alloc(ctx, table->rows, sizeof *made->action, &made->action));
    PV_GOTO(done, pv__alloc(ctx, table->rows * (size_t)classes, sizeof *made->cost, &made->cost));
    for (size_t row = 0; row < table->rows; row++)
        PV_GOTO(done, take_action(ctx, table, row, column, made));
    *costs = made;
    made = NULL;
done:
    if (made && !made->action)
        made->actions = 0;
    pv_costs_free(ctx, made);
    pv__free(ctx, column);
    pv_table_free(ctx, table);
    return status;
}

static double expected_cost(const pv_costs *costs, size_t action, const double *p) {
    double sum = 0;
    for (int y = 0; y < costs->classes; y++)
        sum += costs->cost[action * (size_t)costs->classes + (size_t)y] * p[y];
    return sum;
}

pv_status pv_decide(pv_ctx *ctx, const pv_costs *costs, size_t n, const double *p, int32_t *action, double *expected) {
    size_t k = (size_t)costs->classes;
    PV_TRY(pv__gate_pass(ctx, PV__GATE_SHARES, n, costs->classes, p));
    PV__EACH_CHUNK(ctx, pv__chunks(n), c, {
        for (size_t i = c * PV_CHUNK; i < c * PV_CHUNK + pv__chunk_rows(n, c); i++) {
            size_t best = 0;
            double least = expected_cost(costs, 0, p + i * k);
            for (size_t a = 1; a < costs->actions; a++) {
                double cost = expected_cost(costs, a, p + i * k);
                if (cost < least) {
                    least = cost;
                    best = a;
                }
            }
            if (action)
                action[i] = (int32_t)best;
            if (expected)
                expected[i] = least;
        }
    });
    return PV_OK;
}

pv_status pv_decide_label(pv_ctx *ctx, size_t n, int classes, const double *p, int32_t *label) {
    size_t k = (size_t)classes;
    PV_TRY(pv__gate_pass(ctx, PV__GATE_SHARES, n, classes, p));
    PV__EACH_CHUNK(ctx, pv__chunks(n), c, {
        for (size_t i = c * PV_CHUNK; i < c * PV_CHUNK + pv__chunk_rows(n, c); i++) {
            size_t best = 0;
            for (size_t y = 1; y < k; y++)
                if (p[i * k + y] > p[i * k + best])
                    best = y;
            label[i] = (int32_t)best;
        }
    });
    return PV_OK;
}

size_t pv_cost_thresholds(const pv_costs *costs, size_t *action, double *threshold) {
    const double *cost = costs->cost;
    size_t now = 0, count = 0;
    for (size_t a = 1; a < costs->actions; a++) /* the best action at p = 0, and just above */
        if (cost[2 * a] < cost[2 * now] || (cost[2 * a] == cost[2 * now] && cost[2 * a + 1] < cost[2 * now + 1]))
            now = a;
    for (action[count++] = now;;) {
        size_t next = now;
        double at = 1;
        for (size_t a = 0; a < costs->actions; a++) {
            double rise = cost[2 * now + 1] - cost[2 * now] - (cost[2 * a + 1] - cost[2 * a]);
            if (!(rise > 0))
                continue; /* never becomes the best */
            double crossing = (cost[2 * a] - cost[2 * now]) / rise;
            if (crossing < at || (crossing == at && next != now && cost[2 * a + 1] < cost[2 * next + 1])) {
                at = crossing;
                next = a;
            }
        }
        if (next == now)
            return count;
        threshold[count - 1] = at;
        action[count++] = now = next;
    }
}
