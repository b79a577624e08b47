/* matched: the conditional likelihood of individually matched sets (Breslow and Day 1980, chapter 7).
 *
 * Each set has its own intercept, which conditioning removes. Given that d of the m rows of a set are cases, the
 * probability that they are the observed ones gives
 *
 *   L = - sum over sets [ sum over its cases of eta_i - log B ],   B = sum over subsets R of d rows of exp(sum_R eta) ,
 *
 * where eta_i = f_i(1) - f_i(0) is the log odds. Adding a constant to a set's eta changes nothing, so no intercept is
 * identified. d L / d eta_i = pi_i - y_i, where pi_i is the probability that row i is in R.
 *
 * B has C(m, d) terms. For any c > 0, toss independent coins with p_i = c e^eta_i / (1 + c e^eta_i) and let S be the
 * number of heads. Then
 *
 *   B = P(S = d) prod_i (1 + c e^eta_i) / c^d ,   pi_i = p_i P(S without i = d - 1) / P(S = d) ,
 *
 * and P(S = j) follows from a recursion over rows of m d steps (that of Gail, Lubin and Rubinstein 1981, in
 * probabilities). c is chosen so that the expected number of heads is d: then no term overflows, and terms that
 * underflow are negligible. All sums are of positive numbers, so there is no cancellation for any d.
 *
 * Domain: two classes, hard labels, no weights. Sets with labels of one kind contribute nothing.
 */
#include <math.h>
#include <string.h>

#include "base/reduce.h"
#include "core/loss.h"

enum { SETS_CHUNK = 256 }; /* at most; the time depends on rows, and few sets are large */
static const size_t ROOM_MAX = (size_t)1 << 24;

/* ---- one set ----------------------------------------------------------------------------------------------------- */

/* Counts cases or controls, whichever are fewer. Counting controls negates eta and multiplies B by a factor. */
typedef struct set_rows {
    size_t rows, chosen; /* m, d */
    double *eta;         /* [rows], log odds */
    double *pi;          /* [rows], output: probability that the row is in R */
    double *p;           /* [rows], probability of heads */
    double *ahead;       /* [chosen + 1], P(S = j) of the rows before the current one, in the forward pass */
    double *behind;      /* [rows + 1][chosen + 1] */
} set_rows;

/* The size of the work array, in numbers, for a set of `rows` rows with `chosen` chosen ones. */
static size_t room_of(size_t rows, size_t chosen) {
    return 3 * rows + (chosen > 1 ? (rows + 2) * (chosen + 1) : 0);
}

static set_rows rows_in(double *room, size_t rows, size_t chosen) {
    return (set_rows){rows, chosen, room, room + rows, room + 2 * rows, room + 3 * rows, room + 3 * rows + chosen + 1};
}

/* One row is chosen: B is a plain sum. Returns log B. */
static double choose_one(const set_rows *s) {
    double log_b = pv_log_sum_exp(s->rows, s->eta);
    for (size_t i = 0; i < s->rows; i++)
        s->pi[i] = exp(s->eta[i] - log_b);
    return log_b;
}

static double coins(const set_rows *s, double log_c, double *expected) {
    double log_none = 0; /* log prod (1 - p) */
    *expected = 0;
    for (size_t i = 0; i < s->rows; i++) {
        double z = s->eta[i] + log_c;
        s->p[i] = 1 / (1 + exp(-z));
        *expected += s->p[i];
        log_none += pv_log_sigmoid(-z);
    }
    return log_none;
}

/* Chooses c so that about `chosen` heads are expected. Any c is correct; this one scales best. Returns log c. */
static double fair_coins(const set_rows *s, double *log_none) {
    double low = HUGE_VAL, high = -HUGE_VAL, expected;
    for (size_t i = 0; i < s->rows; i++) {
        low = fmin(low, -s->eta[i]);
        high = fmax(high, -s->eta[i]);
    }
    double spread = log((double)s->rows) + 1;
    low -= spread;
    high += spread;
    double log_c = 0.5 * (low + high);
    for (int i = 0; i < 200 && high - low > 1e-3; i++) {
        log_c = 0.5 * (low + high);
        coins(s, log_c, &expected);
        *(expected < (double)s->chosen ? &low : &high) = log_c;
    }
    *log_none = coins(s, log_c, &expected);
    return log_c;
}

