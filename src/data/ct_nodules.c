/* Simulated CT nodules with a known true risk.
 *
 * Population of nodules; features are independent (each U is a separate uniform on (0,1)):
 *   diameter d     log-normal, median 8 mm, sigma 0.55, within 3 to 30 mm
 *   density        solid 0.75, part-solid 0.10, ground glass 0.15
 *   margin         m = 1 - U^2 (1: sharp)
 *   spiculation    s = U^3
 *   lobulation     l = U^3
 * Malignancy:
 *   logit p(malignant | x) = b + z(x)
 *   z(x) = 4 log(d / 8 mm) + [part-solid] - 0.7 [ground glass] - 2 m + 4 s + 2 l
 * b makes E p(malignant | x) equal to the given prevalence, by quadrature over the features. Rows are selected by
 * label: p(x|y) is that of the population for any label counts of the sample.
 *
 * Reader r of four perceives z(x) + bias_r + spread_r e, e ~ N(0,1), and gives 1 plus the number of thresholds below
 * that. Votes depend on the label through the features alone. Each vote is absent (0) with the given probability; if
 * all four would be absent, one reader, drawn uniformly, still votes.
 *
 * Patients have 1 to 8 nodules (geometric, mean about 2.2). What a patient's patches share (scanner, noise, lung
 * density) is independent of the features, so p(malignant | x) is the best score that any classifier of the images can
 * reach.
 */
#include <math.h>
#include <string.h>

#include "base/openmp.h"
#include "data/archive.h"
#include "data/ct.h"

enum {
    READERS = 4,
    GRADES = 5,
    PATIENT_MAX = 8,
    BLOCK = 64 /* patches between two checks for interruption */
};

static const double diameter_median = 8, diameter_sigma = 0.55, diameter_low = 3, diameter_high = 30; /* mm */
static const double density_share[PV_CT_DENSITIES] = {0.75, 0.10, 0.15};

enum { LOG_DIAMETER, PART_SOLID, GROUND_GLASS, MARGIN, SPICULATION, LOBULATION };
static const double slope[] = {4, 1, -0.7, -2, 4, 2};
static const char *const coefficient_name[PV_CT_COEFFICIENTS] = {
    "(Intercept)", "log(diameter/8)", "part_solid", "ground_glass", "margin", "spiculation", "lobulation"};

static const double threshold[GRADES - 1] = {-4.2, -0.9, 1.9, 3.5};
static const double bias[READERS] = {-0.6, -0.2, 0.2, 0.6}, spread[READERS] = {1.3, 1.5, 1.7, 1.9};
static const double more_nodules = 0.56; /* probability of one more nodule in a patient */

const char *pv_ct_coefficient(int index) {
    return index >= 0 && index < PV_CT_COEFFICIENTS ? coefficient_name[index] : NULL;
}

static double score(const pv__ct_nodule *x) {
    return slope[LOG_DIAMETER] * log(x->diameter / diameter_median) +
           slope[PART_SOLID] * (x->density == PV_CT_PART_SOLID) +
           slope[GROUND_GLASS] * (x->density == PV_CT_GROUND_GLASS) + slope[MARGIN] * x->margin +
           slope[SPICULATION] * x->spiculation + slope[LOBULATION] * x->lobulation;
}

/* ---- the intercept ----------------------------------------------------------------------------------------------- */

enum { NODES = 32, FEW = 10, POINTS = PV_CT_DENSITIES * NODES * FEW * FEW * FEW };

