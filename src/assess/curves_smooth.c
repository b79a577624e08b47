/* The smooth calibration curve: the proportion of positives as a function of the predicted probability.
 *
 * At each x = logit p of a grid, local logistic regression (Fan, Heckman and Wand 1995): a and b maximise
 *
 *   sum_i K(|x_i - x| / h) [n1_i log s_i + n0_i log(1 - s_i)] - (b - 1)^2 / 2,    s_i = sigmoid(a + b (x_i - x))
 *
 * with Cleveland's tricube kernel K; h is the distance that includes two thirds of the rows, and at least 10 of each
 * label. The curve is a, converted to the stated population by the ratio of the two labels' weights, which is valid by
 * Prentice and Pyke. Calibrated probabilities give a straight line on these scales, for which the estimate has no
 * smoothing bias at any h. The penalty on b is negligible where there are rows, and keeps the slope finite where labels
 * do not overlap. The band is pointwise, from the normal distribution of a with the sandwich variance of the kernel
 * sums.
 *
 * If there are more rows than CELLS, they are gathered into CELLS cells of neighbouring probabilities.
 */
#include "curves.h"

#include <math.h>

enum { CELLS = 500, GRID = 100, FEWEST = 10, STEPS = 60 };
static const double SPAN = 2.0 / 3;

typedef struct cell {
    double x; /* mean of logit p */
    double positive, negative;
} cell;

/* A local fit: the cells from begin to end, with bandwidth h around x. */
typedef struct window {
    const cell *cell;
    size_t begin, end;
    double x, h;
} window;

/* Gathers cells from the lowest probability up. Probabilities of 0 and 1 are left out because their logits are
 * infinite. */
static size_t gather(const pv_ranking *ranking, cell *cells) {
    size_t n = 0, last = ranking->points - 1;
    double most = (ranking->tp[last] + ranking->fp[last]) / CELLS, rows = 0;
    for (size_t i = ranking->points; i-- > 0;) {
        double p = ranking->tp[i] - (i > 0 ? ranking->tp[i - 1] : 0);
        double q = ranking->fp[i] - (i > 0 ? ranking->fp[i - 1] : 0);
        if (!isfinite(ranking->log_odds[i]) || !(p + q > 0))
            continue;
        bool fresh = n == 0 || rows + p + q > most || ranking->points <= CELLS;
        if (fresh) {
            cells[n++] = (cell){0};
            rows = 0;
        }
        cell *c = &cells[n - 1];
        rows += p + q;
        c->x += (ranking->log_odds[i] - c->x) * (p + q) / rows;
        c->positive += p;
        c->negative += q;
    }
    return n;
}

/* The smallest window around x with enough rows. */
static window find_window(const cell *cells, size_t n, double x, double rows, double positive, double negative) {
    window w = {.cell = cells, .x = x};
    while (w.begin < n && cells[w.begin].x < x)
        w.begin++;
    w.end = w.begin;
    double p = 0, q = 0;
    while (w.end - w.begin < n && (p + q < rows || p < positive || q < negative)) {
        bool right = w.begin == 0 || (w.end < n && cells[w.end].x - x <= x - cells[w.begin - 1].x);
        const cell *next = &cells[right ? w.end++ : --w.begin];
        p += next->positive;
        q += next->negative;
        w.h = fmax(w.h, fabs(next->x - x));
    }
    w.h = w.h > 0 ? 1.1 * w.h : 1; /* gives the farthest cells a positive weight */
    return w;
}

static double tricube(const window *w, const cell *c) {
    double u = fabs(c->x - w->x) / w->h, v = 1 - u * u * u;
    return u < 1 ? v * v * v : 0;
}

/* The objective at a, b; its gradient; the information, with weights K and K^2. */
typedef struct sums {
    double value, da, db;
    double aa, ab, bb, square_aa, square_ab, square_bb;
} sums;

