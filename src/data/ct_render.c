/* Renders patches of chest CT with a nodule in the middle.
 *
 * The anatomy is drawn as fractions in [0,1] of a voxel: soft tissue (vessels, solid nodules, spicules), ground glass,
 * and a wall (chest wall with ribs, or mediastinum). A voxel starts as parenchyma with a smooth texture g and mixes in
 * the tissues in turn, v <- v + fraction (HU - v). The scanner adds a Gaussian point spread function and Gaussian noise
 * of the patient's level, correlated by another Gaussian kernel.
 *
 * A nodule's surface along the unit vector n, with R half its diameter:
 *
 *   r(n) = R |A n|^-1 (1 + 1.2 l (max_k a_k max(0, n'c_k)^6 - 0.1)) + R (0.06 + 0.15 (1 - m)) g
 *
 * A: a random ellipsoid of volume 1; c_k, a_k: lobes, with notches between them where two are equal; l: lobulation; m:
 * margin. The nodule's fraction at distance d is a ramp of r - d, of width 0.8 mm + 0.9 R (1 - m)^2. Spicules are
 * tapered threads that start at the surface, in number and length proportional to spiculation.
 *
 * Levels are those of thin-section chest CT (lung about -860 HU, soft tissue 30, noise 15 to 32 HU at 1 mm). An image
 * depends on the label through the nodule's features alone.
 */
#include <math.h>
#include <string.h>

#include "data/ct.h"

enum { LOBES = 7, TAPS = 3 /* of a kernel, on each side of its centre */ };

/* Distances are in mm from the middle of the patch, in the order z, y, x. Grids are [size][size][size]. */
typedef struct scene {
    size_t size, voxels;
    float *value, *soft, *glass, *wall, *texture, *spare;
    float *coarse;
    pv_rng rng;
} scene;

enum { COARSE_STEP = 3 };

static size_t coarse_size(size_t size) {
    return size / COARSE_STEP + 3;
}

size_t pv__ct_work(size_t size) {
    size_t coarse = coarse_size(size);
    return 6 * size * size * size + coarse * coarse * coarse;
}

static scene make_scene(size_t size, pv_rng rng, float *work) {
    size_t n = size * size * size;
    scene s = {.size = size, .voxels = n, .rng = rng};
    float **grids[] = {&s.value, &s.soft, &s.glass, &s.wall, &s.texture, &s.spare};
    for (size_t i = 0; i < 6; i++)
        *grids[i] = work + i * n;
    s.coarse = work + 6 * n;
    memset(s.soft, 0, 3 * n * sizeof *work); /* also clears glass and wall */
    return s;
}

/* ---- small things ------------------------------------------------------------------------------------------------ */

static double between(pv_rng *rng, double low, double high) {
    return low + (high - low) * pv_rng_uniform(rng);
}

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

