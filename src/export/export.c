/* Exports classifiers: chooses the language, rejects what it does not support, and writes the file. */
#include <string.h>

#include "base/text.h"
#include "base/value.h"
#include "export/export.h"

static const pv__language *const languages[] = {&pv__export_onnx, &pv__export_c, &pv__export_sql};
enum { LANGUAGES = sizeof languages / sizeof *languages };

const pv_option pv_export_option_table[] = {
    {"population", PV_OPTION_TEXT, offsetof(pv_export_options, population), NULL, 0, 0, NULL, "NAME",
     "Population of the probabilities: true (the prevalence stated in fit), known:P, or design. Default: the exported "
     "model takes the prevalence as an input."},
    {"missing", PV_OPTION_CHOICE, offsetof(pv_export_options, missing), "model", 0, 0, "model|refuse|impute", NULL,
     "What to do with missing cells. model: as the model learned. refuse: no probabilities. impute: the mean or most "
     "frequent level of the training table."},
    {"unseen", PV_OPTION_CHOICE, offsetof(pv_export_options, unseen), "refuse", 0, 0, "other|missing|reference|refuse",
     NULL,
     "Rows with levels that training did not have. other: the average of rare training levels, or missing if there "
     "were none. missing: a missing cell. reference: the reference level. refuse: no probabilities."},
    {"table", PV_OPTION_TEXT, offsetof(pv_export_options, table), NULL, 0, 0, NULL, "NAME",
     "SQL: the table with the rows. Default: data."},
    {0}};

pv_status pv_export_settings_new(pv_ctx *ctx, pv_settings **settings) {
    pv_export_options usual;
    pv_options_default(pv_export_option_table, &usual);
    return pv__settings_of(ctx, pv_export_option_table, sizeof usual, &usual, settings);
}

/* ---- description of the export ----------------------------------------------------------------------------------- */

void pv__export_names_find(const pv__described *d, pv__export_names *names) {
    const struct {
        const char *word;
        char *name;
    } all[] = {{"prevalence", names->prevalence},
               {"images", names->images},
               {"probabilities", names->probabilities},
               {"label", names->label}};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) {
        bool taken = true;
        for (int i = 0; taken; i++) {
            if (i == 0)
                pv__format(all[n].name, sizeof names->label, "%s", all[n].word);
            else
                pv__format(all[n].name, sizeof names->label, "%s_%d", all[n].word, i);
            taken = false;
            for (int c = 0; c < d->steps.inputs; c++)
                taken |= strcmp(d->steps.input[c].name, all[n].name) == 0;
        }
    }
}

static pv_result *texts(char *const *text, size_t n) {
    pv_result *list = pv__value_list();
    for (size_t i = 0; i < n; i++)
        (void)pv__value_append(list, pv__value_text(text[i]));
    return list;
}

static void put_input(pv_result *list, const char *name, const char *type, char *const *level, size_t levels) {
    pv_result *made = pv__value_pack("tt", "name", name, "type", type);
    if (levels > 0)
        (void)pv__value_set(made, "levels", texts(level, levels));
    (void)pv__value_append(list, made);
}

/* HEAD followed by the label. NULL: out of memory. */
static char *labelled(pv_ctx *ctx, const char *head, const char *label) {
    size_t size = strlen(head) + strlen(label) + 1;
    char *name = NULL;
    if (pv__alloc(ctx, size, 1, &name) == PV_OK)
        pv__format(name, size, "%s%s", head, label);
    return name;
}

static pv_result *inputs_of(const pv__described *d, const pv__language *language, const pv__export_names *names) {
    const pv__steps *s = &d->steps;
    pv_result *list = pv__value_list();
    char head[sizeof names->prevalence + 2];
    bool each = language->table && d->labels > 2; /* one column per label */
    for (int i = 0; i < s->inputs; i++)
        put_input(list, s->input[i].name, s->input[i].text ? "text" : "number", s->input[i].level, s->input[i].levels);
    if (s->views > 0)
        put_input(list, names->images, "images", NULL, 0);
    if (d->given && !each)
        put_input(list, names->prevalence, "prevalence", NULL, 0);
    pv__format(head, sizeof head, "%s__", names->prevalence);
    for (size_t y = 0; d->given && each && y < d->labels; y++) {
        char *name = labelled(s->ctx, head, d->label[y]);
        if (name)
            put_input(list, name, "prevalence", NULL, 0);
        else
            (void)pv__value_append(list, NULL);
        pv__free(s->ctx, name);
    }
    return list;
}

/* The outputs: columns in SQL; in C the array p and the function's return value. */
static pv_result *outputs_of(const pv__described *d, const pv__language *language, const pv__export_names *names) {
    pv_result *list = pv__value_list();
    if (!language->table)
        (void)pv__value_append(list, pv__value_text(names->probabilities));
    for (size_t y = 0; language->table && y < d->labels; y++) {
        char *name = labelled(d->steps.ctx, "p__", d->label[y]);
        (void)pv__value_append(list, name ? pv__value_text(name) : NULL);
        pv__free(d->steps.ctx, name);
    }
    (void)pv__value_append(list, pv__value_text(names->label));
    return list;
}

