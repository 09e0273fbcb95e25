#!/usr/bin/env python3
"""Writes the reference numbers beside this file from PyTorch: values and all gradients, in double.

The tests only read the JSON files, which are checked in; PyTorch is needed here alone. To make the files anew, after
a change to the op table or to a case (Debian and Ubuntu):

    apt-get install python3-torch
    cmake --build build --target test_reference_ops
    /usr/bin/python3 tests/reference/generate.py build

The inputs of the ops come from the C++ table (`test_reference_ops --inputs`), those of the other families from fixed
seeds here. All inputs are exact in float. A row of the op table that has no function in torch_ops.py is an error.
"""
import json
import pathlib
import subprocess
import sys

import torch_layers
import torch_losses
import torch_optimizers
import torch_ops
import torch_sgd

HERE = pathlib.Path(__file__).resolve().parent


def write(name, cases):
    """One case a line, so that a change shows where it is."""
    lines = [f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'), allow_nan=False)}"
             for key, value in cases.items()]
    path = HERE / f"{name}.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{path.name}: {len(cases)} cases, {path.stat().st_size / 1024:.0f} KiB")


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    program = pathlib.Path(sys.argv[1]) / "tests" / "test_reference_ops"
    inputs = subprocess.run([program, "--inputs"], check=True, capture_output=True, text=True).stdout
    write("ops", torch_ops.generate(json.loads(inputs)))
    write("layers", torch_layers.generate())
    write("losses", torch_losses.generate())
    write("sgd", torch_sgd.generate())
    write("optimizers", torch_optimizers.generate())


if __name__ == "__main__":
    main()
