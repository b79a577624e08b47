"""make bench: ours and the peers in one run, as a table of ratios. usage: python3 bench/run.py PREVAIL [ROUNDS]

Ours and the peer take turns, and each figure is the best of all turns: the machine may be busy, but not against one
side alone. A peer that is not installed leaves its rows out, and says so.
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS, COLUMNS = 500_000, 50
CSV_ROWS, CSV_COLUMNS = 500_000, 20
EM_ROWS = 1_000_000
ASSESS_ROWS = 10_000_000


def ours(prevail, *arguments):
    return json.loads(subprocess.run([prevail + "-lab", "bench", "--json", *arguments], check=True, stdout=subprocess.PIPE).stdout)


def peer(script, *arguments):
    """The peer's figures, or None where it cannot run here."""
    done = subprocess.run([sys.executable, os.path.join(HERE, "peers", script), *map(str, arguments)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        print(f"bench: {script} left out: {reason[0]}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def package(prevail, work, rows, repeats):
    """The Python package and its peer, which take turns in a script of their own."""
    done = subprocess.run([sys.executable, os.path.join(HERE, "python_package.py"), work, prevail, str(rows), str(repeats)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        print(f"bench: Python's {work} left out: {reason[0]}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def python_rows(prevail, rounds):
    made = package(prevail, "fit", ROWS, rounds)
    if made:
        for what, ours, peer in (("", "plain", "peer"), (" by columns", "plain_columns", "peer_columns")):
            ratio = made[peer] / made[ours]
            row(f"PrevalenceClassifier().fit {ROWS} x {COLUMNS}{what} (scikit-learn lbfgs)", f"{made[ours]:.3f} s",
                f"{made[peer]:.3f} s", f"{ratio:.1f}x", ">= 2x", ratio >= 2)
        ratio = made["ours"] / made["command"] - 1
        row("the same with a prevalence (the command, from an NPZ file)", f"{made['ours']:.3f} s", f"{made['command']:.3f} s", f"{100 * ratio:+.1f} %",
            "<= +2 %", ratio <= 0.02)
        row("Python's own share of a fit of 300 rows", f"{made['small_overhead'] * 1e3:.2f} ms", "", "", "<= 1 ms",
            made["small_overhead"] <= 1e-3)
    made = package(prevail, "evaluate", ASSESS_ROWS, 1)
    if made:
        ratio = made["peer"] / made["ours"]
        row(f"evaluate with intervals, {ASSESS_ROWS} rows (roc_curve alone)", f"{made['ours']:.2f} s", f"{made['peer']:.2f} s",
            f"{ratio:.1f}x", ">= 1x", ratio >= 1)
    made = package(prevail, "torch", 0, 8)
    if made:
        ratio = made["ours"] / made["peer"] - 1
        row("PyTorch's ConvNet step with SelectionLoss (CrossEntropyLoss)", f"{made['ours'] * 1e3:.0f} ms", f"{made['peer'] * 1e3:.0f} ms",
            f"{100 * ratio:+.1f} %", "<= +3 %", ratio <= 0.03)


def better(best, new):
    """Smallest seconds and largest rates seen so far."""
    if best is None or new is None:
        return new
    return {k: (max if k.endswith("per_second") else min)(best[k], new[k]) for k in new}


def row(what, mine, theirs, ratio, goal, reached):
    print(f"{what:<62} {mine:>12} {theirs:>14} {ratio:>8} {goal:>9}  {'yes' if reached else 'NO'}")


def main(prevail, rounds=3):
    fit = learn = step = csv = pandas = vi = torch = unknown = em = judge = images = convnet = None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "numbers.csv")
        for _ in range(rounds):
            learn = better(learn, peer("sklearn_logistic.py", ROWS, COLUMNS, 3))
            tolerance = min(1e-6, learn["gradient"]) if learn else 1e-6
            fit = better(fit, ours(prevail, "--work", "fit", "--rows", str(ROWS), "--columns", str(COLUMNS),
                                   "--tolerance", f"{tolerance:.3g}", "--repeats", "5"))
            step = better(step, ours(prevail, "--work", "step", "--repeats", "3"))
            torch = better(torch, peer("torch_vi.py", 500, 3))
            vi = better(vi, ours(prevail, "--work", "vi", "--repeats", "3"))
            em = better(em, peer("numpy_em.py", EM_ROWS))
            unknown = better(unknown, ours(prevail, "--work", "unknown", "--repeats", "3"))
            convnet = better(convnet, peer("torch_convnet.py", 4))
            images = better(images, ours(prevail, "--work", "images", "--repeats", "2"))
            pandas = better(pandas, peer("pandas_csv.py", path, CSV_ROWS, CSV_COLUMNS, 3))
            if os.path.exists(path):
                csv = better(csv, ours(prevail, "--csv", path, "--repeats", "3"))
    peers_judge = peer("sklearn_assess.py", ASSESS_ROWS, 1)  # a minute a turn: once is enough beside a ratio of ten
    for _ in range(rounds):
        judge = better(judge, ours(prevail, "--work", "assess", "--rows", str(ASSESS_ROWS), "--repeats", "1"))
    print(f"{'work':<62} {'ours':>12} {'peer':>14} {'ratio':>8} {'goal':>9}  reached")
    if learn:
        ratio = learn["seconds"] / fit["fit_ig_seconds"]
        row(f"ig fit {ROWS} x {COLUMNS} (scikit-learn lbfgs, plain; to {fit['fit_tolerance']:.1g})",
            f"{fit['fit_ig_seconds']:.3f} s", f"{learn['seconds']:.3f} s", f"{ratio:.1f}x", ">= 2x", ratio >= 2)
        ratio = learn["seconds"] / fit["fit_plain_seconds"]
        row("plain fit of the same", f"{fit['fit_plain_seconds']:.3f} s", f"{learn['seconds']:.3f} s", f"{ratio:.1f}x", "",
            True)
    ratio = fit["copy_bytes_per_second"] / fit["fit_ig_bytes_per_second"]
    row("bytes of X read in that fit (a plain copy loop)", f"{fit['fit_ig_bytes_per_second'] / 1e9:.1f} GB/s",
        f"{fit['copy_bytes_per_second'] / 1e9:.1f} GB/s", f"{ratio:.2f}", "<= 1.5", ratio <= 1.5)
    ratio = fit["fit_ig_seconds"] / fit["fit_tenth_of_rows_seconds"]
    row(f"ig fit {ROWS} x {COLUMNS} (a tenth of the rows)", f"{fit['fit_ig_seconds']:.3f} s",
        f"{fit['fit_tenth_of_rows_seconds']:.4f} s", f"{ratio:.1f}", "<= 11", ratio <= 11)
    ratio = step["step_ig_seconds"] / step["step_plain_seconds"] - 1
    row("training step of mlp 50-64-64-2, batch 256: ig (plain)", f"{step['step_ig_seconds'] * 1e6:.0f} us",
        f"{step['step_plain_seconds'] * 1e6:.0f} us", f"{100 * ratio:+.1f} %", "<= +5 %", ratio <= 0.05)
    if torch:
        ratio = torch["seconds"] / vi["vi_plugin_seconds"]
        row("vi, 302 rows, 8 parameters, 8 components, 500 steps (PyTorch)", f"{vi['vi_plugin_seconds']:.4f} s",
            f"{torch['seconds']:.3f} s", f"{ratio:.1f}x", ">= 20x", ratio >= 20)
    ratio = vi["vi_profile_seconds"] / vi["vi_plugin_seconds"]
    row("the same with the profile marginal (plug-in)", f"{vi['vi_profile_seconds']:.4f} s",
        f"{vi['vi_plugin_seconds']:.4f} s", f"{ratio:.2f}", "<= 2", ratio <= 2)
    if em:
        ratio = em["iteration_seconds"] / unknown["unknown_em_iteration_seconds"]
        row(f"unknown prevalence, {EM_ROWS} rows, an iteration of EM (NumPy)",
            f"{unknown['unknown_em_iteration_seconds'] * 1e3:.2f} ms", f"{em['iteration_seconds'] * 1e3:.1f} ms",
            f"{ratio:.0f}x", ">= 20x", ratio >= 20)
        ratio = em["seconds"] / unknown["unknown_exact_seconds"]
        row("its posterior, to the interval (NumPy's EM, no interval)", f"{unknown['unknown_exact_seconds'] * 1e3:.0f} ms",
            f"{em['seconds'] * 1e3:.0f} ms", f"{ratio:.1f}x", "", True)
    if convnet:
        ratio = convnet["seconds"] / images["convnet_ig_seconds"]
        row("training step of the ConvNet, 32 x 9 views of 32 x 32, ig (PyTorch)",
            f"{images['convnet_ig_seconds'] * 1e3:.0f} ms", f"{convnet['seconds'] * 1e3:.0f} ms", f"{ratio:.1f}x", ">= 2x",
            ratio >= 2)
    for name, key, goal in (("constant", "convnet_ig_seconds", 0.01), ("linear", "convnet_ig_linear_seconds", 0.03)):
        ratio = images[key] / images["convnet_plain_seconds"] - 1
        row(f"the same, ig with the {name} auxiliary network (plain)", f"{images[key] * 1e3:.0f} ms",
            f"{images['convnet_plain_seconds'] * 1e3:.0f} ms", f"{100 * ratio:+.1f} %", f"<= +{100 * goal:.0f} %", ratio <= goal)
    ratio = images["convnet_views_seconds"] / images["convnet_ig_seconds"]
    row("cutting the views of a batch out of volumes (the whole step)", f"{images['convnet_views_seconds'] * 1e3:.1f} ms",
        f"{images['convnet_ig_seconds'] * 1e3:.0f} ms", f"{100 * ratio:.1f} %", "<= 5 %", ratio <= 0.05)
    ratio = images["convnet_peak_bytes"] / 1e9
    row("peak memory of that", f"{ratio:.2f} GB", "", "", "<= 1.5", ratio <= 1.5)
    if peers_judge:
        ratio = peers_judge["seconds"] / judge["assess_seconds"]
        row(f"all metrics and curves of {ASSESS_ROWS} rows (scikit-learn's share)", f"{judge['assess_seconds']:.2f} s",
            f"{peers_judge['seconds']:.1f} s", f"{ratio:.0f}x", ">= 10x", ratio >= 10)
        ratio = peers_judge["roc_seconds"] / judge["assess_seconds"]
        row("the same (scikit-learn's roc_curve and roc_auc_score alone)", f"{judge['assess_seconds']:.2f} s",
            f"{peers_judge['roc_seconds']:.1f} s", f"{ratio:.1f}x", ">= 2x", ratio >= 2)
        row("the same with intervals (NumPy's argsort alone)", f"{judge['assess_intervals_seconds']:.2f} s",
            f"{peers_judge['argsort_seconds']:.2f} s", "", "", True)
        ratio = judge["assess_bytes_per_row"]
        row("peak memory of that, bytes a row", f"{ratio:.0f}", "", "", "<= 150", ratio <= 150)
    if csv and pandas:
        ratio = pandas["seconds"] / csv["csv_seconds"]
        row(f"reading a CSV of {CSV_ROWS} x {CSV_COLUMNS} (pandas' C parser)", f"{csv['csv_seconds']:.3f} s",
            f"{pandas['seconds']:.3f} s", f"{ratio:.1f}x", ">= 3x", ratio >= 3)
        ratio = csv["csv_memory_per_table_byte"]
        row("peak memory of that, per byte of the table", f"{ratio:.2f}", "", "", "<= 1.3", ratio <= 1.3)
    python_rows(prevail, rounds)
    subprocess.run([sys.executable, os.path.join(HERE, "scale.py"), prevail], check=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
