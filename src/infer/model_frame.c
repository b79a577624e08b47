/* Lines, sizes and checksum of a model file, and texts and arrays of its header and payload. Allocations never exceed
 * what the file's size justifies. */
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "infer/model_file.h"

pv_status pv__model_damaged(const pv__reader *r, const char *what) {
    return pv__fail_at(r->ctx, PV_ERR_FORMAT, r->path, 0, 0,
                       "is not a usable prevail model: %s;\nfit it again or restore it from a copy", what);
}

/* Parses the first two lines in n bytes; *used: their length. */
static pv_status read_lines(pv__reader *r, const unsigned char *bytes, size_t n, size_t *used) {
    const size_t magic = sizeof PV__MODEL_MAGIC - 1, word = strlen("prevail-model ");
    const char *text = (const char *)bytes;
    if (n < magic || memcmp(text, PV__MODEL_MAGIC, magic) != 0) {
        if (n >= word && memcmp(text, PV__MODEL_MAGIC, word) == 0)
            return pv__model_damaged(r, "it was written in another version of the format");
        return pv__fail_at(
            r->ctx, PV_ERR_FORMAT, r->path, 0, 0,
            "is not a prevail model (it does not begin with 'prevail-model 1'); if it is data, the order is "
            "MODEL, then DATA");
    }
    size_t sizes[2], line = pv__sizes_parse(text + magic, n - magic, sizes, &r->sum);
    if (line == 0)
        return pv__model_damaged(r, "its second line is damaged");
    r->header_size = sizes[0];
    r->payload_size = sizes[1];
    *used = magic + line;
    return PV_OK;
}

/* Checks that the rest of the file has the size given in the first two lines. */
static pv_status check_rest(const pv__reader *r, size_t rest) {
    if (r->header_size >= rest || r->payload_size != rest - r->header_size - 1)
        return pv__model_damaged(r, "it is truncated, or has extra data at the end");
    return PV_OK;
}

static pv_status check_sum(const pv__reader *r) {
    pv__hasher state;
    pv__hasher_begin(&state);
    pv__hasher_add(&state, r->header, r->header_size);
    pv__hasher_add(&state, r->payload, r->payload_size);
    uint64_t own = pv__hasher_end(&state);
    return own == r->sum ? PV_OK : pv__model_damaged(r, "its checksum is wrong");
}

pv_status pv__model_frame(pv__reader *r, FILE *stream) {
    unsigned char start[sizeof PV__MODEL_MAGIC + PV_SIZES_LINE];
    struct stat about;
    size_t used, n = fread(start, 1, sizeof start, stream);
    PV_TRY(read_lines(r, start, n, &used));
    if (fstat(fileno(stream), &about) != 0 || !S_ISREG(about.st_mode) || (off_t)used > about.st_size ||
        fseek(stream, (long)used, SEEK_SET) != 0)
        return pv__model_damaged(r, "its size is unknown");
    PV_TRY(check_rest(r, (size_t)about.st_size - used));
    PV_TRY(pv__alloc(r->ctx, r->header_size + 1, 1, &r->header));
    PV_TRY(pv__alloc(r->ctx, r->payload_size, 1, &r->own));
    r->payload = r->own;
    if (fread(r->header, 1, r->header_size, stream) != r->header_size || fgetc(stream) != '\n' ||
        fread(r->own, 1, r->payload_size, stream) != r->payload_size)
        return pv__model_damaged(r, "it cannot be read to its end");
    return check_sum(r);
}

pv_status pv__model_frame_bytes(pv__reader *r, const unsigned char *bytes, size_t size) {
    size_t used;
    PV_TRY(read_lines(r, bytes, size, &used));
    PV_TRY(check_rest(r, size - used));
    PV_TRY(pv__alloc(r->ctx, r->header_size + 1, 1, &r->header));
    memcpy(r->header, bytes + used, r->header_size);
    if (bytes[used + r->header_size] != '\n')
        return pv__model_damaged(r, "it cannot be read to its end");
    r->payload = bytes + used + r->header_size + 1;
    return check_sum(r);
}

pv_status pv__model_text(const pv__reader *r, const pv_result *object, const char *key, char **text) {
    const pv_result *value = pv_result_get(object, key);
    if (!pv__value_is(value, PV_RESULT_TEXT))
        return pv__model_damaged(r, "a text is missing from its header");
    return pv__strdup(r->ctx, pv_result_text(value), text);
}

pv_status pv__model_texts(const pv__reader *r, const pv_result *list, char ***text, size_t *count) {
    size_t n = pv_result_count(list);
    if (!pv__value_is(list, PV_RESULT_LIST))
        return pv__model_damaged(r, "a list is missing from its header");
    PV_TRY(pv__alloc(r->ctx, n, sizeof **text, text));
    *count = n;
    for (size_t i = 0; i < n; i++) {
        const char *item = pv_result_text(pv_result_child(list, i));
        if (!item)
            return pv__model_damaged(r, "a list of its header holds something other than text");
        PV_TRY(pv__strdup(r->ctx, item, &(*text)[i]));
    }
    return PV_OK;
}

pv_status pv__model_array(const pv__reader *r, const char *name, size_t count, bool undefined_too, double **values) {
    const pv_result *entry = pv_result_get(pv_result_get(r->root, "arrays"), name);
    int64_t offset = pv__value_integer_of(pv_result_get(entry, "offset"));
    if (!entry || pv__value_integer_of(pv_result_get(entry, "count")) != (int64_t)count || offset < 0 ||
        (size_t)offset > r->payload_size || count > (r->payload_size - (size_t)offset) / sizeof(double))
        return pv__model_damaged(r, "an array's size does not fit the model");
    PV_TRY(pv__alloc(r->ctx, count, sizeof(double), values));
    memcpy(*values, r->payload + offset, count * sizeof(double));
    pv__little_endian(*values, sizeof(double), count, *values);
    for (size_t i = 0; i < count; i++)
        if (!isfinite((*values)[i]) && !(undefined_too && isnan((*values)[i]))) {
            pv__free(r->ctx, *values);
            *values = NULL;
            return pv__model_damaged(r, "an array holds a number that is not finite");
        }
    return PV_OK;
}