static double dot(const double *a, const double *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void normalise(double *a) {
    double norm = sqrt(dot(a, a));
    for (int i = 0; i < 3; i++)
        a[i] = norm > 0 ? a[i] / norm : i == 0;
}

static void draw_direction(pv_rng *rng, double *a) {
    for (int i = 0; i < 3; i++)
        a[i] = pv_rng_normal(rng);
    normalise(a);
}

/* mean plus a normal vector of this spread, projected to the unit sphere. */
static void draw_near(pv_rng *rng, const double *mean, double spread, double *a) {
    for (int i = 0; i < 3; i++)
        a[i] = mean[i] + spread * pv_rng_normal(rng);
    normalise(a);
}

static double middle(const scene *s) {
    return ((double)s->size - 1) / 2;
}

/* The grid indices whose position in mm lies between low and high; empty if *first >= *end. */
static void span(const scene *s, double low, double high, size_t *first, size_t *end) {
    double from = ceil(low + middle(s)), to = floor(high + middle(s)) + 1, size = (double)s->size;
    *first = (size_t)clamp(from, 0, size);
    *end = (size_t)clamp(to, 0, size);
}

/* ---- smoothing and noise ----------------------------------------------------------------------------------------- */

/* tap[i] of a Gaussian kernel; both sides together sum to 1. */
static void make_taps(double sd, float *tap) {
    float sum = 0;
    for (int i = 0; i <= TAPS; i++) {
        tap[i] = (float)exp(-0.5 * i * i / (sd * sd));
        sum += i ? 2 * tap[i] : tap[i];
    }
    for (int i = 0; i <= TAPS; i++)
        tap[i] /= sum;
}

/* Smooths lines of n consecutive voxels in place; the border is repeated. */
static void smooth_lines(size_t lines, size_t n, double sd, float *grid) {
    float tap[TAPS + 1], padded[PV_CT_SIZE_MAX + 2 * TAPS];
    make_taps(sd, tap);
    for (; lines > 0; lines--, grid += n) {
        memcpy(padded + TAPS, grid, n * sizeof *grid);
        for (size_t i = 0; i < TAPS; i++) {
            padded[i] = grid[0];
            padded[TAPS + n + i] = grid[n - 1];
        }
        for (size_t k = 0; k < n; k++) {
            const float *at = padded + TAPS + k;
            float sum = tap[0] * at[0];
            for (int i = 1; i <= TAPS; i++)
                sum += tap[i] * (at[-i] + at[i]);
            grid[k] = sum;
        }
    }
}

/* The same across rows, for blocks of n rows of `row` floats each. from and to must not overlap. */
static void smooth_rows(size_t blocks, size_t n, size_t row, double sd, const float *from, float *to) {
    float tap[TAPS + 1];
    make_taps(sd, tap);
    for (size_t b = 0; b < blocks; b++, from += n * row, to += n * row)
        for (size_t k = 0; k < n; k++)
            for (size_t i = 0; i <= TAPS; i++) {
                const float *below = from + (k >= i ? k - i : 0) * row;
                const float *above = from + (k + i < n ? k + i : n - 1) * row;
                float *out = to + k * row;
                for (size_t j = 0; j < row; j++)
                    out[j] = i ? out[j] + tap[i] * (below[j] + above[j]) : tap[0] * below[j];
            }
}

/* Smooths in place; spare is overwritten. */
static void smooth(const scene *s, const double *sd, float *grid, float *spare) {
    size_t n = s->size;
    smooth_rows(1, n, n * n, sd[0], grid, spare);
    smooth_rows(n, n, n, sd[1], spare, grid);
    smooth_lines(n * n, n, sd[2], grid);
}

/* Sums of four uniforms of 16 bits, smoothed: approximately normal with standard deviation sd. */
static void draw_noise(scene *s, const double *grain, double sd, float *grid, float *spare) {
    for (size_t i = 0; i < s->voxels; i++) {
        uint64_t bits = pv_rng_bits(&s->rng);
        int32_t sum = 0;
        for (int k = 0; k < 4; k++)
            sum += (int32_t)(bits >> 16 * k & 0xFFFF);
        grid[i] = (float)(sum - 2 * 0xFFFF) * (1 / 37837.0f); /* sqrt(4/12) 2^16 */
    }
    smooth(s, grain, grid, spare);
    double keeps = 1; /* factor by which smoothing reduces the standard deviation */
    for (int axis = 0; axis < 3; axis++) {
        float tap[TAPS + 1];
        make_taps(grain[axis], tap);
        double squares = tap[0] * tap[0];
        for (int i = 1; i <= TAPS; i++)
            squares += 2 * tap[i] * tap[i];
        keeps *= sqrt(squares);
    }
    for (size_t i = 0; i < s->voxels; i++)
        grid[i] *= (float)(sd / keeps);
}

/* Smooth texture: normals on a grid of 3 mm, interpolated linearly. */
static void draw_texture(scene *s) {
    size_t c = coarse_size(s->size), n = s->size;
    for (size_t i = 0; i < c * c * c; i++)
        s->coarse[i] = (float)pv_rng_normal(&s->rng);
    for (size_t z = 0, at = 0; z < n; z++)
        for (size_t y = 0; y < n; y++) {
            const float *plane[2] = {s->coarse + z / COARSE_STEP * c * c, s->coarse + (z / COARSE_STEP + 1) * c * c};
            float fz = (float)(z % COARSE_STEP) / COARSE_STEP, fy = (float)(y % COARSE_STEP) / COARSE_STEP;
            size_t row = y / COARSE_STEP * c;
            for (size_t x = 0; x < n; x++, at++) {
                float fx = (float)(x % COARSE_STEP) / COARSE_STEP, sum = 0;
                for (size_t corner = 0; corner < 8; corner++) {
                    size_t i = corner & 1, j = corner >> 1 & 1, k = corner >> 2;
                    float weight = (i ? fx : 1 - fx) * (j ? fy : 1 - fy) * (k ? fz : 1 - fz);
                    sum += weight * plane[k][row + j * c + x / COARSE_STEP + i];
                }
                s->texture[at] = sum;
            }
        }
}

/* ---- threads: vessels and spicules ------------------------------------------------------------------------------- */

/* Draws a ball with a soft rim, taking the maximum with what is there. A ball thinner than a voxel fills part of it. */
static void stamp(const scene *s, float *grid, const double *p, double radius, double share) {
    double wide = radius > 0.6 ? radius : 0.6, reach = wide + 0.5;
    double peak = share * (radius < 0.6 ? radius * radius / 0.36 : 1);
    size_t first[3], end[3], n = s->size;
    for (int axis = 0; axis < 3; axis++)
        span(s, p[axis] - reach, p[axis] + reach, &first[axis], &end[axis]);
    for (size_t z = first[0]; z < end[0]; z++)
        for (size_t y = first[1]; y < end[1]; y++)
            for (size_t x = first[2]; x < end[2]; x++) {
                double d[3] = {(double)z - middle(s) - p[0], (double)y - middle(s) - p[1],
                               (double)x - middle(s) - p[2]};
                double in = reach - sqrt(dot(d, d));
                float filled = (float)(peak * clamp(in, 0, 1)), *voxel = &grid[(z * n + y) * n + x];
                if (filled > *voxel)
                    *voxel = filled;
            }
}

typedef struct thread_plan {
    double radius, end_radius, length;
    double wander; /* rate at which the direction changes */
    double share;
    double branching; /* probability per mm */
} thread_plan;

static void draw_thread(scene *s, const double *start, const double *towards, const thread_plan *plan, int branches) {
    double p[3], direction[3], step = clamp(0.7 * plan->end_radius, 0.35, 1), limit = 0.5 * (double)s->size + 6;
    memcpy(p, start, sizeof p);
    memcpy(direction, towards, sizeof direction);
    double done = 0;
    while (done < plan->length) {
        double radius = plan->radius + (plan->end_radius - plan->radius) * done / plan->length;
        bool outside = fabs(p[0]) > limit || fabs(p[1]) > limit || fabs(p[2]) > limit;
        if (outside && dot(p, direction) > 0)
            return; /* and moving away from it */
        if (!outside)
            stamp(s, s->soft, p, radius, plan->share);
        if (branches > 0 && !outside && pv_rng_uniform(&s->rng) < plan->branching * step) {
            thread_plan child = *plan;
            double turned[3];
            child.radius = radius * between(&s->rng, 0.6, 0.85);
            child.end_radius = fmin(plan->end_radius, 0.7 * child.radius);
            child.length = between(&s->rng, 0.3, 0.9) * (plan->length - done);
            draw_near(&s->rng, direction, 0.5, turned);
            draw_thread(s, p, turned, &child, branches - 1);
        }
        double before[3];
        memcpy(before, direction, sizeof before);
        draw_near(&s->rng, before, plan->wander * sqrt(step), direction);
        for (int axis = 0; axis < 3; axis++)
            p[axis] += step * direction[axis];
        done += step;
    }
}

/* Vessels run roughly in one direction, towards the hilum; most are thin. */
static void draw_vessels(scene *s, const pv__ct_nodule *nodule) {
    double hilum[3], towards[3], start[3], half = 0.5 * (double)s->size, volume = pow((double)s->size / 40, 3);
    draw_direction(&s->rng, hilum);
    int vessels = (int)(between(&s->rng, 30, 70) * clamp(volume, 0.05, 20));
    for (int i = 0; i < vessels; i++) {
        thread_plan plan = {.wander = 0.12, .branching = 0.08};
        plan.radius = clamp(0.55 * exp(0.5 * pv_rng_normal(&s->rng)), 0.25, 3);
        plan.end_radius = 0.55 * plan.radius;
        plan.share = between(&s->rng, 0.5, 1);
        plan.length = between(&s->rng, 15, 30) * (plan.radius < 1 ? 1 : 1.6);
        draw_near(&s->rng, hilum, 0.7, towards);
        for (int axis = 0; axis < 3; axis++)
            start[axis] = between(&s->rng, -half - 2, half + 2) + 0.5 * plan.length * towards[axis];
        for (int axis = 0; axis < 3; axis++)
            towards[axis] = -towards[axis]; /* from thick to thin, away from the hilum */
        draw_thread(s, start, towards, &plan, 2);
    }
    if (pv_rng_uniform(&s->rng) < 0.4) { /* a vessel that feeds the nodule */
        thread_plan plan = {.wander = 0.1, .share = 1, .length = half + 8};
        plan.radius = plan.end_radius = clamp(0.12 * nodule->diameter, 0.5, 1.4);
        draw_near(&s->rng, hilum, 0.5, towards);
        for (int axis = 0; axis < 3; axis++)
            start[axis] = 0.35 * nodule->diameter * towards[axis];
        draw_thread(s, start, towards, &plan, 0);
    }
}

/* ---- the wall ---------------------------------------------------------------------------------------------------- */

typedef struct wall_plan {
    double centre[3], curvature; /* centre and curvature of its sphere */
    double across[3];            /* unit vector across the ribs */
    double rib_at, rib_step, rib_depth;
    bool chest; /* true: outside the sphere, with ribs and fat; false: inside, mediastinum or diaphragm */
    double level;
} wall_plan;

static wall_plan plan_wall(scene *s, double radius) {
    wall_plan w = {.curvature = between(&s->rng, 35, 130), .chest = pv_rng_uniform(&s->rng) < 0.75};
    double normal[3], half = 0.5 * (double)s->size;
    draw_direction(&s->rng, normal);
    bool attached = pv_rng_uniform(&s->rng) < 0.25;
    double distance = attached ? radius * between(&s->rng, 0.4, 1) : radius + between(&s->rng, 2, half + 4);
    for (int axis = 0; axis < 3; axis++)
        w.centre[axis] = normal[axis] * (w.chest ? distance - w.curvature : distance + w.curvature);
    draw_direction(&s->rng, w.across);
    double along = dot(w.across, normal);
    for (int axis = 0; axis < 3; axis++)
        w.across[axis] -= along * normal[axis];
    normalise(w.across);
    w.rib_at = between(&s->rng, 0, 30);
    w.rib_step = between(&s->rng, 18, 30);
    w.rib_depth = between(&s->rng, 4, 7);
    w.level = w.chest ? 40 : between(&s->rng, 30, 90);
    return w;
}

/* HU at a depth below the surface, u mm along the wall; g: texture. */
static double wall_level(const wall_plan *w, double depth, double u, double g) {
    if (!w->chest)
        return w->level + 8 * g;
    double from_rib = u - w->rib_at - w->rib_step * round((u - w->rib_at) / w->rib_step);
    double rib = sqrt(pow((depth - w->rib_depth) / 3, 2) + pow(from_rib / 5.5, 2));
    if (rib < 1)
        return rib > 0.72 ? 650 : 220 + 60 * g;
    bool fat = sin(0.45 * depth + 0.5 * g) > 0.55 && depth > 2;
    return fat ? -70 : w->level + 10 * g;
}

static void draw_wall(scene *s, double radius) {
    wall_plan w = plan_wall(s, radius);
    for (size_t z = 0, at = 0; z < s->size; z++)
        for (size_t y = 0; y < s->size; y++)
            for (size_t x = 0; x < s->size; x++, at++) {
                double p[3] = {(double)z - middle(s), (double)y - middle(s), (double)x - middle(s)}, from[3];
                for (int axis = 0; axis < 3; axis++)
                    from[axis] = p[axis] - w.centre[axis];
                double out = sqrt(dot(from, from)) - w.curvature, g = s->texture[at];
                double depth = (w.chest ? out : -out) + 0.25 * g, share = clamp(depth + 0.5, 0, 1);
                if (share <= 0)
                    continue;
                double level = wall_level(&w, depth, dot(p, w.across), g);
                s->wall[at] = (float)share;
                s->value[at] += (float)(share * (level - s->value[at]));
            }
}

/* ---- the nodule -------------------------------------------------------------------------------------------------- */

typedef struct shape {
    double axes[3][3]; /* orthonormal */
    double squeeze[3]; /* per axis; product 1 */
    double lobe[LOBES][3], height[LOBES];
    double radius, lobulation, rough, ramp;
    double inside; /* everything nearer than this is filled, in every direction */
} shape;

static void plan_shape(scene *s, const pv__ct_nodule *nodule, double radius, shape *f) {
    double *a = f->axes[0], *b = f->axes[1], *c = f->axes[2], logs[3], mean = 0;
    draw_direction(&s->rng, a);
    draw_direction(&s->rng, b);
    double along = dot(a, b);
    for (int i = 0; i < 3; i++)
        b[i] -= along * a[i];
    normalise(b);
    for (int i = 0; i < 3; i++) {
        c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
        logs[i] = 0.15 * pv_rng_normal(&s->rng);
        mean += logs[i] / 3;
    }
    for (int i = 0; i < 3; i++)
        f->squeeze[i] = exp(logs[i] - mean);
    for (int k = 0; k < LOBES; k++) {
        draw_direction(&s->rng, f->lobe[k]);
        f->height[k] = between(&s->rng, 0.25, 0.7);
    }
    double soft = 1 - nodule->margin;
    f->radius = radius;
    f->lobulation = 1.2 * nodule->lobulation;
    f->rough = radius * (0.06 + 0.15 * soft);
    f->ramp = 0.8 + 0.9 * radius * soft * soft;
    double longest = fmax(f->squeeze[0], fmax(f->squeeze[1], f->squeeze[2]));
    f->inside = radius / longest * (1 - 0.1 * f->lobulation) - 5 * f->rough - 0.5 * f->ramp;
}

/* Distance from the middle to the surface along the unit vector n. */
static double surface(const shape *f, const double *n) {
    double stretch = 0, lobe = 0;
    for (int i = 0; i < 3; i++) {
        double along = dot(n, f->axes[i]) * f->squeeze[i];
        stretch += along * along;
    }
    for (int k = 0; k < LOBES && f->lobulation > 0; k++) {
        double b = dot(n, f->lobe[k]), cube = b > 0 ? b * b * b : 0;
        lobe = fmax(lobe, f->height[k] * cube * cube);
    }
    return f->radius / sqrt(stretch) * (1 + f->lobulation * (lobe - 0.1));
}

static void draw_body(scene *s, const shape *f, const double *centre, double share, float *grid) {
    double reach = 1.7 * f->radius + f->ramp + 3 * f->rough + 1;
    size_t first[3], end[3], n = s->size;
    for (int axis = 0; axis < 3; axis++)
        span(s, centre[axis] - reach, centre[axis] + reach, &first[axis], &end[axis]);
    for (size_t z = first[0]; z < end[0]; z++)
        for (size_t y = first[1]; y < end[1]; y++)
            for (size_t x = first[2]; x < end[2]; x++) {
                double d[3] = {(double)z - middle(s) - centre[0], (double)y - middle(s) - centre[1],
                               (double)x - middle(s) - centre[2]};
                double distance = sqrt(dot(d, d));
                if (distance > reach)
                    continue;
                for (int axis = 0; axis < 3; axis++)
                    d[axis] = distance > 0 ? d[axis] / distance : axis == 0;
                size_t at = (z * n + y) * n + x;
                double in = f->ramp;
                if (distance > f->inside)
                    in = surface(f, d) + f->rough * s->texture[at] - distance;
                float filled = (float)(share * clamp(0.5 + in / f->ramp, 0, 1));
                if (filled > grid[at])
                    grid[at] = filled;
            }
}

static void draw_spicules(scene *s, const pv__ct_nodule *nodule, const shape *f) {
    double strength = nodule->spiculation, faint = nodule->density == PV_CT_GROUND_GLASS ? 0.5 : 1;
    int spicules = (int)(strength * (10 + 2 * f->radius) + pv_rng_uniform(&s->rng));
    for (int i = 0; i < spicules; i++) {
        double out[3], start[3];
        draw_direction(&s->rng, out);
        double from = 0.85 * surface(f, out);
        for (int axis = 0; axis < 3; axis++)
            start[axis] = from * out[axis];
        thread_plan plan = {.radius = between(&s->rng, 0.8, 1.4), .wander = 0.12, .end_radius = 0.3};
        plan.length = 2 + (0.3 + strength * pv_rng_uniform(&s->rng)) * f->radius + 0.15 * from;
        plan.share = faint * between(&s->rng, 0.7, 1);
        draw_thread(s, start, out, &plan, 0);
    }
}

static void draw_nodule(scene *s, const pv__ct_nodule *nodule) {
    double radius = 0.5 * nodule->diameter, core[3];
    shape whole = {0}, inner = {0};
    plan_shape(s, nodule, radius, &whole);
    plan_shape(s, nodule, radius * between(&s->rng, 0.35, 0.6), &inner);
    for (int axis = 0; axis < 3; axis++)
        core[axis] = 0.15 * radius * pv_rng_normal(&s->rng);
    const double centre[3] = {0, 0, 0};
    draw_body(s, &whole, centre, 1, nodule->density == PV_CT_SOLID ? s->soft : s->glass);
    if (nodule->density == PV_CT_PART_SOLID)
        draw_body(s, &inner, core, 1, s->soft);
    draw_spicules(s, nodule, &whole);
}

/* ---- the whole image --------------------------------------------------------------------------------------------- */

/* Mixes tissues into parenchyma and wall. Near the middle, vessels and nodule share the nodule's level. */
static void compose(scene *s, const pv__ct_nodule *nodule, const pv__ct_scanner *scanner) {
    pv_rng *rng = &s->rng;
    double glass = scanner->lung + between(rng, 220, 420), own = 35 + 25 * pv_rng_normal(rng);
    if (pv_rng_uniform(rng) < 0.15 && nodule->diameter < 12)
        own = between(rng, 150, 700); /* calcified */
    double near = 0.6 * nodule->diameter + 1;
    for (size_t z = 0, at = 0; z < s->size; z++)
        for (size_t y = 0; y < s->size; y++)
            for (size_t x = 0; x < s->size; x++, at++) {
                double p[3] = {(double)z - middle(s), (double)y - middle(s), (double)x - middle(s)};
                double lung = 1 - s->wall[at], v = s->value[at], g = s->texture[at];
                v += s->glass[at] * lung * (glass + 45 * g - v);
                if (s->soft[at] > 0) {
                    double level = dot(p, p) < near * near ? own + 20 * g : scanner->contrast;
                    v += s->soft[at] * lung * (level - v);
                }
                s->value[at] = (float)v;
            }
}

void pv__ct_render(const pv__ct_nodule *nodule, const pv__ct_scanner *scanner, pv_rng rng, size_t size, float *work,
                   int16_t *hu) {
    scene s = make_scene(size, rng, work);
    draw_texture(&s);
    for (size_t i = 0; i < s.voxels; i++)
        s.value[i] = (float)scanner->lung + 14 * s.texture[i];
    if (pv_rng_uniform(&s.rng) < 0.6)
        draw_wall(&s, 0.5 * nodule->diameter);
    draw_vessels(&s, nodule);
    draw_nodule(&s, nodule);
    compose(&s, nodule, scanner);
    smooth(&s, scanner->blur, s.value, s.spare);
    draw_noise(&s, scanner->grain, scanner->noise, s.soft, s.spare);
    for (size_t i = 0; i < s.voxels; i++)
        hu[i] = (int16_t)lrintf((float)clamp(s.value[i] + s.soft[i], -1024, 3071));
}
