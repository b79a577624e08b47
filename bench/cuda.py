"""make bench-cuda: steps on a GPU, ours and PyTorch's in one run. usage: python3 bench/cuda.py PREVAIL

Ours are whole steps of fits: views cut out of volumes, network, loss, prior, Adam; the figure is the best epoch's mean. The
peer's views lie ready in memory, and its steps are captured graphs. A peer that is not installed leaves its rows out.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH, EPOCHS = 32, 8
prevail = os.path.abspath(sys.argv[1])


def run(folder, *arguments):
    start = time.perf_counter()
    subprocess.run([prevail, *arguments, "--quiet"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def step(folder, model, precision, *options):
    """Milliseconds of a step."""
    run(folder, "fit", "ct.npz", "--model", model, "--prevalence", "0.1", "--batch", str(BATCH), "--epochs", str(EPOCHS),
        "--seed", "1", "--device", "cuda", "--precision", precision, "--trace", "trace.csv", *options)
    with open(os.path.join(folder, "trace.csv")) as file:
        return 1e3 * BATCH / max(float(row["rows_per_second"]) for row in csv.DictReader(file))


def peer(*arguments):
    done = subprocess.run([sys.executable, os.path.join(HERE, "peers", "torch_cuda.py"), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        print(f"bench: torch_cuda.py {' '.join(arguments)} left out: {(done.stderr.strip().splitlines() or ['?'])[-1]}",
              file=sys.stderr)
        return None
    return json.loads(done.stdout)["milliseconds"]


def row(what, mine, theirs, unit="ms"):
    ratio = f"{theirs / mine:.2f}" if theirs else "-"
    print(f"{what:<52} {mine:>9.3f} {unit:<3} {f'{theirs:.3f} ' + unit if theirs else '-':>12} {ratio:>7}", flush=True)


def memory(folder):
    """GiB in use on the device while a fit runs."""
    work = subprocess.Popen([prevail, "fit", "ct.npz", "--model", "convnet", "--prevalence", "0.1", "--batch", str(BATCH),
                             "--epochs", "200", "--device", "cuda", "--quiet"], cwd=folder, stdout=subprocess.DEVNULL)
    most = 0
    while work.poll() is None and most == 0:
        time.sleep(3)
        used = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
                              stdout=subprocess.PIPE, text=True).stdout.split()
        most = max(most, float(used[0]) if used else 0)
    work.terminate()
    work.wait()
    return most / 1024


def table(rows):
    """A pass of a logistic fit with the rows in the device's memory, beside the processor's; and the rate it reads at."""
    done = subprocess.run([prevail + "-lab", "bench", "--work", "table", "--rows", str(rows), "--repeats", "1", "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0: # more memory than this machine has, say
        print(f"bench: a table of {rows} rows left out: {(done.stderr.strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
        return
    took = json.loads(done.stdout)
    row(f"logistic pass, {rows // 1_000_000} million x 50; the processor", 1e3 * took["table_cuda_pass_seconds"],
        1e3 * took["table_cpu_pass_seconds"])
    row("  which it reads at", took["table_cuda_bytes_per_second"] / 1e12, None, "TB/s")


def main():
    print(f"{'work':<52} {'ours':>13} {'PyTorch':>12} {'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        run(folder, "simulate", "ct-nodules", "--cases", "342", "--controls", "1065", "--prevalence", "0.1", "--seed", "3", "-o",
            "ct.npz")
        ig = step(folder, "convnet", "bf16")
        row("ConvNet step, bf16; compiled, tuned", ig, peer("convnet", "bf16", "autotune"))
        row("ConvNet step, tf32; captured graph", step(folder, "convnet", "tf32"), peer("convnet", "tf32", "graph"))
        row("ConvNet step, fp32", step(folder, "convnet", "fp32"), None)
        row("Inception step, bf16; compiled", step(folder, "inception", "bf16"), peer("inception", "bf16", "compile"))
        plain = step(folder, "convnet", "bf16", "--loss", "plain")
        row("ConvNet step, bf16, plain", plain, None)
        for marginal in ("auxiliary:constant", "auxiliary:linear"):
            row(f"ConvNet step, bf16, {marginal}", step(folder, "convnet", "bf16", "--marginal", marginal), None)
        folds = ["cv", "ct.npz", "--model", "convnet", "--prevalence", "0.1", "--batch", str(BATCH), "--epochs", "20", "--folds",
                 "8", "--device", "cuda", "--precision", "bf16"]
        one, eight = run(folder, *folds, "--threads", "1"), run(folder, *folds, "--threads", "8")
        row("eight folds at once, 20 epochs; one after the other", eight, one, "s")
        table(20_000_000)
        table(100_000_000)
        row("device memory of a ConvNet fit, tf32", memory(folder), None, "GiB")


main()
