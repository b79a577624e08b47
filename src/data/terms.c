/* Terms: features computed from columns, as text and as part of a schema. term_columns.c computes their numbers.
 *
 *   terms = term (("," | "+") term)*
 *   term  = NAME | FUNCTION "(" NAME ["," DEGREE] ")" | NAME ":" NAME
 *
 * A name that contains a comma, a colon, a parenthesis, a plus or a quote must be in double quotes, as in CSV files.
 */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "data/schema_learn.h"

void pv__term_clear(pv_ctx *ctx, pv_term *term) {
    pv__free(ctx, term->column[0]);
    pv__free(ctx, term->column[1]);
    pv__free(ctx, term->parameter);
    pv__free(ctx, term->cell);
    *term = (pv_term){0};
}

void pv__terms_free(pv_ctx *ctx, pv_schema *schema) {
    for (size_t t = 0; t < schema->terms; t++)
        pv__term_clear(ctx, &schema->term[t]);
    pv__free(ctx, schema->term);
    schema->term = NULL;
    schema->terms = 0;
}

bool pv__terms_use(const pv_schema *schema, const char *name) {
    for (size_t t = 0; t < schema->terms; t++)
        for (size_t i = 0; i < 2; i++)
            if (schema->term[t].column[i] && strcmp(schema->term[t].column[i], name) == 0)
                return true;
    return false;
}

pv_status pv__term_copy(pv_ctx *ctx, const pv_term *from, pv_term *to) {
    *to = (pv_term){.kind = from->kind, .degree = from->degree};
    for (size_t i = 0; i < 2; i++)
        if (from->column[i])
            PV_TRY(pv__strdup(ctx, from->column[i], &to->column[i]));
    if (from->parameter) {
        PV_TRY(pv__alloc(ctx, from->parameters, sizeof *to->parameter, &to->parameter));
        memcpy(to->parameter, from->parameter, from->parameters * sizeof *to->parameter);
        to->parameters = from->parameters;
    }
    if (from->cell) {
        PV_TRY(pv__alloc(ctx, from->features, 2 * sizeof *to->cell, &to->cell));
        memcpy(to->cell, from->cell, from->features * 2 * sizeof *to->cell);
    }
    to->features = from->features;
    return PV_OK;
}

void pv__terms_drop_plain(pv_ctx *ctx, pv_schema *schema) {
    size_t kept = 0;
    for (size_t t = 0; t < schema->terms; t++) {
        if (schema->term[t].kind == PV_TERM_PLAIN)
            pv__term_clear(ctx, &schema->term[t]);
        else
            schema->term[kept++] = schema->term[t];
    }
    schema->terms = kept;
}

size_t pv__schema_smooth(const pv_schema *schema) {
    size_t made = 0;
    for (size_t t = 0; t < schema->terms; t++)
        made += pv__term_is_smooth(&schema->term[t]) ? schema->term[t].features : 0;
    return made;
}

size_t pv__schema_scores(const pv_schema *schema) {
    size_t made = 0;
    for (size_t t = 0; t < schema->terms; t++)
        made += schema->term[t].kind == PV_TERM_SCORE;
    return made;
}

/* Without the terms of some kinds, which make the last features. */
static void drop_last(pv_ctx *ctx, pv_schema *schema, size_t last, bool (*drops)(const pv_term *term)) {
    size_t kept = 0;
    for (size_t i = 0; i < last; i++) {
        pv__source_clear(ctx, &schema->source[--schema->sources]);
        pv__free(ctx, schema->feature[--schema->features]);
    }
    for (size_t t = 0; t < schema->terms; t++) {
        if (drops(&schema->term[t]))
            pv__term_clear(ctx, &schema->term[t]);
        else
            schema->term[kept++] = schema->term[t];
    }
    schema->terms = kept;
}

static bool is_score(const pv_term *term) {
    return term->kind == PV_TERM_SCORE;
}

void pv__schema_drop_scores(pv_ctx *ctx, pv_schema *schema) {
    drop_last(ctx, schema, pv__schema_scores(schema), is_score);
}

void pv__schema_drop_smooth(pv_ctx *ctx, pv_schema *schema) {
    drop_last(ctx, schema, pv__schema_smooth(schema), pv__term_is_smooth);
}

void pv__dataset_drop_last(pv_dataset *data, size_t features) {
    size_t d = (size_t)data->features, left = d - features;
    for (size_t i = 1; features > 0 && i < data->rows; i++)
        memmove(data->x + i * left, data->x + i * d, left * sizeof *data->x);
    data->features = (int)left;
}