static void quadrature(double *z, double *mass) {
    double log_d[NODES], d_weight[NODES], u[FEW], weight[FEW], total = 0;
    pv__gauss_legendre(NODES, log(diameter_low), log(diameter_high), log_d, d_weight);
    pv__gauss_legendre(FEW, 0, 1, u, weight);
    for (int k = 0; k < POINTS; k++) {
        int i = k % FEW, j = k / FEW % FEW, l = k / (FEW * FEW) % FEW, d = k / (FEW * FEW * FEW) % NODES;
        pv__ct_nodule x = {.diameter = exp(log_d[d]),
                           .density = (pv__ct_density)(k / (FEW * FEW * FEW * NODES)),
                           .margin = 1 - u[i] * u[i],
                           .spiculation = u[j] * u[j] * u[j],
                           .lobulation = u[l] * u[l] * u[l]};
        double from_median = (log_d[d] - log(diameter_median)) / diameter_sigma;
        mass[k] = density_share[x.density] * d_weight[d] * exp(-0.5 * from_median * from_median) * weight[i] *
                  weight[j] * weight[l];
        z[k] = score(&x);
        total += mass[k];
    }
    for (int k = 0; k < POINTS; k++)
        mass[k] /= total;
}

static pv_status find_intercept(pv_ctx *ctx, double prevalence, double *intercept) {
    double *z = NULL, *mass = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, POINTS, sizeof *z, &z));
    PV_GOTO(done, pv__alloc(ctx, POINTS, sizeof *mass, &mass));
    quadrature(z, mass);
    *intercept = pv__solve_intercept(POINTS, z, mass, prevalence);
done:
    pv__free(ctx, z);
    pv__free(ctx, mass);
    return status;
}

/* ---- one nodule -------------------------------------------------------------------------------------------------- */

static void draw_features(pv_rng *rng, pv__ct_nodule *x) {
    do
        x->diameter = diameter_median * exp(diameter_sigma * pv_rng_normal(rng));
    while (x->diameter < diameter_low || x->diameter > diameter_high);
    double kind = pv_rng_uniform(rng), u = pv_rng_uniform(rng), v = pv_rng_uniform(rng), w = pv_rng_uniform(rng);
    x->density = kind < density_share[PV_CT_SOLID]                                     ? PV_CT_SOLID
                 : kind < density_share[PV_CT_SOLID] + density_share[PV_CT_PART_SOLID] ? PV_CT_PART_SOLID
                                                                                       : PV_CT_GROUND_GLASS;
    x->margin = 1 - u * u;
    x->spiculation = v * v * v;
    x->lobulation = w * w * w;
}

/* label -1: drawn together with the features; otherwise by rejection. Returns the label. */
static int draw_nodule(double intercept, pv_rng *rng, int label, pv__ct_nodule *x) {
    const pv__ct_nodule least = {diameter_low, PV_CT_GROUND_GLASS, 1, 0, 0};
    const pv__ct_nodule most = {diameter_high, PV_CT_PART_SOLID, 0, 1, 1};
    double sign = label == 0 ? -1 : 1, top = 1;
    if (label >= 0)
        top = pv_sigmoid(sign * (intercept + score(label == 0 ? &least : &most)));
    for (;;) {
        draw_features(rng, x);
        bool accept = pv_rng_uniform(rng) * top < pv_sigmoid(sign * (intercept + score(x)));
        if (label < 0)
            return accept;
        if (accept)
            return label;
    }
}

static void draw_votes(pv_rng *rng, double z, double absent, uint8_t *vote) {
    int given = 0;
    for (int r = 0; r < READERS; r++) {
        double seen = z + bias[r] + spread[r] * pv_rng_normal(rng);
        int grade = 1;
        for (int k = 0; k < GRADES - 1; k++)
            grade += seen > threshold[k];
        vote[r] = (uint8_t)grade;
    }
    size_t always = pv_rng_below(rng, READERS);
    bool missing[READERS];
    for (int r = 0; r < READERS; r++) {
        missing[r] = pv_rng_uniform(rng) < absent;
        given += !missing[r];
    }
    for (int r = 0; r < READERS; r++)
        if (missing[r] && (given > 0 || (size_t)r != always))
            vote[r] = 0;
}

