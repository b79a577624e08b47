#!/usr/bin/env python3
"""Seeds of the fuzz targets. usage: fuzz/make_seeds.py BUILD/prevail FOLDER

Writes FOLDER/TARGET/NAME for every target, from the command's own output, the arrays of tests/arrays and texts written
here. Files that tests read follow from them by scripts/fuzz --merge, which keeps what reaches something new.
"""
import gzip
import pathlib
import struct
import subprocess
import sys
import zipfile

prevail, folder = sys.argv[1], pathlib.Path(sys.argv[2])
arrays = pathlib.Path(__file__).resolve().parent.parent / "tests" / "arrays"


def put(target, name, content):
    path = folder / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def run(*arguments):
    done = subprocess.run([prevail, *arguments], capture_output=True)
    if done.returncode not in (0, 3):  # 3: done, and complained of
        sys.exit(done.stderr.decode())


# ---- CSV -------------------------------------------------------------------------------------------------------------
csv = {
    "numbers": "a,b\n1,2.5\n-3e-5,+.5\n1e308,NA\n",
    "quoted": 'a,x\n"p ""q""\nr",1\n"",2\n s , 3 \n',
    "semicolon": "a;b\r\n1;u\r\n2;v\r\n",
    "tab": "a\tb\n1\tu\n.\tnull\n",
    "mark": "\ufeffx,y\n1,0\n2,1\n",
    "blank": "\n\na,b\n\n1,2\n\n\n3,4",
    "long": "a,b\n" + "".join(f"{i},{i * 0.37:.17g}\n" for i in range(40)),
    "mixed": "a,b\n1,u\nu,2\n",
    "unclosed": 'a,b\n1,"u\n',
    "ragged": "a,b\n1,2,3\n",
    "bare": "a,b\r1\r,2\r\n",
    "inf": "a,b\ninf,-Infinity\n0x10,nan\n",
}
csv |= {
    "bar": "a|b\n1|u\n?|v\n",
    "decimal": "a;b\n1,5;-9\n2,25;?\n",
    "bare_rows": "1,u\n2,v\n1,u\n",
    "dates": "a,b\n2020-01-02,3/4/2020\n,13/4/2020\n2020-02-29T12:30:05.5Z,1/1/2021\n",
    "more_dates": "a,b\n3 Apr 2020,03APR2020\n3.4.2020,\"Apr 3, 2020\"\n",
}
for name in ("numbers", "dates", "long"):
    put("csv", name + "_gzip", gzip.compress(csv[name].encode(), mtime=0))
    put("csv", name + "_zstd", subprocess.run(["zstd", "-q", "-c"], input=csv[name].encode(), capture_output=True).stdout)
for name, text in csv.items():
    for target in ("csv", "csv_window", "csv_ranks", "csv_roundtrip"):
        put(target, name, text)
for i, text in enumerate(["1.5", "-0.1e-3", "12345678901234567890", "9007199254740993", "1e400", "4.9e-324", "inf", "1.",
                          "2.2250738585072011e-308", ".5", "+7", "1e", "prevalance", "\u00e9\u4e2d", "\xff"]):
    put("number", str(i), text)

# ---- tables with roles -----------------------------------------------------------------------------------------------
table = "y,x,g,n\n" + "".join(f"{i % 2},{(i * 7 % 5) + i / 10},{'abc'[i * 3 % 7 % 3]},{1 + i % 2}\n" for i in range(12))
for name, roles in {"plain": "y\n\n\n\n\n\n\n\n", "weights": "y\nn\n\n\n\n\n\n\n", "positive": "y\n\n\n\n\n\n0\ng=b\n",
                    "terms": "y\n\n\n\n\n\n\n~ns(x,2),x,log(n),x:g\n", "poly": "y\n\n\n\n\nn\n\n~poly(x,3)+n:g+sqrt(\"x\")\n",
                    "counts": "n/y\n\n\n\n\n\n\n\n", "counts_terms": "y/n\n\n\n\n\n\nn\n~ns(x,2),x:g\n",
                    "some": 'y\n\n\n"n"\nx,g\nx\n\n\n', "id": "g\n\nn\n\n\n\n\n\n"}.items():
    put("encoding", name, roles + table)
put("encoding", "missing", "y\n\n\n\n\n\n\n\ny,x\n0,\n1,2\n0,3\n1,1\n0,5\n")

# ---- arrays ----------------------------------------------------------------------------------------------------------
for path in sorted(arrays.iterdir()):
    if path.suffix != ".py":
        put("arrays", path.name, path.read_bytes())
for i in range(13):
    put("npy_roundtrip", str(i), bytes([i, i, 2, 3, 4]) + bytes(range(1, 200)))

