/* Exports to SQL, for DuckDB and PostgreSQL. Steps become columns of nested subqueries, each over one row of the table
 * (LATERAL); OFFSET 0 keeps PostgreSQL from substituting a column's expression wherever it is used. A missing number is
 * NULL. Draws are rows of a separate table and are averaged. A step whose columns are used only once is inlined where
 * it is used.
 */
#include <string.h>

#include "export/sql.h"

/* ---- subqueries -------------------------------------------------------------------------------------------------- */

static void count_taken(pv__sql *w) {
    const pv__steps *s = &w->d->steps;
    w->taken[w->d->p] = 2;
    for (int i = s->count - 1; i >= 0; i--) {
        const pv__step *step = &s->step[i];
        for (int j = 0; step->kind > PV__STEP_CONSTANT && j < step->inputs; j++) {
            int from = step->from[j];
            size_t spread = s->step[from].width == 1 && step->width > 1 ? step->width : 1;
            if (pv__sql_stands_for(step) && step->kind != PV__STEP_MEAN)
                w->taken[from] += w->taken[i] * spread;
            else
                w->taken[from] +=
                    w->phase[from] == w->phase[i] || step->kind == PV__STEP_MEAN ? pv__sql_times(step, j) * spread : 2;
        }
    }
}

/* Counts the columns of other steps named in an expression, including inlined ones. */
static void count_named(pv__sql *w) {
    const pv__steps *s = &w->d->steps;
    for (int i = 0; i < s->count; i++) {
        const pv__step *step = &s->step[i];
        bool all = step->kind == PV__STEP_SUM || step->kind == PV__STEP_TOP || step->kind == PV__STEP_MATMUL;
        if (step->kind == PV__STEP_TREES) { /* has a subquery of its own */
            w->named[i] = NAMED;
            continue;
        }
        for (int j = 0; step->kind > PV__STEP_CONSTANT && j < step->inputs; j++) {
            int from = step->from[j];
            size_t own = s->step[from].kind == PV__STEP_CONSTANT                            ? s->step[from].drawn
                         : pv__sql_stands_for(&s->step[from]) || pv__sql_is_inline(w, from) ? w->named[from]
                                                                                            : 1;
            own = pv__sql_stands_for(step) && w->named[i] > own ? 0 : own;
            w->named[i] = pv__sql_stands_for(step)
                              ? w->named[i] + own
                              : w->named[i] + own * (pv__sql_pattern(step) ? pv__sql_times(step, j) : 1) *
                                                  (all && j == 0 ? s->step[from].width : 1);
        }
    }
}

/* Assigns each step the earliest level that its inputs allow, within its phase. */
static void find_levels(pv__sql *w) {
    const pv__steps *s = &w->d->steps;
    for (int i = 0; i < s->count; i++) {
        const pv__step *step = &s->step[i];
        int after = 0;
        for (int j = 0; step->kind > PV__STEP_CONSTANT && step->kind != PV__STEP_MEAN && j < step->inputs; j++) {
            int from = step->from[j];
            if (w->phase[from] == w->phase[i] && w->level[from] > after)
                after = w->level[from];
        }
        w->level[i] = after + !(pv__sql_stands_for(step) || pv__sql_is_inline(w, i));
        if (w->level[i] > w->levels[w->phase[i]])
            w->levels[w->phase[i]] = w->level[i];
    }
}

static bool has_columns(const pv__sql *w, int at, pv__step_phase phase, int level) {
    return w->phase[at] == phase && w->level[at] == level && !pv__sql_stands_for(pv__sql_step(w, at)) &&
           !pv__sql_is_inline(w, at);
}

/* Divides a level into subqueries, so that none names too many columns; returns their number. */
static int divide_level(pv__sql *w, pv__step_phase phase, int level) {
    const pv__steps *s = &w->d->steps;
    size_t named = 0;
    int groups = 1;
    for (int i = 0; i < s->count; i++) {
        if (!has_columns(w, i, phase, level))
            continue;
        size_t own = s->step[i].width * (w->named[i] + 1);
        if (named > 0 && named + own > NAMED) {
            groups++;
            named = 0;
        }
        named += own;
        w->group[i] = groups;
    }
    return groups;
}

