/* Schemas: construction by hand, copies, and the columns that a reader must keep for a schema or for the roles to learn
 * one. */
#include <string.h>

#include "base/number.h"
#include "data/schema_learn.h"

void pv__source_clear(pv_ctx *ctx, pv_source_column *source) {
    pv__free(ctx, source->name);
    pv_string_list_free(ctx, source->level, (size_t)source->levels);
    pv__free(ctx, source->rows);
}

void pv_schema_free(pv_ctx *ctx, pv_schema *schema) {
    if (!schema)
        return;
    pv__free(ctx, schema->target);
    pv__free(ctx, schema->weights);
    pv__free(ctx, schema->group);
    pv__free(ctx, schema->cluster);
    pv_string_list_free(ctx, schema->labels, schema->labels ? (size_t)schema->classes : 0);
    for (size_t s = 0; schema->source && s < schema->sources; s++)
        pv__source_clear(ctx, &schema->source[s]);
    pv__free(ctx, schema->source);
    pv_string_list_free(ctx, schema->feature, schema->feature ? (size_t)schema->features : 0);
    pv__image_encoding_free(ctx, schema->image);
    pv__terms_free(ctx, schema);
    pv__strata_free(ctx, schema->strata);
    pv__written_free(ctx, &schema->written);
    pv__free(ctx, schema);
}

/* ---- copies; a failed copy is freed with the whole schema ----------------------------------------------------------
 */

static const char *or_none(const char *name) {
    return name && *name ? name : NULL;
}

static pv_status copy_text(pv_ctx *ctx, const char *from, char **to) {
    return pv__strdup(ctx, from ? from : "", to);
}

pv_status pv__source_copy(pv_ctx *ctx, const pv_source_column *from, pv_source_column *to) {
    to->type = from->type;
    to->mean = from->mean;
    to->sd = from->sd;
    to->missing = from->missing;
    to->auc = from->auc;
    PV_TRY(pv__strdup(ctx, from->name, &to->name));
    if (from->rows) {
        PV_TRY(pv__alloc(ctx, (size_t)from->levels, sizeof *to->rows, &to->rows));
        memcpy(to->rows, from->rows, (size_t)from->levels * sizeof *to->rows);
    }
    to->levels = from->levels;
    return from->levels > 0 ? pv__names_copy(ctx, (const char *const *)from->level, (size_t)from->levels, &to->level)
                            : PV_OK;
}

pv_status pv__schema_name(pv_ctx *ctx, const pv_roles *roles, pv_schema *schema) {
    PV_TRY(copy_text(ctx, roles->target, &schema->target));
    PV_TRY(copy_text(ctx, roles->weights, &schema->weights));
    PV_TRY(copy_text(ctx, roles->cluster, &schema->cluster));
    return copy_text(ctx, pv__roles_group(roles), &schema->group);
}

static pv_status copy_parts(pv_ctx *ctx, const pv_schema *from, pv_schema *to) {
    pv_roles names = {
        .target = from->target, .weights = from->weights, .group = from->group, .cluster = or_none(from->cluster)};
    PV_TRY(pv__schema_name(ctx, &names, to));
    PV_TRY(pv__written_copy(ctx, &from->written, &to->written));
    to->classes = from->classes;
    to->votes = from->votes;
    to->sampling = from->sampling;
    to->missing = from->missing;
    to->positive_guessed = from->positive_guessed;
    to->offset = from->offset;
    PV_TRY(pv__names_copy(ctx, (const char *const *)from->labels, (size_t)from->classes, &to->labels));
    PV_TRY(pv__alloc(ctx, from->sources, sizeof *to->source, &to->source));
    to->sources = from->sources;
    for (size_t i = 0; i < from->sources; i++)
        PV_TRY(pv__source_copy(ctx, &from->source[i], &to->source[i]));
    if (from->terms > 0)
        PV_TRY(pv__alloc(ctx, from->terms, sizeof *to->term, &to->term));
    for (; to->terms < from->terms; to->terms++) {
        pv_status status = pv__term_copy(ctx, &from->term[to->terms], &to->term[to->terms]);
        if (status != PV_OK)
            return pv__term_clear(ctx, &to->term[to->terms]), status;
    }
    to->features = from->features;
    if (from->strata)
        PV_TRY(pv__strata_copy(ctx, from->strata, &to->strata));
    if (from->image)
        return pv__image_encoding_copy(ctx, from->image, &to->image);
    return pv__names_copy(ctx, (const char *const *)from->feature, (size_t)from->features, &to->feature);
}

