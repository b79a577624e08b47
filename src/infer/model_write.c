/* Model files, written: to a temporary file that is renamed, or into memory. */
#include <math.h>
#include <string.h>
#include <xxhash.h>

#include "infer/combined.h"
#include "infer/infer.h"
#include "infer/model_file.h"
#include "infer/stacking.h"
#include "base/json.h"
#include "model/model.h"

typedef struct array {
    const char *name;
    const double *values;
    size_t count;
} array;

static json_t *strings(char *const *text, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, pv__json_text(text[i])) != 0)
            return json_decref(list), NULL;
    return list;
}

static json_t *numbers(const double *number, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, json_real(number[i])) != 0)
            return json_decref(list), NULL;
    return list;
}

static json_t *columns(const pv_schema *schema) {
    json_t *list = json_array();
    for (size_t i = 0; i < schema->sources; i++) {
        const pv_source_column *s = &schema->source[i];
        json_t *column = json_pack("{s:o}", "name", pv__json_text(s->name));
        int failed = 0;
        if (s->missing)
            failed |= json_object_set_new(column, "missing", json_true());
        if (s->auc > 0)
            failed |= json_object_set_new(column, "auc", json_real(s->auc));
        if (s->rows)
            failed |= json_object_set_new(column, "rows", numbers(s->rows, (size_t)s->levels));
        if (s->type == PV_COLUMN_TEXT)
            failed |= json_object_set_new(column, "levels", strings(s->level, (size_t)s->levels));
        else
            failed |= json_object_set_new(column, "mean", json_real(s->mean)) |
                      json_object_set_new(column, "sd", json_real(s->sd));
        if (failed | json_array_append_new(list, column))
            return json_decref(list), NULL;
    }
    return list;
}

