/* Standardised risks of the population from outcome-sampled rows (docs/method.md, section 22).
 *
 *   psi_g(a) = sum_{i in g} theta_i p(x_i with a; w) / sum_{i in g} theta_i
 *
 * for a group g of the population and a value a of the exposure. The weights theta represent p(x):
 *
 *   weighted   theta_i = p(s) pi_sy / n_sy, y the label of row i and s its stratum (Rose and van der Laan 2008); w is
 *              the weighted estimate, so that nothing depends on the shape of the risk but its projection on the model
 *   linear     theta_i = p(s) t_i / sum_s t, t_i = 1 / sum_y (n_sy / pi_sy) p(y|x_i; w), the profile's weights
 *              (BEYOND 1): efficient if the linear model is right; w is the efficient estimate
 *
 * The influence of row i on a smooth function f of such risks, with u_i = 1[i in g] sum_m df/dpsi_m (p_im - psi_m) /
 * sum_g theta:
 *
 *   theta_i (u_i - mean of u) + (df/dw)^T H^-1 r_i x~_i ,
 *
 * where df/dw includes, for the profile's weights, their derivative. Sums by unit are centred within label and stratum,
 * whose numbers the design fixes. A prevalence from n observations adds (df/dlog pi)^2 / (n pi). Domain: two labels, a
 * linear model, risks strictly between 0 and 1.
 */
#include <math.h>
#include <string.h>

#include "core/core.h"
#include "effect/effect.h"

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef struct block {
    size_t begin, n;
    const double *x; /* [n][inputs] */
} block;

static size_t inputs_of(const pv__standard *s) {
    return (size_t)pv_model_inputs(s->problem->model);
}

static block block_at(const pv__standard *s, const pv_dataset *data, size_t begin, double *buffer) {
    size_t n = s->rows - begin < PV__ROW_BLOCK ? s->rows - begin : PV__ROW_BLOCK;
    return (block){begin, n, pv_dataset_rows(s->ctx, data, begin, n, buffer)};
}

/* The inputs with slopes of row i of the block. */
static const double *slopes_of(const pv__standard *s, const block *b, size_t i) {
    size_t inputs = inputs_of(s), d = s->both->size - 1;
    return b->x + i * inputs + inputs - d;
}

static double people_of(const pv__standard *s, size_t row) {
    return pv__side_people(&s->both->weighted, row);
}

static bool is_in(const pv__standard *s, size_t row, int32_t group) {
    return group < 0 || s->exposure->of[row] == group;
}

static size_t cell_of(const pv__standard *s, size_t row) {
    return (size_t)s->both->cell[row];
}

static size_t stratum_of(const pv__standard *s, size_t row) {
    const int32_t *of = s->problem->targets.stratum;
    return of && pv__strata_of(s->problem) ? (size_t)of[row] : 0;
}

static size_t strata_of(const pv__standard *s) {
    return s->both->cells / 2;
}

/* ---- risks and weights ------------------------------------------------------------------------------------------- */

static pv_status find_risks(const pv__standard *s, const pv_dataset *data, const double *w, double *to) {
    pv_model_work *work = NULL;
    double *room = NULL;
    pv_status status;
    PV_GOTO(done, pv_model_work_new(s->ctx, s->problem->model, PV__ROW_BLOCK, &work));
    PV_GOTO(done, pv__alloc(s->ctx, PV__ROW_BLOCK * (inputs_of(s) + 2), sizeof *room, &room));
    double *loglik = room + PV__ROW_BLOCK * inputs_of(s);
    for (size_t begin = 0; begin < s->rows; begin += PV__ROW_BLOCK) {
        block b = block_at(s, data, begin, room);
        pv_model_forward(s->problem->model, work, w, b.n, b.x, loglik);
        for (size_t i = 0; i < b.n; i++)
            to[begin + i] = exp(loglik[2 * i + 1]);
    }
done:
    pv_model_work_free(s->ctx, work);
    pv__free(s->ctx, room);
    return status;
}

static pv_status risks_new(const pv__standard *s, const double *w, pv__risks *risks) {
    const pv__exposure *e = s->exposure;
    risks->w = w;
    PV_TRY(pv__alloc(s->ctx, s->rows, (1 + e->levels) * sizeof(double), &risks->own));
    risks->set = risks->own + s->rows;
    PV_TRY(find_risks(s, e->data, w, risks->own));
    for (size_t l = 0; l < e->levels; l++)
        PV_TRY(find_risks(s, e->set[l], w, risks->set + l * s->rows));
    return PV_OK;
}

