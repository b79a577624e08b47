/* Options by name and text: every table, ownership, the state after a failure, and the names of every enum. */
#include "fixture.h"

typedef pv_status (*maker)(pv_ctx *ctx, pv_settings **settings);

static const struct {
    const char *name;
    maker make;
    size_t least; /* minimum number of options */
} kinds[] = {{"fit", pv_fit_settings_new, 50},
             {"target", pv_unknown_settings_new, 5},
             {"assess", pv_assess_settings_new, 3},
             {"validation", pv_validation_settings_new, 6}};

enum { KINDS = sizeof kinds / sizeof *kinds };

static const char *get(const pv_settings *s, const char *name) {
    const char *text = "not asked";
    ok(pv_settings_get(ctx, s, name, &text));
    return text;
}

static bool same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* The texts of an object are enough to set all its options; reading them back gives the same. */
static void every_option_of_every_kind(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        pv_settings *s, *again;
        ok(kinds[k].make(ctx, &s));
        ok(kinds[k].make(ctx, &again));
        size_t count = pv_settings_count(s);
        assert_true(count >= kinds[k].least);
        for (size_t i = 0; i < count; i++) {
            const pv_option *row = pv_settings_option(s, i);
            const char *before = get(s, row->name);
            assert_non_null(row->help);
            assert_false(pv_settings_given(s, row->name));
            if (row->type != PV_OPTION_TEXT)
                assert_non_null(before);
            if (before)
                ok(pv_settings_set(ctx, again, row->name, before));
            assert_true(same_text(get(again, row->name), get(s, row->name)));
            assert_int_equal(pv_settings_given(again, row->name), before != NULL);
        }
        assert_null(pv_settings_option(s, count));
        pv_settings_free(ctx, again);
        pv_settings_free(ctx, s);
    }
}

static void the_structs_are_those_of_the_defaults(void **state) {
    (void)state;
    pv_settings *s;
    ok(pv_fit_settings_new(ctx, &s));
    pv_fit_options usual = pv_fit_options_default();
    const pv_fit_options *fit = pv_fit_options_of(s);
    for (const pv_option *row = pv_fit_option_table; row->name; row++) {
        char left[64], right[64];
        pv_option_get(row, fit, left, sizeof left);
        pv_option_get(row, &usual, right, sizeof right);
        assert_string_equal(left, right);
    }
    assert_non_null(pv_roles_of(s));
    assert_non_null(pv_image_options_of(s));
    assert_null(pv_assess_options_of(s));
    pv_settings_free(ctx, s);
    ok(pv_assess_settings_new(ctx, &s));
    assert_int_equal(pv_assess_options_of(s)->positive, -1); /* not in the table: set by the struct's default */
    assert_int_equal(pv_assess_options_of(s)->bootstrap, -1);
    pv_settings_free(ctx, s);
    ok(pv_unknown_settings_new(ctx, &s));
    near(pv_unknown_options_of(s)->level, 0.95, 0);
    pv_settings_free(ctx, s);
    ok(pv_validation_settings_new(ctx, &s));
    assert_int_equal(pv_validation_options_of(s)->folds, 3);
    assert_string_equal(pv_validation_options_of(s)->stated_for, "population");
    pv_settings_free(ctx, s);
}

static void texts_are_its_own(void **state) {
    (void)state;
    pv_settings *s;
    char text[] = "0.01";
    ok(pv_fit_settings_new(ctx, &s));
    assert_null(get(s, "prevalence"));
    ok(pv_settings_set(ctx, s, "prevalence", text));
    memset(text, 'x', sizeof text - 1);
    assert_string_equal(get(s, "prevalence"), "0.01");
    assert_string_equal(pv_fit_options_of(s)->prevalence, "0.01");
    ok(pv_settings_set(ctx, s, "prevalence", get(s, "prevalence"))); /* from its own text */
    assert_string_equal(get(s, "prevalence"), "0.01");
    ok(pv_settings_set(ctx, s, "prevalence", NULL));
    assert_null(get(s, "prevalence"));
    assert_null(pv_fit_options_of(s)->prevalence);
    assert_false(pv_settings_given(s, "prevalence"));
    ok(pv_settings_set(ctx, s, "prior", "normal:1"));
    ok(pv_settings_set(ctx, s, "prior", NULL));
    assert_string_equal(pv_fit_options_of(s)->prior, "usual");
    pv_settings_free(ctx, s);
}