/* Returns log B and fills pi by a forward pass, which stores P(S = j) of the rows before each, and a backward pass. */
static double choose_many(const set_rows *s) {
    size_t m = s->rows, d = s->chosen, width = d + 1;
    double log_none, log_c = fair_coins(s, &log_none);
    memset(s->behind, 0, width * sizeof *s->behind);
    s->behind[0] = 1;
    for (size_t i = 0; i < m; i++) {
        const double *from = s->behind + i * width;
        double *to = s->behind + (i + 1) * width, p = s->p[i];
        to[0] = from[0] * (1 - p);
        for (size_t j = 1; j <= d; j++)
            to[j] = from[j] * (1 - p) + from[j - 1] * p;
    }
    double all = s->behind[m * width + d];
    memset(s->ahead, 0, width * sizeof *s->ahead);
    s->ahead[0] = 1;
    for (size_t i = m; i-- > 0;) {
        const double *before = s->behind + i * width;
        double rest = 0, p = s->p[i];
        for (size_t j = 0; j < d; j++)
            rest += before[j] * s->ahead[d - 1 - j];
        s->pi[i] = fmin(p * rest / all, 1);
        for (size_t j = d; j > 0; j--)
            s->ahead[j] = s->ahead[j] * (1 - p) + s->ahead[j - 1] * p;
        s->ahead[0] *= 1 - p;
    }
    return log(all) - log_none - (double)d * log_c;
}

/* ---- all sets ---------------------------------------------------------------------------------------------------- */

static size_t chosen_of(size_t rows, size_t cases) {
    return cases <= rows - cases ? cases : rows - cases;
}

static double set_loss(const pv_full_loss *full, size_t set, const double *loglik, double *dloglik, double *room) {
    const pv__sets *sets = &full->sets;
    const size_t *row = sets->row + sets->first[set];
    size_t rows = sets->first[set + 1] - sets->first[set], cases = sets->cases[set], chosen = chosen_of(rows, cases);
    if (chosen == 0)
        return 0;
    set_rows s = rows_in(room, rows, chosen);
    bool swapped = chosen != cases; /* true: controls are the chosen rows */
    double sign = swapped ? -1 : 1, value = 0;
    for (size_t i = 0; i < rows; i++) {
        s.eta[i] = sign * (loglik[2 * row[i] + 1] - loglik[2 * row[i]]);
        if ((full->targets.label[row[i]] == 1) != swapped)
            value -= s.eta[i];
    }
    value += chosen == 1 ? choose_one(&s) : choose_many(&s);
    for (size_t i = 0; dloglik && i < rows; i++) {
        double y = (full->targets.label[row[i]] == 1) != swapped;
        dloglik[2 * row[i] + 1] = sign * (s.pi[i] - y);
        dloglik[2 * row[i]] = -sign * (s.pi[i] - y);
    }
    return value;
}

static pv_status eval(pv_ctx *ctx, pv_full_loss *full, const double *loglik, double *value, double *dloglik) {
    const pv__sets *sets = &full->sets;
    size_t chunks = (sets->count + SETS_CHUNK - 1) / SETS_CHUNK;
    if (dloglik)
        memset(dloglik, 0, full->targets.n * 2 * sizeof *dloglik);
    PV__EACH_CHUNK(ctx, chunks, c, {
        double sum = 0;
        for (size_t s = c * SETS_CHUNK; s < sets->count && s < (c + 1) * SETS_CHUNK; s++)
            sum += set_loss(full, s, loglik, dloglik, sets->room + sets->room_at[c]);
        sets->partial[c] = sum;
    });
    pv__part whole = pv__part_whole(chunks);
    pv__sum(ctx, &whole, 1, sets->partial, value);
    return pv__reduce_check(ctx);
}