static pv_result *about_of(const pv__described *d, const pv__language *language) {
    pv__export_names names;
    pv__export_names_find(d, &names);
    pv_result *made = pv__value_pack("ttttvvvI", "format", language->name, "version", PV_VERSION, "model",
                                     pv_model_spec(d->classifier->model), "population", d->options->population,
                                     "labels", texts(d->label, d->labels), "inputs", inputs_of(d, language, &names),
                                     "outputs", outputs_of(d, language, &names), "draws", (int64_t)d->steps.draws);
    if (d->steps.absents > 0)
        (void)pv__value_set(made, "missing", texts(d->steps.absent, d->steps.absents));
    if (d->steps.views > 0) {
        (void)pv__value_set(made, "views", pv__value_integer((int64_t)d->steps.views));
        (void)pv__value_set(made, "size", pv__value_integer((int64_t)d->steps.size));
    }
    return made;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static pv_status find_language(pv_ctx *ctx, const char *path, const pv__language **language) {
    for (size_t i = 0; i < LANGUAGES; i++)
        if (pv__text_ends(path, languages[i]->suffix)) {
            *language = languages[i];
            return PV_OK;
        }
    return pv__fail(ctx, PV_ERR_USAGE,
                    "'%s': the extension determines the language:\nname it MODEL.onnx, MODEL.c "
                    "or MODEL.sql",
                    pv__show(path).text);
}

static pv_status check_options(pv_ctx *ctx, const pv_classifier *c, const pv__language *language,
                               const pv_export_options *options) {
    enum { LEARNED };
    if (c->schema->image && !language->images)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "a network of images can be exported only as ONNX:\nname the file MODEL.onnx");
    if (options->table && !language->table)
        return pv__fail(ctx, PV_ERR_USAGE, "`table` names the table of a query, and %s has none:\nleave it out",
                        language->name);
    if (options->table && !*options->table)
        return pv__fail(ctx, PV_ERR_USAGE, "`table` is empty:\nname the table that has the rows");
    if (c->schema->image && options->missing != LEARNED)
        return pv__fail(ctx, PV_ERR_USAGE, "`missing` applies to tables, but these rows are images:\nleave it out");
    if (c->schema->image && options->unseen != PV_UNSEEN_REFUSE)
        return pv__fail(ctx, PV_ERR_USAGE, "`unseen` applies to tables, but these rows are images:\nleave it out");
    return PV_OK;
}

/* *population is NULL if the prevalence is an input. */
static pv_status find_population(pv_ctx *ctx, const pv_classifier *c, const char *text, pv_population **population) {
    *population = NULL;
    PV_TRY(pv_population_new(ctx, c, text ? text : "design", NULL, population));
    pv_status status = PV_OK;
    if (text && ((*population)->kind == PV_POPULATION_UNKNOWN || (*population)->kind == PV_POPULATION_COUNTS))
        status = pv__fail(ctx, PV_ERR_USAGE,
                          "`population=%s` needs all rows at once, but an exported model sees one row at a time:\nuse "
                          "prevail predict, or infer the prevalence there and pass it to the exported model",
                          pv__show(text).text);
    else if (text && (*population)->strata > 0)
        status = pv__fail(ctx, PV_ERR_USAGE,
                          "`population=%s` has a prevalence for each stratum, but an exported model has one for all "
                          "rows:\nuse prevail predict, or give true or known:P",
                          pv__show(text).text);
    if (status == PV_OK && text)
        return PV_OK;
    pv_population_free(ctx, *population);
    *population = NULL;
    return status;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static pv_status write_file(pv_ctx *ctx, const char *path, const pv__out *out) {
    pv_output file;
    PV_TRY(pv_output_open(ctx, path, &file));
    (void)fwrite(out->bytes, 1, out->size, file.stream); /* commit reports any write error */
    return pv_output_commit(ctx, &file);
}

static pv_status write_described(pv_ctx *ctx, pv__described *d, const pv__language *language, const char *path,
                                 pv_result **about) {
    pv__out out = {.ctx = ctx};
    pv_result *said = about_of(d, language);
    char *text = NULL;
    pv_status status;
    PV_GOTO(done,
            pv__json_dump(ctx, said,
                          "the names of columns, levels and labels must be UTF-8 for an export;\nfit the model to "
                          "a table in UTF-8",
                          &text));
    d->about = text;
    PV_GOTO(done, language->write(d, &out));
    PV_GOTO(done, out.status);
    PV_GOTO(done, write_file(ctx, path, &out));
    if (about) {
        *about = said;
        said = NULL;
    }
done:
    pv__free(ctx, text);
    pv__free(ctx, out.bytes);
    pv_result_free(said);
    return status;
}

pv_status pv_export(pv_ctx *ctx, const pv_classifier *classifier, const pv_settings *settings, const char *path,
                    pv_result **about) {
    const pv__language *language = NULL;
    const pv_export_options *given = settings ? pv_settings_values(settings, pv_export_option_table) : NULL;
    pv_export_options options;
    pv_population *population;
    pv__described described;
    if (about)
        *about = NULL;
    pv_options_default(pv_export_option_table, &options);
    if (given)
        options = *given;
    PV_TRY(find_language(ctx, path, &language));
    PV_TRY(check_options(ctx, classifier, language, &options));
    PV_TRY(find_population(ctx, classifier, options.population, &population));
    pv_status status = pv__describe(ctx, classifier, &options, population, &described);
    if (status == PV_OK) {
        status = write_described(ctx, &described, language, path, about);
        pv__steps_clear(&described.steps);
    }
    pv_population_free(ctx, population);
    return status;
}
