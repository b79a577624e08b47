/* Context, input and files of the targets. */
#include "fuzz.h"

#include <ftw.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t held, blocks, limit;

static void count(size_t size) {
    held += size;
    FUZZ_CHECK(held <= limit, "%zu bytes are held, %zu are justified", held, limit);
}

static void *counted_alloc(void *state, size_t size) {
    (void)state;
    FUZZ_CHECK(size <= limit, "%zu bytes are asked for, %zu are justified", size, limit);
    void *block = malloc(size);
    if (block) {
        blocks++;
        count(malloc_usable_size(block));
    }
    return block;
}

static void *counted_resize(void *state, void *block, size_t size) {
    (void)state;
    FUZZ_CHECK(size <= limit, "%zu bytes are asked for, %zu are justified", size, limit);
    size_t before = block ? malloc_usable_size(block) : 0;
    void *made = realloc(block, size);
    if (made) {
        blocks += block == NULL;
        held -= before;
        count(malloc_usable_size(made));
    }
    return made;
}

static void counted_release(void *state, void *block) {
    (void)state;
    if (block) {
        held -= malloc_usable_size(block);
        blocks--;
    }
    free(block);
}

/* ---- memory freed by fuzz_end ------------------------------------------------------------------------------------ */

static void **kept;
static size_t n_kept;

void *fuzz_room(size_t n, size_t size) {
    void **grown = realloc(kept, (n_kept + 1) * sizeof *kept), *block = calloc(n ? n : 1, size ? size : 1);
    FUZZ_CHECK(grown && block, "out of memory");
    kept = grown;
    return kept[n_kept++] = block;
}

pv_ctx *fuzz_begin_within(size_t fixed, size_t per_byte, size_t size) {
    pv_ctx_options options = pv_ctx_options_default();
    options.threads = 1;
    options.allocator = (pv_allocator){counted_alloc, counted_resize, counted_release, NULL};
    held = blocks = 0;
    limit = fixed + per_byte * size;
    pv_ctx *ctx;
    FUZZ_CHECK(pv_ctx_new(&options, &ctx) == PV_OK, "no context");
    return ctx;
}

pv_ctx *fuzz_begin(size_t size) {
    return fuzz_begin_within(FUZZ_FIXED, FUZZ_PER_BYTE, size);
}

void fuzz_end(pv_ctx *ctx) {
    pv_ctx_free(ctx);
    FUZZ_CHECK(blocks == 0 && held == 0, "%zu blocks with %zu bytes were not released", blocks, held);
    for (size_t i = 0; i < n_kept; i++)
        free(kept[i]);
    free(kept);
    kept = NULL;
    n_kept = 0;
}

void fuzz_refused(const pv_ctx *ctx, pv_status status) {
    const pv_error *error = pv_ctx_error(ctx);
    FUZZ_CHECK(error->status == status, "'%s' was returned, '%s' recorded", pv_status_name(status),
               pv_status_name(error->status));
    FUZZ_CHECK(status != PV_ERR_MEMORY && status != PV_ERR_INTERNAL, "%s", error->message);
    FUZZ_CHECK(error->message[0] && memchr(error->message, '\0', sizeof error->message), "no message");
}

/* ---- input ------------------------------------------------------------------------------------------------------- */

static void take(fuzz_input *in, void *to, size_t n) {
    size_t some = n < in->size ? n : in->size;
    memset(to, 0, n);
    memcpy(to, in->data, some);
    in->data += some;
    in->size -= some;
}

uint8_t fuzz_byte(fuzz_input *in) {
    uint8_t byte;
    take(in, &byte, 1);
    return byte;
}

double fuzz_bits(fuzz_input *in) {
    double value;
    take(in, &value, sizeof value);
    return value;
}

double fuzz_between(fuzz_input *in, double low, double high) {
    uint16_t part;
    take(in, &part, sizeof part);
    return low + (high - low) * part / 65535;
}

const char *fuzz_line(fuzz_input *in) {
    const uint8_t *end = in->size ? memchr(in->data, '\n', in->size) : NULL;
    size_t length = end ? (size_t)(end - in->data) : in->size;
    char *text = fuzz_room(length + 1, 1);
    take(in, text, length);
    fuzz_byte(in);
    return *text ? text : NULL;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

const char *fuzz_file(int index, const void *data, size_t size) {
    static struct {
        int descriptor;
        char path[32];
    } file[FUZZ_FILES];
    FUZZ_CHECK(index < FUZZ_FILES, "no file %d", index);
    if (!file[index].descriptor) {
        file[index].descriptor = memfd_create("fuzz", MFD_CLOEXEC);
        FUZZ_CHECK(file[index].descriptor > 0, "no file in memory");
        snprintf(file[index].path, sizeof file[index].path, "/proc/self/fd/%d", file[index].descriptor);
    }
    FUZZ_CHECK(ftruncate(file[index].descriptor, 0) == 0, "a file in memory cannot be emptied");
    for (size_t done = 0; done < size;) {
        ssize_t some = pwrite(file[index].descriptor, (const char *)data + done, size - done, (off_t)done);
        FUZZ_CHECK(some > 0, "a file in memory cannot be written");
        done += (size_t)some;
    }
    return file[index].path;
}

static char folder[256];

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where) {
    (void)about, (void)type, (void)where;
    return remove(path);
}

