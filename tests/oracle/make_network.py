#!/usr/bin/python3
"""Expected log-likelihoods and gradients of the image networks, from PyTorch in double precision: writes network.txt.

Parameters, pixels and the loss are the formulas below; test_network_oracle.c has the same."""
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)


def parameters(n):
    i = np.arange(n)
    return torch.tensor(0.3 * np.sin(1.234 * i + 0.5 * (i % 7)), requires_grad=True)


class Block:
    """Takes tensors off a flat vector, in the order of prevail's parameter block."""

    def __init__(self, w):
        self.w, self.at = w, 0

    def take(self, *shape):
        n = int(np.prod(shape))
        self.at += n
        return self.w[self.at - n:self.at].reshape(shape)

    def conv(self, x, out, kernel, stride, padding):
        weight = self.take(out, x.shape[1], kernel, kernel)
        return F.relu(F.conv2d(x, weight, self.take(out), stride, padding))


def inception(b, x, channels):
    q = channels // 4
    narrow3 = b.conv(x, q, 1, 1, 0)
    one = b.conv(x, channels - 3 * q, 1, 2, 0)
    three = b.conv(narrow3, q, 3, 2, 1)
    five = b.conv(b.conv(x, q, 1, 1, 0), q, 5, 2, 2)
    return torch.cat([one, three, five, b.conv(F.max_pool2d(x, 3, 2, 1), q, 1, 1, 0)], 1)


def network(kind, w, x, low, channels, features, pool, classes):
    n, views, size, _ = x.shape
    b = Block(w)
    h = x.reshape(n * views, 1, size, size)
    h = b.conv(b.conv(h, low, 3, 1, 1), low, 3, 1, 1)
    for c in channels:
        h = b.conv(h, c, 3, 2, 1) if kind == "convnet" else inception(b, h, c)
    h = b.conv(h, features, h.shape[2], 1, 0).reshape(n, views, features)
    h = {"max": h.amax(1), "min": h.amin(1), "mean": h.mean(1)}[pool]
    out = h @ b.take(features, classes) + b.take(classes)
    return F.log_softmax(out, 1), b.at


cases = [("convnet", 3, 2, 8, 4, [5, 6], 7, "max", 2), ("convnet", 3, 3, 9, 3, [4], 5, "mean", 3),
         ("convnet", 2, 2, 12, 32, [16], 16, "min", 2), ("inception", 3, 2, 8, 4, [8, 9], 6, "max", 2),
         ("inception", 2, 2, 10, 16, [64], 16, "mean", 3)]
with open(pathlib.Path(__file__).parent / "network.txt", "w") as out:
    print("# image networks: log-likelihoods and gradients by PyTorch; made by make_network.py", file=out)
    for kind, n, views, size, low, channels, features, pool, classes in cases:
        j = np.arange(n * views * size * size)
        x = torch.tensor(np.cos(0.7 * j + j % 5)).reshape(n, views, size, size)
        count = network(kind, parameters(10 ** 6), x, low, channels, features, pool, classes)[1]
        w = parameters(count)
        loglik, _ = network(kind, w, x, low, channels, features, pool, classes)
        slope = torch.tensor(np.sin(1 + np.arange(n * classes))).reshape(n, classes)
        (loglik * slope).sum().backward()
        spec = f"{kind}:views={views},size={size},low={low},channels={'-'.join(map(str, channels))}," \
               f"features={features},pool={pool}"
        print(f"case {kind}-{pool}-{low} rows={n} classes={classes} inputs={views * size * size} spec={spec}", file=out)
        gradient = w.grad.numpy()
        # Every entry for small networks, every 31st for large ones.
        step = 1 if count < 3000 else 31
        for name, values in (("loglik", loglik.detach().numpy().ravel()), ("params", [count, step]),
                             ("gradient", gradient[::step])):
            print(f"array {name} {len(values)}", file=out)
            for v in values:
                print(f"{v:.17g}", file=out)
    print(f"end {len(cases)}", file=out)
