"""From readings to both fields, with types: mypy --strict passes it."""

import numpy as np

import fieldscope


def main() -> None:
    model = fieldscope.load("poisson")
    record = fieldscope.generate("poisson", 1, seed=1, split="test")
    seen = fieldscope.mask("inverse/uniform/500")[1]
    i, j = np.nonzero(seen)
    points = np.column_stack([i, j]) / (model.problem.rows - 1)
    recovery = model.recover(points, record.u[0, i, j], channel="u")
    error = np.linalg.norm(recovery.a - record.a[0]) / np.linalg.norm(record.a[0])
    print(f"a recovered from {len(points)} readings of u, {100 * error:.1f}% off")
    for warning in recovery.warnings:
        print("warning:", warning)


if __name__ == "__main__":
    main()
