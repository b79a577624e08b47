/* Exports to ONNX: steps become nodes of a graph, opset 17 with ai.onnx.ml 3 for texts. Numbers are double,
 * [rows][width], preceded by a dimension for draws; the planes of an image network are float, [rows
 * views][channels][height][width].
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "export/onnx.h"

enum { IR_VERSION = 8, OPSET = 17, OPSET_ML = 3 };
static const char ML[] = "ai.onnx.ml";

/* Casts the node's output to another type. */
static void node1_cast(pv__onnx *w, const char *operation, const char *a, int type, const char *out) {
    pv__onnx_name bare = pv__onnx_another(w);
    pv__onnx_node1(w, operation, a, bare.text);
    pv__onnx_cast(w, bare.text, type, out);
}

static void node2_cast(pv__onnx *w, const char *operation, const char *a, const char *b, int type, const char *out) {
    pv__onnx_name bare = pv__onnx_another(w);
    pv__onnx_node2(w, operation, a, b, bare.text);
    pv__onnx_cast(w, bare.text, type, out);
}

static void reduce(pv__onnx *w, const char *operation, const char *a, int64_t axis, bool keep, const char *out) {
    pv__onnx_with_integers(w, "axes", &axis, 1);
    pv__onnx_with_integer(w, "keepdims", keep);
    pv__onnx_node1(w, operation, a, out);
}

