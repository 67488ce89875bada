"""The shell's verb `quiz`: ten questions on the pictures of a photo and a model, as a page to print or as JSON."""

import argparse
import json
from pathlib import Path
from typing import Any

from vitcore.cli import inspect as inspecting
from vitcore.cli import rollout as rolling
from vitcore.cli.model_flags import add_device_flags, load_from_flags
from vitcore.cli.report import read_credit
from vitcore.models.model_cards import DEFAULT_MODEL


def add_printable_quiz_verb(verbs: Any) -> None:
    """Add the verb to the shell's."""
    about = "ten questions on the pictures of a photo and a model, to print; the answers, computed, on the last page"
    verb = verbs.add_parser("quiz", help=about, description=about)
    verb.add_argument("photo", type=Path)
    verb.add_argument(
        "--model", default=DEFAULT_MODEL, help=f"a name of `models`, any ViT of timm's, a file or a run (default {DEFAULT_MODEL})"
    )
    verb.add_argument("--seed", type=int, default=0, help="which quiz, from 0 (default 0): the same for all who ask for it")
    verb.add_argument("--out", type=Path, default=Path("quiz.html"), help="the file (default ./quiz.html)")
    verb.add_argument("--json", action="store_true", help="print one JSON object instead of writing a file")
    inspecting.add_checkpoint_config_flags(add_device_flags(rolling.add_mask_flag(verb)))
    verb.set_defaults(run=_write_quiz)


def _write_quiz(args: argparse.Namespace) -> None:
    """Draw a quiz and write it, or print it."""
    from vitcore.quiz.draw_quiz import draw_quiz
    from vitcore.quiz.quiz_data import make_quiz_material
    from vitcore.quiz.quiz_handout import fewer_questions_sentence, quiz_handout
    from vitcore.report.report_settings import ReportOrigin

    if args.seed < 0:
        raise ValueError("--seed is from 0.")
    material = make_quiz_material(load_from_flags(args), args.photo, args.seed, args.mask_outliers)
    drawn = draw_quiz(material, args.seed)
    if args.json:
        questions = [
            {"kind": one.kind, "question": one.sentence, "choices": [choice.words or choice.number_text for choice in one.choices],
             "right": one.correct_letter, "margin": one.margin, "why": one.explanation}
            for one in drawn.questions
        ]  # fmt: skip
        facts = {"model": material.vit.name, "seed": args.seed, "mask_outliers": args.mask_outliers}
        print(json.dumps(facts | {"questions": questions}, ensure_ascii=False))
        return
    if fewer_questions_sentence(drawn):
        print(fewer_questions_sentence(drawn))
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_bytes(quiz_handout(material, drawn, ReportOrigin(credit=read_credit(args.photo), file=str(args.photo))))
    print(args.out)