static void values_of_each_type(void **state) {
    (void)state;
    pv_settings *s;
    ok(pv_fit_settings_new(ctx, &s));
    ok(pv_settings_set(ctx, s, "loss", "plain"));
    ok(pv_settings_set(ctx, s, "max-iter", "17"));
    ok(pv_settings_set(ctx, s, "tolerance", "1e-5"));
    ok(pv_settings_set(ctx, s, "direct", "true"));
    ok(pv_settings_set(ctx, s, "missing", "drop"));
    assert_int_equal(pv_fit_options_of(s)->loss, PV_LOSS_PLAIN);
    assert_int_equal(pv_fit_options_of(s)->max_iter, 17);
    near(pv_fit_options_of(s)->tolerance, 1e-5, 0);
    assert_true(pv_fit_options_of(s)->direct);
    assert_true(pv_roles_of(s)->missing);
    assert_string_equal(get(s, "missing"), "drop");
    assert_string_equal(get(s, "tolerance"), "1e-05");
    ok(pv_settings_set(ctx, s, "missing", "refuse"));
    assert_false(pv_roles_of(s)->missing);
    pv_settings_free(ctx, s);
}

static void a_failure_changes_nothing(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *says;
    } wrong[] = {{"los", "ig", "did you mean `loss`"},
                 {"loss", "maximum", "choose one of ig|iw|plain"},
                 {"missing", "perhaps", "choose one of refuse|drop"},
                 {"max-iter", "many", "not a whole number"},
                 {"tolerance", "7", "must lie between"},
                 {"direct", "yes", "takes no value"}};
    pv_settings *s;
    ok(pv_fit_settings_new(ctx, &s));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pv_settings_set(ctx, s, wrong[i].name, wrong[i].text), PV_ERR_USAGE);
        says(wrong[i].says);
        assert_false(pv_settings_given(s, wrong[i].name));
    }
    const char *text;
    assert_int_equal(pv_settings_get(ctx, s, "los", &text), PV_ERR_USAGE);
    assert_null(text);
    assert_string_equal(get(s, "loss"), "ig");
    assert_string_equal(get(s, "missing"), "refuse");
    pv_settings_free(ctx, s);
}

static pv_status settings_poorly(pv_ctx *poor) {
    pv_status status = PV_OK;
    for (size_t k = 0; k < KINDS && status == PV_OK; k++) {
        pv_settings *s = NULL;
        status = kinds[k].make(poor, &s);
        for (size_t i = 0; status == PV_OK && i < 3; i++)
            status = pv_settings_set(poor, s, pv_settings_option(s, i)->name, NULL);
        if (status == PV_OK && k == 0)
            status = pv_settings_set(poor, s, "prior", "normal:1");
        const char *text;
        if (status == PV_OK)
            status = pv_settings_get(poor, s, "seed", &text);
        if (status == PV_ERR_USAGE) /* this kind has none */
            status = PV_OK;
        pv_settings_free(poor, s);
    }
    return status;
}