/* The weights of the labels. */
static pv_status weigh_by_label(const pv__standard *s, pv__way *way) {
    double total = 0;
    PV_TRY(pv__alloc(s->ctx, s->rows, sizeof *way->theta, &way->theta));
    for (size_t i = 0; i < s->rows; i++) {
        way->theta[i] = way->side->a[cell_of(s, i)] * pv__side_unit(way->side, i);
        total += people_of(s, i) * way->theta[i];
    }
    for (size_t i = 0; i < s->rows; i++)
        way->theta[i] /= total;
    return PV_OK;
}

/* The profile's weights, and how they change with the row's log odds and with the prevalences. */
static pv_status weigh_by_profile(const pv__standard *s, pv__way *way) {
    const pv_stratified *of = pv__strata_of(s->problem);
    double *total;
    PV_TRY(pv__alloc(s->ctx, s->rows, 4 * sizeof *way->theta, &way->theta));
    way->tilt = way->theta + s->rows;
    way->lift = way->tilt + s->rows;
    PV_TRY(pv__alloc(s->ctx, strata_of(s), sizeof *total, &total));
    for (size_t i = 0; i < s->rows; i++) {
        const double *ratio = way->side->ratio + 2 * stratum_of(s, i);
        double p = way->risks.own[i], zero = exp(ratio[0]) * (1 - p), one = exp(ratio[1]) * p, t = 1 / (zero + one);
        way->theta[i] = t * pv__side_unit(way->side, i);
        way->tilt[i] = -t * (exp(ratio[1]) - exp(ratio[0])) * p * (1 - p);
        way->lift[i] = t * zero;
        way->lift[s->rows + i] = t * one;
        total[stratum_of(s, i)] += people_of(s, i) * way->theta[i];
    }
    for (size_t i = 0; i < s->rows; i++)
        way->theta[i] *= (of ? of->share[stratum_of(s, i)] : 1) / total[stratum_of(s, i)];
    pv__free(s->ctx, total);
    return PV_OK;
}

/* ---- measures ---------------------------------------------------------------------------------------------------- */

/* The risks of a group: as it is, everyone at the first level, everyone at `level`, and as it is by the model. */
enum { RISKS = 4, FIRST = 1, BY_MODEL = 3 };
typedef struct means {
    double mass, psi[RISKS];
} means;

/* The risk that the attributable fraction compares with. The labels and the weighted estimate give the same mean in the
 * whole population. In a group they differ by what the model misses there, which is not due to the exposure. */
static size_t compared(const pv__way *way, int32_t group) {
    return group >= 0 && !way->tilt ? BY_MODEL : 0;
}

static double observed(const pv__standard *s, const pv__way *way, const pv__risks *risks, size_t i) {
    return way->tilt ? risks->own[i] : pv__share(&s->problem->targets, i, 1);
}

static double risk_of(const pv__standard *s, const pv__way *way, const pv__risks *risks, size_t level, size_t m,
                      size_t i) {
    if (m == BY_MODEL)
        return risks->own[i];
    return m == 0 ? observed(s, way, risks, i) : risks->set[(m == FIRST ? 0 : level) * s->rows + i];
}

/* The prevalence in the population, over strata. */
double pv__standard_prevalence(const pv__standard *s) {
    const pv_stratified *of = pv__strata_of(s->problem);
    double sum = 0;
    for (int i = 0; of && i < of->strata; i++)
        sum += of->share[i] * of->prevalence[2 * i + 1];
    return of ? sum : s->problem->population.prevalence[1];
}

/* The profile's weights give everyone's mean risk the stated prevalence, whatever x is. */
static bool is_stated(const pv__way *way, int32_t group) {
    return way->tilt && group < 0;
}

static means means_of(const pv__standard *s, const pv__way *way, const pv__risks *risks, int32_t group, size_t level) {
    means found = {0};
    for (size_t i = 0; i < s->rows; i++) {
        if (!is_in(s, i, group))
            continue;
        double weight = people_of(s, i) * way->theta[i];
        found.mass += weight;
        for (size_t m = 0; m < RISKS; m++)
            found.psi[m] += weight * risk_of(s, way, risks, level, m, i);
    }
    for (size_t m = 0; m < RISKS; m++)
        found.psi[m] /= found.mass;
    if (is_stated(way, group))
        found.psi[0] = pv__standard_prevalence(s);
    return found;
}

