/* Images and their metadata: turns named arrays into rows, labels or vote frequencies, groups and spacing. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "data/archive.h"
#include "data/data.h"

/* State of the reader in addition to the images. */
typedef struct reader {
    pv_ctx *ctx;
    const pv_image_roles *roles;
    pv_images *images;
    size_t file_rows;
    pv__hasher *hash;
    bool *keep; /* [file_rows] */
} reader;

static pv_status wrong(const reader *r, const pv_array *array, const char *format, ...) PV_PRINTF(3, 4);

static pv_status wrong(const reader *r, const pv_array *array, const char *format, ...) {
    char what[400];
    va_list list;
    va_start(list, format);
    pv__vformat(what, sizeof what, format, list);
    va_end(list);
    return pv__fail_at(r->ctx, PV_ERR_INPUT, r->images->source, 0, 0, "array '%s' %s", pv__show(array->name).text,
                       what);
}

/* ---- finding arrays ---------------------------------------------------------------------------------------------- */

static pv_status keep_archive(reader *r, const char *path, pv_archive **archive) {
    PV_TRY(pv__resize(r->ctx, r->images->n_archives + 1, sizeof(pv_archive *), &r->images->archives));
    PV_TRY(pv_archive_open(r->ctx, path, archive));
    r->images->archives[r->images->n_archives++] = *archive;
    return PV_OK;
}

static pv_status absent(const reader *r, const pv_archive *archive, const char *option, const char *name) {
    size_t n = pv_archive_count(archive);
    char list[200] = "";
    const char **names;
    PV_TRY(pv__alloc(r->ctx, n, sizeof *names, &names));
    for (size_t i = 0; i < n; i++) {
        names[i] = pv_archive_name(archive, i);
        size_t used = strlen(list);
        pv__format(list + used, sizeof list - used, "%s%s", i ? ", " : "", pv__show(names[i]).text);
    }
    const char *near = pv_nearest(name, names, n);
    pv_status status =
        pv__fail_at(r->ctx, PV_ERR_INPUT, r->images->source, 0, 0, "has no array '%s' for `%s`; %s%s%s: %s",
                    pv__show(name).text, option, near ? "did you mean '" : "", near ? pv__show(near).text : "",
                    near ? "'? It has" : "it has", n == 1 && !*names[0] ? "one array without a name" : list);
    pv__free(r->ctx, names);
    return status;
}

/* Pixels stay in the file; arrays that become indices or sizes are copied. */
static pv_status take_array(const reader *r, bool pixels, pv_archive *archive, size_t member, pv_array *array) {
    return pixels ? pv_archive_array(r->ctx, archive, member, array) : pv__archive_own(r->ctx, archive, member, array);
}

/* Finds the array for a role: the one that was named, or the one with the role's own name. *found is false if none was
 * named and none exists. */
static pv_status find_array(reader *r, const char *option, const char *named, pv_array *array, bool *found) {
    pv_archive *archive = r->images->archives[0];
    *found = false;
    if (named && !*named)
        return PV_OK; /* not wanted */
    const char *name = named ? named : option;
    size_t member = pv_archive_find(archive, name), count = pv_archive_count(archive);
    bool images = strcmp(option, "images") == 0;
    if (member == count && images && !named && count == 1)
        member = 0; /* a file with a single array */
    *found = member < count;
    if (*found) {
        PV_TRY(take_array(r, images, archive, member, array));
    } else if (named) {
        struct stat about;
        if (r->roles->members_only || stat(named, &about) != 0)
            return absent(r, archive, option, named);
        PV_TRY(keep_archive(r, named, &archive));
        if (pv_archive_count(archive) != 1)
            return pv__fail_at(r->ctx, PV_ERR_INPUT, named, 0, 0,
                               "has several arrays; `%s` takes a file of one:\nsave it alone (numpy.save)", option);
        PV_TRY(take_array(r, images, archive, 0, array));
        *found = true;
    } else if (images) {
        return absent(r, archive, option, name);
    }
    if (*found)
        pv__hash_pieces(r->hash, array->bytes, array->count * array->element, array->mapped);
    return PV_OK;
}