static void put_concat(pv__onnx *w, const char *const *in, size_t n, int64_t axis, const char *out) {
    pv__onnx_with_integer(w, "axis", axis);
    pv__onnx_node(w, "Concat", NULL, in, n, out);
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static void put_numbers(pv__onnx *w, const pv__step *step, const char *out) {
    const char **in = NULL;
    if (step->inputs == 1) {
        pv__onnx_node1(w, "Identity", w->d->steps.input[step->from[0]].name, out);
        return;
    }
    if (w->nodes.status == PV_OK)
        w->nodes.status = pv__alloc(w->ctx, (size_t)step->inputs, sizeof *in, &in);
    for (int i = 0; in && i < step->inputs; i++)
        in[i] = w->d->steps.input[step->from[i]].name;
    if (in)
        put_concat(w, in, (size_t)step->inputs, -1, out);
    pv__free(w->ctx, in);
}

/* Finds the first true one of: equal to each level, missing, other. */
static void put_number_place(pv__onnx *w, const pv__step_input *input, const char *out) {
    const size_t dims[] = {1, input->levels};
    pv__onnx_name levels = pv__onnx_another(w), equal = pv__onnx_another(w), absent = pv__onnx_another(w),
                  present = pv__onnx_another(w), all = pv__onnx_another(w);
    pv__onnx_tensor(w, levels.text, DOUBLE, dims, 2, input->number);
    pv__onnx_node2(w, "Equal", input->name, levels.text, equal.text);
    pv__onnx_node1(w, "IsNaN", input->name, absent.text);
    pv__onnx_node1(w, "Not", absent.text, present.text);
    const char *in[] = {equal.text, absent.text, present.text};
    pv__onnx_name flags = pv__onnx_another(w);
    put_concat(w, in, 3, -1, flags.text);
    pv__onnx_cast(w, flags.text, FLOAT, all.text);
    pv__onnx_with_integer(w, "axis", -1);
    pv__onnx_with_integer(w, "keepdims", 1);
    pv__onnx_node1(w, "ArgMax", all.text, out);
}

static void put_text_place(pv__onnx *w, const pv__step_input *input, const char *out) {
    pv__out text = {.ctx = w->ctx}, number = {.ctx = w->ctx};
    for (size_t l = 0; l < input->levels; l++) {
        pv__pb_text(&text, 9, input->level[l]);
        pv__pb_integer(&number, 8, (int64_t)l);
    }
    for (size_t a = 0; a < w->d->steps.absents; a++) {
        const char *absent = w->d->steps.absent[a];
        if (pv__names_have(input->level, input->levels, absent))
            continue;
        pv__pb_text(&text, 9, absent);
        pv__pb_integer(&number, 8, (int64_t)input->levels);
    }
    pv__onnx_attribute(w, "cats_strings", OF_STRINGS, &text);
    pv__onnx_attribute(w, "cats_int64s", OF_INTS, &number);
    pv__onnx_with_integer(w, "default_int64", (int64_t)input->levels + 1);
    const char *in = input->name;
    pv__onnx_node(w, "CategoryMapper", ML, &in, 1, out);
}

static void put_given(pv__onnx *w, const pv__step *step, const char *out) {
    const pv__steps *s = &w->d->steps;
    const int64_t pixels[] = {-1, (int64_t)step->width}, row[] = {1, (int64_t)step->width};
    if (step->kind == PV__STEP_NUMBERS) {
        put_numbers(w, step, out);
    } else if (step->kind == PV__STEP_PLACE) {
        const pv__step_input *input = &s->input[step->from[0]];
        (input->text ? put_text_place : put_number_place)(w, input, out);
    } else if (step->kind == PV__STEP_PIXELS) {
        pv__onnx_name flat = pv__onnx_another(w);
        pv__onnx_reshaped(w, w->names.images, pixels, 2, flat.text);
        pv__onnx_cast(w, flat.text, DOUBLE, out);
    } else {
        pv__onnx_reshaped(w, w->names.prevalence, row, 2, out);
    }
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static void put_one(pv__onnx *w, const pv__step *step, const char *out) {
    static const char *const operation[PV__STEP_KINDS] = {[PV__STEP_EXP] = "Exp",
                                                          [PV__STEP_LOG] = "Log",
                                                          [PV__STEP_SQRT] = "Sqrt",
                                                          [PV__STEP_ABS] = "Abs",
                                                          [PV__STEP_RELU] = "Relu"};
    pv__onnx_name a = pv__onnx_taken(w, step->from[0]);
    if (operation[step->kind]) {
        pv__onnx_node1(w, operation[step->kind], a.text, out);
    } else if (step->kind == PV__STEP_ABSENT) {
        node1_cast(w, "IsNaN", a.text, DOUBLE, out);
    } else if (step->kind == PV__STEP_SUM) {
        pv__onnx_name axes = pv__onnx_integer(w, -1);
        pv__onnx_node2(w, "ReduceSum", a.text, axes.text, out);
    } else if (step->kind == PV__STEP_TOP) {
        reduce(w, "ReduceMax", a.text, -1, true, out);
    } else if (step->kind == PV__STEP_MEAN) {
        reduce(w, "ReduceMean", a.text, 0, false, out);
    } else if (step->kind == PV__STEP_SLICE) {
        pv__onnx_name first = pv__onnx_integer(w, (int64_t)step->first),
                      end = pv__onnx_integer(w, (int64_t)(step->first + step->width)), axes = pv__onnx_integer(w, -1);
        const char *in[] = {a.text, first.text, end.text, axes.text};
        pv__onnx_node(w, "Slice", NULL, in, 4, out);
    } else { /* erfc from an operator that runtimes support for float only */
        static const double one = 1;
        const size_t dims[] = {1, 1};
        pv__onnx_name narrow = pv__onnx_another(w), erf = pv__onnx_another(w), unit = pv__onnx_another(w);
        pv__onnx_cast(w, a.text, FLOAT, narrow.text);
        node1_cast(w, "Erf", narrow.text, DOUBLE, erf.text);
        pv__onnx_tensor(w, unit.text, DOUBLE, dims, 2, &one);
        pv__onnx_node2(w, "Sub", unit.text, erf.text, out);
    }
}

static void put_lookup(pv__onnx *w, const pv__step *step, const char *table, const char *out) {
    pv__onnx_name place = pv__onnx_of_step(w, step->from[0]), rows = pv__onnx_another(w), axes = pv__onnx_integer(w, 1);
    if (pv__onnx_step(w, step->from[0])->kind != PV__STEP_PLACE) {
        pv__onnx_name whole = pv__onnx_another(w);
        pv__onnx_cast(w, place.text, INT64, whole.text);
        place = whole;
    }
    pv__onnx_node2(w, "Gather", table, place.text, rows.text);
    pv__onnx_node2(w, "Squeeze", rows.text, axes.text, out);
}

static void put_two(pv__onnx *w, const pv__step *step, const char *out) {
    static const char *const operation[PV__STEP_KINDS] = {
        [PV__STEP_ADD] = "Add", [PV__STEP_SUBTRACT] = "Sub", [PV__STEP_MULTIPLY] = "Mul", [PV__STEP_DIVIDE] = "Div",
        [PV__STEP_MAX] = "Max", [PV__STEP_MIN] = "Min",      [PV__STEP_MATMUL] = "MatMul"};
    if (step->kind == PV__STEP_TREES) {
        pv__onnx_trees(w, step, out);
        return;
    }
    pv__onnx_name a = pv__onnx_taken(w, step->from[0]), b = pv__onnx_taken(w, step->from[1]);
    if (step->kind == PV__STEP_AT_MOST)
        node2_cast(w, "LessOrEqual", a.text, b.text, DOUBLE, out);
    else if (step->kind == PV__STEP_LOOKUP)
        put_lookup(w, step, b.text, out);
    else
        pv__onnx_node2(w, operation[step->kind], a.text, b.text, out);
}

static void put_select(pv__onnx *w, const pv__step *step, const char *out) {
    pv__onnx_name condition = pv__onnx_taken(w, step->from[0]), yes = pv__onnx_taken(w, step->from[1]),
                  no = pv__onnx_taken(w, step->from[2]), flag = pv__onnx_another(w);
    pv__onnx_cast(w, condition.text, BOOL, flag.text);
    const char *in[] = {flag.text, yes.text, no.text};
    pv__onnx_node(w, "Where", NULL, in, 3, out);
}

static void put_joined(pv__onnx *w, const pv__step *step, int64_t axis, const char *out) {
    const char **in = NULL;
    pv__onnx_name *called = NULL;
    pv_status status = w->nodes.status;
    if (status == PV_OK)
        status = pv__alloc(w->ctx, (size_t)step->inputs, sizeof *in, &in);
    if (status == PV_OK)
        status = pv__alloc(w->ctx, (size_t)step->inputs, sizeof *called, &called);
    for (int i = 0; status == PV_OK && i < step->inputs; i++) {
        called[i] = pv__onnx_taken(w, step->from[i]);
        in[i] = called[i].text;
    }
    if (status == PV_OK)
        put_concat(w, in, (size_t)step->inputs, axis, out);
    else
        w->nodes.status = status;
    pv__free(w->ctx, in);
    pv__free(w->ctx, called);
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

static bool is_planes(const pv__step *step) {
    return step->kind == PV__STEP_CONV || step->kind == PV__STEP_MAXPOOL || step->kind == PV__STEP_CHANNELS;
}

static void with_window(pv__onnx *w, const pv__node *node) {
    const int64_t kernel[] = {(int64_t)node->kernel, (int64_t)node->kernel},
                  stride[] = {(int64_t)node->stride, (int64_t)node->stride}, p = (int64_t)node->padding,
                  pads[] = {p, p, p, p};
    pv__onnx_with_integers(w, "kernel_shape", kernel, 2);
    pv__onnx_with_integers(w, "strides", stride, 2);
    pv__onnx_with_integers(w, "pads", pads, 4);
}

static void put_conv(pv__onnx *w, const pv__step *step, const char *out) {
    const pv__step *weight = pv__onnx_step(w, step->from[1]), *bias = pv__onnx_step(w, step->from[2]);
    size_t size = w->d->steps.size, k = step->node.kernel, in = weight->width / (k * k);
    pv__onnx_name x = pv__onnx_taken(w, step->from[0]), kernel = pv__onnx_another(w), shift = pv__onnx_another(w),
                  sum = pv__onnx_another(w);
    if (!is_planes(pv__onnx_step(w, step->from[0]))) {
        const int64_t planes[] = {-1, 1, (int64_t)size, (int64_t)size};
        pv__onnx_name narrow = pv__onnx_another(w), shaped = pv__onnx_another(w);
        pv__onnx_cast(w, x.text, FLOAT, narrow.text);
        pv__onnx_reshaped(w, narrow.text, planes, 4, shaped.text);
        x = shaped;
    }
    const size_t dims[] = {weight->rows, in, k, k};
    pv__onnx_tensor(w, kernel.text, FLOAT, dims, 4, weight->value);
    pv__onnx_tensor(w, shift.text, FLOAT, &bias->width, 1, bias->value);
    with_window(w, &step->node);
    const char *taken_in[] = {x.text, kernel.text, shift.text};
    pv__onnx_node(w, "Conv", NULL, taken_in, 3, sum.text);
    pv__onnx_node1(w, "Relu", sum.text, out);
}

static void put_views(pv__onnx *w, const pv__step *step, const char *out) {
    static const char *const operation[] = {"ReduceMax", "ReduceMin", "ReduceMean"};
    const int64_t shape[] = {-1, (int64_t)w->d->steps.views, (int64_t)step->width};
    pv__onnx_name x = pv__onnx_taken(w, step->from[0]), rows = pv__onnx_another(w), pooled = pv__onnx_another(w);
    pv__onnx_reshaped(w, x.text, shape, 3, rows.text);
    reduce(w, operation[step->first], rows.text, 1, false, pooled.text);
    pv__onnx_cast(w, pooled.text, DOUBLE, out);
}

static void put_step(pv__onnx *w, int at) {
    const pv__step *step = pv__onnx_step(w, at);
    pv__onnx_name out = pv__onnx_of_step(w, at);
    if (step->kind == PV__STEP_CONSTANT)
        return;
    if (step->kind < PV__STEP_CONSTANT) {
        put_given(w, step, out.text);
    } else if (step->kind < PV__STEP_ADD) {
        put_one(w, step, out.text);
    } else if (step->kind < PV__STEP_SELECT) {
        put_two(w, step, out.text);
    } else if (step->kind == PV__STEP_SELECT) {
        put_select(w, step, out.text);
    } else if (step->kind == PV__STEP_CONCAT) {
        put_joined(w, step, -1, out.text);
    } else if (step->kind == PV__STEP_CHANNELS) {
        put_joined(w, step, 1, out.text);
    } else if (step->kind == PV__STEP_CONV) {
        put_conv(w, step, out.text);
    } else if (step->kind == PV__STEP_MAXPOOL) {
        pv__onnx_name x = pv__onnx_taken(w, step->from[0]);
        with_window(w, &step->node);
        pv__onnx_node1(w, "MaxPool", x.text, out.text);
    } else {
        put_views(w, step, out.text);
    }
}

/* ---- the whole graph --------------------------------------------------------------------------------------------- */

/* The most probable label, the first if tied; empty if there is no prediction. */
static void put_labels(pv__onnx *w, const char *p) {
    const pv__described *d = w->d;
    pv__out tensor = {.ctx = w->ctx};
    pv__onnx_name labels = pv__onnx_another(w), first = pv__onnx_another(w), absent = pv__onnx_another(w),
                  flat = pv__onnx_another(w), best = pv__onnx_another(w), place = pv__onnx_another(w),
                  zero = pv__onnx_integer(w, 0), one = pv__onnx_integer(w, 1),
                  none = pv__onnx_integer(w, (int64_t)d->labels);
    pv__pb_integer(&tensor, 1, (int64_t)d->labels + 1);
    pv__pb_integer(&tensor, 2, STRING);
    for (size_t y = 0; y < d->labels; y++)
        pv__pb_text(&tensor, 6, d->label[y]);
    pv__pb_text(&tensor, 6, "");
    pv__pb_text(&tensor, 8, labels.text);
    pv__pb_part(&w->initializers, 5, &tensor);
    const char *slice[] = {p, zero.text, one.text, one.text};
    pv__onnx_node(w, "Slice", NULL, slice, 4, first.text);
    pv__onnx_node1(w, "IsNaN", first.text, absent.text);
    pv__onnx_node2(w, "Squeeze", absent.text, one.text, flat.text);
    pv__onnx_with_integer(w, "axis", 1);
    pv__onnx_with_integer(w, "keepdims", 0);
    pv__onnx_node1(w, "ArgMax", p, best.text);
    const char *where[] = {flat.text, none.text, best.text};
    pv__onnx_node(w, "Where", NULL, where, 3, place.text);
    pv__onnx_node2(w, "Gather", labels.text, place.text, w->names.label);
}

/* dims: 0 means the number of rows. */
static void put_value(pv__out *graph, int field, const char *called, int type, const size_t *dims, int n) {
    pv__out shape = {.ctx = graph->ctx}, tensor = {.ctx = graph->ctx}, of = {.ctx = graph->ctx},
            value = {.ctx = graph->ctx};
    for (int i = 0; i < n; i++) {
        pv__out dim = {.ctx = graph->ctx};
        if (dims[i] == 0)
            pv__pb_text(&dim, 2, "rows");
        else
            pv__pb_integer(&dim, 1, (int64_t)dims[i]);
        pv__pb_part(&shape, 1, &dim);
    }
    pv__pb_integer(&tensor, 1, type);
    pv__pb_part(&tensor, 2, &shape);
    pv__pb_part(&of, 1, &tensor);
    pv__pb_text(&value, 1, called);
    pv__pb_part(&value, 2, &of);
    pv__pb_part(graph, field, &value);
}

static void put_graph(pv__onnx *w, pv__out *model) {
    const pv__described *d = w->d;
    const pv__steps *s = &d->steps;
    pv__out graph = {.ctx = w->ctx};
    const size_t cell[] = {0, 1}, image[] = {0, s->views, s->size, s->size}, shares[] = {0, d->labels},
                 prevalence[] = {d->labels == 2 ? 1 : d->labels};
    for (int i = 0; i < s->count; i++)
        put_step(w, i);
    pv__onnx_name p = pv__onnx_taken(w, d->p);
    pv__onnx_node1(w, "Identity", p.text, w->names.probabilities);
    put_labels(w, p.text);
    pv__out_add(&graph, w->nodes.bytes, w->nodes.size);
    pv__pb_text(&graph, 2, "prevail");
    pv__out_add(&graph, w->initializers.bytes, w->initializers.size);
    for (int i = 0; i < s->inputs; i++)
        put_value(&graph, 11, s->input[i].name, s->input[i].text ? STRING : DOUBLE, cell, 2);
    if (s->views > 0)
        put_value(&graph, 11, w->names.images, FLOAT, image, 4);
    if (d->given)
        put_value(&graph, 11, w->names.prevalence, DOUBLE, prevalence, 1);
    put_value(&graph, 12, w->names.probabilities, DOUBLE, shares, 2);
    put_value(&graph, 12, w->names.label, STRING, cell, 1);
    const pv__out *parts[] = {&w->nodes, &w->initializers, &w->attributes};
    for (int i = 0; i < 3 && graph.status == PV_OK; i++)
        graph.status = parts[i]->status;
    pv__pb_part(model, 7, &graph);
}

static void put_opset(pv__out *model, const char *domain, int64_t version) {
    pv__out set = {.ctx = model->ctx};
    pv__pb_text(&set, 1, domain);
    pv__pb_integer(&set, 2, version);
    pv__pb_part(model, 8, &set);
}

static void put_fact(pv__out *model, const char *key, const char *value) {
    pv__out entry = {.ctx = model->ctx};
    pv__pb_text(&entry, 1, key);
    pv__pb_text(&entry, 2, value);
    pv__pb_part(model, 14, &entry);
}

/* A prefix that no column name begins with. */
static void choose_prefix(pv__onnx *w) {
    bool taken_already = true;
    for (int i = 0; taken_already; i++) {
        pv__format(w->prefix, sizeof w->prefix, "prevail%d.", i);
        taken_already = false;
        for (int c = 0; c < w->d->steps.inputs; c++)
            taken_already |= strncmp(w->d->steps.input[c].name, w->prefix, strlen(w->prefix)) == 0;
    }
}

static pv_status write_onnx(const pv__described *d, pv__out *out) {
    pv__onnx w = {.ctx = out->ctx, .d = d};
    w.nodes.ctx = w.initializers.ctx = w.attributes.ctx = out->ctx;
    PV_TRY(pv__alloc(out->ctx, (size_t)d->steps.count, sizeof *w.there, &w.there));
    pv__export_names_find(d, &w.names);
    choose_prefix(&w);
    pv__pb_integer(out, 1, IR_VERSION);
    pv__pb_text(out, 2, "prevail");
    pv__pb_text(out, 3, PV_VERSION);
    put_graph(&w, out);
    put_opset(out, "", OPSET);
    put_opset(out, ML, OPSET_ML);
    put_fact(out, "prevail.about", d->about);
    if (d->classifier->record)
        put_fact(out, "prevail.record", d->classifier->record);
    pv__free(out->ctx, w.there);
    pv__free(out->ctx, w.nodes.bytes);
    pv__free(out->ctx, w.initializers.bytes);
    pv__free(out->ctx, w.attributes.bytes);
    PV_TRY(out->status);
    if (out->size >= INT32_MAX)
        return pv__fail(out->ctx, PV_ERR_USAGE,
                        "the model would exceed the 2 GB limit of ONNX files:\nfit it with fewer draws");
    return PV_OK;
}

const pv__language pv__export_onnx = {.suffix = ".onnx", .name = "ONNX", .write = write_onnx, .images = true};
