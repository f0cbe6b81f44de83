"""Compose the same mechanisms with this project and with Google's dp_accounting.

    python -m venv /tmp/accounting && /tmp/accounting/bin/pip install dp-accounting
    cargo build --release --bin account
    /tmp/accounting/bin/python accounting/compare.py target/release/account

Both libraries report an upper bound on epsilon, so a smaller number is better. A time is the least
time of several runs in one process, and includes the composition. For dp_accounting, it also
includes the construction of the distributions. The last column is only for rows of dp_accounting.
The last column compares the row with the fastest setting of this project whose bound is at most the
bound of the row. It states how many times faster this setting is.
"""

import json
import subprocess
import sys
import time

from dp_accounting.pld import privacy_loss_distribution as pld

INTERVALS = [1e-3, 1e-4, 2e-5]


def gaussian(interval, scale, rate=1.0):
    return pld.from_gaussian_mechanism(
        scale, value_discretization_interval=interval, sampling_prob=rate
    )


def laplace(interval, scale):
    return pld.from_laplace_mechanism(scale, value_discretization_interval=interval)


CASES = {
    "laplace": (1e-5, lambda h: laplace(h, 10).self_compose(1000)),
    "sampled": (1e-5, lambda h: gaussian(h, 1, 0.01).self_compose(10_000)),
    "mix": (
        1e-6,
        lambda h: gaussian(h, 0.8, 0.005)
        .self_compose(100)
        .compose(gaussian(h, 8).self_compose(200))
        .compose(laplace(h, 10).self_compose(100)),
    ),
}


def main(program):
    lines = subprocess.run([program], capture_output=True, check=True, text=True).stdout
    ours = [json.loads(line) for line in lines.splitlines()]
    print("| composition | by | setting | epsilon, upper bound | certified from below | ms | as tight |")
    print("|---|---|---|---|---|---|---|")
    for name, (delta, compose) in CASES.items():
        rows = [row for row in ours if row["case"] == name]
        for row in rows:
            print(
                f"| {name} | opendp | {row['setting']} | {row['epsilon']:.9f} "
                f"| {row['below']:.9f} | {row['milliseconds']:.3f} | |"
            )
        for interval in INTERVALS:
            best = float("inf")
            for _ in range(3):
                start = time.perf_counter()
                epsilon = compose(interval).get_epsilon_for_delta(delta)
                best = min(best, time.perf_counter() - start)
            equal = [row["milliseconds"] for row in rows if row["epsilon"] <= epsilon]
            ratio = f"{best * 1e3 / min(equal):.0f} times" if equal else "none"
            print(
                f"| {name} | google | {interval} | {epsilon:.9f} | | {best * 1e3:.1f} | {ratio} |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1])
