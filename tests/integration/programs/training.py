"""Ray Train: the plainest trainer with two workers: training.py STORAGE. Prints `RESULT fitted`. Lines that tests look for are
marked."""

import sys

import ray
import ray.train
from ray.train import RunConfig, ScalingConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer


def train():
    rank = ray.train.get_context().get_world_rank()
    doubled = (rank + 1) * 2  # line: train
    ray.train.report({"doubled": doubled})


ray.init()
trainer = DataParallelTrainer(train, scaling_config=ScalingConfig(num_workers=2), run_config=RunConfig(storage_path=sys.argv[1]))
trainer.fit()
print("RESULT fitted", flush=True)
