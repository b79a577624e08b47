"""Peer: one training step of the multi-view ConvNet (section 9 of the paper) with the information-gain loss and a
constant auxiliary network, in PyTorch on the CPU, float32: 32 images of 9 views of 32 x 32, Adam.

Prints the seconds of a step (best of several) and the number of parameters. The views lie ready in memory; ours are cut
out of volumes within the step. usage: torch_convnet.py STEPS
"""
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

BATCH, VIEWS, SIZE = 32, 9, 32
torch.set_num_threads(2)
torch.manual_seed(0)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Conv2d(1, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU()]
        for inputs, outputs in ((64, 64), (64, 128), (128, 256)):
            layers += [nn.Conv2d(inputs, outputs, 3, stride=2, padding=1), nn.ReLU(), nn.Dropout(0.1)]
        self.view = nn.Sequential(*layers, nn.Conv2d(256, 256, 4), nn.ReLU(), nn.Dropout(0.1))
        self.output = nn.Linear(256, 2)

    def forward(self, x):
        return self.output(self.view(x.reshape(-1, 1, SIZE, SIZE)).reshape(-1, VIEWS, 256).amax(1))


class LogMarginal(torch.autograd.Function):
    """The paper's second implementation: the value is log q, the gradient that of log p-hat times p-hat/q."""

    @staticmethod
    def forward(ctx, log_batch, log_q):
        ctx.save_for_backward(log_batch, log_q)
        return log_q.clone()

    @staticmethod
    def backward(ctx, slope):
        log_batch, log_q = ctx.saved_tensors
        return slope * torch.exp(log_batch - log_q), None


network, psi = Network(), torch.zeros(2, requires_grad=True)
optimiser = torch.optim.Adam(network.parameters(), 1e-4)
auxiliary = torch.optim.Adam([psi], 1e-3)
prevalence = torch.tensor([0.99, 0.01])
x, label = torch.randn(BATCH, VIEWS, SIZE, SIZE), torch.arange(BATCH) % 2


def step():
    optimiser.zero_grad()
    auxiliary.zero_grad()
    loglik = F.log_softmax(network(x), -1)
    counts = torch.bincount(label, minlength=2).float()
    log_batch = torch.logsumexp(torch.log(prevalence / counts)[label][:, None] + loglik, 0)
    log_q = F.log_softmax(psi, 0)
    loss = (counts * LogMarginal.apply(log_batch, log_q.detach())).sum() - loglik.gather(1, label[:, None]).sum()
    (loss - (log_batch.detach().exp() * log_q).sum()).backward()
    optimiser.step()
    auxiliary.step()


best = float("inf")
for i in range(int(sys.argv[1]) + 2):
    start = time.perf_counter()
    step()
    if i >= 2:
        best = min(best, time.perf_counter() - start)
print(json.dumps({"seconds": best, "parameters": sum(p.numel() for p in network.parameters())}))
