/* Separation: determines whether the likelihood of a convex model has a finite maximum, for every model and inference.
 *
 * The maximum is infinite if in some direction d of the parameters no row's own label loses and at least one gains. In
 * all models the condition of a row is linear in d:
 *
 *   linear      d_y x - d_z x >= 0 for its label y and every other z (for each label with votes)
 *   ordinal     c_y - d x >= 0 and d x - c_(y-1) >= 0, c the thresholds
 *   matched     d x_i - d x_j >= 0 for every case i and control j of a set
 *
 * A proper prior on the intercept, or on thresholds, keeps them finite: d is then 0 there. recession.c decides for a
 * working set of such margins. If the working set overlaps, so do all rows. A direction that separates it is tested on
 * all rows, and rows that contradict it join the working set. So does a row that distinguishes columns which are equal
 * on the working set. Most fits need no pass over the rows, separated ones two or three.
 *
 * Limits: models with more than SIZE_MAX_DENSE parameters, or with so many labels that a working set costs more than
 * MOST_WORK, are tested only for complete separation at the optimiser's estimate.
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "infer/infer.h"
#include "infer/recession.h"

enum { SIZE_MAX_DENSE = 1000, ROUNDS = 60, PIECE = 512 };
static const double MOST_START = 2e9, MOST_WORK = 2e10; /* multiplications, for the first working set and for any */
static const double TINY = 1e-10;                       /* rounding, relative to a margin's terms */

/* ---- margins ----------------------------------------------------------------------------------------------------- */

typedef struct margin {
    size_t row, other;   /* other: the control of a matched set */
    int32_t plus, minus; /* linear: labels. ordinal: a threshold, and whether the row is below (1) or above (0) it */
} margin;

typedef struct view {
    pv_ctx *ctx;
    const pv__problem *problem;
    size_t k, slopes;
    bool free;     /* intercepts and thresholds are among the parameters of d */
    bool relative; /* matched sets */
    size_t size;   /* length of d */
    size_t *row;   /* rows in the order of their sets, and where each set begins */
    size_t *first, sets;
} view;

static bool is_ordinal(const view *v) {
    return v->problem->model->ordinal;
}

static size_t stride_of(const view *v) {
    return v->slopes + v->free;
}

/* Adds factor times row n, with a leading 1 if intercepts are free, to a. */
static void add_row(const view *v, size_t n, double factor, double *room, double *a) {
    const double *x = pv__problem_row(v->problem, n, room);
    bool ahead = v->free && !is_ordinal(v) && !v->relative;
    if (ahead)
        a[0] += factor;
    for (size_t j = 0; j < v->slopes; j++)
        a[j + ahead] += factor * x[j];
}

/* The margin as a linear function of d, a [size]. */
static void fill(const view *v, const margin *m, double *room, double *a) {
    memset(a, 0, v->size * sizeof *a);
    if (v->relative) {
        add_row(v, m->row, 1, room, a);
        add_row(v, m->other, -1, room, a);
    } else if (is_ordinal(v)) {
        double sign = m->minus ? 1 : -1;
        if (v->free)
            a[m->plus] = sign;
        add_row(v, m->row, -sign, room, a + (v->free ? v->k - 1 : 0));
    } else {
        if (m->plus > 0)
            add_row(v, m->row, 1, room, a + (size_t)(m->plus - 1) * stride_of(v));
        if (m->minus > 0)
            add_row(v, m->row, -1, room, a + (size_t)(m->minus - 1) * stride_of(v));
    }
}

/* Writes the margins of row n to m [k k]; returns how many. */
static size_t margins_of(const view *v, size_t n, margin *m) {
    const pv_targets *t = &v->problem->targets;
    size_t count = 0;
    for (int32_t y = 0; y < t->classes && pv__weight(t, n) > 0; y++) {
        if (!(pv__share(t, n, y) > 0))
            continue;
        for (int32_t z = 0; z < t->classes && !is_ordinal(v); z++)
            if (z != y)
                m[count++] = (margin){.row = n, .plus = y, .minus = z};
        if (is_ordinal(v) && y + 1 < t->classes)
            m[count++] = (margin){.row = n, .plus = y, .minus = 1};
        if (is_ordinal(v) && y > 0)
            m[count++] = (margin){.row = n, .plus = y - 1, .minus = 0};
    }
    return count;
}

/* ---- working set ------------------------------------------------------------------------------------------------- */

typedef struct margins {
    size_t count, room;
    margin *of;
} margins;

