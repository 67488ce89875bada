"""The shell's verb for the paper's experiments: list them, run one, and say what its results tell of the paper's finding."""

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

from vitcore.experiments.experiment import Experiment, ExperimentError
from vitcore.experiments.results_csv import RESULTS_FOLDER, ExperimentResults, read_results


def add_experiment_verb(verbs: Any) -> None:
    """Add the verb to the shell's."""
    about = "run one of the paper's experiments over several seeds, or list them"
    verb = verbs.add_parser("experiment", help=about, description=f"{about}. Ctrl-C stops it; the same command goes on.")
    verb.add_argument("name", nargs="?", help="which one (default: list them)")
    verb.add_argument("--quick", action="store_true", help="the small form: drawn pictures, minutes on two CPU cores")
    verb.add_argument("--data", default="", help="what the full form learns from, as of train (default cifar10)")
    verb.add_argument(
        "--out", type=Path, default=RESULTS_FOLDER,
        help=f"folder for the CSV (default ./{RESULTS_FOLDER}); the trainings go to ./runs",
    )  # fmt: skip
    verb.add_argument(
        "--on", choices=("ray",), help="run the cells side by side on a Ray cluster (pip install ray), past one machine, too"
    )
    verb.set_defaults(run=_run_or_list_experiments)


def _run_or_list_experiments(args: argparse.Namespace) -> None:
    """Run an experiment, or list all."""
    from vitcore.experiments import ray_cluster, run_experiment
    from vitcore.experiments.catalogue import EXPERIMENTS, find_experiment

    if not args.name:
        for one in EXPERIMENTS.values():
            print(f"{one.name:<11} {one.where[0].format(number=one.where[1])}: {one.finding}")
        return
    if args.quick and args.data:
        raise ExperimentError("--quick has its own data: leave out --data, or --quick.")
    chosen = find_experiment(args.name)
    tell = partial(print, file=sys.stderr, flush=True)
    on_ray = ray_cluster.RayTaskRunner() if args.on == "ray" else None
    where: dict[str, Any] = {"run_tasks": on_ray, "hardware": on_ray.hardware} if on_ray else {}
    file = run_experiment.run_experiment(chosen, args.quick, args.out, args.data, tell, **where)
    _print_verdict(chosen, read_results(file))
    print(file)


def _print_verdict(chosen: Experiment, results: ExperimentResults) -> None:
    """Each sentence that was tested, its verdict and effect, then the paper's finding and what was not tested."""
    from vitcore.experiments import verdict_sentences
    from vitcore.experiments.catalogue import judge_claims

    for claim, told in judge_claims(chosen, results):
        print(f"{claim.sentence} {verdict_sentences.verdict_name(told).upper()}.")
        for line in (
            verdict_sentences.effect_text(claim, told),
            verdict_sentences.paper_effect_text(claim),
            verdict_sentences.open_reason_sentence(claim, told, results),
        ):
            if line:
                print(f"  {line}")
    if near := verdict_sentences.ceiling_sentence(chosen, results):
        print(near)
    print(verdict_sentences.protocol_sentence(chosen, results))
    print(f"The paper, {chosen.where[0].format(number=chosen.where[1])}: {chosen.finding}")
    print(f"Not tested: {chosen.untested}")
