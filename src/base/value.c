/* Trees of named values, which one part builds and another reads. */
#include "base/names.h"
#include "base/value.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_FROM = 16 }; /* objects with at least this many members look names up by hash */

struct pv_result {
    pv_result_type type;
    bool partial; /* a descendant is missing because memory ran out */
    int shares;
    union {
        bool flag;
        int64_t integer;
        double real;
        char *text;
        struct {
            double *data;
            size_t shape[2];
            int dimensions;
        } array;
        struct {
            pv_result **value;
            char **name; /* for an object: names of its members */
            size_t count, room;
            uint32_t *index; /* member index by hash, plus one; 0: empty */
            size_t slots;    /* size of index, a power of two; 0: linear search */
        } many;
    } of;
};

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void *(*resize_call)(void *, size_t) = NULL;
static void (*release_call)(void *) = NULL;

void pv__value_memory(void *(*resize)(void *, size_t), void (*release)(void *)) {
    resize_call = resize;
    release_call = release;
}

static void *resized(void *block, size_t count, size_t size) {
    if (size && count > SIZE_MAX / size)
        return NULL;
    size_t bytes = count == 0 || size == 0 ? 1 : count * size;
    return resize_call ? resize_call(block, bytes) : realloc(block, bytes);
}

static void release(void *block) {
    if (block && release_call)
        release_call(block);
    else
        free(block);
}