# Input format of fuzz_npz: name, type, dims | 0x10 Fortran | 0x20 compressed, lengths, elements.
pixels = bytes(range(96))
put("images", "labels", bytes([2, 0x08, 0, 0, 3, 6, 4, 4]) + pixels + bytes([1, 0, 1, 6, 0, 1, 0, 1, 1, 0]))
put("images", "text", bytes([0, 0, 0, 0, 0x23, 4, 4, 4]) + pixels[:64] + bytes([1, 6, 1, 4]) + b"ab\0cd\0ab\0cd\0")
put("images", "volumes", bytes([2, 0x18, 0, 1, 4, 2, 3, 3, 3]) + bytes(108) + bytes([1, 1, 1, 2, 0, 0, 1, 0]) +
    bytes([5, 3, 2, 2, 3]) + struct.pack("<6d", *[1.0] * 6))
put("images", "votes", bytes([2, 0x01, 0, 0, 3, 4, 4, 4]) + pixels[:64] + bytes([2, 0, 2, 4, 3, 1, 2, 3, 2, 2, 0, 3, 3, 3, 1, 1, 1]))
put("images", "binary", bytes([0x24, 0x01, 0, 0, 3, 4, 4, 4]) + pixels[:64] + bytes([2, 0, 2, 4, 2, 1, 2, 4, 5, 3, 3, 0, 0]))
put("images", "frequencies", bytes([0, 0, 0, 0, 3, 2, 2, 2]) + pixels[:8] + bytes([3, 3, 2, 2, 2]) + struct.pack("<4d", 0.5, 0.5, 1, 0) +
    bytes([4, 0, 1, 2, 7, 7]))
put("images", "ready", bytes([1, 0, 0, 2, 4, 2, 1, 4, 4]) + struct.pack("<32f", *range(32)) + bytes([1, 0, 1, 2, 0, 1]))
for name, base in {"torchvision": 0, "caffe": 4}.items():
    shapes = [(2, 3, 3, 3), (2, 2, 3, 3)] if base == 0 else [(3, 3, 3, 2), (3, 3, 2, 2)]
    content = b""
    for i, shape in enumerate(shapes):
        count = shape[0] * shape[1] * shape[2] * shape[3]
        content += bytes([base + i, 2, 4, *shape]) + struct.pack(f"<{count}f", *[0.1 * j for j in range(count)])
    for i in range(2):
        content += bytes([base + 2 + i, 3, 1, 2]) + struct.pack("<2d", 0.5, -0.5)
    put("pretrained", name, content)

# Numbers of columns and batches, then formats, then the data used by the producer in target_arrow.c.
for i in range(25):
    put("arrow", str(i), bytes([2, 2, i, 0, (i + 3) % 25, i % 2, i, (i + 7) % 25, 0]) + bytes((j * (i + 5)) % 13 + 11 * (j % 7 == 0) for j in range(300)))
    put("arrow", f"codes{i}", bytes([0, 1, 5, 1, i, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0]) + bytes((j * j + i) % 3 for j in range(200)))

# ---- models ----------------------------------------------------------------------------------------------------------
models = {
    "linear": ["builtin:contingency", "--outcome", "y", "--weights", "count", "--prevalence", "0.01"],
    "levels": ["builtin:esoph", "--outcome", "cancer", "--weights", "count", "--prevalence", "0.001", "--loss", "iw"],
    "plain": ["builtin:contingency", "--outcome", "y", "--weights", "count", "--loss", "plain"],
    "mlp": ["builtin:contingency", "--outcome", "y", "--weights", "count", "--prevalence", "0.01", "--model", "mlp:2",
            "--max-iter", "20"],
    "laplace": ["builtin:contingency", "--outcome", "y", "--weights", "count", "--prevalence", "0.01", "--infer",
                "laplace", "--draws", "100"],
    "hmc": ["builtin:contingency", "--outcome", "y", "--weights", "count", "--prevalence", "0.01", "--infer", "hmc",
            "--draws", "100", "--chains", "2", "--warmup", "50"],
    "images": [str(arrays / "discs.npz"), "--outcome", "labels", "--prevalence", "0.1", "--epochs", "1", "--model",
               "convnet:views=1,size=4,low=1,channels=1,features=1"],
}
study = folder / "study.csv"
run("simulate", "nodules", "--cases", "20", "--controls", "20", "--prevalence", "0.1", "-o", str(study))
models["reference"] = [str(study), "--outcome", "malignant", "--prevalence", "0.1", "--features", "diameter,smoker"]
models["terms"] = [str(study), "--outcome", "malignant", "--prevalence", "0.1", "--features", "smoker", "--terms",
                   "ns(diameter,2),poly(age,2),age:smoker"]
