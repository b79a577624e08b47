/* Columns of steps as SQL expressions. Arguments for which PostgreSQL would raise an error (ln 0, exp -800) are kept
 * from reaching the function.
 */
#include <math.h>
#include <string.h>

#include "export/sql.h"

/* ---- names and literals ------------------------------------------------------------------------------------------ */

void pv__sql_quoted(pv__out *out, char quote, const char *text) {
    pv__out_add(out, &quote, 1);
    for (; *text; text++) {
        pv__out_add(out, text, 1);
        if (*text == quote)
            pv__out_add(out, &quote, 1);
    }
    pv__out_add(out, &quote, 1);
}

void pv__sql_identifier(pv__out *out, const char *head, const char *tail) {
    pv__out_text(out, "\"");
    for (const char *part = head; part; part = part == head && tail ? tail : NULL)
        for (const char *at = part; *at; at++)
            pv__out_text(out, *at == '"' ? "\"\"" : (const char[]){*at, '\0'});
    pv__out_text(out, "\"");
}

/* A point separates a schema from its table. */
void pv__sql_table(pv__out *out, const char *name) {
    pv__out_text(out, "\"");
    for (; *name; name++)
        pv__out_text(out, *name == '.' ? "\".\"" : *name == '"' ? "\"\"" : (const char[]){*name, '\0'});
    pv__out_text(out, "\"");
}

/* With an exponent, which makes the literal a double rather than a decimal. */
void pv__sql_double(pv__out *out, double value) {
    char text[40];
    if (isnan(value)) {
        pv__out_text(out, "CAST(NULL AS DOUBLE PRECISION)");
        return;
    }
    value = fmax(-1e300, fmin(1e300, value));
    (void)pv_format_double(value, text, sizeof text - 2);
    pv__out_format(out, value < 0 ? "(%s%s)" : "%s%s", text, strchr(text, 'e') ? "" : "e0");
}