static pv_status push(pv_ctx *ctx, margins *set, const margin *m) {
    if (set->count == set->room) {
        set->room = 2 * set->room + 64;
        PV_TRY(pv__resize(ctx, set->room, sizeof *set->of, &set->of));
    }
    set->of[set->count++] = *m;
    return PV_OK;
}

/* Adds `rows` rows of each label, evenly spread. */
static pv_status start_rows(const view *v, size_t rows, margins *set) {
    const pv_targets *t = &v->problem->targets;
    size_t *have = NULL, *seen;
    margin *own = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(v->ctx, 2 * v->k, sizeof *have, &have));
    PV_GOTO(done, pv__alloc(v->ctx, v->k * v->k, sizeof *own, &own));
    seen = have + v->k;
    for (size_t n = 0; n < v->problem->rows.n; n++)
        have[t->label ? t->label[n] : 0]++;
    for (size_t n = 0; n < v->problem->rows.n; n++) {
        size_t y = t->label ? (size_t)t->label[n] : 0, at = seen[y]++;
        if (have[y] > rows && at * rows / have[y] == (at + 1) * rows / have[y])
            continue;
        size_t count = margins_of(v, n, own);
        for (size_t i = 0; i < count; i++)
            PV_GOTO(done, push(v->ctx, set, &own[i]));
    }
done:
    pv__free(v->ctx, have);
    pv__free(v->ctx, own);
    return status;
}

/* Adds from evenly spread sets the first case with all controls, and the first control with all cases. */
static pv_status start_sets(const view *v, size_t rows, margins *set) {
    const int32_t *label = v->problem->targets.label;
    size_t every = v->problem->rows.n / rows + 1;
    for (size_t s = 0; s < v->sets; s += every) {
        const size_t *row = v->row + v->first[s];
        size_t count = v->first[s + 1] - v->first[s], one = count, none = count;
        for (size_t i = count; i-- > 0;)
            *(label[row[i]] == 1 ? &one : &none) = i;
        for (size_t i = 0; i < count && one < count && none < count; i++) {
            bool is_case = label[row[i]] == 1;
            if (is_case && i == one)
                continue;
            const margin m = {.row = is_case ? row[i] : row[one], .other = is_case ? row[none] : row[i]};
            PV_TRY(push(v->ctx, set, &m));
        }
    }
    return PV_OK;
}

static pv_status order_sets(view *v) {
    const pv_targets *t = &v->problem->targets;
    size_t n = v->problem->rows.n;
    for (size_t i = 0; i < n; i++)
        v->sets = (size_t)t->set[i] + 1 > v->sets ? (size_t)t->set[i] + 1 : v->sets;
    PV_TRY(pv__alloc(v->ctx, n, sizeof *v->row, &v->row));
    PV_TRY(pv__alloc(v->ctx, v->sets + 2, sizeof *v->first, &v->first));
    for (size_t i = 0; i < n; i++)
        v->first[(size_t)t->set[i] + 2]++;
    for (size_t s = 2; s < v->sets + 2; s++)
        v->first[s] += v->first[s - 1];
    for (size_t i = 0; i < n; i++)
        v->row[v->first[(size_t)t->set[i] + 1]++] = i;
    return PV_OK;
}

/* ---- a pass over all rows ---------------------------------------------------------------------------------------- */

typedef struct pass {
    const double *d, *unseen; /* a direction, and one with zero products on the working set; NULL: not wanted */
    size_t most;              /* maximum number of margins to collect */
    size_t skip;              /* takes one in `skip` of the qualifying margins; doubled whenever there are too many */
    size_t passed;
    bool all_gain;
    margins found;
    double *a, *room;
} pass;

static pv_status consider(const view *v, pass *p, const margin *m) {
    double own = 0, size = 0, hidden = 0, hidden_size = 0;
    fill(v, m, p->room, p->a);
    for (size_t j = 0; j < v->size; j++) {
        double along = p->d ? p->a[j] * p->d[j] : 0, other = p->unseen ? p->a[j] * p->unseen[j] : 0;
        own += along;
        size += fabs(along);
        hidden += other;
        hidden_size += fabs(other);
    }
    double rounding = TINY * (1 + size);
    p->all_gain &= own > rounding;
    if (!(own < -rounding || fabs(hidden) > TINY * hidden_size) || p->passed++ % p->skip != 0)
        return PV_OK;
    PV_TRY(push(v->ctx, &p->found, m));
    if (p->found.count < 2 * p->most)
        return PV_OK;
    for (size_t i = 0; i < p->most; i++)
        p->found.of[i] = p->found.of[2 * i];
    p->found.count = p->most;
    p->skip *= 2;
    return PV_OK;
}