/* The constructor of each kind, named for tests/memory/public.sh. */
static pv_status made_poorly(pv_ctx *poor) {
    pv_settings *s = NULL;
    pv_status status = pv_settings_new(poor, &s);
    if (status == PV_OK)
        status = pv_settings_add(poor, s, pv_fit_option_table, sizeof(pv_fit_options), NULL);
    pv_settings_free(poor, s);
    static const maker makers[] = {pv_fit_settings_new, pv_unknown_settings_new, pv_assess_settings_new,
                                   pv_validation_settings_new};
    for (size_t k = 0; k < KINDS && status == PV_OK; k++) {
        s = NULL;
        status = makers[k](poor, &s);
        pv_settings_free(poor, s);
    }
    return status;
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    sweep_memory(settings_poorly);
    sweep_memory(made_poorly);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Both ways for the values first .. last and nowhere else. */
#define CHECK_WORDS(type, name_of, find, first, last)                                                                  \
    do {                                                                                                               \
        for (int i = (first)-2; i <= (last) + 2; i++) {                                                                \
            type value = (type)(first);                                                                                \
            const char *name = name_of((type)i);                                                                       \
            bool inside = i >= (first) && i <= (last);                                                                 \
            if (inside) {                                                                                              \
                assert_true(find(name, &value));                                                                       \
                assert_int_equal((int)value, i);                                                                       \
            } else {                                                                                                   \
                assert_string_equal(name, "unknown");                                                                  \
            }                                                                                                          \
            assert_false(find("no such word", &value));                                                                \
            assert_false(find(NULL, &value));                                                                          \
        }                                                                                                              \
    } while (0)

static void words_both_ways(void **state) {
    (void)state;
    CHECK_WORDS(pv_stop, pv_stop_name, pv_stop_find, PV_STOP_CONVERGED, PV_STOP_POOR);
    CHECK_WORDS(pv_loss, pv_loss_name, pv_loss_find, PV_LOSS_IG, PV_LOSS_MATCHED);
    CHECK_WORDS(pv_marginal, pv_marginal_name, pv_marginal_find, PV_MARGINAL_PROFILE, PV_MARGINAL_AUXILIARY_LINEAR);
    CHECK_WORDS(pv_array_type, pv_array_type_name, pv_array_type_find, PV_ARRAY_BOOL, PV_ARRAY_BYTES);
    CHECK_WORDS(pv_missing, pv_missing_name, pv_missing_find, PV_MISSING_REFUSE, PV_MISSING_MODEL);
    CHECK_WORDS(pv_term_kind, pv_term_kind_name, pv_term_kind_find, PV_TERM_PLAIN, PV_TERM_SCORE);
    CHECK_WORDS(pv_estimate, pv_estimate_name, pv_estimate_find, PV_ESTIMATE_EFFICIENT, PV_ESTIMATE_COMBINED);
    CHECK_WORDS(pv_posterior_kind, pv_posterior_kind_name, pv_posterior_kind_find, PV_POSTERIOR_LAPLACE,
                PV_POSTERIOR_HMC);
    pv_population_kind population; /* it has a name "unknown" of its own */
    for (int i = PV_POPULATION_TRUE; i <= PV_POPULATION_COUNTS; i++) {
        assert_true(pv_population_kind_find(pv_population_kind_name((pv_population_kind)i), &population));
        assert_int_equal((int)population, i);
    }
}

/* Of an enum whose words are those of the option alone. */
#define CHOICE(type, ...)                                                                                              \
    static const char *type##_word(int value) {                                                                        \
        static const char *const words[] = {__VA_ARGS__};                                                              \
        return value >= 0 && (size_t)value < sizeof words / sizeof *words ? words[value] : "unknown";                  \
    }
#define WORD(type, name_of)                                                                                            \
    static const char *type##_word(int value) {                                                                        \
        return name_of((pv_##type)value);                                                                              \
    }
WORD(loss, pv_loss_name)
WORD(marginal, pv_marginal_name)
WORD(inference, pv_inference_name)
CHOICE(weighting, [PV_WEIGHT_COUNTED] = "counted", [PV_WEIGHT_EXPECTED] = "expected")
CHOICE(implementation, [PV_IMPLEMENTATION_1] = "1", [PV_IMPLEMENTATION_2] = "2", [PV_IMPLEMENTATION_3] = "3")
CHOICE(start, [PV_START_PREVALENCE] = "prevalence", [PV_START_ZERO] = "zero")

/* The choices of an option are the names of its enum. */
static void choices_are_the_enums(void **state) {
    (void)state;
    static const struct {
        const char *option;
        const char *(*name)(int value);
        int first;
    } known[] = {{"loss", loss_word, 0},
                 {"marginal", marginal_word, 0},
                 {"infer", inference_word, 0},
                 {"population-weight", weighting_word, 0},
                 {"epoch-weight", weighting_word, 0},
                 {"implementation", implementation_word, 1},
                 {"start", start_word, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const pv_option *row = pv_option_find(pv_fit_option_table, known[i].option);
        assert_int_equal(row->type, PV_OPTION_CHOICE);
        char all[256] = "";
        for (int v = known[i].first; strcmp(known[i].name(v), "unknown") != 0; v++) {
            size_t used = strlen(all);
            snprintf(all + used, sizeof all - used, "%s%s", used ? "|" : "", known[i].name(v));
        }
        assert_string_equal(all, row->choices);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_option_of_every_kind),
                                       cmocka_unit_test(the_structs_are_those_of_the_defaults),
                                       cmocka_unit_test(texts_are_its_own),
                                       cmocka_unit_test(values_of_each_type),
                                       cmocka_unit_test(a_failure_changes_nothing),
                                       cmocka_unit_test(survives_lack_of_memory),
                                       cmocka_unit_test(words_both_ways),
                                       cmocka_unit_test(choices_are_the_enums)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