static sums add_up(const window *w, double a, double b) {
    sums s = {.value = -(b - 1) * (b - 1) / 2, .db = 1 - b, .bb = 1};
    for (size_t i = w->begin; i < w->end; i++) {
        const cell *c = &w->cell[i];
        double k = tricube(w, c), z = c->x - w->x, eta = a + b * z, share = pv_sigmoid(eta);
        double rows = c->positive + c->negative, rest = k * (c->positive - rows * share);
        double spread = k * rows * share * (1 - share);
        s.value += k * (c->positive * pv_log_sigmoid(eta) + c->negative * pv_log_sigmoid(-eta));
        s.da += rest;
        s.db += rest * z;
        s.aa += spread;
        s.ab += spread * z;
        s.bb += spread * z * z;
        s.square_aa += k * spread;
        s.square_ab += k * spread * z;
        s.square_bb += k * spread * z * z;
    }
    return s;
}

/* Newton's method with step halving; the objective is concave. Returns a, and *sd, its standard deviation. */
static double fit_local(const window *w, double *sd) {
    double a = w->x, b = 1;
    sums at = add_up(w, a, b);
    for (int step = 0; step < STEPS; step++) {
        double det = at.aa * at.bb - at.ab * at.ab;
        double da = (at.bb * at.da - at.ab * at.db) / det, db = (at.aa * at.db - at.ab * at.da) / det, size = 1;
        if (!isfinite(da) || !isfinite(db)) { /* all proportions round to 0 or 1 */
            da = at.da > 0 ? 1 : -1;
            db = 0;
        }
        bool close = fabs(da) + fabs(db) <
                     1e-3; /* rounding would hide an increase this close to the maximum, where full steps are safe */
        sums next = add_up(w, a + da, b + db);
        while (!close && !(next.value >= at.value) && size > 1e-6) {
            size /= 2;
            next = add_up(w, a + size * da, b + size * db);
        }
        if (!close && !(next.value >= at.value))
            break;
        a += size * da;
        b += size * db;
        at = next;
        if (fabs(da) + fabs(db) < 1e-9)
            break;
    }
    double det = at.aa * at.bb - at.ab * at.ab, u = at.bb / det,
           v = -at.ab / det; /* first row of the inverse information */
    *sd = sqrt(fmax(u * u * at.square_aa + 2 * u * v * at.square_ab + v * v * at.square_bb, 0));
    return a;
}

pv_status pv__curve_smooth(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options, pv_curve *curve) {
    double z = pv_normal_quantile(0.5 + 0.5 * options->level);
    size_t room = ranking->points < CELLS ? ranking->points : CELLS;
    cell *cells;
    PV_TRY(pv__alloc(ctx, 2 * room + 1, sizeof *cells,
                     &cells)); /* a cell can have less than its share, but no two neighbours can */
    bool both = ranking->rows_p > 0 && ranking->rows_n > 0;
    size_t n = both ? gather(ranking, cells) : 0;
    double rows = 0, positive = 0, negative = 0;
    for (size_t i = 0; i < n; i++) {
        positive += cells[i].positive;
        negative += cells[i].negative;
    }
    both = n > 1 && positive > 0 && negative > 0;
    rows = SPAN * (positive + negative);
    pv_status status = PV__SHAPE(ctx, both ? GRID : 0, curve, "p", "observed", "observed_lo", "observed_hi");
    double move = both ? log(ranking->weight_p / ranking->weight_n) : 0, *to = curve->value;
    for (int i = 0; both && status == PV_OK && i < GRID; i++) {
        double sd, x = cells[0].x + (cells[n - 1].x - cells[0].x) * i / (GRID - 1);
        window w = find_window(cells, n, x, rows, fmin(FEWEST, positive), fmin(FEWEST, negative));
        double a = fit_local(&w, &sd) + move;
        *to++ = pv_sigmoid(x);
        *to++ = pv_sigmoid(a);
        *to++ = pv_sigmoid(a - z * sd);
        *to++ = pv_sigmoid(a + z * sd);
    }
    pv__free(ctx, cells);
    return status;
}
