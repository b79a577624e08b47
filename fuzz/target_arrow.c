/* Arrow streams of any shape that violate every claim which the interface lets a reader check. Each is rejected or
 * gives a valid table; nothing is read beyond a buffer, and everything is released. */
#include "fuzz.h"
#include "prevail/arrow.h"

enum { COLUMNS = 3, BATCHES = 3, LENGTH = 12 };

typedef struct producer {
    fuzz_input *in;
    int64_t columns, batches, handed;
    const char *format[COLUMNS], *values[COLUMNS]; /* values: of a dictionary; NULL: none */
    int64_t alive;
} producer;

static const char *const formats[] = {
    "g", "f", "e", "c",   "C",    "i", "I",  "l",     "L",        "b",        "u",   "U",        "vu",
    "n", "s", "S", "tdD", "tsn:", "z", "+l", "d:9,2", "d:9,2,32", "d:9,2,64", "tdm", "d:9,2,256"};

static const char *choose(fuzz_input *in) {
    return formats[fuzz_byte(in) % (sizeof formats / sizeof *formats)];
}

/* Bytes per element in the second buffer; a buffer of text offsets has one more element. */
static size_t element(const char *format) {
    static const char *const wide[] = {"g", "l", "L", "U", "tsn:", "tdm", "d:9,2,64"};
    static const char *const narrow[] = {"c", "C"}, *const two[] = {"e", "s", "S"};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (strcmp(format, wide[i]) == 0)
            return 8;
    for (size_t i = 0; i < 2; i++)
        if (strcmp(format, narrow[i]) == 0)
            return 1;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(format, two[i]) == 0)
            return 2;
    return strcmp(format, "vu") == 0 || strcmp(format, "d:9,2") == 0 ? 16 : 4;
}

/* A block of exactly this size, so that accesses beyond it are detected. */
static void *block(fuzz_input *in, size_t size) {
    uint8_t *made = malloc(size ? size : 1);
    FUZZ_CHECK(made, "out of memory");
    for (size_t i = 0; i < size; i++)
        made[i] = fuzz_byte(in);
    return made;
}

/* ---- release ----------------------------------------------------------------------------------------------------- */

static void drop_array(struct ArrowArray *array) {
    for (int64_t b = 0; array->private_data && b < (int64_t)(size_t)array->private_data; b++)
        free((void *)(uintptr_t)array->buffers[b]);
    free(array->buffers);
    if (array->dictionary)
        drop_array(array->dictionary);
    free(array->dictionary);
}

typedef struct batch {
    producer *p;
    struct ArrowArray array[COLUMNS], *child[COLUMNS];
} batch;

static void batch_released(struct ArrowArray *array) {
    batch *b = array->private_data;
    for (int c = 0; c < COLUMNS; c++)
        drop_array(&b->array[c]);
    b->p->alive--;
    free(b);
    array->release = NULL;
}

typedef struct described {
    producer *p;
    struct ArrowSchema schema[COLUMNS], dictionary[COLUMNS], *child[COLUMNS];
} described;

static void schema_released(struct ArrowSchema *schema) {
    described *d = schema->private_data;
    d->p->alive--;
    free(d);
    schema->release = NULL;
}

static void stream_released(struct ArrowArrayStream *stream) {
    ((producer *)stream->private_data)->alive--;
    stream->release = NULL;
}

/* ---- construction ------------------------------------------------------------------------------------------------ */

/* Offsets that may decrease or be negative, but do not exceed size, which no reader could check. */
static void *offsets(fuzz_input *in, size_t n, size_t width, size_t size) {
    uint8_t *made = malloc((n + 1) * width);
    FUZZ_CHECK(made, "out of memory");
    int64_t last = 0;
    for (size_t i = 0; i <= n; i++) {
        uint8_t step = fuzz_byte(in);
        last = step < 240 ? last + step % 4 : (int64_t)(step % 5) - 2;
        last = last > (int64_t)size ? (int64_t)size : last;
        int32_t narrow = (int32_t)last;
        memcpy(made + i * width, width == 8 ? (const void *)&last : &narrow, width);
    }
    return made;
}

