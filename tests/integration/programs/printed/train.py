"""The training program of README.md and the pages, as a reader has it: nothing in it knows of a debugger.

    raydbg run --break train.py:57 -- python train.py --lr 3

Lines 56 to 58 are where docs/run.md prints them, and line 60 has a `loss`, too: test_docs_commands.py compares what raydbg
shows with what is printed there. With TRAIN_FAILS=1 line 57 fails.
"""

import argparse
import os

import ray


class Optimizer:
    def __init__(self, rate):
        self.rate = rate
        self.steps = 0

    def step(self):
        self.steps += 1

    def __repr__(self):
        return f"Optimizer({self.rate}, {self.steps} steps)"


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.1, help="the learning rate")
    parser.add_argument("--steps", type=int, default=1)
    return parser.parse_args()


def main(lr, steps):
    ray.init()
    optimizer = None if os.environ.get("TRAIN_FAILS") == "1" else Optimizer(lr)
    trainer = Trainer.remote(optimizer)
    losses = [ray.get(trainer.step.remote([number])) for number in range(steps)]
    print("the losses are", losses)


@ray.remote
class Trainer:
    """One of them. Without an optimizer its first step fails."""

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.batches = 0
        self.losses = []

    def loss(self, batch):
        self.batches += len(batch)
        return 0.6931

    def step(self, batch):
        loss = self.loss(batch)
        self.optimizer.step()
        return loss
    def keep(self, loss):
        self.losses.append(loss)


if __name__ == "__main__":
    main(**vars(arguments()))