size_t pv__schema_plain(const pv_schema *schema) {
    size_t made = 0;
    for (size_t t = 0; t < schema->terms; t++)
        made += schema->term[t].features;
    return schema->sources - made;
}

size_t pv__schema_find(const pv_schema *schema, const char *name) {
    size_t s = 0, plain = pv__schema_plain(schema);
    while (s < plain && strcmp(schema->source[s].name, name) != 0)
        s++;
    return s;
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

typedef struct scanner {
    pv_ctx *ctx;
    const char *at;
    char *name; /* the last name; has space for the whole text */
    bool quoted;
} scanner;

static void skip_spaces(scanner *in) {
    while (*in->at == ' ' || *in->at == '\t')
        in->at++;
}

static bool take(scanner *in, char c) {
    skip_spaces(in);
    bool there = *in->at == c;
    in->at += there;
    return there;
}

static pv_status refuse_text(const scanner *in, const char *what) {
    char place[200] = "";
    if (*in->at)
        pv__format(place, sizeof place, ", before '%s'", pv__show(in->at).text);
    return pv__fail(in->ctx, PV_ERR_USAGE,
                    "`terms`: %s%s;\nwrite terms such as log(a), ns(b,3), poly(c,2), a:b, comma-separated, names with "
                    "other signs in double quotes",
                    what, place);
}

static pv_status take_name(scanner *in) {
    char *to = in->name;
    skip_spaces(in);
    in->quoted = *in->at == '"';
    if (in->quoted) {
        for (in->at++; *in->at && (*in->at != '"' || in->at[1] == '"'); in->at++) {
            *to++ = *in->at;
            in->at += *in->at == '"';
        }
        if (!take(in, '"'))
            return refuse_text(in, "the closing quote is missing");
    } else {
        while (*in->at && !strchr(",:()+~*^\"", *in->at))
            *to++ = *in->at++;
        while (to > in->name && (to[-1] == ' ' || to[-1] == '\t'))
            to--;
    }
    *to = '\0';
    return to > in->name ? PV_OK : refuse_text(in, "a name is missing");
}

static pv_status take_degree(scanner *in, pv_term *term) {
    const char *word = pv_term_kind_name(term->kind);
    const char *what = term->kind == PV_TERM_NS ? "degrees of freedom" : "a degree";
    double value = NAN;
    if (take(in, ','))
        PV_TRY(take_name(in));
    else
        *in->name = '\0';
    if (!pv__number_parse(in->name, strlen(in->name), &value) || value != floor(value) || value < 1 ||
        value > PV__DEGREES_MAX)
        return pv__fail(in->ctx, PV_ERR_USAGE, "`terms`: %s(%s,N) needs %s from 1 to %d for N, not '%s'", word,
                        pv__show(term->column[0]).text, what, PV__DEGREES_MAX, pv__show(in->name).text);
    term->degree = (int)value;
    return PV_OK;
}

/* Parses what follows a name and "(". */
static pv_status take_function(scanner *in, pv_term *term) {
    if (!pv_term_kind_find(in->name, &term->kind) || term->kind == PV_TERM_PLAIN || term->kind == PV_TERM_PRODUCT ||
        pv__term_is_smooth(term))
        return pv__fail(in->ctx, PV_ERR_USAGE,
                        "`terms`: unknown function '%s'; choose log, sqrt, ns, poly or score. Put a column name with "
                        "parentheses in double quotes",
                        pv__show(in->name).text);
    PV_TRY(take_name(in));
    PV_TRY(pv__strdup(in->ctx, in->name, &term->column[0]));
    if (term->kind == PV_TERM_NS || term->kind == PV_TERM_POLY)
        PV_TRY(take_degree(in, term));
    return take(in, ')') ? PV_OK : refuse_text(in, "a closing parenthesis is missing");
}

static pv_status take_term(scanner *in, pv_term *term) {
    PV_TRY(take_name(in));
    if (!in->quoted && take(in, '('))
        return take_function(in, term);
    PV_TRY(pv__strdup(in->ctx, in->name, &term->column[0]));
    if (!take(in, ':'))
        return PV_OK;
    term->kind = PV_TERM_PRODUCT;
    PV_TRY(take_name(in));
    PV_TRY(pv__strdup(in->ctx, in->name, &term->column[1]));
    skip_spaces(in);
    if (*in->at == ':' || (!in->quoted && *in->at == '('))
        return refuse_text(in, "an interaction is of two columns, a:b, and no more");
    if (strcmp(term->column[0], term->column[1]) == 0)
        return pv__fail(in->ctx, PV_ERR_USAGE, "`terms`: '%s' with itself is not an interaction;\nwrite poly(%s,2)",
                        pv__show(in->name).text, pv__show(in->name).text);
    return PV_OK;
}

static bool same_column(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static pv_status refuse_twice(pv_ctx *ctx, const pv_schema *schema, const pv_term *last) {
    for (const pv_term *term = schema->term; term < last; term++) {
        bool same = same_column(term->column[0], last->column[0]) && same_column(term->column[1], last->column[1]);
        bool turned = same_column(term->column[0], last->column[1]) && same_column(term->column[1], last->column[0]);
        if (term->kind == last->kind && (same || turned))
            return pv__fail(ctx, PV_ERR_USAGE, "`terms` has the same term twice for '%s%s%s';\nleave one out",
                            pv__show(term->column[0]).text, term->column[1] ? ":" : "",
                            term->column[1] ? pv__show(term->column[1]).text : "");
    }
    return PV_OK;
}

static pv_status parse_all(scanner *in, pv_schema *schema) {
    do {
        pv_term *term = &schema->term[schema->terms++];
        PV_TRY(take_term(in, term));
        PV_TRY(refuse_twice(in->ctx, schema, term));
    } while (take(in, ',') || take(in, '+'));
    return *in->at == '~'   ? refuse_text(in, "the outcome is not part of them")
           : *in->at == '*' ? refuse_text(in, "a product is written a:b")
           : *in->at        ? refuse_text(in, "a comma is missing")
                            : PV_OK;
}

pv_status pv__terms_parse(pv_ctx *ctx, const char *text, pv_schema *schema) {
    if (!text)
        return PV_OK;
    size_t room = 1;
    for (const char *at = text; *at; at++)
        room += *at == ',' || *at == '+';
    PV_TRY(pv__alloc(ctx, room, sizeof *schema->term, &schema->term));
    scanner in = {.ctx = ctx, .at = text};
    PV_TRY(pv__alloc(ctx, strlen(text) + 1, 1, &in.name));
    pv_status status = parse_all(&in, schema);
    pv__free(ctx, in.name);
    return status;
}

/* ---- terms read from a file -------------------------------------------------------------------------------------- */

static const char *wrong_cells(const pv_schema *schema, const pv_term *term) {
    for (size_t i = 0; i < 2; i++) {
        size_t s = pv__schema_find(schema, term->column[i]);
        bool text = s < pv__schema_plain(schema) && schema->source[s].type == PV_COLUMN_TEXT;
        int32_t least = text, most = text ? schema->source[s].levels - 1 : 0;
        for (size_t k = 0; k < term->features; k++)
            if (term->cell[2 * k + i] < least || term->cell[2 * k + i] > most)
                return "an interaction has a level that its column does not have";
    }
    return NULL;
}

static const char *wrong_parameters(const pv_term *term) {
    size_t n = term->parameters;
    const double *p = term->parameter;
    if (n != pv__basis_parameters(term))
        return "a term has too few or too many numbers";
    for (size_t i = 0; i < n; i++)
        if (!isfinite(p[i]) || (term->kind == PV_TERM_NS && i > 0 && !(p[i] > p[i - 1])) ||
            (term->kind == PV_TERM_POLY && (i == 1 || i >= 2 + (size_t)term->degree) && !(p[i] > 0)))
            return "the numbers of a term are damaged";
    return term->kind == PV_TERM_NS && !isfinite(p[n - 1] - p[0]) ? "the knots of a term are damaged" : NULL;
}

const char *pv__term_wrong(const pv_schema *schema, const pv_term *term) {
    if (term->kind == PV_TERM_PRODUCT)
        return wrong_cells(schema, term);
    size_t s = pv__schema_find(schema, term->column[0]);
    bool text = s < pv__schema_plain(schema) && schema->source[s].type == PV_COLUMN_TEXT;
    if (term->kind == PV_TERM_LEVEL)
        return text ? NULL : "a reference level belongs to a column that is not text";
    if (text)
        return "a term is a function of a text column";
    return term->kind == PV_TERM_SMOOTH ? pv__smooth_wrong(term) : wrong_parameters(term);
}
