/* fuzz/fuzz.h: declarations shared by the targets.
 *
 * A target is one file, fuzz/target_NAME.c, with LLVMFuzzerTestOneInput. It is linked with libFuzzer, with AFL++'s
 * driver, or with replay.c, which runs given files. Untrusted bytes reach the library as they do in use: through a
 * path, here of a file in memory.
 *
 * The context counts allocated memory. A target states how much its input justifies; using more is a finding, and so is
 * a block that is not freed.
 */
#ifndef PV_FUZZ_H
#define PV_FUZZ_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prevail/prevail.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts unless the condition holds; the message is in printf format. */
#define FUZZ_CHECK(holds, ...)                                                                                         \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            fprintf(stderr, "%s:%d: %s does not hold: ", __FILE__, __LINE__, #holds);                                  \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- context ----------------------------------------------------------------------------------------------------- */

enum { FUZZ_FIXED = 8 << 20, FUZZ_PER_BYTE = 4096 };

/* A single-threaded context limited to FUZZ_FIXED bytes plus FUZZ_PER_BYTE for each input byte. */
pv_ctx *fuzz_begin(size_t size);
/* The same with other limits. */
pv_ctx *fuzz_begin_within(size_t fixed, size_t per_byte, size_t size);
/* Frees the context, in which nothing else may be allocated, and the texts below. */
void fuzz_end(pv_ctx *ctx);
/* Checks that an error has a one-line message and is neither PV_ERR_INTERNAL nor PV_ERR_MEMORY. */
void fuzz_refused(const pv_ctx *ctx, pv_status status);

/* ---- input ------------------------------------------------------------------------------------------------------- */

typedef struct fuzz_input {
    const uint8_t *data;
    size_t size;
} fuzz_input;

/* The next byte; 0 at the end. */
uint8_t fuzz_byte(fuzz_input *in);
/* A double with the bits of the next eight bytes. */
double fuzz_bits(fuzz_input *in);
/* A number evenly distributed over [low, high], from the next two bytes. */
double fuzz_between(fuzz_input *in, double low, double high);
/* The text up to the next line feed, which is skipped, or to the end; NULL if it is empty. Ends at a NUL. Valid until
 * fuzz_end. */
const char *fuzz_line(fuzz_input *in);
/* Zeroed memory that is valid until fuzz_end. */
void *fuzz_room(size_t count, size_t size);

/* ---- files ------------------------------------------------------------------------------------------------------- */

enum { FUZZ_FILES = 4 };

/* The path of a file in memory with these bytes, valid until the next call with this index. */
const char *fuzz_file(int index, const void *data, size_t size);
/* A path in a folder of this process for output files. Deleted at exit. */
const char *fuzz_output(void);
/* The bytes of a file; valid until fuzz_end. */
fuzz_input fuzz_slurp(const char *path);

/* ---- comparisons ------------------------------------------------------------------------------------------------- */

bool fuzz_same_bits(double a, double b);
/* Compares cells, types, names and levels, but not source, line numbers and hash. */
void fuzz_same_table(const pv_table *a, const pv_table *b);
/* Checks that codes and levels are within range and names exist. */
void fuzz_sound_table(const pv_table *table);
/* Checks n rows of probabilities with sum 1. */
void fuzz_sound_probabilities(size_t n, size_t classes, const double *p);

/* ---- a model ----------------------------------------------------------------------------------------------------- */

/* A linear classifier of builtin:esoph, with a posterior if requested; created once and kept. */
const pv_classifier *fuzz_classifier(bool posterior);

/* ---- arrays (arrays.c) ------------------------------------------------------------------------------------------- */

/* A growing buffer; allocated with malloc. */
typedef struct fuzz_bytes {
    uint8_t *data;
    size_t size, room;
} fuzz_bytes;

void fuzz_append(fuzz_bytes *bytes, const void *data, size_t size);
/* Appends an NPY file of version 1 with elements data [size]. */
void fuzz_npy(fuzz_bytes *to, const char *type, bool fortran, int dims, const size_t *shape, const void *data,
              size_t size);
/* Appends an NPZ file of arrays described by the input: for each a name from `names`, a type, a shape, elements. Sizes
 * and checksums are valid. */
void fuzz_npz(fuzz_input *in, const char *const *names, size_t n, fuzz_bytes *to);
/* gzip as zlib writes it. */
void fuzz_gzip(const void *data, size_t size, fuzz_bytes *to);

#endif
