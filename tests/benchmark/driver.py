"""Lets the measured programs take turns and prints the table; see README.md beside this file. Started by `run`."""

import argparse
import glob
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
ROWS = (20, 2048, 16384)
INSTALL_PEER = "without the peer; to install it: apt-get install libtorch-dev"

# The reach of each row: (peer / ours, the same with OpenBLAS under both, ours / floor); None where none is set.
STEPS = {
    "20x512x2048": (3.5, 1.5, 1.5),
    "256x512x2048": (2.5, 1.15, 1.12),
    "2048x512x2048": (3, 1.15, 1.07),
    "32x64x256": (5, 4, None),
    "16x8x32": (12, 4, None),
    "4096x64x256": (6, None, 1.35),
}


def works():
    """All rows as (work, work that is its floor, bar on peer / ours, bar on ours / floor, provider of products)."""
    rows = []
    for activation in ("relu", "gelu"):
        for size, (onednn, openblas, floor) in STEPS.items():
            for provider, bar in (("onednn", onednn), ("openblas", openblas)):
                rows.append((f"step {activation} {size}", f"products {size}", bar, floor, provider))
    for op, bar, copies in (("layer_norm", 2, 2.5), ("rms_norm", None, 2.5), ("softmax", 1.5, 2.5), ("gelu", 1.5, 2.5),
                            ("dropout", 5, 2)):
        for n in ROWS:
            floor_bar = 1.6 if op == "layer_norm" and n == max(ROWS) else None
            rows.append((f"{op} {n}x512", f"{copies} copies {n}x512", bar, floor_bar, ""))
    for n in ROWS:
        rows.append((f"dropout forward {n}x512", f"relu forward {n}x512", None, 1.35 if n >= 2048 else None, ""))
    rows.append(("cross_entropy 512x50257", "1.5 copies 512x50257", None, None, ""))
    for optimizer, copies in (("sgd", 1.5), ("sgd momentum", 2.5), ("adam", 3.5), ("adamw", 3.5)):
        rows.append((f"{optimizer} 10M", f"{copies} copies 10M", None, None, ""))
    rows.append(("epoch of regression", None, 2, None, ""))
    rows.append(("1000 tiny ops", None, None, None, ""))
    return rows


class Program:
    """One of the measured programs, running and waiting for requests."""

    def __init__(self, path, threads=None):
        blas = glob.glob("/usr/lib/*/openblas-openmp")  # else libtorch takes whichever build is the system's default
        environment = dict(os.environ)
        environment["LD_LIBRARY_PATH"] = ":".join(blas + [environment.get("LD_LIBRARY_PATH", "")]).strip(":")
        if threads:
            environment["OMP_NUM_THREADS"] = str(threads)
        self.threads = threads
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)
        self.works = self.ask("list").split(";")

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def time(self, work):
        if work not in self.works:
            return None
        time.sleep(0.02)  # until the threads of the program before have stopped to spin
        return float(self.ask("time " + work))

    def libraries(self, pattern):
        """Paths of the loaded libraries whose name matches."""
        maps = pathlib.Path(f"/proc/{self.process.pid}/maps").read_text().split()
        return sorted({path for path in maps if path.startswith("/") and re.search(pattern, path)})

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(ours, peers, rows, rounds):
    """Yields a result for each row: all programs answer in turn, `rounds` times; medians."""
    for work, floor, ratio_bar, floor_bar, provider in rows:
        if work not in ours.works:
            continue
        times = {"ours": [], "floor": [], "barrier": []} | {peer.threads: [] for peer in peers}
        if provider:
            ours.ask("provider " + provider)
        begin = time.monotonic()
        while len(times["ours"]) < 5 or (len(times["ours"]) < rounds and time.monotonic() - begin < 30):
            times["ours"].append(ours.time(work))
            times["floor"].append(ours.time(floor) if floor else None)
            for peer in peers:
                times[peer.threads].append(peer.time(work))
            times["barrier"].append(float(ours.ask("barrier")))
        for program in [ours, *peers]:
            program.ask("drop")
        medians = {key: statistics.median(t) if t and t[0] is not None else None for key, t in times.items()}
        threads = min((p.threads for p in peers if medians[p.threads]), key=medians.get, default=None)
        yield result(work + (f" [{provider}]" if provider else ""), "s", medians["ours"], medians.get(threads),
                     medians["floor"], ratio_bar, floor_bar, peer_threads=threads, barrier_ns=medians["barrier"])


def result(work, unit, ours, peer, floor=None, ratio_bar=None, floor_bar=None, **more):
    return {"work": work, "unit": unit, "ours": ours, "peer": peer, "ratio": peer / ours if peer else None,
            "ratio_bar": ratio_bar, "floor": floor, "over_floor": ours / floor if floor else None,
            "floor_bar": floor_bar, **more}