/* Orders the rows by set and counts each set's cases. */
static pv_status order_rows(pv_ctx *ctx, pv_full_loss *full) {
    const pv_targets *t = &full->targets;
    pv__sets *sets = &full->sets;
    for (size_t n = 0; n < t->n; n++) {
        if (t->set[n] < 0)
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu: matched set %d; sets are numbered from 0", n + 1,
                            (int)t->set[n]);
        sets->count = (size_t)t->set[n] + 1 > sets->count ? (size_t)t->set[n] + 1 : sets->count;
    }
    PV_TRY(pv__alloc(ctx, sets->count + 1, sizeof *sets->first, &sets->first));
    PV_TRY(pv__alloc(ctx, sets->count, sizeof *sets->cases, &sets->cases));
    PV_TRY(pv__alloc(ctx, t->n, sizeof *sets->row, &sets->row));
    for (size_t n = 0; n < t->n; n++) {
        sets->first[t->set[n] + 1]++;
        sets->cases[t->set[n]] += t->label[n] == 1;
    }
    for (size_t s = 0; s < sets->count; s++)
        sets->first[s + 1] += sets->first[s];
    for (size_t n = 0; n < t->n; n++) /* first[s] advances through its set here; it is restored below */
        sets->row[sets->first[t->set[n]]++] = n;
    for (size_t s = sets->count; s > 0; s--)
        sets->first[s] = sets->first[s - 1];
    sets->first[0] = 0;
    return PV_OK;
}

static pv_status make_room(pv_ctx *ctx, pv__sets *sets) {
    size_t chunks = (sets->count + SETS_CHUNK - 1) / SETS_CHUNK, total = 0;
    PV_TRY(pv__alloc(ctx, chunks, sizeof *sets->partial, &sets->partial));
    PV_TRY(pv__alloc(ctx, chunks, sizeof *sets->room_at, &sets->room_at));
    for (size_t c = 0; c < chunks; c++) {
        size_t most = 0;
        for (size_t s = c * SETS_CHUNK; s < sets->count && s < (c + 1) * SETS_CHUNK; s++) {
            size_t rows = sets->first[s + 1] - sets->first[s];
            size_t room = room_of(rows, chosen_of(rows, sets->cases[s]));
            if (room > ROOM_MAX)
                return pv__fail(ctx, PV_ERR_INPUT,
                                "a matched set has %zu rows with %zu cases, too many to condition on. Check that "
                                "`matched` names the column of the sets; for large strata use `strata`",
                                rows, sets->cases[s]);
            most = room > most ? room : most;
        }
        sets->room_at[c] = total;
        total += most;
    }
    return pv__alloc(ctx, total, sizeof *sets->room, &sets->room);
}

static pv_status prepare(pv_ctx *ctx, pv_full_loss *full, const pv_prevalence *population, const double *mass) {
    (void)population, (void)mass;
    const pv_targets *t = &full->targets;
    if (!t->set)
        return pv__fail(ctx, PV_ERR_USAGE, "`loss=matched` needs `matched`: the column that identifies the sets");
    if (t->classes != 2 || !t->label || t->weight)
        return pv__fail(ctx, PV_ERR_USAGE, "matched sets are for two classes, without %s",
                        t->classes != 2 ? "a third"
                        : t->weight     ? "`weights`"
                                        : "soft labels");
    PV_TRY(order_rows(ctx, full));
    return make_room(ctx, &full->sets);
}

void pv__sets_clear(pv_ctx *ctx, pv__sets *sets) {
    pv__free(ctx, sets->first);
    pv__free(ctx, sets->cases);
    pv__free(ctx, sets->row);
    pv__free(ctx, sets->room_at);
    pv__free(ctx, sets->room);
    pv__free(ctx, sets->partial);
    *sets = (pv__sets){0};
}

static pv__form form(pv_marginal marginal, bool batches) {
    (void)marginal, (void)batches;
    return PV_FORM_JOINT;
}

const pv__loss_kind pv__loss_matched = {
    .name = "matched", .relative = true, .form = form, .prepare = prepare, .eval = eval};
