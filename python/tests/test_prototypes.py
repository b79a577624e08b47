"""The ctypes layer against the headers, which cffi's parser reads: neither can change without the other."""

import ctypes

import pytest

from prevail import _c


def kind(declared, sizeof):
    """What a C type looks like to a caller: nothing, a number of some size, or a pointer."""
    if declared.kind in ("pointer", "array", "function"):
        return "pointer"
    if declared.kind == "void":
        return "void"
    if declared.kind == "enum":
        return "int4"
    if declared.kind == "struct":
        return f"struct {declared.cname.replace('struct ', '')}"
    name = declared.cname
    if name == "_Bool":
        return "bool"
    return {"double": "double", "float": "float"}.get(name, f"int{sizeof(declared)}")


def own_kind(made):
    if made is None:
        return "void"
    if made is ctypes.c_bool:
        return "bool"
    if made is ctypes.c_double:
        return "double"
    if isinstance(made, type) and issubclass(made, ctypes.Structure):
        return f"struct {made.__name__}"
    if made in (ctypes.c_void_p, ctypes.c_char_p) or issubclass(made, (ctypes._Pointer, ctypes._CFuncPtr)):
        return "pointer"
    if issubclass(made, ctypes.Array):
        return "pointer"
    return f"int{ctypes.sizeof(made)}"


def test_functions(ffi):
    library = ffi.dlopen(_c.lib._name)
    for name, (returned, arguments) in _c.prototypes().items():
        function = ffi.typeof(getattr(library, name))
        wanted = [kind(part, ffi.sizeof) for part in (function.result, *function.args)]
        got = [own_kind(returned), *[own_kind(argument) for argument in arguments]]
        assert got == wanted, name


# Structs that the library returns by pointer: they may gain fields at the end (docs/architecture.md).
GROW = {
    _c.pv_error,
    _c.pv_prediction,
    _c.pv_unknown_prevalence,
    _c.pv_probs,
    _c.pv_progress,
}


@pytest.mark.parametrize("struct", _c.STRUCTS, ids=lambda struct: struct.__name__)
def test_structs(ffi, struct):
    """Names, places and sizes of fields."""
    declared = ffi.typeof(struct.__name__)
    fields = dict(declared.fields)
    for name, made in struct._fields_:
        place = getattr(struct, name)
        assert place.offset == fields[name].offset, name
        assert place.size == ffi.sizeof(fields[name].type), name
        assert own_kind(made) == kind(fields[name].type, ffi.sizeof), name
    if struct not in GROW:
        assert [name for name, _ in struct._fields_] == [name for name, _ in declared.fields]
        assert ctypes.sizeof(struct) == ffi.sizeof(declared)


def test_numbers(ffi):
    """Numbers of enums that are written out in the package."""
    assert ffi.typeof("pv_log_level").relements == {"PV_LOG_DEBUG": -1, "PV_LOG_INFO": 0, "PV_LOG_WARNING": 1}
