/* Tables from Arrow streams, compared with a CSV file of the same content; and invalid streams. */
#include "fixture.h"
#include "prevail/arrow.h"

/* ---- a producer -------------------------------------------------------------------------------------------------- */

enum { COLUMNS = 8, BATCHES = 3 };

/* The contents of a stream. Nothing is allocated; releases are counted. */
typedef struct producer {
    struct ArrowArrayStream stream;
    struct ArrowSchema schema[COLUMNS], dictionary_schema[COLUMNS], *child[COLUMNS];
    struct ArrowArray array[BATCHES][COLUMNS], *column[BATCHES][COLUMNS], batch[BATCHES];
    int columns, batches, next;
    int fails;    /* get_next fails from this batch on; 0: never */
    int asked;    /* number of calls for the schema */
    int released; /* streams, schemas and batches */
} producer;

static void schema_released(struct ArrowSchema *schema) {
    ((producer *)schema->private_data)->released++;
    schema->release = NULL;
}

static void array_released(struct ArrowArray *array) {
    ((producer *)array->private_data)->released++;
    array->release = NULL;
}

static void stream_released(struct ArrowArrayStream *stream) {
    ((producer *)stream->private_data)->released++;
    stream->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    producer *p = stream->private_data;
    p->asked++;
    *out = (struct ArrowSchema){
        .format = "+s", .n_children = p->columns, .children = p->child, .release = schema_released, .private_data = p};
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    producer *p = stream->private_data;
    if (p->fails && p->next + 1 >= p->fails)
        return 5;
    *out = (struct ArrowArray){0};
    if (p->next == p->batches)
        return 0;
    *out = p->batch[p->next++];
    out->release = array_released;
    out->private_data = p;
    return 0;
}

static const char *last_error(struct ArrowArrayStream *stream) {
    (void)stream;
    return "the disk is gone";
}

static void begin(producer *p, int columns, int batches, int64_t rows) {
    *p = (producer){.columns = columns, .batches = batches};
    p->stream = (struct ArrowArrayStream){get_schema, get_next, last_error, stream_released, p};
    for (int b = 0; b < batches; b++) {
        p->batch[b] = (struct ArrowArray){.length = rows, .n_children = columns, .children = p->column[b]};
        for (int c = 0; c < columns; c++)
            p->column[b][c] = &p->array[b][c];
    }
    for (int c = 0; c < columns; c++)
        p->child[c] = &p->schema[c];
}

static void column(producer *p, int c, const char *name, const char *format) {
    p->schema[c] = (struct ArrowSchema){.format = format, .name = name};
}

static void cells(producer *p, int batch, int c, int64_t length, int64_t offset, int64_t nulls, int64_t n_buffers,
                  const void **buffers) {
    p->array[batch][c] = (struct ArrowArray){
        .length = length, .offset = offset, .null_count = nulls, .n_buffers = n_buffers, .buffers = buffers};
}

static pv_status take(producer *p, pv_table **table) {
    pv_status status = pv_table_of_arrow(ctx, "frame", &p->stream, table);
    assert_int_equal(p->released, 2 + p->next); /* everything handed out, and the stream */
    return status;
}

/* ---- valid streams ----------------------------------------------------------------------------------------------- */