static json_t *real_or_null(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

/* The columns and combinations of levels that are strata. */
static json_t *strata_of(const pv_strata *strata) {
    json_t *list = json_array(), *keys = json_array();
    for (size_t i = 0; i < strata->columns; i++)
        if (json_array_append_new(list,
                                  json_pack("{s:o, s:o}", "name", pv__json_text(strata->column[i].name), "levels",
                                            strings(strata->column[i].level, (size_t)strata->column[i].levels))) != 0)
            return json_decref(list), json_decref(keys), NULL;
    for (int32_t s = 0; s < strata->count; s++)
        if (json_array_append_new(keys, json_integer(strata->key[s])) != 0)
            return json_decref(list), json_decref(keys), NULL;
    return json_pack("{s:o, s:o}", "columns", list, "keys", keys);
}

/* How images become views. */
static json_t *image(const pv_image_encoding *e) {
    return json_pack("{s:o, s:o, s:o, s:i, s:f, s:I, s:I, s:I, s:o, s:o, s:f, s:f, s:f, s:f, s:f, s:f, s:b}", "images",
                     pv__json_text(e->images), "votes", pv__json_text(e->votes), "spacing", pv__json_text(e->spacing),
                     "layout", (int)e->layout, "binarise", e->binarise, "votes_min", (json_int_t)e->votes_min, "views",
                     (json_int_t)e->views, "size", (json_int_t)e->size, "low", real_or_null(e->low), "high",
                     real_or_null(e->high), "mean", e->mean, "sd", e->sd, "field", e->field, "rotate", e->rotate,
                     "shift", e->shift, "scale", e->scale, "flip", e->flip);
}

static json_t *array_table(const array *arrays, size_t n) {
    json_t *table = json_object();
    size_t offset = 0;
    for (size_t i = 0; i < n; i++) {
        if (arrays[i].values && json_object_set_new(table, arrays[i].name,
                                                    json_pack("{s:I, s:I}", "offset", (json_int_t)offset, "count",
                                                              (json_int_t)arrays[i].count)) != 0)
            return json_decref(table), NULL;
        offset += arrays[i].values ? arrays[i].count * sizeof(double) : 0;
    }
    return table;
}

static json_t *posterior_of(const pv_posterior *p) {
    if (!p)
        return json_null();
    return json_pack("{s:s, s:I, s:I, s:s, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o}", "kind",
                     pv_posterior_kind_name(p->kind), "count", (json_int_t)p->count, "parameters", (json_int_t)p->dims,
                     "stop", pv_stop_name(p->stop), "iterations", (json_int_t)p->iterations, "elbo",
                     real_or_null(p->elbo), "elbo_se", real_or_null(p->elbo_se), "evidence", real_or_null(p->evidence),
                     "chains", (json_int_t)p->chains, "divergences", (json_int_t)p->divergences, "max_depth_hits",
                     (json_int_t)p->max_depth_hits, "acceptance", real_or_null(p->acceptance), "step_size",
                     real_or_null(p->step_size));
}

static json_t *sample_of(const pv_classifier *c) {
    char hash[32];
    if (!c->sample_source)
        return json_null();
    pv__format(hash, sizeof hash, "%016llx", (unsigned long long)c->sample_hash);
    return json_pack("{s:o, s:s, s:I, s:b}", "source", pv__json_text(c->sample_source), "hash", hash, "rows",
                     (json_int_t)c->sample_rows, "estimated", (int)c->estimated);
}

static json_t *combination_of(const pv_classifier *c) {
    const pv_combination *m = c->combination;
    if (!m)
        return json_null();
    json_t *term = json_array();
    for (size_t i = 0; i < m->slopes; i++)
        if (json_array_append_new(term, json_integer(m->term[i])) != 0)
            return json_decref(term), NULL;
    return json_pack("{s:s, s:I, s:o, s:f, s:f, s:I, s:o, s:f, s:I}", "use", pv_estimate_name((pv_estimate)m->use),
                     "terms", (json_int_t)m->terms, "term", term, "statistic", m->statistic, "p_value", m->p_value,
                     "rank", (json_int_t)m->rank, "df_risk", real_or_null(m->df_risk), "units", m->units, "controls",
                     (json_int_t)m->controls);
}

/* Takes record over. */
static json_t *header_of(const pv_classifier *c, json_t *record, const array *arrays, size_t n) {
    char hash[32];
    pv__format(hash, sizeof hash, "%016llx", (unsigned long long)c->data_hash);
    json_t *strength = isinf(c->prevalence_n) ? json_string("known") : json_real(c->prevalence_n);
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:s, s:I, s:I}, s:{s:s, s:I, s:f, s:o, "
        "s:I, s:I}, s:o, s:o, s:o, s:o, s:o}",
        "version", PV_VERSION, "model", pv_model_spec(c->model), "loss", pv_loss_name(c->loss), "marginal",
        pv_marginal_name(c->marginal), "target", pv__json_text(c->schema->target), "weights",
        pv__json_text(c->schema->weights), "labels", strings(c->schema->labels, (size_t)c->schema->classes), "columns",
        columns(c->schema), "prevalence_n", strength, "data", "source", pv__json_text(c->source), "hash", hash, "rows",
        (json_int_t)c->rows, "dropped", (json_int_t)c->dropped, "fit", "stop", pv_stop_name(c->stop), "iterations",
        (json_int_t)c->iterations, "passes", c->passes, "loss", real_or_null(c->loss_value), "seed",
        (json_int_t)c->seed, "separated", (json_int_t)c->separated, "sample", sample_of(c), "combination",
        combination_of(c), "record", record, "posterior", posterior_of(c->posterior), "arrays", array_table(arrays, n));
    const pv_reference *r = c->reference;
    if (object && r && !r->cells &&
        json_object_set_new(object, "reference",
                            json_pack("[I, I]", (json_int_t)r->count[0], (json_int_t)r->count[1])) != 0)
        return json_decref(object), NULL;
    if (object && c->stacked && json_object_set_new(object, "stacked", pv__stacked_to_json(c->stacked)) != 0)
        return json_decref(object), NULL;
    if (object && c->schema->offset && json_object_set_new(object, "offset", json_true()) != 0)
        return json_decref(object), NULL;
    if (object && c->schema->sampling && json_object_set_new(object, "sampling", json_true()) != 0)
        return json_decref(object), NULL;
    if (object && c->schema->votes && json_object_set_new(object, "votes", json_true()) != 0)
        return json_decref(object), NULL;
    if (object && c->schema->image && json_object_set_new(object, "image", image(c->schema->image)) != 0)
        return json_decref(object), NULL;
    bool rule = c->schema->missing != PV_MISSING_REFUSE && c->schema->missing != PV_MISSING_MODEL;
    if (object && rule &&
        json_object_set_new(object, "missing", json_string(pv_missing_name((pv_missing)c->schema->missing))) != 0)
        return json_decref(object), NULL;
    if (object && c->spread && json_object_set_new(object, "spread_df", real_or_null(c->spread_df)) != 0)
        return json_decref(object), NULL;
    bool failed = false;
    json_t *written = object ? pv__written_to_json(&c->schema->written, &failed) : NULL;
    failed |= written && json_object_set_new(object, "written", written) != 0;
    if (failed)
        return json_decref(object), NULL;
    if (object && c->schema->terms > 0 && json_object_set_new(object, "terms", pv__terms_to_json(c->schema)) != 0)
        return json_decref(object), NULL;
    if (object && c->stratified && json_object_set_new(object, "strata", strata_of(c->schema->strata)) != 0)
        return json_decref(object), NULL;
    return object;
}

