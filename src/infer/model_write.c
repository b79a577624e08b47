/* Writes model files: to a temporary file that is renamed, or into memory. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "infer/boosting.h"
#include "infer/combined.h"
#include "infer/infer.h"
#include "infer/model_file.h"
#include "infer/stacking.h"
#include "base/value.h"
#include "model/model.h"

typedef struct array {
    const char *name;
    const double *values;
    size_t count;
} array;

static pv_result *strings(char *const *text, size_t n) {
    pv_result *list = pv__value_list();
    for (size_t i = 0; i < n; i++)
        pv__value_append(list, pv__value_text(text[i]));
    return list;
}

static pv_result *numbers(const double *number, size_t n) {
    pv_result *list = pv__value_list();
    for (size_t i = 0; i < n; i++)
        pv__value_append(list, pv__value_real(number[i]));
    return list;
}

static pv_result *column_of(const pv_source_column *s) {
    pv_result *column = pv__value_pack("t", "name", s->name);
    if (s->missing)
        pv__value_set(column, "missing", pv__value_flag(true));
    if (s->auc > 0)
        pv__value_set(column, "auc", pv__value_real(s->auc));
    if (s->rows)
        pv__value_set(column, "rows", numbers(s->rows, (size_t)s->levels));
    if (s->type == PV_COLUMN_TEXT)
        pv__value_set(column, "levels", strings(s->level, (size_t)s->levels));
    if (s->type == PV_COLUMN_NUMBER)
        pv__value_set(column, "mean", pv__value_real(s->mean));
    if (s->type == PV_COLUMN_NUMBER)
        pv__value_set(column, "sd", pv__value_real(s->sd));
    return column;
}

static pv_result *columns(const pv_schema *schema) {
    pv_result *list = pv__value_list();
    for (size_t i = 0; i < schema->sources; i++)
        pv__value_append(list, column_of(&schema->source[i]));
    return list;
}

/* The columns that define strata, and their combinations of levels. */
static pv_result *strata_of(const pv_strata *strata) {
    pv_result *list = pv__value_list(), *keys = pv__value_list();
    for (size_t i = 0; i < strata->columns; i++)
        pv__value_append(list, pv__value_pack("tv", "name", strata->column[i].name, "levels",
                                              strings(strata->column[i].level, (size_t)strata->column[i].levels)));
    for (int32_t s = 0; s < strata->count; s++)
        pv__value_append(keys, pv__value_integer(strata->key[s]));
    return pv__value_pack("vv", "columns", list, "keys", keys);
}

/* How images are converted to views. */
static pv_result *image(const pv_image_encoding *e) {
    return pv__value_pack("tttirIIIrrrrrrrrb", "images", e->images, "votes", e->votes, "spacing", e->spacing, "layout",
                          (int)e->layout, "binarise", e->binarise, "votes_min", (int64_t)e->votes_min, "views",
                          (int64_t)e->views, "size", (int64_t)e->size, "low", e->low, "high", e->high, "mean", e->mean,
                          "sd", e->sd, "field", e->field, "rotate", e->rotate, "shift", e->shift, "scale", e->scale,
                          "flip", (int)e->flip);
}

static pv_result *array_table(const array *arrays, size_t n) {
    pv_result *table = pv__value_object();
    size_t offset = 0;
    for (size_t i = 0; i < n; i++) {
        if (arrays[i].values)
            pv__value_set(table, arrays[i].name,
                          pv__value_pack("II", "offset", (int64_t)offset, "count", (int64_t)arrays[i].count));
        offset += arrays[i].values ? arrays[i].count * sizeof(double) : 0;
    }
    return table;
}

static pv_result *posterior_of(const pv_posterior *p) {
    if (!p)
        return pv__value_null();
    return pv__value_pack("tIItIrrrIIIrr", "kind", pv_posterior_kind_name(p->kind), "count", (int64_t)p->count,
                          "parameters", (int64_t)p->dims, "stop", pv_stop_name(p->stop), "iterations",
                          (int64_t)p->iterations, "elbo", p->elbo, "elbo_se", p->elbo_se, "evidence", p->evidence,
                          "chains", (int64_t)p->chains, "divergences", (int64_t)p->divergences, "max_depth_hits",
                          (int64_t)p->max_depth_hits, "acceptance", p->acceptance, "step_size", p->step_size);
}

static pv_result *sample_of(const pv_classifier *c) {
    char hash[32];
    if (!c->sample_source)
        return pv__value_null();
    pv__format(hash, sizeof hash, "%016llx", (unsigned long long)c->sample_hash);
    return pv__value_pack("ttIb", "source", c->sample_source, "hash", hash, "rows", (int64_t)c->sample_rows,
                          "estimated", (int)c->estimated);
}

static pv_result *combination_of(const pv_classifier *c) {
    const pv_combination *m = c->combination;
    if (!m)
        return pv__value_null();
    pv_result *term = pv__value_list();
    for (size_t i = 0; i < m->slopes; i++)
        pv__value_append(term, pv__value_integer(m->term[i]));
    return pv__value_pack("tIvrrIrrI", "use", pv_estimate_name((pv_estimate)m->use), "terms", (int64_t)m->terms, "term",
                          term, "statistic", m->statistic, "p_value", m->p_value, "rank", (int64_t)m->rank, "df_risk",
                          m->df_risk, "units", m->units, "controls", (int64_t)m->controls);
}