/* Two batches of three rows, the second with offsets; every kind of column. */
static void test_kinds(void **state) {
    (void)state;
    static const double real[] = {1.5, 2, -3, 9, 9, 4, 5, 6};
    static const int8_t small[] = {1, -2, 3, 7, 7, 4, 5, 6};
    static const uint16_t halves[] = {0x3c00, 0xc000, 0x7e00, 0,
                                      0,      0x3800, 0x0001, 0x7bff}; /* 1, -2, NaN; 0.5, 2^-24, 65504 */
    static const unsigned char valid[] = {0x05}, some[] = {0x37}, bits[] = {0x06}, later[] = {0xA0};
    static const int32_t ends[] = {0, 1, 3, 3}, more[] = {0, 0, 0, 2, 3, 5};
    static const char letters[] = "abc", others[] = "bcaNA";
    static const int32_t codes[] = {1, 0, 1}, other_codes[] = {0, 0, 0};
    static const int32_t level_ends[] = {0, 4, 7};
    static const int64_t large_ends[] = {0, 1};
    static const int32_t days[] = {0, 18262, -1};
    static const int64_t moments[] = {0, 43200000000, 86400000000};
    static const unsigned char decimals[2][16] = {{0x39, 0x30}, {0}};
    static unsigned char money[3][16], views[3][16], long_text[] = "a text of more than twelve bytes";
    static const int64_t sizes[] = {sizeof long_text - 1};
    memcpy(money[0], decimals[0], 16); /* 12345 */
    memset(money[1], 0xff, 16);        /* -1 */
    money[2][8] = 1;                   /* 2^64 */
    views[0][0] = 2;
    memcpy(views[0] + 4, "hi", 2);
    views[1][0] = sizeof long_text - 1;
    memcpy(views[1] + 4, long_text, 4);
    const void *f64[2][2] = {{NULL, real}, {NULL, real}};
    const void *i8[2][2] = {{valid, small}, {some, small}}, *half[2][2] = {{NULL, halves}, {NULL, halves}};
    const void *bools[2][2] = {{NULL, bits}, {NULL, later}};
    const void *text[2][3] = {{NULL, ends, letters}, {NULL, more, others}};
    const void *coded[2][2] = {{NULL, codes}, {NULL, other_codes}};
    const void *levels[2][3] = {{NULL, level_ends, "north\0so"}, {NULL, large_ends, "x"}};
    const void *date[2][2] = {{NULL, days}, {NULL, days}}, *view[] = {NULL, views, long_text, sizes};
    const void *rest[2] = {NULL, money}, *moment[2] = {NULL, moments};
    static const char north[] = "nortsou";
    levels[0][2] = north;
    producer p;
    begin(&p, 7, 2, 3);
    column(&p, 0, "real", "g");
    column(&p, 1, "small", "c");
    column(&p, 2, "half", "e");
    column(&p, 3, "flag", "b");
    column(&p, 4, "text", "u");
    column(&p, 5, "site", "i");
    column(&p, 6, "day", "tdD");
    p.dictionary_schema[5] = (struct ArrowSchema){.format = "u"};
    p.schema[5].dictionary = &p.dictionary_schema[5];
    struct ArrowArray dictionary[2] = {{.length = 2, .n_buffers = 3, .buffers = levels[0]},
                                       {.length = 1, .n_buffers = 3, .buffers = levels[0]}};
    for (int b = 0; b < 2; b++) {
        int64_t skip = b ? 5 : 0;
        cells(&p, b, 0, 3, skip, 0, 2, f64[b]);
        cells(&p, b, 1, 3, skip, b ? -1 : 1, 2, i8[b]);
        cells(&p, b, 2, 3, skip, 0, 2, half[b]);
        cells(&p, b, 3, 3, skip, 0, 2, bools[b]);
        cells(&p, b, 4, 3, b ? 2 : 0, 0, 3, text[b]);
        cells(&p, b, 5, 3, 0, 0, 2, coded[b]);
        p.array[b][5].dictionary = &dictionary[b];
        cells(&p, b, 6, 3, 0, 0, 2, date[b]);
    }
    pv_table *table, *file;
    ok(take(&p, &table));
    /* half: 5.9604644775390625e-08 is 2^-24 */
    file = read_text(
        "real,small,half,flag,text,site,day\n1.5,1,1,False,a,sou,0\n2,,-2,True,bc,nort,18262\n-3,3,,True,,sou,-1\n"
        "4,4,0.5,True,bc,nort,0\n5,,5.9604644775390625e-08,False,a,nort,18262\n6,,65504,True,,nort,-1\n");
    assert_int_equal(table->rows, 6);
    assert_int_equal(table->columns, file->columns);
    for (size_t c = 0; c < table->columns; c++) {
        assert_string_equal(table->column[c].name, file->column[c].name);
        assert_int_equal(table->column[c].type, file->column[c].type);
        for (size_t i = 0; i < 6; i++)
            if (table->column[c].type == PV_COLUMN_TEXT) {
                const char *got = text_at(table, i, c), *wanted = text_at(file, i, c);
                assert_true(!got == !wanted && (!got || strcmp(got, wanted) == 0));
            } else if (isnan(number(file, i, c))) {
                assert_true(isnan(number(table, i, c)));
            } else {
                near(number(table, i, c), number(file, i, c), 0);
            }
    }
    pv_table_free(ctx, table);
    pv_table_free(ctx, file);

    begin(&p, 4, 1, 2);
    column(&p, 0, "money", "d:20,2");
    column(&p, 1, "when", "tsu:UTC");
    column(&p, 2, "note", "vu");
    column(&p, 3, "none", "n");
    cells(&p, 0, 0, 2, 0, 0, 2, rest);
    cells(&p, 0, 1, 2, 0, 0, 2, moment);
    cells(&p, 0, 2, 2, 0, 0, 4, view);
    cells(&p, 0, 3, 2, 0, 2, 0, NULL);
    ok(take(&p, &table));
    near(number(table, 0, 0), 123.45, 1e-12);
    near(number(table, 1, 0), -0.01, 1e-17);
    near(number(table, 1, 1), 0.5, 0);
    assert_string_equal(text_at(table, 0, 2), "hi");
    assert_string_equal(text_at(table, 1, 2), (const char *)long_text);
    assert_true(isnan(number(table, 1, 3)));
    pv_table_free(ctx, table);
    p.next = p.released = 0;
    p.stream.release = stream_released;
    p.batch[0].offset = 1; /* the batch itself has an offset */
    p.batch[0].length = 1;
    ok(take(&p, &table));
    assert_int_equal(table->rows, 1);
    near(number(table, 0, 1), 0.5, 0);
    pv_table_free(ctx, table);
}

