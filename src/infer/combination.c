/* Terms of a linear model, distances in the metric of a covariance, and memory of a combination (combined.h). */
#include <math.h>
#include <string.h>

#include "data/schema_learn.h"
#include "infer/combined.h"

static const double TINY = 1e-4; /* differences below a hundredth of the standard error count as 0 */

double pv__quadratic(size_t n, double *C, double *d, const double *scale, int64_t *rank) {
    double sum = 0;
    *rank = 0;
    for (size_t step = 0; step < n; step++) {
        size_t best = n;
        double largest = TINY;
        for (size_t i = 0; i < n; i++)
            if (scale[i] > 0 && C[i * n + i] / scale[i] > largest) {
                largest = C[i * n + i] / scale[i];
                best = i;
            }
        if (best == n)
            break;
        double pivot = C[best * n + best], along = d[best];
        sum += along * along / pivot;
        ++*rank;
        for (size_t i = 0; i < n; i++) {
            double factor = C[i * n + best] / pivot;
            d[i] -= factor * along;
            for (size_t j = 0; i != best && j < n; j++)
                C[i * n + j] -= factor * C[best * n + j];
        }
        for (size_t i = 0; i < n; i++)
            C[best * n + i] = C[i * n + best] = 0;
    }
    return sum;
}

/* The term of a plain column; -1: not in the model. */
static int32_t term_of_column(const pv_schema *schema, size_t plain, const int32_t *term, const char *name) {
    size_t slope = 0;
    for (size_t s = schema->offset; s < plain; slope += pv_source_width(&schema->source[s++]))
        if (strcmp(schema->source[s].name, name) == 0)
            return term[slope];
    return -1;
}

static void join(int32_t *term, size_t slopes, int32_t from, int32_t to) {
    for (size_t i = 0; i < slopes && from >= 0; i++)
        term[i] = term[i] == from ? to : term[i];
}

/* Numbers the terms in the order of their first slopes; returns how many there are. */
static size_t renumber(int32_t *term, size_t slopes) {
    int32_t terms = 0;
    for (size_t i = 0; i < slopes; i++) {
        int32_t old = term[i];
        for (size_t j = i; j < slopes && old >= 0; j++)
            term[j] = term[j] == old ? -1 - terms : term[j];
        terms += old >= 0;
    }
    for (size_t i = 0; i < slopes; i++)
        term[i] = -1 - term[i];
    return (size_t)terms;
}

/* A column, or a term that makes several features, is one term. So is a product with its columns, or a curve with its
 * slope: if one slope's meaning depends on another's reference level or origin, they share one weight.
 */
size_t pv__terms_of(const pv_schema *schema, int32_t *term) {
    size_t slope = 0, made = 0, plain = schema->sources, left = 0;
    int32_t terms = 0;
    for (size_t t = 0; t < schema->terms; t++)
        plain -= schema->term[t].kind == PV_TERM_PLAIN ? 0 : schema->term[t].features;
    for (size_t s = schema->offset; s < schema->sources; s++) {
        size_t width = pv_source_width(&schema->source[s]);
        if (s < plain || left == 0)
            terms++;
        for (size_t i = 0; i < width; i++)
            term[slope + i] = terms - 1;
        slope += width;
        if (s < plain)
            continue;
        if (left == 0) {
            while (made < schema->terms && schema->term[made].kind == PV_TERM_PLAIN)
                made++;
            left = made < schema->terms ? schema->term[made].features : 1;
            const pv_term *of = made < schema->terms ? &schema->term[made++] : NULL;
            bool shares = of && (of->kind == PV_TERM_PRODUCT || pv__term_is_smooth(of));
            for (size_t c = 0; shares && c < 2 && of->column[c]; c++)
                join(term, slope, term_of_column(schema, plain, term, of->column[c]), terms - 1);
        }
        left--;
    }
    return renumber(term, slope);
}

size_t pv__combination_numbers(size_t P, const pv_combination *c) {
    return c ? 3 * P + c->terms + 2 * P * P : 0;
}

size_t pv__combination_checks(const pv_combination *c) {
    return c ? c->slopes + 3 : 0;
}

pv_status pv__combination_new(pv_ctx *ctx, size_t params, size_t terms, size_t slopes, pv_combination **made) {
    size_t P = params;
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    pv_combination *c = *made;
    c->terms = terms;
    c->slopes = slopes;
    c->df_risk = HUGE_VAL;
    pv_status status;
    PV_GOTO(fail,
            pv__alloc(ctx, pv__combination_numbers(P, c) + pv__combination_checks(c), sizeof(double), &c->weighted));
    PV_GOTO(fail, pv__alloc(ctx, slopes, sizeof *c->term, &c->term));
    c->efficient = c->weighted + P;
    c->df = c->efficient + P;
    c->share = c->df + P;
    c->covariance = c->share + terms;
    c->efficient_covariance = c->covariance + P * P;
    c->tail = c->efficient_covariance + P * P;
    c->strata = c->tail + slopes;
    return PV_OK;
fail:
    pv__combination_free(ctx, c);
    *made = NULL;
    return status;
}

void pv__combination_free(pv_ctx *ctx, pv_combination *c) {
    if (!c)
        return;
    pv__free(ctx, c->weighted); /* also frees the arrays in the same block */
    pv__free(ctx, c->term);
    pv__free(ctx, c);
}

bool pv__combination_is_idle(const pv__problem *p) {
    bool points = p->plan->use != PV_ESTIMATE_EFFICIENT || p->plan->options.infer == PV_INFER_ROBUST;
    return p->plan->options.bare && !points && !p->plan->few_rows; /* averages need the errors */
}

bool pv__combination_is_cheap(const pv__problem *p) {
    enum { PARAMS_MOST = 300 };
    const double most = 4e9; /* rows times parameters squared */
    double P = (double)pv_model_params(p->model);
    return P <= PARAMS_MOST && (double)p->rows.n * P * P <= most;
}

bool pv_combination_differs(const pv_combination *combination) {
    return combination->rank > 0 && combination->p_value < 0.05;
}