models["offset"] = [str(study), "--outcome", "malignant", "--prevalence", "0.1", "--features", "diameter,smoker", "--offset", "age"]
models["stack"] = [str(study), "--outcome", "malignant", "--prevalence", "0.1", "--features", "diameter", "--model", "auto",
                   "--candidates", "prevalence,iw"]
models["trees"] = [str(study), "--outcome", "malignant", "--prevalence", "0.1", "--features", "diameter,smoker", "--model",
                   "trees:2,3"]
work = folder / "work.pvm"
for name, arguments in models.items():
    run("fit", *arguments, "-o", str(work))
    whole = work.read_bytes()
    magic, sizes, rest = whole.split(b"\n", 2)
    put("model", name, rest)  # the target adds the frame
    if name == "linear":
        put("model", "framed", whole)
        put("model", "cut", whole[:-5])
work.unlink()
study.unlink()
for i in range(8):
    put("model_roundtrip", str(i), bytes([i * 37 % 64]) + bytes((j * j * (i + 3)) % 251 for j in range(96)))

# ---- texts -----------------------------------------------------------------------------------------------------------
put("options", "fit", "prevalence=0.01\nloss=iw\nmarginal=auxiliary:linear\ntolerance=1e-9\nseed=12\ndirect\ndirect=false\n")
put("options", "other", "method=em\ndirichlet=counts:1,2\nprevalence-draws=100\nvotes-min=2\nready-views\nwindow=-1,4\n")
put("options", "wrong", "los=ig\nloss=\nmax-iter=1e30\nrate=nan\nimplementation=3\nseed=9007199254740993\n")
for i, (labels, prevalence, population, prior) in enumerate([
        ("0|1", "0.01", "known:0.2", "normal:2.5"), ("a|b|c", "0.2,0.3,0.5", "true", "counts:1,2,3"),
        ("no|yes", "yes=0.1", "design", "true:2"), ("0|1", "0.005-0.02", "unknown", "balanced"),
        ("a=b|c,d", "a=b=0.5,c,d=0.5", "known:1=0.4", "student:4"), ("1|2", "2.0=0.25", "known:0.1-0.2", "flat"),
        ("0|1", "5%", "0.1", "balanced:inf"), ("a|b|c|d", "0.25,0.25,0.25,0.25", "known:", "jeffreys")]):
    put("prevalence", str(i), f"{labels}\n{prevalence}\n{population}\n{prior}\n")
for i, spec in enumerate(["linear", "mlp:4,3", "convnet:views=2,size=4,low=2,channels=2-3,features=2,dropout=0.1,pool=mean",
                          "inception:views=1,size=5,low=1,channels=4,features=3,pool=min", "mlp:0", "convnet:size=3",
                          "convnet", "inception:channels=4-4-4-4-4-4-4", "mlp:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"]):
    put("network", str(i), spec)
put("costs", "two", "action,0,1\nleave,0,100\ntreat,1,0\n")
put("costs", "three", "do,1,0\nnone,1000,0\nwatch,200,2\noperate,0,20\n")
with zipfile.ZipFile(folder / "work.npz", "w") as archive:  # numbers where texts are expected
    for name in ("action", "0", "1"):
        header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n"
        archive.writestr(f"{name}.npy", b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + b"\1\2")
put("costs", "arrays", (folder / "work.npz").read_bytes())
(folder / "work.npz").unlink()
head = "site,sex,prevalence,share\n"
put("strata", "known", "0" + head + "a,f,0.1,0.5\na,m,0.2,0.3\nb,f,0.01,0.2\n")
put("strata", "interval", "0" + head + "a,f,0.1-0.2,0.5\na,m,1=0.2,0.3\nb,f,0.001,0.2\n")
put("strata", "twice", "0" + head + "a,f,0.1,0.5\na,f,0.2,0.5\n")
put("strata", "shares", "0" + head + "a,f,0.1,0.5\na,m,0.2,0.3\nb,f,0.01,0.1\n")
put("strata", "empty", "0" + head + "a,f,,0.5\n,m,0.2,0.3\nb,f,0.01,0.2\n")
counts = "site,sex,y,count\na,f,0,90\na,f,1,9\na,m,0,50\na,m,1,20\nb,f,0,1000\nb,f,1,1\n"
put("strata", "counts", "1" + counts)
put("strata", "few", "1" + counts.replace("9\n", "0\n"))
put("strata", "people", "1site,sex,y\n" + 3 * "a,f,0\na,f,1\na,m,0\na,m,1\nb,f,0\nb,f,1\n")
scored = "p__0,p__1,y,n\n" + "".join(f"{1 - p / 64},{p / 64},{int(p * 37 % 64 < p)},{p % 3 + 1}\n" for p in range(64))
for i, head in enumerate(["0.9\n\n\n", "0.8,0.7\n0.3,0.4\n0.2-0.6\n", "1=0.5,0=0.9\n0=0.05,1=0\n0.01\n", "0.99\n\n0.5\n", "2\n1\n0.1\n", "0.5\n0.001\n0.5\n"]):
    put("sets", str(i), head + scored)
