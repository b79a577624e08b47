"""The C library by ctypes: its structs and functions, as far as this package uses them.

`tests/test_prototypes.py` compares every line here with the headers, so that the two cannot drift apart.
"""

import ctypes
import os
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_bool,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_ssize_t,
    c_ubyte,
    c_uint8,
    c_uint64,
    c_void_p,
)

# ---- structs: those returned by the library with readable fields, and some that callers fill ------------------------


class pv_error(Structure):
    _fields_ = [
        ("status", c_int),
        ("message", c_char * 512),
        ("file", c_char * 512),
        ("line", c_size_t),
        ("column", c_size_t),
        ("option", c_char * 64),
        ("value", c_char * 128),
        ("problem", c_char * 512),
        ("remedy", c_char * 512),
    ]


class pv_progress(Structure):
    _fields_ = [
        ("what", c_char_p),
        ("step", c_size_t),
        ("steps", c_size_t),
        ("value", c_double),
        ("seconds", c_double),
        ("rows", c_size_t),
        ("validation", c_double),
        ("marginal", c_double),
    ]


class pv_option(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int),
        ("offset", c_size_t),
        ("fallback", c_char_p),
        ("low", c_double),
        ("high", c_double),
        ("choices", c_char_p),
        ("metavar", c_char_p),
        ("help", c_char_p),
    ]


class pv_unknown_prevalence(Structure):
    _fields_ = [
        ("classes", c_int),
        ("method", c_int),
        ("value", POINTER(c_double)),
        ("lo", POINTER(c_double)),
        ("hi", POINTER(c_double)),
        ("sd", POINTER(c_double)),
        ("level", c_double),
        ("iterations", c_int64),
        ("stop", c_int),
        ("effective", c_double),
        ("error", c_double),
        ("worth", c_double),
        ("movement", c_double),
        ("weak", c_bool),
        ("swayed", c_bool),
    ]  # what follows is not read here


class pv_unknown_sample(Structure):
    _fields_ = [
        ("n", c_size_t),
        ("classes", c_int),
        ("loglik", POINTER(c_double)),
        ("log_marginal", POINTER(c_double)),
        ("true_marginal", POINTER(c_double)),
        ("label", POINTER(c_int32)),
        ("weight", POINTER(c_double)),
        ("cluster", POINTER(c_int32)),
        ("sampling", c_bool),
    ]


class pv_unknown_options(Structure):
    _fields_ = [
        ("method", c_int),
        ("dirichlet", c_char_p),
        ("max_iter", c_int64),
        ("draws", c_int64),
        ("seed", c_int64),
        ("level", c_double),
        ("confusion", POINTER(c_double)),
        ("reference", c_void_p),
        ("fold_score", POINTER(c_double)),
        ("folds", c_size_t),
    ]


class pv_predict_options(Structure):
    _fields_ = [("level", c_double), ("likelihood", c_bool), ("label", POINTER(c_int32)), ("joint", c_bool)]


class pv_prediction(Structure):
    _fields_ = [
        ("rows", c_size_t),
        ("classes", c_int),
        ("p", POINTER(c_double)),
        ("log_p", POINTER(c_double)),
        ("lo", POINTER(c_double)),
        ("hi", POINTER(c_double)),
        ("prevalence", POINTER(c_double)),
        ("inferred", POINTER(pv_unknown_prevalence)),
        ("loglik", POINTER(c_double)),
        ("log_marginal", POINTER(c_double)),
        ("elsewhere", c_bool),
    ]


class pv_probs(Structure):
    _fields_ = [("table", c_void_p), ("data", c_void_p), ("classes", c_int), ("labels", c_void_p)]


class pv_report_options(Structure):
    _fields_ = [("page", c_char_p), ("figures", c_char_p), ("title", c_char_p), ("lead", c_char_p), ("engine", c_char_p), ("model", c_char_p)]


class pv_costs(Structure):
    _fields_ = [
        ("actions", c_size_t),
        ("classes", c_int),
        ("action", POINTER(c_char_p)),
        ("cost", POINTER(c_double)),
    ]


STRUCTS = [value for value in list(globals().values()) if isinstance(value, type) and issubclass(value, Structure)]
STRUCTS.remove(Structure)

# ---- functions ------------------------------------------------------------------------------------------------------

pv_log_call = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
pv_progress_call = CFUNCTYPE(None, c_void_p, POINTER(pv_progress))
pv_poll_call = CFUNCTYPE(c_bool, c_void_p)
pv_gather_call = CFUNCTYPE(c_bool, c_void_p, c_void_p, c_size_t, c_void_p)