pv_status pv_schema_copy(pv_ctx *ctx, const pv_schema *schema, pv_schema **copy) {
    pv_schema *made;
    *copy = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    pv_status status = copy_parts(ctx, schema, made);
    if (status == PV_OK)
        *copy = made;
    else
        pv_schema_free(ctx, made);
    return status;
}

/* ---- construction by hand ---------------------------------------------------------------------------------------- */

static pv_status fill_by_hand(pv_ctx *ctx, const char *target, const char *const *labels, int classes,
                              const char *const *feature, int features, pv_schema *schema) {
    pv_roles names = {.target = target};
    PV_TRY(pv__schema_name(ctx, &names, schema));
    schema->classes = classes;
    PV_TRY(pv__names_copy(ctx, labels, (size_t)classes, &schema->labels));
    PV_TRY(pv__alloc(ctx, (size_t)features, sizeof *schema->source, &schema->source));
    schema->sources = (size_t)features;
    for (int j = 0; j < features; j++) {
        char number[32];
        schema->source[j] = (pv_source_column){.type = PV_COLUMN_NUMBER, .sd = 1};
        pv__format(number, sizeof number, "x%d", j + 1);
        PV_TRY(pv__strdup(ctx, feature ? feature[j] : number, &schema->source[j].name));
    }
    return pv__schema_name_features(ctx, schema);
}

pv_status pv_schema_new(pv_ctx *ctx, const char *target, const char *const *labels, int classes,
                        const char *const *feature, int features, pv_schema **schema) {
    pv_schema *made;
    *schema = NULL;
    if (classes < 2 || classes > PV__LABELS_MAX || features < 1)
        return pv__fail(ctx, PV_ERR_USAGE, "a schema has 2 to %d labels, and at least one feature", PV__LABELS_MAX);
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    pv_status status = fill_by_hand(ctx, target, labels, classes, feature, features, made);
    if (status == PV_OK)
        *schema = made;
    else
        pv_schema_free(ctx, made);
    return status;
}

pv_roles pv_schema_roles(const pv_schema *schema) {
    return (pv_roles){.target = schema->votes ? NULL : or_none(schema->target),
                      .votes = schema->votes ? or_none(schema->target) : NULL,
                      .weights = or_none(schema->weights),
                      .group = or_none(schema->group),
                      .missing = PV_MISSING_MODEL};
}

/* ---- columns of a table --------------------------------------------------------------------------------------------
 */

/* The column of a term that neither a source nor an earlier term uses; NULL if there is none. */
static const char *own_column(const pv_schema *schema, size_t term, size_t part) {
    const char *name = schema->term[term].column[part];
    if (!name || pv__schema_find(schema, name) < pv__schema_plain(schema))
        return NULL;
    for (size_t t = 0; t <= term; t++)
        for (size_t i = 0; i < (t < term ? 2 : part); i++)
            if (schema->term[t].column[i] && strcmp(schema->term[t].column[i], name) == 0)
                return NULL;
    return name;
}

const char *pv_schema_column(const pv_schema *schema, size_t index, pv_column_type *type) {
    size_t plain = schema->image ? 0 : pv__schema_plain(schema);
    if (index < plain) {
        if (type)
            *type = schema->source[index].type;
        return schema->source[index].name;
    }
    if (type)
        *type = PV_COLUMN_NUMBER;
    for (size_t i = 0, left = index - plain; i < 2 * schema->terms; i++) {
        const char *name = own_column(schema, i / 2, i % 2);
        if (name && left-- == 0)
            return name;
    }
    return NULL;
}

size_t pv_schema_columns(const pv_schema *schema) {
    size_t count = schema->image ? 0 : pv__schema_plain(schema);
    for (size_t i = 0; i < 2 * schema->terms; i++)
        count += own_column(schema, i / 2, i % 2) != NULL;
    return count;
}

/* ---- columns that a reader must keep ----------------------------------------------------------------------------- */