static char *copied(const char *text, size_t bytes) {
    char *copy = resized(NULL, bytes + 1, 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return copy;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static pv_result *made(pv_result_type type) {
    pv_result *value = resized(NULL, 1, sizeof *value);
    if (value)
        *value = (pv_result){.type = type, .shares = 1};
    return value;
}

pv_result *pv__value_object(void) {
    return made(PV_RESULT_OBJECT);
}

pv_result *pv__value_list(void) {
    return made(PV_RESULT_LIST);
}

pv_result *pv__value_null(void) {
    return made(PV_RESULT_NULL);
}

pv_result *pv__value_text_n(const char *text, size_t bytes) {
    pv_result *value = made(PV_RESULT_TEXT);
    if (value && !(value->of.text = copied(text, bytes))) {
        release(value);
        return NULL;
    }
    return value;
}

pv_result *pv__value_text(const char *text) {
    return text ? pv__value_text_n(text, strlen(text)) : pv__value_null();
}

pv_result *pv__value_real(double number) {
    pv_result *value = made(isfinite(number) ? PV_RESULT_REAL : PV_RESULT_NULL);
    if (value)
        value->of.real = number;
    return value;
}

pv_result *pv__value_integer(int64_t number) {
    pv_result *value = made(PV_RESULT_INTEGER);
    if (value)
        value->of.integer = number;
    return value;
}

pv_result *pv__value_flag(bool flag) {
    pv_result *value = made(PV_RESULT_FLAG);
    if (value)
        value->of.flag = flag;
    return value;
}

pv_result *pv__value_array(const double *data, size_t rows, size_t columns) {
    pv_result *value = made(PV_RESULT_ARRAY);
    size_t count = columns ? columns : 1;
    if (!value)
        return NULL;
    value->of.array.dimensions = columns ? 2 : 1;
    value->of.array.shape[0] = rows;
    value->of.array.shape[1] = count;
    value->of.array.data = rows > SIZE_MAX / count ? NULL : resized(NULL, rows * count, sizeof *data);
    if (!value->of.array.data) {
        release(value);
        return NULL;
    }
    if (rows)
        memcpy(value->of.array.data, data, rows * count * sizeof *data);
    return value;
}

pv_result *pv__value_share(pv_result *value) {
    if (value)
        value->shares++;
    return value;
}

void pv_result_free(pv_result *value) {
    if (!value || --value->shares > 0)
        return;
    bool many = value->type == PV_RESULT_LIST || value->type == PV_RESULT_OBJECT;
    for (size_t i = 0; many && i < value->of.many.count; i++) {
        pv_result_free(value->of.many.value[i]);
        if (value->of.many.name)
            release(value->of.many.name[i]);
    }
    if (many) {
        release(value->of.many.value);
        release(value->of.many.name);
        release(value->of.many.index);
    } else if (value->type == PV_RESULT_TEXT) {
        release(value->of.text);
    } else if (value->type == PV_RESULT_ARRAY) {
        release(value->of.array.data);
    }
    release(value);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static uint32_t hash(const char *name) { /* FNV-1a */
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

static void enter(pv_result *object, size_t place) {
    size_t mask = object->of.many.slots - 1, at = hash(object->of.many.name[place]) & mask;
    while (object->of.many.index[at])
        at = (at + 1) & mask;
    object->of.many.index[at] = (uint32_t)place + 1;
}

/* Rebuilds the hash index of a large object. Without memory for it, names are searched linearly. */
static void reindex(pv_result *object) {
    size_t slots = 4 * (object->of.many.count + 1), power = 64;
    while (power < slots)
        power *= 2;
    uint32_t *index = resized(object->of.many.index, power, sizeof *index);
    if (!index) {
        release(object->of.many.index);
        object->of.many.index = NULL;
        object->of.many.slots = 0;
        return;
    }
    memset(index, 0, power * sizeof *index);
    object->of.many.index = index;
    object->of.many.slots = power;
    for (size_t i = 0; i < object->of.many.count; i++)
        enter(object, i);
}

/* The index of a member; count if there is none. */
static size_t place_of(const pv_result *object, const char *name) {
    size_t count = object->of.many.count;
    if (object->of.many.slots) {
        size_t mask = object->of.many.slots - 1;
        for (size_t at = hash(name) & mask; object->of.many.index[at]; at = (at + 1) & mask) {
            size_t place = object->of.many.index[at] - 1;
            if (strcmp(object->of.many.name[place], name) == 0)
                return place;
        }
        return count;
    }
    for (size_t i = 0; i < count; i++)
        if (strcmp(object->of.many.name[i], name) == 0)
            return i;
    return count;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* Makes room for one more member. */
static bool grow(pv_result *parent) {
    if (parent->of.many.count < parent->of.many.room)
        return true;
    size_t room = 2 * parent->of.many.room + 8;
    pv_result **value = resized(parent->of.many.value, room, sizeof *value);
    if (!value)
        return false;
    parent->of.many.value = value;
    if (parent->type == PV_RESULT_OBJECT) {
        char **name = resized(parent->of.many.name, room, sizeof *name);
        if (!name)
            return false;
        parent->of.many.name = name;
    }
    parent->of.many.room = room;
    return true;
}

/* Frees a value that could not be added, and marks the parent as incomplete. */
static bool lost(pv_result *parent, pv_result *value) {
    if (parent)
        parent->partial = true;
    pv_result_free(value);
    return false;
}

void pv__value_take(pv_result *object, const char *name, const pv_result *from) {
    if (!from || from->type != PV_RESULT_OBJECT)
        return;
    size_t place = place_of(from, name);
    if (place < from->of.many.count)
        pv__value_set(object, name, pv__value_share(from->of.many.value[place]));
}

bool pv__value_append(pv_result *list, pv_result *value) {
    if (!list || !value || !grow(list))
        return lost(list, value);
    list->partial = list->partial || value->partial;
    list->of.many.value[list->of.many.count++] = value;
    return true;
}

bool pv__value_set(pv_result *object, const char *name, pv_result *value) {
    if (!object || !value)
        return lost(object, value);
    size_t place = place_of(object, name);
    if (place < object->of.many.count) {
        pv_result_free(object->of.many.value[place]);
    } else {
        char *own = grow(object) ? copied(name, strlen(name)) : NULL;
        if (!own)
            return lost(object, value);
        object->of.many.name[object->of.many.count++] = own;
        if (object->of.many.slots && 2 * object->of.many.count <= object->of.many.slots)
            enter(object, place);
        else if (object->of.many.count >= INDEX_FROM)
            reindex(object);
    }
    object->of.many.value[place] = value;
    object->partial = object->partial || value->partial;
    return true;
}

void pv__value_drop(pv_result *object, const char *name) {
    size_t place = place_of(object, name), after = object->of.many.count - place;
    if (after == 0)
        return;
    pv_result_free(object->of.many.value[place]);
    release(object->of.many.name[place]);
    memmove(object->of.many.value + place, object->of.many.value + place + 1,
            (after - 1) * sizeof *object->of.many.value);
    memmove(object->of.many.name + place, object->of.many.name + place + 1, (after - 1) * sizeof *object->of.many.name);
    object->of.many.count--;
    if (object->of.many.slots)
        reindex(object);
}

static pv_result *packed(char type, va_list *values) {
    switch (type) {
    case 't':
        return pv__value_text(va_arg(*values, const char *));
    case 'r':
        return pv__value_real(va_arg(*values, double));
    case 'i':
        return pv__value_integer(va_arg(*values, int));
    case 'I':
        return pv__value_integer(va_arg(*values, int64_t));
    case 'b':
        return pv__value_flag(va_arg(*values, int));
    default:
        return va_arg(*values, pv_result *);
    }
}

pv_result *pv__value_pack(const char *types, ...) {
    pv_result *object = pv__value_object();
    va_list values;
    va_start(values, types);
    for (; *types; types++) {
        const char *name = va_arg(values, const char *);
        pv__value_set(object, name, packed(*types, &values));
    }
    va_end(values);
    if (pv__value_whole(object))
        return object;
    pv_result_free(object);
    return NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

bool pv__value_whole(const pv_result *value) {
    return value && !value->partial;
}

bool pv__value_is(const pv_result *value, pv_result_type type) {
    return pv_result_type_of(value) == type;
}

bool pv__value_is_number(const pv_result *value) {
    return pv__value_is(value, PV_RESULT_INTEGER) || pv__value_is(value, PV_RESULT_REAL);
}

bool pv__value_is_true(const pv_result *value) {
    return pv__value_is(value, PV_RESULT_FLAG) && value->of.flag;
}

int64_t pv__value_integer_of(const pv_result *value) {
    return pv__value_is(value, PV_RESULT_INTEGER) ? value->of.integer : 0;
}

double pv__value_number_of(const pv_result *value) {
    return pv__value_is_number(value) ? pv_result_number(value) : 0;
}

pv_result_type pv_result_type_of(const pv_result *value) {
    return value ? value->type : PV_RESULT_NONE;
}

size_t pv_result_count(const pv_result *value) {
    bool many = pv__value_is(value, PV_RESULT_LIST) || pv__value_is(value, PV_RESULT_OBJECT);
    return many ? value->of.many.count : 0;
}

const char *pv_result_name(const pv_result *value, size_t index) {
    return pv__value_is(value, PV_RESULT_OBJECT) && index < value->of.many.count ? value->of.many.name[index] : NULL;
}

const pv_result *pv_result_child(const pv_result *value, size_t index) {
    return index < pv_result_count(value) ? value->of.many.value[index] : NULL;
}

const pv_result *pv_result_get(const pv_result *value, const char *name) {
    return pv__value_is(value, PV_RESULT_OBJECT) ? pv_result_child(value, place_of(value, name)) : NULL;
}

const pv_result *pv_result_at(const pv_result *value, const char *const *path) {
    for (; *path && value; path++)
        value = pv_result_get(value, *path);
    return value;
}

double pv_result_number(const pv_result *value) {
    switch (pv_result_type_of(value)) {
    case PV_RESULT_FLAG:
        return value->of.flag;
    case PV_RESULT_INTEGER:
        return (double)value->of.integer;
    case PV_RESULT_REAL:
        return value->of.real;
    default:
        return NAN;
    }
}

const char *pv_result_text(const pv_result *value) {
    return pv__value_is(value, PV_RESULT_TEXT) ? value->of.text : NULL;
}

const double *pv_result_array(const pv_result *value, size_t *rows, size_t *columns) {
    bool is = pv__value_is(value, PV_RESULT_ARRAY);
    *rows = is ? value->of.array.shape[0] : 0;
    *columns = is && value->of.array.dimensions == 2 ? value->of.array.shape[1] : 0;
    return is ? value->of.array.data : NULL;
}

static bool equal_many(const pv_result *a, const pv_result *b) {
    bool same = pv_result_count(a) == pv_result_count(b);
    for (size_t i = 0; same && i < pv_result_count(a); i++) {
        const char *name = pv_result_name(a, i);
        same = pv__value_equal(pv_result_child(a, i), name ? pv_result_get(b, name) : pv_result_child(b, i));
    }
    return same;
}

bool pv__value_equal(const pv_result *a, const pv_result *b) {
    if (pv_result_type_of(a) != pv_result_type_of(b))
        return false;
    switch (pv_result_type_of(a)) {
    case PV_RESULT_TEXT:
        return strcmp(a->of.text, b->of.text) == 0;
    case PV_RESULT_INTEGER:
        return a->of.integer == b->of.integer;
    case PV_RESULT_LIST:
    case PV_RESULT_OBJECT:
        return equal_many(a, b);
    case PV_RESULT_ARRAY:
        return a->of.array.shape[0] == b->of.array.shape[0] && a->of.array.shape[1] == b->of.array.shape[1] &&
               memcmp(a->of.array.data, b->of.array.data,
                      a->of.array.shape[0] * a->of.array.shape[1] * sizeof *a->of.array.data) == 0;
    case PV_RESULT_FLAG:
    case PV_RESULT_REAL:
        return pv_result_number(a) == pv_result_number(b);
    default:
        return true;
    }
}