static bool is_text(const pv_array *array) {
    return array->type == PV_ARRAY_UNICODE || array->type == PV_ARRAY_BYTES;
}

static pv_status check_rows(const reader *r, const pv_array *array, int dims, const char *shape) {
    if (array->dims != dims)
        return wrong(r, array, "has %d dimension%s; %s is expected", array->dims, array->dims == 1 ? "" : "s", shape);
    if (array->shape[0] != r->file_rows)
        return wrong(r, array, "has %zu rows, but array '%s' has %zu;\nsave the same number of each", array->shape[0],
                     r->images->pixels.name, r->file_rows);
    return PV_OK;
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

static pv_status read_pixels(reader *r) {
    pv_images *images = r->images;
    pv_array *a = &images->pixels;
    bool found;
    PV_TRY(find_array(r, "images", r->roles->images, a, &found));
    images->pixels_hash = pv__hasher_end(r->hash); /* only pixels have been hashed so far */
    if (is_text(a))
        return wrong(r, a, "holds text, not pixels;\nname the array of images with `images`");
    if (a->dims != 3 && a->dims != 4)
        return wrong(r, a, "has %d dimensions; images are [N][H][W], volumes [N][D][H][W], views [N][V][H][W]",
                     a->dims);
    if (a->count == 0)
        return wrong(r, a, "is empty;\nsave images in it");
    images->layout = a->dims == 3 ? PV_IMAGES_PLANES : r->roles->views ? PV_IMAGES_VIEWS : PV_IMAGES_VOLUMES;
    if (r->roles->views && a->dims == 3)
        return wrong(r, a, "has 3 dimensions; ready views are [N][V][H][W]:\nleave `ready-views` out");
    images->planes = a->dims == 4 ? a->shape[1] : 1;
    images->height = a->shape[a->dims - 2];
    images->width = a->shape[a->dims - 1];
    r->file_rows = a->shape[0];
    return PV_OK;
}

/* Rejects NaN and infinite pixels, with their position; integers need no check. */
static pv_status check_pixels(const reader *r) {
    const pv_array *a = &r->images->pixels;
    if (a->type != PV_ARRAY_F32 && a->type != PV_ARRAY_F64)
        return PV_OK;
    size_t row = a->count / r->file_rows, width = r->images->width, height = r->images->height;
    float *pixels;
    PV_TRY(pv__alloc(r->ctx, row, sizeof *pixels, &pixels));
    pv_status status = PV_OK;
    for (size_t n = 0; n < r->file_rows && status == PV_OK; n++) {
        pv_array_floats(a, n * row, row, pixels);
        pv__images_touched(r->images, row * a->element);
        for (size_t i = 0; i < row && r->keep[n]; i++)
            if (!isfinite(pixels[i])) {
                status = a->dims == 3 ? wrong(r, a, "has a pixel that is %s at [%zu][%zu][%zu];\ngive it a number",
                                              isnan(pixels[i]) ? "NaN" : "infinite", n, i / width, i % width)
                                      : wrong(r, a, "has a pixel that is %s at [%zu][%zu][%zu][%zu];\ngive it a number",
                                              isnan(pixels[i]) ? "NaN" : "infinite", n, i / (width * height),
                                              i / width % height, i % width);
                break;
            }
    }
    pv__free(r->ctx, pixels);
    return status;
}

/* ---- labels, groups: texts to codes ------------------------------------------------------------------------------ */

typedef struct codes {
    pv_column column; /* its levels, found through a dictionary */
    pv__dictionary dictionary;
    int32_t *code; /* [file_rows] */
    char *text;    /* buffer for one element */
} codes;

static void codes_free(pv_ctx *ctx, codes *c) {
    pv_string_list_free(ctx, c->column.level, (size_t)c->column.levels);
    pv__dictionary_free(ctx, &c->dictionary);
    pv__free(ctx, c->code);
    pv__free(ctx, c->text);
}

static pv_status codes_read(const reader *r, const pv_array *array, int32_t most, codes *c) {
    size_t room = pv__array_text_room(array);
    PV_TRY(pv__alloc(r->ctx, room, 1, &c->text));
    PV_TRY(pv__alloc(r->ctx, r->file_rows, sizeof *c->code, &c->code));
    for (size_t n = 0; n < r->file_rows; n++) {
        if (!is_text(array) && !isfinite(pv_array_number(array, n)))
            return wrong(r, array, "has no finite value at [%zu]; every row needs one", n);
        pv_array_text(array, n, c->text, room);
        const char *text = c->text;
        if (!*text)
            return wrong(r, array, "has an empty text at [%zu]; every row needs one", n);
        uint64_t hash;
        int32_t code = pv__dictionary_find(&c->dictionary, &c->column, text, strlen(text), &hash);
        if (code < 0) {
            if (c->column.levels == most)
                return wrong(r, array, "has more than %d distinct values; is it the array of labels?", most);
            code = c->column.levels;
            PV_TRY(pv__dictionary_add(r->ctx, &c->dictionary, &c->column, text, strlen(text), hash));
        }
        c->code[n] = code;
    }
    return PV_OK;
}

/* Moves the positive label to the end if it was named. */
static pv_status positive_last(const reader *r, const pv_array *array, char **labels, int32_t *order, int32_t n) {
    const char *name = r->roles->positive;
    if (!name)
        return PV_OK;
    int32_t at = pv__label_find(labels, n, name, strlen(name));
    if (at < 0 || n != 2)
        return n != 2 ? pv__fail(r->ctx, PV_ERR_USAGE, "`positive` is for two classes; there are %d", n)
                      : wrong(r, array, "has no label '%s' for `positive`: its labels are '%s' and '%s'",
                              pv__show(name).text, pv__show(labels[0]).text, pv__show(labels[1]).text);
    if (at == 0) {
        char *label = labels[0];
        int32_t from = order[0];
        labels[0] = labels[1];
        labels[1] = label;
        order[0] = order[1];
        order[1] = from;
    }
    return PV_OK;
}

static pv_status sort_labels(const reader *r, const pv_array *array, codes *c) {
    pv_images *images = r->images;
    int32_t n = c->column.levels, *order = NULL;
    if (n < 2)
        return wrong(r, array, "has one label only ('%s'); a classifier needs two", pv__show(c->column.level[0]).text);
    pv_status status;
    PV_GOTO(done, pv__alloc(r->ctx, 2 * (size_t)n, sizeof *order, &order));
    PV_GOTO(done, pv__labels_sort(r->ctx, c->column.level, n, order));
    PV_GOTO(done, positive_last(r, array, c->column.level, order, n));
    for (int32_t i = 0; i < n; i++)
        order[n + order[i]] = i;
    for (size_t row = 0; row < r->file_rows; row++)
        c->code[row] = order[n + c->code[row]];
    images->labels = c->column.level;
    images->classes = n;
    images->label = c->code;
    c->column.level = NULL;
    c->column.levels = 0;
    c->code = NULL;
done:
    pv__free(r->ctx, order);
    return status;
}

static pv_status read_labels(reader *r, const pv_array *array) {
    codes c = {0};
    pv_status status;
    PV_GOTO(done, check_rows(r, array, 1, "one label for each image, [N],"));
    PV_GOTO(done, codes_read(r, array, PV__LABELS_MAX, &c));
    status = sort_labels(r, array, &c);
done:
    codes_free(r->ctx, &c);
    return status;
}

static pv_status read_group(reader *r) {
    pv_array array;
    bool found;
    codes c = {0};
    PV_TRY(find_array(r, "group", r->roles->group, &array, &found));
    if (!found)
        return PV_OK;
    pv_status status;
    PV_GOTO(done, check_rows(r, &array, 1, "one group for each image, [N],"));
    PV_GOTO(done, codes_read(r, &array, INT32_MAX, &c));
    r->images->group = c.code;
    r->images->groups = c.column.levels;
    c.code = NULL;
done:
    codes_free(r->ctx, &c);
    return status;
}

/* ---- votes and frequencies --------------------------------------------------------------------------------------- */

static pv_status name_classes(const reader *r, int classes, const char *const *names) {
    pv_images *images = r->images;
    PV_TRY(pv__alloc(r->ctx, (size_t)classes, sizeof *images->labels, &images->labels));
    images->classes = classes;
    for (int y = 0; y < classes; y++) {
        char number[16];
        pv__format(number, sizeof number, "%d", y + 1);
        PV_TRY(pv__strdup(r->ctx, names ? names[y] : number, &images->labels[y]));
    }
    return PV_OK;
}

/* Checks that grades are whole numbers from 1; 0 means no vote. *most: the largest grade. */
static pv_status check_votes(const reader *r, const pv_array *array, int *most) {
    size_t raters = array->shape[1];
    *most = 0;
    for (size_t i = 0; i < r->file_rows * raters; i++) {
        double vote = pv_array_number(array, i);
        if (!(vote >= 0 && vote <= PV__LABELS_MAX && vote == floor(vote)))
            return wrong(r, array,
                         "has %g at [%zu][%zu]; votes are whole numbers from 1 to K, and 0 where there is "
                         "none",
                         vote, i / raters, i % raters);
        *most = vote > *most ? (int)vote : *most;
    }
    return *most >= 2 ? PV_OK : wrong(r, array, "has no vote above %d; grades 1 to K are expected", *most);
}

/* Drops or rejects a row with too few votes. */
static pv_status few_votes(const reader *r, const pv_array *array, size_t n, int64_t votes) {
    if (r->roles->drop_missing) {
        r->keep[n] = false;
        return PV_OK;
    }
    if (votes == 0)
        return wrong(r, array, "has no vote for image [%zu]; `missing=drop` leaves such images out", n);
    return wrong(r, array,
                 "has %lld vote%s for image [%zu], fewer than `votes-min`; `missing=drop` leaves such images out",
                 (long long)votes, votes == 1 ? "" : "s", n);
}

static pv_status read_frequencies(reader *r, const pv_array *array) {
    pv_images *images = r->images;
    PV_TRY(check_rows(r, array, 2, "[N][classes]"));
    size_t k = array->shape[1];
    if (k < 2 || k > PV__LABELS_MAX)
        return wrong(r, array, "has %zu classes; 2 to %d are expected", k, PV__LABELS_MAX);
    PV_TRY(name_classes(r, (int)k, NULL));
    PV_TRY(pv__alloc(r->ctx, r->file_rows, k * sizeof *images->frequency, &images->frequency));
    for (size_t n = 0; n < r->file_rows; n++) {
        double sum = 0;
        for (size_t y = 0; y < k; y++) {
            double share = images->frequency[n * k + y] = pv_array_number(array, n * k + y);
            if (!(share >= 0 && share <= 1 + 1e-6))
                return wrong(r, array, "has %g at [%zu][%zu]; frequencies are between 0 and 1", share, n, y);
            sum += share;
        }
        if (sum == 0) {
            PV_TRY(few_votes(r, array, n, 0));
            continue;
        }
        if (!(fabs(sum - 1) <= 1e-4))
            return wrong(r, array, "has frequencies that add up to %g, not 1, at [%zu];\ncorrect them", sum, n);
        for (size_t y = 0; y < k; y++)
            images->frequency[n * k + y] /= sum;
    }
    return PV_OK;
}

/* Votes are whole numbers; a value strictly between 0 and 1 means that the array holds proportions. */
static bool has_shares(const reader *r, const pv_array *array) {
    for (size_t i = 0; i < r->file_rows * array->shape[1]; i++) {
        double vote = pv_array_number(array, i);
        if (vote > 0 && vote < 1)
            return true;
    }
    return false;
}

static pv_status read_votes(reader *r, const pv_array *array) {
    static const char *const sides[] = {"below", "above"};
    pv_images *images = r->images;
    int grades;
    PV_TRY(check_rows(r, array, 2, "[N][raters]"));
    if (has_shares(r, array)) {
        if (r->roles->binarise > 0 || r->roles->votes_min > 1)
            return wrong(r, array, "has proportions of votes, not votes:\nleave %s out",
                         r->roles->binarise > 0 ? "`binarise`" : "`votes-min`");
        return read_frequencies(r, array);
    }
    PV_TRY(check_votes(r, array, &grades));
    bool binary = r->roles->binarise > 0;
    PV_TRY(name_classes(r, binary ? 2 : grades, binary ? sides : NULL));
    size_t raters = array->shape[1], k = (size_t)images->classes;
    if (binary)
        PV_TRY(pv__alloc(r->ctx, r->file_rows, sizeof *images->label, &images->label));
    else
        PV_TRY(pv__alloc(r->ctx, r->file_rows, k * sizeof *images->frequency, &images->frequency));
    int64_t least = r->roles->votes_min > 1 ? r->roles->votes_min : 1;
    for (size_t n = 0; n < r->file_rows; n++) {
        double sum = 0;
        int64_t votes = 0;
        for (size_t i = 0; i < raters; i++) {
            double vote = pv_array_number(array, n * raters + i);
            sum += vote;
            votes += vote > 0;
            if (!binary && vote > 0)
                images->frequency[n * k + (size_t)vote - 1] += 1;
        }
        if (votes < least) {
            PV_TRY(few_votes(r, array, n, votes));
            continue;
        }
        double mean = sum / (double)votes;
        if (binary) {
            images->label[n] = mean > r->roles->binarise;
            r->keep[n] = mean != r->roles->binarise;
        }
        for (size_t y = 0; !binary && y < k; y++)
            images->frequency[n * k + y] /= (double)votes;
    }
    return PV_OK;
}

static pv_status read_targets(reader *r) {
    const pv_image_roles *roles = r->roles;
    const struct {
        const char *option, *named;
        pv_status (*read)(reader *r, const pv_array *array);
    } kinds[] = {{"labels", roles->labels, read_labels},
                 {"votes", roles->votes, read_votes},
                 {"frequencies", roles->frequencies, read_frequencies}};
    bool any_named = roles->labels || roles->votes || roles->frequencies;
    int chosen = -1;
    pv_array array, this_one;
    for (int i = 0; i < 3; i++) {
        bool found = false;
        if (kinds[i].named || !any_named)
            PV_TRY(find_array(r, kinds[i].option, kinds[i].named, &this_one, &found));
        if (found && chosen >= 0)
            return pv__fail_at(r->ctx, PV_ERR_USAGE, r->images->source, 0, 0,
                               "has both `%s` and `%s`:\nsay with one of them which array is the outcome",
                               kinds[chosen].option, kinds[i].option);
        if (found) {
            chosen = i;
            array = this_one;
        }
    }
    if (chosen < 0)
        return pv__fail_at(r->ctx, PV_ERR_INPUT, r->images->source, 0, 0,
                           "has no array 'labels', 'votes' or 'frequencies':\nname the outcome with `outcome` or "
                           "`votes`");
    if (roles->binarise > 0 && chosen != 1)
        return pv__fail(r->ctx, PV_ERR_USAGE, "`binarise` is for votes;\nleave it out");
    return kinds[chosen].read(r, &array);
}

/* ---- spacing ----------------------------------------------------------------------------------------------------- */

/* Generous bounds for any unit; beyond them, pixel sizes and views cannot be computed reliably. */
static const double SPACING_LEAST = 1e-9, SPACING_MOST = 1e6;

static pv_status read_spacing(reader *r) {
    pv_array a;
    bool found;
    PV_TRY(find_array(r, "spacing", r->roles->spacing, &a, &found));
    if (!found)
        return PV_OK;
    PV_TRY(check_rows(r, &a, a.dims == 1 ? 1 : 2, "[N], [N][2] or [N][3]"));
    size_t wide = a.dims == 1 ? 1 : a.shape[1];
    if (wide < 1 || wide > 3)
        return wrong(r, &a, "has %zu columns; [N], [N][2] or [N][3] is expected", wide);
    PV_TRY(pv__alloc(r->ctx, r->file_rows, 3 * sizeof(double), &r->images->spacing));
    for (size_t n = 0; n < r->file_rows; n++)
        for (size_t axis = 0; axis < 3; axis++) {
            size_t column = wide == 3 ? axis : wide == 2 && axis > 0 ? axis - 1 : 0;
            double size = pv_array_number(&a, n * wide + column);
            if (!(size >= SPACING_LEAST && size <= SPACING_MOST))
                return wrong(r, &a, "has %g at [%zu]; the size of a pixel is a number from %g to %g", size, n,
                             SPACING_LEAST, SPACING_MOST);
            r->images->spacing[3 * n + axis] = size;
        }
    return PV_OK;
}

/* ---- reading all arrays ------------------------------------------------------------------------------------------ */

/* Moves the rows that are kept to the front. */
static pv_status compact(reader *r) {
    pv_images *images = r->images;
    size_t k = (size_t)images->classes, to = 0;
    PV_TRY(pv__alloc(r->ctx, r->file_rows, sizeof *images->index, &images->index));
    for (size_t n = 0; n < r->file_rows; n++) {
        if (!r->keep[n])
            continue;
        images->index[to] = n;
        if (images->label)
            images->label[to] = images->label[n];
        if (images->frequency)
            memmove(images->frequency + to * k, images->frequency + n * k, k * sizeof(double));
        if (images->group)
            images->group[to] = images->group[n];
        if (images->spacing)
            memmove(images->spacing + 3 * to, images->spacing + 3 * n, 3 * sizeof(double));
        to++;
    }
    images->rows = to;
    images->dropped = r->file_rows - to;
    if (to == 0)
        return pv__fail_at(
            r->ctx, PV_ERR_INPUT, images->source, 0, 0,
            "no image is left: all were dropped; fewer votes may be enough (`votes-min`), or another `binarise`");
    return PV_OK;
}

/* Reads from a file, or from an archive that is already open. */
static pv_status read_all(reader *r, const char *path, pv_archive *archive) {
    PV_TRY(pv__strdup(r->ctx, path, &r->images->source));
    PV_TRY(pv__alloc(r->ctx, 1, sizeof *r->images->touched, &r->images->touched));
    if (archive) {
        PV_TRY(pv__resize(r->ctx, 1, sizeof(pv_archive *), &r->images->archives));
        r->images->archives[r->images->n_archives++] = pv__archive_share(archive);
    } else {
        PV_TRY(keep_archive(r, path, &archive));
    }
    PV_TRY(read_pixels(r));
    PV_TRY(pv__alloc(r->ctx, r->file_rows, sizeof *r->keep, &r->keep));
    memset(r->keep, true, r->file_rows);
    if (!r->roles->unlabelled)
        PV_TRY(read_targets(r));
    PV_TRY(read_group(r));
    PV_TRY(read_spacing(r));
    PV_TRY(check_pixels(r));
    r->images->hash = pv__hasher_end(r->hash);
    for (size_t i = 0; i < r->images->n_archives; i++)
        PV_TRY(pv__archive_unchanged(r->ctx, r->images->archives[i], PV_SOURCE_WRITTEN));
    return compact(r);
}

static pv_status make_images(pv_ctx *ctx, const char *path, pv_archive *archive, const pv_image_roles *roles,
                             pv_images **images) {
    *images = NULL;
    pv__hasher hash;
    reader r = {.ctx = ctx, .roles = roles, .hash = &hash};
    pv__hasher_begin(&hash);
    pv_status status = pv__alloc(ctx, 1, sizeof *r.images, &r.images);
    if (status == PV_OK)
        status = read_all(&r, path, archive);
    pv__free(ctx, r.keep);
    if (status == PV_OK)
        *images = r.images;
    else
        pv_images_free(ctx, r.images);
    return status;
}

pv_status pv_images_read(pv_ctx *ctx, const char *path, const pv_image_roles *roles, pv_images **images) {
    return make_images(ctx, path, NULL, roles, images);
}

pv_status pv_images_of(pv_ctx *ctx, pv_archive *archive, const pv_image_roles *roles, pv_images **images) {
    return make_images(ctx, pv__archive_path(archive), archive, roles, images);
}

void pv_images_free(pv_ctx *ctx, pv_images *images) {
    if (!images)
        return;
    for (size_t i = 0; i < images->n_archives; i++)
        pv_archive_free(ctx, images->archives[i]);
    pv__free(ctx, images->archives);
    pv_string_list_free(ctx, images->labels, (size_t)images->classes);
    pv__free(ctx, images->index);
    pv__free(ctx, images->label);
    pv__free(ctx, images->frequency);
    pv__free(ctx, images->group);
    pv__free(ctx, images->spacing);
    pv__free(ctx, images->touched);
    pv__free(ctx, images->source);
    pv__free(ctx, images);
}

pv_status pv_images_unchanged(pv_ctx *ctx, const pv_images *images, bool quick) {
    const pv_array *pixels = &images->pixels;
    bool doubtful = false;
    for (size_t i = 0; i < images->n_archives; i++) {
        const pv__source *file = pv__archive_source(images->archives[i]);
        PV_TRY(pv__archive_unchanged(ctx, images->archives[i], PV_SOURCE_SAME));
        doubtful = doubtful || (file && pv__source_look(file) == PV_SOURCE_DOUBTFUL);
    }
    if (quick || !doubtful || !pixels->mapped)
        return PV_OK;
    pv__hasher state;
    pv__hasher_begin(&state);
    pv__hash_pieces(&state, pixels->bytes, pixels->count * pixels->element, true);
    bool same = pv__hasher_end(&state) == images->pixels_hash;
    return same ? PV_OK : pv__archive_unchanged(ctx, images->archives[0], PV_SOURCE_WRITTEN);
}

void pv_images_pixels(const pv_images *images, size_t row, float *pixels) {
    size_t n = images->planes * images->height * images->width;
    pv_array_floats(&images->pixels, images->index[row] * n, n, pixels);
    pv__images_touched(images, n * images->pixels.element);
}

void pv__images_touched(const pv_images *images, size_t n) {
    enum {
        LIMIT = 64 << 20
    }; /* the system also maps pages around those that are read, so several times as much is resident */
    if (!images->pixels.mapped || !images->touched)
        return;
    size_t sum = __atomic_add_fetch(images->touched, n, __ATOMIC_RELAXED);
    if (sum >= LIMIT && sum - n < LIMIT) { /* exactly one caller sees the sum cross the limit */
        __atomic_store_n(images->touched, 0, __ATOMIC_RELAXED);
        pv__bytes_forget(images->pixels.bytes, images->pixels.count * images->pixels.element);
    }
}

pv_targets pv_images_targets(const pv_images *images) {
    return (pv_targets){
        .n = images->rows, .classes = images->classes, .label = images->label, .frequency = images->frequency};
}