/* Whether the schema uses the column as numbers. It may also identify the rows. */
static bool is_number(const pv_schema *schema, const char *name) {
    size_t s = pv__schema_find(schema, name);
    if (s < pv__schema_plain(schema))
        return schema->source[s].type == PV_COLUMN_NUMBER;
    return pv__terms_use(schema, name);
}

static void add(const char **list, size_t *n, const char *name) {
    if (name && *name)
        list[(*n)++] = name;
}

/* Text columns of a training table. An outcome of votes is read with the images and is not a column. */
static void keep_for_roles(const pv_roles *roles, const pv__reading *r, const char **text, size_t *n) {
    if (!roles->image || !roles->image->votes)
        add(text, n, roles->target);
    for (size_t i = 0; i < r->n_categorical; i++)
        add(text, n, r->categorical[i]);
    for (size_t i = 0; i < r->n_excluded; i++)
        add(text, n, r->excluded[i]);
    for (size_t i = 0; i < r->n_strata; i++)
        add(text, n, r->strata[i]);
    add(text, n, roles->id);
    add(text, n, pv__roles_group(roles));
}

/* Columns of a table to which the schema is applied: those that it does not use may contain anything. */
static void keep_for_schema(const pv_schema *schema, const pv_roles *roles, const pv__reading *r, const char **text,
                            size_t *n_text, const char **keep, size_t *n_keep) {
    for (size_t t = 0; t < schema->terms; t++)
        for (size_t i = 0; i < 2; i++)
            add(keep, n_keep, schema->term[t].column[i]);
    for (size_t s = 0; s < pv__schema_plain(schema); s++) {
        add(keep, n_keep, schema->source[s].name);
        if (schema->source[s].type == PV_COLUMN_TEXT)
            add(text, n_text, schema->source[s].name);
    }
    for (size_t i = 0; schema->strata && i < schema->strata->columns; i++) {
        add(keep, n_keep, schema->strata->column[i].name);
        add(text, n_text, schema->strata->column[i].name);
    }
    if (!roles)
        return;
    add(keep, n_keep, roles->target);
    add(text, n_text, roles->target);
    for (size_t i = 0; i < r->n_votes; i++) { /* "COL", or "LABEL=COL" */
        const char *equals = strchr(r->votes[i], '=');
        add(keep, n_keep, r->votes[i]);
        add(keep, n_keep, equals ? equals + 1 : NULL);
    }
    if (roles->id && !is_number(schema, roles->id)) {
        add(keep, n_keep, roles->id);
        add(text, n_text, roles->id);
    }
    add(keep, n_keep, roles->weights);
    const char *cluster = pv__cluster_of(schema, roles);
    add(keep, n_keep, cluster);
    if (cluster && !is_number(schema, cluster))
        add(text, n_text, cluster);
}

/* Columns that are used only in terms are read with their natural type. */
static pv_status release_terms(pv_ctx *ctx, const char *terms, pv__reading *r) {
    pv_schema parsed = {0};
    pv_status status = pv__terms_parse(ctx, terms, &parsed);
    size_t kept = 0;
    for (size_t i = 0; status == PV_OK && i < r->n_excluded; i++) {
        if (pv__terms_use(&parsed, r->excluded[i]))
            pv__free(ctx, r->excluded[i]);
        else
            r->excluded[kept++] = r->excluded[i];
    }
    if (status == PV_OK)
        r->n_excluded = kept;
    pv__terms_free(ctx, &parsed);
    return status;
}