/* FROM the inputs of trees, each named once, however often the trees use it. */
static pv_status put_inputs_of_trees(const pv__sql *w, const pv__step *step) {
    size_t inputs = pv__sql_step(w, step->from[0])->width,
           trees = pv__sql_step(w, step->from[1])->rows / (((size_t)2 << step->first) - 1);
    if (trees > TREES_MAX || inputs > COLUMNS_MAX)
        return pv__fail(
            w->out->ctx, PV_ERR_USAGE,
            "the model has %zu trees over %zu columns, too many for a query (%d, %d):\nexport it as ONNX or C", trees,
            inputs, TREES_MAX, COLUMNS_MAX);
    pv__out_text(w->out, "\nFROM (SELECT ");
    for (size_t i = 0; i < inputs; i++) {
        pv__out_text(w->out, i > 0 ? ", " : "");
        pv__sql_column(w, step->from[0], i);
        pv__out_format(w->out, " AS x%zu", i);
    }
    pv__out_text(w->out, " OFFSET 0) AS z");
    return w->out->status;
}

static pv_status put_group(pv__sql *w, pv__step_phase phase, int level, int group) {
    static const char names[] = "abc";
    const pv__steps *s = &w->d->steps;
    size_t columns = 0;
    int trees = -1; /* the step of the group if it consists of trees */
    pv__out_text(w->out, "CROSS JOIN LATERAL (SELECT ");
    for (int i = 0; i < s->count; i++) {
        if (has_columns(w, i, phase, level) && w->group[i] == group && s->step[i].kind == PV__STEP_TREES)
            trees = i;
        for (size_t j = 0; has_columns(w, i, phase, level) && w->group[i] == group && j < s->step[i].width; j++) {
            pv__out_text(w->out, columns++ > 0 ? ",\n    " : "");
            pv__sql_expression(w, &s->step[i], j);
            pv__out_format(w->out, " AS v%d_%zu", i, j);
        }
    }
    if (trees >= 0)
        PV_TRY(put_inputs_of_trees(w, &s->step[trees]));
    pv__out_format(w->out, " OFFSET 0) AS %c%d_%d\n", names[phase], level, group);
    if (columns > COLUMNS_MAX)
        return pv__fail(w->out->ctx, PV_ERR_USAGE,
                        "the model needs %zu columns, more than the %d that databases allow:\nexport it as ONNX or C",
                        columns, COLUMNS_MAX);
    return w->out->status;
}

static pv_status put_level(pv__sql *w, pv__step_phase phase, int level) {
    int groups = divide_level(w, phase, level);
    for (int g = 1; g <= groups; g++)
        PV_TRY(put_group(w, phase, level, g));
    return PV_OK;
}

/* The means over draws. */
static pv_status put_means(pv__sql *w) {
    const pv__steps *s = &w->d->steps;
    bool first = true;
    pv__out_text(w->out, "CROSS JOIN LATERAL (SELECT ");
    for (int i = 0; i < s->count; i++)
        for (size_t j = 0; s->step[i].kind == PV__STEP_MEAN && j < s->step[i].width; j++) {
            pv__out_text(w->out, first ? "AVG(" : ", AVG(");
            pv__sql_column(w, s->step[i].from[0], j);
            pv__out_format(w->out, ") AS v%d_%zu", i, j);
            first = false;
        }
    pv__out_format(w->out, "\nFROM %s AS d\n", w->draws);
    for (int l = 1; l <= w->levels[PV__EACH_DRAW]; l++)
        PV_TRY(put_level(w, PV__EACH_DRAW, l));
    pv__out_text(w->out, ") AS m\n");
    return w->out->status;
}

/* WITH draws(c3_0, ...) AS (VALUES (...), ...) */
static pv_status put_draws(pv__sql *w) {
    const pv__steps *s = &w->d->steps;
    size_t columns = 0;
    pv__out_format(w->out, "WITH %s(", w->draws);
    for (int i = 0; i < s->count; i++)
        for (size_t j = 0;
             s->step[i].drawn && s->step[i].kind == PV__STEP_CONSTANT && j < s->step[i].rows * s->step[i].width; j++)
            pv__out_format(w->out, "%sc%d_%zu", columns++ > 0 ? ", " : "", i, j);
    pv__out_text(w->out, ") AS (VALUES\n");
    for (size_t draw = 0; draw < s->draws; draw++) {
        bool first = true;
        pv__out_text(w->out, draw > 0 ? ",\n(" : "(");
        for (int i = 0; i < s->count; i++) {
            size_t n = s->step[i].rows * s->step[i].width;
            for (size_t j = 0; s->step[i].drawn && s->step[i].kind == PV__STEP_CONSTANT && j < n; j++) {
                pv__out_text(w->out, first ? "" : ", ");
                pv__sql_double(w->out, s->step[i].value[draw * n + j]);
                first = false;
            }
        }
        pv__out_text(w->out, ")");
    }
    pv__out_text(w->out, ")\n");
    if (columns > COLUMNS_MAX)
        return pv__fail(
            w->out->ctx, PV_ERR_USAGE,
            "a draw of the posterior has %zu numbers, more than the %d columns of a table:\nexport it as ONNX or C",
            columns, COLUMNS_MAX);
    return w->out->status;
}