class pv_ranks(Structure):
    _fields_ = [("rank", c_int), ("size", c_int), ("state", c_void_p), ("gather", pv_gather_call)]


_handle = c_void_p  # an object of the library; passed around, never looked into
_out = POINTER(c_void_p)
_doubles = POINTER(c_double)
_texts = POINTER(c_char_p)

# Functions that return a pv_status: (name, arguments after the context).
CALLS = {
    "pv_settings_set": [_handle, c_char_p, c_char_p],
    "pv_fit_settings_new": [_out],
    "pv_unknown_settings_new": [_out],
    "pv_judge_settings_new": [_out],
    "pv_table_new": [c_char_p, c_size_t, _out],
    "pv_table_add_numbers": [_handle, c_char_p, c_int, c_void_p, c_ssize_t, POINTER(c_uint8), c_bool],
    "pv_table_add_matrix": [_handle, _texts, c_size_t, c_int, c_void_p, c_ssize_t, c_ssize_t, c_bool],
    "pv_table_add_texts": [_handle, c_char_p, _texts, POINTER(c_uint8)],
    "pv_table_add_codes": [
        _handle,
        c_char_p,
        c_int,
        c_void_p,
        c_ssize_t,
        c_int64,
        _texts,
        c_size_t,
        POINTER(c_uint8),
    ],
    "pv_table_of_arrow": [c_char_p, c_void_p, _out],
    "pv_archive_new": [c_char_p, _out],
    "pv_archive_add": [_handle, c_char_p, c_int, c_int, POINTER(c_size_t), c_void_p],
    "pv_table_of": [_handle, c_void_p, _out],
    "pv_learn": [c_char_p, _handle, _out],
    "pv_ctx_set_ranks": [POINTER(pv_ranks)],
    "pv_ctx_set_memory": [c_size_t, c_char_p],
    "pv_ctx_set_duckdb": [c_char_p],
    "pv_ctx_set_xgboost": [c_char_p],
    "pv_ranks_end": [c_int],
    "pv_learn_table": [_handle, _handle, _out],
    "pv_learn_sampled": [_handle, _handle, _handle, _out],
    "pv_dataset_of_table": [_handle, _handle, _out],
    "pv_classifier_result": [_handle, c_double, _out],
    "pv_classifier_coefficients": [_handle, _doubles],
    "pv_classifier_draw_coefficients": [_handle, c_size_t, _doubles],
    "pv_classifier_save": [_handle, c_char_p],
    "pv_classifier_load": [c_char_p, _out],
    "pv_export_settings_new": [_out],
    "pv_export": [_handle, _handle, c_char_p, _out],
    "pv_methods": [_handle, c_void_p, _out],
    "pv_result_json": [_handle, POINTER(c_char_p)],
    "pv_effect_settings_new": [_out],
    "pv_effect_estimate": [_handle, _handle, _out],
    "pv_effect_text": [_handle, POINTER(c_char_p)],
    "pv_rate_settings_new": [_out],
    "pv_rate_estimate": [_handle, _handle, _handle, _out],
    "pv_rate_text": [_handle, POINTER(c_char_p)],
    "pv_size_settings_new": [_out],
    "pv_size_find": [_handle, _handle, _out],
    "pv_size_text": [_handle, POINTER(c_char_p)],
    "pv_sets_settings_new": [_out],
    "pv_sets_calibrate": [_handle, POINTER(c_int32), _handle, _out],
    "pv_sets_apply": [_handle, c_size_t, c_int, _doubles, POINTER(c_int32), POINTER(c_int32)],
    "pv_sets_text": [_handle, POINTER(c_char_p)],
    "pv_classifier_to_bytes": [_handle, POINTER(POINTER(c_ubyte)), POINTER(c_size_t)],
    "pv_classifier_from_bytes": [c_char_p, POINTER(c_ubyte), c_size_t, _out],
    "pv_diagnose": [_handle, c_void_p, _out],
    "pv_diagnosis_result": [_handle, _out],
    "pv_population_new": [_handle, c_char_p, POINTER(pv_unknown_options), _out],
    "pv_population_of_probs": [_handle, _doubles, c_char_p, POINTER(pv_unknown_options), _out],
    "pv_population_known": [c_int, _doubles, _out],
    "pv_population_known_strata": [_handle, _doubles, _out],
    "pv_probs_strata_set": [_handle, c_int, _texts, POINTER(c_int32), _doubles],
    "pv_predict": [_handle, _handle, _handle, POINTER(pv_predict_options), POINTER(POINTER(pv_prediction))],
    "pv_linear_predictor": [_handle, _handle, _doubles],
    "pv_predict_probs": [_handle, _doubles, _handle, POINTER(pv_predict_options), POINTER(POINTER(pv_prediction))],
    "pv_probs_new": [c_size_t, _texts, c_int, c_int, _doubles, POINTER(c_int32), _doubles, _out],
    "pv_dataset_cluster": [c_void_p, POINTER(c_int32)],
    "pv_probs_reference": [_handle, _doubles, _out],
    "pv_confusion": [POINTER(pv_unknown_sample), c_void_p, _doubles],
    "pv_prevalence_parse_one": [c_char_p, c_char_p, c_void_p, c_int, _doubles],
    "pv_judge": [_handle, c_void_p, POINTER(pv_prediction), c_void_p, _out],
    "pv_judgement_result": [_handle, _out],
    "pv_judgement_curve": [_handle, c_char_p, c_size_t, c_int, c_double, c_double, _doubles, c_size_t, _out],
    "pv_judgement_rates": [_handle, c_double, c_double, _out],
    "pv_judgement_report": [_handle, c_char_p, c_double, POINTER(pv_report_options)],
    "pv_costs_read": [c_char_p, _texts, c_int, POINTER(POINTER(pv_costs))],
    "pv_decide": [POINTER(pv_costs), c_size_t, _doubles, POINTER(c_int32), _doubles],
}

