/* The graph of an ONNX file: internal names, tensors of constants, nodes. */
#include "export/onnx.h"

pv__onnx_name pv__onnx_of_step(const pv__onnx *w, int at) {
    pv__onnx_name n = {.text = ""};
    pv__format(n.text, sizeof n.text, "%ss%d", w->prefix, at);
    return n;
}

pv__onnx_name pv__onnx_another(pv__onnx *w) {
    pv__onnx_name n = {.text = ""};
    pv__format(n.text, sizeof n.text, "%st%d", w->prefix, w->others++);
    return n;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

void pv__onnx_tensor(pv__onnx *w, const char *called, int type, const size_t *dims, int n, const double *value) {
    pv__out tensor = {.ctx = w->ctx};
    size_t count = 1;
    for (int i = 0; i < n; i++) {
        pv__pb_integer(&tensor, 1, (int64_t)dims[i]);
        count *= dims[i];
    }
    pv__pb_integer(&tensor, 2, type);
    pv__pb_text(&tensor, 8, called);
    pv__pb_numbers(&tensor, 9, value, count, type == FLOAT);
    pv__pb_part(&w->initializers, 5, &tensor);
}

pv__onnx_name pv__onnx_integers(pv__onnx *w, const int64_t *value, size_t n) {
    pv__out tensor = {.ctx = w->ctx};
    pv__onnx_name called = pv__onnx_another(w);
    pv__pb_integer(&tensor, 1, (int64_t)n);
    pv__pb_integer(&tensor, 2, INT64);
    for (size_t i = 0; i < n; i++)
        pv__pb_integer(&tensor, 7, value[i]);
    pv__pb_text(&tensor, 8, called.text);
    pv__pb_part(&w->initializers, 5, &tensor);
    return called;
}

pv__onnx_name pv__onnx_integer(pv__onnx *w, int64_t value) {
    return pv__onnx_integers(w, &value, 1);
}

pv__onnx_name pv__onnx_taken(pv__onnx *w, int at) {
    const pv__step *step = pv__onnx_step(w, at);
    pv__onnx_name called = pv__onnx_of_step(w, at);
    if (step->kind != PV__STEP_CONSTANT || w->there[at])
        return called;
    const size_t dims[] = {w->d->steps.draws, step->rows, step->width};
    pv__onnx_tensor(w, called.text, DOUBLE, dims + !step->drawn, 2 + step->drawn, step->value);
    w->there[at] = true;
    return called;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

void pv__onnx_attribute(pv__onnx *w, const char *called, int type, pv__out *attribute) {
    pv__pb_text(attribute, 1, called);
    pv__pb_integer(attribute, 20, type);
    pv__pb_part(&w->attributes, 5, attribute);
}

void pv__onnx_with_integer(pv__onnx *w, const char *called, int64_t value) {
    pv__out attribute = {.ctx = w->ctx};
    pv__pb_integer(&attribute, 3, value);
    pv__onnx_attribute(w, called, OF_INT, &attribute);
}

void pv__onnx_with_integers(pv__onnx *w, const char *called, const int64_t *value, size_t n) {
    pv__out attribute = {.ctx = w->ctx};
    for (size_t i = 0; i < n; i++)
        pv__pb_integer(&attribute, 8, value[i]);
    pv__onnx_attribute(w, called, OF_INTS, &attribute);
}

void pv__onnx_node(pv__onnx *w, const char *operation, const char *domain, const char *const *in, size_t n,
                   const char *out) {
    pv__out node = {.ctx = w->ctx};
    for (size_t i = 0; i < n; i++)
        pv__pb_text(&node, 1, in[i]);
    pv__pb_text(&node, 2, out);
    pv__pb_text(&node, 3, out);
    pv__pb_text(&node, 4, operation);
    if (w->attributes.size > 0)
        pv__out_add(&node, w->attributes.bytes, w->attributes.size);
    if (w->attributes.status != PV_OK)
        node.status = w->attributes.status;
    w->attributes.size = 0;
    if (domain)
        pv__pb_text(&node, 7, domain);
    pv__pb_part(&w->nodes, 1, &node);
}

void pv__onnx_node1(pv__onnx *w, const char *operation, const char *a, const char *out) {
    pv__onnx_node(w, operation, NULL, &a, 1, out);
}

void pv__onnx_node2(pv__onnx *w, const char *operation, const char *a, const char *b, const char *out) {
    const char *in[] = {a, b};
    pv__onnx_node(w, operation, NULL, in, 2, out);
}

void pv__onnx_cast(pv__onnx *w, const char *a, int type, const char *out) {
    pv__onnx_with_integer(w, "to", type);
    pv__onnx_node1(w, "Cast", a, out);
}

/* Reshapes a tensor. */
void pv__onnx_reshaped(pv__onnx *w, const char *a, const int64_t *dims, size_t n, const char *out) {
    pv__onnx_name shape = pv__onnx_integers(w, dims, n);
    pv__onnx_node2(w, "Reshape", a, shape.text, out);
}
