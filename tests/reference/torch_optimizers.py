"""Adam, AdamW and RMSprop: two parameters after each of twenty steps on given gradients, the rate falling at each;
and the learning rates of schedules."""
import torch

from torch_case import Source, largest, round_up, to_json

STEPS = 20

RUNS = {  # the class and its options; groups: factors of rate and decay of the second parameter
    "adam": ("Adam", {"lr": 0.1}),
    "adam_weight_decay": ("Adam", {"lr": 0.05, "weight_decay": 0.1}),
    "adam_betas_eps": ("Adam", {"lr": 0.05, "betas": (0.5, 0.9), "eps": 0.01, "weight_decay": 0.02}),
    "adam_amsgrad": ("Adam", {"lr": 0.05, "betas": (0.8, 0.7), "weight_decay": 0.1, "amsgrad": True}),
    "adamw": ("AdamW", {"lr": 0.1}),
    "adamw_weight_decay": ("AdamW", {"lr": 0.1, "weight_decay": 0.3}),
    "adamw_amsgrad": ("AdamW", {"lr": 0.05, "betas": (0.8, 0.7), "weight_decay": 0.1, "amsgrad": True}),
    "adamw_groups": ("AdamW", {"lr": 0.1, "weight_decay": 0.3, "groups": [0.5, 0.0]}),
    "rmsprop": ("RMSprop", {"lr": 0.01}),
    "rmsprop_weight_decay": ("RMSprop", {"lr": 0.02, "alpha": 0.9, "weight_decay": 0.1}),
    "rmsprop_momentum": ("RMSprop", {"lr": 0.01, "momentum": 0.8, "weight_decay": 0.05}),
    "rmsprop_centered": ("RMSprop", {"lr": 0.01, "eps": 0.001, "weight_decay": 0.1, "centered": True}),
    "rmsprop_centered_momentum": ("RMSprop", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1, "centered": True}),
    "sgd_groups": ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.3, "groups": [0.5, 2.0]}),
}


def rate(lr, step):
    return lr / (1 + step / 8)


def trajectory(kind, options, start, gradients):
    parameters = [torch.nn.Parameter(p.clone()) for p in start]
    own = {k: v for k, v in options.items() if k != "groups"}
    lr_factor, decay_factor = options.get("groups", [1, 1])
    groups = [{"params": [parameters[0]]}, {"params": [parameters[1]]}]
    if "groups" in options:
        groups[1]["weight_decay"] = own["weight_decay"] * decay_factor
    optimizer = getattr(torch.optim, kind)(groups, **own)
    steps, scale = [], 0
    for step in range(STEPS):
        for group, factor in zip(optimizer.param_groups, [1, lr_factor]):
            group["lr"] = rate(own["lr"], step) * factor
        for p, g in zip(parameters, gradients[step]):
            p.grad = g.clone()
        optimizer.step()
        steps.append([to_json(p)["data"] for p in parameters])
        scale = max(scale, largest(*parameters))
    return {"class": kind, "options": options, "rates": [rate(own["lr"], k) for k in range(STEPS)], "steps": steps,
            "scale": round_up(scale)}


def schedule(steps, lr, make, metrics=None):
    """The rate of each update, from one scheduler of torch.optim.lr_scheduler."""
    sgd = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    scheduler = make(sgd)
    rates = []
    for k in range(steps):
        rates.append(sgd.param_groups[0]["lr"])
        sgd.step()
        scheduler.step(*([] if metrics is None else [metrics[k]]))
    return rates


def schedules():
    kinds = torch.optim.lr_scheduler
    metrics = [5, 4, 4.5, 3, 3, 3.1, 2.9, 2.99, 2.95, 2.9, 2.85, 2.8, 2.9, 2.9, 2.9, 2.9, 2.9, 2.9, 2.9, 2.9, 2.9, 1,
               1, 1, 1, 1, 1, 1, 1, 1]
    def plateau(sgd, **options):
        return kinds.ReduceLROnPlateau(sgd, factor=0.5, patience=2, **options)
    return {
        "step": schedule(10, 0.8, lambda sgd: kinds.StepLR(sgd, 3, 0.5)),
        "exponential": schedule(10, 0.8, lambda sgd: kinds.ExponentialLR(sgd, 0.9)),
        "cosine": schedule(11, 0.8, lambda sgd: kinds.CosineAnnealingLR(sgd, 10, 0.1)),
        "one_cycle": schedule(20, 0.1, lambda sgd: kinds.OneCycleLR(sgd, 0.8, 20)),
        "one_cycle_options": schedule(
            17, 0.1, lambda sgd: kinds.OneCycleLR(sgd, 0.8, 17, pct_start=0.4, div_factor=10, final_div_factor=100)),
        "plateau_metrics": metrics,
        "plateau": schedule(30, 0.8, lambda sgd: plateau(sgd, threshold=0.02), metrics),
        "plateau_options": schedule(
            30, 0.8, lambda sgd: plateau(sgd, threshold=0.1, threshold_mode="abs", cooldown=2, min_lr=0.15), metrics),
        "plateau_max": schedule(30, 0.8, lambda sgd: plateau(sgd, threshold=0.02, mode="max"), [1 / m for m in metrics]),
    }


def generate():
    source = Source(4)
    start = [source.draw(3, 2), source.draw(5)]
    gradients = []
    for step in range(STEPS):
        size = [1.0, 0.125, 2.0, 0.5][step % 4]
        gradients.append([source.draw(3, 2) * size, source.draw(5) * size])
        gradients[-1][0][0, 0] = 0  # a weight that only decays
    return {"start": [to_json(p) for p in start], "gradients": [[to_json(g) for g in gs] for gs in gradients],
            "runs": {name: trajectory(*run, start, gradients) for name, run in RUNS.items()}, "schedules": schedules()}
