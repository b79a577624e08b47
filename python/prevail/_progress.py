"""Progress: a bar by tqdm where that is installed, else a line on standard error."""

import math
import sys
import time


def _text(progress):
    parts = []
    if not math.isnan(progress.value):
        parts.append(f"loss {progress.value:.6g}")
    if progress.validation:
        parts.append(f"validation {progress.validation:.4g}")
    return ", ".join(parts)


class Bar:
    """Shows the progress of the library."""

    def __init__(self):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = None
        self._tqdm = tqdm
        self._bar = None
        self._what = None
        self._written = -math.inf

    def update(self, progress):
        what = progress.what.decode()
        if self._tqdm is None:
            self._line(what, progress)
            return
        if what != self._what:
            self.close()
            self._what = what
            self._bar = self._tqdm(total=progress.steps or None, desc=what, leave=True)
        self._bar.n = progress.step
        self._bar.set_postfix_str(_text(progress), refresh=False)
        self._bar.update(0)

    def _line(self, what, progress):
        now = time.monotonic()
        if now - self._written < 1:
            return
        self._written = now
        of = f" of {progress.steps}" if progress.steps else ""
        print(f"{what}: step {progress.step}{of}, {_text(progress)}", file=sys.stderr)

    def close(self):
        if self._bar is not None:
            self._bar.refresh()
            self._bar.close()
            self._bar = None