static void make_array(fuzz_input *in, const char *format, size_t n, struct ArrowArray *array) {
    enum { TEXT = 20, FURTHER = 2 };
    bool text = strcmp(format, "u") == 0 || strcmp(format, "U") == 0, view = strcmp(format, "vu") == 0;
    size_t offset = fuzz_byte(in) % 4, all = n + offset,
           count = text                  ? 3
                   : view                ? 3 + FURTHER
                   : strcmp(format, "n") ? 2
                                         : 0;
    uint8_t lie = fuzz_byte(in), holes = fuzz_byte(in);
    const void **buffers = calloc(8, sizeof *buffers);
    FUZZ_CHECK(buffers, "out of memory");
    if (count > 0 && holes & 1)
        buffers[0] = block(in, (all + 7) / 8);
    if (text)
        buffers[1] = offsets(in, all, element(format), TEXT);
    else if (count > 0)
        buffers[1] = block(in, strcmp(format, "b") == 0 ? (all + 7) / 8 : all * element(format));
    if (text)
        buffers[2] = block(in, TEXT);
    if (view) {
        int64_t sizes[FURTHER] = {TEXT, 3};
        void *told = malloc(sizeof sizes);
        FUZZ_CHECK(told, "out of memory");
        memcpy(told, sizes, sizeof sizes);
        buffers[2] = block(in, TEXT);
        buffers[3] = block(in, 3);
        buffers[4] = told;
    }
    *array = (struct ArrowArray){.length = (int64_t)n,
                                 .null_count = holes & 1 ? (int64_t)(holes >> 1) - 1 : 0,
                                 .offset = (int64_t)offset,
                                 .n_buffers = (int64_t)count,
                                 .buffers = buffers,
                                 .private_data = (void *)count};
    if (lie == 1)
        array->length = (int64_t)(n / 2);
    else if (lie == 2)
        array->length = -1;
    else if (lie == 3)
        array->offset = -1;
    else if (lie == 4)
        array->offset = INT64_MAX;
    else if (lie == 5 && !view) /* for views that would move the sizes to uninitialised memory */
        array->n_buffers += 1;
    else if (lie == 6)
        array->n_buffers = 0;
    else if (lie == 7 && count > 1) {
        free((void *)(uintptr_t)buffers[1]);
        buffers[1] = NULL;
    } else if (lie == 8 && count > 2) {
        free((void *)(uintptr_t)buffers[2]);
        buffers[2] = NULL;
    }
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    producer *p = stream->private_data;
    uint8_t lie = fuzz_byte(p->in);
    if (lie == 1)
        return 22;
    described *d = calloc(1, sizeof *d);
    FUZZ_CHECK(d, "out of memory");
    d->p = p;
    p->alive++;
    static const char *const names[] = {"a", "b", "a", "", NULL, "x1"};
    for (int c = 0; c < COLUMNS; c++) {
        d->schema[c].format = lie == 2 && c == 1 ? NULL : p->format[c];
        d->schema[c].name = names[fuzz_byte(p->in) % 6];
        d->dictionary[c].format = p->values[c];
        d->schema[c].dictionary = p->values[c] ? &d->dictionary[c] : NULL;
        d->child[c] = lie == 3 && c == 0 ? NULL : &d->schema[c];
    }
    *out = (struct ArrowSchema){.format = lie == 4   ? "i"
                                          : lie == 5 ? NULL
                                                     : "+s",
                                .n_children = lie == 6 ? -1 : p->columns,
                                .children = lie == 7 ? NULL : d->child,
                                .release = schema_released,
                                .private_data = d};
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    producer *p = stream->private_data;
    uint8_t lie = fuzz_byte(p->in);
    *out = (struct ArrowArray){0};
    if (lie == 1)
        return 5;
    if (p->handed++ == p->batches)
        return 0;
    batch *b = calloc(1, sizeof *b);
    FUZZ_CHECK(b, "out of memory");
    b->p = p;
    p->alive++;
    size_t n = fuzz_byte(p->in) % LENGTH, skip = fuzz_byte(p->in) % 3;
    for (int c = 0; c < COLUMNS; c++) {
        make_array(p->in, p->format[c], n + skip, &b->array[c]);
        b->child[c] = lie == 2 && c == 0 ? NULL : &b->array[c];
        if (!p->values[c] || lie == 3)
            continue;
        b->array[c].dictionary = calloc(1, sizeof *b->array[c].dictionary);
        FUZZ_CHECK(b->array[c].dictionary, "out of memory");
        make_array(p->in, p->values[c], fuzz_byte(p->in) % 5, b->array[c].dictionary);
    }
    *out = (struct ArrowArray){.length = lie == 4   ? -1
                                         : lie == 5 ? INT64_MAX
                                                    : (int64_t)n,
                               .offset = lie == 6   ? -1
                                         : lie == 7 ? INT64_MAX
                                                    : (int64_t)skip,
                               .null_count = lie == 8 ? 1 : 0,
                               .n_children = lie == 9 ? 1000 : p->columns,
                               .children = lie == 10 ? NULL : b->child,
                               .release = batch_released,
                               .private_data = b};
    return 0;
}

static const char *last_error(struct ArrowArrayStream *stream) {
    (void)stream;
    return "a stream\nthat fails";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    producer p = {
        .in = &in, .columns = 1 + fuzz_byte(&in) % COLUMNS, .batches = fuzz_byte(&in) % (BATCHES + 1), .alive = 1};
    for (int c = 0; c < COLUMNS; c++) {
        p.format[c] = choose(&in);
        p.values[c] = fuzz_byte(&in) & 1 ? choose(&in) : NULL;
    }
    struct ArrowArrayStream stream = {get_schema, get_next, last_error, stream_released, &p};
    pv_ctx *ctx = fuzz_begin(size);
    pv_table *table;
    pv_status status = pv_table_of_arrow(ctx, "frame", &stream, &table);
    FUZZ_CHECK(p.alive == 0, "%lld objects of the stream are not released", (long long)p.alive);
    if (status != PV_OK)
        fuzz_refused(ctx, status);
    for (size_t c = 0; status == PV_OK && c < table->columns; c++)
        for (size_t i = 0; table->column[c].type == PV_COLUMN_TEXT && i < table->rows; i++)
            FUZZ_CHECK(table->column[c].code[i] >= -1 && table->column[c].code[i] < table->column[c].levels, "code %d",
                       (int)table->column[c].code[i]);
    pv_table_free(ctx, table);
    fuzz_end(ctx);
    return 0;
}
