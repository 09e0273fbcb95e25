"""SGD: the parameters of a small model after each of ten steps; and gradient clipping."""
import torch
import torch.nn.functional as F

from torch_case import Source, largest, round_up, to_json

STEPS = 10
WIDTH, HIDDEN, ROWS = 4, 8, 6

RUNS = {  # options of SGD, and lr_after: the learning rate of the second half; clip_norm, clip_value: before each step
    "plain": {"lr": 0.1},
    "momentum": {"lr": 0.05, "momentum": 0.9},
    "dampening": {"lr": 0.05, "momentum": 0.9, "dampening": 0.3},
    "nesterov": {"lr": 0.05, "momentum": 0.9, "nesterov": True},
    "weight_decay": {"lr": 0.1, "weight_decay": 0.01},
    "momentum_weight_decay": {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01},
    "nesterov_weight_decay": {"lr": 0.05, "momentum": 0.8, "weight_decay": 0.1, "nesterov": True},
    "everything_lr_halfway": {"lr": 0.05, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.05, "lr_after": 0.01},
    "clip_norm": {"lr": 0.1, "momentum": 0.5, "clip_norm": 0.5},
    "clip_value": {"lr": 0.1, "clip_value": 0.125},
}


class Model(torch.nn.Module):
    """Linear, LayerNorm, feed-forward with a residual, Linear."""

    def __init__(self):
        super().__init__()
        self.input = torch.nn.Linear(3, WIDTH)
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.ffn = torch.nn.Module()
        self.ffn.linear1 = torch.nn.Linear(WIDTH, HIDDEN)
        self.ffn.linear2 = torch.nn.Linear(HIDDEN, WIDTH)
        self.output = torch.nn.Linear(WIDTH, 1)

    def forward(self, x):
        h = self.input(x)
        h = h + self.ffn.linear2(F.gelu(self.ffn.linear1(self.norm(h))))
        return self.output(h)


def clip_norm(gradients, max_norm):
    """Scales by max_norm / norm as the paper does; PyTorch divides by norm + 1e-6."""
    norm = torch.sqrt(sum(g.square().sum() for g in gradients))
    for g in gradients:
        if norm > max_norm:
            g *= max_norm / norm
    return norm


def trajectory(options, start, x, y):
    model = Model()
    model.load_state_dict(start)
    own = {k: v for k, v in options.items() if k not in ["lr_after", "clip_norm", "clip_value"]}
    sgd = torch.optim.SGD(model.parameters(), **own)
    losses, steps, scales = [], [], []
    for step in range(STEPS):
        if step == STEPS // 2 and "lr_after" in options:
            sgd.param_groups[0]["lr"] = options["lr_after"]
        loss = F.mse_loss(model(x), y)
        sgd.zero_grad()
        loss.backward()
        if "clip_norm" in options:
            clip_norm([p.grad for p in model.parameters()], options["clip_norm"])
        if "clip_value" in options:
            torch.nn.utils.clip_grad_value_(model.parameters(), options["clip_value"])
        sgd.step()
        losses.append(loss.item())
        steps.append({name: to_json(p)["data"] for name, p in model.named_parameters()})
        scales.append(largest(*model.parameters()))
    return {"options": options, "losses": losses, "steps": steps, "scale": round_up(max(scales))}


def clipping(source):
    cases = {}
    gradients = [source.draw(2, 3), source.draw(5), source.draw(1)]
    norm = clip_norm([g.clone() for g in gradients], float("inf"))
    for label, max_norm in [("norm", 1.0), ("norm_small", 1e-3), ("norm_unclipped", 100.0), ("norm_zero", 0.0)]:
        clipped = [g.clone() for g in gradients]
        parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in gradients]
        for p, g in zip(parameters, gradients):
            p.grad = g.clone()
        theirs = torch.nn.utils.clip_grad_norm_(parameters, max_norm)
        assert abs(theirs - norm) < 1e-13 * norm
        clip_norm(clipped, max_norm)
        for p, g in zip(parameters, clipped):
            assert torch.allclose(p.grad, g, rtol=1e-6, atol=0)
        cases[label] = {"max_norm": max_norm, "norm": norm.item(), "gradients": [to_json(g) for g in gradients],
                        "clipped": [to_json(g) for g in clipped]}
    parameters = [torch.nn.Parameter(torch.zeros_like(g)) for g in gradients]
    for p, g in zip(parameters, gradients):
        p.grad = g.clone()
    torch.nn.utils.clip_grad_value_(parameters, 0.75)
    cases["value"] = {"bound": 0.75, "gradients": [to_json(g) for g in gradients],
                      "clipped": [to_json(p.grad) for p in parameters]}
    return cases


def generate():
    source = Source(3)
    start = {name: source.draw(*p.shape, low=-0.75, high=0.75) for name, p in Model().named_parameters()}
    x, y = source.draw(ROWS, 3), source.draw(ROWS, 1)
    return {"start": {name: to_json(p) for name, p in start.items()}, "x": to_json(x), "y": to_json(y),
            "runs": {name: trajectory(options, start, x, y) for name, options in RUNS.items()},
            "clipping": clipping(source)}
