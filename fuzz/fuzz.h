/* fuzz/fuzz.h: what the targets share.
 *
 * A target is one file, fuzz/target_NAME.c, with LLVMFuzzerTestOneInput. It is linked with libFuzzer, with AFL++'s
 * driver, or with replay.c, which runs the files it is given. Outside bytes reach the library as they do in use:
 * through a path, here that of a file in memory.
 *
 * The context counts what it holds. A target states how much memory its input justifies; more is a finding, as is a
 * block that is not released.
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

/* A statement that must hold; the message has printf's form. */
#define FUZZ_CHECK(holds, ...)                                                                                         \
    do {                                                                                                               \
        if (!(holds)) {                                                                                                \
            fprintf(stderr, "%s:%d: %s does not hold: ", __FILE__, __LINE__, #holds);                                  \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* ---- the context ------------------------------------------------------------------------------------------------- */

enum { FUZZ_FIXED = 8 << 20, FUZZ_PER_BYTE = 4096 };

/* A context of one thread that may hold FUZZ_FIXED bytes and FUZZ_PER_BYTE for each of the input's. */
pv_ctx *fuzz_begin(size_t size);
/* The same with other limits. */
pv_ctx *fuzz_begin_within(size_t fixed, size_t per_byte, size_t size);
/* Frees the context, which must hold nothing else, and the texts below. */
void fuzz_end(pv_ctx *ctx);
/* A refusal has a message of one line, and blames neither the library nor the memory. */
void fuzz_refused(const pv_ctx *ctx, pv_status status);

/* ---- the input --------------------------------------------------------------------------------------------------- */

typedef struct fuzz_input {
    const uint8_t *data;
    size_t size;
} fuzz_input;

/* The next byte, 0 where there is none. */
uint8_t fuzz_byte(fuzz_input *in);
/* A double from the next eight bytes, whatever it is. */
double fuzz_bits(fuzz_input *in);
/* From the next two bytes, evenly spread over [low, high]. */
double fuzz_between(fuzz_input *in, double low, double high);
/* The text up to the next line feed, which is taken too, or up to the end; NULL where it is empty. Ends at a NUL. Valid
 * until fuzz_end. */
const char *fuzz_line(fuzz_input *in);
/* Memory until fuzz_end; zeroed. */
void *fuzz_room(size_t count, size_t size);

/* ---- files ------------------------------------------------------------------------------------------------------- */

enum { FUZZ_FILES = 4 };

/* The path of a file in memory that holds these bytes until the next call with this index. */
const char *fuzz_file(int index, const void *data, size_t size);
/* A path in a folder of this process, for files that are written. Removed at exit. */
const char *fuzz_output(void);
/* The bytes of a file; valid until fuzz_end. */
fuzz_input fuzz_slurp(const char *path);

/* ---- comparisons ------------------------------------------------------------------------------------------------- */

bool fuzz_same_bits(double a, double b);
/* Cells, types, names and levels; not source, lines and hash. */
void fuzz_same_table(const pv_table *a, const pv_table *b);
/* Codes and levels in their range, names there. */
void fuzz_sound_table(const pv_table *table);
/* n rows of probabilities that add up to 1. */
void fuzz_sound_probabilities(size_t n, size_t classes, const double *p);

/* ---- a model ----------------------------------------------------------------------------------------------------- */

/* A linear classifier of builtin:esoph with a posterior where asked for, made once and kept. */
const pv_classifier *fuzz_classifier(bool posterior);

/* ---- arrays (arrays.c) ------------------------------------------------------------------------------------------- */

/* Bytes that grow; from malloc. */
typedef struct fuzz_bytes {
    uint8_t *data;
    size_t size, room;
} fuzz_bytes;

void fuzz_append(fuzz_bytes *bytes, const void *data, size_t size);
/* An NPY file of version 1. data [size] are the elements. */
void fuzz_npy(fuzz_bytes *to, const char *type, bool fortran, int dims, const size_t *shape, const void *data,
              size_t size);
/* An NPZ file of arrays that the input describes: for each a name out of names, a type, a shape, elements. Its own
 * sizes and checksums are right. */
void fuzz_npz(fuzz_input *in, const char *const *names, size_t n, fuzz_bytes *to);
/* As zlib's, in the form of gzip. */
void fuzz_gzip(const void *data, size_t size, fuzz_bytes *to);

#endif
