/* Exports to C: steps become loops over arrays, in one function that allocates no memory. Names and levels occur only
 * in string literals, escaped byte by byte.
 */
#include <math.h>
#include <string.h>

#include "export/export.h"

enum { STACK_MAX = 1 << 18 }; /* numbers that a call keeps on its stack */

/* ---- literals ---------------------------------------------------------------------------------------------------- */

static void put_byte(pv__out *out, unsigned char c) {
    if (c >= ' ' && c < 0x7F && !strchr("\"\\'?", c))
        pv__out_add(out, &c, 1);
    else
        pv__out_format(out, "\\%03o", c);
}

/* Splits long literals: compilers need not accept more than 4095 bytes. */
static void put_string(pv__out *out, const char *text) {
    enum { LONGEST = 4000 };
    size_t size = strlen(text);
    bool literal = size <= LONGEST;
    pv__out_text(out, literal ? "\"" : "(const char[]){");
    for (size_t i = 0; i < size; i++) {
        pv__out_text(out, literal ? "" : "'");
        put_byte(out, (unsigned char)text[i]);
        pv__out_text(out, literal ? "" : "', ");
    }
    pv__out_text(out, literal ? "\"" : "0}");
}

/* Ends with NULL, so that no array is empty. */
static void put_strings(pv__out *out, const char *head, char *const *text, size_t n) {
    pv__out_format(out, "%s = {", head);
    for (size_t i = 0; i < n; i++) {
        put_string(out, text[i]);
        pv__out_text(out, ", ");
    }
    pv__out_text(out, "0};\n");
}

static void put_double(pv__out *out, double value) {
    if (isnan(value))
        pv__out_text(out, "NAN");
    else if (isinf(value))
        pv__out_text(out, value > 0 ? "INFINITY" : "-INFINITY");
    else
        pv__out_number(out, value);
}