static void put_cell(const pv__sql *w, int input) {
    pv__out_text(w->out, "t.");
    pv__sql_quoted(w->out, '"', w->d->steps.input[input].name);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

bool pv__sql_stands_for(const pv__step *step) {
    return step->kind == PV__STEP_CONSTANT || step->kind == PV__STEP_SLICE || step->kind == PV__STEP_CONCAT ||
           step->kind == PV__STEP_MEAN;
}

bool pv__sql_is_inline(const pv__sql *w, int at) {
    const pv__step *step = pv__sql_step(w, at);
    return !pv__sql_stands_for(step) && step->kind > PV__STEP_CONSTANT && step->kind != PV__STEP_TREES &&
           w->taken[at] <= 1 && w->named[at] <= NAMED;
}

void pv__sql_column(const pv__sql *w, int at, size_t j) {
    static const char phases[] = "abc";
    for (;;) {
        const pv__step *step = pv__sql_step(w, at);
        j = step->width == 1 ? 0 : j;
        if (step->kind == PV__STEP_SLICE) {
            j += step->first;
            at = step->from[0];
        } else if (step->kind == PV__STEP_CONCAT) {
            int p = 0;
            for (; j >= pv__sql_step(w, step->from[p])->width; p++)
                j -= pv__sql_step(w, step->from[p])->width;
            at = step->from[p];
        } else {
            break;
        }
    }
    const pv__step *step = pv__sql_step(w, at);
    if (step->kind == PV__STEP_CONSTANT && step->drawn)
        pv__out_format(w->out, "d.c%d_%zu", at, j);
    else if (step->kind == PV__STEP_CONSTANT)
        pv__sql_double(w->out, step->value[j]);
    else if (step->kind == PV__STEP_MEAN)
        pv__out_format(w->out, "m.v%d_%zu", at, j);
    else if (pv__sql_is_inline(w, at)) {
        pv__out_text(w->out, "(");
        pv__sql_expression(w, step, j);
        pv__out_text(w->out, ")");
    } else
        pv__out_format(w->out, "%c%d_%d.v%d_%zu", phases[w->phase[at]], w->level[at], w->group[at], at, j);
}

/* Writes texts around the columns of one or two steps. */
static void put_around(const pv__sql *w, const pv__step *step, size_t j, const char *const *text) {
    for (int i = 0; text[i]; i++) {
        if (strcmp(text[i], "a") == 0 || strcmp(text[i], "b") == 0)
            pv__sql_column(w, step->from[text[i][0] - 'a'], j);
        else
            pv__out_text(w->out, text[i]);
    }
}

/* A cell as a double, whatever the numeric type of its column. */
static void put_double_cell(const pv__sql *w, int input) {
    pv__out_text(w->out, "CAST(");
    put_cell(w, input);
    pv__out_text(w->out, " AS DOUBLE PRECISION)");
}

/* NULL if it is missing, NaN, or beyond 1e45, so that no power of it raises an error. */
static void put_number(const pv__sql *w, int input) {
    pv__out_text(w->out, "CASE WHEN ABS(");
    put_double_cell(w, input);
    pv__out_text(w->out, ") <= 1e45 THEN ");
    put_double_cell(w, input);
    pv__out_text(w->out, " END");
}

/* Whether a number cell is missing: NULL, or NaN, which sorts above all numbers. */
static void put_missing(const pv__sql *w, int input) {
    put_cell(w, input);
    pv__out_text(w->out, " IS NULL OR (");
    put_double_cell(w, input);
    pv__out_text(w->out, " > 1.7976931348623157e308 AND -");
    put_double_cell(w, input);
    pv__out_text(w->out, " > 1.7976931348623157e308)");
}

static void put_place(const pv__sql *w, int at) {
    const pv__steps *s = &w->d->steps;
    const pv__step_input *input = &s->input[at];
    pv__out *out = w->out;
    pv__out_text(out, "CASE WHEN ");
    if (input->text) {
        put_cell(w, at);
        pv__out_text(out, " IS NULL");
    } else {
        put_missing(w, at);
    }
    pv__out_format(out, " THEN %zue0 ELSE CASE CAST(", input->levels);
    put_cell(w, at);
    pv__out_text(out, input->text ? " AS VARCHAR)" : " AS DOUBLE PRECISION)");
    for (size_t l = 0; l < input->levels; l++) {
        pv__out_text(out, " WHEN ");
        if (input->text)
            pv__sql_quoted(out, '\'', input->level[l]);
        else
            pv__sql_double(out, input->number[l]);
        pv__out_format(out, " THEN %zue0", l);
    }
    for (size_t a = 0; input->text && a < s->absents; a++) {
        pv__out_text(out, " WHEN ");
        pv__sql_quoted(out, '\'', s->absent[a]);
        pv__out_format(out, " THEN %zue0", input->levels);
    }
    pv__out_format(out, " ELSE %zue0 END END", input->levels + 1);
}

static void put_prevalence(const pv__sql *w, size_t j, size_t width) {
    pv__out_text(w->out, "CAST(t.");
    if (width == 1)
        pv__sql_quoted(w->out, '"', w->names.prevalence);
    else {
        char head[40];
        pv__format(head, sizeof head, "%s__", w->names.prevalence);
        pv__sql_identifier(w->out, head, w->d->label[j]);
    }
    pv__out_text(w->out, " AS DOUBLE PRECISION)");
}

static void put_matmul(const pv__sql *w, const pv__step *step, size_t j) {
    const pv__step *matrix = pv__sql_step(w, step->from[1]);
    bool first = true;
    for (size_t i = 0; i < matrix->rows; i++) {
        if (!matrix->drawn && matrix->value[i * matrix->width + j] == 0)
            continue;
        pv__out_text(w->out, first ? "" : " + ");
        pv__sql_column(w, step->from[0], i);
        if (matrix->drawn) {
            pv__out_format(w->out, " * d.c%d_%zu", step->from[1], i * matrix->width + j);
        } else {
            pv__out_text(w->out, " * ");
            pv__sql_double(w->out, matrix->value[i * matrix->width + j]);
        }
        first = false;
    }
    pv__out_text(w->out, first ? "0e0" : "");
}

static void put_lookup(const pv__sql *w, const pv__step *step, size_t j) {
    const pv__step *table = pv__sql_step(w, step->from[1]);
    pv__out_text(w->out, "CAST(CASE ");
    pv__sql_column(w, step->from[0], 0);
    for (size_t i = 0; i < table->rows; i++) {
        double value = table->value[i * table->width + j];
        if (value == 0)
            continue;
        pv__out_format(w->out, " WHEN %zue0 THEN ", i);
        pv__sql_double(w->out, value);
    }
    pv__out_text(w->out, " WHEN -1e0 THEN 1e0 ELSE 0e0 END AS DOUBLE PRECISION)");
}

/* A node of a tree with its descendants, over columns x0, x1, ... */
static void put_node_of_tree(const pv__sql *w, const double *tree, size_t at) {
    const double *node = tree + at * PV__NODE_NUMBERS;
    if (node[PV__NODE_INPUT] < 0) {
        pv__sql_double(w->out, node[PV__NODE_VALUE]);
        return;
    }
    bool right = node[PV__NODE_RIGHT] == 1;
    pv__out_text(w->out, "CASE WHEN ");
    if (node[PV__NODE_ABSENT] >= 0)
        pv__out_format(w->out, "z.x%zu %s 0.5e0 %s ", (size_t)node[PV__NODE_ABSENT],
                       right ? ">" : "<=", right ? "OR" : "AND");
    pv__out_format(w->out, "z.x%zu >= ", (size_t)node[PV__NODE_INPUT]);
    pv__sql_double(w->out, node[PV__NODE_VALUE]);
    pv__out_text(w->out, " THEN ");
    put_node_of_tree(w, tree, 2 * at + 2);
    pv__out_text(w->out, " ELSE ");
    put_node_of_tree(w, tree, 2 * at + 1);
    pv__out_text(w->out, " END");
}

static void put_trees(const pv__sql *w, const pv__step *step, size_t j) {
    const pv__step *nodes = pv__sql_step(w, step->from[1]);
    size_t each = ((size_t)2 << step->first) - 1;
    for (size_t t = j; t * each < nodes->rows; t += step->width) {
        pv__out_text(w->out, t > j ? "\n        + " : "");
        put_node_of_tree(w, nodes->value + t * each * PV__NODE_NUMBERS, 0);
    }
}

/* An expression over all columns of a step. */
static void put_all(const pv__sql *w, const pv__step *step) {
    size_t width = pv__sql_step(w, step->from[0])->width;
    bool sum = step->kind == PV__STEP_SUM;
    pv__out_text(w->out, sum || width == 1 ? "(" : "GREATEST(");
    for (size_t i = 0; i < width; i++) {
        pv__out_text(w->out, i == 0 ? "" : sum ? " + " : ", ");
        pv__sql_column(w, step->from[0], i);
    }
    pv__out_text(w->out, ")");
}

/* Abramowitz and Stegun 7.1.28 for erfc(|u|), with an error of 3e-7. */
#define U "LEAST(ABS(", "a", "), 15e0)"
static const char *const erfc_parts[] = {"(1e0 - SIGN(",
                                         "a",
                                         ")) + SIGN(",
                                         "a",
                                         ") / POWER(1e0 + ",
                                         U,
                                         " * (0.0705230784e0 + ",
                                         U,
                                         " * (0.0422820123e0 + ",
                                         U,
                                         " * (0.0092705272e0 + ",
                                         U,
                                         " * (0.0001520143e0 + ",
                                         U,
                                         " * (0.0002765672e0 + ",
                                         U,
                                         " * 0.0000430638e0))))), 16e0)",
                                         NULL};

static const char *const *const parts[PV__STEP_KINDS] = {
    [PV__STEP_EXP] = (const char *const[]){"CASE WHEN ", "a", " < -300e0 THEN 0e0 WHEN ", "a",
                                           " > 300e0 THEN 1e130 ELSE EXP(", "a", ") END", NULL},
    [PV__STEP_LOG] = (const char *const[]){"CASE WHEN ", "a", " > 0e0 THEN LN(", "a", ") WHEN ", "a",
                                           " = 0e0 THEN -1e300 END", NULL},
    [PV__STEP_SQRT] = (const char *const[]){"CASE WHEN ", "a", " >= 0e0 THEN SQRT(", "a", ") END", NULL},
    [PV__STEP_ABS] = (const char *const[]){"ABS(", "a", ")", NULL},
    [PV__STEP_RELU] = (const char *const[]){"GREATEST(", "a", ", 0e0)", NULL},
    [PV__STEP_ERFC] = erfc_parts,
    [PV__STEP_ABSENT] = (const char *const[]){"CASE WHEN ", "a", " IS NULL THEN 1e0 ELSE 0e0 END", NULL},
    [PV__STEP_ADD] = (const char *const[]){"a", " + ", "b", NULL},
    [PV__STEP_SUBTRACT] = (const char *const[]){"a", " - ", "b", NULL},
    [PV__STEP_MULTIPLY] = (const char *const[]){"a", " * ", "b", NULL},
    [PV__STEP_DIVIDE] = (const char *const[]){"a", " / ", "b", NULL},
    [PV__STEP_MAX] = (const char *const[]){"GREATEST(", "a", ", ", "b", ")", NULL},
    [PV__STEP_MIN] = (const char *const[]){"LEAST(", "a", ", ", "b", ")", NULL},
    [PV__STEP_AT_MOST] = (const char *const[]){"CASE WHEN ", "a", " <= ", "b", " THEN 1e0 ELSE 0e0 END", NULL},
};

void pv__sql_expression(const pv__sql *w, const pv__step *step, size_t j) {
    if (step->kind == PV__STEP_ABSENT && pv__sql_step(w, step->from[0])->kind == PV__STEP_NUMBERS) {
        pv__out_text(w->out, "CASE WHEN ");
        put_missing(w, pv__sql_step(w, step->from[0])->from[j]);
        pv__out_text(w->out, " THEN 1e0 ELSE 0e0 END");
    } else if (parts[step->kind]) {
        put_around(w, step, j, parts[step->kind]);
    } else if (step->kind == PV__STEP_NUMBERS) {
        put_number(w, step->from[j]);
    } else if (step->kind == PV__STEP_PLACE) {
        put_place(w, step->from[0]);
    } else if (step->kind == PV__STEP_PREVALENCE) {
        put_prevalence(w, j, step->width);
    } else if (step->kind == PV__STEP_MATMUL) {
        put_matmul(w, step, j);
    } else if (step->kind == PV__STEP_LOOKUP) {
        put_lookup(w, step, j);
    } else if (step->kind == PV__STEP_TREES) {
        put_trees(w, step, j);
    } else if (step->kind == PV__STEP_SELECT) {
        pv__out_text(w->out, "CASE WHEN ");
        pv__sql_column(w, step->from[0], j);
        pv__out_text(w->out, " = 1e0 THEN ");
        pv__sql_column(w, step->from[1], j);
        pv__out_text(w->out, " ELSE ");
        pv__sql_column(w, step->from[2], j);
        pv__out_text(w->out, " END");
    } else {
        put_all(w, step);
    }
}

/* How often an expression of a step contains a column of its first input (0) or another (1). */
size_t pv__sql_times(const pv__step *step, int which) {
    size_t n = 0;
    if (step->kind == PV__STEP_TREES)
        return 2;
    if (!parts[step->kind])
        return step->kind == PV__STEP_MATMUL || step->kind == PV__STEP_LOOKUP ? step->width : 1;
    for (int i = 0; parts[step->kind][i]; i++)
        n += strcmp(parts[step->kind][i], which ? "b" : "a") == 0;
    return n;
}

bool pv__sql_pattern(const pv__step *step) {
    return parts[step->kind] != NULL;
}
