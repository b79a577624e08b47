"""Peer: the paper's calibration study in PyTorch on the CPU, float32: a mixture of 8 Gaussians with full covariances
fitted to the posterior of 8 parameters given 302 rows; information gain with the full-batch marginal, Student-t prior,
N_pr = 10; 8 samples of each component and step.

Prints the seconds of the steps alone (best of several); ours include the maximum, the bound and the draws.
usage: torch_vi.py STEPS REPEATS
"""
import json
import math
import sys
import time

import torch

STEPS, REPEATS = (int(a) for a in sys.argv[1:3])
ROWS, PARAMS, COMPONENTS, SAMPLES = 302, 8, 8, 8
NU, N_PR = 0.002, 10.0
torch.set_num_threads(2)
torch.manual_seed(0)
x = torch.randn(ROWS, PARAMS)
x[:, 0] = 1
label = (torch.rand(ROWS) < torch.sigmoid(x @ torch.linspace(-1, 1, PARAMS))).long()
prevalence = torch.tensor([0.99, 0.01])
counts = torch.bincount(label, minlength=2).float()
log_rho = torch.log(prevalence / counts)[label]
below = torch.tril(torch.ones(PARAMS, PARAMS), -1)


def log_density(w):
    z = w @ x.T
    log_p1, log_p0 = torch.nn.functional.logsigmoid(z), torch.nn.functional.logsigmoid(-z)
    marginal1, marginal0 = torch.logsumexp(log_rho + log_p1, 1), torch.logsumexp(log_rho + log_p0, 1)
    value = torch.where(label.bool(), log_p1, log_p0).sum(1) - counts[0] * marginal0 - counts[1] * marginal1
    value = value + N_PR * (prevalence[0] * marginal0 + prevalence[1] * marginal1)
    return value - 0.5 * (NU + 1) * torch.log1p(w * w / NU).sum(1)


def run():
    mean = torch.nn.Parameter(torch.randn(COMPONENTS, PARAMS) * 0.5)
    lower = torch.nn.Parameter(torch.zeros(COMPONENTS, PARAMS, PARAMS))
    log_diagonal = torch.nn.Parameter(torch.full((COMPONENTS, PARAMS), -1.0))
    log_weight = torch.nn.Parameter(torch.zeros(COMPONENTS))
    adam = torch.optim.Adam([mean, lower, log_diagonal, log_weight], 0.02)
    started = time.perf_counter()
    for _ in range(STEPS):
        factor = lower * below + torch.diag_embed(log_diagonal.exp())
        eps = torch.randn(COMPONENTS, SAMPLES, PARAMS)
        w = (mean[:, None] + torch.einsum("kij,ksj->ksi", factor, eps)).reshape(-1, PARAMS)
        away = (w[:, None] - mean[None])[..., None]
        z = torch.linalg.solve_triangular(factor[None].expand(len(w), -1, -1, -1), away, upper=False)[..., 0]
        log_q = torch.logsumexp(torch.log_softmax(log_weight, 0) - 0.5 * (z * z).sum(-1) - log_diagonal.sum(-1)
                                - 0.5 * PARAMS * math.log(2 * math.pi), 1)
        elbo = ((log_density(w) - log_q).reshape(COMPONENTS, SAMPLES).mean(1) * torch.softmax(log_weight, 0)).sum()
        adam.zero_grad()
        (-elbo).backward()
        adam.step()
    return time.perf_counter() - started


print(json.dumps({"seconds": min(run() for _ in range(REPEATS))}))
