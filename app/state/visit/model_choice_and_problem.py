"""A choice of a model, the same for both models of a page: what is wanted, what is shown, and where those differ the problem."""

from dataclasses import dataclass, replace

import streamlit as st

from app import texts


@dataclass(frozen=True)
class ModelProblem:
    """A model that could not be had: its name, what the address said, why, what is shown instead, and how often it was tried."""

    name: str
    query_value: str
    reason: str
    fallback: str
    tries: int = 1
    picker_names_fallback: bool = False


@dataclass(frozen=True)
class ModelChoice:
    """The model that a picker asks for under `control`, its key in the session and in the address."""

    control: str
    default: str

    @property
    def wanted(self) -> str:
        return st.session_state.get(self.control) or self.default

    @property
    def shown(self) -> str:
        """The model that was had last."""
        return str(st.session_state.get(f"_{self.control}_shown", self.default))

    @property
    def problem(self) -> ModelProblem | None:
        """Why another model is shown than was wanted last."""
        problem: ModelProblem | None = st.session_state.get(f"_{self.control}_problem")
        return problem

    @property
    def needs_rerun(self) -> bool:
        """Whether the picker, drawn before that was known, still names a model that could not be had."""
        return self.problem is not None and not self.problem.picker_names_fallback

    def succeed(self, name: str) -> None:
        """This model is shown; a problem stays where the model is what stands in for another."""
        st.session_state[f"_{self.control}_shown"] = name
        if self.problem and not name == self.problem.fallback != self.problem.name:
            self.forget_problem()

    def fail(self, name: str, error: Exception, fallback: str) -> None:
        """This model can't be had: `fallback` is shown, and named by the picker from the next run on."""
        tries = self.problem.tries + 1 if self.problem and self.problem.name == name else 1
        reason = str(error) or texts.prose("common")["no room now"]
        st.session_state[f"_{self.control}_shown"] = fallback
        query_value = st.query_params.get(self.control, "")
        self._set_problem(ModelProblem(name, query_value, reason, fallback, tries, picker_names_fallback=fallback == name))

    def reset_picker(self) -> None:
        """Before the picker is drawn: it and the address name the model that is shown."""
        if self.problem and self.needs_rerun:
            st.session_state[self.control] = self.problem.fallback
            self._set_problem(replace(self.problem, picker_names_fallback=True))

    def stale_query_params(self) -> list[tuple[str, str, str]]:
        """What a link's address may still say, and should not: the parameter, its value, and the right one, none for the usual."""
        problem = self.problem
        if problem is None or self.needs_rerun or self.wanted != problem.fallback or problem.fallback == problem.name:
            return []
        return [(self.control, problem.query_value, "" if problem.fallback == self.default else problem.fallback)]

    def try_again(self) -> None:
        """Ask once more for the model that could not be had."""
        if self.problem:
            st.session_state[self.control] = self.problem.name

    def forget_problem(self) -> None:
        """Another model was chosen, or another page: what could not be had is old news."""
        self._set_problem(None)

    def _set_problem(self, problem: ModelProblem | None) -> None:
        st.session_state[f"_{self.control}_problem"] = problem