/* How many numbers from `at` on are converted at a time; 0: there are no more. */
enum { PIECE = 1024 };
static size_t piece_of(const array *a, size_t at) {
    size_t left = a->values ? a->count - at : 0;
    return left < PIECE ? left : PIECE;
}

static pv_status checksum(pv_ctx *ctx, const char *header, size_t header_size, const array *arrays, size_t n,
                          uint64_t *sum) {
    XXH3_state_t *state = XXH3_createState();
    if (!state)
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory for the model's checksum");
    XXH3_64bits_reset(state);
    XXH3_64bits_update(state, header, header_size);
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0, m; (m = piece_of(&arrays[i], at)) > 0; at += m) {
            double buffer[PIECE];
            XXH3_64bits_update(state, pv__little_endian(arrays[i].values + at, sizeof *buffer, m, buffer),
                               m * sizeof *buffer);
        }
    *sum = XXH3_64bits_digest(state);
    XXH3_freeState(state);
    return PV_OK;
}

/* What is written of a classifier. */
enum { ARRAYS = 22 };
typedef struct frame {
    char *header;
    size_t header_size, payload; /* bytes */
    array arrays[ARRAYS];
    double *strata;                                    /* what is known of each; 0 observations: known */
    char line[sizeof PV__MODEL_MAGIC + PV_SIZES_LINE]; /* the first two */
} frame;

static pv_status copy_strata(pv_ctx *ctx, const pv_stratified *from, double **copy) {
    size_t strata = (size_t)from->strata, count = pv__model_strata_numbers(strata, (size_t)from->classes);
    PV_TRY(pv__alloc(ctx, count, sizeof **copy, copy));
    memcpy(*copy, from->share, count * sizeof **copy);
    for (size_t s = strata; s < 2 * strata; s++)
        (*copy)[s] = isinf((*copy)[s]) ? 0 : (*copy)[s];
    return PV_OK;
}

static void frame_free(pv_ctx *ctx, frame *f) {
    pv__free(ctx, f->header);
    pv__free(ctx, f->strata);
}