/* Expected frequencies of the grades, over readers: share [GRADES]. */
static void expect_votes(double z, double *share) {
    for (int k = 0; k < GRADES; k++) {
        share[k] = 0;
        for (int r = 0; r < READERS; r++) {
            double below = k < GRADES - 1 ? 0.5 * erfc((z + bias[r] - threshold[k]) / (spread[r] * sqrt(2))) : 1;
            double before = k > 0 ? 0.5 * erfc((z + bias[r] - threshold[k - 1]) / (spread[r] * sqrt(2))) : 0;
            share[k] += (below - before) / READERS;
        }
    }
}

/* ---- patients ---------------------------------------------------------------------------------------------------- */

static size_t patient_size(uint64_t seed, int32_t patient) {
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_CT_PATIENT, (uint64_t)patient);
    size_t n = 1;
    while (n < PATIENT_MAX && pv_rng_uniform(&rng) < more_nodules)
        n++;
    return n;
}

static double drawn(pv_rng *rng, double low, double high) {
    return low + (high - low) * pv_rng_uniform(rng);
}

static pv__ct_scanner patient_scanner(uint64_t seed, int32_t patient) {
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_CT_PATIENT, (uint64_t)patient | (uint64_t)1 << 40);
    pv__ct_scanner s = {.lung = -860 + 25 * pv_rng_normal(&rng)};
    s.noise = drawn(&rng, 15, 32);
    s.blur[0] = drawn(&rng, 0.55, 0.95);
    s.blur[1] = s.blur[2] = drawn(&rng, 0.4, 0.7);
    s.grain[0] = drawn(&rng, 0.8, 1.1);
    s.grain[1] = s.grain[2] = drawn(&rng, 0.6, 0.8);
    s.contrast = drawn(&rng, 20, 120);
    return s;
}

/* ---- the data set ------------------------------------------------------------------------------------------------ */

typedef struct draws {
    const pv_simulation *simulation;
    size_t rows, size;
    double intercept;
    uint8_t *label, *vote; /* [rows], [rows][READERS] */
    int32_t *group;
    uint8_t *density;
    double *diameter, *margin, *spiculation, *lobulation, *probability, *grades;
    float *spacing; /* [rows][3] */
} draws;

static pv_status add_arrays(pv_ctx *ctx, pv_archive *archive, draws *d) {
    const struct {
        const char *name;
        pv_array_type type;
        size_t width; /* 0: [rows] */
        void *bytes;
    } arrays[] = {{"labels", PV_ARRAY_U8, 0, &d->label},
                  {"votes", PV_ARRAY_U8, READERS, &d->vote},
                  {"group", PV_ARRAY_I32, 0, &d->group},
                  {"spacing", PV_ARRAY_F32, 3, &d->spacing},
                  {"probability", PV_ARRAY_F64, 0, &d->probability},
                  {"grade_probability", PV_ARRAY_F64, GRADES, &d->grades},
                  {"diameter", PV_ARRAY_F64, 0, &d->diameter},
                  {"density", PV_ARRAY_U8, 0, &d->density},
                  {"margin", PV_ARRAY_F64, 0, &d->margin},
                  {"spiculation", PV_ARRAY_F64, 0, &d->spiculation},
                  {"lobulation", PV_ARRAY_F64, 0, &d->lobulation}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        const size_t shape[] = {d->rows, arrays[i].width};
        PV_TRY(pv_archive_add(ctx, archive, arrays[i].name, arrays[i].type, arrays[i].width ? 2 : 1, shape,
                              arrays[i].bytes));
    }
    return PV_OK;
}

/* A patient's rows are consecutive. */
static void draw_groups(draws *d) {
    int32_t patient = 0;
    for (size_t row = 0; row < d->rows; patient++)
        for (size_t left = patient_size(d->simulation->seed, patient); left > 0 && row < d->rows; left--)
            d->group[row++] = patient;
}

