"""Many rows: a fit of a packed table that does not fit its memory, and others that go through such tables.

usage: python3 bench/scale.py PREVAIL [ROWS [FOLDER [PART...]]]

ROWS (2 million) of 20 numbers in single precision are written to FOLDER (a temporary one), 84 bytes a row, and fitted
with an eighth of that as --memory, but no less than 128 MB. FOLDER may be such a file instead. Parts of the table that is
printed: `reading`, `others` and `rows`; all of them where none is named.

- reading: the fit beside reading the file as often as it does, from the system's cache; and from the disk, where a control group
  (cgroup v1, as root) can hold both the process and its cache to that memory. How often it reads the file is what the
  system counts: bytes that the process asked for, wherever they came from;
- others: the same log-likelihood by others, which read chunks of rows of the same file;
- rows: a tenth of them, and a tenth of these, down to 100,000.

Times are of the clock and, beside it, of the processors: on a busy machine the latter. Threads that wait do so without
using a processor (OMP_WAIT_POLICY=passive), for ours and for others.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time

import packed_table

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = 20
LEAST = 128_000_000
LONGEST = 600
GROUP = "/sys/fs/cgroup/memory/prevail-bench"


def run(command, group=None):
    """Seconds by the clock and of processors, peak bytes, bytes read from files, and what it printed."""
    def enter():
        if group:
            with open(os.path.join(group, "cgroup.procs"), "w") as file:
                file.write(str(os.getpid()))
    read, watched = [0], threading.Event()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=enter,
                             env={**os.environ, "OMP_WAIT_POLICY": "passive"})

    def watch():
        while not watched.wait(0.05):
            try:
                with open(f"/proc/{child.pid}/io") as file:
                    read[0] = int(file.read().split("rchar: ")[1].split()[0])
            except (OSError, IndexError):
                return
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        out, errors = child.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        child.kill()
        out, errors = child.communicate()
        errors = f"took longer than {LONGEST} s"
    seconds = time.perf_counter() - begin
    watched.set()
    thread.join()
    if child.returncode != 0:
        reason = [line for line in errors.splitlines() if line and line != "Execution halted"][-1:] or ["no reason given"]
        print(f"scale: {os.path.basename(command[0])} {command[1]} left out: {reason[0]}", file=sys.stderr)
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "cpu": cpu, "peak": 1024 * after.ru_maxrss, "read": read[0], "out": out}


def reading(path, cold):
    """Seconds by the clock and of the processor to read the file once, in pieces of 1 MiB."""
    with open(path, "rb", buffering=0) as file:
        if cold:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        piece = bytearray(1 << 20)
        begin, cpu = time.perf_counter(), time.process_time()
        while file.readinto(piece):
            pass
        return time.perf_counter() - begin, time.process_time() - cpu


def make_group(limit):
    try:
        os.makedirs(GROUP, exist_ok=True)
        with open(os.path.join(GROUP, "memory.limit_in_bytes"), "w") as file:
            file.write(str(limit))
        return GROUP
    except OSError as error:
        print(f"scale: from the disk: left out, no control group: {error.strerror}", file=sys.stderr)
        return None


def row(what, mine, theirs="", ratio="", goal="", reached=True):
    print(f"{what:<58} {mine:>24} {theirs:>24} {ratio:>9} {goal:>9}  {'yes' if reached else 'NO'}", flush=True)


def times(made):
    return f"{made['seconds']:.1f} s, {made['cpu']:.1f} s"


def fit(prevail, path, memory, out, *options, group=None):
    command = [prevail, "fit", path, "--outcome", "y", "-o", out, "--json", "--memory", str(memory), *options]
    return run(command, group)


def beside_reading(prevail, path, memory, folder):
    known = ("--prevalence", "0.01")
    size, out = os.path.getsize(path), os.path.join(folder, "model")
    drop = make_group(memory + memory // 5)
    if drop:
        reading(path, True)  # leaves the file in the cache; the group's own pages are what counts
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        made = fit(prevail, path, memory, out, *known, group=drop)
        os.rmdir(GROUP)
        if made:
            readings = made["read"] / size
            once = reading(path, True)[0]
            ratio = made["seconds"] / (readings * once)
            row(f"fit, {memory / 1e9:.2g} GB for all of it: from the disk (read {readings:.1f} times)", times(made),
                f"{readings * once:.1f} s", f"{ratio:.2f}", "<= 1.5", ratio <= 1.5)
            row("peak memory of that", f"{made['peak'] / 1e9:.2f} GB", "", "", f"<= {memory / 1e9:.2g}",
                made["peak"] <= memory)
    once = reading(path, False)
    once = min(once, reading(path, False))
    made = fit(prevail, path, memory, out, *known)
    if made:
        readings = made["read"] / size
        ratio = made["seconds"] / (readings * once[0])
        row(f"the same from the system's cache (read {readings:.1f} times)", times(made),
            f"{readings * once[0]:.1f} s, {readings * once[1]:.1f} s", f"{ratio:.2f}", "<= 1.5", ratio <= 1.5)
        row("peak memory of that", f"{made['peak'] / 1e9:.2f} GB", "", "", f"<= {memory / 1e9:.2g}",
            made["peak"] <= memory)


def beside_others(prevail, path, rows, memory, folder):
    out = os.path.join(folder, "plain")
    mine = fit(prevail, path, memory, out, "--loss", "plain", "--infer", "ml")
    mean = -json.loads(mine["out"])["loss"] / rows
    row("plain maximum likelihood", times(mine), f"{mean:.9f}")
    peers = [("scikit-learn's SGDClassifier, one pass", [sys.executable, "sgd_chunks.py"], ["1"]),
             ("scikit-learn's SGDClassifier, five passes", [sys.executable, "sgd_chunks.py"], ["5"]),
             ("XGBoost's external memory, 20 trees", [sys.executable, "xgboost_external.py"], [folder]),
             ("R's biglm", ["Rscript", "biglm_chunks.R"], [])]
    for name, (program, script), more in peers:
        made = run([program, os.path.join(HERE, "peers", script), path, str(rows), str(COLUMNS), *more])
        if not made:
            continue
        told = json.loads(made["out"])
        ahead = mine["cpu"] < told["cpu"] and mean >= told["log_likelihood"]
        row(f"  beside {name}", times(told), f"{told['log_likelihood']:.9f}", f"{told['cpu'] / mine['cpu']:.1f}x", "ahead",
            ahead)


def by_rows(prevail, path, rows, folder):
    before, n = None, 100_000
    while n <= rows:
        own = path if n == rows else os.path.join(folder, f"{n}.pvt")
        if n < rows:
            packed_table.write(own, n, COLUMNS)
        memory = max(LEAST, 10 * n)
        made = [fit(prevail, own, memory, os.path.join(folder, "model"), "--prevalence", "0.01") for _ in range(2)]
        cpu = min(one["cpu"] for one in made)
        ratio = cpu / before if before else None
        row(f"fit of {n} rows, with {memory // 10**6} MB", times(min(made, key=lambda one: one["cpu"])), "",
            f"{ratio:.1f}" if ratio else "", "9 to 11" if ratio else "", not ratio or 9 <= ratio <= 11)
        before = cpu
        if n < rows:
            os.unlink(own)
        n *= 10


def main(prevail, rows=2_000_000, folder=None, *parts):
    table = folder if folder and os.path.isfile(folder) else None
    with tempfile.TemporaryDirectory(dir=os.path.dirname(table) if table else folder) as own:
        path = table or os.path.join(own, "rows.pvt")
        if not table:
            packed_table.write(path, rows, COLUMNS)
        size = os.path.getsize(path)
        memory = max(LEAST, size // 8)
        print(f"{f'{rows} x {COLUMNS} in single precision, {size / 1e9:.2f} GB':<58} {'clock, processors':>24} "
              f"{'beside':>24} {'ratio':>9} {'goal':>9}  reached", flush=True)
        if not parts or "reading" in parts:
            beside_reading(prevail, path, memory, own)
        if not parts or "others" in parts:
            beside_others(prevail, path, rows, memory, own)
        if not parts or "rows" in parts:
            by_rows(prevail, path, rows, own)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]), *sys.argv[3:])
