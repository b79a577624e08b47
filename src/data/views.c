/* Views: planes cut out of images.
 *
 * Pixel (i, j) of a view is at  centre + (i - (S-1)/2) h a + (j - (S-1)/2) h b,  h = field/S, where a and b are
 * orthonormal vectors in the order z, y, x and in the unit of the spacing. Dividing by the spacing gives an index,
 * where the value is interpolated linearly. Indices outside the image are clamped to its border.
 */
#include <math.h>
#include <string.h>

#include "data/archive.h"
#include "data/data.h"

typedef pv__view_plane plane;

/* ---- directions -------------------------------------------------------------------------------------------------- */

/* A uniformly distributed rotation with orthonormal rows (Shoemake 1992, from a normalised Gaussian quaternion). */
static void random_rotation(pv_rng *rng, double r[3][3]) {
    double q[4], norm = 0;
    for (int i = 0; i < 4; i++) {
        q[i] = pv_rng_normal(rng);
        norm += q[i] * q[i];
    }
    norm = norm > 0 ? sqrt(norm) : 1;
    double w = q[0] / norm, x = q[1] / norm, y = q[2] / norm, z = q[3] / norm;
    const double made[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
                               {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
                               {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
    memcpy(r, made, sizeof made);
}

static void scale_plane(plane *p, double factor, bool mirrored) {
    for (int axis = 0; axis < 3; axis++) {
        p->a[axis] *= factor;
        p->b[axis] *= mirrored ? -factor : factor;
    }
}

/* The three planes of a triplet are spanned by the pairs of a rotation's rows. */
static void volume_planes(const pv_image_encoding *e, pv_rng *training, plane *planes) {
    static const int pairs[3][2] = {{1, 2}, {0, 2}, {0, 1}};
    for (size_t v = 0; v < e->views; v++) {
        double r[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        size_t triplet = v / 3;
        pv_rng fixed = pv_rng_stream(0, PV_STREAM_FIXED_VIEWS, triplet), *rng = training ? training : &fixed;
        if (v % 3 == 0) {
            if (e->rotate > 0 && (training || triplet > 0))
                random_rotation(rng, r);
            for (size_t i = 0; i < 3 && v + i < e->views; i++) {
                memcpy(planes[v + i].a, r[pairs[i][0]], sizeof r[0]);
                memcpy(planes[v + i].b, r[pairs[i][1]], sizeof r[0]);
            }
        }
        double scale = training ? 1 + e->scale * (2 * pv_rng_uniform(rng) - 1) : 1;
        bool mirrored = training && e->flip && pv_rng_uniform(rng) < 0.5;
        for (int axis = 0; training && axis < 3; axis++)
            planes[v].shift[axis] = e->shift * e->field * (2 * pv_rng_uniform(rng) - 1);
        scale_plane(&planes[v], scale, mirrored);
    }
}

static void flat_planes(const pv_image_encoding *e, pv_rng *training, plane *planes) {
    for (size_t v = 0; v < e->views; v++) {
        pv_rng fixed = pv_rng_stream(0, PV_STREAM_FIXED_VIEWS, v), *rng = training ? training : &fixed;
        bool plain = !training && v == 0;
        double angle = (2 * pv_rng_uniform(rng) - 1) * e->rotate * 3.14159265358979323846 / 180;
        bool mirrored = pv_rng_uniform(rng) < 0.5 && e->flip && !plain;
        double scale = training ? 1 + e->scale * (2 * pv_rng_uniform(rng) - 1) : 1;
        double c = plain ? 1 : cos(angle), s = plain ? 0 : sin(angle);
        planes[v] = (plane){.a = {0, c, -s}, .b = {0, s, c}};
        for (int axis = 1; training && axis < 3; axis++)
            planes[v].shift[axis] = e->shift * e->field * (2 * pv_rng_uniform(rng) - 1);
        scale_plane(&planes[v], scale, mirrored);
    }
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* An image's pixels in place; common types are read without a function call. */
typedef struct source {
    const pv_array *array;
    size_t first; /* index of the element that is pixel [0][0][0] */
    bool native;
    double low, high;
} source;

static inline double pixel(const source *s, size_t at) {
    const unsigned char *bytes = s->array->bytes;
    double value;
    int16_t wide;
    float single;
    at += s->first;
    if (s->native && s->array->type == PV_ARRAY_I16) {
        memcpy(&wide, bytes + 2 * at, sizeof wide);
        value = wide;
    } else if (s->native && s->array->type == PV_ARRAY_U8) {
        value = bytes[at];
    } else if (s->native && s->array->type == PV_ARRAY_F32) {
        memcpy(&single, bytes + 4 * at, sizeof single);
        value = single;
    } else {
        value = pv_array_number(s->array, at);
    }
    return value < s->low ? s->low : value > s->high ? s->high : value;
}

static source source_of(const pv_image_encoding *e, const pv_images *images, size_t row) {
    const pv_array *a = &images->pixels;
    return (source){a, images->index[row] * images->planes * images->height * images->width,
                    (!a->fortran || a->dims < 2) && (a->swapped == PV_BIG_ENDIAN || a->element == 1), e->low, e->high};
}

/* The neighbours of an index along one axis, and the weight of the upper one. */
typedef struct between {
    size_t lower, upper;
    double share;
} between;

static inline between place(double at, size_t size) {
    double last = (double)size - 1, inside = at < 0 ? 0 : at > last ? last : at, whole = floor(inside);
    size_t lower = (size_t)whole;
    return (between){lower, lower + 1 < size ? lower + 1 : lower, inside - whole};
}

static inline double mix(double a, double b, double share) {
    return a + share * (b - a);
}

static double in_plane(const source *s, size_t plane_at, size_t width, between y, between x) {
    const size_t upper = plane_at + y.lower * width, lower = plane_at + y.upper * width;
    return mix(mix(pixel(s, upper + x.lower), pixel(s, upper + x.upper), x.share),
               mix(pixel(s, lower + x.lower), pixel(s, lower + x.upper), x.share), y.share);
}

static void cut_plane(const pv_image_encoding *e, const pv_images *images, size_t row, const plane *p, double *x) {
    static const double ones[3] = {1, 1, 1};
    const double *spacing = images->spacing ? images->spacing + 3 * row : ones;
    const size_t sizes[3] = {images->planes, images->height, images->width};
    source s = source_of(e, images, row);
    double step = e->field / (double)e->size, middle = ((double)e->size - 1) / 2;
    for (size_t i = 0; i < e->size; i++)
        for (size_t j = 0; j < e->size; j++) {
            between at[3];
            for (int axis = 0; axis < 3; axis++) {
                double offset = step * (((double)i - middle) * p->a[axis] + ((double)j - middle) * p->b[axis]);
                at[axis] =
                    place(((double)sizes[axis] - 1) / 2 + (offset + p->shift[axis]) / spacing[axis], sizes[axis]);
            }
            size_t area = images->height * images->width;
            double value = in_plane(&s, at[0].lower * area, images->width, at[1], at[2]);
            if (at[0].share > 0)
                value = mix(value, in_plane(&s, at[0].upper * area, images->width, at[1], at[2]), at[0].share);
            *x++ = (value - e->mean) / e->sd;
        }
}

void pv__views_planes(const pv_image_encoding *e, pv_image_layout layout, pv_rng *rng, pv__view_plane *planes) {
    memset(planes, 0, e->views * sizeof *planes);
    if (layout == PV_IMAGES_VOLUMES)
        volume_planes(e, rng, planes);
    else
        flat_planes(e, rng, planes);
}

void pv_views_cut(const pv_image_encoding *e, const pv_images *images, size_t row, pv_rng *rng, double *x) {
    size_t area = e->size * e->size, bytes = images->planes * images->height * images->width * images->pixels.element;
    if (images->layout == PV_IMAGES_VIEWS) {
        source s = source_of(e, images, row);
        for (size_t i = 0; i < e->views * area; i++)
            x[i] = (pixel(&s, i) - e->mean) / e->sd;
        pv__images_touched(images, bytes);
        return;
    }
    plane planes[PV_VIEWS_MAX];
    pv__views_planes(e, images->layout, rng, planes);
    for (size_t v = 0; v < e->views; v++)
        cut_plane(e, images, row, &planes[v], x + v * area);
    pv__images_touched(images, bytes);
}
