/* From the cells of a row to the inputs of a model, as computed by data/matrix.c and term_columns.c: numbers are
 * standardised, categories become indicators, terms are computed. A spline is cubic between its knots and linear
 * beyond; each piece is stored as a polynomial in v = (x - origin)/width.
 */
#include <math.h>
#include <string.h>

#include "data/columns.h"
#include "data/schema_learn.h"
#include "export/export.h"

typedef struct maker {
    pv__steps *steps;
    const pv_schema *schema;
    bool filled; /* missing cells are filled in */
    int unseen;  /* pv_unseen */
    int *part;   /* [sources]; the steps that make up the inputs */
    int parts;
    int refused; /* the step that counts unusable cells */
} maker;

static void refuse(maker *m, int gone) {
    int sum = pv__steps_one(m->steps, PV__STEP_SUM, gone);
    m->refused = m->refused < 0 ? sum : pv__steps_two(m->steps, PV__STEP_ADD, m->refused, sum);
}

static int constant(maker *m, double value) {
    return pv__steps_number(m->steps, value);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* Standardises the numbers of sources s .. s+n-1; `missing` marks missing ones. */
static void finish(maker *m, size_t s, size_t n, int value, int missing, bool filled) {
    const pv_source_column *source = m->schema->source + s;
    pv__steps *to = m->steps;
    double *moments = NULL;
    if (to->status != PV_OK || (to->status = pv__alloc(to->ctx, n, 2 * sizeof *moments, &moments)) != PV_OK)
        return;
    for (size_t i = 0; i < n; i++) {
        moments[i] = source[i].mean;
        moments[n + i] = source[i].sd;
    }
    int z = pv__steps_two(to, PV__STEP_SUBTRACT, value, pv__steps_matrix(to, 1, n, moments));
    z = pv__steps_two(to, PV__STEP_DIVIDE, z, pv__steps_matrix(to, 1, n, moments + n));
    pv__free(to->ctx, moments);
    int near = pv__steps_two(to, PV__STEP_AT_MOST, pv__steps_one(to, PV__STEP_ABS, z), constant(m, PV__FARTHEST));
    int gone = pv__steps_two(to, PV__STEP_SUBTRACT, constant(m, 1), near);
    if (filled)
        gone =
            pv__steps_two(to, PV__STEP_MULTIPLY, gone, pv__steps_two(to, PV__STEP_SUBTRACT, constant(m, 1), missing));
    refuse(m, gone);
    m->part[m->parts++] = pv__steps_select(to, near, z, constant(m, 0));
    if (n == 1 && source->missing)
        m->part[m->parts++] = missing;
}

/* Adds number columns from source s on that are treated alike as one step; returns how many. */
static size_t add_numbers(maker *m, size_t s) {
    const pv_schema *schema = m->schema;
    size_t plain = pv__schema_plain(schema), n = 1;
    bool offset = s == 0 && schema->offset;
    while (!offset && !schema->source[s].missing && s + n < plain && schema->source[s + n].type == PV_COLUMN_NUMBER &&
           !schema->source[s + n].missing)
        n++;
    int *input = NULL;
    if (m->steps->status == PV_OK)
        m->steps->status = pv__alloc(m->steps->ctx, n, sizeof *input, &input);
    for (size_t i = 0; input && i < n; i++)
        input[i] = pv__steps_input(m->steps, schema->source[s + i].name, NULL, 0);
    if (m->steps->status == PV_OK) {
        int value = pv__steps_numbers(m->steps, input, (int)n);
        finish(m, s, n, value, pv__steps_one(m->steps, PV__STEP_ABSENT, value), m->filled && !offset);
    }
    pv__free(m->steps->ctx, input);
    return n;
}

/* ---- categories -------------------------------------------------------------------------------------------------- */

static int place_of(maker *m, const pv_source_column *source) {
    return pv__steps_place(m->steps, pv__steps_input(m->steps, source->name, source->level, (size_t)source->levels));
}

/* For each level, then for a missing cell and an unknown level: the features, and whether the cell is rejected. */
static void add_levels(maker *m, const pv_source_column *source) {
    pv__steps *to = m->steps;
    size_t levels = (size_t)source->levels, width = pv_source_width(source), row = width + 1;
    double *table = NULL;
    if (to->status != PV_OK || (to->status = pv__alloc(to->ctx, (levels + 2) * row, sizeof *table, &table)) != PV_OK)
        return;
    for (size_t l = 1; l < levels; l++)
        table[l * row + l - 1] = 1;
    pv__source_unknown(source, PV__MISSING, m->unseen, table + levels * row);
    pv__source_unknown(source, PV__UNSEEN, m->unseen, table + (levels + 1) * row);
    table[levels * row + width] = !m->filled;
    table[(levels + 1) * row + width] = m->unseen == PV_UNSEEN_REFUSE;
    int found = pv__steps_two(to, PV__STEP_LOOKUP, place_of(m, source), pv__steps_matrix(to, levels + 2, row, table));
    pv__free(to->ctx, table);
    refuse(m, pv__steps_slice(to, found, width, 1));
    if (width > 0)
        m->part[m->parts++] = pv__steps_slice(to, found, 0, width);
}

/* ---- terms ------------------------------------------------------------------------------------------------------- */

static int polynomials(maker *m, const pv_term *term, int x) {
    pv__steps *to = m->steps;
    const double *alpha = term->parameter + 2, *norm2 = alpha + term->degree;
    int made[PV__DEGREES_MAX + 1], u = pv__steps_two(to, PV__STEP_SUBTRACT, x, constant(m, term->parameter[0]));
    double length[PV__DEGREES_MAX];
    u = pv__steps_two(to, PV__STEP_DIVIDE, u, constant(m, term->parameter[1]));
    for (int k = 0; k < term->degree; k++) {
        int next = pv__steps_two(to, PV__STEP_SUBTRACT, u, constant(m, alpha[k]));
        if (k > 0)
            next = pv__steps_two(to, PV__STEP_MULTIPLY, next, made[k - 1]);
        if (k > 0) {
            int before = constant(m, norm2[k] / norm2[k - 1]);
            if (k > 1)
                before = pv__steps_two(to, PV__STEP_MULTIPLY, made[k - 2], before);
            next = pv__steps_two(to, PV__STEP_SUBTRACT, next, before);
        }
        made[k] = next;
        length[k] = sqrt(norm2[k + 1]);
    }
    return pv__steps_two(to, PV__STEP_DIVIDE, pv__steps_concat(to, made, term->degree),
                         pv__steps_matrix(to, 1, (size_t)term->degree, length));
}

/* One piece of a spline: origin, width, and for each of n functions the coefficients of v^0 .. v^3, [2 + 4 n]. */
static void put_piece(double *row, size_t n, size_t k, double a, double b, double c, double d) {
    const double value[] = {a, b, c, d};
    for (size_t power = 0; power < 4; power++)
        row[2 + power * n + k] = value[power];
}

/* Interpolates the values at v = 0, 1/3, 2/3 and 1; for a linear piece those at 0, 1, 2 and 3. */
static void sample_piece(const pv_term *term, double origin, double width, bool straight, double *row) {
    size_t n = term->features;
    double f[4 * PV__DEGREES_MAX], x[4];
    for (int i = 0; i < 4; i++)
        x[i] = straight ? origin + i * width : origin + width * i / 3;
    pv__basis_fill(term, x, 4, f);
    row[0] = origin;
    row[1] = width;
    for (size_t k = 0; k < n; k++) {
        double a = f[k], b = f[n + k], c = f[2 * n + k], d = f[3 * n + k];
        if (straight)
            put_piece(row, n, k, a, b - a, 0, 0);
        else
            put_piece(row, n, k, a, (-11 * a + 18 * b - 9 * c + 2 * d) / 2, (18 * a - 45 * b + 36 * c - 9 * d) / 2,
                      (-9 * a + 27 * b - 27 * c + 9 * d) / 2);
    }
}

/* Natural splines, whose knots are the term's parameters. */
static void sample_pieces(const pv_term *term, size_t knots, const double *knot, double *table) {
    size_t row = 2 + 4 * term->features;
    const double range = knot[knots - 1] - knot[0];
    sample_piece(term, knot[0], -range, true, table);
    for (size_t i = 1; i < knots; i++) /* there is no piece between two equal knots */
        sample_piece(term, knot[i - 1], knot[i] > knot[i - 1] ? knot[i] - knot[i - 1] : range, false, table + i * row);
    sample_piece(term, knot[knots - 1], range, true, table + knots * row);
}

/* Curves of additive models (data/smooth.c), from values v and second derivatives s at the knots. */
static void curve_pieces(const pv_term *term, size_t knots, const double *knot, double *table) {
    size_t n = term->features, row = 2 + 4 * n;
    for (size_t i = 0; i <= knots; i++) {
        size_t from = i == 0 ? 0 : i < knots ? i - 1 : knots - 2;
        double h = knot[from + 1] - knot[from], *to = table + i * row;
        to[0] = knot[i < knots ? from : knots - 1];
        to[1] = h;
        for (size_t k = 0; k < n; k++) {
            const double *v = term->parameter + 2 + knots + k * (2 * knots + 1) + from, *s = v + knots;
            double rise = v[1] - v[0];
            if (i == 0)
                put_piece(to, n, k, v[0], rise - h * h * (2 * s[0] + s[1]) / 6, 0, 0);
            else if (i == knots)
                put_piece(to, n, k, v[1], rise + h * h * (s[0] + 2 * s[1]) / 6, 0, 0);
            else
                put_piece(to, n, k, v[0], rise - h * h * (2 * s[0] + s[1]) / 6, h * h * s[0] / 2,
                          h * h * (s[1] - s[0]) / 6);
        }
    }
}

/* Evaluates splines at x; `fill` computes their pieces. */
static int spline(maker *m, const pv_term *term, size_t knots, const double *knot, int x,
                  void (*fill)(const pv_term *term, size_t knots, const double *knot, double *table)) {
    pv__steps *to = m->steps;
    size_t n = term->features, row = 2 + 4 * n;
    double *table = NULL;
    if (to->status != PV_OK || (to->status = pv__alloc(to->ctx, (knots + 1) * row, sizeof *table, &table)) != PV_OK)
        return -1;
    fill(term, knots, knot, table);
    int above = pv__steps_two(to, PV__STEP_AT_MOST, pv__steps_matrix(to, 1, knots, knot), x);
    int piece = pv__steps_two(to, PV__STEP_LOOKUP, pv__steps_one(to, PV__STEP_SUM, above),
                              pv__steps_matrix(to, knots + 1, row, table));
    pv__free(to->ctx, table);
    int v = pv__steps_two(to, PV__STEP_SUBTRACT, x, pv__steps_slice(to, piece, 0, 1));
    v = pv__steps_two(to, PV__STEP_DIVIDE, v, pv__steps_slice(to, piece, 1, 1));
    int sum = pv__steps_slice(to, piece, 2 + 3 * n, n);
    for (size_t power = 3; power-- > 0;)
        sum = pv__steps_two(to, PV__STEP_ADD, pv__steps_two(to, PV__STEP_MULTIPLY, sum, v),
                            pv__steps_slice(to, piece, 2 + power * n, n));
    return sum;
}

/* Splines of asinh t, t = (x - location)/scale, minus a linear part in t. asinh t = log(|t| + sqrt(t^2 + 1)) with the
 * sign of t. */
static int curve(maker *m, const pv_term *term, int x) {
    pv__steps *to = m->steps;
    size_t knots = (size_t)term->degree, n = term->features;
    const double *knot = term->parameter + 2;
    double slope[PV__CURVES_MAX];
    for (size_t k = 0; k < n; k++)
        slope[k] = knot[knots + k * (2 * knots + 1) + 2 * knots];
    int t = pv__steps_two(to, PV__STEP_SUBTRACT, x, constant(m, term->parameter[0]));
    t = pv__steps_two(to, PV__STEP_DIVIDE, t, constant(m, term->parameter[1]));
    int size = pv__steps_one(to, PV__STEP_ABS, t), one = constant(m, 1);
    int root = pv__steps_one(to, PV__STEP_SQRT,
                             pv__steps_two(to, PV__STEP_ADD, pv__steps_two(to, PV__STEP_MULTIPLY, t, t), one));
    int u = pv__steps_one(to, PV__STEP_LOG, pv__steps_two(to, PV__STEP_ADD, size, root));
    int turned = pv__steps_two(to, PV__STEP_SUBTRACT, constant(m, 0), u);
    u = pv__steps_select(to, pv__steps_two(to, PV__STEP_AT_MOST, t, constant(m, 0)), turned, u);
    int line = pv__steps_two(to, PV__STEP_MULTIPLY, t, pv__steps_matrix(to, 1, n, slope));
    return pv__steps_two(to, PV__STEP_SUBTRACT, spline(m, term, knots, knot, u, curve_pieces), line);
}

/* Whether a row has the reference level, which no other indicator of its column represents. */
static int reference_level(maker *m, const pv_term *term) {
    pv__steps *to = m->steps;
    const pv_source_column *source = &m->schema->source[pv__schema_find(m->schema, term->column[0])];
    size_t levels = (size_t)source->levels, width = pv_source_width(source);
    double *table = NULL;
    if (to->status != PV_OK || (to->status = pv__alloc(to->ctx, levels + 2 + width, sizeof *table, &table)) != PV_OK)
        return -1;
    table[0] = 1;
    for (size_t unknown = 0; unknown < 2; unknown++) {
        double *others = table + levels + 2, rest = 1;
        pv__source_unknown(source, unknown ? PV__UNSEEN : PV__MISSING, m->unseen, others);
        for (size_t k = 0; k < width; k++)
            rest -= others[k];
        table[levels + unknown] = rest;
    }
    int made = pv__steps_two(to, PV__STEP_LOOKUP, place_of(m, source), pv__steps_matrix(to, levels + 2, 1, table));
    pv__free(to->ctx, table);
    return made;
}

/* One column of a product: the number, or for each feature whether the cell has its level. An unusable category is
 * reported by its own features; if it is usable but unknown, the product gets its average. */
static int factor(maker *m, const pv_term *term, int which) {
    pv__steps *to = m->steps;
    size_t s = pv__schema_find(m->schema, term->column[which]), n = term->features;
    if (s >= pv__schema_plain(m->schema) || m->schema->source[s].type == PV_COLUMN_NUMBER) {
        int input = pv__steps_input(to, term->column[which], NULL, 0), x = pv__steps_numbers(to, &input, 1);
        if (!m->filled)
            refuse(m, pv__steps_one(to, PV__STEP_ABSENT, x));
        return x;
    }
    const pv_source_column *source = &m->schema->source[s];
    size_t levels = (size_t)source->levels;
    double *table = NULL;
    if (to->status != PV_OK || (to->status = pv__alloc(to->ctx, (levels + 2) * n, sizeof *table, &table)) != PV_OK)
        return -1;
    for (size_t k = 0; k < n; k++) {
        table[(size_t)term->cell[2 * k + (size_t)which] * n + k] = 1;
        table[levels * n + k] = (double)NAN;
        table[(levels + 1) * n + k] = m->unseen == PV_UNSEEN_REFERENCE ? 0 : (double)NAN;
    }
    int made = pv__steps_two(to, PV__STEP_LOOKUP, place_of(m, source), pv__steps_matrix(to, levels + 2, n, table));
    pv__free(to->ctx, table);
    return made;
}

static void add_term(maker *m, const pv_term *term, size_t s) {
    pv__steps *to = m->steps;
    if (term->kind == PV_TERM_PRODUCT) {
        int a = factor(m, term, 0), b = factor(m, term, 1);
        int missing = pv__steps_two(to, PV__STEP_MAX, pv__steps_one(to, PV__STEP_ABSENT, a),
                                    pv__steps_one(to, PV__STEP_ABSENT, b));
        finish(m, s, term->features, pv__steps_two(to, PV__STEP_MULTIPLY, a, b), missing, true);
        return;
    }
    if (term->kind == PV_TERM_LEVEL) {
        finish(m, s, 1, reference_level(m, term), -1, false);
        return;
    }
    int input = pv__steps_input(to, term->column[0], NULL, 0), x = pv__steps_numbers(to, &input, 1);
    int missing = pv__steps_one(to, PV__STEP_ABSENT, x), value = -1;
    if (term->kind == PV_TERM_NS)
        value = spline(m, term, term->parameters, term->parameter, x, sample_pieces);
    else if (term->kind == PV_TERM_SMOOTH)
        value = curve(m, term, x);
    else if (term->kind == PV_TERM_POLY)
        value = polynomials(m, term, x);
    else if (term->kind == PV_TERM_LOG || term->kind == PV_TERM_SQRT)
        value = pv__steps_one(to, term->kind == PV_TERM_LOG ? PV__STEP_LOG : PV__STEP_SQRT, x);
    else if (term->kind == PV_TERM_SCORE)
        value = x;
    else if (to->status == PV_OK)
        to->status = pv__fail(to->ctx, PV_ERR_INTERNAL, "a term '%s' has no steps", pv_term_kind_name(term->kind));
    size_t first = 0, n = term->features;
    if (m->schema->source[s].missing && n > 1) { /* its indicator is between the first and the other features */
        finish(m, s, 1, pv__steps_slice(to, value, 0, 1), missing, m->filled);
        first = 1;
        value = pv__steps_slice(to, value, 1, n - 1);
    }
    finish(m, s + first, n - first, value, missing, m->filled);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Texts that readers treat as missing unless told otherwise. */
static pv_status find_absent(pv__steps *steps, const pv_schema *schema) {
    static const char *const usual[] = {"", ".", "?", "NA", "NaN", "nan", "N/A", "n/a", "null", "NULL", "<NA>", "#N/A"};
    const char *given = schema->written.na;
    char **list = NULL;
    size_t n = 0;
    if (!given || strcmp(given, "auto") == 0) {
        n = sizeof usual / sizeof *usual;
        steps->absents = n;
        return pv__names_copy(steps->ctx, usual, n, &steps->absent);
    }
    PV_TRY(pv__names_split(steps->ctx, "`na`", given, &list, &n));
    const char **all;
    pv_status status = pv__alloc(steps->ctx, n + 1, sizeof *all, &all);
    if (status == PV_OK) {
        all[0] = "";
        for (size_t i = 0; i < n; i++)
            all[i + 1] = list[i];
        steps->absents = n + 1;
        status = pv__names_copy(steps->ctx, all, n + 1, &steps->absent);
        pv__free(steps->ctx, all);
    }
    pv_string_list_free(steps->ctx, list, n);
    return status;
}

/* Pixels of views that are already cut: clipped to the window and standardised. */
static int describe_image(pv__steps *steps, const pv_image_encoding *image, int *refused) {
    int x = pv__steps_pixels(steps, image->views, image->size);
    *refused = pv__steps_one(steps, PV__STEP_SUM, pv__steps_one(steps, PV__STEP_ABSENT, x));
    if (isfinite(image->low))
        x = pv__steps_two(steps, PV__STEP_MAX, x, pv__steps_number(steps, image->low));
    if (isfinite(image->high))
        x = pv__steps_two(steps, PV__STEP_MIN, x, pv__steps_number(steps, image->high));
    x = pv__steps_two(steps, PV__STEP_SUBTRACT, x, pv__steps_number(steps, image->mean));
    return pv__steps_two(steps, PV__STEP_DIVIDE, x, pv__steps_number(steps, image->sd));
}

int pv__describe_features(pv__steps *steps, const pv_classifier *c, const pv_export_options *options, int *refused) {
    const pv_schema *schema = c->schema;
    if (schema->image)
        return describe_image(steps, schema->image, refused);
    enum { LEARNED, REFUSED, FILLED };
    maker m = {.steps = steps,
               .schema = schema,
               .filled = options->missing == FILLED ||
                         (options->missing == LEARNED && schema->missing >= PV_MISSING_INDICATOR),
               .unseen = options->unseen,
               .refused = -1};
    if (steps->status == PV_OK)
        steps->status = find_absent(steps, schema);
    if (steps->status == PV_OK)
        steps->status = pv__alloc(steps->ctx, schema->sources, 2 * sizeof *m.part, &m.part);
    size_t plain = pv__schema_plain(schema), s = 0;
    while (steps->status == PV_OK && s < plain) {
        if (schema->source[s].type == PV_COLUMN_NUMBER)
            s += add_numbers(&m, s);
        else
            add_levels(&m, &schema->source[s++]);
    }
    for (size_t t = 0; steps->status == PV_OK && t < schema->terms; s += schema->term[t++].features)
        add_term(&m, &schema->term[t], s);
    *refused = m.refused < 0 ? pv__steps_number(steps, 0) : m.refused;
    int x = m.parts > 0 ? pv__steps_concat(steps, m.part, m.parts) : pv__steps_number(steps, 0);
    pv__free(steps->ctx, m.part);
    return x;
}