static double along_of(const view *v, size_t n, double *room, const double *d) {
    const double *x = pv__problem_row(v->problem, n, room);
    double sum = 0;
    for (size_t j = 0; j < v->slopes; j++)
        sum += x[j] * d[j];
    return sum;
}

/* The most informative pairs of a set: its lowest case with its highest control, and its highest with its lowest. */
static pv_status consider_set(const view *v, pass *p, size_t s, const double *d) {
    const int32_t *label = v->problem->targets.label;
    margin worst = {0}, best = {0};
    double low[2] = {HUGE_VAL, HUGE_VAL}, high[2] = {-HUGE_VAL, -HUGE_VAL};
    for (size_t i = v->first[s]; i < v->first[s + 1]; i++) {
        size_t n = v->row[i];
        bool is_case = label[n] == 1;
        double eta = along_of(v, n, p->room, d);
        if (eta < low[is_case]) {
            low[is_case] = eta;
            *(is_case ? &worst.row : &best.other) = n;
        }
        if (eta > high[is_case]) {
            high[is_case] = eta;
            *(is_case ? &best.row : &worst.other) = n;
        }
    }
    if (isinf(low[0]) || isinf(low[1]))
        return PV_OK;
    PV_TRY(consider(v, p, &worst));
    return consider(v, p, &best);
}

