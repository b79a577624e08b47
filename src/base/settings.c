/* Options by name and text: the structs of several tables in one object, which owns the texts they point to. */
#include <string.h>

#include "base/base.h"

typedef struct group {
    const pv_option *table;
    size_t size;
    void *values;
    size_t first, count; /* index of its first option among all, and their number */
} group;

typedef struct entry {
    const pv_option *row;
    size_t group;
    char *text; /* the value as text; NULL: a text option without a value */
    bool given;
} entry;

struct pv_settings {
    group *group;
    size_t groups;
    entry *entry;
    size_t entries;
};

pv_status pv_settings_new(pv_ctx *ctx, pv_settings **settings) {
    return pv__alloc(ctx, 1, sizeof **settings, settings);
}

void pv_settings_free(pv_ctx *ctx, pv_settings *settings) {
    if (!settings)
        return;
    for (size_t i = 0; i < settings->entries; i++)
        pv__free(ctx, settings->entry[i].text);
    for (size_t g = 0; g < settings->groups; g++)
        pv__free(ctx, settings->group[g].values);
    pv__free(ctx, settings->entry);
    pv__free(ctx, settings->group);
    pv__free(ctx, settings);
}

/* The value of a field as newly allocated text. */
static pv_status show(pv_ctx *ctx, const pv_option *row, const void *values, char **text) {
    char number[64];
    const char *value = number;
    *text = NULL;
    if (row->type == PV_OPTION_TEXT)
        memcpy(&value, (const char *)values + row->offset, sizeof value);
    else
        pv_option_get(row, values, number, sizeof number);
    return value ? pv__strdup(ctx, value, text) : PV_OK;
}

/* Makes a text field point to the entry's own copy. */
static void point(const entry *e, void *values) {
    const char *text = e->text;
    if (e->row->type == PV_OPTION_TEXT)
        memcpy((char *)values + e->row->offset, &text, sizeof text);
}

/* Appends a group with the values of `from`. On failure nothing changes. */
static pv_status append(pv_ctx *ctx, pv_settings *s, const group *from) {
    size_t count = from->count, made = 0;
    void *values = NULL;
    PV_TRY(pv__resize(ctx, s->groups + 1, sizeof *s->group, &s->group));
    PV_TRY(pv__resize(ctx, s->entries + count, sizeof *s->entry, &s->entry));
    entry *e = s->entry + s->entries;
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, from->size, 1, &values));
    memcpy(values, from->values, from->size);
    for (; made < count; made++) {
        e[made] = (entry){.row = &from->table[made], .group = s->groups};
        PV_GOTO(fail, show(ctx, e[made].row, values, &e[made].text));
    }
    for (size_t i = 0; i < count; i++)
        point(&e[i], values);
    s->group[s->groups++] = (group){from->table, from->size, values, s->entries, count};
    s->entries += count;
    return PV_OK;
fail:
    for (size_t i = 0; i < made; i++)
        pv__free(ctx, e[i].text);
    pv__free(ctx, values);
    return status;
}

pv_status pv_settings_add(pv_ctx *ctx, pv_settings *settings, const pv_option *table, size_t size, const void *values) {
    group g = {.table = table, .size = size};
    while (table[g.count].name)
        g.count++;
    PV_TRY(pv__alloc(ctx, size, 1, &g.values));
    if (values)
        memcpy(g.values, values, size);
    pv_options_default(table, g.values);
    pv_status status = append(ctx, settings, &g);
    pv__free(ctx, g.values);
    return status;
}

pv_status pv__settings_of(pv_ctx *ctx, const pv_option *table, size_t size, const void *values,
                          pv_settings **settings) {
    pv_settings *made;
    *settings = NULL;
    PV_TRY(pv_settings_new(ctx, &made));
    pv_status status = pv_settings_add(ctx, made, table, size, values);
    if (status == PV_OK)
        *settings = made;
    else
        pv_settings_free(ctx, made);
    return status;
}

/* ---- one option -------------------------------------------------------------------------------------------------- */

static entry *find(const pv_settings *s, const char *name) {
    for (const group *g = s->group; g < s->group + s->groups; g++) {
        const pv_option *row = pv_option_find(g->table, name);
        if (row)
            return &s->entry[g->first + (size_t)(row - g->table)];
    }
    return NULL;
}

static pv_status unknown(pv_ctx *ctx, const pv_settings *s, const char *name) {
    const char **words;
    PV_TRY(pv__alloc(ctx, s->entries, sizeof *words, &words));
    for (size_t i = 0; i < s->entries; i++)
        words[i] = s->entry[i].row->name;
    const char *near = pv_nearest(name, words, s->entries);
    pv_status status = near ? pv__fail(ctx, PV_ERR_USAGE, "unknown option `%s`;\ndid you mean `%s`?", name, near)
                            : pv__fail(ctx, PV_ERR_USAGE, "unknown option `%s`", name);
    pv__free(ctx, words);
    return status;
}

pv_status pv_settings_set(pv_ctx *ctx, pv_settings *settings, const char *name, const char *text) {
    entry *e = find(settings, name);
    if (!e)
        return unknown(ctx, settings, name);
    const group *g = &settings->group[e->group];
    void *trial;
    char *shown = NULL;
    PV_TRY(pv__alloc(ctx, g->size, 1, &trial));
    memcpy(trial, g->values, g->size);
    pv_status status;
    if (!text) {
        pv_option one[2] = {*e->row, {0}};
        pv_options_default(one, trial);
    } else {
        PV_GOTO(done, pv_option_set(ctx, g->table, trial, name, text));
    }
    PV_GOTO(done, show(ctx, e->row, trial, &shown));
    memcpy(g->values, trial, g->size);
    pv__free(ctx, e->text);
    e->text = shown;
    e->given = text != NULL;
    point(e, g->values);
done:
    pv__free(ctx, trial);
    return status;
}

pv_status pv_settings_get(pv_ctx *ctx, const pv_settings *settings, const char *name, const char **text) {
    const entry *e = find(settings, name);
    *text = e ? e->text : NULL;
    return e ? PV_OK : unknown(ctx, settings, name);
}

bool pv_settings_given(const pv_settings *settings, const char *name) {
    const entry *e = find(settings, name);
    return e && e->given;
}

/* ---- all options ------------------------------------------------------------------------------------------------- */

size_t pv_settings_count(const pv_settings *settings) {
    return settings->entries;
}

const pv_option *pv_settings_option(const pv_settings *settings, size_t index) {
    return index < settings->entries ? settings->entry[index].row : NULL;
}

const void *pv_settings_values(const pv_settings *settings, const pv_option *table) {
    for (size_t g = 0; g < settings->groups; g++)
        if (settings->group[g].table == table)
            return settings->group[g].values;
    return NULL;
}