static pv_status make_lists(pv_ctx *ctx, const pv_csv_options *options, pv__reading *r) {
    enum { PARTS = 7 }; /* outcome, the two columns of an outcome of counts, id, group, weights, and one spare */
    const pv_roles *roles = options->roles;
    const pv_schema *schema = options->schema;
    if (roles && !schema) {
        PV_TRY(pv__names_split(ctx, "`categorical`", roles->categorical, &r->categorical, &r->n_categorical));
        PV_TRY(pv__names_split(ctx, "`exclude`", roles->exclude, &r->excluded, &r->n_excluded));
        PV_TRY(pv__names_split(ctx, "`strata`", roles->strata, &r->strata, &r->n_strata));
        PV_TRY(release_terms(ctx, roles->terms, r));
    }
    if (roles && schema)
        PV_TRY(pv__names_split(ctx, "`votes`", roles->votes, &r->votes, &r->n_votes));
    size_t room = schema ? schema->sources + 2 * schema->terms + (schema->strata ? schema->strata->columns : 0)
                         : r->n_categorical + r->n_excluded + r->n_strata;
    size_t n_text = 0, n_keep = 0;
    room += PARTS + 2 * r->n_votes;
    PV_TRY(pv__alloc(ctx, 2 * room + options->n_text + options->n_keep, sizeof *r->names, &r->names));
    const char **text = r->names, **keep = r->names + room + options->n_text;
    for (size_t i = 0; i < options->n_text; i++)
        add(text, &n_text, options->text[i]);
    for (size_t i = 0; i < options->n_keep; i++)
        add(keep, &n_keep, options->keep[i]);
    const char *slash = roles ? pv__counts_slash(roles->target) : NULL;
    if (slash) {
        PV_TRY(pv__strdup(ctx, roles->target, &r->cases));
        r->cases[slash - roles->target] = '\0';
        add(keep, &n_keep, r->cases);
        add(keep, &n_keep, slash + 1);
    }
    if (schema)
        keep_for_schema(schema, roles, r, text, &n_text, keep, &n_keep);
    else if (roles)
        keep_for_roles(roles, r, text, &n_text);
    r->options.text = text;
    r->options.n_text = n_text;
    r->options.keep = schema || options->keep ? keep : NULL;
    r->options.n_keep = n_keep;
    return PV_OK;
}

pv_status pv__reading_new(pv_ctx *ctx, const pv_csv_options *options, pv__reading *reading) {
    *reading = (pv__reading){0};
    if (options)
        reading->options = *options;
    if (!options || (!options->roles && !options->schema))
        return PV_OK;
    pv_status status = make_lists(ctx, options, reading);
    if (status != PV_OK)
        pv__reading_free(ctx, reading);
    return status;
}

void pv__reading_free(pv_ctx *ctx, pv__reading *reading) {
    pv_string_list_free(ctx, reading->categorical, reading->n_categorical);
    pv_string_list_free(ctx, reading->excluded, reading->n_excluded);
    pv_string_list_free(ctx, reading->strata, reading->n_strata);
    pv_string_list_free(ctx, reading->votes, reading->n_votes);
    pv__free(ctx, reading->names);
    pv__free(ctx, reading->cases);
    *reading = (pv__reading){0};
}

pv_status pv_dataset_read(pv_ctx *ctx, const pv_schema *schema, const char *path, const pv_roles *roles,
                          const pv_csv_options *csv, pv_dataset **dataset) {
    pv_csv_options options = {0};
    if (csv)
        options = *csv;
    options.roles = roles;
    options.schema = schema;
    pv_table *table;
    *dataset = NULL;
    PV_TRY(pv_table_read(ctx, path, &options, &table));
    pv_status status = pv_schema_apply(ctx, schema, table, roles, dataset);
    pv_table_free(ctx, table);
    return status;
}

pv_status pv_sample_apply(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *training, const pv_table *table,
                          const pv_roles *roles, pv_dataset **sample) {
    pv_roles own = {.missing = roles->missing, .weights_are = roles->weights_are};
    if (roles->weights && pv__table_lookup(table, roles->weights) < table->columns)
        own.weights = roles->weights;
    if (own.weights_are == PV_WEIGHTS_AUTO &&
        training->sampling) /* a column keeps the meaning that it had in training */
        own.weights_are = PV_WEIGHTS_SAMPLING;
    PV_TRY(pv_schema_apply(ctx, schema, table, &own, sample));
    pv_status status = own.weights ? pv__weights_learn(ctx, table, &own, schema, *sample) : PV_OK;
    if (status != PV_OK) {
        pv_dataset_free(ctx, *sample);
        *sample = NULL;
    }
    return status;
}

pv_status pv_sample_read(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *training, const char *path,
                         const pv_roles *roles, const pv_csv_options *csv, pv_dataset **sample) {
    const pv_roles own = {.missing = roles->missing, .weights = roles->weights};
    pv_csv_options options = {0};
    if (csv)
        options = *csv;
    options.roles = &own;
    options.schema = schema;
    pv_table *table;
    *sample = NULL;
    PV_TRY(pv_table_read(ctx, path, &options, &table));
    pv_status status = pv_sample_apply(ctx, schema, training, table, roles, sample);
    pv_table_free(ctx, table);
    return status;
}