static pv_status run_pass(const view *v, pass *p) {
    margin *own = NULL;
    pv_status status;
    p->skip = 1;
    p->all_gain = true;
    PV_GOTO(done, pv__alloc(v->ctx, v->k * v->k, sizeof *own, &own));
    PV_GOTO(done, pv__alloc(v->ctx, v->size, sizeof *p->a, &p->a));
    PV_GOTO(done, pv__alloc(v->ctx, (size_t)pv_model_inputs(v->problem->model) + 1, sizeof *p->room, &p->room));
    for (size_t s = 0; s < v->sets && v->relative; s++) {
        if (s % PIECE == 0)
            PV_GOTO(done, pv__go_on(v->ctx));
        if (p->d)
            PV_GOTO(done, consider_set(v, p, s, p->d));
        if (p->unseen)
            PV_GOTO(done, consider_set(v, p, s, p->unseen));
    }
    for (size_t n = 0; n < v->problem->rows.n && !v->relative; n++) {
        if (n % PIECE == 0)
            PV_GOTO(done, pv__go_on(v->ctx));
        size_t count = margins_of(v, n, own);
        for (size_t i = 0; i < count; i++)
            PV_GOTO(done, consider(v, p, &own[i]));
    }
done:
    pv__free(v->ctx, own);
    pv__free(v->ctx, p->a);
    pv__free(v->ctx, p->room);
    p->a = p->room = NULL;
    return status;
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

/* The optimiser's estimate as a guess of d; NULL: none. start [size]. */
static const double *guess(const view *v, const double *w, double *start) {
    if (!w || is_ordinal(v))
        return NULL;
    size_t stride = v->slopes + 1;
    double *ratio = NULL;
    if (v->relative || !v->free) {
        for (size_t y = 0; y + 1 < v->k; y++)
            memcpy(start + y * v->slopes, w + y * stride + 1, v->slopes * sizeof *w);
        return start;
    }
    memcpy(start, w, v->size * sizeof *w);
    if (pv__strata_of(v->problem) || pv__alloc(v->ctx, v->k, sizeof *ratio, &ratio) != PV_OK)
        return start;
    pv__log_ratio(v->problem, ratio);
    for (size_t y = 1; y < v->k; y++)
        start[(y - 1) * stride] += ratio[y] - ratio[0];
    pv__free(v->ctx, ratio);
    return start;
}

static pv_status decide(const view *v, const margins *set, const double *start, pv__recession *made) {
    double *A = NULL, *room = NULL;
    pv_status status;
    *made = (pv__recession){0};
    PV_GOTO(done, pv__alloc(v->ctx, set->count, v->size * sizeof *A, &A));
    PV_GOTO(done, pv__alloc(v->ctx, (size_t)pv_model_inputs(v->problem->model) + 1, sizeof *room, &room));
    for (size_t i = 0; i < set->count; i++)
        fill(v, &set->of[i], room, A + i * v->size);
    status = pv__recession_find(v->ctx, set->count, v->size, A, start, made);
done:
    pv__free(v->ctx, A);
    pv__free(v->ctx, room);
    return status;
}

/* Marks the coefficients that d affects: those with a part in some margin above rounding. */
static pv_status mark(const view *v, const margins *set, const double *d, pv__separation *found) {
    double *a = NULL, *room = NULL, *part = NULL, most = 0;
    pv_status status;
    PV_GOTO(done, pv__alloc(v->ctx, v->size, sizeof *a, &a));
    PV_GOTO(done, pv__alloc(v->ctx, v->size, sizeof *part, &part));
    PV_GOTO(done, pv__alloc(v->ctx, (size_t)pv_model_inputs(v->problem->model) + 1, sizeof *room, &room));
    for (size_t i = 0; i < set->count; i++) {
        double own = 0;
        fill(v, &set->of[i], room, a);
        for (size_t j = 0; j < v->size; j++) {
            own += a[j] * d[j];
            part[j] = fmax(part[j], fabs(a[j] * d[j]));
        }
        most = fmax(most, own);
    }
    size_t ahead = is_ordinal(v) ? (v->free ? v->k - 1 : 0) : v->free && !v->relative;
    size_t blocks = is_ordinal(v) || v->relative ? 1 : v->k - 1, stride = v->slopes + ahead;
    for (size_t b = 0; b < blocks; b++)
        for (size_t j = 0; j < v->slopes; j++) {
            size_t at = b * stride + ahead + j;
            if (part[at] > 1e-7 * most)
                found->sign[j] = d[at] > 0 ? 1 : -1;
        }
done:
    pv__free(v->ctx, a);
    pv__free(v->ctx, room);
    pv__free(v->ctx, part);
    return status;
}

/* One round: decides for the working set, then tests the result on all rows. */
static pv_status round_of(const view *v, margins *set, const double *start, bool whole, pv__separation *found,
                          bool *done) {
    enum { FEWEST = 256 };
    pv__recession r = {0};
    pass p = {.most = set->count < FEWEST ? FEWEST : set->count};
    pv_status status;
    PV_GOTO(done, decide(v, set, start, &r));
    *done = !r.gained && (r.full || whole || !r.decided);
    if (*done)
        goto done;
    p.d = r.gained ? r.direction : NULL;
    p.unseen = r.full ? NULL : r.unseen;
    PV_GOTO(done, run_pass(v, &p));
    *done = p.found.count == 0;
    if (*done && r.gained) {
        found->found = true;
        found->complete = p.all_gain;
        status = mark(v, set, r.direction, found);
    }
    for (size_t i = 0; i < p.found.count && status == PV_OK; i++)
        status = push(v->ctx, set, &p.found.of[i]);
done:
    pv__free(v->ctx, p.found.of);
    pv__recession_free(v->ctx, &r);
    return status;
}

/* Multiplications needed to decide for this many margins. */
static double work_of(const view *v, size_t count) {
    return (double)count * (double)v->size * (double)v->size;
}

/* Number of margins of one row per label. */
static size_t least_margins(const view *v) {
    return is_ordinal(v) || v->relative ? 2 * v->k : v->k * (v->k - 1);
}

static pv_status search(view *v, const double *w, pv__separation *found, bool *decided) {
    enum { FEWEST = 400, EACH = 8, WHOLE = 4000 };
    margins set = {0};
    double *start = NULL;
    size_t rows = EACH * v->size > FEWEST ? EACH * v->size : FEWEST;
    if (v->k > 2 && !is_ordinal(v) && !v->relative) /* a row with several labels has more margins */
        rows = rows / ((v->k - 1) * (v->k - 1)) + 1;
    bool whole = v->problem->rows.n <= WHOLE && v->problem->rows.n <= 4 * rows, done = false;
    pv_status status;
    if (whole)
        rows = v->problem->rows.n;
    PV_GOTO(done, pv__alloc(v->ctx, v->size + v->k * (v->slopes + 1), sizeof *start, &start));
    const double *from = guess(v, w, start);
    if (v->relative) {
        PV_GOTO(done, order_sets(v));
        PV_GOTO(done, start_sets(v, rows, &set));
        whole = false; /* not all pairs were included */
    } else {
        PV_GOTO(done, start_rows(v, rows, &set));
    }
    for (int round = 0; round < ROUNDS && !done && work_of(v, set.count) <= MOST_WORK; round++)
        PV_GOTO(done, round_of(v, &set, from, whole, found, &done));
done:
    *decided = done;
    pv__free(v->ctx, set.of);
    pv__free(v->ctx, start);
    return status;
}

/* The smallest lead of a row's own label at w in the sample, ignoring rows of weight 0. Processes rows piecewise and
 * stops at the first row whose label does not lead. */
static pv_status least_margin(pv_ctx *ctx, const pv__problem *problem, const double *w, double *least) {
    enum { ROWS = 4096 };
    size_t k = (size_t)problem->targets.classes, d = (size_t)pv_model_inputs(problem->model);
    size_t room = problem->rows.n < ROWS ? problem->rows.n : ROWS, made = pv__rows_room(&problem->rows, room);
    double *loglik, *log_ratio;
    PV_TRY(pv__alloc(ctx, (room + pv__ratio_sets(problem)) * k + made, sizeof *loglik, &loglik));
    log_ratio = loglik + room * k;
    double *buffer = log_ratio + pv__ratio_sets(problem) * k;
    pv__log_ratio(problem, log_ratio);
    *least = HUGE_VAL;
    pv_status status = PV_OK;
    for (size_t begin = 0; status == PV_OK && *least > 0 && begin < problem->rows.n; begin += ROWS) {
        pv__problem piece = *problem;
        size_t rows = problem->rows.n - begin < ROWS ? problem->rows.n - begin : ROWS;
        piece.rows = pv__rows_matrix(rows, d, pv__rows_get(ctx, &problem->rows, begin, rows, buffer));
        status = pv__objective_loglik(ctx, &piece, w, loglik);
        for (size_t i = 0; status == PV_OK && i < piece.rows.n; i++) {
            size_t own = (size_t)problem->targets.label[begin + i];
            const double *ratio = pv__ratio_of(&problem->targets, log_ratio, begin + i), *own_row = loglik + i * k;
            for (size_t y = 0; y < k && pv__weight(&problem->targets, begin + i) > 0; y++)
                if (y != own)
                    *least = fmin(*least, own_row[own] + ratio[own] - own_row[y] - ratio[y]);
        }
    }
    pv__free(ctx, loglik);
    return status;
}

/* Whether no two labels overlap in the range of column j. */
static bool apart(size_t k, size_t d, const double *low, const double *high, size_t j) {
    for (size_t y = 0; y < k; y++)
        for (size_t z = 0; z < y; z++)
            if (!(low[y * d + j] > high[z * d + j] || low[z * d + j] > high[y * d + j]))
                return false;
    return true;
}

/* The first column in which the ranges of no two labels overlap; `inputs` if there is none. Columns are dropped when
 * two labels overlap in them, which happens early for most. */
static pv_status find_column(pv_ctx *ctx, const pv__problem *problem, size_t *column) {
    enum { LOOK = 256 };
    size_t k = (size_t)problem->targets.classes, d = (size_t)pv_model_inputs(problem->model);
    size_t left = pv__model_slopes(problem->model);
    double *low = NULL, *high, *row;
    size_t *open = NULL; /* [left], columns without overlap so far */
    *column = d;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, (2 * k + 1) * d, sizeof *low, &low));
    PV_GOTO(done, pv__alloc(ctx, d, sizeof *open, &open));
    high = low + k * d;
    row = high + k * d;
    for (size_t i = 0; i < k * d; i++) {
        low[i] = HUGE_VAL;
        high[i] = -HUGE_VAL;
    }
    for (size_t j = 0; j < left; j++)
        open[j] = j + problem->model->offset;
    for (size_t i = 0; i < problem->rows.n && left > 0; i++) {
        size_t y = (size_t)problem->targets.label[i];
        const double *of = pv__rows_get(ctx, &problem->rows, i, 1, row);
        for (size_t o = 0; o < left && pv__weight(&problem->targets, i) != 0; o++) {
            size_t j = open[o];
            double x = of[j];
            low[y * d + j] = fmin(low[y * d + j], x);
            high[y * d + j] = fmax(high[y * d + j], x);
        }
        if ((i + 1) % LOOK != 0 && i + 1 < problem->rows.n)
            continue;
        size_t kept = 0;
        for (size_t o = 0; o < left; o++)
            if (apart(k, d, low, high, open[o]))
                open[kept++] = open[o];
        left = kept;
    }
    if (left > 0)
        *column = open[0];
