#!/usr/bin/env python3
"""Plots what benchmark wrote with --json.

  plot.py roofline measured.json -o roofline.svg     rate over arithmetic intensity, under the device's limits
  plot.py series   measured.json -o series.svg       time per output element over a series (benchmark --series)
"""
import argparse
import json

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def measured(path):
    with open(path) as file:
        document = json.load(file)
    document["measurements"] = [m for m in document["measurements"] if "error" not in m]
    if not document["measurements"]:
        raise SystemExit(f"plot.py: {path} has no successful measurement")
    return document


def label(m):
    return m["name"] or m["problem"]


def roofline(document, axes):
    rows = document["measurements"]
    intensities = np.array([m["flops"] / m["bytes"] for m in rows])
    x = np.geomspace(intensities.min() / 2, intensities.max() * 2, 200)
    peak, bandwidth = document["peak_tflops"], document["peak_gb_per_second"] * 1e-3
    axes.loglog(x, np.minimum(peak, x * bandwidth), color="black",
                label=f"limit: {peak:.3g} TF/s, {bandwidth:.3g} TB/s")
    for kernel in dict.fromkeys(m["kernel"] for m in rows):
        points = [(m["flops"] / m["bytes"], m["tflops"]) for m in rows if m["kernel"] == kernel]
        axes.loglog(*zip(*points), "o", label=kernel)
    for m, intensity in zip(rows, intensities):
        axes.annotate(label(m), (intensity, m["tflops"]), textcoords="offset points", xytext=(5, -10), fontsize=7)
    axes.set_xlabel("FLOP per byte that must move")
    axes.set_ylabel("TF/s")


def series(document, axes):
    rows = document["measurements"]
    for kernel in dict.fromkeys(m["kernel"] for m in rows):
        points = [(label(m), 1e6 * m["ms_median"] / m["output_elements"]) for m in rows if m["kernel"] == kernel]
        axes.plot(*zip(*points), "o-", label=kernel)
    axes.set_ylim(bottom=0)
    axes.tick_params(axis="x", rotation=45)
    axes.set_ylabel("ns per output element")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("roofline", "series"))
    parser.add_argument("json")
    parser.add_argument("-o", "--output", required=True, help="image file: .svg, .png, .pdf")
    arguments = parser.parse_args()
    document = measured(arguments.json)
    figure, axes = plt.subplots(figsize=(9, 6), layout="constrained")
    {"roofline": roofline, "series": series}[arguments.kind](document, axes)
    axes.set_title(f"{document['device']}, {document['date'][:10]}", fontsize=10)
    axes.grid(True, which="both", alpha=0.3)
    axes.legend(fontsize=7)
    figure.savefig(arguments.output)


if __name__ == "__main__":
    main()
