"""The version, which is the library's."""

__version__ = "0.1.0"