static void put_doubles(pv__out *out, const char *called, int number, const double *value, size_t n) {
    enum { A_LINE = 8 };
    pv__out_format(out, "static const double %s%d[] = {", called, number);
    for (size_t i = 0; i < n; i++) {
        pv__out_text(out, i == 0 ? "" : i % A_LINE ? ", " : ",\n    ");
        put_double(out, value[i]);
    }
    pv__out_text(out, "};\n");
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static size_t place_among(const pv__steps *s, int input) {
    size_t before = 0;
    for (int i = 0; i < input; i++)
        before += s->input[i].text == s->input[input].text;
    return before;
}

static void put_names(pv__out *out, const pv__steps *s, bool text, const char *head) {
    pv__out_format(out, "%s = {", head);
    for (int i = 0; i < s->inputs; i++)
        if (s->input[i].text == text) {
            put_string(out, s->input[i].name);
            pv__out_text(out, ", ");
        }
    pv__out_text(out, "0};\n");
}

static const char text_place[] =
    "\n/* The index of a cell among the levels: their number if it is missing, one more if it is not one of them. */\n"
    "static double text_place(const char *cell, const char *const *level, int levels) {\n"
    "    int i = 0;\n"
    "    if (!cell)\n"
    "        return levels;\n"
    "    for (; i < levels; i++)\n"
    "        if (strcmp(cell, level[i]) == 0)\n"
    "            return i;\n"
    "    for (i = 0; missing_text[i]; i++)\n"
    "        if (strcmp(cell, missing_text[i]) == 0)\n"
    "            return levels;\n"
    "    return levels + 1;\n"
    "}\n";
static const char tree_sums[] =
    "\n/* Adds the values of the leaves that x reaches. A node: input (-1: a leaf), edge or value, the input that is 1 "
    "where that "
    "cell is\n"
    " * missing (-1: none), whether such cells go right. */\n"
    "static void tree_sums(const double *x, const double *node, int trees, int levels, int sums, double *sum) {\n"
    "    for (int t = 0; t < trees; t++, node += 4 * ((2 << levels) - 1)) {\n"
    "        int i = 0;\n"
    "        while (node[4 * i] >= 0) {\n"
    "            const double *at = node + 4 * i;\n"
    "            int missing = at[2] >= 0 && x[(int)at[2]] > 0.5;\n"
    "            i = 2 * i + 1 + (missing ? at[3] == 1 : !(x[(int)at[0]] < at[1]));\n"
    "        }\n"
    "        sum[t % sums] += node[4 * i + 1];\n"
    "    }\n"
    "}\n";
static const char number_place[] =
    "\n/* The index of a cell among the levels: their number if it is missing, one more if it is not one of them. */\n"
    "static double number_place(double cell, const double *level, int levels) {\n"
    "    for (int i = 0; i < levels; i++)\n"
    "        if (cell == level[i])\n"
    "            return i;\n"
    "    return isnan(cell) ? levels : levels + 1;\n"
    "}\n";

static void put_tables(const pv__described *d, pv__out *out) {
    const pv__steps *s = &d->steps;
    bool texts = false, numbers = false, trees = false;
    for (int i = 0; i < s->count; i++) {
        const pv__step *step = &s->step[i];
        if (step->kind == PV__STEP_CONSTANT)
            put_doubles(out, "c", i, step->value, (step->drawn ? s->draws : 1) * step->rows * step->width);
        trees |= step->kind == PV__STEP_TREES;
        if (step->kind != PV__STEP_PLACE)
            continue;
        const pv__step_input *input = &s->input[step->from[0]];
        char head[64];
        pv__format(head, sizeof head, "static const char *const l%d[]", i);
        if (input->text)
            put_strings(out, head, input->level, input->levels);
        else
            put_doubles(out, "l", i, input->number, input->levels);
        texts |= input->text;
        numbers |= !input->text;
    }
    if (texts) {
        put_strings(out, "static const char *const missing_text[]", s->absent, s->absents);
        pv__out_text(out, text_place);
    }
    if (numbers)
        pv__out_text(out, number_place);
    if (trees)
        pv__out_text(out, tree_sums);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

typedef struct writer {
    const pv__described *d;
    pv__out *out;
    const char *indent;
} writer;

/* Column i of a step inside a loop over i; for a constant with draws, that of draw s. */
static void put_operand(const writer *w, int at, bool first) {
    const pv__step *step = &w->d->steps.step[at];
    bool constant = step->kind == PV__STEP_CONSTANT;
    const char *index = first || step->width == 1 ? "0" : "i";
    if (constant && step->drawn)
        pv__out_format(w->out, "c%d[s * %zu + %s]", at, step->rows * step->width, index);
    else
        pv__out_format(w->out, "%s%d[%s]", constant ? "c" : "v", at, index);
}

/* "for (...) v7[i] = " of a step */
static void put_loop(const writer *w, int at, const char *sign) {
    pv__out_format(w->out, "%sfor (int i = 0; i < %zu; i++)\n%s    v%d[i] %s ", w->indent, w->d->steps.step[at].width,
                   w->indent, at, sign);
}

static void put_given(const writer *w, const pv__step *step, int at) {
    const pv__steps *s = &w->d->steps;
    pv__out *out = w->out;
    if (step->kind == PV__STEP_NUMBERS) {
        for (int i = 0; i < step->inputs; i++)
            pv__out_format(out, "%sv%d[%d] = number[%zu];\n", w->indent, at, i, place_among(s, step->from[i]));
    } else if (step->kind == PV__STEP_PLACE) {
        const pv__step_input *input = &s->input[step->from[0]];
        const char *kind = input->text ? "text" : "number";
        pv__out_format(out, "%sv%d[0] = %s_place(%s[%zu], l%d, %zu);\n", w->indent, at, kind, kind,
                       place_among(s, step->from[0]), at, input->levels);
    } else if (step->width == 1) {
        pv__out_format(out, "%sv%d[0] = prevalence;\n", w->indent, at);
    } else {
        put_loop(w, at, "=");
        pv__out_text(out, "prevalence[i];\n");
    }
}

/* BEFORE a[i] BETWEEN b[i] AFTER, for one or two steps. */
typedef struct pattern {
    const char *before, *between, *after;
} pattern;
static const pattern patterns[PV__STEP_KINDS] = {
    [PV__STEP_EXP] = {"exp(", ")", NULL},
    [PV__STEP_LOG] = {"log(", ")", NULL},
    [PV__STEP_SQRT] = {"sqrt(", ")", NULL},
    [PV__STEP_ABS] = {"fabs(", ")", NULL},
    [PV__STEP_RELU] = {"fmax(0, ", ")", NULL},
    [PV__STEP_ERFC] = {"erfc(", ")", NULL},
    [PV__STEP_ABSENT] = {"isnan(", ") ? 1 : 0", NULL},
    [PV__STEP_ADD] = {"", " + ", ""},
    [PV__STEP_SUBTRACT] = {"", " - ", ""},
    [PV__STEP_MULTIPLY] = {"", " * ", ""},
    [PV__STEP_DIVIDE] = {"", " / ", ""},
    [PV__STEP_MAX] = {"fmax(", ", ", ")"},
    [PV__STEP_MIN] = {"fmin(", ", ", ")"},
    [PV__STEP_AT_MOST] = {"", " <= ", " ? 1 : 0"},
};

static void put_matmul(const writer *w, const pv__step *step, int at) {
    const pv__step *matrix = &w->d->steps.step[step->from[1]];
    pv__out *out = w->out;
    put_loop(w, at, "=");
    pv__out_format(out,
                   "0;\n%sfor (int j = 0; j < %zu; j++)\n%s    for (int i = 0; i < %zu; i++)\n%s        v%d[i] += ",
                   w->indent, matrix->rows, w->indent, step->width, w->indent, at);
    pv__out_format(out, "%s%d[j] * c%d[", w->d->steps.step[step->from[0]].kind == PV__STEP_CONSTANT ? "c" : "v",
                   step->from[0], step->from[1]);
    if (matrix->drawn)
        pv__out_format(out, "s * %zu + ", matrix->rows * matrix->width);
    pv__out_format(out, "j * %zu + i];\n", matrix->width);
}

static void put_concat(const writer *w, const pv__step *step, int at) {
    size_t first = 0;
    for (int p = 0; p < step->inputs; p++) {
        size_t width = w->d->steps.step[step->from[p]].width;
        pv__out_format(w->out, "%sfor (int i = 0; i < %zu; i++)\n%s    v%d[%zu + i] = ", w->indent, width, w->indent,
                       at, first);
        put_operand(w, step->from[p], false);
        pv__out_text(w->out, ";\n");
        first += width;
    }
}

/* Steps that are not patterns. */
static void put_other(const writer *w, const pv__step *step, int at) {
    pv__out *out = w->out;
    int a = step->from[0];
    size_t width = w->d->steps.step[a].width;
    if (step->kind == PV__STEP_SLICE) {
        put_loop(w, at, "=");
        pv__out_format(out, "%s%d[%zu + i];\n", w->d->steps.step[a].kind == PV__STEP_CONSTANT ? "c" : "v", a,
                       step->first);
    } else if (step->kind == PV__STEP_TREES) {
        size_t nodes = ((size_t)2 << step->first) - 1;
        put_loop(w, at, "=");
        pv__out_format(out, "0;\n%stree_sums(v%d, c%d, %zu, %zu, %zu, v%d);\n", w->indent, a, step->from[1],
                       w->d->steps.step[step->from[1]].rows / nodes, step->first, step->width, at);
    } else if (step->kind == PV__STEP_SELECT) {
        put_loop(w, at, "=");
        put_operand(w, a, false);
        pv__out_text(out, " == 1 ? ");
        put_operand(w, step->from[1], false);
        pv__out_text(out, " : ");
        put_operand(w, step->from[2], false);
        pv__out_text(out, ";\n");
    } else if (step->kind == PV__STEP_LOOKUP) {
        put_loop(w, at, "=");
        pv__out_format(out, "c%d[(int)v%d[0] * %zu + i];\n", step->from[1], a, step->width);
    } else { /* the sum or the maximum */
        pv__out_format(out, "%sv%d[0] = ", w->indent, at);
        put_operand(w, a, true);
        pv__out_format(out, ";\n%sfor (int i = 1; i < %zu; i++)\n%s    v%d[0] = ", w->indent, width, w->indent, at);
        pv__out_format(out, step->kind == PV__STEP_SUM ? "v%d[0] + " : "fmax(v%d[0], ", at);
        put_operand(w, a, false);
        pv__out_text(out, step->kind == PV__STEP_SUM ? ";\n" : ");\n");
    }
}

static void put_step(const writer *w, int at) {
    const pv__step *step = &w->d->steps.step[at];
    const pattern *p = &patterns[step->kind];
    if (step->kind < PV__STEP_CONSTANT) {
        put_given(w, step, at);
    } else if (step->kind == PV__STEP_MATMUL) {
        put_matmul(w, step, at);
    } else if (step->kind == PV__STEP_CONCAT) {
        put_concat(w, step, at);
    } else if (p->before) {
        put_loop(w, at, "=");
        pv__out_text(w->out, p->before);
        put_operand(w, step->from[0], false);
        pv__out_text(w->out, p->between);
        if (p->after) {
            put_operand(w, step->from[1], false);
            pv__out_text(w->out, p->after);
        }
        pv__out_text(w->out, ";\n");
    } else {
        put_other(w, step, at);
    }
}

/* ---- the whole file ---------------------------------------------------------------------------------------------- */

static void put_head(const pv__described *d, pv__out *out) {
    const pv__steps *s = &d->steps;
    pv__out_text(out, "/* A classifier, written by prevail " PV_VERSION " (prevail export). C99 and libm.\n"
                      " *\n"
                      " *     int predict(const double *number, const char *const *text");
    pv__out_text(out, !d->given ? "" : d->labels == 2 ? ", double prevalence" : ", const double *prevalence");
    pv__out_text(out, ", double *p)\n *\n"
                      " *   number      a row's cells of the columns predict_numbers, NaN where they are missing\n"
                      " *   text        its cells of the columns predict_texts, null where they are missing\n");
    if (d->given)
        pv__out_text(out, d->labels == 2 ? " *   prevalence  of the second label in the population\n"
                                         : " *   prevalence  of each label in the population\n");
    pv__out_text(out, " *   p           receives the probability of each of predict_labels\n"
                      " *\n"
                      " * Returns the number of the most probable label; -1 if the cells do not allow a prediction; p\n"
                      " * is then NaN. Allocates no memory, and may be called by several threads.\n"
                      " */\n"
                      "#include <math.h>\n"
                      "#include <string.h>\n\n");
    put_strings(out, "const char *const predict_labels[]", d->label, d->labels);
    put_names(out, s, false, "const char *const predict_numbers[]");
    put_names(out, s, true, "const char *const predict_texts[]");
    pv__out_text(out, "\n");
    put_tables(d, out);
}

static void put_phase(writer *w, const pv__step_phase *phase, pv__step_phase which) {
    const pv__steps *s = &w->d->steps;
    w->indent = which == PV__EACH_DRAW ? "        " : "    ";
    for (int i = 0; i < s->count; i++)
        if (phase[i] == which && s->step[i].kind != PV__STEP_CONSTANT && s->step[i].kind != PV__STEP_MEAN)
            put_step(w, i);
}

/* Sums over the draws, or divides by their number. */
static void put_means(writer *w, bool sum) {
    const pv__steps *s = &w->d->steps;
    for (int i = 0; i < s->count; i++) {
        if (s->step[i].kind != PV__STEP_MEAN)
            continue;
        put_loop(w, i, sum ? "+=" : "/=");
        if (sum)
            put_operand(w, s->step[i].from[0], false);
        else
            pv__out_format(w->out, "%zu", s->draws);
        pv__out_text(w->out, ";\n");
    }
}

static void put_function(writer *w, const pv__step_phase *phase) {
    const pv__described *d = w->d;
    const pv__steps *s = &d->steps;
    pv__out *out = w->out;
    pv__out_text(out, "\nint predict(const double *number, const char *const *text");
    pv__out_text(out, !d->given ? "" : d->labels == 2 ? ", double prevalence" : ", const double *prevalence");
    pv__out_text(out, ", double *p);\n\nint predict(const double *number, const char *const *text");
    pv__out_text(out, !d->given ? "" : d->labels == 2 ? ", double prevalence" : ", const double *prevalence");
    pv__out_text(out, ", double *p) {\n");
    for (int i = 0; i < s->count; i++)
        if (s->step[i].kind != PV__STEP_CONSTANT)
            pv__out_format(out, "    double v%d[%zu]%s;\n", i, s->step[i].width,
                           s->step[i].kind == PV__STEP_MEAN ? " = {0}" : "");
    pv__out_text(out, "    int best = 0;\n    (void)number;\n    (void)text;\n    (void)strcmp;\n");
    put_phase(w, phase, PV__BEFORE_DRAWS);
    if (s->draws > 0) {
        pv__out_format(out, "    for (int s = 0; s < %zu; s++) {\n", s->draws);
        put_phase(w, phase, PV__EACH_DRAW);
        put_means(w, true);
        pv__out_text(out, "    }\n");
        w->indent = "    ";
        put_means(w, false);
        put_phase(w, phase, PV__AFTER_DRAWS);
    }
    pv__out_format(out, "    for (int i = 0; i < %zu; i++) {\n        p[i] = ", d->labels);
    put_operand(w, d->p, false);
    pv__out_text(out, ";\n        best = p[i] > p[best] ? i : best;\n    }\n    return isnan(p[0]) ? -1 : best;\n}\n");
}

static pv_status check_size(pv_ctx *ctx, const pv__steps *s) {
    size_t stack = 0;
    for (int i = 0; i < s->count; i++)
        stack += s->step[i].kind == PV__STEP_CONSTANT ? 0 : s->step[i].width;
    if (stack > STACK_MAX)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "the model is too large for a function without memory of its own (%zu numbers):\nexport it as "
                        "ONNX",
                        stack);
    return PV_OK;
}

static pv_status write_c(const pv__described *d, pv__out *out) {
    writer w = {.d = d, .out = out};
    pv__step_phase *phase;
    PV_TRY(check_size(out->ctx, &d->steps));
    PV_TRY(pv__steps_phases(&d->steps, &phase));
    put_head(d, out);
    put_function(&w, phase);
    pv__free(out->ctx, phase);
    return out->status;
}

const pv__language pv__export_c = {.suffix = ".c", .name = "C", .write = write_c};