static double logit(double p) {
    return log(p) - log1p(-p);
}

/* Values, and their derivatives by the risks, unless that is NULL. with: `compared`. */
static void measures_of(const double psi[RISKS], size_t with, double *value, double slope[PV__MEASURES][RISKS]) {
    const double a = psi[1], b = psi[2], all = psi[0];
    const double at[PV__MEASURES] = {
        logit(all), logit(a), logit(b), b - a, log(b) - log(a), logit(b) - logit(a), log(a) - log(psi[with])};
    memcpy(value, at, sizeof at);
    if (!slope)
        return;
    const double by[PV__MEASURES][RISKS] = {{1 / (all * (1 - all)), 0, 0, 0},
                                            {0, 1 / (a * (1 - a)), 0, 0},
                                            {0, 0, 1 / (b * (1 - b)), 0},
                                            {0, -1, 1, 0},
                                            {0, -1 / a, 1 / b, 0},
                                            {0, -1 / (a * (1 - a)), 1 / (b * (1 - b)), 0},
                                            {0, 1 / a, 0, 0}};
    memcpy(slope, by, sizeof by);
    slope[PV__MEASURES - 1][with] = -1 / psi[with];
    for (size_t f = 0; f < PV__MEASURES; f++)
        for (size_t m = 0; m < RISKS; m++)
            if (!isfinite(slope[f][m]))
                slope[f][m] = 0; /* a group without cases: its value is not finite either, and is left out */
}

void pv__standard_value(const pv__standard *s, const pv__way *way, const pv__risks *risks, int32_t group, size_t level,
                        double value[PV__MEASURES]) {
    means found = means_of(s, way, risks, group, level);
    measures_of(found.psi, compared(way, group), value, NULL);
}

double pv__standard_share(const pv__standard *s, int32_t group) {
    double share = 0;
    for (size_t i = 0; i < s->rows; i++)
        share += is_in(s, i, group) ? people_of(s, i) * s->weighted.theta[i] : 0;
    return share;
}

/* ---- influence --------------------------------------------------------------------------------------------------- */

typedef struct influence {
    const pv__standard *s;
    const pv__way *way;
    int32_t group;
    size_t level;
    means found;
    double slope[PV__MEASURES][RISKS];
    double *u;        /* [rows][PV__MEASURES]: first the part of the weights, at last the whole */
    double *mean;     /* [strata][PV__MEASURES], of u */
    double *gradient; /* [PV__MEASURES][P] */
    double *moved;    /* [PV__MEASURES][P]: H^-1 gradient */
    double *by_pi;    /* [cells][PV__MEASURES] */
    double *buffer;   /* [PV__ROW_BLOCK][inputs] */
} influence;

static void find_u(influence *f) {
    const pv__standard *s = f->s;
    const size_t F = PV__MEASURES;
    memset(f->u, 0, s->rows * F * sizeof *f->u);
    for (size_t i = 0; i < s->rows; i++) {
        if (!is_in(s, i, f->group))
            continue;
        double away[RISKS];
        for (size_t m = 0; m < RISKS; m++)
            away[m] = (risk_of(s, f->way, &f->way->risks, f->level, m, i) - f->found.psi[m]) / f->found.mass;
        if (is_stated(f->way, f->group))
            away[0] = 0;
        for (size_t j = 0; j < F; j++)
            for (size_t m = 0; m < RISKS; m++)
                f->u[i * F + j] += f->slope[j][m] * away[m];
    }
}

/* The mean of u in each stratum under theta, and u about it for the profile's weights, whose sum is fixed there. The
 * labels' weights are centred with their cells. */
static void find_means(influence *f) {
    const pv__standard *s = f->s;
    const pv_stratified *of = pv__strata_of(s->problem);
    const size_t F = PV__MEASURES;
    for (size_t i = 0; i < s->rows; i++)
        for (size_t j = 0; j < F; j++)
            f->mean[stratum_of(s, i) * F + j] += people_of(s, i) * f->way->theta[i] * f->u[i * F + j];
    for (size_t at = 0; of && at < strata_of(s) * F; at++)
        f->mean[at] /= of->share[at / F] > 0 ? of->share[at / F] : 1;
    for (size_t i = 0; f->way->tilt && i < s->rows; i++)
        for (size_t j = 0; j < F; j++)
            f->u[i * F + j] -= f->mean[stratum_of(s, i) * F + j];
}