def memory(paths, threads, work="step relu 2048x512x2048"):
    """Growth of the resident set over an idle process, each in a process of its own."""
    growth = []
    for path in paths:
        program = Program(path, threads if len(growth) else None)
        growth.append(float(program.ask("memory " + work)))
        program.close()
    return result("memory of " + work, "B", growth[0], growth[1] if len(growth) > 1 else None, ratio_bar=1 / 0.7)


def compile_time(build, with_peer):
    """Seconds of g++ -O2 -c for one user's program with the umbrella header, and for the same one on the peer."""
    sides = [("train_ours.cpp", [f"-I{build}/include"], 3)]
    if with_peer:
        sides.append(("train_peer.cpp", ["-I/usr/include/torch/csrc/api/include"], 1))
    times = []
    for source, flags, count in sides:
        samples = []
        for _ in range(count):
            with tempfile.TemporaryDirectory() as folder:
                begin = time.monotonic()
                subprocess.run(["g++", "-std=c++17", "-O2", *flags, "-c", HERE / source, "-o", f"{folder}/a.o"],
                               check=True)
                samples.append(time.monotonic() - begin)
        times.append(statistics.median(samples))
    return result("compile a user's file", "s", times[0], times[1] if with_peer else None, 4, 8, 1)


def stripped_size(build):
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(f"{build}/examples/toy_regression", folder)
        subprocess.run(["strip", copy], check=True)
        return result("stripped toy example", "B", os.path.getsize(copy), None, 3e6, None, 1)


def amount(value, unit):
    if value is None:
        return "-"
    scales = {"s": ((1, "s"), (1e-3, "ms"), (1e-6, "us")), "B": ((1e6, "MB"), (1e3, "kB"))}[unit]
    factor, name = next((s for s in scales if value >= s[0]), scales[-1])
    return f"{value / factor:.3g} {name}" if value / factor < 1000 else f"{value / factor:.0f} {name}"


def with_bar(value, bar, at_least):
    """The ratio and, when a bar is set, the bar and whether it is met."""
    if value is None:
        return "-"
    if bar is None:
        return f"{value:.2f}"
    met = value >= bar if at_least else value <= bar
    return f"{value:.2f} {'>=' if at_least else '<='} {bar:.3g} {'ok' if met else 'MISSED'}"


def line(r):
    peer = amount(r["peer"], r["unit"]) + (f" ({r['peer_threads']}t)" if r.get("peer_threads") else "")
    barrier = f"{r['barrier_ns']:.0f}" if "barrier_ns" in r else ""
    return (f"{r['work']:<38}{amount(r['ours'], r['unit']):>9} {peer:>13}  {with_bar(r['ratio'], r['ratio_bar'], True):<20}"
            f"{amount(r['floor'], r['unit']):>9}  {with_bar(r['over_floor'], r['floor_bar'], False):<20}{barrier:>5}")


def main():
    parser = argparse.ArgumentParser(prog="tests/benchmark/run", description=__doc__)
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--json", metavar="FILE", help="write the figures there as well")
    parser.add_argument("--filter", metavar="REGEX", default="", help="only the rows whose name matches")
    parser.add_argument("--rounds", type=int, default=25, help="turns of each program in a row (default 25)")
    options = parser.parse_args()
    wanted = re.compile(options.filter).search

    peer_path = f"{options.build}/tests/benchmark/benchmark_peer"
    with_peer = os.path.exists(peer_path)
    ours = Program(f"{options.build}/tests/benchmark/benchmark_ours")
    peers = [Program(peer_path, threads) for threads in (1, 2)] if with_peer else []
    providers = ours.ask("providers").split()
    print("products by", " and ".join(providers))
    for name, program in [("ours", ours)] + [("peer", p) for p in peers[:1]]:
        print(f"BLAS of {name}:", *program.libraries(r"/libblas\.|libopenblas"))
    if not with_peer:
        print(INSTALL_PEER)
    print(f"\n{'work':<38}{'ours':>9} {'peer':>13}  {'peer / ours':<20}{'floor':>9}  {'ours / floor':<20}{'barrier, ns':>5}")

    results = []

    def show(r):
        results.append(r)
        print(line(r), flush=True)

    rows = [row for row in works() if wanted(f"{row[0]} [{row[4]}]") and (not row[4] or row[4] in providers)]
    for r in measure(ours, peers, rows, options.rounds):
        show(r)
    for program in [ours, *peers]:
        program.close()
    if wanted("memory"):
        show(memory([ours.process.args[0]] + ([peer_path] if with_peer else []), 2))
    if wanted("compile"):
        show(compile_time(options.build, with_peer))
    if wanted("size"):
        show(stripped_size(options.build))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
