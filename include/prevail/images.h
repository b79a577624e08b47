/* prevail/images.h: arrays from NPZ, NPY and IDX files, and image data made of them.
 *
 * Pixels are memory-mapped: those of a row are read from disk when they are used, so data may be larger than memory.
 * Compressed members and gzipped files are decompressed once, into memory or, if large, into an unnamed temporary file.
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

/* A view of a file's bytes. Use the functions below to read elements by index, whatever their byte order and layout. */
typedef struct pv_array {
    char name[64]; /* for messages; long names are truncated */
    pv_array_type type;
    size_t element; /* size in bytes */
    int dims;
    size_t shape[PV_ARRAY_DIMS_MAX];
    size_t count;               /* number of elements */
    bool fortran;               /* the first index varies fastest */
    bool swapped;               /* big-endian */
    const unsigned char *bytes; /* borrowed from the archive */
    bool mapped;                /* memory-mapped: pages that were read may be released */
} pv_array;

/* One file: an NPZ with its members, or a single array (NPY or IDX, also gzipped). */
typedef struct pv_archive pv_archive;

/* Whether path is a file with the signature of one of these formats; false if it cannot be read. */
bool pv_archive_recognise(const char *path);

/* The caller frees *archive. Refuses encrypted, truncated and damaged files. */
PV_MUST_USE pv_status pv_archive_open(pv_ctx *ctx, const char *path, pv_archive **archive);
void pv_archive_free(pv_ctx *ctx, pv_archive *archive); /* NULL is allowed */

/* Makes an empty archive in memory; name is for messages. The caller frees *archive. */
PV_MUST_USE pv_status pv_archive_new(pv_ctx *ctx, const char *name, pv_archive **archive);
/* Adds an array of numbers, initially 0, to an archive in memory. bytes, a pointer to a pointer to its elements (C
 * order, native byte order), is set; the archive owns them. Refuses names that are empty, already used or too long for
 * pv_array. */
PV_MUST_USE pv_status pv_archive_add(pv_ctx *ctx, pv_archive *archive, const char *name, pv_array_type type, int dims,
                                     const size_t *shape, void *bytes);
/* Writes all arrays as an NPZ file of uncompressed members, completely or not at all. The same arrays give the same
 * bytes. */
PV_MUST_USE pv_status pv_archive_write(pv_ctx *ctx, pv_archive *archive, const char *path);

size_t pv_archive_count(const pv_archive *archive);
const char *pv_archive_name(const pv_archive *archive, size_t member); /* without .npy; "" for a single array */
/* The index of the member of that name; count if there is none. */
size_t pv_archive_find(const pv_archive *archive, const char *name);
/* The array of a member, valid until the archive is freed. Elements of an uncompressed member are read from the mapped
 * file and change with it: a value that determines memory use must be read only once. */
PV_MUST_USE pv_status pv_archive_array(pv_ctx *ctx, pv_archive *archive, size_t member, pv_array *array);

/* Element i in C order. NaN for text arrays. */
double pv_array_number(const pv_array *array, size_t i);
/* Elements first .. first+n-1 in C order as floats. Not for text. */
void pv_array_floats(const pv_array *array, size_t first, size_t n, float *values);
/* Element i as text, at most size bytes including the final NUL; numbers in their shortest form. */
void pv_array_text(const pv_array *array, size_t i, char *text, size_t size);

/* ---- images ------------------------------------------------------------------------------------------------------ */

typedef enum pv_image_layout {
    PV_IMAGES_PLANES,  /* [N][H][W] */
    PV_IMAGES_VOLUMES, /* [N][D][H][W] */
    PV_IMAGES_VIEWS    /* [N][V][H][W], views used as they are */
} pv_image_layout;

/* The roles of arrays. A name is that of a member of the file, or of another file with one array. NULL: the default
 * name ("images", "labels", ...) if the file has it. Empty: not used. */
typedef struct pv_image_roles {
    const char *images;
    const char *labels;      /* [N], numbers or text */
    const char *votes;       /* [N][raters], whole numbers 1 .. K; 0: no vote */
    const char *frequencies; /* [N][classes], each row sums to 1 */
    const char *group;       /* [N], numbers or text, such as a patient */
    const char *spacing;     /* size of a pixel or voxel: [N], [N][2] (y, x) or [N][3] (z, y, x) */
    const char *positive;    /* two classes: the label that prevalence refers to; NULL: the last */
    bool views;              /* arrays of four dimensions are views, not volumes */
    bool unlabelled;         /* labels, votes and frequencies are not read */
    bool drop_missing;       /* rows without a vote, or with too few, are dropped instead of rejected */
    int64_t votes_min;       /* smallest number of votes of a row; 0 and 1 are the same */
    double binarise; /* votes become two classes, by whether their mean is below or above this; rows with an equal mean
                        are dropped. 0: the frequencies of the votes are the target */
    bool members_only; /* names must be members of the file, not other files; for names that come from a model file */
} pv_image_roles;