static void remove_folder(void) {
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *fuzz_output(void) {
    static char path[300];
    if (!*folder) {
        const char *place = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/prevail-fuzz-XXXXXX", place ? place : "/tmp");
        FUZZ_CHECK(mkdtemp(folder), "no folder %s", folder);
        atexit(remove_folder);
        snprintf(path, sizeof path, "%s/output", folder);
    }
    return path;
}

fuzz_input fuzz_slurp(const char *path) {
    FILE *stream = fopen(path, "rb");
    FUZZ_CHECK(stream && fseek(stream, 0, SEEK_END) == 0, "%s was not written", path);
    size_t size = (size_t)ftell(stream);
    rewind(stream);
    uint8_t *data = fuzz_room(size, 1);
    FUZZ_CHECK(fread(data, 1, size, stream) == size, "%s cannot be read", path);
    fclose(stream);
    return (fuzz_input){data, size};
}

/* ---- comparisons ------------------------------------------------------------------------------------------------- */

bool fuzz_same_bits(double a, double b) {
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

static const char *cell(const pv_column *column, size_t row) {
    return column->code[row] < 0 ? "(missing)" : column->level[column->code[row]];
}

void fuzz_same_table(const pv_table *a, const pv_table *b) {
    FUZZ_CHECK(a->rows == b->rows && a->columns == b->columns, "%zu x %zu became %zu x %zu", a->rows, a->columns,
               b->rows, b->columns);
    for (size_t c = 0; c < a->columns; c++) {
        const pv_column *left = &a->column[c], *right = &b->column[c];
        FUZZ_CHECK(strcmp(left->name, right->name) == 0, "'%s' became '%s'", left->name, right->name);
        FUZZ_CHECK(left->type == right->type, "column '%s' changed its type", left->name);
        for (size_t i = 0; i < a->rows; i++)
            if (left->type == PV_COLUMN_NUMBER)
                FUZZ_CHECK(fuzz_same_bits(left->number[i], right->number[i]), "%.17g became %.17g", left->number[i],
                           right->number[i]);
            else
                FUZZ_CHECK((left->code[i] < 0) == (right->code[i] < 0) && strcmp(cell(left, i), cell(right, i)) == 0,
                           "'%s' became '%s'", cell(left, i), cell(right, i));
    }
}

void fuzz_sound_table(const pv_table *table) {
    for (size_t c = 0; c < table->columns; c++) {
        const pv_column *column = &table->column[c];
        FUZZ_CHECK(column->name && (*column->name || table->arrays), "column %zu has no name", c);
        for (size_t i = 0; column->code && i < table->rows; i++) /* texts, and numbers with their spelling */
            FUZZ_CHECK(column->code[i] >= -1 && column->code[i] < column->levels, "code %d of %d", column->code[i],
                       column->levels);
    }
    for (size_t i = 1; i < table->rows; i++)
        FUZZ_CHECK(pv_table_line(table, i) > pv_table_line(table, i - 1), "row %zu begins above the one before", i);
}

void fuzz_sound_probabilities(size_t n, size_t classes, const double *p) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t y = 0; y < classes; y++) {
            FUZZ_CHECK(p[i * classes + y] >= 0 && p[i * classes + y] <= 1 + 1e-12, "p = %.17g", p[i * classes + y]);
            sum += p[i * classes + y];
        }
        FUZZ_CHECK(fabs(sum - 1) <= 1e-9, "row %zu adds up to %.17g", i, sum);
    }
}

/* ---- a model ----------------------------------------------------------------------------------------------------- */

static pv_classifier *fit_esoph(bool posterior) {
    pv_ctx_options own = pv_ctx_options_default();
    own.threads = 1;
    pv_ctx *ctx;
    pv_table *table = NULL;
    pv_schema *schema = NULL;
    pv_dataset *data = NULL;
    pv_classifier *made = NULL;
    pv_roles roles = {.target = "cancer", .weights = "count"};
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.001";
    options.infer = posterior ? PV_INFER_LAPLACE : PV_INFER_MAP;
    options.draws = 100;
    FUZZ_CHECK(pv_ctx_new(&own, &ctx) == PV_OK, "no context");
    pv_status status = pv_table_builtin(ctx, "esoph", &table);
    if (status == PV_OK)
        status = pv_schema_learn(ctx, table, &roles, &schema, &data);
    if (status == PV_OK)
        status = pv_fit(ctx, schema, data, &options, &made);
    FUZZ_CHECK(status == PV_OK, "%s", pv_ctx_error(ctx)->message);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    pv_ctx_free(ctx);
    return made;
}

const pv_classifier *fuzz_classifier(bool posterior) {
    static pv_classifier *made[2]; /* reachable at exit, so not a leak */
    if (!made[posterior])
        made[posterior] = fit_esoph(posterior);
    return made[posterior];
}
