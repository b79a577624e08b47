/* prevail/images.h: arrays from NPZ, NPY and IDX files, and image data made of them.
 *
 * Pixels are mapped, not read: those of a row come from the disk when they are asked for, so data may be larger than
 * the memory. Compressed members (and gzipped files) are unpacked once, into memory or, where large, into a temporary
 * file that has no name.
 */
#ifndef PREVAIL_IMAGES_H
#define PREVAIL_IMAGES_H

#include "prevail/core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

typedef enum pv_array_type {
    PV_ARRAY_BOOL,
    PV_ARRAY_U8,
    PV_ARRAY_I8,
    PV_ARRAY_U16,
    PV_ARRAY_I16,
    PV_ARRAY_U32,
    PV_ARRAY_I32,
    PV_ARRAY_U64,
    PV_ARRAY_I64,
    PV_ARRAY_F32,
    PV_ARRAY_F64,
    PV_ARRAY_UNICODE, /* NumPy's U: code points of 4 bytes */
    PV_ARRAY_BYTES    /* NumPy's S */
} pv_array_type;
#define PV_ARRAY_TYPE_LIST(X)                                                                                          \
    X(BOOL, "bool")                                                                                                    \
    X(U8, "uint8")                                                                                                     \
    X(I8, "int8")                                                                                                      \
    X(U16, "uint16")                                                                                                   \
    X(I16, "int16")                                                                                                    \
    X(U32, "uint32")                                                                                                   \
    X(I32, "int32")                                                                                                    \
    X(U64, "uint64")                                                                                                   \
    X(I64, "int64")                                                                                                    \
    X(F32, "float32")                                                                                                  \
    X(F64, "float64")                                                                                                  \
    X(UNICODE, "unicode")                                                                                              \
    X(BYTES, "bytes")
const char *pv_array_type_name(pv_array_type type); /* NumPy's names */
bool pv_array_type_find(const char *name, pv_array_type *type);

enum { PV_ARRAY_DIMS_MAX = 8 };

/* A view of a file's bytes. Elements are reached by index through the functions below, whatever their order. */
typedef struct pv_array {
    char name[64]; /* for messages; long names are cut */
    pv_array_type type;
    size_t element; /* bytes of one */
    int dims;
    size_t shape[PV_ARRAY_DIMS_MAX];
    size_t count;               /* of elements */
    bool fortran;               /* the first index varies fastest */
    bool swapped;               /* big-endian */
    const unsigned char *bytes; /* borrowed from the archive */
    bool mapped;                /* of a file: pages that were read may be given back */
} pv_array;

/* One file: an NPZ with its members, or a single array (NPY or IDX, also gzipped). */
typedef struct pv_archive pv_archive;

/* Whether it is a file that begins like one of these. false too where it cannot be read. */
bool pv_archive_recognise(const char *path);

/* The caller frees *archive. Refuses encrypted, truncated and damaged files. */
PV_MUST_USE pv_status pv_archive_open(pv_ctx *ctx, const char *path, pv_archive **archive);
void pv_archive_free(pv_ctx *ctx, pv_archive *archive); /* NULL is fine */

/* An archive in memory, empty; name is for messages. The caller frees *archive. */
PV_MUST_USE pv_status pv_archive_new(pv_ctx *ctx, const char *name, pv_archive **archive);
/* Adds an array of numbers, all 0, to an archive in memory. bytes, where a pointer is expected, receives its elements
 * in the order of C and of the machine; the archive frees them. Refuses names that are empty, taken or longer than
 * pv_array's. */
PV_MUST_USE pv_status pv_archive_add(pv_ctx *ctx, pv_archive *archive, const char *name, pv_array_type type, int dims,
                                     const size_t *shape, void *bytes);
/* Writes all arrays as an NPZ file of stored members, whole or not at all. The same arrays give the same bytes. */
PV_MUST_USE pv_status pv_archive_write(pv_ctx *ctx, pv_archive *archive, const char *path);

size_t pv_archive_count(const pv_archive *archive);
const char *pv_archive_name(const pv_archive *archive, size_t member); /* without .npy; a single array has none: "" */
/* The member, or count where there is none of that name. */
size_t pv_archive_find(const pv_archive *archive, const char *name);
/* The array of a member; valid until the archive is freed. Its elements are where they lie in the file, if they are not
 * packed, and change with it: read each just once where it decides about memory. */
PV_MUST_USE pv_status pv_archive_array(pv_ctx *ctx, pv_archive *archive, size_t member, pv_array *array);

/* Element i in the order of C. Text arrays: NaN. */
double pv_array_number(const pv_array *array, size_t i);
/* Elements first .. first+n-1 in the order of C as floats. Not for text. */
void pv_array_floats(const pv_array *array, size_t first, size_t n, float *values);
/* Element i as text, at most size bytes with the end; numbers in their shortest form. */
void pv_array_text(const pv_array *array, size_t i, char *text, size_t size);

/* ---- images ------------------------------------------------------------------------------------------------------ */

typedef enum pv_image_layout {
    PV_IMAGES_PLANES,  /* [N][H][W] */
    PV_IMAGES_VOLUMES, /* [N][D][H][W] */
    PV_IMAGES_VIEWS    /* [N][V][H][W], views ready for the network */
} pv_image_layout;
#define PV_IMAGE_LAYOUT_LIST(X)                                                                                        \
    X(PLANES, "planes")                                                                                                \
    X(VOLUMES, "volumes")                                                                                              \
    X(VIEWS, "views")
const char *pv_image_layout_name(pv_image_layout layout);
bool pv_image_layout_find(const char *name, pv_image_layout *layout);