/* The most probable label, the first if tied; NULL if there is no prediction. */
static void put_label(pv__sql *w) {
    const pv__described *d = w->d;
    pv__out_text(w->out, "    CASE WHEN ");
    pv__sql_column(w, d->p, 0);
    pv__out_text(w->out, " IS NULL THEN NULL");
    for (size_t y = 0; y + 1 < d->labels; y++) {
        pv__out_text(w->out, " WHEN ");
        for (size_t z = y + 1; z < d->labels; z++) {
            pv__out_text(w->out, z > y + 1 ? " AND " : "");
            pv__sql_column(w, d->p, y);
            pv__out_text(w->out, " >= ");
            pv__sql_column(w, d->p, z);
        }
        pv__out_text(w->out, " THEN ");
        pv__sql_quoted(w->out, '\'', d->label[y]);
    }
    pv__out_text(w->out, " ELSE ");
    pv__sql_quoted(w->out, '\'', d->label[d->labels - 1]);
    pv__out_text(w->out, " END AS ");
    pv__sql_quoted(w->out, '"', w->names.label);
}

static pv_status put_query(pv__sql *w) {
    const pv__described *d = w->d;
    if (d->steps.draws > 0)
        PV_TRY(put_draws(w));
    pv__out_text(w->out, "SELECT t.*,\n");
    for (size_t y = 0; y < d->labels; y++) {
        pv__out_text(w->out, "    ");
        pv__sql_column(w, d->p, y);
        pv__out_text(w->out, " AS ");
        pv__sql_identifier(w->out, "p__", d->label[y]);
        pv__out_text(w->out, ",\n");
    }
    put_label(w);
    pv__out_text(w->out, "\nFROM ");
    pv__sql_table(w->out, d->options->table ? d->options->table : "data");
    pv__out_text(w->out, " AS t\n");
    for (int l = 1; l <= w->levels[PV__BEFORE_DRAWS]; l++)
        PV_TRY(put_level(w, PV__BEFORE_DRAWS, l));
    if (d->steps.draws > 0)
        PV_TRY(put_means(w));
    for (int l = 1; l <= w->levels[PV__AFTER_DRAWS]; l++)
        PV_TRY(put_level(w, PV__AFTER_DRAWS, l));
    pv__out_text(w->out, ";\n");
    return w->out->status;
}

static pv_status write_sql(const pv__described *d, pv__out *out) {
    pv__sql w = {.d = d, .out = out, .draws = "prevail_draws"};
    const char *table = d->options->table ? d->options->table : "data";
    pv_status status;
    if (strcmp(table, w.draws) == 0)
        pv__format(w.draws, sizeof w.draws, "prevail_draws_1");
    pv__export_names_find(d, &w.names);
    PV_GOTO(done, pv__steps_phases(&d->steps, &w.phase));
    PV_GOTO(done, pv__alloc(out->ctx, (size_t)d->steps.count, sizeof *w.level, &w.level));
    PV_GOTO(done, pv__alloc(out->ctx, (size_t)d->steps.count, sizeof *w.taken, &w.taken));
    PV_GOTO(done, pv__alloc(out->ctx, (size_t)d->steps.count, sizeof *w.named, &w.named));
    PV_GOTO(done, pv__alloc(out->ctx, (size_t)d->steps.count, sizeof *w.group, &w.group));
    count_taken(&w);
    count_named(&w);
    find_levels(&w);
    for (int phase = PV__BEFORE_DRAWS; phase <= PV__AFTER_DRAWS; phase++)
        for (int l = 1; l <= w.levels[phase]; l++)
            (void)divide_level(&w, (pv__step_phase)phase, l);
    pv__out_text(out,
                 "-- A classifier, written by prevail " PV_VERSION " (prevail export), for DuckDB and PostgreSQL.\n");
    status = put_query(&w);
done:
    pv__free(out->ctx, w.phase);
    pv__free(out->ctx, w.level);
    pv__free(out->ctx, w.taken);
    pv__free(out->ctx, w.named);
    pv__free(out->ctx, w.group);
    return status;
}

const pv__language pv__export_sql = {.suffix = ".sql", .name = "SQL", .write = write_sql, .table = true};