/* ---- invalid streams --------------------------------------------------------------------------------------------- */

/* A valid stream of one column with four rows, which a test then damages. */
typedef struct sound {
    producer p;
    const void *buffers[4];
    struct ArrowArray dictionary;
} sound;

static const int32_t ints[] = {0, 1, 1, 0};
static const int32_t text_ends[] = {0, 1, 2, 3, 4};
static const unsigned char four_views[4][16] = {{1, 0, 0, 0, 'a'}, {20, 0, 0, 0}, {0}, {0}};
static const int64_t view_sizes[] = {19};

static void make(sound *s, const char *format) {
    begin(&s->p, 1, 1, 4);
    column(&s->p, 0, "a", format);
    bool text = strcmp(format, "u") == 0, view = strcmp(format, "vu") == 0;
    s->buffers[0] = NULL;
    s->buffers[1] = text ? (const void *)text_ends : view ? (const void *)four_views : ints;
    s->buffers[2] = view ? "nineteen characters" : "abcd";
    s->buffers[3] = view_sizes;
    cells(&s->p, 0, 0, 4, 0, 0, text ? 3 : view ? 4 : 2, s->buffers);
}

static void make_coded(sound *s) {
    static const void *levels[] = {NULL, text_ends, "abcd"};
    make(s, "i");
    s->p.dictionary_schema[0] = (struct ArrowSchema){.format = "u"};
    s->p.schema[0].dictionary = &s->p.dictionary_schema[0];
    s->dictionary = (struct ArrowArray){.length = 2, .n_buffers = 3, .buffers = levels};
    s->p.array[0][0].dictionary = &s->dictionary;
}

static void refused(sound *s, const char *part) {
    pv_table *table;
    assert_int_equal(take(&s->p, &table), PV_ERR_INPUT);
    assert_null(table);
    says(part);
}

#define SPOIL(format, change, part)                                                                                    \
    do {                                                                                                               \
        make(&s, format);                                                                                              \
        change;                                                                                                        \
        refused(&s, part);                                                                                             \
    } while (0)

