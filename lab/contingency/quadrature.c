/* Exact summaries of a posterior over (eta0, eta1), by the trapezium rule on a grid, and those of a Gaussian mixture.
 *
 * The grid is in d = eta1 - eta0 and m = (eta0 + eta1)/2, sheared and scaled by the posterior's own covariance:
 *     d = c_d + a z1,   m = c_m + b z1 + c z2,
 * so that sums over z2 give the density of the log odds ratio d at even steps. Its extent starts at ten standard
 * deviations of the prior and shrinks to where the density is above e^-DROP of its maximum. For smooth densities the
 * rule converges faster than any power of the step; with 301 points per side the error is far below that of Monte
 * Carlo.
 */
#include "prevail/prevail.h"
#include "lab/common/density.h"
#include "lab/contingency/contingency.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double study_quantile[STUDY_QUANTILES] = {0.05, 0.25, 0.5, 0.75, 0.95};

enum { COARSE = 97, FINE = STUDY_POINTS, PASSES_MAX = 20 };
static const double DROP = 32;

typedef struct frame {
    double cd, cm;          /* centre */
    double a, b, c;         /* d = cd + a z1, m = cm + b z1 + c z2 */
    double low[2], high[2]; /* extent in z */
} frame;

typedef struct grid {
    size_t side;
    double *value;    /* [side z1][side z2], -log density */
    double *marginal; /* the same, p(Y=1|w) */
    double least;
    double points; /* effective number of points */
    double mean[STUDY_MEASURES], sd[STUDY_MEASURES];
    double dm[2], dd, mm, cov; /* moments of d and m */
    double weight;             /* sum of exp(least - value) */
    double mean_marginal;
} grid;

static double node(const frame *f, int axis, size_t i, size_t side) {
    return f->low[axis] + (f->high[axis] - f->low[axis]) * (double)i / (double)(side - 1);
}

static void place(const frame *f, double z1, double z2, double *d, double *m) {
    *d = f->cd + f->a * z1;
    *m = f->cm + f->b * z1 + f->c * z2;
}

static void moments(const frame *f, grid *g) {
    double sum = 0, square = 0, total[STUDY_MEASURES + 1] = {0}, squares[STUDY_MEASURES] = {0}, mm = 0, cov = 0, md = 0;
    size_t n = g->side;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double d, m, w = exp(g->least - g->value[i * n + j]);
            if (!(w > 0))
                continue;
            place(f, node(f, 0, i, n), node(f, 1, j, n), &d, &m);
            /* About the centre of the frame, to preserve digits of the variance. */
            const double at[] = {d - f->cd, m - d / 2 - f->cm, m + d / 2 - f->cm};
            sum += w;
            square += w * w;
            for (int k = 0; k < STUDY_MEASURES; k++) {
                total[k] += w * at[k];
                squares[k] += w * at[k] * at[k];
            }
            md += w * (m - f->cm);
            mm += w * (m - f->cm) * (m - f->cm);
            cov += w * (m - f->cm) * at[0];
            total[STUDY_MEASURES] += w * g->marginal[i * n + j];
        }
    for (int k = 0; k < STUDY_MEASURES; k++) {
        double mean = total[k] / sum;
        g->mean[k] = mean + (k == STUDY_LOR ? f->cd : f->cm);
        g->sd[k] = sqrt(fmax(squares[k] / sum - mean * mean, 0));
    }
    md /= sum;
    g->dm[0] = g->mean[STUDY_LOR];
    g->dm[1] = f->cm + md;
    g->dd = g->sd[STUDY_LOR] * g->sd[STUDY_LOR];
    g->mm = fmax(mm / sum - md * md, 0);
    g->cov = cov / sum - md * (g->mean[STUDY_LOR] - f->cd);
    g->weight = sum;
    g->points = sum * sum / square;
    g->mean_marginal = total[STUDY_MEASURES] / sum;
}