/* gradient += by x~ */
static void add_row(const influence *f, const block *b, size_t i, size_t measure, double by) {
    double *to = f->gradient + measure * f->s->both->P;
    const double *x = slopes_of(f->s, b, i);
    to[0] += by;
    for (size_t c = 0; c + 1 < f->s->both->size; c++)
        to[c + 1] += by * x[c];
}

/* The part of the gradient that comes from one set of risks; m as in `means`. */
static void add_gradient(influence *f, const pv_dataset *data, const double *p, size_t m, bool weights) {
    const pv__standard *s = f->s;
    for (size_t begin = 0; begin < s->rows; begin += PV__ROW_BLOCK) {
        block b = block_at(s, data, begin, f->buffer);
        for (size_t i = 0; i < b.n; i++) {
            size_t row = begin + i;
            double own = people_of(s, row) * f->way->theta[row];
            bool counts = is_in(s, row, f->group) && !(m == 0 && is_stated(f->way, f->group));
            double move = counts ? own * p[row] * (1 - p[row]) / f->found.mass : 0;
            for (size_t j = 0; j < PV__MEASURES; j++) {
                double by = f->slope[j][m] * move;
                if (weights)
                    by += own * f->way->tilt[row] * f->u[row * PV__MEASURES + j];
                if (by != 0)
                    add_row(f, &b, i, j, by);
            }
        }
    }
}

static void find_gradient(influence *f) {
    const pv__exposure *e = f->s->exposure;
    const pv__risks *risks = &f->way->risks;
    size_t P = f->s->both->P;
    if (f->way->tilt)
        add_gradient(f, e->data, risks->own, 0, true);
    if (compared(f->way, f->group) == BY_MODEL)
        add_gradient(f, e->data, risks->own, BY_MODEL, false);
    add_gradient(f, e->set[0], risks->set, 1, false);
    add_gradient(f, e->set[f->level], risks->set + f->level * f->s->rows, 2, false);
    for (size_t j = 0; j < PV__MEASURES; j++)
        for (size_t r = 0; r < P; r++)
            for (size_t c = 0; c < P; c++)
                f->moved[j * P + r] += f->way->side->inverse[r * P + c] * f->gradient[j * P + c];
}

/* The derivative of the prevalence by log pi of a label in a stratum. */
static double stated_by_pi(const pv__standard *s, size_t first, size_t y, bool cohort) {
    const pv_stratified *of = pv__strata_of(s->problem);
    const double *pi = of ? of->prevalence + first : s->problem->population.prevalence;
    double share = of ? of->share[first / 2] : 1;
    return share * pi[y] * ((double)(y == 1) - (cohort ? pv__standard_prevalence(s) : pi[1]));
}

/* Derivatives by log pi of each cell, tied as prevalences that sum to 1 are (pv__both_tie). */
static void find_by_pi(influence *f) {
    const pv__standard *s = f->s;
    const pv_stratified *of = pv__strata_of(s->problem);
    const size_t F = PV__MEASURES, P = s->both->P;
    bool cohort = pv__both_is_cohort(s->both);
    for (size_t i = 0; i < s->rows; i++) {
        double own = people_of(s, i) * f->way->theta[i];
        size_t cell = cell_of(s, i), first = 2 * stratum_of(s, i);
        for (size_t j = 0; j < F; j++)
            for (size_t y = 0; y < 2 && f->way->tilt; y++)
                f->by_pi[(first + y) * F + j] += own * f->way->lift[y * s->rows + i] * f->u[i * F + j];
        for (size_t j = 0; j < F && !f->way->tilt; j++)
            f->by_pi[cell * F + j] += own * f->u[i * F + j];
    }
    for (size_t first = 0; first < s->both->cells; first += 2)
        for (size_t j = 0; j < F; j++) {
            const double *pi = of ? of->prevalence + first : s->problem->population.prevalence;
            double sum = f->by_pi[first * F + j] + f->by_pi[(first + 1) * F + j];
            for (size_t y = 0; y < 2; y++) {
                double *to = &f->by_pi[(first + y) * F + j];
                if (!cohort)
                    *to -= pi[y] * sum;
                else if (of && f->way->tilt) /* the strata's shares are counted as well */
                    *to += pi[y] * of->share[first / 2] * f->mean[first / 2 * F + j];
                if (is_stated(f->way, f->group))
                    *to += f->slope[j][0] * stated_by_pi(s, first, y, cohort);
                for (size_t c = 0; c < P; c++)
                    *to += f->gradient[j * P + c] * f->way->side->prevalence[(first + y) * P + c];
            }
        }
}

