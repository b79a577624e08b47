# Nothing may differ.