put("sets", "three", "0.6,0.5,0.4\n\n0.2,0.3,0.5\np__a,p__b,p__c,y,n\n" + "".join(f"{i / 16},{(16 - i) / 32},{(16 - i) / 32},{'abc'[i % 3]},{i % 4}\n" for i in range(17)))
rates = "v,w,y,s,c,n\n0,0,,a,1,70\n1,1,,a,2,20\n0,1,,b,3,60\n1,0,,b,3,10\n0,0,0,a,4,9\n1,1,0,a,5,2\n0,0,1,a,6,1\n1,0,1,a,7,9\n" \
    "0,0,0,b,8,9\n1,1,0,b,8,1\n0,1,1,b,9,2\n1,1,1,b,9,8\n"
for i, head in enumerate([b"\0\0\0\n", b"\1\x50\0\n", b"\2\x5c\0\n", b"\0\x5c\0\n", b"\0\x12\0\n", b"\0\x11\0\n", b"\2\x11\0\x30.5\n",
                          b"\0\x10\7\n", b"\2\x3c\0\n", b"\0\x7c\0\n"]):
    put("rate", str(i), head + rates.encode())
put("rate", "labels", b"\0\x50\0\n" + rates.replace("1,1,1,b", "1,1,2,b").replace("0,0,,a", "2,0,,a").encode())
pilot = "y,x\n" + "".join(f"{i % 2},{(i * 7 % 20) / 10 + i % 2}\n" for i in range(40))
for i, head in enumerate([b"\5\1\1\0", b"\6\0\1\0", b"\7\1\1\0", b"\x0f\x0e\1\2", b"\x19\x16\1\1", b"\x20\x20\0\0", b"\5\x40\2\0", b"\x4d\x80\1\xc2",
                          b"\x25\xa0\x11\x40"]):
    put("size", str(i), head + pilot.encode())
put("costs", "wrong", "action,0,1\na,0,x\nb,,1\n")
for i, text in enumerate(["<script>alert(1)</script>", '" onload="x', "a & b &amp; &lt;", "\u00e9\u4e2d\U0001f600", b"\xff\xc0\x80\x01\x7f",
                          "]]>", "-->"]):
    put("report", str(i), text)
probs = "p__a,p__b,y,w,v1,v2\n0.9,0.1,a,1,2,0\n0.2,0.8,b,2,1,1\n0.5,0.5,a,1,0,3\n0.4,0.6,b,1,1,2\n0.3,0.7,a,1,5,5\n"
put("adjust", "prefix", "\n\n\n\n\n" + probs)
put("adjust", "target", "\ny\nw\nv1,v2\nb\n" + probs)
put("adjust", "named", "b=p__b\ny\n\na=v1,b=v2\na\n" + probs)
put("adjust", "alone", "yes=q\n\n\n\n\nq\n0.1\n0.9\n0.5\n")
put("adjust", "three", "\n\n\n\n\np__0,p__1,p__2\n0.2,0.3,0.5\n0.6,0.2,0.2\n0,0,1\n0.1,0.8,0.1\n")

# ---- comparisons: any bytes are valid --------------------------------------------------------------------------------
for target, size in {"adjust_back": 64, "known_true": 240, "permuted": 330, "scaled": 160}.items():
    for i in range(4):
        put(target, str(i), bytes([i]) + bytes((j * (j + i) * 7 + 13 * i) % 256 for j in range(size)))

# ---- axes: a byte for the kind, a range if the kind needs one, then pairs of doubles ------------------------------------
axes = {"decades": [10.0**i for i in range(-8, 8)], "thousands": [1000.1, 1000.2, 1000.3, 1.7e9 + 1, 1000.15, 1.7e9 + 3],
        "near": [1.0, 0.1, 2.0, 0.1 + 1e-9], "missing": [float("nan"), float("inf"), float("-inf"), 1.0]}
for name, numbers in axes.items():
    for kind in range(48):  # logarithmic x, logarithmic y, a range of x; then the mark
        shown = ([0.25, 0.75] if kind & 4 else []) + numbers
        put("axes", f"{name}-{kind}", bytes([kind]) + struct.pack(f"<{len(shown)}d", *shown))