/* u becomes the influence of one person of each row. */
static void find_influence(influence *f) {
    const pv__standard *s = f->s;
    const size_t F = PV__MEASURES, P = s->both->P;
    for (size_t begin = 0; begin < s->rows; begin += PV__ROW_BLOCK) {
        block b = block_at(s, s->exposure->data, begin, f->buffer);
        for (size_t i = 0; i < b.n; i++) {
            const double *x = slopes_of(s, &b, i);
            size_t row = begin + i;
            for (size_t j = 0; j < F; j++) {
                const double *moved = f->moved + j * P;
                double along = moved[0];
                for (size_t c = 0; c + 1 < s->both->size; c++)
                    along += moved[c + 1] * x[c];
                f->u[row * F + j] = f->way->theta[row] * f->u[row * F + j] + along * f->way->side->residual[row];
            }
        }
    }
}

/* ---- variances --------------------------------------------------------------------------------------------------- */

static const double *rows_at(void *state, size_t slot, size_t begin, size_t n) {
    const pv__standard *s = state;
    (void)slot;
    (void)n;
    return s->room + begin * PV__MEASURES;
}

/* Satterthwaite's degrees of freedom, of the units' part and then of the whole (combined.c). */
static double freedom(const pv__units *units, double second, double fourth, double whole) {
    if (!(second > 0))
        return fmax(1, units->df);
    double nu = 2 / (fourth / (second * second) - 1 / units->units), ratio = whole / second;
    nu = nu > 0 && nu < units->df ? nu : units->df;
    return fmax(1, nu * ratio * ratio);
}

static double quadratic(size_t P, const double *C, const double *g) {
    double sum = 0;
    for (size_t r = 0; r < P; r++)
        for (size_t c = 0; c < P; c++)
            sum += g[r] * C[r * P + c] * g[c];
    return sum;
}

static pv_status find_variances(pv__standard *s, const influence *f, pv__measured *found) {
    const size_t F = PV__MEASURES, P = s->both->P;
    const pv__units *units = s->both->units;
    const pv__scores scores = {
        .parts = 1, .logits = 1, .size = F, .residual = {s->ones, NULL}, .x = rows_at, .state = s};
    const double *extra = s->extra + (f->way->tilt ? P * P : 0);
    double identity[PV__MEASURES * PV__MEASURES] = {0}, form[PV__MEASURES * PV__MEASURES] = {0};
    double fourth[PV__MEASURES], spread, *room;
    pv__unit_sums sums;
    PV_TRY(pv__alloc(s->ctx, F * F + 2 * units->design.cells * F, sizeof *room, &room));
    sums = (pv__unit_sums){.square = room, .mean = room + F * F};
    for (size_t j = 0; j < F; j++)
        identity[j * F + j] = 1;
    pv_status status = pv__units_sum(s->ctx, units, &scores, &sums);
    if (status == PV_OK)
        status = pv__units_moments(s->ctx, units, &scores, &sums, identity, form, fourth, &spread);
    for (size_t j = 0; j < F && status == PV_OK; j++) {
        double second = sums.square[j * F + j], whole = second + quadratic(P, extra, f->gradient + j * P);
        for (size_t cell = 0; cell < s->both->cells; cell++)
            whole += s->both->chance[cell] * f->by_pi[cell * F + j] * f->by_pi[cell * F + j];
        found->variance[j] = fmax(0, whole);
        found->df[j] = freedom(units, second, fourth[j], whole);
    }
    pv__free(s->ctx, room);
    return status;
}