static pv_status fill(pv_ctx *ctx, const pv_density *density, const frame *f, grid *g) {
    size_t n = g->side;
    g->least = HUGE_VAL;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            size_t j =
                i % 2 ? n - 1 - k : k; /* alternates direction, so that the profile starts from the last solution */
            double d, m;
            place(f, node(f, 0, i, n), node(f, 1, j, n), &d, &m);
            const double eta[] = {m - d / 2, m + d / 2};
            pv_status status = study_density_value(ctx, density, eta, &g->value[i * n + j], &g->marginal[i * n + j]);
            /* A dozen standard deviations out in the prior the profile may have no solution in double precision. That
             * does not matter on the coarse grid, which only locates the mass. */
            if (status == PV_ERR_NUMERIC && n == COARSE)
                g->value[i * n + j] = HUGE_VAL;
            else if (status != PV_OK)
                return status;
            g->least = fmin(g->least, g->value[i * n + j]);
        }
    moments(f, g);
    return PV_OK;
}

/* The frame of the next grid: scaled by the moments once there are enough effective points, and no larger than
 * needed. */
static frame next_frame(const frame *f, const grid *g, double mode_d, double mode_m) {
    frame out = *f;
    if (g->points > 30) {
        out.cd = g->dm[0];
        out.cm = g->dm[1];
        out.a = sqrt(g->dd);
        out.b = g->cov / out.a;
        out.c = sqrt(fmax(g->mm - out.b * out.b, 1e-12 * g->mm));
    }
    double z1 = (mode_d - out.cd) / out.a;
    out.low[0] = out.high[0] = z1;
    out.low[1] = out.high[1] = (mode_m - out.cm - out.b * z1) / out.c;
    size_t n = g->side;
    double h1 = (f->high[0] - f->low[0]) / (double)(n - 1), h2 = (f->high[1] - f->low[1]) / (double)(n - 1);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            if (!(g->value[i * n + j] < g->least + DROP))
                continue;
            for (int corner = 0; corner < 4; corner++) { /* one cell further out */
                double d, m;
                place(f, node(f, 0, i, n) + (corner & 1 ? h1 : -h1), node(f, 1, j, n) + (corner & 2 ? h2 : -h2), &d,
                      &m);
                double z[2] = {(d - out.cd) / out.a, 0};
                z[1] = (m - out.cm - out.b * z[0]) / out.c;
                for (int k = 0; k < 2; k++) {
                    out.low[k] = fmin(out.low[k], z[k]);
                    out.high[k] = fmax(out.high[k], z[k]);
                }
            }
        }
    return out;
}

/* Whether the next frame is neither much smaller nor of another shape. */
static bool settled(const frame *f, const frame *next, const grid *g) {
    if (g->points <= 30)
        return false;
    double before = (f->high[0] - f->low[0]) * f->a, after = (next->high[0] - next->low[0]) * next->a;
    double wide = (f->high[1] - f->low[1]) * f->c, narrow = (next->high[1] - next->low[1]) * next->c;
    return after > 0.8 * before && narrow > 0.8 * wide;
}

/* Density of d on the grid, and its quantiles from the integral, corrected at the ends of each step by the slopes. */
static void marginalise(const frame *f, const grid *g, study_exact *out) {
    size_t n = g->side;
    double *cdf = cli_alloc(n, sizeof *cdf), h = f->a * (f->high[0] - f->low[0]) / (double)(n - 1);
    for (size_t i = 0; i < n; i++) {
        out->lor[i] = f->cd + f->a * node(f, 0, i, n);
        for (size_t j = 0; j < n; j++)
            out->density[i] += exp(g->least - g->value[i * n + j]) / (g->weight * h);
    }
    for (size_t i = 1; i < n; i++) {
        const double *y = out->density;
        double before = i > 1 ? (y[i] - y[i - 2]) / 2 : 0, after = i + 1 < n ? (y[i + 1] - y[i - 1]) / 2 : 0;
        cdf[i] = cdf[i - 1] + h * ((y[i - 1] + y[i]) / 2 - (after - before) / 12);
    }
    size_t i = 1;
    for (int q = 0; q < STUDY_QUANTILES; q++) {
        while (i + 1 < n && cdf[i] < study_quantile[q])
            i++;
        /* Linear density between two nodes: y0 t + (y1 - y0) t^2/2 = the missing mass. */
        double y0 = out->density[i - 1], y1 = out->density[i], missing = (study_quantile[q] - cdf[i - 1]) / h;
        double t = 2 * missing / (y0 + sqrt(fmax(y0 * y0 + 2 * (y1 - y0) * missing, 0)));
        out->numbers.quantile[q] = out->lor[i - 1] + h * t;
    }
    free(cdf);
}