done:
    pv__free(ctx, low);
    pv__free(ctx, open);
    return status;
}

/* ---- interface --------------------------------------------------------------------------------------------------- */

pv_status pv__separation_find(pv_ctx *ctx, const pv__problem *problem, const double *w, pv__separation *found) {
    bool relative = pv_loss_is_relative(pv__problem_loss(problem)), ordinal = problem->model->ordinal;
    bool held = problem->plan->map && problem->plan->intercept_prior.kind != PV_PRIOR_NONE;
    view v = {.ctx = ctx,
              .problem = problem,
              .k = (size_t)problem->targets.classes,
              .slopes = pv__model_slopes(problem->model),
              .free = !held && !relative,
              .relative = relative};
    v.size = ordinal ? v.slopes + (v.free ? v.k - 1 : 0) : relative ? v.slopes : (v.k - 1) * stride_of(&v);
    *found = (pv__separation){0};
    if (!pv_model_is_convex(problem->model) || pv__rows_are_images(&problem->rows) || v.size == 0)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, v.slopes + 1, sizeof *found->sign, &found->sign));
    bool decided = false;
    if (v.size <= SIZE_MAX_DENSE && work_of(&v, least_margins(&v)) <= MOST_START) {
        pv_status status = search(&v, w, found, &decided);
        pv__free(ctx, v.row);
        pv__free(ctx, v.first);
        PV_TRY(status);
    }
    if (decided)
        return PV_OK;
    if (!w || ordinal || relative || !problem->targets.label)
        return PV_OK;
    double least;
    PV_TRY(least_margin(ctx, problem, w, &least));
    found->found = found->complete = least > 0;
    return PV_OK;
}

