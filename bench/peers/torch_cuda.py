"""Peer: one training step of the multi-view networks (section 9 of the paper) with the information-gain loss and a
constant auxiliary network, in PyTorch on a GPU: 32 images of 9 views of 32 x 32, Adam.

Prints the milliseconds of a step, best of several rounds. The views lie ready in the device's memory; ours are cut out
of volumes within the step. usage: torch_cuda.py convnet|inception tf32|bf16 eager|graph|compile|autotune
autotune is compile with every kernel tried in many ways, which takes minutes for Inception.
"""
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

KIND, PRECISION, WAY = sys.argv[1:4]
BATCH, VIEWS, SIZE = 32, 9, 32
torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
torch.backends.cudnn.benchmark = True
LAYOUT = torch.channels_last


class Block(nn.Module):
    def __init__(self, inputs, channels):
        super().__init__()
        q = channels // 4
        self.one = nn.Conv2d(inputs, channels - 3 * q, 1, stride=2)
        self.narrow3, self.three = nn.Conv2d(inputs, q, 1), nn.Conv2d(q, q, 3, stride=2, padding=1)
        self.narrow5, self.five = nn.Conv2d(inputs, q, 1), nn.Conv2d(q, q, 5, stride=2, padding=2)
        self.pooled = nn.Conv2d(inputs, q, 1)

    def forward(self, x):
        parts = [self.one(x), self.three(F.relu(self.narrow3(x))), self.five(F.relu(self.narrow5(x))),
                 self.pooled(F.max_pool2d(x, 3, 2, 1))]
        return F.dropout(F.relu(torch.cat(parts, 1)), 0.1)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.Conv2d(1, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU()]
        for inputs, outputs in ((64, 64), (64, 128), (128, 256)):
            if KIND == "inception":
                layers += [Block(inputs, outputs)]
            else:
                layers += [nn.Conv2d(inputs, outputs, 3, stride=2, padding=1), nn.ReLU(), nn.Dropout(0.1)]
        self.view = nn.Sequential(*layers, nn.Conv2d(256, 256, 4), nn.ReLU(), nn.Dropout(0.1))
        self.output = nn.Linear(256, 2)

    def forward(self, x):
        return self.output(self.view(x).reshape(-1, VIEWS, 256).amax(1))


device = torch.device("cuda")
network = Network().to(device).to(memory_format=LAYOUT)
psi = torch.zeros(2, device=device, requires_grad=True)
capturable = WAY != "eager"
optimiser = torch.optim.Adam(network.parameters(), 1e-4, capturable=capturable, fused=True)
auxiliary = torch.optim.Adam([psi], 1e-3, capturable=capturable, fused=True)
prevalence = torch.tensor([0.99, 0.01], device=device)
x = torch.randn(BATCH * VIEWS, 1, SIZE, SIZE, device=device).to(memory_format=LAYOUT)
label = torch.arange(BATCH, device=device) % 2
counts = torch.tensor([BATCH / 2, BATCH / 2], device=device)
weight = torch.log(prevalence / counts)[label][:, None]


def losses(x):
    with torch.autocast("cuda", torch.bfloat16, enabled=PRECISION == "bf16"):
        logits = network(x)
    loglik = F.log_softmax(logits.float(), -1)
    log_batch = torch.logsumexp(weight + loglik, 0)
    log_q = F.log_softmax(psi, 0)
    alpha = (log_batch - log_q).exp().detach()  # the paper's second implementation, as a detached factor
    main = (counts * alpha * log_batch).sum() - loglik.gather(1, label[:, None]).sum()
    return main - (log_batch.detach().exp() * log_q).sum()


if WAY in ("compile", "autotune"):
    losses = torch.compile(losses, mode="default" if WAY == "compile" else "max-autotune-no-cudagraphs")


def step():
    optimiser.zero_grad(set_to_none=False)
    auxiliary.zero_grad(set_to_none=False)
    losses(x).backward()
    optimiser.step()
    auxiliary.step()


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(5):
        step()
torch.cuda.current_stream().wait_stream(side)
run = step
if WAY != "eager":
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    run = graph.replay
best = float("inf")
for _ in range(8):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(30):
        run()
    torch.cuda.synchronize()
    best = min(best, (time.perf_counter() - start) / 30)
print(json.dumps({"milliseconds": 1e3 * best, "torch": torch.__version__,
                  "parameters": sum(p.numel() for p in network.parameters())}))