pv_status study_integrate(pv_ctx *ctx, const pv_density *density, study_exact *out) {
    *out = (study_exact){.log_evidence = 0};
    double mode[2] = {0, 0};
    grid g = {.side = COARSE};
    g.value = cli_alloc(FINE * FINE, sizeof(double));
    g.marginal = cli_alloc(FINE * FINE, sizeof(double));
    frame f = {.a = 1, .c = 1, .low = {-140, -70}, .high = {140, 70}};
    pv_status status = study_density_mode(ctx, density, mode);
    double mode_d = mode[1] - mode[0], mode_m = (mode[0] + mode[1]) / 2;
    for (int pass = 0; pass < PASSES_MAX && status == PV_OK; pass++) {
        status = fill(ctx, density, &f, &g);
        if (status != PV_OK)
            break;
        frame next = next_frame(&f, &g, mode_d, mode_m);
        bool last = settled(&f, &next, &g);
        f = next;
        if (last)
            break;
    }
    g.side = FINE;
    if (status == PV_OK)
        status = fill(ctx, density, &f, &g);
    if (status == PV_OK) {
        memcpy(out->numbers.mean, g.mean, sizeof g.mean);
        memcpy(out->numbers.sd, g.sd, sizeof g.sd);
        out->numbers.marginal = g.mean_marginal;
        double cell = f.a * f.c * (f.high[0] - f.low[0]) * (f.high[1] - f.low[1]) / ((FINE - 1.0) * (FINE - 1.0));
        out->log_evidence =
            log(g.weight) - g.least + log(cell); /* d and m have the same area element as eta0 and eta1 */
        marginalise(&f, &g, out);
    }
    free(g.value);
    free(g.marginal);
    return status;
}

/* ---- a Gaussian mixture ------------------------------------------------------------------------------------------ */

/* Mean and standard deviation of a linear function of one component. */
static void project(const pv_mixture *mixture, size_t k, const double along[2], double *mean, double *sd) {
    const double *l = mixture->factor + 4 * k, *m = mixture->mean + 2 * k;
    double first = along[0] * l[0] + along[1] * l[2], second = along[1] * l[3];
    *mean = along[0] * m[0] + along[1] * m[1];
    *sd = sqrt(first * first + second * second);
}

static const double directions[STUDY_MEASURES][2] = {{-1, 1}, {1, 0}, {0, 1}};

static double lor_cdf(const pv_mixture *mixture, double lor) {
    double sum = 0;
    for (size_t k = 0; k < mixture->components; k++) {
        double mean, sd;
        project(mixture, k, directions[STUDY_LOR], &mean, &sd);
        sum += mixture->weight[k] * pv_normal_cdf((lor - mean) / sd);
    }
    return sum;
}

double study_mixture_lor_density(const pv_mixture *mixture, double lor) {
    double sum = 0;
    for (size_t k = 0; k < mixture->components; k++) {
        double mean, sd;
        project(mixture, k, directions[STUDY_LOR], &mean, &sd);
        double z = (lor - mean) / sd;
        sum += mixture->weight[k] * exp(-0.5 * z * z) / (sd * sqrt(2 * M_PI));
    }
    return sum;
}

void study_mixture_numbers(const pv_mixture *mixture, study_numbers *out) {
    *out = (study_numbers){0};
    for (int i = 0; i < STUDY_MEASURES; i++) {
        double square = 0;
        for (size_t k = 0; k < mixture->components; k++) {
            double mean, sd;
            project(mixture, k, directions[i], &mean, &sd);
            out->mean[i] += mixture->weight[k] * mean;
            square += mixture->weight[k] * (mean * mean + sd * sd);
        }
        out->sd[i] = sqrt(fmax(square - out->mean[i] * out->mean[i], 0));
    }
    for (int q = 0; q < STUDY_QUANTILES; q++) {
        double low = out->mean[STUDY_LOR] - 100 * out->sd[STUDY_LOR];
        double high = out->mean[STUDY_LOR] + 100 * out->sd[STUDY_LOR];
        for (int step = 0; step < 80; step++) {
            double middle = 0.5 * (low + high);
            if (lor_cdf(mixture, middle) < study_quantile[q])
                low = middle;
            else
                high = middle;
        }
        out->quantile[q] = 0.5 * (low + high);
    }
}