static pv_status frame_of(pv_ctx *ctx, const pv_classifier *c, frame *f) {
    size_t k = (size_t)c->schema->classes, strata = c->stratified ? (size_t)c->stratified->strata : 0;
    const pv_posterior *p = c->posterior;
    const pv_reference *r = c->reference;
    double *numbers = NULL;
    if (c->stratified)
        PV_TRY(copy_strata(ctx, c->stratified, &numbers));
    *f = (frame){
        .arrays = {{"weights", c->w, pv_model_params(c->model)},
                   {"prevalence", c->prevalence, k},
                   {"design", c->design, k},
                   {"log_marginal", c->log_marginal, k},
                   {"standard_error", c->standard_error, pv_model_params(c->model)},
                   {"centre", c->centre, pv_model_params(c->model)},
                   {"spread", c->spread, pv_model_params(c->model) * pv_model_params(c->model)},
                   {"averaging", c->averaging, k - 1},
                   {"combination", c->combination ? c->combination->weighted : NULL,
                    pv__combination_numbers(pv_model_params(c->model), c->combination)},
                   {"checks", c->combination ? c->combination->tail : NULL, pv__combination_checks(c->combination)},
                   {"draws", p ? p->draws : NULL, p ? p->count * p->dims : 0},
                   {"draw_log_marginal", c->draw_log_marginal, p ? p->count * k : 0},
                   {"rhat", p ? p->rhat : NULL, p ? p->dims : 0},
                   {"ess", p ? p->ess : NULL, p ? p->dims : 0},
                   {"reference_score", r ? r->score : NULL, r ? r->count[0] + r->count[1] : 0},
                   {"reference_weight", r ? r->weight : NULL, r ? r->count[0] + r->count[1] : 0},
                   {"reference_columns", r ? r->column : NULL, r ? 4 * r->columns : 0},
                   {"reference_units", r && !r->cells ? r->units : NULL, r && !r->cells ? 2 : 0},
                   {"reference_cells", r && r->cells ? r->cells->cut : NULL,
                    r && r->cells ? pv__label_cells_numbers(r->cells->classes) : 0},
                   {"reference_folds", r ? r->fold : NULL, r ? r->folds * r->params : 0},
                   {"strata", numbers, pv__model_strata_numbers(strata, k)},
                   {"draw_strata", strata ? c->stratified->draw_log_marginal : NULL, p ? p->count * strata * k : 0}},
        .strata = numbers};
    for (size_t i = 0; i < ARRAYS; i++)
        f->payload += f->arrays[i].values ? f->arrays[i].count * sizeof(double) : 0;
    json_t *record;
    pv_status status;
    PV_GOTO(done, pv__json_parse(ctx, c->record, strlen(c->record), &record));
    PV_GOTO(done, pv__json_dump(ctx, header_of(c, record, f->arrays, ARRAYS),
                                "the model cannot be described: a column name, label or level is not valid UTF-8 "
                                "text;\nsave the data as UTF-8",
                                &f->header));
    f->header_size = strlen(f->header);
    uint64_t sum = 0;
    PV_GOTO(done, checksum(ctx, f->header, f->header_size, f->arrays, ARRAYS, &sum));
    pv__format(f->line, sizeof f->line, PV__MODEL_MAGIC PV_SIZES_FORMAT, f->header_size, f->payload,
               (unsigned long long)sum);
done:
    if (status != PV_OK)
        frame_free(ctx, f);
    return status;
}

/* A stream, or memory that has room. */
typedef struct sink {
    FILE *stream;
    unsigned char *at;
} sink;

static void put(sink *to, const void *bytes, size_t n) {
    if (to->stream) {
        fwrite(bytes, 1, n, to->stream); /* the stream keeps a failure until it is committed */
    } else {
        memcpy(to->at, bytes, n);
        to->at += n;
    }
}

static void put_frame(sink *to, const frame *f) {
    put(to, f->line, strlen(f->line));
    put(to, f->header, f->header_size);
    put(to, "\n", 1);
    for (size_t i = 0; i < ARRAYS; i++)
        for (size_t at = 0, m; (m = piece_of(&f->arrays[i], at)) > 0; at += m) {
            double buffer[PIECE];
            put(to, pv__little_endian(f->arrays[i].values + at, sizeof *buffer, m, buffer), m * sizeof *buffer);
        }
}

pv_status pv_classifier_save(pv_ctx *ctx, const pv_classifier *c, const char *path) {
    frame f;
    pv_output output;
    PV_TRY(frame_of(ctx, c, &f));
    pv_status status;
    PV_GOTO(done, pv_output_open(ctx, path, &output));
    put_frame(&(sink){.stream = output.stream}, &f);
    status = pv_output_commit(ctx, &output);
done:
    frame_free(ctx, &f);
    return status;
}

pv_status pv_classifier_to_bytes(pv_ctx *ctx, const pv_classifier *c, unsigned char **bytes, size_t *size) {
    frame f;
    *bytes = NULL;
    *size = 0;
    PV_TRY(frame_of(ctx, c, &f));
    size_t all = strlen(f.line) + f.header_size + 1 + f.payload;
    pv_status status = pv__alloc(ctx, all, 1, bytes);
    if (status == PV_OK) {
        put_frame(&(sink){.at = *bytes}, &f);
        *size = all;
    }
    frame_free(ctx, &f);
    return status;
}

void pv_bytes_free(pv_ctx *ctx, unsigned char *bytes) {
    pv__free(ctx, bytes);
}
