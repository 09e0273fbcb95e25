"""Losses: each case has kind, options, inputs (prediction and target, or logits and classes), value and gradients."""
import torch
import torch.nn.functional as F

from torch_case import Source, measure, to_json

REDUCTIONS = ["mean", "sum", "none"]


def pair_case(kind, options, prediction, target, source):
    f = {
        "mse_loss": lambda p, t: F.mse_loss(p, t, reduction=options["reduction"]),
        "l1_loss": lambda p, t: F.l1_loss(p, t, reduction=options["reduction"]),
        "huber_loss": lambda p, t: F.huber_loss(p, t, reduction=options["reduction"], delta=options.get("delta", 1.0)),
        "bce_with_logits": lambda p, t: F.binary_cross_entropy_with_logits(
            p, t, reduction=options["reduction"],
            pos_weight=torch.tensor(options["pos_weight"]) if options.get("pos_weight") else None),
    }[kind]
    return {"kind": kind, "options": options, "inputs": [to_json(prediction), to_json(target)],
            **measure(f, [prediction, target], source=source)}


def cross_entropy_case(options, logits, classes, source):
    """PyTorch has the classes on axis 1, we on the last."""
    weights = torch.tensor(options["weights"]) if options.get("weights") else None

    def f(x):
        flat = F.cross_entropy(x.reshape(-1, x.shape[-1]), classes.reshape(-1), weight=weights,
                               ignore_index=options.get("ignore_index", -100), reduction=options["reduction"],
                               label_smoothing=options.get("label_smoothing", 0.0))
        return flat.reshape(classes.shape) if options["reduction"] == "none" else flat
    return {"kind": "cross_entropy", "options": options, "inputs": [to_json(logits), to_json(classes)],
            **measure(f, [logits], source=source)}


def generate():
    source = Source(2)
    cases = {}
    prediction, target = source.draw(2, 3, 5), source.draw(2, 3, 5)
    far = target.clone()
    far[0, 0] = prediction[0, 0] + torch.tensor([0.0, 1.0, -1.0, 3.0, -3.0])  # equal, at delta, beyond
    probability = source.draw(2, 3, 5, low=0, high=1)
    extreme = torch.tensor([0.0, 40.0, -40.0, 1000.0, -1000.0, 1000.0, -1000.0])
    sure = torch.tensor([0.5, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    for reduction in REDUCTIONS:
        for kind in ["mse_loss", "l1_loss", "huber_loss"]:
            cases[f"{kind}_{reduction}"] = pair_case(kind, {"reduction": reduction}, prediction, far, source)
        for label, delta in [("half", 0.5), ("two", 2.0)]:
            cases[f"huber_loss_{reduction}_delta_{label}"] = pair_case(
                "huber_loss", {"reduction": reduction, "delta": delta}, prediction, far, source)
        for label, weights in [("", []), ("_pos_weight", [3.0]), ("_pos_weights", [0.5, 1.0, 2.0, 3.0, 4.0])]:
            cases[f"bce_with_logits_{reduction}{label}"] = pair_case(
                "bce_with_logits", {"reduction": reduction, "pos_weight": weights}, prediction, probability, source)
        cases[f"bce_with_logits_{reduction}_extreme"] = pair_case(
            "bce_with_logits", {"reduction": reduction}, extreme, sure, source)

        logits = source.draw(2, 4, 5)
        classes = torch.tensor([[0, 4, 2, 2], [1, 3, 0, 4]])
        some_ignored = torch.tensor([[0, -100, 2, 2], [1, 3, -100, 4]])
        weights = [0.5, 1.0, 2.0, 0.0, 1.5]
        for label, rows, options in [
                ("", classes, {}),
                ("_ignored", some_ignored, {}),
                ("_ignore_index", classes, {"ignore_index": 2}),
                ("_smoothed", classes, {"label_smoothing": 0.1}),
                ("_uniform", classes, {"label_smoothing": 1.0}),
                ("_weighted", classes, {"weights": weights}),
                ("_weighted_smoothed", classes, {"weights": weights, "label_smoothing": 0.2}),
                ("_all", some_ignored, {"weights": weights, "label_smoothing": 0.2, "ignore_index": 2})]:
            if label == "_all":
                rows = torch.where(rows == -100, 2, rows)
            cases[f"cross_entropy_{reduction}{label}"] = cross_entropy_case(
                dict(options, reduction=reduction), logits, rows, source)
        cases[f"cross_entropy_{reduction}_row"] = cross_entropy_case(
            {"reduction": reduction}, source.draw(1, 3), torch.tensor([2]), source)
        cases[f"cross_entropy_{reduction}_extreme"] = cross_entropy_case(
            {"reduction": reduction}, torch.tensor([[1000.0, 0.0, -1000.0], [-1000.0, 1000.0, 999.0]]),
            torch.tensor([2, 2]), source)
    return cases