/* Which array plays which part. A name is that of a member of the file, or of another file with one array. NULL: the
 * part's own name ("images", "labels", ...) where the file has it. Empty: the part is not wanted. */
typedef struct pv_image_roles {
    const char *images;
    const char *labels;      /* [N], numbers or text */
    const char *votes;       /* [N][raters], whole numbers 1 .. K; 0: no vote */
    const char *frequencies; /* [N][classes], each row adding up to 1 */
    const char *group;       /* [N], numbers or text: a patient, say */
    const char *spacing;     /* size of a pixel or voxel: [N], [N][2] (y, x) or [N][3] (z, y, x) */
    const char *positive;    /* two classes: the label that prevalence speaks of; NULL: the last */
    bool views;              /* four dimensions are ready views, not volumes */
    bool unlabelled;         /* labels, votes and frequencies are not looked for */
    bool drop_missing;       /* rows without a vote, or with too few, are dropped instead of refused */
    int64_t votes_min;       /* a row needs so many; 0 and 1 are the same */
    double binarise;         /* votes become two classes: the mean below this, or above; equal rows are dropped. 0:
                                the votes' frequencies are the target */
    bool members_only;       /* a name is that of a member, never of another file: names that a model file brings */
} pv_image_roles;

typedef struct pv_images {
    char *source;
    size_t rows;
    pv_image_layout layout;
    size_t planes, height, width; /* planes: depth, or views; 1 for [N][H][W] */
    size_t *index;                /* [rows], the row of the file */
    size_t dropped;               /* rows left out */
    int classes;                  /* 0 without labels */
    char **labels;                /* [classes] */
    int32_t *label;               /* [rows]; NULL with frequencies, or unlabelled */
    double *frequency;            /* [rows][classes]; NULL with labels */
    int32_t *group;               /* [rows], codes from 0; NULL: none given */
    int32_t groups;
    double *spacing; /* [rows][3], z, y, x; NULL: none given, take 1 */
    uint64_t hash;   /* XXH3-64 of the arrays used */
    pv_array pixels;
    uint64_t pixels_hash;  /* of those alone */
    pv_archive **archives; /* [n_archives], kept open */
    size_t n_archives;
    size_t *touched; /* bytes of mapped pixels read since pages were last given back */
} pv_images;

/* The caller frees *images. Refuses, with array and index: shapes that disagree, votes that are no grades, rows without
 * a vote (unless dropped), frequencies that do not add up to 1, pixels that are NaN or infinite. */
PV_MUST_USE pv_status pv_images_read(pv_ctx *ctx, const char *path, const pv_image_roles *roles, pv_images **images);
/* The same of an open archive, which stays open until its caller and the images have freed it. */
PV_MUST_USE pv_status pv_images_of(pv_ctx *ctx, pv_archive *archive, const pv_image_roles *roles, pv_images **images);
void pv_images_free(pv_ctx *ctx, pv_images *images); /* NULL is fine */

/* Refuses images whose files were written to since they were read: what was computed from them is of neither the old
 * data nor the new. quick: without a look at the pixels where only the file's rights or names have changed. A fit and
 * predictions ask in the end. */
PV_MUST_USE pv_status pv_images_unchanged(pv_ctx *ctx, const pv_images *images, bool quick);

/* The pixels [planes][height][width] of a row, as they are in the file. */
void pv_images_pixels(const pv_images *images, size_t row, float *pixels);
pv_targets pv_images_targets(const pv_images *images); /* borrows */

/* ---- views ---------------------------------------------------------------------------------------------------------
 * What a network sees of an image: planes of size x size pixels, cut out of it and interpolated linearly.
 *
 *   volumes   triplets of orthogonal planes through the centre; in training each triplet at a random orientation
 *   planes    the image itself, in training turned, mirrored, shifted and scaled at random
 *   views     taken as they are
 *
 * For predictions the set is the same for every image and every run: the first plane, or triplet, lies along the axes,
 * the others at fixed random orientations.
 */

/* How images are to be used. */
typedef struct pv_image_options {
    const char *images;  /* as in pv_image_roles */
    const char *votes;   /* votes are the target, instead of a column */
    const char *spacing; /* as in pv_image_roles */
    bool ready;          /* four dimensions are ready views */
    double binarise;
    int64_t votes_min;
    const char *window; /* "LOW,HIGH": intensities are clipped to it; NULL: not */
    double field;       /* side of a view in pixels, or in the spacing's unit; 0: the largest that stays inside */
    double rotate;      /* planes: largest angle, degrees; volumes: any orientation where not 0 */
    bool no_flip;
    double shift;        /* largest shift, as a share of the field */
    double scale;        /* largest change of scale */
    int64_t views, size; /* of the model: set them from pv_model_views */
} pv_image_options;

extern const pv_option pv_image_option_table[]; /* all but views and size; ends with a NULL name */

/* Those of settings that have the table, borrowed from them; NULL: they have not. */
const pv_image_options *pv_image_options_of(const pv_settings *settings);

/* The same, learned and kept with the model. */
typedef struct pv_image_encoding {
    char *images, *votes, *spacing; /* empty: not named */
    pv_image_layout layout;
    double binarise;
    int64_t votes_min;
    size_t views, size;
    double low, high; /* of the window; infinite where there is none */
    double mean, sd;  /* of the training images' pixels inside the window */
    double field;
    double rotate, shift, scale;
    bool flip;
} pv_image_encoding;

/* x [views][size][size] of an image, (pixel - mean)/sd. rng: draws of training; NULL: the fixed set. */
void pv_views_cut(const pv_image_encoding *encoding, const pv_images *images, size_t row, pv_rng *rng, double *x);

#ifdef __cplusplus
}
#endif
#endif