static void test_lies(void **state) {
    (void)state;
    static const int32_t backwards[] = {0, 3, 1, 3, 4}, below[] = {-1, 1, 2, 3, 4};
    static const int32_t wild[] = {0, 2, 1, 0}, under[] = {0, -1, 1, 0};
    sound s;
    pv_table *table;
    make(&s, "i");
    ok(take(&s.p, &table));
    pv_table_free(ctx, table);
    SPOIL("i", s.p.array[0][0].length = 3, "'a' has fewer elements");
    SPOIL("i", s.p.array[0][0].length = -4, "fewer elements");
    SPOIL("i", s.p.array[0][0].offset = -1, "fewer elements");
    SPOIL("i", s.p.array[0][0].offset = INT64_MAX, "fewer elements");
    SPOIL("i", s.p.array[0][0].n_buffers = 1, "wrong number of buffers");
    SPOIL("i", s.p.array[0][0].buffers = NULL, "no buffers");
    SPOIL("i", s.buffers[1] = NULL, "no data");
    SPOIL("i", s.p.column[0][0] = NULL, "fewer elements");
    SPOIL("i", s.p.batch[0].n_children = 2, "2 columns, not 1");
    SPOIL("i", s.p.batch[0].children = NULL, "columns, not 1");
    SPOIL("i", s.p.batch[0].length = -1, "-1 rows");
    SPOIL("i", s.p.batch[0].length = INT64_MAX, "rows");
    SPOIL("i", s.p.batch[0].length = 0, "no rows");
    SPOIL("i", s.p.batch[0].null_count = 1, "has null rows");
    SPOIL("i", s.p.batch[0].offset = -1, "columns, not 1");
    SPOIL("i", s.p.columns = 0, "0 columns");
    SPOIL("i", s.p.child[0] = NULL, "no type");
    SPOIL("i", s.p.schema[0].format = NULL, "no type");
    SPOIL("u", s.buffers[1] = backwards, "with an invalid offset");
    SPOIL("u", s.buffers[1] = below, "with an invalid offset");
    SPOIL("u", s.buffers[2] = NULL, "with an invalid offset");
    SPOIL("u", s.buffers[2] = "a\0cd", "NUL");
    SPOIL("vu", (void)0, "with an invalid offset"); /* 20 bytes of a buffer of 19 */
    SPOIL("+l", (void)0, "'a' has Arrow type '+l'");
    SPOIL("tDs", (void)0, "type 'tDs'");
    SPOIL("d:20,400", (void)0, "type 'd:20,400'");
    SPOIL("d:x", (void)0, "type 'd:x'");
    SPOIL("", (void)0, "type ''");
    make_coded(&s);
    ok(take(&s.p, &table));
    assert_string_equal(text_at(table, 1, 0), "b");
    pv_table_free(ctx, table);
    make_coded(&s);
    s.buffers[1] = wild;
    refused(&s, "not in its dictionary");
    make_coded(&s);
    s.buffers[1] = under;
    refused(&s, "not in its dictionary");
    make_coded(&s);
    s.p.array[0][0].dictionary = NULL;
    refused(&s, "no dictionary");
    make_coded(&s);
    s.p.dictionary_schema[0].format = "+s";
    refused(&s, "type '+s'");
    make_coded(&s);
    s.p.schema[0].format = "u";
    refused(&s, "type 'u'");
}

static void test_failures(void **state) {
    (void)state;
    sound s;
    pv_table *table;
    make(&s, "i");
    s.p.fails = 1;
    refused(&s, "the disk is gone");
    assert_int_equal(pv_table_of_arrow(ctx, "frame", &s.p.stream, &table), PV_ERR_INPUT); /* already used */
    says("already used");
    assert_int_equal(pv_table_of_arrow(ctx, "frame", NULL, &table), PV_ERR_INPUT);
}

static pv_status take_poorly(pv_ctx *poor) {
    sound s;
    pv_table *table = NULL;
    make_coded(&s);
    pv_status status = pv_table_of_arrow(poor, "frame", &s.p.stream, &table);
    assert_int_equal(s.p.released, 1 + s.p.asked + s.p.next);
    pv_table_free(poor, table);
    return status;
}

static void test_lack_of_memory(void **state) {
    (void)state;
    sweep_memory(take_poorly);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kinds), cmocka_unit_test(test_lies),
                                       cmocka_unit_test(test_failures), cmocka_unit_test(test_lack_of_memory)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