/* By design: a given number of each label, in random order; otherwise the label is drawn with the features. */
static pv_status draw_order(pv_ctx *ctx, draws *d) {
    size_t *order;
    PV_TRY(pv__alloc(ctx, d->rows, sizeof *order, &order));
    for (size_t i = 0; i < d->rows; i++)
        order[i] = i;
    pv_rng rng = pv_rng_stream(d->simulation->seed, PV_STREAM_CT_ORDER, 0);
    pv_rng_shuffle(&rng, d->rows, order);
    for (size_t i = 0; i < (size_t)d->simulation->cases; i++)
        d->label[order[i]] = 1;
    pv__free(ctx, order);
    return PV_OK;
}

static void draw_row(draws *d, size_t row, bool by_design) {
    const pv_simulation *s = d->simulation;
    pv_rng rng = pv_rng_stream(s->seed, PV_STREAM_CT_NODULE, row);
    pv_rng votes = pv_rng_stream(s->seed, PV_STREAM_CT_VOTES, row);
    pv__ct_nodule x;
    d->label[row] = (uint8_t)draw_nodule(d->intercept, &rng, by_design ? d->label[row] : -1, &x);
    d->diameter[row] = x.diameter;
    d->density[row] = (uint8_t)x.density;
    d->margin[row] = x.margin;
    d->spiculation[row] = x.spiculation;
    d->lobulation[row] = x.lobulation;
    d->probability[row] = pv_sigmoid(d->intercept + score(&x));
    draw_votes(&votes, score(&x), s->absent, d->vote + READERS * row);
    expect_votes(score(&x), d->grades + GRADES * row);
    for (int axis = 0; axis < 3; axis++)
        d->spacing[3 * row + (size_t)axis] = 1;
}

static pv_status draw_all(pv_ctx *ctx, const pv_simulation *s, pv_archive *archive, draws *d, double *truth) {
    bool by_design;
    PV_TRY(pv__simulation_check(ctx, s, &by_design, &d->rows));
    if (s->size < 16 || s->size > PV_CT_SIZE_MAX)
        return pv__fail(ctx, PV_ERR_USAGE, "`size=%lld` is outside 16 to %d", (long long)s->size, (int)PV_CT_SIZE_MAX);
    if (!(s->absent >= 0 && s->absent <= 1))
        return pv__fail(ctx, PV_ERR_USAGE, "`absent=%g` is outside 0 to 1", s->absent);
    if (s->within)
        return pv__fail(ctx, PV_ERR_USAGE, "ct-nodules do not support `within`: they are selected by label");
    d->simulation = s;
    d->size = (size_t)s->size;
    PV_TRY(find_intercept(ctx, s->prevalence, &d->intercept));
    PV_TRY(add_arrays(ctx, archive, d));
    if (by_design)
        PV_TRY(draw_order(ctx, d));
    draw_groups(d);
#pragma omp parallel for num_threads(pv__threads_for(ctx, d->rows)) schedule(dynamic, 16)
    for (size_t row = 0; row < d->rows; row++)
        draw_row(d, row, by_design);
    if (truth) {
        truth[0] = d->intercept;
        memcpy(truth + 1, slope, sizeof slope);
    }
    return PV_OK;
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

typedef struct painter {
    const draws *draws;
    int threads;
    float *work; /* [threads][pv__ct_work] */
    double began;
} painter;

/* Renders rows first .. first+n-1 into hu [n][size][size][size]. */
static void paint(const painter *p, size_t first, size_t n, int16_t *hu) {
    const draws *d = p->draws;
    uint64_t seed = d->simulation->seed;
    size_t voxels = d->size * d->size * d->size, room = pv__ct_work(d->size);
#pragma omp parallel for num_threads(pv_threads_ready(p->threads)) schedule(dynamic)
    for (size_t i = 0; i < n; i++) {
        size_t row = first + i,
               slot = p->threads > 1 ? (size_t)omp_get_thread_num() : 0; /* may already run in a team */
        pv__ct_nodule x = {d->diameter[row], (pv__ct_density)d->density[row], d->margin[row], d->spiculation[row],
                           d->lobulation[row]};
        pv__ct_scanner scanner = patient_scanner(seed, d->group[row]);
        pv__ct_render(&x, &scanner, pv_rng_stream(seed, PV_STREAM_CT_IMAGE, row), d->size, p->work + slot * room,
                      hu + i * voxels);
    }
}

/* Renders all rows in blocks: into hu or, if that is NULL, through a buffer into npz. */
static pv_status paint_all(pv_ctx *ctx, const draws *d, int16_t *hu, pv__npz *npz) {
    size_t voxels = d->size * d->size * d->size;
    painter p = {.draws = d, .threads = pv_ctx_threads(ctx), .began = pv__seconds()};
    int16_t *buffer = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, (size_t)p.threads, pv__ct_work(d->size) * sizeof *p.work, &p.work));
    if (!hu)
        PV_GOTO(done, pv__alloc(ctx, BLOCK, voxels * sizeof *buffer, &buffer));
    for (size_t row = 0; row < d->rows; row += BLOCK) {
        size_t n = d->rows - row < BLOCK ? d->rows - row : BLOCK;
        paint(&p, row, n, hu ? hu + row * voxels : buffer);
        if (!hu)
            PV_GOTO(done, pv__npz_put(npz, buffer, n * voxels * sizeof *buffer));
        pv_progress progress = {.what = "simulate",
                                .step = row + n,
                                .steps = d->rows,
                                .value = (double)NAN,
                                .seconds = pv__seconds() - p.began};
        pv__progress(ctx, &progress);
        if (pv__interrupted(ctx)) {
            status = pv__fail(ctx, PV_ERR_INTERRUPTED, "the simulation was interrupted");
            goto done;
        }
    }