/* Parts that only some models have. */
static void add_parts(pv_result *object, const pv_classifier *c) {
    const pv_schema *schema = c->schema;
    const pv_reference *r = c->reference;
    if (r && !r->cells) {
        pv_result *count = pv__value_list();
        for (size_t i = 0; i < 2; i++)
            pv__value_append(count, pv__value_integer((int64_t)r->count[i]));
        pv__value_set(object, "reference", count);
    }
    if (c->stacked)
        pv__value_set(object, "stacked", pv__stacked_to_json(c->stacked));
    if (c->boosted)
        pv__value_set(object, "boosted", pv__boosted_to_json(c->boosted));
    if (c->smoothing)
        pv__value_set(object, "smoothing", pv__smoothed_to_json(c->smoothing));
    if (c->label_error)
        pv__value_set(object, "label_error", pv__label_error_to_json(c->label_error));
    if (schema->offset)
        pv__value_set(object, "offset", pv__value_flag(true));
    if (schema->sampling)
        pv__value_set(object, "sampling", pv__value_flag(true));
    if (schema->cluster && *schema->cluster)
        pv__value_set(object, "cluster", pv__value_text(schema->cluster));
    if (schema->votes)
        pv__value_set(object, "votes", pv__value_flag(true));
    if (schema->image)
        pv__value_set(object, "image", image(schema->image));
    if (schema->missing != PV_MISSING_REFUSE && schema->missing != PV_MISSING_MODEL)
        pv__value_set(object, "missing", pv__value_text(pv_missing_name((pv_missing)schema->missing)));
    if (c->spread)
        pv__value_set(object, "spread_df", pv__value_real(c->spread_df));
    if (!pv__is_written_as_usual(&schema->written))
        pv__value_set(object, "written", pv__written_to_json(&schema->written));
    if (schema->terms > 0)
        pv__value_set(object, "terms", pv__terms_to_json(schema));
    if (c->stratified)
        pv__value_set(object, "strata", strata_of(schema->strata));
}

/* Takes ownership of record. */
static pv_result *header_of(const pv_classifier *c, pv_result *record, const array *arrays, size_t n) {
    char hash[32];
    pv__format(hash, sizeof hash, "%016llx", (unsigned long long)c->data_hash);
    pv_result *strength = isinf(c->prevalence_n) ? pv__value_text("known") : pv__value_real(c->prevalence_n);
    pv_result *data = pv__value_pack("ttII", "source", c->source, "hash", hash, "rows", (int64_t)c->rows, "dropped",
                                     (int64_t)c->dropped);
    pv_result *fit =
        pv__value_pack("tIrrII", "stop", pv_stop_name(c->stop), "iterations", (int64_t)c->iterations, "passes",
                       c->passes, "loss", c->loss_value, "seed", (int64_t)c->seed, "separated", (int64_t)c->separated);
    pv_result *object = pv__value_pack(
        "ttttttvvvvvvvvvv", "version", PV_VERSION, "model", pv_model_spec(c->model), "loss", pv_loss_name(c->loss),
        "marginal", pv_marginal_name(c->marginal), "target", c->schema->target, "weights", c->schema->weights, "labels",
        strings(c->schema->labels, (size_t)c->schema->classes), "columns", columns(c->schema), "prevalence_n", strength,
        "data", data, "fit", fit, "sample", sample_of(c), "combination", combination_of(c), "record", record,
        "posterior", posterior_of(c->posterior), "arrays", array_table(arrays, n));
    if (object)
        add_parts(object, c);
    return object;
}

/* How many numbers from `at` on are converted at a time; 0: no more. */
enum { PIECE = 1024 };
static size_t piece_of(const array *a, size_t at) {
    size_t left = a->values ? a->count - at : 0;
    return left < PIECE ? left : PIECE;
}

static uint64_t checksum(const char *header, size_t header_size, const array *arrays, size_t n) {
    pv__hasher state;
    pv__hasher_begin(&state);
    pv__hasher_add(&state, header, header_size);
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0, m; (m = piece_of(&arrays[i], at)) > 0; at += m) {
            double buffer[PIECE];
            pv__hasher_add(&state, pv__little_endian(arrays[i].values + at, sizeof *buffer, m, buffer),
                           m * sizeof *buffer);
        }
    return pv__hasher_end(&state);
}

/* The parts of a classifier to write. */
enum { ARRAYS = 22 };
typedef struct frame {
    char *header;
    size_t header_size, payload; /* bytes */
    array arrays[ARRAYS];
    double *strata;                                    /* what is known about each; 0 observations: known exactly */
    char line[sizeof PV__MODEL_MAGIC + PV_SIZES_LINE]; /* the first two lines */
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
    pv_result *record, *header = NULL;
    pv_status status;
    PV_GOTO(done, pv__json_parse(ctx, c->record, strlen(c->record), &record));
    header = header_of(c, record, f->arrays, ARRAYS);
    PV_GOTO(done, pv__json_dump(ctx, header,
                                "the model cannot be described: a column name, label or level is not valid UTF-8 "
                                "text;\nsave the data as UTF-8",
                                &f->header));
    f->header_size = strlen(f->header);
    uint64_t sum = checksum(f->header, f->header_size, f->arrays, ARRAYS);
    pv__format(f->line, sizeof f->line, PV__MODEL_MAGIC PV_SIZES_FORMAT, f->header_size, f->payload,
               (unsigned long long)sum);
done:
    pv_result_free(header);
    if (status != PV_OK)
        frame_free(ctx, f);
    return status;
}

/* A stream, or a memory buffer. */
typedef struct sink {
    FILE *stream;
    unsigned char *at;
} sink;

static void put(sink *to, const void *bytes, size_t n) {
    if (to->stream) {
        fwrite(bytes, 1, n, to->stream); /* the stream keeps a write error until it is committed */
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