void pv__separation_free(pv_ctx *ctx, pv__separation *found) {
    pv__free(ctx, found->sign);
    found->sign = NULL;
}

pv_status pv__separation_mark(pv_ctx *ctx, const pv__problem *problem, const double *w, int64_t *marked) {
    pv__separation found;
    size_t d = (size_t)pv_model_inputs(problem->model), column = d;
    *marked = PV_SEPARATED_NOT;
    pv_status status;
    PV_GOTO(done, pv__separation_find(ctx, problem, w, &found));
    if (!found.found)
        goto done;
    *marked = PV_SEPARATED_TOGETHER;
    if (found.complete && pv_model_has_coefficients(problem->model) && problem->targets.label && !problem->targets.set)
        PV_GOTO(done, find_column(ctx, problem, &column));
    if (column < d)
        *marked = (int64_t)column + 1;
    for (size_t j = pv__model_slopes(problem->model); j-- > 0 && !found.complete;)
        if (found.sign[j] != 0)
            *marked = PV_SEPARATED_TOGETHER - (int64_t)(j + problem->model->offset) - 1;
done:
    pv__separation_free(ctx, &found);
    return status;
}

/* Lists the columns with infinite coefficients. */
static void name_columns(const pv__problem *problem, const pv__separation *found, char *text, size_t room) {
    enum { NAMED = 4 };
    size_t count = 0, at = 0;
    for (size_t j = 0; j < pv__model_slopes(problem->model); j++) {
        if (found->sign[j] == 0 || count++ >= NAMED)
            continue;
        pv__format(text + at, room - at, "%s'%.60s'", at > 0 ? ", " : "",
                   pv__show(problem->feature[j + problem->model->offset]).text);
        at += strlen(text + at);
    }
    if (count > NAMED)
        pv__format(text + at, room - at, " and %zu more", count - NAMED);
}

pv_status pv__separation_refuse(pv_ctx *ctx, const pv__problem *problem, const double *w) {
    pv__separation found;
    char names[400] = "";
    pv_status status;
    if (problem->plan->map && problem->plan->prior.kind != PV_PRIOR_NONE)
        return PV_OK;
    PV_GOTO(done, pv__separation_find(ctx, problem, w, &found));
    if (!found.found)
        goto done;
    name_columns(problem, &found, names, sizeof names);
    bool relative = pv_loss_is_relative(pv__problem_loss(problem));
    status = pv__fail(
        ctx, PV_ERR_INPUT,
        "the columns separate %s %s, so that maximum likelihood has no finite estimate%s%s.\nUse `infer=map` or a "
        "posterior with a prior such as `prior=normal:2.5`, or leave out or merge the columns that separate",
        relative ? "the cases of the sets from their controls" : "the labels",
        found.complete ? "completely" : "in part (quasi-complete separation)",
        *names ? " for the coefficients of " : "", names);
done:
    pv__separation_free(ctx, &found);
    return status;
}