done:
    pv__free(ctx, p.work);
    pv__free(ctx, buffer);
    return status;
}

static pv_array describe_images(const draws *d) {
    pv_array a = {.name = "images", .type = PV_ARRAY_I16, .element = sizeof(int16_t), .dims = 4, .shape = {d->rows}};
    for (int i = 1; i < a.dims; i++)
        a.shape[i] = d->size;
    a.count = d->rows * d->size * d->size * d->size;
    return a;
}

pv_status pv_simulate_ct(pv_ctx *ctx, const pv_simulation *simulation, pv_archive **archive, double *truth) {
    *archive = NULL;
    pv_archive *made;
    draws d = {0};
    int16_t *hu;
    PV_TRY(pv_archive_new(ctx, "simulated ct-nodules", &made));
    pv_status status;
    PV_GOTO(fail, draw_all(ctx, simulation, made, &d, truth));
    pv_array a = describe_images(&d);
    PV_GOTO(fail, pv_archive_add(ctx, made, a.name, a.type, a.dims, a.shape, &hu));
    PV_GOTO(fail, paint_all(ctx, &d, hu, NULL));
    *archive = made;
    return PV_OK;
fail:
    pv_archive_free(ctx, made);
    return status;
}

pv_status pv_simulate_ct_write(pv_ctx *ctx, const pv_simulation *simulation, const char *path, double *truth) {
    pv_archive *made;
    draws d = {0};
    pv__npz npz = {.ctx = ctx};
    PV_TRY(pv_archive_new(ctx, "simulated ct-nodules", &made));
    pv_status status;
    PV_GOTO(done, draw_all(ctx, simulation, made, &d, truth));
    PV_GOTO(done, pv__npz_open(ctx, path, &npz));
    PV_GOTO(done, pv__npz_archive(&npz, made));
    pv_array a = describe_images(&d);
    PV_GOTO(done, pv__npz_begin(&npz, &a));
    PV_GOTO(done, paint_all(ctx, &d, NULL, &npz));
    PV_GOTO(done, pv__npz_end(&npz));
    status = pv__npz_commit(&npz);
done:
    pv__npz_discard(&npz);
    pv_archive_free(ctx, made);
    return status;
}
