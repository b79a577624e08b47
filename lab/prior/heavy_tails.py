#!/usr/bin/python3
"""Coverage of the default prior's intervals where a column has heavy tails: logit p = 1 - x, x log-normal or normal.

usage: heavy_tails.py PREVAIL [SAMPLES]    90 % intervals of the slope, SAMPLES (300) samples a row
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

command, samples = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
random = np.random.default_rng(11)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.csv")
    for name, sigma in (("log-normal, sigma 2", 2), ("log-normal, sigma 1.5", 1.5), ("normal", None)):
        for rows in (200, 1000, 5000):
            held = 0
            for _ in range(samples):
                z = random.normal(size=rows)
                x = z if sigma is None else np.exp(sigma * z)
                y = random.random(rows) < 1 / (1 + np.exp(-np.clip(1 - x, -700, 700)))
                np.savetxt(path, np.c_[x, y], delimiter=",", header="x,y", comments="", fmt=("%.17g", "%d"))
                made = subprocess.run([command, "fit", path, "--outcome", "y", "--loss", "plain", "--interval", "0.9", "--json", "--quiet"],
                                      capture_output=True, text=True, check=True)
                slope = json.loads(made.stdout)["coefficients"]["x"]
                held += slope["lo"] <= -1 <= slope["hi"]
            share = held / samples
            print(f"{name}, {rows} rows: {share:.3f} ({(share * (1 - share) / samples) ** 0.5:.3f})", flush=True)