pv_status pv__standard_measure(pv__standard *s, const pv__way *way, int32_t group, size_t level, pv__measured *found) {
    const size_t F = PV__MEASURES, P = s->both->P, cells = s->both->cells;
    influence f = {.s = s, .way = way, .group = group, .level = level, .u = s->room};
    PV_TRY(pv__alloc(s->ctx, 2 * F * P + 2 * cells * F + PV__ROW_BLOCK * inputs_of(s), sizeof(double), &f.gradient));
    f.moved = f.gradient + F * P;
    f.by_pi = f.moved + F * P;
    f.mean = f.by_pi + cells * F;
    f.buffer = f.mean + cells * F;
    f.found = means_of(s, way, &way->risks, group, level);
    measures_of(f.found.psi, compared(way, group), found->value, f.slope);
    find_u(&f);
    find_means(&f);
    find_gradient(&f);
    find_by_pi(&f);
    find_influence(&f);
    pv_status status = find_variances(s, &f, found);
    pv__free(s->ctx, f.gradient);
    return status;
}

/* ---- both estimates ---------------------------------------------------------------------------------------------- */

/* Takes the two sides to their optima, from the fit's estimates. */
static pv_status fit_sides(pv__standard *s, const pv_combination *c) {
    pv__both *b = s->both;
    bool found, has = s->has_linear;
    pv__both_chances(b);
    b->weighted.inflate = b->efficient.inflate = s->problem->plan->options.errors != PV_ERRORS_HC0;
    for (size_t i = 0; i < b->cells; i++)
        b->weighted.a[i] = s->problem->factor[i % b->k];
    for (size_t i = 0; has && i < b->cells; i++)
        b->efficient.a[i] = 1;
    if (has) {
        pv__both_weigh(b, b->weighted.a);
        pv__log_ratio(s->problem, b->efficient.ratio);
        b->efficient.of_ratio = true;
    }
    PV_TRY(pv__both_fit(b, has ? c->efficient : NULL, c->weighted, &found));
    return found ? PV_OK
                 : pv__fail(s->ctx, PV_ERR_NUMERIC,
                            "the estimates have no finite optimum, so effects have no intervals:\nuse `prior` "
                            "normal:2.5, or fewer columns");
}

static pv_status find_extra(pv__standard *s) {
    const pv__both *b = s->both;
    PV_TRY(pv__alloc(s->ctx, 2 * b->P, b->P * sizeof *s->extra, &s->extra));
    PV_TRY(pv__add_scale(s->ctx, s->problem, b->weighted.w, b->weighted.inverse, true, s->extra));
    return s->has_linear
               ? pv__add_scale(s->ctx, s->problem, b->efficient.w, b->efficient.inverse, true, s->extra + b->P * b->P)
               : PV_OK;
}

pv_status pv__standard_new(pv_ctx *ctx, const pv__exposure *exposure, const pv__problem *problem,
                           const pv_classifier *classifier, pv__standard *s) {
    const pv_combination *c = classifier->combination;
    *s = (pv__standard){.ctx = ctx, .exposure = exposure, .problem = problem, .rows = problem->rows.n};
    s->has_linear = pv__has_combination(problem);
    PV_TRY(pv__alloc(ctx, 1, sizeof *s->both, &s->both));
    s->both->ctx = ctx;
    PV_TRY(pv__both_new(ctx, problem, exposure->schema, true, s->has_linear ? 3 : 1, s->both));
    PV_TRY(fit_sides(s, c));
    PV_TRY(find_extra(s));
    PV_TRY(pv__alloc(ctx, s->rows, (PV__MEASURES + 1) * sizeof *s->room, &s->room));
    s->ones = s->room + s->rows * PV__MEASURES;
    for (size_t i = 0; i < s->rows; i++)
        s->ones[i] = 1;
    s->weighted.side = &s->both->weighted;
    PV_TRY(risks_new(s, c->weighted, &s->weighted.risks));
    PV_TRY(weigh_by_label(s, &s->weighted));
    PV_TRY(risks_new(s, classifier->w, &s->point));
    if (!s->has_linear)
        return PV_OK;
    s->linear.side = &s->both->efficient;
    PV_TRY(risks_new(s, c->efficient, &s->linear.risks));
    return weigh_by_profile(s, &s->linear);
}

void pv__standard_free(pv__standard *s) {
    if (!s->ctx)
        return;
    if (s->both)
        pv__both_free(s->both);
    pv__free(s->ctx, s->both);
    pv__free(s->ctx, s->extra);
    pv__free(s->ctx, s->room);
    pv__free(s->ctx, s->weighted.risks.own);
    pv__free(s->ctx, s->weighted.theta);
    pv__free(s->ctx, s->linear.risks.own);
    pv__free(s->ctx, s->linear.theta);
    pv__free(s->ctx, s->point.own);
}
