"""Where the third opinion of a view is kept, and of what it is one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

from app.base.files.held_alone import HeldElsewhere, held_alone
from app.domain.view import View
from spark_batch.errors import AnotherRun, Invalid
from spark_batch.third.batch import StreamOffsets, read_reached
from spark_batch.third.whole import CHECKPOINT, SUBJECT, require_whole


class Subject(BaseModel):
    """What a query is about: a view as it was declared when the query began, and the topics that were there then."""

    view: str
    declared: str
    topic_ids: dict[str, str]

    @classmethod
    def of(cls, view: View, topic_ids: Mapping[str, str]) -> Subject:
        declared = hashlib.sha256(f"{view!r} {view.source!r}".encode()).hexdigest()[:16]
        return cls(view=view.name, declared=declared, topic_ids=dict(topic_ids))


@dataclass(frozen=True)
class ThirdPlace:
    """The folder of one view's query."""

    folder: Path

    @classmethod
    def of(cls, root: Path, application: str, view: View) -> ThirdPlace:
        """Below the folder that holds them all."""
        return cls(root / application / view.name)

    @property
    def checkpoint(self) -> Path:
        """Where Spark keeps what it needs to go on."""
        return self.folder / CHECKPOINT

    @property
    def subject(self) -> Subject | None:
        """What the query that was begun here is about; None where none was. Invalid where that cannot be read."""
        file = self._subject_file
        if not file.exists():
            return None
        try:
            return Subject.model_validate_json(file.read_bytes())
        except ValidationError as error:
            raise Invalid(f"{file} does not say what its query is about: move {self.folder} away") from error

    @contextmanager
    def held_for(self, subject: Subject) -> Iterator[None]:
        """Hold the folder, made if it is not there, for a query about it. AnotherRun while another process has it;
        Invalid where it was begun about something else, or a part of it is gone or older than the rest."""
        try:
            with held_alone(self.folder / ".lock"):
                require_whole(subject.view, self.folder)
                if self.subject is None:
                    self._subject_file.write_text(subject.model_dump_json())
                self.require(subject)
                yield
        except HeldElsewhere as error:
            raise AnotherRun(f"another query keeps {subject.view} in {self.folder}: one at a time does") from error

    def require(self, subject: Subject) -> None:
        """Invalid unless that is what was begun here."""
        begun = self.subject
        if begun == subject:
            return
        what = "its topics are others" if begun and begun.declared == subject.declared else "it is declared otherwise"
        raise Invalid(
            f"{subject.view}: {what} than when its query in {self.folder} was begun: move that away, and "
            f"`flagfall third {subject.view}` begins it anew"
        )

    @property
    def reached(self) -> StreamOffsets:
        """Where the query that was begun here goes on; empty where none was, or it has read nothing yet."""
        return read_reached(self.checkpoint)

    def require_unread(self, view: str, log_starts: StreamOffsets) -> None:
        """Invalid where records are gone that the query has not read; `log_starts`: what its topics hold still.

        Spark ends such a query too, each time, and a query that went on without them would count too little.
        """
        gone = [
            f"{at} has no more offsets {offset} to {log_starts[at] - 1}"
            for at, offset in sorted(self.reached.items())
            if log_starts.get(at, 0) > offset
        ]
        if gone:
            raise Invalid(
                f"{view}: records were deleted that its query in {self.folder} had not read yet: {', '.join(gone)}. "
                f"It cannot go on: move {self.folder} away, and `flagfall third {view}` begins anew from what is there"
            )

    @property
    def _subject_file(self) -> Path:
        return self.folder / SUBJECT