# Functions that free their second argument.
FREES = [
    "pv_costs_free",
    "pv_settings_free",
    "pv_table_free",
    "pv_archive_free",
    "pv_dataset_free",
    "pv_classifier_free",
    "pv_diagnosis_free",
    "pv_population_free",
    "pv_prediction_free",
    "pv_probs_free",
    "pv_reference_free",
    "pv_judgement_free",
    "pv_bytes_free",
    "pv_result_text_free",
]

# All other functions: (return type, arguments).
OTHERS = {
    "pv_ctx_new": (c_int, [c_void_p, _out]),
    "pv_ctx_free": (None, [_handle]),
    "pv_ctx_error": (POINTER(pv_error), [_handle]),
    "pv_ctx_clear_interrupt": (None, [_handle]),
    "pv_ctx_set_log": (None, [_handle, pv_log_call, c_void_p, c_int]),
    "pv_ctx_set_progress": (None, [_handle, pv_progress_call, c_void_p]),
    "pv_ctx_set_poll": (None, [_handle, pv_poll_call, c_void_p]),
    "pv_ctx_set_threads": (None, [_handle, c_int]),
    "pv_status_name": (c_char_p, [c_int]),
    "pv_fit_settings_set_known": (None, [_handle, _handle]),
    "pv_settings_count": (c_size_t, [_handle]),
    "pv_settings_option": (POINTER(pv_option), [_handle, c_size_t]),
    "pv_unknown_options_of": (POINTER(pv_unknown_options), [_handle]),
    "pv_judge_options_of": (c_void_p, [_handle]),
    "pv_array_type_find": (c_bool, [c_char_p, POINTER(c_int)]),
    "pv_labels_positive": (c_int, [_texts]),
    "pv_metric_name": (c_char_p, [c_size_t, POINTER(c_char_p), POINTER(c_int)]),
    "pv_result_get": (c_void_p, [_handle, c_char_p]),
    "pv_result_array": (_doubles, [_handle, POINTER(c_size_t), POINTER(c_size_t)]),
    "pv_classifier_schema": (c_void_p, [_handle]),
    "pv_classifier_draws": (POINTER(c_double), [_handle, POINTER(c_size_t)]),
    "pv_result_free": (None, [_handle]),
}


def prototypes():
    """Every function with what it returns and takes, for the library and for the test that reads the headers."""
    made = dict(OTHERS)
    made.update({name: (c_int, [_handle, *arguments]) for name, arguments in CALLS.items()})
    made.update({name: (None, [_handle, c_void_p]) for name in FREES})
    return made


def _load():
    """The library in the package, or the system's; PREVAIL_LIBRARY names another one, a sanitised build, say."""
    inside = os.path.join(os.path.dirname(__file__), "lib", "libprevail.so")
    path = os.environ.get("PREVAIL_LIBRARY") or (inside if os.path.exists(inside) else "libprevail.so.0")
    try:
        loaded = ctypes.CDLL(path)
    except OSError as problem:
        raise ImportError(
            f"prevail's C library cannot be loaded: {problem}. Install the package with pip, which builds it, "
            "or name a build of it in the environment variable PREVAIL_LIBRARY"
        ) from problem
    for name, (returned, arguments) in prototypes().items():
        function = getattr(loaded, name)
        function.restype = returned
        function.argtypes = arguments
    return loaded


lib = _load()


__all__ = ["lib", "prototypes", "STRUCTS", "c_uint64"]