typedef struct pv_images {
    char *source;
    size_t rows;
    pv_image_layout layout;
    size_t planes, height, width; /* planes: depth, or views; 1 for [N][H][W] */
    size_t *index;                /* [rows], row of the file */
    size_t dropped;               /* number of rows left out */
    int classes;                  /* 0 without labels */
    char **labels;                /* [classes] */
    int32_t *label;               /* [rows]; NULL with frequencies, or unlabelled */
    double *frequency;            /* [rows][classes]; NULL with labels */
    int32_t *group;               /* [rows], codes from 0; NULL: not given */
    int32_t groups;
    double *spacing; /* [rows][3], z, y, x; NULL: not given, 1 is assumed */
    uint64_t hash;   /* XXH3-64 of the arrays used */
    pv_array pixels;
    uint64_t pixels_hash;  /* hash of the pixels only */
    pv_archive **archives; /* [n_archives], kept open */
    size_t n_archives;
    size_t *touched; /* bytes of mapped pixels read since pages were last released */
} pv_images;

/* The caller frees *images. Refused, with array and index: inconsistent shapes, votes that are not grades, rows without
 * a vote (unless dropped), frequencies that do not sum to 1, pixels that are NaN or infinite. */
PV_MUST_USE pv_status pv_images_read(pv_ctx *ctx, const char *path, const pv_image_roles *roles, pv_images **images);
/* The same for an open archive. The caller and the images each hold a reference; the last one to be freed closes it. */
PV_MUST_USE pv_status pv_images_of(pv_ctx *ctx, pv_archive *archive, const pv_image_roles *roles, pv_images **images);
void pv_images_free(pv_ctx *ctx, pv_images *images); /* NULL is allowed */

/* Fails if the files of images changed since they were read, since results would mix old and new data. quick: pixels
 * are not compared if only the file's permissions or names changed. Called at the end of fits and predictions. */
PV_MUST_USE pv_status pv_images_unchanged(pv_ctx *ctx, const pv_images *images, bool quick);

/* The pixels [planes][height][width] of a row, as they are in the file. */
void pv_images_pixels(const pv_images *images, size_t row, float *pixels);
pv_targets pv_images_targets(const pv_images *images); /* the arrays are borrowed */

/* ---- views ---------------------------------------------------------------------------------------------------------
 * The network's input for one image: planes of size x size pixels, cut out and linearly interpolated.
 *
 *   volumes   triplets of orthogonal planes through the centre, in training with a random orientation for each triplet
 *   planes    the image itself, in training randomly rotated, mirrored, shifted and scaled
 *   views     used as they are
 *
 * For predictions the views are the same for every image and every run: the first plane or triplet is parallel to the
 * axes, the others have fixed random orientations.
 */

/* How images are used. */
typedef struct pv_image_options {
    const char *images;  /* as in pv_image_roles */
    const char *votes;   /* votes are the target instead of a column */
    const char *spacing; /* as in pv_image_roles */
    bool ready;          /* arrays of four dimensions are views */
    double binarise;
    int64_t votes_min;
    const char *window; /* "LOW,HIGH": intensities are clipped to this range; NULL: no clipping */
    double field; /* side of a view in pixels, or in the unit of the spacing; 0: the largest that fits into the image */
    double rotate; /* planes: largest angle in degrees; volumes: not 0: any orientation */
    bool no_flip;
    double shift;        /* largest shift, as a share of the field */
    double scale;        /* largest change of scale */
    int64_t views, size; /* determined by the model; set them from pv_model_views */
} pv_image_options;

extern const pv_option pv_image_option_table[]; /* all but views and size; ends with a NULL name */

/* The pv_image_options inside settings, borrowed; NULL if settings were made without that table. */
const pv_image_options *pv_image_options_of(const pv_settings *settings);

/* The same with values learned from the training data, stored with the model. */
typedef struct pv_image_encoding {
    char *images, *votes, *spacing; /* empty: not named */
    pv_image_layout layout;
    double binarise;
    int64_t votes_min;
    size_t views, size;
    double low, high; /* bounds of the window; infinite if there is none */
    double mean, sd;  /* of the training images' pixels within the window */
    double field;
    double rotate, shift, scale;
    bool flip;
} pv_image_encoding;

/* Cuts x [views][size][size] out of an image, as (pixel - mean)/sd. rng: random views for training; NULL: the fixed
 * views. */
void pv_views_cut(const pv_image_encoding *encoding, const pv_images *images, size_t row, pv_rng *rng, double *x);

#ifdef __cplusplus
}
#endif
#endif
